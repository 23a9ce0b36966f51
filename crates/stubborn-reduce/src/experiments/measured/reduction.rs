//! Set algorithms with measured relations. Where relations depend on the state, the sets of a
//! state are computed with the relations of its context: they hold in all states that can be
//! reached from it, and conditions on a set speak of nothing else.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use stubborn_system::{BitSet, Expansion, Reducer, Reduction, SetMember, System, TransitionId};

use super::{Context, MeasuredRelations};
use crate::aim::{NeededProviso, Plan};
use crate::config::ConfigError;
use crate::reducer::StubbornReduction;
use crate::validate::{Forgetful, Limits, Report, claims, explore, outcomes, sets};

/// A reduction with [`MeasuredRelations`].
pub struct MeasuredReduction<'s> {
    system: &'s dyn System,
    relations: Arc<MeasuredRelations>,
    plan: Plan,
    /// The reduction of each context, made when it is first needed.
    parts: Vec<OnceLock<Option<StubbornReduction>>>,
}

impl<'s> MeasuredReduction<'s> {
    /// For one system and one question.
    pub fn new(
        system: &'s dyn System,
        relations: Arc<MeasuredRelations>,
        plan: Plan,
    ) -> Result<Self, ConfigError> {
        if relations.context_of.is_some() && plan.proviso != NeededProviso::None {
            return Err(ConfigError::new(
                "relations that depend on the state are for deadlocks, and for goals with \
                 `goal`; this question needs visible transitions, which must be the same \
                 everywhere",
            ));
        }
        let parts: Vec<OnceLock<_>> = relations.contexts.iter().map(|_| OnceLock::new()).collect();
        // What can be wrong with a plan is wrong in every context.
        if let (Some(part), Some(context)) = (parts.first(), relations.contexts.first()) {
            let _ = part.set(Some(reduction_of(system, context, &plan)?));
        }
        Ok(Self {
            system,
            relations,
            plan,
            parts,
        })
    }

    /// What it was made for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The transitions that condition V is about.
    pub fn visible(&self) -> Vec<TransitionId> {
        self.part(0)
            .map(StubbornReduction::visible)
            .unwrap_or_default()
    }

    /// The reduction of a context.
    fn part(&self, context: u32) -> Option<&StubbornReduction> {
        let at = context as usize;
        let made = self.parts.get(at)?.get_or_init(|| {
            reduction_of(self.system, &self.relations.contexts[at], &self.plan).ok()
        });
        made.as_ref()
    }

    /// The context of a state; `None` if the relations know nothing of the state.
    fn context_of(&self, state: &[u32]) -> Option<u32> {
        match &self.relations.context_of {
            None => Some(0),
            Some(map) => map.get(state).copied(),
        }
    }
}

fn reduction_of(
    system: &dyn System,
    context: &Context,
    plan: &Plan,
) -> Result<StubbornReduction, ConfigError> {
    let enablers = context.enablers.as_ref();
    StubbornReduction::with_enablers(system, &context.relations, enablers, plan.clone())
}

impl Reduction for MeasuredReduction<'_> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        match (&self.relations.context_of, self.part(0)) {
            (None, Some(only)) => only.reducer(),
            _ => Box::new(Worker {
                reduction: self,
                workers: HashMap::new(),
                last: None,
            }),
        }
    }

    fn name(&self) -> String {
        self.plan.settings.to_string()
    }

    fn is_function_of_state(&self) -> bool {
        !self.plan.settings.asks_the_search()
    }
}

impl Forgetful for MeasuredReduction<'_> {
    fn forgetful(&self) -> Box<dyn Reducer + '_> {
        match (&self.relations.context_of, self.part(0)) {
            (None, Some(only)) => only.forgetful_reducer(),
            // Workers of contexts remember nothing.
            _ => self.reducer(),
        }
    }
}

/// A worker for each context that was met.
struct Worker<'r> {
    reduction: &'r MeasuredReduction<'r>,
    workers: HashMap<u32, Box<dyn Reducer + 'r>>,
    /// The context of the last state.
    last: Option<u32>,
}

impl Reducer for Worker<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        self.last = None;
        let reduction = self.reduction;
        let context = reduction.context_of(expansion.state);
        let part = context.and_then(|c| Some((c, reduction.part(c)?)));
        let Some((context, part)) = part else {
            // Nothing is known here, so nothing is left out.
            kept.clear();
            for t in expansion.enabled() {
                kept.insert(t.index());
            }
            return false;
        };
        self.last = Some(context);
        let worker = self.workers.entry(context);
        let worker = worker.or_insert_with(|| part.forgetful_reducer());
        worker.reduce(expansion, kept)
    }

    fn last_set(&self) -> Vec<SetMember> {
        let worker = self.last.and_then(|context| self.workers.get(&context));
        match (worker, self.reduction.part(0)) {
            (Some(worker), _) => worker.last_set(),
            (None, Some(part)) => part.everything(),
            (None, None) => Vec::new(),
        }
    }
}

/// As [`validate`](crate::validate::validate), for measured relations.
pub fn validate(
    system: &dyn System,
    relations: &Arc<MeasuredRelations>,
    plan: &Plan,
    limits: &Limits,
) -> Result<Report, ConfigError> {
    let reduction = MeasuredReduction::new(system, Arc::clone(relations), plan.clone())?;
    let mut report = Report::default();
    let states = explore::sample(system, limits);
    report.exhaustive = states.complete;
    // A relation is a claim about the states of its context only.
    let mut by_context: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
    for state in &states.states {
        if let Some(context) = reduction.context_of(state) {
            by_context.entry(context).or_default().push(state.clone());
        }
    }
    let mut contexts: Vec<_> = by_context.into_iter().collect();
    contexts.sort_unstable_by_key(|(context, _)| *context);
    let limits = Limits {
        // Nothing is claimed about states that cannot be reached.
        random_states: 0,
        ..limits.clone()
    };
    for (context, own) in &contexts {
        let context = &relations.contexts[*context as usize];
        claims::refute(system, &context.relations, own, &limits, &mut report);
    }
    let visible = reduction.visible();
    sets::check(
        system,
        &reduction,
        plan,
        &visible,
        &states.states,
        &limits,
        &mut report,
    );
    if states.complete {
        outcomes::compare(system, &reduction, plan, &mut report);
    }
    Ok(report)
}
