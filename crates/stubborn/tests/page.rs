//! The page: what its server answers and to whom, what reports hold, and both in a real browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn stubborn(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command.args(args).current_dir(repository());
    command
}

/// A server, ended when dropped.
struct Served {
    child: Child,
    port: u16,
    token: String,
}

impl Served {
    fn new(args: &[&str]) -> Self {
        let mut child = stubborn(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        // Models say it on standard output, protocols on standard error.
        let mut line = String::new();
        if args[0] == "serve" {
            let out = child.stdout.take().expect("its output");
            BufReader::new(out).read_line(&mut line).expect("a line");
        } else {
            let out = child.stderr.take().expect("its output");
            BufReader::new(out).read_line(&mut line).expect("a line");
        }
        let (_, address) = line.split_once("http://127.0.0.1:").expect("an address");
        let (port, token) = address.trim().split_once("/#").expect("a token");
        Self {
            child,
            port: port.parse().expect("a port"),
            token: token.to_owned(),
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }

    /// Status and body of a request.
    fn raw(&self, method: &str, path: &str, headers: &[String], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a server");
        let length = body.len();
        let headers: String = headers.iter().map(|h| format!("{h}\r\n")).collect();
        let request =
            format!("{method} {path} HTTP/1.0\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok());
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        (status.expect("a status"), body.to_owned())
    }

    fn headers(&self) -> Vec<String> {
        vec![
            format!("Host: 127.0.0.1:{}", self.port),
            format!("Authorization: Bearer {}", self.token),
        ]
    }

    fn ask(&self, target: &str) -> Value {
        self.send("GET", target, "")
    }

    fn send(&self, method: &str, target: &str, body: &str) -> Value {
        let (status, text) = self.raw(method, &format!("/api/{target}"), &self.headers(), body);
        assert_eq!(status, 200, "{target}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The status when the check has ended.
    fn concluded(&self) -> Value {
        let started = Instant::now();
        loop {
            let status = self.ask("status");
            if status["running"] == false && !status["survey"].is_null() {
                return status;
            }
            assert!(started.elapsed() < Duration::from_secs(120), "{status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_the_page_of_this_machine_with_the_token_gets_answers() {
    let served = Served::new(&["serve", "examples/philosophers.dve", "--no-check"]);
    let host = format!("Host: 127.0.0.1:{}", served.port);
    let bearer = format!("Authorization: Bearer {}", served.token);
    let status = |path: &str, headers: &[String]| served.raw("GET", path, headers, "").0;

    assert_eq!(served.token.len(), 32);
    assert_eq!(status("/api/model", &served.headers()), 200);
    // The page itself holds nothing.
    assert_eq!(status("/", std::slice::from_ref(&host)), 200);
    assert_eq!(status("/api/model", std::slice::from_ref(&host)), 401);
    let wrong = format!("Authorization: Bearer {}", "0".repeat(32));
    assert_eq!(status("/api/model", &[host.clone(), wrong]), 401);
    // Names that somebody else has bound to this machine, and pages of others.
    let rebound = format!("Host: evil.example:{}", served.port);
    assert_eq!(status("/api/model", &[rebound, bearer.clone()]), 403);
    assert_eq!(status("/", &["Host: evil.example".into()]), 403);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let headers = [host.clone(), bearer.clone(), format!("Origin: {origin}")];
        assert_eq!(status("/api/model", &headers), 403, "{origin}");
    }
    let own = format!("Origin: http://127.0.0.1:{}", served.port);
    assert_eq!(
        status("/api/model", &[host.clone(), bearer.clone(), own]),
        200
    );
    let cross = "Sec-Fetch-Site: cross-site".to_owned();
    assert_eq!(status("/api/model", &[host, bearer, cross]), 403);
    // What is wrong is said, and ends nothing.
    for target in [
        "state/999",
        "state/x",
        "set/0?question=99",
        "nothing",
        "trace/7",
    ] {
        let answer = served.ask(target);
        assert!(answer["refused"].is_string(), "{target}: {answer}");
    }
    let refused = served.ask("set/0?question=0&algorithm=goal");
    assert!(refused["refused"].to_string().contains("deadlocks"));
    assert!(served.ask("state/0")["values"].is_array());
}

/// Connections on which a request is never finished: by nobody, and by somebody with the token.
#[test]
fn unfinished_requests_keep_nobody_waiting() {
    let mut served = Served::new(&["serve", "examples/philosophers.dve", "--no-check"]);
    let host = format!("Host: 127.0.0.1:{}", served.port);
    let known = format!("{host}\r\nAuthorization: Bearer {}", served.token);
    let announced = "Content-Length: 1000000000\r\n\r\n";
    let beginnings = [
        format!("POST /api/model HTTP/1.1\r\n{host}\r\n{announced}"),
        format!("POST /api/model HTTP/1.1\r\n{known}\r\n{announced}"),
        format!("POST / HTTP/1.0\r\n{host}\r\n{announced}{{"),
        format!("GET / HTTP/1.1\r\n{host}\r\nX: y"),
        "GET".to_owned(),
        String::new(),
    ];
    let unfinished: Vec<TcpStream> = (0..32)
        .map(|number| {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("a server");
            let beginning = beginnings[number % beginnings.len()].as_bytes();
            stream.write_all(beginning).expect("it is open");
            stream
        })
        .collect();
    let started = Instant::now();
    let (status, page) = served.raw("GET", "/", std::slice::from_ref(&host), "");
    assert!(status == 200 && page.contains("page.js"));
    assert!(served.ask("model")["transitions"].is_array());
    let second = Duration::from_secs(1);
    assert!(started.elapsed() < second, "{:?}", started.elapsed());
    // A head may have so many bytes.
    let long = format!("X: {}", "y".repeat(100_000));
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("a server");
    let request = format!("GET / HTTP/1.1\r\n{host}\r\n{long}\r\n\r\n");
    // It may be cut off before all of it was sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    // And it ends in time.
    let ended = interrupt(&mut served.child);
    assert!(ended < second, "{ended:?}");
    drop(unfinished);
}

/// Nobody stays long who has not shown the token.
#[test]
#[ignore = "long: waits for deadlines"]
fn connections_without_the_token_end() {
    let served = Served::new(&["serve", "examples/philosophers.dve", "--no-check"]);
    let host = format!("Host: 127.0.0.1:{}", served.port);
    let mut streams: Vec<TcpStream> = ["", "GET", "GET / HTTP/1.1\r\nX: y"]
        .into_iter()
        .map(|beginning| {
            let mut stream = TcpStream::connect(("127.0.0.1", served.port)).expect("a server");
            stream.write_all(beginning.as_bytes()).expect("it is open");
            stream
        })
        .collect();
    // One that asks again and again, and one that never reads what it gets.
    let mut asks = TcpStream::connect(("127.0.0.1", served.port)).expect("a server");
    let request = format!("GET /page.js HTTP/1.1\r\n{host}\r\n\r\n");
    let mut deaf = asks.try_clone().expect("it is open");
    std::thread::spawn(move || while deaf.write_all(request.as_bytes()).is_ok() {});
    std::thread::sleep(Duration::from_secs(12));
    for stream in &mut streams {
        stream
            .set_read_timeout(Some(Duration::from_secs(1)))
            .expect("a socket");
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let is_open = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_open);
    }
    assert!(asks.write_all(&[b' '; 1 << 20]).is_err());
    assert!(served.ask("model")["transitions"].is_array());
}

/// Presses Ctrl-C; how long it takes to end.
fn interrupt(child: &mut Child) -> Duration {
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("there is a kill").success());
    let started = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "it does not end"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    started.elapsed()
}

/// Whatever it does: checks a large model, looks for an expression, or waits for others.
#[test]
fn what_serves_others_ends_within_a_second() {
    let large = "examples/leader_ring.dve";
    let arguments: [&[&str]; 4] = [
        &["serve", large],
        &["protocol", "two-phase-commit-5", "--serve"],
        &[
            "explore",
            large,
            "--processes",
            "2",
            "--listen",
            "127.0.0.1:0",
        ],
        &["explore", large, "--join", "127.0.0.1:9"],
    ];
    for arguments in arguments {
        let mut child = stubborn(arguments)
            .env("STUBBORN_TOKEN", "0123456789abcdef0123")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program");
        std::thread::sleep(Duration::from_millis(500));
        assert!(
            child.try_wait().expect("a child").is_none(),
            "{arguments:?}"
        );
        let ended = interrupt(&mut child);
        assert!(ended < Duration::from_secs(1), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn sets_are_explained_as_inspect_does() {
    for (model, algorithm) in [
        ("examples/philosophers.dve", "beam"),
        ("examples/philosophers.dve", "deletion"),
        ("examples/token_passing.pml", "beam"),
        ("examples/workshop.pnml", "closure"),
    ] {
        let served = Served::new(&["serve", model, "--no-check"]);
        let names = served.ask("model");
        let name = |t: &Value| {
            let at = t.as_u64().expect("a number") as usize;
            names["transitions"][at]["name"].clone()
        };
        let set = served.ask(&format!(
            "set/0?question=0&algorithm={algorithm}&relations=reach"
        ));
        let out = stubborn(&[
            "inspect", model, "--state", "start", "--por", algorithm, "--format", "json",
        ])
        .output()
        .expect("inspect");
        let expected: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(set["reduced"], expected["reduced"], "{model}");
        let kept: Vec<Value> = set["kept"]
            .as_array()
            .expect("kept")
            .iter()
            .map(name)
            .collect();
        let enabled = expected["enabled"].as_array().expect("enabled");
        let wanted = enabled.iter().filter(|one| one["kept"] == true);
        let wanted: Vec<Value> = wanted.map(|one| one["transition"].clone()).collect();
        assert_eq!(kept, wanted, "{model}");
        for member in expected["set"].as_array().expect("a set") {
            let mut all = set["members"].as_array().expect("members").iter();
            let same = |one: &&Value| name(&one["transition"]) == member["transition"];
            let found = all.find(same).expect("the same member");
            assert_eq!(found["reason"], member["reason"], "{model}");
            assert_eq!(found["enabled"], member["enabled"], "{model}");
        }
        // What is left out leads to the same states, before what is kept or after it.
        for left in set["left"].as_array().expect("left") {
            assert!(!kept.contains(&name(&left["transition"])));
            for diamond in left["diamonds"].as_array().expect("diamonds") {
                assert_eq!(diamond["same"], true, "{model}: {left}");
            }
        }
    }
}

#[test]
fn a_violated_model_is_walked_through() {
    let served = Served::new(&["serve", "examples/alternating_bit_broken.dve"]);
    let status = served.concluded();
    let answers = status["answers"].as_array().expect("answers");
    let violated = answers.iter().find(|a| a["verdict"] == "violated");
    let number = violated.expect("a violation")["trace"]
        .as_u64()
        .expect("a run");
    assert!(status["survey"]["complete"] == true, "{status}");
    assert!(status["levels"].as_array().is_some_and(|l| l.len() > 1));

    // The steps lead from state to state, and change what the states say.
    let trace = served.ask(&format!("trace/{number}"));
    let mut state = served.ask(&format!("state/{}", trace["initial"]));
    let mut words = vec![trace["initial"].to_string()];
    for step in trace["steps"].as_array().expect("steps") {
        let offered = state["steps"].as_array().expect("steps").iter();
        let offered = offered.filter(|s| s["transition"] == step["transition"]);
        assert!(offered.into_iter().any(|s| s["to"] == step["to"]));
        words.push(format!("{}:{}", step["transition"], step["to"]));
        let mut values = state["values"].as_array().expect("values").clone();
        for change in step["changes"].as_array().expect("changes") {
            values[change[0].as_u64().expect("a field") as usize] = change[1].clone();
        }
        state = served.ask(&format!("state/{}", step["to"]));
        if state["error"] != true {
            assert_eq!(state["values"], Value::Array(values));
        }
    }
    // A run can be saved and followed again.
    let saved = served.send("POST", "save", &words.join(" "));
    let again = served.send("POST", "follow", saved["file"].as_str().expect("a file"));
    let again = served.ask(&format!("trace/{}", again["trace"]));
    assert_eq!(again["steps"], trace["steps"]);
    let wrong = served.send("POST", "follow", "{}");
    assert!(wrong["refused"].is_string());
}

#[test]
fn states_are_found_by_expressions() {
    let served = Served::new(&["serve", "examples/peterson.dve", "--no-check"]);
    let length = |expression: &str| {
        let found = served.send("POST", "find", expression);
        assert!(found["refused"].is_null(), "{found}");
        found["trace"].as_u64().map(|number| {
            let trace = served.ask(&format!("trace/{number}"));
            trace["steps"].as_array().expect("steps").len()
        })
    };
    assert!(length("P_0.critical or P_1.critical").is_some_and(|steps| steps > 1));
    assert_eq!(length("P_0.critical and P_1.critical"), None);
    // Brackets cannot be closed to open others.
    for wrong in ["P_0.critical) or (P_1.critical", "P_0.", ""] {
        let found = served.send("POST", "find", wrong);
        assert!(found["refused"].is_string(), "{wrong}: {found}");
    }
}

#[test]
fn lassos_are_folded_with_what_the_property_sees() {
    let model = "examples/philosophers.dve";
    let formula = "[] (Philosopher_0.hungry -> <> Philosopher_0.eating)";
    let served = Served::new(&["serve", model, "--only", "--ltl", formula]);
    let status = served.concluded();
    assert_eq!(status["answers"][0]["verdict"], "violated", "{status}");
    let trace = served.ask(&format!("trace/{}", status["answers"][0]["trace"]));
    let steps = trace["steps"].as_array().expect("steps");
    let word = &trace["word"];
    let states = match trace["cycle"].as_u64() {
        Some(cycle) => {
            // The loop closes: its last step leads to where it starts.
            let start = match cycle {
                0 => &trace["initial"],
                cycle => &steps[cycle as usize - 1]["to"],
            };
            assert_eq!(steps.last().expect("a step")["to"], *start);
            steps.len()
        }
        None => steps.len() + 1,
    };
    assert_eq!(word["propositions"].as_array().map(Vec::len), Some(2));
    assert_eq!(word["truth"].as_array().map(Vec::len), Some(states));
    // The automaton of violating runs accepts: it is somewhere in every state, and marks come.
    let automaton = word["automaton"].as_array().expect("its states");
    assert_eq!(automaton.len(), states);
    assert!(
        automaton
            .iter()
            .all(|s| s.as_array().is_some_and(|s| !s.is_empty()))
    );
    let accepting = word["accepting"].as_array().expect("marks");
    let from = trace["cycle"].as_u64().map_or(states - 1, |c| c as usize);
    assert!(accepting[from..].iter().any(|mark| *mark == true));
}

/// What shows that a formula of branching time holds, and what shows that it does not.
#[test]
fn branching_time_has_witnesses() {
    let peterson = "examples/peterson.dve";
    let formulas = ["EF P_0.critical", "AG (P_0.wait -> AF P_0.critical)"];
    let asked = ["--only", "--ctl", formulas[0], "--ctl", formulas[1]];
    let served = Served::new(&[&["serve", peterson], &asked[..]].concat());
    let status = served.concluded();
    for (at, verdict) in ["holds", "violated"].into_iter().enumerate() {
        let answer = &status["answers"][at];
        assert_eq!(answer["verdict"], verdict, "{status}");
        let why = answer["why"].as_str().expect("a text");
        assert!(why.contains("P_0"), "{why}");
        let trace = served.ask(&format!("trace/{}", answer["trace"]));
        assert!(
            trace["steps"].as_array().is_some_and(|s| !s.is_empty()),
            "{trace}"
        );
    }
}

#[test]
fn the_graph_grows_and_shrinks_with_the_reduction() {
    let served = Served::new(&["serve", "examples/philosophers.dve", "--no-check"]);
    let count = |query: &str| {
        let grown = served.ask(&format!("grow?from=0&most=5000&{query}"));
        assert_eq!(grown["complete"], true);
        grown["states"].as_array().expect("states").len()
    };
    let all = count("algorithm=none&question=0&relations=reach");
    let kept = count("reduced=1&algorithm=beam&question=0&relations=reach");
    assert!(kept < all, "{kept} of {all}");
    let out = stubborn(&[
        "explore",
        "examples/philosophers.dve",
        "--json",
        "--por",
        "beam",
    ])
    .output()
    .expect("explore");
    let explored: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(explored["states"], kept as u64);
    let left = served.send("POST", "kept?algorithm=beam&question=0", "0 1 2");
    assert_eq!(left.as_object().map(|o| o.len()), Some(3));
}

#[test]
fn protocols_are_shown_with_their_messages() {
    let served = Served::new(&["protocol", "two-phase-commit-5", "--serve"]);
    let status = served.concluded();
    let answers = status["answers"].as_array().expect("answers");
    assert!(answers.iter().all(|a| a["verdict"] == "holds"), "{status}");
    let found = served.send("POST", "find", "Commit");
    let trace = served.ask(&format!("trace/{}", found["trace"]));
    let steps = trace["steps"].as_array().expect("steps").iter();
    assert!(
        steps
            .into_iter()
            .any(|s| s["arrows"].as_array().is_some_and(|a| !a.is_empty()))
    );
    assert!(served.ask("set/0?question=0")["members"].is_array());
}

#[test]
fn a_loop_closes_and_collects_marks() {
    let model = "examples/readers_writers.pml";
    let served = Served::new(&["serve", model, "--property", "idle"]);
    let status = served.concluded();
    assert_eq!(status["answers"][0]["verdict"], "violated", "{status}");
    let trace = served.ask(&format!("trace/{}", status["answers"][0]["trace"]));
    let why = status["answers"][0]["why"].as_str().expect("reasons");
    assert!(why.contains("for ever"), "{why}");
    let steps = trace["steps"].as_array().expect("steps");
    let cycle = trace["cycle"].as_u64().expect("a cycle") as usize;
    assert_eq!(steps[steps.len() - 1]["to"], steps[cycle - 1]["to"]);
    let word = &trace["word"];
    assert_eq!(word["truth"].as_array().map(Vec::len), Some(steps.len()));
    let accepting = word["accepting"].as_array().expect("marks");
    assert!(
        accepting[cycle..].iter().any(|mark| *mark == true),
        "{word}"
    );
    // Statements inside of atomic sequences are taken, too.
    let statements = status["survey"]["statements"].as_array();
    assert!(statements.is_some_and(|all| all.len() > 15 && all.iter().all(|s| s[2] == 1)));
}

#[test]
fn the_first_answers_come_before_the_search_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("large.dve");
    let counter = |name: &str| {
        format!(
            "process P_{name} {{ state a; init a; \
             trans a -> a {{ guard {name} < 2000; effect {name} = {name} + 1; }}; }}\n"
        )
    };
    let text = "int x = 0, y = 0;\n".to_owned() + &counter("x") + &counter("y") + "system async;\n";
    std::fs::write(&model, text).expect("a model");
    let served = Served::new(&["serve", model.to_str().expect("a name"), "--por", "none"]);
    assert!(served.ask("model")["transitions"].is_array());
    assert!(
        served.ask("state/0")["steps"]
            .as_array()
            .is_some_and(|s| s.len() == 2)
    );
    assert_eq!(served.ask("status")["running"], true);
    let started = Instant::now();
    loop {
        let status = served.ask("status");
        assert_eq!(status["running"], true, "{status}");
        let samples = status["samples"].as_array().expect("samples");
        if !samples.is_empty() && status["progress"]["depth"].as_u64() > Some(0) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A model whose property is violated by a lasso of many steps.
fn long_lasso(steps: usize) -> String {
    format!(
        "int x = 0;\nprocess P {{\n state a, b; init a;\n trans a -> a {{ guard x < {steps}; \
         effect x = x + 1; }},\n a -> b {{ guard x == {steps}; }},\n b -> a {{ effect x = 0; }};\n}}\n\
         process Q {{\n state c; init c;\n trans c -> c {{ guard x > {steps}; }};\n}}\nsystem async;\n"
    )
}

fn report_of(model: &Path, more: &[&str]) -> (String, PathBuf) {
    let path = model.with_extension("html");
    let (shown, file) = (model.display().to_string(), path.display().to_string());
    let mut args = vec![
        "check",
        shown.as_str(),
        "--quiet",
        "--report",
        file.as_str(),
    ];
    args.extend(more);
    let out = stubborn(&args).output().expect("check");
    assert!(out.status.code().is_some_and(|code| code < 2), "{out:?}");
    (std::fs::read_to_string(&path).expect("a report"), path)
}

#[test]
fn a_report_of_a_lasso_of_200_steps_is_below_a_megabyte() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("long.dve");
    std::fs::write(&model, long_lasso(198)).expect("a model");
    let (text, _) = report_of(&model, &["--only", "--ltl", "<> \"x == 500\""]);
    assert!(text.contains("\"cycle\":0"));
    assert!(text.len() < 1_000_000, "{}", text.len());
    // It needs nothing from elsewhere.
    for outside in ["src=\"", "href=\"http", "url(http", "@import"] {
        assert!(!text.contains(outside), "{outside}");
    }
}

#[test]
fn a_report_needs_a_place() {
    let out = stubborn(&[
        "check",
        "examples/peterson.dve",
        "--report",
        "/no/such/place.html",
    ])
    .output()
    .expect("check");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot write"));
}

/// The document after the page has done its work, or `None` where there is no browser.
fn in_browser(url: &str, more: &[&str]) -> Option<String> {
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&&str| {
        let found = Command::new(name).arg("--version").output();
        found.is_ok_and(|out| out.status.success())
    };
    let Some(browser) = browser.iter().find(is_there) else {
        eprintln!("skipped: there is no Chromium to look at the page with");
        return None;
    };
    let profile = tempfile::tempdir().expect("a folder");
    let out = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args([
            "--window-size=1500,950",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(url)
        .stderr(Stdio::null())
        .output()
        .expect("a browser");
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[test]
fn the_page_works_in_a_browser() {
    let served = Served::new(&["serve", "examples/philosophers.dve"]);
    served.concluded();
    // The counterexample, three steps back, another way from there, undone.
    let keys = "?trace=0&keys=ArrowLeft,ArrowLeft,ArrowLeft,1,g,g,g,k,t,t,a,q";
    let Some(page) = in_browser(&(served.url() + keys), &[]) else {
        return;
    };
    assert!(page.contains("data-painted=\"yes\""), "{page}");
    assert!(page.contains("data-keys=\"q\""), "{page}");
    let shown = |text: &str| assert!(page.contains(text), "no {text} in {page}");
    shown("philosophers.dve");
    shown("class=\"answer violated\"");
    shown("In the set, and what pulled each in");
    shown("by hand, left");
    shown("class=\"margin taken\"");
    shown("<mark");
    // The graph grows further each time.
    let counts = page.split_once("id=\"counts\"").expect("counts").1;
    let counts = counts.split_once('>').expect("a tag").1;
    let counts = counts.split('<').next().expect("a text");
    let numbers = counts.split(|c: char| !c.is_ascii_digit());
    let most = numbers.filter_map(|n| n.parse::<u32>().ok()).max();
    assert!(most > Some(120), "{counts}");
    assert!(
        page.contains("<div id=\"message\" role=\"alert\" hidden"),
        "{page}"
    );
}

#[test]
fn a_report_works_in_a_browser() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("loop.dve");
    std::fs::write(&model, long_lasso(5)).expect("a model");
    let (_, path) = report_of(&model, &["--only", "--ltl", "<> \"x == 50\""]);
    let url = format!(
        "file://{}#?trace=0&at=3&keys=ArrowRight,t,t",
        path.display()
    );
    let Some(page) = in_browser(&url, &[]) else {
        return;
    };
    assert!(page.contains("data-keys=\"t\""), "{page}");
    assert!(page.contains("then for ever"), "{page}");
    assert!(page.contains("after 4 of 7 steps"), "{page}");
    assert!(
        page.contains("<div id=\"message\" role=\"alert\" hidden"),
        "{page}"
    );
}
