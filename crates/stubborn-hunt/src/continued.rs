//! Searches in the order of the model that go on from turn to turn.
//!
//! A search that starts again in every round costs twice what it would have cost in one go, and where it is
//! the best way to look, the hunt is that much slower than it. Two searches are worth the memory that
//! goes on being theirs between turns: depth-first and breadth-first, unreduced, in the model's own
//! order. Each belongs to one thread.

use std::sync::atomic::Ordering;

use stubborn_plan::CheckError;
use stubborn_search::{End, Exploration, Limit, Order, Search, SearchResult, Stop};

use crate::{Caught, Shared, Turn};

/// What there is to search, in this order.
pub(crate) fn task<'s>(shared: &'s Shared<'_, '_>, order: Order) -> Search<'s> {
    Search {
        replay: Some(shared.hunt.reference),
        order,
        limits: stubborn_search::Limits {
            states: None,
            ..shared.limits(0)
        },
        targets: shared.hunt.targets.to_vec(),
        stop: Stop::FirstViolation,
        ..Search::new(shared.hunt.system)
    }
}

/// A search between two turns.
pub(crate) struct Continued<'s> {
    task: &'s Search<'s>,
    exploration: Option<Exploration<'s>>,
    /// States that it may have by now.
    most: u64,
    has_ended: bool,
}

impl<'s> Continued<'s> {
    pub(crate) fn new(task: &'s Search<'s>) -> Self {
        Self {
            task,
            exploration: None,
            most: 0,
            has_ended: false,
        }
    }

    /// Whether it ended without an answer: memory was short. Others begin anew from now on.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Goes on for so many states.
    pub(crate) fn turn(&mut self, shared: &Shared<'_, '_>, size: u64) -> Result<Turn, CheckError> {
        let mut exploration = match self.exploration.take() {
            Some(exploration) => exploration,
            None => self.task.begin()?,
        };
        self.most += size;
        exploration.explore(Some(self.most));
        if exploration.is_waiting() && !shared.is_over() {
            shared.states.fetch_add(size, Ordering::Relaxed);
            self.exploration = Some(exploration);
            return Ok(Turn::Nothing);
        }
        self.has_ended = true;
        self.most -= size;
        let result = self.finish(shared, exploration)?;
        let targets = shared.hunt.targets;
        let violation = result.violations.into_iter().next();
        Ok(match violation {
            Some(violation) => match targets.iter().position(|t| *t == violation.target) {
                Some(at) => Turn::Caught(Caught::Target(at, Box::new(violation))),
                None => Turn::Nothing,
            },
            None => match result.end {
                End::Complete => Turn::SeenAll,
                End::Limit(Limit::LeftOut) => Turn::SeenWhatThereIs,
                _ => Turn::Nothing,
            },
        })
    }

    /// Notes what it has seen, where nobody lets it go on.
    pub(crate) fn leave(mut self, shared: &Shared<'_, '_>) -> Result<(), CheckError> {
        match self.exploration.take() {
            Some(exploration) => self.finish(shared, exploration).map(|_| ()),
            None => Ok(()),
        }
    }

    fn finish(
        &self,
        shared: &Shared<'_, '_>,
        exploration: Exploration<'s>,
    ) -> Result<SearchResult, CheckError> {
        let result = exploration.finish()?;
        let new = result.states.saturating_sub(self.most);
        shared.states.fetch_add(new, Ordering::Relaxed);
        shared.depth.fetch_max(result.depth, Ordering::Relaxed);
        shared.report().covered.taken.union_with(&result.fired);
        Ok(result)
    }
}
