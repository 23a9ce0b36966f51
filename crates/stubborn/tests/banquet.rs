//! The banquet of Geldenhuys, Hansen, Valmari, *Exploring the scope for partial order reduction*
//! (2009): ample sets with relations from variable sets (`D_s/R_s`), from the full state space
//! (`D_f/R_f`) and from the future of each state (`D_d/R_d`). The paper's tables are in the lab.

use std::sync::Arc;

use stubborn::reduce::experiments::measured::{Dependency, MeasuredReduction, Precedence, measure};
use stubborn::reduce::validate::explore::{Explored, explore};
use stubborn::reduce::{Aim, Algorithm, Choice, Config, NeededProviso, Plan};
use stubborn::{Language, LoadOptions, LoadedModel};

/// `D_s/R_s` and so on.
type Sources = (Dependency, Precedence);

const STATIC: Sources = (Dependency::Sets, Precedence::Sets);

/// Tables of four philosophers who take the left fork first.
fn banquet(tables: usize) -> LoadedModel {
    let forks: Vec<String> = (0..tables).map(|table| format!("fork{table}[4]")).collect();
    let mut text = format!("byte {};\n", forks.join(", "));
    for table in 0..tables {
        for seat in 0..4 {
            let (left, right) = (seat, (seat + 1) % 4);
            text += &format!(
                "process Guest_{table}_{seat} {{
                    state thinks, waits, eats, leaves;
                    init thinks;
                    trans thinks -> waits {{ guard fork{table}[{left}] == 0;
                                             effect fork{table}[{left}] = 1; }},
                          waits -> eats {{ guard fork{table}[{right}] == 0;
                                           effect fork{table}[{right}] = 1; }},
                          eats -> leaves {{ effect fork{table}[{left}] = 0; }},
                          leaves -> thinks {{ effect fork{table}[{right}] = 0; }};
                }}\n"
            );
        }
    }
    text += "system async;\n";
    let loaded = stubborn::load_text("banquet.dve", text, Language::Dve, &LoadOptions::default());
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// States and transitions, full and reduced.
struct Counts {
    model: LoadedModel,
    full: Explored,
}

impl Counts {
    fn new(tables: usize) -> Self {
        let model = banquet(tables);
        let full = explore(model.system(), None, NeededProviso::None, &[], usize::MAX);
        Self { model, full }
    }

    fn full(&self) -> (usize, usize) {
        (self.full.states.len(), self.full.transitions)
    }

    fn reduced(&self, algorithm: Algorithm, sources: Sources, choice: Choice) -> (usize, usize) {
        let system = self.model.system();
        let relations = measure(system, sources.0, sources.1, 200_000).expect("few states");
        let config = Config {
            choice: Some(choice),
            ..Config::new(algorithm)
        };
        let plan = Plan::new(&config, Aim::Deadlocks).expect("it is allowed");
        let reduction = MeasuredReduction::new(system, Arc::new(relations), plan);
        let reduction = reduction.expect("there are processes");
        let reduced = explore(
            system,
            Some(&reduction),
            NeededProviso::None,
            &[],
            usize::MAX,
        );
        assert_eq!(reduced.deadlocks, self.full.deadlocks);
        (reduced.states.len(), reduced.transitions)
    }
}

#[test]
fn the_banquet_has_the_figures_of_the_paper() {
    let one = Counts::new(1);
    assert_eq!(one.full(), (80, 212));
    let first = Choice::First;
    assert_eq!(one.reduced(Algorithm::Ample2, STATIC, first), (48, 76));
    let two = Counts::new(2);
    assert_eq!(two.full(), (6_400, 33_920));
    assert_eq!(
        two.reduced(Algorithm::Ample1, STATIC, first),
        (6_400, 33_920)
    );
    assert_eq!(two.reduced(Algorithm::Ample2, STATIC, first), (95, 152));
    // Deadlocks are kept with every kind of relations.
    let (full, dynamic) = (
        (Dependency::Full, Precedence::Full),
        (Dependency::Dynamic, Precedence::Dynamic),
    );
    let mixed = [
        (Dependency::Sets, Precedence::Full),
        (Dependency::Full, Precedence::Sets),
    ];
    for sources in [STATIC, full, dynamic].into_iter().chain(mixed) {
        for algorithm in [Algorithm::Ample2, Algorithm::Ample1] {
            for choice in Choice::ALL {
                two.reduced(algorithm, sources, *choice);
            }
        }
    }
}
