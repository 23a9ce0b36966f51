//! Finished code in memory: compiling, calling, freeing. All calls of generated code are here.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use stubborn_ir::Model;
use stubborn_system::{LabelId, ProcessId, SpareRoom, Successors, System};

use crate::calls::Calls;
use crate::emit::{Blank, Unit, emit_label, emit_successors};
use crate::plan::{Chunk, Plan};
use crate::runtime::Runtime;

/// Appends successors of a state to the room, from entry `count` on; returns the new count.
pub(crate) type SuccessorsFn =
    unsafe extern "C" fn(state: *const u32, room: *const SpareRoom, count: usize) -> usize;
/// The value of one of the function's labels.
pub(crate) type LabelFn = unsafe extern "C" fn(state: *const u32, label: u32) -> u32;

/// Why code could not be made.
#[derive(Debug)]
pub(crate) enum CompileError {
    /// There is no code generator for this machine, or it failed: its message.
    Machine(String),
    /// The model has too many commands, or too large ones.
    TooLarge,
    /// No thread could be started to compile on.
    NoThread,
    /// Nobody wants the code any more, or there is no time or memory for it.
    Cancelled,
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Machine(message) => write!(f, "no code for this machine: {message}"),
            Self::TooLarge => f.write_str("the model is too large to be compiled"),
            Self::NoThread => f.write_str("no thread to compile on"),
            Self::Cancelled => f.write_str("compilation was cancelled"),
        }
    }
}

impl From<cranelift_module::ModuleError> for CompileError {
    fn from(error: cranelift_module::ModuleError) -> Self {
        Self::Machine(error.to_string())
    }
}

fn native_isa() -> Result<OwnedTargetIsa, CompileError> {
    let machine = |error: String| CompileError::Machine(error);
    let mut flags = settings::builder();
    let checked = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    for (name, value) in [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "none"),
        ("unwind_info", "false"),
        ("enable_probestack", "false"),
        // Tests run with it; it would take a seventh of the time of compiling.
        ("enable_verifier", checked),
    ] {
        flags.set(name, value).map_err(|e| machine(e.to_string()))?;
    }
    cranelift_native::builder()
        .map_err(|e| machine(e.to_string()))?
        .finish(settings::Flags::new(flags))
        .map_err(|e| machine(e.to_string()))
}

/// Memory that holds generated functions, freed with this.
struct Memory {
    module: ManuallyDrop<JITModule>,
    /// The code holds its address.
    _runtime: Box<Runtime>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the module is not used again, and function pointers into it are private to
        // the types that own this memory and die with it.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() }
    }
}

// SAFETY: after compilation the module is only kept to be freed; generated code keeps no
// state of its own and may run on any number of threads.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Compiles functions one by one.
struct Compiler<'a> {
    module: JITModule,
    unit: &'a Unit<'a>,
    cancelled: &'a AtomicBool,
    builder: FunctionBuilderContext,
    context: cranelift_codegen::Context,
}

impl Compiler<'_> {
    fn function(&mut self, emit: impl FnOnce(&Unit, Blank)) -> Result<FuncId, CompileError> {
        let is_over = self.unit.model.budget().spent().is_some();
        if is_over || self.cancelled.load(Ordering::Relaxed) {
            return Err(CompileError::Cancelled);
        }
        self.module.clear_context(&mut self.context);
        let blank = Blank {
            function: &mut self.context.func,
            context: &mut self.builder,
        };
        emit(self.unit, blank);
        let signature = &self.context.func.signature;
        let id = self.module.declare_anonymous_function(signature)?;
        self.module.define_function(id, &mut self.context)?;
        Ok(id)
    }
}

/// Compiles the functions that `emit` asks for and returns their addresses.
fn compile(
    model: &Model,
    cancelled: &AtomicBool,
    emit: impl FnOnce(&mut Compiler) -> Result<Vec<FuncId>, CompileError>,
) -> Result<(Memory, Vec<*const u8>), CompileError> {
    let runtime = Runtime::new(model);
    let module = JITModule::new(JITBuilder::with_isa(native_isa()?, default_libcall_names()));
    let unit = Unit::new(model, &runtime, module.target_config());
    let context = module.make_context();
    let mut compiler = Compiler {
        module,
        unit: &unit,
        cancelled,
        builder: FunctionBuilderContext::new(),
        context,
    };
    let ids = emit(&mut compiler).and_then(|ids| {
        compiler.module.finalize_definitions()?;
        Ok(ids)
    });
    let module = compiler.module;
    let addresses = match &ids {
        Ok(ids) => ids
            .iter()
            .map(|id| module.get_finalized_function(*id))
            .collect(),
        Err(_) => Vec::new(),
    };
    let memory = Memory {
        module: ManuallyDrop::new(module),
        _runtime: runtime,
    };
    ids.map(|_| (memory, addresses))
}

/// Code for all successors of a state.
pub(crate) struct SuccessorCode {
    _memory: Memory,
    /// By priority, smallest number first.
    functions: Vec<Calls>,
    /// The functions, if all of them are called for every state.
    always: Option<Vec<SuccessorsFn>>,
    /// By process that has steps in the middle of chains: these.
    chains: Vec<Option<Calls>>,
    most_successors: usize,
    words: usize,
}

impl SuccessorCode {
    pub(crate) fn compile(
        model: &Model,
        plan: &Plan,
        cancelled: &AtomicBool,
    ) -> Result<Self, CompileError> {
        let chunks = || {
            let chains = plan.chains.iter().flat_map(|(_, chunks)| chunks);
            let successors = plan.successors.iter().flat_map(|(_, chunks)| chunks);
            successors.chain(chains)
        };
        let (memory, addresses) = compile(model, cancelled, |compiler| {
            chunks()
                .map(|chunk| compiler.function(|unit, blank| emit_successors(unit, blank, chunk)))
                .collect()
        })?;
        let mut addresses = addresses.into_iter().map(|address| {
            // SAFETY: these functions were emitted with this signature.
            unsafe { std::mem::transmute::<*const u8, SuccessorsFn>(address) }
        });
        let mut calls = |chunks: &[Chunk]| Calls::new(model, chunks.iter().zip(&mut addresses));
        let by_priority = plan.successors.iter();
        let functions: Vec<Calls> = by_priority.map(|(_, chunks)| calls(chunks)).collect();
        let always = match &functions[..] {
            [calls] => calls.all(),
            _ => None,
        };
        let mut chains: Vec<Option<Calls>> = Vec::new();
        chains.resize_with(model.program().processes.len(), || None);
        for (process, chunks) in &plan.chains {
            chains[process.index()] = Some(calls(chunks));
        }
        Ok(Self {
            _memory: memory,
            functions,
            always,
            chains,
            most_successors: plan.most_successors,
            words: model.layout().words(),
        })
    }

    /// Appends all successors of `state`, which is not the error state.
    #[inline(always)]
    pub(crate) fn successors(&self, state: &[u32], out: &mut Successors) {
        assert_eq!(state.len(), self.words, "a state of another system");
        assert_eq!(out.words(), self.words, "a buffer of another system");
        let room = out.spare_room(self.most_successors);
        // SAFETY: the state has the words that the code was made for, the buffer has
        // room for all successors, and the code writes whole entries and no others.
        let count = unsafe {
            match &self.always {
                Some(functions) => functions.iter().fold(0, |count, function| {
                    function(state.as_ptr(), &raw const room, count)
                }),
                None => self.run_by_priority(state, &room),
            }
        };
        // SAFETY: the code wrote that many entries.
        unsafe { out.claim(count) }
    }

    /// # Safety
    ///
    /// As for [`Calls::run`].
    unsafe fn run_by_priority(&self, state: &[u32], room: &SpareRoom) -> usize {
        let counts = self.functions.iter().map(|functions| {
            // SAFETY: as above.
            unsafe { functions.run(state, room, 0) }
        });
        counts.into_iter().find(|count| *count > 0).unwrap_or(0)
    }

    /// Appends the successors by the single commands of priority 0 that a process starts in
    /// `state`, in which it is in the middle of a chain.
    #[inline]
    pub(crate) fn chain_steps(&self, process: ProcessId, state: &[u32], out: &mut Successors) {
        assert_eq!(state.len(), self.words, "a state of another system");
        assert_eq!(out.words(), self.words, "a buffer of another system");
        let room = out.spare_room(self.most_successors);
        let count = match &self.chains[process.index()] {
            // SAFETY: as for all successors, of which these are some.
            Some(functions) => unsafe { functions.run(state, &room, 0) },
            None => 0,
        };
        // SAFETY: the code wrote that many entries.
        unsafe { out.claim(count) }
    }
}

/// Code for single labels.
pub(crate) struct LabelCode {
    _memory: Memory,
    functions: Vec<LabelFn>,
    /// For each label, the function and the index that it calls it by.
    places: Vec<(u32, u32)>,
    words: usize,
}

impl LabelCode {
    pub(crate) fn compile(
        model: &Model,
        plan: &Plan,
        cancelled: &AtomicBool,
    ) -> Result<Self, CompileError> {
        let starts = std::iter::once(0).chain(plan.labels.iter().copied());
        let ranges = || starts.clone().zip(&plan.labels).map(|(from, to)| from..*to);
        let (memory, addresses) = compile(model, cancelled, |compiler| {
            ranges()
                .map(|range| compiler.function(|unit, blank| emit_label(unit, blank, range)))
                .collect()
        })?;
        // SAFETY: these functions were emitted with this signature.
        let function = |a: *const u8| unsafe { std::mem::transmute::<*const u8, LabelFn>(a) };
        let places = ranges().enumerate().flat_map(|(nr, range)| {
            let first = range.start;
            range.map(move |label| (nr as u32, label - first))
        });
        Ok(Self {
            _memory: memory,
            functions: addresses.into_iter().map(function).collect(),
            places: places.collect(),
            words: model.layout().words(),
        })
    }

    /// Whether a label holds.
    #[inline]
    pub(crate) fn label(&self, state: &[u32], label: LabelId) -> bool {
        assert_eq!(state.len(), self.words, "a state of another system");
        let (function, index) = self.places[label.index()];
        // SAFETY: the state has the words that the code was made for.
        unsafe { self.functions[function as usize](state.as_ptr(), index) != 0 }
    }
}
