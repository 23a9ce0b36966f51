//! A table with a row for each model.

use super::{
    Cell, Figure, Lookup, Table, Whose, grouped, heading, our_cell, paper_cell, printed_cell, shown,
};
use crate::experiment::{Experiment, Tool};
use crate::plan::{self, Row};
use crate::scores::geometric_mean;

/// A row for each model.
pub(super) fn fill(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    table.headings.push(heading("model", Whose::Name));
    for column in &experiment.columns {
        if column.printed.is_some() {
            table.headings.push(heading(&column.title, Whose::Paper));
        }
        let names = column.configuration.names();
        let mut configurations = names.iter().filter_map(|n| experiment.configuration(n));
        if let Some(first) = configurations.next() {
            let whose = match first.tool {
                Tool::Stubborn => Whose::Ours,
                Tool::Spin | Tool::Rumur => Whose::Peer,
            };
            table.headings.push(heading(&column.title, whose));
        }
    }
    for peer in &experiment.peers {
        table.headings.push(heading(peer, Whose::Peer));
    }
    let peers = lookup.corpus.peers();
    let mut borrowed = Vec::new();
    let mut means: Vec<(&String, String, f64)> = Vec::new();
    for row in plan::rows(experiment, lookup.corpus) {
        let mut cells = vec![Cell::words(&row.label)];
        if let Err(reason) = &row.model {
            table.missing.push((row.label.clone(), reason.clone()));
        }
        for column in &experiment.columns {
            let printed = column.printed.as_ref().map(|name| {
                let printed = printed_cell(experiment, &row, name);
                cells.push(paper_cell(&printed, column.measure));
                printed
            });
            if !column.configuration.names().is_empty() {
                let figure = lookup.figure(experiment, column, &row);
                if let Figure::Number { value, .. } = &figure
                    && column.measure.has_mean()
                {
                    means.push((&column.title, row.label.clone(), *value));
                }
                cells.push(our_cell(
                    table,
                    &row.label,
                    column,
                    &figure,
                    printed.as_ref(),
                ));
            }
        }
        for peer in &experiment.peers {
            let states = row
                .model
                .as_ref()
                .ok()
                .and_then(|m| peers.get(m)?.get(peer));
            cells.push(peer_cell(experiment, lookup, &row, states.copied()));
        }
        table.rows.push(cells);
        let has_figure = table.figures.keys().any(|(label, _)| *label == row.label);
        if has_figure && lookup.is_borrowed(experiment, &row) {
            borrowed.push(row.label);
        }
    }
    for column in &experiment.columns {
        let of_column = means.iter().filter(|(title, ..)| **title == column.title);
        let values: Vec<_> = of_column.collect();
        let (worst, bound) = match column.measure.more_is_better() {
            true => (values.iter().min_by(|a, b| a.2.total_cmp(&b.2)), "least"),
            false => (values.iter().max_by(|a, b| a.2.total_cmp(&b.2)), "most"),
        };
        let Some((_, row, worst)) = worst.filter(|_| values.len() > 2) else {
            continue;
        };
        let mean = geometric_mean(values.iter().map(|(.., value)| *value));
        table.notes.push(format!(
            "{}: {} in the geometric mean of {} rows, {} at {bound} ({row}).",
            column.title,
            shown(mean, column.measure),
            values.len(),
            shown(*worst, column.measure),
        ));
    }
    if !borrowed.is_empty() {
        table.notes.push(format!(
            "Where our own full exploration has not been run or not ended, percentages are of the \
             states that other tools have counted: {}.",
            borrowed.join(", ")
        ));
    }
}

fn peer_cell(experiment: &Experiment, lookup: Lookup<'_>, row: &Row, states: Option<u64>) -> Cell {
    let Some(states) = states else {
        return Cell::absent("no published figure");
    };
    match lookup.baseline(experiment, row) {
        None => Cell::number(states as f64, grouped(states)),
        Some(all) => {
            let percent = 100.0 * states as f64 / all;
            Cell::number(percent, format!("{percent:.2}"))
        }
    }
}
