//! Counterexamples as trails: SPIN itself, where it is installed, replays them to the same
//! error, and so do we with trails of SPIN's verifier.

use std::path::{Path, PathBuf};
use std::process::Command;

use stubborn::system::FieldKind;
use stubborn::{
    CheckOptions, Language, LoadOptions, LoadedModel, PromelaOptions, QuestionKind, Trace, check,
    load_file, questions, spin,
};

fn has(program: &str, flag: &str) -> bool {
    let found = Command::new(program).arg(flag).output();
    let there = found.is_ok_and(|out| out.status.success());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

/// A folder that goes away in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stubborn-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        Self(folder)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let out = Command::new(program)
            .args(arguments)
            .current_dir(&self.0)
            .output();
        let out = out.unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = [out.stdout, out.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load(path: &Path, promela: PromelaOptions) -> LoadedModel {
    let options = LoadOptions {
        promela,
        ..LoadOptions::default()
    };
    load_file(path, Some(Language::Promela), &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The first violated property with its run.
fn violation(model: &mut LoadedModel) -> Option<(QuestionKind, Trace)> {
    let report = loop {
        match check(model, &questions(model), &CheckOptions::default()) {
            Err(stubborn::CheckError::Outgrown) => model.grow().expect("a larger model"),
            report => break report.expect("a search"),
        }
    };
    let mut answers = report.answers.into_iter();
    answers.find_map(|answer| {
        let trace = answer.violation?.trace?;
        Some((answer.question.kind, trace))
    })
}

/// The control state of every process that exists, by SPIN's number.
fn control_states(model: &LoadedModel, state: &[u32]) -> Vec<(usize, usize)> {
    let system = model.reference();
    let mut all = Vec::new();
    for (at, field) in system.layout().fields().iter().enumerate() {
        if let FieldKind::Location(process, _) = &field.kind {
            let id = stubborn::system::FieldId::new(at);
            let text = system.value_text(id, field.get(state));
            let number = text
                .rsplit_once("(state ")
                .map(|(_, n)| n.trim_end_matches(')'));
            if let Some(number) = number.and_then(|n| n.parse().ok()) {
                all.push((process.index(), number));
            }
        }
    }
    all
}

/// The same as SPIN lists it at the end of a replay.
fn replayed_states(output: &str) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = Vec::new();
    for line in output
        .lines()
        .filter(|l| l.contains(":\tproc ") || l.contains("proc "))
    {
        let Some((_, rest)) = line.split_once("proc ") else {
            continue;
        };
        let pid = rest.split_whitespace().next().and_then(|p| p.parse().ok());
        let state = line.split_once("(state ").map(|(_, n)| n);
        let state = state
            .and_then(|n| n.split(')').next())
            .and_then(|n| n.parse().ok());
        if let (Some(pid), Some(state)) = (pid, state) {
            all.push((pid, state));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn polls_rendezvous(model: &LoadedModel, trace: &Trace) -> bool {
    let structure = model.reference().structure();
    let last = trace.steps().last();
    last.is_some_and(|step| {
        let mut sites = step.outcome.sites(structure);
        sites.any(|site| site.message.contains("polls a rendez-vous channel"))
    })
}

/// Lets SPIN replay the first counterexample of a model; false if there is none.
fn spin_replays(path: &Path, scratch: &Scratch) -> bool {
    let mut model = load(path, PromelaOptions::default());
    let Some((kind, trace)) = violation(&mut model) else {
        return false;
    };
    let trail = spin::trail(&model, &trace, None).expect("a Promela model");
    let file = scratch.0.join("model.trail");
    std::fs::write(&file, &trail).expect("a file");
    let (file, shown) = (file.display().to_string(), path.display().to_string());
    let output = scratch.run("spin", &["-t", "-k", &file, &shown]);
    let lost = [
        "transition failed",
        "stop error",
        "invalid statement",
        "no matching stmnt",
    ];
    for sign in lost {
        assert!(!output.contains(sign), "{shown}: {sign}\n{output}");
    }
    match kind {
        QuestionKind::Deadlock => assert_eq!(
            replayed_states(&output),
            control_states(&model, trace.last_state()),
            "{shown}: {output}"
        ),
        QuestionKind::Assertion => {
            assert!(output.contains("assertion violated"), "{shown}: {output}");
        }
        // Of this error of its verifier, SPIN's simulator says nothing, nor does it for trails of the verifier.
        QuestionKind::Error if polls_rendezvous(&model, &trace) => {}
        _ => assert!(output.contains("rror"), "{shown}: {output}"),
    }
    // What SPIN can follow, we can follow too.
    let single = PromelaOptions {
        single_statements: true,
        ..PromelaOptions::default()
    };
    let mut again = load(path, single);
    let followed = spin::follow(&mut again, &trail).unwrap_or_else(|e| panic!("{shown}: {e}"));
    if kind == QuestionKind::Deadlock {
        let ours = control_states(&model, trace.last_state());
        assert_eq!(
            control_states(&again, followed.last_state()),
            ours,
            "{shown}"
        );
    }
    true
}

#[test]
fn spin_replays_the_counterexamples_of_small_models() {
    if !has("spin", "-V") {
        return;
    }
    let scratch = Scratch::new("trails");
    for (at, text) in MODELS.iter().enumerate() {
        let path = scratch.0.join(format!("m{at}.pml"));
        std::fs::write(&path, text).expect("a file");
        assert!(spin_replays(&path, &scratch), "no counterexample:\n{text}");
    }
}

#[test]
fn trails_of_spin_are_followed() {
    if !has("spin", "-V") || !has("gcc", "--version") {
        return;
    }
    let scratch = Scratch::new("pan");
    for text in MODELS {
        let path = scratch.0.join("m.pml");
        std::fs::write(&path, text).expect("a file");
        // With and without merged statements.
        for merging in [&[][..], &["-o1", "-o2", "-o3"]] {
            let _ = std::fs::remove_file(scratch.0.join("m.pml.trail"));
            let arguments = [&["-a"][..], merging, &["m.pml"]].concat();
            scratch.run("spin", &arguments);
            scratch.run("gcc", &["-w", "-O0", "-DSAFETY", "-o", "pan", "pan.c"]);
            let pan = scratch.0.join("pan").display().to_string();
            scratch.run(&pan, &["-m10000"]);
            let trail = std::fs::read_to_string(scratch.0.join("m.pml.trail"));
            let trail = trail.expect("pan finds the error, too");
            let single = PromelaOptions {
                single_statements: true,
                ..PromelaOptions::default()
            };
            let mut model = load(&path, single);
            let run = spin::follow(&mut model, &trail);
            let run = run.unwrap_or_else(|error| panic!("{error}\n{trail}\n{text}"));
            let system = model.reference();
            let failed = run
                .steps()
                .any(|s| s.outcome != stubborn::system::Outcome::FINE);
            let mut out = stubborn::system::Successors::new(system.layout().words());
            system.executor().successors(run.last_state(), &mut out);
            assert!(failed || out.is_empty(), "{merging:?} {trail}\n{text}");
        }
    }
}

/// The mark of a cycle, in trails of our own and of SPIN's, with the moves of a claim in them.
#[test]
fn cycles_are_marked_both_ways() {
    const TEXT: &str = "byte x; active proctype P() { x = 5; do :: x = 1 :: x = 2 :: x = 3 od }\n\
                        ltl calm { <> [] (x != 2) }\n";
    let scratch = Scratch::new("cycle");
    let path = scratch.0.join("m.pml");
    std::fs::write(&path, TEXT).expect("a file");
    let program = env!("CARGO_BIN_EXE_stubborn");
    let said = scratch.run(program, &["check", "m.pml", "--trail", "-q"]);
    assert!(said.contains("trail saved as m.pml.trail"), "{said}");
    let closed = |whose: &str| {
        let trail = std::fs::read_to_string(scratch.0.join("m.pml.trail")).expect("a trail");
        assert!(trail.contains("-1:-1:-1"), "{whose}: {trail}");
        let single = PromelaOptions {
            single_statements: true,
            ..PromelaOptions::default()
        };
        let run = spin::follow(&mut load(&path, single), &trail);
        let run = run.unwrap_or_else(|error| panic!("{whose}: {error}\n{trail}"));
        let start = run
            .cycle_start()
            .unwrap_or_else(|| panic!("{whose}: {trail}"));
        assert!(
            start > 0 && start < run.len(),
            "{whose}: {start} of {}",
            run.len()
        );
        let told = scratch.run(program, &["simulate", "m.pml", "--trail"]);
        assert!(told.contains("then for ever:"), "{whose}: {told}");
    };
    closed("ours");
    if !has("spin", "-V") || !has("gcc", "--version") {
        return;
    }
    std::fs::remove_file(scratch.0.join("m.pml.trail")).expect("it was there");
    scratch.run("spin", &["-a", "-o3", "m.pml"]);
    scratch.run("gcc", &["-w", "-O0", "-o", "pan", "pan.c"]);
    let pan = scratch.0.join("pan").display().to_string();
    scratch.run(&pan, &["-a", "-m10000"]);
    closed("SPIN's");
}

/// What a never claim does is in trails of ours, as SPIN does it, and SPIN replays it: until a cycle or the
/// end of the claim, along atomic sequences and rendez-vous, and where the system has stopped.
#[test]
fn moves_of_claims_are_in_trails() {
    // The model, the claim, what the trail ends with, and a statement of the claim that SPIN shows.
    const CYCLE: &str = "-1:-1:-1";
    let cases = [
        (
            "do :: x = 1 :: x = 2 :: x = 3 od",
            "T0: do :: x == 2 -> goto accept :: true od; accept: do :: x == 2 -> goto accept :: x != 2 -> goto T0 od",
            Some(CYCLE),
            "((x==2))",
        ),
        // The system does the same all the time, the claim does something else each time.
        (
            "do :: x = 2 od",
            "accept: if :: x < 3 fi; B: if :: x == 2 fi; C: if :: x > 1 -> goto accept fi",
            Some(CYCLE),
            "((x>1))",
        ),
        (
            "x = 1",
            "T0: do :: x == 1 -> goto accept :: true od; accept: do :: x == 1 -> goto B od; B: do :: x > 0 -> goto accept od",
            Some(CYCLE),
            "((x>0))",
        ),
        (
            "do :: atomic { x = 1; y = 2; x = 2; y = 0 } :: x = 3; c!x od",
            "T0: do :: x == 0 && y == 0 -> goto accept :: true od; accept: do :: x == 2 -> goto T0 :: else od",
            Some(CYCLE),
            "[else]",
        ),
        (
            "do :: x < 3 -> x++ :: else -> x = 0 od",
            "do :: x == 2 -> break :: else od; x == 2; x == 3",
            None,
            "((x==3))",
        ),
        (
            "do :: x < 3 -> x++ :: else -> x = 0 od",
            "do :: atomic { x == 2 -> assert(x == 1) } :: else od",
            None,
            "((x==2))",
        ),
    ];
    let has_spin = has("spin", "-V");
    let scratch = Scratch::new("claims");
    for (body, claim, mark, shown) in cases {
        // SPIN shows moves to other lines.
        let lines = claim.replace("; ", ";\n").replace(" ::", "\n::");
        let text = format!(
            "byte x, y; chan c = [0] of {{ byte }};\nactive proctype P() {{ {body} }}\n\
             active proctype Q() {{ byte z; end: do :: c?z -> atomic {{ z = 0; x = 0 }} od }}\n\
             never {{ {lines} }}\n"
        );
        std::fs::write(scratch.0.join("m.pml"), &text).expect("a file");
        let program = env!("CARGO_BIN_EXE_stubborn");
        let only = ["--property", "never"];
        let check = [&["check", "m.pml", "--trail", "-q"], &only[..]].concat();
        let said = scratch.run(program, &check);
        assert!(said.contains("trail saved as m.pml.trail"), "{text}{said}");
        let trail = std::fs::read_to_string(scratch.0.join("m.pml.trail")).expect("a trail");
        assert!(trail.starts_with("-2:2:-2\n"), "{text}{trail}");
        assert_eq!(mark.is_some(), trail.contains(CYCLE), "{text}{trail}");
        let told = scratch.run(program, &["simulate", "m.pml", "--trail"]);
        assert!(!told.contains("line "), "{text}{trail}{told}");
        if has_spin {
            let output = replayed_with_claim(
                &scratch,
                &format!("{text}{trail}"),
                claim.contains("assert"),
            );
            let mut moves = output
                .lines()
                .filter(|l| l.starts_with("Never claim moves"));
            assert!(
                moves.any(|line| line.contains(shown)),
                "{text}{trail}{output}"
            );
            let is_marked = output.contains("START OF CYCLE");
            assert_eq!(is_marked, mark.is_some(), "{text}{trail}{output}");
        }
    }
}

/// What SPIN says of the trail of `m.pml`, all of which it can follow.
fn replayed_with_claim(scratch: &Scratch, about: &str, may_fail: bool) -> String {
    let output = scratch.run("spin", &["-t", "-p", "m.pml"]);
    for sign in [
        "failed",
        "stop error",
        "invalid",
        "no matching",
        "not executable",
    ] {
        let is_meant = sign == "failed" && may_fail;
        assert!(is_meant || !output.contains(sign), "{about}{output}");
    }
    output
}

/// What SPIN's claim for a formula does is in trails of ours, where SPIN can be asked for it.
#[test]
fn moves_of_formulas_are_in_trails() {
    if !has("spin", "-V") {
        return;
    }
    let program = env!("CARGO_BIN_EXE_stubborn");
    let scratch = Scratch::new("formulas");
    // The system, the formulas, which one of them, and whether the run goes on for ever.
    let cases = [
        (
            "do :: x = 1 :: x = 2 :: x = 3 od",
            "p { <> [] (x != 2) }",
            true,
        ),
        (
            "do :: x = 1 :: x = 2 :: x = 3 od",
            "p { [] (x < LIMIT) }",
            false,
        ),
        (
            "do :: atomic { x = 1; y = 2; x = 2; y = 0 } :: x = 3; c!x od",
            "q { [] (x < 9) } ltl p { [] (x == 3 -> <> (y == 2)) } ltl r { <> (x == 1) }",
            true,
        ),
        ("x = 1; x = 2", "p { [] <> (x == 1) }", true),
        ("x = 1; x = 2", "p { (x == 0) U (y == 1) }", false),
    ];
    for (body, formulas, repeats) in cases {
        let text = format!(
            "byte x, y; chan c = [0] of {{ byte }};\nactive proctype P() {{ {body} }}\n\
             active proctype Q() {{ byte z; end: do :: c?z -> atomic {{ z = 0; x = 0 }} od }}\n\
             #define LIMIT 3\nltl {formulas}\n"
        );
        std::fs::write(scratch.0.join("m.pml"), &text).expect("a file");
        let asked = ["--property", "p", "-DUNUSED=3"];
        let check = [&["check", "m.pml", "--trail", "-q"], &asked[..]].concat();
        let said = scratch.run(program, &check);
        assert!(said.contains("trail saved as m.pml.trail"), "{text}{said}");
        let trail = std::fs::read_to_string(scratch.0.join("m.pml.trail")).expect("a trail");
        assert!(trail.starts_with("-2:"), "{text}{trail}");
        let about = format!("{text}{trail}");
        let output = replayed_with_claim(&scratch, &about, !repeats);
        assert!(output.contains("Never claim moves"), "{about}{output}");
        let is_marked = output.contains("START OF CYCLE");
        assert_eq!(is_marked, repeats, "{about}{output}");
        // And we follow it, as we follow that of SPIN's verifier.
        let told = scratch.run(program, &["simulate", "m.pml", "--trail"]);
        assert!(!told.contains("line "), "{about}{told}");
        assert_eq!(
            told.contains("for ever"),
            repeats && body.contains("do"),
            "{about}{told}"
        );
    }
}

#[test]
fn trails_and_charts_are_files() {
    let scratch = Scratch::new("files");
    let path = scratch.0.join("m.pml");
    std::fs::write(&path, MODELS[1]).expect("a file");
    let program = env!("CARGO_BIN_EXE_stubborn");
    let said = scratch.run(program, &["check", "m.pml", "--trail", "-q"]);
    assert!(said.contains("trail saved as m.pml.trail"), "{said}");
    let replayed = scratch.run(program, &["simulate", "m.pml", "--trail", "--msc", "m.svg"]);
    assert!(replayed.contains("! assertion violated"), "{replayed}");
    let drawn = std::fs::read_to_string(scratch.0.join("m.svg")).expect("a drawing");
    assert!(
        drawn.starts_with("<svg") && drawn.contains("c!3"),
        "{drawn}"
    );
    std::fs::write(scratch.0.join("m.pml.trail"), "1:0:99\n").expect("a file");
    let refused = scratch.run(program, &["simulate", "m.pml", "--trail"]);
    assert!(refused.contains("cannot take step 99"), "{refused}");
}

/// Every violated row of the corpus whose search SPIN could finish, up to a size.
fn corpus(most_states: f64) {
    let Some(folder) = stubborn_corpus::folder("promela") else {
        return;
    };
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("a table");
    if !has("spin", "-V") {
        return;
    }
    let scratch = Scratch::new("corpus");
    let mut replayed = 0;
    for line in table.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let states: f64 = cells[2].parse().unwrap_or(f64::INFINITY);
        let errors: u32 = cells[4].parse().unwrap_or(0);
        if cells[6] == "complete" && errors > 0 && states <= most_states {
            assert!(
                spin_replays(&folder.join(cells[0]), &scratch),
                "{}",
                cells[0]
            );
            replayed += 1;
        }
    }
    assert!(replayed > 0, "no model is violated");
    eprintln!("{replayed} trails replayed");
}

#[test]
fn spin_replays_the_counterexamples_of_the_corpus() {
    corpus(3_000.0);
}

#[test]
#[ignore = "long: all violated models, about two minutes"]
fn spin_replays_all_counterexamples_of_the_corpus() {
    corpus(f64::INFINITY);
}

const MODELS: &[&str] = &[
    "byte a, b;
active proctype P() { byte t; a == 0 -> a = 1; t = 3; t = t + 1; b == 0 -> b = 1; a = 0; b = 0 }
active proctype Q() { byte t; b == 0 -> b = 1; t = 4; t = t + 1; a == 0 -> a = 1; b = 0; a = 0 }
",
    "chan c = [0] of { byte }; chan d = [2] of { byte, byte };
byte sum;
proctype Add(byte k) { byte v; do :: c?v -> atomic { v = v + k; d!k, v; sum = sum + v } od }
init { byte k, v;
  atomic { run Add(1); run Add(2) };
  c!3; c!4; d?k, v; d?k, v; assert(sum < 9) }
",
    "byte n; bool flag;
inline twice(x) { x = x + 1; if :: x > 200 -> x = 0 :: else fi; x = x + 1 }
active proctype P() { byte m;
  do :: m < 6 -> twice(m); d_step { n = n + m; flag = !flag } :: m >= 6 -> break od;
  { n = n + 1; end1: false } unless { flag -> n = 100 };
  assert(n == 0) }
active proctype Q() { (n > 5) -> n = 1 }
",
];
