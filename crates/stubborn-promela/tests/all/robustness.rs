//! Broken text gives messages, never a panic and never an endless wait.

use std::path::Path;

use stubborn_promela::source::NoIncludes;
use stubborn_promela::{Options, load, parse};

use stubborn_system::Random;

use crate::random_programs::program;
use crate::support::examples;

fn try_it(text: &str) {
    let path = Path::new("m.pml");
    let parsed = parse(path, text, &[], &NoIncludes);
    // Messages can be shown, whatever they are about.
    let _ = parsed.sources.render(&parsed.diagnostics, false);
    let _ = load(path, text, &Options::default(), &NoIncludes);
}

/// Cuts, doubles, swaps and replaces pieces of a text.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut pieces: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            if !word.is_empty() {
                pieces.push(std::mem::take(&mut word));
            }
            pieces.push(c.to_string());
        }
    }
    const BITS: &[&str] = &[
        "{",
        "}",
        "(",
        ")",
        ";",
        "->",
        "::",
        "if",
        "fi",
        "do",
        "od",
        "atomic {",
        "d_step {",
        "unless",
        "goto",
        "break",
        "else",
        "run",
        "\"",
        "'",
        "/*",
        "#if 1\n",
        "\n#define x x x\n",
        "999999999999",
        "[",
        "]",
        "!",
        "?",
        "chan",
        "inline f(",
        "typedef",
        "@",
        "..",
        "\\",
        "é",
    ];
    for _ in 0..1 + random.below(4) {
        let at = random.below(pieces.len());
        match random.below(5) {
            0 => {
                pieces.remove(at);
            }
            1 => {
                let copy = pieces[at].clone();
                pieces.insert(at, copy);
            }
            2 => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
            3 => pieces[at] = random.pick(BITS).to_string(),
            _ => pieces.insert(at, random.pick(BITS).to_string()),
        }
        if pieces.is_empty() {
            pieces.push(";".into());
        }
    }
    pieces.concat()
}

#[test]
fn mutated_models_never_panic() {
    let mut random = Random::new(7);
    let mut texts: Vec<String> = examples().into_iter().map(|e| e.text).collect();
    texts.extend((0..20).map(program));
    for round in 0..1_500 {
        let text = mutate(&texts[round % texts.len()], &mut random);
        try_it(&text);
    }
}

#[test]
fn deep_and_long_texts_are_refused_kindly() {
    let many = 100_000;
    let texts = [
        "(".repeat(many),
        format!("active proctype A() {{ x = {} }}", "(".repeat(many)),
        format!("active proctype A() {{ {}", "if :: ".repeat(many)),
        format!("active proctype A() {{ {}", "{ ".repeat(many)),
        format!("active proctype A() {{ {}skip", "atomic { ".repeat(many)),
        format!(
            "byte x; active proctype A() {{ x = {}1 }}",
            "1 + ".repeat(many)
        ),
        format!(
            "byte x; active proctype A() {{ x = {}1 }}",
            "! ".repeat(many)
        ),
        format!(
            "byte x; active proctype A() {{ {}skip }}",
            "l: ".repeat(many)
        ),
        format!(
            "byte x; active proctype A() {{ {} }}",
            "x = 1; ".repeat(2_000)
        ),
        format!("#if {}\n#endif", "(".repeat(many)),
        format!("byte a[{}];", "9".repeat(many)),
        "inline f() { g() } inline g() { f() } init { f() }".to_string(),
        "typedef T { T t }; T t; init { skip }".to_string(),
        "#include \"nowhere.pml\"\n".to_string(),
    ];
    for text in texts {
        try_it(&text);
    }
}
