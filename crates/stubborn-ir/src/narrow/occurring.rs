//! What occurs in commands.

use std::collections::BTreeSet;

use stubborn_system::ChannelId;

use crate::{ChannelRef, Expr, Place, Statement, VarId};

/// The variables that a body may assign.
pub(crate) fn assigned(body: &[Statement]) -> BTreeSet<VarId> {
    let mut seen = Seen::default();
    seen.body(body);
    seen.written
}

/// What occurs in a command.
#[derive(Default)]
pub(super) struct Seen {
    /// Variables, read or written.
    pub(super) variables: BTreeSet<VarId>,
    pub(super) written: BTreeSet<VarId>,
    pub(super) channels: BTreeSet<ChannelId>,
    pub(super) constants: BTreeSet<i32>,
}

impl Seen {
    pub(super) fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(value) => {
                self.constants.insert(*value);
            }
            Expr::Temp(_) => {}
            Expr::Var(variable) => {
                self.variables.insert(*variable);
            }
            Expr::Element(variable, index, _) => {
                self.variables.insert(*variable);
                self.expr(index);
            }
            Expr::Unary(_, operand) => self.expr(operand),
            Expr::Binary(_, left, right)
            | Expr::Divide(_, left, right, _)
            | Expr::And(left, right)
            | Expr::Or(left, right) => {
                self.expr(left);
                self.expr(right);
            }
            Expr::If(condition, then, otherwise) => {
                for part in [condition, then, otherwise] {
                    self.expr(part);
                }
            }
            Expr::Length(channel) => self.channel(channel),
            Expr::Peek {
                channel, position, ..
            } => {
                self.channel(channel);
                self.expr(position);
            }
        }
    }

    fn channel(&mut self, channel: &ChannelRef) {
        self.channels.extend(channel.targets());
        if let ChannelRef::Denoted { value, .. } = channel {
            self.expr(value);
        }
    }

    fn place(&mut self, place: &Place) {
        self.variables.insert(place.variable());
        self.written.insert(place.variable());
        if let Place::Element(_, index, _) = place {
            self.expr(index);
        }
    }

    pub(super) fn body(&mut self, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Assign { target, value, .. } => {
                    self.expr(value);
                    self.place(target);
                }
                Statement::Let(_, value) => self.expr(value),
                Statement::Send {
                    channel, values, ..
                } => {
                    self.channel(channel);
                    values.iter().for_each(|value| self.expr(value));
                }
                Statement::Receive {
                    channel,
                    position,
                    targets,
                    ..
                } => {
                    self.channel(channel);
                    position.iter().for_each(|position| self.expr(position));
                    targets
                        .iter()
                        .flatten()
                        .for_each(|target| self.place(target));
                }
                Statement::If {
                    condition,
                    then,
                    otherwise,
                } => {
                    self.expr(condition);
                    self.body(then);
                    self.body(otherwise);
                }
                Statement::While {
                    condition, body, ..
                } => {
                    self.expr(condition);
                    self.body(body);
                }
                Statement::Assert { condition, .. } => self.expr(condition),
                Statement::Print { arguments, .. } => {
                    arguments.iter().for_each(|argument| self.expr(argument));
                }
                Statement::Fail(_) => {}
            }
        }
    }
}
