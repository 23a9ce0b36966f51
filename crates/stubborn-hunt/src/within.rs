//! Systems made from another one: with its steps in another order, or with some of its states only.

use rapidhash::RapidHashSet;
use stubborn_system::{
    BitSet, Budget, Executor, FieldId, LabelId, Layout, Outcome, Random, RelationLevel, Relations,
    Structure, Successors, System, TransitionId, random::mix,
};

/// The same steps, in an order that a seed and the state decide.
///
/// This breaks the law of increasing transitions, so that it is for searches that take what comes:
/// they find what they find, and say nothing about what they do not.
pub(crate) struct Shuffled<'s> {
    inner: &'s dyn System,
    seed: u64,
}

impl<'s> Shuffled<'s> {
    pub(crate) fn new(inner: &'s dyn System, seed: u64) -> Self {
        Self { inner, seed }
    }
}

/// The states of a path, and nothing else: a search finds the short cuts in it. Each of them has a step to the
/// next one, so that only the last may have none.
pub(crate) struct Within<'s> {
    inner: &'s dyn System,
    states: RapidHashSet<Box<[u32]>>,
    first: Vec<u32>,
    /// Steps in which something goes wrong stay, too, wherever they lead.
    bad_steps: bool,
}

impl<'s> Within<'s> {
    /// The states of a path, one after the other, the first one being an initial one. With `bad_steps`, those
    /// stay that violate an assertion or fail: for who looks for them, and not for ends of runs, since what
    /// they lead to looks like one.
    pub(crate) fn new(inner: &'s dyn System, path: &[u32], bad_steps: bool) -> Self {
        let words = inner.layout().words();
        Self {
            inner,
            states: path.chunks_exact(words).map(Into::into).collect(),
            first: path[..words].to_vec(),
            bad_steps,
        }
    }
}

/// What both have from the system that they are made of.
macro_rules! as_inside {
    () => {
        fn layout(&self) -> &Layout {
            self.inner.layout()
        }

        fn structure(&self) -> &Structure {
            self.inner.structure()
        }

        fn relations(&self, level: RelationLevel) -> Relations {
            self.inner.relations(level)
        }

        fn relations_of_strong_sets(&self, level: RelationLevel) -> Relations {
            self.inner.relations_of_strong_sets(level)
        }

        fn truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
            self.inner.truth_table(label)
        }

        fn budget(&self) -> &Budget {
            self.inner.budget()
        }

        fn left_out(&self) -> Option<String> {
            self.inner.left_out()
        }

        fn defeats_reduction(&self) -> bool {
            self.inner.defeats_reduction()
        }

        fn value_text(&self, field: FieldId, value: i64) -> String {
            self.inner.value_text(field, value)
        }
    };
}

impl System for Shuffled<'_> {
    as_inside!();

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Changed {
            inner: self.inner.executor(),
            all: Successors::new(self.layout().words()),
            order: Vec::new(),
            structure: self.structure(),
            change: Change::Shuffle(self.seed),
        })
    }
}

impl System for Within<'_> {
    as_inside!();

    fn initial_states(&self) -> Vec<u32> {
        self.first.clone()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Changed {
            inner: self.inner.executor(),
            all: Successors::new(self.layout().words()),
            order: Vec::new(),
            structure: self.structure(),
            change: Change::Keep(&self.states, self.bad_steps),
        })
    }
}

enum Change<'s> {
    Shuffle(u64),
    Keep(&'s RapidHashSet<Box<[u32]>>, bool),
}

struct Changed<'s> {
    inner: Box<dyn Executor + 's>,
    all: Successors,
    order: Vec<usize>,
    structure: &'s Structure,
    change: Change<'s>,
}

impl Changed<'_> {
    fn hand_out(&mut self, state: &[u32], out: &mut Successors) {
        self.order.clear();
        match self.change {
            Change::Shuffle(seed) => {
                self.order.extend(0..self.all.len());
                let mut key = seed;
                for word in state {
                    key = mix(key ^ u64::from(*word));
                }
                Random::new(key).shuffle(&mut self.order);
            }
            Change::Keep(states, bad_steps) => {
                let all = &self.all;
                // A state does not become an end of runs, either, where a step goes nobody sees where.
                let structure = self.structure;
                let is_bad = |at: usize| {
                    let outcome = all.outcome(at);
                    outcome != Outcome::FINE && (bad_steps || structure.leaves_out(outcome))
                };
                let is_kept = |at: &usize| is_bad(*at) || states.contains(all.state(*at));
                self.order.extend((0..all.len()).filter(is_kept));
            }
        }
        for at in &self.order {
            out.append(self.all.get(*at));
        }
    }
}

impl Executor for Changed<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.all.clear();
        self.inner.successors(state, &mut self.all);
        self.hand_out(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.all.clear();
        self.inner.fire(state, transition, &mut self.all);
        self.hand_out(state, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }

    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        self.inner.labels(state, out);
    }
}
