//! Logs against models: does a run of the model explain what a program has logged?
//!
//! A log is a list of events, each a JSON object. A [`Mapping`] says what an event means: which
//! transitions of the model may have happened, and which values were observed before or after. All
//! states in which the model may be are followed at once (a subset construction), so that events
//! may be vague and steps may be missing. If no state is left, the prefix until there is the longest
//! one that any run explains (Cirstea, Kuppe, Loillier, Merz, *Validating traces of distributed
//! programs against TLA+ specifications*, 2024).
//!
//! States, their steps, and what patterns stand for are computed once, so that long logs of small
//! models cost little an event.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::Write;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Map, Value};
use stubborn_search::TraceStep;
use stubborn_system::{BitSet, FieldId, Outcome, Spent, Successors, System, TransitionId};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Its transition.
    pub transition: String,
    /// What it does.
    pub changes: Vec<String>,
}

/// A state by its number, with what leads to it.
type Step = (TransitionId, u32);

/// Follows a log.
pub struct Explainer<'m> {
    system: &'m dyn System,
    mapping: &'m Mapping,
    fields: HashMap<&'m str, FieldId>,
    unobserved: BitSet,
    patterns: HashMap<String, Rc<BitSet>>,
    numbers: HashMap<Box<[u32]>, u32>,
    states: Vec<Box<[u32]>>,
    steps: Vec<Option<Rc<[Step]>>>,
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
            numbers: HashMap::new(),
            states: Vec::new(),
            steps: Vec::new(),
            now: Vec::new(),
            explained: 0,
        };
        match mapping.unobserved.is_empty() {
            true => explainer.unobserved.fill(),
            false => {
                for pattern in &mapping.unobserved {
                    let found = explainer.matching(pattern, false);
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
        self.states.push(state.into());
        self.steps.push(None);
        self.numbers.insert(state.into(), number);
        number
    }

    /// The steps of a state that do not fail, computed once.
    fn steps(&mut self, number: u32) -> Result<Rc<[Step]>, Refusal> {
        if let Some(steps) = &self.steps[number as usize] {
            return Ok(Rc::clone(steps));
        }
        let mut successors = Successors::new(self.system.layout().words());
        let state = self.states[number as usize].clone();
        self.system.executor().successors(&state, &mut successors);
        // Whoever gives up knows some of them only.
        if let Some(spent) = self.system.budget().conclude() {
            return Err(Refusal::GaveUp(spent));
        }
        let mut steps = Vec::with_capacity(successors.len());
        for step in successors
            .iter()
            .filter(|step| step.outcome.failed().is_none())
        {
            steps.push((step.transition, self.number(step.state)));
        }
        let steps: Rc<[Step]> = steps.into();
        self.steps[number as usize] = Some(Rc::clone(&steps));
        Ok(steps)
    }

    /// The transitions that a pattern stands for, or a name that is meant as it is.
    fn matching(&mut self, pattern: &str, is_name: bool) -> Rc<BitSet> {
        if let Some(known) = self.patterns.get(pattern) {
            return Rc::clone(known);
        }
        let structure = self.system.structure();
        let mut found = BitSet::new(structure.transitions.len());
        for (at, transition) in structure.transitions.iter().enumerate() {
            let is_it = match is_name {
                true => pattern == transition.name,
                false => fits(pattern, &transition.name),
            };
            found.assign(at, is_it);
        }
        let found = Rc::new(found);
        self.patterns.insert(pattern.to_owned(), Rc::clone(&found));
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
        let (mut next, mut seen): (Vec<u32>, HashSet<u32>) = Default::default();
        // What stood in the way, for a message.
        let (mut enabled, mut seen_before, mut seen_after) = (false, None, None);
        for number in starts {
            if let Some(wrong) = self.differs(number, &meaning.before) {
                seen_before.get_or_insert(wrong);
                continue;
            }
            let ends: Vec<u32> = match &meaning.transitions {
                None => vec![number],
                Some(transitions) => {
                    let steps = self.steps(number)?;
                    let fitting = steps
                        .iter()
                        .filter(|(t, _)| transitions.contains(t.index()));
                    fitting.map(|(_, end)| *end).collect()
                }
            };
            for end in ends {
                enabled = true;
                match self.differs(end, &meaning.after) {
                    Some(wrong) => {
                        seen_after.get_or_insert(wrong);
                    }
                    None => next.extend(seen.insert(end).then_some(end)),
                }
            }
        }
        if next.is_empty() {
            let why = match (seen_after, enabled, seen_before) {
                (Some(wrong), _, _) => format!("after it, {wrong}"),
                (None, false, Some(wrong)) => format!("before it, {wrong}"),
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
        if self.mapping.hidden == 0 {
            return Ok(all);
        }
        let mut seen: HashSet<u32> = all.iter().copied().collect();
        let mut from = 0;
        for _ in 0..self.mapping.hidden {
            let to = all.len();
            for at in from..to {
                for &(transition, end) in self.steps(all[at])?.iter() {
                    if self.unobserved.contains(transition.index()) && seen.insert(end) {
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

    /// A value that is not as observed, in words.
    fn differs(&self, number: u32, observed: &[(FieldId, Value)]) -> Option<String> {
        let state = &self.states[number as usize];
        let layout = self.system.layout();
        observed.iter().find_map(|(field, wanted)| {
            let raw = layout.get(state, *field);
            let known = value(self.system, *field, raw);
            let is_it = match wanted {
                Value::Bool(truth) => raw == i64::from(*truth),
                Value::String(text) => {
                    known.as_str() == Some(text) || *text == self.system.value_text(*field, raw)
                }
                wanted => *wanted == known,
            };
            let name = &layout.field(*field).name;
            (!is_it).then(|| {
                let known = self.system.value_text(*field, raw);
                format!("{name} is {known} in the model, and {wanted} in the log")
            })
        })
    }

    /// What an event stands for; `None` if it has nothing to do with the model.
    fn meaning(&mut self, event: &Event) -> Result<Option<Meaning>, MappingError> {
        let wrong = |text: String| Err(MappingError(text));
        if self.mapping.rules.is_empty() {
            return self.plain_meaning(event).map(Some);
        }
        let mapping = self.mapping;
        let kind = event.get(&mapping.event);
        let fitting = |rule: &&Rule| rule.when.is_none() || rule.when.as_ref() == kind;
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
            Some(pattern) => Some(filled_in(pattern, event)?),
        };
        let transitions = match &pattern {
            None => None,
            Some(pattern) => {
                let found = self.matching(pattern, false);
                if found.none() {
                    return wrong(format!("no transition of the model is called `{pattern}`"));
                }
                Some(found)
            }
        };
        Ok(Some(Meaning {
            what: pattern.unwrap_or_default(),
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
        let transitions = self.matching(name, true);
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
        for number in self.now.clone() {
            let Ok(steps) = self.steps(number) else { break };
            for &(transition, end) in steps.iter() {
                let step = TraceStep {
                    number: 0,
                    transition,
                    outcome: Outcome::FINE,
                    before: &self.states[number as usize],
                    after: &self.states[end as usize],
                };
                let allowed = Allowed {
                    transition: self.system.structure().transition(transition).name.clone(),
                    changes: story::changes(self.system, transition, step.before, step.after),
                };
                if !all.contains(&allowed) {
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
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((key, tail)) = after.split_once('}') else {
            break;
        };
        out += before;
        match event.get(key) {
            Some(Value::String(value)) => out += value,
            Some(value) => out += &value.to_string(),
            None => {
                let text = format!("the event has no `{key}`, which `{text}` asks for");
                return Err(MappingError(text));
            }
        }
        rest = tail;
    }
    Ok(out + rest)
}

/// Whether a text fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
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
            assert_eq!(fits(pattern, text), wanted, "{pattern} {text}");
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
        assert_eq!(filled_in("a { b", &event), Ok("a { b".into()));
    }
}
