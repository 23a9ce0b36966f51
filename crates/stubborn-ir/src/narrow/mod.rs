//! Smaller variables: ranges of values that hold in all reachable states.
//!
//! Languages have few types, and models use `int` for a counter up to three. An abstract
//! interpretation with intervals (P. Cousot, R. Cousot, "Abstract interpretation: a unified
//! lattice model", 1977) finds ranges that no run leaves; with these, states are smaller, and
//! many indices turn out to be always inside their arrays.
//!
//! Variables of a process are followed from location to location, so that the condition of a
//! loop bounds its counter. Shared variables, arrays and messages have one range each. What
//! a command does is run on ranges again whenever a range that it looks at has grown, and
//! ranges that go on growing jump to the next constant of the program, at last to all that
//! their type has.

mod evaluations;
pub(crate) mod occurring;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use stubborn_system::{ChannelId, ProcessId};

pub use self::evaluations::may_fail_somewhere;
use self::occurring::Seen;
use crate::chain::counter_after;
use crate::intervals::{Interval, binary_interval, divide_interval, unary_interval};
use crate::model::may_fail;
use crate::{
    BinaryOp, ChannelRef, Command, Expr, Item, Overflow, Place, Program, Statement, TempId,
    UnaryOp, VarId,
};

/// After so many steps, a growing range jumps to the next constant.
const PATIENCE: u32 = 20;
/// After so many steps, it becomes that of its type.
const LAST_STRAW: u32 = 60;
/// Most commands of a program that is worth the effort.
const MOST_COMMANDS: usize = 20_000;
/// Rounds of a loop inside a command before its ranges become those of their types.
const LOOP_ROUNDS: usize = 12;

/// Gives variables and messages the smallest ranges that are found to suffice.
///
/// Values that are not in the new ranges are never stored in any run. Program counters and
/// the order of everything stay as they are.
pub fn narrow(program: &mut Program) {
    let Some(ranges) = Ranges::stable(program) else {
        return;
    };
    let never_fails = ranges.never_fails();
    let (variables, items) = (ranges.variables, ranges.items);
    let counters: BTreeSet<VarId> = program.processes.iter().map(|p| p.counter).collect();
    for (at, (variable, range)) in program.variables.iter_mut().zip(variables).enumerate() {
        if !counters.contains(&VarId(at as u32)) {
            shrink(&mut variable.item, range);
        }
    }
    for (channel, ranges) in program.channels.iter_mut().zip(items) {
        for (item, range) in channel.items.iter_mut().zip(ranges) {
            // Unused places of a channel hold the item's smallest value.
            let nothing = Interval {
                min: item.min.max(0),
                max: item.min.max(0),
            };
            shrink(item, range.map_or(nothing, |range| range.join(nothing)));
        }
    }
    note_failures(program, never_fails);
}

/// Finds the commands that never fail, and leaves everything as it is.
pub fn find_failures(program: &mut Program) {
    if let Some(ranges) = Ranges::stable(program) {
        let never_fails = ranges.never_fails();
        note_failures(program, never_fails);
    }
}

fn note_failures(program: &mut Program, never_fails: Vec<bool>) {
    for (command, never_fails) in program.commands.iter_mut().zip(never_fails) {
        command.never_fails = never_fails;
    }
}

fn shrink(item: &mut Item, range: Interval) {
    let named = !item.names.is_empty();
    let min = match range.min >= 0 {
        true if named => item.min,
        true => item.min.max(0),
        false if named => return,
        false => range.min,
    };
    if (min, range.max) == (item.min, item.max) || min < item.min || item.max < range.max {
        return;
    }
    (item.min, item.max) = (min, range.max);
    if item.overflow == Overflow::Wrap {
        // A value that wraps would have led to the whole range.
        item.overflow = Overflow::Fits;
    }
}

/// A process whose location or variables a command may change.
struct Part {
    process: ProcessId,
    /// Where it is before; `None` if that is not known.
    source: Option<u32>,
    /// Where it can be put, and whether it always is.
    targets: BTreeSet<u32>,
    always: bool,
}

/// The ranges found so far.
struct Ranges<'p> {
    program: &'p Program,
    /// By variable: all values that it ever has.
    variables: Vec<Interval>,
    /// By channel and item: all values in messages; `None` before the first message.
    items: Vec<Vec<Option<Interval>>>,
    /// By process: its variables that are followed from location to location.
    locals: Vec<Vec<VarId>>,
    /// By process and location that it can be at: the ranges of its variables there.
    places: Vec<BTreeMap<u32, Vec<Interval>>>,
    /// By command.
    parts: Vec<Vec<Part>>,
    readers: Readers,
    /// Constants of the program, where growing ranges may rest.
    rests: Vec<i32>,
    /// How often ranges have grown.
    grown: HashMap<Grown, u32>,
    queue: VecDeque<u32>,
    queued: Vec<bool>,
}

/// What has grown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Grown {
    Variable(VarId),
    Item(ChannelId, usize),
    Place(ProcessId, u32),
}

/// Who looks at what.
#[derive(Default)]
struct Readers {
    variables: HashMap<VarId, Vec<u32>>,
    channels: HashMap<ChannelId, Vec<u32>>,
    /// Commands with a process that is at a location; `None` for those that do not say where.
    places: HashMap<(ProcessId, Option<u32>), Vec<u32>>,
}

/// Ranges at one point of a command.
#[derive(Clone, Default)]
struct Env {
    variables: HashMap<VarId, Interval>,
    temps: HashMap<TempId, Interval>,
}

impl<'p> Ranges<'p> {
    fn new(program: &'p Program) -> Self {
        let start = |v: &crate::Variable| {
            let values = v.initial.iter().map(|x| Interval { min: *x, max: *x });
            values.reduce(Interval::join).unwrap_or(Interval {
                min: v.item.min,
                max: v.item.max,
            })
        };
        let variables: Vec<Interval> = program.variables.iter().map(start).collect();
        let parts: Option<Vec<Vec<Part>>> = program
            .commands
            .iter()
            .map(|command| parts(program, command))
            .collect();
        let followed = parts.is_some();
        let parts = parts.unwrap_or_else(|| program.commands.iter().map(|_| vec![]).collect());
        let locals = match followed {
            true => locals(program, &parts),
            false => vec![Vec::new(); program.processes.len()],
        };
        let places = program.processes.iter().zip(&locals).map(|(process, own)| {
            let at = variables[process.counter.index()].min as u32;
            let ranges = own.iter().map(|v| variables[v.index()]).collect();
            BTreeMap::from([(at, ranges)])
        });
        let places = places.collect();
        let mut ranges = Self {
            program,
            variables,
            items: program
                .channels
                .iter()
                .map(|channel| vec![None; channel.items.len()])
                .collect(),
            locals,
            places,
            parts,
            readers: Readers::default(),
            rests: Vec::new(),
            grown: HashMap::new(),
            queue: (0..program.commands.len() as u32).collect(),
            queued: vec![true; program.commands.len()],
        };
        ranges.look_around();
        ranges
    }

    /// Finds readers and constants.
    fn look_around(&mut self) {
        let program = self.program;
        let mut rests = BTreeSet::new();
        for (at, command) in program.commands.iter().enumerate() {
            let at = at as u32;
            let mut seen = Seen::default();
            for guard in &command.guards {
                seen.expr(&program.labels[guard.index()].expr);
            }
            seen.body(&command.body);
            for variable in seen.variables {
                self.readers.variables.entry(variable).or_default().push(at);
            }
            for channel in seen.channels {
                self.readers.channels.entry(channel).or_default().push(at);
            }
            for part in &self.parts[at as usize] {
                let place = (part.process, part.source);
                self.readers.places.entry(place).or_default().push(at);
            }
            for constant in seen.constants {
                rests.extend([
                    constant.saturating_sub(1),
                    constant,
                    constant.saturating_add(1),
                ]);
            }
        }
        rests.extend((0..31).map(|bits| ((1_i64 << bits) - 1) as i32));
        self.rests = rests.into_iter().collect();
    }

    /// Ranges that no run leaves; `None` if the program is too large for that.
    fn stable(program: &'p Program) -> Option<Self> {
        if program.commands.len() > MOST_COMMANDS {
            return None;
        }
        let mut ranges = Self::new(program);
        while let Some(at) = ranges.queue.pop_front() {
            ranges.queued[at as usize] = false;
            ranges.command(at as usize);
        }
        Some(ranges)
    }

    fn wake(queue: &mut VecDeque<u32>, queued: &mut [bool], readers: Option<&Vec<u32>>) {
        for at in readers.into_iter().flatten() {
            if !std::mem::replace(&mut queued[*at as usize], true) {
                queue.push_back(*at);
            }
        }
    }

    /// Ranges where a command may be: `None` if its processes never get there.
    fn before(&self, at: usize) -> Option<Env> {
        let mut env = Env::default();
        for part in &self.parts[at] {
            let places = &self.places[part.process.index()];
            let ranges = match part.source {
                Some(source) => places.get(&source).cloned(),
                None => places.values().cloned().reduce(joined),
            }?;
            let own = &self.locals[part.process.index()];
            env.variables.extend(own.iter().copied().zip(ranges));
        }
        Some(env)
    }

    /// The same where the guards at these positions hold.
    fn enabled(&self, at: usize, guards: &[usize]) -> Option<Env> {
        let mut env = self.before(at)?;
        let command = &self.program.commands[at];
        for guard in guards {
            let label = command.guards[*guard];
            if !self.assume(&mut env, &self.program.labels[label.index()].expr, true) {
                return None;
            }
        }
        Some(env)
    }

    /// By command: with ranges that hold only where it is enabled, fewer can fail.
    fn never_fails(&self) -> Vec<bool> {
        let commands = self.program.commands.iter().enumerate();
        let never_fails = commands.map(|(at, command)| {
            let enabled = |holding: &[usize]| Some(self.all(self.enabled(at, holding)?));
            !may_fail(self.program, command, &enabled)
        });
        never_fails.collect()
    }

    /// The ranges of all variables.
    fn all(&self, env: Env) -> HashMap<VarId, Interval> {
        let everywhere = self.variables.iter().enumerate();
        let mut all: HashMap<_, _> = everywhere.map(|(at, r)| (VarId(at as u32), *r)).collect();
        all.extend(env.variables);
        all
    }

    /// Runs a command on ranges.
    fn command(&mut self, at: usize) {
        let command = &self.program.commands[at];
        let guards: Vec<usize> = (0..command.guards.len()).collect();
        let Some(mut env) = self.enabled(at, &guards) else {
            return;
        };
        if !self.body(&mut env, &command.body) {
            return;
        }
        for number in 0..self.parts[at].len() {
            let part = &self.parts[at][number];
            let process = part.process;
            let mut targets = part.targets.clone();
            if !part.always {
                match part.source {
                    Some(source) => {
                        targets.insert(source);
                    }
                    None => targets.extend(self.places[process.index()].keys()),
                }
            }
            let own = &self.locals[process.index()];
            let ranges: Vec<Interval> = own.iter().map(|v| self.variable(&env, *v)).collect();
            for target in targets {
                self.arrive(process, target, &ranges);
            }
        }
    }

    /// A process comes to a location.
    fn arrive(&mut self, process: ProcessId, location: u32, ranges: &[Interval]) {
        let known = self.places[process.index()].get(&location);
        let new = match known {
            None => ranges.to_vec(),
            Some(known) => {
                let new = joined(known.clone(), ranges.to_vec());
                if new == *known {
                    return;
                }
                let times = count(&mut self.grown, Grown::Place(process, location));
                let own = &self.locals[process.index()];
                let known = known.iter().zip(new).zip(own);
                known
                    .map(|((old, new), variable)| {
                        let item = &self.program.variables[variable.index()].item;
                        widened(&self.rests, *old, new, item, times)
                    })
                    .collect()
            }
        };
        self.places[process.index()].insert(location, new);
        for place in [(process, Some(location)), (process, None)] {
            let readers = self.readers.places.get(&place);
            Self::wake(&mut self.queue, &mut self.queued, readers);
        }
    }

    /// A variable, or an element of it, gets a value.
    fn note(&mut self, variable: VarId, value: Interval) {
        let old = self.variables[variable.index()];
        let new = old.join(value);
        if new != old {
            let times = count(&mut self.grown, Grown::Variable(variable));
            let item = &self.program.variables[variable.index()].item;
            self.variables[variable.index()] = widened(&self.rests, old, new, item, times);
            let readers = self.readers.variables.get(&variable);
            Self::wake(&mut self.queue, &mut self.queued, readers);
        }
    }

    /// A message has a value.
    fn note_message(&mut self, channel: ChannelId, at: usize, value: Interval) {
        let items = &self.program.channels[channel.index()].items;
        let Some((item, place)) = items.get(at).zip(self.items[channel.index()].get_mut(at)) else {
            return;
        };
        let value = stored(item, value);
        let new = place.map_or(value, |old| old.join(value));
        if *place != Some(new) {
            let times = count(&mut self.grown, Grown::Item(channel, at));
            *place = Some(match *place {
                Some(old) => widened(&self.rests, old, new, item, times),
                None => new,
            });
            let readers = self.readers.channels.get(&channel);
            Self::wake(&mut self.queue, &mut self.queued, readers);
        }
    }

    fn variable(&self, env: &Env, variable: VarId) -> Interval {
        let known = env.variables.get(&variable).copied();
        known.unwrap_or(self.variables[variable.index()])
    }

    /// The range of messages' items; everything of their type before the first message.
    fn messages(&self, channel: &ChannelRef, at: usize) -> Interval {
        let ranges = channel.targets().map(|c| {
            let known = self.items[c.index()].get(at).copied().flatten();
            let item = self.program.channels[c.index()].items.get(at);
            known.or(item.map(|item| Interval {
                min: item.min.max(0),
                max: item.min.max(0),
            }))
        });
        let range = ranges.flatten().reduce(Interval::join);
        range.unwrap_or(Interval::FULL)
    }

    /// A range of an expression's values.
    fn value(&self, env: &Env, expr: &Expr) -> Interval {
        match expr {
            Expr::Const(value) => Interval {
                min: *value,
                max: *value,
            },
            Expr::Var(variable) | Expr::Element(variable, ..) => self.variable(env, *variable),
            Expr::Temp(temp) => {
                let nothing = Interval { min: 0, max: 0 };
                env.temps.get(temp).copied().unwrap_or(nothing)
            }
            Expr::Unary(op, operand) => unary_interval(*op, self.value(env, operand)),
            Expr::Binary(op, left, right) => {
                binary_interval(*op, self.value(env, left), self.value(env, right))
            }
            Expr::Divide(op, left, right, _) => {
                divide_interval(*op, self.value(env, left), self.value(env, right))
            }
            Expr::And(..) | Expr::Or(..) => Interval::BOOL,
            Expr::If(_, then, otherwise) => self.value(env, then).join(self.value(env, otherwise)),
            Expr::Length(_) => self.program.interval(expr),
            Expr::Peek { channel, item, .. } => self.messages(channel, *item as usize),
        }
    }

    /// Learns that a condition holds, or that it does not; false if that cannot be.
    fn assume(&self, env: &mut Env, condition: &Expr, holds: bool) -> bool {
        match condition {
            Expr::Const(value) => (*value != 0) == holds,
            Expr::Var(_) => {
                let zero = Expr::Const(0);
                let op = if holds {
                    BinaryOp::NotEqual
                } else {
                    BinaryOp::Equal
                };
                self.compare(env, op, condition, &zero)
            }
            Expr::Unary(UnaryOp::Not, operand) => self.assume(env, operand, !holds),
            Expr::And(left, right) if holds => {
                self.assume(env, left, true) && self.assume(env, right, true)
            }
            Expr::Or(left, right) if !holds => {
                self.assume(env, left, false) && self.assume(env, right, false)
            }
            Expr::Binary(op, left, right) => match op.opposite() {
                Some(opposite) => {
                    let op = if holds { *op } else { opposite };
                    self.compare(env, op, left, right)
                }
                None => true,
            },
            _ => true,
        }
    }

    fn compare(&self, env: &mut Env, op: BinaryOp, left: &Expr, right: &Expr) -> bool {
        let (a, b) = (self.value(env, left), self.value(env, right));
        let below = |a: Interval, b: Interval, by: i32| {
            // a + by <= b
            let a = Interval {
                max: a.max.min(b.max.saturating_sub(by)),
                ..a
            };
            let b = Interval {
                min: b.min.max(a.min.saturating_add(by)),
                ..b
            };
            (a, b)
        };
        let (a, b) = match op {
            BinaryOp::Equal => {
                let both = Interval {
                    min: a.min.max(b.min),
                    max: a.max.min(b.max),
                };
                (both, both)
            }
            BinaryOp::NotEqual => (without(a, b), without(b, a)),
            BinaryOp::Less => below(a, b, 1),
            BinaryOp::LessEqual => below(a, b, 0),
            BinaryOp::Greater => {
                let (b, a) = below(b, a, 1);
                (a, b)
            }
            BinaryOp::GreaterEqual => {
                let (b, a) = below(b, a, 0);
                (a, b)
            }
            _ => (a, b),
        };
        for (side, range) in [(left, a), (right, b)] {
            if range.min > range.max {
                return false;
            }
            if let Expr::Var(variable) = side {
                env.variables.insert(*variable, range);
            }
        }
        true
    }

    /// Runs statements; false if they cannot come to their end.
    fn body(&mut self, env: &mut Env, body: &[Statement]) -> bool {
        body.iter().all(|statement| self.statement(env, statement))
    }

    fn statement(&mut self, env: &mut Env, statement: &Statement) -> bool {
        match statement {
            Statement::Assign { target, value, .. } => {
                let value = self.value(env, value);
                self.assign(env, target, value);
            }
            Statement::Let(temp, value) => {
                let value = self.value(env, value);
                env.temps.insert(*temp, value);
            }
            Statement::Send {
                channel, values, ..
            } => {
                for (at, value) in values.iter().enumerate() {
                    let value = self.value(env, value);
                    for target in channel.targets() {
                        self.note_message(target, at, value);
                    }
                }
            }
            Statement::Receive {
                channel, targets, ..
            } => {
                for (at, target) in targets.iter().enumerate() {
                    if let Some(target) = target {
                        let value = self.messages(channel, at);
                        self.assign(env, target, value);
                    }
                }
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let mut other = env.clone();
                let first = self.assume(env, condition, true) && self.body(env, then);
                let second =
                    self.assume(&mut other, condition, false) && self.body(&mut other, otherwise);
                match (first, second) {
                    (false, false) => return false,
                    (true, false) => {}
                    (false, true) => *env = other,
                    (true, true) => self.meet(env, &other),
                }
            }
            Statement::While {
                condition, body, ..
            } => {
                for round in 0.. {
                    let before = env.clone();
                    let mut inside = env.clone();
                    if !self.assume(&mut inside, condition, true) || !self.body(&mut inside, body) {
                        break;
                    }
                    self.meet(env, &inside);
                    if env.variables == before.variables && env.temps == before.temps {
                        break;
                    }
                    if round >= LOOP_ROUNDS {
                        self.give_up(env, body);
                    }
                }
                return self.assume(env, condition, false);
            }
            Statement::Fail(_) => return false,
            Statement::Assert { .. } | Statement::Print { .. } => {}
        }
        true
    }

    fn assign(&mut self, env: &mut Env, target: &Place, value: Interval) {
        let variable = target.variable();
        let declared = &self.program.variables[variable.index()];
        let value = stored(&declared.item, value);
        match target {
            Place::Var(_) => {
                env.variables.insert(variable, value);
            }
            // Some element has changed; what was assumed of one may be wrong.
            Place::Element(..) => {
                if let Some(known) = env.variables.get_mut(&variable) {
                    *known = known.join(value);
                }
            }
        }
        self.note(variable, value);
    }

    /// Where two ways meet.
    fn meet(&self, env: &mut Env, other: &Env) {
        let variables: BTreeSet<VarId> = env
            .variables
            .keys()
            .chain(other.variables.keys())
            .copied()
            .collect();
        for variable in variables {
            let range = self
                .variable(env, variable)
                .join(self.variable(other, variable));
            env.variables.insert(variable, range);
        }
        let temps: BTreeSet<TempId> = env
            .temps
            .keys()
            .chain(other.temps.keys())
            .copied()
            .collect();
        let nothing = Interval { min: 0, max: 0 };
        let temp = |env: &Env, t: TempId| env.temps.get(&t).copied().unwrap_or(nothing);
        for t in temps {
            let range = temp(env, t).join(temp(other, t));
            env.temps.insert(t, range);
        }
    }

    /// Whatever a loop assigns can have any value.
    fn give_up(&mut self, env: &mut Env, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Assign { target, .. } => self.assign(env, target, Interval::FULL),
                Statement::Let(temp, _) => {
                    env.temps.insert(*temp, Interval::FULL);
                }
                Statement::Receive { targets, .. } => {
                    for target in targets.iter().flatten() {
                        self.assign(env, target, Interval::FULL);
                    }
                }
                Statement::If {
                    then, otherwise, ..
                } => {
                    self.give_up(env, then);
                    self.give_up(env, otherwise);
                }
                Statement::While { body, .. } => self.give_up(env, body),
                Statement::Send { .. }
                | Statement::Fail(_)
                | Statement::Assert { .. }
                | Statement::Print { .. } => {}
            }
        }
    }
}

fn count(grown: &mut HashMap<Grown, u32>, what: Grown) -> u32 {
    let times = grown.entry(what).or_default();
    *times += 1;
    *times
}

fn joined(a: Vec<Interval>, b: Vec<Interval>) -> Vec<Interval> {
    a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect()
}

/// A grown range, made larger if it has grown too often.
fn widened(rests: &[i32], old: Interval, new: Interval, item: &Item, times: u32) -> Interval {
    if times < PATIENCE || new == old {
        return new;
    }
    let min = match new.min < old.min {
        true if times < LAST_STRAW => rests.iter().rev().find(|r| **r <= new.min).copied(),
        true => None,
        false => Some(new.min),
    };
    let max = match new.max > old.max {
        true if times < LAST_STRAW => rests.iter().find(|r| **r >= new.max).copied(),
        true => None,
        false => Some(new.max),
    };
    Interval {
        min: min.unwrap_or(item.min).max(item.min),
        max: max.unwrap_or(item.max).min(item.max),
    }
}

/// What an item holds after a value was stored.
fn stored(item: &Item, value: Interval) -> Interval {
    if value.within(item.min, item.max) {
        return value;
    }
    let (min, max) = (value.min.max(item.min), value.max.min(item.max));
    match item.overflow {
        Overflow::Wrap => Interval {
            min: item.min,
            max: item.max,
        },
        // Values outside are not stored.
        Overflow::Fail | Overflow::Fits if min <= max => Interval { min, max },
        Overflow::Fail | Overflow::Fits => Interval {
            min: item.min,
            max: item.max,
        },
    }
}

/// Values of `a` that may differ from those of `b`.
fn without(a: Interval, b: Interval) -> Interval {
    if b.min != b.max {
        return a;
    }
    Interval {
        min: if a.min == b.min {
            a.min.saturating_add(1)
        } else {
            a.min
        },
        max: if a.max == b.min {
            a.max.saturating_sub(1)
        } else {
            a.max
        },
    }
}

/// The processes that take part in a command: those that it is a step of, and those that it
/// puts somewhere. `None` if it puts one who knows where.
fn parts(program: &Program, command: &Command) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for (at, process) in program.processes.iter().enumerate() {
        let id = ProcessId::new(at);
        let own = command.processes.contains(&id);
        let (targets, always) = counter_after(command, process.counter)?;
        if !own && targets.is_empty() {
            continue;
        }
        // What counts is what is tested.
        let guards = command.guards.iter();
        let source = guards
            .filter_map(|guard| location_tested(&program.labels[guard.index()].expr))
            .find_map(|(counter, location)| (counter == process.counter).then_some(location));
        parts.push(Part {
            process: id,
            source,
            targets,
            always,
        });
    }
    Some(parts)
}

/// `counter == location`.
fn location_tested(guard: &Expr) -> Option<(VarId, u32)> {
    match guard {
        Expr::Binary(BinaryOp::Equal, left, right) => match (&**left, &**right) {
            (Expr::Var(counter), Expr::Const(location)) => {
                Some((*counter, u32::try_from(*location).ok()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// By process: its variables that only change when it takes part.
fn locals(program: &Program, parts: &[Vec<Part>]) -> Vec<Vec<VarId>> {
    let mut followed: Vec<bool> = program
        .variables
        .iter()
        .map(|v| v.owner.is_some() && v.len.is_none())
        .collect();
    for process in &program.processes {
        followed[process.counter.index()] = false;
    }
    for (command, parts) in program.commands.iter().zip(parts) {
        let mut seen = Seen::default();
        seen.body(&command.body);
        for variable in seen.written {
            let owner = program.variables[variable.index()].owner;
            if !parts.iter().any(|part| Some(part.process) == owner) {
                followed[variable.index()] = false;
            }
        }
    }
    let mut locals = vec![Vec::new(); program.processes.len()];
    for (at, variable) in program.variables.iter().enumerate() {
        if let Some(owner) = variable.owner.filter(|_| followed[at]) {
            locals[owner.index()].push(VarId(at as u32));
        }
    }
    locals
}
