//! Message-passing protocols in Rust: write them down, and have every interleaving checked.
//!
//! A protocol is made of [processes](Protocol::process) with ordinary Rust values as local
//! states, and of handlers that take no message, one, or a quorum of them. Handlers are
//! functions of local state and messages, so each is run once for each combination, however many
//! states of the whole system it occurs in. The result is a model like any other of this
//! workspace: stores, threads, reductions, temporal formulas and traces work as they do for
//! the modelling languages.
//!
//! ```
//! use stubborn_protocol::{Protocol, assert_holds};
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Hash)]
//! enum Message {
//!     Request,
//!     Grant,
//!     Release,
//! }
//!
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
//! enum Client {
//!     Idle,
//!     Waiting,
//!     Working,
//! }
//!
//! let mut p = Protocol::new("lock server");
//! let server = p.process("server", true); // is the lock free?
//! let clients = p.processes("client", 3, Client::Idle);
//! for client in &clients {
//!     p.action(*client, "asks")
//!         .when(|c| *c == Client::Idle)
//!         .then(move |c, step| {
//!             *c = Client::Waiting;
//!             step.send(server, Message::Request);
//!         });
//!     p.on(*client, "Grant").then(|c, _, _| *c = Client::Working);
//!     p.action(*client, "is done")
//!         .when(|c| *c == Client::Working)
//!         .then(move |c, step| {
//!             *c = Client::Idle;
//!             step.send(server, Message::Release);
//!         });
//! }
//! p.on(server, "Request").only_if(|free| *free).then(|free, m, step| {
//!     *free = false;
//!     step.send(m.from, Message::Grant);
//! });
//! p.on(server, "Release").then(|free, _, _| *free = true);
//! p.invariant_over(
//!     "mutual exclusion",
//!     &clients,
//!     |c| *c == Client::Working,
//!     |working| working.iter().filter(|w| **w).count() <= 1,
//! );
//!
//! let model = p.build()?;
//! assert_holds!(model);
//! # Ok::<(), stubborn_protocol::ProtocolError>(())
//! ```
//!
//! In a `#[test]`, [`assert_holds!`] panics with a message sequence chart of a counterexample.
//!
//! # What is checked about the protocol itself
//!
//! Handlers may declare what they [send](MessageBuilder::sends) and that they [change
//! nothing](MessageBuilder::only_reads). A handler that does something else is reported by name.
//! Nothing has to be declared: what handlers can do is found out by running them on everything
//! that may come their way, and where that is too much, declarations help reductions.
//!
//! # Where things are
//!
//! | module | holds |
//! | --- | --- |
//! | `protocol`, `builders`, `handler`, `property`, `history`, `network`, `value` | what a user writes |
//! | [`linearizability`], [`clients`] | a tester for recorded operations, and clients that record them |
//! | `simulation` | random walks |
//! | [`real`] | the same handlers over UDP, with logs |
//! | `model`, `moves`, `executor`, `compact`, `values`, `intern`, `pairs`, `quick` | protocols as systems: values as numbers, steps as tables. The types of local states and messages are known at the edge alone (closures of handlers, printing) |
//! | `analysis`, `relations` | what may enable and disturb what, in advance |
//! | `lazy` | the same for single messages, from what searches meet |
//! | `check`, `bounded`, `report`, `coverage`, `error`, `chart`, `svg` | questions and answers |
//! | `experiments` | local partial-order reduction as printed, for comparison |
//! | `stateless` | search without a store: [dynamic partial-order reduction](stubborn_dpor), and the classic one |
//! | `symmetry` | interchangeable processes |
//! | `protocols` | examples, with the feature of that name |

#![forbid(unsafe_code)]

mod analysis;
mod bounded;
mod builders;
mod channels;
mod chart;
mod check;
pub mod clients;
mod compact;
mod coverage;
mod error;
mod executor;
mod experiments;
mod handler;
mod history;
mod intern;
mod lazy;
pub mod linearizability;
mod model;
mod moves;
mod network;
mod pairs;
mod property;
mod protocol;
#[cfg(feature = "protocols")]
pub mod protocols;
mod quick;
mod quotient;
pub mod real;
mod relations;
mod report;
mod simulation;
mod stateless;
mod svg;
mod symmetry;
mod value;
mod values;

pub use builders::{ActionBuilder, MessageBuilder, QuorumBuilder};
pub use chart::Chart;
pub use check::{Checker, Reduction};
pub use coverage::{Coverage, HandlerReport, Knowledge};
pub use error::{CheckError, ProtocolError};
pub use handler::Step;
pub use model::Model;
pub use network::Network;
pub use property::{Group, Groups, View, over};
pub use protocol::{Protocol, RecordBuilder};
pub use report::{Failure, Report};
pub use simulation::{Simulation, SimulationReport};
/// Dynamic partial-order reduction for any program of threads.
pub use stubborn_dpor as dpor;

pub use stubborn_reduce::{Algorithm, Config};
pub use stubborn_search::{Limits, StoreKind, StoreOptions, Trace};
pub use stubborn_system::{Budget, RelationLevel};

pub use stateless::{MessageProgram, MessageState, Stateless, StatelessReport, StatelessSearch};
pub use symmetry::Rename;
pub use value::{Envelope, Kind, KindName, Pid, ProcessRef, Value};
