//! Control flow of one process type: numbered states and the steps between them.
//!
//! Which control points exist decides how many states a model has, so this follows SPIN to the
//! letter: the text becomes a chain of elements (`elements`), and the chain becomes states and
//! transitions (`graph`). State numbers and transition numbers are those of SPIN, so that
//! trails can be exchanged. The rules were learned from the behaviour of SPIN 6.5.2
//! (G. J. Holzmann, The SPIN Model Checker, 2003, describes the intention).

mod bypass;
mod elements;
mod graph;
mod merge;

pub(crate) use bypass::{bypass, looks_at_control};
pub(crate) use merge::{locals_are_private, merge};

use std::sync::Arc;

use stubborn_diagnostics::Span;

use crate::ast::{self, Name};
use crate::hir::Basic;
use crate::resolve::Resolver;

/// Number of a control state within its process type; SPIN's own number.
pub type StateNr = usize;

/// The control flow of a process type.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// By number; number 0 is never used.
    pub states: Vec<State>,
    /// Where a process starts.
    pub start: StateNr,
    /// Where a process waits for its deletion.
    pub end: StateNr,
    /// States to which a `break` leads.
    pub breaks: Vec<StateNr>,
    /// Labels with the states they name.
    pub labels: Vec<(Name, StateNr)>,
    /// Number of transitions and other elements, for numbering over all process types.
    pub size: usize,
}

impl Flow {
    /// The state that a label names.
    pub fn label_state(&self, name: &str) -> Option<StateNr> {
        self.labels
            .iter()
            .rev()
            .find(|(n, _)| **n == *name)
            .map(|(_, state)| *state)
    }

    /// States that can be reached at all, in increasing order of their numbers.
    pub fn reachable(&self) -> Vec<StateNr> {
        let mut seen = vec![false; self.states.len()];
        let mut todo = vec![self.start];
        while let Some(state) = todo.pop() {
            let fresh = seen
                .get_mut(state)
                .is_some_and(|s| !std::mem::replace(s, true));
            if fresh {
                todo.extend(self.states[state].transitions.iter().map(|t| t.target));
            }
        }
        (1..seen.len()).filter(|s| seen[*s]).collect()
    }
}

/// A control state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Steps from here. Escapes of `unless` come first, `else` last.
    pub transitions: Vec<Transition>,
    /// A process may stop here: an `end` label, or the closing brace.
    pub valid_end: bool,
    /// Has a `progress` label.
    pub progress: bool,
    /// Has an `accept` label.
    pub accept: bool,
    /// Where it stands.
    pub span: Span,
}

/// A step of a process.
#[derive(Clone, Debug)]
pub struct Transition {
    /// What happens.
    pub action: Arc<Action>,
    /// Where it leads; 0 if the process is gone afterwards.
    pub target: StateNr,
    /// The process goes on without interruption.
    pub atomic: bool,
    /// Inside an atomic sequence; also its last step, after which others may move.
    pub in_atomic: bool,
    /// SPIN merges it with what follows; see `merge`.
    pub merges: bool,
    /// With merging, what follows belongs to the same step here: SPIN merges it, and no error is lost.
    pub joins: bool,
    /// Of an `unless`: the group of escapes it belongs to; 0 for ordinary steps.
    pub escape: StateNr,
    /// Number of the step, unique within the process type.
    pub number: usize,
    /// Where it stands.
    pub span: Span,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Never executable.
    Blocked,
    /// A jump that is a step of its own.
    Jump,
    /// A statement.
    Basic(Basic),
    /// A `d_step`.
    DStep(DStep),
}

/// A `d_step` as a little graph of its own.
#[derive(Clone, Debug)]
pub struct DStep {
    /// Its nodes; the first is the entry.
    pub nodes: Vec<DNode>,
    /// Where it stands.
    pub span: Span,
}

/// A node of a `d_step`. Targets are indices of nodes, `None` is the end.
#[derive(Clone, Debug)]
pub enum DNode {
    /// A statement.
    Step(Basic, Option<usize>, Span),
    /// The first option whose first statement is executable is taken.
    Choice(Vec<usize>, Span),
    /// Nothing happens.
    Jump(Option<usize>),
}

/// Builds the control flow of a process type, and the list of locals that get initial values
/// when it starts.
pub(crate) fn build(resolver: &mut Resolver, process: &ast::Process) -> (Flow, Vec<usize>) {
    let built = elements::build(resolver, process);
    let initialised = built.initialised.clone();
    let flow = graph::graph(resolver, process, built);
    (flow, initialised)
}
