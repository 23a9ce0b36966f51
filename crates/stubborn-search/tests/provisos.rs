//! Provisos: nothing may be ignored for ever, in any order and on any number of threads.

mod common;

use std::collections::HashMap;
use std::sync::Mutex;

use common::graph::{Graph, current_node};
use common::models::{Builder, is};
use common::run;
use stubborn_ir::{Expr, Model};
use stubborn_search::proviso::{
    ClosedSet, Edge, EdgeOrder, Known, Marks, Needs, OnStack, Proviso, ProvisoWorker,
    TerminalComponents, Visit,
};
use stubborn_search::{
    Order, Search, SearchError, StateHandle, Stop, StoreKind, StoreOptions, Target,
};
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
    let mut ways: Vec<(&dyn Proviso, Order, usize)> = vec![(&on_stack, Order::DepthFirst, 1)];
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

/// Which nodes were entered, and whether they were expanded in the end.
#[derive(Default)]
struct Log {
    nodes: HashMap<StateHandle, u32>,
    expanded: HashMap<u32, bool>,
}

/// The rules under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The library's own.
    ClosedSet,
    OnStack,
    Terminal,
    /// Expand if any kept successor is closed: a cycle proviso for any order.
    AnyClosed,
    /// Expand the source of an edge to the stack.
    Source(EdgeOrder),
    /// Mark the destination of an edge to the stack, and expand it on backtracking.
    Destination(EdgeOrder),
}

impl Rule {
    /// Safety: from everywhere an expanded state or an end is reachable. Else: every
    /// cycle has an expanded state.
    fn is_for_safety(self) -> bool {
        matches!(self, Rule::ClosedSet | Rule::OnStack | Rule::Terminal)
    }
}

struct Logged {
    rule: Rule,
    log: Mutex<Log>,
}

impl Proviso for Logged {
    fn name(&self) -> String {
        format!("{:?}", self.rule)
    }

    fn needs(&self) -> Needs {
        match self.rule {
            Rule::ClosedSet | Rule::AnyClosed => Needs::default(),
            Rule::OnStack => OnStack.needs(),
            Rule::Terminal => TerminalComponents.needs(),
            Rule::Source(edge_order) | Rule::Destination(edge_order) => Needs {
                depth_first: true,
                edges: true,
                edge_order,
                ..Needs::default()
            },
        }
    }

    fn worker(&self) -> Box<dyn ProvisoWorker + '_> {
        Box::new(LoggedWorker {
            shared: self,
            stack: Vec::new(),
            terminal: TerminalComponents.worker(),
        })
    }
}

struct LoggedWorker<'a> {
    shared: &'a Logged,
    stack: Vec<StateHandle>,
    terminal: Box<dyn ProvisoWorker + 'a>,
}

impl LoggedWorker<'_> {
    fn note(&self, visit: Visit<'_>, expands: bool) -> bool {
        let mut log = self.shared.log.lock().unwrap();
        let node = log.nodes[&visit.state];
        *log.expanded.get_mut(&node).unwrap() |= expands;
        expands
    }

    fn check_stack(&self, visit: Visit<'_>) {
        if !visit.stack.is_empty() && self.shared.needs().depth_first {
            let view: Vec<_> = (0..visit.stack.len())
                .map(|d| visit.stack.state(d))
                .collect();
            assert_eq!(
                view, self.stack,
                "the stack is not what was entered and not left"
            );
        }
    }
}

impl ProvisoWorker for LoggedWorker<'_> {
    fn on_enter(&mut self, visit: Visit<'_>, _: &mut Marks<'_, '_>) {
        let node = current_node();
        self.stack.push(visit.state);
        self.check_stack(visit);
        let mut log = self.shared.log.lock().unwrap();
        assert!(
            log.nodes.insert(visit.state, node).is_none(),
            "entered twice"
        );
        log.expanded.insert(node, visit.expanded);
    }

    fn on_successors(
        &mut self,
        visit: Visit<'_>,
        kept: &[Edge],
        marks: &mut Marks<'_, '_>,
    ) -> bool {
        self.check_stack(visit);
        assert!(!visit.expanded);
        let expands = match self.shared.rule {
            Rule::ClosedSet => ClosedSet.worker().on_successors(visit, kept, marks),
            Rule::OnStack => OnStack.worker().on_successors(visit, kept, marks),
            Rule::Terminal => self.terminal.on_successors(visit, kept, marks),
            Rule::AnyClosed => kept.iter().any(|e| e.known == Known::Closed),
            Rule::Source(_) | Rule::Destination(_) => false,
        };
        self.note(visit, expands)
    }

    fn put_off(&mut self) -> Vec<StateHandle> {
        self.terminal.put_off()
    }

    fn on_expanded(&mut self, state: StateHandle) {
        let mut log = self.shared.log.lock().unwrap();
        let node = log.nodes[&state];
        assert_eq!(log.expanded.insert(node, true), Some(false));
    }

    fn on_known_successor(
        &mut self,
        visit: Visit<'_>,
        edge: Edge,
        marks: &mut Marks<'_, '_>,
    ) -> bool {
        self.check_stack(visit);
        assert_eq!(edge.known == Known::OnStack, self.stack.contains(&edge.to));
        assert_eq!(edge.known == Known::Closed, !self.stack.contains(&edge.to));
        if let Rule::Destination(_) = self.shared.rule
            && edge.known == Known::OnStack
        {
            marks.set(edge.to, 1);
        }
        let is_source = matches!(self.shared.rule, Rule::Source(_));
        self.note(visit, is_source && edge.known == Known::OnStack)
    }

    fn on_exhausted(&mut self, visit: Visit<'_>, marks: &mut Marks<'_, '_>) -> bool {
        self.check_stack(visit);
        assert!(!visit.expanded);
        let is_marked = marks.get(visit.state) & 1 != 0;
        self.note(visit, is_marked)
    }

    fn on_leave(&mut self, visit: Visit<'_>, marks: &mut Marks<'_, '_>) {
        self.check_stack(visit);
        assert_eq!(self.stack.pop(), Some(visit.state));
        assert_eq!(marks.is_expanded(visit.state), visit.expanded);
        let log = self.shared.log.lock().unwrap();
        assert_eq!(log.expanded[&log.nodes[&visit.state]], visit.expanded);
    }

    fn on_child_done(&mut self, parent: Visit<'_>, child: StateHandle, _: &mut Marks<'_, '_>) {
        self.check_stack(parent);
        assert!(!self.stack.contains(&child));
    }
}

/// Whether every cycle among `nodes` has an expanded node: take away nodes without
/// unexpanded successors until nothing changes.
fn every_cycle_is_broken(graph: &Graph, expanded: &HashMap<u32, bool>) -> bool {
    let mut rest: Vec<u32> = expanded
        .iter()
        .filter(|(_, e)| !**e)
        .map(|(n, _)| *n)
        .collect();
    loop {
        let before = rest.len();
        let now = rest.clone();
        rest.retain(|node| graph.explored(*node, false).any(|to| now.contains(&to)));
        if rest.len() == before {
            return rest.is_empty();
        }
    }
}

/// Whether from every node an expanded one, or one without edges, can be reached.
fn nothing_is_ignored(graph: &Graph, expanded: &HashMap<u32, bool>) -> bool {
    let mut good: Vec<u32> = expanded
        .iter()
        .filter(|(_, e)| **e)
        .map(|(n, _)| *n)
        .collect();
    loop {
        let more: Vec<u32> = expanded
            .keys()
            .filter(|n| !good.contains(n))
            .filter(|n| graph.explored(**n, false).any(|to| good.contains(&to)))
            .copied()
            .collect();
        if more.is_empty() {
            return good.len() == expanded.len();
        }
        good.extend(more);
    }
}

fn check_rule(graph: &Graph, rule: Rule, order: Order, threads: usize, what: &str) -> u64 {
    let proviso = Logged {
        rule,
        log: Mutex::default(),
    };
    let search = Search {
        reduction: Some(graph),
        proviso: Some(&proviso),
        order,
        threads,
        ..Search::new(graph)
    };
    let result = run(&search);
    let log = proviso.log.into_inner().unwrap();
    // What was explored is closed under the edges that should be explored, and no more.
    assert_eq!(result.states, log.expanded.len() as u64, "{what}");
    let mut transitions = 0;
    let mut reached = vec![0];
    let mut at = 0;
    while at < reached.len() {
        for to in graph.explored(reached[at], log.expanded[&reached[at]]) {
            transitions += 1;
            if !reached.contains(&to) {
                reached.push(to);
            }
        }
        at += 1;
    }
    assert_eq!(reached.len(), log.expanded.len(), "{what}");
    assert_eq!(result.transitions, transitions, "{what}");
    if rule.is_for_safety() {
        assert!(nothing_is_ignored(graph, &log.expanded), "{what}");
    } else {
        assert!(every_cycle_is_broken(graph, &log.expanded), "{what}");
    }
    result.expanded_by_proviso
}

#[test]
fn on_random_graphs_rules_keep_their_promises() {
    let orders = [
        EdgeOrder::AsGiven,
        EdgeOrder::KnownFirst,
        EdgeOrder::UnknownFirst,
    ];
    let mut expansions = [0_u64; 3];
    for seed in 0..1500 {
        let graph = Graph::random(seed, 14);
        let check = |rule, order| {
            let what = format!("graph {seed}, {rule:?}, {order:?}");
            check_rule(&graph, rule, order, 1, &what)
        };
        for order in [Order::BreadthFirst, Order::DepthFirst] {
            expansions[0] += check(Rule::ClosedSet, order);
            check(Rule::AnyClosed, order);
        }
        expansions[1] += check(Rule::OnStack, Order::DepthFirst);
        expansions[2] += check(Rule::Terminal, Order::BreadthFirst);
        for edge_order in orders {
            check(Rule::Source(edge_order), Order::DepthFirst);
            check(Rule::Destination(edge_order), Order::DepthFirst);
        }
    }
    assert!(expansions.iter().all(|e| *e > 100), "{expansions:?}");
    assert!(expansions[2] < expansions[1], "{expansions:?}");
}

#[test]
fn on_several_threads_rules_keep_their_promises() {
    for seed in 0..40 {
        let graph = Graph::random(seed, 3000);
        for threads in [2, 4] {
            for order in [Order::BreadthFirst, Order::DepthFirst] {
                for rule in [Rule::ClosedSet, Rule::AnyClosed, Rule::Terminal] {
                    if rule == Rule::Terminal && order == Order::DepthFirst {
                        continue;
                    }
                    let what = format!("graph {seed}, {rule:?}, {order:?}, {threads} threads");
                    check_rule(&graph, rule, order, threads, &what);
                }
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
