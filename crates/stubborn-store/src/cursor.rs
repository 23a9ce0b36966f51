//! The state that is being expanded, with what the store knows of its parts.

use crate::nodes::NodeId;
use crate::store::StateHandle;

/// The words of one state and, in a tree store, the ids of its parts, so that
/// successors can be inserted incrementally.
///
/// Made by [`Store::cursor`](crate::Store::cursor), filled by
/// [`Worker::load`](crate::Worker::load), given to
/// [`Batch::push`](crate::Batch::push) and
/// [`Worker::insert`](crate::Worker::insert). Loading is cheap when the new
/// state resembles the one before. A cursor belongs to the store that made it.
#[derive(Clone, Debug)]
pub struct Cursor {
    words: Vec<u32>,
    nodes: Vec<NodeId>,
    handle: Option<StateHandle>,
}

impl Cursor {
    /// An empty cursor for vectors of `width` words and trees of `positions`
    /// positions (none for other stores).
    pub(crate) fn new(width: usize, positions: usize) -> Self {
        Self {
            words: vec![0; width],
            nodes: vec![NodeId::NONE; positions],
            handle: None,
        }
    }

    /// The words of the state.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The stored state the cursor was loaded with; `None` for an empty cursor
    /// and after [`assign`](Self::assign).
    pub fn handle(&self) -> Option<StateHandle> {
        self.handle
    }

    /// Puts a vector into the cursor that does not come from the store, as
    /// searches with a lossy store do. Successors are then inserted whole.
    pub fn assign(&mut self, words: &[u32]) {
        self.words.copy_from_slice(words);
        self.clear();
    }

    /// Makes the cursor empty: the next insertion is whole.
    pub fn clear(&mut self) {
        self.nodes.fill(NodeId::NONE);
        self.handle = None;
    }

    /// The ids at all positions of the tree; all [`NodeId::NONE`] without a handle.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// What a store fills when it loads `handle`.
    pub(crate) fn refill(&mut self, handle: StateHandle) -> (&mut [NodeId], &mut [u32]) {
        self.handle = Some(handle);
        (&mut self.nodes, &mut self.words)
    }
}
