//! The model as its author wrote it, after preprocessing and inline expansion.

use std::sync::Arc;

use stubborn_diagnostics::Span;

/// A name in the model.
pub type Name = Arc<str>;

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Everything in the order of the text.
    pub units: Vec<Unit>,
    /// Labels that are referred to from outside their process type: type and label.
    pub remote_labels: Vec<(Name, Name)>,
}

/// One thing at the top level of a model.
#[derive(Clone, Debug)]
pub enum Unit {
    /// `proctype`, `init`, `never`, `trace`, `notrace`.
    Process(Box<Process>),
    /// Global variables.
    Declaration(Declaration),
    /// `typedef`
    Typedef(Typedef),
    /// `mtype = { … }`
    Mtype(Mtype),
    /// `ltl name { … }`
    Ltl(Ltl),
}

/// What kind of process a body belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessKind {
    /// `proctype`
    Proctype,
    /// `init`
    Init,
    /// `never`
    Never,
    /// `trace`
    Trace,
    /// `notrace`
    NoTrace,
}

/// A process type with its body.
#[derive(Clone, Debug)]
pub struct Process {
    /// What it is.
    pub kind: ProcessKind,
    /// Its name; `:init:`, `:trace:` and so on for nameless ones.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// `active [n]`: how many instances exist at the start.
    pub active: Option<Expr>,
    /// `D_proctype`: claimed to be deterministic.
    pub deterministic: bool,
    /// Parameters.
    pub parameters: Vec<Declaration>,
    /// `priority n`
    pub priority: Option<Expr>,
    /// `provided ( … )`
    pub provided: Option<Expr>,
    /// The body.
    pub body: Block,
}

/// `typedef name { … }`
#[derive(Clone, Debug)]
pub struct Typedef {
    /// The type's name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// Its fields.
    pub fields: Vec<Declaration>,
}

/// `mtype : set = { … }`
#[derive(Clone, Debug)]
pub struct Mtype {
    /// The set's name, if it has one.
    pub set: Option<Name>,
    /// The constants, in the order of the text.
    pub names: Vec<(Name, Span)>,
}

/// `ltl name { … }`: kept as text for the LTL parser.
#[derive(Clone, Debug)]
pub struct Ltl {
    /// Its name, `ltl_0` and so on for nameless ones.
    pub name: Name,
    /// The formula with macros expanded.
    pub text: String,
    /// Where the formula stands.
    pub span: Span,
}

/// A type that can be written in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `bit` or `bool`.
    Bit,
    /// `byte` or `pid`.
    Byte,
    /// `short`
    Short,
    /// `int`
    Int,
    /// `unsigned`; the width stands with each variable.
    Unsigned,
    /// `mtype`, perhaps of a named set.
    Mtype(Option<Name>),
    /// `chan`
    Chan,
    /// A `typedef`.
    Named(Name),
}

/// Who sees a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Nothing said.
    Normal,
    /// `hidden`: not part of the state.
    Hidden,
    /// `show`: only for display.
    Show,
    /// `local`: claimed to be used by one process only.
    Local,
}

/// One declaration of one or more variables of a type.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// `hidden` and so on.
    pub visibility: Visibility,
    /// The type.
    pub ty: Type,
    /// Where the type stands.
    pub span: Span,
    /// The variables.
    pub variables: Vec<Declarator>,
}

/// One variable in a declaration.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// `: n` of an unsigned variable.
    pub width: Option<Expr>,
    /// `[ n ]`
    pub size: Option<Expr>,
    /// What stands after `=`.
    pub initial: Initial,
}

/// Initial value of a variable.
#[derive(Clone, Debug)]
pub enum Initial {
    /// None given.
    None,
    /// A value.
    Value(Expr),
    /// `{ 1, 2, 3 }`
    List(Vec<Expr>),
    /// `[ capacity ] of { types }`
    Channel {
        /// How many messages it holds; 0 for a rendez-vous.
        capacity: Expr,
        /// Types of the message's fields.
        fields: Vec<Type>,
    },
}

/// A reference to a variable: `a.b[i].c`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The parts between the dots; at least one.
    pub parts: Vec<Part>,
    /// Where it stands.
    pub span: Span,
}

/// One part of a reference: a name with an optional index.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// The index, if any.
    pub index: Option<Box<Expr>>,
}

/// An expression with its place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `~`
    Complement,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    BitAnd,
    BitXor,
    BitOr,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

/// Questions about the fill of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `full`
    Full,
    /// `nfull`
    NotFull,
    /// `empty`
    Empty,
    /// `nempty`
    NotEmpty,
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Number(i32),
    /// A constant of an mtype set.
    Constant(Name),
    /// A variable (or `_pid`, `_nr_pr`, `_last`).
    Reference(Reference),
    /// One operand.
    Unary(Unary, Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `( condition -> yes : no )`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `run name ( … ) priority n`
    Run(Run),
    /// `len(c)`
    Len(Reference),
    /// `full(c)` and the like.
    Probe(Probe, Reference),
    /// `c?[…]` or, `random`, `c??[…]`
    Poll {
        /// The channel.
        channel: Reference,
        /// What the message must look like.
        arguments: Vec<ReceiveArgument>,
        /// `??`: any message, not only the first.
        random: bool,
    },
    /// `enabled(pid)`
    Enabled(Box<Expr>),
    /// `pc_value(pid)`
    PcValue(Box<Expr>),
    /// `get_priority(pid)`
    GetPriority(Box<Expr>),
    /// `timeout`
    Timeout,
    /// `np_`
    NonProgress,
    /// `name[pid]@label`
    RemoteLabel {
        /// The process type.
        process: Name,
        /// Which instance.
        pid: Option<Box<Expr>>,
        /// The label.
        label: Name,
    },
    /// `name[pid]:variable`
    RemoteVariable {
        /// The process type.
        process: Name,
        /// Which instance.
        pid: Option<Box<Expr>>,
        /// The variable.
        variable: Reference,
    },
    /// Stands for an expression that could not be understood.
    Error,
}

/// `run name ( … ) priority n`
#[derive(Clone, Debug)]
pub struct Run {
    /// The process type.
    pub process: Name,
    /// Where its name stands.
    pub span: Span,
    /// Arguments.
    pub arguments: Vec<Expr>,
    /// Priority, if given.
    pub priority: Option<Box<Expr>>,
}

/// One argument of a receive.
#[derive(Clone, Debug)]
pub enum ReceiveArgument {
    /// Store the field into a variable (`_` discards it).
    Variable(Reference),
    /// The field must have this value: a constant or `eval(…)`.
    Match(Expr),
}

/// A sequence of statements with its own scope.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements.
    pub statements: Vec<Statement>,
    /// Where it stands, braces included.
    pub span: Span,
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of statement.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A declaration among statements.
    Declaration(Declaration),
    /// `xr` (receive) or `xs` (send): claimed to be the only user.
    Exclusive {
        /// `xr`
        receive: bool,
        /// The channels.
        channels: Vec<Reference>,
    },
    /// `name: statement`; the statement is missing before `}`.
    Labelled(Name, Option<Box<Statement>>),
    /// `a = b`, also `a++` and `a--`.
    Assign(Reference, Expr),
    /// `printf(format, …)`
    Print(Name, Vec<Expr>),
    /// `printm(x)`
    PrintMtype(Expr),
    /// `assert(x)`
    Assert(Expr),
    /// `c!…` or, `sorted`, `c!!…`
    Send {
        /// The channel.
        channel: Reference,
        /// The message.
        arguments: Vec<Expr>,
        /// `!!`
        sorted: bool,
    },
    /// `c?…`
    Receive {
        /// The channel.
        channel: Reference,
        /// What to do with the message's fields.
        arguments: Vec<ReceiveArgument>,
        /// `??`
        random: bool,
        /// `?< … >`: the message stays.
        keep: bool,
    },
    /// An expression: blocks until it is true.
    Condition(Expr),
    /// `else`
    Else,
    /// `break`
    Break,
    /// `goto label`
    Goto(Name),
    /// `if … fi`
    If(Vec<Block>),
    /// `do … od`
    Do(Vec<Block>),
    /// `atomic { … }`
    Atomic(Block),
    /// `d_step { … }`
    DStep(Block),
    /// `{ … }`; for an expanded inline, with its name.
    Block(Block, Option<Name>),
    /// `for (i : a .. b) { … }`
    ForRange {
        /// The counter.
        variable: Reference,
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
        /// What is repeated.
        body: Block,
    },
    /// `for (i in a) { … }`
    ForIn {
        /// Index variable, or a variable for messages.
        variable: Reference,
        /// An array, or a channel.
        collection: Reference,
        /// What is repeated.
        body: Block,
    },
    /// `select (i : a .. b)`
    Select {
        /// The variable.
        variable: Reference,
        /// Smallest value.
        from: Expr,
        /// Largest value.
        to: Expr,
        /// Written with plain numbers outside an inline: one step with a choice of values.
        plain: bool,
    },
    /// `main unless escape`
    Unless(Box<Statement>, Box<Statement>),
    /// `set_priority(pid, priority)`
    SetPriority(Expr, Expr),
    /// Stands for a statement that could not be understood.
    Error,
}
