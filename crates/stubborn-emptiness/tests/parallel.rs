//! Emptiness checks by several threads on random graphs: the verdict is that of the graph they
//! explored, every cycle of it has an expanded node, and nothing is left out.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use stubborn_emptiness::parallel::cndfs::NestedWorker;
use stubborn_emptiness::parallel::components::{ComponentWorker, Sets};
use stubborn_emptiness::parallel::flags::LEFT;
use stubborn_emptiness::parallel::{FoundLasso, Outcome, Shared, flags};
use stubborn_emptiness::space::{Counts, Edge, Node, Space};
use stubborn_emptiness::walk::Emptiness;
use stubborn_ltl::automaton::Marks;
use stubborn_ltl::random::Random;
use stubborn_search::Limit;

use graphs::{Explored, random_graph};
use length::length;

use crate::graphs;
use crate::length;

/// A graph that several workers look at.
#[derive(Debug)]
struct Graph {
    edges: Vec<Vec<(u32, Marks)>>,
    kept: Vec<Vec<bool>>,
    flags: Vec<AtomicU8>,
    entered: Vec<AtomicU8>,
}

impl Graph {
    fn random(random: &mut Random, sets: u32) -> Self {
        let (edges, kept) = random_graph(random);
        let zeros = || edges.iter().map(|_| AtomicU8::new(0)).collect();
        let (flags, entered) = (zeros(), zeros());
        let mut mark = |to: u32| {
            let marks = random.below(8) & random.below(8) & random.below(8);
            (to, Marks(marks as u32 & Marks::all(sets).0))
        };
        let edges = edges
            .into_iter()
            .map(|targets| targets.into_iter().map(&mut mark).collect())
            .collect();
        Self {
            edges,
            kept,
            flags,
            entered,
        }
    }

    fn is_expanded(&self, node: usize) -> bool {
        self.flags[node].load(Ordering::SeqCst) & flags::EXPANDED != 0
            || self.kept[node].iter().all(|k| *k)
    }

    fn was_entered(&self, node: usize) -> bool {
        self.entered[node].load(Ordering::SeqCst) != 0
    }

    fn explored(&self, node: usize) -> impl Iterator<Item = (u32, Marks)> + '_ {
        let all = self.is_expanded(node);
        let edges = self.edges[node].iter().zip(&self.kept[node]);
        edges
            .filter(move |(_, kept)| all || **kept)
            .map(|(edge, _)| *edge)
    }

    /// What was explored.
    fn part(&self) -> Explored {
        let nodes = || 0..self.edges.len();
        Explored {
            edges: nodes().map(|node| self.explored(node).collect()).collect(),
            entered: nodes().map(|node| self.was_entered(node)).collect(),
            expanded: nodes().map(|node| self.is_expanded(node)).collect(),
        }
    }

    /// Whether the nodes are a lasso with an edge that has all marks on its cycle.
    fn is_lasso(&self, lasso: &FoundLasso, all: Marks) -> bool {
        let nodes: Vec<usize> = lasso
            .stem
            .iter()
            .chain(&lasso.cycle)
            .chain(lasso.cycle.first())
            .map(|node| node.0 as usize)
            .collect();
        let steps = nodes.windows(2).all(|pair| {
            let mut edges = self.edges[pair[0]].iter();
            edges.any(|(to, _)| *to as usize == pair[1])
        });
        let accepting = nodes[lasso.stem.len()..].windows(2).any(|pair| {
            let mut edges = self.edges[pair[0]].iter();
            edges.any(|(to, marks)| *to as usize == pair[1] && marks.contains(all))
        });
        nodes[0] == 0 && steps && accepting
    }
}

/// One worker's view.
struct View<'g>(&'g Graph, Random);

impl View<'_> {
    /// Lets others in, at places that differ from run to run.
    fn let_others_in(&mut self) {
        if self.1.below(3) == 0 {
            std::thread::yield_now();
        }
    }

    fn append(&mut self, node: Node, wanted: bool, out: &mut Vec<Edge>) {
        self.let_others_in();
        let at = node.0 as usize;
        for ((to, marks), kept) in self.0.edges[at].iter().zip(&self.0.kept[at]) {
            if *kept == wanted {
                out.push(Edge::new(Node(u64::from(*to)), *marks));
            }
        }
    }
}

impl Space for View<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        out.push(Node(0));
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.0.entered[node.0 as usize].store(1, Ordering::SeqCst);
        self.append(node, true, out);
        Ok(self.0.kept[node.0 as usize].iter().any(|kept| !kept))
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.append(node, false, out);
        Ok(())
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.let_others_in();
        self.0.flags[node.0 as usize].load(Ordering::SeqCst)
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        self.0.flags[node.0 as usize].fetch_or(flags, Ordering::SeqCst)
    }

    fn go_on(&mut self, _: usize, _: &Counts) -> Result<(), Limit> {
        Ok(())
    }
}

/// Whether a lasso can be found again: a way into the component of a node over nodes that were seen, and in it
/// a cycle with all marks.
fn can_be_found_again(graph: &Graph, sets: &Sets, first: Node, all: Marks) -> bool {
    let node = |at: usize| Node(at as u64);
    let is_inside = |at: usize| sets.are_together(node(at), first);
    let is_left = |at: usize| graph.flags[at].load(Ordering::SeqCst) & LEFT != 0;
    let is_open = |at: usize| sets.contains(node(at)) || is_left(at);
    let reached = |from: usize, may_enter: &dyn Fn(usize) -> bool| {
        let mut reached = vec![false; graph.edges.len()];
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            for (to, _) in &graph.edges[at] {
                let to = *to as usize;
                if may_enter(to) && !std::mem::replace(&mut reached[to], true) {
                    todo.push(to);
                }
            }
        }
        reached
    };
    let mut ways = reached(0, &is_open);
    ways[0] |= is_open(0);
    let inside: Vec<usize> = (0..graph.edges.len()).filter(|n| is_inside(*n)).collect();
    let is_reached = inside.iter().any(|at| ways[*at]);
    // Everything in there leads to everything in there.
    let is_cyclic = inside.iter().all(|from| {
        let reached = reached(*from, &is_inside);
        inside.iter().all(|to| reached[*to])
    });
    let edges = inside.iter().flat_map(|at| &graph.edges[*at]);
    let marks = edges.filter(|(to, _)| is_inside(*to as usize));
    let marks = marks.fold(Marks::NONE, |marks, (_, more)| marks.union(*more));
    is_reached && is_cyclic && marks.contains(all)
}

fn search(graph: &Graph, emptiness: Emptiness, threads: usize, all: Marks, seed: u64) -> Outcome {
    let shared = Shared::default();
    let sets = Sets::default();
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (shared, sets) = (&shared, &sets);
            scope.spawn(move || {
                let mut view = View(graph, Random::new(seed ^ worker as u64));
                match emptiness {
                    Emptiness::Components => {
                        ComponentWorker::new(&mut view, shared, sets, worker, all).run();
                    }
                    Emptiness::Nested => NestedWorker::new(&mut view, shared, worker, all).run(),
                }
            });
        }
    });
    let outcome = shared.outcome();
    let nodes = 0..graph.edges.len();
    let counted = shared.counts().states as usize;
    match outcome {
        Outcome::Empty => {
            let entered = nodes.filter(|n| graph.was_entered(*n));
            assert_eq!(counted, entered.count(), "{emptiness:?}");
        }
        _ => assert!(0 < counted && counted <= nodes.len(), "{emptiness:?}"),
    }
    if let (Emptiness::Components, Outcome::Accepting(lasso)) = (emptiness, &outcome) {
        let first = lasso.cycle[0];
        sets.close_cycles();
        assert!(
            can_be_found_again(graph, &sets, first, all),
            "{first:?} {graph:?}"
        );
    }
    outcome
}

fn run(seeds: std::ops::Range<u64>) {
    let mut accepting = 0;
    let mut empty = 0;
    for seed in seeds {
        for emptiness in Emptiness::ALL {
            let mut random = Random::new(seed + 1);
            let sets = match emptiness {
                Emptiness::Components => random.below(4) as u32,
                Emptiness::Nested => 1,
            };
            // Marks that no edge has, now and then: then everything is explored.
            let all = match seed % 3 {
                0 => Marks(1 << 9),
                _ => Marks::all(sets),
            };
            let graph = Graph::random(&mut random, sets);
            let threads = 1 + seed as usize % 4;
            match search(&graph, emptiness, threads, all, seed) {
                Outcome::Empty => {
                    empty += 1;
                    assert_eq!(
                        graph.part().complaint(),
                        None,
                        "{emptiness:?} {seed} {graph:?}"
                    );
                    assert!(
                        !graph.part().is_accepting(all),
                        "{emptiness:?} {seed} {graph:?}"
                    );
                }
                Outcome::Accepting(lasso) => {
                    accepting += 1;
                    let is_real = match emptiness {
                        Emptiness::Components => graph.part().is_accepting(all),
                        Emptiness::Nested => graph.is_lasso(&lasso, all),
                    };
                    assert!(is_real, "{emptiness:?} {seed} {lasso:?} {graph:?}");
                }
                Outcome::Stopped(limit) => panic!("{limit:?}"),
            }
        }
    }
    eprintln!("{accepting} accepting, {empty} empty");
    assert!(accepting > 50 && empty > 50);
}

/// How far two workers are that must meet.
#[derive(Default)]
struct Stage {
    /// The first has left node 1, and is about to look for a way back to node 0.
    is_left: AtomicBool,
    /// How often the second has asked for node 0.
    asked: AtomicU32,
    /// The second is done.
    is_done: AtomicBool,
}

/// A worker that waits for the other one.
struct Staged<'g> {
    view: View<'g>,
    stage: &'g Stage,
    is_first: bool,
}

fn until(what: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !what() && start.elapsed().as_secs() < 20 {
        std::thread::yield_now();
    }
}

impl Space for Staged<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        let mut nodes = [Node(0), Node(2)];
        if !self.is_first {
            until(|| self.stage.is_left.load(Ordering::SeqCst));
            nodes.reverse();
        }
        out.extend(nodes);
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.view.kept(node, out)
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.view.rest(node, out)
    }

    fn flags(&mut self, node: Node) -> u8 {
        if !self.is_first && node == Node(0) {
            self.stage.asked.fetch_add(1, Ordering::SeqCst);
        }
        self.view.flags(node)
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        let before = self.view.set_flags(node, flags);
        if self.is_first && node == Node(1) && flags & LEFT != 0 {
            let stage = self.stage;
            stage.is_left.store(true, Ordering::SeqCst);
            let waits = || stage.asked.load(Ordering::SeqCst) > 50;
            until(|| waits() || stage.is_done.load(Ordering::SeqCst));
        }
        before
    }

    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        self.view.go_on(bytes, counts)
    }
}

/// Nodes 0 and 1 are a cycle, and 2 leads to 1; edges to 1 are accepting. While the first worker has still
/// to look for the way back from 1 to 0, the second one comes from 2 to 1 and 0, without success: it must
/// not say that these are harmless.
#[test]
fn what_others_have_still_to_look_at_is_not_harmless() {
    let all = Marks(1);
    let zeros = || (0..3).map(|_| AtomicU8::new(0)).collect();
    let graph = Graph {
        edges: vec![
            vec![(1, all), (0, Marks::NONE)],
            vec![(0, Marks::NONE)],
            vec![(1, all)],
        ],
        kept: vec![vec![true; 2]; 3],
        flags: zeros(),
        entered: zeros(),
    };
    let (shared, stage) = (Shared::default(), Stage::default());
    std::thread::scope(|scope| {
        for worker in [0, 1] {
            let (graph, shared, stage) = (&graph, &shared, &stage);
            scope.spawn(move || {
                let mut space = Staged {
                    view: View(graph, Random::new(1)),
                    stage,
                    is_first: worker == 0,
                };
                NestedWorker::new(&mut space, shared, worker, all).run();
                if worker == 1 {
                    stage.is_done.store(true, Ordering::SeqCst);
                }
            });
        }
    });
    assert!(matches!(shared.outcome(), Outcome::Accepting(_)));
}

#[test]
fn threads_agree_with_the_components() {
    run(0..2_000);
}

#[test]
#[ignore = "long: many graphs"]
fn threads_agree_with_the_components_at_length() {
    run(2_000..2_000 + 23_000 * length());
}
