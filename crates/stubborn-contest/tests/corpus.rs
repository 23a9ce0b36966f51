//! Answers on the nets of the contest are those that the contest agreed on.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stubborn_contest::{Examination, Line, Options, Value, examine, fitting};
use stubborn_diagnostics::SourceFile;
use stubborn_net::ReductionRules;
use stubborn_pnml::{ContestProperty, Model, load, read_properties};
use stubborn_system::Random;
use stubborn_system::budget::UNLIMITED;

/// Expected values by instance and examination, each a list of formula or measure and value.
type Expected = HashMap<(String, String), Vec<(String, String)>>;

fn expected(corpus: &Path) -> Expected {
    let text = std::fs::read_to_string(corpus.join("EXPECTED.tsv")).unwrap();
    let mut expected = Expected::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let key = (cells[0].to_owned(), cells[1].to_owned());
        let value = (cells[2].to_owned(), cells[3].to_owned());
        expected.entry(key).or_default().push(value);
    }
    expected
}

fn source(path: &Path) -> SourceFile {
    SourceFile::new(
        path.display().to_string(),
        std::fs::read_to_string(path).unwrap(),
    )
}

/// The properties of an examination; none if the corpus has not got them.
fn properties(
    folder: &Path,
    examination: Examination,
    model: &Model,
) -> Option<Vec<ContestProperty>> {
    if !examination.has_formulas() {
        return Some(Vec::new());
    }
    let file = folder.join(format!("{examination}.xml"));
    file.is_file()
        .then(|| read_properties(&source(&file), model).0)
}

/// The table of answers numbers the formulas of a file by the order of their ids, which have the
/// year in them where a file has formulas of several.
fn numbered(id: &str, properties: &[ContestProperty], instance: &str, exam: &str) -> String {
    let mut ids: Vec<&str> = properties.iter().map(|p| p.id.as_str()).collect();
    ids.sort_unstable();
    match ids.binary_search(&id) {
        Ok(number) => format!("{instance}-{exam}-{number:02}"),
        Err(_) => id.to_owned(),
    }
}

/// What was answered, by formula or measure.
fn answers(
    instance: &str,
    examination: Examination,
    model: &Model,
    properties: &[ContestProperty],
    options: &Options<'_>,
) -> HashMap<String, String> {
    let mut found = HashMap::new();
    examine(examination, model, properties, options, &mut |line| {
        if let Some((name, value)) = told(line) {
            let name = numbered(&name, properties, instance, examination.name());
            found.insert(name, value);
        }
    });
    found
}

/// The formula or measure that a line answers, and its value.
fn told(line: Line) -> Option<(String, String)> {
    match line {
        Line::Formula { id, value, .. } if value != Value::Unknown => Some((id, value.to_string())),
        Line::StateSpace { measure, value, .. } => {
            let value = value.map_or("inf".to_owned(), |value| value.to_string());
            Some((measure.to_owned(), value))
        }
        Line::Formula { .. } | Line::CannotCompute => None,
    }
}

/// Compares all answers of instances with at most `most` states, computed in several ways.
fn compare(examinations: &[Examination], most: usize, options: &[Options<'_>]) -> usize {
    let Some(corpus) = stubborn_corpus::folder("pnml") else {
        return 0;
    };
    let expected = expected(&corpus);
    let mut instances: Vec<&String> = expected
        .iter()
        .filter(|((_, examination), values)| {
            let states = values.iter().find(|(measure, _)| measure == "STATES");
            let small = |(_, v): &(String, String)| v.parse::<usize>().is_ok_and(|n| n <= most);
            examination == "StateSpace" && states.is_some_and(small)
        })
        .map(|((instance, _), _)| instance)
        .collect();
    instances.sort();
    let mut compared = 0;
    for instance in instances {
        let folder = corpus.join(instance);
        let read = load(&source(&folder.join("model.pnml"))).0.unwrap();
        for examination in examinations {
            let model = fitting(*examination, read.clone(), &UNLIMITED);
            let Some(properties) = properties(&folder, *examination, &model) else {
                continue;
            };
            for (way, options) in options.iter().enumerate() {
                let started = Instant::now();
                let found = answers(instance, *examination, &model, &properties, options);
                let key = (instance.clone(), examination.name().to_owned());
                for (name, value) in &expected[&key] {
                    // Where the contest has no answer, ours is as good as any.
                    let is_known = value != "?" && value != "-1";
                    if let (true, Some(answer)) = (is_known, found.get(name)) {
                        // The table has infinity with and without a sign.
                        let (answer, value) = (
                            answer.trim_start_matches('+'),
                            value.trim_start_matches('+'),
                        );
                        assert_eq!(answer, value, "{instance} {examination} {name} way {way}");
                        compared += 1;
                    }
                }
                let seconds = started.elapsed().as_secs_f64();
                eprintln!("{instance} {examination} way {way}: {seconds:.2} s");
            }
        }
    }
    compared
}

fn within(seconds: u64) -> Options<'static> {
    Options {
        time: Some(Duration::from_secs(seconds)),
        memory: Some(1 << 30),
        ..Options::default()
    }
}

/// One technique at a time, besides plain search.
fn ways(seconds: u64) -> Vec<Options<'static>> {
    let plain = Options {
        stubborn_sets: false,
        structural: ReductionRules::NONE,
        equation: false,
        traps: false,
        walks: false,
        ..within(seconds)
    };
    vec![
        within(seconds),
        plain.clone(),
        Options {
            stubborn_sets: true,
            structural: ReductionRules::WITHOUT_RUNS,
            ..plain.clone()
        },
        Options {
            equation: true,
            ..plain
        },
    ]
}

const ALL: &[Examination] = &[
    Examination::StateSpace,
    Examination::ReachabilityDeadlock,
    Examination::ReachabilityCardinality,
    Examination::ReachabilityFireability,
    Examination::UpperBounds,
    Examination::OneSafe,
    Examination::QuasiLiveness,
    Examination::Liveness,
    Examination::StableMarking,
    Examination::LtlCardinality,
    Examination::LtlFireability,
    Examination::CtlCardinality,
    Examination::CtlFireability,
];

#[test]
fn answers_on_tiny_nets_are_those_of_the_contest() {
    let compared = compare(ALL, 200, &[within(60)]);
    assert!(compared == 0 || compared > 400, "{compared}");
}

#[test]
#[ignore = "long: all examinations of nets of up to 1,500 states, in four ways"]
fn answers_in_several_ways_are_those_of_the_contest() {
    compare(ALL, 1_500, &ways(60));
}

/// Nets without a bound are known as such.
#[test]
fn what_has_no_bound_is_told() {
    let Some(corpus) = stubborn_corpus::folder("pnml") else {
        return;
    };
    let expected = expected(&corpus);
    let mut infinite = 0;
    for (instance, examination) in [
        ("CryptoMiner-COL-D03N000", Examination::UpperBounds),
        ("CryptoMiner-COL-D03N000", Examination::StateSpace),
        ("Planning-PT-none", Examination::StateSpace),
    ] {
        let folder = corpus.join(instance);
        let read = load(&source(&folder.join("model.pnml"))).0.unwrap();
        let model = fitting(examination, read, &UNLIMITED);
        let properties = properties(&folder, examination, &model).unwrap();
        let found = answers(instance, examination, &model, &properties, &within(10));
        for (name, value) in &expected[&(instance.to_owned(), examination.name().to_owned())] {
            if let Some(answer) = found.get(name) {
                let plain = |text: &str| text.trim_start_matches('+').to_owned();
                assert_eq!(
                    plain(answer),
                    plain(value),
                    "{instance} {examination} {name}"
                );
                infinite += usize::from(plain(value) == "inf");
            }
        }
    }
    assert_eq!(infinite, 14);
}

#[test]
#[ignore = "long: CTL on nets of up to 100,000 states"]
fn ctl_answers_are_those_of_the_contest() {
    let both = [Examination::CtlCardinality, Examination::CtlFireability];
    let compared = compare(&both, 100_000, &[within(30)]);
    assert!(compared == 0 || compared > 1_200, "{compared}");
}

#[test]
#[ignore = "long: the state spaces of nets of up to 5 million states"]
fn state_spaces_are_those_of_the_contest() {
    let compared = compare(&[Examination::StateSpace], 5_000_000, &[within(600)]);
    assert!(compared == 0 || compared > 200, "{compared}");
}

/// A whole number that the environment may set.
fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().unwrap())
}

/// How the questions of a sample were answered.
#[derive(Default)]
struct Tally {
    right: usize,
    wrong: usize,
    open: usize,
}

/// `STUBBORN_SAMPLE_SEED` draws other nets and formulas, `STUBBORN_SAMPLE_NETS` so many nets for each
/// examination, `STUBBORN_SAMPLE_FORMULAS` so many formulas of each of their files,
/// `STUBBORN_SAMPLE_SECONDS` is the time for each question, and `STUBBORN_SAMPLE_ONLY` names an
/// examination or a net.
#[test]
#[ignore = "long: a random sample of all questions, with a table of what was answered"]
fn a_sample_of_all_questions_is_answered() {
    let Some(corpus) = stubborn_corpus::folder("pnml") else {
        return;
    };
    let seed = setting("STUBBORN_SAMPLE_SEED", 1);
    let nets = setting("STUBBORN_SAMPLE_NETS", 12) as usize;
    let most = setting("STUBBORN_SAMPLE_FORMULAS", 4) as usize;
    let seconds = setting("STUBBORN_SAMPLE_SECONDS", 4);
    let only = std::env::var("STUBBORN_SAMPLE_ONLY").unwrap_or_default();
    let expected = expected(&corpus);
    let mut wrong = Vec::new();
    let mut table = String::new();
    for examination in ALL {
        let name = examination.name();
        let of_this = expected.keys().filter(|(_, of)| of == name);
        let mut instances: Vec<&String> = of_this.map(|(instance, _)| instance).collect();
        instances.sort();
        let mut random = Random::new(seed ^ *examination as u64);
        random.shuffle(&mut instances);
        instances.truncate(nets);
        let mut tally = Tally::default();
        for instance in instances {
            let folder = corpus.join(instance);
            let mut known = expected[&(instance.clone(), name.to_owned())].clone();
            known.retain(|(_, value)| value != "?" && value != "-1");
            random.shuffle(&mut known);
            if examination.has_formulas() {
                known.truncate(most);
            }
            if !(name.contains(&only) || instance.contains(&only)) {
                continue;
            }
            let started = Instant::now();
            let read = load(&source(&folder.join("model.pnml"))).0.unwrap();
            let model = fitting(*examination, read, &UNLIMITED);
            let Some(all) = properties(&folder, *examination, &model) else {
                continue;
            };
            let number = |p: &ContestProperty| numbered(&p.id, &all, instance, name);
            let asked = |p: &&ContestProperty| known.iter().any(|(id, _)| *id == number(p));
            let (some, names): (Vec<_>, Vec<_>) = all
                .iter()
                .filter(asked)
                .map(|p| (p.clone(), number(p)))
                .unzip();
            let mut options = within(seconds * some.len().max(1) as u64);
            options.memory = Some(2 << 30);
            let mut found = HashMap::new();
            examine(*examination, &model, &some, &options, &mut |line| {
                if let Some((name, value)) = told(line) {
                    let at = some.iter().position(|p| p.id == name);
                    let name = at.map_or(name, |at| names[at].clone());
                    found.insert(name, value);
                }
            });
            let mut open = Vec::new();
            for (id, value) in &known {
                let plain = |text: &str| text.trim_start_matches('+').to_owned();
                match found.get(id) {
                    None => open.push(id),
                    Some(answer) if plain(answer) == plain(value) => tally.right += 1,
                    Some(answer) => {
                        tally.wrong += 1;
                        wrong.push(format!("{instance} {id}: {answer}, not {value}"));
                    }
                }
            }
            tally.open += open.len();
            if !open.is_empty() {
                let seconds = started.elapsed().as_secs_f64();
                eprintln!("{instance} {name}: no answer to {open:?} in {seconds:.1} s");
            }
        }
        let Tally { right, wrong, open } = tally;
        let share = 100.0 * right as f64 / (right + wrong + open).max(1) as f64;
        table += &format!("| {name} | {right} | {wrong} | {open} | {share:.1}% |\n");
    }
    eprintln!("| examination | right | wrong | no answer | |\n| --- | ---: | ---: | ---: | ---: |");
    eprint!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
