//! Trails that SPIN can replay, and that we can replay ourselves.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use stubborn_promela::source::NoIncludes;
use stubborn_promela::trail::Step;
use stubborn_promela::{Loaded, Options, load};
use stubborn_system::{FailureKind, Outcome, Successors, System, TransitionId};

use crate::random_programs::program_with_assertions;
use crate::support::{Scratch, examples, has_spin, spin_search};

fn loaded(text: &str) -> Loaded {
    match load(Path::new("m.pml"), text, &Options::default(), &NoIncludes) {
        Ok(loaded) => loaded,
        Err((sources, diagnostics)) => panic!("{}", sources.render(&diagnostics, false)),
    }
}

/// A shortest run to a failed assertion.
fn violation(loaded: &Loaded) -> Option<Vec<Step>> {
    let model = &loaded.model;
    let mut executor = model.executor();
    let mut successors = Successors::new(model.layout().words());
    let initial = model.initial_states();
    let mut parents: HashMap<Vec<u32>, Option<(Vec<u32>, TransitionId)>> =
        HashMap::from([(initial.clone(), None)]);
    let mut todo = std::collections::VecDeque::from([initial]);
    while let Some(state) = todo.pop_front() {
        successors.clear();
        executor.successors(&state, &mut successors);
        for next in successors.iter() {
            let mut sites = next.outcome.sites(model.structure());
            if sites.any(|s| s.kind == FailureKind::Assertion) {
                let mut run = vec![Step {
                    transition: next.transition,
                    outcome: next.outcome,
                    state: next.state.to_vec(),
                }];
                let mut at = state.clone();
                while let Some(Some((before, transition))) = parents.get(&at) {
                    run.push(Step {
                        transition: *transition,
                        outcome: Outcome::FINE,
                        state: at.clone(),
                    });
                    at = before.clone();
                }
                run.reverse();
                return Some(run);
            }
            if next.outcome == Outcome::FINE && !parents.contains_key(next.state) {
                let reached = next.state.to_vec();
                parents.insert(reached.clone(), Some((state.clone(), next.transition)));
                todo.push_back(reached);
            }
        }
    }
    None
}

const MEETING: &str = "chan c = [0] of { byte }; byte n;
proctype Work(byte k) { do :: n < 3 -> atomic { n++; n = n } :: n >= 3 -> break od; c!k }
init { byte v; atomic { run Work(1); run Work(2) }; c?v; d_step { n = 9; v = 0 };
  if :: n == 9 -> assert(n == 0) :: else fi }
";

#[test]
fn what_is_written_can_be_read() {
    let loaded = loaded(MEETING);
    let run = violation(&loaded).expect("the assertion fails");
    let trail = loaded.write_trail(&run, None, None);
    let (read, cycle) = loaded.read_trail(&trail).expect("our own trail");
    assert_eq!(cycle, None);
    assert_eq!(read.last().map(|s| &s.state), run.last().map(|s| &s.state));
    assert!(
        trail.lines().count() > run.len(),
        "atomic sequences are written statement by statement"
    );
    // The trail of a failed assertion may end within an atomic sequence.
    let cut: Vec<&str> = trail.lines().take(2).collect();
    assert!(loaded.read_trail(&cut.join("\n")).is_ok());
    assert!(loaded.read_trail("1:7:0\n").is_err());
    assert!(loaded.read_trail("nonsense").is_err());
}

#[test]
fn spin_replays_our_trails() {
    if !has_spin() {
        return;
    }
    let scratch = Scratch::new("trails");
    let mut texts = vec![MEETING.to_string()];
    texts.extend(
        examples()
            .into_iter()
            .filter(|e| e.text.contains("assert"))
            .map(|e| e.text),
    );
    let mut replayed = 0;
    for text in texts {
        let loaded = loaded(&text);
        let Some(run) = violation(&loaded) else {
            continue;
        };
        std::fs::write(scratch.0.join("m.pml"), &text).expect("a file");
        std::fs::write(
            scratch.0.join("m.pml.trail"),
            loaded.write_trail(&run, None, None),
        )
        .expect("a file");
        let out = Command::new("spin")
            .args(["-t", "m.pml"])
            .current_dir(&scratch.0)
            .output();
        let out = String::from_utf8_lossy(&out.expect("spin runs").stdout).into_owned();
        let about_fields = out.contains("assertion violated") || text.contains("q!1; q?a, _");
        assert!(about_fields, "SPIN says:\n{out}\nabout\n{text}");
        replayed += 1;
    }
    assert!(replayed >= 5, "only {replayed} trails");
}

/// Trails of plain `spin -a; pan`, as SPIN 6.5.2 writes them, to where every process is stuck.
#[test]
fn trails_with_merged_statements_are_followed() {
    for (body, lines) in [
        ("atomic { x = 1; x = 2; x = 3 }", "0"),
        (
            "atomic { do :: (i < 1) -> i++ :: (i == 1) -> break od }",
            "0 2 6",
        ),
        (
            "atomic { do :: (x < 1) -> x++ :: (x == 1) -> x = 5; break od }",
            "0 2 7",
        ),
        (
            "atomic { do :: (x < 1) -> x++ :: (x == 1) -> break od; x = 7; x = 8 }",
            "0 2",
        ),
        (
            "atomic { do :: (x < 1) -> x++ :: (x == 1) -> break od; x = 7 }",
            "0 2 6 7",
        ),
        (
            "atomic { x = 1; if :: (x < 1) -> x++ :: (x == 1) -> skip fi }",
            "0 3 4",
        ),
        (
            "atomic { x = 1; if :: (x < 1) -> x++ :: (x == 1) -> x = 2; x = 3 fi }",
            "0 3",
        ),
        ("do :: (i < 1) -> i++ :: (i == 1) -> break od", "0 1 2"),
        ("atomic { x = 1; do :: x = 2 -> break od }", "0 1 5"),
        (
            "atomic { x = 1; do :: x = 2 -> break od; do :: x = 4; break od }",
            "0 1 6 10",
        ),
        (
            "atomic { x = 1; goto L; x = 2; L: x = 3; do :: x == 3 -> do :: x = 4; break od; break od }",
            "0 3 4 5 13",
        ),
        ("atomic { for (x : 1..2) { skip } }", "0 1 2 1 2 4 5 8"),
        ("atomic { select(x : 1..1); x = 2 }", "0"),
        (
            "atomic { { x = 1; do :: x == 1 -> break od } unless { x == 7 }; x = 3 }",
            "0 1 8",
        ),
    ] {
        let loaded = loaded(&format!("byte x, i; init {{ {body}; x == 9 }}"));
        let steps = lines.split(' ').enumerate();
        let steps: Vec<String> = steps
            .map(|(at, step)| format!("{}:0:{step}\n", at + 1))
            .collect();
        let trail = format!("-4:-4:-4\n{}", steps.concat());
        let (run, _) = loaded
            .read_trail(&trail)
            .unwrap_or_else(|why| panic!("{body}: {why}"));
        let state = &run.last().expect("a step").state;
        let mut successors = Successors::new(loaded.model.layout().words());
        loaded.model.executor().successors(state, &mut successors);
        assert!(successors.is_empty(), "{body} is not at its end");
    }
}

/// Whatever `spin -a; pan` finds in random programs, its trail is one that we can follow.
#[test]
#[ignore = "long: compiles a verifier for each program"]
fn random_trails_of_plain_spin_are_followed() {
    if !has_spin() {
        return;
    }
    let scratch = Scratch::new("plain-trails");
    let mut followed = 0;
    for seed in 0..40 {
        let text = program_with_assertions(seed);
        if spin_search(&text, &scratch, &[], &["-DSAFETY"], &["-m20000"]).is_none() {
            continue;
        }
        let Ok(trail) = std::fs::read_to_string(scratch.0.join("m.pml.trail")) else {
            continue;
        };
        let read = loaded(&text).read_trail(&trail);
        read.unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}\n{trail}"));
        followed += 1;
    }
    assert!(followed > 15, "only {followed} trails");
}
