//! `stubborn simulate`: random walks, walks by hand, and saved traces.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use stubborn::record::SavedTrace;
use stubborn::system::{Executor, Outcome, Random, Successors, System};
use stubborn::{
    CheckOptions, Language, LoadOptions, LoadedModel, Por, PromelaOptions, Trace, sequence_chart,
    spin, story,
};

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
    let trace = if let Some(file) = &args.drawing.trail {
        let path = trail_file(file, &args.model.model);
        trail(args, &mut model, &path)?
    } else if let Some((path, saved)) = &saved {
        replay(args, &model, path, saved)?
    } else if args.interactive {
        by_hand(args, &mut model)?
    } else {
        at_random(args, &mut model)?
    };
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
    Ok(Status::Fine)
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
    let shown = path.display();
    let unreadable =
        |error: std::io::Error| Failure::wrong(format!("cannot read {shown}: {error}"));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST_TRACE {
        return Err(Failure::wrong(format!(
            "{shown} is too large for a trace file"
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
    walk.start();
    for number in 0..trace.len() {
        if trace.cycle_start() == Some(number) {
            print("  then for ever:\n");
        }
        walk.show(&trace, number);
    }
    walk.end(&trace);
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
    walk.start();
    for number in 0..trace.len() {
        walk.show(&trace, number);
    }
    walk.end(&trace);
    Ok(trace)
}

fn at_random(args: &SimulateArgs, model: &mut LoadedModel) -> Result<Trace, Failure> {
    let mut dice = Random::new(args.seed);
    let mut taken = Vec::new();
    let (mut walk, mut trace) = resume(model, args.states, &taken)?;
    walk.start();
    for number in 0..args.steps {
        if walk.choices(&trace) == 0 {
            break;
        }
        if walk.misses_something() {
            drop(walk);
            (walk, trace) = resume(model, args.states, &taken)?;
        }
        taken.push(dice.below(walk.successors.len()));
        walk.take(&mut trace, taken[number]);
        walk.show(&trace, number);
    }
    walk.end(&trace);
    Ok(trace)
}

fn by_hand(args: &SimulateArgs, model: &mut LoadedModel) -> Result<Trace, Failure> {
    let mut dice = Random::new(args.seed);
    let mut taken = Vec::new();
    let (mut walk, mut trace) = resume(model, args.states, &taken)?;
    let with_prompt = std::io::stdin().is_terminal();
    let mut input = std::io::stdin().lock();
    walk.start();
    loop {
        let choices = walk.choices(&trace);
        if walk.misses_something() {
            drop(walk);
            (walk, trace) = resume(model, args.states, &taken)?;
        }
        walk.show_choices(&trace);
        // What is typed until a step is taken, undone, or the walk is over.
        loop {
            if with_prompt {
                print("? ");
            }
            let mut line = String::new();
            if !matches!(input.read_line(&mut line), Ok(1..)) {
                walk.end(&trace);
                return Ok(trace);
            }
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

/// A model being walked through.
struct Walk<'m> {
    model: &'m LoadedModel,
    system: &'m dyn System,
    executor: Box<dyn Executor + 'm>,
    successors: Successors,
    with_states: bool,
    width: usize,
}

impl<'m> Walk<'m> {
    fn new(model: &'m LoadedModel, with_states: bool) -> Self {
        let system = model.reference();
        let ids = system.structure().transition_ids();
        Self {
            model,
            executor: system.executor(),
            successors: Successors::new(system.layout().words()),
            with_states,
            width: ids.map(|t| story::name_width(system, t)).max().unwrap_or(0),
            system,
        }
    }

    fn first_state(&self) -> Trace {
        let states = self.system.initial_states();
        Trace::new(&states[..self.system.layout().words()])
    }

    fn along(&mut self, taken: &[usize]) -> Trace {
        let mut trace = self.first_state();
        for choice in taken {
            self.choices(&trace);
            self.take(&mut trace, *choice);
        }
        trace
    }

    /// Outcomes of the steps that start processes for which there is no room yet.
    fn missing(&self) -> Vec<Outcome> {
        let Some(promela) = self.model.promela() else {
            return Vec::new();
        };
        let lowered = &promela.loaded().lowered;
        let outcomes = self.successors.iter().map(|s| s.outcome);
        outcomes.filter(|o| lowered.missing(*o).is_some()).collect()
    }

    fn misses_something(&self) -> bool {
        !self.missing().is_empty()
    }

    fn start(&self) {
        let state = self.first_state();
        print(&format!(
            "start\n{}",
            story::state(self.system, state.initial_state(), false)
        ));
    }

    /// Computes the steps from where the trace ends.
    fn choices(&mut self, trace: &Trace) -> usize {
        self.successors.clear();
        self.executor
            .successors(trace.last_state(), &mut self.successors);
        self.successors.len()
    }

    fn show_choices(&self, trace: &Trace) {
        let before = trace.last_state();
        let mut text = String::new();
        for (at, step) in self.successors.iter().enumerate() {
            let name = &self.system.structure().transition(step.transition).name;
            let changes = story::changes(self.system, step.transition, before, step.state);
            let width = self.width;
            let line = format!("  [{}] {name:width$}  {}", at + 1, changes.join(", "));
            text += line.trim_end();
            text.push('\n');
        }
        if self.successors.is_empty() {
            text += "  no step is possible here (u takes one back, q quits)\n";
        }
        print(&text);
    }

    fn take(&mut self, trace: &mut Trace, choice: usize) {
        let step = self.successors.get(choice);
        trace.push(step.transition, step.outcome, step.state);
    }

    fn show(&self, trace: &Trace, number: usize) {
        let mut text = String::new();
        let step = trace.step(number);
        story::step_line(self.system, &step, 3, self.width, &mut text);
        for line in spin::printed(self.model, &step).lines() {
            text += &format!("       | {line}\n");
        }
        if self.with_states {
            text += &story::state(self.system, trace.state(number + 1), false);
        }
        print(&text);
    }

    /// Where the walk ended, and why if it had to.
    fn end(&mut self, trace: &Trace) {
        if self.choices(trace) > 0 {
            return;
        }
        let state = trace.last_state();
        if self.system.structure().error_state.as_deref() == Some(state) {
            print("the run ends here: its last step failed\n");
        } else {
            print(&story::why_stuck(self.system, state));
        }
        let _ = std::io::stdout().flush();
    }
}
