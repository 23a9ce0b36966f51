//! `stubborn lsp` on standard input and output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::stubborn;

/// An editor that has started the program.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    early: Vec<Value>,
}

impl Editor {
    fn new() -> Self {
        let mut child = stubborn(&["lsp", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut editor = Self {
            child,
            input,
            output,
            early: Vec::new(),
        };
        editor.send(json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {} },
        }));
        editor.hear(|m| m["id"] == 0);
        editor.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        editor
    }

    fn send(&mut self, message: Value) {
        let text = message.to_string();
        let input = self.input.as_mut().expect("it is open");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it listens");
        input.flush().expect("it listens");
    }

    fn tell(&mut self, method: &str, parameters: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    fn ask(&mut self, id: i32, method: &str, parameters: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        self.hear(|m| m["id"] == id && m.get("method").is_none())["result"].clone()
    }

    /// The next message that fits.
    fn hear(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&fits) {
            return self.early.remove(at);
        }
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                let read = self.output.read_line(&mut line).expect("it speaks");
                assert!(read > 0, "the program has ended");
                match line.trim().strip_prefix("Content-Length: ") {
                    Some(number) => length = number.parse().expect("a number"),
                    None if line.trim().is_empty() => break,
                    None => {}
                }
            }
            let mut bytes = vec![0; length];
            self.output.read_exact(&mut bytes).expect("it speaks");
            let message: Value = serde_json::from_slice(&bytes).expect("JSON");
            if fits(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    fn open(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": language, "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// What is wrong with a file, as soon as something is.
    fn problems(&mut self, uri: &str) -> Vec<Value> {
        let message = self.hear(|m| {
            let list = m["params"]["diagnostics"].as_array();
            m["params"]["uri"] == uri && list.is_some_and(|list| !list.is_empty())
        });
        let list = message["params"]["diagnostics"].as_array();
        list.expect("a list").clone()
    }
}

#[test]
fn editors_are_served() {
    let mut editor = Editor::new();
    let uri = "file:///models/count.pml";
    let text = "byte n;\nactive proctype P() { byte i; do :: i < 3 -> i++; n = i :: else -> break od }\n\
                ltl small { [] (n < 4) }\nltl odd { [] (m < 4) }\n";
    editor.open(uri, "promela", text);
    // Formulas are read when the model is loaded.
    let problems = editor.problems(uri);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0]["range"]["start"]["line"], 3);
    let message = problems[0]["message"].as_str().expect("a text");
    assert!(message.contains("m is not declared"), "{message}");
    let place =
        json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 5 } });
    let hover = editor.ask(1, "textDocument/hover", place);
    let text = hover["contents"]["value"].as_str().expect("a text");
    for part in ["0 to 3 in every run", "written by `P` (line 2)"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }

    let model = super::example("philosophers.dve");
    let text = std::fs::read_to_string(&model).expect("the example");
    let uri = format!("file://{model}");
    editor.open(&uri, "dve", &text);
    let lenses = editor.ask(
        2,
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": uri } }),
    );
    let command = &lenses[0]["command"];
    assert_eq!(command["title"], "check this model");
    editor.ask(
        3,
        "workspace/executeCommand",
        json!({ "command": command["command"], "arguments": command["arguments"] }),
    );
    let said = editor.hear(|m| m["method"] == "window/showMessage");
    let said = said["params"]["message"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(said.contains("deadlock"), "{said}");

    // The page is there until the editor goes.
    let has_title = |l: &&Value| l["command"]["title"] == "look at it";
    let lenses = lenses.as_array().expect("a list");
    if let Some(lens) = lenses.iter().find(has_title) {
        let command = &lens["command"];
        let (name, arguments) = (&command["command"], &command["arguments"]);
        let parameters = json!({ "command": name, "arguments": arguments });
        editor.ask(4, "workspace/executeCommand", parameters);
        let said = editor.hear(|m| m["method"] == "window/showMessage");
        let said = said["params"]["message"].as_str().expect("a text");
        assert!(said.contains("http://"), "{said}");
    }

    editor.ask(9, "shutdown", Value::Null);
    editor.tell("exit", Value::Null);
    drop(editor.input.take());
    assert_eq!(editor.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn an_editor_that_goes_ends_the_program() {
    let mut editor = Editor::new();
    drop(editor.input.take());
    assert_eq!(editor.child.wait().expect("it ends").code(), Some(2));
}

/// The extension for VS Code has our version, and loads; the latter where there is Node.js.
#[test]
fn the_extension_loads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode");
    let manifest = std::fs::read_to_string(format!("{folder}/package.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let node = std::process::Command::new("node")
        .arg(format!("{folder}/test/load.js"))
        .output();
    match node {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => eprintln!("not tried: {error}"),
    }
}
