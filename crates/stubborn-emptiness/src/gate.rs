//! Where a check waits that has as many states as it may, until somebody outside decides whether
//! it goes on: what lets a plan pause a walk without giving up what it has.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use stubborn_search::Limit;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Gate {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug)]
struct Now {
    /// States that may be entered; `None` if the check is to end.
    most: Option<u64>,
    /// The largest limit at which a worker waits.
    waiting: Option<u64>,
    /// No worker will come any more.
    done: bool,
}

impl Gate {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            now: Mutex::new(Now {
                most: Some(most),
                waiting: None,
                done: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Blocks a worker while `states` exceeds the limit. Returns the limit in force, or why the check ends.
    pub(crate) fn pass(&self, states: u64) -> Result<u64, Limit> {
        let mut now = self.lock();
        loop {
            let most = now.most.ok_or(Limit::States)?;
            if states <= most {
                return Ok(most);
            }
            now.waiting = Some(now.waiting.map_or(most, |before| before.max(most)));
            self.changed.notify_all();
            now = self
                .changed
                .wait(now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The last worker is done.
    pub(crate) fn close(&self) {
        self.lock().done = true;
        self.changed.notify_all();
    }

    /// Calls `ask` with each limit at which workers wait, until no worker will come any more. `ask` returns a
    /// larger limit, with which they go on; with `None`, or one that is not larger, the check ends.
    pub(crate) fn attend(&self, mut ask: impl FnMut(u64) -> Option<u64>) {
        let mut now = self.lock();
        while !now.done {
            let Some(states) = now.waiting.take() else {
                now = self
                    .changed
                    .wait(now)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // Others may come to the gate meanwhile.
            drop(now);
            let most = ask(states).filter(|more| *more > states);
            now = self.lock();
            now.most = most;
            now.waiting = None;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_wait_until_they_may_go_on() {
        let gate = Gate::new(10);
        let mut asked = Vec::new();
        let passed = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let passed: Vec<_> = [10, 11, 25, 200].map(|n| gate.pass(n)).into();
                gate.close();
                passed
            });
            gate.attend(|states| {
                asked.push(states);
                (states < 40).then_some(2 * states)
            });
            worker.join().expect("it ends")
        });
        assert_eq!(asked, [10, 20, 40]);
        assert_eq!(passed, [Ok(10), Ok(20), Ok(40), Err(Limit::States)]);
    }

    #[test]
    fn nobody_waits_for_workers_that_are_done() {
        let gate = Gate::new(10);
        gate.close();
        gate.attend(|_| unreachable!("nobody waits"));
    }
}
