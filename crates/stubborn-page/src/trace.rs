//! Runs: what each step changed; and for runs that violate a temporal property, what is true in
//! each state and where the automaton is.

use serde_json::{Value, json};
use stubborn_emptiness::Property;
use stubborn_graph::{components, reachable};
use stubborn_ltl::automaton::{Marks, StateId};
use stubborn_ltl::lasso::Letter;
use stubborn_search::Trace;
use stubborn_system::Executor;

use crate::session::{Session, Told};

/// Longer runs are shown up to here.
const MOST_STEPS: usize = 20_000;

/// All that is known of a run.
pub(crate) fn json(session: &Session<'_>, told: &Told) -> Value {
    let trace = &told.trace;
    let is_cut = trace.len() > MOST_STEPS;
    let steps = trace.steps().take(MOST_STEPS).map(|step| {
        let mut one = session.step(step.before, (step.transition, step.outcome, step.after));
        if let Some(arrows) = &session.subject().arrows {
            let arrows = arrows(&step);
            let arrows = arrows.iter().map(|a| json!([a.from, a.to, a.text]));
            one["arrows"] = arrows.collect();
        }
        one
    });
    let steps: Vec<Value> = steps.collect();
    let states = session.subject().questions.len();
    let number = told.question.and_then(|q| q.checked_sub(states));
    let temporal = number.and_then(|number| session.subject().temporal.get(number));
    let temporal = temporal.filter(|_| !is_cut);
    json!({
        "title": told.title,
        "question": told.question,
        "initial": session.number(trace.initial_state()),
        "steps": steps,
        "cycle": trace.cycle_start().filter(|_| !is_cut),
        "cut": is_cut.then(|| trace.len()),
        "word": temporal.map(|temporal| word(session, temporal.property, trace)),
    })
}

/// What a property sees of a run: for each state what is true, and in which states its automaton
/// can be on an accepting run over it.
fn word(session: &Session<'_>, property: &Property, trace: &Trace) -> Value {
    let system = session.system();
    let mut executor = system.executor();
    // The last state of a lasso is the first one of its cycle again.
    let last = trace.cycle_start().map_or(trace.len() + 1, |_| trace.len());
    let letters: Vec<Letter> = (0..last)
        .map(|at| letter(&mut *executor, property, trace.state(at)))
        .collect();
    let names = property.automaton().propositions().iter();
    let names = names
        .zip(property.labels())
        .map(|(name, label)| match property.formula() {
            Some(_) => name,
            None => &system.structure().label(*label).text,
        });
    let truth = letters.iter().map(|letter| {
        let propositions = 0..property.labels().len();
        let bits = propositions.map(|at| letter[at / 64] >> (at % 64) & 1);
        bits.collect::<Vec<u64>>()
    });
    // A run that ends stays in its last state for ever.
    let back = trace.cycle_start().unwrap_or(last - 1);
    let (automaton, accepting) = accepting_runs(property, &letters, back);
    json!({
        "propositions": names.collect::<Vec<_>>(),
        "truth": truth.collect::<Vec<_>>(),
        "automaton": automaton,
        "accepting": accepting,
        "states": property.automaton().state_count(),
    })
}

fn letter(executor: &mut dyn Executor, property: &Property, state: &[u32]) -> Letter {
    let mut letter = vec![0; property.labels().len().div_ceil(64).max(1)];
    for (at, label) in property.labels().iter().enumerate() {
        letter[at / 64] |= u64::from(executor.label(state, *label)) << (at % 64);
    }
    letter
}

/// For each position of a lasso (after its last letter it goes on at `back`), the states of the
/// automaton on its accepting runs, and whether one of them collects a mark there.
fn accepting_runs(
    property: &Property,
    letters: &[Letter],
    back: usize,
) -> (Vec<Vec<u32>>, Vec<bool>) {
    let automaton = property.automaton();
    let (length, states) = (letters.len(), automaton.state_count());
    let node = |at: usize, state: StateId| (at * states + state.index()) as u32;
    let mut edges: Vec<Vec<(u32, Marks)>> = vec![Vec::new(); length * states];
    for (at, letter) in letters.iter().enumerate() {
        let next = if at + 1 < length { at + 1 } else { back };
        for state in automaton.states() {
            let out = automaton.successors(state, letter);
            edges[node(at, state) as usize] = out
                .map(|edge| (node(next, edge.target), edge.marks))
                .collect();
        }
    }
    let start = node(0, automaton.initial());
    let target = |from: u32, edge: usize| edges[from as usize].get(edge).map(|(to, _)| *to);
    let (component, count) = components(edges.len(), [start], target);
    // A component accepts if a cycle through it can collect all marks.
    let mut marks = vec![None; count as usize];
    for (from, out) in edges.iter().enumerate() {
        for (to, mark) in out {
            let same = component[from] == component[*to as usize];
            if let (true, Some(found)) = (same, marks.get_mut(component[from] as usize)) {
                *found = Some(found.map_or(*mark, |old: Marks| old.union(*mark)));
            }
        }
    }
    let all = automaton.all_marks();
    let accepts = |at: u32| {
        marks
            .get(at as usize)
            .copied()
            .flatten()
            .is_some_and(|m| m.contains(all))
    };
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); edges.len()];
    for (from, out) in edges.iter().enumerate() {
        for (to, _) in out {
            before[*to as usize].push(from as u32);
        }
    }
    let good = (0..edges.len() as u32).filter(|n| accepts(component[*n as usize]));
    let leads = reachable(edges.len(), good, |from, edge| {
        before[from as usize].get(edge).copied()
    });
    let is_live =
        |n: u32| leads[n as usize] && component.get(n as usize).is_some_and(|c| *c < count);
    let at = |at: usize| automaton.states().filter(move |s| is_live(node(at, *s)));
    let live = (0..length).map(|place| at(place).map(|s| s.index() as u32).collect());
    let collects = |place: usize| {
        at(place).any(|s| {
            let from = node(place, s);
            let inside = |(to, marks): &(u32, Marks)| {
                *marks != Marks::NONE && component[from as usize] == component[*to as usize]
            };
            accepts(component[from as usize]) && edges[from as usize].iter().any(inside)
        })
    };
    (live.collect(), (0..length).map(collects).collect())
}
