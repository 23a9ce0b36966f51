//! Steps that block others: locks, and random programs with locks beside brute force.

use std::collections::BTreeSet;
use std::rc::Rc;

use stubborn_dpor::{
    Access, Algorithm, Choice, Counts, ExploreError, ObjectId, Program, Seen, Step, Taken,
    ThreadId, explore, traces,
};
use stubborn_system::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Lock(usize),
    Unlock(usize),
    Write(usize),
    Read(usize),
}

/// Straight programs over locks and variables.
struct Locks {
    code: Vec<Vec<Act>>,
    /// Locks come first.
    locks: usize,
    /// Does not say that locks are touched.
    lies: bool,
}

impl Locks {
    fn variable(&self, at: usize) -> usize {
        self.code.len() + self.locks + at
    }

    fn lock(&self, at: usize) -> usize {
        self.code.len() + at
    }
}

const VARIABLES: usize = 2;

impl Program for Locks {
    /// Program counters, locks (1 if taken), variables.
    type State = Vec<u32>;

    fn threads(&self) -> usize {
        self.code.len()
    }

    fn initial(&self) -> Vec<u32> {
        vec![0; self.code.len() + self.locks + VARIABLES]
    }

    fn choices(&mut self, state: &Vec<u32>, thread: ThreadId) -> Rc<[Choice]> {
        let counter = state[thread.index()];
        match self.code[thread.index()].get(counter as usize) {
            None => [].into(),
            Some(Act::Lock(lock)) if state[self.lock(*lock)] == 1 => [].into(),
            Some(_) => [Choice(counter)].into(),
        }
    }

    fn take(&mut self, state: &Vec<u32>, step: Step) -> Taken<Vec<u32>> {
        let thread = step.thread.index();
        let mut after = state.clone();
        after[thread] += 1;
        let (object, writes) = match self.code[thread][state[thread] as usize] {
            Act::Lock(lock) => {
                after[self.lock(lock)] = 1;
                (lock, true)
            }
            Act::Unlock(lock) => {
                after[self.lock(lock)] = 0;
                (lock, true)
            }
            Act::Write(variable) => {
                let place = self.variable(variable);
                after[place] = after[place] * 7 + thread as u32 + 1;
                (self.locks + variable, true)
            }
            Act::Read(variable) => (self.locks + variable, false),
        };
        let access = Access {
            object: ObjectId(object as u32),
            writes,
        };
        let is_silent = self.lies && object < self.locks;
        Taken {
            state: after,
            accesses: if is_silent { Vec::new() } else { vec![access] },
            feeds: Vec::new(),
        }
    }

    fn words<'s>(&self, state: &'s Vec<u32>) -> &'s [u32] {
        state
    }
}

fn run(
    program: &mut Locks,
    algorithm: Algorithm,
) -> Result<(Counts, BTreeSet<Vec<u32>>), ExploreError> {
    let mut ends = BTreeSet::new();
    let counts = explore(program, algorithm, &mut |seen| {
        if let Seen::End(state) = seen {
            ends.insert(state.clone());
        }
        true
    })?;
    Ok((counts, ends))
}

#[test]
fn a_mutex_with_two_threads_has_two_executions() {
    for threads in 2..5 {
        let code = vec![vec![Act::Lock(0), Act::Unlock(0)]; threads];
        let mut program = Locks {
            code,
            locks: 1,
            lies: false,
        };
        let orders = (1..=threads as u64).product::<u64>();
        for algorithm in [Algorithm::Optimal, Algorithm::Source] {
            let (counts, _) = run(&mut program, algorithm).expect("no cycles");
            assert!(counts.complete);
            assert_eq!(counts.executions, orders, "{algorithm:?}");
        }
    }
}

#[test]
fn deadlocks_are_found() {
    let mut program = Locks {
        code: vec![
            vec![Act::Lock(0), Act::Lock(1), Act::Unlock(1), Act::Unlock(0)],
            vec![Act::Lock(1), Act::Lock(0), Act::Unlock(0), Act::Unlock(1)],
        ],
        locks: 2,
        lies: false,
    };
    for algorithm in [Algorithm::Optimal, Algorithm::Source] {
        let (counts, ends) = run(&mut program, algorithm).expect("no cycles");
        // One goes first, or the other does, or both get stuck.
        assert_eq!(counts.executions, 3);
        assert!(ends.contains(&vec![1, 1, 1, 1, 0, 0]));
    }
}

#[test]
fn undeclared_blocking_is_an_error() {
    let mut program = Locks {
        code: vec![vec![Act::Lock(0), Act::Unlock(0)]; 2],
        locks: 1,
        lies: true,
    };
    let refused = run(&mut program, Algorithm::Optimal);
    assert!(matches!(refused, Err(ExploreError::Disables { .. })));
}

/// Each thread enters and leaves some locks in any order, and does something in between.
fn random(seed: u64) -> Locks {
    let mut random = Random::new(seed);
    let locks = 1 + random.below(2);
    let threads = 2 + random.below(2);
    let code = (0..threads)
        .map(|_| {
            let mut held = Vec::new();
            let mut acts = Vec::new();
            for _ in 0..2 + random.below(if threads == 2 { 5 } else { 3 }) {
                match random.below(4) {
                    0 if held.len() < locks => {
                        let free = (0..locks).filter(|l| !held.contains(l));
                        let free: Vec<usize> = free.collect();
                        let lock = free[random.below(free.len())];
                        held.push(lock);
                        acts.push(Act::Lock(lock));
                    }
                    1 if !held.is_empty() => {
                        let lock = held.remove(random.below(held.len()));
                        acts.push(Act::Unlock(lock));
                    }
                    2 => acts.push(Act::Read(random.below(VARIABLES))),
                    _ => acts.push(Act::Write(random.below(VARIABLES))),
                }
            }
            // Some forget to unlock.
            if random.percent(80) {
                acts.extend(held.into_iter().map(Act::Unlock));
            }
            acts
        })
        .collect();
    Locks {
        code,
        locks,
        lies: false,
    }
}

/// Ends of all executions, by brute force.
fn all_ends(program: &mut Locks) -> BTreeSet<Vec<u32>> {
    let (mut seen, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![program.initial()];
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut is_end = true;
        for thread in (0..program.threads()).map(|t| ThreadId(t as u16)) {
            for choice in program.choices(&state, thread).iter() {
                is_end = false;
                let step = Step {
                    thread,
                    choice: *choice,
                };
                open.push(program.take(&state, step).state);
            }
        }
        if is_end {
            ends.insert(state);
        }
    }
    ends
}

fn compare(seeds: std::ops::Range<u64>) {
    let (mut compared, mut deadlocks) = (0, 0);
    for seed in seeds {
        let mut program = random(seed);
        let Some(traces) = traces::count(&mut program, 20_000) else {
            continue;
        };
        let ends = all_ends(&mut program);
        for algorithm in [Algorithm::Optimal, Algorithm::Source] {
            let (counts, found) = run(&mut program, algorithm).expect("no cycles");
            assert_eq!(found, ends, "seed {seed}, {algorithm:?}");
            assert_eq!(counts.executions, traces, "seed {seed}, {algorithm:?}");
            if algorithm == Algorithm::Optimal {
                assert_eq!(counts.given_up, 0, "seed {seed}");
            }
        }
        compared += 1;
        let length = |t: usize| program.code[t].len() as u32;
        let is_stuck = |end: &Vec<u32>| (0..program.code.len()).any(|t| end[t] < length(t));
        deadlocks += usize::from(ends.iter().any(is_stuck));
    }
    eprintln!("{compared} compared, {deadlocks} with deadlocks");
    assert!(compared > 0 && deadlocks > 0);
}

#[test]
fn random_programs_with_locks_have_every_trace_explored_once() {
    compare(0..500);
}

#[test]
#[ignore = "long: many more random programs"]
fn random_programs_with_locks_at_length() {
    compare(10_000..60_000);
}
