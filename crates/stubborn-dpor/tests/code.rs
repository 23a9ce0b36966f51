//! Ordinary Rust code under the optimal search: known numbers of executions, and known mistakes.
#![allow(unreachable_pub, reason = "programs that other packages include, too")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex as StdMutex};

use stubborn_dpor::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use stubborn_dpor::sync::{Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use stubborn_dpor::{Algorithm, Check, Failure, FailureKind, check, thread};

/// Executions, the same by both algorithms.
fn executions(code: impl Fn() + Send + Sync + Clone + 'static) -> u64 {
    let optimal = Check::new()
        .run(code.clone())
        .unwrap_or_else(|f| panic!("{f}"));
    assert!(optimal.complete && optimal.given_up == 0);
    let source = Check::new().algorithm(Algorithm::Source).run(code);
    assert_eq!(
        source.unwrap_or_else(|f| panic!("{f}")).executions,
        optimal.executions
    );
    optimal.executions
}

fn failure(code: impl Fn() + Send + Sync + 'static) -> Failure {
    Check::new().run(code).expect_err("a mistake")
}

/// Collects what executions end with.
#[derive(Clone, Default)]
struct Ends(Arc<StdMutex<BTreeSet<Vec<usize>>>>);

impl Ends {
    fn add(&self, end: Vec<usize>) {
        self.0.lock().expect("no panics").insert(end);
    }

    fn all(&self) -> Vec<Vec<usize>> {
        self.0.lock().expect("no panics").iter().cloned().collect()
    }
}

#[test]
fn a_mutex_has_as_many_executions_as_orders() {
    for (threads, orders) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let found = executions(move || {
            let total = Arc::new(Mutex::new(0));
            let all: Vec<_> = (0..threads)
                .map(|n| {
                    let total = total.clone();
                    thread::spawn(move || *total.lock().unwrap() += n)
                })
                .collect();
            all.into_iter().for_each(|t| t.join().unwrap());
            assert_eq!(*total.lock().unwrap(), (0..threads).sum::<usize>());
        });
        assert_eq!(found, orders);
    }
}

#[test]
fn threads_that_share_nothing_have_one_execution() {
    let found = executions(|| {
        let all: Vec<_> = (0..4)
            .map(|n| {
                thread::spawn(move || {
                    let own = Mutex::new(n);
                    *own.lock().unwrap() += 1;
                    own.into_inner().unwrap()
                })
            })
            .collect();
        let sum: usize = all.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(sum, 10);
    });
    assert_eq!(found, 1);
}

#[test]
fn a_lost_update_is_found() {
    let failure = failure(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let all: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || {
                    let before = counter.load(Ordering::Relaxed);
                    counter.store(before + 1, Ordering::Relaxed);
                })
            })
            .collect();
        all.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(counter.load(Ordering::Relaxed), 2, "an update is lost");
    });
    assert!(
        matches!(&failure.kind, FailureKind::Panic(text) if text.contains("an update is lost"))
    );
    assert!(failure.to_string().contains("loads atomic"), "{failure}");
    // With one operation for both, nothing is lost.
    let found = executions(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let thread = thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
        counter.fetch_add(1, Ordering::SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2);
    });
    assert_eq!(found, 2);
}

#[test]
fn a_panic_beside_others_is_found() {
    let failure = failure(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let (one, other) = (value.clone(), value.clone());
        thread::spawn(move || one.store(1, Ordering::SeqCst));
        thread::spawn(move || {
            assert_eq!(other.load(Ordering::SeqCst), 0, "too late");
            other.store(2, Ordering::SeqCst);
        });
        value.load(Ordering::SeqCst);
    });
    assert!(matches!(&failure.kind, FailureKind::Panic(text) if text.contains("too late")));
    assert!(!failure.schedule.is_empty());
}

#[test]
fn locks_in_two_orders_deadlock() {
    let failure = failure(|| {
        let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (c, d) = (a.clone(), b.clone());
        let other = thread::spawn(move || {
            let first = d.lock().unwrap();
            let second = c.lock().unwrap();
            *first + *second
        });
        let first = a.lock().unwrap();
        let second = b.lock().unwrap();
        let sum = *first + *second;
        drop((first, second));
        assert_eq!(other.join().unwrap(), sum);
    });
    let FailureKind::Deadlock(waiting) = &failure.kind else {
        panic!("{failure}");
    };
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert!(
        failure
            .schedule
            .iter()
            .filter(|s| s.contains("locks mutex"))
            .count()
            == 2
    );
}

#[test]
fn a_notification_may_come_too_early() {
    let code = |remembers: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = pair.clone();
            let waker = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut ready = pair.0.lock().unwrap();
            if !remembers {
                // Forgets to look first.
                ready = pair.1.wait(ready).unwrap();
            }
            while !*ready {
                ready = pair.1.wait(ready).unwrap();
            }
            drop(ready);
            waker.join().unwrap();
        }
    };
    assert!(matches!(
        failure(code(false)).kind,
        FailureKind::Deadlock(_)
    ));
    assert!(executions(code(true)) >= 2);
}

#[test]
fn anybody_may_be_notified() {
    let ends = Ends::default();
    let seen = ends.clone();
    check(move || {
        // How many wait, and who was woken up in which order.
        let shared = Arc::new((Mutex::new((0, Vec::new())), Condvar::new(), Condvar::new()));
        let waiters: Vec<_> = (1..=2)
            .map(|n| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (mutex, arrived, go) = &*shared;
                    let mut state = mutex.lock().unwrap();
                    state.0 += 1;
                    arrived.notify_one();
                    let mut state = go.wait(state).unwrap();
                    state.1.push(n);
                    go.notify_one();
                })
            })
            .collect();
        let (mutex, arrived, go) = &*shared;
        let state = mutex.lock().unwrap();
        drop(arrived.wait_while(state, |s| s.0 < 2).unwrap());
        go.notify_one();
        waiters.into_iter().for_each(|w| w.join().unwrap());
        seen.add(mutex.lock().unwrap().1.clone());
    });
    assert_eq!(ends.all(), [[1, 2], [2, 1]]);
}

#[test]
fn readers_do_not_disturb_each_other() {
    let found = executions(|| {
        let value = Arc::new(RwLock::new(7));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let value = value.clone();
                thread::spawn(move || *value.read().unwrap())
            })
            .collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), 7);
        }
    });
    assert_eq!(found, 1);
    let ends = Ends::default();
    let seen = ends.clone();
    let found = executions(move || {
        let value = Arc::new(RwLock::new(0));
        let (one, other) = (value.clone(), value.clone());
        let writer = thread::spawn(move || *one.write().unwrap() = 1);
        let reader = thread::spawn(move || *other.read().unwrap());
        writer.join().unwrap();
        seen.add(vec![reader.join().unwrap()]);
    });
    assert_eq!(found, 2);
    assert_eq!(ends.all(), [[0], [1]]);
}

#[test]
fn channels_keep_the_order_of_each_sender() {
    let ends = Ends::default();
    let seen = ends.clone();
    let found = executions(move || {
        let (sender, receiver) = mpsc::channel();
        let senders: Vec<_> = (0..2)
            .map(|n| {
                let sender = sender.clone();
                thread::spawn(move || {
                    sender.send(10 * n).unwrap();
                    sender.send(10 * n + 1).unwrap();
                })
            })
            .collect();
        drop(sender);
        let got: Vec<usize> = receiver.iter().collect();
        senders.into_iter().for_each(|s| s.join().unwrap());
        seen.add(got);
    });
    // Two of four places for the messages of one.
    assert_eq!(ends.all().len(), 6);
    assert_eq!(found, 6);
}

#[test]
fn channels_without_senders_or_receivers_say_so() {
    check(|| {
        let (sender, receiver) = mpsc::channel::<u8>();
        let other = thread::spawn(move || drop(sender));
        assert!(receiver.recv().is_err());
        other.join().unwrap();
        let (sender, receiver) = mpsc::channel();
        drop(receiver);
        assert!(sender.send(1).is_err());
    });
    let ends = Ends::default();
    let seen = ends.clone();
    check(move || {
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || sender.send(1).is_ok());
        let got = match receiver.try_recv() {
            Ok(_) => 0,
            Err(mpsc::TryRecvError::Empty) => 1,
            Err(mpsc::TryRecvError::Disconnected) => 2,
        };
        drop(receiver);
        seen.add(vec![got, usize::from(other.join().unwrap())]);
    });
    // It comes in time, or too late, or not at all.
    assert_eq!(ends.all(), [vec![0, 1], vec![1, 0], vec![1, 1]]);
}

#[test]
fn bounded_channels_make_senders_wait() {
    let failure = failure(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        drop(receiver);
    });
    assert!(matches!(failure.kind, FailureKind::Deadlock(_)));
    let found = executions(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let other = thread::spawn(move || (0..3).for_each(|n| sender.send(n).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2]);
        other.join().unwrap();
    });
    assert_eq!(found, 1);
}

#[test]
fn try_lock_sees_both() {
    let ends = Ends::default();
    let seen = ends.clone();
    let found = executions(move || {
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let holder = thread::spawn(move || *other.lock().unwrap() = 1);
        let free = match mutex.try_lock() {
            Ok(value) => *value,
            Err(_) => 2,
        };
        holder.join().unwrap();
        seen.add(vec![free]);
    });
    assert_eq!(ends.all(), [[0], [1], [2]]);
    assert_eq!(found, 3);
}

#[test]
fn spinning_is_noticed() {
    let kind = Check::new()
        .most_steps(200)
        .run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let setter = thread::spawn(move || other.store(true, Ordering::Release));
            while !flag.load(Ordering::Acquire) {
                thread::yield_now();
            }
            setter.join().unwrap();
        })
        .expect_err("it never ends")
        .kind;
    assert_eq!(kind, FailureKind::Endless);
}

#[test]
fn what_is_not_controlled_is_noticed() {
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let failure = failure(move || {
        let run = runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mutex = Arc::new(Mutex::new(0));
        let atomic = Arc::new(AtomicUsize::new(0));
        let (m, a) = (mutex.clone(), atomic.clone());
        let other = thread::spawn(move || {
            a.fetch_add(1, Ordering::SeqCst);
            *m.lock().unwrap() = 1;
        });
        match run % 2 {
            0 => *mutex.lock().unwrap() = 2,
            _ => atomic.store(2, Ordering::SeqCst),
        }
        other.join().unwrap();
    });
    assert_eq!(failure.kind, FailureKind::NotDeterministic);
}

/// Hands numbers to a thread, and waits for it when it is dropped.
struct Worker {
    sender: Option<mpsc::Sender<usize>>,
    thread: Option<thread::JoinHandle<()>>,
    sum: Arc<Mutex<usize>>,
}

impl Worker {
    fn new() -> Self {
        let sum = Arc::new(Mutex::new(0));
        let (sender, receiver) = mpsc::channel();
        let own = sum.clone();
        let thread = thread::spawn(move || {
            for number in &receiver {
                *own.lock().unwrap() += number;
            }
        });
        Self {
            sender: Some(sender),
            thread: Some(thread),
            sum,
        }
    }

    fn add(&self, number: usize) {
        self.sender.as_ref().unwrap().send(number).unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Also in executions that the search leaves half-way, and in those that go wrong.
#[test]
fn destructors_may_wait() {
    let ends = Ends::default();
    let seen = ends.clone();
    executions(move || {
        let worker = Worker::new();
        worker.add(1);
        let early = *worker.sum.lock().unwrap();
        worker.add(2);
        let sum = worker.sum.clone();
        drop(worker);
        let late = *sum.lock().unwrap();
        seen.add(vec![early, late]);
    });
    assert_eq!(ends.all(), [[0, 3], [1, 3]]);
    // Its destructor waits while the stack unwinds.
    let early = failure(|| {
        let worker = Worker::new();
        worker.add(1);
        let sum = *worker.sum.lock().unwrap();
        assert_eq!(sum, 1, "too early");
    });
    assert!(matches!(&early.kind, FailureKind::Panic(text) if text.contains("too early")));
    let is_join = |step: &String| step == "thread 0 (unwinding from a panic): joins thread 1";
    assert!(early.schedule.iter().any(is_join), "{early}");
    // With the lock in its hands, the panic poisons it, and so the worker panics, too.
    let poisoned = failure(|| {
        let worker = Worker::new();
        worker.add(1);
        assert_eq!(*worker.sum.lock().unwrap(), 1, "too early");
    });
    assert!(matches!(&poisoned.kind, FailureKind::Panic(text) if text.contains("Poison")));
    // That panic was never over, and nobody else may think that it is theirs.
    assert!(!std::thread::panicking());
    check(|| drop(Worker::new()));
}

/// Runs something, and a destructor while the stack unwinds from a panic that is caught.
fn caught(act: impl FnOnce(), in_destructor: impl FnOnce()) {
    struct Last<F: FnOnce()>(Option<F>);
    impl<F: FnOnce()> Drop for Last<F> {
        fn drop(&mut self) {
            self.0.take().unwrap()();
        }
    }
    let end = catch_unwind(AssertUnwindSafe(|| {
        let _last = Last(Some(in_destructor));
        act();
        // Without a message.
        resume_unwind(Box::new("caught"));
    }));
    assert!(end.is_err());
}

#[test]
fn updates_are_lost_in_destructors_too() {
    let failure = failure(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = value.clone();
        let add = |value: &AtomicUsize| {
            value.store(value.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
        };
        let thread = thread::spawn(move || caught(|| {}, || add(&other)));
        add(&value);
        thread.join().unwrap();
        assert_eq!(value.load(Ordering::SeqCst), 2, "lost");
    });
    assert!(matches!(&failure.kind, FailureKind::Panic(text) if text.contains("lost")));
}

#[test]
fn a_caught_panic_gives_back_what_the_stack_held() {
    let ends = Ends::default();
    let seen = ends.clone();
    executions(move || {
        let total = Arc::new(Mutex::new(0));
        let ours = total.clone();
        let (sender, receiver) = mpsc::channel::<usize>();
        let thread = thread::spawn(move || {
            let sender = sender;
            caught(
                || {
                    let mut held = ours.lock().unwrap();
                    *held = 1;
                    resume_unwind(Box::new("caught"));
                },
                move || drop(sender),
            );
        });
        let found = match total.lock() {
            Ok(total) => vec![0, *total],
            Err(poisoned) => vec![1, **poisoned.get_ref()],
        };
        assert!(receiver.recv().is_err());
        thread.join().unwrap();
        assert!(total.is_poisoned());
        total.clear_poison();
        assert_eq!(*total.lock().unwrap(), 1);
        seen.add(found);
    });
    assert_eq!(ends.all(), [[0, 0], [1, 1]]);
}

/// While one stack unwinds, others do not.
#[test]
fn panics_belong_to_their_threads() {
    let found = executions(|| {
        let (token, other) = (Arc::new(Mutex::new(0)), thread::current());
        let lock = token.clone();
        let thread = thread::spawn(move || {
            caught(
                || assert!(!thread::panicking()),
                || {
                    assert!(thread::panicking());
                    other.unpark();
                    thread::park();
                    assert!(thread::panicking());
                },
            );
            assert!(!thread::panicking());
            drop(lock.lock().unwrap());
        });
        thread::park();
        assert!(!std::thread::panicking());
        drop(token.lock().unwrap());
        caught(
            || {},
            || {
                // A guard that is taken while the stack unwinds poisons nothing.
                drop(token.lock().unwrap());
                thread.thread().unpark();
                assert!(thread::panicking());
            },
        );
        assert!(!std::thread::panicking());
        thread.join().unwrap();
        drop(token.lock().unwrap());
    });
    assert_eq!(found, 1);
}

#[test]
fn what_is_done_once_is_poisoned_by_a_panic() {
    executions(|| {
        let once = Once::new();
        caught(|| once.call_once(|| resume_unwind(Box::new(""))), || {});
        let again = catch_unwind(AssertUnwindSafe(|| once.call_once(|| {})));
        assert!(again.is_err() && !once.is_completed());
        once.call_once_force(|state| assert!(state.is_poisoned()));
        once.call_once(|| panic!("twice"));
        assert!(once.is_completed());
        let value = OnceLock::new();
        caught(
            || {
                value.get_or_init(|| resume_unwind(Box::new("")));
            },
            || {},
        );
        assert_eq!(value.get(), None);
        assert_eq!(*value.get_or_init(|| 3), 3);
    });
}

#[test]
fn weaker_orderings_are_told() {
    let code = |first: Ordering, second: Ordering| {
        move || {
            let value = Arc::new(AtomicUsize::new(0));
            let other = value.clone();
            let thread = thread::spawn(move || {
                for _ in 0..2 {
                    other.store(1, first);
                }
            });
            let _ = value.compare_exchange(0, 2, Ordering::SeqCst, second);
            fence(first);
            thread.join().unwrap();
        }
    };
    let run = |first, second| Check::new().run(code(first, second)).expect("no mistake");
    let strong = run(Ordering::SeqCst, Ordering::SeqCst);
    assert_eq!(strong.weaker_orderings, []);
    assert_eq!(
        strong.to_string(),
        format!("{} executions", strong.executions)
    );
    let weak = run(Ordering::Release, Ordering::Relaxed);
    // The same executions, and each place once.
    assert_eq!(weak.executions, strong.executions);
    let places = weak.weaker_orderings.iter();
    let places: Vec<String> = places
        .map(|p| format!("{}:{}", p.file(), p.line()))
        .collect();
    let source: Vec<&str> = include_str!("code.rs").lines().collect();
    let line = |text: &str| source.iter().position(|line| line.trim() == text).unwrap() + 1;
    let lines = ["other.store(1, first);", CAS, "fence(first);"].map(line);
    assert_eq!(places, lines.map(|line| format!("{}:{line}", file!())));
    let told = format!(
        "{} executions; explored under sequential consistency; 3 places use weaker orderings: {}",
        weak.executions,
        places.join(", ")
    );
    assert_eq!(weak.to_string(), told);
    // Failures, and the message of `check`, say so, too.
    let failing = || {
        let value = AtomicUsize::new(0);
        value.fetch_add(1, Ordering::Relaxed);
        panic!("wrong");
    };
    let failed = Check::new().run(failing).expect_err("a mistake");
    assert_eq!(failed.weaker_orderings.len(), 1);
    let told = "explored under sequential consistency; 1 place uses a weaker ordering: ";
    assert!(failed.to_string().contains(told), "{failed}");
}

const CAS: &str = "let _ = value.compare_exchange(0, 2, Ordering::SeqCst, second);";

/// As the standard library's.
#[test]
fn impossible_orderings_panic() {
    for ordering in [Ordering::Release, Ordering::AcqRel] {
        let failure = failure(move || {
            AtomicUsize::new(0).load(ordering);
        });
        assert!(matches!(failure.kind, FailureKind::Panic(_)));
    }
}

#[test]
fn threads_have_values_of_their_own() {
    stubborn_dpor::thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
        static NAMES: RefCell<Vec<usize>> = RefCell::new(vec![7]);
    }
    let found = executions(|| {
        let all: Vec<_> = (0..2)
            .map(|n| {
                thread::spawn(move || {
                    COUNT.set(COUNT.get() + 1);
                    thread::yield_now();
                    COUNT.set(COUNT.get() + n);
                    NAMES.with_borrow_mut(|names| names.push(n));
                    (COUNT.get(), NAMES.with_borrow(Vec::clone))
                })
            })
            .collect();
        let all: Vec<_> = all.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(all, [(1, vec![7, 0]), (2, vec![7, 1])]);
        assert_eq!(COUNT.get(), 0);
    });
    assert_eq!(found, 1);
}

#[test]
fn executions_are_limited() {
    let some = Check::new().most_executions(3).run(|| {
        let total = Arc::new(Mutex::new(0));
        let all: Vec<_> = (0..4)
            .map(|n| {
                let total = total.clone();
                thread::spawn(move || *total.lock().unwrap() += n)
            })
            .collect();
        all.into_iter().for_each(|t| t.join().unwrap());
    });
    let some = some.expect("no mistake");
    assert!(!some.complete && some.executions == 3);
}

/// The program of `docs/protocols.md`, and the same broken as it says.
#[test]
fn the_guide_is_right_about_threads() {
    let guide = include_str!("../../../docs/protocols.md");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = flat(
        "let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let thread = thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
        counter.fetch_add(1, Ordering::SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2);",
    );
    assert!(flat(guide).contains(&code));
    check(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let thread = thread::spawn(move || other.fetch_add(1, Ordering::SeqCst));
        counter.fetch_add(1, Ordering::SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2);
    });
    assert!(flat(guide).contains("it fails with the schedule that loses an update"));
    let failed = failure(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let other = counter.clone();
        let adds = |counter: &AtomicUsize| {
            let before = counter.load(Ordering::SeqCst);
            counter.store(before + 1, Ordering::SeqCst);
        };
        let thread = thread::spawn(move || adds(&other));
        adds(&counter);
        thread.join().unwrap();
        assert_eq!(counter.load(Ordering::SeqCst), 2);
    });
    assert!(matches!(failed.kind, FailureKind::Panic(_)));
    let changes = failed
        .schedule
        .iter()
        .filter(|s| s.contains("changes atomic"));
    assert_eq!(changes.count(), 2);
}

include!("../../../bench/threads/src/programs.rs");
programs!(beside_others, stubborn_dpor);

/// The column of `docs/results/protocols.md` that is ours, with the programs that others were given.
#[test]
fn the_table_beside_loom_and_shuttle_is_right() {
    let known: [(fn(), u64, bool); 11] = [
        (beside_others::lost_update, 2, true),
        (beside_others::embrace, 2, true),
        (beside_others::missed_signal, 3, true),
        (beside_others::order_of_senders, 2, true),
        (beside_others::check_then_act, 2, true),
        (beside_others::adders, 90, false),
        (beside_others::locked_adders, 90, false),
        (beside_others::strangers, 36, false),
        (beside_others::signal, 26, false),
        (beside_others::flags, 3, false),
        (beside_others::relaxed_flags, 3, false),
    ];
    for (number, (program, executions, has_bug)) in known.into_iter().enumerate() {
        let found = match Check::new().run(program) {
            Ok(all) => (all.executions, false),
            Err(failure) => (failure.executions + 1, true),
        };
        assert_eq!(found, (executions, has_bug), "program {number}");
    }
}
