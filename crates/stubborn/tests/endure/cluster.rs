//! Several processes: the same answers as one, and a clean end when one of them dies.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ALWAYS, EXAMPLES, answer, arguments, folder, model, model_of, output, ring, stubborn};

/// What must not depend on the number of processes: counts, verdicts and lengths.
fn essence(output: &Output) -> Value {
    let answer = answer(output);
    let length = |trace: &Value| trace["stem"].as_array().map(Vec::len);
    let properties = answer["properties"].as_array().cloned().unwrap_or_default();
    let properties: Vec<Value> = properties
        .iter()
        .map(|one| {
            json!([
                one["name"],
                one["verdict"],
                length(&one["trace"]),
                one["states"]
            ])
        })
        .collect();
    let counts = [
        "states",
        "transitions",
        "deadlocks",
        "depth",
        "complete",
        "levels",
    ];
    json!([
        output.status.code(),
        counts.map(|name| answer[name].clone()),
        properties
    ])
}

/// Several processes explore Promela models as they are written; one merges statements.
fn as_written(way: &[&str], name: &str) -> &'static [&'static str] {
    match way[0] == "check" && name.ends_with(".pml") {
        true => &["--as-written"],
        false => &[],
    }
}

#[test]
fn examples_have_the_same_answers_in_several_processes() {
    for name in [
        "alternating_bit_broken.dve",
        "cache_coherence.dve",
        "leader_ring.dve",
        "philosophers.dve",
        "readers_writers.pml",
        "token_passing.pml",
        "workshop.pnml",
    ] {
        let model = format!("{EXAMPLES}/{name}");
        let ways: [&[&str]; 3] = [
            &["explore", "--levels"],
            &["explore", "--por", "beam"],
            &["check", "--deadlock", "--only"],
        ];
        for (way, processes) in ways.into_iter().zip(["2", "4", "3"]) {
            let alone = output(&arguments(way, &model, as_written(way, name)));
            let several = output(&arguments(way, &model, &["--processes", processes]));
            assert_eq!(
                essence(&several),
                essence(&alone),
                "{name}, {way:?}: {several:?}"
            );
        }
    }
}

/// Verdicts, product states of what holds, and lassos.
#[test]
fn temporal_properties_have_the_same_answers_in_several_processes() {
    let cases: [(&str, &[&str]); 4] = [
        ("peterson.dve", &["--ltl", "[] <> P_0.critical"]),
        (
            "peterson.dve",
            &["--ltl", "[] <> P_0.critical", "--fairness"],
        ),
        ("alternating_bit.dve", &["--ltl", "<> [] true"]),
        ("token_passing.pml", &["--ltl", "[] <> true"]),
    ];
    for ((name, formula), processes) in cases.into_iter().zip(["2", "4", "3", "2"]) {
        let model = format!("{EXAMPLES}/{name}");
        let way = [&["check", "--por", "none"], formula].concat();
        let alone = output(&arguments(&way, &model, as_written(&way, name)));
        let several = output(&arguments(&way, &model, &["--processes", processes]));
        let short = |output: &Output| {
            let properties = answer(output)["properties"].clone();
            let all = properties.as_array().cloned().unwrap_or_default();
            let one = |p: &Value| {
                let holds = p["verdict"] == "holds";
                let states = if holds {
                    p["states"].clone()
                } else {
                    Value::Null
                };
                let length = |part: &str| p["trace"][part].as_array().map(Vec::len);
                json!([
                    p["name"],
                    p["verdict"],
                    states,
                    length("stem"),
                    length("cycle")
                ])
            };
            all.iter().map(one).collect::<Vec<_>>()
        };
        assert!(!short(&alone).is_empty(), "{name}: {alone:?}");
        assert_eq!(short(&several), short(&alone), "{name}: {several:?}");
        assert_eq!(several.status.code(), alone.status.code(), "{name}");
    }
}

/// Sets that are functions of the node give the same product, whoever explores it.
#[test]
fn reduced_products_are_the_same_in_several_processes() {
    let place = folder("cluster-ltl");
    let model = ring(&place);
    let mut sizes = Vec::new();
    for steering in ["off", "mixed"] {
        let way = [
            "check",
            "--por",
            "beam",
            "--proviso",
            "sticky",
            "--steering",
            steering,
            "--only",
            "--no-vacuity",
            "--ltl",
            "<> (turns == 1)",
        ];
        let alone = essence(&output(&arguments(&way, &model, &[])));
        for processes in ["1", "3"] {
            let several = output(&arguments(&way, &model, &["--processes", processes]));
            assert_eq!(essence(&several)[2], alone[2], "{steering}: {several:?}");
        }
        sizes.push(alone[2][0][3].as_u64());
    }
    assert!(sizes[1] < sizes[0], "{sizes:?}");
    let violated = [
        "check",
        "--por",
        "beam",
        "--only",
        "--ltl",
        "<> [] (turns == 1)",
    ];
    let several = output(&arguments(&violated, &model, &["--processes", "2"]));
    assert_eq!(several.status.code(), Some(1), "{several:?}");
}

/// With a proviso, what is expanded is not what one process expands, but the same for any number.
#[test]
fn invariants_and_assertions_are_found_by_several_processes() {
    let place = folder("several-invariants");
    let model = model(&place);
    let full = [
        "check",
        "--por",
        "none",
        "--only",
        "--invariant",
        "turns < 2",
    ];
    let alone = output(&arguments(&full, &model, &[]));
    let several = output(&arguments(&full, &model, &["--processes", "2"]));
    assert_eq!(essence(&several), essence(&alone), "{several:?}");
    for (invariant, status) in [("turns != 6", 1), ("turns < 7", 0)] {
        let reduced = ["check", "--por", "beam", "--only", "--invariant", invariant];
        let by = |processes| output(&arguments(&reduced, &model, &["--processes", processes]));
        let (one, three) = (by("1"), by("3"));
        assert_eq!(one.status.code(), Some(status), "{one:?}");
        assert_eq!(essence(&one), essence(&three), "{invariant}");
    }
}

/// What any process misses, all make room for.
#[test]
fn a_model_that_grows_does_so_in_all_processes() {
    let place = folder("several-growth");
    let model = place.join("model.pml").display().to_string();
    let text = "byte n = 0;\nproctype Q(byte d) { byte x = d; x = x + 1 }\n\
                init { do :: n < 4 -> n++; run Q(n) :: else -> break od }\n";
    std::fs::write(&model, text).expect("the model can be written");
    let alone = output(&["explore", &model, "--json"]);
    let several = output(&["explore", &model, "--json", "--processes", "3"]);
    assert_eq!(essence(&several), essence(&alone), "{several:?}");
}

/// The processes that another one has started.
fn children(child: &Child) -> Vec<String> {
    let mut all = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id()))
        .into_iter()
        .flatten()
    {
        let file = task.expect("a task").path().join("children");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        all.extend(text.split_whitespace().map(str::to_owned));
    }
    all
}

fn start(arguments: &[&str]) -> Child {
    stubborn(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits until so many processes were started, and something else holds; `None` if it ended before that was seen.
fn wait_for(child: &mut Child, count: usize, more: impl Fn() -> bool) -> Option<Vec<String>> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let all = children(child);
        if all.len() == count && more() {
            return Some(all);
        }
        if child.try_wait().expect("a child of ours").is_some() {
            return None;
        }
        assert!(Instant::now() < end, "{} has no children", child.id());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_worker_that_is_killed_is_named_and_others_go_on_from_the_checkpoint() {
    let place = folder("several-kill");
    let model = model(&place);
    let undisturbed = output(&["explore", &model, "--json"]);
    let checkpoints = place.join("checkpoints");
    let shown = checkpoints.display().to_string();
    // Not the first checkpoint, which is empty.
    let large = || {
        let file = std::fs::metadata(checkpoints.join("checkpoint"));
        file.is_ok_and(|file| file.len() > 20_000)
    };
    // On a busy machine the run can be over before it is caught in the middle.
    let caught = (0..20).find_map(|_| {
        let mut child = start(&[
            "explore",
            &model,
            "--processes",
            "3",
            "--checkpoint",
            &shown,
            "--checkpoint-every",
            "0.05",
        ]);
        wait_for(&mut child, 2, large).map(|workers| (child, workers))
    });
    let (child, workers) = caught.expect("a run that is caught in the middle");
    let killed = Command::new("kill").args(["-KILL", &workers[1]]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().expect("a child of ours");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let name = format!("process {} at 127.0.0.1) is lost", workers[1]);
    assert!(said.contains(&name), "{said}");
    assert!(said.contains("stubborn resume"), "{said}");
    // The others have ended, too.
    let end = Instant::now() + Duration::from_secs(20);
    let is_there = |id: &String| Path::new("/proc").join(id).exists();
    while workers.iter().any(is_there) {
        assert!(Instant::now() < end, "somebody is still there");
        std::thread::sleep(Duration::from_millis(10));
    }
    let resumed = super::output(&["resume", &shown, "--json", "--processes", "2"]);
    assert_eq!(essence(&resumed), essence(&undisturbed), "{resumed:?}");
    assert!(
        !checkpoints.join("checkpoint").exists(),
        "there is an answer"
    );
}

#[test]
fn a_limit_of_states_can_be_raised_with_other_processes() {
    let place = folder("several-states");
    let model = model(&place);
    let check = [
        "check",
        &model,
        "--json",
        "--por",
        "none",
        "--invariant",
        "turns < 5",
    ];
    let undisturbed = output(&check);
    let checkpoints = place.join("checkpoints").display().to_string();
    let more = [
        "--processes",
        "2",
        "--max-states",
        "30000",
        "--checkpoint",
        &checkpoints,
    ];
    let stopped = output(&[&check[..], &more].concat());
    assert_eq!(stopped.status.code(), Some(3), "{stopped:?}");
    let more = ["--processes", "3", "--max-states", "90000000"];
    let end = output(&[&["resume", &checkpoints, "--json"][..], &more].concat());
    assert_eq!(essence(&end), essence(&undisturbed), "{end:?}");
}

/// `ssh` is another program here, which runs on this machine what it should run on others.
#[test]
#[cfg(unix)]
fn a_list_of_hosts_is_enough() {
    let place = folder("several hosts");
    let (hosts, shell) = (place.join("hosts"), place.join("shell"));
    std::fs::write(&hosts, "127.0.0.1\nelsewhere 2 # by ssh\n").expect("it can be written");
    let script = "echo \"$1\" >> \"$0.log\"; shift; exec sh -c \"$*\"";
    std::fs::write(&shell, script).expect("it can be written");
    // Names with spaces are for others: STUBBORN_RSH is split at them.
    let link = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endure-shell");
    std::fs::copy(&shell, &link).expect("it can be written");
    let log = link.with_extension("log");
    let _ = std::fs::remove_file(&log);
    let model = model(&place);
    let arguments = ["explore", &model, "--por", "beam", "--json"];
    let alone = output(&arguments);
    let several = stubborn(&arguments)
        .arg("--hosts")
        .arg(&hosts)
        .env("STUBBORN_RSH", format!("sh {}", link.display()))
        .output()
        .expect("the program starts");
    assert_eq!(essence(&several), essence(&alone), "{several:?}");
    let asked = std::fs::read_to_string(&log).expect("somebody was asked");
    assert_eq!(asked, "elsewhere\nelsewhere\n");
    // A host that cannot be reached is named.
    let nobody = stubborn(&arguments)
        .arg("--hosts")
        .arg(&hosts)
        .env("STUBBORN_RSH", "false")
        .output()
        .expect("the program starts");
    assert_eq!(nobody.status.code(), Some(2), "{nobody:?}");
    let said = String::from_utf8_lossy(&nobody.stderr);
    assert!(said.contains("elsewhere"), "{said}");
}

/// What was begun with processes that came by themselves can be taken up in both ways.
#[test]
fn processes_that_came_need_not_come_again() {
    let place = folder("several-listen");
    let model = model(&place);
    let undisturbed = output(&["explore", &model, "--json", "--processes", "1"]);
    let checkpoints = place.join("checkpoints").display().to_string();
    let port = std::net::TcpListener::bind("127.0.0.1:0");
    let address = port
        .and_then(|port| port.local_addr())
        .expect("a port is free");
    let address = address.to_string();
    let run = |arguments: &[&str]| {
        stubborn(arguments)
            .env("STUBBORN_TOKEN", "0123456789abcdef0123")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    let first = ["explore", &model, "--json", "--checkpoint", &checkpoints];
    let begin = |most: &str| {
        let listen = ["--processes", "2", "--listen", &address, "--max-states"];
        let leader = match most {
            "5000" => run(&[&first[..], &listen, &[most]].concat()),
            _ => run(&[&["resume", &checkpoints, "--json"][..], &listen, &[most]].concat()),
        };
        let worker = run(&[&first[..], &["--join", &address]].concat());
        let said = leader.wait_with_output().expect("a child of ours");
        let _ = worker.wait_with_output();
        assert_eq!(said.status.code(), Some(3), "{most}: {said:?}");
    };
    begin("5000");
    begin("20000");
    let more = ["--processes", "3", "--max-states", "90000000"];
    let end = output(&[&["resume", &checkpoints, "--json"][..], &more].concat());
    assert_eq!(essence(&end), essence(&undisturbed), "{end:?}");
}

/// Each started by hand, as a scheduler does; one has another model.
#[test]
fn processes_find_each_other_by_address_and_token() {
    let place = folder("several-join");
    let model = model(&place);
    let alone = output(&["explore", &model, "--json"]);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0");
    let address = port
        .and_then(|port| port.local_addr())
        .expect("a port is free");
    let address = address.to_string();
    let token = "0123456789abcdef0123";
    let run = |model: &str, more: &[&str]| {
        stubborn(&[&["explore", model, "--json"][..], more].concat())
            .env("STUBBORN_TOKEN", token)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    let listen = ["--processes", "2", "--listen", &address];
    let leader = run(&model, &listen);
    let worker = run(&model, &["--join", &address]);
    let said = leader.wait_with_output().expect("a child of ours");
    assert_eq!(essence(&said), essence(&alone), "{said:?}");
    let silent = worker.wait_with_output().expect("a child of ours");
    assert_eq!(silent.status.code(), Some(0), "{silent:?}");
    assert!(silent.stdout.is_empty(), "{silent:?}");

    let leader = run(&model, &listen);
    let other = format!("{EXAMPLES}/peterson.dve");
    let worker = run(&other, &["--join", &address]);
    for child in [leader, worker] {
        let said = child.wait_with_output().expect("a child of ours");
        assert_eq!(said.status.code(), Some(2), "{said:?}");
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(text.contains("another model"), "{text}");
    }
    let no_token = output(&["explore", &model, "--processes", "2", "--listen", &address]);
    assert_eq!(no_token.status.code(), Some(2), "{no_token:?}");
}

#[test]
fn what_several_processes_cannot_do_is_said() {
    let model = format!("{EXAMPLES}/peterson.dve");
    for more in [
        &["check", "--ctl", "AG true"][..],
        &["explore", "--order", "dfs"],
        &["explore", "--threads", "2"],
        &["explore", "--store", "bitstate"],
        &["explore", "--spill", "files"],
        &["explore", "--proviso", "stab", "--por", "beam"],
    ] {
        let arguments = [
            &more[..1],
            &[model.as_str(), "--processes", "2"],
            &more[1..],
        ]
        .concat();
        let refused = output(&arguments);
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("process"), "{more:?}: {said}");
    }
}

/// Any of them may be killed, at any moment: whoever takes it up ends as an undisturbed one.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "minutes"]
fn many_kills_of_any_process_change_nothing() {
    let random = &mut stubborn::system::Random::new(5);
    let place = folder("several-kills");
    let ways: [&[&str]; 3] = [
        &["explore"],
        &["check", "--only", "--no-vacuity", "--ltl", ALWAYS],
        &[
            "check",
            "--por",
            "beam",
            "--only",
            "--invariant",
            "turns != 6",
        ],
    ];
    for (round, way) in ways.into_iter().cycle().take(21).enumerate() {
        let model = model_of(way, &place);
        let checkpoints = place.join(format!("checkpoints-{round}"));
        let shown = checkpoints.display().to_string();
        let often = [
            "--processes",
            "3",
            "--checkpoint",
            &shown,
            "--checkpoint-every",
            "0.02",
        ];
        let undisturbed = output(&arguments(way, &model, &["--processes", "1"]));
        let mut command = arguments(way, &model, &often);
        for kill in 0.. {
            let child = start(&command);
            std::thread::sleep(Duration::from_millis(random.below(250) as u64));
            let mut all = children(&child);
            all.push(child.id().to_string());
            if kill < 5 {
                let _ = Command::new("kill")
                    .args(["-KILL", random.pick(&all).as_str()])
                    .status();
            }
            let mut end = child.wait_with_output().expect("a child of ours");
            // It may have been killed when everything was said, and the checkpoint was gone.
            if end.status.code().is_none() && end.stdout.ends_with(b"\n") {
                end.status = undisturbed.status;
            }
            if end.status == undisturbed.status {
                assert_eq!(
                    essence(&end),
                    essence(&undisturbed),
                    "round {round}: {end:?}"
                );
                break;
            }
            // A process that dies before all have met is a wrong command.
            let code = end.status.code();
            assert!(matches!(code, None | Some(2 | 3)), "round {round}: {end:?}");
            assert!(kill < 6, "round {round} was not disturbed: {end:?}");
            let processes = ["1", "2", "3"][random.below(3)];
            let begun = ["checkpoint", "checkpoint.new", "checkpoint.previous"];
            if begun.iter().any(|file| checkpoints.join(file).exists()) {
                command = vec!["resume", &shown, "--json", "--checkpoint-every", "0.02"];
                command.extend(["--processes", processes]);
            }
        }
    }
}

/// The instances of the BEEM benchmark up to 5 million states, as far as the corpus is there.
/// Lines with delay and loss between network namespaces change nothing; where those cannot be made, that
/// is said.
#[test]
#[ignore = "needs root and iproute2"]
#[cfg(target_os = "linux")]
fn slow_lines_change_nothing() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/endure/namespaces.sh");
    let place = folder("namespaces");
    let (model, ring) = (model(&place), ring(&place));
    let ways: [&[&str]; 3] = [
        &["explore", &model],
        &[
            "check",
            &model,
            "--por",
            "none",
            "--invariant",
            "turns < 5",
            "--deadlock",
        ],
        &["check", &ring, "--only", "--no-vacuity", "--ltl", ALWAYS],
    ];
    for (way, processes) in ways.into_iter().zip(["2", "4", "3"]) {
        let several = Command::new(script)
            .args([processes, env!("CARGO_BIN_EXE_stubborn")])
            .args(way)
            .arg("--json")
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&several.stderr);
        if several.status.code() == Some(77) {
            eprintln!("{said}");
            return;
        }
        eprintln!("{said}");
        let alone = output(&[way, &["--json"]].concat());
        assert_eq!(essence(&several)[0], essence(&alone)[0], "{several:?}");
        assert_eq!(essence(&several)[2], essence(&alone)[2], "{several:?}");
        let states = |output: &Output| answer(output)["states"].clone();
        assert_eq!(states(&several), states(&alone), "{several:?}");
    }
}

#[test]
#[ignore = "an hour"]
fn benchmarks_have_the_same_counts_in_several_processes() {
    let Some(beem) = stubborn_corpus::folder("beem") else {
        return;
    };
    let table = std::fs::read_to_string(beem.join("EXPECTED.tsv")).expect("the table is there");
    for (at, row) in table.lines().skip(1).enumerate() {
        let columns: Vec<&str> = row.split('\t').collect();
        let Ok(states) = columns[1].parse::<u64>() else {
            continue;
        };
        if states > 5_000_000 {
            continue;
        }
        let model = beem.join(format!("models/{}.dve", columns[0]));
        let model = model.display().to_string();
        let processes = ["2", "4"][at % 2];
        let end = output(&["explore", &model, "--json", "--processes", processes]);
        let counts = answer(&end);
        assert_eq!(counts["states"], json!(states), "{}: {end:?}", columns[0]);
        let transitions: u64 = columns[2].parse().expect("a number");
        assert_eq!(counts["transitions"], json!(transitions), "{}", columns[0]);
        if let Ok(deadlocks) = columns[3].parse::<u64>() {
            assert_eq!(counts["deadlocks"], json!(deadlocks), "{}", columns[0]);
        }
    }
}
