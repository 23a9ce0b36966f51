//! A system with 5,000 fields and 10,000 transitions: nothing that is quadratic in either may
//! show when it is loaded or explored. (No times are asserted: a quadratic step here takes
//! minutes instead of seconds, which nobody overlooks.)

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_search::{End, Limits, Search};
use stubborn_system::System;

const PROCESSES: usize = 1_000;

/// A ring of stations that pass two tokens around. A station that has one works in ten steps,
/// each on one of its four counters, before it passes the token on.
fn ring() -> Program {
    let mut program = Program::new("ring");
    let site = program.out_of_range_site("a counter", None);
    let locations = || (0..10).map(|l| format!("step{l}")).collect();
    let stations: Vec<_> = (0..PROCESSES)
        .map(|p| {
            // Location 0 waits for a token; stations 0 and 500 have one.
            let start = u32::from(p % 500 == 0);
            let process = program.process(format!("S{p}"), locations(), start);
            let counters: Vec<_> = (0..4)
                .map(|c| {
                    let name = format!("S{p}.c{c}");
                    program.variable(Variable::integer(name, 0, 3, 0).owned_by(process))
                })
                .collect();
            (
                process,
                program.processes[process.index()].counter,
                counters,
            )
        })
        .collect();
    for (p, (process, counter, counters)) in stations.iter().enumerate() {
        let next = stations[(p + 1) % PROCESSES].1;
        for step in 0..10_u32 {
            let mut command = Command {
                name: format!("S{p} step {step}"),
                processes: vec![*process],
                sources: vec![Some(step)],
                ..Command::default()
            };
            let go = |to: i32| Statement::assign(*counter, Expr::Const(to), site);
            match step {
                // Waiting: woken by the neighbour only.
                0 => command.guards.push(program.label(Expr::Const(0))),
                9 => {
                    let free = Expr::equal(Expr::Var(next), Expr::Const(0));
                    command.guards.push(program.label(free));
                    command.body = vec![Statement::assign(next, Expr::Const(1), site), go(0)];
                }
                _ => {
                    let c = counters[step as usize % 4];
                    let below = Expr::less(Expr::Var(c), Expr::Const(3));
                    let more = Expr::plus(Expr::Var(c), Expr::Const(1));
                    let value = Expr::If(Box::new(below), Box::new(more), Box::new(Expr::Const(0)));
                    command.body = vec![Statement::assign(c, value, site), go(step as i32 + 1)];
                }
            }
            program.command(command);
        }
    }
    program
}

fn explore(states: u64) {
    let model = Model::new(ring()).expect("a sound program");
    assert_eq!(
        model.layout().fields().len(),
        5_000 + usize::from(model.encoding().failed.is_some())
    );
    assert_eq!(model.structure().transitions.len(), 10_000);
    let search = Search {
        limits: Limits {
            states: Some(states),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    let result = search.run().expect("the search runs");
    assert!(matches!(result.end, End::Limit(_)));
    assert!(result.states >= states);
}

#[test]
fn a_large_system_loads_and_is_explored() {
    explore(5_000);
}

#[test]
#[ignore = "long: 100,000 states of 5,000 fields"]
fn a_large_system_is_explored_further() {
    explore(100_000);
}
