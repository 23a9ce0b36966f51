//! Petri nets for `stubborn`: what can be known of a place/transition net, and its execution.
//!
//! A [`Net`] is built by [`NetBuilder`], from text or by a program. Of a net alone, without its
//! states, come [`Invariants`], [`Bounds`], the [`StateEquation`], siphons and traps
//! ([`no_deadlock_by_traps`]), that one can always come back ([`comes_home`]), and what is reachable when tokens are never taken ([`Relaxed`]);
//! [`Reduced`] is a smaller net with the same answers. [`Formula`] and [`Branching`] speak about
//! markings. [`NetSystem`] puts a net behind the seam: packed states, a table-driven executor,
//! relations from the arcs. Texts are read by `stubborn-pnml`.
//!
//! ```
//! use stubborn_net::{NetBuilder, NetSystem};
//! use stubborn_system::System;
//!
//! let mut builder = NetBuilder::new("demo");
//! let place = builder.place("p", 3);
//! let transition = builder.transition("t");
//! builder.input(place, transition, 1);
//! let system = NetSystem::new(builder.build().unwrap()).unwrap();
//! assert_eq!(system.structure().labels[0].text, "p >= 1");
//! assert_eq!(system.layout().field(stubborn_system::FieldId::new(0)).bits, 2);
//! ```

#![forbid(unsafe_code)]

mod bounds;
mod branching;
mod dot;
mod equation;
mod exact;
mod exhausted;
mod formula;
mod helpful;
mod home;
mod ids;
mod invariants;
mod linear;
mod names;
mod net;
mod nupn;
mod relaxed;
mod shuffle;
mod siphon;
mod structural;
mod system;
mod traps;

pub use bounds::{BoundSource, Bounds};
pub use branching::{Branching, Paths};
pub use dot::dot;
pub use equation::{Linear, StateEquation};
pub use formula::{Atom, CompareOp, Formula, IntExpr};
pub use helpful::{Helpful, Target};
pub use home::comes_home;
pub use ids::{PlaceId, TransitionId};
pub use invariants::{Invariant, InvariantBudget, Invariants};
pub use linear::Linearise;
pub use names::Names;
pub use net::{Arc, BuildError, Net, NetBuilder, Tokens, Weight};
pub use nupn::{Nupn, NupnError, UnitId};
pub use relaxed::Relaxed;
pub use shuffle::Shuffled;
pub use siphon::no_deadlock_by_traps;
pub use structural::{Preserve, Reduced, ReductionRules};
pub use system::{Census, NetOptions, NetSystem};
