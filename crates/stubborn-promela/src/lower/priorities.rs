//! Priorities of processes: only those of the highest priority that can move may move.
//!
//! As soon as a model speaks of priorities, every process has one, kept in the state because it
//! can be changed: that of its type for those that exist at the start, and what `run` says, or 1,
//! for others. A step needs that nobody of a higher priority could move; inside an atomic
//! sequence too, so that more important processes interrupt it. Who waits for its `provided`
//! clause cannot move, and holds back nobody; a `timeout` does not move before all others wait.

use stubborn_diagnostics::Span;
use stubborn_ir::{self as ir, BinaryOp, Item, Statement};
use stubborn_system::FailureKind;

use super::enabled::Moves;
use super::steps::Body;
use super::{Context, Lowering, guards};
use crate::hir::{Expr, ProcId, Run};

impl Lowering<'_> {
    /// Declares the priority of the process in a slot, if there are priorities.
    pub(super) fn declare_priority(
        &mut self,
        name: &str,
        present: Option<ProcId>,
        owner: stubborn_system::ProcessId,
    ) -> Option<ir::VarId> {
        self.source.uses_priority.then(|| {
            let initial = present.map_or(0, |p| self.source.processes[p.0].priority);
            self.program.variable(ir::Variable {
                item: Item::wrapping(0, 255),
                owner: Some(owner),
                ..ir::Variable::integer(format!("{name}._priority"), 0, 255, initial)
            })
        })
    }

    /// The priority that a new process starts with.
    pub(super) fn start_priority(&mut self, run: &Run, slot: usize, body: &mut Body) {
        if let Some(variable) = self.slots[slot].priority {
            let value = ir::Expr::Const(run.priority.unwrap_or(1));
            let site = self.never;
            body.statements
                .push(Statement::assign(variable, value, site));
        }
    }

    /// Nobody of a higher priority than the process in a slot could move.
    pub(super) fn nobody_before(&mut self, slot: usize, timeout: bool) -> Vec<ir::Expr> {
        let Some(own) = self.slots[slot].priority else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for other in (0..self.slots.len()).filter(|s| *s != slot) {
            if let Some(theirs) = self.slots[other].priority {
                let higher = ir::Expr::less(ir::Expr::Var(own), ir::Expr::Var(theirs));
                let can = self.can_move(
                    other,
                    Moves {
                        timeout,
                        provided: true,
                    },
                );
                all.push(guards::not(guards::and(higher, can)));
            }
        }
        all
    }

    /// `get_priority(pid)`, or `_priority` of the process at hand.
    pub(super) fn priority_of(&mut self, pid: Option<&Expr>, context: Context) -> ir::Expr {
        let own = context.at.and_then(|(slot, _)| self.slots[slot].priority);
        let Some(pid) = pid else {
            return own.map_or(ir::Expr::Const(1), ir::Expr::Var);
        };
        let pid = self.expr(pid, context);
        let mut value = ir::Expr::Const(0);
        for slot in (0..self.slots.len()).rev() {
            if let Some(variable) = self.slots[slot].priority {
                let this = guards::is(pid.clone(), slot as i32);
                value = guards::choose(this, ir::Expr::Var(variable), value);
            }
        }
        value
    }

    /// `_priority = value`, which is cut to eight bits without a word.
    pub(super) fn set_own_priority(&mut self, value: &Expr, context: Context, body: &mut Body) {
        let own = context.at.and_then(|(slot, _)| self.slots[slot].priority);
        if let Some(own) = own {
            let value = self.expr(value, context);
            let site = self.never;
            body.statements.push(Statement::assign(own, value, site));
        }
    }

    /// `set_priority(pid, value)`
    pub(super) fn set_priority(
        &mut self,
        pid: &Expr,
        value: &Expr,
        context: Context,
        span: Span,
        body: &mut Body,
    ) {
        let pid = self.expr(pid, context);
        let value = self.expr(value, context);
        let site = self.never;
        let message = format!(
            "`{}`: a priority is a number from 1 to 255",
            self.text(span)
        );
        let outside = self.program.site(FailureKind::Other, message, Some(span));
        let range = self.program.interval(&value);
        for slot in 0..self.slots.len() {
            let Some(variable) = self.slots[slot].priority else {
                continue;
            };
            let this = guards::and(guards::is(pid.clone(), slot as i32), self.alive(slot));
            if this != ir::Expr::Const(0) {
                let mut then = Vec::new();
                if !range.within(1, 255) {
                    let low = guards::binary(BinaryOp::Less, value.clone(), ir::Expr::Const(1));
                    let high =
                        guards::binary(BinaryOp::Greater, value.clone(), ir::Expr::Const(255));
                    then.push(Statement::If {
                        condition: guards::or(low, high),
                        then: vec![Statement::Fail(outside)],
                        otherwise: Vec::new(),
                    });
                }
                then.push(Statement::assign(variable, value.clone(), site));
                body.statements.push(Statement::If {
                    condition: this,
                    then,
                    otherwise: Vec::new(),
                });
            }
        }
    }
}
