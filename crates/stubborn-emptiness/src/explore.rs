//! A system alone, reduced with a cycle proviso and without any property.
//!
//! This is how provisos are compared (Duret-Lutz, Kordon, Poitrenaud, Renault, *Heuristics
//! for checking liveness properties with partial order reductions*, 2016): the graph that is
//! left when every cycle has an expanded state, in several orders of the transitions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rapidhash::RapidHashMap;
use stubborn_ltl::automaton::Marks;
use stubborn_search::{Limit, Limits, Progress, SearchError};
use stubborn_store::{Batch, Cursor, MemoryBudget, StateHandle, Store, StoreOptions, Worker};
use stubborn_system::{Expander, Random, Reduction, Relations, System};

use crate::choices::Choices;
use crate::proviso::CycleProviso;
use crate::pulse::{Pulse, Surroundings, append_once, limit_of};
use crate::space::{Counts, Edge, Node, Space, flags};
use crate::sticky::StickyReduction;
use crate::walk::{Emptiness, Walk};

/// An exploration, ready to [run](Exploration::run).
#[derive(Clone)]
pub struct Exploration<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// What may be left out. If that is no function of the state, the first choice in each
    /// state stays.
    pub reduction: Option<&'a dyn Reduction>,
    /// Which states are expanded all the same.
    pub proviso: CycleProviso,
    /// The relations of the system: the proviso `sticky` asks for them.
    pub relations: Option<&'a Relations>,
    /// Takes the transitions in another order, the same one in every state.
    pub seed: Option<u64>,
    /// How states are stored; exactly.
    pub store: StoreOptions,
    /// When to give up.
    pub limits: Limits<'a>,
    /// Told how far the exploration is, a few times a second.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// What an exploration saw.
#[derive(Clone, Debug)]
pub struct ExplorationResult {
    /// States and transitions; every step counts, also a second one to the same state.
    pub counts: Counts,
    /// States without any step.
    pub deadlocks: u64,
    /// Those of them that are no valid ends; `None` in a language without ends.
    pub invalid_ends: Option<u64>,
    /// The limit that ended it, if one did.
    pub limit: Option<Limit>,
    /// Tables of the store at the end, with free space.
    pub store_bytes: usize,
    /// The most that store and search took at once.
    pub peak_bytes: usize,
    /// How long it took.
    pub time: Duration,
}

impl<'a> Exploration<'a> {
    /// Of everything.
    pub fn new(system: &'a dyn System) -> Self {
        Self {
            system,
            reduction: None,
            proviso: CycleProviso::NONE,
            relations: None,
            seed: None,
            store: StoreOptions::default(),
            limits: Limits::default(),
            observer: None,
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// For a store that does not keep states apart, and for sticky transitions without
    /// relations.
    pub fn run(&self) -> Result<ExplorationResult, SearchError> {
        let sticky = self.sticky()?;
        let exploration = match &sticky {
            Some(sticky) => Exploration {
                reduction: Some(sticky),
                ..self.clone()
            },
            None => self.clone(),
        };
        self.system.budget().begin("");
        let budget = self.limits.memory_budget(self.system);
        let started = Instant::now();
        let structure = self.system.structure();
        let mut result = ExplorationResult {
            counts: Counts::default(),
            deadlocks: 0,
            invalid_ends: structure.valid_end.map(|_| 0),
            limit: None,
            store_bytes: 0,
            peak_bytes: 0,
            time: Duration::ZERO,
        };
        let store = match self.new_store(&budget)? {
            Ok(store) => store,
            Err(limit) => {
                result.limit = Some(limit);
                return Ok(result);
            }
        };
        let mut graph = Graph::new(&exploration, &store, &budget, started);
        let mut walk = Walk::new(&mut graph, self.proviso, Emptiness::Components, None);
        let ended = walk.run();
        // Whatever was spent on the way: then executors may have given up, and nobody knows.
        result.limit = self.system.conclude().map(Into::into).or(ended.err());
        result.counts = walk.counts;
        result.counts.transitions += graph.doubles.values().sum::<u64>();
        result.deadlocks = graph.deadlocks;
        result.invalid_ends = structure.valid_end.map(|_| graph.invalid_ends);
        result.store_bytes = store.bytes();
        result.peak_bytes = budget.peak();
        result.time = started.elapsed();
        Ok(result)
    }

    /// A store for the states, or the limit that was reached by making it.
    pub(crate) fn new_store(
        &self,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Result<Store, Limit>, SearchError> {
        let store = match Store::new(self.system.layout().words(), &self.store, budget) {
            Ok(store) => store,
            Err(error) => return Ok(Err(limit_of(error))),
        };
        match store.is_exact() {
            true => Ok(Ok(store)),
            false => Err(SearchError::Mismatch(
                "cycle provisos need a store that keeps states apart: `tree` or `plain`".into(),
            )),
        }
    }

    /// The reduction with sticky transitions, if the proviso asks for them.
    fn sticky(&self) -> Result<Option<StickyReduction<'a>>, SearchError> {
        match (self.proviso, self.reduction, self.relations) {
            (CycleProviso::STICKY, Some(reduction), Some(relations)) => {
                let structure = self.system.structure();
                Ok(Some(StickyReduction::new(reduction, structure, relations)))
            }
            (CycleProviso::STICKY, Some(_), None) => Err(SearchError::Mismatch(
                "sticky transitions are found by relations, and there are none".into(),
            )),
            _ => Ok(None),
        }
    }
}

/// The states of a system as a space without marks.
pub(crate) struct Graph<'a> {
    what: &'a Exploration<'a>,
    steps: Expander<'a>,
    /// For reductions that would choose something else another time.
    choices: Option<Choices>,
    worker: Worker<'a>,
    cursor: Cursor,
    batch: Batch,
    /// Where each transition stands in the order; empty for their own order.
    rank: Vec<u32>,
    /// Successors in that order.
    order: Vec<u32>,
    /// Steps beyond the first between the same two states.
    /// (by node and part: some provisos look at a node twice).
    doubles: RapidHashMap<(Node, bool), u64>,
    deadlocks: u64,
    invalid_ends: u64,
    pulse: Pulse<'a>,
}

/// A step as [`Graph::steps`] finds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) to: Node,
    pub(crate) transition: u32,
    pub(crate) is_kept: bool,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(
        what: &'a Exploration<'a>,
        store: &'a Store,
        budget: &'a Arc<MemoryBudget>,
        started: Instant,
    ) -> Self {
        let transitions = what.system.structure().transitions.len();
        Self {
            steps: Expander::new(what.system, what.reduction),
            choices: what
                .reduction
                .filter(|reduction| !reduction.is_function_of_state())
                .map(|_| Choices::default()),
            worker: store.worker(),
            cursor: store.cursor(),
            batch: store.batch(),
            rank: what
                .seed
                .map_or(Vec::new(), |seed| shuffled(transitions, seed)),
            order: Vec::new(),
            doubles: RapidHashMap::default(),
            deadlocks: 0,
            invalid_ends: 0,
            pulse: Pulse::new(Surroundings {
                gate: None,
                store,
                memory: budget,
                budget: what.system.budget(),
                limits: what.limits,
                started,
                observer: what.observer,
            }),
            what,
        }
    }

    /// Finds the successors of a node, and which of them the reduction keeps. Returns true if
    /// it leaves some out.
    fn look_at(&mut self, node: Node) -> Result<bool, Limit> {
        self.worker
            .load(StateHandle::from_bits(node.0), &mut self.cursor)
            // Lossy stores are refused before.
            .map_err(|_| Limit::StoreFull)?;
        let state = self.cursor.words();
        self.steps.compute(state)?;
        if self.steps.successors().is_empty() {
            let handle = StateHandle::from_bits(node.0);
            if self.worker.flags(handle) & flags::SECOND_PASS != 0 {
                return Ok(false);
            }
            // There is no second pass here, but a second look at a node.
            self.worker.set_flags(handle, flags::SECOND_PASS);
            self.deadlocks += 1;
            let valid_end = self.what.system.structure().valid_end;
            if valid_end.is_some_and(|valid| !self.steps.executor().label(state, valid)) {
                self.invalid_ends += 1;
            }
            return Ok(false);
        }
        let chosen = self.choices.as_ref();
        let recalled = self
            .steps
            .recall(|kept| chosen.and_then(|all| all.recall(node, kept)));
        if let Some(left_out) = recalled {
            return Ok(left_out);
        }
        let (cursor, worker) = (&self.cursor, &mut self.worker);
        let left_out = self.steps.choose_knowing(state, &mut |successor| {
            worker.contains(cursor, successor.state, Some(successor.changed))
        });
        if let Some(choices) = &mut self.choices {
            choices.remember(node, self.steps.kept(), left_out);
        }
        Ok(left_out)
    }

    /// Appends all steps of a node, in the order of the system.
    pub(crate) fn steps(&mut self, node: Node, out: &mut Vec<Step>) -> Result<(), Limit> {
        self.look_at(node)?;
        for successor in self.steps.successors().iter() {
            let inserted =
                self.worker
                    .insert(&self.cursor, successor.state, Some(successor.changed));
            out.push(Step {
                to: Node(inserted.map_err(limit_of)?.handle.to_bits()),
                transition: successor.transition.index() as u32,
                is_kept: self.steps.keeps(successor.transition),
            });
        }
        Ok(())
    }

    /// Appends the edges of a node that the reduction keeps, or those that it leaves out.
    /// Returns true if there are any of the latter.
    fn edges(&mut self, node: Node, wanted: bool, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        let left_out = self.look_at(node)?;
        self.order.clear();
        self.order.extend(0..self.steps.successors().len() as u32);
        if !self.rank.is_empty() {
            let successors = self.steps.successors();
            let of = |at: &u32| self.rank[successors.get(*at as usize).transition.index()];
            self.order.sort_by_key(of);
        }
        let first = out.len();
        let mut doubles = 0;
        self.batch.clear();
        for at in 0..self.order.len() {
            let successor = self.steps.successors().get(self.order[at] as usize);
            if self.steps.keeps(successor.transition) == wanted {
                self.batch
                    .push(&self.cursor, successor.state, Some(successor.changed));
                if self.batch.is_full() {
                    doubles += self.flush(first, out)?;
                }
            }
        }
        doubles += self.flush(first, out)?;
        if doubles > 0 {
            self.doubles.insert((node, wanted), doubles);
        }
        Ok(left_out)
    }

    /// Appends the edges of the batch, and counts those that are there already.
    fn flush(&mut self, first: usize, out: &mut Vec<Edge>) -> Result<u64, Limit> {
        let mut doubles = 0;
        let inserted = self.worker.insert_batch(&mut self.batch);
        for inserted in inserted.map_err(limit_of)? {
            let edge = Edge::new(Node(inserted.handle.to_bits()), Marks::NONE);
            doubles += u64::from(!append_once(edge, first, out));
        }
        self.batch.clear();
        Ok(doubles)
    }
}

impl Space for Graph<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        self.cursor.clear();
        let words = self.what.system.layout().words();
        for state in self.what.system.initial_states().chunks_exact(words) {
            let inserted = self.worker.insert(&self.cursor, state, None);
            out.push(Node(inserted.map_err(limit_of)?.handle.to_bits()));
        }
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.edges(node, true, out)
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges(node, false, out).map(|_| ())
    }

    fn actions(&mut self, node: Node, out: &mut Vec<(u32, bool)>) -> Result<(), Limit> {
        self.look_at(node)?;
        for transition in self.steps.successors().transitions() {
            out.push((transition.index() as u32, self.steps.keeps(*transition)));
        }
        Ok(())
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.worker.flags(StateHandle::from_bits(node.0))
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        self.worker.set_flags(StateHandle::from_bits(node.0), flags)
    }

    #[inline]
    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        let choices = self.choices.as_ref().map_or(0, Choices::bytes);
        self.pulse.go_on(bytes + choices, counts)
    }
}

/// A permutation of the numbers below `count`: for each its place.
pub(crate) fn shuffled(count: usize, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    Random::new(seed).shuffle(&mut numbers);
    numbers
}
