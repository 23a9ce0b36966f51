//! One budget for a whole command: made when it starts, polled by everybody, and guarded by a
//! watchman.
//!
//! Whatever takes long looks at the budget and gives up when it is spent. Some things cannot look:
//! a linear program, a large table that moves, a pipe that nobody writes to. The watchman is for
//! these. When the limits are overstepped by more than a little, he says what is known, which is
//! nothing, or that something is violated, and ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use stubborn::system::budget::resident_bytes;
use stubborn::system::{Budget, Spent};

use crate::exit::{self, Failure, Status};
use crate::interrupt;
use crate::json;
use crate::terminal::{bytes, print};

/// Time after the end, or after somebody asked to stop, until the watchman acts: the trace of a
/// violation may take half a second.
const MORE_TIME: Duration = Duration::from_millis(600);
/// Memory beyond the limit at which he acts.
const MORE_MEMORY: usize = 48 << 20;
/// How often he looks.
const ROUND: Duration = Duration::from_millis(10);

/// What to say when there is no answer, or not the whole one; made from the reason.
type Speech = Box<dyn Fn(&str) -> LastWords + Send>;

/// What a program says when it ends too early.
pub(crate) struct LastWords {
    /// For standard output.
    pub(crate) text: String,
    /// For whoever [started](crate::exit::report_to_file) this.
    pub(crate) object: String,
    /// How to end.
    pub(crate) status: Status,
}

impl LastWords {
    /// There is no answer.
    pub(crate) fn unknown(command: &str, object: Map<String, Value>, reason: &str) -> Self {
        let object = json::line(command, object);
        Self {
            text: match exit::is_scripted() {
                false => format!("no answer: {reason}\n"),
                true => object.clone(),
            },
            object,
            status: Status::Unknown,
        }
    }

    fn say(&self) -> Status {
        exit::hand_over(&self.object);
        print(&self.text);
        self.status
    }
}

/// There as long as the watchman may speak.
static SPEECH: Mutex<Option<Speech>> = Mutex::new(None);

/// The watchman waits.
static IS_HELD: AtomicBool = AtomicBool::new(false);

fn speech() -> MutexGuard<'static, Option<Speech>> {
    SPEECH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The budget of a command that begins now. Without an answer, `last_words` are said.
pub(crate) fn begin(
    time: Option<Duration>,
    memory: Option<usize>,
    last_words: impl Fn(&str) -> LastWords + Send + 'static,
) -> Result<Arc<Budget>, Failure> {
    let gauge = || resident_bytes().unwrap_or(0);
    let budget = Budget::unlimited().with_time(time);
    let budget = Arc::new(budget.with_memory(memory, gauge));
    *speech() = Some(Box::new(last_words));
    interrupt::stop(&budget)?;
    if let Some(most) = memory.filter(|most| gauge() > *most) {
        return Err(Failure::no_answer(format!(
            "the memory limit of {} is below the {} that the program takes before it has read \
             anything",
            bytes(most as u64),
            bytes(gauge() as u64),
        )));
    }
    if budget.deadline().is_some() || memory.is_some() {
        let watched = Arc::clone(&budget);
        let thread = std::thread::Builder::new().name("watchman".into());
        let started = thread.spawn(move || watch(&watched));
        started.map_err(|error| Failure::wrong(format!("cannot start a thread: {error}")))?;
    }
    Ok(budget)
}

/// Something is known already: this is said if there is no time for more.
pub(crate) fn know(last_words: impl Fn(&str) -> LastWords + Send + 'static) {
    let mut speech = speech();
    if speech.is_some() {
        *speech = Some(Box::new(last_words));
    }
}

/// As long as something is written that must be complete, the watchman waits.
pub(crate) fn hold(yes: bool) {
    IS_HELD.store(yes, Ordering::Relaxed);
}

/// From now on, nobody but the caller speaks.
pub(crate) fn conclude() {
    *speech() = None;
}

/// Says what there is to say without an answer; `None` if that was done.
pub(crate) fn give_up(reason: &str) -> Option<Status> {
    let last_words = speech().take()?;
    Some(last_words(reason).say())
}

/// Looks now and then whether the budget is overdrawn.
fn watch(budget: &Budget) {
    let is_late = |end: Instant| Instant::now().saturating_duration_since(end) >= MORE_TIME;
    let is_full =
        |(most, gauge): (usize, fn() -> usize)| gauge().saturating_sub(most) > MORE_MEMORY;
    let mut stopped = None;
    loop {
        std::thread::sleep(ROUND);
        // For those who never look at the clock themselves.
        if budget.poll() == Some(Spent::Interrupted) {
            stopped.get_or_insert_with(Instant::now);
        }
        let is_over = stopped.is_some_and(is_late) || budget.deadline().is_some_and(is_late);
        let is_held = IS_HELD.load(Ordering::Relaxed);
        if is_held || !is_over && !budget.memory().is_some_and(is_full) {
            continue;
        }
        let mut speech = speech();
        if let Some(last_words) = speech.take() {
            let reason = budget.reason().unwrap_or_default();
            let status = last_words(&reason).say();
            // Nobody can say anything any more: the lock is held.
            std::process::exit(status.code().into());
        }
        return;
    }
}
