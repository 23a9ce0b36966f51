//! The small graph algorithms that several crates need, once: strongly connected components and
//! what can be reached. Nodes are numbers below a count; a graph is a function from a node and `i`
//! to its `i`-th successor, so that nobody has to copy one.
//!
//! Searches of state spaces are no matter for this crate: they are computed while they are walked,
//! and each has reasons for its order.

#![forbid(unsafe_code)]

/// The number of a node.
pub type Node = u32;

/// For nodes that were not visited.
pub const NOWHERE: u32 = u32::MAX;

/// Calls `visit` with every strongly connected component that can be reached from `roots`: a
/// component comes after all those that its edges lead to. Within one, nodes come in the order
/// in which they were found. Ends early if `visit` says so.
///
/// Tarjan, *Depth-first search and linear graph algorithms*, 1972, with a stack of its own:
/// state graphs are deep.
///
/// # Errors
/// Those of `visit`.
pub fn for_each_component<E>(
    count: usize,
    roots: impl IntoIterator<Item = Node>,
    target: impl Fn(Node, usize) -> Option<Node>,
    mut visit: impl FnMut(&[Node]) -> Result<(), E>,
) -> Result<(), E> {
    const NEW: u32 = 0;
    const DONE: u32 = u32::MAX;
    // By node: the lowest number of a node that it is known to lead back to, at first its own.
    let mut low = vec![NEW; count];
    let mut next_number = 1;
    // Nodes whose component is not complete.
    let mut open: Vec<Node> = Vec::new();
    // The path: a node, its number, its next edge.
    let mut path: Vec<(Node, u32, usize)> = Vec::new();
    for root in roots {
        if low[root as usize] != NEW {
            continue;
        }
        let mut entered = Some(root);
        loop {
            if let Some(node) = entered.take() {
                low[node as usize] = next_number;
                open.push(node);
                path.push((node, next_number, 0));
                next_number += 1;
            }
            let Some((node, number, edge)) = path.last_mut() else {
                break;
            };
            let (node, number) = (*node, *number);
            let next = target(node, *edge);
            *edge += 1;
            if let Some(next) = next {
                match low[next as usize] {
                    NEW => entered = Some(next),
                    DONE => {}
                    back => low[node as usize] = low[node as usize].min(back),
                }
                continue;
            }
            path.pop();
            let lowest = low[node as usize];
            if lowest == number {
                let start = open.iter().rposition(|n| *n == node).unwrap_or(0);
                visit(&open[start..])?;
                for member in open.drain(start..) {
                    low[member as usize] = DONE;
                }
            } else if let Some((parent, ..)) = path.last() {
                low[*parent as usize] = low[*parent as usize].min(lowest);
            }
        }
    }
    Ok(())
}

/// The component of every node, and how many there are. Edges lead to smaller or equal numbers:
/// component 0 has no way out. Nodes that cannot be reached from `roots` are [`NOWHERE`].
pub fn components(
    count: usize,
    roots: impl IntoIterator<Item = Node>,
    target: impl Fn(Node, usize) -> Option<Node>,
) -> (Vec<u32>, u32) {
    let mut component = vec![NOWHERE; count];
    let mut number = 0;
    let Ok(()) = for_each_component(count, roots, target, |members| {
        for member in members {
            component[*member as usize] = number;
        }
        number += 1;
        Ok::<(), std::convert::Infallible>(())
    });
    (component, number)
}

/// Whether each node can be reached from `roots`, which can.
pub fn reachable(
    count: usize,
    roots: impl IntoIterator<Item = Node>,
    target: impl Fn(Node, usize) -> Option<Node>,
) -> Vec<bool> {
    let mut seen = vec![false; count];
    let mut todo: Vec<Node> = Vec::new();
    for root in roots {
        if !std::mem::replace(&mut seen[root as usize], true) {
            todo.push(root);
        }
    }
    while let Some(node) = todo.pop() {
        for next in (0..).map_while(|edge| target(node, edge)) {
            if !std::mem::replace(&mut seen[next as usize], true) {
                todo.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the book: two nodes are in one component if each reaches the other.
    fn compare(edges: &[Vec<Node>], roots: &[Node]) {
        let target = |node: Node, edge: usize| edges[node as usize].get(edge).copied();
        let count = edges.len();
        let reach: Vec<Vec<bool>> = (0..count as Node)
            .map(|node| reachable(count, [node], target))
            .collect();
        let (component, number) = components(count, roots.iter().copied(), target);
        let visited = reachable(count, roots.iter().copied(), target);
        let mut seen = vec![false; number as usize];
        for a in 0..count {
            assert_eq!(component[a] != NOWHERE, visited[a]);
            if !visited[a] {
                continue;
            }
            seen[component[a] as usize] = true;
            for b in (0..count).filter(|b| visited[*b]) {
                let together = reach[a][b] && reach[b][a];
                assert_eq!(component[a] == component[b], together, "{edges:?}");
                assert!(!reach[a][b] || component[b] <= component[a], "{edges:?}");
            }
        }
        assert!(seen.iter().all(|s| *s), "numbers without gaps");
    }

    #[test]
    fn random_graphs_have_the_components_by_definition() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) as usize % below
        };
        for _ in 0..2_000 {
            let count = 1 + random(9);
            let edges: Vec<Vec<Node>> = (0..count)
                .map(|_| (0..random(4)).map(|_| random(count) as Node).collect())
                .collect();
            let roots: Vec<Node> = (0..random(3)).map(|_| random(count) as Node).collect();
            compare(&edges, &roots);
        }
    }

    #[test]
    fn a_visit_can_end_it() {
        let ring = |node: Node, edge: usize| (edge == 0).then_some((node + 1) % 3);
        let result = for_each_component(3, [0], ring, |members| Err(members.to_vec()));
        assert_eq!(result, Err(vec![0, 1, 2]));
    }

    #[test]
    fn long_paths_are_no_trouble() {
        let count = 1_000_000;
        let line = |node: Node, edge: usize| {
            (edge == 0 && (node as usize) < count - 1).then_some(node + 1)
        };
        assert_eq!(components(count, [0], line).1, count as u32);
    }
}
