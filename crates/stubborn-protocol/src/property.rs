//! Properties: predicates on global states.

use std::any::Any;

use crate::model::Inner;
use crate::value::{Boxed, Pid, ProcessRef, Value};

/// A predicate.
pub(crate) type Holds<M> = Box<dyn Fn(&View<'_, M>) -> bool + Send + Sync>;

/// What a process shows to a property.
pub(crate) type Shows = Box<dyn Fn(&dyn Any) -> Boxed + Send + Sync>;

/// What a property is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropertyRole {
    Invariant,
    Proposition,
    /// It is fine to stop where it holds.
    End,
}

/// A named predicate.
pub(crate) struct Property<M> {
    pub(crate) name: String,
    pub(crate) role: PropertyRole,
    /// The processes whose local states it depends on.
    pub(crate) processes: Vec<Pid>,
    /// It depends on the record.
    pub(crate) history: bool,
    /// If it depends on no more than this of each local state.
    pub(crate) shows: Option<Shows>,
    pub(crate) holds: Holds<M>,
}

/// A global state, as properties see it.
pub struct View<'a, M> {
    pub(crate) inner: &'a Inner<M>,
    pub(crate) words: &'a [u32],
}

impl<M> std::fmt::Debug for View<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

impl<M: Value> View<'_, M> {
    /// The local state of a process.
    pub fn state<S: Value>(&self, process: ProcessRef<S>) -> &S {
        let local = self.inner.local(self.words, process.pid);
        local
            .state
            .get()
            .expect("references know the type of their process")
    }

    /// Whether a process has crashed.
    pub fn is_crashed(&self, process: impl Into<Pid>) -> bool {
        self.inner.local(self.words, process.into()).crashed
    }

    /// The record, if there is one of this type.
    pub fn history<H: Value>(&self) -> Option<&H> {
        self.inner.record(self.words)?.get()
    }
}
