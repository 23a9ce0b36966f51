//! Names in the syntax tree.

use std::collections::HashMap;

use stubborn_diagnostics::Span;
use stubborn_promela::ast::{
    Block, Declaration, Declarator, Expr, ExprKind, Initial, Model, Process, ProcessKind,
    ReceiveArgument, Reference, Statement, StatementKind, Type, Unit,
};

use super::{back, front};
use crate::index::{Index, Kind, Property, Symbol};

/// Declares and notes everything that the tree knows.
pub(super) fn walk(index: &mut Index, model: &Model) {
    let mut walk = Walk {
        index,
        globals: HashMap::new(),
        fields: HashMap::new(),
        typed: HashMap::new(),
        locals: Vec::new(),
        process: None,
        scope: None,
        unlabelled: Vec::new(),
    };
    for unit in &model.units {
        walk.declare(unit);
    }
    for unit in &model.units {
        match unit {
            Unit::Process(process) => walk.process(process),
            Unit::Declaration(declaration) => walk.values(declaration),
            Unit::Typedef(typedef) => typedef.fields.iter().for_each(|f| walk.values(f)),
            Unit::Mtype(_) | Unit::Ltl(_) => {}
        }
    }
    walk.labels();
}

struct Walk<'i, 'm> {
    index: &'i mut Index,
    /// Variables, constants, process types, typedefs.
    globals: HashMap<&'m str, usize>,
    /// By typedef and name.
    fields: HashMap<(&'m str, &'m str), usize>,
    /// Variables and fields of a typedef.
    typed: HashMap<usize, &'m str>,
    /// Of the process at hand, innermost last.
    locals: Vec<(&'m str, usize)>,
    process: Option<usize>,
    scope: Option<Span>,
    /// Labels that are used: their process, or that of the name, and where.
    unlabelled: Vec<(Option<usize>, &'m str, Span)>,
}

impl<'m> Walk<'_, 'm> {
    fn declare(&mut self, unit: &'m Unit) {
        match unit {
            Unit::Process(process) => self.declare_process(process),
            Unit::Declaration(declaration) => {
                for declarator in &declaration.variables {
                    let id = self.variable(declaration, declarator, Kind::Variable, None);
                    self.globals.entry(&declarator.name).or_insert(id);
                }
            }
            Unit::Typedef(typedef) => {
                let mut extent = typedef.span;
                for variable in typedef.fields.iter().flat_map(|f| &f.variables) {
                    extent = extent.to(variable.span);
                }
                let detail = format!("typedef {}", typedef.name);
                let id = self.symbol(&typedef.name, Kind::Type, typedef.span, extent, detail);
                self.globals.entry(&typedef.name).or_insert(id);
                for declaration in &typedef.fields {
                    for declarator in &declaration.variables {
                        let field = self.variable(declaration, declarator, Kind::Field, Some(id));
                        self.fields.insert((&typedef.name, &declarator.name), field);
                    }
                }
            }
            Unit::Mtype(mtype) => {
                for (name, span) in &mtype.names {
                    let set = mtype
                        .set
                        .as_ref()
                        .map_or(String::new(), |s| format!(":{s}"));
                    let detail = format!("mtype{set} {name}");
                    let id = self.symbol(name, Kind::Constant, *span, *span, detail);
                    self.globals.entry(name).or_insert(id);
                }
            }
            Unit::Ltl(ltl) => {
                let detail = format!("ltl {} {{ {} }}", ltl.name, ltl.text);
                // The name, if there is one, stands before the brace.
                let span = self.name_before(ltl.span, &ltl.name);
                self.symbol(&ltl.name, Kind::Formula, span, span.to(ltl.span), detail);
            }
        }
    }

    /// Where the name of a formula stands, or else the formula.
    fn name_before(&self, formula: Span, name: &str) -> Span {
        let Some((_, file)) = self.index.file_of(formula.start) else {
            return formula;
        };
        let end = (formula.start - file.base) as usize;
        let before = file.text.get(..end).unwrap_or("").trim_end();
        let before = before.strip_suffix('{').unwrap_or(before).trim_end();
        match before.ends_with(name) {
            true => front(
                Span {
                    start: file.base + (before.len() - name.len()) as u32,
                    end: 0,
                },
                name,
            ),
            false => formula,
        }
    }

    fn declare_process(&mut self, process: &'m Process) {
        let extent = process.span.to(process.body.span);
        let word = match process.kind {
            ProcessKind::Proctype => "proctype",
            ProcessKind::Init => "init",
            ProcessKind::Never => "never",
            ProcessKind::Trace => "trace",
            ProcessKind::NoTrace => "notrace",
        };
        let name = process.name.trim_matches(':');
        let detail = match process.kind {
            ProcessKind::Proctype => {
                let mut parameters = Vec::new();
                for declaration in &process.parameters {
                    let all = declaration.variables.iter();
                    parameters.extend(all.map(|v| self.detail(declaration, v)));
                }
                format!("proctype {name}({})", parameters.join("; "))
            }
            _ => word.to_owned(),
        };
        let id = self.symbol(name, Kind::Process, process.span, extent, detail);
        self.globals.entry(&process.name).or_insert(id);
        if process.kind == ProcessKind::Never {
            let named = !process.name.starts_with(':');
            self.index.properties.push(Property {
                name: Some(if named {
                    name.to_owned()
                } else {
                    "never".into()
                }),
                span: process.span,
            });
        }
    }

    fn symbol(
        &mut self,
        name: &str,
        kind: Kind,
        span: Span,
        extent: Span,
        detail: String,
    ) -> usize {
        self.index.declare(Symbol {
            name: name.to_owned(),
            kind,
            span,
            extent: extent.to(span),
            scope: None,
            parent: None,
            detail,
        })
    }

    /// The declaration of a variable as text.
    fn detail(&self, declaration: &Declaration, declarator: &Declarator) -> String {
        let ty = type_name(&declaration.ty);
        let mut text = format!("{ty} {}", declarator.name);
        if let Some(width) = &declarator.width {
            text += &format!(" : {}", self.index.slice(width.span));
        }
        if let Some(size) = &declarator.size {
            text += &format!("[{}]", self.index.slice(size.span));
        }
        match &declarator.initial {
            Initial::None => {}
            Initial::Value(value) => text += &format!(" = {}", self.index.slice(value.span)),
            Initial::List(values) => {
                let values: Vec<&str> = values.iter().map(|v| self.index.slice(v.span)).collect();
                text += &format!(" = {{ {} }}", values.join(", "));
            }
            Initial::Channel { capacity, fields } => {
                let fields: Vec<String> = fields.iter().map(type_name).collect();
                let capacity = self.index.slice(capacity.span);
                text += &format!(" = [{capacity}] of {{ {} }}", fields.join(", "));
            }
        }
        text
    }

    fn variable(
        &mut self,
        declaration: &'m Declaration,
        declarator: &'m Declarator,
        kind: Kind,
        parent: Option<usize>,
    ) -> usize {
        let kind = match (kind, &declaration.ty) {
            (Kind::Variable, Type::Chan) => Kind::Channel,
            (kind, _) => kind,
        };
        let id = self.index.declare(Symbol {
            name: declarator.name.to_string(),
            kind,
            span: declarator.span,
            extent: declarator.span,
            scope: self.scope,
            parent,
            detail: self.detail(declaration, declarator),
        });
        if let Type::Named(name) = &declaration.ty {
            self.typed.insert(id, name);
        }
        id
    }

    fn by_name(&mut self, name: &'m str, span: Span, write: bool) -> Option<usize> {
        let local = self.locals.iter().rev().find(|(n, _)| *n == name);
        let id = local.map(|(_, id)| *id);
        let id = id.or_else(|| self.globals.get(name).copied())?;
        self.index.note(span, id, write, self.process);
        Some(id)
    }

    fn process(&mut self, process: &'m Process) {
        self.process = self.globals.get(&*process.name).copied();
        self.scope = Some(process.span.to(process.body.span));
        self.locals.clear();
        for declaration in &process.parameters {
            for declarator in &declaration.variables {
                self.local(declaration, declarator, Kind::Parameter);
            }
        }
        let more = [&process.active, &process.priority, &process.provided];
        for expr in more.into_iter().flatten() {
            self.expr(expr);
        }
        self.block(&process.body);
        self.process = None;
        self.scope = None;
        self.locals.clear();
    }

    fn local(&mut self, declaration: &'m Declaration, declarator: &'m Declarator, kind: Kind) {
        let id = self.variable(declaration, declarator, kind, self.process);
        self.locals.push((&declarator.name, id));
    }

    /// Uses in a declaration: of types, sizes and initial values.
    fn values(&mut self, declaration: &'m Declaration) {
        if let Type::Named(name) = &declaration.ty {
            self.by_name(name, declaration.span, false);
        }
        for declarator in &declaration.variables {
            let sizes = declarator.width.iter().chain(&declarator.size);
            sizes.for_each(|expr| self.expr(expr));
            match &declarator.initial {
                Initial::None => {}
                Initial::Value(value) => self.expr(value),
                Initial::List(values) => values.iter().for_each(|value| self.expr(value)),
                Initial::Channel { capacity, .. } => self.expr(capacity),
            }
        }
    }

    fn block(&mut self, block: &'m Block) {
        let (locals, scope) = (self.locals.len(), self.scope);
        if self.process.is_some() && block.span.end > block.span.start {
            self.scope = Some(block.span);
        }
        for statement in &block.statements {
            self.statement(statement);
        }
        self.locals.truncate(locals);
        self.scope = scope;
    }

    /// The options of a choice: declarations in them are seen after it, too.
    fn options(&mut self, options: &'m [Block]) {
        for option in options {
            option.statements.iter().for_each(|s| self.statement(s));
        }
    }

    fn statement(&mut self, statement: &'m Statement) {
        match &statement.kind {
            StatementKind::Declaration(declaration) => {
                self.values(declaration);
                for declarator in &declaration.variables {
                    self.local(declaration, declarator, Kind::Variable);
                }
            }
            StatementKind::Exclusive { channels, .. } => {
                channels.iter().for_each(|c| self.reference(c, false));
            }
            StatementKind::Labelled(label, inner) => {
                let span = front(statement.span, label);
                let process = self.process.map(|p| self.index.symbols[p].extent);
                self.index.declare(Symbol {
                    name: label.to_string(),
                    kind: Kind::Label,
                    span,
                    extent: span,
                    scope: process,
                    parent: self.process,
                    detail: format!("{label}:"),
                });
                if let Some(inner) = inner {
                    self.statement(inner);
                }
            }
            StatementKind::Assign(target, value) => {
                self.reference(target, true);
                self.expr(value);
            }
            StatementKind::Print(_, values) => values.iter().for_each(|v| self.expr(v)),
            StatementKind::PrintMtype(value)
            | StatementKind::Assert(value)
            | StatementKind::Condition(value) => self.expr(value),
            StatementKind::Send {
                channel, arguments, ..
            } => {
                self.reference(channel, true);
                arguments.iter().for_each(|a| self.expr(a));
            }
            StatementKind::Receive {
                channel,
                arguments,
                keep,
                ..
            } => {
                self.reference(channel, !keep);
                self.arguments(arguments, true);
            }
            StatementKind::Goto(label) => {
                let place = (self.process, &**label, back(statement.span, label));
                self.unlabelled.push(place);
            }
            StatementKind::If(options) | StatementKind::Do(options) => self.options(options),
            StatementKind::Atomic(block) | StatementKind::DStep(block) => self.block(block),
            StatementKind::Block(block, inline) => {
                if let Some(inline) = inline {
                    let span = front(statement.span, inline);
                    for id in self.index.resolve(inline, span.start) {
                        self.index.note(span, id, false, self.process);
                    }
                }
                self.block(block);
            }
            StatementKind::ForRange {
                variable,
                from,
                to,
                body,
            } => {
                self.reference(variable, true);
                self.expr(from);
                self.expr(to);
                self.block(body);
            }
            StatementKind::ForIn {
                variable,
                collection,
                body,
            } => {
                self.reference(variable, true);
                self.reference(collection, false);
                self.block(body);
            }
            StatementKind::Select {
                variable, from, to, ..
            } => {
                self.reference(variable, true);
                self.expr(from);
                self.expr(to);
            }
            StatementKind::Unless(main, escape) => {
                self.statement(main);
                self.statement(escape);
            }
            StatementKind::SetPriority(pid, priority) => {
                self.expr(pid);
                self.expr(priority);
            }
            StatementKind::Else | StatementKind::Break | StatementKind::Error => {}
        }
    }

    fn arguments(&mut self, arguments: &'m [ReceiveArgument], write: bool) {
        for argument in arguments {
            match argument {
                ReceiveArgument::Variable(reference) => self.reference(reference, write),
                ReceiveArgument::Match(expr) => self.expr(expr),
            }
        }
    }

    /// `a.b[i].c`; what is written is the last part, and with it the variable.
    fn reference(&mut self, reference: &'m Reference, write: bool) {
        let mut ty: Option<&'m str> = None;
        for (at, part) in reference.parts.iter().enumerate() {
            let found = if at == 0 {
                self.by_name(&part.name, part.span, write)
            } else {
                let field = ty.and_then(|ty| self.fields.get(&(ty, &*part.name)).copied());
                if let Some(field) = field {
                    self.index.note(part.span, field, write, self.process);
                }
                field
            };
            ty = found.and_then(|id| self.typed.get(&id).copied());
            if let Some(index) = &part.index {
                self.expr(index);
            }
        }
    }

    fn expr(&mut self, expr: &'m Expr) {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Timeout | ExprKind::NonProgress | ExprKind::Error => {}
            ExprKind::Constant(name) => {
                self.by_name(name, expr.span, false);
            }
            ExprKind::Reference(reference)
            | ExprKind::Len(reference)
            | ExprKind::Probe(_, reference) => self.reference(reference, false),
            ExprKind::Unary(_, inner)
            | ExprKind::Enabled(inner)
            | ExprKind::PcValue(inner)
            | ExprKind::GetPriority(inner) => self.expr(inner),
            ExprKind::Binary(_, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::Conditional(condition, yes, no) => {
                self.expr(condition);
                self.expr(yes);
                self.expr(no);
            }
            ExprKind::Run(run) => {
                if let Some(id) = self.globals.get(&*run.process) {
                    self.index.note(run.span, *id, false, self.process);
                }
                run.arguments.iter().for_each(|a| self.expr(a));
                if let Some(priority) = &run.priority {
                    self.expr(priority);
                }
            }
            ExprKind::Poll {
                channel, arguments, ..
            } => {
                self.reference(channel, false);
                self.arguments(arguments, false);
            }
            ExprKind::RemoteLabel {
                process,
                pid,
                label,
            } => {
                let id = self.remote(process, expr.span, pid.as_deref());
                let place = (id, &**label, back(expr.span, label));
                self.unlabelled.push(place);
            }
            ExprKind::RemoteVariable {
                process,
                pid,
                variable,
            } => {
                let id = self.remote(process, expr.span, pid.as_deref());
                let first = &variable.parts[0];
                let of =
                    |s: &Symbol| s.parent == id && s.name == *first.name && s.kind != Kind::Label;
                if let (Some(_), Some(at)) = (id, self.index.symbols.iter().position(of)) {
                    self.index.note(first.span, at, false, self.process);
                }
            }
        }
    }

    fn remote(&mut self, process: &'m str, span: Span, pid: Option<&'m Expr>) -> Option<usize> {
        let id = self.globals.get(process).copied();
        if let Some(id) = id {
            self.index
                .note(front(span, process), id, false, self.process);
        }
        if let Some(pid) = pid {
            self.expr(pid);
        }
        id
    }

    /// Labels may be used before they are declared.
    fn labels(&mut self) {
        for (process, label, span) in std::mem::take(&mut self.unlabelled) {
            let of = |s: &Symbol| s.kind == Kind::Label && s.parent == process && *s.name == *label;
            if let Some(id) = self.index.symbols.iter().position(of) {
                self.index.note(span, id, false, process);
            }
        }
    }
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Bit => "bit".into(),
        Type::Byte => "byte".into(),
        Type::Short => "short".into(),
        Type::Int => "int".into(),
        Type::Unsigned => "unsigned".into(),
        Type::Mtype(None) => "mtype".into(),
        Type::Mtype(Some(set)) => format!("mtype:{set}"),
        Type::Chan => "chan".into(),
        Type::Named(name) => name.to_string(),
    }
}
