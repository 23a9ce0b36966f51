//! Relations are tried on real states of small programs that are made of what the rules know.

use std::collections::{BTreeSet, HashSet};

use stubborn_system::{
    Executor, FailureKind, LabelId, ProcessId, RelationLevel, Relations, Successors, System,
    TransitionId,
};

use super::relations;
use crate::testing::{Random, random_state};
use crate::{
    BinaryOp, Channel, ChannelRef, Command, Expr, Item, Model, Place, Program, SendOrder, Site,
    Statement, VarId, Variable,
};

/// Where a transition leads; nothing if one of its ways fails, for that counts as disabled.
fn ends(executor: &mut dyn Executor, state: &[u32], t: TransitionId) -> BTreeSet<Vec<u32>> {
    let mut out = Successors::new(state.len());
    executor.fire(state, t, &mut out);
    match out.iter().any(|n| n.outcome.failed().is_some()) {
        true => BTreeSet::new(),
        false => out.iter().map(|n| n.state.to_vec()).collect(),
    }
}

/// Enabled transitions, with whether a step of each violates an assertion, and whether one fails.
fn outcomes(model: &Model, state: &[u32]) -> Vec<(TransitionId, bool, bool)> {
    let mut executor = model.executor();
    let ids = model.structure().transition_ids();
    let outcome = |t: TransitionId| {
        let mut out = Successors::new(state.len());
        executor.fire(state, t, &mut out);
        let violates = out.iter().any(|n| n.outcome.violated().is_some());
        let fails = out.iter().any(|n| n.outcome.failed().is_some());
        (!out.is_empty()).then_some((t, violates, fails))
    };
    ids.filter_map(outcome).collect()
}

/// Panics where a state refutes a relation. Says how often two were enabled of which relations say that
/// they accord.
fn refute(model: &Model, all: &[(RelationLevel, Relations)], state: &[u32]) -> usize {
    let structure = model.structure();
    let mut executor = model.executor();
    let wrong = |level: &RelationLevel, what: &str, pair: &dyn std::fmt::Debug| -> ! {
        let name = &model.program().name;
        panic!("{name}, {level:?}: {what} {pair:?} in {state:?}")
    };
    let mut next = |state: &[u32]| -> Vec<(TransitionId, BTreeSet<Vec<u32>>)> {
        let ids = structure.transition_ids();
        let next = ids.map(|t| (t, ends(&mut *executor, state, t)));
        next.filter(|(_, ends)| !ends.is_empty()).collect()
    };
    let holding = |state: &[u32]| -> Vec<bool> {
        let mut executor = model.executor();
        let labels = structure.label_ids();
        labels.map(|g| executor.label(state, g)).collect()
    };
    let of = |next: &[(TransitionId, BTreeSet<Vec<u32>>)], t: TransitionId| {
        let found = next.iter().find(|(u, _)| *u == t);
        found.map(|(_, ends)| ends.clone()).unwrap_or_default()
    };
    let before = holding(state);
    let here = next(state);
    let mut accord = 0;
    for (level, found) in all {
        for g in structure.label_ids().filter(|g| before[g.index()]) {
            if let Some(h) = found.never_together.0.row(g).find(|h| before[h.index()]) {
                wrong(level, "together", &(g, h));
            }
        }
    }
    let may_go_wrong = |t: TransitionId| {
        let transition = structure.transition(t);
        transition.may_fail || transition.may_violate
    };
    let mut sought = outcomes(model, state);
    sought.retain(|(t, ..)| may_go_wrong(*t));
    for (u, ends) in &here {
        for after in ends.iter().map(|end| outcomes(model, end)) {
            let changed = sought.iter().filter(|outcome| !after.contains(outcome));
            for (t, ..) in changed.filter(|(t, ..)| t != u) {
                for (level, found) in all {
                    let listed = found.may_change_outcome.as_ref();
                    if listed.is_some_and(|listed| !listed.0.contains(*t, *u)) {
                        wrong(level, "has another outcome after", &(t, u));
                    }
                }
            }
        }
    }
    // What follows each transition, by the state between.
    let mut after = Vec::new();
    for (t, between) in &here {
        let between: Vec<_> = between.iter().map(|s| (holding(s), next(s))).collect();
        after.push((*t, between));
    }
    for (level, found) in all {
        for (t, between) in &after {
            for (labels, _) in between {
                for g in structure.label_ids() {
                    let row = match before[g.index()] {
                        true => &found.may_disable.0,
                        false => &found.may_enable.0,
                    };
                    if labels[g.index()] != before[g.index()] && !row.contains(g, *t) {
                        wrong(level, "turned", &(g, t));
                    }
                }
            }
            for (u, ends) in between.iter().flat_map(|(_, next)| next) {
                if found.must_disable.0.contains(*t, *u) {
                    wrong(level, "enabled after", &(u, t));
                }
                if u == t || found.do_not_left_accord.0.contains(*u, *t) {
                    continue;
                }
                let first = after.iter().find(|(first, _)| first == u);
                let moved = first.iter().flat_map(|(_, between)| between);
                let moved: BTreeSet<_> = moved.flat_map(|(_, next)| of(next, *t)).collect();
                if !ends.is_subset(&moved) {
                    wrong(level, "not moved left over", &(u, t));
                }
            }
            for (u, other) in after.iter().filter(|(u, _)| u > t) {
                if found.do_not_accord.0.contains(*t, *u) {
                    continue;
                }
                accord += 1;
                let both = |between: &[(Vec<bool>, Vec<_>)], then: TransitionId| {
                    let ends: Vec<_> = between.iter().map(|(_, next)| of(next, then)).collect();
                    let possible = ends.iter().all(|ends| !ends.is_empty());
                    possible.then(|| ends.into_iter().flatten().collect::<BTreeSet<_>>())
                };
                let (one, two) = (both(between, *u), both(other, *t));
                if one.is_none() || one != two {
                    wrong(level, "do not accord", &(t, u));
                }
            }
        }
    }
    accord
}

/// Makes programs of comparisons, constants, increments, arrays and ends of channels.
pub(super) struct Author {
    rng: Random,
    program: Program,
    processes: Vec<ProcessId>,
    numbers: Vec<VarId>,
    array: VarId,
    channels: [ChannelRef; 2],
    items: usize,
    site: Site,
    /// One command in so many waits for others, and goes on with a chain.
    odd: (usize, usize),
}

impl Author {
    pub(super) fn program(seed: u64) -> Program {
        let mut rng = Random::new(seed);
        let mut program = Program::new(format!("rules {seed}"));
        let site = program.site(FailureKind::OutOfRange, "too much", None);
        let names = || ["a", "b", "c"].map(String::from).to_vec();
        let processes: Vec<ProcessId> = (0..2)
            .map(|nr| program.process(format!("P{nr}"), names(), 0))
            .collect();
        let mut number = |name: &str, rng: &mut Random| {
            let item = match rng.below(15) {
                // More values than are tried one by one.
                0 => Item::wrapping(-1_024, 1_023),
                1..5 => Item::wrapping(0, 3),
                5..10 => Item::range(-1, 1),
                _ => Item::range(0, 2),
            };
            program.variable(Variable {
                item,
                owner: rng.one_in(2).then(|| *rng.pick(&processes)),
                ..Variable::integer(name, 0, 0, 0)
            })
        };
        let numbers = vec![number("x", &mut rng), number("y", &mut rng)];
        let array = program.variable(Variable::array("a", 0, 1, vec![0; 2]));
        let items = rng.below(3);
        let odd = (*rng.pick(&[3, 50, 50]), *rng.pick(&[4, 50, 50]));
        let channels = ["c", "d"].map(|name| {
            ChannelRef::Fixed(program.channel(Channel {
                name: name.into(),
                capacity: 1 + rng.below(2) as u32,
                items: vec![Item::range(0, 1); items],
            }))
        });
        let mut author = Self {
            rng,
            program,
            processes,
            numbers,
            array,
            channels,
            items,
            site,
            odd,
        };
        for nr in 0..10 + author.rng.below(4) {
            author.command(nr);
        }
        for _ in 0..2 {
            let label = author.condition(2);
            author.program.label(label);
        }
        author.program
    }

    fn number(&mut self) -> VarId {
        *self.rng.pick(&self.numbers)
    }

    fn channel(&mut self) -> ChannelRef {
        self.channels[usize::from(self.rng.one_in(4))].clone()
    }

    fn constant(&mut self) -> Expr {
        Expr::Const(self.rng.range(-1, 3) as i32)
    }

    fn index(&mut self) -> Expr {
        match self.rng.one_in(3) {
            true => Expr::Var(self.number()),
            false => Expr::Const(self.rng.below(2) as i32),
        }
    }

    fn value(&mut self) -> Expr {
        match self.rng.below(8) {
            0 => {
                let index = self.index();
                Expr::Element(self.array, Box::new(index), self.site)
            }
            1 => Expr::Length(self.channel()),
            2 if self.items > 0 => self.message(),
            3 => Expr::Var(self.program.processes[self.rng.below(2)].counter),
            4 => Expr::plus(Expr::Var(self.number()), self.index()),
            _ => Expr::Var(self.number()),
        }
    }

    fn message(&mut self) -> Expr {
        Expr::Peek {
            channel: self.channel(),
            position: Box::new(Expr::Const(i32::from(self.rng.one_in(5)))),
            item: self.rng.below(self.items) as u32,
            site: self.site,
        }
    }

    fn condition(&mut self, depth: usize) -> Expr {
        use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        let one = match depth {
            0 => 0,
            _ => self.rng.below(6),
        };
        match one {
            1 => Expr::negation(self.condition(depth - 1)),
            2 => Expr::and(self.condition(depth - 1), self.condition(depth - 1)),
            3 => Expr::or(self.condition(depth - 1), self.condition(depth - 1)),
            _ => {
                let ops = [
                    Equal,
                    NotEqual,
                    Less,
                    LessEqual,
                    Greater,
                    GreaterEqual,
                    Equal,
                ];
                let (op, left) = (*self.rng.pick(&ops), self.value());
                let right = match self.rng.one_in(5) {
                    true => self.value(),
                    false => self.constant(),
                };
                Expr::binary(op, left, right)
            }
        }
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let site = self.site;
        let number = self.number();
        let step = match self.rng.one_in(2) {
            true => Expr::plus(Expr::Var(number), Expr::Const(1)),
            false => Expr::minus(Expr::Var(number), Expr::Const(1)),
        };
        match self.rng.below(10) {
            0 => Statement::assign(number, self.value(), site),
            9 => Statement::Assert {
                condition: self.condition(1),
                site,
            },
            1 | 2 => Statement::assign(number, self.constant(), site),
            3 if depth > 0 => Statement::If {
                condition: self.condition(0),
                then: vec![self.statement(0)],
                otherwise: Vec::new(),
            },
            4 | 5 => Statement::Assign {
                target: Place::Element(self.array, self.index(), site),
                value: Expr::Const(self.rng.below(2) as i32),
                site,
            },
            _ => Statement::assign(number, step, site),
        }
    }

    fn command(&mut self, nr: usize) {
        let (site, channel) = (self.site, self.channel());
        let (mut guards, mut body) = (Vec::new(), Vec::new());
        // Somebody leaves every location, mostly alone.
        let own = self.processes[nr % 2];
        let who: Vec<ProcessId> = match self.rng.below(8) {
            0 => Vec::new(),
            1 => self.processes.clone(),
            _ => vec![own],
        };
        for process in &who {
            let counter = self.program.processes[process.index()].counter;
            let to = Expr::Const(self.rng.below(3) as i32);
            body.push(Statement::assign(counter, to, site));
        }
        let is_guarded = !self.rng.one_in(4);
        match self.rng.below(6) {
            0 | 1 => {
                guards.extend(self.program.has_room(&channel).filter(|_| is_guarded));
                let order = match self.rng.one_in(4) {
                    true => SendOrder::Sorted,
                    false => SendOrder::Fifo,
                };
                let values = (0..self.items).map(|_| match self.rng.one_in(3) {
                    true => Expr::Var(self.numbers[0]),
                    false => Expr::Const(self.rng.below(2) as i32),
                });
                let values = values.collect();
                body.push(Statement::Send {
                    channel,
                    values,
                    order,
                    site,
                });
            }
            2 | 3 => {
                guards.extend(is_guarded.then(|| Program::has_message(&channel)));
                if self.items > 0 && self.rng.one_in(2) {
                    let bit = Expr::Const(self.rng.below(2) as i32);
                    guards.push(Expr::equal(self.message(), bit));
                }
                let targets = (0..self.items)
                    .map(|_| self.rng.one_in(2).then(|| Place::Var(self.numbers[0])));
                body.push(Statement::Receive {
                    targets: targets.collect(),
                    position: self.rng.one_in(5).then_some(Expr::Const(1)),
                    remove: !self.rng.one_in(5),
                    channel,
                    site,
                });
            }
            _ => {}
        }
        for _ in 0..[0, 0, 0, 1, 2][self.rng.below(5)] {
            guards.push(self.condition(1));
        }
        for _ in 0..self.rng.below(3) {
            body.push(self.statement(1));
        }
        let guards: Vec<LabelId> = guards.into_iter().map(|g| self.program.label(g)).collect();
        let source = |process: &ProcessId| match *process == own {
            _ if self.rng.one_in(10) => None,
            true => Some((nr / 2 % 3) as u32),
            false => Some(self.rng.below(3) as u32),
        };
        self.program.command(Command {
            name: format!("c{nr}"),
            sources: who.iter().map(source).collect(),
            processes: who,
            guards,
            body,
            priority: u8::from(self.rng.one_in(self.odd.0)),
            continues: self
                .rng
                .one_in(self.odd.1)
                .then(|| *self.rng.pick(&self.processes)),
            ..Command::default()
        });
    }
}

/// States that runs reach, not all if there are many.
pub(super) fn reachable(model: &Model) -> Vec<Vec<u32>> {
    let initial = model.initial_states();
    let (mut seen, mut states) = (HashSet::from([initial.clone()]), vec![initial]);
    let mut executor = model.executor();
    let mut at = 0;
    while at < states.len() && states.len() < 150 {
        let mut out = Successors::new(states[at].len());
        executor.successors(&states[at], &mut out);
        for next in out.iter().filter(|n| n.outcome.failed().is_none()) {
            if seen.insert(next.state.to_vec()) {
                states.push(next.state.to_vec());
            }
        }
        at += 1;
    }
    states
}

#[test]
fn small_programs_do_not_refute_relations() {
    use RelationLevel::{Exact, Located, Reach, Syntax};
    let (mut accord, mut states) = (0, 0);
    for seed in 0..150 {
        let model = Model::new(Author::program(seed)).expect("a small program");
        let at = |level| (level, relations(&model, level));
        let mut all = vec![at(Syntax), at(Exact)];
        // These say something about every state.
        let mut rng = Random::new(seed);
        for _ in 0..40 {
            accord += refute(&model, &all, &random_state(&model, &mut rng));
        }
        all.extend([at(Reach), at(Located)]);
        for state in reachable(&model) {
            accord += refute(&model, &all, &state);
            states += 1;
        }
    }
    assert!(states > 1_000 && accord > 5_000, "{states} {accord}");
}

#[test]
fn values_of_others_are_kept_when_a_process_has_too_many() {
    use super::domains::{Domains, tests::cover};
    let mut program = Program::new("too many");
    let site = program.site(FailureKind::OutOfRange, "too much", None);
    let processes = ["P", "Q", "R"].map(|name| program.process(name, vec!["a".into()], 0));
    let mut number = |name: &str, max, owner: usize| {
        program.variable(Variable {
            owner: Some(processes[owner]),
            ..Variable::integer(name, 0, max, 0)
        })
    };
    // P has 4096 combinations, and one more with the step that it takes with Q.
    let [a, b] = ["a", "b"].map(|name| number(name, 63, 0));
    let (p, q) = (number("p", 1, 0), number("q", 1, 1));
    let [r, _] = ["r", "s"].map(|name| number(name, 1_000, 2));
    let mut step = |name: &str, guards: Vec<Expr>, body: Vec<(VarId, Expr)>| {
        let guards = guards.into_iter().map(|g| program.label(g)).collect();
        let assign = |(target, value)| Statement::assign(target, value, site);
        program.command(Command {
            name: name.into(),
            guards,
            body: body.into_iter().map(assign).collect(),
            ..Command::default()
        });
    };
    for (variable, max) in [(a, 63), (b, 63), (r, 1_000)] {
        let more = Expr::plus(Expr::Var(variable), Expr::Const(1));
        let guard = Expr::less(Expr::Var(variable), Expr::Const(max));
        step("more", vec![guard], vec![(variable, more)]);
    }
    let is_last = |variable| Expr::equal(Expr::Var(variable), Expr::Const(63));
    let ones = [p, q].map(|variable| (variable, Expr::Const(1)));
    step("both", [a, b].map(is_last).to_vec(), ones.to_vec());
    let model = Model::new(program).expect("a sound program");
    let domains = Domains::reachable(&model, &super::Support::all(&model));
    let mut state = model.initial_states();
    let field = model.layout().field(model.encoding().first_field(r));
    field.set(&mut state, 1_000);
    cover(&model, &domains, &[state]);
}
