//! Successors and labels by the functions of a module.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use stubborn_system::{BitSet, Executor, LabelId, Outcome, Successors, TransitionId};

use crate::exports::Edge;
use crate::{Atom, Meaning, Module, raw, value};

/// One thread's worker.
pub(crate) struct Hand<'m> {
    module: &'m Module,
    /// The state as the module wants it.
    source: Vec<i32>,
    words: Vec<u32>,
    found: Found,
    order: Vec<u32>,
    /// The state whose successors were computed last, and what was enabled there.
    last: Vec<u32>,
    enabled: BitSet,
}

/// Successors as the module reports them.
#[derive(Default)]
struct Found {
    length: usize,
    states: Vec<i32>,
    /// The group of each, with the outcome.
    steps: Vec<(c_int, Outcome)>,
    assertion: Option<(usize, i32)>,
}

/// Called by the module for each successor. Nothing in here can unwind.
unsafe extern "C" fn collect(
    context: *mut c_void,
    edge: *const Edge,
    state: *const c_int,
    _: *const c_int,
) {
    // SAFETY: the context is the one that was handed over together with this function, and the module
    // hands over an edge and a state of its length.
    unsafe {
        let found = &mut *context.cast::<Found>();
        let edge = &*edge;
        found
            .states
            .extend_from_slice(std::slice::from_raw_parts(state, found.length));
        let violated = match found.assertion {
            Some((label, value)) if !edge.labels.is_null() => *edge.labels.add(label) == value,
            _ => false,
        };
        let outcome = if violated {
            Outcome::violation(0)
        } else {
            Outcome::FINE
        };
        found.steps.push((edge.group, outcome));
    }
}

impl<'m> Hand<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let length = module.type_of.len();
        Self {
            module,
            source: vec![0; length],
            words: Vec::new(),
            found: Found {
                length,
                assertion: module.assertion,
                ..Found::default()
            },
            order: Vec::new(),
            last: Vec::new(),
            enabled: BitSet::new(module.structure.transitions.len()),
        }
    }

    fn prepare(&mut self, state: &[u32]) {
        self.source
            .iter_mut()
            .zip(state)
            .for_each(|(to, from)| *to = value(*from));
    }

    /// Asks for the successors of the prepared state by one transition, or by all.
    fn ask(&mut self, transition: Option<usize>) {
        self.found.states.clear();
        self.found.steps.clear();
        let context = std::ptr::from_mut(&mut self.found).cast();
        self.module
            .exports
            .successors(transition, &mut self.source, collect, context);
    }

    fn push(&mut self, state: &[u32], at: usize, transition: TransitionId, out: &mut Successors) {
        let length = self.found.length;
        self.words.clear();
        self.words.extend(
            self.found.states[at * length..][..length]
                .iter()
                .map(|v| raw(*v)),
        );
        // The layout has a word even where there is no variable.
        self.words.resize(state.len(), 0);
        out.push(transition, state, &self.words, self.found.steps[at].1);
    }
}

impl Executor for Hand<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        self.prepare(state);
        self.ask(None);
        let count = self.module.structure.transitions.len();
        self.enabled.clear();
        self.last.clear();
        self.last.extend_from_slice(state);
        let known = |(group, _): &(c_int, Outcome)| {
            usize::try_from(*group).is_ok_and(|group| group < count)
        };
        if !self.found.steps.iter().all(known) {
            // The module does not say which transition it was.
            for transition in 0..count {
                let before = out.len();
                self.fire(state, TransitionId::new(transition), out);
                self.enabled.assign(transition, out.len() > before);
            }
            return;
        }
        // The seam wants them in the order of transitions.
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..self.found.steps.len() as u32);
        order.sort_by_key(|at| self.found.steps[*at as usize].0);
        for at in &order {
            let group = self.found.steps[*at as usize].0 as usize;
            self.enabled.insert(group);
            self.push(state, *at as usize, TransitionId::new(group), out);
        }
        self.order = order;
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.prepare(state);
        self.ask(Some(transition.index()));
        for at in 0..self.found.steps.len() {
            self.push(state, at, transition, out);
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        match &self.module.meanings[label.index()] {
            Meaning::Own(own) => {
                self.prepare(state);
                let holds = self.module.exports.holds(*own, &mut self.source);
                if !holds
                    && self.last == state
                    && self.module.guarded[*own].intersects(&self.enabled)
                {
                    self.module.liar.store(true, Ordering::Relaxed);
                }
                holds
            }
            Meaning::Enabled(transition) => {
                if self.last == state {
                    return self.enabled.contains(transition.index());
                }
                self.prepare(state);
                self.ask(Some(transition.index()));
                !self.found.steps.is_empty()
            }
            Meaning::Accepting => {
                self.prepare(state);
                self.module.exports.accepts(&mut self.source)
            }
            Meaning::Condition(parts) => parts.iter().any(|conjunction| {
                conjunction.iter().all(|atom| match *atom {
                    Atom::Variable(variable, comparison, number) => {
                        comparison.holds(value(state[variable]), number)
                    }
                    Atom::Label(label, holds) => self.label(state, label) == holds,
                })
            }),
        }
    }
}
