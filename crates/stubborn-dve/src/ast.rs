//! The syntax tree: what the text says, before any name is looked up.
//!
//! Names are slices of the source text; everything a message may want to point
//! at carries its [`Span`].

use stubborn_diagnostics::Span;

/// A name and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Ident<'src> {
    /// The name.
    pub name: &'src str,
    /// Where.
    pub span: Span,
}

/// A literal number and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Its value; literals are unsigned.
    pub value: i32,
    /// Where.
    pub span: Span,
}

/// The two types of DVE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 0 to 255.
    Byte,
    /// -32768 to 32767.
    Int,
}

impl Type {
    /// Smallest value.
    pub fn min(self) -> i32 {
        match self {
            Type::Byte => 0,
            Type::Int => i32::from(i16::MIN),
        }
    }

    /// Largest value.
    pub fn max(self) -> i32 {
        match self {
            Type::Byte => i32::from(u8::MAX),
            Type::Int => i32::from(i16::MAX),
        }
    }

    /// Whether a variable of this type can hold `value`.
    pub fn holds(self, value: i32) -> bool {
        (self.min()..=self.max()).contains(&value)
    }

    /// The keyword.
    pub fn name(self) -> &'static str {
        match self {
            Type::Byte => "byte",
            Type::Int => "int",
        }
    }
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Model<'src> {
    /// Global variables and channels, in order.
    pub declarations: Vec<Declaration<'src>>,
    /// Processes, in order.
    pub processes: Vec<Process<'src>>,
    /// The last line, unless it is missing.
    pub system: Option<System<'src>>,
}

/// A global declaration.
#[derive(Clone, Debug)]
pub enum Declaration<'src> {
    /// `byte x, y[3];`
    Variables(Variables<'src>),
    /// `channel c, d;`
    Channels(Channels<'src>),
}

/// One declaration of variables of a type.
#[derive(Clone, Debug)]
pub struct Variables<'src> {
    /// Whether it starts with `const`.
    pub is_const: bool,
    /// Their type.
    pub ty: Type,
    /// The variables.
    pub declarators: Vec<Declarator<'src>>,
}

/// One variable of a declaration.
#[derive(Clone, Debug)]
pub struct Declarator<'src> {
    /// Its name.
    pub name: Ident<'src>,
    /// The size, if it is an array.
    pub size: Option<Number>,
    /// The initial value, if given.
    pub initialiser: Option<Initialiser<'src>>,
}

/// An initial value.
#[derive(Clone, Debug)]
pub enum Initialiser<'src> {
    /// `= 3`
    Single(Expr<'src>),
    /// `= {1, 2}`
    List(Vec<Expr<'src>>, Span),
}

/// One declaration of channels.
#[derive(Clone, Debug)]
pub struct Channels<'src> {
    /// The types of the values of a message, if the channels are typed.
    pub types: Option<Vec<Type>>,
    /// The channels; typed ones with the size of their buffer.
    pub channels: Vec<(Ident<'src>, Option<Number>)>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process<'src> {
    /// Its name.
    pub name: Ident<'src>,
    /// Local variables.
    pub variables: Vec<Variables<'src>>,
    /// Local states.
    pub states: Vec<Ident<'src>>,
    /// The initial state, unless it is missing.
    pub init: Option<Ident<'src>>,
    /// Committed states.
    pub commits: Vec<Ident<'src>>,
    /// The acceptance condition.
    pub accept: Option<Accept<'src>>,
    /// Assertions.
    pub assertions: Vec<Assertion<'src>>,
    /// Transitions.
    pub transitions: Vec<Transition<'src>>,
    /// The whole process, from the keyword to the closing brace.
    pub span: Span,
}

/// The kinds of acceptance that DVE can write down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the keywords
pub enum AcceptKind {
    Buchi,
    GenBuchi,
    Rabin,
    Streett,
    Muller,
}

/// An acceptance condition.
#[derive(Clone, Debug)]
pub struct Accept<'src> {
    /// Which kind.
    pub kind: AcceptKind,
    /// The sets of states: one for Büchi, the sets for generalised Büchi and
    /// Muller, both sets of each pair after another for Rabin and Streett.
    pub sets: Vec<Vec<Ident<'src>>>,
    /// The whole clause.
    pub span: Span,
}

/// `assert state: expression`
#[derive(Clone, Debug)]
pub struct Assertion<'src> {
    /// The state in which it must hold.
    pub state: Ident<'src>,
    /// What must hold.
    pub condition: Expr<'src>,
}

/// A transition of a process.
#[derive(Clone, Debug)]
pub struct Transition<'src> {
    /// The source state (the previous transition's where it was left out).
    pub source: Ident<'src>,
    /// The target state.
    pub target: Ident<'src>,
    /// The guard.
    pub guard: Option<Expr<'src>>,
    /// The synchronisation.
    pub sync: Option<Sync<'src>>,
    /// The assignments, in order.
    pub effects: Vec<Assignment<'src>>,
    /// The whole transition.
    pub span: Span,
}

/// Which half of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `c!`
    Send,
    /// `c?`
    Receive,
}

/// `sync c!value` or `sync c?variable`
#[derive(Clone, Debug)]
pub struct Sync<'src> {
    /// The channel.
    pub channel: Ident<'src>,
    /// Send or receive.
    pub direction: Direction,
    /// The values, or the places they go to.
    pub payload: Vec<Expr<'src>>,
    /// From the channel to the end of the payload.
    pub span: Span,
}

/// `target = value`
#[derive(Clone, Debug)]
pub struct Assignment<'src> {
    /// The left side; the parser accepts any expression here.
    pub target: Expr<'src>,
    /// The right side.
    pub value: Expr<'src>,
}

/// The `system` line.
#[derive(Clone, Debug)]
pub struct System<'src> {
    /// The process that is the property automaton.
    pub property: Option<Ident<'src>>,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `~`
    Complement,
    /// `not`
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the operators
pub enum BinaryOp {
    Imply,
    Or,
    And,
    BitOr,
    BitAnd,
    BitXor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr<'src> {
    /// What it is.
    pub kind: ExprKind<'src>,
    /// Where it stands.
    pub span: Span,
    /// Height of the tree; the parser keeps it below [`crate::MAX_EXPRESSION_HEIGHT`]
    /// so that every later pass may recurse.
    pub height: u32,
}

/// The forms of expressions. `true` and `false` are the numbers 1 and 0.
#[derive(Clone, Debug)]
pub enum ExprKind<'src> {
    /// A number.
    Number(i32),
    /// `x`, or an array's element 0.
    Name(Ident<'src>),
    /// `x[i]`
    Index(Ident<'src>, &'src Expr<'src>),
    /// `process.state`, `process->variable`, `process->variable[i]`.
    Member(&'src Member<'src>),
    /// An operator with one operand.
    Unary(UnaryOp, &'src Expr<'src>),
    /// An operator with two operands.
    Binary(BinaryOp, &'src [Expr<'src>; 2]),
}

/// Something that belongs to a named process.
#[derive(Clone, Debug)]
pub struct Member<'src> {
    /// The process.
    pub process: Ident<'src>,
    /// Whether the mark is `->` and not `.`.
    pub arrow: bool,
    /// The state or variable.
    pub name: Ident<'src>,
    /// The index.
    pub index: Option<Expr<'src>>,
}
