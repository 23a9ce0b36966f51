//! SARIF 2.1.0 (OASIS, *Static Analysis Results Interchange Format*, 2020): a result for each
//! property that is violated or has no answer, with its run as a code flow, and for each message
//! about a model.

use serde_json::{Value, json};

use super::{Tested, line};

pub(super) fn report(all: &[Tested]) -> String {
    let mut results: Vec<Value> = Vec::new();
    for tested in all {
        results.extend(
            tested
                .properties()
                .iter()
                .filter_map(|p| property(tested, p)),
        );
        let error = &tested.object["error"];
        let messages = [&error["diagnostics"], &tested.object["warnings"]];
        let messages: Vec<&Value> = messages
            .into_iter()
            .flat_map(|list| list.as_array().into_iter().flatten())
            .collect();
        if let (true, Some(text)) = (messages.is_empty(), error["message"].as_str()) {
            results.push(json!({
                "ruleId": "error",
                "level": "error",
                "message": {"text": text},
                "locations": [whole_file(&tested.model)],
            }));
        }
        results.extend(messages.into_iter().map(|message| {
            json!({
                "ruleId": message["code"],
                "level": message["severity"],
                "message": {"text": message["message"]},
                "locations": [location(&message["place"])],
            })
        }));
    }
    let mut rules: Vec<&str> = results
        .iter()
        .filter_map(|r| r["ruleId"].as_str())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({"id": id})).collect();
    let driver = json!({
        "name": "stubborn",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let object = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{object:#}\n")
}

fn property(tested: &Tested, property: &Value) -> Option<Value> {
    let (level, kind) = match property["verdict"].as_str() {
        Some("violated") => ("error", "fail"),
        Some("unknown") => ("none", "open"),
        _ => return None,
    };
    let title = property["title"].as_str().unwrap_or("");
    let text = match property["reason"].as_str() {
        Some(reason) => format!("no answer: {title} ({reason})"),
        None => format!("violated: {title}"),
    };
    let steps = || {
        let trace = &property["trace"];
        let parts = [&trace["stem"], &trace["cycle"]];
        parts
            .into_iter()
            .flat_map(|part| part.as_array().into_iter().flatten())
    };
    // Where the property stands, or else the last step.
    let places = [
        Some(&property["place"]),
        steps().last().map(|s| &s["place"]),
    ];
    let place = places.into_iter().flatten().find(|place| place.is_object());
    let mut result = json!({
        "ruleId": property["kind"],
        "level": level,
        "kind": kind,
        "message": {"text": text},
        "locations": [place.map_or_else(|| whole_file(&tested.model), location)],
    });
    let flow: Vec<Value> = steps()
        .map(|step| {
            let mut at = match &step["place"] {
                Value::Null => whole_file(&tested.model),
                place => location(place),
            };
            at["message"] = json!({"text": line(step)});
            json!({"location": at})
        })
        .collect();
    if !flow.is_empty() {
        result["codeFlows"] = json!([{"threadFlows": [{"locations": flow}]}]);
    }
    Some(result)
}

fn location(place: &Value) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(place["file"].as_str().unwrap_or(""))},
        "region": {
            "startLine": place["line"],
            "startColumn": place["column"],
            "endLine": place["end_line"],
            "endColumn": place["end_column"],
        },
    }})
}

fn whole_file(file: &str) -> Value {
    json!({"physicalLocation": {"artifactLocation": {"uri": uri(file)}}})
}

/// A path as a relative reference, or an absolute one.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            b'\\' => out.push('/'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
