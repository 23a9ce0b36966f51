//! State spaces of the BEEM instances against the published and confirmed figures: states,
//! transitions with multiplicity, deadlocks, breadth-first levels.

use crate::support;

use stubborn_ir::Model;
use support::explore::explore;

/// One line of the table of expected figures; `None` where a figure is not known.
struct Expected {
    instance: String,
    states: usize,
    transitions: Option<usize>,
    deadlocks: Option<usize>,
    levels: Option<usize>,
}

fn expected(beem: &std::path::Path) -> Vec<Expected> {
    let table = std::fs::read_to_string(beem.join("EXPECTED.tsv")).expect("the table is there");
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        Some(Expected {
            instance: columns[0].to_owned(),
            states: columns[1].parse().ok()?,
            transitions: columns[2].parse().ok(),
            deadlocks: columns[3].parse().ok(),
            levels: columns[4].parse().ok(),
        })
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// Explores all instances whose number of states is in the range.
fn compare(from: usize, to: usize) {
    let Some(beem) = support::beem() else { return };
    let mut rows = expected(&beem);
    rows.retain(|row| (from..to).contains(&row.states));
    rows.sort_by_key(|row| row.states);
    assert!(!rows.is_empty());
    let mut failures = Vec::new();
    for row in &rows {
        let source = support::read(&beem.join(format!("models/{}.dve", row.instance)));
        let program = support::lowered(&source).into_program();
        let model = Model::new(program).expect("the program is well-formed");
        let Some(counts) = explore(&model, &[], 2 * row.states + 1000) else {
            failures.push(format!("{}: more than twice the states", row.instance));
            continue;
        };
        let agrees = counts.states == row.states
            && row.transitions.is_none_or(|n| n == counts.transitions)
            && row.deadlocks.is_none_or(|n| n == counts.deadlocks)
            && row.levels.is_none_or(|n| n == counts.levels);
        if !agrees {
            failures.push(format!(
                "{}: {counts:?}, not {} {:?} {:?} {:?}",
                row.instance, row.states, row.transitions, row.deadlocks, row.levels
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        rows.len(),
        failures.join("\n")
    );
    eprintln!("{} instances agree", rows.len());
}

#[test]
fn instances_up_to_20_000_states() {
    compare(0, 20_000);
}

#[test]
#[ignore = "long: some 40 instances of up to 130,000 states"]
fn instances_up_to_130_000_states() {
    compare(20_000, 130_000);
}

#[test]
#[ignore = "long: minutes, instances of up to 1,100,000 states"]
fn instances_up_to_1_100_000_states() {
    compare(130_000, 1_100_000);
}

#[test]
#[ignore = "long: a minute and 2 GB; the overflow test of the benchmark"]
fn resistance_ends_in_the_error_state() {
    let Some(beem) = support::beem() else { return };
    let source = support::read(&beem.join("models/resistance.1.dve"));
    let model = Model::new(support::lowered(&source).into_program()).expect("it is well-formed");
    let counts = explore(&model, &[], usize::MAX).expect("there is no limit");
    assert_eq!((counts.states, counts.transitions), (8_183_469, 20_229_531));
    assert_eq!(
        (counts.deadlocks, counts.levels, counts.errors),
        (1, 33_804, 1)
    );
}
