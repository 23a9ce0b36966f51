//! Successors by table lookup: the worker of one thread.
//!
//! What a process can do depends on two words of the state, and what a delivery does to an inbox
//! on the inbox and the post. Each thread keeps tables of both, and of what the record becomes.
//! Handlers run, and values are compared, only for pairs that the thread meets for the first
//! time; everything else is a look into a table and a copy of words.

use stubborn_system::{Executor, LabelId, Outcome, Random, Successors, TransitionId};

use crate::handler::calmly;
use crate::model::{Inner, Meaning};
use crate::pairs::PairMap;
use crate::quick::{MOST_ENTRIES, Notes, Quick};
use crate::value::Pid;
use crate::values::Values;

/// See the [module](self).
pub(crate) struct ProtocolExecutor<'m> {
    inner: &'m Inner,
    error: Option<&'m [u32]>,
    /// For each action, whether it is never taken; empty if there is none.
    left_out: &'m [bool],
    processes: usize,
    /// For each process, local state and inbox to the number of a range of moves.
    known: Vec<PairMap>,
    ranges: Vec<(u32, u32)>,
    /// Local state and inbox afterwards.
    moves: Vec<Quick<(u32, u32)>>,
    /// The word of the receiver's inbox, and the post.
    posts: Vec<(u32, u32)>,
    /// Inbox and post to inbox.
    added: PairMap,
    noted: Notes,
    /// For each property.
    values: Vec<Values>,
}

impl<'m> ProtocolExecutor<'m> {
    pub(crate) fn new(inner: &'m Inner, error: Option<&'m [u32]>) -> Self {
        let processes = inner.protocol.processes.len();
        let properties = inner.protocol.properties.iter();
        Self {
            inner,
            error,
            left_out: &[],
            processes,
            known: (0..processes).map(|_| PairMap::new()).collect(),
            ranges: Vec::new(),
            moves: Vec::new(),
            posts: Vec::new(),
            added: PairMap::new(),
            noted: Notes::new(),
            values: properties.map(|p| Values::new(inner, p)).collect(),
        }
    }

    /// Never takes some actions.
    pub(crate) fn without(mut self, left_out: &'m [bool]) -> Self {
        self.left_out = left_out;
        self
    }

    #[inline]
    fn is_error(&self, state: &[u32]) -> bool {
        let extra = self.inner.extra_word;
        self.error.is_some_and(|error| {
            state[extra] == error[extra] && error[extra] != 0 && state == error
        })
    }

    /// The moves of a process in a state, as a range of the table.
    #[inline]
    fn range(&mut self, state: &[u32], process: usize) -> (u32, u32) {
        let (local, inbox) = (state[2 * process], state[2 * process + 1]);
        match self.known[process].get(local, inbox) {
            Some(number) => self.ranges[number as usize],
            None => self.compute(process, local, inbox),
        }
    }

    #[cold]
    fn compute(&mut self, process: usize, local: u32, inbox: u32) -> (u32, u32) {
        if self.moves.len() + self.ranges.len() + self.added.len() > MOST_ENTRIES {
            self.forget();
        }
        let start = self.moves.len() as u32;
        let process_id = Pid(process as u16);
        let moves = self
            .inner
            .moves_met(process_id, local, inbox, self.left_out);
        for step in moves {
            let (after, word) = ((step.local, step.inbox), |to: Pid| 2 * to.index() + 1);
            let quick = Quick::new(&step, after, &mut self.posts, word);
            self.moves.push(quick);
        }
        let range = (start, self.moves.len() as u32);
        let number = self.ranges.len() as u32;
        self.ranges.push(range);
        self.known[process].insert(local, inbox, number);
        range
    }

    /// Empties the tables.
    fn forget(&mut self) {
        self.known.iter_mut().for_each(|map| *map = PairMap::new());
        self.ranges = Vec::new();
        self.moves = Vec::new();
        self.posts = Vec::new();
        self.added = PairMap::new();
        self.noted = Notes::new();
    }

    #[inline]
    fn push(
        &mut self,
        state: &[u32],
        process: usize,
        step: Quick<(u32, u32)>,
        out: &mut Successors,
    ) {
        let id = TransitionId::new(step.action as usize);
        if step.misused != 0
            && let Some(error) = self.error
        {
            let outcome = Outcome::failure(step.misused as usize - 1);
            out.push(id, state, error, outcome);
            return;
        }
        if step.crashes && state[self.inner.extra_word] == 0 {
            return;
        }
        let (words, changed) = out.push_copy(id, state);
        let mut set = |word: usize, value: u32| {
            if words[word] != value {
                words[word] = value;
                changed[word / 64] |= 1 << (word % 64);
            }
        };
        set(2 * process, step.after.0);
        set(2 * process + 1, step.after.1);
        for at in step.posts.0..step.posts.1 {
            let (word, post) = self.posts[at as usize];
            let before = state[word as usize];
            let after = match self.added.get(before, post) {
                Some(after) => after,
                None => {
                    let inner = self.inner;
                    let (inbox, post_value) = (inner.inboxes.get(before), inner.posts.get(post));
                    let after = inner.protocol.network.add(inbox, post_value);
                    let after = inner.inboxes.intern(after);
                    self.added.insert(before, post, after);
                    after
                }
            };
            set(word as usize, after);
        }
        if let Some(word) = self.inner.record_word {
            set(word, self.noted.after(self.inner, state[word], &step));
        }
        if step.crashes {
            set(self.inner.extra_word, state[self.inner.extra_word] - 1);
        }
        if step.returns {
            set(self.inner.extra_word, state[self.inner.extra_word] + 1);
        }
    }

    /// How many moves are in the tables.
    pub(crate) fn moves_known(&self) -> usize {
        self.moves.len()
    }

    /// Takes one of the possible steps, if there is one.
    pub(crate) fn random_step(
        &mut self,
        state: &mut [u32],
        random: &mut Random,
    ) -> Option<(TransitionId, Outcome)> {
        if self.is_error(state) {
            return None;
        }
        let mut found = Successors::new(state.len());
        let none_left = state[self.inner.extra_word] == 0;
        let mut possible = Vec::new();
        for process in 0..self.processes {
            let (start, end) = self.range(state, process);
            let numbers = (start..end).filter(|at| {
                let crashes = self.moves[*at as usize].crashes;
                !(crashes && none_left)
            });
            possible.extend(numbers.map(|at| (process, at - start)));
        }
        if possible.is_empty() {
            return None;
        }
        let (process, at) = possible[random.below(possible.len())];
        // Tables may have been emptied since.
        let (start, _) = self.range(state, process);
        let step = self.moves[(start + at) as usize];
        self.push(state, process, step, &mut found);
        let taken = found.get(0);
        state.copy_from_slice(taken.state);
        Some((taken.transition, taken.outcome))
    }

    fn value(&mut self, state: &[u32], property: usize) -> bool {
        let inner = self.inner;
        let declared = &inner.protocol.properties[property];
        self.values[property].get(inner, declared, state, || {
            calmly(|| (declared.holds)(inner, state)).unwrap_or_else(|text| {
                inner.blame(format!("the property `{}` panics: {text}", declared.name));
                false
            })
        })
    }
}

impl Executor for ProtocolExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.is_error(state) {
            return;
        }
        for process in 0..self.processes {
            let (start, end) = self.range(state, process);
            for at in start..end {
                let step = self.moves[at as usize];
                self.push(state, process, step, out);
            }
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if self.is_error(state) {
            return;
        }
        let process = self.inner.actions[transition.index()].process.index();
        let (start, end) = self.range(state, process);
        for at in start..end {
            let step = self.moves[at as usize];
            if step.action as usize == transition.index() {
                self.push(state, process, step, out);
            }
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        if self.is_error(state) {
            return false;
        }
        let inner = self.inner;
        match &inner.meanings[label.index()] {
            Meaning::Ready(action) => {
                let process = inner.actions[*action as usize].process.index();
                let (start, end) = self.range(state, process);
                let moves = &self.moves[start as usize..end as usize];
                moves.iter().any(|step| step.action == *action)
            }
            Meaning::Has(process, sender, kind) => {
                let inbox = inner.inboxes.get(state[2 * process.index() + 1]);
                let is_it =
                    |message: u32| kind.is_none_or(|kind| inner.messages.get(message).kind == kind);
                inbox.iter().any(|p| p.from == *sender && is_it(p.message))
            }
            Meaning::Open(handler) => {
                let declared = &inner.protocol.handlers[*handler];
                declared.is_open(inner.local(state, declared.process))
            }
            Meaning::MayCrash => state[inner.extra_word] > 0,
            Meaning::Violated(property) => !self.value(state, *property),
            Meaning::Holds(property) => self.value(state, *property),
        }
    }
}
