//! The second pass of a nested depth-first search.
//!
//! When the walk leaves a node with accepting edges, a second search from their targets
//! looks for the path. What it does not find it marks, because nothing that was marked in
//! vain can be on an accepting cycle found later. It sees exactly the graph that the first
//! pass saw (Holzmann, Peled, Yannakakis, *On nested depth first search*, 1996): which
//! nodes were expanded is stored with them.

use stubborn_search::Limit;

use crate::space::{Counts, Edge, Node, Space, flags};
use crate::walk::{Status, Walk};

impl<S: Space> Walk<'_, S> {
    /// Whether an accepting edge of the last node, all of whose edges were taken, is on a
    /// cycle.
    pub(crate) fn second_pass(&mut self, seed: Node) -> Result<bool, Limit> {
        let mut edges = Vec::new();
        self.explored_edges(seed, &mut edges)?;
        let all = self.wanted_marks();
        edges.retain(|edge| edge.marks.contains(all));
        let mut todo: Vec<Node> = Vec::new();
        let mut looked_at = 0_u64;
        loop {
            looked_at += 1;
            if looked_at.is_multiple_of(64) {
                let counts = Counts {
                    // Spaces look at limits in the first of every few nodes.
                    states: self.counts.states / 64 * 64 + 1,
                    ..self.counts
                };
                self.space.go_on(self.bytes(), &counts)?;
            }
            for edge in edges.drain(..) {
                if let Status::OnPath(_) = self.status(edge.to) {
                    return Ok(true);
                }
                if self.space.flags(edge.to) & flags::SECOND_PASS == 0 {
                    self.space.set_flags(edge.to, flags::SECOND_PASS);
                    todo.push(edge.to);
                }
            }
            match todo.pop() {
                Some(node) => self.explored_edges(node, &mut edges)?,
                None => return Ok(false),
            }
        }
    }

    /// The edges of a node that the first pass took.
    fn explored_edges(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.space.kept(node, out)?;
        if self.space.flags(node) & flags::EXPANDED != 0 {
            self.space.rest(node, out)?;
        }
        Ok(())
    }
}
