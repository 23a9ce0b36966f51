//! The contest's formulas, answered on whole state spaces and compared with the contest's
//! answers: reachability, bounds, and that LTL and CTL files are read.

use crate::common;

use std::collections::HashMap;
use std::path::Path;

use common::{corpus, expected, explore_system, instances, load_instance, read};
use stubborn_net::{Formula, Helpful, NetSystem, Target};
use stubborn_pnml::{Question, read_properties};
use stubborn_system::System;

/// The properties of one file of an instance; none if there is no such file.
fn properties(
    corpus: &Path,
    instance: &str,
    file: &str,
    model: &stubborn_pnml::Model,
) -> Option<Vec<stubborn_pnml::ContestProperty>> {
    let path = corpus.join(instance).join(format!("{file}.xml"));
    if !path.is_file() {
        return None;
    }
    let source = read(&path);
    let (properties, messages) = read_properties(&source, model);
    let text = stubborn_diagnostics::render(&source, &messages, false);
    assert!(messages.is_empty(), "{text}");
    Some(properties)
}

#[test]
fn every_property_file_is_read() {
    let Some(corpus) = corpus() else { return };
    let mut count = HashMap::new();
    for instance in instances(&corpus) {
        let model = load_instance(&corpus, &instance);
        for file in [
            "ReachabilityCardinality",
            "ReachabilityFireability",
            "LTLCardinality",
            "LTLFireability",
            "CTLCardinality",
            "CTLFireability",
            "UpperBounds",
        ] {
            let Some(found) = properties(&corpus, &instance, file, &model) else {
                continue;
            };
            assert_eq!(found.len(), 16, "{instance} {file}");
            for property in found {
                assert!(
                    property.id.starts_with(&format!("{instance}-{file}")),
                    "{}",
                    property.id
                );
                let fits = match property.question {
                    Question::Reachable(_) => !file.starts_with("LTL") && file != "UpperBounds",
                    Question::Invariant(_) => file != "UpperBounds",
                    Question::Ltl(_) => file.starts_with("LTL") || file.starts_with("CTL"),
                    Question::UpperBound(_) => file == "UpperBounds",
                    Question::Ctl(_) => file.starts_with("CTL"),
                    Question::Unsupported => false,
                };
                assert!(fits, "{}", property.id);
            }
            *count.entry(file).or_insert(0) += 1;
        }
    }
    assert!(count.values().all(|files| *files > 50), "{count:?}");
}

/// Answers all reachability and bound questions of instances with at most `limit` states, by
/// the labels of the system.
fn compare_answers(limit: usize) {
    let Some(corpus) = corpus() else { return };
    let state_space = expected(&corpus, "StateSpace");
    let files = [
        "ReachabilityCardinality",
        "ReachabilityFireability",
        "UpperBounds",
    ];
    let answers: HashMap<&str, _> = files
        .iter()
        .map(|file| (*file, expected(&corpus, file)))
        .collect();
    let mut compared = 0;
    for instance in instances(&corpus) {
        let states = state_space.get(&(instance.clone(), "STATES".to_owned()));
        let Some(states) = states.and_then(|v| v.parse::<usize>().ok()) else {
            continue;
        };
        if states > limit {
            continue;
        }
        let model = load_instance(&corpus, &instance);
        let mut system = NetSystem::new(model.net.clone()).unwrap();
        let mut labels = Vec::new();
        let mut sums = Vec::new();
        for file in files {
            for property in properties(&corpus, &instance, file, &model).unwrap_or_default() {
                // Some files put the year into the id, the table of answers never does.
                let id = property
                    .id
                    .replace("-2023-", "-")
                    .replace("-2024-", "-")
                    .replace("-2025-", "-");
                let answer = &answers[file][&(instance.clone(), id)];
                let (formula, found) = match property.question {
                    Question::Reachable(formula) => (formula, "TRUE"),
                    Question::Invariant(formula) => (Formula::negated(formula), "FALSE"),
                    Question::UpperBound(places) => {
                        sums.push((places, 0u64, property.id, answer));
                        continue;
                    }
                    Question::Ltl(_) | Question::Ctl(_) | Question::Unsupported => continue,
                };
                let label = system.add_label(formula.clone()).unwrap();
                labels.push((label, formula, found, false, property.id, answer));
            }
        }
        let mut executor = system.executor();
        let mut helpful = Helpful::new(system.net());
        let mut number = 0;
        explore_system(&system, limit + 1, |state, _| {
            number += 1;
            for (label, formula, _, seen, id, _) in &mut labels {
                if *seen && number % 100 != 0 {
                    continue;
                }
                let holds = executor.label(state, *label);
                *seen |= holds;
                if number % 100 == 1 {
                    let slow = formula.holds(system.net(), &|place| system.tokens(state, place));
                    assert_eq!(slow, Some(holds), "{id}");
                    let places = system.net().places();
                    let marking: Vec<_> = places.map(|p| system.tokens(state, p)).collect();
                    for (formula, holds) in [
                        (formula.clone(), holds),
                        (formula.clone().negated(), !holds),
                    ] {
                        let target = Target::new(system.net(), &formula);
                        let far = helpful.distance(&marking, &target);
                        assert_eq!(far == Some(0), holds, "{id}");
                    }
                }
            }
            for (places, most, _, _) in &mut sums {
                let sum = places.iter().map(|p| system.tokens(state, *p)).sum();
                *most = (*most).max(sum);
            }
        });
        for (_, _, found, seen, id, answer) in labels {
            let verdict = if seen == (found == "TRUE") {
                "TRUE"
            } else {
                "FALSE"
            };
            if answer != "?" {
                assert_eq!(verdict, answer, "{id}");
                compared += 1;
            }
        }
        for (_, most, id, answer) in sums {
            if answer != "?" {
                assert_eq!(most.to_string(), *answer, "{id}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn answers_on_small_state_spaces_are_those_of_the_contest() {
    compare_answers(5_000);
}

#[test]
#[ignore = "long: answers formulas on state spaces of up to 60,000 states"]
fn answers_on_larger_state_spaces_are_those_of_the_contest() {
    compare_answers(60_000);
}
