//! stub
use crate::arena::{Arena, Round};
use crate::coverage::Coverage;
use crate::subject::Subject;
use super::generate::Features;
/// The arena `promela`.
#[derive(Debug)]
pub struct Reductions { features: Features }
impl Reductions {
    /// new
    pub fn new(features: Features) -> Self { Self { features } }
}
impl Arena for Reductions {
    fn name(&self) -> &'static str { "promela" }
    fn available(&self) -> Result<(), String> { Ok(()) }
    fn round(&self, _seed: u64, _subject: &Subject, _coverage: &mut Coverage) -> Round { let _ = &self.features; Round::default() }
}
