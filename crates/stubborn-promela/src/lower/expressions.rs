//! Expressions and variables.

use stubborn_diagnostics::Span;
use stubborn_ir::{self as ir, BinaryOp, DivideOp, UnaryOp};
use stubborn_system::FailureKind;

use super::storage::Store;
use super::{Context, Lowering, guards};
use crate::ast::{Binary, Probe, Unary};
use crate::flow::State;
use crate::hir::{Expr, Place, ProcId, Scalar, VarKey};

/// The value that is stored into a number of this type.
pub(super) fn wrap(scalar: Scalar, value: ir::Expr) -> ir::Expr {
    let mask = match scalar {
        Scalar::Bit => 1,
        Scalar::Byte | Scalar::Chan | Scalar::Mtype(_) => 255,
        Scalar::Unsigned(bits) => ((1_u32 << bits.min(31)) - 1) as i32,
        Scalar::Short => {
            return match value {
                ir::Expr::Const(v) => ir::Expr::Const(i32::from(v as i16)),
                value => {
                    let by = || ir::Expr::Const(16);
                    let left = ir::Expr::binary(BinaryOp::ShiftLeft, value, by());
                    ir::Expr::binary(BinaryOp::ShiftRight, left, by())
                }
            };
        }
        Scalar::Int => return value,
    };
    guards::binary(BinaryOp::BitAnd, value, ir::Expr::Const(mask))
}

impl Lowering<'_> {
    /// An expression. `run` must be gone from it.
    pub(super) fn expr(&mut self, expr: &Expr, context: Context) -> ir::Expr {
        match expr {
            Expr::Const(value) => ir::Expr::Const(*value),
            Expr::Load(place) => self.load(place, context),
            Expr::Unary(op, inner) => {
                let inner = self.expr(inner, context);
                match (op, inner) {
                    (Unary::Not, inner) => guards::not(inner),
                    (Unary::Minus, ir::Expr::Const(v)) => ir::Expr::Const(v.wrapping_neg()),
                    (Unary::Complement, ir::Expr::Const(v)) => ir::Expr::Const(!v),
                    (Unary::Minus, inner) => ir::Expr::Unary(UnaryOp::Negate, Box::new(inner)),
                    (Unary::Complement, inner) => ir::Expr::Unary(UnaryOp::BitNot, Box::new(inner)),
                }
            }
            Expr::Binary(op, left, right, span) => self.binary(*op, left, right, *span, context),
            Expr::Conditional(condition, yes, no) => {
                let condition = self.expr(condition, context);
                let yes = self.expr(yes, context);
                let no = self.expr(no, context);
                guards::choose(condition, yes, no)
            }
            Expr::Run(run) => {
                let message = "`run` can only stand alone or on the right of an assignment";
                self.error("PML092", message, run.span);
                ir::Expr::Const(0)
            }
            Expr::Len(place) => {
                let target = self.target(place, context);
                ir::Expr::Length(self.channel_ref(&target, place.span))
            }
            Expr::Probe(probe, place) => self.probe(*probe, place, context),
            Expr::Poll {
                channel,
                pattern,
                random,
                span,
            } => self.poll(channel, pattern, *random, *span, context),
            Expr::Enabled(pid, span) => self.enabled_of(pid, *span, context),
            Expr::PcValue(pid) => self.pc_value(pid, context),
            Expr::Timeout => ir::Expr::Const(i32::from(context.timeout)),
            Expr::NonProgress => self.none_at(|state| state.progress),
            Expr::Pid => ir::Expr::Const(context.at.map_or(0, |(slot, _)| slot as i32)),
            Expr::ProcessCount if context.starting => {
                ir::Expr::Const(context.at.map_or(0, |(slot, _)| slot as i32 + 1))
            }
            Expr::ProcessCount => self.process_count(),
            Expr::Last => match (context.sender, self.last) {
                (Some(sender), _) => ir::Expr::Const(sender.slot as i32),
                (None, last) => last.map_or(ir::Expr::Const(0), ir::Expr::Var),
            },
            Expr::Priority(pid) => self.priority_of(pid.as_deref(), context),
            Expr::Any => ir::Expr::Const(0),
            Expr::RemoteLabel {
                process,
                pid,
                label,
            } => {
                let state = self.source.processes[process.0].flow.label_state(label);
                let pid = pid.as_ref().map(|p| self.expr(p, context));
                self.at_instance(*process, pid, |lowering, slot, instance| {
                    if let Some(sender) = context.sender
                        && sender.slot == slot
                    {
                        let there = sender.instance == instance && state == Some(sender.state);
                        return ir::Expr::Const(i32::from(there));
                    }
                    match state.and_then(|s| lowering.location(slot, instance, s)) {
                        Some(location) => {
                            let counter = ir::Expr::Var(lowering.slots[slot].counter);
                            guards::is(counter, location as i32)
                        }
                        None => ir::Expr::Const(0),
                    }
                })
            }
            Expr::RemoteVariable {
                process,
                pid,
                place,
            } => {
                let pid = pid.as_ref().map(|p| self.expr(p, context));
                // Indices are evaluated by the one who asks, not by the process asked about.
                let indices: Vec<ir::Expr> = place
                    .indices
                    .iter()
                    .map(|i| self.expr(i, context))
                    .collect();
                self.at_instance(*process, pid, |lowering, slot, instance| {
                    let there = Context::of(slot, instance);
                    lowering.load_at(place, indices.clone(), there)
                })
            }
        }
    }

    fn binary(
        &mut self,
        op: Binary,
        left: &Expr,
        right: &Expr,
        span: Span,
        context: Context,
    ) -> ir::Expr {
        if let (Expr::ProcessCount, Expr::Const(value)) = (left, right)
            && !context.starting
            && let Some(test) = self.count_is(op, *value)
        {
            return test;
        }
        let left = self.expr(left, context);
        let right = self.expr(right, context);
        let plain = match op {
            Binary::And => return guards::and(guards::truth(left), guards::truth(right)),
            Binary::Or => return guards::or(guards::truth(left), guards::truth(right)),
            Binary::Divide | Binary::Remainder => {
                let op = if op == Binary::Divide {
                    DivideOp::Quotient
                } else {
                    DivideOp::Remainder
                };
                if let (ir::Expr::Const(a), ir::Expr::Const(b)) = (&left, &right)
                    && let Some(value) = op.apply(*a, *b)
                {
                    return ir::Expr::Const(value);
                }
                let message = format!("`{}` divides by zero", self.text(span));
                let site = self
                    .program
                    .site(FailureKind::DivisionByZero, message, Some(span));
                return ir::Expr::Divide(op, Box::new(left), Box::new(right), site);
            }
            Binary::Add => BinaryOp::Add,
            Binary::Subtract => BinaryOp::Subtract,
            Binary::Multiply => BinaryOp::Multiply,
            Binary::BitAnd => BinaryOp::BitAnd,
            Binary::BitXor => BinaryOp::BitXor,
            Binary::BitOr => BinaryOp::BitOr,
            Binary::ShiftLeft => BinaryOp::ShiftLeft,
            Binary::ShiftRight => BinaryOp::ShiftRight,
            Binary::Less => BinaryOp::Less,
            Binary::LessEqual => BinaryOp::LessEqual,
            Binary::Greater => BinaryOp::Greater,
            Binary::GreaterEqual => BinaryOp::GreaterEqual,
            Binary::Equal => BinaryOp::Equal,
            Binary::NotEqual => BinaryOp::NotEqual,
        };
        guards::binary(plain, left, right)
    }

    /// No process is in a control state of this kind.
    pub(super) fn none_at(&self, is_meant: fn(&State) -> bool) -> ir::Expr {
        let mut none = ir::Expr::Const(1);
        for slot in &self.slots {
            for instance in &slot.instances {
                let flow = &self.source.processes[instance.process.0].flow;
                for (state, location) in instance.locations.iter().enumerate() {
                    if let (Some(location), true) = (location, is_meant(&flow.states[state])) {
                        let there = guards::is(ir::Expr::Var(slot.counter), *location as i32);
                        none = guards::and(none, guards::not(there));
                    }
                }
            }
        }
        none
    }

    /// The number of processes: the slots in use are the first ones.
    fn process_count(&self) -> ir::Expr {
        let mut count = ir::Expr::Const(0);
        for slot in 0..self.slots.len() {
            count = guards::choose(self.alive(slot), ir::Expr::Const(slot as i32 + 1), count);
        }
        count
    }

    /// Comparisons of the number of processes with a constant look at one or two slots only.
    fn count_is(&self, op: Binary, value: i32) -> Option<ir::Expr> {
        let more_than = |n: i32| match usize::try_from(n) {
            Ok(slot) => self.alive(slot),
            Err(_) => ir::Expr::Const(1),
        };
        Some(match op {
            Binary::Greater => more_than(value),
            Binary::GreaterEqual => more_than(value - 1),
            Binary::Less => guards::not(more_than(value - 1)),
            Binary::LessEqual => guards::not(more_than(value)),
            Binary::Equal => guards::and(more_than(value - 1), guards::not(more_than(value))),
            Binary::NotEqual => guards::or(guards::not(more_than(value - 1)), more_than(value)),
            _ => return None,
        })
    }

    pub(super) fn load(&mut self, place: &Place, context: Context) -> ir::Expr {
        let indices = place
            .indices
            .iter()
            .map(|i| self.expr(i, context))
            .collect();
        self.load_at(place, indices, context)
    }

    fn load_at(&mut self, place: &Place, indices: Vec<ir::Expr>, context: Context) -> ir::Expr {
        let index = self.flat_index(place, indices, context);
        match self.store(place, context).cloned() {
            Some(Store::Constant(values)) => match index {
                None => ir::Expr::Const(values.first().copied().unwrap_or(0)),
                Some(ir::Expr::Const(at)) if values.get(at as usize).is_some() => {
                    ir::Expr::Const(values[at as usize])
                }
                Some(index) => {
                    let range = self.program.interval(&index);
                    let mut value = match range.within(0, values.len() as i32 - 1) {
                        true => ir::Expr::Const(0),
                        false => self.index_failure(place, context),
                    };
                    for (at, constant) in values.iter().enumerate().rev() {
                        let here = guards::is(index.clone(), at as i32);
                        value = guards::choose(here, ir::Expr::Const(*constant), value);
                    }
                    value
                }
            },
            Some(Store::Variable(id)) => match index {
                None => ir::Expr::Var(id),
                Some(index) => {
                    let site = self.index_site(place, context);
                    ir::Expr::Element(id, Box::new(index), site)
                }
            },
            None => ir::Expr::Const(0),
        }
    }

    fn index_site(&mut self, place: &Place, context: Context) -> ir::Site {
        let message = self.index_message(place, context);
        self.program
            .site(FailureKind::IndexOutOfBounds, message, Some(place.span))
    }

    fn index_failure(&mut self, place: &Place, context: Context) -> ir::Expr {
        let message = self.index_message(place, context);
        self.failing(FailureKind::IndexOutOfBounds, message, place.span)
    }

    /// An expression that fails wherever it is evaluated.
    pub(super) fn failing(&mut self, kind: FailureKind, message: String, span: Span) -> ir::Expr {
        let site = self.program.site(kind, message, Some(span));
        let zero = || Box::new(ir::Expr::Const(0));
        ir::Expr::Divide(DivideOp::Quotient, zero(), zero(), site)
    }

    fn index_message(&self, place: &Place, context: Context) -> String {
        let name = self
            .declared(place, context)
            .map_or_else(String::new, |v| v.name.to_string());
        format!(
            "`{}`: index outside of the array {name}",
            self.text(place.span)
        )
    }

    /// Where to assign; None for something that cannot be assigned.
    pub(super) fn assignable(&mut self, place: &Place, context: Context) -> Option<ir::Place> {
        let indices = place
            .indices
            .iter()
            .map(|i| self.expr(i, context))
            .collect();
        let index = self.flat_index(place, indices, context);
        match self.store(place, context)?.clone() {
            Store::Variable(id) => Some(match index {
                None => ir::Place::Var(id),
                Some(index) => {
                    let site = self.index_site(place, context);
                    ir::Place::Element(id, index, site)
                }
            }),
            Store::Constant(_) => None,
        }
    }

    /// One index for nested arrays; -1, which no array has, where an inner index is outside.
    pub(super) fn flat_index(
        &mut self,
        place: &Place,
        indices: Vec<ir::Expr>,
        context: Context,
    ) -> Option<ir::Expr> {
        let dims = self
            .declared(place, context)?
            .leaves
            .get(place.leaf)?
            .dims
            .clone();
        let mut flat: Option<ir::Expr> = None;
        let mut inside = ir::Expr::Const(1);
        for (index, dim) in indices.into_iter().zip(&dims) {
            if dims.len() > 1 {
                let range = self.program.interval(&index);
                let size = *dim as i32;
                if range.min < 0 || range.max >= size {
                    let low =
                        guards::binary(BinaryOp::GreaterEqual, index.clone(), ir::Expr::Const(0));
                    let high = guards::binary(BinaryOp::Less, index.clone(), ir::Expr::Const(size));
                    inside = guards::and(inside, guards::and(low, high));
                }
            }
            flat = Some(match flat {
                None => index,
                Some(outer) => {
                    let scaled =
                        guards::binary(BinaryOp::Multiply, outer, ir::Expr::Const(*dim as i32));
                    guards::binary(BinaryOp::Add, scaled, index)
                }
            });
        }
        flat.map(|flat| guards::choose(inside, flat, ir::Expr::Const(-1)))
    }

    fn probe(&mut self, probe: Probe, place: &Place, context: Context) -> ir::Expr {
        let target = self.target(place, context);
        self.by_channel(&target, place.span, |lowering, channel| {
            let found = &lowering.channels.list[channel];
            let length = ir::Expr::Length(ir::ChannelRef::Fixed(found.id));
            let (op, value) = match (probe, found.capacity) {
                (Probe::Full, 0) | (Probe::NotEmpty, 0) => return ir::Expr::Const(0),
                (Probe::NotFull, 0) | (Probe::Empty, 0) => return ir::Expr::Const(1),
                (Probe::Full, capacity) => (BinaryOp::GreaterEqual, capacity as i32),
                (Probe::NotFull, capacity) => (BinaryOp::Less, capacity as i32),
                (Probe::Empty, _) => (BinaryOp::LessEqual, 0),
                (Probe::NotEmpty, _) => (BinaryOp::Greater, 0),
            };
            guards::binary(op, length, ir::Expr::Const(value))
        })
    }

    fn poll(
        &mut self,
        place: &Place,
        pattern: &[Option<Expr>],
        random: bool,
        span: Span,
        context: Context,
    ) -> ir::Expr {
        let target = self.target(place, context);
        let pattern: Vec<Option<ir::Expr>> = pattern
            .iter()
            .map(|p| p.as_ref().map(|e| self.expr(e, context)))
            .collect();
        self.by_channel(&target, span, |lowering, channel| {
            let found = &lowering.channels.list[channel];
            let (capacity, fields) = (found.capacity, found.fields.len());
            if capacity == 0 {
                return lowering.nothing_to_poll(span, "polls a rendez-vous channel");
            }
            let fits = lowering.message_fits(channel, &pattern, random, span);
            match pattern.len() > fields && !random {
                true => {
                    let why = "has more fields than the channel";
                    guards::and(fits, lowering.nothing_to_poll(span, why))
                }
                false => fits,
            }
        })
    }

    /// Looking at a message, or a field, that a channel never has: it fails.
    pub(super) fn nothing_to_poll(&mut self, span: Span, why: &str) -> ir::Expr {
        let message = format!("`{}` {why}", self.text(span));
        let site = self
            .program
            .site(FailureKind::BadChannel, message, Some(span));
        ir::Expr::Length(ir::ChannelRef::Denoted {
            value: Box::new(ir::Expr::Const(0)),
            targets: Box::new([]),
            site,
        })
    }

    /// Whether a buffered channel holds a message with these values (the first, or any).
    pub(super) fn message_fits(
        &mut self,
        channel: usize,
        pattern: &[Option<ir::Expr>],
        random: bool,
        span: Span,
    ) -> ir::Expr {
        let capacity = self.channels.list[channel].capacity;
        let wanted = pattern.iter().any(Option::is_some);
        let positions = if random && wanted {
            capacity
        } else {
            capacity.min(1)
        };
        let mut any = ir::Expr::Const(0);
        for position in (0..positions).rev() {
            let here = self.fits_at(channel, pattern, position, span);
            any = guards::or(here, any);
        }
        any
    }

    /// Whether there is a message at a position, and it has these values.
    pub(super) fn fits_at(
        &mut self,
        channel: usize,
        pattern: &[Option<ir::Expr>],
        position: u32,
        span: Span,
    ) -> ir::Expr {
        let reference = ir::ChannelRef::Fixed(self.channels.list[channel].id);
        let length = ir::Expr::Length(reference);
        let mut fits = guards::binary(BinaryOp::Greater, length, ir::Expr::Const(position as i32));
        let fields = self.channels.list[channel].fields.len();
        for (item, wanted) in pattern.iter().enumerate().take(fields) {
            let Some(wanted) = wanted else { continue };
            let peek = self.peek(channel, ir::Expr::Const(position as i32), item, span);
            fits = guards::and(fits, guards::binary(BinaryOp::Equal, peek, wanted.clone()));
        }
        fits
    }

    /// A field of the message at a position of a channel.
    pub(super) fn peek(
        &mut self,
        channel: usize,
        position: ir::Expr,
        item: usize,
        span: Span,
    ) -> ir::Expr {
        ir::Expr::Peek {
            channel: ir::ChannelRef::Fixed(self.channels.list[channel].id),
            position: Box::new(position),
            item: item as u32,
            site: self.bad_channel(span),
        }
    }

    /// Something about the process `pid` of a type; without a number, about the first one.
    fn at_instance(
        &mut self,
        process: ProcId,
        pid: Option<ir::Expr>,
        mut about: impl FnMut(&mut Self, usize, usize) -> ir::Expr,
    ) -> ir::Expr {
        let mut result = ir::Expr::Const(0);
        for slot in (0..self.slots.len()).rev() {
            let instances = &self.slots[slot].instances;
            let Some(instance) = instances.iter().position(|i| i.process == process) else {
                continue;
            };
            let this = match &pid {
                Some(ir::Expr::Const(number)) => ir::Expr::Const(i32::from(*number == slot as i32)),
                Some(pid) => guards::is(pid.clone(), slot as i32),
                None => self.lives_in(slot, instance),
            };
            if this != ir::Expr::Const(0) {
                let here = about(self, slot, instance);
                result = guards::choose(this, here, result);
            }
        }
        result
    }

    /// Whether the process in a slot exists and is of this type.
    fn lives_in(&self, slot: usize, instance: usize) -> ir::Expr {
        if self.slots[slot].instances.len() == 1 {
            return self.alive(slot);
        }
        let mut any = ir::Expr::Const(0);
        for location in self.slots[slot].instances[instance]
            .locations
            .iter()
            .flatten()
        {
            let counter = ir::Expr::Var(self.slots[slot].counter);
            any = guards::or(any, guards::is(counter, *location as i32));
        }
        any
    }

    /// `pc_value(pid)`: SPIN's number of the control state.
    fn pc_value(&mut self, pid: &Expr, context: Context) -> ir::Expr {
        let pid = self.expr(pid, context);
        let mut result = ir::Expr::Const(0);
        for slot in 0..self.slots.len() {
            let mut here = ir::Expr::Const(0);
            for instance in &self.slots[slot].instances {
                for (state, location) in instance.locations.iter().enumerate() {
                    if let Some(location) = location {
                        let counter = ir::Expr::Var(self.slots[slot].counter);
                        let at = guards::is(counter, *location as i32);
                        here = guards::choose(at, ir::Expr::Const(state as i32), here);
                    }
                }
            }
            if let Some(sender) = context.sender
                && sender.slot == slot
            {
                here = ir::Expr::Const(sender.state as i32);
            }
            if context.starting {
                here = match context.at {
                    Some((own, _)) if slot < own => here,
                    Some((own, instance)) if slot == own => {
                        ir::Expr::Const(self.type_of(own, instance).flow.start as i32)
                    }
                    _ => ir::Expr::Const(0),
                };
            }
            result = guards::choose(guards::is(pid.clone(), slot as i32), here, result);
        }
        result
    }

    /// Whether an expression asks for `timeout`, itself or by asking whether somebody could move.
    pub(super) fn asks_timeout(expr: &Expr) -> bool {
        match expr {
            Expr::Timeout | Expr::Enabled(..) => true,
            Expr::Unary(_, inner) => Self::asks_timeout(inner),
            Expr::Binary(_, left, right, _) => {
                Self::asks_timeout(left) || Self::asks_timeout(right)
            }
            Expr::Conditional(a, b, c) => {
                Self::asks_timeout(a) || Self::asks_timeout(b) || Self::asks_timeout(c)
            }
            _ => false,
        }
    }

    /// The variable behind a key, for messages.
    pub(super) fn variable_name(&self, key: VarKey, context: Context) -> String {
        match (key, context.at) {
            (VarKey::Global(at), _) => self.source.globals[at].name.to_string(),
            (VarKey::Local(at), Some((slot, instance))) => {
                self.type_of(slot, instance).locals[at].name.to_string()
            }
            _ => String::new(),
        }
    }
}

/// The parts of a pattern that must match.
pub(super) fn pattern_of(
    lowering: &mut Lowering<'_>,
    arguments: &[crate::hir::Argument],
    context: Context,
) -> Vec<Option<ir::Expr>> {
    let mut pattern = Vec::new();
    for argument in arguments {
        pattern.push(match argument {
            crate::hir::Argument::Match(expr) => Some(lowering.expr(expr, context)),
            _ => None,
        });
    }
    pattern
}
