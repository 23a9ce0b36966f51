//! Local partial-order reduction for anybody's checker.
//!
//! Hand over your transitions as numbers, and which of them can enable and disturb which; get a
//! stubborn set for a state. Nothing else of this workspace is needed: no state, no guard, no
//! search is known here. (A model behind the [`System`](stubborn_system::System) interface gets
//! the same idea, state-conditional throughout, as the reduction `lpor`.)
//!
//! After Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space reductions
//! through local partial-order reduction* (2011): algorithms 1 and 2, with the optimisations of
//! section III-C. The relations are local: to see that a pair need not be in them, paths of two
//! steps are enough.
//!
//! ```
//! use stubborn_reduce::lpor::{Keep, Lpor, Relations, TransitionId, Unconditional};
//! use stubborn_reduce::{Algorithm, Config};
//!
//! /// `b` and `c` compete for something that `a` provides; `d` has nothing to do with them.
//! struct Tiny;
//!
//! impl Relations for Tiny {
//!     fn transitions(&self) -> usize {
//!         4
//!     }
//!     fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
//!         t.index() == 0 && [1, 2].contains(&u.index())
//!     }
//!     fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
//!         [(1, 2), (2, 1)].contains(&(t.index(), u.index()))
//!     }
//! }
//!
//! let lpor = Lpor::new(Tiny, Keep::Deadlocks)?;
//! let [a, d] = [0, 3].map(TransitionId::new);
//! assert_eq!(lpor.stubborn_set(d, &[a, d]), [d]);
//!
//! // Any other algorithm of this crate, from the same relations:
//! let deletion = Lpor::by(Tiny, Keep::Deadlocks, &Config::new(Algorithm::Deletion))?;
//! assert_eq!(deletion.set_in(&[a, d], &Unconditional).len(), 1);
//! # Ok::<(), stubborn_reduce::ConfigError>(())
//! ```

mod any;
mod paper;

use std::fmt;

pub use stubborn_system::TransitionId;

use stubborn_system::BitSet;

use crate::config::{Config, ConfigError};
use any::Any;
use paper::Paper;

/// A condition that transitions wait for, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConditionId(u32);

impl ConditionId {
    /// The condition with this number.
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// Its number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the caller knows of its transitions, which are numbered from 0.
///
/// More pairs in [`can_enable`](Self::can_enable) and [`disturbs`](Self::disturbs) are always
/// sound, and so are fewer in [`needs`](Self::needs).
pub trait Relations {
    /// How many transitions there are.
    fn transitions(&self) -> usize;

    /// `ce`, definition 1: in some state `u` is disabled, and firing `t` enables it.
    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool;

    /// `dep`, definition 2: `u` is dependent on `t`. In some state both are enabled, and `t`
    /// disables `u`, or what `t u` reaches is not reached by `u t`. Not symmetric in general.
    ///
    /// Where [invariants](Keep::Invariants) are to be kept in a graph with cycles, `u` is dependent
    /// on `t` as well if it has several outcomes in some state where both are enabled, and one of
    /// these and one of `t` do not meet again: no outcome of `t` after the one is an outcome of `u`
    /// after the other. (With one outcome that follows.) Otherwise an outcome of `u` could make
    /// impossible what was put off until after it.
    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool;

    /// `net`, definition 3: `u` must have been fired at least once before `t` is enabled for the
    /// first time.
    fn needs(&self, t: TransitionId, u: TransitionId) -> bool {
        let _ = (t, u);
        false
    }

    /// The second half of definition 2 alone: in some state both are enabled, and what `t u`
    /// reaches is not reached by `u t`. Weak sets let members be disabled from outside, and ask
    /// for this.
    fn reorders(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs(t, u)
    }

    /// How many [conditions](Self::conditions_of) there are.
    fn conditions(&self) -> usize {
        0
    }

    /// Conditions without any of which `t` is disabled. The more is said here, the more is known
    /// of what a disabled transition waits for, if [situations](Situation::holds) tell which
    /// hold.
    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        let _ = t;
        &[]
    }

    /// In some state the condition does not hold, and after `t` it does.
    fn can_satisfy(&self, t: TransitionId, condition: ConditionId) -> bool {
        let _ = (t, condition);
        true
    }

    /// The process of `t`, from 0, if it belongs to one. Ample sets are made of processes.
    fn process_of(&self, t: TransitionId) -> Option<usize> {
        let _ = t;
        None
    }

    /// If `t` disturbs `u` and `u` disturbs `v`, then `t` disturbs `v`, also by what situations
    /// say. Saves work.
    fn disturbance_is_transitive(&self) -> bool {
        false
    }

    /// Firing `t` may change what the property looks at.
    fn is_visible(&self, t: TransitionId) -> bool {
        let _ = t;
        false
    }
}

/// What is known in one state beyond the static relations. Every answer has a default that adds
/// nothing.
pub trait Situation {
    /// False only if on no path from this state `t` enables `u`.
    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        let _ = (t, u);
        true
    }

    /// False only if on no path from this state `t` disturbs `u`.
    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        let _ = (t, u);
        true
    }

    /// Necessary enabling sets of a transition that is disabled in this state: calls `visit`
    /// with sets of which at least one member is fired on every path from here that enables
    /// `t`. A single necessary transition is a set of one.
    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        let _ = (t, visit);
    }

    /// Whether a condition holds in this state. True by default, which means that nothing is
    /// known of what waits for it.
    fn holds(&self, condition: ConditionId) -> bool {
        let _ = condition;
        true
    }

    /// Whether `t` was fired on the way from an initial state to this one; `None` if that is not
    /// known, and then [`Relations::needs`] is not used. The answer depends on the path and not
    /// on the state, so that the set does, too: only a sequential depth-first search for
    /// deadlocks may use it, and where [invariants](Keep::Invariants) are to be kept, it is not
    /// asked for.
    fn was_fired(&self, t: TransitionId) -> Option<bool> {
        let _ = t;
        None
    }
}

/// Nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconditional;

impl Situation for Unconditional {}

/// A situation of which the path is forgotten.
struct Pathless<'s>(&'s dyn Situation);

impl Situation for Pathless<'_> {
    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.0.can_enable(t, u)
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.0.disturbs(t, u)
    }

    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        self.0.enabling_sets(t, visit);
    }

    fn holds(&self, condition: ConditionId) -> bool {
        self.0.holds(condition)
    }
}

/// What the reduced search must keep.
pub enum Keep {
    /// Every state without successors.
    Deadlocks,
    /// Whether a bad state can be reached, where badness changes by visible transitions only.
    Invariants(Cycles),
}

/// Says of a set that it is not enough.
pub type Insufficient = Box<dyn Fn(&[TransitionId]) -> bool + Send + Sync>;

/// What keeps a search for bad states from ignoring a transition for ever, round and round a
/// cycle. Visibility alone does not.
pub enum Cycles {
    /// There are none in the state graph: nothing can be ignored.
    None,
    /// The caller's search says when a set is not enough: called with the set, true if all
    /// enabled transitions must be taken instead (for example, because all successors by
    /// the set were expanded before).
    Proviso(Insufficient),
    /// Nothing is known. Refused.
    Unknown,
}

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlocks => "Deadlocks",
            Self::Invariants(Cycles::None) => "Invariants(acyclic)",
            Self::Invariants(Cycles::Proviso(_)) => "Invariants(proviso)",
            Self::Invariants(Cycles::Unknown) => "Invariants(unknown)",
        })
    }
}

/// When forward-enable sets are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardSets {
    /// Once, before the search.
    #[default]
    Precomputed,
    /// Anew whenever one is needed: slower, and with little memory.
    OnLine,
}

/// The reduction: relations, and what was computed from them.
pub struct Lpor<R> {
    paper: Paper<R>,
    keep: Keep,
    /// Another algorithm than that of the paper.
    any: Option<Any>,
}

impl<R: fmt::Debug> fmt::Debug for Lpor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lpor")
            .field("relations", &self.paper.relations)
            .field("keep", &self.keep)
            .field("by", &self.any)
            .finish_non_exhaustive()
    }
}

impl<R: Relations> Lpor<R> {
    /// With forward-enable sets computed here and now. Refuses invariants where nothing is known
    /// about cycles.
    ///
    /// # Errors
    /// See above.
    pub fn new(relations: R, keep: Keep) -> Result<Self, ConfigError> {
        Self::with_forward_sets(relations, keep, ForwardSets::default())
    }

    /// As [`new`](Self::new), with a choice.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_forward_sets(
        relations: R,
        keep: Keep,
        sets: ForwardSets,
    ) -> Result<Self, ConfigError> {
        if let Keep::Invariants(Cycles::Unknown) = keep {
            return Err(ConfigError::new(
                "visible transitions alone do not keep invariants where the state graph may have \
                 cycles: say that it has none, or supply a proviso",
            ));
        }
        Ok(Self {
            paper: Paper::new(relations, sets),
            keep,
            any: None,
        })
    }

    /// By any algorithm of this crate, with its strategies, in the place of the paper's. Ample
    /// sets need [processes](Relations::process_of). What situations say beyond [which conditions
    /// hold](Situation::holds) is not used.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the algorithm does not do what must be kept.
    pub fn by(relations: R, keep: Keep, config: &Config) -> Result<Self, ConfigError> {
        let mut lpor = Self::with_forward_sets(relations, keep, ForwardSets::OnLine)?;
        lpor.any = Some(Any::new(&lpor.paper.relations, &lpor.keep, config)?);
        Ok(lpor)
    }

    /// The relations.
    pub fn relations(&self) -> &R {
        &self.paper.relations
    }

    /// A stubborn set of a state in which exactly `enabled` is enabled, grown by the paper's
    /// algorithm from `initial`, one of these. In the order of `enabled`.
    pub fn stubborn_set(
        &self,
        initial: TransitionId,
        enabled: &[TransitionId],
    ) -> Vec<TransitionId> {
        self.stubborn_set_in(initial, enabled, &Unconditional)
    }

    /// As [`stubborn_set`](Self::stubborn_set), with what is known of the state.
    pub fn stubborn_set_in(
        &self,
        initial: TransitionId,
        enabled: &[TransitionId],
        here: &dyn Situation,
    ) -> Vec<TransitionId> {
        let members = match self.keep {
            Keep::Deadlocks => self.paper.grow(initial, enabled, here),
            // Sets must be functions of the state.
            Keep::Invariants(_) => self.paper.grow(initial, enabled, &Pathless(here)),
        };
        let chosen = self.chosen(enabled, &members);
        self.completed(enabled, chosen)
    }

    /// A stubborn set of a state, by the chosen algorithm; by the paper's, a smallest of the sets
    /// grown from each enabled transition, the first one of these.
    pub fn set_in(&self, enabled: &[TransitionId], here: &dyn Situation) -> Vec<TransitionId> {
        self.worker().set_in(enabled, here)
    }

    /// Computes sets as [`set_in`](Self::set_in) does, and keeps memory from state to state. One
    /// for each thread.
    pub fn worker(&self) -> Worker<'_, R> {
        Worker {
            lpor: self,
            any: self.any.as_ref().map(Any::worker),
        }
    }

    fn smallest(&self, enabled: &[TransitionId], here: &dyn Situation) -> Vec<TransitionId> {
        let mut best = enabled.to_vec();
        for initial in enabled {
            let set = self.stubborn_set_in(*initial, enabled, here);
            if set.len() < best.len() {
                best = set;
            }
            if best.len() == 1 {
                break;
            }
        }
        best
    }

    /// The enabled members; all enabled transitions if a visible one is among them.
    fn chosen(&self, enabled: &[TransitionId], members: &BitSet) -> Vec<TransitionId> {
        let set = || enabled.iter().filter(|t| members.contains(t.index()));
        let sees = matches!(self.keep, Keep::Invariants(_));
        if sees && set().any(|t| self.relations().is_visible(*t)) {
            return enabled.to_vec();
        }
        set().copied().collect()
    }

    /// The set, or everything if the caller's proviso wants it.
    fn completed(&self, enabled: &[TransitionId], chosen: Vec<TransitionId>) -> Vec<TransitionId> {
        match &self.keep {
            Keep::Invariants(Cycles::Proviso(insufficient))
                if chosen.len() < enabled.len() && insufficient(&chosen) =>
            {
                enabled.to_vec()
            }
            _ => chosen,
        }
    }
}

/// See [`Lpor::worker`].
pub struct Worker<'l, R> {
    lpor: &'l Lpor<R>,
    any: Option<any::Worker<'l>>,
}

impl<R> fmt::Debug for Worker<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl<R: Relations> Worker<'_, R> {
    /// As [`Lpor::set_in`].
    pub fn set_in(&mut self, enabled: &[TransitionId], here: &dyn Situation) -> Vec<TransitionId> {
        match &mut self.any {
            None => self.lpor.smallest(enabled, here),
            Some(any) => {
                let chosen = any.set(enabled, here);
                self.lpor.completed(enabled, chosen)
            }
        }
    }
}
