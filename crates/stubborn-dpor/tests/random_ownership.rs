//! Random code about counted references, parking, `Once` and `Barrier` under `Check`, beside an interpreter
//! that tries every interleaving: the same ends are seen, and a deadlock is found exactly where there is
//! one.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::{Mutex as Plain, PoisonError};

use stubborn_dpor::sync::atomic::{AtomicU32, Ordering};
use stubborn_dpor::sync::{Arc, Barrier, Mutex, Once, OnceState, Weak};
use stubborn_dpor::{Algorithm, Check, FailureKind, thread};
use stubborn_system::Random;

use crate::everything;
use everything::try_everything;

/// Every thread has some references to one value, and a weak one. What needs a reference does nothing
/// where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Clone,
    Drop,
    Unwrap,
    IntoInner,
    Count,
    WeakCount,
    Upgrade,
    /// Changes the value, and looks at it or not.
    Touch(bool),
    Park,
    Unpark(usize),
    Once,
    /// Panics inside.
    OnceInVain,
    /// Whatever came before.
    OnceAgain,
    IsDone,
    Barrier,
    Log,
}

#[derive(Clone, Debug)]
struct Code {
    /// Acts, and whether a destructor does them while the stack unwinds, which is to change nothing.
    threads: Vec<Vec<(Act, bool)>>,
    /// Who drops the value can be seen.
    is_loud: bool,
    /// Threads that the barrier is for.
    barrier: usize,
}

fn random_code(seed: u64) -> Code {
    let mut random = Random::new(seed);
    let count = 2 + random.below(2);
    let topics: Vec<usize> = (0..2).map(|_| random.below(4)).collect();
    let length = if count == 2 { 4 } else { 2 };
    let mut thread = || {
        let acts = (0..1 + random.below(length)).map(|_| {
            let act = match (topics[random.below(2)], random.below(4)) {
                (0, 0) => Act::Clone,
                (0, 1) => Act::Drop,
                (0, 2) => Act::Unwrap,
                (0, _) => Act::IntoInner,
                (1, 0) => Act::Count,
                (1, 1) => Act::WeakCount,
                (1, 2) => Act::Upgrade,
                (1, _) => Act::Log,
                (2, 0) => Act::Park,
                (2, 1) => Act::Unpark(random.below(count)),
                (2, _) => Act::Touch(random.percent(50)),
                (_, 0) => match random.below(3) {
                    0 => Act::Once,
                    1 => Act::OnceInVain,
                    _ => Act::OnceAgain,
                },
                (_, 1) => Act::IsDone,
                (_, 2) => Act::Barrier,
                _ => Act::Touch(false),
            };
            (act, random.percent(30))
        });
        acts.collect()
    };
    Code {
        threads: (0..count).map(|_| thread()).collect(),
        is_loud: random.percent(40),
        barrier: 1 + random.below(count),
    }
}

/// What a thread has seen.
type Seen = Vec<u32>;

const NO: u32 = 90;

/// The value: one that says when it is dropped, and one that nobody misses.
trait Value: Send + Sync + 'static {
    fn new(log: &std::sync::Arc<AtomicU32>) -> Self;
    fn touch(&self, me: u32) -> u32;
    fn inside(self) -> u32;
}

fn touched(mutex: &Mutex<u32>, me: u32) -> u32 {
    let mut value = mutex.lock().unwrap();
    let before = *value;
    *value = before * 3 + me + 1;
    before
}

impl Value for Mutex<u32> {
    fn new(_: &std::sync::Arc<AtomicU32>) -> Self {
        Mutex::new(0)
    }

    fn touch(&self, me: u32) -> u32 {
        touched(self, me)
    }

    fn inside(self) -> u32 {
        self.into_inner().unwrap()
    }
}

struct Loud(Mutex<u32>, std::sync::Arc<AtomicU32>);

impl Drop for Loud {
    fn drop(&mut self) {
        let value = *self.0.get_mut().unwrap();
        self.1.fetch_add(value + 1, Ordering::SeqCst);
    }
}

impl Value for Loud {
    fn new(log: &std::sync::Arc<AtomicU32>) -> Self {
        Self(Mutex::new(0), std::sync::Arc::clone(log))
    }

    fn touch(&self, me: u32) -> u32 {
        touched(&self.0, me)
    }

    fn inside(mut self) -> u32 {
        *self.0.get_mut().unwrap()
    }
}

struct Shared {
    log: std::sync::Arc<AtomicU32>,
    once: Once,
    barrier: Barrier,
    threads: Mutex<Vec<thread::Thread>>,
}

/// A real thread.
struct Runner<'s, T: Value> {
    me: u32,
    threads: &'s [thread::Thread],
    shared: &'s Shared,
    own: Vec<Arc<T>>,
    weak: &'s Weak<T>,
    seen: Seen,
}

/// Does something when it is dropped.
struct Last<'r, 's, T: Value>(&'r mut Runner<'s, T>, Act);

impl<T: Value> Drop for Last<'_, '_, T> {
    fn drop(&mut self) {
        self.0.act(self.1);
    }
}

impl<T: Value> Runner<'_, T> {
    fn run(mut self, acts: &[(Act, bool)]) -> Seen {
        for (act, unwinds) in acts {
            if *unwinds {
                let end = catch_unwind(AssertUnwindSafe(|| {
                    let _last = Last(&mut self, *act);
                    // Without a message.
                    resume_unwind(Box::new(()));
                }));
                assert!(end.is_err());
            } else {
                self.act(*act);
            }
        }
        self.seen
    }

    fn act(&mut self, act: Act) {
        let (me, seen, own) = (self.me, &mut self.seen, &mut self.own);
        let (shared, weak) = (self.shared, self.weak);
        match act {
            Act::Clone => own.extend(own.first().cloned()),
            Act::Drop => drop(own.pop()),
            Act::Unwrap => match own.pop().map(Arc::try_unwrap) {
                Some(Ok(value)) => seen.push(100 + value.inside()),
                Some(Err(other)) => {
                    seen.push(NO);
                    own.push(other);
                }
                None => {}
            },
            Act::IntoInner => match own.pop().map(Arc::into_inner) {
                Some(Some(value)) => seen.push(100 + value.inside()),
                Some(None) => seen.push(NO),
                None => {}
            },
            Act::Count => seen.extend(own.first().map(|a| Arc::strong_count(a) as u32)),
            Act::WeakCount => seen.push(weak.strong_count() as u32),
            Act::Upgrade => {
                let found = weak.upgrade();
                seen.push(u32::from(found.is_some()));
                own.extend(found);
            }
            Act::Touch(looks) => {
                let before = own.first().map(|a| a.touch(me));
                seen.extend(before.filter(|_| looks));
            }
            Act::Park => thread::park(),
            Act::Unpark(other) => self.threads[other].unpark(),
            Act::Once => {
                let call = || shared.once.call_once(|| seen.push(50 + me));
                if catch_unwind(AssertUnwindSafe(call)).is_err() {
                    seen.push(60);
                }
            }
            Act::OnceInVain => {
                let in_vain = || shared.once.call_once(|| resume_unwind(Box::new(())));
                let end = catch_unwind(AssertUnwindSafe(in_vain));
                seen.push(if end.is_err() { 60 } else { 61 });
            }
            Act::OnceAgain => {
                let again = |state: &OnceState| seen.push(70 + u32::from(state.is_poisoned()));
                shared.once.call_once_force(again);
            }
            Act::IsDone => seen.push(u32::from(shared.once.is_completed())),
            Act::Barrier => seen.push(u32::from(shared.barrier.wait().is_leader())),
            Act::Log => seen.push(shared.log.load(Ordering::SeqCst)),
        }
    }
}

/// What all executions have seen; `None` if one gets stuck.
fn checked<T: Value>(code: &Code, algorithm: Algorithm) -> Option<BTreeSet<Vec<Seen>>> {
    let ends: std::sync::Arc<Plain<BTreeSet<Vec<Seen>>>> = Default::default();
    let (place, code) = (std::sync::Arc::clone(&ends), code.clone());
    let found = Check::new().algorithm(algorithm).run(move || {
        let shared = std::sync::Arc::new(Shared {
            log: std::sync::Arc::new(AtomicU32::new(0)),
            once: Once::new(),
            barrier: Barrier::new(code.barrier),
            threads: Mutex::new(Vec::new()),
        });
        let first = Arc::new(T::new(&shared.log));
        let weak = Arc::downgrade(&first);
        let mut own = vec![first];
        while own.len() < code.threads.len() {
            own.push(own[0].clone());
        }
        // Nobody begins before all know each other.
        let held = shared.threads.lock().unwrap();
        let threads: Vec<_> = own
            .into_iter()
            .enumerate()
            .map(|(me, own)| {
                let (acts, shared) = (code.threads[me].clone(), std::sync::Arc::clone(&shared));
                let weak = weak.clone();
                thread::spawn(move || {
                    let threads = shared.threads.lock().unwrap().clone();
                    let runner = Runner {
                        me: me as u32,
                        threads: &threads,
                        shared: &shared,
                        own: vec![own],
                        weak: &weak,
                        seen: Vec::new(),
                    };
                    runner.run(&acts)
                })
            })
            .collect();
        let mut held = held;
        held.extend(threads.iter().map(|t| t.thread().clone()));
        drop(held);
        let mut all: Vec<Seen> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        all.push(vec![shared.log.load(Ordering::SeqCst)]);
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.insert(all);
    });
    match found {
        Ok(executions) => assert!(executions.complete),
        Err(failure) => {
            let is_deadlock = matches!(failure.kind, FailureKind::Deadlock(_));
            assert!(is_deadlock, "{failure}");
            return None;
        }
    }
    let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
    Some(ends.clone())
}

/// A state of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    counters: Vec<usize>,
    seen: Vec<Seen>,
    /// References that each thread has.
    own: Vec<usize>,
    /// What a destructor is about to write down.
    dropping: Vec<Option<u32>>,
    value: u32,
    /// The value is not there any more.
    is_gone: bool,
    log: u32,
    tokens: BTreeSet<usize>,
    is_done: bool,
    /// Begun, and ended by a panic.
    is_poisoned: bool,
    come: usize,
    /// Who waits at the barrier, and who may go on.
    waiting: BTreeSet<usize>,
    released: BTreeSet<usize>,
}

impl State {
    fn new(code: &Code) -> Self {
        let count = code.threads.len();
        Self {
            counters: vec![0; count],
            seen: vec![Vec::new(); count],
            own: vec![1; count],
            dropping: vec![None; count],
            value: 0,
            is_gone: false,
            log: 0,
            tokens: BTreeSet::new(),
            is_done: false,
            is_poisoned: false,
            come: 0,
            waiting: BTreeSet::new(),
            released: BTreeSet::new(),
        }
    }

    fn count(&self) -> usize {
        self.own.iter().sum()
    }

    /// A thread gives a reference back; whether it was the last one.
    fn give_back(&mut self, me: usize) -> bool {
        self.own[me] -= 1;
        self.is_gone |= self.count() == 0;
        self.count() == 0
    }

    /// The value is dropped.
    fn end(&mut self, code: &Code, me: usize) {
        if code.is_loud {
            self.dropping[me] = Some(self.value + 1);
        }
    }

    fn after(&self, code: &Code, me: usize) -> Option<Self> {
        let mut next = self.clone();
        if let Some(value) = next.dropping[me].take() {
            next.log += value;
            return Some(next);
        }
        let (has, count) = (self.own[me] > 0, self.count() as u32);
        let Some((act, _)) = code.threads[me].get(self.counters[me]) else {
            // What is left is dropped at the end, one after the other.
            if !has {
                return None;
            }
            if next.give_back(me) {
                next.end(code, me);
            }
            return Some(next);
        };
        next.counters[me] += 1;
        match *act {
            Act::Clone if has => next.own[me] += 1,
            Act::Drop if has => {
                if next.give_back(me) {
                    next.end(code, me);
                }
            }
            Act::Unwrap | Act::IntoInner if !has => {}
            Act::Unwrap if count > 1 => next.seen[me].push(NO),
            Act::Unwrap | Act::IntoInner => match next.give_back(me) {
                true => {
                    next.seen[me].push(100 + self.value);
                    next.end(code, me);
                }
                false => next.seen[me].push(NO),
            },
            Act::Count if has => next.seen[me].push(count),
            Act::WeakCount => next.seen[me].push(count),
            Act::Upgrade => {
                next.seen[me].push(u32::from(!self.is_gone));
                next.own[me] += usize::from(!self.is_gone);
            }
            Act::Touch(looks) if has => {
                if looks {
                    next.seen[me].push(self.value);
                }
                next.value = self.value * 3 + me as u32 + 1;
            }
            Act::Clone | Act::Drop | Act::Count | Act::Touch(_) => {}
            Act::Park => {
                if !next.tokens.remove(&me) {
                    return None;
                }
            }
            Act::Unpark(other) => drop(next.tokens.insert(other)),
            Act::Once | Act::OnceInVain if !self.is_done && self.is_poisoned => {
                next.seen[me].push(60);
            }
            Act::OnceInVain => {
                next.seen[me].push(if self.is_done { 61 } else { 60 });
                next.is_poisoned = true;
            }
            Act::Once | Act::OnceAgain => {
                if !self.is_done {
                    let is_again = *act == Act::OnceAgain;
                    let again = 70 + u32::from(self.is_poisoned);
                    next.seen[me].push(if is_again { again } else { 50 + me as u32 });
                }
                next.is_done = true;
            }
            Act::IsDone => next.seen[me].push(u32::from(self.is_done)),
            Act::Barrier if self.released.contains(&me) => {
                next.released.remove(&me);
                next.seen[me].push(0);
            }
            Act::Barrier if self.waiting.contains(&me) => return None,
            Act::Barrier if self.come + 1 >= code.barrier => {
                next.come = 0;
                next.released.append(&mut next.waiting);
                next.seen[me].push(1);
            }
            Act::Barrier => {
                next.counters[me] -= 1;
                next.come += 1;
                next.waiting.insert(me);
            }
            Act::Log => next.seen[me].push(self.log),
        }
        Some(next)
    }
}

/// The same by trying everything: what is seen at the ends, and whether somebody may get stuck. `None` if
/// it is too much.
fn interpreted(code: &Code) -> Option<(BTreeSet<Vec<Seen>>, bool)> {
    let successors = |state: &State| {
        let threads = 0..code.threads.len();
        threads.filter_map(|me| state.after(code, me)).collect()
    };
    let is_done = |(counter, acts): (&usize, &Vec<(Act, bool)>)| *counter == acts.len();
    let seen = |state: &State| {
        let mut end = state.seen.clone();
        end.push(vec![state.log]);
        end
    };
    try_everything(State::new(code), successors, |state| {
        let mut threads = state.counters.iter().zip(&code.threads);
        threads.all(is_done).then(|| seen(state))
    })
}

/// A panic of a poisoned `Once` is expected thousands of times: no message, and no backtrace.
fn expect_poisoned() {
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<&str>();
        if !text.is_some_and(|text| text.contains("previously been poisoned")) {
            others(panic);
        }
    }));
}

fn compare(seeds: std::ops::Range<u64>) {
    expect_poisoned();
    let (mut compared, mut deadlocks, mut several) = (0, 0, 0);
    for seed in seeds {
        let code = random_code(seed);
        let Some((ends, stuck)) = interpreted(&code) else {
            continue;
        };
        for algorithm in [Algorithm::Optimal, Algorithm::Source] {
            let found = match code.is_loud {
                true => checked::<Loud>(&code, algorithm),
                false => checked::<Mutex<u32>>(&code, algorithm),
            };
            let expected = (!stuck).then(|| ends.clone());
            assert_eq!(found, expected, "seed {seed}, {algorithm:?}: {code:?}");
        }
        compared += 1;
        deadlocks += usize::from(stuck);
        several += usize::from(!stuck && ends.len() > 1);
    }
    eprintln!("{compared} compared, {deadlocks} with deadlocks, {several} with several ends");
    assert!(compared > 0 && deadlocks > 0 && several > 0);
}

#[test]
fn random_ownership_is_seen_as_by_trying_everything() {
    compare(0..100);
}

#[test]
#[ignore = "long: many more random programs"]
fn random_ownership_at_length() {
    compare(1_000..11_000);
}
