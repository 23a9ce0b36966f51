//! Names, types and arity: from the model as written to the model as meant.

use std::collections::HashMap;
use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, Span};

use crate::ast::{
    self, Binary, Declaration, Declarator, ExprKind, Initial, Name, ProcessKind, Reference, Type,
    Unary, Unit, Visibility,
};
use crate::flow;
use crate::hir::{
    Argument, ChannelType, Expr, Leaf, LeafInitial, MtypeSet, Place, ProcId, Process, Program, Run,
    Scalar, VarKey, Variable,
};

/// Arrays and channels larger than this are refused.
const MAX_SIZE: i64 = 1 << 16;
/// Numbers in one variable, all arrays and fields counted.
const MAX_NUMBERS: usize = 1 << 20;

/// A `typedef`.
pub(crate) struct Structure {
    name: Name,
    fields: Vec<Field>,
}

struct Field {
    name: Name,
    size: Option<u32>,
    kind: FieldKind,
}

enum FieldKind {
    Number(Scalar, LeafInitial),
    Structure(usize),
}

/// Name and number of the parameters of a process type, known before its body is read.
struct Header {
    name: Name,
    kind: ProcessKind,
    span: Span,
}

/// A declared name, visible in a scope.
struct Local {
    name: Name,
    index: usize,
    /// The block it is declared in.
    scope: Vec<u32>,
}

/// Everything that is known while a model is read.
pub(crate) struct Resolver<'a> {
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
    program: Program,
    structures: Vec<Structure>,
    constants: HashMap<Name, (usize, i32, Span)>,
    headers: Vec<Header>,
    global_names: HashMap<Name, usize>,
    /// Locals of the process type at hand.
    locals: Vec<Variable>,
    local_names: Vec<Local>,
    /// The block at hand, as a path of numbers.
    pub(crate) scope: Vec<u32>,
    /// Kind of the process type at hand.
    kind: Option<ProcessKind>,
    /// Remote references to variables, resolved when all bodies are known.
    remote: Vec<(ProcId, Name, Span)>,
    pub(crate) exclusive: Vec<(bool, Place)>,
    /// Labels that are referred to from outside: process type and label.
    pub(crate) remote_labels: Vec<(Name, Name)>,
}

/// Checks a model.
pub(crate) fn resolve(model: &ast::Model, diagnostics: &mut Vec<Diagnostic>) -> Program {
    let mut resolver = Resolver {
        diagnostics,
        program: Program::default(),
        structures: Vec::new(),
        constants: HashMap::new(),
        headers: Vec::new(),
        global_names: HashMap::new(),
        locals: Vec::new(),
        local_names: Vec::new(),
        scope: Vec::new(),
        kind: None,
        remote: Vec::new(),
        exclusive: Vec::new(),
        remote_labels: model.remote_labels.clone(),
    };
    resolver.program.mtypes.push(MtypeSet { name: "".into(), names: Vec::new() });
    resolver.headers(model);
    for unit in &model.units {
        resolver.unit(unit);
    }
    // Whatever may be said in a never claim may be said in a proposition.
    resolver.kind = Some(ProcessKind::Never);
    resolver.locals = Vec::new();
    resolver.local_names = Vec::new();
    for proposition in &model.propositions {
        let expr = resolver.expr(proposition);
        resolver.no_run(&expr, proposition.span, "a proposition");
        resolver.program.propositions.push(expr);
    }
    resolver.check_remote();
    let runnable = |p: &Process| p.active > 0;
    if !resolver.program.processes.iter().any(runnable) {
        let error = Diagnostic::error("PML040", "this model starts no process", Span::new(0, 1))
            .help("add an `init` or mark a process type as `active`");
        resolver.diagnostics.push(error);
    }
    resolver.program
}

impl Resolver<'_> {
    pub(crate) fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.diagnostics.push(Diagnostic::error(code, message, span));
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
                            self.diagnostics.push(Diagnostic::error("PML042", message, *span));
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
        sets.iter().position(|s| s.name == *name).unwrap_or_else(|| {
            sets.push(MtypeSet { name: name.clone(), names: Vec::new() });
            sets.len() - 1
        })
    }

    fn unit(&mut self, unit: &Unit) {
        match unit {
            Unit::Process(process) => self.process(process),
            Unit::Declaration(declaration) => {
                for declarator in &declaration.variables {
                    let variable = self.variable(declaration, declarator, true);
                    self.global(variable);
                }
            }
            Unit::Typedef(typedef) => self.typedef(typedef),
            Unit::Mtype(_) => {}
            Unit::Ltl(ltl) => self.program.formulas.push(ltl.clone()),
        }
    }

    fn global(&mut self, variable: Variable) {
        if let Some(first) = self.global_names.get(&variable.name) {
            let message = format!("{} is declared twice", variable.name);
            let error = Diagnostic::error("PML041", message, variable.span)
                .related(self.program.globals[*first].span, "first declared here");
            self.diagnostics.push(error);
            return;
        }
        self.check_name(&variable);
        self.global_names.insert(variable.name.clone(), self.program.globals.len());
        self.program.globals.push(variable);
    }

    fn check_name(&mut self, variable: &Variable) {
        let name = &variable.name;
        if self.headers.iter().any(|h| h.name == *name) || self.constants.contains_key(name) {
            let message = format!("{name} is already the name of something else");
            self.error("PML041", message, variable.span);
        }
        if matches!(&**name, "_" | "_pid" | "_last" | "_nr_pr" | "_priority") {
            let message = format!("{name} is predefined and cannot be declared");
            self.error("PML043", message, variable.span);
        }
    }

    fn typedef(&mut self, typedef: &ast::Typedef) {
        let mut fields: Vec<Field> = Vec::new();
        for declaration in &typedef.fields {
            for declarator in &declaration.variables {
                if fields.iter().any(|f| f.name == declarator.name) {
                    let message = format!("field {} is declared twice", declarator.name);
                    self.error("PML041", message, declarator.span);
                    continue;
                }
                let size = declarator.size.as_ref().map(|s| self.size(s));
                let kind = match self.scalar(&declaration.ty, declarator, declaration.span) {
                    Some(scalar) => {
                        FieldKind::Number(scalar, self.initial(declarator, scalar, size))
                    }
                    None => match self.structure(&declaration.ty, declaration.span) {
                        Some(inner) => FieldKind::Structure(inner),
                        None => continue,
                    },
                };
                fields.push(Field { name: declarator.name.clone(), size, kind });
            }
        }
        if self.structures.iter().any(|s| s.name == typedef.name) {
            let message = format!("type {} is declared twice", typedef.name);
            return self.error("PML041", message, typedef.span);
        }
        self.structures.push(Structure { name: typedef.name.clone(), fields });
    }

    /// The type of a number, or None for a typedef.
    fn scalar(&mut self, ty: &Type, declarator: &Declarator, span: Span) -> Option<Scalar> {
        Some(match ty {
            Type::Bit => Scalar::Bit,
            Type::Byte => Scalar::Byte,
            Type::Short => Scalar::Short,
            Type::Int => Scalar::Int,
            Type::Chan => Scalar::Chan,
            Type::Mtype(set) => {
                let name = set.clone().unwrap_or_else(|| "".into());
                if set.is_some() && !self.program.mtypes.iter().any(|s| s.name == name) {
                    self.error("PML044", format!("there is no mtype set {name}"), span);
                }
                Scalar::Mtype(self.mtype_set(&name))
            }
            Type::Unsigned => {
                let bits = match &declarator.width {
                    Some(width) => self.constant(width).unwrap_or(1),
                    None => {
                        let message = "an unsigned variable needs a width, as in `unsigned x : 3`";
                        self.error("PML045", message, declarator.span);
                        1
                    }
                };
                if !(1..=31).contains(&bits) {
                    let message = format!("a width of {bits} bits is not between 1 and 31");
                    self.error("PML045", message, declarator.span);
                }
                Scalar::Unsigned(bits.clamp(1, 31) as u8)
            }
            Type::Named(_) => return None,
        })
    }

    fn structure(&mut self, ty: &Type, span: Span) -> Option<usize> {
        let Type::Named(name) = ty else { return None };
        let found = self.structures.iter().position(|s| s.name == *name);
        if found.is_none() {
            let message = format!("type {name} is used before it is declared");
            self.error("PML044", message, span);
        }
        found
    }

    fn size(&mut self, size: &ast::Expr) -> u32 {
        let value = self.constant(size).unwrap_or(1);
        if !(1..=MAX_SIZE).contains(&value) {
            let message = format!("{value} is no sensible size");
            self.error("PML046", message, size.span);
        }
        value.clamp(1, MAX_SIZE) as u32
    }

    /// The value of a constant expression. A global with a constant initial value counts.
    fn constant(&mut self, expr: &ast::Expr) -> Option<i64> {
        let value = self.size_value(expr);
        if value.is_none() {
            self.error("PML047", "this must be a constant", expr.span);
        }
        value
    }

    /// A constant, or a global variable with a constant initial value.
    fn size_value(&self, expr: &ast::Expr) -> Option<i64> {
        let ExprKind::Reference(reference) = &expr.kind else { return self.constant_value(expr) };
        let [part] = reference.parts.as_slice() else { return None };
        let variable = &self.program.globals[*self.global_names.get(&part.name)?];
        match (&variable.leaves.first()?.initial, part.index.is_none()) {
            (LeafInitial::Value(Expr::Const(value)), true) if !variable.is_array => {
                Some(i64::from(*value))
            }
            _ => None,
        }
    }

    pub(crate) fn constant_value(&self, expr: &ast::Expr) -> Option<i64> {
        Some(match &expr.kind {
            ExprKind::Number(value) => i64::from(*value),
            ExprKind::Constant(name) => i64::from(self.constants.get(name)?.1),
            ExprKind::Unary(operator, inner) => {
                let inner = self.constant_value(inner)?;
                match operator {
                    Unary::Minus => -inner,
                    Unary::Not => i64::from(inner == 0),
                    Unary::Complement => !inner,
                }
            }
            ExprKind::Binary(operator, left, right) => {
                let (a, b) = (self.constant_value(left)? as i32, self.constant_value(right)? as i32);
                i64::from(apply(*operator, a, b)?)
            }
            _ => return None,
        })
    }

    fn initial(&mut self, declarator: &Declarator, scalar: Scalar, size: Option<u32>) -> LeafInitial {
        match &declarator.initial {
            Initial::None => LeafInitial::Zero,
            Initial::Value(expr) => {
                let value = self.expr(expr);
                self.no_run(&value, expr.span, "an initial value");
                LeafInitial::Value(value)
            }
            Initial::List(values) => {
                let Some(size) = size else {
                    let message = format!("{} is no array", declarator.name);
                    self.error("PML048", message, declarator.span);
                    return LeafInitial::Zero;
                };
                let mut list: Vec<i32> = Vec::new();
                for value in values {
                    list.push(self.constant(value).unwrap_or(0) as i32);
                }
                if list.len() > size as usize {
                    let message =
                        format!("{} has {size} elements, {} given", declarator.name, list.len());
                    self.error("PML048", message, declarator.span);
                }
                // Missing ones repeat the last, as SPIN does it.
                let last = list.last().copied().unwrap_or(0);
                list.resize(size as usize, last);
                LeafInitial::List(list)
            }
            Initial::Channel { capacity, fields } => {
                if scalar != Scalar::Chan {
                    let message = format!("{} is no channel", declarator.name);
                    self.error("PML048", message, declarator.span);
                    return LeafInitial::Zero;
                }
                let capacity_value = self.constant(capacity).unwrap_or(0);
                if !(0..=255).contains(&capacity_value) {
                    let message = format!("a channel holds 0 to 255 messages, not {capacity_value}");
                    self.error("PML046", message, capacity.span);
                }
                let mut scalars = Vec::new();
                for ty in fields {
                    self.message_field(ty, declarator, &mut scalars);
                }
                LeafInitial::Channel(Arc::new(ChannelType {
                    capacity: capacity_value.clamp(0, 255) as u32,
                    fields: scalars,
                }))
            }
        }
    }

    fn message_field(&mut self, ty: &Type, declarator: &Declarator, out: &mut Vec<Scalar>) {
        match self.scalar(ty, declarator, declarator.span) {
            Some(scalar) => out.push(scalar),
            None => {
                if let Some(structure) = self.structure(ty, declarator.span) {
                    let mut leaves = Vec::new();
                    self.flatten(structure, "", &[], &mut leaves);
                    for leaf in leaves {
                        out.extend(std::iter::repeat_n(leaf.scalar, leaf.len()));
                    }
                }
            }
        }
    }

    /// The leaves of a typedef, in the order of its fields.
    fn flatten(&self, structure: usize, prefix: &str, dims: &[u32], out: &mut Vec<Leaf>) {
        for field in &self.structures[structure].fields {
            let suffix = format!("{prefix}.{}", field.name);
            let mut dims = dims.to_vec();
            dims.extend(field.size);
            match &field.kind {
                FieldKind::Number(scalar, initial) => {
                    let mut initial = initial.clone();
                    if let LeafInitial::List(list) = &mut initial {
                        let total: usize = dims.iter().map(|d| *d as usize).product();
                        *list = list.iter().copied().cycle().take(total).collect();
                    }
                    out.push(Leaf { suffix, scalar: *scalar, dims, initial });
                }
                FieldKind::Structure(inner) => self.flatten(*inner, &suffix, &dims, out),
            }
            if out.len() > MAX_NUMBERS {
                return;
            }
        }
    }

    fn variable(
        &mut self,
        declaration: &Declaration,
        declarator: &Declarator,
        keep_initial: bool,
    ) -> Variable {
        let size = declarator.size.as_ref().map(|s| self.size(s));
        let dims: Vec<u32> = size.into_iter().collect();
        let mut structure = None;
        let mut leaves = Vec::new();
        match self.scalar(&declaration.ty, declarator, declaration.span) {
            Some(scalar) => {
                let initial = match keep_initial {
                    true => self.initial(declarator, scalar, size),
                    false => LeafInitial::Zero,
                };
                leaves.push(Leaf { suffix: String::new(), scalar, dims, initial });
            }
            None => {
                structure = self.structure(&declaration.ty, declaration.span);
                if let Some(structure) = structure {
                    self.flatten(structure, "", &dims, &mut leaves);
                }
                if !matches!(declarator.initial, Initial::None) {
                    let message = format!("the initial value of {} has no effect", declarator.name);
                    let warning = Diagnostic::warning("PML048", message, declarator.span)
                        .help("give the fields of the type initial values");
                    self.diagnostics.push(warning);
                }
            }
        }
        let numbers: usize = leaves.iter().map(Leaf::len).sum();
        if numbers > MAX_NUMBERS {
            let message = format!("{} holds {numbers} numbers, which is too many", declarator.name);
            self.error("PML046", message, declarator.span);
            leaves.clear();
        }
        Variable {
            name: declarator.name.clone(),
            span: declarator.span,
            leaves,
            is_array: size.is_some(),
            structure,
            hidden: declaration.visibility == Visibility::Hidden,
        }
    }

    /// Declares a local variable; its initial value counts only at the head of the body.
    pub(crate) fn local(
        &mut self,
        declaration: &Declaration,
        declarator: &Declarator,
        at_head: bool,
    ) -> usize {
        let variable = self.variable(declaration, declarator, at_head);
        self.check_name(&variable);
        let visible = self.visible_local(&variable.name).map(|at| self.locals[at].span);
        let global = self.global_names.get(&variable.name);
        let first = visible.or(global.map(|g| self.program.globals[*g].span));
        if let Some(first) = first {
            let message = format!("{} is declared twice", variable.name);
            let error = Diagnostic::error("PML041", message, variable.span)
                .related(first, "first declared here");
            self.diagnostics.push(error);
        }
        self.add_local(variable)
    }

    /// Adds a local variable that no text declares, or that was checked before.
    pub(crate) fn add_local(&mut self, variable: Variable) -> usize {
        let index = self.locals.len();
        self.local_names.push(Local {
            name: variable.name.clone(),
            index,
            scope: self.scope.clone(),
        });
        self.locals.push(variable);
        index
    }

    pub(crate) fn locals(&self) -> &[Variable] {
        &self.locals
    }

    fn visible_local(&self, name: &str) -> Option<usize> {
        let fits = |l: &&Local| *l.name == *name && self.scope.starts_with(&l.scope);
        self.local_names.iter().rev().find(fits).map(|l| l.index)
    }

    fn process(&mut self, process: &ast::Process) {
        self.locals = Vec::new();
        self.local_names = Vec::new();
        self.scope = Vec::new();
        self.exclusive = Vec::new();
        self.kind = Some(process.kind);
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
        if let Some(priority) = &process.priority {
            self.refuse_priority(priority.span);
        }
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
            exclusive: std::mem::take(&mut self.exclusive),
            flow,
        });
        self.kind = None;
    }

    pub(crate) fn refuse_priority(&mut self, span: Span) {
        let error = Diagnostic::error("PML060", "process priorities are not supported", span)
            .help("remove the priority, or model it with a `provided` clause");
        self.diagnostics.push(error);
    }

    /// A resolved expression; 0 stands for one that has no meaning.
    pub(crate) fn expr(&mut self, expr: &ast::Expr) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Number(value) => Expr::Const(*value),
            ExprKind::Constant(name) => match self.constants.get(name) {
                Some((_, value, _)) => Expr::Const(*value),
                None => Expr::Const(0),
            },
            ExprKind::Reference(reference) => self.load(reference),
            ExprKind::Unary(operator, inner) => Expr::Unary(*operator, Box::new(self.expr(inner))),
            ExprKind::Binary(operator, left, right) => {
                let left = self.expr(left);
                let right = self.expr(right);
                Expr::Binary(*operator, Box::new(left), Box::new(right), span)
            }
            ExprKind::Conditional(condition, yes, no) => {
                let condition = self.expr(condition);
                let yes = self.expr(yes);
                let no = self.expr(no);
                Expr::Conditional(Box::new(condition), Box::new(yes), Box::new(no))
            }
            ExprKind::Run(run) => self.run(run),
            ExprKind::Len(channel) => match self.channel(channel) {
                Some(place) => Expr::Len(Box::new(place)),
                None => Expr::Const(0),
            },
            ExprKind::Probe(probe, channel) => match self.channel(channel) {
                Some(place) => Expr::Probe(*probe, Box::new(place)),
                None => Expr::Const(0),
            },
            ExprKind::Poll { channel, arguments, random } => {
                let Some(channel) = self.channel(channel) else { return Expr::Const(0) };
                let mut pattern = Vec::new();
                for argument in self.arguments(arguments) {
                    pattern.push(match argument {
                        Argument::Match(expr) => Some(expr),
                        _ => None,
                    });
                }
                Expr::Poll { channel: Box::new(channel), pattern, random: *random, span }
            }
            ExprKind::Enabled(pid) => Expr::Enabled(Box::new(self.expr(pid))),
            ExprKind::PcValue(pid) => Expr::PcValue(Box::new(self.expr(pid))),
            ExprKind::GetPriority(_) => {
                self.refuse_priority(span);
                Expr::Const(1)
            }
            ExprKind::Timeout => Expr::Timeout,
            ExprKind::NonProgress => {
                if self.kind != Some(ProcessKind::Never) {
                    self.error("PML050", "np_ can only be used in a never claim", span);
                }
                Expr::NonProgress
            }
            ExprKind::RemoteLabel { process, pid, label } => {
                let Some(id) = self.process_id(process) else { return Expr::Const(0) };
                let pid = pid.as_ref().map(|p| Box::new(self.expr(p)));
                self.remote.push((id, label.clone(), span));
                Expr::RemoteLabel { process: id, pid, label: label.clone() }
            }
            ExprKind::RemoteVariable { process, pid, variable } => {
                self.remote_variable(process, pid.as_deref(), variable, span)
            }
            ExprKind::Error => Expr::Const(0),
        }
    }

    fn process_id(&self, name: &str) -> Option<ProcId> {
        self.headers.iter().position(|h| *h.name == *name).map(ProcId)
    }

    fn load(&mut self, reference: &Reference) -> Expr {
        if let [part] = reference.parts.as_slice()
            && part.index.is_none()
        {
            match &*part.name {
                "_pid" => return Expr::Pid,
                "_nr_pr" => return Expr::ProcessCount,
                "_last" => {
                    self.program.uses_last = true;
                    return Expr::Last;
                }
                "_priority" => {
                    self.refuse_priority(part.span);
                    return Expr::Const(1);
                }
                "_" => {
                    self.error("PML051", "`_` can only be written to", part.span);
                    return Expr::Const(0);
                }
                _ => {}
            }
        }
        match self.place(reference) {
            Some(place) => Expr::Load(Box::new(place)),
            None => Expr::Const(0),
        }
    }

    fn run(&mut self, run: &ast::Run) -> Expr {
        let arguments = self.values(&run.arguments);
        if let Some(priority) = &run.priority {
            self.refuse_priority(priority.span);
        }
        let known = self.process_id(&run.process);
        match known.map(|id| (id, self.headers[id.0].kind)) {
            Some((process, ProcessKind::Proctype)) => {
                Expr::Run(Box::new(Run { process, arguments, span: run.span }))
            }
            _ => {
                let message = format!("there is no process type {}", run.process);
                self.error("PML052", message, run.span);
                Expr::Const(0)
            }
        }
    }

    /// Values of arguments; a variable of a typedef stands for all its fields.
    pub(crate) fn values(&mut self, arguments: &[ast::Expr]) -> Vec<Expr> {
        let mut out = Vec::new();
        for argument in arguments {
            if let ExprKind::Reference(reference) = &argument.kind
                && let Some(places) = self.whole_structure(reference)
            {
                out.extend(places.into_iter().map(|p| Expr::Load(Box::new(p))));
                continue;
            }
            let value = self.expr(argument);
            self.no_run(&value, argument.span, "an argument");
            out.push(value);
        }
        out
    }

    pub(crate) fn arguments(&mut self, arguments: &[ast::ReceiveArgument]) -> Vec<Argument> {
        let mut out = Vec::new();
        for argument in arguments {
            match argument {
                ast::ReceiveArgument::Match(expr) => out.push(Argument::Match(self.expr(expr))),
                ast::ReceiveArgument::Variable(reference) => {
                    if reference.parts.len() == 1 && &*reference.parts[0].name == "_" {
                        out.push(Argument::Ignore);
                    } else if let Some(places) = self.whole_structure(reference) {
                        out.extend(places.into_iter().map(Argument::Store));
                    } else if let Some(place) = self.target(reference) {
                        out.push(Argument::Store(place));
                    } else {
                        out.push(Argument::Ignore);
                    }
                }
            }
        }
        out
    }

    pub(crate) fn no_run(&mut self, expr: &Expr, span: Span, what: &str) {
        if contains_run(expr) {
            self.error("PML053", format!("`run` cannot be used in {what}"), span);
        }
    }

    /// A variable that is written to.
    pub(crate) fn target(&mut self, reference: &Reference) -> Option<Place> {
        if let [part] = reference.parts.as_slice()
            && matches!(&*part.name, "_pid" | "_last" | "_nr_pr" | "_priority")
        {
            self.error("PML051", format!("{} cannot be assigned", part.name), part.span);
            return None;
        }
        self.place(reference)
    }

    pub(crate) fn channel(&mut self, reference: &Reference) -> Option<Place> {
        let place = self.place(reference)?;
        if place.scalar != Scalar::Chan {
            let name = &reference.parts[reference.parts.len() - 1].name;
            self.error("PML054", format!("{name} is no channel"), reference.span);
            return None;
        }
        Some(place)
    }

    /// The variable that a name denotes here.
    pub(crate) fn lookup(&self, name: &str) -> Option<VarKey> {
        match self.visible_local(name) {
            Some(at) => Some(VarKey::Local(at)),
            None => self.global_names.get(name).map(|at| VarKey::Global(*at)),
        }
    }

    pub(crate) fn variable_of(&self, key: VarKey) -> &Variable {
        match key {
            VarKey::Global(at) => &self.program.globals[at],
            VarKey::Local(at) => &self.locals[at],
        }
    }

    /// A number in a variable.
    pub(crate) fn place(&mut self, reference: &Reference) -> Option<Place> {
        let first = &reference.parts[0];
        let Some(key) = self.lookup(&first.name) else {
            let message = format!("{} is not declared", first.name);
            self.error("PML055", message, first.span);
            return None;
        };
        let (name, structure) = {
            let variable = self.variable_of(key);
            (variable.name.clone(), variable.structure)
        };
        let (suffix, indices) = self.path(reference, structure)?;
        let leaves = &self.variable_of(key).leaves;
        let Some(leaf) = leaves.iter().position(|l| l.suffix == suffix) else {
            let message = match structure {
                Some(_) if leaves.iter().any(|l| l.suffix.starts_with(&suffix)) => {
                    format!("{name}{suffix} has fields, only one of them can be used here")
                }
                Some(_) => format!("{name} has no field `{}`", suffix.trim_start_matches('.')),
                None => format!("{name} has no fields"),
            };
            self.error("PML056", message, reference.span);
            return None;
        };
        let (dims, scalar) = (leaves[leaf].dims.len(), leaves[leaf].scalar);
        if indices.len() != dims {
            let message = match indices.len() < dims {
                true => format!("the array index of {name}{suffix} is missing"),
                false => format!("{name}{suffix} is no array"),
            };
            self.error("PML057", message, reference.span);
            return None;
        }
        Some(Place { variable: key, leaf, indices, scalar, span: reference.span })
    }

    /// Suffix and indices of a reference. A field that is an array needs its index.
    fn path(
        &mut self,
        reference: &Reference,
        mut structure: Option<usize>,
    ) -> Option<(String, Vec<Expr>)> {
        let mut suffix = String::new();
        let mut indices = Vec::new();
        for (at, part) in reference.parts.iter().enumerate() {
            if at > 0 {
                suffix.push('.');
                suffix.push_str(&part.name);
                structure = structure.and_then(|s| {
                    let field = self.structures[s].fields.iter().find(|f| f.name == part.name)?;
                    match field.kind {
                        FieldKind::Structure(inner) => Some(inner),
                        FieldKind::Number(..) => None,
                    }
                });
            }
            if let Some(index) = &part.index {
                let value = self.expr(index);
                self.no_run(&value, index.span, "an index");
                indices.push(value);
            }
        }
        let _ = structure;
        Some((suffix, indices))
    }

    /// All numbers of a variable of a typedef; None if it is anything else.
    fn whole_structure(&mut self, reference: &Reference) -> Option<Vec<Place>> {
        let key = self.lookup(&reference.parts[0].name)?;
        self.variable_of(key).structure?;
        let (suffix, indices) = self.path(reference, None)?;
        let leaves = &self.variable_of(key).leaves;
        if leaves.iter().any(|l| l.suffix == suffix) {
            return None;
        }
        let inside = format!("{suffix}.");
        let mut places = Vec::new();
        for (leaf, found) in leaves.iter().enumerate() {
            if !found.suffix.starts_with(&inside) || found.dims.len() < indices.len() {
                continue;
            }
            let inner = &found.dims[indices.len()..];
            let total: usize = inner.iter().map(|d| *d as usize).product();
            for flat in 0..total {
                let mut all = indices.clone();
                let mut rest = flat;
                let mut tail = Vec::new();
                for dim in inner.iter().rev() {
                    tail.push(Expr::Const((rest % *dim as usize) as i32));
                    rest /= *dim as usize;
                }
                all.extend(tail.into_iter().rev());
                places.push(Place {
                    variable: key,
                    leaf,
                    indices: all,
                    scalar: found.scalar,
                    span: reference.span,
                });
            }
        }
        (!places.is_empty()).then_some(places)
    }

    fn remote_variable(
        &mut self,
        process: &Name,
        pid: Option<&ast::Expr>,
        variable: &Reference,
        span: Span,
    ) -> Expr {
        let pid = pid.map(|p| Box::new(self.expr(p)));
        let Some(id) = self.process_id(process) else { return Expr::Const(0) };
        let Some(other) = self.program.processes.get(id.0) else {
            let message = format!("variables of {process} can only be read after its body");
            self.error("PML058", message, span);
            return Expr::Const(0);
        };
        let name = &variable.parts[0].name;
        let Some(at) = other.locals.iter().position(|v| v.name == *name) else {
            let message = format!("{process} has no variable {name}");
            self.error("PML058", message, span);
            return Expr::Const(0);
        };
        let other = other.locals[at].clone();
        let Some((suffix, indices)) = self.path(variable, other.structure) else {
            return Expr::Const(0);
        };
        let found = other.leaves.iter().position(|l| l.suffix == suffix);
        let Some(leaf) = found.filter(|l| other.leaves[*l].dims.len() == indices.len()) else {
            self.error("PML056", format!("{name}{suffix} is no number"), span);
            return Expr::Const(0);
        };
        let scalar = other.leaves[leaf].scalar;
        let place = Place { variable: VarKey::Local(at), leaf, indices, scalar, span };
        Expr::RemoteVariable { process: id, pid, place: Box::new(place) }
    }

    fn check_remote(&mut self) {
        for (process, label, span) in std::mem::take(&mut self.remote) {
            let found = self.program.processes.get(process.0);
            if !found.is_some_and(|p| p.flow.label_state(&label).is_some()) {
                let name = &self.headers[process.0].name;
                self.error("PML058", format!("{name} has no label {label}"), span);
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
