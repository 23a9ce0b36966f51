//! From syntax tree to checked model: names, initial values, and every rule that
//! can be checked without running the model.
//!
//! The order matters: first the processes with their states (so that `P.s` may
//! stand before the process it names), then all variables with their initial
//! values in the order of the text (an initial value sees what is declared before
//! it), and last the bodies of the processes.

mod expressions;
mod names;
mod processes;

use crate::ast;
use crate::codes;
use crate::evaluate::initial_value;
use crate::model::{
    Channel, ChannelId, Expr, Location, LocationId, Model, Process, ProcessId, Variable, VariableId,
};
use expressions::{Context, Expressions};
use names::{Names, Symbol};
use stubborn_diagnostics::{Diagnostic, Reporter, Span};

/// Most array elements and channel slots that a model may have in total.
pub const MAX_CELLS: u64 = 1 << 16;

/// Checks a syntax tree. The model is complete only if no error was reported.
pub(crate) fn resolve_model(tree: &ast::Model<'_>, reporter: &mut Reporter) -> Model {
    let mut resolver = Resolver {
        tree,
        model: Model::default(),
        names: Names::default(),
        cells: 0,
        reporter,
    };
    resolver.declare_channels_and_processes();
    resolver.declare_variables();
    resolver.find_property();
    resolver.process_bodies();
    resolver.model
}

/// Resolves an expression that is not part of the model's text.
pub(crate) fn resolve_expression(
    model: &Model,
    expression: &ast::Expr<'_>,
    reporter: &mut Reporter,
) -> Option<Expr> {
    let names = Names::of(model);
    Expressions {
        model,
        names: &names,
        context: Context::StandAlone,
        reporter,
    }
    .expression(expression)
}

struct Resolver<'a, 'src> {
    tree: &'a ast::Model<'src>,
    model: Model,
    names: Names<'src>,
    /// Array elements and channel slots so far.
    cells: u64,
    reporter: &'a mut Reporter,
}

impl<'src> Resolver<'_, 'src> {
    fn expressions(&mut self, context: Context) -> Expressions<'_, 'src> {
        Expressions {
            model: &self.model,
            names: &self.names,
            context,
            reporter: self.reporter,
        }
    }

    // ---- declarations ----

    fn declare_channels_and_processes(&mut self) {
        for (index, process) in self.tree.processes.iter().enumerate() {
            let id = ProcessId::new(index);
            self.declare(None, process.name, Symbol::Process(id));
            self.names.locals.push(Default::default());
            let locations = process
                .states
                .iter()
                .enumerate()
                .map(|(index, state)| {
                    self.declare(Some(id), *state, Symbol::State(LocationId::new(index)));
                    Location {
                        name: state.name.to_owned(),
                        committed: false,
                        span: state.span,
                    }
                })
                .collect();
            self.model.processes.push(Process {
                name: process.name.name.to_owned(),
                locations,
                init: LocationId(0),
                accept: None,
                assertions: Vec::new(),
                transitions: Vec::new(),
                span: process.name.span,
            });
            if let Some(init) = process.init
                && let Some(location) = self.location(id, init)
            {
                self.model.processes[index].init = location;
            }
        }
        for declaration in &self.tree.declarations {
            if let ast::Declaration::Channels(channels) = declaration {
                self.declare_channels(channels);
            }
        }
    }

    fn declare_channels(&mut self, declaration: &ast::Channels<'src>) {
        for (name, capacity) in &declaration.channels {
            let arity = declaration.types.as_ref().map_or(0, Vec::len);
            let mut slots = 0;
            if let Some(number) = capacity {
                let wanted = u64::try_from(number.value).unwrap_or(0) * (arity as u64 + 1);
                if self.take_cells(wanted, number.span) {
                    slots = u32::try_from(number.value).unwrap_or(0);
                }
            }
            let id = ChannelId::new(self.model.channels.len());
            self.declare(None, *name, Symbol::Channel(id));
            self.model.channels.push(Channel {
                name: name.name.to_owned(),
                types: declaration.types.clone(),
                capacity: slots,
                arity,
                span: name.span,
            });
        }
    }

    fn declare_variables(&mut self) {
        for declaration in &self.tree.declarations {
            if let ast::Declaration::Variables(variables) = declaration {
                self.declare_group(None, variables);
            }
        }
        for (index, process) in self.tree.processes.iter().enumerate() {
            for variables in &process.variables {
                self.declare_group(Some(ProcessId::new(index)), variables);
            }
        }
    }

    fn declare_group(&mut self, owner: Option<ProcessId>, group: &ast::Variables<'src>) {
        for declarator in &group.declarators {
            let mut size = declarator.size.map(|n| u32::try_from(n.value).unwrap_or(0));
            if let Some(number) = declarator.size {
                if number.value == 0 {
                    let message = format!("array `{}` has no elements", declarator.name.name);
                    self.reporter.error(codes::BAD_SIZE, message, number.span);
                }
                if !self.take_cells(u64::try_from(number.value).unwrap_or(0), number.span) {
                    size = Some(1);
                }
            }
            let mut variable = Variable {
                name: declarator.name.name.to_owned(),
                owner,
                ty: group.ty,
                size,
                is_const: group.is_const,
                initial: vec![0; size.unwrap_or(1) as usize],
                span: declarator.name.span,
            };
            if let Some(initialiser) = &declarator.initialiser {
                self.initial_values(&mut variable, initialiser);
            }
            let id = VariableId::new(self.model.variables.len());
            self.model.variables.push(variable);
            self.declare(owner, declarator.name, Symbol::Variable(id));
        }
    }

    /// Computes initial values.
    fn initial_values(&mut self, variable: &mut Variable, initialiser: &ast::Initialiser<'src>) {
        let values = match (initialiser, variable.size) {
            (ast::Initialiser::Single(value), None) => std::slice::from_ref(value),
            (ast::Initialiser::List(values, _), Some(_)) => values.as_slice(),
            (ast::Initialiser::Single(value), Some(_)) => {
                let message = format!("array `{}` needs a list of initial values", variable.name);
                self.reporter.push(
                    Diagnostic::error(codes::INITIALISER_SHAPE, message, value.span)
                        .help("write `{…}`; elements without a value start as 0"),
                );
                return;
            }
            (ast::Initialiser::List(_, span), None) => {
                let message = format!("`{}` is no array and has only one value", variable.name);
                self.reporter
                    .error(codes::INITIALISER_SHAPE, message, *span);
                return;
            }
        };
        for (index, expression) in values.iter().enumerate() {
            let context = Context::Initialiser(variable.owner);
            let Some(resolved) = self.expressions(context).expression(expression) else {
                continue;
            };
            let value = match initial_value(&self.model, &resolved) {
                Ok(value) => value,
                Err(error) => {
                    let message = format!(
                        "this initial value cannot be computed: {}",
                        error.describe()
                    );
                    self.reporter
                        .error(codes::INITIALISER_VALUE, message, expression.span);
                    continue;
                }
            };
            let Some(cell) = variable.initial.get_mut(index) else {
                // Zeros change nothing, and models of BEEM have too many of them. (An array of an
                // impossible size was reported where it is declared.)
                if let Some(size) = variable.size.filter(|size| *size > 0 && value != 0) {
                    let name = &variable.name;
                    let message = format!("array `{name}` has only {size} elements");
                    self.reporter.push(
                        Diagnostic::error(codes::INITIALISER_SHAPE, message, expression.span)
                            .help("remove this initial value, or make the array larger"),
                    );
                }
                continue;
            };
            if variable.ty.holds(value) {
                *cell = value;
            } else {
                let ty = variable.ty;
                let message = format!(
                    "the initial value {value} does not fit into `{}`",
                    ty.name()
                );
                let help = format!("`{}` holds {} to {}", ty.name(), ty.min(), ty.max());
                self.reporter.push(
                    Diagnostic::error(codes::INITIALISER_RANGE, message, expression.span)
                        .help(help),
                );
            }
        }
    }

    /// Accounts for memory; false and a message when there is too much of it.
    fn take_cells(&mut self, wanted: u64, span: Span) -> bool {
        let total = self.cells.saturating_add(wanted);
        if total > MAX_CELLS {
            let message =
                format!("arrays and channels have more than {MAX_CELLS} elements in total");
            self.reporter.push(
                Diagnostic::error(codes::BAD_SIZE, message, span)
                    .help("every state stores all of them; make the array or buffer smaller"),
            );
            return false;
        }
        self.cells = total;
        true
    }

    /// Enters a name into a scope, or reports that it is taken.
    fn declare(&mut self, owner: Option<ProcessId>, name: ast::Ident<'src>, symbol: Symbol) {
        let scope = match owner {
            None => &mut self.names.globals,
            Some(process) => &mut self.names.locals[process.index()],
        };
        match scope.entry(name.name) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert((symbol, name.span));
            }
            std::collections::hash_map::Entry::Occupied(entry) => {
                let (other, first) = *entry.get();
                let message = format!("`{}` is declared twice", name.name);
                let hint = format!("here it is {}", other.describe());
                let diagnostic = Diagnostic::error(codes::DUPLICATE, message, name.span);
                self.reporter.push(
                    diagnostic
                        .related(first, hint)
                        .help("variables, channels and processes share one set of names; so do the variables and states of a process"),
                );
            }
        }
    }

    /// The state of a process with this name.
    fn location(&mut self, process: ProcessId, state: ast::Ident<'src>) -> Option<LocationId> {
        self.expressions(Context::StandAlone)
            .location(process, state)
    }

    fn find_property(&mut self) {
        if let Some(system) = &self.tree.system
            && let Some(name) = system.property
        {
            self.model.property = self.expressions(Context::StandAlone).process(name);
        }
        let processes = self.model.processes.len();
        if processes == usize::from(self.model.property.is_some()) && !self.reporter.has_errors() {
            let span = self
                .model
                .processes
                .first()
                .map_or(Span::default(), |p| p.span);
            self.reporter.push(
                Diagnostic::error(codes::NO_PROCESS, "the model has no process", span)
                    .help("at least one process besides the property process is needed"),
            );
        }
    }
}
