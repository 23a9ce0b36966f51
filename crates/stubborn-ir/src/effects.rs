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

#[cfg(test)]
mod tests {
    use stubborn_system::ChannelId;

    use super::*;
    use crate::{Channel, DivideOp, Item, SendOrder, Site, TempId, UnaryOp, Variable};

    const SITE: Site = Site(0);
    /// Fields in their order: three numbers, an array, and two channels of two messages of two items.
    const NAMES: [&str; 17] = [
        "x", "y", "z", "a0", "a1", "a2", "b", // `b` is 0 or 1
        "c", "c00", "c01", "c10", "c11", "d", "d00", "d01", "d10", "d11",
    ];

    /// A program with nothing but what can be looked at.
    fn program() -> Program {
        let mut program = Program::new("all there is");
        for name in ["x", "y", "z"] {
            program.variable(Variable::integer(name, -9, 9, 0));
        }
        program.variable(Variable::array("a", 0, 3, vec![0; 3]));
        program.variable(Variable::integer("b", 0, 1, 0));
        for name in ["c", "d"] {
            program.channel(Channel {
                name: name.into(),
                capacity: 2,
                items: vec![Item::range(0, 3), Item::range(0, 3)],
            });
        }
        program
    }

    fn var(name: &str) -> Expr {
        let names = ["x", "y", "z", "a", "b"];
        let at = names.iter().position(|n| *n == name).expect("a variable");
        Expr::Var(VarId(at as u32))
    }

    fn element(index: Expr) -> Expr {
        Expr::Element(VarId(3), Box::new(index), SITE)
    }

    /// Either channel, as `x` says.
    fn either() -> ChannelRef {
        ChannelRef::Denoted {
            value: Box::new(var("x")),
            targets: Box::new([(0, ChannelId::new(0)), (1, ChannelId::new(1))]),
            site: SITE,
        }
    }

    fn set(name: &str, value: Expr) -> Statement {
        let Expr::Var(variable) = var(name) else {
            unreachable!()
        };
        Statement::assign(variable, value, SITE)
    }

    /// Every form of expressions and statements, with what it looks at and what it changes.
    #[test]
    fn whatever_is_looked_at_or_changed_is_seen() {
        use Expr::Const;
        let boxed = |name: &str| Box::new(var(name));
        let peek = |channel: ChannelRef, position: Expr, item: u32| Expr::Peek {
            channel,
            position: Box::new(position),
            item,
            site: SITE,
        };
        let fixed = || ChannelRef::Fixed(ChannelId::new(0));
        let both = "c c00 c01 c10 c11 d d00 d01 d10 d11";
        let expressions = [
            (Const(1), ""),
            (Expr::plus(var("x"), var("y")), "x y"),
            (Expr::and(var("x"), var("z")), "x z"),
            (Expr::or(var("y"), var("x")), "x y"),
            (Expr::Unary(UnaryOp::Negate, boxed("z")), "z"),
            (
                Expr::Divide(DivideOp::Quotient, boxed("x"), boxed("y"), SITE),
                "x y",
            ),
            (Expr::If(boxed("x"), boxed("y"), boxed("z")), "x y z"),
            (element(Const(2)), "a2"),
            (element(var("b")), "a0 a1 b"),
            (element(var("x")), "x a0 a1 a2"),
            (Expr::Length(fixed()), "c"),
            (Expr::Length(either()), "x c d"),
            (peek(fixed(), Const(1), 1), "c c11"),
            (peek(fixed(), var("y"), 0), "y c c00 c01"),
            (peek(either(), Const(0), 1), "x c c10 d d10"),
        ];
        let receive = |remove| Statement::Receive {
            channel: either(),
            position: Some(var("y")),
            targets: vec![Some(Place::Element(VarId(3), var("b"), SITE)), None],
            remove,
            site: SITE,
        };
        let x = || var("x");
        let statements = [
            (set("x", var("y")), "y", "x"),
            (Statement::Let(TempId(0), x()), "x", ""),
            (Statement::Fail(SITE), "", ""),
            (
                Statement::Assert {
                    condition: x(),
                    site: SITE,
                },
                "x",
                "",
            ),
            (
                Statement::Assign {
                    target: Place::Element(VarId(3), var("b"), SITE),
                    value: x(),
                    site: SITE,
                },
                "x b",
                "a0 a1",
            ),
            (
                Statement::Send {
                    channel: either(),
                    values: vec![var("y"), var("z")],
                    order: SendOrder::Fifo,
                    site: SITE,
                },
                &format!("x y z {both}"),
                both,
            ),
            (
                receive(true),
                &format!("x y b {both}"),
                &format!("a0 a1 {both}"),
            ),
            (receive(false), &format!("x y b {both}"), "a0 a1"),
            (
                Statement::If {
                    condition: x(),
                    then: vec![set("y", Const(1))],
                    otherwise: vec![set("z", element(Const(0)))],
                },
                "x a0",
                "y z",
            ),
            (
                Statement::While {
                    condition: x(),
                    body: vec![set("y", var("z"))],
                    site: SITE,
                },
                "x z",
                "y",
            ),
        ];
        let program = program();
        let (encoding, _) = Encoding::new(&program, false);
        let fields = |names: &str| -> Vec<FieldId> {
            let name = |name: &str| NAMES.iter().position(|n| *n == name);
            let mut fields: Vec<FieldId> = names
                .split_whitespace()
                .map(|n| FieldId::new(name(n).expect("a field")))
                .collect();
            fields.sort_unstable();
            fields
        };
        for (expression, reads) in expressions {
            let mut effects = Effects::new(&program, &encoding);
            effects.expression(&expression);
            let found = effects.finish();
            assert_eq!(found, (fields(reads), vec![]), "{expression:?}");
        }
        for (statement, reads, writes) in statements {
            let mut effects = Effects::new(&program, &encoding);
            effects.body(std::slice::from_ref(&statement));
            let found = effects.finish();
            assert_eq!(found, (fields(reads), fields(writes)), "{statement:?}");
        }
    }
}
