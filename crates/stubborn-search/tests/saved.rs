//! A search that is written down at any moment and taken up again ends as one that was never
//! stopped: the same counts, the same verdict, the same way. What was written and then damaged
//! breaks nothing.

use crate::common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::graph::Graph;
use common::models::philosophers;
use common::{random, run};
use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso, TerminalComponents};
use stubborn_search::{
    End, Limit, Limits, Order, ResumeError, Search, SearchResult, Sink, Source, Stop, StoreKind,
    StoreOptions, Target,
};
use stubborn_system::{Random, Successors, System};

fn source<R>(bytes: &[u8], read: impl FnOnce(&mut Source<'_>) -> R) -> R {
    let (mut input, most) = (bytes, bytes.len() as u64);
    read(&mut Source::new(&mut input, most))
}

/// Runs a search in goes, each from what the one before has written; on other numbers of threads,
/// if it has several. Says how often it was written.
fn in_goes(search: &Search<'_>, random: &mut Random, step: usize) -> (SearchResult, usize) {
    let pause = AtomicBool::new(false);
    let mut bytes: Option<Vec<u8>> = None;
    let mut most = random.below(step) as u64;
    let mut goes = 0;
    loop {
        let search = Search {
            threads: match search.threads {
                1 => 1,
                _ => 1 + random.below(4),
            },
            limits: Limits {
                pause: Some(&pause),
                ..search.limits
            },
            ..search.clone()
        };
        // One in four stops at the first look, wherever that is.
        let stops_at_once = random.one_in(4);
        pause.store(stops_at_once, Ordering::Relaxed);
        let mut exploration = match &bytes {
            None => search.begin().expect("everything fits"),
            Some(bytes) => source(bytes, |source| search.resume(source)).expect("just written"),
        };
        exploration.explore(Some(most));
        if !exploration.is_waiting() && !exploration.is_paused() {
            return (exploration.finish().expect("traces replay"), goes);
        }
        assert!(stops_at_once || !exploration.is_paused());
        let mut written = Vec::new();
        let saved = exploration.save(&mut Sink::new(&mut written));
        saved.expect("memory takes everything");
        bytes = Some(written);
        if !stops_at_once {
            most += 1 + random.below(step) as u64;
        }
        goes += 1;
    }
}

/// What a search has learnt, written and read.
fn recalled(search: &Search<'_>, result: &SearchResult) -> SearchResult {
    let mut bytes = Vec::new();
    let saved = search.save_result(result, &mut Sink::new(&mut bytes));
    saved.expect("memory takes everything");
    source(&bytes, |source| search.recall(source)).expect("just written")
}

/// Everything that must be the same on one thread.
fn assert_same(once: &SearchResult, goes: &SearchResult, what: &str) {
    let numbers = |r: &SearchResult| {
        let sizes = r.level_sizes.clone();
        let counts = (r.states, r.transitions, r.deadlocks, r.invalid_ends);
        (counts, r.depth, r.bfs_levels, sizes, r.expanded_by_proviso)
    };
    assert_eq!(numbers(once), numbers(goes), "{what}");
    assert_eq!(once.end, goes.end, "{what}");
    assert_eq!(
        (&once.fired, &once.failed),
        (&goes.fired, &goes.failed),
        "{what}"
    );
    let violations = |r: &SearchResult| {
        let all = r.violations.iter();
        let all = all.map(|v| {
            (
                v.target,
                v.count,
                v.length,
                v.state.clone(),
                v.step,
                v.trace.clone(),
            )
        });
        format!("{:?}", all.collect::<Vec<_>>())
    };
    assert_eq!(violations(once), violations(goes), "{what}");
}

fn stores() -> Vec<StoreOptions> {
    let mut all = common::exact_stores();
    all.extend(common::roomy_lossy_stores());
    all
}

fn targets(system: &dyn System) -> Vec<Target> {
    let structure = system.structure();
    let mut targets = vec![Target::Deadlock];
    if structure.error_state.is_some() {
        targets.push(Target::Errors);
    }
    targets
}

#[test]
fn random_programs_end_as_if_nobody_had_stopped_them() {
    let random = &mut Random::new(5);
    let mut goes = 0;
    for seed in 0..60 {
        let model = random::program(seed);
        for order in [Order::BreadthFirst, Order::DepthFirst] {
            let store = random.pick(&stores()).clone();
            let search = Search {
                order,
                store,
                targets: targets(&model),
                stop: *random.pick(&[Stop::Never, Stop::FirstViolation, Stop::AllViolated]),
                seed: random.percent(30).then_some(seed),
                ..Search::new(&model)
            };
            let (result, times) = in_goes(&search, random, 150);
            let (once, what) = (run(&search), format!("program {seed}, {search:?}"));
            assert_same(&once, &result, &what);
            assert_same(&once, &recalled(&search, &result), &what);
            goes += times;
        }
    }
    assert!(goes > 200, "{goes}");
}

#[test]
fn depth_first_the_first_violation_stays_the_one_that_is_shown() {
    // A long way to a deadlock, a long one to nothing, and then a short one to another deadlock.
    const LONG: u32 = 200;
    let last = 2 * LONG + 1;
    let mut edges = vec![vec![1, LONG + 1, last]];
    edges.extend((1..last).map(|node| match node {
        LONG => vec![],
        node => vec![(node + 1).min(last - 1)],
    }));
    edges.push(vec![]);
    let graph = Graph::new(edges, vec![vec![true; 3]; last as usize + 1]);
    for store in stores() {
        let search = Search {
            order: Order::DepthFirst,
            targets: vec![Target::Deadlock],
            store,
            ..Search::new(&graph)
        };
        let once = run(&search);
        assert_eq!(
            (once.violations[0].count, once.violations[0].length),
            (2, LONG.into())
        );
        let (result, times) = in_goes(&search, &mut Random::new(1), 100);
        assert!(times > 3);
        assert_same(&once, &result, &format!("{search:?}"));
    }
}

#[test]
fn on_several_threads_nothing_is_missing() {
    let random = &mut Random::new(7);
    let model = philosophers(7);
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for store in stores() {
            let search = Search {
                order,
                store,
                threads: 3,
                targets: vec![Target::Deadlock],
                ..Search::new(&model)
            };
            let once = run(&search);
            let (result, times) = in_goes(&search, random, 700);
            assert!(times > 1);
            assert!(result.violations[0].trace.is_some());
            if search.store.kind == StoreKind::Bitstate {
                // Two threads that insert a state at once may both take it for new.
                let alone = run(&Search {
                    threads: 1,
                    ..search
                });
                let ends = [once.end, result.end, alone.end];
                assert_eq!(ends, [End::Lossy; 3]);
                assert!(once.states.min(result.states) >= alone.states);
                continue;
            }
            let counts = |r: &SearchResult| (r.states, r.transitions, r.deadlocks, r.end);
            assert_eq!(counts(&once), counts(&result), "{search:?}");
            let length = |r: &SearchResult| r.violations[0].length;
            if order == Order::BreadthFirst {
                assert_eq!(length(&once), length(&result), "{search:?}");
                assert_eq!(once.level_sizes, result.level_sizes, "{search:?}");
            }
        }
    }
}

#[test]
fn provisos_go_on_where_they_were() {
    let random = &mut Random::new(8);
    let cases: [(&dyn SafetyProviso, Order); 4] = [
        (&ClosedSet, Order::BreadthFirst),
        (&ClosedSet, Order::DepthFirst),
        (&OnStack, Order::DepthFirst),
        (&TerminalComponents, Order::BreadthFirst),
    ];
    let (mut goes, mut expanded) = (0, 0);
    for seed in 0..60 {
        let graph = Graph::random(seed, 600);
        for (proviso, order) in cases {
            let search = Search {
                reduction: Some(&graph),
                proviso: Some(proviso),
                order,
                store: random.pick(&common::exact_stores()).clone(),
                targets: vec![Target::Deadlock],
                ..Search::new(&graph)
            };
            let once = run(&search);
            let (result, times) = in_goes(&search, random, 120);
            assert_same(&once, &result, &format!("graph {seed}, {search:?}"));
            goes += times;
            expanded += once.expanded_by_proviso;
        }
    }
    assert!(goes > 300 && expanded > 300, "{goes} {expanded}");
}

#[test]
fn only_a_search_that_waits_is_written() {
    let model = philosophers(5);
    let pause = AtomicBool::new(true);
    let mut search = Search {
        limits: Limits {
            pause: Some(&pause),
            ..Limits::default()
        },
        ..Search::new(&model)
    };
    let mut bytes = Vec::new();
    let mut exploration = search.begin().expect("everything fits");
    assert!(
        exploration.save(&mut Sink::new(&mut bytes)).is_err(),
        "it has not begun"
    );
    exploration.explore(None);
    assert!(exploration.is_paused());
    exploration
        .save(&mut Sink::new(&mut bytes))
        .expect("it waits");
    // Whoever ends it here has been interrupted, not found something.
    let result = exploration.finish().expect("nothing to replay");
    assert_eq!(result.end, End::Limit(Limit::Interrupted));

    pause.store(false, Ordering::Relaxed);
    let mut exploration = source(&bytes, |source| search.resume(source)).expect("it fits");
    exploration.explore(None);
    assert!(
        exploration.save(&mut Sink::new(&mut Vec::new())).is_err(),
        "it has ended"
    );
    assert_eq!(
        exploration.finish().expect("nothing to replay").end,
        End::Complete
    );

    // Another search is refused, with the difference in words.
    search.order = Order::DepthFirst;
    let foreign = source(&bytes, |source| search.resume(source).map(|_| ()));
    assert!(
        matches!(foreign, Err(ResumeError::Foreign(_))),
        "{foreign:?}"
    );
    // So is one that has not enough memory, which is no damage.
    search.order = Order::BreadthFirst;
    search.limits.memory = Some(64);
    let refused = source(&bytes, |source| search.resume(source).map(|_| ()));
    let Err(ResumeError::Read(error)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
}

/// Checksums are somebody else's: without them, a search may be another one, but nothing breaks.
#[test]
fn changed_bytes_break_nothing() {
    let random = &mut Random::new(9);
    let graph = (0..).map(|seed| Graph::random(seed, 900));
    let graph = graph
        .into_iter()
        .find(|graph| run(&Search::new(graph)).states > 500);
    let graph = graph.expect("some are large");
    let mut refused = 0;
    for round in 0..900 {
        let (proviso, order): (&dyn SafetyProviso, _) = match round % 3 {
            0 => (&TerminalComponents, Order::BreadthFirst),
            1 => (&OnStack, Order::DepthFirst),
            _ => (&ClosedSet, Order::BreadthFirst),
        };
        let search = Search {
            reduction: Some(&graph),
            proviso: Some(proviso),
            order,
            store: StoreOptions::new(StoreKind::Plain),
            targets: vec![Target::Deadlock],
            limits: Limits {
                memory: Some(64 << 20),
                ..Limits::default()
            },
            ..Search::new(&graph)
        };
        let mut exploration = search.begin().expect("everything fits");
        exploration.explore(Some(50));
        let mut bytes = Vec::new();
        let saved = exploration.save(&mut Sink::new(&mut bytes));
        saved.expect("it waits");
        // The states themselves are left alone: whoever changes them makes another model.
        let states = exploration.finish().expect("nothing to replay").states as usize;
        let first = 8 + 8 + format!("{search:?}").len() + 4 * states;
        let at = first + random.below(bytes.len() - first);
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            _ => {
                let number = *random.pick(&[0, 1, 1 << 31, u64::MAX]);
                let at = at.min(bytes.len() - 8) / 8 * 8;
                bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
        }
        match source(&bytes, |source| search.resume(source)) {
            Err(_) => refused += 1,
            Ok(mut exploration) => {
                exploration.explore(Some(5_000));
                // A way that is none is noticed.
                let _ = exploration.finish();
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Three counters that are all in one half of the usual tree, and words that never change in the
/// other.
fn lopsided() -> Model {
    let mut program = Program::new("lopsided");
    for i in 0..6 {
        let most = if i % 2 == 0 { 31 } else { i32::MAX };
        let x = program.variable(Variable::integer(format!("x{i}"), i32::MIN / 2, most, 0));
        if i % 2 == 0 {
            let below = program.label(Expr::less(Expr::Var(x), Expr::Const(most)));
            let site = program.out_of_range_site("x", None);
            let next = Expr::plus(Expr::Var(x), Expr::Const(1));
            program.command(Command {
                name: format!("count x{i}"),
                guards: vec![below],
                body: vec![Statement::assign(x, next, site)],
                ..Command::default()
            });
        }
    }
    Model::new(program).expect("a well-formed program")
}

/// A search that is not small starts again with another tree: with the same counts, in
/// less memory, and that can be written down.
#[test]
fn a_large_search_starts_again_with_another_tree() {
    let model = lopsided();
    let all = |_: &[u32], _: &Successors| true;
    let usual = run(&Search {
        visitor: Some(&all),
        ..Search::new(&model)
    });
    assert_eq!(
        (usual.states, usual.transitions),
        (32 * 32 * 32, 3 * 31 * 32 * 32)
    );
    for threads in [1, 3] {
        let search = Search {
            threads,
            ..Search::new(&model)
        };
        let mut exploration = search.begin().expect("everything fits");
        exploration.explore(Some(20_000));
        assert!(exploration.is_waiting());
        let mut written = Vec::new();
        let saved = exploration.save(&mut Sink::new(&mut written));
        saved.expect("memory takes everything");
        let mut exploration = source(&written, |s| search.resume(s)).expect("just written");
        exploration.explore(None);
        let resumed = exploration.finish().expect("there is no trace");
        for result in [run(&search), resumed] {
            let counts = |r: &SearchResult| (r.states, r.transitions, r.deadlocks, r.depth);
            assert_eq!(counts(&result), counts(&usual));
            assert_eq!(result.level_sizes, usual.level_sizes);
            let bytes = [result.memory.store, usual.memory.store];
            // Threads have ids in reserve, for which small tables grow.
            let reserves = (threads - 1) * 16_384;
            assert!(bytes[0] < bytes[1] / 2 + reserves, "{threads} {bytes:?}");
        }
    }
}
