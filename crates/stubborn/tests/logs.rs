//! Logs against models.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;
use stubborn::conformance::{Event, Explainer, Mapping, Recorder, Refusal};
use stubborn::system::Random;
use stubborn::{Language, LoadOptions, load_text};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stubborn"));
    command
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn file(name: &str, text: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logs");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path.display().to_string()
}

/// Two counters that a hidden step resets.
const COUNTERS: &str = "byte x, y;
process P { state a; init a; trans a -> a { guard x < 3; effect x = x + 1; }; }
process Q { state a; init a; trans a -> a { guard y < 3; effect y = y + 1; }; }
process Reset { state a; init a; trans a -> a { guard x > 1; effect x = 0; }; }
system async;
";

const MAP: &str = "
event = 'kind'
[[rule]]
when = 'up'
transition = '{who}: *'
before = { '{field}' = '{old}' }
state = { '{field}' = '{new}' }
[[rule]]
when = 'look'
state = { x = '{x}', y = '{y}' }
[[rule]]
when = 'chat'
ignore = true
";

fn checked(log: &str, more: &[&str]) -> (Value, Option<i32>) {
    // Tests run side by side: each call has files of its own.
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let model = file(&format!("counters{call}.dve"), COUNTERS);
    let map = file(&format!("counters{call}.toml"), MAP);
    let log = file(&format!("{call}.jsonl"), log);
    let arguments = ["trace-check", &model, &log, "--map", &map, "--json"];
    let output = run(&[&arguments, more].concat());
    let object = serde_json::from_slice(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (
        object.unwrap_or_else(|e| panic!("{e}: {errors}")),
        output.status.code(),
    )
}

const UP: &str = r#"{"kind":"up","who":"P","field":"x","new":1}
{"kind":"chat","text":"hello"}
{"kind":"up","who":"Q","field":"y","old":0,"new":1}
{"kind":"up","who":"P","field":"x","old":1}
"#;

#[test]
fn logs_are_explained() {
    let (object, code) = checked(UP, &[]);
    assert_eq!(code, Some(0), "{object:#}");
    assert_eq!(object["explained"], 4);
    assert_eq!(object["state"]["x"], 2);
    assert_eq!(object["state"]["y"], 1);
}

#[test]
fn what_is_not_explained_is_told() {
    let wrong = r#"{"kind":"up","who":"P","field":"x","new":1}"#;
    let (object, code) = checked(&format!("{UP}{wrong}\n{UP}"), &[]);
    assert_eq!(code, Some(1));
    assert_eq!(object["explained"], 4);
    let unexplained = &object["unexplained"];
    assert_eq!(unexplained["line"], 5);
    assert_eq!(unexplained["event"]["new"], 1);
    assert_eq!(
        unexplained["why"],
        "after it, x is 3 in the model, and 1 in the log"
    );
    let allowed = unexplained["allowed"].as_array().expect("a list");
    let names: Vec<&str> = allowed
        .iter()
        .filter_map(|a| a["transition"].as_str())
        .collect();
    assert_eq!(names, ["P: a -> a", "Q: a -> a", "Reset: a -> a"]);
    // A step that is missing explains it.
    let log = format!("{UP}{wrong}\n");
    for (hidden, wanted) in [("0", 1), ("1", 0)] {
        let (object, code) = checked(&log, &["--hidden", hidden]);
        assert_eq!(code, Some(wanted), "{object:#}");
    }
}

/// What was observed of a state alone, with steps between that nobody saw.
#[test]
fn partial_observations_leave_several_states() {
    let look = |x: u8| format!("{{\"kind\":\"look\",\"x\":{x}}}\n");
    let log = look(0) + &look(2);
    let (object, code) = checked(&log, &["--hidden", "1"]);
    assert_eq!(code, Some(1));
    assert_eq!(object["explained"], 1);
    let (object, code) = checked(&log, &["--hidden", "3"]);
    assert_eq!(code, Some(0), "{object:#}");
    assert_eq!(object["states"], 4, "y may have any value");
    // 2 comes first with y = 0 or, given three steps, 1; then a reset and the rest of y.
    let log = look(2) + "{\"kind\":\"look\",\"x\":0,\"y\":3}\n";
    assert_eq!(checked(&log, &["--hidden", "2"]).1, Some(1));
    assert_eq!(checked(&log, &["--hidden", "3"]).1, Some(0));
}

#[test]
fn wrong_logs_and_mappings_are_said_to_be_so() {
    for (log, wanted) in [
        (
            "{\"kind\":\"down\"}\n",
            "no rule is for events whose `kind` is \"down\"",
        ),
        ("\n\n[1]\n", ".jsonl:3:1: this is no JSON object"),
        (
            "{\"kind\": oops}\n",
            ".jsonl:1:10: this is no JSON object: expected value",
        ),
        ("{\"kind\":\"up\"}\n", "the event has no `who`"),
        (
            "{\"kind\":\"up\",\"who\":\"R\",\"field\":\"x\"}\n",
            "no transition of the model is called `R: *`",
        ),
        (
            "{\"kind\":\"up\",\"who\":\"P\",\"field\":\"z\"}\n",
            "the model has no field `z`",
        ),
    ] {
        let (object, code) = checked(log, &[]);
        assert_eq!(code, Some(2), "{log}");
        let message = object["error"]["message"].as_str().expect("a text");
        assert!(message.contains(wanted), "{message}");
    }
    let model = file("counters.dve", COUNTERS);
    let log = file("any.jsonl", UP);
    for map in ["rules = 3", "[[rule]]\nwhen = 'a'\ntransitions = 'b'\n"] {
        let map = file("wrong.toml", map);
        let output = run(&["trace-check", &model, &log, "--map", &map]);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("wrong.toml:"), "{message}");
    }
}

/// The steps of a counterexample are a log that its model explains, and no other model does.
#[test]
fn saved_steps_are_a_log() {
    for model in [
        "token_passing.pml",
        "alternating_bit_broken.dve",
        "leader_ring.dve",
    ] {
        let path = format!("{EXAMPLES}/{model}");
        let output = run(&["check", &path, "--json"]);
        let object: Value = serde_json::from_slice(&output.stdout).expect("an object");
        let properties = object["properties"].as_array().expect("a list");
        let trace = properties
            .iter()
            .find(|p| p["verdict"] == "violated")
            .expect("one");
        let steps = trace["trace"]["stem"].as_array().expect("a list");
        let lines: Vec<String> = steps.iter().map(Value::to_string).collect();
        let log = file(&format!("{model}.jsonl"), &(lines.join("\n") + "\n"));
        let output = run(&["trace-check", &path, &log]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let without = lines.iter().skip(1).cloned().collect::<Vec<_>>().join("\n");
        let log = file(&format!("{model}.short.jsonl"), &without);
        let output = run(&["trace-check", &path, &log]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains("UNEXPLAINED") && text.contains("could have happened"),
            "{text}"
        );
    }
}

/// Two counters that go up and down, with 100,489 states; each step is an event that says who moved, and to where.
fn walking() -> (stubborn::LoadedModel, Vec<String>) {
    let mut model = String::new();
    let mut processes = String::new();
    for at in 0..2 {
        let _ = writeln!(model, "int x{at};");
        let _ = writeln!(
            processes,
            "process P{at} {{ state a; init a; trans \
             a -> a {{ guard x{at} < 316; effect x{at} = x{at} + 1; }}, \
             a -> a {{ guard x{at} > 0; effect x{at} = x{at} - 1; }}; }}"
        );
    }
    let text = model + &processes + "system async;\n";
    let options = LoadOptions::default();
    let model = load_text("m.dve", text, Language::Dve, &options).expect("a model");
    let mut log = Vec::new();
    let mut recorder = Recorder::new(&mut log);
    let (mut values, mut random) = ([0i64; 2], Random::new(5));
    for _ in 0..100_000 {
        let at = random.below(2);
        let up = values[at] == 0 || values[at] < 316 && random.percent(55);
        values[at] += if up { 1 } else { -1 };
        let observed = [("who", at.into()), ("value", values[at].into())];
        recorder.event("move", &observed).expect("memory");
    }
    let lines = String::from_utf8_lossy(&log);
    (model, lines.lines().map(str::to_owned).collect())
}

const MOVES: &str =
    "[[rule]]\nwhen = 'move'\ntransition = 'P{who}: *'\nstate = { 'x{who}' = '{value}' }";

/// Long logs of models with many states take seconds, also where events are missing.
#[test]
fn long_logs_take_seconds() {
    let (model, log) = walking();
    for (hidden, missing) in [(0, usize::MAX), (1, 7)] {
        let mapping = format!("hidden = {hidden}\n{MOVES}");
        let mapping: Mapping = toml::from_str(&mapping).expect("a mapping");
        let started = Instant::now();
        let mut explainer = Explainer::new(model.system(), &mapping);
        let there = log.iter().enumerate();
        let there = there.filter(|(at, _)| at % missing != missing - 1);
        let mut events = 0;
        for (_, line) in there {
            let event: Event = serde_json::from_str(line).expect("an object");
            explainer.take(&event).expect("it happened");
            events += 1;
        }
        assert_eq!(explainer.explained(), events);
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("{events} events in {seconds:.2} s");
        assert!(seconds < 60.0, "{seconds}");
        let jump = r#"{"event":"move","who":0,"value":-7}"#;
        let jump: Event = serde_json::from_str(jump).expect("an object");
        let refused = explainer.take(&jump);
        assert!(matches!(refused, Err(Refusal::Unexplained(_))));
        assert_eq!(explainer.explained(), events, "nothing was taken");
    }
}

/// Where events are missing and values are not observed, all states in which the model may be are followed: as many
/// as by hand.
#[test]
fn logs_with_gaps_are_followed_in_all_ways() {
    let (model, log) = walking();
    let mapping: Mapping = toml::from_str(&format!("hidden = 1\n{MOVES}")).expect("a mapping");
    let mut explainer = Explainer::new(model.system(), &mapping);
    let mut by_hand: BTreeSet<[i64; 2]> = [[0, 0]].into();
    let steps = |from: &[i64; 2]| {
        let from = *from;
        let ways = [(0, 1), (0, -1), (1, 1), (1, -1)];
        ways.into_iter().filter_map(move |(who, by)| {
            let mut to = from;
            to[who] += by;
            (0..=316).contains(&to[who]).then_some((who, to))
        })
    };
    // Every seventh event is missing, and nobody knows where the second counter is.
    let there = log.iter().enumerate().filter(|(at, _)| at % 7 != 6);
    for (_, line) in there.take(700) {
        let mut event: Event = serde_json::from_str(line).expect("an object");
        let who = event["who"].as_u64().expect("a number") as usize;
        let value = event["value"].as_i64().filter(|_| who == 0);
        if value.is_none() {
            event.remove("value");
        }
        explainer.take(&event).expect("it happened");
        let hidden = by_hand.iter().flat_map(steps).map(|(_, to)| to);
        let before: BTreeSet<_> = hidden.chain(by_hand.iter().copied()).collect();
        let moved = before.iter().flat_map(steps).filter(|(one, _)| *one == who);
        let after = moved.map(|(_, to)| to);
        by_hand = after
            .filter(|to| value.is_none_or(|value| to[0] == value))
            .collect();
        assert_eq!(explainer.states().len(), by_hand.len());
    }
    assert!(by_hand.len() > 100, "{}", by_hand.len());
}

/// Processes that nobody foresaw are no excuse.
#[test]
fn models_grow_with_their_logs() {
    let text = "byte n; proctype P() { n++ } init { do :: n < 6 -> run P() od }";
    let model = file("grows.pml", text);
    let map = file(
        "grows.toml",
        "hidden = 4\n[[rule]]\ntransition = 'P*'\nstate = { n = '{n}' }\n",
    );
    let lines: String = (1..=6).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let log = file("grows.jsonl", &lines);
    let output = run(&["trace-check", &model, &log, "--map", &map]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// The handlers of a protocol over UDP, and their logs against its model.
mod real {
    use std::net::{SocketAddr, UdpSocket};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use stubborn::conformance::{Explainer, Mapping, Refusal};
    use stubborn_protocol::real::{NodeError, Wire, merge};
    use stubborn_protocol::{Model, Network, ProcessRef, Protocol, kind};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Message {
        Request,
        Grant,
        Release,
    }

    const ALL: [Message; 3] = [Message::Request, Message::Grant, Message::Release];

    impl Wire for Message {
        fn encode(&self) -> Vec<u8> {
            vec![*self as u8]
        }

        fn decode(bytes: &[u8]) -> Option<Self> {
            let [number] = bytes else { return None };
            ALL.get(usize::from(*number)).copied()
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Client {
        Idle,
        Waiting,
        Working,
    }

    type Parts = (Protocol<Message>, ProcessRef<bool>, Vec<ProcessRef<Client>>);

    /// A lock server; clients work until a timer runs out.
    fn protocol() -> Parts {
        let mut p = Protocol::new("lock server");
        let server = p.process("server", true);
        let clients = p.processes("client", 3, Client::Idle);
        for client in &clients {
            p.action(*client, "asks")
                .when(|c| *c == Client::Idle)
                .then(move |c, step| {
                    *c = Client::Waiting;
                    step.send(server, Message::Request);
                });
            p.on(*client, kind!(Message::Grant)).then(|c, _, step| {
                *c = Client::Working;
                step.set_timer("work");
            });
            p.on_timeout(*client, "work").then(move |c, step| {
                *c = Client::Idle;
                step.send(server, Message::Release);
            });
        }
        p.on(server, kind!(Message::Request))
            .only_if(|free| *free)
            .then(|free, m, step| {
                *free = false;
                step.send(m.from, Message::Grant);
            });
        p.on(server, kind!(Message::Release))
            .then(|free, _, _| *free = true);
        (p, server, clients)
    }

    fn sockets(count: usize) -> (Vec<UdpSocket>, Vec<SocketAddr>) {
        let bind = |_| UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let sockets: Vec<_> = (0..count).map(bind).collect();
        let addresses = sockets.iter().map(|s| s.local_addr().expect("an address"));
        let addresses = addresses.collect();
        (sockets, addresses)
    }

    /// Whether a model explains a log; how many of its lines, if not.
    fn explained(model: &Model<Message>, log: &str) -> Result<usize, usize> {
        let mapping = Mapping::default();
        let mut explainer = Explainer::new(model, &mapping);
        for line in log.lines() {
            let event = serde_json::from_str(line).expect("an event");
            match explainer.take(&event) {
                Ok(()) => {}
                Err(Refusal::Unexplained(_)) => return Err(explainer.explained()),
                Err(other) => panic!("{other:?} at {line}"),
            }
        }
        Ok(explainer.explained())
    }

    #[test]
    fn what_runs_for_real_is_a_run_of_the_model() {
        let (p, server, clients) = protocol();
        let model = p.build().expect("a model");
        let (sockets, addresses) = sockets(4);
        let mut sockets = sockets.into_iter();
        let mut next = || sockets.next().expect("a socket for each");
        let logs: Vec<Mutex<Vec<u8>>> = (0..4).map(|_| Mutex::default()).collect();
        let (stop, grants) = (AtomicBool::new(false), AtomicU64::new(0));
        struct Shared<'l>(&'l Mutex<Vec<u8>>, Option<&'l AtomicU64>);
        impl std::io::Write for Shared<'_> {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                if let Some(lines) = self.1 {
                    lines.fetch_add(1, Ordering::Relaxed);
                }
                self.0.lock().expect("the log").write(bytes)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let node = model.node(server, next(), &addresses).expect("a node");
        let mut node = node.log(Shared(&logs[0], Some(&grants)));
        let workers: Vec<_> = clients
            .iter()
            .zip(&logs[1..])
            .map(|(client, log)| {
                let node = model.node(*client, next(), &addresses).expect("a node");
                let node = node.timer("work", Duration::from_millis(2));
                node.expect("a timer").log(Shared(log, None))
            })
            .collect();
        std::thread::scope(|scope| {
            scope.spawn(|| node.run(&stop).expect("the server runs"));
            for mut worker in workers {
                let stop = &stop;
                scope.spawn(move || worker.run(stop).expect("a client runs"));
            }
            let started = Instant::now();
            while grants.load(Ordering::Relaxed) < 20 && started.elapsed().as_secs() < 30 {
                std::thread::sleep(Duration::from_millis(2));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(grants.load(Ordering::Relaxed) >= 20, "nothing happens");
        let text = |log: &Mutex<Vec<u8>>| {
            let log = log.lock().expect("the log").clone();
            String::from_utf8(log).expect("text")
        };
        let texts: Vec<String> = logs.iter().map(text).collect();
        let merged = merge(texts.iter().map(String::as_str));
        let lines = merged.lines().count();
        assert_eq!(explained(&model, &merged), Ok(lines), "{merged}");
        // Without its first grant, a client has no reason to work.
        let granted = |line: &str| line.contains("server: Request");
        let at = merged.lines().position(granted).expect("a grant");
        let mut rest: Vec<&str> = merged.lines().collect();
        rest.remove(at);
        assert!(explained(&model, &rest.join("\n")).is_err());
    }

    #[test]
    fn nodes_say_what_does_not_fit() {
        let (p, server, _) = protocol();
        let (mut other, ..) = protocol();
        let stranger = other.process("stranger", ());
        let model = p.build().expect("a model");
        let (mut sockets, addresses) = sockets(4);
        let mut next = || sockets.pop().expect("a socket");
        let foreign = model.node(stranger, next(), &addresses);
        assert!(matches!(foreign, Err(NodeError::ForeignProcess)));
        let few = model.node(server, next(), &addresses[..2]);
        let few = few.expect_err("too few").to_string();
        assert_eq!(few, "2 addresses for 4 processes: each needs one");
        let node = model.node(server, next(), &addresses).expect("a node");
        let no_timer = node.timer("lunch", Duration::from_millis(1));
        assert!(matches!(no_timer, Err(NodeError::NoTimer(_))));
        let (mut p, server, _) = protocol();
        p.network(Network::Ordered);
        let model = p.build().expect("a model");
        let queues = model.node(server, next(), &addresses);
        assert!(matches!(queues, Err(NodeError::Unordered)));
    }
}
