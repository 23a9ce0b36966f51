//! What a page shows: a system, and what its front-end knows besides.

use stubborn_diagnostics::Span;
use stubborn_emptiness::Property;
use stubborn_protocol::{Chart, Model, Value};
use stubborn_search::{Target, Trace, TraceStep};
use stubborn_system::{FailureKind, PropertyKind, Structure, System};

/// A text of the model.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// As the user named it.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A range of characters in a [`File`]. Lines and columns count from 1, and the end is the first
/// character after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the file.
    pub file: usize,
    /// Where it starts.
    pub start: (u32, u32),
    /// Where it ends.
    pub end: (u32, u32),
}

/// What can be asked of states.
#[derive(Clone, Debug)]
pub struct Question {
    /// For people.
    pub name: String,
    /// As results call it: `deadlock`, `error`, `assertion`, `invariant`.
    pub kind: String,
    /// What must not happen.
    pub target: Target,
}

/// A property of runs.
#[derive(Clone, Debug)]
pub struct Temporal<'m> {
    /// For people.
    pub name: String,
    /// What should hold, in words.
    pub title: String,
    /// Its automaton.
    pub property: &'m Property,
}

/// A message that a step of a run brings from one process to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Number of the sender.
    pub from: usize,
    /// Number of the receiver.
    pub to: usize,
    /// The message.
    pub text: String,
}

type Hook<F> = Option<Box<F>>;

/// Everything that a page shows. Only the [system](Self::new) is needed; whoever knows more about
/// the model adds that.
#[expect(
    clippy::type_complexity,
    reason = "functions of borrowed things need their types here"
)]
pub struct Subject<'m> {
    /// For people.
    pub name: String,
    /// In which the model is written.
    pub language: String,
    /// What is shown: the reference execution.
    pub system: &'m dyn System,
    /// What is searched: another execution of the same model, perhaps a faster one.
    pub searched: &'m dyn System,
    /// The model's text.
    pub files: Vec<File>,
    /// What can be asked of states.
    pub questions: Vec<Question>,
    /// What can be asked of runs.
    pub temporal: Vec<Temporal<'m>>,
    /// Where a span is in the text.
    pub place: Hook<dyn Fn(Span) -> Option<Place> + Send + Sync + 'm>,
    /// Why a run ends in a state, in words.
    pub why_over: Hook<dyn Fn(&[u32]) -> String + Send + Sync + 'm>,
    /// A run to a state in which an expression holds.
    pub find: Hook<dyn Fn(&str) -> Result<Option<Trace>, String> + Send + Sync + 'm>,
    /// A run from the text of a file that somebody saved.
    pub replay: Hook<dyn Fn(&str) -> Result<Trace, String> + Send + Sync + 'm>,
    /// What a saved run looks like in a file.
    pub save: Hook<dyn Fn(&Trace) -> String + Send + Sync + 'm>,
    /// The statements of the text, each with whether a search has reached it, where transitions
    /// are more or less than that.
    pub statements: Hook<dyn Fn() -> Vec<(Span, bool)> + Send + Sync + 'm>,
    /// Messages, where they are not in channels.
    pub arrows: Hook<dyn Fn(&TraceStep<'_>) -> Vec<Arrow> + Send + Sync + 'm>,
}

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subject").field(&self.name).finish()
    }
}

impl<'m> Subject<'m> {
    /// A system with the questions that it states: no deadlock (no invalid end), no failing step,
    /// no violated assertion, its properties.
    pub fn new(name: impl Into<String>, system: &'m dyn System) -> Self {
        Self {
            name: name.into(),
            language: "system".into(),
            system,
            searched: system,
            files: Vec::new(),
            questions: questions_of(system.structure()),
            temporal: Vec::new(),
            place: None,
            why_over: None,
            find: None,
            replay: None,
            save: None,
            statements: None,
            arrows: None,
        }
    }

    /// A protocol, with its messages.
    pub fn of_protocol<M: Value>(model: &'m Model<M>) -> Self {
        let arrows = |step: &TraceStep<'_>| {
            let mut one = Trace::new(step.before);
            one.push(step.transition, step.outcome, step.after);
            let chart = Chart::new(model, &one);
            let arrows = chart.deliveries().flatten().map(|(from, to, text)| Arrow {
                from: from.index(),
                to: to.index(),
                text: text.to_owned(),
            });
            arrows.collect()
        };
        let mut subject = Self {
            language: "protocol".into(),
            arrows: Some(Box::new(arrows)),
            ..Self::new(model.name(), model)
        };
        // Protocols come to an end, unless they say when they may.
        if model.structure().valid_end.is_none() {
            subject.questions.retain(|q| q.target != Target::Deadlock);
        }
        subject
    }
}

fn questions_of(structure: &Structure) -> Vec<Question> {
    let question = |name: &str, kind: &str, target| Question {
        name: name.into(),
        kind: kind.into(),
        target,
    };
    let mut all = vec![match structure.valid_end {
        None => question("deadlock", "deadlock", Target::Deadlock),
        Some(_) => question("invalid end", "deadlock", Target::InvalidEnd),
    }];
    if structure.transitions.iter().any(|t| t.may_fail) {
        all.push(question("errors", "error", Target::Errors));
    }
    let is_assertion = |f: &stubborn_system::FailureSite| f.kind == FailureKind::Assertion;
    if structure.failures.iter().any(is_assertion) {
        all.push(question("assertions", "assertion", Target::Assertions));
    }
    all.extend(structure.properties.iter().map(|property| {
        let kind = match property.kind {
            PropertyKind::Assertion => "assertion",
            PropertyKind::Invariant => "invariant",
            PropertyKind::Reachable => "reach",
        };
        question(&property.name, kind, Target::Label(property.violated_by))
    }));
    all
}
