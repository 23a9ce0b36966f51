//! The shape of code: what is left of an expression or a command when the names of its fields
//! are taken away.
//!
//! Processes of one template differ in their variables only, so that most questions about
//! pairs of commands have been asked before about another pair. A shape is the code as a list
//! of numbers in which fields are numbered in the order in which they occur. Two pieces of code
//! of the same shape do the same, each to its own fields, if these have the same ranges. What
//! does not matter when commands are tried is left out: which failure it is, and what is
//! printed.

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
                numbers: RapidHashMap::default(),
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
    numbers: RapidHashMap<FieldId, u32>,
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use stubborn_system::{FailureKind, System};

    use super::*;
    use crate::{BinaryOp, Channel, Command, DivideOp, Item, Program, TempId, UnaryOp, Variable};

    fn boxed(expr: &Expr) -> Box<Expr> {
        Box::new(expr.clone())
    }

    /// Pieces of code of which no two do the same, whatever their fields are called.
    fn pieces(program: &mut Program) -> (Vec<Expr>, Vec<Vec<Statement>>) {
        let site = program.site(FailureKind::Other, "failed", None);
        let mut variable = |name: &str, item, len: Option<u32>| {
            program.variable(Variable {
                item,
                len,
                initial: vec![0; len.unwrap_or(1) as usize],
                ..Variable::integer(name, 0, 0, 0)
            })
        };
        let (range, wrapping) = (|| Item::range(0, 3), || Item::wrapping(0, 3));
        let (x, y) = (variable("x", range(), None), variable("y", range(), None));
        let w = variable("w", wrapping(), None);
        let arrays = [
            variable("a", range(), Some(2)),
            variable("b", wrapping(), Some(2)),
            variable("c", range(), Some(3)),
        ];
        let mut channel = |items: &[Item]| {
            program.channel(Channel {
                name: format!("{items:?}"),
                capacity: 1,
                items: items.to_vec(),
            })
        };
        let items = [
            channel(&[range(), range()]),
            channel(&[wrapping(), range()]),
            channel(&[Item::range(0, 2), range()]),
            channel(&[Item::range(-1, 3), range()]),
            channel(&[range()]),
        ];
        let fixed = ChannelRef::Fixed(items[0]);
        let mut channels: Vec<ChannelRef> = items.into_iter().map(ChannelRef::Fixed).collect();
        let (vx, vy) = (Expr::Var(x), Expr::Var(y));
        let lists: [&[_]; 4] = [
            &[(0, items[0])],
            &[(1, items[0])],
            &[(0, items[1])],
            &[(0, items[0]), (1, items[0])],
        ];
        for (value, targets) in [&vx, &Expr::Const(0)]
            .into_iter()
            .flat_map(|v| lists.map(|list| (v, list)))
        {
            channels.push(ChannelRef::Denoted {
                value: boxed(value),
                targets: targets.into(),
                site,
            });
        }
        let peek = |channel: &ChannelRef, position: i32, item| Expr::Peek {
            channel: channel.clone(),
            position: Box::new(Expr::Const(position)),
            item,
            site,
        };
        let mut exprs = vec![Expr::Const(0), Expr::Const(1), vx.clone(), Expr::Var(w)];
        let mut pairs = vec![(vx.clone(), vy.clone()), (vx.clone(), vx.clone())];
        pairs.push((vx.clone(), Expr::Const(0)));
        pairs.push((Expr::Const(0), vx.clone()));
        for (left, right) in &pairs {
            for op in [BinaryOp::Less, BinaryOp::LessEqual] {
                exprs.push(Expr::Binary(op, boxed(left), boxed(right)));
            }
            for op in [DivideOp::Quotient, DivideOp::Remainder] {
                exprs.push(Expr::Divide(op, boxed(left), boxed(right), site));
            }
            exprs.push(Expr::and(left.clone(), right.clone()));
            exprs.push(Expr::or(left.clone(), right.clone()));
            exprs.push(Expr::If(boxed(&vx), boxed(left), boxed(right)));
        }
        exprs.push(Expr::If(boxed(&vy), boxed(&vx), boxed(&vx)));
        // What belongs together is told apart as well.
        let zero = Expr::Const(0);
        let joined = |a: &Expr, b: &Expr| {
            [
                Expr::and(a.clone(), b.clone()),
                Expr::or(a.clone(), b.clone()),
                Expr::Divide(DivideOp::Quotient, boxed(a), boxed(b), site),
                Expr::If(boxed(&Expr::Const(0)), boxed(a), boxed(b)),
            ]
        };
        exprs.extend(joined(&zero, &zero).map(|left| Expr::equal(left, vx.clone())));
        exprs.extend(joined(&zero, &vx).map(|right| Expr::equal(zero.clone(), right)));
        for (op, of) in [
            (UnaryOp::Not, &vx),
            (UnaryOp::Negate, &vx),
            (UnaryOp::Not, &pairs[2].1),
        ] {
            exprs.push(Expr::Unary(op, boxed(of)));
        }
        for array in arrays {
            // An element with a constant index is a scalar: wrapping or not.
            exprs.push(Expr::Element(array, boxed(&vx), site));
            exprs.push(Expr::Element(array, Box::new(Expr::Const(5)), site));
        }
        for channel in &channels {
            exprs.extend([Expr::Length(channel.clone()), peek(channel, 0, 0)]);
        }
        exprs.extend([peek(&fixed, 1, 0), peek(&fixed, 0, 1)]);
        let mut places = vec![Place::Var(x), Place::Var(w)];
        places.extend(arrays.map(|array| Place::Element(array, vx.clone(), site)));
        let assign = |target: &Place, value: &Expr| Statement::Assign {
            target: target.clone(),
            value: value.clone(),
            site,
        };
        let (one, two) = (
            assign(&places[0], &Expr::Const(1)),
            assign(&places[0], &Expr::Const(2)),
        );
        let mut bodies = vec![vec![], vec![one.clone()], vec![one.clone(), one.clone()]];
        bodies.extend(
            places
                .iter()
                .map(|place| vec![assign(place, &Expr::Const(2))]),
        );
        bodies.push(vec![assign(&places[0], &vx)]);
        bodies.push(vec![assign(&places[0], &vy)]);
        for temp in [TempId(0), TempId(1)] {
            let zero = Statement::Let(TempId(0), Expr::Const(0));
            let kept = Statement::Let(TempId(1), Expr::Const(1));
            bodies.push(vec![zero, kept, assign(&places[0], &Expr::Temp(temp))]);
            bodies.push(vec![Statement::Let(temp, Expr::Const(0))]);
            bodies.push(vec![Statement::Let(temp, Expr::Const(1))]);
        }
        let channel = fixed.clone();
        for order in [SendOrder::Fifo, SendOrder::Sorted] {
            for (a, b) in [(0, 0), (0, 1), (1, 0)] {
                let (channel, values) = (channel.clone(), vec![Expr::Const(a), Expr::Const(b)]);
                bodies.push(vec![Statement::Send {
                    channel,
                    values,
                    order,
                    site,
                }]);
            }
        }
        let (px, pw) = (places[0].clone(), places[1].clone());
        for remove in [true, false] {
            for position in [None, Some(Expr::Const(0)), Some(Expr::Const(1))] {
                for targets in [
                    vec![None, None],
                    vec![Some(px.clone()), None],
                    vec![None, Some(px.clone())],
                    vec![Some(pw.clone()), None],
                ] {
                    bodies.push(vec![Statement::Receive {
                        channel: channel.clone(),
                        position: position.clone(),
                        targets,
                        remove,
                        site,
                    }]);
                }
            }
        }
        for to in channels
            .iter()
            .filter(|to| to.targets().all(|c| c != items[4]))
        {
            let values = vec![Expr::Const(1), Expr::Const(1)];
            let (channel, order) = (to.clone(), SendOrder::Fifo);
            bodies.push(vec![Statement::Send {
                channel,
                values,
                order,
                site,
            }]);
        }
        for condition in [vx, Expr::Const(0)] {
            let [a, b, c] = [condition.clone(), condition.clone(), condition];
            let choice = |then: &[&Statement], otherwise: &[&Statement]| Statement::If {
                condition: a.clone(),
                then: then.iter().copied().cloned().collect(),
                otherwise: otherwise.iter().copied().cloned().collect(),
            };
            bodies.push(vec![choice(&[&one], &[])]);
            bodies.push(vec![choice(&[], &[&one])]);
            bodies.push(vec![choice(&[&one], &[&two])]);
            bodies.push(vec![choice(&[&two], &[&one])]);
            bodies.push(vec![choice(&[], &[]), one.clone()]);
            let round = |body| Statement::While {
                condition: b.clone(),
                body,
                site,
            };
            bodies.push(vec![round(vec![one.clone()])]);
            bodies.push(vec![round(vec![two.clone()])]);
            bodies.push(vec![Statement::Assert { condition: c, site }]);
        }
        bodies.push(vec![Statement::Fail(site)]);
        (exprs, bodies)
    }

    #[test]
    fn different_code_has_different_shapes() {
        let mut program = Program::new("shapes");
        let (exprs, bodies) = pieces(&mut program);
        for expr in &exprs {
            program.label(expr.clone());
        }
        let guards = [vec![], vec![0], vec![2], vec![0, 2], vec![2, 3]];
        let guards = guards.map(|list| list.into_iter().map(stubborn_system::LabelId::new));
        let plain = guards.into_iter().map(|guards| Command {
            guards: guards.collect(),
            // All but one do nothing: what differs is what they wait for.
            body: vec![bodies[3][0].clone(), bodies[3][0].clone()],
            ..Command::default()
        });
        let plain: Vec<Command> = plain.collect();
        let of_body = |body: &Vec<Statement>| Command {
            body: body.clone(),
            ..Command::default()
        };
        for (nr, command) in bodies.iter().map(of_body).chain(plain).enumerate() {
            let name = nr.to_string();
            program.command(Command { name, ..command });
        }
        let model = Model::new(program).expect("a sound program");
        let (shapes, structure) = (Shapes::new(&model), model.structure());
        let check = |shapes: &[Shape], at: usize, looked: &[&[FieldId]]| {
            let is_first = shapes[..at].iter().all(|other| other.id != shapes[at].id);
            let fields: HashSet<FieldId> = shapes[at].fields.iter().copied().collect();
            let is_whole = looked.iter().copied().flatten().all(|f| fields.contains(f));
            is_first && is_whole && fields.len() == shapes[at].fields.len()
        };
        for (at, expr) in exprs.iter().enumerate() {
            let tests = &structure.labels[at].tests;
            assert!(check(&shapes.labels, at, &[tests]), "{expr:?}");
        }
        for (at, command) in model.program().commands.iter().enumerate() {
            let transition = &structure.transitions[at];
            let looked: [&[FieldId]; 2] = [&transition.reads, &transition.writes];
            assert!(check(&shapes.commands, at, &looked), "{command:?}");
        }
    }

    #[test]
    fn elements_at_constant_places_are_like_scalars() {
        let mut program = Program::new("elements");
        let site = program.site(FailureKind::Other, "failed", None);
        for item in [Item::range(0, 3), Item::wrapping(0, 3)] {
            let scalar = program.variable(Variable {
                item: item.clone(),
                ..Variable::integer(format!("x {item:?}"), 0, 0, 0)
            });
            let array = program.variable(Variable {
                item: item.clone(),
                ..Variable::array(format!("a {item:?}"), 0, 0, vec![0; 2])
            });
            program.label(Expr::Var(scalar));
            for index in 0..2 {
                program.label(Expr::Element(array, Box::new(Expr::Const(index)), site));
            }
        }
        let model = Model::new(program).expect("a sound program");
        let ids: Vec<u32> = Shapes::new(&model).labels.iter().map(|s| s.id).collect();
        assert_eq!(ids, [0, 0, 0, 1, 1, 1]);
    }
}
