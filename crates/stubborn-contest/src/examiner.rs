//! What all examinations share: the instance, the clock, the limits, and how to search.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stubborn_net::{
    Formula, Invariants, Linearise, Net, NetOptions, NetSystem, PlaceId, Preserve, Reduced,
    ReductionRules, StateEquation,
};
use stubborn_plan::reduction::{Made, usual_algorithm};
use stubborn_plan::{CheckOptions, Planner};
use stubborn_pnml::Model;
use stubborn_reduce::{Aim, Config};
use stubborn_search::{End, Limits, Order};
use stubborn_system::{Budget, RelationLevel, Successors, System};

use crate::answer::{Line, Technique, Value};
use crate::summed::Summed;

/// How to examine.
#[derive(Clone, Debug)]
pub struct Options<'o> {
    /// Answers must be there after this time; none is no limit.
    pub time: Option<Duration>,
    /// Most bytes for the states of one search.
    pub memory: Option<usize>,
    /// Ends the examination when somebody sets it.
    pub interrupt: Option<&'o AtomicBool>,
    /// Whether stubborn sets may be used.
    pub stubborn_sets: bool,
    /// Which structural reductions may be used.
    pub structural: ReductionRules,
    /// Whether the state equation may be used.
    pub equation: bool,
    /// Whether siphons and traps may be used.
    pub traps: bool,
    /// Whether random walks may be used.
    pub walks: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            time: None,
            memory: None,
            interrupt: None,
            stubborn_sets: true,
            structural: ReductionRules::WITHOUT_RUNS,
            equation: true,
            traps: true,
            walks: true,
        }
    }
}

/// Nets with more transitions are searched without reduction: tables of pairs would take
/// gigabytes, and a set seconds.
pub(crate) const MOST_TRANSITIONS: usize = 4_000;

/// The share of the time for a first search of everything, and the most that it may take: what comes next
/// often needs less.
const SHORT: (f64, Duration) = (0.06, Duration::from_millis(250));

/// The same for a first try of anything.
const GLANCE: (f64, Duration) = (0.0004, Duration::from_millis(2));

/// Time without a limit.
const FOREVER: Duration = Duration::from_secs(1 << 32);

/// Sees a state and its successors; false if it has seen enough. What it collects must not depend
/// on order or repetition: a search may expand a state more than once.
pub(crate) type Visitor<'v> = dyn FnMut(&[u32], &Successors) -> bool + Send + 'v;

/// An examination in progress.
pub(crate) struct Examiner<'f> {
    pub(crate) model: &'f Model,
    pub(crate) options: &'f Options<'f>,
    end: Option<Instant>,
    out: &'f mut dyn FnMut(Line),
}

impl<'f> Examiner<'f> {
    /// Statements about a marking as simple as the state equation makes them within about this
    /// time: what it decides for all markings is a constant.
    pub(crate) fn by_equation(
        &self,
        system: &NetSystem,
        statements: &[&Formula],
        time: Duration,
    ) -> Vec<Formula> {
        if !self.options.equation || self.is_over() {
            return statements.iter().map(|s| (*s).clone()).collect();
        }
        let each = time / statements.len().max(1) as u32;
        let equation = StateEquation::new(system.net());
        let linear = Linearise::new(system.net(), system.bounds());
        let simplified = |s: &&Formula| linear.simplified(&equation, s, each);
        statements.iter().map(simplified).collect()
    }

    pub(crate) fn new(
        model: &'f Model,
        options: &'f Options<'f>,
        started: Instant,
        out: &'f mut dyn FnMut(Line),
    ) -> Self {
        Self {
            model,
            options,
            end: options.time.and_then(|time| started.checked_add(time)),
            out,
        }
    }

    /// The net, ready for execution.
    pub(crate) fn system(&self) -> Option<NetSystem> {
        let net = self.model.net.clone();
        let narrow = NetOptions::narrow(&net);
        NetSystem::with_options(net, narrow).ok()
    }

    /// The net, ready at once for execution in states that are longer than they need to be.
    pub(crate) fn system_without_invariants(&self) -> Option<NetSystem> {
        let net = self.model.net.clone();
        let narrow = NetOptions::narrow(&net);
        NetSystem::knowing(net, Invariants::default(), narrow, Arc::default()).ok()
    }

    /// The sums of tokens over the colours of a coloured net.
    pub(crate) fn summed(&self) -> Option<Summed<'f>> {
        let model = self.model;
        let groups = model.place_groups().map(|(_, group)| group);
        model.coloured.then(|| Summed::new(&model.net, groups))?
    }

    /// Lets somebody else answer questions of our own, in a part of the time; the answers.
    pub(crate) fn ask(&self, share: f64, ask: impl FnOnce(&mut Examiner<'_>)) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut out = |line| lines.push(line);
        let end = Instant::now().checked_add(self.left().mul_f64(share));
        let mut other = Examiner {
            model: self.model,
            options: self.options,
            end: end.filter(|_| self.end.is_some()),
            out: &mut out,
        };
        ask(&mut other);
        lines
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        match self.end {
            Some(end) => end.saturating_duration_since(Instant::now()),
            None => FOREVER,
        }
    }

    /// A part of the time that is left, and no more than `most`.
    pub(crate) fn slice(&self, share: f64, most: Duration) -> Duration {
        self.left().mul_f64(share).min(most)
    }

    /// The time for a first search of everything: a net with few states needs nothing else.
    pub(crate) fn short(&self) -> Duration {
        self.slice(SHORT.0, SHORT.1)
    }

    /// The time for a first try of a technique: what is easy for one should not wait until another has
    /// used up its share.
    pub(crate) fn glance(&self) -> Duration {
        self.slice(GLANCE.0, GLANCE.1)
    }

    /// Whether there is no time left, or somebody wants an end.
    pub(crate) fn is_over(&self) -> bool {
        let interrupted = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        self.options.interrupt.is_some_and(interrupted) || self.left().is_zero()
    }

    /// Gives an answer.
    pub(crate) fn answer(&mut self, id: &str, value: Value, techniques: &[Technique]) {
        let techniques = self.techniques(techniques);
        (self.out)(Line::Formula {
            id: id.to_owned(),
            value,
            techniques,
        });
    }

    /// Gives a number about the state space; none if there is no end to it.
    pub(crate) fn measure(
        &mut self,
        measure: &'static str,
        value: Option<u128>,
        techniques: &[Technique],
    ) {
        let techniques = self.techniques(techniques);
        (self.out)(Line::StateSpace {
            measure,
            value,
            techniques,
        });
    }

    /// Says that nothing can be said.
    pub(crate) fn give_up(&mut self) {
        (self.out)(Line::CannotCompute);
    }

    fn techniques(&self, own: &[Technique]) -> Vec<Technique> {
        let mut all = own.to_vec();
        if self.model.coloured {
            all.push(Technique::Unfolding);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Explores a net and shows every state to the visitor, until it has seen enough or the time
    /// is over.
    pub(crate) fn explore(
        &self,
        system: &NetSystem,
        reduction: Option<&Made<'_>>,
        way: Way,
        visitor: &mut Visitor<'_>,
    ) -> Coverage {
        // Of this search alone: fields of places are narrow, and others may have filled them.
        system.forget_overflow();
        let visitor = Mutex::new(visitor);
        let visit = |state: &[u32], successors: &Successors| {
            let mut visitor = visitor.lock().unwrap_or_else(PoisonError::into_inner);
            (*visitor)(state, successors)
        };
        let options = CheckOptions {
            order: way.order,
            seed: way.seed,
            limits: self.limits(way.time),
            ..CheckOptions::default()
        };
        match Planner::new(system, &options).visit(reduction, &visit) {
            Ok(result) if result.end == End::Complete => Coverage::Complete,
            _ => Coverage::Partial,
        }
    }

    /// The limits of a search that may take so long.
    pub(crate) fn limits(&self, time: Duration) -> Limits<'_> {
        Limits {
            memory: self.options.memory,
            time: Some(time),
            interrupt: self.options.interrupt,
            ..Limits::default()
        }
    }

    /// A net made smaller, as far as the rules come in a part of the time; none if there are none.
    pub(crate) fn reduced(&self, net: &Net, preserve: &Preserve) -> Option<Reduced> {
        let rules = self.options.structural;
        let time = self.slice(0.05, Duration::from_secs(60));
        let budget = Budget::unlimited().with_time(Some(time));
        (rules != ReductionRules::NONE).then(|| Reduced::within(net, preserve, rules, &budget))
    }

    /// The reduced net of a system, ready for execution with what is known of the system.
    pub(crate) fn smaller(&self, system: &NetSystem, reduced: &Reduced) -> Option<NetSystem> {
        let net = reduced.net.clone();
        let narrow = NetOptions::narrow(&net);
        let invariants = reduced.invariants(system.invariants());
        NetSystem::knowing(net, invariants, narrow, system.shared_budget().clone()).ok()
    }

    /// A reduction of a net for an aim, if reductions are allowed and the net is not too large
    /// for the tables that they need. Sets are strong.
    pub(crate) fn reduction<'s>(&self, system: &'s NetSystem, aim: Aim) -> Option<Made<'s>> {
        let transitions = system.structure().transitions.len();
        if !self.options.stubborn_sets || transitions > MOST_TRANSITIONS {
            return None;
        }
        let config = Config::new(usual_algorithm(&aim));
        let relations = system.relations(RelationLevel::Reach);
        Made::new(system, &relations, &config, aim).ok()
    }
}

/// In which order to search, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) order: Order,
    pub(crate) seed: Option<u64>,
    pub(crate) time: Duration,
}

impl Way {
    pub(crate) fn breadth_first(time: Duration) -> Self {
        Self {
            order: Order::BreadthFirst,
            seed: None,
            time,
        }
    }

    pub(crate) fn depth_first(seed: u64, time: Duration) -> Self {
        Self {
            order: Order::DepthFirst,
            seed: (seed > 0).then_some(seed),
            time,
        }
    }
}

/// How much a search has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Everything: what was not seen does not happen.
    Complete,
    /// Not everything.
    Partial,
}

/// The tokens of some places together.
pub(crate) fn sum(system: &NetSystem, state: &[u32], places: &[PlaceId]) -> u64 {
    let tokens = places.iter().map(|place| system.tokens(state, *place));
    tokens.fold(0, u64::saturating_add)
}
