//! Propositions that cannot be evaluated: a property that looks at one is violated, in every
//! language, by every emptiness check, with every reduction, on any number of threads.

use std::collections::{HashSet, VecDeque};

use stubborn::emptiness::{CycleProviso, Emptiness, FiniteRuns, PutBack, SteeringMode};
use stubborn::ltl::parser::Syntax;
use stubborn::record::SavedTrace;
use stubborn::reduce::{Algorithm, Config, Visibility};
use stubborn::system::{RelationLevel, Successors};
use stubborn::{
    CheckOptions, Engine, Language, LoadOptions, LoadedModel, Order, Por, ReductionOptions,
    TemporalAnswer, TemporalOptions, TemporalText, Verdict, check_temporal, load_text,
};
use stubborn_system::Random;

mod outside;
mod random;

/// A property for a model.
#[derive(Clone, Debug)]
enum Asked {
    /// The model states it.
    Stated,
    Formula(String),
    Automaton(String),
}

fn load(language: Language, text: &str, asked: &Asked, engine: Engine) -> LoadedModel {
    let temporal = match asked {
        Asked::Stated => Vec::new(),
        Asked::Formula(text) => vec![TemporalText::Formula {
            text: text.clone(),
            syntax: Syntax::Spin,
        }],
        Asked::Automaton(text) => vec![TemporalText::Automaton {
            name: "a.hoa".into(),
            text: text.clone(),
        }],
    };
    let options = LoadOptions {
        temporal,
        engine,
        ..LoadOptions::default()
    };
    load_text("m", text, language, &options).unwrap_or_else(|e| panic!("{e}\n{text}\n{asked:?}"))
}

/// The answer to the one property of a model.
fn answer(model: &LoadedModel, options: &CheckOptions<'_>) -> TemporalAnswer {
    let properties: Vec<_> = model.temporal().iter().collect();
    assert_eq!(properties.len(), 1);
    let mut answers = check_temporal(model, &properties, options).expect("it runs");
    answers.remove(0)
}

/// What is expected of a property.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    Holds,
    /// By a run.
    Violated,
    /// This cannot be evaluated.
    Fails(&'static str),
}

fn assert_answer(what: &str, model: &LoadedModel, answer: &TemporalAnswer, expected: Expected) {
    let verdict = match expected {
        Expected::Holds => Verdict::Holds,
        Expected::Violated | Expected::Fails(_) => Verdict::Violated,
    };
    assert_eq!(answer.verdict, verdict, "{what}");
    match (&answer.failure, expected) {
        (None, Expected::Holds | Expected::Violated) => {}
        (Some(failure), Expected::Fails(proposition)) => {
            assert_eq!(failure.proposition, proposition, "{what}");
            assert!(!failure.message.is_empty(), "{what}");
            assert_failure_is_real(what, model, answer);
        }
        (failure, _) => panic!("{what}: {failure:?} instead of {expected:?}"),
    }
}

/// The run leads to where the evaluation fails, fails nowhere before, and can be saved and replayed.
fn assert_failure_is_real(what: &str, model: &LoadedModel, answer: &TemporalAnswer) {
    let failure = answer.failure.as_ref().expect("there is one");
    let trace = &failure.trace;
    assert_eq!(trace.cycle().len(), 0, "{what}");
    let why = model.why_label_fails(failure.label, trace.last_state());
    assert_eq!(
        why.map(|site| &site.message),
        Some(&failure.message),
        "{what}"
    );
    let saved = SavedTrace::new(model, trace, "a failure").to_json();
    let saved = SavedTrace::from_json(&saved).expect("it was just written");
    let replayed = saved
        .replay(model)
        .unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(replayed.last_state(), trace.last_state(), "{what}");
}

fn reduced(algorithm: Algorithm) -> ReductionOptions {
    ReductionOptions {
        por: Por::Chosen(Config::new(algorithm)),
        ..ReductionOptions::default()
    }
}

/// Every emptiness check, reduction and steering, one and several threads.
fn ways() -> Vec<CheckOptions<'static>> {
    let mut all = Vec::new();
    let auto = |patience| ReductionOptions {
        patience,
        ..ReductionOptions::default()
    };
    let mut reductions = vec![ReductionOptions::none(), auto(1), auto(4)];
    reductions.extend(Algorithm::ALL.iter().map(|algorithm| reduced(*algorithm)));
    let steerings = [SteeringMode::Off, SteeringMode::Mixed, SteeringMode::Only];
    for (number, reduction) in reductions.iter().enumerate() {
        for (emptiness, threads) in [
            (Emptiness::Components, 1),
            (Emptiness::Nested, 1),
            (Emptiness::Components, 3),
            (Emptiness::Nested, 3),
        ] {
            for steering in &steerings[..if number == 0 { 1 } else { 3 }] {
                all.push(CheckOptions {
                    reduction: reduction.clone(),
                    threads,
                    order: [Order::BreadthFirst, Order::DepthFirst][number % 2],
                    temporal: TemporalOptions {
                        emptiness,
                        steering: *steering,
                        ..TemporalOptions::default()
                    },
                    ..CheckOptions::default()
                });
            }
        }
    }
    // Fairness, and runs that end.
    let plain = [0, 1, 2, 3].map(|at| all[at].clone());
    for options in plain {
        for (finite_runs, weak_fairness) in [
            (FiniteRuns::Ignore, false),
            (FiniteRuns::Stutter, true),
            (FiniteRuns::Ignore, true),
        ] {
            let mut options = options.clone();
            options.temporal.finite_runs = finite_runs;
            options.temporal.weak_fairness = weak_fairness;
            all.push(options);
        }
    }
    // Provisos and visibility.
    for proviso in CycleProviso::all_sound() {
        let mut options = CheckOptions {
            reduction: ReductionOptions {
                cycle_proviso: Some(proviso),
                ..reduced(Algorithm::Beam)
            },
            ..CheckOptions::default()
        };
        options.temporal.steering = SteeringMode::Off;
        all.push(options);
    }
    for (visibility, relaxed_visibility, expansion) in [
        (Visibility::C2, false, PutBack::All),
        (Visibility::Vi, true, PutBack::All),
        (Visibility::Vi, false, PutBack::Visible),
    ] {
        let mut options = CheckOptions {
            reduction: reduced(Algorithm::Beam),
            ..CheckOptions::default()
        };
        options.temporal.visibility = visibility;
        options.temporal.relaxed_visibility = relaxed_visibility;
        options.temporal.expansion = expansion;
        options.temporal.steering = SteeringMode::Off;
        all.push(options);
    }
    all
}

fn shown(options: &CheckOptions<'_>) -> String {
    format!(
        "{:?} {:?} {:?} on {} threads",
        options.reduction.por, options.reduction.cycle_proviso, options.temporal, options.threads
    )
}

/// One of three ways, so that every way is tried by some of many cases.
fn assert_everywhere(language: Language, text: &str, asked: &Asked, expected: Expected) {
    let ways = ways();
    let turn = (text.len() + format!("{asked:?}").len()) % 3;
    let third: Vec<_> = ways.iter().skip(turn).step_by(3).cloned().collect();
    assert_in(&third, Engine::Compiled, (language, text), asked, expected);
    // Any way is as good as another to see that the engines do the same.
    assert_in(
        &ways[..8],
        Engine::Interpreted,
        (language, text),
        asked,
        expected,
    );
}

fn assert_in(
    ways: &[CheckOptions<'_>],
    engine: Engine,
    (language, text): (Language, &str),
    asked: &Asked,
    expected: Expected,
) {
    let model = load(language, text, asked, engine);
    for options in ways {
        let what = format!("{text}\n{asked:?}\n{}", shown(options));
        assert_answer(&what, &model, &answer(&model, options), expected);
    }
}

/// The index goes beyond the array for a moment, and only if the processes move in one of many
/// orders; nothing else sees that.
const DVE: &str = "byte arr[3]; byte a = 0; byte b = 0; byte c = 0;
    process P { state s, t, u; init s; trans s -> t { effect a = 2; }, t -> u { effect a = 0; }; }
    process Q { state s, t, u; init s; trans s -> t { effect b = 1; }, t -> u { effect b = 0; }; }
    process R { state s; init s; trans s -> s { effect c = 1 - c; }; }";
const PROMELA: &str = "byte arr[3]; byte a, b, c;
    active proctype P() { a = 2; a = 0 }
    active proctype Q() { b = 1; b = 0 }
    active proctype R() { do :: c = 1 - c od }";

#[test]
fn formulas_are_violated_where_a_proposition_has_no_value() {
    use Expected::{Fails, Holds, Violated};
    let sum = Fails("arr[a + b] == 0");
    for (formula, expected) in [
        ("[] (arr[a + b] == 0)", sum),
        ("! <> ! (arr[a + b] == 0)", sum),
        ("[] <> (arr[a + b] == 0)", sum),
        ("<> [] (arr[a + b] == 0)", sum),
        ("[] (arr[a + b] == 0 || c > 1)", sum),
        ("[] (arr[a + b] == 0 || a + b > 2)", sum),
        ("[] (c < 2 <-> arr[a + b] == 0)", sum),
        ("[] (c < 2 && (b == 2 || arr[a + b] == 0))", sum),
        ("[] (c == 3 || <> (arr[a + b] == 0))", sum),
        ("[] ((6 / (3 - a - b)) > 0)", Fails("(6 / (3 - a - b)) > 0")),
        ("[] ((6 % (3 - a - b)) < 6)", Fails("(6 % (3 - a - b)) < 6")),
        // What is not looked at does not fail.
        ("[] (a + b < 3 -> arr[a + b] == 0)", Holds),
        ("[] (a + b < 3 && arr[a + b] == 0)", Violated),
        ("[] (a + b > 2 || arr[a + b] == 0)", Holds),
        ("[] ! (a + b < 3 && arr[a + b] != 0)", Holds),
        ("[] (! (a + b < 3) || (arr[a + b] == 0 && c < 2))", Holds),
        ("<> (a + b < 3 && arr[a + b] == 0)", Holds),
        (
            "[] (a != 3 -> (a + b == 3 || (6 / (3 - a - b)) > 0))",
            Holds,
        ),
        ("[] (arr[a] == 0 && arr[b] == 0)", Holds),
        // Nor does what the formula does not depend on any more.
        ("(arr[a] == 0 && c < 2) U (b < 2)", Holds),
        ("(arr[a + b] == 0) U (c < 2)", Holds),
        ("(arr[a + b] == 0) W (c > 2)", sum),
        ("<> (arr[a + b] == 0)", Holds),
        ("(c < 2) || [] (arr[a + b] == 0)", Holds),
        (
            "!((a + b == 0 && arr[a + b] == 1) U (arr[a + b + 3] == 4 && c == 7))",
            Fails("arr[a + b + 3] == 4"),
        ),
        ("!((c == 7 && arr[a + b] == 1) U (c == 9))", Holds),
    ] {
        let asked = Asked::Formula(formula.into());
        assert_everywhere(
            Language::Dve,
            &format!("{DVE} system async;"),
            &asked,
            expected,
        );
        assert_everywhere(Language::Promela, PROMELA, &asked, expected);
        // The same property, whoever states it.
        let stated = format!("{PROMELA} ltl p {{ {formula} }}");
        let stated = (Language::Promela, stated.as_str());
        assert_in(
            &ways()[..8],
            Engine::Compiled,
            stated,
            &Asked::Stated,
            expected,
        );
    }
}

/// Other things that expressions fail with.
#[test]
fn channels_and_messages_without_a_value_fail_too() {
    let text = "chan q; chan r = [1] of { byte }; byte x;
        active proctype P() { r!1; r?x; q = r }";
    for (formula, expected) in [
        ("[] (len(q) < 2)", Expected::Fails("len(q) < 2")),
        ("<> (full(q))", Expected::Fails("full(q)")),
        ("[] (q?[1] -> x == 1)", Expected::Fails("q?[1]")),
        ("[] (len(r) < 2)", Expected::Holds),
        ("[] (r?[1] -> x == 0)", Expected::Holds),
    ] {
        let asked = Asked::Formula(formula.into());
        assert_everywhere(Language::Promela, text, &asked, expected);
    }
}

/// An automaton is about the propositions of the states that it can be in.
#[test]
fn automata_are_violated_where_a_proposition_has_no_value() {
    let automaton = |proposition: &str| {
        Asked::Automaton(format!(
            "HOA: v1 States: 2 Start: 0 AP: 1 \"{proposition}\" Acceptance: 1 Inf(0)
             --BODY-- State: 0 [t] 0 [0] 1 State: 1 {{0}} [t] 1 --END--"
        ))
    };
    let dve = format!("{DVE} system async;");
    for (language, text, guarded) in [
        (Language::Dve, dve.as_str(), "a + b < 3 and arr[a + b] == 1"),
        (Language::Promela, PROMELA, "a + b < 3 && arr[a + b] == 1"),
    ] {
        let failing = automaton("arr[a + b] == 1");
        assert_everywhere(language, text, &failing, Expected::Fails("arr[a + b] == 1"));
        assert_everywhere(language, text, &automaton(guarded), Expected::Holds);
    }
}

/// A claim evaluates the guards of the state that it is in.
#[test]
fn claims_are_violated_where_a_guard_has_no_value() {
    use Expected::{Fails, Holds, Violated};
    let sum = Fails("arr[a + b] == 1");
    for (edges, expected) in [
        ("q0 -> q0 {}, q0 -> q1 { guard arr[a + b] == 1; }", sum),
        (
            "q0 -> q0 {}, q0 -> q1 { guard a + b < 3 and arr[a + b] == 1; }",
            Holds,
        ),
        // It never gets where the guard is.
        (
            "q0 -> q0 {}, q0 -> q1 { guard c == 2; }, q1 -> q1 { guard arr[a + b] == 1; }",
            Holds,
        ),
        // It leaves before.
        (
            "q0 -> q0 { guard a + b < 2; }, q0 -> q2 { guard a + b >= 2; },
             q0 -> q1 { guard arr[a + b] == 1; }, q2 -> q2 {}",
            sum,
        ),
        (
            "q0 -> q0 { guard a == 0; }, q0 -> q2 { guard a == 2 and b == 0; }, q2 -> q2 {},
             q0 -> q1 { guard a == 0 and arr[a + b] == 1; }",
            Holds,
        ),
        (
            "q0 -> q1 { guard a == 0; }, q1 -> q1 {}, q0 -> q0 { guard arr[b] == 1; }",
            Violated,
        ),
    ] {
        let text = format!(
            "{DVE} process N {{ state q0, q1, q2; init q0; accept q1; trans {edges}; }}
             system async property N;"
        );
        assert_everywhere(Language::Dve, &text, &Asked::Stated, expected);
    }
    for (claim, expected) in [
        ("do :: arr[a + b] == 1 -> break :: else od", sum),
        ("do :: true :: arr[a + b] == 1 -> break od", sum),
        (
            "do :: a + b < 3 && arr[a + b] == 1 -> break :: else od",
            Holds,
        ),
        ("do :: assert(a + b == 3 || arr[a + b] == 0) od", Holds),
        ("do :: assert(arr[a + b] == 0) od", Fails("arr[a + b] != 0")),
        (
            "do :: c == 2 -> break :: else od; do :: arr[a + b] == 1 od",
            Holds,
        ),
        (
            "accept: do :: a + b < 3 :: a + b == 3 -> goto accept od",
            Violated,
        ),
    ] {
        let text = format!("{PROMELA} never {{ {claim} }}");
        assert_everywhere(Language::Promela, &text, &Asked::Stated, expected);
    }
}

/// Steps that fail end a run; what was reached before is part of it.
#[test]
fn failing_steps_hide_nothing() {
    let model = "byte arr[3]; byte x; active proctype P() { x = 3; arr[x] = 1 }";
    for (property, expected) in [
        ("ltl p { [] (arr[x] == 0) }", Expected::Fails("arr[x] == 0")),
        ("ltl p { [] (x != 3) }", Expected::Violated),
        ("ltl p { <> (x == 3) }", Expected::Holds),
        (
            "never { do :: true :: arr[x] == 1 -> break od }",
            Expected::Fails("arr[x] == 1"),
        ),
        (
            "never { do :: x == 3 -> break :: else od }",
            Expected::Violated,
        ),
        ("never { do :: assert(x != 3) od }", Expected::Violated),
    ] {
        let text = format!("{model} {property}");
        let model = load(Language::Promela, &text, &Asked::Stated, Engine::Compiled);
        for options in ways() {
            let infinite_only = options.temporal.finite_runs == FiniteRuns::Ignore;
            let expected = match expected {
                Expected::Violated if infinite_only => Expected::Holds,
                expected => expected,
            };
            let what = format!("{text}\n{}", shown(&options));
            assert_answer(&what, &model, &answer(&model, &options), expected);
        }
    }
}

/// A claim that gets to a bad guard only after the end of a run is wrong all the same, whichever runs
/// count.
#[test]
fn claims_are_evaluated_after_the_end_of_a_run() {
    let dve = "byte arr[3]; byte x = 0;
        process P { state s, t; init s; trans s -> t { effect x = 3; }; }
        process N { state q0, q1, q2; init q0; accept q2; trans
            q0 -> q0 {}, q0 -> q1 { guard x == 3; }, q1 -> q2 { guard arr[x] == 1; }; }
        system async property N;";
    let promela = "byte arr[3]; byte x; active proctype P() { x = 3 }
        never { do :: true :: x == 3 -> break od; arr[x] == 1 }";
    for (language, text) in [(Language::Dve, dve), (Language::Promela, promela)] {
        let model = load(language, text, &Asked::Stated, Engine::Compiled);
        for options in ways() {
            let what = format!("{text}\n{}", shown(&options));
            let expected = Expected::Fails("arr[x] == 1");
            assert_answer(&what, &model, &answer(&model, &options), expected);
        }
    }
}

/// Of a formula that looks no further, the rest of a model need not be looked at (and is endless here).
#[test]
fn a_value_is_needed_only_where_the_automaton_asks_for_it() {
    let text = "byte a[3]; byte i; bool go = 1; int n;
        active proctype A() { go = 0; i = 5; do :: n++ od }
        ltl p { !((go && a[i] == 0) U (n == 100000000)) }";
    let expected = Expected::Holds;
    let plain = CheckOptions {
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    let model = load(Language::Promela, text, &Asked::Stated, Engine::Compiled);
    let found = answer(&model, &plain);
    assert_answer(text, &model, &found, expected);
    let states = found.result.expect("it was checked").counts.states;
    assert!(states < 10, "{states}");
}

/// No answer is no `holds`: the search for failures has limits, too.
#[test]
fn limits_are_kept_while_failures_are_looked_for() {
    let text =
        "byte a[3]; int n; active proctype A() { do :: n < 100000 -> n++ :: else -> n = 0 od }";
    let asked = Asked::Formula("[] (n % 4 == 3 || a[n % 4] == 0)".into());
    let model = load(Language::Promela, text, &asked, Engine::Compiled);
    assert!(model.temporal().iter().all(|t| !t.evaluations.is_empty()));
    let mut options = CheckOptions {
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    options.limits.states = Some(2_000);
    assert_eq!(answer(&model, &options).verdict, Verdict::Unknown);
    options.temporal.finite_runs = FiniteRuns::Ignore;
    let answer = answer(&model, &options);
    assert_eq!(answer.verdict, Verdict::Unknown);
    assert!(answer.evaluated.is_some());
}
