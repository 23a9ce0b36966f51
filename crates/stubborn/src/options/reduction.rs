//! Options about partial-order reduction: which sets, by which strategies, kept by which proviso.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use stubborn::reduce::{Algorithm, Choice, Config, ConfigError, Delete, Scapegoat, Start};
use stubborn::{LoadedModel, Por, ReductionOptions};

use super::names;
use super::relations::RelationsChoice;
use super::temporal::ProvisoName;

/// Partial-order reduction: which interleavings need not be explored.
#[derive(Args, Debug)]
pub(crate) struct ReductionArgs {
    /// How transitions are chosen, or `none`, or `auto` for what suits question and model
    #[arg(long, value_name = "NAME", help_heading = "Reduction", value_parser = por_names(),
          hide_possible_values = false)]
    pub(crate) por: Option<String>,

    /// How precise the relations between transitions are, or a file that has them
    ///
    /// `sets`: which fields are tested, read and written; `syntax`: and the shape of guards and
    /// actions; `exact`: and all valuations of small joint supports; `reach`: and what an
    /// over-approximation of the reachable states rules out; `located`: and values of shared
    /// variables at each location, which may take seconds. A file is one that
    /// `inspect --write-relations` wrote.
    #[arg(
        long,
        value_name = "LEVEL|FILE",
        default_value = "reach",
        help_heading = "Reduction"
    )]
    pub(crate) relations: RelationsChoice,

    /// Weak sets: members other than one key transition may be disabled from outside
    #[arg(long, help_heading = "Reduction")]
    pub(crate) weak: bool,

    /// Do not use disabling sets of guards as enabling sets of guards that they exclude
    #[arg(long, help_heading = "Reduction")]
    pub(crate) no_nds: bool,

    /// Do not let the cost heuristic choose
    #[arg(long, help_heading = "Reduction")]
    pub(crate) no_heuristic: bool,

    /// From which enabled transition a set starts
    #[arg(long, value_name = "STRATEGY", help_heading = "Reduction",
          value_parser = names(Start::ALL, Start::name))]
    pub(crate) start: Option<String>,

    /// Which enabling set of a disabled transition is taken in
    #[arg(long, value_name = "STRATEGY", help_heading = "Reduction",
          value_parser = names(Scapegoat::ALL, Scapegoat::name))]
    pub(crate) scapegoat: Option<String>,

    /// Which transition deletion tries next
    #[arg(long, value_name = "STRATEGY", help_heading = "Reduction",
          value_parser = names(Delete::ALL, Delete::name))]
    pub(crate) delete: Option<String>,

    /// Which of several ample sets is taken
    #[arg(long, value_name = "STRATEGY", help_heading = "Reduction",
          value_parser = names(Choice::ALL, Choice::name))]
    pub(crate) choice: Option<String>,

    /// After deletion, look for a set with fewer enabled transitions
    #[arg(long, help_heading = "Reduction")]
    pub(crate) minimise: bool,

    /// What keeps transitions from being ignored for ever, where a question needs it
    ///
    /// `auto`; `closed-set` or `stack` (expand a state whose kept successors were all seen
    /// before, or are all on the depth-first stack) or `terminal` (breadth-first, expand one
    /// state of each component that is never left); and for infinite runs any cycle proviso,
    /// `[dead-|highlink-]RULE[-known|-unknown][-scan]` where RULE is source, dest,
    /// cond-source, cond-dest, colored-dest, weighted-source, weighted-dest, deepest-dest or
    /// stab (the default is highlink-stab-scan).
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        help_heading = "Reduction"
    )]
    pub(crate) proviso: ProvisoName,
}

fn por_names() -> PossibleValuesParser {
    let special = [
        PossibleValue::new("none").help("No reduction"),
        PossibleValue::new("auto").help("What suits question and model, where it pays"),
    ];
    let algorithms = Algorithm::ALL
        .iter()
        .map(|a| PossibleValue::new(a.name()).help(a.about().trim_end_matches('.')));
    PossibleValuesParser::new(special.into_iter().chain(algorithms))
}

impl ReductionArgs {
    /// Whether relations are given, which are those of one model.
    pub(crate) fn is_about_one_model(&self) -> bool {
        !matches!(self.relations, RelationsChoice::Level(_))
    }

    /// As the library takes it for a model; `default` is what happens without `--por`.
    pub(crate) fn options(
        &self,
        seed: u64,
        default: &str,
        model: &LoadedModel,
    ) -> Result<ReductionOptions, ConfigError> {
        let name = self.por.as_deref().unwrap_or(default);
        let por = match name {
            "none" | "auto" => {
                self.refuse_details(name)?;
                if name == "none" { Por::None } else { Por::Auto }
            }
            name => Por::Chosen(Config {
                weak: self.weak,
                disabling_sets: !self.no_nds,
                heuristic: !self.no_heuristic,
                start: self.start.as_deref().map(str::parse).transpose()?,
                scapegoat: self.scapegoat.as_deref().map(str::parse).transpose()?,
                delete: self.delete.as_deref().map(str::parse).transpose()?,
                choice: self.choice.as_deref().map(str::parse).transpose()?,
                minimise: self.minimise,
                seed,
                ..Config::new(name.parse()?)
            }),
        };
        let (relations, measured) = self.relations.without_exploring()?;
        Ok(ReductionOptions {
            por,
            relations,
            measured: measured.map(|saved| saved.of(model).cloned()).transpose()?,
            proviso: self.proviso.safety,
            cycle_proviso: self.proviso.cycles,
            ..ReductionOptions::default()
        })
    }

    /// Variants belong to an algorithm.
    fn refuse_details(&self, name: &str) -> Result<(), ConfigError> {
        let given = [
            ("--weak", self.weak),
            ("--no-nds", self.no_nds),
            ("--no-heuristic", self.no_heuristic),
            ("--start", self.start.is_some()),
            ("--scapegoat", self.scapegoat.is_some()),
            ("--delete", self.delete.is_some()),
            ("--choice", self.choice.is_some()),
            ("--minimise", self.minimise),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(ConfigError::new(format!(
                "{flag} is about one algorithm; choose it with --por (now it is `{name}`)"
            ))),
        }
    }
}
