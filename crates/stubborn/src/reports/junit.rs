//! JUnit: a suite a model, a case a property. Test runners know three ends of a case besides
//! success: what is violated failed, what has no answer or is wrong is an error.
//!
//! Where a suite says what it expects, a property that is violated as expected is a success; what
//! differs is a case of its own.

use std::fmt::Write;

use serde_json::Value;

use super::{Tested, story};

pub(super) fn report(all: &[Tested]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for tested in all {
        suite(tested, &mut out);
    }
    out + "</testsuites>\n"
}

/// How a case ended.
enum End {
    Passed,
    Failed(String, String),
    Error(String, String),
}

fn suite(tested: &Tested, out: &mut String) {
    let mut cases: Vec<(String, f64, End)> = Vec::new();
    let expected = tested.differences.is_some();
    for property in tested.properties() {
        let text = |key: &str| property[key].as_str().unwrap_or("").to_owned();
        let end = match property["verdict"].as_str() {
            Some("violated") if !expected => {
                End::Failed("violated".into(), story(&property["trace"]))
            }
            Some("unknown") if !expected => End::Error(text("reason"), String::new()),
            _ => End::Passed,
        };
        let seconds = property["explore_seconds"].as_f64().unwrap_or(0.0);
        cases.push((text("title"), seconds, end));
    }
    if let Some(error) = tested.object.get("error") {
        let message = error["message"].as_str().unwrap_or("").to_owned();
        let places = error["diagnostics"].as_array().into_iter().flatten();
        let end = match expected {
            true => End::Passed,
            false => End::Error(message, places.map(diagnostic).collect()),
        };
        cases.push(("the model".into(), 0.0, end));
    }
    for difference in tested.differences.iter().flatten() {
        let end = End::Failed(difference.clone(), String::new());
        cases.push(("as expected".into(), 0.0, end));
    }
    let failed = cases.iter().filter(|c| matches!(c.2, End::Failed(..)));
    let errors = cases.iter().filter(|c| matches!(c.2, End::Error(..)));
    let seconds = tested.object["explore_seconds"].as_f64().unwrap_or(0.0)
        + tested.object["load_seconds"].as_f64().unwrap_or(0.0);
    let name = escaped(&tested.model);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\">",
        cases.len(),
        failed.count(),
        errors.count(),
    );
    for (title, seconds, end) in &cases {
        let title = escaped(title);
        let head =
            format!("    <testcase classname=\"{name}\" name=\"{title}\" time=\"{seconds:.3}\"");
        let (element, message, text) = match end {
            End::Passed => {
                let _ = writeln!(out, "{head}/>");
                continue;
            }
            End::Failed(message, text) => ("failure", message, text),
            End::Error(message, text) => ("error", message, text),
        };
        let (message, text) = (escaped(message), escaped(text));
        let _ = writeln!(
            out,
            "{head}>\n      <{element} message=\"{message}\">{text}</{element}>\n    </testcase>"
        );
    }
    out.push_str("  </testsuite>\n");
}

fn diagnostic(one: &Value) -> String {
    let place = &one["place"];
    format!(
        "{}:{}:{}: {}\n",
        place["file"].as_str().unwrap_or(""),
        place["line"],
        place["column"],
        one["message"].as_str().unwrap_or(""),
    )
}

/// Characters that XML has other uses for, or none at all.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
