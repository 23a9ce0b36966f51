//! Checking a protocol: what to look for, how, and what came out.

use std::fmt;

use stubborn_emptiness::{Check as LtlCheck, Property as LtlProperty, ReductionRequest, Verdict};
use stubborn_ltl::parser::Syntax;
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan, StubbornReduction};
use stubborn_search::proviso::{ClosedSet, OnStack, SafetyProviso};
use stubborn_search::{Limits, Order, Search, SearchResult, Stop, StoreOptions, Target, Trace};
use stubborn_system::{Reduction as SystemReduction, RelationLevel, System};

use crate::chart::Chart;
use crate::model::Model;
use crate::paper::PaperReduction;
use crate::symmetry::Symmetric;
use crate::value::Value;

/// How much of the interleaving is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// Nothing.
    None,
    /// What suits messages best: [local](Reduction::lpor).
    #[default]
    Auto,
    /// By this algorithm.
    Chosen(Config),
    /// Local reduction as printed by those who invented it, for comparison.
    Printed {
        /// With necessary enabling transitions, by what holds in each state.
        net: bool,
    },
}

/// A reduction, and whether the search must take care of cycles.
pub(crate) struct Made {
    pub(crate) reduction: Box<dyn SystemReduction>,
    pub(crate) needs_proviso: bool,
}

impl Reduction {
    /// For a model and a question; `None` for everything.
    pub(crate) fn make<M: Value>(
        &self,
        model: &Model<M>,
        level: RelationLevel,
        aim: Aim,
    ) -> Result<Option<Made>, CheckError> {
        let config = match self {
            Self::None => return Ok(None),
            Self::Printed { net } => {
                let relations = model.relations(level);
                let made = PaperReduction::new(model.structure(), &relations, &aim, *net);
                return Ok(Some(Made {
                    reduction: Box::new(made.map_err(refused)?),
                    needs_proviso: aim != Aim::Deadlocks,
                }));
            }
            Self::Chosen(config) => config.clone(),
            // Its one-sided dependence fits messages: a sender gives the receiver one more
            // choice, and takes none away.
            Self::Auto => Config::new(Algorithm::Lpor),
        };
        let plan = Plan::new(&config, aim).map_err(refused)?;
        let needs_proviso = plan.proviso != stubborn_reduce::Proviso::None;
        let relations = model.relations(level);
        let made = StubbornReduction::new(model, &relations, plan).map_err(refused)?;
        Ok(Some(Made {
            reduction: Box::new(made),
            needs_proviso,
        }))
    }
}

fn refused(error: stubborn_reduce::ConfigError) -> CheckError {
    CheckError(error.to_string())
}

impl Reduction {
    /// Local partial-order reduction.
    pub fn lpor() -> Self {
        Self::Chosen(Config::new(Algorithm::Lpor))
    }
}

/// So many states are looked at for signs that a declared symmetry is none.
const SYMMETRY_SAMPLE: usize = 200;

/// A check, ready to [run](Checker::run).
#[derive(Clone)]
pub struct Checker<'m, M> {
    model: &'m Model<M>,
    /// `None` for what explores least.
    order: Option<Order>,
    threads: usize,
    reduction: Reduction,
    relations: RelationLevel,
    ends: bool,
    symmetric: bool,
    limits: Limits<'m>,
    store: StoreOptions,
}

impl<M> fmt::Debug for Checker<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("model", self.model)
            .field("order", &self.order)
            .field("reduction", &self.reduction)
            .finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError(pub(crate) String);

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckError {}

/// Something that should not happen, and how it does.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The property.
    pub property: String,
    /// The way there, if it could be found again.
    pub trace: Option<Trace>,
    /// The same for people.
    pub chart: Option<Chart>,
}

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The protocol.
    pub protocol: String,
    /// Properties that do not hold.
    pub failures: Vec<Failure>,
    /// What handlers did although their declarations exclude it. Nothing else of the report can
    /// be relied on then.
    pub misuses: Vec<String>,
    /// Everything was explored.
    pub complete: bool,
    /// Each search: what it was for, and what it counted.
    pub searches: Vec<(String, SearchResult)>,
}

impl Report {
    /// Everything was explored, and nothing bad found.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.misuses.is_empty() && self.complete
    }

    /// The way to a violation of a property.
    pub fn failure(&self, property: &str) -> Option<&Failure> {
        self.failures.iter().find(|f| f.property == property)
    }

    /// States of all searches.
    pub fn states(&self) -> u64 {
        self.searches.iter().map(|(_, result)| result.states).sum()
    }

    /// Panics with charts unless everything holds: what [`assert_holds!`](crate::assert_holds)
    /// does. Writes charts as SVG into the directory that the environment variable
    /// `STUBBORN_SVG` names, if it is set.
    ///
    /// # Panics
    /// If anything does not hold, or not everything was explored.
    #[track_caller]
    pub fn assert_holds(&self) {
        if self.holds() {
            return;
        }
        let mut text = self.to_string();
        if let Some(directory) = std::env::var_os("STUBBORN_SVG") {
            for failure in &self.failures {
                let Some(chart) = &failure.chart else {
                    continue;
                };
                let words = |c: char| if c.is_alphanumeric() { c } else { '-' };
                let name: String = format!("{}-{}", self.protocol, failure.property)
                    .chars()
                    .map(words)
                    .collect();
                let path = std::path::Path::new(&directory).join(format!("{name}.svg"));
                match std::fs::write(&path, chart.svg()) {
                    Ok(()) => text.push_str(&format!("written: {}\n", path.display())),
                    Err(error) => text.push_str(&format!("{}: {error}\n", path.display())),
                }
            }
        }
        panic!("{text}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for misuse in &self.misuses {
            writeln!(f, "{}: {misuse}", self.protocol)?;
        }
        for failure in &self.failures {
            writeln!(f, "{}: `{}` is violated", self.protocol, failure.property)?;
            match &failure.chart {
                Some(chart) => writeln!(f, "\n{chart}")?,
                None => writeln!(f, "(there was no memory left to find the way again)")?,
            }
        }
        if self.failures.is_empty() && self.misuses.is_empty() {
            let verdict = if self.complete {
                "all properties hold"
            } else {
                "nothing bad was found, but not everything was explored"
            };
            writeln!(f, "{}: {verdict}", self.protocol)?;
        }
        for (reduction, result) in &self.searches {
            writeln!(
                f,
                "{} states, {} transitions, reduction: {reduction}",
                result.states, result.transitions
            )?;
        }
        Ok(())
    }
}

impl<M: Value> Model<M> {
    /// A check of all invariants: reduced, on one thread, with short counterexamples.
    pub fn check(&self) -> Checker<'_, M> {
        Checker {
            model: self,
            order: None,
            threads: 1,
            reduction: Reduction::Auto,
            relations: RelationLevel::Reach,
            ends: false,
            symmetric: false,
            limits: Limits::default(),
            store: StoreOptions::default(),
        }
    }
}

impl<'m, M: Value> Checker<'m, M> {
    /// Chooses the reduction.
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.reduction = reduction;
        self
    }

    /// How much the relations between transitions may cost: at
    /// [`Syntax`](RelationLevel::Syntax) they follow from declarations alone.
    pub fn relations(mut self, level: RelationLevel) -> Self {
        self.relations = level;
        self
    }

    /// Explores everything.
    pub fn unreduced(self) -> Self {
        self.reduction(Reduction::None)
    }

    /// Depth-first. Counterexamples may be long.
    pub fn depth_first(mut self) -> Self {
        self.order = Some(Order::DepthFirst);
        self
    }

    /// Breadth-first. (By itself, a reduced check for bad states goes depth-first: a cycle is a
    /// cycle there, and elsewhere only a suspicion that costs many states. What it finds is
    /// looked for again breadth-first, so that it is short.)
    pub fn breadth_first(mut self) -> Self {
        self.order = Some(Order::BreadthFirst);
        self
    }

    /// On so many threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Also looks for states in which nothing can happen any more, unless
    /// [they are fine](crate::Protocol::may_stop_when).
    pub fn ends_too(mut self) -> Self {
        self.ends = true;
        self
    }

    /// Explores one state of each orbit under exchanges of
    /// [interchangeable](crate::Protocol::interchangeable) processes, without other reduction.
    pub fn symmetric(mut self) -> Self {
        self.symmetric = true;
        self.unreduced()
    }

    /// Gives up at some limit.
    pub fn limits(mut self, limits: Limits<'m>) -> Self {
        self.limits = limits;
        self
    }

    /// How states are stored.
    pub fn store(mut self, store: StoreOptions) -> Self {
        self.store = store;
        self
    }

    /// Runs the check.
    ///
    /// # Errors
    /// If the chosen reduction does not fit, or something is wrong with this program.
    pub fn run(&self) -> Result<Report, CheckError> {
        let structure = self.model.structure();
        let mut report = Report {
            protocol: self.model.name().to_owned(),
            failures: Vec::new(),
            misuses: Vec::new(),
            complete: true,
            searches: Vec::new(),
        };
        let labels: Vec<_> = structure.properties.iter().map(|p| p.violated_by).collect();
        let invariants: Vec<(String, Target)> = structure
            .properties
            .iter()
            .map(|p| (p.name.clone(), Target::Label(p.violated_by)))
            .collect();
        let goals = Aim::Goals(Goals::labels(labels));
        let ends = vec![("no end".to_owned(), Target::InvalidEnd)];
        let groups = if self.reduction == Reduction::None {
            let mut all = invariants;
            all.extend(ends.into_iter().filter(|_| self.ends));
            vec![(all, goals)]
        } else {
            let mut groups = Vec::new();
            if !invariants.is_empty() || !self.ends {
                groups.push((invariants, goals));
            }
            if self.ends {
                groups.push((ends, Aim::Deadlocks));
            }
            groups
        };
        for (targets, aim) in groups {
            self.search(&targets, aim, &mut report)?;
        }
        report.misuses = self.model.misuses();
        Ok(report)
    }

    fn symmetric_system(&self) -> Result<Symmetric<'m, M>, CheckError> {
        if self.reduction != Reduction::None {
            return Err(CheckError(
                "symmetry and partial-order reduction are not combined: choose one".into(),
            ));
        }
        let none = || CheckError("the protocol declares no interchangeable processes".into());
        let symmetric = Symmetric::new(self.model).ok_or_else(none)?;
        match symmetric.asymmetry(SYMMETRY_SAMPLE) {
            None => Ok(symmetric),
            Some(why) => Err(CheckError(format!("the protocol is not symmetric: {why}"))),
        }
    }

    fn search(
        &self,
        targets: &[(String, Target)],
        aim: Aim,
        report: &mut Report,
    ) -> Result<(), CheckError> {
        let symmetric = if self.symmetric {
            Some(self.symmetric_system()?)
        } else {
            None
        };
        let system: &dyn System = match &symmetric {
            Some(symmetric) => symmetric,
            None => self.model,
        };
        let made = self.reduction.make(self.model, self.relations, aim)?;
        let needs_proviso = made.as_ref().is_some_and(|m| m.needs_proviso);
        let reduction = made.as_ref().map(|m| &*m.reduction);
        let depth_first = self.order == Some(Order::DepthFirst)
            || self.order.is_none() && needs_proviso && self.threads == 1;
        let all: Vec<Target> = targets.iter().map(|(_, target)| *target).collect();
        let search = |order: Order, limits: Limits<'m>| {
            let with_stack = order == Order::DepthFirst && self.threads == 1;
            let proviso: &dyn SafetyProviso = if with_stack { &OnStack } else { &ClosedSet };
            Search {
                reduction,
                proviso: needs_proviso.then_some(proviso),
                order,
                threads: self.threads,
                store: self.store.clone(),
                limits,
                targets: all.clone(),
                stop: Stop::AllViolated,
                ..Search::new(system)
            }
            .run()
            .map_err(|e| CheckError(e.to_string()))
        };
        let order = if depth_first {
            Order::DepthFirst
        } else {
            Order::BreadthFirst
        };
        let mut result = search(order, self.limits)?;
        if depth_first && self.order.is_none() && !result.violations.is_empty() {
            let worth = 4 * result.states + 100_000;
            let states = self.limits.states.map_or(worth, |n| n.min(worth));
            let limits = Limits {
                states: Some(states),
                ..self.limits
            };
            let shorter = search(Order::BreadthFirst, limits)?;
            for violation in &mut result.violations {
                if let Some(short) = shorter.violation(violation.target) {
                    *violation = short.clone();
                }
            }
        }
        for (name, target) in targets {
            if let Some(violation) = result.violation(*target) {
                let trace = match (&symmetric, &violation.trace) {
                    (Some(symmetric), Some(trace)) => symmetric.unfold(trace),
                    (_, trace) => trace.clone(),
                };
                report.failures.push(Failure {
                    property: name.clone(),
                    chart: trace.as_ref().map(|t| Chart::new(self.model, t)),
                    trace,
                });
            }
        }
        report.complete &= result.is_complete() || !result.violations.is_empty();
        let name = reduction.map_or("none".into(), |r| r.name());
        report.searches.push((name, result));
        Ok(())
    }

    /// Checks a temporal formula over the propositions of the protocol, in Spin's syntax:
    /// `[]`, `<>`, `U`, `!`, `&&`, `||`, `->`. `None` if it holds.
    ///
    /// # Errors
    /// If the formula is wrong, names something unknown, or a limit was reached.
    pub fn formula(&self, text: &str) -> Result<Option<Failure>, CheckError> {
        let mut resolve = |name: &str, span| {
            self.model.label(name).ok_or_else(|| {
                let text = format!("`{name}` is no proposition of this protocol");
                stubborn_diagnostics::Diagnostic::error("PRT001", text, span)
            })
        };
        let (property, messages) =
            LtlProperty::parse(text, Syntax::Spin, &mut resolve, &Default::default());
        let Some(property) = property else {
            let texts: Vec<_> = messages.iter().map(|m| m.message.clone()).collect();
            return Err(CheckError(texts.join("; ")));
        };
        let relations = self.model.relations(self.relations);
        let config = match &self.reduction {
            Reduction::None => None,
            Reduction::Auto => Some(Config::new(Algorithm::Beam)),
            Reduction::Chosen(config) => Some(config.clone()),
            Reduction::Printed { .. } => {
                return Err(CheckError(
                    "the printed form of local reduction keeps deadlocks and invariants only"
                        .into(),
                ));
            }
        };
        let result = LtlCheck {
            reduction: config.map(|config| ReductionRequest {
                config,
                relations: &relations,
                proviso: Default::default(),
                fitting: Default::default(),
            }),
            limits: self.limits,
            ..LtlCheck::new(self.model, &property)
        }
        .run()
        .map_err(|e| CheckError(e.to_string()))?;
        if let Some(misuse) = self.model.misuses().first() {
            return Err(CheckError(misuse.clone()));
        }
        match result.verdict {
            Verdict::Holds => Ok(None),
            Verdict::Unknown(limit) => Err(CheckError(limit.to_string())),
            Verdict::Violated => {
                let trace = result.counterexample.map(|c| c.trace);
                Ok(Some(Failure {
                    property: text.to_owned(),
                    chart: trace.as_ref().map(|t| Chart::new(self.model, t)),
                    trace,
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
