//! Promela: guarded commands that may turn out to be too few.
//!
//! Which process types are started in which slots is found while exploring. A start that the
//! program does not provide for is a failing step; [`Growth`] watches for those, and
//! afterwards builds a larger program with which everything is done again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_ir::interpreter::Interpreter;
use stubborn_promela::ast::ProcessKind;
use stubborn_promela::source::FileLoader;
use stubborn_promela::{Loaded, Options, load, lower};
use stubborn_system::{
    Executor, FieldId, LabelId, Layout, Outcome, RelationLevel, Relations, Structure, Successors,
    System, TransitionId,
};

use crate::load::{BuildError, LoadOptions, Parts};
use crate::text::ModelText;

/// How to read a Promela model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromelaOptions {
    /// Macros: name and text.
    pub definitions: Vec<(String, String)>,
    /// Sending to a full channel loses the message instead of waiting.
    pub message_loss: bool,
    /// Most processes at a time, 255 at most.
    pub max_processes: usize,
    /// Statements that nobody else notices run in one step with those before them.
    pub merge: bool,
    /// Locals that nobody will read are zero.
    pub dead_variables: bool,
    /// Atomic sequences are walked statement by statement; the states stay the same.
    pub single_statements: bool,
    /// Note which statements searches reach; see [`unreached`](crate::spin::unreached).
    pub coverage: bool,
}

impl Default for PromelaOptions {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            message_loss: false,
            max_processes: 255,
            merge: false,
            dead_variables: false,
            single_statements: false,
            coverage: false,
        }
    }
}

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    if let Some(text) = options.invariants.first() {
        let expression = SourceFile::new("--invariant", text.as_str());
        let span = Span::new(0, text.len());
        let problem = Diagnostic::error(
            "PML900",
            "invariants of Promela models are not supported yet",
            span,
        )
        .help("write `active proctype invariant() { assert(...) }` into the model");
        return Err(BuildError::Expression(Box::new(expression), vec![problem]));
    }
    let path = Path::new(source.name());
    let promela = &options.promela;
    let settings = Options {
        definitions: promela.definitions.clone(),
        lowering: lower::Options {
            lossy: promela.message_loss,
            max_processes: promela.max_processes,
            fuse: !promela.single_statements,
            merge: promela.merge,
            dead_variables: promela.dead_variables,
        },
        ..Options::default()
    };
    match load(path, source.text(), &settings, &FileLoader) {
        Ok(loaded) => parts(loaded, options),
        Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
    }
}

/// A Promela model in its own terms.
pub struct PromelaModel {
    loaded: Loaded,
    /// By command: whether a search has reached it. Empty if nobody wants to know.
    reached: Vec<AtomicBool>,
    options: LoadOptions,
}

impl PromelaModel {
    /// The checked model, its statements and control states.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether some search has reached a command; `None` if that was not noted.
    pub fn is_reached(&self, command: usize) -> Option<bool> {
        let noted = self.reached.get(command)?;
        Some(noted.load(Ordering::Relaxed))
    }

    /// The same model, prepared for what a step was missing.
    pub(crate) fn grown(&self, outcome: Outcome) -> Option<Result<Parts, BuildError>> {
        Some(match self.loaded.grown(outcome)? {
            Ok(loaded) => parts(loaded, &self.options),
            Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
        })
    }
}

fn parts(loaded: Loaded, options: &LoadOptions) -> Result<Parts, BuildError> {
    let never = loaded
        .program
        .processes
        .iter()
        .filter(|p| p.kind == ProcessKind::Never);
    let mut unchecked: Vec<String> = never.map(|_| "never claim".to_owned()).collect();
    let formulas = loaded
        .program
        .formulas
        .iter()
        .map(|f| format!("ltl {}", f.name));
    unchecked.extend(formulas);
    let warnings = loaded.diagnostics.clone();
    let text = ModelText::Several(loaded.sources.clone());
    let mut parts = Parts::of_model(loaded.model.clone(), warnings, options.engine);
    let sites = loaded.model.structure().failures.len();
    let is_missing: Vec<bool> = (0..=sites)
        .map(|outcome| loaded.lowered.missing(Outcome(outcome as u32)).is_some())
        .collect();
    let commands = match options.promela.coverage {
        true => loaded.model.program().commands.len(),
        false => 0,
    };
    let promela = Arc::new(PromelaModel {
        loaded,
        reached: (0..commands).map(|_| AtomicBool::new(false)).collect(),
        options: options.clone(),
    });
    if is_missing.contains(&true) || commands > 0 {
        let seen = Arc::new(AtomicU32::new(0));
        parts.system = Arc::new(Watched {
            inner: parts.system,
            promela: Arc::clone(&promela),
            is_missing,
            seen: Arc::clone(&seen),
        });
        parts.growth = Some(Growth {
            promela: Arc::clone(&promela),
            seen,
        });
    }
    parts.promela = Some(promela);
    parts.unchecked = unchecked;
    parts.text = Some(text);
    Ok(parts)
}

/// How to get a larger program when this one turns out to be too small.
pub(crate) struct Growth {
    promela: Arc<PromelaModel>,
    /// The outcome of a step that something was missing for; 0 if none was.
    seen: Arc<AtomicU32>,
}

impl Growth {
    /// Whether some search ran into a start that is not provided for.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.seen.load(Ordering::Relaxed) != 0
    }

    /// The larger program.
    pub(crate) fn grown(&self) -> Option<Result<Parts, BuildError>> {
        let outcome = Outcome(self.seen.load(Ordering::Relaxed));
        self.promela.grown(outcome)
    }
}

/// A system that notes when something is missing, and what is reached.
struct Watched {
    inner: Arc<dyn System>,
    promela: Arc<PromelaModel>,
    /// By outcome.
    is_missing: Vec<bool>,
    seen: Arc<AtomicU32>,
}

impl System for Watched {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        let covers = !self.promela.reached.is_empty();
        Box::new(Watcher {
            inner: self.inner.executor(),
            system: self,
            interpreter: covers.then(|| Interpreter::new(&self.promela.loaded.model)),
        })
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.inner.relations(level)
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.inner.value_text(field, value)
    }
}

struct Watcher<'s> {
    inner: Box<dyn Executor + 's>,
    system: &'s Watched,
    /// If it is to be noted what is reached.
    interpreter: Option<Interpreter<'s>>,
}

impl Watcher<'_> {
    fn look(&mut self, state: &[u32], out: &Successors, from: usize) {
        for at in from..out.len() {
            let outcome = out.outcome(at);
            if outcome != Outcome::FINE
                && self.system.is_missing.get(outcome.0 as usize) == Some(&true)
            {
                self.system.seen.store(outcome.0, Ordering::Relaxed);
            }
        }
        let Some(interpreter) = &mut self.interpreter else {
            return;
        };
        let reached = &self.system.promela.reached;
        let mut last = None;
        for at in from..out.len() {
            let transition = out.get(at).transition;
            // The ways through a chain stand one after the other.
            if last.replace(transition) != Some(transition) {
                interpreter.visit_chain(state, transition, &mut |command| {
                    reached[command.index()].store(true, Ordering::Relaxed);
                });
            }
        }
    }
}

impl Executor for Watcher<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        let from = out.len();
        self.inner.successors(state, out);
        self.look(state, out, from);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let from = out.len();
        self.inner.fire(state, transition, out);
        self.look(state, out, from);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }

    fn labels(&mut self, state: &[u32], out: &mut stubborn_system::BitSet) {
        self.inner.labels(state, out);
    }
}

#[cfg(test)]
mod tests {
    use stubborn_reduce::{Algorithm, Config};

    use crate::{
        CheckOptions, Language, LoadOptions, Por, QuestionKind, ReductionOptions, Verdict,
        questions,
    };

    /// The assertion looks at what another process writes, and leaves no trace in the state:
    /// a reduction that judged by states alone would check it only once.
    #[test]
    fn reduced_searches_find_violated_assertions() {
        let texts = [
            "byte x; active proctype A() { x = 1; x = 2 } active proctype B() { assert(x != 1) }",
            "byte x; active proctype A() { x = 1 } active proctype B() { assert(x == 0) }",
            "byte x, y; active proctype A() { y = 1; x = 1; y = 0 }
             active proctype B() { atomic { skip; assert(x + y != 2) } }",
        ];
        for text in texts {
            let model = crate::load_text("m.pml", text, Language::Promela, &LoadOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let mut lengths = Vec::new();
            for por in [Por::None, Por::Chosen(Config::new(Algorithm::Goal))] {
                let reduction = ReductionOptions {
                    por,
                    ..ReductionOptions::default()
                };
                let options = CheckOptions {
                    reduction,
                    ..CheckOptions::default()
                };
                let mut questions = questions(&model);
                questions.retain(|question| question.kind == QuestionKind::Assertion);
                let report = crate::check(&model, &questions, &options).expect("it runs");
                assert_eq!(report.verdict(), Verdict::Violated, "{text}");
                let violations = report.answers.iter().filter_map(|a| a.violation.as_ref());
                lengths.push(violations.map(|v| v.length).collect::<Vec<_>>());
            }
            assert_eq!(lengths[0], lengths[1], "{text}");
        }
    }
}
