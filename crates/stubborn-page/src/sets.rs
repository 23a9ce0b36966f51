//! Stubborn sets made visible: who is in the set of a state and why, what is left out, and why that
//! is safe.

use std::sync::Arc;

use rapidhash::RapidHashMap;
use serde_json::{Value, json};
use stubborn_plan::reduction::{Made, aim, usual_algorithm};
use stubborn_reduce::explain::reason;
use stubborn_reduce::{Aim, Algorithm, Config, NeededProviso, Plan};
use stubborn_search::Target;
use stubborn_system::{
    Executor, Expander, Reason, RelationLevel, Relations, Successors, TransitionId,
};

use crate::session::{Refusal, Request, Session, lock};

/// How precise relations are, by name.
pub(crate) const LEVELS: [(&str, RelationLevel); 5] = [
    ("sets", RelationLevel::Sets),
    ("syntax", RelationLevel::Syntax),
    ("exact", RelationLevel::Exact),
    ("reach", RelationLevel::Reach),
    ("located", RelationLevel::Located),
];
/// More members of a set are counted.
const LISTED: usize = 60;
/// So many kept steps are tried with each one that is left out.
const TRIED: usize = 4;

/// The algorithms, with what they do.
pub(crate) fn algorithms() -> Vec<Value> {
    let all = Algorithm::ALL.iter();
    all.map(|a| json!({"name": a.name(), "about": a.about()}))
        .collect()
}

/// The algorithm that a check for a target would choose.
pub(crate) fn usual(session: &Session<'_>, target: Target) -> &'static str {
    usual_algorithm(&aim(session.system().structure(), target)).name()
}

/// What was computed before.
#[derive(Default)]
pub(crate) struct Knowledge<'m> {
    relations: RapidHashMap<RelationLevel, Arc<Relations>>,
    made: RapidHashMap<Chosen, Option<Arc<Made<'m>>>>,
}

/// How sets are computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chosen {
    question: usize,
    /// `None` for no reduction.
    algorithm: Option<Algorithm>,
    level: RelationLevel,
}

impl Chosen {
    /// What a request says; by default what a check would do.
    pub(crate) fn of(session: &Session<'_>, request: &Request<'_>) -> Result<Self, Refusal> {
        let question = request.parameter("question").unwrap_or("0");
        let question = question.parse().map_err(|_| "there is no such question")?;
        let level = request.parameter("relations").unwrap_or("reach");
        let level = LEVELS.iter().find(|(name, _)| *name == level);
        let (_, level) = level.ok_or("there are no such relations")?;
        let algorithm = match request.parameter("algorithm") {
            Some("none") => None,
            None | Some("") => Some(usual_algorithm(&aim_of(session, question)?)),
            Some(name) => Some(
                name.parse()
                    .map_err(|e: stubborn_reduce::ConfigError| e.to_string())?,
            ),
        };
        Ok(Self {
            question,
            algorithm,
            level: *level,
        })
    }
}

/// What sets for a question must keep.
fn aim_of(session: &Session<'_>, question: usize) -> Result<Aim, Refusal> {
    let subject = session.subject();
    if let Some(asked) = subject.questions.get(question) {
        return Ok(aim(subject.system.structure(), asked.target));
    }
    let runs = subject.temporal.get(question - subject.questions.len());
    let asked = runs.ok_or("there is no such question")?;
    Ok(Aim::Traces {
        labels: asked.property.used_labels(),
        infinite: true,
    })
}

/// The reduction that was chosen.
pub(crate) fn reduction<'m>(
    session: &Session<'m>,
    chosen: &Chosen,
) -> Result<Option<Arc<Made<'m>>>, Refusal> {
    let Some(algorithm) = chosen.algorithm else {
        return Ok(None);
    };
    let knowledge = &mut *lock(&session.knowledge);
    if let Some(made) = knowledge.made.get(chosen) {
        return Ok(made.clone());
    }
    let system = session.system();
    let relations = knowledge
        .relations
        .entry(chosen.level)
        .or_insert_with(|| Arc::new(system.relations(chosen.level)));
    let aim = aim_of(session, chosen.question)?;
    let made = Made::new(system, relations, &Config::new(algorithm), aim);
    let made = Some(Arc::new(made.map_err(|error| error.to_string())?));
    knowledge.made.insert(chosen.clone(), made.clone());
    Ok(made)
}

/// The set of a state.
pub(crate) fn json(
    session: &Session<'_>,
    state: &[u32],
    chosen: &Chosen,
) -> Result<Value, Refusal> {
    let system = session.system();
    let made = reduction(session, chosen)?;
    let reduction = made.as_ref().map(|made| made.reduction());
    let mut expander = Expander::new(system, reduction);
    expander.compute(state).map_err(|spent| spent.to_string())?;
    let is_reduced = expander.choose(state);
    let mut enabled: Vec<TransitionId> = expander.successors().transitions().to_vec();
    enabled.dedup();
    let set = expander.last_set();
    let (kept, left): (Vec<_>, Vec<_>) = enabled.iter().copied().partition(|t| expander.keeps(*t));

    let is_goal = chosen.algorithm == Some(Algorithm::Goal);
    let is_on = |t: &TransitionId| enabled.contains(t);
    let (on, off): (Vec<_>, Vec<_>) = set.iter().partition(|member| is_on(&member.transition));
    let members = on.iter().chain(off.iter().take(LISTED)).map(|member| {
        let because = match member.reason {
            Reason::DoesNotAccord(other) | Reason::MayEnable(other, _) => Some(other.index()),
            _ => None,
        };
        let is_enabled = is_on(&member.transition);
        json!({
            "transition": member.transition.index(),
            "enabled": is_enabled,
            // Sets of the page are strong ones: whatever happens outside, members stay enabled.
            "key": is_enabled && !is_goal,
            "reason": reason(system, member),
            "because": because,
        })
    });
    let members: Vec<Value> = members.collect();
    let mut tries = Tries {
        session,
        executor: system.executor(),
        successors: Successors::new(system.layout().words()),
    };
    let left = left.iter().map(|t| {
        let with = kept.iter().take(TRIED);
        let diamonds: Vec<Value> = with.map(|k| tries.both_orders(state, *k, *t)).collect();
        json!({"transition": t.index(), "diamonds": diamonds})
    });
    let left: Vec<Value> = left.collect();
    let aim = aim_of(session, chosen.question)?;
    let proviso = match chosen.algorithm {
        Some(algorithm) => Plan::new(&Config::new(algorithm), aim.clone())
            .map(|plan| plan.proviso)
            .unwrap_or(NeededProviso::None),
        None => NeededProviso::None,
    };
    Ok(json!({
        "reduced": is_reduced,
        "algorithm": chosen.algorithm.map_or("none", |a| a.name()),
        "enabled": enabled.iter().map(|t| t.index()).collect::<Vec<_>>(),
        "kept": kept.iter().map(|t| t.index()).collect::<Vec<_>>(),
        "members": members,
        "more": off.len().saturating_sub(LISTED),
        "left": left,
        "safe": why_safe(&aim, is_goal),
        "proviso": match proviso {
            NeededProviso::None => None,
            NeededProviso::Safety => Some("A search for this question also makes sure that \
                nothing is left out for ever: from every state, one is reachable at which all \
                steps were taken. That may add steps to those that are marked here."),
            NeededProviso::Liveness => Some("A search for this question also makes sure that \
                nothing is left out along a cycle: each has a state at which all steps were \
                taken. That may add steps to those that are marked here."),
        },
    }))
}

/// Why leaving things out loses nothing, for people.
fn why_safe(aim: &Aim, is_goal: bool) -> &'static str {
    match aim {
        Aim::Goals(_) if is_goal => {
            "Whatever happens outside the set, the goal is not reached by it alone: some member of \
             the set must come first, and can just as well come now. What is left out does not \
             help to get to the goal yet."
        }
        Aim::Deadlocks => {
            "Whatever is done outside the set, its members stay possible, and doing them first \
             leads to the same state. So each deadlock that is reached by waiting is also reached \
             by taking a member of the set now."
        }
        Aim::Goals(_) => {
            "Whatever is done outside the set, its members stay possible, and doing them first \
             leads to the same state. No member takes the goal out of reach of what is left out."
        }
        Aim::Traces { .. } => {
            "Whatever is done outside the set, its members stay possible, and doing them first \
             leads to the same state. Steps that the property can see keep their order, so every \
             run has one here that looks the same to the property."
        }
    }
}

/// Tries two steps in both orders.
struct Tries<'s, 'm> {
    session: &'s Session<'m>,
    executor: Box<dyn Executor + 'm>,
    successors: Successors,
}

impl Tries<'_, '_> {
    /// What is left out after what is kept, and before it.
    fn both_orders(&mut self, state: &[u32], kept: TransitionId, left: TransitionId) -> Value {
        let later = self.one_then(state, kept, left);
        let sooner = self.one_then(state, left, kept);
        let same = !later.is_empty() && later == sooner;
        json!({
            "with": kept.index(),
            "same": same,
            "possible": !later.is_empty(),
            "meets": later.first().map(|state| self.session.number(state)),
        })
    }

    /// The states after two steps, sorted.
    fn one_then(&mut self, state: &[u32], one: TransitionId, other: TransitionId) -> Vec<Vec<u32>> {
        let mut states = Vec::new();
        for between in self.fire(state, one) {
            states.extend(self.fire(&between, other));
        }
        states.sort_unstable();
        states.dedup();
        states
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId) -> Vec<Vec<u32>> {
        self.successors.clear();
        self.executor.fire(state, transition, &mut self.successors);
        self.successors.iter().map(|s| s.state.to_vec()).collect()
    }
}
