//! A look at a system, as questions and answers in JSON: what the page asks for, live or recorded.
//!
//! States have numbers in the order in which they were met. A state is an array of texts, one a
//! field; a step has the fields that it changed. Nothing here knows languages.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rapidhash::RapidHashMap;
use serde_json::{Value, json};
use stubborn_search::{Limits, Search, Target, Trace};
use stubborn_system::{
    Expander, FieldId, FieldKind, Outcome, Successor, Successors, System, TransitionId,
};

use crate::check::Check;
use crate::sets::{Chosen, Knowledge};
use crate::subject::Subject;
use crate::trace;

/// Most states that are looked at to see which transitions can be taken.
pub const SURVEYED: u64 = 200_000;
/// The longest time for it.
pub const SURVEY_TIME: Duration = Duration::from_secs(3);

/// Files above so many bytes are cut.
const LARGEST_FILE: usize = 1 << 20;
/// Most states that one answer expands.
const MOST_GROWN: usize = 5_000;
/// Most states that a page remembers.
const MOST_STATES: usize = 2_000_000;

/// A question of the page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Without `/api/`: `state/17`.
    pub path: &'a str,
    /// Without the question mark: `question=0&algorithm=beam`.
    pub query: &'a str,
    /// What was sent besides.
    pub body: &'a str,
}

impl<'a> Request<'a> {
    /// From `path?query`.
    pub fn of(target: &'a str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            path,
            query,
            body: "",
        }
    }

    /// A parameter; names and values of the page need no escapes.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find_map(|(n, v)| (n == name).then_some(v))
    }
}

/// Why there is no answer; in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl<T: Into<String>> From<T> for Refusal {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// A run that is shown, and what it is about.
pub(crate) struct Told {
    pub(crate) title: String,
    pub(crate) trace: Trace,
    /// Number of the question, those about runs after those about states.
    pub(crate) question: Option<usize>,
}

/// A system that somebody looks at.
pub struct Session<'m> {
    pub(crate) subject: Subject<'m>,
    seen: Mutex<Seen>,
    pub(crate) knowledge: Mutex<Knowledge<'m>>,
    traces: Mutex<Vec<Arc<Told>>>,
    check: Mutex<Check>,
    survey: Mutex<Value>,
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.subject.name).finish()
    }
}

/// The states that were met.
#[derive(Default)]
struct Seen {
    numbers: RapidHashMap<Arc<[u32]>, usize>,
    states: Vec<Arc<[u32]>>,
}

/// What nobody who panicked can have spoilt.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'m> Session<'m> {
    /// Nothing has been looked at yet, but the initial states.
    pub fn new(subject: Subject<'m>) -> Self {
        let session = Self {
            subject,
            seen: Mutex::default(),
            knowledge: Mutex::default(),
            traces: Mutex::default(),
            check: Mutex::default(),
            survey: Mutex::new(Value::Null),
        };
        let words = session.subject.system.layout().words();
        for state in session.subject.system.initial_states().chunks_exact(words) {
            session.number(state);
        }
        session
    }

    /// Its subject.
    pub fn subject(&self) -> &Subject<'m> {
        &self.subject
    }

    pub(crate) fn system(&self) -> &'m dyn System {
        self.subject.system
    }

    /// The number of a state.
    pub(crate) fn number(&self, state: &[u32]) -> usize {
        let seen = &mut *lock(&self.seen);
        if let Some(number) = seen.numbers.get(state) {
            return *number;
        }
        let number = seen.states.len();
        let state: Arc<[u32]> = state.into();
        seen.states.push(Arc::clone(&state));
        seen.numbers.insert(state, number);
        number
    }

    fn state(&self, number: &str) -> Result<(usize, Arc<[u32]>), Refusal> {
        let seen = lock(&self.seen);
        let number = number.parse::<usize>().ok();
        let found = number.and_then(|n| Some((n, Arc::clone(seen.states.get(n)?))));
        found.ok_or_else(|| "there is no such state".into())
    }

    /// Adds a run to those that are shown; its number.
    pub fn add_trace(
        &self,
        title: impl Into<String>,
        trace: Trace,
        question: Option<usize>,
    ) -> usize {
        let mut traces = lock(&self.traces);
        traces.push(Arc::new(Told {
            title: title.into(),
            trace,
            question,
        }));
        traces.len() - 1
    }

    /// How far the check is that runs beside.
    pub fn check(&self) -> MutexGuard<'_, Check> {
        lock(&self.check)
    }

    /// Looks which transitions can be taken at all, in the first states of the unreduced system.
    pub fn survey(
        &self,
        states: u64,
        time: Duration,
        interrupt: Option<&std::sync::atomic::AtomicBool>,
    ) {
        let search = Search {
            limits: Limits {
                states: Some(states),
                time: Some(time),
                interrupt,
                ..Limits::default()
            },
            ..Search::new(self.subject.searched)
        };
        let Ok(result) = search.run() else { return };
        let transitions = self.system().structure().transition_ids();
        let fired = transitions.map(|t| u8::from(result.fired.contains(t.index())));
        let statements = self.subject.statements.as_ref().map(|all| {
            let place = |(span, taken)| {
                let place = self.subject.place.as_ref()?(span)?;
                Some(json!([place.file, place.start.0, u8::from(taken)]))
            };
            all().into_iter().filter_map(place).collect::<Vec<_>>()
        });
        *lock(&self.survey) = json!({
            "states": result.states,
            "complete": result.is_complete(),
            "deadlocks": result.deadlocks,
            "levels": result.level_sizes,
            "fired": fired.collect::<Vec<u8>>(),
            "statements": statements,
        });
    }

    /// Answers a question of the page.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn answer(&self, request: &Request<'_>) -> Result<Value, Refusal> {
        let mut parts = request.path.split('/');
        let (what, which) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        match what {
            "model" => Ok(self.model()),
            "status" => Ok(self.status()),
            "state" => self.one_state(which),
            "trace" => {
                let told = which
                    .parse()
                    .ok()
                    .and_then(|at: usize| lock(&self.traces).get(at).cloned());
                let told = told.ok_or("there is no such run")?;
                Ok(trace::json(self, &told))
            }
            "set" => {
                let (_, state) = self.state(which)?;
                crate::sets::json(self, &state, &Chosen::of(self, request)?)
            }
            "kept" => self.kept(request),
            "grow" => self.grow(request),
            "find" => self.find(request.body),
            "follow" => self.follow(request.body),
            "save" => self.save(request.body),
            _ => Err("there is no such question".into()),
        }
    }

    fn model(&self) -> Value {
        let (structure, layout) = (self.system().structure(), self.system().layout());
        let files = self.subject.files.iter().map(|file| {
            let mut cut = file.text.len().min(LARGEST_FILE);
            while !file.text.is_char_boundary(cut) {
                cut -= 1;
            }
            json!({"name": file.name, "text": &file.text[..cut], "cut": cut < file.text.len()})
        });
        let fields = layout.fields().iter().map(|field| {
            let (kind, channel) = match &field.kind {
                FieldKind::Location(..) => ("location", None),
                FieldKind::ChannelLength(channel) => ("length", Some(channel.index())),
                FieldKind::ChannelCell(channel) => ("cell", Some(channel.index())),
                FieldKind::Failed => ("failed", None),
                FieldKind::Integer | FieldKind::Named(_) | FieldKind::Interned => ("value", None),
            };
            let process = field.process.map(|p| p.index());
            json!({"name": field.name, "kind": kind, "process": process, "channel": channel})
        });
        let channels = layout.channels().iter().map(|channel| {
            let cells = channel.cells.iter();
            let cells = cells.map(|cell| cell.iter().map(|f| f.index()).collect());
            let cells: Vec<Vec<usize>> = cells.collect();
            json!({"name": channel.name, "length": channel.length.index(), "cells": cells})
        });
        let place = |span| {
            let place = self.subject.place.as_ref()?(span)?;
            let ((line, column), (end_line, end_column)) = (place.start, place.end);
            Some(json!([place.file, line, column, end_line, end_column]))
        };
        let transitions = structure.transitions.iter().map(|transition| {
            let processes = transition.processes.iter().map(|p| p.index());
            json!({
                "name": transition.name,
                "title": transition.title(),
                "processes": processes.collect::<Vec<_>>(),
                "sources": transition.sources,
                "place": transition.span.and_then(place),
            })
        });
        let processes = structure.processes.iter();
        let processes =
            processes.map(|p| json!({"name": p.name, "location": p.location.map(|f| f.index())}));
        let states = self.subject.questions.iter();
        let states = states.map(|q| {
            let usual = crate::sets::usual(self, q.target);
            json!({"name": q.name, "kind": q.kind, "algorithm": usual})
        });
        let runs = self.subject.temporal.iter();
        let runs = runs.map(|t| json!({"name": t.title, "kind": "ltl", "algorithm": "beam"}));
        let words = layout.words();
        json!({
            "name": self.subject.name,
            "language": self.subject.language,
            "version": env!("CARGO_PKG_VERSION"),
            "files": files.collect::<Vec<_>>(),
            "fields": fields.collect::<Vec<_>>(),
            "channels": channels.collect::<Vec<_>>(),
            "processes": processes.collect::<Vec<_>>(),
            "transitions": transitions.collect::<Vec<_>>(),
            "questions": states.chain(runs).collect::<Vec<_>>(),
            "algorithms": crate::sets::algorithms(),
            "relations": crate::sets::LEVELS.map(|(name, _)| name),
            "initial": self.system().initial_states().chunks_exact(words)
                .map(|state| self.number(state)).collect::<Vec<_>>(),
            "finds": self.subject.find.is_some(),
            "follows": self.subject.replay.is_some(),
        })
    }

    fn status(&self) -> Value {
        let traces = lock(&self.traces);
        let traces = traces
            .iter()
            .map(|told| json!({"title": told.title, "steps": told.trace.len()}));
        let mut status = self.check().json();
        if let Value::Object(fields) = &mut status {
            fields.insert("traces".into(), traces.collect());
            fields.insert("survey".into(), lock(&self.survey).clone());
        }
        status
    }

    /// The texts of all fields.
    pub(crate) fn values(&self, state: &[u32]) -> Vec<String> {
        let system = self.system();
        let fields = system.layout().fields().iter().enumerate();
        fields
            .map(|(at, field)| system.value_text(FieldId::new(at), field.get(state)))
            .collect()
    }

    pub(crate) fn is_error(&self, state: &[u32]) -> bool {
        self.system().structure().error_state.as_deref() == Some(state)
    }

    /// A step to a state: `[[field, text]...]` is what it changed.
    pub(crate) fn step(
        &self,
        before: &[u32],
        (transition, outcome, after): (TransitionId, Outcome, &[u32]),
    ) -> Value {
        let system = self.system();
        let mut changes = Vec::new();
        if !self.is_error(after) {
            for (at, field) in system.layout().fields().iter().enumerate() {
                if field.get(before) != field.get(after) {
                    let text = system.value_text(FieldId::new(at), field.get(after));
                    changes.push(json!([at, text]));
                }
            }
        }
        let sites = outcome.sites(system.structure());
        let problems: Vec<&str> = sites.map(|site| site.message.as_str()).collect();
        let mut step = json!({
            "transition": transition.index(),
            "to": self.number(after),
            "changes": changes,
        });
        if !problems.is_empty() {
            step["problems"] = json!(problems);
        }
        step
    }

    fn one_state(&self, number: &str) -> Result<Value, Refusal> {
        let (number, state) = self.state(number)?;
        let system = self.system();
        let structure = system.structure();
        let mut expander = Expander::new(system, None);
        expander
            .compute(&state)
            .map_err(|spent| spent.to_string())?;
        let of = |s: Successor<'_>| self.step(&state, (s.transition, s.outcome, s.state));
        let steps: Vec<Value> = expander.successors().iter().map(of).collect();
        let locations = structure.processes.iter().map(|process| {
            let field = system.layout().field(process.location?);
            u32::try_from(field.get(&state) - field.min).ok()
        });
        let is_over = steps.is_empty();
        let is_error = self.is_error(&state);
        let is_bad = |target: Target, expander: &mut Expander<'_>| match target {
            Target::Deadlock => is_over && !is_error,
            Target::InvalidEnd => {
                let fine = structure.valid_end;
                let fine = fine.is_some_and(|end| expander.executor().label(&state, end));
                is_over && !is_error && !fine
            }
            Target::Label(label) => !is_error && expander.executor().label(&state, label),
            Target::Errors => is_error,
            Target::Assertions => false,
        };
        let questions = self.subject.questions.iter().enumerate();
        let violated: Vec<usize> = questions
            .filter(|(_, q)| is_bad(q.target, &mut expander))
            .map(|(at, _)| at)
            .collect();
        let why = self.subject.why_over.as_ref().filter(|_| is_over);
        Ok(json!({
            "state": number,
            "values": self.values(&state),
            "locations": locations.collect::<Vec<_>>(),
            "steps": steps,
            "error": is_error,
            "violated": violated,
            "over": why.map(|why| why(&state)),
        }))
    }

    /// Which transitions are left out in some states: `{"17": [3, 4]}`.
    fn kept(&self, request: &Request<'_>) -> Result<Value, Refusal> {
        let chosen = Chosen::of(self, request)?;
        let made = crate::sets::reduction(self, &chosen)?;
        let reduction = made.as_ref().map(|made| made.reduction());
        let mut expander = Expander::new(self.system(), reduction);
        let mut all = serde_json::Map::new();
        for number in request.body.split_whitespace().take(MOST_GROWN) {
            let (number, state) = self.state(number)?;
            expander
                .compute(&state)
                .map_err(|spent| spent.to_string())?;
            expander.choose(&state);
            all.insert(number.to_string(), json!(left_out(&expander)));
        }
        Ok(all.into())
    }

    /// States from some state on, breadth-first: all of them, or those of the reduced graph.
    fn grow(&self, request: &Request<'_>) -> Result<Value, Refusal> {
        let (from, state) = self.state(request.parameter("from").unwrap_or("0"))?;
        let most = request.parameter("most").and_then(|most| most.parse().ok());
        let most: usize = most.unwrap_or(200).min(MOST_GROWN);
        let reduced = request.parameter("reduced") == Some("1");
        let chosen = Chosen::of(self, request)?;
        let made = crate::sets::reduction(self, &chosen)?;
        let reduction = made.as_ref().map(|made| made.reduction());
        let mut expander = Expander::new(self.system(), reduction);
        let mut met = std::collections::HashSet::from([from]);
        let mut queue = std::collections::VecDeque::from([(from, state)]);
        let mut grown = Vec::new();
        while let Some((number, state)) = queue.pop_front().filter(|_| grown.len() < most) {
            if lock(&self.seen).states.len() > MOST_STATES {
                return Err("the page has seen too many states; start it again".into());
            }
            expander
                .compute(&state)
                .map_err(|spent| spent.to_string())?;
            expander.choose(&state);
            let mut steps = Vec::new();
            for step in expander.successors().iter() {
                let to = self.number(step.state);
                steps.push(json!([step.transition.index(), to]));
                if (!reduced || expander.keeps(step.transition)) && met.insert(to) {
                    queue.push_back((to, step.state.into()));
                }
            }
            let mut one = json!({"state": number, "steps": steps});
            let left = left_out(&expander);
            if !left.is_empty() {
                one["left"] = json!(left);
            }
            if self.is_error(&state) {
                one["error"] = json!(true);
            }
            grown.push(one);
        }
        Ok(json!({"states": grown, "complete": queue.is_empty()}))
    }

    /// A run to a state that somebody describes.
    fn find(&self, text: &str) -> Result<Value, Refusal> {
        let text = text.trim();
        let found = match &self.subject.find {
            Some(find) => find(text)?,
            None => self.find_text(text)?,
        };
        Ok(match found {
            None => json!({"trace": null}),
            Some(trace) => json!({"trace": self.add_trace(format!("to {text}"), trace, None)}),
        })
    }

    /// A shortest run to a state with a text in the values of its fields: `field=text`, or a text
    /// in any.
    fn find_text(&self, wanted: &str) -> Result<Option<Trace>, Refusal> {
        const MOST: usize = 100_000;
        let system = self.system();
        let words = system.layout().words();
        let is_it = |state: &[u32]| {
            let fields = system.layout().fields().iter().enumerate();
            let texts = fields.map(|(at, f)| {
                format!(
                    "{}={}",
                    f.name,
                    system.value_text(FieldId::new(at), f.get(state))
                )
            });
            texts.into_iter().any(|text| text.contains(wanted))
        };
        let initial = system.initial_states();
        let mut order: Vec<Arc<[u32]>> = Vec::new();
        let mut parents: RapidHashMap<Arc<[u32]>, (usize, TransitionId, Outcome)> =
            RapidHashMap::default();
        for state in initial.chunks_exact(words) {
            order.push(state.into());
            parents.insert(
                state.into(),
                (usize::MAX, TransitionId::new(0), Outcome::FINE),
            );
        }
        let mut successors = Successors::new(words);
        let mut executor = system.executor();
        let mut at = 0;
        while at < order.len() {
            let state = Arc::clone(&order[at]);
            if is_it(&state) {
                let mut steps = Vec::new();
                let mut here = state;
                while let Some((parent, transition, outcome)) = parents.get(&here).copied() {
                    let Some(before) = order.get(parent) else {
                        break;
                    };
                    steps.push((transition, outcome, here));
                    here = Arc::clone(before);
                }
                let mut trace = Trace::new(&here);
                for (transition, outcome, state) in steps.into_iter().rev() {
                    trace.push(transition, outcome, &state);
                }
                return Ok(Some(trace));
            }
            if order.len() > MOST {
                return Err(format!("not among the first {at} states").into());
            }
            successors.clear();
            executor.successors(&state, &mut successors);
            for step in successors.iter() {
                let next: Arc<[u32]> = step.state.into();
                if !parents.contains_key(&next) {
                    parents.insert(Arc::clone(&next), (at, step.transition, step.outcome));
                    order.push(next);
                }
            }
            at += 1;
        }
        Ok(None)
    }

    fn follow(&self, text: &str) -> Result<Value, Refusal> {
        let replay = self.subject.replay.as_ref();
        let replay = replay.ok_or("runs of this model cannot be read from files")?;
        Ok(json!({"trace": self.add_trace("a saved run", replay(text)?, None)}))
    }

    /// The run through some states as a file: `0 2:17 5:18` is from state 0 by transition 2 to
    /// state 17, and on.
    fn save(&self, text: &str) -> Result<Value, Refusal> {
        let save = self.subject.save.as_ref();
        let save = save.ok_or("runs of this model cannot be written to files")?;
        let mut words = text.split_whitespace();
        let (_, first) = self.state(words.next().unwrap_or(""))?;
        let mut trace = Trace::new(&first);
        let mut successors = Successors::new(first.len());
        let mut executor = self.system().executor();
        for word in words {
            let (transition, to) = word.split_once(':').ok_or("a step is TRANSITION:STATE")?;
            let (_, to) = self.state(to)?;
            successors.clear();
            executor.successors(trace.last_state(), &mut successors);
            let is_it = |s: &Successor<'_>| {
                s.transition.index().to_string() == transition && *s.state == *to
            };
            let step = successors.iter().find(is_it);
            let step = step.ok_or("there is no such step")?;
            let (transition, outcome) = (step.transition, step.outcome);
            trace.push(transition, outcome, &to);
        }
        Ok(json!({"file": save(&trace)}))
    }
}

/// The enabled transitions that the last choice left out.
fn left_out(expander: &Expander<'_>) -> Vec<usize> {
    let mut all = expander.successors().transitions().to_vec();
    all.dedup();
    let left = all.into_iter().filter(|t| !expander.keeps(*t));
    left.map(|t| t.index()).collect()
}
