//! SPIN's habits, for Promela models: trails that SPIN replays, what models print, and the
//! statements that a search has not reached.

use std::collections::BTreeSet;
use std::fmt;

use stubborn_ir::interpreter::Interpreter;
use stubborn_promela::Loaded;
use stubborn_promela::ast::ProcessKind;
use stubborn_promela::flow::Action;
use stubborn_promela::trail::{Step, TrailError};
use stubborn_search::{Trace, TraceStep};
use stubborn_system::{BitSet, Successors};

use crate::languages::promela::PromelaOptions;
use crate::load::{Language, LoadError, LoadOptions, LoadedModel, load_text};
use crate::record::SavedTrace;

/// A run as a trail for `spin -t`; `None` for other languages than Promela. Where the run is one of the
/// never claim of this name, with what that does.
pub fn trail(model: &LoadedModel, trace: &Trace, claim: Option<&str>) -> Option<String> {
    let steps = trace.steps().map(|step| Step {
        transition: step.transition,
        outcome: step.outcome,
        state: step.after.to_vec(),
    });
    let steps: Vec<Step> = steps.collect();
    let loaded = model.promela()?.loaded();
    let cycle = trace.cycle_start();
    // SPIN's own name for a claim without one has colons around it.
    let is_named = |claim: &str| {
        loaded
            .lowered
            .claims
            .iter()
            .position(|c| c.name.trim_matches(':') == claim)
    };
    let claim = claim.and_then(is_named);
    let claim = claim.and_then(|claim| loaded.follow_claim(claim, &steps, cycle));
    Some(loaded.write_trail(&steps, cycle, claim.as_ref()))
}

/// A run that violates an `ltl` formula of the model, as a trail with the moves of the claim that SPIN makes of
/// the formula. `claims` is what SPIN makes of all formulas of the model, which it leaves in a file
/// `_spin_nvr.tmp`; `None` if they do not fit the run.
pub fn trail_of_formula(
    model: &LoadedModel,
    trace: &Trace,
    formula: &str,
    claims: &str,
    promela: &PromelaOptions,
) -> Option<String> {
    let saved = SavedTrace::new(model, trace, formula);
    // SPIN reads them after everything else, too, which gives their statements the numbers after all others.
    let text = format!("{}\n{claims}\n", model.text().main().text());
    let options = LoadOptions {
        promela: promela.clone(),
        ignore_temporal: true,
        ..saved.needs()
    };
    let claimed = load_text(model.name(), text, Language::Promela, &options).ok()?;
    let run = saved.replay(&claimed).ok()?;
    let trail = trail(&claimed, &run, Some(formula))?;
    trail.starts_with("-2:").then_some(trail)
}

/// Why a trail cannot be followed.
#[derive(Debug)]
pub enum FollowError {
    /// The model is no Promela model.
    NotPromela,
    /// The trail does not fit the model.
    Trail(TrailError),
    /// The model cannot be prepared for the processes that the trail starts.
    Load(LoadError),
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPromela => f.write_str("only Promela models have trails"),
            Self::Trail(error) => error.fmt(f),
            Self::Load(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FollowError {}

/// Follows a trail, which SPIN or [`trail`] wrote. The model may get other transitions on the
/// way, because a trail can start processes that it was not prepared for.
pub fn follow(model: &mut LoadedModel, trail: &str) -> Result<Trace, FollowError> {
    loop {
        let promela = model.promela().ok_or(FollowError::NotPromela)?;
        match promela.loaded().read_trail(trail) {
            Ok((steps, cycle)) => {
                let system = model.reference();
                let mut trace = Trace::new(&system.initial_states());
                for step in steps {
                    trace.push(step.transition, step.outcome, &step.state);
                }
                // A state of SPIN's includes that of the claim, which may come later to where it was.
                if let Some(start) = cycle
                    && start < trace.len()
                    && trace.state(start) == trace.last_state()
                {
                    trace.close_cycle(start);
                }
                return Ok(trace);
            }
            Err(TrailError::Outgrown(outcome)) => {
                if !model.grow_for(&[outcome]).map_err(FollowError::Load)? {
                    return Err(FollowError::Trail(TrailError::Outgrown(outcome)));
                }
            }
            Err(error) => return Err(FollowError::Trail(error)),
        }
    }
}

/// What a step prints.
pub fn printed(model: &LoadedModel, step: &TraceStep<'_>) -> String {
    let Some(promela) = model.promela() else {
        return String::new();
    };
    let mut interpreter = Interpreter::new(&promela.loaded().model);
    let mut out = Successors::new(step.before.len());
    let mut state = step.before.to_vec();
    let mut text = String::new();
    for command in interpreter.explain(step.before, step.transition, (step.after, step.outcome)) {
        text += &interpreter.output(&state, command);
        out.clear();
        interpreter.fire_once(&state, command, &mut out);
        if !out.is_empty() && !promela.loaded().model.is_error(out.state(0)) {
            state = out.state(0).to_vec();
        }
    }
    text
}

/// The run with one step for each command: the steps of atomic sequences apart.
pub fn single_steps(model: &LoadedModel, trace: &Trace) -> Trace {
    let Some(promela) = model.promela() else {
        return trace.clone();
    };
    let mut interpreter = Interpreter::new(&promela.loaded().model);
    let mut out = Successors::new(trace.initial_state().len());
    let mut single = Trace::new(trace.initial_state());
    for step in trace.steps() {
        for command in interpreter.explain(step.before, step.transition, (step.after, step.outcome))
        {
            out.clear();
            interpreter.fire_once(single.last_state(), command, &mut out);
            if !out.is_empty() {
                single.push(command, out.outcome(0), out.state(0));
            }
        }
    }
    single
}

/// The statements of a process type that no search has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// `proctype P`, or `init`.
    pub process: String,
    /// What is not reached.
    pub statements: Vec<Statement>,
    /// How many statements the process type has.
    pub all: usize,
}

/// A statement of a process type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// File, line and column.
    pub place: String,
    /// The number of its state as SPIN counts.
    pub state: usize,
    /// What is written there, in one line.
    pub text: String,
    /// Whether the same text was reached where it stands for another one: an inline is used several
    /// times.
    pub is_reached_elsewhere: bool,
}

/// What no search has reached so far, by process type. `None` unless the model was loaded to
/// [note that](crate::PromelaOptions::coverage).
pub fn unreached(model: &LoadedModel) -> Option<Vec<Unreached>> {
    let promela = model.promela()?;
    let loaded = promela.loaded();
    let mut reached: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (command, info) in loaded.lowered.steps.iter().enumerate() {
        if promela.is_reached(command)? {
            reached.extend(info.parts.iter().map(|(_, kind, step)| (kind.0, *step)));
        }
    }
    Some(all_unreached(model, loaded, &reached, &BTreeSet::new()))
}

/// What no transition has reached that a search has taken, by process type; `None` if the model is
/// no Promela model. Of process types with atomic sequences that are followed statement by statement,
/// inside of which a search does not look, nothing is said.
pub fn unreached_by(model: &LoadedModel, fired: &BitSet) -> Option<Vec<Unreached>> {
    let loaded = model.promela()?.loaded();
    let mut reached: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut unknown: BTreeSet<usize> = BTreeSet::new();
    let commands = &loaded.model.program().commands;
    for (at, info) in loaded.lowered.steps.iter().enumerate() {
        if fired.contains(at) {
            reached.extend(info.parts.iter().map(|(_, kind, step)| (kind.0, *step)));
        }
        if commands
            .get(at)
            .is_none_or(|command| command.continues.is_some())
        {
            unknown.extend(info.parts.iter().map(|(_, kind, _)| kind.0));
        }
    }
    add_dead_steps(loaded, &mut reached);
    Some(all_unreached(model, loaded, &reached, &unknown))
}

/// Adds the steps that leave dead locations: whoever comes there takes them, whether or not they are
/// left out.
fn add_dead_steps(loaded: &Loaded, reached: &mut BTreeSet<(usize, usize)>) {
    for (at, process) in loaded.program.processes.iter().enumerate() {
        let flow = &process.flow;
        for step in flow.states.iter().flat_map(|state| &state.transitions) {
            let mut last = step;
            while reached.contains(&(at, last.number))
                && let Some(next) = flow.dead_step(last.target)
                && reached.insert((at, next.number))
            {
                last = next;
            }
        }
    }
}

/// The statements that are not among those reached, but for process types of which nothing is known.
fn all_unreached(
    model: &LoadedModel,
    loaded: &Loaded,
    reached: &BTreeSet<(usize, usize)>,
    unknown: &BTreeSet<usize>,
) -> Vec<Unreached> {
    let mut all = Vec::new();
    let written = |span| (loaded.sources.origin(span), loaded.sources.slice(span));
    let processes = loaded.program.processes.iter().enumerate();
    let steps = processes.flat_map(|(at, process)| {
        let steps = process.flow.states.iter().flat_map(|s| &s.transitions);
        steps.map(move |step| ((at, step.number), step.span))
    });
    let reached_texts: BTreeSet<_> = steps
        .filter(|(step, _)| reached.contains(step))
        .map(|(_, span)| written(span))
        .collect();
    for (at, process) in loaded.program.processes.iter().enumerate() {
        let name = match process.kind {
            ProcessKind::Init => "init".to_owned(),
            ProcessKind::Proctype => format!("proctype {}", process.name),
            ProcessKind::Never | ProcessKind::Trace | ProcessKind::NoTrace => continue,
        };
        if unknown.contains(&at) {
            continue;
        }
        let mut statements = BTreeSet::new();
        for step in process.flow.states.iter().flat_map(|s| &s.transitions) {
            if !matches!(*step.action, Action::Jump | Action::Blocked) {
                statements.insert((step.number, step.span));
            }
        }
        let count = statements.len();
        let missing = statements
            .into_iter()
            .filter(|(n, _)| !reached.contains(&(at, *n)));
        let describe = |(number, span): (usize, stubborn_diagnostics::Span)| {
            let text = loaded.sources.slice(span);
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut text = words.join(" ");
            if text == "}" {
                text = "-end-".into();
            }
            if let Some((cut, _)) = text.char_indices().nth(60) {
                text.truncate(cut);
                text += "...";
            }
            Statement {
                place: model.text().place(span),
                state: number + 1,
                text,
                is_reached_elsewhere: reached_texts.contains(&written(span)),
            }
        };
        all.push(Unreached {
            process: name,
            statements: missing.map(describe).collect(),
            all: count,
        });
    }
    all
}
