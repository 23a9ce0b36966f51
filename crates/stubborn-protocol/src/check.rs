//! Checking a protocol: what to look for, and how.

mod messages;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stubborn_emptiness::{CheckVerdict, FiniteRuns, Property as LtlProperty};
use stubborn_ltl::parser::Syntax;
use stubborn_plan::reduction::{Made, PlannedSearch};
use stubborn_plan::{
    CheckOptions, Planner, Por, ReductionOptions, TemporalOptions, TemporalQuestion, Verdict,
};
use stubborn_reduce::{Aim, Algorithm, Config, Goals};
use stubborn_search::{End, Limit, Limits, Order, Stop, StoreOptions, Target, Trace, Violation};
use stubborn_system::{LabelId, RelationLevel, System};

use crate::bounded::Bounded;
use crate::channels::WithChannels;
use crate::chart::Chart;
use crate::compact::Compact;
use crate::coverage::Coverage;
use crate::error::CheckError;
use crate::experiments::PrintedReduction;
use crate::model::{Core, Model};
use crate::property::{Holds, PropertyRole, View, viewed};
use crate::report::{Failure, Report};
use crate::symmetry::Symmetric;
use crate::value::Value;

/// How much of the interleaving is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Nothing.
    None,
    /// Nothing in small state spaces, so that ways to violations are shortest; what suits best in
    /// larger ones, where it pays.
    #[default]
    Auto,
    /// Between single messages: relations are learnt from what the search meets, and it is repeated
    /// where it met something new. What `Auto` does where it pays.
    Messages,
    /// By this algorithm.
    Chosen(Config),
    /// Local reduction as printed by those who invented it, for comparison.
    Printed {
        /// With necessary enabling transitions, by what holds in each state.
        net: bool,
    },
}

impl Reduction {
    /// As plans say it; `None` where it is made elsewhere.
    fn por(&self) -> Option<Por> {
        match self {
            Self::None => Some(Por::None),
            Self::Chosen(config) => Some(Por::Chosen(config.clone())),
            Self::Auto => Some(Por::Auto),
            Self::Messages | Self::Printed { .. } => None,
        }
    }
}

impl Reduction {
    /// Local partial-order reduction. Its one-sided dependence fits messages: a sender gives the
    /// receiver one more choice, and takes none away.
    pub fn lpor() -> Self {
        Self::Chosen(Config::new(Algorithm::Lpor))
    }
}

/// States before anybody asks whether reduction pays. Handlers cost more than guarded commands, so
/// that is sooner than elsewhere.
const PATIENCE: u64 = 200_000;

/// States that tell how many bits the others may take, and how often that may turn out to be too few.
const SAMPLE: u64 = 20_000;
const MOST_LAYOUTS: usize = 2;

/// States of an unreduced search for a shorter way to a violation that a reduced one has found.
const SHORTENING: u64 = 200_000;

/// So many states are looked at for signs that a declared symmetry is none.
const SYMMETRY_SAMPLE: usize = 200;

/// To whom runs have to be fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fairness {
    Processes,
    /// To channels, too.
    Channels,
}

/// A check, ready to [run](Checker::run).
pub struct Checker<'m, M> {
    check: Check<'m>,
    messages: PhantomData<fn(M)>,
}

/// The same without the type of messages.
#[derive(Clone)]
struct Check<'m> {
    model: &'m Core,
    order: Order,
    threads: usize,
    reduction: Reduction,
    relations: RelationLevel,
    ends: bool,
    symmetric: bool,
    limits: Limits<'m>,
    store: StoreOptions,
    stop: Stop,
    fair: Option<Fairness>,
    boundary: Option<Arc<Holds>>,
    sample: u64,
}

impl<M> Clone for Checker<'_, M> {
    fn clone(&self) -> Self {
        Self {
            check: self.check.clone(),
            messages: PhantomData,
        }
    }
}

impl<M> fmt::Debug for Checker<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("protocol", &self.check.model.name())
            .field("order", &self.check.order)
            .field("reduction", &self.check.reduction)
            .finish_non_exhaustive()
    }
}

impl<M: Value> Model<M> {
    /// A check of all properties: breadth-first, on one thread, until one of them is violated. It
    /// is reduced where that pays, and gives up rather than use up the memory of the machine.
    pub fn check(&self) -> Checker<'_, M> {
        Checker {
            check: Check::new(&self.core),
            messages: PhantomData,
        }
    }
}

impl<'m, M: Value> Checker<'m, M> {
    /// Chooses the reduction.
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.check.reduction = reduction;
        self
    }

    /// How much the relations between transitions may cost: at
    /// [`Syntax`](RelationLevel::Syntax) they follow from declarations alone.
    pub fn relations(mut self, level: RelationLevel) -> Self {
        self.check.relations = level;
        self
    }

    /// Explores everything.
    pub fn unreduced(self) -> Self {
        self.reduction(Reduction::None)
    }

    /// How many states tell how many bits the others may take. For tests: there are few states in
    /// most of them, and none would be beyond any sample.
    #[doc(hidden)]
    pub fn sample(mut self, states: u64) -> Self {
        self.check.sample = states;
        self
    }

    /// Depth-first. Counterexamples may be long.
    pub fn depth_first(mut self) -> Self {
        self.check.order = Order::DepthFirst;
        self
    }

    /// Breadth-first, as by itself: counterexamples are short.
    pub fn breadth_first(mut self) -> Self {
        self.check.order = Order::BreadthFirst;
        self
    }

    /// On so many threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.check.threads = threads.max(1);
        self
    }

    /// Also looks for states in which nothing can happen any more, unless
    /// [they are fine](crate::Protocol::may_stop_when).
    pub fn ends_too(mut self) -> Self {
        self.check.ends = true;
        self
    }

    /// Explores one state of each orbit under exchanges of
    /// [interchangeable](crate::Protocol::interchangeable) processes, without other reduction;
    /// [`Reduction::Messages`] can be asked for afterwards.
    pub fn symmetric(mut self) -> Self {
        self.check.symmetric = true;
        self.unreduced()
    }

    /// Gives up at some limit, in whatever phase. Memory is what the check may add to what the
    /// process uses when it begins: store, queues, messages and all. Without a word about it, three
    /// quarters of what is free.
    pub fn limits(mut self, limits: Limits<'m>) -> Self {
        self.check.limits = limits;
        match limits.depth {
            Some(steps) => self.depth(steps),
            None => self,
        }
    }

    /// Goes on after the first violation, until all properties are violated or everything is
    /// explored.
    pub fn all_violations(mut self) -> Self {
        self.check.stop = Stop::AllViolated;
        self
    }

    /// What must happen [eventually](crate::Protocol::eventually), and
    /// [formulas](Self::formula), are about runs in which a process that can do something all the
    /// time does something again and again.
    pub fn fair(mut self) -> Self {
        self.check.fair = Some(Fairness::Processes);
        self
    }

    /// The same, and a channel from one process to another that can deliver a message all the time
    /// delivers one again and again. Losing messages is not delivering them. (Handlers of quorums take
    /// messages from several channels, and belong to none.)
    pub fn fair_channels(mut self) -> Self {
        self.check.fair = Some(Fairness::Channels);
        self
    }

    /// Looks at what can be reached in so many steps and no more, breadth-first and without
    /// reduction. That is no answer to whether anything holds, unless there is nothing behind.
    pub fn depth(mut self, steps: u64) -> Self {
        self.check.limits.depth = Some(steps);
        self.unreduced()
    }

    /// Takes no step from states where this does not hold: a part of the state space, without
    /// reduction. Nothing is said about what lies behind.
    pub fn within(mut self, inside: impl Fn(&View<'_, M>) -> bool + Send + Sync + 'static) -> Self {
        self.check.boundary = Some(Arc::new(viewed(inside)));
        self.unreduced()
    }

    /// How states are stored.
    pub fn store(mut self, store: StoreOptions) -> Self {
        self.check.store = store;
        self
    }

    /// Runs the check.
    ///
    /// # Errors
    /// If the chosen reduction does not fit, or something is wrong with this program.
    pub fn run(&self) -> Result<Report, CheckError> {
        self.check.run()
    }

    /// Checks a temporal formula over the propositions of the protocol, in Spin's syntax:
    /// `[]`, `<>`, `U`, `!`, `&&`, `||`, `->`. `None` if it holds.
    ///
    /// # Errors
    /// If the formula is wrong, names something unknown, or a limit was reached.
    pub fn formula(&self, text: &str) -> Result<Option<Failure>, CheckError> {
        self.check.formula(text)
    }
}

impl<'m> Check<'m> {
    fn new(model: &'m Core) -> Self {
        Self {
            model,
            order: Order::default(),
            threads: 1,
            reduction: Reduction::Auto,
            relations: RelationLevel::Reach,
            ends: false,
            symmetric: false,
            limits: Limits::default(),
            store: StoreOptions::default(),
            stop: Stop::FirstViolation,
            fair: None,
            boundary: None,
            sample: SAMPLE,
        }
    }

    fn run(&self) -> Result<Report, CheckError> {
        self.fits_boundary()?;
        let structure = self.model.structure();
        let mut report = Report {
            protocol: self.model.name().to_owned(),
            failures: Vec::new(),
            misuses: Vec::new(),
            misuse_chart: None,
            complete: true,
            limit: None,
            searches: Vec::new(),
            coverage: Coverage::default(),
        };
        let mut targets: Vec<(String, Target)> = structure
            .properties
            .iter()
            .map(|p| (p.name.clone(), Target::Label(p.violated_by)))
            .collect();
        if self.ends {
            targets.push(("no end".to_owned(), Target::InvalidEnd));
        }
        let symmetric = match self.symmetric {
            true => Some(self.symmetric_system()?),
            false => None,
        };
        let boundary = self.boundary.as_deref();
        let system = Bounded::new(self.model, symmetric.as_ref(), boundary, &self.limits);
        self.search(&system, &targets, &mut report)?;
        report.misuses = self.model.misuses();
        if report.misuses.is_empty()
            && (report.failures.is_empty() || self.stop != Stop::FirstViolation)
        {
            self.look_for_the_good(&system, &mut report)?;
        }
        let class = &self.model.inner.protocol.class;
        let class = if self.symmetric {
            class.as_slice()
        } else {
            &[]
        };
        report.coverage = Coverage::of(&self.model.inner, class);
        if report.complete && report.misuses.is_empty() {
            report.misuses = report.coverage.misspellings();
        }
        if !report.misuses.is_empty() && report.misuse_chart.is_none() {
            let found = self.unreduced_search(&system, Target::Errors)?;
            let trace = found.and_then(|violation| violation.trace);
            report.misuse_chart = trace.map(|trace| Chart::of(self.model, &trace));
        }
        Ok(report)
    }

    /// A reduction may choose a way that leaves the boundary where another one stays inside.
    fn fits_boundary(&self) -> Result<(), CheckError> {
        let is_bounded = self.boundary.is_some() || self.limits.depth.is_some();
        if is_bounded && self.reduction != Reduction::None {
            let why = "what lies within a boundary is explored without reduction";
            return Err(CheckError::Reduction(why.into()));
        }
        if self.limits.depth.is_some() && self.order != Order::BreadthFirst {
            let why = "only breadth-first search knows how many steps there are to a state";
            return Err(CheckError::Reduction(why.into()));
        }
        Ok(())
    }

    fn symmetric_system(&self) -> Result<Symmetric<'m>, CheckError> {
        if !matches!(self.reduction, Reduction::None | Reduction::Messages) {
            return Err(CheckError::SymmetryAndReduction);
        }
        let symmetric = Symmetric::new(self.model).ok_or(CheckError::NoSymmetry)?;
        match symmetric.asymmetry(SYMMETRY_SAMPLE) {
            None => Ok(symmetric),
            Some(why) => Err(CheckError::NotSymmetric(why)),
        }
    }

    fn search(
        &self,
        system: &Bounded<'_>,
        named: &[(String, Target)],
        report: &mut Report,
    ) -> Result<(), CheckError> {
        let mut targets: Vec<Target> = named.iter().map(|(_, target)| *target).collect();
        let por = self.reduction.por().unwrap_or(Por::None);
        let by_messages = matches!(self.reduction, Reduction::Auto | Reduction::Messages);
        let looks = por == Por::None || by_messages;
        if looks && self.stop == Stop::FirstViolation {
            // Other reduced searches are not made for this; handlers that they meet are looked at
            // all the same.
            targets.push(Target::Errors);
        }
        let options = self.options(por);
        let planner = Planner::new(system, &options);
        let found = match self.reduction {
            Reduction::Printed { net } => {
                let relations = self.model.relations(self.relations);
                let structure = self.model.structure();
                let labels = structure.properties.iter().map(|p| p.violated_by);
                // What keeps bad states keeps ends, too.
                let aim = match structure.properties.is_empty() {
                    true => Aim::Deadlocks,
                    false => Aim::Goals(Goals::labels(labels)),
                };
                let made = PrintedReduction::new(structure, &relations, &aim, net)?;
                let made = Made::by(Box::new(made), aim != Aim::Deadlocks);
                let planned = PlannedSearch::reduced(&targets, made);
                planner.check_by(planned, &targets, self.stop)?
            }
            Reduction::Auto => self.where_it_pays(system, &targets)?,
            Reduction::Messages => self.by_messages(system, &targets, None)?,
            Reduction::None => self.unreduced(system, &options, &targets, self.stop)?,
            _ => planner.check(&targets, self.stop)?,
        };
        let is_reduced = |run: usize| !found.runs[run].reduction.starts_with("none");
        for (at, answer) in found.answers.into_iter().enumerate() {
            let Some((name, target)) = named.get(at) else {
                let trace = answer.violation.and_then(|violation| violation.trace);
                report.misuse_chart = trace.map(|trace| Chart::of(self.model, &trace));
                continue;
            };
            report.complete &= answer.verdict != Verdict::Unknown;
            if let Some(mut violation) = answer.violation {
                let mut shortest = self.order == Order::BreadthFirst && !is_reduced(answer.run);
                if !shortest && let Some(shorter) = self.unreduced_search(system, *target)? {
                    (violation, shortest) = (shorter, true);
                }
                report
                    .failures
                    .push(self.failure(system, name, violation, shortest));
            }
        }
        self.note(found.runs, report);
        Ok(())
    }

    /// Notes what searches counted, and why they ended.
    fn note(&self, runs: Vec<stubborn_plan::Run>, report: &mut Report) {
        for run in runs {
            if let End::Limit(limit) = run.result.end {
                report.limit = Some(limit.to_string());
            }
            report.searches.push((run.reduction, run.result));
        }
    }

    fn failure(
        &self,
        system: &Bounded<'_>,
        name: &str,
        violation: Violation,
        shortest: bool,
    ) -> Failure {
        let trace = match (system.symmetric, violation.trace) {
            (Some(symmetric), Some(trace)) => symmetric.unfold(&trace),
            (_, trace) => trace,
        };
        Failure {
            property: name.to_owned(),
            chart: self.chart(trace.as_ref()),
            trace,
            shortest,
        }
    }

    fn chart(&self, trace: Option<&Trace>) -> Option<Chart> {
        trace.map(|trace| Chart::of(self.model, trace))
    }

    /// Explores everything.
    fn unreduced(
        &self,
        system: &Bounded<'_>,
        options: &CheckOptions<'_>,
        targets: &[Target],
        stop: Stop,
    ) -> Result<stubborn_plan::Report, CheckError> {
        let Some(wide) = Compact::new(system, None) else {
            return Ok(Planner::new(system, options).check(targets, stop)?);
        };
        let most = options.limits.states.unwrap_or(u64::MAX);
        if most <= self.sample {
            return self.unreduced_by(&wide, options, targets, stop);
        }
        let mut limited = options.clone();
        limited.limits.states = Some(self.sample);
        let found = self.unreduced_by(&wide, &limited, targets, stop)?;
        let is_cut = |run: &stubborn_plan::Run| run.result.end == End::Limit(Limit::States);
        if !found.runs.iter().any(is_cut) {
            return Ok(found);
        }
        let mut counts = wide.counts();
        for _ in 0..MOST_LAYOUTS {
            let Some(narrow) = Compact::new(system, Some(&counts)) else {
                break;
            };
            let found = self.unreduced_by(&narrow, options, targets, stop);
            if !system.budget().is_outgrown() {
                return found;
            }
            system.budget().has_grown();
            counts = narrow.counts();
        }
        self.unreduced_by(&wide, options, targets, stop)
    }

    fn unreduced_by(
        &self,
        compact: &Compact<'_>,
        options: &CheckOptions<'_>,
        targets: &[Target],
        stop: Stop,
    ) -> Result<stubborn_plan::Report, CheckError> {
        let mut found = Planner::new(compact, options).check(targets, stop)?;
        let answers = found.answers.iter_mut();
        let shown = answers.filter_map(|answer| answer.violation.as_mut());
        let runs = found.runs.iter_mut();
        shown
            .chain(runs.flat_map(|run| &mut run.result.violations))
            .for_each(|violation| compact.unfold(violation));
        Ok(found)
    }

    /// The first violation that an unreduced breadth-first search comes to, if it is near.
    fn unreduced_search(
        &self,
        system: &Bounded<'_>,
        target: Target,
    ) -> Result<Option<Violation>, CheckError> {
        let limits = Limits {
            states: Some(self.limits.states.unwrap_or(u64::MAX).min(SHORTENING)),
            ..self.limits
        };
        let options = CheckOptions {
            order: Order::BreadthFirst,
            limits,
            store: StoreOptions::default(),
            ..self.options(Por::None)
        };
        let found = self.unreduced(system, &options, &[target], Stop::FirstViolation)?;
        Ok(found
            .answers
            .into_iter()
            .find_map(|answer| answer.violation))
    }

    /// States that some execution must come to, and states that every one must.
    fn look_for_the_good(
        &self,
        system: &Bounded<'_>,
        report: &mut Report,
    ) -> Result<(), CheckError> {
        let properties = &self.model.inner.protocol.properties;
        let of = |role: PropertyRole| properties.iter().filter(move |p| p.role == role);
        let sometimes: Vec<(&String, Target)> = of(PropertyRole::Sometimes)
            .filter_map(|p| Some((&p.name, Target::Label(self.model.label(&p.name)?))))
            .collect();
        if !sometimes.is_empty() {
            let targets: Vec<Target> = sometimes.iter().map(|(_, target)| *target).collect();
            let options = self.options(self.reduction.por().unwrap_or(Por::None));
            let found = Planner::new(system, &options).check(&targets, Stop::AllViolated)?;
            for ((name, _), answer) in sometimes.iter().zip(&found.answers) {
                match answer.verdict {
                    Verdict::Violated => {}
                    Verdict::Unknown => report.complete = false,
                    // It may be reached behind the boundary.
                    Verdict::Holds if system.cut.load(Ordering::Relaxed) => report.complete = false,
                    Verdict::Holds => report.failures.push(Failure {
                        property: (*name).clone(),
                        trace: None,
                        chart: None,
                        shortest: true,
                    }),
                }
            }
            self.note(found.runs, report);
        }
        // Representatives do not tell who has moved: what is fair is about the processes themselves.
        let itself = Bounded::new(self.model, None, self.boundary.as_deref(), &self.limits);
        let fair = match self.fair {
            Some(_) if system.symmetric.is_some() => &itself,
            _ => system,
        };
        for property in of(PropertyRole::Eventually) {
            let Some(label) = self.model.label(&property.name) else {
                continue;
            };
            match self.temporal(fair, "<> p", &mut |_| Some(label)) {
                Ok(None) => {}
                Ok(Some(failure)) => report.failures.push(Failure {
                    property: property.name.clone(),
                    ..failure
                }),
                Err(CheckError::Limit(why)) => {
                    report.complete = false;
                    report.limit.get_or_insert(why);
                }
                Err(error) => return Err(error),
            }
        }
        let cut = |system: &Bounded<'_>| system.cut.load(Ordering::Relaxed);
        if (cut(system) || cut(fair)) && report.limit.is_none() {
            report.limit = Some("only what lies within the boundary".into());
        }
        Ok(())
    }

    fn options(&self, por: Por) -> CheckOptions<'m> {
        CheckOptions {
            order: self.order,
            threads: self.threads,
            store: self.store.clone(),
            limits: self.limits,
            reduction: ReductionOptions {
                por,
                relations: self.relations,
                patience: PATIENCE,
                ..ReductionOptions::default()
            },
            temporal: TemporalOptions {
                weak_fairness: self.fair.is_some(),
                ..TemporalOptions::default()
            },
            ..CheckOptions::default()
        }
    }

    fn formula(&self, text: &str) -> Result<Option<Failure>, CheckError> {
        self.fits_boundary()?;
        let boundary = self.boundary.as_deref();
        let system = Bounded::new(self.model, None, boundary, &self.limits);
        self.temporal(&system, text, &mut |name| self.model.label(name))
    }

    fn temporal(
        &self,
        system: &Bounded<'_>,
        text: &str,
        label: &mut dyn FnMut(&str) -> Option<LabelId>,
    ) -> Result<Option<Failure>, CheckError> {
        let mut resolve = |name: &str, span| {
            label(name).ok_or_else(|| {
                let text = format!("`{name}` is no proposition of this protocol");
                stubborn_diagnostics::Diagnostic::error("PRT001", text, span)
            })
        };
        if let Some(steps) = self.limits.depth {
            return Err(CheckError::Limit(format!(
                "what happens at last is not seen within {steps} steps: use `within`"
            )));
        }
        let (property, messages) =
            LtlProperty::parse(text, Syntax::Spin, &mut resolve, &Default::default());
        let Some(property) = property else {
            let texts: Vec<_> = messages.iter().map(|m| m.message.clone()).collect();
            return Err(CheckError::Formula(texts.join("; ")));
        };
        let reduction = match self.reduction {
            // Sets of messages are for states, not for runs.
            Reduction::Messages => &Reduction::Auto,
            ref chosen => chosen,
        };
        let por = reduction.por().ok_or_else(|| {
            CheckError::Reduction(
                "the printed form of local reduction keeps deadlocks and invariants only".into(),
            )
        })?;
        // Fairness looks at steps that a reduction may have left out.
        let por = if self.fair.is_some() { Por::None } else { por };
        let options = self.options(por);
        let question = TemporalQuestion {
            property: &property,
            finite_runs: FiniteRuns::default(),
        };
        let with_channels;
        let asked: &dyn System = match self.fair {
            Some(Fairness::Channels) => {
                with_channels = WithChannels::new(system);
                &with_channels
            }
            _ => system,
        };
        let result = Planner::new(asked, &options).check_temporal(question);
        let result = result?.result;
        if let Some(misuse) = self.model.misuses().first() {
            return Err(CheckError::Misuse(misuse.clone()));
        }
        match result.verdict {
            CheckVerdict::Holds => Ok(None),
            CheckVerdict::Unknown(limit) => Err(CheckError::Limit(limit.to_string())),
            CheckVerdict::Violated => {
                let trace = result.counterexample.map(|c| c.trace);
                let leaves = |trace: &Trace| !system.is_inside(trace.last_state());
                if trace
                    .as_ref()
                    .map_or(system.cut.load(Ordering::Relaxed), leaves)
                {
                    let why =
                        "a run leaves the boundary, and what happens to it at last is not seen";
                    return Err(CheckError::Limit(why.into()));
                }
                Ok(Some(Failure {
                    property: text.to_owned(),
                    chart: self.chart(trace.as_ref()),
                    trace,
                    shortest: false,
                }))
            }
        }
    }
}

/// Checks all invariants of a [`Model`], and panics with a message sequence
/// chart of a shortest counterexample if one does not hold. For `#[test]` functions.
///
/// A second argument can change the [`Checker`]: `assert_holds!(model, |c| c.ends_too())`.
#[macro_export]
macro_rules! assert_holds {
    ($model:expr) => {
        $crate::assert_holds!($model, |checker| checker)
    };
    ($model:expr, $change:expr) => {{
        let model = &$model;
        let change: fn($crate::Checker<'_, _>) -> $crate::Checker<'_, _> = $change;
        match change(model.check()).run() {
            Ok(report) => report.assert_holds(),
            Err(error) => panic!("{error}"),
        }
    }};
}
