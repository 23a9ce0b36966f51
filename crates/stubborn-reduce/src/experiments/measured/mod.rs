//! Relations from an explored state space: what the best analysis could ever know.
//!
//! Static analysis over-approximates; how much that costs is seen by computing the relations
//! from all reachable states of a small model and running the same set algorithms with them.
//! Geldenhuys, Hansen, Valmari, *Exploring the scope for partial order reduction* (2009),
//! section 3.1, has three versions of a dependency relation `D` and a precedence relation `R`,
//! chosen independently of each other:
//!
//! - `D_s`, `R_s`: from variable sets ([`Dependency::Sets`], [`Precedence::Sets`]);
//! - `D_f`, `R_f`: from all reachable states ([`Dependency::Full`], [`Precedence::Full`]);
//! - `D_d`, `R_d`: at a state `s`, from the states that can be reached from `s`
//!   ([`Dependency::Dynamic`], [`Precedence::Dynamic`]).
//!
//! `D_e` of Evangelista, *Experimenting with stubborn sets on Petri nets* (2023), definition 7,
//! is [`Dependency::Disabling`]: only whether one disables the other, which is enough where
//! enabled transitions always commute (and is refused where they do not).
//!
//! Dependency stands for do-not-accord and do-not-left-accord; precedence for everything that
//! enabling sets are made of: may-enable, may-disable, never-together, and the *enablers* of a
//! transition (`R` itself, between transitions), which ample sets use instead of the union over
//! its guards. Steps that fail are left out, as in all [relations](stubborn_system::Relations).
//!
//! `space` explores, `evidence` collects what states show, `reduction` runs a set
//! algorithm with the relations of the current state.

mod contexts;
mod evidence;
mod reduction;
mod space;

use std::collections::HashMap;
use std::fmt;

use stubborn_system::{Matrix, Patience, Relations, Spent, System, TransitionId};

pub use crate::config::{Dependency, Precedence};
pub use reduction::{MeasuredReduction, validate};

use contexts::Contexts;
use evidence::{Evidence, Parts, Shape};
use space::StateSpace;

/// Row `t`: the transitions whose step can enable `t` where it is disabled.
pub type Enablers = Matrix<TransitionId, TransitionId>;

/// Relations that hold in a part of the state space.
#[derive(Clone, Debug)]
pub struct Context {
    /// Between transitions and guards. Must-disable is left empty: no set needs it.
    pub relations: Relations,
    /// Between transitions; `None` if precedence follows from guards alone.
    pub enablers: Option<Enablers>,
}

/// Relations that were computed from a state space.
#[derive(Clone, Debug)]
pub struct MeasuredRelations {
    /// Where do-not-accord comes from.
    pub dependency: Dependency,
    /// Where enabling sets come from.
    pub precedence: Precedence,
    /// States of the space they were computed from.
    pub states: usize,
    /// At least one; more only if relations depend on the state.
    pub contexts: Vec<Context>,
    /// Which context belongs to a state; `None` if there is but one.
    pub context_of: Option<HashMap<Box<[u32]>, u32>>,
}

/// Why there are no relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasureError {
    /// The model has more states than were allowed.
    TooManyStates(usize),
    /// Relations differ in too many states to be kept.
    TooManyContexts(usize),
    /// In some state, both are enabled, neither disables the other, and their order matters:
    /// [`Dependency::Disabling`] does not see that.
    OrderMatters(TransitionId, TransitionId),
    /// The budget of the system was spent before.
    GaveUp(Spent),
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyStates(limit) => write!(
                f,
                "the model has more than {limit} states; relations can be computed from all of \
                 them only"
            ),
            Self::TooManyContexts(count) => write!(
                f,
                "the relations differ in too many states ({count} kinds of them so far)"
            ),
            Self::OrderMatters(t, u) => write!(
                f,
                "the order of {t:?} and {u:?} matters although neither disables the other; the \
                 dependency `disabling` is for models in which that never happens, such as nets"
            ),
            Self::GaveUp(spent) => spent.fmt(f),
        }
    }
}

impl std::error::Error for MeasureError {}

/// States between two looks at the budget.
const LOOK_EVERY: u32 = 64;

/// Fails once the budget is spent.
fn gave_up(patience: &mut Patience<'_>) -> Result<(), MeasureError> {
    match patience.spent() {
        None => Ok(()),
        Some(spent) => Err(MeasureError::GaveUp(spent)),
    }
}

/// Computes relations from all reachable states of a model, of which there may be at most
/// `limit`.
pub fn measure(
    system: &dyn System,
    dependency: Dependency,
    precedence: Precedence,
    limit: usize,
) -> Result<MeasuredRelations, MeasureError> {
    let dynamic = Parts {
        dependency: dependency == Dependency::Dynamic,
        precedence: precedence == Precedence::Dynamic,
    };
    let fixed = Parts {
        dependency: matches!(dependency, Dependency::Full | Dependency::Disabling),
        precedence: precedence == Precedence::Full,
    };
    let by_level = |level: Option<_>| level.map(|level| system.relations(level));
    let static_dependency = by_level(dependency.level());
    let static_precedence = by_level(precedence.level());

    system.budget().begin("computing relations from all states");
    let space = StateSpace::explore(system, limit)?;
    let mut patience = Patience::new(system.budget(), LOOK_EVERY);
    let shape = Shape::new(system.structure());
    let mut everywhere = Evidence::new(shape);
    if fixed.any() {
        for state in space.states() {
            gave_up(&mut patience)?;
            everywhere.observe(&space, state, fixed);
        }
    }
    if dependency == Dependency::Disabling
        && let Some((t, u)) = everywhere.order_matters()
    {
        return Err(MeasureError::OrderMatters(t, u));
    }
    let context = |own: &Evidence| {
        let from = |is_dynamic: bool| if is_dynamic { own } else { &everywhere };
        let accord = match &static_dependency {
            Some(relations) => (
                relations.do_not_accord.clone(),
                relations.do_not_meet.clone(),
                relations.do_not_left_accord.clone(),
            ),
            None => from(dynamic.dependency).dependency(),
        };
        let source = from(dynamic.precedence);
        let (may_enable, may_disable, never_together) = match &static_precedence {
            Some(relations) => (
                relations.may_enable.clone(),
                relations.may_disable.clone(),
                relations.never_together.clone(),
            ),
            None => source.precedence(),
        };
        Context {
            relations: Relations {
                may_enable,
                may_disable,
                never_together,
                do_not_accord: accord.0,
                do_not_meet: accord.1,
                do_not_left_accord: accord.2,
                must_disable: shape.nothing_must_disable(),
                may_change_outcome: None,
            },
            enablers: static_precedence.is_none().then(|| source.enablers()),
        }
    };
    let (contexts, context_of) = if dynamic.any() {
        let found = Contexts::find(&space, shape, dynamic, &mut patience)?;
        let of_state = space.states().map(|state| {
            let words: Box<[u32]> = space.words_of(state).into();
            (words, found.of_state(state))
        });
        let of_state: HashMap<Box<[u32]>, u32> = of_state.collect();
        (found.evidence().map(context).collect(), Some(of_state))
    } else {
        (vec![context(&everywhere)], None)
    };
    // Relations by analysis give up silently.
    if let Some(spent) = system.conclude() {
        return Err(MeasureError::GaveUp(spent));
    }
    Ok(MeasuredRelations {
        dependency,
        precedence,
        states: space.len(),
        contexts,
        context_of,
    })
}
