//! The experiments of Geldenhuys, Hansen, Valmari, *Exploring the scope for partial order
//! reduction* (2009): ample sets with relations from variable sets (`D_s/R_s`), from the full
//! state space (`D_f/R_f`) and from the future of each state (`D_d/R_d`). All figures are
//! percentages of the states of the full state space.
//!
//! The long test prints the tables that `docs/reduction.md` has, ours beside theirs:
//! `cargo test -p stubborn --test scope -- --ignored --nocapture`

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use stubborn::reduce::experiments::measured::{
    Dependency, MeasuredReduction, MeasuredRelations, Precedence, measure,
};
use stubborn::reduce::validate::explore::{Explored, explore};
use stubborn::reduce::{Aim, Algorithm, Choice, Config, Plan, Proviso};
use stubborn::system::{Budget, Executor, Layout, RelationLevel, Relations, Structure, System};
use stubborn::{Language, LoadOptions, LoadedModel};

/// `D_s/R_s` and so on.
type Sources = (Dependency, Precedence);

const STATIC: Sources = (Dependency::Sets, Precedence::Sets);
const FULL: Sources = (Dependency::Full, Precedence::Full);
const DYNAMIC: Sources = (Dependency::Dynamic, Precedence::Dynamic);
const STATIC_FULL: Sources = (Dependency::Sets, Precedence::Full);
const FULL_STATIC: Sources = (Dependency::Full, Precedence::Sets);

/// A column of a table.
type Column = (Algorithm, Sources, Choice);

const fn first(algorithm: Algorithm, sources: Sources) -> Column {
    (algorithm, sources, Choice::First)
}

/// Table 1: does the conflict graph help?
const TABLE_1: (&str, &[Column]) = (
    "phils.3 100.00 32.37
     train-gate.2 100.00 54.77
     train-gate.3 100.00 55.61
     train-gate.1 100.00 59.12
     phils.1 100.00 60.00
     bopdp.1 100.00 95.74
     elevator2.1 100.00 96.30
     mcs.4 5.88 5.88
     anderson.4 46.47 46.47
     anderson.2 61.55 61.55
     peterson.1 62.25 62.25
     mcs.2 65.06 65.06
     szymanski.1 69.46 69.46
     leader_filters.2 76.57 76.57
     peterson.2 82.42 82.42
     leader_filters.4 82.71 82.71
     mcs.1 89.30 89.30
     leader_filters.3 96.39 96.39
     krebs.2 97.60 97.60",
    &[
        first(Algorithm::Ample1, STATIC),
        first(Algorithm::Ample2, STATIC),
    ],
);

/// Table 2: relations from the full state space.
const TABLE_2: (&str, &[Column]) = (
    "cyclic_scheduler.1 100.00 1.19 1.19
     mcs.4 5.88 4.13 4.13
     firewire_tree.1 100.00 6.25 6.25
     phils.3 32.37 29.63 10.84
     mcs.1 89.30 18.35 18.35
     anderson.4 46.47 22.78 22.78
     iprotocol.2 100.00 26.16 25.97
     mcs.2 65.06 34.45 34.45
     phils.1 60.00 60.00 47.50
     firewire_link.2 100.00 51.37 50.66
     krebs.1 100.00 90.06 51.09
     leader_election.3 100.00 54.26 54.26
     telephony.2 100.00 59.55 59.55
     leader_election.1 100.00 60.52 60.52
     szymanski.1 69.46 62.98 62.98
     production_cell.2 100.00 63.12 63.12
     at.1 100.00 65.71 65.35
     szymanski.2 72.22 65.76 65.76
     leader_filters.2 76.57 65.94 65.94
     lamport.1 100.00 66.24 66.24
     protocols.2 100.00 72.51 67.69
     collision.1 100.00 68.46 68.46
     driving_phils.1 100.00 68.54 68.54
     protocols.3 100.00 72.45 70.75
     peterson.2 82.42 71.54 71.54
     driving_phils.2 100.00 72.25 72.25
     collision.2 100.00 73.94 73.94
     production_cell.1 100.00 74.08 74.08
     telephony.1 100.00 75.16 75.16
     lamport.3 100.00 75.18 75.18
     firewire_link.1 100.00 81.61 78.83
     pgm_protocol.4 100.00 80.82 80.82
     leader_filters.3 96.39 83.20 83.20
     bopdp.2 95.35 85.81 84.78
     fischer.1 100.00 87.38 87.38
     bakery.3 100.00 87.51 87.51
     exit.2 100.00 100.00 87.78
     brp2.1 100.00 87.96 87.96
     public_subscribe.1 100.00 94.48 88.97
     firewire_tree.2 100.00 98.93 89.43
     pgm_protocol.2 100.00 89.49 89.49
     brp.2 100.00 99.51 96.46
     extinction.2 100.00 98.95 96.87
     cyclic_scheduler.2 100.00 100.00 98.55
     synapse.2 100.00 100.00 99.75
     plc.1 100.00 99.95 99.95",
    &[
        first(Algorithm::Ample2, STATIC),
        first(Algorithm::Ample1, FULL),
        first(Algorithm::Ample2, FULL),
    ],
);

/// Table 3: which of the two relations matters more.
const TABLE_3: (&str, &[Column]) = (
    "firewire_tree.1 100.00 9.19 100.00 6.25
     bopdp.2 95.35 93.24 95.11 84.78
     bopdp.1 95.74 93.42 95.33 86.88
     exit.2 100.00 87.78 100.00 87.78
     phils.3 32.37 32.37 10.84 10.84
     mcs.1 89.30 89.30 20.11 18.35
     anderson.4 46.47 46.47 22.78 22.78
     iprotocol.2 100.00 100.00 27.40 25.97
     iprotocol.1 100.00 100.00 30.82 28.94
     mcs.2 65.06 65.06 38.28 34.45
     brp.1 100.00 100.00 99.15 96.98
     brp.2 100.00 100.00 99.51 96.46
     plc.1 100.00 100.00 99.97 99.95",
    &[
        first(Algorithm::Ample2, STATIC),
        first(Algorithm::Ample2, STATIC_FULL),
        first(Algorithm::Ample2, FULL_STATIC),
        first(Algorithm::Ample2, FULL),
    ],
);

/// Table 4: relations of the future.
const TABLE_4: (&str, &[Column]) = (
    "mcs.2 34.45 22.73
     firewire_tree.2 89.43 28.51
     leader_filters.1 88.70 50.62
     cyclic_scheduler.2 98.55 53.73
     protocols.3 70.75 70.18
     public_subscribe.1 88.97 88.10
     needham.1 100.00 89.54
     bakery.1 94.42 93.63
     bakery.2 100.00 98.87
     gear.1 100.00 99.40",
    &[
        first(Algorithm::Ample2, FULL),
        first(Algorithm::Ample2, DYNAMIC),
    ],
);

/// Table 5 with `D_f/R_f`: first, minimum, and the range of random choices.
const TABLE_5_FULL: &str = "
    firewire_tree.1 6.25 6.25 6.25 6.99
    mcs.1 18.35 18.35 18.05 18.37
    iprotocol.2 25.97 25.98 27.48 29.61
    iprotocol.1 28.94 28.96 29.78 34.00
    mcs.2 34.45 34.45 34.38 34.87
    firewire_link.2 50.66 50.68 50.66 50.68
    leader_election.3 54.26 54.28 54.12 54.21
    leader_election.1 60.52 60.55 60.27 60.57
    szymanski.1 62.98 62.98 63.12 63.33
    production_cell.2 63.12 63.12 63.30 64.06
    leader_election.2 64.38 64.05 64.07 64.20
    krebs.2 65.17 65.17 65.18 65.22
    at.1 65.35 65.35 65.35 65.38
    krebs.1 51.09 47.95 57.92 65.51
    leader_filters.2 65.94 65.94 65.86 65.99
    szymanski.2 65.76 65.76 66.05 66.22
    driving_phils.1 68.54 68.54 68.54 68.55
    protocols.2 67.69 68.25 68.99 69.52
    driving_phils.2 72.25 72.25 72.30 72.36
    at.2 72.73 72.73 72.73 72.75
    protocols.3 70.75 72.31 71.28 73.09
    production_cell.1 74.08 74.08 74.40 75.45
    protocols.1 78.77 78.11 78.27 79.51
    pgm_protocol.4 80.82 80.82 80.87 80.92
    firewire_link.4 82.06 82.06 82.45 82.73
    collision.2 73.94 73.94 83.09 85.50
    exit.2 87.78 87.10 87.84 88.01
    fischer.1 87.38 87.38 86.75 88.17";

/// The same with `D_d/R_d`.
const TABLE_5_DYNAMIC: &str = "
    mcs.2 22.73 22.87 23.08 24.43
    firewire_tree.2 28.51 28.76 31.54 35.35
    leader_filters.1 50.62 50.28 50.24 52.17
    cyclic_scheduler.2 53.73 57.42 54.09 55.15
    protocols.3 70.18 72.31 71.67 72.91
    protocols.1 78.77 78.11 78.44 79.42
    telephony.1 75.78 70.00 77.42 82.97
    public_subscribe.1 88.10 88.10 87.41 88.10
    needham.1 89.54 89.54 89.34 91.15
    bakery.1 93.63 93.63 93.63 94.02
    bakery.2 98.87 98.87 98.95 99.48
    gear.1 99.40 99.55 99.44 99.70";

/// Cells in which ours differs by more than [`SLACK`], and why.
const EXPLAINED: &[(&str, &str)] = &[
    (
        "Table 1, mcs.4",
        "`locked[next[i]] = 0` writes every element of `locked` as far as variable sets know",
    ),
    (
        "Table 2, mcs.4",
        "`locked[next[i]] = 0` writes every element of `locked` as far as variable sets know",
    ),
];

/// Points by which figures may differ.
const SLACK: f64 = 2.0;
/// Runs with random choice.
const SEEDS: u64 = 5;

/// One model, with everything that was computed for it.
struct Subject {
    model: LoadedModel,
    full: Explored,
    relations: HashMap<Sources, Arc<MeasuredRelations>>,
    known: HashMap<(Column, u64), f64>,
}

impl System for Subject {
    fn layout(&self) -> &Layout {
        self.model.system().layout()
    }

    fn structure(&self) -> &Structure {
        self.model.system().structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.model.system().initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        self.model.system().executor()
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.model.system().relations(level)
    }

    fn budget(&self) -> &Budget {
        self.model.system().budget()
    }
}

impl Subject {
    fn new(model: LoadedModel) -> Self {
        let full = explore(model.system(), None, Proviso::None, &[], usize::MAX);
        Self {
            model,
            full,
            relations: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn has_rendezvous(&self) -> bool {
        let transitions = &self.model.system().structure().transitions;
        transitions.iter().any(|t| t.processes.len() > 1)
    }

    fn counts(&mut self, (algorithm, sources, choice): Column, seed: u64) -> (usize, usize) {
        if !self.relations.contains_key(&sources) {
            let found = measure(self, sources.0, sources.1, 200_000);
            let found = found.unwrap_or_else(|error| panic!("{}: {error}", self.model.name()));
            self.relations.insert(sources, Arc::new(found));
        }
        let config = Config {
            choice: Some(choice),
            seed,
            ..Config::new(algorithm)
        };
        let plan = Plan::new(&config, Aim::Deadlocks).expect("it is allowed");
        let relations = Arc::clone(&self.relations[&sources]);
        let reduction = MeasuredReduction::new(self, relations, plan).expect("there are processes");
        let reduced = explore(self, Some(&reduction), Proviso::None, &[], usize::MAX);
        let name = self.model.name();
        assert_eq!(reduced.deadlocks, self.full.deadlocks, "{name}");
        (reduced.states.len(), reduced.transitions)
    }

    fn percent(&mut self, column: Column, seed: u64) -> f64 {
        if let Some(percent) = self.known.get(&(column, seed)) {
            return *percent;
        }
        let percent = 100.0 * self.counts(column, seed).0 as f64 / self.full.states.len() as f64;
        self.known.insert((column, seed), percent);
        percent
    }

    /// The least and the greatest of several seeds.
    fn range(&mut self, column: Column) -> (f64, f64) {
        let seeds = if column.2 == Choice::Random { SEEDS } else { 1 };
        let all = (0..seeds).map(|seed| self.percent(column, seed));
        all.fold((f64::INFINITY, 0.0_f64), |(least, most), percent| {
            (least.min(percent), most.max(percent))
        })
    }
}

/// One after the other, every model of some tables.
struct Experiment {
    models: PathBuf,
    cells: usize,
    /// Better figures in models with rendez-vous.
    better: usize,
    differ: Vec<String>,
}

type Range = (f64, f64);

/// A table: its name, its columns, and its rows.
type Table = (&'static str, Vec<Column>, Vec<(String, Vec<Range>)>);

fn table(name: &'static str, (rows, columns): (&str, &[Column])) -> Table {
    let rows = rows.lines().map(|row| {
        let mut words = row.split_whitespace();
        let instance = words.next().expect("a name").to_owned();
        let theirs = words.map(|w| w.parse().expect("a number"));
        (instance, theirs.map(|t: f64| (t, t)).collect())
    });
    (name, columns.to_vec(), rows.collect())
}

fn choices(name: &'static str, rows: &str, sources: Sources) -> Table {
    let columns = [Choice::First, Choice::Min, Choice::Random];
    let columns = columns.map(|choice| (Algorithm::Ample2, sources, choice));
    let rows = rows
        .lines()
        .filter(|row| !row.trim().is_empty())
        .map(|row| {
            let mut words = row.split_whitespace();
            let instance = words.next().expect("a name").to_owned();
            let n: Vec<f64> = words.map(|w| w.parse().expect("a number")).collect();
            (instance, vec![(n[0], n[0]), (n[1], n[1]), (n[2], n[3])])
        });
    (name, columns.to_vec(), rows.collect())
}

impl Experiment {
    fn new(models: PathBuf) -> Self {
        Self {
            models,
            cells: 0,
            better: 0,
            differ: Vec::new(),
        }
    }

    fn subject(&self, instance: &str) -> Subject {
        let path = self.models.join(format!("{instance}.dve"));
        let loaded = stubborn::load_file(&path, None, &LoadOptions::default());
        Subject::new(loaded.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Runs all tables, model by model so that each is explored once, and prints them.
    fn run(&mut self, tables: &[Table]) {
        let mut instances: Vec<&str> = Vec::new();
        for (_, _, rows) in tables {
            for (instance, _) in rows {
                if !instances.contains(&instance.as_str()) {
                    instances.push(instance);
                }
            }
        }
        let mut lines: HashMap<(&str, &str), String> = HashMap::new();
        for instance in instances {
            let mut subject = self.subject(instance);
            for (name, columns, rows) in tables {
                let Some((_, theirs)) = rows.iter().find(|row| row.0 == instance) else {
                    continue;
                };
                let mark = if subject.has_rendezvous() { " (r)" } else { "" };
                let mut line = format!("| {instance}{mark} |");
                for (column, theirs) in columns.iter().zip(theirs) {
                    let ours = subject.range(*column);
                    let place = format!("{name}, {instance}");
                    self.compare(&place, *theirs, ours, subject.has_rendezvous());
                    line += &format!(" {} / {} |", show(*theirs), show(ours));
                }
                eprintln!("{name} {line}");
                lines.insert((name, instance), line);
            }
        }
        for (name, _, rows) in tables {
            eprintln!("\n{name}");
            for (instance, _) in rows {
                eprintln!("{}", lines[&(*name, instance.as_str())]);
            }
        }
    }

    /// Notes a difference. A rendez-vous is a step of both processes here and of one of them
    /// there, so that sets of whole processes are smaller here.
    fn compare(&mut self, place: &str, theirs: Range, ours: Range, may_be_better: bool) {
        self.cells += 1;
        let better = ours.0 < theirs.0 - SLACK;
        if ours.1 > theirs.1 + SLACK || better && !may_be_better {
            let (theirs, ours) = (show(theirs), show(ours));
            let text = format!("{place}: {theirs} there, {ours} here");
            self.differ.push(text);
        }
        self.better += usize::from(better && may_be_better);
    }
}

fn show((low, high): Range) -> String {
    if low == high {
        format!("{low:.2}")
    } else {
        format!("{low:.2}–{high:.2}")
    }
}

/// Tables of four philosophers who take the left fork first.
fn banquet(tables: usize) -> Subject {
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
    Subject::new(loaded.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn the_banquet_has_the_figures_of_the_paper() {
    let mut one = banquet(1);
    assert_eq!((one.full.states.len(), one.full.transitions), (80, 212));
    assert_eq!(one.counts(first(Algorithm::Ample2, STATIC), 0), (48, 76));
    let mut two = banquet(2);
    assert_eq!(
        (two.full.states.len(), two.full.transitions),
        (6_400, 33_920)
    );
    let ample1 = first(Algorithm::Ample1, STATIC);
    assert_eq!(two.counts(ample1, 0), (6_400, 33_920));
    assert_eq!(two.counts(first(Algorithm::Ample2, STATIC), 0), (95, 152));
    // Deadlocks are kept with every kind of relations; `counts` compares them.
    for sources in [STATIC, FULL, DYNAMIC, STATIC_FULL, FULL_STATIC] {
        for algorithm in [Algorithm::Ample2, Algorithm::Ample1] {
            for choice in Choice::ALL {
                two.counts((algorithm, sources, *choice), 0);
            }
        }
    }
}

#[test]
fn small_rows_agree_with_the_paper() {
    let Some(models) = stubborn_corpus::folder("beem/models") else {
        return;
    };
    let mut experiment = Experiment::new(models);
    let small = [
        "phils",
        "mcs.2",
        "fischer.1",
        "firewire_tree.1",
        "public_subscribe.1",
        "needham.1",
    ];
    let mut tables = vec![
        table("Table 1", TABLE_1),
        table("Table 2", TABLE_2),
        table("Table 3", TABLE_3),
        table("Table 4", TABLE_4),
        choices("Table 5, dynamic", TABLE_5_DYNAMIC, DYNAMIC),
    ];
    for (_, _, rows) in &mut tables {
        rows.retain(|(instance, _)| small.iter().any(|name| instance.starts_with(name)));
    }
    experiment.run(&tables);
    assert!(experiment.cells > 20, "{}", experiment.cells);
    assert_eq!(experiment.differ, Vec::<String>::new());
}

#[test]
#[ignore = "long: minutes, the tables of a paper"]
fn tables_agree_with_the_paper() {
    let Some(models) = stubborn_corpus::folder("beem/models") else {
        return;
    };
    let mut experiment = Experiment::new(models);
    experiment.run(&[
        table("Table 1", TABLE_1),
        table("Table 2", TABLE_2),
        table("Table 3", TABLE_3),
        table("Table 4", TABLE_4),
        choices("Table 5, full", TABLE_5_FULL, FULL),
        choices("Table 5, dynamic", TABLE_5_DYNAMIC, DYNAMIC),
    ]);
    let (differ, cells) = (&experiment.differ, experiment.cells);
    eprintln!("\n{} cells are better by rendez-vous", experiment.better);
    eprintln!(
        "\n{} of {cells} cells differ by more than {SLACK} points",
        differ.len()
    );
    for cell in differ {
        eprintln!("  {cell}");
    }
    let is_explained = |cell: &&String| {
        let mut places = EXPLAINED.iter();
        places.any(|(place, _)| cell.starts_with(&format!("{place}:")))
    };
    let unexplained: Vec<&String> = differ.iter().filter(|c| !is_explained(c)).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}
