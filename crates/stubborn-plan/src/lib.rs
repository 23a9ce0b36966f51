//! The plan above the engines: questions in, searches out, verdicts back.
//!
//! This is the only place that decides what is sound. A [`Planner`] is asked about
//! [targets](stubborn_search::Target) or temporal properties of a system. It groups what one
//! search can answer, chooses what each search must keep ([`reduction`]), which proviso goes with
//! its order, whether reducing pays at all (`auto`), and which [engine](stubborn_search::Engine)
//! takes it. Engines explore and know no questions; facade, contest, protocols, lab and validator
//! bring questions and read verdicts.
//!
//! ```
//! use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
//! use stubborn_plan::{CheckOptions, Planner, Verdict};
//! use stubborn_search::{Stop, Target};
//!
//! // x counts from 0 to 3, and stops.
//! let mut program = Program::new("counter");
//! let x = program.variable(Variable::integer("x", 0, 3, 0));
//! let below = program.label(Expr::less(Expr::Var(x), Expr::Const(3)));
//! let site = program.out_of_range_site("x", None);
//! program.command(Command {
//!     name: "count".into(),
//!     guards: vec![below],
//!     body: vec![Statement::assign(x, Expr::plus(Expr::Var(x), Expr::Const(1)), site)],
//!     ..Command::default()
//! });
//! let model = Model::new(program)?;
//!
//! let options = CheckOptions::default();
//! let report = Planner::new(&model, &options).check(&[Target::Deadlock], Stop::AllViolated)?;
//! assert_eq!(report.answers[0].verdict, Verdict::Violated);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod auto;
mod keeping;
mod options;
pub mod reduction;
mod safety;
mod temporal;

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use stubborn_cluster::Cluster;
use stubborn_reduce::ConfigError;
use stubborn_search::{Limits, SearchError};
use stubborn_system::{Relations, System};

pub use keeping::{Keeper, Keeping, Next, kept_before};
pub use options::{CheckOptions, Por, ProvisoChoice, ReductionOptions, TemporalOptions};
pub use safety::{Answer, Report, Run};
pub use temporal::{TemporalEngine, TemporalQuestion, TemporalRun};

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Everything was explored, and nothing bad found.
    Holds,
    /// It can happen.
    Violated,
    /// A limit was reached, or the store is lossy, and nothing bad was found.
    Unknown,
}

impl Verdict {
    /// As results call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Unknown => "unknown",
        }
    }

    /// Of a question that hopes for what another one fears.
    #[must_use]
    pub fn inverted(self) -> Self {
        match self {
            Self::Holds => Self::Violated,
            Self::Violated => Self::Holds,
            Self::Unknown => Self::Unknown,
        }
    }

    /// Of several questions together: violated if anything is; else unknown if anything is. Nothing holds
    /// where nothing was asked.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        let worse = |one: Self, other: Self| match (one, other) {
            (Self::Violated, _) | (_, Self::Violated) => Self::Violated,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Holds, Self::Holds) => Self::Holds,
        };
        all.into_iter().reduce(worse).unwrap_or(Self::Unknown)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<stubborn_emptiness::CheckVerdict> for Verdict {
    fn from(verdict: stubborn_emptiness::CheckVerdict) -> Self {
        match verdict {
            stubborn_emptiness::CheckVerdict::Holds => Self::Holds,
            stubborn_emptiness::CheckVerdict::Violated => Self::Violated,
            stubborn_emptiness::CheckVerdict::Unknown(_) => Self::Unknown,
        }
    }
}

/// Why no answers can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// The chosen reduction does not exist, or not for these questions.
    Reduction(ConfigError),
    /// The search cannot be run, or not be trusted.
    Search(SearchError),
    /// No engine takes the search: the reason of each.
    NoEngine(Vec<(&'static str, String)>),
    /// The model starts more processes than it was prepared for: a larger one has to be asked.
    Outgrown,
    /// What was kept belongs to another check, or is damaged; in words.
    Resume(String),
}

impl From<ConfigError> for CheckError {
    fn from(error: ConfigError) -> Self {
        Self::Reduction(error)
    }
}

impl From<SearchError> for CheckError {
    fn from(error: SearchError) -> Self {
        Self::Search(error)
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reduction(error) => error.fmt(f),
            Self::Search(error) => error.fmt(f),
            Self::Resume(what) => f.write_str(what),
            Self::NoEngine(reasons) => {
                f.write_str("no engine can do this")?;
                let mut reasons = reasons.iter();
                reasons.try_for_each(|(engine, reason)| write!(f, "; {engine}: {reason}"))
            }
            Self::Outgrown => f.write_str("the model starts more processes than it has room for"),
        }
    }
}

impl std::error::Error for CheckError {}

/// What several processes agree on here: whether any of them has met what defeats reductions.
const DEFEATED: u8 = 60;

/// A system to be asked, and how.
pub struct Planner<'m> {
    system: &'m dyn System,
    replay: Option<&'m dyn System>,
    options: &'m CheckOptions<'m>,
    /// Somebody has computed them already.
    known_relations: Option<&'m Relations>,
    relations: OnceLock<Relations>,
    /// Where others look for them, too.
    shared: Option<&'m OnceLock<Relations>>,
    started: Instant,
    /// See [`allot`](Self::allot).
    allotted: Mutex<Option<Instant>>,
}

impl fmt::Debug for Planner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

impl<'m> Planner<'m> {
    /// For this system. What the options say about time counts from now.
    pub fn new(system: &'m dyn System, options: &'m CheckOptions<'m>) -> Self {
        Self {
            system,
            replay: None,
            options,
            known_relations: None,
            relations: OnceLock::new(),
            shared: None,
            started: Instant::now(),
            allotted: Mutex::new(None),
        }
    }

    /// Replays counterexamples on another execution of the same model.
    #[must_use]
    pub fn replayed_on(self, reference: &'m dyn System) -> Self {
        Self {
            replay: Some(reference),
            ..self
        }
    }

    /// With relations of the system that somebody has computed.
    #[must_use]
    pub fn with_relations(self, relations: &'m Relations) -> Self {
        Self {
            known_relations: Some(relations),
            ..self
        }
    }

    /// With a place for the relations of the system, at the level that the options say: whoever needs
    /// them first puts them there for all others who know the place.
    #[must_use]
    pub fn sharing_relations(self, place: Option<&'m OnceLock<Relations>>) -> Self {
        Self {
            shared: place,
            ..self
        }
    }

    /// Where relations are put that are computed. What only a few need is not for all.
    fn place(&self) -> &OnceLock<Relations> {
        let shared = self.shared.filter(|_| !self.moves_left());
        shared.unwrap_or(&self.relations)
    }

    /// Whether sets are asked for that are made with what can be moved left over what.
    fn moves_left(&self) -> bool {
        match &self.options.reduction.por {
            Por::Chosen(config) => config.settings().is_ok_and(|s| s.moves_left()),
            Por::None | Por::Auto => false,
        }
    }

    /// The relations of the system, at the level that the options say; computed once.
    fn analysed_relations(&self) -> &Relations {
        if let Some(known) = self.known_relations {
            return known;
        }
        let level = self.options.reduction.relations;
        let compute = || match self.moves_left() {
            true => self.system.relations(level),
            false => self.system.relations_of_strong_sets(level),
        };
        self.place().get_or_init(compute)
    }

    /// Whether relations would take no time.
    pub fn knows_relations(&self) -> bool {
        let is_measured = self.options.reduction.measured.is_some();
        is_measured || self.known_relations.is_some() || self.place().get().is_some()
    }

    /// Whether a search has met what defeats reductions, now or before the check was taken up, in any
    /// of several processes; all of them must ask.
    fn is_defeated(&self) -> Result<bool, CheckError> {
        let was_defeated = |keeping: &Keeping<'_>| keeping.was_defeated();
        let own = self.system.defeats_reduction() || self.options.keeping.is_some_and(was_defeated);
        let Some(cluster) = self.cluster() else {
            return Ok(own);
        };
        let mut cluster = cluster.lock().unwrap_or_else(PoisonError::into_inner);
        let any = |all: Vec<Vec<u8>>| all.into_iter().max().unwrap_or_default();
        match cluster.agree(DEFEATED, vec![own.into()], any) {
            Ok(agreed) => Ok(agreed.contains(&1)),
            Err(lost) => Err(SearchError::NoAnswer(lost.to_string()).into()),
        }
    }

    /// The processes that share the work, if there are several.
    fn cluster(&self) -> Option<&'m Mutex<Cluster>> {
        let mut engines = self.options.engines.iter();
        engines.find_map(|engine| engine.cluster())
    }

    /// Gives what is asked from now on at most so much time, of what the options and the budget
    /// leave; `None` takes that back. So that several questions share a time limit: the budget
    /// itself would stay spent for the rest.
    pub fn allot(&self, time: Option<Duration>) {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        *self.allotted.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// The time that is left to this planner, if it is limited.
    pub fn time_left(&self) -> Option<Duration> {
        let own = self.limits().time;
        let budget = self.system.budget().time_left();
        own.into_iter().chain(budget).min()
    }

    /// Whether the time or the budget is spent: nothing begins any more.
    fn is_over(&self) -> bool {
        self.system.budget().spent().is_some() || self.limits().time == Some(Duration::ZERO)
    }

    /// The limits of a search that begins now.
    pub fn limits(&self) -> Limits<'m> {
        let left = |time: Duration| time.saturating_sub(self.started.elapsed());
        let chosen = self.options.limits.time.map(left);
        let end = *self.allotted.lock().unwrap_or_else(PoisonError::into_inner);
        let allotted = end.map(|end| end.saturating_duration_since(Instant::now()));
        Limits {
            time: chosen.into_iter().chain(allotted).min(),
            pause: match self.options.keeping {
                Some(keeping) => Some(keeping.keeper.pause()),
                None => self.options.limits.pause,
            },
            ..self.options.limits
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
    use stubborn_search::{End, Limit, Stop, Target};

    use super::*;

    /// Counters that go round, together far too many states.
    pub(crate) fn counters() -> Model {
        let mut program = Program::new("counters");
        for at in 0..8 {
            let name = format!("x{at}");
            let x = program.variable(Variable::integer(&name, 0, 255, 0));
            let below = program.label(Expr::less(Expr::Var(x), Expr::Const(255)));
            let site = program.out_of_range_site(&name, None);
            let more = Expr::plus(Expr::Var(x), Expr::Const(1));
            program.command(Command {
                name,
                guards: vec![below],
                body: vec![Statement::assign(x, more, site)],
                ..Command::default()
            });
        }
        Model::new(program).expect("it is small")
    }

    /// Time that is allotted is kept to, given back, and no concern of the system's budget.
    #[test]
    fn time_is_allotted_to_one_question_after_the_other() {
        let model = counters();
        let options = CheckOptions {
            reduction: ReductionOptions::none(),
            ..CheckOptions::default()
        };
        let planner = Planner::new(&model, &options);
        assert_eq!(planner.time_left(), None);
        for _ in 0..2 {
            planner.allot(Some(Duration::from_millis(50)));
            assert!(planner.time_left() <= Some(Duration::from_millis(50)));
            let report = planner.check(&[Target::Errors], Stop::AllViolated);
            let report = report.expect("it works");
            assert_eq!(report.answers[0].verdict, Verdict::Unknown);
            assert_eq!(report.runs[0].result.end, End::Limit(Limit::Time));
            assert_eq!(model.budget().spent(), None, "others have theirs");
        }
        planner.allot(Some(Duration::ZERO));
        assert!(planner.is_over());
        planner.allot(None);
        assert!(!planner.is_over());
        // The least of all limits counts.
        let options = CheckOptions {
            limits: Limits {
                time: Some(Duration::from_secs(1)),
                ..Limits::default()
            },
            ..options.clone()
        };
        let planner = Planner::new(&model, &options);
        planner.allot(Some(Duration::from_secs(100)));
        assert!(planner.time_left() <= Some(Duration::from_secs(1)));
    }
}
