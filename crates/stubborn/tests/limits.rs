//! Limits of time and memory are kept by everything, loading included, and end without an answer.
//!
//! What programs take is measured as processor time and resident memory, which a busy machine
//! hardly changes.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stubborn::emptiness::Emptiness;
use stubborn::ltl::parser::Syntax;
use stubborn::reduce::{Algorithm, Config};
use stubborn::system::{Budget, Random};
use stubborn::{
    CheckError, CheckOptions, Engine, Language, LoadError, LoadOptions, Order, Por, SearchError,
    TemporalText, Verdict, load_text, questions,
};
use stubborn_lab::child::{self, Finished};
use stubborn_lab::record::Limits;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");

/// By how much limits may be crossed.
const MORE_SECONDS: f64 = 1.0;
const MORE_BYTES: u64 = 64 << 20;

fn stubborn(arguments: &[&str]) -> Finished {
    let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
    let limits = Limits {
        seconds: 60.0,
        bytes: 8 << 30,
    };
    let program = Path::new(env!("CARGO_BIN_EXE_stubborn"));
    child::run(program, &arguments, None, limits).expect("the program runs")
}

/// A file with a text, for one test alone.
fn file(name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path.display().to_string()
}

fn joined<T: std::fmt::Display>(parts: impl IntoIterator<Item = T>, between: &str) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.join(between)
}

// ---- models that make one phase long ----

/// Many processes whose transitions look at each other's variables.
fn entangled_processes(processes: usize, locations: usize) -> String {
    const VARIABLES: usize = 120;
    let mut text = joined((0..VARIABLES).map(|i| format!("byte x{i};")), "\n");
    for p in 0..processes {
        let states = joined((0..locations).map(|i| format!("s{i}")), ", ");
        let transitions = (0..locations).map(|i| {
            let x = |a: usize, b: usize| (p * a + i * b) % VARIABLES;
            format!(
                "s{i} -> s{} {{ guard x{} < x{} + {}; effect x{} = (x{} + x{}) % 11; }}",
                (i * 7 + 1) % locations,
                x(13, 1),
                x(5, 3),
                i % 7,
                x(7, 1),
                x(1, 1),
                x(1, 2)
            )
        });
        let _ = write!(
            text,
            "\nprocess P{p} {{ state {states}; init s0; trans {}; }}",
            joined(transitions, ",\n")
        );
    }
    text + "\nsystem async;\n"
}

/// Counters modulo a number: very many states.
fn counters(count: usize, modulus: usize) -> String {
    let variables = joined((0..count).map(|i| format!("byte x{i};")), "\n");
    let processes = (0..count).map(|i| {
        format!(
            "process P{i} {{ state a; init a; trans a -> a {{ effect x{i} = (x{i} + 1) % \
             {modulus}; }}; }}"
        )
    });
    format!("{variables}\n{}\nsystem async;\n", joined(processes, "\n"))
}

/// A net with one transition that has as many bindings as `colours` to the power of
/// `variables`.
fn coloured_net(colours: usize, variables: usize) -> String {
    let sort = "<usersort declaration=\"c\"/>";
    let constants = (0..colours).map(|i| format!("<feconstant id=\"c{i}\" name=\"{i}\"/>"));
    let declared = (0..variables)
        .map(|i| format!("<variabledecl id=\"v{i}\" name=\"v{i}\">{sort}</variabledecl>"));
    let places = (0..variables).map(|i| {
        format!(
            "<place id=\"p{i}\"><type><structure>{sort}</structure></type><hlinitialMarking>\
             <structure><all>{sort}</all></structure></hlinitialMarking></place>"
        )
    });
    let arcs = (0..variables).map(|i| {
        format!(
            "<arc id=\"a{i}\" source=\"p{i}\" target=\"t\"><hlinscription><structure><numberof>\
             <subterm><numberconstant value=\"1\"><positive/></numberconstant></subterm>\
             <subterm><variable refvariable=\"v{i}\"/></subterm></numberof></structure>\
             </hlinscription></arc>"
        )
    });
    format!(
        "<pnml><net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/symmetricnet\">\
         <declaration><structure><declarations><namedsort id=\"c\" name=\"c\">\
         <cyclicenumeration>{}</cyclicenumeration></namedsort>{}</declarations></structure>\
         </declaration><page id=\"g\">{}<transition id=\"t\"/>{}</page></net></pnml>",
        joined(constants, ""),
        joined(declared, ""),
        joined(places, "\n"),
        joined(arcs, "\n"),
    )
}

/// A place/transition net; the places whose numbers can be divided by `marked` have a token.
fn net(nodes: usize, arcs: impl Iterator<Item = (String, String)>, marked: usize) -> String {
    let mut text = String::from(
        "<pnml><net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><page id=\"g\">\n",
    );
    for i in 0..nodes {
        let marking = match i % marked {
            0 => "<initialMarking><text>1</text></initialMarking>",
            _ => "",
        };
        let _ = writeln!(text, "<place id=\"p{i}\">{marking}</place>");
        let _ = writeln!(text, "<transition id=\"t{i}\"/>");
    }
    for (number, (source, target)) in arcs.enumerate() {
        let _ = writeln!(
            text,
            "<arc id=\"a{number}\" source=\"{source}\" target=\"{target}\"/>"
        );
    }
    text + "</page></net></pnml>\n"
}

/// Arcs without any order: there are few invariants, and many rows to combine.
fn random_net(nodes: usize) -> String {
    let mut random = Random::new(1);
    let arcs = (0..nodes).flat_map(|i| {
        let other = [random.below(nodes), random.below(nodes)];
        let (p, t) = (|j: usize| format!("p{j}"), format!("t{i}"));
        [
            (p(i), t.clone()),
            (p(other[0]), t.clone()),
            (t.clone(), p((i + 1) % nodes)),
            (t, p(other[1])),
        ]
    });
    net(nodes, arcs.collect::<Vec<_>>().into_iter(), 3)
}

/// All transitions take from one place: every two of them are a pair to be looked at.
fn star_net(nodes: usize) -> String {
    let arcs = (1..nodes).flat_map(|i| {
        let t = format!("t{i}");
        let all = [
            (String::from("p0"), t.clone()),
            (format!("p{i}"), t.clone()),
            (t.clone(), format!("p{}", 1 + i % (nodes - 1))),
            (t, String::from("p0")),
        ];
        all.into_iter().take(3 + i % 2)
    });
    net(nodes, arcs, 2)
}

/// Runs a command whose named phase takes longer than the shortest of these limits: it ends at
/// each, and says so. On a busy machine an earlier phase may be the one that is cut short; then
/// it gets more time.
fn phase_is_limited(arguments: &[&str], phase: &str) {
    let mut seen = Vec::new();
    for seconds in ["0.3", "0.6", "1", "1.5", "2", "3", "5", "10", "30"] {
        let limit: f64 = seconds.parse().expect("a number");
        let mut all = arguments.to_vec();
        all.extend(["--timeout", seconds, "--memory-limit", "2G"]);
        let run = stubborn(&all);
        let what = format!("{all:?}: {run:?}");
        assert_eq!(run.code, Some(3), "{what}");
        // Several threads may use the processor at once.
        assert!(run.cpu_seconds < 2.0 * (limit + MORE_SECONDS), "{what}");
        assert!(
            run.stdout.contains("the time limit was reached while"),
            "{what}"
        );
        if run.stdout.contains(phase) {
            return;
        }
        seen.push(run.stdout);
    }
    panic!("{arguments:?} was never cut short while {phase}: {seen:?}");
}

#[test]
fn parsing_is_limited() {
    let text = format!(
        "byte x;\nactive proctype P() {{\n{}}}\n",
        "x = x + 1;\n".repeat(600_000)
    );
    let path = file("parsing.pml", &text);
    phase_is_limited(&["explore", &path], "parsing the model");
}

#[test]
fn lowering_is_limited() {
    let variables = joined((0..60_000).map(|i| format!("byte x{i};")), "\n");
    let text = format!("{variables}\nactive proctype P() {{ x1 = 2 }}\n");
    let path = file("lowering.pml", &text);
    phase_is_limited(&["check", &path], "lowering the model");
}

#[test]
fn relations_are_limited() {
    let path = file("relations.dve", &entangled_processes(40, 60));
    for level in ["reach", "located"] {
        phase_is_limited(
            &["explore", &path, "--por", "beam", "--relations", level],
            "computing relations",
        );
    }
}

#[test]
fn unfolding_is_limited() {
    let path = file("unfolding.pnml", &coloured_net(60, 4));
    phase_is_limited(&["explore", &path], "unfolding the coloured net");
}

#[test]
fn place_invariants_are_limited() {
    let path = file("invariants.pnml", &random_net(60_000));
    phase_is_limited(&["check", &path], "looking for place invariants");
}

#[test]
fn a_model_that_nobody_writes_is_not_waited_for() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_stubborn"))
        .args(["check", "-", "--language", "dve", "--timeout", "0.1"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Held open until the program has ended.
    let pipe = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(pipe);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text,
        "no answer: the time limit was reached while reading the model\n"
    );
}

#[test]
fn what_is_cut_short_is_an_object_for_scripts() {
    let path = file("object.dve", &entangled_processes(4, 10));
    for command in ["check", "explore"] {
        let run = stubborn(&[command, &path, "--timeout", "0", "--json"]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert_eq!(run.stderr, "");
        let object: Value = serde_json::from_str(&run.stdout).expect("an object");
        assert_eq!(object["model"], path.as_str());
        assert_eq!(object["language"], "dve");
        assert_eq!(object["states"], 0);
        assert_eq!(object["complete"], false);
        let reason = object["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("the time limit was reached while "));
        if command == "check" {
            assert_eq!(object["verdict"], "unknown");
            assert_eq!(object["properties"], Value::Array(Vec::new()));
        }
    }
}

// ---- memory ----

/// A run that takes more than it may, and says so.
fn memory_is_limited(arguments: &[&str], megabytes: u64) -> Finished {
    let mut all = arguments.to_vec();
    let limit = format!("{megabytes}M");
    all.extend(["--memory-limit", &limit, "--timeout", "300"]);
    let run = stubborn(&all);
    let what = format!("{all:?}: {run:?}");
    assert_eq!(run.code, Some(3), "{what}");
    assert!(
        run.stdout.contains("the memory limit was reached"),
        "{what}"
    );
    let peak = run.peak_bytes.expect("the system tells");
    assert!(peak <= (megabytes << 20) + MORE_BYTES, "{peak} {what}");
    run
}

#[test]
fn memory_of_searches_is_limited() {
    let path = file("memory.dve", &counters(7, 12));
    for (search, megabytes) in [
        (&["--store", "plain"][..], 64),
        (&["--order", "bfs"], 32),
        (&["--order", "dfs"], 64),
        (
            &["--store", "plain", "--order", "dfs", "--threads", "2"],
            32,
        ),
        (&["--store", "plain", "--threads", "2"], 64),
        (&["--store", "compact"], 32),
        (
            &["--store", "plain", "--por", "beam", "--proviso", "source"],
            64,
        ),
        (&["--por", "none", "--proviso", "bfs-source"], 32),
    ] {
        let mut arguments = vec!["explore", path.as_str()];
        arguments.extend(search);
        memory_is_limited(&arguments, megabytes);
    }
    for (emptiness, threads) in [("scc", "1"), ("scc", "2"), ("ndfs", "1"), ("ndfs", "2")] {
        let formula = "[] <> (x0 == 0 || x0 > 0)";
        let arguments = [
            "check",
            &path,
            "--only",
            "--ltl",
            formula,
            "--por",
            "none",
            "--store",
            "plain",
            "--emptiness",
            emptiness,
            "--threads",
            threads,
        ];
        memory_is_limited(&arguments, 64);
    }
}

#[test]
fn memory_of_loading_is_limited() {
    let path = file("memory.pnml", &coloured_net(45, 4));
    let run = memory_is_limited(&["explore", &path], 64);
    assert!(run.stdout.contains("while"), "{}", run.stdout);
    let path = file("memory_relations.dve", &entangled_processes(40, 60));
    memory_is_limited(&["explore", &path, "--por", "beam"], 64);
}

#[test]
fn too_little_memory_for_anything_is_said_plainly() {
    let path = format!("{EXAMPLES}/peterson.dve");
    for limit in ["0", "1M"] {
        let run = stubborn(&["check", &path, "--memory-limit", limit]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(
            run.stdout.contains("before it has read anything"),
            "{run:?}"
        );
    }
}

/// Enough is enough: a limit of memory that is not reached changes nothing, and a search whose
/// table does not fit leaves room for a reduced one that does.
#[test]
fn memory_suffices_where_it_should() {
    let path = format!("{EXAMPLES}/cache_coherence.dve");
    let run = stubborn(&["explore", &path, "--memory-limit", "64M", "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    // Independent processes: nothing is left of them when reduced.
    let processes = (0..24).map(|i| {
        format!("process P{i} {{ state a, b, c; init a; trans a -> b {{ }}, b -> c {{ }}; }}")
    });
    let text = joined(processes, "\n") + "\nsystem async;\n";
    let path = file("independent.dve", &text);
    let run = stubborn(&["check", &path, "--memory-limit", "80M", "--json"]);
    let object: Value = serde_json::from_str(&run.stdout).expect("an object");
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(object["properties"][0]["verdict"], "violated");
    assert_eq!(object["properties"][0]["por"], "beam");
}

// ---- no limit makes an answer wrong ----

/// Commands whose full answer takes a moment, for all languages, orders, reductions and checks.
fn commands() -> Vec<Vec<String>> {
    let example = |name: &str| format!("{EXAMPLES}/{name}");
    let model = |name: &str| format!("{MODELS}/{name}");
    // The one bad state is the last one of very many.
    let far = counters(5, 8).replace(
        "system async;",
        "process Q { state a, b; init a; assert b: x0 < 0; trans a -> b { guard x0 + x1 + x2 + x3 \
         + x4 == 35; }; }\nsystem async;",
    );
    let far = file("far.dve", &far);
    let fine = file("fine.dve", &counters(5, 8));
    let lists: &[(&str, &[&str])] = &[
        (&far, &["--por", "none"]),
        (&far, &["--por", "none", "--order", "dfs"]),
        (&far, &["--por", "none", "--threads", "2"]),
        (&far, &["--por", "none", "--order", "dfs", "--threads", "2"]),
        (&far, &["--por", "beam", "--store", "plain"]),
        (
            &fine,
            &[
                "--por",
                "goal",
                "--only",
                "--invariant",
                "x0 + x1 + x2 + x3 + x4 < 35",
            ],
        ),
        (&far, &["--engine", "interpreted"]),
        (
            &fine,
            &["--por", "none", "--ltl", "[] <> (x0 == 0 || x0 < 9)"],
        ),
        (&fine, &["--por", "none", "--ltl", "<> (x0 == 3)"]),
        (
            &fine,
            &[
                "--por",
                "none",
                "--ltl",
                "<> (x0 == 3)",
                "--emptiness",
                "ndfs",
            ],
        ),
        (
            &fine,
            &["--por", "none", "--ltl", "<> (x0 == 3)", "--fairness"],
        ),
        (
            &fine,
            &[
                "--por",
                "none",
                "--ltl",
                "[] (x0 < 8)",
                "--threads",
                "2",
                "--emptiness",
                "ndfs",
            ],
        ),
        (
            &fine,
            &["--por", "none", "--ltl", "[] (x0 < 8)", "--threads", "2"],
        ),
    ];
    let mut all: Vec<Vec<String>> = Vec::new();
    for (path, options) in lists {
        let mut command = vec![String::from("check"), (*path).to_owned()];
        command.extend(options.iter().map(|o| (*o).to_owned()));
        all.push(command);
    }
    let more: Vec<Vec<String>> = vec![
        vec!["check".into(), example("philosophers.dve")],
        vec!["check".into(), example("alternating_bit_broken.dve")],
        vec!["check".into(), example("readers_writers.pml")],
        vec!["check".into(), example("token_passing.pml")],
        vec!["check".into(), model("two_phases.pml")],
        vec!["check".into(), model("mailbox.pml")],
        vec!["check".into(), example("workshop.pnml")],
        vec![
            "check".into(),
            example("workshop.pnml"),
            "--structural".into(),
        ],
        vec!["explore".into(), example("cache_coherence.dve")],
        vec![
            "explore".into(),
            example("cache_coherence.dve"),
            "--por".into(),
            "beam".into(),
            "--proviso".into(),
            "source".into(),
        ],
        vec!["explore".into(), far],
        vec![
            "explore".into(),
            example("workshop.pnml"),
            "--structural".into(),
        ],
    ];
    all.extend(more);
    all
}

#[test]
fn no_limit_makes_an_answer_wrong() {
    for command in commands() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let right = stubborn(&arguments).code;
        assert!(matches!(right, Some(0 | 1)), "{command:?}: {right:?}");
        for timeout in ["0", "0.001", "0.01", "0.02", "0.05", "0.15"] {
            let mut limited = arguments.clone();
            limited.extend(["--timeout", timeout]);
            let run = stubborn(&limited);
            let what = format!("{limited:?}: {run:?}");
            assert!(run.code == Some(3) || run.code == right, "{what}");
            if run.code == Some(3) {
                assert!(run.stdout.contains("the time limit was reached"), "{what}");
            }
        }
    }
}

/// The same from inside, at any moment: somebody stops the budget while a model is loaded,
/// sampled or searched.
#[test]
fn no_interrupt_makes_an_answer_wrong() {
    let philosophers = |n: usize| {
        let mut text = format!("byte fork[{n}];\n");
        for i in 0..n {
            let next = (i + 1) % n;
            let _ = writeln!(
                text,
                "process P{i} {{ state think, one, eat; init think; trans \
                 think -> one {{ guard fork[{i}] == 0; effect fork[{i}] = 1; }}, \
                 one -> eat {{ guard fork[{next}] == 0; effect fork[{next}] = 1; }}, \
                 eat -> think {{ effect fork[{i}] = 0, fork[{next}] = 0; }}; }}"
            );
        }
        text + "system async;\n"
    };
    let promela = "byte turns; chan c = [2] of { byte };
        proctype Q(byte n) { do :: c!n :: c?_ -> atomic { turns++; assert(turns < 200) } od }
        init { atomic { run Q(1); run Q(2); run Q(3) } }";
    let cases: Vec<(Language, String, Option<&str>)> = vec![
        (Language::Dve, philosophers(7), None),
        (
            Language::Dve,
            counters(3, 20),
            Some("[] <> (x0 == 0 || x0 > 0)"),
        ),
        (Language::Dve, counters(3, 20), Some("<> (x0 == 3)")),
        (Language::Promela, promela.into(), None),
        (Language::Pnml, star_net(14), None),
    ];
    let reductions = [
        Por::None,
        Por::Auto,
        Por::Chosen(Config::new(Algorithm::Beam)),
        Por::Chosen(Config::new(Algorithm::Deletion)),
    ];
    let mut random = Random::new(3);
    for (language, text, formula) in &cases {
        let mut rights: Vec<Option<Vec<Verdict>>> = vec![None; reductions.len()];
        for round in 0..40 {
            for (por, right) in reductions.iter().zip(&mut rights) {
                let budget = Arc::new(Budget::unlimited());
                let temporal = formula.iter().map(|text| TemporalText::Formula {
                    text: (*text).to_owned(),
                    syntax: Syntax::Spin,
                });
                let options = LoadOptions {
                    engine: match round % 2 {
                        0 => Engine::Compiled,
                        _ => Engine::Interpreted,
                    },
                    temporal: temporal.collect(),
                    budget: Arc::clone(&budget),
                    ..LoadOptions::default()
                };
                let mut check = CheckOptions {
                    order: match random.below(2) {
                        0 => Order::BreadthFirst,
                        _ => Order::DepthFirst,
                    },
                    threads: 1 + random.below(2),
                    ..CheckOptions::default()
                };
                check.reduction.por = por.clone();
                check.reduction.patience = 500;
                check.temporal.emptiness = Emptiness::ALL[random.below(2)];
                let answer = || -> Option<Vec<Verdict>> {
                    let mut model = match load_text("m", text.as_str(), *language, &options) {
                        Ok(model) => model,
                        Err(LoadError::GaveUp(_)) => return None,
                        Err(error) => panic!("{error}"),
                    };
                    loop {
                        let report = stubborn::check(&model, &questions(&model), &check);
                        let temporal: Vec<_> = model.temporal().iter().collect();
                        let temporal = stubborn::check_temporal(&model, &temporal, &check);
                        match (report, temporal) {
                            (Err(CheckError::Outgrown), _) | (_, Err(CheckError::Outgrown)) => {
                                match model.grow() {
                                    Ok(()) => {}
                                    Err(LoadError::GaveUp(_)) => return None,
                                    Err(error) => panic!("{error}"),
                                }
                            }
                            (Ok(report), Ok(temporal)) => {
                                let first = report.answers.iter().map(|a| a.verdict);
                                let second = temporal.iter().map(|a| a.verdict);
                                return Some(first.chain(second).collect());
                            }
                            (Err(CheckError::Search(SearchError::GaveUp(_))), _)
                            | (_, Err(CheckError::Search(SearchError::GaveUp(_)))) => return None,
                            (report, temporal) => panic!("{report:?} {temporal:?}"),
                        }
                    }
                };
                let Some(right) = right else {
                    // Nobody stops the first one.
                    *right = answer();
                    continue;
                };
                let patience = Duration::from_micros(random.below(30_000) as u64);
                let verdicts = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(patience);
                        budget.stop();
                    });
                    answer()
                });
                for (verdict, right) in verdicts.iter().flatten().zip(right.iter()) {
                    let fine = verdict == right || *verdict == Verdict::Unknown;
                    assert!(
                        fine,
                        "{language}, {por:?}, {patience:?}: {verdict}, not {right}"
                    );
                }
            }
        }
    }
}
