//! Smaller programs and expressions.

use crate::minimise::without_some;
use crate::reference::program::{
    Action, Channel, Expr, Name, Place, Process, Program, Transition, Variable,
};

/// Simpler expressions in place of the whole one.
fn simpler(expression: &Expr) -> Vec<Expr> {
    let constants = |below: &[i32]| below.iter().copied().map(Expr::Const).collect::<Vec<_>>();
    match expression {
        Expr::Const(0) => vec![],
        Expr::Const(1) => constants(&[0]),
        Expr::Const(value @ (-1 | 2)) => constants(&[0, 1, value / 2]),
        Expr::Const(value) => constants(&[0, 1, value / 2]),
        Expr::Read(Place { name, index }) => {
            let mut all = constants(&[0, 1]);
            if index.is_some() {
                all.push(Expr::Read(Place {
                    name: *name,
                    index: None,
                }));
            }
            all
        }
        Expr::At(..) => constants(&[0, 1]),
        Expr::Unary(_, operand) => [constants(&[0, 1]), vec![(**operand).clone()]].concat(),
        Expr::Binary(_, left, right) => {
            let operands = vec![(**left).clone(), (**right).clone()];
            [constants(&[0, 1]), operands].concat()
        }
    }
}

/// Calls `visit` for every part of an expression, the whole one first.
pub fn visit_expr(expression: &mut Expr, visit: &mut dyn FnMut(&mut Expr)) {
    visit(expression);
    match expression {
        Expr::Const(_) | Expr::At(..) => {}
        Expr::Read(place) => visit_place(place, visit),
        Expr::Unary(_, operand) => visit_expr(operand, visit),
        Expr::Binary(_, left, right) => {
            visit_expr(left, visit);
            visit_expr(right, visit);
        }
    }
}

fn visit_place(place: &mut Place, visit: &mut dyn FnMut(&mut Expr)) {
    if let Some(index) = &mut place.index {
        visit_expr(index, visit);
    }
}

fn visit_transition(transition: &mut Transition, visit: &mut dyn FnMut(&mut Expr)) {
    if let Some(guard) = &mut transition.guard {
        visit_expr(guard, visit);
    }
    match &mut transition.sync {
        Some((_, Action::Send(values))) => {
            values.iter_mut().for_each(|value| visit_expr(value, visit));
        }
        Some((_, Action::Receive(places))) => {
            places
                .iter_mut()
                .for_each(|place| visit_place(place, visit));
        }
        None => {}
    }
    for (place, value) in &mut transition.effects {
        visit_place(place, visit);
        visit_expr(value, visit);
    }
}

/// Calls `visit` for every part of every expression of a program.
pub fn visit_program(program: &mut Program, visit: &mut dyn FnMut(&mut Expr)) {
    for process in program
        .processes
        .iter_mut()
        .filter(|process| !process.removed)
    {
        for (_, condition) in &mut process.assertions {
            visit_expr(condition, visit);
        }
        for transition in &mut process.transitions {
            visit_transition(transition, visit);
        }
    }
}

/// Everything with one part of one expression made simpler; `visit_all` visits the
/// expressions of a `T`.
pub fn with_simpler_expressions<T: Clone>(
    whole: &T,
    visit_all: impl Fn(&mut T, &mut dyn FnMut(&mut Expr)),
) -> Vec<T> {
    let mut parts = Vec::new();
    visit_all(&mut whole.clone(), &mut |part| parts.push(simpler(part)));
    let mut all = Vec::new();
    for (number, simpler) in parts.into_iter().enumerate() {
        for replacement in simpler {
            let mut changed = whole.clone();
            let mut at = 0;
            let mut replacement = Some(replacement);
            visit_all(&mut changed, &mut |part| {
                // Parts of a replaced part are counted on, but never meant: it is taken.
                if at == number
                    && let Some(replacement) = replacement.take()
                {
                    *part = replacement;
                }
                at += 1;
            });
            all.push(changed);
        }
    }
    all
}

/// What an expression is without the things that were taken away: locations are never
/// reached, variables keep their first value.
pub fn mend_expr(expression: &mut Expr, program: &Program) {
    visit_expr(expression, &mut |part| {
        let value = match part {
            Expr::At(process, _) if program.processes[*process].removed => 0,
            Expr::Read(place) => match is_removed(program, place.name) {
                true => program.variable(place.name).initial[0],
                false => return,
            },
            _ => return,
        };
        *part = Expr::Const(value);
    });
}

fn is_removed(program: &Program, name: Name) -> bool {
    let process = name.process.map(|process| &program.processes[process]);
    process.is_some_and(|process| process.removed) || program.variable(name).removed
}

/// Drops what can no longer be meant.
fn mend(program: &mut Program) {
    let old = program.clone();
    for process in &mut program.processes {
        process
            .transitions
            .retain(|transition| match &transition.sync {
                Some((channel, _)) if old.channels[*channel].removed => false,
                Some((_, Action::Receive(places))) => {
                    !places.iter().any(|place| is_removed(&old, place.name))
                }
                _ => true,
            });
        for transition in &mut process.transitions {
            transition
                .effects
                .retain(|(place, _)| !is_removed(&old, place.name));
        }
    }
    visit_program(program, &mut |part| mend_expr(part, &old));
}

/// Smaller programs, the smallest first. Expressions elsewhere have to be
/// [mended](mend_expr).
pub fn candidates(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Program)| {
        let mut smaller = program.clone();
        change(&mut smaller);
        mend(&mut smaller);
        if smaller != *program {
            all.push(smaller);
        }
    };
    let present = |process: &&(usize, &Process)| !process.1.removed;
    let processes: Vec<(usize, &Process)> = program.processes.iter().enumerate().collect();
    if program.present().count() > 1 {
        for (number, _) in processes.iter().filter(present) {
            with(&|program| program.processes[*number].removed = true);
        }
    }
    for number in 0..program.channels.len() {
        with(&|program| program.channels[number].removed = true);
    }
    for number in 0..program.globals.len() {
        with(&|program| program.globals[number].removed = true);
    }
    for (number, process) in processes.iter().filter(present) {
        for local in 0..process.locals.len() {
            with(&|program| program.processes[*number].locals[local].removed = true);
        }
        for transitions in without_some(&process.transitions) {
            with(&|program| program.processes[*number].transitions = transitions.clone());
        }
        for assertions in without_some(&process.assertions) {
            with(&|program| program.processes[*number].assertions = assertions.clone());
        }
        for (at, transition) in process.transitions.iter().enumerate() {
            for smaller in smaller_transitions(transition) {
                with(&|program| program.processes[*number].transitions[at] = smaller.clone());
            }
        }
        with(&|program| program.processes[*number].committed.fill(false));
        for location in 0..process.committed.len() {
            with(&|program| program.processes[*number].committed[location] = false);
        }
        with(&|program| program.processes[*number].initial = 0);
        for local in 0..process.locals.len() {
            for smaller in smaller_variables(&process.locals[local]) {
                with(&|program| program.processes[*number].locals[local] = smaller.clone());
            }
        }
    }
    for number in 0..program.globals.len() {
        for smaller in smaller_variables(&program.globals[number]) {
            with(&|program| program.globals[number] = smaller.clone());
        }
    }
    for (number, channel) in program.channels.iter().enumerate() {
        if channel.capacity > 1 {
            let smaller = Channel {
                capacity: channel.capacity - 1,
                ..channel.clone()
            };
            with(&|program| program.channels[number] = smaller.clone());
        }
    }
    all.extend(with_simpler_expressions(program, visit_program));
    all
}

fn smaller_transitions(transition: &Transition) -> Vec<Transition> {
    let mut all = Vec::new();
    if transition.guard.is_some() {
        all.push(Transition {
            guard: None,
            ..transition.clone()
        });
    }
    if transition.sync.is_some() {
        all.push(Transition {
            sync: None,
            ..transition.clone()
        });
    }
    for effects in without_some(&transition.effects) {
        all.push(Transition {
            effects,
            ..transition.clone()
        });
    }
    // A location less.
    if transition.target != transition.source {
        all.push(Transition {
            target: transition.source,
            ..transition.clone()
        });
    }
    all
}

fn smaller_variables(variable: &Variable) -> Vec<Variable> {
    let mut all = Vec::new();
    if variable.initial.iter().any(|value| *value != 0) {
        all.push(Variable {
            initial: vec![0; variable.initial.len()],
            ..variable.clone()
        });
    }
    if variable.initial.len() > 1 {
        all.push(Variable {
            initial: variable.initial[..variable.initial.len() - 1].to_vec(),
            ..variable.clone()
        });
    }
    all
}
