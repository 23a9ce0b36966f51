//! Expressions: names to ids, constants folded.

use super::names::{Names, Symbol};
use crate::ast::{self, ExprKind, Ident};
use crate::codes;
use crate::evaluate;
use crate::model::{Expr, LocationId, Model, Place, ProcessId, VariableId};
use stubborn_diagnostics::{Diagnostic, Reporter, Span};

/// Where an expression stands decides what it may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// An initial value, of a global or of a local variable.
    Initialiser(Option<ProcessId>),
    /// A process of the system.
    Process(ProcessId),
    /// The property process, which may look into the others with `P->x`.
    Property(ProcessId),
    /// Outside the text of the model: `P->x` and `P.x` both name local variables.
    StandAlone,
}

impl Context {
    fn scope(self) -> Option<ProcessId> {
        match self {
            Context::Initialiser(process) => process,
            Context::Process(process) | Context::Property(process) => Some(process),
            Context::StandAlone => None,
        }
    }
}

pub(super) struct Expressions<'a, 'n> {
    pub(super) model: &'a Model,
    pub(super) names: &'a Names<'n>,
    pub(super) context: Context,
    pub(super) reporter: &'a mut Reporter,
}

impl Expressions<'_, '_> {
    /// Resolves an expression; `None` after an error.
    pub(super) fn expression(&mut self, expression: &ast::Expr<'_>) -> Option<Expr> {
        match &expression.kind {
            ExprKind::Number(value) => Some(Expr::Constant(*value)),
            ExprKind::Name(_) | ExprKind::Index(..) => {
                let place = self.place(expression)?;
                Some(self.read(place))
            }
            ExprKind::Member(member) => self.member(member),
            ExprKind::Unary(operator, inner) => Some(match self.expression(inner)? {
                Expr::Constant(value) => Expr::Constant(evaluate::unary(*operator, value)),
                inner => Expr::Unary(*operator, Box::new(inner)),
            }),
            ExprKind::Binary(operator, operands) => {
                // Both sides are looked at before either failure ends it: two errors, two messages.
                let left = self.expression(&operands[0]);
                let right = self.expression(&operands[1]);
                Some(fold(*operator, left?, right?))
            }
        }
    }

    /// Resolves the left side of an assignment or the target of a receive.
    pub(super) fn target(&mut self, expression: &ast::Expr<'_>, receive: bool) -> Option<Place> {
        if !matches!(expression.kind, ExprKind::Name(_) | ExprKind::Index(..)) {
            let message = if receive {
                "a receive needs a variable to store the value in"
            } else {
                "only a variable or an array element can be assigned to"
            };
            let diagnostic = Diagnostic::error(codes::NOT_ASSIGNABLE, message, expression.span);
            self.reporter.push(match expression.kind {
                ExprKind::Member(_) => diagnostic.help("a process cannot change another one's variables"),
                _ if receive => diagnostic
                    .help("DVE cannot match on received values: receive into a variable and test it in the next guard"),
                _ => diagnostic,
            });
            return None;
        }
        let place = self.place(expression)?;
        let variable = self.model.variable(place.variable);
        if variable.is_const {
            let message = format!("`{}` is a constant and cannot change", variable.name);
            self.reporter.push(
                Diagnostic::error(codes::CONSTANT_ASSIGNED, message, expression.span)
                    .related(variable.span, "declared here"),
            );
            return None;
        }
        Some(place)
    }

    /// `x` or `x[i]`.
    fn place(&mut self, expression: &ast::Expr<'_>) -> Option<Place> {
        let (name, index) = match &expression.kind {
            ExprKind::Name(name) => (*name, None),
            ExprKind::Index(name, index) => (*name, Some(&**index)),
            _ => return None,
        };
        let variable = self.variable(name);
        let index = match index {
            // A bad index is reported even if the array is unknown.
            Some(index) => Some(self.expression(index)?),
            None => None,
        };
        self.element(variable?, name.span, index)
    }

    /// Joins a variable and an index: arrays need one (a bare name is element 0),
    /// scalars must not have one.
    fn element(&mut self, id: VariableId, span: Span, index: Option<Expr>) -> Option<Place> {
        let variable = self.model.variable(id);
        match (variable.size, index) {
            (None, None) => Some(Place {
                variable: id,
                index: None,
            }),
            (None, Some(_)) => {
                let message = format!("`{}` is no array and has no index", variable.name);
                self.reporter.push(
                    Diagnostic::error(codes::NOT_AN_ARRAY, message, span)
                        .related(variable.span, "declared here"),
                );
                None
            }
            (Some(_), None) => Some(Place {
                variable: id,
                index: Some(Box::new(Expr::Constant(0))),
            }),
            (Some(size), Some(index)) => {
                // An array without elements was reported where it is declared.
                if let Expr::Constant(value) = index
                    && size > 0
                    && !(0..i64::from(size)).contains(&i64::from(value))
                {
                    let message = format!("index {value} is outside the array `{}`", variable.name);
                    let elements = match size.checked_sub(1) {
                        Some(last) => format!("its elements are 0 to {last}"),
                        None => "it has no elements".to_owned(),
                    };
                    let help = format!("{elements}; this leads to the error state");
                    self.reporter.push(
                        Diagnostic::warning(codes::INDEX_NEVER_VALID, message, span).help(help),
                    );
                }
                Some(Place {
                    variable: id,
                    index: Some(Box::new(index)),
                })
            }
        }
    }

    /// The value of a place: constants are replaced by their values. (The variables of the
    /// property process are constants too: it has no effects.)
    fn read(&self, place: Place) -> Expr {
        let variable = self.model.variable(place.variable);
        let frozen = variable.owner.is_some() && variable.owner == self.model.property;
        if variable.is_const || frozen {
            let index = match place.index.as_deref() {
                None => Some(0),
                Some(Expr::Constant(value)) => usize::try_from(*value).ok(),
                Some(_) => None,
            };
            if let Some(value) = index.and_then(|i| variable.initial.get(i)) {
                return Expr::Constant(*value);
            }
        }
        Expr::Read(place)
    }

    /// The variable that a bare name stands for.
    fn variable(&mut self, name: Ident<'_>) -> Option<VariableId> {
        let scope = self.context.scope();
        let diagnostic = match self.names.look_up(scope, name.name) {
            Some(Symbol::Variable(id)) => return Some(id),
            Some(other) => {
                let message = format!("`{}` is {}, not a variable", name.name, other.describe());
                let diagnostic = Diagnostic::error(codes::WRONG_KIND, message, name.span);
                match other {
                    Symbol::State(_) => diagnostic.help(format!(
                        "to ask whether a process is in this state, write `process.{}`",
                        name.name
                    )),
                    Symbol::Process(_) => diagnostic.help(format!(
                        "to ask for its local state, write `{}.state`",
                        name.name
                    )),
                    _ => diagnostic,
                }
            }
            None => {
                let message = format!("`{}` is not declared", name.name);
                let diagnostic = Diagnostic::error(codes::UNDECLARED, message, name.span);
                let is_variable = |s| matches!(s, Symbol::Variable(_));
                if let Some(similar) = self.names.similar(scope, name.name, is_variable) {
                    diagnostic.help(format!("did you mean `{similar}`?"))
                } else if let Context::Initialiser(_) = self.context {
                    diagnostic.help("an initial value may use only variables declared before it")
                } else if let Some(owner) = self.owner_of(name.name) {
                    let help = if self.context == Context::StandAlone {
                        format!("to name a local variable, write `{owner}.{}`", name.name)
                    } else {
                        format!("it is local to process `{owner}`; declare it globally to share it")
                    };
                    diagnostic.help(help)
                } else {
                    diagnostic
                }
            }
        };
        self.reporter.push(diagnostic);
        None
    }

    /// The first process with a local variable of this name.
    fn owner_of(&self, name: &str) -> Option<&str> {
        let owner = self.names.locals.iter().position(|scope| {
            scope
                .get(name)
                .is_some_and(|(symbol, _)| matches!(symbol, Symbol::Variable(_)))
        })?;
        Some(&self.model.processes[owner].name)
    }

    /// `P.s`, `P->x`, `P->x[i]`.
    fn member(&mut self, member: &ast::Member<'_>) -> Option<Expr> {
        let process = self.process(member.process)?;
        if self.model.property == Some(process) {
            let message = format!(
                "`{}` is the property process and cannot be observed",
                member.process.name
            );
            self.reporter
                .error(codes::OBSERVES_PROPERTY, message, member.process.span);
            return None;
        }
        let index = match &member.index {
            None => None,
            Some(index) => Some(self.expression(index)?),
        };
        let symbol = self.names.look_up_member(process, member.name.name);
        match symbol {
            Some(Symbol::State(location)) if !member.arrow && index.is_none() => {
                Some(Expr::At(process, location))
            }
            Some(Symbol::Variable(variable))
                if member.arrow || self.context == Context::StandAlone =>
            {
                if !matches!(self.context, Context::Property(_) | Context::StandAlone) {
                    self.reporter.push(
                        Diagnostic::error(
                            codes::FOREIGN_VARIABLE,
                            "only the property process may look at another process's variables",
                            member.process.span.to(member.name.span),
                        )
                        .help("declare the variable globally if several processes use it"),
                    );
                    return None;
                }
                let place = self.element(variable, member.name.span, index)?;
                Some(self.read(place))
            }
            _ if member.arrow => {
                self.unknown_variable_of(process, member.name);
                None
            }
            Some(Symbol::State(_)) => {
                let message = format!("`{}` is a state and has no index", member.name.name);
                self.reporter
                    .error(codes::NOT_AN_ARRAY, message, member.name.span);
                None
            }
            _ => {
                self.location(process, member.name)?;
                None
            }
        }
    }

    fn unknown_variable_of(&mut self, process: ProcessId, name: Ident<'_>) {
        let message = format!(
            "process `{}` has no variable `{}`",
            self.model.process(process).name,
            name.name
        );
        let diagnostic = Diagnostic::error(codes::UNKNOWN_MEMBER, message, name.span);
        let is_variable = |s| matches!(s, Symbol::Variable(_));
        self.reporter.push(
            match self.names.similar_member(process, name.name, is_variable) {
                Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
                None => diagnostic,
            },
        );
    }

    /// The process with this name.
    pub(super) fn process(&mut self, name: Ident<'_>) -> Option<ProcessId> {
        // Processes are global, and no local name hides them here.
        let symbol = self.names.look_up(None, name.name);
        if let Some(Symbol::Process(process)) = symbol {
            return Some(process);
        }
        let message = match symbol {
            Some(other) => format!("`{}` is {}, not a process", name.name, other.describe()),
            None => format!("there is no process `{}`", name.name),
        };
        let diagnostic = Diagnostic::error(codes::UNKNOWN_PROCESS, message, name.span);
        let is_process = |s| matches!(s, Symbol::Process(_));
        self.reporter
            .push(match self.names.similar(None, name.name, is_process) {
                Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
                None => diagnostic,
            });
        None
    }

    /// The state of a process with this name.
    pub(super) fn location(&mut self, process: ProcessId, state: Ident<'_>) -> Option<LocationId> {
        let symbol = self.names.look_up_member(process, state.name);
        if let Some(Symbol::State(location)) = symbol {
            return Some(location);
        }
        let owner = &self.model.process(process).name;
        let message = format!("process `{owner}` has no state `{}`", state.name);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_STATE, message, state.span);
        let is_state = |s| matches!(s, Symbol::State(_));
        self.reporter.push(
            match (
                symbol,
                self.names.similar_member(process, state.name, is_state),
            ) {
                (Some(_), _) => {
                    diagnostic.help(format!("`{}` is a variable of this process", state.name))
                }
                (None, Some(similar)) => diagnostic.help(format!("did you mean `{similar}`?")),
                (None, None) => diagnostic,
            },
        );
        None
    }
}

/// Builds an operation, or its value where that is known and no error.
fn fold(operator: ast::BinaryOp, left: Expr, right: Expr) -> Expr {
    if let Expr::Constant(left) = left {
        if let Some(value) = evaluate::short_circuit(operator, left) {
            return Expr::Constant(value);
        }
        if let Expr::Constant(right) = right
            && let Ok(value) = evaluate::binary(operator, left, right)
        {
            return Expr::Constant(value);
        }
    }
    Expr::Binary(operator, Box::new([left, right]))
}
