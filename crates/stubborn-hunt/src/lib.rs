//! Bug hunting: many short searches instead of one long one.
//!
//! A model that is too large to be explored may still have violations that some way of looking
//! finds soon; nobody knows which one beforehand (Holzmann, Joshi, Groce, *Swarm verification
//! techniques*, 2011). So all of them take turns, on all threads, in rounds that grow: what a turn
//! may take doubles from round to round, so that no strategy costs more than a few times what the
//! best one would have. Searches in the order of the model do not even start again: they go on where they
//! were, and on several threads one has hardly anything else to do than the one in depth, which finds most.
//! The first violation ends the hunt, and is then made short.
//!
//! | strategy | looks |
//! | --- | --- |
//! | breadth-first | near the start, everywhere |
//! | depth-first, in shuffled orders | far away, along few runs; reduced and not |
//! | random walks | along many runs, with uniform steps, uniform processes, or priorities |
//! | best-first | where relations say that the goal is near |
//! | random lassos, checks in shuffled orders | for infinite runs |
//!
//! A hunt proves nothing by itself. But where one of its exact searches happens to see everything,
//! it says so.

#![forbid(unsafe_code)]

mod best_first;
mod continued;
mod lasso;
mod shrink;
#[cfg(test)]
mod tests;
mod walk;
mod watch;
mod within;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use stubborn_emptiness::{Check, CheckResult, CheckVerdict, Emptiness, Property, ReductionUse};
use stubborn_plan::{
    CheckError, CheckOptions, Planner, Por, ReductionOptions, TemporalOptions, TemporalQuestion,
    Verdict,
};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::{
    End, Limit, Limits, Order, Progress, Stop, StoreKind, StoreOptions, Target, Violation,
};
use stubborn_system::{BitSet, RelationLevel, Relations, System};

use crate::continued::Continued;
use crate::walk::Style;
use crate::within::Shuffled;

/// What a turn of the first round may take: states, or steps.
const FIRST_TURN: u64 = 1 << 9;
/// No turn takes more.
const LONGEST_TURN: u64 = 1 << 28;
/// From so many states on, a depth-first search stores a few bits of each.
const BITSTATE: u64 = 1 << 22;
/// About so many pairs of transitions are related in the time of a state. (Not a time: the same seed hunts in the same
/// way on every machine.)
const RELATED_PER_STATE: u64 = 16;
/// So many temporal properties take about as much as everything else.
const FEW_PROPERTIES: usize = 4;
/// How often the observer is called.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How often the memory is looked at, by a hunt that somebody waits for.
const GAUGE_EVERY: Duration = Duration::from_millis(20);

/// A hunt, ready to [run](Hunt::run).
pub struct Hunt<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// Another execution of the same model, on which violations are replayed.
    pub reference: &'a dyn System,
    /// What must not happen.
    pub targets: &'a [Target],
    /// What should hold on all infinite runs.
    pub temporal: &'a [&'a Property],
    /// How that is meant.
    pub options: TemporalOptions,
    /// On how many threads.
    pub threads: usize,
    /// For everything random.
    pub seed: u64,
    /// For how long, if not until the budget of the system is spent.
    pub time: Option<Duration>,
    /// Told how far the hunt is, a few times a second.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// What was caught.
#[derive(Clone, Debug)]
pub enum Caught {
    /// A target was hit: its number, and how.
    Target(usize, Box<Violation>),
    /// A temporal property is violated: its number, and the run.
    Temporal(usize, Box<CheckResult>),
}

impl Caught {
    /// Steps of the counterexample, if there is one.
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Target(_, violation) => violation.trace.as_ref().map(|trace| trace.len()),
            Self::Temporal(_, result) => result.counterexample.as_ref().map(|c| c.trace.len()),
        }
    }
}

/// How a hunt ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// The violation that ended it.
    pub caught: Option<Caught>,
    /// Which strategy found it.
    pub strategy: Option<String>,
    /// The steps of the counterexample before it was made short.
    pub length_found: Option<usize>,
    /// When it was found.
    pub found_after: Option<Duration>,
    /// For each target, whether an exact search has seen everything, and nothing bad.
    pub targets_hold: Vec<bool>,
    /// For each temporal property, the same.
    pub temporal_hold: Vec<bool>,
    /// What was looked at.
    pub covered: Covered,
}

/// What a hunt has looked at. (States of different turns may be the same.)
#[derive(Clone, Debug, Default)]
pub struct Covered {
    /// Turns, by the name of the strategy.
    pub turns: Vec<(String, u64)>,
    /// Steps of random walks.
    pub steps: u64,
    /// States of searches.
    pub states: u64,
    /// The most steps from an initial state.
    pub depth: u64,
    /// Transitions that were taken by walks and searches.
    pub taken: BitSet,
}

/// One way of looking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    BreadthFirst,
    /// In the order of the model, or shuffled.
    DepthFirst {
        reduced: bool,
        shuffled: bool,
    },
    Walk(Style),
    BestFirst,
    /// With the number of the property.
    Lasso(usize),
    Product {
        property: usize,
        shuffled: bool,
    },
}

impl Strategy {
    fn name(self) -> &'static str {
        match self {
            Self::BreadthFirst => "breadth-first searches",
            Self::DepthFirst { reduced: true, .. } => "reduced depth-first searches",
            Self::DepthFirst { shuffled: true, .. } => "shuffled depth-first searches",
            Self::DepthFirst { .. } => "depth-first searches",
            Self::Walk(Style::Steps) => "random walks",
            Self::Walk(Style::Processes) => "random walks by process",
            Self::Walk(Style::Priorities) => "random walks by priority",
            Self::BestFirst => "best-first searches",
            Self::Lasso(_) => "random lassos",
            Self::Product {
                shuffled: false, ..
            } => "product searches",
            Self::Product { shuffled: true, .. } => "shuffled product searches",
        }
    }
}

impl Strategy {
    /// How much more than others it gets: depth-first searches find most, and at most speed.
    fn weight(self) -> u64 {
        match self {
            Self::DepthFirst {
                reduced: false,
                shuffled: false,
            } => 16,
            Self::Product {
                shuffled: false, ..
            } => 8,
            Self::DepthFirst { .. } | Self::Walk(_) => 4,
            Self::BreadthFirst | Self::Product { shuffled: true, .. } => 2,
            Self::BestFirst | Self::Lasso(_) => 1,
        }
    }

    /// The order of the search that one thread of so many continues from turn to turn, with how much more of
    /// its time that gets; `None` if there is none, or if it belongs to another thread.
    fn continued(self, thread: usize, threads: usize) -> Option<(Order, u64)> {
        let several = threads > 1;
        match self {
            Self::DepthFirst {
                reduced: false,
                shuffled: false,
            } => (thread == 0).then_some((Order::DepthFirst, if several { 8 } else { 1 })),
            Self::BreadthFirst => (thread == usize::from(several))
                .then_some((Order::BreadthFirst, if several { 4 } else { 1 })),
            _ => None,
        }
    }
}

/// What a turn brings.
enum Turn {
    Nothing,
    /// An exact search has seen everything.
    SeenAll,
    /// Everything was seen but what comes after steps that the system cannot represent: nothing holds, and there
    /// is nothing left to look at.
    SeenWhatThereIs,
    Caught(Caught),
}

/// What all threads share.
struct Shared<'h, 'a> {
    hunt: &'h Hunt<'a>,
    strategies: Vec<Strategy>,
    /// Somebody has caught something, or there is nothing left to look for.
    over: AtomicBool,
    /// Of the targets, or of a property, what can be seen was seen: see [`Turn::SeenWhatThereIs`].
    targets_over: AtomicBool,
    temporal_over: Vec<AtomicBool>,
    relations: OnceLock<Relations>,
    /// Somebody computes them.
    relating: AtomicBool,
    report: Mutex<Report>,
    steps: AtomicU64,
    states: AtomicU64,
    depth: AtomicU64,
    started: Instant,
    last_look: Mutex<Duration>,
}

impl Hunt<'_> {
    /// Hunts until something is caught, everything is seen, or time or the budget of the system are spent.
    ///
    /// # Errors
    /// If a counterexample cannot be repeated, or if the model turned out to be too small.
    pub fn run(&self) -> Result<Report, CheckError> {
        let shared = Shared::new(self);
        let threads = self.threads.max(1);
        let ends: Vec<Result<(), CheckError>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    let shared = &shared;
                    let worker = std::thread::Builder::new().stack_size(64 << 20);
                    worker.spawn_scoped(scope, move || shared.work(thread))
                })
                .collect();
            let (hunting, ended) = mpsc::channel::<()>();
            if let Some(time) = self.time {
                let (over, budget) = (&shared.over, self.system.budget());
                // Somebody waits for its end, who needs memory, too.
                let memory = budget.memory().map(|(most, gauge)| {
                    let used = gauge();
                    (used + most.saturating_sub(used) / 2, gauge)
                });
                scope.spawn(move || {
                    let started = Instant::now();
                    let is_too_much = || memory.is_some_and(|(most, gauge)| gauge() > most);
                    loop {
                        let left = time.saturating_sub(started.elapsed());
                        // It is disconnected as soon as all have come back.
                        let wait = ended.recv_timeout(left.min(GAUGE_EVERY));
                        if wait != Err(mpsc::RecvTimeoutError::Timeout) {
                            break;
                        }
                        if left.is_zero() || is_too_much() {
                            over.store(true, Ordering::Relaxed);
                            break;
                        }
                    }
                });
            }
            let join = |worker: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| match worker
            {
                Ok(worker) => match worker.join() {
                    Ok(end) => end,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                // One that does not start is not missed as long as another one does.
                Err(_) => Ok(()),
            };
            let ends = workers.into_iter().map(join).collect();
            drop(hunting);
            ends
        });
        if self.system.budget().is_outgrown() {
            return Err(CheckError::Outgrown);
        }
        ends.into_iter().collect::<Result<(), CheckError>>()?;
        let mut report = shared
            .report
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        report.covered.steps = shared.steps.into_inner();
        report.covered.states = shared.states.into_inner();
        report.covered.depth = shared.depth.into_inner();
        if let Some(caught) = report.caught.take() {
            report.length_found = caught.length();
            let effort = report.covered.states + report.covered.steps;
            report.caught = Some(shrink::shrink(self, caught, effort)?);
            if self.system.budget().is_outgrown() {
                return Err(CheckError::Outgrown);
            }
        }
        Ok(report)
    }
}

impl<'h, 'a> Shared<'h, 'a> {
    fn new(hunt: &'h Hunt<'a>) -> Self {
        let mut strategies = Vec::new();
        if !hunt.targets.is_empty() {
            strategies.extend([
                Strategy::DepthFirst {
                    reduced: false,
                    shuffled: false,
                },
                Strategy::BreadthFirst,
                Strategy::Walk(Style::Steps),
                Strategy::BestFirst,
                Strategy::Walk(Style::Processes),
                Strategy::DepthFirst {
                    reduced: true,
                    shuffled: false,
                },
                Strategy::Walk(Style::Priorities),
                Strategy::DepthFirst {
                    reduced: false,
                    shuffled: true,
                },
            ]);
        }
        for property in 0..hunt.temporal.len() {
            strategies.push(Strategy::Product {
                property,
                shuffled: false,
            });
            // Which runs are fair is seen by a search of components only.
            if !hunt.options.weak_fairness {
                strategies.push(Strategy::Lasso(property));
            }
            strategies.push(Strategy::Product {
                property,
                shuffled: true,
            });
        }
        let transitions = hunt.system.structure().transitions.len();
        Self {
            hunt,
            over: AtomicBool::new(strategies.is_empty()),
            targets_over: AtomicBool::new(false),
            temporal_over: hunt
                .temporal
                .iter()
                .map(|_| AtomicBool::new(false))
                .collect(),
            strategies,
            relations: OnceLock::new(),
            relating: AtomicBool::new(false),
            report: Mutex::new(Report {
                caught: None,
                strategy: None,
                length_found: None,
                found_after: None,
                targets_hold: vec![false; hunt.targets.len()],
                temporal_hold: vec![false; hunt.temporal.len()],
                covered: Covered {
                    taken: BitSet::new(transitions),
                    ..Covered::default()
                },
            }),
            steps: AtomicU64::new(0),
            states: AtomicU64::new(0),
            depth: AtomicU64::new(0),
            started: Instant::now(),
            last_look: Mutex::new(Duration::ZERO),
        }
    }

    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        let budget = self.hunt.system.budget();
        self.over.load(Ordering::Relaxed) || budget.poll().is_some() || budget.is_outgrown()
    }

    /// Takes turns until the hunt is over.
    fn work(&self, thread: usize) -> Result<(), CheckError> {
        let tasks =
            [Order::DepthFirst, Order::BreadthFirst].map(|order| continued::task(self, order));
        let mut continued = [Continued::new(&tasks[0]), Continued::new(&tasks[1])];
        let end = self.take_turns(thread, &mut continued);
        for search in continued {
            search.leave(self)?;
        }
        end
    }

    fn take_turns(
        &self,
        thread: usize,
        continued: &mut [Continued<'_>; 2],
    ) -> Result<(), CheckError> {
        let threads = self.hunt.threads.max(1);
        // Threads begin with different ones.
        for number in thread * 3.. {
            if self.is_over() {
                break;
            }
            let round = number / self.strategies.len();
            let strategy = self.strategies[number % self.strategies.len()];
            if self.is_settled(strategy) {
                if self.all_settled() {
                    self.over.store(true, Ordering::Relaxed);
                }
                continue;
            }
            let own = strategy.continued(thread, threads);
            // Twice the same search would find the same.
            if own.is_none() && strategy == Strategy::BreadthFirst {
                continue;
            }
            let weight = strategy.weight() * own.map_or(1, |(_, weight)| weight);
            let size = (FIRST_TURN * weight / self.sharing(strategy)).max(FIRST_TURN);
            let size = LONGEST_TURN.min(size << round.min(32));
            let seed = self.hunt.seed ^ (number as u64) << 20 ^ (thread as u64) << 52;
            let seed = stubborn_system::random::mix(seed);
            let own =
                own.map(|(order, _)| &mut continued[usize::from(order == Order::BreadthFirst)]);
            let turn = match own.filter(|search| !search.has_ended()) {
                Some(search) => search.turn(self, size),
                None => self.turn(strategy, size, round, seed),
            };
            let turn = match turn {
                Ok(turn) => turn,
                // Without an answer, the next one is asked.
                Err(CheckError::Search(stubborn_search::SearchError::GaveUp(_))) => Turn::Nothing,
                Err(CheckError::Reduction(_)) => Turn::Nothing,
                Err(error) => {
                    self.over.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            };
            self.note(strategy, turn);
            if thread == 0 {
                self.show();
            }
        }
        Ok(())
    }

    /// Among how many a strategy's part is divided: many temporal properties take no more than what walks and
    /// searches take that look at all states for anything.
    fn sharing(&self, strategy: Strategy) -> u64 {
        match strategy {
            Strategy::Lasso(_) | Strategy::Product { .. } if !self.hunt.targets.is_empty() => {
                self.hunt.temporal.len().div_ceil(FEW_PROPERTIES) as u64
            }
            _ => 1,
        }
    }

    /// Whether everything was seen that a strategy can see.
    fn is_settled(&self, strategy: Strategy) -> bool {
        let report = self.report();
        match strategy {
            Strategy::Lasso(property) | Strategy::Product { property, .. } => {
                report.temporal_hold[property]
                    || self.temporal_over[property].load(Ordering::Relaxed)
            }
            _ => {
                report.targets_hold.iter().all(|holds| *holds)
                    || self.targets_over.load(Ordering::Relaxed)
            }
        }
    }

    fn all_settled(&self) -> bool {
        self.strategies
            .iter()
            .all(|strategy| self.is_settled(*strategy))
    }

    fn note(&self, strategy: Strategy, turn: Turn) {
        let mut report = self.report();
        let name = strategy.name();
        match report.covered.turns.iter_mut().find(|(n, _)| n == name) {
            Some((_, turns)) => *turns += 1,
            None => report.covered.turns.push((name.to_owned(), 1)),
        }
        match (turn, strategy) {
            (Turn::Nothing, _) => {}
            (Turn::SeenAll, Strategy::Product { property, .. } | Strategy::Lasso(property)) => {
                report.temporal_hold[property] = true;
            }
            (Turn::SeenAll, _) => report.targets_hold.fill(true),
            (
                Turn::SeenWhatThereIs,
                Strategy::Product { property, .. } | Strategy::Lasso(property),
            ) => self.temporal_over[property].store(true, Ordering::Relaxed),
            (Turn::SeenWhatThereIs, _) => self.targets_over.store(true, Ordering::Relaxed),
            (Turn::Caught(caught), _) => {
                if report.caught.is_none() {
                    report.caught = Some(caught);
                    report.strategy = Some(name.to_owned());
                    report.found_after = Some(self.started.elapsed());
                }
                self.over.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Tells the observer how far the hunt is.
    fn show(&self) {
        let Some(observer) = self.hunt.observer else {
            return;
        };
        let elapsed = self.started.elapsed();
        let mut last = self
            .last_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if elapsed - *last < LOOK_EVERY {
            return;
        }
        *last = elapsed;
        let states = self.states.load(Ordering::Relaxed) + self.steps.load(Ordering::Relaxed);
        observer(&Progress {
            states,
            depth: self.depth.load(Ordering::Relaxed),
            elapsed,
            states_per_second: states as f64 / elapsed.as_secs_f64(),
            ..Progress::default()
        });
    }

    /// The relations, if they are there or do not take longer than the hunt until now: they may take minutes where
    /// there are thousands of transitions. Who comes while somebody computes them does something else.
    fn relations(&self) -> Option<&Relations> {
        if self.relations.get().is_none() {
            let transitions = self.hunt.system.structure().transitions.len() as u64;
            let hunted = self.states.load(Ordering::Relaxed) + self.steps.load(Ordering::Relaxed);
            let is_early = hunted < transitions * transitions / RELATED_PER_STATE;
            if is_early || self.relating.swap(true, Ordering::Relaxed) {
                return None;
            }
            let relations = self.hunt.system.relations(RelationLevel::Syntax);
            // (Nobody else sets them.)
            let _ = self.relations.set(relations);
        }
        self.relations.get()
    }

    fn limits(&self, states: u64) -> Limits<'_> {
        Limits {
            states: Some(states),
            interrupt: Some(&self.over),
            ..Limits::default()
        }
    }

    fn turn(
        &self,
        strategy: Strategy,
        size: u64,
        round: usize,
        seed: u64,
    ) -> Result<Turn, CheckError> {
        match strategy {
            Strategy::BreadthFirst => self.search(Order::BreadthFirst, false, size, None),
            Strategy::DepthFirst { reduced, shuffled } => {
                // The order of the model, too: its author may have put what is wrong last.
                let seed = (shuffled || round % 2 == 1).then_some(seed);
                self.search(Order::DepthFirst, reduced, size, seed)
            }
            Strategy::Walk(style) => walk::walk(self, style, size, seed),
            Strategy::BestFirst => {
                let at = round % self.hunt.targets.len();
                best_first::search(self, self.hunt.targets[at], size, seed)
            }
            Strategy::Lasso(property) => lasso::walk(self, property, size, seed),
            Strategy::Product { property, shuffled } => {
                self.product(property, size, shuffled.then_some(seed), round)
            }
        }
    }

    /// A search of so many states.
    fn search(
        &self,
        order: Order,
        reduced: bool,
        size: u64,
        seed: Option<u64>,
    ) -> Result<Turn, CheckError> {
        let hunt = self.hunt;
        let por = match reduced {
            true => Por::Chosen(Config::new(Algorithm::Beam)),
            false => Por::None,
        };
        let lossy = size >= BITSTATE && order == Order::DepthFirst && !reduced;
        let kind = if lossy {
            StoreKind::Bitstate
        } else {
            StoreKind::Tree
        };
        let options = CheckOptions {
            order,
            seed,
            limits: self.limits(size),
            store: StoreOptions {
                bitstate_bytes: lossy.then_some(size as usize * 2),
                ..StoreOptions::new(kind)
            },
            reduction: ReductionOptions {
                por,
                ..ReductionOptions::default()
            },
            ..CheckOptions::default()
        };
        let mut planner = Planner::new(hunt.system, &options).replayed_on(hunt.reference);
        if reduced {
            let Some(relations) = self.relations() else {
                return Ok(Turn::Nothing);
            };
            planner = planner.with_relations(relations);
        }
        let found = planner.check(hunt.targets, Stop::FirstViolation)?;
        let mut report = self.report();
        for run in &found.runs {
            self.states.fetch_add(run.result.states, Ordering::Relaxed);
            self.depth.fetch_max(run.result.depth, Ordering::Relaxed);
            report.covered.taken.union_with(&run.result.fired);
        }
        drop(report);
        let holds = found.answers.iter().all(|a| a.verdict == Verdict::Holds);
        for (at, answer) in found.answers.into_iter().enumerate() {
            if let Some(violation) = answer.violation {
                return Ok(Turn::Caught(Caught::Target(at, Box::new(violation))));
            }
        }
        let is_cut = |run: &stubborn_plan::Run| run.result.end == End::Limit(Limit::LeftOut);
        Ok(match !reduced && found.runs.iter().all(is_cut) {
            _ if holds => Turn::SeenAll,
            true => Turn::SeenWhatThereIs,
            false => Turn::Nothing,
        })
    }

    /// A search of so many states of the product with a property.
    fn product(
        &self,
        property: usize,
        size: u64,
        shuffle: Option<u64>,
        round: usize,
    ) -> Result<Turn, CheckError> {
        let hunt = self.hunt;
        let question = TemporalQuestion {
            property: hunt.temporal[property],
            finite_runs: hunt.options.finite_runs,
        };
        let result = match shuffle {
            Some(seed) => {
                let shuffled = Shuffled::new(hunt.system, seed);
                Check {
                    replay: Some(hunt.reference),
                    emptiness: Emptiness::ALL[round % Emptiness::ALL.len()],
                    finite_runs: question.finite_runs,
                    weak_fairness: hunt.options.weak_fairness,
                    limits: self.limits(size),
                    ..Check::new(&shuffled, question.property)
                }
                .run()?
            }
            None => {
                // Reduced in every other round.
                let relations = match round % 2 {
                    1 => self.relations(),
                    _ => None,
                };
                let por = match relations {
                    Some(_) => Por::Chosen(Config::new(Algorithm::Beam)),
                    None => Por::None,
                };
                let options = CheckOptions {
                    limits: self.limits(size),
                    temporal: hunt.options,
                    reduction: ReductionOptions {
                        por,
                        ..ReductionOptions::default()
                    },
                    ..CheckOptions::default()
                };
                let mut planner = Planner::new(hunt.system, &options).replayed_on(hunt.reference);
                if let Some(relations) = relations {
                    planner = planner.with_relations(relations);
                }
                planner.check_temporal(question)?.result
            }
        };
        self.states
            .fetch_add(result.counts.states, Ordering::Relaxed);
        self.depth.fetch_max(result.counts.depth, Ordering::Relaxed);
        Ok(match result.verdict {
            CheckVerdict::Violated => Turn::Caught(Caught::Temporal(property, Box::new(result))),
            // What is in another order may be in one that somebody does not expect.
            CheckVerdict::Holds if shuffle.is_none() => Turn::SeenAll,
            CheckVerdict::Unknown(Limit::LeftOut)
                if shuffle.is_none() && matches!(result.reduction, ReductionUse::Off(_)) =>
            {
                Turn::SeenWhatThereIs
            }
            CheckVerdict::Holds | CheckVerdict::Unknown(_) => Turn::Nothing,
        })
    }
}
