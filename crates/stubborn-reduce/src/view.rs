//! One state as set algorithms see it: what is enabled, and labels, evaluated when asked for.
//!
//! Most labels are never evaluated: the guards of enabled transitions hold, and whatever never
//! holds together with them does not. The others are asked of the executor one by one, and the
//! questions are logged: set and log are a function of the enabled transitions and the
//! answers, which is what the [cache](crate::cache) and explanations build on.

use stubborn_system::random::mix;
use stubborn_system::{Executor, Successors};

use crate::rows::{clear, has, ones_of, or, put};
use crate::tables::{EnablingSet, MOST_INFERENCE_WORDS, Tables};

/// What asking for a label takes, in words of rows.
pub(crate) const LABEL_WORK: u64 = 16;

/// Buffers for one state, reused from state to state.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Enabled transitions as bits.
    pub(crate) enabled: Vec<u64>,
    /// Enabled transitions in increasing order; since the last call of [`infer`](Self::infer).
    pub(crate) enabled_list: Vec<u32>,
    /// Enabled transitions that lead to a state the search has not seen, as bits.
    pub(crate) fresh: Vec<u64>,
    /// A hash of the state, for pseudo-random choices; 0 if none are made.
    pub(crate) state_hash: u64,
    /// The state itself, for algorithms that look at program counters; else empty.
    pub(crate) state: Vec<u32>,
    /// Questions and answers in order.
    pub(crate) log: Vec<(u32, bool)>,
    /// Labels whose value is known, and of these the ones that hold.
    pub(crate) known: Vec<u64>,
    pub(crate) truth: Vec<u64>,
    /// Words of rows that were looked at, and some more for each label that was asked; nobody sets
    /// that back.
    pub(crate) work: u64,
}

impl Facts {
    pub(crate) fn new(tables: &Tables) -> Self {
        Self {
            enabled: vec![0; tables.words],
            enabled_list: Vec::new(),
            fresh: vec![0; tables.words],
            state_hash: 0,
            state: Vec::new(),
            log: Vec::new(),
            known: vec![0; tables.labels.div_ceil(64)],
            truth: vec![0; tables.labels.div_ceil(64)],
            work: 0,
        }
    }

    /// Notes what is enabled; true if there is something to choose. With at most one transition there is
    /// not, unless a set `may_be_empty`. In relations, a transition whose step fails counts as disabled,
    /// and nothing is known of what would enable it: then there is nothing to choose, either.
    #[inline]
    pub(crate) fn note_enabled(
        &mut self,
        tables: &Tables,
        successors: &Successors,
        may_be_empty: bool,
    ) -> bool {
        clear(&mut self.enabled);
        let transitions = successors.transitions();
        for transition in transitions {
            put(&mut self.enabled, transition.index() as u32);
        }
        // (They are in increasing order.)
        let is_alone = transitions.first() == transitions.last();
        !transitions.is_empty()
            && (may_be_empty || !is_alone)
            && (!tables.may_fail || successors.all_fine())
    }

    /// Lists what is enabled, forgets all labels, then infers what enabled transitions say about them.
    pub(crate) fn infer(&mut self, tables: &Tables) {
        self.enabled_list.clear();
        self.enabled_list.extend(ones_of(&self.enabled));
        self.known.fill(0);
        self.truth.fill(0);
        self.log.clear();
        if self.known.len() > MOST_INFERENCE_WORDS {
            return;
        }
        for transition in &self.enabled_list {
            let t = *transition as usize;
            if let (Some(guards), Some(implied)) = (tables.guards.bits(t), tables.implied.bits(t)) {
                or(&mut self.truth, guards);
                or(&mut self.known, implied);
            }
        }
    }

    fn learn(&mut self, tables: &Tables, label: u32, holds: bool) {
        put(&mut self.known, label);
        if holds {
            put(&mut self.truth, label);
            if self.known.len() <= MOST_INFERENCE_WORDS
                && let Some(excluded) = tables.excludes.bits(label as usize)
            {
                or(&mut self.known, excluded);
            }
        }
    }
}

/// The facts, and someone to ask for more.
pub(crate) struct View<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) facts: &'a mut Facts,
    pub(crate) source: Source<'a>,
}

/// Who answers questions about labels.
pub(crate) enum Source<'a> {
    /// The executor, about a state.
    Executor(&'a [u32], &'a mut dyn Executor),
    /// A log, when a computation is repeated. (Answers are not told before they are asked for:
    /// what is known at which time influences choices.)
    Log(&'a [(u32, bool)]),
}

impl View<'_> {
    /// Whether a label holds.
    #[inline]
    pub(crate) fn holds(&mut self, label: u32) -> bool {
        if has(&self.facts.known, label) {
            has(&self.facts.truth, label)
        } else {
            self.ask(label)
        }
    }

    #[cold]
    fn ask(&mut self, label: u32) -> bool {
        let holds = match &mut self.source {
            Source::Executor(state, executor) => {
                self.tables.questions[label as usize].holds(state, &mut **executor)
            }
            Source::Log(log) => {
                let answer = log.iter().find(|(asked, _)| *asked == label);
                debug_assert!(
                    answer.is_some(),
                    "a repeated computation asked something new"
                );
                answer.is_some_and(|(_, holds)| *holds)
            }
        };
        self.facts.work += LABEL_WORK;
        self.facts.learn(self.tables, label, holds);
        self.facts.log.push((label, holds));
        holds
    }

    /// Whether an enabling set can be used in this state.
    #[inline]
    pub(crate) fn is_usable(&mut self, set: EnablingSet) -> bool {
        let (label, value) = self.tables.condition(set);
        self.holds(label) == value
    }

    /// Whether it is known without asking that an enabling set cannot be used in this state.
    #[inline]
    pub(crate) fn is_known_useless(&self, set: EnablingSet) -> bool {
        let (label, value) = self.tables.condition(set);
        has(&self.facts.known, label) && has(&self.facts.truth, label) != value
    }

    /// Whether a transition is enabled.
    #[inline]
    pub(crate) fn is_enabled(&self, transition: u32) -> bool {
        has(&self.facts.enabled, transition)
    }

    /// Condition I: some enabled transition is invisible, so the key must be one of those.
    pub(crate) fn must_start_invisible(&self) -> bool {
        self.tables.needs_invisible_key
            && self
                .facts
                .enabled_list
                .iter()
                .any(|t| !has(&self.tables.visible, *t))
    }

    /// A pseudo-random number that depends on the seed, the state and `salt` only.
    pub(crate) fn random(&self, seed: u64, salt: u64) -> u64 {
        mix(self.facts.state_hash ^ mix(seed ^ mix(salt)))
    }
}

/// A hash of words that is the same on every machine.
pub(crate) fn hash_words(words: &[u64]) -> u64 {
    words.iter().fold(0x51_7c_c1_b7_27_22_0a_95, |h, w| {
        (h ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}
