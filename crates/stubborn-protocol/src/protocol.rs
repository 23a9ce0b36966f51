//! Writing a protocol down: processes, handlers, the network, properties.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use crate::builders::{ActionBuilder, Builder, MessageBuilder, QuorumBuilder};
use crate::handler::{Handler, Takes};
use crate::history::History;
use crate::model::{Model, ProtocolError};
use crate::network::Network;
use crate::property::{Property, PropertyRole, View};
use crate::symmetry::Rename;
use crate::value::{Boxed, Envelope, Pid, ProcessRef, Value};

/// A process as declared.
pub(crate) struct ProcessDeclaration {
    pub(crate) name: String,
    pub(crate) initial: Boxed,
    pub(crate) timers: Vec<String>,
    pub(crate) initial_timers: u32,
    pub(crate) may_crash: bool,
    pub(crate) recovers: Option<Recovery>,
    pub(crate) renames: Option<Renaming>,
}

/// Renames processes in a local state.
pub(crate) type Renaming = Box<dyn Fn(&dyn Any, &dyn Fn(Pid) -> Pid) -> Boxed + Send + Sync>;

/// Renames processes in a message.
pub(crate) type MessageRenaming<M> = Box<dyn Fn(&M, &dyn Fn(Pid) -> Pid) -> M + Send + Sync>;

/// What a process is after it has come back.
pub(crate) type Recovery = Box<dyn Fn(&dyn Any) -> Boxed + Send + Sync>;

/// A protocol in the making: see the [crate documentation](crate) for an example.
pub struct Protocol<M> {
    pub(crate) name: String,
    pub(crate) network: Network,
    pub(crate) lossy: bool,
    pub(crate) splits_quorums: bool,
    pub(crate) most_crashes: u32,
    pub(crate) processes: Vec<ProcessDeclaration>,
    pub(crate) handlers: Vec<Handler<M>>,
    pub(crate) initial_messages: Vec<Envelope<M>>,
    pub(crate) properties: Vec<Property<M>>,
    pub(crate) history: Option<History<M>>,
    /// Interchangeable processes.
    pub(crate) class: Vec<Pid>,
    pub(crate) renames_messages: Option<MessageRenaming<M>>,
}

impl<M> fmt::Debug for Protocol<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.processes.iter().map(|p| &p.name);
        f.debug_struct("Protocol")
            .field("name", &self.name)
            .field("network", &self.network)
            .field("processes", &processes.collect::<Vec<_>>())
            .field("handlers", &self.handlers.len())
            .finish_non_exhaustive()
    }
}

pub(crate) fn typed<S: Value>(state: &dyn Any) -> &S {
    state.downcast_ref().expect("a state of this process")
}

pub(crate) fn typed_mut<S: Value>(state: &mut dyn Any) -> &mut S {
    state.downcast_mut().expect("a state of this process")
}

impl<M: Value> Protocol<M> {
    /// A protocol without processes, on an [unordered](Network::Unordered) network.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            network: Network::default(),
            lossy: false,
            splits_quorums: false,
            most_crashes: 0,
            processes: Vec::new(),
            handlers: Vec::new(),
            initial_messages: Vec::new(),
            properties: Vec::new(),
            history: None,
            class: Vec::new(),
            renames_messages: None,
        }
    }

    /// Chooses what the network does with messages.
    pub fn network(&mut self, network: Network) -> &mut Self {
        self.network = network;
        self
    }

    /// Messages may get lost.
    pub fn lossy(&mut self) -> &mut Self {
        self.lossy = true;
        self
    }

    /// Splits each quorum handler into one transition for each set of senders. The behaviour
    /// stays the same; reductions may find smaller sets among more transitions.
    pub fn split_quorums(&mut self) -> &mut Self {
        self.splits_quorums = true;
        self
    }

    /// Adds a process.
    pub fn process<S: Value>(&mut self, name: impl Into<String>, initial: S) -> ProcessRef<S> {
        self.processes.push(ProcessDeclaration {
            name: name.into(),
            initial: Boxed(Box::new(initial)),
            timers: Vec::new(),
            initial_timers: 0,
            may_crash: false,
            recovers: None,
            renames: None,
        });
        ProcessRef {
            pid: Pid((self.processes.len() - 1) as u16),
            state: PhantomData,
        }
    }

    /// Adds `count` equal processes, called `name 1`, `name 2` and so on.
    pub fn processes<S: Value>(
        &mut self,
        name: &str,
        count: usize,
        initial: S,
    ) -> Vec<ProcessRef<S>> {
        (1..=count)
            .map(|number| self.process(format!("{name} {number}"), initial.clone()))
            .collect()
    }

    /// A message that is on its way from the beginning.
    pub fn send_initially(&mut self, from: impl Into<Pid>, to: impl Into<Pid>, message: M) {
        self.initial_messages.push(Envelope {
            from: from.into(),
            to: to.into(),
            message,
        });
    }

    /// Sets a timer from the beginning. Some handler must wait for it.
    pub fn set_timer_initially<S: Value>(&mut self, process: ProcessRef<S>, timer: &str) {
        let bit = self.timer(process.pid, timer);
        self.processes[process.pid.index()].initial_timers |= 1 << bit;
    }

    /// These processes may crash, at most so many crashes all together.
    pub fn may_crash<P: Into<Pid> + Copy>(&mut self, processes: &[P], at_most: u32) {
        self.most_crashes = at_most;
        for process in processes {
            self.processes[(*process).into().index()].may_crash = true;
        }
    }

    /// A crashed process may come back, with what is left of its state.
    pub fn recovers<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        state_after: impl Fn(&S) -> S + Send + Sync + 'static,
    ) {
        self.processes[process.pid.index()].recovers = Some(Box::new(move |state| {
            Boxed(Box::new(state_after(typed(state))))
        }));
    }

    /// What a process may do on its own.
    pub fn action<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        name: impl Into<String>,
    ) -> ActionBuilder<'_, M, S> {
        ActionBuilder(Builder::new(self, process, name.into(), Takes::Nothing))
    }

    /// What a process does when a timer runs out.
    pub fn on_timeout<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        timer: &str,
    ) -> ActionBuilder<'_, M, S> {
        let bit = self.timer(process.pid, timer);
        let name = format!("timeout {timer}");
        ActionBuilder(Builder::new(self, process, name, Takes::Timer(bit)))
    }

    /// What a process does with a message of a kind: the variant's name.
    pub fn on<S: Value>(&mut self, process: ProcessRef<S>, kind: &str) -> MessageBuilder<'_, M, S> {
        let mut builder = Builder::new(self, process, kind.to_owned(), Takes::One);
        builder.handler.kinds = Some(vec![kind.to_owned()]);
        MessageBuilder(builder)
    }

    /// What a process does with any message.
    pub fn on_any<S: Value>(&mut self, process: ProcessRef<S>) -> MessageBuilder<'_, M, S> {
        MessageBuilder(Builder::new(self, process, "message".into(), Takes::One))
    }

    /// What a process does with `count` messages of a kind from different senders, consumed all
    /// at once.
    pub fn on_quorum<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        kind: &str,
        count: usize,
    ) -> QuorumBuilder<'_, M, S> {
        let takes = Takes::Quorum(count as u16);
        let mut builder = Builder::new(self, process, kind.to_owned(), takes);
        builder.handler.kinds = Some(vec![kind.to_owned()]);
        QuorumBuilder(builder)
    }

    /// Something that must hold in every reachable state.
    pub fn invariant(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
    ) {
        let all = (0..self.processes.len()).map(|p| Pid(p as u16)).collect();
        self.property(name.into(), PropertyRole::Invariant, all, Box::new(holds));
    }

    /// Something that must hold in every reachable state, told by what some processes show: only
    /// steps that change what is shown matter to it, which is what reductions live on.
    pub fn invariant_over<S: Value, V: Value>(
        &mut self,
        name: impl Into<String>,
        processes: &[ProcessRef<S>],
        shows: impl Fn(&S) -> V + Send + Sync + 'static,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) {
        self.shown(
            name.into(),
            PropertyRole::Invariant,
            processes,
            shows,
            holds,
        );
    }

    /// A proposition for temporal formulas, told by what some processes show.
    pub fn proposition<S: Value, V: Value>(
        &mut self,
        name: impl Into<String>,
        processes: &[ProcessRef<S>],
        shows: impl Fn(&S) -> V + Send + Sync + 'static,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) {
        self.shown(
            name.into(),
            PropertyRole::Proposition,
            processes,
            shows,
            holds,
        );
    }

    /// Where it is fine that nothing can happen any more. Without it, every such state is taken
    /// for a mistake by checks that look for them.
    pub fn may_stop_when(&mut self, holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static) {
        let all = (0..self.processes.len()).map(|p| Pid(p as u16)).collect();
        self.property("may stop".into(), PropertyRole::End, all, Box::new(holds));
    }

    /// An invariant of each of some processes.
    pub fn invariant_of_each<S: Value>(
        &mut self,
        name: impl Into<String>,
        processes: &[ProcessRef<S>],
        holds: impl Fn(&S) -> bool + Send + Sync + 'static,
    ) {
        self.invariant_over(name, processes, holds, |each| each.iter().all(|h| *h));
    }

    fn shown<S: Value, V: Value>(
        &mut self,
        name: String,
        role: PropertyRole,
        processes: &[ProcessRef<S>],
        shows: impl Fn(&S) -> V + Send + Sync + 'static,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) {
        let shows = std::sync::Arc::new(shows);
        let processes = processes.to_vec();
        let pids = processes.iter().map(|p| p.pid).collect();
        let look = shows.clone();
        let evaluate = move |view: &View<'_, M>| {
            let values: Vec<V> = processes.iter().map(|p| look(view.state(*p))).collect();
            holds(&values)
        };
        self.property(name, role, pids, Box::new(evaluate));
        if let Some(property) = self.properties.last_mut() {
            property.shows = Some(Box::new(move |state| Boxed(Box::new(shows(typed(state))))));
        }
    }

    fn property(
        &mut self,
        name: String,
        role: PropertyRole,
        processes: Vec<Pid>,
        holds: crate::property::Holds<M>,
    ) {
        self.properties.push(Property {
            name,
            role,
            processes,
            history: false,
            shows: None,
            holds,
        });
    }

    /// Keeps a record of messages besides the state of processes: a part of the state that no
    /// handler sees. Returned to say what is recorded.
    pub fn record<H: Value>(&mut self, initial: H) -> RecordBuilder<'_, M, H> {
        self.history = Some(History::new(initial));
        RecordBuilder {
            protocol: self,
            history: PhantomData,
        }
    }

    /// Declares that these processes differ in nothing but their number, for
    /// [symmetric checks](crate::Checker::symmetric). Replaces an earlier declaration.
    pub fn interchangeable<S: Value + Rename>(&mut self, processes: &[ProcessRef<S>]) {
        self.class = processes.iter().map(|p| p.pid).collect();
        for process in processes {
            self.mentions_processes(*process);
        }
    }

    /// Says that the local state of a process mentions interchangeable ones.
    pub fn mentions_processes<S: Value + Rename>(&mut self, process: ProcessRef<S>) {
        let rename: Renaming = Box::new(|state, to| Boxed(Box::new(typed::<S>(state).rename(to))));
        self.processes[process.pid.index()].renames = Some(rename);
    }

    /// Says that messages mention interchangeable processes (apart from sender and receiver).
    pub fn messages_mention_processes(&mut self)
    where
        M: Rename,
    {
        self.renames_messages = Some(Box::new(|message, to| message.rename(to)));
    }

    fn timer(&mut self, process: Pid, name: &str) -> u8 {
        let timers = &mut self.processes[process.index()].timers;
        let at = timers.iter().position(|t| t == name).unwrap_or_else(|| {
            timers.push(name.to_owned());
            timers.len() - 1
        });
        at as u8
    }

    /// Ready to be checked; says what is wrong otherwise.
    pub fn build(self) -> Result<Model<M>, ProtocolError> {
        Model::new(self)
    }
}

/// A record of messages, being set up.
pub struct RecordBuilder<'p, M, H> {
    protocol: &'p mut Protocol<M>,
    history: PhantomData<fn() -> H>,
}

impl<M: Value, H: Value> RecordBuilder<'_, M, H> {
    /// Changes the record when a message of one of these kinds is sent.
    pub fn on_send(
        self,
        kinds: &[&str],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) -> Self {
        if let Some(history) = &mut self.protocol.history {
            history.on_send(kinds, note);
        }
        self
    }

    /// Changes the record when a message of one of these kinds is delivered.
    pub fn on_delivery(
        self,
        kinds: &[&str],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) -> Self {
        if let Some(history) = &mut self.protocol.history {
            history.on_delivery(kinds, note);
        }
        self
    }

    /// Something that must hold of the record in every reachable state.
    pub fn invariant(
        self,
        name: impl Into<String>,
        holds: impl Fn(&H) -> bool + Send + Sync + 'static,
    ) -> Self {
        let evaluate = move |view: &View<'_, M>| view.history::<H>().is_none_or(&holds);
        self.protocol.properties.push(Property {
            name: name.into(),
            role: PropertyRole::Invariant,
            processes: Vec::new(),
            history: true,
            shows: None,
            holds: Box::new(evaluate),
        });
        self
    }
}
