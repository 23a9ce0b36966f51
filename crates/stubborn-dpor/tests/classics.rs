//! Classic programs, right and wrong: what is wrong is found, and what is right has every outcome that
//! it may have.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use stubborn_dpor::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use stubborn_dpor::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use stubborn_dpor::{Check, Executions, Failure, FailureKind, check, thread};

fn failure(code: impl Fn() + Send + Sync + 'static) -> Failure {
    Check::new().run(code).expect_err("a mistake")
}

fn panics_with(code: impl Fn() + Send + Sync + 'static, text: &str) {
    match failure(code).kind {
        FailureKind::Panic(found) => assert!(found.contains(text), "{found}"),
        other => panic!("{other:?}"),
    }
}

fn deadlocks(code: impl Fn() + Send + Sync + 'static) -> Vec<String> {
    match failure(code).kind {
        FailureKind::Deadlock(waiting) => waiting,
        other => panic!("{other:?}"),
    }
}

/// Everything that executions of some code come to.
fn outcomes<T: Ord + Send + 'static>(
    code: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, Executions) {
    let all = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let seen = std::sync::Arc::clone(&all);
    let executions = check(move || {
        let outcome = code();
        seen.lock().expect("no panics").insert(outcome);
    });
    assert!(executions.complete && executions.given_up == 0);
    let mut all = all.lock().expect("no panics");
    (std::mem::take(&mut *all), executions)
}

/// Makes a value once, by a look before the lock; who forgets the second look makes it twice.
fn double_checked(looks_again: bool) {
    let (made, is_made) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let lock = Arc::new(Mutex::new(()));
    let get = {
        let (made, is_made) = (made.clone(), is_made.clone());
        move || {
            if !is_made.load(Ordering::Acquire) {
                let _held = lock.lock();
                if !looks_again || !is_made.load(Ordering::Relaxed) {
                    made.fetch_add(1, Ordering::Relaxed);
                    is_made.store(true, Ordering::Release);
                }
            }
        }
    };
    let other = thread::spawn(get.clone());
    get();
    other.join().unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 1, "made twice");
}

#[test]
fn double_checked_locking() {
    check(|| double_checked(true));
    panics_with(|| double_checked(false), "made twice");
}

/// A stack of numbered nodes; with `tagged`, its top has a count of changes beside the number.
struct Stack {
    top: AtomicUsize,
    next: Vec<AtomicUsize>,
    tagged: bool,
}

const NONE: usize = 0xff;

impl Stack {
    /// Node 0 lies on node 1, on node 2 and so on.
    fn new(nodes: usize, tagged: bool) -> Self {
        let below = |node| if node + 1 < nodes { node + 1 } else { NONE };
        Self {
            top: AtomicUsize::new(0),
            next: (0..nodes)
                .map(|node| AtomicUsize::new(below(node)))
                .collect(),
            tagged,
        }
    }

    fn replace(&self, top: usize, node: usize) -> bool {
        let tag = if self.tagged {
            (top & !0xff) + 0x100
        } else {
            0
        };
        let relaxed = Ordering::Relaxed;
        self.top
            .compare_exchange(top, tag | node, Ordering::AcqRel, relaxed)
            .is_ok()
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            if top & 0xff == NONE {
                return None;
            }
            let next = self.next[top & 0xff].load(Ordering::Relaxed);
            if self.replace(top, next) {
                return Some(top & 0xff);
            }
        }
    }

    fn push(&self, node: usize) {
        loop {
            let top = self.top.load(Ordering::Acquire);
            self.next[node].store(top & 0xff, Ordering::Relaxed);
            if self.replace(top, node) {
                return;
            }
        }
    }
}

fn aba(tagged: bool) {
    let stack = Arc::new(Stack::new(2, tagged));
    let other = {
        let stack = stack.clone();
        thread::spawn(move || stack.pop())
    };
    // Node 0 comes back, node 1 does not.
    let first = stack.pop();
    let second = stack.pop();
    if let Some(node) = first {
        stack.push(node);
    }
    let mut all: Vec<usize> = other.join().unwrap().into_iter().chain(second).collect();
    while let Some(node) = stack.pop() {
        all.push(node);
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a node was taken twice");
}

#[test]
fn a_stack_has_the_aba_problem() {
    check(|| aba(true));
    panics_with(|| aba(false), "a node was taken twice");
}

#[test]
fn a_wakeup_is_lost() {
    // The flag is not set under the lock.
    let waiting = deadlocks(|| {
        let shared = Arc::new((AtomicBool::new(false), Mutex::new(()), Condvar::new()));
        let other = shared.clone();
        let waiter = thread::spawn(move || {
            let (ready, lock, signal) = &*other;
            let held = lock.lock().unwrap();
            if !ready.load(Ordering::SeqCst) {
                drop(signal.wait(held));
            }
        });
        let (ready, _, signal) = &*shared;
        ready.store(true, Ordering::SeqCst);
        signal.notify_one();
        waiter.join().unwrap();
    });
    assert!(
        waiting.iter().any(|w| w.contains("notified of condition")),
        "{waiting:?}"
    );
}

#[test]
fn readers_that_want_to_write_deadlock() {
    let upgrade = |lock: &RwLock<u32>| {
        let seen = lock.read().unwrap();
        *lock.write().unwrap() += *seen;
    };
    assert_eq!(deadlocks(move || upgrade(&RwLock::new(1))).len(), 1);
    // Who gives up the first lock may be overtaken.
    let (sums, _) = outcomes(|| {
        let lock = Arc::new(RwLock::new(1));
        let add = |lock: &RwLock<u32>| {
            let seen = *lock.read().unwrap();
            *lock.write().unwrap() = 2 * seen;
        };
        let other = lock.clone();
        let thread = thread::spawn(move || add(&other));
        add(&lock);
        thread.join().unwrap();
        *lock.read().unwrap()
    });
    assert_eq!(sums, BTreeSet::from([2, 4]));
}

#[test]
fn locks_may_be_tried() {
    let (seen, _) = outcomes(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let thread = thread::spawn(move || drop(other.read()));
        let reads = lock.try_read().is_ok();
        let seen = (reads, lock.try_write().is_ok());
        thread.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(true, false), (true, true)]));
    let (seen, _) = outcomes(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let thread = thread::spawn(move || drop(other.write()));
        let reads = lock.try_read().is_ok();
        let seen = (reads, lock.try_write().is_ok());
        thread.join().unwrap();
        seen
    });
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn a_receiver_goes_away() {
    let (sent, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let server = thread::spawn(move || receiver.recv().unwrap());
        let sent: Vec<bool> = (0..3).map(|n| sender.send(n).is_ok()).collect();
        server.join().unwrap();
        sent
    });
    let expected = [
        [true, false, false],
        [true, true, false],
        [true, true, true],
    ];
    assert_eq!(sent, expected.map(Vec::from).into());
    panics_with(
        || {
            let (sender, receiver) = mpsc::channel();
            let server = thread::spawn(move || receiver.recv().unwrap());
            (0..2).for_each(|n| sender.send(n).unwrap());
            server.join().unwrap();
        },
        "SendError",
    );
}

/// Whoever asks a server that goes away is told, because the question is dropped with the receiver: how
/// many there are is different each time.
#[test]
fn what_is_left_in_a_channel_is_dropped() {
    let (answers, _) = outcomes(|| {
        let (questions, receiver) = mpsc::channel::<mpsc::Sender<u32>>();
        let server = thread::spawn(move || {
            let answers = receiver.recv().unwrap();
            answers.send(1).unwrap();
        });
        let ask = |questions: &mpsc::Sender<mpsc::Sender<u32>>| {
            let (answers, answer) = mpsc::channel();
            let _ = questions.send(answers);
            answer.recv().ok()
        };
        let other = {
            let questions = questions.clone();
            thread::spawn(move || ask(&questions))
        };
        let mine = ask(&questions);
        server.join().unwrap();
        (mine, other.join().unwrap())
    });
    assert_eq!(answers, BTreeSet::from([(None, Some(1)), (Some(1), None)]));
}

#[test]
fn channels_may_be_full() {
    let (sent, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || receiver.iter().count());
        let sent: Vec<bool> = (0..2).map(|n| sender.try_send(n).is_ok()).collect();
        drop(sender);
        (sent, thread.join().unwrap())
    });
    assert_eq!(
        sent,
        BTreeSet::from([(vec![true, false], 1), (vec![true, true], 2)])
    );
}

/// Whoever holds the last reference closes the file, and tells by a flag.
struct File(std::sync::Arc<AtomicUsize>);

impl Drop for File {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn references_race_for_the_last_one() {
    // Two look whether they are alone, before each drops: nobody may be, or one.
    let (alone, _) = outcomes(|| {
        let value = Arc::new(7);
        let other = value.clone();
        let thread = thread::spawn(move || Arc::try_unwrap(other).is_ok());
        let mine = Arc::try_unwrap(value).is_ok();
        (mine, thread.join().unwrap())
    });
    let neither = (false, false);
    assert!(
        alone.contains(&neither),
        "a refused reference is dropped: {alone:?}"
    );
    assert_eq!(alone.len(), 3, "{alone:?}");
    // `into_inner` does not lose the value.
    let (last, _) = outcomes(|| {
        let value = Arc::new(7);
        let other = value.clone();
        let thread = thread::spawn(move || Arc::into_inner(other).is_some());
        let mine = Arc::into_inner(value).is_some();
        (mine, thread.join().unwrap())
    });
    assert_eq!(last, BTreeSet::from([(false, true), (true, false)]));
    // A weak reference may come too late.
    let (found, _) = outcomes(|| {
        let value = Arc::new(7);
        let weak = Arc::downgrade(&value);
        let thread = thread::spawn(move || weak.upgrade().map(|value| *value));
        drop(value);
        thread.join().unwrap()
    });
    assert_eq!(found, BTreeSet::from([None, Some(7)]));
    let (counts, _) = outcomes(|| {
        let value = Arc::new(7);
        let other = value.clone();
        let thread = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&value);
        thread.join().unwrap();
        (count, Arc::strong_count(&value))
    });
    assert_eq!(counts, BTreeSet::from([(1, 1), (2, 1)]));
    // The destructor runs once, in either thread, and may be seen at work.
    let (closed, _) = outcomes(|| {
        let closed = std::sync::Arc::new(AtomicUsize::new(0));
        let file = Arc::new(File(closed.clone()));
        let other = file.clone();
        let thread = thread::spawn(move || drop(other));
        drop(file);
        let seen = closed.load(Ordering::SeqCst);
        thread.join().unwrap();
        (seen, closed.load(Ordering::SeqCst))
    });
    assert_eq!(closed, BTreeSet::from([(0, 1), (1, 1)]));
}

/// References to what nobody misses are dropped in any order.
#[test]
fn plain_references_do_not_disturb_each_other() {
    let (_, executions) = outcomes(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let value = value.clone();
                thread::spawn(move || value.load(Ordering::SeqCst))
            })
            .collect();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    });
    assert_eq!(executions.executions, 1);
}

#[test]
fn a_thread_is_unparked() {
    // Before or after it parks.
    check(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let flag = ready.clone();
        let waiter = thread::spawn(move || {
            while !flag.load(Ordering::SeqCst) {
                thread::park();
            }
        });
        ready.store(true, Ordering::SeqCst);
        waiter.thread().unpark();
        waiter.join().unwrap();
    });
    // Two tokens are one.
    let waiting = deadlocks(|| {
        let main = thread::current();
        let thread = thread::spawn(move || (0..2).for_each(|_| main.unpark()));
        thread::park();
        thread::park();
        thread.join().unwrap();
    });
    assert_eq!(waiting, ["thread 0 cannot go on where it parks"]);
    // The flag comes after the token.
    deadlocks(|| {
        let ready = Arc::new(AtomicBool::new(false));
        let flag = ready.clone();
        let waiter = thread::spawn(move || {
            while !flag.load(Ordering::SeqCst) {
                thread::park();
            }
        });
        waiter.thread().unpark();
        ready.store(true, Ordering::SeqCst);
        waiter.join().unwrap();
    });
}

#[test]
fn once_is_once() {
    let (seen, _) = outcomes(|| {
        let (once, value) = (Arc::new(Once::new()), Arc::new(AtomicUsize::new(0)));
        let act = {
            let (once, value) = (once.clone(), value.clone());
            move || {
                once.call_once(|| {
                    value.fetch_add(1, Ordering::SeqCst);
                });
                value.load(Ordering::SeqCst)
            }
        };
        let thread = thread::spawn(act.clone());
        let before = once.is_completed();
        (before, act(), thread.join().unwrap())
    });
    assert_eq!(seen, BTreeSet::from([(false, 1, 1), (true, 1, 1)]));
    let (seen, _) = outcomes(|| {
        let cell = Arc::new(OnceLock::new());
        let other = cell.clone();
        let thread = thread::spawn(move || other.set(1).is_ok());
        let early = cell.get().copied();
        let mine = *cell.get_or_init(|| 2);
        (early, mine, thread.join().unwrap())
    });
    let expected = [(None, 1, true), (None, 2, false), (Some(1), 1, true)];
    assert_eq!(seen, expected.into());
}

#[test]
fn a_barrier_lets_nobody_pass_alone() {
    let (leaders, _) = outcomes(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let pass = {
            let shared = shared.clone();
            move || {
                let (barrier, come) = &*shared;
                let mut leads = Vec::new();
                for round in 1..=2 {
                    come.fetch_add(1, Ordering::SeqCst);
                    leads.push(barrier.wait().is_leader());
                    assert!(come.load(Ordering::SeqCst) >= 2 * round);
                }
                leads
            }
        };
        let thread = thread::spawn(pass.clone());
        let mine = pass();
        let others = thread.join().unwrap();
        assert!(mine.iter().zip(&others).all(|(a, b)| a != b));
        mine
    });
    assert_eq!(leaders.len(), 4);
    // One is missing.
    deadlocks(|| {
        let barrier = Arc::new(Barrier::new(3));
        let other = barrier.clone();
        let thread = thread::spawn(move || other.wait());
        barrier.wait();
        thread.join().unwrap();
    });
}

/// Two flags, each set before the other is looked at: with weak memory both may see nothing. Here
/// every ordering is taken for sequentially consistent, as the documentation says.
#[test]
fn orderings_are_sequentially_consistent() {
    let (seen, _) = outcomes(|| {
        let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let other = flags.clone();
        let thread = thread::spawn(move || {
            other.0.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            other.1.load(Ordering::Relaxed)
        });
        flags.1.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mine = flags.0.load(Ordering::Relaxed);
        (mine, thread.join().unwrap())
    });
    assert_eq!(
        seen,
        BTreeSet::from([(false, true), (true, false), (true, true)])
    );
}

#[test]
fn updates_are_not_lost() {
    let (seen, _) = outcomes(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let add = |count: &AtomicUsize| {
            let more = |n: usize| (n < 2).then_some(n + 1);
            count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more)
        };
        let other = count.clone();
        let thread = thread::spawn(move || (add(&other).is_ok(), add(&other).is_ok()));
        let mine = add(&count);
        assert!(thread.join().unwrap().0);
        (mine, count.load(Ordering::SeqCst))
    });
    assert_eq!(seen, BTreeSet::from([(Ok(0), 2), (Ok(1), 2), (Err(2), 2)]));
}

/// Who unwraps a value sees what others did to it before they dropped theirs, in every order, although
/// nobody else notices who drops first.
#[test]
fn what_is_unwrapped_depends_on_who_had_it() {
    for unwanted in 1..=2 {
        let code = move || {
            let value = Arc::new(Mutex::new(0));
            for n in 1..=2 {
                let value = value.clone();
                // Nobody joins them: there is nothing else to tell the orders apart by.
                thread::spawn(move || *value.lock().unwrap() = n);
            }
            if let Ok(value) = Arc::try_unwrap(value) {
                assert_ne!(value.into_inner().unwrap(), unwanted, "unwanted");
            }
        };
        panics_with(code, "unwanted");
    }
}

/// Says who dropped it.
struct Signed(std::sync::Arc<AtomicUsize>);

impl Drop for Signed {
    fn drop(&mut self) {
        let who = usize::from(thread::current().number());
        self.0.store(10 + who, Ordering::SeqCst);
    }
}

/// What a thread returns that nobody joins is dropped by whoever is last, and that may be either.
#[test]
fn results_of_detached_threads_are_dropped_by_either() {
    for who in [0, 1] {
        let code = move || {
            let by = std::sync::Arc::new(AtomicUsize::new(0));
            let signed = Signed(by.clone());
            drop(thread::spawn(move || signed));
            assert_ne!(by.load(Ordering::SeqCst), 10 + who, "dropped by {who}");
        };
        panics_with(code, &format!("dropped by {who}"));
    }
    // Who joins has it.
    check(|| {
        let by = std::sync::Arc::new(AtomicUsize::new(0));
        let signed = Signed(by.clone());
        let signed = thread::spawn(move || signed).join().unwrap();
        assert_eq!(by.load(Ordering::SeqCst), 0);
        drop(signed);
        assert_eq!(by.load(Ordering::SeqCst), 10);
    });
}
