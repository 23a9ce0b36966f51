//! What an attack is made of: arenas make systems and compare answers about them.

use crate::coverage::Coverage;
use crate::subject::Subject;

/// A kind of systems with something to compare the program's answers with.
pub trait Arena: Sync {
    /// As the command line names it.
    fn name(&self) -> &'static str;

    /// Whether it can be entered here, or what is missing.
    fn available(&self) -> Result<(), String>;

    /// Everything that [`Round`]s of this arena may note in the coverage; what was never
    /// noted is listed at the end.
    fn features(&self) -> Vec<String> {
        Vec::new()
    }

    /// One system from one seed, compared in several configurations.
    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round;
}

/// What came out of one system.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// How many answers were compared.
    pub comparisons: u64,
    /// The first wrong answer, made small.
    pub mismatch: Option<Mismatch>,
}

/// A wrong answer, and all that is needed to see it again.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Names and texts of the files that the command reads.
    pub files: Vec<(String, String)>,
    /// The command line after the program's name, run in a folder with the files.
    pub arguments: Vec<String>,
    /// What would be right.
    pub expected: String,
    /// What the program said.
    pub got: String,
    /// What kind of answer is wrong, in a few words: mismatches of one kind are likely to
    /// have one cause.
    pub what: String,
}
