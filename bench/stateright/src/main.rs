//! The same protocols, the same state counts, by `stubborn-protocol` and by `stateright`, one
//! after the other on one thread: states, CPU time and peak memory of each run, which is a process
//! of its own.
//!
//! ```sh
//! cargo run --release --manifest-path bench/stateright/Cargo.toml
//! ```

mod paxos;
mod raft;
mod register;
mod two_phase;

use std::process::Command;

use stubborn_protocol::protocols::{paxos_register, raft as our_raft, shared_register, two_phase_commit};
use stubborn_protocol::{Model, Value};

/// Checks all invariants, without reduction or as a check does by itself, and counts states.
fn ours<M: Value>(tool: &str, model: &Model<M>) -> u64 {
    let check = match tool {
        "stubborn-full" => model.check().unreduced(),
        _ => model.check(),
    };
    let report = check.run().expect("a report");
    assert!(report.holds(), "{report}");
    report.states()
}

/// A size is a number; where there are two, such as servers and clients, or terms and entries, each is
/// a digit of it.
fn run(tool: &str, protocol: &str, size: usize) -> u64 {
    match (tool, protocol) {
        ("stubborn-full" | "stubborn", "2pc") => {
            ours(tool, &two_phase_commit::protocol(size).0.build().expect("a model"))
        }
        ("stubborn-full" | "stubborn", "register") => {
            ours(tool, &shared_register::protocol(size / 10, size % 10).build().expect("a model"))
        }
        ("stubborn-full" | "stubborn", "raft") => {
            let setting = our_raft::Setting {
                terms: (size / 10) as u8,
                entries: size % 10,
                ..our_raft::Setting::default()
            };
            ours(tool, &our_raft::protocol(setting).build().expect("a model"))
        }
        ("stubborn-full" | "stubborn", _) => {
            ours(tool, &paxos_register::protocol(3, size).0.build().expect("a model"))
        }
        (_, "register") => register::states(size / 10, size % 10, tool == "stateright-bfs"),
        (_, "raft") => raft::states((size / 10) as u8, size % 10, tool == "stateright-bfs"),
        ("stateright-bfs", "2pc") => two_phase::states(size, true),
        ("stateright-bfs", _) => paxos::states(size, true),
        (_, "2pc") => two_phase::states(size, false),
        _ => paxos::states(size, false),
    }
}

/// User time in seconds and peak memory in MB of all children so far.
fn children() -> (f64, f64) {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (
        time(usage.ru_utime) + time(usage.ru_stime),
        usage.ru_maxrss as f64 / 1024.0,
    )
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [tool, protocol, size] = arguments.as_slice() {
        let states = run(tool, protocol, size.parse().expect("a number"));
        // A child of the table below: its own numbers, for its parent.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        println!("{states} {}", usage.ru_maxrss);
        return;
    }
    let rows: Vec<(&str, usize)> = match arguments.first().map(String::as_str) {
        Some("large") => vec![
            ("2pc", 7),
            ("2pc", 9),
            ("paxos", 2),
            ("paxos", 3),
            ("register", 22),
            ("register", 24),
            ("raft", 12),
            ("raft", 30),
        ],
        _ => vec![("2pc", 7), ("paxos", 2), ("paxos", 3)],
    };
    println!("| protocol | tool | states | CPU s | states per CPU s | peak MB | bytes a state |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for (protocol, size) in rows {
        for tool in ["stubborn-full", "stubborn", "stateright-bfs", "stateright-dfs"] {
            let (before, _) = children();
            let itself = std::env::current_exe().expect("a path");
            let output = Command::new(itself)
                .args([tool, protocol, &size.to_string()])
                .output()
                .expect("a run");
            let seconds = children().0 - before;
            let text = String::from_utf8_lossy(&output.stdout);
            let numbers: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
            let [states, kilobytes] = numbers.as_slice() else {
                println!("| {protocol} {size} | {tool} | failed | | | | |");
                continue;
            };
            let (states, megabytes) = (*states as f64, *kilobytes as f64 / 1024.0);
            println!(
                "| {protocol} {size} | {tool} | {states} | {seconds:.2} | {:.0} | {megabytes:.0} | {:.0} |",
                states / seconds,
                megabytes * 1024.0 * 1024.0 / states
            );
        }
    }
}
