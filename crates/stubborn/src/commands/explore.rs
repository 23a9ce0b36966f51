//! `stubborn explore`: the size of the state space.

use std::fmt::Write;

use serde_json::Value;
use stubborn::LoadedModel;

use super::{Figures, figures_json, growing, load, search_options, why_incomplete};
use crate::exit::{Failure, Status};
use crate::options::{ExploreArgs, StoreName};
use crate::progress::Line;
use crate::terminal::{Paint, counted, grouped, print};

pub(crate) fn run(args: &ExploreArgs) -> Result<Status, Failure> {
    let (mut model, load_time) = load(&args.model, &[], args.output.quiet || args.output.json)?;
    let mut options = search_options(&args.search, &args.reduction, "none")?;
    let line = Line::new(args.output.quiet);
    let show = |progress: &stubborn::Progress| line.show(progress);
    options.observer = Some(&show);
    let run = growing(&mut model, |model| stubborn::explore(model, &options))?;
    let result = run.result;
    drop(line);

    let figures = Figures::of(&result);
    let incomplete = why_incomplete(&result, args.search.store);
    let status = if incomplete.is_some() {
        Status::Unknown
    } else {
        Status::Fine
    };
    if args.output.json {
        let object = figures_json(&model, &args.search, &run.reduction, &figures, load_time);
        print(&format!("{}\n", Value::Object(object)));
        return Ok(status);
    }
    let mut text = figures.line(&run.reduction, model.language()) + "\n";
    let ends = match figures.invalid_ends {
        Some(invalid) => format!(
            "{}, {} of them invalid",
            counted(figures.deadlocks, "end state"),
            grouped(invalid)
        ),
        None => counted(figures.deadlocks, "deadlock"),
    };
    let _ = writeln!(text, "{ends}");
    if !args.output.quiet {
        let store = match (args.search.store, result.store) {
            (StoreName::Tree, stubborn::StoreKind::Plain) => "plain",
            (asked, _) => asked.name(),
        };
        let _ = writeln!(text, "{}, {store} store", figures.costs(load_time));
    }
    if let Some(reason) = incomplete {
        let _ = writeln!(
            text,
            "{}: {reason}",
            Paint::for_stdout().unsure("incomplete")
        );
    }
    if args.levels {
        text += &levels(&result.level_sizes);
    }
    if args.unused {
        text += &unused(&model, &result.fired);
    }
    print(&text);
    Ok(status)
}

fn levels(sizes: &[u64]) -> String {
    let mut text = String::from("\nlevel  states\n");
    for (level, states) in sizes.iter().enumerate() {
        let _ = writeln!(text, "{level:>5}  {}", grouped(*states));
    }
    text
}

fn unused(model: &LoadedModel, fired: &stubborn::system::BitSet) -> String {
    let structure = model.system().structure();
    let never: Vec<&str> = structure
        .transition_ids()
        .filter(|t| !fired.contains(t.index()))
        .map(|t| structure.transition(t).name.as_str())
        .collect();
    if never.is_empty() {
        return "\nevery transition was taken\n".into();
    }
    let mut text = format!(
        "\nnever taken: {}\n",
        counted(never.len() as u64, "transition")
    );
    for name in never {
        let _ = writeln!(text, "  {name}");
    }
    text
}
