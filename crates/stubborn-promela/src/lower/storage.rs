//! Where the model's variables are kept.

use std::collections::HashSet;

use stubborn_ir::{self as ir, Item};

use super::{Context, Instance, Lowering, Slot};
use crate::flow::{Action, DNode, Flow};
use crate::hir::{
    Argument, Basic, Expr, LeafInitial, Place, ProcId, Program, Scalar, VarKey, Variable,
};

/// How the numbers of a leaf are kept.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// In a variable; an array if there is more than one, or if it was declared as one.
    Variable(ir::VarId),
    /// They never change: one value an element.
    Constant(Vec<i32>),
}

/// The leaves that are assigned somewhere after their declaration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// Process type (`None` for globals), variable, leaf.
    leaves: HashSet<(Option<usize>, usize, usize)>,
}

impl Written {
    pub(crate) fn find(program: &Program) -> Self {
        let mut written = Self::default();
        for (at, process) in program.processes.iter().enumerate() {
            written.flow(at, &process.flow);
        }
        written
    }

    pub(crate) fn contains(&self, process: Option<ProcId>, variable: usize, leaf: usize) -> bool {
        self.leaves
            .contains(&(process.map(|p| p.0), variable, leaf))
    }

    fn flow(&mut self, process: usize, flow: &Flow) {
        for transition in flow.states.iter().flat_map(|s| &s.transitions) {
            match &*transition.action {
                Action::Basic(basic) => self.basic(process, basic),
                Action::DStep(graph) => {
                    for node in &graph.nodes {
                        if let DNode::Step(basic, ..) = node {
                            self.basic(process, basic);
                        }
                    }
                }
                Action::Blocked | Action::Jump => {}
            }
        }
    }

    fn basic(&mut self, process: usize, basic: &Basic) {
        match basic {
            Basic::Assign(place, _) => self.place(process, place.variable, place.leaf),
            Basic::AssignAll(variable, _) => self.place(process, *variable, 0),
            Basic::Receive { arguments, .. } => {
                for argument in arguments {
                    if let Argument::Store(place) = argument {
                        self.place(process, place.variable, place.leaf);
                    }
                }
            }
            _ => {}
        }
    }

    fn place(&mut self, process: usize, variable: VarKey, leaf: usize) {
        self.leaves.insert(match variable {
            VarKey::Global(at) => (None, at, leaf),
            VarKey::Local(at) => (Some(process), at, leaf),
        });
    }
}

/// The range of a type.
pub(crate) fn item(program: &Program, scalar: Scalar) -> Item {
    match scalar {
        Scalar::Bit => Item::wrapping(0, 1),
        Scalar::Byte | Scalar::Chan => Item::wrapping(0, 255),
        Scalar::Short => Item::wrapping(-32768, 32767),
        Scalar::Int => Item::wrapping(i32::MIN, i32::MAX),
        Scalar::Unsigned(bits) => Item::wrapping(0, ((1_u32 << bits.min(31)) - 1) as i32),
        Scalar::Mtype(set) => {
            let mut names = vec!["0".to_string()];
            names.extend(program.mtypes[set].names.iter().map(|n| n.to_string()));
            Item {
                names,
                ..Item::wrapping(0, 255)
            }
        }
    }
}

impl Lowering<'_> {
    /// Declares all variables, channels and processes.
    pub(super) fn declare(&mut self) {
        let source = self.source;
        for (at, variable) in source.globals.iter().enumerate() {
            if self.budget.poll().is_some() {
                return;
            }
            let stores = self.declare_variable(None, at, variable, None, "");
            self.globals.push(stores);
        }
        if source.uses_last {
            let item = Item::wrapping(0, 255);
            self.last = Some(self.program.variable(ir::Variable {
                item,
                ..ir::Variable::integer("_last", 0, 255, 0)
            }));
        }
        for slot in 0..self.table.len() {
            self.declare_slot(slot);
        }
    }

    fn declare_slot(&mut self, number: usize) {
        let starts = &self.table.slots[number];
        let mut types: Vec<ProcId> = Vec::new();
        for start in starts {
            if !types.contains(&start.process) {
                types.push(start.process);
            }
        }
        // Location 0 is "no such process", then come those where stopping is fine.
        let mut names = vec!["-".to_string()];
        let mut instances: Vec<Instance> = Vec::new();
        for process in &types {
            let size = self.source.processes[process.0].flow.states.len();
            instances.push(Instance {
                process: *process,
                locations: vec![None; size],
                locals: Vec::new(),
            });
        }
        let mut valid_until = 0;
        for valid in [true, false] {
            for instance in &mut instances {
                let process = &self.source.processes[instance.process.0];
                for state in process.flow.reachable() {
                    let found = &process.flow.states[state];
                    if found.valid_end != valid {
                        continue;
                    }
                    instance.locations[state] = Some(names.len() as u32);
                    let line = self.sources.place(found.span.start).line;
                    names.push(format!("{}:{line} (state {state})", process.name));
                }
            }
            if valid {
                valid_until = names.len() as u32 - 1;
            }
        }
        let name = match types.as_slice() {
            [only] => format!("{}[{number}]", self.source.processes[only.0].name),
            _ => format!("process {number}"),
        };
        let present = starts.iter().find(|s| s.by.is_none()).map(|s| s.process);
        let initial = present
            .and_then(|p| instances.iter().find(|i| i.process == p))
            .and_then(|i| i.locations[self.source.processes[i.process.0].flow.start])
            .unwrap_or(0);
        let process = self.program.process(name, names, initial);
        let counter = self.program.processes[process.index()].counter;
        let name = self.program.processes[process.index()].name.clone();
        let priority = self.declare_priority(&name, present, process);
        self.slots.push(Slot {
            process,
            counter,
            instances,
            priority,
            valid_until,
        });
        for (at, process_type) in types.iter().copied().enumerate() {
            let kind = &self.source.processes[process_type.0];
            let prefix = format!("{}[{number}].", kind.name);
            for (variable, declared) in kind.locals.iter().enumerate() {
                let constant = (variable < kind.parameters)
                    .then(|| self.constant_parameter(number, process_type, variable))
                    .flatten();
                let stores = match constant {
                    Some(values) => values
                        .into_iter()
                        .map(|v| Store::Constant(vec![v]))
                        .collect(),
                    None => self.declare_variable(
                        Some((number, process_type)),
                        variable,
                        declared,
                        Some(process),
                        &prefix,
                    ),
                };
                self.slots[number].instances[at].locals.push(stores);
            }
        }
    }

    fn declare_variable(
        &mut self,
        place: Option<(usize, ProcId)>,
        at: usize,
        variable: &Variable,
        owner: Option<stubborn_system::ProcessId>,
        prefix: &str,
    ) -> Vec<Store> {
        let mut stores = Vec::new();
        for (number, leaf) in variable.leaves.iter().enumerate() {
            let mut name = format!("{prefix}{}{}", variable.name, leaf.suffix);
            // Blocks may use a name again.
            let again = self
                .program
                .variables
                .iter()
                .filter(|v| v.name == name)
                .count();
            if again > 0 {
                name = format!("{name}'{}", variable.span.start);
            }
            let mut own_channels = None;
            if let LeafInitial::Channel(ty) = &leaf.initial {
                let many = if leaf.dims.is_empty() { 1 } else { leaf.len() };
                let first =
                    self.add_channels(place, &name, many, ty, leaf.dims.is_empty(), variable.span);
                let numbers: Vec<i32> = (0..many).map(|i| first + i as i32).collect();
                if !self.written.contains(place.map(|p| p.1), at, number) {
                    stores.push(Store::Constant(numbers));
                    continue;
                }
                own_channels = Some(numbers);
            }
            // A channel reference that never changes is the channel itself.
            if let (LeafInitial::Value(expr), crate::hir::Scalar::Chan, true) =
                (&leaf.initial, leaf.scalar, leaf.dims.is_empty())
                && !self.written.contains(place.map(|p| p.1), at, number)
                && let Some(value) = self.constant_reference(place, expr)
            {
                stores.push(Store::Constant(vec![value]));
                continue;
            }
            let len = (!leaf.dims.is_empty()).then_some(leaf.len() as u32);
            let mut initial = vec![0; leaf.len().max(1)];
            if let (Some(numbers), None) = (&own_channels, owner) {
                initial.clone_from(numbers);
            }
            let item = item(self.source, leaf.scalar);
            let id = self.program.variable(ir::Variable {
                name,
                item,
                len,
                initial,
                owner,
            });
            if let Some(numbers) = own_channels {
                self.channels.own.insert(id, numbers);
            }
            stores.push(Store::Variable(id));
        }
        stores
    }

    /// The channel that an initial value always is.
    fn constant_reference(&self, place: Option<(usize, ProcId)>, expr: &Expr) -> Option<i32> {
        match (place, expr) {
            (Some((slot, process)), _) => {
                let instances = &self.slots.get(slot)?.instances;
                let instance = instances.iter().position(|i| i.process == process)?;
                self.constant_argument(slot, &instance, expr)
            }
            (None, Expr::Load(source)) => match source.variable {
                VarKey::Global(at) if source.indices.is_empty() => {
                    match self.globals.get(at)?.get(source.leaf)? {
                        Store::Constant(values) => values.first().copied(),
                        Store::Variable(_) => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The values of a parameter, if every start in the table gives the same constants and the
    /// process never changes them.
    fn constant_parameter(
        &self,
        slot: usize,
        process: ProcId,
        variable: usize,
    ) -> Option<Vec<i32>> {
        let kind = &self.source.processes[process.0];
        let leaves = &kind.locals[variable].leaves;
        let first: usize = kind.locals[..variable].iter().map(|v| v.leaves.len()).sum();
        let mut values: Option<Vec<i32>> = None;
        for start in self.table.slots[slot]
            .iter()
            .filter(|s| s.process == process)
        {
            let (by, site) = start.by?;
            let run = self.find_run(by, site)?;
            let mut given = Vec::new();
            for (at, leaf) in leaves.iter().enumerate() {
                if self.written.contains(Some(process), variable, at) {
                    return None;
                }
                let value = self.constant_argument(by, &run.1, run.0.get(first + at)?)?;
                given.push(item(self.source, leaf.scalar).store(value)?);
            }
            if values.as_ref().is_some_and(|v| *v != given) {
                return None;
            }
            values = Some(given);
        }
        values
    }

    /// Arguments of the `run` at an offset of the text, as the process in a slot writes it.
    fn find_run(&self, slot: usize, site: u32) -> Option<(Vec<Expr>, usize)> {
        for (at, instance) in self.slots.get(slot)?.instances.iter().enumerate() {
            let flow = &self.source.processes[instance.process.0].flow;
            for transition in flow.states.iter().flat_map(|s| &s.transitions) {
                let mut runs = super::runs_of(&transition.action).into_iter();
                if let Some(run) = runs.find(|r| r.span.start == site) {
                    return Some((run.arguments.clone(), at));
                }
            }
        }
        None
    }

    /// The value of an argument that cannot be anything else.
    fn constant_argument(&self, slot: usize, instance: &usize, expr: &Expr) -> Option<i32> {
        match expr {
            Expr::Const(value) => Some(*value),
            Expr::Pid => Some(slot as i32),
            Expr::Unary(op, inner) => {
                let value = self.constant_argument(slot, instance, inner)?;
                Some(match op {
                    crate::ast::Unary::Minus => value.wrapping_neg(),
                    crate::ast::Unary::Not => i32::from(value == 0),
                    crate::ast::Unary::Complement => !value,
                })
            }
            Expr::Binary(op, left, right, _) => {
                let left = self.constant_argument(slot, instance, left)?;
                let right = self.constant_argument(slot, instance, right)?;
                crate::resolve::apply(*op, left, right)
            }
            Expr::Load(place) => {
                let store = match place.variable {
                    VarKey::Global(at) => self.globals.get(at)?.get(place.leaf)?,
                    VarKey::Local(at) => {
                        let found = &self.slots.get(slot)?.instances[*instance];
                        found.locals.get(at)?.get(place.leaf)?
                    }
                };
                let Store::Constant(values) = store else {
                    return None;
                };
                match place.indices.as_slice() {
                    [] => values.first().copied(),
                    [index] => {
                        let index = self.constant_argument(slot, instance, index)?;
                        values.get(usize::try_from(index).ok()?).copied()
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    pub(super) fn store(&self, place: &Place, context: Context) -> Option<&Store> {
        match (place.variable, context.at) {
            (VarKey::Global(at), _) => self.globals.get(at)?.get(place.leaf),
            (VarKey::Local(at), Some((slot, instance))) => self.slots[slot].instances[instance]
                .locals
                .get(at)?
                .get(place.leaf),
            (VarKey::Local(_), None) => None,
        }
    }

    pub(super) fn declared<'s>(&'s self, place: &Place, context: Context) -> Option<&'s Variable> {
        match (place.variable, context.at) {
            (VarKey::Global(at), _) => self.source.globals.get(at),
            (VarKey::Local(at), Some((slot, instance))) => {
                let process = self.slots[slot].instances[instance].process;
                self.source.processes[process.0].locals.get(at)
            }
            (VarKey::Local(_), None) => None,
        }
    }

    /// Initial values of globals and of the processes that exist at the start.
    pub(super) fn initialise(&mut self) {
        let source = self.source;
        let nowhere = Context::NOWHERE.starting();
        for (at, variable) in source.globals.iter().enumerate() {
            let stores = self.globals[at].clone();
            self.initial_values(variable, &stores, nowhere);
        }
        for slot in 0..self.slots.len() {
            let present = self.table.slots[slot]
                .iter()
                .find(|s| s.by.is_none())
                .copied();
            let Some(present) = present else { continue };
            let found = self.slots[slot]
                .instances
                .iter()
                .position(|i| i.process == present.process);
            let Some(instance) = found else { continue };
            let kind = &source.processes[present.process.0];
            for local in &kind.initialised {
                let stores = self.slots[slot].instances[instance].locals[*local].clone();
                let context = Context::of(slot, instance).starting();
                self.initial_values(&kind.locals[*local], &stores, context);
            }
        }
    }

    fn initial_values(&mut self, variable: &Variable, stores: &[Store], context: Context) {
        for (leaf, store) in variable.leaves.iter().zip(stores) {
            let Store::Variable(id) = store else { continue };
            let values = match &leaf.initial {
                LeafInitial::Zero => continue,
                LeafInitial::Channel(_) => match self.channels.own.get(id) {
                    Some(numbers) => numbers.clone(),
                    None => continue,
                },
                LeafInitial::List(list) => list.clone(),
                LeafInitial::Value(expr) => {
                    let lowered = self.expr(expr, context);
                    match self.initial_value(&lowered) {
                        Some(value) => vec![value; leaf.len().max(1)],
                        None => {
                            let message = format!(
                                "the initial value of {} cannot be computed",
                                variable.name
                            );
                            self.error("PML090", message, variable.span);
                            continue;
                        }
                    }
                }
            };
            let target = &mut self.program.variables[id.index()];
            for (slot, value) in target.initial.iter_mut().zip(values) {
                *slot = target.item.store(value).unwrap_or(0);
            }
        }
    }

    /// The value of an expression in the initial state.
    fn initial_value(&self, expr: &ir::Expr) -> Option<i32> {
        Some(match expr {
            ir::Expr::Const(value) => *value,
            ir::Expr::Var(id) => self.program.variables[id.index()].initial[0],
            ir::Expr::Element(id, index, _) => {
                let index = usize::try_from(self.initial_value(index)?).ok()?;
                *self.program.variables[id.index()].initial.get(index)?
            }
            ir::Expr::Unary(op, inner) => op.apply(self.initial_value(inner)?),
            ir::Expr::Binary(op, left, right) => {
                op.apply(self.initial_value(left)?, self.initial_value(right)?)
            }
            ir::Expr::Divide(op, left, right, _) => {
                op.apply(self.initial_value(left)?, self.initial_value(right)?)?
            }
            ir::Expr::And(left, right) => {
                i32::from(self.initial_value(left)? != 0 && self.initial_value(right)? != 0)
            }
            ir::Expr::Or(left, right) => {
                i32::from(self.initial_value(left)? != 0 || self.initial_value(right)? != 0)
            }
            ir::Expr::If(condition, yes, no) => match self.initial_value(condition)? {
                0 => self.initial_value(no)?,
                _ => self.initial_value(yes)?,
            },
            ir::Expr::Length(_) => 0,
            ir::Expr::Temp(_) | ir::Expr::Peek { .. } => return None,
        })
    }
}
