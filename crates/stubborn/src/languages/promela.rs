//! Promela: guarded commands that may turn out to be too few.
//!
//! Which process types are started in which slots is found while exploring. A start that the
//! program does not provide for is a failing step; [`Growth`] watches for those, and
//! afterwards builds a larger program with which everything is done again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_promela::ast::ProcessKind;
use stubborn_promela::source::FileLoader;
use stubborn_promela::{Loaded, Options, load};
use stubborn_system::{
    Executor, FieldId, LabelId, Layout, Outcome, RelationLevel, Relations, Structure, Successors,
    System, TransitionId,
};

use crate::load::{BuildError, Engine, LoadOptions, Parts};
use crate::text::ModelText;

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
    match load(path, source.text(), &Options::default(), &FileLoader) {
        Ok(loaded) => parts(loaded, options.engine),
        Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
    }
}

fn parts(loaded: Loaded, engine: Engine) -> Result<Parts, BuildError> {
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
    let mut parts = Parts::of_model(loaded.model.clone(), warnings, engine);
    let sites = loaded.model.structure().failures.len();
    let too_few = (0..sites).any(|site| loaded.lowered.missing(Outcome::failure(site)).is_some());
    if too_few {
        let missing = Arc::new(AtomicU32::new(0));
        let is_missing: Vec<bool> = (0..=sites)
            .map(|outcome| loaded.lowered.missing(Outcome(outcome as u32)).is_some())
            .collect();
        parts.system = Arc::new(Watched {
            inner: parts.system,
            is_missing,
            seen: Arc::clone(&missing),
        });
        parts.growth = Some(Growth {
            loaded: Box::new(loaded),
            seen: missing,
            engine,
        });
    }
    parts.unchecked = unchecked;
    parts.text = Some(text);
    Ok(parts)
}

/// How to get a larger program when this one turns out to be too small.
pub(crate) struct Growth {
    loaded: Box<Loaded>,
    /// The outcome of a step that something was missing for; 0 if none was.
    seen: Arc<AtomicU32>,
    engine: Engine,
}

impl Growth {
    /// Whether some search ran into a start that is not provided for.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.seen.load(Ordering::Relaxed) != 0
    }

    /// The larger program.
    pub(crate) fn grown(&self) -> Option<Result<Parts, BuildError>> {
        let outcome = Outcome(self.seen.load(Ordering::Relaxed));
        Some(match self.loaded.grown(outcome)? {
            Ok(loaded) => parts(loaded, self.engine),
            Err((sources, problems)) => Err(BuildError::Files(Box::new(sources), problems)),
        })
    }
}

/// A system that notes when something is missing.
struct Watched {
    inner: Arc<dyn System>,
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
        Box::new(Watcher {
            inner: self.inner.executor(),
            system: self,
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
}

impl Watcher<'_> {
    fn look(&self, out: &Successors, from: usize) {
        for at in from..out.len() {
            let outcome = out.outcome(at);
            if outcome != Outcome::FINE
                && self.system.is_missing.get(outcome.0 as usize) == Some(&true)
            {
                self.system.seen.store(outcome.0, Ordering::Relaxed);
            }
        }
    }
}

impl Executor for Watcher<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        let from = out.len();
        self.inner.successors(state, out);
        self.look(out, from);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let from = out.len();
        self.inner.fire(state, transition, out);
        self.look(out, from);
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
