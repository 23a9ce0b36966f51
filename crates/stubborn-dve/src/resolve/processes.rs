//! The bodies of processes: states, assertions, transitions.

use super::Resolver;
use super::expressions::Context;
use super::names::Symbol;
use crate::ast;
use crate::codes;
use crate::model::{
    AcceptKind, Assertion, Assignment, ChannelId, Direction, Expr, Payload, Place, ProcessId, Sync,
    Transition,
};
use std::collections::HashMap;
use stubborn_diagnostics::{Diagnostic, Span};

/// Most values that a message may have.
const MAX_ARITY: usize = 64;

/// For each untyped channel: how many values its first use has, and where that is.
type Arities = HashMap<ChannelId, (usize, Span)>;

impl<'src> Resolver<'_, 'src> {
    pub(super) fn process_bodies(&mut self) {
        let mut arities = Arities::new();
        for (index, process) in self.tree.processes.iter().enumerate() {
            let id = ProcessId::new(index);
            self.states(id, process);
            let context = if self.model.property == Some(id) {
                Context::Property(id)
            } else {
                Context::Process(id)
            };
            if let (Context::Property(_), Some(first)) = (context, process.assertions.first()) {
                self.passive_only("assertions", first.state.span);
            }
            for assertion in &process.assertions {
                let location = self.location(id, assertion.state);
                let condition = self.expressions(context).expression(&assertion.condition);
                if let (Some(location), Some(condition)) = (location, condition) {
                    let span = assertion.state.span.to(assertion.condition.span);
                    self.model.processes[index].assertions.push(Assertion {
                        location,
                        condition,
                        span,
                    });
                }
            }
            for transition in &process.transitions {
                if let Some(resolved) = self.transition(id, context, transition, &mut arities) {
                    self.model.processes[index].transitions.push(resolved);
                }
                if self.reporter.is_full() {
                    return;
                }
            }
        }
    }

    /// Committed and accepting states.
    fn states(&mut self, id: ProcessId, process: &ast::Process<'src>) {
        let is_property = self.model.property == Some(id);
        for state in &process.commits {
            if is_property {
                self.passive_only("committed states", state.span);
            }
            if let Some(location) = self.location(id, *state) {
                self.model.processes[id.index()].locations[location.index()].committed = true;
            }
        }
        if let Some(accept) = &process.accept {
            if is_property && accept.kind != AcceptKind::Buchi {
                self.reporter.push(
                    Diagnostic::error(
                        codes::ACCEPTANCE,
                        "a property process needs Büchi acceptance",
                        accept.span,
                    )
                    .help("list the accepting states after `accept`, without another kind"),
                );
            }
            let sets = accept
                .sets
                .iter()
                .map(|set| {
                    set.iter()
                        .filter_map(|state| self.location(id, *state))
                        .collect()
                })
                .collect();
            self.model.processes[id.index()].accept = Some((accept.kind, sets));
        }
    }

    fn transition(
        &mut self,
        process: ProcessId,
        context: Context,
        transition: &ast::Transition<'src>,
        arities: &mut Arities,
    ) -> Option<Transition> {
        let source = self.location(process, transition.source);
        let target = self.location(process, transition.target);
        let guard = match &transition.guard {
            None => Some(None),
            Some(guard) => self.expressions(context).expression(guard).map(Some),
        };
        let sync = match &transition.sync {
            None => Some(None),
            Some(sync) => {
                if let Context::Property(_) = context {
                    self.passive_only("synchronisations", sync.span);
                }
                self.sync(context, sync, arities).map(Some)
            }
        };
        if let (Context::Property(_), Some(first)) = (context, transition.effects.first()) {
            self.passive_only("effects", first.target.span);
        }
        let effects: Vec<Option<Assignment>> = transition
            .effects
            .iter()
            .map(|a| self.assignment(context, a))
            .collect();
        Some(Transition {
            source: source?,
            target: target?,
            guard: guard?,
            sync: sync?,
            effects: effects.into_iter().collect::<Option<_>>()?,
            span: transition.span,
        })
    }

    fn passive_only(&mut self, what: &str, span: Span) {
        let message = format!("a property process has no {what}");
        self.reporter.push(
            Diagnostic::error(codes::ACTIVE_PROPERTY, message, span)
                .help("it only watches the other processes, through guards"),
        );
    }

    fn assignment(
        &mut self,
        context: Context,
        assignment: &ast::Assignment<'src>,
    ) -> Option<Assignment> {
        let target = self.expressions(context).target(&assignment.target, false);
        let value = self.expressions(context).expression(&assignment.value);
        let (target, value) = (target?, value?);
        self.warn_if_out_of_range(&target, &value, assignment.value.span);
        let span = assignment.target.span.to(assignment.value.span);
        Some(Assignment {
            target,
            value,
            span,
        })
    }

    /// A constant that does not fit is no error: it leads to the error state.
    fn warn_if_out_of_range(&mut self, target: &Place, value: &Expr, span: Span) {
        let variable = self.model.variable(target.variable);
        let ty = variable.ty;
        if let Expr::Constant(value) = value
            && !ty.holds(*value)
        {
            let message = format!("{value} never fits into `{}`", variable.name);
            let help = format!(
                "`{}` holds {} to {}; this leads to the error state",
                ty.name(),
                ty.min(),
                ty.max()
            );
            self.reporter
                .push(Diagnostic::warning(codes::STORE_NEVER_VALID, message, span).help(help));
        }
    }

    fn sync(
        &mut self,
        context: Context,
        sync: &ast::Sync<'src>,
        arities: &mut Arities,
    ) -> Option<Sync> {
        let channel = self.channel(sync.channel);
        let payload = match sync.direction {
            Direction::Send => {
                let values: Vec<Option<Expr>> = sync
                    .payload
                    .iter()
                    .map(|value| self.expressions(context).expression(value))
                    .collect();
                values.into_iter().collect::<Option<_>>().map(Payload::Send)
            }
            Direction::Receive => {
                let places: Vec<Option<Place>> = sync
                    .payload
                    .iter()
                    .map(|target| self.expressions(context).target(target, true))
                    .collect();
                places
                    .into_iter()
                    .collect::<Option<_>>()
                    .map(Payload::Receive)
            }
        };
        let channel = channel?;
        self.check_arity(channel, sync, arities);
        Some(Sync {
            channel,
            payload: payload?,
        })
    }

    /// Every use of a channel must have the same number of values.
    fn check_arity(&mut self, id: ChannelId, sync: &ast::Sync<'src>, arities: &mut Arities) {
        let channel = &mut self.model.channels[id.index()];
        let (expected, place, words) = if channel.types.is_some() {
            (channel.arity, channel.span, "declared here")
        } else {
            let first = *arities.entry(id).or_insert((sync.payload.len(), sync.span));
            channel.arity = first.0;
            (first.0, first.1, "used first here")
        };
        if sync.payload.len() > MAX_ARITY {
            let message = format!("a message has at most {MAX_ARITY} values");
            self.reporter.error(codes::BAD_SIZE, message, sync.span);
        } else if sync.payload.len() != expected {
            let message = format!(
                "channel `{}` carries {expected} value(s), but {} are given",
                channel.name,
                sync.payload.len()
            );
            self.reporter.push(
                Diagnostic::error(codes::ARITY, message, sync.span)
                    .related(place, words)
                    .help("every use of a channel must have the same number of values"),
            );
        }
    }

    fn channel(&mut self, name: ast::Ident<'src>) -> Option<ChannelId> {
        // A local variable of the same name does not hide a channel: only channels can stand here.
        let symbol = self.names.look_up(None, name.name);
        if let Some(Symbol::Channel(channel)) = symbol {
            return Some(channel);
        }
        let is_channel = |s| matches!(s, Symbol::Channel(_));
        let diagnostic = match symbol {
            Some(other) => {
                let message = format!("`{}` is {}, not a channel", name.name, other.describe());
                Diagnostic::error(codes::WRONG_KIND, message, name.span)
            }
            None => {
                let message = format!("channel `{}` is not declared", name.name);
                Diagnostic::error(codes::UNDECLARED, message, name.span)
            }
        };
        self.reporter
            .push(match self.names.similar(None, name.name, is_channel) {
                Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
                None => diagnostic,
            });
        None
    }
}
