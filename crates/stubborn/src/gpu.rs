//! Searches on a graphics card: safety questions, and properties of infinite runs with weak automata.
//!
//! The card counts, and finds what is violated; ways and outcomes are those of the reference
//! execution, as with any other search.

mod net;

use std::sync::Arc;
use std::time::Instant;

use stubborn_emptiness::{
    CheckResult, CheckVerdict, Counterexample, Counts, FiniteRuns, ReductionOff, ReductionUse,
};
use stubborn_gpu::{Compiled, Device, Failure, Hit, Options, Sets, Watch};
use stubborn_ir::Model;
use stubborn_plan::{TemporalEngine, TemporalOptions, TemporalQuestion};
use stubborn_search::{
    End, Engine, Explore, Found, Limit, Limits, MemoryUse, Order, Progress, Search, SearchError,
    SearchResult, Stop, StoreKind, Target, TimeUse, TraceMissing, peak_resident_bytes,
};
use stubborn_system::{BitSet, FailureKind, Outcome, Successors, System, TransitionId};

use crate::load::LoadedModel;

/// The engine that explores a model on a graphics card: breadth-first, whole levels at a time. A reduction
/// is computed there from its rows, and may choose other sets than on a processor.
#[derive(Debug)]
pub struct GraphicsCard<'m> {
    model: &'m LoadedModel,
}

impl<'m> GraphicsCard<'m> {
    /// For searches of this model.
    pub fn new(model: &'m LoadedModel) -> Self {
        Self { model }
    }
}

impl Engine for GraphicsCard<'_> {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn takes(&self, search: &Search<'_>) -> Result<(), String> {
        let reason = if self.model.commands().is_none() && self.model.net().is_none() {
            "a graphics card explores DVE and Promela models and Petri nets"
        } else if search.reduction.is_some_and(|r| r.closure().is_none()) {
            "sets on a graphics card are closed under rows, these are not (--por closure, or none)"
        } else if search.order != Order::BreadthFirst {
            "searches on a graphics card are breadth-first (--order bfs)"
        } else if !search.store.kind.is_exact() {
            "searches on a graphics card store all states (--store tree)"
        } else if search.visitor.is_some() {
            "a graphics card shows its states to nobody"
        } else if search
            .proviso
            .is_some_and(|proviso| !proviso.allows_levels())
        {
            "a graphics card searches level by level, which the proviso does not allow (--proviso closed-set)"
        } else {
            return Ok(());
        };
        Err(reason.into())
    }

    fn begin<'s>(&'s self, search: &'s Search<'s>) -> Result<Box<dyn Explore + 's>, SearchError> {
        let device = Device::open();
        let device = device.map_err(|error| SearchError::Mismatch(error.to_string()))?;
        Ok(Box::new(OnCard {
            model: self.model,
            search,
            device,
            result: None,
        }))
    }
}

impl TemporalEngine for GraphicsCard<'_> {
    fn takes(
        &self,
        question: TemporalQuestion<'_>,
        options: &TemporalOptions,
    ) -> Result<(), String> {
        if self.model.commands().is_none() && self.model.net().is_none() {
            return Err("a graphics card takes DVE and Promela models and Petri nets".into());
        }
        if options.weak_fairness {
            return Err("a graphics card knows nothing of fairness".into());
        }
        let may_overflow = self
            .model
            .net()
            .is_some_and(|net| net.structure().error_state.is_some() || net::may_outgrow_card(net));
        if self.model.may_outgrow() || may_overflow {
            // Steps that fail are left out of a product, and with them what they would say.
            return Err(
                "the model may turn out to be too small, which a card does not notice".into(),
            );
        }
        watch(question)
            .map(drop)
            .map_err(|reason| reason.to_string())
    }

    fn check(
        &self,
        question: TemporalQuestion<'_>,
        limits: Limits<'_>,
        observer: Option<&(dyn Fn(&Progress) + Sync)>,
    ) -> Result<CheckResult, SearchError> {
        let started = Instant::now();
        let commands = Commands::of(self.model)?;
        let device = Device::open().map_err(|error| SearchError::Mismatch(error.to_string()))?;
        let budget = self.model.system().budget();
        budget.begin("compiling for the graphics card");
        let watch = watch(question).map_err(|reason| failed(reason.into()))?;
        let compiled = stubborn_gpu::Engine::new(&device).takes_product(commands.model(), &watch);
        let compiled = compiled.map_err(failed)?;
        budget.begin("looking for cycles on the graphics card");
        let options = Options {
            limits,
            observer,
            ..Options::default()
        };
        let found = compiled.cycles(&device, &options).map_err(failed)?;
        let counterexample = match found.lasso {
            None => None,
            Some(lasso) => {
                let (reference, states) = (self.model.reference(), commands.states(lasso.states));
                let run = Counterexample::confirmed(
                    reference,
                    question.property,
                    states,
                    lasso.cycle_start,
                );
                match run {
                    Ok(run) => Some(run),
                    Err(SearchError::GaveUp(_)) => None,
                    Err(error) => return Err(error),
                }
            }
        };
        let outcome = &found.outcome;
        let bytes = (outcome.figures.tables + outcome.figures.queues) as usize;
        Ok(CheckResult {
            // The one place where this engine may say that a property holds.
            verdict: match (found.end, self.model.system().conclude()) {
                (End::Violation, _) => CheckVerdict::Violated,
                (End::Limit(limit), _) => CheckVerdict::Unknown(limit),
                (_, Some(spent)) => CheckVerdict::Unknown(spent.into()),
                (End::Lossy, None) => CheckVerdict::Unknown(Limit::StoreFull),
                (End::Complete, None) => CheckVerdict::Holds,
            },
            counterexample,
            counts: Counts {
                states: outcome.states,
                transitions: outcome.transitions,
                expanded_by_proviso: 0,
                depth: outcome.level_sizes.len() as u64,
            },
            automaton_states: question.property.automaton().state_count(),
            reduction: ReductionUse::Off(ReductionOff::NotAsked),
            store_bytes: outcome.figures.tables as usize,
            peak_bytes: bytes,
            prepare_time: compiled.compile_time(),
            time: started.elapsed().saturating_sub(compiled.compile_time()),
            walks: 1,
        })
    }
}

/// What looks at runs for a property.
fn watch(question: TemporalQuestion<'_>) -> Result<Watch, stubborn_gpu::Refusal> {
    let property = question.property;
    let stutters = question.finite_runs == FiniteRuns::Stutter;
    Watch::new(property.automaton(), property.labels(), stutters)
}

/// What a card explores: the model's guarded commands, or those of its net.
enum Commands<'m> {
    Own(&'m Arc<Model>),
    Net(net::Lowered<'m>),
}

impl<'m> Commands<'m> {
    fn of(model: &'m LoadedModel) -> Result<Self, SearchError> {
        match (model.commands(), model.net()) {
            (Some(commands), _) => Ok(Self::Own(commands)),
            (None, Some(net)) => net::Lowered::new(net)
                .map(Self::Net)
                .map_err(not_for_a_card),
            (None, None) => Err(SearchError::Mismatch("the model has no program".into())),
        }
    }

    fn model(&self) -> &Arc<Model> {
        match self {
            Self::Own(model) => model,
            Self::Net(lowered) => &lowered.model,
        }
    }

    /// States of the model, one after the other, that the card has found as states of the commands.
    fn states(&self, states: Vec<u32>) -> Vec<u32> {
        match self {
            Self::Own(_) => states,
            Self::Net(lowered) => lowered.states(&states),
        }
    }

    /// The same for what was hit.
    fn hit(&self, hit: &Hit) -> Hit {
        let mut hit = hit.clone();
        for state in hit.kept.iter_mut().chain([&mut hit.state]) {
            *state = self.states(std::mem::take(state));
        }
        hit
    }
}

/// Ways to what was found, each as its states one after the other.
type Ways = Result<Vec<Vec<u32>>, TraceMissing>;

/// A search on a card: all of it in one go.
struct OnCard<'s> {
    model: &'s LoadedModel,
    search: &'s Search<'s>,
    device: Device,
    result: Option<Result<SearchResult, SearchError>>,
}

impl Explore for OnCard<'_> {
    /// What is on the card cannot wait there: the search ends at its own limits only.
    fn explore(&mut self, _: Option<u64>) {
        if self.result.is_none() {
            self.result = Some(self.run());
        }
    }

    fn is_waiting(&self) -> bool {
        false
    }

    fn level_sizes(&self) -> &[u64] {
        match &self.result {
            Some(Ok(result)) => &result.level_sizes,
            _ => &[],
        }
    }

    fn finish(mut self: Box<Self>) -> Result<SearchResult, SearchError> {
        self.explore(None);
        let unexplored = || Err(SearchError::NoAnswer("nothing was explored".into()));
        self.result.take().unwrap_or_else(unexplored)
    }
}

impl OnCard<'_> {
    fn run(&self) -> Result<SearchResult, SearchError> {
        let (model, search) = (self.model, self.search);
        let budget = model.system().budget();
        budget.begin("compiling for the graphics card");
        let commands = Commands::of(model)?;
        let structure = model.system().structure();
        // Steps that fail are always looked at: the model may have been too small.
        let mut targets = search.targets.clone();
        let may_fail = commands.model().structure().error_state.is_some();
        let watches = !targets.contains(&Target::Errors) && may_fail;
        targets.extend(watches.then_some(Target::Errors));
        let engine = stubborn_gpu::Engine::new(&self.device);
        let closure = search.reduction.and_then(|reduction| reduction.closure());
        let compiled = match closure {
            None => engine.takes(commands.model(), &targets),
            Some(closure) => Sets::new(&closure, search.proviso.is_some())
                .map_err(Failure::from)
                .and_then(|sets| engine.takes_reduced(commands.model(), &targets, &sets)),
        };
        let compiled = compiled.map_err(failed)?;
        budget.begin("exploring on the graphics card");
        let card = Options {
            // What is only watched is no reason to stop.
            stop: match watches {
                true => Stop::Never,
                false => search.stop,
            },
            limits: Limits { ..search.limits },
            observer: search.observer,
            ..Options::default()
        };
        let found = compiled.run(&self.device, &card).map_err(failed)?;
        let errors = found.hits.iter().find(|hit| hit.target == Target::Errors);
        let failed_at = errors.map_or_else(
            || Ok(BitSet::new(structure.failures.len())),
            |hit| failures(model, &commands.hit(hit)),
        )?;
        let explored = Instant::now();
        let (violated, ways) = self.violations(&commands, &compiled, &found.hits, &card)?;
        let violations = search.confirm(violated, ways)?;
        let figures = &found.figures;
        let mut fired = BitSet::new(structure.transitions.len());
        fired.fill();
        Ok(SearchResult {
            states: found.states,
            transitions: found.transitions,
            deadlocks: found.deadlocks,
            invalid_ends: found.invalid_ends,
            depth: (found.level_sizes.len() as u64).saturating_sub(1),
            bfs_levels: Some(found.level_sizes.len() as u64),
            level_sizes: found
                .level_sizes
                .iter()
                .copied()
                .take(SearchResult::LEVEL_SIZES)
                .collect(),
            expanded_by_proviso: found.put_back,
            // The one place where this engine may say that it has seen everything.
            end: match model.system().conclude() {
                Some(spent) => stubborn_search::End::Limit(spent.into()),
                None => found.end,
            },
            violations,
            fired,
            failed: failed_at,
            store: StoreKind::Tree,
            memory: MemoryUse {
                store: figures.tables as usize,
                queue_peak: figures.queues as usize,
                peak: (figures.tables + figures.queues) as usize,
                process_peak: peak_resident_bytes(),
            },
            time: TimeUse {
                explore: compiled.compile_time() + figures.prepare + figures.explore,
                traces: explored.elapsed(),
            },
        })
    }

    /// What was hit of the targets that were asked for, and the ways there.
    fn violations(
        &self,
        commands: &Commands<'_>,
        compiled: &Compiled,
        hits: &[Hit],
        card: &Options<'_>,
    ) -> Result<(Vec<Found>, Ways), SearchError> {
        let asked = |hit: &&Hit| self.search.targets.contains(&hit.target);
        let (mut violated, mut ways) = (Vec::new(), Ok(Vec::new()));
        for hit in hits.iter().filter(asked) {
            let way = match &ways {
                Ok(_) => compiled.way(&self.device, hit, card).map_err(failed)?,
                Err(_) => None,
            };
            let nearest = commands.hit(way.as_ref().map_or(hit, |(nearest, _)| nearest));
            let step = bad_step(self.model, &nearest)?;
            violated.push(Found {
                target: hit.target,
                count: hit.count,
                length: nearest.depth + u64::from(step.is_some()),
                state: nearest.state,
                step,
            });
            match (way, &mut ways) {
                (Some((_, way)), Ok(found)) => found.push(commands.states(way)),
                (_, Err(_)) => {}
                (None, Ok(_)) => {
                    let spent = self.model.system().budget().spent();
                    ways = Err(spent.map_or(TraceMissing::Memory, TraceMissing::from));
                }
            }
        }
        Ok((violated, ways))
    }
}

fn failed(failure: Failure) -> SearchError {
    match failure {
        Failure::Refused(reason) => not_for_a_card(reason.to_string()),
        other => SearchError::NoAnswer(other.to_string()),
    }
}

fn not_for_a_card(reason: String) -> SearchError {
    SearchError::Mismatch(format!("this model is not for a graphics card: {reason}"))
}

/// Where the steps failed that a search has met. Also notes, by executing them, whether the model
/// was too small.
fn failures(model: &LoadedModel, hit: &Hit) -> Result<BitSet, SearchError> {
    let mut failed = BitSet::new(model.system().structure().failures.len());
    let mut executor = model.system().executor();
    let mut successors = Successors::new(model.system().layout().words());
    for state in &hit.kept {
        successors.clear();
        executor.successors(state, &mut successors);
        for step in successors.iter() {
            if let Some(site) = step.outcome.failed() {
                failed.insert(site);
            }
        }
    }
    if model.net().is_some_and(|net| net::may_outgrow_card(net)) {
        let reason = "a place gets more tokens than a graphics card counts";
        return Err(SearchError::NoAnswer(reason.into()));
    }
    // Of those that were not kept, some may say that the model was too small.
    let is_outgrown = model.system().budget().is_outgrown();
    if !is_outgrown && model.may_outgrow() && hit.count > hit.kept.len() as u64 {
        let reason = "more steps fail than the graphics card can tell about";
        return Err(SearchError::NoAnswer(reason.into()));
    }
    Ok(failed)
}

/// The step that goes wrong from the state of a hit, by the reference execution.
fn bad_step(
    model: &LoadedModel,
    hit: &Hit,
) -> Result<Option<(TransitionId, Outcome)>, SearchError> {
    let assertion = match hit.target {
        Target::Errors => false,
        Target::Assertions => true,
        Target::Deadlock | Target::InvalidEnd | Target::Label(_) => return Ok(None),
    };
    let structure = model.reference().structure();
    let mut successors = Successors::new(hit.state.len());
    model
        .reference()
        .executor()
        .successors(&hit.state, &mut successors);
    let is_it = |step: &stubborn_system::Successor<'_>| {
        let mut sites = step.outcome.sites(structure);
        sites.any(|site| (site.kind == FailureKind::Assertion) == assertion)
    };
    let found = successors.iter().find(is_it);
    found
        .map(|step| Some((step.transition, step.outcome)))
        .ok_or_else(|| {
            let text = "no step goes wrong where the graphics card has seen one".into();
            SearchError::ReplayFailed(text)
        })
}
