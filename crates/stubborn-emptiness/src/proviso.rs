//! Cycle provisos by name: what they are made of.
//!
//! A reduction may leave out a transition in every state of a cycle. A cycle (or liveness)
//! proviso sees to it that every cycle of the reduced graph contains a state that was
//! *expanded*: all its edges were explored. (Only `opt-scp` asks for less: what is possible
//! in a state of a cycle is taken in a state of that cycle.) The published ones differ in a few independent
//! parts (Duret-Lutz, Kordon, Poitrenaud, Renault, *Heuristics for checking liveness
//! properties with partial order reductions*, 2016; Evangelista, Pajault, *Solving the
//! ignoring problem for partial order reduction*, 2010), so here they are records of such
//! parts, which the one depth-first walk reads.
//!
//! A name is written as in the first of these papers, with dashes:
//! `[dead-|highlink-]RULE[-known|-unknown][-scan]`.
//!
//! | rule | when a back-edge calls for an expansion, and of which end |
//! | --- | --- |
//! | `source`, `dest` | always |
//! | `cond-source`, `cond-dest` | unless the destination is expanded already |
//! | `colored-dest` | unless all that can be reached from the destination is harmless |
//! | `weighted-source`, `weighted-dest` | unless an expanded state lies between the two |
//! | `deepest-dest` | the same, only for the deepest of several destinations |
//! | `stab` | of all states that would do, the last one that is left when backtracking |
//!
//! `known` and `unknown` say which successors are looked at first. `scan` declares states
//! harmless as early as possible. `dead` ignores states whose component is complete.
//! `highlink` knows for a state that was left which states of the path it can reach (the
//! two deepest ones, and a bound for the others).
//!
//! Others have no parts:
//!
//! | name | which states are expanded |
//! | --- | --- |
//! | `closed-set` | those with a kept successor that was entered before |
//! | `parallel` | as `source`; on several threads what the first one to leave a state did holds for all (Laarman, Wijs, *Partial-order reduction for multi-core LTL model checking*, 2014) |
//! | `two-phase` | those with more than one kept successor, and one on each cycle of the others (after Nalumasu, Gopalakrishnan, *An efficient partial order reduction algorithm with an alternative proviso implementation*, 2002) |
//! | `sticky` | those that keep one of certain transitions, chosen before the search; see the module `sticky` |
//! | `bfs-source`, `bfs-dest`, `topological`, `opt-wcp`, `opt-scp` | see `experiments::ahead`: they explore the graph before the walk |
//! | `full`, `none` | all; none, which is unsound, and only for measuring |

use std::fmt;
use std::str::FromStr;

/// When an edge calls for an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    Nothing,
    Full,
    ClosedSet,
    Parallel,
    Sticky,
    TwoPhase,
    BreadthSource,
    BreadthDestination,
    Topological,
    Optimal,
    OptimalStrong,
    Always,
    Conditional,
    Colored,
    Weighted,
    Stab,
}

/// Which end of a back-edge is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Source,
    Destination,
}

/// Which successors are looked at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EdgeOrder {
    AsGiven,
    KnownFirst,
    UnknownFirst,
}

/// What is known about components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Insight {
    Nothing,
    Dead,
    Highlink,
}

/// A cycle proviso.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleProviso {
    pub(crate) rule: Rule,
    pub(crate) end: End,
    pub(crate) order: EdgeOrder,
    pub(crate) scan: bool,
    /// Of several destinations, mark the deepest only.
    pub(crate) deepest: bool,
    pub(crate) insight: Insight,
}

impl CycleProviso {
    const fn new(rule: Rule, end: End) -> Self {
        Self {
            rule,
            end,
            order: EdgeOrder::AsGiven,
            scan: false,
            deepest: false,
            insight: Insight::Nothing,
        }
    }

    /// Expand a state when one of its edges leads back onto the path.
    pub const SOURCE: Self = Self::new(Rule::Always, End::Source);

    /// Expand a state if one of its kept successors was entered before.
    pub const CLOSED_SET: Self = Self::new(Rule::ClosedSet, End::Source);

    /// The one of Laarman and Wijs for nested searches on several threads; on one thread it is
    /// [`SOURCE`](Self::SOURCE).
    pub const PARALLEL: Self = Self::new(Rule::Parallel, End::Source);

    /// Expand a state that keeps one of certain transitions, chosen before the search; a
    /// function of the system, not of a graph.
    pub const STICKY: Self = Self::new(Rule::Sticky, End::Source);

    /// No proviso: unsound for infinite runs, only to measure what a proviso costs.
    pub const NONE: Self = Self::new(Rule::Nothing, End::Source);

    /// Expand every state.
    pub const FULL: Self = Self::new(Rule::Full, End::Source);

    /// All provisos, each once.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Self::PLAIN
            .iter()
            .map(|(_, rule)| Self::new(*rule, End::Source))
            .collect();
        for (rule, end, deepest) in Self::RULES.map(|(_, rule, end, deepest)| (rule, end, deepest))
        {
            for insight in [Insight::Nothing, Insight::Dead, Insight::Highlink] {
                for order in [
                    EdgeOrder::AsGiven,
                    EdgeOrder::KnownFirst,
                    EdgeOrder::UnknownFirst,
                ] {
                    for scan in [false, true] {
                        let proviso = Self {
                            rule,
                            end,
                            order,
                            scan,
                            deepest,
                            insight,
                        };
                        if proviso.objection().is_none() {
                            all.push(proviso);
                        }
                    }
                }
            }
        }
        all
    }

    /// The sound ones.
    pub fn all_sound() -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|proviso| proviso.is_sound());
        all
    }

    /// Those that a walk decides by itself, on any graph: all but `sticky`, and `opt-scp`,
    /// which must know actions.
    pub fn all_of_graphs() -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|proviso| *proviso != Self::STICKY && !proviso.needs_strong_sets());
        all
    }

    /// Whether what a set leaves out must still be possible after any of its members.
    pub fn needs_strong_sets(&self) -> bool {
        self.rule == Rule::OptimalStrong
    }

    /// Whether every cycle gets an expanded state: false for `none` only.
    pub fn is_sound(&self) -> bool {
        self.rule != Rule::Nothing
    }

    /// Those that have no parts.
    const PLAIN: [(&'static str, Rule); 11] = [
        ("none", Rule::Nothing),
        ("full", Rule::Full),
        ("closed-set", Rule::ClosedSet),
        ("parallel", Rule::Parallel),
        ("sticky", Rule::Sticky),
        ("two-phase", Rule::TwoPhase),
        ("bfs-source", Rule::BreadthSource),
        ("bfs-dest", Rule::BreadthDestination),
        ("topological", Rule::Topological),
        ("opt-wcp", Rule::Optimal),
        ("opt-scp", Rule::OptimalStrong),
    ];

    /// Whether nodes are chosen before the walk, in an order of the proviso's own.
    pub fn goes_ahead(&self) -> bool {
        matches!(
            self.rule,
            Rule::BreadthSource
                | Rule::BreadthDestination
                | Rule::Topological
                | Rule::Optimal
                | Rule::OptimalStrong
        )
    }

    const RULES: [(&'static str, Rule, End, bool); 9] = [
        ("source", Rule::Always, End::Source, false),
        ("dest", Rule::Always, End::Destination, false),
        ("cond-source", Rule::Conditional, End::Source, false),
        ("cond-dest", Rule::Conditional, End::Destination, false),
        ("colored-dest", Rule::Colored, End::Destination, false),
        ("weighted-source", Rule::Weighted, End::Source, false),
        ("weighted-dest", Rule::Weighted, End::Destination, false),
        ("deepest-dest", Rule::Weighted, End::Destination, true),
        ("stab", Rule::Stab, End::Destination, false),
    ];

    /// Why these parts do not go together, if so.
    fn objection(&self) -> Option<&'static str> {
        let colours = matches!(self.rule, Rule::Colored | Rule::Weighted | Rule::Stab);
        if self.scan && !colours {
            return Some(
                "`scan` needs a rule that colours states: colored, weighted, deepest, stab",
            );
        }
        if self.insight != Insight::Nothing && !colours {
            return Some(
                "`dead` and `highlink` need a rule that colours states: colored, weighted, deepest, stab",
            );
        }
        if self.insight == Insight::Highlink && self.rule == Rule::Colored {
            return Some("`colored-dest` looks at no intervals, so highlinks are of no use to it");
        }
        match (self.order, self.end, self.rule) {
            (EdgeOrder::KnownFirst, End::Destination, rule) if rule != Rule::Stab => {
                Some("`known` goes with `source`, `unknown` with `dest`")
            }
            (EdgeOrder::UnknownFirst, End::Source, _) => {
                Some("`known` goes with `source`, `unknown` with `dest`")
            }
            _ => None,
        }
    }
}

impl Default for CycleProviso {
    /// The one that came out best where components are known anyway.
    fn default() -> Self {
        Self {
            scan: true,
            insight: Insight::Highlink,
            ..Self::new(Rule::Stab, End::Destination)
        }
    }
}

impl fmt::Display for CycleProviso {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = Self::PLAIN.iter().find(|(_, rule)| *rule == self.rule) {
            return out.write_str(name);
        }
        out.write_str(match self.insight {
            Insight::Nothing => "",
            Insight::Dead => "dead-",
            Insight::Highlink => "highlink-",
        })?;
        let rule = Self::RULES.iter().find(|(_, rule, end, deepest)| {
            (*rule, *end, *deepest) == (self.rule, self.end, self.deepest)
        });
        out.write_str(rule.map_or("", |(name, ..)| name))?;
        out.write_str(match self.order {
            EdgeOrder::AsGiven => "",
            EdgeOrder::KnownFirst => "-known",
            EdgeOrder::UnknownFirst => "-unknown",
        })?;
        out.write_str(if self.scan { "-scan" } else { "" })
    }
}

/// A name that is no proviso.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProviso(String);

impl fmt::Display for UnknownProviso {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for UnknownProviso {}

impl FromStr for CycleProviso {
    type Err = UnknownProviso;

    fn from_str(text: &str) -> Result<Self, UnknownProviso> {
        if let Some((_, rule)) = Self::PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(Self::new(*rule, End::Source));
        }
        let (name, scan) = match text.strip_suffix("-scan") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let (name, order) = if let Some(name) = name.strip_suffix("-unknown") {
            (name, EdgeOrder::UnknownFirst)
        } else if let Some(name) = name.strip_suffix("-known") {
            (name, EdgeOrder::KnownFirst)
        } else {
            (name, EdgeOrder::AsGiven)
        };
        let (name, insight) = if let Some(name) = name.strip_prefix("dead-") {
            (name, Insight::Dead)
        } else if let Some(name) = name.strip_prefix("highlink-") {
            (name, Insight::Highlink)
        } else {
            (name, Insight::Nothing)
        };
        let Some((_, rule, end, deepest)) = Self::RULES.iter().find(|(rule, ..)| *rule == name)
        else {
            let names: Vec<&str> = Self::RULES.iter().map(|(name, ..)| *name).collect();
            let plain: Vec<&str> = Self::PLAIN.iter().map(|(name, _)| *name).collect();
            return Err(UnknownProviso(format!(
                "`{text}` is no cycle proviso; there are {}, and \
                 [dead-|highlink-]RULE[-known|-unknown][-scan] where RULE is one of {}",
                plain.join(", "),
                names.join(", ")
            )));
        };
        let proviso = Self {
            rule: *rule,
            end: *end,
            order,
            scan,
            deepest: *deepest,
            insight,
        };
        match proviso.objection() {
            Some(why) => Err(UnknownProviso(format!(
                "`{text}` is no cycle proviso: {why}"
            ))),
            None => Ok(proviso),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let all = CycleProviso::all();
        assert!(all.len() > 50, "{}", all.len());
        for proviso in all {
            assert_eq!(proviso.to_string().parse(), Ok(proviso));
        }
    }

    /// Tests go through the sound ones.
    #[test]
    fn all_but_none_are_sound() {
        let (all, sound) = (CycleProviso::all(), CycleProviso::all_sound());
        assert!(all.contains(&CycleProviso::NONE) && !sound.contains(&CycleProviso::NONE));
        assert_eq!(sound.len() + 1, all.len());
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        let error = |text: &str| text.parse::<CycleProviso>().unwrap_err().to_string();
        assert!(error("sauce").starts_with("`sauce` is no cycle proviso; there are none"));
        assert!(error("source-scan").contains("`scan` needs a rule"));
        assert!(error("highlink-source").contains("need a rule"));
        assert!(error("highlink-colored-dest").contains("intervals"));
        assert!(error("weighted-dest-known").contains("goes with"));
        assert!(error("weighted-source-unknown").contains("goes with"));
    }
}
