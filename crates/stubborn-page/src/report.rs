//! The page as one file: what it would ask a server for is recorded.
//!
//! Answers repeat each other a lot (the same steps, the same reasons, state after state), so equal
//! parts are written once, and referred to: `{"$": number}`.

use rapidhash::RapidHashMap;
use serde_json::{Value, json};

use crate::front;
use crate::session::{Request, Session};

/// Shorter parts are written where they stand.
const SHORT: usize = 24;
/// What is not needed is left out of larger reports, in bytes.
const LARGEST: usize = 900_000;
/// States of the graph around the start.
const GRAPH: usize = 150;

/// The page with everything that a reader of its runs needs.
pub fn report(session: &Session<'_>) -> String {
    let mut recorder = Recorder::new(session);
    recorder.record("model");
    let status = recorder.record("status");
    let model = session.answer(&Request::of("model")).unwrap_or_default();
    let algorithm = |question: u64| {
        let asked = &model["questions"][question as usize];
        asked["algorithm"].as_str().unwrap_or("beam").to_owned()
    };
    let how = |question: u64, algorithm: &str| {
        format!("question={question}&algorithm={algorithm}&relations=reach")
    };
    let traces = status["traces"].as_array().map_or(0, Vec::len);
    let mut shown: Vec<(u64, u64)> = Vec::new();
    let initial = model["initial"].as_array().into_iter().flatten();
    shown.extend(initial.filter_map(|state| Some((state.as_u64()?, 0))));
    for number in 0..traces {
        let trace = recorder.record(&format!("trace/{number}"));
        let question = trace["question"].as_u64().unwrap_or(0);
        let steps = trace["steps"].as_array().into_iter().flatten();
        let states = steps.filter_map(|step| step["to"].as_u64());
        let states = trace["initial"].as_u64().into_iter().chain(states);
        shown.extend(states.map(|state| (state, question)));
    }
    for (state, _) in &shown {
        recorder.offer(&format!("state/{state}"));
    }
    for (state, question) in &shown {
        recorder.offer(&format!(
            "set/{state}?{}",
            how(*question, &algorithm(*question))
        ));
    }
    let mut questions: Vec<u64> = shown.iter().map(|(_, question)| *question).collect();
    questions.sort_unstable();
    questions.dedup();
    for question in &questions {
        let how = how(*question, &algorithm(*question));
        recorder.offer(&format!("grow?from=0&most={GRAPH}&reduced=0&{how}"));
    }
    let others = stubborn_reduce::Algorithm::ALL.iter().map(|a| a.name());
    for algorithm in ["none"].into_iter().chain(others) {
        for (state, question) in &shown {
            recorder.offer(&format!("set/{state}?{}", how(*question, algorithm)));
        }
    }
    let title = format!("{} - stubborn", session.subject().name);
    front::alone(&title, &recorder.finish())
}

struct Recorder<'s, 'm> {
    session: &'s Session<'m>,
    numbers: RapidHashMap<String, usize>,
    /// The parts, as text.
    pool: Vec<String>,
    answers: serde_json::Map<String, Value>,
    bytes: usize,
}

impl<'s, 'm> Recorder<'s, 'm> {
    fn new(session: &'s Session<'m>) -> Self {
        Self {
            session,
            numbers: RapidHashMap::default(),
            pool: Vec::new(),
            answers: serde_json::Map::new(),
            bytes: front::alone("", "").len(),
        }
    }

    /// Records an answer, and tells it.
    fn record(&mut self, target: &str) -> Value {
        let answer = match self.session.answer(&Request::of(target)) {
            Ok(answer) => answer,
            Err(refusal) => json!({"refused": refusal.0}),
        };
        let packed = self.pack(&answer);
        self.bytes += target.len() + packed.to_string().len() + 4;
        self.answers.insert(target.to_owned(), packed);
        answer
    }

    /// Records an answer if there is room.
    fn offer(&mut self, target: &str) {
        if self.bytes < LARGEST && !self.answers.contains_key(target) {
            self.record(target);
        }
    }

    /// The value with its parts in the pool.
    fn pack(&mut self, value: &Value) -> Value {
        let packed = match value {
            Value::Array(all) => all.iter().map(|one| self.pack(one)).collect(),
            Value::Object(all) => {
                let all = all.iter().map(|(key, one)| (key.clone(), self.pack(one)));
                Value::Object(all.collect())
            }
            other => other.clone(),
        };
        let text = packed.to_string();
        if text.len() < SHORT {
            return packed;
        }
        let next = self.pool.len();
        let number = *self.numbers.entry(text.clone()).or_insert(next);
        if number == next {
            self.bytes += text.len() + 1;
            self.pool.push(text);
        }
        json!({ "$": number })
    }

    fn finish(self) -> String {
        let answers = Value::Object(self.answers).to_string();
        format!(
            "{{\"pool\":[{}],\"answers\":{answers}}}",
            self.pool.join(",")
        )
    }
}
