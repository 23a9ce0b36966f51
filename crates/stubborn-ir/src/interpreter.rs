//! The plain interpreter: the reference that compiled code is compared with.
//!
//! It walks the program's trees. Only the commands of the current locations are looked at,
//! because commands are sorted by process and location (see [`Model`]).

use stubborn_system::{
    BitSet, Executor, Field, LabelId, Outcome, Successors, System, TransitionId,
};

use crate::chain::{self, Runner};
use crate::output;
use crate::repetition::Repetition;
use crate::{
    ChannelRef, Command, Expr, Item, Model, Place, SendOrder, Site, Statement, VarId, VariablePlace,
};

/// Rounds of loops between two looks at the budget.
const POLL: u64 = 1 << 12;
/// Most rounds of loops of a body that an analysis tries.
const TRIED_ROUNDS: u64 = 1 << 12;

/// Executes a [`Model`] by walking its program.
pub struct Interpreter<'m> {
    model: &'m Model,
    temps: Vec<i32>,
    /// Changed words of bodies that run alone; nobody asks for them.
    mask: Vec<u64>,
    /// Once there was a chain to run.
    runner: Option<Runner>,
}

impl<'m> Interpreter<'m> {
    /// For one thread.
    pub fn new(model: &'m Model) -> Self {
        Self {
            model,
            temps: vec![0; model.temporaries()],
            mask: vec![0; model.layout().words().div_ceil(64)],
            runner: None,
        }
    }

    /// Runs one command: `None` if it is disabled, else its first guard that fails, if any.
    fn enabled(&self, state: &[u32], command: &Command) -> Option<Result<(), Site>> {
        let mut outcome = Ok(());
        for guard in &command.guards {
            match self.label_value(state, *guard) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(site) => outcome = outcome.and(Err(site)),
            }
        }
        Some(outcome)
    }

    fn label_value(&self, state: &[u32], label: LabelId) -> Result<i32, Site> {
        Scope {
            model: self.model,
            temps: &self.temps,
        }
        .evaluate(state, &self.model.program().labels[label.index()].expr)
    }

    /// Appends the successors by one command, if it is enabled, with all that follows in its
    /// [chain](crate::chain).
    fn step(&mut self, state: &[u32], at: u32, out: &mut Successors) {
        let from = out.len();
        self.step_once(state, at, out);
        if self.model.program().commands[at as usize]
            .continues
            .is_some()
        {
            let model = self.model;
            let runner = self.runner.take();
            let mut runner = runner.unwrap_or_else(|| Runner::new(state.len()));
            let once = &mut |state: &[u32], t: TransitionId, out: &mut Successors| {
                self.step_once(state, t.index() as u32, out);
            };
            runner.finish(model, state, from, out, &mut chain::one_by_one(model, once));
            self.runner = Some(runner);
        }
    }

    /// Appends the successor by one command alone, if it is enabled.
    fn step_once(&mut self, state: &[u32], at: u32, out: &mut Successors) {
        let model = self.model;
        let command = &model.program().commands[at as usize];
        let Some(guards) = self.enabled(state, command) else {
            return;
        };
        let transition = TransitionId::new(at as usize);
        let (words, mask) = out.push_copy(transition, state);
        let mut run = Run::new(model, words, mask, &mut self.temps);
        let result = guards.and_then(|()| run.whole_body(&command.body));
        let (violated, gave_up) = (run.violated, run.gave_up);
        match result {
            Ok(()) if violated == Outcome::FINE => {}
            Ok(()) => out.set_last_outcome(violated),
            Err(site) => {
                out.pop();
                if let (Some(error), false) = (&model.structure().error_state, gave_up) {
                    let outcome = violated.then(Outcome::failure(site.index()));
                    out.push(transition, state, error, outcome);
                }
            }
        }
    }

    /// Appends the successor by the first command of a transition alone, if it is enabled.
    pub fn fire_once(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.step_once(state, transition.index() as u32, out);
    }

    /// The commands of the first chain that starts with `transition` and leads from `state` to
    /// `target` with this outcome; see [`chain::explain`].
    pub fn explain(
        &mut self,
        state: &[u32],
        transition: TransitionId,
        target: (&[u32], Outcome),
    ) -> Vec<TransitionId> {
        let model = self.model;
        chain::explain(model, state, transition, target, &mut |state, t, out| {
            self.step_once(state, t.index() as u32, out);
        })
    }

    /// The state that running statements from `state` leads to, ignoring guards, and the outcome;
    /// used by analyses that try commands on partial states, and gives up on long loops (`None`).
    pub fn run_body(&mut self, state: &mut [u32], body: &[Statement]) -> Option<Outcome> {
        let mut run = Run {
            most_rounds: TRIED_ROUNDS,
            ..Run::new(self.model, state, &mut self.mask, &mut self.temps)
        };
        let outcome = match run.whole_body(body) {
            Ok(()) => run.violated,
            Err(site) => run.violated.then(Outcome::failure(site.index())),
        };
        (!run.gave_up).then_some(outcome)
    }

    /// What the first command of a transition prints when it runs in `state`.
    pub fn output(&mut self, state: &[u32], transition: TransitionId) -> String {
        let model = self.model;
        let mut words = state.to_vec();
        let mut printed = String::new();
        let mut run = Run {
            printed: Some(&mut printed),
            ..Run::new(model, &mut words, &mut self.mask, &mut self.temps)
        };
        // A body that fails has printed what it printed.
        let _ = run.whole_body(&model.program().commands[transition.index()].body);
        printed
    }

    /// Every command that runs in the chains that start with `transition` in `state`, once or
    /// more often.
    pub fn visit_chain(
        &mut self,
        state: &[u32],
        transition: TransitionId,
        visit: &mut dyn FnMut(TransitionId),
    ) {
        let model = self.model;
        let once = &mut |state: &[u32], t: TransitionId, out: &mut Successors| {
            self.step_once(state, t.index() as u32, out);
        };
        chain::visit(model, state, transition, once, visit);
    }

    /// The value of an expression without temporaries.
    pub fn evaluate(&self, state: &[u32], expr: &Expr) -> Result<i32, Site> {
        Scope {
            model: self.model,
            temps: &self.temps,
        }
        .evaluate(state, expr)
    }
}

impl Executor for Interpreter<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        if self.model.is_error(state) {
            return;
        }
        let before = out.len();
        for priority in 0..=self.model.largest_priority() {
            for range in self.model.candidates(state) {
                for at in range {
                    if self.model.program().commands[at as usize].priority == priority {
                        self.step(state, at, out);
                    }
                }
            }
            if out.len() > before {
                return;
            }
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        if self.model.is_error(state) {
            return;
        }
        let priority = self.model.program().commands[transition.index()].priority;
        let outranked = priority > 0
            && self.model.candidates(state).flatten().any(|at| {
                let command = &self.model.program().commands[at as usize];
                command.priority < priority && self.enabled(state, command).is_some()
            });
        if !outranked {
            self.step(state, transition.index() as u32, out);
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.label_value(state, label) != Ok(0)
    }

    fn labels(&mut self, state: &[u32], out: &mut BitSet) {
        for index in 0..out.len() {
            out.assign(index, self.label_value(state, LabelId::new(index)) != Ok(0));
        }
    }
}

/// The field of a variable, or of the element of an array.
fn element(model: &Model, variable: VarId, index: i32, site: Site) -> Result<&Field, Site> {
    let fields = model.layout().fields();
    match model.encoding().variables[variable.index()] {
        VariablePlace::Scalar(field) => Ok(&fields[field.index()]),
        VariablePlace::Array(place) => match u32::try_from(index) {
            Ok(index) if index < place.len => Ok(&fields[place.first.index() + index as usize]),
            _ => Err(site),
        },
    }
}

/// The field of an item of the message at a position of a channel.
fn cell(model: &Model, channel: usize, item: usize, position: u32) -> &Field {
    let place = &model.encoding().channels[channel];
    &model.layout().fields()[place.items[item].first.index() + position as usize]
}

/// What expressions can see.
struct Scope<'a> {
    model: &'a Model,
    temps: &'a [i32],
}

impl Scope<'_> {
    fn channel(&self, state: &[u32], channel: &ChannelRef) -> Result<usize, Site> {
        match channel {
            ChannelRef::Fixed(id) => Ok(id.index()),
            ChannelRef::Denoted {
                value,
                targets,
                site,
            } => {
                let value = self.evaluate(state, value)?;
                let target = targets.iter().find(|(v, _)| *v == value);
                target.map(|(_, id)| id.index()).ok_or(*site)
            }
        }
    }

    fn length(&self, state: &[u32], channel: usize) -> u32 {
        let place = &self.model.encoding().channels[channel];
        self.model.layout().get(state, place.length) as u32
    }

    #[inline]
    fn variable(&self, state: &[u32], variable: VarId) -> i32 {
        let field = self.model.encoding().first_field(variable);
        self.model.layout().get(state, field) as i32
    }

    /// The same as [`evaluate`](Self::evaluate). Most operands are variables and constants: these take
    /// no call.
    #[inline(always)]
    fn operand(&self, state: &[u32], expr: &Expr) -> Result<i32, Site> {
        match expr {
            Expr::Const(value) => Ok(*value),
            Expr::Var(variable) => Ok(self.variable(state, *variable)),
            _ => self.evaluate(state, expr),
        }
    }

    fn evaluate(&self, state: &[u32], expr: &Expr) -> Result<i32, Site> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Var(variable) => self.variable(state, *variable),
            Expr::Temp(temp) => self.temps.get(temp.index()).copied().unwrap_or(0),
            Expr::Element(variable, index, site) => {
                let index = self.operand(state, index)?;
                element(self.model, *variable, index, *site)?.get(state) as i32
            }
            Expr::Unary(op, operand) => op.apply(self.operand(state, operand)?),
            Expr::Binary(op, left, right) => {
                let left = self.operand(state, left)?;
                op.apply(left, self.operand(state, right)?)
            }
            Expr::Divide(op, left, right, site) => {
                let left = self.operand(state, left)?;
                op.apply(left, self.operand(state, right)?).ok_or(*site)?
            }
            Expr::And(left, right) => {
                i32::from(self.operand(state, left)? != 0 && self.operand(state, right)? != 0)
            }
            Expr::Or(left, right) => {
                i32::from(self.operand(state, left)? != 0 || self.operand(state, right)? != 0)
            }
            Expr::If(condition, then, otherwise) => {
                let holds = self.operand(state, condition)? != 0;
                self.operand(state, if holds { then } else { otherwise })?
            }
            Expr::Length(channel) => self.length(state, self.channel(state, channel)?) as i32,
            Expr::Peek {
                channel,
                position,
                item,
                site,
            } => {
                let channel = self.channel(state, channel)?;
                let position = self.operand(state, position)?;
                match u32::try_from(position) {
                    Ok(at) if at < self.length(state, channel) => {
                        cell(self.model, channel, *item as usize, at).get(state) as i32
                    }
                    _ => return Err(*site),
                }
            }
        })
    }
}

/// A body being run on a successor in the making.
struct Run<'a> {
    model: &'a Model,
    words: &'a mut [u32],
    mask: &'a mut [u64],
    temps: &'a mut [i32],
    /// The first assertion that was violated.
    violated: Outcome,
    /// Where to print, if anybody looks.
    printed: Option<&'a mut String>,
    /// Of all loops so far, and the most before it gives up.
    rounds: u64,
    most_rounds: u64,
    /// The body did not fail, but would take too long.
    gave_up: bool,
}

impl<'a> Run<'a> {
    fn new(
        model: &'a Model,
        words: &'a mut [u32],
        mask: &'a mut [u64],
        temps: &'a mut [i32],
    ) -> Self {
        Self {
            model,
            words,
            mask,
            temps,
            violated: Outcome::FINE,
            printed: None,
            rounds: 0,
            most_rounds: u64::MAX,
            gave_up: false,
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            model: self.model,
            temps: self.temps,
        }
    }

    fn value(&self, expr: &Expr) -> Result<i32, Site> {
        self.scope().operand(self.words, expr)
    }

    /// Runs a whole body: temporaries start at 0.
    fn whole_body(&mut self, body: &[Statement]) -> Result<(), Site> {
        if !self.temps.is_empty() {
            self.temps.fill(0);
        }
        self.body(body)
    }

    fn body(&mut self, body: &[Statement]) -> Result<(), Site> {
        body.iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Site> {
        match statement {
            Statement::Assign {
                target,
                value,
                site,
            } => {
                let value = self.value(value)?;
                self.assign(target, value, *site)
            }
            Statement::Let(temp, value) => {
                self.temps[temp.index()] = self.value(value)?;
                Ok(())
            }
            Statement::Send {
                channel,
                values,
                order,
                site,
            } => self.send(channel, values, *order, *site),
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                site,
            } => self.receive(channel, position.as_ref(), targets, *remove, *site),
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.value(condition)? != 0;
                self.body(if holds { then } else { otherwise })
            }
            Statement::While {
                condition,
                body,
                site,
            } => {
                let mut repetition = Repetition::default();
                let mut temps: Vec<u32> = Vec::new();
                while self.value(condition)? != 0 {
                    temps.clear();
                    temps.extend(self.temps.iter().map(|t| *t as u32));
                    if self.takes_too_long() || repetition.is_back(self.words, &temps) {
                        return Err(*site);
                    }
                    self.body(body)?;
                }
                Ok(())
            }
            Statement::Assert { condition, site } => {
                if self.value(condition)? == 0 {
                    self.violated = self.violated.then(Outcome::violation(site.index()));
                }
                Ok(())
            }
            Statement::Fail(site) => Err(*site),
            Statement::Print { text, arguments } => {
                if self.printed.is_some() {
                    let values = arguments.iter().map(|a| self.value(a));
                    let values = values.collect::<Result<Vec<i32>, Site>>()?;
                    if let Some(printed) = &mut self.printed {
                        printed.push_str(&output::filled(text, &values));
                    }
                }
                Ok(())
            }
        }
    }

    /// Counts a round of a loop.
    fn takes_too_long(&mut self) -> bool {
        self.rounds += 1;
        let spent = self.rounds.is_multiple_of(POLL) && self.model.budget().poll().is_some();
        self.gave_up = spent || self.rounds > self.most_rounds;
        self.gave_up
    }

    fn assign(&mut self, target: &Place, value: i32, site: Site) -> Result<(), Site> {
        let (variable, index, index_site) = match target {
            Place::Var(variable) => (*variable, 0, site),
            Place::Element(variable, index, index_site) => {
                (*variable, self.value(index)?, *index_site)
            }
        };
        let model = self.model;
        let item = &model.program().variables[variable.index()].item;
        let field = element(model, variable, index, index_site)?;
        let value = item.store(value).ok_or(site)?;
        field.set(self.words, i64::from(value));
        self.touch(field);
        Ok(())
    }

    fn touch(&mut self, field: &Field) {
        self.mask[field.word as usize / 64] |= 1 << (field.word % 64);
    }

    fn set_cell(&mut self, channel: usize, item: usize, position: u32, value: Option<i64>) {
        let model = self.model;
        let field = cell(model, channel, item, position);
        field.set(self.words, value.unwrap_or(field.min));
        self.touch(field);
    }

    fn cell(&self, channel: usize, item: usize, position: u32) -> i64 {
        cell(self.model, channel, item, position).get(self.words)
    }

    fn set_length(&mut self, channel: usize, length: u32) {
        let model = self.model;
        let field = model
            .layout()
            .field(model.encoding().channels[channel].length);
        field.set(self.words, i64::from(length));
        self.touch(field);
    }

    fn send(
        &mut self,
        channel: &ChannelRef,
        values: &[Expr],
        order: SendOrder,
        site: Site,
    ) -> Result<(), Site> {
        let at = self.scope().channel(self.words, channel)?;
        let model = self.model;
        let declared = &model.program().channels[at];
        let mut message = Vec::with_capacity(values.len());
        let mut given = Vec::with_capacity(values.len());
        for (nr, value) in values.iter().enumerate() {
            let value = self.value(value)?;
            let item: &Item = declared.items.get(nr).ok_or(site)?;
            message.push(i64::from(item.store(value).ok_or(site)?));
            given.push(i64::from(value));
        }
        let length = self.scope().length(self.words, at);
        if length >= declared.capacity || message.len() != declared.items.len() {
            return Err(site);
        }
        let position = match order {
            SendOrder::Fifo => length,
            SendOrder::Sorted => (0..length)
                .find(|p| {
                    (0..given.len())
                        .map(|i| self.cell(at, i, *p))
                        .gt(given.iter().copied())
                })
                .unwrap_or(length),
        };
        for (item, value) in message.iter().enumerate() {
            for p in (position..length).rev() {
                let moved = self.cell(at, item, p);
                self.set_cell(at, item, p + 1, Some(moved));
            }
            self.set_cell(at, item, position, Some(*value));
        }
        self.set_length(at, length + 1);
        Ok(())
    }

    fn receive(
        &mut self,
        channel: &ChannelRef,
        position: Option<&Expr>,
        targets: &[Option<Place>],
        remove: bool,
        site: Site,
    ) -> Result<(), Site> {
        let at = self.scope().channel(self.words, channel)?;
        let position = match position {
            Some(position) => u32::try_from(self.value(position)?).map_err(|_| site)?,
            None => 0,
        };
        let length = self.scope().length(self.words, at);
        let items = self.model.program().channels[at].items.len();
        if position >= length || targets.len() != items {
            return Err(site);
        }
        let message: Vec<_> = (0..items)
            .map(|item| self.cell(at, item, position))
            .collect();
        if remove {
            for item in 0..items {
                for p in position..length - 1 {
                    let moved = self.cell(at, item, p + 1);
                    self.set_cell(at, item, p, Some(moved));
                }
                self.set_cell(at, item, length - 1, None);
            }
            self.set_length(at, length - 1);
        }
        for (value, target) in message.into_iter().zip(targets) {
            if let Some(place) = target {
                self.assign(place, value as i32, site)?;
            }
        }
        Ok(())
    }
}
