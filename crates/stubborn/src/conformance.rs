//! Logs against models: does a run of the model explain what a program has logged?
//!
//! A log is a list of events, each a JSON object. A [`Mapping`] says what an event means: which
//! transitions of the model may have happened, and which values were observed before or after. All
//! states in which the model may be are followed at once (a subset construction), so that events
//! may be vague and steps may be missing. If no state is left, the prefix until there is the longest
//! one that any run explains (Cirstea, Kuppe, Loillier, Merz, *Validating traces of distributed
//! programs against TLA+ specifications*, 2024).
//!
//! States, their steps, and what patterns and values stand for are computed once, and sets of states are marks,
//! so that long logs cost little an event and state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};
use stubborn_system::{BitSet, Executor, FieldId, Spent, Successors, System, TransitionId};

use crate::record::value;
use crate::story;

/// One line of a log.
pub type Event = Map<String, Value>;

/// What events mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mapping {
    /// The key whose value says what kind of event it is.
    pub event: String,
    /// How many steps that nobody has logged may come before each event.
    pub hidden: usize,
    /// Which transitions these may be: patterns, in which `*` stands for anything. All, if empty.
    pub unobserved: Vec<String>,
    /// What the kinds of events mean; the first that fits counts.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Default for Mapping {
    /// For logs that name transitions: `{"transition": "P: a -> b", "state": {"x": 1}}`.
    fn default() -> Self {
        Self {
            event: "event".into(),
            hidden: 0,
            unobserved: Vec::new(),
            rules: Vec::new(),
        }
    }
}

/// What one kind of events means.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The kind; a rule without one fits all events.
    pub when: Option<Value>,
    /// The transitions that it stands for: a pattern in which `*` stands for anything and `{key}`
    /// for a value of the event. Without one nothing happens but what is hidden.
    pub transition: Option<String>,
    /// Values before the step: from the name of a field of the model, in which `{key}` stands for
    /// a value of the event, to `{key}`, or to a value.
    pub before: BTreeMap<String, Value>,
    /// Values after the step.
    pub state: BTreeMap<String, Value>,
    /// The event has nothing to do with the model.
    pub ignore: bool,
}

/// Why a log cannot be read against a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingError(String);

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MappingError {}

/// Why an event was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The mapping does not fit the event or the model.
    Wrong(MappingError),
    /// No run of the model explains it; in words.
    Unexplained(String),
    /// The budget of the system is spent.
    GaveUp(Spent),
}

/// A step that the model allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Allowed {
    /// Its transition.
    pub transition: String,
    /// What it does.
    pub changes: Vec<String>,
}

/// A state by its number, with what leads to it.
type Step = (TransitionId, u32);

/// A field, its value in the model, and that in the log.
type Difference<'o> = (FieldId, i64, &'o Value);

/// A set of states that is empty again at once.
#[derive(Default)]
struct Marks {
    round: u32,
    rounds: Vec<u32>,
}

impl Marks {
    fn clear(&mut self) {
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.rounds.fill(0);
            1
        });
    }

    /// Whether it was not there.
    fn insert(&mut self, state: u32) -> bool {
        let at = state as usize;
        if at >= self.rounds.len() {
            self.rounds.resize(at + at / 2 + 1, 0);
        }
        std::mem::replace(&mut self.rounds[at], self.round) != self.round
    }
}

/// Follows a log.
pub struct Explainer<'m> {
    system: &'m dyn System,
    mapping: &'m Mapping,
    fields: HashMap<&'m str, FieldId>,
    unobserved: BitSet,
    patterns: HashMap<Pattern, Rc<BitSet>>,
    /// What values are called, as results and as people write them.
    texts: HashMap<(FieldId, i64), (Value, String)>,
    executor: Box<dyn Executor + 'm>,
    successors: Successors,
    numbers: HashMap<Rc<[u32]>, u32>,
    states: Vec<Rc<[u32]>>,
    /// Of each state where its steps are, if they are known.
    steps_of: Vec<Option<Range<usize>>>,
    steps: Vec<Step>,
    reached: Marks,
    /// Where the model may be now.
    now: Vec<u32>,
    explained: usize,
}

impl<'m> Explainer<'m> {
    /// At the initial states.
    pub fn new(system: &'m dyn System, mapping: &'m Mapping) -> Self {
        let layout = system.layout();
        let names = layout.fields().iter().enumerate();
        let transitions = system.structure().transitions.len();
        let mut explainer = Self {
            system,
            mapping,
            fields: names
                .map(|(at, f)| (f.name.as_str(), FieldId::new(at)))
                .collect(),
            unobserved: BitSet::new(transitions),
            patterns: HashMap::new(),
            texts: HashMap::new(),
            executor: system.executor(),
            successors: Successors::new(layout.words()),
            numbers: HashMap::new(),
            states: Vec::new(),
            steps_of: Vec::new(),
            steps: Vec::new(),
            reached: Marks::default(),
            now: Vec::new(),
            explained: 0,
        };
        match mapping.unobserved.is_empty() {
            true => explainer.unobserved.fill(),
            false => {
                for text in &mapping.unobserved {
                    let found = explainer.matching(&Pattern::of(text));
                    explainer.unobserved.union_with(&found);
                }
            }
        }
        for state in system.initial_states().chunks_exact(layout.words()) {
            let number = explainer.number(state);
            if !explainer.now.contains(&number) {
                explainer.now.push(number);
            }
        }
        explainer
    }

    /// How many events were explained.
    pub fn explained(&self) -> usize {
        self.explained
    }

    /// The states in which the model may be.
    pub fn states(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.now
            .iter()
            .map(|number| &*self.states[*number as usize])
    }

    fn number(&mut self, state: &[u32]) -> u32 {
        if let Some(number) = self.numbers.get(state) {
            return *number;
        }
        let number = self.states.len() as u32;
        let state: Rc<[u32]> = state.into();
        self.states.push(Rc::clone(&state));
        self.steps_of.push(None);
        self.numbers.insert(state, number);
        number
    }

    /// Where the steps of a state that do not fail are; computed once.
    fn steps(&mut self, number: u32) -> Result<Range<usize>, Refusal> {
        if let Some(known) = &self.steps_of[number as usize] {
            return Ok(known.clone());
        }
        let mut successors = std::mem::replace(&mut self.successors, Successors::new(0));
        successors.clear();
        let state = Rc::clone(&self.states[number as usize]);
        self.executor.successors(&state, &mut successors);
        // Whoever gives up knows some of them only.
        let gave_up = self.system.budget().void();
        let start = self.steps.len();
        let fine = successors.iter();
        for step in fine.filter(|step| gave_up.is_none() && step.outcome.failed().is_none()) {
            let end = self.number(step.state);
            self.steps.push((step.transition, end));
        }
        self.successors = successors;
        if let Some(spent) = gave_up {
            return Err(Refusal::GaveUp(spent));
        }
        let end = self.steps.len();
        self.steps_of[number as usize] = Some(start..end);
        Ok(start..end)
    }

    /// The transitions that a pattern stands for.
    fn matching(&mut self, pattern: &Pattern) -> Rc<BitSet> {
        if let Some(known) = self.patterns.get(pattern) {
            return Rc::clone(known);
        }
        let structure = self.system.structure();
        let mut found = BitSet::new(structure.transitions.len());
        for (at, transition) in structure.transitions.iter().enumerate() {
            found.assign(at, pattern.fits(&transition.name));
        }
        let found = Rc::new(found);
        self.patterns.insert(pattern.clone(), Rc::clone(&found));
        found
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// If no run of the model explains the log until here, this event included. Then everything is
    /// as it was before it.
    pub fn take(&mut self, event: &Event) -> Result<(), Refusal> {
        let meaning = self.meaning(event).map_err(Refusal::Wrong)?;
        let Some(meaning) = meaning else {
            self.explained += 1;
            return Ok(());
        };
        let starts = self.hidden_steps()?;
        let mut next = Vec::new();
        // What stood in the way, for a message.
        let (mut enabled, mut seen_before, mut seen_after) = (false, None, None);
        self.reached.clear();
        for number in starts {
            if let Some(wrong) = self.differs(number, &meaning.before) {
                seen_before.get_or_insert(wrong);
                continue;
            }
            let Some(transitions) = &meaning.transitions else {
                enabled = true;
                match self.differs(number, &meaning.after) {
                    Some(wrong) => _ = seen_after.get_or_insert(wrong),
                    None => next.push(number),
                }
                continue;
            };
            for at in self.steps(number)? {
                let (transition, end) = self.steps[at];
                if !transitions.contains(transition.index()) || !self.reached.insert(end) {
                    continue;
                }
                enabled = true;
                match self.differs(end, &meaning.after) {
                    Some(wrong) => _ = seen_after.get_or_insert(wrong),
                    None => next.push(end),
                }
            }
        }
        let in_words = |wrong: Difference<'_>| self.in_words(&wrong);
        if next.is_empty() {
            // The run of the log may be one of those that nobody has seen.
            if let Some(spent) = self.system.conclude() {
                return Err(Refusal::GaveUp(spent));
            }
            let why = match (seen_after, enabled, seen_before) {
                (Some(wrong), _, _) => format!("after it, {}", in_words(wrong)),
                (None, false, Some(wrong)) => format!("before it, {}", in_words(wrong)),
                _ => format!("no step `{}` is possible there", meaning.what),
            };
            return Err(Refusal::Unexplained(why));
        }
        self.now = next;
        self.explained += 1;
        Ok(())
    }

    /// The states before an event: those of now, and what hidden steps lead to.
    fn hidden_steps(&mut self) -> Result<Vec<u32>, Refusal> {
        let mut all = self.now.clone();
        self.reached.clear();
        for &number in &all {
            self.reached.insert(number);
        }
        let mut from = 0;
        for _ in 0..self.mapping.hidden {
            let to = all.len();
            for at in from..to {
                for step in self.steps(all[at])? {
                    let (transition, end) = self.steps[step];
                    if self.unobserved.contains(transition.index()) && self.reached.insert(end) {
                        all.push(end);
                    }
                }
            }
            if all.len() == to {
                break;
            }
            from = to;
        }
        Ok(all)
    }

    /// A value that is not as observed.
    fn differs<'o>(
        &mut self,
        number: u32,
        observed: &'o [(FieldId, Value)],
    ) -> Option<Difference<'o>> {
        let layout = self.system.layout();
        observed.iter().find_map(|(field, wanted)| {
            let raw = layout.get(&self.states[number as usize], *field);
            let is_it = match wanted {
                Value::Bool(truth) => raw == i64::from(*truth),
                wanted => {
                    let known = self.texts.entry((*field, raw)).or_insert_with(|| {
                        let text = self.system.value_text(*field, raw);
                        (value(self.system, *field, raw), text)
                    });
                    is_same(&known.0, wanted) || wanted.as_str() == Some(&known.1)
                }
            };
            (!is_it).then_some((*field, raw, wanted))
        })
    }

    fn in_words(&self, &(field, raw, wanted): &Difference<'_>) -> String {
        let name = &self.system.layout().field(field).name;
        let known = self.system.value_text(field, raw);
        format!("{name} is {known} in the model, and {wanted} in the log")
    }

    /// What an event stands for; `None` if it has nothing to do with the model.
    fn meaning(&mut self, event: &Event) -> Result<Option<Meaning>, MappingError> {
        let wrong = |text: String| Err(MappingError(text));
        if self.mapping.rules.is_empty() {
            return self.plain_meaning(event).map(Some);
        }
        let mapping = self.mapping;
        let kind = event.get(&mapping.event);
        let is_kind = |when: &Value| kind.is_some_and(|kind| is_same(when, kind));
        let fitting = |rule: &&Rule| rule.when.as_ref().is_none_or(is_kind);
        let Some(rule) = mapping.rules.iter().find(fitting) else {
            let kind = kind.map_or("nothing".to_owned(), Value::to_string);
            let key = &mapping.event;
            return wrong(format!("no rule is for events whose `{key}` is {kind}"));
        };
        if rule.ignore {
            return Ok(None);
        }
        let pattern = match &rule.transition {
            None => None,
            Some(pattern) => Some(Pattern::filled_in(pattern, event)?),
        };
        let transitions = match &pattern {
            None => None,
            Some(pattern) => {
                let found = self.matching(pattern);
                if found.none() {
                    return wrong(format!("no transition of the model is called `{pattern}`"));
                }
                Some(found)
            }
        };
        Ok(Some(Meaning {
            what: pattern.map_or_else(String::new, |pattern| pattern.to_string()),
            transitions,
            before: self.observed(&rule.before, event)?,
            after: self.observed(&rule.state, event)?,
        }))
    }

    /// Of an event that names its transition.
    fn plain_meaning(&mut self, event: &Event) -> Result<Meaning, MappingError> {
        let Some(name) = event.get("transition").and_then(Value::as_str) else {
            let text = "without a mapping, every event needs a `transition`; see --map";
            return Err(MappingError(text.into()));
        };
        let transitions = self.matching(&Pattern(vec![name.to_owned()]));
        if transitions.none() {
            let text = format!("no transition of the model is called `{name}`");
            return Err(MappingError(text));
        }
        let values = event.get("state").and_then(Value::as_object);
        let values = values.into_iter().flatten();
        // The steps of a saved trace have old and new values.
        let changes = event.get("changes").and_then(Value::as_object);
        let changes = changes.into_iter().flatten();
        let changes = changes.filter_map(|(name, both)| Some((name, both.get(1)?)));
        let after = values.chain(changes);
        let after = after.map(|(name, value)| Ok((self.field(name)?, value.clone())));
        Ok(Meaning {
            what: name.to_owned(),
            transitions: Some(transitions),
            before: Vec::new(),
            after: after.collect::<Result<_, _>>()?,
        })
    }

    fn field(&self, name: &str) -> Result<FieldId, MappingError> {
        let found = self.fields.get(name).copied();
        found.ok_or_else(|| {
            let text =
                format!("the model has no field `{name}`; `stubborn inspect --fields` lists them");
            MappingError(text)
        })
    }

    fn observed(
        &self,
        values: &BTreeMap<String, Value>,
        event: &Event,
    ) -> Result<Vec<(FieldId, Value)>, MappingError> {
        let mut all = Vec::new();
        for (name, value) in values {
            let field = self.field(&filled_in(name, event)?)?;
            let key = value.as_str().and_then(|text| {
                let inside = text.strip_prefix('{')?.strip_suffix('}')?;
                (!inside.contains(['{', '}'])).then_some(inside)
            });
            match key {
                None => all.push((field, value.clone())),
                // What the event does not say was not observed.
                Some(key) => all.extend(event.get(key).map(|value| (field, value.clone()))),
            }
        }
        Ok(all)
    }

    /// What the model allows in the states where it may be, each step once.
    pub fn allowed(&mut self) -> Vec<Allowed> {
        let mut all: Vec<Allowed> = Vec::new();
        let mut seen = HashSet::new();
        for number in self.now.clone() {
            let Ok(steps) = self.steps(number) else { break };
            for &(transition, end) in &self.steps[steps] {
                let (before, after) = (&self.states[number as usize], &self.states[end as usize]);
                let allowed = Allowed {
                    transition: self.system.structure().transition(transition).name.clone(),
                    changes: story::changes(self.system, transition, before, after),
                };
                if seen.insert(allowed.clone()) {
                    all.push(allowed);
                }
            }
        }
        all
    }
}

/// An event in terms of the model.
struct Meaning {
    /// The pattern, for messages.
    what: String,
    transitions: Option<Rc<BitSet>>,
    before: Vec<(FieldId, Value)>,
    after: Vec<(FieldId, Value)>,
}

/// A text with values of the event in the places of `{key}`.
fn filled_in(text: &str, event: &Event) -> Result<String, MappingError> {
    let mut out = String::new();
    for part in parts(text) {
        match part {
            Part::Text(text) => out += text,
            Part::Key(key) => out += &text_of(key, text, event)?,
        }
    }
    Ok(out)
}

/// A part of a text of the mapping.
enum Part<'t> {
    Text(&'t str),
    /// `{key}`, which stands for a value of the event.
    Key(&'t str),
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let keyed = |text: &str| {
            let start = text.find('{')?;
            Some((start, start + text[start..].find('}')?))
        };
        let (part, tail) = match keyed(rest) {
            _ if rest.is_empty() => return None,
            Some((0, end)) => (Part::Key(&rest[1..end]), &rest[end + 1..]),
            Some((start, _)) => (Part::Text(&rest[..start]), &rest[start..]),
            None => (Part::Text(rest), ""),
        };
        rest = tail;
        Some(part)
    })
}

/// What the event says of a key that `text` asks for.
fn text_of(key: &str, text: &str, event: &Event) -> Result<String, MappingError> {
    match event.get(key) {
        Some(Value::String(value)) => Ok(value.clone()),
        Some(value) => Ok(whole(value).map_or_else(|| value.to_string(), |n| n.to_string())),
        None => {
            let text = format!("the event has no `{key}`, which `{text}` asks for");
            Err(MappingError(text))
        }
    }
}

/// The integer that a value is, however it is written: `1.0` is 1.
fn whole(value: &Value) -> Option<i128> {
    let number = value.as_number()?;
    let integer = number.as_i64().map(i128::from);
    integer.or(number.as_u64().map(i128::from)).or_else(|| {
        let float = number.as_f64()?;
        // Larger ones are no values of a model.
        (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
    })
}

/// Whether two values are the same: as JSON means them, not as they are written.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => match (whole(one), whole(other)) {
            (None, None) => one == other,
            (one, other) => one == other,
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            let in_other =
                |(key, a): (&String, &Value)| other.get(key).is_some_and(|b| is_same(a, b));
            one.len() == other.len() && one.iter().all(in_other)
        }
        _ => one == other,
    }
}

/// A pattern for names: these texts one after the other, with anything between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pattern(Vec<String>);

impl Pattern {
    /// A text of the mapping, in which `*` stands for anything.
    fn of(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    /// The same with values of the event in the places of `{key}`: those are meant as they are.
    fn filled_in(text: &str, event: &Event) -> Result<Self, MappingError> {
        let mut all = vec![String::new()];
        for part in parts(text) {
            let mut pieces = match part {
                Part::Text(text) => Self::of(text).0.into_iter(),
                Part::Key(key) => vec![text_of(key, text, event)?].into_iter(),
            };
            if let (Some(last), Some(first)) = (all.last_mut(), pieces.next()) {
                last.push_str(&first);
            }
            all.extend(pieces);
        }
        Ok(Self(all))
    }

    fn fits(&self, text: &str) -> bool {
        let [first, rest @ ..] = self.0.as_slice() else {
            return false;
        };
        let Some(mut left) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        let [between @ .., last] = rest else {
            return left.is_empty();
        };
        for part in between {
            match left.find(part.as_str()) {
                Some(at) => left = &left[at + part.len()..],
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("*"))
    }
}

/// Writes a log that can be [explained](Explainer): one event a line, at once, so that a program
/// that crashes leaves what it did.
///
/// ```
/// use stubborn::conformance::Recorder;
///
/// let mut log = Vec::new();
/// let mut recorder = Recorder::new(&mut log);
/// recorder.event("send", &[("node", 1.into()), ("term", 3.into())])?;
/// assert_eq!(String::from_utf8_lossy(&log), "{\"event\":\"send\",\"node\":1,\"term\":3}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorder<W: Write> {
    out: W,
}

impl<W: Write> Recorder<W> {
    /// Writes to a file, a pipe, or whatever it is.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// An event of a kind, with what was observed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn event(&mut self, kind: &str, observed: &[(&str, Value)]) -> std::io::Result<()> {
        let mut event = Event::new();
        event.insert("event".into(), kind.into());
        let observed = observed.iter();
        event.extend(observed.map(|(key, value)| ((*key).to_owned(), value.clone())));
        let mut line = serde_json::to_string(&event)?;
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_what_they_should() {
        for (pattern, text, wanted) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("*", "", true),
            ("a*a", "a", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "ab", false),
        ] {
            assert_eq!(Pattern::of(pattern).fits(text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn values_are_filled_in() {
        let event: Event = serde_json::from_str(r#"{"n": 3, "to": "B"}"#).expect("an object");
        assert_eq!(
            filled_in("Node_{n}: *{to}?", &event),
            Ok("Node_3: *B?".into())
        );
        assert!(filled_in("{missing}", &event).is_err());
        assert!(Pattern::filled_in("{missing}", &event).is_err());
        assert_eq!(filled_in("a { b", &event), Ok("a { b".into()));
    }

    #[test]
    fn values_in_patterns_are_meant_as_they_are() {
        let event =
            r#"{"a": "*", "b": "x*y", "c": "{a}", "d": 1.0, "e": -2e1, "f": 0.5, "g": true}"#;
        let event: Event = serde_json::from_str(event).expect("an object");
        for (pattern, text, wanted) in [
            ("P_{a}", "P_*", true),
            ("P_{a}", "P_1", false),
            ("P_{a}: *", "P_*: go", true),
            ("P_{a}: *", "P_1: go", false),
            ("{b}", "xzy", false),
            ("{b}", "x*y", true),
            ("*{b}*", "ax*yb", true),
            ("*{b}*", "axzyb", false),
            ("{c}", "*", false),
            ("{c}", "{a}", true),
            ("{d}{e}", "1-20", true),
            ("{f}", "0.5", true),
            ("{g}*", "true", true),
            ("a { b*", "a { bc", true),
            ("{a}{a}", "**", true),
            ("{a}{a}", "abc", false),
        ] {
            let filled = Pattern::filled_in(pattern, &event).expect("the event has it");
            assert_eq!(filled.fits(text), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        for (one, other, wanted) in [
            ("1", "1.0", true),
            ("100", "1e2", true),
            ("0", "-0.0", true),
            ("1", "1.5", false),
            ("0.5", "5e-1", true),
            ("18446744073709551615", "18446744073709551615", true),
            ("18446744073709551615", "18446744073709551614", false),
            ("9007199254740993", "9007199254740992.0", false),
            ("[1, {\"a\": 2}]", "[1.0, {\"a\": 2.0}]", true),
            ("[1]", "[1, 1]", false),
            ("1", "\"1\"", false),
            ("1", "true", false),
        ] {
            assert_eq!(is_same(&value(one), &value(other)), wanted, "{one} {other}");
            assert_eq!(is_same(&value(other), &value(one)), wanted, "{other} {one}");
        }
    }
}
