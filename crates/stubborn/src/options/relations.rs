//! Options about relations between transitions: a level of analysis, a file, or a state space.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use stubborn::SavedRelations;
use stubborn::reduce::ConfigError;
use stubborn::reduce::experiments::measured::{Dependency, Precedence};
use stubborn::system::RelationLevel;

use super::names;

const LEVELS: [(&str, RelationLevel); 5] = [
    ("sets", RelationLevel::Sets),
    ("syntax", RelationLevel::Syntax),
    ("exact", RelationLevel::Exact),
    ("reach", RelationLevel::Reach),
    ("located", RelationLevel::Located),
];

/// What `--relations` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RelationsChoice {
    /// How much analysis goes into them.
    Level(RelationLevel),
    /// From all reachable states.
    Full,
    /// Computed before.
    File(PathBuf),
}

impl FromStr for RelationsChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let level = LEVELS.iter().find(|(name, _)| *name == text);
        Ok(match (level, text) {
            (Some((_, level)), _) => Self::Level(*level),
            (None, "full") => Self::Full,
            (None, path) => Self::File(path.into()),
        })
    }
}

impl RelationsChoice {
    /// For commands that do not explore a state space beforehand.
    pub(crate) fn without_exploring(
        &self,
    ) -> Result<(RelationLevel, Option<Arc<SavedRelations>>), ConfigError> {
        match self {
            Self::Level(level) => Ok((*level, None)),
            Self::Full => Err(ConfigError::new(
                "full relations need the whole state space; write them to a file first: \
                 `stubborn inspect MODEL --relations full --write-relations FILE`, then give \
                 --relations FILE",
            )),
            Self::File(path) => {
                let is_plain = path.components().count() == 1 && path.extension().is_none();
                if is_plain && !path.exists() {
                    let levels: Vec<_> = LEVELS.iter().map(|(name, _)| *name).collect();
                    return Err(ConfigError::new(format!(
                        "`{}` is no level of relations, and there is no such file; levels are {}",
                        path.display(),
                        levels.join(", ")
                    )));
                }
                let saved =
                    SavedRelations::read(path).map_err(|e| ConfigError::new(e.to_string()))?;
                Ok((RelationLevel::Reach, Some(Arc::new(saved))))
            }
        }
    }
}

/// Relations from a state space.
#[derive(Args, Debug)]
pub(crate) struct MeasuringArgs {
    /// Where do-not-accord of full relations comes from
    ///
    /// `sets`, `syntax`, `exact`, `reach` and `located` by analysis; `full` from the reachable states;
    /// `dynamic` at each state from those that can be reached from it; `disabling` as `full`,
    /// for models in which enabled transitions commute.
    #[arg(long, value_name = "SOURCE", help_heading = "Full relations",
          value_parser = names(Dependency::ALL, Dependency::name))]
    pub(crate) dependency: Option<String>,

    /// Where the enabling sets of full relations come from
    #[arg(long, value_name = "SOURCE", help_heading = "Full relations",
          value_parser = names(Precedence::ALL, Precedence::name))]
    pub(crate) precedence: Option<String>,

    /// Write the relations to a file, to be used by --relations FILE
    #[arg(long, value_name = "FILE", help_heading = "Full relations")]
    pub(crate) write_relations: Option<PathBuf>,

    /// Compute full relations of models with at most so many states
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        help_heading = "Full relations"
    )]
    pub(crate) max_states: usize,
}

impl MeasuringArgs {
    /// Where relations come from, if a state space or a file is asked for; `choice` is what
    /// --relations says.
    pub(crate) fn sources(
        &self,
        choice: Option<&RelationsChoice>,
    ) -> Result<Option<(Dependency, Precedence)>, ConfigError> {
        let details = self.dependency.is_some() || self.precedence.is_some();
        if let Some(RelationsChoice::File(_)) = choice
            && (details || self.write_relations.is_some())
        {
            return Err(ConfigError::new(
                "--dependency, --precedence and --write-relations are about relations that are \
                 computed now, not about those in a file",
            ));
        }
        let is_full = choice == Some(&RelationsChoice::Full);
        if !is_full && !details && self.write_relations.is_none() {
            return Ok(None);
        }
        let default = match choice {
            Some(RelationsChoice::Level(level)) => {
                let named = LEVELS.iter().find(|(_, l)| l == level);
                named.map_or("full", |(name, _)| *name)
            }
            _ => "full",
        };
        Ok(Some((
            self.dependency.as_deref().unwrap_or(default).parse()?,
            self.precedence.as_deref().unwrap_or(default).parse()?,
        )))
    }
}
