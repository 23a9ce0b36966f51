//! `inc`: the incremental algorithm, by strongly connected components.
//!
//! Valmari, *State space generation: efficiency and practicality* (1988), as Varpaaniemi's tool
//! PROD has it and Evangelista, *Experimenting with stubborn sets on Petri nets* (2023), section
//! 3.2, compares it. Every transition has edges to what it needs: an enabled one to all it does
//! not accord with, a disabled one to the transitions of one enabling set, chosen when it is
//! first visited. Everything reachable from a transition is then stubborn if an enabled one is
//! among it. Tarjan's algorithm finishes components in such an order that the first one with an
//! enabled transition reaches no other with one: it is taken, with what can be reached from it.
//!
//! When several starts are tried, the search goes on in the same graph. A start from which a
//! component found before can be reached cannot do better than that one, so each transition is
//! visited once.

use stubborn_system::{BitSet, LabelId, Reason, SetMember};

use crate::algorithm::SetAlgorithm;
use crate::closure::starts;
use crate::config::{Settings, Start};
use crate::growth::{Growth, Policy};
use crate::rows::{has, put};
use crate::tables::Tables;
use crate::view::View;

/// What a visited transition leads to.
#[derive(Clone, Copy, Debug)]
enum Edges {
    Conflicts,
    Enabling(u32),
}

/// A transition on the path of the search, and how many of its edges are done.
#[derive(Clone, Copy, Debug)]
struct Frame {
    transition: u32,
    done: u32,
    edges: Edges,
}

/// See the [module](self).
pub(crate) struct Incremental {
    policy: Policy,
    start: Start,
    /// Order of the visit, 0 for none.
    visit: Vec<u32>,
    low: Vec<u32>,
    edges: Vec<Edges>,
    visited: Vec<u32>,
    path: Vec<Frame>,
    component: Vec<u32>,
    last: Vec<u32>,
    on_component: Vec<u64>,
    /// Transitions from which a component found before can be reached, or that need everything.
    spent: Vec<u64>,
    starts: Vec<u32>,
    /// Visited transitions as a set: scapegoats are compared by what they add to it.
    reached: Growth,
    best: Vec<u32>,
    trial: Vec<u32>,
    found: bool,
    explain: bool,
    members: Vec<SetMember>,
}

impl Incremental {
    pub(crate) fn new(tables: &Tables, settings: &Settings, explain: bool) -> Self {
        Self {
            policy: Policy::new(settings),
            start: settings.start,
            visit: vec![0; tables.transitions],
            low: vec![0; tables.transitions],
            edges: vec![Edges::Conflicts; tables.transitions],
            visited: Vec::new(),
            path: Vec::new(),
            component: Vec::new(),
            last: Vec::new(),
            on_component: vec![0; tables.words],
            spent: vec![0; tables.words],
            starts: Vec::new(),
            reached: Growth::new(tables, false),
            best: Vec::new(),
            trial: Vec::new(),
            found: false,
            explain,
            members: Vec::new(),
        }
    }

    fn forget(&mut self) {
        for t in self.visited.drain(..) {
            self.visit[t as usize] = 0;
        }
        self.spent.fill(0);
        self.reached.clear();
    }

    /// What is left on the way when a search ends leads to where it ended.
    fn spend(&mut self) {
        for t in self.component.drain(..) {
            crate::rows::take(&mut self.on_component, t);
            put(&mut self.spent, t);
        }
        self.path.clear();
    }

    fn targets(tables: &Tables, transition: u32, edges: Edges) -> &[u32] {
        match edges {
            Edges::Conflicts => tables.accord.list(transition as usize),
            Edges::Enabling(set) => tables.enabling.list(set as usize),
        }
    }

    /// Visits a transition for the first time; false if no enabling set is known for it.
    fn enter(&mut self, view: &mut View<'_>, t: u32) -> bool {
        self.reached.add(view, t, || Reason::Start);
        let edges = if view.is_enabled(t) {
            Edges::Conflicts
        } else {
            match self.reached.choose_for(view, t, self.policy) {
                Some(set) => Edges::Enabling(set.0),
                None => return false,
            }
        };
        self.visited.push(t);
        self.visit[t as usize] = self.visited.len() as u32;
        self.low[t as usize] = self.visited.len() as u32;
        self.edges[t as usize] = edges;
        self.component.push(t);
        put(&mut self.on_component, t);
        self.path.push(Frame {
            transition: t,
            done: 0,
            edges,
        });
        true
    }

    /// Finds the first component with an enabled transition. Its enabled transitions are in
    /// `trial` afterwards; false if none is better than what was found before, or only the set
    /// of all transitions will do.
    fn search(&mut self, view: &mut View<'_>, start: u32) -> bool {
        self.trial.clear();
        if self.visit[start as usize] != 0 || !self.enter(view, start) {
            return false;
        }
        while let Some(frame) = self.path.last_mut() {
            let t = frame.transition;
            let targets = Self::targets(view.tables, t, frame.edges);
            if let Some(next) = targets.get(frame.done as usize).copied() {
                frame.done += 1;
                if self.visit[next as usize] == 0 {
                    if !self.enter(view, next) {
                        return false;
                    }
                } else if has(&self.on_component, next) {
                    let low = self.visit[next as usize].min(self.low[t as usize]);
                    self.low[t as usize] = low;
                } else if has(&self.spent, next) {
                    return false;
                }
                continue;
            }
            self.path.pop();
            let low = self.low[t as usize];
            if let Some(parent) = self.path.last() {
                let parent = &mut self.low[parent.transition as usize];
                *parent = low.min(*parent);
            }
            if low == self.visit[t as usize] && self.finish_component(view, t) {
                return true;
            }
        }
        false
    }

    /// Takes a finished component off; true if it has an enabled transition.
    fn finish_component(&mut self, view: &View<'_>, root: u32) -> bool {
        while let Some(t) = self.component.pop() {
            crate::rows::take(&mut self.on_component, t);
            self.last.push(t);
            if view.is_enabled(t) {
                self.trial.push(t);
            }
            if t == root {
                break;
            }
        }
        if !self.trial.is_empty() {
            self.last.iter().for_each(|t| put(&mut self.spent, *t));
        }
        self.last.clear();
        !self.trial.is_empty()
    }

    /// Everything reachable from the component just found, with reasons.
    fn explain(&mut self, view: &View<'_>) {
        let mut set = Growth::new(view.tables, true);
        for t in &self.trial {
            set.add(view, *t, || Reason::Start);
        }
        let mut at = 0;
        while let Some(member) = set.reasons.as_ref().and_then(|r| r.get(at)) {
            let because = member.transition;
            let t = because.index() as u32;
            let edges = self.edges[because.index()];
            for target in Self::targets(view.tables, t, edges) {
                set.add(view, *target, || match edges {
                    Edges::Conflicts => Reason::DoesNotAccord(because),
                    Edges::Enabling(at) => {
                        let (label, _) = view.tables.condition(crate::tables::EnablingSet(at));
                        Reason::MayEnable(because, LabelId::new(label as usize))
                    }
                });
            }
            at += 1;
        }
        self.members = set.reasons.unwrap_or_default();
    }
}

impl SetAlgorithm for Incremental {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        starts(view, &mut self.starts);
        let all = 0..self.starts.len();
        let tried = match self.start {
            Start::Fst => 0..1,
            Start::Rnd => {
                let pick = view.random(self.policy.seed, u64::MAX) % self.starts.len() as u64;
                pick as usize..pick as usize + 1
            }
            Start::MinE | Start::MinF => all,
        };
        let mut least = (usize::MAX, usize::MAX);
        self.found = false;
        self.forget();
        for at in tried {
            let found = self.search(view, self.starts[at]);
            self.spend();
            if !found || !self.has_key(view) {
                continue;
            }
            let fresh = match self.start {
                Start::MinF => {
                    let fresh = &view.facts.fresh;
                    self.trial.iter().filter(|t| has(fresh, **t)).count()
                }
                _ => 0,
            };
            if (fresh, self.trial.len()) < least {
                least = (fresh, self.trial.len());
                self.found = true;
                if self.explain {
                    self.explain(view);
                }
                std::mem::swap(&mut self.best, &mut self.trial);
                if least <= (0, 1) {
                    break;
                }
            }
        }
        if self.found {
            for t in &self.best {
                put(kept.words_mut(), *t);
            }
        } else {
            kept.words_mut().copy_from_slice(&view.facts.enabled);
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        self.found.then(|| self.members.clone())
    }
}

impl Incremental {
    /// Condition I: the component need not be that of the start, so it is looked at again.
    fn has_key(&self, view: &View<'_>) -> bool {
        !view.must_start_invisible() || self.trial.iter().any(|t| !has(&view.tables.visible, *t))
    }
}
