//! The philosophers' banquet of Geldenhuys, Hansen, Valmari, *Exploring the scope for partial
//! order reduction* (2009), figure 3: two tables of four dining philosophers each, which have
//! nothing to do with each other. Its figures are facts.

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_reduce::validate::explore::{Explored, explore};
use stubborn_reduce::validate::{Limits, validate};
use stubborn_reduce::{Aim, Algorithm, Choice, Config, Plan, Proviso, StubbornReduction};
use stubborn_system::{Relations, System};

/// Tables at which philosophers take the fork on one side, then the one on the other side,
/// eat, and put them back in the same order.
fn banquet(tables: usize, seats: usize) -> Model {
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

fn reduced(model: &Model, config: &Config) -> Explored {
    let relations = Relations::from_sets(model.structure());
    let plan = Plan::new(config, Aim::Deadlocks).expect("a plan");
    let reduction = StubbornReduction::new(model, &relations, plan).expect("a reduction");
    explore(model, Some(&reduction), Proviso::None, &[], usize::MAX)
}

fn counts(explored: &Explored) -> (usize, usize) {
    (explored.states.len(), explored.transitions)
}

#[test]
fn one_table() {
    let model = banquet(1, 4);
    let full = explore(&model, None, Proviso::None, &[], usize::MAX);
    assert_eq!(counts(&full), (80, 212));
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample1))),
        (80, 212)
    );
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample2))),
        (48, 76)
    );
}

#[test]
fn two_tables() {
    let model = banquet(2, 4);
    let full = explore(&model, None, Proviso::None, &[], usize::MAX);
    assert_eq!(counts(&full), (6_400, 33_920));
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample1))),
        (6_400, 33_920)
    );
    assert_eq!(
        counts(&reduced(&model, &Config::new(Algorithm::Ample2))),
        (95, 152)
    );
    for choice in Choice::ALL {
        for algorithm in [Algorithm::Ample1, Algorithm::Ample2] {
            let mut config = Config::new(algorithm);
            config.choice = Some(*choice);
            assert_eq!(reduced(&model, &config).deadlocks, full.deadlocks);
        }
    }
}

#[test]
fn all_algorithms_are_valid_at_one_table() {
    let model = banquet(1, 4);
    let relations = Relations::from_sets(model.structure());
    for algorithm in Algorithm::ALL.iter().filter(|a| **a != Algorithm::Goal) {
        let plan = Plan::new(&Config::new(*algorithm), Aim::Deadlocks).expect("a plan");
        let report = validate(&model, &relations, &plan, &Limits::default()).expect("a report");
        assert!(report.is_clean(), "{algorithm}: {:?}", report.violations);
        assert!(report.exhaustive);
        println!(
            "{algorithm}: {:?}",
            counts(&reduced(&model, &Config::new(*algorithm)))
        );
    }
}
