//! Random Promela programs, biased to corners of the language.
//!
//! Every program uses a random part of all features (Groce, Zhang, Eide, Chen, Regehr, *Swarm
//! testing*, 2012): what is everywhere hides what is rare, and few features make small programs.

use std::collections::BTreeSet;

use crate::minimise::Shrink;
use crate::random::Random;

use super::ast::{Kind, Node, assign, binary, condition, node, number, place, sequence};

/// Everything that a program may have or lack.
pub const FEATURES: &[&str] = &[
    "bit",
    "bool",
    "short",
    "int",
    "unsigned",
    "mtype",
    "pid",
    "prefix",
    "array",
    "typedef",
    "wide values",
    "initial values",
    "buffered",
    "rendez-vous",
    "channel array",
    "channel value",
    "local channel",
    "uninitialised channel",
    "wrong fields",
    "sorted send",
    "random receive",
    "peek",
    "poll",
    "poll rendez-vous",
    "eval",
    "channel functions",
    "message loss",
    "atomic",
    "d_step",
    "d_step blocks",
    "long loop",
    "endless atomic",
    "goto",
    "jump into atomic",
    "unless",
    "timeout",
    "run",
    "run in expression",
    "init",
    "active",
    "process limit",
    "provided",
    "priority",
    "set_priority",
    "_pid",
    "_nr_pr",
    "_last",
    "enabled",
    "pc_value",
    "end",
    "accept",
    "progress",
    "remote label",
    "remote variable",
    "assert",
    "printf",
    "inline",
    "define",
    "for",
    "select",
    "block",
    "late declaration",
    "bad index",
    "division",
    "ltl",
    "never",
    "trace",
    "xr",
    "next",
    "growth",
];

/// What many programs have: other features show what they do to these.
const OFTEN: &[&str] = &["assert", "atomic", "d_step"];

/// A program, and how it is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The program.
    pub program: Node,
    /// Whether messages to full channels are lost.
    pub message_loss: bool,
    /// The most processes at a time.
    pub max_processes: i64,
    /// A formula about it.
    pub formula: Node,
    /// A condition about its global variables.
    pub invariant: Node,
}

impl Shrink for Case {
    fn candidates(&self) -> Vec<Self> {
        let programs = self.program.candidates().into_iter();
        let mut all: Vec<Self> = programs
            .map(|program| Self {
                program,
                ..self.clone()
            })
            .collect();
        let formulas = self.formula.candidates().into_iter();
        all.extend(formulas.map(|formula| Self {
            formula,
            ..self.clone()
        }));
        let invariants = self.invariant.candidates().into_iter();
        all.extend(invariants.map(|invariant| Self {
            invariant,
            ..self.clone()
        }));
        if self.message_loss {
            all.insert(
                0,
                Self {
                    message_loss: false,
                    ..self.clone()
                },
            );
        }
        all
    }
}

/// What the generator may use.
#[derive(Clone, Debug)]
pub struct Features(BTreeSet<&'static str>);

impl Features {
    /// All of them but these.
    pub fn without(names: &[String]) -> Self {
        let all = FEATURES.iter().copied();
        Self(
            all.filter(|feature| !names.iter().any(|name| name == feature))
                .collect(),
        )
    }

    /// These without some more.
    pub fn less(&self, names: &[&str]) -> Self {
        Self(
            self.0
                .iter()
                .filter(|feature| !names.contains(feature))
                .copied()
                .collect(),
        )
    }
}

/// A program from a seed, with some of these features.
pub fn case(seed: u64, features: &Features) -> Case {
    let mut random = Random::new(seed);
    let percent = *random.pick(&[8, 15, 25, 45]);
    let mut chosen: BTreeSet<&str> = features.0.clone();
    chosen.retain(|feature| {
        let more = if OFTEN.contains(feature) { 40 } else { 0 };
        random.chance(percent + more, 100)
    });
    // SPIN cannot compile priorities together with rendez-vous channels.
    if chosen.contains("priority") || chosen.contains("set_priority") {
        chosen.remove("rendez-vous");
        chosen.remove("poll rendez-vous");
    }
    let mut generator = Generator::new(random, chosen);
    generator.program();
    let limit = match generator.on("process limit") {
        true => generator.active.max(1) + generator.random.between(0, 2),
        false => generator.active + 4,
    };
    let (formula, invariant) = (generator.formula(2), generator.plain_test(1));
    Case {
        formula,
        invariant,
        message_loss: generator.on("message loss"),
        max_processes: limit,
        program: node(Kind::Program, "", 0, generator.units),
    }
}

/// The type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Number(&'static str, i64),
    Record(usize),
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    of: Type,
    elements: i64,
}

#[derive(Clone, Debug)]
struct Channel {
    name: String,
    elements: i64,
    fields: Vec<&'static str>,
    rendez_vous: bool,
    global: bool,
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Body,
    Atomic,
    DStep,
}

struct Generator {
    random: Random,
    features: BTreeSet<&'static str>,
    units: Vec<Node>,
    records: Vec<Vec<Variable>>,
    variables: Vec<Variable>,
    channels: Vec<Channel>,
    mtypes: i64,
    macros: Vec<String>,
    inlines: Vec<(String, usize)>,
    /// Processes that can be started: names, and what their parameters are.
    startable: Vec<(String, Vec<Parameter>)>,
    /// For remote references.
    processes: Vec<Process>,
    /// How many processes are active from the start.
    active: i64,
    names: usize,
    inside: Inside,
    in_loop: bool,
    in_claim: bool,
    gotos: BTreeSet<String>,
    assertions: usize,
    failures: usize,
}

#[derive(Clone, Debug)]
struct Process {
    name: String,
    labels: Vec<String>,
    locals: Vec<String>,
    /// The first number of its instances, if they are active from the start.
    pid: Option<i64>,
}

#[derive(Clone, Debug)]
enum Parameter {
    Number,
    Channel(usize),
}

impl Generator {
    fn new(random: Random, features: BTreeSet<&'static str>) -> Self {
        Self {
            random,
            features,
            units: Vec::new(),
            records: Vec::new(),
            variables: Vec::new(),
            channels: Vec::new(),
            mtypes: 0,
            macros: Vec::new(),
            inlines: Vec::new(),
            startable: Vec::new(),
            processes: Vec::new(),
            active: 0,
            names: 0,
            inside: Inside::Body,
            in_loop: false,
            in_claim: false,
            gotos: BTreeSet::new(),
            assertions: 3,
            failures: 1,
        }
    }

    fn on(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }

    /// Whether to use a feature here, if it is used at all.
    fn use_of(&mut self, feature: &str, part: usize, whole: usize) -> bool {
        self.on(feature) && self.random.chance(part, whole)
    }

    fn fresh(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    // Units.

    fn program(&mut self) {
        if self.on("mtype") {
            for count in 1..=self.random.between(1, 2) {
                let names = (0..=count).map(|_| {
                    self.mtypes += 1;
                    node(Kind::Name, format!("m{}", self.mtypes), 0, Vec::new())
                });
                let names = names.collect();
                self.units.push(node(Kind::Mtypes, "", 0, names));
            }
        }
        if self.on("typedef") {
            for _ in 0..self.random.between(1, 2) {
                self.record();
            }
        }
        for _ in 0..self.random.between(1, 4) {
            let declaration = self.variable("g", true);
            self.units.push(declaration);
        }
        for feature in ["buffered", "rendez-vous"] {
            if self.on(feature) {
                for _ in 0..self.random.between(1, 2) {
                    let declaration = self.channel(feature == "rendez-vous", true);
                    self.units.push(declaration);
                }
            }
        }
        if self.on("define") {
            let value = self.value(1);
            let name = self.fresh("M");
            self.units
                .push(node(Kind::Define, name.clone(), 0, vec![value]));
            self.macros.push(name);
        }
        if self.on("inline") {
            self.inline();
        }
        if self.on("run") || self.on("run in expression") {
            for _ in 0..self.random.between(1, 2) {
                self.process(0);
            }
        }
        let count = self.random.weighted(&[0, 3, 5, 2]);
        for _ in 0..count {
            let instances = if self.use_of("active", 1, 3) { 2 } else { 1 };
            self.process(instances);
        }
        if self.on("init") {
            self.process(-1);
        }
        if self.on("growth") {
            self.growth();
        }
        self.claims();
    }

    fn record(&mut self) {
        let mut fields = Vec::new();
        let mut parts = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let name = self.fresh("f");
            let (variable, declaration) = self.declare(name, true);
            fields.push(variable);
            parts.push(declaration);
        }
        let name = format!("T{}", self.records.len());
        self.units.push(node(Kind::Typedef, name, 0, parts));
        self.records.push(fields);
    }

    fn number_type(&mut self) -> (&'static str, i64) {
        let mut types = vec![("byte", 0)];
        for name in ["bit", "bool", "short", "int", "pid"] {
            if self.on(name) {
                types.push((name, 0));
            }
        }
        if self.on("unsigned") {
            types.push(("unsigned", self.random.between(1, 9)));
        }
        if self.mtypes > 0 {
            types.push(("mtype", 0));
        }
        *self.random.pick(&types)
    }

    /// A variable and its declaration.
    fn declare(&mut self, name: String, initial: bool) -> (Variable, Node) {
        let elements = if self.use_of("array", 1, 2) {
            self.random.between(1, 3)
        } else {
            0
        };
        if !self.records.is_empty() && self.random.chance(1, 3) {
            let record = self.random.below(self.records.len());
            let of = node(Kind::Type, format!("T{record}"), 0, Vec::new());
            let variable = Variable {
                name: name.clone(),
                of: Type::Record(record),
                elements,
            };
            return (variable, node(Kind::Declaration, name, elements, vec![of]));
        }
        let (of, width) = self.number_type();
        // SPIN has no arrays of bit fields.
        let elements = if of == "unsigned" { 0 } else { elements };
        let mut parts = vec![node(Kind::Type, of, width, Vec::new())];
        if initial && self.use_of("initial values", 2, 3) {
            parts.push(self.constant());
        }
        let variable = Variable {
            name: name.clone(),
            of: Type::Number(of, width),
            elements,
        };
        (variable, node(Kind::Declaration, name, elements, parts))
    }

    /// Declares a variable that can be used from now on.
    fn variable(&mut self, start: &str, initial: bool) -> Node {
        let name = self.fresh(start);
        let (variable, mut declaration) = self.declare(name, initial);
        self.variables.push(variable);
        if start == "g" && self.use_of("prefix", 1, 3) {
            let of = &mut declaration.parts[0];
            if of.name != "unsigned" {
                let prefix = *self.random.pick(&["show", "local"]);
                of.name = format!("{prefix} {}", of.name);
            }
        }
        declaration
    }

    fn channel(&mut self, rendez_vous: bool, global: bool) -> Node {
        let mut fields = Vec::new();
        for _ in 0..self.random.weighted(&[0, 5, 3, 1]) {
            let mut of = self.number_type().0;
            if of == "unsigned" {
                of = "byte";
            }
            if global && self.use_of("channel value", 1, 3) {
                of = "chan";
            }
            fields.push(of);
        }
        let name = self.fresh(if global { "c" } else { "l" });
        let elements = if self.use_of("channel array", 1, 2) {
            2
        } else {
            0
        };
        let types = fields
            .iter()
            .map(|of| node(Kind::Type, *of, 0, Vec::new()))
            .collect();
        let capacity = if rendez_vous {
            0
        } else {
            self.random.between(1, 3)
        };
        let of = node(Kind::Type, "chan", 0, Vec::new());
        let value = node(Kind::Channel, "", capacity, types);
        self.channels.push(Channel {
            name: name.clone(),
            elements,
            fields,
            rendez_vous,
            global,
        });
        node(Kind::Declaration, name, elements, vec![of, value])
    }

    fn inline(&mut self) {
        let parameters: Vec<String> = (0..self.random.between(0, 2))
            .map(|i| format!("a{i}"))
            .collect();
        let outer = self.variables.clone();
        for name in &parameters {
            let of = Type::Number("byte", 0);
            self.variables.push(Variable {
                name: name.clone(),
                of,
                elements: 0,
            });
        }
        let body = self.statements(2, 1);
        self.variables = outer;
        let names = parameters
            .iter()
            .map(|name| node(Kind::Name, name, 0, Vec::new()));
        let names = node(Kind::Parameters, "", 0, names.collect());
        let name = self.fresh("i");
        self.units.push(node(
            Kind::Inline,
            name.clone(),
            0,
            vec![names, sequence(body)],
        ));
        self.inlines.push((name, parameters.len()));
    }

    /// A process type; `instances` as in [`Kind::Process`].
    fn process(&mut self, instances: i64) {
        let name = match instances {
            -1 => "init".to_owned(),
            _ => self.fresh("P"),
        };
        let (variables, channels) = (self.variables.clone(), self.channels.clone());
        let mut parameters = Vec::new();
        let mut declarations = Vec::new();
        if instances == 0 {
            for _ in 0..self.random.between(0, 2) {
                let name = self.fresh("p");
                let start = self.random.below(self.channels.len().max(1));
                match self.channels.get(start).cloned() {
                    Some(channel) if channel.global && self.random.chance(1, 2) => {
                        parameters.push(Parameter::Channel(start));
                        let of = node(Kind::Type, "chan", 0, Vec::new());
                        declarations.push(node(Kind::Declaration, name.clone(), 0, vec![of]));
                        self.channels.push(Channel {
                            name,
                            elements: 0,
                            global: false,
                            ..channel
                        });
                    }
                    _ => {
                        let mut of = self.number_type().0;
                        if of == "unsigned" || of == "mtype" {
                            of = "byte";
                        }
                        parameters.push(Parameter::Number);
                        let kind = node(Kind::Type, of, 0, Vec::new());
                        declarations.push(node(Kind::Declaration, name.clone(), 0, vec![kind]));
                        let of = Type::Number(of, 0);
                        self.variables.push(Variable {
                            name,
                            of,
                            elements: 0,
                        });
                    }
                }
            }
        }
        let mut parts = vec![node(Kind::Parameters, "", 0, declarations)];
        if self.use_of("priority", 2, 3) {
            parts.push(node(
                Kind::Priority,
                "",
                self.random.between(1, 4),
                Vec::new(),
            ));
        }
        if instances != -1 && self.use_of("provided", 1, 2) {
            let test = self.provided();
            parts.push(node(Kind::Provided, "", 0, vec![test]));
        }
        let (mut body, locals) = self.process_body();
        let labels = self.place_labels(&mut body);
        parts.push(sequence(body));
        self.units
            .push(node(Kind::Process, name.clone(), instances, parts));
        (self.variables, self.channels) = (variables, channels);
        if instances == 0 {
            self.startable.push((name.clone(), parameters));
        }
        if instances != -1 {
            let pid = (instances > 0).then_some(self.active);
            self.processes.push(Process {
                name,
                labels,
                locals,
                pid,
            });
        }
        self.active += instances.abs();
    }

    /// What a process needs to move: SPIN takes neither locals nor remote references here.
    fn provided(&mut self) -> Node {
        let locals = self.variables.clone();
        let processes = std::mem::take(&mut self.processes);
        self.variables
            .retain(|variable| variable.name.starts_with('g'));
        let outer = std::mem::replace(&mut self.in_claim, true);
        let test = self.plain_test(1);
        self.in_claim = outer;
        self.variables = locals;
        self.processes = processes;
        test
    }

    fn process_body(&mut self) -> (Vec<Node>, Vec<String>) {
        let mut body = Vec::new();
        let mut locals = Vec::new();
        for _ in 0..self.random.between(0, 2) {
            let declaration = self.variable("v", true);
            if matches!(declaration.number, 0) && !declaration.parts[0].name.starts_with('T') {
                locals.push(declaration.name.clone());
            }
            body.push(declaration);
        }
        if self.use_of("local channel", 1, 2) {
            let rendez_vous = self.on("rendez-vous") && self.random.chance(1, 4);
            body.push(self.channel(rendez_vous, false));
        }
        if self.on("channel value") {
            let globals: Vec<_> = self.channels.iter().filter(|c| c.global).cloned().collect();
            if !globals.is_empty() {
                let channel = self.random.pick(&globals).clone();
                let name = self.fresh("q");
                let of = node(Kind::Type, "chan", 0, Vec::new());
                body.push(node(Kind::Declaration, name.clone(), 0, vec![of]));
                if !self.use_of("uninitialised channel", 1, 3) {
                    let from = self.element(&channel);
                    body.push(assign(place(&name), from));
                }
                self.channels.push(Channel {
                    name,
                    elements: 0,
                    global: false,
                    ..channel
                });
            }
        }
        if self.use_of("xr", 1, 2) {
            let buffered: Vec<_> = self
                .channels
                .iter()
                .filter(|c| c.elements == 0 && c.global)
                .collect();
            if !buffered.is_empty() {
                let name = self.random.pick(&buffered).name.clone();
                let kind = *self.random.pick(&[Kind::Xr, Kind::Xs]);
                body.push(node(kind, name, 0, Vec::new()));
            }
        }
        let count = self.random.weighted(&[0, 2, 4, 4, 2, 1]);
        let depth = self.random.weighted(&[1, 4, 4]);
        let statements = self.statements(count, depth);
        body.extend(statements);
        (body, locals)
    }

    /// A long way to something new: a process that is started late, or a variable that
    /// becomes large.
    fn growth(&mut self) {
        let goal = self.random.between(20, 70);
        let counter = |generator: &mut Self, last: Vec<Node>| {
            let name = generator.fresh("n");
            let of = node(Kind::Type, "byte", 0, Vec::new());
            generator
                .units
                .push(node(Kind::Declaration, name.clone(), 0, vec![of]));
            let more = sequence(vec![
                condition(binary("<", place(&name), number(goal))),
                node(Kind::Increment, "", 0, vec![place(&name)]),
            ]);
            let stop = sequence(vec![
                condition(binary("==", place(&name), number(goal))),
                node(Kind::Break, "", 0, Vec::new()),
            ]);
            let mut body = vec![node(Kind::Do, "", 0, vec![more, stop])];
            body.extend(last);
            let parts = vec![node(Kind::Parameters, "", 0, Vec::new()), sequence(body)];
            let name = generator.fresh("P");
            generator.units.push(node(Kind::Process, name, 1, parts));
            generator.active += 1;
        };
        self.process(0);
        let start = self.start();
        counter(self, vec![condition(start)]);
        if self.random.chance(1, 2) {
            counter(self, Vec::new());
        }
    }

    /// Puts the labels that are jumped to, and some with a meaning, before statements.
    fn place_labels(&mut self, body: &mut [Node]) -> Vec<String> {
        let mut names: Vec<String> = std::mem::take(&mut self.gotos).into_iter().collect();
        for meaning in ["end", "accept", "progress"] {
            if self.use_of(meaning, 1, 2) {
                names.push(self.fresh(meaning));
            }
        }
        if self.on("remote label") && names.is_empty() {
            names.push(self.fresh("L"));
        }
        for name in &names {
            let deep = self.on("jump into atomic");
            let mut spots = 0;
            spots_for_labels(body, true, deep, &mut |_| spots += 1);
            if spots == 0 {
                // Where nothing can have a label, nothing jumps: such programs are refused.
                break;
            }
            let mut left = self.random.below(spots) as i64;
            spots_for_labels(body, true, deep, &mut |statement| {
                if left == 0 {
                    let inner = std::mem::replace(statement, node(Kind::Skip, "", 0, Vec::new()));
                    *statement = node(Kind::Label, name, 0, vec![inner]);
                }
                left -= 1;
            });
        }
        names
    }

    // Expressions.

    fn constant(&mut self) -> Node {
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
        number(*self.random.pick(&[0, 0, 1, 1, 1, 2, 2, 3]))
    }

    /// A variable that holds a number.
    fn number_place(&mut self) -> Option<Node> {
        if self.variables.is_empty() {
            return None;
        }
        let variable = self.random.pick(&self.variables).clone();
        Some(self.place_in(&variable))
    }

    fn place_in(&mut self, variable: &Variable) -> Node {
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

    fn index(&mut self, elements: i64) -> Node {
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
    fn scalars(&self) -> Vec<String> {
        let plain = |v: &&Variable| v.elements == 0 && matches!(v.of, Type::Number(..));
        self.variables
            .iter()
            .filter(plain)
            .map(|v| v.name.clone())
            .collect()
    }

    fn value(&mut self, depth: usize) -> Node {
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
                node(Kind::Choice, "", 0, parts)
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

    fn length(&mut self) -> Node {
        match self.any_channel(|_| true) {
            Some((_, channel)) => node(Kind::Function, "len", 0, vec![channel]),
            None => self.constant(),
        }
    }

    fn remote_variable(&mut self) -> Option<Node> {
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
        let mut parts = vec![node(Kind::Name, local, 0, Vec::new())];
        parts.extend(self.remote_pid(&process));
        Some(node(Kind::RemoteVariable, process.name, 0, parts))
    }

    /// SPIN does not notice if a process of this number is of another type.
    fn remote_pid(&mut self, process: &Process) -> Option<Node> {
        let pid = process.pid?;
        self.random.chance(1, 2).then(|| number(pid))
    }

    /// A condition as a whole. SPIN takes `full` and its kin only here.
    fn test(&mut self, depth: usize) -> Node {
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
    fn plain_test(&mut self, depth: usize) -> Node {
        if depth > 0 && self.random.chance(1, 4) {
            return match self.random.below(4) {
                0 => node(Kind::Unary, "!", 0, vec![self.plain_test(depth - 1)]),
                1 => binary("&&", self.plain_test(depth - 1), self.plain_test(depth - 1)),
                2 => binary("||", self.plain_test(depth - 1), self.plain_test(depth - 1)),
                // In a formula, `->` is an implication.
                _ if self.in_claim => node(Kind::Unary, "!", 0, vec![self.plain_test(depth - 1)]),
                _ => {
                    let parts = (0..3).map(|_| self.plain_test(depth - 1)).collect();
                    node(Kind::Choice, "", 0, parts)
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

    fn channel_function(&mut self) -> Node {
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

    fn poll(&mut self) -> Node {
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

    fn remote_label(&mut self) -> Node {
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
        let mut parts = vec![node(Kind::Name, label, 0, Vec::new())];
        parts.extend(self.remote_pid(&process));
        node(Kind::RemoteLabel, process.name, 0, parts)
    }

    /// A channel, and how to name it.
    fn any_channel(&mut self, fits: impl Fn(&Channel) -> bool) -> Option<(Channel, Node)> {
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

    fn element(&mut self, channel: &Channel) -> Node {
        let mut result = place(&channel.name);
        if channel.elements > 0 {
            result.number = 1;
            let index = self.index(channel.elements);
            result.parts.push(index);
        }
        result
    }

    /// `run` of some process.
    fn start(&mut self) -> Node {
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

    // Statements.

    fn statements(&mut self, count: usize, depth: usize) -> Vec<Node> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.extend(self.statement(depth));
        }
        all
    }

    /// Statements inside of something, which cannot see what is declared there afterwards.
    fn nested(&mut self, count: usize, depth: usize) -> Node {
        let variables = self.variables.clone();
        let statements = self.statements(count, depth);
        self.variables = variables;
        sequence(statements)
    }

    fn statement(&mut self, depth: usize) -> Vec<Node> {
        if depth == 0 {
            return self.simple();
        }
        let body = self.inside == Inside::Body;
        let d_step = self.inside == Inside::DStep;
        match self.random.below(16) {
            0 | 1 if self.on("atomic") && body => {
                self.inside = Inside::Atomic;
                let count = 1 + self.random.below(3);
                let mut statements = self.nested(count, depth - 1);
                if self.use_of("long loop", 1, 3) {
                    let at = self.random.below(statements.parts.len() + 1);
                    let long = self.long_loop();
                    statements.parts.splice(at..at, long);
                }
                self.inside = Inside::Body;
                vec![node(Kind::Atomic, "", 0, vec![statements])]
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
                self.inside = outer;
                self.in_loop = loops;
                self.variables = variables;
                vec![node(Kind::DStep, "", 0, vec![sequence(statements)])]
            }
            4 if self.on("unless") && !d_step => {
                let main = self.nested(2, depth - 1);
                let mut escape = vec![condition(self.test(1))];
                if self.random.chance(1, 4) {
                    escape = self.simple();
                }
                escape.extend(self.simple());
                vec![node(Kind::Unless, "", 0, vec![main, sequence(escape)])]
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
                vec![node(Kind::Block, "", 0, vec![statements])]
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
                let endless = node(Kind::Do, "", 0, vec![sequence(loop_body)]);
                vec![node(Kind::Atomic, "", 0, vec![sequence(vec![endless])])]
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

    /// `do … od`, with a way out, or rarely without one.
    fn repetition(&mut self, depth: usize) -> Node {
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
                1 | 2 => options.push(sequence(vec![node(Kind::Break, "", 0, Vec::new())])),
                3 | 4 => {
                    let otherwise = node(Kind::Else, "", 0, Vec::new());
                    let leave = node(Kind::Break, "", 0, Vec::new());
                    options.push(sequence(vec![otherwise, leave]));
                }
                _ => {
                    let leave = node(Kind::Break, "", 0, Vec::new());
                    options.push(sequence(vec![condition(self.test(1)), leave]));
                }
            }
        }
        self.in_loop = outer;
        node(Kind::Do, "", 0, options)
    }

    /// The options of a loop that counts a variable up to `bound`, or down to 0.
    fn bounded_loop(&mut self, bound: i64) -> Vec<Node> {
        let Some(counter) = self.number_place() else {
            return vec![sequence(vec![node(Kind::Break, "", 0, Vec::new())])];
        };
        let leave = node(Kind::Break, "", 0, Vec::new());
        let otherwise = match self.random.chance(3, 4) {
            true => node(Kind::Else, "", 0, Vec::new()),
            false => condition(binary(">=", counter.clone(), number(bound))),
        };
        let test = condition(binary("<", counter.clone(), number(bound)));
        let mut step = vec![test, node(Kind::Increment, "", 0, vec![counter])];
        if self.random.chance(1, 3) {
            step.extend(self.simple());
        }
        vec![sequence(step), sequence(vec![otherwise, leave])]
    }

    /// A loop of many rounds, for inside of an atomic sequence.
    fn long_loop(&mut self) -> Vec<Node> {
        let wide = |v: &&Variable| {
            v.elements == 0 && matches!(v.of, Type::Number("int" | "short" | "byte", _))
        };
        let fitting: Vec<Variable> = self.variables.iter().filter(wide).cloned().collect();
        if fitting.is_empty() {
            return Vec::new();
        }
        let variable = self.random.pick(&fitting).clone();
        let rounds = match variable.of {
            Type::Number("int", _) => *self.random.pick(&[300, 2000, 3000, 5000, 70_000, 150_000]),
            Type::Number("short", _) => *self.random.pick(&[300, 3000, 20_000]),
            _ => *self.random.pick(&[100, 200, 255]),
        };
        let counter = place(&variable.name);
        let mut all = vec![assign(counter.clone(), number(0))];
        let test = condition(binary("<", counter.clone(), number(rounds)));
        let mut step = vec![test, node(Kind::Increment, "", 0, vec![counter.clone()])];
        if self.on("assert") && self.random.chance(1, 3) {
            let limit = *self.random.pick(&[rounds - 1, rounds, rounds / 2]);
            step.push(assert(binary("<=", counter.clone(), number(limit))));
        }
        let leave = node(Kind::Break, "", 0, Vec::new());
        let otherwise = node(Kind::Else, "", 0, Vec::new());
        let options = vec![sequence(step), sequence(vec![otherwise, leave])];
        all.push(node(Kind::Do, "", 0, options));
        if self.on("assert") && self.random.chance(1, 2) {
            let value = *self.random.pick(&[rounds, rounds, 5]);
            all.push(assert(binary("==", counter.clone(), number(value))));
        }
        if self.random.chance(1, 2) {
            all.push(assign(counter, number(0)));
        }
        all
    }

    fn selection(&mut self, depth: usize) -> Node {
        let mut options = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            options.push(self.option(depth));
        }
        let never_blocks = self.inside == Inside::DStep && !self.on("d_step blocks");
        if never_blocks || self.random.chance(1, 3) {
            let mut otherwise = vec![node(Kind::Else, "", 0, Vec::new())];
            otherwise.extend(self.simple());
            options.push(sequence(otherwise));
        }
        node(Kind::If, "", 0, options)
    }

    /// A sequence that begins with a condition, mostly.
    fn option(&mut self, depth: usize) -> Node {
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

    fn counted(&mut self, depth: usize) -> Vec<Node> {
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
            return vec![node(Kind::ForIn, "", 0, vec![counter, array, body])];
        }
        let low = self.random.between(0, 1);
        let high = match self.random.chance(1, 4) {
            true => binary("&", place(self.random.pick(&scalars)), number(3)),
            false => number(low + self.random.between(0, 2)),
        };
        vec![node(
            Kind::For,
            "",
            0,
            vec![counter, number(low), high, body],
        )]
    }

    /// A basic statement, or a few of them.
    fn simple(&mut self) -> Vec<Node> {
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
                vec![node(Kind::Print, "", 0, values)]
            }
            7 if self.on("goto") && !d_step => {
                let name = format!("L{}", self.random.between(0, 2));
                self.gotos.insert(name.clone());
                vec![node(Kind::Goto, name, 0, Vec::new())]
            }
            8 if self.in_loop && !d_step => vec![node(Kind::Break, "", 0, Vec::new())],
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
                    return vec![node(Kind::Skip, "", 0, Vec::new())];
                }
                let target = place(self.random.pick(&scalars));
                let low = self.random.between(0, 1);
                let high = number(low + self.random.between(0, 2));
                vec![node(Kind::Select, "", 0, vec![target, number(low), high])]
            }
            12 if self.on("set_priority") && !d_step => {
                let pid = number(self.random.between(0, 1));
                let priority = number(self.random.between(1, 4));
                vec![node(Kind::SetPriority, "", 0, vec![pid, priority])]
            }
            13 | 14 if may_block => vec![condition(self.test(2))],
            15 => vec![node(Kind::Skip, "", 0, Vec::new())],
            16 | 17 => match self.number_place() {
                // Counting goes on for long: small numbers only, mostly.
                Some(target) if self.random.chance(1, 4) => {
                    let kind = *self.random.pick(&[Kind::Increment, Kind::Decrement]);
                    vec![node(kind, "", 0, vec![target])]
                }
                Some(target) => {
                    let next = binary("+", target.clone(), number(1));
                    vec![assign(
                        target,
                        binary("%", next, number(self.random.between(2, 4))),
                    )]
                }
                None => vec![node(Kind::Skip, "", 0, Vec::new())],
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
                None => vec![node(Kind::Skip, "", 0, Vec::new())],
            },
        }
    }

    fn send(&mut self) -> Vec<Node> {
        let Some((channel, to)) = self.any_channel(|_| true) else {
            return vec![node(Kind::Skip, "", 0, Vec::new())];
        };
        let mut parts = vec![to];
        for field in &channel.fields {
            let value = match *field {
                "chan" => self
                    .any_channel(|_| true)
                    .map_or_else(|| number(0), |(_, named)| named),
                _ => self.value(1),
            };
            parts.push(value);
        }
        if self.use_of("wrong fields", 1, 6) && parts.len() > 2 {
            parts.pop();
        }
        let sorted = i64::from(self.use_of("sorted send", 1, 2));
        vec![node(Kind::Send, "", sorted, parts)]
    }

    fn receive(&mut self) -> Vec<Node> {
        let Some((channel, from)) = self.any_channel(|_| true) else {
            return vec![node(Kind::Skip, "", 0, Vec::new())];
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
    fn argument(&mut self, field: &str, used: &mut BTreeSet<String>) -> Node {
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
            2 if self.on("eval") => node(Kind::Eval, "", 0, vec![self.value(1)]),
            _ => match self.number_place() {
                Some(target) if used.insert(target.name.clone()) => target,
                _ => place("_"),
            },
        }
    }

    // Claims.

    fn claims(&mut self) {
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

    fn formula(&mut self, depth: usize) -> Node {
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

    fn never(&mut self) {
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
                    2 => option.push(node(Kind::Break, "", 0, Vec::new())),
                    _ => {
                        let target = self.random.pick(&names).clone();
                        option.push(node(Kind::Goto, target, 0, Vec::new()));
                    }
                }
                options.push(sequence(option));
            }
            let choice = node(Kind::Do, "", 0, options);
            body.push(node(Kind::Label, name, 0, vec![choice]));
        }
        self.units
            .push(node(Kind::Never, "", 0, vec![sequence(body)]));
    }

    fn trace(&mut self) {
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
            events.push(node(event, "", 0, parts));
        }
        let body = match self.random.below(3) {
            0 => events,
            1 => {
                let options = events
                    .into_iter()
                    .map(|event| sequence(vec![event]))
                    .collect();
                vec![node(Kind::Do, "", 0, options)]
            }
            _ => vec![node(Kind::Do, "", 0, vec![sequence(events)])],
        };
        self.units.push(node(kind, "", 0, vec![sequence(body)]));
    }
}

fn assert(test: Node) -> Node {
    node(Kind::Assert, "", 0, vec![test])
}

/// Shows the statements that may have a label: not where a block or an option begins, not
/// before declarations, not inside of `d_step`, and inside of `atomic` only if `deep`.
fn spots_for_labels(body: &mut [Node], first: bool, deep: bool, visit: &mut impl FnMut(&mut Node)) {
    for (index, statement) in body.iter_mut().enumerate() {
        let inner = match statement.kind {
            Kind::Label => &mut statement.parts[0],
            _ => &mut *statement,
        };
        match inner.kind {
            Kind::DStep => {}
            Kind::Atomic if !deep => {}
            _ => {
                for part in &mut inner.parts {
                    if part.kind == Kind::Sequence {
                        spots_for_labels(&mut part.parts, false, deep, visit);
                    }
                }
            }
        }
        let kinds = [Kind::Declaration, Kind::Xr, Kind::Xs, Kind::Label];
        if (first || index > 0) && !kinds.contains(&statement.kind) {
            visit(statement);
        }
    }
}
