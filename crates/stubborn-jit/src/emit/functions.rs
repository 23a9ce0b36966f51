//! Whole functions: successors of a chunk of commands, labels.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::{Block, Function, InstBuilder, JumpTableData, Signature, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use stubborn_ir::Expr;
use stubborn_system::{FieldId, LabelId, SpareRoom};

use super::commands::Output;
use super::{Emitter, Unit, inside};
use crate::plan::{Case, Piece};

/// Fewest commands in a row that need the same other process somewhere, for its program
/// counter to be branched on.
const FEWEST_PARTNERS: usize = 4;

/// Where a command needs its second process to be.
struct Partner {
    counter: FieldId,
    location: u32,
    /// The guard that says so.
    guard: LabelId,
}

/// The second process of a command, if it must be at a certain location.
fn partner(unit: &Unit, at: u32) -> Option<Partner> {
    let command = &unit.program().commands[at as usize];
    let location = (*command.sources.get(1)?)?;
    let process = command.processes.get(1)?;
    let counter = unit.program().processes[process.index()].counter;
    Some(Partner {
        counter: unit.model.encoding().first_field(counter),
        location,
        guard: at_location(unit, at, 1, location)?,
    })
}

/// The guard of a command that says that its first or second process is at a location.
fn at_location(unit: &Unit, at: u32, which: usize, location: u32) -> Option<LabelId> {
    let program = unit.program();
    let command = &program.commands[at as usize];
    let here = Expr::at(program, *command.processes.get(which)?, location);
    let is_here = |guard: &LabelId| program.labels[guard.index()].expr == here;
    command.guards.iter().copied().find(is_here)
}

/// A function to be filled.
pub(crate) struct Blank<'f> {
    pub(crate) function: &'f mut Function,
    pub(crate) context: &'f mut FunctionBuilderContext,
}

impl<'f> Blank<'f> {
    /// Starts a function; returns its parameters.
    fn start(self, signature: Signature) -> (FunctionBuilder<'f>, Vec<Value>) {
        self.function.signature = signature;
        let mut b = FunctionBuilder::new(self.function, self.context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let params = b.block_params(entry).to_vec();
        (b, params)
    }
}

/// `fn(state, room, count) -> count`: appends the successors by the commands of a chunk, see
/// [`SuccessorsFn`](crate::code::SuccessorsFn).
pub(crate) fn emit_successors(unit: &Unit, blank: Blank, chunk: &[Piece]) {
    let p = unit.pointer;
    let (b, params) = blank.start(unit.signature(&[p, p, p], &[p]));
    let mut emitter = Emitter::new(unit, b, params[0]);
    let output = emitter.output(params[1], params[2]);
    for piece in chunk {
        emitter.piece(piece, &output);
    }
    emitter.return_count(&output);
}

/// `fn(state, index) -> bool`: the value of label `first + index`, see
/// [`LabelFn`](crate::code::LabelFn).
pub(crate) fn emit_label(unit: &Unit, blank: Blank, labels: std::ops::Range<u32>) {
    let p = unit.pointer;
    let (b, params) = blank.start(unit.signature(&[p, types::I32], &[types::I32]));
    let mut emitter = Emitter::new(unit, b, params[0]);
    let (yes, no) = (emitter.b.create_block(), emitter.b.create_block());
    let blocks = emitter.table(params[1], labels.len(), no);
    for (label, block) in labels.zip(blocks) {
        emitter.enter(block);
        let expr = &unit.program().labels[label as usize].expr;
        emitter.failure = None;
        emitter.branch(expr, yes, no);
        if let Some(failure) = emitter.failure.take() {
            // A guard that fails counts as holding.
            emitter.enter(failure);
            emitter.jump(yes);
        }
        emitter.forget_everything();
    }
    for (block, holds) in [(yes, 1), (no, 0)] {
        emitter.enter(block);
        let holds = emitter.unsigned(holds);
        emitter.b.ins().return_(&[holds]);
    }
    emitter.finish();
}

impl Emitter<'_, '_> {
    fn finish(mut self) {
        self.b.seal_all_blocks();
        let config = self.unit.frontend;
        self.b.finalize(config);
    }

    /// Sets up the buffer that successors go to.
    fn output(&mut self, room: Value, at: Value) -> Output {
        let pointer = self.unit.pointer;
        let mut base = |offset: usize| self.b.ins().load(pointer, inside(), room, offset as i32);
        let states = base(offset_of!(SpareRoom, states));
        let masks = base(offset_of!(SpareRoom, masks));
        let transitions = base(offset_of!(SpareRoom, transitions));
        let outcomes = base(offset_of!(SpareRoom, outcomes));
        let target_at = self.indexed(states, at, 4 * self.unit.words());
        let count = self.b.declare_var(pointer);
        self.b.def_var(count, at);
        let target = self.b.declare_var(pointer);
        self.b.def_var(target, target_at);
        Output {
            room,
            masks,
            transitions,
            outcomes,
            count,
            target,
        }
    }

    fn return_count(mut self, output: &Output) {
        let count = self.b.use_var(output.count);
        self.b.ins().return_(&[count]);
        self.finish();
    }

    /// Branches to one of `len` new blocks by an index, elsewhere for other indices.
    fn table(&mut self, index: Value, len: usize, otherwise: Block) -> Vec<Block> {
        let blocks: Vec<Block> = (0..len).map(|_| self.b.create_block()).collect();
        self.branch_by(index, &blocks, otherwise);
        blocks
    }

    fn branch_by(&mut self, index: Value, blocks: &[Block], otherwise: Block) {
        let pool = &mut self.b.func.dfg.value_lists;
        let mut call = |block| cranelift_codegen::ir::BlockCall::new(block, [], pool);
        let calls: Vec<_> = blocks.iter().map(|block| call(*block)).collect();
        let otherwise = call(otherwise);
        let table = self
            .b
            .create_jump_table(JumpTableData::new(otherwise, &calls));
        self.b.ins().br_table(index, table);
    }

    fn forget_everything(&mut self) {
        self.words.restore(0);
        self.guards.clear();
    }

    /// Commands of one process by its location, or commands that are always looked at.
    fn piece(&mut self, piece: &Piece, output: &Output) {
        let Some(counter) = piece.counter else {
            for at in piece.cases.iter().flat_map(|case| &case.commands) {
                self.command(*at, &[], output);
            }
            return;
        };
        let cases: Vec<(u32, &Case)> = piece.cases.iter().map(|c| (c.location, c)).collect();
        self.by_location(counter, &cases, |emitter, case| {
            emitter.location(case, output);
        });
    }

    /// Branches on a program counter, to one of several cases with different locations.
    fn by_location<T: Copy>(
        &mut self,
        counter: FieldId,
        cases: &[(u32, T)],
        mut emit: impl FnMut(&mut Self, T),
    ) {
        let field = self.unit.field(counter);
        let location = self.raw(field);
        let done = self.b.create_block();
        let known = (self.words.mark(), self.guards.len());
        let last = cases.iter().map(|(location, _)| *location).max();
        let mut blocks = vec![done; last.map_or(0, |last| last as usize + 1)];
        for (location, _) in cases {
            blocks[*location as usize] = self.b.create_block();
        }
        self.branch_by(location, &blocks, done);
        for (location, case) in cases {
            self.enter(blocks[*location as usize]);
            emit(self, *case);
            self.jump(done);
            self.words.restore(known.0);
            self.guards.truncate(known.1);
        }
        self.enter(done);
    }

    /// The commands of one location; their first guard is known to hold.
    fn location(&mut self, case: &Case, output: &Output) {
        let unit = self.unit;
        let partners = case.commands.iter().map(|at| (*at, partner(unit, *at)));
        let partners: Vec<(u32, Option<Partner>)> = partners.collect();
        let same = |a: &(u32, Option<Partner>), b: &(u32, Option<Partner>)| {
            a.1.as_ref().map(|p| p.counter) == b.1.as_ref().map(|p| p.counter)
        };
        for group in partners.chunk_by(same) {
            let counter = group[0].1.as_ref().map(|p| p.counter);
            match counter.filter(|_| group.len() >= FEWEST_PARTNERS) {
                Some(counter) => self.with_partners(counter, case.location, group, output),
                None => {
                    for (at, _) in group {
                        let known = at_location(unit, *at, 0, case.location);
                        self.command(*at, known.as_slice(), output);
                    }
                }
            }
        }
    }

    /// Commands that need another process at a location of its own, for each command in turn:
    /// only one of these locations can be the right one.
    fn with_partners(
        &mut self,
        counter: FieldId,
        location: u32,
        group: &[(u32, Option<Partner>)],
        output: &Output,
    ) {
        let unit = self.unit;
        let mut by_location: BTreeMap<u32, Vec<(u32, LabelId)>> = BTreeMap::new();
        for (at, partner) in group {
            if let Some(partner) = partner {
                let commands = by_location.entry(partner.location).or_default();
                commands.push((*at, partner.guard));
            }
        }
        let cases = by_location.iter().map(|(location, c)| (*location, c));
        let cases: Vec<(u32, &Vec<(u32, LabelId)>)> = cases.collect();
        self.by_location(counter, &cases, |emitter, commands| {
            for (at, guard) in commands {
                let mut known = vec![*guard];
                known.extend(at_location(unit, *at, 0, location));
                emitter.command(*at, &known, output);
            }
        });
    }
}
