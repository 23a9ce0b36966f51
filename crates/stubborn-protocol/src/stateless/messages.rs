//! A protocol as a [`Program`]: processes are threads, messages are what they touch.
//!
//! A step of a process depends on the step that sent what it takes, and on nothing else of other
//! processes: what is sent to it meanwhile only adds choices. Equal messages from one sender are
//! taken in the order in which they were sent, so that it is always clear which one it was. Of
//! properties, each is an object that a step writes if it changes what the property looks at; so
//! all orders of steps that matter to a property are tried, and whatever it could see in any
//! execution, it sees in an explored one. That is the visibility of the paper on local reduction,
//! with less to explore: there, everything is tried wherever something visible is.

use std::rc::Rc;

use rapidhash::RapidHashMap;
use stubborn_system::System;

use super::local_sets::LocalSets;
use super::refuse;
use crate::error::CheckError;
use crate::model::{Core, Inner, Model, Role};
use crate::moves::Move;
use crate::network::{Network, Parcel};
use crate::property::PropertyRole;
use crate::value::{Pid, Value};
use stubborn_dpor::{Access, Choice, ObjectId, Program, Step, Taken, ThreadId};

/// A state of a [`MessageProgram`].
#[derive(Clone, Debug)]
pub struct MessageState {
    words: Vec<u32>,
    /// For each sort of message, how many were sent and taken.
    counts: Vec<(u16, u16)>,
}

impl MessageState {
    /// As the system behind the protocol has it.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// Messages that cannot be told apart: receiver, sender, and what is said (in a queue, nothing
/// is).
type Sort = (Pid, Pid, Option<u32>);

/// A move with what never changes about it.
struct Known {
    choice: Choice,
    step: Move,
    /// What it touches besides messages.
    visible: Vec<Access>,
}

/// A move without its place: transition, messages, and which of its results.
type Label = (u32, Vec<Parcel>, u32);

/// What a process can do with one local state and inbox.
struct Open {
    choices: Rc<[Choice]>,
    moves: Vec<Known>,
}

/// A protocol as a program: processes are threads, messages are what they touch. Made by
/// [`Model::as_program`].
pub struct MessageProgram<'m> {
    model: &'m Core,
    open: RapidHashMap<(u16, u32, u32), Rc<Open>>,
    labels: RapidHashMap<Label, u32>,
    sorts: RapidHashMap<Sort, u32>,
    messages: RapidHashMap<(u32, u16), u32>,
    initial: MessageState,
    local_sets: Option<LocalSets<'m>>,
}

impl std::fmt::Debug for MessageProgram<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageProgram").finish_non_exhaustive()
    }
}

impl<M: Value> Model<M> {
    /// The protocol as threads, for [optimal dynamic reduction](stubborn_dpor); with `in_local_sets`,
    /// it prefers what [local reduction](stubborn_reduce::lpor) chooses.
    ///
    /// # Errors
    /// If a step of one process can keep another one from a step.
    pub fn as_program(&self, in_local_sets: bool) -> Result<MessageProgram<'_>, CheckError> {
        self.core.as_program(in_local_sets)
    }
}

impl Core {
    pub(super) fn as_program(&self, in_local_sets: bool) -> Result<MessageProgram<'_>, CheckError> {
        let protocol = &self.inner.protocol;
        let crashing = protocol.processes.iter().filter(|p| p.may_crash).count();
        let recovers = self.inner.actions.iter().any(|a| a.role == Role::Recover);
        if crashing > 0 && (recovers || (protocol.most_crashes as usize) < crashing) {
            return refuse("one crash may keep another process from crashing");
        }
        if protocol.lossy && protocol.network == Network::Duplicating {
            return refuse("a message may be lost, and sent again, where each is there only once");
        }
        let mut program = MessageProgram {
            model: self,
            open: RapidHashMap::default(),
            labels: RapidHashMap::default(),
            sorts: RapidHashMap::default(),
            messages: RapidHashMap::default(),
            initial: MessageState {
                words: self.initial_states(),
                counts: Vec::new(),
            },
            local_sets: if in_local_sets {
                Some(LocalSets::new(self)?)
            } else {
                None
            },
        };
        let mut counts = Vec::new();
        for process in (0..protocol.processes.len()).map(|p| Pid(p as u16)) {
            let inbox = program.initial.words[2 * process.index() + 1];
            for parcel in self.inner.inboxes.get(inbox) {
                count(&mut counts, program.sort(process, *parcel)).0 += 1;
            }
        }
        program.initial.counts = counts;
        Ok(program)
    }
}

/// What a step of a process touches besides messages: objects 0, 1, … are properties, and the next
/// one is the record.
fn visible(inner: &Inner, process: Pid, before: u32, step: &Move) -> Vec<Access> {
    let properties = &inner.protocol.properties;
    let write = |number: usize| Access {
        object: ObjectId(number as u32),
        writes: true,
    };
    let mut found = Vec::new();
    for (number, property) in properties.iter().enumerate() {
        if property.role != PropertyRole::Invariant {
            continue;
        }
        let shown = |local: u32| {
            let state = &inner.locals.get(local).state;
            property
                .shows
                .as_ref()
                .map(|s| s(process, (*state.0).as_any()))
        };
        let changes = property.processes.contains(&process)
            && before != step.local
            && (property.shows.is_none() || shown(before) != shown(step.local));
        if changes || property.history && step.events.is_some() {
            found.push(write(number));
        }
    }
    if step.events.is_some() {
        found.push(write(properties.len()));
    }
    found
}

impl MessageProgram<'_> {
    fn open(&mut self, words: &[u32], process: Pid) -> Rc<Open> {
        let at = 2 * process.index();
        let key = (process.0, words[at], words[at + 1]);
        if let Some(open) = self.open.get(&key) {
            return open.clone();
        }
        let inner = &self.model.inner;
        let mut moves: Vec<Known> = Vec::new();
        let mut number = 0;
        for step in inner.moves(process, key.1, key.2) {
            let same = moves
                .last()
                .is_some_and(|k| k.step.action == step.action && k.step.consumed == step.consumed);
            number = if same { number + 1 } else { 0 };
            let next = self.labels.len() as u32;
            let label = (step.action, step.consumed.clone(), number);
            moves.push(Known {
                choice: Choice(*self.labels.entry(label).or_insert(next)),
                visible: visible(inner, process, key.1, &step),
                step,
            });
        }
        let open = Rc::new(Open {
            choices: moves.iter().map(|k| k.choice).collect(),
            moves,
        });
        self.open.insert(key, open.clone());
        open
    }

    fn sort(&mut self, to: Pid, parcel: Parcel) -> usize {
        let is_queue = self.model.inner.protocol.network == Network::Ordered;
        let message = (!is_queue).then_some(parcel.message);
        let next = self.sorts.len() as u32;
        *self.sorts.entry((to, parcel.from, message)).or_insert(next) as usize
    }

    /// The object for a message: which one of its sort.
    fn message(&mut self, sort: usize, number: u16) -> ObjectId {
        let first = self.model.inner.protocol.properties.len() + 1;
        let next = (first + self.messages.len()) as u32;
        ObjectId(*self.messages.entry((sort as u32, number)).or_insert(next))
    }
}

/// The entry of a sort of messages.
fn count(counts: &mut Vec<(u16, u16)>, sort: usize) -> &mut (u16, u16) {
    if counts.len() <= sort {
        counts.resize(sort + 1, (0, 0));
    }
    &mut counts[sort]
}

impl Program for MessageProgram<'_> {
    type State = MessageState;

    fn may_disable(&self) -> bool {
        false
    }

    fn threads(&self) -> usize {
        self.model.inner.protocol.processes.len()
    }

    fn initial(&self) -> MessageState {
        self.initial.clone()
    }

    fn choices(&mut self, state: &MessageState, thread: ThreadId) -> Rc<[Choice]> {
        self.open(&state.words, Pid(thread.0)).choices.clone()
    }

    fn take(&mut self, state: &MessageState, step: Step) -> Taken<MessageState> {
        let by = Pid(step.thread.0);
        let open = self.open(&state.words, by);
        let mut state = state.clone();
        let Some(known) = open.moves.iter().find(|k| k.choice == step.choice) else {
            // Nobody takes a step that is not possible.
            return Taken {
                state,
                accesses: Vec::new(),
                feeds: Vec::new(),
            };
        };
        let inner = &self.model.inner;
        let taken = &known.step;
        let mut accesses = known.visible.clone();
        let repeats = !inner.protocol.network.consumes();
        for parcel in taken.consumed.iter().filter(|p| p.from != by) {
            let sort = self.sort(by, *parcel);
            let count = count(&mut state.counts, sort);
            let number = count.1;
            count.1 += u16::from(!repeats);
            accesses.push(Access {
                object: self.message(sort, number),
                writes: false,
            });
        }
        inner.apply(taken, &mut state.words);
        for (to, post) in &taken.posts {
            for parcel in inner.posts.get(*post) {
                let sort = self.sort(*to, *parcel);
                let count = count(&mut state.counts, sort);
                let number = count.0;
                if repeats && number > 0 {
                    continue;
                }
                count.0 += 1;
                accesses.push(Access {
                    object: self.message(sort, number),
                    writes: true,
                });
            }
        }
        if let (Some(word), Some(events)) = (inner.record_word, taken.events) {
            state.words[word] = inner.record_after(state.words[word], events);
        }
        if taken.crashes {
            let left = &mut state.words[inner.extra_word];
            *left = left.saturating_sub(1);
        }
        Taken {
            feeds: taken.posts.iter().map(|(to, _)| ThreadId(to.0)).collect(),
            state,
            accesses,
        }
    }

    fn words<'s>(&self, state: &'s MessageState) -> &'s [u32] {
        &state.words
    }

    fn preferred(&mut self, state: &MessageState) -> Option<Vec<ThreadId>> {
        let sets = self.local_sets.as_mut()?;
        let processes = sets.processes(&state.words);
        Some(processes.iter().map(|p| ThreadId(p.0)).collect())
    }
}
