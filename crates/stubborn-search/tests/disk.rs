//! A search that goes on on disk counts what one in memory counts, and finds ways as short.

use crate::common;

use std::path::PathBuf;

use common::graph::Graph;
use common::models::{counters, counters_with_sum, philosophers};
use common::{random, run};
use stubborn_search::proviso::{Known, Ruling, SafetyProviso, Selected, TerminalComponents};
use stubborn_search::{
    Disk, End, Engine, Limit, Limits, Order, ResumeError, Search, SearchError, SearchResult, Sink,
    Source, Stop, StoreKind, StoreOptions, Target,
};
use stubborn_system::{Random, System};

/// Expands every state with a selected successor that is not new: levels do not tell.
struct AnyKnown;

impl SafetyProviso for AnyKnown {
    fn name(&self) -> &'static str {
        "any-known"
    }

    fn order(&self) -> Option<Order> {
        None
    }

    fn ruling(&self, selected: &Selected<'_>) -> Ruling {
        match selected.iter().any(|known| known != Known::New) {
            true => Ruling::Expanded,
            false => Ruling::Reduced,
        }
    }
}

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Runs a search on disk: there is no memory for tables.
fn on_disk(search: &Search<'_>, name: &str) -> Result<SearchResult, SearchError> {
    let folder = folder(name);
    let disk = Disk::new(folder.clone()).with_buffer(600);
    let search = Search {
        limits: Limits {
            // Not even for an empty table.
            memory: Some(10),
            ..search.limits
        },
        ..search.clone()
    };
    assert_eq!(disk.takes(&search), Ok(()));
    let mut exploration = disk.begin(&search).expect("everything fits");
    exploration.explore(search.limits.states);
    let result = exploration.finish();
    let left = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!(left, 0, "files are removed");
    result
}

fn assert_same(memory: &SearchResult, disk: &SearchResult, what: &str) {
    let numbers = |r: &SearchResult| {
        let counts = (r.states, r.transitions, r.deadlocks, r.invalid_ends);
        (counts, r.depth, r.bfs_levels, r.level_sizes.clone(), r.end)
    };
    assert_eq!(numbers(memory), numbers(disk), "{what}");
    assert_eq!(
        (&memory.fired, &memory.failed),
        (&disk.fired, &disk.failed),
        "{what}"
    );
    let violations = |r: &SearchResult| {
        let all = r.violations.iter();
        let all = all.map(|v| (v.target, v.count, v.length, v.state.clone(), v.step));
        all.collect::<Vec<_>>()
    };
    assert_eq!(violations(memory), violations(disk), "{what}");
    for violation in &disk.violations {
        let trace = violation.trace.as_ref().expect("it was replayed");
        assert_eq!(trace.len() as u64, violation.length, "{what}");
    }
}

#[test]
fn random_programs_are_the_same_on_disk() {
    let random = &mut Random::new(1);
    for seed in 0..60 {
        let model = random::program(seed);
        let mut targets = vec![Target::Deadlock];
        if model.structure().error_state.is_some() {
            targets.push(Target::Errors);
        }
        if random.one_in(4) {
            targets.clear();
        }
        let search = Search {
            targets,
            stop: *random.pick(&[Stop::Never, Stop::FirstViolation, Stop::AllViolated]),
            ..Search::new(&model)
        };
        let disk = on_disk(&search, "random").expect("the disk takes it");
        assert_same(&run(&search), &disk, &format!("program {seed}, {search:?}"));
    }
}

#[test]
fn known_models_are_the_same_on_disk() {
    let (sums, label) = counters_with_sum(4, 7, 20);
    let philosophers = philosophers(7);
    let cases: [(&dyn System, Vec<Target>); 3] = [
        (&counters(4, 9), vec![]),
        (&sums, vec![Target::Label(label)]),
        (&philosophers, vec![Target::Deadlock]),
    ];
    for (at, (system, targets)) in cases.into_iter().enumerate() {
        let search = Search {
            targets,
            ..Search::new(system)
        };
        let disk = on_disk(&search, "known").expect("the disk takes it");
        assert_same(&run(&search), &disk, &format!("model {at}"));
    }
}

#[test]
fn reduced_searches_are_the_same_on_disk() {
    for seed in 0..40 {
        let graph = Graph::random(seed, 800);
        let search = Search {
            reduction: Some(&graph),
            targets: vec![Target::Deadlock],
            ..Search::new(&graph)
        };
        let disk = on_disk(&search, "reduced").expect("the disk takes it");
        assert_same(&run(&search), &disk, &format!("graph {seed}"));
    }
}

#[test]
fn it_waits_between_levels_and_goes_on() {
    let model = counters(4, 9);
    let once = run(&Search::new(&model));
    let place = folder("waits");
    let disk = Disk::new(place).with_buffer(600);
    let search = Search {
        limits: Limits {
            memory: Some(2_000),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    let mut exploration = disk.begin(&search).expect("everything fits");
    let mut most = 0;
    while {
        exploration.explore(Some(most));
        exploration.is_waiting()
    } {
        most += 100;
    }
    assert_same(
        &once,
        &exploration.finish().expect("nothing to replay"),
        "in goes",
    );
    // The limit of the user is one.
    let mut exploration = disk.begin(&search).expect("everything fits");
    exploration.explore(Some(500));
    let result = exploration.finish().expect("nothing to replay");
    assert_eq!(result.end, End::Limit(Limit::States));
}

/// Written down between any two levels, a search ends as one that was never stopped; and what is
/// damaged is never taken for it.
#[test]
fn it_is_written_down_and_taken_up_again() {
    let (sums, label) = counters_with_sum(4, 7, 20);
    let reduced = |graph: &Graph| {
        let search = Search {
            reduction: Some(graph),
            proviso: Some(&TerminalComponents),
            ..Search::new(graph)
        };
        let result = run(&search);
        result.bfs_levels > Some(6) && result.expanded_by_proviso > 0
    };
    let graphs = (0..).map(|seed| Graph::random(seed, 300));
    let graph = { graphs }.find(reduced).expect("some graph is deep");
    let searches = [
        Search::new(&sums),
        Search {
            targets: vec![Target::Label(label), Target::Deadlock],
            stop: Stop::Never,
            ..Search::new(&sums)
        },
        Search {
            reduction: Some(&graph),
            proviso: Some(&TerminalComponents),
            targets: vec![Target::Deadlock],
            ..Search::new(&graph)
        },
    ];
    let random = &mut Random::new(3);
    for (at, search) in searches.into_iter().enumerate() {
        let undisturbed = on_disk(&search, "undisturbed").expect("the disk takes it");
        let search = Search {
            limits: Limits {
                memory: Some(10),
                ..search.limits
            },
            ..search
        };
        let place = folder("written-down");
        let disk = Disk::new(place.clone()).with_buffer(600);
        let mut most = 0;
        let mut exploration = disk.begin(&search).expect("everything fits");
        exploration.explore(Some(most));
        let mut goes = 0;
        while exploration.is_waiting() {
            goes += 1;
            let mut bytes = Vec::new();
            let saved = exploration.save(&mut Sink::new(&mut bytes));
            saved.expect("memory takes everything");
            drop(exploration);
            let resume = |bytes: &[u8]| {
                let (mut input, length) = (bytes, bytes.len() as u64);
                disk.resume(&search, &mut Source::new(&mut input, length))
            };
            for _ in 0..5 {
                let mut damaged = bytes.clone();
                match random.below(2) {
                    0 => damaged.truncate(random.below(bytes.len())),
                    _ => damaged[random.below(bytes.len())] ^= 1 << random.below(8),
                }
                // Blocks have checksums; here it is enough that nothing panics.
                if damaged.len() < bytes.len() {
                    let refused = resume(&damaged).err();
                    assert!(matches!(refused, Some(ResumeError::Read(_))), "{refused:?}");
                } else {
                    let _ = resume(&damaged);
                }
            }
            exploration = resume(&bytes).expect("it is whole");
            assert!(exploration.is_paused());
            most += if at < 2 { 200 } else { 10 };
            exploration.explore(Some(most));
        }
        assert!(goes > 2, "{at}");
        let result = exploration.finish().expect("ways are found");
        assert_same(&undisturbed, &result, &format!("search {at}"));
        let left = std::fs::read_dir(&place).map_or(0, Iterator::count);
        assert_eq!(left, 0, "files are removed");
    }
}

#[test]
fn with_enough_memory_nothing_is_written() {
    let model = philosophers(6);
    let place = folder("memory");
    let disk = Disk::new(place.clone());
    let search = Search {
        targets: vec![Target::Deadlock],
        ..Search::new(&model)
    };
    let mut exploration = disk.begin(&search).expect("everything fits");
    exploration.explore(None);
    assert_same(
        &run(&search),
        &exploration.finish().expect("it is replayed"),
        "in memory",
    );
    assert!(!place.exists());
}

#[test]
fn what_it_cannot_do_is_refused_and_a_disk_that_refuses_is_no_answer() {
    let model = philosophers(5);
    let disk = Disk::new(folder("refused"));
    let depth_first = Search {
        order: Order::DepthFirst,
        ..Search::new(&model)
    };
    let lossy = Search {
        store: StoreOptions::new(StoreKind::Compact),
        ..Search::new(&model)
    };
    assert!(disk.takes(&depth_first).is_err() && disk.takes(&lossy).is_err());
    let by_each = Search {
        proviso: Some(&AnyKnown),
        ..Search::new(&model)
    };
    let why = disk
        .takes(&by_each)
        .expect_err("it looks at each successor");
    assert!(why.contains("the proviso any-known"), "{why}");
    // A file where the folder should be.
    let place = folder("refused");
    std::fs::write(&place, "").expect("a file can be written");
    let disk = Disk::new(place.clone());
    let search = Search {
        limits: Limits {
            memory: Some(2_000),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    let mut exploration = disk.begin(&search).expect("everything fits");
    exploration.explore(None);
    let result = exploration.finish();
    assert!(
        matches!(result, Err(SearchError::NoAnswer(_))),
        "{result:?}"
    );
    let _ = std::fs::remove_file(place);
}
