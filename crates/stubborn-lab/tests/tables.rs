//! Tables of every shape from results that were made up: what is beside what, what is worse,
//! and why something is missing.

use stubborn_lab::compare;
use stubborn_lab::corpus::Corpus;
use stubborn_lab::experiment::Experiment;
use stubborn_lab::plan::Mode;
use stubborn_lab::record::Results;
use stubborn_lab::report::{Report, html, markdown};
use stubborn_lab::table::{Lookup, Table, Tone, table};

/// A line of results.
fn line(words: &str, model: &str, outcome: &str, states: u64, transitions: u64) -> String {
    format!(
        r#"{{"key":"stubborn {words} | {model}","model":"{model}","tool":"stubborn","outcome":"{outcome}","message":{},"states":{states},"transitions":{transitions},"cpu_seconds":0.5,"wall_seconds":1,"limits":{{"seconds":9,"bytes":9}},"version":"stubborn 0","fingerprint":"f","machine":"m","finished":"2026-01-01T00:00:00Z"}}"#,
        if outcome == "unsupported" {
            "\"no such thing\""
        } else {
            "null"
        }
    )
}

struct Desk {
    _folder: tempfile::TempDir,
    corpus: Corpus,
    experiment: Experiment,
    results: Results,
}

impl Desk {
    fn new(text: &str, printed: &str, lines: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.dve", "b.dve"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let experiment = Experiment::parse("t/1", text, &|_| Some(printed.into())).unwrap();
        Self {
            corpus: Corpus::at(None, Some(folder.path().to_owned())),
            _folder: folder,
            experiment,
            results: Results::parse(&lines.join("\n")),
        }
    }

    fn lookup<'a>(&'a self, mode: &'a Mode) -> Lookup<'a> {
        Lookup {
            results: &self.results,
            corpus: &self.corpus,
            mode,
        }
    }

    fn table(&self) -> Table {
        table(&self.experiment, self.lookup(&Mode::default()))
    }
}

fn texts(table: &Table) -> Vec<Vec<&str>> {
    (table.rows.iter())
        .map(|row| row.iter().map(|cell| cell.text.as_str()).collect())
        .collect()
}

const MODELS: &str = r#"
title = "t"
printed = "p"
baseline = "full"
[[configuration]]
name = "full"
run = "explore --por none"
[[configuration]]
name = "beam"
run = "explore --por beam"
[[configuration]]
name = "new"
run = "explore --por new"
[[column]]
title = "beam"
configuration = "beam"
measure = "states%"
printed = "x"
[[column]]
title = "new"
configuration = "new"
measure = "states"
[[plot]]
kind = "scatter"
title = "States"
configurations = ["beam"]
"#;

const PRINTED: &str = "# paper: A. Author: A paper\n# table: Table 1\n# caption: c\n\
    row\tmodel\tx\nA\texample:a.dve\t10\nB\texample:b.dve\t50\nC\t- lost\t7\n";

fn models() -> Desk {
    Desk::new(
        MODELS,
        PRINTED,
        &[
            line("explore --por none", "example:a.dve", "done", 1000, 2000),
            line("explore --por beam", "example:a.dve", "done", 200, 300),
            line("explore --por new", "example:a.dve", "unsupported", 0, 0),
            line("explore --por none", "example:b.dve", "done", 100, 200),
            line("explore --por beam", "example:b.dve", "time-limit", 40, 50),
        ],
    )
}

#[test]
fn a_row_for_each_model() {
    let desk = models();
    let table = desk.table();
    let expected = [
        ["A", "10", "20.00", "–"],
        ["B", "50", "> 40.00", "–"],
        ["C", "7", "–", "–"],
    ];
    assert_eq!(texts(&table), expected);
    assert_eq!(table.rows[0][2].tone, Tone::Worse);
    // What was seen until the limit is less than printed, but it is not all.
    assert_eq!(table.rows[1][2].tone, Tone::Equal);
    assert_eq!(table.missing, [("C".to_owned(), "lost".to_owned())]);
    assert_eq!(table.absent["not supported: no such thing"], 1);
    assert_eq!(table.absent["not run yet"], 1);
    assert_eq!(table.absent["lost"], 2);
    let tables = [table];
    let worse = compare::worse(&tables);
    assert_eq!(worse.len(), 1);
    assert!((worse[0].factor() - 2.0).abs() < 1e-9);
}

#[test]
fn a_page_with_everything() {
    let desk = models();
    let mode = Mode::default();
    let report = Report::new(&[&desk.experiment], desk.lookup(&mode), Some("sets"));
    let page = html::page(&report);
    for wanted in [
        "A. Author: A paper",
        "20.00",
        "no such thing",
        "<svg",
        "lost",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    for tag in [
        "section", "table", "tr", "td", "th", "div", "details", "figure",
    ] {
        let open =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    let files = markdown::files(&report);
    assert!(files["README.md"].contains("| t/1 | A | beam | 10 | 20.00 | 2.00 |"));
    assert!(files["t.md"].contains("| A | 10 | **20.00** | – |"));
    assert!(files.contains_key("t-1-1.svg"));
}

#[test]
fn sums_over_what_all_have_finished() {
    let text = r#"
        title = "t"
        printed = "p"
        shape = "sums"
        models = ["example:a.dve", "example:b.dve"]
        baseline = "full"
        [[configuration]]
        name = "full"
        run = "explore --por none"
        [[configuration]]
        name = "source"
        run = "explore --proviso source --seed {seed}"
        seeds = 2
        [[configuration]]
        name = "dest"
        run = "explore --proviso dest --seed {seed}"
        seeds = 2
    "#;
    let printed = "# paper: p\nrow\tconfiguration\tstates%\ttransitions%\tstates/ms\n\
        FULL\tfull\t100.00\t100.00\t9\nSOURCE\tsource\t30.00\t20.00\t5\nDEST\tdest\t25.00\t20.00\t5\n";
    let run = |proviso: &str, seed: u32, model: &str, states: u64| {
        let words = format!("explore --proviso {proviso} --seed {seed}");
        line(&words, model, "done", states, states)
    };
    let mut lines = vec![
        line("explore --por none", "example:a.dve", "done", 100, 100),
        line("explore --por none", "example:b.dve", "done", 100, 100),
        run("source", 1, "example:a.dve", 30),
        run("source", 2, "example:a.dve", 50),
        run("dest", 1, "example:a.dve", 20),
        run("dest", 2, "example:a.dve", 20),
        // Only one of the two has finished this: it must not count.
        run("source", 1, "example:b.dve", 40),
    ];
    let ours = |table: &Table| -> Vec<(String, Tone)> {
        let cells = table.rows.iter().map(|row| &row[2]);
        cells.map(|cell| (cell.text.clone(), cell.tone)).collect()
    };
    let table = Desk::new(text, printed, &lines).table();
    let expected = ["100.00", "40.00", "20.00"].map(|text| (text.to_owned(), Tone::Plain));
    assert_eq!(ours(&table), expected);
    assert!(
        table
            .notes
            .iter()
            .any(|note| note.contains("not all 2 models"))
    );

    lines.push(run("source", 2, "example:b.dve", 40));
    lines.push(run("dest", 1, "example:b.dve", 20));
    lines.push(run("dest", 2, "example:b.dve", 20));
    let table = Desk::new(text, printed, &lines).table();
    let expected = [
        ("100.00", Tone::Equal),
        ("40.00", Tone::Worse),
        ("20.00", Tone::Better),
    ];
    assert_eq!(
        ours(&table),
        expected.map(|(text, tone)| (text.to_owned(), tone))
    );
}

#[test]
fn scores_relative_to_the_fewest_states() {
    let text = r#"
        title = "t"
        printed = "p"
        shape = "scores"
        [[configuration]]
        name = "clo"
        run = "explore --por closure --shuffle {seed}"
        seeds = 2
        [[configuration]]
        name = "del"
        run = "explore --por deletion"
    "#;
    let printed = "# paper: p\nrow\tmodel\tS_min\tclo\tdel\nA\texample:a.dve\t~90\t50.0\t100.0\n";
    let desk = Desk::new(
        text,
        printed,
        &[
            line(
                "explore --por closure --shuffle 1",
                "example:a.dve",
                "done",
                200,
                1,
            ),
            line(
                "explore --por closure --shuffle 2",
                "example:a.dve",
                "time-limit",
                50,
                1,
            ),
            line("explore --por deletion", "example:a.dve", "done", 100, 1),
        ],
    );
    let table = desk.table();
    let expected = ["A", "~90", "100", "50.0", "25.0", "100.0", "100.0"];
    assert_eq!(texts(&table)[0], expected);
    assert_eq!(table.rows[0][2].tone, Tone::Worse);
    assert!(texts(&table)[1][0].contains("average over 1"));
}

/// Times beside a baseline: by the clock, for each state, with what a peer's compiler takes, and
/// relative to the better of two.
#[test]
fn times_are_relative_to_the_best_of_a_baseline() {
    let text = r#"
title = "t"
models = ["example:a.dve"]
alone = true
[[configuration]]
name = "one"
run = "explore"
seeds = 2
[[configuration]]
name = "two"
run = "explore --threads 2"
[[configuration]]
name = "peer"
run = "-n"
tool = "spin"
[[column]]
title = "fast"
configuration = "one"
measure = "states/s"
over = "best"
[[column]]
title = "gain"
configuration = "two"
measure = "clock gain"
baseline = "one"
[[column]]
title = "cost"
configuration = "two"
measure = "cost/state"
baseline = "one"
[[column]]
title = "better"
configuration = "two"
measure = "seconds%"
baseline = ["one", "peer"]
[[column]]
title = "peer"
configuration = "peer"
measure = "whole"
[[column]]
title = "beside it"
configuration = "two"
measure = "whole%"
baseline = "peer"
"#;
    let model = "example:a.dve";
    let timed = |words: &str, states: u64, cpu: f64, clock: f64| {
        let times = format!(
            r#""cpu_seconds":{cpu},"numbers":{{"load_seconds":1,"explore_seconds":{clock}}},"#
        );
        line(words, model, "done", states, 0).replace(r#""cpu_seconds":0.5,"#, &times)
    };
    let peer = line("-n", model, "done", 9, 9)
        .replace("stubborn -n", "spin -n")
        .replace(
            r#""cpu_seconds":0.5"#,
            r#""cpu_seconds":9,"build_seconds":3"#,
        );
    let lines = [
        timed("explore", 100, 5.0, 4.0),
        timed("explore again 2", 100, 6.0, 3.0),
        timed("explore --threads 2", 100, 7.0, 2.0),
        peer,
    ];
    let desk = Desk::new(text, "", &lines);
    let expected = [["a.dve", "20", "1.50", "1.50", "140.00", "12.00", "58.33"]];
    assert_eq!(texts(&desk.table()), expected);
    let report = Report::new(&[&desk.experiment], desk.lookup(&Mode::default()), None);
    let page = &markdown::files(&report)["t.md"];
    assert!(
        page.contains("4 results by stubborn 0, on m, until 2026"),
        "{page}"
    );
}
