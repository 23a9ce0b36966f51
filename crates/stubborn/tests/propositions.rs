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
        ("<> (arr[a + b] == 0)", sum),
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

/// An automaton is about every proposition in every state.
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

/// No answer is no `holds`: the search for failures has limits, too.
#[test]
fn limits_are_kept_while_failures_are_looked_for() {
    let text = format!("{DVE} system async;");
    let asked = Asked::Formula("c < 3 || [] (arr[a + b] == 0)".into());
    let model = load(Language::Dve, &text, &asked, Engine::Compiled);
    let mut options = CheckOptions {
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    options.limits.states = Some(2);
    let answer = answer(&model, &options);
    assert_eq!(answer.verdict, Verdict::Unknown);
    assert!(answer.evaluated.is_some());
}

// ---- random systems ----

/// Numbers.
#[derive(Clone, Debug)]
enum Term {
    A,
    B,
    Constant(i32),
    Sum(Box<Term>, Box<Term>),
}

/// What is true, false, or neither.
#[derive(Clone, Debug)]
enum Condition {
    Below(Term, i32),
    Element(Term, i32),
    Quotient(Term, i32),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Always(Box<Condition>),
    Ever(Box<Condition>),
    Until(Box<Condition>, Box<Condition>),
}

use Condition::{Always, And, Below, Element, Ever, Not, Or, Quotient, Until};

/// Values of variables.
#[derive(Clone, Debug)]
struct Values {
    a: i32,
    b: i32,
    arr: [i32; 3],
}

/// Largest value of a term.
const LARGEST: i32 = 9;

impl Term {
    fn random(random: &mut Random, depth: u32) -> Self {
        match random.below(if depth == 0 { 5 } else { 6 }) {
            0 | 1 => Term::A,
            2 | 3 => Term::B,
            4 => Term::Constant(random.below(3) as i32),
            _ => {
                let (left, right) = (Self::random(random, 0), Self::random(random, 0));
                Term::Sum(Box::new(left), Box::new(right))
            }
        }
    }

    fn is_constant(&self) -> bool {
        match self {
            Term::A | Term::B => false,
            Term::Constant(_) => true,
            Term::Sum(left, right) => left.is_constant() && right.is_constant(),
        }
    }

    fn value(&self, values: &Values) -> i32 {
        match self {
            Term::A => values.a,
            Term::B => values.b,
            Term::Constant(value) => *value,
            Term::Sum(left, right) => left.value(values) + right.value(values),
        }
    }

    fn text(&self) -> String {
        match self {
            Term::A => "a".into(),
            Term::B => "b".into(),
            Term::Constant(value) => value.to_string(),
            Term::Sum(left, right) => format!("({} + {})", left.text(), right.text()),
        }
    }
}

impl Condition {
    fn random(random: &mut Random, depth: u32, temporal: bool) -> Self {
        if depth == 0 {
            // What constants decide need not be evaluated.
            let mut term = Term::random(random, 1);
            while term.is_constant() {
                term = Term::random(random, 1);
            }
            return match random.below(5) {
                0 | 1 => Below(term, 1 + random.below(3) as i32),
                2 | 3 => Element(term, random.below(2) as i32),
                _ => Quotient(term, 1 + random.below(3) as i32),
            };
        }
        let mut one = || Box::new(Self::random(random, depth - 1, temporal));
        let (left, right) = (one(), one());
        match random.below(if temporal { 8 } else { 5 }) {
            0 => Not(left),
            1 | 2 => And(left, right),
            3 | 4 => Or(left, right),
            5 => Always(left),
            6 => Ever(left),
            _ => Until(left, right),
        }
    }

    /// `None` if there is no value.
    fn value(&self, values: &Values) -> Option<bool> {
        Some(match self {
            Below(term, number) => term.value(values) < *number,
            Element(term, number) => *values.arr.get(term.value(values) as usize)? == *number,
            Quotient(term, number) => 6_i32.checked_div(term.value(values))? == *number,
            Not(inner) => !inner.value(values)?,
            And(left, right) => left.value(values)? && right.value(values)?,
            Or(left, right) => left.value(values)? || right.value(values)?,
            Always(_) | Ever(_) | Until(..) => unreachable!("it is temporal"),
        })
    }

    fn is_temporal(&self) -> bool {
        match self {
            Below(..) | Element(..) | Quotient(..) => false,
            Not(inner) => inner.is_temporal(),
            And(left, right) | Or(left, right) => left.is_temporal() || right.is_temporal(),
            Always(_) | Ever(_) | Until(..) => true,
        }
    }

    /// Whether a part without temporal operators has no value.
    fn fails(&self, values: &Values) -> bool {
        if !self.is_temporal() {
            return self.value(values).is_none();
        }
        match self {
            Below(..) | Element(..) | Quotient(..) => false,
            Not(inner) | Always(inner) | Ever(inner) => inner.fails(values),
            And(left, right) | Or(left, right) | Until(left, right) => {
                left.fails(values) || right.fails(values)
            }
        }
    }

    /// As an expression or a formula.
    fn text(&self, words: &Words) -> String {
        let Words { and, or, not, .. } = words;
        let equal = |term: &Term, value: i32| format!("{} == {value}", term.text());
        // The same without indices and divisors that may be wrong.
        let any = |all: Vec<String>| match all.is_empty() {
            true => "1 == 2".into(),
            false => format!("({})", all.join(&format!(" {or} "))),
        };
        match self {
            Below(term, number) => format!("{} < {number}", term.text()),
            Element(term, number) if words.total => any((0..3)
                .map(|at| format!("({} {and} arr[{at}] == {number})", equal(term, at)))
                .collect()),
            Element(term, number) => format!("arr[{}] == {number}", term.text()),
            Quotient(term, number) if words.total => {
                let fitting = (1..=LARGEST).filter(|divisor| 6 / divisor == *number);
                any(fitting.map(|divisor| equal(term, divisor)).collect())
            }
            Quotient(term, number) => format!("6 / {} == {number}", term.text()),
            Not(inner) => format!("{not} ({})", inner.text(words)),
            And(left, right) => format!("(({}) {and} ({}))", left.text(words), right.text(words)),
            Or(left, right) => format!("(({}) {or} ({}))", left.text(words), right.text(words)),
            Always(inner) => format!("[] ({})", inner.text(words)),
            Ever(inner) => format!("<> ({})", inner.text(words)),
            Until(left, right) => format!("(({}) U ({}))", left.text(words), right.text(words)),
        }
    }
}

/// How conditions are written.
struct Words {
    and: &'static str,
    or: &'static str,
    not: &'static str,
    /// Without indices and divisors that may be wrong.
    total: bool,
}

const fn words(language: Language, total: bool) -> Words {
    match language {
        Language::Dve => Words {
            and: "and",
            or: "or",
            not: "not",
            total,
        },
        _ => Words {
            and: "&&",
            or: "||",
            not: "!",
            total,
        },
    }
}

/// From one location to another, if a condition holds, with an effect.
type Step = (usize, usize, Option<String>, String);

/// The steps of processes.
struct Processes(Vec<Vec<Step>>);

impl Processes {
    fn random(random: &mut Random) -> Self {
        let process = |random: &mut Random| {
            let locations = 2 + random.below(2);
            let step = |random: &mut Random| {
                let variable = ["a", "b"][random.below(2)];
                let (guard, effect) = match random.below(8) {
                    0 => (
                        Some(format!("{variable} < 3")),
                        format!("{variable} = {variable} + 1"),
                    ),
                    1 => (
                        None,
                        format!("arr[{}] = {}", random.below(3), random.below(2)),
                    ),
                    // This fails now and then.
                    2 => (None, format!("arr[{variable}] = {}", random.below(2))),
                    3 => {
                        let guard = format!("{variable} < {}", 1 + random.below(3));
                        (Some(guard), format!("a = {}", random.below(4)))
                    }
                    _ => (None, format!("{variable} = {}", random.below(4))),
                };
                (
                    random.below(locations),
                    random.below(locations),
                    guard,
                    effect,
                )
            };
            (0..1 + random.below(3)).map(|_| step(random)).collect()
        };
        Self((0..2 + random.below(2)).map(|_| process(random)).collect())
    }

    fn text(&self, language: Language) -> String {
        let mut text = match language {
            Language::Dve => "byte arr[3]; byte a = 0; byte b = 0;\n".to_owned(),
            _ => "byte arr[3]; byte a, b;\n".to_owned(),
        };
        for (number, steps) in self.0.iter().enumerate() {
            match language {
                Language::Dve => {
                    let steps = steps.iter().map(|(from, to, guard, effect)| {
                        let guard = guard.as_ref().map(|g| format!("guard {g};"));
                        let guard = guard.unwrap_or_default();
                        format!("l{from} -> l{to} {{ {guard} effect {effect}; }}")
                    });
                    let steps: Vec<String> = steps.collect();
                    text += &format!(
                        "process P{number} {{ state l0, l1, l2; init l0; trans {}; }}\n",
                        steps.join(", ")
                    );
                }
                _ => {
                    let steps = steps.iter().map(|(from, to, guard, effect)| {
                        let guard = guard.as_ref().map(|g| format!(" && {g}"));
                        let guard = guard.unwrap_or_default();
                        format!(":: atomic {{ l == {from}{guard} -> l = {to}; {effect} }}")
                    });
                    let steps: Vec<String> = steps.collect();
                    text += &format!(
                        "active proctype P{number}() {{ byte l; do {} od }}\n",
                        steps.join(" ")
                    );
                }
            }
        }
        text
    }
}

/// To a state, where a condition holds.
type ClaimEdge = (usize, Option<Condition>);

/// The states of a claim: whether they are accepting, and their edges.
struct RandomClaim(Vec<(bool, Vec<ClaimEdge>)>);

impl RandomClaim {
    fn random(random: &mut Random) -> Self {
        let states = 2 + random.below(2);
        let state = |random: &mut Random| {
            let edge = |random: &mut Random| {
                let condition = (random.below(3) > 0).then(|| {
                    let depth = random.below(3) as u32;
                    Condition::random(random, depth, false)
                });
                (random.below(states), condition)
            };
            let edges = (0..1 + random.below(3)).map(|_| edge(random)).collect();
            (random.below(3) == 0, edges)
        };
        Self((0..states).map(|_| state(random)).collect())
    }

    fn text(&self, language: Language, total: bool) -> String {
        let words = words(language, total);
        let numbered = || self.0.iter().enumerate();
        match language {
            Language::Dve => {
                let names: Vec<String> = numbered().map(|(at, _)| format!("q{at}")).collect();
                let accepting = numbered().filter(|(_, (accepting, _))| *accepting);
                let accepting: Vec<String> = accepting.map(|(at, _)| format!("q{at}")).collect();
                let accept = match accepting.is_empty() {
                    true => String::new(),
                    false => format!("accept {};", accepting.join(", ")),
                };
                let edges = numbered().flat_map(|(from, (_, edges))| {
                    edges
                        .iter()
                        .map(move |(to, condition)| (from, to, condition))
                });
                let edges = edges.map(|(from, to, condition)| {
                    let guard = condition
                        .as_ref()
                        .map(|c| format!("guard {};", c.text(&words)));
                    format!("q{from} -> q{to} {{ {} }}", guard.unwrap_or_default())
                });
                let edges: Vec<String> = edges.collect();
                format!(
                    "process N {{ state {}; init q0; {accept} trans {}; }}
                     system async property N;",
                    names.join(", "),
                    edges.join(", ")
                )
            }
            _ => {
                let name = |at: usize| match self.0[at].0 {
                    true => format!("accept_q{at}"),
                    false => format!("q{at}"),
                };
                let states = numbered().map(|(at, (_, edges))| {
                    let edges = edges.iter().map(|(to, condition)| {
                        let condition = condition.as_ref().map(|c| c.text(&words));
                        let condition = condition.unwrap_or_else(|| "true".into());
                        format!(":: ({condition}) -> goto {}", name(*to))
                    });
                    let edges: Vec<String> = edges.collect();
                    format!("{}: do {} od", name(at), edges.join(" "))
                });
                let states: Vec<String> = states.collect();
                format!("never {{ {} }}", states.join("; "))
            }
        }
    }
}

/// The states that a system reaches, with their successors; steps that fail are left out.
struct Graph {
    states: Vec<Vec<u32>>,
    values: Vec<Values>,
    successors: Vec<Vec<usize>>,
}

impl Graph {
    fn of(model: &LoadedModel) -> Self {
        let system = model.reference();
        let layout = system.layout();
        let error = system.structure().error_state.as_deref();
        let value = |name: &str, state: &[u32]| {
            let mut fields = layout.fields().iter();
            let field = fields.find(|field| field.name == name);
            field.unwrap_or_else(|| panic!("no {name}")).get(state) as i32
        };
        let mut executor = system.executor();
        let mut graph = Graph {
            states: vec![system.initial_states()],
            values: Vec::new(),
            successors: Vec::new(),
        };
        while graph.successors.len() < graph.states.len() {
            let state = graph.states[graph.successors.len()].clone();
            let mut all = Successors::new(state.len());
            executor.successors(&state, &mut all);
            let mut own = Vec::new();
            for next in all.iter().filter(|s| error != Some(s.state)) {
                let known = graph.states.iter().position(|known| known == next.state);
                own.push(known.unwrap_or(graph.states.len()));
                if known.is_none() {
                    graph.states.push(next.state.to_vec());
                }
            }
            graph.values.push(Values {
                a: value("a", &state),
                b: value("b", &state),
                arr: [0, 1, 2].map(|at| value(&format!("arr[{at}]"), &state)),
            });
            graph.successors.push(own);
        }
        graph
    }

    /// Whether a claim comes to a guard without a value.
    fn fails(&self, claim: &RandomClaim) -> bool {
        let mut seen = HashSet::from([(0, 0)]);
        let mut todo = VecDeque::from([(0, 0)]);
        while let Some((state, at)) = todo.pop_front() {
            for (to, condition) in &claim.0[at].1 {
                let value = match condition {
                    Some(condition) => condition.value(&self.values[state]),
                    None => Some(true),
                };
                match value {
                    None => return true,
                    Some(false) => continue,
                    Some(true) => {}
                }
                let ends = self.successors[state].is_empty();
                let next = self.successors[state].iter().copied();
                for next in next.chain(ends.then_some(state)) {
                    if seen.insert((next, *to)) {
                        todo.push_back((next, *to));
                    }
                }
            }
        }
        false
    }
}

/// The answer must be a violation if an evaluation fails somewhere, and otherwise what it is for
/// the same property without anything that could fail.
fn assert_as_expected(
    what: &str,
    model: &LoadedModel,
    total: &LoadedModel,
    fails: bool,
    random: &mut Random,
    counts: &mut Counts,
) {
    let ways = ways();
    for _ in 0..10 {
        let options = &ways[random.below(ways.len())];
        let what = format!("{what}\n{}", shown(options));
        let plain = CheckOptions {
            reduction: ReductionOptions::none(),
            temporal: TemporalOptions {
                finite_runs: options.temporal.finite_runs,
                weak_fairness: options.temporal.weak_fairness,
                ..TemporalOptions::default()
            },
            ..CheckOptions::default()
        };
        let expected = match fails {
            true => Verdict::Violated,
            false => answer(total, &plain).verdict,
        };
        let found = answer(model, options);
        assert_eq!(found.verdict, expected, "{what}");
        match (&found.failure, fails) {
            (Some(_), true) => assert_failure_is_real(&what, model, &found),
            (Some(_), false) => panic!("{what}: nothing can fail"),
            // A run without any failure may violate the property as well.
            (None, _) => {}
        }
        counts.failures += usize::from(found.failure.is_some());
        counts.holding += usize::from(expected == Verdict::Holds);
        counts.violated += usize::from(expected == Verdict::Violated && !fails);
    }
    let partial = model.temporal().iter().any(|t| !t.evaluations.is_empty());
    counts.proved += usize::from(!fails && !partial);
    assert!(partial || !fails, "{what}");
}

#[derive(Debug, Default)]
struct Counts {
    failures: usize,
    holding: usize,
    violated: usize,
    /// Properties of which it was known from the start that nothing fails.
    proved: usize,
}

impl Counts {
    fn assert_all_kinds(&self) {
        let Self {
            failures,
            holding,
            violated,
            proved,
        } = *self;
        assert!(
            failures > 100 && holding > 100 && violated > 100 && proved > 5,
            "{self:?}"
        );
    }
}

#[test]
fn random_formulas_fail_where_they_have_no_value() {
    run_formulas(0..60);
}

#[test]
#[ignore = "long: many random systems"]
fn random_formulas_fail_where_they_have_no_value_at_length() {
    run_formulas(1_000..1_400);
}

fn run_formulas(seeds: std::ops::Range<u64>) {
    let mut counts = Counts::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let processes = Processes::random(&mut random);
        let language = [Language::Dve, Language::Promela][seed as usize % 2];
        let mut text = processes.text(language);
        if language == Language::Dve {
            text += "system async;";
        }
        let depth = 1 + random.below(3) as u32;
        let formula = Condition::random(&mut random, depth, true);
        // In formulas, operators are the same in all languages.
        let asked = |total| Asked::Formula(formula.text(&words(Language::Promela, total)));
        let model = load(language, &text, &asked(false), Engine::Compiled);
        let total = load(language, &text, &asked(true), Engine::Compiled);
        let graph = Graph::of(&model);
        let fails = graph.values.iter().any(|values| formula.fails(values));
        let what = format!("seed {seed}: {text}\n{:?}", asked(false));
        assert_as_expected(&what, &model, &total, fails, &mut random, &mut counts);
        assert_relations_hold(&what, &model, &graph);
    }
    counts.assert_all_kinds();
}

#[test]
fn random_claims_fail_where_their_guards_have_no_value() {
    run_claims(0..80);
}

#[test]
#[ignore = "long: many random systems"]
fn random_claims_fail_where_their_guards_have_no_value_at_length() {
    run_claims(1_000..1_400);
}

fn run_claims(seeds: std::ops::Range<u64>) {
    let mut counts = Counts::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let processes = Processes::random(&mut random);
        let language = [Language::Dve, Language::Promela][seed as usize % 2];
        let claim = RandomClaim::random(&mut random);
        let text = |total| processes.text(language) + &claim.text(language, total);
        let model = load(language, &text(false), &Asked::Stated, Engine::Compiled);
        let total = load(language, &text(true), &Asked::Stated, Engine::Compiled);
        let graph = Graph::of(&model);
        let what = format!("seed {seed}: {}", text(false));
        let fails = graph.fails(&claim);
        assert_as_expected(&what, &model, &total, fails, &mut random, &mut counts);
        assert_relations_hold(&what, &model, &graph);
    }
    counts.assert_all_kinds();
}

/// Whatever turns a label that something fails is known to: otherwise reductions would lose
/// failures.
fn assert_relations_hold(what: &str, model: &LoadedModel, graph: &Graph) {
    let system = model.reference();
    let mut executor = system.executor();
    let structure = system.structure();
    for level in [
        RelationLevel::Sets,
        RelationLevel::Syntax,
        RelationLevel::Reach,
    ] {
        let relations = system.relations(level);
        for state in &graph.states {
            let mut all = Successors::new(state.len());
            executor.successors(state, &mut all);
            let error = structure.error_state.as_deref();
            for next in all.iter().filter(|s| error != Some(s.state)) {
                for label in structure.label_ids() {
                    let before = executor.label(state, label);
                    let after = executor.label(next.state, label);
                    let known = match after {
                        true => &relations.may_enable.0,
                        false => &relations.may_disable.0,
                    };
                    assert!(
                        before == after || known.contains(label, next.transition),
                        "{what}\n{level:?} {} {}",
                        structure.label(label).text,
                        structure.transition(next.transition).name
                    );
                }
            }
        }
    }
}
