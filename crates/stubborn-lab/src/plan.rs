//! From experiments to runs.
//!
//! A run has a key: program, words and model. Experiments that ask for the same run share
//! it, and tables look results up by the same key, so that planning and reporting cannot
//! disagree about what was measured.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::corpus::{Corpus, ModelName};
use crate::experiment::{Configuration, Experiment, Tool, Words};
use crate::record::Limits;
use stubborn_corpus::tsv::Tsv;

/// What is to be run, and how much of it.
#[derive(Clone, Debug, Default)]
pub struct Mode {
    /// Small models, few seeds, short limits.
    pub quick: bool,
    /// Replaces the precision of relations in every configuration that reduces and does not
    /// choose its own.
    pub relations: Option<String>,
}

/// A row of an experiment's table, or what stands behind it.
#[derive(Clone, Debug)]
pub struct Row {
    /// As the paper prints it.
    pub label: String,
    /// The model, or why there is none.
    pub model: Result<ModelName, String>,
    /// More words for the command line.
    pub extra: Vec<String>,
    /// Its line in the printed table.
    pub line: Option<usize>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// What identifies it.
    pub key: String,
    /// The program.
    pub tool: Tool,
    /// Its words, without the model.
    pub words: Vec<String>,
    /// Words of what comes before, if anything does.
    pub prepare: Option<Vec<String>>,
    /// The model.
    pub model: ModelName,
    /// Its file.
    pub path: PathBuf,
    /// Its limits.
    pub limits: Limits,
    /// About how much work it is, in states.
    pub cost: f64,
    /// Whether nothing else may run meanwhile.
    pub alone: bool,
}

/// The models of an experiment that are not there; others than those of which its table says that there
/// are none.
pub fn missing(experiment: &Experiment, corpus: &Corpus) -> Vec<ModelName> {
    let rows = named_rows(experiment, corpus).into_iter();
    let named = rows.filter_map(|row| row.model.ok());
    named.filter(|model| corpus.path(model).is_err()).collect()
}

/// The rows of an experiment.
pub fn rows(experiment: &Experiment, corpus: &Corpus) -> Vec<Row> {
    let mut rows = named_rows(experiment, corpus);
    for row in &mut rows {
        if let Ok(model) = &row.model
            && let Err(reason) = corpus.path(model)
        {
            row.model = Err(reason);
        }
    }
    rows
}

/// The rows of an experiment, whether or not their models are there.
fn named_rows(experiment: &Experiment, corpus: &Corpus) -> Vec<Row> {
    let printed = experiment.table.as_ref().filter(|table| table.has("model"));
    let mut rows: Vec<Row> = match printed {
        Some(table) => printed_rows(table),
        None => Vec::new(),
    };
    for text in &experiment.models {
        let models = match text.strip_prefix("list:") {
            Some(list) => corpus.listed(list).unwrap_or_default(),
            None => vec![ModelName(text.clone())],
        };
        rows.extend(models.into_iter().map(|model| Row {
            label: model.name().to_owned(),
            model: Ok(model),
            extra: Vec::new(),
            line: None,
        }));
    }
    rows
}

fn printed_rows(table: &Tsv) -> Vec<Row> {
    let numbered = table.records().enumerate();
    numbered
        .map(|(line, row)| {
            let model = row.get("model");
            let extra = row.get("extra").trim_start_matches('-').is_empty();
            let extra = if extra { "" } else { row.get("extra") };
            Row {
                label: row.get("row").to_owned(),
                model: match model.strip_prefix('-') {
                    Some(reason) => Err(reason.trim().to_owned()),
                    None => Ok(ModelName(model.to_owned())),
                },
                extra: extra.split_whitespace().map(str::to_owned).collect(),
                line: Some(line),
            }
        })
        .collect()
}

fn filled(words: &Words, row: &Row, seed: u32) -> Vec<String> {
    let mut filled = Vec::new();
    for word in words.words() {
        if word == "{extra}" {
            filled.extend(row.extra.iter().cloned());
        } else {
            filled.push(word.replace("{seed}", &seed.to_string()));
        }
    }
    filled
}

/// The words of what comes before a run.
pub fn preparation(configuration: &Configuration, row: &Row, seed: u32) -> Option<Vec<String>> {
    let words = configuration.prepare.as_ref()?;
    Some(filled(words, row, seed))
}

/// The words of a run, without the model.
pub fn words(configuration: &Configuration, row: &Row, seed: u32, mode: &Mode) -> Vec<String> {
    let mut words = filled(&configuration.run, row, seed);
    if let Some(level) = &mode.relations {
        let has = |flag: &str| words.iter().any(|word| word == flag);
        let reduces = has("--por") && !has("none");
        if configuration.tool == Tool::Stubborn && reduces && !has("--relations") {
            words.extend(["--relations".to_owned(), level.clone()]);
        }
    }
    words
}

/// The key of a run.
pub fn key(
    configuration: &Configuration,
    row: &Row,
    seed: u32,
    mode: &Mode,
    model: &ModelName,
) -> String {
    let words = words(configuration, row, seed, mode).join(" ");
    let before = preparation(configuration, row, seed);
    let before = before.map_or_else(String::new, |words| format!(" after {}", words.join(" ")));
    let again = match seed {
        2.. if !configuration.has_seed() => format!(" again {seed}"),
        _ => String::new(),
    };
    format!(
        "{} {words}{before}{again} | {model}",
        configuration.tool.name()
    )
}

/// All runs that experiments ask for, each once, in their order, small models first.
pub fn plan(experiments: &[&Experiment], corpus: &Corpus, mode: &Mode) -> Vec<PlannedRun> {
    let mut runs: Vec<PlannedRun> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for experiment in experiments {
        if mode.quick && experiment.quick.skip {
            continue;
        }
        let mut own: Vec<PlannedRun> = Vec::new();
        for row in rows(experiment, corpus) {
            add_row(experiment, corpus, mode, &row, &mut own);
        }
        own.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        for run in own {
            if let Some(at) = known.get(&run.key) {
                let old = &mut runs[*at].limits;
                old.seconds = old.seconds.max(run.limits.seconds);
                old.bytes = old.bytes.max(run.limits.bytes);
                runs[*at].alone |= run.alone;
            } else {
                known.insert(run.key.clone(), runs.len());
                runs.push(run);
            }
        }
    }
    runs
}

/// States of a model of which nothing is known.
const UNKNOWN_STATES: u64 = 200_000;

fn add_row(
    experiment: &Experiment,
    corpus: &Corpus,
    mode: &Mode,
    row: &Row,
    runs: &mut Vec<PlannedRun>,
) {
    let Ok(model) = &row.model else { return };
    let Ok(path) = corpus.path(model) else { return };
    let states = corpus.states(model);
    let chosen = &experiment.quick.rows;
    if mode.quick && !chosen.is_empty() && !chosen.contains(&row.label) {
        return;
    }
    let is_small_wanted = mode.quick && chosen.is_empty();
    let quick_limit = is_small_wanted.then_some(experiment.quick.max_states);
    let too_large =
        |limit: Option<u64>| limit.is_some_and(|limit| states.unwrap_or(UNKNOWN_STATES) > limit);
    if too_large(quick_limit) || (states.is_some() && too_large(experiment.max_states)) {
        return;
    }
    for configuration in &experiment.configurations {
        if (mode.quick && configuration.full_only)
            || !configuration.suits(&path)
            || !configuration.concerns(&row.label)
            || !configuration.has_cores()
        {
            continue;
        }
        let seconds = configuration.seconds.unwrap_or(experiment.limits.seconds);
        let limits = Limits {
            seconds: match mode.quick {
                true => experiment.quick.seconds.min(seconds),
                false => seconds,
            },
            bytes: experiment.limits.bytes().unwrap_or(2 << 30),
        };
        let most = if mode.quick {
            experiment.quick.seeds
        } else {
            u32::MAX
        };
        for seed in 1..=configuration.seeds.min(most) {
            runs.push(PlannedRun {
                key: key(configuration, row, seed, mode, model),
                tool: configuration.tool,
                words: words(configuration, row, seed, mode),
                prepare: preparation(configuration, row, seed),
                model: model.clone(),
                path: path.clone(),
                limits,
                cost: 20_000.0 + states.unwrap_or(UNKNOWN_STATES) as f64,
                alone: experiment.alone && !mode.quick,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(text: &str) -> Experiment {
        let printed = "# paper: p\nrow\tmodel\textra\tx\nA\texample:a.dve\t--flag 3\t1\n\
                       B\t- nobody has it\t-\t2\nC\texample:c.dve\t-\t2\n";
        Experiment::parse("t/1", text, &|_| Some(printed.into())).unwrap()
    }

    const TEXT: &str = "
        title = 't'
        printed = 'p'
        [[configuration]]
        name = 'full'
        run = 'explore --por none'
        [[configuration]]
        name = 'beam'
        run = 'explore --por beam {extra} --seed {seed}'
        seeds = 3
    ";

    #[test]
    fn a_configuration_may_choose_rows_and_time() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.dve", "c.dve"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let corpus = Corpus::at(None, Some(folder.path().to_owned()));
        let more = "
        [[configuration]]
        name = 'long'
        run = 'explore --por closure'
        rows = ['C']
        seconds = 300
        ";
        let experiment = experiment(&(TEXT.to_owned() + more));
        let runs = plan(&[&experiment], &corpus, &Mode::default());
        let long: Vec<_> = runs
            .iter()
            .filter(|run| run.limits.seconds > 299.0)
            .map(|run| run.key.as_str())
            .collect();
        assert_eq!(long, ["stubborn explore --por closure | example:c.dve"]);
        assert_eq!(runs.len(), 9);
    }

    /// What has no seed is made again, where it is wanted twice; what needs more processors than
    /// there are, not at all.
    #[test]
    fn runs_may_be_repeated_and_need_processors() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.dve"), "").unwrap();
        let corpus = Corpus::at(None, Some(folder.path().to_owned()));
        let text = "
        title = 't'
        models = ['example:a.dve']
        alone = true
        [[configuration]]
        name = 'twice'
        run = 'explore --por none'
        seeds = 2
        [[configuration]]
        name = 'huge'
        run = 'explore --threads 100000'
        cores = 100000
        ";
        let experiment = Experiment::parse("t/1", text, &|_| None).unwrap();
        let runs = plan(&[&experiment], &corpus, &Mode::default());
        assert!(runs.iter().all(|run| run.alone));
        let keys: Vec<_> = runs.into_iter().map(|run| run.key).collect();
        let expected = [
            "stubborn explore --por none | example:a.dve",
            "stubborn explore --por none again 2 | example:a.dve",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn rows_become_runs_with_stable_keys() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.dve"), "").unwrap();
        let corpus = Corpus::at(None, Some(folder.path().to_owned()));
        let experiment = experiment(TEXT);
        let reasons: Vec<_> = rows(&experiment, &corpus)
            .into_iter()
            .filter_map(|row| row.model.err())
            .collect();
        assert_eq!(reasons, ["nobody has it", "not in the corpus"]);
        let keys = |mode: &Mode| -> Vec<String> {
            let runs = plan(&[&experiment, &experiment], &corpus, mode);
            runs.into_iter().map(|run| run.key).collect()
        };
        let all = keys(&Mode::default());
        assert_eq!(all.len(), 4);
        assert_eq!(all[0], "stubborn explore --por none | example:a.dve");
        let beam = "stubborn explore --por beam --flag 3 --seed 3 | example:a.dve";
        assert_eq!(all[3], beam);
        let sets = keys(&Mode {
            relations: Some("sets".into()),
            ..Mode::default()
        });
        assert_eq!(sets[0], all[0]);
        assert!(sets[3].contains("--relations sets"));
        // Nothing is known about the size: too large for quick mode.
        let quick = Mode {
            quick: true,
            ..Mode::default()
        };
        assert!(keys(&quick).is_empty());
    }
}
