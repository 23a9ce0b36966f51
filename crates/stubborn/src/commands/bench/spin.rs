//! The same exploration by SPIN, for models in its language, where it is installed.

use std::path::Path;
use std::process::Command;

use super::children_time;
use crate::commands::scratch::Scratch;

/// Depths that SPIN's search may reach, tried one after the other: it allocates them at once.
const DEPTHS: [u32; 4] = [10_000, 100_000, 1_000_000, 20_000_000];

/// What SPIN's verifier did with a model.
pub(super) struct Peer {
    pub(super) states: u64,
    /// Processor seconds of the search alone.
    pub(super) search: f64,
    /// Processor seconds to make the verifier: `spin -a` and the C compiler.
    pub(super) build: f64,
    /// Mebibytes that the verifier says it used.
    pub(super) memory: f64,
}

impl Peer {
    /// States per second of processor time of the search.
    pub(super) fn rate(&self) -> f64 {
        self.states as f64 / self.search.max(1e-2)
    }
}

/// Explores a Promela model with SPIN, without its reduction and its merging of statements,
/// so that it visits what we visit. `None` if SPIN or a C compiler is missing, or if they
/// refuse the model.
pub(super) fn explore(model: &Path) -> Option<Peer> {
    let folder = Scratch::new()?;
    let model = model.canonicalize().ok()?;
    let before = children_time();
    folder.run(
        Command::new("spin")
            .args(["-o1", "-o2", "-o3", "-a"])
            .arg(&model),
    )?;
    folder.run(Command::new("cc").args([
        "-O2",
        "-w",
        "-DSAFETY",
        "-DNOREDUCE",
        "-DNOFAIR",
        "-o",
        "pan",
        "pan.c",
    ]))?;
    let build = children_time() - before;
    DEPTHS.iter().find_map(|depth| {
        let before = children_time();
        // Errors are counted, and the search goes on; no list of unreached statements.
        let depth = format!("-m{depth}");
        let output =
            folder.run(Command::new(folder.path().join("pan")).args([&depth, "-c0", "-n"]))?;
        let search = children_time() - before;
        let is_complete = !output.contains("Search not completed") && !output.contains("too small");
        let number = |line: &str| line.split_whitespace().next()?.parse::<f64>().ok();
        let find = |text: &str| {
            output
                .lines()
                .find(|line| line.contains(text))
                .and_then(number)
        };
        is_complete.then_some(Peer {
            states: find("states, stored")? as u64,
            search: search.as_secs_f64(),
            build: build.as_secs_f64(),
            memory: find("total actual memory usage")?,
        })
    })
}
