//! Which bits decide about owners: chosen by what random walks meet.
//!
//! Two things are estimated for a choice of bits. How many steps change one of them: of those, all but one
//! in n lead to another process. And how probable it is that they are the same in two states equally far
//! from the beginning: if classes of such states are given to n processes by chance, the share of a process
//! deviates by √((n - 1) p) of itself, where p is that probability. (It is asked for states of one depth,
//! since processes wait for each other after every level: something that all states of a level have in
//! common may not decide.) The choice is greedy: what brings the most for what it costs, until shares
//! are even enough.

use stubborn_system::{Expander, Random};

use super::{Part, spread, whole};
use crate::config::Search;

/// Walks, and steps of each.
const WALKS: usize = 96;
const STEPS: usize = 128;
/// Of so many steps of a walk, one is recorded.
const EVERY: usize = 8;
/// Words of all that is recorded, at most.
const MOST_WORDS: usize = 1 << 20;
/// Choices of bits of one field that are considered together, at most.
const MOST_PARTS: usize = 40;
/// By how much of itself the share of a process may deviate.
const DEVIATION: f64 = 0.1;
/// If more steps than these change what decides, all words do, which makes shares even.
const WORTH_IT: f64 = 0.8;
/// Parts of a step that count as free.
const NOTHING: f64 = 0.002;

/// States and steps.
pub(super) struct Sample {
    width: usize,
    /// Bits that belong together: those of a field, with or without its lowest ones.
    fields: Vec<Part>,
    /// One behind the other.
    states: Vec<u32>,
    /// How far each of them is from the beginning.
    depths: Vec<u32>,
    /// What steps change: the bits, one behind the other.
    steps: Vec<u32>,
}

impl Sample {
    /// Some walks; the same each time.
    pub(super) fn new(search: &Search<'_>) -> Option<Self> {
        let layout = search.system.layout();
        let fields = layout.fields().iter().filter(|field| field.bits > 0);
        let mut sample = Self {
            width: layout.words(),
            fields: fields
                .map(|field| Part {
                    word: field.word as usize,
                    mask: field.low_mask() << field.shift,
                })
                .collect(),
            states: Vec::new(),
            depths: Vec::new(),
            steps: Vec::new(),
        };
        let initial = search.system.initial_states();
        let mut expander = Expander::new(search.system, search.reduction);
        let mut random = Random::new(1);
        for walk in 0..WALKS {
            sample.walk(walk, &initial, &mut expander, &mut random)?;
        }
        Some(sample)
    }

    fn walk(
        &mut self,
        walk: usize,
        initial: &[u32],
        expander: &mut Expander<'_>,
        random: &mut Random,
    ) -> Option<()> {
        let begin = |random: &mut Random| {
            let at = random.below((initial.len() / self.width).max(1));
            initial
                .get(at * self.width..)?
                .get(..self.width)
                .map(<[u32]>::to_vec)
        };
        let mut state = begin(random)?;
        let mut depth = 0;
        // Not all are recorded at the same depths.
        for step in walk % EVERY..STEPS + walk % EVERY {
            expander.compute(&state).ok()?;
            let leaves_out = expander.choose(&state);
            let successors = expander.successors();
            let kept: Vec<usize> = (0..successors.len())
                .filter(|at| !leaves_out || expander.keeps(successors.transitions()[*at]))
                .collect();
            if step % EVERY == 0 && self.steps.len() < MOST_WORDS {
                self.states.extend_from_slice(&state);
                self.depths.push((depth / EVERY) as u32);
                for at in &kept {
                    let after = successors.state(*at);
                    self.steps
                        .extend(state.iter().zip(after).map(|(a, b)| a ^ b));
                }
            }
            match kept.is_empty() {
                true => {
                    state = begin(random)?;
                    depth = 0;
                }
                false => {
                    let next = successors.state(kept[random.below(kept.len())]);
                    state.copy_from_slice(next);
                    depth += 1;
                }
            }
        }
        Some(())
    }

    /// The bits that decide among so many processes; `None` if all should.
    pub(super) fn parts_for(&self, size: usize) -> Option<Vec<Part>> {
        let most = DEVIATION * DEVIATION / (size - 1) as f64;
        let everything = self.sameness(&self.classes(&whole(self.width)));
        let candidates = self.candidates(everything);
        let mut chosen: Vec<&Candidate> = Vec::new();
        let mut classes = vec![0; self.depths.len()];
        let mut changes = BitRow::new(self.step_count());
        let mut same = 1.0_f64;
        let mut best: Option<(f64, Vec<&Candidate>)> = None;
        while same > most {
            let mut next: Option<(f64, f64, &Candidate)> = None;
            for candidate in &candidates {
                let cost = changes.with(&candidate.changes) - changes.share();
                let both = combined(&classes, &candidate.classes);
                let is_same = self.sameness(&both) - everything;
                if is_same >= same {
                    continue;
                }
                if is_same <= most {
                    let whole = changes.share() + cost;
                    if best.as_ref().is_none_or(|(cost, _)| whole < *cost) {
                        let all = chosen.iter().copied().chain([candidate]);
                        best = Some((whole, all.collect()));
                    }
                }
                let gain = (same / is_same.max(most / 2.0)).ln() / (cost + NOTHING);
                if next.as_ref().is_none_or(|(most, ..)| gain > *most) {
                    next = Some((gain, is_same, candidate));
                }
            }
            let (_, is_same, candidate) = next?;
            same = is_same;
            classes = combined(&classes, &candidate.classes);
            changes.add(&candidate.changes);
            chosen.push(candidate);
        }
        let (share, chosen) = best?;
        let parts = chosen.into_iter().map(|candidate| candidate.part);
        (share <= WORTH_IT).then(|| parts.collect())
    }

    /// Bits that are worth a look.
    fn candidates(&self, everything: f64) -> Vec<Candidate> {
        let mut varying = vec![0; self.width];
        for state in self.states.chunks_exact(self.width) {
            for (varying, (word, first)) in varying.iter_mut().zip(state.iter().zip(&self.states)) {
                *varying |= word ^ first;
            }
        }
        let mut all = Vec::new();
        for field in &self.fields {
            // Without more and more of the lowest bits: numbers that are near to each other stay together.
            let mut mask = field.mask & varying[field.word];
            while mask != 0 {
                let part = Part { mask, ..*field };
                let candidate = Candidate {
                    part,
                    classes: self.classes(&[part]),
                    changes: self.changes(part),
                };
                let same = (self.sameness(&candidate.classes) - everything).max(NOTHING);
                all.push((
                    -same.ln() / (candidate.changes.share() + NOTHING),
                    candidate,
                ));
                mask &= mask - 1;
            }
        }
        all.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        all.truncate(MOST_PARTS);
        all.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn step_count(&self) -> usize {
        self.steps.len() / self.width
    }

    /// A number for each state: the same where the bits are.
    fn classes(&self, parts: &[Part]) -> Vec<u64> {
        let class = |state: &[u32]| {
            parts.iter().fold(0, |class, part| {
                let word = u64::from(state[part.word] & part.mask) << 32;
                class
                    ^ spread(word | part.word as u64 | u64::from(part.mask.trailing_zeros()) << 24)
            })
        };
        self.states.chunks_exact(self.width).map(class).collect()
    }

    /// Steps that change some of the bits.
    fn changes(&self, part: Part) -> BitRow {
        let mut row = BitRow::new(self.step_count());
        for (at, step) in self.steps.chunks_exact(self.width).enumerate() {
            row.bits[at / 64] |= u64::from(step[part.word] & part.mask != 0) << (at % 64);
        }
        row
    }

    /// How probable it is that two states of one depth are in the same class.
    fn sameness(&self, classes: &[u64]) -> f64 {
        let places = (2 * classes.len()).next_power_of_two();
        let mut counts: Vec<(u32, u32)> = vec![(0, 0); places];
        let (mut same, mut sizes) = (0_u64, Vec::new());
        for (class, depth) in classes.iter().zip(&self.depths) {
            let depth = *depth as usize;
            if sizes.len() <= depth {
                sizes.resize(depth + 1, 0_u64);
            }
            sizes[depth] += 1;
            let key = spread(class ^ spread(depth as u64 + 1));
            let mut at = key as usize % places;
            // (Half of it is enough for an estimate.)
            let key = (key >> 32) as u32;
            while counts[at].1 > 0 && counts[at].0 != key {
                at = (at + 1) % places;
            }
            same += u64::from(counts[at].1);
            counts[at] = (key, counts[at].1 + 1);
        }
        let pairs: u64 = sizes
            .iter()
            .map(|size| size * size.saturating_sub(1) / 2)
            .sum();
        same as f64 / pairs.max(1) as f64
    }
}

struct Candidate {
    part: Part,
    classes: Vec<u64>,
    changes: BitRow,
}

/// Classes of states that are the same in both.
fn combined(one: &[u64], other: &[u64]) -> Vec<u64> {
    let both = one.iter().zip(other);
    both.map(|(one, other)| one ^ other).collect()
}

/// A bit for each step.
struct BitRow {
    bits: Vec<u64>,
    len: usize,
}

impl BitRow {
    fn new(len: usize) -> Self {
        let bits = vec![0; len.div_ceil(64)];
        Self { bits, len }
    }

    fn share_of(&self, ones: u32) -> f64 {
        f64::from(ones) / self.len.max(1) as f64
    }

    /// The share of bits that are set.
    fn share(&self) -> f64 {
        self.share_of(self.bits.iter().map(|word| word.count_ones()).sum())
    }

    /// The same, with those of another row.
    fn with(&self, other: &Self) -> f64 {
        let both = self.bits.iter().zip(&other.bits);
        self.share_of(both.map(|(one, other)| (one | other).count_ones()).sum())
    }

    fn add(&mut self, other: &Self) {
        for (one, other) in self.bits.iter_mut().zip(&other.bits) {
            *one |= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a phase that all states of a level share, switches that rarely change, and a counter that every step
    /// changes, the switches decide.
    #[test]
    fn what_changes_rarely_and_differs_decides() {
        let mut random = Random::new(5);
        let mut sample = Sample {
            width: 3,
            fields: (0..3).map(|word| Part { word, mask: 0x3ff }).collect(),
            states: Vec::new(),
            depths: Vec::new(),
            steps: Vec::new(),
        };
        for number in 0..2000 {
            let depth = number % 20;
            let switches = random.below(1024) as u32;
            sample
                .states
                .extend([depth, switches, random.below(256) as u32]);
            sample.depths.push(depth);
            let switched = u32::from(number % 10 == 0) << random.below(10);
            sample
                .steps
                .extend([u32::from(number % 50 == 0), switched, 0x3ff]);
        }
        for size in [2, 4] {
            let parts = sample.parts_for(size).expect("there is something");
            assert!(parts.iter().all(|part| part.word == 1), "{parts:?}");
        }
        assert_eq!(sample.parts_for(1000), None, "not enough for so many");
        // If everything changes all the time, everything decides.
        sample.steps.fill(0x3ff);
        assert_eq!(sample.parts_for(2), None);
    }
}
