//! What is said to the contest: one line an answer, with the techniques behind it.

use std::fmt;

/// A technique, by the word that the contest uses for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Technique {
    /// Explicit states.
    Explicit,
    /// States are stored compressed.
    StateCompression,
    /// Partial-order reduction.
    StubbornSets,
    /// Facts about the graph of the net.
    Topological,
    /// The net was made smaller first.
    StructuralReduction,
    /// The state equation.
    LinearProgramming,
    /// A coloured net was unfolded.
    Unfolding,
    /// The file's nested units were relied on.
    Nupn,
    /// Random walks.
    RandomWalk,
    /// Several questions shared one search.
    CollateralProcessing,
}

impl Technique {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Explicit => "EXPLICIT",
            Self::StateCompression => "STATE_COMPRESSION",
            Self::StubbornSets => "STUBBORN_SETS",
            Self::Topological => "TOPOLOGICAL",
            Self::StructuralReduction => "STRUCTURAL_REDUCTION",
            Self::LinearProgramming => "LINEAR_PROGRAMMING",
            Self::Unfolding => "UNFOLDING_TO_PT",
            Self::Nupn => "USE_NUPN",
            Self::RandomWalk => "RANDOM_WALK",
            Self::CollateralProcessing => "COLLATERAL_PROCESSING",
        }
    }
}

/// An answer to a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Yes or no.
    Truth(bool),
    /// A largest number of tokens.
    Number(u64),
    /// There is no largest number.
    Infinite,
    /// Not known.
    Unknown,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(true) => f.write_str("TRUE"),
            Self::Truth(false) => f.write_str("FALSE"),
            Self::Number(number) => number.fmt(f),
            Self::Infinite => f.write_str("+inf"),
            Self::Unknown => f.write_str("CANNOT_COMPUTE"),
        }
    }
}

/// One line of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The answer to a formula, or to an examination without formulas.
    Formula {
        /// The formula's id, or the examination's name.
        id: String,
        /// The answer.
        value: Value,
        /// What it rests on.
        techniques: Vec<Technique>,
    },
    /// A measure of the state space.
    StateSpace {
        /// Which.
        measure: &'static str,
        /// How much; none if there is no end to it.
        value: Option<u128>,
        /// What it rests on.
        techniques: Vec<Technique>,
    },
    /// Nothing can be said about the whole examination.
    CannotCompute,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let techniques = match self {
            Self::CannotCompute => return f.write_str("CANNOT_COMPUTE"),
            // Nothing was found out, by no technique.
            Self::Formula {
                id,
                value: Value::Unknown,
                ..
            } => return write!(f, "FORMULA {id} {}", Value::Unknown),
            Self::Formula {
                id,
                value,
                techniques,
            } => {
                write!(f, "FORMULA {id} {value} TECHNIQUES")?;
                techniques
            }
            Self::StateSpace {
                measure,
                value,
                techniques,
            } => {
                match value {
                    Some(value) => write!(f, "STATE_SPACE {measure} {value} TECHNIQUES")?,
                    None => write!(f, "STATE_SPACE {measure} +inf TECHNIQUES")?,
                }
                techniques
            }
        };
        // At least one word is asked for.
        if techniques.is_empty() {
            return f.write_str(" EXPLICIT");
        }
        techniques
            .iter()
            .try_for_each(|technique| write!(f, " {}", technique.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_contest() {
        let formula = Line::Formula {
            id: "Net-PT-1-UpperBounds-00".into(),
            value: Value::Number(3),
            techniques: vec![Technique::Explicit, Technique::StubbornSets],
        };
        assert_eq!(
            formula.to_string(),
            "FORMULA Net-PT-1-UpperBounds-00 3 TECHNIQUES EXPLICIT STUBBORN_SETS"
        );
        let unknown = Line::Formula {
            id: "Liveness".into(),
            value: Value::Unknown,
            techniques: Vec::new(),
        };
        assert_eq!(unknown.to_string(), "FORMULA Liveness CANNOT_COMPUTE");
        let states = Line::StateSpace {
            measure: "STATES",
            value: Some(1 << 70),
            techniques: vec![Technique::Explicit],
        };
        assert_eq!(
            states.to_string(),
            "STATE_SPACE STATES 1180591620717411303424 TECHNIQUES EXPLICIT"
        );
        assert_eq!(Line::CannotCompute.to_string(), "CANNOT_COMPUTE");
    }
}
