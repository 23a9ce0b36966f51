//! Many runs: in parallel, within a budget of memory and time, resumable.
//!
//! Every finished run is on the disk before the next one of its worker starts. A lab that
//! is started again skips what is there (same program, same limits), so that a kill costs
//! what was running and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::Member;
use crate::execute::Bench;
use crate::plan::PlannedRun;
use crate::record::{Log, LogError, Outcome, Record, Results};

/// What runs may use together.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// At most so many at once.
    pub jobs: usize,
    /// Sum of the memory limits of those that run.
    pub bytes: u64,
    /// No run starts later than this.
    pub time: Option<Duration>,
}

/// How far it is.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Runs that are finished, those found in the file included.
    pub done: usize,
    /// All runs.
    pub total: usize,
    /// How long it will take still, as far as one can tell.
    pub left: Option<Duration>,
    /// The run that has just finished.
    pub last: &'a Record,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Runs that were in the file already.
    pub found: usize,
    /// Runs that were made.
    pub made: usize,
    /// Runs for which no time was left.
    pub left: usize,
    /// Of those made: how many with each outcome but `done`.
    pub trouble: Vec<(Outcome, usize)>,
}

/// What workers share.
struct Shared {
    waiting: Vec<usize>,
    free_bytes: u64,
    done: usize,
    done_cost: f64,
    left_cost: f64,
    made: Vec<Outcome>,
    log: Log,
    error: Option<LogError>,
}

/// Runs what is not yet in the file.
pub fn run(
    runs: &[PlannedRun],
    bench: &Bench,
    log: Log,
    results: &mut Results,
    budget: Budget,
    stop: &AtomicBool,
    observe: &(dyn Fn(&Progress<'_>) + Sync),
) -> Result<Summary, LogError> {
    let mut waiting: Vec<usize> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let fingerprint = bench.fingerprint(run.tool);
        let old = results.get(&run.key);
        if !old.is_some_and(|record| record.is_final(fingerprint, run.limits)) {
            waiting.push(at);
        }
    }
    let found = runs.len() - waiting.len();
    let total = runs.len();
    let left_cost = waiting.iter().map(|at| runs[*at].cost).sum();
    waiting.reverse();
    let shared = Mutex::new(Shared {
        waiting,
        free_bytes: budget.bytes,
        done: found,
        done_cost: 0.0,
        left_cost,
        made: Vec::new(),
        log,
        error: None,
    });
    let changed = Condvar::new();
    let started = Instant::now();
    let may_start = || {
        let late = budget.time.is_some_and(|limit| started.elapsed() >= limit);
        !late && !stop.load(Ordering::Relaxed)
    };
    let fresh: Mutex<Vec<Record>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..budget.jobs.max(1) {
            scope.spawn(|| {
                while let Some(together) = next(&shared, &changed, runs, budget, &may_start) {
                    let chosen: Vec<&PlannedRun> = together.iter().map(|at| &runs[*at]).collect();
                    let records = bench.run_together(&chosen);
                    let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    state.free_bytes += claim(chosen[0], budget);
                    changed.notify_all();
                    for (run, record) in chosen.into_iter().zip(records) {
                        // A run that was interrupted together with the lab is no result.
                        if stop.load(Ordering::Relaxed) && record.outcome.is_limit() {
                            continue;
                        }
                        if let Err(error) = state.log.append(&record) {
                            state.waiting.clear();
                            state.error.get_or_insert(error);
                            break;
                        }
                        state.done += 1;
                        state.done_cost += run.cost;
                        state.left_cost -= run.cost;
                        state.made.push(record.outcome);
                        let pace = started.elapsed().as_secs_f64() / state.done_cost.max(1.0);
                        observe(&Progress {
                            done: state.done,
                            total,
                            left: Duration::try_from_secs_f64(pace * state.left_cost.max(0.0)).ok(),
                            last: &record,
                        });
                        let mut fresh = fresh.lock().unwrap_or_else(PoisonError::into_inner);
                        fresh.push(record);
                    }
                }
            });
        }
    });
    let state = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    for record in fresh.into_inner().unwrap_or_else(PoisonError::into_inner) {
        results.insert(record);
    }
    if let Some(error) = state.error {
        return Err(error);
    }
    let mut trouble: Vec<(Outcome, usize)> = Vec::new();
    for outcome in state.made.iter().filter(|o| **o != Outcome::Done) {
        match trouble.iter_mut().find(|(known, _)| known == outcome) {
            Some((_, count)) => *count += 1,
            None => trouble.push((*outcome, 1)),
        }
    }
    Ok(Summary {
        found,
        made: state.made.len(),
        left: state.waiting.len(),
        trouble,
    })
}

/// The memory that a run takes of the budget. One that wants more than there is gets all, and so
/// does one beside which no other may run.
fn claim(run: &PlannedRun, budget: Budget) -> u64 {
    match run.alone {
        true => budget.bytes,
        false => run.limits.bytes.min(budget.bytes),
    }
}

/// The next run that fits into memory, with those that one child can make together with it;
/// none when all have started, or no more may.
fn next(
    shared: &Mutex<Shared>,
    changed: &Condvar,
    runs: &[PlannedRun],
    budget: Budget,
    may_start: &dyn Fn() -> bool,
) -> Option<Vec<usize>> {
    let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if state.waiting.is_empty() || !may_start() {
            return None;
        }
        let free = state.free_bytes;
        let fits = |at: &usize| claim(&runs[*at], budget) <= free;
        if let Some(place) = state.waiting.iter().rposition(fits) {
            let at = state.waiting.remove(place);
            state.free_bytes -= claim(&runs[at], budget);
            let mut together = vec![at];
            if let Some(own) = Member::of(&runs[at]) {
                let goes_along = |other: &usize| {
                    let other = &runs[*other];
                    other.model == runs[at].model
                        && Member::of(other).is_some_and(|member| member.words == own.words)
                };
                // The last one is the next.
                let along = state.waiting.extract_if(.., |other| goes_along(other));
                let mut along: Vec<usize> = along.collect();
                along.reverse();
                together.extend(along);
            }
            return Some(together);
        }
        let patience = Duration::from_millis(200);
        let waited = changed.wait_timeout(state, patience);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
