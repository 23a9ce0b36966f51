//! The experiments and printed tables that come with this crate.

use crate::experiment::{Experiment, ExperimentError};

macro_rules! files {
    ($folder:literal, $ending:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, $ending)))),+]
    };
}

/// Experiments, in the order of the report.
const EXPERIMENTS: &[(&str, &str)] = files!(
    "experiments", ".toml":
    "guard-based-5",
    "guard-based-2",
    "guard-based-3",
    "guard-based-4",
    "guard-based-6",
    "guard-based-7",
    "guard-based-8",
    "scope-1",
    "scope-2",
    "scope-3",
    "scope-4",
    "scope-5",
    "petri-1",
    "petri-2",
    "petri-3",
    "local-1",
    "provisos-1",
    "provisos-2",
    "provisos-3",
    "provisos-figure3",
    "provisos-functions",
    "peers-1",
    "portfolio-1",
    "portfolio-2",
    "speed-1",
    "speed-2",
    "speed-3",
    "speed-4",
    "tiny-1",
);

/// The papers' tables.
const PRINTED: &[(&str, &str)] = files!(
    "papers", ".tsv":
    "guard-based-2",
    "guard-based-3",
    "guard-based-4",
    "guard-based-5",
    "guard-based-6",
    "guard-based-7",
    "guard-based-8",
    "local-1",
    "petri-1",
    "petri-2",
    "petri-3",
    "provisos-1",
    "provisos-2",
    "provisos-3",
    "scope-1",
    "scope-2",
    "scope-3",
    "scope-4",
    "scope-5",
);

/// The text of a printed table.
pub fn printed(name: &str) -> Option<String> {
    let found = PRINTED.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| (*text).to_owned())
}

/// All shipped experiments.
pub fn experiments() -> Result<Vec<Experiment>, ExperimentError> {
    let parse = |(name, text): &(&str, &str)| {
        // `guard-based-5` is experiment 5 of the group `guard-based`.
        let id = match name.rsplit_once('-') {
            Some((group, number)) => format!("{group}/{number}"),
            None => (*name).to_owned(),
        };
        Experiment::parse(&id, text, &printed)
    };
    EXPERIMENTS.iter().map(parse).collect()
}

/// The experiments that names mean: `guard-based/5`, or `guard-based` for the group.
pub fn chosen<'a>(
    all: &'a [Experiment],
    names: &[String],
) -> Result<Vec<&'a Experiment>, ExperimentError> {
    if names.is_empty() {
        // What is only there for tests must be named.
        return Ok(all.iter().filter(|e| e.group() != "tiny").collect());
    }
    let mut chosen: Vec<&Experiment> = Vec::new();
    for name in names {
        let before = chosen.len();
        let matches = all.iter().filter(|e| e.id == *name || e.group() == name);
        chosen.extend(matches);
        if chosen.len() == before {
            return Err(ExperimentError::Unknown(name.clone()));
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_well_formed() {
        let all = experiments().unwrap();
        assert_eq!(all.len(), EXPERIMENTS.len());
        for experiment in &all {
            assert!(!experiment.title.is_empty(), "{}", experiment.id);
            if let Some(table) = &experiment.table {
                for key in ["paper", "table", "caption"] {
                    assert!(table.about.contains_key(key), "{}: {key}", experiment.id);
                }
                let width = table.header.len();
                assert!(table.rows.iter().all(|row| row.len() == width));
            }
        }
    }

    #[test]
    fn groups_and_single_experiments_can_be_chosen() {
        let all = experiments().unwrap();
        let ids = |names: &[&str]| -> Result<Vec<String>, ExperimentError> {
            let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
            Ok(chosen(&all, &names)?.iter().map(|e| e.id.clone()).collect())
        };
        assert_eq!(ids(&["guard-based/5"]).unwrap(), ["guard-based/5"]);
        assert_eq!(ids(&["scope"]).unwrap().len(), 5);
        assert!(ids(&["moon"]).unwrap_err().to_string().contains("moon"));
        assert!(ids(&[]).unwrap().iter().all(|id| id != "tiny/1"));
    }
}
