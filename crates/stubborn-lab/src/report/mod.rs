//! The report: one page of HTML that needs nothing else, and Markdown for the repository.
//!
//! Everything shown is computed from results and printed tables when the report is made.

pub mod html;
pub mod markdown;
pub mod svg;

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{self, Change};
use crate::experiment::{Experiment, Plot, PlotKind, Tool};
use crate::plan::{self, Mode};
use crate::record::{Outcome, Record};
use crate::scores;
use crate::table::{self, Lookup, Table};
use svg::{Point, Series};

/// All that a report shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// What belongs together, in order.
    pub sections: Vec<Section>,
    /// With weaker relations: their name, and the figures that are worse.
    pub weaker: Option<(String, Vec<Change>)>,
    /// Where, when and by what results were made.
    pub origins: Vec<String>,
    /// Number of results.
    pub results: usize,
}

/// Tables and plots of one paper.
#[derive(Clone, Debug)]
pub struct Section {
    /// `guard-based`.
    pub group: String,
    /// The paper, or what it is about.
    pub title: String,
    /// Tables.
    pub tables: Vec<Table>,
    /// Plots: their table, heading, a name for a file, and the picture.
    pub plots: Vec<Picture>,
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The experiment.
    pub experiment: String,
    /// The heading.
    pub title: String,
    /// For a file.
    pub name: String,
    /// As part of a page.
    pub inline: String,
    /// As a file of its own.
    pub alone: String,
}

impl Report {
    /// Puts everything together.
    pub fn new(experiments: &[&Experiment], lookup: Lookup<'_>, weaker: Option<&str>) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        for experiment in experiments {
            let mut table = table::table(experiment, lookup);
            if experiment.alone {
                table.notes.extend(origins(lookup.all(experiment)));
            }
            let plots = experiment.plots.iter().enumerate();
            let pictures = plots.filter_map(|(at, plot)| picture(experiment, plot, at, lookup));
            let group = experiment.group();
            let at = sections.iter().position(|section| section.group == group);
            let at = at.unwrap_or_else(|| {
                sections.push(Section {
                    group: group.to_owned(),
                    title: experiment
                        .about("paper")
                        .unwrap_or(&experiment.title)
                        .to_owned(),
                    tables: Vec::new(),
                    plots: Vec::new(),
                });
                sections.len() - 1
            });
            sections[at].plots.extend(pictures);
            sections[at].tables.push(table);
        }
        // Experiments come in the order in which they should be run; readers count.
        let number = |id: &str| id.rsplit('/').next().and_then(|n| n.parse::<u32>().ok());
        for section in &mut sections {
            section
                .tables
                .sort_by_key(|table| number(&table.id).unwrap_or(u32::MAX));
        }
        let weaker = weaker.map(|level| {
            let mode = Mode {
                relations: Some(level.to_owned()),
                ..lookup.mode.clone()
            };
            let weak = Lookup {
                mode: &mode,
                ..lookup
            };
            let before = sections.iter().flat_map(|s| s.tables.iter().cloned());
            let before: Vec<Table> = before.collect();
            let after: Vec<Table> = before
                .iter()
                .filter_map(|t| experiments.iter().find(|e| e.id == t.id))
                .map(|e| table::table(e, weak))
                .collect();
            (level.to_owned(), compare::got_worse(&before, &after))
        });
        Self {
            weaker,
            origins: origins(lookup.results.iter()),
            results: lookup.results.len(),
            sections,
        }
    }

    /// All tables.
    pub fn tables(&self) -> Vec<Table> {
        let all = self.sections.iter().flat_map(|section| &section.tables);
        all.cloned().collect()
    }
}

/// Programs and machines, with the number of results of each.
fn origins<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut last = BTreeMap::new();
    for record in records.filter(|r| r.outcome != Outcome::NotInstalled) {
        let commit = match (&record.commit, record.tool == Tool::Stubborn.name()) {
            (Some(commit), true) => format!(" at commit {commit}"),
            _ => String::new(),
        };
        let origin = format!("{}{commit}, on {}", record.version, record.machine);
        *count.entry(origin.clone()).or_default() += 1;
        let latest: &mut String = last.entry(origin).or_default();
        if *latest < record.finished {
            latest.clone_from(&record.finished);
        }
    }
    let mut lines: Vec<(usize, String)> = count
        .into_iter()
        .map(|(origin, n)| {
            (
                n,
                format!("{n} results by {origin}, until {}", last[&origin]),
            )
        })
        .collect();
    lines.sort_by(|a, b| b.cmp(a));
    lines.into_iter().map(|(_, line)| line).collect()
}

/// Draws a plot; none if nothing has run.
fn picture(
    experiment: &Experiment,
    plot: &Plot,
    number: usize,
    lookup: Lookup<'_>,
) -> Option<Picture> {
    let all = experiment.configurations.iter().map(|c| c.name.as_str());
    let names: Vec<&str> = if plot.configurations.is_empty() {
        let is_baseline = |name: &&str| Some(*name) == experiment.baseline.as_deref();
        all.filter(|name| !is_baseline(name)).collect()
    } else {
        plot.configurations.iter().map(String::as_str).collect()
    };
    let draw: Box<dyn Fn(&str) -> String> = match plot.kind {
        PlotKind::Scatter => {
            let series = scatter_series(experiment, &names, lookup)?;
            let title = plot.title.clone();
            Box::new(move |style| {
                svg::scatter(
                    &title,
                    "states without reduction",
                    "states with",
                    &series,
                    style,
                )
            })
        }
        PlotKind::Cactus => {
            let series = cactus_series(experiment, &names, lookup)?;
            let title = plot.title.clone();
            Box::new(move |style| svg::cactus(&title, &series, style))
        }
        PlotKind::Box => {
            let data = standard_scores(experiment, &names, lookup)?;
            let title = plot.title.clone();
            Box::new(move |style| svg::boxes(&title, "standard score", &data, style))
        }
    };
    Some(Picture {
        experiment: experiment.id.clone(),
        title: plot.title.clone(),
        name: format!("{}-{}", experiment.id.replace('/', "-"), number + 1),
        inline: draw(""),
        alone: draw(svg::STYLE),
    })
}

/// The first finished run of each row.
fn finished<'a>(
    experiment: &Experiment,
    name: &str,
    lookup: Lookup<'a>,
) -> Vec<(String, &'a Record)> {
    let Some(configuration) = experiment.configuration(name) else {
        return Vec::new();
    };
    let rows = plan::rows(experiment, lookup.corpus);
    let first = |row: &plan::Row| {
        let records = lookup.records(configuration, row).into_iter();
        let mut done = records.filter(|(_, r)| r.outcome == Outcome::Done);
        done.next().map(|(_, record)| (row.label.clone(), record))
    };
    rows.iter().filter_map(first).collect()
}

fn scatter_series(
    experiment: &Experiment,
    names: &[&str],
    lookup: Lookup<'_>,
) -> Option<Vec<Series>> {
    let full: BTreeMap<String, u64> = finished(experiment, experiment.baseline.as_deref()?, lookup)
        .into_iter()
        .filter_map(|(label, record)| Some((label, record.states?)))
        .collect();
    let series = names.iter().map(|name| {
        let points = finished(experiment, name, lookup)
            .into_iter()
            .filter_map(|(row, record)| {
                let (all, states) = (*full.get(&row)?, record.states?);
                Some(Point {
                    x: all as f64,
                    y: states as f64,
                    label: format!("{row}, {name}: {states} of {all} states"),
                })
            });
        Series {
            name: (*name).to_owned(),
            points: points.collect(),
        }
    });
    let series: Vec<Series> = series.filter(|s| !s.points.is_empty()).collect();
    (!series.is_empty()).then_some(series)
}

fn cactus_series(
    experiment: &Experiment,
    names: &[&str],
    lookup: Lookup<'_>,
) -> Option<Vec<Series>> {
    let series = names.iter().map(|name| {
        let runs = finished(experiment, name, lookup);
        let mut times: Vec<(f64, String)> = runs
            .into_iter()
            .map(|(row, r)| (r.cpu_seconds.max(0.001), row))
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = times
            .into_iter()
            .map(|(y, label)| Point { x: 0.0, y, label });
        Series {
            name: (*name).to_owned(),
            points: points.collect(),
        }
    });
    let series: Vec<Series> = series.filter(|s| !s.points.is_empty()).collect();
    (!series.is_empty()).then_some(series)
}

/// Standard scores of each configuration, the best median first. Only models for which all
/// configurations have results count: others would compare different means.
fn standard_scores(
    experiment: &Experiment,
    names: &[&str],
    lookup: Lookup<'_>,
) -> Option<Vec<(String, Vec<f64>)>> {
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in plan::rows(experiment, lookup.corpus) {
        let runs: Vec<(&str, f64)> = names
            .iter()
            .filter_map(|name| experiment.configuration(name))
            .flat_map(|configuration| {
                let records = lookup.records(configuration, &row).into_iter();
                let done = records.filter(|(_, r)| r.outcome == Outcome::Done);
                done.filter_map(|(_, r)| Some((configuration.name.as_str(), r.states? as f64)))
            })
            .collect();
        let present: BTreeSet<&str> = runs.iter().map(|(name, _)| *name).collect();
        if present.len() < names.len() {
            continue;
        }
        let values: Vec<f64> = runs.iter().map(|(_, states)| *states).collect();
        for ((name, _), score) in runs.iter().zip(scores::standard_scores(&values)) {
            let name = names.iter().find(|n| *n == name)?;
            scores.entry(name).or_default().push(score);
        }
    }
    let mut data: Vec<(String, Vec<f64>)> = scores
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values))
        .collect();
    let median = |values: &[f64]| scores::BoxSummary::of(values).map_or(0.0, |s| s.median);
    data.sort_by(|a, b| median(&a.1).total_cmp(&median(&b.1)));
    (!data.is_empty()).then_some(data)
}
