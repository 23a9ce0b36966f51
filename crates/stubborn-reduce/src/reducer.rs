//! The reduction that a search uses: tables shared by all threads, a worker for each.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use stubborn_system::random::mix;
use stubborn_system::{
    BitSet, ClosureRows, Expansion, Matrix, Reason, Reducer, Reduction, Relations, SetMember,
    System, TransitionId,
};

use crate::aim::{NeededProviso, Plan};
use crate::algorithm::SetAlgorithm;
use crate::ample::{Ample, Processes};
use crate::beam::Beam;
use crate::cache::{Cache, Hit};
use crate::clodel::Clodel;
use crate::clostar::CountingGrow;
use crate::closure::{Closure, PlainGrow};
use crate::config::{Algorithm, ConfigError};
use crate::deletion::Deletion;
use crate::goal::GoalDriven;
use crate::growth::Policy;
use crate::inc::Incremental;
use crate::local::{Dependence, Local};
use crate::rows::{Rows, copy, put};
use crate::tables::{Inverse, Tables};
use crate::view::{Facts, LABEL_WORK, Source, View};

/// A reduction for one system and one question: any algorithm of this crate.
#[derive(Debug)]
pub struct StubbornReduction {
    plan: Plan,
    tables: Tables,
    inverse: OnceLock<Inverse>,
    processes: Option<Processes>,
    dependence: Option<Dependence>,
    /// Sets that threads tell each other, if there are several: to compute one takes a hundred times
    /// as long as to look it up here, and all threads meet the same ones.
    common: RwLock<Cache>,
    /// Threads that remember sets now.
    remembering: AtomicUsize,
    work: AtomicU64,
    /// Of workers that are done. A search that pauses has new ones afterwards, and these go on with what
    /// was remembered.
    caches: Mutex<Vec<Cache>>,
}

impl StubbornReduction {
    /// Arranges the relations of `system` for the algorithm of `plan`.
    pub fn new(
        system: &dyn System,
        relations: &Relations,
        plan: Plan,
    ) -> Result<Self, ConfigError> {
        Self::with_enablers(system, relations, None, plan)
    }

    /// The same; `enablers` say which transitions can enable each one, where that is known
    /// better than from its guards. Only ample sets ask for it.
    pub(crate) fn with_enablers(
        system: &dyn System,
        relations: &Relations,
        enablers: Option<&Matrix<TransitionId, TransitionId>>,
        plan: Plan,
    ) -> Result<Self, ConfigError> {
        let tables = Tables::new(system, relations, &plan);
        let processes = match plan.settings.algorithm {
            Algorithm::Ample1 | Algorithm::Ample2 => {
                Some(Processes::new(system, &tables, relations, enablers)?)
            }
            _ => None,
        };
        let is_local = plan.settings.algorithm == Algorithm::Lpor;
        let dependence =
            is_local.then(|| Dependence::new(&tables, system.structure(), relations, &plan));
        Ok(Self {
            common: RwLock::new(Cache::new(tables.words)),
            remembering: AtomicUsize::new(0),
            plan,
            tables,
            inverse: OnceLock::new(),
            processes,
            dependence,
            work: AtomicU64::new(0),
            caches: Mutex::default(),
        })
    }

    /// What it was made for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The transitions that condition V is about; empty when there is nothing to see.
    pub fn visible(&self) -> Vec<TransitionId> {
        crate::rows::ones_of(&self.tables.visible)
            .map(|t| TransitionId::new(t as usize))
            .collect()
    }

    /// A worker that computes every set anew; chooses what any other worker chooses.
    pub fn forgetful_reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(self.worker(None))
    }

    fn worker(&self, cache: Option<Cache>) -> Worker<'_> {
        Worker {
            reduction: self,
            algorithm: self.algorithm(false),
            facts: Facts::new(&self.tables),
            cache,
            looks_closer: self.plan.settings.looks_closer(),
            last: Last::Everything,
        }
    }

    fn has_several_threads(&self) -> bool {
        self.remembering.load(Ordering::Relaxed) > 1
    }

    fn caches(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inverse(&self) -> &Inverse {
        self.inverse.get_or_init(|| self.tables.inverse())
    }

    fn algorithm(&self, explain: bool) -> Box<dyn SetAlgorithm + '_> {
        let (tables, settings) = (&self.tables, &self.plan.settings);
        let policy = Policy::new(settings);
        if let Some(dependence) = &self.dependence {
            return Box::new(Local::new(self.inverse(), dependence, settings));
        }
        match (settings.algorithm, &self.processes) {
            (Algorithm::Ample1 | Algorithm::Ample2, Some(processes)) => {
                Box::new(Ample::new(processes, settings))
            }
            (Algorithm::Beam, _) => Box::new(Beam::new(settings, explain)),
            (Algorithm::Clostar, _) => {
                let grow = CountingGrow::new(tables, self.inverse(), policy);
                Box::new(Closure::new(tables, settings, grow, explain))
            }
            (Algorithm::Deletion, _) => Box::new(Deletion::new(tables, self.inverse(), settings)),
            (Algorithm::Clodel, _) => Box::new(Clodel::new(tables, self.inverse(), settings)),
            (Algorithm::Inc, _) => Box::new(Incremental::new(tables, settings, explain)),
            (Algorithm::Goal, _) => Box::new(GoalDriven::new(tables, settings, explain)),
            // Ample sets always come with processes, and `lpor` with dependence.
            (Algorithm::Closure | Algorithm::Ample1 | Algorithm::Ample2 | Algorithm::Lpor, _) => {
                let grow = PlainGrow(policy);
                Box::new(Closure::new(tables, settings, grow, explain))
            }
        }
    }

    /// All transitions: what a set is when nothing allows to leave anything out.
    pub(crate) fn everything(&self) -> Vec<SetMember> {
        (0..self.tables.transitions)
            .map(|t| SetMember {
                transition: TransitionId::new(t),
                reason: Reason::NotExcluded,
            })
            .collect()
    }
}

impl Reduction for StubbornReduction {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        let settings = &self.plan.settings;
        let remembers = settings.cache && !settings.looks_closer();
        let cache = remembers.then(|| {
            self.remembering.fetch_add(1, Ordering::Relaxed);
            let known = self.caches().pop();
            known.unwrap_or_else(|| Cache::new(self.tables.words))
        });
        Box::new(self.worker(cache))
    }

    fn name(&self) -> String {
        self.plan.settings.to_string()
    }

    fn is_function_of_state(&self) -> bool {
        !self.plan.settings.asks_the_search()
    }

    fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    fn closure(&self) -> Option<ClosureRows> {
        let (tables, plan) = (&self.tables, &self.plan);
        match plan.settings.algorithm {
            // These look at more than rows.
            Algorithm::Goal | Algorithm::Lpor | Algorithm::Ample1 | Algorithm::Ample2 => {
                return None;
            }
            Algorithm::Beam
            | Algorithm::Closure
            | Algorithm::Clostar
            | Algorithm::Deletion
            | Algorithm::Clodel
            | Algorithm::Inc => {}
        }
        if plan.proviso == NeededProviso::Liveness {
            return None;
        }
        let row = |rows: &Rows, at: usize| {
            let mut set = BitSet::new(tables.transitions);
            for t in rows.list(at) {
                put(set.words_mut(), *t);
            }
            set
        };
        Some(ClosureRows {
            enabled: (0..tables.transitions)
                .map(|t| row(&tables.accord, t))
                .collect(),
            disabled: (0..tables.labels)
                .map(|label| row(&tables.enabling, label))
                .collect(),
        })
    }
}

/// How the last set came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Without looking: at most one transition was enabled, or a step fails.
    Everything,
    /// Computed, by this thread or another: the log says how.
    Computed,
    /// Remembered.
    Remembered(Hit),
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let work = &self.reduction.work;
        work.fetch_add(self.facts.work, Ordering::Relaxed);
        if let Some(cache) = self.cache.take() {
            self.reduction.remembering.fetch_sub(1, Ordering::Relaxed);
            self.reduction.caches().push(cache);
        }
    }
}

struct Worker<'r> {
    reduction: &'r StubbornReduction,
    algorithm: Box<dyn SetAlgorithm + 'r>,
    facts: Facts,
    cache: Option<Cache>,
    /// The algorithm looks at more than enabled transitions and labels.
    looks_closer: bool,
    last: Last,
}

impl Worker<'_> {
    /// Notes what else the algorithm looks at.
    #[cold]
    fn look_closer(&mut self, expansion: &mut Expansion<'_>) {
        let facts = &mut self.facts;
        let settings = &self.reduction.plan.settings;
        if settings.asks_the_search() {
            facts.fresh.fill(0);
            for (at, transition) in expansion.successors.transitions().iter().enumerate() {
                let known = expansion.is_known.as_mut().is_some_and(|known| known(at));
                if !known {
                    put(&mut facts.fresh, transition.index() as u32);
                }
            }
        }
        if settings.looks_at_the_state() {
            let words = expansion.state.iter();
            facts.state_hash = words.fold(0, |hash, word| mix(hash ^ u64::from(*word)));
            facts.state.clear();
            facts.state.extend_from_slice(expansion.state);
        }
    }

    /// Looks for a set that another thread has computed, and notes how.
    fn is_told_by_others(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        let reduction = self.reduction;
        if !reduction.has_several_threads() {
            return false;
        }
        let common = reduction.common.read();
        let common = common.unwrap_or_else(PoisonError::into_inner);
        let (facts, fields) = (&mut self.facts, &reduction.tables.fields);
        facts.log.clear();
        let (state, executor) = (expansion.state, &mut *expansion.executor);
        let mut asked = 0;
        let found = common.look_up(&facts.enabled, kept, |field| {
            asked += 1;
            fields.class(field, state, executor)
        });
        facts.work += LABEL_WORK * asked;
        let Ok(hit) = found else {
            return false;
        };
        let class = |field| fields.class(field, state, executor);
        for step in common.path(hit, fields, class) {
            facts.log.extend(fields.answers(step));
        }
        true
    }

    fn compute(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) {
        kept.clear();
        self.facts.infer(&self.reduction.tables);
        let mut view = View {
            tables: &self.reduction.tables,
            facts: &mut self.facts,
            source: Source::Executor(expansion.state, &mut *expansion.executor),
        };
        self.algorithm.choose(&mut view, kept);
    }
}

impl Reducer for Worker<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        let (tables, successors) = (&self.reduction.tables, expansion.successors);
        let may_be_empty = self.reduction.plan.settings.algorithm == Algorithm::Goal;
        if !(self.facts).note_enabled(tables, successors, may_be_empty) {
            self.last = Last::Everything;
            copy(kept.words_mut(), &self.facts.enabled);
            return false;
        }
        if self.looks_closer {
            self.look_closer(expansion);
        }
        let mut miss = None;
        if let Some(cache) = &self.cache {
            let (state, executor) = (expansion.state, &mut *expansion.executor);
            let class = |field| tables.fields.class(field, state, executor);
            match cache.look_up(&self.facts.enabled, kept, class) {
                Ok(hit) => {
                    self.facts.work += LABEL_WORK * u64::from(hit.asked);
                    self.last = Last::Remembered(hit);
                    return hit.leaves_out;
                }
                Err(place) => miss = Some(place),
            }
        }
        self.last = Last::Computed;
        let is_told = miss.is_some() && self.is_told_by_others(expansion, kept);
        if !is_told {
            self.compute(expansion, kept);
        }
        if let (Some(cache), Some(miss)) = (&mut self.cache, miss) {
            let (enabled, log) = (&self.facts.enabled, &self.facts.log);
            let fields = &tables.fields;
            cache.insert(miss, enabled, fields.steps(log), kept);
            if !is_told && self.reduction.has_several_threads() {
                let common = self.reduction.common.write();
                let mut common = common.unwrap_or_else(PoisonError::into_inner);
                common.insert(miss, enabled, fields.steps(log), kept);
            }
        }
        debug_assert!(may_be_empty || !kept.none(), "an empty set");
        kept.words() != self.facts.enabled
    }

    fn last_set(&self) -> Vec<SetMember> {
        let remembered;
        let log = match self.last {
            Last::Everything => return self.reduction.everything(),
            Last::Computed => &self.facts.log,
            Last::Remembered(hit) => {
                let fields = &self.reduction.tables.fields;
                let path = (self.cache.as_ref()).map(|cache| cache.find_path(hit, fields));
                let steps = path.into_iter().flatten();
                remembered = steps
                    .flat_map(|step| fields.answers(step))
                    .collect::<Vec<_>>();
                &remembered
            }
        };
        let mut facts = self.facts.clone();
        facts.infer(&self.reduction.tables);
        let mut view = View {
            tables: &self.reduction.tables,
            facts: &mut facts,
            source: Source::Log(log),
        };
        let mut kept = BitSet::new(self.reduction.tables.transitions);
        let mut algorithm = self.reduction.algorithm(true);
        algorithm.choose(&mut view, &mut kept);
        algorithm
            .members()
            .unwrap_or_else(|| self.reduction.everything())
    }
}
