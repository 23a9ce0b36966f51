//! Which reduction is allowed for which property.
//!
//! A reduction keeps some behaviour and loses other; what must be kept depends on the
//! question. The user may choose *how* sets are computed, the tool decides *which conditions*
//! they must satisfy:
//!
//! | question | conditions on sets | the search must add |
//! | --- | --- | --- |
//! | all deadlocks | D1, D2 | nothing |
//! | can a goal be reached, by `goal` | D1; no path outside the set reaches the goal | nothing |
//! | can a goal be reached, by others | D1, D2 strong, G | a safety proviso against ignoring |
//! | finite traces of labels | D1, D2, V | a safety proviso |
//! | infinite traces of labels (stutter-invariant LTL) | D1', D2, V, I | a liveness proviso |
//!
//! D1' (Neele, Valmari, Willemse, *The inconsistent labelling problem of stutter-preserving
//! partial-order reduction*, 2020) holds by itself, because all algorithms here close enabled
//! members under pairwise relations: with do-not-accord they stay enabled and commute at every
//! step, with do-not-left-accord they move left one step at a time.
//!
//! All of it is about runs in which no step fails, as [relations](stubborn_system::Relations) are:
//! a step that would fail counts as disabled. Otherwise it would conflict with every other step,
//! and models with arrays would hardly be reduced. Where a step fails, nothing is left out.
//! Whether a step *can* fail is a goal of its own.
//!
//! G is what is left of V when nobody asks in which order labels change: no enabled member takes a
//! goal out of reach of the paths outside the set. For a goal by labels that do not all hold yet:
//! an enabled member that can make one of them false brings in all transitions that can make one
//! of them true, so that no path outside the set reaches the goal. For a goal by the outcome of a
//! step: a member that can change the outcome brings in the step, and the step what can change its
//! outcome. The proof is in `docs/soundness.md`. (Local reduction keeps V, as in its paper.)
//!
//! A safety proviso asks that *some* kept step leads on to a state where all is taken, and what was
//! left out must still be possible there. So it must be possible after every outcome of every
//! enabled member: sets are strong there even where weak ones were asked for, and members bring all
//! that they need not [meet](stubborn_system::Relations::do_not_meet) again, besides those that they
//! do not accord with. Elsewhere the proofs choose a step, and an outcome of it.
//!
//! A set for deadlocks is none for goals, and a goal-driven one loses deadlocks. Sets with a safety
//! proviso keep both, for they satisfy D1 and D2 as well.

use stubborn_system::{LabelId, TransitionId};

use crate::config::{Algorithm, Config, ConfigError, Settings};

/// What can be reached: some state in which all labels of one of the lists hold, or a step by
/// one of the transitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goals {
    /// At least one of these conjunctions holds.
    pub any_of: Vec<Vec<LabelId>>,
    /// Firing one of these is a goal too: steps that may fail or violate an assertion.
    pub transitions: Vec<TransitionId>,
}

impl Goals {
    /// To make one of these labels true.
    pub fn labels(labels: impl IntoIterator<Item = LabelId>) -> Self {
        Self {
            any_of: labels.into_iter().map(|l| vec![l]).collect(),
            transitions: Vec::new(),
        }
    }
}

/// What a reduced search must preserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Every state without successors, except the state that failed steps lead to: whether a
    /// step can fail is a question of its own, answered with [`Goals::transitions`].
    Deadlocks,
    /// Whether a goal can be reached.
    Goals(Goals),
    /// The order in which these labels change.
    Traces {
        /// The propositions of the property.
        labels: Vec<LabelId>,
        /// Along infinite runs too.
        infinite: bool,
    },
}

/// What the search must do so that no transition is ignored for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededProviso {
    /// Nothing; any order of search will do.
    None,
    /// From every state, a state must be reachable in the reduced graph where all was taken.
    Safety,
    /// Every cycle of the reduced graph must contain a state where all was taken.
    Liveness,
}

/// A reduction that is right for its question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How sets are computed.
    pub settings: Settings,
    /// What they preserve.
    pub aim: Aim,
    /// What the search must add.
    pub proviso: NeededProviso,
    /// Every set has all visible transitions.
    pub(crate) all_visible: bool,
}

impl Plan {
    /// Decides, or says why it is refused.
    pub fn new(config: &Config, aim: Aim) -> Result<Self, ConfigError> {
        let settings = config.settings()?;
        let driven_by_goal = settings.algorithm == Algorithm::Goal;
        let proviso = match &aim {
            Aim::Deadlocks if driven_by_goal => {
                return Err(ConfigError::new(
                    "`goal` keeps what a goal needs and loses deadlocks; choose another reduction \
                     to look for deadlocks",
                ));
            }
            Aim::Traces { .. } if driven_by_goal => {
                return Err(ConfigError::new(
                    "`goal` finds states, not traces; choose another reduction for temporal \
                     properties",
                ));
            }
            Aim::Deadlocks => NeededProviso::None,
            Aim::Goals(_) if driven_by_goal => NeededProviso::None,
            Aim::Goals(_)
            | Aim::Traces {
                infinite: false, ..
            } => NeededProviso::Safety,
            Aim::Traces { infinite: true, .. } => NeededProviso::Liveness,
        };
        if settings.asks_the_search() && proviso != NeededProviso::None {
            return Err(ConfigError::new(
                "the strategies min_f and max_f ask the search what it has seen, so that sets are \
                 no function of the state; they are allowed when looking for deadlocks, and for \
                 goals with `goal`",
            ));
        }
        let mut plan = Self {
            settings,
            aim,
            proviso,
            all_visible: false,
        };
        // What is left out stays possible after a key transition; after another member of a weak
        // set it may not.
        plan.settings.weak &= !plan.follows_any_step();
        Ok(plan)
    }

    /// The same with all visible transitions in every set: where a cycle closes, such sets are
    /// enough (condition L of Valmari, C3' of Laarman et al. 2014).
    #[must_use]
    pub fn with_all_visible(mut self) -> Self {
        self.all_visible = true;
        self
    }

    /// Whether every deadlock is kept, besides what was asked for.
    pub fn keeps_deadlocks(&self) -> bool {
        self.settings.algorithm != Algorithm::Goal
    }

    /// Whether the search may follow any kept step, to any of its outcomes, on the way to what was
    /// left out.
    pub(crate) fn follows_any_step(&self) -> bool {
        self.proviso == NeededProviso::Safety
    }

    /// The goals that sets must not take out of reach (condition G), where that is enough.
    pub(crate) fn kept_goals(&self) -> Option<&Goals> {
        match &self.aim {
            Aim::Goals(goals)
                if self.proviso == NeededProviso::Safety
                    && self.settings.algorithm != Algorithm::Lpor =>
            {
                Some(goals)
            }
            _ => None,
        }
    }

    /// The labels whose changes sets must respect (condition V, or G), and the transitions that are
    /// visible by themselves.
    pub(crate) fn visible(&self) -> (Vec<LabelId>, &[TransitionId]) {
        match &self.aim {
            Aim::Goals(goals) if self.proviso != NeededProviso::None => (
                goals.any_of.iter().flatten().copied().collect(),
                &goals.transitions,
            ),
            Aim::Traces { labels, .. } => (labels.clone(), &[]),
            Aim::Deadlocks | Aim::Goals(_) => (Vec::new(), &[]),
        }
    }

    /// Whether some invisible enabled transition must be a key of the set if there is one (I).
    pub(crate) fn needs_invisible_key(&self) -> bool {
        matches!(self.aim, Aim::Traces { infinite: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Scapegoat, Start};

    #[test]
    fn each_question_gets_its_conditions() {
        let goals = || Aim::Goals(Goals::labels([LabelId::new(0)]));
        let plan = |algorithm, aim| Plan::new(&Config::new(algorithm), aim);
        let proviso = |algorithm, aim| plan(algorithm, aim).map(|p| p.proviso);
        assert_eq!(
            proviso(Algorithm::Beam, Aim::Deadlocks),
            Ok(NeededProviso::None)
        );
        assert_eq!(proviso(Algorithm::Beam, goals()), Ok(NeededProviso::Safety));
        assert_eq!(proviso(Algorithm::Goal, goals()), Ok(NeededProviso::None));
        let infinite = Aim::Traces {
            labels: vec![],
            infinite: true,
        };
        assert_eq!(
            proviso(Algorithm::Deletion, infinite.clone()),
            Ok(NeededProviso::Liveness)
        );
        assert!(proviso(Algorithm::Goal, Aim::Deadlocks).is_err());
        assert!(proviso(Algorithm::Goal, infinite).is_err());
    }

    #[test]
    fn asking_the_search_is_refused_where_sets_must_be_functions_of_the_state() {
        let mut config = Config::new(Algorithm::Closure);
        config.start = Some(Start::MinF);
        assert!(Plan::new(&config, Aim::Deadlocks).is_ok());
        assert!(Plan::new(&config, Aim::Goals(Goals::default())).is_err());
        let mut config = Config::new(Algorithm::Goal);
        config.scapegoat = Some(Scapegoat::MinF);
        assert!(Plan::new(&config, Aim::Goals(Goals::default())).is_ok());
    }
}
