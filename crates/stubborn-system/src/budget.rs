//! What a whole run may take: one deadline and one amount of memory, from reading the model
//! to the last verdict.
//!
//! Whatever takes long, be it an analysis, a simulation, an atomic sequence of a million
//! statements or a search, [polls](Budget::poll) the budget of its [system](crate::System::budget)
//! now and then, and gives up once it is spent. Giving up is visible: the budget stays
//! spent, and nobody may say that something holds after it.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Why a budget has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spent {
    /// The time is up.
    Time,
    /// More memory is in use than allowed.
    Memory,
    /// Somebody asked to stop.
    Interrupted,
}

impl Spent {
    const ALL: [Spent; 3] = [Spent::Time, Spent::Memory, Spent::Interrupted];
}

/// Time and memory for everything that is done about one model. See the
/// [module](crate::budget).
#[derive(Debug, Default)]
pub struct Budget {
    deadline: Option<Instant>,
    /// Most bytes, and how many are in use.
    memory: Option<(usize, fn() -> usize)>,
    /// One more than the place of the reason in [`Spent::ALL`], 0 as long as there is none.
    spent: AtomicU8,
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
        self.memory = bytes.map(|bytes| (bytes, gauge));
        self
    }

    /// When the time is up.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// What was noticed at the last look; costs next to nothing.
    #[inline]
    pub fn spent(&self) -> Option<Spent> {
        let at = usize::from(self.spent.load(Ordering::Relaxed));
        at.checked_sub(1).map(|at| Spent::ALL[at])
    }

    /// Looks at the clock and at the memory: about a microsecond, so not for every state.
    /// Once spent, a budget stays spent.
    pub fn poll(&self) -> Option<Spent> {
        if let Some(spent) = self.spent() {
            return Some(spent);
        }
        if self.deadline.is_some_and(|end| Instant::now() >= end) {
            self.end(Spent::Time);
        } else if self.memory.is_some_and(|(most, gauge)| gauge() > most) {
            self.end(Spent::Memory);
        }
        self.spent()
    }

    /// Ends it from outside.
    pub fn stop(&self) {
        self.end(Spent::Interrupted);
    }

    /// The first reason stays.
    fn end(&self, why: Spent) {
        let number = Spent::ALL.iter().position(|s| *s == why);
        let number = number.map_or(0, |at| at as u8 + 1);
        let order = Ordering::Relaxed;
        // Somebody else may have been faster, with a reason as good.
        let _ = self.spent.compare_exchange(0, number, order, order);
    }
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
    fn memory_and_interrupts_end_it() {
        let full = Budget::unlimited().with_memory(Some(10), || 11);
        assert_eq!(full.poll(), Some(Spent::Memory));
        let roomy = Budget::unlimited().with_memory(Some(10), || 10);
        assert_eq!(roomy.poll(), None);
        roomy.stop();
        assert_eq!(roomy.poll(), Some(Spent::Interrupted));
    }
}
