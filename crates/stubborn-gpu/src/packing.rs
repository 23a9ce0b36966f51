//! How states are packed on the card: as few bits as the ranges need, in words of 63 bits.
//!
//! The layout of the [model](stubborn_ir::Model) has 32-bit words and elements of arrays at
//! powers of two, which suits a CPU. On the card, bytes are bandwidth, and the words of a state
//! are what the tree of the store shares: fields lie without gaps, no field and no element
//! straddles two words, and words are of about equal width, so that none has many more values
//! than it must. One bit of each 64-bit word stays free for the tables, which mark slots by it.
//! The bit of the [error state](stubborn_system::Structure::error_state) is left out: that state
//! is never stored.

use stubborn_ir::{Encoding, Model, VariablePlace};
use stubborn_system::{FieldId, System};

/// Bits of a word that states may use.
pub(crate) const WORD_BITS: u32 = 63;

/// Where a field lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) word: u32,
    pub(crate) shift: u32,
    pub(crate) bits: u32,
}

impl Spot {
    /// Its bits, at the bottom of a word.
    pub(crate) fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }
}

/// Where the elements of an array lie: `head` of them from `shift` of `word` on, and `each` in
/// every word after it, from its lowest bit on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) word: u32,
    pub(crate) shift: u32,
    pub(crate) bits: u32,
    pub(crate) len: u32,
    pub(crate) head: u32,
    pub(crate) each: u32,
}

impl Run {
    /// Where an element lies.
    pub(crate) fn spot(self, at: u32) -> Spot {
        let bits = self.bits;
        if bits == 0 {
            return Spot {
                word: 0,
                shift: 0,
                bits,
            };
        }
        match at.checked_sub(self.head) {
            None => Spot {
                word: self.word,
                shift: self.shift + at * bits,
                bits,
            },
            Some(rest) => Spot {
                word: self.word + 1 + rest / self.each,
                shift: rest % self.each * bits,
                bits,
            },
        }
    }

    /// In how many words it lies.
    pub(crate) fn words(self) -> u32 {
        match self.bits {
            0 => 1,
            _ => self.spot(self.len - 1).word - self.word + 1,
        }
    }
}

/// The places of all fields of a model.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// Words of a state.
    pub(crate) words: usize,
    /// Bits that are used.
    pub(crate) bits: u32,
    /// By field of the model's layout.
    spots: Vec<Spot>,
    /// By field: the array that starts there.
    runs: Vec<Option<Run>>,
}

impl Packing {
    pub(crate) fn new(model: &Model) -> Self {
        let fields = model.layout().fields();
        let groups = groups(model.encoding(), fields.len());
        let width = |(first, len): &(usize, u32)| u32::from(fields[*first].bits) * *len;
        let bits: u32 = groups.iter().map(width).sum();
        let words = bits.div_ceil(WORD_BITS).max(1);
        // Even words first; where elements do not fit those without gaps, full ones.
        let even = bits.div_ceil(words);
        let tries = (even..=WORD_BITS).map(|limit| Self::filled(model, &groups, limit));
        let best = tries.min_by_key(|packing| packing.words);
        let mut best = best.unwrap_or_else(|| Self::filled(model, &groups, WORD_BITS));
        best.bits = bits;
        best
    }

    /// Fills words up to a limit, one after the other.
    fn filled(model: &Model, groups: &[(usize, u32)], limit: u32) -> Self {
        let fields = model.layout().fields();
        let nowhere = Spot {
            word: 0,
            shift: 0,
            bits: 0,
        };
        let mut packing = Self {
            words: 0,
            bits: 0,
            spots: vec![nowhere; fields.len()],
            runs: vec![None; fields.len()],
        };
        let (mut word, mut used) = (0, 0);
        for (first, len) in groups {
            let bits = u32::from(fields[*first].bits);
            // No field is wider than a word.
            let limit = limit.max(bits);
            let each = limit.checked_div(bits).unwrap_or(0);
            if bits > 0 && (limit - used.min(limit) < bits) {
                (word, used) = (word + 1, 0);
            }
            // An array that fits into one word is not cut in two.
            if used > 0 && bits * len <= limit && used + bits * len > limit {
                (word, used) = (word + 1, 0);
            }
            let head = (limit - used.min(limit))
                .checked_div(bits)
                .unwrap_or(*len)
                .min(*len);
            let run = Run {
                word,
                shift: used,
                bits,
                len: *len,
                head,
                each,
            };
            for at in 0..*len {
                packing.spots[first + at as usize] = run.spot(at);
            }
            packing.runs[*first] = Some(run);
            if bits > 0 {
                let last = run.spot(len - 1);
                (word, used) = (last.word, last.shift + bits);
            }
        }
        packing.words = word as usize + 1;
        packing
    }

    /// Where a field lies.
    pub(crate) fn spot(&self, field: FieldId) -> Spot {
        self.spots[field.index()]
    }

    /// Where the array lies that starts with a field.
    pub(crate) fn run(&self, first: FieldId) -> Run {
        let spot = self.spots[first.index()];
        self.runs[first.index()].unwrap_or(Run {
            word: spot.word,
            shift: spot.shift,
            bits: spot.bits,
            len: 1,
            head: 1,
            each: 1,
        })
    }

    /// A state of the model as the card has it.
    pub(crate) fn pack(&self, model: &Model, state: &[u32]) -> Vec<u64> {
        let mut packed = vec![0; self.words];
        for (field, spot) in model.layout().fields().iter().zip(&self.spots) {
            packed[spot.word as usize] |= (u64::from(field.raw(state)) & spot.mask()) << spot.shift;
        }
        packed
    }

    /// The state of `wide` that the card has as `packed`, where `narrow` is the model that was
    /// packed: the same one with smaller ranges.
    pub(crate) fn unpack(&self, narrow: &Model, wide: &Model, packed: &[u64]) -> Vec<u32> {
        let mut state = vec![0; wide.layout().words()];
        let value = |field: FieldId| {
            let spot = self.spot(field);
            let raw = packed[spot.word as usize] >> spot.shift & spot.mask();
            raw as i64 + narrow.layout().field(field).min
        };
        let mut copy = |from: FieldId, to: FieldId| {
            wide.layout().field(to).set(&mut state, value(from));
        };
        let variables = narrow
            .encoding()
            .variables
            .iter()
            .zip(&wide.encoding().variables);
        for (from, to) in variables {
            match (from, to) {
                (VariablePlace::Array(from), VariablePlace::Array(to)) => {
                    (0..from.len as usize)
                        .for_each(|at| copy(element(from.first, at), element(to.first, at)));
                }
                (VariablePlace::Scalar(from), VariablePlace::Scalar(to)) => copy(*from, *to),
                _ => {}
            }
        }
        for (from, to) in narrow
            .encoding()
            .channels
            .iter()
            .zip(&wide.encoding().channels)
        {
            copy(from.length, to.length);
            // Cells that are free stay 0.
            let messages = value(from.length) as usize;
            for (from, to) in from.items.iter().zip(&to.items) {
                (0..messages).for_each(|at| copy(element(from.first, at), element(to.first, at)));
            }
        }
        state
    }
}

fn element(first: FieldId, at: usize) -> FieldId {
    FieldId::new(first.index() + at)
}

/// The first field and the number of fields of each scalar and array, those of a process
/// together, without the bit of the error state.
fn groups(encoding: &Encoding, fields: usize) -> Vec<(usize, u32)> {
    let mut lens = vec![1; fields];
    let arrays = encoding.variables.iter().filter_map(|place| match place {
        VariablePlace::Array(place) => Some(place),
        VariablePlace::Scalar(_) => None,
    });
    let cells = encoding.channels.iter().flat_map(|channel| &channel.items);
    for place in arrays.chain(cells) {
        lens[place.first.index()] = place.len;
    }
    // The layout has them in this order already.
    let mut groups = Vec::new();
    let mut at = 0;
    while at < fields {
        if encoding.failed.is_none_or(|failed| failed.index() != at) {
            groups.push((at, lens[at]));
        }
        at += lens[at] as usize;
    }
    groups
}

#[cfg(test)]
mod tests {
    use stubborn_ir::testing::{Random, random_program, random_state};

    use super::*;

    #[test]
    fn states_survive_packing() {
        for seed in 0..300 {
            let model = Model::new(random_program(seed)).expect("a well-formed program");
            let packing = Packing::new(&model);
            let mut rng = Random::new(seed);
            for _ in 0..20 {
                let state = random_state(&model, &mut rng);
                let packed = packing.pack(&model, &state);
                assert!(packed.iter().all(|word| word >> WORD_BITS == 0));
                assert_eq!(
                    packing.unpack(&model, &model, &packed),
                    state,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn no_two_fields_overlap() {
        for seed in 0..300 {
            let model = Model::new(random_program(seed)).expect("a well-formed program");
            let packing = Packing::new(&model);
            let mut taken = vec![0_u64; packing.words];
            for (at, spot) in packing.spots.iter().enumerate() {
                assert!(
                    spot.shift + spot.bits <= WORD_BITS,
                    "seed {seed}, field {at}"
                );
                let mask = spot.mask() << spot.shift;
                assert_eq!(
                    taken[spot.word as usize] & mask,
                    0,
                    "seed {seed}, field {at}"
                );
                taken[spot.word as usize] |= mask;
            }
            let used: u32 = taken.iter().map(|word| word.count_ones()).sum();
            assert_eq!(used, packing.bits);
        }
    }
}
