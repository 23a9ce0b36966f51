//! Runs as people read them: who moved, what changed, and why it ends there.
//!
//! A step is shown by its transition (`Sender: send -> wait (data!)`), the messages that went
//! in or out of channels, and the variables that have new values; what stayed is left out.
//! The end is explained by what every process waits for, or by the values that an
//! assertion, an invariant or a failing step looked at.

use std::fmt::Write;

use stubborn_diagnostics::Span;
use stubborn_emptiness::Property;
use stubborn_search::{Trace, TraceStep};
use stubborn_system::{
    Executor, FieldId, FieldKind, Label, LabelId, ProcessId, PropertyKind, Structure, Successors,
    System, TransitionId,
};

use crate::load::LoadedModel;
use crate::temporal::explain::RunExplanation;

/// Widest column of transition names; longer names push their changes to the right.
const WIDEST_NAME: usize = 56;
/// Where Promela's processes are that are gone.
const ENDED: &str = "-";
/// Most things of one kind that an explanation lists.
const SHOWN: usize = 4;

/// All steps of a run, one a line, numbered from 1. Steps that count through a loop are folded.
pub fn steps(system: &dyn System, trace: &Trace) -> String {
    let names = trace
        .steps()
        .map(|step| name_width(system, step.transition));
    let width = names.max().unwrap_or(0);
    let lines = folded(system, trace);
    let number = |(first, last): &(usize, usize)| match first == last {
        true => format!("{}", first + 1),
        false => format!("{}-{}", first + 1, last + 1),
    };
    let digits = lines
        .iter()
        .map(|line| number(line).len())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for line in lines {
        let (first, last) = line;
        if trace.cycle_start() == Some(first) {
            out.push_str("  then for ever:\n");
        }
        let transition = trace.step(first).transition;
        let name = system.structure().transition(transition).title();
        let (before, after) = (trace.state(first), trace.state(last + 1));
        let changes = changes(system, transition, before, after).join(", ");
        let text = format!("  {:>digits$}. {name:width$}  {changes}", number(&line));
        out.push_str(text.trim_end());
        out.push('\n');
        for at in first..=last {
            problems(system, &trace.step(at), digits, &mut out);
        }
    }
    out
}

/// The first and last steps of the lines that tell a run: what a `for` loop does by itself between
/// its statements is one line.
fn folded(system: &dyn System, trace: &Trace) -> Vec<(usize, usize)> {
    let structure = system.structure();
    let head = |step: usize| {
        let title = structure.transition(trace.step(step).transition).title();
        let (_, statement) = title.split_once(' ')?;
        let is_loop = statement.starts_with("for (") || statement.starts_with("for(");
        is_loop.then(|| title.into_owned())
    };
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for step in 0..trace.len() {
        match lines.last_mut() {
            Some((_, last))
                if trace.cycle_start() != Some(step)
                    && head(step).is_some()
                    && head(*last) == head(step) =>
            {
                *last = step;
            }
            _ => lines.push((step, step)),
        }
    }
    lines
}

/// How wide the name column must be for a transition.
pub fn name_width(system: &dyn System, transition: TransitionId) -> usize {
    let name = system.structure().transition(transition).title();
    name.chars().count().min(WIDEST_NAME)
}

/// One step as a line: number, transition, changes.
pub fn step_line(
    system: &dyn System,
    step: &TraceStep<'_>,
    digits: usize,
    width: usize,
    out: &mut String,
) {
    let name = system.structure().transition(step.transition).title();
    let number = step.number + 1;
    let changes = changes(system, step.transition, step.before, step.after).join(", ");
    let line = format!("  {number:>digits$}. {name:width$}  {changes}");
    out.push_str(line.trim_end());
    out.push('\n');
    problems(system, step, digits, out);
}

/// What went wrong in a step.
fn problems(system: &dyn System, step: &TraceStep<'_>, digits: usize, out: &mut String) {
    for site in step.outcome.sites(system.structure()) {
        let _ = writeln!(out, "  {:digits$}  ! {}", "", site.message);
    }
}

/// What a step did, besides moving the program counters of its own processes: messages first,
/// then variables.
pub fn changes(
    system: &dyn System,
    transition: TransitionId,
    before: &[u32],
    after: &[u32],
) -> Vec<String> {
    let structure = system.structure();
    let layout = system.layout();
    if structure.error_state.as_deref() == Some(after) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for channel in 0..layout.channels().len() {
        out.extend(transfer(system, channel, before, after));
    }
    let movers = &structure.transition(transition).processes;
    // What a process has had is of no interest once it is gone.
    let is_gone = |process: &ProcessId| {
        let location = structure.processes[process.index()].location;
        location.is_some_and(|at| system.value_text(at, layout.get(after, at)) == ENDED)
    };
    for (at, field) in layout.fields().iter().enumerate() {
        if field.get(before) == field.get(after) || field.process.as_ref().is_some_and(is_gone) {
            continue;
        }
        match &field.kind {
            FieldKind::ChannelCell(_) | FieldKind::ChannelLength(_) => continue,
            FieldKind::Location(process, _) if movers.contains(process) => continue,
            FieldKind::Location(process, _) => {
                let name = &structure.processes[process.index()].name;
                let value = system.value_text(FieldId::new(at), field.get(after));
                out.push(format!("{name} at {value}"));
            }
            _ => out.push(assignment(system, FieldId::new(at), after)),
        }
    }
    out
}

/// `x = 3`.
fn assignment(system: &dyn System, field: FieldId, state: &[u32]) -> String {
    let layout = system.layout();
    let value = system.value_text(field, layout.get(state, field));
    format!("{} = {value}", layout.field(field).name)
}

/// What happened to a channel, if anything.
fn transfer(system: &dyn System, channel: usize, before: &[u32], after: &[u32]) -> Option<String> {
    let name = &system.layout().channels()[channel].name;
    let old = messages(system, channel, before);
    let new = messages(system, channel, after);
    if old == new {
        return None;
    }
    Some(match transferred(&old, &new) {
        Transferred::Gets(last) => format!("{name} gets {last}"),
        Transferred::Gives(first) => format!("{name} gives {first}"),
        Transferred::Changes => format!("{name} = [{}]", new.join(", ")),
    })
}

/// What a step did to the messages in a channel.
pub(crate) enum Transferred<'m, M> {
    /// One came in, after all others.
    Gets(&'m M),
    /// The oldest one went out.
    Gives(&'m M),
    /// Anything else: sorted or random sends and receives.
    Changes,
}

/// What happened between these contents of a channel, which differ.
pub(crate) fn transferred<'m, M: PartialEq>(old: &'m [M], new: &'m [M]) -> Transferred<'m, M> {
    match (old.split_first(), new.split_last()) {
        (_, Some((last, rest))) if rest == old => Transferred::Gets(last),
        (Some((first, rest)), _) if rest == new => Transferred::Gives(first),
        _ => Transferred::Changes,
    }
}

/// The messages in a channel, oldest first.
pub(crate) fn messages(system: &dyn System, channel: usize, state: &[u32]) -> Vec<String> {
    let layout = system.layout();
    let channel = &layout.channels()[channel];
    let length = usize::try_from(layout.get(state, channel.length)).unwrap_or(0);
    let message = |cells: &Vec<FieldId>| {
        let text = |f: &FieldId| system.value_text(*f, layout.get(state, *f));
        let parts: Vec<String> = cells.iter().map(text).collect();
        match parts.as_slice() {
            [one] => one.clone(),
            parts => format!("({})", parts.join(", ")),
        }
    };
    channel.cells.iter().take(length).map(message).collect()
}

/// What the receiver of a rendez-vous got: `v = 4`, for each variable of its own that the step
/// writes.
pub(crate) fn received(
    system: &dyn System,
    transition: TransitionId,
    after: &[u32],
) -> Vec<String> {
    let transition = system.structure().transition(transition);
    let Some(receiver) = transition.processes.get(1) else {
        return Vec::new();
    };
    let is_own = |field: &&FieldId| {
        let field = system.layout().field(**field);
        field.process == Some(*receiver)
            && !matches!(
                field.kind,
                FieldKind::Location(..) | FieldKind::ChannelCell(_) | FieldKind::ChannelLength(_)
            )
    };
    let fields = transition.writes.iter().filter(is_own);
    fields
        .map(|field| assignment(system, *field, after))
        .collect()
}

/// A whole state: processes with their locations and variables, global variables, channels.
/// With `all` false, variables that are 0 and empty channels are left out.
pub fn state(system: &dyn System, state: &[u32], all: bool) -> String {
    let structure = system.structure();
    let layout = system.layout();
    if structure.error_state.as_deref() == Some(state) {
        return "  the error state: a step has failed\n".into();
    }
    let mut out = String::new();
    let variables = |owner: Option<ProcessId>| {
        let is_variable = |kind: &FieldKind| {
            matches!(
                kind,
                FieldKind::Integer | FieldKind::Named(_) | FieldKind::Interned
            )
        };
        let fields = layout.fields().iter().enumerate();
        let chosen = fields.filter(move |(_, f)| {
            f.process == owner && is_variable(&f.kind) && (all || f.get(state) != 0)
        });
        let texts: Vec<String> = chosen
            .map(|(at, _)| assignment(system, FieldId::new(at), state))
            .collect();
        texts
    };
    for (at, process) in structure.processes.iter().enumerate() {
        let mut line = process.name.clone();
        if let Some(field) = process.location {
            line += &format!(" at {}", system.value_text(field, layout.get(state, field)));
        }
        let own = variables(Some(ProcessId::new(at)));
        if !own.is_empty() {
            line += &format!(": {}", own.join(", "));
        }
        let _ = writeln!(out, "  {line}");
    }
    let shared = variables(None);
    if !shared.is_empty() {
        let _ = writeln!(out, "  {}", shared.join(", "));
    }
    for (at, channel) in layout.channels().iter().enumerate() {
        let content = messages(system, at, state);
        if all || !content.is_empty() {
            let _ = writeln!(out, "  {} = [{}]", channel.name, content.join(", "));
        }
    }
    out
}

/// Why nobody can move in `state`: for every process, what it waits for; without processes,
/// the state itself.
pub fn why_stuck(system: &dyn System, state: &[u32]) -> String {
    let structure = system.structure();
    if structure.processes.is_empty() {
        let values = self::state(system, state, false);
        return format!("  No transition is enabled there:\n{}", indented(&values));
    }
    let mut executor = system.executor();
    const HEAD: &str = "  Nobody can move:\n";
    let mut out = String::from(HEAD);
    for (at, process) in structure.processes.iter().enumerate() {
        let Some(field) = process.location else {
            continue;
        };
        let id = ProcessId::new(at);
        let value = system.layout().get(state, field);
        let here = u32::try_from(value - system.layout().field(field).min).ok();
        let place = format!("{} at {}", process.name, system.value_text(field, value));
        let leaves = |t: &TransitionId| {
            let transition = structure.transition(*t);
            let position = transition.processes.iter().position(|p| *p == id);
            position.is_some_and(|at| transition.sources.get(at).copied().flatten() == here)
        };
        let waiting: Vec<TransitionId> = structure.transition_ids().filter(leaves).collect();
        // Who has ended waits for nothing, but perhaps for others to end, too.
        let has_ended = |t: &TransitionId| {
            let title = structure.transition(*t).title();
            let step = title
                .strip_prefix(&process.name)
                .and_then(|s| s.strip_prefix(':'));
            let place = step.and_then(|step| step.strip_suffix(" end"));
            place.is_some_and(|line| line.bytes().all(|b| b.is_ascii_digit()))
        };
        if waiting.is_empty() && system.value_text(field, value) == ENDED
            || !waiting.is_empty() && waiting.iter().all(has_ended)
        {
            continue;
        }
        if waiting.is_empty() {
            let _ = writeln!(out, "    {place} has no further step");
            continue;
        }
        let _ = writeln!(out, "    {place} waits:");
        for transition in waiting.iter().take(SHOWN) {
            let name = structure.transition(*transition).title();
            let name = name
                .strip_prefix(&format!("{}: ", process.name))
                .unwrap_or(&name);
            let missing = missing(system, &mut *executor, state, *transition, field);
            let _ = writeln!(out, "      {name} needs {}", missing.join("; "));
        }
        if waiting.len() > SHOWN {
            let _ = writeln!(out, "      and {} more", waiting.len() - SHOWN);
        }
    }
    if out == HEAD {
        return "  All processes have ended.\n".into();
    }
    out
}

/// Why no run goes on from `state`: nobody can move, or every step fails.
pub fn why_over(system: &dyn System, state: &[u32]) -> String {
    let mut successors = Successors::new(system.layout().words());
    system.executor().successors(state, &mut successors);
    if successors.is_empty() {
        return why_stuck(system, state);
    }
    let structure = system.structure();
    let mut out = String::from("  Every step fails there:\n");
    for step in successors.iter().take(SHOWN) {
        let name = structure.transition(step.transition).title();
        let failed = step.outcome.failed();
        let why = failed.map_or("", |site| &structure.failures[site].message);
        let _ = writeln!(out, "    {name}: {why}");
    }
    out
}

/// A text two blanks farther to the right.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The guards that keep a transition from being enabled, with the values they look at.
fn missing(
    system: &dyn System,
    executor: &mut dyn Executor,
    state: &[u32],
    transition: TransitionId,
    own_counter: FieldId,
) -> Vec<String> {
    let structure = system.structure();
    let guards = &structure.transition(transition).guards;
    let is_false: Vec<LabelId> = guards
        .iter()
        .copied()
        .filter(|guard| !executor.label(state, *guard))
        .collect();
    let explained = is_false.iter().map(|guard| {
        let label = structure.label(*guard);
        match values(system, label, state, Some(own_counter)) {
            values if values.is_empty() => label.text.clone(),
            values => format!("{}, but {values}", label.text),
        }
    });
    explained.collect()
}

/// The values of the fields that a label looks at: `x = 1, P at wait`.
fn values(system: &dyn System, label: &Label, state: &[u32], leave_out: Option<FieldId>) -> String {
    let structure = system.structure();
    let layout = system.layout();
    let fields: Vec<FieldId> = label
        .tests
        .iter()
        .copied()
        .filter(|f| Some(*f) != leave_out)
        .collect();
    let mut texts: Vec<String> = fields
        .iter()
        .take(SHOWN)
        .map(|f| match &layout.field(*f).kind {
            FieldKind::Location(process, _) => {
                let name = &structure.processes[process.index()].name;
                format!("{name} at {}", system.value_text(*f, layout.get(state, *f)))
            }
            FieldKind::ChannelLength(channel) => {
                let name = &layout.channels()[channel.index()].name;
                match layout.get(state, *f) {
                    0 => format!("{name} is empty"),
                    1 => format!("{name} holds 1 message"),
                    n => format!("{name} holds {n} messages"),
                }
            }
            _ => assignment(system, *f, state),
        })
        .collect();
    if fields.len() > SHOWN {
        texts.push("...".into());
    }
    texts.join(", ")
}

/// The assertions and invariants of a model that are violated in a state, each with its place.
pub fn violated_in(system: &dyn System, state: &[u32]) -> Vec<(String, Option<Span>)> {
    let structure = system.structure();
    if structure.error_state.as_deref() == Some(state) {
        return Vec::new();
    }
    let mut executor = system.executor();
    let properties = structure.properties.iter();
    let stated = properties.filter(|p| p.kind != PropertyKind::Reachable);
    let violated = stated.filter(|p| executor.label(state, p.violated_by));
    let named = violated.map(|property| {
        let name = match property.kind {
            PropertyKind::Assertion | PropertyKind::Reachable => property.name.clone(),
            PropertyKind::Invariant => format!("invariant {}", property.name),
        };
        (name, property.span)
    });
    named.collect()
}

/// What a bad state looks like to the label that calls it bad: `: x = 1`, or nothing.
pub fn why_bad(system: &dyn System, label: LabelId, state: &[u32]) -> String {
    let values = values(system, system.structure().label(label), state, None);
    if values.is_empty() {
        String::new()
    } else {
        format!(": {values}")
    }
}

/// Why a label cannot be evaluated in a state: the values that it looks at, but for the elements
/// of arrays where there are others, and what went wrong.
pub fn why_undefined(system: &dyn System, label: LabelId, state: &[u32], message: &str) -> String {
    let layout = system.layout();
    let mut label = system.structure().label(label).clone();
    let is_element = |field: &FieldId| layout.field(*field).name.ends_with(']');
    if !label.tests.iter().all(is_element) {
        label.tests.retain(|field| !is_element(field));
    }
    match values(system, &label, state, None) {
        values if values.is_empty() => format!("cannot be evaluated there: {message}"),
        values => format!("cannot be evaluated there ({values}): {message}"),
    }
}

/// What the propositions of a violated property do for ever: along the cycle of a run, or in
/// its last state if it ends.
pub fn truths(system: &dyn System, property: &Property, trace: &Trace) -> String {
    let mut executor = system.executor();
    let from = trace.cycle_start().unwrap_or(trace.len());
    let to = trace.cycle_start().map_or(from + 1, |_| trace.len());
    let (mut always, mut never, mut sometimes) = (Vec::new(), Vec::new(), Vec::new());
    let names = property.automaton().propositions();
    for (name, label) in names.iter().zip(property.labels()) {
        let name = match property.formula() {
            Some(_) => name,
            None => &system.structure().label(*label).text,
        };
        let states = to - from;
        let holds = (from..to).filter(|at| executor.label(trace.state(*at), *label));
        match holds.count() {
            0 => never.push(name.as_str()),
            times if times == states => always.push(name.as_str()),
            _ => sometimes.push(name.as_str()),
        }
    }
    let mut out = String::new();
    let (place, always_true, never_true) = match trace.cycle_start() {
        Some(_) => ("On the cycle", "always true", "never true"),
        None => ("In that state", "true", "false"),
    };
    let parts = [
        (always_true, always),
        (never_true, never),
        ("true now and then", sometimes),
    ];
    for (words, mut names) in parts {
        if names.is_empty() {
            continue;
        }
        if names.len() > SHOWN {
            names.truncate(SHOWN);
            names.push("...");
        }
        let _ = writeln!(out, "  {place} {words}: {}", names.join(", "));
    }
    out
}

/// What decides that a run violates a formula, and who starves in it.
pub fn reasons(system: &dyn System, explanation: &RunExplanation, run: &Trace) -> String {
    let mut out = String::new();
    match (explanation.is_decided, explanation.lost_after) {
        (true, Some(0)) => out += "  It is lost in the initial state, whatever follows.\n",
        (true, Some(steps)) => {
            let _ = writeln!(out, "  It is lost after step {steps}, whatever follows.");
        }
        (true, None) => {
            out += "  No step decides it: what is wrong is what goes on for ever.\n";
        }
        (false, _) => {}
    }
    // Alone, nobody is treated unfairly.
    if run.cycle_start().is_none() || system.structure().processes.len() < 2 {
        return out;
    }
    if !explanation.starving.is_empty() {
        let names = explanation.starving.join(", ");
        let _ = writeln!(
            out,
            "  Starving: {names} could move all the time on the cycle, and never does \
             (--fairness leaves such runs out)."
        );
    }
    if !explanation.passed_over.is_empty() {
        let names = explanation.passed_over.join(", ");
        let _ = writeln!(
            out,
            "  Passed over: {names} could move now and then on the cycle, and never does \
             (which is weakly fair)."
        );
    }
    if !explanation.is_unfair() {
        out += "  The run is fair: it counts with --fairness, too.\n";
    }
    out
}

/// A place in the model's text with its line.
pub fn source_line(model: &LoadedModel, span: Option<Span>) -> String {
    let Some(span) = span else {
        return String::new();
    };
    let text: String = model.text().line(span).chars().take(120).collect();
    format!("    {}: {text}\n", model.text().place(span))
}

/// The names of a transition's processes, `A, B` for a rendez-vous.
pub fn process_names(structure: &Structure, transition: TransitionId) -> Option<String> {
    let processes = &structure.transition(transition).processes;
    let names: Vec<&str> = processes
        .iter()
        .map(|p| structure.processes[p.index()].name.as_str())
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
