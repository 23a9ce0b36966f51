//! Graphs as the emptiness checks see them.
//!
//! The searches of this crate know nothing of systems or automata: they walk a [`Space`],
//! whose edges carry acceptance marks and whose nodes have reduced and complete lists of
//! edges. The product of a system with an automaton is the space that matters; tests walk
//! random graphs.

use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

/// A node of a [`Space`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u64);

/// An edge of a [`Space`]; its source is known from where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// Where it leads.
    pub to: Node,
    /// Its acceptance marks.
    pub marks: Marks,
    /// What was [known] of its end when the edge was made.
    known: u32,
}

impl Edge {
    /// An edge of whose end nothing is known.
    pub fn new(to: Node, marks: Marks) -> Self {
        Self::told(to, marks, known::UNTOLD)
    }

    /// An edge with what is [known] of its end.
    pub(crate) fn told(to: Node, marks: Marks, known: u32) -> Self {
        Self { to, marks, known }
    }

    /// What was known of its end.
    pub(crate) fn known(self) -> u32 {
        self.known
    }
}

/// What is known of the end of an edge makes no difference to what it is.
impl PartialEq for Edge {
    fn eq(&self, other: &Self) -> bool {
        (self.to, self.marks) == (other.to, other.marks)
    }
}

impl Eq for Edge {}

/// What may be known of a node to which an edge leads, beside its [flags]: looking at them again, or
/// for the node among those of open components, would cost a search most of its time.
pub(crate) mod known {
    /// It was not there before.
    pub(crate) const FRESH: u32 = 1 << 6;
    /// No accepting cycle goes through it, so that it belongs to no component of interest.
    pub(crate) const LOOSE: u32 = 1 << 7;
    /// Nothing is known, not even its flags.
    pub(crate) const UNTOLD: u32 = 1 << 8;
    /// From here on: its place among the nodes of open components.
    pub(crate) const PLACE: u32 = 1 << 9;
}

/// What a search remembers of a node for good.
pub mod flags {
    /// The component of the node is complete.
    pub const DEAD: u8 = 1;
    /// All edges of the node are explored although the reduction left some out.
    pub const EXPANDED: u8 = 1 << 1;
    /// When the node was left, the proviso thought it dangerous.
    pub const DANGEROUS: u8 = 1 << 2;
    /// The second pass of a nested search was here.
    pub const SECOND_PASS: u8 = 1 << 3;
    /// After the search: the node is known on the way to the accepting cycle.
    pub const REACHED: u8 = 1 << 4;
}

/// A graph that is computed while it is walked.
///
/// Both lists of edges of a node are the same whenever they are asked for. Where a limit is
/// reached, every function may refuse, and the search ends.
pub trait Space {
    /// Appends the nodes to start from.
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit>;

    /// Appends the edges that the reduction keeps. Returns true if it left some out.
    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit>;

    /// The same for several nodes through which no accepting cycle goes.
    fn kept_of_all(&mut self, nodes: &[Node], out: &mut Vec<Edge>) -> Result<(), Limit> {
        for node in nodes {
            self.kept(*node, out)?;
        }
        Ok(())
    }

    /// Whether no accepting cycle goes through a node, and nothing but that has to be known of it;
    /// false is always right.
    fn is_loose(&mut self, node: Node) -> Result<bool, Limit> {
        let _ = node;
        Ok(false)
    }

    /// Appends the edges that the reduction left out.
    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit>;

    /// Appends the actions that are possible in a node, each with whether the reduction keeps
    /// it. Only the proviso `opt-scp` asks for them, which is no use where edges have none.
    fn actions(&mut self, node: Node, out: &mut Vec<(u32, bool)>) -> Result<(), Limit> {
        let _ = (node, out);
        Ok(())
    }

    /// Whether every cycle through the node is accepting. Only for searches that can make use
    /// of it; false is always right.
    fn accepts_every_cycle(&mut self, node: Node) -> Result<bool, Limit> {
        let _ = node;
        Ok(false)
    }

    /// The [flags] of a node.
    fn flags(&mut self, node: Node) -> u8;

    /// Sets flags of a node; returns the flags before.
    fn set_flags(&mut self, node: Node, flags: u8) -> u8;

    /// Called for every node entered, with the bytes that the search itself takes and the
    /// length of its path.
    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit>;
}

/// How much a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes entered.
    pub states: u64,
    /// Edges explored.
    pub transitions: u64,
    /// Nodes where the proviso put back what the reduction had left out.
    pub expanded_by_proviso: u64,
    /// The longest path.
    pub depth: u64,
}
