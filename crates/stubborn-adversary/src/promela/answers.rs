//! What the program under attack says of a Promela model.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::arena::Mismatch;
use crate::coverage::Coverage;
use crate::subject::{Run, Status, Subject};

use super::ast::{Kind, Node, Style};
use super::generate::Case;

/// No run takes longer, unless something is wrong or the machine is busy.
pub const TIME: Duration = Duration::from_secs(5);

/// A verdict on one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing violates it.
    Holds,
    /// Something does.
    Violated,
    /// It was not found out.
    Unknown,
}

impl Verdict {
    /// What a search says that found something, or nothing.
    pub fn of(found: bool) -> Self {
        if found { Self::Violated } else { Self::Holds }
    }
}

/// What one run said.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How it was asked.
    pub arguments: Vec<String>,
    /// All that came.
    pub run: Run,
}

/// Options that belong to the model, and the model.
pub fn model_arguments(command: &str, case: &Case) -> Vec<String> {
    let mut all = vec![command.to_owned(), "m.pml".to_owned()];
    if ["check", "explore"].contains(&command) {
        all.push("--json".into());
    }
    all.push("--max-processes".into());
    all.push(case.max_processes.to_string());
    if case.message_loss {
        all.push("--message-loss".into());
    }
    all
}

impl Answer {
    /// Asks: a command about a model with some more arguments.
    pub fn ask(
        subject: &Subject,
        folder: &Path,
        case: &Case,
        command: &str,
        more: &[&str],
    ) -> Self {
        let mut arguments = model_arguments(command, case);
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let run = subject.run(folder, &arguments, TIME);
        Self { arguments, run }
    }

    /// A number of the answer.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.run.json.as_ref()?.get(name)?.as_u64()
    }

    /// Whether everything was explored.
    pub fn complete(&self) -> bool {
        let complete = |json: &Value| json.get("complete").and_then(Value::as_bool);
        self.run.json.as_ref().and_then(complete) == Some(true)
    }

    /// The model was refused.
    pub fn refused(&self) -> bool {
        self.run.status == Status::Exit(2)
    }

    /// The verdict on a property of this name. What was not asked for holds: there are no
    /// assertions, or no step can fail.
    pub fn verdict(&self, name: &str) -> Verdict {
        let Some(properties) = self.properties() else {
            return Verdict::Unknown;
        };
        let said = properties.iter().find(|property| property["name"] == name);
        match said.map(|property| property["verdict"].as_str()) {
            None | Some(Some("holds")) => Verdict::Holds,
            Some(Some("violated")) => Verdict::Violated,
            Some(_) => Verdict::Unknown,
        }
    }

    /// Whether there is a counterexample that ends.
    pub fn ends(&self) -> bool {
        let properties = self.properties().map_or(&[][..], Vec::as_slice);
        let empty = |cycle: &Value| cycle.as_array().is_some_and(Vec::is_empty);
        properties
            .iter()
            .any(|property| empty(&property["trace"]["cycle"]))
    }

    /// Every property of the answer.
    pub fn properties(&self) -> Option<&Vec<Value>> {
        self.run.json.as_ref()?.get("properties")?.as_array()
    }

    /// A mismatch in this answer.
    pub fn mismatch(&self, case: &Case, what: &str, expected: &str) -> Mismatch {
        Mismatch {
            files: vec![("m.pml".into(), case.program.text(Style::default()))],
            arguments: self.arguments.clone(),
            expected: expected.to_owned(),
            got: self.run.summary(),
            what: what.to_owned(),
        }
    }
}

/// The first words of a message, without places and numbers: mismatches of one kind are told
/// from others by it.
pub fn first_words(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let words = line
        .split_whitespace()
        .take(12)
        .collect::<Vec<_>>()
        .join(" ");
    words
        .chars()
        .map(|c| if c.is_ascii_digit() { '#' } else { c })
        .collect()
}

/// Notes what a program is made of.
pub fn note_program(case: &Case, coverage: &mut Coverage) {
    case.program.each(&mut |node| {
        coverage.note(&feature(node));
    });
    if case.message_loss {
        coverage.note("option --message-loss");
    }
}

/// Everything that [`note_program`] may note.
pub fn all_features() -> Vec<String> {
    let kinds = [
        Kind::Mtypes,
        Kind::Typedef,
        Kind::Define,
        Kind::Inline,
        Kind::Declaration,
        Kind::Ltl,
        Kind::Never,
        Kind::Trace,
        Kind::NoTrace,
        Kind::Priority,
        Kind::Provided,
        Kind::Channel,
        Kind::Condition,
        Kind::Assign,
        Kind::Increment,
        Kind::Decrement,
        Kind::Assert,
        Kind::Print,
        Kind::Skip,
        Kind::Else,
        Kind::Break,
        Kind::Goto,
        Kind::If,
        Kind::Do,
        Kind::For,
        Kind::ForIn,
        Kind::Select,
        Kind::Atomic,
        Kind::DStep,
        Kind::Block,
        Kind::Unless,
        Kind::Call,
        Kind::SetPriority,
        Kind::Xr,
        Kind::Xs,
        Kind::Choice,
        Kind::Eval,
        Kind::Run,
        Kind::RemoteLabel,
        Kind::RemoteVariable,
    ];
    let mut all: Vec<String> = kinds.iter().map(|kind| format!("node {kind:?}")).collect();
    let operators = "+ - * / % & | ^ << >> ~ ! && || == != < <= > >= [] <> X U V W -> <->";
    all.extend(
        operators
            .split(' ')
            .map(|operator| format!("operator {operator}")),
    );
    let functions = "len full empty nfull nempty enabled pc_value get_priority";
    all.extend(
        functions
            .split(' ')
            .map(|function| format!("function {function}")),
    );
    let types = "bit bool byte short int unsigned mtype mtype:k pid chan record";
    all.extend(types.split(' ').map(|name| format!("type {name}")));
    let predefined = "_ _pid _nr_pr _last timeout np_";
    all.extend(
        predefined
            .split(' ')
            .map(|name| format!("predefined {name}")),
    );
    let labels = "L end accept progress S accept_S";
    all.extend(labels.split(' ').map(|name| format!("label {name}")));
    let processes = "init started active active[]";
    all.extend(processes.split(' ').map(|name| format!("process {name}")));
    let channel = "Send0 Send1 Receive0 Receive1 Receive2 Receive3 Poll0 Poll1";
    all.extend(channel.split(' ').map(|name| format!("channel {name}")));
    all.push("option --message-loss".into());
    all
}

/// What using this node is, as a feature of the language.
fn feature(node: &Node) -> String {
    let with_name = |group: &str| format!("{group} {}", node.name);
    match node.kind {
        Kind::Binary | Kind::Unary | Kind::Connective | Kind::Modal => with_name("operator"),
        Kind::Function => with_name("function"),
        Kind::Type => {
            let plain = node.name.rsplit(' ').next().unwrap_or_default();
            match plain.starts_with('T') {
                true => "type record".to_owned(),
                false => format!("type {plain}"),
            }
        }
        Kind::Place if ["timeout", "np_"].contains(&node.name.as_str()) => with_name("predefined"),
        Kind::Place if node.name.starts_with('_') => with_name("predefined"),
        Kind::Place if node.number == 1 => "expression Element".to_owned(),
        Kind::Send | Kind::Receive | Kind::Poll => {
            format!("channel {:?}{}", node.kind, node.number)
        }
        Kind::Process => match node.number {
            -1 => "process init".to_owned(),
            0 => "process started".to_owned(),
            1 => "process active".to_owned(),
            _ => "process active[]".to_owned(),
        },
        Kind::Label => {
            let plain = node.name.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("label {plain}")
        }
        kind => format!("node {kind:?}"),
    }
}
