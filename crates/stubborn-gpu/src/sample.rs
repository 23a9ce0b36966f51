//! A few states, to learn from: which values occur, and which go together.
//!
//! What is learnt is a guess. A value that turns out not to fit ends the run on the card, and the
//! next one has more bits. That costs a compilation, so values are looked for: walks at random begin
//! where a value was seen that is larger or smaller than any before.

use std::collections::HashSet;

use stubborn_ir::Model;
use stubborn_system::budget::Patience;
use stubborn_system::{Random, Successors, System};

/// States that are explored from the start.
const NEAR: usize = 10_000;
/// Walks from the initial state, to see what is far away.
const WALKS: usize = 24;
/// Steps of each.
const STEPS: usize = 400;
/// Steps of a walk that begins at a state with a new value.
const SHORT: usize = 60;
/// So many steps that show no new value are enough.
const ENOUGH: usize = 12_000;
/// Steps of all walks.
const MOST: usize = 100_000;
/// The latest states with new values, at which walks begin.
const LATEST: usize = 16;

/// States of a model, one after the other; without the error state.
pub(crate) fn states(model: &Model) -> Vec<u32> {
    let words = model.layout().words();
    let initial = model.initial_states();
    let mut seen: HashSet<Box<[u32]>> = HashSet::from([initial.clone().into()]);
    let mut states = initial.clone();
    let mut executor = model.executor();
    let mut out = Successors::new(words);
    let mut patience = Patience::new(model.budget(), 64);
    let mut at = 0;
    while at < states.len() && states.len() < NEAR * words && patience.spent().is_none() {
        let state = states[at..at + words].to_vec();
        at += words;
        out.clear();
        executor.successors(&state, &mut out);
        for next in out.iter().filter(|next| !model.is_error(next.state)) {
            if seen.insert(next.state.into()) {
                states.extend_from_slice(next.state);
            }
        }
    }
    // All of them were seen: no need to walk.
    if at >= states.len() {
        return states;
    }
    let mut ranges = Ranges::of(model, &initial);
    let mut newest = vec![initial.clone()];
    for state in states.chunks_exact(words) {
        if ranges.widen(model, state) {
            newest.push(state.to_vec());
        }
    }
    let mut random = Random::new(1);
    let (mut made, mut in_vain) = (0, 0);
    for walk in 0.. {
        if walk >= WALKS && (in_vain >= ENOUGH || made >= MOST) {
            break;
        }
        let (from, steps) = match walk < WALKS {
            true => (0, STEPS),
            // One in four begins anywhere.
            false if walk % 4 == 0 => (random.below(newest.len()), SHORT),
            false => (
                newest.len() - 1 - random.below(newest.len().min(LATEST)),
                SHORT,
            ),
        };
        let mut state = newest[from].clone();
        (made, in_vain) = (made + 1, in_vain + 1);
        for _ in 0..steps {
            out.clear();
            executor.successors(&state, &mut out);
            if out.is_empty() || patience.spent().is_some() {
                break;
            }
            (made, in_vain) = (made + 1, in_vain + 1);
            let mut next = random.below(out.len());
            for (at, successor) in out.iter().enumerate() {
                if !model.is_error(successor.state) && ranges.widen(model, successor.state) {
                    (next, in_vain) = (at, 0);
                    newest.push(successor.state.to_vec());
                    states.extend_from_slice(successor.state);
                }
            }
            let next = out.get(next);
            if model.is_error(next.state) {
                break;
            }
            state.copy_from_slice(next.state);
            if walk < WALKS {
                states.extend_from_slice(&state);
            }
        }
        if patience.spent().is_some() {
            break;
        }
    }
    states
}

/// The least and the largest value of each field.
struct Ranges(Vec<(i64, i64)>);

impl Ranges {
    fn of(model: &Model, state: &[u32]) -> Self {
        let fields = model.layout().fields().iter();
        Self(
            fields
                .map(|field| (field.get(state), field.get(state)))
                .collect(),
        )
    }

    /// Whether a state has a value that is new.
    fn widen(&mut self, model: &Model, state: &[u32]) -> bool {
        let mut is_new = false;
        for (field, (least, most)) in model.layout().fields().iter().zip(&mut self.0) {
            let value = field.get(state);
            is_new |= value < *least || *most < value;
            (*least, *most) = ((*least).min(value), (*most).max(value));
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use stubborn_ir::{Command, Expr, Program, Statement, Variable};

    use super::*;

    /// A counter that is reset as often as it counts gets nowhere by walks at random.
    #[test]
    fn walks_go_on_where_values_are_new() {
        let mut program = Program::new("counter");
        let x = program.variable(Variable::integer("x", 0, 255, 0));
        let noise = program.variable(Variable::integer("noise", 0, 999, 0));
        let site = program.out_of_range_site("x", None);
        let below = program.label(Expr::less(Expr::Var(x), Expr::Const(200)));
        let next = |of| Expr::plus(Expr::Var(of), Expr::Const(1));
        for (guards, target, value) in [
            (vec![below], x, next(x)),
            (vec![], x, Expr::Const(0)),
            (vec![], noise, Expr::Const(500)),
        ] {
            program.command(Command {
                guards,
                body: vec![Statement::assign(target, value, site)],
                ..Command::default()
            });
        }
        let below = program.label(Expr::less(Expr::Var(noise), Expr::Const(999)));
        program.command(Command {
            guards: vec![below],
            body: vec![Statement::assign(noise, next(noise), site)],
            ..Command::default()
        });
        let model = Model::new(program).expect("a small program");
        let states = states(&model);
        let words = model.layout().words();
        let field = model.encoding().first_field(x);
        let most = states
            .chunks_exact(words)
            .map(|state| model.layout().get(state, field))
            .max();
        assert_eq!(most, Some(200));
    }
}
