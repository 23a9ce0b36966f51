//! Threads that wait for a change of what a [`Gate`](crate::gate::Gate) guards, and help with it.
//!
//! While tables grow nobody can do anything else. To start threads for a growth, and to wake those that
//! wait for its end, takes longer than most growths do: so who finds the gate closed looks a while for
//! work before it sleeps, and does parts of it.

use crate::sync::{
    AtomicBool, AtomicU64, Backoff, Condvar, Mutex, Ordering, UnsafeCell, busy_turn, lock,
};

/// What all who take part call once: it returns when there are no parts left.
type Job = *const (dyn Fn() + Sync);

/// Who comes may take part in the job.
const OPEN: u64 = 1 << 31;
/// Helpers that take part and are not done.
const BUSY: u64 = OPEN - 1;
/// The number of the job.
const ROUND: u64 = 1 << 32;

/// How often to look before sleeping: some hundred microseconds.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 8_000 };

/// Where those who wait for a change find work.
pub(crate) struct Crew {
    /// See [`ROUND`], [`OPEN`], [`BUSY`].
    state: AtomicU64,
    /// Set while [`OPEN`] is, and as long as somebody is [`BUSY`].
    job: UnsafeCell<Option<Job>>,
    /// A helper did not do its part.
    has_panicked: AtomicBool,
    /// Those who sleep.
    asleep: Mutex<usize>,
    /// There is a job, or nothing to wait for any more.
    news: Condvar,
}

// SAFETY: the job is a pointer to something that is `Sync`, written while nobody takes part.
unsafe impl Send for Crew {}
// SAFETY: as above.
unsafe impl Sync for Crew {}

impl Crew {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            has_panicked: AtomicBool::new(false),
            asleep: Mutex::new(0),
            news: Condvar::new(),
        }
    }

    /// Called by who waits until something `is_over`: helps with all jobs until then.
    pub(crate) fn help_until(&self, is_over: impl Fn() -> bool) {
        let (mut last, mut looks) = (0, 0);
        while !is_over() {
            if self.help(&mut last) {
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                busy_turn();
            } else {
                let mut asleep = lock(&self.asleep);
                *asleep += 1;
                // (Whoever has news takes the lock after there is some.)
                while !is_over() && !Self::is_for(last, self.state.load(Ordering::Acquire)) {
                    asleep =
                        (self.news.wait(asleep)).unwrap_or_else(std::sync::PoisonError::into_inner);
                }
                *asleep -= 1;
            }
        }
    }

    /// Wakes those who sleep, after a job was opened or what they wait for is over.
    pub(crate) fn wake(&self) {
        if *lock(&self.asleep) > 0 {
            self.news.notify_all();
        }
    }

    /// Whether a job is open, and not the last one that somebody took part in.
    fn is_for(last: u64, state: u64) -> bool {
        state & OPEN != 0 && state / ROUND != last
    }

    /// Takes part in a job, if there is one that is not the last.
    fn help(&self, last: &mut u64) -> bool {
        let join = |state: u64| Self::is_for(*last, state).then_some(state + 1);
        let joined = (self.state).fetch_update(Ordering::AcqRel, Ordering::Acquire, join);
        let Ok(state) = joined else {
            return false;
        };
        *last = state / ROUND;
        let _leaving = Leaving(self);
        let job = self.job.get();
        // SAFETY: nobody writes it while somebody is busy; who opened the job keeps alive what it points to
        // until nobody is.
        unsafe {
            if let Some(job) = job.deref() {
                (**job)();
            }
        }
        true
    }

    /// Does a job with all who come, on one thread at a time (whoever changes the value).
    fn run(&self, job: &(dyn Fn() + Sync)) {
        let pointer: *const (dyn Fn() + Sync + '_) = job;
        // SAFETY: only the lifetime is another one; `Closing` sees to it that nobody uses the job any more
        // when this returns, or panics.
        let pointer = unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), Job>(pointer) };
        {
            let place = self.job.get_mut();
            // SAFETY: the last job is closed, and nobody is busy with it.
            unsafe { *place.deref() = Some(pointer) };
        }
        let before = self.state.load(Ordering::Relaxed);
        debug_assert_eq!(before & (OPEN | BUSY), 0, "the job before is not over");
        self.state.store(before + ROUND + OPEN, Ordering::Release);
        self.wake();
        let closing = Closing(self);
        job();
        drop(closing);
        let has_panicked = self.has_panicked.swap(false, Ordering::Relaxed);
        assert!(
            !has_panicked,
            "a part of the work panicked on another thread"
        );
    }
}

/// Makes a helper leave its job.
struct Leaving<'c>(&'c Crew);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.has_panicked.store(true, Ordering::Relaxed);
        }
        self.0.state.fetch_sub(1, Ordering::Release);
    }
}

/// Ends a job: nobody may take part any more, and who does is waited for.
struct Closing<'c>(&'c Crew);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut backoff = Backoff::default();
        while self.0.state.load(Ordering::Acquire) & BUSY != 0 {
            backoff.wait();
        }
    }
}

/// Who changes a value, and those who may come to help.
#[derive(Clone, Copy)]
pub(crate) struct Helpers<'c> {
    crew: Option<&'c Crew>,
    threads: usize,
}

impl<'c> Helpers<'c> {
    /// Of so many threads, one of which changes the value.
    pub(crate) fn new(crew: &'c Crew, threads: usize) -> Self {
        Self {
            crew: Some(crew),
            threads,
        }
    }

    /// Nobody comes, of so many.
    pub(crate) fn none_of(threads: usize) -> Self {
        Self {
            crew: None,
            threads,
        }
    }

    /// Threads that there are, some of which may not come.
    pub(crate) fn threads(self) -> usize {
        self.threads.max(1)
    }

    /// Applies `work` to all items, together with those who come. After an error, no more are begun.
    pub(crate) fn each<T: Send, E: Send>(
        self,
        items: &mut [T],
        work: impl Fn(&mut T) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let crew = self.crew.filter(|_| self.threads > 1 && items.len() > 1);
        let Some(crew) = crew else {
            return items.iter_mut().try_for_each(work);
        };
        let queue = Mutex::new((items.iter_mut(), Ok(())));
        crew.run(&|| {
            loop {
                let next = lock(&queue).0.next();
                let Some(item) = next else {
                    return;
                };
                if let Err(error) = work(item) {
                    *lock(&queue) = ([].iter_mut(), Err(error));
                }
            }
        });
        let mut queue = lock(&queue);
        std::mem::replace(&mut queue.1, Ok(()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::gate::Gate;

    /// Threads that use a value while it is changed again and again do all parts of each change once, between them.
    #[test]
    fn who_waits_helps() {
        let gate = Gate::new(vec![0_u32; 40]);
        let (is_over, parts) = (AtomicBool::new(false), AtomicUsize::new(0));
        let who = std::sync::Mutex::new(HashSet::new());
        let helped = || lock(&who).len() > 1;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut ticket = gate.register();
                    while !is_over.load(Ordering::Relaxed) {
                        let inside = gate.enter(&mut ticket);
                        assert!(inside.iter().all(|part| *part == inside[0]));
                    }
                    gate.leave(&ticket);
                });
            }
            let mut ticket = gate.register();
            // (On a busy machine, others may not come for a long time.)
            for round in (1..).take_while(|round| *round <= 50 || *round < 20_000 && !helped()) {
                let generation = gate.enter(&mut ticket).generation();
                let change = |value: &mut Vec<u32>, helpers: Helpers<'_>| {
                    helpers.each(value, |part| {
                        *part += 1;
                        parts.fetch_add(1, Ordering::Relaxed);
                        lock(&who).insert(std::thread::current().id());
                        std::thread::yield_now();
                        Ok::<(), ()>(())
                    })
                };
                assert_eq!(gate.change(generation, change), Ok(()));
                assert_eq!(parts.swap(0, Ordering::Relaxed), 40, "round {round}");
                assert!(gate.enter(&mut ticket).iter().all(|part| *part == round));
            }
            is_over.store(true, Ordering::Relaxed);
            gate.leave(&ticket);
        });
        assert!(helped(), "nobody ever did");
    }

    #[test]
    fn an_error_ends_the_work() {
        let crew = Crew::new();
        for helpers in [Helpers::none_of(2), Helpers::new(&crew, 2)] {
            let mut items = [1, 2, 3, 4];
            let work = |item: &mut i32| match *item {
                3 => Err("three"),
                _ => {
                    *item = 0;
                    Ok(())
                }
            };
            assert_eq!(helpers.each(&mut items, work), Err("three"));
            assert_eq!(items, [0, 0, 3, 4]);
        }
    }

    /// What a helper does not do is not taken for done.
    #[test]
    fn a_panic_of_a_helper_is_told() {
        let crew = Crew::new();
        let (own, begun) = (std::thread::current().id(), AtomicBool::new(false));
        let result = std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                let mut last = 0;
                while !crew.help(&mut last) {
                    std::hint::spin_loop();
                }
            });
            let work = |_: &mut i32| {
                if std::thread::current().id() != own {
                    begun.store(true, Ordering::Release);
                    panic!("on purpose");
                }
                while !begun.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                Ok::<(), ()>(())
            };
            let lead = || Helpers::new(&crew, 2).each(&mut [0; 8], work);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(lead));
            assert!(helper.join().is_err());
            result
        });
        assert!(result.is_err());
        assert_eq!(
            Helpers::new(&crew, 2).each(&mut [0; 8], |_| Ok::<(), ()>(())),
            Ok(())
        );
    }
}
