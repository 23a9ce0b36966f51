//! The model with every name resolved: what control flow and lowering work on.
//!
//! Variables of a `typedef` are flattened into leaves (`q.p[1].y[0]` is leaf `.p.y` of `q` with
//! the indices 1 and 0), so that everything below deals with numbers and arrays of numbers.

use std::sync::Arc;

use stubborn_diagnostics::Span;

use crate::ast::{Binary, Ltl, Name, Probe, Unary};

/// A process type: an index into [`Program::processes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcId(pub usize);

/// A variable: global, or local to the process type at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VarKey {
    /// Index into [`Program::globals`].
    Global(usize),
    /// Index into the locals of the process type.
    Local(usize),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// One bit.
    Bit,
    /// 0 to 255.
    Byte,
    /// 16 bits, signed.
    Short,
    /// 32 bits, signed.
    Int,
    /// That many bits, unsigned.
    Unsigned(u8),
    /// A constant of an mtype set: an index into [`Program::mtypes`].
    Mtype(usize),
    /// A reference to a channel.
    Chan,
}

/// A set of named constants.
#[derive(Clone, Debug)]
pub struct MtypeSet {
    /// Its name; empty for the nameless set.
    pub name: Name,
    /// Constant number `i + 1` is `names[i]`.
    pub names: Vec<Name>,
}

/// A part of a variable that holds numbers.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// What stands behind the variable's name: empty, or `.p.y`.
    pub suffix: String,
    /// Type of the numbers.
    pub scalar: Scalar,
    /// Sizes of the arrays on the way, outermost first. Empty for a single number.
    pub dims: Vec<u32>,
    /// Initial value.
    pub initial: LeafInitial,
}

impl Leaf {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|d| *d as usize).product()
    }

    /// Never: a leaf has at least one number.
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Initial value of a leaf.
#[derive(Clone, Debug)]
pub enum LeafInitial {
    /// Zero.
    Zero,
    /// All numbers get this value, computed when the process starts.
    Value(Expr),
    /// One value a number.
    List(Vec<i32>),
    /// A channel of its own for each element.
    Channel(Arc<ChannelType>),
}

/// What a channel holds.
#[derive(Clone, Debug)]
pub struct ChannelType {
    /// How many messages; 0 for a rendez-vous.
    pub capacity: u32,
    /// Types of a message's parts, typedefs flattened.
    pub fields: Vec<Scalar>,
}

/// A declared variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub span: Span,
    /// Its numbers.
    pub leaves: Vec<Leaf>,
    /// Declared as an array.
    pub is_array: bool,
    /// Of a `typedef`, by index.
    pub structure: Option<usize>,
    /// Declared `hidden`.
    pub hidden: bool,
    /// Declared `local`: a global that only one process uses.
    pub local: bool,
}

/// A number in a variable.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub variable: VarKey,
    /// Which leaf of it.
    pub leaf: usize,
    /// One index for each of the leaf's arrays.
    pub indices: Vec<Expr>,
    /// Its type.
    pub scalar: Scalar,
    /// Where it is written.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A number.
    Const(i32),
    /// A variable.
    Load(Box<Place>),
    /// One operand.
    Unary(Unary, Box<Expr>),
    /// Two operands; the place is for a division by zero.
    Binary(Binary, Box<Expr>, Box<Expr>, Span),
    /// A choice.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Starts a process; gives its number.
    Run(Box<Run>),
    /// Messages in a channel.
    Len(Box<Place>),
    /// A question about a channel.
    Probe(Probe, Box<Place>),
    /// Whether a message is there; `None` accepts any value.
    Poll {
        /// The channel.
        channel: Box<Place>,
        /// Values that must match.
        pattern: Vec<Option<Expr>>,
        /// Anywhere in the channel.
        random: bool,
        /// Where it is written.
        span: Span,
    },
    /// `enabled(pid)`, and where it is written.
    Enabled(Box<Expr>, Span),
    /// `pc_value(pid)`
    PcValue(Box<Expr>),
    /// `timeout`
    Timeout,
    /// `np_`
    NonProgress,
    /// `_pid`
    Pid,
    /// `_nr_pr`
    ProcessCount,
    /// `_last`
    Last,
    /// The priority of a process: `get_priority(pid)`, or `_priority`.
    Priority(Option<Box<Expr>>),
    /// `_` in an event of a trace: any value.
    Any,
    /// Whether a process is at a label.
    RemoteLabel {
        /// The process type.
        process: ProcId,
        /// Its number; the lowest instance if missing.
        pid: Option<Box<Expr>>,
        /// The label.
        label: Name,
    },
    /// A variable of another process.
    RemoteVariable {
        /// The process type.
        process: ProcId,
        /// Its number; the lowest instance if missing.
        pid: Option<Box<Expr>>,
        /// The variable, local to that type.
        place: Box<Place>,
    },
}

/// `run`
#[derive(Clone, Debug)]
pub struct Run {
    /// What to start.
    pub process: ProcId,
    /// Values of the parameters, typedefs flattened.
    pub arguments: Vec<Expr>,
    /// Its priority, if given.
    pub priority: Option<i32>,
    /// Where it is written.
    pub span: Span,
}

/// One argument of a receive.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Stored.
    Store(Place),
    /// Thrown away.
    Ignore,
    /// Must have this value.
    Match(Expr),
}

/// A statement that is one step.
#[derive(Clone, Debug)]
pub enum Basic {
    /// Blocks until non-zero.
    Condition(Expr),
    /// Executable if nothing else is.
    Else,
    /// Assignment.
    Assign(Place, Expr),
    /// Values for all elements of a variable.
    AssignAll(VarKey, Vec<i32>),
    /// A step that does nothing.
    Nothing,
    /// Output in simulations.
    Print(Name, Vec<Expr>),
    /// Output of a symbolic name in simulations.
    PrintMtype(Expr),
    /// Must be non-zero.
    Assert(Expr),
    /// Gives a process another priority: `set_priority(pid, value)`, or `_priority = value`.
    SetPriority(Option<Expr>, Expr),
    /// Puts a message into a channel.
    Send {
        /// The channel.
        channel: Place,
        /// The message.
        values: Vec<Expr>,
        /// In order, not at the end.
        sorted: bool,
    },
    /// Takes a message out of a channel.
    Receive {
        /// The channel.
        channel: Place,
        /// What to do with it.
        arguments: Vec<Argument>,
        /// Any message that fits, not only the first.
        random: bool,
        /// The message stays in the channel.
        keep: bool,
    },
    /// The end of a process.
    End,
}

/// A process type.
#[derive(Clone, Debug)]
pub struct Process {
    /// What it is.
    pub kind: crate::ast::ProcessKind,
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub span: Span,
    /// How many exist at the start.
    pub active: u32,
    /// Locals; parameters come first.
    pub locals: Vec<Variable>,
    /// How many locals are parameters.
    pub parameters: usize,
    /// Locals whose initial values are computed when the process starts, in order.
    pub initialised: Vec<usize>,
    /// Must hold for the process to move.
    pub provided: Option<Expr>,
    /// Priority of processes of this type unless said otherwise.
    pub priority: i32,
    /// Channels claimed by `xr` and `xs`.
    pub exclusive: Vec<(bool, Place)>,
    /// The body.
    pub flow: crate::flow::Flow,
}

/// A checked model.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Sets of constants; number 0 is the nameless one.
    pub mtypes: Vec<MtypeSet>,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Process types in the order of the text, claims and traces too.
    pub processes: Vec<Process>,
    /// Temporal properties.
    pub formulas: Vec<Ltl>,
    /// Expressions that were given apart from the model.
    pub propositions: Vec<Expr>,
    /// Where a process of the model looks at `_nr_pr`, if one does.
    pub counts_processes: Option<Span>,
    /// `_last` occurs somewhere.
    pub uses_last: bool,
    /// Priorities occur somewhere.
    pub uses_priority: bool,
}

impl Program {
    /// Whether some channel has no room for messages.
    pub fn has_rendezvous(&self) -> bool {
        let locals = self.processes.iter().flat_map(|p| &p.locals);
        let mut leaves = locals.chain(&self.globals).flat_map(|v| &v.leaves);
        leaves.any(|l| matches!(&l.initial, LeafInitial::Channel(ty) if ty.capacity == 0))
    }
}
