//! Transitions to commands: one for each, or one for each rendezvous pair.
//!
//! Pairs multiply, so a short text can ask for very many commands; their number and their
//! total size are limited.

use super::{Lowered, MAX_COMMANDS};
use crate::model::{ChannelId, LocationId, Model, Payload, Place, ProcessId, Transition, Type};
use std::collections::HashMap;
use std::sync::Arc;
use stubborn_diagnostics::Span;
use stubborn_ir as ir;
use stubborn_system::{FailureKind, LabelId};

/// One transition, lowered but for its communication.
struct Half {
    process: ProcessId,
    source: LocationId,
    /// `P: a -> b`.
    name: String,
    /// The conjuncts of its own guard.
    guards: Vec<LabelId>,
    /// The move to the target state and the effects.
    body: Vec<ir::Statement>,
    /// Its share of [`MAX_TOTAL_SIZE`].
    size: usize,
}

/// Largest total size of all commands. A command counts with the bytes of the text it comes
/// from, and a few bytes for every guard and every array element that it may touch.
const MAX_TOTAL_SIZE: usize = 64 << 20;

/// Creates the commands of a model.
struct Commands<'a> {
    lowered: &'a mut Lowered,
    /// For every committed state, the label that its process is elsewhere.
    elsewhere: Vec<(ProcessId, LabelId)>,
    /// Total size so far; see [`MAX_TOTAL_SIZE`].
    size: usize,
}

/// A sending or receiving transition with its lowered half.
type Partner<'a> = (Half, &'a Transition);

impl Lowered {
    /// Creates all commands, or returns where they became too many.
    pub(super) fn commands(&mut self) -> Result<(), Span> {
        let model = Arc::clone(&self.model);
        let mut elsewhere = Vec::new();
        for (id, process) in model.processes() {
            for (index, location) in process.locations.iter().enumerate() {
                if location.committed {
                    let test = self.location_test(id, LocationId::new(index), true);
                    elsewhere.push((id, self.program.label(test)));
                }
            }
        }
        Commands {
            lowered: self,
            elsewhere,
            size: 0,
        }
        .all(&model)
    }

    fn half(&mut self, process: ProcessId, transition: &Transition, name: String) -> Half {
        let picked_before = self.picked;
        let guards = match &transition.guard {
            None => Vec::new(),
            Some(guard) => {
                let condition = self.truth(guard, false);
                self.program.conjuncts(condition)
            }
        };
        let mut body = Vec::with_capacity(transition.effects.len() + 1);
        body.extend(self.step_to(process, transition));
        for assignment in &transition.effects {
            self.here = Some(assignment.span);
            let value = self.value(&assignment.value);
            let target = self.place(&assignment.target);
            let site = self.range_site(assignment.target.variable);
            body.push(ir::Statement::Assign {
                target,
                value,
                site,
            });
        }
        self.here = Some(transition.span);
        Half {
            process,
            source: transition.source,
            name,
            guards,
            body,
            size: text_size(transition) + 4 * (self.picked - picked_before),
        }
    }

    /// The move to the target state, if it is another one.
    fn step_to(&mut self, process: ProcessId, transition: &Transition) -> Option<ir::Statement> {
        if transition.source == transition.target {
            return None;
        }
        let in_program = self.names.processes[process.index()]?;
        let counter = self.program.processes[in_program.index()].counter;
        let site = self
            .program
            .site(FailureKind::Other, "there is no such state", self.here);
        let target = ir::Expr::Const(transition.target.0 as i32);
        Some(ir::Statement::assign(counter, target, site))
    }

    fn place(&mut self, place: &Place) -> ir::Place {
        match &place.index {
            None => ir::Place::Var(self.variable(place.variable)),
            Some(index) => {
                let (variable, index, site) = self.element(place, index);
                ir::Place::Element(variable, index, site)
            }
        }
    }

    /// Adds the use of a buffered channel to a command, transfer first; returns what to
    /// append to its name.
    fn buffered(
        &mut self,
        transition: &Transition,
        guards: &mut Vec<LabelId>,
        body: &mut Vec<ir::Statement>,
    ) -> String {
        let Some(sync) = &transition.sync else {
            return String::new();
        };
        let Some(id) = self.names.channels[sync.channel.index()] else {
            return String::new();
        };
        let channel = ir::ChannelRef::Fixed(id);
        let name = self.model.channel(sync.channel).name.clone();
        let message = format!("the channel {name} is not ready");
        match &sync.payload {
            Payload::Send(values) => {
                if let Some(room) = self.program.has_room(&channel) {
                    guards.push(self.program.label(room));
                }
                let values = values.iter().map(|value| self.value(value)).collect();
                let site = self
                    .program
                    .site(FailureKind::BadChannel, message, self.here);
                let order = ir::SendOrder::Fifo;
                body.push(ir::Statement::Send {
                    channel,
                    values,
                    order,
                    site,
                });
                format!(" ({name}!)")
            }
            Payload::Receive(places) => {
                guards.push(self.program.label(ir::Program::has_message(&channel)));
                let targets = self.old_state_places(places, body);
                let site = self
                    .program
                    .site(FailureKind::BadChannel, message, self.here);
                body.push(ir::Statement::Receive {
                    channel,
                    position: None,
                    targets: targets.into_iter().map(Some).collect(),
                    remove: true,
                    site,
                });
                format!(" ({name}?)")
            }
        }
    }

    /// The places of a receive, their indices fixed before anything is stored: an index
    /// that could see an earlier item of the same message is kept in a temporary.
    fn old_state_places(
        &mut self,
        places: &[Place],
        body: &mut Vec<ir::Statement>,
    ) -> Vec<ir::Place> {
        let mut targets = Vec::with_capacity(places.len());
        for (nr, place) in places.iter().enumerate() {
            let target = match self.place(place) {
                ir::Place::Element(array, index, site)
                    if nr > 0 && !matches!(index, ir::Expr::Const(_)) =>
                {
                    // Messages are short enough that their items can be numbered by a byte.
                    let temp = ir::TempId(nr as u8);
                    body.push(ir::Statement::Let(temp, index));
                    ir::Place::Element(array, ir::Expr::Temp(temp), site)
                }
                other => other,
            };
            targets.push(target);
        }
        targets
    }

    /// A global variable that the effects of both partners assign.
    fn conflict(&self, sending: &Transition, receiving: &Transition) -> Option<&str> {
        let mut both = sending
            .assigned()
            .filter(|v| receiving.assigned().any(|w| *v == w));
        both.find(|v| self.model.variable(*v).owner.is_none())
            .map(|v| self.model.variable(v).name.as_str())
    }

    /// Moves the values, one after the other: each is computed after the previous one was
    /// stored, and cut to its type if the channel has types.
    fn transfer(
        &mut self,
        channel: ChannelId,
        sending: &Transition,
        receiving: &Transition,
        body: &mut Vec<ir::Statement>,
    ) {
        let (Some(send), Some(receive)) = (&sending.sync, &receiving.sync) else {
            return;
        };
        let (Payload::Send(values), Payload::Receive(places)) = (&send.payload, &receive.payload)
        else {
            return;
        };
        let model = Arc::clone(&self.model);
        let types = model.channel(channel).types.as_deref();
        let targets = self.old_state_places(places, body);
        for (nr, (target, value)) in targets.into_iter().zip(values).enumerate() {
            let mut value = self.value(value);
            if let Some(ty) = types.and_then(|types| types.get(nr)) {
                value = self.cut(*ty, value);
            }
            let site = self.range_site(places[nr].variable);
            body.push(ir::Statement::Assign {
                target,
                value,
                site,
            });
        }
    }

    /// A value truncated to a type.
    fn cut(&self, ty: Type, value: ir::Expr) -> ir::Expr {
        if self.program.interval(&value).within(ty.min(), ty.max()) {
            return value;
        }
        match ty {
            Type::Byte => ir::Expr::binary(ir::BinaryOp::BitAnd, value, ir::Expr::Const(255)),
            Type::Int => {
                let sixteen = || ir::Expr::Const(16);
                let high = ir::Expr::binary(ir::BinaryOp::ShiftLeft, value, sixteen());
                ir::Expr::binary(ir::BinaryOp::ShiftRight, high, sixteen())
            }
        }
    }
}

impl Commands<'_> {
    fn all(&mut self, model: &Model) -> Result<(), Span> {
        let mut senders: Vec<Vec<Partner<'_>>> = Vec::new();
        let mut receivers: Vec<Vec<Partner<'_>>> = Vec::new();
        senders.resize_with(model.channels.len(), Vec::new);
        receivers.resize_with(model.channels.len(), Vec::new);
        for (id, process) in model.processes() {
            if model.property == Some(id) {
                continue;
            }
            let mut repetitions = Repetitions::of(&process.transitions);
            for transition in &process.transitions {
                self.lowered.here = Some(transition.span);
                let name = repetitions.name(model, id, transition);
                let half = self.lowered.half(id, transition, name);
                match &transition.sync {
                    Some(sync) if model.channel(sync.channel).capacity == 0 => {
                        let side = match sync.payload {
                            Payload::Send(_) => &mut senders,
                            Payload::Receive(_) => &mut receivers,
                        };
                        side[sync.channel.index()].push((half, transition));
                    }
                    _ => self.single(half, transition)?,
                }
            }
        }
        for (index, (senders, receivers)) in senders.iter().zip(&receivers).enumerate() {
            for sender in senders {
                for receiver in receivers {
                    if sender.0.process != receiver.0.process {
                        self.pair(ChannelId::new(index), sender, receiver)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A transition of one process: without communication, or on a buffered channel.
    fn single(&mut self, half: Half, transition: &Transition) -> Result<(), Span> {
        let ends = [(half.process, half.source)];
        let mut guards = half.guards;
        let mut body = Vec::new();
        let picked_before = self.lowered.picked;
        let suffix = self.lowered.buffered(transition, &mut guards, &mut body);
        body.extend(half.body);
        guards.extend(self.commitment_guards(&ends).unwrap_or_default());
        let picked = self.lowered.picked - picked_before;
        let size = half.size + 8 * guards.len() + 4 * picked;
        self.push(
            half.name + &suffix,
            &ends,
            guards,
            body,
            transition.span,
            size,
        )
    }

    fn pair(
        &mut self,
        channel: ChannelId,
        (sender, sending): &Partner<'_>,
        (receiver, receiving): &Partner<'_>,
    ) -> Result<(), Span> {
        let ends = [
            (sender.process, sender.source),
            (receiver.process, receiver.source),
        ];
        let Some(uncommitted) = self.commitment_guards(&ends) else {
            return Ok(());
        };
        let mut guards = sender.guards.clone();
        guards.extend(&receiver.guards);
        guards.extend(uncommitted);
        let mut size = sender.size + receiver.size + 8 * guards.len();
        if self.size + size > MAX_TOTAL_SIZE {
            return Err(sending.span);
        }
        let lowered = &mut *self.lowered;
        let picked_before = lowered.picked;
        lowered.here = Some(sending.span);
        let mut body = Vec::new();
        if let Some(variable) = lowered.conflict(sending, receiving) {
            let message = format!("both partners of a rendezvous assign to {variable}");
            let site = lowered
                .program
                .site(FailureKind::Other, message, lowered.here);
            body.push(ir::Statement::Fail(site));
        } else {
            lowered.transfer(channel, sending, receiving, &mut body);
            body.extend(receiver.body.iter().cloned());
            body.extend(sender.body.iter().cloned());
        }
        size += 4 * (lowered.picked - picked_before);
        let channel = &lowered.model.channel(channel).name;
        let name = format!(
            "{} ({channel}!), {} ({channel}?)",
            sender.name, receiver.name
        );
        self.push(name, &ends, guards, body, sending.span, size)
    }

    /// Guards that forbid the step where committed processes go first; `None` if the step
    /// is impossible because only some of its own processes are committed.
    fn commitment_guards(&self, ends: &[(ProcessId, LocationId)]) -> Option<Vec<LabelId>> {
        let is_committed = |(process, location): &&(ProcessId, LocationId)| {
            self.lowered.model.process(*process).locations[location.index()].committed
        };
        let committed = ends.iter().filter(is_committed).count();
        if committed > 0 {
            return (committed == ends.len()).then(Vec::new);
        }
        let others = self
            .elsewhere
            .iter()
            .filter(|(id, _)| ends.iter().all(|(p, _)| p != id));
        Some(others.map(|(_, label)| *label).collect())
    }

    fn push(
        &mut self,
        name: String,
        ends: &[(ProcessId, LocationId)],
        guards: Vec<LabelId>,
        body: Vec<ir::Statement>,
        span: Span,
        size: usize,
    ) -> Result<(), Span> {
        self.size += size;
        let lowered = &mut *self.lowered;
        if lowered.program.commands.len() >= MAX_COMMANDS || self.size > MAX_TOTAL_SIZE {
            return Err(span);
        }
        let in_program =
            |(process, _): &(ProcessId, LocationId)| lowered.names.processes[process.index()];
        let processes = ends.iter().filter_map(in_program).collect();
        let sources = ends.iter().map(|(_, location)| Some(location.0)).collect();
        lowered.program.command(ir::Command {
            name,
            processes,
            sources,
            guards,
            body,
            span: Some(span),
            ..ir::Command::default()
        });
        Ok(())
    }
}

/// Bytes of a transition's text.
fn text_size(transition: &Transition) -> usize {
    (transition.span.end - transition.span.start) as usize
}

/// Numbers transitions between the same two states, so that every name is unique.
struct Repetitions {
    /// How many there are, and how many were named.
    edges: HashMap<(LocationId, LocationId), (u32, u32)>,
}

impl Repetitions {
    fn of(transitions: &[Transition]) -> Self {
        let mut edges = HashMap::new();
        for transition in transitions {
            edges
                .entry((transition.source, transition.target))
                .or_insert((0, 0))
                .0 += 1;
        }
        Self { edges }
    }

    /// `P: a -> b`, or `P: a -> b #2` for the second of several.
    fn name(&mut self, model: &Model, process: ProcessId, transition: &Transition) -> String {
        let process = model.process(process);
        let source = &process.locations[transition.source.index()].name;
        let target = &process.locations[transition.target.index()].name;
        let mut name = format!("{}: {source} -> {target}", process.name);
        if let Some((count, named)) = self.edges.get_mut(&(transition.source, transition.target)) {
            *named += 1;
            if *count > 1 {
                name.push_str(&format!(" #{named}"));
            }
        }
        name
    }
}
