//! A checked model: every name resolved, every rule of the language that can be
//! checked without running the model obeyed.
//!
//! Things are referred to by typed ids, which index the vectors of [`Model`].
//! Constants are folded away, a bare array name has become its element 0, and
//! initial values are computed.

use stubborn_diagnostics::Span;

pub use crate::ast::{AcceptKind, BinaryOp, Direction, Type, UnaryOp};

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the thing at this position.
            pub fn new(index: usize) -> Self {
                // Texts are limited to megabytes, so nothing in them has 2³² of anything.
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// Its position.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}

ids! {
    /// A variable, global or local: index into [`Model::variables`].
    VariableId;
    /// A channel: index into [`Model::channels`].
    ChannelId;
    /// A process: index into [`Model::processes`].
    ProcessId;
    /// A local state of a process: index into [`Process::locations`].
    LocationId;
}

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Global variables first, then those of each process in turn; constants too.
    pub variables: Vec<Variable>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Processes, the property process among them.
    pub processes: Vec<Process>,
    /// The property process: the automaton of the negated formula.
    pub property: Option<ProcessId>,
}

/// A variable or constant.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name as declared.
    pub name: String,
    /// The process it is local to.
    pub owner: Option<ProcessId>,
    /// Type of each element.
    pub ty: Type,
    /// Number of elements, if it is an array.
    pub size: Option<u32>,
    /// Whether it is a constant, and hence not part of the state.
    pub is_const: bool,
    /// Initial values, one for each element.
    pub initial: Vec<i32>,
    /// Where it is declared.
    pub span: Span,
}

/// A channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Types of the values of a message; `None` if the channel is untyped.
    pub types: Option<Vec<Type>>,
    /// Messages it can hold; 0 for a rendezvous.
    pub capacity: u32,
    /// Number of values in a message.
    pub arity: usize,
    /// Where it is declared.
    pub span: Span,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Its local states.
    pub locations: Vec<Location>,
    /// The initial one.
    pub init: LocationId,
    /// Kind and sets of its acceptance condition, if it has one.
    pub accept: Option<(AcceptKind, Vec<Vec<LocationId>>)>,
    /// What must hold in which state.
    pub assertions: Vec<Assertion>,
    /// Its transitions, in the order of the text.
    pub transitions: Vec<Transition>,
    /// Where its name stands.
    pub span: Span,
}

/// A local state.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// Whether it is committed.
    pub committed: bool,
    /// Where it is declared.
    pub span: Span,
}

/// An assertion.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The state in which it must hold.
    pub location: LocationId,
    /// What must hold (be non-zero).
    pub condition: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A transition of one process; two of them may make up one step.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Source state.
    pub source: LocationId,
    /// Target state.
    pub target: LocationId,
    /// The guard; none means true.
    pub guard: Option<Expr>,
    /// The synchronisation.
    pub sync: Option<Sync>,
    /// Assignments, one after another.
    pub effects: Vec<Assignment>,
    /// Where it stands.
    pub span: Span,
}

/// One half of a communication.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The channel.
    pub channel: ChannelId,
    /// Which half, with the values sent or the places they go to.
    pub payload: Payload,
}

impl Transition {
    /// The variables that its effects assign; received values do not count.
    pub fn assigned(&self) -> impl Iterator<Item = VariableId> + '_ {
        self.effects
            .iter()
            .map(|assignment| assignment.target.variable)
    }
}

/// The values sent or the places they go to.
#[derive(Clone, Debug)]
pub enum Payload {
    /// Send these values.
    Send(Vec<Expr>),
    /// Receive into these places.
    Receive(Vec<Place>),
}

/// One assignment.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Where the value goes.
    pub target: Place,
    /// The value.
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
}

/// A variable or an element of an array.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// The index, exactly if the variable is an array.
    pub index: Option<Box<Expr>>,
}

/// An expression over 32-bit integers.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A number.
    Constant(i32),
    /// The value of a variable or element. An index out of range is an error.
    Read(Place),
    /// 1 if the process is in that local state, else 0.
    At(ProcessId, LocationId),
    /// An operator with one operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator with two operands.
    Binary(BinaryOp, Box<[Expr; 2]>),
}

impl Model {
    /// The variable of an id.
    pub fn variable(&self, id: VariableId) -> &Variable {
        &self.variables[id.index()]
    }

    /// The process of an id.
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// The channel of an id.
    pub fn channel(&self, id: ChannelId) -> &Channel {
        &self.channels[id.index()]
    }

    /// All processes with their ids.
    pub fn processes(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        self.processes
            .iter()
            .enumerate()
            .map(|(i, p)| (ProcessId::new(i), p))
    }

    /// The name of a variable as it appears in traces: `x`, or `P.x` for a local.
    pub fn variable_name(&self, id: VariableId) -> String {
        let variable = self.variable(id);
        match variable.owner {
            Some(owner) => format!("{}.{}", self.process(owner).name, variable.name),
            None => variable.name.clone(),
        }
    }
}
