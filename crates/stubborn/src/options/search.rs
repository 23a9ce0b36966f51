//! How to search, in which order, with which store, and how far.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use stubborn::{Order, StoreKind};

/// How to search; shared by `check` and `explore`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// In which order states are visited
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        default_value_t,
        help_heading = "Search"
    )]
    pub(crate) order: OrderName,

    /// On how many threads
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Search",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// How states are stored
    #[arg(
        long,
        value_name = "STORE",
        value_enum,
        default_value_t,
        help_heading = "Search"
    )]
    pub(crate) store: StoreName,

    /// For everything random: shuffles a depth-first search, and `rnd` strategies
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) seed: Option<u64>,

    /// Stop after so many states
    #[arg(long, value_name = "N", help_heading = "Limits",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_states: Option<u64>,

    /// Most memory for the whole program, such as 500M or 8G
    ///
    /// Loading and analysing the model count, too. `none` is no limit. By default, 80% of the
    /// memory that is free at the start.
    #[arg(long, value_name = "SIZE", help_heading = "Limits")]
    pub(crate) memory_limit: Option<MemoryLimit>,

    /// Stop so many seconds after the start of the program
    ///
    /// Loading and analysing the model count, too.
    #[arg(long, value_name = "SECONDS", help_heading = "Limits", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum OrderName {
    /// Breadth-first: counterexamples are as short as possible
    #[default]
    Bfs,
    /// Depth-first
    Dfs,
}

impl OrderName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::Dfs => "dfs",
        }
    }
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::Bfs => Order::BreadthFirst,
            OrderName::Dfs => Order::DepthFirst,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum StoreName {
    /// Tree compression, exact
    #[default]
    Tree,
    /// Whole states, exact
    Plain,
    /// A few bits a state; may overlook states, and on several threads count some twice
    Bitstate,
    /// A fingerprint a state; may overlook states
    Compact,
}

impl StoreName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Plain => "plain",
            Self::Bitstate => "bitstate",
            Self::Compact => "compact",
        }
    }
}

impl From<StoreName> for StoreKind {
    fn from(name: StoreName) -> Self {
        match name {
            StoreName::Tree => StoreKind::Tree,
            StoreName::Plain => StoreKind::Plain,
            StoreName::Bitstate => StoreKind::Bitstate,
            StoreName::Compact => StoreKind::Compact,
        }
    }
}

/// A number of bytes, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLimit {
    Unlimited,
    Bytes(usize),
}

impl FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Unlimited);
        }
        let wrong = || format!("`{text}` is no size; write 500M, 8G, or none");
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit.to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            _ => return Err(wrong()),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let bytes = number
            .checked_mul(1 << shift)
            .and_then(|b| usize::try_from(b).ok());
        bytes.map(Self::Bytes).ok_or_else(wrong)
    }
}

/// A number of seconds, with a fraction if need be.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no number of seconds");
    let number: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number).map_err(|_| wrong())
}
