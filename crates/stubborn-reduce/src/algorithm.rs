//! What every set algorithm offers to the [reducer](crate::reducer).

use stubborn_system::{BitSet, SetMember};

use crate::view::View;

/// Computes sets, keeping its buffers from state to state.
pub(crate) trait SetAlgorithm: Send {
    /// Sets the bits of the enabled transitions of a set in `kept`, which comes empty. At
    /// least one transition is enabled.
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet);

    /// The whole set of the last call with reasons, if built to explain; `None` if only the
    /// set of all transitions would do.
    fn members(&self) -> Option<Vec<SetMember>>;
}
