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

/// What SPIN 6.5.2 reads without a complaint, with what its verifier finds: no error.
#[test]
fn what_spin_accepts_is_read() {
    use stubborn_promela::{parse, source::NoIncludes};
    let deep = |depth: usize| format!("{}x{} == 1", "(".repeat(depth), ")".repeat(depth));
    let row = |operator: &str, many: usize| vec!["x"; many].join(operator);
    let assertion = |expr: String| format!("byte x = 1; active proctype P() {{ assert({expr}) }}");
    for text in [
        "byte x, y; active proctype A() { if :: x == 0 --> y = 1 fi; assert(y == 1) }".to_owned(),
        "#define THIRD(_1, _2, _3, NAME, ...) NAME\n#define TWO(a, b) x = a + b\n#define ONE(a) x = a
         #define SET(...) THIRD(__VA_ARGS__, BAD, TWO, ONE)(__VA_ARGS__)
         byte x; active proctype A() { SET(1, 2); assert(x == 3); SET(7); assert(x == 7) }"
            .into(),
        "#define LOG(fmt, ...) printf(fmt, ## __VA_ARGS__)\n#define ALL(args...) printf(args)
         byte x; active proctype A() { LOG(\"%d\", x); LOG(\"none\"); ALL(\"%d %d\", x, 1); ALL(\"x\") }"
            .into(),
        "byte s = 3; typedef T { byte f; byte g[2] }; T t[2]; T u;
         active proctype A() { s[0] = 4; assert(s == 4); t[1].f[0] = 5; assert(t[1].f == 5); u[0].g[1] = 2;
           assert(u.g[1] == 2) }"
            .into(),
        "proctype A() { byte timer = 0; timer = 1; timer++; assert(timer == 2); (timer == 2 -> timer : 3) == 2;
           timer[0] = 7; assert(timer == 7) }
         proctype timer() { skip } init { run A(); run timer() }"
            .into(),
        "bool a; active proctype P() { a = 1 } ltl p { <> a; }".into(),
        assertion(deep(2_000)),
        assertion(row(" + ", 2_000) + " == 2000"),
        assertion(row(" && ", 3_000)),
        assertion(format!("!({})", row(" == 2 || ", 3_000) + " == 2")),
        assertion(format!("{}x{} > 0", "x * (0 + (".repeat(700), "))".repeat(700))),
        assertion(format!("{}x{}", "(x == 2 -> 0 : ".repeat(1_400), ")".repeat(1_400))),
        assertion(format!("{}x", "!".repeat(1_400))),
        assertion(format!("({} -> {} : 0)", deep(300), row(" * ", 500))),
    ] {
        let what: String = text.chars().take(120).collect();
        let parsed = parse(Path::new("m.pml"), &text, &[], &NoIncludes);
        assert!(parsed.diagnostics.is_empty(), "{what}: {:?}", parsed.diagnostics);
        let counts = count(Path::new("m.pml"), &text, 1_000);
        let counts = counts.unwrap_or_else(|why| panic!("{what}: {why}"));
        assert_eq!((counts.errors, counts.failures.len()), (0, 0), "{what}");
    }
    for (wrong, code) in [
        ("byte s; active proctype A() { s[1] = 4 }", "PML057"),
        (
            "typedef T { byte f }; T a[2]; active proctype A() { a.f[1] = 3 }",
            "PML057",
        ),
        (
            "typedef T { byte f }; T a[2]; active proctype A() { a.f[0] = 3 }",
            "PML057",
        ),
        ("proctype P() { skip } init { byte P; run P() }", "PML041"),
        ("byte P; proctype P() { skip } init { run P() }", "PML041"),
    ] {
        let parsed = parse(Path::new("m.pml"), wrong, &[], &NoIncludes);
        assert!(
            parsed.diagnostics.iter().any(|d| d.code == code),
            "{wrong}: {:?}",
            parsed.diagnostics
        );
    }
}

/// Precedence, grouping and what is balanced: a random expression has the value that its tree has, however many
/// parentheses are written.
#[test]
fn expressions_have_the_values_of_their_trees() {
    use stubborn_diagnostics::SourceFile;
    use stubborn_promela::{Standing, parse, source::NoIncludes};
    use stubborn_system::{Random, System};
    const OPERATORS: [(&str, u8); 16] = [
        ("||", 1),
        ("&&", 2),
        ("|", 3),
        ("^", 4),
        ("&", 5),
        ("==", 6),
        ("!=", 6),
        ("<", 7),
        (">", 7),
        ("<=", 7),
        (">=", 7),
        ("<<", 8),
        ("+", 9),
        ("-", 9),
        ("*", 10),
        ("-", 9),
    ];
    /// A text, its value, and how tightly its operator binds.
    type Tree = (String, i32, u8);
    fn value(operator: &str, a: i32, b: i32) -> i32 {
        match operator {
            "||" => i32::from(a != 0 || b != 0),
            "&&" => i32::from(a != 0 && b != 0),
            "|" => a | b,
            "^" => a ^ b,
            "&" => a & b,
            "==" => i32::from(a == b),
            "!=" => i32::from(a != b),
            "<" => i32::from(a < b),
            ">" => i32::from(a > b),
            "<=" => i32::from(a <= b),
            ">=" => i32::from(a >= b),
            "<<" => a.wrapping_shl(b as u32),
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            _ => a.wrapping_mul(b),
        }
    }
    fn tree(random: &mut Random, depth: usize) -> Tree {
        let level = |random: &mut Random, text: String, found: u8, least: u8| match found < least
            || random.below(8) == 0
        {
            true => format!("({text})"),
            false => text,
        };
        match random.below(if depth == 0 { 2 } else { 12 }) {
            0 => (["x", "y"][random.below(2)].into(), 0, 20),
            1 => {
                let number = random.below(5) as i32;
                (number.to_string(), number, 20)
            }
            2 => {
                let (text, inner, found) = tree(random, depth - 1);
                let text = level(random, text, found, 11);
                match random.below(3) {
                    0 => (format!("!{text}"), i32::from(inner == 0), 11),
                    1 => (format!("- {text}"), inner.wrapping_neg(), 11),
                    _ => (format!("~{text}"), !inner, 11),
                }
            }
            3 => {
                let [a, b, c] = [0; 3].map(|_| tree(random, depth - 1));
                let value = if a.1 != 0 { b.1 } else { c.1 };
                (format!("({} -> {} : {})", a.0, b.0, c.0), value, 20)
            }
            4 => {
                // Many in a row.
                let (operator, binds) =
                    [("+", 9), ("&&", 2), ("||", 1), ("*", 10), ("-", 9)][random.below(5)];
                let (mut text, mut sum, found) = tree(random, depth - 1);
                text = level(random, text, found, binds);
                for _ in 0..random.below(200) {
                    let (more, term, found) = tree(random, 0);
                    let more = level(random, more, found, binds + 1);
                    text += &format!(" {operator} {more}");
                    sum = value(operator, sum, term);
                }
                (text, sum, binds)
            }
            _ => {
                let (operator, binds) = OPERATORS[random.below(OPERATORS.len())];
                let (left, a, found) = tree(random, depth - 1);
                let left = level(random, left, found, binds);
                let (right, b, found) = tree(random, depth - 1);
                let right = level(random, right, found, binds + 1);
                let b = if operator == "<<" { b & 31 } else { b };
                let right = if operator == "<<" {
                    format!("(({right}) & 31)")
                } else {
                    right
                };
                (
                    format!("{left} {operator} {right}"),
                    value(operator, a, b),
                    binds,
                )
            }
        }
    }
    let text = "int x, y; active proctype P() { x = 1 }";
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let (text_of, value, _) = tree(&mut random, 4);
        let mut parsed = parse(Path::new("m.pml"), text, &[], &NoIncludes);
        let question = SourceFile::new("expression", format!("({text_of}) == ({value})"));
        let asked = parsed.expression(&question, Standing::Alone);
        let asked = asked.unwrap_or_else(|problems| panic!("{text_of}: {problems:?}"));
        let loaded = parsed
            .load(&Default::default(), &[asked])
            .expect("a good model");
        let label = loaded.lowered.propositions[0];
        let state = loaded.model.initial_states();
        assert!(
            loaded.model.executor().label(&state, label),
            "{text_of} is not {value}"
        );
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
