//! Which reduction for which model: a rule from results, tried on models it has not seen.
//!
//! Every model of the portfolio's experiment was run with every candidate. A rule looks at
//! what is known before a search (the language, the numbers of processes and transitions, a
//! sample of states with and without reduction) and names a candidate. How bad a choice is,
//! is its *regret*: how many times more states, or processor time, than the best candidate
//! for that model. Rules are small decision trees, fitted greedily to the least mean
//! logarithm of regret.
//!
//! A rule is judged on models of families that it was not fitted on: every family is left
//! out once, because instances of one family resemble each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::Experiment;
use crate::plan;
use crate::record::{Outcome, Record};
use crate::scores::geometric_mean;
use crate::table::Lookup;

/// A leaf of a rule is fitted on at least so many models.
const LEAST_LEAF: usize = 8;
/// Processor time below which differences mean nothing, in seconds.
const NOISE: f64 = 0.05;
/// A run that reached a limit counts as so many times worse than the best.
const FAILURE: f64 = 30.0;

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Few states.
    States,
    /// Little processor time.
    Time,
}

impl Aim {
    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::States => "states",
            Self::Time => "time",
        }
    }
}

/// A model: what is known before the search, and what each candidate cost.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub model: String,
    /// Its family.
    pub family: String,
    /// What is known before.
    pub features: BTreeMap<String, f64>,
    /// Logarithms of the regret, by candidate: of states, of time.
    pub regret: BTreeMap<String, (f64, f64)>,
}

impl Case {
    fn loss(&self, candidate: &str, aim: Aim) -> f64 {
        let (states, time) = self
            .regret
            .get(candidate)
            .copied()
            .unwrap_or((FAILURE.ln(), FAILURE.ln()));
        match aim {
            Aim::States => states,
            Aim::Time => time,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Always this candidate.
    Take(String),
    /// Depending on a feature.
    Split {
        /// Which.
        feature: String,
        /// Up to this value, the first; above, the second.
        at: f64,
        /// The first.
        below: Box<Rule>,
        /// The second.
        above: Box<Rule>,
    },
}

impl Rule {
    /// What it chooses.
    pub fn choose(&self, case: &Case) -> &str {
        match self {
            Self::Take(candidate) => candidate,
            Self::Split {
                feature,
                at,
                below,
                above,
            } => {
                let value = case.features.get(feature).copied().unwrap_or(0.0);
                let side = if value <= *at { below } else { above };
                side.choose(case)
            }
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        match self {
            Self::Take(candidate) => format!("`{candidate}`"),
            Self::Split {
                feature,
                at,
                below,
                above,
            } => format!(
                "if {feature} ≤ {}: {}, else {}",
                (at * 100.0).round() / 100.0,
                below.text(),
                above.text()
            ),
        }
    }
}

/// How a rule did.
#[derive(Clone, Debug)]
pub struct Judged {
    /// What it is called.
    pub name: String,
    /// What it was fitted to.
    pub aim: Option<Aim>,
    /// Regret (a factor) on the models that it was fitted on: states, time.
    pub fitted: (f64, f64),
    /// Regret on the models of families that were left out: states, time.
    pub held_out: (f64, f64),
    /// The rule fitted on all models.
    pub rule: Option<String>,
}

/// What was learnt.
#[derive(Clone, Debug, Default)]
pub struct Portfolio {
    /// How many models it is about.
    pub models: usize,
    /// How many families.
    pub families: usize,
    /// The rules.
    pub judged: Vec<Judged>,
    /// How often each candidate has the fewest states, and how often it is the fastest
    /// (within 5%).
    pub wins: BTreeMap<String, (usize, usize)>,
}

/// Learns from the results of an experiment with the configurations `features`, `sample` and
/// `beam sample`; every other one is a candidate, but `auto`, which is judged beside the rules.
pub fn learn(experiment: &Experiment, lookup: Lookup<'_>) -> Portfolio {
    let (cases, candidates) = cases(experiment, lookup);
    let families: BTreeSet<&str> = cases.iter().map(|case| case.family.as_str()).collect();
    let mut portfolio = Portfolio {
        models: cases.len(),
        families: families.len(),
        ..Portfolio::default()
    };
    if families.len() < 3 {
        return portfolio;
    }
    for candidate in candidates.iter().map(String::as_str).chain(["auto"]) {
        let fixed = Rule::Take(candidate.to_owned());
        let regret = regret(&cases, &|_| fixed.clone());
        let close = |aim| {
            cases
                .iter()
                .filter(|c| c.loss(candidate, aim) < 0.05)
                .count()
        };
        let wins = (close(Aim::States), close(Aim::Time));
        portfolio.wins.insert(candidate.to_owned(), wins);
        portfolio.judged.push(Judged {
            name: format!("always {candidate}"),
            aim: None,
            fitted: regret,
            held_out: regret,
            rule: None,
        });
    }
    for aim in [Aim::Time, Aim::States] {
        for depth in 0..=2 {
            portfolio
                .judged
                .push(judge(&cases, &candidates, aim, depth));
        }
    }
    portfolio
}

/// Fits a rule to all, and to all but each family in turn.
fn judge(cases: &[Case], candidates: &[String], aim: Aim, depth: usize) -> Judged {
    let all: Vec<&Case> = cases.iter().collect();
    let rule = fit(&all, candidates, aim, depth);
    let families: BTreeSet<&str> = cases.iter().map(|case| case.family.as_str()).collect();
    let without: BTreeMap<&str, Rule> = families
        .into_iter()
        .map(|family| {
            let others: Vec<&Case> = cases.iter().filter(|c| c.family != family).collect();
            (family, fit(&others, candidates, aim, depth))
        })
        .collect();
    let questions = match depth {
        0 => "one candidate for all".to_owned(),
        1 => "one question".to_owned(),
        _ => format!("{depth} questions"),
    };
    Judged {
        name: format!("{questions}, fitted to {}", aim.text()),
        aim: Some(aim),
        fitted: regret(cases, &|_| rule.clone()),
        held_out: regret(cases, &|case| without[case.family.as_str()].clone()),
        rule: Some(rule.text()),
    }
}

/// Geometric means of regrets: of states, of time.
fn regret(cases: &[Case], rule: &dyn Fn(&Case) -> Rule) -> (f64, f64) {
    let mean = |aim| {
        let losses = cases
            .iter()
            .map(|case| case.loss(rule(case).choose(case), aim).exp());
        geometric_mean(losses)
    };
    (mean(Aim::States), mean(Aim::Time))
}

fn total(cases: &[&Case], candidate: &str, aim: Aim) -> f64 {
    cases.iter().map(|case| case.loss(candidate, aim)).sum()
}

/// The best single candidate, and its total loss.
fn best<'a>(cases: &[&Case], candidates: &'a [String], aim: Aim) -> (&'a str, f64) {
    let losses = candidates
        .iter()
        .map(|c| (c.as_str(), total(cases, c, aim)));
    losses
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or(("none", 0.0))
}

fn fit(cases: &[&Case], candidates: &[String], aim: Aim, depth: usize) -> Rule {
    let (candidate, loss) = best(cases, candidates, aim);
    let leaf = Rule::Take(candidate.to_owned());
    if depth == 0 {
        return leaf;
    }
    let features: BTreeSet<&String> = cases.iter().flat_map(|c| c.features.keys()).collect();
    let mut found: Option<(f64, &String, f64)> = None;
    for feature in features {
        let value = |case: &&Case| case.features.get(feature).copied().unwrap_or(0.0);
        let mut values: Vec<f64> = cases.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        for pair in values.windows(2) {
            let at = f64::midpoint(pair[0], pair[1]);
            let (low, high): (Vec<&Case>, Vec<&Case>) =
                cases.iter().copied().partition(|case| value(case) <= at);
            if low.len() < LEAST_LEAF || high.len() < LEAST_LEAF {
                continue;
            }
            let sum = best(&low, candidates, aim).1 + best(&high, candidates, aim).1;
            if found.is_none_or(|(least, ..)| sum < least - 1e-9) {
                found = Some((sum, feature, at));
            }
        }
    }
    let Some((_, feature, at)) = found.filter(|(sum, ..)| *sum < loss - 1e-9) else {
        return leaf;
    };
    let value = |case: &&Case| case.features.get(feature).copied().unwrap_or(0.0);
    let (low, high): (Vec<&Case>, Vec<&Case>) = cases.iter().copied().partition(|c| value(c) <= at);
    let (below, above) = (
        fit(&low, candidates, aim, depth - 1),
        fit(&high, candidates, aim, depth - 1),
    );
    if below == above {
        return below;
    }
    Rule::Split {
        feature: feature.clone(),
        at,
        below: Box::new(below),
        above: Box::new(above),
    }
}

/// Models for which all candidates were tried.
fn cases(experiment: &Experiment, lookup: Lookup<'_>) -> (Vec<Case>, Vec<String>) {
    let known = ["features", "sample", "beam sample"];
    let tried = |name: &str| !known.contains(&name);
    let names = experiment.configurations.iter().map(|c| c.name.as_str());
    let candidates: Vec<String> = names
        .filter(|name| tried(name) && *name != "auto")
        .map(str::to_owned)
        .collect();
    let mut cases = Vec::new();
    for row in plan::rows(experiment, lookup.corpus) {
        let Ok(model) = &row.model else { continue };
        let record = |name: &str| -> Option<&Record> {
            let records = lookup.records(experiment.configuration(name)?, &row);
            records.first().map(|(_, record)| *record)
        };
        let costs: BTreeMap<String, (f64, f64)> = (candidates.iter().map(String::as_str))
            .chain(["auto"])
            .filter_map(|name| Some((name.to_owned(), cost(record(name)?)?)))
            .collect();
        // Without every candidate there is no knowing which was best.
        let complete = candidates.iter().all(|c| record(c).is_some());
        let ended = costs.values().filter(|(states, _)| states.is_finite());
        let fewest = ended
            .clone()
            .map(|(states, _)| *states)
            .fold(f64::MAX, f64::min);
        let fastest = ended
            .clone()
            .map(|(_, time)| *time)
            .fold(f64::MAX, f64::min);
        if !complete || ended.count() == 0 {
            continue;
        }
        let regret = costs.into_iter().map(|(name, (states, time))| {
            let factor = |value: f64, least: f64| (value / least).min(FAILURE).ln();
            (name, (factor(states, fewest), factor(time, fastest)))
        });
        cases.push(Case {
            model: row.label.clone(),
            family: model.family(),
            features: features(model.suite(), &record),
            regret: regret.collect(),
        });
    }
    (cases, candidates)
}

/// States and time of a run; infinite if it did not end, nothing if it says nothing.
fn cost(record: &Record) -> Option<(f64, f64)> {
    match record.outcome {
        Outcome::Done => Some(((record.states? as f64).max(1.0), record.cpu_seconds + NOISE)),
        Outcome::TimeLimit | Outcome::MemoryLimit | Outcome::Crashed | Outcome::Unsupported => {
            Some((f64::INFINITY, f64::INFINITY))
        }
        Outcome::NotInstalled => None,
    }
}

fn features<'a>(suite: &str, record: &dyn Fn(&str) -> Option<&'a Record>) -> BTreeMap<String, f64> {
    let mut features = BTreeMap::new();
    let mut set = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            features.insert(name.to_owned(), value);
        }
    };
    set("is a net", Some(f64::from(u8::from(suite == "pnml"))));
    set("is Promela", Some(f64::from(u8::from(suite == "promela"))));
    let number = |name: &str| record("features")?.numbers.get(name).copied();
    for (name, key) in [
        ("processes", "processes"),
        ("transitions", "transitions"),
        ("guards", "guards"),
        ("fields", "fields"),
        ("words", "words"),
    ] {
        set(name, number(key));
    }
    let branching = |name: &str| {
        let record = record(name)?;
        Some(record.transitions? as f64 / (record.states? as f64).max(1.0))
    };
    let (all, reduced) = (branching("sample"), branching("beam sample"));
    set("branching of a sample", all);
    let share = all
        .zip(reduced)
        .map(|(all, reduced)| reduced / all.max(1e-9));
    set("share of branching that beam keeps in a sample", share);
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(number: usize, size: f64) -> Case {
        // Small models are best left alone, large ones reduced.
        let (plain, reduced) = if size < 10.0 { (0.0, 1.0) } else { (2.0, 0.0) };
        let regret = [("none", plain), ("beam", reduced)];
        Case {
            model: format!("m{number}"),
            family: format!("f{}", number / 2),
            features: [("size".to_owned(), size)].into(),
            regret: regret
                .map(|(name, loss)| (name.to_owned(), (loss, loss)))
                .into(),
        }
    }

    #[test]
    fn a_question_is_found_and_holds_for_families_left_out() {
        let cases: Vec<Case> = (0..40).map(|n| case(n, n as f64 / 2.0)).collect();
        let candidates = ["none".to_owned(), "beam".to_owned()];
        let fixed = judge(&cases, &candidates, Aim::Time, 0);
        let split = judge(&cases, &candidates, Aim::Time, 1);
        assert!(fixed.held_out.1 > 1.2);
        assert!((split.fitted.1 - 1.0).abs() < 1e-9);
        assert!(split.held_out.1 < 1.1, "{:?}", split.held_out);
        assert!(split.rule.unwrap().contains("size"));
    }

    #[test]
    fn leaves_are_not_fitted_on_a_few_models() {
        let cases: Vec<Case> = (0..10).map(|n| case(n, n as f64 * 2.0)).collect();
        let refs: Vec<&Case> = cases.iter().collect();
        let rule = fit(&refs, &["none".into(), "beam".into()], Aim::States, 2);
        assert!(matches!(rule, Rule::Take(_)));
    }
}
