//! Places without a bound.
//!
//! If a run leads from a marking to a larger one, it can be run again from there, and again: the
//! places that have gained get any number of tokens (Karp and Miller, "Parallel program schemata",
//! 1969). More tokens must not disable anything, so places that inhibit have as many as before. Such runs are looked for along random walks. What is found is certain, since every step
//! was taken; that nothing is found says nothing.

use std::time::{Duration, Instant};

use stubborn_net::{NetSystem, PlaceId};
use stubborn_system::{Outcome, Random, Successors, System};

/// Steps of the first walk, and of the longest.
const LENGTHS: (usize, usize) = (64, 1 << 14);

/// For each place, whether it is known to have no bound; `enough` may say that this will do.
pub(crate) fn unbounded(
    system: &NetSystem,
    time: Duration,
    enough: &mut dyn FnMut(&[bool]) -> bool,
) -> Vec<bool> {
    let started = Instant::now();
    let net = system.net();
    let places: Vec<PlaceId> = net.places().collect();
    let inhibits: Vec<bool> = places
        .iter()
        .map(|p| !net.inhibited(*p).is_empty())
        .collect();
    let mut found = vec![false; places.len()];
    let words = system.layout().words();
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let initial = system.initial_states();
    let tokens =
        |state: &[u32]| -> Vec<u64> { places.iter().map(|p| system.tokens(state, *p)).collect() };
    let mut random = Random::new(0x517c_c1b7_2722_0a95);
    let mut length = LENGTHS.0;
    loop {
        let mut state = initial[..words].to_vec();
        // Markings to come back to: where the walk began, and one that follows it.
        let first = tokens(&state);
        let mut anchor = first.clone();
        for step in 1..=length {
            if started.elapsed() >= time {
                return found;
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            if successors.is_empty() {
                break;
            }
            let chosen = random.below(successors.len());
            if successors.outcome(chosen) != Outcome::FINE {
                break;
            }
            state.copy_from_slice(successors.state(chosen));
            let now = tokens(&state);
            let mut gained = false;
            for from in [&first, &anchor] {
                let mut pairs = now.iter().zip(from).zip(&inhibits);
                if pairs.all(|((now, from), inhibits)| now == from || now > from && !inhibits) {
                    for ((now, from), found) in now.iter().zip(from).zip(&mut found) {
                        gained |= now > from && !*found;
                        *found |= now > from;
                    }
                }
            }
            if gained && enough(&found) {
                return found;
            }
            if step.is_power_of_two() {
                anchor = now;
            }
        }
        if started.elapsed() >= time {
            return found;
        }
        length = (length * 2).min(LENGTHS.1);
    }
}

#[cfg(test)]
mod tests {
    use stubborn_net::NetBuilder;

    use super::*;

    #[test]
    fn what_can_be_pumped_is_unbounded_and_nothing_else() {
        let mut builder = NetBuilder::new("pump");
        let [a, b, out, stock, used] = [("a", 1), ("b", 0), ("out", 0), ("stock", 9), ("used", 0)]
            .map(|(n, m)| builder.place(n, m));
        // Round and round, and something comes out; the stock is used up.
        for (name, from, to) in [
            ("there", vec![a], vec![b]),
            ("back", vec![b], vec![a, out]),
            ("take", vec![stock], vec![used]),
        ] {
            let t = builder.transition(name);
            from.iter().for_each(|p| builder.input(*p, t, 1));
            to.iter().for_each(|p| builder.output(t, *p, 1));
        }
        let system = NetSystem::new(builder.build().unwrap()).unwrap();
        let found = unbounded(&system, Duration::from_millis(300), &mut |found| {
            found[out.index()]
        });
        let expected = [a, b, out, stock, used].map(|p| p == out);
        assert_eq!(found, expected);
    }

    /// What fills a place until that inhibits it.
    #[test]
    fn what_inhibits_itself_is_not_pumped() {
        let mut builder = NetBuilder::new("full");
        let [p, q] = ["p", "q"].map(|name| builder.place(name, 0));
        let t = builder.transition("t");
        builder.output(t, p, 1);
        builder.inhibitor(p, t, 3);
        let u = builder.transition("u");
        builder.output(u, q, 1);
        let system = NetSystem::new(builder.build().unwrap()).unwrap();
        let found = unbounded(&system, Duration::from_millis(100), &mut |_| false);
        assert_eq!(found, [p, q].map(|place| place == q));
    }
}
