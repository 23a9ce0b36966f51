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
use stubborn_store::{
    Batch, Cursor, MemoryBudget, StateHandle, Store, StoreError, StoreOptions, Worker,
};
use stubborn_system::{
    BitSet, Executor, Expansion, Reducer, Reduction, Relations, Successors, System,
};

use crate::proviso::Proviso;
use crate::space::{Counts, Edge, Node, Space, flags};
use crate::sticky::StickyReduction;
use crate::walk::{Emptiness, Walk};

/// How often limits are looked at, in states.
const LOOK_EVERY: u64 = 64;
/// How often the observer is called.
const REPORT_EVERY: Duration = Duration::from_millis(200);

/// An exploration, ready to [run](Exploration::run).
#[derive(Clone)]
pub struct Exploration<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// What may be left out; a function of the state.
    pub reduction: Option<&'a dyn Reduction>,
    /// Which states are expanded all the same.
    pub proviso: Proviso,
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
            proviso: Proviso::NONE,
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
        let started = Instant::now();
        let budget = match self.limits.memory {
            Some(bytes) => MemoryBudget::new(bytes),
            None => MemoryBudget::unlimited(),
        };
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
        let store = match Store::new(self.system.layout().words(), &self.store, &budget) {
            Ok(store) => store,
            Err(error) => {
                result.limit = Some(limit_of(error));
                return Ok(result);
            }
        };
        if !store.is_exact() {
            return Err(SearchError::Mismatch(
                "cycle provisos need a store that keeps states apart: `tree` or `plain`".into(),
            ));
        }
        let sticky = match (self.proviso, self.reduction, self.relations) {
            (Proviso::STICKY, Some(reduction), Some(relations)) => {
                Some(StickyReduction::new(reduction, structure, relations))
            }
            (Proviso::STICKY, Some(_), None) => {
                return Err(SearchError::Mismatch(
                    "sticky transitions are found by relations, and there are none".into(),
                ));
            }
            _ => None,
        };
        let mut exploration: Exploration<'_> = self.clone();
        if let Some(sticky) = &sticky {
            exploration.reduction = Some(sticky);
        }
        let mut graph = Graph::new(&exploration, &store, &budget, started);
        let mut walk = Walk::new(&mut graph, self.proviso, Emptiness::Components, None);
        result.limit = walk.run().err();
        result.counts = walk.counts;
        result.counts.transitions += graph.doubles.values().sum::<u64>();
        result.deadlocks = graph.deadlocks;
        result.invalid_ends = structure.valid_end.map(|_| graph.invalid_ends);
        result.store_bytes = store.bytes();
        result.peak_bytes = budget.peak();
        result.time = started.elapsed();
        Ok(result)
    }
}

fn limit_of(error: StoreError) -> Limit {
    match error {
        StoreError::OutOfMemory(_) => Limit::Memory,
        StoreError::Full => Limit::StoreFull,
    }
}

/// The states of a system as a space without marks.
struct Graph<'a> {
    what: &'a Exploration<'a>,
    executor: Box<dyn Executor + 'a>,
    reducer: Option<Box<dyn Reducer + 'a>>,
    store: &'a Store,
    worker: Worker<'a>,
    cursor: Cursor,
    batch: Batch,
    successors: Successors,
    kept: BitSet,
    /// Where each transition stands in the order; empty for their own order.
    rank: Vec<u32>,
    /// Successors in that order.
    order: Vec<u32>,
    /// Steps beyond the first between the same two states.
    /// (by node and part: some provisos look at a node twice).
    doubles: RapidHashMap<(Node, bool), u64>,
    deadlocks: u64,
    invalid_ends: u64,
    budget: &'a Arc<MemoryBudget>,
    granted: usize,
    started: Instant,
    last_report: (Duration, u64),
    /// At the moment.
    most_states: u64,
}

impl<'a> Graph<'a> {
    fn new(
        what: &'a Exploration<'a>,
        store: &'a Store,
        budget: &'a Arc<MemoryBudget>,
        started: Instant,
    ) -> Self {
        let transitions = what.system.structure().transitions.len();
        Self {
            executor: what.system.executor(),
            reducer: what.reduction.map(Reduction::reducer),
            store,
            worker: store.worker(),
            cursor: store.cursor(),
            batch: store.batch(),
            successors: Successors::new(what.system.layout().words()),
            kept: BitSet::new(transitions),
            rank: what
                .seed
                .map_or(Vec::new(), |seed| shuffled(transitions, seed)),
            order: Vec::new(),
            doubles: RapidHashMap::default(),
            deadlocks: 0,
            invalid_ends: 0,
            budget,
            granted: 0,
            started,
            last_report: Default::default(),
            most_states: what.limits.states.unwrap_or(u64::MAX),
            what,
        }
    }

    /// Appends the edges of a node that the reduction keeps, or those that it leaves out.
    /// Returns true if there are any of the latter.
    fn edges(&mut self, node: Node, wanted: bool, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.worker
            .load(StateHandle::from_bits(node.0), &mut self.cursor)
            // Lossy stores are refused before.
            .map_err(|_| Limit::StoreFull)?;
        let state = self.cursor.words();
        self.successors.clear();
        self.executor.successors(state, &mut self.successors);
        if self.successors.is_empty() {
            let handle = StateHandle::from_bits(node.0);
            if self.worker.flags(handle) & flags::SECOND_PASS != 0 {
                return Ok(false);
            }
            // There is no second pass here, but a second look at a node.
            self.worker.set_flags(handle, flags::SECOND_PASS);
            self.deadlocks += 1;
            let valid_end = self.what.system.structure().valid_end;
            if valid_end.is_some_and(|valid| !self.executor.label(state, valid)) {
                self.invalid_ends += 1;
            }
            return Ok(false);
        }
        let left_out = match &mut self.reducer {
            None => false,
            Some(reducer) => reducer.reduce(
                &mut Expansion {
                    state,
                    executor: &mut *self.executor,
                    successors: &self.successors,
                    is_known: None,
                },
                &mut self.kept,
            ),
        };
        self.order.clear();
        self.order.extend(0..self.successors.len() as u32);
        if !self.rank.is_empty() {
            let of = |at: &u32| self.rank[self.successors.get(*at as usize).transition.index()];
            self.order.sort_by_key(of);
        }
        let first = out.len();
        let mut doubles = 0;
        self.batch.clear();
        for at in 0..self.order.len() {
            let successor = self.successors.get(self.order[at] as usize);
            let is_kept = !left_out || self.kept.contains(successor.transition.index());
            if is_kept == wanted {
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
            let edge = Edge {
                to: Node(inserted.handle.to_bits()),
                marks: Marks::NONE,
            };
            // Some provisos take the second of two equal edges for a new danger. Only
            // neighbours are compared: long lists of edges must not cost their square.
            let recent = out.len().saturating_sub(32).max(first);
            match out[recent..].contains(&edge) {
                true => doubles += 1,
                false => out.push(edge),
            }
        }
        self.batch.clear();
        Ok(doubles)
    }

    #[cold]
    fn look_around(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        let limits = &self.what.limits;
        if counts.states > self.most_states {
            let more = limits.more_states(self.most_states);
            self.most_states = more.ok_or(Limit::States)?;
        }
        let interrupt = limits.interrupt;
        if interrupt.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed)) {
            return Err(Limit::Interrupted);
        }
        if bytes > self.granted {
            let more = bytes - self.granted;
            self.budget.reserve(more).map_err(|_| Limit::Memory)?;
            self.granted = bytes;
        }
        let elapsed = self.started.elapsed();
        if limits.time.is_some_and(|longest| elapsed > longest) {
            return Err(Limit::Time);
        }
        if let Some(observer) = self.what.observer
            && elapsed - self.last_report.0 >= REPORT_EVERY
        {
            let seconds = (elapsed - self.last_report.0).as_secs_f64();
            let new = counts.states - self.last_report.1;
            self.last_report = (elapsed, counts.states);
            observer(&Progress {
                states: counts.states,
                transitions: counts.transitions,
                queue: self.store.len().saturating_sub(counts.states),
                depth: counts.depth,
                memory: self.budget.used(),
                elapsed,
                states_per_second: new as f64 / seconds,
            });
        }
        Ok(())
    }
}

impl Space for Graph<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        self.cursor.clear();
        let words = self.successors.words();
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

    fn flags(&mut self, node: Node) -> u8 {
        self.worker.flags(StateHandle::from_bits(node.0))
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        self.worker.set_flags(StateHandle::from_bits(node.0), flags)
    }

    #[inline]
    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        match counts.states % LOOK_EVERY {
            1 => self.look_around(bytes, counts),
            _ => Ok(()),
        }
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        self.budget.release(self.granted);
    }
}

/// A permutation of the numbers below `count`: for each its place (Fisher and Yates, with
/// the generator SplitMix64 of Steele, Lea and Flood, 2014).
fn shuffled(count: usize, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    let mut state = seed;
    for last in (1..count).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = state;
        random = (random ^ random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ random >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        let other = ((u128::from(random) * (last as u128 + 1)) >> 64) as usize;
        numbers.swap(last, other);
    }
    numbers
}
