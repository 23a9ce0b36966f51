//! Random multi-threaded code under `Check`, beside an interpreter that tries every interleaving: the same
//! ends are seen, and a deadlock is found exactly where there is one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex as Plain, PoisonError};

use stubborn_dpor::sync::atomic::{AtomicU32, Ordering};
use stubborn_dpor::sync::mpsc::{Receiver, Sender, TryRecvError, channel, sync_channel};
use stubborn_dpor::sync::{Condvar, Mutex, MutexGuard, RwLock};
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
}

#[derive(Clone, Debug)]
struct Code {
    threads: Vec<Vec<Act>>,
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
            for _ in 0..1 + random.below(length) {
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
                            Act::Unlock(which)
                        }
                    },
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
                        lock = false;
                        Act::EndReadOrWrite
                    }
                    (_, 0) if me == receiver => Act::TryReceive,
                    (_, _) if me == receiver => Act::Receive,
                    _ => Act::Send,
                });
            }
            acts
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

/// What real threads share.
struct Shared {
    atomics: [AtomicU32; 2],
    mutexes: [Mutex<u32>; 2],
    condition: Condvar,
    lock: RwLock<u32>,
}

fn run_thread(
    me: u32,
    acts: &[Act],
    shared: &Shared,
    sender: Option<Sender<u32>>,
    receiver: Option<Receiver<u32>>,
) -> Seen {
    let mut seen = Vec::new();
    let mut guards: [Option<MutexGuard<'_, u32>>; 2] = [None, None];
    let (mut reads, mut writes) = (None, None);
    let all = Ordering::SeqCst;
    for act in acts {
        match *act {
            Act::Load(a) => seen.push(shared.atomics[a].load(all)),
            Act::Store(a, value) => shared.atomics[a].store(value, all),
            Act::Add(a) => seen.push(shared.atomics[a].fetch_add(1, all)),
            Act::Exchange(a) => {
                let found = shared.atomics[a].compare_exchange(0, me + 5, all, all);
                seen.push(found.unwrap_or_else(|other| other + 10));
            }
            Act::Lock(m) => guards[m] = Some(shared.mutexes[m].lock().unwrap()),
            Act::TryLock(m) => {
                guards[m] = shared.mutexes[m].try_lock().ok();
                seen.push(u32::from(guards[m].is_some()));
            }
            Act::Touch(m) => {
                if let Some(value) = &mut guards[m] {
                    seen.push(**value);
                    **value = **value * 3 + me + 1;
                }
            }
            Act::Unlock(m) => guards[m] = None,
            Act::Wait(m) => {
                if let Some(guard) = guards[m].take() {
                    guards[m] = Some(shared.condition.wait(guard).unwrap());
                }
            }
            Act::NotifyOne => shared.condition.notify_one(),
            Act::NotifyAll => shared.condition.notify_all(),
            Act::Read => {
                let guard = shared.lock.read().unwrap();
                seen.push(*guard);
                reads = Some(guard);
            }
            Act::Write => {
                let mut guard = shared.lock.write().unwrap();
                seen.push(*guard);
                *guard = *guard * 3 + me + 1;
                writes = Some(guard);
            }
            Act::EndReadOrWrite => drop((reads.take(), writes.take())),
            Act::Send => {
                let sent = sender.as_ref().map(|s| s.send(me));
                seen.push(if sent == Some(Ok(())) { 1 } else { GONE });
            }
            Act::Receive => {
                let found = receiver.as_ref().map(Receiver::recv);
                seen.push(found.and_then(Result::ok).unwrap_or(GONE));
            }
            Act::TryReceive => seen.push(match receiver.as_ref().map(Receiver::try_recv) {
                Some(Ok(value)) => value,
                Some(Err(TryRecvError::Empty)) => NO,
                _ => GONE,
            }),
        }
    }
    let [first, second] = guards;
    drop(first);
    drop(second);
    drop((reads, writes));
    drop(sender);
    drop(receiver);
    seen
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

/// A state of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    counters: Vec<usize>,
    seen: Vec<Seen>,
    atomics: [u32; 2],
    /// Who holds each, and what is inside.
    mutexes: [(Option<usize>, u32); 2],
    /// Who waits for the condition, and who was notified.
    waiting: BTreeSet<usize>,
    notified: BTreeSet<usize>,
    readers: BTreeSet<usize>,
    writer: Option<usize>,
    inside: u32,
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
            mutexes: [(None, 0); 2],
            waiting: BTreeSet::new(),
            notified: BTreeSet::new(),
            readers: BTreeSet::new(),
            writer: None,
            inside: 0,
            queue: VecDeque::new(),
            senders: count - 1,
            receiver_gone: false,
        }
    }

    /// At its end a thread gives back what it has, one thing after the other.
    fn end(&mut self, code: &Code, me: usize, thing: usize) {
        match thing {
            0 | 1 => {
                let mutex = &mut self.mutexes[thing];
                mutex.0 = mutex.0.filter(|holder| *holder != me);
            }
            2 => {
                self.readers.remove(&me);
                self.writer = self.writer.filter(|writer| *writer != me);
            }
            _ if me == code.receiver => self.receiver_gone = true,
            _ => self.senders -= 1,
        }
    }

    /// What a thread can do.
    fn after(&self, code: &Code, me: usize) -> Vec<Self> {
        let acts = &code.threads[me];
        let counter = self.counters[me];
        let mut next = self.clone();
        next.counters[me] += 1;
        let Some(act) = acts.get(counter) else {
            let thing = counter - acts.len();
            if thing == THINGS {
                return Vec::new();
            }
            next.end(code, me, thing);
            return vec![next];
        };
        let who = me as u32;
        let seen = &mut next.seen[me];
        match *act {
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
            Act::Lock(m) if self.mutexes[m].0.is_some() => return Vec::new(),
            Act::Lock(m) => next.mutexes[m].0 = Some(me),
            Act::TryLock(m) => {
                seen.push(u32::from(self.mutexes[m].0.is_none()));
                next.mutexes[m].0 = Some(self.mutexes[m].0.unwrap_or(me));
            }
            Act::Touch(m) if self.mutexes[m].0 == Some(me) => {
                seen.push(self.mutexes[m].1);
                next.mutexes[m].1 = self.mutexes[m].1 * 3 + who + 1;
            }
            Act::Unlock(m) if self.mutexes[m].0 == Some(me) => next.mutexes[m].0 = None,
            Act::Wait(m) if self.notified.contains(&me) => {
                if self.mutexes[m].0.is_some() {
                    return Vec::new();
                }
                next.mutexes[m].0 = Some(me);
                next.notified.remove(&me);
            }
            Act::Wait(_) if self.waiting.contains(&me) => return Vec::new(),
            Act::Wait(m) if self.mutexes[m].0 == Some(me) => {
                next.counters[me] = counter;
                next.mutexes[m].0 = None;
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
            Act::Touch(_) | Act::Unlock(_) | Act::Wait(_) | Act::NotifyOne => {}
            Act::Read if self.writer.is_some() => return Vec::new(),
            Act::Read => {
                seen.push(self.inside);
                next.readers.insert(me);
            }
            Act::Write if self.writer.is_some() || !self.readers.is_empty() => return Vec::new(),
            Act::Write => {
                seen.push(self.inside);
                next.inside = self.inside * 3 + who + 1;
                next.writer = Some(me);
            }
            Act::EndReadOrWrite => {
                next.readers.remove(&me);
                next.writer = self.writer.filter(|writer| *writer != me);
            }
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
                None if *act == Act::TryReceive => seen.push(NO),
                None => return Vec::new(),
            },
        }
        vec![next]
    }
}

/// What a thread may have at its end: mutexes, the lock, an end of the channel.
const THINGS: usize = 4;

/// The same by trying everything: what is seen at the ends, and whether somebody may get stuck. `None` if
/// it is too much.
fn interpreted(code: &Code) -> Option<(BTreeSet<Vec<Seen>>, bool)> {
    let successors = |state: &State| {
        let threads = 0..code.threads.len();
        threads.flat_map(|me| state.after(code, me)).collect()
    };
    let is_done = |(counter, acts): (&usize, &Vec<Act>)| *counter == acts.len() + THINGS;
    let seen = |state: &State| state.seen.clone();
    try_everything(State::new(code), successors, |state| {
        let mut threads = state.counters.iter().zip(&code.threads);
        threads.all(is_done).then(|| seen(state))
    })
}

fn compare(seeds: std::ops::Range<u64>) {
    let (mut compared, mut deadlocks, mut several) = (0, 0, 0);
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
    }
    eprintln!("{compared} compared, {deadlocks} with deadlocks, {several} with several ends");
    assert!(compared > 0 && deadlocks > 0 && several > 0);
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
