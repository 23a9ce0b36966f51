//! Ours against theirs: where we are worse, and by how much.

use crate::experiment::Measure;
use crate::table::{Figure, Table, Tone, grouped, shown};

/// A figure as a paper prints it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// The number, or the lower end of a range.
    pub value: Option<f64>,
    /// The upper end of a range.
    pub upper: Option<f64>,
    /// Half of the last printed digit: a difference below it means nothing.
    pub rounding: f64,
    /// Whether print was so bad that the number may be wrong (`~`).
    pub is_doubtful: bool,
    /// Whether the paper's run had not ended (`>`).
    pub is_bound: bool,
}

impl Printed {
    /// Reads `12.5`, `~12.5`, `>38000000`, `7e7`, `6.25..6.99`, or words.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let (rest, is_doubtful) = strip(text, '~');
        let (rest, is_bound) = strip(rest, '>');
        let (low, high) = match rest.split_once("..") {
            Some((low, high)) => (low, Some(high)),
            None => (rest, None),
        };
        let digits = low
            .split_once('.')
            .map_or(0, |(_, fraction)| fraction.len());
        let mut rounding = 0.5 * 10_f64.powi(-i32::try_from(digits).unwrap_or(0));
        if let Some((_, exponent)) = low.split_once('e') {
            rounding = 0.5 * 10_f64.powi(exponent.parse().unwrap_or(0));
        }
        Self {
            value: low.parse().ok(),
            upper: high.and_then(|high| high.parse().ok()),
            rounding,
            is_doubtful,
            is_bound,
            text: text.to_owned(),
        }
    }

    /// For a table's cell.
    pub(crate) fn shown(&self, measure: Measure) -> String {
        let Some(value) = self.value else {
            return self.text.clone();
        };
        let is_count = matches!(
            measure,
            Measure::States | Measure::Transitions | Measure::StatesPerSecond
        );
        if is_count && value >= 1000.0 && value.fract() == 0.0 && !self.text.contains('e') {
            let mark = |flag, mark| if flag { mark } else { "" };
            let number = grouped(value as u64);
            return format!(
                "{}{}{number}",
                mark(self.is_doubtful, "~"),
                mark(self.is_bound, "> ")
            );
        }
        self.text.clone()
    }
}

fn strip(text: &str, mark: char) -> (&str, bool) {
    match text.strip_prefix(mark) {
        Some(rest) => (rest.trim(), true),
        None => (text, false),
    }
}

/// A figure of ours and the printed one.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The experiment.
    pub experiment: String,
    /// The row.
    pub row: String,
    /// The column.
    pub column: String,
    /// Ours.
    pub ours: f64,
    /// Ours, for people.
    pub ours_text: String,
    /// The paper's.
    pub paper: f64,
    /// The paper's, for people.
    pub paper_text: String,
    /// Below it, a difference means nothing.
    pub slack: f64,
    /// Whether the paper's number may be wrong.
    pub is_doubtful: bool,
    /// Whether ours is only a lower bound.
    pub is_bound: bool,
    more_is_better: bool,
}

impl Comparison {
    /// Compares, if both are numbers and the paper's is exact.
    pub(crate) fn of(
        experiment: &str,
        row: &str,
        column: &str,
        figure: &Figure,
        printed: &Printed,
        measure: Measure,
    ) -> Option<Self> {
        let paper = printed.value.filter(|_| !printed.is_bound)?;
        let (ours, is_bound, ours_text) = match figure {
            Figure::Number { value, is_bound } => (*value, *is_bound, shown(*value, measure)),
            // The middles of two ranges.
            Figure::Range(low, high) => {
                let text = format!("{}..{}", shown(*low, measure), shown(*high, measure));
                ((low + high) / 2.0, false, text)
            }
            Figure::Words(_) | Figure::Absent(_) => return None,
        };
        let paper_middle = printed.upper.map_or(paper, |upper| (paper + upper) / 2.0);
        let spread = printed.upper.map_or(0.0, |upper| (upper - paper) / 2.0);
        Some(Self {
            experiment: experiment.into(),
            row: row.into(),
            column: column.into(),
            ours,
            ours_text: if is_bound {
                format!("> {ours_text}")
            } else {
                ours_text
            },
            paper: paper_middle,
            paper_text: printed.shown(measure),
            slack: printed.rounding + spread,
            is_doubtful: printed.is_doubtful,
            is_bound,
            more_is_better: measure.more_is_better(),
        })
    }

    /// How many times worse ours is: above 1 is worse.
    pub fn factor(&self) -> f64 {
        let (ours, paper) = (self.ours.max(1e-9), self.paper.max(1e-9));
        if self.more_is_better {
            paper / ours
        } else {
            ours / paper
        }
    }

    /// Better, equal or worse.
    pub fn tone(&self) -> Tone {
        let difference = self.ours - self.paper;
        let worse_by = if self.more_is_better {
            -difference
        } else {
            difference
        };
        // Half a digit more for our own rounding.
        if worse_by > self.slack * 1.000_001 {
            Tone::Worse
        } else if worse_by < -self.slack && !self.is_bound {
            Tone::Better
        } else {
            Tone::Equal
        }
    }
}

/// Where we are worse than a paper, the worst first.
pub fn worse(tables: &[Table]) -> Vec<&Comparison> {
    let all = tables.iter().flat_map(|table| &table.comparisons);
    let mut worse: Vec<&Comparison> = all.filter(|c| c.tone() == Tone::Worse).collect();
    worse.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
    worse
}

/// How many figures are better, equal, worse.
pub fn tally(table: &Table) -> (usize, usize, usize) {
    let count = |tone| {
        table
            .comparisons
            .iter()
            .filter(|c| c.tone() == tone)
            .count()
    };
    (count(Tone::Better), count(Tone::Equal), count(Tone::Worse))
}

/// A figure that differs between two series of runs.
#[derive(Clone, Debug)]
pub struct Change {
    /// The experiment.
    pub experiment: String,
    /// The row.
    pub row: String,
    /// The column.
    pub column: String,
    /// The figure before.
    pub before: f64,
    /// The figure after.
    pub after: f64,
}

/// Figures that are worse in the second series, the worst first.
pub fn got_worse(before: &[Table], after: &[Table]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (old, new) in before.iter().zip(after) {
        for ((row, column), after) in &new.figures {
            let before = old.figures.get(&(row.clone(), column.clone()));
            if let Some(before) = before.filter(|before| *after > **before * 1.000_001) {
                changes.push(Change {
                    experiment: new.id.clone(),
                    row: row.clone(),
                    column: column.clone(),
                    before: *before,
                    after: *after,
                });
            }
        }
    }
    let factor = |c: &Change| c.after / c.before.max(1e-9);
    changes.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(ours: f64, printed: &str) -> Option<Comparison> {
        let figure = Figure::Number {
            value: ours,
            is_bound: false,
        };
        let printed = Printed::parse(printed);
        Comparison::of(
            "t/1",
            "row",
            "column",
            &figure,
            &printed,
            Measure::StatesPercent,
        )
    }

    #[test]
    fn printed_figures_are_read() {
        assert_eq!(Printed::parse("12.5").value, Some(12.5));
        assert_eq!(Printed::parse("~12.50").rounding, 0.005);
        assert!(Printed::parse("~12.50").is_doubtful);
        assert!(Printed::parse(">38000000").is_bound);
        let range = Printed::parse("6.25..6.99");
        assert_eq!((range.value, range.upper), (Some(6.25), Some(6.99)));
        assert_eq!(Printed::parse("7e7").rounding, 5e6);
        assert_eq!(Printed::parse("22h53m").value, None);
        assert_eq!(
            Printed::parse("3305752").shown(Measure::States),
            "3,305,752"
        );
    }

    #[test]
    fn rounding_decides_between_equal_and_worse() {
        assert_eq!(compare(16.4, "16").unwrap().tone(), Tone::Equal);
        assert_eq!(compare(16.6, "16").unwrap().tone(), Tone::Worse);
        assert_eq!(compare(15.4, "16").unwrap().tone(), Tone::Better);
        assert_eq!(compare(16.0, "16.00").unwrap().tone(), Tone::Equal);
        assert_eq!(compare(16.1, "16.00").unwrap().tone(), Tone::Worse);
        assert!(compare(16.1, ">16").is_none());
        assert!((compare(32.0, "16").unwrap().factor() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_worst_comes_first() {
        let mut table = Table::default();
        table.comparisons.extend(compare(20.0, "10"));
        table.comparisons.extend(compare(60.0, "10"));
        table.comparisons.extend(compare(5.0, "10"));
        let tables = [table];
        let factors: Vec<f64> = worse(&tables).iter().map(|c| c.factor()).collect();
        assert_eq!(factors, [6.0, 2.0]);
        assert_eq!(tally(&tables[0]), (1, 0, 2));
    }

    #[test]
    fn a_worse_series_is_noticed() {
        let mut before = Table::default();
        before.figures.insert(("a".into(), "x".into()), 10.0);
        before.figures.insert(("b".into(), "x".into()), 10.0);
        let mut after = before.clone();
        after.figures.insert(("b".into(), "x".into()), 30.0);
        after.figures.insert(("c".into(), "x".into()), 30.0);
        let changes = got_worse(&[before], &[after]);
        assert_eq!(changes.len(), 1);
        assert_eq!((changes[0].row.as_str(), changes[0].after), ("b", 30.0));
    }
}
