//! Statements.

use std::collections::BTreeSet;

use super::{Generator, Inside, Type, Variable, assert};
use crate::promela::ast::{
    Kind, Node, assign, binary, condition, leaf, named, node, number, place, sequence, with,
};

impl Generator {
    pub(super) fn statements(&mut self, count: usize, depth: usize) -> Vec<Node> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.extend(self.statement(depth));
        }
        all
    }

    /// Statements inside of something, which cannot see what is declared there afterwards.
    pub(super) fn nested(&mut self, count: usize, depth: usize) -> Node {
        let variables = self.variables.clone();
        let statements = self.statements(count, depth);
        self.variables = variables;
        sequence(statements)
    }

    pub(super) fn statement(&mut self, depth: usize) -> Vec<Node> {
        if depth == 0 {
            return self.simple();
        }
        let body = self.inside == Inside::Body;
        let d_step = self.inside == Inside::DStep;
        match self.random.below(16) {
            0 | 1 if self.on("atomic") && !d_step && (body || self.random.chance(1, 4)) => {
                let outer = std::mem::replace(&mut self.inside, Inside::Atomic);
                let count = 1 + self.random.below(3);
                let mut statements = self.nested(count, depth - 1);
                if self.use_of("long loop", 1, 3) {
                    let at = self.random.below(statements.parts.len() + 1);
                    let long = self.long_loop();
                    statements.parts.splice(at..at, long);
                }
                if self.use_of("trouble in atomic", 1, 2) {
                    statements.parts.extend(self.trouble());
                }
                self.inside = outer;
                vec![with(Kind::Atomic, vec![statements])]
            }
            2 | 3 if self.on("d_step") && !d_step => {
                let outer = self.inside;
                let loops = std::mem::replace(&mut self.in_loop, false);
                let variables = self.variables.clone();
                let mut statements = match self.random.below(3) {
                    0 => vec![condition(self.test(1))],
                    1 if !self.on("d_step blocks") => Vec::new(),
                    _ => self.simple(),
                };
                self.inside = Inside::DStep;
                let count = 1 + self.random.below(3);
                statements.extend(self.statements(count, depth - 1));
                if self.use_of("long loop", 1, 4) {
                    statements.extend(self.long_loop());
                }
                if self.use_of("trouble in atomic", 1, 2) {
                    statements.extend(self.trouble());
                }
                self.inside = outer;
                self.in_loop = loops;
                self.variables = variables;
                vec![with(Kind::DStep, vec![sequence(statements)])]
            }
            4 if self.on("unless") && !d_step => {
                let main = self.nested(2, depth - 1);
                let mut escape = vec![condition(self.test(1))];
                if self.random.chance(1, 4) {
                    escape = self.simple();
                }
                escape.extend(self.simple());
                vec![with(Kind::Unless, vec![main, sequence(escape)])]
            }
            5 | 6 => vec![self.repetition(depth)],
            7..=9 => vec![self.selection(depth)],
            10 if self.on("for") => self.counted(depth),
            11 if self.on("block") => {
                let declaration = self
                    .on("late declaration")
                    .then(|| self.variable("v", true));
                let mut statements = self.nested(2, depth - 1);
                if let Some(declaration) = declaration {
                    statements.parts.insert(0, declaration);
                    self.variables.pop();
                }
                vec![with(Kind::Block, vec![statements])]
            }
            12 if self.on("late declaration") && !d_step => {
                vec![self.variable("v", true)]
            }
            13 if self.on("endless atomic") && body => {
                let mut once = self
                    .number_place()
                    .into_iter()
                    .map(|target| assign(target.clone(), binary("-", number(1), target)));
                let step = once.next().unwrap_or_else(|| condition(number(1)));
                self.inside = Inside::Atomic;
                let mut loop_body = vec![step];
                loop_body.extend(self.simple());
                self.inside = Inside::Body;
                let endless = with(Kind::Do, vec![sequence(loop_body)]);
                vec![with(Kind::Atomic, vec![sequence(vec![endless])])]
            }
            14 if !self.inlines.is_empty() && !d_step && self.on("inline") => {
                let (name, parameters) = self.random.pick(&self.inlines).clone();
                // Parameters may be assigned to: only variables will do.
                let arguments: Option<Vec<_>> =
                    (0..parameters).map(|_| self.number_place()).collect();
                match arguments {
                    Some(arguments) => vec![node(Kind::Call, name, 0, arguments)],
                    None => self.simple(),
                }
            }
            _ => self.simple(),
        }
    }

    /// Does twice, by steps that others do not notice otherwise, what they may change in between: the
    /// number that a process gets, or what is seen of a channel.
    pub(super) fn twice(&mut self) -> Vec<Node> {
        let names = [self.fresh("v"), self.fresh("v")];
        let starts = self.on("run in expression") && !self.startable.is_empty();
        let (what, operator) = match starts && self.random.chance(1, 2) {
            true => (self.start(), "!="),
            false if self.on("poll") && self.random.chance(1, 2) => (self.poll(), "=="),
            false => (self.channel_function(), "=="),
        };
        let declare = |name: &String| {
            let parts = vec![named(Kind::Type, "byte")];
            node(Kind::Declaration, name.clone(), 0, parts)
        };
        let mut all: Vec<Node> = names.iter().map(declare).collect();
        all.extend(names.iter().map(|name| assign(place(name), what.clone())));
        let [first, second] = names.map(|name| place(&name));
        all.push(assert(binary(operator, first, second)));
        all
    }

    /// Adds to a process: a step that others see, some that they do not, and a label at which they may look
    /// for it, which is returned.
    pub(super) fn arrival(&mut self, process: &str, body: &mut Vec<Node>) -> Option<String> {
        let names = self.scalars();
        let signs: Vec<&String> = names.iter().filter(|name| name.starts_with('g')).collect();
        if signs.is_empty() {
            return None;
        }
        let sign = place(self.random.pick(&signs).as_str());
        let own = self.fresh("v");
        let declaration = vec![named(Kind::Type, "byte")];
        body.insert(0, node(Kind::Declaration, own.clone(), 0, declaration));
        let sets = |value| assign(sign.clone(), number(value));
        let (mut way, is_told) = match self.random.below(6) {
            0 if !self.channels.is_empty() => (self.send(), false),
            1 if !self.channels.is_empty() => (self.receive(), false),
            2 if self.on("atomic") => {
                let sequence = sequence(vec![sets(0), sets(1)]);
                (vec![with(Kind::Atomic, vec![sequence])], true)
            }
            _ => (vec![sets(1)], true),
        };
        let start = ["L", "end", "progress", "accept"][self.random.weighted(&[3, 1, 2, 1])];
        let label = self.fresh(start);
        for _ in 0..self.random.between(1, 2) {
            way.push(match self.random.below(5) {
                0 | 1 => leaf(Kind::Skip),
                2 => condition(number(1)),
                3 => assign(place(&own), binary("+", place(&own), number(0))),
                _ => assign(place(&own), number(2)),
            });
        }
        let there = match self.random.below(4) {
            0 => condition(number(0)),
            1 => condition(binary("==", sign.clone(), number(2))),
            2 => {
                let other = binary("-", number(1), place(&own));
                with(Kind::Do, vec![sequence(vec![assign(place(&own), other)])])
            }
            _ => sets(0),
        };
        way.push(node(Kind::Label, label.clone(), 0, vec![there]));
        if self.random.chance(1, 3) {
            // Again and again, over the same places.
            body.push(with(Kind::Do, vec![sequence(way)]));
        } else {
            body.extend(way);
        }
        let sign = match is_told {
            true => binary("==", sign, number(1)),
            false => number(1),
        };
        self.arrivals.push(super::Arrival {
            process: process.to_owned(),
            label: label.clone(),
            sign,
        });
        Some(label)
    }

    /// `do … od`, with a way out, or rarely without one.
    pub(super) fn repetition(&mut self, depth: usize) -> Node {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let mut options = Vec::new();
        if self.inside == Inside::DStep {
            let bound = self.random.between(1, 4);
            options.extend(self.bounded_loop(bound));
        } else {
            for _ in 0..=self.random.below(2) {
                options.push(self.option(depth));
            }
            match self.random.below(8) {
                0 => {}
                1 | 2 => options.push(sequence(vec![leaf(Kind::Break)])),
                3 | 4 => {
                    let otherwise = leaf(Kind::Else);
                    let leave = leaf(Kind::Break);
                    options.push(sequence(vec![otherwise, leave]));
                }
                _ => {
                    let leave = leaf(Kind::Break);
                    options.push(sequence(vec![condition(self.test(1)), leave]));
                }
            }
        }
        self.in_loop = outer;
        with(Kind::Do, options)
    }

    /// The options of a loop that counts a variable up to `bound`, or down to 0.
    pub(super) fn bounded_loop(&mut self, bound: i64) -> Vec<Node> {
        let Some(counter) = self.number_place() else {
            return vec![sequence(vec![leaf(Kind::Break)])];
        };
        let leave = leaf(Kind::Break);
        let otherwise = match self.random.chance(3, 4) {
            true => leaf(Kind::Else),
            false => condition(binary(">=", counter.clone(), number(bound))),
        };
        let test = condition(binary("<", counter.clone(), number(bound)));
        let mut step = vec![test, with(Kind::Increment, vec![counter])];
        if self.random.chance(1, 3) {
            step.extend(self.simple());
        }
        vec![sequence(step), sequence(vec![otherwise, leave])]
    }

    /// An assertion that mostly fails, on a way that comes back, that meets another one, or on which a
    /// step fails next.
    fn trouble(&mut self) -> Vec<Node> {
        let scalars = self.scalars();
        if scalars.is_empty() {
            return Vec::new();
        }
        self.features.remove("trouble in atomic");
        let target = place(self.random.pick(&scalars));
        let wrong = assert(binary("==", target.clone(), number(7)));
        let zero = assign(target.clone(), number(0));
        match self.random.below(3) {
            0 if self.inside == Inside::Atomic => {
                let leave = sequence(vec![leaf(Kind::Break)]);
                let options = vec![sequence(vec![wrong]), leave];
                vec![zero, with(Kind::Do, options)]
            }
            1 if self.inside == Inside::Atomic => {
                let options = vec![sequence(vec![zero]), sequence(vec![wrong])];
                let mut all = vec![with(Kind::If, options)];
                all.extend(self.long_loop());
                all
            }
            _ if self.failures > 0 => {
                self.failures -= 1;
                let nothing = binary("-", target.clone(), target.clone());
                vec![wrong, assign(target, binary("/", number(1), nothing))]
            }
            _ => vec![wrong],
        }
    }

    /// A loop of many rounds, for inside of an atomic sequence.
    pub(super) fn long_loop(&mut self) -> Vec<Node> {
        let wide = |v: &&Variable| {
            v.elements == 0 && matches!(v.of, Type::Number("int" | "short" | "byte", _))
        };
        let fitting: Vec<Variable> = self.variables.iter().filter(wide).cloned().collect();
        if fitting.is_empty() {
            return Vec::new();
        }
        let variable = self.random.pick(&fitting).clone();
        let rounds = match variable.of {
            Type::Number("int", _) => *self.random.pick(&[300, 2000, 3000, 5000, 150_000, 300_000]),
            Type::Number("short", _) => *self.random.pick(&[300, 3000, 20_000]),
            _ => *self.random.pick(&[100, 200, 255]),
        };
        let counter = place(&variable.name);
        let mut all = vec![assign(counter.clone(), number(0))];
        let test = condition(binary("<", counter.clone(), number(rounds)));
        let mut step = vec![test, with(Kind::Increment, vec![counter.clone()])];
        if self.on("assert") && self.random.chance(1, 3) {
            let limit = *self.random.pick(&[rounds - 1, rounds, rounds / 2]);
            step.push(assert(binary("<=", counter.clone(), number(limit))));
        }
        let leave = leaf(Kind::Break);
        let otherwise = leaf(Kind::Else);
        let options = vec![sequence(step), sequence(vec![otherwise, leave])];
        all.push(with(Kind::Do, options));
        if self.on("assert") && self.random.chance(1, 2) {
            let value = *self.random.pick(&[rounds, rounds, 5]);
            all.push(assert(binary("==", counter.clone(), number(value))));
        }
        if self.random.chance(1, 2) {
            all.push(assign(counter, number(0)));
        }
        all
    }

    pub(super) fn selection(&mut self, depth: usize) -> Node {
        let mut options = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            options.push(self.option(depth));
        }
        let never_blocks = self.inside == Inside::DStep && !self.on("d_step blocks");
        if never_blocks || self.random.chance(1, 3) {
            let mut otherwise = vec![leaf(Kind::Else)];
            otherwise.extend(self.simple());
            options.push(sequence(otherwise));
        }
        with(Kind::If, options)
    }

    /// A sequence that begins with a condition, mostly.
    pub(super) fn option(&mut self, depth: usize) -> Node {
        let variables = self.variables.clone();
        let mut parts = match self.random.below(6) {
            0 | 1 => {
                let mut first = self.simple();
                first.truncate(1);
                first
            }
            _ => vec![condition(self.test(1))],
        };
        // What stands first must not be an unconditional loop of one step.
        let count = usize::from(parts[0].kind != Kind::Condition) + self.random.below(2);
        parts.extend(self.statements(count, depth - 1));
        self.variables = variables;
        sequence(parts)
    }

    pub(super) fn counted(&mut self, depth: usize) -> Vec<Node> {
        let scalars = self.scalars();
        if scalars.is_empty() {
            return self.simple();
        }
        let counter = place(self.random.pick(&scalars));
        let outer = std::mem::replace(&mut self.in_loop, true);
        let body = match self.inside {
            Inside::DStep => sequence(self.simple()),
            _ => self.nested(1, depth - 1),
        };
        self.in_loop = outer;
        let arrays = self.variables.iter().filter(|v| v.elements > 0);
        let arrays: Vec<String> = arrays.map(|v| v.name.clone()).collect();
        if !arrays.is_empty() && self.random.chance(1, 3) {
            let array = place(self.random.pick(&arrays));
            return vec![with(Kind::ForIn, vec![counter, array, body])];
        }
        let low = self.random.between(0, 1);
        let high = match self.random.chance(1, 4) {
            true => binary("&", place(self.random.pick(&scalars)), number(3)),
            false => number(low + self.random.between(0, 2)),
        };
        vec![with(Kind::For, vec![counter, number(low), high, body])]
    }

    /// A basic statement, or a few of them.
    pub(super) fn simple(&mut self) -> Vec<Node> {
        let d_step = self.inside == Inside::DStep;
        let may_block = !d_step || self.use_of("d_step blocks", 1, 3);
        match self.random.below(22) {
            0 | 1 if !self.channels.is_empty() && may_block => self.send(),
            2 | 3 if !self.channels.is_empty() && may_block => self.receive(),
            4..=6 if self.on("assert") && self.assertions > 0 => {
                self.assertions -= 1;
                vec![assert(self.test(1))]
            }
            15 if self.on("printf") => {
                let values = (0..self.random.below(3)).map(|_| self.value(1)).collect();
                vec![with(Kind::Print, values)]
            }
            7 if self.on("goto") && !d_step => {
                let name = format!("L{}", self.random.between(0, 2));
                self.gotos.insert(name.clone());
                vec![named(Kind::Goto, name)]
            }
            8 if self.in_loop && !d_step => vec![leaf(Kind::Break)],
            9 if self.on("run") && !self.startable.is_empty() && !d_step => {
                vec![condition(self.start())]
            }
            10 if self.on("run in expression") && !self.startable.is_empty() && !d_step => {
                match self.number_place() {
                    Some(target) => vec![assign(target, self.start())],
                    None => vec![condition(self.start())],
                }
            }
            11 if self.on("select") && !d_step => {
                let scalars = self.scalars();
                if scalars.is_empty() {
                    return vec![leaf(Kind::Skip)];
                }
                let target = place(self.random.pick(&scalars));
                let low = self.random.between(0, 1);
                let high = number(low + self.random.between(0, 2));
                vec![with(Kind::Select, vec![target, number(low), high])]
            }
            12 if self.on("set_priority") && !d_step => {
                let pid = number(self.random.between(0, 1));
                let priority = number(self.random.between(1, 4));
                vec![with(Kind::SetPriority, vec![pid, priority])]
            }
            13 | 14 if may_block => vec![condition(self.test(2))],
            15 => vec![leaf(Kind::Skip)],
            16 | 17 => match self.number_place() {
                // Counting goes on for long: small numbers only, mostly.
                Some(target) if self.random.chance(1, 4) => {
                    let kind = *self.random.pick(&[Kind::Increment, Kind::Decrement]);
                    vec![with(kind, vec![target])]
                }
                Some(target) => {
                    let next = binary("+", target.clone(), number(1));
                    vec![assign(
                        target,
                        binary("%", next, number(self.random.between(2, 4))),
                    )]
                }
                None => vec![leaf(Kind::Skip)],
            },
            _ => match self.number_place() {
                Some(target) => {
                    let value = match self.random.below(3) {
                        0 => self.constant(),
                        1 => {
                            let modulus = number(self.random.between(2, 4));
                            binary("%", self.value(2), modulus)
                        }
                        _ => self.value(1),
                    };
                    vec![assign(target, value)]
                }
                None => vec![leaf(Kind::Skip)],
            },
        }
    }

    pub(super) fn send(&mut self) -> Vec<Node> {
        let Some((channel, to)) = self.any_channel(|_| true) else {
            return vec![leaf(Kind::Skip)];
        };
        let mut parts = vec![to];
        // SPIN evaluates what nobody receives.
        let failures = self.failures;
        if channel.rendez_vous {
            self.failures = 0;
        }
        for field in &channel.fields {
            let value = match *field {
                "chan" => self
                    .any_channel(|_| true)
                    .map_or_else(|| number(0), |(_, named)| named),
                _ => self.value(1),
            };
            parts.push(value);
        }
        if channel.rendez_vous {
            self.failures = failures;
        } else if self.use_of("wrong fields", 1, 6) && parts.len() > 2 {
            parts.pop();
        }
        let sorted = i64::from(self.use_of("sorted send", 1, 2));
        vec![node(Kind::Send, "", sorted, parts)]
    }

    pub(super) fn receive(&mut self) -> Vec<Node> {
        let Some((channel, from)) = self.any_channel(|_| true) else {
            return vec![leaf(Kind::Skip)];
        };
        let mut used = BTreeSet::new();
        let mut parts = vec![from];
        for field in &channel.fields {
            parts.push(self.argument(field, &mut used));
        }
        if self.use_of("wrong fields", 1, 6) && parts.len() > 2 {
            parts.pop();
        }
        let mut number = i64::from(self.use_of("random receive", 1, 2));
        if self.use_of("peek", 1, 2) && !channel.rendez_vous {
            number += 2;
        }
        vec![node(Kind::Receive, "", number, parts)]
    }

    /// What a field is received into; a variable can be used only once.
    pub(super) fn argument(&mut self, field: &str, used: &mut BTreeSet<String>) -> Node {
        if field == "chan" {
            let variables = self.channels.iter().filter(|c| c.name.starts_with('q'));
            let names: Vec<String> = variables.map(|c| c.name.clone()).collect();
            if !names.is_empty() && self.random.chance(2, 3) {
                let name = self.random.pick(&names).clone();
                if used.insert(name.clone()) {
                    return place(&name);
                }
            }
            return place("_");
        }
        match self.random.below(6) {
            0 => place("_"),
            1 => self.constant(),
            2 if self.on("eval") => with(Kind::Eval, vec![self.value(1)]),
            _ => match self.number_place() {
                Some(target) if used.insert(target.name.clone()) => target,
                _ => place("_"),
            },
        }
    }
}
