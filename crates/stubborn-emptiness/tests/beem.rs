//! Verdicts of the BEEM database (Pelánek, *BEEM: Benchmarks for Explicit Model Checkers*,
//! 2007) for its LTL properties, with and without reduction, by every emptiness check.

use std::collections::HashMap;
use std::path::PathBuf;

use stubborn_diagnostics::SourceFile;
use stubborn_emptiness::{
    Check, CheckResult, Claim, ClaimEdge, ClaimGuards, Emptiness, Property, Proviso,
    ReductionRequest, ReductionUse, Verdict,
};
use stubborn_ir::Model;
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{RelationLevel, System};

/// A property with a known verdict.
struct Row {
    file: String,
    holds: bool,
    /// States of the system alone.
    states: u64,
}

fn corpus() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let path = std::env::var_os("STUBBORN_CORPUS").map_or_else(|| default.into(), PathBuf::from);
    let path = path.join("beem");
    if !path.is_dir() {
        eprintln!("skipped: there is no corpus at {}", path.display());
        return None;
    }
    Some(path)
}

/// The properties with a verdict, of instances of bearable size, the smallest first.
fn rows(corpus: &std::path::Path, most: u64) -> Vec<Row> {
    let read = |name: &str| std::fs::read_to_string(corpus.join(name)).expect("it is there");
    let sizes = read("EXPECTED.tsv");
    let sizes: HashMap<&str, u64> = sizes
        .lines()
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?, columns.next()?.parse().ok()?))
        })
        .collect();
    let mut rows: Vec<Row> = read("EXPECTED-PROPS.tsv")
        .lines()
        .filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [instance, _, _, "LTL", answer, _, _, file] = columns[..] else {
                return None;
            };
            Some(Row {
                file: file.into(),
                holds: match answer {
                    "yes" => true,
                    "no" => false,
                    _ => return None,
                },
                states: *sizes.get(instance)?,
            })
        })
        .filter(|row| row.states <= most)
        .collect();
    rows.sort_by_key(|row| row.states);
    rows
}

fn load(corpus: &std::path::Path, file: &str) -> (Model, Property) {
    let text = std::fs::read_to_string(corpus.join(file)).expect("it is there");
    let (lowered, messages) = stubborn_dve::compile(&SourceFile::new(file, text));
    let mut lowered = lowered.unwrap_or_else(|| panic!("{file}: {messages:?}"));
    let automaton = lowered
        .automaton()
        .expect("it has a property process")
        .clone();
    let claim = Claim {
        initial: automaton.initial,
        accepting: automaton.accepting,
        edges: automaton
            .edges
            .iter()
            .map(|edge| ClaimEdge {
                source: edge.source,
                target: edge.target,
                guard: edge.guard,
            })
            .collect(),
    };
    let guards = ClaimGuards::new(lowered.program_mut(), &claim);
    let property = Property::from_claim(&claim, guards);
    let model = Model::new(lowered.into_program()).expect("it is small");
    (model, property)
}

fn verdict_of(row: &Row) -> Verdict {
    match row.holds {
        true => Verdict::Holds,
        false => Verdict::Violated,
    }
}

fn check_row(row: &Row, result: &CheckResult, what: &str) {
    assert_eq!(result.verdict, verdict_of(row), "{} {what}", row.file);
    let has_lasso = result.counterexample.is_some();
    assert_eq!(has_lasso, !row.holds, "{} {what}", row.file);
}

#[derive(Default)]
struct Sums {
    agreed: usize,
    on: usize,
    off: HashMap<String, usize>,
    sound: HashMap<String, usize>,
    /// Logarithms of reduced by full product sizes, of properties that hold.
    ratios: Vec<f64>,
}

fn check_all(most: u64, provisos: &[Proviso], algorithms: &[Algorithm]) {
    let Some(corpus) = corpus() else { return };
    let mut sums: HashMap<(Algorithm, Proviso), Sums> = HashMap::new();
    let rows = rows(&corpus, most);
    for row in &rows {
        let (model, property) = load(&corpus, &row.file);
        let relations = model.relations(RelationLevel::Reach);
        let mut full = 0;
        for emptiness in Emptiness::ALL {
            let check = Check {
                emptiness,
                ..Check::new(&model, &property)
            };
            let unreduced = check.run().unwrap_or_else(|e| panic!("{}: {e}", row.file));
            check_row(row, &unreduced, emptiness.name());
            full = unreduced.counts.states;
            for algorithm in algorithms {
                for proviso in provisos {
                    let check = Check {
                        reduction: Some(ReductionRequest {
                            config: Config::new(*algorithm),
                            relations: &relations,
                            proviso: *proviso,
                        }),
                        ..check.clone()
                    };
                    let what = format!("{} {algorithm} {proviso}", emptiness.name());
                    let reduced = check
                        .run()
                        .unwrap_or_else(|e| panic!("{} {what}: {e}", row.file));
                    check_row(row, &reduced, &what);
                    let sum = sums.entry((*algorithm, *proviso)).or_default();
                    sum.agreed += 1;
                    match &reduced.reduction {
                        ReductionUse::On { soundness, .. } => {
                            *sum.sound.entry(format!("{soundness:?}")).or_default() += 1;
                            sum.on += 1;
                        }
                        ReductionUse::Off(why) => {
                            *sum.off.entry(why.to_string()).or_default() += 1;
                        }
                    }
                    if row.holds {
                        if std::env::var_os("BEEM_DETAILS").is_some() {
                            eprintln!(
                                "{} {what}: {} of {full}, {:?} {} {}",
                                row.file,
                                reduced.counts.states,
                                reduced.reduction,
                                unreduced.automaton_states,
                                reduced.automaton_states,
                            );
                        }
                        sum.ratios
                            .push((reduced.counts.states as f64 / full as f64).ln());
                    }
                }
            }
        }
        let _ = full;
    }
    eprintln!("{} rows", rows.len());
    for ((algorithm, proviso), sum) in sums {
        let mean = sum.ratios.iter().sum::<f64>() / sum.ratios.len().max(1) as f64;
        eprintln!(
            "{algorithm} {proviso}: {} verdicts agree, reduced {} {:?}, not {:?}, {:.1}% of the full product where the property holds",
            sum.agreed,
            sum.on,
            sum.sound,
            sum.off,
            mean.exp() * 100.0
        );
    }
}

#[test]
fn small_instances_have_their_verdicts() {
    check_all(3_000, &[Proviso::default()], &[Algorithm::Beam]);
}
