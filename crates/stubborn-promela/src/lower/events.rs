//! `trace` and `notrace`: automata over the sends and receives of a run.
//!
//! An automaton follows the sends of the channels whose sends it mentions, and likewise the
//! receives; everything else is free. Where it stands is part of the state. In a `trace`, an
//! event without a match is an error; in a `notrace`, it ends the automaton, and reaching its
//! closing brace by matching is the error. More than one match ends the run.

use stubborn_diagnostics::Span;
use stubborn_ir::{self as ir, Statement};
use stubborn_system::FailureKind;

use super::channels::Target;
use super::steps::Body;
use super::{Context, Lowering, guards};
use crate::ast::ProcessKind;
use crate::flow::{Action, StateNr};
use crate::hir::{Argument, Basic, Expr};

/// A `trace` or `notrace`.
#[derive(Clone, Debug)]
pub(super) struct Observer {
    /// Holds the index of the state.
    variable: ir::VarId,
    /// It is a `notrace`.
    negated: bool,
    /// The index of the closing brace.
    end: usize,
    /// Where the run may end.
    stops: Vec<usize>,
    edges: Vec<Edge>,
}

/// An event that an observer can follow.
#[derive(Clone, Debug)]
struct Edge {
    from: usize,
    to: usize,
    send: bool,
    channel: usize,
    /// What the fields must be; `None` for anything.
    fields: Vec<Option<ir::Expr>>,
}

/// What happened to a channel.
pub(super) struct Event<'a> {
    pub(super) send: bool,
    pub(super) channel: usize,
    /// The fields of the message, before anything has changed.
    pub(super) message: &'a [ir::Expr],
    pub(super) span: Span,
}

impl Lowering<'_> {
    /// Declares the observers of the model.
    pub(super) fn declare_observers(&mut self) {
        let source = self.source;
        for process in &source.processes {
            let negated = process.kind == ProcessKind::NoTrace;
            if !negated && process.kind != ProcessKind::Trace {
                continue;
            }
            let states = process.flow.reachable();
            let index = |state: StateNr| states.binary_search(&state).unwrap_or(0);
            let mut edges = Vec::new();
            for state in &states {
                for transition in &process.flow.states[*state].transitions {
                    let Action::Basic(basic) = &*transition.action else {
                        continue;
                    };
                    if let Some((send, channel, fields)) = self.event_of(basic, transition.span) {
                        edges.push(Edge {
                            from: index(*state),
                            to: index(transition.target),
                            send,
                            channel,
                            fields,
                        });
                    }
                }
            }
            // An end that cannot be reached is none of the states.
            let end = states.binary_search(&process.flow.end);
            let end = end.unwrap_or(states.len());
            let may_stop = |state: &&StateNr| process.flow.states[**state].valid_end;
            let stops = states.iter().filter(may_stop).map(|state| index(*state));
            let stops = stops.chain([end]).collect();
            let name = if negated { "notrace" } else { "trace" };
            let last = end.max(states.len() - 1) as i32;
            let initial = index(process.flow.start) as i32;
            let variable = ir::Variable::integer(name, 0, last.max(1), initial);
            let variable = self.program.variable(variable);
            self.observers.push(Observer {
                variable,
                negated,
                end,
                stops,
                edges,
            });
        }
    }

    /// All observers are where a run may end.
    pub(super) fn observers_may_stop(&self) -> ir::Expr {
        let mut all = ir::Expr::Const(1);
        for observer in &self.observers {
            let at = |state: &usize| guards::is(ir::Expr::Var(observer.variable), *state as i32);
            let stops = observer.stops.iter().map(at);
            all = guards::and(all, stops.fold(ir::Expr::Const(0), guards::or));
        }
        all
    }

    #[allow(clippy::type_complexity)]
    fn event_of(
        &mut self,
        basic: &Basic,
        span: Span,
    ) -> Option<(bool, usize, Vec<Option<ir::Expr>>)> {
        let nowhere = Context::NOWHERE;
        let (send, place) = match basic {
            Basic::Send { channel, .. } => (true, channel),
            Basic::Receive { channel, .. } => (false, channel),
            Basic::End | Basic::Condition(Expr::Const(_)) | Basic::Nothing => return None,
            _ => {
                let message = "a trace may only name sends and receives";
                self.error("PML099", message, span);
                return None;
            }
        };
        let Target::Fixed(channel) = self.target(place, nowhere) else {
            let message = "a trace must name global channels";
            self.error("PML099", message, span);
            return None;
        };
        let fields = match basic {
            Basic::Send { values, .. } => values
                .iter()
                .map(|value| match value {
                    Expr::Any => None,
                    value => Some(self.expr(value, nowhere)),
                })
                .collect(),
            Basic::Receive { arguments, .. } => arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Match(value) => Some(self.expr(value, nowhere)),
                    Argument::Store(_) | Argument::Ignore => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        Some((send, channel, fields))
    }

    /// Lets all observers follow an event.
    pub(super) fn observe(&mut self, event: &Event<'_>, body: &mut Body) {
        for observer in self.observers.clone() {
            let about = |e: &&Edge| e.send == event.send && e.channel == event.channel;
            let edges: Vec<&Edge> = observer.edges.iter().filter(about).collect();
            if edges.is_empty() {
                continue;
            }
            let statement = self.follow(&observer, &edges, event);
            body.statements.push(statement);
        }
    }

    fn follow(&mut self, observer: &Observer, edges: &[&Edge], event: &Event<'_>) -> Statement {
        let never = self.never;
        let go =
            |to: usize| Statement::assign(observer.variable, ir::Expr::Const(to as i32), never);
        let here = || ir::Expr::Var(observer.variable);
        let mut otherwise = match observer.negated {
            true => vec![go(observer.end)],
            false => vec![self.complaint("the trace does not allow this event", event.span)],
        };
        let text = "the trace can follow this event in two ways";
        let two_ways = self
            .program
            .site(FailureKind::Other, text, Some(event.span));
        let conditions: Vec<ir::Expr> = edges
            .iter()
            .map(|edge| {
                let mut fits = guards::is(here(), edge.from as i32);
                for (wanted, value) in edge.fields.iter().zip(event.message) {
                    if let Some(wanted) = wanted {
                        let equal =
                            guards::binary(ir::BinaryOp::Equal, value.clone(), wanted.clone());
                        fits = guards::and(fits, equal);
                    }
                }
                fits
            })
            .collect();
        for at in (0..edges.len()).rev() {
            let mut then = Vec::new();
            for later in at + 1..edges.len() {
                if edges[later].from == edges[at].from {
                    then.push(Statement::If {
                        condition: conditions[later].clone(),
                        then: vec![Statement::Fail(two_ways)],
                        otherwise: Vec::new(),
                    });
                }
            }
            then.push(go(edges[at].to));
            if observer.negated && edges[at].to == observer.end {
                let text = "all events of the notrace have happened";
                then.push(self.complaint(text, event.span));
            }
            otherwise = vec![Statement::If {
                condition: conditions[at].clone(),
                then,
                otherwise,
            }];
        }
        otherwise.remove(0)
    }

    fn complaint(&mut self, text: &str, span: Span) -> Statement {
        let message = format!("`{}`: {text}", self.text(span));
        let site = self
            .program
            .site(FailureKind::Assertion, message, Some(span));
        Statement::Assert {
            condition: ir::Expr::Const(0),
            site,
        }
    }
}
