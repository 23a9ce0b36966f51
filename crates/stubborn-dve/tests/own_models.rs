//! The models of `tests/models` and the examples of the repository: each says in its first comment lines what it shows and
//! what the exploration must find.
//!
//! * `// expect: states 7 transitions 6 deadlocks 1`, and further numbers by name: `levels`,
//!   `errors`, `violated` (states that violate an assertion);
//! * `// reachable: EXPRESSION` and `// unreachable: EXPRESSION`.

use crate::support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use stubborn_ir::Model;
use support::explore::explore;

#[test]
fn counts_are_as_the_models_say() {
    let models = support::own_models();
    assert!(models.len() > 30);
    compare(&models);
}

#[test]
fn counts_are_as_the_examples_say() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let models = support::models_in(Path::new(examples));
    assert!(models.len() > 4);
    compare(&models);
}

fn compare(models: &[PathBuf]) {
    let mut failures = Vec::new();
    for path in models {
        let source = support::read(path);
        let mut lowered = support::lowered(&source);
        let (mut expected, mut labels, mut texts) = (BTreeMap::new(), Vec::new(), Vec::new());
        for line in source
            .text()
            .lines()
            .map_while(|line| line.strip_prefix("//"))
            .map(str::trim)
        {
            if let Some(numbers) = line.strip_prefix("expect: ") {
                let words: Vec<&str> = numbers.split_whitespace().collect();
                for pair in words.chunks(2) {
                    expected.insert(pair[0], pair[1].parse::<usize>().expect("a number"));
                }
            }
            for (mark, wanted) in [("reachable: ", true), ("unreachable: ", false)] {
                if let Some(text) = line.strip_prefix(mark) {
                    labels.push(support::proposition(&mut lowered, text));
                    texts.push((text, wanted));
                }
            }
        }
        assert!(
            expected.contains_key("states"),
            "{} expects nothing",
            source.name()
        );
        let asked = labels.len();
        let model = Model::new(lowered.into_program()).expect("the program is well-formed");
        labels.extend(model.program().properties.iter().map(|p| p.violated_by));
        let counts = explore(&model, &labels, 1_000_000).expect("the model is small");
        for (name, value) in expected {
            let found = match name {
                "states" => counts.states,
                "transitions" => counts.transitions,
                "deadlocks" => counts.deadlocks,
                "levels" => counts.levels,
                "errors" => counts.errors,
                "violated" => counts.holds[asked..].iter().sum(),
                _ => panic!("{}: what is {name}?", source.name()),
            };
            if found != value {
                failures.push(format!("{}: {found} {name}, not {value}", source.name()));
            }
        }
        for ((text, wanted), count) in texts.iter().zip(&counts.holds) {
            if (*count > 0) != *wanted {
                failures.push(format!(
                    "{}: `{text}` holds in {count} states",
                    source.name()
                ));
            }
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
