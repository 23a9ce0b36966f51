//! Message-passing protocols in Rust, checked.

mod analysis;
mod chart;
mod check;
mod executor;
mod handler;
mod history;
mod intern;
pub mod linearizability;
mod model;
mod moves;
mod network;
mod property;
mod protocol;
mod relations;
mod svg;
mod value;

pub use chart::Chart;
pub use check::{CheckError, Checker, Failure, Reduction, Report};
pub use handler::Step;
pub use model::{Model, ProtocolError};
pub use network::Network;
pub use property::View;
pub use protocol::{ActionBuilder, MessageBuilder, Protocol, QuorumBuilder, RecordBuilder};
pub use value::{Envelope, Pid, ProcessRef, Value};
pub mod protocols;
