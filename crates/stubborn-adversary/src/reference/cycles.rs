//! Whether a graph has a cycle that collects all marks.

/// An edge to a node, with marks as bits.
pub type Marked = (usize, u64);

/// Whether from one of the nodes `starts` a cycle can be reached on which edges carry, all
/// together, all of the marks in `all` (any cycle will do where there are none). Nodes are
/// found by asking for the edges of those known.
///
/// A cycle with all marks is one within a strongly connected component whose edges have all
/// marks. Components by Tarjan, *Depth-first search and linear graph algorithms*, 1972.
pub fn has_marked_cycle(
    starts: &[usize],
    all: u64,
    mut edges_of: impl FnMut(usize) -> Vec<Marked>,
) -> bool {
    let graph = Explored::new(starts, &mut edges_of);
    let component = graph.components();
    let count = component.iter().max().map_or(0, |last| last + 1);
    let mut marks = vec![0; count];
    let mut has_cycle = vec![false; count];
    for (from, edges) in graph.edges.iter().enumerate() {
        for (to, edge_marks) in edges {
            if component[from] == component[*to] {
                has_cycle[component[from]] = true;
                marks[component[from]] |= edge_marks;
            }
        }
    }
    (0..count).any(|c| has_cycle[c] && marks[c] & all == all)
}

/// The nodes that can be reached, numbered anew.
struct Explored {
    edges: Vec<Vec<Marked>>,
}

impl Explored {
    fn new(starts: &[usize], edges_of: &mut impl FnMut(usize) -> Vec<Marked>) -> Self {
        let mut numbers = std::collections::HashMap::new();
        let mut nodes = Vec::new();
        let mut edges: Vec<Vec<Marked>> = Vec::new();
        let mut number_of = |node: usize, nodes: &mut Vec<usize>| {
            *numbers.entry(node).or_insert_with(|| {
                nodes.push(node);
                nodes.len() - 1
            })
        };
        for start in starts {
            number_of(*start, &mut nodes);
        }
        while edges.len() < nodes.len() {
            let out = edges_of(nodes[edges.len()]);
            let out = out.into_iter();
            edges.push(
                out.map(|(to, marks)| (number_of(to, &mut nodes), marks))
                    .collect(),
            );
        }
        Self { edges }
    }

    /// The number of the component of every node.
    fn components(&self) -> Vec<usize> {
        const UNSEEN: usize = usize::MAX;
        let count = self.edges.len();
        let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
        let mut component = vec![UNSEEN; count];
        let (mut next_index, mut next_component) = (0, 0);
        let mut stack = Vec::new();
        for root in 0..count {
            if index[root] != UNSEEN {
                continue;
            }
            // A node and how many of its edges were looked at.
            let mut path = vec![(root, 0)];
            while let Some((node, done)) = path.pop() {
                if done == 0 {
                    index[node] = next_index;
                    low[node] = next_index;
                    next_index += 1;
                    stack.push(node);
                } else {
                    // Back from the last edge.
                    let child = self.edges[node][done - 1].0;
                    low[node] = low[node].min(low[child]);
                }
                let mut at = done;
                let mut child = None;
                while let Some((to, _)) = self.edges[node].get(at) {
                    at += 1;
                    if index[*to] == UNSEEN {
                        child = Some(*to);
                        break;
                    }
                    if component[*to] == UNSEEN {
                        low[node] = low[node].min(index[*to]);
                    }
                }
                if let Some(child) = child {
                    path.push((node, at));
                    path.push((child, 0));
                } else if low[node] == index[node] {
                    while let Some(member) = stack.pop() {
                        component[member] = next_component;
                        if member == node {
                            break;
                        }
                    }
                    next_component += 1;
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn check(edges: &[Vec<Marked>], start: usize, all: u64) -> bool {
        has_marked_cycle(&[start], all, |node| edges[node].clone())
    }

    #[test]
    fn a_cycle_must_be_reachable_and_have_all_marks() {
        // 0 -> 1 <-> 2, 3 loops.
        let edges = [vec![(1, 4)], vec![(2, 1)], vec![(1, 2)], vec![(3, 7)]];
        assert!(check(&edges, 0, 0));
        assert!(check(&edges, 0, 3));
        assert!(!check(&edges, 0, 4), "the mark is on the way only");
        assert!(!check(&edges, 0, 7));
        assert!(check(&edges, 3, 7));
        assert!(!check(&[vec![(1, 1)], vec![]], 0, 0), "no cycle at all");
    }

    /// Whether two nodes reach each other, by the transitive closure.
    fn closure(edges: &[Vec<Marked>]) -> Vec<Vec<bool>> {
        let count = edges.len();
        let mut reaches = vec![vec![false; count]; count];
        for (from, out) in edges.iter().enumerate() {
            for (to, _) in out {
                reaches[from][*to] = true;
            }
        }
        for via in 0..count {
            for from in 0..count {
                for to in 0..count {
                    if reaches[from][via] && reaches[via][to] {
                        reaches[from][to] = true;
                    }
                }
            }
        }
        reaches
    }

    #[test]
    fn components_are_those_of_the_transitive_closure() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let count = 1 + random.below(7);
            let edges: Vec<Vec<Marked>> = (0..count)
                .map(|_| {
                    let out = 0..random.below(4);
                    out.map(|_| (random.below(count), 1 << random.below(3)))
                        .collect()
                })
                .collect();
            let reaches = closure(&edges);
            let all = random.below(8) as u64;
            let expected = (0..count).any(|node| {
                let reachable = node == 0 || reaches[0][node];
                let members: Vec<usize> = (0..count)
                    .filter(|other| reaches[node][*other] && reaches[*other][node])
                    .collect();
                let mut marks = 0;
                for from in &members {
                    for (to, edge) in &edges[*from] {
                        if members.contains(to) {
                            marks |= edge;
                        }
                    }
                }
                reachable && members.contains(&node) && marks & all == all
            });
            assert_eq!(check(&edges, 0, all), expected, "{edges:?} {all}");
        }
    }
}
