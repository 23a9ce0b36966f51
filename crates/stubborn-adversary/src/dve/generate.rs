//! Random programs, biased to corners: many shared variables, rendezvous, committed
//! locations, indices and values at the edge of their ranges; or nearly independent ones, so
//! that reductions have something to leave out.

use super::print::PropertyProcess;
use crate::coverage::Coverage;
use crate::random::Random;
use crate::reference::program::{
    Action, Binary, Channel, Expr, Kind, Name, Place, Process, Program, Transition, Unary, Variable,
};

/// What [`program`] may note.
pub const FEATURES: [&str; 20] = [
    "language int",
    "language byte",
    "language array",
    "language const",
    "language local",
    "language commit",
    "language assert",
    "language rendezvous",
    "language untyped channel",
    "language typed channel",
    "language buffered channel",
    "language tuple",
    "language guard",
    "language effect",
    "language index",
    "language division",
    "language shift",
    "language bits",
    "language location in expression",
    "language failing step",
];

struct Maker<'a> {
    random: &'a mut Random,
    coverage: &'a mut Coverage,
    program: Program,
}

/// A random program.
pub fn program(random: &mut Random, coverage: &mut Coverage) -> Program {
    let mut maker = Maker {
        random,
        coverage,
        program: Program::default(),
    };
    maker.declarations();
    maker.processes();
    maker.program
}

fn scalar(kind: Kind, initial: i32) -> Variable {
    Variable {
        kind,
        is_array: false,
        initial: vec![initial],
        is_const: false,
        removed: false,
    }
}

fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

const COMPARISONS: [Binary; 6] = [
    Binary::Equal,
    Binary::NotEqual,
    Binary::Less,
    Binary::LessEqual,
    Binary::Greater,
    Binary::GreaterEqual,
];

impl Maker<'_> {
    fn variable(&mut self) -> Variable {
        let kind = match self.random.chance(1, 3) {
            true => Kind::Int,
            false => Kind::Byte,
        };
        self.coverage.note(match kind {
            Kind::Int => "language int",
            Kind::Byte => "language byte",
        });
        let value = |random: &mut Random| match random.below(12) {
            0..=6 => 0,
            7 | 8 => 1,
            9 => 2,
            10 => 3,
            _ => match kind {
                Kind::Byte => *random.pick(&[254, 255]),
                Kind::Int => *random.pick(&[-1, -32768, 32767, 255]),
            },
        };
        if self.random.chance(1, 4) {
            self.coverage.note("language array");
            let size = 1 + self.random.below(3);
            let is_const = self.random.chance(1, 6);
            if is_const {
                self.coverage.note("language const");
            }
            return Variable {
                kind,
                is_array: true,
                initial: (0..size).map(|_| value(self.random)).collect(),
                is_const,
                removed: false,
            };
        }
        scalar(kind, value(self.random))
    }

    fn declarations(&mut self) {
        for _ in 0..self.random.below(4) {
            let variable = self.variable();
            self.program.globals.push(variable);
        }
        for _ in 0..[0, 0, 1, 1, 2][self.random.below(5)] {
            let arity = [0, 1, 1, 2][self.random.below(4)];
            let capacity = [0, 0, 0, 1, 2][self.random.below(5)];
            // A type needs a value, a buffer needs a type.
            let typed = arity > 0 && (capacity > 0 || self.random.chance(1, 3));
            let kinds = typed.then(|| {
                let kind = |random: &mut Random| *random.pick(&[Kind::Byte, Kind::Int]);
                (0..arity).map(|_| kind(self.random)).collect()
            });
            let channel = Channel {
                capacity: if typed { capacity } else { 0 },
                arity,
                kinds,
                removed: false,
            };
            self.coverage.note(match &channel.kinds {
                None => "language untyped channel",
                Some(_) => "language typed channel",
            });
            self.coverage.note(match channel.capacity {
                0 => "language rendezvous",
                _ => "language buffered channel",
            });
            if arity > 1 {
                self.coverage.note("language tuple");
            }
            self.program.channels.push(channel);
        }
    }

    fn processes(&mut self) {
        let count = [1, 2, 2, 2, 3, 3, 4][self.random.below(7)];
        let commits = self.random.chance(1, 6);
        for _ in 0..count {
            let mut process = Process::default();
            for _ in 0..[0, 0, 1, 1, 2][self.random.below(5)] {
                self.coverage.note("language local");
                let variable = self.variable();
                process.locals.push(variable);
            }
            let locations = 1 + self.random.below(4);
            for _ in 0..locations {
                let committed = commits && self.random.chance(1, 4);
                if committed {
                    self.coverage.note("language commit");
                }
                process.committed.push(committed);
            }
            process.initial = match self.random.chance(1, 6) {
                true => self.random.below(locations),
                false => 0,
            };
            self.program.processes.push(process);
        }
        for number in 0..count {
            let locations = self.program.processes[number].committed.len();
            let scope = Some(number);
            for _ in 0..1 + self.random.below(locations + 2) {
                let transition = self.transition(number, locations);
                self.program.processes[number].transitions.push(transition);
            }
            for at in 0..locations {
                if self.random.chance(1, 10) {
                    self.coverage.note("language assert");
                    let condition = self.condition(scope, 2);
                    self.program.processes[number]
                        .assertions
                        .push((at, condition));
                }
            }
        }
    }

    fn transition(&mut self, process: usize, locations: usize) -> Transition {
        let source = self.random.below(locations);
        let target = match self.random.below(3) {
            0 => self.random.below(locations),
            _ => (source + 1) % locations,
        };
        let scope = Some(process);
        let guard = self.random.chance(1, 2).then(|| {
            self.coverage.note("language guard");
            self.condition(scope, 2)
        });
        let channels = self.program.channels.len();
        let mut sync = None;
        if channels > 0 && self.random.chance(2, 5) {
            let channel = self.random.below(channels);
            sync = self.sync(process, channel);
        }
        let mut effects = Vec::new();
        for _ in 0..[0, 1, 1, 1, 2][self.random.below(5)] {
            if let Some(place) = self.target(process) {
                self.coverage.note("language effect");
                let value = self.new_value(scope, &place);
                effects.push((place, value));
            }
        }
        Transition {
            source,
            target,
            guard,
            sync,
            effects,
        }
    }

    fn sync(&mut self, process: usize, channel: usize) -> Option<(usize, Action)> {
        let arity = self.program.channels[channel].arity;
        if self.random.chance(1, 2) {
            let values = (0..arity).map(|_| self.value(Some(process), 1)).collect();
            return Some((channel, Action::Send(values)));
        }
        let mut places = Vec::new();
        for _ in 0..arity {
            places.push(self.target(process)?);
        }
        Some((channel, Action::Receive(places)))
    }

    /// The variables that an expression may name; outside of processes all of them.
    fn names(&self, scope: Option<usize>) -> Vec<Name> {
        let globals = (0..self.program.globals.len()).map(|number| Name {
            process: None,
            number,
        });
        let processes = self.program.processes.iter().enumerate();
        let locals = processes
            .filter(|(process, _)| scope.is_none_or(|scope| scope == *process))
            .flat_map(|(process, declared)| {
                (0..declared.locals.len()).map(move |number| Name {
                    process: Some(process),
                    number,
                })
            });
        globals.chain(locals).collect()
    }

    /// Something to assign to.
    fn target(&mut self, process: usize) -> Option<Place> {
        let mut names = self.names(Some(process));
        names.retain(|name| !self.program.variable(*name).is_const);
        if names.is_empty() {
            return None;
        }
        let name = *self.random.pick(&names);
        Some(self.element(Some(process), name))
    }

    /// A variable, or an element of it.
    fn element(&mut self, scope: Option<usize>, name: Name) -> Place {
        let variable = self.program.variable(name);
        let size = variable.initial.len();
        if !variable.is_array || self.random.chance(1, 12) {
            return Place { name, index: None };
        }
        let index = match self.random.below(4) {
            0 | 1 => Expr::Const(self.random.below(size) as i32),
            2 => {
                // It may be outside.
                self.coverage.note("language index");
                self.value(scope, 0)
            }
            _ => {
                self.coverage.note("language index");
                let value = self.value(scope, 0);
                binary(Binary::Remainder, value, Expr::Const(size as i32))
            }
        };
        Place {
            name,
            index: Some(Box::new(index)),
        }
    }

    fn constant(&mut self) -> Expr {
        Expr::Const(match self.random.below(30) {
            0 => *self.random.pick(&[255, 256, 254]),
            1 => *self.random.pick(&[-1, -2, 32767, 32768]),
            2..=4 => 3,
            5..=9 => 2,
            10..=19 => 1,
            _ => 0,
        })
    }

    fn value(&mut self, scope: Option<usize>, depth: usize) -> Expr {
        let names = self.names(scope);
        match self.random.below(if depth == 0 { 5 } else { 9 }) {
            0..=2 if !names.is_empty() => {
                let name = *self.random.pick(&names);
                // Indices of indices of indices are no use to anybody.
                match self.program.variable(name).is_array && depth == 0 {
                    true => Expr::Read(Place { name, index: None }),
                    false => Expr::Read(self.element(scope, name)),
                }
            }
            0..=3 => self.constant(),
            4 => match self.random.chance(1, 3) {
                true => self.location(),
                false => self.constant(),
            },
            5 => {
                let operator = *self
                    .random
                    .pick(&[Unary::Minus, Unary::Complement, Unary::Not]);
                Expr::Unary(operator, Box::new(self.value(scope, depth - 1)))
            }
            6 => self.condition(scope, depth - 1),
            _ => {
                let operator = *self.random.pick(&[
                    Binary::Add,
                    Binary::Add,
                    Binary::Subtract,
                    Binary::Subtract,
                    Binary::Multiply,
                    Binary::Divide,
                    Binary::Remainder,
                    Binary::Remainder,
                    Binary::BitOr,
                    Binary::BitAnd,
                    Binary::BitXor,
                    Binary::ShiftLeft,
                    Binary::ShiftRight,
                ]);
                match operator {
                    Binary::Divide | Binary::Remainder => self.coverage.note("language division"),
                    Binary::ShiftLeft | Binary::ShiftRight => self.coverage.note("language shift"),
                    Binary::BitOr | Binary::BitAnd | Binary::BitXor => {
                        self.coverage.note("language bits");
                    }
                    _ => {}
                }
                let left = self.value(scope, depth - 1);
                binary(operator, left, self.value(scope, depth - 1))
            }
        }
    }

    fn location(&mut self) -> Expr {
        self.coverage.note("language location in expression");
        let process = self.random.below(self.program.processes.len());
        let locations = self.program.processes[process].committed.len();
        Expr::At(process, self.random.below(locations))
    }

    fn condition(&mut self, scope: Option<usize>, depth: usize) -> Expr {
        match self.random.below(if depth == 0 { 7 } else { 12 }) {
            0..=3 => {
                let left = self.value(scope, depth.min(1));
                let right = match self.random.chance(2, 3) {
                    true => self.constant(),
                    false => self.value(scope, depth.min(1)),
                };
                binary(*self.random.pick(&COMPARISONS), left, right)
            }
            4 => self.location(),
            5 => self.value(scope, depth.min(1)),
            6 => Expr::Const(1),
            7 => Expr::Unary(Unary::Not, Box::new(self.condition(scope, depth - 1))),
            _ => {
                let operator = *self.random.pick(&[Binary::And, Binary::Or, Binary::Imply]);
                let left = self.condition(scope, depth - 1);
                binary(operator, left, self.condition(scope, depth - 1))
            }
        }
    }

    /// What to assign: mostly something that keeps the variable small.
    fn new_value(&mut self, scope: Option<usize>, place: &Place) -> Expr {
        let own = Expr::Read(place.clone());
        let small = |random: &mut Random| Expr::Const(1 + random.below(3) as i32);
        match self.random.below(12) {
            0..=3 => self.constant(),
            4..=6 => {
                let bound = small(self.random);
                let more = binary(Binary::Add, own, Expr::Const(1));
                binary(Binary::Remainder, more, bound)
            }
            7 => binary(Binary::Subtract, Expr::Const(1), own),
            8 => match self.random.chance(1, 2) {
                true => binary(Binary::Add, own, small(self.random)),
                false => binary(Binary::Subtract, own, small(self.random)),
            },
            _ => self.value(scope, 2),
        }
    }
}

/// A program of nearly independent processes, each with a variable of its own: most
/// interleavings can be left out, if the property allows.
pub fn loose_program(random: &mut Random, coverage: &mut Coverage) -> Program {
    let mut program = Program::default();
    let count = 2 + random.below(3);
    for number in 0..count {
        program.globals.push(scalar(Kind::Byte, 0));
        let own = Place {
            name: Name {
                process: None,
                number,
            },
            index: None,
        };
        let mut process = Process::default();
        let set = |value: Expr| vec![(own.clone(), value)];
        let step = |source, target, effects| Transition {
            source,
            target,
            guard: None,
            sync: None,
            effects,
        };
        let flip = binary(Binary::Subtract, Expr::Const(1), Expr::Read(own.clone()));
        match random.below(5) {
            // Once.
            0 | 1 => {
                process.committed = vec![false; 2];
                process.transitions.push(step(0, 1, set(Expr::Const(1))));
            }
            // For ever.
            2 => {
                process.committed = vec![false];
                process.transitions.push(step(0, 0, set(flip)));
            }
            // A few steps in a row, or round and round.
            3 => {
                let length = 2 + random.below(2);
                let ring = random.chance(1, 2);
                process.committed = vec![false; length + usize::from(!ring)];
                for at in 0..length {
                    let value = Expr::Const(random.below(2) as i32);
                    let target = if ring { (at + 1) % length } else { at + 1 };
                    let effects = match random.chance(1, 4) {
                        true => vec![],
                        false => set(value),
                    };
                    process.transitions.push(step(at, target, effects));
                }
            }
            // A choice.
            _ => {
                process.committed = vec![false; 3];
                process.transitions.push(step(0, 1, set(Expr::Const(1))));
                process.transitions.push(step(0, 2, set(Expr::Const(2))));
                if random.chance(1, 2) {
                    process.transitions.push(step(2, 0, set(Expr::Const(0))));
                }
            }
        }
        program.processes.push(process);
    }
    // Now and then one looks at another.
    for number in 0..count {
        if random.chance(1, 4) {
            coverage.note("language guard");
            let other = random.below(count);
            let name = Name {
                process: None,
                number: other,
            };
            let read = Expr::Read(Place { name, index: None });
            let value = Expr::Const(random.below(2) as i32);
            let transitions = &mut program.processes[number].transitions;
            let at = random.below(transitions.len());
            transitions[at].guard = Some(binary(Binary::Equal, read, value));
        }
    }
    coverage.note("language byte");
    coverage.note("language effect");
    program
}

/// Propositions about a program, as one may ask them from outside.
pub fn propositions(
    random: &mut Random,
    coverage: &mut Coverage,
    program: &Program,
    count: usize,
) -> Vec<Expr> {
    let mut maker = Maker {
        random,
        coverage,
        program: program.clone(),
    };
    (0..count).map(|_| maker.condition(None, 1)).collect()
}

/// Plain propositions about the variables of a loose program.
pub fn loose_propositions(random: &mut Random, program: &Program, count: usize) -> Vec<Expr> {
    let mut all = Vec::new();
    for _ in 0..count {
        let number = random.below(program.globals.len());
        let name = Name {
            process: None,
            number,
        };
        let read = Expr::Read(Place { name, index: None });
        let value = Expr::Const(random.below(2) as i32);
        all.push(match random.below(4) {
            0 => {
                let process = random.below(program.processes.len());
                let locations = program.processes[process].committed.len();
                Expr::At(process, random.below(locations))
            }
            _ => binary(Binary::Equal, read, value),
        });
    }
    all
}

/// A random property process.
pub fn property_process(
    random: &mut Random,
    coverage: &mut Coverage,
    program: &Program,
) -> PropertyProcess {
    let states = 1 + random.below(3);
    let mut edges = Vec::new();
    let loose = random.chance(1, 2);
    for state in 0..states {
        for number in 0..1 + random.below(3) {
            let target = match number == 0 && random.chance(2, 3) {
                true => state,
                false => random.below(states),
            };
            let guard = random.chance(2, 3).then(|| match loose {
                true if !program.globals.is_empty() => {
                    loose_propositions(random, program, 1).remove(0)
                }
                _ => propositions(random, coverage, program, 1).remove(0),
            });
            edges.push((state, target, guard));
        }
    }
    PropertyProcess {
        accepting: (0..states).map(|_| random.chance(1, 2)).collect(),
        edges,
    }
}

#[cfg(test)]
mod tests {
    use super::super::print;
    use super::*;

    #[test]
    fn programs_are_a_function_of_the_seed_and_mostly_small() {
        let mut explored = 0;
        let mut failing = 0;
        let mut coverage = Coverage::declared(FEATURES.map(str::to_owned));
        for seed in 0..300 {
            let program = program(&mut Random::new(seed), &mut coverage);
            let again = super::program(&mut Random::new(seed), &mut Coverage::default());
            assert_eq!(program, again);
            assert_eq!(
                print::program(&program, None, &[]),
                print::program(&again, None, &[])
            );
            if let Some(graph) = program.explore(2000) {
                explored += 1;
                failing += usize::from(graph.has_failure());
            }
        }
        assert!(explored > 240, "{explored} of 300 have few states");
        assert!(
            failing > 30 && failing < 200,
            "{failing} of {explored} fail"
        );
        assert_eq!(
            coverage.missing(),
            ["language failing step"],
            "noted by rounds"
        );
    }
}
