//! Expressions and references.

use stubborn_diagnostics::{Diagnostic, Span};

use super::{FieldKind, Resolver, contains_run};
use crate::ast::{self, Binary, ExprKind, Name, ProcessKind, Reference};
use crate::hir::{Argument, Expr, Place, ProcId, Process, Run, Scalar, VarKey, Variable};

/// Which part of a variable a reference is about.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// Of the [leaf](crate::hir::Leaf).
    pub(super) suffix: String,
    pub(super) indices: Vec<Expr>,
    /// The first name with an index that is no array.
    pub(super) surplus: Option<(Name, Span)>,
}

impl Resolver {
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
            ExprKind::Poll {
                channel,
                arguments,
                random,
            } => {
                let Some(channel) = self.channel(channel) else {
                    return Expr::Const(0);
                };
                let mut pattern = Vec::new();
                for argument in self.arguments(arguments) {
                    pattern.push(match argument {
                        Argument::Match(expr) => Some(expr),
                        _ => None,
                    });
                }
                Expr::Poll {
                    channel: Box::new(channel),
                    pattern,
                    random: *random,
                    span,
                }
            }
            ExprKind::Enabled(pid) => Expr::Enabled(Box::new(self.expr(pid)), span),
            ExprKind::PcValue(pid) => Expr::PcValue(Box::new(self.expr(pid))),
            ExprKind::GetPriority(pid) => {
                self.program.uses_priority = true;
                Expr::Priority(Some(Box::new(self.expr(pid))))
            }
            ExprKind::Timeout => Expr::Timeout,
            ExprKind::NonProgress => {
                if self.kind != Some(ProcessKind::Never) {
                    self.error("PML050", "np_ can only be used in a never claim", span);
                }
                Expr::NonProgress
            }
            ExprKind::RemoteLabel {
                process,
                pid,
                label,
            } => {
                let Some(id) = self.process_id(process) else {
                    return Expr::Const(0);
                };
                let pid = pid.as_ref().map(|p| Box::new(self.expr(p)));
                self.remote.push((id, label.clone(), span));
                Expr::RemoteLabel {
                    process: id,
                    pid,
                    label: label.clone(),
                }
            }
            ExprKind::RemoteVariable {
                process,
                pid,
                variable,
            } => self.remote_variable(process, pid.as_deref(), variable, span),
            ExprKind::Error => Expr::Const(0),
        }
    }

    pub(super) fn process_id(&self, name: &str) -> Option<ProcId> {
        self.headers
            .iter()
            .position(|h| *h.name == *name)
            .map(ProcId)
    }

    pub(super) fn load(&mut self, reference: &Reference) -> Expr {
        if let [part] = reference.parts.as_slice()
            && part.index.is_none()
        {
            match &*part.name {
                "_pid" => return Expr::Pid,
                "_nr_pr" if self.beside_claim => {
                    let (count, claim) = (Expr::ProcessCount, Expr::Const(1));
                    let (count, claim) = (Box::new(count), Box::new(claim));
                    return Expr::Binary(Binary::Add, count, claim, part.span);
                }
                "_nr_pr" => {
                    if self.kind != Some(ProcessKind::Never) {
                        self.program.counts_processes.get_or_insert(part.span);
                    }
                    return Expr::ProcessCount;
                }
                "_last" => {
                    self.program.uses_last = true;
                    return Expr::Last;
                }
                "_priority" => {
                    self.program.uses_priority = true;
                    return Expr::Priority(None);
                }
                "_" if matches!(self.kind, Some(ProcessKind::Trace | ProcessKind::NoTrace)) => {
                    return Expr::Any;
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

    pub(super) fn run(&mut self, run: &ast::Run) -> Expr {
        let arguments = self.values(&run.arguments);
        let priority = run.priority.as_ref().map(|p| self.priority(p));
        let known = self.process_id(&run.process);
        match known.map(|id| (id, self.headers[id.0].kind)) {
            Some((process, ProcessKind::Proctype)) => Expr::Run(Box::new(Run {
                process,
                arguments,
                priority,
                span: run.span,
            })),
            _ => {
                let message = format!("there is no process type {}", run.process);
                let error = Diagnostic::error("PML052", message, run.span);
                let types = self.headers.iter();
                let types = types.filter(|h| h.kind == ProcessKind::Proctype);
                let error = error.did_you_mean(&run.process, types.map(|h| &*h.name));
                self.diagnostics.push(error);
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
            self.error(
                "PML051",
                format!("{} cannot be assigned", part.name),
                part.span,
            );
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

    /// Says that there is no such variable here, and what may have been meant.
    fn undeclared(&mut self, part: &ast::Part) {
        let name = &part.name;
        let error = Diagnostic::error("PML055", format!("{name} is not declared"), part.span);
        let visible = self.local_names.iter();
        let visible = visible.filter(|l| self.scope.starts_with(&l.scope));
        let names = visible
            .map(|l| &*l.name)
            .chain(self.global_names.keys().map(|n| &**n))
            .chain(self.constants.keys().map(|n| &**n));
        let mut error = error.did_you_mean(name, names);
        let local = |p: &&Process| p.locals.iter().any(|v| v.name == *name);
        if error.help.is_none()
            && let Some(owner) = self.program.processes.iter().find(local)
        {
            error = error.help(format!(
                "it is local to {}; declare it globally to share it",
                owner.name.trim_matches(':')
            ));
        } else if error.help.is_none() && self.local_names.iter().any(|l| l.name == *name) {
            error = error.help("it is declared in a block that has ended");
        } else if error.help.is_none() && self.process_id(name).is_some() {
            error = error.help(format!(
                "{name} is a process type: `{name}[pid]@label` asks where a process is"
            ));
        }
        self.diagnostics.push(error);
    }

    /// A number in a variable.
    pub(crate) fn place(&mut self, reference: &Reference) -> Option<Place> {
        let first = &reference.parts[0];
        let Some(key) = self.lookup(&first.name) else {
            self.undeclared(first);
            return None;
        };
        let variable = self.variable_of(key);
        let (name, structure) = (variable.name.clone(), variable.structure);
        let path = self.path(reference, (variable.is_array, structure));
        let (suffix, indices) = (path.suffix, path.indices);
        let leaves = &self.variable_of(key).leaves;
        let Some(leaf) = leaves.iter().position(|l| l.suffix == suffix) else {
            let message = match structure {
                Some(_) if leaves.iter().any(|l| l.suffix.starts_with(&suffix)) => {
                    format!("{name}{suffix} has fields, only one of them can be used here")
                }
                Some(_) => format!("{name} has no field `{}`", suffix.trim_start_matches('.')),
                None => format!("{name} has no fields"),
            };
            let error = Diagnostic::error("PML056", message, reference.span);
            let fields = leaves.iter().map(|l| l.suffix.trim_start_matches('.'));
            let field = suffix.trim_start_matches('.');
            let error = error.did_you_mean(field, fields);
            self.diagnostics.push(error);
            return None;
        };
        let (dims, scalar) = (leaves[leaf].dims.len(), leaves[leaf].scalar);
        if path.surplus.is_some() || indices.len() != dims {
            let (message, place) = match path.surplus {
                Some((name, place)) => (format!("{name} is no array"), place),
                None => {
                    let message = format!("the array index of {name}{suffix} is missing");
                    (message, reference.span)
                }
            };
            self.error("PML057", message, place);
            return None;
        }
        Some(Place {
            variable: key,
            leaf,
            indices,
            scalar,
            span: reference.span,
        })
    }

    /// Suffix and indices of a reference to a variable that may be an array, and of a `typedef`. As for SPIN,
    /// `s[0]` is `s` where that is no array.
    pub(super) fn path(
        &mut self,
        reference: &Reference,
        (mut is_array, mut structure): (bool, Option<usize>),
    ) -> Path {
        let mut path = Path::default();
        for (at, part) in reference.parts.iter().enumerate() {
            if at > 0 {
                path.suffix.push('.');
                path.suffix.push_str(&part.name);
                let fields = structure.map(|at| self.structures[at].fields.iter());
                let field = fields.into_iter().flatten().find(|f| f.name == part.name);
                (is_array, structure) = match field.map(|field| (field.size, &field.kind)) {
                    Some((size, FieldKind::Structure(inner))) => (size.is_some(), Some(*inner)),
                    Some((size, FieldKind::Number(..))) => (size.is_some(), None),
                    None => (false, None),
                };
            }
            if let Some(index) = &part.index {
                let value = self.expr(index);
                self.no_run(&value, index.span, "an index");
                match is_array {
                    true => path.indices.push(value),
                    false if matches!(value, Expr::Const(0)) => {}
                    false => path.surplus = path.surplus.or(Some((part.name.clone(), part.span))),
                }
            }
        }
        path
    }

    /// All numbers of a variable of a typedef; None if it is anything else.
    pub(super) fn whole_structure(&mut self, reference: &Reference) -> Option<Vec<Place>> {
        let key = self.lookup(&reference.parts[0].name)?;
        let variable = self.variable_of(key);
        let structure = Some(variable.structure?);
        let path = self.path(reference, (variable.is_array, structure));
        if path.surplus.is_some() {
            // Who asks next for a number says so.
            return None;
        }
        let (suffix, indices) = (path.suffix, path.indices);
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

    pub(super) fn remote_variable(
        &mut self,
        process: &Name,
        pid: Option<&ast::Expr>,
        variable: &Reference,
        span: Span,
    ) -> Expr {
        let pid = pid.map(|p| Box::new(self.expr(p)));
        let Some(id) = self.process_id(process) else {
            return Expr::Const(0);
        };
        let Some(other) = self.program.processes.get(id.0) else {
            let message = format!("variables of {process} can only be read after its body");
            self.error("PML058", message, span);
            return Expr::Const(0);
        };
        let name = &variable.parts[0].name;
        let locals = other.locals.iter().enumerate();
        let mut called = locals.filter(|(_, local)| local.name == *name);
        let Some((at, found)) = called.next() else {
            let message = format!("{process} has no variable {name}");
            self.error("PML058", message, span);
            return Expr::Const(0);
        };
        if let Some((_, second)) = called.next() {
            let message = format!("{name} is ambiguous: several blocks of {process} declare one");
            let error = Diagnostic::error("PML059", message, variable.span)
                .related(found.span, "this may be meant")
                .related(second.span, "or this")
                .help("give the variables different names");
            self.diagnostics.push(error);
            return Expr::Const(0);
        }
        let other = found.clone();
        let path = self.path(variable, (other.is_array, other.structure));
        let (suffix, indices) = (path.suffix, path.indices);
        let found = other.leaves.iter().position(|l| l.suffix == suffix);
        let found = found.filter(|_| path.surplus.is_none());
        let Some(leaf) = found.filter(|l| other.leaves[*l].dims.len() == indices.len()) else {
            self.error("PML056", format!("{name}{suffix} is no number"), span);
            return Expr::Const(0);
        };
        let scalar = other.leaves[leaf].scalar;
        let place = Place {
            variable: VarKey::Local(at),
            leaf,
            indices,
            scalar,
            span,
        };
        Expr::RemoteVariable {
            process: id,
            pid,
            place: Box::new(place),
        }
    }
}
