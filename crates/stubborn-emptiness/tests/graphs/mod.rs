//! Random graphs with reduced lists of edges, and what must hold of the part of one that a
//! search has explored.

use stubborn_graph::components;
use stubborn_ltl::automaton::Marks;
use stubborn_ltl::random::Random;

/// The targets of each node, and which of them the reduction keeps.
pub(crate) type Lists = (Vec<Vec<u32>>, Vec<Vec<bool>>);

/// A random graph of one of several styles, with self-loops, double edges and nodes that
/// are full from the start.
pub(crate) fn random_graph(random: &mut Random) -> Lists {
    let count = 3 + random.below(12);
    let style = random.below(8);
    let mut edges = Vec::new();
    let mut kept = Vec::new();
    for node in 0..count {
        let mut targets: Vec<usize> = Vec::new();
        let anywhere =
            |targets: &mut Vec<usize>, least: usize, spread: usize, random: &mut Random| {
                for _ in 0..least + random.below(spread) {
                    targets.push(random.below(count));
                }
            };
        match style {
            0 => anywhere(&mut targets, 0, 5, random),
            1 => {
                targets.push((node + 1) % count);
                anywhere(&mut targets, 0, 3, random);
            }
            2 => {
                for _ in 0..1 + random.below(4) {
                    let step = [-4, -3, -2, -1, 1, 1, 2, 3][random.below(8)];
                    targets.push((node as i64 + step).clamp(0, count as i64 - 1) as usize);
                }
            }
            3 => anywhere(&mut targets, 2, 5, random),
            4 => {
                let ring = node - node % 3;
                targets.push((ring + (node + 1 - ring) % 3).min(count - 1));
                anywhere(&mut targets, 0, 4, random);
            }
            _ => {
                targets.push((node + 1).min(count - 1));
                anywhere(&mut targets, 1, 3, random);
            }
        }
        if random.below(100) < 12 {
            targets.push(node);
        }
        if !targets.is_empty() && random.below(100) < 15 {
            targets.push(targets[random.below(targets.len())]);
        }
        let size = targets.len();
        let mut own = vec![false; size];
        if size > 0 {
            let all = random.below(100) < 12;
            if style == 4 || style >= 5 && random.below(100) < 80 {
                let least = if style == 4 {
                    1
                } else {
                    size.saturating_sub(2).max(1)
                };
                let keep = (least + random.below(3)).min(if style == 4 { 1 } else { size });
                own[..keep].fill(true);
            } else {
                own[random.below(size)] = true;
                for k in &mut own {
                    *k |= random.below(3) == 0;
                }
            }
            if all {
                own.fill(true);
            }
        }
        edges.push(targets.into_iter().map(|t| t as u32).collect());
        kept.push(own);
    }
    (edges, kept)
}

/// What a search has explored, by node.
pub(crate) struct Explored {
    /// The edges that were explored.
    pub(crate) edges: Vec<Vec<(u32, Marks)>>,
    pub(crate) entered: Vec<bool>,
    /// All edges of the node were explored.
    pub(crate) expanded: Vec<bool>,
}

impl Explored {
    /// Whether some cycle collects all marks.
    pub(crate) fn is_accepting(&self, all: Marks) -> bool {
        let target = |node: u32, at: usize| self.edges[node as usize].get(at).map(|(to, _)| *to);
        let (component, count) = components(self.edges.len(), [0], target);
        let mut marks: Vec<Option<Marks>> = vec![None; count as usize];
        for node in (0..self.edges.len()).filter(|node| component[*node] != u32::MAX) {
            for (to, own) in &self.edges[node] {
                if component[node] == component[*to as usize] {
                    let known = &mut marks[component[node] as usize];
                    *known = Some(known.unwrap_or_default().union(*own));
                }
            }
        }
        marks.iter().flatten().any(|m| m.contains(all))
    }

    /// What is wrong: something was left out, or a cycle has no expanded node.
    pub(crate) fn complaint(&self) -> Option<&'static str> {
        let nodes = 0..self.edges.len();
        let targets = |node: usize| self.edges[node].iter().map(|(to, _)| *to);
        for node in nodes.clone().filter(|n| self.entered[*n]) {
            if targets(node).any(|to| !self.entered[to as usize]) {
                return Some("a successor was not visited");
            }
        }
        let plain = |node: u32| self.entered[node as usize] && !self.expanded[node as usize];
        let target = |node: u32, at: usize| targets(node as usize).filter(|to| plain(*to)).nth(at);
        let roots: Vec<u32> = nodes.map(|n| n as u32).filter(|n| plain(*n)).collect();
        let (component, count) = components(self.edges.len(), roots.clone(), target);
        let mut sizes = vec![0; count as usize];
        for node in &roots {
            sizes[component[*node as usize] as usize] += 1;
            if targets(*node as usize).any(|to| to == *node) {
                return Some("a self-loop without expansion");
            }
        }
        let has_cycle = sizes.iter().any(|size| *size > 1);
        has_cycle.then_some("a cycle without expansion")
    }
}
