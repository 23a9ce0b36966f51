//! Experiments: small files that say which models, how, how often, and what to compare.
//!
//! A file in `experiments/` is one table of one paper (or one of our own):
//!
//! ```toml
//! title = "Reduction of BEEM models for deadlocks"
//! printed = "guard-based-5"        # papers/guard-based-5.tsv: rows, models, printed figures
//! baseline = "full"                # what percentages are of
//! limits = { seconds = 60, memory = "2G" }
//! quick = { max_states = 100000, seeds = 2, seconds = 5 }
//!
//! [[configuration]]
//! name = "full"
//! run = "explore --por none"
//!
//! [[configuration]]
//! name = "beam"
//! run = "explore --por beam --seed {seed}"
//! seeds = 5
//!
//! [[column]]
//! title = "beam"
//! configuration = "beam"
//! measure = "states%"
//! printed = "beam+h+d"             # the column of the printed table
//! ```
//!
//! In `run`, `{seed}` stands for the number of the run, and `{extra}` for what the printed
//! table's column `extra` says of the model. A configuration may `prepare` a file that `run`
//! reads as `{file}`; there, too, `{extra}` is what the table says.

use std::path::Path;

use serde::Deserialize;

use stubborn_corpus::tsv::Tsv;

/// What is wrong with an experiment's file.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// It is not as the format wants it.
    #[error("experiment `{id}`: {message}")]
    Wrong {
        /// Which experiment.
        id: String,
        /// What is wrong.
        message: String,
    },
    /// There is none of this name.
    #[error("there is no experiment `{0}`; `stubborn lab list` names them")]
    Unknown(String),
}

/// An experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `guard-based/5`: from the file's name, not its text.
    #[serde(skip)]
    pub id: String,
    /// One line that says what it shows.
    pub title: String,
    /// The name of the printed table in `papers/`, if it has one.
    pub printed: Option<String>,
    /// What a reader must know.
    #[serde(default)]
    pub note: Option<String>,
    /// How results become a table.
    #[serde(default)]
    pub shape: Shape,
    /// Models, where the printed table does not name them: `suite:name`, or the name of a
    /// list of the corpus, `list:beem/PAPER004.tsv`.
    #[serde(default)]
    pub models: Vec<String>,
    /// The configuration that percentages are of.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Limits of each run.
    #[serde(default)]
    pub limits: LimitsText,
    /// Runs are made one at a time, and the page says on which machine: its times are what it is
    /// about. (Not in quick mode.)
    #[serde(default)]
    pub alone: bool,
    /// Models with more states are left out (where the number is known).
    #[serde(default)]
    pub max_states: Option<u64>,
    /// What quick mode does with less.
    #[serde(default)]
    pub quick: Quick,
    /// How models are run.
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
    /// What the table shows.
    #[serde(default, rename = "column")]
    pub columns: Vec<Column>,
    /// Published figures of other tools to show beside ours, by the names that the corpus'
    /// tables give.
    #[serde(default)]
    pub peers: Vec<String>,
    /// What is plotted.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
    /// The printed table.
    #[serde(skip)]
    pub table: Option<Tsv>,
}

/// How results become a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A row for each model, a column for each measure.
    #[default]
    Models,
    /// A row for each configuration, with sums over all models and seeds.
    Sums,
    /// A row for each model, with the score of equation 1 of Evangelista's paper for each
    /// configuration.
    Scores,
}

/// Limits as people write them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsText {
    /// Seconds of processor time.
    pub seconds: f64,
    /// Such as `2G`.
    pub memory: String,
}

impl Default for LimitsText {
    fn default() -> Self {
        Self {
            seconds: 60.0,
            memory: "2G".into(),
        }
    }
}

impl LimitsText {
    /// The limit on memory in bytes.
    pub fn bytes(&self) -> Option<u64> {
        let digits = self.memory.trim_end_matches(|c: char| !c.is_ascii_digit());
        let shift = match self.memory[digits.len()..].to_ascii_uppercase().as_str() {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(1 << shift)
    }
}

/// What quick mode does with less.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// Leave out models with more states.
    pub max_states: u64,
    /// At most so many seeds.
    pub seeds: u32,
    /// Seconds of processor time for each run.
    pub seconds: f64,
    /// If given, these rows and no others, however large their models are.
    pub rows: Vec<String>,
    /// Leave out the experiment.
    pub skip: bool,
}

impl Default for Quick {
    fn default() -> Self {
        Self {
            max_states: 50_000,
            seeds: 2,
            seconds: 5.0,
            rows: Vec::new(),
            skip: false,
        }
    }
}

/// A way to run a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Its name in this experiment.
    pub name: String,
    /// The command line without the model.
    pub run: Words,
    /// A command line that comes first and writes `{file}`, which `run` then reads. Its time
    /// does not count.
    #[serde(default)]
    pub prepare: Option<Words>,
    /// Number of seeds, for runs with `{seed}`; others are made so many times.
    #[serde(default = "one")]
    pub seeds: u32,
    /// Which program runs.
    #[serde(default)]
    pub tool: Tool,
    /// Left out in quick mode.
    #[serde(default)]
    pub full_only: bool,
    /// Only for models whose files end so, such as `["pml", "prm"]`.
    #[serde(default)]
    pub endings: Vec<String>,
    /// If given, only for these rows: large models need some configurations, not all.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Only on machines with at least so many processors.
    #[serde(default)]
    pub cores: usize,
    /// Seconds of processor time, where the experiment's are too few or too many.
    #[serde(default)]
    pub seconds: Option<f64>,
}

fn one() -> u32 {
    1
}

impl Configuration {
    /// Whether it is meant for a model's file.
    pub fn suits(&self, path: &Path) -> bool {
        let ending = path.extension().unwrap_or_default();
        self.endings.is_empty() || self.endings.iter().any(|e| ending == e.as_str())
    }

    /// Whether a run depends on its number.
    pub fn has_seed(&self) -> bool {
        let words = [Some(&self.run), self.prepare.as_ref()];
        let words = words.into_iter().flatten().flat_map(Words::words);
        words.into_iter().any(|word| word.contains("{seed}"))
    }

    /// Whether this machine has the processors that it needs.
    pub fn has_cores(&self) -> bool {
        std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= self.cores)
    }

    /// Whether it is meant for a row.
    pub fn concerns(&self, label: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|row| row == label)
    }
}

/// Words of a command line: one text to be split at spaces, or a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// Split at spaces.
    Text(String),
    /// As they are.
    List(Vec<String>),
}

impl Words {
    /// The words.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            Self::List(words) => words.clone(),
        }
    }
}

/// Which program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// This one.
    #[default]
    Stubborn,
    /// SPIN, where it is installed.
    Spin,
    /// Rumur, where it is installed.
    Rumur,
}

impl Tool {
    /// Its name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stubborn => "stubborn",
            Self::Spin => "spin",
            Self::Rumur => "rumur",
        }
    }
}

/// A column of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its heading.
    pub title: String,
    /// Whose runs: one configuration, or several of which `over` takes one.
    #[serde(default)]
    pub configuration: OneOrMore,
    /// What of them.
    #[serde(default)]
    pub measure: Measure,
    /// What of several runs.
    #[serde(default)]
    pub over: Over,
    /// What it is relative to, where that is not the experiment's baseline; the best of several.
    #[serde(default)]
    pub baseline: OneOrMore,
    /// The column of the printed table that it stands beside.
    #[serde(default)]
    pub printed: Option<String>,
    /// Whether a comparison means something: times of other machines do not.
    #[serde(default)]
    pub compare: Option<bool>,
}

impl Column {
    /// Whether ours being worse than the paper's is something to report.
    pub fn is_compared(&self) -> bool {
        self.compare.unwrap_or(!matches!(
            self.measure,
            Measure::StatesPerSecond
                | Measure::Seconds
                | Measure::SecondsPercent
                | Measure::WholeSeconds
                | Measure::WholePercent
                | Measure::ClockSeconds
                | Measure::ClockGain
                | Measure::StateCost
                | Measure::Megabytes
                | Measure::Branching
        ))
    }
}

/// One name, or several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    /// No name: the column shows the paper's figure alone.
    #[default]
    None,
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl OneOrMore {
    /// The names.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::None => Vec::new(),
            Self::One(name) => vec![name],
            Self::More(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

/// What of a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Measure {
    /// States.
    #[default]
    #[serde(rename = "states")]
    States,
    /// Transitions.
    #[serde(rename = "transitions")]
    Transitions,
    /// States in percent of the baseline's.
    #[serde(rename = "states%")]
    StatesPercent,
    /// Transitions in percent of the baseline's.
    #[serde(rename = "transitions%")]
    TransitionsPercent,
    /// Transitions for each state.
    #[serde(rename = "branching")]
    Branching,
    /// States for each second of processor time.
    #[serde(rename = "states/s")]
    StatesPerSecond,
    /// Seconds of processor time.
    #[serde(rename = "seconds")]
    Seconds,
    /// Seconds of processor time in percent of the baseline's.
    #[serde(rename = "seconds%")]
    SecondsPercent,
    /// Seconds of processor time, and of making and compiling a program for peers.
    #[serde(rename = "whole")]
    WholeSeconds,
    /// The same in percent of the baseline's.
    #[serde(rename = "whole%")]
    WholePercent,
    /// Memory.
    #[serde(rename = "MB")]
    Megabytes,
    /// Seconds by the clock, without loading.
    #[serde(rename = "clock")]
    ClockSeconds,
    /// How many times as fast as the baseline by the clock, without loading.
    #[serde(rename = "clock gain")]
    ClockGain,
    /// Processor time for each state, without loading, relative to the baseline's.
    #[serde(rename = "cost/state")]
    StateCost,
    /// Bytes of the table for each state, with its free space.
    #[serde(rename = "B/state")]
    TableBytes,
    /// Bytes of the whole process at its peak for each state.
    #[serde(rename = "peak B/state")]
    PeakBytes,
    /// The verdict, as text.
    #[serde(rename = "verdict")]
    Verdict,
}

impl Measure {
    /// Whether the mean over all models says something.
    pub fn has_mean(self) -> bool {
        matches!(
            self,
            Self::SecondsPercent
                | Self::WholePercent
                | Self::ClockGain
                | Self::StateCost
                | Self::StatesPerSecond
                | Self::TableBytes
                | Self::PeakBytes
        )
    }

    /// Whether more is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::StatesPerSecond | Self::ClockGain)
    }
}

/// What of several runs is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// The mean of them.
    #[default]
    Mean,
    /// The least.
    Min,
    /// The least, or the greatest where more is better.
    Best,
    /// From the least to the greatest.
    Range,
}

/// A plot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// What it looks like.
    pub kind: PlotKind,
    /// Its heading.
    pub title: String,
    /// Which configurations; all but the baseline by default.
    #[serde(default)]
    pub configurations: Vec<String>,
}

/// What a plot looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlotKind {
    /// A point for each model: states of the baseline against states of a configuration.
    Scatter,
    /// A box for each configuration: standard scores of states over models.
    Box,
    /// A line for each configuration: how many models within how much time.
    Cactus,
}

impl Experiment {
    /// Reads an experiment. `printed` finds printed tables by name.
    pub fn parse(
        id: &str,
        text: &str,
        printed: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ExperimentError> {
        let wrong = |message: String| ExperimentError::Wrong {
            id: id.to_owned(),
            message,
        };
        let mut experiment: Self =
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        experiment.id = id.to_owned();
        if let Some(name) = &experiment.printed {
            let text = printed(name).ok_or_else(|| wrong(format!("no printed table `{name}`")))?;
            experiment.table = Some(Tsv::parse(&text));
        }
        experiment.check().map_err(wrong)?;
        Ok(experiment)
    }

    /// Refuses what can never give a table.
    fn check(&self) -> Result<(), String> {
        if self.limits.bytes().is_none() {
            let text = &self.limits.memory;
            return Err(format!("`{text}` is no amount of memory; write 500M or 2G"));
        }
        let known = |name: &str| self.configuration(name).is_some();
        let mentioned = (self.columns.iter())
            .flat_map(|c| {
                c.configuration
                    .names()
                    .into_iter()
                    .chain(c.baseline.names())
            })
            .chain(self.baseline.as_deref())
            .chain(
                self.plots
                    .iter()
                    .flat_map(|p| p.configurations.iter().map(String::as_str)),
            );
        for name in mentioned {
            if !known(name) {
                return Err(format!("there is no configuration `{name}`"));
            }
        }
        for column in &self.columns {
            let (Some(printed), Some(table)) = (&column.printed, &self.table) else {
                continue;
            };
            if !table.has(printed) {
                return Err(format!("the printed table has no column `{printed}`"));
            }
        }
        let needs_models = self.table.as_ref().is_none_or(|table| !table.has("model"));
        if needs_models && self.models.is_empty() {
            return Err("neither `models` nor a printed table says which models".into());
        }
        Ok(())
    }

    /// The configuration of a name.
    pub fn configuration(&self, name: &str) -> Option<&Configuration> {
        self.configurations.iter().find(|c| c.name == name)
    }

    /// What the printed table says about itself: `paper`, `table`, `caption`, `note`.
    pub fn about(&self, key: &str) -> Option<&str> {
        self.table.as_ref()?.about.get(key).map(String::as_str)
    }

    /// `guard-based` of `guard-based/5`: what belongs on one page.
    pub fn group(&self) -> &str {
        self.id.split('/').next().unwrap_or(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        title = "t"
        models = ["example:peterson.dve"]
        [[configuration]]
        name = "full"
        run = "explore --por none"
    "#;

    fn parse(text: &str) -> Result<Experiment, ExperimentError> {
        Experiment::parse("x/1", text, &|_| None)
    }

    #[test]
    fn defaults() {
        let experiment = parse(TEXT).unwrap();
        assert_eq!(experiment.group(), "x");
        assert_eq!(experiment.limits.bytes(), Some(2 << 30));
        assert_eq!(experiment.configurations[0].seeds, 1);
        assert_eq!(
            experiment.configurations[0].run.words(),
            ["explore", "--por", "none"]
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error("title = 3").contains("x/1"));
        assert!(error(&format!("colour = 'red'\n{TEXT}")).contains("colour"));
        assert!(error(&format!("baseline = 'none'\n{TEXT}")).contains("`none`"));
        assert!(error(&format!("printed = 'nothing'\n{TEXT}")).contains("`nothing`"));
        let lots = format!("limits = {{ memory = 'lots' }}\n{TEXT}");
        assert!(error(&lots).contains("lots"));
        let nowhere = TEXT.replace("models = [\"example:peterson.dve\"]", "");
        assert!(error(&nowhere).contains("which models"));
    }
}
