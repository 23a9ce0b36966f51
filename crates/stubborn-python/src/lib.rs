//! The model checker in Python: what the package `stubborn` (in `python/`) is made of. States are
//! lists of numbers here; the package makes named tuples of them.

mod explore;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use stubborn::ltl::formula::Formulas;
use stubborn::ltl::hoa::write_hoa;
use stubborn::ltl::parser::{AnyName, Syntax, parse};
use stubborn::ltl::translate::{TranslationOptions, translate_both};
use stubborn::reduce::{Aim, Config, Plan, StubbornReduction};
use stubborn::system::{
    Expander, FieldId, Reason, RelationLevel, Structure, Successors, TransitionId,
};
use stubborn::{
    CheckError, CheckOptions, Language, Limits, LoadOptions, LoadedModel, Por, Progress,
    ReductionOptions, TemporalText, Trace, Verdict, story,
};

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A run: the first state, steps with the states that they lead to, where the cycle starts, and the
/// story.
type Run = (Vec<i64>, Vec<(usize, Vec<i64>)>, Option<usize>, String);

/// A step: its transition, the state it leads to, what goes wrong on the way.
type Step = (usize, Vec<i64>, Option<String>);

/// An answer: name, what should hold, verdict, a violating run, the number of states.
type Answer = (String, String, &'static str, Option<Run>, u64);

/// A loaded model.
#[pyclass(module = "stubborn._stubborn")]
struct Model {
    model: LoadedModel,
}

fn syntax(name: &str) -> PyResult<Syntax> {
    match name {
        "spin" => Ok(Syntax::Spin),
        "spot" => Ok(Syntax::Spot),
        other => Err(wrong(format!(
            "`{other}` is no notation of formulas: spin, spot"
        ))),
    }
}

/// The reduction of this name.
fn reduction(name: &str) -> PyResult<ReductionOptions> {
    let por = match name {
        "none" => Por::None,
        "auto" => Por::Auto,
        other => Por::Chosen(Config::new(other.parse().map_err(wrong)?)),
    };
    Ok(ReductionOptions {
        por,
        ..ReductionOptions::default()
    })
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (path, language, invariants, ltl, notation))]
    fn new(
        path: &str,
        language: Option<&str>,
        invariants: Vec<String>,
        ltl: Vec<String>,
        notation: &str,
    ) -> PyResult<Self> {
        let language = match language {
            None => None,
            Some(name) => {
                let known = Language::ALL
                    .iter()
                    .find(|language| language.name() == name);
                Some(*known.ok_or_else(|| wrong(format!("`{name}` is no language of models")))?)
            }
        };
        let syntax = syntax(notation)?;
        let formula = |text| TemporalText::Formula { text, syntax };
        let options = LoadOptions {
            invariants,
            temporal: ltl.into_iter().map(formula).collect(),
            ..LoadOptions::default()
        };
        let model = stubborn::load_file(Path::new(path), language, &options).map_err(wrong)?;
        Ok(Self { model })
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn language(&self) -> &str {
        self.model.language().name()
    }

    fn fields(&self) -> Vec<(String, i64, i64)> {
        let fields = self.model.system().layout().fields().iter();
        fields
            .map(|field| (field.name.clone(), field.min, field.max))
            .collect()
    }

    fn transitions(&self) -> Vec<String> {
        let transitions = self.structure().transitions.iter();
        transitions
            .map(|transition| transition.name.clone())
            .collect()
    }

    fn initial_states(&self) -> Vec<Vec<i64>> {
        let states = self.model.system().initial_states();
        let words = self.model.system().layout().words();
        states
            .chunks(words)
            .map(|state| self.values(state))
            .collect()
    }

    /// Values as people write them.
    fn texts(&self, state: Vec<i64>) -> PyResult<Vec<String>> {
        self.words(&state)?;
        let texts = state.iter().enumerate();
        let text = |(field, value): (usize, &i64)| {
            self.model.system().value_text(FieldId::new(field), *value)
        };
        Ok(texts.map(text).collect())
    }

    /// Transitions with the states that they lead to, and what goes wrong on the way.
    fn successors(&self, state: Vec<i64>) -> PyResult<Vec<Step>> {
        let words = self.words(&state)?;
        let mut found = Successors::new(words.len());
        self.model
            .system()
            .executor()
            .successors(&words, &mut found);
        let step = |step: stubborn::system::successors::Successor<'_>| {
            let mut sites = step.outcome.sites(self.structure());
            let problem = sites.next().map(|site| site.message.clone());
            (step.transition.index(), self.values(step.state), problem)
        };
        Ok(found.iter().map(step).collect())
    }

    #[pyo3(signature = (por, threads, timeout, max_states))]
    fn check(
        &mut self,
        py: Python<'_>,
        por: &str,
        threads: usize,
        timeout: Option<f64>,
        max_states: Option<u64>,
    ) -> PyResult<Vec<Answer>> {
        let time = timeout
            .map(Duration::try_from_secs_f64)
            .transpose()
            .map_err(wrong)?;
        let stop = AtomicBool::new(false);
        // Ctrl-C is seen by Python alone, which is asked now and then.
        let observer = |_: &Progress| {
            if Python::attach(|py| py.check_signals()).is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let options = CheckOptions {
            threads: threads.max(1),
            limits: Limits {
                states: max_states,
                time,
                interrupt: Some(&stop),
                ..Limits::default()
            },
            reduction: reduction(por)?,
            observer: Some(&observer),
            ..CheckOptions::default()
        };
        let model = &mut self.model;
        let answers = py.detach(|| {
            loop {
                match ask(model, &options) {
                    Err(CheckError::Outgrown) => model.grow().map_err(|error| error.to_string())?,
                    answers => return answers.map_err(|error| error.to_string()),
                }
            }
        });
        py.check_signals()?;
        if stop.load(Ordering::Relaxed) {
            return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err(()));
        }
        answers.map_err(wrong)
    }

    /// All states one after the other, their number, sources, targets and transitions of edges, and whether that
    /// is everything.
    #[pyo3(signature = (por, max_states))]
    fn explore(&self, py: Python<'_>, por: &str, max_states: usize) -> PyResult<explore::Arrays> {
        let set = match por {
            "none" => None,
            name => Some(self.reduction(name)?),
        };
        let system = self.model.system();
        let graph = py.detach(|| explore::explore(system, set.as_ref(), max_states));
        graph.map_err(PyRuntimeError::new_err)
    }

    /// The members of a stubborn set: transition, whether it is enabled, whether it is kept, and why it is there.
    fn stubborn_set(
        &self,
        state: Vec<i64>,
        algorithm: &str,
    ) -> PyResult<Vec<(usize, bool, bool, String)>> {
        let words = self.words(&state)?;
        let reduction = self.reduction(algorithm)?;
        let mut expander = Expander::new(self.model.system(), Some(&reduction));
        expander
            .compute(&words)
            .map_err(|spent| PyRuntimeError::new_err(spent.to_string()))?;
        let reduced = expander.choose(&words);
        let enabled = expander.successors().transitions();
        let reasons = expander.last_set();
        let member = |id: TransitionId| {
            let member = reasons.iter().find(|member| member.transition == id);
            let is_enabled = enabled.contains(&id);
            let kept = is_enabled && expander.keeps(id);
            if member.is_none() && (!kept || reduced) {
                return None;
            }
            let reason = member.map_or(Reason::NotExcluded, |member| member.reason);
            Some((id.index(), is_enabled, kept, self.reason(reason)))
        };
        Ok(self
            .structure()
            .transition_ids()
            .filter_map(member)
            .collect())
    }
}

impl Model {
    fn structure(&self) -> &Structure {
        self.model.system().structure()
    }

    fn values(&self, state: &[u32]) -> Vec<i64> {
        let fields = self.model.system().layout().fields();
        fields.iter().map(|field| field.get(state)).collect()
    }

    /// A state as the model stores it.
    fn words(&self, state: &[i64]) -> PyResult<Vec<u32>> {
        let layout = self.model.system().layout();
        if state.len() != layout.fields().len() {
            let text = format!(
                "a state of this model has {} values, not {}",
                layout.fields().len(),
                state.len()
            );
            return Err(wrong(text));
        }
        let mut words = vec![0; layout.words()];
        for (field, value) in layout.fields().iter().zip(state) {
            if !(field.min..=field.max).contains(value) {
                return Err(wrong(format!(
                    "{} is {} to {}, not {value}",
                    field.name, field.min, field.max
                )));
            }
            field.set(&mut words, *value);
        }
        Ok(words)
    }

    fn reduction(&self, algorithm: &str) -> PyResult<StubbornReduction> {
        let plan = Plan::new(
            &Config::new(algorithm.parse().map_err(wrong)?),
            Aim::Deadlocks,
        )
        .map_err(wrong)?;
        let system = self.model.system();
        StubbornReduction::new(system, &system.relations(RelationLevel::Reach), plan).map_err(wrong)
    }

    fn reason(&self, reason: Reason) -> String {
        let name = |id: TransitionId| &self.structure().transition(id).name;
        match reason {
            Reason::Start => "the set starts here".into(),
            Reason::DoesNotAccord(other) => format!("does not accord with {}", name(other)),
            Reason::MayEnable(other, label) => {
                format!(
                    "may enable {}, which waits for {}",
                    name(other),
                    self.structure().label(label).text
                )
            }
            Reason::NeededByGoal(label) => {
                format!("may make {} true", self.structure().label(label).text)
            }
            Reason::Visibility => "is visible".into(),
            Reason::NotExcluded => "nothing allows to leave it out".into(),
        }
    }
}

/// Answers everything that a model states and was loaded with.
fn ask(model: &LoadedModel, options: &CheckOptions<'_>) -> Result<Vec<Answer>, CheckError> {
    let run = |trace: &Trace| -> Run {
        let system = model.reference();
        let fields = system.layout().fields();
        let values = |state: &[u32]| fields.iter().map(|field| field.get(state)).collect();
        let steps = trace
            .steps()
            .map(|step| (step.transition.index(), values(step.after)));
        (
            values(trace.initial_state()),
            steps.collect(),
            trace.cycle_start(),
            story::steps(system, trace),
        )
    };
    let report = stubborn::check(model, &stubborn::questions(model), options)?;
    let states: u64 = report.runs.iter().map(|run| run.result.states).sum();
    let mut answers = Vec::new();
    for answer in &report.answers {
        let trace = answer
            .violation
            .as_ref()
            .and_then(|violation| violation.trace.as_ref());
        let title = format!("{} {}", answer.question.kind.name(), answer.question.name);
        answers.push((
            answer.question.name.clone(),
            title,
            answer.verdict.name(),
            trace.map(run),
            states,
        ));
    }
    let temporal: Vec<_> = model.temporal().iter().collect();
    for answer in stubborn::check_temporal(model, &temporal, options)? {
        let result = answer.result.as_ref();
        let found = result.and_then(|result| result.counterexample.as_ref());
        let states = result.map_or(0, |result| result.counts.states);
        let trace = found
            .filter(|_| answer.verdict == Verdict::Violated)
            .map(|found| run(&found.trace));
        answers.push((
            answer.name.clone(),
            answer.title.clone(),
            answer.verdict.name(),
            trace,
            states,
        ));
    }
    Ok(answers)
}

/// The automaton of an LTL formula, in the HOA format.
#[pyfunction]
fn automaton(formula: &str, notation: &str, negate: bool) -> PyResult<String> {
    let mut formulas = Formulas::new();
    let (parsed, problems) = parse(&mut formulas, formula, syntax(notation)?, &mut AnyName);
    let Some(parsed) = parsed else {
        let source = stubborn::diagnostics::SourceFile::new("formula", formula);
        return Err(wrong(stubborn::diagnostics::render(
            &source, &problems, false,
        )));
    };
    let (positive, negative) =
        translate_both(&formulas, parsed, &TranslationOptions::default()).map_err(wrong)?;
    Ok(write_hoa(
        if negate { &negative } else { &positive },
        Some(formula),
    ))
}

/// The compiled half of the package `stubborn`.
#[pymodule]
fn _stubborn(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Model>()?;
    module.add_function(wrap_pyfunction!(automaton, module)?)
}
