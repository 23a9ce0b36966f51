//! Petri nets for `stubborn`.
mod coloured;
mod ids;
mod model;
mod names;
mod net;
mod nupn;
mod raw;
mod relaxed;
mod report;
mod tree;
mod unfold;
mod xml;

pub use ids::{PlaceId, TransitionId};
pub use model::{Model, decode, load, load_with};
pub use names::Names;
pub use net::{Arc, BuildError, Net, NetBuilder, Tokens, Weight};
pub use nupn::{Nupn, NupnError, UnitId};
pub use relaxed::Relaxed;
pub use unfold::UnfoldLimits;
