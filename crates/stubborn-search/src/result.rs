//! What a search has learnt.

use std::time::Duration;

use stubborn_store::StoreKind;
use stubborn_system::{BitSet, Outcome, Spent, TransitionId};

use crate::config::Target;
use crate::trace::Trace;

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Everything was explored: what was not seen does not happen.
    Complete,
    /// Everything was explored that a [lossy](stubborn_store::StoreKind::is_exact) store did not
    /// mistake for something else: nothing follows from what was not seen.
    Lossy,
    /// What was looked for was found, and that was enough.
    Violation,
    /// A limit was reached.
    Limit(Limit),
}

/// A limit that ended a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Limit {
    /// The number of states.
    States = 1,
    /// Memory.
    Memory,
    /// The store has no more numbers for states.
    StoreFull,
    /// Time.
    Time,
    /// Somebody asked for it.
    Interrupted,
    /// The model needs more room than it was prepared with.
    Outgrown,
    /// The number of steps.
    Depth,
    /// A step leads to a state that the system [cannot represent](stubborn_system::System::left_out).
    LeftOut,
}

impl Limit {
    const ALL: [Self; 8] = [
        Self::States,
        Self::Memory,
        Self::StoreFull,
        Self::Time,
        Self::Interrupted,
        Self::Outgrown,
        Self::Depth,
        Self::LeftOut,
    ];

    /// The one with this number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| *limit as u8 == number)
    }
}

impl From<Spent> for Limit {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::Time => Self::Time,
            Spent::Memory => Self::Memory,
            Spent::Interrupted => Self::Interrupted,
            Spent::Outgrown => Self::Outgrown,
            Spent::LeftOut => Self::LeftOut,
        }
    }
}

/// What a search has learnt. Also when it was stopped: then of what it saw.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Distinct states.
    pub states: u64,
    /// Explored edges: every successor of every state counts, also a second one to the
    /// same state. Without the ones that a reduction left out.
    pub transitions: u64,
    /// States without any step.
    pub deadlocks: u64,
    /// Those of them where
    /// [`valid_end`](stubborn_system::Structure::valid_end) does not hold; `None` if
    /// the system has no such label.
    pub invalid_ends: Option<u64>,
    /// Breadth-first: the distance of the farthest state. Depth-first: the longest
    /// path on the stack. In steps.
    pub depth: u64,
    /// Breadth-first: the number of levels, one more than the depth.
    pub bfs_levels: Option<u64>,
    /// Breadth-first: the number of states on each of the first
    /// [`LEVEL_SIZES`](Self::LEVEL_SIZES) levels.
    pub level_sizes: Vec<u64>,
    /// States at which the proviso put back what the reduction had left out.
    pub expanded_by_proviso: u64,
    /// Why it ended.
    pub end: End,
    /// One for each target that was hit, in the order of the targets.
    pub violations: Vec<Violation>,
    /// The transitions that were explored at least once.
    pub fired: BitSet,
    /// The [places](stubborn_system::Structure::failures) where steps failed. What would come
    /// after these steps is not known.
    pub failed: BitSet,
    /// How states were stored; tiny ones are never put into a tree.
    pub store: StoreKind,
    /// Memory.
    pub memory: MemoryUse,
    /// Time.
    pub time: TimeUse,
}

/// Memory that a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Tables of the store at the end, with free space.
    pub store: usize,
    /// The most that queues, stacks and logs took at once.
    pub queue_peak: usize,
    /// The most that all of it took at once.
    pub peak: usize,
    /// The most that the process ever had resident, if the system tells.
    pub process_peak: Option<u64>,
}

/// Time that a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeUse {
    /// Exploring.
    pub explore: Duration,
    /// Finding traces again, and replaying them.
    pub traces: Duration,
}

/// A target that was hit.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub target: Target,
    /// How often: states for states, edges for edges. At least 1; in a search that
    /// stops early, of what it saw.
    pub count: u64,
    /// Steps to the violation.
    pub length: u64,
    /// Where it happens: the bad state, or the state that the bad step leaves. Empty where that is not
    /// known: if a model was made smaller, and the run cannot be told in its own words.
    pub state: Vec<u32>,
    /// The bad step, if it is one.
    pub step: Option<(TransitionId, Outcome)>,
    /// How to get there, replayed on the unreduced system. After a breadth-first search
    /// a shortest one.
    pub trace: Option<Trace>,
    /// Why there is no trace, if so: the violation is real all the same.
    pub trace_missing: Option<TraceMissing>,
}

/// Why a violation has no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceMissing {
    /// The memory limit left no room for the log of a second run, or for the trace.
    Memory,
    /// The time was over before it was found, or replayed.
    Time,
    /// The search was interrupted before the second run was over.
    Interrupted,
    /// A lossy store took other states for equal in the second run.
    LossyStore,
    /// It has too many steps. Neither its end nor its length is known.
    Long,
}

impl From<Spent> for TraceMissing {
    fn from(spent: Spent) -> Self {
        match spent {
            Spent::Time => Self::Time,
            Spent::Memory => Self::Memory,
            Spent::Interrupted | Spent::Outgrown | Spent::LeftOut => Self::Interrupted,
        }
    }
}

impl SearchResult {
    /// How many levels [`level_sizes`](Self::level_sizes) describes at most.
    pub const LEVEL_SIZES: usize = 1 << 16;

    /// True if everything was explored.
    pub fn is_complete(&self) -> bool {
        self.end == End::Complete
    }

    /// Bytes of the store divided by the number of states.
    pub fn bytes_per_state(&self) -> f64 {
        self.memory.store as f64 / self.states.max(1) as f64
    }

    /// States a second of exploring.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.time.explore.as_secs_f64().max(1e-9)
    }

    /// The violation of a target.
    pub fn violation(&self, target: Target) -> Option<&Violation> {
        self.violations.iter().find(|v| v.target == target)
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::States => "the limit of states was reached",
            Self::Memory => "the memory limit was reached",
            Self::Depth => "the limit on the number of steps was reached",
            Self::StoreFull => "the state store has no more numbers for states",
            Self::Time => "the time limit was reached",
            Self::Interrupted => "the search was interrupted",
            Self::Outgrown => "the model starts more processes than it was prepared for",
            Self::LeftOut => "a step leads to a state that cannot be represented",
        })
    }
}

impl std::fmt::Display for TraceMissing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "the memory limit left no room to find the way again",
            Self::Time => "the time limit was reached before the way was found again",
            Self::Interrupted => "interrupted while finding the way again",
            Self::LossyStore => "the lossy store lost the way in the second run",
            Self::Long => "the way there is too long to be told",
        })
    }
}
