//! Which fields expressions look at, and which fields statements look at and change.

use stubborn_system::FieldId;

use crate::{ChannelRef, Encoding, Expr, Place, Program, Statement, VarId, VariablePlace};

/// Collects fields while walking expressions and statements.
pub struct Effects<'a> {
    program: &'a Program,
    encoding: &'a Encoding,
    /// Fields that were looked at.
    pub reads: Vec<FieldId>,
    /// Fields that may be changed.
    pub writes: Vec<FieldId>,
}

impl<'a> Effects<'a> {
    /// Nothing seen yet.
    pub fn new(program: &'a Program, encoding: &'a Encoding) -> Self {
        Self {
            program,
            encoding,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The sorted sets of fields read and written.
    pub fn finish(mut self) -> (Vec<FieldId>, Vec<FieldId>) {
        for set in [&mut self.reads, &mut self.writes] {
            set.sort_unstable();
            set.dedup();
        }
        (self.reads, self.writes)
    }

    /// Adds what evaluating an expression looks at.
    pub fn expression(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(_) | Expr::Temp(_) => {}
            Expr::Var(variable) => self.reads.push(self.encoding.first_field(*variable)),
            Expr::Element(variable, index, _) => {
                self.expression(index);
                let fields = self.elements(*variable, index);
                self.reads.extend(fields);
            }
            Expr::Unary(_, operand) => self.expression(operand),
            Expr::Binary(_, left, right)
            | Expr::Divide(_, left, right, _)
            | Expr::And(left, right)
            | Expr::Or(left, right) => {
                self.expression(left);
                self.expression(right);
            }
            Expr::If(condition, then, otherwise) => {
                self.expression(condition);
                self.expression(then);
                self.expression(otherwise);
            }
            Expr::Length(channel) => {
                self.reference(channel);
                let lengths = channel
                    .targets()
                    .map(|c| self.encoding.channels[c.index()].length);
                self.reads.extend(lengths);
            }
            Expr::Peek {
                channel,
                position,
                item,
                ..
            } => {
                self.reference(channel);
                self.expression(position);
                for target in channel.targets() {
                    let place = &self.encoding.channels[target.index()];
                    self.reads.push(place.length);
                    if let Some(cells) = place.items.get(*item as usize) {
                        let first = cells.first.index();
                        let all = first..first + cells.len as usize;
                        // A fixed position looks at one cell only.
                        let one = match **position {
                            Expr::Const(at) => usize::try_from(at).ok().map(|at| first + at),
                            _ => None,
                        };
                        let seen = all.filter(|f| one.is_none_or(|o| o == *f));
                        self.reads.extend(seen.map(FieldId::new));
                    }
                }
            }
        }
    }

    /// Adds what running statements looks at and changes.
    pub fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { target, value, .. } => {
                self.expression(value);
                self.place(target);
            }
            Statement::Let(_, value) => self.expression(value),
            Statement::Send {
                channel, values, ..
            } => {
                self.reference(channel);
                values.iter().for_each(|v| self.expression(v));
                self.whole_channel(channel, true);
            }
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                ..
            } => {
                self.reference(channel);
                position.iter().for_each(|p| self.expression(p));
                self.whole_channel(channel, *remove);
                targets.iter().flatten().for_each(|t| self.place(t));
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                self.expression(condition);
                self.body(then);
                self.body(otherwise);
            }
            Statement::While {
                condition, body, ..
            } => {
                self.expression(condition);
                self.body(body);
            }
            Statement::Assert { condition, .. } => self.expression(condition),
            Statement::Fail(_) | Statement::Print { .. } => {}
        }
    }

    fn place(&mut self, place: &Place) {
        match place {
            Place::Var(variable) => self.writes.push(self.encoding.first_field(*variable)),
            Place::Element(variable, index, _) => {
                self.expression(index);
                let fields = self.elements(*variable, index);
                self.writes.extend(fields);
            }
        }
    }

    fn reference(&mut self, channel: &ChannelRef) {
        if let ChannelRef::Denoted { value, .. } = channel {
            self.expression(value);
        }
    }

    fn whole_channel(&mut self, channel: &ChannelRef, changed: bool) {
        for target in channel.targets() {
            let fields: Vec<_> = self.encoding.channel_fields(target).collect();
            if changed {
                self.writes.extend_from_slice(&fields);
            }
            self.reads.extend(fields);
        }
    }

    /// The elements that an index can pick.
    fn elements(
        &self,
        array: VarId,
        index: &Expr,
    ) -> std::iter::Map<std::ops::Range<usize>, fn(usize) -> FieldId> {
        let range = self.program.interval(index);
        let (first, len) = match self.encoding.variables[array.index()] {
            VariablePlace::Scalar(field) => (field.index(), 1),
            VariablePlace::Array(place) => (place.first.index(), place.len as usize),
        };
        let from = (range.min.max(0) as usize).min(len);
        let to = (i64::from(range.max) + 1).clamp(from as i64, len as i64) as usize;
        (first + from..first + to).map(FieldId::new as fn(usize) -> FieldId)
    }
}
