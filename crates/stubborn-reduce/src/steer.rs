//! Sets that serve a demand: what an observer of the system waits for, and what it must not
//! lose while it waits.
//!
//! The other algorithms of this crate keep a fixed question in mind. An observer with states
//! of its own (an automaton in a product) asks something else in each of them, and each of its
//! questions is simpler than all of them together: "one of these conditions must become true
//! before anything interesting happens" is a goal, "meanwhile that one must not become false"
//! is a rule about enabled members. Which demands make a set sound for an observer is for the
//! observer to know; here is how a set is found that satisfies D1 and a [`Demand`].
//!
//! Goals are covered as in `goal`: one false literal of each conjunction, and all transitions
//! that may make it true. Then the set is closed, rules are applied to its enabled members,
//! and so on until nothing changes. If a key transition is wanted, every enabled transition
//! that may be one is tried as the start, and the smallest set kept.

use std::sync::atomic::{AtomicU64, Ordering};

use stubborn_system::{BitSet, Expansion, LabelId, Reason, Relations, System};

use crate::aim::{Aim, Plan};
use crate::cache::Cache;
use crate::config::{Algorithm, Config, ConfigError};
use crate::growth::{Growth, Policy};
use crate::rows::{copy, put};
use crate::tables::Tables;
use crate::view::{Facts, LABEL_WORK, Source, View};

/// A label and the value it should have.
pub type Literal = (LabelId, bool);

/// Most words of memory for the sets of the first demand, half as many for those of the second, and so on: most
/// automata have few demands, and one whose sets are forgotten again and again computes most of them each time.
const CACHE_WORDS: usize = 1 << 22;
/// What every demand has at least.
const FEWEST_CACHE_WORDS: usize = 1 << 16;

/// What a set has to do beyond D1.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// Conjunctions of literals, all of them false where the demand is made. Whatever makes
    /// one of them true takes a member of the set first.
    pub goals: Vec<Vec<Literal>>,
    /// What enabled members bring along.
    pub rules: Vec<Rule>,
    /// If set, some enabled member stays enabled whatever is done outside the set, and it is
    /// none of these. If not, the set may be empty: then nothing leads to a goal.
    pub key_outside: Option<BitSet>,
}

/// A condition on the enabled members of a set.
#[derive(Clone, Debug)]
pub struct Rule {
    /// If one of these is an enabled member …
    pub of: BitSet,
    /// … then all of these are members; `None`: then there is no such set.
    pub needs: Option<BitSet>,
}

/// The relations of a system, arranged for demands. Shared by all threads.
#[derive(Debug)]
pub struct SteeredReduction {
    tables: Tables,
    policy: Policy,
    disabling_sets: bool,
    work: AtomicU64,
}

/// A demand, arranged for a [`SteeredReduction`].
#[derive(Clone, Debug)]
pub struct Steering {
    rules: Vec<Rule>,
    key_outside: Option<BitSet>,
    /// For each conjunction, the enabling sets that cover it.
    goals: Vec<Vec<u32>>,
}

impl SteeredReduction {
    /// Arranges the relations of `system`. Of the configuration only what concerns growing
    /// sets is looked at.
    ///
    /// # Errors
    /// Where that refuses itself.
    pub fn new(
        system: &dyn System,
        relations: &Relations,
        config: &Config,
    ) -> Result<Self, ConfigError> {
        let own = Config {
            weak: config.weak,
            disabling_sets: config.disabling_sets,
            heuristic: config.heuristic,
            seed: config.seed,
            ..Config::new(Algorithm::Beam)
        };
        let plan = Plan::new(&own, Aim::Deadlocks)?;
        Ok(Self {
            tables: Tables::new(system, relations, &plan),
            policy: Policy::new(&plan.settings),
            disabling_sets: plan.settings.disabling_sets,
            work: AtomicU64::new(0),
        })
    }

    /// Arranges a demand.
    pub fn steering(&self, mut demand: Demand) -> Steering {
        demand.goals.sort_unstable();
        demand.goals.dedup();
        let options = |literals: &Vec<Literal>| {
            let wanted: Vec<LabelId> = literals.iter().filter(|l| l.1).map(|l| l.0).collect();
            let mut sets = self
                .tables
                .options_of_conjunction(&wanted, self.disabling_sets);
            let unwanted = literals.iter().filter(|l| !l.1);
            sets.extend(unwanted.map(|l| (l.0.index() + self.tables.half) as u32));
            sets.sort_unstable();
            sets.dedup();
            sets
        };
        Steering {
            goals: demand.goals.iter().map(options).collect(),
            rules: demand.rules,
            key_outside: demand.key_outside,
        }
    }

    /// What sets took, as [of other reductions](stubborn_system::Reduction::work).
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// A worker for one thread. All workers choose the same set in the same state.
    pub fn reducer(&self) -> SteeredReducer<'_> {
        SteeredReducer {
            reduction: self,
            facts: Facts::new(&self.tables),
            best: Growth::new(&self.tables, false),
            trial: Growth::new(&self.tables, false),
            caches: Vec::new(),
        }
    }
}

/// Computes sets for demands, keeping its buffers from state to state.
pub struct SteeredReducer<'r> {
    reduction: &'r SteeredReduction,
    facts: Facts,
    best: Growth,
    trial: Growth,
    /// What was computed before, by number of the demand.
    caches: Vec<Option<Cache>>,
}

impl Drop for SteeredReducer<'_> {
    fn drop(&mut self) {
        let work = &self.reduction.work;
        work.fetch_add(self.facts.work, Ordering::Relaxed);
    }
}

impl SteeredReducer<'_> {
    /// Chooses the enabled transitions to explore: clears `kept` and sets their bits. Returns
    /// true if an enabled transition was left out. `number` stands for the steering: the same
    /// for the same.
    pub fn reduce(
        &mut self,
        steering: &Steering,
        number: usize,
        expansion: &mut Expansion<'_>,
        kept: &mut BitSet,
    ) -> bool {
        let tables = &self.reduction.tables;
        let may_be_empty = steering.key_outside.is_none();
        let successors = expansion.successors;
        if !(self.facts).note_enabled(tables, successors, may_be_empty) {
            copy(kept.words_mut(), &self.facts.enabled);
            return false;
        }
        if self.caches.len() <= number {
            self.caches.resize_with(number + 1, || None);
        }
        let cache = self.caches[number].get_or_insert_with(|| {
            let limit = (CACHE_WORDS / (number + 1)).max(FEWEST_CACHE_WORDS);
            Cache::with_limit(tables.words, limit)
        });
        let (state, executor) = (expansion.state, &mut *expansion.executor);
        let class = |field| tables.fields.class(field, state, executor);
        let miss = match cache.look_up(&self.facts.enabled, kept, class) {
            Ok(hit) => {
                self.facts.work += LABEL_WORK * u64::from(hit.asked);
                return hit.leaves_out;
            }
            Err(miss) => miss,
        };
        kept.clear();
        self.facts.infer(tables);
        let mut view = View {
            tables,
            facts: &mut self.facts,
            source: Source::Executor(expansion.state, &mut *expansion.executor),
        };
        let mut search = Search {
            policy: self.reduction.policy,
            steering,
            best: &mut self.best,
            trial: &mut self.trial,
        };
        if search.run(&mut view) {
            for t in &self.best.enabled {
                put(kept.words_mut(), *t);
            }
        } else {
            kept.words_mut().copy_from_slice(&self.facts.enabled);
        }
        if let Some(Some(cache)) = self.caches.get_mut(number) {
            let path = tables.fields.steps(&self.facts.log);
            cache.insert(miss, &self.facts.enabled, path, kept);
        }
        kept.words() != self.facts.enabled
    }
}

/// The search for a set in one state.
struct Search<'a> {
    policy: Policy,
    steering: &'a Steering,
    best: &'a mut Growth,
    trial: &'a mut Growth,
}

impl Search<'_> {
    /// Finds a set that leaves something out; it is the best one then.
    fn run(&mut self, view: &mut View<'_>) -> bool {
        let mut limit = view.facts.enabled_list.len() - 1;
        let Some(outside) = &self.steering.key_outside else {
            let found = self.grow(view, None, limit);
            std::mem::swap(self.best, self.trial);
            return found;
        };
        let mut found = false;
        for at in 0..view.facts.enabled_list.len() {
            let start = view.facts.enabled_list[at];
            if outside.contains(start as usize) || !self.grow(view, Some(start), limit) {
                continue;
            }
            found = true;
            std::mem::swap(self.best, self.trial);
            // The next one has to be smaller.
            limit = self.best.enabled.len() - 1;
            if limit == 0 {
                break;
            }
        }
        found
    }

    /// Grows a set with this key. False if it has more than `limit` enabled members, or breaks
    /// a rule.
    fn grow(&mut self, view: &mut View<'_>, key: Option<u32>, limit: usize) -> bool {
        let set = &mut *self.trial;
        match key {
            Some(key) => set.start(view, key),
            None => set.clear(),
        }
        for (at, options) in self.steering.goals.iter().enumerate() {
            let Some(chosen) = set.choose(view, options, self.policy, !(at as u64)) else {
                return false;
            };
            let label = LabelId::new(view.tables.condition(chosen).0 as usize);
            let row = view.tables.enabling.row(chosen.0 as usize);
            set.add_row(view, row, || Reason::NeededByGoal(label));
        }
        loop {
            if !set.advance(view, self.policy, limit) || set.everything {
                return false;
            }
            let mut grown = false;
            for rule in &self.steering.rules {
                let applies = (set.enabled.iter()).any(|t| rule.of.contains(*t as usize));
                match &rule.needs {
                    _ if !applies => {}
                    None => return false,
                    Some(needs) => {
                        for t in needs.iter() {
                            grown |= set.add(view, t as u32, || Reason::Visibility);
                        }
                    }
                }
            }
            if !grown {
                return true;
            }
        }
    }
}
