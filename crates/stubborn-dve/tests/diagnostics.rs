//! Each diagnostic code, provoked by a small mistake in an otherwise correct model.

use stubborn_diagnostics::{Severity, SourceFile};
use stubborn_dve::{codes, load, load_expression};

/// A model with holes: globals, locals, the transitions of P, and the system line.
fn model(globals: &str, locals: &str, transitions: &str) -> String {
    format!(
        "{globals}\nprocess P {{ {locals} state a, b; init a; trans {transitions}; }}\n\
         process Q {{ byte q; state a; init a; }}\nsystem async;\n"
    )
}

fn codes_of(text: &str) -> Vec<&'static str> {
    let source = SourceFile::new("test.dve", text);
    let (loaded, diagnostics) = load(&source);
    let errors = diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(
        loaded.is_none(),
        errors,
        "a model exactly if there are no errors"
    );
    let rendered = stubborn_diagnostics::render(&source, &diagnostics, false);
    assert!(diagnostics.iter().all(|d| rendered.contains(d.code)));
    diagnostics.iter().map(|d| d.code).collect()
}

#[test]
fn each_mistake_has_its_code() {
    let cases: &[(&str, String)] = &[
        (
            codes::UNEXPECTED_CHARACTER,
            model("byte x @;", "", "a -> b {}"),
        ),
        (
            codes::UNEXPECTED_CHARACTER,
            model("byte x; \u{1F600}\u{1F600}", "", "a -> b {}"),
        ),
        (
            codes::OPEN_COMMENT,
            format!("{} /* the end", model("", "", "a -> b {}")),
        ),
        (
            codes::NUMBER_TOO_LARGE,
            model("", "", "a -> b { guard 99999999999 > 1; }"),
        ),
        (codes::SYNTAX, model("byte x", "", "a -> b {}")),
        (codes::SYNTAX, model("", "", "a -> b {} b -> a {}")),
        (
            codes::SYNTAX,
            model("byte x;", "", "a -> b { effect x = 1 }"),
        ),
        (codes::SYNTAX, model("bool x;", "", "a -> b {}")),
        (codes::SYNTAX, model("byte state;", "", "a -> b {}")),
        (codes::SYNTAX, model("", "", "a -> b { guard (1; }")),
        (codes::SYNTAX, model("", "", "a -> b { effect ; }")),
        (
            codes::EXCLAMATION_NEGATION,
            model("byte x;", "", "a -> b { guard !x; }"),
        ),
        (
            codes::OUT_OF_ORDER,
            model("byte x;", "", "a -> b { effect x = 1; guard x; }"),
        ),
        (codes::OUT_OF_ORDER, model("", "state c;", "a -> b {}")),
        (
            codes::OUT_OF_ORDER,
            "process P { init a; state a; } system async;".to_owned(),
        ),
        (
            codes::OUT_OF_ORDER,
            "process P { state a; init a; init a; } system async;".to_owned(),
        ),
        (
            codes::OUT_OF_ORDER,
            "process P { state a; init a; } byte x; system async;".to_owned(),
        ),
        (
            codes::SYNCHRONOUS_SYSTEM,
            "process P { state a; init a; } system sync;".to_owned(),
        ),
        (codes::NO_SOURCE_STATE, model("", "", "-> b {}")),
        (codes::NO_PROCESS, "byte x; system async;".to_owned()),
        (
            codes::NO_PROCESS,
            "process P { state a; init a; } system async property P;".to_owned(),
        ),
        (
            codes::NO_SYSTEM,
            "process P { state a; init a; }".to_owned(),
        ),
        (
            codes::TRAILING_TEXT,
            "process P { state a; init a; } system async; byte x;".to_owned(),
        ),
        (
            codes::NO_INIT,
            "process P { state a; } system async;".to_owned(),
        ),
        (codes::NO_STATES, "process P { } system async;".to_owned()),
        (codes::PROBABILISTIC, model("", "", "a => { a:1, b:2 }")),
        (
            codes::UNDECLARED,
            model("byte counter;", "", "a -> b { guard conter; }"),
        ),
        (
            codes::UNDECLARED,
            model("byte x = y; byte y;", "", "a -> b {}"),
        ),
        (codes::UNDECLARED, model("", "", "a -> b { guard q; }")),
        (codes::UNDECLARED, model("", "", "a -> b { sync c!; }")),
        (codes::DUPLICATE, model("byte x; int x;", "", "a -> b {}")),
        (codes::DUPLICATE, model("byte P;", "", "a -> b {}")),
        (codes::DUPLICATE, model("", "byte a;", "a -> b {}")),
        (
            codes::WRONG_KIND,
            model("channel c;", "", "a -> b { guard c; }"),
        ),
        (codes::WRONG_KIND, model("", "", "a -> b { guard a; }")),
        (
            codes::WRONG_KIND,
            model("byte x;", "", "a -> b { sync x!; }"),
        ),
        (
            codes::UNKNOWN_PROCESS,
            model("", "", "a -> b { guard R.a; }"),
        ),
        (
            codes::UNKNOWN_PROCESS,
            "process P { state a; init a; } system async property R;".to_owned(),
        ),
        (codes::UNKNOWN_STATE, model("", "", "a -> c {}")),
        (codes::UNKNOWN_STATE, model("", "", "a -> b { guard Q.b; }")),
        (codes::UNKNOWN_STATE, model("", "", "a -> b { guard Q.q; }")),
        (
            codes::UNKNOWN_STATE,
            "process P { state a; init b; } system async;".to_owned(),
        ),
        (
            codes::FOREIGN_VARIABLE,
            model("", "", "a -> b { guard Q->q; }"),
        ),
        (
            codes::UNKNOWN_MEMBER,
            "process P { byte x; state a; init a; } \
             process X { state s; init s; trans s -> s { guard P->y; }; } system async property X;"
                .to_owned(),
        ),
        (
            codes::OBSERVES_PROPERTY,
            "process P { state a; init a; trans a -> a { guard X.s; }; } \
             process X { state s; init s; } system async property X;"
                .to_owned(),
        ),
        (
            codes::CONSTANT_ASSIGNED,
            model("const byte k = 1;", "", "a -> b { effect k = 2; }"),
        ),
        (
            codes::CONSTANT_ASSIGNED,
            model("const byte k = 1; channel c;", "", "a -> b { sync c?k; }"),
        ),
        (
            codes::NOT_ASSIGNABLE,
            model("channel c;", "", "a -> b { sync c?1; }"),
        ),
        (
            codes::NOT_ASSIGNABLE,
            model("byte x;", "", "a -> b { effect x + 1 = 2; }"),
        ),
        (
            codes::NOT_ASSIGNABLE,
            model("", "", "a -> b { effect Q->q = 2; }"),
        ),
        (
            codes::ARITY,
            model(
                "channel c;",
                "byte x;",
                "a -> b { sync c!; }, b -> a { sync c?x; }",
            ),
        ),
        (
            codes::ARITY,
            model("channel {byte, int} c[1];", "", "a -> b { sync c!{1}; }"),
        ),
        (
            codes::NOT_AN_ARRAY,
            model("byte x;", "", "a -> b { guard x[0]; }"),
        ),
        (codes::BAD_SIZE, model("byte x[0];", "", "a -> b {}")),
        (
            codes::BAD_SIZE,
            model("byte x[2000000000];", "", "a -> b {}"),
        ),
        (
            codes::BAD_SIZE,
            model("channel {byte} c[2000000000];", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_SHAPE,
            model("byte x[2] = 1;", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_SHAPE,
            model("byte x = {1};", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_RANGE,
            model("byte x = 256;", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_RANGE,
            model("int x[3] = {1, -32769};", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_VALUE,
            model("int x = 1 / 0;", "", "a -> b {}"),
        ),
        (
            codes::ACTIVE_PROPERTY,
            "byte x; process P { state a; init a; } process X { state s; init s; \
             trans s -> s { effect x = 1; }; } system async property X;"
                .to_owned(),
        ),
        (
            codes::ACCEPTANCE,
            "process P { state a; init a; } process X { state s; init s; \
             accept rabin (s;), (;s), (s;s); } system async property X;"
                .to_owned(),
        ),
        (
            codes::INDEX_NEVER_VALID,
            model("byte x[2];", "", "a -> b { guard x[2]; }"),
        ),
        (
            codes::BAD_SIZE,
            model("byte x[0];", "", "a -> b { guard x[2] == 1; }"),
        ),
        (
            codes::INITIALISER_SHAPE,
            model("byte x[2] = {1, 2, 3};", "", "a -> b {}"),
        ),
        (
            codes::INITIALISER_SHAPE,
            model("", "byte x[2] = {1, 2, 3};", "a -> b {}"),
        ),
        (
            codes::STORE_NEVER_VALID,
            model("byte x;", "", "a -> b { effect x = -1; }"),
        ),
    ];
    for (code, text) in cases {
        let found = codes_of(text);
        assert_eq!(found, [*code], "in\n{text}");
    }
    let provoked: Vec<&str> = cases.iter().map(|(code, _)| *code).collect();
    let elsewhere = [
        codes::INPUT_TOO_LARGE,
        codes::TOO_MANY_ERRORS,
        codes::TOO_DEEP,
        codes::TOO_MANY_STEPS,
    ];
    for (code, _) in codes::ALL {
        assert!(
            provoked.contains(code) || elsewhere.contains(code),
            "{code} is never provoked"
        );
    }
}

#[test]
fn several_mistakes_are_all_reported() {
    let text = "byte x = 300;\nbyte y\nint z;\nprocess P { state a; init b;\n\
                trans a -> a { guard x +; }, a -> c { effect u = 1, v = 2; }; }\nsystem async;";
    assert_eq!(
        codes_of(text),
        [
            "DVE056", "DVE010", "DVE034", "DVE010", "DVE034", "DVE030", "DVE030"
        ]
    );
}

#[test]
fn every_kind_of_acceptance_is_understood() {
    for accept in [
        "accept s;",
        "accept buchi s, t;",
        "accept genbuchi (s), (t, s), ();",
        "accept muller (s, t);",
        "accept rabin (s; t), (;), (s, t;);",
        "accept streett (;t);",
    ] {
        let text = format!(
            "process P {{ state s, t; init s; commit t; {accept} assert s: true, t: 1 > 0; }} system async;"
        );
        assert_eq!(codes_of(&text), [""; 0], "{accept}");
    }
}

#[test]
fn expressions_stand_alone() {
    let text = model(
        "byte x; const int k = 3; int t[4];",
        "byte v[2];",
        "a -> b {}",
    );
    let (model, _) = load(&SourceFile::new("m.dve", text));
    let model = model.expect("the model is correct");
    for good in [
        "P.a and x > 1",
        "!P.b",
        "P.v[1] + Q->q == k",
        "not (x == 2) imply t[x] < 3",
        "t == 0",
        "x",
    ] {
        let (expression, diagnostics) = load_expression(&model, &SourceFile::new("goal", good));
        assert!(
            expression.is_some() && diagnostics.is_empty(),
            "{good}: {diagnostics:?}"
        );
    }
    for (code, bad) in [
        (codes::SYNTAX, ""),
        (codes::SYNTAX, "x >"),
        (codes::SYNTAX, "x 1"),
        (codes::SYNTAX, "x = 1"),
        (codes::UNDECLARED, "q == 1"),
        (codes::UNKNOWN_STATE, "Q.b"),
        (codes::NOT_AN_ARRAY, "Q.a[1]"),
        (codes::UNKNOWN_MEMBER, "Q->r"),
    ] {
        let (expression, diagnostics) = load_expression(&model, &SourceFile::new("goal", bad));
        let found: Vec<&str> = diagnostics.iter().map(|d| d.code).collect();
        assert!(expression.is_none(), "{bad}");
        assert_eq!(found, [code], "{bad}");
    }
}

#[test]
fn suggestions_name_the_right_thing() {
    let text = model("byte counter;", "", "a -> b { guard conter; }");
    let (_, diagnostics) = load(&SourceFile::new("m.dve", text));
    assert_eq!(
        diagnostics[0].help.as_deref(),
        Some("did you mean `counter`?")
    );
}
