//! Figures of ours: looked up among results, or the reason why there is none.

use std::collections::BTreeSet;

use crate::corpus::Corpus;
use crate::experiment::{Column, Configuration, Experiment, Measure, Over};
use crate::plan::{self, Mode, Row};
use crate::record::{Outcome, Record, Results};

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
                let key = plan::key(configuration, row, seed, self.mode, model);
                Some((seed, self.results.get(&key)?))
            })
            .collect()
    }

    /// All results of an experiment.
    pub fn all(&self, experiment: &Experiment) -> impl Iterator<Item = &'a Record> {
        let rows = plan::rows(experiment, self.corpus);
        let records = experiment.configurations.iter().flat_map(|configuration| {
            let of_row = |row| self.records(configuration, row);
            rows.iter().flat_map(of_row).collect::<Vec<_>>()
        });
        let records: Vec<_> = records.collect();
        records.into_iter().map(|(_, record)| record)
    }

    /// The first run of a configuration for a row that has ended.
    fn done(&self, configuration: &Configuration, row: &Row) -> Option<&'a Record> {
        let records = self.records(configuration, row).into_iter();
        let mut records = records.map(|(_, record)| record);
        records.find(|record| record.outcome == Outcome::Done)
    }

    /// Why there is no figure.
    pub(super) fn reason(&self, experiment: &Experiment, names: &[&str], row: &Row) -> String {
        if let Err(reason) = &row.model {
            return reason.clone();
        }
        let path = row
            .model
            .as_ref()
            .ok()
            .and_then(|m| self.corpus.path(m).ok());
        for name in names {
            let Some(configuration) = experiment.configuration(name) else {
                continue;
            };
            if path.as_ref().is_some_and(|path| !configuration.suits(path)) {
                return "not for files of this kind".into();
            }
            if !configuration.concerns(&row.label) && names.len() == 1 {
                return "left out: too large for most configurations".into();
            }
            if !configuration.has_cores() && self.records(configuration, row).is_empty() {
                return "not run: the machine has fewer processors".into();
            }
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

    /// States of the experiment's baseline, by our own run or, where that has not ended, as
    /// other tools have counted the model as it is.
    pub(super) fn baseline(&self, experiment: &Experiment, row: &Row) -> Option<f64> {
        self.size(experiment, experiment.baseline.as_deref()?, row, false)
    }

    /// States or transitions of the configuration that percentages are of.
    fn size(
        &self,
        experiment: &Experiment,
        name: &str,
        row: &Row,
        transitions: bool,
    ) -> Option<f64> {
        let done = self.done(experiment.configuration(name)?, row);
        let own = done.and_then(|r| if transitions { r.transitions } else { r.states });
        let known = || {
            let model = row.model.as_ref().ok()?;
            let is_as_it_is = row.extra.is_empty() && !transitions;
            self.corpus.states(model).filter(|_| is_as_it_is)
        };
        own.or_else(known).map(|number| number as f64)
    }

    /// The least that a measure says of finished runs of configurations for a row.
    fn least(
        &self,
        experiment: &Experiment,
        names: &[&str],
        row: &Row,
        measure: impl Fn(&Record) -> Option<f64>,
    ) -> Option<f64> {
        let configurations = names.iter().filter_map(|n| experiment.configuration(n));
        let records = configurations.flat_map(|c| self.records(c, row));
        let done = records.filter(|(_, record)| record.outcome == Outcome::Done);
        let values = done.filter_map(|(_, record)| measure(record));
        values.min_by(f64::total_cmp)
    }

    /// Whether percentages of a row are of a number that other tools have counted.
    pub(super) fn is_borrowed(&self, experiment: &Experiment, row: &Row) -> bool {
        let name = experiment.baseline.as_deref();
        let Some(configuration) = name.and_then(|name| experiment.configuration(name)) else {
            return false;
        };
        let has_own = self.done(configuration, row).is_some();
        !has_own && self.baseline(experiment, row).is_some()
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
                if let Some(value) = self.measured(experiment, column, row, record) {
                    values.push((value, record.was_cut_short()));
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
            Over::Min | Over::Best => {
                let is_most = column.over == Over::Best && column.measure.more_is_better();
                let ended = values.iter().filter(|(_, is_bound)| !is_bound);
                let ended = ended.map(|(value, _)| *value);
                let ended = match is_most {
                    true => ended.max_by(f64::total_cmp),
                    false => ended.min_by(f64::total_cmp),
                };
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
        column: &Column,
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
        let mut whole = column.baseline.names();
        if whole.is_empty() {
            whole.extend(experiment.baseline.as_deref());
        }
        let size = |transitions| self.size(experiment, whole.first()?, row, transitions);
        let least =
            |measure: &dyn Fn(&Record) -> Option<f64>| self.least(experiment, &whole, row, measure);
        match column.measure {
            Measure::States => states,
            Measure::Transitions => transitions,
            Measure::StatesPercent => Some(100.0 * states? / size(false)?),
            Measure::TransitionsPercent => Some(100.0 * transitions? / size(true)?),
            Measure::Branching => is_done.then_some(transitions? / states?.max(1.0)),
            Measure::StatesPerSecond => Some(states? / cpu),
            Measure::Seconds => is_done.then_some(record.cpu_seconds),
            Measure::SecondsPercent
            | Measure::WholeSeconds
            | Measure::WholePercent
            | Measure::ClockSeconds
            | Measure::ClockGain
            | Measure::StateCost
                if !is_done =>
            {
                None
            }
            Measure::SecondsPercent => {
                Some(100.0 * cpu / least(&|r| Some(r.cpu_seconds))?.max(0.001))
            }
            Measure::WholeSeconds => Some(record.whole_seconds()),
            Measure::WholePercent => {
                let other = least(&|r| Some(r.whole_seconds()))?;
                Some(100.0 * record.whole_seconds() / other.max(0.001))
            }
            Measure::Megabytes => Some(record.peak_bytes? as f64 / 1e6),
            Measure::ClockSeconds => record.clock_seconds(),
            Measure::ClockGain => {
                Some(least(&Record::clock_seconds)? / record.clock_seconds()?.max(0.001))
            }
            Measure::StateCost => Some(record.state_seconds()? / least(&Record::state_seconds)?),
            Measure::TableBytes => record.numbers.get("bytes_per_state").copied(),
            Measure::PeakBytes => Some(record.peak_bytes? as f64 / states?.max(1.0)),
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
