//! Properties: predicates on global states.

use std::any::Any;
use std::marker::PhantomData;

use crate::model::Inner;
use crate::value::{Boxed, Pid, ProcessRef, Value};

/// A predicate.
pub(crate) type Holds = Box<dyn Fn(&Inner, &[u32]) -> bool + Send + Sync>;

/// What a process shows to a property.
pub(crate) type Shows = Box<dyn Fn(Pid, &dyn Any) -> Boxed + Send + Sync>;

/// What a property is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropertyRole {
    Invariant,
    Proposition,
    /// It must hold somewhere.
    Sometimes,
    /// It must hold somewhere on every run.
    Eventually,
    /// It is fine to stop where it holds.
    End,
}

/// A named predicate.
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) role: PropertyRole,
    /// The processes whose local states it depends on.
    pub(crate) processes: Vec<Pid>,
    /// It depends on the record.
    pub(crate) history: bool,
    /// If it depends on no more than this of each local state.
    pub(crate) shows: Option<Shows>,
    pub(crate) holds: Holds,
}

/// Some processes of one type, and what each shows: made by [`over`].
pub struct Group<S, F> {
    processes: Vec<ProcessRef<S>>,
    shows: F,
}

impl<S, F> std::fmt::Debug for Group<S, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Group").field(&self.processes).finish()
    }
}

/// Some processes, and what of each state matters: for
/// [`invariant_across`](crate::Protocol::invariant_across).
pub fn over<S: Value, V: Value, F: Fn(&S) -> V + Send + Sync + 'static>(
    processes: &[ProcessRef<S>],
    shows: F,
) -> Group<S, F> {
    Group {
        processes: processes.to_vec(),
        shows,
    }
}

impl<S: Value, V: Value, F: Fn(&S) -> V> Group<S, F> {
    fn values<'a>(&self, state: &dyn Fn(Pid) -> &'a dyn Any) -> Vec<V> {
        let processes = self.processes.iter();
        let shown = |p: &ProcessRef<S>| (self.shows)(crate::protocol::typed(state(p.pid)));
        processes.map(shown).collect()
    }

    /// What a process shows, if it is in the group.
    fn shown(&self, pid: Pid, state: &dyn Any) -> Option<V> {
        let is_in = self.processes.iter().any(|p| p.pid == pid);
        is_in.then(|| (self.shows)(crate::protocol::typed(state)))
    }
}

/// One to four [groups](over) of processes, as a tuple.
pub trait Groups: sealed::Sealed + Send + Sync + 'static {
    /// What they show: a vector for each group.
    type Values;

    #[doc(hidden)]
    fn processes(&self) -> Vec<(u32, Pid)>;
    #[doc(hidden)]
    fn values<'a>(&self, state: &dyn Fn(Pid) -> &'a dyn Any) -> Self::Values;
    #[doc(hidden)]
    fn shown(&self, pid: Pid, state: &dyn Any) -> Shown;
}

/// What a process shows to a property, of any type.
#[doc(hidden)]
pub struct Shown(pub(crate) Boxed);

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! groups {
    ($($state:ident $value:ident $shows:ident $at:tt),+) => {
        impl<$($state: Value, $value: Value,
            $shows: Fn(&$state) -> $value + Send + Sync + 'static),+> sealed::Sealed
            for ($(Group<$state, $shows>,)+) {}

        impl<$($state: Value, $value: Value,
            $shows: Fn(&$state) -> $value + Send + Sync + 'static),+> Groups
            for ($(Group<$state, $shows>,)+)
        {
            type Values = ($(Vec<$value>,)+);

            fn processes(&self) -> Vec<(u32, Pid)> {
                let mut all = Vec::new();
                $(all.extend(self.$at.processes.iter().map(|p| (p.owner, p.pid)));)+
                all
            }

            fn values<'a>(&self, state: &dyn Fn(Pid) -> &'a dyn Any) -> Self::Values {
                ($(self.$at.values(state),)+)
            }

            fn shown(&self, pid: Pid, state: &dyn Any) -> Shown {
                Shown(Boxed(Box::new(($(self.$at.shown(pid, state),)+))))
            }
        }
    };
}

groups!(S0 V0 F0 0);
groups!(S0 V0 F0 0, S1 V1 F1 1);
groups!(S0 V0 F0 0, S1 V1 F1 1, S2 V2 F2 2);
groups!(S0 V0 F0 0, S1 V1 F1 1, S2 V2 F2 2, S3 V3 F3 3);

/// A global state, as properties see it.
pub struct View<'a, M> {
    inner: &'a Inner,
    words: &'a [u32],
    messages: PhantomData<fn(M)>,
}

impl<M> std::fmt::Debug for View<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").finish_non_exhaustive()
    }
}

/// What is said of views, said of states.
pub(crate) fn viewed<M: Value>(
    holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
) -> Holds {
    Box::new(move |inner, words| {
        holds(&View {
            inner,
            words,
            messages: PhantomData,
        })
    })
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
