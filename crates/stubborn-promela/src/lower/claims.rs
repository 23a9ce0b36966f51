//! Never claims: automata whose edges are labels of the model.

use stubborn_ir as ir;
use stubborn_system::LabelId;

use super::{Context, Lowering, guards};
use crate::ast::ProcessKind;
use crate::flow::{Action, Transition};
use crate::hir::Basic;

/// A never claim. It moves first in every state of the system, along an edge whose guard holds
/// there; a run that visits accepting states forever, or reaches the end, is an error.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Where it starts: an index into [`states`](Self::states).
    pub start: usize,
    /// Its states.
    pub states: Vec<ClaimState>,
}

/// A state of a claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimState {
    /// Has an `accept` label.
    pub accepting: bool,
    /// The closing brace: reaching it is an error.
    pub end: bool,
    /// Ways to go on.
    pub edges: Vec<ClaimEdge>,
}

/// A step of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimEdge {
    /// Must hold in the state of the system.
    pub guard: LabelId,
    /// Where it leads.
    pub target: usize,
}

impl Lowering<'_> {
    /// All never claims of the model.
    pub(super) fn claims(&mut self) -> Vec<Claim> {
        let source = self.source;
        let claims = source
            .processes
            .iter()
            .filter(|p| p.kind == ProcessKind::Never);
        claims
            .map(|process| {
                let flow = &process.flow;
                let reachable = flow.reachable();
                let place = |state: usize| reachable.binary_search(&state).unwrap_or(0);
                let mut states = Vec::new();
                for state in &reachable {
                    let found = &flow.states[*state];
                    let mut claim = ClaimState {
                        accepting: found.accept,
                        end: *state == flow.end,
                        edges: Vec::new(),
                    };
                    for (at, transition) in found.transitions.iter().enumerate() {
                        if let Some(holds) = self.claim_guard(transition, &found.transitions[..at])
                        {
                            let guard = self.program.label(holds);
                            let target = place(transition.target);
                            claim.edges.push(ClaimEdge { guard, target });
                        }
                    }
                    states.push(claim);
                }
                Claim {
                    name: process.name.to_string(),
                    start: place(flow.start),
                    states,
                }
            })
            .collect()
    }

    /// When a claim can take a step; None if never.
    fn claim_guard(&mut self, transition: &Transition, earlier: &[Transition]) -> Option<ir::Expr> {
        let nowhere = Context {
            at: None,
            timeout: false,
        };
        let holds = match &*transition.action {
            Action::Basic(Basic::End) | Action::Blocked => return None,
            Action::Basic(Basic::Condition(expr)) => guards::truth(self.expr(expr, nowhere)),
            Action::Basic(Basic::Else) => {
                let mut none = ir::Expr::Const(1);
                for other in earlier {
                    if let Some(holds) = self.claim_guard(other, &[]) {
                        none = guards::and(none, guards::not(holds));
                    }
                }
                none
            }
            Action::Basic(
                Basic::Nothing | Basic::Print(..) | Basic::PrintMtype(..) | Basic::Assert(_),
            )
            | Action::Jump => ir::Expr::Const(1),
            _ => {
                let message = "a never claim may only look at the model, not change it";
                self.error("PML098", message, transition.span);
                return None;
            }
        };
        (holds != ir::Expr::Const(0)).then_some(holds)
    }
}
