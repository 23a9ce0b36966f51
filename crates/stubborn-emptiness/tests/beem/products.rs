//! How much smaller reduced products are: the rows whose property holds, one line each.

use stubborn_emptiness::{
    Check, CheckVerdict, CycleProviso, Fitting, ReductionRequest, ReductionUse, SteeringMode,
};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::Limits;
use stubborn_system::{RelationLevel, System};

use super::rows::{corpus, load, rows};
use crate::length::length;

fn measure(largest: u64) {
    let Some(corpus) = corpus() else { return };
    let modes = [SteeringMode::Off, SteeringMode::Mixed, SteeringMode::Only];
    let mut sums = [0.0; 3];
    let mut count = 0;
    for row in rows(&corpus, &(0..=largest)) {
        if !row.holds {
            continue;
        }
        let (model, property) = load(&corpus, &row.file);
        let relations = model.relations(RelationLevel::Reach);
        let limits = Limits {
            states: Some(4_000_000),
            ..Limits::default()
        };
        let full = Check {
            limits,
            ..Check::new(&model, &property)
        };
        let whole = full.run().expect("counterexamples are real");
        if whole.verdict != CheckVerdict::Holds {
            eprintln!("{}: {:?}", row.file, whole.verdict);
            continue;
        }
        let mut line = format!("{} {}", row.file, whole.counts.states);
        for (at, mode) in modes.into_iter().enumerate() {
            let check = Check {
                steering: mode,
                reduction: Some(ReductionRequest {
                    config: Config::new(Algorithm::Beam),
                    relations: &relations,
                    proviso: CycleProviso::default(),
                    fitting: Fitting::ByState,
                }),
                ..full.clone()
            };
            let reduced = check.run().expect("counterexamples are real");
            assert_eq!(
                reduced.verdict,
                CheckVerdict::Holds,
                "{} {mode:?}",
                row.file
            );
            let ratio = reduced.counts.states as f64 / whole.counts.states as f64;
            sums[at] += ratio.ln();
            let why = match &reduced.reduction {
                ReductionUse::On { soundness, .. } => format!("{soundness:?}"),
                ReductionUse::Off(why) => why.to_string(),
            };
            line += &format!(
                "\t{:.1}% ({why}, {} expanded, {:.1} s)",
                ratio * 100.0,
                reduced.counts.expanded_by_proviso,
                reduced.time.as_secs_f64(),
            );
        }
        count += 1;
        eprintln!("{line}");
    }
    for (mode, sum) in modes.iter().zip(sums) {
        let mean = (sum / f64::from(count.max(1))).exp() * 100.0;
        eprintln!("{mode:?}: {mean:.1}% of {count} products, geometric mean");
        assert!(mean < 70.0, "{mode:?}: {mean:.1}%");
    }
}

#[test]
#[ignore = "long: reduced products, row by row"]
fn reduced_products_row_by_row() {
    measure(20_000 * length());
}
