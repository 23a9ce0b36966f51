//! Known verdicts of temporal properties: BEEM's property processes, SPIN's verdicts on `ltl`
//! formulas and never claims, and the Model Checking Contest's LTL formulas; without reduction
//! and with several, by every emptiness check.

use std::collections::HashMap;
use std::path::Path;

use stubborn::emptiness::{Emptiness, FiniteRuns};
use stubborn::ltl::parser::Syntax;
use stubborn::reduce::{Algorithm, Config};
use stubborn::{
    CheckError, CheckOptions, Language, LoadOptions, LoadedModel, Por, ReductionOptions, Temporal,
    TemporalOptions, TemporalText, Verdict, check_temporal, load_file,
};
use stubborn_corpus::folder;

fn table(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("the table is there");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect();
    lines.map(columns).collect()
}

/// How a property is checked.
#[derive(Clone, Copy)]
struct Way {
    reduced: Reduced,
    emptiness: Emptiness,
    threads: usize,
}

/// How it is reduced.
#[derive(Clone, Copy)]
enum Reduced {
    Not,
    By(Algorithm),
    /// If `auto` says so, after this many states.
    After(u64),
}

impl Reduced {
    fn options(self) -> ReductionOptions {
        let (por, patience) = match self {
            Self::Not => (Por::None, 0),
            Self::By(algorithm) => (Por::Chosen(Config::new(algorithm)), 0),
            Self::After(states) => (Por::Auto, states),
        };
        ReductionOptions {
            por,
            patience,
            ..ReductionOptions::default()
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Not => "none",
            Self::By(algorithm) => algorithm.name(),
            Self::After(_) => "auto",
        }
    }
}

const fn way(reduced: Reduced, emptiness: Emptiness, threads: usize) -> Way {
    Way {
        reduced,
        emptiness,
        threads,
    }
}

/// Without reduction and with several, by every emptiness check: components and nested
/// searches, on one thread and on two (shared union-find, CNDFS).
const WAYS: [Way; 10] = [
    way(Reduced::Not, Emptiness::Components, 1),
    way(Reduced::Not, Emptiness::Nested, 1),
    way(Reduced::Not, Emptiness::Components, 2),
    way(Reduced::Not, Emptiness::Nested, 2),
    way(Reduced::By(Algorithm::Beam), Emptiness::Components, 1),
    way(Reduced::By(Algorithm::Deletion), Emptiness::Components, 1),
    way(Reduced::By(Algorithm::Beam), Emptiness::Nested, 1),
    way(Reduced::By(Algorithm::Beam), Emptiness::Components, 2),
    way(Reduced::By(Algorithm::Beam), Emptiness::Nested, 2),
    way(Reduced::After(200), Emptiness::Components, 1),
];

/// What came out, over many properties.
#[derive(Default)]
struct Tally {
    agreed: usize,
    violated: usize,
    reduced: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Checks a property in all ways.
    fn check(
        &mut self,
        model: &mut LoadedModel,
        temporal: &dyn Fn(&LoadedModel) -> Option<Temporal>,
        expected: Verdict,
        finite_runs: FiniteRuns,
    ) {
        for way in WAYS {
            let options = CheckOptions {
                reduction: way.reduced.options(),
                temporal: TemporalOptions {
                    emptiness: way.emptiness,
                    finite_runs,
                    ..TemporalOptions::default()
                },
                threads: way.threads,
                ..CheckOptions::default()
            };
            let answer = loop {
                let Some(property) = temporal(model) else {
                    self.wrong
                        .push(format!("{}: no such property", model.name()));
                    return;
                };
                match check_temporal(model, &[&property], &options) {
                    Err(CheckError::Outgrown) => model.grow().expect("it grows"),
                    Ok(mut answers) => break answers.remove(0),
                    Err(error) => panic!("{}: {error}", model.name()),
                }
            };
            let has_trace = answer.result.is_some_and(|r| r.counterexample.is_some());
            if answer.verdict == expected && has_trace == (expected == Verdict::Violated) {
                self.agreed += 1;
                self.violated += usize::from(has_trace);
                self.reduced += usize::from(answer.reduction != "none");
            } else {
                let (name, found) = (&answer.name, answer.verdict);
                let how = way.reduced.name();
                self.wrong.push(format!(
                    "{} {name}: {expected} expected, {found} by {how}, {}, {} threads",
                    model.name(),
                    way.emptiness.name(),
                    way.threads,
                ));
            }
        }
    }

    fn finish(self, at_least: usize) {
        eprintln!(
            "{} verdicts agree, {} of them violations, {} with reduction",
            self.agreed, self.violated, self.reduced
        );
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        assert!(self.agreed >= at_least, "only {} were checked", self.agreed);
    }
}

fn verdict(holds: bool) -> Verdict {
    match holds {
        true => Verdict::Holds,
        false => Verdict::Violated,
    }
}

/// A property process of BEEM; `sizes` are states of the system.
fn property_processes(sizes: std::ops::RangeInclusive<u64>, at_least: usize) {
    let Some(corpus) = folder("beem") else { return };
    let states: HashMap<String, u64> = table(&corpus.join("EXPECTED.tsv"))
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let mut tally = Tally::default();
    for row in table(&corpus.join("EXPECTED-PROPS.tsv")) {
        let [instance, _, _, kind, answer, _, _, file] = &row[..] else {
            continue;
        };
        let in_range = states.get(instance).is_some_and(|n| sizes.contains(n));
        if kind != "LTL" || !in_range || !["yes", "no"].contains(&answer.as_str()) {
            continue;
        }
        let mut model = load_file(&corpus.join(file), None, &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let first = |model: &LoadedModel| model.temporal().first().cloned();
        let expected = verdict(answer == "yes");
        tally.check(&mut model, &first, expected, FiniteRuns::Stutter);
    }
    tally.finish(at_least);
}

#[test]
fn property_processes_of_small_instances_have_their_verdicts() {
    property_processes(0..=1_500, 60);
}

#[test]
#[ignore = "long: instances of up to 100,000 states"]
fn property_processes_have_their_verdicts() {
    property_processes(1_501..=100_000, 500);
}

/// Formulas and claims of Promela models; `sizes` are states of the system.
fn promela(sizes: std::ops::RangeInclusive<u64>, at_least: usize) {
    let Some(corpus) = folder("promela") else {
        return;
    };
    let mut tally = Tally::default();
    for row in table(&corpus.join("EXPECTED.tsv")) {
        let (file, properties) = (&row[0], row.last().map_or("", String::as_str));
        let states = row.get(2).and_then(|number| number.parse().ok());
        if !states.is_some_and(|number: u64| sizes.contains(&number)) {
            continue;
        }
        for property in properties.split(" ; ") {
            let Some((name, both)) = property.split_once('=') else {
                continue;
            };
            let Some(holds) = spins_answer(both) else {
                continue;
            };
            let mut options = LoadOptions::default();
            options.promela.acceptance = name == "accept";
            let mut finite_runs = FiniteRuns::Stutter;
            if name == "np_" {
                options.temporal.push(TemporalText::Formula {
                    text: "[] <> !np_".into(),
                    syntax: Syntax::Spin,
                });
                finite_runs = FiniteRuns::Ignore;
            }
            let path = corpus.join(file);
            let mut model = load_file(&path, Some(Language::Promela), &options)
                .unwrap_or_else(|error| panic!("{error}"));
            let named = |model: &LoadedModel| {
                let is_it =
                    |t: &&Temporal| t.name == name || name == "np_" && t.name.contains("np_");
                model.temporal().iter().find(is_it).cloned()
            };
            tally.check(&mut model, &named, verdict(holds), finite_runs);
        }
    }
    tally.finish(at_least);
}

/// Whether SPIN says that a property holds, without or with reduction; none if it came to no
/// end, or found another error first.
fn spins_answer(both: &str) -> Option<bool> {
    // Formulas about one state become assertions in SPIN's claims.
    let violated = ["VIOLATED(acc", "VIOLATED(non", "VIOLATED(assert{!( !("];
    both.split('|').find_map(|text| match text {
        text if text.starts_with("holds") => Some(true),
        text if violated.iter().any(|start| text.starts_with(start)) => Some(false),
        _ => None,
    })
}

#[test]
fn small_promela_models_have_spins_verdicts() {
    promela(0..=600, 60);
}

#[test]
#[ignore = "long: models of up to 1,000,000 states"]
fn promela_models_have_spins_verdicts() {
    promela(601..=1_000_000, 50);
}

/// Formulas of the contest for nets of these sizes.
fn contest(sizes: std::ops::RangeInclusive<u64>, at_least: usize) {
    let Some(corpus) = folder("pnml") else { return };
    let mut states: HashMap<String, u64> = HashMap::new();
    let mut answers: HashMap<String, bool> = HashMap::new();
    for row in table(&corpus.join("EXPECTED.tsv")) {
        let [instance, examination, what, value, _] = &row[..] else {
            continue;
        };
        match (examination.as_str(), what.as_str(), value.as_str()) {
            ("StateSpace", "STATES", number) => {
                states.extend(number.parse().ok().map(|n| (instance.clone(), n)));
            }
            (ltl, id, "TRUE" | "FALSE") if ltl.starts_with("LTL") => {
                answers.insert(id.into(), value == "TRUE");
            }
            _ => {}
        }
    }
    let mut instances: Vec<(&String, &u64)> =
        states.iter().filter(|(_, n)| sizes.contains(n)).collect();
    instances.sort();
    let mut tally = Tally::default();
    for (instance, _) in instances {
        let folder = corpus.join(instance);
        for examination in ["LTLCardinality", "LTLFireability"] {
            let file = folder.join(format!("{examination}.xml"));
            let Ok(text) = std::fs::read_to_string(&file) else {
                continue;
            };
            let options = LoadOptions {
                temporal: vec![TemporalText::Contest {
                    name: file.display().to_string(),
                    text,
                }],
                ..LoadOptions::default()
            };
            let mut model = load_file(&folder.join("model.pnml"), None, &options)
                .unwrap_or_else(|error| panic!("{error}"));
            for property in model.temporal().to_vec() {
                let Some(holds) = answers.get(&property.name) else {
                    continue;
                };
                let this = |_: &LoadedModel| Some(property.clone());
                tally.check(&mut model, &this, verdict(*holds), FiniteRuns::Stutter);
            }
        }
    }
    tally.finish(at_least);
}

#[test]
fn formulas_of_small_nets_have_the_contests_verdicts() {
    contest(0..=200, 500);
}

#[test]
#[ignore = "long: nets of up to 100,000 states"]
fn formulas_of_nets_have_the_contests_verdicts() {
    contest(201..=100_000, 2_000);
}

/// A. F. not (not a U (a and X a)), where another tool's reduction hides the violation.
#[test]
fn a_violation_that_a_reduction_has_hidden_elsewhere_is_found() {
    let Some(corpus) = folder("pnml") else { return };
    let folder = corpus.join("Peterson-PT-2");
    let text = std::fs::read_to_string(folder.join("LTLFireability.xml")).expect("it is there");
    let options = LoadOptions {
        temporal: vec![TemporalText::Contest {
            name: "LTLFireability.xml".into(),
            text,
        }],
        ..LoadOptions::default()
    };
    let mut model = load_file(&folder.join("model.pnml"), None, &options).expect("it is right");
    let named = |model: &LoadedModel| {
        let is_it = |t: &&Temporal| t.name == "Peterson-PT-2-LTLFireability-09";
        model.temporal().iter().find(is_it).cloned()
    };
    let mut tally = Tally::default();
    tally.check(&mut model, &named, Verdict::Violated, FiniteRuns::Stutter);
    tally.finish(WAYS.len());
}
