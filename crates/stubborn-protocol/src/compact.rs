//! A protocol with one word for each process, for searches that leave nothing out.
//!
//! Reductions ask about local states and inboxes apart, so [models](crate::model) have a word for
//! each. Who explores everything needs neither: a *situation* is a pair of both, with a number among
//! those of its process. States are half as wide, what a process can do is found at the place of its
//! situation without a search, and so is what an arriving message makes of it.

use stubborn_search::{Trace, Violation};
use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Budget, Executor, FieldId, FieldKind, LabelId, Layout, Outcome, ProcessId, RelationLevel,
    Relations, Structure, Successors, System, TransitionId,
};

use crate::bounded::Bounded;
use crate::executor::ProtocolExecutor;
use crate::intern::Interner;
use crate::model::{Core, Inner};
use crate::pairs::PairMap;
use crate::quick::{MOST_ENTRIES, Notes, Quick};
use crate::value::Pid;

/// All words of the state of failure, which is no number of anything.
const FAILED: u32 = u32::MAX;

/// See the [module](self).
pub(crate) struct Compact<'m> {
    model: &'m Core,
    budget: &'m Budget,
    layout: Layout,
    structure: Structure,
    /// For each process, pairs of local state and inbox.
    situations: Vec<Interner<(u32, u32)>>,
    /// The word of the record, and of the crashes left, where there are any.
    record: Option<usize>,
    crashes: Option<usize>,
}

impl<'m> Compact<'m> {
    /// For a check that has neither symmetry nor boundary: both look at the words of the model.
    pub(crate) fn new(bounded: &'m Bounded<'m>) -> Option<Self> {
        if bounded.symmetric.is_some() || bounded.boundary.is_some() {
            return None;
        }
        let model = bounded.model;
        let protocol = &model.inner.protocol;
        let count = protocol.processes.len();
        let mut layout = LayoutBuilder::new();
        let mut add = |name: &str, kind, owner| {
            layout.field(name, (0, i64::from(u32::MAX)), kind, owner);
        };
        for (at, process) in protocol.processes.iter().enumerate() {
            let owner = Some(ProcessId::new(at));
            add(&process.name, FieldKind::Interned, owner);
        }
        let record = model.inner.record_word.map(|_| count);
        if record.is_some() {
            add("record", FieldKind::Interned, None);
        }
        let others = count + usize::from(record.is_some());
        let crashes = (protocol.most_crashes > 0).then_some(others);
        if crashes.is_some() {
            add("crashes left", FieldKind::Integer, None);
        }
        let layout = layout.finish();
        let mut structure = model.structure().clone();
        structure.error_state = Some(vec![FAILED; layout.words()]);
        let fold = |fields: &mut Vec<FieldId>| {
            let fold = |field: &FieldId| match field.index() {
                at if at < 2 * count => Some(FieldId::new(at / 2)),
                at if model.inner.record_word == Some(at) => record.map(FieldId::new),
                _ => crashes.map(FieldId::new),
            };
            *fields = fields.iter().filter_map(fold).collect();
            fields.sort_unstable();
            fields.dedup();
        };
        for transition in &mut structure.transitions {
            fold(&mut transition.reads);
            fold(&mut transition.writes);
        }
        let labels = structure.labels.iter_mut();
        labels.for_each(|label| fold(&mut label.tests));
        Some(Self {
            model,
            budget: bounded.budget(),
            layout,
            structure,
            situations: (0..count).map(|_| Interner::new()).collect(),
            record,
            crashes,
        })
    }

    /// The words of the model.
    fn unfold_state(&self, state: &[u32]) -> Vec<u32> {
        let inner = &self.model.inner;
        let mut words = inner.initial_words().to_vec();
        if state[0] == FAILED {
            let error = self.model.structure().error_state.clone();
            return error.unwrap_or(words);
        }
        for (p, situations) in self.situations.iter().enumerate() {
            let (local, inbox) = *situations.get(state[p]);
            (words[2 * p], words[2 * p + 1]) = (local, inbox);
        }
        self.unfold_others(state, &mut words);
        words
    }

    fn unfold_others(&self, state: &[u32], words: &mut [u32]) {
        let inner = &self.model.inner;
        if let (Some(record), Some(word)) = (self.record, inner.record_word) {
            words[word] = state[record];
        }
        if let Some(crashes) = self.crashes {
            words[inner.extra_word] = state[crashes];
        }
    }

    /// Makes a violation one of the model.
    pub(crate) fn unfold(&self, violation: &mut Violation) {
        violation.state = self.unfold_state(&violation.state);
        if let Some(trace) = &violation.trace {
            let mut unfolded = Trace::new(&self.unfold_state(trace.initial_state()));
            for step in trace.steps() {
                let after = self.unfold_state(step.after);
                unfolded.push(step.transition, step.outcome, &after);
            }
            violation.trace = Some(unfolded);
        }
    }
}

impl System for Compact<'_> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        let inner = &self.model.inner;
        let words = inner.initial_words();
        let pairs = words.chunks(2).zip(&self.situations);
        let mut state: Vec<u32> = pairs
            .map(|(two, situations)| situations.intern((two[0], two[1])))
            .collect();
        state.extend(inner.record_word.map(|word| words[word]));
        state.extend(self.crashes.map(|_| words[inner.extra_word]));
        state
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let inner = &self.model.inner;
        let count = self.situations.len();
        Box::new(CompactExecutor {
            compact: self,
            inner,
            plain: ProtocolExecutor::new(inner, self.model.structure().error_state.as_deref()),
            known: vec![Vec::new(); count],
            moves: Vec::new(),
            posts: Vec::new(),
            arrived: (0..count).map(|_| PairMap::new()).collect(),
            noted: Notes::new(),
            is_full: false,
            ranges: vec![(0, 0); count],
            state: vec![FAILED; self.layout.words()],
            words: inner.initial_words().to_vec(),
        })
    }

    fn relations(&self, _: RelationLevel) -> Relations {
        Relations::from_sets(&self.structure)
    }

    fn budget(&self) -> &Budget {
        self.budget
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        let (at, number) = (field.index(), value as u32);
        if let Some(situations) = self.situations.get(at) {
            let inner = &self.model.inner;
            let (local, inbox) = *situations.get(number);
            // In the order of both, one after the other.
            let local = inner.local_text(Pid(at as u16), local);
            return format!("{local}\0{}", inner.inbox_text(inbox));
        }
        match (self.record == Some(at), self.model.inner.record_word) {
            (true, Some(word)) => self.model.value_text(FieldId::new(word), value),
            _ => self.layout.value_text(field, value),
        }
    }
}

/// A situation in the thread's table.
#[derive(Clone, Copy, Debug)]
struct Situation {
    local: u32,
    inbox: u32,
    /// The range of its moves; empty and at the end of all numbers if they are not known.
    moves: (u32, u32),
    /// All of them are ordinary.
    is_ordinary: bool,
}

const UNKNOWN: Situation = Situation {
    local: 0,
    inbox: 0,
    moves: (u32::MAX, u32::MAX),
    is_ordinary: false,
};

/// The worker of one thread.
struct CompactExecutor<'c> {
    compact: &'c Compact<'c>,
    inner: &'c Inner,
    /// For labels.
    plain: ProtocolExecutor<'c>,
    /// For each process, by number.
    known: Vec<Vec<Situation>>,
    /// The situation afterwards.
    moves: Vec<Quick<u32>>,
    /// Receiver and post.
    posts: Vec<(u32, u32)>,
    /// For each receiver, situation and post to situation.
    arrived: Vec<PairMap>,
    noted: Notes,
    /// The tables are to be emptied before the next state.
    is_full: bool,
    /// For one state: the moves of its processes.
    ranges: Vec<(u32, u32)>,
    /// The last state whose processes were looked at, and the words of the model for it.
    state: Vec<u32>,
    words: Vec<u32>,
}

impl CompactExecutor<'_> {
    /// A process in a situation.
    #[inline]
    fn situation(&mut self, process: usize, number: u32) -> Situation {
        match self.known[process].get(number as usize) {
            Some(known) if known.moves.0 != u32::MAX => *known,
            _ => self.compute(process, number),
        }
    }

    /// Looks up the processes of a state: how many moves they have, and whether all of these are
    /// ordinary. `None` if one is not known.
    #[inline]
    fn look(&mut self, state: &[u32]) -> Option<(usize, bool)> {
        self.state.copy_from_slice(state);
        let (mut count, mut is_ordinary) = (0, true);
        let found = self.ranges.iter_mut().zip(self.words.as_chunks_mut().0);
        for ((known, number), (range, words)) in self.known.iter().zip(state).zip(found) {
            let known = known.get(*number as usize)?;
            if known.moves.0 == u32::MAX {
                return None;
            }
            *words = [known.local, known.inbox];
            *range = known.moves;
            count += (known.moves.1 - known.moves.0) as usize;
            is_ordinary &= known.is_ordinary;
        }
        Some((count, is_ordinary))
    }

    /// The same where some are not.
    #[cold]
    fn learn(&mut self, state: &[u32]) -> (usize, bool) {
        for (process, number) in state.iter().enumerate().take(self.known.len()) {
            self.situation(process, *number);
        }
        self.look(state).unwrap_or_default()
    }

    #[cold]
    fn compute(&mut self, process: usize, number: u32) -> Situation {
        let situations = &self.compact.situations[process];
        let (local, inbox) = *situations.get(number);
        let start = self.moves.len();
        for step in self.inner.moves_met(Pid(process as u16), local, inbox, &[]) {
            let after = situations.intern((step.local, step.inbox));
            let quick = Quick::new(&step, after, &mut self.posts, Pid::index);
            self.moves.push(quick);
        }
        let situation = Situation {
            local,
            inbox,
            moves: (start as u32, self.moves.len() as u32),
            is_ordinary: self.moves[start..].iter().all(Quick::is_ordinary),
        };
        let known = &mut self.known[process];
        if known.len() <= number as usize {
            known.resize(number as usize + 1, UNKNOWN);
        }
        known[number as usize] = situation;
        let arrived: usize = self.arrived.iter().map(PairMap::len).sum();
        self.is_full = self.moves.len() + arrived + self.noted.len() > MOST_ENTRIES;
        situation
    }

    /// Empties the tables.
    fn forget(&mut self) {
        self.known.iter_mut().for_each(|known| *known = Vec::new());
        self.moves = Vec::new();
        self.posts = Vec::new();
        let arrived = self.arrived.iter_mut();
        arrived.for_each(|map| *map = PairMap::new());
        self.noted = Notes::new();
        self.is_full = false;
    }

    /// The situation of a process after a post has arrived.
    #[cold]
    fn arrive(&mut self, to: usize, before: u32, post: u32) -> u32 {
        let (inner, situations) = (self.inner, &self.compact.situations[to]);
        let (local, inbox) = *situations.get(before);
        let parcels = inner.protocol.network;
        let parcels = parcels.add(inner.inboxes.get(inbox), inner.posts.get(post));
        let after = situations.intern((local, inner.inboxes.intern(parcels)));
        self.arrived[to].insert(before, post, after);
        after
    }

    /// A step that may be impossible, or fail.
    fn push(&mut self, state: &[u32], process: usize, step: Quick<u32>, out: &mut Successors) {
        let id = TransitionId::new(step.action as usize);
        if step.misused != 0 {
            let outcome = Outcome::failure(step.misused as usize - 1);
            let failed = self.compact.structure.error_state.as_deref();
            out.push(id, state, failed.unwrap_or(state), outcome);
            return;
        }
        let crashes = self.compact.crashes;
        if step.crashes && crashes.is_none_or(|word| state[word] == 0) {
            return;
        }
        let (words, changed) = out.push_copy(id, state);
        self.change(process, &step, words, changed);
        if let Some(word) = crashes {
            let left = state[word] - u32::from(step.crashes) + u32::from(step.returns);
            set(words, changed, word, left);
        }
    }

    /// Changes a copy of the state before as a step does.
    #[inline]
    fn change(&mut self, process: usize, step: &Quick<u32>, words: &mut [u32], mask: &mut [u64]) {
        set(words, mask, process, step.after);
        for at in step.posts.0..step.posts.1 {
            // Nobody has two posts, and what goes to the process itself is in its situation.
            let (to, post) = self.posts[at as usize];
            let (to, before) = (to as usize, words[to as usize]);
            let after = match self.arrived[to].get(before, post) {
                Some(after) => after,
                None => self.arrive(to, before, post),
            };
            set(words, mask, to, after);
        }
        if let Some(word) = self.compact.record {
            let after = self.noted.after(self.inner, words[word], step);
            set(words, mask, word, after);
        }
    }
}

#[inline]
fn set(words: &mut [u32], mask: &mut [u64], word: usize, value: u32) {
    if words[word] != value {
        words[word] = value;
        mask[word / 64] |= 1 << (word % 64);
    }
}

impl Executor for CompactExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if state[0] == FAILED {
            return;
        }
        if self.is_full {
            self.forget();
        }
        let (count, is_ordinary) = self.look(state).unwrap_or_else(|| self.learn(state));
        if !is_ordinary {
            for process in 0..self.ranges.len() {
                let (start, end) = self.ranges[process];
                for at in start..end {
                    self.push(state, process, self.moves[at as usize], out);
                }
            }
            return;
        }
        let (words, masks, transitions) = out.push_copies(state, count);
        let (width, mask_words) = (state.len(), state.len().div_ceil(64));
        let moves = std::mem::take(&mut self.moves);
        // (By hand: iterators over rows would be set up for every process.)
        let mut row = 0;
        for process in 0..self.ranges.len() {
            let (start, end) = self.ranges[process];
            for step in &moves[start as usize..end as usize] {
                transitions[row] = TransitionId::new(step.action as usize);
                let (at, mask_at) = (row * width, row * mask_words);
                row += 1;
                if !step.is_local() {
                    let (words, masks) = (&mut words[at..], &mut masks[mask_at..]);
                    self.change(process, step, words, masks);
                } else if words[at + process] != step.after {
                    words[at + process] = step.after;
                    masks[mask_at + process / 64] |= 1 << (process % 64);
                }
            }
        }
        self.moves = moves;
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if state[0] == FAILED {
            return;
        }
        let process = self.inner.actions[transition.index()].process.index();
        let (start, end) = self.situation(process, state[process]).moves;
        for at in start..end {
            let step = self.moves[at as usize];
            if step.action as usize == transition.index() {
                self.push(state, process, step, out);
            }
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        if state[0] == FAILED {
            return false;
        }
        if self.state != state && self.look(state).is_none() {
            self.learn(state);
        }
        self.compact.unfold_others(state, &mut self.words);
        self.plain.label(&self.words, label)
    }
}
