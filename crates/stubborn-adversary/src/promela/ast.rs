//! Promela programs as trees: made, made smaller and printed in one uniform way.

use std::fmt::Write as _;

use crate::minimise::{Shrink, without_some};

/// What a node of a program is. In brackets: what its name and number mean, and its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    // Units.
    /// A program (units).
    Program,
    /// `mtype = { … }`, or `mtype:NAME = { … }` (names).
    Mtypes,
    /// `typedef NAME { … }` (declarations).
    Typedef,
    /// `#define NAME (…)` (expression).
    Define,
    /// `inline NAME(…) { … }` (parameters, sequence).
    Inline,
    /// A declaration: type, NAME, NUMBER of elements or 0 (type, initial value or nothing).
    Declaration,
    /// `proctype NAME(…)`; NUMBER is how many are active, -1 is `init` (parameters, clauses,
    /// sequence).
    Process,
    /// `ltl NAME { … }` (formula).
    Ltl,
    /// `never { … }` (sequence).
    Never,
    /// `trace { … }` (sequence).
    Trace,
    /// `notrace { … }` (sequence).
    NoTrace,
    // Parts of units.
    /// A list of declarations of parameters, or of names (of an inline).
    Parameters,
    /// `priority NUMBER`.
    Priority,
    /// `provided (…)` (expression).
    Provided,
    /// A type by NAME, NUMBER is the width of `unsigned`.
    Type,
    /// `[NUMBER] of { … }` (types).
    Channel,
    /// A plain name.
    Name,
    // Statements.
    /// Statements one after the other.
    Sequence,
    /// NAME before a statement (statement).
    Label,
    /// An expression as a statement (expression).
    Condition,
    /// `… = …` (place, expression).
    Assign,
    /// `…++` (place).
    Increment,
    /// `…--` (place).
    Decrement,
    /// `…!…`, sorted (`!!`) if NUMBER is 1 (place, expressions).
    Send,
    /// `…?…`: NUMBER is 1 for `??`, and 2 more for `?<…>` (place, arguments).
    Receive,
    /// `assert(…)` (expression).
    Assert,
    /// `printf("…", …)` (expressions).
    Print,
    /// `skip`.
    Skip,
    /// `else`.
    Else,
    /// `break`.
    Break,
    /// `goto NAME`.
    Goto,
    /// `if … fi` (sequences).
    If,
    /// `do … od` (sequences).
    Do,
    /// `for (… : … .. …) { … }` (place, expression, expression, sequence).
    For,
    /// `for (… in …) { … }` (place, place, sequence).
    ForIn,
    /// `select(… : … .. …)` (place, expression, expression).
    Select,
    /// `atomic { … }` (sequence).
    Atomic,
    /// `d_step { … }` (sequence).
    DStep,
    /// `{ … }` (sequence).
    Block,
    /// `{ … } unless { … }` (sequence, sequence).
    Unless,
    /// `NAME(…)`: an inline (expressions).
    Call,
    /// `set_priority(…, …)` (expressions).
    SetPriority,
    /// `xr NAME`.
    Xr,
    /// `xs NAME`.
    Xs,
    // Expressions.
    /// NUMBER.
    Number,
    /// A variable: NAME, with an index if NUMBER is 1, with a field if there is one more part
    /// (index?, variable?).
    Place,
    /// NAME stands between (expression, expression).
    Binary,
    /// NAME stands before (expression).
    Unary,
    /// `(… -> … : …)` (expression, expression, expression).
    Choice,
    /// NAME(…): `len`, `full` and so on (place).
    Function,
    /// `…?[…]`, `??` if NUMBER is 1 (place, arguments).
    Poll,
    /// `eval(…)` (expression).
    Eval,
    /// `run NAME(…)`, with a priority if NUMBER is not 0 (expressions).
    Run,
    /// `NAME@LABEL`: (name of the label, pid?).
    RemoteLabel,
    /// `NAME:VARIABLE`: (name of the variable, pid?).
    RemoteVariable,
    // Formulas: expressions, and these.
    /// NAME stands before a formula.
    Modal,
    /// NAME stands between formulas.
    Connective,
}

/// A part of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// What it is called, see [`Kind`].
    pub name: String,
    /// See [`Kind`].
    pub number: i64,
    /// See [`Kind`].
    pub parts: Vec<Node>,
}

/// A node.
pub fn node(kind: Kind, name: impl Into<String>, number: i64, parts: Vec<Node>) -> Node {
    Node {
        kind,
        name: name.into(),
        number,
        parts,
    }
}

/// A node without anything.
pub fn leaf(kind: Kind) -> Node {
    node(kind, "", 0, Vec::new())
}

/// A node with a name.
pub fn named(kind: Kind, name: impl Into<String>) -> Node {
    node(kind, name, 0, Vec::new())
}

/// A node with parts.
pub fn with(kind: Kind, parts: Vec<Node>) -> Node {
    node(kind, "", 0, parts)
}

/// A number as an expression.
pub fn number(value: i64) -> Node {
    node(Kind::Number, "", value, Vec::new())
}

/// A scalar variable, or a constant with a name, or something predefined.
pub fn place(name: impl AsRef<str>) -> Node {
    named(Kind::Place, name.as_ref())
}

/// An operator between expressions.
pub fn binary(operator: &str, left: Node, right: Node) -> Node {
    node(Kind::Binary, operator, 0, vec![left, right])
}

/// Statements one after the other.
pub fn sequence(parts: Vec<Node>) -> Node {
    with(Kind::Sequence, parts)
}

/// An expression as a statement.
pub fn condition(expression: Node) -> Node {
    with(Kind::Condition, vec![expression])
}

/// An assignment.
pub fn assign(target: Node, value: Node) -> Node {
    with(Kind::Assign, vec![target, value])
}

/// How a program is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// For a search along a claim, of which SPIN and we have different ideas: without
    /// assertions and `accept` labels of processes (SPIN would report them, too), and with one
    /// process less in their `_nr_pr` (SPIN counts the claim there, too).
    pub claim: bool,
}

impl Node {
    /// Whether any node of the tree satisfies this.
    pub fn any(&self, test: &mut impl FnMut(&Node) -> bool) -> bool {
        test(self) || self.parts.iter().any(|part| part.any(test))
    }

    /// Whether there is a node of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.any(&mut |node| node.kind == kind)
    }

    /// Whether something is called so.
    pub fn mentions(&self, name: &str) -> bool {
        self.any(&mut |node| node.name == name)
    }

    /// Shows every node to `visit`.
    pub fn each(&self, visit: &mut impl FnMut(&Node)) {
        visit(self);
        for part in &self.parts {
            part.each(visit);
        }
    }

    /// The program's text.
    pub fn text(&self, style: Style) -> String {
        let mut printer = Printer {
            text: String::new(),
            indent: 0,
            style,
            in_process: false,
        };
        for unit in &self.parts {
            printer.unit(unit);
        }
        printer.text
    }

    /// An expression's or a formula's text.
    pub fn expression_text(&self, style: Style) -> String {
        let printer = Printer {
            text: String::new(),
            indent: 0,
            style,
            in_process: false,
        };
        printer.expression(self)
    }

    fn is_expression(&self) -> bool {
        use Kind::{
            Binary, Choice, Function, Number, Place, Poll, RemoteLabel, RemoteVariable, Run, Unary,
        };
        let kinds = [
            Number,
            Place,
            Binary,
            Unary,
            Choice,
            Function,
            Poll,
            Run,
            RemoteLabel,
            RemoteVariable,
        ];
        kinds.contains(&self.kind)
    }

    fn is_formula(&self) -> bool {
        matches!(self.kind, Kind::Modal | Kind::Connective)
    }

    /// Number of nodes.
    pub fn size(&self) -> usize {
        1 + self.parts.iter().map(Node::size).sum::<usize>()
    }
}

struct Printer {
    text: String,
    indent: usize,
    style: Style,
    in_process: bool,
}

impl Printer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * self.indent);
    }

    fn unit(&mut self, unit: &Node) {
        self.in_process = matches!(unit.kind, Kind::Process | Kind::Inline);
        match unit.kind {
            Kind::Mtypes => {
                let names: Vec<_> = unit.parts.iter().map(|part| part.name.as_str()).collect();
                let subtype = if unit.name.is_empty() { "" } else { ":" };
                let head = format!("mtype{subtype}{}", unit.name);
                self.line(&format!("{head} = {{ {} }};", names.join(", ")));
            }
            Kind::Typedef => {
                let fields: Vec<_> = unit.parts.iter().map(|part| self.declared(part)).collect();
                self.line(&format!(
                    "typedef {} {{ {} }};",
                    unit.name,
                    fields.join("; ")
                ));
            }
            Kind::Define => {
                let value = self.expression(&unit.parts[0]);
                self.line(&format!("#define {} ({value})", unit.name));
            }
            Kind::Inline => {
                let names: Vec<_> = unit.parts[0]
                    .parts
                    .iter()
                    .map(|p| p.name.as_str())
                    .collect();
                self.line(&format!("inline {}({}) {{", unit.name, names.join(", ")));
                self.body(&unit.parts[1]);
                self.line("}");
            }
            Kind::Process => self.process(unit),
            Kind::Ltl => {
                let formula = self.expression(&unit.parts[0]);
                self.line(&format!("ltl {} {{ {formula} }}", unit.name));
            }
            Kind::Never => self.automaton("never", unit),
            Kind::Trace => self.automaton("trace", unit),
            Kind::NoTrace => self.automaton("notrace", unit),
            _ => {
                let declared = self.declared(unit);
                self.line(&format!("{declared};"));
            }
        }
    }

    fn automaton(&mut self, word: &str, unit: &Node) {
        self.line(&format!("{word} {{"));
        self.body(&unit.parts[0]);
        self.line("}");
    }

    fn process(&mut self, unit: &Node) {
        let mut head = match unit.number {
            -1 => "init".to_owned(),
            0 => format!("proctype {}", unit.name),
            1 => format!("active proctype {}", unit.name),
            number => format!("active [{number}] proctype {}", unit.name),
        };
        for part in &unit.parts {
            match part.kind {
                Kind::Parameters if unit.number != -1 => {
                    let all: Vec<_> = part.parts.iter().map(|part| self.declared(part)).collect();
                    let _ = write!(head, "({})", all.join("; "));
                }
                Kind::Priority => {
                    let _ = write!(head, " priority {}", part.number);
                }
                Kind::Provided => {
                    let _ = write!(head, " provided ({})", self.expression(&part.parts[0]));
                }
                _ => {}
            }
        }
        self.line(&format!("{head} {{"));
        if let Some(body) = unit.parts.last() {
            self.body(body);
        }
        self.line("}");
    }

    fn declared(&self, declaration: &Node) -> String {
        let Node {
            name,
            number,
            parts,
            ..
        } = declaration;
        let mut text = match parts[0].name.as_str() {
            "unsigned" => format!("unsigned {name} : {}", parts[0].number),
            prefixed => format!("{prefixed} {name}"),
        };
        if *number > 0 {
            let _ = write!(text, "[{number}]");
        }
        if let Some(value) = parts.get(1) {
            let _ = write!(text, " = {}", self.expression(value));
        }
        text
    }

    /// Statements, each on a line of its own.
    fn body(&mut self, body: &Node) {
        self.indent += 1;
        for (index, statement) in body.parts.iter().enumerate() {
            self.statement(statement, "", index + 1 == body.parts.len());
        }
        self.indent -= 1;
    }

    fn statement(&mut self, statement: &Node, before: &str, last: bool) {
        let end = if last { "" } else { ";" };
        let parts = &statement.parts;
        let mut block = |head: &str, body: &Node, tail: &str| {
            self.line(&format!("{before}{head}"));
            self.body(body);
            self.line(tail);
        };
        match statement.kind {
            Kind::Label => {
                let name = self.label(&statement.name);
                self.statement(&parts[0], &format!("{before}{name}: "), last);
            }
            Kind::If | Kind::Do => {
                let (open, close) = match statement.kind {
                    Kind::If => ("if", "fi"),
                    _ => ("do", "od"),
                };
                self.line(&format!("{before}{open}"));
                for option in parts {
                    match option.parts.split_first() {
                        Some((first, rest)) => {
                            self.statement(first, ":: ", rest.is_empty());
                            self.body(&sequence(rest.to_vec()));
                        }
                        None => self.line("::"),
                    }
                }
                self.line(&format!("{close}{end}"));
            }
            Kind::Atomic => block("atomic {", &parts[0], &format!("}}{end}")),
            Kind::DStep => block("d_step {", &parts[0], &format!("}}{end}")),
            Kind::Block => block("{", &parts[0], &format!("}}{end}")),
            Kind::Unless => {
                block("{", &parts[0], "}");
                self.line("unless {");
                self.body(&parts[1]);
                self.line(&format!("}}{end}"));
            }
            Kind::For | Kind::ForIn => {
                let at = self.expression(&parts[0]);
                let range = match statement.kind {
                    Kind::For => {
                        let (low, high) = (self.expression(&parts[1]), self.expression(&parts[2]));
                        format!("for ({at} : {low} .. {high}) {{")
                    }
                    _ => format!("for ({at} in {}) {{", self.expression(&parts[1])),
                };
                self.line(&format!("{before}{range}"));
                self.body(&parts[parts.len() - 1]);
                self.line(&format!("}}{end}"));
            }
            Kind::Condition if !last => {
                let text = self.simple(statement);
                self.line(&format!("{before}{text} ->"));
            }
            Kind::Declaration => {
                // A declaration ends with a semicolon even where it is last.
                let declared = self.declared(statement);
                self.line(&format!("{before}{declared};"));
            }
            _ => {
                let text = self.simple(statement);
                self.line(&format!("{before}{text}{end}"));
            }
        }
    }

    fn label(&self, name: &str) -> String {
        match self.in_process {
            true => self.process_label(name),
            false => name.to_owned(),
        }
    }

    fn process_label(&self, name: &str) -> String {
        match self.style.claim && name.starts_with("accept") {
            // With another meaning that nobody asks for, but still one: SPIN makes a `goto` with such a label a
            // step of its own.
            true => format!("progress_{name}"),
            false => name.to_owned(),
        }
    }

    fn list(&self, parts: &[Node]) -> String {
        let all: Vec<_> = parts.iter().map(|part| self.expression(part)).collect();
        all.join(", ")
    }

    fn simple(&self, statement: &Node) -> String {
        let Node {
            name,
            number,
            parts,
            ..
        } = statement;
        match statement.kind {
            Kind::Condition => self.expression(&parts[0]),
            Kind::Assign => {
                format!(
                    "{} = {}",
                    self.expression(&parts[0]),
                    self.expression(&parts[1])
                )
            }
            Kind::Increment => format!("{}++", self.expression(&parts[0])),
            Kind::Decrement => format!("{}--", self.expression(&parts[0])),
            Kind::Send => {
                let operator = if *number == 1 { "!!" } else { "!" };
                format!(
                    "{}{operator}{}",
                    self.expression(&parts[0]),
                    self.list(&parts[1..])
                )
            }
            Kind::Receive => {
                let operator = if number % 2 == 1 { "??" } else { "?" };
                let (open, close) = if *number >= 2 { ("<", ">") } else { ("", "") };
                let list = self.list(&parts[1..]);
                format!(
                    "{}{operator}{open}{list}{close}",
                    self.expression(&parts[0])
                )
            }
            Kind::Assert if self.style.claim && self.in_process => {
                format!("(({}) || true)", self.expression(&parts[0]))
            }
            Kind::Assert => format!("assert({})", self.expression(&parts[0])),
            Kind::Print => {
                let values: String = parts
                    .iter()
                    .map(|p| format!(", {}", self.expression(p)))
                    .collect();
                format!("printf(\"{}\\n\"{values})", " %d".repeat(parts.len()))
            }
            Kind::Skip => "skip".to_owned(),
            Kind::Else => "else".to_owned(),
            Kind::Break => "break".to_owned(),
            Kind::Goto => format!("goto {}", self.label(name)),
            Kind::Select => {
                let (low, high) = (self.expression(&parts[1]), self.expression(&parts[2]));
                format!("select({} : {low} .. {high})", self.expression(&parts[0]))
            }
            Kind::Call => format!("{name}({})", self.list(parts)),
            Kind::SetPriority => format!("set_priority({})", self.list(parts)),
            Kind::Xr => format!("xr {name}"),
            Kind::Xs => format!("xs {name}"),
            kind => format!("/* {kind:?} */ skip"),
        }
    }

    fn expression(&self, expression: &Node) -> String {
        let Node {
            name,
            number,
            parts,
            ..
        } = expression;
        match expression.kind {
            Kind::Number => number.to_string(),
            Kind::Place if name == "_nr_pr" && self.style.claim && self.in_process => {
                "(_nr_pr - 1)".to_owned()
            }
            Kind::Place => {
                let mut text = name.clone();
                let mut rest = parts.iter();
                if *number == 1 {
                    let index = rest.next().map(|index| self.expression(index));
                    let _ = write!(text, "[{}]", index.unwrap_or_default());
                }
                for field in rest {
                    let _ = write!(text, ".{}", self.expression(field));
                }
                text
            }
            Kind::Binary | Kind::Connective => {
                format!(
                    "({} {name} {})",
                    self.expression(&parts[0]),
                    self.expression(&parts[1])
                )
            }
            Kind::Unary => format!("({name}({}))", self.expression(&parts[0])),
            Kind::Modal => format!("({name} ({}))", self.expression(&parts[0])),
            Kind::Choice => {
                let [test, yes, no] = [0, 1, 2].map(|index| self.expression(&parts[index]));
                format!("({test} -> {yes} : {no})")
            }
            Kind::Function => format!("{name}({})", self.list(parts)),
            Kind::Eval => format!("eval({})", self.list(parts)),
            Kind::Poll => {
                let operator = if *number == 1 { "??" } else { "?" };
                format!(
                    "{}{operator}[{}]",
                    self.expression(&parts[0]),
                    self.list(&parts[1..])
                )
            }
            Kind::Run => {
                let priority = match number {
                    0 => String::new(),
                    number => format!(" priority {number}"),
                };
                format!("run {name}({}){priority}", self.list(parts))
            }
            Kind::RemoteLabel | Kind::RemoteVariable => {
                let pid = parts
                    .get(1)
                    .map(|pid| format!("[{}]", self.expression(pid)));
                let (operator, other) = match expression.kind {
                    Kind::RemoteLabel => ("@", self.process_label(&parts[0].name)),
                    _ => (":", parts[0].name.clone()),
                };
                format!("{name}{}{operator}{other}", pid.unwrap_or_default())
            }
            Kind::Channel => {
                let types: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
                format!("[{number}] of {{ {} }}", types.join(", "))
            }
            Kind::Name => name.clone(),
            kind => format!("0 /* {kind:?} */"),
        }
    }
}

impl Shrink for Node {
    fn candidates(&self) -> Vec<Self> {
        let mut all = self.own_candidates();
        for (index, part) in self.parts.iter().enumerate() {
            all.extend(part.candidates().into_iter().map(|smaller| {
                let mut copy = self.clone();
                copy.parts[index] = smaller;
                copy
            }));
        }
        all
    }
}

impl Node {
    fn with(&self, parts: Vec<Node>) -> Node {
        Node {
            parts,
            ..self.clone()
        }
    }

    /// Candidates that change this node itself, not just its parts.
    fn own_candidates(&self) -> Vec<Node> {
        let mut all = Vec::new();
        let lists = [
            Kind::Program,
            Kind::Sequence,
            Kind::If,
            Kind::Do,
            Kind::Mtypes,
            Kind::Typedef,
            Kind::Parameters,
            Kind::Channel,
            Kind::Print,
        ];
        if lists.contains(&self.kind) {
            all.extend(
                without_some(&self.parts)
                    .into_iter()
                    .map(|parts| self.with(parts)),
            );
        }
        match self.kind {
            Kind::Sequence => all.extend(self.with_less_nesting()),
            Kind::Process => {
                for (index, part) in self.parts.iter().enumerate() {
                    if matches!(part.kind, Kind::Priority | Kind::Provided) {
                        let mut copy = self.clone();
                        copy.parts.remove(index);
                        all.push(copy);
                    }
                }
                if self.number > 1 {
                    all.push(Node {
                        number: 1,
                        ..self.clone()
                    });
                }
            }
            Kind::Declaration => {
                if self.parts.len() > 1 {
                    all.push(self.with(vec![self.parts[0].clone()]));
                }
                if self.number > 1 {
                    all.push(Node {
                        number: self.number - 1,
                        ..self.clone()
                    });
                }
            }
            Kind::Type if !["byte", "chan", "mtype"].contains(&self.name.as_str()) => {
                all.push(named(Kind::Type, "byte"));
            }
            Kind::Label => all.push(self.parts[0].clone()),
            Kind::Send | Kind::Receive | Kind::Poll | Kind::Priority | Kind::Run
                if self.number > 0 =>
            {
                all.push(Node {
                    number: 0,
                    ..self.clone()
                });
            }
            Kind::Number => {
                let smaller = [0, 1, self.number / 10, self.number / 2, self.number - 1];
                let simpler = |n: i64| n.unsigned_abs() < self.number.unsigned_abs();
                all.extend(smaller.into_iter().filter(|n| simpler(*n)).map(number));
            }
            Kind::Channel if self.number > 0 => {
                all.push(Node {
                    number: self.number - 1,
                    ..self.clone()
                });
            }
            _ => {}
        }
        if self.is_expression() && self.kind != Kind::Number {
            all.extend([number(0), number(1)]);
        }
        if self.is_expression() && self.kind != Kind::Place || self.is_formula() {
            let parts = self.parts.iter();
            all.extend(
                parts
                    .filter(|p| p.is_expression() || p.is_formula())
                    .cloned(),
            );
        }
        all
    }

    /// The sequences in which one statement is replaced by one that it contains.
    fn with_less_nesting(&self) -> Vec<Node> {
        let mut all = Vec::new();
        for (index, statement) in self.parts.iter().enumerate() {
            let inner = match statement.kind {
                Kind::Label => &statement.parts[0],
                _ => statement,
            };
            for part in inner
                .parts
                .iter()
                .filter(|part| part.kind == Kind::Sequence)
            {
                let mut parts = self.parts[..index].to_vec();
                parts.extend(part.parts.iter().cloned());
                parts.extend_from_slice(&self.parts[index + 1..]);
                all.push(self.with(parts));
            }
        }
        all
    }
}
