//! Names, types and arity: from the model as written to the model as meant.

mod declarations;
mod expressions;

use std::collections::HashMap;

use stubborn_diagnostics::{Diagnostic, Span, has_errors};

use crate::ast::{self, Binary, Name, ProcessKind, Unit};
use crate::flow;
use crate::hir::{Expr, LeafInitial, MtypeSet, Place, ProcId, Process, Program, Scalar, Variable};

/// Arrays and channels larger than this are refused.
const MAX_SIZE: i64 = 1 << 16;
/// Numbers in one variable, all arrays and fields counted.
const MAX_NUMBERS: usize = 1 << 20;

/// A `typedef`.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    name: Name,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    name: Name,
    size: Option<u32>,
    kind: FieldKind,
}

#[derive(Clone, Debug)]
enum FieldKind {
    Number(Scalar, LeafInitial),
    Structure(usize),
}

/// Where an expression stands that is about a model and is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It is asked about a state: an invariant, a goal, a formula of branching time.
    Alone,
    /// In a formula or an automaton about runs. As in SPIN, where that is a process beside those of the
    /// model, `_nr_pr` counts it.
    InFormula,
    /// In an `ltl` formula of the model: likewise, and its macros are replaced already.
    InModel,
}

/// Name and number of the parameters of a process type, known before its body is read.
#[derive(Clone, Debug)]
struct Header {
    name: Name,
    kind: ProcessKind,
    span: Span,
}

/// A declared name, visible in a scope.
#[derive(Clone, Debug)]
struct Local {
    name: Name,
    index: usize,
    /// The block it is declared in.
    scope: Vec<u32>,
}

/// The names of a model: everything that is known while it is read, and that expressions about it may
/// use afterwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    /// What was found to be wrong since somebody took the messages.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The model as far as it was read.
    pub(crate) program: Program,
    structures: Vec<Structure>,
    constants: HashMap<Name, (usize, i32, Span)>,
    headers: Vec<Header>,
    global_names: HashMap<Name, usize>,
    /// When each global gets its initial value, see [`declarations::turn`].
    global_turns: Vec<u8>,
    /// Locals of the process type at hand.
    locals: Vec<Variable>,
    local_names: Vec<Local>,
    /// The block at hand, as a path of numbers.
    pub(crate) scope: Vec<u32>,
    /// Kind of the process type at hand.
    kind: Option<ProcessKind>,
    /// What is read now is part of a claim, which `_nr_pr` counts.
    beside_claim: bool,
    /// Remote references to variables, resolved when all bodies are known.
    remote: Vec<(ProcId, Name, Span)>,
    pub(crate) exclusive: Vec<(bool, Place)>,
    /// Labels that are referred to from outside: process type and label.
    pub(crate) remote_labels: Vec<(Name, Name)>,
}

/// Checks a model.
pub(crate) fn resolve(model: &ast::Model, diagnostics: &mut Vec<Diagnostic>) -> Resolver {
    let mut resolver = Resolver {
        diagnostics: std::mem::take(diagnostics),
        remote_labels: model.remote_labels.clone(),
        ..Resolver::default()
    };
    resolver.program.mtypes.push(MtypeSet {
        name: "".into(),
        names: Vec::new(),
    });
    resolver.headers(model);
    for unit in &model.units {
        resolver.unit(unit);
    }
    resolver.check_remote();
    let runnable = |p: &Process| p.active > 0;
    // Where something is wrong, the process may be in what was not understood.
    if !resolver.program.processes.iter().any(runnable) && !has_errors(&resolver.diagnostics) {
        let error = Diagnostic::error("PML040", "this model starts no process", Span::new(0, 1))
            .help("add an `init` or mark a process type as `active`");
        resolver.diagnostics.push(error);
    }
    *diagnostics = std::mem::take(&mut resolver.diagnostics);
    resolver
}

impl Resolver {
    /// An expression that stands apart from the model. Whatever may be said in a never claim may be said
    /// in it.
    pub(crate) fn alone(&mut self, expression: &ast::Expr, place: Standing) -> Expr {
        self.kind = Some(ProcessKind::Never);
        self.beside_claim = place != Standing::Alone;
        self.locals = Vec::new();
        self.local_names = Vec::new();
        let expr = self.expr(expression);
        self.no_run(&expr, expression.span, "a proposition");
        self.check_remote();
        self.kind = None;
        self.beside_claim = false;
        expr
    }

    pub(crate) fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.diagnostics
            .push(Diagnostic::error(code, message, span));
    }

    /// Everything that may be used before it is declared: constants and process types.
    fn headers(&mut self, model: &ast::Model) {
        for unit in &model.units {
            match unit {
                Unit::Process(process) => {
                    let double = self.headers.iter().find(|h| h.name == process.name);
                    if let Some(first) = double {
                        let message = format!("{} is declared twice", process.name);
                        let error = Diagnostic::error("PML041", message, process.span)
                            .related(first.span, "first declared here");
                        self.diagnostics.push(error);
                    }
                    self.headers.push(Header {
                        name: process.name.clone(),
                        kind: process.kind,
                        span: process.span,
                    });
                }
                Unit::Mtype(mtype) => {
                    let name = mtype.set.clone().unwrap_or_else(|| "".into());
                    let set = self.mtype_set(&name);
                    // The last name of a declaration gets the lowest number.
                    for (constant, span) in mtype.names.iter().rev() {
                        if let Some((_, _, first)) = self.constants.get(constant) {
                            let message = format!("{constant} is declared twice");
                            let error = Diagnostic::error("PML041", message, *span)
                                .related(*first, "first declared here");
                            self.diagnostics.push(error);
                            continue;
                        }
                        let names = &mut self.program.mtypes[set].names;
                        names.push(constant.clone());
                        let value = names.len() as i32;
                        if value == 256 {
                            let message = "an mtype set has at most 255 names";
                            self.diagnostics
                                .push(Diagnostic::error("PML042", message, *span));
                        }
                        self.constants.insert(constant.clone(), (set, value, *span));
                    }
                }
                _ => {}
            }
        }
    }

    fn mtype_set(&mut self, name: &Name) -> usize {
        let sets = &mut self.program.mtypes;
        sets.iter()
            .position(|s| s.name == *name)
            .unwrap_or_else(|| {
                sets.push(MtypeSet {
                    name: name.clone(),
                    names: Vec::new(),
                });
                sets.len() - 1
            })
    }

    fn unit(&mut self, unit: &Unit) {
        match unit {
            Unit::Process(process) => self.process(process),
            Unit::Declaration(declaration) => {
                for declarator in &declaration.variables {
                    let mut variable = self.variable(declaration, declarator, true);
                    let turn = declarations::turn(&declaration.ty);
                    self.in_turn(&mut variable, turn);
                    self.global(variable, turn);
                }
            }
            Unit::Typedef(typedef) => self.typedef(typedef),
            Unit::Mtype(_) => {}
            Unit::Ltl(ltl) => self.program.formulas.push(ltl.clone()),
        }
    }

    fn global(&mut self, variable: Variable, turn: u8) {
        if let Some(first) = self.global_names.get(&variable.name) {
            let message = format!("{} is declared twice", variable.name);
            let error = Diagnostic::error("PML041", message, variable.span)
                .related(self.program.globals[*first].span, "first declared here");
            self.diagnostics.push(error);
            return;
        }
        self.check_name(&variable, false);
        self.global_names
            .insert(variable.name.clone(), self.program.globals.len());
        self.program.globals.push(variable);
        self.global_turns.push(turn);
    }

    /// Whether the name of a variable is free. A local may be called like a process type that is declared
    /// after it.
    fn check_name(&mut self, variable: &Variable, is_local: bool) {
        let name = &variable.name;
        let named = match is_local {
            true => (self.program.processes.iter()).any(|process| process.name == *name),
            false => self.headers.iter().any(|header| header.name == *name),
        };
        if named || self.constants.contains_key(name) {
            let message = format!("{name} is already the name of something else");
            self.error("PML041", message, variable.span);
        }
        if matches!(&**name, "_" | "_pid" | "_last" | "_nr_pr" | "_priority") {
            let message = format!("{name} is predefined and cannot be declared");
            self.error("PML043", message, variable.span);
        }
    }

    fn process(&mut self, process: &ast::Process) {
        self.locals = Vec::new();
        self.local_names = Vec::new();
        self.scope = Vec::new();
        self.exclusive = Vec::new();
        self.kind = Some(process.kind);
        self.beside_claim = process.kind == ProcessKind::Never;
        for declaration in &process.parameters {
            for declarator in &declaration.variables {
                if declarator.size.is_some() {
                    let message = format!("parameter {} cannot be an array", declarator.name);
                    self.error("PML049", message, declarator.span);
                }
                self.local(declaration, declarator, false);
            }
        }
        let parameters = self.locals.len();
        let active = match (&process.active, process.kind) {
            (Some(count), _) => {
                let value = self.constant(count).unwrap_or(1);
                if !(0..=255).contains(&value) {
                    let message = format!("there can be at most 255 processes, not {value}");
                    self.error("PML046", message, count.span);
                }
                value.clamp(0, 255) as u32
            }
            (None, ProcessKind::Init) => 1,
            (None, _) => 0,
        };
        let provided = process.provided.as_ref().map(|e| self.expr(e));
        let priority = process.priority.as_ref();
        let priority = priority.map_or(1, |p| self.priority(p));
        let (flow, initialised) = flow::build(self, process);
        self.program.processes.push(Process {
            kind: process.kind,
            name: process.name.clone(),
            span: process.span,
            active,
            locals: std::mem::take(&mut self.locals),
            parameters,
            initialised,
            provided,
            priority,
            exclusive: std::mem::take(&mut self.exclusive),
            flow,
        });
        // What follows must not find its names.
        self.local_names = Vec::new();
        self.scope = Vec::new();
        self.kind = None;
        self.beside_claim = false;
    }

    pub(crate) fn uses_priority(&mut self) {
        self.program.uses_priority = true;
    }

    /// A priority, which must be a constant.
    pub(crate) fn priority(&mut self, expr: &ast::Expr) -> i32 {
        self.program.uses_priority = true;
        let value = self.constant(expr).unwrap_or(1);
        if !(1..=255).contains(&value) {
            let message = format!("a priority is a number from 1 to 255, not {value}");
            self.error("PML060", message, expr.span);
        }
        value.clamp(1, 255) as i32
    }

    fn check_remote(&mut self) {
        for (process, label, span) in std::mem::take(&mut self.remote) {
            let found = self.program.processes.get(process.0);
            let states = found.iter().flat_map(|p| &p.flow.labels);
            let mut states = states.filter(|(name, _)| *name == label);
            if let (Some(process), Some((_, first)), Some((_, second))) =
                (found, states.next(), states.next())
            {
                let name = process.name.trim_matches(':');
                let message = format!("{label} is ambiguous: several blocks of {name} have one");
                let error = Diagnostic::error("PML059", message, span)
                    .related(process.flow.states[*first].span, "this may be meant")
                    .related(process.flow.states[*second].span, "or this")
                    .help("give the labels different names");
                self.diagnostics.push(error);
                continue;
            }
            if found.is_none_or(|p| p.flow.label_state(&label).is_none()) {
                let name = &self.headers[process.0].name;
                let message = format!("{name} has no label {label}");
                let error = Diagnostic::error("PML058", message, span);
                let labels = found.iter().flat_map(|p| &p.flow.labels);
                let error = error.did_you_mean(&label, labels.map(|(name, _)| &**name));
                self.diagnostics.push(error);
            }
        }
    }
}

/// Whether evaluating an expression starts a process.
pub(crate) fn contains_run(expr: &Expr) -> bool {
    match expr {
        Expr::Run(_) => true,
        Expr::Unary(_, inner) => contains_run(inner),
        Expr::Binary(_, left, right, _) => contains_run(left) || contains_run(right),
        Expr::Conditional(a, b, c) => contains_run(a) || contains_run(b) || contains_run(c),
        _ => false,
    }
}

/// A binary operator on constants; None for a division by zero.
pub(crate) fn apply(operator: Binary, a: i32, b: i32) -> Option<i32> {
    Some(match operator {
        Binary::Add => a.wrapping_add(b),
        Binary::Subtract => a.wrapping_sub(b),
        Binary::Multiply => a.wrapping_mul(b),
        Binary::Divide => {
            if b == 0 {
                return None;
            }
            a.wrapping_div(b)
        }
        Binary::Remainder => {
            if b == 0 {
                return None;
            }
            a.wrapping_rem(b)
        }
        Binary::BitAnd => a & b,
        Binary::BitXor => a ^ b,
        Binary::BitOr => a | b,
        Binary::ShiftLeft => a.wrapping_shl(b as u32),
        Binary::ShiftRight => a.wrapping_shr(b as u32),
        Binary::Less => i32::from(a < b),
        Binary::LessEqual => i32::from(a <= b),
        Binary::Greater => i32::from(a > b),
        Binary::GreaterEqual => i32::from(a >= b),
        Binary::Equal => i32::from(a == b),
        Binary::NotEqual => i32::from(a != b),
        Binary::And => i32::from(a != 0 && b != 0),
        Binary::Or => i32::from(a != 0 || b != 0),
    })
}
