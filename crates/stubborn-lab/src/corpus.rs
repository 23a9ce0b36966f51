//! Where models are: the benchmark corpus, and the examples of this repository.
//!
//! Experiments name models as `suite:name`, so that they do not depend on where files lie:
//!
//! | suite | file |
//! | --- | --- |
//! | `beem:anderson.4` | `beem/models/anderson.4.dve` of the corpus |
//! | `beem-ltl:anderson.2.prop2` | `beem/ltl/anderson.2.prop2.dve` of the corpus |
//! | `promela:paper/brp.prm` | `promela/paper/brp.prm` of the corpus |
//! | `pnml:Anderson-PT-04` | `pnml/Anderson-PT-04/model.pnml` of the corpus |
//! | `example:peterson.dve` | `peterson.dve` of the examples |
//! | `protocol:paxos` | a built-in protocol; no file |
//!
//! The corpus is the folder that `STUBBORN_CORPUS` names, else `../shared/corpus` beside the
//! working folder. Nothing here needs it: without it, its models are missing, with that as
//! the reason.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use stubborn_corpus::tsv::Tsv;

/// A model by its name: `suite:name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelName(pub String);

impl ModelName {
    /// What comes before the colon.
    pub fn suite(&self) -> &str {
        self.0.split_once(':').map_or("", |(suite, _)| suite)
    }

    /// What comes after the colon.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, name)| name)
    }

    /// Models that differ only in a parameter belong to one family: `anderson.2` and
    /// `anderson.4`, `Anderson-PT-04` and `Anderson-PT-05`.
    pub fn family(&self) -> String {
        let name = self.name();
        let stem = match self.suite() {
            "beem" | "beem-ltl" => name.split('.').next(),
            "pnml" => name.split('-').next(),
            _ => name.rsplit('/').next().and_then(|n| n.split('.').next()),
        };
        let stem = stem.unwrap_or(name).to_ascii_lowercase();
        let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        stem.to_owned()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The examples of this repository: above the working folder, above the program, where a package puts
/// them beside it, or where it was built.
fn examples() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let program = std::env::current_exe().ok();
    let places = here
        .iter()
        .chain(&program)
        .flat_map(|path| path.ancestors());
    // Other folders are called so, too.
    let folders = places.flat_map(|path| {
        ["examples", "share/doc/stubborn/examples"].map(|inside| path.join(inside))
    });
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    folders
        .chain([PathBuf::from(built)])
        .find(|folder| folder.join("peterson.dve").is_file())
}

/// The models that can be found here, and what is known about them.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    root: Option<PathBuf>,
    examples: Option<PathBuf>,
    sizes: HashMap<ModelName, u64>,
}

impl Corpus {
    /// Looks where the corpus is (see the module), and for a folder `examples`.
    pub fn find() -> Self {
        let named = std::env::var_os("STUBBORN_CORPUS").map(PathBuf::from);
        let root = named.or_else(|| first_folder(&["../shared/corpus", "../../shared/corpus"]));
        Self::at(root.filter(|path| path.is_dir()), examples())
    }

    /// With these folders.
    pub fn at(root: Option<PathBuf>, examples: Option<PathBuf>) -> Self {
        let mut corpus = Self {
            root,
            examples,
            sizes: HashMap::new(),
        };
        corpus.sizes = corpus.known_sizes();
        corpus
    }

    /// The corpus' folder, if there is one.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The file of a model, or why there is none.
    pub fn path(&self, model: &ModelName) -> Result<PathBuf, String> {
        let name = model.name();
        let inside = match model.suite() {
            "beem" => format!("beem/models/{name}.dve"),
            "beem-ltl" => format!("beem/ltl/{name}.dve"),
            "promela" => format!("promela/{name}"),
            "pnml" => format!("pnml/{name}/model.pnml"),
            "example" => {
                let folder = self
                    .examples
                    .as_ref()
                    .ok_or("the folder `examples` of the repository is not here")?;
                return existing(folder.join(name));
            }
            // Built into the program: its name is what the command takes.
            "protocol" => return Ok(PathBuf::from(name)),
            suite => return Err(format!("there is no suite `{suite}`")),
        };
        let root = self.root.as_ref();
        let root = root.ok_or("no corpus here: STUBBORN_CORPUS names its folder, docs/lab.md says where its models come from")?;
        existing(root.join(inside))
    }

    /// How many states a model has, where other tools have established it.
    pub fn states(&self, model: &ModelName) -> Option<u64> {
        self.sizes.get(model).copied()
    }

    /// All models of a list that the corpus ships, such as `beem/PAPER004.tsv`: its first
    /// column, with the suite that its folder says.
    pub fn listed(&self, list: &str) -> Result<Vec<ModelName>, String> {
        let table = self.tsv(list).ok_or("no corpus here")?;
        let suite = list.split('/').next().unwrap_or_default();
        let names = table.rows.iter().filter_map(|row| row.first());
        Ok(names.map(|n| ModelName(format!("{suite}:{n}"))).collect())
    }

    /// A table of the corpus.
    pub fn tsv(&self, inside: &str) -> Option<Tsv> {
        let text = std::fs::read_to_string(self.root.as_ref()?.join(inside)).ok()?;
        Some(Tsv::parse(&text))
    }

    /// Published results of other tools, by model and by `tool, how`: states.
    pub fn peers(&self) -> BTreeMap<ModelName, BTreeMap<String, u64>> {
        let mut all: BTreeMap<ModelName, BTreeMap<String, u64>> = BTreeMap::new();
        let mut add = |model: String, tool: String, states: &str| {
            if let Ok(states) = states.split('/').next().unwrap_or_default().parse() {
                all.entry(ModelName(model))
                    .or_default()
                    .insert(tool, states);
            }
        };
        if let Some(table) = self.tsv("beem/PEER-POR.tsv") {
            for row in table.records() {
                for (column, name) in [
                    ("ltsmin_por_heur", "LTSmin beam"),
                    ("ltsmin_por_del", "LTSmin deletion"),
                ] {
                    let model = format!("beem:{}", row.get("instance"));
                    add(model, name.into(), row.get(column));
                }
            }
        }
        if let Some(table) = self.tsv("pnml/PEERS.tsv") {
            for row in table.records() {
                let stubborn = row.get("por") == "stubborn" && row.get("other_reduction") == "none";
                let tool = row.get("tool").split('-').next().unwrap_or_default();
                if stubborn && row.get("status") == "done" && tool != "reference" {
                    let model = format!("pnml:{}", row.get("instance"));
                    add(model, tool.into(), row.get("states"));
                }
            }
        }
        if let Some(table) = self.tsv("promela/EXPECTED.tsv") {
            for row in table.records() {
                if row.get("por_note") == "complete" {
                    let model = format!("promela:{}", row.get("file"));
                    add(model, "SPIN".into(), row.get("por_states"));
                }
            }
        }
        all
    }

    fn known_sizes(&self) -> HashMap<ModelName, u64> {
        let mut sizes = HashMap::new();
        let mut add = |model: String, states: &str| {
            if let Ok(states) = states.parse::<u64>() {
                sizes.insert(ModelName(model), states);
            }
        };
        for row in self.tsv("beem/EXPECTED.tsv").iter().flat_map(Tsv::records) {
            add(format!("beem:{}", row.get("instance")), row.get("states"));
        }
        for row in self
            .tsv("promela/EXPECTED.tsv")
            .iter()
            .flat_map(Tsv::records)
        {
            if row.get("full_note") == "complete" {
                let model = format!("promela:{}", row.get("file"));
                add(model, row.get("full_states"));
            }
        }
        for row in self.tsv("pnml/EXPECTED.tsv").iter().flat_map(Tsv::records) {
            if row.get("formula_or_measure") == "STATES" {
                add(format!("pnml:{}", row.get("instance")), row.get("value"));
            }
        }
        sizes
    }
}

fn first_folder(candidates: &[&str]) -> Option<PathBuf> {
    let found = candidates.iter().map(Path::new).find(|path| path.is_dir());
    found.map(Path::to_path_buf)
}

fn existing(path: PathBuf) -> Result<PathBuf, String> {
    if path.is_file() {
        Ok(path)
    } else {
        Err("not in the corpus".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_ignore_parameters() {
        let family = |name: &str| ModelName(name.into()).family();
        assert_eq!(family("beem:anderson.4"), "anderson");
        assert_eq!(family("pnml:Anderson-PT-05"), "anderson");
        assert_eq!(family("promela:paper/iprotocol2.pml"), "iprotocol");
        assert_eq!(family("promela:paper/garp/garp"), "garp");
        assert_eq!(family("beem:elevator2.1"), "elevator");
    }

    #[test]
    fn without_a_corpus_models_are_missing_with_a_reason() {
        let corpus = Corpus::at(None, None);
        let missing = corpus.path(&ModelName("beem:anderson.4".into()));
        assert!(missing.is_err_and(|reason| reason.contains("no corpus")));
        let unknown = corpus.path(&ModelName("moon:cheese".into()));
        assert!(unknown.is_err_and(|reason| reason.contains("moon")));
        assert!(corpus.peers().is_empty());
    }
}
