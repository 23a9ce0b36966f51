//! From checked model to guarded commands.
//!
//! Every process becomes a process of the IR with a program counter; every transition
//! without rendezvous becomes one command, and so does every pair of a sending and a
//! receiving transition of different processes on a rendezvous channel. Guards are cut
//! into their conjuncts. What can go wrong is an explicit failure of the IR, which leads
//! to the one error state. Buffered channels become channels of the IR.
//!
//! Committed states become guards: a step from a state that is not committed asks that no
//! process is in a committed one. (A step from a committed state needs no such guard, and a
//! rendezvous of a committed with an uncommitted partner can never happen.)
//!
//! The property process does not become part of the program: it is returned as an
//! [`Automaton`] whose edges are labelled with propositions of the program.

mod commands;
mod expressions;

use crate::codes;
use crate::model::{Expr, LocationId, Model, Place, ProcessId, Type, Variable, VariableId};
use std::sync::Arc;
use stubborn_diagnostics::{Diagnostic, Reporter, Span};
use stubborn_ir as ir;
use stubborn_system::{FailureKind, LabelId, PropertyKind};

/// Most commands that a model may have. (The largest BEEM instance has some thousands.)
pub const MAX_COMMANDS: usize = 1 << 18;

/// The property process: an automaton of the *negated* formula, that is of the runs that
/// violate the property.
///
/// One step of it goes with each step of the system, its guard being evaluated in the
/// source state; in a deadlock of the system it moves alone. The property is violated if
/// and only if a cycle through an accepting state can be reached.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// Its name in the model.
    pub name: String,
    /// Names of its states.
    pub states: Vec<String>,
    /// The state it starts in.
    pub initial: usize,
    /// Whether each state is accepting (Büchi).
    pub accepting: Vec<bool>,
    /// Its edges, in the order of the text.
    pub edges: Vec<AutomatonEdge>,
}

/// An edge of an [`Automaton`].
#[derive(Clone, Debug)]
pub struct AutomatonEdge {
    /// From this state.
    pub source: usize,
    /// To this one.
    pub target: usize,
    /// Taken only where this proposition holds; `None` is always.
    pub guard: Option<LabelId>,
    /// Where it stands in the text.
    pub span: Span,
}

/// A model with its guarded commands.
#[derive(Clone, Debug)]
pub struct Lowered {
    model: Arc<Model>,
    program: ir::Program,
    automaton: Option<Automaton>,
    names: Ids,
    /// Where failures of what is being lowered are reported.
    here: Option<Span>,
    /// Elements of arrays that computed indices so far may pick: what the sets of fields
    /// that commands read and write will cost.
    picked: usize,
}

/// What the things of the model are called in the program.
#[derive(Clone, Debug, Default)]
struct Ids {
    /// For variables and those constant arrays that are read with a computed index.
    variables: Vec<Option<ir::VarId>>,
    /// For all processes but the property process.
    processes: Vec<Option<stubborn_system::ProcessId>>,
    /// For buffered channels.
    channels: Vec<Option<stubborn_system::ChannelId>>,
}

/// Lowers a model; `None` if it would be too large.
pub(crate) fn lower(model: Model, name: &str, reporter: &mut Reporter) -> Option<Lowered> {
    let mut lowered = Lowered {
        program: ir::Program::new(name),
        automaton: None,
        names: Ids {
            variables: vec![None; model.variables.len()],
            processes: vec![None; model.processes.len()],
            channels: vec![None; model.channels.len()],
        },
        model: Arc::new(model),
        here: None,
        picked: 0,
    };
    lowered.declare();
    if let Err(span) = lowered.commands() {
        let message = format!("the model has more than {MAX_COMMANDS} steps");
        reporter.push(
            Diagnostic::error(codes::TOO_MANY_STEPS, message, span)
                .help("every pair of a sending and a receiving transition on a rendezvous channel is a step"),
        );
        return None;
    }
    lowered.assertions();
    lowered.property();
    Some(lowered)
}

impl Lowered {
    /// The checked model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The guarded commands.
    pub fn program(&self) -> &ir::Program {
        &self.program
    }

    /// The same, to add properties and labels to it.
    pub fn program_mut(&mut self) -> &mut ir::Program {
        &mut self.program
    }

    /// The guarded commands alone.
    pub fn into_program(self) -> ir::Program {
        self.program
    }

    /// The property process, if the model has one.
    pub fn automaton(&self) -> Option<&Automaton> {
        self.automaton.as_ref()
    }

    /// A stand-alone expression of this model (see [`crate::load_expression`]) as an
    /// expression of the program that is non-zero where it holds.
    pub fn condition(&mut self, expression: &Expr) -> ir::Expr {
        self.here = None;
        self.truth(expression, false)
    }

    // ---- declarations ----

    fn declare(&mut self) {
        for index in 0..self.model.processes.len() {
            if self.model.property == Some(ProcessId::new(index)) {
                continue;
            }
            let process = &self.model.processes[index];
            let locations = process.locations.iter().map(|l| l.name.clone()).collect();
            let id = self
                .program
                .process(process.name.clone(), locations, process.init.0);
            self.names.processes[index] = Some(id);
        }
        for index in 0..self.model.variables.len() {
            let variable = &self.model.variables[index];
            if !variable.is_const && !self.is_frozen(variable) {
                self.declare_variable(VariableId::new(index), range(variable.ty));
            }
        }
        for index in 0..self.model.channels.len() {
            let channel = &self.model.channels[index];
            if let (1.., Some(types)) = (channel.capacity, &channel.types) {
                let wrapping = |ty: &Type| ir::Item::wrapping(ty.min(), ty.max());
                self.names.channels[index] = Some(self.program.channel(ir::Channel {
                    name: channel.name.clone(),
                    capacity: channel.capacity,
                    items: types.iter().map(wrapping).collect(),
                }));
            }
        }
    }

    /// A variable that no step can change: that of the property process.
    fn is_frozen(&self, variable: &Variable) -> bool {
        variable.owner.is_some() && variable.owner == self.model.property
    }

    fn declare_variable(&mut self, id: VariableId, item: ir::Item) -> ir::VarId {
        let variable = self.model.variable(id);
        let declared = ir::Variable {
            name: self.model.variable_name(id),
            item,
            len: variable.size,
            initial: variable.initial.clone(),
            owner: variable.owner.and_then(|p| self.names.processes[p.index()]),
        };
        let in_program = self.program.variable(declared);
        self.names.variables[id.index()] = Some(in_program);
        in_program
    }

    /// The variable of the program for a variable of the model. Constant arrays become
    /// (never changing) parts of the state when they are first read with a computed index,
    /// as narrow as their values allow.
    fn variable(&mut self, id: VariableId) -> ir::VarId {
        if let Some(declared) = self.names.variables[id.index()] {
            return declared;
        }
        let values = &self.model.variable(id).initial;
        let min = values.iter().copied().min().unwrap_or(0);
        let max = values.iter().copied().max().unwrap_or(0);
        self.declare_variable(id, ir::Item::range(min, max))
    }

    /// A variable with an index; accounts for what the index may pick.
    fn element(&mut self, place: &Place, index: &Expr) -> (ir::VarId, ir::Expr, ir::Site) {
        if !matches!(index, Expr::Constant(_)) {
            self.picked += self.model.variable(place.variable).initial.len();
        }
        let variable = self.variable(place.variable);
        let index = self.value(index);
        (variable, index, self.index_site(place.variable))
    }

    fn location_test(&self, process: ProcessId, location: LocationId, negated: bool) -> ir::Expr {
        let operator = if negated {
            ir::BinaryOp::NotEqual
        } else {
            ir::BinaryOp::Equal
        };
        match self.names.processes[process.index()] {
            Some(process) => {
                let counter = self.program.processes[process.index()].counter;
                ir::Expr::binary(
                    operator,
                    ir::Expr::Var(counter),
                    ir::Expr::Const(location.0 as i32),
                )
            }
            // Checked before: nobody may look at the property process.
            None => ir::Expr::Const(i32::from(negated)),
        }
    }

    // ---- properties ----

    fn assertions(&mut self) {
        let model = Arc::clone(&self.model);
        for (id, process) in model.processes() {
            for assertion in &process.assertions {
                self.here = Some(assertion.span);
                let here = self.location_test(id, assertion.location, false);
                let violated = ir::Expr::and(here, self.truth(&assertion.condition, true));
                let violated_by = self.program.label(violated);
                let state = &process.locations[assertion.location.index()].name;
                self.program.properties.push(ir::program::ProgramProperty {
                    name: format!("assertion in {}.{state}", process.name),
                    kind: PropertyKind::Assertion,
                    violated_by,
                    span: Some(assertion.span),
                });
            }
        }
    }

    fn property(&mut self) {
        let Some(id) = self.model.property else {
            return;
        };
        let model = Arc::clone(&self.model);
        let process = model.process(id);
        let mut accepting = vec![false; process.locations.len()];
        for location in process
            .accept
            .iter()
            .flat_map(|(_, sets)| sets.iter().flatten())
        {
            accepting[location.index()] = true;
        }
        let edges = process.transitions.iter().map(|transition| AutomatonEdge {
            source: transition.source.index(),
            target: transition.target.index(),
            guard: transition.guard.as_ref().map(|guard| {
                self.here = Some(transition.span);
                let condition = self.truth(guard, false);
                self.program.label(condition)
            }),
            span: transition.span,
        });
        let edges = edges.collect();
        self.automaton = Some(Automaton {
            name: process.name.clone(),
            states: process.locations.iter().map(|l| l.name.clone()).collect(),
            initial: process.init.index(),
            accepting,
            edges,
        });
    }

    // ---- failures ----

    fn range_site(&mut self, variable: VariableId) -> ir::Site {
        let name = self.model.variable_name(variable);
        let ty = self.model.variable(variable).ty;
        let (ty, min, max) = (ty.name(), ty.min(), ty.max());
        let message = format!("the value does not fit into {name}: {ty} holds {min} to {max}");
        self.program
            .site(FailureKind::OutOfRange, message, self.here)
    }

    fn index_site(&mut self, variable: VariableId) -> ir::Site {
        let name = self.model.variable_name(variable);
        let last = self
            .model
            .variable(variable)
            .initial
            .len()
            .saturating_sub(1);
        let message =
            format!("the index is outside the array {name}, whose last element is {last}");
        self.program
            .site(FailureKind::IndexOutOfBounds, message, self.here)
    }
}

/// The type of a variable.
fn range(ty: Type) -> ir::Item {
    ir::Item::range(ty.min(), ty.max())
}
