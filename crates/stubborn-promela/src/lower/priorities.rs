//! Priorities of processes: only those of the highest priority that can move may move.
//!
//! As soon as a model speaks of priorities, every process has one (1 unless said otherwise), kept
//! in the state because it can be changed. A step needs that nobody of a higher priority could
//! move; inside an atomic sequence too, so that more important processes interrupt it.

use stubborn_ir::{self as ir, Item, Statement};

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
            let own = self.source.processes[run.process.0].priority;
            let value = ir::Expr::Const(run.priority.unwrap_or(own));
            let site = self.never;
            body.statements
                .push(Statement::assign(variable, value, site));
        }
    }

    /// Nobody of a higher priority than the process in a slot could move.
    pub(super) fn nobody_before(&mut self, slot: usize) -> Vec<ir::Expr> {
        let Some(own) = self.slots[slot].priority else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for other in (0..self.slots.len()).filter(|s| *s != slot) {
            if let Some(theirs) = self.slots[other].priority {
                let higher = ir::Expr::less(ir::Expr::Var(own), ir::Expr::Var(theirs));
                let can = self.can_move(other, true);
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

    /// `set_priority(pid, value)`
    pub(super) fn set_priority(
        &mut self,
        pid: &Expr,
        value: &Expr,
        context: Context,
        body: &mut Body,
    ) {
        let pid = self.expr(pid, context);
        let value = self.expr(value, context);
        let site = self.never;
        for slot in 0..self.slots.len() {
            let Some(variable) = self.slots[slot].priority else {
                continue;
            };
            let this = guards::and(guards::is(pid.clone(), slot as i32), self.alive(slot));
            if this != ir::Expr::Const(0) {
                body.statements.push(Statement::If {
                    condition: this,
                    then: vec![Statement::assign(variable, value.clone(), site)],
                    otherwise: Vec::new(),
                });
            }
        }
    }
}
