//! Channels, their numbers, and which channels a reference can denote.
//!
//! A channel's value is a small number, given as SPIN does: globals first, then the channels of
//! processes in the order of slots. A variable that only ever holds the channel it was declared
//! with is no variable at all. For the others a flow-insensitive points-to analysis over all
//! instances finds every channel they can hold.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_ir::{self as ir, ChannelRef};
use stubborn_system::{ChannelId, FailureKind};

use super::storage::{Store, item};
use super::{Context, Lowering, guards};
use crate::flow::{Action, DNode};
use crate::hir::{Argument, Basic, ChannelType, Expr, Leaf, LeafInitial, Place, Scalar};

/// All channels of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channels {
    pub(super) list: Vec<ChannelInstance>,
    /// Channel numbers that a variable can hold.
    held: HashMap<ir::VarId, BTreeSet<i32>>,
    /// Channel numbers that can be in a field of a message, by channel and field.
    sent: HashMap<(usize, usize), BTreeSet<i32>>,
    by_number: BTreeMap<i32, usize>,
    /// The channels that a variable was declared with, for variables that can change.
    pub(super) own: HashMap<ir::VarId, Vec<i32>>,
}

/// One channel.
#[derive(Clone, Debug)]
pub(crate) struct ChannelInstance {
    pub(super) id: ChannelId,
    pub(super) number: i32,
    pub(super) capacity: u32,
    pub(super) fields: Vec<Scalar>,
    /// The process that owns it, if it goes away with one.
    pub(super) slot: Option<(usize, crate::hir::ProcId)>,
}

/// What a reference denotes.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Always this channel.
    Fixed(usize),
    /// The channel of the list whose number the value is.
    Dynamic {
        value: ir::Expr,
        options: Vec<(i32, usize)>,
        /// The value may be none of them.
        may_miss: bool,
    },
}

impl Lowering<'_> {
    /// Adds channels with consecutive numbers and returns the first number.
    pub(super) fn add_channels(
        &mut self,
        slot: Option<(usize, crate::hir::ProcId)>,
        name: &str,
        many: usize,
        ty: &ChannelType,
        single: bool,
        span: Span,
    ) -> i32 {
        let first = self.channels.list.last().map_or(1, |c| c.number + 1);
        let items: Vec<_> = ty.fields.iter().map(|f| item(self.source, *f)).collect();
        for at in 0..many {
            let full_name = if single {
                name.to_string()
            } else {
                format!("{name}[{at}]")
            };
            let number = first + at as i32;
            let id = self.program.channel(ir::Channel {
                name: full_name,
                capacity: ty.capacity,
                items: items.clone(),
            });
            self.channels
                .by_number
                .insert(number, self.channels.list.len());
            self.channels.list.push(ChannelInstance {
                id,
                number,
                capacity: ty.capacity,
                fields: ty.fields.clone(),
                slot,
            });
        }
        // Where the last number is used up, and nowhere else.
        if (..=256).contains(&first) && first + many as i32 > 256 {
            let message = format!("with `{name}` there are more than 255 channels");
            let error = Diagnostic::error("PML091", message, span).help(
                "declare fewer; those of a process type count once for each place that it may have in the list of \
                 processes, and `run` statements in one `atomic { ... }` have one place each",
            );
            self.diagnostics.push(error);
        }
        first
    }

    /// Finds what every channel variable and every message field can hold.
    pub(super) fn solve_channels(&mut self) {
        self.seed();
        while self.flow_round() {}
    }

    /// What variables hold before anything is assigned.
    fn seed(&mut self) {
        let mut seeds: Vec<(ir::VarId, BTreeSet<i32>)> = Vec::new();
        let mut seed = |lowering: &Self, stores: &[Store], given: bool, leaves: &[Leaf]| {
            for (store, leaf) in stores.iter().zip(leaves) {
                if let (Store::Variable(id), Scalar::Chan) = (store, leaf.scalar) {
                    let own = lowering.channels.own.get(id);
                    let mut set: BTreeSet<i32> = own.into_iter().flatten().copied().collect();
                    let given = given || matches!(leaf.initial, LeafInitial::Value(_));
                    if set.is_empty() && !given {
                        set.insert(0);
                    }
                    seeds.push((*id, set));
                }
            }
        };
        for (stores, variable) in self.globals.iter().zip(&self.source.globals) {
            seed(self, stores, false, &variable.leaves);
        }
        for (number, slot) in self.slots.iter().enumerate() {
            let present = self.table.slots[number].iter().any(|s| s.by.is_none());
            for instance in &slot.instances {
                let kind = &self.source.processes[instance.process.0];
                for (at, stores) in instance.locals.iter().enumerate() {
                    let parameter = at < kind.parameters && !present;
                    seed(self, stores, parameter, &kind.locals[at].leaves);
                }
            }
        }
        self.channels.held.extend(seeds);
    }

    /// One round over all statements; true if something new was learnt.
    fn flow_round(&mut self) -> bool {
        let mut changed = false;
        let source = self.source;
        let nowhere = Context::NOWHERE;
        for (variable, stores) in source.globals.iter().zip(self.globals.clone()) {
            for (leaf, store) in variable.leaves.iter().zip(stores) {
                if let (Scalar::Chan, LeafInitial::Value(expr)) = (leaf.scalar, &leaf.initial) {
                    let set = self.numbers(expr, nowhere);
                    changed |= self.hold(&store, &set);
                }
            }
        }
        for slot in 0..self.slots.len() {
            for instance in 0..self.slots[slot].instances.len() {
                let context = Context::of(slot, instance);
                let process = self.slots[slot].instances[instance].process;
                let kind = &source.processes[process.0];
                for local in &kind.initialised {
                    for (at, leaf) in kind.locals[*local].leaves.iter().enumerate() {
                        if let (Scalar::Chan, LeafInitial::Value(expr)) =
                            (leaf.scalar, &leaf.initial)
                        {
                            let set = self.numbers(expr, context);
                            let store =
                                self.slots[slot].instances[instance].locals[*local][at].clone();
                            changed |= self.hold(&store, &set);
                        }
                    }
                }
                for transition in kind.flow.states.iter().flat_map(|s| &s.transitions) {
                    match &*transition.action {
                        Action::Basic(basic) => changed |= self.flow_basic(basic, context),
                        Action::DStep(graph) => {
                            for node in &graph.nodes {
                                if let DNode::Step(basic, ..) = node {
                                    changed |= self.flow_basic(basic, context);
                                }
                            }
                        }
                        Action::Blocked | Action::Jump => {}
                    }
                }
            }
        }
        changed
    }

    fn hold(&mut self, store: &Store, set: &BTreeSet<i32>) -> bool {
        let Store::Variable(id) = store else {
            return false;
        };
        let held = self.channels.held.entry(*id).or_default();
        let before = held.len();
        held.extend(set);
        held.len() > before
    }

    fn flow_basic(&mut self, basic: &Basic, context: Context) -> bool {
        let mut changed = false;
        match basic {
            Basic::Assign(place, value) if place.scalar == Scalar::Chan => {
                let set = self.numbers(value, context);
                if let Some(store) = self.store(place, context).cloned() {
                    changed |= self.hold(&store, &set);
                }
            }
            Basic::Send {
                channel, values, ..
            } => {
                for target in self.reachable_channels(channel, context) {
                    for (at, value) in values.iter().enumerate() {
                        if self.channels.list[target].fields.get(at) == Some(&Scalar::Chan) {
                            let set = self.numbers(value, context);
                            let sent = self.channels.sent.entry((target, at)).or_default();
                            let before = sent.len();
                            sent.extend(set);
                            changed |= sent.len() > before;
                        }
                    }
                }
            }
            Basic::Receive {
                channel, arguments, ..
            } => {
                for target in self.reachable_channels(channel, context) {
                    for (at, argument) in arguments.iter().enumerate() {
                        let Argument::Store(place) = argument else {
                            continue;
                        };
                        if place.scalar != Scalar::Chan {
                            continue;
                        }
                        let set = match self.channels.list[target].fields.get(at) {
                            Some(Scalar::Chan) => self
                                .channels
                                .sent
                                .get(&(target, at))
                                .cloned()
                                .unwrap_or_default(),
                            _ => self.every_number(),
                        };
                        if let Some(store) = self.store(place, context).cloned() {
                            changed |= self.hold(&store, &set);
                        }
                    }
                }
            }
            _ => {}
        }
        if let Basic::Condition(expr) | Basic::Assign(_, expr) = basic {
            let mut runs = Vec::new();
            super::runs::collect(expr, &mut runs);
            for run in runs {
                changed |= self.flow_run(run, context);
            }
        }
        changed
    }

    fn flow_run(&mut self, run: &crate::hir::Run, context: Context) -> bool {
        let mut changed = false;
        let Some((by, _)) = context.at else {
            return false;
        };
        let kind = &self.source.processes[run.process.0];
        for slot in 0..self.slots.len() {
            let known = self.table.slots[slot]
                .iter()
                .any(|s| s.process == run.process && s.by == Some((by, run.span.start)));
            let instances = &self.slots[slot].instances;
            let Some(instance) = instances.iter().position(|i| i.process == run.process) else {
                continue;
            };
            if !known {
                continue;
            }
            let mut at = 0;
            for parameter in 0..kind.parameters {
                for (leaf, declared) in kind.locals[parameter].leaves.iter().enumerate() {
                    if declared.scalar == Scalar::Chan
                        && let Some(value) = run.arguments.get(at)
                    {
                        let set = self.numbers(value, context);
                        let store =
                            self.slots[slot].instances[instance].locals[parameter][leaf].clone();
                        changed |= self.hold(&store, &set);
                    }
                    at += 1;
                }
            }
        }
        changed
    }

    fn every_number(&self) -> BTreeSet<i32> {
        let numbers = self.channels.list.iter().map(|c| c.number);
        numbers.chain([0]).collect()
    }

    /// Channel numbers that an expression can have as its value.
    fn numbers(&self, expr: &Expr, context: Context) -> BTreeSet<i32> {
        match expr {
            Expr::Const(value) => BTreeSet::from([*value]),
            Expr::Conditional(_, yes, no) => {
                let mut set = self.numbers(yes, context);
                set.extend(self.numbers(no, context));
                set
            }
            Expr::Load(place) if place.scalar == Scalar::Chan => self.held_by(place, context),
            _ => self.every_number(),
        }
    }

    fn held_by(&self, place: &Place, context: Context) -> BTreeSet<i32> {
        match self.store(place, context) {
            Some(Store::Constant(values)) => values.iter().copied().collect(),
            Some(Store::Variable(id)) => self.channels.held.get(id).cloned().unwrap_or_default(),
            None => BTreeSet::new(),
        }
    }

    fn reachable_channels(&self, place: &Place, context: Context) -> Vec<usize> {
        let held = self.held_by(place, context);
        held.iter()
            .filter_map(|n| self.channels.by_number.get(n).copied())
            .collect()
    }

    /// What a reference denotes here.
    pub(super) fn target(&mut self, place: &Place, context: Context) -> Target {
        let store = self.store(place, context).cloned();
        match store {
            Some(Store::Constant(numbers)) => {
                let indices: Vec<ir::Expr> = place
                    .indices
                    .iter()
                    .map(|i| self.expr(i, context))
                    .collect();
                let flat = self.flat_index(place, indices, context);
                let by_number = &self.channels.by_number;
                let channels: Vec<Option<usize>> =
                    numbers.iter().map(|n| by_number.get(n).copied()).collect();
                let single = match (&flat, channels.as_slice()) {
                    (None, [only]) => *only,
                    (Some(ir::Expr::Const(at)), all) => usize::try_from(*at)
                        .ok()
                        .and_then(|at| all.get(at).copied().flatten()),
                    _ => None,
                };
                if let Some(channel) = single {
                    return Target::Fixed(channel);
                }
                let value = flat.unwrap_or(ir::Expr::Const(0));
                let range = self.program.interval(&value);
                let last = channels.len() as i32 - 1;
                let options: Vec<(i32, usize)> = channels
                    .iter()
                    .enumerate()
                    .filter_map(|(i, c)| c.map(|c| (i as i32, c)))
                    .filter(|(i, _)| range.min <= *i && *i <= range.max)
                    .collect();
                let may_miss =
                    range.min < 0 || range.max > last || channels.iter().any(Option::is_none);
                Target::Dynamic {
                    value,
                    options,
                    may_miss,
                }
            }
            _ => {
                let held = self.held_by(place, context);
                let value = self.load(place, context);
                let options: Vec<(i32, usize)> = held
                    .iter()
                    .filter_map(|n| self.channels.by_number.get(n).map(|c| (*n, *c)))
                    .collect();
                let may_miss = options.len() < held.len() || options.is_empty();
                match (options.as_slice(), may_miss) {
                    ([(_, only)], false) => Target::Fixed(*only),
                    _ => Target::Dynamic {
                        value,
                        options,
                        may_miss,
                    },
                }
            }
        }
    }

    /// The same as a reference of a guarded command.
    pub(super) fn channel_ref(&mut self, target: &Target, span: Span) -> ChannelRef {
        match target {
            Target::Fixed(channel) => ChannelRef::Fixed(self.channels.list[*channel].id),
            Target::Dynamic { value, options, .. } => {
                let site = self.bad_channel(span);
                let targets = options
                    .iter()
                    .map(|(n, c)| (*n, self.channels.list[*c].id))
                    .collect();
                ChannelRef::Denoted {
                    value: Box::new(value.clone()),
                    targets,
                    site,
                }
            }
        }
    }

    pub(super) fn bad_channel(&mut self, span: Span) -> ir::Site {
        let message = format!("`{}` uses something that is no channel", self.text(span));
        self.program
            .site(FailureKind::BadChannel, message, Some(span))
    }

    /// An expression about a channel: by cases, if the channel is not fixed.
    pub(super) fn by_channel(
        &mut self,
        target: &Target,
        span: Span,
        mut about: impl FnMut(&mut Self, usize) -> ir::Expr,
    ) -> ir::Expr {
        match target {
            Target::Fixed(channel) => about(self, *channel),
            Target::Dynamic {
                value,
                options,
                may_miss,
            } => {
                let mut result: Option<ir::Expr> = None;
                for (number, channel) in options.iter().rev() {
                    let here = about(self, *channel);
                    result = Some(match result {
                        None => here,
                        Some(other) => {
                            guards::choose(guards::is(value.clone(), *number), here, other)
                        }
                    });
                }
                let result = result.unwrap_or(ir::Expr::Const(0));
                if !may_miss {
                    return result;
                }
                // Looking at the length fails exactly where the value denotes no channel.
                let channel = self.channel_ref(target, span);
                let denotes = ir::Expr::binary(
                    ir::BinaryOp::GreaterEqual,
                    ir::Expr::Length(channel),
                    ir::Expr::Const(0),
                );
                ir::Expr::If(
                    Box::new(denotes),
                    Box::new(result),
                    Box::new(ir::Expr::Const(0)),
                )
            }
        }
    }
}
