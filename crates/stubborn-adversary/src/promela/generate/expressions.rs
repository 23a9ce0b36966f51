//! Expressions, and what they name.

use super::{Arrival, Channel, Generator, Parameter, Process, Type, Variable};
use crate::promela::ast::{Kind, Node, binary, named, node, number, place, with};

impl Generator {
    pub(super) fn constant(&mut self) -> Node {
        if self.use_of("wide values", 1, 4) {
            let wide = [
                -1,
                4,
                7,
                8,
                127,
                128,
                255,
                256,
                257,
                300,
                -128,
                32767,
                32768,
                65535,
                65536,
                -32769,
                2_147_483_647,
                -2_147_483_647,
            ];
            return number(*self.random.pick(&wide));
        }
        if self.mtypes > 0 && self.random.chance(1, 8) {
            return place(format!("m{}", self.random.between(1, self.mtypes)));
        }
        if self.on("mtype subtype") && self.random.chance(1, 8) {
            return place(*self.random.pick(&["k1", "k2"]));
        }
        number(*self.random.pick(&[0, 0, 1, 1, 1, 2, 2, 3]))
    }

    /// A variable that holds a number.
    pub(super) fn number_place(&mut self) -> Option<Node> {
        if self.variables.is_empty() {
            return None;
        }
        let variable = self.random.pick(&self.variables).clone();
        Some(self.place_in(&variable))
    }

    pub(super) fn place_in(&mut self, variable: &Variable) -> Node {
        let mut result = place(&variable.name);
        if variable.elements > 0 {
            result.number = 1;
            let index = self.index(variable.elements);
            result.parts.push(index);
        }
        if let Type::Record(record) = variable.of {
            let field = self.random.pick(&self.records[record]).clone();
            let field = self.place_in(&field);
            result.parts.push(field);
        }
        result
    }

    pub(super) fn index(&mut self, elements: i64) -> Node {
        let simple: Vec<String> = self.scalars();
        if simple.is_empty() || self.random.chance(3, 5) {
            if self.failures > 0 && self.use_of("bad index", 1, 12) {
                self.failures -= 1;
                return number(*self.random.pick(&[elements, elements + 1, -1]));
            }
            return number(self.random.between(0, elements - 1));
        }
        let name = place(self.random.pick(&simple));
        if self.failures > 0 && self.use_of("bad index", 1, 4) {
            self.failures -= 1;
            return name;
        }
        binary("%", binary("&", name, number(3)), number(elements))
    }

    /// Names of variables that are neither arrays nor records.
    pub(super) fn scalars(&self) -> Vec<String> {
        let plain = |v: &&Variable| v.elements == 0 && matches!(v.of, Type::Number(..));
        self.variables
            .iter()
            .filter(plain)
            .map(|v| v.name.clone())
            .collect()
    }

    pub(super) fn value(&mut self, depth: usize) -> Node {
        if depth == 0 || self.random.chance(1, 3) {
            if self.random.chance(1, 3) {
                return self.constant();
            }
            let simple = self.number_place();
            return simple.unwrap_or_else(|| self.constant());
        }
        match self.random.below(14) {
            0 | 1 => {
                let operator = *self.random.pick(&["+", "-", "+", "-", "*"]);
                binary(operator, self.value(depth - 1), self.value(depth - 1))
            }
            2 => binary(
                "%",
                self.value(depth - 1),
                number(self.random.between(2, 4)),
            ),
            3 => {
                let operator = *self.random.pick(&["&", "|", "^"]);
                binary(operator, self.value(depth - 1), self.value(depth - 1))
            }
            4 => {
                let operator = *self.random.pick(&["<<", ">>"]);
                binary(
                    operator,
                    self.value(depth - 1),
                    number(self.random.between(0, 9)),
                )
            }
            5 if self.on("division") => {
                let operator = *self.random.pick(&["/", "%"]);
                let by = match self.failures > 0 && self.random.chance(1, 3) {
                    true => {
                        self.failures -= 1;
                        self.value(0)
                    }
                    false => number(*self.random.pick(&[2, 3, -2, 7])),
                };
                binary(operator, self.value(depth - 1), by)
            }
            // SPIN's formulas do not know these.
            6 if !self.in_claim => {
                let operator = *self.random.pick(&["-", "~"]);
                node(Kind::Unary, operator, 0, vec![self.value(depth - 1)])
            }
            7 if !self.in_claim => {
                let test = self.plain_test(depth - 1);
                let parts = vec![test, self.value(depth - 1), self.value(depth - 1)];
                with(Kind::Choice, parts)
            }
            8 => self.plain_test(depth - 1),
            9 if self.on("_pid") && !self.in_claim => place("_pid"),
            9 if self.on("_nr_pr") => place("_nr_pr"),
            10 if self.on("_last") => place("_last"),
            11 if self.on("channel functions") => self.length(),
            12 if !self.macros.is_empty() && !self.in_claim => {
                let name = self.random.pick(&self.macros).clone();
                place(&name)
            }
            13 => self.remote_variable().unwrap_or_else(|| self.constant()),
            _ => self.number_place().unwrap_or_else(|| self.constant()),
        }
    }

    pub(super) fn length(&mut self) -> Node {
        match self.any_channel(|_| true) {
            Some((_, channel)) => node(Kind::Function, "len", 0, vec![channel]),
            None => self.constant(),
        }
    }

    pub(super) fn remote_variable(&mut self) -> Option<Node> {
        if !self.on("remote variable") {
            return None;
        }
        let with: Vec<Process> = self
            .processes
            .iter()
            .filter(|p| !p.locals.is_empty())
            .cloned()
            .collect();
        if with.is_empty() {
            return None;
        }
        let process = self.random.pick(&with).clone();
        let local = self.random.pick(&process.locals).clone();
        let mut parts = vec![named(Kind::Name, local)];
        parts.extend(self.remote_pid(&process));
        Some(node(Kind::RemoteVariable, process.name, 0, parts))
    }

    /// SPIN does not notice if a process of this number is of another type.
    pub(super) fn remote_pid(&mut self, process: &Process) -> Option<Node> {
        let pid = process.pid?;
        self.random.chance(1, 2).then(|| number(pid))
    }

    /// A condition as a whole. SPIN takes `full` and its kin only here.
    pub(super) fn test(&mut self, depth: usize) -> Node {
        if self.use_of("channel functions", 1, 6) {
            return self.channel_function();
        }
        match depth > 0 && self.random.chance(1, 6) {
            true => {
                let operator = *self.random.pick(&["&&", "||"]);
                binary(operator, self.test(depth - 1), self.test(depth - 1))
            }
            false => self.plain_test(depth),
        }
    }

    /// A condition that may be part of any expression.
    pub(super) fn plain_test(&mut self, depth: usize) -> Node {
        if depth > 0 && self.random.chance(1, 4) {
            return match self.random.below(4) {
                0 => node(Kind::Unary, "!", 0, vec![self.plain_test(depth - 1)]),
                1 => binary("&&", self.plain_test(depth - 1), self.plain_test(depth - 1)),
                2 => binary("||", self.plain_test(depth - 1), self.plain_test(depth - 1)),
                // In a formula, `->` is an implication.
                _ if self.in_claim => node(Kind::Unary, "!", 0, vec![self.plain_test(depth - 1)]),
                _ => {
                    let parts = (0..3).map(|_| self.plain_test(depth - 1)).collect();
                    with(Kind::Choice, parts)
                }
            };
        }
        match self.random.below(14) {
            2 | 3 if self.on("poll") => self.poll(),
            // In a claim, SPIN takes it for true where the claim goes on alone.
            4 if self.on("timeout") && !self.in_claim => place("timeout"),
            5 | 6 if self.on("remote label") => self.remote_label(),
            7 if self.on("enabled") => node(
                Kind::Function,
                "enabled",
                0,
                vec![number(self.random.between(0, 2))],
            ),
            8 if self.on("pc_value") => {
                let pid = number(self.random.between(0, 2));
                let counter = node(Kind::Function, "pc_value", 0, vec![pid]);
                binary("<", counter, number(self.random.between(0, 4)))
            }
            9 if self.on("set_priority") && !self.in_claim => {
                let pid = number(self.random.between(0, 1));
                let priority = node(Kind::Function, "get_priority", 0, vec![pid]);
                binary(">", priority, number(self.random.between(0, 3)))
            }
            10 if self.on("_nr_pr") => {
                let operator = *self.random.pick(&["==", "<", ">"]);
                binary(operator, place("_nr_pr"), number(self.random.between(1, 4)))
            }
            11 => self.value(depth.min(1)),
            12 if self.on("np_") && self.in_claim => place("np_"),
            13 if !self.arrivals.is_empty() => self.arrived(),
            _ => {
                let operator = *self.random.pick(&["==", "==", "!=", "<", "<=", ">", ">="]);
                let left = match self.number_place() {
                    Some(left) if self.random.chance(3, 4) => left,
                    _ => self.value(depth.min(1)),
                };
                let right = match self.random.chance(2, 3) {
                    true => self.constant(),
                    false => self.value(depth.min(1)),
                };
                binary(operator, left, right)
            }
        }
    }

    pub(super) fn channel_function(&mut self) -> Node {
        let Some((_, channel)) = self.any_channel(|_| true) else {
            return number(1);
        };
        match self.random.below(6) {
            0 => {
                let length = node(Kind::Function, "len", 0, vec![channel]);
                binary("==", length, number(self.random.between(0, 2)))
            }
            which => {
                let name = ["full", "empty", "nfull", "nempty", "empty"][which - 1];
                node(Kind::Function, name, 0, vec![channel])
            }
        }
    }

    pub(super) fn poll(&mut self) -> Node {
        let also = self.on("poll rendez-vous");
        let Some((channel, from)) = self.any_channel(|channel| also || !channel.rendez_vous) else {
            return number(1);
        };
        let mut parts = vec![from];
        for _ in &channel.fields {
            let argument = match self.random.chance(1, 3) {
                true => place("_"),
                false => self.constant(),
            };
            parts.push(argument);
        }
        let random = i64::from(self.use_of("random receive", 1, 2));
        node(Kind::Poll, "", random, parts)
    }

    pub(super) fn remote_label(&mut self) -> Node {
        let with: Vec<Process> = self
            .processes
            .iter()
            .filter(|p| !p.labels.is_empty())
            .cloned()
            .collect();
        if with.is_empty() {
            return number(1);
        }
        let process = self.random.pick(&with).clone();
        let label = self.random.pick(&process.labels).clone();
        let mut parts = vec![named(Kind::Name, label)];
        parts.extend(self.remote_pid(&process));
        node(Kind::RemoteLabel, process.name, 0, parts)
    }

    /// Whether a process has come to its label, if others can tell that it is on its way.
    pub(super) fn arrived(&mut self) -> Node {
        let Arrival {
            process,
            label,
            sign,
        } = self.random.pick(&self.arrivals).clone();
        let is_there = match label.starts_with("progress") && self.in_claim && self.on("np_") {
            true => node(Kind::Unary, "!", 0, vec![place("np_")]),
            false => {
                let parts = vec![named(Kind::Name, label)];
                node(Kind::RemoteLabel, process, 0, parts)
            }
        };
        let is_not = node(Kind::Unary, "!", 0, vec![sign]);
        binary("||", is_not, is_there)
    }

    /// A channel, and how to name it.
    pub(super) fn any_channel(
        &mut self,
        fits: impl Fn(&Channel) -> bool,
    ) -> Option<(Channel, Node)> {
        let claim = self.in_claim;
        let fitting = self
            .channels
            .iter()
            .filter(|c| fits(c) && (c.global || !claim));
        let fitting: Vec<Channel> = fitting.cloned().collect();
        if fitting.is_empty() {
            return None;
        }
        let channel = self.random.pick(&fitting).clone();
        let named = self.element(&channel);
        Some((channel, named))
    }

    pub(super) fn element(&mut self, channel: &Channel) -> Node {
        let mut result = place(&channel.name);
        if channel.elements > 0 {
            result.number = 1;
            let index = self.index(channel.elements);
            result.parts.push(index);
        }
        result
    }

    /// `run` of some process.
    pub(super) fn start(&mut self) -> Node {
        let (name, parameters) = self.random.pick(&self.startable).clone();
        let mut arguments = Vec::new();
        for parameter in &parameters {
            let argument = match parameter {
                Parameter::Channel(index) => {
                    let like = self.channels[*index].fields.clone();
                    let channel = self.any_channel(|c| c.fields == like);
                    channel.map_or_else(|| number(0), |(_, named)| named)
                }
                Parameter::Number => self.value(1),
            };
            arguments.push(argument);
        }
        let priority = if self.use_of("priority", 1, 2) {
            self.random.between(1, 4)
        } else {
            0
        };
        node(Kind::Run, name, priority, arguments)
    }
}
