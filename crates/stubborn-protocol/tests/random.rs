//! Random protocols: reduced checks say what unreduced ones say, and relations survive attempts to
//! refute them.

use crate::common;

use std::collections::BTreeSet;

use common::{compare, validate_all};
use stubborn_dpor::{Seen, explore, traces};
use stubborn_protocol::{Model, Network, Protocol, Reduction, Stateless};
use stubborn_reduce::experiments::measured::{Dependency, Precedence, measure};
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::{
    Aim, Algorithm, Config, Goals, NeededProviso, Plan, StubbornReduction, validate,
};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso, TerminalComponents};
use stubborn_search::{Order, Search, StoreKind, StoreOptions, Target};
use stubborn_system::{LabelId, Random, RelationLevel, Successors, System};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Ask(u8),
    Tell(u8),
}

fn message(kind: usize, value: u8) -> Message {
    if kind == 0 {
        Message::Ask(value)
    } else {
        Message::Tell(value)
    }
}

const KINDS: [&str; 2] = ["Ask", "Tell"];

/// A few processes that count, send and wait for each other in random ways.
fn protocol(seed: u64) -> Model<Message> {
    let mut random = Random::new(seed);
    let mut p = Protocol::new(format!("random {seed}"));
    let networks = [Network::Unordered, Network::Duplicating, Network::Ordered];
    p.network(networks[random.below(3)]);
    if random.percent(15) {
        p.lossy();
    }
    if random.percent(50) {
        p.split_quorums();
    }
    let count = 2 + random.below(2);
    let all = p.processes("P", count, 0_u8);
    if random.percent(25) {
        match random.percent(50) {
            true => p.may_crash(&all[..2], 1),
            false => p.may_be_down(&all[..2], 1),
        }
        if random.percent(50) {
            p.recovers(all[0], |_| 0);
        }
    }
    for process in &all {
        for _ in 0..1 + random.below(3) {
            let (needs, next) = (random.below(3) as u8, random.below(3) as u8);
            let adds = random.percent(40);
            let kind = random.below(2);
            let (out, value) = (random.below(2), random.below(2) as u8);
            let sends = random.percent(70);
            let to = all[random.below(count)];
            let twice = random.percent(20);
            let effect = move |state: &mut u8, step: &mut stubborn_protocol::Step<Message>| {
                let next = if twice {
                    (next + step.choose(2) as u8) % 3
                } else {
                    next
                };
                *state = if adds { (*state + next).min(2) } else { next };
                if sends {
                    step.send(to, message(out, value));
                }
            };
            let declared = random.percent(60);
            match random.below(4) {
                0 | 1 => {
                    // Actions only move forward, so that few protocols run for ever.
                    let action = p.action(*process, "acts").when(move |s| *s == needs.min(1));
                    let action = if declared && sends {
                        action.sends(KINDS[out], &[to])
                    } else {
                        action
                    };
                    action.then(move |s, step| {
                        effect(s, step);
                        *s = 2;
                    });
                }
                2 => {
                    let on = p.on(*process, KINDS[kind]);
                    let on = if random.percent(50) {
                        on.only_if(move |s| *s != needs)
                    } else {
                        on
                    };
                    let on = if declared && sends {
                        on.sends(KINDS[out], &[to])
                    } else {
                        on
                    };
                    on.when(move |s, m| m.message != message(kind, *s) || needs == 0)
                        .then(move |s, _, step| effect(s, step));
                }
                _ => {
                    let on = p.on_quorum(*process, KINDS[kind], 2);
                    on.only_if(move |s| *s != needs)
                        .then(move |s, _, step| effect(s, step));
                }
            }
        }
    }
    for _ in 0..random.below(3) {
        let from = all[random.below(count)];
        let to = all[random.below(count)];
        p.send_initially(from, to, message(random.below(2), random.below(2) as u8));
    }
    if random.percent(30) {
        p.record(0_u8)
            .on_delivery(&["Ask"], |seen, _| *seen = (*seen + 1).min(3))
            .on_send(&["Tell"], |seen, _| *seen = 0)
            .invariant("few", |seen| *seen < 2);
    }
    let (a, b) = (random.below(3) as u8, random.below(3) as u8);
    p.invariant_over(
        "never together",
        &all[..2],
        |s| *s,
        move |v| (v[0], v[1]) != (a, b),
    );
    let last = all[count - 1];
    // Who looks at everything sees every step; who does not ask for crashes does not see them.
    match random.percent(50) {
        true => p.invariant("last", move |view| {
            *view.state(last) != 1 || view.is_crashed(last)
        }),
        false => p.invariant_over("last", &[last], |s| *s == 1, |is| !is[0]),
    }
    p.build().expect("a model")
}

/// Processes that go round for ever: in each of its states a process has for each of its actions, and for
/// each message, a list of where that may lead, nowhere, to one state or to one of two.
fn circling(seed: u64) -> Model<Message> {
    let mut random = Random::new(seed);
    let mut p = Protocol::new(format!("circling {seed}"));
    let network = [
        Network::Unordered,
        Network::Duplicating,
        Network::Duplicating,
        Network::Ordered,
    ][random.below(4)];
    p.network(network);
    if random.percent(10) {
        p.lossy();
    }
    let (count, size) = ([1, 1, 2][random.below(3)], 3 + random.below(3));
    let all = p.processes("P", count, 0_u8);
    let table = |random: &mut Random| -> Vec<Vec<u8>> {
        // Many wait, and few come to where they must not.
        let outcome = |random: &mut Random, state: usize| match random.below(10) {
            0..4 => state as u8,
            4 => size as u8 - 1,
            _ => random.below(size - 1) as u8,
        };
        let row = |random: &mut Random, state| {
            let outcomes = [0, 1, 2, 2][random.below(4)];
            (0..outcomes).map(|_| outcome(random, state)).collect()
        };
        (0..size).map(|state| row(random, state)).collect()
    };
    let answer = |random: &mut Random| {
        // Where messages are not a set, there would be more and more of them.
        let sends = network == Network::Duplicating && random.percent(40) || random.percent(5);
        let to = all[random.below(count)];
        sends.then(|| (to, message(random.below(2), random.below(2) as u8)))
    };
    for process in &all {
        let takes = match network {
            Network::Duplicating => 1 + random.below(2),
            _ => random.below(3),
        };
        for at in 0..1 + random.below(if takes == 0 { 3 } else { 2 }) {
            let (table, sends) = (table(&mut random), answer(&mut random));
            let guard = table.clone();
            p.action(*process, ["t", "u", "v"][at])
                .when(move |s| !guard[usize::from(*s)].is_empty())
                .then(move |s, step| {
                    *s = step.pick(&table[usize::from(*s)]);
                    sends.into_iter().for_each(|(to, m)| step.send(to, m));
                });
        }
        for kind in KINDS.iter().take(takes) {
            let tables = [table(&mut random), table(&mut random)];
            let sends = answer(&mut random);
            let guard = tables.clone();
            let value = |m: &Message| match m {
                Message::Ask(value) | Message::Tell(value) => usize::from(*value),
            };
            p.on(*process, *kind)
                .when(move |s, m| !guard[value(&m.message)][usize::from(*s)].is_empty())
                .then(move |s, m, step| {
                    *s = step.pick(&tables[value(&m.message)][usize::from(*s)]);
                    sends.into_iter().for_each(|(to, m)| step.send(to, m));
                });
        }
    }
    let sent = match network {
        Network::Duplicating => 2 + random.below(4),
        _ => random.below(4),
    };
    for _ in 0..sent {
        let (from, to) = (all[random.below(count)], all[random.below(count)]);
        p.send_initially(from, to, message(random.below(2), random.below(2) as u8));
    }
    let last = size as u8 - 1;
    p.invariant_of_each("nobody is at the last", &all, move |s| *s != last);
    let first = all[0];
    p.invariant_over(
        "the first is elsewhere",
        &[first],
        move |s| *s + 1 == last,
        |is| !is[0],
    );
    p.build().expect("a model")
}

/// Every algorithm with every proviso, and with relations of different strength, finds the same violated
/// invariants as a plain search; so do sets of messages. Gives how many searches of algorithms had fewer
/// states, and whether anything was violated; `None` for a protocol that is not small.
fn compare_ways(seed: u64) -> Option<(usize, bool)> {
    const MOST: usize = 300;
    let model = circling(seed);
    let structure = model.structure();
    let labels: Vec<LabelId> = structure.properties.iter().map(|p| p.violated_by).collect();
    let goals: Vec<Vec<LabelId>> = labels.iter().map(|label| vec![*label]).collect();
    let full = validate::explore::explore(&model, None, NeededProviso::None, &goals, MOST);
    if !full.complete {
        return None;
    }
    let expected: Vec<bool> = full.distances.iter().map(Option::is_some).collect();
    let relations = match seed % 4 {
        0 => relations_over(&model, &full.states),
        1 => model.relations(RelationLevel::Syntax),
        2 => {
            let measured = measure(&model, Dependency::Full, Precedence::Full, MOST);
            measured
                .expect("a small model")
                .contexts
                .remove(0)
                .relations
        }
        _ => model.relations(RelationLevel::Reach),
    };
    let mut ways: Vec<(&dyn SafetyProviso, Order, usize)> = vec![
        (&TerminalComponents, Order::BreadthFirst, 1),
        (&ClosedSet, Order::BreadthFirst, 1),
        (&ClosedSet, Order::DepthFirst, 1),
        (&OnStack, Order::DepthFirst, 1),
    ];
    if seed.is_multiple_of(50) {
        ways.push((&TerminalComponents, Order::BreadthFirst, 2));
        ways.push((&ClosedSet, Order::DepthFirst, 2));
    }
    // What several invariants make visible leaves less to one of them.
    let wanted = [&labels[..], &labels[..1], &labels[1..]][(seed / 4 % 3) as usize];
    let mut reduced = 0;
    for (at, algorithm) in (seed..).zip(Algorithm::ALL) {
        let aim = match at % 3 == 0 && *algorithm != Algorithm::Goal {
            true => Aim::Traces {
                labels: wanted.to_vec(),
                infinite: false,
            },
            false => Aim::Goals(Goals::labels(wanted.iter().copied())),
        };
        let plan = Plan::new(&Config::new(*algorithm), aim).expect("a plan");
        let reduction =
            StubbornReduction::new(&model, &relations, plan.clone()).expect("a reduction");
        for (proviso, order, threads) in &ways {
            let search = Search {
                reduction: Some(&reduction),
                proviso: (plan.proviso == NeededProviso::Safety).then_some(*proviso),
                order: *order,
                threads: *threads,
                store: StoreOptions::new(StoreKind::Plain),
                targets: wanted.iter().map(|l| Target::Label(*l)).collect(),
                ..Search::new(&model)
            };
            let result = search.run().expect("a search");
            reduced += usize::from((result.states as usize) < full.states.len());
            for (label, is_violated) in labels.iter().zip(&expected) {
                if wanted.contains(label) {
                    let found = result.violation(Target::Label(*label)).is_some();
                    let (settings, proviso) = (&plan.settings, proviso.name());
                    let what = format!("seed {seed}: {settings}, {:?}, {proviso}", plan.aim);
                    assert_eq!(found, *is_violated, "{what}, {order:?}");
                }
            }
        }
    }
    let names = structure.properties.iter().map(|p| p.name.clone());
    let mut expected_names: Vec<String> = names
        .zip(&expected)
        .filter(|(_, v)| **v)
        .map(|(n, _)| n)
        .collect();
    expected_names.sort();
    let mut reductions = vec![Reduction::Messages];
    reductions.extend([false, true].map(|net| Reduction::Printed { net }));
    for reduction in reductions {
        let check = model.check().all_violations().reduction(reduction.clone());
        for check in [check.clone(), check.depth_first()] {
            let report = check.run().expect("a report");
            let mut found: Vec<_> = report.failures.iter().map(|f| f.property.clone()).collect();
            found.sort();
            assert_eq!(found, expected_names, "seed {seed}: {reduction:?}");
        }
    }
    Some((reduced, expected.contains(&true)))
}

fn ways_agree(seeds: std::ops::Range<u64>) {
    let (mut checked, mut reduced, mut violated) = (0_u64, 0, 0_u64);
    for seed in seeds {
        if let Some((fewer, found)) = compare_ways(seed) {
            checked += 1;
            reduced += fewer;
            violated += u64::from(found);
        }
    }
    eprintln!("{checked} checked, {reduced} searches reduced, {violated} violated");
    assert!(checked > 0 && reduced > 0 && 0 < violated && violated < checked);
}

#[test]
fn steps_with_several_outcomes_lose_nothing() {
    ways_agree(0..300);
}

/// `STUBBORN_SYSTEMS=1000000` says how many, `STUBBORN_FIRST` from which seed on.
#[test]
#[ignore = "long: a hundred thousand random protocols"]
fn steps_with_several_outcomes_lose_nothing_at_length() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    };
    let first = number("STUBBORN_FIRST", 1_000_000);
    ways_agree(first..first + number("STUBBORN_SYSTEMS", 100_000));
}

/// Ends of all executions.
fn ends(model: &Model<Message>) -> BTreeSet<Vec<u32>> {
    let mut executor = model.executor();
    let mut successors = Successors::new(model.layout().words());
    let (mut seen, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut open = vec![model.initial_states()];
    while let Some(state) = open.pop() {
        if seen.insert(state.clone()) {
            successors.clear();
            executor.successors(&state, &mut successors);
            open.extend(successors.iter().map(|s| s.state.to_vec()));
            if successors.is_empty() {
                ends.insert(state);
            }
        }
    }
    ends
}

/// Stateless searches of acyclic protocols see the same violations and ends, and optimal ones see
/// each trace once. True if there was something to see.
fn compare_stateless(model: &Model<Message>) -> bool {
    let full = model.check().unreduced().all_violations();
    let full = full.run().expect("a report");
    let mut violated: Vec<_> = full.failures.iter().map(|f| f.property.clone()).collect();
    violated.sort();
    let all = [Stateless::All, Stateless::Local].map(|how| model.stateless(how));
    let dynamic = [Stateless::Dynamic, Stateless::Source, Stateless::Optimal];
    let dynamic = dynamic.map(|how| model.stateless(how));
    let guided = dynamic.map(|search| search.in_local_sets());
    for search in all.into_iter().chain(dynamic).chain(guided) {
        if let Ok(report) = search.most_visits(20_000).run()
            && report.complete
        {
            assert_eq!(report.violated, violated, "{search:?}");
        }
    }
    let is_acyclic = model.stateless(Stateless::All).most_visits(20_000).run();
    let Ok(mut program) = model.as_program(false) else {
        return false;
    };
    if !is_acyclic.is_ok_and(|r| r.complete && r.violated.is_empty()) {
        return false;
    }
    let Some(traces) = traces::count(&mut program, 3_000) else {
        return false;
    };
    let ends = ends(model);
    for guided in [false, true] {
        let mut program = model.as_program(guided).expect("as before");
        for algorithm in [
            stubborn_dpor::Algorithm::Optimal,
            stubborn_dpor::Algorithm::Source,
        ] {
            let mut found = BTreeSet::new();
            let counts = explore(&mut program, algorithm, &mut |seen| {
                if let Seen::End(state) = seen {
                    found.insert(state.words().to_vec());
                }
                true
            });
            let counts = counts.expect("no cycles");
            assert_eq!(counts.executions, traces, "{algorithm:?}");
            assert_eq!(found, ends, "{algorithm:?}");
            if algorithm == stubborn_dpor::Algorithm::Optimal {
                assert_eq!(counts.given_up, 0);
            }
        }
    }
    traces > 1
}

/// Some have infinitely many messages.
fn is_small(model: &Model<Message>) -> bool {
    let limits = stubborn_search::Limits {
        states: Some(400),
        ..Default::default()
    };
    let search = stubborn_search::Search {
        limits,
        ..stubborn_search::Search::new(model)
    };
    search.run().expect("a search").is_complete()
}

fn run(seeds: std::ops::Range<u64>) {
    let (mut checked, mut reduced, mut traced) = (0, 0, 0);
    for seed in seeds {
        let model = protocol(seed);
        if !is_small(&model) {
            continue;
        }
        eprintln!("seed {seed}");
        validate_all(&model);
        let counts = compare(&model);
        traced += usize::from(compare_stateless(&model));
        checked += 1;
        reduced += usize::from(counts.iter().any(|(_, states)| *states < counts[0].1));
    }
    eprintln!("{checked} checked, {reduced} reduced, {traced} traced");
    assert!(checked > 0 && reduced > 0 && traced > 0);
}

/// Sets of messages, and states without useless ones, leave all verdicts as they are.
fn messages_agree(seeds: std::ops::Range<u64>, most_states: u64) {
    use stubborn_protocol::Limits;

    let (mut checked, mut reduced, mut violated) = (0, 0, 0);
    for seed in seeds {
        let model = protocol(seed);
        let limits = Limits {
            states: Some(most_states),
            ..Limits::default()
        };
        for ends in [false, true] {
            let check = || {
                let check = model.check().all_violations();
                if ends { check.ends_too() } else { check }
            };
            let full = check().unreduced().limits(limits).run().expect("a report");
            let all = |r: &stubborn_protocol::Report| -> Vec<String> {
                r.failures.iter().map(|f| f.property.clone()).collect()
            };
            if !full.complete {
                break;
            }
            let forward = check().reduction(Reduction::Messages);
            // A search that has found everything ends early; there may be no end of what it has not
            // seen, and depth-first search may get lost in it. What lies near is found by the others.
            let is_over = |r: &stubborn_protocol::Report| r.searches[0].1.is_complete();
            for (check, gets_lost) in [
                (forward.clone(), false),
                (forward.clone().depth_first(), true),
                (forward.threads(2), false),
            ] {
                let more = Limits {
                    states: Some(10 * most_states),
                    ..limits
                };
                let check = match is_over(&full) {
                    true => check,
                    false => check.limits(more),
                };
                let found = check.run().expect("a report");
                if !is_over(&full) && !found.complete && gets_lost {
                    let is_true = |name: &String| all(&full).contains(name);
                    assert!(all(&found).iter().all(is_true), "seed {seed}");
                    continue;
                }
                assert_eq!(all(&found), all(&full), "seed {seed}, ends: {ends}");
                assert!(found.complete, "seed {seed}");
                let shown = |f: &stubborn_protocol::Failure| f.chart.is_some();
                assert!(found.failures.iter().all(shown), "seed {seed}");
                let states = |r: &stubborn_protocol::Report| r.searches[0].1.states;
                if is_over(&full) && is_over(&found) {
                    assert!(states(&found) <= states(&full), "seed {seed}");
                    reduced += usize::from(states(&found) < states(&full));
                }
            }
            checked += 1;
            violated += usize::from(!full.failures.is_empty());
        }
    }
    eprintln!("{checked} checked, {reduced} reduced, {violated} violated");
    assert!(checked > 50 && reduced > 20 && violated > 20 && violated < checked);
}

#[test]
fn sets_of_messages_agree() {
    messages_agree(10_000..10_300, 2_000);
}

/// `STUBBORN_SEEDS=24000..25000` looks at others, or at a part.
#[test]
#[ignore = "long: several thousand random protocols"]
fn sets_of_messages_agree_at_length() {
    let seeds = std::env::var("STUBBORN_SEEDS").ok();
    let seeds = seeds.as_deref().unwrap_or("20000..23000");
    let (first, end) = seeds.split_once("..").expect("a range");
    let number = |text: &str| text.parse().expect("a number");
    messages_agree(number(first)..number(end), 5_000);
}

/// Many more, without the slow checks of relations.
#[test]
fn dynamic_reduction_sees_every_trace_once() {
    let mut traced = 0;
    for seed in 5_000..6_000 {
        let model = protocol(seed);
        if is_small(&model) {
            traced += usize::from(compare_stateless(&model));
        }
    }
    eprintln!("{traced} traced");
    assert!(traced > 20);
}

#[test]
fn reduced_and_unreduced_checks_agree() {
    run(0..60);
    run(280..300);
}

#[test]
#[ignore = "long: many more random protocols"]
fn reduced_and_unreduced_checks_agree_at_length() {
    run(1_000..4_000);
}
