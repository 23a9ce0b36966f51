//! Random Promela programs, biased to corners of the language.
//!
//! Every program uses a random part of all features (Groce, Zhang, Eide, Chen, Regehr, *Swarm
//! testing*, 2012): what is everywhere hides what is rare, and few features make small programs.

mod chains;
mod claims;
mod expressions;
mod statements;

use std::collections::BTreeSet;

use crate::minimise::Shrink;
use crate::random::Random;

use crate::promela::ast::{Kind, Node, assign, leaf, named, node, place, sequence, with};

/// Everything that a program may have or lack.
pub const FEATURES: &[&str] = &[
    "bit",
    "bool",
    "short",
    "int",
    "unsigned",
    "mtype",
    "mtype subtype",
    "pid",
    "prefix",
    "array",
    "typedef",
    "channel in typedef",
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
    "trouble in atomic",
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
    "np_",
    "arrival",
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
    "twice",
    "long chain",
];

/// What many programs have: other features show what they do to these.
const OFTEN: &[&str] = &["assert", "atomic", "d_step"];

/// What programs may have that are one long chain.
const WITH_LONG_CHAINS: &[&str] = &["long chain", "assert", "ltl", "never", "end", "d_step"];

/// A program, and how it is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The program.
    pub program: Node,
    /// Whether messages to full channels are lost.
    pub message_loss: bool,
    /// The most processes at a time.
    pub max_processes: i64,
    /// Formulas about it.
    pub formulas: Vec<Node>,
    /// Conditions about its global variables.
    pub invariants: Vec<Node>,
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
    // One violated assertion hides another.
    if chosen.contains("trouble in atomic") && random.chance(2, 3) {
        chosen.remove("assert");
    }
    // Each state in which a long chain begins costs a walk: few of them, and nothing else.
    let chain = ["long chain", "atomic"].map(|feature| chosen.contains(feature)) == [true; 2]
        && random.chance(1, 4);
    if chain {
        chosen.retain(|feature| WITH_LONG_CHAINS.contains(feature));
    } else {
        chosen.remove("long chain");
    }
    let mut generator = Generator::new(random, chosen);
    match chain {
        true => generator.long_chain(),
        false => generator.program(),
    }
    let limit = match generator.on("process limit") {
        true => generator.active.max(1) + generator.random.between(0, 2),
        false => generator.active + 4,
    };
    let formulas = (0..4).map(|_| generator.formula(2)).collect();
    let invariants = (0..5).map(|_| generator.plain_test(1)).collect();
    Case {
        formulas,
        invariants,
        message_loss: generator.on("message loss"),
        max_processes: limit,
        program: with(Kind::Program, generator.units),
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
    /// Channels that are fields of records, by the number of the record.
    channels_inside: Vec<(usize, Option<Channel>)>,
    mtypes: i64,
    macros: Vec<String>,
    inlines: Vec<(String, usize)>,
    /// Processes that can be started: names, and what their parameters are.
    startable: Vec<(String, Vec<Parameter>)>,
    /// For remote references.
    processes: Vec<Process>,
    arrivals: Vec<Arrival>,
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

/// A process that comes to a label soon after others can tell that it is on its way there.
#[derive(Clone, Debug)]
struct Arrival {
    process: String,
    label: String,
    /// How they can tell.
    sign: Node,
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
            channels_inside: Vec::new(),
            mtypes: 0,
            macros: Vec::new(),
            inlines: Vec::new(),
            startable: Vec::new(),
            processes: Vec::new(),
            arrivals: Vec::new(),
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

    fn program(&mut self) {
        if self.on("mtype") {
            for count in 1..=self.random.between(1, 2) {
                let names = (0..=count).map(|_| {
                    self.mtypes += 1;
                    named(Kind::Name, format!("m{}", self.mtypes))
                });
                let names = names.collect();
                self.units.push(with(Kind::Mtypes, names));
            }
        }
        if self.on("mtype subtype") {
            let names = ["k1", "k2"].map(|name| named(Kind::Name, name)).to_vec();
            self.units.push(node(Kind::Mtypes, "k", 0, names));
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
        if self.on("long loop") {
            let (name, of) = (self.fresh("g"), Type::Number("int", 0));
            let parts = vec![named(Kind::Type, "int")];
            self.units
                .push(node(Kind::Declaration, name.clone(), 0, parts));
            let elements = 0;
            self.variables.push(Variable { name, of, elements });
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
        if self.use_of("channel in typedef", 1, 2) {
            let outer = self.channels.len();
            parts.push(self.channel(false, false));
            let inner = self.channels.drain(outer..).next();
            self.channels_inside.push((self.records.len(), inner));
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
        if self.on("mtype subtype") {
            types.push(("mtype:k", 0));
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
            let of = named(Kind::Type, format!("T{record}"));
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
        if start == "g" {
            self.name_channels_inside(&variable);
        } else if declaration.parts.len() > 1 && self.random.chance(1, 2) {
            // Only globals need constants.
            declaration.parts[1] = self.value(1);
        }
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

    /// The channels that a global record has inside can be used from now on.
    fn name_channels_inside(&mut self, variable: &Variable) {
        for (record, channel) in self.channels_inside.clone() {
            let (Some(channel), true) = (channel, variable.of == Type::Record(record)) else {
                continue;
            };
            let name = match variable.elements {
                0 => format!("{}.{}", variable.name, channel.name),
                _ => format!("{}[0].{}", variable.name, channel.name),
            };
            self.channels.push(Channel {
                name,
                global: true,
                ..channel
            });
        }
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
        let types = fields.iter().map(|of| named(Kind::Type, *of)).collect();
        let capacity = if rendez_vous {
            0
        } else {
            self.random.between(1, 3)
        };
        let of = named(Kind::Type, "chan");
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
        let names = parameters.iter().map(|name| named(Kind::Name, name));
        let names = with(Kind::Parameters, names.collect());
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
                        let of = named(Kind::Type, "chan");
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
                        // SPIN refuses local ones of `mtype` as arguments.
                        if of == "unsigned" || of.starts_with("mtype") {
                            of = "byte";
                        }
                        parameters.push(Parameter::Number);
                        let kind = named(Kind::Type, of);
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
        let mut parts = vec![with(Kind::Parameters, declarations)];
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
            parts.push(with(Kind::Provided, vec![test]));
        }
        let (mut body, locals) = self.process_body();
        let mut labels = self.place_labels(&mut body);
        if instances != -1 && self.use_of("arrival", 2, 3) {
            labels.extend(self.arrival(&name, &mut body));
        }
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
        let arrivals = std::mem::take(&mut self.arrivals);
        self.variables
            .retain(|variable| variable.name.starts_with('g'));
        let outer = std::mem::replace(&mut self.in_claim, true);
        let test = self.plain_test(1);
        self.in_claim = outer;
        self.variables = locals;
        self.processes = processes;
        self.arrivals = arrivals;
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
                let of = named(Kind::Type, "chan");
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
        if self.use_of("twice", 1, 2) {
            body.extend(self.twice());
        }
        (body, locals)
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
                    let inner = std::mem::replace(statement, leaf(Kind::Skip));
                    *statement = node(Kind::Label, name, 0, vec![inner]);
                }
                left -= 1;
            });
        }
        names
    }
}

fn assert(test: Node) -> Node {
    with(Kind::Assert, vec![test])
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
