//! One check of one property: the product, the walk, the verdict.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rapidhash::RapidHashSet;
use stubborn_cluster::{Cluster, hash_of};
use stubborn_ltl::hoa::write_hoa;
use stubborn_reduce::steer::SteeredReduction;
use stubborn_reduce::{Aim, Config, Plan, StubbornReduction};
use stubborn_search::{
    Limit, Limits, Progress, STATES_OF_PRODUCT, SearchError, better_tree_of_product,
};
use stubborn_store::saved::{Kind, Sink, damaged};
use stubborn_store::{Leaves, MemoryBudget, StateHandle, Store, StoreOptions};
use stubborn_system::{BitSet, LabelId, Reducer, Reduction, Relations, Spent, System};

use crate::fairness::Fair;
use crate::gate::Gate;
use crate::kept::{self, Begun, CheckKeeper};
use crate::lasso::Region;
use crate::parallel::cndfs::NestedWorker;
use crate::parallel::components::{ComponentWorker, Sets};
use crate::parallel::union_find::MOST_WORKERS;
use crate::parallel::{self, Outcome, Shared};
use crate::prepare::{
    FiniteRuns, Fitting, Prepared, PutBack, ReductionOff, Soundness, SteeringMode, prepare,
};
use crate::product::{Product, Reducers, Watcher, propositions_ahead};
use crate::property::Property;
use crate::proviso::CycleProviso;
use crate::pulse::{Surroundings, limit_of};
use crate::result::{CheckResult, CheckVerdict, ReductionUse};
use crate::shared::SharedExpansions;
use crate::space::{Node, flags};
use crate::steering::{Steering, SteeringTables};
use crate::sticky::{StickyReducer, sticky_transitions};
use crate::walk::{Emptiness, Walk};

/// A check, ready to [run](Check::run).
#[derive(Clone)]
pub struct Check<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// The system to replay counterexamples on: another execution of the same model (the
    /// interpreter, where `system` is compiled code). By default `system` itself, with a
    /// fresh executor.
    pub replay: Option<&'a dyn System>,
    /// What to check.
    pub property: &'a Property,
    /// How acceptance is looked for.
    pub emptiness: Emptiness,
    /// How to reduce the product, where that is sound; `None` not to.
    pub reduction: Option<ReductionRequest<'a>>,
    /// Whether sets are made for the state that the automaton is in.
    pub steering: SteeringMode,
    /// What runs that end mean.
    pub finite_runs: FiniteRuns,
    /// Look at weakly fair runs only: a process that could move all the time moves again
    /// and again. There is no reduction then.
    pub weak_fairness: bool,
    /// What a state that a proviso expands gets back, where one thread searches.
    pub expansion: PutBack,
    /// Only what the automaton can still look at, from the state that it is in, counts as
    /// visible (after Kokkarinen, Peled, Valmari, *Relaxed visibility enhances partial order
    /// reduction*, 1997).
    pub relaxed_visibility: bool,
    /// So many states are entered in depth-first order, which finds most violations soon. After
    /// that, one thread that looks for [components](Emptiness::Components) explores those through
    /// which no accepting cycle can go some at a time: that is faster.
    pub depth_first: u64,
    /// Whether a violation is told as a counterexample; otherwise the verdict is all.
    pub counterexample: bool,
    /// A short counterexample is looked for among the nodes nearest to the start of the product: a part
    /// of as many as the search has entered, so that it does not cost more than that, but within these
    /// bounds.
    pub near: RangeInclusive<u64>,
    /// How many threads search; [`Emptiness`] says how. At most [`Check::MOST_THREADS`].
    pub threads: usize,
    /// The processes that share the product, if there are several: all of them must run the same
    /// checks, one after the other. A proviso is that of [sticky transitions](CycleProviso::STICKY)
    /// then.
    pub cluster: Option<&'a Mutex<Cluster>>,
    /// How states are stored; exactly.
    pub store: StoreOptions,
    /// When to give up.
    pub limits: Limits<'a>,
    /// Told how far the check is, a few times a second.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Keeps the check, for another run to go on with.
    pub keeper: Option<&'a dyn CheckKeeper>,
}

/// A wish for a reduction.
#[derive(Clone)]
pub struct ReductionRequest<'a> {
    /// How sets are computed.
    pub config: Config,
    /// The relations of the system.
    pub relations: &'a Relations,
    /// How cycles get their expanded states.
    pub proviso: CycleProviso,
    /// What to do where the automaton is not fit for a reduction.
    pub fitting: Fitting,
}

/// How one check is reduced.
#[derive(Debug, Default)]
pub(crate) struct Reductions {
    pub(crate) classic: Vec<StubbornReduction>,
    /// Which of them is for a state of the automaton, if there are several.
    pub(crate) class_of: Vec<usize>,
    pub(crate) steering: Option<SteeringTables>,
    /// States that keep one of these are expanded, and there is no other proviso.
    pub(crate) sticky: Option<BitSet>,
    /// Of what is put back.
    pub(crate) closing: Option<StubbornReduction>,
}

/// What the threads of one walk share.
pub(crate) struct Setting<'f> {
    pub(crate) watcher: Watcher<'f>,
    pub(crate) reductions: &'f Reductions,
    pub(crate) store: &'f Store,
    pub(crate) bounds: Bounds<'f>,
}

/// What came of a walk by one thread.
enum Alone {
    /// The result; and whether no state of the system was newly expanded.
    Walked { is_final: bool },
    /// It is not a small one, and this would be a better tree for it: it starts again.
    Knows(Leaves),
}

/// What keeps the walks of one check within limits.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'f> {
    pub(crate) memory: &'f Arc<MemoryBudget>,
    pub(crate) started: Instant,
    pub(crate) gate: Option<&'f Gate>,
}

/// States of the system that are expanded wherever they occur, in which walk, and whether it has
/// found more of them. See [`shared`](crate::shared).
#[derive(Clone, Copy)]
pub(crate) struct Everywhere<'f> {
    store: &'f Store,
    walks: u32,
    has_grown: bool,
}

/// So many walks may fail to find out which states to expand wherever they occur; then all
/// are.
const MOST_WALKS: u32 = 12;

/// Of the thread of a check that can be paused: as much as a program's first thread has.
const STACK: usize = 8 << 20;

impl<'a> Check<'a> {
    /// Most threads that a check uses.
    pub const MOST_THREADS: usize = MOST_WORKERS;

    /// An unreduced check.
    pub fn new(system: &'a dyn System, property: &'a Property) -> Self {
        Self {
            system,
            replay: None,
            property,
            emptiness: Emptiness::default(),
            reduction: None,
            steering: SteeringMode::default(),
            expansion: PutBack::default(),
            relaxed_visibility: false,
            finite_runs: FiniteRuns::default(),
            weak_fairness: false,
            depth_first: 100_000,
            counterexample: true,
            near: 20_000..=500_000,
            threads: 1,
            cluster: None,
            store: StoreOptions::default(),
            limits: Limits::default(),
            observer: None,
            keeper: None,
        }
    }

    /// Runs the check.
    ///
    /// # Errors
    /// Where the parts do not fit together, and where a counterexample turns out not to be
    /// one: then something in this program is wrong.
    pub fn run(&self) -> Result<CheckResult, SearchError> {
        self.run_through(None)
    }

    /// The same in several goes. The check waits when it has entered more than `first` states, and
    /// `ask` is told how many it was allowed: it says how many may follow, or `None` to end it
    /// there. Meanwhile the caller can do what it likes: the check has threads of its own.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_in_goes(
        &self,
        first: u64,
        ask: impl FnMut(u64) -> Option<u64>,
    ) -> Result<CheckResult, SearchError> {
        /// Whoever waits for the check must not wait for one that has panicked.
        struct Close<'g>(&'g Gate);
        impl Drop for Close<'_> {
            fn drop(&mut self) {
                self.0.close();
            }
        }
        let gate = Gate::new(first);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let walk = thread.spawn_scoped(scope, || {
                let _close = Close(&gate);
                self.run_through(Some(&gate))
            });
            let Ok(walk) = walk else {
                // Without another thread there is nobody to wait for.
                return self.run();
            };
            gate.attend(ask);
            walk.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn run_through(&self, gate: Option<&Gate>) -> Result<CheckResult, SearchError> {
        let started = Instant::now();
        let spending = self.system.budget();
        spending.begin("preparing the automaton of a property");
        let own = self.property.automaton();
        let automaton = match self.emptiness {
            Emptiness::Nested if own.acceptance_sets() > 1 && !self.weak_fairness => {
                own.degeneralise()
            }
            _ => own.clone(),
        };
        let (prepared, reductions, used) = match self.prepare(&automaton) {
            Ok(all) => all,
            Err(why) => (
                Prepared::as_is(automaton),
                Reductions::default(),
                ReductionUse::Off(why),
            ),
        };
        let (proviso, by_state) = match &used {
            ReductionUse::On {
                proviso, soundness, ..
            } => {
                // With sticky transitions, expansions depend on the system's state anyway.
                let by_state = *soundness == Soundness::ByState && *proviso != CycleProviso::STICKY;
                (*proviso, by_state)
            }
            ReductionUse::Off(_) => (CycleProviso::NONE, false),
        };
        let prepare_time = started.elapsed();
        spending.begin("");
        let mut result = match by_state {
            false => self.search(&prepared, &reductions, proviso, gate)?,
            true => self.search_by_state(&prepared, &reductions, proviso, gate)?,
        };
        // The one place where a check may say that a property holds. If the budget was spent at
        // any time, executors may have given up, and nobody knows.
        match (self.system.conclude(), result.verdict) {
            // A run of a model that is too small is none of the model.
            (Some(Spent::Outgrown), _) => {
                result.verdict = CheckVerdict::Unknown(Limit::Outgrown);
                result.counterexample = None;
            }
            // A limit that was reached before all else was seen says more.
            (Some(Spent::LeftOut), CheckVerdict::Unknown(_)) => {}
            (Some(spent), CheckVerdict::Holds | CheckVerdict::Unknown(_)) => {
                result.verdict = CheckVerdict::Unknown(spent.into());
            }
            _ => {}
        }
        if let Some(cluster) = self.cluster {
            self.agree_on_verdict(cluster, &mut result)?;
        }
        result.reduction = used;
        result.prepare_time = prepare_time;
        Ok(result)
    }

    /// What is needed for a reduction, or why there is none.
    pub(crate) fn prepare(
        &self,
        automaton: &stubborn_ltl::automaton::Automaton,
    ) -> Result<(Prepared, Reductions, ReductionUse), ReductionOff> {
        let request = self.reduction.as_ref().ok_or(ReductionOff::NotAsked)?;
        if self.weak_fairness {
            return Err(ReductionOff::Fairness);
        }
        // Several processes have no order in which a proviso could look at cycles.
        let wanted_proviso = match self.cluster {
            Some(_) => CycleProviso::STICKY,
            None => request.proviso,
        };
        let refused =
            |error: stubborn_reduce::ConfigError| ReductionOff::Refused(error.to_string());
        if request.config.weak && wanted_proviso.needs_strong_sets() {
            let why = format!("`{wanted_proviso}` is not sound with weak sets");
            return Err(ReductionOff::Refused(why));
        }
        let plan_for = |labels: Vec<LabelId>| {
            let aim = Aim::Traces {
                labels,
                infinite: true,
            };
            Plan::new(&request.config, aim).map_err(refused)
        };
        let plan = plan_for(self.property.used_labels())?;
        // Threads share no list of states to expand everywhere.
        let mut fitting = match self.threads {
            0 | 1 => request.fitting,
            _ => Fitting::Normalise,
        };
        let mut steering = self.steering;
        let only_visible = self.expansion == PutBack::Visible && self.threads <= 1;
        if only_visible {
            // A choice, not a condition: which states are expanded everywhere would be known, but not with
            // what.
            (fitting, steering) = (Fitting::Normalise, SteeringMode::Off);
        }
        if self.relaxed_visibility {
            // What is kept depends on the automaton's state.
            fitting = Fitting::Normalise;
        }
        let (prepared, soundness) = prepare(self.property, automaton, fitting, steering)?;
        let mut reductions = Reductions::default();
        if only_visible {
            let plan = plan.clone().with_all_visible();
            let closing = StubbornReduction::new(self.system, request.relations, plan);
            reductions.closing = Some(closing.map_err(refused)?);
        }
        if soundness != Soundness::Steered {
            let with = |plan: Plan| {
                let classic = StubbornReduction::new(self.system, request.relations, plan);
                classic.map_err(refused)
            };
            reductions.classic.push(with(plan)?);
            if self.relaxed_visibility {
                let mut seen = vec![self.property.used_labels()];
                for propositions in propositions_ahead(&prepared.automaton) {
                    let labels = self.property.labels();
                    let labels = propositions.iter().map(|p| labels[*p as usize]);
                    let mut labels: Vec<LabelId> = labels.collect();
                    labels.sort_unstable();
                    labels.dedup();
                    let known = seen.iter().position(|known| *known == labels);
                    reductions.class_of.push(known.unwrap_or(seen.len()));
                    if known.is_none() {
                        reductions.classic.push(with(plan_for(labels.clone())?)?);
                        seen.push(labels);
                    }
                }
            }
            if wanted_proviso == CycleProviso::STICKY {
                let structure = self.system.structure();
                reductions.sticky = Some(sticky_transitions(structure, request.relations));
            }
        }
        if matches!(soundness, Soundness::Steered | Soundness::Mixed) {
            let steered = SteeredReduction::new(self.system, request.relations, &request.config);
            reductions.steering = Some(SteeringTables::new(
                steered.map_err(refused)?,
                &prepared.automaton,
                self.property.labels(),
                request.relations,
                self.system.structure().transitions.len(),
            ));
        }
        let used = ReductionUse::On {
            name: match reductions.classic.first() {
                Some(classic) => classic.name(),
                None => "automaton".into(),
            },
            proviso: match (soundness, self.threads, self.emptiness) {
                (Soundness::Steered, ..) => CycleProviso::NONE,
                (_, 0 | 1, _) => wanted_proviso,
                _ if wanted_proviso == CycleProviso::STICKY => wanted_proviso,
                (_, _, Emptiness::Nested) => CycleProviso::PARALLEL,
                (_, _, Emptiness::Components) => CycleProviso::CLOSED_SET,
            },
            soundness,
        };
        Ok((prepared, reductions, used))
    }

    /// Looks for a violating run in the product with this automaton.
    pub(crate) fn search(
        &self,
        prepared: &Prepared,
        reductions: &Reductions,
        proviso: CycleProviso,
        gate: Option<&Gate>,
    ) -> Result<CheckResult, SearchError> {
        let bounds = Bounds {
            memory: &self.limits.memory_budget(self.system),
            started: Instant::now(),
            gate,
        };
        let mut begun = match self.cluster {
            // The leader has it for all of them.
            Some(_) => None,
            None => self.take_up(prepared)?,
        };
        if let Some(begun) = &mut begun {
            kept::read(begun, |source| source.at_most(0, "another way to search"))?;
        }
        let (result, _) = self.walk(prepared, reductions, proviso, bounds, None, begun)?;
        Ok(result)
    }

    /// The same, with states that are expanded wherever they occur. See
    /// [`shared`](crate::shared).
    fn search_by_state(
        &self,
        prepared: &Prepared,
        reductions: &Reductions,
        mut proviso: CycleProviso,
        gate: Option<&Gate>,
    ) -> Result<CheckResult, SearchError> {
        let memory = self.limits.memory_budget(self.system);
        let width = self.system.layout().words();
        let bounds = Bounds {
            memory: &memory,
            started: Instant::now(),
            gate,
        };
        let (mut walks, mut has_grown) = (0, false);
        let mut begun = self.take_up(prepared)?;
        let shared = match &mut begun {
            None => Store::new(width, &self.store, &memory),
            Some(begun) => Ok(kept::read(begun, |source| {
                // It is counted again below.
                walks = source.at_most(MOST_WALKS.into(), "too many walks")? as u32;
                walks = walks.checked_sub(1).ok_or_else(|| damaged("no walk"))?;
                has_grown = kept::yes_or_no(source)?;
                Store::restore(width, &self.store, &memory, source)
            })?),
        };
        let shared = match shared {
            Ok(store) => store,
            Err(error) => return Ok(CheckResult::unknown(prepared, limit_of(error))),
        };
        loop {
            walks += 1;
            if walks == MOST_WALKS {
                proviso = CycleProviso::FULL;
            }
            let everywhere = Everywhere {
                store: &shared,
                walks,
                has_grown: std::mem::take(&mut has_grown),
            };
            let (everywhere, begun) = (Some(everywhere), begun.take());
            let (mut result, is_final) =
                self.walk(prepared, reductions, proviso, bounds, everywhere, begun)?;
            if is_final || walks == MOST_WALKS || result.verdict != CheckVerdict::Holds {
                result.walks = walks;
                return Ok(result);
            }
        }
    }

    /// What must be the same for a check to go on.
    pub(crate) fn description(&self, prepared: &Prepared) -> String {
        let automaton = write_hoa(&prepared.automaton, None);
        let labels = self
            .property
            .labels()
            .iter()
            .map(|label| label.index() as u32);
        let hash = hash_of(automaton.bytes().map(u32::from).chain(labels));
        format!(
            "{} of a product with {} states of automaton {hash:x}; store {:?}, fairness {}, finite \
             runs {:?}, reduction {}",
            self.emptiness.name(),
            prepared.automaton.state_count(),
            self.store.kind,
            self.weak_fairness,
            self.finite_runs,
            match &self.reduction {
                None => "none".into(),
                Some(request) => format!("{:?} --proviso {}", request.config, request.proviso),
            },
        )
    }

    /// The check that was not done, if it is to be taken up: what follows its description.
    fn take_up(&self, prepared: &Prepared) -> Result<Option<Begun>, SearchError> {
        let Some(mut begun) = Begun::of(self.keeper) else {
            return Ok(None);
        };
        let saved = kept::read(&mut begun, |source| {
            source.expect(Kind::Check, "no check was saved")?;
            source.text()
        })?;
        let own = self.description(prepared);
        match saved == own {
            true => Ok(Some(begun)),
            false => Err(SearchError::Mismatch(format!(
                "another check was saved ({saved}) than the one to go on with ({own})"
            ))),
        }
    }

    /// Writes down a walk that waits.
    fn save(
        &self,
        prepared: &Prepared,
        setting: &Setting<'_>,
        everywhere: Option<Everywhere<'_>>,
        walk: &Walk<'_, Product<'_>>,
        sink: &mut Sink<'_>,
    ) -> std::io::Result<()> {
        if self.system.is_spoilt() {
            return Err(std::io::ErrorKind::Unsupported.into());
        }
        sink.number(Kind::Check.number())?;
        sink.text(&self.description(prepared))?;
        match everywhere {
            None => sink.number(0)?,
            Some(everywhere) => {
                let has_grown = walk.space.has_new_expansions();
                sink.numbers([everywhere.walks.into(), has_grown.into()])?;
                everywhere.store.save(sink)?;
            }
        }
        setting.store.save(sink)?;
        walk.save(sink)
    }

    /// One walk through the product. Also says whether no state of the system was newly
    /// expanded.
    fn walk(
        &self,
        prepared: &Prepared,
        reductions: &Reductions,
        proviso: CycleProviso,
        bounds: Bounds<'_>,
        everywhere: Option<Everywhere<'_>>,
        mut begun: Option<Begun>,
    ) -> Result<(CheckResult, bool), SearchError> {
        let mut result = CheckResult::unknown(prepared, Limit::Memory);
        let sets = prepared.automaton.acceptance_sets();
        let fair = match self.weak_fairness {
            true => Some(Fair::new(self.system, sets, self.emptiness)?),
            false => None,
        };
        let levels = fair.as_ref().map_or(1, Fair::levels);
        if u64::from(levels) * prepared.automaton.state_count() as u64 > u64::from(u32::MAX) {
            return Err(SearchError::Mismatch(
                "the automaton has too many states for so many processes".into(),
            ));
        }
        let width = self.system.layout().words() + 1;
        let options = match self.cluster {
            Some(_) => self.store_apart(),
            None => self.store.clone(),
        };
        let store = match &mut begun {
            None => Store::new(width, &options, bounds.memory),
            Some(begun) => Ok(kept::read(begun, |source| {
                Store::restore(width, &options, bounds.memory, source)
            })?),
        };
        if let Some(cluster) = self.cluster
            && let Some(limit) = self.meet(cluster, &store)?
        {
            result.verdict = CheckVerdict::Unknown(limit);
            return Ok((result, true));
        }
        let store = match store {
            Ok(store) => store,
            Err(error) => {
                result.verdict = CheckVerdict::Unknown(limit_of(error));
                return Ok((result, true));
            }
        };
        if !store.is_exact() {
            return Err(SearchError::Mismatch(
                "temporal properties need a store that keeps states apart: `tree` or `plain`"
                    .into(),
            ));
        }
        let setting = self.setting(prepared, reductions, fair.as_ref(), &store, bounds);
        let mut is_final = true;
        let mut better_tree = None;
        if let Some(cluster) = self.cluster {
            let description = self.description(prepared);
            self.walk_apart(cluster, &setting, &description, &mut result)?;
        } else if self.threads > 1 {
            self.walk_together(&setting, &mut result)?;
        } else {
            let alone = (proviso, everywhere, begun);
            match self.walk_alone(prepared, &setting, alone, &mut result)? {
                Alone::Walked { is_final: walked } => is_final = walked,
                Alone::Knows(tree) => better_tree = Some(Arc::new(tree)),
            }
        }
        if better_tree.is_some() {
            drop(store);
            let mut again = self.clone();
            again.store.leaves = better_tree;
            return again.walk(prepared, reductions, proviso, bounds, everywhere, None);
        }
        result.store_bytes = store.bytes();
        result.peak_bytes = bounds.memory.peak();
        result.time = bounds.started.elapsed();
        Ok((result, is_final))
    }

    /// What the threads of a walk share.
    pub(crate) fn setting<'f>(
        &'f self,
        prepared: &'f Prepared,
        reductions: &'f Reductions,
        fair: Option<&'f Fair>,
        store: &'f Store,
        bounds: Bounds<'f>,
    ) -> Setting<'f> {
        Setting {
            watcher: Watcher {
                automaton: &prepared.automaton,
                starts: &prepared.starts,
                labels: self.property.labels(),
                stutters: self.finite_runs == FiniteRuns::Stutter,
                fair,
            },
            reductions,
            store,
            bounds,
        }
    }

    /// A view of the product for one thread.
    pub(crate) fn product<'p>(
        &'p self,
        setting: &Setting<'p>,
        shared: Option<Everywhere<'p>>,
    ) -> Product<'p> {
        let reductions = setting.reductions;
        let reducer = |classic: &'p StubbornReduction| -> Box<dyn Reducer + 'p> {
            let inner = classic.reducer();
            match &reductions.sticky {
                Some(sticky) => Box::new(StickyReducer { inner, sticky }),
                None => inner,
            }
        };
        let reducers = Reducers {
            classic: reductions.classic.iter().map(reducer).collect(),
            class_of: &reductions.class_of,
            needs_proviso: reductions.sticky.is_none(),
            steering: reductions.steering.as_ref().map(Steering::new),
            closing: reductions.closing.as_ref().map(|closing| closing.reducer()),
            shared: shared.map(|all| SharedExpansions::new(all.store, all.has_grown)),
        };
        let surroundings = Surroundings {
            store: setting.store,
            memory: setting.bounds.memory,
            budget: self.system.budget(),
            limits: Limits {
                // Of all processes together.
                states: self.limits.states.filter(|_| self.cluster.is_none()),
                ..self.limits
            },
            gate: setting.bounds.gate,
            started: setting.bounds.started,
            observer: self.observer,
        };
        Product::new(self.system, &setting.watcher, reducers, surroundings)
    }

    /// One thread.
    fn walk_alone(
        &self,
        prepared: &Prepared,
        setting: &Setting<'_>,
        (proviso, everywhere, begun): (CycleProviso, Option<Everywhere<'_>>, Option<Begun>),
        result: &mut CheckResult,
    ) -> Result<Alone, SearchError> {
        let mut product = self.product(setting, everywhere);
        let all = setting.watcher.all_marks();
        let can_pause = self.emptiness == Emptiness::Components && !proviso.goes_ahead();
        let keeper = self.keeper.filter(|_| can_pause);
        product.pause_at(keeper.map(CheckKeeper::pause));
        if self.emptiness == Emptiness::Components {
            product.tell_loose_nodes();
        }
        // A check that may turn out to be worth a reduction has been asked by then. (What is kept has one
        // tree.)
        let large = match self.reduction {
            None => 2 * STATES_OF_PRODUCT,
            Some(_) => STATES_OF_PRODUCT,
        };
        let mut looks_at_tree = can_pause
            && self.keeper.is_none()
            && !self.weak_fairness
            && self.store.leaves.is_none();
        product.stop_once(looks_at_tree.then_some(large));
        let mut walk = Walk::new(&mut product, proviso, self.emptiness, Some(all));
        walk.depth_first = self.depth_first;
        if let Some(mut begun) = begun {
            let mut worker = setting.store.worker();
            let mut is_node = |node: Node| worker.holds(StateHandle::from_bits(node.0));
            kept::read(&mut begun, |source| walk.restore(source, &mut is_node))?;
        }
        let found = loop {
            keeper.inspect(|keeper| keeper.is_exploring(true));
            let found = walk.run();
            keeper.inspect(|keeper| keeper.is_exploring(false));
            if looks_at_tree && !walk.space.stops_once() && walk.can_go_on() {
                looks_at_tree = false;
                match better_tree_of_product(self.system, setting.store) {
                    Some(tree) => return Ok(Alone::Knows(tree)),
                    None => continue,
                }
            }
            let (Err(limit), Some(keeper), true) = (found, keeper, walk.can_go_on()) else {
                break found;
            };
            let mut write =
                |sink: &mut Sink<'_>| self.save(prepared, setting, everywhere, &walk, sink);
            let is_paused = keeper.pause().load(Ordering::Relaxed);
            if !keeper.keep((!is_paused).then_some(limit), &mut write) {
                break found;
            }
        };
        walk.space.pause_at(None);
        result.counts = walk.counts;
        match found {
            Ok(false) => result.verdict = CheckVerdict::Holds,
            Err(limit) => result.verdict = CheckVerdict::Unknown(limit),
            Ok(true) => {
                let (inside, open) = walk.into_regions();
                let region = Region {
                    inside: &|node| inside.contains(&node),
                    open: &|node| open.contains(&node),
                    // The way there leads over loose nodes, too.
                    left: match product.tells_loose_nodes() {
                        true => flags::DEAD,
                        false => 0,
                    },
                    all,
                };
                self.report(&mut product, setting, &region, result)?;
            }
        }
        Ok(Alone::Walked {
            is_final: !product.has_new_expansions(),
        })
    }

    /// Several threads.
    fn walk_together(
        &self,
        setting: &Setting<'_>,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        let shared = Shared::default();
        let sets = Sets::default();
        let all = setting.watcher.all_marks();
        let work = |worker: usize| {
            let mut product = self.product(setting, None);
            if worker > 0 {
                product.forget_observer();
            }
            match self.emptiness {
                Emptiness::Components => {
                    ComponentWorker::new(&mut product, &shared, &sets, worker, all).run();
                }
                Emptiness::Nested => {
                    NestedWorker::new(&mut product, &shared, worker, all).run();
                }
            }
        };
        std::thread::scope(|scope| {
            for worker in 1..self.threads.min(Self::MOST_THREADS) {
                let work = &work;
                scope.spawn(move || work(worker));
            }
            work(0);
        });
        result.counts = shared.counts();
        let lasso = match shared.outcome() {
            Outcome::Empty => {
                result.verdict = CheckVerdict::Holds;
                return Ok(());
            }
            Outcome::Stopped(limit) => {
                result.verdict = CheckVerdict::Unknown(limit);
                return Ok(());
            }
            Outcome::Accepting(lasso) => lasso,
        };
        let mut product = self.product(setting, None);
        match (self.emptiness, lasso.cycle.first()) {
            (Emptiness::Components, Some(first)) => {
                sets.close_cycles();
                let region = Region {
                    inside: &|node| sets.are_together(node, *first),
                    open: &|node| sets.contains(node),
                    // The way there may lead over nodes that were forgotten since.
                    left: parallel::flags::LEFT,
                    all,
                };
                self.report(&mut product, setting, &region, result)
            }
            _ => {
                let cycle: RapidHashSet<Node> = lasso.cycle.iter().copied().collect();
                let stem: RapidHashSet<Node> = lasso.stem.iter().copied().collect();
                let region = Region {
                    inside: &|node| cycle.contains(&node),
                    open: &|node| cycle.contains(&node) || stem.contains(&node),
                    left: 0,
                    all,
                };
                self.report(&mut product, setting, &region, result)
            }
        }
    }
}
