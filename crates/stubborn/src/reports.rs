//! Results in the formats of others, made from the objects for scripts: JUnit for test runners,
//! SARIF for code review, JSON as it is. (A page to look at is made from what was found itself.)

mod junit;
mod sarif;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::exit::{Failure, Status};
use crate::json;

/// A model that was checked.
#[derive(Debug)]
pub(crate) struct Tested {
    /// Its file.
    pub(crate) model: String,
    /// The object that was printed about it.
    pub(crate) object: Value,
    /// How the command ended.
    pub(crate) status: Status,
    /// How it differs from what was expected; `None` if nothing was said about that.
    pub(crate) differences: Option<Vec<String>>,
}

impl Tested {
    /// From the text of an object.
    pub(crate) fn new(
        model: &str,
        object: &str,
        status: Status,
        differences: Option<Vec<String>>,
    ) -> Self {
        Self {
            model: model.to_owned(),
            object: serde_json::from_str(object).unwrap_or(Value::Null),
            status,
            differences,
        }
    }

    /// What the objects of all models together are judged by: as expected if that was said.
    pub(crate) fn judged(&self) -> Status {
        match &self.differences {
            // Nobody expects that.
            _ if self.status == Status::InternalError => self.status,
            None => self.status,
            Some(differences) if differences.is_empty() => Status::Fine,
            Some(_) => match self.status {
                Status::Wrong | Status::InternalError | Status::Unknown => self.status,
                Status::Fine | Status::Violated => Status::Violated,
            },
        }
    }

    /// `holds`, `violated`, `unknown`, or `error`.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.status {
            Status::Fine => "holds",
            Status::Violated => "violated",
            Status::Unknown => "unknown",
            Status::Wrong | Status::InternalError => "error",
        }
    }

    fn properties(&self) -> &[Value] {
        self.object["properties"]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }

    /// For scripts.
    fn json(&self) -> Value {
        let mut object = json!({
            "model": self.model,
            "verdict": self.verdict(),
            "exit_status": self.status.code(),
            "result": self.object,
        });
        if let Some(differences) = &self.differences {
            object["as_expected"] = json!(differences.is_empty());
            object["differences"] = json!(differences);
        }
        object
    }
}

/// One status for all: the worst thing that happened.
pub(crate) fn status(all: &[Tested]) -> Status {
    use Status::{Fine, InternalError, Unknown, Violated, Wrong};
    let happened = |status: &Status| all.iter().any(|tested| tested.judged() == *status);
    let worst = [InternalError, Wrong, Violated, Unknown];
    worst.into_iter().find(happened).unwrap_or(Fine)
}

/// All results as one object.
pub(crate) fn object(all: &[Tested]) -> String {
    let count = |verdict: &str| all.iter().filter(|t| t.verdict() == verdict).count();
    let judged = all.iter().filter(|tested| tested.judged() == Status::Fine);
    let object = json!({
        "models": all.iter().map(Tested::json).collect::<Vec<_>>(),
        "summary": {
            "models": all.len(),
            "passed": judged.count(),
            "holds": count("holds"),
            "violated": count("violated"),
            "unknown": count("unknown"),
            "error": count("error"),
        },
        "exit_status": status(all).code(),
    });
    json::line("check", json::fields(object))
}

/// Writes files, each in the format that its name says.
pub(crate) fn write(files: &[PathBuf], all: &[Tested]) -> Result<(), Failure> {
    for file in files {
        let text = match format(file)? {
            Format::Junit => junit::report(all),
            Format::Sarif => sarif::report(all),
            Format::Json => object(all),
            // Whoever has checked the model has written it.
            Format::Page => continue,
        };
        crate::commands::write_file(file, &text)?;
    }
    Ok(())
}

/// Refuses files whose names say no format, before anything is done.
pub(crate) fn are_known(files: &[PathBuf]) -> Result<(), Failure> {
    files.iter().try_for_each(|file| format(file).map(|_| ()))
}

enum Format {
    Junit,
    Sarif,
    Json,
    Page,
}

/// A page to look at, of one model.
pub(crate) fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "html")
}

fn format(file: &Path) -> Result<Format, Failure> {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("xml") => Ok(Format::Junit),
        Some("sarif") => Ok(Format::Sarif),
        Some("json") => Ok(Format::Json),
        Some("html") if cfg!(feature = "page") => Ok(Format::Page),
        _ => Err(Failure::wrong(format!(
            "the name of the report {} says no format; end it with .xml for JUnit, .sarif, \
             .json, or .html for a page",
            file.display()
        ))),
    }
}

/// The steps of a trace, one a line.
fn story(trace: &Value) -> String {
    let mut out = String::new();
    let mut number = 0;
    for (part, title) in [("stem", ""), ("cycle", "then for ever:\n")] {
        let steps = trace[part].as_array().map_or(&[][..], Vec::as_slice);
        if !steps.is_empty() {
            out += title;
        }
        for step in steps {
            number += 1;
            out += &format!("{number}. {}\n", line(step));
        }
    }
    out
}

/// A step on one line.
fn line(step: &Value) -> String {
    let mut text = step["transition"].as_str().unwrap_or("").to_owned();
    let changes = step["changes"].as_object();
    let changes = changes.into_iter().flatten().map(|(field, values)| {
        let new = &values[1];
        let new = new.as_str().map_or_else(|| new.to_string(), str::to_owned);
        format!("{field} = {new}")
    });
    let changes: Vec<String> = changes.collect();
    if !changes.is_empty() {
        text += &format!("  {}", changes.join(", "));
    }
    for problem in step["problems"].as_array().into_iter().flatten() {
        text += &format!("  ! {}", problem.as_str().unwrap_or(""));
    }
    text
}
