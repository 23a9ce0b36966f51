//! Chains as single commands, where that is possible.
//!
//! A [chain](crate::chain) is run by the executor, and reductions only know what any of its
//! commands might do. Most chains are short and do not look at what they changed before: then
//! each way through the chain is a command of its own, with all conditions tested before the
//! first step. That makes guards precise (a chain that gets through excludes one that blocks),
//! and code fast.
//!
//! A later condition is moved to the front by replacing each variable by what was assigned to
//! it; an element of an array by what was assigned to that element, if the indices turn out to
//! be equal. Loops are unrolled. Where this does not work or leads too far (messages, loops
//! that end who knows when, many ways), the chain stays a chain. The ways through a chain and
//! the states they lead to stay exactly the same.

use std::collections::HashMap;

use stubborn_system::{Budget, ChannelId, ProcessId};

use crate::chain::{Starts, by_start};
use crate::simplify::{and, not};
use crate::{
    BinaryOp, ChannelRef, Command, Expr, Item, Overflow, Place, Program, Statement, TempId,
    UnaryOp, VarId,
};

/// Longest chain that is fused.
const MAX_STEPS: usize = 32;
/// Most ways through a chain.
const MAX_WAYS: usize = 48;
/// Most ways through a chain with loops.
const MAX_LOOPING_WAYS: usize = 8;
/// Largest expression that is moved to the front.
const MAX_SIZE: usize = 60;
/// Most assignments to elements of one array before a condition.
const MAX_WRITES: usize = 4;

/// Fuses chains; gives, for each new command, the numbers of the old commands it consists of.
/// Once the budget is spent, the others stay as they are.
pub fn fuse(program: &mut Program, budget: &Budget) -> Vec<Vec<usize>> {
    let commands = std::mem::take(&mut program.commands);
    let starts = by_start(&commands);
    let mut origins = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let fusing = Fusing {
            program,
            commands: &commands,
            starts: &starts,
        };
        let ways = match budget.poll() {
            None => command.continues.and_then(|_| fusing.ways(at)),
            Some(_) => None,
        };
        match ways {
            None => {
                origins.push(vec![at]);
                program.commands.push(command.clone());
            }
            Some(ways) => {
                for (number, way) in ways.into_iter().enumerate() {
                    let mut all = Expr::Const(1);
                    for condition in way.conditions.into_iter().rev() {
                        all = and(condition, all);
                    }
                    let guards = program.conjuncts(all);
                    let name = match number {
                        0 => command.name.clone(),
                        _ => format!("{} #way{}", command.name, number + 1),
                    };
                    origins.push(way.origins);
                    program.commands.push(Command {
                        name,
                        processes: way.processes,
                        sources: way.sources,
                        guards,
                        body: way.body,
                        priority: command.priority,
                        continues: None,
                        endless: None,
                        never_fails: false,
                        span: command.span,
                    });
                }
            }
        }
    }
    origins
}

/// What is known of values in terms of the state before the chain.
#[derive(Clone, Default)]
struct Known {
    /// Scalars that were assigned; `None` if the value is not known.
    variables: HashMap<VarId, Option<Expr>>,
    temps: HashMap<TempId, Option<Expr>>,
    /// Arrays of which something was assigned: indices and values, oldest first; `None` if
    /// they are not known.
    arrays: HashMap<VarId, Option<Vec<(Expr, Expr)>>>,
    /// How many messages were added to a channel; `None` if not known.
    channels: HashMap<ChannelId, Option<i32>>,
}

/// A way through a chain.
#[derive(Clone)]
struct Way {
    conditions: Vec<Expr>,
    body: Vec<Statement>,
    origins: Vec<usize>,
    processes: Vec<ProcessId>,
    sources: Vec<Option<u32>>,
    known: Known,
    /// Who goes on, and from where.
    next: Option<(ProcessId, u32)>,
    visited: Vec<(ProcessId, u32)>,
    /// The chain came to a place again.
    loops: bool,
    /// It contains an assertion.
    asserts: bool,
}

struct Fusing<'a> {
    program: &'a Program,
    commands: &'a [Command],
    starts: &'a Starts,
}

impl Fusing<'_> {
    /// All ways through the chain that starts with a command; `None` if it stays a chain.
    fn ways(&self, first: usize) -> Option<Vec<Way>> {
        let empty = Way {
            conditions: Vec::new(),
            body: Vec::new(),
            origins: Vec::new(),
            processes: Vec::new(),
            sources: Vec::new(),
            known: Known::default(),
            next: None,
            visited: Vec::new(),
            loops: false,
            asserts: false,
        };
        let mut todo = vec![self.extended(&empty, first)??];
        let mut done: Vec<Way> = Vec::new();
        while let Some(way) = todo.pop() {
            let Some(at) = way.next else {
                done.push(way);
                continue;
            };
            let ways = done.len() + todo.len();
            let most = if way.loops {
                MAX_LOOPING_WAYS
            } else {
                MAX_WAYS
            };
            if way.origins.len() >= MAX_STEPS || ways >= most {
                return None;
            }
            let further = self.further(&way, at)?;
            if ways + further.len() > most {
                return None;
            }
            todo.extend(further.into_iter().rev());
        }
        Some(done)
    }

    /// The ways that a way splits into when its process goes on; `None` if that cannot be said.
    fn further(&self, way: &Way, at: (ProcessId, u32)) -> Option<Vec<Way>> {
        let followers = self.starts.get(&at).map_or(&[][..], Vec::as_slice);
        let mut blocked = Expr::Const(1);
        let mut longer = Vec::new();
        for follower in followers {
            let enabled = self.condition(&way.known, &self.commands[*follower as usize])?;
            // A condition that fails ends the step before the body: at the front, it would hide
            // an assertion that is violated first.
            if way.asserts && self.program.may_fail(&enabled) {
                return None;
            }
            blocked = and(blocked, not(enabled));
            longer.extend(self.extended(way, *follower as usize)?);
        }
        if blocked != Expr::Const(0) {
            let mut end = way.clone();
            end.conditions.push(blocked);
            end.next = None;
            longer.insert(0, end);
        }
        Some(longer)
    }

    /// When a command is enabled after what is known; `None` if that cannot be said.
    fn condition(&self, known: &Known, command: &Command) -> Option<Expr> {
        let mut all = Expr::Const(1);
        for guard in command.guards.iter().rev() {
            let guard = known.before(&self.program.labels[guard.index()].expr)?;
            all = and(guard, all);
        }
        Some(all)
    }

    /// A way with one more command: `None` if it cannot be fused, `Some(None)` if the command is
    /// never enabled there.
    #[allow(clippy::option_option)]
    fn extended(&self, way: &Way, at: usize) -> Option<Option<Way>> {
        let command = &self.commands[at];
        let condition = self.condition(&way.known, command)?;
        if condition == Expr::Const(0) {
            return Some(None);
        }
        let mut longer = way.clone();
        longer.conditions.push(condition);
        longer.origins.push(at);
        for (process, source) in command.processes.iter().zip(&command.sources) {
            if !longer.processes.contains(process) {
                // A process that was started on the way was somewhere else before.
                let counter = self.program.processes[process.index()].counter;
                let moved = longer.known.variables.contains_key(&counter);
                longer.processes.push(*process);
                longer.sources.push(source.filter(|_| !moved));
            }
        }
        if longer.processes.len() > 2 {
            return None;
        }
        // Temporaries of each command start at 0.
        let mut used: Vec<TempId> = longer.known.temps.keys().copied().collect();
        used.sort_unstable();
        let resets = used.iter().map(|t| Statement::Let(*t, Expr::Const(0)));
        for statement in resets.chain(command.body.iter().cloned()) {
            longer.asserts |= statement.asserts();
            longer.known.run(self.program, &statement);
            longer.body.push(statement);
        }
        longer.next = match command.continues {
            None => None,
            Some(process) => {
                let counter = self.program.processes[process.index()].counter;
                let location = match longer.known.variables.get(&counter) {
                    Some(Some(Expr::Const(location))) => *location as u32,
                    Some(_) => return None,
                    None => {
                        let at = longer.processes.iter().position(|p| *p == process)?;
                        longer.sources[at]?
                    }
                };
                let place = (process, location);
                longer.loops |= longer.visited.contains(&place);
                longer.visited.push(place);
                Some(place)
            }
        };
        Some(Some(longer))
    }
}

impl Known {
    /// An expression in terms of the state before the chain.
    fn before(&self, expr: &Expr) -> Option<Expr> {
        let mut left = MAX_SIZE;
        self.translate(expr, &mut left)
    }

    fn translate(&self, expr: &Expr, left: &mut usize) -> Option<Expr> {
        *left = left.checked_sub(1)?;
        Some(match expr {
            Expr::Const(value) => Expr::Const(*value),
            Expr::Var(variable) => match self.variables.get(variable) {
                None => expr.clone(),
                Some(value) => {
                    let value = value.clone()?;
                    *left = left.checked_sub(size(&value))?;
                    value
                }
            },
            Expr::Temp(temp) => match self.temps.get(temp) {
                None => Expr::Const(0),
                Some(value) => value.clone()?,
            },
            Expr::Element(array, index, site) => {
                let index = self.translate(index, left)?;
                let before = Expr::Element(*array, Box::new(index.clone()), *site);
                match self.arrays.get(array) {
                    None => before,
                    Some(writes) => element_after(before, &index, writes.as_ref()?, left)?,
                }
            }
            Expr::Unary(UnaryOp::Not, operand) => not(self.translate(operand, left)?),
            Expr::Unary(op, operand) => match self.translate(operand, left)? {
                Expr::Const(value) => Expr::Const(op.apply(value)),
                operand => Expr::Unary(*op, Box::new(operand)),
            },
            Expr::Binary(op, a, b) => {
                binary(*op, self.translate(a, left)?, self.translate(b, left)?)
            }
            Expr::Divide(op, a, b, site) => {
                let (a, b) = (self.translate(a, left)?, self.translate(b, left)?);
                Expr::Divide(*op, Box::new(a), Box::new(b), *site)
            }
            Expr::And(a, b) => and(self.translate(a, left)?, self.translate(b, left)?),
            Expr::Or(a, b) => {
                let (a, b) = (self.translate(a, left)?, self.translate(b, left)?);
                not(and(not(a), not(b)))
            }
            Expr::If(condition, then, otherwise) => {
                let condition = self.translate(condition, left)?;
                let then = self.translate(then, left)?;
                let otherwise = self.translate(otherwise, left)?;
                match condition {
                    Expr::Const(0) => otherwise,
                    Expr::Const(_) => then,
                    condition => Expr::If(Box::new(condition), Box::new(then), Box::new(otherwise)),
                }
            }
            Expr::Length(ChannelRef::Fixed(channel)) => match self.channels.get(channel) {
                None => expr.clone(),
                Some(more) => Expr::plus(expr.clone(), Expr::Const((*more)?)),
            },
            Expr::Peek {
                channel: channel @ ChannelRef::Fixed(id),
                position,
                item,
                site,
            } if !self.channels.contains_key(id) => Expr::Peek {
                channel: channel.clone(),
                position: Box::new(self.translate(position, left)?),
                item: *item,
                site: *site,
            },
            Expr::Length(_) | Expr::Peek { .. } => return None,
        })
    }

    /// Learns what a statement does.
    fn run(&mut self, program: &Program, statement: &Statement) {
        match statement {
            Statement::Assign { target, value, .. } => match target {
                Place::Var(variable) => {
                    let item = &program.variables[variable.index()].item;
                    let value = self.before(value);
                    let value = value.and_then(|value| stored(program, item, value));
                    self.variables.insert(*variable, value);
                }
                Place::Element(array, index, _) => {
                    let item = &program.variables[array.index()].item;
                    let value = self.before(value);
                    let value = value.and_then(|value| stored(program, item, value));
                    let write = self.before(index).zip(value);
                    let writes = self
                        .arrays
                        .entry(*array)
                        .or_insert_with(|| Some(Vec::new()));
                    match (writes.as_mut(), write) {
                        (Some(known), Some(write)) if known.len() < MAX_WRITES => {
                            known.push(write);
                        }
                        _ => *writes = None,
                    }
                }
            },
            Statement::Let(temp, value) => {
                let value = self.before(value);
                self.temps.insert(*temp, value);
            }
            Statement::Send { channel, .. } => self.change(channel, 1),
            Statement::Receive {
                channel,
                targets,
                remove,
                ..
            } => {
                self.change(channel, -i32::from(*remove));
                for place in targets.iter().flatten() {
                    self.forget(place);
                }
            }
            Statement::If {
                then, otherwise, ..
            } => {
                then.iter()
                    .chain(otherwise)
                    .for_each(|s| self.forget_all(s));
            }
            Statement::While { body, .. } => body.iter().for_each(|s| self.forget_all(s)),
            Statement::Assert { .. } | Statement::Fail(_) | Statement::Print { .. } => {}
        }
    }

    fn change(&mut self, channel: &ChannelRef, by: i32) {
        match channel {
            ChannelRef::Fixed(id) => {
                let before = self.channels.get(id).copied().unwrap_or(Some(0));
                self.channels.insert(*id, before.map(|b| b + by));
            }
            ChannelRef::Denoted { .. } => {
                for id in channel.targets() {
                    self.channels.insert(id, None);
                }
            }
        }
    }

    fn forget(&mut self, place: &Place) {
        match place {
            Place::Var(variable) => {
                self.variables.insert(*variable, None);
            }
            Place::Element(array, ..) => {
                self.arrays.insert(*array, None);
            }
        }
    }

    /// Whatever a conditional statement might do is not known afterwards.
    fn forget_all(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { target, .. } => self.forget(target),
            Statement::Let(temp, _) => {
                self.temps.insert(*temp, None);
            }
            Statement::Send { channel, .. } => {
                for id in channel.targets() {
                    self.channels.insert(id, None);
                }
            }
            Statement::Receive {
                channel, targets, ..
            } => {
                for id in channel.targets() {
                    self.channels.insert(id, None);
                }
                targets.iter().flatten().for_each(|t| self.forget(t));
            }
            Statement::If {
                then, otherwise, ..
            } => {
                then.iter()
                    .chain(otherwise)
                    .for_each(|s| self.forget_all(s));
            }
            Statement::While { body, .. } => body.iter().for_each(|s| self.forget_all(s)),
            Statement::Assert { .. } | Statement::Fail(_) | Statement::Print { .. } => {}
        }
    }
}

/// The element of an array after assignments to elements, `before` being what it was.
fn element_after(
    before: Expr,
    index: &Expr,
    writes: &[(Expr, Expr)],
    left: &mut usize,
) -> Option<Expr> {
    let mut element = before;
    for (written, value) in writes {
        let same = match written == index {
            true => Expr::Const(1),
            false => binary(BinaryOp::Equal, index.clone(), written.clone()),
        };
        *left = left.checked_sub(size(&same) + size(value))?;
        element = match same {
            Expr::Const(0) => element,
            Expr::Const(_) => value.clone(),
            same => Expr::If(Box::new(same), Box::new(value.clone()), Box::new(element)),
        };
    }
    Some(element)
}

/// What a variable holds after a value was stored.
fn stored(program: &Program, item: &Item, value: Expr) -> Option<Expr> {
    if let Expr::Const(value) = value {
        return item.store(value).map(Expr::Const);
    }
    // A value that does not fit where it must ends the step anyway.
    if item.overflow != Overflow::Wrap || program.interval(&value).within(item.min, item.max) {
        return Some(value);
    }
    let mask = item.max.wrapping_sub(item.min);
    let shifted = binary(BinaryOp::Subtract, value, Expr::Const(item.min));
    let masked = binary(BinaryOp::BitAnd, shifted, Expr::Const(mask));
    Some(binary(BinaryOp::Add, masked, Expr::Const(item.min)))
}

fn size(expr: &Expr) -> usize {
    match expr {
        Expr::Const(_) | Expr::Var(_) | Expr::Temp(_) | Expr::Length(_) => 1,
        Expr::Element(_, operand, _) | Expr::Unary(_, operand) => 1 + size(operand),
        Expr::Peek { position, .. } => 1 + size(position),
        Expr::Binary(_, a, b) | Expr::Divide(_, a, b, _) | Expr::And(a, b) | Expr::Or(a, b) => {
            1 + size(a) + size(b)
        }
        Expr::If(a, b, c) => 1 + size(a) + size(b) + size(c),
    }
}

/// A binary operation, simplified on constants and on changed lengths of channels.
fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    match (left, right) {
        (Expr::Const(a), Expr::Const(b)) => Expr::Const(op.apply(a, b)),
        (Expr::Binary(BinaryOp::Add, length, more), Expr::Const(b))
            if op.is_comparison()
                && matches!(*length, Expr::Length(_))
                && matches!(*more, Expr::Const(_)) =>
        {
            let Expr::Const(more) = *more else {
                return Expr::Const(0);
            };
            Expr::Binary(op, length, Box::new(Expr::Const(b - more)))
        }
        (left, right) => Expr::binary(op, left, right),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use stubborn_system::{ChannelId, FailureKind, FieldKind, Successors, System};

    use super::*;
    use crate::testing::{random_chains, random_program};
    use crate::{
        Channel, ChannelRef, Item, Model, Place, SendOrder, Site, TempId, VarId, Variable,
    };

    /// What a run meets: all states, the violated assertions, and whether a step can fail and
    /// after which violated assertions it does.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Met {
        states: HashSet<Vec<i64>>,
        violated: BTreeSet<Option<usize>>,
        failed: BTreeSet<Option<usize>>,
    }

    /// Everything that is reachable; `None` beyond a limit.
    fn explore(model: &Model) -> Option<Met> {
        let initial = model.initial_states();
        // Programs need not have the same layout: only one of them may have an error state.
        let values = |state: &[u32]| {
            let fields = model.layout().fields().iter();
            let fields = fields.filter(|field| field.kind != FieldKind::Failed);
            fields.map(|field| field.get(state)).collect::<Vec<i64>>()
        };
        let mut executor = model.executor();
        let mut out = Successors::new(initial.len());
        let mut met = Met::default();
        met.states.insert(values(&initial));
        let mut todo = vec![initial];
        while let Some(state) = todo.pop() {
            out.clear();
            executor.successors(&state, &mut out);
            for next in out.iter() {
                met.violated.insert(next.outcome.violated());
                if model.is_error(next.state) {
                    // Which of several failures is seen may differ, as conditions come first.
                    met.failed.insert(next.outcome.violated());
                } else if met.states.insert(values(next.state)) {
                    todo.push(next.state.to_vec());
                }
            }
            if met.states.len() > 1_500 {
                return None;
            }
        }
        Some(met)
    }

    fn compare(programs: impl Iterator<Item = Program>) -> (usize, usize) {
        let (mut compared, mut fused_commands) = (0, 0);
        for program in programs {
            let name = program.name.clone();
            let mut fused = program.clone();
            let origins = fuse(&mut fused, &stubborn_system::budget::UNLIMITED);
            assert_eq!(origins.len(), fused.commands.len());
            fused_commands += origins.iter().filter(|o| o.len() > 1).count();
            let (Ok(plain), Ok(fused)) = (Model::new(program), Model::new(fused)) else {
                continue;
            };
            let Some(expected) = explore(&plain) else {
                continue;
            };
            assert_eq!(explore(&fused), Some(expected), "{name}");
            compared += 1;
        }
        (compared, fused_commands)
    }

    /// A process that is started on the way is somewhere else before, and is met all the same.
    #[test]
    fn who_is_started_on_the_way_was_elsewhere() {
        let mut program = Program::new("start, then meet");
        let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
        let first = program.process("A", names(["starts", "meets", "done"]), 0);
        let second = program.process("B", names(["absent", "waits", "done"]), 0);
        let [a, b] = [first, second].map(|p| program.processes[p.index()].counter);
        let site = program.site(FailureKind::OutOfRange, "a counter", None);
        let go = |counter, to| Statement::assign(counter, Expr::Const(to), site);
        program.command(Command {
            name: "start".into(),
            processes: vec![first],
            sources: vec![Some(0)],
            body: vec![go(b, 1), go(a, 1)],
            continues: Some(first),
            ..Command::default()
        });
        let guards = program.conjuncts(Expr::equal(Expr::Var(b), Expr::Const(1)));
        program.command(Command {
            name: "meet".into(),
            processes: vec![first, second],
            sources: vec![Some(1), Some(1)],
            guards,
            body: vec![go(a, 2), go(b, 2)],
            ..Command::default()
        });
        let (compared, count) = compare([program.clone()].into_iter());
        assert_eq!((compared, count), (1, 1));
        // Analyses rely on where a command starts.
        let origins = fuse(&mut program, &stubborn_system::budget::UNLIMITED);
        let whole = origins.iter().position(|origins| origins.len() == 2);
        let whole = &program.commands[whole.expect("both in one")];
        assert_eq!(whole.processes, [first, second]);
        assert_eq!(whole.sources, [Some(0), None]);
    }

    /// What was known of a variable, an element, a channel or a temporary is known no more when a
    /// choice, a loop or another element may have changed it; what is known of it is what is stored,
    /// and how long the channel is.
    #[test]
    fn what_may_have_changed_is_not_known() {
        let site = Site(0);
        let (x, y, a) = (VarId(1), VarId(2), VarId(3));
        let (wraps, fits, large) = (VarId(4), VarId(5), VarId(6));
        let (t, one, two) = (TempId(0), Expr::Const(1), Expr::Const(2));
        let set = |variable, value: &Expr| Statement::assign(variable, value.clone(), site);
        let element = |index: Expr, value: &Expr| Statement::Assign {
            target: Place::Element(a, index, site),
            value: value.clone(),
            site,
        };
        let choice = |then: Vec<Statement>, otherwise: Vec<Statement>| Statement::If {
            condition: Expr::Var(y),
            then,
            otherwise,
        };
        let round = |body: Vec<Statement>| Statement::While {
            condition: Expr::Var(y),
            body: body.into_iter().chain([set(y, &Expr::Const(0))]).collect(),
            site,
        };
        let channel = || ChannelRef::Fixed(ChannelId::new(0));
        let send = || Statement::Send {
            channel: channel(),
            values: vec![Expr::Var(y)],
            order: SendOrder::Fifo,
            site,
        };
        let receive = |target: Place| Statement::Receive {
            channel: channel(),
            position: None,
            targets: vec![Some(target)],
            remove: true,
            site,
        };
        let first = Expr::Element(a, Box::new(Expr::Const(0)), site);
        let length = || Expr::Length(channel());
        let by_y = |op, left| Expr::binary(op, left, Expr::Var(y));
        let twice = Expr::binary(BinaryOp::Multiply, Expr::Var(y), two.clone());
        let bodies = [
            // 4 and 5 become 0 and 1; what must fit may have any last value, and fits.
            vec![
                set(wraps, &by_y(BinaryOp::Add, Expr::Const(4))),
                set(x, &Expr::Var(wraps)),
            ],
            vec![
                set(fits, &by_y(BinaryOp::Subtract, twice)),
                set(x, &Expr::Var(fits)),
            ],
            vec![set(
                x,
                &Expr::less(Expr::plus(Expr::Var(large), one.clone()), Expr::Const(0)),
            )],
            vec![send(), set(x, &length())],
            vec![send(), set(x, &Expr::equal(length(), one.clone()))],
            vec![send(), set(x, &Expr::plus(length(), Expr::Const(0)))],
            vec![set(
                x,
                &Expr::equal(by_y(BinaryOp::Add, length()), one.clone()),
            )],
            vec![choice(vec![send()], vec![]), set(x, &length())],
            vec![
                send(),
                receive(Place::Var(y)),
                set(x, &Expr::equal(length(), Expr::Const(0))),
            ],
            vec![
                Statement::Send {
                    channel: ChannelRef::Denoted {
                        value: Box::new(Expr::Var(y)),
                        targets: [0, 1].map(|y| (y, ChannelId::new(0))).into(),
                        site,
                    },
                    values: vec![Expr::Var(y)],
                    order: SendOrder::Fifo,
                    site,
                },
                set(x, &length()),
            ],
            vec![
                send(),
                choice(vec![receive(Place::Var(y))], vec![]),
                set(x, &length()),
            ],
            vec![
                send(),
                set(
                    x,
                    &Expr::Peek {
                        channel: channel(),
                        position: Box::new(Expr::Const(0)),
                        item: 0,
                        site,
                    },
                ),
            ],
            vec![set(x, &one), choice(vec![set(x, &two)], vec![])],
            vec![set(x, &one), choice(vec![], vec![set(x, &two)])],
            vec![set(x, &one), round(vec![set(x, &two)])],
            vec![
                set(x, &one),
                choice(vec![choice(vec![set(x, &two)], vec![])], vec![]),
            ],
            vec![send(), set(x, &two), receive(Place::Var(x))],
            vec![
                send(),
                set(x, &two),
                choice(vec![receive(Place::Var(x))], vec![]),
            ],
            vec![
                element(Expr::Const(0), &one),
                element(Expr::Var(y), &two),
                set(x, &first),
            ],
            vec![
                element(Expr::Const(0), &one),
                choice(vec![element(Expr::Const(0), &two)], vec![]),
                set(x, &first),
            ],
            vec![
                Statement::Let(t, one.clone()),
                choice(vec![Statement::Let(t, two.clone())], vec![]),
                set(x, &Expr::Temp(t)),
            ],
            vec![
                Statement::Let(t, two.clone()),
                Statement::Let(t, one.clone()),
                set(x, &Expr::Temp(t)),
            ],
        ];
        let programs = bodies.into_iter().enumerate().map(|(number, body)| {
            let mut program = Program::new(format!("body {number}"));
            let names = ["choose", "first", "second", "one", "other"];
            let process = program.process("P", names.map(String::from).to_vec(), 0);
            let counter = program.processes[process.index()].counter;
            for (variable, expected) in [
                (Variable::integer("x", 0, 3, 0), x),
                (Variable::integer("y", 0, 1, 0), y),
                (Variable::array("a", 0, 3, vec![0; 2]), a),
                (Variable::integer("wraps", 0, 3, 0), wraps),
                (Variable::integer("fits", 0, 2, 0), fits),
                (
                    Variable::integer("large", i32::MAX - 1, i32::MAX, i32::MAX),
                    large,
                ),
            ] {
                assert_eq!(program.variable(variable), expected);
            }
            program.variables[wraps.index()].item = Item::wrapping(0, 3);
            assert_eq!(program.site(FailureKind::OutOfRange, "a value", None), site);
            program.channel(Channel {
                name: "c".into(),
                capacity: 1,
                items: vec![Item::range(0, 1)],
            });
            let is_one = Expr::equal(Expr::Var(x), one.clone());
            for (from, to, guard, body) in [
                (0, 1, None, vec![set(y, &Expr::Const(0))]),
                (0, 1, None, vec![set(y, &one)]),
                (1, 2, None, body),
                (2, 3, Some(is_one.clone()), vec![]),
                (2, 4, Some(crate::simplify::not(is_one)), vec![]),
            ] {
                let guards = guard.map_or(Vec::new(), |guard| program.conjuncts(guard));
                let go = Statement::assign(counter, Expr::Const(to), site);
                program.command(Command {
                    name: format!("{from} to {to}"),
                    processes: vec![process],
                    sources: vec![Some(from)],
                    guards,
                    body: body.into_iter().chain([go]).collect(),
                    continues: (from == 1).then_some(process),
                    ..Command::default()
                });
            }
            program
        });
        assert_eq!(compare(programs).0, 22);
    }

    /// A condition that cannot be evaluated comes after the assertion, and does not hide it.
    #[test]
    fn failing_conditions_hide_no_violation() {
        for (place, fused) in [(5, false), (1, true)] {
            let mut program = Program::new("assert, then wait");
            let names = ["assert", "wait", "done"].map(String::from).to_vec();
            let process = program.process("P", names, 0);
            let counter = program.processes[process.index()].counter;
            let limit = if fused { 1 } else { 7 };
            let i = program.variable(crate::Variable::integer("i", 0, limit, place));
            let a = program.variable(crate::Variable::array("a", 0, 1, vec![0; 2]));
            let site = program.site(FailureKind::Assertion, "assertion", None);
            let index = program.site(FailureKind::IndexOutOfBounds, "index", None);
            let element = Expr::Element(a, Box::new(Expr::Var(i)), index);
            let waits = program.label(Expr::equal(element, Expr::Const(0)));
            let assertion = Statement::Assert {
                condition: Expr::Const(0),
                site,
            };
            for (from, guards, first) in [(0, vec![], Some(assertion)), (1, vec![waits], None)] {
                let go = Statement::assign(counter, Expr::Const(from + 1), index);
                program.command(Command {
                    name: format!("c{from}"),
                    processes: vec![process],
                    sources: vec![Some(from as u32)],
                    guards,
                    body: first.into_iter().chain([go]).collect(),
                    continues: (from == 0).then_some(process),
                    ..Command::default()
                });
            }
            let model = Model::new(program.clone()).expect("a small program");
            let met = explore(&model).expect("few states");
            assert_eq!(met.violated, BTreeSet::from([Some(site.index())]));
            assert_eq!(met.failed.is_empty(), fused);
            let origins = fuse(&mut program, &stubborn_system::budget::UNLIMITED);
            assert_eq!(origins.iter().any(|o| o.len() > 1), fused);
            let model = Model::new(program).expect("a small program");
            assert_eq!(explore(&model), Some(met));
        }
    }

    #[test]
    fn fused_programs_have_the_same_states_and_violations() {
        let (compared, fused) = compare((0..400).map(random_program));
        assert!(compared > 50 && fused > 20, "{compared} {fused}");
        let (compared, fused) = compare((0..3_000).map(random_chains));
        assert!(compared > 2_000 && fused > 1_000, "{compared} {fused}");
    }
}
