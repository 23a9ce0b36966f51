//! `stubborn simulate`: random walks, walks by hand, and saved traces.

mod runs;
mod walk;

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use rustyline::DefaultEditor;
use stubborn::record::SavedTrace;
use stubborn::system::Random;
use stubborn::{
    CheckOptions, Language, LoadOptions, LoadedModel, Por, PromelaOptions, Trace, sequence_chart,
    spin, story,
};

use self::walk::Walk;

use super::{growing, load_with, no_card, write_file};
use crate::exit::{Failure, Status};
use crate::options::SimulateArgs;
use crate::options::trail_file;
use crate::terminal::{counted, print};

/// Longest trace file that is read.
const LARGEST_TRACE: u64 = 1 << 30;

const HELP: &str = "\
  a number  take that step        u  undo the last step
  r or 0    take a random step    s  show the whole state
  q         quit                  ?  this help
";

pub(crate) fn run(args: &SimulateArgs) -> Result<Status, Failure> {
    no_card(args.model.engine)?;
    let saved = match &args.replay {
        None => None,
        Some(path) => Some((path.as_path(), read_saved(path)?)),
    };
    let needs = saved.as_ref().map(|(_, saved)| saved.needs());
    let options = LoadOptions {
        ignore_temporal: true,
        promela: PromelaOptions {
            // A saved trace has the names of the usual transitions.
            single_statements: args.replay.is_none(),
            ..args.model.promela.options()
        },
        ..needs.unwrap_or_default()
    };
    let (mut model, _) = load_with(&args.model, options, false)?;
    if model.language() == Language::Promela && args.replay.is_none() {
        foresee(&mut model)?;
    }
    let mut status = Status::Fine;
    let mut trace = if let Some(file) = &args.drawing.trail {
        if let (Some(first), Some(second)) = (file, &args.drawing.trail_apart) {
            let (first, second) = (first.display(), second.display());
            let message = format!("one trail can be followed, not {first} and {second}");
            return Err(Failure::wrong(message));
        }
        let file = args.drawing.trail_apart.as_ref().or(file.as_ref());
        let path = trail_file(&file.cloned(), &args.model.model);
        trail(args, &mut model, &path)?
    } else if let Some((path, saved)) = &saved {
        replay(args, &model, path, saved)?
    } else if args.interactive {
        Trace::new(&model.reference().initial_states()[..model.reference().layout().words()])
    } else if let Some(runs) = args.runs {
        runs::many(args, &mut model, runs, &mut status)?
    } else {
        at_random(args, &mut model, args.seed, &mut status)?
    };
    if args.interactive {
        trace = by_hand(args, &mut model, &trace)?;
    }
    if let Some(path) = &args.save {
        write_file(
            path,
            &SavedTrace::new(&model, &trace, "a simulated run").to_json(),
        )?;
    }
    if let Some(path) = &args.drawing.msc {
        let single = spin::single_steps(&model, &trace);
        write_file(path, &sequence_chart::svg(model.reference(), &single))?;
    }
    Ok(status)
}

/// Looks around, so that the walk meets no process that the model was not prepared for.
pub(super) fn foresee(model: &mut LoadedModel) -> Result<(), Failure> {
    const STATES: u64 = 50_000;
    growing(model, |model| {
        let mut options = CheckOptions::default();
        options.limits.states = Some(STATES);
        options.reduction.por = Por::None;
        stubborn::explore(model, &options)
    })?;
    Ok(())
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::unreadable(path, &error);
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST_TRACE {
        return Err(Failure::wrong(format!(
            "{} is too large for a trace file",
            path.display()
        )));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Reads a trace file.
pub(super) fn read_saved(path: &Path) -> Result<SavedTrace, Failure> {
    let text = read_text(path)?;
    let shown = path.display();
    SavedTrace::from_json(&text).map_err(|error| Failure::wrong(format!("{shown}: {error}")))
}

/// Reads a trace file and runs it on a model.
pub(super) fn read_trace(model: &LoadedModel, path: &Path) -> Result<Trace, Failure> {
    replayed(model, path, &read_saved(path)?)
}

fn replayed(model: &LoadedModel, path: &Path, saved: &SavedTrace) -> Result<Trace, Failure> {
    let in_file = |error| Failure::wrong(format!("{}: {error}", path.display()));
    saved.replay(model).map_err(in_file)
}

fn replay(
    args: &SimulateArgs,
    model: &LoadedModel,
    path: &Path,
    saved: &SavedTrace,
) -> Result<Trace, Failure> {
    let trace = replayed(model, path, saved)?;
    let mut walk = Walk::new(model, args.states);
    print(&format!(
        "{}: {}\n",
        saved.shows,
        counted(trace.len() as u64, "step")
    ));
    walk.show_all(&trace);
    if trace.cycle_start().is_none() {
        walk.end(&trace);
    }
    // By hand, it is said where the walk goes on. That the run could be followed is what the status says.
    if !args.interactive && walk.conclude(&trace) == Status::Fine && saved.violates {
        print(&format!("saved as a violation of: {}\n", saved.shows));
    }
    Ok(trace)
}

/// Follows a trail.
fn trail(args: &SimulateArgs, model: &mut LoadedModel, path: &Path) -> Result<Trace, Failure> {
    let shown = path.display();
    let text = read_text(path)?;
    let trace =
        spin::follow(model, &text).map_err(|error| Failure::wrong(format!("{shown}: {error}")))?;
    let mut walk = Walk::new(model, args.states);
    print(&format!(
        "{shown}: {}\n",
        counted(trace.len() as u64, "step")
    ));
    walk.show_all(&trace);
    walk.end(&trace);
    if !args.interactive {
        walk.conclude(&trace);
    }
    Ok(trace)
}

/// One random walk, shown, up to where something is violated.
fn at_random(
    args: &SimulateArgs,
    model: &mut LoadedModel,
    seed: u64,
    status: &mut Status,
) -> Result<Trace, Failure> {
    let mut dice = Random::new(seed);
    let mut taken = Vec::new();
    let (mut walk, mut trace) = resume(model, args.states, &taken)?;
    walk.start();
    loop {
        let number = taken.len();
        let choices = walk.choices(&trace);
        if walk.misses_something() {
            drop(walk);
            (walk, trace) = resume(model, args.states, &taken)?;
        }
        if !walk.violations(&trace).is_empty() {
            *status = Status::Violated;
            break;
        }
        if choices == 0 || number == args.steps {
            break;
        }
        taken.push(dice.below(walk.successors.len()));
        walk.take(&mut trace, taken[number]);
        walk.show(&trace, number);
    }
    walk.end(&trace);
    walk.tell_violations(&trace);
    Ok(trace)
}

/// Walks on from the end of a run as the user says.
fn by_hand(args: &SimulateArgs, model: &mut LoadedModel, from: &Trace) -> Result<Trace, Failure> {
    let mut dice = Random::new(args.seed);
    let mut taken = choices_along(model, from);
    let (mut walk, mut trace) = resume(model, args.states, &taken)?;
    let mut input = Input::new();
    if trace.is_empty() {
        walk.start();
    }
    loop {
        let choices = walk.choices(&trace);
        if walk.misses_something() {
            drop(walk);
            (walk, trace) = resume(model, args.states, &taken)?;
        }
        walk.tell_violations(&trace);
        walk.show_choices(&trace);
        // What is typed until a step is taken, undone, or the walk is over.
        loop {
            let Some(line) = input.line() else {
                walk.end(&trace);
                return Ok(trace);
            };
            let chosen = match (line.trim(), line.trim().parse::<usize>()) {
                ("", _) => continue,
                ("q" | "quit", _) => return Ok(trace),
                ("u" | "undo", _) if trace.is_empty() => {
                    print("this is the start\n");
                    continue;
                }
                ("u" | "undo", _) => {
                    taken.pop();
                    trace = without_last(&trace);
                    break;
                }
                ("s" | "state", _) => {
                    print(&story::state(walk.system, trace.last_state(), true));
                    continue;
                }
                ("?" | "h" | "help", _) => {
                    print(HELP);
                    continue;
                }
                (_, Ok(number)) if (1..=choices).contains(&number) => number - 1,
                ("r" | "random" | "0", _) if choices > 0 => dice.below(choices),
                (other, _) => {
                    print(&format!("`{other}` is no choice here; ? shows help\n"));
                    continue;
                }
            };
            taken.push(chosen);
            walk.take(&mut trace, chosen);
            walk.show(&trace, trace.len() - 1);
            break;
        }
    }
}

/// Where commands come from: a terminal, with line editing and a history, or anything else.
enum Input {
    Terminal(Box<DefaultEditor>),
    Stream(std::io::StdinLock<'static>),
}

impl Input {
    fn new() -> Self {
        let editor = std::io::stdin().is_terminal().then(DefaultEditor::new);
        match editor {
            Some(Ok(editor)) => Self::Terminal(Box::new(editor)),
            _ => Self::Stream(std::io::stdin().lock()),
        }
    }

    /// The next line; `None` where there is none.
    fn line(&mut self) -> Option<String> {
        match self {
            Self::Terminal(editor) => {
                let line = editor.readline("? ").ok()?;
                // (Memory is the only thing that can be short, and a history is not worth an error.)
                let _ = editor.add_history_entry(line.as_str());
                Some(line)
            }
            Self::Stream(input) => {
                let mut line = String::new();
                matches!(input.read_line(&mut line), Ok(1..)).then_some(line)
            }
        }
    }
}

/// Which of the possible steps a run takes, one after the other.
fn choices_along(model: &LoadedModel, run: &Trace) -> Vec<usize> {
    let mut walk = Walk::new(model, false);
    let mut at = Trace::new(run.initial_state());
    let mut taken = Vec::new();
    for step in run.steps() {
        walk.choices(&at);
        let is_step = |choice: &usize| {
            let possible = walk.successors.get(*choice);
            (possible.transition, possible.outcome) == (step.transition, step.outcome)
                && possible.state == step.after
        };
        let Some(choice) = (0..walk.successors.len()).find(is_step) else {
            break;
        };
        taken.push(choice);
        at.push(step.transition, step.outcome, step.after);
    }
    taken
}

/// The walk along some choices, in a model with room for all that can be started next. A larger
/// model has the same steps in the same order.
fn resume<'m>(
    model: &'m mut LoadedModel,
    with_states: bool,
    taken: &[usize],
) -> Result<(Walk<'m>, Trace), Failure> {
    loop {
        let mut walk = Walk::new(model, with_states);
        let trace = walk.along(taken);
        walk.choices(&trace);
        let missing = walk.missing();
        drop(walk);
        if !model.grow_for(&missing)? {
            break;
        }
    }
    let mut walk = Walk::new(model, with_states);
    let trace = walk.along(taken);
    walk.choices(&trace);
    Ok((walk, trace))
}

fn without_last(trace: &Trace) -> Trace {
    let mut shorter = Trace::new(trace.initial_state());
    for step in trace.steps().take(trace.len() - 1) {
        shorter.push(step.transition, step.outcome, step.after);
    }
    shorter
}
