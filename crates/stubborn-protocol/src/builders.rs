//! Handlers while they are being written: what they wait for, what they declare, what they do.

use std::any::Any;
use std::marker::PhantomData;

use crate::handler::{Effect, Guard, Handler, LocalGuard, MaySend, Step, Takes};
use crate::protocol::{Declarations, typed, typed_mut};
use crate::value::{Envelope, KindName, Pid, ProcessRef, Value};

/// What all handlers have in common while they are being written.
pub(crate) struct Builder<'p, M, S> {
    declared: &'p mut Declarations,
    pub(crate) handler: Handler,
    types: PhantomData<fn(M) -> S>,
}

impl<'p, M: Value, S: Value> Builder<'p, M, S> {
    pub(crate) fn new(
        declared: &'p mut Declarations,
        process: ProcessRef<S>,
        name: String,
        takes: Takes,
    ) -> Self {
        declared.owns(process, &format!("the handler `{name}`"));
        Self {
            declared,
            handler: Handler {
                name,
                process: process.pid,
                takes,
                kinds: None,
                senders: None,
                sends: None,
                only_reads: false,
                local_guard: None,
                guard: None,
                effect: Box::new(|_, _, _| {}),
            },
            types: PhantomData,
        }
    }

    fn sends(&mut self, kind: Option<&str>, to: Option<Vec<Pid>>) {
        self.handler.sends.get_or_insert_default().push(MaySend {
            kind: kind.map(str::to_owned),
            to,
        });
    }

    fn when(&mut self, guard: Guard) {
        let before = self.handler.guard.take();
        self.handler.guard = Some(Box::new(move |state, messages| {
            let holds = |guard: &Guard| guard(state, messages);
            before.as_ref().is_none_or(holds) && guard(state, messages)
        }));
    }

    fn finish(mut self, effect: Effect) {
        self.handler.effect = effect;
        self.declared.handlers.push(self.handler);
    }
}

/// What an [edge](crate::handler::Edge) has made.
fn envelopes<M: Value>(messages: &dyn Any) -> &[Envelope<M>] {
    let messages = messages.downcast_ref::<Vec<Envelope<M>>>();
    messages.expect("messages of this protocol")
}

fn typed_step<M: Value>(step: &mut dyn Any) -> &mut Step<M> {
    step.downcast_mut().expect("a step of this protocol")
}

fn pids<P: Into<Pid> + Copy>(processes: &[P]) -> Vec<Pid> {
    processes.iter().map(|p| (*p).into()).collect()
}

/// What all handlers have in common.
macro_rules! common_declarations {
    () => {
        /// Calls the handler something else, for traces.
        pub fn named(mut self, name: impl Into<String>) -> Self {
            self.0.handler.name = name.into();
            self
        }

        /// A guard on the local state alone. What it excludes need not be looked at. Several must
        /// hold together.
        pub fn only_if(mut self, holds: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
            let before = self.0.handler.local_guard.take();
            let guard: LocalGuard = Box::new(move |state| {
                before.as_ref().is_none_or(|before| before(state)) && holds(typed(state))
            });
            self.0.handler.local_guard = Some(guard);
            self
        }

        /// Declares that messages of this kind may be sent to these processes. With any
        /// declaration, everything else is forbidden, and checked.
        pub fn sends<P: Into<Pid> + Copy>(mut self, kind: impl KindName<M>, to: &[P]) -> Self {
            self.0.sends(Some(kind.kind_name()), Some(pids(to)));
            self
        }

        /// Declares that messages of this kind may be sent to anybody.
        pub fn sends_to_any(mut self, kind: impl KindName<M>) -> Self {
            self.0.sends(Some(kind.kind_name()), None);
            self
        }

        /// Declares that nothing is sent.
        pub fn sends_nothing(mut self) -> Self {
            self.0.handler.sends.get_or_insert_default();
            self
        }

        /// Declares that the local state stays as it is.
        pub fn only_reads(mut self) -> Self {
            self.0.handler.only_reads = true;
            self
        }
    };
}

/// What handlers of one message and of several have in common.
macro_rules! message_declarations {
    () => {
        /// Messages from these processes only.
        pub fn from<P: Into<Pid> + Copy>(mut self, senders: &[P]) -> Self {
            self.0.handler.senders = Some(pids(senders));
            self
        }

        /// Messages of one more kind.
        pub fn or(mut self, kind: impl KindName<M>) -> Self {
            // Who takes any kind takes this one, too.
            if let Some(kinds) = &mut self.0.handler.kinds {
                kinds.push(kind.kind_name().to_owned());
            }
            self
        }
    };
}

/// An action of a process, being written. Nothing is added before [`then`](Self::then).
#[must_use = "without `then` nothing is added to the protocol"]
pub struct ActionBuilder<'p, M, S>(pub(crate) Builder<'p, M, S>);

impl<M: Value, S: Value> ActionBuilder<'_, M, S> {
    common_declarations!();

    /// A guard: the same as [`only_if`](Self::only_if).
    pub fn when(self, holds: impl Fn(&S) -> bool + Send + Sync + 'static) -> Self {
        self.only_if(holds)
    }

    /// What happens.
    pub fn then(self, effect: impl Fn(&mut S, &mut Step<M>) + Send + Sync + 'static) {
        let effect: Effect =
            Box::new(move |state, _, step| effect(typed_mut(state), typed_step(step)));
        self.0.finish(effect);
    }
}

/// A handler of single messages, being written. Nothing is added before [`then`](Self::then).
#[must_use = "without `then` nothing is added to the protocol"]
pub struct MessageBuilder<'p, M, S>(pub(crate) Builder<'p, M, S>);

impl<M: Value, S: Value> MessageBuilder<'_, M, S> {
    common_declarations!();
    message_declarations!();

    /// A guard on local state and message. Several must hold together.
    pub fn when(
        mut self,
        holds: impl Fn(&S, &Envelope<M>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.when(Box::new(move |state, messages| {
            let message = envelopes(messages).first();
            message.is_some_and(|m| holds(typed(state), m))
        }));
        self
    }

    /// What happens.
    pub fn then(self, effect: impl Fn(&mut S, &Envelope<M>, &mut Step<M>) + Send + Sync + 'static) {
        let effect: Effect = Box::new(move |state, messages, step| {
            if let Some(message) = envelopes(messages).first() {
                effect(typed_mut(state), message, typed_step(step));
            }
        });
        self.0.finish(effect);
    }
}

/// A handler of several messages at once, being written. Nothing is added before
/// [`then`](Self::then).
#[must_use = "without `then` nothing is added to the protocol"]
pub struct QuorumBuilder<'p, M, S>(pub(crate) Builder<'p, M, S>);

impl<M: Value, S: Value> QuorumBuilder<'_, M, S> {
    common_declarations!();
    message_declarations!();

    /// A guard on local state and messages, which come by increasing sender. Several must hold
    /// together.
    pub fn when(
        mut self,
        holds: impl Fn(&S, &[Envelope<M>]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.0.when(Box::new(move |state, messages| {
            holds(typed(state), envelopes(messages))
        }));
        self
    }

    /// What happens. Messages come by increasing sender.
    pub fn then(
        self,
        effect: impl Fn(&mut S, &[Envelope<M>], &mut Step<M>) + Send + Sync + 'static,
    ) {
        let effect: Effect = Box::new(move |state, messages, step| {
            effect(typed_mut(state), envelopes(messages), typed_step(step));
        });
        self.0.finish(effect);
    }
}
