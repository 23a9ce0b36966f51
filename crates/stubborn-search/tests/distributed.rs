//! Several processes (threads here, with connections as processes have them) count what one counts,
//! and find ways as short.

use crate::common;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;

use common::graph::Graph;
use common::late::LateCounters;
use common::models::{
    counters, counters_with_sum, overflow, philosophers, producer_consumer, wide_counters,
};
use common::{random, run};
use stubborn_cluster::{Cluster, Meeting, Token};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso, TerminalComponents};
use stubborn_search::{
    Disk, Distributed, End, Engine, Limit, Limits, Order, Search, SearchResult, Sink, Source, Stop,
    Target,
};
use stubborn_system::{Random, System};

/// Does something in so many processes at once; what each has got, the leader's first.
fn spread<T: Send>(size: usize, work: impl Fn(&Distributed<'_>) -> T + Sync) -> Vec<T> {
    let token = Token::random();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (work, token, address) = (&work, &token, &address);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..size)
            .map(|_| {
                scope.spawn(move || {
                    let cluster = Cluster::join(address, token, "test").expect("it is welcome");
                    work(&Distributed::new(&Mutex::new(cluster)))
                })
            })
            .collect();
        let meeting = Meeting {
            listener,
            size,
            token: token.clone(),
            purpose: "test",
        };
        let cluster = Cluster::lead(meeting, || Ok(())).expect("all come");
        let first = work(&Distributed::new(&Mutex::new(cluster)));
        let others = others
            .into_iter()
            .map(|other| other.join().expect("it ends"));
        std::iter::once(first).chain(others).collect()
    })
}

/// Runs a search in so many processes: all of them know the same.
fn on_several(search: &Search<'_>, size: usize) -> SearchResult {
    let all = spread(size, |engine| {
        assert_eq!(engine.takes(search), Ok(()));
        let mut exploration = engine.begin(search).expect("everything fits");
        exploration.explore(search.limits.states);
        exploration.finish().expect("nobody dies")
    });
    for other in &all[1..] {
        assert_same(&all[0], other, "all processes have the same result");
    }
    all.into_iter().next().expect("there is a leader")
}

fn assert_same(one: &SearchResult, other: &SearchResult, what: &str) {
    let numbers = |r: &SearchResult| {
        let counts = (r.states, r.transitions, r.deadlocks, r.invalid_ends);
        let expanded = r.expanded_by_proviso;
        (
            counts,
            r.depth,
            r.bfs_levels,
            r.level_sizes.clone(),
            r.end,
            expanded,
        )
    };
    assert_eq!(numbers(one), numbers(other), "{what}");
    let sets = |r: &SearchResult| (r.fired.clone(), r.failed.clone());
    assert_eq!(sets(one), sets(other), "{what}");
    let violations = |r: &SearchResult| {
        let all = r.violations.iter();
        let all = all.map(|v| (v.target, v.count, v.length, v.state.clone(), v.step));
        all.collect::<Vec<_>>()
    };
    assert_eq!(violations(one), violations(other), "{what}");
    for violation in &other.violations {
        let trace = violation.trace.as_ref().expect("it was replayed");
        assert_eq!(trace.len() as u64, violation.length, "{what}");
    }
}

#[test]
fn random_programs_are_the_same_in_several_processes() {
    let random = &mut Random::new(2);
    for seed in 0..30 {
        let model = random::program(seed);
        let mut targets = vec![Target::Deadlock];
        if model.structure().error_state.is_some() {
            targets.push(Target::Errors);
        }
        let search = Search {
            targets,
            stop: *random.pick(&[Stop::Never, Stop::FirstViolation, Stop::AllViolated]),
            ..Search::new(&model)
        };
        let size = 1 + random.below(4);
        let several = on_several(&search, size);
        let what = format!("program {seed} in {size} processes, {search:?}");
        assert_same(&run(&search), &several, &what);
    }
}

#[test]
fn known_models_are_the_same_in_several_processes() {
    let (sums, label) = counters_with_sum(4, 7, 20);
    let cases: [(&dyn System, Vec<Target>); 5] = [
        (&counters(4, 9), vec![]),
        (&sums, vec![Target::Label(label)]),
        (&philosophers(7), vec![Target::Deadlock]),
        (&producer_consumer(3, 9, true), vec![Target::Assertions]),
        (&overflow(9), vec![Target::Errors, Target::Deadlock]),
    ];
    for (at, (system, targets)) in cases.into_iter().enumerate() {
        let search = Search {
            targets,
            ..Search::new(system)
        };
        for size in [2, 4] {
            let several = on_several(&search, size);
            assert_same(&run(&search), &several, &format!("model {at}, {size}"));
        }
    }
}

/// States of more than a few words are sent by other names, whatever of their successors is left out before.
#[test]
fn wide_states_are_the_same_in_several_processes() {
    let model = wide_counters(8);
    assert_eq!(model.layout().words(), 8);
    let search = Search::new(&model);
    for size in [2, 3] {
        let several = on_several(&search, size);
        assert_eq!(several.states, 6561);
        assert_same(&run(&search), &several, &format!("{size} processes"));
    }
}

/// When many states say that another tree is better, all start again with that, also if they wait before and
/// afterwards.
#[test]
fn a_large_search_gets_another_tree_in_several_processes() {
    let system = LateCounters::new();
    let search = Search::new(&system);
    let alone = run(&search);
    assert_eq!(alone.states, LateCounters::STATES);
    for stops in [&[][..], &[100_000, 300_000]] {
        let all = spread(2, |engine| {
            let mut exploration = engine.begin(&search).expect("everything fits");
            for most in stops {
                exploration.explore(Some(*most));
                assert!(exploration.is_waiting(), "{most}");
            }
            exploration.explore(None);
            exploration.finish().expect("nobody dies")
        });
        for several in &all {
            assert_same(&alone, several, &format!("{stops:?}"));
            let bytes = several.bytes_per_state();
            assert!(bytes < 15.0, "{bytes} bytes a state");
        }
    }
}

#[test]
fn reduced_searches_are_the_same_in_several_processes() {
    for seed in 0..20 {
        let graph = Graph::random(seed, 800);
        let search = Search {
            reduction: Some(&graph),
            targets: vec![Target::Deadlock],
            ..Search::new(&graph)
        };
        let several = on_several(&search, 3);
        assert_same(&run(&search), &several, &format!("graph {seed}"));
    }
}

/// How many nodes there are if those are expanded that keep nothing on the next level.
fn by_levels(graph: &Graph) -> u64 {
    let mut seen = BTreeSet::from([0]);
    let mut level = seen.clone();
    while !level.is_empty() {
        let kept = level.iter().flat_map(|node| graph.explored(*node, false));
        let mut next: BTreeSet<u32> = kept.filter(|node| !seen.contains(node)).collect();
        let leads_on = |node: u32| graph.explored(node, false).any(|to| next.contains(&to));
        let stuck = level.iter().copied().filter(|node| !leads_on(*node));
        let rest: Vec<u32> = stuck.flat_map(|node| graph.explored(node, true)).collect();
        next.extend(rest.iter().filter(|node| !seen.contains(node)));
        seen.extend(&next);
        level = next;
    }
    seen.len() as u64
}

/// From every state an expanded one or a deadlock is reached, however many processes there are, and
/// nothing depends on their number.
#[test]
fn provisos_do_not_depend_on_the_number_of_processes() {
    let mut expanded = 0;
    for seed in 0..30 {
        let graph = Graph::random(seed, 300);
        let search = Search {
            reduction: Some(&graph),
            proviso: Some(if seed % 2 == 0 {
                &ClosedSet
            } else {
                &TerminalComponents
            }),
            targets: vec![Target::Deadlock],
            ..Search::new(&graph)
        };
        let alone = on_several(&search, 1);
        for size in [2, 3] {
            let several = on_several(&search, size);
            assert_same(&alone, &several, &format!("graph {seed}, {size}"));
        }
        assert_eq!(alone.states, by_levels(&graph), "graph {seed}");
        // On disk it is the same rule.
        let disk = Disk::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("provisos"));
        let disk = disk.with_buffer(600);
        let without_memory = Search {
            limits: Limits {
                memory: Some(10),
                ..search.limits
            },
            ..search.clone()
        };
        assert_eq!(disk.takes(&without_memory), Ok(()));
        let mut exploration = disk.begin(&without_memory).expect("everything fits");
        exploration.explore(None);
        let on_disk = exploration.finish().expect("ways are found");
        assert_same(&alone, &on_disk, &format!("graph {seed} on disk"));
        expanded += alone.expanded_by_proviso;
    }
    assert!(expanded > 100, "{expanded} states are few");
}

/// Only where the rule of levels is said to be enough: those that say it are compared above.
#[test]
fn provisos_that_look_at_each_successor_are_refused() {
    let model = counters(2, 3);
    let provisos: [(&dyn SafetyProviso, bool); 3] = [
        (&ClosedSet, true),
        (&TerminalComponents, true),
        (&OnStack, false),
    ];
    for (proviso, allows) in provisos {
        let search = Search {
            proviso: Some(proviso),
            ..Search::new(&model)
        };
        for takes in spread(2, |engine| engine.takes(&search)) {
            assert_eq!(takes.is_ok(), allows, "{}: {takes:?}", proviso.name());
        }
    }
}

#[test]
fn it_waits_between_levels_and_goes_on() {
    let model = counters(4, 9);
    let search = Search::new(&model);
    let once = run(&search);
    let all = spread(3, |engine| {
        let mut exploration = engine.begin(&search).expect("everything fits");
        let mut goes = 0;
        for most in (500..).step_by(500) {
            exploration.explore(Some(most));
            if !exploration.is_waiting() {
                break;
            }
            assert!(exploration.level_sizes().iter().sum::<u64>() <= most);
            goes += 1;
        }
        (goes, exploration.finish().expect("nobody dies"))
    });
    assert!(all[0].0 > 3);
    assert_same(&once, &all[0].1, "in goes");
}

/// Written down by some processes, and taken up by others: the same as if it had never stopped.
#[test]
fn other_numbers_of_processes_take_it_up() {
    let (sums, label) = counters_with_sum(4, 7, 20);
    let graph = Graph::random(6, 3_000);
    let with_proviso = Search {
        reduction: Some(&graph),
        proviso: Some(&ClosedSet),
        targets: vec![Target::Deadlock],
        ..Search::new(&graph)
    };
    let with_label = Search {
        targets: vec![Target::Label(label), Target::Deadlock],
        ..Search::new(&sums)
    };
    for (at, search) in [&with_label, &with_proviso].into_iter().enumerate() {
        let once = on_several(search, 1);
        for (before, after) in [(1, 3), (3, 1), (2, 4), (3, 3)] {
            let most = once.states / 3;
            let written = spread(before, |engine| {
                let mut exploration = engine.begin(search).expect("everything fits");
                exploration.explore(Some(most));
                assert!(exploration.is_waiting());
                let mut bytes = Vec::new();
                let saved = exploration.save(&mut Sink::new(&mut bytes));
                saved.expect("memory takes everything");
                bytes
            });
            assert!(written[1..].iter().all(Vec::is_empty), "one file for all");
            let bytes = &written[0];
            let results = spread(after, |engine| {
                let mut input = &bytes[..];
                let source = &mut Source::new(&mut input, bytes.len() as u64);
                let mut exploration = engine.resume(search, source).expect("it is whole");
                exploration.explore(None);
                exploration.finish().expect("nobody dies")
            });
            for result in &results {
                let what = format!("search {at}, {before} and {after} processes");
                assert_same(&once, result, &what);
            }
        }
    }
}

#[test]
fn damaged_ones_are_refused() {
    let model = counters(3, 5);
    let search = Search::new(&model);
    let bytes = spread(1, |engine| {
        let mut exploration = engine.begin(&search).expect("everything fits");
        exploration.explore(Some(40));
        let mut bytes = Vec::new();
        let saved = exploration.save(&mut Sink::new(&mut bytes));
        saved.expect("memory takes everything");
        bytes
    });
    let bytes = &bytes[0];
    let once = run(&search);
    let random = &mut Random::new(3);
    let random = Mutex::new(random);
    spread(1, |engine| {
        let random = &mut random.lock().expect("nobody panics");
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            damaged.truncate(if at.is_multiple_of(3) {
                at
            } else {
                damaged.len()
            });
            let mut input = &damaged[..];
            let source = &mut Source::new(&mut input, damaged.len() as u64);
            // Whatever is read, nothing breaks; bits of counts are for checksums to find.
            if let Ok(mut exploration) = engine.resume(&search, source) {
                exploration.explore(Some(2 * once.states));
                let _ = exploration.finish();
            }
        }
    });
}

#[test]
fn limits_end_it_everywhere() {
    let model = counters(6, 9);
    let search = Search {
        limits: Limits {
            states: Some(1000),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    let result = on_several(&search, 2);
    assert_eq!(result.end, End::Limit(Limit::States));
    let search = Search {
        limits: Limits {
            memory: Some(100_000),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    assert_eq!(on_several(&search, 3).end, End::Limit(Limit::Memory));
}

/// One process dies in the middle: all others end, and say who it was.
#[test]
fn who_dies_is_named() {
    let model = counters(6, 9);
    let search = Search::new(&model);
    let errors = spread(3, |engine| {
        let mut exploration = engine.begin(&search).expect("everything fits");
        exploration.explore(Some(1000));
        if !std::thread::current().name().unwrap_or_default().is_empty() {
            // The leader, which runs in the thread of the test.
            exploration.explore(None);
            return exploration
                .finish()
                .map(|_| ())
                .map_err(|error| error.to_string());
        }
        Ok(())
    });
    let error = errors[0].as_ref().expect_err("the others have left");
    assert!(
        error.contains("worker") && error.contains("is lost"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let model = counters(2, 2);
    spread(1, |engine| {
        let depth_first = Search {
            order: Order::DepthFirst,
            ..Search::new(&model)
        };
        assert!(engine.takes(&depth_first).is_err());
        let threads = Search {
            threads: 2,
            ..Search::new(&model)
        };
        assert!(engine.takes(&threads).is_err());
    });
}
