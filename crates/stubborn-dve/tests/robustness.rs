//! Whatever the text is, the front-end ends soon, with diagnostics, without a panic.

use crate::support;

use stubborn_diagnostics::SourceFile;
use stubborn_dve::{MAX_INPUT_BYTES, codes, load, load_expression};
use stubborn_system::Random;

fn codes_of(text: impl Into<String>) -> Vec<&'static str> {
    let source = SourceFile::new("test.dve", text);
    let (_, diagnostics) = load(&source);
    stubborn_diagnostics::render(&source, &diagnostics[..diagnostics.len().min(3)], false);
    diagnostics.iter().map(|d| d.code).collect()
}

fn guarded(guard: &str) -> String {
    format!(
        "byte x; process P {{ state a; init a; trans a -> a {{ guard {guard}; }}; }} system async;"
    )
}

#[test]
fn deep_nesting_is_a_diagnostic() {
    for (open, close) in [
        ("(", ")"),
        ("not ", ""),
        ("-", ""),
        ("x[", "]"),
        ("1 imply 1 or 1 | 1 == 1 < 1 << 1 + 1 * (", ")"),
    ] {
        for depth in [2_000, 300_000] {
            let guard = format!("{}x{}", open.repeat(depth), close.repeat(depth));
            let found = codes_of(guarded(&guard));
            assert!(
                found.contains(&codes::TOO_DEEP),
                "{open} {depth}: {found:?}"
            );
        }
    }
    for operator in ["+", "and", "|", "imply"] {
        let guard = format!("x{}", format!(" {operator} x").repeat(100_000));
        assert_eq!(codes_of(guarded(&guard)), [codes::TOO_DEEP], "{operator}");
    }
}

#[test]
fn nesting_below_the_limit_is_accepted() {
    let depth = stubborn_dve::MAX_EXPRESSION_HEIGHT as usize - 10;
    assert!(codes_of(guarded(&format!("x{}", " + x".repeat(depth)))).is_empty());
    assert!(codes_of(guarded(&format!("{}x", "not ".repeat(depth)))).is_empty());
    let depth = depth / 2;
    assert!(
        codes_of(guarded(&format!(
            "{}x{}",
            "(".repeat(depth),
            ")".repeat(depth)
        )))
        .is_empty()
    );
}

#[test]
fn huge_inputs_are_refused_at_once() {
    assert_eq!(codes_of("(".repeat(100 << 20)), [codes::INPUT_TOO_LARGE]);
}

#[test]
fn large_inputs_end_in_few_diagnostics() {
    for piece in [
        "(",
        "{",
        "@",
        "byte x;",
        "process",
        "process P {",
        "/*",
        "\u{0}",
        "a,",
        "\n",
        "trans a->b{};",
    ] {
        let text = piece.repeat((MAX_INPUT_BYTES / 8) / piece.len());
        let found = codes_of(text);
        assert!(
            !found.is_empty() && found.len() <= 65,
            "{piece:?}: {} diagnostics",
            found.len()
        );
    }
}

#[test]
fn too_many_steps_are_a_diagnostic() {
    let half = |name: &str, mark: &str, count: usize| {
        let transitions = vec![format!("a -> a {{ sync c{mark}; }}"); count].join(",");
        format!("process {name} {{ state a; init a; trans {transitions}; }}\n")
    };
    let pairs = format!(
        "channel c; {}{}system async;",
        half("P", "!", 3000),
        half("Q", "?", 3000)
    );
    let picks = format!(
        "byte t[60000]; int i; process P {{ state a; init a; trans {}; }} system async;",
        vec!["a -> a { effect t[i] = 1; }"; 20_000].join(",")
    );
    for text in [pairs, picks] {
        let source = SourceFile::new("test.dve", text);
        let (lowered, diagnostics) = stubborn_dve::compile(&source);
        assert!(lowered.is_none());
        assert_eq!(diagnostics[0].code, codes::TOO_MANY_STEPS);
    }
}

/// Pieces that a mutation may put in.
const PIECES: &[&str] = &[
    "process",
    "state",
    "init",
    "commit",
    "accept",
    "assert",
    "trans",
    "guard",
    "sync",
    "effect",
    "channel",
    "system",
    "async",
    "property",
    "const",
    "byte",
    "int",
    "not",
    "imply",
    "and",
    "or",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "->",
    "=>",
    "=",
    "!",
    "?",
    ".",
    "/*",
    "*/",
    "//",
    "\n",
    "0",
    "4294967296",
    "-1",
    "255",
    "x",
    "\u{e9}",
    "\\",
    "rabin (",
    "~",
    "^",
    "/ 0",
];

fn mutate(text: &mut String, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let boundary = |mut at: usize, text: &str| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let from = boundary(random.below(text.len() + 1), text);
        let to = boundary((from + random.below(20)).min(text.len()), text);
        match random.below(4) {
            0 => text.replace_range(from..to.max(from), ""),
            1 => text.insert_str(from, random.pick::<&str>(PIECES)),
            2 => {
                let copy = text[from..to.max(from)].to_owned();
                let at = boundary(random.below(text.len() + 1), text);
                text.insert_str(at, &copy);
            }
            _ => text.truncate(from),
        }
    }
}

#[test]
fn mutated_models_never_panic() {
    let seeds: Vec<String> = support::own_models()
        .iter()
        .map(|path| support::read(path).text().to_owned())
        .collect();
    assert!(!seeds.is_empty());
    let mut random = Random::new(42);
    let mut accepted = 0;
    for round in 0..20_000 {
        let mut text = seeds[round % seeds.len()].clone();
        mutate(&mut text, &mut random);
        let source = SourceFile::new("mutant.dve", text);
        let (model, diagnostics) = load(&source);
        assert_eq!(
            model.is_none(),
            stubborn_diagnostics::has_errors(&diagnostics)
        );
        if round % 50 == 0 {
            stubborn_diagnostics::render(&source, &diagnostics, false);
        }
        if let Some(model) = model {
            accepted += 1;
            let start = random.below(source.text().len().max(1));
            let tail: String = source.text().chars().skip(start).take(30).collect();
            load_expression(&model, &SourceFile::new("mutant", tail));
            let (lowered, _) = stubborn_dve::compile(&source);
            let program = lowered.expect("small models can be lowered").into_program();
            let model = stubborn_ir::Model::new(program).expect("lowered programs are well-formed");
            support::explore::explore(&model, &[], 200);
        }
    }
    assert!(accepted > 100, "only {accepted} mutants were still models");
}
