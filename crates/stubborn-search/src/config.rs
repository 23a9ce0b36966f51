//! What to search, in which order, for what, and until when: one struct.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use std::sync::Arc;

use stubborn_store::{MemoryBudget, StoreOptions};
use stubborn_system::{LabelId, Reduction, Spent, Successors, System};

use crate::progress::Progress;
use crate::proviso::SafetyProviso;

/// In which order states are expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// Level by level: the first violation found is a nearest one.
    #[default]
    BreadthFirst,
    /// Along one path as far as it goes, then back. On several threads each has a path of
    /// its own and takes over parts of the others' when it has none left: every state is
    /// expanded once, but the whole is not depth-first in the strict sense.
    DepthFirst,
}

impl Order {
    /// As people say it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BreadthFirst => "breadth-first",
            Self::DepthFirst => "depth-first",
        }
    }
}

/// Something that must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A state without any step. (The error state that failed steps lead to has none
    /// either, but is no violation of this: it is one of [`Errors`](Self::Errors).)
    Deadlock,
    /// A state without any step in which
    /// [`valid_end`](stubborn_system::Structure::valid_end) does not hold; the same as
    /// [`Deadlock`](Self::Deadlock) in a system without such a label.
    InvalidEnd,
    /// A step that fails: an index, a range, a division.
    Errors,
    /// A step in which an assertion is violated.
    Assertions,
    /// A state in which a label holds, as in
    /// [`Property::violated_by`](stubborn_system::Property).
    Label(LabelId),
}

/// When a search may stop before it has seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Stop {
    /// It goes on, and counts violations.
    #[default]
    Never,
    /// As soon as one target was hit.
    FirstViolation,
    /// When every target was hit.
    AllViolated,
}

/// Limits at which a search ends with what it has learnt, beside the
/// [budget](System::budget) of the system. All are looked at every few dozen
/// states, so they may be overstepped by a little.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Most states to store.
    pub states: Option<u64>,
    /// Most bytes for store, queues and stacks together.
    pub memory: Option<usize>,
    /// Longest time. (Building a trace afterwards is not counted.)
    pub time: Option<Duration>,
    /// Most steps from an initial state to a state that is looked at, in breadth-first order; other
    /// orders do not know it, and go further.
    pub depth: Option<u64>,
    /// Stops the search when somebody sets it.
    pub interrupt: Option<&'a AtomicBool>,
    /// Stops the search when somebody sets it, with everything that it needs to go on; see
    /// [`Exploration::is_paused`](crate::Exploration::is_paused). Whoever lets it go on clears it.
    pub pause: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    /// What store, queues and stacks of a search of this system may take: what these limits say,
    /// and what the system's budget leaves.
    pub fn memory_budget(&self, system: &dyn System) -> Arc<MemoryBudget> {
        let limit = self.memory.unwrap_or(usize::MAX);
        match system.budget().memory() {
            None => MemoryBudget::new(limit),
            Some((most, gauge)) => {
                // Something else may grow meanwhile: code, caches, the allocator's own tables.
                // Tables that are refused in time leave the budget for another search.
                let margin = (most / 16).min(32 << 20);
                MemoryBudget::within_process(limit, most - margin, gauge)
            }
        }
    }
}

/// Sees every state that is expanded, with all its successors; false if it has seen enough, and
/// the search ends as if it had found what it looked for. It is called by all threads, in no
/// certain order. The error state is shown to nobody.
pub type Visitor<'v> = dyn Fn(&[u32], &Successors) -> bool + Sync + 'v;

/// A search, ready to [run](Search::run).
#[derive(Clone)]
pub struct Search<'a> {
    /// The system to explore.
    pub system: &'a dyn System,
    /// The system to replay traces on before they are returned: another execution of the
    /// same model (the interpreter, where `system` is compiled code), with the same layout,
    /// transitions and laws. By default `system` itself, with a fresh executor.
    pub replay: Option<&'a dyn System>,
    /// Leaves out steps that cannot matter for the targets. The caller knows that it keeps
    /// what the targets ask for.
    pub reduction: Option<&'a dyn Reduction>,
    /// Puts steps back where leaving them out for ever would miss something.
    pub proviso: Option<&'a dyn SafetyProviso>,
    /// In which order.
    pub order: Order,
    /// On how many threads; at least 1.
    pub threads: usize,
    /// How states are stored.
    pub store: StoreOptions,
    /// When to give up.
    pub limits: Limits<'a>,
    /// What to look for.
    pub targets: Vec<Target>,
    /// When to stop looking.
    pub stop: Stop,
    /// With a seed, a depth-first search takes the successors of each state in an order
    /// shuffled by it, to look elsewhere first. Ignored by breadth-first searches.
    pub seed: Option<u64>,
    /// Shown every state.
    pub visitor: Option<&'a Visitor<'a>>,
    /// Told how far the search is, a few times a second, on the thread that called
    /// [`run`](Search::run).
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

impl<'a> Search<'a> {
    /// A full exploration, breadth-first on one thread, without targets.
    pub fn new(system: &'a dyn System) -> Self {
        Self {
            system,
            replay: None,
            reduction: None,
            proviso: None,
            order: Order::default(),
            threads: 1,
            store: StoreOptions::default(),
            limits: Limits::default(),
            targets: Vec::new(),
            stop: Stop::default(),
            seed: None,
            visitor: None,
            observer: None,
        }
    }
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Search")
            .field("reduction", &self.reduction.map(|r| r.name()))
            .field("proviso", &self.proviso.map(|p| p.name()))
            .field("order", &self.order)
            .field("threads", &self.threads)
            .field("store", &self.store)
            .field("limits", &self.limits)
            .field("targets", &self.targets)
            .field("stop", &self.stop)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Why a search cannot be run, or its result not be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchError {
    /// The parts do not fit together; in words.
    Mismatch(String),
    /// A counterexample could not be repeated on the unreduced system: a bug in this
    /// program, not in the model. No verdict of the run can be trusted.
    ReplayFailed(String),
    /// The budget was spent before a counterexample was repeated.
    GaveUp(Spent),
    /// The engine turned out not to be able to answer; why.
    NoAnswer(String),
}

impl fmt::Display for SearchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(text) | Self::NoAnswer(text) => formatter.write_str(text),
            Self::ReplayFailed(text) => write!(
                formatter,
                "internal error: a counterexample cannot be repeated on the model itself ({text}); \
                 this is a bug in the checker, please report it"
            ),
            Self::GaveUp(spent) => spent.fmt(formatter),
        }
    }
}

impl std::error::Error for SearchError {}
