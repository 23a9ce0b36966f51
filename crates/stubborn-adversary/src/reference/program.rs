//! Processes with guarded commands over integers, arrays and channels, as DVE has them, and
//! a plain interpreter of them.
//!
//! Things are named by their positions. A thing that is taken away leaves a hole
//! (`removed`), so that the names of all others stay.

use super::graph::{Graph, Step};

/// The types of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0 to 255.
    Byte,
    /// -32768 to 32767.
    Int,
}

impl Kind {
    /// Whether it has this value.
    pub fn holds(self, value: i32) -> bool {
        match self {
            Self::Byte => (0..=255).contains(&value),
            Self::Int => (-32768..=32767).contains(&value),
        }
    }

    /// The value that is left of this one.
    pub fn truncate(self, value: i32) -> i32 {
        match self {
            Self::Byte => i32::from(value as u8),
            Self::Int => i32::from(value as i16),
        }
    }
}

/// A variable or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Of this type.
    pub kind: Kind,
    /// Whether it is an array; otherwise there is one initial value.
    pub is_array: bool,
    /// The initial values.
    pub initial: Vec<i32>,
    /// Whether it never changes.
    pub is_const: bool,
    /// Whether it was taken away.
    pub removed: bool,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// How many messages it holds; none is a rendezvous.
    pub capacity: usize,
    /// How many values a message has.
    pub arity: usize,
    /// The types of the values, if it is typed. Channels that hold messages are.
    pub kinds: Option<Vec<Kind>>,
    /// Whether it was taken away.
    pub removed: bool,
}

/// A variable by the process it belongs to and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// `None` for a global one.
    pub process: Option<usize>,
    /// Among those of its process.
    pub number: usize,
}

/// A variable, or an element of an array (the first one where there is no index).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which.
    pub name: Name,
    /// Which element.
    pub index: Option<Box<Expr>>,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unary {
    Minus,
    Complement,
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Imply,
    Or,
    And,
    BitOr,
    BitAnd,
    BitXor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Const(i32),
    /// The value of a place.
    Read(Place),
    /// 1 if a process is at a location, else 0.
    At(usize, usize),
    /// One operand.
    Unary(Unary, Box<Expr>),
    /// Two operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
}

/// What a transition does on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these values.
    Send(Vec<Expr>),
    /// Receive into these places.
    Receive(Vec<Place>),
}

/// A transition of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// From this location.
    pub source: usize,
    /// To this one.
    pub target: usize,
    /// Only if this is not 0.
    pub guard: Option<Expr>,
    /// With a channel.
    pub sync: Option<(usize, Action)>,
    /// Assignments, one after the other.
    pub effects: Vec<(Place, Expr)>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its own variables.
    pub locals: Vec<Variable>,
    /// Its locations: whether each is committed.
    pub committed: Vec<bool>,
    /// Where it starts.
    pub initial: usize,
    /// What must hold at a location.
    pub assertions: Vec<(usize, Expr)>,
    /// What it can do.
    pub transitions: Vec<Transition>,
    /// Whether it was taken away.
    pub removed: bool,
}

/// A whole system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Variables of all.
    pub globals: Vec<Variable>,
    /// Channels of all.
    pub channels: Vec<Channel>,
    /// Who moves.
    pub processes: Vec<Process>,
}

/// A state of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Values of global variables.
    pub globals: Vec<Vec<i32>>,
    /// Messages in channels, the oldest first.
    pub channels: Vec<Vec<Vec<i32>>>,
    /// Where each process is.
    pub locations: Vec<usize>,
    /// Values of local variables, by process.
    pub locals: Vec<Vec<Vec<i32>>>,
}

/// What cannot be computed: an index or a value out of range, a division by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure;

impl State {
    fn values(&self, name: Name) -> &Vec<i32> {
        match name.process {
            None => &self.globals[name.number],
            Some(process) => &self.locals[process][name.number],
        }
    }

    fn element(&self, place: &Place) -> Result<usize, Failure> {
        let index = match &place.index {
            None => 0,
            Some(index) => self.value(index)?,
        };
        let is_inside = |index: &usize| *index < self.values(place.name).len();
        usize::try_from(index).ok().filter(is_inside).ok_or(Failure)
    }

    /// The value of an expression, in 32 bits.
    pub fn value(&self, expr: &Expr) -> Result<i32, Failure> {
        Ok(match expr {
            Expr::Const(value) => *value,
            Expr::Read(place) => self.values(place.name)[self.element(place)?],
            Expr::At(process, location) => i32::from(self.locations[*process] == *location),
            Expr::Unary(operator, operand) => {
                let value = self.value(operand)?;
                match operator {
                    Unary::Minus => value.wrapping_neg(),
                    Unary::Complement => !value,
                    Unary::Not => i32::from(value == 0),
                }
            }
            Expr::Binary(operator, left, right) => {
                let left = self.value(left)?;
                // The left operand may decide alone; a right one is true if it is positive.
                match (operator, left != 0) {
                    (Binary::And, false) => return Ok(0),
                    (Binary::Or, true) | (Binary::Imply, false) => return Ok(1),
                    _ => {}
                }
                let right = self.value(right)?;
                match operator {
                    Binary::And | Binary::Or | Binary::Imply => i32::from(right > 0),
                    Binary::BitOr => left | right,
                    Binary::BitAnd => left & right,
                    Binary::BitXor => left ^ right,
                    Binary::Equal => i32::from(left == right),
                    Binary::NotEqual => i32::from(left != right),
                    Binary::Less => i32::from(left < right),
                    Binary::LessEqual => i32::from(left <= right),
                    Binary::Greater => i32::from(left > right),
                    Binary::GreaterEqual => i32::from(left >= right),
                    Binary::ShiftLeft => left << (right & 31),
                    Binary::ShiftRight => left >> (right & 31),
                    Binary::Add => left.wrapping_add(right),
                    Binary::Subtract => left.wrapping_sub(right),
                    Binary::Multiply => left.wrapping_mul(right),
                    Binary::Divide | Binary::Remainder if right == 0 => return Err(Failure),
                    Binary::Divide => left.wrapping_div(right),
                    Binary::Remainder => left.wrapping_rem(right),
                }
            }
        })
    }

    /// Whether an expression is not 0.
    pub fn holds(&self, expr: &Expr) -> Result<bool, Failure> {
        Ok(self.value(expr)? != 0)
    }
}

/// A state in the making.
struct Next<'a> {
    program: &'a Program,
    state: State,
}

impl Next<'_> {
    fn store(&mut self, name: Name, element: usize, value: i32) -> Result<(), Failure> {
        if !self.program.variable(name).kind.holds(value) {
            return Err(Failure);
        }
        match name.process {
            None => self.state.globals[name.number][element] = value,
            Some(process) => self.state.locals[process][name.number][element] = value,
        }
        Ok(())
    }

    /// The process moves, then its effects happen one after the other.
    fn finish(&mut self, process: usize, transition: &Transition) -> Result<(), Failure> {
        self.state.locations[process] = transition.target;
        for (place, value) in &transition.effects {
            let value = self.state.value(value)?;
            let element = self.state.element(place)?;
            self.store(place.name, element, value)?;
        }
        Ok(())
    }
}

impl Program {
    /// A variable by its name.
    pub fn variable(&self, name: Name) -> &Variable {
        match name.process {
            None => &self.globals[name.number],
            Some(process) => &self.processes[process].locals[name.number],
        }
    }

    /// The processes that are there.
    pub fn present(&self) -> impl Iterator<Item = (usize, &Process)> {
        let processes = self.processes.iter().enumerate();
        processes.filter(|(_, process)| !process.removed)
    }

    /// Where everything starts.
    pub fn initial(&self) -> State {
        let values = |variables: &[Variable]| {
            let variables = variables.iter();
            variables.map(|variable| variable.initial.clone()).collect()
        };
        State {
            globals: values(&self.globals),
            channels: vec![Vec::new(); self.channels.len()],
            locations: self
                .processes
                .iter()
                .map(|process| process.initial)
                .collect(),
            locals: self
                .processes
                .iter()
                .map(|process| values(&process.locals))
                .collect(),
        }
    }

    /// All states, if there are at most so many.
    pub fn explore(&self, limit: usize) -> Option<Graph<State>> {
        Graph::explore(self.initial(), limit, |state| self.steps(state))
    }

    /// The transitions of processes that may move: where somebody is at a committed
    /// location, only those who are.
    fn candidates<'a>(
        &'a self,
        state: &'a State,
    ) -> impl Iterator<Item = (usize, &'a Transition)> + 'a {
        let is_committed = |process: usize| {
            let location = state.locations[process];
            self.processes[process].committed[location]
        };
        let someone = self.present().any(|(process, _)| is_committed(process));
        let may_move = move |process: usize| !someone || is_committed(process);
        self.present()
            .filter(move |(number, _)| may_move(*number))
            .flat_map(|(number, process)| {
                let transitions = process.transitions.iter();
                transitions.map(move |transition| (number, transition))
            })
            .filter(|(number, transition)| state.locations[*number] == transition.source)
    }

    /// All steps from a state.
    pub fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (process, transition) in self.candidates(state) {
            match &transition.sync {
                Some((channel, action)) if self.channels[*channel].capacity == 0 => {
                    if let Action::Send(values) = action {
                        for (other, partner) in self.candidates(state) {
                            match &partner.sync {
                                Some((same, Action::Receive(places)))
                                    if same == channel && other != process =>
                                {
                                    let message = (*channel, &**values, &**places);
                                    let halves = [(process, transition), (other, partner)];
                                    steps.extend(self.rendezvous(state, message, halves));
                                }
                                _ => {}
                            }
                        }
                    }
                }
                _ => steps.extend(self.single(state, process, transition)),
            }
        }
        steps
    }

    /// A step of one process: a guard that fails leads to a failure, one that is 0 to
    /// nothing.
    fn single(
        &self,
        state: &State,
        process: usize,
        transition: &Transition,
    ) -> Option<Step<State>> {
        let ready = match &transition.sync {
            None => true,
            Some((channel, Action::Send(_))) => {
                state.channels[*channel].len() < self.channels[*channel].capacity
            }
            Some((channel, Action::Receive(_))) => !state.channels[*channel].is_empty(),
        };
        let guard = transition
            .guard
            .as_ref()
            .map_or(Ok(true), |g| state.holds(g));
        if !ready || guard == Ok(false) {
            return None;
        }
        let target = guard.and_then(|_| self.fire(state, process, transition));
        Some(Step {
            target: target.ok(),
            movers: 1 << process,
        })
    }

    /// The transfer first, then the effects.
    fn fire(
        &self,
        state: &State,
        process: usize,
        transition: &Transition,
    ) -> Result<State, Failure> {
        let mut next = Next {
            program: self,
            state: state.clone(),
        };
        match &transition.sync {
            None => {}
            Some((channel, Action::Send(values))) => {
                let mut message = Vec::new();
                for (number, value) in values.iter().enumerate() {
                    message.push(self.cut(*channel, number, state.value(value)?));
                }
                next.state.channels[*channel].push(message);
            }
            Some((channel, Action::Receive(places))) => {
                let elements = elements(state, places)?;
                let message = next.state.channels[*channel].remove(0);
                for ((place, element), value) in places.iter().zip(elements).zip(message) {
                    next.store(place.name, element, value)?;
                }
            }
        }
        next.finish(process, transition)?;
        Ok(next.state)
    }

    fn cut(&self, channel: usize, item: usize, value: i32) -> i32 {
        match &self.channels[channel].kinds {
            None => value,
            Some(kinds) => kinds[item].truncate(value),
        }
    }

    /// A step of a sender and a receiver together.
    fn rendezvous(
        &self,
        state: &State,
        (channel, values, places): (usize, &[Expr], &[Place]),
        [(sender, sending), (receiver, receiving)]: [(usize, &Transition); 2],
    ) -> Option<Step<State>> {
        let mut fails = false;
        for guard in [&sending.guard, &receiving.guard].into_iter().flatten() {
            match state.holds(guard) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(Failure) => fails = true,
            }
        }
        let fire = || {
            let assigned = |transition: &Transition, name: Name| {
                let mut effects = transition.effects.iter();
                effects.any(|(place, _)| place.name == name)
            };
            let mut globals = (0..self.globals.len()).map(|number| Name {
                process: None,
                number,
            });
            if globals.any(|name| assigned(sending, name) && assigned(receiving, name)) {
                return Err(Failure);
            }
            let mut next = Next {
                program: self,
                state: state.clone(),
            };
            let elements = elements(state, places)?;
            for (item, (value, (place, element))) in
                values.iter().zip(places.iter().zip(elements)).enumerate()
            {
                let value = self.cut(channel, item, next.state.value(value)?);
                next.store(place.name, element, value)?;
            }
            next.finish(receiver, receiving)?;
            next.finish(sender, sending)?;
            Ok(next.state)
        };
        let target = match fails {
            true => None,
            false => fire().ok(),
        };
        Some(Step {
            target,
            movers: 1 << sender | 1 << receiver,
        })
    }
}

fn elements(state: &State, places: &[Place]) -> Result<Vec<usize>, Failure> {
    places.iter().map(|place| state.element(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(kind: Kind, initial: i32) -> Variable {
        Variable {
            kind,
            is_array: false,
            initial: vec![initial],
            is_const: false,
            removed: false,
        }
    }

    fn global(number: usize) -> Place {
        Place {
            name: Name {
                process: None,
                number,
            },
            index: None,
        }
    }

    fn read(place: Place) -> Expr {
        Expr::Read(place)
    }

    fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
        Expr::Binary(operator, Box::new(left), Box::new(right))
    }

    fn step(source: usize, target: usize) -> Transition {
        Transition {
            source,
            target,
            guard: None,
            sync: None,
            effects: vec![],
        }
    }

    fn process(committed: &[bool], transitions: Vec<Transition>) -> Process {
        Process {
            committed: committed.to_vec(),
            transitions,
            ..Process::default()
        }
    }

    fn counts(program: &Program) -> (usize, usize) {
        let graph = program.explore(10_000).unwrap();
        (graph.state_count(), graph.step_count())
    }

    /// `byte x = 250`, loop `x = x + 1`: 7 states with the failure, 6 steps.
    #[test]
    fn a_byte_that_overflows_fails() {
        for (kind, start, expected) in [(Kind::Byte, 250, (7, 6)), (Kind::Int, 32760, (9, 8))] {
            let more = binary(Binary::Add, read(global(0)), Expr::Const(1));
            let transition = Transition {
                effects: vec![(global(0), more)],
                ..step(0, 0)
            };
            let program = Program {
                globals: vec![variable(kind, start)],
                processes: vec![process(&[false], vec![transition])],
                ..Program::default()
            };
            assert_eq!(counts(&program), expected);
        }
    }

    /// Loop `guard 4/i > 0; i = i-1` from i = 2: 4 states, 3 steps.
    #[test]
    fn a_guard_that_fails_is_a_step_that_fails() {
        let share = binary(Binary::Divide, Expr::Const(4), read(global(0)));
        let transition = Transition {
            guard: Some(binary(Binary::Greater, share, Expr::Const(0))),
            effects: vec![(
                global(0),
                binary(Binary::Subtract, read(global(0)), Expr::Const(1)),
            )],
            ..step(0, 0)
        };
        let program = Program {
            globals: vec![variable(Kind::Int, 2)],
            processes: vec![process(&[false], vec![transition])],
            ..Program::default()
        };
        assert_eq!(counts(&program), (4, 3));
    }

    #[test]
    fn committed_processes_go_first() {
        let send = |source, target| Transition {
            sync: Some((0, Action::Send(vec![]))),
            ..step(source, target)
        };
        let receive = |source, target| Transition {
            sync: Some((0, Action::Receive(vec![]))),
            ..step(source, target)
        };
        let program = |sender: bool, receiver: bool| Program {
            channels: vec![Channel {
                capacity: 0,
                arity: 0,
                kinds: None,
                removed: false,
            }],
            processes: vec![
                process(&[sender, false], vec![send(0, 1)]),
                process(&[receiver, false], vec![receive(0, 1)]),
                process(&[false, false], vec![step(0, 1)]),
            ],
            ..Program::default()
        };
        // One committed partner alone: nobody moves. Both: they do, then the third one.
        assert_eq!(counts(&program(true, false)), (1, 0));
        assert_eq!(counts(&program(true, true)), (3, 2));
        assert_eq!(counts(&program(false, false)), (4, 4));
    }

    #[test]
    fn partners_that_assign_the_same_global_variable_fail() {
        let program = |other: usize| Program {
            globals: vec![variable(Kind::Byte, 0), variable(Kind::Byte, 0)],
            channels: vec![Channel {
                capacity: 0,
                arity: 1,
                kinds: Some(vec![Kind::Byte]),
                removed: false,
            }],
            processes: vec![
                process(
                    &[false, false],
                    vec![Transition {
                        sync: Some((0, Action::Send(vec![Expr::Const(257)]))),
                        effects: vec![(global(0), Expr::Const(2))],
                        ..step(0, 1)
                    }],
                ),
                process(
                    &[false, false],
                    vec![Transition {
                        sync: Some((0, Action::Receive(vec![global(1)]))),
                        effects: vec![(global(other), read(global(1)))],
                        ..step(0, 1)
                    }],
                ),
            ],
        };
        assert!(program(0).explore(10).unwrap().has_failure());
        let graph = program(1).explore(10).unwrap();
        // The value was cut to a byte.
        assert_eq!(graph.states[1].globals, [[2], [1]]);
    }

    #[test]
    fn messages_wait_in_channels_and_are_sent_before_the_effects() {
        let program = Program {
            globals: vec![variable(Kind::Byte, 1)],
            channels: vec![Channel {
                capacity: 2,
                arity: 1,
                kinds: Some(vec![Kind::Byte]),
                removed: false,
            }],
            processes: vec![
                process(
                    &[false],
                    vec![Transition {
                        sync: Some((0, Action::Send(vec![read(global(0))]))),
                        effects: vec![(global(0), Expr::Const(3))],
                        ..step(0, 0)
                    }],
                ),
                process(
                    &[false],
                    vec![Transition {
                        sync: Some((0, Action::Receive(vec![global(0)]))),
                        ..step(0, 0)
                    }],
                ),
            ],
        };
        let graph = program.explore(100).unwrap();
        let after = |number: usize| {
            (
                &graph.states[number].globals,
                &graph.states[number].channels,
            )
        };
        assert_eq!(after(1), (&vec![vec![3]], &vec![vec![vec![1]]]));
        assert_eq!(graph.deadlocks().count(), 0);
    }

    #[test]
    fn logic_looks_at_the_right_operand_last_and_wants_it_positive() {
        let state = Program::default().initial();
        let value = |operator, left, right| {
            state.value(&binary(operator, Expr::Const(left), Expr::Const(right)))
        };
        assert_eq!(value(Binary::And, 1, -1), Ok(0));
        assert_eq!(value(Binary::And, -1, 1), Ok(1));
        assert_eq!(value(Binary::Or, 0, -1), Ok(0));
        assert_eq!(value(Binary::Imply, 0, -1), Ok(1));
        assert_eq!(value(Binary::Divide, -7, 2), Ok(-3));
        assert_eq!(value(Binary::Remainder, 1, 0), Err(Failure));
        assert_eq!(value(Binary::ShiftLeft, 1, 33), Ok(2));
        let failing = binary(Binary::Divide, Expr::Const(1), Expr::Const(0));
        let decided = binary(Binary::Or, Expr::Const(1), failing);
        assert_eq!(state.value(&decided), Ok(1));
    }
}
