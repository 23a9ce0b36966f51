//! Which reduction answers which question.
//!
//! Which conditions a reduced search must keep depends on the question, and is decided here
//! and in [`stubborn_reduce::Plan`], never by the user. Questions are of several kinds: deadlocks;
//! failing steps; bad states; assertions. One search can keep all of them, or each kind gets one
//! of its own, and those for goals do only what the goal needs. Which is better, and whether it
//! pays at all, [`auto`](crate::auto) decides.

use std::sync::Arc;

use stubborn_reduce::measured::{MeasuredReduction, MeasuredRelations};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Goals, Plan, StubbornReduction};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso, TerminalComponents};
use stubborn_search::{Order, Target};
use stubborn_system::{Reduction, RelationLevel, Relations, System};

use crate::auto::FIRST_PAUSE;
use crate::check::Question;
use crate::load::LoadedModel;
use crate::measured::SavedRelations;

/// Which reduction to use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Por {
    /// None.
    None,
    /// A sound one for each question, where it pays.
    #[default]
    Auto,
    /// This one.
    Chosen(Config),
}

/// Which proviso keeps a reduced search from ignoring transitions for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisoChoice {
    /// The one that fits the order of the search and expands least.
    #[default]
    Auto,
    /// Expand a state if every kept successor was expanded before.
    ClosedSet,
    /// Expand a state if every kept successor is on the stack; depth-first on one thread.
    Stack,
    /// Expand one state of each component that is never left; breadth-first.
    Terminal,
}

/// What is known and chosen about reduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReductionOptions {
    /// Which.
    pub por: Por,
    /// How precise the relations between transitions are.
    pub relations: RelationLevel,
    /// Relations from a state space, used in place of those.
    pub measured: Option<Arc<SavedRelations>>,
    /// Against ignoring, where a search looks for states.
    pub proviso: ProvisoChoice,
    /// Against ignoring, where it looks for infinite runs; `None` for the best known one.
    pub cycle_proviso: Option<stubborn_emptiness::Proviso>,
    /// After how many states `auto` asks whether to reduce.
    pub patience: u64,
}

impl Default for ReductionOptions {
    fn default() -> Self {
        Self {
            por: Por::Auto,
            relations: RelationLevel::Reach,
            measured: None,
            proviso: ProvisoChoice::Auto,
            cycle_proviso: None,
            patience: FIRST_PAUSE,
        }
    }
}

impl ReductionOptions {
    /// No reduction at all.
    pub fn none() -> Self {
        Self {
            por: Por::None,
            ..Self::default()
        }
    }
}

impl ReductionOptions {
    /// The relations for questions that need the same ones in every state.
    pub(crate) fn fixed_relations(&self, model: &LoadedModel) -> Result<Relations, ConfigError> {
        let Some(saved) = &self.measured else {
            return Ok(model.system().relations(self.relations));
        };
        match &saved.of(model)?.contexts[..] {
            [only] => Ok(only.relations.clone()),
            _ => Err(ConfigError::new(
                "relations that depend on the state are not for temporal properties: what is \
                 visible must be the same everywhere",
            )),
        }
    }
}

/// A reduction with relations of either kind.
pub(crate) enum AnyReduction<'m> {
    Analysed(Box<StubbornReduction>),
    Measured(MeasuredReduction<'m>),
}

impl AnyReduction<'_> {
    fn plan(&self) -> &Plan {
        match self {
            Self::Analysed(reduction) => reduction.plan(),
            Self::Measured(reduction) => reduction.plan(),
        }
    }

    pub(crate) fn as_dyn(&self) -> &dyn Reduction {
        match self {
            Self::Analysed(reduction) => &**reduction,
            Self::Measured(reduction) => reduction,
        }
    }
}

/// Where relations come from.
enum Source {
    Analysed(Box<Relations>),
    Measured(Arc<MeasuredRelations>),
}

impl Source {
    fn new(model: &LoadedModel, options: &ReductionOptions) -> Result<Self, ConfigError> {
        Ok(match &options.measured {
            Some(saved) => Self::Measured(Arc::clone(saved.of(model)?)),
            None => Self::Analysed(Box::new(model.system().relations(options.relations))),
        })
    }

    fn reduction<'m>(
        &self,
        system: &'m dyn System,
        plan: Plan,
    ) -> Result<AnyReduction<'m>, ConfigError> {
        Ok(match self {
            Self::Analysed(relations) => {
                let reduction = StubbornReduction::new(system, relations, plan)?;
                AnyReduction::Analysed(Box::new(reduction))
            }
            Self::Measured(relations) => {
                let relations = Arc::clone(relations);
                AnyReduction::Measured(MeasuredReduction::new(system, relations, plan)?)
            }
        })
    }
}

/// A search to run: for which questions, and how it is reduced.
pub(crate) struct PlannedRun<'m> {
    /// Indices into the questions.
    pub(crate) questions: Vec<usize>,
    pub(crate) reduction: Option<AnyReduction<'m>>,
}

impl PlannedRun<'_> {
    /// The reduction's short name.
    pub(crate) fn name(&self) -> String {
        match &self.reduction {
            None => "none".into(),
            Some(reduction) => reduction.plan().settings.algorithm.name().into(),
        }
    }

    /// What must be added to the search.
    pub(crate) fn proviso(
        &self,
        choice: ProvisoChoice,
        order: Order,
        threads: usize,
    ) -> Option<&'static dyn SafetyProviso> {
        let needed = self.reduction.as_ref()?.plan().proviso;
        if needed == stubborn_reduce::Proviso::None {
            return None;
        }
        Some(match (choice, order) {
            (ProvisoChoice::Stack, _) => &OnStack,
            (ProvisoChoice::Terminal, _) => &TerminalComponents,
            (ProvisoChoice::Auto, Order::BreadthFirst) => &TerminalComponents,
            (ProvisoChoice::Auto, Order::DepthFirst) if threads == 1 => &OnStack,
            (ProvisoChoice::Auto | ProvisoChoice::ClosedSet, _) => &ClosedSet,
        })
    }
}

/// Questions that one reduced search can answer together.
struct Group {
    questions: Vec<usize>,
    aim: Aim,
}

/// The questions by kind, each kind with what answers it.
fn groups(model: &LoadedModel, questions: &[Question]) -> Vec<Group> {
    let of = |wanted: &dyn Fn(&Target) -> bool| -> Vec<usize> {
        let numbered = questions.iter().enumerate();
        numbered
            .filter(|(_, q)| wanted(&q.target))
            .map(|(at, _)| at)
            .collect()
    };
    let structure = model.system().structure();
    let failing = Goals {
        any_of: Vec::new(),
        transitions: structure
            .transition_ids()
            .filter(|t| structure.transition(*t).may_fail)
            .collect(),
    };
    let asserting = Goals {
        any_of: Vec::new(),
        transitions: model.asserting().to_vec(),
    };
    let labels = questions.iter().filter_map(|q| match q.target {
        Target::Label(label) => Some(label),
        _ => None,
    });
    let all = [
        Group {
            questions: of(&|t| matches!(t, Target::Deadlock | Target::InvalidEnd)),
            aim: Aim::Deadlocks,
        },
        Group {
            questions: of(&|t| *t == Target::Errors),
            aim: Aim::Goals(failing),
        },
        Group {
            questions: of(&|t| matches!(t, Target::Label(_))),
            aim: Aim::Goals(Goals::labels(labels)),
        },
        Group {
            questions: of(&|t| *t == Target::Assertions),
            aim: Aim::Goals(asserting),
        },
    ];
    all.into_iter()
        .filter(|group| !group.questions.is_empty())
        .collect()
}

/// All questions in one group: all goals, with which deadlocks are kept as well.
fn together(groups: Vec<Group>) -> Group {
    let mut all = Group {
        questions: Vec::new(),
        aim: Aim::Deadlocks,
    };
    for group in groups {
        all.questions.extend(group.questions);
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

/// One search that sees everything and answers everything.
pub(crate) fn unreduced<'m>(questions: &[Question]) -> PlannedRun<'m> {
    PlannedRun {
        questions: (0..questions.len()).collect(),
        reduction: None,
    }
}

/// Searches that together answer all questions.
pub(crate) type SearchPlan<'m> = Vec<PlannedRun<'m>>;

/// The searches that answer the questions with the reduction that the user has chosen.
pub(crate) fn chosen<'m>(
    model: &'m LoadedModel,
    questions: &[Question],
    config: &Config,
    options: &ReductionOptions,
) -> Result<SearchPlan<'m>, ConfigError> {
    let mut groups = groups(model, questions);
    // What does only what a goal needs loses everything else.
    if config.algorithm != Algorithm::Goal {
        groups = vec![together(groups)];
    }
    let relations = Source::new(model, options)?;
    if model.system().budget().spent().is_some() {
        // Nothing follows from the relations, and nothing will be found any more.
        return Ok(vec![unreduced(questions)]);
    }
    let runs = groups.into_iter();
    runs.map(|group| run(model, &relations, config, group))
        .collect()
}

/// Several ways to answer the questions: by one search, which keeps deadlocks and goals; and by
/// one for each kind of question, where a search for goals does only what they need.
pub(crate) fn plans<'m>(
    model: &'m LoadedModel,
    questions: &[Question],
    options: &ReductionOptions,
) -> Result<Vec<SearchPlan<'m>>, ConfigError> {
    let relations = Source::new(model, options)?;
    if model.system().budget().spent().is_some() {
        return Ok(Vec::new());
    }
    let run = |group: Group, for_goals: Algorithm| {
        let algorithm = match group.aim {
            Aim::Goals(_) => for_goals,
            Aim::Deadlocks | Aim::Traces { .. } => Algorithm::Beam,
        };
        run(model, &relations, &Config::new(algorithm), group)
    };
    let one = run(together(groups(model, questions)), Algorithm::Beam).map(|run| vec![run]);
    let groups = groups(model, questions);
    if !groups.iter().any(|g| matches!(g.aim, Aim::Goals(_))) {
        return Ok(vec![one?]);
    }
    let each = groups.into_iter();
    let each: Result<SearchPlan<'m>, _> = each.map(|g| run(g, Algorithm::Goal)).collect();
    // Relations that depend on the state do not go with all questions at once.
    match one {
        Ok(one) => Ok(vec![one, each?]),
        Err(_) => Ok(vec![each?]),
    }
}

fn run<'m>(
    model: &'m LoadedModel,
    relations: &Source,
    config: &Config,
    group: Group,
) -> Result<PlannedRun<'m>, ConfigError> {
    let plan = Plan::new(config, group.aim)?;
    Ok(PlannedRun {
        questions: group.questions,
        reduction: Some(relations.reduction(model.system(), plan)?),
    })
}
