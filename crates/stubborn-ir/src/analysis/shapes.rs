//! The shape of code: what is left of an expression or a command when the names of its fields
//! are taken away.
//!
//! Processes of one template differ in their variables only, so that most questions about
//! pairs of commands have been asked before about another pair. A shape is the code as a list
//! of numbers in which fields are numbered in the order in which they occur. Two pieces of code
//! of the same shape do the same, each to its own fields, if these have the same ranges. What
//! does not matter when commands are tried is left out: which failure it is, and what is
//! printed.

use std::collections::HashMap;

use rapidhash::RapidHashMap;
use stubborn_system::{ChannelId, FieldId};

use crate::{ChannelRef, Expr, Model, Overflow, Place, SendOrder, Statement, VarId};

/// The shape of a piece of code, and the fields that stand for its numbers.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Equal for equal shapes.
    pub(super) id: u32,
    /// By number.
    pub(super) fields: Vec<FieldId>,
}

/// Shapes of all labels and commands of a model.
pub(super) struct Shapes {
    pub(super) labels: Vec<Shape>,
    pub(super) commands: Vec<Shape>,
}

impl Shapes {
    pub(super) fn new(model: &Model) -> Self {
        let mut ids: RapidHashMap<Vec<i64>, u32> = RapidHashMap::default();
        let mut shape = |write: &dyn Fn(&mut Writer<'_>)| {
            let mut writer = Writer {
                model,
                code: Vec::new(),
                numbers: HashMap::new(),
                fields: Vec::new(),
            };
            write(&mut writer);
            let next = ids.len() as u32;
            Shape {
                id: *ids.entry(writer.code).or_insert(next),
                fields: writer.fields,
            }
        };
        let program = model.program();
        let labels = program.labels.iter();
        let labels = labels.map(|label| shape(&|w| w.expression(&label.expr)));
        let labels = labels.collect();
        let commands = program.commands.iter().map(|command| {
            shape(&|w| {
                for guard in &command.guards {
                    w.tag(Tag::Guard);
                    w.expression(&program.labels[guard.index()].expr);
                }
                w.body(&command.body);
            })
        });
        Self {
            commands: commands.collect(),
            labels,
        }
    }
}

/// What comes next in the list. Each is followed by a fixed number of parts, or by their number.
#[derive(Clone, Copy)]
enum Tag {
    Guard,
    Const,
    Field,
    WrappingField,
    Array,
    WrappingArray,
    Temp,
    Unary,
    Binary,
    Divide,
    And,
    Or,
    If,
    Length,
    Peek,
    FixedChannel,
    DenotedChannel,
    Body,
    Assign,
    Let,
    Send,
    SortedSend,
    Receive,
    ReceiveAt,
    CopyFrom,
    CopyFromAt,
    Nowhere,
    Choice,
    While,
    Assert,
    Fail,
    Print,
}

struct Writer<'m> {
    model: &'m Model,
    code: Vec<i64>,
    numbers: HashMap<FieldId, u32>,
    fields: Vec<FieldId>,
}

impl Writer<'_> {
    fn tag(&mut self, tag: Tag) {
        self.code.push(tag as i64);
    }

    fn number(&mut self, field: FieldId) {
        let next = self.fields.len() as u32;
        let number = *self.numbers.entry(field).or_insert(next);
        if number == next {
            self.fields.push(field);
        }
        self.code.push(i64::from(number));
    }

    fn numbers(&mut self, fields: Vec<FieldId>) {
        self.code.push(fields.len() as i64);
        fields.into_iter().for_each(|field| self.number(field));
    }

    fn wraps(&self, variable: VarId) -> bool {
        self.model.program().variables[variable.index()]
            .item
            .overflow
            == Overflow::Wrap
    }

    fn variable(&mut self, variable: VarId) {
        let wraps = self.wraps(variable);
        self.tag(if wraps {
            Tag::WrappingField
        } else {
            Tag::Field
        });
        self.number(self.model.encoding().first_field(variable));
    }

    /// An element with a constant index is a field like any other.
    fn element(&mut self, array: VarId, index: &Expr) {
        let wraps = self.wraps(array);
        let mut fields = self.model.encoding().fields(array);
        if let Expr::Const(at) = index
            && let Some(field) = usize::try_from(*at).ok().and_then(|at| fields.nth(at))
        {
            self.tag(if wraps {
                Tag::WrappingField
            } else {
                Tag::Field
            });
            return self.number(field);
        }
        self.tag(if wraps {
            Tag::WrappingArray
        } else {
            Tag::Array
        });
        self.numbers(self.model.encoding().fields(array).collect());
        self.expression(index);
    }

    fn channel(&mut self, channel: &ChannelRef) {
        match channel {
            ChannelRef::Fixed(channel) => {
                self.tag(Tag::FixedChannel);
                self.whole_channel(*channel);
            }
            ChannelRef::Denoted { value, targets, .. } => {
                self.tag(Tag::DenotedChannel);
                self.expression(value);
                self.code.push(targets.len() as i64);
                for (value, channel) in targets {
                    self.code.push(i64::from(*value));
                    self.whole_channel(*channel);
                }
            }
        }
    }

    /// Its capacity is the range of its length.
    fn whole_channel(&mut self, channel: ChannelId) {
        let items = &self.model.program().channels[channel.index()].items;
        self.code.push(items.len() as i64);
        for item in items {
            self.code.push(i64::from(item.overflow == Overflow::Wrap));
            self.code.extend([i64::from(item.min), i64::from(item.max)]);
        }
        self.numbers(self.model.encoding().channel_fields(channel).collect());
    }

    fn expression(&mut self, expr: &Expr) {
        match expr {
            Expr::Const(value) => {
                self.tag(Tag::Const);
                self.code.push(i64::from(*value));
            }
            Expr::Var(variable) => self.variable(*variable),
            Expr::Temp(temp) => {
                self.tag(Tag::Temp);
                self.code.push(temp.index() as i64);
            }
            Expr::Element(array, index, _) => self.element(*array, index),
            Expr::Unary(op, operand) => {
                self.tag(Tag::Unary);
                self.code.push(*op as i64);
                self.expression(operand);
            }
            Expr::Binary(op, left, right) => {
                self.tag(Tag::Binary);
                self.code.push(*op as i64);
                self.both(left, right);
            }
            Expr::Divide(op, left, right, _) => {
                self.tag(Tag::Divide);
                self.code.push(*op as i64);
                self.both(left, right);
            }
            Expr::And(left, right) => {
                self.tag(Tag::And);
                self.both(left, right);
            }
            Expr::Or(left, right) => {
                self.tag(Tag::Or);
                self.both(left, right);
            }
            Expr::If(condition, then, otherwise) => {
                self.tag(Tag::If);
                self.expression(condition);
                self.both(then, otherwise);
            }
            Expr::Length(channel) => {
                self.tag(Tag::Length);
                self.channel(channel);
            }
            Expr::Peek {
                channel,
                position,
                item,
                ..
            } => {
                self.tag(Tag::Peek);
                self.channel(channel);
                self.expression(position);
                self.code.push(i64::from(*item));
            }
        }
    }

    fn both(&mut self, left: &Expr, right: &Expr) {
        self.expression(left);
        self.expression(right);
    }

    fn place(&mut self, place: &Place) {
        match place {
            Place::Var(variable) => self.variable(*variable),
            Place::Element(array, index, _) => self.element(*array, index),
        }
    }

    fn body(&mut self, body: &[Statement]) {
        self.tag(Tag::Body);
        self.code.push(body.len() as i64);
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { target, value, .. } => {
                self.tag(Tag::Assign);
                self.place(target);
                self.expression(value);
            }
            Statement::Let(temp, value) => {
                self.tag(Tag::Let);
                self.code.push(temp.index() as i64);
                self.expression(value);
            }
            Statement::Send {
                channel,
                values,
                order,
                ..
            } => {
                self.tag(match order {
                    SendOrder::Fifo => Tag::Send,
                    SendOrder::Sorted => Tag::SortedSend,
                });
                self.channel(channel);
                self.code.push(values.len() as i64);
                values.iter().for_each(|value| self.expression(value));
            }
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                ..
            } => {
                self.tag(match (remove, position) {
                    (true, None) => Tag::Receive,
                    (true, Some(_)) => Tag::ReceiveAt,
                    (false, None) => Tag::CopyFrom,
                    (false, Some(_)) => Tag::CopyFromAt,
                });
                self.channel(channel);
                position.iter().for_each(|at| self.expression(at));
                self.code.push(targets.len() as i64);
                for target in targets {
                    match target {
                        Some(place) => self.place(place),
                        None => self.tag(Tag::Nowhere),
                    }
                }
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                self.tag(Tag::Choice);
                self.expression(condition);
                self.body(then);
                self.body(otherwise);
            }
            Statement::While {
                condition, body, ..
            } => {
                self.tag(Tag::While);
                self.expression(condition);
                self.body(body);
            }
            Statement::Assert { condition, .. } => {
                self.tag(Tag::Assert);
                self.expression(condition);
            }
            Statement::Fail(_) => self.tag(Tag::Fail),
            Statement::Print { .. } => self.tag(Tag::Print),
        }
    }
}
