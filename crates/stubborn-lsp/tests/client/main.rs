//! The server, as an editor sees it: a scripted client at the other end of a connection.

mod dve;
mod mutations;
mod promela;
mod protocol;
mod transport;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use stubborn_lsp::{Analyst, Connection, Findings, Language, ValueRange, serve_on};

/// What is found about every model.
#[derive(Clone, Default)]
struct Fixed(Arc<Mutex<Findings>>);

impl Analyst for Fixed {
    fn analyse(&self, _: &Path, _: &str, _: Language, _: &[(String, String)]) -> Findings {
        self.0.lock().expect("nobody panics").clone()
    }

    fn program(&self) -> PathBuf {
        "echo".into()
    }

    fn has_page(&self) -> bool {
        true
    }
}

fn range(variable: &str, min: i32, max: i32) -> ValueRange {
    ValueRange {
        variable: variable.into(),
        min,
        max,
    }
}

/// An editor.
struct Client {
    connection: Connection,
    server: Option<JoinHandle<Result<bool, String>>>,
    requests: i32,
    /// Messages that came while another was waited for.
    early: Vec<Message>,
    /// What the server said it can do.
    capabilities: Value,
}

impl Client {
    fn new() -> Self {
        Self::with(Fixed::default(), json!({ "capabilities": {} }))
    }

    fn with(analyst: impl Analyst, parameters: Value) -> Self {
        let (theirs, connection) = Connection::memory();
        let server = std::thread::spawn(move || serve_on(theirs, analyst));
        let mut client = Self {
            connection,
            server: Some(server),
            requests: 0,
            early: Vec::new(),
            capabilities: Value::Null,
        };
        let answer = client.ask("initialize", parameters);
        client.capabilities = answer.expect("it begins")["capabilities"].clone();
        client.tell("initialized", json!({}));
        client
    }

    fn tell(&self, method: &str, parameters: Value) {
        let note = Notification::new(method.into(), parameters);
        let sent = self.connection.sender.send(note.into());
        sent.expect("the server listens");
    }

    fn message(&self) -> Message {
        let patience = Duration::from_secs(60);
        let message = self.connection.receiver.recv_timeout(patience);
        message.expect("the server answers")
    }

    /// The answer to a request, or why there is none.
    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let request = Request::new(id.clone(), method.into(), parameters);
        let sent = self.connection.sender.send(request.into());
        sent.expect("the server listens");
        loop {
            match self.message() {
                Message::Response(response) if response.id == id => {
                    return match response.error {
                        Some(error) => Err(error.message),
                        None => Ok(response.result.unwrap_or(Value::Null)),
                    };
                }
                other => self.early.push(other),
            }
        }
    }

    /// The next notification or request of this kind.
    fn hear(&mut self, method: &str) -> Value {
        loop {
            let is_it = |m: &Message| match m {
                Message::Notification(note) => note.method == method,
                Message::Request(request) => request.method == method,
                Message::Response(_) => false,
            };
            if let Some(at) = self.early.iter().position(is_it) {
                return match self.early.remove(at) {
                    Message::Notification(note) => note.params,
                    Message::Request(request) => request.params,
                    Message::Response(_) => Value::Null,
                };
            }
            let next = self.message();
            self.early.push(next);
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let language = if uri.ends_with(".dve") {
            "dve"
        } else {
            "promela"
        };
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Codes and lines (from 1) of what is wrong with a file, as soon as there is a message.
    fn problems(&mut self, uri: &str) -> Vec<(String, u64)> {
        loop {
            let heard = self.hear("textDocument/publishDiagnostics");
            if heard["uri"] == uri {
                let list = heard["diagnostics"].as_array().expect("a list").clone();
                let of = |d: &Value| {
                    let line = d["range"]["start"]["line"].as_u64().expect("a line");
                    (d["code"].as_str().expect("a code").to_owned(), line + 1)
                };
                let problems = list.iter().filter(|d| d["severity"] != 4);
                return problems.map(of).collect();
            }
        }
    }

    /// An answer about a place.
    fn at(&mut self, method: &str, uri: &str, place: Value) -> Result<Value, String> {
        let document = json!({ "uri": uri });
        let mut parameters = json!({ "textDocument": document, "position": place });
        match method {
            "references" => parameters["context"] = json!({ "includeDeclaration": true }),
            "completion" => parameters["context"] = json!({ "triggerKind": 1 }),
            _ => {}
        }
        self.ask(&format!("textDocument/{method}"), parameters)
    }

    fn hover(&mut self, uri: &str, place: Value) -> String {
        let hover = self.at("hover", uri, place).expect("an answer");
        let text = hover["contents"]["value"].as_str();
        text.unwrap_or("").to_owned()
    }

    /// Where answers are, as line and column counted from 0.
    fn places(&mut self, method: &str, uri: &str, place: Value) -> Vec<(u64, u64)> {
        let answer = self.at(method, uri, place).expect("an answer");
        let of = |l: &Value| {
            let start = &l["range"]["start"];
            let number = |key: &str| start[key].as_u64().expect("a number");
            (number("line"), number("character"))
        };
        answer.as_array().into_iter().flatten().map(of).collect()
    }

    /// Labels of completions.
    fn completions(&mut self, uri: &str, place: Value) -> Vec<String> {
        let answer = self.at("completion", uri, place).expect("an answer");
        let of = |i: &Value| i["label"].as_str().expect("a label").to_owned();
        answer.as_array().into_iter().flatten().map(of).collect()
    }

    /// The text after renaming what is at a place.
    fn renamed(
        &mut self,
        uri: &str,
        text: &str,
        place: Value,
        name: &str,
    ) -> Result<String, String> {
        let mut parameters = json!({ "textDocument": { "uri": uri }, "position": place });
        parameters["newName"] = json!(name);
        let edit = self.ask("textDocument/rename", parameters)?;
        let mut edits: Vec<(usize, usize)> = Vec::new();
        for change in edit["changes"][uri].as_array().expect("changes") {
            let place = |key: &str| {
                let position = &change["range"][key];
                let line = position["line"].as_u64().expect("a line") as usize;
                let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
                start + position["character"].as_u64().expect("a column") as usize
            };
            edits.push((place("start"), place("end")));
        }
        edits.sort_unstable();
        let mut text = text.to_owned();
        for (start, end) in edits.into_iter().rev() {
            text.replace_range(start..end, name);
        }
        Ok(text)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.ask("shutdown", Value::Null).expect("it ends");
        self.tell("exit", Value::Null);
        let server = self.server.take().expect("it ends once");
        assert_eq!(server.join().expect("it does not panic"), Ok(true));
    }
}

/// The place of a text, marked by what stands before it: `find(text, "byte ", "x")`.
fn find(text: &str, before: &str, name: &str) -> Value {
    let whole = format!("{before}{name}");
    let at = text
        .find(&whole)
        .unwrap_or_else(|| panic!("there is no {whole}"));
    let at = at + before.len();
    let line = text[..at].matches('\n').count();
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    json!({ "line": line, "character": text[start..at].encode_utf16().count() })
}
