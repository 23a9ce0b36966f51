//! `xr` and `xs`: processes that claim to be the only receiver, or sender, of a channel.
//!
//! Nothing here relies on such claims, but a wrong one is an error of the model: a step by which
//! another process uses the channel violates it, as in SPIN when it reduces.

use std::collections::HashMap;

use stubborn_diagnostics::Diagnostic;
use stubborn_ir::{self as ir, Statement};
use stubborn_system::FailureKind;

use super::channels::Target;
use super::steps::Body;
use super::{Context, Lowering, guards};
use crate::ast::Probe;
use crate::flow::{Action, DNode, Transition};
use crate::hir::{Argument, Basic, Expr, Place};

/// Slots that claim a channel, for receiving (true) or for sending, each with whether that is
/// sure.
pub(super) type Claims = HashMap<(bool, usize), Vec<(usize, bool)>>;

impl Lowering<'_> {
    /// Collects who claims which channel.
    pub(super) fn find_exclusive(&mut self) {
        let mut claims = Claims::new();
        for slot in 0..self.slots.len() {
            for instance in 0..self.slots[slot].instances.len() {
                let context = Context::of(slot, instance);
                let kind = self.type_of(slot, instance);
                for (receive, place) in &kind.exclusive {
                    let target = self.target(place, context);
                    for (channel, _) in self.cases(&target) {
                        let owners = claims.entry((*receive, channel)).or_default();
                        let shared = owners.iter().any(|(o, sure)| *sure && *o != slot);
                        // A reference that may denote several channels says nothing for sure.
                        let sure = matches!(target, Target::Fixed(_));
                        if shared && sure {
                            self.shared_claim(*receive, place);
                        }
                        owners.push((slot, sure));
                    }
                }
            }
        }
        self.exclusive = claims;
    }

    fn shared_claim(&mut self, receive: bool, place: &Place) {
        let word = if receive { "xr" } else { "xs" };
        let message = format!("more than one process claims this channel by `{word}`");
        let warning = Diagnostic::warning("PML100", message, place.span);
        let is_known = |d: &Diagnostic| d.code == warning.code && d.span == warning.span;
        if !self.diagnostics.iter().any(is_known) {
            self.diagnostics.push(warning);
        }
    }

    /// Reports it where a step uses a channel that others have claimed.
    pub(super) fn respect_claims(&mut self, step: &Transition, context: Context, body: &mut Body) {
        let Some((slot, _)) = context.at.filter(|_| !self.exclusive.is_empty()) else {
            return;
        };
        let mut uses: Vec<(bool, &Place)> = Vec::new();
        match &*step.action {
            Action::Basic(basic) => uses_of(basic, &mut uses),
            Action::DStep(graph) => {
                for node in &graph.nodes {
                    if let DNode::Step(basic, ..) = node {
                        uses_of(basic, &mut uses);
                    }
                }
            }
            Action::Blocked | Action::Jump => {}
        }
        for (receive, place) in uses {
            let target = self.target(place, context);
            for (channel, denotes) in self.cases(&target) {
                let owners = self.exclusive.get(&(receive, channel));
                if owners.is_none_or(|o| o.iter().any(|(owner, _)| *owner == slot)) {
                    continue;
                }
                let word = if receive { "xr" } else { "xs" };
                let message = format!(
                    "`{}` uses a channel that another process claims by `{word}`",
                    self.text(step.span)
                );
                let site = self
                    .program
                    .site(FailureKind::Assertion, message, Some(step.span));
                body.statements.push(Statement::Assert {
                    condition: match denotes {
                        ir::Expr::Const(_) => ir::Expr::Const(0),
                        denotes => guards::not(denotes),
                    },
                    site,
                });
            }
        }
    }
}

/// The channels that a statement uses, for receiving (true) or for sending.
fn uses_of<'b>(basic: &'b Basic, out: &mut Vec<(bool, &'b Place)>) {
    match basic {
        Basic::Condition(e) | Basic::Assert(e) | Basic::PrintMtype(e) => probes(e, out),
        Basic::Assign(place, value) => {
            place.indices.iter().for_each(|i| probes(i, out));
            probes(value, out);
        }
        Basic::Print(_, arguments) => arguments.iter().for_each(|a| probes(a, out)),
        Basic::SetPriority(pid, value) => {
            pid.iter().for_each(|e| probes(e, out));
            probes(value, out);
        }
        Basic::Send {
            channel, values, ..
        } => {
            out.push((false, channel));
            values.iter().for_each(|v| probes(v, out));
        }
        Basic::Receive {
            channel, arguments, ..
        } => {
            out.push((true, channel));
            for argument in arguments {
                if let Argument::Match(value) = argument {
                    probes(value, out);
                }
            }
        }
        Basic::Else | Basic::AssignAll(..) | Basic::Nothing | Basic::End => {}
    }
}

fn probes<'b>(expr: &'b Expr, out: &mut Vec<(bool, &'b Place)>) {
    match expr {
        Expr::Len(place) => out.extend([(true, &**place), (false, &**place)]),
        Expr::Probe(Probe::NotEmpty | Probe::Full, place) => out.push((true, place)),
        Expr::Probe(Probe::NotFull | Probe::Empty, place) => out.push((false, place)),
        Expr::Poll { channel, .. } => out.push((true, channel)),
        _ => {}
    }
    for part in super::liveness::parts(expr) {
        probes(part, out);
    }
}
