//! The seam for engines.
//!
//! A [`Search`] is a task: system, reduction, proviso, targets, limits, visitor, observer. An
//! engine runs tasks. It owns its order, its store and its workers, and knows no questions: which
//! reduction keeps what somebody asks for is decided above, once for all engines. It says which
//! tasks it takes, and why not the others, and it can be asked to pause: whether a search goes on
//! is decided between two goes, from outside.
//!
//! What engines find are states (or steps from states) with their distance. How one comes
//! there is found again by whoever can, and [`Search::confirm`] replays it on the reference
//! execution: no engine's word is taken for a counterexample.

use std::io;
use std::sync::Mutex;

use stubborn_cluster::Cluster;
use stubborn_store::saved::{Sink, Source};

use crate::config::{Search, SearchError, Target};
use crate::result::SearchResult;
use crate::run::Exploration;
use crate::saved::ResumeError;
use stubborn_system::{Outcome, TransitionId};

/// Runs searches.
pub trait Engine: Sync {
    /// As results call it.
    fn name(&self) -> &'static str;

    /// Whether it can run this search; if not, why, for people.
    ///
    /// # Errors
    /// The reason.
    fn takes(&self, search: &Search<'_>) -> Result<(), String>;

    /// Prepares a search, to be explored in one or several goes.
    ///
    /// # Errors
    /// If the parts of the search do not fit together.
    fn begin<'s>(&'s self, search: &'s Search<'s>) -> Result<Box<dyn Explore + 's>, SearchError>;

    /// Takes up a search that was [saved](Explore::save).
    ///
    /// # Errors
    /// If the engine cannot do that, if it was another search, or if what was saved is damaged or
    /// does not fit into memory.
    fn resume<'s>(
        &'s self,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Box<dyn Explore + 's>, ResumeError> {
        let _ = (search, source);
        Err(ResumeError::Search(SearchError::Mismatch(format!(
            "the engine {} cannot take up a search again",
            self.name()
        ))))
    }

    /// The processes that share its work, for those who check what is no search with them.
    fn cluster(&self) -> Option<&Mutex<Cluster>> {
        None
    }
}

/// A search in progress.
pub trait Explore {
    /// Explores until there are more than `most` states (or a few more: an engine may look only
    /// after a level), or until the search ends: then nothing happens any more.
    fn explore(&mut self, most: Option<u64>);

    /// Whether it stopped because of the number of states, and can be continued.
    fn is_waiting(&self) -> bool;

    /// Whether it stopped because somebody asked for a [pause](crate::Limits::pause), and can be
    /// continued.
    fn is_paused(&self) -> bool {
        false
    }

    /// Writes down a search that waits or is paused.
    ///
    /// # Errors
    /// If it cannot be written, or not by this engine ([`io::ErrorKind::Unsupported`]).
    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let _ = sink;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Breadth-first: the sizes of the levels so far, up to the one that is being expanded.
    fn level_sizes(&self) -> &[u64];

    /// What was learnt, with the ways to violations.
    ///
    /// # Errors
    /// If a counterexample cannot be repeated.
    fn finish(self: Box<Self>) -> Result<SearchResult, SearchError>;
}

/// A violation as an engine sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What was hit.
    pub target: Target,
    /// How often.
    pub count: u64,
    /// Steps from an initial state.
    pub length: u64,
    /// The bad state, or the one that the bad step leaves.
    pub state: Vec<u32>,
    /// The bad step, where it is one.
    pub step: Option<(TransitionId, Outcome)>,
}

/// The engine that takes everything: threads with a common store in this machine's memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct SharedMemory;

impl Engine for SharedMemory {
    fn name(&self) -> &'static str {
        "shared-memory"
    }

    fn takes(&self, _: &Search<'_>) -> Result<(), String> {
        Ok(())
    }

    fn begin<'s>(&'s self, search: &'s Search<'s>) -> Result<Box<dyn Explore + 's>, SearchError> {
        Ok(Box::new(search.begin()?))
    }

    fn resume<'s>(
        &'s self,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Box<dyn Explore + 's>, ResumeError> {
        Ok(Box::new(search.resume(source)?))
    }
}

impl Explore for Exploration<'_> {
    fn explore(&mut self, most: Option<u64>) {
        Exploration::explore(self, most);
    }

    fn is_waiting(&self) -> bool {
        Exploration::is_waiting(self)
    }

    fn is_paused(&self) -> bool {
        Exploration::is_paused(self)
    }

    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        Exploration::save(self, sink)
    }

    fn level_sizes(&self) -> &[u64] {
        Exploration::level_sizes(self)
    }

    fn finish(self: Box<Self>) -> Result<SearchResult, SearchError> {
        Exploration::finish(*self)
    }
}
