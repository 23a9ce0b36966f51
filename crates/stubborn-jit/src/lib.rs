//! Guarded commands compiled in memory.
//!
//! A [`CompiledModel`] is a [`System`] that behaves exactly as its
//! [`Model`] does, only faster: Cranelift turns the program into code
//! of this machine when the model is loaded, and no compiler needs to be installed.
//! Nothing outside this crate knows of Cranelift.
//!
//! - Generated code branches on program counters first, so that only commands of the
//!   current locations are looked at, and loads each packed word once on the way.
//! - Compiling takes a while, so it happens [in the background](CompiledModel::new):
//!   executors interpret until the code is there and then switch at their next call. Code for
//!   labels, which mostly reductions need, is made when it is asked for; single transitions are
//!   always interpreted.
//! - Models that are too large to be worth it, and machines that Cranelift does not know,
//!   stay with the interpreter.
//! - The interpreter is the reference. Code and interpreter agree in every detail: the
//!   order of successors, failures, violated assertions. Masks of changed words may differ,
//!   as long as they tell the truth.
//! - Generated code is as safe as the interpreter: an index is checked unless ranges prove
//!   it fine, and even a state that no run can reach makes no code leave its buffers.
//!
//! ```
//! use std::sync::Arc;
//! use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
//! use stubborn_jit::CompiledModel;
//! use stubborn_system::{Successors, System};
//!
//! let mut program = Program::new("counter");
//! let x = program.variable(Variable::integer("x", 0, 3, 0));
//! let below = program.label(Expr::less(Expr::Var(x), Expr::Const(3)));
//! let site = program.out_of_range_site("x", None);
//! program.command(Command {
//!     name: "count".into(),
//!     guards: vec![below],
//!     body: vec![Statement::assign(x, Expr::plus(Expr::Var(x), Expr::Const(1)), site)],
//!     ..Command::default()
//! });
//! let model = Arc::new(Model::new(program).expect("a small program"));
//!
//! let compiled = CompiledModel::new(model);
//! let mut executor = compiled.executor();
//! let mut successors = Successors::new(compiled.layout().words());
//! executor.successors(&compiled.initial_states(), &mut successors);
//! assert_eq!(successors.len(), 1);
//! ```

mod calls;
mod code;
mod emit;
mod executor;
mod plan;
mod runtime;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, OnceLock};

use stubborn_ir::Model;
use stubborn_system::{
    Budget, Executor, FieldId, LabelId, Layout, RelationLevel, Relations, Structure, System,
};

use code::{CompileError, LabelCode, SuccessorCode};
use executor::CompiledExecutor;
use plan::Plan;

/// Stack of a compiling thread: enough for the deepest expressions that are compiled.
const STACK_BYTES: usize = 64 << 20;

/// A [`Model`] whose executors run generated code as soon as there is some.
pub struct CompiledModel {
    workshop: Arc<Workshop>,
}

/// How far a [`CompiledModel`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Code is being made, or nobody has needed it yet; executors may still interpret.
    Compiling,
    /// Successors and labels come from generated code.
    Compiled,
    /// Executors stay with the interpreter, at least for some calls; why.
    Interpreted(String),
}

/// What compiling threads and executors share.
struct Workshop {
    model: Arc<Model>,
    /// Empty while compiling; the reason if there will be no code.
    successors: OnceLock<Result<SuccessorCode, CompileError>>,
    labels: OnceLock<Result<LabelCode, CompileError>>,
    cancelled: AtomicBool,
    /// Empty if the model is too large.
    plan: Option<Plan>,
    /// Somebody wants code for all successors of states.
    successors_wanted: Once,
    /// Somebody wants code for labels.
    labels_wanted: Once,
}

impl CompiledModel {
    /// Executors work at once, and code is made in the background as soon as they have enough to do.
    pub fn new(model: Arc<Model>) -> Self {
        let plan = Plan::new(&model);
        let workshop = Arc::new(Workshop {
            model,
            successors: OnceLock::new(),
            labels: OnceLock::new(),
            cancelled: AtomicBool::new(false),
            plan,
            successors_wanted: Once::new(),
            labels_wanted: Once::new(),
        });
        Self { workshop }
    }

    /// Compiles and returns when the code is ready.
    pub fn ready(model: Arc<Model>) -> Self {
        let compiled = Self::new(model);
        compiled.wait();
        compiled
    }

    /// Returns when there is code, or when it is clear that there will be none.
    pub fn wait(&self) {
        self.workshop.want_successors();
        self.workshop.want_labels();
        self.workshop.successors.wait();
        self.workshop.labels.wait();
    }

    /// Whether executors run generated code.
    pub fn status(&self) -> Status {
        match (self.workshop.successors.get(), self.workshop.labels.get()) {
            (Some(Err(reason)), _) | (_, Some(Err(reason))) => {
                Status::Interpreted(reason.to_string())
            }
            (Some(Ok(_)), Some(Ok(_))) => Status::Compiled,
            _ => Status::Compiling,
        }
    }

    /// Ends compiling in the background, for whoever knows that hardly anybody will ask for successors any
    /// more: executors that have no code yet interpret.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + use<> {
        let workshop = Arc::clone(&self.workshop);
        move || workshop.cancelled.store(true, Ordering::Relaxed)
    }

    /// The model, executed by the interpreter.
    pub fn model(&self) -> &Arc<Model> {
        &self.workshop.model
    }
}

impl Workshop {
    /// Starts compiling code for all successors of states, unless that was done.
    fn want_successors(self: &Arc<Self>) {
        self.successors_wanted.call_once(|| {
            self.start(
                |w| &w.successors,
                "compile successors",
                |w, plan| SuccessorCode::compile(&w.model, plan, &w.cancelled),
            );
        });
    }

    /// Starts compiling code for labels, unless that was done.
    fn want_labels(self: &Arc<Self>) {
        self.labels_wanted.call_once(|| {
            self.start(
                |w| &w.labels,
                "compile labels",
                |w, plan| LabelCode::compile(&w.model, plan, &w.cancelled),
            );
        });
    }

    /// Fills a place with code, in the background.
    fn start<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        place: fn(&Self) -> &OnceLock<Result<T, CompileError>>,
        name: &str,
        compile: fn(&Self, &Plan) -> Result<T, CompileError>,
    ) {
        let workshop = Arc::clone(self);
        let started = in_background(name, move || {
            let made = match &workshop.plan {
                Some(plan) => attempt(|| compile(&workshop, plan)),
                None => Err(CompileError::TooLarge),
            };
            let _ = place(&workshop).set(made);
        });
        if !started {
            let _ = place(self).set(Err(CompileError::NoThread));
        }
    }
}

impl Drop for CompiledModel {
    fn drop(&mut self) {
        // Nobody will run the code any more: threads stop at the next function.
        self.workshop.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The code, or why there is none; a bug of the code generator is no reason to die.
fn attempt<T>(compile: impl FnOnce() -> Result<T, CompileError>) -> Result<T, CompileError> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(compile))
        .unwrap_or_else(|_| Err(CompileError::Machine("the code generator panicked".into())))
}

/// Starts a thread; false if there can be none, and then the interpreter stays.
fn in_background(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let thread = std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES);
    thread.spawn(work).is_ok()
}

impl System for CompiledModel {
    fn layout(&self) -> &Layout {
        self.workshop.model.layout()
    }

    fn structure(&self) -> &Structure {
        self.workshop.model.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.workshop.model.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(CompiledExecutor::new(self))
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.workshop.model.relations(level)
    }

    fn relations_of_strong_sets(&self, level: RelationLevel) -> Relations {
        self.workshop.model.relations_of_strong_sets(level)
    }

    fn truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
        self.workshop.model.truth_table(label)
    }

    fn budget(&self) -> &Budget {
        self.workshop.model.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.workshop.model.value_text(field, value)
    }
}
