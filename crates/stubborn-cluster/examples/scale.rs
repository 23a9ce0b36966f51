//! How long a search level by level would take on many machines, by simulation.
//!
//! ```text
//! cargo run --release -p stubborn-cluster --example scale -- \
//!     --workers 1000 --states 1e13 --levels 150
//! ```
//!
//! Levels grow and shrink as a normal curve does, which is what the levels of large models look
//! like; `--curve FILE` takes measured sizes instead (numbers, as `explore --levels --json` has
//! them), scaled to the number of states. States are spread by a hash: how many each worker has of a
//! level is drawn from the distribution that the hash was measured to have, a binomial one. What a
//! worker needs for a level is what it computes, and what it sends and receives; processors differ
//! a little, and now and then one is slow for a while. A level takes as long as its slowest worker,
//! and two rounds of messages between all on top.

use std::env;

/// What is simulated.
struct Plan {
    workers: f64,
    states: f64,
    levels: usize,
    /// Successors of a state.
    edges: f64,
    /// Bytes of a state that travels.
    bytes: f64,
    /// Bytes of a state that is stored, and of one that waits.
    stored: f64,
    /// Seconds of a processor a state.
    compute: f64,
    /// Bytes a second of a worker's network, each way.
    bandwidth: f64,
    /// Seconds of a message.
    latency: f64,
    /// Seconds that a worker needs for a message, however short it is.
    overhead: f64,
    /// Bytes of a full message.
    frame: f64,
    /// How much processors differ: the standard deviation of their speed.
    jitter: f64,
    /// The part of levels in which a worker is slow, and how many times.
    stragglers: (f64, f64),
    curve: Option<Vec<f64>>,
}

/// A generator of random numbers (G. Marsaglia, *Xorshift RNGs*, 2003).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From the standard normal distribution (G. Box and M. Muller, 1958).
    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// How many of `all` things fall into one of `parts` parts.
    fn share(&mut self, all: f64, parts: f64) -> f64 {
        let mean = all / parts;
        let deviation = (mean * (1.0 - 1.0 / parts)).sqrt();
        (mean + deviation * self.normal()).max(0.0)
    }
}

fn main() {
    let mut plan = Plan {
        workers: 1000.0,
        states: 1e13,
        levels: 150,
        edges: 4.0,
        bytes: 40.0,
        stored: 12.0 + 8.0,
        compute: 1.2e-6,
        bandwidth: 1.25e9,
        latency: 50e-6,
        overhead: 5e-6,
        frame: 65536.0,
        jitter: 0.03,
        stragglers: (0.001, 3.0),
        curve: None,
    };
    let mut arguments = env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        let number = || value.parse::<f64>().expect("a number");
        match name.as_str() {
            "--workers" => plan.workers = number(),
            "--states" => plan.states = number(),
            "--levels" => plan.levels = number() as usize,
            "--edges" => plan.edges = number(),
            "--bytes" => plan.bytes = number(),
            "--stored" => plan.stored = number(),
            "--compute" => plan.compute = number(),
            "--bandwidth" => plan.bandwidth = number(),
            "--latency" => plan.latency = number(),
            "--overhead" => plan.overhead = number(),
            "--frame" => plan.frame = number(),
            "--jitter" => plan.jitter = number(),
            "--slow" => plan.stragglers = (number(), 3.0),
            "--curve" => {
                let text = std::fs::read_to_string(&value).expect("a file");
                let numbers = text.split(|c: char| !c.is_ascii_digit());
                plan.curve = Some(numbers.filter_map(|n| n.parse().ok()).collect());
            }
            _ => panic!("there is no {name}"),
        }
    }
    simulate(&plan);
}

/// The sizes of the levels.
fn sizes(plan: &Plan) -> Vec<f64> {
    let shape: Vec<f64> = match &plan.curve {
        Some(curve) => curve.clone(),
        None => (0..plan.levels)
            .map(|level| {
                let x = (level as f64 + 0.5) / plan.levels as f64 * 8.0 - 4.0;
                (-0.5 * x * x).exp()
            })
            .collect(),
    };
    let all: f64 = shape.iter().sum();
    shape.iter().map(|one| one / all * plan.states).collect()
}

fn simulate(plan: &Plan) {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let workers = plan.workers as usize;
    let speeds: Vec<f64> = (0..workers)
        .map(|_| (1.0 + plan.jitter * random.normal()).max(0.1))
        .collect();
    let away = 1.0 - 1.0 / plan.workers;
    let (mut time, mut ideal, mut waiting, mut messages) = (0.0, 0.0, 0.0, 0.0);
    let (mut largest_level, mut stored) = (0.0f64, vec![0.0f64; workers]);
    let mut bound_by_network = 0;
    for size in sizes(plan) {
        let (mut slowest, mut sum, mut network_decides) = (0.0f64, 0.0, false);
        for (speed, stored) in speeds.iter().zip(&mut stored) {
            let own = random.share(size, plan.workers);
            let incoming = random.share(size * plan.edges, plan.workers) * away;
            *stored += own;
            let outgoing = own * plan.edges * away;
            // A message to everybody at least: full ones are as large as a frame.
            let full = outgoing * plan.bytes / plan.frame;
            let sent = full.max((plan.workers - 1.0).min(outgoing)) + 2.0 * (plan.workers - 1.0);
            messages += sent;
            let slow = match random.uniform() < plan.stragglers.0 {
                true => plan.stragglers.1,
                false => 1.0,
            };
            let compute = own * plan.compute / speed * slow + 2.0 * sent * plan.overhead;
            let network = outgoing.max(incoming) * plan.bytes / plan.bandwidth;
            sum += compute;
            // Sending goes on while states are expanded.
            network_decides |= network > compute && network > slowest;
            slowest = slowest.max(compute.max(network));
        }
        bound_by_network += usize::from(network_decides);
        // Everybody tells the leader, and the leader tells everybody.
        let agree = 2.0 * plan.latency + 2.0 * plan.workers * plan.overhead;
        time += slowest + agree;
        waiting += slowest - sum / plan.workers + agree;
        ideal += size * plan.compute / plan.workers;
        largest_level = largest_level.max(size);
    }
    let most = stored.iter().copied().fold(0.0, f64::max);
    let mean = plan.states / plan.workers;
    let memory = most * plan.stored + largest_level / plan.workers * 8.0;
    say("workers", plan.workers, "");
    say("states", plan.states, "");
    say("hours", time / 3600.0, "");
    say("hours if nothing were lost", ideal / 3600.0, "");
    say("efficiency", 100.0 * ideal / time, "%");
    say("waiting for others", 100.0 * waiting / time, "%");
    say(
        "levels that the network decides",
        bound_by_network as f64,
        "",
    );
    say(
        "largest part over the mean",
        100.0 * (most / mean - 1.0),
        "%",
    );
    say("gigabytes a worker", memory / 1e9, "");
    say("bytes sent a state", plan.edges * away * plan.bytes, "");
    say("messages a state", messages / plan.states, "");
    say("connections", plan.workers * (plan.workers - 1.0) / 2.0, "");
}

#[allow(clippy::print_stdout)]
fn say(what: &str, number: f64, unit: &str) {
    let shown = match number {
        n if n == n.trunc() && n.abs() < 1e6 => format!("{n}"),
        n if !(1e-3..1e6).contains(&n.abs()) => format!("{n:.2e}"),
        n => format!("{n:.3}"),
    };
    println!("{what:<34} {shown}{unit}");
}
