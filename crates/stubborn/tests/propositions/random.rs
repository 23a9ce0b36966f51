//! Random systems of both languages with formulas and claims that are partial, against a plain search
//! of all states.

use super::*;

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
            Element(term, number) if words.total.is_some() => {
                let inside =
                    (0..3).map(|at| format!("({} {and} arr[{at}] == {number})", equal(term, at)));
                let outside = format!("({} > 2)", term.text());
                let outside = Some(outside).filter(|_| words.total == Some(true));
                any(inside.chain(outside).collect())
            }
            Element(term, number) => format!("arr[{}] == {number}", term.text()),
            Quotient(term, number) if words.total.is_some() => {
                let fitting = (1..=LARGEST).filter(|divisor| 6 / divisor == *number);
                let zero = Some(0).filter(|_| words.total == Some(true));
                any(fitting
                    .chain(zero)
                    .map(|divisor| equal(term, divisor))
                    .collect())
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
    /// Without indices and divisors that may be wrong: what has no value is this instead.
    total: Option<bool>,
}

const fn words(language: Language, total: Option<bool>) -> Words {
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

    fn text(&self, language: Language, total: Option<bool>) -> String {
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

/// Where evaluations fail.
enum Fails<'m> {
    /// In no state.
    Nowhere,
    /// Where the property looks.
    Looked,
    /// Somewhere; the same property where what has no value is true.
    Somewhere(&'m LoadedModel),
}

/// The answer must be a violation if an evaluation fails where the property looks, and what it is for the same
/// property without anything that could fail if none does. If the property holds although one fails somewhere, it
/// does so whatever has no value there is.
fn assert_as_expected(
    what: &str,
    model: &LoadedModel,
    total: &LoadedModel,
    fails: Fails<'_>,
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
        let found = answer(model, options);
        let expected = match fails {
            Fails::Looked => Verdict::Violated,
            Fails::Nowhere => answer(total, &plain).verdict,
            Fails::Somewhere(other) => {
                let expected = answer(model, &plain).verdict;
                if expected == Verdict::Holds {
                    assert_eq!(answer(total, &plain).verdict, expected, "{what}");
                    assert_eq!(answer(other, &plain).verdict, expected, "{what}");
                    counts.saved += 1;
                }
                expected
            }
        };
        assert_eq!(found.verdict, expected, "{what}");
        match (&found.failure, &fails) {
            (Some(_), Fails::Nowhere) => panic!("{what}: nothing can fail"),
            (Some(_), _) => assert_failure_is_real(&what, model, &found),
            // A run without any failure may violate the property as well.
            (None, _) => {}
        }
        counts.failures += usize::from(found.failure.is_some());
        counts.holding += usize::from(expected == Verdict::Holds);
        let is_nowhere = matches!(fails, Fails::Nowhere);
        counts.violated += usize::from(expected == Verdict::Violated && is_nowhere);
    }
    let partial = model.temporal().iter().any(|t| !t.evaluations.is_empty());
    let is_nowhere = matches!(fails, Fails::Nowhere);
    counts.proved += usize::from(is_nowhere && !partial);
    assert!(partial || !matches!(fails, Fails::Looked), "{what}");
}

#[derive(Debug, Default)]
struct Counts {
    failures: usize,
    holding: usize,
    violated: usize,
    /// Properties of which it was known from the start that nothing fails.
    proved: usize,
    /// Properties that hold although something fails where they do not look.
    saved: usize,
}

impl Counts {
    fn assert_all_kinds(&self) {
        let Self {
            failures,
            holding,
            violated,
            proved,
            saved: _,
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
        let load = |total| load(language, &text, &asked(total), Engine::Compiled);
        let (model, total, other) = (load(None), load(Some(false)), load(Some(true)));
        let graph = Graph::of(&model);
        let fails = match graph.values.iter().any(|values| formula.fails(values)) {
            true => Fails::Somewhere(&other),
            false => Fails::Nowhere,
        };
        let what = format!("seed {seed}: {text}\n{:?}", asked(None));
        assert_as_expected(&what, &model, &total, fails, &mut random, &mut counts);
        assert_relations_hold(&what, &model, &graph);
    }
    counts.assert_all_kinds();
    assert!(counts.saved > 0, "{counts:?}");
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
        let model = load(language, &text(None), &Asked::Stated, Engine::Compiled);
        let total = text(Some(false));
        let total = load(language, &total, &Asked::Stated, Engine::Compiled);
        let graph = Graph::of(&model);
        let what = format!("seed {seed}: {}", text(None));
        let fails = match graph.fails(&claim) {
            true => Fails::Looked,
            false => Fails::Nowhere,
        };
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
