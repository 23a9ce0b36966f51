//! What the program says of Promela models, where that is not what one might think.

use super::*;

/// What goes wrong inside an uninterrupted sequence is found and named, by compiled code and by
/// the interpreter, and its trace can be replayed.
#[test]
fn sequences_hide_nothing() {
    let rounds = "do :: i < 300000 -> i++ :: else -> break od";
    let count =
        format!("int i; active proctype P() {{ atomic {{ {rounds} }}; assert(i == 300000) }}");
    let wrong = format!("int i; active proctype P() {{ atomic {{ {rounds} }}; assert(i == 5) }}");
    let array = |body: &str| format!("byte x, i = 5; byte a[2]; active proctype P() {{ {body} }}");
    let assertions = ["--property", "assertions"];
    let cases: Vec<(String, &[&str], i32, &str)> = vec![
        (count, &[], 0, ""),
        (wrong.clone(), &[], 1, "assert(i == 5)"),
        (wrong, &assertions, 1, "assert(i == 5)"),
        (
            array("atomic { x = 0; do :: assert(x == 1) :: break od }"),
            &[],
            1,
            "assert(x == 1)",
        ),
        (
            array(
                "int n; atomic { do :: n < 3000 -> n++ :: else -> break od;
                 if :: x = 0 :: assert(x == 1) fi; do :: i < 9 -> i++ :: else -> break od }",
            ),
            &[],
            1,
            "assert(x == 1)",
        ),
        (
            array("atomic { assert(x == 7); a[i] = 1 }"),
            &assertions,
            1,
            "assert(x == 7)",
        ),
        (
            array("d_step { assert(x == 7); a[i] = 1 }"),
            &assertions,
            1,
            "assert(x == 7)",
        ),
        (
            array("atomic { do :: x < 1 -> x++ :: else -> break od; assert(x == 7); a[i] = 1 }"),
            &assertions,
            1,
            "assert(x == 7)",
        ),
        (
            array("atomic { assert(x == 7); a[i] = 1 }"),
            &["--property", "errors"],
            1,
            "index outside",
        ),
        (
            array("x = 1; atomic { assert(x == 7); do :: x = 1 - x od }"),
            &assertions,
            1,
            "assert(x == 7)",
        ),
    ];
    let folder = folder("sequences");
    for (number, (text, arguments, status, shown)) in cases.iter().enumerate() {
        let path = folder.join(format!("m{number}.pml"));
        let trace = folder.join(format!("t{number}.json"));
        std::fs::write(&path, text).expect("it can be written");
        let (path, trace) = (path.to_str().unwrap(), trace.to_str().unwrap());
        for engine in ["compiled", "interpreted"] {
            let mut all = vec!["check", path, "-q", "--engine", engine, "--trace", trace];
            all.extend(*arguments);
            let output = run(&all);
            let out = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                output.status.code(),
                Some(*status),
                "{engine} {text}\n{out}"
            );
            assert!(out.contains(shown), "{engine} {text}\n{out}");
            if *status == 1 {
                let again = run(&["simulate", path, "--replay", trace]);
                let out = String::from_utf8_lossy(&again.stdout);
                assert_eq!(again.status.code(), Some(0), "{text}\n{out}");
                assert!(out.contains(shown), "{text}\n{out}");
            }
        }
    }
}

/// What SPIN's verifier says, where that is not what one might think.
#[test]
fn promela_verdicts_are_those_of_spin() {
    let folder = folder("spins_verdicts");
    let accept = &["--acceptance", "--property", "accept"][..];
    let ignore = &[
        "--acceptance",
        "--property",
        "accept",
        "--finite-runs",
        "ignore",
    ][..];
    let fair = &["--acceptance", "--property", "accept", "--fairness"][..];
    let cases: [(&str, &[&str], i32); 24] = [
        // An array of bool, and a bool alone in a message, has bytes.
        (
            "bool g[2]; active proctype P() { g[0] = 2; assert(g[0] == 0) }",
            &[],
            1,
        ),
        (
            "bool g; active proctype P() { g = 2; assert(g == 0) }",
            &[],
            0,
        ),
        (
            "chan c = [1] of { bool }; byte x; active proctype P() { c!2; c?x; assert(x == 0) }",
            &[],
            1,
        ),
        (
            "chan c = [1] of { bool, byte }; byte x;
            active proctype P() { c!2,1; c?x,_; assert(x == 0) }",
            &[],
            0,
        ),
        // Globals get their values type by type.
        (
            "short s = 3; byte b = s; active proctype P() { assert(b == 3) }",
            &[],
            1,
        ),
        // Who may not move holds back nobody.
        (
            "byte x = 1; active proctype A() { x = 2; assert(x == 1) }
            active proctype B() priority 2 provided (x == 0) { x = 5 }",
            &["--property", "assertions"],
            1,
        ),
        // A priority of a process type is for those that exist at the start.
        (
            "byte x; proctype Q() priority 3 { assert(x == 6) }
            active proctype P() priority 2 { atomic { run Q(); x = 5; x = 6 } }",
            &[],
            0,
        ),
        (
            "byte x; proctype Q() { assert(x == 6) }
            active proctype P() priority 2 { atomic { run Q() priority 3; x = 5; x = 6 } }",
            &[],
            1,
        ),
        // A run that ends at an accept label stays there, wherever it may end.
        (
            "byte x; active proctype P() { x = 1; accept: x == 2 }",
            accept,
            1,
        ),
        (
            "byte x; active proctype P() { x = 1; accept: x == 2 }",
            fair,
            1,
        ),
        (
            "byte x; active proctype P() { x = 1; accept: x == 2 }",
            ignore,
            0,
        ),
        (
            "byte x; active proctype P() { x = 1; accept: end: x == 2 }",
            accept,
            1,
        ),
        (
            "byte x; active proctype P() { accept: x = 1; x == 2 }",
            accept,
            0,
        ),
        // The number of processes does not count a claim: here SPIN does not say what its manual says.
        (
            "byte k; init { run P(); (_nr_pr == 1) -> k = 2 } proctype P() { skip }
            ltl p { <> (k == 2) }",
            &[],
            0,
        ),
        // A formula holds, whatever the labels of processes say.
        (
            "byte x; active proctype A() { accept: do :: x = 1 - x od } ltl p { [] (x < 2) }",
            &[],
            0,
        ),
        (
            "byte x; active proctype A() { accept: do :: x = 1 - x od } ltl p { [] (x < 2) }",
            &["--acceptance"],
            1,
        ),
        // A process that can only be met in a rendez-vous may wait for ever.
        (
            "chan c = [0] of { byte }; byte x; active proctype A() { do :: c!1 od }
            active proctype B() { do :: c?1 od } active proctype D() { c?1; x = 5 }
            ltl p { <> (x == 5) }",
            &["--fairness"],
            1,
        ),
        (
            "chan c = [0] of { byte }; byte x; active proctype A() { do :: c?1 od }
            active proctype B() { do :: c!1 od } active proctype D() { c!1; x = 5 }
            ltl p { <> (x == 5) }",
            &["--fairness"],
            0,
        ),
        // A run that ends is fair.
        (
            "byte x; active proctype A() { x = 1 } ltl p { <>[] (x == 0) }",
            &["--fairness"],
            1,
        ),
        // Who counts steps needs all of them.
        (
            "byte x; active proctype P() { x = 2; skip; skip; x = 1 } ltl p { X X X (x == 2) }",
            &["--dead-locations"],
            3,
        ),
        (
            "byte x; active proctype P() { x = 2; x == 2; x = 1 }
            active proctype Q() { byte v; v = 1; v = 2; v = 3; v = 4 }
            ltl p { !(X X X X (x == 0)) }",
            &["--merge"],
            3,
        ),
        (
            "byte x; active proctype P() { x = 2; skip; skip; x = 1 } ltl p { [] (x < 2) }",
            &["--dead-locations", "--merge", "--dead-variables"],
            1,
        ),
        // Locals that somebody looks at are not local.
        (
            "byte x; active proctype A() { byte v; v = 1; v = 2; x = 1 } ltl p { [] (A:v != 1) }",
            &["--merge"],
            1,
        ),
        (
            "byte x; active proctype A() { byte v; v = 1; v = 2; x = 1 }",
            &["--merge", "--only", "--invariant", "A:v != 1"],
            1,
        ),
    ];
    for (at, (text, flags, status)) in cases.into_iter().enumerate() {
        let path = model(&folder, &format!("{at}.pml"), text);
        for engine in ["compiled", "interpreted"] {
            let mut arguments = vec!["check", &path, "--engine", engine];
            arguments.extend(flags);
            let found = run(&arguments).status.code();
            assert_eq!(found, Some(status), "{text}\n{flags:?}, {engine}");
        }
    }
}

/// Without flags, steps that nobody notices are left out; verdicts, counterexamples and what is said of
/// statements that no run executes are those of the model as it is written.
#[test]
fn what_nobody_notices_is_left_out_by_default() {
    let folder = folder("merged");
    let steps =
        "byte v, w; do :: v < 5 -> v++; w = v; skip; x = w :: else -> break od; v = 0; w = 0";
    let with = |more: &str| {
        format!(
            "byte x, y; active proctype A() {{ {steps} }} active proctype B() {{ {steps}; y = 1 }}
             active proctype C() {{ byte u; if :: y == 9 -> skip; u = 1; x = 1 :: y < 9 -> skip fi; skip; {more} }}"
        )
    };
    let ask = |path: &str, flags: &[&str]| {
        let output = run(&[&["check", path, "--json"], flags].concat());
        (output.status.code(), json(&output))
    };
    let said = |path: &str, flags: &[&str]| {
        let output = run(&[&["check", path], flags].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    let told = |text: &str| {
        let lines = text
            .lines()
            .filter(|l| !l.starts_with("errors:") && !l.contains(" s to load"));
        lines.collect::<Vec<_>>().join("\n")
    };
    // What follows, the status, and whether it can be told without counting steps.
    let cases = [
        ("skip", 0, true),
        ("assert(x < 4)", 1, true),
        ("y == 3", 1, true),
        ("byte a[2]; skip; a[x] = 1", 1, true),
        ("skip } ltl p { [] (x < 6) } ltl q { <> (x == 5)", 0, true),
        ("skip } ltl p { <>[] (x == 4)", 1, true),
        ("skip } ltl p { [] (x < 6) && X (x == 0)", 0, false),
        ("here: skip } ltl p { [] !(C@here)", 1, true),
        (
            "skip } proctype L() { assert(false) } byte n;
             active proctype S() { do :: n < 63 -> n++ :: n == 63 -> break od; run L()",
            1,
            true,
        ),
    ];
    for (at, (more, status, merges)) in cases.into_iter().enumerate() {
        let path = model(&folder, &format!("{at}.pml"), &with(more));
        let (found, merged) = ask(&path, &[]);
        let (expected, written) = ask(&path, &["--as-written"]);
        assert_eq!((found, expected), (Some(status), Some(status)), "{more}");
        assert_eq!(
            (&merged["merged"], &written["merged"]),
            (&merges.into(), &false.into())
        );
        for (one, other) in [("verdict", "name"), ("trace", "kind")] {
            let of = |object: &Value| {
                let properties = object["properties"].as_array().expect("a list").clone();
                let fields = properties
                    .iter()
                    .map(|p| (p[one].clone(), p[other].clone()));
                fields.collect::<Vec<_>>()
            };
            assert_eq!(of(&merged), of(&written), "{more}");
        }
        // (What no run executes is told where nothing is reduced.)
        let plain = said(&path, &["--por", "none"]);
        let as_written = said(&path, &["--por", "none", "--as-written"]);
        assert_eq!(told(&plain), told(&as_written), "{more}");
        if status == 0 && merges {
            let states = |object: &Value| object["states"].as_u64().expect("a number");
            assert!(2 * states(&merged) < states(&written), "{more}");
        }
    }
    let first = said(&format!("{}/0.pml", folder.display()), &[]);
    assert!(
        first.contains("no run executes") && first.contains("statements merged"),
        "{first}"
    );
    // A flag that says something is taken at its word.
    let path = format!("{}/0.pml", folder.display());
    assert_eq!(ask(&path, &["--merge"]).1["merged"], false);
    let both = run(&["check", &path, "--merge", "--as-written"]);
    assert_eq!(both.status.code(), Some(2));
    let explored = json(&run(&["explore", &path, "--json"]));
    assert_eq!(
        explored["states"],
        ask(&path, &["--as-written"]).1["states"]
    );
}

/// A model whose starts of processes are found late, one of them in two ways.
const LATE: &str = "byte a, b; bool p;
proctype R() { p = 1; p = 0 }
proctype Q() { if :: run R() :: p = 0 fi; here: do :: p = 1 :: p = 0 od }
active proctype A() { do :: a < 60 -> a++ :: a == 60 -> break od; if :: run Q() :: run R() fi }
active proctype B() { do :: b < 60 -> b++ od }
ltl often { []<> (p == 0) }
ltl never_here { [] !(Q@here) }
";

/// Nobody makes progress, for `np_` as for labels by name, before he comes to the label: not over a place at
/// which there is nothing to do, nor by statements that are one step where nobody looks. Also where several
/// processes of a type are started.
#[test]
fn progress_comes_no_earlier_than_it_is_made() {
    let folder = folder("progress_comes");
    let twice = "init { run S(); run S() } proctype S()";
    let np = "[] (x == 1 -> !np_)";
    let cases = [
        ("active proctype S()", np),
        ("active proctype S()", "[] (x == 1 -> S@progress)"),
        (twice, np),
    ];
    for way in ["x = 1; skip", "atomic { x = 2; x = 1 }; l = 2"] {
        for (at, (start, seen)) in cases.into_iter().enumerate() {
            let text = format!("byte x; {start} {{ byte l; {way}; progress: (false) }}");
            let path = model(&folder, &format!("{at}.pml"), &text);
            let ask = |flags: &[&str]| {
                let question = ["check", path.as_str(), "--only", "--ltl", seen];
                run(&[&question[..], flags].concat()).status.code()
            };
            let found = [ask(&[]), ask(&["--as-written"])];
            assert_eq!(found, [Some(1), Some(1)], "{seen}\n{text}");
        }
    }
}

#[test]
fn traces_of_models_that_grew_are_replayed() {
    let folder = folder("late_starts");
    let path = model(&folder, "late.pml", LATE);
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (trace, trail, chart) = (file("t.json"), file("t.trail"), file("t.svg"));
    let ends = |status: &[i32], arguments: &[&str]| {
        let output = run(arguments);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let code = output.status.code().expect("a status");
        assert!(status.contains(&code), "{arguments:?} {code}\n{text}");
    };
    let questions: [&[&str]; 6] = [
        &["--property", "often"],
        &["--property", "never_here"],
        &["--property", "invalid end"],
        &["--only", "--ltl", "[] (p == 0)"],
        &["--only", "--invariant", "p == 0"],
        &["--only", "--invariant", "_nr_pr < 4", "--por", "none"],
    ];
    for question in questions {
        let trail_flag = format!("--trail={trail}");
        let mut arguments = vec!["check", &path, "--trace", &trace, &trail_flag];
        arguments.extend(question);
        assert_eq!(run(&arguments).status.code(), Some(1), "{question:?}");
        ends(
            &[0],
            &["simulate", &path, "--replay", &trace, "--msc", &chart],
        );
        assert!(
            std::fs::read_to_string(&chart)
                .expect("a chart")
                .contains("A[0]")
        );
        ends(&[0], &["simulate", &path, &trail_flag]);
        ends(&[0], &["inspect", &path, "--state", &trace]);
    }
    ends(&[0], &["explore", &path]);
    ends(&[0], &["explore", &path, "--por", "beam"]);
}

/// A walk starts processes that nobody foresaw.
#[test]
fn walks_make_room_for_what_they_start() {
    let folder = folder("far_starts");
    let text = "int n; byte x; proctype Q() { x = 1; x = 2 }
        active proctype A() {
            do :: n < 51000 -> n++ :: n == 51000 -> break od; run Q(); x = 5 }";
    let path = model(&folder, "far.pml", text);
    let saved = folder.join("walk.json").to_string_lossy().into_owned();
    let walk = run(&["simulate", &path, "--steps", "110000", "--save", &saved]);
    let text = String::from_utf8_lossy(&walk.stdout).into_owned();
    assert!(text.contains("Q[1]:1 x = 2"), "the second process moves");
    assert!(!text.contains("not foreseen"));
    let replayed = run(&["simulate", &path, "--replay", &saved]);
    assert!(replayed.status.success());
    let mut child = stubborn(&["simulate", &path, "--interactive"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let typing = std::thread::spawn(move || {
        let _ = input.write_all("1\n".repeat(102_002).as_bytes());
        let _ = input.write_all(b"u\n1\n2\nu\nq\n");
    });
    let output = child.wait_with_output().expect("it ends");
    typing.join().expect("all was typed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("Q[1]:1 x = 1"),
        "the second process could move"
    );
    assert!(!text.contains("not foreseen"));
}
