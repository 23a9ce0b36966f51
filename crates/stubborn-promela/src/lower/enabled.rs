//! Whether a step is executable, as an expression: for `else`, `unless` and `enabled()`.

use stubborn_diagnostics::Span;
use stubborn_ir as ir;
use stubborn_system::FailureKind;

use super::channels::Target;
use super::expressions::pattern_of;
use super::{Context, Lowering, guards};
use crate::flow::{Action, DNode, DStep, Transition};
use crate::hir::{Basic, Expr};

/// So many `enabled()` may be written out inside of others.
const MOST_QUESTIONS: usize = 10_000;

/// What counts when it is asked whether a process could move.
#[derive(Clone, Copy)]
pub(super) struct Moves {
    /// What `timeout` is.
    pub(super) timeout: bool,
    /// Whether its `provided` clause must hold.
    pub(super) provided: bool,
}

impl Lowering<'_> {
    /// Whether a process could take this step by itself. A rendez-vous receive never is: it waits
    /// for its partner to move.
    pub(super) fn executable(&mut self, transition: &Transition, context: Context) -> ir::Expr {
        match &*transition.action {
            Action::Blocked => ir::Expr::Const(0),
            Action::Jump => ir::Expr::Const(1),
            Action::Basic(basic) => self.executable_basic(basic, transition, context),
            Action::DStep(graph) => self.executable_d_step(graph, transition, context),
        }
    }

    pub(super) fn executable_basic(
        &mut self,
        basic: &Basic,
        transition: &Transition,
        context: Context,
    ) -> ir::Expr {
        let span = transition.span;
        match basic {
            Basic::Condition(Expr::Run(_)) => ir::Expr::Const(1),
            Basic::Condition(expr) => {
                let value = self.expr(expr, context);
                guards::truth(value)
            }
            Basic::Send {
                channel, values, ..
            } => {
                let target = self.target(channel, context);
                self.by_channel(&target, span, |lowering, channel| {
                    match lowering.channels.list[channel].capacity {
                        0 => lowering.partner_waits(channel, values, transition, context),
                        _ => lowering.can_send(channel),
                    }
                })
            }
            Basic::Receive {
                channel,
                arguments,
                random,
                ..
            } => {
                let target = self.target(channel, context);
                let pattern = pattern_of(self, arguments, context);
                self.by_channel(&target, span, |lowering, channel| {
                    match lowering.channels.list[channel].capacity {
                        0 => ir::Expr::Const(0),
                        _ => lowering.message_fits(channel, &pattern, *random, span),
                    }
                })
            }
            Basic::End => match context.at {
                Some((slot, _)) => self.gone(slot + 1),
                None => ir::Expr::Const(0),
            },
            _ => ir::Expr::Const(1),
        }
    }

    /// Whether the first statement of a d_step is executable.
    pub(super) fn executable_d_step(
        &mut self,
        graph: &DStep,
        transition: &Transition,
        context: Context,
    ) -> ir::Expr {
        self.executable_node(graph, 0, transition, context, 0)
    }

    pub(super) fn executable_node(
        &mut self,
        graph: &DStep,
        at: usize,
        transition: &Transition,
        context: Context,
        depth: usize,
    ) -> ir::Expr {
        // Deeper than any nesting means that jumps go round in circles.
        if depth > 300 {
            return ir::Expr::Const(1);
        }
        match graph.nodes.get(at) {
            Some(DNode::Step(Basic::Send { channel, .. }, ..)) => {
                let target = self.target(channel, context);
                self.by_channel(&target, transition.span, |lowering, channel| {
                    match lowering.channels.list[channel].capacity {
                        // To offer a rendez-vous is an error, whoever waits for it.
                        0 => ir::Expr::Const(1),
                        _ => lowering.can_send(channel),
                    }
                })
            }
            Some(DNode::Step(basic, ..)) => self.executable_basic(basic, transition, context),
            Some(DNode::Choice(options, _)) => {
                let mut any = ir::Expr::Const(0);
                for option in options.iter().rev() {
                    let here = self.executable_node(graph, *option, transition, context, depth + 1);
                    any = guards::or(here, any);
                }
                any
            }
            Some(DNode::Jump(Some(next))) => {
                self.executable_node(graph, *next, transition, context, depth + 1)
            }
            Some(DNode::Jump(None)) | None => ir::Expr::Const(1),
        }
    }

    /// Whether a buffered channel takes a message.
    fn can_send(&self, channel: usize) -> ir::Expr {
        match self.options.lossy {
            true => ir::Expr::Const(1),
            false => self.has_room(channel),
        }
    }

    pub(super) fn has_room(&self, channel: usize) -> ir::Expr {
        let found = &self.channels.list[channel];
        let length = ir::Expr::Length(ir::ChannelRef::Fixed(found.id));
        ir::Expr::less(length, ir::Expr::Const(found.capacity as i32))
    }

    /// Whether some other process can take part in a rendez-vous with these values.
    fn partner_waits(
        &mut self,
        channel: usize,
        values: &[Expr],
        send: &Transition,
        context: Context,
    ) -> ir::Expr {
        let Some((own, _)) = context.at else {
            return ir::Expr::Const(0);
        };
        let values: Vec<ir::Expr> = values.iter().map(|v| self.expr(v, context)).collect();
        let sent = self.message(channel, values);
        let mut any = ir::Expr::Const(0);
        for slot in (0..self.slots.len()).filter(|s| *s != own) {
            for offer in self.offers(slot, channel) {
                let mut fits =
                    ir::Expr::at(&self.program, self.slots[slot].process, offer.location);
                let receiver = offer.context(context, send);
                for guard in self.offer_guards(&offer, channel, &sent, receiver) {
                    fits = guards::and(fits, guard);
                }
                any = guards::or(any, fits);
            }
        }
        any
    }

    /// `enabled(pid)`; asking for oneself is an error, also by asking somebody who asks for oneself.
    pub(super) fn enabled_of(&mut self, pid: &Expr, span: Span, context: Context) -> ir::Expr {
        let pid = self.expr(pid, context);
        if !self.asking.is_empty() && self.nested_questions(span) {
            return ir::Expr::Const(0);
        }
        let asking = self.asking.len();
        self.asking.extend(context.at.map(|(slot, _)| slot));
        let moves = Moves {
            timeout: context.timeout,
            provided: false,
        };
        let mut result = ir::Expr::Const(0);
        for slot in 0..self.slots.len() {
            let this = guards::is(pid.clone(), slot as i32);
            if this == ir::Expr::Const(0) {
                continue;
            }
            let any = match self.asking.contains(&slot) {
                true => self.asks_itself(span),
                false => self.can_move(slot, moves),
            };
            result = guards::choose(this, any, result);
        }
        self.asking.truncate(asking);
        result
    }

    fn asks_itself(&mut self, span: Span) -> ir::Expr {
        let message = format!("`{}` asks about the process itself", self.text(span));
        self.failing(FailureKind::Other, message, span)
    }

    /// Counts questions inside of questions, of which there can be exponentially many. True if it is
    /// too late or too much.
    fn nested_questions(&mut self, span: Span) -> bool {
        self.questions += 1;
        if self.questions == MOST_QUESTIONS {
            let message = "too many processes ask with enabled() about others that ask, too";
            self.error("PML101", message, span);
        }
        self.questions >= MOST_QUESTIONS || self.budget.poll().is_some()
    }

    /// The `provided` clause of a process, if it has one.
    pub(super) fn provided(&mut self, context: Context) -> Option<ir::Expr> {
        let (slot, instance) = context.at?;
        let clause = self.type_of(slot, instance).provided.as_ref()?;
        Some(guards::truth(self.expr(clause, context)))
    }

    /// Whether the process in a slot could take some step, its end too.
    pub(super) fn can_move(&mut self, slot: usize, moves: Moves) -> ir::Expr {
        let mut any = ir::Expr::Const(0);
        for instance in 0..self.slots[slot].instances.len() {
            let there = Context {
                timeout: moves.timeout,
                ..Context::of(slot, instance)
            };
            let provided = match moves.provided {
                true => self.provided(there),
                false => None,
            };
            let provided = provided.unwrap_or(ir::Expr::Const(1));
            let kind = self.type_of(slot, instance);
            for state in kind.flow.reachable() {
                let Some(location) = self.location(slot, instance, state) else {
                    continue;
                };
                let mut can = ir::Expr::Const(0);
                for transition in &kind.flow.states[state].transitions {
                    can = guards::or(can, self.executable(transition, there));
                }
                let counter = ir::Expr::Var(self.slots[slot].counter);
                let can = guards::and(provided.clone(), can);
                let here = guards::and(guards::is(counter, location as i32), can);
                any = guards::or(any, here);
            }
        }
        any
    }

    /// Extra guard for one of the channels a reference can denote; None if it never is that one.
    pub(super) fn denotes(&self, target: &Target, channel: usize) -> Option<ir::Expr> {
        match target {
            Target::Fixed(only) => (*only == channel).then_some(ir::Expr::Const(1)),
            Target::Dynamic { value, options, .. } => options
                .iter()
                .find(|(_, c)| *c == channel)
                .map(|(number, _)| guards::is(value.clone(), *number)),
        }
    }
}
