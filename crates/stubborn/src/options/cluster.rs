//! Options about several processes.

use std::path::PathBuf;

use clap::Args;

use super::{CheckpointArgs, MemoryLimit, OutputArgs, SearchArgs};
use crate::cluster::{self, Orders};
use crate::exit::Failure;

/// Which processes share the work.
#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    /// Share the states among so many processes on this machine
    ///
    /// Each has a part of the states, and of the memory limit. Counts, verdicts and the lengths of
    /// counterexamples are those of one process. Breadth-first, with exact stores.
    #[arg(long, value_name = "N", help_heading = "Several processes",
          value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "hosts")]
    pub(crate) processes: Option<u16>,

    /// Share the states among processes on several machines
    ///
    /// A line is a host and a number of processes, 1 if there is none; the first one is this
    /// machine, by the name under which the others reach it. They are started by `ssh`, or by
    /// what STUBBORN_RSH names. Program and model must be at the same places there.
    #[arg(long, value_name = "FILE", help_heading = "Several processes")]
    pub(crate) hosts: Option<PathBuf>,

    /// Start no processes, and wait for those that come to this address
    ///
    /// They are started with --join. All must know the same token, in STUBBORN_TOKEN.
    #[arg(
        long,
        value_name = "ADDRESS",
        help_heading = "Several processes",
        requires = "processes"
    )]
    pub(crate) listen: Option<String>,

    /// Help the one that listens at this address, and print nothing
    ///
    /// The token is in STUBBORN_TOKEN, or the first line of standard input.
    #[arg(long, value_name = "ADDRESS", help_heading = "Several processes")]
    pub(crate) join: Option<String>,

    /// Whether the leader keeps checkpoints.
    #[arg(skip)]
    pub(crate) keeps: bool,

    /// What the leader says.
    #[arg(skip)]
    pub(crate) orders: Option<Orders>,
}

impl ClusterArgs {
    /// Whether there is more than one process.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.processes.is_some() || self.hosts.is_some() || self.join.is_some()
    }

    /// Whether somebody else decides, and says what comes out.
    pub(crate) fn is_worker(&self) -> bool {
        self.join.is_some()
    }

    /// Limits of this process, and who speaks.
    pub(crate) fn prepare(
        &mut self,
        search: &mut SearchArgs,
        checkpoint: &mut CheckpointArgs,
        output: &mut OutputArgs,
    ) -> Result<(), Failure> {
        if self.is_worker() {
            let orders = Orders::hear()?;
            search.timeout = None;
            search.memory_limit = orders.memory.or(search.memory_limit);
            search.max_states = orders.max_states.or(search.max_states);
            self.keeps = checkpoint.checkpoint.take().is_some();
            output.json = false;
            output.quiet = true;
            self.orders = Some(orders);
            return Ok(());
        }
        self.keeps = checkpoint.checkpoint.is_some();
        if self.is_asked_for() {
            let here = cluster::processes_here(self)?;
            if let Some(bytes) = super::super::commands::memory_limit(search.memory_limit, here) {
                let bytes = match search.memory_limit {
                    Some(_) => bytes / here,
                    None => bytes,
                };
                search.memory_limit = Some(MemoryLimit::Bytes(bytes));
            }
        }
        Ok(())
    }
}
