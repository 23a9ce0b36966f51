//! Which reduction answers which question, and whether it pays.
//!
//! Which conditions a reduced search must keep depends on the question, and is decided here
//! and in [`stubborn_reduce::Plan`], never by the user. Questions fall into groups that need
//! sets of their own: deadlocks; failing steps; bad states. With `auto`, a model with few states
//! is explored without reduction (see `check`); for a larger one, the first levels of each
//! group's reduced search are compared with those of a full one: where one of them would not
//! pay, one unreduced search answers everything, and otherwise each group gets a search of its
//! own. What is compared is a function of the model alone, so that a count never depends on
//! the machine.

use std::sync::Arc;

use stubborn_reduce::measured::{MeasuredReduction, MeasuredRelations};
use stubborn_reduce::{Aim, Algorithm, Config, ConfigError, Goals, Plan, StubbornReduction};
use stubborn_search::proviso::{ClosedSet, OnStack, Proviso};
use stubborn_search::{Limits, Order, Search, Stop, Target};
use stubborn_system::{BitSet, Expansion, Reduction, RelationLevel, Relations, Successors, System};

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
}

impl Default for ReductionOptions {
    fn default() -> Self {
        Self {
            por: Por::Auto,
            relations: RelationLevel::Reach,
            measured: None,
            proviso: ProvisoChoice::Auto,
            cycle_proviso: None,
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
    ) -> Option<&'static dyn Proviso> {
        let needed = self.reduction.as_ref()?.plan().proviso;
        if needed == stubborn_reduce::Proviso::None {
            return None;
        }
        let with_stack = order == Order::DepthFirst && threads == 1;
        Some(match choice {
            ProvisoChoice::Stack => &OnStack,
            ProvisoChoice::Auto if with_stack => &OnStack,
            ProvisoChoice::Auto | ProvisoChoice::ClosedSet => &ClosedSet,
        })
    }
}

/// Questions that one reduced search can answer together.
struct Group {
    questions: Vec<usize>,
    aim: Aim,
}

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

/// One search that sees everything and answers everything.
pub(crate) fn unreduced<'m>(questions: &[Question]) -> PlannedRun<'m> {
    PlannedRun {
        questions: (0..questions.len()).collect(),
        reduction: None,
    }
}

/// Decides which searches answer the questions.
pub(crate) fn plan<'m>(
    model: &'m LoadedModel,
    questions: &[Question],
    options: &ReductionOptions,
) -> Result<Vec<PlannedRun<'m>>, ConfigError> {
    let everything = || vec![unreduced(questions)];
    if options.por == Por::None {
        return Ok(everything());
    }
    let system = model.system();
    let relations = Source::new(model, options)?;
    let mut runs = Vec::new();
    for group in groups(model, questions) {
        runs.push(PlannedRun {
            questions: group.questions,
            reduction: reduction(system, &relations, &options.por, group.aim)?,
        });
    }
    // A search that sees everything answers everything.
    if runs.iter().any(|run| run.reduction.is_none()) {
        return Ok(everything());
    }
    Ok(runs)
}

/// The reduction for one aim; `None` if `auto` finds that it does not pay.
fn reduction<'m>(
    system: &'m dyn System,
    relations: &Source,
    por: &Por,
    aim: Aim,
) -> Result<Option<AnyReduction<'m>>, ConfigError> {
    match por {
        Por::None => Ok(None),
        Por::Chosen(config) => {
            let plan = Plan::new(config, aim)?;
            relations.reduction(system, plan).map(Some)
        }
        Por::Auto => {
            let algorithm = match aim {
                Aim::Goals(_) => Algorithm::Goal,
                Aim::Deadlocks | Aim::Traces { .. } => Algorithm::Beam,
            };
            let plan = Plan::new(&Config::new(algorithm), aim)?;
            let reduction = relations.reduction(system, plan)?;
            let pays = state_share(system, reduction.as_dyn()) <= LARGEST_STATE_SHARE;
            Ok(pays.then_some(reduction))
        }
    }
}

/// `auto` reduces if at most this share of the states seems to be left. Measured on BEEM models
/// of 1 to 20 million states, a reduced state costs 0.7 to 3.7 times a full one, 1.8 times on
/// average.
const LARGEST_STATE_SHARE: f64 = 0.6;
/// States of the two searches that are compared.
const COMPARED_STATES: u64 = 20_000;
/// With fewer levels than this, they say little.
const FEW_LEVELS: usize = 8;

/// Which share of the states a reduction leaves, as far as the first breadth-first levels tell:
/// on 47 BEEM models of 20,000 to 400,000 states that is within 0.1 of the share of all states
/// for all but six.
fn state_share(system: &dyn System, reduction: &dyn Reduction) -> f64 {
    let levels = |reduction: Option<&dyn Reduction>| {
        let search = Search {
            reduction,
            stop: Stop::Never,
            limits: Limits {
                states: Some(COMPARED_STATES),
                ..Limits::default()
            },
            ..Search::new(system)
        };
        let result = search.run().ok()?;
        let complete = result.is_complete();
        Some((result.level_sizes, complete))
    };
    let (Some((full, _)), Some((mut reduced, complete))) = (levels(None), levels(Some(reduction)))
    else {
        return 1.0;
    };
    // The last level of a search that was given up may not be all there.
    if complete {
        reduced.resize(reduced.len().max(full.len()), 0);
    }
    let common = full.len().min(reduced.len()).saturating_sub(1);
    let count = |levels: &[u64]| levels[..common].iter().sum::<u64>();
    let share = count(&reduced) as f64 / count(&full).max(1) as f64;
    if common < FEW_LEVELS {
        return share.min(kept_share(system, reduction));
    }
    share
}

/// Temporal properties are checked with reduction if at most this share of the enabled
/// transitions is kept. A reduced state costs about twice a full one, and what is left out at
/// every state multiplies along paths.
pub(crate) const LARGEST_KEPT_SHARE: f64 = 0.93;
const WALKS: u64 = 16;
const STEPS: u64 = 64;

/// Which share of enabled transitions a reduction keeps, along walks that depend on the model
/// alone.
pub(crate) fn kept_share(system: &dyn System, reduction: &dyn Reduction) -> f64 {
    let words = system.layout().words();
    let initial = system.initial_states();
    let mut executor = system.executor();
    let mut reducer = reduction.reducer();
    let mut kept = BitSet::new(system.structure().transitions.len());
    let mut successors = Successors::new(words);
    let (mut all, mut chosen) = (0_usize, 0_usize);
    let mut random = 0_u64;
    for _ in 0..WALKS {
        let mut state = initial[..words].to_vec();
        for _ in 0..STEPS {
            successors.clear();
            executor.successors(&state, &mut successors);
            if successors.is_empty() {
                break;
            }
            let mut expansion = Expansion {
                state: &state,
                executor: &mut *executor,
                successors: &successors,
                is_known: None,
            };
            all += expansion.enabled().count();
            reducer.reduce(&mut expansion, &mut kept);
            chosen += kept
                .words()
                .iter()
                .map(|w| w.count_ones() as usize)
                .sum::<usize>();
            // Knuth's linear congruential generator; its high bits are good enough here.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let step = ((u128::from(random) * successors.len() as u128) >> 64) as usize;
            state.copy_from_slice(successors.state(step));
        }
    }
    chosen as f64 / all.max(1) as f64
}
