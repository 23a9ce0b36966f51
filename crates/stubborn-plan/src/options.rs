//! What is known and chosen about a check, by the user or by defaults.

use std::sync::Arc;

use stubborn_emptiness::{CycleProviso, Emptiness, FiniteRuns, PutBack, SteeringMode};
use stubborn_reduce::experiments::measured::MeasuredRelations;
use stubborn_reduce::{Config, Visibility};
use stubborn_search::{Engine, Limits, Order, Progress, SharedMemory, StoreOptions};
use stubborn_system::RelationLevel;

use crate::auto::FIRST_PAUSE;
use crate::keeping::Keeping;
use crate::temporal::TemporalEngine;

/// How to look for answers.
#[derive(Clone)]
pub struct CheckOptions<'a> {
    /// In which order states are visited. Breadth-first gives shortest counterexamples.
    pub order: Order,
    /// On how many threads.
    pub threads: usize,
    /// How states are stored.
    pub store: StoreOptions,
    /// When to give up.
    pub limits: Limits<'a>,
    /// What may be left out.
    pub reduction: ReductionOptions,
    /// Shuffles depth-first searches.
    pub seed: Option<u64>,
    /// How temporal properties are checked.
    pub temporal: TemporalOptions,
    /// Who may run searches; the first one that takes a search does.
    pub engines: &'a [&'a dyn Engine],
    /// Who answers those questions about infinite runs that it takes.
    pub temporal_engine: Option<&'a dyn TemporalEngine>,
    /// Told how far the search is.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Keeps what is done, for another run to go on with.
    pub keeping: Option<&'a Keeping<'a>>,
}

impl Default for CheckOptions<'_> {
    fn default() -> Self {
        Self {
            order: Order::default(),
            threads: 1,
            store: StoreOptions::default(),
            limits: Limits::default(),
            reduction: ReductionOptions::default(),
            seed: None,
            temporal: TemporalOptions::default(),
            engines: &[&SharedMemory],
            temporal_engine: None,
            observer: None,
            keeping: None,
        }
    }
}

/// Which reduction to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Por {
    /// None.
    None,
    /// A sound one for each question, where it pays.
    #[default]
    Auto,
    /// This one.
    Chosen(Config),
}

/// Which safety proviso keeps a reduced search from ignoring transitions for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisoChoice {
    /// The one that fits the order of the search and expands least.
    #[default]
    Auto,
    /// Expand a state if every kept successor was expanded before.
    ClosedSet,
    /// Expand a state if every kept successor is on the stack; depth-first on one thread.
    Stack,
    /// Expand one state of each component that is never left; breadth-first.
    Terminal,
}

/// What is known and chosen about reduction.
#[derive(Clone, Debug)]
pub struct ReductionOptions {
    /// Which.
    pub por: Por,
    /// How precise the relations between transitions are.
    pub relations: RelationLevel,
    /// Relations from a state space, used in place of those.
    pub measured: Option<Arc<MeasuredRelations>>,
    /// Against ignoring, where a search looks for states.
    pub proviso: ProvisoChoice,
    /// Against ignoring, where it looks for infinite runs; `None` for the best known one.
    pub cycle_proviso: Option<CycleProviso>,
    /// After how many states `auto` asks whether to reduce; about infinite runs it may ask earlier.
    pub patience: u64,
}

impl Default for ReductionOptions {
    fn default() -> Self {
        Self {
            por: Por::Auto,
            relations: RelationLevel::Reach,
            measured: None,
            proviso: ProvisoChoice::Auto,
            cycle_proviso: None,
            patience: FIRST_PAUSE,
        }
    }
}

impl ReductionOptions {
    /// No reduction at all.
    pub fn none() -> Self {
        Self {
            por: Por::None,
            ..Self::default()
        }
    }
}

/// How temporal properties are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporalOptions {
    /// How violating runs are looked for.
    pub emptiness: Emptiness,
    /// What runs that end mean.
    pub finite_runs: FiniteRuns,
    /// Whether reduced sets are made for the state that the automaton of a property is in.
    pub steering: SteeringMode,
    /// What sets do about transitions that a property can see.
    pub visibility: Visibility,
    /// Only what the automaton can still look at counts as visible.
    pub relaxed_visibility: bool,
    /// What a state that a proviso expands gets back.
    pub expansion: PutBack,
    /// Look at runs only in which a process that could move all the time moves again and
    /// again.
    pub weak_fairness: bool,
    /// Tell how a property is violated, and not only that it is.
    pub counterexample: bool,
    /// Look, too, for parts of a formula that holds which do not matter to it.
    pub vacuity: bool,
}

impl Default for TemporalOptions {
    fn default() -> Self {
        Self {
            emptiness: Emptiness::default(),
            finite_runs: FiniteRuns::default(),
            steering: SteeringMode::default(),
            visibility: Visibility::Vi,
            relaxed_visibility: false,
            expansion: PutBack::default(),
            weak_fairness: false,
            counterexample: true,
            vacuity: false,
        }
    }
}
