//! Code lenses: questions about a model, one click away.
//!
//! A lens runs the program itself: `check` for a property, `inspect --state` for the stubborn set of
//! the initial state, `serve` for the page in a browser. Editors that run commands in a terminal of
//! theirs may do so with the arguments of the lens; for the others, the server runs them, tells
//! the outcome in a message, and shows everything in the log.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;
use lsp_server::{Message, Notification, Request, RequestId};
use lsp_types::notification::{LogMessage, Notification as _, ShowMessage};
use lsp_types::request::{Request as _, ShowDocument};
use lsp_types::{
    CodeLens, LogMessageParams, MessageType, ShowDocumentParams, ShowMessageParams, Uri,
};
use serde_json::{Value, json};
use stubborn_diagnostics::Span;

use crate::documents::{Document, Shallow};
use crate::position::Encoding;

/// Runs the program and tells what it says. The arguments are those of its command line.
pub(crate) const RUN: &str = "stubborn.run";
/// Starts the page and shows it. The arguments are the same.
pub(crate) const PAGE: &str = "stubborn.page";
/// All commands.
pub(crate) const COMMANDS: &[&str] = &[RUN, PAGE];

/// Longest output that is kept.
const LONGEST: u64 = 1 << 20;

pub(crate) fn lenses(
    document: &Document,
    shallow: &Shallow,
    page: bool,
    encoding: Encoding,
) -> Vec<CodeLens> {
    let index = &shallow.index;
    let model = document.path.display().to_string();
    let Some(file) = index.files.first() else {
        return Vec::new();
    };
    let lens = |span: Span, title: &str, command: &str, arguments: &[&str]| CodeLens {
        range: file.lines.range(&file.text, span, encoding),
        command: Some(lsp_types::Command {
            title: title.to_owned(),
            command: command.to_owned(),
            arguments: Some(arguments.iter().map(|a| json!(a)).collect()),
        }),
        data: None,
    };
    let top = Span::default();
    let mut lenses = vec![
        lens(top, "check this model", RUN, &["check", &model]),
        lens(
            top,
            "explain this set",
            RUN,
            &["inspect", &model, "--state", "start", "--por", "beam"],
        ),
    ];
    if page {
        lenses.push(lens(top, "look at it", PAGE, &["serve", &model]));
    }
    for property in &index.properties {
        let Some((0, span)) = index.local(property.span) else {
            continue;
        };
        let mut arguments = vec!["check", model.as_str()];
        if let Some(name) = &property.name {
            arguments.extend(["--property", name]);
        }
        lenses.push(lens(span, "check this property", RUN, &arguments));
    }
    lenses
}

/// Programs that were started, and run on.
#[derive(Clone, Default)]
pub(crate) struct Children(Arc<Mutex<Vec<Child>>>);

impl Children {
    fn take<T>(&self, change: impl FnOnce(&mut Vec<Child>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for one that has said everything.
    fn finish(&self, id: u32) -> Option<i32> {
        let child = self.take(|children| {
            let at = children.iter().position(|child| child.id() == id)?;
            Some(children.swap_remove(at))
        });
        child?.wait().ok()?.code()
    }

    /// Ends all of them: nobody would see what they say, and the page would live for ever.
    pub(crate) fn end(&self) {
        for mut child in self.take(std::mem::take) {
            // One that has ended by itself is as good.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts what a lens asks for; the outcome comes as messages.
pub(crate) fn execute(
    children: &Children,
    program: &Path,
    command: &str,
    arguments: &[Value],
    sender: Sender<Message>,
    can_show_documents: bool,
) -> Result<(), String> {
    if !COMMANDS.contains(&command) {
        return Err(format!("there is no command {command}"));
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let arguments: Option<Vec<String>> = arguments.iter().map(text).collect();
    let arguments = arguments.ok_or("arguments of a command are texts")?;
    let mut child = Command::new(program)
        .args(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    let page = command == PAGE;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let (children, id) = (children.clone(), child.id());
    children.take(|all| all.push(child));
    let run = move || {
        let (Some(output), Some(errors)) = (output, errors) else {
            return;
        };
        // Both at once: a pipe that nobody empties stops the program.
        let errors = std::thread::spawn(move || read_all(errors));
        let output = match page {
            true => {
                show_page(output, &sender, can_show_documents);
                String::new()
            }
            false => read_all(output),
        };
        let errors = errors.join().unwrap_or_default();
        let status = children.finish(id);
        report(&sender, &arguments, (&output, &errors), status);
    };
    let thread = std::thread::Builder::new().name("command".into());
    let started = thread.spawn(run);
    started.map(drop).map_err(|error| error.to_string())
}

/// Everything into the log, what it comes to into a message.
fn report(
    sender: &Sender<Message>,
    arguments: &[String],
    (output, errors): (&str, &str),
    status: Option<i32>,
) {
    let all = format!("stubborn {}\n{output}{errors}", arguments.join(" "));
    log(sender, all);
    let (kind, text) = match status {
        Some(0) => (MessageType::INFO, output),
        Some(1 | 3) => (MessageType::WARNING, output),
        _ => (
            MessageType::ERROR,
            if errors.is_empty() { output } else { errors },
        ),
    };
    let shown: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let most = 8;
    let mut text = shown[..shown.len().min(most)].join("\n");
    if shown.len() > most {
        text += "\n… (all of it is in the log)";
    }
    if !text.is_empty() {
        say(sender, kind, &text);
    }
}

fn read_all(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Shows the first address that the program prints.
fn show_page(output: impl Read, sender: &Sender<Message>, can_show_documents: bool) {
    static NUMBER: AtomicI32 = AtomicI32::new(0);
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let from = line.find("http://")?;
        let rest = &line[from..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        Some(rest[..end].to_owned())
    });
    let Some(address) = address else { return };
    match (can_show_documents, address.parse::<Uri>()) {
        (true, Ok(uri)) => {
            let params = ShowDocumentParams {
                uri,
                external: Some(true),
                take_focus: Some(true),
                selection: None,
            };
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let id = RequestId::from(format!("page {number}"));
            let request = Request::new(id, ShowDocument::METHOD.to_owned(), params);
            let _ = sender.send(Message::Request(request));
        }
        _ => say(sender, MessageType::INFO, &format!("the page is {address}")),
    }
    // The page lives as long as somebody listens to what the program says.
    lines.for_each(drop);
}

fn say(sender: &Sender<Message>, kind: MessageType, text: &str) {
    let params = ShowMessageParams {
        typ: kind,
        message: text.to_owned(),
    };
    let note = Notification::new(ShowMessage::METHOD.to_owned(), params);
    let _ = sender.send(Message::Notification(note));
}

fn log(sender: &Sender<Message>, text: String) {
    let params = LogMessageParams {
        typ: MessageType::INFO,
        message: text,
    };
    let note = Notification::new(LogMessage::METHOD.to_owned(), params);
    let _ = sender.send(Message::Notification(note));
}
