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
        (
            "PML099",
            "byte x; active proctype A() { skip } trace { x = 1 }".into(),
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
        .program
        .formulas
        .iter()
        .map(|f| (&*f.name, f.text.as_str()))
        .collect();
    assert_eq!(found, [("live", "[]<> (x == 1)"), ("ltl_0", "[](x < 3)")]);
}
