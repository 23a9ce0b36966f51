//! Tables: our figures beside the printed ones.
//!
//! Nothing here is typed in: our figures come from results, the papers' from their files.
//! A figure that is missing says why.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{Comparison, Printed};
use crate::corpus::{Corpus, ModelName};
use crate::experiment::{Column, Configuration, Experiment, Measure, Over, Shape};
use crate::plan::{self, Mode, Row};
use crate::record::{Outcome, Record, Results};
use crate::scores;

/// A table for people.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The experiment.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The paper and its table.
    pub source: Option<String>,
    /// What the paper says about it.
    pub caption: Option<String>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Headings of columns.
    pub headings: Vec<Heading>,
    /// The cells.
    pub rows: Vec<Vec<Cell>>,
    /// Rows without a model, and why.
    pub missing: Vec<(String, String)>,
    /// Our figures against the printed ones.
    pub comparisons: Vec<Comparison>,
    /// Our figures by row and column, less is better.
    pub figures: BTreeMap<(String, String), f64>,
    /// Why figures are missing, and how often.
    pub absent: BTreeMap<String, usize>,
}

/// A heading.
#[derive(Clone, Debug)]
pub struct Heading {
    /// Its text.
    pub title: String,
    /// Whose figures stand below it.
    pub whose: Whose,
}

/// Whose figures a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Nobody's: names.
    Name,
    /// The paper's.
    Paper,
    /// Ours.
    Ours,
    /// Those of another tool, published elsewhere.
    Peer,
}

impl Whose {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Name => "",
            Self::Paper => "paper",
            Self::Ours => "ours",
            Self::Peer => "peer",
        }
    }
}

/// How a figure of ours compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Not at all.
    #[default]
    Plain,
    /// Less than the paper's.
    Better,
    /// The same, as far as it is printed.
    Equal,
    /// More than the paper's.
    Worse,
    /// There is no figure.
    Absent,
}

/// A cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What it shows.
    pub text: String,
    /// What it is sorted by.
    pub sort: Option<f64>,
    /// How it compares.
    pub tone: Tone,
    /// What is said on demand.
    pub hint: String,
}

impl Cell {
    /// Words.
    pub fn words(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A number, shown in some way.
    pub fn number(value: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            sort: Some(value),
            ..Self::default()
        }
    }

    fn absent(reason: &str) -> Self {
        Self {
            text: "–".into(),
            sort: None,
            tone: Tone::Absent,
            hint: reason.to_owned(),
        }
    }
}

/// A figure of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A number; only a lower bound if a limit was reached.
    Number {
        /// The number.
        value: f64,
        /// Whether it would have grown without the limit.
        is_bound: bool,
    },
    /// From the least to the greatest.
    Range(f64, f64),
    /// Words.
    Words(String),
    /// None, because of this.
    Absent(String),
}

/// Looks up results.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// The results.
    pub results: &'a Results,
    /// The models.
    pub corpus: &'a Corpus,
    /// How runs were made.
    pub mode: &'a Mode,
}

impl<'a> Lookup<'a> {
    /// The results of a configuration for a row, by seed.
    pub fn records(&self, configuration: &Configuration, row: &Row) -> Vec<(u32, &'a Record)> {
        let Ok(model) = &row.model else {
            return Vec::new();
        };
        let seeds = 1..=configuration.seeds;
        seeds
            .filter_map(|seed| {
                let words = plan::words(configuration, row, seed, self.mode);
                let key = plan::key(configuration.tool, &words, model);
                Some((seed, self.results.get(&key)?))
            })
            .collect()
    }

    /// Why there is no figure.
    fn reason(&self, experiment: &Experiment, names: &[&str], row: &Row) -> String {
        if let Err(reason) = &row.model {
            return reason.clone();
        }
        for name in names {
            let Some(configuration) = experiment.configuration(name) else {
                continue;
            };
            for (_, record) in self.records(configuration, row) {
                if record.outcome != Outcome::Done {
                    let message = record.message.as_deref().unwrap_or_default();
                    let colon = if message.is_empty() { "" } else { ": " };
                    return format!("{}{colon}{message}", record.outcome.text());
                }
            }
        }
        "not run yet".into()
    }

    /// States of the baseline, by our own run or, where that has not ended, as other tools
    /// have counted.
    fn baseline(&self, experiment: &Experiment, row: &Row, transitions: bool) -> Option<f64> {
        let name = experiment.baseline.as_deref()?;
        let records = self.records(experiment.configuration(name)?, row);
        let done = records.iter().find(|(_, r)| r.outcome == Outcome::Done);
        let own = done.and_then(|(_, r)| if transitions { r.transitions } else { r.states });
        let known = || {
            let model = row.model.as_ref().ok()?;
            self.corpus.states(model).filter(|_| !transitions)
        };
        own.or_else(known).map(|number| number as f64)
    }

    /// The figure of a column in a row.
    pub fn figure(&self, experiment: &Experiment, column: &Column, row: &Row) -> Figure {
        let names = column.configuration.names();
        let configurations = names.iter().filter_map(|n| experiment.configuration(n));
        let mut values: Vec<(f64, bool)> = Vec::new();
        for configuration in configurations {
            for (_, record) in self.records(configuration, row) {
                if column.measure == Measure::Verdict && record.outcome == Outcome::Done {
                    return Figure::Words(verdict_text(record));
                }
                if let Some(value) = self.measured(experiment, column.measure, row, record) {
                    values.push((value, record.outcome.is_limit()));
                }
            }
        }
        // A mean of which some runs have not ended is a bound; a least value is not, if it
        // comes from a run that has.
        let best = values.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((least, least_is_bound)) = best else {
            return Figure::Absent(self.reason(experiment, &names, row));
        };
        match column.over {
            Over::Min => {
                let ended = values.iter().filter(|(_, is_bound)| !is_bound);
                let ended = ended.map(|(value, _)| *value).min_by(f64::total_cmp);
                Figure::Number {
                    value: ended.unwrap_or(least),
                    is_bound: ended.is_none() && least_is_bound,
                }
            }
            Over::Range => {
                let most = values.iter().map(|(value, _)| *value).fold(least, f64::max);
                Figure::Range(least, most)
            }
            Over::Mean => Figure::Number {
                value: values.iter().map(|(v, _)| v).sum::<f64>() / values.len() as f64,
                is_bound: values.iter().any(|(_, is_bound)| *is_bound),
            },
        }
    }

    /// What a measure says about a run; nothing if the run has nothing to say.
    fn measured(
        &self,
        experiment: &Experiment,
        measure: Measure,
        row: &Row,
        record: &Record,
    ) -> Option<f64> {
        let is_done = record.outcome == Outcome::Done;
        if !is_done && !record.outcome.is_limit() {
            return None;
        }
        let states = record.states.map(|n| n as f64);
        let transitions = record.transitions.map(|n| n as f64);
        let cpu = record.cpu_seconds.max(0.001);
        match measure {
            Measure::States => states,
            Measure::Transitions => transitions,
            Measure::StatesPercent => {
                Some(100.0 * states? / self.baseline(experiment, row, false)?)
            }
            Measure::TransitionsPercent => {
                Some(100.0 * transitions? / self.baseline(experiment, row, true)?)
            }
            Measure::Branching => is_done.then_some(transitions? / states?.max(1.0)),
            Measure::StatesPerSecond => Some(states? / cpu),
            Measure::Seconds => is_done.then_some(record.cpu_seconds),
            Measure::Megabytes => Some(record.peak_bytes? as f64 / 1e6),
            Measure::Verdict => None,
        }
    }
}

fn verdict_text(record: &Record) -> String {
    let verdicts = record.verdicts.iter();
    let words: BTreeSet<&str> = verdicts
        .map(|v| {
            v.rsplit_once(": ")
                .map_or(v.as_str(), |(_, verdict)| verdict)
        })
        .collect();
    if words.contains("violated") {
        "CE".into()
    } else if words.len() == 1 && words.contains("holds") {
        "OK".into()
    } else {
        Vec::from_iter(words).join(", ")
    }
}

/// Makes the table of an experiment.
pub fn table(experiment: &Experiment, lookup: Lookup<'_>) -> Table {
    let mut table = Table {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.about("paper").map(|paper| {
            let number = experiment.about("table").unwrap_or_default();
            format!("{paper}. {number}")
        }),
        caption: experiment.about("caption").map(str::to_owned),
        ..Table::default()
    };
    let notes = [experiment.note.as_deref(), experiment.about("note")];
    table.notes = notes.into_iter().flatten().map(str::to_owned).collect();
    match experiment.shape {
        Shape::Models => models(experiment, lookup, &mut table),
        Shape::Sums => sums(experiment, lookup, &mut table),
        Shape::Scores => score_table(experiment, lookup, &mut table),
    }
    table
}

fn printed_cell(experiment: &Experiment, row: &Row, column: &str) -> Printed {
    let text = row.line.and_then(|line| {
        let table = experiment.table.as_ref()?;
        let at = table.header.iter().position(|name| name == column)?;
        table.rows.get(line)?.get(at).cloned()
    });
    Printed::parse(&text.unwrap_or_default())
}

fn paper_cell(printed: &Printed, measure: Measure) -> Cell {
    match printed.value {
        None if printed.text.is_empty() || printed.text == "-" => Cell::absent("not printed"),
        None => Cell::words(&printed.text),
        Some(value) => {
            let mut cell = Cell::number(value, printed.shown(measure));
            if printed.is_doubtful {
                cell.hint = "hard to read in print".into();
            }
            cell
        }
    }
}

/// A number as a measure is written.
pub fn shown(value: f64, measure: Measure) -> String {
    match measure {
        Measure::States | Measure::Transitions | Measure::StatesPerSecond => {
            grouped(value.round() as u64)
        }
        Measure::StatesPercent
        | Measure::TransitionsPercent
        | Measure::Branching
        | Measure::Seconds
        | Measure::Verdict => format!("{value:.2}"),
        Measure::Megabytes => format!("{value:.1}"),
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Our cell; compares it with the printed figure and notes the result.
fn our_cell(
    table: &mut Table,
    label: &str,
    column: &Column,
    figure: &Figure,
    printed: Option<&Printed>,
) -> Cell {
    let measure = column.measure;
    let mut cell = match figure {
        Figure::Number { value, is_bound } => {
            let bound = if *is_bound { "> " } else { "" };
            let mut cell = Cell::number(*value, format!("{bound}{}", shown(*value, measure)));
            if *is_bound {
                cell.hint = "a limit was reached".into();
            }
            cell
        }
        Figure::Range(low, high) => Cell::number(
            *low,
            format!("{}..{}", shown(*low, measure), shown(*high, measure)),
        ),
        Figure::Words(text) => Cell::words(text),
        Figure::Absent(reason) => {
            *table.absent.entry(reason.clone()).or_default() += 1;
            return Cell::absent(reason);
        }
    };
    let value = match figure {
        Figure::Number { value, .. } | Figure::Range(value, _) => *value,
        Figure::Words(_) | Figure::Absent(_) => return cell,
    };
    if !column.is_compared() {
        return cell;
    }
    let place = (label.to_owned(), column.title.clone());
    table.figures.insert(place, value);
    if let Some(comparison) = printed.and_then(|printed| {
        Comparison::of(&table.id, label, &column.title, figure, printed, measure)
    }) {
        cell.tone = comparison.tone();
        table.comparisons.push(comparison);
    }
    cell
}

fn heading(title: &str, whose: Whose) -> Heading {
    Heading {
        title: title.into(),
        whose,
    }
}

/// A row for each model.
fn models(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    table.headings.push(heading("model", Whose::Name));
    for column in &experiment.columns {
        if column.printed.is_some() {
            table.headings.push(heading(&column.title, Whose::Paper));
        }
        if !column.configuration.names().is_empty() {
            table.headings.push(heading(&column.title, Whose::Ours));
        }
    }
    for peer in &experiment.peers {
        table.headings.push(heading(peer, Whose::Peer));
    }
    let peers = lookup.corpus.peers();
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
    }
}

fn peer_cell(experiment: &Experiment, lookup: Lookup<'_>, row: &Row, states: Option<u64>) -> Cell {
    let Some(states) = states else {
        return Cell::absent("no published figure");
    };
    match lookup.baseline(experiment, row, false) {
        None => Cell::number(states as f64, grouped(states)),
        Some(all) => {
            let percent = 100.0 * states as f64 / all;
            Cell::number(percent, format!("{percent:.2}"))
        }
    }
}

/// Results that every configuration has: by model and seed.
type Common = BTreeMap<ModelName, BTreeSet<u32>>;

/// A row for each configuration, with sums over what all configurations have.
fn sums(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    let rows = plan::rows(experiment, lookup.corpus);
    for row in &rows {
        if let Err(reason) = &row.model {
            table.missing.push((row.label.clone(), reason.clone()));
        }
    }
    let done: BTreeMap<&str, BTreeMap<&ModelName, BTreeMap<u32, &Record>>> = experiment
        .configurations
        .iter()
        .map(|configuration| {
            let by_model = rows.iter().filter_map(|row| {
                let model = row.model.as_ref().ok()?;
                let records = lookup.records(configuration, row).into_iter();
                let ended = records.filter(|(_, r)| r.outcome == Outcome::Done);
                Some((model, ended.collect()))
            });
            (configuration.name.as_str(), by_model.collect())
        })
        .collect();
    let has_any = |name: &str| done[name].values().any(|seeds| !seeds.is_empty());
    let common = common(experiment, &done, &has_any);
    let sum = |name: &str, of: &dyn Fn(&Record) -> f64| -> Option<f64> {
        let runs = has_any(name).then(|| done.get(name))??;
        let seeded = experiment.configuration(name)?.seeds > 1;
        let models = common.iter().map(|(model, seeds)| {
            let of_seed = |seed: &u32| {
                let seed = if seeded { *seed } else { 1 };
                runs.get(model)
                    .and_then(|r| r.get(&seed))
                    .map_or(0.0, |r| of(r))
            };
            seeds.iter().map(of_seed).sum::<f64>()
        });
        Some(models.sum())
    };
    let runs: usize = common.values().map(BTreeSet::len).sum();
    table.notes.push(format!(
        "Sums over {runs} runs of each configuration: {} models, those that every configuration \
         has finished.",
        common.len()
    ));
    table.headings.push(heading("configuration", Whose::Name));
    for title in ["states %", "transitions %"] {
        table.headings.push(heading(title, Whose::Paper));
        table.headings.push(heading(title, Whose::Ours));
    }
    table
        .headings
        .push(heading("states (millions)", Whose::Ours));
    table.headings.push(heading("states/ms", Whose::Paper));
    table.headings.push(heading("states/ms", Whose::Ours));
    let states = |r: &Record| r.states.unwrap_or(0) as f64;
    let transitions = |r: &Record| r.transitions.unwrap_or(0) as f64;
    let baseline = experiment.baseline.as_deref().unwrap_or_default();
    let printed = experiment
        .table
        .iter()
        .flat_map(|t| t.records().enumerate());
    let lines: Vec<(String, String, Option<usize>)> = if experiment.table.is_some() {
        printed
            .map(|(line, r)| {
                (
                    r.get("row").into(),
                    r.get("configuration").into(),
                    Some(line),
                )
            })
            .collect()
    } else {
        let all = experiment.configurations.iter();
        all.map(|c| (c.name.clone(), c.name.clone(), None))
            .collect()
    };
    for (label, name, line) in lines {
        let row = Row {
            label: label.clone(),
            model: Err(String::new()),
            extra: Vec::new(),
            line,
        };
        let mut cells = vec![Cell::words(&label)];
        let reason = || {
            let configuration = experiment.configuration(&name);
            let tried = configuration.and_then(|c| {
                let mut all = rows.iter().flat_map(|row| lookup.records(c, row));
                all.find_map(|(_, r)| r.message.clone())
            });
            tried.unwrap_or_else(|| "not run yet".into())
        };
        let of: [(&str, &dyn Fn(&Record) -> f64); 2] =
            [("states%", &states), ("transitions%", &transitions)];
        for (at, (column, of)) in of.into_iter().enumerate() {
            let printed = printed_cell(experiment, &row, column);
            cells.push(paper_cell(&printed, Measure::StatesPercent));
            let share = sum(&name, of).zip(sum(baseline, of));
            let figure = match share.filter(|(_, all)| *all > 0.0) {
                None => Figure::Absent(reason()),
                Some((part, all)) => Figure::Number {
                    value: 100.0 * part / all,
                    is_bound: false,
                },
            };
            let shape = Column {
                title: column.into(),
                configuration: crate::experiment::OneOrMore::None,
                measure: Measure::StatesPercent,
                over: Over::Mean,
                printed: None,
                compare: Some(at == 0),
            };
            cells.push(our_cell(table, &label, &shape, &figure, Some(&printed)));
        }
        let millions = sum(&name, &states).map(|n| n / 1e6);
        cells.push(millions.map_or_else(
            || Cell::absent(&reason()),
            |n| Cell::number(n, format!("{n:.3}")),
        ));
        let printed = printed_cell(experiment, &row, "states/ms");
        cells.push(paper_cell(&printed, Measure::Seconds));
        let speed = sum(&name, &states).zip(sum(&name, &|r| r.cpu_seconds * 1e3));
        let speed = speed
            .filter(|(_, time)| *time > 0.0)
            .map(|(n, time)| n / time);
        cells.push(speed.map_or_else(
            || Cell::absent(&reason()),
            |n| Cell::number(n, format!("{n:.0}")),
        ));
        table.rows.push(cells);
    }
}

fn common(
    experiment: &Experiment,
    done: &BTreeMap<&str, BTreeMap<&ModelName, BTreeMap<u32, &Record>>>,
    has_any: &dyn Fn(&str) -> bool,
) -> Common {
    let mut common = Common::new();
    let used = || {
        experiment
            .configurations
            .iter()
            .filter(|c| has_any(&c.name))
    };
    let models: BTreeSet<&ModelName> = done.values().flat_map(|m| m.keys().copied()).collect();
    for model in models {
        let of = |c: &Configuration| -> BTreeSet<u32> {
            let seeds = done[c.name.as_str()].get(model);
            seeds.map_or_else(BTreeSet::new, |s| s.keys().copied().collect())
        };
        // Configurations without a seed count for every seed.
        if used().any(|c| of(c).is_empty()) {
            continue;
        }
        let seeded = used().filter(|c| c.seeds > 1).map(of);
        let shared = seeded.reduce(|a, b| a.intersection(&b).copied().collect());
        let shared = shared.unwrap_or_else(|| BTreeSet::from([1]));
        if !shared.is_empty() {
            common.insert(model.clone(), shared);
        }
    }
    common
}

/// A row for each model, with scores.
fn score_table(experiment: &Experiment, lookup: Lookup<'_>, table: &mut Table) {
    let fewest_column = Column {
        title: "S_min".into(),
        configuration: crate::experiment::OneOrMore::None,
        measure: Measure::States,
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
