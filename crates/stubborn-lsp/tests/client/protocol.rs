//! What every language server has to get right.

use super::*;

#[test]
fn positions_are_counted_as_agreed() {
    let text = "byte x; /* 𝄞ç */ byte y = z;\nactive proctype P() { y = x }\n";
    let column = |client: &mut Client| {
        client.open("file:///m/u.pml", text);
        let heard = client.hear("textDocument/publishDiagnostics");
        heard["diagnostics"][0]["range"]["start"]["character"].clone()
    };
    let mut plain = Client::new();
    assert_eq!(plain.capabilities["positionEncoding"], "utf-16");
    assert_eq!(column(&mut plain), 27);
    let offers = json!({ "capabilities": {
        "general": { "positionEncodings": ["utf-16", "utf-8"] }
    } });
    let mut modern = Client::with(Fixed::default(), offers);
    assert_eq!(modern.capabilities["positionEncoding"], "utf-8");
    assert_eq!(column(&mut modern), 30);
}

#[test]
fn changes_are_taken_in_turn() {
    let uri = "file:///m/change.pml";
    let mut client = Client::new();
    client.open(
        uri,
        "/* 𝄞 */ byte wrong = y;\nactive proctype P() { skip }\n",
    );
    assert_eq!(client.problems(uri), [("PML055".into(), 1)]);
    let at = |line: u32, from: u32, to: u32| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
    let change = |client: &Client, version: i32, changes: Value| {
        let document = json!({ "uri": uri, "version": version });
        client.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": changes }),
        );
    };
    change(
        &client,
        2,
        json!([
            { "range": at(0, 22, 23), "text": "300" },
            { "range": at(0, 25, 25), "text": ", z" },
            { "range": at(1, 22, 26), "text": "z = 1; wrong = z" },
        ]),
    );
    let problems = client.problems(uri);
    assert!(
        !problems.iter().any(|(code, _)| code == "PML055"),
        "{problems:?}"
    );
    let answer = client.at("hover", uri, json!({ "line": 1, "character": 22 }));
    let text = answer.expect("an answer")["contents"]["value"].to_string();
    assert!(text.contains("written by `P` (line 2)"), "{text}");
    change(
        &client,
        3,
        json!([{ "text": "active proctype P() { gone = 1 }\n" }]),
    );
    loop {
        if client.problems(uri) == [("PML055".to_owned(), 1)] {
            break;
        }
    }
    client.tell(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    while !client.problems(uri).is_empty() {}
    let closed = client.at("hover", uri, json!({ "line": 0, "character": 22 }));
    assert_eq!(closed, Ok(Value::Null));
}

#[test]
fn wrong_requests_are_answered() {
    let mut client = Client::new();
    let unknown = client.ask("textDocument/unheardOf", json!({}));
    assert!(unknown.expect_err("it is refused").contains("unheardOf"));
    let wrong = client.ask("textDocument/hover", json!({ "position": 3 }));
    assert!(wrong.is_err());
    client.tell("textDocument/didChange", json!("nonsense"));
    client.tell("$/setTrace", json!({ "value": "off" }));
    // A language that nobody knows is none of our business.
    let document =
        json!({ "uri": "file:///m/a.c", "languageId": "c", "version": 1, "text": "int x;" });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let hover = client.at(
        "hover",
        "file:///m/a.c",
        json!({ "line": 0, "character": 4 }),
    );
    assert_eq!(hover, Ok(Value::Null));
    let far = json!({ "line": 4_000_000, "character": 4_000_000 });
    client.open("file:///m/e.pml", "");
    assert_eq!(client.at("hover", "file:///m/e.pml", far), Ok(Value::Null));
}

#[test]
fn commands_are_run() {
    let mut client = Client::new();
    let run = json!({ "command": "stubborn.run", "arguments": ["check", "m.pml"] });
    assert_eq!(client.ask("workspace/executeCommand", run), Ok(Value::Null));
    assert_eq!(client.hear("window/showMessage")["message"], "check m.pml");
    let log = client.hear("window/logMessage");
    assert!(
        log["message"]
            .as_str()
            .is_some_and(|m| m.starts_with("stubborn check m.pml\n"))
    );
    let page = json!({ "command": "stubborn.page", "arguments": ["see http://localhost:7/x now"] });
    assert_eq!(
        client.ask("workspace/executeCommand", page.clone()),
        Ok(Value::Null)
    );
    let said = client.hear("window/showMessage");
    assert_eq!(said["message"], "the page is http://localhost:7/x");
    for bad in [
        json!({ "command": "stubborn.other", "arguments": [] }),
        json!({ "command": "stubborn.run", "arguments": [3] }),
    ] {
        assert!(client.ask("workspace/executeCommand", bad).is_err());
    }
    let can_show = json!({ "capabilities": { "window": { "showDocument": { "support": true } } } });
    let mut client = Client::with(Fixed::default(), can_show);
    assert_eq!(
        client.ask("workspace/executeCommand", page),
        Ok(Value::Null)
    );
    assert_eq!(
        client.hear("window/showDocument")["uri"],
        "http://localhost:7/x"
    );
}

#[test]
fn findings_of_the_analyst_are_shown() {
    let uri = "file:///m/deep.pml";
    let found = Fixed::default();
    let warning = stubborn_diagnostics::Diagnostic::warning(
        "T001",
        "look at this",
        stubborn_diagnostics::Span::new(0, 4),
    );
    let help = warning.help("or do not");
    found
        .0
        .lock()
        .expect("nobody panics")
        .diagnostics
        .push(help);
    let definitions = json!({ "capabilities": {},
                              "initializationOptions": { "definitions": { "N": 3, "ON": null } } });
    let mut client = Client::with(found, definitions);
    client.open(
        uri,
        "#ifdef ON\nbyte a[N];\n#endif\nactive proctype P() { a[2] = 1 }\n",
    );
    assert_eq!(client.problems(uri), []);
    let heard = client.hear("textDocument/publishDiagnostics");
    let first = &heard["diagnostics"][0];
    assert_eq!(first["message"], "look at this\nhelp: or do not");
    assert_eq!(
        (&first["code"], &first["severity"]),
        (&json!("T001"), &json!(2))
    );
}

#[test]
fn the_editor_may_go_without_a_word() {
    let (theirs, connection) = Connection::memory();
    let server = std::thread::spawn(move || serve_on(theirs, Fixed::default()));
    drop(connection);
    assert_eq!(server.join().expect("it does not panic"), Ok(false));
}

/// Runs what it is asked to run in a shell.
struct Shell;

impl Analyst for Shell {
    fn analyse(&self, _: &Path, _: &str, _: Language, _: &[(String, String)]) -> Findings {
        Findings::default()
    }

    fn program(&self) -> PathBuf {
        "sh".into()
    }

    fn has_page(&self) -> bool {
        true
    }
}

#[cfg(target_os = "linux")]
#[test]
fn programs_end_with_the_server() {
    let mut client = Client::with(Shell, json!({ "capabilities": {} }));
    let script = "echo see http://localhost/$$; exec sleep 600";
    let page = json!({ "command": "stubborn.page", "arguments": ["-c", script] });
    assert_eq!(
        client.ask("workspace/executeCommand", page),
        Ok(Value::Null)
    );
    let said = client.hear("window/showMessage")["message"].to_string();
    let number: String = said.chars().filter(char::is_ascii_digit).collect();
    let process = Path::new("/proc").join(number);
    assert!(process.exists(), "{said}");
    drop(client);
    assert!(!process.exists());
}

/// Only blanks are replaced, as wide as the editor says, and counted as agreed.
#[test]
fn documents_are_formatted() {
    let uri = "file:///m/format.pml";
    let mut client = Client::new();
    assert_eq!(client.capabilities["documentFormattingProvider"], true);
    client.open(uri, "active proctype P() {\nskip /* 𝄞 */ \n}\n");
    let mut asked = |options: Value| {
        let parameters = json!({ "textDocument": { "uri": uri }, "options": options });
        let answer = client.ask("textDocument/formatting", parameters);
        answer.expect("changes")
    };
    let edit = |from: u32, to: u32, text: &str| {
        json!({
            "range": { "start": { "line": 1, "character": from }, "end": { "line": 1, "character": to } },
            "newText": text,
        })
    };
    let wide = asked(json!({ "tabSize": 3, "insertSpaces": true }));
    assert_eq!(wide, json!([edit(0, 0, "   "), edit(13, 14, "")]));
    let tabs = asked(json!({ "tabSize": 8, "insertSpaces": false }));
    assert_eq!(tabs[0], edit(0, 0, "\t"));
}
