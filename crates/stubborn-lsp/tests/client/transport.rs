//! Bytes that are not messages: the server refuses them, and goes on.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};

use stubborn_lsp::serve_streams;
use stubborn_lsp::transport::LONGEST_MESSAGE;

use super::mutations::random;
use super::*;

/// An editor that writes whatever it likes.
struct Raw {
    input: PipeWriter,
    output: BufReader<PipeReader>,
    server: Option<JoinHandle<Result<bool, String>>>,
    requests: usize,
    /// Errors for no request that is known.
    refused: Vec<i64>,
}

const URI: &str = "file:///t/a.dve";

fn framed(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend(body);
    bytes
}

impl Raw {
    fn new() -> Self {
        let (theirs, input) = pipe().expect("a pipe");
        let (output, back) = pipe().expect("a pipe");
        let server = std::thread::spawn(move || {
            serve_streams(BufReader::new(theirs), back, Fixed::default())
        });
        Self {
            input,
            output: BufReader::new(output),
            server: Some(server),
            requests: 0,
            refused: Vec::new(),
        }
    }

    /// One that has begun, and shows a model.
    fn open(text: &str) -> Self {
        let mut editor = Self::new();
        let params = json!({ "capabilities": {} });
        assert!(editor.ask("initialize", params)["result"].is_object());
        editor.tell("initialized", json!({}));
        let document = json!({ "uri": URI, "languageId": "dve", "version": 1, "text": text });
        editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
        editor
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).expect("the server reads");
    }

    fn tell(&mut self, method: &str, params: Value) {
        let note = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&framed(note.to_string()));
    }

    /// The next message.
    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("a line");
            assert!(!line.is_empty(), "the server has gone");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a length"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a message");
        serde_json::from_slice(&body).expect("JSON")
    }

    /// The answer to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = format!("request {}", self.requests);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&framed(request.to_string()));
        loop {
            let message = self.read();
            if message["id"] == id.as_str() {
                return message;
            }
            if message.get("method").is_none() {
                let code = message["error"]["code"].as_i64().expect("a code");
                assert!(message["error"]["message"].is_string());
                self.refused.push(code);
            }
        }
    }

    /// Names of the model that is open: it listens, and knows the text.
    fn names(&mut self) -> Vec<String> {
        let params = json!({ "textDocument": { "uri": URI } });
        let answer = self.ask("textDocument/documentSymbol", params);
        let names = answer["result"].as_array().expect("names").iter();
        let name = |one: &Value| one["name"].as_str().expect("a name").to_owned();
        names.map(name).collect()
    }

    fn change(&mut self, escaped: &str) {
        let change = format!(
            r#"{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{{"textDocument":
            {{"uri":"{URI}","version":2}},"contentChanges":[{{"text":"{escaped}"}}]}}}}"#
        );
        self.write(&framed(change));
    }

    fn end(&mut self) {
        assert!(self.ask("shutdown", Value::Null)["result"].is_null());
        self.tell("exit", Value::Null);
        let server = self.server.take().expect("it ends once");
        assert_eq!(server.join().expect("it does not panic"), Ok(true));
    }
}

const MODEL: &str = "byte x = 0;\nprocess P { state a; init a; }\nsystem async;\n";
const PARSE: i64 = -32700;
const INVALID: i64 = -32600;

/// Each with the errors that it is answered by.
fn malformed() -> Vec<(Vec<u8>, Vec<i64>)> {
    let deep = format!(
        r#"{{"id":5,"method":"foo","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let whole = |text: &str| text.as_bytes().to_vec();
    let too_long = format!("Content-Length: {}\r\n\r\nabc\r\n", LONGEST_MESSAGE + 1);
    vec![
        (framed(r#"{"jsonrpc""#), vec![PARSE]),
        (framed(""), vec![PARSE]),
        (framed(deep), vec![PARSE]),
        (
            framed(r#"[{"jsonrpc":"2.0","id":7,"method":"shutdown"}]"#),
            vec![INVALID],
        ),
        (framed("3"), vec![INVALID]),
        (framed(r#"{"jsonrpc":"2.0","id":9}"#), vec![INVALID]),
        (framed(r#"{"id":null,"method":"foo"}"#), vec![INVALID]),
        (framed(r#"{"id":1.5,"method":"foo"}"#), vec![INVALID]),
        (
            framed(r#"{"id":99999999999,"method":"foo"}"#),
            vec![INVALID],
        ),
        (framed(r#"{"id":1,"method":["foo"]}"#), vec![INVALID]),
        // Answers are never answered.
        (
            framed(r#"{"id":null,"error":{"code":1,"message":"x"}}"#),
            vec![],
        ),
        (framed(r#"{"id":{},"result":1}"#), vec![]),
        // A method that is not known, whatever its name.
        (framed(b"{\"id\":5,\"method\":\"\xff\xfe\"}"), vec![-32601]),
        (framed(r#"{"id":5,"method":"\ud800"}"#), vec![-32601]),
        (
            framed(r#"{"id":5,"method":"textDocument/hover","params":[1]}"#),
            vec![-32602],
        ),
        (
            framed(r#"{"id":5,"method":"initialize","params":{"capabilities":{}}}"#),
            vec![INVALID],
        ),
        // Lengths and headers.
        (whole("Content-Length: -5\r\n\r\n"), vec![INVALID]),
        (
            whole("Content-Length: 99999999999999\r\n\r\nabc\r\n"),
            vec![INVALID],
        ),
        (
            whole("Content-Length: 99999999999999999999999\r\n\r\nabc"),
            vec![INVALID],
        ),
        (whole(&too_long), vec![INVALID]),
        (
            whole("Content-Length: x\r\nContent-Length: \r\n\r\n"),
            vec![INVALID, INVALID],
        ),
        (whole("Foo: 1\r\n\r\n"), vec![INVALID]),
        (whole("\r\n\r\n"), vec![]),
        (whole("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), vec![INVALID]),
        (b"\xff\xfe\x00\r\n".to_vec(), vec![INVALID]),
        (vec![b'x'; 100_000], vec![INVALID]),
        // Less than what was announced, or more.
        (
            [framed("{}"), whole("and more")].concat(),
            vec![INVALID, INVALID],
        ),
        (whole("Content-Length: 1\r\n\r\n{}"), vec![PARSE]),
        // As other programs write it.
        (
            whole("Content-Length: 23\n\n{\"id\":5,\"method\":\"foo\"}"),
            vec![-32601],
        ),
        (
            whole(
                "content-length:23\r\nContent-Type: text; charset=utf-8\r\n\r\n{\"id\":5,\"method\":\"foo\"}",
            ),
            vec![-32601],
        ),
    ]
}

#[test]
fn what_is_not_a_message_is_refused() {
    for (bytes, errors) in malformed() {
        let mut editor = Raw::open(MODEL);
        editor.write(&bytes);
        let shown: String = String::from_utf8_lossy(&bytes).chars().take(200).collect();
        assert_eq!(editor.names(), ["x", "P"], "{shown}");
        assert_eq!(editor.refused, errors, "{shown}");
        editor.end();
    }
}

#[test]
fn a_length_that_takes_the_next_message_away_costs_no_other_one() {
    let mut editor = Raw::open(MODEL);
    editor.write(b"Content-Length: 50\r\n\r\n{}");
    editor.tell("$/first", json!({}));
    assert_eq!(editor.names(), ["x", "P"]);
    assert_eq!(editor.refused, [PARSE]);
    editor.end();
}

/// In random order, with messages between them: every request is answered, and every error is told.
#[test]
fn any_sequence_of_bytes_and_messages_is_answered() {
    let all = malformed();
    let mut seed = 3;
    for _ in 0..10 {
        let mut editor = Raw::open(MODEL);
        let mut errors = Vec::new();
        for _ in 0..60 {
            let (mut bytes, mut expected) = all[random(&mut seed) % all.len()].clone();
            if random(&mut seed).is_multiple_of(3) {
                // Something else that is told to be a message, of the right length.
                let at = random(&mut seed) % bytes.len();
                bytes = framed([&bytes[at..], b"?"].concat());
                expected = vec![PARSE];
            }
            editor.write(&bytes);
            errors.extend(expected);
            assert_eq!(editor.names(), ["x", "P"]);
            assert_eq!(editor.refused, errors);
        }
        editor.end();
    }
}

#[test]
fn halves_of_characters_are_texts_like_others() {
    let mut editor = Raw::open(MODEL);
    editor.change(r"byte y = 0; // \ud83d\nprocess Q { state a; init a; }\nsystem async;\n");
    assert_eq!(editor.names(), ["y", "Q"]);
    // An editor inserts one half, and the other one behind it, and counts them as two.
    editor.change(r"/**/ byte y = 0; system async;");
    for (at, half) in [(2, r"\ud83d"), (3, r"\ude00")] {
        let change = format!(
            r#"{{"method":"textDocument/didChange","params":{{"textDocument":{{"uri":"{URI}","version":3}},
            "contentChanges":[{{"range":{{"start":{{"line":0,"character":{at}}},
            "end":{{"line":0,"character":{at}}}}},"text":"{half}"}}]}}}}"#
        );
        editor.write(&framed(change));
    }
    let place =
        json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 12 } });
    let hover = editor.ask("textDocument/hover", place);
    assert_eq!(
        hover["result"]["range"]["start"],
        json!({ "line": 0, "character": 12 })
    );
    assert!(editor.refused.is_empty());
    editor.end();
}

#[test]
fn it_begins_and_ends_in_any_way() {
    // Whatever comes first is refused, and it begins when it is asked to.
    let mut editor = Raw::new();
    let hover = editor.ask("textDocument/hover", json!({}));
    assert_eq!(hover["error"]["code"], -32002);
    editor.tell("textDocument/didOpen", json!({}));
    editor.write(&framed(r#"{"id":3,"result":null}"#));
    assert_eq!(editor.ask("initialize", json!([]))["error"]["code"], -32602);
    let begun = editor.ask("initialize", json!({ "capabilities": {} }));
    assert!(begun["result"].is_object());
    // Requests may come before the editor says that it has understood.
    let hover =
        json!({ "textDocument": { "uri": URI }, "position": { "line": 0, "character": 0 } });
    assert!(editor.ask("textDocument/hover", hover.clone())["result"].is_null());
    assert!(editor.ask("shutdown", Value::Null)["result"].is_null());
    assert_eq!(
        editor.ask("textDocument/hover", hover)["error"]["code"],
        INVALID
    );
    editor.tell("exit", Value::Null);
    let server = editor.server.take().expect("it runs");
    assert_eq!(server.join().expect("it does not panic"), Ok(true));
    // An editor may go at any time.
    for bytes in ["", "Content-", "Content-Length: 5\r\n\r\n{"] {
        let mut editor = Raw::open(MODEL);
        editor.write(bytes.as_bytes());
        let Raw { input, server, .. } = editor;
        drop(input);
        let server = server.expect("it runs");
        assert_eq!(server.join().expect("it does not panic"), Ok(false));
    }
}

#[test]
fn any_bytes_end_in_an_orderly_way() {
    let mut seed = 5;
    let begin = r#"{"id":1,"method":"initialize","params":{"capabilities":{}}}"#;
    for _ in 0..300 {
        let mut bytes: Vec<u8> = malformed()
            .into_iter()
            .flat_map(|(bytes, _)| bytes)
            .collect();
        for _ in 0..1 + random(&mut seed) % 30 {
            let at = random(&mut seed) % bytes.len();
            let end = (at + random(&mut seed) % 9).min(bytes.len());
            match random(&mut seed) % 3 {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at] = random(&mut seed) as u8,
                _ => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            }
        }
        let all = [framed(begin), bytes].concat();
        let served = serve_streams(std::io::Cursor::new(all), std::io::sink(), Fixed::default());
        assert_eq!(served, Ok(false));
    }
}
