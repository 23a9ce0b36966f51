//! Starting and ending processes.

use stubborn_ir::{self as ir, Statement};
use stubborn_system::FailureKind;

use super::steps::{Body, Step};
use super::storage::Store;
use super::{Context, Lowering, Missing, Start};
use crate::flow::Action;
use crate::hir::{Basic, Expr, LeafInitial, Run};

/// All `run`s of an expression, in the order of evaluation.
pub(super) fn collect<'e>(expr: &'e Expr, out: &mut Vec<&'e Run>) {
    match expr {
        Expr::Run(run) => out.push(run),
        Expr::Unary(_, inner) => collect(inner, out),
        Expr::Binary(_, left, right, _) => {
            collect(left, out);
            collect(right, out);
        }
        Expr::Conditional(a, b, c) => {
            collect(a, out);
            collect(b, out);
            collect(c, out);
        }
        _ => {}
    }
}

/// All `run`s of a step.
pub(crate) fn runs_of(action: &Action) -> Vec<&Run> {
    let mut runs = Vec::new();
    if let Action::Basic(Basic::Condition(expr) | Basic::Assign(_, expr)) = action {
        collect(expr, &mut runs);
    }
    runs
}

/// The expression with each `run` replaced by the number of the new process.
fn replaced(expr: &Expr, next: &mut i32) -> Expr {
    match expr {
        Expr::Run(_) => {
            *next += 1;
            Expr::Const(*next - 1)
        }
        Expr::Unary(op, inner) => Expr::Unary(*op, Box::new(replaced(inner, next))),
        Expr::Binary(op, left, right, span) => {
            let left = replaced(left, next);
            let right = replaced(right, next);
            Expr::Binary(*op, Box::new(left), Box::new(right), *span)
        }
        other => other.clone(),
    }
}

impl Lowering<'_> {
    /// Commands for a statement that starts processes: one for each number the first can get.
    pub(super) fn run_steps(&mut self, step: &Step<'_>, basic: &Basic, common: &[ir::Expr]) {
        let (Basic::Condition(expr) | Basic::Assign(_, expr)) = basic else {
            return;
        };
        let mut runs = Vec::new();
        collect(expr, &mut runs);
        for run in &runs {
            self.check_arguments(run);
        }
        for first in step.slot + 1..=self.slots.len() {
            let mut guards = common.to_vec();
            if first - 1 != step.slot {
                guards.push(self.alive(first - 1));
            }
            guards.push(self.gone(first));
            let mut body = Body::default();
            let mut missing = None;
            for (at, run) in runs.iter().enumerate() {
                let start = Start {
                    process: run.process,
                    by: Some((step.slot, run.span.start)),
                };
                let slot = first + at;
                let known = self
                    .table
                    .slots
                    .get(slot)
                    .is_some_and(|s| s.contains(&start));
                if !known {
                    missing = Some(Missing { slot, start });
                    break;
                }
                self.start(run, slot, step.context, &mut body);
            }
            if let Some(missing) = missing {
                let site = self.growth_site(missing, runs[0].span);
                let body = Body {
                    statements: vec![Statement::Fail(site)],
                    temps: 0,
                };
                self.own_command(step, guards, body);
                continue;
            }
            if let Basic::Assign(place, _) = basic {
                let mut next = first as i32;
                let value = replaced(expr, &mut next);
                let value = self.expr(&value, step.context);
                if let Some(target) = self.assignable(place, step.context) {
                    let site = self.never;
                    body.statements.push(Statement::Assign {
                        target,
                        value,
                        site,
                    });
                }
            }
            self.own_command(step, guards, body);
        }
    }

    fn check_arguments(&mut self, run: &Run) {
        let kind = &self.source.processes[run.process.0];
        let parameters = &kind.locals[..kind.parameters];
        let wanted: usize = parameters.iter().map(|p| p.leaves.len()).sum();
        if wanted != run.arguments.len() {
            let message = format!(
                "{} takes {wanted} arguments, {} given",
                kind.name,
                run.arguments.len()
            );
            self.error("PML093", message, run.span);
        }
    }

    fn growth_site(&mut self, missing: Missing, span: stubborn_diagnostics::Span) -> ir::Site {
        if let Some(site) = self.growth_sites.get(&missing) {
            return *site;
        }
        let message = match missing.slot >= self.options.max_processes {
            true => format!("more than {} processes", self.options.max_processes),
            false => format!(
                "{} becomes process {}, which was not foreseen",
                self.source.processes[missing.start.process.0].name, missing.slot
            ),
        };
        let site = self.program.site(FailureKind::Other, message, Some(span));
        if missing.slot < self.options.max_processes {
            self.growth.insert(site.index(), missing);
        }
        self.growth_sites.insert(missing, site);
        site
    }

    /// Fills a free slot.
    fn start(&mut self, run: &Run, slot: usize, context: Context, body: &mut Body) {
        let found = self.slots[slot]
            .instances
            .iter()
            .position(|i| i.process == run.process);
        let Some(instance) = found else { return };
        let kind = &self.source.processes[run.process.0];
        let never = self.never;
        let mut argument = run.arguments.iter();
        for parameter in 0..kind.parameters {
            for leaf in 0..kind.locals[parameter].leaves.len() {
                let Some(value) = argument.next() else {
                    continue;
                };
                let store = self.slots[slot].instances[instance].locals[parameter][leaf].clone();
                if let Store::Variable(id) = store {
                    let value = self.expr(value, context);
                    body.statements.push(Statement::assign(id, value, never));
                }
            }
        }
        let there = Context::of(slot, instance).starting();
        for local in &kind.initialised {
            let variable = &kind.locals[*local];
            for (leaf, declared) in variable.leaves.iter().enumerate() {
                let store = self.slots[slot].instances[instance].locals[*local][leaf].clone();
                let Store::Variable(id) = store else { continue };
                let values: Vec<ir::Expr> = match &declared.initial {
                    LeafInitial::Zero => continue,
                    LeafInitial::Value(expr) => {
                        let value = self.expr(expr, there);
                        vec![value; declared.len().max(1)]
                    }
                    LeafInitial::List(list) => list.iter().map(|v| ir::Expr::Const(*v)).collect(),
                    LeafInitial::Channel(_) => {
                        let own = self.channels.own.get(&id).cloned().unwrap_or_default();
                        own.into_iter().map(ir::Expr::Const).collect()
                    }
                };
                self.assign_all(id, declared.dims.is_empty(), values, body);
            }
        }
        self.start_priority(run, slot, body);
        let start = self.location(slot, instance, kind.flow.start).unwrap_or(0);
        let counter = self.slots[slot].counter;
        body.statements.push(Statement::assign(
            counter,
            ir::Expr::Const(start as i32),
            never,
        ));
    }

    /// One value an element.
    pub(super) fn assign_all(
        &mut self,
        id: ir::VarId,
        scalar: bool,
        values: Vec<ir::Expr>,
        body: &mut Body,
    ) {
        let site = self.never;
        for (at, value) in values.into_iter().enumerate() {
            let target = match scalar {
                true => ir::Place::Var(id),
                false => ir::Place::Element(id, ir::Expr::Const(at as i32), site),
            };
            body.statements.push(Statement::Assign {
                target,
                value,
                site,
            });
        }
    }

    /// The end of a process: everything it had becomes zero.
    pub(super) fn end_step(&mut self, step: &Step<'_>, mut guards: Vec<ir::Expr>) {
        guards.push(self.gone(step.slot + 1));
        let mut body = Body::default();
        let never = self.never;
        let stores = self.slots[step.slot].instances[step.instance]
            .locals
            .clone();
        for store in stores.into_iter().flatten() {
            let Store::Variable(id) = store else { continue };
            match self.program.variables[id.index()].len {
                None => body
                    .statements
                    .push(Statement::assign(id, ir::Expr::Const(0), never)),
                Some(len) => {
                    let zeros = vec![ir::Expr::Const(0); len as usize];
                    self.assign_all(id, false, zeros, &mut body);
                }
            }
        }
        if let Some(priority) = self.slots[step.slot].priority {
            body.statements
                .push(Statement::assign(priority, ir::Expr::Const(0), never));
        }
        let process = self.slots[step.slot].instances[step.instance].process;
        let own: Vec<_> = self
            .channels
            .list
            .iter()
            .filter(|c| c.slot == Some((step.slot, process)) && c.capacity > 0)
            .map(|c| (c.id, c.fields.len()))
            .collect();
        for (id, fields) in own {
            let channel = ir::ChannelRef::Fixed(id);
            body.statements.push(Statement::While {
                condition: ir::Program::has_message(&channel),
                body: vec![Statement::Receive {
                    channel,
                    position: None,
                    targets: vec![None; fields],
                    remove: true,
                    site: never,
                }],
                site: never,
            });
        }
        self.own_command(step, guards, body);
    }
}
