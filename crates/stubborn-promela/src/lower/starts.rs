//! Which starts of processes can happen that a program does not provide for.
//!
//! Nearly all models start boundedly many processes in few ways, but a program has a command for
//! every number that a new process could get. Reductions must be careful about starts that are
//! missing (they depend on everything), so it pays to know those that are impossible.
//!
//! Two steps. First, each process type becomes a [`Skeleton`]: what it starts, in which order, and
//! where it can end. For that its locals are followed as constants, apart for each number of
//! processes it has started, so that `do :: i < N -> run P(); i++ :: else -> break od` starts `N`
//! processes, and `if :: !started -> started = true; run P() :: else fi` one. Channels, globals and
//! what others do are left out: a skeleton can do whatever its process can. Then all interleavings
//! of the skeletons are walked, with numbers given as always: to the next free one, freed from the
//! top. (Abstract interpretation: P. and R. Cousot, Abstract interpretation: a unified lattice
//! model, 1977.)

use std::collections::{HashMap, HashSet};

use stubborn_system::Budget;

use super::liveness::{each_basic, each_target};
use super::{Missing, Start, Table, runs_of};
use crate::ast::{Binary, Unary};
use crate::flow::{Action, StateNr, Transition};
use crate::hir::{Basic, Expr, LeafInitial, Place, ProcId, Process, Program, Scalar, VarKey};

/// Interleavings of more than so many states are not walked to the end.
const STATES: usize = 20_000;

/// Longer rows of starts are cut, and more rows are not looked for: somebody may interrupt them.
const ROW: usize = 16;
const ROWS: usize = 2_000;

/// Processes that start more are taken to start any number.
const STARTS: u32 = 256;

/// The starts that `table` does not provide for, but that may happen in executions in which all
/// earlier ones are provided for. `None` if there are too many interleavings.
pub(crate) fn possible(
    program: &Program,
    table: &Table,
    budget: &Budget,
) -> Option<HashSet<Missing>> {
    let types = program.processes.iter();
    let skeletons: Vec<Skeleton> = types.map(|p| Skeleton::of(p, program)).collect();
    let known: HashSet<Missing> = table
        .starts()
        .map(|(slot, start)| Missing {
            slot,
            start: *start,
        })
        .collect();
    let alive = table.starts().filter(|(_, start)| start.by.is_none());
    let initial: Vec<(ProcId, usize)> = alive.map(|(_, start)| (start.process, 0)).collect();
    let mut found = HashSet::new();
    let mut seen = HashSet::from([initial.clone()]);
    let mut todo = vec![initial];
    while let Some(state) = todo.pop() {
        if seen.len() > STATES || budget.poll().is_some() {
            return None;
        }
        let mut reach = |next: Vec<(ProcId, usize)>| {
            if !seen.contains(&next) {
                seen.insert(next.clone());
                todo.push(next);
            }
        };
        for (slot, (process, phase)) in state.iter().enumerate() {
            let phase = &skeletons[process.0].phases[*phase];
            if phase.ends && slot + 1 == state.len() {
                reach(state[..slot].to_vec());
            }
            'ways: for (row, after) in &phase.starts {
                let mut next = state.clone();
                for (process, place) in row {
                    let start = Start {
                        process: *process,
                        by: Some((slot, *place)),
                    };
                    let missing = Missing {
                        slot: next.len(),
                        start,
                    };
                    if !known.contains(&missing) {
                        found.insert(missing);
                        continue 'ways;
                    }
                    next.push((*process, 0));
                }
                next[slot].1 = *after;
                reach(next);
            }
        }
    }
    Some(found)
}

/// What processes of a type start.
#[derive(Debug)]
struct Skeleton {
    /// What can come next, at the start and after each start of other processes.
    phases: Vec<Phase>,
}

#[derive(Debug, Default)]
struct Phase {
    /// The process may end without starting anything more.
    ends: bool,
    /// What it may start next, several in a row if nobody can interrupt it, with the places of the
    /// `run`s; and the phase after that.
    starts: Vec<(Vec<(ProcId, u32)>, usize)>,
}

/// A control state, and how many steps that start something came before (always 0 where that is
/// not counted).
type Node = (StateNr, u32);

/// By variable and leaf: the value of a local where it is known.
type Values = HashMap<(usize, usize), i32>;

impl Skeleton {
    fn of(process: &Process, program: &Program) -> Self {
        let steps = process.flow.states.iter().flat_map(|s| &s.transitions);
        let values = match steps.clone().any(|step| !runs_of(&step.action).is_empty()) {
            true => values(process, true).or_else(|| values(process, false)),
            false => values(process, false),
        };
        let (values, counts) = values.unwrap_or_default();
        // An atomic sequence is interrupted by nobody while it can go on, unless there are other
        // reasons for a process to wait.
        let uninterrupted = process.provided.is_none() && !program.uses_priority;
        let mut phases: Vec<Phase> = Vec::new();
        let mut numbers: HashMap<Node, usize> = HashMap::from([((process.flow.start, 0), 0)]);
        let mut entries = vec![(process.flow.start, 0)];
        while let Some(entry) = entries.get(phases.len()) {
            let mut phase = Phase::default();
            // With what was started since the entry.
            let mut todo: Vec<(Node, Vec<(ProcId, u32)>)> = vec![(*entry, Vec::new())];
            let mut seen = HashSet::from([todo[0].clone()]);
            while let Some((node, row)) = todo.pop() {
                let Some(known) = values.get(&node) else {
                    continue;
                };
                for step in &process.flow.states[node.0].transitions {
                    if after(process, step, known).is_none() {
                        continue;
                    }
                    if matches!(*step.action, Action::Basic(Basic::End)) {
                        phase.ends = true;
                        continue;
                    }
                    let runs = runs_of(&step.action);
                    let counted = u32::from(counts && !runs.is_empty());
                    let next = (step.target, node.1 + counted);
                    let mut row = row.clone();
                    row.extend(runs.iter().map(|run| (run.process, run.span.start)));
                    let short = row.len() < ROW && seen.len() < ROWS;
                    let goes_on = || {
                        // A rendez-vous hands control to the partner.
                        let alone = !matches!(
                            *step.action,
                            Action::DStep(_)
                                | Action::Basic(Basic::Send { .. } | Basic::Receive { .. })
                        );
                        let steps = &process.flow.states[step.target].transitions;
                        let known = values.get(&next);
                        alone && known.is_some_and(|known| can_go_on(steps, known))
                    };
                    if row.is_empty() || uninterrupted && step.atomic && short && goes_on() {
                        if seen.insert((next, row.clone())) {
                            todo.push((next, row));
                        }
                    } else {
                        let number = *numbers.entry(next).or_insert_with(|| {
                            entries.push(next);
                            entries.len() - 1
                        });
                        phase.starts.push((row, number));
                    }
                }
            }
            phases.push(phase);
        }
        Self { phases }
    }
}

/// Whether a process is sure to have a step, whatever the others did, that does not end it.
fn can_go_on(steps: &[Transition], known: &Values) -> bool {
    let can = |step: &Transition| match &*step.action {
        Action::Jump | Action::Basic(Basic::Else | Basic::Nothing) => true,
        Action::Basic(Basic::Condition(Expr::Run(_))) => true,
        Action::Basic(Basic::Condition(expr)) => evaluate(expr, known).is_some_and(|v| v != 0),
        Action::Basic(Basic::Assign(place, expr)) => {
            let computed = evaluate(expr, known).is_some() || matches!(expr, Expr::Run(_));
            place.indices.is_empty() && computed
        }
        _ => false,
    };
    let ends = |step: &Transition| matches!(*step.action, Action::Basic(Basic::End));
    steps.iter().any(can) && !steps.iter().any(ends)
}

/// What is known of the locals of a process wherever it can be, and whether the starts before are
/// counted. `None` if they are to be counted, but are too many.
fn values(process: &Process, counts: bool) -> Option<(HashMap<Node, Values>, bool)> {
    let mut initial = Values::new();
    for (at, local) in process.locals.iter().enumerate().skip(process.parameters) {
        for (leaf, declared) in local.leaves.iter().enumerate() {
            let value = match &declared.initial {
                LeafInitial::Zero => Some(0),
                LeafInitial::Value(Expr::Const(value)) if process.initialised.contains(&at) => {
                    Some(*value)
                }
                _ => None,
            };
            let value = value.filter(|value| fits(declared.scalar, *value));
            if let (Some(value), true) = (value, declared.dims.is_empty()) {
                initial.insert((at, leaf), value);
            }
        }
    }
    let start = (process.flow.start, 0);
    let mut found = HashMap::from([(start, initial)]);
    let mut todo = vec![start];
    while let Some(node) = todo.pop() {
        let known = found[&node].clone();
        for step in &process.flow.states[node.0].transitions {
            let Some(values) = after(process, step, &known) else {
                continue;
            };
            let counted = u32::from(counts && !runs_of(&step.action).is_empty());
            let next = (step.target, node.1 + counted);
            if next.1 > STARTS {
                return None;
            }
            match found.get_mut(&next) {
                None => {
                    found.insert(next, values);
                    todo.push(next);
                }
                Some(before) => {
                    let known = before.len();
                    before.retain(|local, value| values.get(local) == Some(value));
                    if before.len() < known {
                        todo.push(next);
                    }
                }
            }
        }
    }
    Some((found, counts))
}

/// The values after a step; `None` if the step cannot be taken.
fn after(process: &Process, step: &Transition, known: &Values) -> Option<Values> {
    let mut values = known.clone();
    match &*step.action {
        Action::Blocked => return None,
        Action::Basic(Basic::Condition(expr)) if evaluate(expr, known) == Some(0) => return None,
        Action::Basic(Basic::Assign(place, expr)) => {
            if let VarKey::Local(at) = place.variable {
                let scalar = process.locals[at].leaves[place.leaf].scalar;
                match evaluate(expr, known).filter(|value| fits(scalar, *value)) {
                    Some(value) if place.indices.is_empty() => {
                        values.insert((at, place.leaf), value);
                    }
                    _ => {
                        values.remove(&(at, place.leaf));
                    }
                }
            }
        }
        _ => each_basic(step, &mut |basic| {
            each_target(basic, &mut |variable| {
                if let VarKey::Local(at) = variable {
                    values.retain(|(local, _), _| *local != at);
                }
            });
        }),
    }
    Some(values)
}

/// Whether a variable of this type keeps the value as it is.
fn fits(scalar: Scalar, value: i32) -> bool {
    match scalar {
        Scalar::Bit => (0..=1).contains(&value),
        Scalar::Byte | Scalar::Mtype(_) => (0..=255).contains(&value),
        Scalar::Short => i16::try_from(value).is_ok(),
        Scalar::Int => true,
        Scalar::Unsigned(bits) => value >= 0 && i64::from(value) < 1 << bits.min(32),
        Scalar::Chan => false,
    }
}

/// The value of an expression if it follows from what is known, provided that it does not fail.
fn evaluate(expr: &Expr, known: &Values) -> Option<i32> {
    let value = |expr: &Expr| evaluate(expr, known);
    match expr {
        Expr::Const(value) => Some(*value),
        Expr::Load(place) => match (&**place, place.variable) {
            (Place { indices, leaf, .. }, VarKey::Local(at)) if indices.is_empty() => {
                known.get(&(at, *leaf)).copied()
            }
            _ => None,
        },
        Expr::Unary(Unary::Not, inner) => Some(i32::from(value(inner)? == 0)),
        Expr::Unary(Unary::Minus, inner) => value(inner)?.checked_neg(),
        Expr::Binary(op, left, right, _) => {
            let (left, right) = (value(left), value(right));
            match (op, left, right) {
                (Binary::And, Some(0), _) | (Binary::And, _, Some(0)) => return Some(0),
                (Binary::Or, Some(one), _) if one != 0 => return Some(1),
                _ => {}
            }
            let (left, right) = (left?, right?);
            let holds = |holds: bool| Some(i32::from(holds));
            match op {
                Binary::Add => left.checked_add(right),
                Binary::Subtract => left.checked_sub(right),
                Binary::Multiply => left.checked_mul(right),
                Binary::Less => holds(left < right),
                Binary::LessEqual => holds(left <= right),
                Binary::Greater => holds(left > right),
                Binary::GreaterEqual => holds(left >= right),
                Binary::Equal => holds(left == right),
                Binary::NotEqual => holds(left != right),
                Binary::And => holds(left != 0 && right != 0),
                Binary::Or => holds(left != 0 || right != 0),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stubborn_system::budget::UNLIMITED;

    use super::*;
    use crate::load::{Options, load, sample};
    use crate::source::FileLoader;

    fn loaded(text: &str) -> crate::Loaded {
        load(Path::new("m.pml"), text, &Options::default(), &FileLoader)
            .unwrap_or_else(|(_, problems)| panic!("{text}: {problems:?}"))
    }

    const MODELS: [&str; 16] = [
        "proctype A() { skip } proctype B() { skip } init { run A(); run B() }",
        "proctype A() { do :: skip od } init { run A(); run A(); run A() }",
        "proctype A() { skip } init { byte i; do :: i < 5 -> run A(); i++ :: else -> break od }",
        "chan c = [0] of { byte }; proctype A(byte n) { bool one; end: do
           :: c?_ -> if :: !one && n < 3 -> one = true; run A(n + 1) :: else fi od }
         init { run A(0); c!1; c!2; c!3; c!4 }",
        "proctype A() { skip } init { do :: run A(); (_nr_pr < 4) od }",
        "proctype A() { atomic { run B(); run B() } } proctype B() { skip }
         init { atomic { run A(); run A() } }",
        // A partner that interrupts.
        "chan c = [0] of { byte }; proctype B() { skip }
         active proctype R() { atomic { c?_; run B(); run B() } }
         active proctype A() { atomic { run B(); c!1; run B() } }",
        // The clause of a process that lets others in.
        "byte x = 1; proctype B() { x = 1 - x } active proctype C() { x = 0; run B() }
         active proctype A() provided (x == 1) { atomic { run B(); run B(); run B() } }",
        "byte x; proctype B() { skip }
         active proctype A() { { run B(); x == 2; run B() } unless { x == 1; run B(); run B() } }
         active proctype C() { do :: x < 2 -> x++; run B() :: else -> break od }",
        // Counters that are not what they seem.
        "proctype B() { skip } active proctype A() { byte i = 254; do
           :: i != 1 -> i++; run B(); _nr_pr < 3 :: else -> break od }",
        "proctype B() { skip } active proctype A() { bit i; do :: i = 2; run B() :: i -> break od }",
        "chan c = [2] of { bool }; proctype B() { skip }
         active proctype A() { bool done; c!0; do :: !done -> done = true; run B(); c?done od }",
        "proctype B() { skip } active proctype A() { byte i; do
           :: i < 2 -> d_step { i++; i = i - 1 }; run B(); (_nr_pr < 3) :: else -> break od }",
        "proctype B(byte n) { do :: n > 0 -> n--; run B(n) :: else -> break od }
         init { byte i[2]; do :: i[1] < 2 -> i[1]++; run B(i[1]) :: else -> break od }",
        "byte x; proctype B() { byte p; p = run D(); x = p } proctype D() { skip }
         active proctype A() { byte p; do :: x < 4 -> p = run B() :: else -> break od }",
        "byte n; proctype W() { n-- }
         active proctype S() { do :: n < 3 -> atomic { n++; run W() } od }",
    ];

    /// Whatever a model starts that is not provided for was thought of, at every size of the table.
    #[test]
    fn nothing_is_started_that_is_impossible() {
        for text in MODELS {
            let program = loaded(text).program;
            let mut table = Table::initial(&program);
            loop {
                let mut problems = Vec::new();
                let sources = crate::source::Sources::default();
                let options = (super::super::Options::default(), &UNLIMITED);
                let lowered =
                    super::super::lower(&program, &sources, "m", &table, options, &mut problems);
                let model = stubborn_ir::Model::new(lowered.program.clone()).expect("it fits");
                let all = possible(&program, &table, &UNLIMITED).expect("few interleavings");
                let missing = sample(&model, &lowered);
                for one in &missing {
                    assert!(all.contains(one), "{text}: {one:?} of {all:?}");
                }
                match missing.first() {
                    Some(one) => table.add(*one),
                    None => break,
                }
            }
        }
    }

    /// How many starts may be missing once everything was found that is really started.
    #[test]
    fn what_is_bounded_lacks_nothing() {
        let lacks = |text| loaded(text).lacks().expect("few interleavings");
        for text in &MODELS[..6] {
            // The chain might go on at its end: nobody follows parameters; and so might the loop.
            let open = text.contains("n < 3") || text.contains("_nr_pr");
            assert_eq!(lacks(text), usize::from(open), "{text}");
        }
    }
}
