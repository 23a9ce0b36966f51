//! Random multi-threaded code under `Check`, beside an interpreter that tries every interleaving: the same
//! ends are seen, and a deadlock is found exactly where there is one.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex as Plain, PoisonError, TryLockError};

use stubborn_dpor::sync::atomic::{AtomicU32, Ordering};
use stubborn_dpor::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use stubborn_dpor::sync::{
    Condvar, LockResult, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use stubborn_dpor::{Algorithm, Check, FailureKind, thread};
use stubborn_system::Random;

use crate::everything;
use everything::try_everything;

/// There are two mutexes, two atomics, and one of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Load(usize),
    Store(usize, u32),
    Add(usize),
    Exchange(usize),
    Lock(usize),
    TryLock(usize),
    /// Looks at what is inside, and changes it, if it is held.
    Touch(usize),
    Unlock(usize),
    Wait(usize),
    NotifyOne,
    NotifyAll,
    Read,
    Write,
    EndReadOrWrite,
    Send,
    Receive,
    TryReceive,
    IsPoisoned(usize),
    ClearPoison(usize),
}

/// What one thread does.
#[derive(Clone, Debug)]
struct Thread {
    acts: Vec<Act>,
    /// Acts inside of a `catch_unwind`, and the one before which there is a panic. Those after it are
    /// done by a destructor while the stack unwinds. Guards taken inside are dropped at the end of it.
    caught: Option<(Range<usize>, usize)>,
}

#[derive(Clone, Debug)]
struct Code {
    threads: Vec<Thread>,
    /// Who receives; the others send.
    receiver: usize,
    /// Room of the channel.
    room: Option<usize>,
}

/// Puts only what fits: locks that are held are not taken again.
fn random_code(seed: u64) -> Code {
    let mut random = Random::new(seed);
    let count = 2 + random.below(2);
    let receiver = random.below(count);
    // Each program is about some of it.
    let topics: Vec<usize> = (0..2).map(|_| random.below(5)).collect();
    let length = if count == 2 { 5 } else { 3 };
    let threads = (0..count)
        .map(|me| {
            let (mut held, mut lock) = (Vec::new(), false);
            let mut acts = Vec::new();
            let end = 1 + random.below(length);
            let caught = random.percent(50).then(|| {
                let start = random.below(end);
                let stop = start + 1 + random.below(end - start);
                (start..stop, start + random.below(stop - start + 1))
            });
            let range = caught.as_ref().map(|(range, _)| range.clone());
            let mut outside = (Vec::new(), false);
            for at in 0..end {
                if range.as_ref().is_some_and(|range| range.start == at) {
                    outside = (held.clone(), lock);
                }
                if range.as_ref().is_some_and(|range| range.end == at) {
                    // What was taken inside is given back.
                    held.retain(|h| outside.0.contains(h));
                    lock &= outside.1;
                }
                let topic = topics[random.below(2)];
                let which = random.below(2);
                acts.push(match (topic, random.below(4)) {
                    (0, 0) => Act::Load(which),
                    (0, 1) => Act::Store(which, me as u32 + 1),
                    (0, 2) => Act::Add(which),
                    (0, _) => Act::Exchange(which),
                    (1 | 2, 0 | 1) if !held.contains(&which) => {
                        held.push(which);
                        match random.percent(30) {
                            true => Act::TryLock(which),
                            false => Act::Lock(which),
                        }
                    }
                    (1, _) if held.contains(&which) => match random.percent(50) {
                        true => Act::Touch(which),
                        false => {
                            held.retain(|h| *h != which);
                            outside.0.retain(|h| *h != which);
                            Act::Unlock(which)
                        }
                    },
                    (1, 2) => Act::IsPoisoned(which),
                    (1, _) => Act::ClearPoison(which),
                    (2, 2) if held.contains(&which) => Act::Wait(which),
                    (2, 3) => Act::NotifyAll,
                    (2, _) => Act::NotifyOne,
                    (3, 0 | 1) if !lock => {
                        lock = true;
                        if random.percent(50) {
                            Act::Read
                        } else {
                            Act::Write
                        }
                    }
                    (3, _) if lock => {
                        (lock, outside.1) = (false, false);
                        Act::EndReadOrWrite
                    }
                    (_, 0) if me == receiver => Act::TryReceive,
                    (_, _) if me == receiver => Act::Receive,
                    _ => Act::Send,
                });
            }
            Thread { acts, caught }
        })
        .collect();
    Code {
        threads,
        receiver,
        room: random.percent(40).then(|| 1 + random.below(2)),
    }
}

/// What a thread has seen.
type Seen = Vec<u32>;

const NO: u32 = 90;
const GONE: u32 = 91;
const POISONED: u32 = 92;

/// What real threads share.
struct Shared {
    atomics: [AtomicU32; 2],
    mutexes: [Mutex<u32>; 2],
    condition: Condvar,
    lock: RwLock<u32>,
}

/// Guards, dropped in this order.
#[derive(Default)]
struct Held<'s> {
    guards: [Option<MutexGuard<'s, u32>>; 2],
    reads: Option<RwLockReadGuard<'s, u32>>,
    writes: Option<RwLockWriteGuard<'s, u32>>,
}

/// A real thread.
struct Runner<'s> {
    me: u32,
    shared: &'s Shared,
    seen: Seen,
    /// Taken inside of a `catch_unwind`.
    inside: Option<Held<'s>>,
    outside: Held<'s>,
    sender: Option<Sender<u32>>,
    receiver: Option<Receiver<u32>>,
}

/// Does something to a thread when it is dropped.
struct Last<'r, 's, F: FnMut(&mut Runner<'s>)>(&'r mut Runner<'s>, F);

impl<'s, F: FnMut(&mut Runner<'s>)> Drop for Last<'_, 's, F> {
    fn drop(&mut self) {
        (self.1)(self.0);
    }
}

impl<'s> Runner<'s> {
    fn run(&mut self, thread: &Thread) {
        let Some((range, panics)) = &thread.caught else {
            return self.all(&thread.acts);
        };
        self.all(&thread.acts[..range.start]);
        let end = catch_unwind(AssertUnwindSafe(|| {
            self.inside = Some(Held::default());
            let last = Last(self, |runner| {
                runner.all(&thread.acts[*panics..range.end]);
                runner.inside = None;
            });
            last.0.all(&thread.acts[range.start..*panics]);
            // Without a message.
            resume_unwind(Box::new(()));
        }));
        assert!(end.is_err());
        self.all(&thread.acts[range.end..]);
    }

    fn all(&mut self, acts: &[Act]) {
        for act in acts {
            self.act(*act);
        }
    }

    /// Where new guards go.
    fn held(&mut self) -> &mut Held<'s> {
        self.inside.as_mut().unwrap_or(&mut self.outside)
    }

    /// Where a mutex is held.
    fn guard(&mut self, mutex: usize) -> &mut Option<MutexGuard<'s, u32>> {
        match &mut self.inside {
            Some(held) if held.guards[mutex].is_some() => &mut held.guards[mutex],
            _ => &mut self.outside.guards[mutex],
        }
    }

    /// A guard, poisoned or not.
    fn taken<G>(&mut self, result: LockResult<G>) -> G {
        result.unwrap_or_else(|poisoned| {
            self.seen.push(POISONED);
            poisoned.into_inner()
        })
    }

    fn act(&mut self, act: Act) {
        let (me, shared, all) = (self.me, self.shared, Ordering::SeqCst);
        match act {
            Act::Load(a) => self.seen.push(shared.atomics[a].load(all)),
            Act::Store(a, value) => shared.atomics[a].store(value, all),
            Act::Add(a) => self.seen.push(shared.atomics[a].fetch_add(1, all)),
            Act::Exchange(a) => {
                let found = shared.atomics[a].compare_exchange(0, me + 5, all, all);
                self.seen.push(found.unwrap_or_else(|other| other + 10));
            }
            Act::Lock(m) => {
                let guard = self.taken(shared.mutexes[m].lock());
                self.held().guards[m] = Some(guard);
            }
            Act::TryLock(m) => {
                let guard = match shared.mutexes[m].try_lock() {
                    Ok(guard) => Some(guard),
                    Err(TryLockError::Poisoned(poisoned)) => Some(self.taken(Err(poisoned))),
                    Err(TryLockError::WouldBlock) => None,
                };
                self.seen.push(u32::from(guard.is_some()));
                self.held().guards[m] = guard;
            }
            Act::Touch(m) => {
                if let Some(value) = self.guard(m) {
                    let before = **value;
                    **value = before * 3 + me + 1;
                    self.seen.push(before);
                }
            }
            Act::Unlock(m) => *self.guard(m) = None,
            Act::Wait(m) => {
                let inside = self.inside.as_ref();
                let is_inside = inside.is_some_and(|held| held.guards[m].is_some());
                if let Some(guard) = self.guard(m).take() {
                    let guard = self.taken(shared.condition.wait(guard));
                    let held = match &mut self.inside {
                        Some(held) if is_inside => held,
                        _ => &mut self.outside,
                    };
                    held.guards[m] = Some(guard);
                }
            }
            Act::NotifyOne => shared.condition.notify_one(),
            Act::NotifyAll => shared.condition.notify_all(),
            Act::Read => {
                let guard = self.taken(shared.lock.read());
                self.seen.push(*guard);
                self.held().reads = Some(guard);
            }
            Act::Write => {
                let mut guard = self.taken(shared.lock.write());
                self.seen.push(*guard);
                *guard = *guard * 3 + me + 1;
                self.held().writes = Some(guard);
            }
            Act::EndReadOrWrite => {
                let inside = self.inside.as_mut();
                let held = inside.filter(|held| held.reads.is_some() || held.writes.is_some());
                let held = held.unwrap_or(&mut self.outside);
                drop((held.reads.take(), held.writes.take()));
            }
            Act::Send => {
                let sent = self.sender.as_ref().map(|s| s.send(me));
                self.seen.push(if sent == Some(Ok(())) { 1 } else { GONE });
            }
            Act::Receive => {
                let found = self.receiver.as_ref().map(Receiver::recv);
                self.seen.push(found.and_then(Result::ok).unwrap_or(GONE));
            }
            Act::TryReceive => {
                let found = self.receiver.as_ref().map(Receiver::try_recv);
                self.seen.push(match found {
                    Some(Ok(value)) => value,
                    Some(Err(TryRecvError::Empty)) => NO,
                    _ => GONE,
                });
            }
            Act::IsPoisoned(m) => {
                let is_poisoned = shared.mutexes[m].is_poisoned();
                self.seen.push(u32::from(is_poisoned));
            }
            Act::ClearPoison(m) => shared.mutexes[m].clear_poison(),
        }
    }
}

fn run_thread(
    me: u32,
    thread: &Thread,
    shared: &Shared,
    sender: Option<Sender<u32>>,
    receiver: Option<Receiver<u32>>,
) -> Seen {
    let mut runner = Runner {
        me,
        shared,
        seen: Vec::new(),
        inside: None,
        outside: Held::default(),
        sender,
        receiver,
    };
    runner.run(thread);
    // What is left is dropped in the order of the fields.
    runner.seen
}

/// What all executions have seen; `None` if one gets stuck.
fn checked(code: &Code, algorithm: Algorithm) -> Option<BTreeSet<Vec<Seen>>> {
    let ends: Arc<Plain<BTreeSet<Vec<Seen>>>> = Arc::default();
    let (place, code) = (Arc::clone(&ends), code.clone());
    let found = Check::new().algorithm(algorithm).run(move || {
        let shared = Arc::new(Shared {
            atomics: [AtomicU32::new(0), AtomicU32::new(0)],
            mutexes: [Mutex::new(0), Mutex::new(0)],
            condition: Condvar::new(),
            lock: RwLock::new(0),
        });
        let (sender, receiver) = match code.room {
            Some(room) => sync_channel(room),
            None => channel(),
        };
        let mut receiver = Some(receiver);
        let ends_of_channel: Vec<_> = (0..code.threads.len())
            .map(|me| match me == code.receiver {
                true => (None, receiver.take()),
                false => (Some(sender.clone()), None),
            })
            .collect();
        drop(sender);
        let threads: Vec<_> = ends_of_channel
            .into_iter()
            .enumerate()
            .map(|(me, (sender, receiver))| {
                let (acts, shared) = (code.threads[me].clone(), Arc::clone(&shared));
                thread::spawn(move || run_thread(me as u32, &acts, &shared, sender, receiver))
            })
            .collect();
        let all = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.insert(all);
    });
    match found {
        Ok(executions) => assert!(executions.complete),
        Err(failure) => {
            assert!(
                matches!(failure.kind, FailureKind::Deadlock(_)),
                "{failure}"
            );
            return None;
        }
    }
    let ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
    Some(ends.clone())
}

/// A step of a thread, as the interpreter takes it.
#[derive(Clone, Copy, Debug)]
struct Step {
    what: What,
    /// Inside of a `catch_unwind`, and after its panic.
    is_inside: bool,
    unwinds: bool,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Act(Act),
    /// Gives back one of the [`THINGS`]: if it was taken inside, or any.
    End(usize),
}

/// What a thread may have at its end: mutexes, the lock, an end of the channel. What it has at the end of a
/// `catch_unwind` is not the last of them.
const THINGS: usize = 4;

fn steps(thread: &Thread) -> Vec<Step> {
    let step = |what, is_inside, unwinds| Step {
        what,
        is_inside,
        unwinds,
    };
    let mut steps = Vec::new();
    for (at, act) in thread.acts.iter().enumerate() {
        let caught = thread.caught.as_ref();
        let caught = caught.filter(|(range, _)| range.contains(&at));
        let unwinds = caught.is_some_and(|(_, panics)| at >= *panics);
        steps.push(step(What::Act(*act), caught.is_some(), unwinds));
        if caught.is_some_and(|(range, _)| at + 1 == range.end) {
            steps.extend((0..THINGS - 1).map(|thing| step(What::End(thing), true, true)));
        }
    }
    steps.extend((0..THINGS).map(|thing| step(What::End(thing), false, false)));
    steps
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    thread: usize,
    /// It was taken inside of a `catch_unwind`, and before its panic.
    is_inside: bool,
    before_panic: bool,
}

impl Holder {
    /// Who holds a lock after something is given back in this step, and whether that poisons it.
    fn give_back(holder: Option<Self>, me: usize, step: Step) -> (Option<Self>, bool) {
        let ends = matches!(step.what, What::End(_));
        match holder {
            Some(it) if it.thread == me && (it.is_inside || !(ends && step.is_inside)) => {
                (None, it.before_panic && step.unwinds)
            }
            other => (other, false),
        }
    }
}

/// A mutex or a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Lock {
    holder: Option<Holder>,
    value: u32,
    is_poisoned: bool,
}

impl Lock {
    fn is_held_by(&self, me: usize) -> bool {
        self.holder.is_some_and(|holder| holder.thread == me)
    }

    fn take(&mut self, holder: Holder, seen: &mut Seen) {
        self.holder = Some(holder);
        seen.extend(self.is_poisoned.then_some(POISONED));
    }

    fn give_back(&mut self, me: usize, step: Step) {
        let (holder, poisons) = Holder::give_back(self.holder, me, step);
        self.holder = holder;
        self.is_poisoned |= poisons;
    }
}

/// A state of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    counters: Vec<usize>,
    seen: Vec<Seen>,
    atomics: [u32; 2],
    mutexes: [Lock; 2],
    /// Who waits for the condition, who was notified, and how each held the mutex.
    waiting: BTreeSet<usize>,
    notified: BTreeSet<usize>,
    held: Vec<Option<Holder>>,
    readers: BTreeSet<Holder>,
    lock: Lock,
    queue: VecDeque<u32>,
    senders: usize,
    receiver_gone: bool,
}

impl State {
    fn new(code: &Code) -> Self {
        let count = code.threads.len();
        Self {
            counters: vec![0; count],
            seen: vec![Vec::new(); count],
            atomics: [0; 2],
            mutexes: [Lock::default(); 2],
            waiting: BTreeSet::new(),
            notified: BTreeSet::new(),
            held: vec![None; count],
            readers: BTreeSet::new(),
            lock: Lock::default(),
            queue: VecDeque::new(),
            senders: count - 1,
            receiver_gone: false,
        }
    }

    fn end_of_lock(&mut self, me: usize, step: Step) {
        self.readers
            .retain(|reader| Holder::give_back(Some(*reader), me, step).0.is_some());
        self.lock.give_back(me, step);
    }

    /// A thread gives back what it has.
    fn end(&mut self, code: &Code, me: usize, thing: usize, step: Step) {
        match thing {
            0 | 1 => self.mutexes[thing].give_back(me, step),
            2 => self.end_of_lock(me, step),
            _ if me == code.receiver => self.receiver_gone = true,
            _ => self.senders -= 1,
        }
    }

    /// What a thread can do.
    fn after(&self, code: &Code, steps: &[Step], me: usize) -> Vec<Self> {
        let counter = self.counters[me];
        let mut next = self.clone();
        next.counters[me] += 1;
        let Some(step) = steps.get(counter).copied() else {
            return Vec::new();
        };
        let act = match step.what {
            What::Act(act) => act,
            What::End(thing) => {
                next.end(code, me, thing, step);
                return vec![next];
            }
        };
        let holder = Holder {
            thread: me,
            is_inside: step.is_inside,
            before_panic: !step.unwinds,
        };
        let who = me as u32;
        let seen = &mut next.seen[me];
        match act {
            Act::Load(a) => seen.push(self.atomics[a]),
            Act::Store(a, value) => next.atomics[a] = value,
            Act::Add(a) => {
                seen.push(self.atomics[a]);
                next.atomics[a] += 1;
            }
            Act::Exchange(a) => match self.atomics[a] {
                0 => {
                    seen.push(0);
                    next.atomics[a] = who + 5;
                }
                other => seen.push(other + 10),
            },
            Act::Lock(m) if self.mutexes[m].holder.is_some() => return Vec::new(),
            Act::Lock(m) => next.mutexes[m].take(holder, seen),
            Act::TryLock(m) if self.mutexes[m].holder.is_some() => seen.push(0),
            Act::TryLock(m) => {
                next.mutexes[m].take(holder, seen);
                seen.push(1);
            }
            Act::Touch(m) if self.mutexes[m].is_held_by(me) => {
                seen.push(self.mutexes[m].value);
                next.mutexes[m].value = self.mutexes[m].value * 3 + who + 1;
            }
            Act::Unlock(m) => next.mutexes[m].give_back(me, step),
            Act::Wait(m) if self.notified.contains(&me) => {
                if self.mutexes[m].holder.is_some() {
                    return Vec::new();
                }
                let held = self.held[me].expect("it was held");
                next.mutexes[m].take(held, seen);
                next.notified.remove(&me);
                next.held[me] = None;
            }
            Act::Wait(_) if self.waiting.contains(&me) => return Vec::new(),
            Act::Wait(m) if self.mutexes[m].is_held_by(me) => {
                next.counters[me] = counter;
                next.held[me] = next.mutexes[m].holder.take();
                next.waiting.insert(me);
            }
            Act::NotifyOne if !self.waiting.is_empty() => {
                let any = self.waiting.iter().map(|one| {
                    let mut next = next.clone();
                    next.waiting.remove(one);
                    next.notified.insert(*one);
                    next
                });
                return any.collect();
            }
            Act::NotifyAll => next.notified.append(&mut next.waiting),
            Act::Touch(_) | Act::Wait(_) | Act::NotifyOne => {}
            Act::Read if self.lock.holder.is_some() => return Vec::new(),
            Act::Read => {
                seen.extend(self.lock.is_poisoned.then_some(POISONED));
                seen.push(self.lock.value);
                next.readers.insert(holder);
            }
            Act::Write if self.lock.holder.is_some() || !self.readers.is_empty() => {
                return Vec::new();
            }
            Act::Write => {
                next.lock.take(holder, seen);
                seen.push(self.lock.value);
                next.lock.value = self.lock.value * 3 + who + 1;
            }
            Act::EndReadOrWrite => next.end_of_lock(me, step),
            Act::Send if self.receiver_gone => seen.push(GONE),
            Act::Send if code.room.is_some_and(|room| self.queue.len() >= room) => {
                return Vec::new();
            }
            Act::Send => {
                seen.push(1);
                next.queue.push_back(who);
            }
            Act::Receive | Act::TryReceive => match next.queue.pop_front() {
                Some(value) => seen.push(value),
                None if self.senders == 0 => seen.push(GONE),
                None if act == Act::TryReceive => seen.push(NO),
                None => return Vec::new(),
            },
            Act::IsPoisoned(m) => seen.push(u32::from(self.mutexes[m].is_poisoned)),
            Act::ClearPoison(m) => next.mutexes[m].is_poisoned = false,
        }
        vec![next]
    }
}

/// The same by trying everything: what is seen at the ends, and whether somebody may get stuck. `None` if
/// it is too much.
fn interpreted(code: &Code) -> Option<(BTreeSet<Vec<Seen>>, bool)> {
    let steps: Vec<Vec<Step>> = code.threads.iter().map(steps).collect();
    let successors = |state: &State| {
        let threads = steps.iter().enumerate();
        threads
            .flat_map(|(me, steps)| state.after(code, steps, me))
            .collect()
    };
    let is_done = |(counter, steps): (&usize, &Vec<Step>)| *counter == steps.len();
    let seen = |state: &State| state.seen.clone();
    try_everything(State::new(code), successors, |state| {
        let mut threads = state.counters.iter().zip(&steps);
        threads.all(is_done).then(|| seen(state))
    })
}

fn compare(seeds: std::ops::Range<u64>) {
    let (mut compared, mut deadlocks, mut several, mut poisoned) = (0, 0, 0, 0);
    for seed in seeds {
        let code = random_code(seed);
        let Some((ends, stuck)) = interpreted(&code) else {
            continue;
        };
        for algorithm in [Algorithm::Optimal, Algorithm::Source] {
            let found = checked(&code, algorithm);
            let expected = (!stuck).then(|| ends.clone());
            assert_eq!(found, expected, "seed {seed}, {algorithm:?}: {code:?}");
        }
        compared += 1;
        deadlocks += usize::from(stuck);
        several += usize::from(!stuck && ends.len() > 1);
        let mut seen = ends.iter().flatten().flatten();
        poisoned += usize::from(!stuck && seen.any(|seen| *seen == POISONED));
    }
    eprintln!(
        "{compared} compared, {deadlocks} with deadlocks, {several} with several ends, {poisoned} with \
         poisoned locks"
    );
    assert!(compared > 0 && deadlocks > 0 && several > 0 && poisoned > 0);
}

#[test]
fn random_code_is_seen_as_by_trying_everything() {
    compare(0..400);
}

#[test]
#[ignore = "long: many more random programs"]
fn random_code_at_length() {
    compare(1_000..21_000);
}
