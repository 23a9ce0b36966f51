//! Ranges of expressions from the declared ranges of variables, and what can fail.
//!
//! Cheap and always right: used to drop checks that can never fire, and to keep commands
//! that cannot fail independent of others. (Ranges that hold only in reachable states are
//! the business of the reachability analysis.)

use std::collections::{BTreeSet, HashMap};

use stubborn_system::ChannelId;

use crate::narrow::occurring::assigned;
use crate::{
    BinaryOp, ChannelRef, DivideOp, Expr, Item, Place, Program, Statement, UnaryOp, VarId,
};

/// A range of values, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Smallest.
    pub min: i32,
    /// Largest.
    pub max: i32,
}

impl Interval {
    /// Everything.
    pub const FULL: Interval = Interval {
        min: i32::MIN,
        max: i32::MAX,
    };
    /// 0 or 1.
    pub const BOOL: Interval = Interval { min: 0, max: 1 };

    /// The interval between two 64-bit ends; everything if arithmetic could have wrapped.
    fn wrapping(min: i64, max: i64) -> Self {
        match (i32::try_from(min), i32::try_from(max)) {
            (Ok(min), Ok(max)) => Interval { min, max },
            _ => Interval::FULL,
        }
    }

    /// The smallest interval that covers both.
    #[must_use]
    pub fn join(self, other: Interval) -> Interval {
        Interval {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// Whether every value lies in `min..=max`.
    pub fn within(self, min: i32, max: i32) -> bool {
        min <= self.min && self.max <= max
    }

    /// Whether 0 is among the values.
    pub fn contains_zero(self) -> bool {
        self.min <= 0 && 0 <= self.max
    }
}

/// What is known at a point of a program, beside what is declared.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Channels that hold more than a number of messages.
    lengths: Vec<(ChannelId, i32)>,
    /// Values that variables have there.
    ranges: HashMap<VarId, Interval>,
}

impl Known {
    /// That some variables have values in these ranges.
    pub fn ranges(ranges: HashMap<VarId, Interval>) -> Self {
        Self {
            lengths: Vec::new(),
            ranges,
        }
    }

    /// The same with values in these ranges.
    #[must_use]
    pub(crate) fn within(&self, ranges: HashMap<VarId, Interval>) -> Self {
        Self {
            lengths: self.lengths.clone(),
            ranges,
        }
    }

    /// Drops what may have changed after these variables were assigned, or channels used.
    fn forget(&mut self, variables: &BTreeSet<VarId>) {
        self.ranges
            .retain(|variable, _| !variables.contains(variable));
        self.lengths.clear();
    }

    fn of_variable(&self, program: &Program, variable: VarId) -> Interval {
        let item = &program.variables[variable.index()].item;
        let declared = Interval {
            min: item.min,
            max: item.max,
        };
        self.ranges.get(&variable).copied().unwrap_or(declared)
    }

    /// What is known after `condition` turned out to be true, or false.
    #[must_use]
    pub fn and(&self, condition: &Expr, holds: bool) -> Self {
        let mut known = self.clone();
        known.learn(condition, holds);
        known
    }

    fn learn(&mut self, condition: &Expr, holds: bool) {
        match condition {
            Expr::And(left, right) if holds => {
                self.learn(left, true);
                self.learn(right, true);
            }
            Expr::Or(left, right) if !holds => {
                self.learn(left, false);
                self.learn(right, false);
            }
            Expr::Binary(op, left, right) => {
                let (Expr::Length(ChannelRef::Fixed(channel)), Expr::Const(number)) =
                    (&**left, &**right)
                else {
                    return;
                };
                match (op, holds) {
                    (BinaryOp::Greater, true) | (BinaryOp::LessEqual, false) => {
                        self.lengths.push((*channel, *number));
                    }
                    (BinaryOp::GreaterEqual, true) | (BinaryOp::Less, false) => {
                        self.lengths.push((*channel, number.saturating_sub(1)));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn more_than(&self, channel: ChannelId, number: i32) -> bool {
        self.lengths
            .iter()
            .any(|(c, n)| *c == channel && *n >= number)
    }
}

impl Program {
    /// A range that covers every value of the expression.
    pub fn interval(&self, expr: &Expr) -> Interval {
        self.interval_given(expr, &Known::default())
    }

    /// The same where more is known.
    pub fn interval_given(&self, expr: &Expr, known: &Known) -> Interval {
        let interval = |expr: &Expr| self.interval_given(expr, known);
        match expr {
            Expr::Const(value) => Interval {
                min: *value,
                max: *value,
            },
            Expr::Var(variable) | Expr::Element(variable, ..) => known.of_variable(self, *variable),
            Expr::Temp(_) => Interval::FULL,
            Expr::Unary(op, operand) => unary_interval(*op, interval(operand)),
            Expr::Binary(op, left, right) => binary_interval(*op, interval(left), interval(right)),
            Expr::Divide(op, left, right, _) => {
                divide_interval(*op, interval(left), interval(right))
            }
            Expr::And(..) | Expr::Or(..) => Interval::BOOL,
            Expr::If(_, then, otherwise) => interval(then).join(interval(otherwise)),
            Expr::Length(channel) => {
                let capacity = channel
                    .targets()
                    .map(|c| self.channels[c.index()].capacity)
                    .max();
                Interval {
                    min: 0,
                    max: capacity.unwrap_or(0) as i32,
                }
            }
            Expr::Peek { channel, item, .. } => channel
                .targets()
                .filter_map(|c| self.channels[c.index()].items.get(*item as usize))
                .map(|item| Interval {
                    min: item.min,
                    max: item.max,
                })
                .reduce(Interval::join)
                .unwrap_or(Interval::FULL),
        }
    }

    /// Whether evaluating the expression can fail.
    pub fn may_fail(&self, expr: &Expr) -> bool {
        self.may_fail_given(expr, &Known::default())
    }

    /// The same where more is known.
    pub fn may_fail_given(&self, expr: &Expr, known: &Known) -> bool {
        match expr {
            Expr::Const(_) | Expr::Var(_) | Expr::Temp(_) => false,
            Expr::Element(variable, index, _) => {
                self.may_fail_given(index, known) || self.index_may_fail(*variable, index, known)
            }
            Expr::Unary(_, operand) => self.may_fail_given(operand, known),
            Expr::Divide(_, left, right, _) => {
                self.interval_given(right, known).contains_zero()
                    || self.may_fail_given(left, known)
                    || self.may_fail_given(right, known)
            }
            Expr::Binary(_, left, right) => {
                self.may_fail_given(left, known) || self.may_fail_given(right, known)
            }
            // The right side is evaluated only after the left one decided nothing.
            Expr::And(left, right) => {
                self.may_fail_given(left, known)
                    || self.may_fail_given(right, &known.and(left, true))
            }
            Expr::Or(left, right) => {
                self.may_fail_given(left, known)
                    || self.may_fail_given(right, &known.and(left, false))
            }
            Expr::If(condition, then, otherwise) => {
                self.may_fail_given(condition, known)
                    || self.may_fail_given(then, &known.and(condition, true))
                    || self.may_fail_given(otherwise, &known.and(condition, false))
            }
            Expr::Length(channel) => self.reference_may_fail(channel, known),
            Expr::Peek {
                channel, position, ..
            } => match (channel, &**position) {
                (ChannelRef::Fixed(channel), Expr::Const(at)) => {
                    *at < 0 || !known.more_than(*channel, *at)
                }
                _ => true,
            },
        }
    }

    /// Whether an index can lie outside an array.
    pub fn index_may_fail(&self, array: VarId, index: &Expr, known: &Known) -> bool {
        let len = self.variables[array.index()].len.unwrap_or(1);
        !self.interval_given(index, known).within(0, len as i32 - 1)
    }

    /// Whether storing a value into an item can fail.
    pub fn store_may_fail(&self, item: &Item, value: &Expr, known: &Known) -> bool {
        let fits = || self.interval_given(value, known).within(item.min, item.max);
        item.overflow == crate::Overflow::Fail && !fits()
    }

    fn reference_may_fail(&self, channel: &ChannelRef, known: &Known) -> bool {
        match channel {
            ChannelRef::Fixed(_) => false,
            ChannelRef::Denoted { value, targets, .. } => {
                let range = self.interval_given(value, known);
                let width = i64::from(range.max) - i64::from(range.min);
                self.may_fail_given(value, known)
                    || width >= targets.len() as i64
                    || (range.min..=range.max).any(|v| targets.iter().all(|(t, _)| *t != v))
            }
        }
    }

    fn place_may_fail(&self, place: &Place, known: &Known) -> bool {
        match place {
            Place::Var(_) => false,
            Place::Element(variable, index, _) => {
                self.may_fail_given(index, known) || self.index_may_fail(*variable, index, known)
            }
        }
    }

    /// Whether a body can end in failure. (A violated assertion is no failure: execution goes
    /// on. A send into a full channel, or a receive from an empty one, is taken to be excluded
    /// by guards only if `guarded` says so.)
    pub fn body_may_fail(&self, body: &[Statement], guarded: bool, known: &Known) -> bool {
        let mut known = known.clone();
        body.iter().any(|statement| {
            let fails = self.statement_may_fail(statement, guarded, &known);
            known.forget(&assigned(std::slice::from_ref(statement)));
            fails
        })
    }

    fn statement_may_fail(&self, statement: &Statement, guarded: bool, known: &Known) -> bool {
        match statement {
            Statement::Assign { target, value, .. } => {
                self.may_fail_given(value, known)
                    || self.place_may_fail(target, known)
                    || self.store_may_fail(
                        &self.variables[target.variable().index()].item,
                        value,
                        known,
                    )
            }
            Statement::Let(_, value) => self.may_fail_given(value, known),
            Statement::Send {
                channel, values, ..
            } => {
                !guarded
                    || self.reference_may_fail(channel, known)
                    || values.iter().any(|v| self.may_fail_given(v, known))
                    || channel.targets().any(|c| {
                        let items = &self.channels[c.index()].items;
                        items.len() != values.len()
                            || items
                                .iter()
                                .zip(values)
                                .any(|(i, v)| self.store_may_fail(i, v, known))
                    })
            }
            Statement::Receive {
                channel,
                position,
                targets,
                ..
            } => {
                !guarded
                    || self.reference_may_fail(channel, known)
                    || position.is_some()
                    || targets
                        .iter()
                        .flatten()
                        .any(|t| self.place_may_fail(t, known))
                    || channel
                        .targets()
                        .any(|c| self.receive_may_not_fit(c, targets))
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                self.may_fail_given(condition, known)
                    || self.body_may_fail(then, guarded, known)
                    || self.body_may_fail(otherwise, guarded, known)
            }
            Statement::While { .. } => !self.empties_channel(statement),
            Statement::Fail(_) => true,
            Statement::Assert { condition, .. } => self.may_fail_given(condition, known),
            Statement::Print { .. } => false,
        }
    }

    /// A loop that throws away all messages of a channel.
    fn empties_channel(&self, statement: &Statement) -> bool {
        let Statement::While {
            condition, body, ..
        } = statement
        else {
            return false;
        };
        let [
            Statement::Receive {
                channel: channel @ ChannelRef::Fixed(id),
                position: None,
                targets,
                remove: true,
                ..
            },
        ] = body.as_slice()
        else {
            return false;
        };
        let declared = &self.channels[id.index()];
        *condition == Program::has_message(channel)
            && targets.len() == declared.items.len()
            && targets.iter().all(Option::is_none)
    }

    fn receive_may_not_fit(
        &self,
        channel: stubborn_system::ChannelId,
        targets: &[Option<Place>],
    ) -> bool {
        let items = &self.channels[channel.index()].items;
        items.len() != targets.len()
            || items.iter().zip(targets).any(|(item, target)| {
                target.as_ref().is_some_and(|place| {
                    let to = &self.variables[place.variable().index()].item;
                    to.overflow == crate::Overflow::Fail
                        && !(Interval {
                            min: item.min,
                            max: item.max,
                        })
                        .within(to.min, to.max)
                })
            })
    }
}

/// The range of an operator's results.
pub(crate) fn unary_interval(op: UnaryOp, of: Interval) -> Interval {
    match op {
        UnaryOp::Negate => Interval::wrapping(-i64::from(of.max), -i64::from(of.min)),
        UnaryOp::BitNot => Interval {
            min: !of.max,
            max: !of.min,
        },
        UnaryOp::Not => Interval::BOOL,
    }
}

/// The range of an operator's results.
pub(crate) fn binary_interval(op: BinaryOp, a: Interval, b: Interval) -> Interval {
    let (a0, a1, b0, b1) = (
        i64::from(a.min),
        i64::from(a.max),
        i64::from(b.min),
        i64::from(b.max),
    );
    match op {
        BinaryOp::Add => Interval::wrapping(a0 + b0, a1 + b1),
        BinaryOp::Subtract => Interval::wrapping(a0 - b1, a1 - b0),
        BinaryOp::Multiply => {
            let products = [a0 * b0, a0 * b1, a1 * b0, a1 * b1];
            let min = products.iter().copied().fold(i64::MAX, i64::min);
            let max = products.iter().copied().fold(i64::MIN, i64::max);
            Interval::wrapping(min, max)
        }
        BinaryOp::BitAnd if a.min >= 0 || b.min >= 0 => {
            // The result is at most any non-negative operand.
            let max = match (a.min >= 0, b.min >= 0) {
                (true, true) => a.max.min(b.max),
                (true, false) => a.max,
                _ => b.max,
            };
            Interval { min: 0, max }
        }
        BinaryOp::BitOr | BinaryOp::BitXor if a.min >= 0 && b.min >= 0 => {
            let bits = 32 - (a.max | b.max).leading_zeros();
            Interval {
                min: 0,
                max: ((1_i64 << bits) - 1) as i32,
            }
        }
        BinaryOp::ShiftRight if b.min >= 0 && b.max < 32 => {
            let ends = [
                a.min >> b.min,
                a.min >> b.max,
                a.max >> b.min,
                a.max >> b.max,
            ];
            let min = ends.iter().copied().fold(i32::MAX, i32::min);
            let max = ends.iter().copied().fold(i32::MIN, i32::max);
            Interval { min, max }
        }
        BinaryOp::ShiftLeft if b.min >= 0 && b.max < 32 && a.min >= 0 => {
            Interval::wrapping(a0 << b0, a1 << b1)
        }
        op if op.is_comparison() => Interval::BOOL,
        _ => Interval::FULL,
    }
}

/// The range of a division's results.
pub(crate) fn divide_interval(op: DivideOp, a: Interval, b: Interval) -> Interval {
    match op {
        // The magnitude never grows, but i32::MIN / -1 wraps.
        DivideOp::Quotient if a.min > i32::MIN => {
            let largest = a.min.unsigned_abs().max(a.max.unsigned_abs()) as i32;
            let min = if a.min >= 0 && b.min >= 0 {
                0
            } else {
                -largest
            };
            Interval { min, max: largest }
        }
        DivideOp::Remainder if b.min > i32::MIN => {
            let divisor = b.min.unsigned_abs().max(b.max.unsigned_abs()) as i32;
            let largest = (divisor - 1).max(0);
            Interval {
                min: if a.min >= 0 { 0 } else { -largest },
                max: if a.max <= 0 {
                    0
                } else {
                    largest.min(a.max.max(0))
                },
            }
        }
        _ => Interval::FULL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variable;

    /// Every operator on every small interval: the range covers every value.
    #[test]
    fn intervals_cover_all_values() {
        use BinaryOp::*;
        let ops = [
            Add, Subtract, Multiply, ShiftLeft, ShiftRight, BitAnd, BitOr, BitXor, Equal, Less,
        ];
        let ends = [-9, -4, -1, 0, 1, 3, 7];
        let ranges = || {
            ends.iter()
                .flat_map(|a| ends.iter().filter(move |b| a <= *b).map(move |b| (*a, *b)))
        };
        for (a0, a1) in ranges() {
            for (b0, b1) in ranges() {
                let mut program = Program::new("t");
                let a = program.variable(Variable::integer("a", a0, a1, a0));
                let b = program.variable(Variable::integer("b", b0, b1, b0));
                for op in ops {
                    let range = program.interval(&Expr::binary(op, Expr::Var(a), Expr::Var(b)));
                    for x in a0..=a1 {
                        for y in b0..=b1 {
                            let v = op.apply(x, y);
                            assert!(
                                range.within(i32::MIN, i32::MAX)
                                    && range.min <= v
                                    && v <= range.max,
                                "{x} {op:?} {y} = {v} is outside {range:?}"
                            );
                        }
                    }
                }
                for op in [DivideOp::Quotient, DivideOp::Remainder] {
                    let site = crate::Site(0);
                    let range = program.interval(&Expr::Divide(
                        op,
                        Box::new(Expr::Var(a)),
                        Box::new(Expr::Var(b)),
                        site,
                    ));
                    for (x, y) in (a0..=a1).flat_map(|x| (b0..=b1).map(move |y| (x, y))) {
                        if let Some(v) = op.apply(x, y) {
                            assert!(range.min <= v && v <= range.max, "{x} {op:?} {y} = {v}");
                        }
                    }
                }
            }
        }
    }

    /// Where numbers wrap, everything is possible.
    #[test]
    fn intervals_cover_values_that_wrap() {
        use BinaryOp::*;
        const ENDS: [i32; 9] = [i32::MIN, i32::MIN + 1, -2, -1, 0, 1, 31, 32, i32::MAX];
        let ranges = || {
            ENDS.iter()
                .flat_map(|a| ENDS.iter().filter(move |b| a <= *b).map(move |b| (*a, *b)))
        };
        let inside = |min: i32, max: i32| {
            ENDS.iter()
                .copied()
                .filter(move |x| (min..=max).contains(x))
        };
        for (a0, a1) in ranges() {
            let a = Interval { min: a0, max: a1 };
            for op in [UnaryOp::Negate, UnaryOp::BitNot, UnaryOp::Not] {
                let range = unary_interval(op, a);
                for x in inside(a0, a1) {
                    let v = op.apply(x);
                    assert!(range.min <= v && v <= range.max, "{op:?} {x} = {v}");
                }
            }
            for (b0, b1) in ranges() {
                let b = Interval { min: b0, max: b1 };
                for (x, y) in inside(a0, a1).flat_map(|x| inside(b0, b1).map(move |y| (x, y))) {
                    for op in [
                        Add, Subtract, Multiply, ShiftLeft, ShiftRight, BitAnd, BitOr, BitXor,
                    ] {
                        let (v, range) = (op.apply(x, y), binary_interval(op, a, b));
                        assert!(range.min <= v && v <= range.max, "{x} {op:?} {y} = {v}");
                    }
                    for op in [DivideOp::Quotient, DivideOp::Remainder] {
                        let range = divide_interval(op, a, b);
                        let fits = |v: i32| range.min <= v && v <= range.max;
                        assert!(op.apply(x, y).is_none_or(fits), "{x} {op:?} {y}");
                    }
                }
            }
        }
    }

    const SITE: crate::Site = crate::Site(0);
    /// The variables of [`small`].
    const X: VarId = VarId(0);
    const BIT: VarId = VarId(1);
    const ARRAY: VarId = VarId(2);
    const WRAPS: VarId = VarId(3);

    /// A number, a bit, an array of three, a number that wraps, and two channels.
    fn small() -> Program {
        let mut program = Program::new("small");
        program.variable(Variable::integer("x", -9, 9, 0));
        program.variable(Variable::integer("b", 0, 1, 0));
        program.variable(Variable::array("a", 0, 3, vec![0; 3]));
        let mut wraps = Variable::integer("w", 0, 3, 0);
        wraps.item = Item::wrapping(0, 3);
        program.variable(wraps);
        for (name, capacity, most) in [("c", 2, 3), ("d", 5, 7)] {
            program.channel(crate::Channel {
                name: name.into(),
                capacity,
                items: vec![Item::range(0, most), Item::range(-1, 0)],
            });
        }
        program
    }

    fn divided(by: Expr) -> Expr {
        let (one, by) = (Box::new(Expr::Const(1)), Box::new(by));
        Expr::Divide(DivideOp::Quotient, one, by, SITE)
    }

    fn element(index: Expr) -> Expr {
        Expr::Element(ARRAY, Box::new(index), SITE)
    }

    fn fixed(channel: usize) -> ChannelRef {
        ChannelRef::Fixed(ChannelId::new(channel))
    }

    fn denoted(value: Expr, numbers: [i32; 2]) -> ChannelRef {
        ChannelRef::Denoted {
            value: Box::new(value),
            targets: Box::new([0, 1].map(|c| (numbers[c], ChannelId::new(c)))),
            site: SITE,
        }
    }

    fn peek(channel: ChannelRef, at: i32, item: u32) -> Expr {
        Expr::Peek {
            channel,
            position: Box::new(Expr::Const(at)),
            item,
            site: SITE,
        }
    }

    fn choice(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise))
    }

    #[test]
    fn ranges_of_other_expressions() {
        let program = small();
        let (x, bit) = (|| Expr::Var(X), || Expr::Var(BIT));
        for (expr, min, max) in [
            (x(), -9, 9),
            (element(Expr::Const(0)), 0, 3),
            (choice(bit(), x(), Expr::Const(20)), -9, 20),
            (choice(bit(), Expr::Const(20), x()), -9, 20),
            (Expr::and(x(), x()), 0, 1),
            (Expr::Length(fixed(0)), 0, 2),
            (Expr::Length(denoted(bit(), [0, 1])), 0, 5),
            (peek(fixed(0), 0, 0), 0, 3),
            (peek(denoted(bit(), [0, 1]), 0, 0), 0, 7),
            (peek(fixed(0), 0, 1), -1, 0),
            (Expr::Temp(crate::TempId(0)), i32::MIN, i32::MAX),
        ] {
            assert_eq!(program.interval(&expr), Interval { min, max }, "{expr:?}");
        }
        let known = Known::ranges(HashMap::from([(X, Interval { min: 1, max: 2 })]));
        assert_eq!(program.interval_given(&x(), &known).min, 1);
    }

    /// Whatever part may fail, the whole may; and what a condition says counts where it holds alone.
    #[test]
    fn expressions_that_may_fail() {
        use BinaryOp::{Greater, GreaterEqual, Less, LessEqual};
        let program = small();
        let (x, bit) = (|| Expr::Var(X), || Expr::Var(BIT));
        let (zero, one) = (|| Expr::Const(0), || Expr::Const(1));
        let bad = || divided(bit());
        let length = |op, number| Expr::binary(op, Expr::Length(fixed(0)), Expr::Const(number));
        let oldest = || peek(fixed(0), 0, 0);
        let fine = [
            divided(Expr::Const(2)),
            element(bit()),
            element(Expr::Const(2)),
            Expr::Length(fixed(0)),
            Expr::Length(denoted(bit(), [0, 1])),
            Expr::and(length(Greater, 0), oldest()),
            Expr::and(length(GreaterEqual, 1), oldest()),
            Expr::or(length(LessEqual, 0), oldest()),
            Expr::or(length(Less, 1), oldest()),
            Expr::and(Expr::and(x(), length(Greater, 0)), oldest()),
            Expr::or(Expr::or(x(), length(Less, 1)), oldest()),
            Expr::and(length(Greater, 1), peek(fixed(0), 1, 0)),
            choice(length(Greater, 0), oldest(), zero()),
            choice(length(Less, 1), zero(), oldest()),
        ];
        let may_fail = [
            bad(),
            divided(x()),
            divided(Expr::minus(zero(), bit())),
            divided(Expr::plus(one(), bad())),
            Expr::Divide(DivideOp::Remainder, Box::new(bad()), Box::new(one()), SITE),
            element(x()),
            element(Expr::Const(3)),
            element(Expr::Const(-1)),
            element(bad()),
            Expr::negation(bad()),
            Expr::plus(bad(), zero()),
            Expr::plus(zero(), bad()),
            Expr::and(bad(), one()),
            Expr::and(one(), bad()),
            Expr::or(bad(), one()),
            Expr::or(zero(), bad()),
            choice(bad(), zero(), zero()),
            choice(zero(), bad(), zero()),
            choice(zero(), zero(), bad()),
            Expr::Length(denoted(x(), [0, 1])),
            Expr::Length(denoted(bit(), [0, 2])),
            Expr::Length(denoted(bad(), [0, 1])),
            oldest(),
            Expr::and(length(LessEqual, 0), oldest()),
            Expr::and(length(Less, 1), oldest()),
            Expr::or(length(Greater, 0), oldest()),
            Expr::or(length(GreaterEqual, 1), oldest()),
            Expr::and(length(Greater, 0), peek(fixed(0), 1, 0)),
            Expr::and(length(GreaterEqual, 1), peek(fixed(0), 1, 0)),
            Expr::and(length(Greater, 0), peek(fixed(1), 0, 0)),
            Expr::and(length(Greater, 0), peek(denoted(bit(), [0, 1]), 0, 0)),
            Expr::and(length(Greater, 0), peek(fixed(0), -1, 0)),
            Expr::and(Expr::or(length(Greater, 0), x()), oldest()),
            Expr::or(Expr::and(length(Less, 1), x()), oldest()),
            Expr::or(Expr::and(length(Greater, 0), x()), oldest()),
            Expr::and(Expr::or(length(Less, 1), x()), oldest()),
            choice(length(Greater, 0), zero(), oldest()),
        ];
        for (exprs, expected) in [(&fine[..], false), (&may_fail, true)] {
            for expr in exprs {
                assert_eq!(program.may_fail(expr), expected, "{expr:?}");
            }
        }
    }

    #[test]
    fn statements_that_may_fail() {
        let program = small();
        let (x, bit) = (|| Expr::Var(X), || Expr::Var(BIT));
        let zero = || Expr::Const(0);
        let bad = || divided(bit());
        let set = |variable, value| Statement::assign(variable, value, SITE);
        let put = |index, value| Statement::Assign {
            target: Place::Element(ARRAY, index, SITE),
            value,
            site: SITE,
        };
        let send = |channel, values: &[Expr]| Statement::Send {
            channel,
            values: values.to_vec(),
            order: crate::SendOrder::Fifo,
            site: SITE,
        };
        let receive = |channel, position, targets: &[Option<Place>], remove| Statement::Receive {
            channel,
            position,
            targets: targets.to_vec(),
            remove,
            site: SITE,
        };
        let either = |condition, then: &[Statement], otherwise: &[Statement]| Statement::If {
            condition,
            then: then.to_vec(),
            otherwise: otherwise.to_vec(),
        };
        let throw = |channel, targets: &[Option<Place>], remove| {
            receive(fixed(channel), None, targets, remove)
        };
        let repeat = |condition, round: Statement| Statement::While {
            condition,
            body: vec![round],
            site: SITE,
        };
        let any = Program::has_message(&fixed(0));
        let to_x = || Some(Place::Var(X));
        let fails = || Statement::Fail(SITE);
        let assert = |condition| Statement::Assert {
            condition,
            site: SITE,
        };
        let fine = [
            set(X, bit()),
            set(WRAPS, x()),
            put(bit(), zero()),
            assert(bit()),
            send(fixed(0), &[zero(), zero()]),
            send(denoted(bit(), [0, 1]), &[zero(), zero()]),
            throw(0, &[to_x(), None], true),
            either(bit(), &[set(X, zero())], &[]),
            repeat(any.clone(), throw(0, &[None, None], true)),
        ];
        let may_fail = [
            set(BIT, x()),
            set(X, bad()),
            put(x(), zero()),
            put(bad(), zero()),
            put(bit(), x()),
            Statement::Let(crate::TempId(0), bad()),
            assert(bad()),
            fails(),
            send(fixed(0), &[Expr::Const(4), zero()]),
            send(fixed(0), &[bad(), zero()]),
            send(fixed(0), &[zero()]),
            send(denoted(x(), [0, 1]), &[zero(), zero()]),
            // It fits into one of the two.
            send(denoted(bit(), [0, 1]), &[Expr::Const(4), zero()]),
            throw(0, &[Some(Place::Var(BIT)), None], true),
            throw(0, &[Some(Place::Element(ARRAY, x(), SITE)), None], true),
            throw(0, &[None], true),
            throw(0, &[Some(Place::Element(ARRAY, x(), SITE)), to_x()], true),
            // It fits what comes from one of the two.
            receive(
                denoted(bit(), [0, 1]),
                None,
                &[Some(Place::Element(ARRAY, bit(), SITE)), None],
                true,
            ),
            receive(fixed(0), Some(zero()), &[None, None], true),
            receive(denoted(x(), [0, 1]), None, &[None, None], true),
            either(bad(), &[], &[]),
            either(bit(), &[fails()], &[]),
            either(bit(), &[], &[fails()]),
            repeat(any.clone(), throw(1, &[None, None], true)),
            repeat(any.clone(), throw(0, &[None, None], false)),
            repeat(any.clone(), throw(0, &[to_x(), None], true)),
            repeat(any.clone(), throw(0, &[None], true)),
            repeat(bit(), throw(0, &[None, None], true)),
        ];
        for (statements, expected) in [(&fine[..], false), (&may_fail, true)] {
            for statement in statements {
                let body = std::slice::from_ref(statement);
                let found = program.body_may_fail(body, true, &Known::default());
                assert_eq!(found, expected, "{statement:?}");
            }
        }
        for open in [&fine[4], &fine[6]] {
            let body = std::slice::from_ref(open);
            assert!(
                program.body_may_fail(body, false, &Known::default()),
                "{open:?}"
            );
        }
        // What is known is known until it changes.
        let known = Known::ranges(HashMap::from([(X, Interval { min: 1, max: 2 })]));
        for (first, expected) in [(set(WRAPS, zero()), false), (set(X, zero()), true)] {
            let body = [first, set(WRAPS, divided(x()))];
            assert_eq!(program.body_may_fail(&body, true, &known), expected);
        }
        let known = Known::default().and(&any, true);
        for (first, expected) in [
            (either(bit(), &[], &[]), true),
            (throw(0, &[None, None], true), true),
        ] {
            let body = [first, set(WRAPS, peek(fixed(0), 0, 0))];
            assert_eq!(program.body_may_fail(&body, true, &known), expected);
        }
    }
}
