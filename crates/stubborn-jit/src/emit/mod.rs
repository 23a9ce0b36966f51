//! Generation of code: from guarded commands to Cranelift's intermediate form.
//!
//! An [`Emitter`] writes one function. It knows, at every point, which words of the current
//! state are in registers (see [`words`]), where a failing evaluation goes, and which words
//! the current step has changed.

mod channels;
mod commands;
mod expressions;
mod functions;
mod statements;
mod words;

use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlagsData, Signature, Type, Value, types,
};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use stubborn_ir::intervals::Interval;
use stubborn_ir::{Expr, Item, Model, Program, Site, VarId, VariablePlace};
use stubborn_system::{Field, FieldId, LabelId, Outcome, System};

use crate::runtime::Runtime;
use commands::Step;
use words::Words;

pub(crate) use functions::{Blank, emit_label, emit_successors};

/// What all functions of a model have in common.
pub(crate) struct Unit<'m> {
    pub(crate) model: &'m Model,
    pub(crate) runtime: &'m Runtime,
    frontend: TargetFrontendConfig,
    pointer: Type,
    /// Variables and channels with the ranges that their bits can hold. Checks are dropped
    /// where declared ranges prove them needless, but never if a state that breaks these
    /// ranges could then make the code leave its buffers.
    physical: Program,
}

impl<'m> Unit<'m> {
    pub(crate) fn new(
        model: &'m Model,
        runtime: &'m Runtime,
        frontend: TargetFrontendConfig,
    ) -> Self {
        let mut physical = Program::new("physical ranges");
        physical.variables = model.program().variables.clone();
        physical.channels = model.program().channels.clone();
        let items = physical
            .variables
            .iter_mut()
            .map(|v| &mut v.item)
            .chain(physical.channels.iter_mut().flat_map(|c| &mut c.items));
        items.for_each(widen);
        for channel in &mut physical.channels {
            channel.capacity = (channel.capacity + 1).next_power_of_two() - 1;
        }
        Self {
            model,
            runtime,
            frontend,
            pointer: frontend.pointer_type(),
            physical,
        }
    }

    /// The field that is all that an expression reads: a scalar, or an element with a
    /// constant index.
    fn fixed_field(&self, expr: &Expr) -> Option<FieldId> {
        match expr {
            Expr::Var(variable) => Some(self.model.encoding().first_field(*variable)),
            Expr::Element(variable, index, _) => self.fixed_element(*variable, index),
            _ => None,
        }
    }

    /// The field of an element whose index is a constant within the array.
    fn fixed_element(&self, variable: VarId, index: &Expr) -> Option<FieldId> {
        let (Expr::Const(at), VariablePlace::Array(place)) =
            (index, self.model.encoding().variables[variable.index()])
        else {
            return None;
        };
        let at = u32::try_from(*at).ok().filter(|at| *at < place.len)?;
        Some(FieldId::new(place.first.index() + at as usize))
    }

    fn program(&self) -> &'m Program {
        self.model.program()
    }

    fn words(&self) -> u32 {
        self.model.layout().words() as u32
    }

    fn mask_words(&self) -> u32 {
        self.model.layout().mask_words() as u32
    }

    fn field(&self, id: stubborn_system::FieldId) -> &'m Field {
        self.model.layout().field(id)
    }

    /// A signature of generated code or helpers.
    pub(crate) fn signature(&self, params: &[Type], returns: &[Type]) -> Signature {
        let mut signature = Signature::new(self.frontend.default_call_conv);
        signature
            .params
            .extend(params.iter().map(|t| AbiParam::new(*t)));
        signature
            .returns
            .extend(returns.iter().map(|t| AbiParam::new(*t)));
        signature
    }

    /// Whether evaluating can fail, or needs a check to stay inside buffers.
    fn may_fail(&self, expr: &Expr) -> bool {
        self.program().may_fail(expr) || self.physical.may_fail(expr)
    }

    /// Range of an expression over everything that the bits of a state can hold.
    fn physical_range(&self, expr: &Expr) -> Interval {
        self.physical.interval(expr)
    }
}

/// Extends a range to what its bits can hold.
fn widen(item: &mut Item) {
    let bits = stubborn_system::layout::bits_for(i64::from(item.min), i64::from(item.max));
    let max = i64::from(item.min) + (1_i64 << bits) - 1;
    match i32::try_from(max) {
        Ok(max) => item.max = max,
        Err(_) => (item.min, item.max) = (i32::MIN, i32::MAX),
    }
}

/// Flags of an access to a state, a mask or an outcome: inside a buffer and aligned.
fn inside() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// The same, not aligned to the size of the access.
fn inside_unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// Writes one function.
pub(crate) struct Emitter<'u, 'f> {
    unit: &'u Unit<'u>,
    b: FunctionBuilder<'f>,
    /// Address of the state whose successors or labels are computed.
    source: Value,
    words: Words,
    /// Values of guards that were computed on the way to the current point.
    guards: Vec<(LabelId, Value)>,
    /// Where a failing evaluation goes, with the outcome as argument.
    failure: Option<Block>,
    /// The step whose body is being emitted.
    step: Option<Step>,
    /// How many loops are around the current statement.
    loops: u32,
}

impl<'u, 'f> Emitter<'u, 'f> {
    pub(crate) fn new(unit: &'u Unit<'u>, b: FunctionBuilder<'f>, source: Value) -> Self {
        Self {
            unit,
            b,
            source,
            words: Words::default(),
            guards: Vec::new(),
            failure: None,
            step: None,
            loops: 0,
        }
    }

    /// A 32-bit constant.
    fn constant(&mut self, value: i32) -> Value {
        self.unsigned(value as u32)
    }

    /// A 32-bit constant.
    fn unsigned(&mut self, value: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(value))
    }

    /// A constant address.
    fn address<T>(&mut self, of: *const T) -> Value {
        let pointer = self.unit.pointer;
        self.b.ins().iconst(pointer, of as usize as i64)
    }

    /// Continues in a block, all of whose predecessors are known.
    fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
    }

    fn jump(&mut self, block: Block) {
        self.b.ins().jump(block, &[]);
    }

    fn jump_with(&mut self, block: Block, argument: Value) {
        self.b.ins().jump(block, &[BlockArg::Value(argument)]);
    }

    fn branch_if(&mut self, condition: Value, then: Block, otherwise: Block) {
        self.b.ins().brif(condition, then, &[], otherwise, &[]);
    }

    /// Where failures go: a cold block whose parameter is the outcome.
    fn failure_block(&mut self) -> Block {
        match self.failure {
            Some(block) => block,
            None => {
                let block = self.b.create_block();
                self.b.append_block_param(block, types::I64);
                self.b.set_cold_block(block);
                self.failure = Some(block);
                block
            }
        }
    }

    /// Fails at `site` if the condition is not zero.
    fn fail_if(&mut self, condition: Value, site: Site) {
        let failure = self.failure_block();
        let outcome = self.outcome(Outcome::failure(site.index()));
        let fine = self.b.create_block();
        let argument = [BlockArg::Value(outcome)];
        self.b.ins().brif(condition, failure, &argument, fine, &[]);
        self.enter(fine);
    }

    /// Fails at `site`. What is emitted next is never reached.
    fn fail(&mut self, site: Site) {
        let failure = self.failure_block();
        let outcome = self.outcome(Outcome::failure(site.index()));
        self.jump_with(failure, outcome);
        let unreachable = self.b.create_block();
        self.enter(unreachable);
    }

    fn outcome(&mut self, outcome: Outcome) -> Value {
        let bits = outcome.to_bits() as i64;
        self.b.ins().iconst(types::I64, bits)
    }

    /// Calls a helper; returns what it returns.
    fn call(&mut self, helper: *const u8, returns: &[Type], arguments: &[Value]) -> Option<Value> {
        let params: Vec<Type> = arguments
            .iter()
            .map(|v| self.b.func.dfg.value_type(*v))
            .collect();
        let signature = self.unit.signature(&params, returns);
        let signature = self.b.import_signature(signature);
        let callee = self.address(helper);
        let call = self.b.ins().call_indirect(signature, callee, arguments);
        self.b.inst_results(call).first().copied()
    }
}
