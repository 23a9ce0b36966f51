//! Random programs: every kind of expression and statement, odd ranges, failing operations.

use stubborn_system::{ChannelId, FailureKind, LabelId, ProcessId, System};

use super::Random;
use crate::{
    BinaryOp, Channel, ChannelRef, Command, DivideOp, Expr, Item, Model, Place, Program, SendOrder,
    Site, Statement, TempId, UnaryOp, VarId, Variable,
};

/// A random program; the same for the same seed. Temporaries are read only where they
/// have been set.
pub fn random_program(seed: u64) -> Program {
    let mut generator = Generator {
        rng: Random::new(seed),
        program: Program::new(format!("random {seed}")),
        scalars: Vec::new(),
        arrays: Vec::new(),
        temporaries: 0,
    };
    generator.declare();
    let commands = 2 + generator.rng.below(10);
    for nr in 0..commands {
        generator.command(nr);
    }
    generator.temporaries = 0;
    for _ in 0..generator.rng.below(4) {
        let proposition = generator.expr(3);
        generator.program.label(proposition.clone());
        generator.program.label(Expr::failure(proposition));
    }
    generator.program
}

/// A random state of a model: any values of variables, any messages in channels. It need not
/// be reachable.
pub fn random_state(model: &Model, rng: &mut Random) -> Vec<u32> {
    let layout = model.layout();
    let mut state = vec![0; layout.words()];
    for variable in 0..model.program().variables.len() {
        for id in model.encoding().fields(VarId(variable as u32)) {
            let field = layout.field(id);
            let value = match rng.below(4) {
                0 => field.min,
                1 => field.max,
                _ => rng.range(field.min, field.max),
            };
            field.set(&mut state, value);
        }
    }
    for (channel, place) in model
        .program()
        .channels
        .iter()
        .zip(&model.encoding().channels)
    {
        let length = rng.below(channel.capacity as usize + 1);
        layout.field(place.length).set(&mut state, length as i64);
        for (item, cells) in channel.items.iter().zip(&place.items) {
            for position in 0..length {
                let field = &layout.fields()[cells.first.index() + position];
                let value = rng.range(i64::from(item.min), i64::from(item.max));
                field.set(&mut state, value);
            }
        }
    }
    state
}

struct Generator {
    rng: Random,
    program: Program,
    scalars: Vec<VarId>,
    arrays: Vec<VarId>,
    /// How many temporaries are set at the current point of a body.
    temporaries: u8,
}

const BINARY: [BinaryOp; 14] = [
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
];

impl Generator {
    fn item(&mut self) -> Item {
        let power = 1 << self.rng.below(17);
        let low = self.rng.range(-20, 20) as i32;
        match self.rng.below(14) {
            0 => Item::range(low, low),
            1 => Item::range(0, 1),
            2 | 3 => Item::range(0, 1 + self.rng.below(12) as i32),
            4 | 5 => Item::range(low, low + self.rng.below(40) as i32),
            6 => Item::range(i32::MIN, i32::MAX),
            7 => Item::wrapping(i32::MIN, i32::MAX),
            8 => Item::range(0, i32::MAX),
            9 => Item::range(-100_000, 100_000 - low),
            10 => Item::wrapping(0, 255),
            11 => Item::wrapping(-32768, 32767),
            _ => Item::wrapping(low, low + power - 1),
        }
    }

    fn declare(&mut self) {
        let processes = self.rng.below(4);
        for nr in 0..processes {
            let locations = 1 + self.rng.below(5);
            let names = (0..locations).map(|l| format!("l{l}")).collect();
            let initial = self.rng.below(locations) as u32;
            self.program.process(format!("P{nr}"), names, initial);
        }
        let long = self.rng.one_in(12);
        for nr in 0..1 + self.rng.below(8) {
            let item = self.item();
            let len = match self.rng.below(3) {
                0 => Some(1 + self.rng.below(if long { 150 } else { 9 })),
                _ => None,
            };
            let (min, max) = (i64::from(item.min), i64::from(item.max));
            let initial = (0..len.unwrap_or(1))
                .map(|_| self.rng.range(min, max) as i32)
                .collect();
            let owner = (processes > 0 && self.rng.one_in(2))
                .then(|| ProcessId::new(self.rng.below(processes)));
            let variable = self.program.variable(Variable {
                name: format!("x{nr}"),
                item,
                len: len.map(|len| len as u32),
                initial,
                owner,
            });
            match len {
                Some(_) => self.arrays.push(variable),
                None => self.scalars.push(variable),
            }
        }
        for nr in 0..self.rng.below(4) {
            let items = (0..self.rng.below(4)).map(|_| self.item()).collect();
            let capacity = match self.rng.below(8) {
                0 => 0,
                1 => 10 + self.rng.below(if long { 300 } else { 20 }),
                _ => 1 + self.rng.below(6),
            };
            self.program.channel(Channel {
                name: format!("c{nr}"),
                capacity: capacity as u32,
                items,
            });
        }
    }

    fn site(&mut self) -> Site {
        self.program.site(FailureKind::Other, "it fails", None)
    }

    fn small(&mut self) -> i32 {
        match self.rng.below(10) {
            0 => *self.rng.pick(&[i32::MIN, i32::MAX, -1, 31, 32, 1000, -129]),
            _ => self.rng.range(-3, 9) as i32,
        }
    }

    fn channel_ref(&mut self, depth: usize) -> Option<ChannelRef> {
        let channels = self.program.channels.len();
        if channels == 0 {
            return None;
        }
        if !self.rng.one_in(4) {
            return Some(ChannelRef::Fixed(ChannelId::new(self.rng.below(channels))));
        }
        let targets = (0..1 + self.rng.below(4))
            .map(|_| {
                let channel = ChannelId::new(self.rng.below(channels));
                (self.rng.range(-1, 4) as i32, channel)
            })
            .collect();
        Some(ChannelRef::Denoted {
            value: Box::new(self.expr(depth)),
            targets,
            site: self.site(),
        })
    }

    /// Items that every target of a reference has.
    fn common_items(&self, channel: &ChannelRef) -> usize {
        channel
            .targets()
            .map(|c| self.program.channels[c.index()].items.len())
            .min()
            .unwrap_or(0)
    }

    fn variable(&mut self) -> Expr {
        let counters = self.program.processes.len();
        let all = self.scalars.len() + counters;
        if all == 0 {
            return Expr::Const(self.small());
        }
        match self.rng.below(all).checked_sub(self.scalars.len()) {
            Some(process) => Expr::Var(self.program.processes[process].counter),
            None => Expr::Var(*self.rng.pick(&self.scalars)),
        }
    }

    /// An index that is often, but not always, within an array.
    fn index(&mut self, array: VarId, depth: usize) -> Expr {
        let len = self.program.variables[array.index()].len.unwrap_or(1) as i32;
        match self.rng.below(4) {
            0 => Expr::Const(self.rng.range(-1, i64::from(len)) as i32),
            1 => Expr::Divide(
                DivideOp::Remainder,
                Box::new(self.expr(depth)),
                Box::new(Expr::Const(len)),
                self.site(),
            ),
            2 => self.variable(),
            _ => self.expr(depth),
        }
    }

    fn expr(&mut self, depth: usize) -> Expr {
        let deeper = depth.saturating_sub(1);
        let boxed = |g: &mut Self| Box::new(g.expr(deeper));
        match self.rng.below(if depth == 0 { 5 } else { 18 }) {
            0 | 1 => Expr::Const(self.small()),
            2 if self.temporaries > 0 => {
                Expr::Temp(TempId(self.rng.below(self.temporaries as usize) as u8))
            }
            2..=4 => self.variable(),
            5 | 6 if !self.arrays.is_empty() => {
                let array = *self.rng.pick(&self.arrays);
                let index = self.index(array, deeper);
                Expr::Element(array, Box::new(index), self.site())
            }
            7 => {
                let op = *self
                    .rng
                    .pick(&[UnaryOp::Negate, UnaryOp::BitNot, UnaryOp::Not]);
                Expr::Unary(op, boxed(self))
            }
            8 => {
                let op = *self.rng.pick(&[DivideOp::Quotient, DivideOp::Remainder]);
                Expr::Divide(op, boxed(self), boxed(self), self.site())
            }
            9 => Expr::And(boxed(self), boxed(self)),
            10 => Expr::Or(boxed(self), boxed(self)),
            11 => Expr::If(boxed(self), boxed(self), boxed(self)),
            12 | 13 => match self.channel_ref(deeper) {
                Some(channel) if self.rng.one_in(2) && self.common_items(&channel) > 0 => {
                    let item = self.rng.below(self.common_items(&channel)) as u32;
                    let position = match self.rng.below(3) {
                        0 => Expr::Const(0),
                        1 => Expr::Const(self.rng.range(-1, 3) as i32),
                        _ => self.expr(deeper),
                    };
                    Expr::Peek {
                        channel,
                        position: Box::new(position),
                        item,
                        site: self.site(),
                    }
                }
                Some(channel) => Expr::Length(channel),
                None => self.variable(),
            },
            _ => Expr::Binary(*self.rng.pick(&BINARY), boxed(self), boxed(self)),
        }
    }

    /// A value that often fits a range.
    fn value_for(&mut self, item: &Item) -> Expr {
        match self.rng.below(3) {
            0 => self.expr(2),
            1 => {
                let max = i64::from(item.max).min(i64::from(item.min) + 10);
                Expr::Const(self.rng.range(i64::from(item.min), max) as i32)
            }
            _ => {
                // Modulo the size of the range, above its smallest value.
                let size = item.max.wrapping_sub(item.min).wrapping_add(1);
                let value = self.expr(1);
                if size <= 0 {
                    return value;
                }
                let value = Expr::Binary(
                    BinaryOp::BitAnd,
                    Box::new(value),
                    Box::new(Expr::Const(i32::MAX)),
                );
                let reduced = Expr::Divide(
                    DivideOp::Remainder,
                    Box::new(value),
                    Box::new(Expr::Const(size)),
                    self.site(),
                );
                Expr::plus(reduced, Expr::Const(item.min))
            }
        }
    }

    fn place(&mut self) -> Place {
        let (scalars, arrays) = (self.scalars.len(), self.arrays.len());
        match self.rng.below(scalars + arrays).checked_sub(scalars) {
            None => Place::Var(*self.rng.pick(&self.scalars)),
            Some(at) => {
                let array = self.arrays[at];
                let index = self.index(array, 1);
                Place::Element(array, index, self.site())
            }
        }
    }

    fn block(&mut self, depth: usize) -> Vec<Statement> {
        let set_before = self.temporaries;
        let count = self.rng.below(4);
        let body = (0..count).map(|_| self.statement(depth)).collect();
        self.temporaries = set_before;
        body
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let deeper = depth.saturating_sub(1);
        match self.rng.below(if depth == 0 { 16 } else { 20 }) {
            0 if self.temporaries < 5 => {
                let value = self.expr(2);
                self.temporaries += 1;
                Statement::Let(TempId(self.temporaries - 1), value)
            }
            1 | 2 => self.send(),
            3 | 4 => self.receive(),
            5 => Statement::Assert {
                condition: self.expr(2),
                site: self.site(),
            },
            6 if self.rng.one_in(4) => Statement::Fail(self.site()),
            6 => Statement::Print {
                text: "{}".into(),
                arguments: vec![self.expr(1)],
            },
            16..=18 => Statement::If {
                condition: self.expr(2),
                then: self.block(deeper),
                otherwise: self.block(deeper),
            },
            19 => Statement::While {
                condition: self.expr(2),
                body: self.block(deeper),
                limit: self.rng.below(6) as u32,
                site: self.site(),
            },
            _ => {
                let target = self.place();
                let item = self.program.variables[target.variable().index()]
                    .item
                    .clone();
                Statement::Assign {
                    target,
                    value: self.value_for(&item),
                    site: self.site(),
                }
            }
        }
    }

    fn send(&mut self) -> Statement {
        let Some(channel) = self.channel_ref(1) else {
            return Statement::Fail(self.site());
        };
        let first = channel.targets().next().map_or(0, ChannelId::index);
        let mut items = self.program.channels[first].items.clone();
        if self.rng.one_in(20) {
            items.pop();
        }
        let values = items.iter().map(|item| self.value_for(item)).collect();
        let order = match self.rng.below(3) {
            0 => SendOrder::Sorted,
            _ => SendOrder::Fifo,
        };
        Statement::Send {
            channel,
            values,
            order,
            site: self.site(),
        }
    }

    fn receive(&mut self) -> Statement {
        let Some(channel) = self.channel_ref(1) else {
            return Statement::Fail(self.site());
        };
        let first = channel.targets().next().map_or(0, ChannelId::index);
        let count = self.program.channels[first].items.len();
        let targets = (0..count)
            .map(|_| (!self.rng.one_in(3)).then(|| self.place()))
            .collect();
        let position = self.rng.one_in(3).then(|| match self.rng.below(3) {
            0 => Expr::Const(self.rng.range(-1, 2) as i32),
            _ => self.expr(1),
        });
        Statement::Receive {
            channel,
            position,
            targets,
            remove: !self.rng.one_in(3),
            site: self.site(),
        }
    }

    fn guard(&mut self) -> LabelId {
        let expr = self.expr(3);
        // Guards that are often true, so that walks get somewhere.
        let expr = match self.rng.below(3) {
            0 => expr,
            1 => Expr::or(expr, Expr::less(Expr::Const(0), self.variable())),
            _ => Expr::binary(BinaryOp::GreaterEqual, self.variable(), Expr::Const(-5)),
        };
        self.program.label(expr)
    }

    fn command(&mut self, nr: usize) {
        let count = self.program.processes.len();
        let mut processes = Vec::new();
        let mut sources = Vec::new();
        let mut body = Vec::new();
        self.temporaries = 0;
        if count > 0 && !self.rng.one_in(5) {
            let together = if self.rng.one_in(4) { 2.min(count) } else { 1 };
            let first = self.rng.below(count);
            for i in 0..together {
                let process = ProcessId::new((first + i) % count);
                let locations = self.program.processes[process.index()].locations.len();
                processes.push(process);
                let source = self.rng.below(locations) as u32;
                sources.push((!self.rng.one_in(10)).then_some(source));
                let to = self.rng.below(locations) as i32;
                let counter = self.program.processes[process.index()].counter;
                let site = self.site();
                body.push(Statement::assign(counter, Expr::Const(to), site));
            }
        }
        let guards = (0..self.rng.below(4)).map(|_| self.guard()).collect();
        for _ in 0..self.rng.below(5) {
            let statement = self.statement(2);
            body.push(statement);
        }
        let priority = match self.rng.below(12) {
            0 => 1,
            1 => 3,
            _ => 0,
        };
        // Now and then a process goes on at once.
        let continues =
            (count > 0 && self.rng.one_in(8)).then(|| ProcessId::new(self.rng.below(count)));
        self.program.command(Command {
            name: format!("t{nr}"),
            processes,
            sources,
            guards,
            body,
            priority,
            continues,
            ..Command::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_programs_are_models_and_random_states_are_in_range() {
        for seed in 0..300 {
            let model = Model::new(random_program(seed)).expect("a well-formed program");
            let state = random_state(&model, &mut Random::new(seed));
            for field in model.layout().fields() {
                assert!((field.min..=field.max).contains(&field.get(&state)));
            }
        }
    }
}
