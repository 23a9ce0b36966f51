//! When a reduced product is sound, and how an automaton is made fit for it.
//!
//! Partial-order reduction keeps one of many runs that differ by stuttering, so the property
//! must not see stuttering; that is decided by automata. And it must not matter that
//! expanding a node of the product depends on the automaton's state (Siegel, *What's wrong
//! with on-the-fly partial order reduction*, 2019): it does not if the automaton is
//! deterministic, or in [stutter normal form](stubborn_ltl::stutter). Marks on edges between
//! components are never collected for ever, so setting all of them there changes nothing,
//! and brings most automata into that form at once. The others are brought there, or the
//! expansions are made a function of the system's state, as [`Fitting`] says.

use std::fmt;

use stubborn_ltl::automaton::{Automaton, StateId};
use stubborn_ltl::components::Components;
use stubborn_ltl::stutter::{normalise_stutter, with_short_cuts};

use crate::property::Property;
use crate::steering::settle_marks;

/// What a state that a proviso expands gets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PutBack {
    /// All its steps.
    #[default]
    All,
    /// Those of a set with all visible transitions: what is invisible may be ignored for ever.
    /// (Not with [steering](crate::Check::steering).)
    Visible,
}

/// What a run that ends, because no step is possible or every one fails, means for a property of infinite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FiniteRuns {
    /// It goes on by repeating its last state for ever.
    #[default]
    Stutter,
    /// Nothing: it is not looked at.
    Ignore,
}

/// Why a reduced product has the same verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Soundness {
    /// The automaton is deterministic.
    Deterministic,
    /// The automaton is in stutter normal form.
    StutterNormal,
    /// It was brought into stutter normal form.
    Normalised,
    /// Which nodes of the product are expanded depends on the state of the system alone.
    ByState,
    /// Every reduced node is reduced for the state that the automaton is in; that is sound
    /// for any automaton, and needs no proviso.
    Steered,
    /// The automaton is in stutter normal form, and some nodes are reduced for the state that
    /// the automaton is in.
    Mixed,
}

/// Whether sets are made for the state that the automaton is in (Jensen, Srba, Ulrik,
/// Virenfeldt, *Automata-driven partial order reduction and guided search for LTL model
/// checking*, 2022).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SteeringMode {
    /// Never: all nodes are reduced in the classic way.
    Off,
    /// In each node the smaller of both sets is taken, where the automaton allows to mix;
    /// otherwise only sets for its state.
    #[default]
    Mixed,
    /// All sets are for the automaton's state. The property may be sensitive to stuttering.
    Only,
}

/// What to do with an automaton that is neither deterministic nor in stutter normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Fitting {
    /// Bring it into stutter normal form. It becomes larger, and so does the product.
    Normalise,
    /// Leave it, and expand states wherever they occur in the product. The walk may have
    /// to be repeated.
    #[default]
    ByState,
}

/// Why there is no reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReductionOff {
    /// Nobody asked for one.
    NotAsked,
    /// The property can tell stutter-equivalent runs apart.
    StutterSensitive,
    /// Whether the property can do that is too expensive to find out.
    StutteringUnknown,
    /// The automaton in stutter normal form would be too large.
    NormalFormTooLarge,
    /// Only fair runs are looked at, and which runs are fair depends on the order of
    /// independent steps.
    Fairness,
    /// The chosen reduction does not go with this question; in words.
    Refused(String),
}

impl fmt::Display for ReductionOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => out.write_str("no reduction was asked for"),
            Self::StutterSensitive => out.write_str(
                "the property is not stutter-invariant: a reduction could change its value",
            ),
            Self::StutteringUnknown => out.write_str(
                "whether the property is stutter-invariant is too expensive to find out",
            ),
            Self::NormalFormTooLarge => out.write_str(
                "the automaton of the property would become too large in the form that a \
                 reduction needs",
            ),
            Self::Fairness => out
                .write_str("only fair runs are looked at, and a reduction could lose all of them"),
            Self::Refused(why) => out.write_str(why),
        }
    }
}

/// An automaton, ready for a product.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) automaton: Automaton,
    pub(crate) starts: Vec<StateId>,
}

impl Prepared {
    pub(crate) fn as_is(automaton: Automaton) -> Self {
        Self {
            starts: vec![automaton.initial()],
            automaton,
        }
    }
}

/// The property's automaton in a form in which its product may be reduced. `automaton` is
/// the property's own one, or another one of the same language.
pub(crate) fn prepare(
    property: &Property,
    automaton: &Automaton,
    fitting: Fitting,
    steering: SteeringMode,
) -> Result<(Prepared, Soundness), ReductionOff> {
    if steering != SteeringMode::Off {
        let settled = settle_marks(automaton);
        if steering == SteeringMode::Mixed
            && property.is_stutter_invariant() == Some(true)
            && let Some(normal) = made_normal(&settled)
        {
            return Ok((Prepared::as_is(normal), Soundness::Mixed));
        }
        return Ok((Prepared::as_is(settled), Soundness::Steered));
    }
    match property.is_stutter_invariant() {
        Some(true) => {}
        Some(false) => return Err(ReductionOff::StutterSensitive),
        None => return Err(ReductionOff::StutteringUnknown),
    }
    if automaton.is_deterministic() {
        let prepared = Prepared::as_is(automaton.clone());
        return Ok((prepared, Soundness::Deterministic));
    }
    let marked = mark_between_components(automaton);
    if marked.is_stutter_normal() {
        return Ok((Prepared::as_is(marked), Soundness::StutterNormal));
    }
    if fitting == Fitting::ByState {
        let prepared = Prepared::as_is(automaton.clone());
        return Ok((prepared, Soundness::ByState));
    }
    let normal = normalise_stutter(&marked).ok_or(ReductionOff::NormalFormTooLarge)?;
    let prepared = Prepared {
        automaton: normal.automaton,
        starts: normal.initial_states,
    };
    Ok((prepared, Soundness::Normalised))
}

/// The automaton in stutter normal form, if it takes no more than short cuts.
fn made_normal(automaton: &Automaton) -> Option<Automaton> {
    if automaton.is_stutter_normal() {
        return Some(automaton.clone());
    }
    let cut = settle_marks(&with_short_cuts(automaton)?);
    cut.is_stutter_normal().then_some(cut)
}

/// The same automaton with all marks on the edges between components.
fn mark_between_components(automaton: &Automaton) -> Automaton {
    let components = Components::of(automaton);
    let mut draft = automaton.draft();
    let all = draft.all_marks();
    for state in draft.states() {
        for edge in &mut draft.edges[state.index()] {
            if !components.is_inner(state, edge.target) {
                edge.marks = all;
            }
        }
    }
    draft.finish()
}
