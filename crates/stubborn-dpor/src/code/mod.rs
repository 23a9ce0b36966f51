//! Ordinary multi-threaded Rust code under the optimal search.
//!
//! Code that uses [`thread`] and [`sync`] in the place of the standard library's modules is run
//! again and again, once for each trace. Each thread has a stack of its own; one runs at a time, until
//! the next operation that others may notice.
//!
//! Executions are **sequentially consistent**, whatever ordering the code asks for. What Rust's memory
//! model allows beyond that (two threads that miss each other's `Relaxed` stores) is not found. Results
//! and failures list the places that ask for an ordering weaker than `SeqCst`.
//!
//! What a thread does next is a function of what it has noticed so far. So it is learnt once for
//! each *causal history* of the thread, and the search moves operations about without running
//! them; the code runs only where something new may come out.
//!
//! | module | holds |
//! | --- | --- |
//! | `operation` | what threads do to what they share, and when they can |
//! | `panics` | each thread's count of panics, taken along when threads take turns |
//! | `program` | code as a [`Program`](crate::Program) |
//! | `runtime` | stacks that take turns |
//! | [`sync`], [`thread`] | what code uses |

pub(crate) mod operation;
mod panics;
pub(crate) mod program;
pub(crate) mod runtime;
pub mod sync;
pub mod thread;

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use crate::{Algorithm, ExploreError, Seen, explore};
use program::Code;

/// Bytes of the stack of a search.
const STACK: usize = 64 << 20;

/// Steps of one execution before it is taken for endless.
const MOST_STEPS: usize = 10_000;

/// What all executions have shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executions {
    /// How many there were: one for each trace.
    pub executions: u64,
    /// Executions that were begun in vain; none with [`Algorithm::Optimal`].
    pub given_up: u64,
    /// Those were all.
    pub complete: bool,
    /// Where the code asks for an ordering weaker than the sequential consistency that was explored, in
    /// the order of files and lines. What only such orderings allow was not looked for.
    pub weaker_orderings: Vec<Location<'static>>,
}

impl fmt::Display for Executions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions", self.executions)?;
        if !self.complete {
            f.write_str(", and there are more")?;
        }
        write_memory_model(f, &self.weaker_orderings)
    }
}

/// Says which memory model was explored, if the code asks for less.
fn write_memory_model(f: &mut fmt::Formatter<'_>, weaker: &[Location<'_>]) -> fmt::Result {
    let (count, uses) = match weaker {
        [] => return Ok(()),
        [_] => ("1 place", "uses a weaker ordering"),
        all => (&*format!("{} places", all.len()), "use weaker orderings"),
    };
    write!(
        f,
        "; explored under sequential consistency; {count} {uses}: "
    )?;
    for (number, place) in weaker.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(f, "{comma}{}:{}", place.file(), place.line())?;
    }
    Ok(())
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// A thread panicked with this text, and nothing in it caught the panic.
    Panic(String),
    /// Nobody can go on; what each thread waits for.
    Deadlock(Vec<String>),
    /// An execution has too many steps: it may never end, as one that waits in a loop.
    Endless,
    /// The same operations in the same order led to another one: the code looks at something that
    /// the check does not control, such as a clock, random numbers, or addresses.
    NotDeterministic,
    /// Something is wrong with the search.
    Search(ExploreError),
}

/// An execution that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How.
    pub kind: FailureKind,
    /// What the threads did, in order.
    pub schedule: Vec<String>,
    /// Executions that were over before.
    pub executions: u64,
    /// Like [`Executions::weaker_orderings`], up to the failure.
    pub weaker_orderings: Vec<Location<'static>>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FailureKind::Panic(text) => writeln!(f, "a thread panics: {text}")?,
            FailureKind::Deadlock(waiting) => {
                writeln!(f, "deadlock: {}", waiting.join(", "))?;
            }
            FailureKind::Endless => writeln!(
                f,
                "an execution does not come to an end: loops that wait are not covered; use a \
                 condition variable, or `most_steps`"
            )?,
            FailureKind::NotDeterministic => {
                writeln!(f, "the code does not do the same in the same situation")?;
            }
            FailureKind::Search(error) => writeln!(f, "{error}")?,
        }
        write!(f, "after {} executions", self.executions)?;
        write_memory_model(f, &self.weaker_orderings)?;
        writeln!(f, ", in this one:")?;
        for (number, step) in self.schedule.iter().enumerate() {
            writeln!(f, "{:>4}. {step}", number + 1)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// A check of multi-threaded code, ready to [run](Check::run).
#[derive(Clone, Copy, Debug)]
pub struct Check {
    algorithm: Algorithm,
    most_executions: u64,
    most_steps: usize,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            most_executions: u64::MAX,
            most_steps: MOST_STEPS,
        }
    }
}

impl Check {
    /// Of all executions, each trace once.
    pub fn new() -> Self {
        Self::default()
    }

    /// By another algorithm.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Gives up after so many executions.
    pub fn most_executions(mut self, most: u64) -> Self {
        self.most_executions = most;
        self
    }

    /// Takes an execution with more steps for an endless one.
    pub fn most_steps(mut self, most: usize) -> Self {
        self.most_steps = most;
        self
    }

    /// Runs the code until all executions are known, or one goes wrong. Everything that threads
    /// share must be made inside.
    ///
    /// # Errors
    /// The first execution that goes wrong.
    ///
    /// # Panics
    /// If there is no memory for a thread.
    pub fn run(self, code: impl Fn() + Send + Sync + 'static) -> Result<Executions, Failure> {
        // On a thread of its own, with its own values of `std::thread_local!`.
        let name = std::thread::current().name().map(str::to_owned);
        let search = std::thread::Builder::new().stack_size(STACK);
        let search = search.name(name.unwrap_or_else(|| "check".into()));
        let thread = search.spawn(move || self.search(code));
        match thread.expect("memory for a thread").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn search(self, code: impl Fn() + 'static) -> Result<Executions, Failure> {
        let mut program = Code::new(Rc::new(code), self.most_steps);
        let stuck = Rc::new(RefCell::new(None));
        let (mut ended, failed) = (0, program.failed());
        let counts = explore(&mut program, self.algorithm, &mut |seen| {
            let (world, is_end) = match seen {
                Seen::State(world) => (world, false),
                Seen::End(world) => (world, true),
            };
            if failed.get() || is_end && world.is_stuck() {
                *stuck.borrow_mut() = Some(world.clone());
                return false;
            }
            ended += u64::from(is_end);
            ended < self.most_executions
        });
        let failure = |(kind, schedule), weaker_orderings| Failure {
            kind,
            schedule,
            executions: ended,
            weaker_orderings,
        };
        let weaker_orderings = program.weaker_orderings();
        if let Some(world) = stuck.take() {
            return Err(failure(program.failure(world), weaker_orderings));
        }
        match counts {
            Err(error) => {
                let kind = FailureKind::Search(error);
                Err(failure((kind, Vec::new()), weaker_orderings))
            }
            Ok(counts) => Ok(Executions {
                executions: counts.executions,
                given_up: counts.given_up,
                complete: counts.complete,
                weaker_orderings,
            }),
        }
    }
}

/// Runs code in every way that its threads can be interleaved, up to the order of what does not
/// matter. For `#[test]` functions; [`Check`] is for everything else.
///
/// ```
/// use std::sync::Arc;
/// use stubborn_dpor::sync::Mutex;
/// use stubborn_dpor::{check, thread};
///
/// let all = check(|| {
///     let total = Arc::new(Mutex::new(0));
///     let adders: Vec<_> = (1..=2)
///         .map(|n| {
///             let total = Arc::clone(&total);
///             thread::spawn(move || *total.lock().unwrap() += n)
///         })
///         .collect();
///     for adder in adders {
///         adder.join().unwrap();
///     }
///     assert_eq!(*total.lock().unwrap(), 3);
/// });
/// assert_eq!(all.executions, 2);
/// ```
///
/// Says on standard error which places of the code ask for less than sequential consistency, if any do.
///
/// # Panics
/// With the execution that goes wrong, if any does.
#[track_caller]
pub fn check(code: impl Fn() + Send + Sync + 'static) -> Executions {
    match Check::new().run(code) {
        Ok(executions) => {
            if !executions.weaker_orderings.is_empty() {
                eprintln!("{executions}");
            }
            executions
        }
        Err(failure) => panic!("{failure}"),
    }
}
