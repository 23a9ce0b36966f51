//! What a whole run may take: one deadline and one amount of memory, from reading the model
//! to the last verdict.
//!
//! Whatever takes long, be it an analysis, a simulation, an atomic sequence of a million
//! statements or a search, [polls](Budget::poll) the budget of its [system](crate::System::budget)
//! now and then, and gives up once it is spent. Giving up is visible: the budget stays
//! spent, and nobody may say that something holds after it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the memory is looked at: what is taken in between goes unnoticed.
const GAUGE_EVERY: Duration = Duration::from_millis(1);

/// How long something may go on that is worth finishing when the time is over.
const GRACE: Duration = Duration::from_millis(500);

/// Why a budget has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spent {
    /// The time is up.
    Time,
    /// More memory is in use than allowed.
    Memory,
    /// Somebody asked to stop.
    Interrupted,
    /// The model needs more room than it was prepared with, say for processes: what was
    /// explored is not all there is, and a larger one is needed.
    Outgrown,
    /// A step leads to a state that the system [cannot represent](crate::System::left_out). No budget
    /// ends for this reason, but nobody can conclude anything from what was seen.
    LeftOut,
}

impl Spent {
    const ALL: [Spent; 5] = [
        Spent::Time,
        Spent::Memory,
        Spent::Interrupted,
        Spent::Outgrown,
        Spent::LeftOut,
    ];
}

impl Spent {
    /// In the budget: one more than the place in [`ALL`](Self::ALL).
    fn number(self) -> u8 {
        self as u8 + 1
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "the time limit was reached",
            Self::Memory => "the memory limit was reached",
            Self::Interrupted => "the run was interrupted",
            Self::Outgrown => "the model starts more processes than it was prepared for",
            Self::LeftOut => "a step leads to a state that cannot be represented",
        })
    }
}

/// Time and memory for everything that is done about one model. See the
/// [module](crate::budget).
#[derive(Debug, Default)]
pub struct Budget {
    deadline: Option<Instant>,
    memory: Option<Memory>,
    /// One more than the place of the reason in [`Spent::ALL`], 0 as long as there is none.
    spent: AtomicU8,
    /// See [`outgrow`](Self::outgrow).
    outgrown: AtomicBool,
    /// What is being done; once spent, what was.
    phase: Mutex<&'static str>,
}

#[derive(Debug)]
struct Memory {
    most: usize,
    gauge: fn() -> usize,
    /// When to look again, in nanoseconds from here.
    since: Instant,
    next_look: AtomicU64,
}

/// For systems that nobody limits.
pub static UNLIMITED: Budget = Budget::unlimited();

impl Budget {
    /// No limits; it can still be [stopped](Budget::stop).
    pub const fn unlimited() -> Self {
        Self {
            deadline: None,
            memory: None,
            spent: AtomicU8::new(0),
            outgrown: AtomicBool::new(false),
            phase: Mutex::new(""),
        }
    }

    /// Ends after this time, counted from now.
    #[must_use]
    pub fn with_time(mut self, time: Option<Duration>) -> Self {
        // A time that the clock cannot express is as good as none.
        self.deadline = time.and_then(|time| Instant::now().checked_add(time));
        self
    }

    /// Ends when more than `bytes` are in use by what `gauge` says.
    #[must_use]
    pub fn with_memory(mut self, bytes: Option<usize>, gauge: fn() -> usize) -> Self {
        self.memory = bytes.map(|most| Memory {
            most,
            gauge,
            since: Instant::now(),
            next_look: AtomicU64::new(0),
        });
        self
    }

    /// When the time is up.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The time that is left, if it is limited.
    pub fn time_left(&self) -> Option<Duration> {
        let end = self.deadline?;
        Some(end.saturating_duration_since(Instant::now()))
    }

    /// Most bytes in use, and what tells how many are, if that is limited.
    pub fn memory(&self) -> Option<(usize, fn() -> usize)> {
        self.memory
            .as_ref()
            .map(|memory| (memory.most, memory.gauge))
    }

    /// Says what is done from now on, as in "the time limit was reached while ...".
    pub fn begin(&self, phase: &'static str) {
        if self.spent().is_none() {
            *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        }
    }

    /// What was noticed at the last look; costs next to nothing.
    #[inline]
    pub fn spent(&self) -> Option<Spent> {
        let at = usize::from(self.spent.load(Ordering::Relaxed));
        at.checked_sub(1).map(|at| Spent::ALL[at])
    }

    /// Why it is spent and what was being done then, in words; `None` if it is not.
    pub fn reason(&self) -> Option<String> {
        let spent = self.spent()?;
        Some(
            match *self.phase.lock().unwrap_or_else(PoisonError::into_inner) {
                "" => spent.to_string(),
                phase => format!("{spent} while {phase}"),
            },
        )
    }

    /// Looks at the clock, and now and then at the memory: some dozen nanoseconds, so not for
    /// every state. Once spent, a budget stays spent.
    #[inline]
    pub fn poll(&self) -> Option<Spent> {
        if self.deadline.is_none() && self.memory.is_none() {
            return self.spent();
        }
        self.poll_at(Instant::now())
    }

    /// The same for somebody who has just looked at the clock.
    pub fn poll_at(&self, now: Instant) -> Option<Spent> {
        if let Some(spent) = self.spent() {
            return Some(spent);
        }
        if self.deadline.is_some_and(|end| now >= end) {
            self.end(Spent::Time);
        } else if self.memory.as_ref().is_some_and(|m| m.is_exceeded(now)) {
            self.end(Spent::Memory);
        }
        self.spent()
    }

    /// Whether it is too late even for what is worth finishing, such as the trace of a violation
    /// that was found in time: it gets half a second more.
    pub fn is_overdrawn(&self) -> bool {
        let late = |end: Instant| Instant::now().saturating_duration_since(end);
        self.deadline.is_some_and(|end| late(end) >= GRACE)
    }

    /// Ends it from outside.
    pub fn stop(&self) {
        self.end(Spent::Interrupted);
    }

    /// Something that the model needs is not provided for: whatever is explored from now on,
    /// it is [void](Self::void). It may go on for a while, to learn what else is missing, until
    /// somebody [ends](Self::end) it.
    pub fn outgrow(&self) {
        self.outgrown.store(true, Ordering::Relaxed);
    }

    /// Whether the model was found to be too small.
    #[inline]
    pub fn is_outgrown(&self) -> bool {
        self.outgrown.load(Ordering::Relaxed)
    }

    /// There is a larger model now, about which nothing is known yet.
    pub fn has_grown(&self) {
        self.outgrown.store(false, Ordering::Relaxed);
        let (outgrown, order) = (Spent::Outgrown.number(), Ordering::Relaxed);
        let _ = self.spent.compare_exchange(outgrown, 0, order, order);
    }

    /// To be asked by whoever is about to use what executors have delivered: why it does not count. Whoever
    /// is about to say that everything was seen asks the [system](crate::System#method.conclude).
    pub fn void(&self) -> Option<Spent> {
        if self.is_outgrown() {
            self.end(Spent::Outgrown);
        }
        self.poll()
    }

    /// Ends it for a reason; the first one stays.
    pub fn end(&self, why: Spent) {
        let order = Ordering::Relaxed;
        // Somebody else may have been faster, with a reason as good.
        let _ = self.spent.compare_exchange(0, why.number(), order, order);
    }
}

impl Memory {
    /// Whether too much is in use; not looked at each time.
    fn is_exceeded(&self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.since);
        let at = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        if at(elapsed) < self.next_look.load(Ordering::Relaxed) {
            return false;
        }
        // Two threads that look at once do no harm.
        let next = at(elapsed + GAUGE_EVERY);
        self.next_look.store(next, Ordering::Relaxed);
        (self.gauge)() > self.most
    }
}

/// Polls a budget every so many times that it is asked, for loops with short rounds.
#[derive(Debug)]
pub struct Patience<'b> {
    budget: &'b Budget,
    every: u32,
    left: u32,
}

impl<'b> Patience<'b> {
    /// Looks every `every` times.
    pub fn new(budget: &'b Budget, every: u32) -> Self {
        Self {
            budget,
            every,
            left: 0,
        }
    }

    /// Why the budget was spent at the last look, if it was.
    #[inline]
    pub fn spent(&mut self) -> Option<Spent> {
        if self.left == 0 {
            self.left = self.every;
            return self.budget.poll();
        }
        self.left -= 1;
        self.budget.spent()
    }
}

/// Bytes of this process that are resident, if the system tells.
#[cfg(target_os = "linux")]
pub fn resident_bytes() -> Option<usize> {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    // Opened once: the rest is one system call.
    static STATM: OnceLock<Option<(File, usize)>> = OnceLock::new();
    let open = || Some((File::open("/proc/self/statm").ok()?, page_bytes()?));
    let (file, page) = STATM.get_or_init(open).as_ref()?;
    let mut text = [0; 128];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let pages: usize = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(*page)
}

/// The size of a page, from what the kernel tells every program at its start.
#[cfg(target_os = "linux")]
fn page_bytes() -> Option<usize> {
    /// The key of `getauxval` for it.
    const AT_PAGESZ: usize = 6;
    let vector = std::fs::read("/proc/self/auxv").ok()?;
    let word = |bytes: &[u8]| Some(usize::from_ne_bytes(bytes.try_into().ok()?));
    let (size, pair) = (size_of::<usize>(), 2 * size_of::<usize>());
    vector
        .chunks_exact(pair)
        .find(|entry| word(&entry[..size]) == Some(AT_PAGESZ))
        .and_then(|entry| word(&entry[size..]))
}

/// Bytes of this process that are resident, if the system tells.
#[cfg(not(target_os = "linux"))]
pub fn resident_bytes() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays() {
        let budget = Budget::unlimited();
        assert_eq!(budget.poll(), None);
        let budget = budget.with_time(Some(Duration::ZERO));
        assert_eq!(budget.spent(), None, "nobody has looked yet");
        assert_eq!(budget.poll(), Some(Spent::Time));
        budget.stop();
        assert_eq!(budget.spent(), Some(Spent::Time));
    }

    #[test]
    fn nothing_is_concluded_from_a_model_that_is_too_small() {
        let budget = Budget::unlimited();
        budget.outgrow();
        assert_eq!(budget.poll(), None, "there may be more to learn");
        assert_eq!(budget.void(), Some(Spent::Outgrown));
        assert_eq!(budget.poll(), Some(Spent::Outgrown));
        budget.has_grown();
        assert_eq!(budget.void(), None);
        budget.stop();
        budget.outgrow();
        budget.has_grown();
        assert_eq!(budget.void(), Some(Spent::Interrupted), "the others stay");
    }

    #[test]
    fn memory_and_interrupts_end_it() {
        let full = Budget::unlimited().with_memory(Some(10), || 11);
        assert_eq!(full.poll(), Some(Spent::Memory));
        let roomy = Budget::unlimited().with_memory(Some(10), || 10);
        assert_eq!(roomy.poll(), None);
        roomy.stop();
        assert_eq!(roomy.poll(), Some(Spent::Interrupted));
    }

    #[test]
    fn the_phase_is_the_one_in_which_it_ended() {
        let budget = Budget::unlimited();
        assert_eq!(budget.reason(), None);
        budget.begin("sleeping");
        budget.stop();
        budget.begin("dreaming");
        let reason = budget.reason();
        assert_eq!(
            reason.as_deref(),
            Some("the run was interrupted while sleeping")
        );
    }

    #[test]
    fn what_is_worth_finishing_has_a_little_more_time() {
        assert!(!Budget::unlimited().is_overdrawn());
        let over = Budget::unlimited().with_time(Some(Duration::ZERO));
        assert_eq!(over.poll(), Some(Spent::Time));
        assert!(!over.is_overdrawn());
        std::thread::sleep(GRACE);
        assert!(over.is_overdrawn());
    }

    #[test]
    fn memory_is_looked_at_again_and_again() {
        use std::sync::atomic::AtomicUsize;

        static USED: AtomicUsize = AtomicUsize::new(0);
        let budget = Budget::unlimited().with_memory(Some(10), || USED.load(Ordering::Relaxed));
        assert_eq!(budget.poll(), None);
        USED.store(11, Ordering::Relaxed);
        let soon = Instant::now() + 2 * GAUGE_EVERY;
        assert_eq!(budget.poll_at(soon), Some(Spent::Memory));
    }

    #[test]
    fn patience_looks_at_once_and_then_now_and_then() {
        let budget = Budget::unlimited().with_time(Some(Duration::ZERO));
        assert_eq!(Patience::new(&budget, 1000).spent(), Some(Spent::Time));
        let budget = Budget::unlimited();
        let mut patience = Patience::new(&budget, 1000);
        assert_eq!(patience.spent(), None);
        budget.stop();
        let stopped = Some(Spent::Interrupted);
        assert_eq!(
            patience.spent(),
            stopped,
            "what others noticed is seen at once"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_gauge_moves() {
        let before = resident_bytes().expect("the system tells");
        let pages = vec![1u8; 64 << 20];
        let after = resident_bytes().expect("the system tells");
        assert!(
            after >= before + (48 << 20),
            "{before}, {after}, {}",
            pages[77]
        );
    }
}
