//! Provisos: nothing may be ignored for ever, in any order and on any number of threads.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use common::graph::{Graph, current_node};
use common::models::{Builder, is};
use common::run;
use stubborn_ir::{Expr, Model};
use stubborn_search::proviso::{
    ClosedSet, OnStack, Ruling, SafetyProviso, Selected, TerminalComponents,
};
use stubborn_search::{Order, Search, SearchError, Stop, StoreKind, StoreOptions, Target};
use stubborn_system::{
    BitSet, Expansion, LabelId, Reducer, Reduction, SetMember, Structure, System,
};

/// Keeps the steps of the first process that can move: right where processes share nothing.
struct FirstProcess<'a>(&'a Structure);

impl Reduction for FirstProcess<'_> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(FirstProcess(self.0))
    }

    fn name(&self) -> String {
        "first process".into()
    }
}

impl Reducer for FirstProcess<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        let owner = |t| self.0.transition(t).processes[0];
        let mut first = None;
        let mut left_out = false;
        for transition in expansion.enabled() {
            let process = owner(transition);
            if *first.get_or_insert(process) == process {
                kept.insert(transition.index());
            } else {
                left_out = true;
            }
        }
        left_out
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}

/// One process goes round for ever, another one reaches `bad` after `n` steps.
fn loop_and_bug(n: i32) -> (Model, LabelId) {
    let mut b = Builder::new("loop and bug");
    let busy = b.process("busy", &["a", "b", "c"]);
    for (from, to) in [(0, 1), (1, 2), (2, 0)] {
        b.step(busy, (from, to), None, vec![]);
    }
    let buggy = b.process("buggy", &["counts"]);
    let x = b.integer("x", n);
    let below = Expr::less(Expr::Var(x), Expr::Const(n));
    let count = b.set(x, Expr::plus(Expr::Var(x), Expr::Const(1)));
    b.step(buggy, (0, 0), Some(below), vec![count]);
    let bad = b.program.label(is(x, n));
    (b.finish(), bad)
}

#[test]
fn without_a_proviso_the_bug_is_ignored_and_with_one_it_is_found() {
    let (model, bad) = loop_and_bug(5);
    let reduction = FirstProcess(model.structure());
    let base = Search {
        reduction: Some(&reduction),
        targets: vec![Target::Label(bad)],
        ..Search::new(&model)
    };
    assert_eq!(run(&base).states, 3);
    assert!(run(&base).violations.is_empty());
    let (closed_set, on_stack, terminal) = (ClosedSet, OnStack, TerminalComponents);
    let mut ways: Vec<(&dyn SafetyProviso, Order, usize)> = vec![(&on_stack, Order::DepthFirst, 1)];
    for threads in [1, 2, 4] {
        ways.push((&closed_set, Order::BreadthFirst, threads));
        ways.push((&terminal, Order::BreadthFirst, threads));
        ways.push((&closed_set, Order::DepthFirst, threads));
    }
    for (proviso, order, threads) in ways {
        for stop in [Stop::Never, Stop::FirstViolation] {
            let search = Search {
                proviso: Some(proviso),
                order,
                threads,
                stop,
                ..base.clone()
            };
            let result = run(&search);
            let violation = result.violation(Target::Label(bad)).expect("the bug");
            let trace = violation.trace.as_ref().expect("a trace");
            assert!(trace.len() >= 5, "{search:?}");
            assert!(result.states < 18 || stop == Stop::Never, "{search:?}");
            assert!(result.expanded_by_proviso > 0);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (model, _) = loop_and_bug(1);
    let refused = |search: Search<'_>| match search.run() {
        Err(SearchError::Mismatch(text)) => text,
        other => panic!("{search:?} gave {other:?}"),
    };
    let stack = Search {
        proviso: Some(&OnStack),
        ..Search::new(&model)
    };
    assert!(refused(stack.clone()).contains("depth-first"));
    let terminal = Search {
        proviso: Some(&TerminalComponents),
        order: Order::DepthFirst,
        ..Search::new(&model)
    };
    assert!(refused(terminal).contains("breadth-first"));
    let parallel = Search {
        order: Order::DepthFirst,
        threads: 2,
        ..stack
    };
    assert!(refused(parallel).contains("one thread"));
    let lossy = Search {
        proviso: Some(&ClosedSet),
        store: StoreOptions::new(StoreKind::Compact),
        ..Search::new(&model)
    };
    assert!(refused(lossy).contains("store"));
    let twice = Search {
        targets: vec![Target::Deadlock, Target::Deadlock],
        ..Search::new(&model)
    };
    assert!(refused(twice).contains("twice"));
    let unknown = Search {
        targets: vec![Target::Label(LabelId::new(999))],
        ..Search::new(&model)
    };
    assert!(refused(unknown).contains("label"));
}

/// A proviso that keeps what it said of each node.
struct Logged<'p> {
    proviso: &'p dyn SafetyProviso,
    rulings: Mutex<BTreeMap<u32, Ruling>>,
}

impl SafetyProviso for Logged<'_> {
    fn name(&self) -> &'static str {
        self.proviso.name()
    }

    fn order(&self) -> Option<Order> {
        self.proviso.order()
    }

    fn ruling(&self, selected: &Selected<'_>) -> Ruling {
        let ruling = self.proviso.ruling(selected);
        let before = self.rulings.lock().unwrap().insert(current_node(), ruling);
        assert_eq!(before, None, "asked twice");
        ruling
    }
}

/// Whether from every reached node one can be reached, by the edges that a reduced search takes,
/// all of whose edges stay among the reached ones: there nothing is ignored. (Ends are such.)
fn nothing_is_ignored(graph: &Graph, reached: &BTreeSet<u32>) -> bool {
    let is_whole = |node: &u32| graph.explored(*node, true).all(|to| reached.contains(&to));
    let mut good: BTreeSet<u32> = reached.iter().copied().filter(is_whole).collect();
    loop {
        let more: Vec<u32> = reached
            .difference(&good)
            .filter(|n| graph.explored(**n, false).any(|to| good.contains(&to)))
            .copied()
            .collect();
        if more.is_empty() {
            return good.len() == reached.len();
        }
        good.extend(more);
    }
}

fn check_proviso(
    graph: &Graph,
    proviso: &dyn SafetyProviso,
    order: Order,
    threads: usize,
    what: &str,
) -> u64 {
    let logged = Logged {
        proviso,
        rulings: Mutex::default(),
    };
    graph.visited.lock().unwrap().clear();
    let search = Search {
        reduction: Some(graph),
        proviso: Some(&logged),
        order,
        threads,
        ..Search::new(graph)
    };
    let result = run(&search);
    let rulings = logged.rulings.lock().unwrap().clone();
    let visited = graph.visited.lock().unwrap().clone();
    assert_eq!(result.states, visited.len() as u64, "{what}");
    assert!(nothing_is_ignored(graph, &visited), "{what}");
    // What was explored is closed under the edges that should be explored, and no more. (Which of
    // the states that were put off are expanded, the search decides.)
    let says = |ruling: Ruling| rulings.values().any(|said| *said == ruling);
    if !says(Ruling::PutOff) {
        let mut transitions = 0;
        let mut reached = BTreeSet::from([0]);
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            let expanded = !matches!(rulings.get(&node), Some(Ruling::Reduced));
            for to in graph.explored(node, expanded) {
                transitions += 1;
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        assert_eq!(reached, visited, "{what}");
        assert_eq!(result.transitions, transitions, "{what}");
    }
    assert!(result.expanded_by_proviso == 0 || says(Ruling::Expanded) || says(Ruling::PutOff));
    if threads == 1 {
        let search = Search {
            proviso: Some(proviso),
            ..search
        };
        let mut exploration = search.begin().expect("everything fits");
        let mut most = 0;
        exploration.explore(Some(most));
        while exploration.is_waiting() {
            most += 1;
            exploration.explore(Some(most));
        }
        let in_parts = exploration.finish().expect("nothing to replay");
        assert_eq!(in_parts.states, result.states, "in parts, {what}");
        assert_eq!(in_parts.transitions, result.transitions, "in parts, {what}");
    }
    result.expanded_by_proviso
}

#[test]
fn on_random_graphs_provisos_keep_their_promises() {
    let mut expansions = [0_u64; 3];
    for seed in 0..1500 {
        let graph = Graph::random(seed, 14);
        let check = |proviso: &dyn SafetyProviso, order| {
            let what = format!("graph {seed}, {}, {order:?}", proviso.name());
            check_proviso(&graph, proviso, order, 1, &what)
        };
        for order in [Order::BreadthFirst, Order::DepthFirst] {
            expansions[0] += check(&ClosedSet, order);
        }
        expansions[1] += check(&OnStack, Order::DepthFirst);
        expansions[2] += check(&TerminalComponents, Order::BreadthFirst);
    }
    assert!(expansions.iter().all(|e| *e > 100), "{expansions:?}");
    assert!(expansions[2] < expansions[1], "{expansions:?}");
}

#[test]
fn on_several_threads_provisos_keep_their_promises() {
    for seed in 0..40 {
        let graph = Graph::random(seed, 3000);
        for threads in [2, 4] {
            let cases: [(&dyn SafetyProviso, Order); 3] = [
                (&ClosedSet, Order::BreadthFirst),
                (&ClosedSet, Order::DepthFirst),
                (&TerminalComponents, Order::BreadthFirst),
            ];
            for (proviso, order) in cases {
                let name = proviso.name();
                let what = format!("graph {seed}, {name}, {order:?}, {threads} threads");
                check_proviso(&graph, proviso, order, threads, &what);
            }
        }
    }
}

/// Keeps only steps to states not seen before (and one other if there are none): reaches
/// every state, by as few edges as there are.
struct OnlyFresh;

impl Reduction for OnlyFresh {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(OnlyFresh)
    }

    fn name(&self) -> String {
        "only fresh".into()
    }

    fn is_function_of_state(&self) -> bool {
        false
    }
}

impl Reducer for OnlyFresh {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        let is_known = expansion.is_known.as_mut().expect("the search can tell");
        let transitions = expansion.successors.transitions();
        for (number, transition) in transitions.iter().enumerate() {
            if !is_known(number) {
                kept.insert(transition.index());
            }
        }
        if kept.none() {
            kept.insert(transitions[0].index());
        }
        transitions.iter().any(|t| !kept.contains(t.index()))
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}

#[test]
fn a_reduction_may_ask_what_was_seen_before() {
    let model = common::models::philosophers(6);
    let states = 3_u64.pow(6) - 1;
    for order in [Order::BreadthFirst, Order::DepthFirst] {
        for threads in [1, 2] {
            for store in common::exact_stores() {
                let search = Search {
                    reduction: Some(&OnlyFresh),
                    order,
                    threads,
                    store,
                    targets: vec![Target::Deadlock],
                    ..Search::new(&model)
                };
                let result = run(&search);
                assert_eq!(result.states, states, "{search:?}");
                let trace = result.violations[0].trace.as_ref().expect("a trace");
                if order == Order::BreadthFirst {
                    // The way is looked for in the whole graph, so it is a shortest one.
                    assert_eq!((trace.len(), result.violations[0].length), (6, 6));
                }
            }
        }
    }
    let refused = Search {
        reduction: Some(&OnlyFresh),
        proviso: Some(&ClosedSet),
        ..Search::new(&model)
    };
    assert!(matches!(refused.run(), Err(SearchError::Mismatch(_))));
}
