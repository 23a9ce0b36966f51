//! Guarded commands: the one language that every front-end lowers to.
//!
//! A [`Program`] has [variables](Variable) with ranges, arrays, FIFO [channels](Channel),
//! [processes](ProgramProcess) with program counters, and [commands](Command): a list of
//! guards, all of which must hold, and a body of [statements](Statement) that run one
//! after the other. What can go wrong (an index, a range, a division) is an explicit
//! outcome with a message and a place in the source.
//!
//! [`Model::new`] packs the variables into words ([`Encoding`]), finds out what each
//! command tests, reads and writes, and is a [`System`](stubborn_system::System) executed
//! by the interpreter, the reference semantics. Compiled code, static
//! analysis and printing read the same program. A new language is a parser and a
//! lowering, nothing else.
//!
//! ```
//! use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
//! use stubborn_system::System;
//!
//! // x counts from 0 to 3.
//! let mut program = Program::new("counter");
//! let x = program.variable(Variable::integer("x", 0, 3, 0));
//! let below = program.label(Expr::less(Expr::Var(x), Expr::Const(3)));
//! let site = program.out_of_range_site("x", None);
//! program.command(Command {
//!     name: "count".into(),
//!     guards: vec![below],
//!     body: vec![Statement::assign(x, Expr::plus(Expr::Var(x), Expr::Const(1)), site)],
//!     ..Command::default()
//! });
//! let model = Model::new(program).expect("a small program");
//!
//! let mut executor = model.executor();
//! let mut successors = stubborn_system::Successors::new(model.layout().words());
//! executor.successors(&model.initial_states(), &mut successors);
//! assert_eq!(successors.len(), 1);
//! ```

#![forbid(unsafe_code)]

pub mod analysis;
pub mod chain;
pub mod effects;
pub mod encoding;
pub mod expr;
pub mod fuse;
pub mod interpreter;
pub mod intervals;
pub mod model;
pub mod narrow;
pub mod output;
pub mod print;
pub mod program;
pub mod repetition;
pub mod simplify;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use encoding::{ChannelPlace, Encoding, VariablePlace};
pub use expr::{BinaryOp, ChannelRef, DivideOp, Expr, Site, UnaryOp};
pub use model::{Model, ModelError};
pub use program::{
    Channel, Command, Item, Overflow, Place, Program, ProgramLabel, ProgramProcess, SendOrder,
    Statement, TempId, VarId, Variable,
};
