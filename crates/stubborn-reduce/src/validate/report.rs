//! What validation found.

use std::fmt::Write as _;

use stubborn_system::{LabelId, System, TransitionId};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// D1: after the sequence of transitions outside the set, the member is enabled; taken
    /// first, it does not lead to the same state along the same sequence.
    Commutation(TransitionId),
    /// D1': the sequence can be moved behind the member, but on the way not all squares close,
    /// so that labels in between may differ.
    Squares(TransitionId),
    /// D2: no enabled member stays enabled along all sequences outside the set. For the last
    /// candidate, the sequence that disables it is given.
    NoKey,
    /// A strong set, but the sequence disables this enabled member.
    NotStrong(TransitionId),
    /// Something is enabled, but no member of the set is.
    Empty,
    /// V: this visible enabled member is in the set, and not all visible transitions are.
    Visibility(TransitionId),
    /// I: some invisible transition is enabled, but no key of the set is invisible.
    Invisibility,
    /// The sequence outside the set reaches a goal.
    GoalOutside,
    /// The search may follow any kept step; after an outcome of this enabled member, the sequence
    /// outside the set is no longer possible, or leads away from what the member leads to after it.
    OutcomeLost(TransitionId),
    /// G: after this enabled member, the sequence outside the set no longer reaches a goal.
    GoalLost(TransitionId),
    /// The reducer kept other transitions than its set says, or a disabled one.
    KeptDiffers,
    /// The same state was given two different sets.
    NotDeterministic,
    /// The memory of sets gave another set than the computation.
    CacheDiffers,
    /// `may_enable` (true) or `may_disable` (false) lacks this pair.
    LabelChange(LabelId, TransitionId, bool),
    /// `never_together` has this pair, and both hold.
    Together(LabelId, LabelId),
    /// `do_not_accord` lacks this pair.
    Accord(TransitionId, TransitionId),
    /// `do_not_meet`, or what follows from accordance and sets, lacks this pair.
    Meeting(TransitionId, TransitionId),
    /// It has several outcomes, and is said to be deterministic.
    SeveralOutcomes(TransitionId),
    /// `do_not_left_accord` lacks this pair: the first cannot be moved left over the second.
    LeftAccord(TransitionId, TransitionId),
    /// `must_disable` has this pair, and the second is enabled after the first.
    MustDisable(TransitionId, TransitionId),
    /// `may_change_outcome` lacks this pair: after the second, the first has another outcome.
    OutcomeChange(TransitionId, TransitionId),
    /// A deadlock of the full search that the reduced one does not find, or the other way.
    Deadlock,
    /// The least number of steps to this goal (`None`: unreachable), full and reduced.
    Distance(usize, Option<usize>, Option<usize>),
}

/// A fault and where it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub fault: Fault,
    /// In which state.
    pub state: Vec<u32>,
    /// The set that was chosen there, if the fault is about sets.
    pub set: Vec<TransitionId>,
    /// The sequence from the state on that shows the fault.
    pub sequence: Vec<TransitionId>,
}

impl Violation {
    /// In words, with the names of the model.
    pub fn describe(&self, system: &dyn System) -> String {
        let structure = system.structure();
        let name = |t: &TransitionId| structure.transition(*t).name.clone();
        let label = |l: &LabelId| structure.label(*l).text.clone();
        let names = |list: &[TransitionId]| list.iter().map(name).collect::<Vec<_>>().join(", ");
        let what = match &self.fault {
            Fault::Commutation(t) => format!(
                "D1 fails: `{}` is in the set and enabled after the sequence, but taking it first \
                 does not lead to the same state",
                name(t)
            ),
            Fault::Squares(t) => format!(
                "D1' fails: `{}` is invisible, but not enabled all along the sequence",
                name(t)
            ),
            Fault::NoKey => "D2 fails: no enabled member stays enabled outside the set".into(),
            Fault::NotStrong(t) => format!(
                "the set is not strong: the sequence disables its member `{}`",
                name(t)
            ),
            Fault::Empty => "the set is empty, but something is enabled".into(),
            Fault::Visibility(t) => format!(
                "V fails: `{}` is visible, enabled and in the set, and not all visible \
                 transitions are",
                name(t)
            ),
            Fault::Invisibility => "I fails: no key is invisible".into(),
            Fault::GoalOutside => "the sequence outside the set reaches a goal".into(),
            Fault::GoalLost(t) => format!(
                "G fails: the sequence outside the set reaches a goal, but not after `{}`, which \
                 is enabled and in the set",
                name(t)
            ),
            Fault::OutcomeLost(t) => format!(
                "after an outcome of `{}`, which is enabled and in the set, the sequence outside \
                 the set is no longer possible as before",
                name(t)
            ),
            Fault::KeptDiffers => "the kept transitions are not the enabled members".into(),
            Fault::NotDeterministic => "the same state got two different sets".into(),
            Fault::CacheDiffers => "the remembered set differs from the computed one".into(),
            Fault::LabelChange(l, t, on) => format!(
                "`{}` makes `{}` {on}, which {} does not list",
                name(t),
                label(l),
                if *on { "may_enable" } else { "may_disable" }
            ),
            Fault::Together(a, b) => format!(
                "`{}` and `{}` both hold, which never_together excludes",
                label(a),
                label(b)
            ),
            Fault::Accord(a, b) => format!(
                "`{}` and `{}` do not accord, which do_not_accord does not list",
                name(a),
                name(b)
            ),
            Fault::Meeting(a, b) => format!(
                "an outcome of `{}` and one of `{}` do not meet again, which do_not_meet does not \
                 list",
                name(a),
                name(b)
            ),
            Fault::SeveralOutcomes(t) => format!(
                "`{}` has several outcomes, although it is said to be deterministic",
                name(t)
            ),
            Fault::LeftAccord(a, b) => format!(
                "`{}` cannot be moved left over `{}`, which do_not_left_accord does not list",
                name(a),
                name(b)
            ),
            Fault::MustDisable(a, b) => format!(
                "`{}` is enabled after `{}`, which must_disable excludes",
                name(b),
                name(a)
            ),
            Fault::OutcomeChange(a, b) => format!(
                "`{}` has another outcome after `{}`, which may_change_outcome does not list",
                name(a),
                name(b)
            ),
            Fault::Deadlock => "full and reduced search do not agree on this deadlock".into(),
            Fault::Distance(goal, full, reduced) => {
                let steps = |d: &Option<usize>| match d {
                    Some(d) => format!("{d} steps away"),
                    None => "unreachable".into(),
                };
                format!(
                    "goal {goal} is {} in the full search, {} in the reduced one",
                    steps(full),
                    steps(reduced)
                )
            }
        };
        let mut text = what;
        let fields = system.layout().fields().iter().enumerate();
        let values: Vec<String> = fields
            .map(|(at, field)| {
                let id = stubborn_system::FieldId::new(at);
                let value = system.value_text(id, field.get(&self.state));
                format!("{} = {value}", field.name)
            })
            .collect();
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  state: {}", values.join(", "));
        if !self.set.is_empty() {
            let _ = write!(text, "\n  set: {}", names(&self.set));
        }
        if !self.sequence.is_empty() {
            let _ = write!(text, "\n  sequence: {}", names(&self.sequence));
        }
        text
    }
}

/// All that was found, and how much was looked at.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What is wrong; empty if nothing was found.
    pub violations: Vec<Violation>,
    /// All states of the model were looked at.
    pub exhaustive: bool,
    /// States whose sets were checked.
    pub states_checked: usize,
    /// Of these, states where something was left out.
    pub states_reduced: usize,
    /// States around which too many others lie, so that only some paths were checked.
    pub states_cut_short: usize,
    /// States in which relations were tried.
    pub states_tried: usize,
    /// Whether full and reduced search were compared.
    pub outcomes_compared: bool,
}

impl Report {
    /// Nothing was found.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}
