//! Verdicts of the BEEM database (Pelánek, *BEEM: Benchmarks for Explicit Model Checkers*,
//! 2007) for its LTL properties, with and without reduction, by every emptiness check.

use std::collections::BTreeMap;

use stubborn_emptiness::{
    Check, CheckResult, CheckVerdict, CycleProviso, Emptiness, Fitting, ReductionRequest,
    ReductionUse, SteeringMode,
};
use stubborn_reduce::{Algorithm, Config};
use stubborn_system::{RelationLevel, System};

use length::length;
use rows::{Row, corpus, load, load_formula, rows};

use crate::length;
mod products;
mod rows;

fn verdict_of(row: &Row) -> CheckVerdict {
    match row.holds {
        true => CheckVerdict::Holds,
        false => CheckVerdict::Violated,
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
    steering: &'a [SteeringMode],
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
            for (algorithm, proviso, fitting, steering) in matrix.ways() {
                let check = Check {
                    steering,
                    reduction: Some(ReductionRequest {
                        config: Config::new(algorithm),
                        relations: &relations,
                        proviso,
                        fitting,
                    }),
                    ..check.clone()
                };
                let what = format!(
                    "{} {algorithm} {proviso} {fitting:?} {steering:?}",
                    emptiness.name()
                );
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

const STEERING: [SteeringMode; 3] = [SteeringMode::Off, SteeringMode::Mixed, SteeringMode::Only];

impl Matrix<'_> {
    fn ways(&self) -> Vec<(Algorithm, CycleProviso, Fitting, SteeringMode)> {
        let mut ways = Vec::new();
        for algorithm in self.algorithms {
            for proviso in self.provisos {
                let proviso: CycleProviso = proviso.parse().expect("there is such a proviso");
                for fitting in self.fittings {
                    for steering in self.steering {
                        ways.push((*algorithm, proviso, *fitting, *steering));
                    }
                }
            }
        }
        ways
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
            provisos: &["highlink-stab-scan"],
            fittings: &[Fitting::ByState],
            steering: &STEERING,
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: many provisos"]
fn instances_have_their_verdicts_with_many_provisos() {
    check_all(
        0..=3_000 * length(),
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
            steering: &[SteeringMode::Mixed],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: several reductions"]
fn instances_have_their_verdicts_with_several_reductions() {
    check_all(
        0..=3_000 * length(),
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
            steering: &[SteeringMode::Off],
            only_violated: false,
        },
    );
}

#[test]
#[ignore = "long: larger instances"]
fn larger_instances_have_their_verdicts() {
    check_all(
        3_001..=20_000 * length(),
        &Matrix {
            emptiness: &Emptiness::ALL,
            algorithms: &[Algorithm::Beam],
            provisos: &["highlink-stab-scan"],
            fittings: &[Fitting::ByState],
            steering: &[SteeringMode::Mixed],
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
            steering: &[SteeringMode::Mixed],
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
                proviso: CycleProviso::default(),
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
#[ignore = "long: larger instances"]
fn formulas_of_larger_instances_have_their_verdicts() {
    check_formulas(3_001..=20_000 * length());
}
