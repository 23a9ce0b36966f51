//! Rendez-vous: one command for a sender and a receiver.

use std::sync::Arc;

use stubborn_diagnostics::Span;
use stubborn_ir::{self as ir, Statement, TempId};
use stubborn_system::FailureKind;

use super::events::Event;
use super::expressions::{pattern_of, wrap};
use super::steps::{Body, Step};
use super::{Context, Lowering, Sender, guards};
use crate::flow::{Action, DNode, StateNr, Transition};
use crate::hir::{Argument, Basic, Expr};

/// A process that may receive on a channel.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) slot: usize,
    pub(super) instance: usize,
    state: StateNr,
    pub(super) location: u32,
    transition: Arc<Transition>,
    /// Which of the step's [receives](entries).
    entry: usize,
    /// Steps of the same process that come first if they match the same message.
    before: Vec<Arc<Transition>>,
}

impl Offer {
    /// The receiver's, after a send.
    pub(super) fn context(&self, sender: Context, send: &Transition) -> Context {
        Context {
            timeout: sender.timeout,
            sender: sender.at.map(|(slot, instance)| Sender {
                slot,
                instance,
                state: send.target,
            }),
            ..Context::of(self.slot, self.instance)
        }
    }
}

/// What a step can begin with.
#[derive(Clone, Copy)]
struct Entry<'t> {
    basic: &'t Basic,
    /// The node of the d_step that follows.
    next: Option<usize>,
}

impl Entry<'_> {
    fn receives(&self) -> bool {
        matches!(self.basic, Basic::Receive { keep: false, .. })
    }
}

/// What a step can begin with: one statement, or the guards of the choice that a d_step starts
/// with, of which the first executable one counts.
fn entries(transition: &Transition) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    match &*transition.action {
        Action::Basic(basic) => entries.push(Entry { basic, next: None }),
        Action::DStep(graph) => {
            let mut seen = vec![false; graph.nodes.len()];
            let mut todo = vec![0];
            while let Some(at) = todo.pop() {
                if std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                match &graph.nodes[at] {
                    DNode::Step(basic, next, _) => entries.push(Entry { basic, next: *next }),
                    DNode::Choice(options, _) => todo.extend(options.iter().rev()),
                    DNode::Jump(next) => todo.extend(next),
                }
            }
        }
        Action::Blocked | Action::Jump => {}
    }
    entries
}

impl Lowering<'_> {
    /// The values of a message, cut to the types of the channel's fields.
    pub(super) fn message(&self, channel: usize, values: Vec<ir::Expr>) -> Vec<ir::Expr> {
        let fields = &self.channels.list[channel].fields;
        let mut values = values.into_iter();
        let missing = || ir::Expr::Const(0);
        let narrow = |(scalar, value): (_, ir::Expr)| {
            let item = super::storage::item(self.source, scalar);
            // Nothing to cut where the value fits anyway.
            match self.program.interval(&value).within(item.min, item.max) {
                true => value,
                false => wrap(scalar, value),
            }
        };
        fields
            .iter()
            .map(|f| (*f, values.next().unwrap_or_else(missing)))
            .map(narrow)
            .collect()
    }

    /// Everything in a slot that may receive on a channel.
    pub(super) fn offers(&mut self, slot: usize, channel: usize) -> Vec<Offer> {
        let mut offers = Vec::new();
        for instance in 0..self.slots[slot].instances.len() {
            let context = Context::of(slot, instance);
            let kind = self.type_of(slot, instance);
            for state in kind.flow.reachable() {
                let Some(location) = self.location(slot, instance, state) else {
                    continue;
                };
                let mut earlier: Vec<Arc<Transition>> = Vec::new();
                for transition in &kind.flow.states[state].transitions {
                    let all = entries(transition);
                    let fitting: Vec<usize> = (0..all.len())
                        .filter(|at| self.is_on(&all[*at], channel, context))
                        .collect();
                    if fitting.is_empty() {
                        continue;
                    }
                    let transition = Arc::new(transition.clone());
                    let before: Vec<_> = earlier
                        .iter()
                        .filter(|t| t.escape != 0 && t.escape != transition.escape)
                        .cloned()
                        .collect();
                    offers.extend(fitting.into_iter().map(|entry| Offer {
                        slot,
                        instance,
                        state,
                        location,
                        transition: transition.clone(),
                        entry,
                        before: before.clone(),
                    }));
                    earlier.push(transition);
                }
            }
        }
        offers
    }

    /// Whether a receive can be on a channel.
    fn is_on(&mut self, entry: &Entry<'_>, channel: usize, context: Context) -> bool {
        match entry.basic {
            Basic::Receive { channel: place, .. } if entry.receives() => {
                let target = self.target(place, context);
                self.denotes(&target, channel).is_some()
            }
            _ => false,
        }
    }

    /// What must hold for an offer to take a message, besides being at its location.
    pub(super) fn offer_guards(
        &mut self,
        offer: &Offer,
        channel: usize,
        sent: &[ir::Expr],
        context: Context,
    ) -> Vec<ir::Expr> {
        let mut all = Vec::from_iter(self.provided(context));
        let entries = entries(&offer.transition);
        all.push(self.takes(&entries[offer.entry], channel, sent, context));
        for first in &entries[..offer.entry] {
            let executable = match first.basic {
                Basic::Else => continue,
                _ if first.receives() => self.takes(first, channel, sent, context),
                basic => self.executable_basic(basic, &offer.transition, context),
            };
            all.push(guards::not(executable));
        }
        for earlier in &offer.before {
            for entry in self::entries(earlier) {
                let first = self.takes(&entry, channel, sent, context);
                all.push(guards::not(first));
            }
        }
        all
    }

    /// Whether a receive is on this channel and its pattern matches the message.
    fn takes(
        &mut self,
        entry: &Entry<'_>,
        channel: usize,
        sent: &[ir::Expr],
        context: Context,
    ) -> ir::Expr {
        let Basic::Receive {
            channel: place,
            arguments,
            keep: false,
            ..
        } = entry.basic
        else {
            return ir::Expr::Const(0);
        };
        let target = self.target(place, context);
        let Some(mut fits) = self.denotes(&target, channel) else {
            return ir::Expr::Const(0);
        };
        for (wanted, value) in pattern_of(self, arguments, context).into_iter().zip(sent) {
            if let Some(wanted) = wanted {
                fits = guards::and(
                    fits,
                    guards::binary(ir::BinaryOp::Equal, value.clone(), wanted),
                );
            }
        }
        fits
    }

    /// All rendez-vous that a send can start.
    pub(super) fn rendezvous(
        &mut self,
        step: &Step<'_>,
        channel: usize,
        values: &[Expr],
        common: &[ir::Expr],
    ) {
        let span = step.transition.span;
        let lowered: Vec<ir::Expr> = values.iter().map(|v| self.expr(v, step.context)).collect();
        let complete = values.len() == self.channels.list[channel].fields.len();
        let sent = self.message(channel, lowered);
        for slot in (0..self.slots.len()).filter(|s| *s != step.slot) {
            for offer in self.offers(slot, channel) {
                let mut guards_here = common.to_vec();
                let receiver = offer.context(step.context, step.transition);
                guards_here.extend(self.offer_guards(&offer, channel, &sent, receiver));
                if guards_here.contains(&ir::Expr::Const(0)) {
                    continue;
                }
                let mut body = Body::default();
                let mut sent = sent.clone();
                body.evaluate(&mut sent);
                if !complete {
                    self.wrong_length(
                        &mut body,
                        "the message has too few or too many fields",
                        span,
                    );
                }
                for send in [true, false] {
                    let event = Event {
                        send,
                        channel,
                        message: &sent,
                        span,
                    };
                    self.observe(&event, &mut body);
                }
                self.respect_claims(step.transition, step.context, &mut body);
                self.respect_claims(&offer.transition, receiver, &mut body);
                let receiver = Context {
                    timeout: false,
                    ..receiver
                };
                self.hand_over(&offer, &sent, receiver, &mut body);
                self.rendezvous_command(step, &offer, guards_here, body);
            }
        }
    }

    /// Reports a message that does not fit its channel; execution goes on.
    pub(super) fn wrong_length(&mut self, body: &mut Body, message: &str, span: Span) {
        let message = format!("`{}`: {message}", self.text(span));
        let site = self
            .program
            .site(FailureKind::Assertion, message, Some(span));
        body.statements.push(Statement::Assert {
            condition: ir::Expr::Const(0),
            site,
        });
    }

    /// Assigns the fields of a message to the receiver's variables.
    fn hand_over(&mut self, offer: &Offer, sent: &[ir::Expr], context: Context, body: &mut Body) {
        let span = offer.transition.span;
        let entry = entries(&offer.transition)[offer.entry];
        let Basic::Receive { arguments, .. } = entry.basic else {
            return;
        };
        if arguments.len() != sent.len() {
            self.wrong_length(
                body,
                "the number of fields differs from that of the channel",
                span,
            );
        }
        // All values are computed before any variable changes.
        let mut stores: Vec<(&crate::hir::Place, ir::Expr)> = Vec::new();
        for (argument, value) in arguments.iter().zip(sent) {
            if let Argument::Store(place) = argument {
                let value = match value {
                    ir::Expr::Const(_) | ir::Expr::Temp(_) => value.clone(),
                    value => {
                        let temp = body.temp();
                        body.statements.push(Statement::Let(temp, value.clone()));
                        ir::Expr::Temp(temp)
                    }
                };
                stores.push((place, value));
            }
        }
        for (place, value) in stores {
            if let Some(target) = self.assignable(place, context) {
                let site = self.never;
                body.statements.push(Statement::Assign {
                    target,
                    value,
                    site,
                });
            }
        }
        if let (Action::DStep(graph), Some(next)) = (&*offer.transition.action, entry.next) {
            self.d_step_body(graph, next, &offer.transition, context, body);
        }
    }

    fn rendezvous_command(
        &mut self,
        step: &Step<'_>,
        offer: &Offer,
        guards_here: Vec<ir::Expr>,
        mut body: Body,
    ) {
        let own = self
            .location(step.slot, step.instance, step.transition.target)
            .unwrap_or(0);
        let other = self
            .location(offer.slot, offer.instance, offer.transition.target)
            .unwrap_or(0);
        let never = self.never;
        let (from, to) = (step.transition, &offer.transition);
        self.bury(step.slot, step.instance, step.state, from, &mut body);
        self.bury(offer.slot, offer.instance, offer.state, to, &mut body);
        let (sender, receiver) = (&self.slots[step.slot], &self.slots[offer.slot]);
        let processes = vec![sender.process, receiver.process];
        let counters = [(sender.counter, own), (receiver.counter, other)];
        for (counter, location) in counters {
            let location = ir::Expr::Const(location as i32);
            body.statements
                .push(Statement::assign(counter, location, never));
        }
        if let Some(last) = self.last {
            let pid = ir::Expr::Const(offer.slot as i32);
            body.statements.push(Statement::assign(last, pid, never));
        }
        let own_type = self.slots[step.slot].instances[step.instance].process;
        let other_type = self.slots[offer.slot].instances[offer.instance].process;
        let name = format!(
            "{} -> {}:{} {}",
            self.step_name(step),
            self.program.processes[processes[1].index()].name,
            self.line(offer.transition.span),
            self.text(offer.transition.span),
        );
        let parts = vec![
            (step.slot, own_type, step.transition.number),
            (offer.slot, other_type, offer.transition.number),
        ];
        let continues = self.goes_on(&offer.transition).then_some(processes[1]);
        let sources = vec![Some(step.location), Some(offer.location)];
        self.command(
            name,
            processes,
            sources,
            guards_here,
            body,
            u8::from(step.context.timeout),
            continues,
            step.transition.span,
            parts,
        );
    }
}

/// Temporaries are numbered within a body.
pub(super) fn temp_id(number: usize) -> TempId {
    TempId(number.min(255) as u8)
}
