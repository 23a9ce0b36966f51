//! Table 5 of Laarman, Pater, van de Pol, Hansen, *Guard-based partial-order reduction* (2014):
//! states left by a deadlock-preserving reduction, in percent of the full state space, beside
//! what `beam` and `deletion` leave here. Needs the corpus, whose table has the paper's figures.
//! The long test prints the table that `docs/reduction-experiments.md` has:
//! `cargo test -p stubborn --test guard_based -- --ignored --nocapture`

#[path = "common/corpus.rs"]
mod corpus;

use stubborn::reduce::validate::explore::explore;
use stubborn::reduce::{Aim, Algorithm, Config, Plan, Proviso, StubbornReduction};
use stubborn::system::{RelationLevel, Relations, System};

/// A row of the paper's table, in percent.
struct Row {
    instance: String,
    states: usize,
    ample: f64,
    beam: f64,
}

fn rows() -> Option<Vec<Row>> {
    let root = stubborn_corpus::folder("")?;
    let table = std::fs::read_to_string(root.join("beem/PEER-POR.tsv")).expect("the table");
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        Some(Row {
            instance: columns[0].to_owned(),
            states: columns[1].parse().ok()?,
            ample: columns[11].parse().ok()?,
            beam: columns[12].parse().ok()?,
        })
    };
    let mut rows: Vec<Row> = table.lines().filter_map(row).collect();
    rows.sort_by_key(|row| row.states);
    Some(rows)
}

fn percent(system: &dyn System, relations: &Relations, algorithm: Algorithm, full: usize) -> f64 {
    let plan = Plan::new(&Config::new(algorithm), Aim::Deadlocks).expect("it is allowed");
    let reduction = StubbornReduction::new(system, relations, plan).expect("relations fit");
    let found = explore(system, Some(&reduction), Proviso::None, &[], usize::MAX);
    100.0 * found.states.len() as f64 / full as f64
}

/// Compares the rows with at most so many states: how many there are, how many are within a
/// point of the paper's beam search, and how many at or below the better of both columns.
fn compare(most: usize) -> Option<(usize, usize, usize)> {
    let root = stubborn_corpus::folder("")?;
    let (mut count, mut reached, mut best) = (0, 0, 0);
    eprintln!("| instance | states | AMPLE | Beam | beam, exact | beam, reach | deletion, reach |");
    eprintln!("| --- | --: | --: | --: | --: | --: | --: |");
    for row in rows()?.iter().filter(|row| row.states <= most) {
        let model = corpus::load(&root.join(format!("beem/models/{}.dve", row.instance)));
        let system = model.system();
        let exact = system.relations(RelationLevel::Exact);
        let reach = system.relations(RelationLevel::Reach);
        let [weaker, beam, deletion] = [
            (&exact, Algorithm::Beam),
            (&reach, Algorithm::Beam),
            (&reach, Algorithm::Deletion),
        ]
        .map(|(relations, algorithm)| percent(system, relations, algorithm, row.states));
        eprintln!(
            "| {} | {} | {} | {} | {weaker:.2} | {beam:.2} | {deletion:.2} |",
            row.instance, row.states, row.ample, row.beam
        );
        count += 1;
        // The paper has whole percentages.
        reached += usize::from(beam <= row.beam + 1.0);
        best += usize::from(beam.min(deletion) <= row.ample.min(row.beam) + 0.5);
    }
    eprintln!(
        "{count} rows: {reached} within a point of Beam, {best} as good as the better column"
    );
    Some((count, reached, best))
}

#[test]
fn small_rows_reach_the_paper() {
    let Some((count, reached, _)) = compare(4_000) else {
        return;
    };
    assert!(count >= 8, "{count} rows");
    assert_eq!(reached, count);
}

#[test]
#[ignore = "long: a minute, the table of a paper"]
fn all_rows_reach_the_paper() {
    let Some((count, reached, best)) = compare(usize::MAX) else {
        return;
    };
    assert!(count >= 44, "{count} rows");
    assert!(reached >= 41, "{reached} rows");
    assert!(best >= 30, "{best} rows");
}
