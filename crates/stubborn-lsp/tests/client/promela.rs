//! Models in Promela.

use super::*;

const URI: &str = "file:///m/ring.pml";

const TEXT: &str = "\
#define N 3
#define at_home(p) (where[p] == home)
mtype = { home, away };
typedef Message { byte from; byte hops };
mtype where[N];
chan link[N] = [1] of { Message };
byte count;
inline hop(m, k) {
    m.hops = m.hops + k;
    count++
}
inline never_called(z) { count = z }
proctype Node(byte id) {
    Message msg;
    byte twice;
again:
    if
    :: link[id] ? msg -> hop(msg, 1); where[id] = away
    :: at_home(id) -> goto done
    fi;
    goto again;
done:
    twice = 2 * id
}
init {
    byte i;
    for (i : 0 .. N - 1) { run Node(i) }
}
ltl safe { [] (count < 9 && (Node[1]@done -> where[0] == home)) }
";

#[test]
fn names_are_explained() {
    let found = Fixed::default();
    found.0.lock().expect("nobody panics").ranges = Some(vec![
        range("count", 0, 255),
        range("Node[1].twice", 0, 2),
        range("Node[2].twice", 1, 4),
        range(":init:[0].i", 0, 3),
    ]);
    let mut client = Client::with(found, json!({ "capabilities": {} }));
    client.open(URI, TEXT);
    assert_eq!(client.problems(URI), []);
    assert_eq!(client.problems(URI), []);
    for (before, name, parts) in [
        (
            "    ",
            "count",
            vec![
                "byte count",
                "global variable",
                "0 to 255",
                "written by `Node` (line 10)",
            ],
        ),
        (
            "    ",
            "twice",
            vec!["variable of process `Node`", "0 to 4 in every run"],
        ),
        (
            "(",
            "i ",
            vec!["variable of process `init`", "0 to 3 in every run"],
        ),
        ("- 1) { run Node(", "i", vec!["byte i"]),
        ("link[", "id", vec!["parameter of process `Node`"]),
        (
            ":: ",
            "at_home",
            vec!["#define at_home(p) (where[p] == home)"],
        ),
        ("-> ", "hop", vec!["inline hop(m, k)"]),
        (
            "m.",
            "hops",
            vec!["field of type `Message`", "written by `Node` (line 9)"],
        ),
        ("= ", "away", vec!["mtype away", "constant"]),
        ("run ", "Node", vec!["proctype Node(byte id)"]),
        ("ltl ", "safe", vec!["ltl safe {"]),
    ] {
        let text = client.hover(URI, find(TEXT, before, name));
        for part in parts {
            assert!(text.contains(part), "{part} is missing for {name}: {text}");
        }
    }
}

#[test]
fn names_are_found_in_macros_inlines_and_formulas() {
    let mut client = Client::new();
    client.open(URI, TEXT);
    let lines = |places: Vec<(u64, u64)>| -> Vec<u64> {
        places.into_iter().map(|(line, _)| line + 1).collect()
    };
    for (before, name, wanted) in [
        ("byte ", "count", vec![7, 10, 12, 29]),
        ("mtype ", "where", vec![2, 5, 18, 29]),
        ("{ ", "home", vec![2, 3, 29]),
        ("#define ", "N", vec![1, 5, 6, 27]),
        ("byte ", "hops", vec![4, 9, 9]),
        ("inline ", "hop", vec![8, 18]),
        ("hop(", "m", vec![8, 9, 9]),
        ("called(", "z", vec![12, 12]),
        ("home(", "p", vec![2, 2]),
        ("goto ", "done", vec![19, 22, 29]),
        ("goto ", "again", vec![16, 21]),
        ("(byte ", "id", vec![13, 18, 18, 19, 23]),
        ("proctype ", "Node", vec![13, 27, 29]),
        ("    Message ", "msg", vec![14, 18, 18]),
        ("typedef ", "Message", vec![4, 6, 14]),
    ] {
        let places = client.places("references", URI, find(TEXT, before, name));
        assert_eq!(lines(places), wanted, "{name}");
    }
    let declared = client.places(
        "definition",
        URI,
        find(TEXT, "at_home(id) -> goto ", "done"),
    );
    assert_eq!(lines(declared), [22]);
}

#[test]
fn renaming_is_complete_or_refused() {
    let mut client = Client::new();
    client.open(URI, TEXT);
    let renamed = client.renamed(URI, TEXT, find(TEXT, "byte ", "count"), "total");
    let renamed = renamed.expect("it can");
    assert_eq!(renamed.matches("total").count(), 4);
    assert!(!renamed.contains("count"));
    let renamed = client.renamed(URI, TEXT, find(TEXT, "byte ", "id"), "me");
    assert!(renamed.expect("it can").contains(":: at_home(me)"));
    // Fields, labels and variables do not meet.
    let renamed = client.renamed(URI, TEXT, find(TEXT, "byte ", "hops"), "count");
    assert!(renamed.expect("it can").contains("m.count = m.count + k"));
    for (before, old, name, why) in [
        ("byte ", "count", "home", "already a constant (line 3)"),
        ("byte ", "twice", "count", "already a variable (line 7)"),
        ("byte ", "twice", "N", "already a macro (line 1)"),
        ("byte ", "twice", "od", "is a keyword"),
        ("goto ", "again", "done", "already a label (line 22)"),
    ] {
        let refused = client.renamed(URI, TEXT, find(TEXT, before, old), name);
        let refused = refused.expect_err("it cannot");
        assert!(refused.contains(why), "{name}: {refused}");
    }
    // Locals of two processes have one name in the text of an inline.
    let shared = "inline bump() { x++ }\n\
                  active proctype A() { byte x; bump() }\n\
                  active proctype B() { byte x; bump() }\n";
    client.open("file:///m/shared.pml", shared);
    let uri = "file:///m/shared.pml";
    let refused = client.renamed(uri, shared, find(shared, "A() { byte ", "x"), "y");
    let refused = refused.expect_err("it cannot");
    assert!(refused.contains("in line 1"), "{refused}");
    let refused = client.renamed(uri, shared, find(shared, "{ ", "x++"), "y");
    assert!(refused.expect_err("it cannot").contains("several things"));
    assert_eq!(
        client
            .places("definition", uri, find(shared, "{ ", "x++"))
            .len(),
        2
    );
}

#[test]
fn what_can_be_typed_is_offered() {
    let mut client = Client::new();
    let text = "mtype = { red };\ntypedef T { byte field };\nT t;\nbyte global;\n\
                active proctype P() {\n  byte mine;\nend:\n  t.\n}\n\
                active proctype Q() {\n  goto \n}\n\
                init { run \n}\n";
    client.open(URI, text);
    let after = |text: &str, name: &str| {
        let mut place = find(text, "", name);
        let column = place["character"].as_u64().expect("a number") + name.len() as u64;
        place["character"] = json!(column);
        place
    };
    assert_eq!(client.completions(URI, after(text, "  t.")), ["field"]);
    assert_eq!(
        client.completions(URI, after(text, "run ")),
        ["P", "Q", "init"]
    );
    let anything = client.completions(URI, after(text, "  byte "));
    for name in ["mine", "global", "red", "atomic", "_pid", "T"] {
        assert!(anything.contains(&name.to_owned()), "{name}: {anything:?}");
    }
    for name in ["field", "end"] {
        assert!(!anything.contains(&name.to_owned()), "{name}");
    }
    let elsewhere = client.completions(URI, after(text, "init { "));
    assert!(!elsewhere.contains(&"mine".to_owned()));
}

#[test]
fn included_files_are_part_of_it() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("includes");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let header = folder.join("common.h");
    std::fs::write(&header, "byte shared;\nbyte bad = nothing;\n").expect("it can be written");
    let uri = |name: &str| format!("file://{}/{name}", folder.display());
    let text = "#include \"common.h\"\nactive proctype P() { shared = 1 }\n";
    let mut client = Client::new();
    let model = uri("m.pml");
    client.open(&model, text);
    assert_eq!(client.problems(&uri("common.h")), [("PML055".into(), 2)]);
    let place = find(text, "{ ", "shared");
    let answer = client
        .at("definition", &model, place.clone())
        .expect("an answer");
    assert_eq!(answer[0]["uri"], uri("common.h"));
    let parameters = json!({
        "textDocument": { "uri": model }, "position": place, "newName": "common",
    });
    let edit = client
        .ask("textDocument/rename", parameters)
        .expect("it can");
    assert_eq!(edit["changes"].as_object().map(|c| c.len()), Some(2));

    // As it is in the editor, not as it is on the disk.
    let document = json!({ "uri": uri("common.h"), "languageId": "promela", "version": 1,
                           "text": "byte shared;\n" });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    while !client.problems(&uri("common.h")).is_empty() {}
}

#[test]
fn what_nobody_reads_is_shown_in_grey() {
    let mut client = Client::new();
    let text = "#define USE seen\nbyte seen, written, counted;\nchan used = [1] of { byte };\n\
                chan idle = [1] of { byte };\nactive proctype P(byte arg) {\n  byte x;\n\
                used?x; written = USE; counted++\n}\n";
    let hints = |client: &mut Client| -> Vec<String> {
        let heard = client.hear("textDocument/publishDiagnostics");
        let list = heard["diagnostics"].as_array().expect("a list").clone();
        let is_hint = |d: &&Value| d["severity"] == 4 && d["tags"] == json!([1]);
        let text = |d: &Value| d["message"].as_str().expect("a text").to_owned();
        list.iter().filter(is_hint).map(text).collect()
    };
    client.open(URI, text);
    let mut found = hints(&mut client);
    found.sort();
    assert_eq!(
        found,
        [
            "arg is never read",
            "counted is never read",
            "idle is never used",
            "written is never read",
            "x is never read"
        ]
    );
    client.open(URI, &text.replace("counted++", "counted = unknown"));
    // What was found out about the text before may still come.
    while !hints(&mut client).is_empty() {}
}
