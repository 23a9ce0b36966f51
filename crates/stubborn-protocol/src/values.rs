//! Values of properties, remembered.
//!
//! Properties are Rust closures, and every state is asked for every one of them. What a property
//! depends on is known: words of the state, or what processes *show* of their local states. The latter is
//! little most of the time, so that a table has room for every combination.

use rapidhash::RapidHashMap;

use crate::handler::calmly;
use crate::model::Inner;
use crate::property::{Property, Shows};
use crate::value::{Boxed, Pid};

/// Remembers values of a property.
pub(crate) struct Values {
    /// `None` where combinations are too many, or never were few.
    shown: Option<Combinations>,
    others: ValueCache,
}

impl Values {
    pub(crate) fn new(inner: &Inner, property: &Property) -> Self {
        let locals = property.processes.iter().map(|p| 2 * p.index());
        let record = inner.record_word.filter(|_| property.history);
        let shown = property.shows.as_ref().filter(|_| !property.history);
        Self {
            shown: shown.map(|_| Combinations::new(&property.processes)),
            others: ValueCache::new(locals.chain(record).collect()),
        }
    }

    /// The value in a state: remembered, or computed.
    #[inline]
    pub(crate) fn get(
        &mut self,
        inner: &Inner,
        property: &Property,
        state: &[u32],
        compute: impl FnOnce() -> bool,
    ) -> bool {
        let (Some(shown), Some(shows)) = (&mut self.shown, &property.shows) else {
            return self.others.get(state, compute);
        };
        let place = shown.place(state);
        match place.or_else(|| shown.learn(inner, shows, state)) {
            Some(place) => match shown.table[place] {
                0 => {
                    let holds = compute();
                    shown.table[place] = 1 + u8::from(holds);
                    holds
                }
                value => value == 2,
            },
            None => {
                self.shown = None;
                self.others.get(state, compute)
            }
        }
    }
}

/// What is shown by all processes together is at most so many bits.
const MOST_BITS: u32 = 20;

/// Local states whose numbers are larger are not remembered one by one.
const MOST_LOCALS: usize = 1 << 18;

/// A place for each combination of what processes show.
struct Combinations {
    parts: Vec<Part>,
    /// 0: not known, 1: it does not hold, 2: it does.
    table: Vec<u8>,
}

/// What one process shows.
struct Part {
    process: Pid,
    /// By number of the local state, the number of what it shows plus one; 0 if nobody has asked.
    numbers: Vec<u32>,
    known: RapidHashMap<Boxed, u32>,
    /// Where its bits are in the number of a place, and how many.
    shift: u32,
    bits: u32,
}

impl Combinations {
    fn new(processes: &[Pid]) -> Self {
        let mut processes = processes.to_vec();
        processes.sort_unstable();
        processes.dedup();
        let part = |process: Pid| Part {
            process,
            numbers: Vec::new(),
            known: RapidHashMap::default(),
            shift: 0,
            bits: 0,
        };
        Self {
            parts: processes.into_iter().map(part).collect(),
            table: vec![0],
        }
    }

    /// The place of a state, if everything in it was shown before.
    #[inline]
    fn place(&self, state: &[u32]) -> Option<usize> {
        let mut place = 0;
        for part in &self.parts {
            let local = state[2 * part.process.index()] as usize;
            let number = part.numbers.get(local)?.checked_sub(1)?;
            place |= (number as usize) << part.shift;
        }
        Some(place)
    }

    /// The same, for what is shown for the first time; `None` if that becomes too much, or if what the
    /// user wrote panics.
    #[cold]
    fn learn(&mut self, inner: &Inner, shows: &Shows, state: &[u32]) -> Option<usize> {
        let mut wider = false;
        for part in &mut self.parts {
            let local = state[2 * part.process.index()];
            let at = local as usize;
            if at >= MOST_LOCALS {
                return None;
            }
            if part.numbers.len() <= at {
                part.numbers.resize(at + 1, 0);
            }
            if part.numbers[at] == 0 {
                let value = &inner.locals.get(local).state;
                let shown = calmly(|| shows(part.process, (*value.0).as_any())).ok()?;
                let next = part.known.len() as u32;
                let number = *part.known.entry(shown).or_insert(next);
                part.numbers[at] = number + 1;
                let bits = u32::BITS - number.leading_zeros();
                wider |= bits > part.bits;
                part.bits = part.bits.max(bits);
            }
        }
        if wider {
            let mut shift = 0;
            for part in &mut self.parts {
                part.shift = shift;
                shift += part.bits;
            }
            if shift > MOST_BITS {
                return None;
            }
            self.table = vec![0; 1 << shift];
        }
        self.place(state)
    }
}

/// Remembers values of a predicate by the words that it depends on; a newer value takes the
/// place of an older one.
struct ValueCache {
    words: Vec<usize>,
    /// For each place the words, and the value plus one (0: nothing).
    entries: Vec<u32>,
}

const CACHE_PLACES: usize = 1 << 12;

impl ValueCache {
    fn new(words: Vec<usize>) -> Self {
        Self {
            entries: vec![0; CACHE_PLACES * (words.len() + 1)],
            words,
        }
    }

    #[inline]
    fn get(&mut self, state: &[u32], compute: impl FnOnce() -> bool) -> bool {
        let width = self.words.len() + 1;
        let hash = self.words.iter().fold(0_u64, |hash, word| {
            (hash ^ u64::from(state[*word]))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(23)
        });
        let place = (hash >> 40) as usize % CACHE_PLACES;
        let entry = &mut self.entries[place * width..][..width];
        let (value, key) = (entry[width - 1], &entry[..width - 1]);
        let same = key.iter().zip(&self.words).all(|(k, w)| *k == state[*w]);
        if value != 0 && same {
            return value == 2;
        }
        let holds = compute();
        for (slot, word) in entry.iter_mut().zip(&self.words) {
            *slot = state[*word];
        }
        entry[width - 1] = 1 + u32::from(holds);
        holds
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use stubborn_system::{LabelId, System};

    use crate::Protocol;

    /// Values are right however many there are, and asked for once for each combination that is shown.
    #[test]
    fn values_are_remembered() {
        for shown in [2_u32, 5, 40_000] {
            let asked = Arc::new(AtomicUsize::new(0));
            let count = asked.clone();
            let mut p = Protocol::<()>::new("counters");
            let counters = p.processes("counter", 2, 0_u32);
            for counter in &counters {
                p.action(*counter, "counts").then(|n, _| *n += 1);
            }
            p.invariant_over(
                "few",
                &counters,
                move |n| *n % shown,
                move |all| {
                    count.fetch_add(1, Ordering::Relaxed);
                    all[0] + all[1] != 3
                },
            );
            let model = p.build().expect("a model");
            let mut executor = model.executor();
            let label: LabelId = model.structure().properties[0].violated_by;
            let numbers: Vec<u32> = (0..3_000_u32)
                .map(|n| {
                    model.core.inner.locals.intern(crate::value::Local {
                        state: crate::value::Boxed::new(n),
                        timers: 0,
                        crashed: false,
                    })
                })
                .collect();
            let mut state = model.initial_states();
            for a in 0..60 {
                for b in 0..50_u32 {
                    let b = 53 * b;
                    state[0] = numbers[a as usize];
                    state[2] = numbers[b as usize];
                    let violated = executor.label(&state, label);
                    assert_eq!(violated, a % shown + b % shown == 3, "{a} {b} {shown}");
                }
            }
            let most = (shown * shown).min(3_000) as usize;
            let asked = asked.load(Ordering::Relaxed);
            // Tables that become wider are empty again.
            assert!(asked <= 3 * most + 20, "{asked} of {most}");
        }
    }
}
