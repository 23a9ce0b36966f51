//! A table with the score of each configuration for each model (equation 1 of Evangelista,
//! *Experimenting with stubborn sets on Petri nets*, 2023).

use std::collections::BTreeMap;

use super::printed_cell;
use super::{Cell, Figure, Lookup, Table, Whose, grouped, heading, our_cell, paper_cell};
use crate::experiment::{Column, Configuration, Experiment, Measure, OneOrMore, Over};
use crate::plan;
use crate::record::{Outcome, Record};
use crate::scores;

/// A row for each model, with scores.
pub(super) fn fill(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    let fewest_column = Column {
        title: "S_min".into(),
        configuration: OneOrMore::None,
        measure: Measure::States,
        baseline: OneOrMore::None,
        over: Over::Min,
        printed: Some("S_min".into()),
        compare: Some(true),
    };
    table.headings.push(heading("model", Whose::Name));
    table.headings.push(heading("S_min", Whose::Paper));
    table.headings.push(heading("S_min", Whose::Ours));
    for peer in &experiment.peers {
        table.headings.push(heading(peer, Whose::Peer));
    }
    for configuration in &experiment.configurations {
        table
            .headings
            .push(heading(&configuration.name, Whose::Paper));
        table
            .headings
            .push(heading(&configuration.name, Whose::Ours));
    }
    let peers = lookup.corpus.peers();
    let mut totals: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in plan::rows(experiment, lookup.corpus) {
        if let Err(reason) = &row.model {
            table.missing.push((row.label.clone(), reason.clone()));
        }
        let runs: Vec<(&Configuration, Vec<(u32, &Record)>)> = experiment
            .configurations
            .iter()
            .map(|c| (c, lookup.records(c, &row)))
            .collect();
        let ended = |r: &Record| r.states.filter(|_| r.outcome == Outcome::Done);
        let all = runs.iter().flat_map(|(_, records)| records);
        let fewest = all.filter_map(|(_, r)| ended(r)).min();
        let printed = printed_cell(experiment, &row, "S_min");
        let figure = fewest.map_or_else(
            || Figure::Absent(lookup.reason(experiment, &names(experiment), &row)),
            |n| Figure::Number {
                value: n as f64,
                is_bound: false,
            },
        );
        let mut cells = vec![
            Cell::words(&row.label),
            paper_cell(&printed, Measure::States),
        ];
        let is_average = row.model.is_err();
        cells.push(if is_average {
            Cell::absent("see the last row")
        } else {
            our_cell(table, &row.label, &fewest_column, &figure, Some(&printed))
        });
        for peer in &experiment.peers {
            let states = row
                .model
                .as_ref()
                .ok()
                .and_then(|m| peers.get(m)?.get(peer));
            cells.push(states.map_or_else(
                || Cell::absent("no published figure"),
                |n| Cell::number(*n as f64, grouped(*n)),
            ));
        }
        for (configuration, records) in &runs {
            let printed = printed_cell(experiment, &row, &configuration.name);
            cells.push(paper_cell(&printed, Measure::Megabytes));
            let tried: Vec<Option<u64>> = records
                .iter()
                .filter(|(_, r)| r.outcome == Outcome::Done || r.outcome.is_limit())
                .map(|(_, r)| ended(r))
                .collect();
            match fewest.filter(|_| !tried.is_empty()) {
                None => {
                    let reason = lookup.reason(experiment, &[&configuration.name], &row);
                    cells.push(Cell::absent(&reason));
                }
                Some(fewest) => {
                    let score = scores::state_score(fewest, &tried);
                    totals.entry(&configuration.name).or_default().push(score);
                    let mut cell = Cell::number(score, format!("{score:.1}"));
                    cell.hint = format!("{} runs", tried.len());
                    cells.push(cell);
                }
            }
        }
        table.rows.push(cells);
    }
    average_row(experiment, table, &totals);
}

fn average_row(experiment: &Experiment, table: &mut Table, totals: &BTreeMap<&str, Vec<f64>>) {
    let most = totals.values().map(Vec::len).max().unwrap_or(0);
    let mut cells = vec![Cell::words(format!("our average over {most} instances"))];
    cells.resize_with(3 + experiment.peers.len(), || Cell::words(""));
    for configuration in &experiment.configurations {
        cells.push(Cell::words(""));
        let scores = totals.get(configuration.name.as_str());
        cells.push(match scores {
            None => Cell::absent("no run has ended"),
            Some(scores) => {
                let mean = scores.iter().sum::<f64>() / scores.len() as f64;
                Cell::number(mean, format!("{mean:.1}"))
            }
        });
    }
    table.rows.push(cells);
}

fn names(experiment: &Experiment) -> Vec<&str> {
    let all = experiment.configurations.iter();
    all.map(|c| c.name.as_str()).collect()
}
