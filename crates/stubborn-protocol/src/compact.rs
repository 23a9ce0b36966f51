//! A protocol with one word for each process, for searches that leave nothing out.
//!
//! Reductions ask about local states and inboxes apart, so [models](crate::model) have a word for
//! each. Who explores everything needs neither: a *situation* is a pair of both, with a number among
//! those of its process. States are half as wide, what a process can do is found at the place of its
//! situation without a search, and so is what an arriving message makes of it.
//!
//! How many situations there are is not known before. A sample of the states tells how many bits they
//! may take, most of them few; if there are more in the end, the model is
//! [outgrown](Budget::outgrow), and everything is explored once more with more of them.

use stubborn_search::{Trace, Violation};
use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Budget, Executor, FieldId, FieldKind, LabelId, Layout, Outcome, ProcessId, RelationLevel,
    Relations, Spent, Structure, Successors, System, TransitionId,
};

use crate::bounded::Bounded;
use crate::executor::ProtocolExecutor;
use crate::intern::Interner;
use crate::model::{Core, Inner};
use crate::pairs::PairMap;
use crate::quick::{MOST_ENTRIES, Notes, Quick};
use crate::value::Pid;

/// More situations than these of one process in a sample, and there will be many more.
const FEW: usize = 64;

/// Where a number is in a state. All bits set are no number: they stand for failure.
#[derive(Clone, Copy, Debug)]
struct Place {
    word: usize,
    shift: u32,
    mask: u32,
}

impl Place {
    #[inline]
    fn get(self, state: &[u32]) -> u32 {
        state[self.word] >> self.shift & self.mask
    }

    #[inline]
    fn set(self, words: &mut [u32], mask: &mut [u64], number: u32) {
        let word = &mut words[self.word];
        let after = *word & !(self.mask << self.shift) | number << self.shift;
        if *word != after {
            *word = after;
            mask[self.word / 64] |= 1 << (self.word % 64);
        }
    }
}

/// What takes bits of a state.
#[derive(Clone, Copy, Debug)]
struct Room {
    bits: u32,
    /// Takes what is left of its word.
    grows: bool,
}

impl Room {
    const WORD: Self = Self {
        bits: 32,
        grows: false,
    };

    /// For numbers of which there were so many in a sample.
    fn after_sample(count: usize) -> Self {
        let grows = count > FEW;
        let expected = count as u64 * if grows { 16 } else { 2 };
        // One more, for failure.
        let bits = (u64::BITS - expected.leading_zeros()).clamp(1, 32);
        Self { bits, grows }
    }

    /// Puts all of them into words: in turn into the one with the fewest bits, so that all
    /// are about as full. In a word, those that grow come last: the highest bits of a word stay unused
    /// for long, and it is short in tables. Returns what is in each word.
    fn share_words(all: &mut [Self]) -> Vec<Vec<usize>> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(all[*at].bits));
        let total: u32 = all.iter().map(|room| room.bits).sum();
        let mut words = (total.div_ceil(32) as usize).clamp(2, all.len().max(2));
        let (mut shared, used) = loop {
            let mut shared = vec![Vec::new(); words];
            let mut used = vec![0; words];
            for at in &order {
                let least = (0..words).min_by_key(|word| used[*word]).unwrap_or(0);
                shared[least].push(*at);
                used[least] += all[*at].bits;
            }
            if used.iter().all(|bits| *bits <= 32) {
                break (shared, used);
            }
            words += 1;
        };
        for (word, used) in shared.iter_mut().zip(used) {
            word.sort_by_key(|at| (all[*at].grows, *at));
            let growing = word.iter().filter(|at| all[**at].grows).count() as u32;
            for at in word.iter().filter(|_| growing > 0) {
                all[*at].bits += u32::from(all[*at].grows) * ((32 - used) / growing);
            }
        }
        shared.retain(|word| !word.is_empty());
        shared
    }
}

/// See the [module](self).
pub(crate) struct Compact<'m> {
    model: &'m Core,
    budget: &'m Budget,
    layout: Layout,
    structure: Structure,
    /// For each process, pairs of local state and inbox.
    situations: Vec<Interner<(u32, u32)>>,
    /// Where each process is.
    places: Vec<Place>,
    /// Where the record is, and the crashes left, where there are any.
    record: Option<Place>,
    crashes: Option<Place>,
    /// What each field is: processes, the record, the crashes left.
    parts: Vec<usize>,
    /// The state of failure.
    failed: Vec<u32>,
}

impl<'m> Compact<'m> {
    /// For a check that has neither symmetry nor boundary: both look at the words of the model. With
    /// as much room as [`counts`](Self::counts) of a sample ask for, or a word for everything.
    pub(crate) fn new(bounded: &'m Bounded<'m>, sample: Option<&[usize]>) -> Option<Self> {
        if bounded.symmetric.is_some() || bounded.boundary.is_some() {
            return None;
        }
        let model = bounded.model;
        let protocol = &model.inner.protocol;
        let count = protocol.processes.len();
        let has_record = model.inner.record_word.is_some();
        let has_crashes = protocol.most_crashes > 0;
        let parts = count + usize::from(has_record) + usize::from(has_crashes);
        let mut rooms = vec![Room::WORD; parts];
        let words = match sample {
            None => (0..parts).map(|at| vec![at]).collect(),
            Some(counts) => {
                let sampled = counts.iter().map(|count| Room::after_sample(*count));
                rooms.iter_mut().zip(sampled).for_each(|(r, s)| *r = s);
                Room::share_words(&mut rooms)
            }
        };
        let mut layout = LayoutBuilder::new();
        let mut fields = vec![FieldId::new(0); parts];
        for word in &words {
            layout.align_to_word();
            for at in word {
                let process = protocol.processes.get(*at);
                let owner = process.map(|_| ProcessId::new(*at));
                let (name, kind) = match process {
                    Some(process) => (process.name.as_str(), FieldKind::Interned),
                    None if has_record && *at == count => ("record", FieldKind::Interned),
                    None => ("crashes left", FieldKind::Integer),
                };
                let most = (1_i64 << rooms[*at].bits) - 1;
                fields[*at] = layout.field(name, (0, most), kind, owner);
            }
        }
        let layout = layout.finish();
        let place = |field: &FieldId| {
            let field = layout.field(*field);
            Place {
                word: field.word as usize,
                shift: u32::from(field.shift),
                mask: field.low_mask(),
            }
        };
        let places: Vec<Place> = fields.iter().map(place).collect();
        let record = has_record.then(|| places[count]);
        let crashes = has_crashes.then(|| places[parts - 1]);
        let mut failed = vec![0; layout.words()];
        for place in &places {
            failed[place.word] |= place.mask << place.shift;
        }
        let mut structure = model.structure().clone();
        structure.error_state = Some(failed.clone());
        let fold = |all: &mut Vec<FieldId>| {
            let fold = |field: &FieldId| match field.index() {
                at if at < 2 * count => Some(fields[at / 2]),
                at if model.inner.record_word == Some(at) => Some(fields[count]),
                _ => has_crashes.then(|| fields[parts - 1]),
            };
            *all = all.iter().filter_map(fold).collect();
            all.sort_unstable();
            all.dedup();
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
            places: places[..count].to_vec(),
            record,
            crashes,
            parts: words.concat(),
            failed,
        })
    }

    /// How many numbers there are by now, of each part of a state; where there was no room for all, as
    /// many as if there were many more to come.
    pub(crate) fn counts(&self) -> Vec<usize> {
        let inner = &self.model.inner;
        let count = |len: usize, place: Place| match len > place.mask as usize {
            true => len.max(FEW + 1),
            false => len,
        };
        let processes = self.situations.iter().zip(&self.places);
        let mut counts: Vec<usize> = processes.map(|(all, p)| count(all.len(), *p)).collect();
        counts.extend(self.record.map(|place| count(inner.records.len(), place)));
        counts.extend(self.crashes.map(|_| inner.protocol.most_crashes as usize));
        counts
    }

    /// Whether a state is that of failure. (All words are then, or none.)
    #[inline]
    fn is_failed(&self, state: &[u32]) -> bool {
        state[0] == self.failed[0]
    }

    /// A number, if there is room for it; else the one before, and nothing counts any more.
    #[inline]
    fn fitting(&self, place: Place, number: u32, before: u32) -> u32 {
        match number < place.mask {
            true => number,
            false => self.outgrow(before),
        }
    }

    #[cold]
    fn outgrow(&self, before: u32) -> u32 {
        self.budget.outgrow();
        self.budget.end(Spent::Outgrown);
        before
    }

    /// The words of the model.
    fn unfold_state(&self, state: &[u32]) -> Vec<u32> {
        let inner = &self.model.inner;
        let mut words = inner.initial_words().to_vec();
        if self.is_failed(state) {
            let error = self.model.structure().error_state.clone();
            return error.unwrap_or(words);
        }
        for (p, situations) in self.situations.iter().enumerate() {
            let (local, inbox) = *situations.get(self.places[p].get(state));
            (words[2 * p], words[2 * p + 1]) = (local, inbox);
        }
        self.unfold_others(state, &mut words);
        words
    }

    fn unfold_others(&self, state: &[u32], words: &mut [u32]) {
        let inner = &self.model.inner;
        if let (Some(record), Some(word)) = (self.record, inner.record_word) {
            words[word] = record.get(state);
        }
        if let Some(crashes) = self.crashes {
            words[inner.extra_word] = crashes.get(state);
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
        let mut state = vec![0; self.layout.words()];
        let mut mask = vec![0; self.layout.mask_words()];
        let mut set = |place: Place, number: u32| {
            let number = self.fitting(place, number, 0);
            place.set(&mut state, &mut mask, number);
        };
        for ((two, situations), place) in words.chunks(2).zip(&self.situations).zip(&self.places) {
            set(*place, situations.intern((two[0], two[1])));
        }
        if let (Some(place), Some(word)) = (self.record, inner.record_word) {
            set(place, words[word]);
        }
        if let Some(place) = self.crashes {
            set(place, words[inner.extra_word]);
        }
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
            state: self.failed.clone(),
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
        let (at, number) = (self.parts[field.index()], value as u32);
        if let Some(situations) = self.situations.get(at) {
            let inner = &self.model.inner;
            let (local, inbox) = *situations.get(number);
            // In the order of both, one after the other.
            let local = inner.local_text(Pid(at as u16), local);
            return format!("{local}\0{}", inner.inbox_text(inbox));
        }
        match (at == self.situations.len(), self.model.inner.record_word) {
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
        let places = &self.compact.places;
        for ((known, place), (range, words)) in self.known.iter().zip(places).zip(found) {
            let known = known.get(place.get(state) as usize)?;
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
        for (process, place) in self.compact.places.iter().enumerate() {
            self.situation(process, place.get(state));
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
            let after = (self.compact).fitting(self.compact.places[process], after, number);
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
        let after = (self.compact).fitting(self.compact.places[to], after, before);
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
        if step.crashes && crashes.is_none_or(|place| place.get(state) == 0) {
            return;
        }
        let (words, changed) = out.push_copy(id, state);
        self.change(process, &step, words, changed);
        if let Some(place) = crashes {
            let left = place.get(state) - u32::from(step.crashes) + u32::from(step.returns);
            place.set(words, changed, left);
        }
    }

    /// Changes a copy of the state before as a step does.
    #[inline]
    fn change(&mut self, process: usize, step: &Quick<u32>, words: &mut [u32], mask: &mut [u64]) {
        self.compact.places[process].set(words, mask, step.after);
        for at in step.posts.0..step.posts.1 {
            // Nobody has two posts, and what goes to the process itself is in its situation.
            let (to, post) = self.posts[at as usize];
            let (to, place) = (to as usize, self.compact.places[to as usize]);
            let before = place.get(words);
            let after = match self.arrived[to].get(before, post) {
                Some(after) => after,
                None => self.arrive(to, before, post),
            };
            place.set(words, mask, after);
        }
        if let Some(place) = self.compact.record {
            let before = place.get(words);
            let after = self.noted.after(self.inner, before, step);
            place.set(words, mask, self.compact.fitting(place, after, before));
        }
    }
}

impl Executor for CompactExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.compact.is_failed(state) {
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
            let place = self.compact.places[process];
            for step in &moves[start as usize..end as usize] {
                transitions[row] = TransitionId::new(step.action as usize);
                let (at, mask_at) = (row * width, row * mask_words);
                row += 1;
                let (words, masks) = (&mut words[at..], &mut masks[mask_at..]);
                match step.is_local() {
                    true => place.set(words, masks, step.after),
                    false => self.change(process, step, words, masks),
                }
            }
        }
        self.moves = moves;
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if self.compact.is_failed(state) {
            return;
        }
        let process = self.inner.actions[transition.index()].process.index();
        let number = self.compact.places[process].get(state);
        let (start, end) = self.situation(process, number).moves;
        for at in start..end {
            let step = self.moves[at as usize];
            if step.action as usize == transition.index() {
                self.push(state, process, step, out);
            }
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        if self.compact.is_failed(state) {
            return false;
        }
        if self.state != state && self.look(state).is_none() {
            self.learn(state);
        }
        self.compact.unfold_others(state, &mut self.words);
        self.plain.label(&self.words, label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_twice_what_was_seen_and_for_failure() {
        for count in 1..=200 {
            let room = Room::after_sample(count);
            assert_eq!(room.grows, count > FEW, "{count}");
            let numbers = (1_u64 << room.bits) - 1;
            assert!(numbers >= 2 * count as u64, "{count}: {room:?}");
            assert!(
                room.grows || numbers < 4 * count as u64,
                "{count}: {room:?}"
            );
        }
        assert_eq!(Room::after_sample(usize::MAX / 16).bits, 32);
    }

    #[test]
    fn words_are_shared_evenly_and_left_to_what_grows() {
        let small = |bits| Room { bits, grows: false };
        let grows = |bits| Room { bits, grows: true };
        let share = |mut all: Vec<Room>| {
            let words = Room::share_words(&mut all);
            let bits: Vec<u32> = all.iter().map(|room| room.bits).collect();
            (words, bits)
        };
        // Both halves of a root are short, although one word would be enough.
        assert_eq!(
            share(vec![small(4); 4]),
            (vec![vec![0, 2], vec![1, 3]], vec![4; 4])
        );
        let (words, bits) = share(vec![grows(15), small(4), small(4), small(4), small(4)]);
        assert_eq!(words, [vec![0], vec![1, 2, 3, 4]]);
        assert_eq!(bits, [32, 4, 4, 4, 4]);
        let (words, bits) = share(vec![grows(12), grows(12), grows(12), small(4)]);
        assert_eq!(words, [vec![0, 2], vec![3, 1]]);
        assert_eq!(bits, [16, 28, 16, 4]);
        // What fits together only in more words than there are bits for.
        let (words, bits) = share(vec![small(20); 3]);
        assert_eq!((words.len(), bits), (3, vec![20; 3]));
        assert_eq!(share(vec![small(9)]), (vec![vec![0]], vec![9]));
    }
}
