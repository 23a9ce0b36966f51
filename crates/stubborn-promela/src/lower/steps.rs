//! One command, or a few, for each step of each process.

use stubborn_diagnostics::Diagnostic;
use stubborn_diagnostics::Span;
use stubborn_ir::{self as ir, Command, SendOrder, Statement, TempId};
use stubborn_system::{FailureKind, ProcessId};

use super::channels::Target;
use super::events::Event;
use super::expressions::pattern_of;
use super::storage::Store;
use super::{Context, Lowering, StepInfo, guards};
use crate::flow::{Action, StateNr, Transition};
use crate::hir::{Argument, Basic, Expr, Place, ProcId};

/// A step of a process in a slot.
#[derive(Clone, Copy)]
pub(super) struct Step<'t> {
    pub(super) slot: usize,
    pub(super) instance: usize,
    pub(super) state: StateNr,
    pub(super) location: u32,
    pub(super) transition: &'t Transition,
    pub(super) context: Context,
}

/// Statements of a command in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub(super) statements: Vec<Statement>,
    pub(super) temps: usize,
}

impl Body {
    pub(super) fn temp(&mut self) -> TempId {
        self.temps += 1;
        super::rendezvous::temp_id(self.temps - 1)
    }

    /// Evaluates all of these now: what fails among them fails before anything else happens.
    pub(super) fn evaluate(&mut self, values: &mut [ir::Expr]) {
        for value in values {
            if !matches!(value, ir::Expr::Const(_) | ir::Expr::Var(_)) {
                let temp = self.temp();
                let value = std::mem::replace(value, ir::Expr::Temp(temp));
                self.statements.push(Statement::Let(temp, value));
            }
        }
    }
}

impl Lowering<'_> {
    /// All commands of a process type in a slot.
    pub(super) fn instance_steps(&mut self, slot: usize, instance: usize) {
        let kind = self.type_of(slot, instance);
        for state in kind.flow.reachable() {
            if self.budget.poll().is_some() {
                return;
            }
            let Some(location) = self.location(slot, instance, state) else {
                continue;
            };
            let transitions = &kind.flow.states[state].transitions;
            for (at, transition) in transitions.iter().enumerate() {
                let context = Context::of(slot, instance);
                let step = Step {
                    slot,
                    instance,
                    state,
                    location,
                    transition,
                    context,
                };
                self.step(step, &transitions[..at]);
            }
        }
    }

    fn step(&mut self, step: Step<'_>, earlier: &[Transition]) {
        self.step_with(step, earlier);
        // `timeout` holds where nothing else can move: a command of low priority.
        let mut clauses = self.source.processes.iter().flat_map(|p| &p.provided);
        if waits_for_timeout(step.transition) || clauses.any(Lowering::asks_timeout) {
            let context = Context {
                timeout: true,
                ..step.context
            };
            self.step_with(Step { context, ..step }, earlier);
        }
    }

    fn step_with(&mut self, step: Step<'_>, earlier: &[Transition]) {
        let context = step.context;
        let mut common = Vec::from_iter(self.provided(context));
        common.extend(self.nobody_before(step.slot, context.timeout));
        // An executable escape of an `unless` keeps everything else from moving.
        for escape in earlier.iter().filter(|t| t.escape != 0) {
            if escape.escape != step.transition.escape {
                let can = self.executable(escape, context);
                common.push(guards::not(can));
            }
        }
        if common.contains(&ir::Expr::Const(0)) {
            return;
        }
        match &*step.transition.action {
            Action::Blocked => {}
            Action::Jump => self.own_command(&step, common, Body::default()),
            Action::DStep(graph) => {
                let receive = matches!(
                    graph.nodes.first(),
                    Some(crate::flow::DNode::Step(Basic::Receive { .. }, ..))
                );
                let can = self.executable_d_step(graph, step.transition, context);
                // A rendez-vous receive makes it passive; its partner has the command.
                if receive && can == ir::Expr::Const(0) {
                    return;
                }
                common.push(can);
                let mut body = Body::default();
                self.d_step_body(graph, 0, step.transition, context, &mut body);
                self.own_command(&step, common, body);
            }
            Action::Basic(basic) => self.basic(&step, basic, common, earlier),
        }
    }

    fn basic(
        &mut self,
        step: &Step<'_>,
        basic: &Basic,
        mut common: Vec<ir::Expr>,
        earlier: &[Transition],
    ) {
        let context = step.context;
        match basic {
            Basic::Condition(expr) | Basic::Assign(_, expr)
                if crate::resolve::contains_run(expr) =>
            {
                let alone = matches!(expr, Expr::Run(_)) || matches!(basic, Basic::Assign(..));
                match alone {
                    true => self.run_steps(step, basic, &common),
                    false => {
                        let message = "`run` can only stand alone or on the right of an assignment";
                        self.error("PML092", message, step.transition.span);
                    }
                }
            }
            Basic::Condition(expr) => {
                let value = self.expr(expr, context);
                common.push(guards::truth(value));
                self.own_command(step, common, Body::default());
            }
            Basic::Else => {
                for other in earlier {
                    let can = self.executable(other, context);
                    common.push(guards::not(can));
                }
                self.own_command(step, common, Body::default());
            }
            Basic::Send {
                channel,
                values,
                sorted,
            } => {
                let target = self.target(channel, context);
                let most = self
                    .channels
                    .list
                    .iter()
                    .map(|c| c.fields.len())
                    .max()
                    .unwrap_or(0);
                if values.len() > most {
                    let message = format!("no channel takes {} fields", values.len());
                    self.error("PML097", message, step.transition.span);
                }
                let cases = self.cases(&target);
                let takes = cases
                    .iter()
                    .map(|(c, _)| self.channels.list[*c].fields.len());
                if let Some(least) = takes.min().filter(|least| values.len() < *least) {
                    let (given, span) = (values.len(), step.transition.span);
                    let message =
                        format!("too few fields: the channel takes {least}, {given} given");
                    let warning = Diagnostic::warning("PML103", message, span);
                    self.tell(warning.help("to send so is an error, and the others are 0"));
                }
                for (channel, denotes) in cases {
                    let mut guards = common.clone();
                    guards.push(denotes);
                    match self.channels.list[channel].capacity {
                        0 => self.rendezvous(step, channel, values, &guards),
                        _ => self.send(step, channel, values, *sorted, guards),
                    }
                }
                self.no_channel(step, &target, common);
            }
            Basic::Receive {
                channel,
                arguments,
                random,
                keep,
            } => {
                let target = self.target(channel, context);
                for (channel, denotes) in self.cases(&target) {
                    let mut guards = common.clone();
                    guards.push(denotes);
                    match (self.channels.list[channel].capacity, *keep) {
                        // Who sends looks for its receiver.
                        (0, false) => {}
                        (0, true) => {
                            let why = "looks into a rendez-vous channel";
                            guards.push(self.nothing_to_poll(step.transition.span, why));
                            self.own_command(step, guards, Body::default());
                        }
                        _ => self.receive(step, channel, arguments, *random, *keep, guards),
                    }
                }
                self.no_channel(step, &target, common);
            }
            Basic::End => self.end_step(step, common),
            _ => {
                let mut body = Body::default();
                self.simple(basic, context, step.transition.span, &mut body);
                self.own_command(step, common, body);
            }
        }
    }

    /// The channels a reference can denote, each with the guard that says so.
    pub(super) fn cases(&self, target: &Target) -> Vec<(usize, ir::Expr)> {
        match target {
            Target::Fixed(channel) => vec![(*channel, ir::Expr::Const(1))],
            Target::Dynamic { value, options, .. } => options
                .iter()
                .map(|(number, channel)| (*channel, guards::is(value.clone(), *number)))
                .collect(),
        }
    }

    /// A command that fails where a reference denotes no channel.
    fn no_channel(&mut self, step: &Step<'_>, target: &Target, mut common: Vec<ir::Expr>) {
        let Target::Dynamic {
            value,
            options,
            may_miss: true,
        } = target
        else {
            return;
        };
        for (number, _) in options {
            common.push(guards::not(guards::is(value.clone(), *number)));
        }
        let site = self.bad_channel(step.transition.span);
        let body = Body {
            statements: vec![Statement::Fail(site)],
            temps: 0,
        };
        self.own_command(step, common, body);
    }

    /// A statement that is always executable.
    pub(super) fn simple(&mut self, basic: &Basic, context: Context, span: Span, body: &mut Body) {
        match basic {
            Basic::Assign(place, value) => {
                let value = self.expr(value, context);
                self.assign(place, value, context, body);
            }
            Basic::AssignAll(variable, values) => {
                let place = Place {
                    variable: *variable,
                    leaf: 0,
                    indices: Vec::new(),
                    scalar: crate::hir::Scalar::Int,
                    span,
                };
                if let Some(Store::Variable(id)) = self.store(&place, context).cloned() {
                    let values = values.iter().map(|v| ir::Expr::Const(*v)).collect();
                    self.assign_all(id, false, values, body);
                }
            }
            Basic::Assert(condition) => {
                let condition = self.expr(condition, context);
                let message = format!("assertion violated: `{}`", self.text(span));
                let site = self
                    .program
                    .site(FailureKind::Assertion, message, Some(span));
                body.statements.push(Statement::Assert { condition, site });
            }
            Basic::SetPriority(Some(pid), value) => {
                self.set_priority(pid, value, context, span, body);
            }
            Basic::SetPriority(None, value) => self.set_own_priority(value, context, body),
            Basic::Print(format, arguments) => {
                self.print(format, arguments, context, body);
            }
            Basic::PrintMtype(value) => {
                self.print("%e", std::slice::from_ref(value), context, body);
            }
            // Conditions, `else` and channel operations have commands of their own.
            _ => {}
        }
    }

    pub(super) fn assign(
        &mut self,
        place: &Place,
        value: ir::Expr,
        context: Context,
        body: &mut Body,
    ) {
        let site = self.never;
        match self.assignable(place, context) {
            Some(target) => body.statements.push(Statement::Assign {
                target,
                value,
                site,
            }),
            None => {
                let name = self.variable_name(place.variable, context);
                self.error("PML094", format!("{name} cannot be assigned"), place.span);
            }
        }
    }

    /// The text of a printf with holes, and what goes into them.
    fn print(&mut self, format: &str, arguments: &[Expr], context: Context, body: &mut Body) {
        let mut text = String::new();
        let mut values = Vec::new();
        let mut given = arguments.iter();
        let mut characters = format.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                '%' => {
                    let mut kind = characters.next();
                    while kind.is_some_and(|k| k.is_ascii_digit() || k == '-') {
                        kind = characters.next();
                    }
                    match kind {
                        Some('%') | None => text.push('%'),
                        Some(kind) => {
                            let Some(value) = given.next() else {
                                continue;
                            };
                            text.push('{');
                            match kind {
                                'e' => text += &self.mtype_names(value),
                                'c' | 'o' | 'u' | 'x' => text.push(kind),
                                _ => {}
                            }
                            text.push('}');
                            values.push(self.expr(value, context));
                        }
                    }
                }
                '{' | '}' => text.extend([c, c]),
                other => text.push(other),
            }
        }
        let shown = values.len();
        values.extend(given.map(|value| self.expr(value, context)));
        // All are evaluated, whether or not anybody looks at what is printed: one that has no value
        // is an error. Those that cannot fail are left alone, so that nothing depends on them.
        for value in &mut values {
            if self.program.may_fail(value) {
                body.evaluate(std::slice::from_mut(value));
            }
        }
        values.truncate(shown);
        let arguments = values;
        body.statements.push(Statement::Print { text, arguments });
    }

    /// The names that `%e` shows for a value: those of its type, else of the nameless set.
    fn mtype_names(&self, value: &Expr) -> String {
        let set = match value {
            Expr::Load(place) => match place.scalar {
                crate::hir::Scalar::Mtype(set) => set,
                _ => 0,
            },
            _ => 0,
        };
        let names: Vec<&str> = self.source.mtypes[set].names.iter().map(|n| &**n).collect();
        format!("={}", names.join(","))
    }

    fn send(
        &mut self,
        step: &Step<'_>,
        channel: usize,
        values: &[Expr],
        sorted: bool,
        mut guards: Vec<ir::Expr>,
    ) {
        let room = self.has_room(channel);
        let mut body = Body::default();
        self.send_body(
            channel,
            values,
            sorted,
            step.context,
            step.transition.span,
            &mut body,
        );
        if self.options.lossy {
            let mut full = guards.clone();
            full.push(guards::not(room.clone()));
            self.own_command(step, full, Body::default());
        }
        guards.push(room);
        self.own_command(step, guards, body);
    }

    pub(super) fn send_body(
        &mut self,
        channel: usize,
        values: &[Expr],
        sorted: bool,
        context: Context,
        span: Span,
        body: &mut Body,
    ) {
        let fields = self.channels.list[channel].fields.len();
        if values.len() != fields {
            self.wrong_length(body, "the message has too few or too many fields", span);
        }
        let mut lowered: Vec<ir::Expr> = values
            .iter()
            .take(fields)
            .map(|v| self.expr(v, context))
            .collect();
        lowered.resize(fields, ir::Expr::Const(0));
        if !self.observers.is_empty() {
            body.evaluate(&mut lowered);
            let message = self.message(channel, lowered.clone());
            let event = Event {
                send: true,
                channel,
                message: &message,
                span,
            };
            self.observe(&event, body);
        }
        body.statements.push(Statement::Send {
            channel: ir::ChannelRef::Fixed(self.channels.list[channel].id),
            values: lowered,
            order: if sorted {
                SendOrder::Sorted
            } else {
                SendOrder::Fifo
            },
            site: self.never,
        });
    }

    fn receive(
        &mut self,
        step: &Step<'_>,
        channel: usize,
        arguments: &[Argument],
        random: bool,
        keep: bool,
        mut guards: Vec<ir::Expr>,
    ) {
        let (context, span) = (step.context, step.transition.span);
        let pattern = pattern_of(self, arguments, context);
        guards.push(self.message_fits(channel, &pattern, random, span));
        let mut body = Body::default();
        self.receive_body(channel, arguments, random, keep, context, span, &mut body);
        self.own_command(step, guards, body);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn receive_body(
        &mut self,
        channel: usize,
        arguments: &[Argument],
        random: bool,
        keep: bool,
        context: Context,
        span: Span,
        body: &mut Body,
    ) {
        let fields = self.channels.list[channel].fields.len();
        if arguments.len() != fields {
            self.wrong_length(
                body,
                "the number of fields differs from that of the channel",
                span,
            );
        }
        let pattern = pattern_of(self, arguments, context);
        let mut position = None;
        if random && pattern.iter().any(Option::is_some) {
            let capacity = self.channels.list[channel].capacity;
            let mut first = ir::Expr::Const(capacity as i32 - 1);
            for at in (0..capacity.saturating_sub(1)).rev() {
                let here = self.fits_at(channel, &pattern, at, span);
                first = guards::choose(here, ir::Expr::Const(at as i32), first);
            }
            position = Some(first);
        }
        let mut targets: Vec<Option<ir::Place>> = Vec::new();
        for argument in arguments.iter().take(fields) {
            targets.push(match argument {
                Argument::Store(place) => self.assignable(place, context),
                _ => None,
            });
        }
        targets.resize(fields, None);
        // A look at a message is no event: it stays where it is.
        if !keep && !self.observers.is_empty() {
            let at = position.clone().unwrap_or(ir::Expr::Const(0));
            let message: Vec<ir::Expr> = (0..fields)
                .map(|item| self.peek(channel, at.clone(), item, span))
                .collect();
            let event = Event {
                send: false,
                channel,
                message: &message,
                span,
            };
            self.observe(&event, body);
        }
        body.statements.push(Statement::Receive {
            channel: ir::ChannelRef::Fixed(self.channels.list[channel].id),
            position,
            targets,
            remove: !keep,
            site: self.never,
        });
    }

    pub(super) fn step_name(&self, step: &Step<'_>) -> String {
        let process = &self.program.processes[self.slots[step.slot].process.index()];
        let span = step.transition.span;
        let text = match &*step.transition.action {
            Action::Basic(Basic::End) => "end".to_string(),
            Action::Basic(Basic::Else) => match self.text(span) {
                // What leaves a loop belongs to it.
                text if text.starts_with("for") => text,
                _ => "else".to_string(),
            },
            _ => self.text(span),
        };
        format!("{}:{} {text}", process.name, self.line(span))
    }

    /// A command of one process, which then goes to the step's target.
    pub(super) fn own_command(&mut self, step: &Step<'_>, guards: Vec<ir::Expr>, mut body: Body) {
        let location = self
            .location(step.slot, step.instance, step.transition.target)
            .unwrap_or(0);
        let slot = &self.slots[step.slot];
        let (process, counter) = (slot.process, slot.counter);
        let never = self.never;
        self.respect_claims(step.transition, step.context, &mut body);
        self.bury(
            step.slot,
            step.instance,
            step.state,
            step.transition,
            &mut body,
        );
        if location != step.location {
            let location = ir::Expr::Const(location as i32);
            body.statements
                .push(Statement::assign(counter, location, never));
        }
        if let Some(last) = self.last {
            let pid = ir::Expr::Const(step.slot as i32);
            body.statements.push(Statement::assign(last, pid, never));
        }
        let kind = self.slots[step.slot].instances[step.instance].process;
        let parts = vec![(step.slot, kind, step.transition.number)];
        let continues = self.goes_on(step.transition).then_some(process);
        let name = self.step_name(step);
        self.command(
            name,
            vec![process],
            vec![Some(step.location)],
            guards,
            body,
            u8::from(step.context.timeout),
            continues,
            step.transition.span,
            parts,
        );
    }

    /// Whether a process does not let others move after a step.
    pub(super) fn goes_on(&self, transition: &Transition) -> bool {
        transition.atomic || self.options.merge && transition.joins
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn command(
        &mut self,
        name: String,
        processes: Vec<ProcessId>,
        sources: Vec<Option<u32>>,
        conditions: Vec<ir::Expr>,
        body: Body,
        priority: u8,
        continues: Option<ProcessId>,
        span: Span,
        parts: Vec<(usize, ProcId, usize)>,
    ) {
        if conditions.contains(&ir::Expr::Const(0)) {
            return;
        }
        if body.temps > 255 {
            self.error(
                "PML095",
                "this step needs too many intermediate values",
                span,
            );
        }
        let mut all = ir::Expr::Const(1);
        for condition in conditions.into_iter().rev() {
            all = guards::and(condition, all);
        }
        let guards = self.program.conjuncts(all);
        // Names say which command is meant; the same step can become several commands.
        let again = self.names.entry(name.clone()).or_insert(0);
        *again += 1;
        let name = if *again > 1 {
            format!("{name} #{again}")
        } else {
            name
        };
        self.program.command(Command {
            name,
            processes,
            sources,
            guards,
            body: body.statements,
            priority,
            continues,
            span: Some(span),
            endless: None,
            never_fails: false,
        });
        self.steps.push(StepInfo { parts });
    }
}

/// Whether a step can depend on `timeout`.
fn waits_for_timeout(transition: &Transition) -> bool {
    match &*transition.action {
        Action::Basic(Basic::Condition(expr)) => Lowering::asks_timeout(expr),
        Action::DStep(graph) => graph.nodes.iter().any(|n| {
            matches!(n, crate::flow::DNode::Step(Basic::Condition(expr), ..)
                if Lowering::asks_timeout(expr))
        }),
        _ => false,
    }
}
