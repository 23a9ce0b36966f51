//! The texts of Petri nets: the PNML of the Model Checking Contest, read and unfolded, and written.
//!
//! Text flows one way. The XML layer (`xml`) yields tags and nothing hostile, and sees to it that none is dropped unread;
//! `raw` collects
//! nodes and arcs; [`load`] resolves them to a [`Model`], whose [`Net`](stubborn_net::Net) is a place/transition net;
//! coloured nets are typed (`coloured`) and unfolded (`unfold`) on the way. [`read_properties`]
//! reads the contest's formulas, [`parse_state_formula`] those of the command line. What nets are is
//! in `stubborn-net`.
//!
//! ```
//! use stubborn_diagnostics::SourceFile;
//! use stubborn_net::NetSystem;
//! use stubborn_pnml::load;
//! use stubborn_system::System;
//!
//! let text = r#"<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet">
//!   <page id="g">
//!     <place id="p"><initialMarking><text>3</text></initialMarking></place>
//!     <transition id="t"/>
//!     <arc id="a" source="p" target="t"/>
//!   </page></net></pnml>"#;
//! let (model, messages) = load(&SourceFile::new("demo.pnml", text));
//! assert!(messages.is_empty());
//! let system = NetSystem::new(model.unwrap().net).unwrap();
//! assert_eq!(system.structure().labels[0].text, "p >= 1");
//! assert_eq!(system.layout().field(stubborn_system::FieldId::new(0)).bits, 2);
//! ```
//!
//! # What is understood
//!
//! * P/T nets, whatever their type string, with weights; parallel arcs add up; read loops are kept. Places start with up to
//!   2⁶⁴ - 1 tokens; a place that changes holds at most 2³² - 1. Pages may nest. Nested units
//!   (NUPN) are read.
//! * Symmetric nets: dots, cyclic and finite enumerations, integer ranges, products, partitions;
//!   variables, constants, tuples, successor and predecessor (which wrap around), `all`, sums,
//!   differences, multiples; comparisons, `and`, `or`, `not`, `imply` in guards.
//! * Read arcs, and inhibitor arcs of places with black tokens; reference nodes and other special arcs
//!   are errors.
//! * What is not understood is an error that names it, unless it is in the list of what says
//!   nothing about behaviour (`skipped`): leaving it out might change the net.
//!
//! # Messages
//!
//! Codes are stable.
//!
#![doc = include_str!("codes.md")]
#![forbid(unsafe_code)]

mod coloured;
mod expression;
mod fold;
mod model;
mod properties;
mod raw;
mod report;
mod skipped;
mod tree;
mod unfold;
mod write;
mod xml;

pub use expression::parse_state_formula;
pub use model::{Model, decode, load, load_with, load_within};
pub use properties::{ContestProperty, Question, is_about_one_property, read_properties};
pub use unfold::UnfoldLimits;
pub use write::pnml;
