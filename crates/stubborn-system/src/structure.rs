//! The static description of a system: transitions, labels, processes, properties.

use std::borrow::Cow;

use stubborn_diagnostics::Span;

use crate::{FieldId, LabelId, Outcome, ProcessId, TransitionId};

/// A structural transition: guards and an action.
#[derive(Clone, Debug, Default)]
pub struct Transition {
    /// Readable: `P_0: wait -> CS`.
    pub name: String,
    /// Whose step it is: none, one, or two for a rendez-vous (sender first).
    pub processes: Vec<ProcessId>,
    /// For each of [`processes`](Self::processes), the location it starts from, if
    /// control locations are known.
    pub sources: Vec<Option<u32>>,
    /// The transition is enabled exactly if all of them hold. Program counters come first.
    pub guards: Vec<LabelId>,
    /// Fields that decide what the action does, sorted. (The guards' fields are in the
    /// [test sets](Label::tests) of the guards, and here only if the action looks at them too.)
    pub reads: Vec<FieldId>,
    /// Fields that the action may change, sorted.
    pub writes: Vec<FieldId>,
    /// In no state it has more than one successor. Without that promise it may have several
    /// outcomes, and reductions rely on less.
    pub deterministic: bool,
    /// The step may fail and lead to the error state.
    pub may_fail: bool,
    /// The step may find an assertion violated on its way.
    pub may_violate: bool,
    /// 0 for ordinary transitions. A transition of priority `n > 0` is enabled only where no
    /// transition of a smaller number is (Promela's `timeout` is 1).
    pub priority: u8,
    /// Where it stands in the model's text.
    pub span: Option<Span>,
}

impl Transition {
    /// The name without the marks that tell transitions of the same statement, or between the same
    /// states, apart: `#2` for another one, `#way2` for another way through the same atomic
    /// sequence. For people, who know the statement and not its transitions.
    pub fn title(&self) -> Cow<'_, str> {
        let is_mark = |word: &str| {
            let number = word
                .strip_prefix('#')
                .map(|n| n.strip_prefix("way").unwrap_or(n));
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        // (In quotes, anything may stand.)
        if self.name.contains('"') || !self.name.split(' ').any(is_mark) {
            return Cow::Borrowed(&self.name);
        }
        let words: Vec<&str> = self.name.split(' ').filter(|word| !is_mark(word)).collect();
        Cow::Owned(words.join(" "))
    }
}

/// A predicate on states: a guard of transitions, or a proposition of a property.
#[derive(Clone, Debug, Default)]
pub struct Label {
    /// As people write it: `x < 3`, `P_0 is at wait`.
    pub text: String,
    /// Fields that it depends on, sorted.
    pub tests: Vec<FieldId>,
}

/// A process of the model.
#[derive(Clone, Debug)]
pub struct Process {
    /// As the model calls it.
    pub name: String,
    /// The field that holds its program counter, if it has one.
    pub location: Option<FieldId>,
    /// Names of its locations.
    pub locations: Vec<String>,
}

/// What a [`Property`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// An assertion of the model.
    Assertion,
    /// An invariant that the user asked for.
    Invariant,
    /// Something that the user hopes can be reached: the label holds where it is.
    Reachable,
}

/// A safety property: `violated_by` must hold in no reachable state.
#[derive(Clone, Debug)]
pub struct Property {
    /// Shown to people.
    pub name: String,
    /// Where it comes from.
    pub kind: PropertyKind,
    /// True exactly in the bad states.
    pub violated_by: LabelId,
    /// Where it stands in the model's text.
    pub span: Option<Span>,
}

/// Why a step failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A value did not fit into its variable.
    OutOfRange,
    /// An array index outside the array.
    IndexOutOfBounds,
    /// Division or remainder by zero.
    DivisionByZero,
    /// A reference that denotes no channel, or a message that does not fit.
    BadChannel,
    /// A loop that ran longer than any sensible one.
    EndlessLoop,
    /// An assertion inside an action. Execution goes on after it.
    Assertion,
    /// Something that the language calls an error.
    Other,
    /// The state after the step cannot be represented: this program has a limit, and the model has none.
    Unrepresented,
    /// The state after the step cannot be represented, because the model promises that there is none like it.
    BrokenPromise,
}

impl FailureKind {
    /// Whether the run goes on after the step, and nobody sees how.
    pub fn leaves_out(self) -> bool {
        matches!(self, Self::Unrepresented | Self::BrokenPromise)
    }

    /// Whether the model is wrong if there is such a step.
    pub fn is_error(self) -> bool {
        !matches!(self, Self::Assertion | Self::Unrepresented)
    }
}

/// A place in the model where a step can fail.
#[derive(Clone, Debug)]
pub struct FailureSite {
    /// What goes wrong.
    pub kind: FailureKind,
    /// In words, with the model's names.
    pub message: String,
    /// Where it stands in the model's text.
    pub span: Option<Span>,
}

/// All static facts of a system.
#[derive(Clone, Debug, Default)]
pub struct Structure {
    /// The transitions; a [`TransitionId`] is an index into them.
    pub transitions: Vec<Transition>,
    /// Guards and propositions; a [`LabelId`] is an index into them.
    pub labels: Vec<Label>,
    /// The processes; a [`ProcessId`] is an index into them.
    pub processes: Vec<Process>,
    /// Safety properties that the model or the user states.
    pub properties: Vec<Property>,
    /// Places where steps can fail; see [`Outcome`].
    pub failures: Vec<FailureSite>,
    /// The state that failed steps lead to, if any can fail. It has no successors.
    pub error_state: Option<Vec<u32>>,
    /// In a language with valid end states: holds in a state where stopping is fine.
    /// Without it, every state without successors is a deadlock.
    pub valid_end: Option<LabelId>,
    /// In a transition of two processes only the first one moves, and the other one lets it: to
    /// fairness, a process that could only be the second one cannot move.
    pub passive_partners: bool,
}

impl Structure {
    /// One transition.
    #[inline]
    pub fn transition(&self, id: TransitionId) -> &Transition {
        &self.transitions[id.index()]
    }

    /// The processes for which a transition is a step of their own.
    #[inline]
    pub fn movers(&self, id: TransitionId) -> &[ProcessId] {
        let processes = &self.transitions[id.index()].processes;
        match (self.passive_partners, processes.as_slice()) {
            (true, [first, ..]) => std::slice::from_ref(first),
            (_, all) => all,
        }
    }

    /// Whether a run goes on after a step with this outcome, and nobody sees how: then a state is not the end of
    /// a run, even if all its steps are like this one.
    #[inline]
    pub fn leaves_out(&self, outcome: Outcome) -> bool {
        let site = outcome.failed().map(|site| &self.failures[site]);
        site.is_some_and(|site| site.kind.leaves_out())
    }

    /// One label.
    #[inline]
    pub fn label(&self, id: LabelId) -> &Label {
        &self.labels[id.index()]
    }

    /// The ids of all transitions.
    pub fn transition_ids(&self) -> impl Iterator<Item = TransitionId> + use<> {
        (0..self.transitions.len()).map(TransitionId::new)
    }

    /// The ids of all labels.
    pub fn label_ids(&self) -> impl Iterator<Item = LabelId> + use<> {
        (0..self.labels.len()).map(LabelId::new)
    }
}
