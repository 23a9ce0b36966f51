//! The algorithm of the paper: forward-enable sets, and sets grown from one transition.
//!
//! Algorithms 1 and 2 of Bokor, Kinder, Serafini, Suri (2011), with the optimisations of section
//! III-C, and with conditions of transitions as necessary enabling sets.

use stubborn_system::{BitSet, TransitionId};

use super::{ConditionId, ForwardSets, Relations, Situation};

/// A transition that can become enabled, and what is fired on the way for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Forward {
    transition: TransitionId,
    /// Necessary enabling transitions of all links of the chain; the `en` field. Without room where the
    /// relations know of none.
    needed: BitSet,
}

/// What was computed from the relations.
pub(super) struct Paper<R> {
    pub(super) relations: R,
    uses_needs: bool,
    forward: Option<Vec<Vec<Forward>>>,
    /// Bit `u` of row `t`: `t` begins a chain to something that disturbs `u`.
    leads_to: Vec<BitSet>,
    /// For each condition, what can make it true.
    satisfiers: Vec<Vec<TransitionId>>,
    /// For each transition, what it can enable.
    enables: Vec<BitSet>,
}

impl<R: Relations> Paper<R> {
    pub(super) fn new(relations: R, sets: ForwardSets) -> Self {
        let count = relations.transitions();
        let all = || (0..count).map(TransitionId::new);
        let pairs = all().flat_map(|t| all().map(move |u| (t, u)));
        let uses_needs = pairs.into_iter().any(|(t, u)| relations.needs(t, u));
        let conditions = (0..relations.conditions()).map(ConditionId::new);
        let satisfiers = conditions
            .map(|c| all().filter(|t| relations.can_satisfy(*t, c)).collect())
            .collect();
        let row = |t| {
            let mut row = BitSet::new(count);
            for u in all().filter(|u| relations.can_enable(t, *u)) {
                row.insert(u.index());
            }
            row
        };
        let enables = all().map(row).collect();
        let mut paper = Self {
            relations,
            uses_needs,
            forward: None,
            leads_to: Vec::new(),
            satisfiers,
            enables,
        };
        let mut forward = Vec::new();
        for t in all() {
            let set = paper.forward_set(t);
            paper.leads_to.push(paper.disturbed_by(&set));
            if sets == ForwardSets::Precomputed {
                forward.push(set);
            }
        }
        paper.forward = (sets == ForwardSets::Precomputed).then_some(forward);
        paper
    }

    fn all(&self) -> impl Iterator<Item = TransitionId> + use<R> {
        (0..self.relations.transitions()).map(TransitionId::new)
    }

    /// Algorithm 1, `FwdEnableSet`: everything that a chain of enablings from `t` leads to. Of
    /// several chains to one transition only those with smallest `en` fields are kept: if a
    /// larger field is no reason to leave `t` out, a smaller one is none either.
    fn forward_set(&self, t: TransitionId) -> Vec<Forward> {
        let room = match self.uses_needs {
            true => self.relations.transitions(),
            false => 0,
        };
        let mut set = vec![Forward {
            transition: t,
            needed: BitSet::new(room),
        }];
        // Where nothing is needed, a chain to each transition is enough.
        let mut seen = BitSet::new(self.relations.transitions());
        seen.insert(t.index());
        let mut done = 0;
        while done < set.len() {
            let from = set[done].clone();
            done += 1;
            for u in self.all() {
                let is_covered = !self.uses_needs && seen.contains(u.index());
                if is_covered || !self.relations.can_enable(from.transition, u) {
                    continue;
                }
                seen.insert(u.index());
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

    /// Algorithm 2.
    pub(super) fn grow(
        &self,
        initial: TransitionId,
        enabled: &[TransitionId],
        here: &dyn Situation,
    ) -> BitSet {
        let count = self.relations.transitions();
        let mut growing = Growing {
            here,
            enabled: BitSet::new(count),
            members: BitSet::new(count),
            free: None,
        };
        for t in enabled {
            growing.enabled.insert(t.index());
        }
        growing.members.insert(initial.index());
        let mut open = vec![initial];
        let transitive = self.relations.disturbance_is_transitive();
        while let Some(t) = open.pop() {
            let disturbs = |u| self.relations.disturbs(u, t) && here.disturbs(u, t);
            for u in enabled {
                if growing.members.contains(u.index()) {
                    continue;
                }
                if disturbs(*u) {
                    growing.add(*u);
                    if !transitive {
                        open.push(*u);
                    }
                } else if self.leads_to[u.index()].contains(t.index())
                    && self.leads_here(*u, t, &mut growing)
                {
                    growing.add(*u);
                    open.push(*u);
                }
            }
        }
        growing.members
    }

    /// Lines 23 and 24: whether a chain of enablings from `u` leads to something that disturbs
    /// `t`, without any step that is blocked by the set.
    fn leads_here(&self, u: TransitionId, t: TransitionId, growing: &mut Growing<'_>) -> bool {
        let computed;
        let forward = match &self.forward {
            Some(sets) => &sets[u.index()],
            None => {
                computed = self.forward_set(u);
                &computed
            }
        };
        let here = growing.here;
        let disturbs =
            |v: TransitionId| self.relations.disturbs(v, t) && here.disturbs(v, t) && v != t;
        // By what must have been fired before, as the relations say.
        let members = &growing.members;
        let is_waiting =
            |v: usize| members.contains(v) && here.was_fired(TransitionId::new(v)) == Some(false);
        let by_chain = forward
            .iter()
            .any(|f| disturbs(f.transition) && !f.needed.iter().any(is_waiting));
        by_chain && self.can_reach(u, &disturbs, growing)
    }

    /// The same by what is known of this state: follows enablings from `u` through transitions
    /// that are not blocked.
    fn can_reach(
        &self,
        u: TransitionId,
        disturbs: &dyn Fn(TransitionId) -> bool,
        growing: &mut Growing<'_>,
    ) -> bool {
        let free = growing.free.take().unwrap_or_else(|| self.free(growing));
        let mut seen = BitSet::new(self.relations.transitions());
        seen.insert(u.index());
        let mut open = vec![u];
        let mut found = false;
        while let Some(v) = open.pop() {
            if disturbs(v) {
                found = true;
                break;
            }
            for w in self.enables[v.index()].iter() {
                if free.contains(w)
                    && !growing.enabled.contains(w)
                    && !seen.contains(w)
                    && growing.here.can_enable(v, TransitionId::new(w))
                {
                    seen.insert(w);
                    open.push(TransitionId::new(w));
                }
            }
        }
        growing.free = Some(free);
        found
    }

    /// What can be fired without the set. A disabled transition is blocked if all of some enabling
    /// set is: no path without the set enables it. The largest such collection is what remains
    /// when nothing more can be unblocked.
    fn free(&self, growing: &Growing<'_>) -> BitSet {
        let mut free = growing.enabled.clone();
        for member in growing.members.iter() {
            free.remove(member);
        }
        let mut disabled: Vec<TransitionId> = self
            .all()
            .filter(|v| !growing.enabled.contains(v.index()))
            .collect();
        loop {
            let before = disabled.len();
            disabled.retain(|v| {
                let mut blocked = false;
                let mut needs = |set: &[TransitionId]| {
                    blocked |= !set.iter().any(|w| free.contains(w.index()));
                };
                growing.here.enabling_sets(*v, &mut needs);
                for condition in self.relations.conditions_of(*v) {
                    if !growing.here.holds(*condition) {
                        needs(&self.satisfiers[condition.index()]);
                    }
                }
                if !blocked {
                    free.insert(v.index());
                }
                blocked
            });
            if disabled.len() == before {
                return free;
            }
        }
    }
}

/// A set in the making.
struct Growing<'s> {
    here: &'s dyn Situation,
    enabled: BitSet,
    members: BitSet,
    /// What can be fired without the members, if that was computed since one was added.
    free: Option<BitSet>,
}

impl Growing<'_> {
    fn add(&mut self, t: TransitionId) {
        self.members.insert(t.index());
        self.free = None;
    }
}
