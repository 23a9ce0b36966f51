//! Options about temporal properties and cycle provisos.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use stubborn::emptiness::{CycleProviso, Emptiness, FiniteRuns, PutBack, SteeringMode};
use stubborn::ltl::parser::Syntax;
use stubborn::reduce::Visibility;
use stubborn::{ProvisoChoice, TemporalOptions};

/// Temporal properties to add, and what they mean.
#[derive(Args, Debug)]
pub(crate) struct FormulaArgs {
    /// Check that every run satisfies this LTL formula; may be repeated
    ///
    /// Operators are `[]` or `G` (always), `<>` or `F` (eventually), `X` (next), `U`, `W`,
    /// `V` or `R`, `M`, `!`, `&&`, `||`, `->`, `<->`. A proposition is an expression in the
    /// model's own syntax (in Promela also a macro), in double quotes if it contains an
    /// operator of the formula: `[] (x > 3 -> <> P.critical)`, `<> "p -> q"`. A run that ends
    /// counts as repeating its last state for ever, see --finite-runs.
    #[arg(
        long,
        value_name = "FORMULA",
        help_heading = "Properties",
        allow_hyphen_values = true
    )]
    pub(crate) ltl: Vec<String>,

    /// Check that the initial states satisfy this CTL formula; may be repeated
    ///
    /// Operators are `EX AX EF AF EG AG`, `E (p U q)`, `A (p U q)`, the same with `W` or `R`, `!`,
    /// `&&`, `||`, `->`, `<->`; propositions are as for --ltl. A state without successors ends its
    /// run: there `AX p` holds and `EX p` does not, whatever `p`. What shows that a formula holds or
    /// not is told as a tree of runs.
    #[arg(
        long,
        value_name = "FORMULA",
        help_heading = "Properties",
        allow_hyphen_values = true
    )]
    pub(crate) ctl: Vec<String>,

    /// How formulas of --ltl are written
    #[arg(
        long,
        value_name = "SYNTAX",
        value_enum,
        default_value_t,
        help_heading = "Properties"
    )]
    pub(crate) syntax: FormulaSyntax,

    /// Check that no run is accepted by the automaton in this file; may be repeated
    ///
    /// The automaton describes the bad runs, those that violate the property, in the Hanoi
    /// Omega-Automata format with (generalised) Büchi acceptance. Its propositions are
    /// expressions in the model's own syntax. `stubborn ltl --negate`, `ltl2tgba` and others
    /// write such files.
    #[arg(long, value_name = "FILE", help_heading = "Properties")]
    pub(crate) hoa: Vec<PathBuf>,

    /// For nets: check the LTL formulas and invariants of a contest's XML file; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "Properties")]
    pub(crate) properties: Vec<PathBuf>,

    /// What a run that ends means for a temporal property
    #[arg(
        long,
        value_name = "MEANING",
        value_enum,
        default_value_t,
        conflicts_with = "ctl",
        help_heading = "Temporal properties"
    )]
    pub(crate) finite_runs: FiniteRunsName,

    /// Look at weakly fair runs only: who could move all the time moves again and again
    ///
    /// As SPIN's -f. Turns reduction off for temporal properties.
    #[arg(
        long,
        conflicts_with = "ctl",
        help_heading = "Temporal properties"
    )]
    pub(crate) fairness: bool,
}

/// Temporal properties to add, and how to check them.
#[derive(Args, Debug)]
pub(crate) struct TemporalArgs {
    #[command(flatten)]
    pub(crate) formulas: FormulaArgs,

    /// Whether reduced sets are made for the state that the automaton of a property is in
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        default_value_t,
        help_heading = "Temporal properties"
    )]
    pub(crate) steering: SteeringName,

    /// What reduced sets do about transitions that a property can see
    #[arg(
        long,
        value_name = "CONDITION",
        value_enum,
        default_value_t,
        help_heading = "Temporal properties"
    )]
    pub(crate) visibility: VisibilityName,

    /// What a state gets back that a proviso expands
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        help_heading = "Temporal properties"
    )]
    pub(crate) expand: ExpansionName,

    /// How violating runs are looked for
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        default_value_t,
        help_heading = "Temporal properties"
    )]
    pub(crate) emptiness: EmptinessName,
}

impl TemporalArgs {
    pub(crate) fn options(&self) -> TemporalOptions {
        TemporalOptions {
            emptiness: match self.emptiness {
                EmptinessName::Scc => Emptiness::Components,
                EmptinessName::Ndfs => Emptiness::Nested,
            },
            steering: match self.steering {
                SteeringName::Off => SteeringMode::Off,
                SteeringName::Mixed => SteeringMode::Mixed,
                SteeringName::Only => SteeringMode::Only,
            },
            visibility: match self.visibility {
                VisibilityName::Vi | VisibilityName::Relaxed => Visibility::Vi,
                VisibilityName::C2 => Visibility::C2,
            },
            expansion: match self.expand {
                ExpansionName::All => PutBack::All,
                ExpansionName::Visible => PutBack::Visible,
            },
            relaxed_visibility: matches!(self.visibility, VisibilityName::Relaxed),
            ..self.formulas.options()
        }
    }
}

impl FormulaArgs {
    /// What runs count.
    pub(crate) fn options(&self) -> TemporalOptions {
        TemporalOptions {
            finite_runs: match self.finite_runs {
                FiniteRunsName::Stutter => FiniteRuns::Stutter,
                FiniteRunsName::Ignore => FiniteRuns::Ignore,
            },
            weak_fairness: self.fairness,
            ..TemporalOptions::default()
        }
    }
}

/// Cycle provisos beside each other.
#[derive(Args, Debug)]
pub(crate) struct ComparisonArgs {
    /// Compare cycle provisos: their names, with commas between them, or `all`
    ///
    /// Successors and reduced sets are computed once for all of them. With --json, every
    /// result is a line of its own.
    #[arg(long, value_name = "NAMES", help_heading = "Reduction",
          conflicts_with_all = ["proviso", "levels", "unused", "structural"])]
    pub(crate) compare: Option<ProvisoList>,

    /// With --compare: take the transitions in so many random orders
    ///
    /// They begin with that of --seed (1 if it is not given). Without this flag, there is only
    /// the order of the model, or that of --seed.
    #[arg(long, value_name = "N", help_heading = "Reduction", requires = "compare",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) orders: Option<u64>,
}

impl ComparisonArgs {
    /// The orders to take transitions in.
    pub(crate) fn seeds(&self, seed: Option<u64>) -> Vec<Option<u64>> {
        match self.orders {
            None => vec![seed],
            Some(count) => {
                let first = seed.unwrap_or(1);
                (0..count).map(|at| Some(first.wrapping_add(at))).collect()
            }
        }
    }
}

/// Several provisos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvisoList(pub(crate) Vec<CycleProviso>);

impl FromStr for ProvisoList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            // The others need another reduction, or keep all edges in memory.
            let mut all = CycleProviso::all();
            all.retain(|proviso| *proviso != CycleProviso::STICKY && !proviso.needs_strong_sets());
            return Ok(Self(all));
        }
        let names = text
            .split(',')
            .map(|name| name.trim().parse::<CycleProviso>());
        let all: Result<Vec<CycleProviso>, _> = names.collect();
        all.map(Self).map_err(|error| error.to_string())
    }
}

/// Whose notation a formula is in.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum FormulaSyntax {
    /// As SPIN: expressions need no quotes, `p U q U r` groups to the left
    #[default]
    Spin,
    /// As Spot: `GFp` is `G F p`, expressions are quoted, `p U q U r` groups to the right
    Spot,
}

impl From<FormulaSyntax> for Syntax {
    fn from(name: FormulaSyntax) -> Self {
        match name {
            FormulaSyntax::Spin => Syntax::Spin,
            FormulaSyntax::Spot => Syntax::Spot,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum FiniteRunsName {
    /// It repeats its last state for ever (as SPIN does with a claim, DiVinE, and the contest)
    #[default]
    Stutter,
    /// Nothing: only infinite runs count (as SPIN's search for non-progress cycles)
    Ignore,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum SteeringName {
    /// Never; only stutter-invariant properties are reduced, and need a proviso
    Off,
    /// Where these sets are smaller, or the property is not stutter-invariant
    #[default]
    Mixed,
    /// Always
    Only,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum VisibilityName {
    /// With one enabled visible transition all visible ones, and an invisible key
    #[default]
    Vi,
    /// With one enabled visible transition everything
    C2,
    /// As `vi`, but what the automaton of a property can no longer look at is not visible
    Relaxed,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum ExpansionName {
    /// All its steps
    #[default]
    All,
    /// What a set with all visible transitions needs (turns steering off)
    Visible,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum EmptinessName {
    /// By strongly connected components
    #[default]
    Scc,
    /// By a nested depth-first search
    Ndfs,
}

/// What keeps transitions from being ignored: for searches for states, and for searches for
/// infinite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProvisoName {
    pub(crate) safety: ProvisoChoice,
    pub(crate) cycles: Option<CycleProviso>,
}

impl FromStr for ProvisoName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (safety, name) = match text {
            "auto" => {
                return Ok(Self {
                    safety: ProvisoChoice::Auto,
                    cycles: None,
                });
            }
            "terminal" => {
                return Ok(Self {
                    safety: ProvisoChoice::Terminal,
                    cycles: None,
                });
            }
            "stack" => (ProvisoChoice::Stack, "source"),
            "closed-set" => (ProvisoChoice::ClosedSet, text),
            name => (ProvisoChoice::Auto, name),
        };
        let cycles = name
            .parse::<CycleProviso>()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            safety,
            cycles: Some(cycles),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proviso_has_its_name() {
        for proviso in CycleProviso::all() {
            let read: ProvisoName = proviso.to_string().parse().expect("it is a name");
            assert_eq!(read.cycles, Some(proviso));
        }
        let auto: ProvisoName = "auto".parse().expect("it is a name");
        assert_eq!(auto.cycles, None);
        let error = "sauce".parse::<ProvisoName>().unwrap_err();
        assert!(error.contains("[dead-|highlink-]RULE"), "{error}");
    }
}
