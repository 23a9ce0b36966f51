//! Tries to falsify the relations of the static analysis on every reachable state of small
//! models. Atomic sequences make transitions with several ends, so steps are compared as sets
//! of states.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use stubborn_ir::Model;
use stubborn_promela::source::FileLoader;
use stubborn_promela::{Options, load};
use stubborn_system::{
    BitSet, Executor, LabelId, RelationLevel, Relations, Successors, System, TransitionId,
};

use crate::random_programs::program;
use crate::support::{corpus, examples};

/// All states of a model but the error state, `None` beyond the limit.
fn states(model: &Model, limit: usize) -> Option<Vec<Vec<u32>>> {
    let initial = model.initial_states();
    let mut seen = HashSet::from([initial.clone()]);
    let mut todo = vec![initial];
    let mut executor = model.executor();
    let mut out = Successors::new(model.layout().words());
    let mut list = Vec::new();
    while let Some(state) = todo.pop() {
        out.clear();
        executor.successors(&state, &mut out);
        for next in out.iter().filter(|n| !model.is_error(n.state)) {
            if seen.insert(next.state.to_vec()) {
                todo.push(next.state.to_vec());
            }
        }
        list.push(state);
        if seen.len() > limit {
            return None;
        }
    }
    Some(list)
}

/// Where a transition leads: nowhere if it fails, for that counts as disabled.
fn ends(executor: &mut dyn Executor, state: &[u32], t: TransitionId) -> BTreeSet<Vec<u32>> {
    let mut out = Successors::new(state.len());
    executor.fire(state, t, &mut out);
    if out.iter().any(|n| n.outcome.failed().is_some()) {
        return BTreeSet::new();
    }
    out.iter().map(|n| n.state.to_vec()).collect()
}

/// Where two transitions lead, one after the other; None if the second may be disabled.
fn both(
    executor: &mut dyn Executor,
    state: &[u32],
    t: TransitionId,
    u: TransitionId,
) -> Option<BTreeSet<Vec<u32>>> {
    let mut all = BTreeSet::new();
    for middle in ends(executor, state, t) {
        let more = ends(executor, &middle, u);
        if more.is_empty() {
            return None;
        }
        all.extend(more);
    }
    Some(all)
}

/// By transition, whether a step of it violates an assertion, and whether one fails.
fn outcomes(steps: &Successors) -> BTreeMap<TransitionId, (bool, bool)> {
    let mut all: BTreeMap<TransitionId, (bool, bool)> = BTreeMap::new();
    for step in steps.iter() {
        let known = all.entry(step.transition).or_default();
        known.0 |= step.outcome.violated().is_some();
        known.1 |= step.outcome.failed().is_some();
    }
    all
}

/// One message for each kind of wrong entry.
fn falsify(model: &Model, relations: &Relations, states: &[Vec<u32>]) -> Vec<String> {
    let structure = model.structure();
    let words = model.layout().words();
    let mut executor = model.executor();
    let apart = relations.may_not_meet(structure);
    let mut wrong: HashMap<&str, String> = HashMap::new();
    let name = |t: TransitionId| &structure.transition(t).name;
    let count = structure.labels.len();
    let (mut before, mut after) = (BitSet::new(count), BitSet::new(count));
    for state in states {
        executor.labels(state, &mut before);
        for g in before.iter().map(LabelId::new) {
            for h in relations.never_together.0.row(g) {
                if before.contains(h.index()) {
                    let text = format!("{} / {}", structure.label(g).text, structure.label(h).text);
                    wrong.insert("never_together", text);
                }
            }
        }
        let mut out = Successors::new(words);
        executor.successors(state, &mut out);
        // Nothing is left out where a step fails.
        let some_step_fails = out.iter().any(|n| n.outcome.failed().is_some());
        for first in out.iter().filter(|n| !model.is_error(n.state)) {
            let t = first.transition;
            executor.labels(first.state, &mut after);
            for g in (0..count).map(LabelId::new) {
                let missing = match (before.contains(g.index()), after.contains(g.index())) {
                    (false, true) => !relations.may_enable.0.contains(g, t),
                    (true, false) => !relations.may_disable.0.contains(g, t),
                    _ => false,
                };
                if missing {
                    let text = format!("{} by {}", structure.label(g).text, name(t));
                    wrong.insert("may_enable or may_disable", text);
                }
            }
            let mut second_steps = Successors::new(words);
            executor.successors(first.state, &mut second_steps);
            let after = outcomes(&second_steps);
            for (u, outcome) in outcomes(&out) {
                let listed = relations.may_change_outcome.as_ref();
                let is_sought = {
                    let u = structure.transition(u);
                    u.may_fail || u.may_violate
                };
                if is_sought
                    && u != t
                    && after.get(&u) != Some(&outcome)
                    && listed.is_some_and(|listed| !listed.0.contains(u, t))
                {
                    let text = format!("{} after {}", name(u), name(t));
                    wrong.insert("may_change_outcome", text);
                }
            }
            for second in second_steps.iter() {
                let u = second.transition;
                if relations.must_disable.0.contains(t, u) {
                    wrong.insert("must_disable", format!("{} after {}", name(u), name(t)));
                }
                let matters = !some_step_fails && second.outcome.failed().is_none();
                if matters && u != t && !relations.do_not_left_accord.0.contains(u, t) {
                    let moved = ends(&mut *executor, state, u)
                        .into_iter()
                        .any(|s| ends(&mut *executor, &s, t).contains(second.state));
                    if !moved {
                        let text = format!("{} over {}", name(u), name(t));
                        wrong.insert("do_not_left_accord", text);
                    }
                }
            }
        }
        if some_step_fails {
            continue;
        }
        let enabled: BTreeSet<TransitionId> = out.transitions().iter().copied().collect();
        for t in &enabled {
            for u in enabled.range(*t..).skip(1) {
                if relations.do_not_accord.0.contains(*t, *u) {
                    continue;
                }
                let one = both(&mut *executor, state, *t, *u);
                if one.is_none() || one != both(&mut *executor, state, *u, *t) {
                    wrong.insert("do_not_accord", format!("{} and {}", name(*t), name(*u)));
                }
                if apart.0.contains(*t, *u) {
                    continue;
                }
                let outcomes = ends(&mut *executor, state, *u);
                for x in ends(&mut *executor, state, *t) {
                    let across = ends(&mut *executor, &x, *u);
                    let meets = |y: &Vec<u32>| {
                        let mut others = ends(&mut *executor, y, *t).into_iter();
                        others.any(|end| across.contains(&end))
                    };
                    if !outcomes.iter().all(meets) {
                        wrong.insert("do_not_meet", format!("{} and {}", name(*t), name(*u)));
                    }
                }
            }
        }
    }
    wrong
        .into_iter()
        .map(|(kind, text)| format!("{kind}: {text}"))
        .collect()
}

const LEVELS: [RelationLevel; 5] = [
    RelationLevel::Sets,
    RelationLevel::Syntax,
    RelationLevel::Exact,
    RelationLevel::Reach,
    RelationLevel::Located,
];

/// Checks one model; false if it has too many states.
fn check(title: &str, path: &Path, text: &str, limit: usize, levels: &[RelationLevel]) -> bool {
    let Ok(loaded) = load(path, text, &Options::default(), &FileLoader) else {
        return false;
    };
    let Some(states) = states(&loaded.model, limit) else {
        return false;
    };
    for level in levels {
        let wrong = falsify(&loaded.model, &loaded.model.relations(*level), &states);
        assert!(wrong.is_empty(), "{title} at {level:?}: {wrong:#?}\n{text}");
    }
    true
}

#[test]
fn own_models_do_not_falsify_any_relation() {
    for example in examples() {
        check(
            &example.title,
            Path::new("m.pml"),
            &example.text,
            2_000,
            &LEVELS,
        );
    }
}

#[test]
fn random_programs_do_not_falsify_any_relation() {
    check_random(0..8);
}

#[test]
#[ignore = "long: about two minutes"]
fn many_random_programs_do_not_falsify_any_relation() {
    check_random(8..200);
}

fn check_random(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = program(seed);
        check(
            &format!("seed {seed}"),
            Path::new("m.pml"),
            &text,
            600,
            &LEVELS,
        );
    }
}

/// What waits for everything else is in nobody's way: both are never enabled.
#[test]
fn timeouts_conflict_with_timeouts_alone() {
    let text = "chan c = [1] of { byte };
         active proctype A() { do :: c!1 :: timeout -> c?_ od }
         active proctype B() { do :: c?_ :: timeout -> c!2 od }";
    let loaded = load(Path::new("m.pml"), text, &Options::default(), &FileLoader);
    let model = loaded.expect("it loads").model;
    let priority = |t: TransitionId| model.structure().transition(t).priority;
    let all: Vec<TransitionId> = model.structure().transition_ids().collect();
    let relations = model.relations(RelationLevel::Reach);
    let accord = |t, u| !relations.do_not_accord.0.contains(t, u);
    let pairs = || all.iter().flat_map(|t| all.iter().map(|u| (*t, *u)));
    let mut mixed = pairs().filter(|(t, u)| priority(*t) < priority(*u));
    assert!(mixed.clone().count() > 0 && mixed.all(|(t, u)| accord(t, u) && accord(u, t)));
    let mut late = pairs().filter(|(t, u)| t != u && priority(*t) > 0 && priority(*u) > 0);
    assert!(late.any(|(t, u)| !accord(t, u)));
}

#[test]
fn small_corpus_models_do_not_falsify_any_relation() {
    check_corpus(300, 100, &LEVELS[..2]);
}

#[test]
#[ignore = "long: all relation levels on all models of up to 10,000 states"]
fn corpus_models_do_not_falsify_any_relation() {
    check_corpus(10_000, usize::MAX, &LEVELS);
}

fn check_corpus(limit: usize, most: usize, levels: &[RelationLevel]) {
    let Some(folder) = corpus() else { return };
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("a table");
    let mut checked = 0;
    for line in table
        .lines()
        .filter(|l| l.contains("\tOK\t") && l.contains("\tcomplete\t"))
    {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells[2]
            .parse::<usize>()
            .is_ok_and(|states| states <= limit)
            && checked < most
        {
            let path = folder.join(cells[0]);
            let text =
                String::from_utf8_lossy(&std::fs::read(&path).expect("a model")).into_owned();
            checked += usize::from(check(cells[0], &path, &text, 2 * limit, levels));
        }
    }
    assert!(checked > 20, "only {checked} models");
}
