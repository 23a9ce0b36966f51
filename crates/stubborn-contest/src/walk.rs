//! Random walks: the cheapest way to a witness.
//!
//! A walk fires enabled transitions at random, every other time one of those that were fired least
//! often, so that it does not stay where most of the steps are. It starts over at a deadlock, or after a
//! number of steps that grows from walk to walk. What it sees is reachable, whatever it misses. The
//! numbers depend on nothing but the net, so that a run can be repeated.

use std::time::{Duration, Instant};

use stubborn_net::NetSystem;
use stubborn_system::{Outcome, Random, Successors, System};

use crate::examiner::Visitor;

/// The first walks have so many steps.
const SHORT: usize = 256;
/// No walk has more steps.
const LONG: usize = 1 << 16;
/// The clock is looked at after so many steps.
const PATIENCE: u32 = 64;

/// Walks until the visitor has seen enough or the time is over. Every state that is seen comes
/// with all its successors.
pub(crate) fn walk(system: &NetSystem, time: Duration, visitor: &mut Visitor<'_>) {
    let started = Instant::now();
    let words = system.layout().words();
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let initial = system.initial_states();
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let mut fired = vec![0u32; system.structure().transitions.len()];
    let mut steps = SHORT;
    let mut patience = 0;
    loop {
        let mut state = initial[..words].to_vec();
        for _ in 0..steps {
            patience += 1;
            if patience == PATIENCE {
                patience = 0;
                if started.elapsed() >= time {
                    return;
                }
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            if !visitor(&state, &successors) {
                return;
            }
            let Some(next) = choose(&successors, &mut fired, &mut random) else {
                break;
            };
            state.copy_from_slice(successors.state(next));
        }
        // A net that stops at once would never look at the clock.
        if started.elapsed() >= time {
            return;
        }
        steps = (steps * 2).min(LONG);
    }
}

/// One of the steps that do not fail.
fn choose(successors: &Successors, fired: &mut [u32], random: &mut Random) -> Option<usize> {
    if successors.is_empty() {
        return None;
    }
    let count = successors.len();
    let first = random.below(count);
    let transition = |number: usize| successors.transitions()[number].index();
    let chosen = match random.below(2) {
        0 => first,
        _ => (0..count)
            .map(|number| (first + number) % count)
            .min_by_key(|number| fired[transition(*number)])?,
    };
    let times = &mut fired[transition(chosen)];
    *times = times.saturating_add(1);
    (successors.outcome(chosen) == Outcome::FINE).then_some(chosen)
}
