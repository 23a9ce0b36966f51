//! Relations from the shape of guards and commands.
//!
//! Guards on a single field are sets of values; assignments of constants and increments
//! move those sets around exactly. Two increments of one variable commute, and so do the
//! two ends of a FIFO channel. Guards enter do-not-accord only through what can disable
//! them, actions through the fields they really read (not through read sets that are
//! computed from enabled states, which would be unsound: a guard such as `x == y` can make
//! a real dependency invisible).

use std::borrow::Cow;
use std::collections::BTreeMap;

use stubborn_system::{ChannelId, FieldId, LabelId, System, TransitionId};

use super::links::Links;
use super::support::{Support, shares};
use super::values::{Part, Values, message, parts, satisfying};
use crate::effects::Effects;
use crate::{BinaryOp, ChannelRef, Expr, Model, Overflow, Place, SendOrder, Statement};

/// What a command does to a field it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Always this value.
    Constant(i64),
    /// Adds this, and looks at the field nowhere else in its body.
    Increment(i64),
    /// Anything.
    Other,
}

/// The end of a FIFO channel that a command works on, if that is all it does to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Send(ChannelId),
    Receive(ChannelId),
}

/// One command, summarised.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    changes: Vec<(FieldId, Change)>,
    /// Fields that the body reads other than in its increments, sorted.
    pub(super) plain_reads: Vec<FieldId>,
    end: Option<End>,
}

/// Facts that follow from syntax.
pub(super) struct Syntax<'m> {
    pub(super) model: &'m Model,
    summaries: Vec<Summary>,
    /// What each chain does, command by command.
    links: Links,
    /// For labels on one field: the field and the values that satisfy it.
    pub(super) satisfying: Vec<Option<(FieldId, Values)>>,
    /// For other labels: what they are put together from.
    parts: Vec<Vec<Part>>,
    /// By command: the values of fields where it is enabled, sorted by field.
    pub(super) enabling: Vec<Vec<(FieldId, Values)>>,
}

impl<'m> Syntax<'m> {
    pub(super) fn new(model: &'m Model, supports: &[Support]) -> Self {
        let structure = model.structure();
        let summaries = structure
            .transition_ids()
            .map(|t| Summary::new(model, &supports[t.index()], t))
            .collect();
        let satisfying: Vec<_> = structure
            .label_ids()
            .map(|l| satisfying(model, l))
            .collect();
        let parts = structure.label_ids().map(|l| parts(model, l)).collect();
        let enabling = supports
            .iter()
            .map(|support| enabling(model, &satisfying, &support.guards))
            .collect();
        Self {
            model,
            summaries,
            links: Links::new(model, supports, &satisfying),
            satisfying,
            parts,
            enabling,
        }
    }

    /// The two labels test one field and no value satisfies both.
    pub(super) fn never_together(&self, g: LabelId, h: LabelId) -> bool {
        match (&self.satisfying[g.index()], &self.satisfying[h.index()]) {
            (Some((f, a)), Some((e, b))) => f == e && a.intersection(b).is_empty(),
            _ => false,
        }
    }

    /// Two commands are never enabled in the same state.
    pub(super) fn never_co_enabled(&self, t: TransitionId, u: TransitionId) -> bool {
        let (mut a, mut b) = (&self.enabling[t.index()][..], &self.enabling[u.index()][..]);
        while let ([(f, values), rest @ ..], [(e, others), last @ ..]) = (a, b) {
            if f == e && values.intersection(others).is_empty() {
                return true;
            }
            (a, b) = (if f <= e { rest } else { a }, if e <= f { last } else { b });
        }
        false
    }

    /// The values of a field where a command is enabled, as far as guards on that field alone say.
    fn before(&self, transition: TransitionId, field: FieldId) -> Cow<'_, Values> {
        let enabling = &self.enabling[transition.index()];
        match enabling.binary_search_by_key(&field, |(f, _)| *f) {
            Ok(at) => Cow::Borrowed(&enabling[at].1),
            Err(_) => {
                let declared = self.model.layout().field(field);
                Cow::Owned(Values::interval(declared.min, declared.max))
            }
        }
    }

    /// Whether firing the command can turn the label to `to`.
    pub(super) fn may_turn(
        &self,
        label: LabelId,
        transition: TransitionId,
        support: &Support,
        to: bool,
    ) -> bool {
        let tests = &self.model.structure().label(label).tests;
        if !shares(tests, &support.writes) {
            return false;
        }
        let by = (transition, &self.summaries[transition.index()]);
        self.command_may_turn(label, by, &support.writes, to)
    }

    /// The same for one command, which writes something that the label tests.
    fn command_may_turn(
        &self,
        label: LabelId,
        by: (TransitionId, &Summary),
        writes: &[FieldId],
        to: bool,
    ) -> bool {
        let Some((field, holds)) = &self.satisfying[label.index()] else {
            let parts = &self.parts[label.index()];
            return parts.is_empty() || parts.iter().any(|part| self.may_change(part, by, writes));
        };
        self.may_turn_values((*field, holds), by, to)
    }

    /// Whether firing the command can change a part of a label.
    fn may_change(&self, part: &Part, by: (TransitionId, &Summary), writes: &[FieldId]) -> bool {
        if !shares(&part.fields, writes) {
            return false;
        }
        match (&part.values, &part.fields[..]) {
            (Some(holds), [field]) => [true, false]
                .iter()
                .any(|to| self.may_turn_values((*field, holds), by, *to)),
            _ => true,
        }
    }

    /// Whether firing the command, which writes a field, can turn a condition on it to `to`.
    fn may_turn_values(
        &self,
        (field, holds): (FieldId, &Values),
        (transition, summary): (TransitionId, &Summary),
        to: bool,
    ) -> bool {
        let declared = self.model.layout().field(field);
        let fails = holds.complement(declared.min, declared.max);
        let (from, target) = if to { (&fails, holds) } else { (holds, &fails) };
        let from = self.before(transition, field).intersection(from);
        match summary.change(field) {
            Change::Constant(value) => !from.is_empty() && target.contains(value),
            Change::Increment(by) => !from.shifted(by).intersection(target).is_empty(),
            Change::Other => !from.is_empty(),
        }
    }

    /// `t` is certainly disabled right after `u`.
    pub(super) fn never_after(&self, t: TransitionId, u: TransitionId, after: &Support) -> bool {
        self.enabling[t.index()].iter().any(|(field, holds)| {
            let before = || self.before(u, *field);
            match self.change_if_written(u, *field, after) {
                None => before().intersection(holds).is_empty(),
                Some(Change::Constant(value)) => !holds.contains(value),
                Some(Change::Increment(by)) => before().shifted(by).intersection(holds).is_empty(),
                Some(Change::Other) => false,
            }
        })
    }

    fn change_if_written(
        &self,
        t: TransitionId,
        field: FieldId,
        support: &Support,
    ) -> Option<Change> {
        support
            .writes
            .binary_search(&field)
            .ok()
            .map(|_| self.change(t, field))
    }

    fn change(&self, transition: TransitionId, field: FieldId) -> Change {
        self.summaries[transition.index()].change(field)
    }

    /// The values of a field around a step of `u`, where the analysis knows some that it has not: where
    /// it is enabled, and after it.
    pub(super) fn around(
        &self,
        u: TransitionId,
        field: FieldId,
        us: &Support,
    ) -> Option<Around<'_>> {
        let enabling = &self.enabling[u.index()];
        let at = enabling.binary_search_by_key(&field, |(f, _)| *f).ok()?;
        let after = match self.change_if_written(u, field, us) {
            None => None,
            Some(Change::Constant(value)) => Some(value),
            Some(Change::Increment(_) | Change::Other) => return None,
        };
        Some(Around {
            before: &enabling[at].1,
            after,
        })
    }

    /// Whether the two can get into each other's way where both are enabled.
    pub(super) fn may_not_accord(
        &self,
        (t, ts): (TransitionId, &Support),
        (u, us): (TransitionId, &Support),
    ) -> bool {
        if self.links.of(t).is_some() || self.links.of(u).is_some() {
            return self.chains_may_not_accord((t, ts), (u, us));
        }
        let channel = self.fifo_ends(t, u);
        let ignored: Vec<FieldId> = channel
            .map(|c| self.model.encoding().channel_fields(c).collect())
            .unwrap_or_default();
        let disables = |g: &LabelId, by: TransitionId, support: &Support| {
            let tests = &self.model.structure().label(*g).tests;
            let on_channel = tests.iter().all(|f| ignored.contains(f));
            !on_channel && self.may_spoil(*g, by, support)
        };
        if us.guards.iter().any(|g| disables(g, t, ts))
            || ts.guards.iter().any(|g| disables(g, u, us))
        {
            return true;
        }
        let conflict = |a: TransitionId, writes: &[FieldId], b: TransitionId, other: &Support| {
            writes.iter().filter(|f| !ignored.contains(f)).any(|field| {
                let reads = &self.summaries[b.index()].plain_reads;
                if reads.binary_search(field).is_ok() {
                    return true;
                }
                if other.writes.binary_search(field).is_err() {
                    return false;
                }
                // One increment can make the other overflow.
                let transition = |t: TransitionId| self.model.structure().transition(t);
                let overflow = transition(a).may_fail || transition(b).may_fail;
                (overflow
                    || !matches!(
                        (self.change(a, *field), self.change(b, *field)),
                        (Change::Increment(_), Change::Increment(_))
                    ))
                    && !matches!(
                        (self.change(a, *field), self.change(b, *field)),
                        (Change::Constant(v), Change::Constant(w)) if v == w
                    )
            })
        };
        conflict(t, &ts.writes, u, us) || conflict(u, &us.writes, t, ts)
    }

    /// Whether a step may make a guard of another one false, if only for a while, or fail.
    pub(super) fn may_spoil(&self, guard: LabelId, by: TransitionId, support: &Support) -> bool {
        let program = self.model.program();
        let tests = &self.model.structure().label(guard).tests;
        // A guard that fails to evaluate holds, but the step is then no ordinary one.
        let spoils = || {
            shares(tests, &support.writes) && program.may_fail(&program.labels[guard.index()].expr)
        };
        let disables = match self.links.of(by) {
            // A chain turns a label only where one of its commands does.
            Some(links) => links.commands().any(|(command, writes, summary)| {
                shares(tests, writes)
                    && self.command_may_turn(guard, (command, summary), writes, false)
            }),
            None => self.may_turn(guard, by, support, false),
        };
        disables || spoils()
    }

    /// The same as [`may_not_accord`](Self::may_not_accord) where one is a chain of which the
    /// commands are known: without those that cannot run beside a step of the other.
    fn chains_may_not_accord(
        &self,
        (t, ts): (TransitionId, &Support),
        (u, us): (TransitionId, &Support),
    ) -> bool {
        if us.guards.iter().any(|g| self.may_spoil(*g, t, ts))
            || ts.guards.iter().any(|g| self.may_spoil(*g, u, us))
        {
            return true;
        }
        let beside = |t: TransitionId, ts: &Support, u: TransitionId, us: &Support| {
            let reads = &self.summaries[t.index()].plain_reads;
            match self.links.of(t) {
                None => (reads.clone(), ts.writes.clone()),
                Some(links) => links.beside(self, u, us),
            }
        };
        let (t_reads, t_writes) = beside(t, ts, u, us);
        let (u_reads, u_writes) = beside(u, us, t, ts);
        shares(&t_writes, &u_writes) || shares(&t_writes, &u_reads) || shares(&t_reads, &u_writes)
    }

    /// The channel that one sends to and the other receives from, if that is all that the
    /// two do to it: with a message and room, the two ends do not meet.
    fn fifo_ends(&self, t: TransitionId, u: TransitionId) -> Option<ChannelId> {
        let end = |t: TransitionId| self.summaries[t.index()].end;
        let (channel, sender, receiver) = match (end(t), end(u)) {
            (Some(End::Send(c)), Some(End::Receive(d))) if c == d => (c, t, u),
            (Some(End::Receive(c)), Some(End::Send(d))) if c == d => (c, u, t),
            _ => return None,
        };
        let fields: Vec<FieldId> = {
            let mut list: Vec<_> = self.model.encoding().channel_fields(channel).collect();
            list.sort_unstable();
            list
        };
        let program = self.model.program();
        let reference = ChannelRef::Fixed(channel);
        let room = program.has_room(&reference);
        let message = crate::Program::has_message(&reference);
        let structure = self.model.structure();
        let guards = |t: TransitionId| structure.transition(t).guards.iter();
        let touches = |g: &&LabelId| shares(&structure.label(**g).tests, &fields);
        let expr = |g: &LabelId| &program.labels[g.index()].expr;
        let send_is_plain = guards(sender)
            .filter(touches)
            .all(|g| Some(expr(g)) == room.as_ref());
        let receive_is_plain = guards(receiver)
            .filter(touches)
            .all(|g| *expr(g) == message || looks_at_oldest_only(expr(g), channel));
        let receive_is_guarded = guards(receiver).any(|g| *expr(g) == message);
        let send_is_guarded = guards(sender).any(|g| Some(expr(g)) == room.as_ref());
        (send_is_plain && receive_is_plain && receive_is_guarded && send_is_guarded)
            .then_some(channel)
    }
}

/// The values of fields for which guards that look at one field hold, sorted by field.
///
/// A guard on a message looks at the length of the channel as well, and where there is no such
/// message it fails, which counts as holding. But where another guard says that there is one, the
/// message is as the guard says.
fn enabling(
    model: &Model,
    satisfying: &[Option<(FieldId, Values)>],
    guards: &[LabelId],
) -> Vec<(FieldId, Values)> {
    let mut known: BTreeMap<FieldId, Values> = BTreeMap::new();
    let learn = |known: &mut BTreeMap<FieldId, Values>, field: FieldId, values: &Values| {
        let entry = known.entry(field).or_insert_with(|| values.clone());
        *entry = entry.intersection(values);
    };
    for (field, values) in guards.iter().filter_map(|g| satisfying[g.index()].as_ref()) {
        learn(&mut known, *field, values);
    }
    for (length, position, field, values) in guards.iter().filter_map(|g| message(model, *g)) {
        let missing = Values::interval(0, position);
        let is_there = |lengths: &Values| lengths.intersection(&missing).is_empty();
        if known.get(&length).is_some_and(is_there) {
            learn(&mut known, field, &values);
        }
    }
    known.into_iter().collect()
}

/// The expression looks at a channel only through the oldest message.
fn looks_at_oldest_only(expr: &Expr, channel: ChannelId) -> bool {
    let on = |reference: &ChannelRef| reference.targets().any(|c| c == channel);
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Temp(_) => true,
        Expr::Element(_, index, _) => looks_at_oldest_only(index, channel),
        Expr::Unary(_, operand) => looks_at_oldest_only(operand, channel),
        Expr::Binary(_, a, b) | Expr::Divide(_, a, b, _) | Expr::And(a, b) | Expr::Or(a, b) => {
            looks_at_oldest_only(a, channel) && looks_at_oldest_only(b, channel)
        }
        Expr::If(a, b, c) => [a, b, c].iter().all(|e| looks_at_oldest_only(e, channel)),
        Expr::Length(reference) => !on(reference),
        Expr::Peek {
            channel: reference,
            position,
            ..
        } => {
            !on(reference)
                || (**position == Expr::Const(0) && matches!(reference, ChannelRef::Fixed(_)))
        }
    }
}

/// The values of a field where a step is enabled, and the one that the step gives to it, if it does.
pub(super) struct Around<'s> {
    pub(super) before: &'s Values,
    pub(super) after: Option<i64>,
}

impl Around<'_> {
    /// Whether none of the values is one of these.
    pub(super) fn avoids(&self, values: &Values) -> bool {
        self.before.intersection(values).is_empty()
            && self.after.is_none_or(|value| !values.contains(value))
    }

    /// Whether all values are some of these.
    pub(super) fn keeps_to(&self, values: &Values) -> bool {
        self.before.intersection(values) == *self.before
            && self.after.is_none_or(|value| values.contains(value))
    }
}

impl Summary {
    fn change(&self, field: FieldId) -> Change {
        let found = self.changes.iter().find(|(f, _)| *f == field);
        found.map_or(Change::Other, |(_, change)| *change)
    }

    pub(super) fn new(model: &Model, support: &Support, id: TransitionId) -> Self {
        if support.chain {
            // More happens than the body says.
            let other = |field: &FieldId| (*field, Change::Other);
            return Self {
                changes: support.writes.iter().map(other).collect(),
                plain_reads: support.reads.clone(),
                end: None,
            };
        }
        let body = &model.program().commands[id.index()].body;
        let reads_without = |skipped: &[usize]| {
            let mut effects = Effects::new(model.program(), model.encoding());
            for (at, statement) in body.iter().enumerate() {
                if !skipped.contains(&at) {
                    effects.body(std::slice::from_ref(statement));
                }
            }
            effects.finish()
        };
        let mut increments = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            if let Some((field, by)) = increment(model, statement) {
                let (reads, writes) = reads_without(&[at]);
                if reads.binary_search(&field).is_err() && writes.binary_search(&field).is_err() {
                    increments.push((at, field, by));
                }
            }
        }
        let skipped: Vec<usize> = increments.iter().map(|(at, ..)| *at).collect();
        let (plain_reads, _) = reads_without(&skipped);
        let channel_lengths = channel_lengths(model, body);
        let changes = support.writes.iter().map(|field| {
            let declared = model.layout().field(*field);
            let constant = support
                .constant_for(*field)
                .map(|raw| i64::from(raw) + declared.min);
            let increment = increments
                .iter()
                .find(|(_, f, _)| f == field)
                .map(|(_, _, by)| *by);
            let length = channel_lengths
                .iter()
                .find(|(f, _)| f == field)
                .map(|(_, by)| *by);
            let change = match (constant, increment.or(length)) {
                (Some(value), _) => Change::Constant(value),
                (None, Some(by)) => Change::Increment(by),
                (None, None) => Change::Other,
            };
            (*field, change)
        });
        Self {
            changes: changes.collect(),
            plain_reads,
            end: channel_end(model, body, &support.reads),
        }
    }
}

/// `x = x + constant` on a scalar that does not wrap.
fn increment(model: &Model, statement: &Statement) -> Option<(FieldId, i64)> {
    let Statement::Assign {
        target: Place::Var(variable),
        value,
        ..
    } = statement
    else {
        return None;
    };
    let Expr::Binary(op, left, right) = value else {
        return None;
    };
    let by = match (op, &**left, &**right) {
        (BinaryOp::Add, Expr::Var(v), Expr::Const(c))
        | (BinaryOp::Add, Expr::Const(c), Expr::Var(v))
            if v == variable =>
        {
            i64::from(*c)
        }
        (BinaryOp::Subtract, Expr::Var(v), Expr::Const(c)) if v == variable => -i64::from(*c),
        _ => return None,
    };
    let item = &model.program().variables[variable.index()].item;
    (item.overflow == Overflow::Fail).then(|| (model.encoding().first_field(*variable), by))
}

/// How the lengths of channels change, for channels with a single operation at the top of
/// the body.
fn channel_lengths(model: &Model, body: &[Statement]) -> Vec<(FieldId, i64)> {
    let mut out: Vec<(FieldId, i64)> = Vec::new();
    let mut unclear = Vec::new();
    for statement in body {
        let (channel, by) = match statement {
            Statement::Send { channel, .. } => (channel, 1),
            Statement::Receive {
                channel, remove, ..
            } => (channel, -i64::from(*remove)),
            Statement::If { .. } | Statement::While { .. } => {
                let mut effects = Effects::new(model.program(), model.encoding());
                effects.body(std::slice::from_ref(statement));
                unclear.extend(effects.finish().1);
                continue;
            }
            _ => continue,
        };
        match channel {
            ChannelRef::Fixed(id) => {
                let field = model.encoding().channels[id.index()].length;
                if out.iter().any(|(f, _)| *f == field) {
                    unclear.push(field);
                }
                out.push((field, by));
            }
            ChannelRef::Denoted { .. } => {
                unclear.extend(
                    channel
                        .targets()
                        .map(|c| model.encoding().channels[c.index()].length),
                );
            }
        }
    }
    out.retain(|(f, _)| !unclear.contains(f));
    out
}

/// The one channel operation of a body, if it is a plain send or a plain receive of the
/// oldest message of a fixed channel, and nothing else in the body looks at that channel.
fn channel_end(model: &Model, body: &[Statement], reads: &[FieldId]) -> Option<End> {
    let mut operations = body
        .iter()
        .enumerate()
        .filter(|(_, s)| matches!(s, Statement::Send { .. } | Statement::Receive { .. }));
    let (at, operation) = operations.next()?;
    if operations.next().is_some() || reads.is_empty() {
        return None;
    }
    let end = match operation {
        Statement::Send {
            channel: ChannelRef::Fixed(c),
            order: SendOrder::Fifo,
            ..
        } => End::Send(*c),
        Statement::Receive {
            channel: ChannelRef::Fixed(c),
            position: None,
            remove: true,
            ..
        } => End::Receive(*c),
        _ => return None,
    };
    let (End::Send(channel) | End::Receive(channel)) = end;
    let mut rest = Effects::new(model.program(), model.encoding());
    for (nr, statement) in body.iter().enumerate() {
        match statement {
            // What the operation itself evaluates counts, the channel it works on does not.
            Statement::Send { values, .. } if nr == at => {
                values.iter().for_each(|v| rest.expression(v));
            }
            Statement::Receive { targets, .. } if nr == at => {
                for target in targets.iter().flatten() {
                    if let Place::Element(_, index, _) = target {
                        rest.expression(index);
                    }
                }
            }
            other => rest.body(std::slice::from_ref(other)),
        }
    }
    let (reads, writes) = rest.finish();
    let mut fields: Vec<_> = model.encoding().channel_fields(channel).collect();
    fields.sort_unstable();
    (!shares(&reads, &fields) && !shares(&writes, &fields)).then_some(end)
}
