//! The structural reductions against the unreduced net: the same answer to the deadlock
//! question, and runs to a deadlock that are runs of the original.

use crate::common;

use std::collections::{BTreeSet, HashMap, HashSet};

use common::{corpus, expected, explore_system, instances, is_enabled, load_instance, random_net};
use stubborn_net::{Net, NetSystem, PlaceId, Preserve, Reduced, ReductionRules, TransitionId};
use stubborn_pnml::{Question, read_properties};
use stubborn_system::{Random, System};

/// A shortest run to a deadlock: `Ok(None)` if there is none, `Err` if the net is too large.
fn deadlock(net: &Net, limit: usize) -> Result<Option<Vec<TransitionId>>, ()> {
    let initial: Box<[u64]> = net.initial_marking().into();
    let mut from: HashMap<Box<[u64]>, Option<(usize, TransitionId)>> = HashMap::new();
    from.insert(initial.clone(), None);
    let mut queue = vec![initial];
    let mut next = 0;
    while next < queue.len() {
        let marking = queue[next].clone();
        let mut dead = true;
        for t in net.transitions() {
            if !is_enabled(net, t, &marking) {
                continue;
            }
            dead = false;
            let mut target = marking.clone();
            for (place, change) in net.effects(t) {
                target[place.index()] = target[place.index()].checked_add_signed(change).unwrap();
            }
            if !from.contains_key(&target) {
                if from.len() >= limit {
                    return Err(());
                }
                from.insert(target.clone(), Some((next, t)));
                queue.push(target);
            }
        }
        if dead {
            let mut run = Vec::new();
            let mut at = marking;
            while let Some((before, t)) = from[&at] {
                run.push(t);
                at = queue[before].clone();
            }
            run.reverse();
            return Ok(Some(run));
        }
        next += 1;
    }
    Ok(None)
}

fn is_dead_after(net: &Net, run: &[TransitionId]) -> bool {
    let mut marking = net.initial_marking().to_vec();
    for t in run {
        assert!(is_enabled(net, *t, &marking), "the run cannot be replayed");
        for (place, change) in net.effects(*t) {
            marking[place.index()] = marking[place.index()].checked_add_signed(change).unwrap();
        }
    }
    !net.transitions().any(|t| is_enabled(net, t, &marking))
}

/// All rules, and each alone.
fn choices() -> Vec<ReductionRules> {
    let none = ReductionRules::NONE;
    vec![
        ReductionRules::ALL,
        ReductionRules {
            dead_transitions: true,
            ..none
        },
        ReductionRules {
            redundant_transitions: true,
            ..none
        },
        ReductionRules {
            redundant_places: true,
            ..none
        },
        ReductionRules {
            post_agglomeration: true,
            ..none
        },
        ReductionRules {
            pre_agglomeration: true,
            ..none
        },
        ReductionRules {
            pre_agglomeration: true,
            post_agglomeration: true,
            ..none
        },
        ReductionRules {
            irrelevant_transitions: true,
            ..none
        },
        ReductionRules {
            shared_places: true,
            ..none
        },
        ReductionRules::WITHOUT_RUNS,
    ]
}

#[test]
fn random_nets_keep_their_deadlocks() {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    let (mut with, mut without, mut smaller) = (0, 0, 0);
    for number in 0..6_000 {
        let net = random_net(&mut random);
        let Ok(expected) = deadlock(&net, 300) else {
            continue;
        };
        for rules in choices() {
            let reduced = Reduced::new(&net, &Preserve::Deadlocks, rules);
            smaller += usize::from(reduced.net.place_count() < net.place_count());
            let found = deadlock(&reduced.net, 300);
            let Ok(found) = found else { continue };
            assert_eq!(
                found.is_some(),
                expected.is_some(),
                "net {number}, {rules:?}"
            );
            if let Some(run) = found.filter(|_| !rules.shared_places) {
                let run = reduced.original_run(&net, &run).expect("a short run");
                assert!(is_dead_after(&net, &run), "net {number}, {rules:?}");
            }
        }
        if expected.is_some() {
            with += 1
        } else {
            without += 1
        }
    }
    assert!(
        with > 300 && without > 300 && smaller > 500,
        "{with} {without} {smaller}"
    );
}

fn check_corpus(limit: usize, choices: &[ReductionRules]) {
    let Some(corpus) = corpus() else { return };
    let states = expected(&corpus, "StateSpace");
    let answers = expected(&corpus, "ReachabilityDeadlock");
    for instance in instances(&corpus) {
        let size = states.get(&(instance.clone(), "STATES".to_owned()));
        let Some(size) = size.and_then(|v| v.parse::<usize>().ok()) else {
            continue;
        };
        if size > limit {
            continue;
        }
        let net = load_instance(&corpus, &instance).net;
        let answer = answers.get(&(instance.clone(), "ReachabilityDeadlock".to_owned()));
        for rules in choices {
            let reduced = Reduced::new(&net, &Preserve::Deadlocks, *rules);
            let found = deadlock(&reduced.net, limit + 1);
            let found = found.unwrap_or_else(|()| panic!("{instance} grew, {rules:?}"));
            let text = if found.is_some() { "TRUE" } else { "FALSE" };
            assert_eq!(
                Some(text),
                answer.map(String::as_str),
                "{instance} {rules:?}"
            );
            if let Some(run) = found.filter(|_| !rules.shared_places) {
                let run = reduced.original_run(&net, &run).expect("a short run");
                assert!(is_dead_after(&net, &run), "{instance} {rules:?}");
            }
        }
    }
}

#[test]
fn small_nets_of_the_corpus_keep_their_deadlocks() {
    check_corpus(3_000, &choices());
}

#[test]
#[ignore = "long: explores reduced state spaces of larger nets"]
fn larger_nets_of_the_corpus_keep_their_deadlocks() {
    check_corpus(60_000, &[ReductionRules::ALL]);
}

/// A net from places with tokens, `a=1 b`, and transitions, `2a b -> c`.
fn net(places: &str, transitions: &[&str]) -> Net {
    let mut builder = stubborn_net::NetBuilder::new("small");
    let mut numbers: HashMap<&str, PlaceId> = HashMap::new();
    for place in places.split_whitespace() {
        let (name, tokens) = place.split_once('=').unwrap_or((place, "0"));
        numbers.insert(name, builder.place(name, tokens.parse().unwrap()));
    }
    for (number, text) in transitions.iter().enumerate() {
        let transition = builder.transition(&format!("t{number}"));
        let (pre, post) = text.split_once("->").unwrap();
        let arcs = |side: &str| -> Vec<(PlaceId, u32)> {
            let arc = |arc: &str| {
                let name = arc.trim_start_matches(|c: char| c.is_ascii_digit());
                let weight = arc[..arc.len() - name.len()].parse().unwrap_or(1);
                (numbers[name], weight)
            };
            side.split_whitespace().map(arc).collect()
        };
        for (place, weight) in arcs(pre) {
            builder.input(place, transition, weight);
        }
        for (place, weight) in arcs(post) {
            builder.output(transition, place, weight);
        }
    }
    builder.build().unwrap()
}

/// What is left of small nets: a rule that is never applied is right, too.
#[test]
fn each_rule_does_its_work() {
    let [dead, transitions, places, post, pre, irrelevant, shared] =
        [1, 2, 3, 4, 5, 7, 8].map(|n| choices()[n]);
    // Watched places; the net; the places and the number of transitions that are left for
    // deadlocks, markings, and runs.
    type Left<'l> = (&'l str, usize);
    let check = |rules: ReductionRules, watched: &str, original: &Net, left: [Left; 3]| {
        let is_watched = |place: &PlaceId| watched.contains(original.place_name(*place));
        let list: Vec<PlaceId> = original.places().filter(is_watched).collect();
        let kinds = [
            Preserve::Deadlocks,
            Preserve::Places(list.clone()),
            Preserve::Runs(list),
        ];
        for (kind, (places, transitions)) in kinds.into_iter().zip(left) {
            if !watched.is_empty() && kind == Preserve::Deadlocks {
                continue;
            }
            let reduced = Reduced::new(original, &kind, rules).net;
            let names: Vec<&str> = reduced.places().map(|p| reduced.place_name(p)).collect();
            let found = (names.join(" "), reduced.transition_count());
            assert_eq!(found, (places.to_owned(), transitions), "{kind:?}");
        }
    };
    let same = |left: Left<'static>| [left; 3];

    let two_of_four = net("a=1 b c d", &["a -> b", "c -> d", "d -> c", "b -> a"]);
    check(dead, "", &two_of_four, same(("a b c d", 2)));
    let one_input_is_missing = net("a=1 b c", &["a -> b", "b c -> a"]);
    check(dead, "", &one_input_is_missing, same(("a b c", 1)));
    let all_become_ready = net("a=1 b c", &["b c -> a", "b -> c", "a -> b"]);
    check(dead, "", &all_become_ready, same(("a b c", 3)));

    for text in [
        ["a c -> b c", "a -> b"],
        ["a -> b", "a c -> b c"],
        ["a -> b", "a -> b"],
        ["a -> b", "2a -> a b"],
    ] {
        check(
            transitions,
            "",
            &net("a=2 b c=1", &text),
            same(("a b c", 1)),
        );
    }
    let neither_needs_less = net("a=1 b c=1 d=1", &["a c -> b c", "a d -> b d"]);
    check(transitions, "", &neither_needs_less, same(("a b c d", 2)));
    let all = "a b";
    for (text, left) in [
        (["a -> b", "2a -> 2a"], [1, 1, 2]),
        (["2a -> 2a", "a -> b"], [1, 1, 2]),
        (["b -> a", "a b -> a b"], [1, 1, 2]),
        (["2a -> b", "a -> a"], [2, 1, 2]),
        (["a -> a", "2a -> 2a"], [1, 0, 1]),
        (["a -> a", "a -> a"], [1, 0, 1]),
    ] {
        check(
            transitions,
            "",
            &net("a=2 b=1", &text),
            left.map(|n| (all, n)),
        );
    }

    check(places, "", &net("a=1 b", &["a -> b"]), same(("a", 1)));
    check(places, "b", &net("a=1 b", &["a -> b"]), same(("a b", 1)));
    check(places, "", &net("a=1 c=2", &["a 2c -> 2c"]), same(("a", 1)));
    check(
        places,
        "",
        &net("a=1 c=1", &["a 2c -> 2c"]),
        same(("a c", 1)),
    );
    for (tokens, left) in [("a=1 b=3", "a"), ("a=1 b=1", "b"), ("a=2 b=2", "b")] {
        let multiples = net(tokens, &["a 2b -> ", "3a 6b -> a 2b", " -> 2a 4b"]);
        check(places, "", &multiples, same((left, 3)));
    }
    let no_multiples = net("a=1 b=3", &["a 2b -> ", " -> a b"]);
    check(places, "", &no_multiples, same(("a b", 2)));

    let circle = net("a=1 b c", &["a -> b", "b -> c", "2c -> a"]);
    check(post, "", &circle, same(("c", 1)));
    check(post, "c", &circle, same(("b c", 2)));
    let who_takes_the_token = net("a b=1 c d", &["a -> b", "b -> c", "b -> d", "c d -> a"]);
    check(post, "", &who_takes_the_token, same(("b c d", 3)));

    let too_much = net("a=1 b c", &["a -> b 4294967295c", "b -> c"]);
    check(post, "", &too_much, same(("a b c", 2)));

    let waits = net("a=1 b c=1", &["a -> b", "b c -> a c"]);
    check(pre, "", &waits, same(("a c", 1)));
    check(pre, "a", &waits, same(("a b c", 2)));
    let fires_for_ever = net("a c=1", &[" -> a", "a c -> c"]);
    check(pre, "", &fires_for_ever, same(("a c", 2)));
    let somebody_else_takes = net("a=1 b c=1", &["a -> b", "b c -> a c", "2a -> c"]);
    check(pre, "", &somebody_else_takes, same(("a b c", 3)));

    // What only takes away is no help, what gives back is none either; what gives is.
    let all = ("a b c", 4);
    let helps = net("a=2 b c", &["a -> b", "a -> ", "a c -> a", "c -> a"]);
    check(irrelevant, "b", &helps, [all, ("a b c", 2), all]);
    check(irrelevant, "c", &helps, [all, ("a b c", 2), all]);
    check(irrelevant, "a", &helps, [all, ("a b c", 3), all]);

    let ring = net(
        "a=1 b=1 c d",
        &["a -> b", "b -> c", "c -> a", "a 2b -> d", "b -> d"],
    );
    check(shared, "", &ring, same(("a d", 5)));
    check(shared, "c", &ring, same(("a b c d", 5)));
    let one_way = net("a=1 b c", &["a -> b", "b -> c", "2c -> a"]);
    check(shared, "", &one_way, same(("a b c", 3)));
}

/// Producers that waited for a consumer in vain are fired where the reduced net stops, each for
/// itself.
#[test]
fn what_was_delayed_is_fired_at_the_end() {
    let original = net("a=1 b=2 c d", &["a -> c", "2b -> c", "c d -> d"]);
    let reduced = Reduced::new(&original, &Preserve::Deadlocks, choices()[5]);
    assert_eq!(reduced.net.place_count(), 3);
    let run = reduced.original_run(&original, &[]).expect("a short run");
    assert_eq!(run.len(), 2);
    assert!(is_dead_after(&original, &run));
}

#[test]
fn chains_are_merged_into_single_steps() {
    let Some(corpus) = corpus() else { return };
    for (instance, most) in [
        ("IBMB2S565S3960-PT-none", 60),
        ("SmartHome-PT-08", 80),
        ("FlexibleBarrier-PT-04b", 120),
    ] {
        let net = load_instance(&corpus, instance).net;
        let reduced = Reduced::new(&net, &Preserve::Deadlocks, ReductionRules::ALL);
        let places = reduced.net.place_count();
        assert!(
            places <= most,
            "{instance}: {} to {places} places",
            net.place_count()
        );
    }
}

/// All reachable combinations of the markings of some places; `Err` if the net is too large.
fn projections(net: &Net, places: &[PlaceId], limit: usize) -> Result<BTreeSet<Vec<u64>>, ()> {
    let initial: Box<[u64]> = net.initial_marking().into();
    let mut seen: HashSet<Box<[u64]>> = [initial.clone()].into();
    let mut open = vec![initial];
    let mut found = BTreeSet::new();
    while let Some(marking) = open.pop() {
        found.insert(places.iter().map(|place| marking[place.index()]).collect());
        for t in net.transitions() {
            if !is_enabled(net, t, &marking) {
                continue;
            }
            let mut target = marking.clone();
            for (place, change) in net.effects(t) {
                target[place.index()] = target[place.index()].checked_add_signed(change).unwrap();
            }
            if seen.insert(target.clone()) {
                if seen.len() > limit {
                    return Err(());
                }
                open.push(target);
            }
        }
    }
    Ok(found)
}

#[test]
fn random_nets_keep_the_markings_of_watched_places() {
    let mut random = Random::new(0x0dd0_5eed_1234_0001);
    let (mut compared, mut smaller) = (0, 0);
    for number in 0..6_000 {
        let net = random_net(&mut random);
        let watched: Vec<PlaceId> = (0..1 + random.below(2))
            .map(|_| PlaceId(random.below(net.place_count()) as u32))
            .collect();
        let Ok(expected) = projections(&net, &watched, 300) else {
            continue;
        };
        for rules in choices() {
            let reduced = Reduced::new(&net, &Preserve::Places(watched.clone()), rules);
            let kept: Vec<PlaceId> = watched
                .iter()
                .map(|place| reduced.place(*place).unwrap())
                .collect();
            smaller += usize::from(reduced.net.place_count() < net.place_count());
            let Ok(found) = projections(&reduced.net, &kept, 300) else {
                continue;
            };
            assert_eq!(found, expected, "net {number}, {watched:?}, {rules:?}");
            compared += 1;
        }
    }
    assert!(compared > 10_000 && smaller > 2_000, "{compared} {smaller}");
}

#[test]
fn reachability_answers_survive_reduction() {
    let Some(corpus) = corpus() else { return };
    let states = expected(&corpus, "StateSpace");
    let (mut compared, mut smaller) = (0, 0);
    for file in ["ReachabilityCardinality", "ReachabilityFireability"] {
        let answers = expected(&corpus, file);
        for instance in instances(&corpus) {
            let size = states.get(&(instance.clone(), "STATES".to_owned()));
            let Some(size) = size.and_then(|v| v.parse::<usize>().ok()) else {
                continue;
            };
            let path = corpus.join(&instance).join(format!("{file}.xml"));
            if size > 1_100 || !path.is_file() {
                continue;
            }
            let model = load_instance(&corpus, &instance);
            for property in read_properties(&common::read(&path), &model).0 {
                let id = property.id.replace("-2023-", "-").replace("-2024-", "-");
                let id = id.replace("-2025-", "-");
                let (formula, found, not_found) = match &property.question {
                    Question::Reachable(formula) => (formula.clone(), "TRUE", "FALSE"),
                    Question::Invariant(formula) => (formula.clone().negated(), "FALSE", "TRUE"),
                    _ => continue,
                };
                let watched = formula.places(&model.net);
                let preserve = Preserve::Places(watched);
                let reduced = Reduced::new(&model.net, &preserve, ReductionRules::ALL);
                smaller += usize::from(reduced.net.place_count() < model.net.place_count());
                let formula = reduced.translate(&formula, &model.net).unwrap();
                let mut system = NetSystem::new(reduced.net).unwrap();
                let label = system.add_label(formula).unwrap();
                let mut executor = system.executor();
                let mut seen = false;
                explore_system(&system, size + 1, |state, _| {
                    seen |= executor.label(state, label)
                });
                let verdict = if seen { found } else { not_found };
                assert_eq!(
                    Some(verdict),
                    answers.get(&(instance.clone(), id)).map(String::as_str)
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 300 && smaller > 100, "{compared} {smaller}");
}

/// The sequences of visible markings of maximal runs, without repetition: all prefixes of up to
/// `length` changes, and how a run can go on after them without a visible change: for ever (or by
/// stopping), or not.
fn visible_runs(net: &Net, watched: &[PlaceId], length: usize) -> Option<BTreeSet<VisibleRun>> {
    let initial = net.initial_marking().to_vec();
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::from([(initial.clone(), 0)]);
    let (mut markings, mut edges) = (vec![initial], Vec::<Vec<usize>>::new());
    let mut next = 0;
    while next < markings.len() {
        let marking = markings[next].clone();
        let mut targets = Vec::new();
        for t in net.transitions() {
            if !is_enabled(net, t, &marking) {
                continue;
            }
            let mut target = marking.clone();
            for (place, change) in net.effects(t) {
                target[place.index()] = target[place.index()].checked_add_signed(change).unwrap();
            }
            let count = numbers.len();
            let number = *numbers.entry(target.clone()).or_insert(count);
            if number == count {
                if count >= 200 {
                    return None;
                }
                markings.push(target);
            }
            targets.push(number);
        }
        // A run that ends repeats its last marking for ever.
        if targets.is_empty() {
            targets.push(next);
        }
        edges.push(targets);
        next += 1;
    }
    let seen = |state: usize| -> Vec<u64> {
        let tokens = watched.iter().map(|p| markings[state][p.index()]);
        tokens.collect()
    };
    let looks: Vec<Vec<u64>> = (0..markings.len()).map(seen).collect();
    // Where one can go on for ever without a visible change.
    let mut quiet: BTreeSet<usize> = (0..markings.len()).collect();
    loop {
        let goes_on = |s: &usize| {
            let mut targets = edges[*s].iter();
            targets.any(|t| quiet.contains(t) && looks[*t] == looks[*s])
        };
        let left: BTreeSet<usize> = quiet.iter().copied().filter(goes_on).collect();
        if left == quiet {
            break;
        }
        quiet = left;
    }
    // Sets of states that share a visible past.
    let mut open: Vec<(Vec<Vec<u64>>, BTreeSet<usize>)> =
        vec![(vec![looks[0].clone()], BTreeSet::from([0]))];
    let mut runs = BTreeSet::new();
    while let Some((past, mut states)) = open.pop() {
        let mut list: Vec<usize> = states.iter().copied().collect();
        let mut changes: HashMap<Vec<u64>, BTreeSet<usize>> = HashMap::new();
        while let Some(state) = list.pop() {
            for target in &edges[state] {
                if looks[*target] != looks[state] {
                    let group = changes.entry(looks[*target].clone()).or_default();
                    group.insert(*target);
                } else if states.insert(*target) {
                    list.push(*target);
                }
            }
        }
        runs.insert((past.clone(), states.iter().any(|s| quiet.contains(s))));
        if runs.len() > 3_000 {
            return None;
        }
        if past.len() <= length {
            for (look, group) in changes {
                let mut longer = past.clone();
                longer.push(look);
                open.push((longer, group));
            }
        }
    }
    Some(runs)
}

/// Visible markings in order, and whether the last one may stay for ever.
type VisibleRun = (Vec<Vec<u64>>, bool);

#[test]
fn random_nets_keep_their_visible_runs() {
    let mut random = Random::new(0x0dd0_5eed_1234_4321);
    let (mut compared, mut smaller) = (0, 0);
    for number in 0..8_000 {
        let net = random_net(&mut random);
        let count = net.place_count();
        let mut watched: Vec<PlaceId> = (0..1 + random.below(2))
            .map(|_| PlaceId(random.below(count) as u32))
            .collect();
        watched.sort_unstable();
        watched.dedup();
        let Some(expected) = visible_runs(&net, &watched, 5) else {
            continue;
        };
        for rules in choices() {
            let reduced = Reduced::new(&net, &Preserve::Runs(watched.clone()), rules);
            let places: Vec<PlaceId> = watched.iter().map(|p| reduced.place(*p).unwrap()).collect();
            let Some(found) = visible_runs(&reduced.net, &places, 5) else {
                continue;
            };
            assert_eq!(found, expected, "net {number}, {rules:?}");
            compared += 1;
            smaller += usize::from(reduced.net.place_count() < count);
        }
    }
    assert!(compared > 10_000 && smaller > 3_000, "{compared} {smaller}");
}

#[test]
fn traps_never_deny_a_deadlock() {
    let mut random = Random::new(0x5157_0b0b_0a0d_0001);
    let (mut proved, mut free) = (0, 0);
    for number in 0..6_000 {
        let net = random_net(&mut random);
        let Ok(found) = deadlock(&net, 300) else {
            continue;
        };
        let invariants = stubborn_net::Invariants::find(&net, Default::default());
        let time = std::time::Duration::from_secs(10);
        let no_deadlock = stubborn_net::no_deadlock_by_traps(&net, &invariants, time);
        assert!(!(no_deadlock && found.is_some()), "net {number}");
        proved += usize::from(no_deadlock);
        free += usize::from(found.is_none());
    }
    assert!(proved * 3 > free, "{proved} of {free}");
}
