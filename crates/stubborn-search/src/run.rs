//! The frame around a search: does everything fit, run it, make traces, add up.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use stubborn_store::{Leaves, MemoryBudget, Store, StoreError, StoreOptions};
use stubborn_system::{Reduction, Spent};

use crate::arrange::{LOOKS, Look, better_tree};
use crate::config::{Limits, Order, Search, SearchError, Target};
use crate::context::{Context, Sum};
use crate::control::Control;
use crate::engine::Found;
use crate::entry::EntryShape;
use crate::expand::Checks;
use crate::memory::{Ledger, peak_resident_bytes};
use crate::replay::{confirm, replay};
use crate::rerun::{Path, find_ways};
use crate::result::{End, Limit, MemoryUse, SearchResult, TimeUse, TraceMissing, Violation};
use crate::violation::{Finding, ValueOrder};
use crate::{bfs, dfs};

pub(crate) mod disk;
pub(crate) mod distributed;
mod resume;

impl Search<'_> {
    /// Runs the search.
    ///
    /// Reaching a limit is not an error: the result then says so. Errors are parts that do
    /// not fit together, and counterexamples that cannot be repeated (a bug of this program).
    ///
    /// # Panics
    /// If an executor, a reduction or a proviso does, after all threads have stopped.
    pub fn run(&self) -> Result<SearchResult, SearchError> {
        let mut exploration = self.begin()?;
        exploration.explore(self.limits.states);
        exploration.finish()
    }

    /// Prepares the search, to be explored in several goes.
    ///
    /// # Errors
    /// If the parts do not fit together.
    pub fn begin(&self) -> Result<Exploration<'_>, SearchError> {
        self.check()?;
        let budget = self.limits.memory_budget(self.system);
        let words = self.system.layout().words();
        let store = Store::new(words, &self.store, &budget);
        let mut exploration = self.begin_with(store, budget);
        // Whoever is shown every state sees each once, and what random walks meet would be learnt.
        let is_watched = self.visitor.is_some() || self.system.learns();
        if !is_watched && self.store.leaves.is_none() {
            exploration.looks = &LOOKS;
        }
        Ok(exploration)
    }

    /// A better tree for the states than the usual one, if there is one and the search is not small.
    fn better_leaves(&self) -> Option<Leaves> {
        let small = Search {
            targets: Vec::new(),
            proviso: None,
            observer: None,
            limits: Limits {
                pause: None,
                ..self.limits
            },
            ..self.clone()
        };
        let mut exploration = small.begin().ok()?;
        let [first, ..] = &LOOKS;
        exploration.explore(Some(first.states));
        let store = exploration.store.as_ref().ok();
        store
            .filter(|_| exploration.is_waiting())
            .and_then(|store| better_tree(first, &small, store))
    }

    /// The search with a store, before anything is explored.
    fn begin_with(
        &self,
        store: Result<Store, StoreError>,
        budget: Arc<MemoryBudget>,
    ) -> Exploration<'_> {
        let spending = self.system.budget();
        spending.begin("");
        let control = Control::new(
            self.limits,
            self.observer,
            Arc::clone(&budget),
            spending,
            self.threads.max(1),
            self.stop,
            self.targets.len(),
        );
        Exploration {
            store,
            parts: Parts {
                search: self,
                ledger: Ledger::new(Arc::clone(&budget)),
                control,
                checks: Checks::new(&self.targets, self.system.structure()),
                order: ValueOrder::new(self.system),
                sum: Mutex::new(Sum::new(self)),
                panic: Mutex::new(None),
            },
            budget,
            frontier: bfs::Frontier::default(),
            waiting: dfs::Waiting::default(),
            looks: &[],
        }
    }

    /// Whether the parts fit together.
    fn check(&self) -> Result<(), SearchError> {
        let mismatch = |text: String| Err(SearchError::Mismatch(text));
        let structure = self.system.structure();
        for (number, target) in self.targets.iter().enumerate() {
            if self.targets[..number].contains(target) {
                return mismatch(format!("the target {target:?} is asked for twice"));
            }
            if let Target::Label(label) = target
                && label.index() >= structure.labels.len()
            {
                return mismatch(format!("there is no label {label:?}"));
            }
        }
        if self.threads == 0 {
            return mismatch("a search needs at least one thread".into());
        }
        if let Some(replay) = self.replay
            && (replay.layout().words() != self.system.layout().words()
                || replay.structure().transitions.len() != structure.transitions.len())
        {
            return mismatch("traces cannot be replayed on a different model".into());
        }
        let Some(proviso) = self.proviso else {
            return Ok(());
        };
        let name = proviso.name();
        if let Some(reduction) = self.reduction
            && !reduction.is_function_of_state()
        {
            return mismatch(format!(
                "the proviso {name} needs sets that depend on the state alone; those of {} do not",
                reduction.name()
            ));
        }
        if !self.store.kind.is_exact() {
            return mismatch(format!(
                "the proviso {name} needs a store that keeps states apart (tree or plain)"
            ));
        }
        match proviso.order() {
            Some(order) if order != self.order => {
                mismatch(format!("the proviso {name} needs {} order", order.name()))
            }
            Some(Order::DepthFirst) if self.threads > 1 => mismatch(format!(
                "the proviso {name} needs one thread: a parallel search is not depth-first"
            )),
            _ => Ok(()),
        }
    }

    /// The result when not even an empty store fits.
    fn nothing_learnt(&self, control: &Control<'_>, error: StoreError) -> SearchResult {
        let structure = self.system.structure();
        SearchResult {
            states: 0,
            transitions: 0,
            deadlocks: 0,
            invalid_ends: structure.valid_end.map(|_| 0),
            depth: 0,
            bfs_levels: (self.order == Order::BreadthFirst).then_some(0),
            level_sizes: Vec::new(),
            expanded_by_proviso: 0,
            end: End::Limit(match error {
                StoreError::OutOfMemory(_) => Limit::Memory,
                StoreError::Full => Limit::StoreFull,
            }),
            violations: Vec::new(),
            fired: stubborn_system::BitSet::new(structure.transitions.len()),
            failed: stubborn_system::BitSet::new(structure.failures.len()),
            store: self.store.kind,
            memory: MemoryUse {
                process_peak: peak_resident_bytes(),
                ..MemoryUse::default()
            },
            time: TimeUse {
                explore: control.elapsed(),
                ..TimeUse::default()
            },
        }
    }

    /// Violations of what was found: each with its way, one state after the other, replayed on
    /// the reference execution. The ways are those of the first findings, in their order.
    ///
    /// # Errors
    /// If a way cannot be repeated, or does not lead where it should.
    pub fn confirm(
        &self,
        found: Vec<Found>,
        ways: Result<Vec<Vec<u32>>, TraceMissing>,
    ) -> Result<Vec<Violation>, SearchError> {
        let system = self.replay.unwrap_or(self.system);
        let (ways, trace_missing) = match ways {
            Ok(ways) => (ways, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let mut ways = ways.into_iter();
        let mut violations = Vec::new();
        for found in found {
            let mut trace = None;
            let mut trace_missing = trace_missing;
            if let Some(way) = ways.next() {
                match replay(system, way, found.step) {
                    Ok(replayed) => {
                        confirm(system, found.target, &replayed)?;
                        trace = Some(replayed);
                    }
                    Err(SearchError::GaveUp(spent)) => trace_missing = Some(spent.into()),
                    Err(error) => return Err(error),
                }
            }
            violations.push(Violation {
                target: found.target,
                count: found.count,
                length: trace.as_ref().map_or(found.length, |t| t.len() as u64),
                state: found.state,
                step: found.step,
                trace,
                trace_missing,
            });
        }
        Ok(violations)
    }
}

/// A search in progress: it can be stopped by a number of states, looked at, and continued with
/// everything that it has.
pub struct Exploration<'a> {
    parts: Parts<'a>,
    /// Or why there is none.
    store: Result<Store, StoreError>,
    budget: Arc<MemoryBudget>,
    /// What is left, in breadth-first order.
    frontier: bfs::Frontier,
    /// What is left, in depth-first order.
    waiting: dfs::Waiting,
    /// When it may start again with another tree.
    looks: &'static [Look],
}

/// What the threads share besides the store.
struct Parts<'a> {
    search: &'a Search<'a>,
    ledger: Arc<Ledger>,
    control: Control<'a>,
    checks: Checks,
    order: ValueOrder<'a>,
    sum: Mutex<Sum>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Parts<'_> {
    fn context<'c>(&'c self, store: &'c Store) -> Context<'c> {
        Context {
            search: self.search,
            store,
            shape: EntryShape::new(store),
            ledger: &self.ledger,
            control: &self.control,
            checks: &self.checks,
            order: &self.order,
            sum: &self.sum,
            panic: &self.panic,
        }
    }
}

impl fmt::Debug for Exploration<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Exploration")
            .field("search", self.parts.search)
            .field("is_waiting", &self.is_waiting())
            .finish_non_exhaustive()
    }
}

impl Exploration<'_> {
    /// Explores until there are more than `most` states, or until the search ends: then nothing
    /// happens any more.
    ///
    /// # Panics
    /// If an executor, a reduction or a proviso does, after all threads have stopped.
    pub fn explore(&mut self, most: Option<u64>) {
        while let Some((look, later)) = self.looks.split_first()
            && most.is_none_or(|most| most > look.states)
        {
            self.explore_on(Some(look.states));
            if !self.is_waiting() {
                return;
            }
            let search = self.parts.search;
            let work = search.reduction.map_or(0, Reduction::work);
            let store = self.store.as_ref().ok();
            let store = store.filter(|_| work / look.states <= look.work);
            if let Some(leaves) = store.and_then(|s| better_tree(look, search, s)) {
                self.start_again(Arc::new(leaves));
            }
            self.looks = later;
        }
        self.explore_on(most);
    }

    /// Forgets everything that was explored, and starts with another tree.
    fn start_again(&mut self, leaves: Arc<Leaves>) {
        let search = self.parts.search;
        // Its memory is needed.
        self.store = Err(StoreError::Full);
        let options = StoreOptions {
            leaves: Some(leaves),
            ..search.store.clone()
        };
        let store = Store::new(search.system.layout().words(), &options, &self.budget);
        let started = self.parts.control.started;
        *self = search.begin_with(store, Arc::clone(&self.budget));
        self.parts.control.started = started;
    }

    /// Explores with the store that there is.
    fn explore_on(&mut self, most: Option<u64>) {
        let is_new = self.frontier.levels == 0 && !self.waiting.has_begun;
        let goes_on = self.parts.control.allow_states(most);
        let Ok(store) = &self.store else {
            return;
        };
        if !is_new && !goes_on {
            return;
        }
        let context = self.parts.context(store);
        match (self.parts.search.order, self.parts.search.proviso) {
            (Order::BreadthFirst, None) => bfs::run::<false>(&context, &mut self.frontier),
            (Order::BreadthFirst, Some(_)) => bfs::run::<true>(&context, &mut self.frontier),
            (Order::DepthFirst, None) => dfs::run::<false>(&context, &mut self.waiting),
            (Order::DepthFirst, Some(_)) => dfs::run::<true>(&context, &mut self.waiting),
        }
        let raised = self.parts.panic.lock();
        let raised = raised.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = raised {
            std::panic::resume_unwind(panic);
        }
    }

    /// Whether it stopped because of the number of states, and can be continued.
    pub fn is_waiting(&self) -> bool {
        self.store.is_ok() && self.parts.control.limit() == Some(Limit::States)
    }

    /// Whether it stopped because somebody asked for a [pause](crate::Limits::pause), and can be
    /// continued.
    pub fn is_paused(&self) -> bool {
        self.store.is_ok() && self.parts.control.is_paused()
    }

    /// Breadth-first: the sizes of the levels so far, up to the one that is being expanded.
    pub fn level_sizes(&self) -> &[u64] {
        &self.frontier.level_sizes
    }

    /// What was learnt, with the ways to violations.
    ///
    /// # Errors
    /// If a counterexample cannot be repeated.
    pub fn finish(self) -> Result<SearchResult, SearchError> {
        self.finish_with(None)
    }

    /// The same for a search whose states are elsewhere.
    fn finish_with(self, elsewhere: Option<Elsewhere<'_>>) -> Result<SearchResult, SearchError> {
        let (parts, budget) = (self.parts, self.budget);
        let (search, control) = (parts.search, &parts.control);
        // What is left to explore is not needed any more, and its memory is.
        drop(self.waiting);
        let (levels, level_sizes) = self.frontier.into_levels();
        let store = match self.store {
            Ok(store) => store,
            Err(error) => return Ok(search.nothing_learnt(control, error)),
        };
        let explore = control.elapsed();
        let (mut states, kind, store_bytes) = (store.len(), store.kind(), store.bytes());
        // The one place where a search may say that it has seen everything. If the budget was
        // spent at any time, executors may have given up, and nobody knows.
        let end = match (control.limit(), search.system.conclude()) {
            // Not even what was found makes sense.
            (_, Some(Spent::Outgrown)) => End::Limit(Limit::Outgrown),
            (None, _) if control.go_on().is_err() => End::Violation,
            (_, Some(spent)) if spent != Spent::LeftOut => End::Limit(spent.into()),
            (Some(limit), _) => End::Limit(limit),
            (None, _) if !kind.is_exact() => End::Lossy,
            // Everything was seen but what cannot be represented.
            (None, Some(left_out)) => End::Limit(left_out.into()),
            (None, None) => End::Complete,
        };

        let started = Instant::now();
        let sum = parts.sum.lock();
        let sum = std::mem::take(&mut *sum.unwrap_or_else(PoisonError::into_inner));
        let findings: Vec<&Finding> = sum.tallies.iter().filter_map(|t| t.best.as_ref()).collect();
        let context = parts.context(&store);
        let ways = match (elsewhere, search.order) {
            (Some(elsewhere), _) => {
                states = elsewhere.states;
                (elsewhere.ways)(&context, &findings)
            }
            _ if findings.is_empty() => Ok(Vec::new()),
            (None, Order::DepthFirst) => ways_on_stack(&context, &findings),
            (None, Order::BreadthFirst) if context.shape.is_handle => {
                find_ways(&context, &findings)
            }
            (None, Order::BreadthFirst) => {
                // The second run needs an empty store, and the memory of the first one.
                drop(store);
                Store::new(search.system.layout().words(), &search.store, &budget)
                    .map_err(|_| TraceMissing::Memory)
                    .and_then(|store| find_ways(&parts.context(&store), &findings))
            }
        };
        let tallies = search.targets.iter().zip(&sum.tallies);
        let found = tallies.filter_map(|(target, tally)| {
            let best = tally.best.as_ref()?;
            Some(Found {
                target: *target,
                count: tally.count,
                length: best.length,
                state: best.state.to_vec(),
                step: best.step,
            })
        });
        let violations = search.confirm(found.collect(), ways)?;
        let has_ends = search.system.structure().valid_end.is_some();
        let is_breadth_first = search.order == Order::BreadthFirst;
        let Sum {
            counts,
            fired,
            failed,
            depth,
            ..
        } = sum;
        Ok(SearchResult {
            states,
            transitions: counts.transitions,
            deadlocks: counts.deadlocks,
            invalid_ends: has_ends.then_some(counts.invalid_ends),
            depth,
            bfs_levels: is_breadth_first.then_some(levels),
            level_sizes,
            expanded_by_proviso: counts.expanded_by_proviso,
            end,
            violations,
            fired,
            failed,
            store: kind,
            memory: MemoryUse {
                store: store_bytes,
                queue_peak: parts.ledger.peak(),
                peak: budget.peak(),
                process_peak: peak_resident_bytes(),
            },
            time: TimeUse {
                explore,
                traces: started.elapsed(),
            },
        })
    }
}

/// What is not in the store of an exploration.
struct Elsewhere<'e> {
    states: u64,
    ways: &'e mut FindWays<'e>,
}

/// The ways to the states of findings.
type FindWays<'e> = dyn FnMut(&Context<'_>, &[&Finding]) -> Result<Vec<Path>, TraceMissing> + 'e;

/// The ways that depth-first searches found, as words.
fn ways_on_stack(context: &Context<'_>, findings: &[&Finding]) -> Result<Vec<Path>, TraceMissing> {
    /// States of the way, and what their trace takes beside.
    const COPIES: usize = 3;
    let entries = findings
        .iter()
        .map(|f| f.path.len() / context.shape.entry_words);
    let words = context.store.width() * entries.sum::<usize>();
    let room = context.ledger.has_room(words * size_of::<u32>() * COPIES);
    if !room || findings.iter().any(|f| f.path.is_empty()) {
        return Err(TraceMissing::Memory);
    }
    let mut worker = context.store.worker();
    let (mut cursor, mut scratch) = (context.store.cursor(), Vec::new());
    let shape = context.shape;
    let ways = findings.iter().map(|finding| {
        let mut way = Vec::new();
        for entry in finding.path.chunks_exact(shape.entry_words) {
            shape.load(entry, &mut worker, &mut cursor, &mut scratch);
            way.extend_from_slice(cursor.words());
        }
        way
    });
    Ok(ways.collect())
}
