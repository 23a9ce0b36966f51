//! Every algorithm, strategy and kind of relations is real: it changes the number of states
//! that are left of some model of the corpus. The long test prints the table that
//! `docs/reduction.md` has:
//! `cargo test -p stubborn --test all -- --ignored --nocapture switches::`

use crate::corpus;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use stubborn::LoadedModel;
use stubborn::reduce::experiments::measured::{
    Dependency, MeasuredReduction, MeasuredRelations, Precedence, measure,
};
use stubborn::reduce::validate::explore::explore;
use stubborn::reduce::{
    Aim, Algorithm, Choice, Config, Delete, Goals, NeededProviso, Plan, Scapegoat, Start,
    StubbornReduction,
};
use stubborn::search::proviso::{ClosedSet, OnStack, TerminalComponents};
use stubborn::search::{Order, Search};
use stubborn::system::{LabelId, Reduction, RelationLevel, Relations};

/// Small instances, the ones that tell most apart first.
const INSTANCES: &[&str] = &[
    "beem/models/phils.3.dve",
    "beem/models/phils.2.dve",
    "beem/models/extinction.2.dve",
    "beem/models/fischer.1.dve",
    "beem/models/mcs.2.dve",
    "beem/models/iprotocol.1.dve",
    "beem/models/krebs.1.dve",
    "beem/models/lann.2.dve",
    "beem/models/protocols.3.dve",
    "beem/models/cambridge.1.dve",
    "beem/models/leader_election.1.dve",
    "beem/models/needham.1.dve",
    "beem/models/firewire_link.1.dve",
    "beem/models/leader_filters.1.dve",
    "beem/models/cyclic_scheduler.2.dve",
    "beem/models/bopdp.1.dve",
    "beem/models/at.1.dve",
    "beem/models/mcs.4.dve",
    "beem/models/mcs.1.dve",
    "beem/models/needham.2.dve",
    "beem/models/gear.1.dve",
    "pnml/Philosophers-PT-000005/model.pnml",
    "pnml/Peterson-PT-2/model.pnml",
    "pnml/SwimmingPool-PT-01/model.pnml",
];

/// Where relations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Level(RelationLevel),
    Measured(Dependency, Precedence),
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Aimed {
    Deadlocks,
    /// A state in which the middle one of the model's labels holds.
    Goal(SafetyProviso),
}

/// What keeps a search for states from ignoring transitions, depth-first but for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SafetyProviso {
    None,
    ClosedSet,
    Stack,
    /// Breadth-first.
    Terminal,
}

/// A reduction, as a user would ask for it.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    name: String,
    config: Config,
    source: Source,
    aimed: Aimed,
}

impl Setting {
    fn new(name: impl Into<String>, config: Config) -> Self {
        Self {
            name: name.into(),
            config,
            source: Source::Level(RelationLevel::Reach),
            aimed: Aimed::Deadlocks,
        }
    }

    fn for_goal(mut self, proviso: SafetyProviso) -> Self {
        self.aimed = Aimed::Goal(proviso);
        self
    }

    fn with(mut self, source: Source) -> Self {
        self.source = source;
        self
    }
}

/// A model and what was counted.
struct Subject {
    name: String,
    model: LoadedModel,
    full: usize,
    levels: HashMap<RelationLevel, Relations>,
    measured: HashMap<(Dependency, Precedence), Option<Arc<MeasuredRelations>>>,
    known: HashMap<String, Option<usize>>,
}

impl Subject {
    fn new(root: &Path, instance: &str) -> Self {
        let model = corpus::load(&root.join(instance));
        let full = explore(model.system(), None, NeededProviso::None, &[], usize::MAX);
        let name = instance.trim_start_matches("beem/models/");
        Self {
            name: name.trim_end_matches("/model.pnml").to_owned(),
            model,
            full: full.states.len(),
            levels: HashMap::new(),
            measured: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// States left; `None` where the setting does not apply to the model.
    fn states(&mut self, setting: &Setting) -> Option<usize> {
        let key = format!("{:?}", (&setting.config, setting.source, setting.aimed));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let states = self.count(setting);
        self.known.insert(key, states);
        states
    }

    fn count(&mut self, setting: &Setting) -> Option<usize> {
        let system = self.model.system();
        let aim = match setting.aimed {
            Aimed::Deadlocks => Aim::Deadlocks,
            Aimed::Goal(_) => {
                let labels = system.structure().labels.len();
                Aim::Goals(Goals::labels([LabelId::new(labels / 2)]))
            }
        };
        let plan = Plan::new(&setting.config, aim).expect("it is allowed");
        let count = |reduction: &dyn Reduction| match setting.aimed {
            Aimed::Deadlocks => {
                let found = explore(
                    system,
                    Some(reduction),
                    NeededProviso::None,
                    &[],
                    usize::MAX,
                );
                Some(found.states.len())
            }
            Aimed::Goal(proviso) => {
                let search = Search {
                    reduction: Some(reduction),
                    proviso: match proviso {
                        SafetyProviso::None => None,
                        SafetyProviso::ClosedSet => Some(&ClosedSet),
                        SafetyProviso::Stack => Some(&OnStack),
                        SafetyProviso::Terminal => Some(&TerminalComponents),
                    },
                    order: match proviso {
                        SafetyProviso::Terminal => Order::BreadthFirst,
                        _ => Order::DepthFirst,
                    },
                    ..Search::new(system)
                };
                Some(search.run().ok()?.states as usize)
            }
        };
        match setting.source {
            Source::Level(level) => {
                let relations = self.levels.entry(level);
                let relations = relations.or_insert_with(|| system.relations(level));
                count(&StubbornReduction::new(system, relations, plan).ok()?)
            }
            Source::Measured(dependency, precedence) => {
                let relations = self.measured.entry((dependency, precedence));
                let relations = relations.or_insert_with(|| {
                    let found = measure(system, dependency, precedence, 100_000);
                    found.ok().map(Arc::new)
                });
                let relations = Arc::clone(relations.as_ref()?);
                count(&MeasuredReduction::new(system, relations, plan).ok()?)
            }
        }
    }
}

/// Settings of one kind; each pair of them must differ somewhere.
struct Family {
    name: &'static str,
    settings: Vec<Setting>,
}

fn families() -> Vec<Family> {
    let plain = |algorithm: Algorithm| Setting::new(algorithm.name(), Config::new(algorithm));
    let beam = || Config::new(Algorithm::Beam);
    let measured = |name: &str, dependency, precedence| {
        let source = Source::Measured(dependency, precedence);
        Setting::new(name, beam()).with(source)
    };
    let level = |level| Setting::new("", beam()).with(Source::Level(level));
    let named = |name: &str, mut setting: Setting| {
        setting.name = name.into();
        setting
    };
    vec![
        Family {
            name: "algorithms (`goal` is for goals only)",
            settings: Algorithm::ALL
                .iter()
                .filter(|a| **a != Algorithm::Goal)
                .map(|a| plain(*a))
                .collect(),
        },
        Family {
            name: "variants",
            settings: vec![
                plain(Algorithm::Beam),
                Setting::new(
                    "beam --weak",
                    Config {
                        weak: true,
                        ..beam()
                    },
                ),
                Setting::new(
                    "beam --no-nds",
                    Config {
                        disabling_sets: false,
                        ..beam()
                    },
                ),
                Setting::new(
                    "beam --no-heuristic",
                    Config {
                        heuristic: false,
                        ..beam()
                    },
                ),
            ],
        },
        Family {
            name: "minimisation",
            settings: vec![
                plain(Algorithm::Deletion),
                Setting::new(
                    "deletion --minimise",
                    Config {
                        minimise: true,
                        ..Config::new(Algorithm::Deletion)
                    },
                ),
            ],
        },
        Family {
            name: "--start (closure)",
            settings: Start::ALL
                .iter()
                .map(|start| {
                    let config = Config {
                        start: Some(*start),
                        ..Config::new(Algorithm::Closure)
                    };
                    Setting::new(start.name(), config)
                })
                .collect(),
        },
        Family {
            name: "--scapegoat (closure --start fst)",
            settings: Scapegoat::ALL
                .iter()
                .map(|scapegoat| {
                    let config = Config {
                        start: Some(Start::Fst),
                        scapegoat: Some(*scapegoat),
                        ..Config::new(Algorithm::Closure)
                    };
                    Setting::new(scapegoat.name(), config)
                })
                .collect(),
        },
        Family {
            name: "--delete (deletion)",
            settings: Delete::ALL
                .iter()
                .map(|delete| {
                    let config = Config {
                        delete: Some(*delete),
                        ..Config::new(Algorithm::Deletion)
                    };
                    Setting::new(delete.name(), config)
                })
                .collect(),
        },
        Family {
            name: "--choice (ample2)",
            settings: Choice::ALL
                .iter()
                .map(|choice| {
                    let config = Config {
                        choice: Some(*choice),
                        ..Config::new(Algorithm::Ample2)
                    };
                    Setting::new(choice.name(), config)
                })
                .collect(),
        },
        Family {
            name: "--seed (closure)",
            settings: (0..3)
                .map(|seed| {
                    let config = Config {
                        seed,
                        ..Config::new(Algorithm::Closure)
                    };
                    Setting::new(seed.to_string(), config)
                })
                .collect(),
        },
        Family {
            name: "--relations (beam)",
            settings: vec![
                named("sets", level(RelationLevel::Sets)),
                named("syntax", level(RelationLevel::Syntax)),
                named("exact", level(RelationLevel::Exact)),
                named("reach", level(RelationLevel::Reach)),
                measured("full", Dependency::Full, Precedence::Full),
            ],
        },
        Family {
            name: "--dependency (beam, --precedence sets)",
            settings: [
                Dependency::Sets,
                Dependency::Syntax,
                Dependency::Exact,
                Dependency::Reach,
                Dependency::Full,
                Dependency::Dynamic,
            ]
            .iter()
            .map(|d| measured(d.name(), *d, Precedence::Sets))
            .collect(),
        },
        Family {
            name: "--precedence (beam, --dependency full)",
            settings: Precedence::ALL
                .iter()
                .filter(|p| **p != Precedence::Exact)
                .map(|p| measured(p.name(), Dependency::Full, *p))
                .collect(),
        },
        Family {
            name: "--precedence (beam, --dependency sets)",
            settings: [Precedence::Syntax, Precedence::Exact]
                .iter()
                .map(|p| measured(p.name(), Dependency::Sets, *p))
                .collect(),
        },
        Family {
            name: "--dependency of nets (beam, --precedence sets)",
            settings: [Dependency::Sets, Dependency::Disabling]
                .iter()
                .map(|d| measured(d.name(), *d, Precedence::Sets))
                .collect(),
        },
        Family {
            name: "for a goal (depth-first; the others with `--proviso stack`)",
            settings: Algorithm::ALL
                .iter()
                .map(|algorithm| {
                    plain(*algorithm).for_goal(match algorithm {
                        Algorithm::Goal => SafetyProviso::None,
                        _ => SafetyProviso::Stack,
                    })
                })
                .filter(|setting| COMPARED_FOR_GOALS.contains(&setting.config.algorithm))
                .collect(),
        },
        Family {
            name: "variants of `goal`",
            settings: vec![
                plain(Algorithm::Goal).for_goal(SafetyProviso::None),
                Setting::new(
                    "goal --no-nds",
                    Config {
                        disabling_sets: false,
                        ..Config::new(Algorithm::Goal)
                    },
                )
                .for_goal(SafetyProviso::None),
                Setting::new(
                    "goal --no-heuristic",
                    Config {
                        heuristic: false,
                        ..Config::new(Algorithm::Goal)
                    },
                )
                .for_goal(SafetyProviso::None),
            ],
        },
        Family {
            name: "--proviso (beam for a goal; `terminal` breadth-first, the others depth-first; \
                   `none` would be unsound)",
            settings: vec![
                named("none", plain(Algorithm::Beam).for_goal(SafetyProviso::None)),
                named(
                    "closed-set",
                    plain(Algorithm::Beam).for_goal(SafetyProviso::ClosedSet),
                ),
                named(
                    "stack",
                    plain(Algorithm::Beam).for_goal(SafetyProviso::Stack),
                ),
                named(
                    "terminal",
                    plain(Algorithm::Beam).for_goal(SafetyProviso::Terminal),
                ),
            ],
        },
    ]
}

/// Algorithms that are compared for goals; deadlocks tell the others apart.
const COMPARED_FOR_GOALS: &[Algorithm] = &[
    Algorithm::Goal,
    Algorithm::Beam,
    Algorithm::Closure,
    Algorithm::Ample2,
];

/// For every two settings of a family, some instance tells them apart.
fn tell_apart(families: &[Family]) {
    let Some(root) = stubborn_corpus::folder("") else {
        return;
    };
    let exists = |instance: &&&str| root.join(instance).is_file();
    let mut subjects: Vec<Option<Subject>> = Vec::new();
    let instances: Vec<&&str> = INSTANCES.iter().filter(exists).collect();
    subjects.resize_with(instances.len(), || None);
    let mut missing = Vec::new();
    eprintln!("| switch | | | instance | states | with the one | with the other |");
    eprintln!("| --- | --- | --- | --- | --: | --: | --: |");
    for family in families {
        for (at, one) in family.settings.iter().enumerate() {
            for other in &family.settings[at + 1..] {
                let found = (0..instances.len()).find_map(|i| {
                    let make = || Subject::new(&root, instances[i]);
                    let subject = subjects[i].get_or_insert_with(make);
                    let (a, b) = (subject.states(one)?, subject.states(other)?);
                    (a != b).then(|| (subject.name.clone(), subject.full, a, b))
                });
                let (what, one, other) = (family.name, &one.name, &other.name);
                match found {
                    Some((name, full, a, b)) => {
                        eprintln!("| {what} | {one} | {other} | {name} | {full} | {a} | {b} |");
                    }
                    None => missing.push(format!("{what}: {one}, {other}")),
                }
            }
        }
    }
    assert!(missing.is_empty(), "no instance tells apart: {missing:#?}");
}

#[test]
#[ignore = "long: minutes, every switch on small instances"]
fn every_switch_changes_some_count() {
    tell_apart(&families());
}

#[test]
fn switches_for_goals_change_some_count() {
    let mut families = families();
    families.retain(|family| family.settings.iter().all(|s| s.aimed != Aimed::Deadlocks));
    assert_eq!(families.len(), 3);
    tell_apart(&families);
}

#[test]
fn some_switches_change_the_count_of_a_small_instance() {
    let Some(root) = stubborn_corpus::folder("") else {
        return;
    };
    let mut subject = Subject::new(&root, "beem/models/mcs.2.dve");
    let all = families();
    for (family, one, other) in [(0, 1, 6), (8, 0, 4), (9, 0, 5), (13, 0, 3), (15, 0, 1)] {
        let settings = &all[family].settings;
        let (a, b) = (&settings[one], &settings[other]);
        assert_ne!(
            subject.states(a),
            subject.states(b),
            "{} {}",
            a.name,
            b.name
        );
    }
}
