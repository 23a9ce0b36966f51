//! What a thread remembers of moves, whatever the words of its states are: ranges in flat tables, and
//! what records become.

use crate::model::Inner;
use crate::moves::Move;
use crate::pairs::PairMap;
use crate::value::Pid;

/// Entries of all tables together at which they are emptied: a bound on memory, far above what
/// most protocols need.
pub(crate) const MOST_ENTRIES: usize = 1 << 24;

/// A move in a thread's table; `A` is what becomes of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick<A> {
    pub(crate) action: u32,
    pub(crate) after: A,
    /// The range of its posts.
    pub(crate) posts: (u32, u32),
    /// Number of the events plus one, 0 for none.
    pub(crate) events: u32,
    /// Number of the handler that misbehaved plus one, 0 for none.
    pub(crate) misused: u32,
    pub(crate) crashes: bool,
    pub(crate) returns: bool,
}

impl<A> Quick<A> {
    /// Adds its posts, with the word of each receiver.
    pub(crate) fn new(
        step: &Move,
        after: A,
        posts: &mut Vec<(u32, u32)>,
        word: impl Fn(Pid) -> usize,
    ) -> Self {
        let first = posts.len() as u32;
        posts.extend(
            step.posts
                .iter()
                .map(|(to, post)| (word(*to) as u32, *post)),
        );
        Self {
            action: step.action,
            after,
            posts: (first, posts.len() as u32),
            events: step.events.map_or(0, |e| e + 1),
            misused: step.misused.map_or(0, |handler| handler as u32 + 1),
            crashes: step.crashes,
            returns: step.returns,
        }
    }

    /// Whether nothing but its process changes.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        self.posts.0 == self.posts.1 && self.events == 0
    }

    /// Whether it changes nothing but processes, messages and the record, and always can.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.misused == 0 && !self.crashes && !self.returns
    }
}

/// Records by what they were before, and events.
#[derive(Debug)]
pub(crate) struct Notes(PairMap);

impl Notes {
    pub(crate) fn new() -> Self {
        Self(PairMap::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The record after the events of a move.
    #[inline]
    pub(crate) fn after<A>(&mut self, inner: &Inner, before: u32, step: &Quick<A>) -> u32 {
        let Some(events) = step.events.checked_sub(1) else {
            return before;
        };
        self.0.get(before, events).unwrap_or_else(|| {
            let after = inner.record_after(before, events);
            self.0.insert(before, events, after);
            after
        })
    }
}
