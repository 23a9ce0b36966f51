//! Verdicts on the fly against labelling by the book, on random nets and formulas; explanations
//! are checked step by step.

use std::collections::HashMap;

use stubborn_ctl::{
    Effort, Ending, Evaluation, Explanation, Formula, Formulas, Graph, Node, Reason, Space, Stop,
};
use stubborn_net::{
    Atom, CompareOp, IntExpr, Net, NetBuilder, NetSystem, PlaceId, Preserve, Reduced,
    ReductionRules,
};
use stubborn_search::Limits;
use stubborn_system::{LabelId, Random, Successors, System};

/// A small net: some have deadlocks, some cycles, some are unbounded, some have inhibitor arcs.
fn random_net(random: &mut Random) -> NetSystem {
    let mut builder = NetBuilder::new("random");
    let places: Vec<_> = (0..2 + random.below(4))
        .map(|p| {
            builder.place(
                &format!("p{p}"),
                random.below(3) as u64 / 2 + u64::from(p == 0),
            )
        })
        .collect();
    for t in 0..1 + random.below(6) {
        let t = builder.transition(&format!("t{t}"));
        if random.below(6) == 0 {
            let place = places[random.below(places.len())];
            builder.inhibitor(place, t, 1 + random.below(2) as u32);
        }
        for _ in 0..1 + random.below(2) {
            builder.input(places[random.below(places.len())], t, 1);
        }
        for _ in 0..random.below(3) {
            builder.output(t, places[random.below(places.len())], 1);
        }
    }
    NetSystem::new(builder.build().unwrap()).unwrap()
}

/// A formula as it was written, before anything is made of it.
#[derive(Clone, Debug)]
enum Written {
    Constant(bool),
    Atom(usize),
    Unary(Unary, Box<Written>),
    Binary(Binary, Box<Written>, Box<Written>),
}

#[derive(Clone, Copy, Debug)]
enum Unary {
    Not,
    Ex,
    Ax,
    Ef,
    Af,
    Eg,
    Ag,
}

#[derive(Clone, Copy, Debug)]
enum Binary {
    And,
    Or,
    Eu,
    Au,
    Ew,
    Aw,
    Er,
    Ar,
}

fn random_formula(random: &mut Random, atoms: usize, depth: usize) -> Written {
    if depth == 0 || random.below(8) == 0 {
        return match random.below(12) {
            0 => Written::Constant(true),
            1 => Written::Constant(false),
            _ => Written::Atom(random.below(atoms)),
        };
    }
    let f = Box::new(random_formula(random, atoms, depth - 1));
    use Unary::*;
    let unary = [Not, Ex, Ax, Ef, Af, Eg, Ag, Ef, Af];
    if random.below(2) == 0 {
        return Written::Unary(unary[random.below(unary.len())], f);
    }
    let g = Box::new(random_formula(random, atoms, depth - 1));
    use Binary::*;
    let binary = [And, Or, Or, Eu, Au, Ew, Aw, Er, Ar];
    Written::Binary(binary[random.below(binary.len())], f, g)
}

fn build(formulas: &mut Formulas, written: &Written) -> Formula {
    match written {
        Written::Constant(value) => formulas.constant(*value),
        Written::Atom(number) => formulas.atom(&number.to_string()),
        Written::Unary(operator, f) => {
            let f = build(formulas, f);
            match operator {
                Unary::Not => formulas.not(f),
                Unary::Ex => formulas.exists_next(f),
                Unary::Ax => formulas.all_next(f),
                Unary::Ef => formulas.exists_finally(f),
                Unary::Af => formulas.all_finally(f),
                Unary::Eg => formulas.exists_globally(f),
                Unary::Ag => formulas.all_globally(f),
            }
        }
        Written::Binary(operator, f, g) => {
            let (f, g) = (build(formulas, f), build(formulas, g));
            match operator {
                Binary::And => formulas.and(f, g),
                Binary::Or => formulas.or(f, g),
                Binary::Eu => formulas.exists_until(f, g),
                Binary::Au => formulas.all_until(f, g),
                Binary::Ew => formulas.exists_weak_until(f, g),
                Binary::Aw => formulas.all_weak_until(f, g),
                Binary::Er => formulas.exists_release(f, g),
                Binary::Ar => formulas.all_release(f, g),
            }
        }
    }
}

/// Where a formula as it was written holds: each operator by its own fixed point.
fn meaning(graph: &Explicit, system: &NetSystem, written: &Written) -> Vec<bool> {
    let count = graph.states.len();
    let by = |f: &dyn Fn(usize) -> bool| (0..count).map(f).collect::<Vec<bool>>();
    // The least or the greatest set with now[s] = base[s] || keep[s] && onward(s).
    let fix = |start: bool, exists: bool, base: &[bool], keep: &[bool], at_end: bool| {
        let mut now = vec![start; count];
        loop {
            let next = by(&|s| {
                let targets = &graph.successors[s];
                let onward = match (targets.is_empty(), exists) {
                    (true, _) => at_end,
                    (false, true) => targets.iter().any(|t| now[*t]),
                    (false, false) => targets.iter().all(|t| now[*t]),
                };
                base[s] || keep[s] && onward
            });
            if next == now {
                return now;
            }
            now = next;
        }
    };
    let (yes, no) = (vec![true; count], vec![false; count]);
    match written {
        Written::Constant(value) => vec![*value; count],
        Written::Atom(number) => {
            let mut executor = system.executor();
            let label = LabelId::new(*number);
            let states = graph.states.iter();
            states.map(|s| executor.label(s, label)).collect()
        }
        Written::Unary(operator, f) => {
            let f = meaning(graph, system, f);
            match operator {
                Unary::Not => by(&|s| !f[s]),
                Unary::Ex => by(&|s| graph.successors[s].iter().any(|t| f[*t])),
                Unary::Ax => by(&|s| graph.successors[s].iter().all(|t| f[*t])),
                Unary::Ef => fix(false, true, &f, &yes, false),
                Unary::Af => fix(false, false, &f, &yes, false),
                Unary::Eg => fix(true, true, &no, &f, true),
                Unary::Ag => fix(true, false, &no, &f, true),
            }
        }
        Written::Binary(operator, f, g) => {
            let (f, g) = (meaning(graph, system, f), meaning(graph, system, g));
            let both = by(&|s| f[s] && g[s]);
            match operator {
                Binary::And => both,
                Binary::Or => by(&|s| f[s] || g[s]),
                Binary::Eu => fix(false, true, &g, &f, false),
                Binary::Au => fix(false, false, &g, &f, false),
                Binary::Ew => fix(true, true, &g, &f, true),
                Binary::Aw => fix(true, false, &g, &f, true),
                Binary::Er => fix(true, true, &both, &g, true),
                Binary::Ar => fix(true, false, &both, &g, true),
            }
        }
    }
}

/// The whole graph.
struct Explicit {
    states: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, usize>,
    successors: Vec<Vec<usize>>,
}

fn explicit(system: &NetSystem, limit: usize) -> Option<Explicit> {
    let mut executor = system.executor();
    let mut graph = Explicit {
        states: vec![system.initial_states()],
        numbers: HashMap::from([(system.initial_states(), 0)]),
        successors: Vec::new(),
    };
    let mut buffer = Successors::new(system.layout().words());
    while graph.successors.len() < graph.states.len() {
        buffer.clear();
        executor.successors(&graph.states[graph.successors.len()], &mut buffer);
        let mut targets = Vec::new();
        for number in 0..buffer.len() {
            let state = buffer.state(number).to_vec();
            let next = graph.states.len();
            let target = *graph.numbers.entry(state.clone()).or_insert(next);
            if target == next {
                graph.states.push(state);
            }
            targets.push(target);
        }
        graph.successors.push(targets);
        if graph.states.len() > limit {
            return None;
        }
    }
    Some(graph)
}

/// Where a formula holds, by the definitions: fixed points over all states.
fn label(graph: &Explicit, system: &NetSystem, formulas: &Formulas, formula: Formula) -> Vec<bool> {
    let of = |f| label(graph, system, formulas, f);
    let count = graph.states.len();
    let all = |f: &dyn Fn(usize) -> bool| (0..count).map(f).collect::<Vec<bool>>();
    match formulas.node(formula) {
        Node::Constant(value) => vec![value; count],
        Node::Atom(number) => {
            let mut executor = system.executor();
            let label = LabelId::new(formulas.names()[number as usize].parse().unwrap());
            graph
                .states
                .iter()
                .map(|s| executor.label(s, label))
                .collect()
        }
        Node::Not(f) => of(f).into_iter().map(|v| !v).collect(),
        Node::And(f, g) => of(f).into_iter().zip(of(g)).map(|(a, b)| a && b).collect(),
        Node::Or(f, g) => of(f).into_iter().zip(of(g)).map(|(a, b)| a || b).collect(),
        Node::ExistsNext(f) => {
            let f = of(f);
            all(&|s| graph.successors[s].iter().any(|t| f[*t]))
        }
        Node::ExistsUntil(f, g) | Node::AllUntil(f, g) => {
            let exists = matches!(formulas.node(formula), Node::ExistsUntil(..));
            let (f, g) = (of(f), of(g));
            let mut now = g.clone();
            loop {
                let next = all(&|s| {
                    let successors = &graph.successors[s];
                    let onward = if exists {
                        successors.iter().any(|t| now[*t])
                    } else {
                        !successors.is_empty() && successors.iter().all(|t| now[*t])
                    };
                    g[s] || f[s] && onward
                });
                if next == now {
                    return now;
                }
                now = next;
            }
        }
    }
}

/// Whether an explanation is one: values are right, runs are runs, and end as they say.
fn check(
    graph: &mut Graph<'_>,
    truth: &dyn Fn(Formula, &[u32]) -> bool,
    formulas: &Formulas,
    explanation: &Explanation,
) {
    let Explanation {
        formula,
        holds,
        state,
        ref reason,
    } = *explanation;
    let value = |graph: &mut Graph<'_>, f, s| truth(f, graph.state(s).unwrap());
    assert_eq!(value(graph, formula, state), holds);
    match reason {
        Reason::Here => assert!(formulas.depth(formula) == 0),
        Reason::All => {}
        Reason::Parts(parts) => {
            assert!(!parts.is_empty());
            for part in parts {
                assert_eq!(part.state, state);
                check(graph, truth, formulas, part);
            }
        }
        Reason::Run { states, ending } => {
            let run: Vec<u32> = std::iter::once(state)
                .chain(states.iter().copied())
                .collect();
            for pair in run.windows(2) {
                let targets: Vec<u32> = (0..graph.degree(pair[0]).unwrap())
                    .map(|n| graph.successor(pair[0], n))
                    .collect();
                assert!(targets.contains(&pair[1]), "a step that is none");
            }
            let last = *run.last().unwrap();
            if let Node::ExistsUntil(before, _) = formulas.node(formula) {
                for state in &run[..run.len() - 1] {
                    assert!(value(graph, before, *state));
                }
            }
            if let Node::AllUntil(_, reach) = formulas.node(formula) {
                for state in &run {
                    assert!(!value(graph, reach, *state));
                }
            }
            match ending {
                Ending::Because(why) => {
                    assert_eq!(why.state, last);
                    check(graph, truth, formulas, why);
                }
                Ending::Deadlock => assert_eq!(graph.degree(last), Ok(0)),
                Ending::Cycle { from } => {
                    assert_eq!(run[*from], last);
                    assert!(*from < run.len() - 1, "a cycle has a step");
                }
            }
        }
    }
}

/// An effort that is often too small.
fn little_effort(random: &mut Random) -> Effort {
    Effort {
        outer: 1 + random.below(5),
        nested: 1 + random.below(2),
        together: 1 + random.below(6),
        seed: random.below(3) as u64,
        breadth_first: random.below(2) == 0,
    }
}

/// How many formulas were compared, how many of them attempts decided and gave up, and how many do not
/// hold and hold.
fn compare(nets: usize, seed: u64) -> (usize, [usize; 2], [usize; 2]) {
    let mut random = Random::new(seed);
    let mut efforts = Random::new(seed);
    let (mut compared, mut attempts, mut verdicts) = (0, [0, 0], [0, 0]);
    for number in 0..nets {
        let system = random_net(&mut random);
        let atoms = system.structure().labels.len();
        let mut formulas = Formulas::new();
        let list: Vec<(Written, Formula)> = (0..4)
            .map(|_| {
                let depth = 1 + random.below(4);
                let written = random_formula(&mut random, atoms, depth);
                let formula = build(&mut formulas, &written);
                (written, formula)
            })
            .collect();
        let Some(full) = explicit(&system, 200) else {
            continue;
        };
        let labels: Vec<LabelId> = formulas
            .names()
            .iter()
            .map(|name| LabelId::new(name.parse().unwrap()))
            .collect();
        let limits = Limits::default();
        let space = Space::new(&system, &limits).unwrap();
        // One graph for all, as in a file of formulas.
        let mut graph = Graph::new(&system, &space, &limits);
        for (written, formula) in list {
            let expected = meaning(&full, &system, &written);
            let same = label(&full, &system, &formulas, formula);
            assert_eq!(same, expected, "net {number}: {written:?}");
            let mut evaluation = Evaluation::new(&formulas, formula, labels.clone());
            let shown = formulas.display(formula).to_string();
            for _ in 0..efforts.below(4) {
                let effort = little_effort(&mut efforts);
                let known = evaluation.attempt(&mut graph, effort).unwrap();
                let right = known.is_none_or(|value| value == expected[0]);
                assert!(right, "net {number}: {shown} with {effort:?}");
                attempts[usize::from(known.is_none())] += 1;
            }
            let holds = evaluation.holds(&mut graph);
            assert_eq!(holds, Ok(expected[0]), "net {number}: {shown}");
            // And wherever a part is asked for.
            for state in 0..graph.len() as u32 {
                let words = graph.state(state).unwrap().to_vec();
                let there = evaluation.holds_in(&mut graph, formula, state);
                assert_eq!(
                    there,
                    Ok(expected[full.numbers[&words]]),
                    "net {number}: {shown}"
                );
            }
            let explanation = evaluation.explain(&mut graph).unwrap();
            let truth = |f: Formula, words: &[u32]| {
                label(&full, &system, &formulas, f)[full.numbers[words]]
            };
            check(&mut graph, &truth, &formulas, &explanation);
            compared += 1;
            verdicts[usize::from(expected[0])] += 1;
        }
    }
    (compared, attempts, verdicts)
}

#[test]
fn verdicts_are_those_of_labelling() {
    let (compared, attempts, verdicts) = compare(500, 0x00c7_15ee_d000_0001);
    assert!(
        compared > 700 && verdicts.iter().all(|n| *n > 200),
        "{compared} {verdicts:?}"
    );
    assert!(attempts.iter().all(|n| *n > 50), "{attempts:?}");
}

#[test]
#[ignore = "long: 10,000 nets with four formulas each"]
fn many_verdicts_are_those_of_labelling() {
    let (compared, ..) = compare(10_000, 0x00c7_15ee_d000_0002);
    assert!(compared > 20_000, "{compared}");
}

/// A net with many sequences, so that there is something to merge, and a few inhibitor arcs.
fn stringy_net(random: &mut Random) -> Net {
    let mut builder = NetBuilder::new("stringy");
    let places: Vec<_> = (0..4 + random.below(6))
        .map(|p| builder.place(&format!("p{p}"), random.below(4) as u64 / 3))
        .collect();
    for t in 0..3 + random.below(8) {
        let t = builder.transition(&format!("t{t}"));
        let few = |random: &mut Random| 1 + random.below(5) / 4;
        if random.below(8) == 0 {
            builder.inhibitor(places[random.below(places.len())], t, 1);
        }
        for _ in 0..few(random) {
            builder.input(places[random.below(places.len())], t, 1);
        }
        for _ in 0..few(random) - usize::from(random.below(9) == 0) {
            builder.output(t, places[random.below(places.len())], 1);
        }
    }
    builder.build().unwrap()
}

/// Structural reductions for branching time: formulas without next about watched places have
/// the same value in both nets.
fn compare_reduced(nets: usize, seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let (mut compared, mut smaller) = (0, 0);
    for number in 0..nets {
        let net = stringy_net(&mut random);
        let watched: Vec<PlaceId> = (0..2)
            .map(|_| PlaceId(random.below(net.place_count()) as u32))
            .collect();
        let preserve = Preserve::Branching(watched.clone());
        let reduced = Reduced::new(&net, &preserve, ReductionRules::ALL);
        if reduced.net.transition_count() == net.transition_count() {
            continue;
        }
        let statement = |place: PlaceId| {
            let tokens = IntExpr::tokens(vec![place]);
            let one = IntExpr::constant(1);
            stubborn_net::Formula::Atom(Atom::Compare(CompareOp::GreaterOrEqual, tokens, one))
        };
        let mut formulas = Formulas::new();
        let list: Vec<Formula> = (0..6)
            .map(|_| {
                let depth = 1 + random.below(4);
                let written = without_next(random_formula(&mut random, 2, depth));
                build(&mut formulas, &written)
            })
            .collect();
        let mut systems = [net.clone(), reduced.net.clone()].map(|n| NetSystem::new(n).unwrap());
        let places = [
            watched.clone(),
            watched.iter().map(|p| reduced.place(*p).unwrap()).collect(),
        ];
        let labels = [0, 1].map(|side: usize| {
            let label = |name: &String| {
                let place = places[side][name.parse::<usize>().unwrap()];
                systems[side].add_label(statement(place)).unwrap()
            };
            formulas.names().iter().map(label).collect::<Vec<_>>()
        });
        for formula in list {
            let values = [0, 1].map(|side: usize| {
                let limits = Limits {
                    states: Some(3_000),
                    ..Limits::default()
                };
                let space = Space::new(&systems[side], &limits).unwrap();
                let mut graph = Graph::new(&systems[side], &space, &limits);
                Evaluation::new(&formulas, formula, labels[side].clone()).holds(&mut graph)
            });
            if let [Ok(large), Ok(small)] = values {
                let shown = formulas.display(formula);
                assert_eq!(large, small, "net {number}, {watched:?}: {shown}");
                compared += 1;
                smaller += usize::from(formulas.depth(formula) > 1);
            }
        }
    }
    (compared, smaller)
}

fn without_next(written: Written) -> Written {
    match written {
        Written::Unary(Unary::Ex, f) => Written::Unary(Unary::Eg, Box::new(without_next(*f))),
        Written::Unary(Unary::Ax, f) => Written::Unary(Unary::Ag, Box::new(without_next(*f))),
        Written::Unary(operator, f) => Written::Unary(operator, Box::new(without_next(*f))),
        Written::Binary(operator, f, g) => {
            let [f, g] = [f, g].map(|f| Box::new(without_next(*f)));
            Written::Binary(operator, f, g)
        }
        other => other,
    }
}

#[test]
fn reduced_nets_keep_branching_time() {
    let (compared, nested) = compare_reduced(600, 0x00c7_15ee_d000_0003);
    assert!(compared > 1_500 && nested > 300, "{compared} {nested}");
}

/// Whoever merges a choice that nobody sees with the visible step before it chooses too early.
#[test]
fn a_choice_is_not_made_before_its_time() {
    let mut builder = NetBuilder::new("choice");
    let names = ["start", "chosen", "left", "right", "c", "a", "b"];
    let [start, between, left, right, c, a, b] =
        names.map(|name| builder.place(name, u64::from(name == "start")));
    for (name, from, to) in [
        ("h", start, vec![between, c]),
        ("f1", between, vec![left]),
        ("f2", between, vec![right]),
        ("t1", left, vec![a]),
        ("t2", right, vec![b]),
    ] {
        let t = builder.transition(name);
        builder.input(from, t, 1);
        to.iter().for_each(|place| builder.output(t, *place, 1));
    }
    let net = builder.build().unwrap();
    let watched = Preserve::Branching(vec![a, b, c]);
    let reduced = Reduced::new(&net, &watched, ReductionRules::ALL);
    let mut formulas = Formulas::new();
    let (formula, _) = stubborn_ctl::parse(
        &mut formulas,
        "EF (c && EF a && EF b)",
        &mut stubborn_ltl::parser::AnyName,
    );
    for (net, places) in [
        (net.clone(), [c, a, b]),
        (
            reduced.net.clone(),
            [c, a, b].map(|p| reduced.place(p).unwrap()),
        ),
    ] {
        let mut system = NetSystem::new(net).unwrap();
        let labels = places.map(|place| {
            let (tokens, one) = (IntExpr::tokens(vec![place]), IntExpr::constant(1));
            let atom = Atom::Compare(CompareOp::GreaterOrEqual, tokens, one);
            system.add_label(stubborn_net::Formula::Atom(atom)).unwrap()
        });
        let limits = Limits::default();
        let space = Space::new(&system, &limits).unwrap();
        let mut graph = Graph::new(&system, &space, &limits);
        let mut evaluation = Evaluation::new(&formulas, formula.unwrap(), labels.to_vec());
        assert_eq!(evaluation.holds(&mut graph), Ok(true));
    }
}

#[test]
#[ignore = "long: 30,000 nets with six formulas each"]
fn many_reduced_nets_keep_branching_time() {
    let (compared, _) = compare_reduced(30_000, 0x00c7_15ee_d000_0004);
    assert!(compared > 50_000, "{compared}");
}

#[test]
fn a_limit_is_no_verdict_and_a_longer_time_gives_one() {
    // A counter that never ends.
    let mut builder = NetBuilder::new("source");
    let p = builder.place("p", 0);
    let t = builder.transition("t");
    builder.output(t, p, 1);
    let u = builder.transition("u");
    builder.input(p, u, 5_000);
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    let mut formulas = Formulas::new();
    let high = formulas.atom("p >= 5000");
    let reach = formulas.exists_finally(high);
    let limits = Limits {
        states: Some(1_000),
        ..Limits::default()
    };
    let space = Space::new(&system, &limits).unwrap();
    let mut graph = Graph::new(&system, &space, &limits);
    let labels = vec![LabelId::new(0)];
    let mut evaluation = Evaluation::new(&formulas, reach, labels.clone());
    assert_eq!(evaluation.holds(&mut graph), Err(Stop::States));
    // What was open is forgotten, not false.
    let limits = Limits::default();
    let space = Space::new(&system, &limits).unwrap();
    let mut graph = Graph::new(&system, &space, &limits);
    graph.restart(Some(std::time::Duration::ZERO));
    let mut evaluation = Evaluation::new(&formulas, reach, labels);
    assert_eq!(evaluation.holds(&mut graph), Err(Stop::Time));
    graph.restart(None);
    assert_eq!(evaluation.holds(&mut graph), Ok(true));
    // Another graph in the same room knows nothing, and finds the states there.
    drop(graph);
    let mut graph = Graph::new(&system, &space, &limits);
    let mut evaluation = Evaluation::new(&formulas, reach, vec![LabelId::new(0)]);
    assert_eq!(evaluation.holds(&mut graph), Ok(true));
}

/// One part that has no end does not hide another one that is near, whichever comes first; what was
/// given up is tried again with more effort.
#[test]
fn an_attempt_does_not_get_lost() {
    // A counter without an end, and beside it a switch that is used at most once.
    let mut builder = NetBuilder::new("source");
    let [p, on, off] = [("p", 0), ("on", 0), ("off", 1)].map(|(n, m)| builder.place(n, m));
    let t = builder.transition("t");
    builder.output(t, p, 1);
    let use_it = builder.transition("switch");
    builder.input(off, use_it, 1);
    builder.output(use_it, on, 1);
    for (place, weight) in [(p, 700), (on, 1)] {
        let watcher = builder.transition("watcher");
        builder.input(place, watcher, weight);
        builder.output(watcher, place, weight);
    }
    let system = NetSystem::new(builder.build().unwrap()).unwrap();
    let labels: Vec<LabelId> = ["p >= 700", "on >= 1"]
        .map(|text| {
            let mut all = system.structure().labels.iter();
            LabelId::new(all.position(|label| label.text == text).unwrap())
        })
        .to_vec();
    let mut formulas = Formulas::new();
    let (high, on) = (formulas.atom("high"), formulas.atom("on"));
    let far = formulas.exists_finally(high);
    let near = formulas.exists_next(on);
    let either = formulas.or(far, near);
    let nested = formulas.and(on, either);
    let first = Effort::of_attempt(0);
    let limits = Limits::default();
    for (formula, soon) in [
        (far, [None, None]),
        (either, [Some(true); 2]),
        // Depth-first the counter comes first.
        (formulas.exists_finally(nested), [None, Some(true)]),
    ] {
        let space = Space::new(&system, &limits).unwrap();
        let mut graph = Graph::new(&system, &space, &limits);
        let mut evaluation = Evaluation::new(&formulas, formula, labels.clone());
        let little = Effort {
            outer: 300,
            nested: 8,
            ..first
        };
        for (breadth_first, soon) in [false, true].into_iter().zip(soon) {
            let effort = Effort {
                breadth_first,
                ..little
            };
            let shown = formulas.display(formula);
            assert_eq!(evaluation.attempt(&mut graph, effort), Ok(soon), "{shown}");
        }
        assert!(graph.len() < 10_000);
        let more = Effort::of_attempt(3);
        assert_eq!(evaluation.attempt(&mut graph, more), Ok(Some(true)));
    }
}
