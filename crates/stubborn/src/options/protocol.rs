//! The options of `stubborn protocol`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::{MemoryLimit, OrderName};
use crate::commands::protocol;

/// Check a protocol that comes with stubborn-protocol
///
/// Message-passing protocols written in Rust with the library stubborn-protocol: those of Bokor,
/// Kinder, Serafini and Suri, "Supporting domain-specific state space reductions through local
/// partial-order reduction" (2011), and Raft, two-phase commit and registers. A number is that of
/// the processes (of the resource managers in two-phase commit); `wrong` stands for a property that
/// does not hold, `f-` for a faulty protocol. A violation is told as a message sequence chart.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  stubborn protocol paxos-6
  stubborn protocol multicast-6 --por none --json
  stubborn protocol multicast-5 --por dpor --dpor optimal")]
pub(crate) struct ProtocolArgs {
    /// Which protocol
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(protocol::NAMES))]
    pub(crate) name: String,

    /// How steps are chosen
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) por: ProtocolPor,

    /// Which dynamic partial-order reduction
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) dpor: DynamicPor,

    /// Where dynamic reduction has a choice, take what local reduction would explore
    #[arg(long)]
    pub(crate) in_local_sets: bool,

    /// A transition for each set of senders of a quorum
    #[arg(long)]
    pub(crate) split_quorums: bool,

    /// Relations between transitions from the handlers' declarations alone
    #[arg(long)]
    pub(crate) declared: bool,

    /// Order of exploration; by default what explores least
    #[arg(long, value_name = "ORDER", value_enum)]
    pub(crate) order: Option<OrderName>,

    /// Do not remember states; a state that is reached twice counts twice
    #[arg(long)]
    pub(crate) stateless: bool,

    /// Stop after so many states
    #[arg(long, value_name = "N")]
    pub(crate) max_states: Option<u64>,

    /// Most memory for states and queues, such as 500M or 8G
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Print one JSON object, for scripts
    #[arg(long)]
    pub(crate) json: bool,

    /// Look at it in a browser, as `serve` does for models
    #[cfg(feature = "serve")]
    #[arg(long, conflicts_with_all = ["json", "stateless"])]
    pub(crate) serve: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolPor {
    /// No reduction
    None,
    /// Local partial-order reduction
    #[default]
    Lpor,
    /// The same as its inventors printed it, without necessary enabling transitions
    LporOnly,
    /// As they printed it, with them
    LporNet,
    /// Dynamic partial-order reduction; always stateless
    Dpor,
}

impl ProtocolPor {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lpor => "lpor",
            Self::LporOnly => "lpor-only",
            Self::LporNet => "lpor-net",
            Self::Dpor => "dpor",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DynamicPor {
    /// Flanagan and Godefroid, 2005
    #[default]
    Classic,
    /// With source sets: Abdulla, Aronis, Jonsson and Sagonas, 2014
    Source,
    /// With source sets and wakeup trees: every trace once
    Optimal,
}
