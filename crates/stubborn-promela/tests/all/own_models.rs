//! The small models of `tests/models` give what stands in them.

use std::path::Path;

use crate::support::{count, examples};

#[test]
fn small_models_have_the_expected_counts() {
    let mut wrong = Vec::new();
    for example in examples() {
        let found = match count(Path::new("m.pml"), &example.text, 100_000) {
            Ok(counts) if counts.failures.is_empty() => format!(
                "states {} transitions {} errors {}",
                counts.states, counts.transitions, counts.errors
            ),
            Ok(_) => "fails".to_string(),
            Err(message) => message,
        };
        if found != example.expected {
            wrong.push(format!(
                "{}\n  expected {}\n  found {found}",
                example.title, example.expected
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lost_messages_are_an_option() {
    let text = "chan q = [1] of { byte }; active proctype A() { q!1; q!2; q!3; assert(q?[1]) }";
    let mut options = stubborn_promela::Options::default();
    options.lowering.lossy = true;
    let counts = crate::support::count_with(Path::new("m.pml"), text, 1_000, &options);
    let counts = counts.expect("a good model");
    assert_eq!(
        (counts.states, counts.transitions, counts.errors),
        (6, 6, 0)
    );
}

#[test]
fn endless_creation_ends_in_a_clear_failure() {
    let text = "init { do :: run P() od } proctype P() { end: false }";
    let mut options = stubborn_promela::Options::default();
    options.lowering.max_processes = 12;
    let counts = crate::support::count_with(Path::new("m.pml"), text, 1_000, &options);
    let counts = counts.expect("a good model");
    assert_eq!(counts.failures, ["more than 12 processes"]);
    assert_eq!(counts.states, 12);
}

/// What is sent is evaluated before anybody watches it being sent.
#[test]
fn a_send_that_fails_is_no_event() {
    for (capacity, rest) in [(1, ""), (0, "active proctype Q() { c?_, _ }")] {
        let text = format!(
            "byte g; chan c = [{capacity}] of {{ byte, byte }};
            active proctype P() {{ c!1, (g / g) }} {rest} trace {{ c!0, _ }}"
        );
        let counts = count(Path::new("m.pml"), &text, 1_000).expect("a good model");
        assert_eq!(counts.failures, ["`(g / g)` divides by zero"], "{text}");
        assert_eq!(counts.errors, 1, "no violated trace beside it: {text}");
    }
}

/// Who asks about whom is written out, and there is an end to it.
#[test]
fn many_who_ask_about_each_other_are_refused() {
    let text = "byte x; active [9] proctype A() { do :: enabled(x) -> x++ :: x > 8 -> break od }";
    let message = count(Path::new("m.pml"), text, 10).expect_err("too many questions");
    assert!(message.contains("PML101"), "{message}");
}

/// Violated assertions and failing steps of uninterrupted sequences, whatever becomes of the way
/// that they are on. Fused or not, and by whatever kind of sequence.
#[test]
fn nothing_that_goes_wrong_in_a_sequence_is_lost() {
    let endless = "an uninterrupted sequence of steps never ends";
    let index = "`a[i]`: index outside of the array a";
    let cases: &[(&str, usize, &[&str])] = &[
        // Violated on a way that comes back to where it was.
        ("atomic { x = 0; do :: assert(x == 1) :: break od }", 1, &[]),
        (
            "atomic { x = 0; do :: x = 1 - x; assert(x == 0) :: x == 2 -> break od }",
            2,
            &[endless],
        ),
        // Violated before a step fails.
        ("atomic { assert(x == 7); a[i] = 1 }", 2, &[index]),
        ("d_step { assert(x == 7); a[i] = 1 }", 2, &[index]),
        (
            "atomic { do :: x < 1 -> x++ :: else -> break od; assert(x == 7); a[i] = 1 }",
            2,
            &[index],
        ),
        (
            "atomic { assert(x == 7); if :: a[i] == 1 -> x = 1 :: x == 0 -> x = 2 fi }",
            3,
            &[index],
        ),
        (
            "d_step { x = 0; do :: x < 3 -> x++; assert(x != 2) :: else -> break od; a[i] = x }",
            2,
            &[index],
        ),
        // Violated, and then never an end.
        (
            "atomic { assert(x == 7); do :: x = 1 - x od }",
            2,
            &[endless],
        ),
        // One way has an end, the other one none.
        (
            "atomic { if :: x = 1; assert(x == 0); do :: x = 3 - x od :: x = 5 fi }",
            2,
            &[endless],
        ),
        (
            "atomic { if :: x = 1 :: x = 2; do :: x == 2 -> x = 3 :: x == 3 -> x = 2 od fi }",
            1,
            &[endless],
        ),
        // An endless loop that can be left is none.
        (
            "atomic { x = 0; do :: x = 1 - x :: x = 1 :: break od }",
            0,
            &[],
        ),
    ];
    for (body, errors, failures) in cases {
        let text = format!("byte x, i = 5; byte a[2]; active proctype P() {{ {body} }}");
        for fuse in [true, false] {
            let mut options = stubborn_promela::Options::default();
            options.lowering.fuse = fuse;
            let counts = crate::support::count_with(Path::new("m.pml"), &text, 1_000, &options);
            let counts = counts.expect("a good model");
            assert_eq!(counts.failures, *failures, "{body}");
            // Each way counts.
            assert_eq!(counts.errors.min(*errors), *errors, "{body}");
            assert_eq!(counts.errors == 0, *errors == 0, "{body}");
        }
    }
}

#[test]
fn an_endless_atomic_sequence_is_a_failure() {
    let text = "byte x; active proctype A() { atomic { do :: x = 1 - x od } }";
    let counts = count(Path::new("m.pml"), text, 1_000).expect("a good model");
    assert_eq!(
        counts.failures,
        ["an uninterrupted sequence of steps never ends"]
    );
}

#[test]
fn expressions_become_labels() {
    use stubborn_diagnostics::SourceFile;
    use stubborn_promela::{Standing, parse, source::NoIncludes};
    use stubborn_system::System;
    let text = "#define high (x > 2)
        byte x = 3; active proctype P() { here: x = 0; progress: x = 1 }";
    let mut parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    let mut read = |text: &str, standing| {
        let source = SourceFile::new("expression", text);
        parsed.expression(&source, standing)
    };
    let wrong = read("x == 0 || len(q) > 1", Standing::Alone).expect_err("q is not declared");
    assert_eq!(wrong[0].code, "PML055");
    assert_eq!((wrong[0].span.start, wrong[0].span.end), (14, 15));
    let expressions = [
        ("high && P@here", Standing::Alone),
        ("np_", Standing::InFormula),
        ("!high", Standing::Alone),
        // A claim would be a process.
        ("_nr_pr == 1", Standing::Alone),
        ("_nr_pr == 2", Standing::InFormula),
        // The macros of the model's own formulas are replaced already.
        ("high", Standing::InModel),
    ]
    .map(|(text, standing)| read(text, standing));
    let [first @ .., last] = expressions;
    assert_eq!(last.expect_err("high is no variable")[0].code, "PML055");
    let expressions = first.map(|expression| expression.expect("a good expression"));
    let loaded = parsed.load(&Default::default(), &expressions);
    let loaded = loaded.expect("a good model");
    let mut executor = loaded.model.executor();
    let state = loaded.model.initial_states();
    let labels = loaded.lowered.propositions.iter();
    let values: Vec<bool> = labels.map(|l| executor.label(&state, *l)).collect();
    assert_eq!(values, [true, true, false, true, true]);
}

/// A text is one expression to its end, whatever is in it: nothing around it is closed by it, and nothing of it
/// is left over.
#[test]
fn a_text_is_one_expression_to_its_end() {
    use stubborn_diagnostics::SourceFile;
    use stubborn_promela::{Standing, parse, source::NoIncludes};
    let text = "#define OPEN (\n#define TWO 1; 2\n#define SUM(a) (a + 1)\nbyte x; init { x = 1 }";
    let parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
    let reads = |text: &str| {
        let source = SourceFile::new("expression", text);
        let found = parsed.clone().expression(&source, Standing::Alone);
        for problem in found.as_ref().err().into_iter().flatten() {
            let (start, end) = (problem.span.start, problem.span.end);
            assert!(
                start <= end && end as usize <= text.len(),
                "{text}: {problem:?}"
            );
        }
        found.is_ok()
    };
    for right in [
        "x == 0",
        " ( x ) ",
        "x == 0 // so",
        "/* so */ x",
        "OPEN x)",
        "SUM(x) > SUM(2)",
        "x\n> 1",
    ] {
        assert!(reads(right), "{right}");
    }
    for wrong in [
        "0) && (0",
        "x == 0; x == 1",
        "x == 0 }",
        "(x",
        "x)",
        "",
        " ",
        "x == 0 /* no",
        "x x",
        "OPEN x",
        "TWO",
        "SUM(x",
        "x = 1",
        "x++",
        "x -> 1 : 2",
        "x : 1",
        "#define x 1",
        "x\n#undef x",
        "skip; skip",
        "x == \"",
        "c_expr { 1 }",
        "run P()",
        "y == 0",
        "x == 1 ::",
        "init { skip }",
        "x, x",
    ] {
        assert!(!reads(wrong), "{wrong}");
    }
}

/// A name of another process is the one variable that is called so, or an error that names them, however
/// blocks are nested, and wherever it is asked for.
#[test]
fn names_of_other_processes_are_one_variable_or_an_error() {
    use stubborn_diagnostics::SourceFile;
    use stubborn_promela::{Standing, parse, source::NoIncludes};
    use stubborn_system::{Random, Successors, System};
    /// Blocks with locals that no block around them has. Each gets a number of its own.
    fn blocks(random: &mut Random, depth: usize, hidden: &[usize], all: &mut Vec<usize>) -> String {
        let mut text = String::new();
        let mut own = hidden.to_vec();
        for _ in 0..1 + random.below(2) {
            let name = random.below(4);
            if !own.contains(&name) {
                own.push(name);
                all.push(name);
                text += &format!("byte v{name} = {}; ", all.len());
            }
        }
        for _ in 0..random.below(if depth == 0 { 1 } else { 3 }) {
            text += &format!("{{ {} }}; ", blocks(random, depth - 1, &own, all));
        }
        text + "skip"
    }
    let (mut unique, mut ambiguous) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        let body = blocks(&mut random, 3, &[], &mut all);
        let text = format!("active proctype P() {{ {body}; end: false }}");
        for name in 0..4 {
            let declared: Vec<usize> = (0..all.len()).filter(|at| all[*at] == name).collect();
            let mut parsed = parse(Path::new("m.pml"), &text, &[], &NoIncludes);
            let value = declared.first().map_or(0, |at| at + 1);
            let question = SourceFile::new("expression", format!("P[0]:v{name} == {value}"));
            let asked = parsed.expression(&question, Standing::InFormula);
            match (asked, declared.len()) {
                (Ok(expression), 1) => {
                    let loaded = parsed.load(&Default::default(), &[expression]);
                    let loaded = loaded.expect("a good model");
                    let mut executor = loaded.model.executor();
                    let mut state = loaded.model.initial_states();
                    let mut successors = Successors::new(state.len());
                    loop {
                        successors.clear();
                        executor.successors(&state, &mut successors);
                        let Some(next) = successors.iter().next() else {
                            break;
                        };
                        state = next.state.to_vec();
                    }
                    assert!(
                        executor.label(&state, loaded.lowered.propositions[0]),
                        "{text} {name}"
                    );
                    unique += 1;
                }
                (Err(problems), 0) => assert_eq!(problems[0].code, "PML058", "{text} {name}"),
                (Err(problems), _) => {
                    assert_eq!(problems[0].code, "PML059", "{text} {name}");
                    let help = problems[0].help.as_deref().unwrap_or_default();
                    assert_eq!(help.matches("m.pml:1:").count(), 2, "{help}");
                    ambiguous += 1;
                    // In the text of a model as well.
                    let within = format!("{text} never {{ P[0]:v{name} == 1 }}");
                    let parsed = parse(Path::new("m.pml"), &within, &[], &NoIncludes);
                    assert!(
                        parsed.diagnostics.iter().any(|d| d.code == "PML059"),
                        "{within}"
                    );
                }
                (Ok(_), _) => panic!("v{name} is declared {} times in {text}", declared.len()),
            }
        }
    }
    assert!(unique > 50 && ambiguous > 50, "{unique} {ambiguous}");
}

#[test]
fn never_claims_become_automata() {
    use stubborn_promela::{load, source::NoIncludes};
    let text = "byte x; active proctype P() { x = 1 }
        never { do :: x == 0 :: x == 1 -> break :: else od; accept: do :: x == 1 od }";
    let loaded = load(Path::new("m.pml"), text, &Default::default(), &NoIncludes);
    let claims = loaded.expect("a good model").lowered.claims;
    assert_eq!(claims.len(), 1);
    let (start, states) = (claims[0].start, &claims[0].states);
    assert_eq!(states[start].edges.len(), 3);
    assert_eq!(states.iter().filter(|s| s.accepting).count(), 1);
}
