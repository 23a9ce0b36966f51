//! Programs that take long to come to the point: growth, and atomic sequences of many steps.

use super::{Generator, Type, Variable, assert};
use crate::promela::ast::{
    Kind, Node, assign, binary, condition, leaf, named, node, number, place, sequence, with,
};

impl Generator {
    /// A long way to something new: a process that is started late, or a variable that
    /// becomes large.
    pub(super) fn growth(&mut self) {
        let goal = self.random.between(20, 70);
        let counter = |generator: &mut Self, last: Vec<Node>| {
            let name = generator.fresh("n");
            let of = named(Kind::Type, "byte");
            generator
                .units
                .push(node(Kind::Declaration, name.clone(), 0, vec![of]));
            let more = sequence(vec![
                condition(binary("<", place(&name), number(goal))),
                with(Kind::Increment, vec![place(&name)]),
            ]);
            let stop = sequence(vec![
                condition(binary("==", place(&name), number(goal))),
                leaf(Kind::Break),
            ]);
            let mut body = vec![with(Kind::Do, vec![more, stop])];
            body.extend(last);
            generator.add_process(body);
        };
        self.process(0);
        let start = self.start();
        counter(self, vec![condition(start)]);
        if self.random.chance(1, 2) {
            counter(self, Vec::new());
        }
    }

    /// Little more than one atomic sequence that ends after thousands of steps: longer than what
    /// anybody would walk without noticing, with one way through it or a few.
    pub(super) fn long_chain(&mut self) {
        let d_step = self.use_of("d_step", 1, 2);
        let rounds = match d_step {
            true => *self.random.pick(&[5000, 70_000, 300_000, 1_200_000]),
            false => *self.random.pick(&[2500, 5000, 70_000, 150_000, 300_000]),
        };
        let wide = self.number("int");
        let small = self.number("byte");
        let mut chain = Vec::new();
        if self.random.chance(1, 3) {
            chain.push(self.choice(&small));
        }
        let last = self.long_way(&wide, &small, rounds, &mut chain);
        if self.random.chance(1, 3) {
            chain.push(self.choice(&small));
        }
        self.ending(&wide, &small, last, &mut chain);
        let kind = match d_step {
            true => Kind::DStep,
            false => Kind::Atomic,
        };
        let mut body = vec![with(kind, vec![sequence(chain)])];
        if self.random.chance(1, 2) {
            let value = *self.random.pick(&[last, last, 5]);
            body.push(assert(binary("==", place(&wide), number(value))));
        }
        self.add_process(body);
        if self.random.chance(1, 2) {
            // Who sees what is only there on the way.
            let seen = binary("==", place(&wide), number(last));
            let start = binary("==", place(&wide), number(0));
            let body = match self.random.below(3) {
                0 => vec![assert(binary("||", start, seen))],
                1 => vec![condition(seen), assign(place(&small), number(9))],
                _ => vec![condition(binary("==", place(&wide), number(7)))],
            };
            self.add_process(body);
        }
        self.claims();
    }

    /// Counts, and returns where the counter ends.
    fn long_way(&mut self, wide: &str, small: &str, rounds: i64, chain: &mut Vec<Node>) -> i64 {
        let counter = || place(wide);
        let more = |limit| condition(binary("<", counter(), number(limit)));
        let up = || with(Kind::Increment, vec![counter()]);
        let stop = |test: Node| sequence(vec![test, leaf(Kind::Break)]);
        let otherwise = || stop(leaf(Kind::Else));
        match self.random.below(5) {
            // A few ways out near the end.
            0 => {
                let out = stop(condition(binary(">", counter(), number(rounds - 3))));
                let step = sequence(vec![more(rounds), up()]);
                chain.push(with(Kind::Do, vec![step, out]));
                rounds
            }
            // Rounds of rounds.
            1 => {
                let again = sequence(vec![
                    condition(binary("<", place(small), number(100))),
                    with(Kind::Increment, vec![place(small)]),
                ]);
                let inner = with(Kind::Do, vec![again, otherwise()]);
                let step = vec![more(1000), up(), assign(place(small), number(0)), inner];
                chain.push(with(Kind::Do, vec![sequence(step), otherwise()]));
                1000
            }
            // Until a number wraps.
            2 => {
                let short = self.number("short");
                let whole = stop(condition(binary("==", place(&short), number(0))));
                let rest = sequence(vec![leaf(Kind::Else)]);
                let step = vec![
                    with(Kind::Increment, vec![place(&short)]),
                    up(),
                    with(Kind::If, vec![whole, rest]),
                ];
                chain.push(with(Kind::Do, vec![sequence(step)]));
                65_536
            }
            // There and back.
            3 => {
                let step = sequence(vec![more(rounds), up()]);
                chain.push(with(Kind::Do, vec![step, otherwise()]));
                let less = assign(counter(), binary("-", counter(), number(1)));
                let back = vec![condition(binary(">", counter(), number(1))), less];
                chain.push(with(Kind::Do, vec![sequence(back), otherwise()]));
                1
            }
            _ => {
                let step = sequence(vec![more(rounds), up()]);
                chain.push(with(Kind::Do, vec![step, otherwise()]));
                rounds
            }
        }
    }

    /// What comes at the end: nothing, an assertion, a step that fails, or both.
    fn ending(&mut self, wide: &str, small: &str, last: i64, chain: &mut Vec<Node>) {
        let right = assert(binary("==", place(wide), number(last)));
        let wrong = assert(binary("==", place(wide), number(5)));
        let nothing = binary("-", place(wide), place(wide));
        let failing = assign(place(small), binary("/", number(1), nothing));
        match self.random.below(6) {
            0 => {}
            1 => chain.push(right),
            2 => chain.push(wrong),
            3 => chain.extend([wrong, failing]),
            4 => chain.extend([right, failing]),
            // One of two ways that meet again.
            _ => {
                let way = sequence(vec![assign(place(small), number(1))]);
                chain.push(with(Kind::If, vec![way, sequence(vec![wrong])]));
                let more = condition(binary("<", place(small), number(3)));
                let step = sequence(vec![more, with(Kind::Increment, vec![place(small)])]);
                let leave = sequence(vec![leaf(Kind::Else), leaf(Kind::Break)]);
                chain.push(with(Kind::Do, vec![step, leave]));
            }
        }
    }

    fn choice(&mut self, small: &str) -> Node {
        let way = |value| sequence(vec![assign(place(small), number(value))]);
        with(Kind::If, vec![way(1), way(2)])
    }

    /// A global number.
    fn number(&mut self, of: &'static str) -> String {
        let name = self.fresh("g");
        let parts = vec![named(Kind::Type, of)];
        self.units
            .push(node(Kind::Declaration, name.clone(), 0, parts));
        self.variables.push(Variable {
            name: name.clone(),
            of: Type::Number(of, 0),
            elements: 0,
        });
        name
    }

    fn add_process(&mut self, body: Vec<Node>) {
        let parts = vec![leaf(Kind::Parameters), sequence(body)];
        let name = self.fresh("P");
        self.units.push(node(Kind::Process, name, 1, parts));
        self.active += 1;
    }
}
