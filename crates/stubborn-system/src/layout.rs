//! Fields and how they are packed into the 32-bit words of a state.
//!
//! Small fields share a word and none straddles two: short vectors hash, compress
//! and copy faster than one word a variable. The fields of one process lie together,
//! so that a step changes few words.

use crate::{ChannelId, FieldId, ProcessId};

/// What a field holds, for printing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A number.
    Integer,
    /// The program counter of a process; values index
    /// [`Process::locations`](crate::Process::locations), whose names are repeated here.
    Location(ProcessId, Vec<String>),
    /// One of a few named values: value `min + i` is called `names[i]`.
    Named(Vec<String>),
    /// The number of messages in a channel.
    ChannelLength(ChannelId),
    /// A part of a message in a channel; see [`Layout::channels`].
    ChannelCell(ChannelId),
    /// An index into a table that the system keeps; only the system can print it.
    Interned,
    /// Set in the one state that stands for a failed execution.
    Failed,
}

/// A named variable of the state: a range, and a place in a word.
#[derive(Clone, Debug)]
pub struct Field {
    /// Unique, readable: `x`, `t[3]`, `P_0.j`.
    pub name: String,
    /// Smallest value; the raw bits hold `value - min`.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// How to show it.
    pub kind: FieldKind,
    /// The process it belongs to, if any.
    pub process: Option<ProcessId>,
    /// Which word of the state.
    pub word: u32,
    /// Lowest bit in the word.
    pub shift: u8,
    /// Number of bits, 1 to 32 (0 for a field of a single value).
    pub bits: u8,
}

impl Field {
    /// The bits of this field, shifted to bit 0.
    #[inline]
    pub fn low_mask(&self) -> u32 {
        if self.bits == 32 {
            u32::MAX
        } else {
            (1 << self.bits) - 1
        }
    }

    /// The raw bits in `state`.
    #[inline]
    pub fn raw(&self, state: &[u32]) -> u32 {
        if self.bits == 0 {
            0
        } else {
            state[self.word as usize] >> self.shift & self.low_mask()
        }
    }

    /// The value in `state`.
    #[inline]
    pub fn get(&self, state: &[u32]) -> i64 {
        i64::from(self.raw(state)) + self.min
    }

    /// Stores `value`, which must lie within the range.
    #[inline]
    pub fn set(&self, state: &mut [u32], value: i64) {
        debug_assert!(
            (self.min..=self.max).contains(&value),
            "{value} is no {}",
            self.name
        );
        if self.bits > 0 {
            let word = &mut state[self.word as usize];
            let raw = (value - self.min) as u32 & self.low_mask();
            *word = *word & !(self.low_mask() << self.shift) | raw << self.shift;
        }
    }
}

/// Where the messages of a channel lie.
#[derive(Clone, Debug)]
pub struct ChannelLayout {
    /// As the model calls it.
    pub name: String,
    /// How many messages are in it.
    pub length: FieldId,
    /// For each position, oldest message first, the fields of the message.
    pub cells: Vec<Vec<FieldId>>,
}

/// The fields of a state and their places.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    fields: Vec<Field>,
    words: usize,
    channels: Vec<ChannelLayout>,
}

impl Layout {
    /// Number of 32-bit words of a state; at least 1.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of 64-bit words of a mask of changed words.
    #[inline]
    pub fn mask_words(&self) -> usize {
        self.words.div_ceil(64)
    }

    /// All fields, in the order of their ids.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// One field.
    #[inline]
    pub fn field(&self, id: FieldId) -> &Field {
        &self.fields[id.index()]
    }

    /// The message channels, for printing.
    pub fn channels(&self) -> &[ChannelLayout] {
        &self.channels
    }

    /// The value of a field in a state.
    #[inline]
    pub fn get(&self, state: &[u32], id: FieldId) -> i64 {
        self.field(id).get(state)
    }

    /// A value as people write it, by the field's kind alone.
    pub fn value_text(&self, id: FieldId, value: i64) -> String {
        let field = self.field(id);
        let names = match &field.kind {
            FieldKind::Location(_, names) | FieldKind::Named(names) => names.as_slice(),
            _ => &[],
        };
        usize::try_from(value - field.min)
            .ok()
            .and_then(|at| names.get(at).cloned())
            .unwrap_or_else(|| value.to_string())
    }
}

/// Number of bits that a range of values needs.
///
/// # Panics
/// If the range is empty or wider than 32 bits.
pub fn bits_for(min: i64, max: i64) -> u8 {
    assert!(min <= max, "empty range {min}..={max}");
    let span = max.abs_diff(min);
    assert!(
        span <= u64::from(u32::MAX),
        "range {min}..={max} needs more than 32 bits"
    );
    (64 - span.leading_zeros()) as u8
}

/// An array placed by [`LayoutBuilder::array`]: element `i` lies at bit
/// `base_bit + i * stride` of the state, counted over all its words.
///
/// Strides are powers of two that divide 32, so an element never straddles two words,
/// and code for a computed index is a shift and a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayPlace {
    /// The field of element 0; the others follow.
    pub first: FieldId,
    /// Number of elements.
    pub len: u32,
    /// Bit address of element 0.
    pub base_bit: u32,
    /// Bits from one element to the next: 1, 2, 4, 8, 16 or 32 (0 if elements have one value).
    pub stride: u8,
}

/// Places fields one after the other.
#[derive(Debug, Default)]
pub struct LayoutBuilder {
    fields: Vec<Field>,
    channels: Vec<ChannelLayout>,
    /// First free bit, counted over all words.
    next_bit: u32,
}

impl LayoutBuilder {
    /// An empty layout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a new word, so that what follows shares none with what came before.
    pub fn align_to_word(&mut self) {
        self.next_bit = self.next_bit.next_multiple_of(32);
    }

    /// Bits left in the current word.
    pub fn room(&self) -> u32 {
        (32 - self.next_bit % 32) % 32
    }

    /// Adds a field of the range `min..=max`.
    pub fn field(
        &mut self,
        name: impl Into<String>,
        (min, max): (i64, i64),
        kind: FieldKind,
        process: Option<ProcessId>,
    ) -> FieldId {
        let bits = bits_for(min, max);
        if u32::from(bits) > 32 - self.next_bit % 32 {
            self.align_to_word();
        }
        let at = self.next_bit;
        self.next_bit += u32::from(bits);
        self.push(name.into(), (min, max), kind, process, at, bits)
    }

    /// Adds an array of `len` (at least 1) fields of the same range, called by `name`.
    pub fn array(
        &mut self,
        len: usize,
        (min, max): (i64, i64),
        process: Option<ProcessId>,
        mut kind: impl FnMut(usize) -> FieldKind,
        mut name: impl FnMut(usize) -> String,
    ) -> ArrayPlace {
        let bits = bits_for(min, max);
        let stride = if bits == 0 {
            0
        } else {
            u32::from(bits).next_power_of_two()
        };
        let total = stride * len as u32;
        // Elements are aligned to their stride; an array that fits into one word is not cut in two.
        let mut base = self.next_bit.next_multiple_of(stride.max(1));
        if total <= 32 && base % 32 + total > 32 {
            base = base.next_multiple_of(32);
        }
        let first = FieldId::new(self.fields.len());
        for i in 0..len {
            self.push(
                name(i),
                (min, max),
                kind(i),
                process,
                base + i as u32 * stride,
                bits,
            );
        }
        self.next_bit = base + total;
        ArrayPlace {
            first,
            len: len as u32,
            base_bit: base,
            stride: stride as u8,
        }
    }

    /// Declares how the messages of a channel lie.
    pub fn channel(&mut self, channel: ChannelLayout) -> ChannelId {
        self.channels.push(channel);
        ChannelId::new(self.channels.len() - 1)
    }

    fn push(
        &mut self,
        name: String,
        (min, max): (i64, i64),
        kind: FieldKind,
        process: Option<ProcessId>,
        at: u32,
        bits: u8,
    ) -> FieldId {
        let (word, shift) = (at / 32, (at % 32) as u8);
        self.fields.push(Field {
            name,
            min,
            max,
            kind,
            process,
            word,
            shift,
            bits,
        });
        FieldId::new(self.fields.len() - 1)
    }

    /// The finished layout.
    pub fn finish(self) -> Layout {
        let words = self.next_bit.div_ceil(32).max(1) as usize;
        // A field of a single value may sit just past the last used bit.
        let mut fields = self.fields;
        for field in fields.iter_mut().filter(|f| f.bits == 0) {
            (field.word, field.shift) = (0, 0);
        }
        Layout {
            fields,
            words,
            channels: self.channels,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_hold_their_whole_range_and_touch_nothing_else() {
        let mut builder = LayoutBuilder::new();
        let ranges = [
            (0, 1),
            (-3, 4),
            (0, 255),
            (-32768, 32767),
            (i64::from(i32::MIN), i64::from(i32::MAX)),
            (7, 7),
        ];
        let ids: Vec<_> = ranges
            .iter()
            .enumerate()
            .map(|(i, range)| builder.field(format!("x{i}"), *range, FieldKind::Integer, None))
            .collect();
        let layout = builder.finish();
        let mut state = vec![0; layout.words()];
        for (id, (min, max)) in ids.iter().zip(ranges) {
            layout.field(*id).set(&mut state, max);
            assert_eq!(layout.get(&state, *id), max);
            layout.field(*id).set(&mut state, min);
        }
        for (id, (min, _)) in ids.iter().zip(ranges) {
            assert_eq!(layout.get(&state, *id), min);
        }
        assert!(state.iter().all(|w| *w == 0));
    }

    #[test]
    fn array_elements_lie_where_the_place_says() {
        let mut builder = LayoutBuilder::new();
        builder.field("before", (0, 5), FieldKind::Integer, None);
        let place = builder.array(
            9,
            (0, 6),
            None,
            |_| FieldKind::Integer,
            |i| format!("a[{i}]"),
        );
        let layout = builder.finish();
        assert_eq!(place.stride, 4);
        for i in 0..9 {
            let field = &layout.fields()[place.first.index() + i];
            assert_eq!(
                field.word * 32 + u32::from(field.shift),
                place.base_bit + 4 * i as u32
            );
        }
    }
}
