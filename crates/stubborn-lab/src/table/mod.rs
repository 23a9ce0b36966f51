//! Tables: our figures beside the printed ones.
//!
//! Nothing here is typed in: our figures come from results, the papers' from their files.
//! A figure that is missing says why.

mod figure;
mod models;
mod scores;
mod sums;

use std::collections::BTreeMap;

use crate::compare::{Comparison, Printed};
use crate::experiment::{Column, Experiment, Measure, Shape};
use crate::plan::Row;
pub use figure::{Figure, Lookup};

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
        Shape::Models => models::fill(experiment, lookup, &mut table),
        Shape::Sums => sums::fill(experiment, lookup, &mut table),
        Shape::Scores => scores::fill(experiment, lookup, &mut table),
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
        | Measure::SecondsPercent
        | Measure::WholeSeconds
        | Measure::WholePercent
        | Measure::ClockSeconds
        | Measure::ClockGain
        | Measure::StateCost
        | Measure::Verdict => format!("{value:.2}"),
        Measure::Megabytes | Measure::TableBytes | Measure::PeakBytes => format!("{value:.1}"),
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
