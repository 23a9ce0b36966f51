//! Models in DVE.

use super::*;

const URI: &str = "file:///m/locks.dve";

const TEXT: &str = "\
byte lock = 0, wait[2];
channel c;
process P {
    byte x = 1;
    state idle, busy;
    init idle;
    assert busy: lock == 1;
    trans idle -> busy { guard lock == 0; sync c!x; effect lock = 1, wait[x] = 2; },
          busy -> idle { effect lock = 0; };
}
process Q {
    byte x;
    state a;
    init a;
    trans a -> a { guard not P.busy; sync c?x; };
}
process watch {
    state s;
    init s;
    accept s;
    trans s -> s { guard P->x == 1; };
}
system async property watch;
";

#[test]
fn names_are_explained() {
    let found = Fixed::default();
    found.0.lock().expect("nobody panics").ranges = Some(vec![
        range("lock", 0, 1),
        range("P.x", 1, 1),
        range("Q.x", 0, 1),
    ]);
    let mut client = Client::with(found, json!({ "capabilities": {} }));
    client.open(URI, TEXT);
    assert_eq!(client.problems(URI), []);
    // The analyst has spoken after the second message.
    assert_eq!(client.problems(URI), []);
    let lock = client.hover(URI, find(TEXT, "guard ", "lock"));
    for part in [
        "byte lock = 0",
        "global variable",
        "0 to 1 in every run",
        "written by `P` (lines 8, 9)",
        "read by `P` (lines 7, 8)",
    ] {
        assert!(lock.contains(part), "{part} is missing in: {lock}");
    }
    let x = client.hover(URI, find(TEXT, "c!", "x"));
    assert!(x.contains("variable of process `P`"), "{x}");
    assert!(
        x.contains("always 1 in every run") && x.contains("never written"),
        "{x}"
    );
    let other = client.hover(URI, find(TEXT, "c?", "x"));
    assert!(other.contains("written by `Q` (line 15)"), "{other}");
    assert_eq!(client.hover(URI, find(TEXT, "", "guard")), "");
}

#[test]
fn names_are_found_and_renamed() {
    let mut client = Client::new();
    client.open(URI, TEXT);
    let place = find(TEXT, "P->", "x");
    assert_eq!(client.places("definition", URI, place.clone()), [(3, 9)]);
    let all = [(3, 9), (7, 49), (7, 76), (20, 28)];
    assert_eq!(
        client.places("references", URI, place.clone()).len(),
        all.len()
    );
    let renamed = client.renamed(URI, TEXT, place, "value").expect("it can");
    assert!(renamed.contains("P->value == 1") && renamed.contains("wait[value] = 2"));
    assert!(renamed.contains("byte value = 1") && renamed.contains("sync c?x"));
    let state = client.renamed(URI, TEXT, find(TEXT, "P.", "busy"), "taken");
    let state = state.expect("it can");
    assert_eq!(state.matches("taken").count(), 5);
    assert!(!state.contains("busy"));

    let place = find(TEXT, "byte ", "lock");
    for (name, why) in [
        ("1a", "is no name"),
        ("", "is no name"),
        ("guard", "is a keyword"),
        ("c", "is already a channel (line 2)"),
        ("x", "is already a variable (line 4)"),
    ] {
        let refused = client.renamed(URI, TEXT, place.clone(), name);
        let refused = refused.expect_err("it cannot");
        assert!(refused.contains(why), "{name}: {refused}");
    }
    let nothing = client.renamed(URI, TEXT, find(TEXT, "", "guard"), "y");
    assert_eq!(nothing, Err("there is no name here".into()));
}

#[test]
fn symbols_and_lenses() {
    let mut client = Client::new();
    client.open(URI, TEXT);
    let document = json!({ "textDocument": { "uri": URI } });
    let symbols = client.ask("textDocument/documentSymbol", document.clone());
    let symbols = symbols.expect("an answer");
    let names: Vec<&str> = symbols
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| s["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["lock", "wait", "c", "P", "Q", "watch"]);
    let of_p = &symbols[3];
    assert_eq!(of_p["children"].as_array().map(Vec::len), Some(3));
    assert_eq!(of_p["range"]["start"]["line"], 2);
    assert_eq!(of_p["range"]["end"], json!({ "line": 9, "character": 1 }));

    let lenses = client
        .ask("textDocument/codeLens", document)
        .expect("an answer");
    let commands: Vec<String> = lenses
        .as_array()
        .expect("a list")
        .iter()
        .map(|l| {
            l["command"]["arguments"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|a| a.as_str().expect("a text"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(
        commands,
        [
            "check /m/locks.dve",
            "inspect /m/locks.dve --state start --por beam",
            "serve /m/locks.dve",
            "check /m/locks.dve --property watch",
            "check /m/locks.dve --property assertion in P.busy",
        ]
    );
}

#[test]
fn half_a_text_is_understood() {
    let mut client = Client::new();
    let text =
        "byte counter;\nprocess P {\n  state a, b;\n  init a;\n  trans a -> b { guard counte\n";
    client.open(URI, text);
    let problems = client.problems(URI);
    assert!(
        problems
            .iter()
            .any(|(code, line)| code == "DVE030" && *line == 5),
        "{problems:?}"
    );
    let offered = client.completions(URI, json!({ "line": 4, "character": 29 }));
    assert!(offered.contains(&"counter".into()) && offered.contains(&"not".into()));
    assert_eq!(
        client.places("definition", URI, find(text, "trans ", "a")),
        [(2, 8)]
    );
    assert_eq!(client.completions(URI, find(text, "-> ", "b")), ["a", "b"]);
}
