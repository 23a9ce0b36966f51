//! Petri nets for `stubborn`.
mod bounds;
mod coloured;
mod formula;
mod ids;
mod invariants;
mod model;
mod names;
mod net;
mod nupn;
mod properties;
mod raw;
mod relaxed;
mod report;
mod tree;
mod unfold;
mod xml;

pub use bounds::{BoundSource, Bounds};
pub use formula::{Atom, CompareOp, Formula, IntExpr};
pub use ids::{PlaceId, TransitionId};
pub use invariants::{Invariant, InvariantBudget, Invariants};
pub use model::{Model, decode, load, load_with};
pub use names::Names;
pub use net::{Arc, BuildError, Net, NetBuilder, Tokens, Weight};
pub use nupn::{Nupn, NupnError, UnitId};
pub use properties::{ContestProperty, Question, read_properties};
pub use relaxed::Relaxed;
pub use unfold::UnfoldLimits;
