//! What the flags of a state in the store mean to a search.

use crate::proviso::Known;

/// The state's expansion has begun: it is closed, and belongs to one thread.
pub(crate) const ENTERED: u8 = 1;
/// It is on the depth-first stack; kept only where a proviso asks.
pub(crate) const ON_STACK: u8 = 1 << 1;
/// All its successors are explored although the reduction left some out.
pub(crate) const EXPANDED: u8 = 1 << 2;
/// From it an expanded state or a deadlock can be reached in the reduced graph.
pub(crate) const SETTLED: u8 = 1 << 3;
/// Seen by the second run that looks for traces.
pub(crate) const SEEN_AGAIN: u8 = 1 << 5;

/// What flags say of a state that an edge leads to; new if it was stored by this edge.
pub(crate) fn known(is_new: bool, bits: u8) -> Known {
    match bits {
        _ if is_new => Known::New,
        _ if bits & ENTERED == 0 => Known::Open,
        _ if bits & ON_STACK != 0 => Known::OnStack,
        _ => Known::Closed,
    }
}
