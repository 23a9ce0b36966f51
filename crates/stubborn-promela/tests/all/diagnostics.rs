//! Each kind of mistake has its code, and a place.

use std::path::Path;

use stubborn_diagnostics::Severity;
use stubborn_promela::source::NoIncludes;
use stubborn_promela::{Options, load, parse};

/// The codes of all messages about a model.
fn codes(text: &str) -> Vec<&'static str> {
    let path = Path::new("m.pml");
    match load(path, text, &Options::default(), &NoIncludes) {
        Ok(loaded) => loaded.diagnostics.iter().map(|d| d.code).collect(),
        Err((_, diagnostics)) => diagnostics.iter().map(|d| d.code).collect(),
    }
}

fn has_errors(text: &str) -> bool {
    let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    let mut messages = parsed.diagnostics.iter();
    messages.any(|d| d.severity == Severity::Error)
}

#[test]
fn mistakes_have_codes() {
    let body = |statements: &str| {
        format!("byte x, t[2]; chan q = [1] of {{ byte }}; active proctype A() {{ {statements} }}")
    };
    let cases: &[(&str, String)] = &[
        ("PML002", "#include \"x\"\ninit { skip }".into()),
        ("PML003", "#include <x>\ninit { skip }".into()),
        ("PML005", "#define\ninit { skip }".into()),
        ("PML006", "#frobnicate\ninit { skip }".into()),
        ("PML007", "#if 1\ninit { skip }".into()),
        ("PML008", "#error no\ninit { skip }".into()),
        (
            "PML010",
            "#define F(a) a\nbyte x; init { x = F(1, 2) }".into(),
        ),
        ("PML020", body("x = ; x = 1")),
        ("PML021", "byte if; init { skip }".into()),
        ("PML023", "inline f() { f() } init { f() }".into()),
        (
            "PML024",
            "inline f(a) { a = 1 } byte x; init { f(x, x) }".into(),
        ),
        ("PML025", "init { c_code { x = 'a'; } }".into()),
        (
            "PML026",
            "proctype P(byte a = 3) { skip } init { run P(1) }".into(),
        ),
        ("PML027", "ltl p { } init { skip }".into()),
        ("PML029", "inline f(a, a) { a = 1 } init { skip }".into()),
        ("PML030", "inline f() { } init { skip }".into()),
        (
            "PML031",
            "chan q = [1] of { unsigned }; init { skip }".into(),
        ),
        ("PML032", body("x = 99999999999")),
        ("PML033", "init { }".into()),
        ("PML034", body("return 1")),
        ("PML035", body("l: byte k; k = 1")),
        ("PML036", body("helper(x)")),
        ("PML040", "byte x;".into()),
        (
            "PML055",
            "proctype P(byte a) { skip } byte b = a; init { skip }".into(),
        ),
        ("PML041", "byte x; byte x; init { skip }".into()),
        ("PML043", "byte _pid; init { skip }".into()),
        ("PML044", "mtype:none m; init { skip }".into()),
        ("PML045", "unsigned u; init { skip }".into()),
        ("PML046", "byte t[0]; init { skip }".into()),
        ("PML047", "byte n; byte t[n]; init { skip }".into()),
        ("PML048", "byte n = { 1, 2 }; init { skip }".into()),
        ("PML050", body("np_ -> x = 1")),
        ("PML051", body("_pid = 1")),
        ("PML052", body("run Nobody()")),
        ("PML053", body("assert(run A())")),
        ("PML054", body("x!1")),
        ("PML055", body("y = 1")),
        ("PML056", body("x.f = 1")),
        ("PML057", body("t = 1")),
        ("PML058", body("A@nowhere")),
        ("PML060", "active proctype A() priority 300 { skip }".into()),
        ("PML062", "byte b = 300; init { skip }".into()),
        ("PML063", body("if :: q?x :: else fi")),
        (
            "PML091",
            "chan c[256] = [1] of { byte }; init { skip }".into(),
        ),
        (
            "PML099",
            "byte x; active proctype A() { skip } trace { x = 1 }".into(),
        ),
        (
            "PML059",
            "active proctype P() { { byte y; y = 1 }; { byte y; y = 2 } }
             active proctype Q() { P:y == 1 }"
                .into(),
        ),
        (
            "PML059",
            "byte x; active proctype P() { { skip; L: x = 1 }; { skip; L: x = 2 } }
             active proctype Q() { P@L }"
                .into(),
        ),
        (
            "PML102",
            "active [200] proctype P() { skip } active [56] proctype Q() { skip }".into(),
        ),
        (
            "PML103",
            "chan r = [1] of { byte, byte }; active proctype P() { r!1 }".into(),
        ),
        (
            "PML100",
            "chan q = [1] of { byte }; active [2] proctype A() { xs q; q!1 }".into(),
        ),
        ("PML070", body("if :: l: x = 1 fi")),
        ("PML071", body("x = 1; { l: x = 2 }")),
        ("PML072", body("x = 1; chan c = [1] of { byte }")),
        ("PML073", body("l: x = 1; l: x = 2")),
        ("PML074", body("if :: else -> x = 1 :: else -> x = 2 fi")),
        ("PML075", body("break")),
        (
            "PML076",
            "chan q = [1] of { byte, byte }; byte v; init { q?v, v }".into(),
        ),
        ("PML077", body("for (x : 3 .. 1) { skip }")),
        ("PML078", body("for (x in q) { skip }")),
        ("PML079", body("d_step { { x = 1 } unless { x == 2 } }")),
        ("PML080", body("do :: skip od")),
        ("PML081", body("goto nowhere")),
        ("PML082", body("d_step { x = 1; goto out }; out: x = 2")),
        ("PML083", body("x = 1; a: goto b; b: goto a")),
        (
            "PML083",
            body("do :: x == 1 -> a: break od; { goto a } unless { x == 2 }"),
        ),
        ("PML084", body("d_step { x = 1; run A() }")),
        (
            "PML093",
            "proctype P(byte a) { skip } init { run P() }".into(),
        ),
        ("PML097", body("q!1, 2")),
    ];
    for (code, text) in cases {
        let found = codes(text);
        assert!(
            found.contains(code),
            "{code} is missing in {found:?} for:\n{text}"
        );
    }
}

#[test]
fn names_of_a_process_end_with_it() {
    let process = "active proctype A(byte a) { byte b; do :: byte c; break od }";
    for name in ["a", "b", "c"] {
        let codes = codes(&format!("{process} byte x = {name};"));
        assert!(codes.contains(&"PML055"), "{name}: {codes:?}");
        let text = format!("{process} byte {name}; ltl p {{ [] ({name} == 0) }}");
        assert!(!has_errors(&text), "{text}");
    }
}

#[test]
fn messages_name_file_line_and_column() {
    let text = "byte x;\nactive proctype A() {\n  x = 1;\n  y = 2\n}\n";
    let parsed = parse(Path::new("some/model.pml"), text, &[], &NoIncludes);
    let shown = parsed.sources.render(&parsed.diagnostics, false);
    assert!(shown.contains("model.pml:4:3"), "{shown}");
    assert!(
        shown.contains("error[PML055]: y is not declared"),
        "{shown}"
    );
}

#[test]
fn formulas_are_kept_with_their_macros_expanded() {
    let text =
        "#define p (x == 1)\nbyte x; init { x = 1 }\nltl live { []<> p }\nltl { [](x < 3) }\n";
    let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    let found: Vec<_> = parsed
        .program()
        .formulas
        .iter()
        .map(|f| (&*f.name, f.text.as_str()))
        .collect();
    assert_eq!(found, [("live", "[]<> (x == 1)"), ("ltl_0", "[](x < 3)")]);
}

/// All messages about a model as people see them.
fn shown(text: &str) -> String {
    let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    parsed.sources.render(&parsed.diagnostics, false)
}

/// Codes and lines, in the order of the messages.
fn places(text: &str) -> Vec<(&'static str, u32)> {
    let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    let of =
        |d: &stubborn_diagnostics::Diagnostic| (d.code, parsed.sources.place(d.span.start).line);
    parsed.diagnostics.iter().map(of).collect()
}

#[test]
fn misspelt_names_are_recognised() {
    let cases = [
        (
            "byte counter; init { conter = 1 }",
            "did you mean `counter`?",
        ),
        (
            "init { byte counter; Counter = 1 }",
            "did you mean `counter`?",
        ),
        (
            "mtype = { green }; mtype m; init { m = gren }",
            "did you mean `green`?",
        ),
        (
            "typedef T { byte size }; T t; init { t.sise = 1 }",
            "did you mean `size`?",
        ),
        (
            "proctype Worker() { skip } init { run Wroker() }",
            "did you mean `Worker`?",
        ),
        ("init { again: skip; goto agian }", "did you mean `again`?"),
        (
            "active proctype Main() { start: Main@strat }",
            "did you mean `start`?",
        ),
        (
            "inline increase(a) { a++ } byte x; init { incraese(x) }",
            "did you mean `increase`?",
        ),
        ("init { pirntf(\"x\") }", "did you mean `printf`?"),
        (
            "typedef Frame { byte a }; init { Farme f; f.a = 1 }",
            "did you mean `Frame`?",
        ),
        (
            "mtype:fruit = { apple }; mtype:friut f; init { skip }",
            "did you mean `fruit`?",
        ),
        (
            "proctpye P() { skip } init { skip }",
            "did you mean `proctype`?",
        ),
        ("#inculde \"x\"\ninit { skip }", "did you mean `include`?"),
        (
            "proctype P() { byte mine; skip } init { mine = 1 }",
            "it is local to P",
        ),
        (
            "init { { byte inner; inner = 1 }; inner = 2 }",
            "in a block that has ended",
        ),
    ];
    for (text, help) in cases {
        let shown = shown(text);
        assert!(
            shown.contains(help),
            "{help} is missing for {text}:\n{shown}"
        );
    }
}

#[test]
fn all_mistakes_are_reported_once_and_in_order() {
    let text = "byte x;\n\
                chan c = [1] of byte;\n\
                inline twice(a) {\n\
                a = nowhere + 1\n\
                }\n\
                active proctype A() {\n\
                x = = 2;\n\
                c!1;\n\
                twice(x); twice(x);\n\
                y = 1;\n\
                if :: x == 1 -> zz = 1 :: else -> goto lost fi;\n\
                x = 256\n\
                }\n";
    assert_eq!(
        places(text),
        [
            ("PML020", 2),
            ("PML055", 4),
            ("PML020", 7),
            ("PML055", 10),
            ("PML055", 11),
            ("PML081", 11),
            ("PML062", 12),
        ]
    );
}

#[test]
fn what_comes_out_of_a_macro_is_shown_where_it_is_used_and_defined() {
    let text = "#define INC(v) v = v + step\nbyte x;\ninit {\n  INC(x)\n}\n";
    let shown = shown(text);
    for part in [
        "m.pml:4:3",
        "step is not declared",
        "in the text of this macro",
    ] {
        assert!(shown.contains(part), "{part} is missing in:\n{shown}");
    }
}

#[test]
fn constants_that_are_cut_off_are_told() {
    let told = |text: &str| {
        let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
        let found = parsed.diagnostics.into_iter().find(|d| d.code == "PML062");
        found.map(|d| d.message)
    };
    for (text, stored) in [
        ("byte b = 300; init { skip }", Some(44)),
        ("byte b; init { b = -1 }", Some(255)),
        ("bool b; init { b = 2 }", Some(0)),
        ("short s = 40000; init { skip }", Some(-25_536)),
        ("unsigned u : 3; init { u = 9 }", Some(1)),
        ("#define BIG 999\nbyte b[2]; init { b[1] = BIG }", Some(231)),
        ("byte b[2] = { 1, 256 }; init { skip }", Some(0)),
        ("byte b = 255; init { b = 0 }", None),
        ("int i = 2147483647; init { i = -2147483648 }", None),
        ("byte b; init { b = b + 300 }", None),
        // SPIN's verifier has bytes for these.
        ("bool b[2]; init { b[1] = 2 }", None),
    ] {
        let message = told(text);
        let wanted = stored.map(|stored| format!("{stored} is stored"));
        let fits = match (&message, &wanted) {
            (Some(message), Some(wanted)) => message.contains(wanted.as_str()),
            (None, None) => true,
            _ => false,
        };
        assert!(fits, "{text}: {message:?}");
    }
}

#[test]
fn else_beside_communication_is_told() {
    let told = |options: &str| {
        let text = format!(
            "byte x; chan q = [1] of {{ byte }}; chan r = [0] of {{ byte }};\n\
             active proctype A() {{ do {options} od }}"
        );
        places(&text).iter().any(|(code, _)| *code == "PML063")
    };
    assert!(told(":: q?x :: else -> break"));
    assert!(told(":: else -> break :: q!1"));
    assert!(told(":: x > 1 :: r!x :: else -> break"));
    assert!(!told(":: q?[x] -> q?x :: else -> break"));
    assert!(!told(":: nempty(q) -> q?x :: else -> break"));
    assert!(!told(":: q?x :: q!1"));
}

/// Every code that the sources have is in the table of the documentation, and the other way round.
#[test]
fn codes_are_documented() {
    fn codes(folder: &Path, out: &mut std::collections::BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                codes(&path, out);
            } else {
                let text = std::fs::read_to_string(&path).expect("a source");
                for rest in text.split("\"PML").skip(1) {
                    out.insert(format!("PML{}", rest.get(..3).unwrap_or("")));
                }
            }
        }
    }
    let mut found = std::collections::BTreeSet::new();
    codes(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    let documentation = include_str!("../../src/lib.rs");
    let rows = documentation
        .lines()
        .filter_map(|l| l.strip_prefix("//! | PML"));
    let documented = rows.map(|row| format!("PML{}", &row[..3])).collect();
    assert_eq!(found, documented);
}
