//! Traces as JSON: what `check --json` prints, `--trace` saves and `simulate --replay` reads.
//!
//! A saved trace names its transitions and the values that each changed, so that it can be
//! read without the model and replayed on a model that has changed since, as far as that
//! still has the same steps.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stubborn_promela::StartName;
use stubborn_search::{Change, Trace, TraceStep};
use stubborn_system::{FieldId, FieldKind, Successor, Successors, System};

use crate::load::{LoadOptions, LoadedModel};
use crate::story::{self, Transferred};
use crate::text::PlaceRecord;

/// The first words of a trace file.
const FORMAT: &str = "stubborn trace";
const VERSION: u32 = 1;

/// A run in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedTrace {
    format: String,
    version: u32,
    /// The model's file.
    pub model: String,
    /// Its language.
    pub language: String,
    /// What the run shows, for people.
    pub shows: String,
    /// Whether it violates what only the command that saved it knows: a temporal property, an invariant
    /// that the model does not state. Other violations are seen where the run is followed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub violates: bool,
    /// Expressions that the run was about, where states depend on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<String>,
    /// Starts of processes that the model was prepared for: names depend on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    starts: Vec<StartRecord>,
    /// The initial state: field to value.
    pub initial: Map<String, Value>,
    /// The steps.
    #[serde(flatten)]
    pub steps: TraceRecord,
}

/// A [`StartName`] in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StartRecord {
    number: usize,
    process: String,
    by: usize,
    run: usize,
}

/// A run: the steps before its cycle, and the cycle if it is infinite.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct TraceRecord {
    /// The steps of a finite run, or those before the cycle.
    pub stem: Vec<StepRecord>,
    /// The steps that repeat for ever.
    pub cycle: Vec<StepRecord>,
}

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct StepRecord {
    /// The name of the transition.
    pub transition: String,
    /// Whose step it is; `A, B` for a rendez-vous.
    pub process: Option<String>,
    /// Where the transition stands in the model: `file:line:column`.
    pub location: Option<String>,
    /// The same in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceRecord>,
    /// The fields that it changed: name to `[old, new]`.
    pub changes: Map<String, Value>,
    /// What went into channels and out of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageRecord>,
    /// What went wrong in it: a violated assertion, what it failed in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What a step did to a channel.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct MessageRecord {
    /// The name of the channel.
    pub channel: String,
    /// Whether a message went in or out.
    pub action: MessageAction,
    /// The message, part by part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Vec<Value>>,
    /// All messages after the step, oldest first, where it is not one at an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Vec<Value>>>,
}

/// What happens to messages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum MessageAction {
    /// One comes in, after all others.
    Gets,
    /// The oldest one goes out.
    Gives,
    /// Anything else: sorted or random sends and receives.
    Changes,
}

impl TraceRecord {
    /// Describes a trace of a model.
    #[allow(clippy::infinite_iter)] // the cycle of a trace is listed once
    pub fn new(model: &LoadedModel, trace: &Trace) -> Self {
        Self {
            stem: trace.stem().map(|step| record(model, &step)).collect(),
            cycle: trace.cycle().map(|step| record(model, &step)).collect(),
        }
    }
}

fn record(model: &LoadedModel, step: &TraceStep<'_>) -> StepRecord {
    let system = model.reference();
    let structure = system.structure();
    let transition = structure.transition(step.transition);
    // The state after a failing step is none of the model: what is said about it is that.
    let is_told = |change: &Change| {
        step.outcome.failed().is_none()
            || system.layout().field(change.field).kind == FieldKind::Failed
    };
    let changes = step.changes(system.layout()).into_iter().filter(is_told);
    let changes = changes.map(|change| {
        let name = system.layout().field(change.field).name.clone();
        let old = value(system, change.field, change.old);
        let new = value(system, change.field, change.new);
        (name, Value::Array(vec![old, new]))
    });
    StepRecord {
        transition: transition.name.clone(),
        process: story::process_names(structure, step.transition),
        location: transition.span.map(|span| model.text().place(span)),
        place: transition.span.map(|span| model.text().range(span)),
        changes: changes.collect(),
        messages: messages(system, step),
        problems: step
            .outcome
            .sites(structure)
            .map(|site| site.message.clone())
            .collect(),
    }
}

/// What a step did to channels.
fn messages(system: &dyn System, step: &TraceStep<'_>) -> Vec<MessageRecord> {
    let layout = system.layout();
    if system.structure().error_state.as_deref() == Some(step.after) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for channel in layout.channels() {
        let content = |state: &[u32]| -> Vec<Vec<Value>> {
            let length = usize::try_from(layout.get(state, channel.length)).unwrap_or(0);
            // Cells are numbers, whatever they stand for: `changes` has these.
            let part = |field: &FieldId| {
                let number = layout.get(state, *field);
                match system.value_text(*field, number) {
                    text if text == number.to_string() => Value::from(number),
                    text => Value::from(text),
                }
            };
            let cells = channel.cells.iter().take(length);
            cells
                .map(|cells| cells.iter().map(part).collect())
                .collect()
        };
        let (old, new) = (content(step.before), content(step.after));
        if old == new {
            continue;
        }
        let (action, message, content) = match story::transferred(&old, &new) {
            Transferred::Gets(message) => (MessageAction::Gets, Some(message.clone()), None),
            Transferred::Gives(message) => (MessageAction::Gives, Some(message.clone()), None),
            Transferred::Changes => (MessageAction::Changes, None, Some(new)),
        };
        all.push(MessageRecord {
            channel: channel.name.clone(),
            action,
            message,
            content,
        });
    }
    all
}

/// A number, or the name of a named value.
pub(crate) fn value(system: &dyn System, field: FieldId, value: i64) -> Value {
    match system.layout().field(field).kind {
        FieldKind::Integer
        | FieldKind::ChannelLength(_)
        | FieldKind::ChannelCell(_)
        | FieldKind::Failed => Value::from(value),
        FieldKind::Location(..) | FieldKind::Named(_) | FieldKind::Interned => {
            Value::from(system.value_text(field, value))
        }
    }
}

/// The values of all fields.
pub fn state_values(system: &dyn System, state: &[u32]) -> Map<String, Value> {
    let fields = system.layout().fields().iter().enumerate();
    fields
        .map(|(at, field)| {
            let shown = value(system, FieldId::new(at), field.get(state));
            (field.name.clone(), shown)
        })
        .collect()
}

fn starts_of(model: &LoadedModel) -> Vec<StartRecord> {
    let starts = model.promela().map(|promela| promela.loaded().starts());
    let starts = starts.into_iter().flatten().map(|start| StartRecord {
        number: start.number,
        process: start.process,
        by: start.by,
        run: start.run,
    });
    starts.collect()
}

/// Why a trace cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError(String);

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReplayError {}

impl SavedTrace {
    /// Describes a trace; `shows` says what it is about.
    pub fn new(model: &LoadedModel, trace: &Trace, shows: impl Into<String>) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            model: model.name().into(),
            language: model.language().name().into(),
            shows: shows.into(),
            violates: false,
            expressions: model.expressions().to_vec(),
            starts: starts_of(model),
            initial: state_values(model.reference(), trace.initial_state()),
            steps: TraceRecord::new(model, trace),
        }
    }

    /// The same, as a [violation](Self::violates) or not.
    pub fn violating(self, violates: bool) -> Self {
        Self { violates, ..self }
    }

    /// What the model must be loaded with, so that it has the trace's fields and steps.
    pub fn needs(&self) -> LoadOptions {
        let starts = self.starts.iter().map(|start| StartName {
            number: start.number,
            process: start.process.clone(),
            by: start.by,
            run: start.run,
        });
        LoadOptions {
            expressions: self.expressions.clone(),
            starts: starts.collect(),
            ..LoadOptions::default()
        }
    }

    /// The text of a trace file.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        // Nothing in it can fail to be written: keys are strings, numbers are finite.
        text.unwrap_or_default() + "\n"
    }

    /// Reads a trace file.
    pub fn from_json(text: &str) -> Result<Self, ReplayError> {
        let saved: Option<SavedTrace> = serde_json::from_str(text).ok();
        let Some(saved) = saved.filter(|saved| saved.format == FORMAT) else {
            let text = "this is no trace that `check --trace` or `simulate --save` wrote";
            return Err(ReplayError(text.into()));
        };
        if saved.version != VERSION {
            let version = saved.version;
            let text = format!("this trace has format version {version}, known is {VERSION}");
            return Err(ReplayError(text));
        }
        Ok(saved)
    }

    /// Runs the trace on a model. Where a transition has several successors, the one with
    /// the recorded changes is taken.
    pub fn replay(&self, model: &LoadedModel) -> Result<Trace, ReplayError> {
        let system = model.reference();
        let words = system.layout().words();
        let all = system.initial_states();
        // The trace may know constants that only its property reads.
        let is_ours = |state: &&[u32]| {
            let values = state_values(system, state);
            values
                .iter()
                .all(|(name, value)| self.initial.get(name) == Some(value))
        };
        let Some(initial) = all.chunks_exact(words).find(is_ours) else {
            let text = "the trace starts in a state in which this model does not start";
            return Err(ReplayError(text.into()));
        };
        let mut executor = system.executor();
        let mut successors = Successors::new(words);
        let mut trace = Trace::new(initial);
        for step in self.steps.stem.iter().chain(&self.steps.cycle) {
            successors.clear();
            executor.successors(trace.last_state(), &mut successors);
            let structure = system.structure();
            let is_named =
                |s: &Successor<'_>| structure.transition(s.transition).name == step.transition;
            // Of several ways through a transition, the one on which the same went wrong.
            let named = successors.iter().filter(is_named).filter_map(|successor| {
                let one = TraceStep {
                    number: 0,
                    transition: successor.transition,
                    outcome: successor.outcome,
                    before: trace.last_state(),
                    after: successor.state,
                };
                let found = record(model, &one);
                let differs = found.problems != step.problems;
                let is_it = match successor.outcome.failed() {
                    Some(_) => !differs,
                    None => found.changes == step.changes,
                };
                is_it.then_some((differs, successor))
            });
            let Some((_, found)) = named.min_by_key(|(differs, _)| *differs) else {
                let number = trace.len() + 1;
                let name = &step.transition;
                let problem = if successors.iter().any(|s| is_named(&s)) {
                    "does something else in this model"
                } else if structure.transitions.iter().any(|t| t.name == *name) {
                    "is not possible there"
                } else {
                    "does not exist in this model"
                };
                return Err(ReplayError(format!("step {number}: `{name}` {problem}")));
            };
            let (transition, outcome, state) =
                (found.transition, found.outcome, found.state.to_vec());
            trace.push(transition, outcome, &state);
        }
        if !self.steps.cycle.is_empty() {
            let start = self.steps.stem.len();
            if trace.state(start) != trace.last_state() {
                return Err(ReplayError("the cycle of the trace does not close".into()));
            }
            trace.close_cycle(start);
        }
        Ok(trace)
    }
}
