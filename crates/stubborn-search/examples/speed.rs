//! How fast the search is: explores a synthetic system and prints states a second.
//!
//! ```text
//! speed [stairs|ir] [--size N] [--order bfs|dfs] [--threads N] [--store tree|plain|…]
//!       [--capacity N]
//! ```
//!
//! `stairs` is a hand-written system whose successors cost next to nothing, so that the
//! loop and the store are measured: four towers of at most N steps, none higher than the
//! one before it, three words each; `C(N + 4, 4)` states with almost four edges each.
//! With a large `--capacity` tables do not grow.
//! `ir` is a ring of N philosophers run by the interpreter: `3^N - 1` states.

#![allow(clippy::print_stdout)] // the output is what it is for

use std::process::ExitCode;

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_search::{Order, Search, StoreKind, StoreOptions};
use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Executor, FieldKind, LabelId, Layout, Structure, Successors, System, Transition, TransitionId,
};

const TOWERS: usize = 4;
const WORDS_OF_A_TOWER: usize = 3;

struct Stairs {
    steps: u32,
    layout: Layout,
    structure: Structure,
}

impl Stairs {
    fn new(steps: u32) -> Self {
        let mut builder = LayoutBuilder::new();
        for i in 0..TOWERS * WORDS_OF_A_TOWER {
            builder.align_to_word();
            let range = (0, i64::from(u32::MAX));
            builder.field(format!("word {i}"), range, FieldKind::Integer, None);
        }
        Self {
            steps,
            layout: builder.finish(),
            structure: Structure {
                transitions: vec![Transition::default(); TOWERS],
                ..Structure::default()
            },
        }
    }
}

impl System for Stairs {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        vec![0; self.layout.words()]
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Climb(self.steps))
    }
}

struct Climb(u32);

/// The height of a tower; its words are the height modulo 13, divided by 13, and a number
/// that depends on it.
fn height(state: &[u32], tower: usize) -> u32 {
    state[tower * WORDS_OF_A_TOWER] + 13 * state[tower * WORDS_OF_A_TOWER + 1]
}

impl Executor for Climb {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        for tower in 0..TOWERS {
            self.fire(state, TransitionId::new(tower), out);
        }
    }

    #[inline]
    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let tower = transition.index();
        let bound = match tower {
            0 => self.0,
            _ => height(state, tower - 1),
        };
        let next = height(state, tower) + 1;
        if next <= bound {
            let (words, mask) = out.push_copy(transition, state);
            let first = tower * WORDS_OF_A_TOWER;
            words[first] = next % 13;
            words[first + 1] = next / 13;
            words[first + 2] = next * 7 % 101;
            mask[0] |= 0b111 << first;
        }
    }

    fn label(&mut self, _: &[u32], _: LabelId) -> bool {
        false
    }
}

/// Philosophers as in the tests, in the intermediate language.
fn philosophers(n: usize) -> Model {
    let mut program = Program::new("philosophers");
    let fork = |i: usize| Variable::integer(format!("fork{i}"), 0, 1, 0);
    let forks: Vec<_> = (0..n).map(|i| program.variable(fork(i))).collect();
    for i in 0..n {
        let names = ["thinks", "holds left", "eats", "holds right"];
        let names = names.map(str::to_owned).to_vec();
        let process = program.process(format!("P{i}"), names, 0);
        let counter = program.processes[process.index()].counter;
        let (left, right) = (forks[i], forks[(i + 1) % n]);
        for (from, fork, taken) in [(0, left, 1), (1, right, 1), (2, left, 0), (3, right, 0)] {
            let site = program.out_of_range_site("a fork", None);
            let free = Expr::equal(Expr::Var(fork), Expr::Const(1 - taken));
            let guards = vec![program.label(free)];
            let to = Expr::Const((from + 1) % 4);
            program.command(Command {
                name: format!("P{i} from {from}"),
                processes: vec![process],
                sources: vec![Some(from as u32)],
                guards,
                body: vec![
                    Statement::assign(fork, Expr::Const(taken), site),
                    Statement::assign(counter, to, site),
                ],
                ..Command::default()
            });
        }
    }
    Model::new(program).expect("a small program")
}

/// Seconds of processor time of this process so far, on Linux.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields = stat.rsplit(')').next()?;
    let ticks = |at: usize| fields.split_ascii_whitespace().nth(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let number = |name| option(name).and_then(|n| n.parse::<usize>().ok());
    let is_ir = arguments.first().is_some_and(|a| a == "ir");
    let system: Box<dyn System> = match is_ir {
        true => Box::new(philosophers(number("--size").unwrap_or(12))),
        false => Box::new(Stairs::new(number("--size").unwrap_or(100) as u32)),
    };
    let kind = match option("--store") {
        None | Some("tree") => StoreKind::Tree,
        Some("plain") => StoreKind::Plain,
        Some("bitstate") => StoreKind::Bitstate,
        Some("compact") => StoreKind::Compact,
        Some(other) => {
            println!("there is no store called {other}");
            return ExitCode::from(2);
        }
    };
    let search = Search {
        order: match option("--order") {
            Some("dfs") => Order::DepthFirst,
            _ => Order::BreadthFirst,
        },
        threads: number("--threads").unwrap_or(1),
        store: StoreOptions {
            initial_capacity: number("--capacity").unwrap_or(4_000) as u64,
            ..StoreOptions::new(kind)
        },
        ..Search::new(&*system)
    };
    let before = processor_seconds();
    let result = match search.run() {
        Ok(result) => result,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let used = processor_seconds()
        .zip(before)
        .map(|(now, before)| now - before);
    let million = 1e6;
    println!(
        "{} states, {} transitions, depth {}, {:.2} s",
        result.states,
        result.transitions,
        result.depth,
        result.time.explore.as_secs_f64(),
    );
    if let Some(used) = used {
        println!(
            "{:.2} s of processor time, {:.2} M states a processor second",
            used,
            result.states as f64 / used / million
        );
    }
    println!(
        "{:.2} M states/s, {:.1} bytes a state, queue {:.1} MiB, process {:.1} MiB",
        result.states_per_second() / million,
        result.bytes_per_state(),
        result.memory.queue_peak as f64 / f64::from(1 << 20),
        result.memory.process_peak.unwrap_or(0) as f64 / f64::from(1 << 20),
    );
    ExitCode::SUCCESS
}
