//! Dining philosophers as guarded commands.

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};

/// Tables at which philosophers take the fork on one side, then the one on the other side,
/// eat, and put them back in the same order.
pub(crate) fn banquet(tables: usize, seats: usize) -> Model {
    let mut program = Program::new("banquet");
    for table in 0..tables {
        let forks: Vec<_> = (0..seats)
            .map(|fork| {
                program.variable(Variable::integer(format!("fork_{table}_{fork}"), 0, 1, 0))
            })
            .collect();
        for seat in 0..seats {
            let locations = ["think", "one", "eat", "finish"].map(String::from).to_vec();
            let philosopher = program.process(format!("phil_{table}_{seat}"), locations, 0);
            let counter = program.processes[philosopher.index()].counter;
            let sides = [forks[seat], forks[(seat + 1) % seats]];
            for location in 0..4_u32 {
                let (takes, fork) = (location < 2, sides[location as usize % 2]);
                let free = program.label(Expr::equal(Expr::Var(fork), Expr::Const(0)));
                let site = program.out_of_range_site("a variable", None);
                program.command(Command {
                    name: format!("phil_{table}_{seat} at {location}"),
                    processes: vec![philosopher],
                    sources: vec![Some(location)],
                    guards: if takes { vec![free] } else { vec![] },
                    body: vec![
                        Statement::assign(fork, Expr::Const(i32::from(takes)), site),
                        Statement::assign(counter, Expr::Const((location as i32 + 1) % 4), site),
                    ],
                    ..Command::default()
                });
            }
        }
    }
    Model::new(program).expect("a banquet")
}
