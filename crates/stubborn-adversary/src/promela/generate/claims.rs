//! What is claimed of a program: formulas, automata of runs, orders of events.

use super::{Generator, Variable, assert};
use crate::promela::ast::{
    Kind, Node, binary, condition, leaf, named, node, number, place, sequence, with,
};

impl Generator {
    pub(super) fn claims(&mut self) {
        let global = |v: &Variable| v.name.starts_with('g');
        self.variables.retain(global);
        self.in_claim = true;
        if self.on("ltl") {
            for index in 0..self.random.between(1, 2) {
                self.failures = 1;
                let formula = self.formula(3);
                self.units
                    .push(node(Kind::Ltl, format!("p{index}"), 0, vec![formula]));
            }
        }
        if self.on("never") {
            self.never();
        }
        if self.on("trace") {
            self.trace();
        }
    }

    pub(super) fn formula(&mut self, depth: usize) -> Node {
        if depth > 1 && !self.arrivals.is_empty() && self.random.chance(1, 2) {
            let arrived = self.arrived();
            let modal = *self.random.pick(&["[]", "[]", "<>"]);
            return node(Kind::Modal, modal, 0, vec![arrived]);
        }
        if depth == 0 || self.random.chance(1, 5) {
            let test = self.plain_test(1);
            // A formula's operators bind tightly.
            return match test.kind {
                Kind::Binary | Kind::Unary => test,
                _ => binary("!=", test, number(0)),
            };
        }
        match self.random.below(9) {
            0..=2 => node(Kind::Modal, "[]", 0, vec![self.formula(depth - 1)]),
            3 | 4 => node(Kind::Modal, "<>", 0, vec![self.formula(depth - 1)]),
            5 => node(Kind::Modal, "!", 0, vec![self.formula(depth - 1)]),
            6 if self.on("next") => node(Kind::Modal, "X", 0, vec![self.formula(depth - 1)]),
            _ => {
                let operators = ["&&", "||", "->", "<->", "U", "U", "V", "W"];
                let operator = *self.random.pick(&operators);
                let parts = vec![self.formula(depth - 1), self.formula(depth - 1)];
                node(Kind::Connective, operator, 0, parts)
            }
        }
    }

    pub(super) fn never(&mut self) {
        let count = 1 + self.random.below(3);
        let names: Vec<String> = (0..count)
            .map(|index| match self.random.chance(1, 2) {
                true => format!("accept_S{index}"),
                false => format!("S{index}"),
            })
            .collect();
        let mut body = Vec::new();
        for name in &names {
            let mut options = Vec::new();
            for _ in 0..self.random.between(1, 3) {
                let test = match self.random.below(4) {
                    0 => number(1),
                    _ => self.test(1),
                };
                let mut option = vec![condition(test)];
                match self.random.below(5) {
                    0 => {}
                    1 if self.on("assert") => option.push(assert(self.test(1))),
                    2 => option.push(leaf(Kind::Break)),
                    _ => {
                        let target = self.random.pick(&names).clone();
                        option.push(named(Kind::Goto, target));
                    }
                }
                options.push(sequence(option));
            }
            let choice = with(Kind::Do, options);
            body.push(node(Kind::Label, name, 0, vec![choice]));
        }
        self.units.push(with(Kind::Never, vec![sequence(body)]));
    }

    pub(super) fn trace(&mut self) {
        // Events of rendez-vous are recorded by SPIN before it is known that they take place.
        let Some((channel, named)) = self.any_channel(|c| c.elements == 0 && !c.rendez_vous) else {
            return;
        };
        let kind = *self.random.pick(&[Kind::Trace, Kind::Trace, Kind::NoTrace]);
        let event = *self.random.pick(&[Kind::Send, Kind::Receive]);
        let mut events = Vec::new();
        for first in 0..self.random.between(1, 3) {
            let mut parts = vec![named.clone(), number(first)];
            parts.extend(channel.fields.iter().skip(1).map(|_| place("_")));
            events.push(with(event, parts));
        }
        let body = match self.random.below(3) {
            0 => events,
            1 => {
                let options = events
                    .into_iter()
                    .map(|event| sequence(vec![event]))
                    .collect();
                vec![with(Kind::Do, options)]
            }
            _ => vec![with(Kind::Do, vec![sequence(events)])],
        };
        self.units.push(with(kind, vec![sequence(body)]));
    }
}
