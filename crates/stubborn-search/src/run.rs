//! The frame around a search: does everything fit, run it, make traces, add up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use stubborn_store::{MemoryBudget, Store, StoreError, StoreKind};

use crate::config::{Order, Search, SearchError, Target};
use crate::context::{Context, Sum};
use crate::control::Control;
use crate::entry::EntryShape;
use crate::expand::Checks;
use crate::memory::{Ledger, peak_resident_bytes};
use crate::proviso::{Chosen, NoProviso};
use crate::replay::{confirm, replay};
use crate::rerun::{Path, find_ways};
use crate::result::{End, Limit, MemoryUse, SearchResult, TimeUse, TraceMissing, Violation};
use crate::violation::{Finding, Tally, ValueOrder};
use crate::{bfs, dfs};

impl Search<'_> {
    /// Runs the search.
    ///
    /// Reaching a limit is not an error: the result then says so. Errors are parts that do
    /// not fit together, and counterexamples that cannot be repeated (a bug of this program).
    ///
    /// # Panics
    /// If an executor, a reduction or a proviso does, after all threads have stopped.
    pub fn run(&self) -> Result<SearchResult, SearchError> {
        self.check()?;
        let budget = MemoryBudget::new(self.limits.memory.unwrap_or(usize::MAX));
        let ledger = Ledger::new(Arc::clone(&budget));
        let checks = Checks::new(&self.targets, self.system.structure());
        let order = ValueOrder::new(self.system);
        let targets = self.targets.len();
        let control = Control::new(
            self.limits,
            self.observer,
            &budget,
            self.threads.max(1),
            self.stop,
            targets,
        );
        let words = self.system.layout().words();
        let store = match Store::new(words, &self.store, &budget) {
            Ok(store) => store,
            Err(error) => {
                control.store_failed(error);
                return Ok(self.nothing_learnt(&control, error));
            }
        };
        let panic = Mutex::new(None);
        let context = Context {
            search: self,
            store: &store,
            shape: EntryShape::new(&store),
            ledger: &ledger,
            control: &control,
            checks: &checks,
            order: &order,
            panic: &panic,
        };
        let sum = match (self.order, self.proviso) {
            (Order::BreadthFirst, None) => bfs::run(&context, || NoProviso),
            (Order::BreadthFirst, Some(proviso)) => bfs::run(&context, || Chosen::new(proviso)),
            (Order::DepthFirst, None) => dfs::run(&context, || NoProviso),
            (Order::DepthFirst, Some(proviso)) => dfs::run(&context, || Chosen::new(proviso)),
        };
        let raised = panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = raised {
            std::panic::resume_unwind(panic);
        }
        let explore = control.elapsed();
        let (states, kind, store_bytes) = (store.len(), store.kind(), store.bytes());
        let end = match control.limit() {
            Some(limit) => End::Limit(limit),
            None if control.go_on().is_err() => End::Violation,
            None => End::Complete,
        };

        let started = Instant::now();
        let findings: Vec<&Finding> = sum.tallies.iter().filter_map(|t| t.best.as_ref()).collect();
        let ways = match self.order {
            _ if findings.is_empty() => Ok(Vec::new()),
            Order::DepthFirst => Ok(ways_on_stack(&context, &findings)),
            Order::BreadthFirst if context.shape.is_handle => find_ways(&context, &findings),
            Order::BreadthFirst => {
                // The second run needs an empty store, and the memory of the first one.
                let shape = context.shape;
                drop(store);
                Store::new(words, &self.store, &budget)
                    .map_err(|_| TraceMissing::Memory)
                    .and_then(|store| {
                        let context = Context {
                            search: self,
                            store: &store,
                            shape,
                            ledger: &ledger,
                            control: &control,
                            checks: &checks,
                            order: &order,
                            panic: &panic,
                        };
                        find_ways(&context, &findings)
                    })
            }
        };
        let violations = self.violations(&sum.tallies, ways)?;
        let has_ends = self.system.structure().valid_end.is_some();
        let is_breadth_first = self.order == Order::BreadthFirst;
        let Sum {
            counts,
            fired,
            failed,
            depth,
            levels,
            level_sizes,
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
                queue_peak: ledger.peak(),
                peak: budget.peak(),
                process_peak: peak_resident_bytes(),
            },
            time: TimeUse {
                explore,
                traces: started.elapsed(),
            },
        })
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
        let needs = proviso.needs();
        if matches!(self.store.kind, StoreKind::Bitstate | StoreKind::Compact) {
            return mismatch(format!(
                "the proviso {name} needs a store that keeps states apart (tree or plain)"
            ));
        }
        if (needs.depth_first || needs.edges) && self.order != Order::DepthFirst {
            return mismatch(format!("the proviso {name} needs depth-first order"));
        }
        if needs.breadth_first && self.order != Order::BreadthFirst {
            return mismatch(format!("the proviso {name} needs breadth-first order"));
        }
        if (needs.depth_first || needs.edges) && self.threads > 1 {
            return mismatch(format!(
                "the proviso {name} needs one thread: a parallel search is not depth-first"
            ));
        }
        Ok(())
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

    /// Replays the ways to the findings.
    fn violations(
        &self,
        tallies: &[Tally],
        ways: Result<Vec<Path>, TraceMissing>,
    ) -> Result<Vec<Violation>, SearchError> {
        let system = self.replay.unwrap_or(self.system);
        let (ways, trace_missing) = match ways {
            Ok(ways) => (ways, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let mut ways = ways.into_iter();
        let mut violations = Vec::new();
        for (target, tally) in self.targets.iter().zip(tallies) {
            let Some(finding) = &tally.best else { continue };
            let mut trace = None;
            if let Some(way) = ways.next() {
                let replayed = replay(system, way, finding.step)?;
                confirm(system, *target, &replayed)?;
                trace = Some(replayed);
            }
            violations.push(Violation {
                target: *target,
                count: tally.count,
                length: trace.as_ref().map_or(finding.length, |t| t.len() as u64),
                state: finding.state.to_vec(),
                step: finding.step,
                trace,
                trace_missing,
            });
        }
        Ok(violations)
    }
}

/// The ways that depth-first searches found, as words.
fn ways_on_stack(context: &Context<'_>, findings: &[&Finding]) -> Vec<Path> {
    let mut worker = context.store.worker();
    let (mut cursor, mut scratch) = (context.store.cursor(), Vec::new());
    let shape = context.shape;
    findings
        .iter()
        .map(|finding| {
            let mut way = Vec::new();
            for entry in finding.path.chunks_exact(shape.entry_words) {
                shape.load(entry, &mut worker, &mut cursor, &mut scratch);
                way.extend_from_slice(cursor.words());
            }
            way
        })
        .collect()
}
