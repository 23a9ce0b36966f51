//! The names of a DVE model, from its syntax tree.

use std::collections::HashMap;
use std::path::Path;

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_dve::ast::{self, Declaration, Direction, Expr, ExprKind, Ident};

use crate::index::{Index, Kind, Property, Symbol};

/// Words of the language.
pub(crate) const KEYWORDS: &[&str] = &[
    "accept", "and", "assert", "async", "buchi", "byte", "channel", "commit", "const", "effect",
    "false", "genbuchi", "guard", "imply", "init", "int", "muller", "not", "or", "process",
    "property", "rabin", "state", "streett", "sync", "system", "trans", "true",
];

/// What is wrong with a text, and what its names are.
pub(crate) fn read(path: &Path, text: &str) -> (Vec<Diagnostic>, Index) {
    let source = SourceFile::new(path.display().to_string(), text);
    let (_, diagnostics) = stubborn_dve::load(&source);
    let arena = stubborn_dve::Bump::new();
    let (tree, _) = stubborn_dve::parse(&source, &arena);
    let mut walk = Walk::default();
    walk.index.add_file(path.to_path_buf(), text, 0);
    walk.model(&tree);
    walk.index.finish();
    (diagnostics, walk.index)
}

#[derive(Default)]
struct Walk<'src> {
    index: Index,
    globals: HashMap<&'src str, usize>,
    /// Of each process: itself, its variables and its states.
    processes: Vec<(usize, HashMap<&'src str, usize>)>,
    /// The process at hand.
    inside: Option<usize>,
}

impl<'src> Walk<'src> {
    fn model(&mut self, tree: &ast::Model<'src>) {
        for declaration in &tree.declarations {
            match declaration {
                Declaration::Variables(group) => self.variables(group, None),
                Declaration::Channels(channels) => self.channels(channels),
            }
        }
        for process in &tree.processes {
            self.declare_process(process);
        }
        for (at, process) in tree.processes.iter().enumerate() {
            self.inside = Some(at);
            self.process(process);
        }
        self.inside = None;
        for declaration in &tree.declarations {
            if let Declaration::Variables(group) = declaration {
                self.initial_values(group);
            }
        }
        let property = tree.system.as_ref().and_then(|system| system.property);
        if let Some(property) = property {
            self.global(property, false);
            self.index.properties.push(Property {
                name: Some(property.name.to_owned()),
                span: self.span_of_process(property),
            });
        }
        let assertions = tree.processes.iter().flat_map(|process| {
            let name = process.name.name;
            let of = move |assertion: &ast::Assertion<'_>| Property {
                name: Some(format!("assertion in {name}.{}", assertion.state.name)),
                span: assertion.state.span,
            };
            process.assertions.iter().map(of)
        });
        self.index.properties.extend(assertions);
    }

    fn span_of_process(&self, name: Ident<'src>) -> Span {
        let found = self.globals.get(name.name);
        found.map_or(name.span, |id| self.index.symbols[*id].span)
    }

    fn declare(
        &mut self,
        name: Ident<'src>,
        kind: Kind,
        extent: Span,
        parent: Option<usize>,
        detail: String,
    ) -> usize {
        self.index.declare(Symbol {
            name: name.name.to_owned(),
            kind,
            span: name.span,
            extent: extent.to(name.span),
            scope: parent.map(|p| self.index.symbols[p].extent),
            parent,
            detail,
        })
    }

    fn variables(&mut self, group: &ast::Variables<'src>, parent: Option<usize>) {
        for declarator in &group.declarators {
            let word = if group.is_const { "const " } else { "" };
            let mut detail = format!("{word}{} {}", group.ty.name(), declarator.name.name);
            let mut extent = declarator.name.span;
            if let Some(size) = declarator.size {
                detail += &format!("[{}]", size.value);
                extent = extent.to(size.span);
            }
            let initial = match &declarator.initialiser {
                Some(ast::Initialiser::Single(value)) => Some(value.span),
                Some(ast::Initialiser::List(_, span)) => Some(*span),
                None => None,
            };
            if let Some(span) = initial {
                detail += &format!(" = {}", self.index.slice(span));
                extent = extent.to(span);
            }
            let kind = match group.is_const {
                true => Kind::Constant,
                false => Kind::Variable,
            };
            let id = self.declare(declarator.name, kind, extent, parent, detail);
            let names = match (parent, self.processes.last_mut()) {
                (Some(_), Some((_, locals))) => locals,
                _ => &mut self.globals,
            };
            names.entry(declarator.name.name).or_insert(id);
        }
    }

    fn channels(&mut self, declaration: &ast::Channels<'src>) {
        let types = declaration.types.as_ref().map(|types| {
            let names: Vec<&str> = types.iter().map(|ty| ty.name()).collect();
            format!(" {{{}}}", names.join(", "))
        });
        for (name, size) in &declaration.channels {
            let size_text = size.map_or(String::new(), |s| format!("[{}]", s.value));
            let types = types.as_deref().unwrap_or("");
            let detail = format!("channel{types} {}{size_text}", name.name);
            let extent = size.map_or(name.span, |s| name.span.to(s.span));
            let id = self.declare(*name, Kind::Channel, extent, None, detail);
            self.globals.entry(name.name).or_insert(id);
        }
    }

    fn declare_process(&mut self, process: &ast::Process<'src>) {
        let detail = format!("process {}", process.name.name);
        let id = self.declare(process.name, Kind::Process, process.span, None, detail);
        self.globals.entry(process.name.name).or_insert(id);
        self.processes.push((id, HashMap::new()));
        for group in &process.variables {
            self.variables(group, Some(id));
        }
        for state in &process.states {
            let detail = format!("state {}", state.name);
            let state_id = self.declare(*state, Kind::State, state.span, Some(id), detail);
            if let Some((_, locals)) = self.processes.last_mut() {
                locals.entry(state.name).or_insert(state_id);
            }
        }
    }

    fn process(&mut self, process: &ast::Process<'src>) {
        for group in &process.variables {
            self.initial_values(group);
        }
        let accepting = process.accept.iter().flat_map(|a| a.sets.iter().flatten());
        let named = process.init.iter().chain(&process.commits).chain(accepting);
        for state in named {
            self.name(*state, false);
        }
        for assertion in &process.assertions {
            self.name(assertion.state, false);
            self.expression(&assertion.condition);
        }
        for transition in &process.transitions {
            self.name(transition.source, false);
            self.name(transition.target, false);
            if let Some(guard) = &transition.guard {
                self.expression(guard);
            }
            if let Some(sync) = &transition.sync {
                self.global(sync.channel, false);
                for value in &sync.payload {
                    match sync.direction {
                        Direction::Send => self.expression(value),
                        Direction::Receive => self.target(value),
                    }
                }
            }
            for effect in &transition.effects {
                self.target(&effect.target);
                self.expression(&effect.value);
            }
        }
    }

    fn initial_values(&mut self, group: &ast::Variables<'src>) {
        for declarator in &group.declarators {
            match &declarator.initialiser {
                Some(ast::Initialiser::Single(value)) => self.expression(value),
                Some(ast::Initialiser::List(values, _)) => {
                    values.iter().for_each(|value| self.expression(value));
                }
                None => {}
            }
        }
    }

    fn by(&self) -> Option<usize> {
        self.inside.map(|at| self.processes[at].0)
    }

    /// A name inside the process at hand.
    fn name(&mut self, name: Ident<'src>, write: bool) {
        let locals = self.inside.map(|at| &self.processes[at].1);
        let local = locals.and_then(|locals| locals.get(name.name));
        match local {
            Some(id) => self.index.note(name.span, *id, write, self.by()),
            None => self.global(name, write),
        }
    }

    fn global(&mut self, name: Ident<'src>, write: bool) {
        if let Some(id) = self.globals.get(name.name) {
            self.index.note(name.span, *id, write, self.by());
        }
    }

    fn target(&mut self, expression: &Expr<'src>) {
        match &expression.kind {
            ExprKind::Name(name) => self.name(*name, true),
            ExprKind::Index(name, index) => {
                self.name(*name, true);
                self.expression(index);
            }
            _ => self.expression(expression),
        }
    }

    fn expression(&mut self, expression: &Expr<'src>) {
        match &expression.kind {
            ExprKind::Number(_) => {}
            ExprKind::Name(name) => self.name(*name, false),
            ExprKind::Index(name, index) => {
                self.name(*name, false);
                self.expression(index);
            }
            ExprKind::Member(member) => {
                self.global(member.process, false);
                let process = self.globals.get(member.process.name);
                let of = self.processes.iter().find(|(id, _)| Some(id) == process);
                if let Some(id) = of.and_then(|(_, names)| names.get(member.name.name)) {
                    self.index.note(member.name.span, *id, false, self.by());
                }
                if let Some(index) = &member.index {
                    self.expression(index);
                }
            }
            ExprKind::Unary(_, inner) => self.expression(inner),
            ExprKind::Binary(_, operands) => {
                self.expression(&operands[0]);
                self.expression(&operands[1]);
            }
        }
    }
}
