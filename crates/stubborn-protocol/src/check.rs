//! Checking a protocol: what to look for, how, and what came out.

use std::fmt;

use stubborn_emptiness::{CheckVerdict, FiniteRuns, Property as LtlProperty};
use stubborn_ltl::parser::Syntax;
use stubborn_plan::reduction::{Made, PlannedSearch};
use stubborn_plan::{CheckOptions, Planner, Por, ReductionOptions, TemporalQuestion, Verdict};
use stubborn_reduce::{Aim, Algorithm, Config, Goals};
use stubborn_search::{Limits, Order, SearchResult, Stop, StoreOptions, Target, Trace};
use stubborn_system::{RelationLevel, System};

use crate::chart::Chart;
use crate::experiments::PrintedReduction;
use crate::model::Model;
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

impl Reduction {
    /// As plans say it; `None` where it is made elsewhere.
    fn por(&self) -> Option<Por> {
        match self {
            Self::None => Some(Por::None),
            Self::Chosen(config) => Some(Por::Chosen(config.clone())),
            // Its one-sided dependence fits messages: a sender gives the receiver one more
            // choice, and takes none away.
            Self::Auto => Some(Por::Chosen(Config::new(Algorithm::Lpor))),
            Self::Printed { .. } => None,
        }
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
    order: Order,
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
            order: Order::default(),
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
        self.order = Order::DepthFirst;
        self
    }

    /// Breadth-first, as by itself: counterexamples are short.
    pub fn breadth_first(mut self) -> Self {
        self.order = Order::BreadthFirst;
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
        let mut targets: Vec<(String, Target)> = structure
            .properties
            .iter()
            .map(|p| (p.name.clone(), Target::Label(p.violated_by)))
            .collect();
        if self.ends {
            targets.push(("no end".to_owned(), Target::InvalidEnd));
        }
        self.search(&targets, &mut report)?;
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

    fn search(&self, named: &[(String, Target)], report: &mut Report) -> Result<(), CheckError> {
        let symmetric = if self.symmetric {
            Some(self.symmetric_system()?)
        } else {
            None
        };
        let system: &dyn System = match &symmetric {
            Some(symmetric) => symmetric,
            None => self.model,
        };
        let targets: Vec<Target> = named.iter().map(|(_, target)| *target).collect();
        let options = self.options(self.reduction.por().unwrap_or(Por::None));
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
                let made = PrintedReduction::new(structure, &relations, &aim, net);
                let made = Made::by(Box::new(made.map_err(refused)?), aim != Aim::Deadlocks);
                let planned = PlannedSearch::reduced(&targets, made);
                planner.check_by(planned, &targets, Stop::AllViolated)
            }
            _ => planner.check(&targets, Stop::AllViolated),
        };
        let found = found.map_err(|e| CheckError(e.to_string()))?;
        for ((name, _), answer) in named.iter().zip(found.answers) {
            report.complete &= answer.verdict != Verdict::Unknown;
            if let Some(violation) = answer.violation {
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
        let runs = found.runs.into_iter();
        report.searches = runs.map(|run| (run.reduction, run.result)).collect();
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
                ..ReductionOptions::default()
            },
            ..CheckOptions::default()
        }
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
        let por = match self.reduction {
            // Local sets are for states, not for runs.
            Reduction::Auto => Por::Auto,
            _ => self.reduction.por().ok_or_else(|| {
                CheckError(
                    "the printed form of local reduction keeps deadlocks and invariants only"
                        .into(),
                )
            })?,
        };
        let options = self.options(por);
        let question = TemporalQuestion {
            property: &property,
            finite_runs: FiniteRuns::default(),
        };
        let result = Planner::new(self.model, &options).check_temporal(question);
        let result = result.map_err(|e| CheckError(e.to_string()))?.result;
        if let Some(misuse) = self.model.misuses().first() {
            return Err(CheckError(misuse.clone()));
        }
        match result.verdict {
            CheckVerdict::Holds => Ok(None),
            CheckVerdict::Unknown(limit) => Err(CheckError(limit.to_string())),
            CheckVerdict::Violated => {
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
