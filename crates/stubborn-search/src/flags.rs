//! What the flags of a state in the store mean to a search.

/// The state's expansion has begun: it is closed, and belongs to one thread.
pub(crate) const ENTERED: u8 = 1;
/// It is on the depth-first stack; kept only where a proviso asks.
pub(crate) const ON_STACK: u8 = 1 << 1;
/// All its successors are explored although the reduction left some out.
pub(crate) const EXPANDED: u8 = 1 << 2;
/// Belong to the proviso.
pub(crate) const MARKS: u8 = 0b11 << 3;
/// Seen by the second run that looks for traces.
pub(crate) const SEEN_AGAIN: u8 = 1 << 5;
