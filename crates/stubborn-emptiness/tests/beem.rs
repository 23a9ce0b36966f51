//! Verdicts of the BEEM database (Pelánek, *BEEM: Benchmarks for Explicit Model Checkers*,
//! 2007) for its LTL properties, with and without reduction, by every emptiness check.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use stubborn_diagnostics::SourceFile;
use stubborn_emptiness::{
    Check, CheckResult, Claim, ClaimEdge, ClaimGuards, Emptiness, Fitting, Property, Proviso,
    ReductionRequest, ReductionUse, Verdict,
};
use stubborn_ir::Model;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::parser::{AnyName, Syntax, parse};
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{RelationLevel, System};

/// A property with a known verdict.
struct Row {
    file: String,
    formula: String,
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
fn rows(corpus: &std::path::Path, sizes_wanted: &std::ops::RangeInclusive<u64>) -> Vec<Row> {
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
            let [instance, _, _, "LTL", answer, _, formula, file] = columns[..] else {
                return None;
            };
            Some(Row {
                file: file.into(),
                formula: formula.into(),
                holds: match answer {
                    "yes" => true,
                    "no" => false,
                    _ => return None,
                },
                states: *sizes.get(instance)?,
            })
        })
        .filter(|row| sizes_wanted.contains(&row.states))
        .collect();
    rows.sort_by_key(|row| row.states);
    rows
}

fn compile(corpus: &std::path::Path, file: &str) -> stubborn_dve::Lowered {
    let text = std::fs::read_to_string(corpus.join(file)).expect("it is there");
    let (lowered, messages) = stubborn_dve::compile(&SourceFile::new(file, text));
    lowered.unwrap_or_else(|| panic!("{file}: {messages:?}"))
}

/// The model with its property process.
fn load(corpus: &std::path::Path, file: &str) -> (Model, Property) {
    let mut lowered = compile(corpus, file);
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

/// What the names in formulas of a family of models mean, as far as that is not computed
/// from parameters.
fn propositions(corpus: &std::path::Path, row: &Row) -> HashMap<String, String> {
    let family = row
        .file
        .trim_start_matches("ltl/")
        .split('.')
        .next()
        .unwrap_or("");
    let text =
        std::fs::read_to_string(corpus.join(format!("xml/{family}.xml"))).unwrap_or_default();
    let inner = |part: &str, tag: &str| {
        let (_, rest) = part.split_once(&format!("<{tag}>"))?;
        let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
        let plain = inner
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        Some(plain.trim().to_owned())
    };
    text.split("<ap>")
        .skip(1)
        .filter_map(|part| Some((inner(part, "ap-name")?, inner(part, "ap-expression")?)))
        .collect()
}

/// The model with the formula as people wrote it; `None` if a name of it is not known.
fn load_formula(corpus: &std::path::Path, row: &Row) -> Option<(Model, Property)> {
    let meanings = propositions(corpus, row);
    let mut formulas = Formulas::new();
    let (formula, _) = parse(&mut formulas, &row.formula, Syntax::Spot, &mut AnyName);
    let formula = formula?;
    let mut lowered = compile(corpus, &row.file);
    let mut labels = Vec::new();
    for name in formulas.names() {
        let text = SourceFile::new(name.clone(), meanings.get(name)?.clone());
        let (expression, _) = stubborn_dve::load_expression(lowered.model(), &text);
        let condition = lowered.condition(&expression?);
        labels.push(lowered.program_mut().label(condition));
    }
    let property = Property::from_formula(formulas, formula, labels, &Default::default()).ok()?;
    let model = Model::new(lowered.into_program()).expect("it is small");
    Some((model, property))
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

/// What to try on each property.
struct Matrix<'a> {
    emptiness: &'a [Emptiness],
    algorithms: &'a [Algorithm],
    provisos: &'a [&'a str],
    fittings: &'a [Fitting],
    /// Only properties that do not hold: violations are found quickly in any product.
    only_violated: bool,
}

/// What came out for one way to reduce.
#[derive(Default)]
struct Sums {
    agreed: usize,
    violated: usize,
    /// How often which argument made the reduction sound, or there was none.
    reasons: BTreeMap<String, usize>,
    walks: u32,
    states: u64,
    /// Logarithms of reduced by full product sizes, of properties that hold and reductions
    /// that were on.
    ratios: Vec<f64>,
}

fn check_all(sizes: std::ops::RangeInclusive<u64>, matrix: &Matrix<'_>) {
    let Some(corpus) = corpus() else { return };
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    let mut full_states = 0;
    let mut rows = rows(&corpus, &sizes);
    rows.retain(|row| !(matrix.only_violated && row.holds));
    for row in &rows {
        let (model, property) = load(&corpus, &row.file);
        let relations = model.relations(RelationLevel::Reach);
        for emptiness in matrix.emptiness {
            let check = Check {
                emptiness: *emptiness,
                ..Check::new(&model, &property)
            };
            let full = check.run().unwrap_or_else(|e| panic!("{}: {e}", row.file));
            check_row(row, &full, emptiness.name());
            full_states += full.counts.states;
            for (algorithm, proviso, fitting) in matrix.ways() {
                let check = Check {
                    reduction: Some(ReductionRequest {
                        config: Config::new(algorithm),
                        relations: &relations,
                        proviso,
                        fitting,
                    }),
                    ..check.clone()
                };
                let what = format!("{} {algorithm} {proviso} {fitting:?}", emptiness.name());
                let reduced = check
                    .run()
                    .unwrap_or_else(|e| panic!("{} {what}: {e}", row.file));
                check_row(row, &reduced, &what);
                sums.entry(what).or_default().add(row, &full, &reduced);
            }
        }
    }
    eprintln!(
        "{} properties; unreduced products have {full_states} states",
        rows.len()
    );
    for (what, sum) in sums {
        let mean = sum.ratios.iter().sum::<f64>() / sum.ratios.len().max(1) as f64;
        eprintln!(
            "{what}: {} verdicts agree ({} violated), {} states, {:.1}% of the full product \
             where the property holds (geometric mean of {}), {:?}, {} walks",
            sum.agreed,
            sum.violated,
            sum.states,
            mean.exp() * 100.0,
            sum.ratios.len(),
            sum.reasons,
            sum.walks,
        );
    }
}

impl Matrix<'_> {
    fn ways(&self) -> impl Iterator<Item = (Algorithm, Proviso, Fitting)> + '_ {
        self.algorithms.iter().flat_map(move |algorithm| {
            self.provisos.iter().flat_map(move |proviso| {
                let proviso: Proviso = proviso.parse().expect("there is such a proviso");
                self.fittings
                    .iter()
                    .map(move |fitting| (*algorithm, proviso, *fitting))
            })
        })
    }
}

impl Sums {
    fn add(&mut self, row: &Row, full: &CheckResult, reduced: &CheckResult) {
        self.agreed += 1;
        self.violated += usize::from(!row.holds);
        self.walks += reduced.walks;
        self.states += reduced.counts.states;
        let (reason, is_on) = match &reduced.reduction {
            ReductionUse::On { soundness, .. } => (format!("{soundness:?}"), true),
            ReductionUse::Off(why) => (why.to_string(), false),
        };
        *self.reasons.entry(reason).or_default() += 1;
        if row.holds && is_on {
            let ratio = reduced.counts.states as f64 / full.counts.states as f64;
            self.ratios.push(ratio.ln());
        }
    }
}

#[test]
fn small_instances_have_their_verdicts() {
    check_all(
        0..=3_000,
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[Algorithm::Beam],
            provisos: &["highlink-stab-scan", "source"],
            fittings: &[Fitting::ByState],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: instances of up to 30,000 states, many provisos"]
fn instances_have_their_verdicts_with_many_provisos() {
    check_all(
        0..=30_000,
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[Algorithm::Beam],
            provisos: &[
                "highlink-stab-scan",
                "highlink-weighted-source-known-scan",
                "highlink-deepest-dest-scan",
                "dead-colored-dest-unknown-scan",
                "colored-dest",
                "weighted-source-known-scan",
                "cond-dest-unknown",
                "cond-source-known",
                "dest",
                "source",
                "closed-set",
            ],
            fittings: &[Fitting::ByState],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: instances of up to 30,000 states, several reductions"]
fn instances_have_their_verdicts_with_several_reductions() {
    check_all(
        0..=30_000,
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[
                Algorithm::Beam,
                Algorithm::Closure,
                Algorithm::Deletion,
                Algorithm::Ample1,
            ],
            provisos: &["highlink-stab-scan"],
            fittings: &[Fitting::ByState, Fitting::Normalise],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: instances of up to 400,000 states"]
fn larger_instances_have_their_verdicts() {
    check_all(
        30_001..=400_000,
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[Algorithm::Beam],
            provisos: &["highlink-stab-scan"],
            fittings: &[Fitting::ByState],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: violations in the largest instances"]
fn violations_in_the_largest_instances_are_found() {
    check_all(
        400_001..=u64::MAX,
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[Algorithm::Beam, Algorithm::Closure],
            provisos: &["highlink-stab-scan"],
            fittings: &[Fitting::ByState],
            only_violated: true,
        },
    );
}

/// The same verdicts from the formulas themselves: parsed, translated, checked.
fn check_formulas(sizes: std::ops::RangeInclusive<u64>) {
    let Some(corpus) = corpus() else { return };
    let (mut checked, mut reduced_rows, mut ratios) = (0, 0, 0.0);
    for row in rows(&corpus, &sizes) {
        let Some((model, property)) = load_formula(&corpus, &row) else {
            continue;
        };
        let relations = model.relations(RelationLevel::Reach);
        let check = Check::new(&model, &property);
        let full = check.run().unwrap_or_else(|e| panic!("{}: {e}", row.file));
        check_row(&row, &full, &row.formula);
        let check = Check {
            reduction: Some(ReductionRequest {
                config: Config::new(Algorithm::Beam),
                relations: &relations,
                proviso: Proviso::default(),
                fitting: Fitting::default(),
            }),
            ..check
        };
        let reduced = check.run().unwrap_or_else(|e| panic!("{}: {e}", row.file));
        check_row(&row, &reduced, &row.formula);
        checked += 1;
        if row.holds {
            reduced_rows += 1;
            ratios += (reduced.counts.states as f64 / full.counts.states as f64).ln();
        }
    }
    let mean = (ratios / f64::from(reduced_rows.max(1))).exp() * 100.0;
    eprintln!("{checked} formulas have their verdicts; reduced to {mean:.1}% where they hold");
    assert!(checked > 10);
}

#[test]
fn formulas_of_small_instances_have_their_verdicts() {
    check_formulas(0..=3_000);
}

#[test]
#[ignore = "long: instances of up to 200,000 states"]
fn formulas_of_larger_instances_have_their_verdicts() {
    check_formulas(3_001..=200_000);
}
