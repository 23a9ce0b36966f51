//! Explicit random graphs as systems, with an arbitrary reduction: what provisos are tested
//! on. (The reduction need not be sound for anything; a proviso does not care.)

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Mutex;

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    BitSet, Executor, Expansion, FieldKind, LabelId, Layout, Outcome, Random, Reducer, Reduction,
    SetMember, Structure, Successors, System, Transition, TransitionId,
};

thread_local! {
    /// The node whose successors were computed last on this thread.
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The node whose successors were computed last on this thread.
pub fn current_node() -> u32 {
    CURRENT.get()
}

/// A graph; edge `k` of a node is a step by transition `k`.
pub struct Graph {
    pub edges: Vec<Vec<u32>>,
    /// For each node, the edges that the reduction keeps.
    pub kept: Vec<Vec<bool>>,
    /// Nodes whose successors were computed.
    pub visited: Mutex<BTreeSet<u32>>,
    layout: Layout,
    structure: Structure,
}

impl Graph {
    pub fn new(edges: Vec<Vec<u32>>, kept: Vec<Vec<bool>>) -> Self {
        let mut builder = LayoutBuilder::new();
        let last = edges.len() as i64 - 1;
        builder.field("node", (0, last.max(1)), FieldKind::Integer, None);
        let most = edges.iter().map(Vec::len).max().unwrap_or(0);
        let structure = Structure {
            transitions: vec![Transition::default(); most],
            ..Structure::default()
        };
        Self {
            edges,
            kept,
            visited: Mutex::default(),
            layout: builder.finish(),
            structure,
        }
    }

    /// Up to `most` nodes with up to 4 edges each; self-loops and double edges included.
    pub fn random(seed: u64, most: usize) -> Self {
        let random = &mut Random::new(seed);
        let nodes = 2 + random.below(most - 1);
        let (mut edges, mut kept) = (Vec::new(), Vec::new());
        for _ in 0..nodes {
            let count = random.below(5);
            edges.push((0..count).map(|_| random.below(nodes) as u32).collect());
            let mut keep: Vec<bool> = (0..count).map(|_| random.percent(60)).collect();
            if count > 0 && !keep.contains(&true) {
                keep[random.below(count)] = true;
            }
            kept.push(keep);
        }
        Self::new(edges, kept)
    }

    /// Edges that are explored if a node is or is not expanded.
    pub fn explored(&self, node: u32, expanded: bool) -> impl Iterator<Item = u32> + '_ {
        let node = node as usize;
        let edges = self.edges[node].iter().zip(&self.kept[node]);
        edges
            .filter(move |(_, kept)| expanded || **kept)
            .map(|(to, _)| *to)
    }
}

impl System for Graph {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        vec![0]
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Walk(self))
    }
}

struct Walk<'a>(&'a Graph);

impl Executor for Walk<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        CURRENT.set(state[0]);
        self.0.visited.lock().unwrap().insert(state[0]);
        for (transition, to) in self.0.edges[state[0] as usize].iter().enumerate() {
            out.push(TransitionId::new(transition), state, &[*to], Outcome::FINE);
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if let Some(to) = self.0.edges[state[0] as usize].get(transition.index()) {
            out.push(transition, state, &[*to], Outcome::FINE);
        }
    }

    fn label(&mut self, _: &[u32], _: LabelId) -> bool {
        false
    }
}

impl Reduction for Graph {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(Keep(self))
    }

    fn name(&self) -> String {
        "random".into()
    }
}

struct Keep<'a>(&'a Graph);

impl Reducer for Keep<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        kept.clear();
        let keeps = &self.0.kept[expansion.state[0] as usize];
        for (transition, keep) in keeps.iter().enumerate() {
            kept.assign(transition, *keep);
        }
        keeps.contains(&false)
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}
