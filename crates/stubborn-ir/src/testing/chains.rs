//! Random programs whose transitions are mostly chains: loops and choices inside, assertions and
//! failing steps at random places.

use stubborn_system::{FailureKind, ProcessId};

use super::Random;
use crate::{
    BinaryOp, Command, DivideOp, Expr, Place, Program, Site, Statement, TempId, VarId, Variable,
};

/// A random program of chains; the same for the same seed.
pub fn random_chains(seed: u64) -> Program {
    let mut rng = Random::new(seed);
    let mut program = Program::new(format!("chains {seed}"));
    let processes: Vec<ProcessId> = (0..1 + rng.below(2))
        .map(|nr| {
            let names = (0..2 + rng.below(4)).map(|l| format!("l{l}")).collect();
            program.process(format!("P{nr}"), names, 0)
        })
        .collect();
    let size = 2 + rng.below(3) as i32;
    let mut variable = |name: &str| program.variable(Variable::integer(name, 0, size - 1, 0));
    let numbers = vec![variable("x"), variable("y")];
    let array = program.variable(Variable::array("a", 0, 1, vec![0; 2]));
    let mut writer = Writer {
        rng,
        program,
        numbers,
        array,
        size,
    };
    for process in &processes {
        let locations = writer.program.processes[process.index()].locations.len();
        for location in 0..locations {
            for _ in 0..writer.rng.below(4) {
                writer.command(*process, location as u32, &processes);
            }
        }
    }
    writer.program
}

struct Writer {
    rng: Random,
    program: Program,
    numbers: Vec<VarId>,
    array: VarId,
    /// How many values a number has.
    size: i32,
}

impl Writer {
    fn site(&mut self, kind: FailureKind) -> Site {
        let number = self.program.failures.len();
        self.program.site(kind, format!("site {number}"), None)
    }

    fn number(&mut self) -> Expr {
        Expr::Var(*self.rng.pick(&self.numbers))
    }

    fn element(&mut self) -> Expr {
        let site = self.site(FailureKind::IndexOutOfBounds);
        Expr::Element(self.array, Box::new(self.number()), site)
    }

    fn condition(&mut self) -> Expr {
        let of = match self.rng.one_in(8) {
            true => self.element(),
            false => self.number(),
        };
        let op = *self.rng.pick(&[
            BinaryOp::Equal,
            BinaryOp::NotEqual,
            BinaryOp::Less,
            BinaryOp::GreaterEqual,
        ]);
        Expr::binary(
            op,
            of,
            Expr::Const(self.rng.below(self.size as usize) as i32),
        )
    }

    fn command(&mut self, process: ProcessId, location: u32, all: &[ProcessId]) {
        let locations = self.program.processes[process.index()].locations.len();
        let mut body = Vec::new();
        for _ in 0..self.rng.below(3) {
            self.statement(&mut body, 1);
        }
        // Also sends the process back to where it was.
        let counter = self.program.processes[process.index()].counter;
        let to = Expr::Const(self.rng.below(locations) as i32);
        let site = self.site(FailureKind::OutOfRange);
        body.insert(
            self.rng.below(body.len() + 1),
            Statement::assign(counter, to, site),
        );
        let guards = match self.rng.below(3) {
            0 => Vec::new(),
            _ => vec![self.condition()],
        };
        let guards = guards.into_iter().map(|g| self.program.label(g)).collect();
        let continues = match self.rng.below(10) {
            0 | 1 => None,
            2 => Some(*self.rng.pick(all)),
            _ => Some(process),
        };
        let number = self.program.commands.len();
        self.program.command(Command {
            name: format!("c{number}"),
            processes: vec![process],
            sources: vec![Some(location)],
            guards,
            body,
            continues,
            ..Command::default()
        });
    }

    fn statement(&mut self, out: &mut Vec<Statement>, depth: usize) {
        match self.rng.below(if depth == 0 { 7 } else { 9 }) {
            0 => {
                let condition = self.condition();
                let site = self.site(FailureKind::Assertion);
                out.push(Statement::Assert { condition, site });
            }
            1 => {
                let index = self.site(FailureKind::IndexOutOfBounds);
                let place = Place::Element(self.array, self.number(), index);
                let site = self.site(FailureKind::OutOfRange);
                out.push(Statement::Assign {
                    target: place,
                    value: Expr::Const(self.rng.below(2) as i32),
                    site,
                });
            }
            2 if self.rng.one_in(3) => {
                let site = self.site(FailureKind::Other);
                out.push(Statement::Fail(site));
            }
            7 => {
                let mut then = Vec::new();
                self.statement(&mut then, depth - 1);
                let condition = self.condition();
                out.push(Statement::If {
                    condition,
                    then,
                    otherwise: Vec::new(),
                });
            }
            8 => {
                let temp = TempId(0);
                let next = Expr::plus(Expr::Temp(temp), Expr::Const(1));
                let mut body = vec![Statement::Let(temp, self.modulo(next))];
                self.statement(&mut body, 0);
                let condition = self.condition();
                let site = self.site(FailureKind::EndlessLoop);
                out.push(Statement::While {
                    condition,
                    body,
                    site,
                });
            }
            _ => {
                let by = 1 + self.rng.below(2) as i32;
                let more = Expr::plus(self.number(), Expr::Const(by));
                // Now and then too large a value.
                let value = match self.rng.one_in(8) {
                    true => more,
                    false => self.modulo(more),
                };
                let site = self.site(FailureKind::OutOfRange);
                let target = *self.rng.pick(&self.numbers);
                out.push(Statement::assign(target, value, site));
            }
        }
    }

    fn modulo(&mut self, value: Expr) -> Expr {
        let site = self.site(FailureKind::DivisionByZero);
        let size = Box::new(Expr::Const(self.size));
        Expr::Divide(DivideOp::Remainder, Box::new(value), size, site)
    }
}
