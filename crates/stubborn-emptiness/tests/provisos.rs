//! The cycle checker: every proviso on random graphs.
//!
//! After a reduced walk, the graph of what was explored must be complete (every explored
//! edge leads to a visited node, every visited node has at least its kept edges explored) and
//! have no cycle without expanded node.

use stubborn_emptiness::proviso::CycleProviso;
use stubborn_emptiness::space::{Counts, Edge, Node, Space, flags};
use stubborn_emptiness::walk::{Emptiness, Walk};
use stubborn_graph::components;
use stubborn_ltl::automaton::Marks;
use stubborn_ltl::random::Random;
use stubborn_search::Limit;

use graphs::{Explored, random_graph};
use length::length;

use crate::graphs;
use crate::length;

/// A graph with all edges of each node, and which of them the reduction keeps.
#[derive(Clone, Debug)]
struct Graph {
    edges: Vec<Vec<(u32, Marks)>>,
    kept: Vec<Vec<bool>>,
    /// Actions of the edges; nothing where they do not matter.
    actions: Vec<Vec<u32>>,
    flags: Vec<u8>,
    entered: Vec<bool>,
}

impl Graph {
    fn random(random: &mut Random) -> Self {
        let (edges, kept) = random_graph(random);
        Self::new(edges, kept)
    }

    fn new(edges: Vec<Vec<u32>>, kept: Vec<Vec<bool>>) -> Self {
        let with_marks = |targets: Vec<u32>| targets.into_iter().map(|t| (t, Marks::NONE));
        Self {
            actions: Vec::new(),
            flags: vec![0; edges.len()],
            entered: vec![false; edges.len()],
            edges: edges.into_iter().map(|e| with_marks(e).collect()).collect(),
            kept,
        }
    }

    fn is_expanded(&self, node: usize) -> bool {
        self.flags[node] & flags::EXPANDED != 0 || self.kept[node].iter().all(|k| *k)
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
            entered: self.entered.clone(),
            expanded: nodes().map(|node| self.is_expanded(node)).collect(),
        }
    }

    fn append(&self, node: Node, wanted: bool, out: &mut Vec<Edge>) {
        let at = node.0 as usize;
        for ((to, marks), kept) in self.edges[at].iter().zip(&self.kept[at]) {
            if *kept == wanted {
                out.push(Edge::new(Node(u64::from(*to)), *marks));
            }
        }
    }
}

impl Space for Graph {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        out.push(Node(0));
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.entered[node.0 as usize] = true;
        self.append(node, true, out);
        Ok(self.kept[node.0 as usize].iter().any(|kept| !kept))
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.append(node, false, out);
        Ok(())
    }

    fn actions(&mut self, node: Node, out: &mut Vec<(u32, bool)>) -> Result<(), Limit> {
        let at = node.0 as usize;
        let actions = self.actions[at].iter().copied();
        out.extend(actions.zip(self.kept[at].iter().copied()));
        Ok(())
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.flags[node.0 as usize]
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        let own = &mut self.flags[node.0 as usize];
        std::mem::replace(own, *own | flags)
    }

    fn go_on(&mut self, _: usize, _: &Counts) -> Result<(), Limit> {
        Ok(())
    }
}

/// What is wrong after a walk.
fn complaint(graph: &Graph) -> Option<&'static str> {
    let mut entered = (0..graph.edges.len()).filter(|n| graph.entered[*n]);
    if entered.any(|node| graph.flags[node] & flags::DEAD == 0) {
        return Some("a component was not completed");
    }
    graph.part().complaint()
}

/// On this graph a node reaches three others that are on the path, and two of them do not count any
/// more when the third does.
const THREE_LINKS: u64 = 3_671;

fn check_provisos(graphs: u64) {
    for proviso in sound_provisos() {
        let mut expansions = 0;
        for seed in (0..graphs).chain([THREE_LINKS]) {
            let mut graph = Graph::random(&mut Random::new(seed + 1));
            let mut walk = Walk::new(&mut graph, proviso, Emptiness::Components, None);
            walk.run().expect("graphs have no limits");
            expansions += walk.counts.expanded_by_proviso;
            let problem = complaint(&graph);
            assert_eq!(problem, None, "{proviso}, graph {seed}: {graph:?}");
        }
        eprintln!("{proviso}: {expansions} expansions");
    }
}

#[test]
fn every_cycle_of_small_random_graphs_has_an_expanded_node() {
    check_provisos(1_000);
}

#[test]
#[ignore = "long: 30,000 graphs for each of more than fifty provisos"]
fn every_cycle_of_many_random_graphs_has_an_expanded_node() {
    check_provisos(30_000 * length());
}

/// A graph whose edges have one of three actions, and a walk with the strong proviso. An
/// expanded node ignores nothing, which is right for strong sets: what they leave out stays
/// possible.
fn walked_with_actions(edges: Vec<Vec<u32>>, kept: Vec<Vec<bool>>, actions: Vec<Vec<u32>>) -> u64 {
    let strong: CycleProviso = "opt-scp".parse().expect("it is a name");
    let mut graph = Graph {
        actions,
        ..Graph::new(edges, kept)
    };
    let mut walk = Walk::new(&mut graph, strong, Emptiness::Components, None);
    walk.run().expect("graphs have no limits");
    let expansions = walk.counts.expanded_by_proviso;
    for action in 0..3 {
        let has = |node: usize| graph.actions[node].contains(&action);
        let takes = |node: usize| {
            let mut own = graph.actions[node].iter().zip(&graph.kept[node]);
            graph.is_expanded(node) || own.any(|(a, kept)| *a == action && *kept)
        };
        let left = |node: u32| graph.entered[node as usize] && !takes(node as usize);
        let target = |node: u32, at: usize| {
            let targets = graph.explored(node as usize).map(|(to, _)| to);
            targets.filter(|to| left(*to)).nth(at)
        };
        let roots: Vec<u32> = (0..graph.edges.len() as u32).filter(|n| left(*n)).collect();
        let (component, _) = components(graph.edges.len(), roots.clone(), target);
        for node in roots.into_iter().filter(|n| has(*n as usize)) {
            let own = component[node as usize];
            let mut targets = graph.explored(node as usize).map(|(to, _)| to);
            let ignores = targets.any(|to| left(to) && component[to as usize] == own);
            assert!(!ignores, "action {action} at {node} of {graph:?}");
        }
    }
    expansions
}

#[test]
fn the_strong_proviso_ignores_no_action_on_any_cycle() {
    let mut expansions = 0;
    for seed in 0..4_000 {
        let mut random = Random::new(seed + 1);
        let (edges, mut kept) = random_graph(&mut random);
        let mut action = || random.below(3) as u32;
        let actions: Vec<Vec<u32>> = edges
            .iter()
            .map(|own| own.iter().map(|_| action()).collect())
            .collect();
        // A set keeps an action or does not.
        for (own, kept) in actions.iter().zip(&mut kept) {
            let all: Vec<bool> = kept.clone();
            for (at, action) in own.iter().enumerate() {
                kept[at] = own.iter().zip(&all).any(|(a, k)| a == action && *k);
            }
        }
        expansions += walked_with_actions(edges, kept, actions);
    }
    assert!(expansions > 1_000, "{expansions}");
}

/// Round a ring where every node leaves something out: nothing is ignored if the next one
/// takes it.
#[test]
fn the_strong_proviso_expands_only_where_something_is_ignored() {
    let ring = |action_of: fn(u32) -> u32| {
        let edges = (0..4).map(|n| vec![(n + 1) % 4, 4]).chain([vec![]]);
        let kept = (0..4).map(|_| vec![true, false]).chain([vec![]]);
        let actions = (0..4).map(|n| vec![action_of(n), 1 - action_of(n)]);
        walked_with_actions(
            edges.collect(),
            kept.collect(),
            actions.chain([vec![]]).collect(),
        )
    };
    assert_eq!(ring(|node| node % 2), 0);
    assert_eq!(ring(|_| 0), 1);
}

#[test]
fn the_checker_notices_that_there_is_no_proviso() {
    let ignoring = (0..200).filter(|seed| {
        let mut graph = Graph::random(&mut Random::new(*seed));
        let mut walk = Walk::new(&mut graph, CycleProviso::NONE, Emptiness::Components, None);
        walk.run().expect("graphs have no limits");
        complaint(&graph).is_some()
    });
    assert!(ignoring.count() > 50);
}

/// Seven nodes on which highlinks that follow dangerous nodes only, from hop to hop, leave
/// the cycle 1, 5, 4 without expanded node.
#[test]
fn links_through_expanded_nodes_are_followed() {
    let edges = vec![
        vec![1, 6],
        vec![2, 5, 6],
        vec![3, 0, 6],
        vec![4],
        vec![2, 1, 6],
        vec![4, 6],
        vec![],
    ];
    let kept: Vec<Vec<bool>> = edges
        .iter()
        .map(|e: &Vec<u32>| e.iter().map(|to| *to != 6).collect())
        .collect();
    for proviso in sound_provisos() {
        for order in 0..64 {
            let mut graph = Graph::new(edges.clone(), kept.clone());
            for (node, bit) in [(1, 1), (2, 2), (4, 4)] {
                if order & bit != 0 {
                    graph.edges[node].swap(0, 1);
                }
            }
            let mut walk = Walk::new(&mut graph, proviso, Emptiness::Components, None);
            walk.run().expect("graphs have no limits");
            assert_eq!(complaint(&graph), None, "{proviso}");
        }
    }
}

/// Both emptiness checks on the same graphs with marks, reduced or not, find an accepting
/// cycle in the explored graph exactly if there is one.
#[test]
fn emptiness_checks_agree_with_the_components() {
    let provisos = CycleProviso::all_of_graphs();
    let mut accepting = 0;
    for seed in 0..6_000 {
        let mut random = Random::new(seed + 77);
        let mut graph = Graph::random(&mut random);
        let sets = random.below(3) as u32;
        for edge in graph.edges.iter_mut().flatten() {
            edge.1 = Marks(random.below(8) as u32 & random.below(8) as u32 & Marks::all(sets).0);
        }
        let proviso = provisos[random.below(provisos.len())];
        for emptiness in Emptiness::ALL {
            if emptiness == Emptiness::Nested && sets > 1 {
                continue;
            }
            let mut walked = graph.clone();
            let all = Marks::all(sets);
            let mut walk = Walk::new(&mut walked, proviso, emptiness, Some(all));
            let found = walk.run().expect("graphs have no limits");
            if found {
                let inside: Vec<usize> = walk.accepting_component().map(|n| n.0 as usize).collect();
                let mut marks = Marks::NONE;
                for node in &inside {
                    for (to, own) in walked.explored(*node) {
                        if inside.contains(&(to as usize)) {
                            marks = marks.union(own);
                        }
                    }
                }
                assert!(marks.contains(all), "{emptiness:?} {proviso} {seed}");
                accepting += 1;
            } else {
                let missed = walked.part().is_accepting(all);
                assert!(!missed, "{emptiness:?} {proviso} {seed}");
            }
        }
    }
    assert!(accepting > 500, "{accepting}");
}

/// Those that a walk decides by itself.
fn sound_provisos() -> Vec<CycleProviso> {
    let mut all = CycleProviso::all_of_graphs();
    all.retain(CycleProviso::is_sound);
    all
}
