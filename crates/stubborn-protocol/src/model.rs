//! A protocol behind the seam: what searches, stores and reductions see of it.
//!
//! A process takes two words of a state: the number of its local state and the number of its
//! inbox. A record of messages takes one more, and so does what is left of the crashes. Numbers
//! stand for [interned](crate::intern) values. Handlers are functions of local state and
//! messages, so what a process can do is a function of its two words, and is computed once for
//! each pair; see [`executor`](crate::executor) for how it is remembered.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Budget, Executor, FailureKind, FailureSite, FieldId, FieldKind, Label, LabelId, Layout,
    Process, ProcessId, Property as SystemProperty, PropertyKind, RelationLevel, Relations,
    Structure, System, Transition,
};

use crate::analysis::Analysis;
use crate::coverage::Seen;
use crate::error::ProtocolError;
use crate::executor::ProtocolExecutor;
use crate::handler::{Takes, calmly};
use crate::intern::{Interner, stable_hash};
use crate::lazy::Met;
use crate::moves::Deeds;
use crate::network::{Inbox, Parcel};
use crate::property::PropertyRole;
use crate::protocol::{Declarations, ProcessDeclaration};
use crate::value::{Boxed, Envelope, Local, Pid, Value, kind_of, with_names};

/// A message with what is asked of it often.
pub(crate) struct Known {
    pub(crate) message: Boxed,
    /// Number of its kind.
    pub(crate) kind: u32,
    /// Orders messages, the same in every run.
    pub(crate) order: u64,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.message == other.message
    }
}

impl Eq for Known {}

impl std::hash::Hash for Known {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.message.hash(state);
    }
}

/// A message that changes the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub(crate) delivered: bool,
    pub(crate) from: Pid,
    pub(crate) to: Pid,
    pub(crate) message: u32,
}

/// What a transition of the system is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A handler; with a sender or a set of senders where there is one transition for each.
    Handler {
        handler: usize,
        senders: Option<Vec<Pid>>,
    },
    /// A message is lost.
    Lose,
    /// The process crashes.
    Crash,
    /// The process comes back.
    Recover,
}

/// A transition of the system.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) process: Pid,
    pub(crate) role: Role,
}

/// What a label of the system means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    /// The transition is enabled, as far as its process has a say in it.
    Ready(u32),
    /// The process has a message of a kind (`None` for any) from a sender.
    Has(Pid, Pid, Option<u32>),
    /// The local state alone allows this handler.
    Open(usize),
    /// There may be one more crash.
    MayCrash,
    /// Negation of a property.
    Violated(usize),
    /// A proposition.
    Holds(usize),
}

/// Everything that executors share.
pub(crate) struct Inner {
    pub(crate) protocol: Declarations,
    pub(crate) actions: Vec<Action>,
    pub(crate) meanings: Vec<Meaning>,
    pub(crate) locals: Interner<Local>,
    pub(crate) messages: Interner<Known>,
    pub(crate) kinds: Interner<String>,
    pub(crate) inboxes: Interner<Inbox>,
    /// Parcels sent to one receiver by one step, in order.
    pub(crate) posts: Interner<Inbox>,
    pub(crate) events: Interner<Box<[Event]>>,
    /// What handlers were seen to do.
    pub(crate) deeds: Mutex<Deeds>,
    /// For each handler, the numbers of the kinds that it takes; `None` for any.
    pub(crate) taken_kinds: Vec<Option<Vec<u32>>>,
    pub(crate) records: Interner<Boxed>,
    /// Of processes.
    pub(crate) names: Arc<[String]>,
    /// The word of the record, if there is one.
    pub(crate) record_word: Option<usize>,
    /// The word of the crashes left, and of the mark of failure.
    pub(crate) extra_word: usize,
    /// What handlers did although they said they would not.
    pub(crate) misuses: Mutex<Vec<String>>,
    /// What searches have met, for reports.
    pub(crate) seen: Mutex<Seen>,
    /// The same for relations.
    pub(crate) met: Mutex<Met>,
    /// Whether [running handlers](crate::analysis) in advance came to an end.
    pub(crate) analysed: OnceLock<bool>,
    initial: Vec<u32>,
}

impl Inner {
    pub(crate) fn local(&self, words: &[u32], process: Pid) -> &Local {
        self.locals.get(words[2 * process.index()])
    }

    pub(crate) fn initial_words(&self) -> &[u32] {
        &self.initial
    }

    pub(crate) fn record(&self, words: &[u32]) -> Option<&Boxed> {
        Some(self.records.get(words[self.record_word?]))
    }

    /// The number of a message.
    pub(crate) fn message(&self, message: Boxed) -> u32 {
        let order = stable_hash(&message);
        let is_it = |known: &Known, message: &Boxed| known.message == *message;
        // The kind is text: it is asked for only once.
        self.messages
            .intern_with(order, message, is_it, |message| Known {
                kind: self.kinds.intern(kind_of(&message)),
                message,
                order,
            })
    }

    pub(crate) fn envelope(&self, from: Pid, to: Pid, message: u32) -> Envelope<&Boxed> {
        Envelope {
            from,
            to,
            message: &self.messages.get(message).message,
        }
    }

    pub(crate) fn kind_name(&self, message: u32) -> &str {
        self.kinds.get(self.messages.get(message).kind)
    }

    pub(crate) fn process_name(&self, process: Pid) -> &str {
        &self.protocol.processes[process.index()].name
    }

    /// The record after some events.
    pub(crate) fn record_after(&self, record: u32, events: u32) -> u32 {
        let Some(history) = &self.protocol.history else {
            return record;
        };
        let mut after = self.records.get(record).clone();
        let noted = calmly(|| {
            for event in self.events.get(events) {
                let envelope = self.envelope(event.from, event.to, event.message);
                let kind = self.kind_name(event.message);
                history.after(&mut after, &envelope, kind, event.delivered);
            }
        });
        if let Err(text) = noted {
            self.blame(format!("the record panics: {text}"));
        }
        self.records.intern(after)
    }

    /// Whether the record changes when a message is sent or delivered.
    pub(crate) fn is_noted(&self, message: u32, delivered: bool) -> bool {
        let history = self.protocol.history.as_ref();
        history.is_some_and(|h| h.notes(self.kind_name(message), delivered))
    }

    /// An inbox as text, the same in every run.
    pub(crate) fn inbox_text(&self, inbox: u32) -> String {
        let parcels = self.inboxes.get(inbox).iter();
        let mut texts: Vec<String> = parcels
            .map(|p| {
                let message = self.message_text(p.message);
                format!("{}: {message}", self.process_name(p.from))
            })
            .collect();
        if self.protocol.network != crate::Network::Ordered {
            texts.sort();
        }
        format!("[{}]", texts.join(", "))
    }

    /// A message as text.
    pub(crate) fn message_text(&self, message: u32) -> String {
        self.value_text(&self.messages.get(message).message)
    }

    /// A value as text, with the names of processes.
    fn value_text(&self, value: &Boxed) -> String {
        with_names(&self.names, || format!("{value:?}"))
    }

    /// A local state as text.
    pub(crate) fn local_text(&self, process: Pid, local: u32) -> String {
        self.text_of(process, self.locals.get(local))
    }

    pub(crate) fn text_of(&self, process: Pid, local: &Local) -> String {
        let timers = &self.protocol.processes[process.index()].timers;
        let set: Vec<&str> = timers
            .iter()
            .enumerate()
            .filter(|(bit, _)| local.timers >> bit & 1 == 1)
            .map(|(_, name)| name.as_str())
            .collect();
        let mut text = self.value_text(&local.state);
        if !set.is_empty() {
            text.push_str(&format!(", timers {}", set.join(" and ")));
        }
        if local.crashed {
            text.push_str(", crashed");
        }
        text
    }
}

/// A protocol, ready to be checked: a [`System`] like any other model.
pub struct Model<M> {
    pub(crate) core: Core,
    messages: PhantomData<fn() -> M>,
}

/// The same without the type of its messages: everything behind this is compiled once, however many
/// types there are.
pub(crate) struct Core {
    pub(crate) inner: Inner,
    layout: Layout,
    structure: Structure,
    budget: Arc<Budget>,
}

impl<M> fmt::Debug for Model<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("protocol", &self.core.inner.protocol)
            .field("transitions", &self.core.structure.transitions.len())
            .finish_non_exhaustive()
    }
}

impl<M: Value> Model<M> {
    pub(crate) fn new(protocol: Declarations) -> Result<Self, ProtocolError> {
        Ok(Self {
            core: Core::new(protocol)?,
            messages: PhantomData,
        })
    }

    /// The same, with what everything that is done about it may take.
    #[must_use]
    pub fn with_budget(mut self, budget: Arc<Budget>) -> Self {
        self.core.budget = budget;
        self
    }

    /// As the protocol is called.
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// How many different local states, inboxes and messages have been seen so far.
    pub fn interned(&self) -> (usize, usize, usize) {
        let inner = &self.core.inner;
        (
            inner.locals.len(),
            inner.inboxes.len(),
            inner.messages.len(),
        )
    }

    /// The label of a property or proposition by name.
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.core.label(name)
    }

    /// What handlers did although their declarations exclude it, as far as it was seen.
    pub fn misuses(&self) -> Vec<String> {
        self.core.misuses()
    }
}

impl<M: Value> System for Model<M> {
    fn layout(&self) -> &Layout {
        self.core.layout()
    }

    fn structure(&self) -> &Structure {
        self.core.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.core.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        self.core.executor()
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.core.relations(level)
    }

    fn budget(&self) -> &Budget {
        self.core.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.core.value_text(field, value)
    }
}

impl Core {
    pub(crate) fn new(protocol: Declarations) -> Result<Self, ProtocolError> {
        check(&protocol)?;
        let actions = actions(&protocol);
        let count = protocol.processes.len();
        let mut layout = LayoutBuilder::new();
        for (at, process) in protocol.processes.iter().enumerate() {
            let owner = Some(ProcessId::new(at));
            let wide = (0, i64::from(u32::MAX));
            layout.field(&process.name, wide, FieldKind::Interned, owner);
            let inbox = format!("inbox of {}", process.name);
            layout.field(inbox, wide, FieldKind::Interned, owner);
        }
        let mut words = 2 * count;
        let record_word = protocol.history.as_ref().map(|_| {
            let wide = (0, i64::from(u32::MAX));
            layout.field("record", wide, FieldKind::Interned, None);
            words += 1;
            words - 1
        });
        // Any handler can use a timer that nobody waits for, so any model has a state of failure.
        let most = i64::from(protocol.most_crashes);
        layout.align_to_word();
        layout.field("crashes left", (0, most), FieldKind::Integer, None);
        let failed = layout.field("failed", (0, 1), FieldKind::Failed, None);
        let layout = layout.finish();
        let kinds = Interner::new();
        let numbers = |names: &Vec<String>| names.iter().map(|k| kinds.intern(k.clone())).collect();
        let handlers = protocol.handlers.iter();
        let taken_kinds = handlers.map(|h| h.kinds.as_ref().map(numbers)).collect();
        let mut inner = Inner {
            actions,
            meanings: Vec::new(),
            locals: Interner::new(),
            messages: Interner::new(),
            kinds,
            inboxes: Interner::new(),
            posts: Interner::new(),
            events: Interner::new(),
            deeds: Mutex::default(),
            taken_kinds,
            records: Interner::new(),
            names: protocol.processes.iter().map(|p| p.name.clone()).collect(),
            record_word,
            extra_word: words,
            misuses: Mutex::default(),
            seen: Mutex::default(),
            met: Mutex::default(),
            analysed: OnceLock::new(),
            initial: Vec::new(),
            protocol,
        };
        inner.initial = initial_state(&inner, layout.words());
        let mut structure = structure(&mut inner);
        let mut error = vec![0; layout.words()];
        layout.field(failed).set(&mut error, 1);
        structure.error_state = Some(error);
        structure.failures = failure_sites(&inner);
        Ok(Self {
            inner,
            layout,
            structure,
            budget: Arc::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.inner.protocol.name
    }

    pub(crate) fn label(&self, name: &str) -> Option<LabelId> {
        let properties = &self.inner.protocol.properties;
        let number = properties.iter().position(|p| p.name == name)?;
        let is_it = |m: &Meaning| *m == Meaning::Violated(number) || *m == Meaning::Holds(number);
        self.inner.meanings.iter().position(is_it).map(LabelId::new)
    }

    pub(crate) fn misuses(&self) -> Vec<String> {
        let misuses = self.inner.misuses.lock();
        let mut misuses = misuses.unwrap_or_else(|e| e.into_inner()).clone();
        misuses.sort();
        misuses.dedup();
        misuses
    }
}

fn check(protocol: &Declarations) -> Result<(), ProtocolError> {
    if let Some(error) = protocol.errors.first() {
        return Err(error.clone());
    }
    let count = protocol.processes.len();
    if count == 0 {
        return Err(ProtocolError::NoProcess);
    }
    if count > usize::from(u16::MAX) {
        return Err(ProtocolError::TooManyProcesses);
    }
    let is_foreign = |p: &Pid| p.index() >= count;
    for handler in &protocol.handlers {
        let name = || handler.name.clone();
        if handler.takes == Takes::Quorum(0) {
            return Err(ProtocolError::EmptyQuorum { handler: name() });
        }
        let sends = handler.sends.iter().flatten();
        let receivers = sends.filter_map(|s| s.to.as_ref()).flatten();
        let mut mentioned = handler.senders.iter().flatten().chain(receivers);
        if mentioned.any(is_foreign) {
            let at = format!("the handler `{}`", handler.name);
            return Err(ProtocolError::ForeignProcess { at });
        }
    }
    for process in &protocol.processes {
        let name = || process.name.clone();
        if process.initial.is_none() {
            return Err(ProtocolError::Undefined { process: name() });
        }
        if process.timers.len() > 32 {
            return Err(ProtocolError::TooManyTimers { process: name() });
        }
    }
    duplicate("process", protocol.processes.iter().map(|p| &p.name))?;
    duplicate("property", protocol.properties.iter().map(|p| &p.name))?;
    let mut initial = protocol.initial_messages.iter();
    if initial.any(|e| is_foreign(&e.from) || is_foreign(&e.to)) {
        let at = "an initial message".into();
        return Err(ProtocolError::ForeignProcess { at });
    }
    Ok(())
}

fn duplicate<'n>(
    what: &'static str,
    mut names: impl Iterator<Item = &'n String>,
) -> Result<(), ProtocolError> {
    let mut seen = std::collections::HashSet::new();
    match names.find(|name| !seen.insert(*name)).cloned() {
        Some(name) => Err(ProtocolError::DuplicateName { what, name }),
        None => Ok(()),
    }
}

/// Sets of senders beyond this number are not worth a transition each.
const MOST_SENDER_SETS: usize = 64;

/// All transitions, process by process.
fn actions(protocol: &Declarations) -> Vec<Action> {
    let all: Vec<Pid> = (0..protocol.processes.len())
        .map(|p| Pid(p as u16))
        .collect();
    let mut actions = Vec::new();
    for process in &all {
        let mut add = |role| {
            actions.push(Action {
                process: *process,
                role,
            });
        };
        for (number, handler) in protocol.handlers.iter().enumerate() {
            if handler.process != *process {
                continue;
            }
            let mut senders = handler.senders.clone().unwrap_or_else(|| all.clone());
            senders.sort_unstable();
            senders.dedup();
            let role = |senders| Role::Handler {
                handler: number,
                senders,
            };
            match handler.takes {
                Takes::Nothing | Takes::Timer(_) => add(role(None)),
                Takes::One => senders.iter().for_each(|s| add(role(Some(vec![*s])))),
                Takes::Quorum(size) => {
                    let sets = subsets(&senders, usize::from(size));
                    if protocol.splits_quorums && sets.len() <= MOST_SENDER_SETS {
                        sets.into_iter().for_each(|set| add(role(Some(set))));
                    } else {
                        add(role(None));
                    }
                }
            }
        }
        let declaration = &protocol.processes[process.index()];
        if protocol.lossy {
            add(Role::Lose);
        }
        if declaration.may_crash {
            add(Role::Crash);
            if declaration.recovers.is_some() {
                add(Role::Recover);
            }
        }
    }
    actions
}

/// All subsets of a size, each in order.
pub(crate) fn subsets(of: &[Pid], size: usize) -> Vec<Vec<Pid>> {
    match of.split_first() {
        _ if size == 0 => vec![Vec::new()],
        None => Vec::new(),
        Some((first, rest)) => {
            let with = subsets(rest, size - 1).into_iter().map(|mut set| {
                set.insert(0, *first);
                set
            });
            let mut all: Vec<_> = with.collect();
            all.extend(subsets(rest, size));
            all
        }
    }
}

/// Of a process that was checked to have one.
pub(crate) fn first_state(process: &ProcessDeclaration) -> Boxed {
    let initial = process.initial.clone();
    initial.unwrap_or_else(|| Boxed::new(()))
}

fn initial_state(inner: &Inner, words: usize) -> Vec<u32> {
    let protocol = &inner.protocol;
    let mut state = vec![0; words];
    for (at, process) in protocol.processes.iter().enumerate() {
        state[2 * at] = inner.locals.intern(Local {
            state: first_state(process),
            timers: process.initial_timers,
            crashed: false,
        });
        let for_it = protocol.initial_messages.iter();
        let for_it = for_it.filter(|e| e.to.index() == at);
        let parcels: Vec<Parcel> = for_it
            .map(|e| Parcel {
                from: e.from,
                message: inner.message(e.message.clone()),
            })
            .collect();
        state[2 * at + 1] = inner.inboxes.intern(protocol.network.add(&[], &parcels));
    }
    if let (Some(word), Some(history)) = (inner.record_word, &protocol.history) {
        let mut record = history.initial.clone();
        for envelope in &protocol.initial_messages {
            let kind = kind_of(&envelope.message);
            history.after(&mut record, &envelope.as_ref(), &kind, false);
        }
        state[word] = inner.records.intern(record);
    }
    state[inner.extra_word] = protocol.most_crashes;
    state
}

fn failure_sites(inner: &Inner) -> Vec<FailureSite> {
    let handlers = inner.protocol.handlers.iter();
    handlers
        .map(|handler| FailureSite {
            kind: FailureKind::Other,
            message: format!(
                "the handler `{}` of `{}` does what it must not",
                handler.name,
                inner.process_name(handler.process)
            ),
            span: None,
        })
        .collect()
}

/// The name of a transition.
fn action_name(inner: &Inner, action: &Action) -> String {
    let process = inner.process_name(action.process);
    let what = match &action.role {
        Role::Handler { handler, senders } => {
            let mut name = inner.protocol.handlers[*handler].name.clone();
            if let Some(senders) = senders {
                let names: Vec<_> = senders.iter().map(|s| inner.process_name(*s)).collect();
                name.push_str(&format!(" from {}", names.join(", ")));
            }
            name
        }
        Role::Lose => "a message is lost".into(),
        Role::Crash => "crashes".into(),
        Role::Recover => "comes back".into(),
    };
    format!("{process}: {what}")
}

/// Collects labels without repetition.
struct Labels<'i> {
    inner: &'i mut Inner,
    labels: Vec<Label>,
}

impl Labels<'_> {
    fn add(&mut self, meaning: Meaning, text: String, mut tests: Vec<FieldId>) -> LabelId {
        if let Some(at) = self.inner.meanings.iter().position(|m| *m == meaning) {
            return LabelId::new(at);
        }
        tests.sort_unstable();
        tests.dedup();
        self.inner.meanings.push(meaning);
        self.labels.push(Label { text, tests });
        LabelId::new(self.labels.len() - 1)
    }
}

fn structure(inner: &mut Inner) -> Structure {
    let local_field = |p: Pid| FieldId::new(2 * p.index());
    let inbox_field = |p: Pid| FieldId::new(2 * p.index() + 1);
    let all: Vec<Pid> = (0..inner.protocol.processes.len())
        .map(|p| Pid(p as u16))
        .collect();
    let record = inner.record_word.map(FieldId::new);
    let crashes = FieldId::new(inner.extra_word);
    let mut labels = Labels {
        inner,
        labels: Vec::new(),
    };
    let mut transitions = Vec::new();
    for number in 0..labels.inner.actions.len() {
        let action = labels.inner.actions[number].clone();
        let name = action_name(labels.inner, &action);
        let p = action.process;
        let mut guards = Vec::new();
        let mut writes = vec![local_field(p), inbox_field(p)];
        if let Role::Handler { handler, senders } = &action.role {
            let kinds = labels.inner.protocol.handlers[*handler].kinds.clone();
            let only = match kinds.as_deref() {
                Some([kind]) => Some(labels.inner.kinds.intern(kind.clone())),
                _ => None,
            };
            for sender in senders.iter().flatten() {
                let what = kinds
                    .as_deref()
                    .map_or("message".into(), |k| k.join(" or "));
                let text = format!(
                    "{} has {what} from {}",
                    labels.inner.process_name(p),
                    labels.inner.process_name(*sender)
                );
                let meaning = Meaning::Has(p, *sender, only);
                guards.push(labels.add(meaning, text, vec![inbox_field(p)]));
            }
            let declared = &labels.inner.protocol.handlers[*handler];
            let is_guarded =
                declared.local_guard.is_some() || matches!(declared.takes, Takes::Timer(_));
            if is_guarded {
                let text = format!("{name} is open");
                guards.push(labels.add(Meaning::Open(*handler), text, vec![local_field(p)]));
            }
            writes.extend(all.iter().map(|q| inbox_field(*q)));
            writes.extend(record);
        }
        if action.role == Role::Crash {
            writes.push(crashes);
            let text = "one more crash is possible".into();
            guards.push(labels.add(Meaning::MayCrash, text, vec![crashes]));
        }
        if action.role == Role::Recover && labels.inner.protocol.crashes_return {
            writes.push(crashes);
        }
        let ready = Meaning::Ready(number as u32);
        let tests = vec![local_field(p), inbox_field(p)];
        guards.push(labels.add(ready, format!("{name} is ready"), tests));
        writes.sort_unstable();
        writes.dedup();
        transitions.push(Transition {
            name,
            processes: vec![ProcessId::new(p.index())],
            sources: vec![None],
            guards,
            reads: writes.clone(),
            writes,
            ..Transition::default()
        });
    }
    let mut properties = Vec::new();
    let mut valid_end = None;
    for number in 0..labels.inner.protocol.properties.len() {
        let property = &labels.inner.protocol.properties[number];
        let mut tests: Vec<_> = property.processes.iter().map(|p| local_field(*p)).collect();
        tests.extend(record.filter(|_| property.history));
        let (name, role) = (property.name.clone(), property.role);
        match role {
            PropertyRole::Proposition | PropertyRole::Sometimes | PropertyRole::Eventually => {
                labels.add(Meaning::Holds(number), name, tests);
            }
            PropertyRole::End => {
                valid_end = Some(labels.add(Meaning::Holds(number), name, tests));
            }
            PropertyRole::Invariant => {
                let text = format!("not: {name}");
                let violated_by = labels.add(Meaning::Violated(number), text, tests);
                properties.push(SystemProperty {
                    name,
                    kind: PropertyKind::Invariant,
                    violated_by,
                    span: None,
                });
            }
        }
    }
    let labels = labels.labels;
    let processes = inner.protocol.processes.iter();
    let processes = processes.map(|p| Process {
        name: p.name.clone(),
        location: None,
        locations: Vec::new(),
    });
    Structure {
        transitions,
        labels,
        processes: processes.collect(),
        properties,
        valid_end,
        ..Structure::default()
    }
}

impl System for Core {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial.clone()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let error = self.structure.error_state.as_deref();
        Box::new(ProtocolExecutor::new(&self.inner, error))
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.relations_within(level, &self.budget)
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        let (at, number) = (field.index(), value as u32);
        if at < 2 * self.inner.protocol.processes.len() {
            let process = Pid((at / 2) as u16);
            return if at % 2 == 0 {
                self.inner.local_text(process, number)
            } else {
                self.inner.inbox_text(number)
            };
        }
        if self.inner.record_word == Some(at) {
            return self.inner.value_text(self.inner.records.get(number));
        }
        self.layout.value_text(field, value)
    }
}

impl Core {
    /// The relations, as far as they can be found within a budget.
    pub(crate) fn relations_within(&self, level: RelationLevel, budget: &Budget) -> Relations {
        match level {
            RelationLevel::Sets => Relations::from_sets(&self.structure),
            RelationLevel::Syntax => {
                crate::relations::relations(&self.inner, &self.structure, None)
            }
            RelationLevel::Exact | RelationLevel::Reach | RelationLevel::Located => {
                let analysis = Analysis::run(&self.inner, crate::analysis::BUDGET, budget);
                // The first answer stays: it is the same each time.
                let _ = self.inner.analysed.set(analysis.is_some());
                crate::relations::relations(&self.inner, &self.structure, analysis.as_ref())
            }
        }
    }
}
