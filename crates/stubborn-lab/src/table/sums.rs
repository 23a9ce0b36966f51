//! A table with a row for each configuration, as in the tables of Duret-Lutz et al.,
//! *Heuristics for checking liveness properties with partial order reductions* (2016): sums
//! over all models and seeds.
//!
//! Sums of different runs cannot be compared, so only what every configuration has finished
//! is summed.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cell, Figure, Lookup, Table, Whose, heading, our_cell, paper_cell, printed_cell};
use crate::corpus::ModelName;
use crate::experiment::{Column, Configuration, Experiment, Measure, OneOrMore, Over};
use crate::plan::{self, Row};
use crate::record::{Outcome, Record};

/// Finished runs of a configuration: by model and seed.
type Runs<'a> = BTreeMap<ModelName, BTreeMap<u32, &'a Record>>;

/// What is summed.
struct Sums<'a> {
    experiment: &'a Experiment,
    /// By the names of configurations.
    done: BTreeMap<&'a str, Runs<'a>>,
    /// Seeds that every configuration has finished, by model.
    common: BTreeMap<ModelName, BTreeSet<u32>>,
    /// Whether no model is missing: sums over some of them say nothing about a printed sum.
    is_whole: bool,
}

impl<'a> Sums<'a> {
    fn new(experiment: &'a Experiment, rows: &[Row], lookup: Lookup<'a>) -> Self {
        let done = experiment.configurations.iter().map(|configuration| {
            let runs = rows.iter().filter_map(|row| {
                let model = row.model.as_ref().ok()?;
                let records = lookup.records(configuration, row).into_iter();
                let ended = records.filter(|(_, r)| r.outcome == Outcome::Done);
                let ended: BTreeMap<u32, &Record> = ended.collect();
                (!ended.is_empty()).then(|| (model.clone(), ended))
            });
            (configuration.name.as_str(), runs.collect())
        });
        let mut sums = Self {
            experiment,
            done: done.collect(),
            common: BTreeMap::new(),
            is_whole: false,
        };
        sums.common = sums.common();
        sums.is_whole = sums.common.len() == rows.len();
        sums
    }

    /// A configuration of which nothing has finished (it may not be supported) does not keep
    /// the others from being compared.
    fn has_any(&self, name: &str) -> bool {
        self.done.get(name).is_some_and(|runs| !runs.is_empty())
    }

    fn common(&self) -> BTreeMap<ModelName, BTreeSet<u32>> {
        let configurations = self.experiment.configurations.iter();
        let used: Vec<&Configuration> = configurations.filter(|c| self.has_any(&c.name)).collect();
        let models: BTreeSet<&ModelName> = self.done.values().flat_map(BTreeMap::keys).collect();
        let mut common = BTreeMap::new();
        for model in models {
            let seeds = |c: &Configuration| -> BTreeSet<u32> {
                let runs = self.done[c.name.as_str()].get(model);
                runs.map_or_else(BTreeSet::new, |runs| runs.keys().copied().collect())
            };
            if used.iter().any(|c| seeds(c).is_empty()) {
                continue;
            }
            // Configurations without a seed count for every seed.
            let seeded = used.iter().filter(|c| c.seeds > 1).map(|c| seeds(c));
            let shared = seeded.reduce(|a, b| a.intersection(&b).copied().collect());
            let shared = shared.unwrap_or_else(|| BTreeSet::from([1]));
            if !shared.is_empty() {
                common.insert(model.clone(), shared);
            }
        }
        common
    }

    /// The sum of something over the common runs; none if nothing has finished.
    fn sum(&self, name: &str, of: &dyn Fn(&Record) -> f64) -> Option<f64> {
        let runs = self.done.get(name).filter(|runs| !runs.is_empty())?;
        let is_seeded = self.experiment.configuration(name)?.seeds > 1;
        let mut sum = 0.0;
        for (model, seeds) in &self.common {
            for seed in seeds {
                let seed = if is_seeded { *seed } else { 1 };
                sum += runs.get(model)?.get(&seed).map_or(0.0, |record| of(record));
            }
        }
        Some(sum)
    }

    /// In percent of the baseline.
    fn share(&self, name: &str, of: &dyn Fn(&Record) -> f64) -> Option<f64> {
        let all = self.sum(self.experiment.baseline.as_deref()?, of)?;
        let part = self.sum(name, of)?;
        (all > 0.0).then(|| 100.0 * part / all)
    }
}

/// What of a run is summed.
type Measured = fn(&Record) -> f64;

fn states(record: &Record) -> f64 {
    record.states.unwrap_or(0) as f64
}

fn transitions(record: &Record) -> f64 {
    record.transitions.unwrap_or(0) as f64
}

/// Fills the table.
pub(super) fn fill(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    let rows = plan::rows(experiment, lookup.corpus);
    for row in &rows {
        if let Err(reason) = &row.model {
            table.missing.push((row.label.clone(), reason.clone()));
        }
    }
    let sums = Sums::new(experiment, &rows, lookup);
    let runs: usize = sums.common.values().map(BTreeSet::len).sum();
    table.notes.push(format!(
        "Sums over {runs} runs of each configuration: {} models, those that every configuration \
         has finished.",
        sums.common.len()
    ));
    if !sums.is_whole {
        let all = rows.len();
        table.notes.push(format!(
            "That is not all {all} models, so nothing is compared."
        ));
    }
    table.headings = vec![
        heading("configuration", Whose::Name),
        heading("states %", Whose::Paper),
        heading("states %", Whose::Ours),
        heading("transitions %", Whose::Paper),
        heading("transitions %", Whose::Ours),
        heading("states (millions)", Whose::Ours),
        heading("states/ms", Whose::Paper),
        heading("states/ms", Whose::Ours),
    ];
    for (row, name) in lines(experiment) {
        let reason = reason(experiment, &name, &rows, lookup);
        let cells = cells(&sums, &row, &name, &reason, table);
        table.rows.push(cells);
    }
}

/// The rows of the table and their configurations: as printed, or all.
fn lines(experiment: &Experiment) -> Vec<(Row, String)> {
    let line = |label: &str, name: &str, line| {
        let row = Row {
            label: label.to_owned(),
            model: Err(String::new()),
            extra: Vec::new(),
            line,
        };
        (row, name.to_owned())
    };
    match &experiment.table {
        Some(printed) => {
            let records = printed.records().enumerate();
            let line = |(at, r): (usize, stubborn_corpus::tsv::Row<'_>)| {
                line(r.get("row"), r.get("configuration"), Some(at))
            };
            records.map(line).collect()
        }
        None => {
            let all = experiment.configurations.iter();
            all.map(|c| line(&c.name, &c.name, None)).collect()
        }
    }
}

/// Why a configuration has no figure.
fn reason(experiment: &Experiment, name: &str, rows: &[Row], lookup: Lookup<'_>) -> String {
    let tried = experiment.configuration(name).and_then(|configuration| {
        let mut records = rows
            .iter()
            .flat_map(|row| lookup.records(configuration, row));
        records.find_map(|(_, record)| record.message.clone())
    });
    tried.unwrap_or_else(|| "not run yet".into())
}

fn cells(sums: &Sums<'_>, row: &Row, name: &str, reason: &str, table: &mut Table) -> Vec<Cell> {
    let printed = |column: &str| printed_cell(sums.experiment, row, column);
    let mut cells = vec![Cell::words(&row.label)];
    let measures: [(&str, Measured, bool); 2] = [
        ("states%", states, true),
        ("transitions%", transitions, false),
    ];
    for (title, of, is_compared) in measures {
        let paper = printed(title);
        cells.push(paper_cell(&paper, Measure::StatesPercent));
        let figure = match sums.share(name, &of) {
            None => Figure::Absent(reason.to_owned()),
            Some(value) => Figure::Number {
                value,
                is_bound: false,
            },
        };
        let column = Column {
            title: title.into(),
            configuration: OneOrMore::None,
            measure: Measure::StatesPercent,
            baseline: OneOrMore::None,
            over: Over::Mean,
            printed: None,
            compare: Some(is_compared && sums.is_whole),
        };
        cells.push(our_cell(table, &row.label, &column, &figure, Some(&paper)));
    }
    let or_absent = |cell: Option<Cell>| cell.unwrap_or_else(|| Cell::absent(reason));
    let millions = sums.sum(name, &states).map(|n| n / 1e6);
    cells.push(or_absent(
        millions.map(|n| Cell::number(n, format!("{n:.3}"))),
    ));
    cells.push(paper_cell(&printed("states/ms"), Measure::Seconds));
    let time = sums.sum(name, &|r| r.cpu_seconds * 1e3);
    let speed = sums
        .sum(name, &states)
        .zip(time)
        .filter(|(_, time)| *time > 0.0);
    let speed = speed.map(|(n, time)| n / time);
    cells.push(or_absent(speed.map(|n| Cell::number(n, format!("{n:.0}")))));
    cells
}
