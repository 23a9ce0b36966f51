//! The seam: everything that searches, stores and reductions know of a model.
//!
//! A model, whatever language it was written in, is a [`System`]: a vector of
//! packed [fields](layout::Field), a list of guarded [transitions](structure::Transition),
//! [labels](structure::Label) (the guards, and the propositions of properties), and
//! [`Relations`] between them. An [`Executor`], one for each thread, computes
//! successors and labels. Algorithms see nothing else, so that every language
//! gets every algorithm.
//!
//! Laws that every implementation keeps, and every algorithm relies on:
//!
//! 1. **Deterministic.** The same state gives the same successors in the same
//!    order, on every thread, in every run, by interpreter and compiled code alike.
//!    Successors come in increasing order of their transition.
//! 2. **Guards decide.** A transition has successors in a state if and only if all
//!    its guards hold there (and, for [low priority](structure::Transition::priority)
//!    ones, nothing of higher priority is enabled).
//! 3. **Declared effects.** A transition changes only fields in its write set; its
//!    effect on them depends only on fields in its read set; a label depends only on
//!    fields in its test set.
//! 4. **Masks tell the truth.** A word that is not in the mask of changed words of a
//!    successor equals the word of the source state.
//! 5. **Unused bits are zero**, so that equal states are equal vectors.
//! 6. **Several outcomes are expected.** A transition that is said to be
//!    [deterministic](structure::Transition::deterministic) has at most one successor in every state.
//! 7. **Giving up is visible.** Successors are complete unless the [budget](System::budget)
//!    of the system is spent; then they may be some only, and whoever asked has no answer.
//!    A step to a state that cannot be represented has an outcome that
//!    [says so](Structure::leaves_out), and the system [remembers it](System::left_out): whoever
//!    is about to say that something holds asks [both](System#method.conclude).
//!
//! This crate holds types and laws, and the plain fallbacks that follow from the
//! read and write sets alone. It contains no algorithm and knows no language.

pub mod bits;
pub mod budget;
pub mod expander;
mod ids;
pub mod layout;
pub mod matrix;
pub mod random;
pub mod reduction;
pub mod relations;
pub mod structure;
pub mod successors;

pub use bits::BitSet;
pub use budget::{Budget, Patience, Spent};
pub use expander::Expander;
pub use ids::{ChannelId, FieldId, LabelId, ProcessId, TransitionId};
pub use layout::{Field, FieldKind, Layout};
pub use matrix::{Matrix, MatrixBuilder};
pub use random::Random;
pub use reduction::{ClosureRows, Expansion, Reason, Reducer, Reduction, SetMember};
pub use relations::{May, Must, RelationLevel, Relations};
pub use structure::{
    FailureKind, FailureSite, Label, Process, Property, PropertyKind, Structure, Transition,
};
pub use successors::{Outcome, SpareRoom, Successor, Successors};

/// A model as algorithms see it. See the [crate documentation](crate) for the laws.
///
/// Object-safe; called per model, never per state. The per-state work is done by
/// [`Executor`]s.
pub trait System: Send + Sync {
    /// The fields of a state and where they lie in its words.
    fn layout(&self) -> &Layout;

    /// Transitions, labels, processes and properties.
    fn structure(&self) -> &Structure;

    /// The initial states, one after the other, `layout().words()` words each.
    /// At least one.
    fn initial_states(&self) -> Vec<u32>;

    /// A new executor for one thread. Executors of one system are interchangeable.
    fn executor(&self) -> Box<dyn Executor + '_>;

    /// The relations between transitions and labels, as precise as `level` asks for
    /// and the implementation can do. Called once per run, may take a while; where the
    /// [budget](Self::budget) is spent meanwhile, nothing follows from what they say.
    ///
    /// The default derives them from test, read and write sets alone.
    fn relations(&self, level: RelationLevel) -> Relations {
        let _ = level;
        Relations::from_sets_within(self.structure(), self.budget())
    }

    /// The same for strong sets, which ask neither what can be moved left over what nor what disables
    /// what for certain: these two may be as rough as they like, except for what a transition does to
    /// itself.
    fn relations_of_strong_sets(&self, level: RelationLevel) -> Relations {
        self.relations(level)
    }

    /// For a label that depends on one field of at most eight bits: bit `v` of all four words is set
    /// if the label holds where the field's raw bits are `v`. `None` for other labels, or if nobody
    /// knows. Where it is known, no executor has to be asked.
    fn truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
        let _ = label;
        None
    }

    /// What everything that is done about this model together may take. Executors that run
    /// long, and all that use them, look at it now and then.
    fn budget(&self) -> &Budget {
        &budget::UNLIMITED
    }

    /// The step that this system cannot represent, in words, if an executor has met one: its outcome is a
    /// failure that [leaves out](Structure::leaves_out) a state. What comes after it was not seen, so
    /// nobody can [conclude](System#method.conclude) that something holds; violations remain violations.
    ///
    /// A system made from another one passes on what that one says.
    fn left_out(&self) -> Option<String> {
        None
    }

    /// Whether a step has failed in a way that the relations know nothing of: what a reduction has
    /// left out may have mattered, and only a search without one can say that something holds.
    fn defeats_reduction(&self) -> bool {
        false
    }

    /// Whether what executors meet decides what the model becomes: steps beside those of a search
    /// would change its counts.
    fn learns(&self) -> bool {
        false
    }

    /// A field's value as people write it. The default follows the field's
    /// [kind](FieldKind); systems with interned values override it.
    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.layout().value_text(field, value)
    }
}

impl dyn System + '_ {
    /// To be asked by whoever is about to say that everything was seen, or that something holds: why nobody
    /// may.
    pub fn conclude(&self) -> Option<Spent> {
        let left_out = || self.left_out().map(|_| Spent::LeftOut);
        self.budget().void().or_else(left_out)
    }

    /// Whether a search is not worth keeping, to go on with later: executors may have delivered anything, or
    /// whoever goes on would not know that a state was left out.
    pub fn is_spoilt(&self) -> bool {
        let budget = self.budget();
        budget.spent().is_some() || budget.is_outgrown() || self.left_out().is_some()
    }
}

/// The per-thread worker of a [`System`]: one virtual call per state.
///
/// States are slices of exactly `layout().words()` words that came from
/// [`System::initial_states`] or from an executor of the same system.
pub trait Executor: Send {
    /// Appends every successor of `state` to `out`, in increasing order of transition.
    fn successors(&mut self, state: &[u32], out: &mut Successors);

    /// Appends the successors of `state` by one transition; none if it is not enabled.
    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors);

    /// Whether `label` holds. A guard whose evaluation fails counts as holding: the
    /// transition is then enabled and its outcome is the failure. Whoever asks for a proposition
    /// that may fail asks for a label that holds where it does, too.
    fn label(&mut self, state: &[u32], label: LabelId) -> bool;

    /// All labels at once: bit `i` of `out` is label `i`. `out` has one bit a label.
    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        for index in 0..out.len() {
            out.assign(index, self.label(state, LabelId::new(index)));
        }
    }
}
