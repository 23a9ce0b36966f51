//! Never claims: automata whose edges are labels of the model.

use stubborn_ir as ir;
use stubborn_system::LabelId;

use super::{Context, Lowering, guards};
use crate::ast::ProcessKind;
use crate::flow::{Action, Flow, StateNr, Transition};
use crate::hir::{Basic, ProcId};

/// A never claim. It moves first in every state of the system, along an edge whose guard holds
/// there; a run that visits accepting states forever, or reaches the end, is an error.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Where its text is.
    pub process: ProcId,
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
    /// The closing brace, or an assertion of the claim that failed: reaching it is an error.
    pub end: bool,
    /// Ways to go on.
    pub edges: Vec<ClaimEdge>,
}

/// A step of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimEdge {
    /// Must hold in the state of the system.
    pub guard: LabelId,
    /// Where it leads.
    pub target: usize,
    /// The statements that are executed, by their numbers within the claim.
    pub statements: Vec<usize>,
}

/// A step of a claim: its condition, where it leads, and its statements.
type ClaimStep = (ir::Expr, Goal, Vec<usize>);

/// Where a step of a claim leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    State(StateNr),
    /// To an assertion of the claim that does not hold.
    Failed,
}

/// So many steps of a claim can be taken without interruption.
const LONGEST_ATOMIC: usize = 8;

impl Lowering<'_> {
    /// All never claims of the model.
    pub(super) fn claims(&mut self) -> Vec<Claim> {
        let source = self.source;
        let processes = source.processes.iter().enumerate();
        let claims = processes.filter(|(_, p)| p.kind == ProcessKind::Never);
        claims
            .map(|(number, process)| {
                let flow = &process.flow;
                let reachable = flow.reachable();
                let place = |state: usize| reachable.binary_search(&state).unwrap_or(0);
                let failed = reachable.len();
                let mut states = Vec::new();
                let mut fails = false;
                for state in &reachable {
                    let found = &flow.states[*state];
                    let mut claim = ClaimState {
                        accepting: found.accept,
                        end: *state == flow.end,
                        edges: Vec::new(),
                    };
                    for (holds, goal, statements) in self.claim_steps(flow, *state, LONGEST_ATOMIC)
                    {
                        fails |= goal == Goal::Failed;
                        let target = match goal {
                            Goal::State(state) => place(state),
                            Goal::Failed => failed,
                        };
                        let guard = self.program.label(holds);
                        claim.edges.push(ClaimEdge {
                            guard,
                            target,
                            statements,
                        });
                    }
                    states.push(claim);
                }
                if fails {
                    states.push(ClaimState {
                        end: true,
                        ..ClaimState::default()
                    });
                }
                Claim {
                    name: process.name.to_string(),
                    process: ProcId(number),
                    start: place(flow.start),
                    states,
                }
            })
            .collect()
    }

    /// The steps of a claim from a state, with their conditions. Steps that belong together
    /// are taken at once; where the next one is not possible, the claim waits before it.
    fn claim_steps(&mut self, flow: &Flow, state: StateNr, longest: usize) -> Vec<ClaimStep> {
        let transitions = &flow.states[state].transitions;
        let mut steps = Vec::new();
        for (at, transition) in transitions.iter().enumerate() {
            let Some(mut holds) = self.claim_guard(transition, &transitions[..at]) else {
                continue;
            };
            if let Action::Basic(Basic::Assert(expr)) = &*transition.action {
                let asserted = guards::truth(self.expr(expr, Context::NOWHERE));
                let broken = guards::and(holds.clone(), guards::not(asserted.clone()));
                steps.push((broken, Goal::Failed, vec![transition.number]));
                holds = guards::and(holds, asserted);
            }
            if !transition.atomic || transition.target == flow.end {
                let statements = vec![transition.number];
                steps.push((holds, Goal::State(transition.target), statements));
                continue;
            }
            if longest == 0 {
                let message = "so many steps of a never claim cannot be taken at once";
                self.error("PML098", message, transition.span);
                continue;
            }
            let mut waits = holds.clone();
            for (next, goal, mut statements) in
                self.claim_steps(flow, transition.target, longest - 1)
            {
                waits = guards::and(waits, guards::not(next.clone()));
                statements.insert(0, transition.number);
                steps.push((guards::and(holds.clone(), next), goal, statements));
            }
            let statements = vec![transition.number];
            steps.push((waits, Goal::State(transition.target), statements));
        }
        steps
    }

    /// When a claim can take a step; None if never. What never holds stays: it may be about a process
    /// that no search has seen start, and whoever left the step out would not look for the start.
    fn claim_guard(&mut self, transition: &Transition, earlier: &[Transition]) -> Option<ir::Expr> {
        let holds = match &*transition.action {
            Action::Basic(Basic::End) | Action::Blocked => return None,
            Action::Basic(Basic::Condition(expr)) => {
                guards::truth(self.expr(expr, Context::NOWHERE))
            }
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
        Some(holds)
    }
}
