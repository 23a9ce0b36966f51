//! What was tried: features of languages, options and their values, verdicts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How often each feature was met.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

impl Coverage {
    /// A coverage in which every one of these features was met 0 times.
    pub fn declared(features: impl IntoIterator<Item = String>) -> Self {
        Self {
            counts: features.into_iter().map(|feature| (feature, 0)).collect(),
        }
    }

    /// Counts a feature once. Names have groups: `option --por beam`, `verdict violated`.
    pub fn note(&mut self, feature: &str) {
        match self.counts.get_mut(feature) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(feature.to_owned(), 1);
            }
        }
    }

    /// How often a feature was met.
    pub fn count(&self, feature: &str) -> u64 {
        self.counts.get(feature).copied().unwrap_or(0)
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Coverage) {
        for (feature, count) in &other.counts {
            *self.counts.entry(feature.clone()).or_default() += count;
        }
    }

    /// The features that were never met, among those declared.
    pub fn missing(&self) -> Vec<&str> {
        let missing = self.counts.iter().filter(|(_, count)| **count == 0);
        missing.map(|(feature, _)| feature.as_str()).collect()
    }

    /// A table: a line for each group (the first word of a name), then what is missing.
    pub fn table(&self) -> String {
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (feature, count) in self.counts.iter().filter(|(_, count)| **count > 0) {
            let (group, rest) = feature.split_once(' ').unwrap_or((feature, ""));
            let cell = format!("{rest} {count}").trim().to_owned();
            groups.entry(group).or_default().push(cell);
        }
        let mut text = String::new();
        for (group, cells) in groups {
            let _ = writeln!(text, "  {group}: {}", cells.join(", "));
        }
        let missing = self.missing();
        if !missing.is_empty() {
            let _ = writeln!(text, "  never: {}", missing.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_declared_and_never_met_is_listed() {
        let mut coverage = Coverage::declared(["por beam".into(), "por goal".into()]);
        coverage.note("por beam");
        coverage.note("verdict holds");
        let mut sum = Coverage::declared(["por beam".into(), "store tree".into()]);
        sum.add(&coverage);
        sum.add(&coverage);
        assert_eq!(sum.count("por beam"), 2);
        assert_eq!(sum.missing(), ["por goal", "store tree"]);
        assert_eq!(
            sum.table(),
            "  por: beam 2\n  verdict: holds 2\n  never: por goal, store tree\n"
        );
    }
}
