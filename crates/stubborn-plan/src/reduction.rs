//! Which reduction answers which question.
//!
//! Which conditions a reduced search must keep depends on the question, and is decided here
//! and in [`stubborn_reduce::Plan`], never by the user. Questions are of several kinds: deadlocks;
//! failing steps; bad states; assertions. One search can keep all of them, or each kind gets one
//! of its own, and those for goals do only what the goal needs. Which is better, and whether it
//! pays at all, `auto` decides.

use std::sync::Arc;

use stubborn_reduce::experiments::measured::{MeasuredReduction, MeasuredRelations};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Goals, Plan, StubbornReduction};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso, TerminalComponents};
use stubborn_search::{Order, Target};
use stubborn_system::{Reduction, Relations, Structure, System, TransitionId};

use crate::options::ProvisoChoice;
use crate::{CheckError, Planner};

/// What computes the smallest sets for an aim, as far as we know.
pub fn usual_algorithm(aim: &Aim) -> Algorithm {
    match aim {
        Aim::Goals(_) => Algorithm::Goal,
        Aim::Deadlocks | Aim::Traces { .. } => Algorithm::Beam,
    }
}

/// The steps that may fail.
pub fn failing_steps(structure: &Structure) -> Goals {
    steps(structure, |id| structure.transition(id).may_fail)
}

/// The steps that may find an assertion violated.
pub fn asserting_steps(structure: &Structure) -> Goals {
    steps(structure, |id| structure.transition(id).may_violate)
}

/// What a search for one target must keep.
pub fn aim(structure: &Structure, target: Target) -> Aim {
    match target {
        Target::Deadlock | Target::InvalidEnd => Aim::Deadlocks,
        Target::Errors => Aim::Goals(failing_steps(structure)),
        Target::Assertions => Aim::Goals(asserting_steps(structure)),
        Target::Label(label) => Aim::Goals(Goals::labels([label])),
    }
}

fn steps(structure: &Structure, wanted: impl Fn(TransitionId) -> bool) -> Goals {
    Goals {
        any_of: Vec::new(),
        transitions: structure.transition_ids().filter(|t| wanted(*t)).collect(),
    }
}

/// A reduction that is ready to be searched with.
pub struct Made<'m> {
    reduction: Box<dyn Reduction + 'm>,
    name: String,
    needs_proviso: bool,
}

impl std::fmt::Debug for Made<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Made").field(&self.name).finish()
    }
}

impl<'m> Made<'m> {
    /// Sets by an algorithm for an aim, from analysed relations.
    ///
    /// # Errors
    /// If the algorithm does not go with the aim or with the system.
    pub fn new(
        system: &'m dyn System,
        relations: &Relations,
        config: &Config,
        aim: Aim,
    ) -> Result<Self, ConfigError> {
        let plan = Plan::new(config, aim)?;
        let (name, needs_proviso) = facts(&plan);
        let reduction = StubbornReduction::new(system, relations, plan)?;
        Ok(Self {
            reduction: Box::new(reduction),
            name,
            needs_proviso,
        })
    }

    /// One from elsewhere. Whoever makes it knows that it keeps what is asked, and whether that
    /// takes a proviso.
    pub fn by(reduction: Box<dyn Reduction + 'm>, needs_proviso: bool) -> Self {
        Self {
            name: reduction.name(),
            reduction,
            needs_proviso,
        }
    }

    /// What searches use.
    pub fn reduction(&self) -> &dyn Reduction {
        &*self.reduction
    }

    /// What must be added to a search in this order.
    pub fn proviso(
        &self,
        choice: ProvisoChoice,
        order: Order,
        threads: usize,
    ) -> Option<&'static dyn SafetyProviso> {
        self.needs_proviso.then_some(match (choice, order) {
            (ProvisoChoice::Stack, _) => &OnStack,
            (ProvisoChoice::Terminal, _) => &TerminalComponents,
            (ProvisoChoice::Auto, Order::BreadthFirst) => &TerminalComponents,
            (ProvisoChoice::Auto, Order::DepthFirst) if threads == 1 => &OnStack,
            (ProvisoChoice::Auto | ProvisoChoice::ClosedSet, _) => &ClosedSet,
        })
    }
}

fn facts(plan: &Plan) -> (String, bool) {
    let name = plan.settings.algorithm.name().to_owned();
    (name, plan.proviso != stubborn_reduce::NeededProviso::None)
}

/// A search to run: for which targets, and how it is reduced.
#[derive(Debug)]
pub struct PlannedSearch<'m> {
    /// Indices into the targets.
    pub(crate) targets: Vec<usize>,
    pub(crate) made: Option<Made<'m>>,
}

impl<'m> PlannedSearch<'m> {
    /// One search that sees everything and answers everything.
    pub fn unreduced(targets: &[Target]) -> Self {
        Self {
            targets: (0..targets.len()).collect(),
            made: None,
        }
    }

    /// One search that answers everything with this reduction.
    pub fn reduced(targets: &[Target], made: Made<'m>) -> Self {
        Self {
            made: Some(made),
            ..Self::unreduced(targets)
        }
    }

    /// The reduction's short name.
    pub(crate) fn name(&self) -> String {
        self.made.as_ref().map_or("none".into(), |m| m.name.clone())
    }
}

/// Searches that together answer all questions.
pub(crate) type SearchPlan<'m> = Vec<PlannedSearch<'m>>;

/// Targets that one reduced search can answer together.
struct Group {
    targets: Vec<usize>,
    aim: Aim,
}

/// The targets by kind, each kind with what answers it.
fn groups(structure: &Structure, targets: &[Target]) -> Vec<Group> {
    let of = |wanted: &dyn Fn(&Target) -> bool| -> Vec<usize> {
        let numbered = targets.iter().enumerate();
        let wanted = numbered.filter(|(_, target)| wanted(target));
        wanted.map(|(at, _)| at).collect()
    };
    let labels = targets.iter().filter_map(|target| match target {
        Target::Label(label) => Some(*label),
        _ => None,
    });
    let all = [
        Group {
            targets: of(&|t| matches!(t, Target::Deadlock | Target::InvalidEnd)),
            aim: Aim::Deadlocks,
        },
        Group {
            targets: of(&|t| *t == Target::Errors),
            aim: Aim::Goals(failing_steps(structure)),
        },
        Group {
            targets: of(&|t| matches!(t, Target::Label(_))),
            aim: Aim::Goals(Goals::labels(labels)),
        },
        Group {
            targets: of(&|t| *t == Target::Assertions),
            aim: Aim::Goals(asserting_steps(structure)),
        },
    ];
    all.into_iter()
        .filter(|group| !group.targets.is_empty())
        .collect()
}

/// All questions in one group: all goals, with which deadlocks are kept as well.
fn together(groups: Vec<Group>) -> Group {
    let mut all = Group {
        targets: Vec::new(),
        aim: Aim::Deadlocks,
    };
    for group in groups {
        all.targets.extend(group.targets);
        all.aim = match (all.aim, group.aim) {
            (Aim::Goals(mut goals), Aim::Goals(more)) => {
                goals.any_of.extend(more.any_of);
                goals.transitions.extend(more.transitions);
                goals.transitions.sort_unstable();
                goals.transitions.dedup();
                Aim::Goals(goals)
            }
            (Aim::Deadlocks, aim) | (aim, _) => aim,
        };
    }
    all
}

/// What one search that answers all questions must keep.
pub(crate) fn together_of(structure: &Structure, targets: &[Target]) -> Aim {
    together(groups(structure, targets)).aim
}

impl<'m> Planner<'m> {
    /// The searches that answer the questions with the reduction that the user has chosen.
    pub(crate) fn chosen(
        &self,
        targets: &[Target],
        config: &Config,
    ) -> Result<SearchPlan<'m>, CheckError> {
        let mut groups = groups(self.system.structure(), targets);
        // What does only what a goal needs loses everything else.
        if config.algorithm != Algorithm::Goal {
            groups = vec![together(groups)];
        }
        let plan: Result<SearchPlan<'m>, _> = groups
            .into_iter()
            .map(|group| self.planned(config, group))
            .collect();
        // Nothing follows from relations that somebody gave up on, and nothing will be found any
        // more.
        match self.is_over() {
            true => Ok(vec![PlannedSearch::unreduced(targets)]),
            false => plan,
        }
    }

    /// Several ways to answer the questions: by one search, which keeps deadlocks and goals; and by
    /// one for each kind of question, where a search for goals does only what they need.
    pub(crate) fn ways(&self, targets: &[Target]) -> Result<Vec<SearchPlan<'m>>, CheckError> {
        if self.options.reduction.measured.is_none() {
            self.analysed_relations();
        }
        if self.is_over() {
            return Ok(Vec::new());
        }
        let structure = self.system.structure();
        let beam = Config::new(Algorithm::Beam);
        let one = self.planned(&beam, together(groups(structure, targets)));
        let groups = groups(structure, targets);
        if !groups.iter().any(|g| matches!(g.aim, Aim::Goals(_))) {
            return Ok(vec![vec![one?]]);
        }
        let each: Result<SearchPlan<'m>, _> = groups
            .into_iter()
            .map(|group| self.planned(&Config::new(usual_algorithm(&group.aim)), group))
            .collect();
        // Relations that depend on the state do not go with all questions at once.
        match one {
            Ok(one) => Ok(vec![vec![one], each?]),
            Err(_) => Ok(vec![each?]),
        }
    }

    fn planned(&self, config: &Config, group: Group) -> Result<PlannedSearch<'m>, CheckError> {
        let made = match self.measured_relations()? {
            None => Made::new(self.system, self.analysed_relations(), config, group.aim)?,
            Some(relations) => {
                let plan = Plan::new(config, group.aim)?;
                let (name, needs_proviso) = facts(&plan);
                let reduction = MeasuredReduction::new(self.system, Arc::clone(relations), plan)?;
                Made {
                    reduction: Box::new(reduction),
                    name,
                    needs_proviso,
                }
            }
        };
        Ok(PlannedSearch {
            targets: group.targets,
            made: Some(made),
        })
    }

    /// The relations that somebody found in a state space, if they can be those of this system.
    fn measured_relations(&self) -> Result<Option<&'m Arc<MeasuredRelations>>, CheckError> {
        let structure = self.system.structure();
        let counts = (structure.labels.len(), structure.transitions.len());
        let fits = |measured: &MeasuredRelations| {
            let mut contexts = measured.contexts.iter();
            contexts.all(|context| {
                let rows = &context.relations.may_enable.0;
                (rows.rows(), rows.columns()) == counts
            })
        };
        match &self.options.reduction.measured {
            Some(measured) if !fits(measured) => Err(CheckError::Reduction(ConfigError::new(
                "the relations are those of another model",
            ))),
            measured => Ok(measured.as_ref()),
        }
    }

    /// The relations for questions that need the same ones in every state.
    pub(crate) fn fixed_relations(&self) -> Result<&Relations, CheckError> {
        let Some(measured) = self.measured_relations()? else {
            return Ok(self.analysed_relations());
        };
        match &measured.contexts[..] {
            [only] => Ok(&only.relations),
            _ => Err(CheckError::Reduction(ConfigError::new(
                "relations that depend on the state are not for temporal properties: what is \
                 visible must be the same everywhere",
            ))),
        }
    }
}
