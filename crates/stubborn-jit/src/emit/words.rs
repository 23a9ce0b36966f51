//! Fields and array elements: packed words, in registers as long as possible.
//!
//! Reading a field loads its word once; assignments change the word in a register and
//! stores are put off until control flow branches or the step ends. What is known at a
//! point was computed in code that dominates it: whoever emits a branch remembers a
//! [`mark`](Words::mark) and [restores](Words::restore) it where paths meet.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use stubborn_system::Field;
use stubborn_system::layout::ArrayPlace;

use super::{Emitter, inside, inside_unaligned};

/// Which words of the current state are known.
#[derive(Default)]
pub(super) struct Words {
    values: HashMap<u32, Value>,
    /// How to undo changes of `values`.
    log: Vec<(u32, Option<Value>)>,
    /// Words whose value is not yet in the successor's memory.
    unsaved: Vec<u32>,
    /// Words that the step may have changed: their memory is that of the successor.
    changed: HashSet<u32>,
}

impl Words {
    /// The current point, to come back to.
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets what was learnt since a mark. Nothing may be unsaved that was not then.
    pub(super) fn restore(&mut self, mark: usize) {
        for (word, old) in self.log.drain(mark..).rev() {
            match old {
                Some(value) => self.values.insert(word, value),
                None => self.values.remove(&word),
            };
        }
    }

    fn know(&mut self, word: u32, value: Value) {
        self.log.push((word, self.values.insert(word, value)));
    }

    /// The value of a word may be another one from here on; its memory is up to date.
    pub(super) fn forget(&mut self, word: u32) {
        if let Some(old) = self.values.remove(&word) {
            self.log.push((word, Some(old)));
        }
        self.changed.insert(word);
    }

    /// Starts a step: nothing is changed yet.
    pub(super) fn start_step(&mut self) {
        debug_assert!(self.unsaved.is_empty());
        self.changed.clear();
    }
}

/// First and last word of an array.
pub(super) fn word_range(place: &ArrayPlace) -> (u32, u32) {
    let last = place.base_bit + u32::from(place.stride) * place.len.saturating_sub(1);
    (place.base_bit / 32, last / 32)
}

impl Emitter<'_, '_> {
    /// The current value of a word.
    pub(super) fn word(&mut self, word: u32) -> Value {
        if let Some(value) = self.words.values.get(&word) {
            return *value;
        }
        let base = self.memory_of(word, word);
        let value = self
            .b
            .ins()
            .load(types::I32, inside(), base, 4 * word as i32);
        self.words.know(word, value);
        value
    }

    /// Where the current values of some words are in memory, once they are saved.
    fn memory_of(&mut self, first: u32, last: u32) -> Value {
        let changed = (first..=last).any(|w| self.words.changed.contains(&w));
        match &self.step {
            Some(step) if changed => step.target,
            _ => self.source,
        }
    }

    /// Changes a word of the successor.
    pub(super) fn set_word(&mut self, word: u32, value: Value) {
        self.words.know(word, value);
        if !self.words.unsaved.contains(&word) {
            self.words.unsaved.push(word);
        }
        self.words.changed.insert(word);
        self.touch(word);
    }

    /// Stores unsaved words of a range.
    fn save_range(&mut self, first: u32, last: u32) {
        let Some(target) = self.step.as_ref().map(|step| step.target) else {
            return;
        };
        let mut unsaved = std::mem::take(&mut self.words.unsaved);
        unsaved.retain(|word| {
            let chosen = (first..=last).contains(word);
            if chosen && let Some(value) = self.words.values.get(word) {
                self.b
                    .ins()
                    .store(inside(), *value, target, 4 * *word as i32);
            }
            !chosen
        });
        self.words.unsaved = unsaved;
    }

    /// Stores all unsaved words.
    pub(super) fn save(&mut self) {
        self.save_range(0, u32::MAX);
    }

    /// `(value >> shift) & mask`, without needless parts.
    fn extract(&mut self, word: Value, shift: u8, bits: u8) -> Value {
        let mut value = word;
        if shift > 0 {
            let distance = self.unsigned(u32::from(shift));
            value = self.b.ins().ushr(value, distance);
        }
        if u32::from(shift) + u32::from(bits) < 32 {
            value = self.mask_low(value, bits);
        }
        value
    }

    fn mask_low(&mut self, value: Value, bits: u8) -> Value {
        if bits >= 32 {
            return value;
        }
        let mask = self.unsigned((1 << bits) - 1);
        self.b.ins().band(value, mask)
    }

    /// The raw bits of a field.
    pub(super) fn raw(&mut self, field: &Field) -> Value {
        if field.bits == 0 {
            return self.unsigned(0);
        }
        let word = self.word(field.word);
        self.extract(word, field.shift, field.bits)
    }

    /// The value of raw bits.
    pub(super) fn value_of_raw(&mut self, field: &Field, raw: Value) -> Value {
        if field.min == 0 {
            return raw;
        }
        let min = self.constant(field.min as i32);
        self.b.ins().iadd(raw, min)
    }

    /// The value of a field.
    pub(super) fn get(&mut self, field: &Field) -> Value {
        let raw = self.raw(field);
        self.value_of_raw(field, raw)
    }

    /// 1 if a field has the given value, else 0 (8 bits).
    pub(super) fn field_equals(&mut self, field: &Field, value: i32, condition: IntCC) -> Value {
        let offset = i64::from(value) - field.min;
        if field.bits == 0 || offset < 0 || i64::from(value) > field.max {
            let holds = (field.bits == 0 && offset == 0) == (condition == IntCC::Equal);
            return self.b.ins().iconst(types::I8, i64::from(holds));
        }
        let mut word = self.word(field.word);
        if field.bits < 32 {
            let mask = self.unsigned(field.low_mask() << field.shift);
            word = self.b.ins().band(word, mask);
        }
        let wanted = self.unsigned((offset as u32) << field.shift);
        self.b.ins().icmp(condition, word, wanted)
    }

    /// Stores raw bits, which must fit, into a field of the successor.
    pub(super) fn set_raw(&mut self, field: &Field, raw: Value) {
        if field.bits == 0 {
            return;
        }
        let value = if field.bits == 32 {
            raw
        } else {
            let word = self.word(field.word);
            let keep = self.unsigned(!(field.low_mask() << field.shift));
            let kept = self.b.ins().band(word, keep);
            let moved = self.move_left(raw, field.shift);
            self.b.ins().bor(kept, moved)
        };
        self.set_word(field.word, value);
    }

    /// Stores known raw bits into a field of the successor.
    pub(super) fn set_raw_constant(&mut self, field: &Field, raw: u32) {
        if field.bits == 0 {
            return;
        }
        let bits = field.low_mask() << field.shift;
        let wanted = raw << field.shift;
        let mut value = self.word(field.word);
        if wanted != bits {
            let keep = self.unsigned(!bits);
            value = self.b.ins().band(value, keep);
        }
        if wanted != 0 {
            let set = self.unsigned(wanted);
            value = self.b.ins().bor(value, set);
        }
        self.set_word(field.word, value);
    }

    fn move_left(&mut self, value: Value, shift: u8) -> Value {
        if shift == 0 {
            return value;
        }
        let distance = self.unsigned(u32::from(shift));
        self.b.ins().ishl(value, distance)
    }

    /// The bit of an element within its word: `(base + index * stride) % 32`, where shifts
    /// take distances modulo 32.
    fn element_shift(&mut self, place: &ArrayPlace, index: Value) -> Value {
        let scaled = self.move_left(index, place.stride.trailing_zeros() as u8);
        match place.base_bit % 32 {
            0 => scaled,
            base => {
                let base = self.unsigned(base);
                self.b.ins().iadd(scaled, base)
            }
        }
    }

    /// The address of an element's word, where the element is not in a known word, and the
    /// word's number.
    fn element_word(&mut self, place: &ArrayPlace, memory: Value, index: Value) -> (Value, Value) {
        let scaled = self.move_left(index, place.stride.trailing_zeros() as u8);
        let base = self.unsigned(place.base_bit);
        let bit = self.b.ins().iadd(scaled, base);
        let five = self.unsigned(5);
        let word = self.b.ins().ushr(bit, five);
        (self.indexed(memory, word, 4), word)
    }

    /// `memory + index * scale`, for a non-negative index.
    pub(super) fn indexed(&mut self, memory: Value, index: Value, scale: u32) -> Value {
        let pointer = self.unit.pointer;
        let wide = if pointer.bits() > 32 && self.b.func.dfg.value_type(index) == types::I32 {
            self.b.ins().uextend(pointer, index)
        } else {
            index
        };
        let offset = if scale.is_power_of_two() {
            let distance = self.unsigned(scale.trailing_zeros());
            self.b.ins().ishl(wide, distance)
        } else {
            let scale = self.b.ins().iconst(pointer, i64::from(scale));
            self.b.ins().imul(wide, scale)
        };
        self.b.ins().iadd(memory, offset)
    }

    /// The raw bits of an array element, at an index that was checked, or that leads to no
    /// address outside the state (see [`index_is_harmless`](Self::index_is_harmless)).
    pub(super) fn element_raw(&mut self, place: &ArrayPlace, bits: u8, index: Value) -> Value {
        if bits == 0 {
            return self.unsigned(0);
        }
        let (first, last) = word_range(place);
        if first == last {
            let word = self.word(first);
            let shift = self.element_shift(place, index);
            let moved = self.b.ins().ushr(word, shift);
            return self.mask_low(moved, bits);
        }
        self.save_range(first, last);
        let memory = self.memory_of(first, last);
        match self.byte_stride(place) {
            Some(bytes) => {
                let at = self.indexed(memory, index, bytes);
                let offset = (place.base_bit / 8) as i32;
                match bytes {
                    1 => self.b.ins().uload8(types::I32, inside(), at, offset),
                    2 => self.b.ins().uload16(types::I32, inside(), at, offset),
                    _ => self.b.ins().load(types::I32, inside(), at, offset),
                }
            }
            None => {
                let (at, _) = self.element_word(place, memory, index);
                let word = self.b.ins().load(types::I32, inside(), at, 0);
                let shift = self.element_shift(place, index);
                let moved = self.b.ins().ushr(word, shift);
                self.mask_low(moved, bits)
            }
        }
    }

    /// Bytes from one element to the next, if elements can be addressed as bytes.
    fn byte_stride(&self, place: &ArrayPlace) -> Option<u32> {
        let whole_words = place.stride == 32;
        let bytes = place.stride >= 8 && cfg!(target_endian = "little");
        (whole_words || bytes).then_some(u32::from(place.stride) / 8)
    }

    /// Stores raw bits, which must fit, into an element of the successor. The index was
    /// checked, or is harmless.
    pub(super) fn set_element(&mut self, place: &ArrayPlace, bits: u8, index: Value, raw: Value) {
        if bits == 0 {
            return;
        }
        let (first, last) = word_range(place);
        if first == last {
            let word = self.word(first);
            let shift = self.element_shift(place, index);
            let value = self.insert_bits(word, bits, shift, raw);
            self.set_word(first, value);
            return;
        }
        self.save_range(first, last);
        for word in first..=last {
            self.words.forget(word);
        }
        let memory = self.memory_of(first, last);
        match self.byte_stride(place) {
            Some(bytes) => {
                let at = self.indexed(memory, index, bytes);
                let offset = (place.base_bit / 8) as i32;
                match bytes {
                    1 => self.b.ins().istore8(inside(), raw, at, offset),
                    2 => self.b.ins().istore16(inside(), raw, at, offset),
                    _ => self.b.ins().store(inside(), raw, at, offset),
                };
                let scaled = self.move_left(index, place.stride.trailing_zeros() as u8);
                let base = self.unsigned(place.base_bit);
                let bit = self.b.ins().iadd(scaled, base);
                let five = self.unsigned(5);
                let word = self.b.ins().ushr(bit, five);
                self.touch_computed(word);
            }
            None => {
                let (at, number) = self.element_word(place, memory, index);
                let word = self.b.ins().load(types::I32, inside(), at, 0);
                let shift = self.element_shift(place, index);
                let value = self.insert_bits(word, bits, shift, raw);
                self.b.ins().store(inside(), value, at, 0);
                self.touch_computed(number);
            }
        }
    }

    fn insert_bits(&mut self, word: Value, bits: u8, shift: Value, raw: Value) -> Value {
        let low = self.unsigned(if bits == 32 {
            u32::MAX
        } else {
            (1 << bits) - 1
        });
        let hole = self.b.ins().ishl(low, shift);
        let keep = self.b.ins().bnot(hole);
        let kept = self.b.ins().band(word, keep);
        let moved = self.b.ins().ishl(raw, shift);
        self.b.ins().bor(kept, moved)
    }

    /// Whether indices in `0..=largest` lead to addresses inside the state, though perhaps
    /// outside the array.
    pub(super) fn index_is_harmless(&self, place: &ArrayPlace, largest: u32) -> bool {
        let (first, last) = word_range(place);
        let end =
            u64::from(place.base_bit) + (u64::from(largest) + 1) * u64::from(place.stride.max(1));
        first == last || end <= 32 * u64::from(self.unit.words())
    }

    /// Copies the whole source state to the successor.
    pub(super) fn copy_state(&mut self, target: Value) {
        let bytes = 4 * self.unit.words() as i32;
        if bytes > 256 {
            let words = self.unit.words();
            let words = self.b.ins().iconst(self.unit.pointer, i64::from(words));
            let arguments = [target, self.source, words];
            self.call(crate::runtime::copy as *const u8, &[], &arguments);
            return;
        }
        let vector = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
        let mut at = 0;
        while at < bytes {
            let left = bytes - at;
            let (kind, from) = match left {
                16.. if vector => (types::I8X16, at),
                // The last part overlaps what was copied before.
                _ if vector && bytes >= 16 && left > 8 => (types::I8X16, bytes - 16),
                8.. => (types::I64, at),
                _ if bytes >= 8 && left > 4 => (types::I64, bytes - 8),
                _ => (types::I32, at),
            };
            let value = self
                .b
                .ins()
                .load(kind, inside_unaligned(), self.source, from);
            self.b.ins().store(inside_unaligned(), value, target, from);
            at = from + kind.bytes() as i32;
        }
    }
}
