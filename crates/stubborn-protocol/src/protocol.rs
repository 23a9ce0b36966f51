//! Writing a protocol down: processes, handlers, the network, properties.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use crate::builders::{ActionBuilder, Builder, MessageBuilder, QuorumBuilder};
use crate::error::ProtocolError;
use crate::handler::{Edge, Handler, Takes};
use crate::history::History;
use crate::linearizability::Drawn;
use crate::model::{Inner, Model};
use crate::network::Network;
use crate::property::{Groups, Holds, Property, PropertyRole, View, over, viewed};
use crate::symmetry::Rename;
use crate::value::{Boxed, Envelope, KindName, Pid, ProcessRef, Value};

/// A process as declared.
pub(crate) struct ProcessDeclaration {
    pub(crate) name: String,
    /// `None` while it is only declared.
    pub(crate) initial: Option<Boxed>,
    pub(crate) timers: Vec<String>,
    pub(crate) initial_timers: u32,
    pub(crate) may_crash: bool,
    pub(crate) recovers: Option<Recovery>,
    pub(crate) renames: Option<Renaming>,
}

/// Renames processes in a local state or a message.
pub(crate) type Renaming = Box<dyn Fn(&dyn Any, &dyn Fn(Pid) -> Pid) -> Boxed + Send + Sync>;

/// What a process is after it has come back.
pub(crate) type Recovery = Box<dyn Fn(&dyn Any) -> Boxed + Send + Sync>;

/// A protocol in the making: see the [crate documentation](crate) for an example.
pub struct Protocol<M> {
    pub(crate) declared: Declarations,
    messages: PhantomData<fn(M) -> M>,
}

/// What was written down, without the type of messages.
pub(crate) struct Declarations {
    pub(crate) name: String,
    /// Tells the processes of one protocol from those of others.
    pub(crate) number: u32,
    /// What is wrong with it, as far as it was noticed while it was written.
    pub(crate) errors: Vec<ProtocolError>,
    pub(crate) network: Network,
    pub(crate) lossy: bool,
    pub(crate) splits_quorums: bool,
    pub(crate) most_crashes: u32,
    /// Who comes back makes room for another crash.
    pub(crate) crashes_return: bool,
    /// Both, once they were said.
    crash_limit: Option<(u32, bool)>,
    pub(crate) processes: Vec<ProcessDeclaration>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) initial_messages: Vec<Envelope<Boxed>>,
    pub(crate) properties: Vec<Property>,
    pub(crate) history: Option<History>,
    /// Interchangeable processes.
    pub(crate) class: Vec<Pid>,
    pub(crate) renames_messages: Option<Renaming>,
    pub(crate) edge: Edge,
}

impl<M> fmt::Debug for Protocol<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declared.fmt(f)
    }
}

impl fmt::Debug for Declarations {
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

impl Declarations {
    fn new(name: String, edge: Edge) -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        Self {
            name,
            number: NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            errors: Vec::new(),
            network: Network::default(),
            lossy: false,
            splits_quorums: false,
            most_crashes: 0,
            crashes_return: false,
            crash_limit: None,
            processes: Vec::new(),
            handlers: Vec::new(),
            initial_messages: Vec::new(),
            properties: Vec::new(),
            history: None,
            class: Vec::new(),
            renames_messages: None,
            edge,
        }
    }

    fn declare(&mut self, name: String) -> Pid {
        self.processes.push(ProcessDeclaration {
            name,
            initial: None,
            timers: Vec::new(),
            initial_timers: 0,
            may_crash: false,
            recovers: None,
            renames: None,
        });
        Pid((self.processes.len() - 1) as u16)
    }

    fn define(&mut self, process: Pid, initial: Boxed) {
        let declaration = &mut self.processes[process.index()];
        if declaration.initial.is_some() {
            let process = declaration.name.clone();
            self.errors.push(ProtocolError::DefinedTwice { process });
            return;
        }
        declaration.initial = Some(initial);
    }

    /// Whether a process is one of this protocol; a mistake otherwise.
    pub(crate) fn owns<S>(&mut self, process: ProcessRef<S>, at: &str) -> bool {
        let owns = process.owner == self.number;
        if !owns {
            let at = at.to_owned();
            self.errors.push(ProtocolError::ForeignProcess { at });
        }
        owns
    }

    fn may_crash(&mut self, processes: impl Iterator<Item = Pid>, at_most: u32, returns: bool) {
        let limit = (at_most, returns);
        if self.crash_limit.is_some_and(|before| before != limit) {
            self.errors.push(ProtocolError::TwoCrashLimits);
        }
        self.crash_limit = Some(limit);
        (self.most_crashes, self.crashes_return) = limit;
        for process in processes {
            match self.processes.get_mut(process.index()) {
                Some(process) => process.may_crash = true,
                None => self.errors.push(ProtocolError::ForeignProcess {
                    at: "`may_crash`".into(),
                }),
            }
        }
    }

    fn timer(&mut self, process: Pid, name: &str) -> u8 {
        let timers = &mut self.processes[process.index()].timers;
        let at = timers.iter().position(|t| t == name).unwrap_or_else(|| {
            timers.push(name.to_owned());
            timers.len() - 1
        });
        at as u8
    }

    /// Something about all processes and the record.
    fn property(&mut self, name: String, role: PropertyRole, holds: Holds) {
        let all = 0..self.processes.len();
        self.properties.push(Property {
            name,
            role,
            processes: all.map(|p| Pid(p as u16)).collect(),
            history: true,
            shows: None,
            holds,
        });
    }
}

pub(crate) fn typed<S: Value>(state: &dyn Any) -> &S {
    state.downcast_ref().expect("a value of this type")
}

pub(crate) fn typed_mut<S: Value>(state: &mut dyn Any) -> &mut S {
    state.downcast_mut().expect("a value of this type")
}

impl<M: Value> Protocol<M> {
    /// A protocol without processes, on an [unordered](Network::Unordered) network.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            declared: Declarations::new(name.into(), Edge::new::<M>()),
            messages: PhantomData,
        }
    }

    /// Chooses what the network does with messages.
    pub fn network(&mut self, network: Network) -> &mut Self {
        self.declared.network = network;
        self
    }

    /// Messages may get lost.
    pub fn lossy(&mut self) -> &mut Self {
        self.declared.lossy = true;
        self
    }

    /// Splits each quorum handler into one transition for each set of senders. The behaviour
    /// stays the same; reductions may find smaller sets among more transitions.
    pub fn split_quorums(&mut self) -> &mut Self {
        self.declared.splits_quorums = true;
        self
    }

    /// Adds a process.
    pub fn process<S: Value>(&mut self, name: impl Into<String>, initial: S) -> ProcessRef<S> {
        let process = self.declare(name);
        self.define(process, initial);
        process
    }

    /// A process whose first state is not known yet, because it mentions others:
    /// [`define`](Self::define) follows.
    ///
    /// ```
    /// use stubborn_protocol::{Pid, Protocol};
    ///
    /// let mut p = Protocol::<()>::new("ring");
    /// let ring: Vec<_> = (0..3).map(|n| p.declare::<Pid>(format!("node {n}"))).collect();
    /// for (at, node) in ring.iter().enumerate() {
    ///     p.define(*node, ring[(at + 1) % 3].pid()); // knows its neighbour
    /// }
    /// # assert!(p.build().is_ok());
    /// ```
    pub fn declare<S: Value>(&mut self, name: impl Into<String>) -> ProcessRef<S> {
        ProcessRef {
            pid: self.declared.declare(name.into()),
            owner: self.declared.number,
            state: PhantomData,
        }
    }

    /// The first state of a process that was [declared](Self::declare).
    pub fn define<S: Value>(&mut self, process: ProcessRef<S>, initial: S) {
        if self.declared.owns(process, "`define`") {
            self.declared.define(process.pid, Boxed::new(initial));
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
        self.declared.initial_messages.push(Envelope {
            from: from.into(),
            to: to.into(),
            message: Boxed::new(message),
        });
    }

    /// Sets a timer from the beginning. Some handler must wait for it.
    pub fn set_timer_initially<S: Value>(&mut self, process: ProcessRef<S>, timer: &str) {
        if !self.declared.owns(process, "`set_timer_initially`") {
            return;
        }
        let bit = self.declared.timer(process.pid, timer);
        // Too many are noticed when the protocol is built.
        let bit = 1_u32.checked_shl(u32::from(bit)).unwrap_or(0);
        self.declared.processes[process.pid.index()].initial_timers |= bit;
    }

    /// These processes may crash, at most so many crashes all together. There is one limit: whoever
    /// says this again says the same number.
    pub fn may_crash<P: Into<Pid> + Copy>(&mut self, processes: &[P], at_most: u32) {
        let processes = processes.iter().map(|p| (*p).into());
        self.declared.may_crash(processes, at_most, false);
    }

    /// These processes may crash, at most so many of them at a time: who [comes
    /// back](Self::recovers) makes room for another crash.
    pub fn may_be_down<P: Into<Pid> + Copy>(&mut self, processes: &[P], at_most: u32) {
        let processes = processes.iter().map(|p| (*p).into());
        self.declared.may_crash(processes, at_most, true);
    }

    /// A crashed process may come back, with what is left of its state: what it had on disk. Timers
    /// are those that were set at the beginning, and messages are still on their way.
    pub fn recovers<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        state_after: impl Fn(&S) -> S + Send + Sync + 'static,
    ) {
        if !self.declared.owns(process, "`recovers`") {
            return;
        }
        self.declared.processes[process.pid.index()].recovers =
            Some(Box::new(move |state| Boxed::new(state_after(typed(state)))));
    }

    /// What a process may do on its own.
    pub fn action<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        name: impl Into<String>,
    ) -> ActionBuilder<'_, M, S> {
        ActionBuilder(Builder::new(
            &mut self.declared,
            process,
            name.into(),
            Takes::Nothing,
        ))
    }

    /// What a process does when a timer runs out.
    pub fn on_timeout<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        timer: &str,
    ) -> ActionBuilder<'_, M, S> {
        let bit = match self
            .declared
            .owns(process, &format!("`on_timeout` of `{timer}`"))
        {
            true => self.declared.timer(process.pid, timer),
            false => 0,
        };
        let name = format!("timeout {timer}");
        ActionBuilder(Builder::new(
            &mut self.declared,
            process,
            name,
            Takes::Timer(bit),
        ))
    }

    /// What a process does with a message of a kind: the variant's name, or better
    /// [`kind!`](crate::kind).
    pub fn on<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        kind: impl KindName<M>,
    ) -> MessageBuilder<'_, M, S> {
        let kind = kind.kind_name();
        let mut builder = Builder::new(&mut self.declared, process, kind.to_owned(), Takes::One);
        builder.handler.kinds = Some(vec![kind.to_owned()]);
        MessageBuilder(builder)
    }

    /// What a process does with any message.
    pub fn on_any<S: Value>(&mut self, process: ProcessRef<S>) -> MessageBuilder<'_, M, S> {
        MessageBuilder(Builder::new(
            &mut self.declared,
            process,
            "message".into(),
            Takes::One,
        ))
    }

    /// What a process does with `count` messages of a kind from different senders, consumed all
    /// at once.
    pub fn on_quorum<S: Value>(
        &mut self,
        process: ProcessRef<S>,
        kind: impl KindName<M>,
        count: usize,
    ) -> QuorumBuilder<'_, M, S> {
        let kind = kind.kind_name();
        let takes = Takes::Quorum(count as u16);
        let mut builder = Builder::new(&mut self.declared, process, kind.to_owned(), takes);
        builder.handler.kinds = Some(vec![kind.to_owned()]);
        QuorumBuilder(builder)
    }

    /// Something that must hold in every reachable state.
    pub fn invariant(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
    ) {
        self.declared
            .property(name.into(), PropertyRole::Invariant, viewed(holds));
    }

    /// The same as [`invariant`](Self::invariant), for those who know it by this name.
    pub fn always(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
    ) {
        self.invariant(name, holds);
    }

    /// Something that must hold in some reachable state: a check that the protocol gets anywhere.
    pub fn sometimes(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
    ) {
        self.declared
            .property(name.into(), PropertyRole::Sometimes, viewed(holds));
    }

    /// Something that must hold somewhere on every run, however it goes on; see
    /// [`Checker::fair`](crate::Checker::fair).
    pub fn eventually(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static,
    ) {
        self.declared
            .property(name.into(), PropertyRole::Eventually, viewed(holds));
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
        let holds = move |values: &(Vec<V>,)| holds(&values.0);
        self.invariant_across(name, (over(processes, shows),), holds);
    }

    /// The same over several groups of processes, of different types:
    ///
    /// ```
    /// use stubborn_protocol::{Protocol, over};
    ///
    /// # #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    /// # enum Message { Tick }
    /// let mut p = Protocol::<Message>::new("clocks");
    /// let server = p.process("server", 0_u32);
    /// let clients = p.processes("client", 2, (0_u8, "idle"));
    /// p.invariant_across(
    ///     "clients lag behind",
    ///     (over(&[server], |s| *s), over(&clients, |c| u32::from(c.0))),
    ///     |(server, clients)| clients.iter().all(|c| *c <= server[0]),
    /// );
    /// # stubborn_protocol::assert_holds!(p.build().unwrap());
    /// ```
    pub fn invariant_across<G: Groups>(
        &mut self,
        name: impl Into<String>,
        groups: G,
        holds: impl Fn(&G::Values) -> bool + Send + Sync + 'static,
    ) {
        self.shown(name.into(), PropertyRole::Invariant, groups, holds);
    }

    /// A proposition for temporal formulas, told by what some processes show.
    pub fn proposition<S: Value, V: Value>(
        &mut self,
        name: impl Into<String>,
        processes: &[ProcessRef<S>],
        shows: impl Fn(&S) -> V + Send + Sync + 'static,
        holds: impl Fn(&[V]) -> bool + Send + Sync + 'static,
    ) {
        let holds = move |values: &(Vec<V>,)| holds(&values.0);
        self.proposition_across(name, (over(processes, shows),), holds);
    }

    /// The same over [several groups](Self::invariant_across).
    pub fn proposition_across<G: Groups>(
        &mut self,
        name: impl Into<String>,
        groups: G,
        holds: impl Fn(&G::Values) -> bool + Send + Sync + 'static,
    ) {
        self.shown(name.into(), PropertyRole::Proposition, groups, holds);
    }

    pub(crate) fn says_where_it_may_stop(&self) -> bool {
        let mut roles = self.declared.properties.iter().map(|p| p.role);
        roles.any(|role| role == PropertyRole::End)
    }

    /// Where it is fine that nothing can happen any more. Without it, every such state is taken
    /// for a mistake by checks that look for them. What is said last counts.
    pub fn may_stop_when(&mut self, holds: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static) {
        self.declared
            .property("may stop".into(), PropertyRole::End, viewed(holds));
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

    fn shown<G: Groups>(
        &mut self,
        name: String,
        role: PropertyRole,
        groups: G,
        holds: impl Fn(&G::Values) -> bool + Send + Sync + 'static,
    ) {
        let all = groups.processes();
        let declared = &mut self.declared;
        if all.iter().any(|(owner, _)| *owner != declared.number) {
            let at = format!("`{name}`");
            declared.errors.push(ProtocolError::ForeignProcess { at });
        }
        let groups = std::sync::Arc::new(groups);
        let look = groups.clone();
        let evaluate = move |inner: &Inner, words: &[u32]| {
            let state = |p: Pid| (*inner.local(words, p).state.0).as_any();
            holds(&look.values(&state))
        };
        declared.properties.push(Property {
            name,
            role,
            processes: all.into_iter().map(|(_, pid)| pid).collect(),
            history: false,
            shows: Some(Box::new(move |pid, state| groups.shown(pid, state).0)),
            holds: Box::new(evaluate),
        });
    }

    /// Keeps a record of messages besides the state of processes: a part of the state that no
    /// handler sees. Returned to say what is recorded.
    pub fn record<H: Value>(&mut self, initial: H) -> RecordBuilder<'_, M, H> {
        self.declared.history = Some(History::new(initial));
        RecordBuilder {
            declared: &mut self.declared,
            types: PhantomData,
        }
    }

    /// Declares that these processes differ in nothing but their number, for
    /// [symmetric checks](crate::Checker::symmetric). Replaces an earlier declaration.
    pub fn interchangeable<S: Value + Rename>(&mut self, processes: &[ProcessRef<S>]) {
        if !processes
            .iter()
            .all(|p| self.declared.owns(*p, "`interchangeable`"))
        {
            return;
        }
        self.declared.class = processes.iter().map(|p| p.pid).collect();
        for process in processes {
            self.mentions_processes(*process);
        }
    }

    /// Says that the local state of a process mentions interchangeable ones.
    pub fn mentions_processes<S: Value + Rename>(&mut self, process: ProcessRef<S>) {
        if !self.declared.owns(process, "`mentions_processes`") {
            return;
        }
        let rename: Renaming = Box::new(|state, to| Boxed::new(typed::<S>(state).rename(to)));
        self.declared.processes[process.pid.index()].renames = Some(rename);
    }

    /// Says that messages mention interchangeable processes (apart from sender and receiver).
    pub fn messages_mention_processes(&mut self)
    where
        M: Rename,
    {
        let rename: Renaming = Box::new(|m, to| Boxed::new(typed::<M>(m).rename(to)));
        self.declared.renames_messages = Some(rename);
    }

    /// Ready to be checked; says what is wrong otherwise.
    pub fn build(self) -> Result<Model<M>, ProtocolError> {
        Model::new(self.declared)
    }
}

fn names<M, K: KindName<M>>(kinds: &[K]) -> Vec<&str> {
    kinds.iter().map(KindName::kind_name).collect()
}

/// A record of messages, being set up.
pub struct RecordBuilder<'p, M, H> {
    declared: &'p mut Declarations,
    types: PhantomData<fn(M) -> H>,
}

impl<M: Value, H: Value> RecordBuilder<'_, M, H> {
    /// Changes the record when a message of one of these kinds is sent.
    pub fn on_send(
        self,
        kinds: &[impl KindName<M>],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) -> Self {
        if let Some(history) = &mut self.declared.history {
            history.on_send(&names(kinds), note);
        }
        self
    }

    /// Changes the record when a message of one of these kinds is delivered.
    pub fn on_delivery(
        self,
        kinds: &[impl KindName<M>],
        note: impl Fn(&mut H, &Envelope<M>) + Send + Sync + 'static,
    ) -> Self {
        if let Some(history) = &mut self.declared.history {
            history.on_delivery(&names(kinds), note);
        }
        self
    }

    /// Draws the operations of a record below charts: [`Tester::operations`] for a
    /// [`Tester`]. Each keeps its place among those of its client.
    ///
    /// [`Tester`]: crate::linearizability::Tester
    /// [`Tester::operations`]: crate::linearizability::Tester::operations
    pub fn drawn(self, operations: impl Fn(&H) -> Vec<Drawn> + Send + Sync + 'static) -> Self {
        if let Some(history) = &mut self.declared.history {
            let of = move |record: &dyn Any| record.downcast_ref().map_or(Vec::new(), &operations);
            history.draw = Some(Box::new(of));
        }
        self
    }

    /// Something that must hold of the record in every reachable state.
    pub fn invariant(
        self,
        name: impl Into<String>,
        holds: impl Fn(&H) -> bool + Send + Sync + 'static,
    ) -> Self {
        let evaluate = move |inner: &Inner, words: &[u32]| {
            let record = inner.record(words).and_then(Boxed::get::<H>);
            record.is_none_or(&holds)
        };
        self.declared.properties.push(Property {
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
