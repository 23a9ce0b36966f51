//! The tables that the executor works from: everything about arcs, in terms of words and bits.
//!
//! Each transition with inputs is a *candidate* of one of its input places, the one with the
//! fewest consumers; only candidates of marked places are looked at in a state. Enabledness is
//! then a few tests `word & mask == value` for one-bit places and a comparison with a range for each wider
//! one; inhibitor arcs are among these tests.
//! Firing adds one constant to each changed word: fields never overflow into each other, because
//! gains are tested against the room that is left.

use stubborn_system::{FieldId, Layout};

use crate::ids::{PlaceId, TransitionId};
use crate::net::{Net, Tokens};

/// Where a place lies.
#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u32,
    shift: u8,
    low_mask: u32,
    min: Tokens,
}

/// `state[word] & mask == value`.
#[derive(Clone, Copy, Debug)]
struct BitTest {
    word: u32,
    mask: u32,
    value: u32,
}

/// The wide field at `word`, `shift` holds from `least` to `least + span`.
#[derive(Clone, Copy, Debug)]
struct WideTest {
    word: u32,
    low_mask: u32,
    least: u32,
    span: u32,
    shift: u8,
}

/// The field must hold at most `room`, or the step fails at `site`.
#[derive(Clone, Copy, Debug)]
struct Gain {
    word: u32,
    low_mask: u32,
    /// Largest value before the step; negative if there is none.
    room: i64,
    site: u32,
    shift: u8,
}

/// `state[word] += add`.
#[derive(Clone, Copy, Debug)]
struct Change {
    word: u32,
    add: u32,
}

/// Lists of lists in one array.
#[derive(Clone, Debug)]
struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn new() -> Self {
        Self {
            starts: vec![0],
            items: Vec::new(),
        }
    }

    fn end_list(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    #[inline]
    fn get(&self, index: usize) -> &[T] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// A step that cannot be taken: a place would overflow; the index of the failure site.
pub(super) struct Overflow(pub(super) u32);

/// The tokens of a marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// All tokens together.
    pub total: u128,
    /// The tokens of the fullest place.
    pub most: Tokens,
}

impl Census {
    fn add(&mut self, tokens: Tokens) {
        self.total += u128::from(tokens);
        self.most = self.most.max(tokens);
    }
}

/// All tables of a net.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    slots: Vec<Slot>,
    /// For each word, the bits that are whole one-bit fields.
    single_bits: Vec<u32>,
    /// The place of each such bit, by `word * 32 + bit`.
    place_of_bit: Vec<u32>,
    /// For each word, its wider fields.
    wide_fields: Lists<u32>,
    /// The sum and the largest of the tokens of places that never change.
    constant: Census,
    /// For each place, the transitions to look at when it is marked.
    candidates: Lists<u32>,
    /// Transitions that every marking enables.
    always: Vec<u32>,
    /// Transitions that are no candidate of a place, and that only inhibitor arcs disable.
    inhibited: Vec<u32>,
    /// False for transitions that no marking within the bounds enables.
    possible: Vec<bool>,
    bit_tests: Lists<BitTest>,
    wide_tests: Lists<WideTest>,
    gains: Lists<Gain>,
    changes: Lists<Change>,
    failed: Option<BitTest>,
}

impl Tables {
    pub(super) fn new(
        net: &Net,
        layout: &Layout,
        field_of: &[FieldId],
        failure_of: &[Option<u32>],
        failed: Option<FieldId>,
    ) -> Self {
        let words = layout.words();
        let mut single_bits = vec![0u32; words];
        let mut place_of_bit = vec![0u32; words * 32];
        let mut wide: Vec<Vec<u32>> = vec![Vec::new(); words];
        let mut slots = Vec::with_capacity(net.place_count());
        let mut constant = Census::default();
        for place in net.places() {
            let field = layout.field(field_of[place.index()]);
            slots.push(Slot {
                word: field.word,
                shift: field.shift,
                low_mask: field.low_mask(),
                min: field.min as Tokens,
            });
            match field.bits {
                0 => constant.add(field.min as Tokens),
                1 => {
                    single_bits[field.word as usize] |= 1 << field.shift;
                    place_of_bit[field.word as usize * 32 + usize::from(field.shift)] = place.0;
                }
                _ => wide[field.word as usize].push(place.0),
            }
        }
        let mut wide_fields = Lists::new();
        for fields in wide {
            wide_fields.items.extend(fields);
            wide_fields.end_list();
        }
        let mut tables = Self {
            slots,
            single_bits,
            place_of_bit,
            wide_fields,
            constant,
            candidates: Lists::new(),
            always: Vec::new(),
            inhibited: Vec::new(),
            possible: Vec::with_capacity(net.transition_count()),
            bit_tests: Lists::new(),
            wide_tests: Lists::new(),
            gains: Lists::new(),
            changes: Lists::new(),
            failed: failed.map(|failed| {
                let field = layout.field(failed);
                BitTest {
                    word: field.word,
                    mask: 1 << field.shift,
                    value: 1 << field.shift,
                }
            }),
        };
        let mut candidates: Vec<Vec<u32>> = vec![Vec::new(); net.place_count()];
        for transition in net.transitions() {
            tables.add_transition(
                net,
                layout,
                field_of,
                transition,
                failure_of,
                &mut candidates,
            );
        }
        for list in candidates {
            tables.candidates.items.extend(list);
            tables.candidates.end_list();
        }
        tables
    }

    fn add_transition(
        &mut self,
        net: &Net,
        layout: &Layout,
        field_of: &[FieldId],
        transition: TransitionId,
        failure_of: &[Option<u32>],
        candidates: &mut [Vec<u32>],
    ) {
        let mut possible = true;
        let mut watched: Option<(usize, PlaceId)> = None;
        let mut bits: Vec<BitTest> = Vec::new();
        let tests_before = self.wide_tests.items.len();
        let inhibitors = net.inhibitors(transition).iter();
        // What only inhibits needs no tokens.
        let inhibitors = inhibitors.filter(|arc| net.input_weight(arc.node, transition) == 0);
        let inhibitors = inhibitors.map(|arc| (arc.node, 0));
        let inputs = net.pre(transition).iter().map(|arc| (arc.node, arc.weight));
        for (place, least) in inputs.chain(inhibitors) {
            let field = layout.field(field_of[place.index()]);
            let most = match net.inhibitor_weight(place, transition) {
                0 => field.max,
                weight => field.max.min(i64::from(weight) - 1),
            };
            possible &= i64::from(least) <= most;
            if field.bits == 0 {
                // The number of tokens is known.
                possible &= field.min <= most;
                continue;
            }
            let consumers = net.consumers(place).len();
            if least > 0 && watched.is_none_or(|(fewest, _)| consumers < fewest) {
                watched = Some((consumers, place));
            }
            if least == 0 && most == field.max {
                continue;
            }
            if field.bits == 1 {
                let mask = 1 << field.shift;
                let value = if least > 0 { mask } else { 0 };
                match bits.iter_mut().find(|test| test.word == field.word) {
                    Some(test) => {
                        test.mask |= mask;
                        test.value |= value;
                    }
                    None => bits.push(BitTest {
                        word: field.word,
                        mask,
                        value,
                    }),
                }
            } else {
                // Where all of the field is within the range, no value is above.
                let above = match most == field.max {
                    true => field.low_mask(),
                    false => most as u32,
                };
                self.wide_tests.items.push(WideTest {
                    word: field.word,
                    low_mask: field.low_mask(),
                    least,
                    span: above.wrapping_sub(least),
                    shift: field.shift,
                });
            }
        }
        let is_tested = !bits.is_empty() || self.wide_tests.items.len() > tests_before;
        self.bit_tests.items.extend(bits);
        self.bit_tests.end_list();
        self.wide_tests.end_list();
        self.possible.push(possible);
        match watched {
            Some((_, place)) if possible => candidates[place.index()].push(transition.0),
            None if possible && is_tested => self.inhibited.push(transition.0),
            None if possible => self.always.push(transition.0),
            _ => {}
        }
        let mut changes: Vec<Change> = Vec::new();
        for (place, change) in net.effects(transition) {
            let field = layout.field(field_of[place.index()]);
            // Two's complement: taking away is adding modulo 2^32.
            let add = (change as u32) << field.shift;
            match changes.iter_mut().find(|known| known.word == field.word) {
                Some(known) => known.add = known.add.wrapping_add(add),
                None => changes.push(Change {
                    word: field.word,
                    add,
                }),
            }
            if change > 0
                && let Some(site) = failure_of[place.index()]
            {
                self.gains.items.push(Gain {
                    word: field.word,
                    low_mask: field.low_mask(),
                    room: field.max - change,
                    site,
                    shift: field.shift,
                });
            }
        }
        self.changes.items.extend(changes);
        self.changes.end_list();
        self.gains.end_list();
    }

    /// The tokens of a place.
    #[inline]
    pub(super) fn tokens(&self, state: &[u32], place: PlaceId) -> Tokens {
        let slot = &self.slots[place.index()];
        if slot.low_mask == 0 {
            return slot.min;
        }
        Tokens::from(state[slot.word as usize] >> slot.shift & slot.low_mask)
    }

    /// Counts all tokens: a word of one-bit places at once.
    pub(super) fn census(&self, state: &[u32]) -> Census {
        let mut census = self.constant;
        for (word, &value) in state.iter().enumerate() {
            let ones = (value & self.single_bits[word]).count_ones();
            census.total += u128::from(ones);
            census.most = census.most.max(u64::from(ones.min(1)));
            for &place in self.wide_fields.get(word) {
                let slot = &self.slots[place as usize];
                census.add(Tokens::from(value >> slot.shift & slot.low_mask));
            }
        }
        census
    }

    /// True in the state that stands for a failed step.
    #[inline]
    pub(super) fn is_failed(&self, state: &[u32]) -> bool {
        self.failed
            .is_some_and(|test| state[test.word as usize] & test.mask != 0)
    }

    /// True if a state that is not the failed one enables the transition.
    #[inline]
    pub(super) fn is_enabled(&self, state: &[u32], transition: usize) -> bool {
        self.possible[transition]
            && self
                .bit_tests
                .get(transition)
                .iter()
                .all(|test| state[test.word as usize] & test.mask == test.value)
            && self.wide_tests.get(transition).iter().all(|test| {
                let tokens = state[test.word as usize] >> test.shift & test.low_mask;
                tokens.wrapping_sub(test.least) <= test.span
            })
    }

    /// Puts the enabled transitions of a state that is not the failed one into `out`, in order.
    pub(super) fn enabled(&self, state: &[u32], out: &mut Vec<u32>) {
        out.clear();
        out.extend_from_slice(&self.always);
        for &transition in &self.inhibited {
            if self.is_enabled(state, transition as usize) {
                out.push(transition);
            }
        }
        for (word, &value) in state.iter().enumerate() {
            if value == 0 {
                continue;
            }
            let mut bits = value & self.single_bits[word];
            while bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.enabled_by(state, self.place_of_bit[word * 32 + bit], out);
            }
            for &place in self.wide_fields.get(word) {
                let slot = &self.slots[place as usize];
                if value >> slot.shift & slot.low_mask != 0 {
                    self.enabled_by(state, place, out);
                }
            }
        }
        out.sort_unstable();
    }

    #[inline]
    fn enabled_by(&self, state: &[u32], place: u32, out: &mut Vec<u32>) {
        for &transition in self.candidates.get(place as usize) {
            if self.is_enabled(state, transition as usize) {
                out.push(transition);
            }
        }
    }

    /// Whether an enabled transition would put too many tokens into a place.
    #[inline]
    pub(super) fn overflow(&self, state: &[u32], transition: usize) -> Option<Overflow> {
        let overflows = |gain: &&Gain| {
            i64::from(state[gain.word as usize] >> gain.shift & gain.low_mask) > gain.room
        };
        self.gains
            .get(transition)
            .iter()
            .find(overflows)
            .map(|gain| Overflow(gain.site))
    }

    /// Fires an enabled transition that does not overflow.
    #[inline]
    pub(super) fn apply(&self, transition: usize, state: &mut [u32], changed: &mut [u64]) {
        for change in self.changes.get(transition) {
            let word = change.word as usize;
            state[word] = state[word].wrapping_add(change.add);
            changed[word / 64] |= 1 << (word % 64);
        }
    }
}
