//! Random commands with loops, and what they do according to an evaluation that keeps every
//! state of every loop.

use std::collections::HashSet;

use stubborn_system::{FailureKind, Outcome};

use super::Random;
use crate::{BinaryOp, Command, DivideOp, Expr, Program, Site, Statement, TempId, VarId, Variable};

/// A program of one command, and what that does in the initial state.
#[derive(Clone, Debug)]
pub struct RandomLoop {
    /// The variables `x0`, `x1`, … and the command.
    pub program: Program,
    /// How its step ends.
    pub outcome: Outcome,
    /// The values of the variables afterwards, if it does not fail.
    pub values: Vec<i32>,
    /// Rounds of all loops.
    pub rounds: u64,
}

/// A random command with loops; the same for the same seed. `None` if it takes too long.
pub fn random_loop(seed: u64) -> Option<RandomLoop> {
    let mut rng = Random::new(seed);
    let count = 1 + rng.below(3);
    let size = *rng.pick(&[2, 3, 7, 300, 1_500]);
    let mut writer = Writer {
        program: Program::new(format!("loop {seed}")),
        rng,
        size,
        count,
        variables: Vec::new(),
    };
    for nr in 0..count {
        let variable = Variable::integer(format!("x{nr}"), 0, size - 1, 0);
        let variable = writer.program.variable(variable);
        writer.variables.push(variable);
    }
    let steps = writer.block(2);
    let body = steps.iter().map(|step| writer.lowered(step)).collect();
    writer.program.command(Command {
        name: "loop".into(),
        body,
        ..Command::default()
    });
    let mut run = Run {
        size,
        cells: vec![0; count + TEMPORARIES],
        violated: None,
        rounds: 0,
    };
    let failed = match run.block(&steps) {
        Ok(()) => None,
        Err(Stop::Failed(site)) => Some(site),
        Err(Stop::TooLong) => return None,
    };
    let mut outcome = Outcome::FINE;
    if let Some(site) = run.violated {
        outcome = Outcome::violation(site.index());
    }
    if let Some(site) = failed {
        outcome = outcome.then(Outcome::failure(site.index()));
    }
    run.cells.truncate(count);
    Some(RandomLoop {
        program: writer.program,
        outcome,
        values: run.cells,
        rounds: run.rounds,
    })
}

const TEMPORARIES: usize = 2;
const MOST_ROUNDS: u64 = 100_000;

/// Cells are the variables, then the temporaries.
enum Step {
    /// The cell gets the sum of another and a number, modulo the size.
    Add(usize, usize, i32, Site),
    Assert(usize, i32, Site),
    FailIf(usize, i32, Site),
    If(usize, i32, Vec<Step>),
    /// While the cell is not the number.
    While(usize, i32, Vec<Step>, Site),
}

struct Writer {
    rng: Random,
    program: Program,
    size: i32,
    count: usize,
    variables: Vec<VarId>,
}

impl Writer {
    fn site(&mut self, kind: FailureKind) -> Site {
        let number = self.program.failures.len();
        self.program.site(kind, format!("site {number}"), None)
    }

    fn cell(&mut self) -> usize {
        self.rng.below(self.count + TEMPORARIES)
    }

    fn value(&mut self) -> i32 {
        self.rng.below(self.size as usize) as i32
    }

    fn block(&mut self, depth: usize) -> Vec<Step> {
        (0..1 + self.rng.below(4))
            .map(|_| self.step(depth))
            .collect()
    }

    fn step(&mut self, depth: usize) -> Step {
        let (cell, value) = (self.cell(), self.value());
        match self.rng.below(if depth == 0 { 6 } else { 9 }) {
            0 => Step::Assert(cell, value, self.site(FailureKind::Assertion)),
            1 => Step::FailIf(cell, value, self.site(FailureKind::Other)),
            6 => Step::If(cell, value, self.block(depth - 1)),
            7 | 8 => {
                let site = self.site(FailureKind::EndlessLoop);
                Step::While(cell, value, self.block(depth - 1), site)
            }
            _ => {
                let by = 1 + self.rng.below(2) as i32;
                let from = match self.rng.one_in(4) {
                    true => self.cell(),
                    false => cell,
                };
                Step::Add(cell, from, by, self.site(FailureKind::OutOfRange))
            }
        }
    }

    fn expr(&self, cell: usize) -> Expr {
        match self.variables.get(cell) {
            Some(variable) => Expr::Var(*variable),
            None => Expr::Temp(self.temp(cell)),
        }
    }

    fn temp(&self, cell: usize) -> TempId {
        TempId((cell - self.count) as u8)
    }

    fn is(&self, op: BinaryOp, cell: usize, value: i32) -> Expr {
        Expr::binary(op, self.expr(cell), Expr::Const(value))
    }

    fn lowered(&self, step: &Step) -> Statement {
        let all = |steps: &[Step]| steps.iter().map(|s| self.lowered(s)).collect();
        match step {
            Step::Add(to, from, by, site) => {
                let sum = Expr::plus(self.expr(*from), Expr::Const(*by));
                let size = Expr::Const(self.size);
                let value = Expr::Divide(DivideOp::Remainder, Box::new(sum), Box::new(size), *site);
                match self.variables.get(*to) {
                    Some(variable) => Statement::assign(*variable, value, *site),
                    None => Statement::Let(self.temp(*to), value),
                }
            }
            Step::Assert(cell, value, site) => Statement::Assert {
                condition: self.is(BinaryOp::NotEqual, *cell, *value),
                site: *site,
            },
            Step::FailIf(cell, value, site) => Statement::If {
                condition: self.is(BinaryOp::Equal, *cell, *value),
                then: vec![Statement::Fail(*site)],
                otherwise: Vec::new(),
            },
            Step::If(cell, value, then) => Statement::If {
                condition: self.is(BinaryOp::Equal, *cell, *value),
                then: all(then),
                otherwise: Vec::new(),
            },
            Step::While(cell, value, body, site) => Statement::While {
                condition: self.is(BinaryOp::NotEqual, *cell, *value),
                body: all(body),
                site: *site,
            },
        }
    }
}

enum Stop {
    Failed(Site),
    TooLong,
}

struct Run {
    size: i32,
    cells: Vec<i32>,
    violated: Option<Site>,
    rounds: u64,
}

impl Run {
    fn block(&mut self, steps: &[Step]) -> Result<(), Stop> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Add(to, from, by, _) => self.cells[*to] = (self.cells[*from] + by) % self.size,
            Step::Assert(cell, value, site) if self.cells[*cell] == *value => {
                self.violated.get_or_insert(*site);
            }
            Step::FailIf(cell, value, site) if self.cells[*cell] == *value => {
                return Err(Stop::Failed(*site));
            }
            Step::If(cell, value, then) if self.cells[*cell] == *value => self.block(then)?,
            Step::Assert(..) | Step::FailIf(..) | Step::If(..) => {}
            Step::While(cell, value, body, site) => {
                let mut before = HashSet::new();
                while self.cells[*cell] != *value {
                    if !before.insert(self.cells.clone()) {
                        return Err(Stop::Failed(*site));
                    }
                    self.rounds += 1;
                    if self.rounds > MOST_ROUNDS {
                        return Err(Stop::TooLong);
                    }
                    self.block(body)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stubborn_system::{Executor, Successors, System, TransitionId};

    use super::*;
    use crate::Model;
    use crate::interpreter::Interpreter;

    #[test]
    fn loops_do_what_an_evaluation_with_all_states_says() {
        let (mut many, mut endless, mut both) = (0, 0, 0);
        for seed in 0..3_000 {
            let Some(random) = random_loop(seed) else {
                continue;
            };
            let model = Model::new(random.program).expect("a small program");
            let initial = model.initial_states();
            let mut out = Successors::new(initial.len());
            Interpreter::new(&model).fire(&initial, TransitionId::new(0), &mut out);
            assert_eq!((out.len(), out.outcome(0)), (1, random.outcome), "{seed}");
            let (violated, failed) = (random.outcome.violated(), random.outcome.failed());
            assert_eq!(model.is_error(out.state(0)), failed.is_some(), "{seed}");
            if failed.is_none() {
                let variables = (0..random.values.len()).map(|at| VarId(at as u32));
                let fields = variables.map(|v| model.encoding().first_field(v));
                let value = |f| model.layout().get(out.state(0), f) as i32;
                let values: Vec<i32> = fields.map(value).collect();
                assert_eq!(values, random.values, "{seed}");
            }
            let site = failed.map(|site| model.structure().failures[site].kind);
            many += usize::from(random.rounds > 1_000);
            endless += usize::from(site == Some(FailureKind::EndlessLoop));
            both += usize::from(violated.is_some() && failed.is_some());
        }
        let enough = many > 50 && endless > 300 && both > 100;
        assert!(enough, "{many} {endless} {both}");
    }
}
