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
//! use stubborn_reduce::lpor::{Keep, Lpor, Relations, TransitionId};
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
//! # Ok::<(), stubborn_reduce::ConfigError>(())
//! ```

use std::fmt;

pub use stubborn_system::TransitionId;

use stubborn_system::BitSet;

use crate::config::ConfigError;

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
    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool;

    /// `net`, definition 3: `u` must have been fired at least once before `t` is enabled for the
    /// first time.
    fn needs(&self, t: TransitionId, u: TransitionId) -> bool {
        let _ = (t, u);
        false
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

    /// Whether `t` was fired on the way from an initial state to this one; `None` if that is not
    /// known, and then [`Relations::needs`] is not used. The answer depends on the path and not
    /// on the state, so that the set does, too: only a sequential depth-first search for
    /// deadlocks may use it.
    fn was_fired(&self, t: TransitionId) -> Option<bool> {
        let _ = t;
        None
    }
}

/// Nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconditional;

impl Situation for Unconditional {}

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

/// A transition that can become enabled, and what is fired on the way for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Forward {
    transition: TransitionId,
    /// Necessary enabling transitions of all links of the chain; the `en` field.
    needed: BitSet,
}

/// The reduction: relations, and what was computed from them.
pub struct Lpor<R> {
    relations: R,
    keep: Keep,
    uses_needs: bool,
    forward: Option<Vec<Vec<Forward>>>,
    /// Bit `u` of row `t`: `t` begins a chain to something that disturbs `u`.
    leads_to: Vec<BitSet>,
}

impl<R: fmt::Debug> fmt::Debug for Lpor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lpor")
            .field("relations", &self.relations)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

impl<R: Relations> Lpor<R> {
    /// With forward-enable sets computed here and now. Refuses invariants where nothing is known
    /// about cycles.
    pub fn new(relations: R, keep: Keep) -> Result<Self, ConfigError> {
        Self::with_forward_sets(relations, keep, ForwardSets::default())
    }

    /// As [`new`](Self::new), with a choice.
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
        let count = relations.transitions();
        let all = || (0..count).map(TransitionId::new);
        let pairs = all().flat_map(|t| all().map(move |u| (t, u)));
        let uses_needs = pairs.into_iter().any(|(t, u)| relations.needs(t, u));
        let mut lpor = Self {
            relations,
            keep,
            uses_needs,
            forward: None,
            leads_to: Vec::new(),
        };
        let forward: Vec<Vec<Forward>> = all().map(|t| lpor.forward_set(t)).collect();
        lpor.leads_to = forward.iter().map(|set| lpor.disturbed_by(set)).collect();
        if sets == ForwardSets::Precomputed {
            lpor.forward = Some(forward);
        }
        Ok(lpor)
    }

    /// The relations.
    pub fn relations(&self) -> &R {
        &self.relations
    }

    fn all(&self) -> impl Iterator<Item = TransitionId> + use<R> {
        (0..self.relations.transitions()).map(TransitionId::new)
    }

    /// Algorithm 1, `FwdEnableSet`: everything that a chain of enablings from `t` leads to. Of
    /// several chains to one transition only those with smallest `en` fields are kept: if a
    /// larger field is no reason to leave `t` out, a smaller one is none either.
    fn forward_set(&self, t: TransitionId) -> Vec<Forward> {
        let count = self.relations.transitions();
        let mut set = vec![Forward {
            transition: t,
            needed: BitSet::new(count),
        }];
        let mut done = 0;
        while done < set.len() {
            let from = set[done].clone();
            done += 1;
            for u in self.all() {
                if !self.relations.can_enable(from.transition, u) {
                    continue;
                }
                let mut needed = from.needed.clone();
                if self.uses_needs {
                    for v in self.all().filter(|v| self.relations.needs(u, *v)) {
                        needed.insert(v.index());
                    }
                }
                let covered = |f: &Forward| f.transition == u && f.needed.is_subset(&needed);
                if set.iter().any(covered) {
                    continue;
                }
                // Chains through a larger field are chains through this one, too.
                let replaced = |f: &Forward| f.transition == u && needed.is_subset(&f.needed);
                let before = set[..done].iter().filter(|f| replaced(f)).count();
                set.retain(|f| !replaced(f));
                done -= before;
                set.push(Forward {
                    transition: u,
                    needed,
                });
            }
        }
        set
    }

    /// Algorithm 1, `FwdEnableSetIdx`, as a row.
    fn disturbed_by(&self, forward: &[Forward]) -> BitSet {
        let mut row = BitSet::new(self.relations.transitions());
        for u in self.all() {
            let disturbs = |f: &Forward| self.relations.disturbs(f.transition, u);
            if forward.iter().any(disturbs) {
                row.insert(u.index());
            }
        }
        row
    }

    /// A stubborn set of a state in which exactly `enabled` is enabled, grown from `initial`,
    /// one of these. In the order of `enabled`.
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
        let mut members = BitSet::new(self.relations.transitions());
        self.grow(initial, enabled, here, &mut members);
        let chosen = self.chosen(enabled, &members);
        match &self.keep {
            Keep::Invariants(Cycles::Proviso(insufficient))
                if chosen.len() < enabled.len() && insufficient(&chosen) =>
            {
                enabled.to_vec()
            }
            _ => chosen,
        }
    }

    /// A smallest of the sets grown from each enabled transition; the first one of these.
    pub fn smallest_set_in(
        &self,
        enabled: &[TransitionId],
        here: &dyn Situation,
    ) -> Vec<TransitionId> {
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
        if sees && set().any(|t| self.relations.is_visible(*t)) {
            return enabled.to_vec();
        }
        set().copied().collect()
    }

    /// Algorithm 2.
    fn grow(
        &self,
        initial: TransitionId,
        enabled: &[TransitionId],
        here: &dyn Situation,
        members: &mut BitSet,
    ) {
        members.insert(initial.index());
        let mut open = vec![initial];
        let transitive = self.relations.disturbance_is_transitive();
        while let Some(t) = open.pop() {
            let disturbs = |u| self.relations.disturbs(u, t) && here.disturbs(u, t);
            for u in enabled {
                if members.contains(u.index()) {
                    continue;
                }
                if disturbs(*u) {
                    members.insert(u.index());
                    if !transitive {
                        open.push(*u);
                    }
                } else if self.leads_to[u.index()].contains(t.index())
                    && self.leads_here(*u, t, enabled, here, members)
                {
                    members.insert(u.index());
                    open.push(*u);
                }
            }
        }
    }

    /// Lines 23 and 24: whether a chain of enablings from `u` leads to something that disturbs
    /// `t`, without any step that is blocked by the set.
    fn leads_here(
        &self,
        u: TransitionId,
        t: TransitionId,
        enabled: &[TransitionId],
        here: &dyn Situation,
        members: &BitSet,
    ) -> bool {
        let computed;
        let forward = match &self.forward {
            Some(sets) => &sets[u.index()],
            None => {
                computed = self.forward_set(u);
                &computed
            }
        };
        let disturbs =
            |v: TransitionId| self.relations.disturbs(v, t) && here.disturbs(v, t) && v != t;
        // By what must have been fired before, as the relations say.
        let is_waiting =
            |v: usize| members.contains(v) && here.was_fired(TransitionId::new(v)) == Some(false);
        let by_chain = forward
            .iter()
            .any(|f| disturbs(f.transition) && !f.needed.iter().any(is_waiting));
        by_chain && self.can_reach(u, &disturbs, enabled, here, members)
    }

    /// The same by what is known of this state: follows enablings from `u` through transitions
    /// that are not blocked.
    fn can_reach(
        &self,
        u: TransitionId,
        disturbs: &dyn Fn(TransitionId) -> bool,
        enabled: &[TransitionId],
        here: &dyn Situation,
        members: &BitSet,
    ) -> bool {
        let count = self.relations.transitions();
        // A disabled transition is blocked if all of some enabling set is: no path without the
        // set enables it. The largest such collection is what remains when nothing more can be
        // unblocked.
        let mut free = BitSet::new(count);
        for v in enabled.iter().filter(|v| !members.contains(v.index())) {
            free.insert(v.index());
        }
        let is_enabled = |v: TransitionId| enabled.contains(&v);
        loop {
            let mut changed = false;
            for v in self.all() {
                if free.contains(v.index()) || is_enabled(v) {
                    continue;
                }
                let mut blocked = false;
                here.enabling_sets(v, &mut |set| {
                    blocked |= !set.iter().any(|w| free.contains(w.index()));
                });
                if !blocked {
                    free.insert(v.index());
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut seen = BitSet::new(count);
        seen.insert(u.index());
        let mut open = vec![u];
        while let Some(v) = open.pop() {
            if disturbs(v) {
                return true;
            }
            for w in self.all() {
                if free.contains(w.index())
                    && !is_enabled(w)
                    && !seen.contains(w.index())
                    && self.relations.can_enable(v, w)
                    && here.can_enable(v, w)
                {
                    seen.insert(w.index());
                    open.push(w);
                }
            }
        }
        false
    }
}
