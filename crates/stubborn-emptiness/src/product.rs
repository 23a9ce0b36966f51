//! The product of a system with an automaton, computed while it is walked.
//!
//! A node is a state of the system with a state of the automaton: one word more at the end
//! of the vector, so that any exact store holds it and one handle names it. A step of the
//! system goes with an edge of the automaton that can be taken on the letter of the *source*
//! state. Where the system has no step but such that fail, the run is extended by repeating the
//! state for ever: the automaton moves alone. That is done here, behind the reduction (or not done,
//! if finite runs are to be ignored). So whatever is reached is on some run; that a step fails is
//! for others to report.
//!
//! The classic reduction sees the system state only, so kept steps are a function of it; which
//! nodes are expanded by the proviso depends on the automaton's state too, see
//! [`crate::prepare`] for when that is sound. [Steering](crate::steering) looks at both, and
//! what it keeps needs no proviso.

use std::sync::atomic::AtomicBool;

use stubborn_ltl::automaton::{Automaton, Marks, StateId};
use stubborn_ltl::components::{Components, Strength};
use stubborn_search::Limit;
use stubborn_store::{Batch, Cursor, StateHandle, Worker};
use stubborn_system::{
    BitSet, Executor, Expansion, LabelId, Reducer, Spent, Successors, System, TransitionId,
};

use crate::fairness::Fair;
use crate::pulse::{Pulse, SAME, Surroundings, append_once, limit_of};
use crate::shared::SharedExpansions;
use crate::space::{Counts, Edge, Node, Space, known};
use crate::steering::{MOST_PROPOSITIONS, Steering};

/// An automaton with what its propositions mean.
#[derive(Clone, Debug)]
pub(crate) struct Watcher<'a> {
    /// The automaton of the runs to look for.
    pub(crate) automaton: &'a Automaton,
    /// Where its runs start.
    pub(crate) starts: &'a [StateId],
    /// The label of each of its propositions.
    pub(crate) labels: &'a [LabelId],
    /// Whether a run that ends goes on by repeating its last state.
    pub(crate) stutters: bool,
    /// Which runs count as fair, if not all.
    pub(crate) fair: Option<&'a Fair>,
}

impl Watcher<'_> {
    /// The marks that an accepting cycle of the product has to collect.
    pub(crate) fn all_marks(&self) -> Marks {
        let own = self.automaton.all_marks();
        self.fair.map_or(own, |fair| fair.all_marks(own))
    }
}

/// The edges of a node, for those who keep their targets elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    /// The words of one target after the other.
    pub(crate) words: Vec<u32>,
    pub(crate) marks: Vec<Marks>,
}

/// Which edges of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Kept,
    Rest,
    All,
}

/// How a product is reduced.
#[derive(Default)]
pub(crate) struct Reducers<'a> {
    /// In the classic way: a proviso has to see to cycles …
    pub(crate) classic: Vec<Box<dyn Reducer + 'a>>,
    /// Which of them is for a state of the automaton; the first one if missing.
    pub(crate) class_of: &'a [usize],
    /// … unless the reduction does that itself.
    pub(crate) needs_proviso: bool,
    /// By the automaton's state.
    pub(crate) steering: Option<Steering<'a>>,
    /// What is put back where the proviso says so; everything if missing.
    pub(crate) closing: Option<Box<dyn Reducer + 'a>>,
    /// States of the system to expand wherever they occur.
    pub(crate) shared: Option<SharedExpansions<'a>>,
}

/// An edge of which the end is in the batch.
#[derive(Clone, Copy, Debug)]
struct Noted {
    marks: Marks,
    is_loose: bool,
    /// It is the first one of its node.
    begins: bool,
}

/// What a reduction left out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduced {
    /// Nothing.
    No,
    /// Something, and a proviso has to see to cycles.
    Classic,
    /// Something, and that is all right.
    Steered,
}

/// The product of a system with an automaton.
pub(crate) struct Product<'a> {
    system: &'a dyn System,
    executor: Box<dyn Executor + 'a>,
    reducers: Reducers<'a>,
    automaton: &'a Automaton,
    starts: &'a [StateId],
    labels: &'a [LabelId],
    /// For each state of the automaton, the propositions that its edges look at; with
    /// steering, also those of its successors.
    looked_at: Vec<Vec<u32>>,
    /// For each state of the automaton, whether every cycle through it is accepting.
    weak: Vec<bool>,
    pulse: Pulse<'a>,
    worker: Worker<'a>,
    cursor: Cursor,
    batch: Batch,
    successors: Successors,
    kept: BitSet,
    steered: BitSet,
    valuation: Vec<u64>,
    /// The edges of the automaton that can be taken, of the node in hand.
    moves: Vec<(StateId, Marks)>,
    stutters: bool,
    /// With fairness the automaton's state shares its word with a level.
    fair: Option<Fair>,
    /// Of the edges in the batch.
    noted: Vec<Noted>,
    /// Where the edges of the node in hand begin in the list that they are appended to.
    first: usize,
    /// By state of the automaton: whether no accepting cycle goes through it, where that matters.
    loose: Vec<bool>,
    vector: Vec<u32>,
    mask: Vec<u64>,
    /// How often somebody asked whether there is time.
    looks: u32,
}

impl<'a> Product<'a> {
    pub(crate) fn new(
        system: &'a dyn System,
        watcher: &Watcher<'a>,
        reducers: Reducers<'a>,
        surroundings: Surroundings<'a>,
    ) -> Self {
        let automaton = watcher.automaton;
        let words = system.layout().words();
        let mut looked_at = propositions_of(automaton);
        if reducers.steering.is_some() {
            looked_at = with_successors(automaton, &looked_at);
        }
        let store = surroundings.store;
        Self {
            system,
            executor: system.executor(),
            reducers,
            automaton,
            starts: watcher.starts,
            labels: watcher.labels,
            looked_at,
            weak: match watcher.fair {
                None => weak_states(automaton, watcher.starts),
                Some(_) => vec![false; automaton.state_count()],
            },
            worker: store.worker(),
            cursor: store.cursor(),
            batch: store.batch(),
            pulse: Pulse::new(surroundings),
            successors: Successors::new(words),
            kept: BitSet::new(system.structure().transitions.len()),
            steered: BitSet::new(system.structure().transitions.len()),
            valuation: vec![0; watcher.labels.len().div_ceil(64)],
            moves: Vec::new(),
            stutters: watcher.stutters,
            fair: watcher.fair.cloned(),
            noted: Vec::new(),
            first: 0,
            loose: Vec::new(),
            vector: Vec::with_capacity(words + 1),
            mask: Vec::new(),
            looks: 0,
        }
    }

    /// Nodes through which no accepting cycle goes, because the automaton has none there, are told
    /// apart from now on. Not where cycles matter for other reasons: to a proviso, or to fairness.
    pub(crate) fn tell_loose_nodes(&mut self) {
        if self.reducers.classic.is_empty() && self.fair.is_none() {
            self.loose = rejecting_states(self.automaton, self.starts);
        }
    }

    /// Whether there may be such nodes.
    pub(crate) fn tells_loose_nodes(&self) -> bool {
        self.loose.contains(&true)
    }

    /// Another thread reports progress.
    pub(crate) fn forget_observer(&mut self) {
        self.pulse.forget_observer();
    }

    /// A walk that can pause does when this is set.
    pub(crate) fn pause_at(&mut self, flag: Option<&'a AtomicBool>) {
        self.pulse.pause = flag;
    }

    /// A walk that can go on stops with more states than these, once.
    pub(crate) fn stop_once(&mut self, states: Option<u64>) {
        self.pulse.stop_once = states;
    }

    /// Whether it is to stop.
    pub(crate) fn stops_once(&self) -> bool {
        self.pulse.stop_once.is_some()
    }

    /// The state of the system in a node.
    pub(crate) fn system_state(&mut self, node: Node) -> Result<&[u32], Limit> {
        self.load(node)?;
        let words = self.cursor.words();
        Ok(&words[..words.len() - 1])
    }

    /// All words of a node.
    pub(crate) fn node_words(&mut self, node: Node) -> Result<&[u32], Limit> {
        self.load(node)?;
        Ok(self.cursor.words())
    }

    /// Whether states of the system were expanded that were not from the start.
    pub(crate) fn has_new_expansions(&self) -> bool {
        let shared = self.reducers.shared.as_ref();
        shared.is_some_and(SharedExpansions::has_grown)
    }

    /// Appends all edges of a node.
    pub(crate) fn all_edges(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges_of_each(&[node], Part::All, out).map(|_| ())
    }

    /// Appends all edges of one node after the other.
    pub(crate) fn all_edges_of_each(
        &mut self,
        nodes: &[Node],
        out: &mut Vec<Edge>,
    ) -> Result<(), Limit> {
        self.edges_of_each(nodes, Part::All, out).map(|_| ())
    }

    /// The words of a node.
    pub(crate) fn width(&self) -> usize {
        self.successors.words() + 1
    }

    /// Stores a node, if it is not there yet.
    pub(crate) fn insert(&mut self, vector: &[u32]) -> Result<Node, Limit> {
        self.cursor.clear();
        let inserted = self.worker.insert(&self.cursor, vector, None);
        Ok(Node(inserted.map_err(limit_of)?.handle.to_bits()))
    }

    /// The words of all nodes to start from.
    pub(crate) fn initial_vectors(&self) -> Vec<u32> {
        let mut out = Vec::new();
        for state in (self.system.initial_states()).chunks_exact(self.successors.words()) {
            for start in self.starts {
                out.extend_from_slice(state);
                out.push(start.0);
            }
        }
        out
    }

    /// The edges of a node that a reduction without order keeps; their targets are not stored.
    pub(crate) fn vectors_of(&mut self, node: Node, out: &mut Vectors) -> Result<(), Limit> {
        out.words.clear();
        out.marks.clear();
        self.load(node)?;
        self.find_moves();
        if self.moves.is_empty() {
            return Ok(());
        }
        let words = self.successors.words();
        self.successors.clear();
        let state = &self.cursor.words()[..words];
        self.executor.successors(state, &mut self.successors);
        if let Some(spent) = self.system.budget().spent() {
            return Err(spent.into());
        }
        let from = self.automaton_state(self.cursor.words()[words]);
        let is_reduced = self.choose(from, Part::Kept) != Reduced::No;
        debug_assert!(!self.reducers.needs_proviso || self.reducers.classic.is_empty());
        let (state, own) = self.cursor.words().split_at(words);
        let error = self.system.structure().error_state.as_deref();
        let fine = || self.successors.iter().filter(|s| error != Some(s.state));
        let goes_on = self.goes_on_unseen();
        if let Some(fair) = &mut self.fair {
            fair.look_at(fine().map(|s| s.transition));
        }
        let mut has_steps = false;
        let mut add = |state: &[u32], transition: Option<TransitionId>| {
            for (target, marks) in &self.moves {
                let (word, marks) = self.after(own[0], *target, *marks, transition);
                let first = out.marks.len().saturating_sub(SAME);
                let mut before = out
                    .words
                    .chunks_exact(words + 1)
                    .zip(&out.marks)
                    .skip(first);
                let is_same = |(vector, known): (&[u32], &Marks)| {
                    vector[words] == word && *known == marks && vector[..words] == *state
                };
                if !before.any(is_same) {
                    out.words.extend_from_slice(state);
                    out.words.push(word);
                    out.marks.push(marks);
                }
            }
        };
        for successor in fine() {
            has_steps = true;
            if !is_reduced || self.kept.contains(successor.transition.index()) {
                add(successor.state, Some(successor.transition));
            }
        }
        if !has_steps && self.stutters && !goes_on {
            add(state, None);
        }
        Ok(())
    }

    /// Looks at limits, and reports progress.
    pub(crate) fn look_around(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        self.pulse.look_around(bytes, counts)
    }

    /// Why nothing that comes out makes sense any more, if so.
    pub(crate) fn spent(&self) -> Option<Limit> {
        self.system.budget().spent().map(Into::into)
    }

    /// See [`System`](stubborn_system::System#method.is_spoilt).
    pub(crate) fn is_spoilt(&self) -> bool {
        self.system.is_spoilt()
    }

    /// Whether the system had no step in the node whose edges were asked for last, if it has edges:
    /// then only the automaton moves.
    pub(crate) fn stands_still(&self) -> bool {
        let error = self.system.structure().error_state.as_deref();
        self.successors.iter().all(|s| error == Some(s.state))
    }

    /// Whether a step leads from the node whose edges were asked for last to a state that the system cannot
    /// represent: if there is no other step, the run does not end there.
    fn goes_on_unseen(&self) -> bool {
        let structure = self.system.structure();
        !self.successors.all_fine()
            && (self.successors.iter()).any(|s| structure.leaves_out(s.outcome))
    }

    /// Whether there is time to look for a way that was found once.
    pub(crate) fn check_time(&mut self) -> Result<(), Limit> {
        let budget = self.system.budget();
        self.looks = self.looks.wrapping_add(1);
        let stopped = budget.spent() == Some(Spent::Interrupted);
        match stopped || self.looks.is_multiple_of(64) && budget.is_overdrawn() {
            true => Err(budget.poll().map_or(Limit::Time, Into::into)),
            false => Ok(()),
        }
    }

    fn load(&mut self, node: Node) -> Result<(), Limit> {
        self.worker
            .load(StateHandle::from_bits(node.0), &mut self.cursor)
            // Lossy stores are refused before.
            .map_err(|_| Limit::StoreFull)
    }

    /// The state of the automaton in the last word of a node.
    fn automaton_state(&self, word: u32) -> StateId {
        match self.fair {
            None => StateId(word),
            Some(_) => StateId(word % self.automaton.state_count() as u32),
        }
    }

    /// What the automaton can do in the loaded node.
    fn find_moves(&mut self) {
        let words = self.cursor.words();
        let (state, automaton_word) = words.split_at(words.len() - 1);
        let from = self.automaton_state(automaton_word[0]);
        self.valuation.fill(0);
        for proposition in &self.looked_at[from.index()] {
            let at = *proposition as usize;
            if self.executor.label(state, self.labels[at]) {
                self.valuation[at / 64] |= 1 << (at % 64);
            }
        }
        self.moves.clear();
        // Edges are sorted by target. One to the same state with fewer marks is of no use.
        for edge in self.automaton.successors(from, &self.valuation) {
            let same = self.moves.iter().rev();
            let mut same = same.take_while(|(target, _)| *target == edge.target);
            if same.any(|(_, marks)| marks.contains(edge.marks)) {
                continue;
            }
            self.moves
                .retain(|(target, marks)| *target != edge.target || !edge.marks.contains(*marks));
            self.moves.push((edge.target, edge.marks));
        }
    }

    /// Chooses what to keep of the successors of the loaded state; then it is in `kept`. Only what was
    /// kept in the classic way has a [rest](Part::Rest).
    fn choose(&mut self, from: StateId, part: Part) -> Reduced {
        let words = self.successors.words();
        let state = &self.cursor.words()[..words];
        let mut expansion = Expansion {
            state,
            executor: &mut *self.executor,
            successors: &self.successors,
            is_known: None,
        };
        let is_steered = match &mut self.reducers.steering {
            Some(steering)
                if part != Part::Rest
                    && self.looked_at[from.index()].len() <= MOST_PROPOSITIONS =>
            {
                steering.reduce(
                    from,
                    &self.moves,
                    &self.valuation,
                    &mut expansion,
                    &mut self.steered,
                )
            }
            _ => false,
        };
        let class = self.reducers.class_of.get(from.index()).copied();
        let is_classic = match self.reducers.classic.get_mut(class.unwrap_or(0)) {
            // No set is smaller than a steered one with one step.
            Some(_) if is_steered && self.steered.count() <= 1 => false,
            Some(reducer) => reducer.reduce(&mut expansion, &mut self.kept),
            None => false,
        };
        match (is_steered, is_classic) {
            (true, true) if self.kept.count() < self.steered.count() => Reduced::Classic,
            (true, _) => {
                std::mem::swap(&mut self.kept, &mut self.steered);
                Reduced::Steered
            }
            (false, true) => Reduced::Classic,
            (false, false) => Reduced::No,
        }
    }

    /// Appends edges of nodes, all looked up at once, so that one does not wait for the other. Returns
    /// true if the classic reduction leaves some out.
    fn edges_of_each(
        &mut self,
        nodes: &[Node],
        part: Part,
        out: &mut Vec<Edge>,
    ) -> Result<bool, Limit> {
        self.batch.clear();
        self.noted.clear();
        let mut left_out = false;
        for node in nodes {
            left_out |= self.note_edges(*node, part, out)?;
        }
        self.flush(out)?;
        Ok(left_out)
    }

    /// Notes edges of a node; they are appended when the batch is full or flushed.
    fn note_edges(&mut self, node: Node, part: Part, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.load(node)?;
        self.find_moves();
        if self.moves.is_empty() {
            return Ok(false);
        }
        let words = self.successors.words();
        self.successors.clear();
        let state = &self.cursor.words()[..words];
        let from = self.automaton_state(self.cursor.words()[words]);
        self.executor.successors(state, &mut self.successors);
        let error = self.system.structure().error_state.as_deref();
        if let Some(spent) = self.system.budget().spent()
            // There may be more than these: a way that was found goes on, an end may be none.
            && (part != Part::All || self.successors.iter().all(|s| error == Some(s.state)))
        {
            return Err(spent.into());
        }
        if let Some(fair) = &mut self.fair {
            let fine = self.successors.iter().filter(|s| error != Some(s.state));
            fair.look_at(fine.map(|s| s.transition));
        }
        let expanded_anyway = match (&mut self.reducers.shared, part) {
            (Some(shared), Part::Kept) => shared.contains(state),
            (Some(shared), Part::Rest) => {
                shared.insert(state)?;
                false
            }
            _ => false,
        };
        let reduced = match part == Part::All || expanded_anyway {
            true => Reduced::No,
            false => self.choose(from, part),
        };
        let mut puts_back_all = true;
        if let (Some(closing), Part::Rest) = (&mut self.reducers.closing, part) {
            let mut expansion = Expansion {
                state: &self.cursor.words()[..words],
                executor: &mut *self.executor,
                successors: &self.successors,
                is_known: None,
            };
            puts_back_all = !closing.reduce(&mut expansion, &mut self.steered);
        }
        let mut begins = true;
        if self.successors.iter().all(|s| error == Some(s.state)) {
            if part != Part::Rest && self.stutters && !self.goes_on_unseen() {
                self.vector.clear();
                self.vector.extend_from_slice(self.cursor.words());
                self.mask.clear();
                self.mask.resize((words + 1).div_ceil(64), 0);
                self.add_moves(None, begins, out)?;
            }
            return Ok(false);
        }
        for number in 0..self.successors.len() {
            let successor = self.successors.get(number);
            let transition: TransitionId = successor.transition;
            let is_kept = reduced == Reduced::No || self.kept.contains(transition.index());
            let wanted = match part {
                Part::All => true,
                Part::Kept => is_kept,
                Part::Rest => {
                    !is_kept && (puts_back_all || self.steered.contains(transition.index()))
                }
            };
            if !wanted || error == Some(successor.state) {
                continue;
            }
            self.vector.clear();
            self.vector.extend_from_slice(successor.state);
            self.vector.push(0);
            self.mask.clear();
            self.mask.extend_from_slice(successor.changed);
            self.mask.resize((words + 1).div_ceil(64), 0);
            self.add_moves(Some(transition), begins, out)?;
            begins = false;
        }
        Ok(reduced == Reduced::Classic && self.reducers.needs_proviso)
    }

    /// The last word of a node after a move of the automaton, and the marks of that edge.
    #[inline]
    fn after(
        &self,
        before: u32,
        target: StateId,
        marks: Marks,
        transition: Option<TransitionId>,
    ) -> (u32, Marks) {
        let Some(fair) = &self.fair else {
            return (target.0, marks);
        };
        let states = self.automaton.state_count() as u32;
        let (level, marks) = fair.advance(before / states, marks, transition);
        (target.0 + level * states, marks)
    }

    /// Notes the edges to the system state in `vector` with every move of the automaton;
    /// they are appended when the batch is full.
    fn add_moves(
        &mut self,
        transition: Option<TransitionId>,
        begins: bool,
        out: &mut Vec<Edge>,
    ) -> Result<(), Limit> {
        let last = self.vector.len() - 1;
        let before = self.cursor.words()[last];
        for (number, (target, marks)) in self.moves.iter().enumerate() {
            let (word, marks) = self.after(before, *target, *marks, transition);
            self.noted.push(Noted {
                marks,
                is_loose: self.loose.get(target.index()) == Some(&true),
                begins: begins && number == 0,
            });
            self.vector[last] = word;
            // Most steps leave the automaton where it is, and its part of the tree alone.
            let own_bit = 1 << (last % 64);
            match word == before {
                true => self.mask[last / 64] &= !own_bit,
                false => self.mask[last / 64] |= own_bit,
            }
            self.batch
                .push(&self.cursor, &self.vector, Some(&self.mask));
        }
        match self.batch.is_full() {
            true => self.flush(out),
            false => Ok(()),
        }
    }

    /// Stores what was noted and appends its edges.
    fn flush(&mut self, out: &mut Vec<Edge>) -> Result<(), Limit> {
        let inserted = self.worker.insert_batch(&mut self.batch);
        let inserted = inserted.map_err(limit_of)?;
        for (inserted, noted) in inserted.iter().zip(&self.noted) {
            if noted.begins {
                self.first = out.len();
            }
            let fresh = if inserted.is_new { known::FRESH } else { 0 };
            let loose = if noted.is_loose { known::LOOSE } else { 0 };
            let to = Node(inserted.handle.to_bits());
            let known = u32::from(inserted.flags) | fresh | loose;
            append_once(Edge::told(to, noted.marks, known), self.first, out);
        }
        self.batch.clear();
        self.noted.clear();
        Ok(())
    }
}

impl Space for Product<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        for vector in self.initial_vectors().chunks_exact(self.width()) {
            out.push(self.insert(vector)?);
        }
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.edges_of_each(&[node], Part::Kept, out)
    }

    fn kept_of_all(&mut self, nodes: &[Node], out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges_of_each(nodes, Part::Kept, out).map(|_| ())
    }

    fn is_loose(&mut self, node: Node) -> Result<bool, Limit> {
        self.load(node)?;
        let last = self.cursor.words().last();
        let state = last.map(|word| self.automaton_state(*word).index());
        Ok(state.and_then(|state| self.loose.get(state)) == Some(&true))
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges_of_each(&[node], Part::Rest, out).map(|_| ())
    }

    fn actions(&mut self, node: Node, out: &mut Vec<(u32, bool)>) -> Result<(), Limit> {
        self.load(node)?;
        self.find_moves();
        if self.moves.is_empty() {
            return Ok(());
        }
        let words = self.successors.words();
        self.successors.clear();
        let state = &self.cursor.words()[..words];
        self.executor.successors(state, &mut self.successors);
        if let Some(spent) = self.system.budget().spent() {
            return Err(spent.into());
        }
        let from = self.automaton_state(self.cursor.words()[words]);
        let is_reduced = self.choose(from, Part::Kept) == Reduced::Classic;
        for number in 0..self.successors.len() {
            let transition = self.successors.get(number).transition.index();
            let is_kept = !is_reduced || self.kept.contains(transition);
            out.push((transition as u32, is_kept));
        }
        Ok(())
    }

    fn accepts_every_cycle(&mut self, node: Node) -> Result<bool, Limit> {
        self.load(node)?;
        let last = self.cursor.words().last();
        Ok(last.is_some_and(|word| self.weak[self.automaton_state(*word).index()]))
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.worker.flags(StateHandle::from_bits(node.0))
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        self.worker.set_flags(StateHandle::from_bits(node.0), flags)
    }

    #[inline]
    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        self.pulse.go_on(bytes, counts)
    }
}

/// For each state of an automaton, the propositions that its edges look at.
fn propositions_of(automaton: &Automaton) -> Vec<Vec<u32>> {
    let of_state = |state| {
        let edges = automaton.edges(state).iter();
        let mut used: Vec<u32> = edges
            .flat_map(|edge| automaton.guards().support(edge.guard))
            .collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    automaton.states().map(of_state).collect()
}

/// For each state of an automaton, the propositions that any run from there can look at.
pub(crate) fn propositions_ahead(automaton: &Automaton) -> Vec<Vec<u32>> {
    let mut all = propositions_of(automaton);
    loop {
        let next = with_successors(automaton, &all);
        if next == all {
            return all;
        }
        all = next;
    }
}

/// For each state, its propositions and those of its successors.
fn with_successors(automaton: &Automaton, own: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let of_state = |state: StateId| {
        let mut all = own[state.index()].clone();
        for edge in automaton.edges(state) {
            all.extend_from_slice(&own[edge.target.index()]);
        }
        all.sort_unstable();
        all.dedup();
        all
    };
    automaton.states().map(of_state).collect()
}

/// For each state of an automaton, whether every cycle through it is accepting.
fn weak_states(automaton: &Automaton, starts: &[StateId]) -> Vec<bool> {
    states_of(automaton, starts, &[Strength::Weak, Strength::Terminal])
}

/// For each state of an automaton, whether no cycle through it is accepting.
fn rejecting_states(automaton: &Automaton, starts: &[StateId]) -> Vec<bool> {
    states_of(
        automaton,
        starts,
        &[Strength::Rejecting, Strength::Transient],
    )
}

/// For each state of an automaton, whether its component has one of these strengths. Where runs
/// start elsewhere than in the initial state, nothing is said.
fn states_of(automaton: &Automaton, starts: &[StateId], wanted: &[Strength]) -> Vec<bool> {
    if starts != [automaton.initial()] {
        return vec![false; automaton.state_count()];
    }
    let components = Components::of(automaton);
    let strengths = components.strengths(automaton);
    let is_wanted = |state: StateId| {
        let strength = components.get(state).map(|component| strengths[component]);
        strength.is_some_and(|strength| wanted.contains(&strength))
    };
    automaton.states().map(is_wanted).collect()
}
