//! Expressions: 32-bit signed arithmetic that wraps, with explicit places of failure.

use stubborn_system::{ChannelId, ProcessId};

use crate::{Program, TempId, VarId};

/// A place where evaluation can fail: an index into [`Program::failures`].
///
/// All sites are equal to each other, so that two guards that differ only in where they
/// were written are one guard.
#[derive(Clone, Copy, Debug)]
pub struct Site(pub(crate) u32);

impl Site {
    /// Position in [`Program::failures`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PartialEq for Site {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Site {}

impl std::hash::Hash for Site {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`, wrapping.
    Negate,
    /// `~x`.
    BitNot,
    /// 1 if the operand is 0, else 0.
    Not,
}

/// Operators with two operands that cannot fail. Comparisons give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    /// The distance is taken modulo 32.
    ShiftLeft,
    /// Arithmetic; the distance is taken modulo 32.
    ShiftRight,
    BitAnd,
    BitOr,
    BitXor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Division: truncating towards zero, failing on a zero divisor. `i32::MIN / -1` wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DivideOp {
    Quotient,
    Remainder,
}

/// Which channel: a fixed one, or one that a value denotes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChannelRef {
    /// This one.
    Fixed(ChannelId),
    /// The channel that the value of an expression denotes; a value not in the list fails.
    Denoted {
        /// The reference.
        value: Box<Expr>,
        /// Which value denotes which channel: all that the reference can be.
        targets: Box<[(i32, ChannelId)]>,
        /// Failure if the value denotes none of them.
        site: Site,
    },
}

impl ChannelRef {
    /// All channels it can denote.
    pub fn targets(&self) -> impl Iterator<Item = ChannelId> + '_ {
        let (fixed, denoted) = match self {
            ChannelRef::Fixed(channel) => (Some(*channel), [].as_slice()),
            ChannelRef::Denoted { targets, .. } => (None, &targets[..]),
        };
        fixed
            .into_iter()
            .chain(denoted.iter().map(|(_, channel)| *channel))
    }
}

/// An expression. Values are 32-bit signed; arithmetic wraps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Const(i32),
    /// A scalar variable.
    Var(VarId),
    /// A temporary of the command's body. Not in guards.
    Temp(TempId),
    /// An array element; an index outside the array fails.
    Element(VarId, Box<Expr>, Site),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands, both evaluated, left first.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Division.
    Divide(DivideOp, Box<Expr>, Box<Expr>, Site),
    /// 1 if both are non-zero; the right one is evaluated only if the left one is non-zero.
    And(Box<Expr>, Box<Expr>),
    /// 1 if one is non-zero; the right one is evaluated only if the left one is zero.
    Or(Box<Expr>, Box<Expr>),
    /// The second if the first is non-zero, else the third; only one of them is evaluated.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The number of messages in a channel.
    Length(ChannelRef),
    /// An item of the message at a position (0 is the oldest); a position at or beyond the
    /// length fails.
    Peek {
        /// Where.
        channel: ChannelRef,
        /// Which message.
        position: Box<Expr>,
        /// Which part of the message.
        item: u32,
        /// Failure if there is no such message.
        site: Site,
    },
}

/// Constructors that read like the expression.
#[allow(missing_docs)]
impl Expr {
    pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }
    pub fn plus(left: Expr, right: Expr) -> Expr {
        Expr::binary(BinaryOp::Add, left, right)
    }
    pub fn minus(left: Expr, right: Expr) -> Expr {
        Expr::binary(BinaryOp::Subtract, left, right)
    }
    pub fn equal(left: Expr, right: Expr) -> Expr {
        Expr::binary(BinaryOp::Equal, left, right)
    }
    pub fn less(left: Expr, right: Expr) -> Expr {
        Expr::binary(BinaryOp::Less, left, right)
    }
    pub fn and(left: Expr, right: Expr) -> Expr {
        Expr::And(Box::new(left), Box::new(right))
    }
    pub fn or(left: Expr, right: Expr) -> Expr {
        Expr::Or(Box::new(left), Box::new(right))
    }
    /// 1 if the operand is 0.
    pub fn negation(operand: Expr) -> Expr {
        Expr::Unary(UnaryOp::Not, Box::new(operand))
    }
    /// As a label, true exactly where the operand cannot be evaluated: a label that fails counts
    /// as holding, and 0 does not hold.
    pub fn failure(operand: Expr) -> Expr {
        Expr::and(operand, Expr::Const(0))
    }
    /// Whether a process is at a location.
    pub fn at(program: &Program, process: ProcessId, location: u32) -> Expr {
        let counter = program.processes[process.index()].counter;
        Expr::equal(Expr::Var(counter), Expr::Const(location as i32))
    }
}

impl UnaryOp {
    /// The operator on values.
    #[inline]
    pub fn apply(self, value: i32) -> i32 {
        match self {
            UnaryOp::Negate => value.wrapping_neg(),
            UnaryOp::BitNot => !value,
            UnaryOp::Not => i32::from(value == 0),
        }
    }
}

impl BinaryOp {
    /// The operator on values.
    #[inline]
    pub fn apply(self, left: i32, right: i32) -> i32 {
        match self {
            BinaryOp::Add => left.wrapping_add(right),
            BinaryOp::Subtract => left.wrapping_sub(right),
            BinaryOp::Multiply => left.wrapping_mul(right),
            BinaryOp::ShiftLeft => left.wrapping_shl(right as u32),
            BinaryOp::ShiftRight => left.wrapping_shr(right as u32),
            BinaryOp::BitAnd => left & right,
            BinaryOp::BitOr => left | right,
            BinaryOp::BitXor => left ^ right,
            BinaryOp::Equal => i32::from(left == right),
            BinaryOp::NotEqual => i32::from(left != right),
            BinaryOp::Less => i32::from(left < right),
            BinaryOp::LessEqual => i32::from(left <= right),
            BinaryOp::Greater => i32::from(left > right),
            BinaryOp::GreaterEqual => i32::from(left >= right),
        }
    }

    /// True for the operators that give 0 or 1.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
        )
    }

    /// The comparison that holds where this one does not; `None` for operators that are none.
    pub fn opposite(self) -> Option<Self> {
        Some(match self {
            BinaryOp::Equal => BinaryOp::NotEqual,
            BinaryOp::NotEqual => BinaryOp::Equal,
            BinaryOp::Less => BinaryOp::GreaterEqual,
            BinaryOp::LessEqual => BinaryOp::Greater,
            BinaryOp::Greater => BinaryOp::LessEqual,
            BinaryOp::GreaterEqual => BinaryOp::Less,
            _ => return None,
        })
    }
}

impl DivideOp {
    /// The operator on values; `None` on a zero divisor.
    #[inline]
    pub fn apply(self, left: i32, right: i32) -> Option<i32> {
        (right != 0).then(|| match self {
            DivideOp::Quotient => left.wrapping_div(right),
            DivideOp::Remainder => left.wrapping_rem(right),
        })
    }
}
