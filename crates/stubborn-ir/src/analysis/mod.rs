//! Static analysis: the relations between labels and commands, from weak to strong.
//!
//! | level | knows |
//! | --- | --- |
//! | `sets` | which fields are tested, read and written ([`Relations::from_sets`]) |
//! | `syntax` | constants, comparisons, increments, program counters, channel ends (`syntax`) |
//! | `exact` | and what really happens for all values of small joint supports (`pairs`) |
//! | `reach` | and only values that an over-approximation of the reachable states has (`domains`) |
//!
//! Every answer errs on the safe side, and tests try to falsify each one with real code.

mod domains;
mod enumerate;
mod pairs;
mod support;
mod syntax;
mod values;

use stubborn_system::{LabelId, Matrix, May, Must, RelationLevel, Relations, System, TransitionId};

use crate::Model;
use domains::Domains;
use pairs::{Decision, LEFT_BUDGET, Pairs, RELATION_BUDGET, ROW_BUDGET, Row};
use support::Support;
use syntax::Syntax;

/// The relations of a model at a level.
pub fn relations(model: &Model, level: RelationLevel) -> Relations {
    if level == RelationLevel::Sets {
        return Relations::from_sets(model.structure());
    }
    let supports = Support::all(model);
    let domains = match level {
        RelationLevel::Sets | RelationLevel::Syntax => None,
        RelationLevel::Exact => Some(Domains::declared(model)),
        RelationLevel::Reach => Some(Domains::reachable(model, &supports)),
    };
    let syntax = Syntax::new(model, &supports);
    let pairs = Pairs::new(model, &supports, &syntax, domains.as_ref());
    let structure = model.structure();
    let (labels, transitions) = (structure.labels.len(), structure.transitions.len());
    let label_row = |decide: &mut Row<'_, '_>, g: LabelId, to: bool| {
        let turns = |t: &TransitionId| decide.may_turn(g, *t, to);
        structure
            .transition_ids()
            .filter(turns)
            .map(|t| t.index() as u32)
            .collect::<Vec<_>>()
    };
    let may_enable = rows(&pairs, labels, RELATION_BUDGET, |row, g| {
        label_row(row, LabelId::new(g), true)
    });
    let may_disable = rows(&pairs, labels, RELATION_BUDGET, |row, g| {
        label_row(row, LabelId::new(g), false)
    });
    let never_together = rows(&pairs, labels, RELATION_BUDGET, |decide, g| {
        let g = LabelId::new(g);
        let never = |h: &LabelId| decide.never_together(g, *h);
        structure
            .label_ids()
            .filter(never)
            .map(|h| h.index() as u32)
            .collect()
    });
    let may_enable = Matrix::from_rows(transitions, may_enable);
    let never_together = symmetric(labels, never_together);
    // What is known of guards decides many pairs of transitions.
    let guards = |t: TransitionId| structure.transition(t).guards.iter();
    let never_co_enabled = |t: TransitionId, u: TransitionId| {
        guards(t).any(|g| guards(u).any(|h| never_together.contains(*g, *h)))
    };
    let decided = rows(&pairs, transitions, RELATION_BUDGET, |decide, t| {
        let t = TransitionId::new(t);
        // Decided once for each unordered pair, so that the relation is symmetric.
        let mut row = (Vec::new(), Vec::new());
        for u in structure.transition_ids().skip(t.index() + 1) {
            let decision = match never_co_enabled(t, u) {
                true => Decision::No,
                false => decide.may_not_accord(t, u),
            };
            if decision != Decision::No {
                row.0.push(u.index() as u32);
            }
            if decision == Decision::TooMuch {
                row.1.push(u.index() as u32);
            }
        }
        row
    });
    let (do_not_accord, too_much): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
    let too_much: Matrix<TransitionId, TransitionId> = symmetric(transitions, too_much);
    let do_not_accord = symmetric(transitions, do_not_accord);
    let do_not_left_accord = rows(&pairs, transitions, LEFT_BUDGET, |decide, t| {
        let t = TransitionId::new(t);
        // Where both are enabled, they accord or not; else `u` must enable `t`: by one of its
        // guards, or by sparing it a failure.
        let may_fail = structure.transition(t).may_fail;
        let may_matter = |u: TransitionId| {
            may_fail
                || pairs.is_special(t)
                || pairs.is_special(u)
                || do_not_accord.contains(t, u)
                || guards(t).any(|g| may_enable.contains(*g, u))
        };
        // What was too much there would be too much here.
        let conflicts = |u: &TransitionId| {
            may_matter(*u) && decide.may_not_left_accord(t, *u, too_much.contains(t, *u))
        };
        structure
            .transition_ids()
            .filter(conflicts)
            .map(|u| u.index() as u32)
            .collect()
    });
    let must_disable = parallel(transitions, |t| {
        let t = TransitionId::new(t);
        let never = |u: &TransitionId| pairs.never_after(*u, t);
        structure
            .transition_ids()
            .filter(never)
            .map(|u| u.index() as u32)
            .collect()
    });
    Relations {
        may_enable: May(may_enable),
        may_disable: May(Matrix::from_rows(transitions, may_disable)),
        never_together: Must(never_together),
        do_not_accord: May(do_not_accord),
        do_not_left_accord: May(Matrix::from_rows(transitions, do_not_left_accord)),
        must_disable: Must(Matrix::from_rows(transitions, must_disable)),
    }
}

fn symmetric<I: stubborn_system::matrix::Index>(
    size: usize,
    mut rows: Vec<Vec<u32>>,
) -> Matrix<I, I> {
    for row in 0..size {
        for column in rows[row].clone() {
            rows[column as usize].push(row as u32);
        }
    }
    Matrix::from_rows(size, rows)
}

/// Computes the rows of a relation within its budget. Each row has a share of its own, so that
/// the result does not depend on which core computes it: first the same for all, then, for
/// those that had too little, what the others left.
fn rows<R: Send>(
    pairs: &Pairs<'_>,
    count: usize,
    budget: u64,
    row: impl Fn(&mut Row<'_, '_>, usize) -> R + Sync,
) -> Vec<R> {
    let compute = |at: usize, budget: u64| {
        let mut decide = pairs.row(budget);
        let result = row(&mut decide, at);
        (result, decide.spent(), decide.had_too_little())
    };
    let share = (budget / 2 / count.max(1) as u64).max(ROW_BUDGET);
    let mut all = parallel(count, |at| compute(at, share));
    let spent: u64 = all.iter().map(|(_, spent, _)| *spent).sum();
    let hungry: Vec<usize> = (0..count).filter(|at| all[*at].2).collect();
    let left = budget.saturating_sub(spent);
    let more = left.checked_div(hungry.len() as u64).unwrap_or(0);
    if more > share {
        let again = parallel(hungry.len(), |i| compute(hungry[i], more));
        for (at, result) in hungry.into_iter().zip(again) {
            all[at] = result;
        }
    }
    all.into_iter().map(|(result, ..)| result).collect()
}

/// Computes rows on all cores.
fn parallel<R: Send>(rows: usize, row: impl Fn(usize) -> R + Sync) -> Vec<R> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(rows / 8 + 1);
    if threads == 1 {
        return (0..rows).map(row).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= rows {
                return done;
            }
            done.push((at, row(at)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let join = |h: std::thread::ScopedJoinHandle<'_, Vec<(usize, R)>>| match h.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().flat_map(join).collect()
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, r)| r).collect()
}
