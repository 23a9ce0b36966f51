//! Channels: FIFO operations as shifts of packed words, the rest by helpers.
//!
//! The cells of one item lie in an array, oldest message first, and freed cells are zero.
//! So removing the oldest message shifts the array by one element, word by word.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use stubborn_ir::intervals::Interval;
use stubborn_ir::{ChannelRef, Expr, Place, SendOrder, Site};
use stubborn_system::ChannelId;
use stubborn_system::layout::ArrayPlace;

use super::Emitter;
use super::words::word_range;
use crate::runtime;

/// Item arrays of more words than this are shifted by a helper.
const SHIFTED_WORDS: u32 = 8;

impl Emitter<'_, '_> {
    /// Each target once, with the value that denotes it.
    fn distinct(targets: &[(i32, ChannelId)]) -> Vec<(i32, ChannelId)> {
        let mut distinct: Vec<(i32, ChannelId)> = Vec::new();
        for (value, channel) in targets {
            if distinct.iter().all(|(v, _)| v != value) {
                distinct.push((*value, *channel));
            }
        }
        distinct
    }

    /// Branches on the value of a reference: a block for each target, entered one by one
    /// through `each`; a value that denotes nothing fails.
    fn dispatch(
        &mut self,
        value: &Expr,
        targets: &[(i32, ChannelId)],
        site: Site,
        mut each: impl FnMut(&mut Self, ChannelId),
    ) {
        let value = self.value(value);
        let targets = Self::distinct(targets);
        let blocks: Vec<Block> = targets.iter().map(|_| self.b.create_block()).collect();
        let mut switch = cranelift_frontend::Switch::new();
        for ((denotes, _), block) in targets.iter().zip(&blocks) {
            switch.set_entry(u128::from(*denotes as u32), *block);
        }
        let nothing = self.b.create_block();
        switch.emit(&mut self.b, value, nothing);
        self.enter(nothing);
        self.fail(site);
        // `fail` left an unreachable block open.
        self.b
            .ins()
            .trap(cranelift_codegen::ir::TrapCode::unwrap_user(1));
        let known = self.words.mark();
        for ((_, channel), block) in targets.iter().zip(&blocks) {
            self.words.restore(known);
            self.enter(*block);
            each(self, *channel);
        }
        self.words.restore(known);
    }

    /// Emits a statement for each channel that a reference can denote.
    pub(super) fn for_target(
        &mut self,
        channel: &ChannelRef,
        changed: &[u32],
        emit: impl Fn(&mut Self, ChannelId),
    ) {
        match channel {
            ChannelRef::Fixed(id) => emit(self, *id),
            ChannelRef::Denoted {
                value,
                targets,
                site,
            } => {
                self.save();
                let done = self.b.create_block();
                self.dispatch(value, targets, *site, |e, id| {
                    e.path(done, |e| emit(e, id));
                });
                let known = self.words.mark();
                self.meet(known, changed, done);
            }
        }
    }

    /// A value computed from the channel that a reference denotes.
    fn value_of_target(
        &mut self,
        channel: &ChannelRef,
        emit: impl Fn(&mut Self, ChannelId) -> Value,
    ) -> Value {
        match channel {
            ChannelRef::Fixed(id) => emit(self, *id),
            ChannelRef::Denoted {
                value,
                targets,
                site,
            } => {
                self.save();
                let done = self.b.create_block();
                self.b.append_block_param(done, types::I32);
                self.dispatch(value, targets, *site, |e, id| {
                    let value = emit(e, id);
                    e.jump_with(done, value);
                });
                self.enter(done);
                self.b.block_params(done)[0]
            }
        }
    }

    pub(super) fn length(&mut self, channel: &ChannelRef) -> Value {
        self.value_of_target(channel, |e, id| e.length_of(id))
    }

    fn length_of(&mut self, channel: ChannelId) -> Value {
        let unit = self.unit;
        self.raw(unit.field(unit.model.encoding().channels[channel.index()].length))
    }

    fn set_length(&mut self, channel: ChannelId, length: Value) {
        let unit = self.unit;
        let field = unit.field(unit.model.encoding().channels[channel.index()].length);
        self.set_raw(field, length);
    }

    pub(super) fn peek(
        &mut self,
        channel: &ChannelRef,
        position: &Expr,
        item: u32,
        site: Site,
    ) -> Value {
        self.value_of_target(channel, |e, id| {
            let at = e.value(position);
            let length = e.length_of(id);
            e.check_position(id, at, length, site);
            e.cell(id, item as usize, position, at, site)
        })
    }

    /// Fails if there is no message at a position.
    fn check_position(&mut self, channel: ChannelId, at: Value, length: Value, site: Site) {
        let missing = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, at, length);
        self.fail_if(missing, site);
        let unit = self.unit;
        let capacity = unit.program().channels[channel.index()].capacity;
        let items = &unit.model.encoding().channels[channel.index()].items;
        // The bits of the length could hold more than the capacity.
        let most = (capacity + 1).next_power_of_two().saturating_sub(2);
        if items.iter().any(|i| !self.index_is_harmless(i, most)) {
            let capacity = self.unsigned(capacity);
            let outside = self
                .b
                .ins()
                .icmp(IntCC::UnsignedGreaterThanOrEqual, at, capacity);
            self.fail_if(outside, site);
        }
    }

    /// The value of an item of a message whose position was checked.
    fn cell(
        &mut self,
        channel: ChannelId,
        item: usize,
        position: &Expr,
        at: Value,
        site: Site,
    ) -> Value {
        let unit = self.unit;
        let Some(place) = unit.model.encoding().channels[channel.index()]
            .items
            .get(item)
        else {
            self.fail(site);
            return self.constant(0);
        };
        let field = unit.field(place.first);
        let raw = match position {
            Expr::Const(0) => self.raw(field),
            _ => self.element_raw(place, field.bits, at),
        };
        self.value_of_raw(field, raw)
    }

    pub(super) fn send(
        &mut self,
        channel: ChannelId,
        values: &[Expr],
        order: SendOrder,
        site: Site,
    ) {
        let unit = self.unit;
        let declared = &unit.program().channels[channel.index()];
        let places = &unit.model.encoding().channels[channel.index()].items;
        let mut message = Vec::with_capacity(2 * values.len());
        let mut given = Vec::with_capacity(values.len());
        for (nr, value) in values.iter().enumerate() {
            let range = unit.program().interval(value);
            let value = self.value(value);
            given.push(value);
            match declared.items.get(nr) {
                Some(item) => message.push(self.fitting_raw(item, value, range, site)),
                None => return self.fail(site),
            }
        }
        if declared.capacity == 0 || message.len() != declared.items.len() {
            return self.fail(site);
        }
        let length = self.length_of(channel);
        let capacity = self.unsigned(declared.capacity);
        let full = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, length, capacity);
        self.fail_if(full, site);
        if order == SendOrder::Sorted {
            message.append(&mut given);
            let slot = self.on_stack(&message);
            return self.call_on_channel(channel, runtime::send_sorted as *const u8, slot);
        }
        for (place, raw) in places.iter().zip(&message) {
            let bits = unit.field(place.first).bits;
            self.set_element(place, bits, length, *raw);
        }
        let one = self.unsigned(1);
        let longer = self.b.ins().iadd(length, one);
        self.set_length(channel, longer);
    }

    /// 32-bit values on the stack, for a helper.
    pub(super) fn on_stack(&mut self, values: &[Value]) -> Value {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 4 * values.len() as u32, 2);
        let slot = self.b.create_sized_stack_slot(data);
        for (nr, raw) in values.iter().enumerate() {
            let pointer = self.unit.pointer;
            self.b.ins().stack_store(pointer, *raw, slot, 4 * nr as i32);
        }
        self.b.ins().stack_addr(self.unit.pointer, slot, 0)
    }

    /// Calls a helper that changes a channel of the successor.
    fn call_on_channel(&mut self, channel: ChannelId, helper: *const u8, argument: Value) {
        let unit = self.unit;
        self.save();
        let Some(target) = self.step.as_ref().map(|step| step.target) else {
            return;
        };
        let facts = self.address(unit.runtime.channel(channel.index()));
        self.call(helper, &[], &[facts, target, argument]);
        for id in unit.model.encoding().channel_fields(channel) {
            let field = unit.field(id);
            if field.bits > 0 {
                self.words.forget(field.word);
                self.touch(field.word);
            }
        }
    }

    pub(super) fn receive(
        &mut self,
        channel: ChannelId,
        position: Option<&Expr>,
        targets: &[Option<Place>],
        remove: bool,
        site: Site,
    ) {
        let unit = self.unit;
        let declared = &unit.program().channels[channel.index()];
        let places = &unit.model.encoding().channels[channel.index()].items;
        let position = position.unwrap_or(&Expr::Const(0));
        let at = self.value(position);
        if declared.capacity == 0 || targets.len() != declared.items.len() {
            return self.fail(site);
        }
        let length = self.length_of(channel);
        self.check_position(channel, at, length, site);
        let message: Vec<Value> = (0..places.len())
            .map(|item| self.cell(channel, item, position, at, site))
            .collect();
        if remove {
            let shifted = |place: &ArrayPlace| {
                let (first, last) = word_range(place);
                last - first < SHIFTED_WORDS
            };
            if matches!(position, Expr::Const(0)) && places.iter().all(shifted) {
                for place in places {
                    self.shift_down(place);
                }
                let one = self.unsigned(1);
                let shorter = self.b.ins().isub(length, one);
                self.set_length(channel, shorter);
            } else {
                self.call_on_channel(channel, runtime::remove as *const u8, at);
            }
        }
        for ((value, target), item) in message.into_iter().zip(targets).zip(&declared.items) {
            if let Some(place) = target {
                let range = Interval {
                    min: item.min,
                    max: item.max,
                };
                self.assign_value(place, value, range, site);
            }
        }
    }

    /// Moves every element of an array to the one before it; the last becomes zero.
    fn shift_down(&mut self, place: &ArrayPlace) {
        let stride = u32::from(place.stride);
        if stride == 0 {
            return;
        }
        let (first, last) = word_range(place);
        let end = place.base_bit + stride * place.len;
        let bits_of = |word: u32| {
            let low = place.base_bit.max(32 * word) - 32 * word;
            let high = end.min(32 * word + 32) - 32 * word;
            (u64::MAX << low & !(u64::MAX << high)) as u32
        };
        let old: Vec<Value> = (first..=last).map(|word| self.word(word)).collect();
        for word in first..=last {
            let at = (word - first) as usize;
            let mine = bits_of(word);
            let mut value = if stride == 32 {
                None
            } else {
                let element = ((1_u64 << stride) - 1) as u32;
                let mask = self.unsigned(mine & !(element << mine.trailing_zeros()));
                let kept = self.b.ins().band(old[at], mask);
                let distance = self.unsigned(stride);
                Some(self.b.ins().ushr(kept, distance))
            };
            if word < last {
                // The lowest element of the next word comes in at the top.
                let incoming = if stride == 32 {
                    old[at + 1]
                } else {
                    let mask = self.unsigned(((1_u64 << stride) - 1) as u32);
                    let lowest = self.b.ins().band(old[at + 1], mask);
                    let distance = self.unsigned(32 - stride);
                    self.b.ins().ishl(lowest, distance)
                };
                value = Some(match value {
                    Some(value) => self.b.ins().bor(value, incoming),
                    None => incoming,
                });
            }
            let mut value = match value {
                Some(value) => value,
                None => self.unsigned(0),
            };
            if mine != u32::MAX {
                let mask = self.unsigned(!mine);
                let others = self.b.ins().band(old[at], mask);
                value = self.b.ins().bor(value, others);
            }
            self.set_word(word, value);
        }
    }
}
