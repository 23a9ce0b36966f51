//! A search that goes on on disk counts what one in memory counts, and finds ways as short.

mod common;

use std::path::PathBuf;

use common::graph::Graph;
use common::models::{counters, counters_with_sum, philosophers};
use common::{random, run};
use stubborn_search::proviso::ClosedSet;
use stubborn_search::{
    Disk, End, Engine, Limit, Limits, Order, Search, SearchError, SearchResult, Stop, StoreKind,
    StoreOptions, Target,
};
use stubborn_system::{Random, System};

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
    let graph = Graph::random(1, 50);
    let with_proviso = Search {
        reduction: Some(&graph),
        proviso: Some(&ClosedSet),
        ..Search::new(&graph)
    };
    assert!(Disk::new(folder("proviso")).takes(&with_proviso).is_err());
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
