//! What a user can choose about a reduction, and which choices go together.
//!
//! A [`Config`] is what the command line maps onto. [`Config::settings`] fills in the
//! defaults of the chosen algorithm and refuses combinations that mean nothing, with a text
//! that says why. Names are those of the papers: starting, scapegoat and deletion strategies
//! of Evangelista, *Experimenting with stubborn sets on Petri nets* (2023), section 3.2;
//! `first`, `min` and `random` choice of Geldenhuys, Hansen, Valmari, *Exploring the scope for
//! partial order reduction* (2009), section 3.2.

use std::fmt;
use std::str::FromStr;

use stubborn_system::RelationLevel;

/// A choice that does not exist, or does not go with another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    /// A refusal, in words.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident, $what:literal, $($(#[doc = $about:literal])+ $item:ident = $text:literal),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $about])+ $item),+
        }

        impl $name {
            /// All of them, in the order in which they are documented.
            pub const ALL: &'static [$name] = &[$($name::$item),+];

            /// The name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$item => $text),+
                }
            }

            /// What it is, as documented.
            pub fn about(self) -> &'static str {
                match self {
                    $($name::$item => concat!($($about),+)),+
                }
                .trim()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = ConfigError;

            fn from_str(text: &str) -> Result<Self, ConfigError> {
                $name::ALL.iter().copied().find(|c| c.name() == text).ok_or_else(|| {
                    let names: Vec<_> = $name::ALL.iter().map(|c| c.name()).collect();
                    ConfigError(format!(
                        concat!("`{}` is no ", $what, "; there are {}"),
                        text,
                        names.join(", ")
                    ))
                })
            }
        }
    };
}

choices!(
    /// How sets are computed. Each has a module of the same name.
    Algorithm, "reduction",
    /// Grow one set from one enabled transition.
    Closure = "closure",
    /// Grow a set from every enabled transition at once, the smallest wins.
    Beam = "beam",
    /// Closure that takes in for free whatever is already covered.
    Clostar = "clostar",
    /// Start from everything and delete as much as possible.
    Deletion = "deletion",
    /// Clostar, then deletion on its result.
    Clodel = "clodel",
    /// Strongly connected components over scapegoat edges.
    Inc = "inc",
    /// All enabled transitions of one process that conflicts with no other.
    Ample1 = "ample1",
    /// All enabled transitions of a component of the conflict graph of processes.
    Ample2 = "ample2",
    /// What the goal needs; not for deadlocks.
    Goal = "goal",
    /// Local: only what can really come into the way is added.
    Lpor = "lpor",
);

/// Which choices an algorithm has.
impl Algorithm {
    /// It starts from one enabled transition ([`Start`]).
    pub(crate) const fn starts(self) -> bool {
        use Algorithm::*;
        matches!(self, Closure | Clostar | Clodel | Inc | Lpor)
    }

    /// It takes in enabling sets ([`Scapegoat`]).
    pub(crate) const fn takes_scapegoats(self) -> bool {
        use Algorithm::*;
        matches!(self, Closure | Beam | Clostar | Clodel | Inc | Goal)
    }

    /// It deletes transitions ([`Delete`]).
    pub(crate) const fn deletes(self) -> bool {
        matches!(self, Algorithm::Deletion | Algorithm::Clodel)
    }

    /// It takes whole processes ([`Choice`]).
    pub(crate) const fn is_ample(self) -> bool {
        matches!(self, Algorithm::Ample1 | Algorithm::Ample2)
    }
}

choices!(
    /// From which enabled transition a closure starts.
    Start, "starting strategy",
    /// A pseudo-random one: a function of seed and state.
    Rnd = "rnd",
    /// The first one.
    Fst = "fst",
    /// The one whose set has the fewest enabled transitions.
    MinE = "min_e",
    /// The one whose set has the fewest enabled transitions that lead to new states.
    MinF = "min_f",
);

choices!(
    /// Which necessary enabling set of a disabled transition is taken in.
    Scapegoat, "scapegoat strategy",
    /// A pseudo-random one: a function of seed and state.
    Rnd = "rnd",
    /// The first one.
    Fst = "fst",
    /// The one that adds the fewest transitions.
    MinT = "min_t",
    /// The one that adds the most transitions.
    MaxT = "max_t",
    /// The one that adds the fewest enabled transitions.
    MinE = "min_e",
    /// The one that adds the most enabled transitions.
    MaxE = "max_e",
    /// The one that adds the fewest enabled transitions that lead to new states.
    MinF = "min_f",
    /// The one that adds the most enabled transitions that lead to new states.
    MaxF = "max_f",
);

choices!(
    /// Which enabled transition deletion tries to delete next.
    Delete, "deletion strategy",
    /// A pseudo-random one: a function of seed and state.
    Rnd = "rnd",
    /// The first one.
    Fst = "fst",
    /// The one that takes the fewest enabled transitions with it.
    MinE = "min_e",
    /// The one that takes the most enabled transitions with it.
    MaxE = "max_e",
    /// The one that takes the fewest enabled transitions to new states with it.
    MinF = "min_f",
    /// The one that takes the most enabled transitions to new states with it.
    MaxF = "max_f",
);

choices!(
    /// What sets for infinite runs do about transitions that a property can see (Laarman et
    /// al. 2014, table 1).
    Visibility, "visibility condition",
    /// V and I: with one enabled visible transition all visible ones; an invisible key where
    /// there can be one.
    Vi = "vi",
    /// C2: with one enabled visible transition everything.
    C2 = "c2",
);

choices!(
    /// Which of several ample sets is taken.
    Choice, "choice of ample sets",
    /// The first one.
    First = "first",
    /// A smallest one.
    Min = "min",
    /// A pseudo-random one: a function of seed and state.
    Random = "random",
);

choices!(
    /// Where do-not-accord and do-not-left-accord of [measured](crate::experiments::measured) relations come
    /// from.
    Dependency, "dependency",
    /// From variable sets: `D_s` of Geldenhuys, Hansen, Valmari (2009).
    Sets = "sets",
    /// From the shape of guards and actions.
    Syntax = "syntax",
    /// From all valuations of small joint supports.
    Exact = "exact",
    /// From an over-approximation of the reachable states.
    Reach = "reach",
    /// From the reachable states: `D_f` there.
    Full = "full",
    /// From the states that can be reached from the current one: `D_d` there.
    Dynamic = "dynamic",
    /// From the reachable states, without looking at where orders end: `D_e` of Evangelista
    /// (2023), for models in which enabled transitions commute.
    Disabling = "disabling",
);

impl Dependency {
    /// The analysis that gives it, if no state space is needed.
    pub const fn level(self) -> Option<RelationLevel> {
        match self {
            Self::Sets => Some(RelationLevel::Sets),
            Self::Syntax => Some(RelationLevel::Syntax),
            Self::Exact => Some(RelationLevel::Exact),
            Self::Reach => Some(RelationLevel::Reach),
            Self::Full | Self::Dynamic | Self::Disabling => None,
        }
    }
}

choices!(
    /// Where the enabling sets of [measured](crate::experiments::measured) relations come from.
    Precedence, "precedence",
    /// From variable sets: `R_s` of Geldenhuys, Hansen, Valmari (2009).
    Sets = "sets",
    /// From the shape of guards and actions.
    Syntax = "syntax",
    /// From all valuations of small joint supports.
    Exact = "exact",
    /// From an over-approximation of the reachable states.
    Reach = "reach",
    /// From the reachable states: `R_f` there.
    Full = "full",
    /// From the states that can be reached from the current one: `R_d` there.
    Dynamic = "dynamic",
);

impl Precedence {
    /// The analysis that gives it, if no state space is needed.
    pub const fn level(self) -> Option<RelationLevel> {
        match self {
            Self::Sets => Some(RelationLevel::Sets),
            Self::Syntax => Some(RelationLevel::Syntax),
            Self::Exact => Some(RelationLevel::Exact),
            Self::Reach => Some(RelationLevel::Reach),
            Self::Full | Self::Dynamic => None,
        }
    }
}

/// A reduction as a user asks for it. What is `None` gets the default of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How sets are computed.
    pub algorithm: Algorithm,
    /// Weak sets: enabled members other than one key transition may be disabled from outside.
    pub weak: bool,
    /// Use necessary disabling sets of guards that exclude a false guard as its enabling sets
    /// (Laarman et al. 2014, section 4.2).
    pub disabling_sets: bool,
    /// Let the cost heuristic choose where no strategy is given (ibid., section 4.3).
    pub heuristic: bool,
    /// From where to start.
    pub start: Option<Start>,
    /// Which enabling set to take.
    pub scapegoat: Option<Scapegoat>,
    /// What to delete next.
    pub delete: Option<Delete>,
    /// Which ample set to take.
    pub choice: Option<Choice>,
    /// After deletion, look for a set with fewer enabled transitions.
    pub minimise: bool,
    /// What to do about visible transitions, where a property sees any.
    pub visibility: Visibility,
    /// For everything pseudo-random.
    pub seed: u64,
    /// Remember sets by the values of guards. Changes speed, never sets.
    pub cache: bool,
}

impl Config {
    /// The usual way to use an algorithm.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            weak: false,
            disabling_sets: true,
            heuristic: true,
            start: None,
            scapegoat: None,
            delete: None,
            choice: None,
            minimise: false,
            visibility: Visibility::Vi,
            seed: 0,
            cache: true,
        }
    }

    /// Fills in defaults; refuses what does not go together.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        use Algorithm::*;
        let name = self.algorithm;
        let refuse = |what: &str, why: &str| {
            Err(ConfigError(format!(
                "`{what}` does not go with `{name}`: {why}"
            )))
        };
        let ample = name.is_ample();
        if self.weak && ample {
            return refuse("weak", "ample sets are strong sets");
        }
        if self.weak && name == Inc {
            return refuse(
                "weak",
                "its components are formed by do-not-accord edges of every enabled transition",
            );
        }
        if !self.disabling_sets && ample {
            return refuse("no-nds", "ample sets use no disabling sets anyway");
        }
        if !self.heuristic {
            if !name.takes_scapegoats() {
                return refuse("no-heuristic", "there is no heuristic to turn off");
            }
            if self.scapegoat.is_some() {
                return refuse(
                    "no-heuristic",
                    "with a `scapegoat` the heuristic is not used anyway",
                );
            }
        }
        if self.start.is_some() && !name.starts() {
            let why = match name {
                Beam => "it starts from every enabled transition",
                Goal => "it starts from the goal",
                _ => "it starts from no single transition",
            };
            return refuse("start", why);
        }
        if self.scapegoat.is_some() && !name.takes_scapegoats() {
            return refuse("scapegoat", "it chooses no enabling sets");
        }
        if self.delete.is_some() && !name.deletes() {
            return refuse("delete", "it deletes nothing");
        }
        if self.choice.is_some() && !ample {
            return refuse(
                "choice",
                "only ample sets have it; use `start` and `scapegoat`",
            );
        }
        if self.minimise && name != Deletion {
            return refuse("minimise", "it follows deletion only");
        }
        let start = match (name, self.heuristic) {
            // As in the paper: the heuristic guides enabling sets, the start is left to chance.
            (Closure, true) => Start::Rnd,
            (_, true) => Start::MinE,
            (_, false) => Start::Fst,
        };
        let scapegoat = if self.heuristic {
            Scapegoat::MinE
        } else {
            Scapegoat::Fst
        };
        Ok(Settings {
            algorithm: name,
            weak: self.weak,
            disabling_sets: self.disabling_sets,
            start: self.start.unwrap_or(start),
            scapegoat: self.scapegoat.unwrap_or(scapegoat),
            delete: self.delete.unwrap_or(Delete::MaxE),
            choice: self.choice.unwrap_or(Choice::First),
            minimise: self.minimise,
            visibility: self.visibility,
            seed: self.seed,
            cache: self.cache,
        })
    }
}

/// A [`Config`] with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// See [`Config::algorithm`].
    pub algorithm: Algorithm,
    /// See [`Config::weak`].
    pub weak: bool,
    /// See [`Config::disabling_sets`].
    pub disabling_sets: bool,
    /// See [`Config::start`].
    pub start: Start,
    /// See [`Config::scapegoat`].
    pub scapegoat: Scapegoat,
    /// See [`Config::delete`].
    pub delete: Delete,
    /// See [`Config::choice`].
    pub choice: Choice,
    /// See [`Config::minimise`].
    pub minimise: bool,
    /// See [`Config::visibility`].
    pub visibility: Visibility,
    /// See [`Config::seed`].
    pub seed: u64,
    /// See [`Config::cache`].
    pub cache: bool,
}

impl Settings {
    /// Whether sets are made with what can be moved left over what; all others are strong.
    pub fn moves_left(&self) -> bool {
        self.weak || self.algorithm == Algorithm::Lpor
    }

    /// Whether sets depend on what the search has seen.
    pub fn asks_the_search(&self) -> bool {
        let algorithm = self.algorithm;
        algorithm.starts() && self.start == Start::MinF
            || algorithm.takes_scapegoats()
                && matches!(self.scapegoat, Scapegoat::MinF | Scapegoat::MaxF)
            || algorithm.deletes() && matches!(self.delete, Delete::MinF | Delete::MaxF)
    }

    /// Whether sets depend on more of a state than its enabled transitions and labels.
    pub fn looks_at_the_state(&self) -> bool {
        let algorithm = self.algorithm;
        algorithm.starts() && self.start == Start::Rnd
            || algorithm.takes_scapegoats() && self.scapegoat == Scapegoat::Rnd
            || algorithm.deletes() && self.delete == Delete::Rnd
            || algorithm.is_ample()
    }

    /// Whether sets depend on more than enabled transitions and labels.
    pub(crate) fn looks_closer(&self) -> bool {
        self.asks_the_search() || self.looks_at_the_state()
    }
}

impl fmt::Display for Settings {
    /// As the command line would say it, without what is as usual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.name())?;
        if self.weak {
            f.write_str(" --weak")?;
        }
        if !self.disabling_sets {
            f.write_str(" --no-nds")?;
        }
        if self.algorithm.starts() {
            write!(f, " --start {}", self.start)?;
        }
        if self.algorithm.takes_scapegoats() {
            write!(f, " --scapegoat {}", self.scapegoat)?;
        }
        if self.algorithm.deletes() {
            write!(f, " --delete {}", self.delete)?;
        }
        if self.algorithm.is_ample() {
            write!(f, " --choice {}", self.choice)?;
        }
        if self.minimise {
            f.write_str(" --minimise")?;
        }
        if self.visibility != Visibility::Vi {
            write!(f, " --visibility {}", self.visibility)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = "beem".parse::<Algorithm>().unwrap_err().to_string();
        assert!(
            error.starts_with("`beem` is no reduction; there are closure, beam,"),
            "{error}"
        );
        assert_eq!("max_f".parse::<Scapegoat>(), Ok(Scapegoat::MaxF));
    }

    #[test]
    fn meaningless_combinations_are_refused_with_a_reason() {
        let mut config = Config::new(Algorithm::Ample2);
        config.weak = true;
        let error = config.settings().unwrap_err().to_string();
        assert_eq!(
            error,
            "`weak` does not go with `ample2`: ample sets are strong sets"
        );
        let mut config = Config::new(Algorithm::Beam);
        config.start = Some(Start::Fst);
        assert!(config.settings().is_err());
        let mut config = Config::new(Algorithm::Beam);
        config.heuristic = false;
        assert_eq!(config.settings().map(|s| s.scapegoat), Ok(Scapegoat::Fst));
        config.scapegoat = Some(Scapegoat::MinT);
        assert!(config.settings().is_err());
    }

    #[test]
    fn settings_read_like_a_command_line() {
        let mut config = Config::new(Algorithm::Clodel);
        config.weak = true;
        let text = config.settings().map(|s| s.to_string());
        let expected = "clodel --weak --start min_e --scapegoat min_e --delete max_e";
        assert_eq!(text.as_deref(), Ok(expected));
    }
}
