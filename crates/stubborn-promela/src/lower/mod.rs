//! From checked models to guarded commands.
//!
//! Every process number has a slot: a program counter whose location 0 means that there is no
//! such process, and the variables of each process type that can live there. A process that
//! ends leaves nothing but zeros. Numbers are given and freed as SPIN does: a new process gets
//! the lowest free number, and only the youngest process can disappear; so the processes that
//! exist are always the first few slots.
//!
//! Which process type can be started in which slot is not known beforehand. A [`Table`] says
//! what is provided for; a start outside the table ends in a failure that [`Lowered::missing`]
//! recognises, and [`load`](crate::load) goes on with a larger table.
//!
//! A rendez-vous is one command of two processes. The steps of an atomic sequence
//! [continue](stubborn_ir::chain) with their process. A `d_step` is one command.

mod channels;
mod claims;
mod dsteps;
mod enabled;
mod events;
mod exclusive;
mod expressions;
mod guards;
mod liveness;
mod priorities;
mod rendezvous;
mod runs;
pub(crate) mod starts;
mod steps;
mod storage;

use std::collections::HashMap;

pub use claims::{Claim, ClaimEdge, ClaimState};
pub(crate) use liveness::{each_expression, each_global, each_part, globals_of};
pub(crate) use runs::runs_of;
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_ir::{self as ir, Site};
use stubborn_system::{Budget, FailureKind, LabelId, Outcome, ProcessId};

use crate::flow::{self, StateNr};
use crate::hir::{self, ProcId};
use crate::source::Sources;

/// What may be started where: for each slot, the pairs of starting slot and `run` statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// By slot.
    slots: Vec<Vec<Start>>,
}

/// A way to start a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Start {
    /// What is started.
    pub process: ProcId,
    /// By the process in this slot and the `run` at this offset of the text; `None` for
    /// processes that exist at the start.
    pub by: Option<(usize, u32)>,
}

/// Something that the table does not provide for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Missing {
    /// The slot.
    pub slot: usize,
    /// What should be started there.
    pub start: Start,
}

impl Table {
    /// The processes that exist at the start, and nothing else.
    pub fn initial(program: &hir::Program) -> Self {
        let mut slots = Vec::new();
        for (at, process) in program.processes.iter().enumerate() {
            for _ in 0..process.active {
                slots.push(vec![Start {
                    process: ProcId(at),
                    by: None,
                }]);
            }
        }
        Self { slots }
    }

    /// Provides for one more start, and in models that start many processes for more of the
    /// same: learning of each by a search of its own would take too long.
    pub fn grow(&mut self, missing: Missing, max_processes: usize) {
        /// So many processes are nothing special.
        const MANY: usize = 16;
        self.add(missing);
        let (slot, start) = (missing.slot, missing.start);
        let Some((by, site)) = start.by.filter(|_| slot >= MANY) else {
            return;
        };
        let before = |by: usize| Start {
            by: Some((by, site)),
            ..start
        };
        let earlier = &self.slots[slot - 1];
        let by_one = earlier.contains(&before(by));
        let in_a_row = by > 0 && earlier.contains(&before(by - 1));
        for more in 1..=slot / 2 {
            let next = match (by_one, in_a_row) {
                (true, _) => before(by),
                (_, true) => before(by + more),
                _ => return,
            };
            if slot + more < max_processes {
                self.add(Missing {
                    slot: slot + more,
                    start: next,
                });
            }
        }
    }

    /// All starts, by slot.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (usize, &Start)> {
        let slots = self.slots.iter().enumerate();
        slots.flat_map(|(slot, starts)| starts.iter().map(move |start| (slot, start)))
    }

    /// Provides for one more start.
    pub(crate) fn add(&mut self, missing: Missing) {
        if self.slots.len() <= missing.slot {
            self.slots.resize(missing.slot + 1, Vec::new());
        }
        if !self.slots[missing.slot].contains(&missing.start) {
            self.slots[missing.slot].push(missing.start);
        }
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True for a model without processes.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// How a model is to be lowered.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Sending to a full channel loses the message instead of waiting.
    pub lossy: bool,
    /// Most processes at a time.
    pub max_processes: usize,
    /// Make single commands of atomic sequences where possible; the states stay the same.
    pub fuse: bool,
    /// Run a statement that cannot block and that nobody else notices in one step with the
    /// statement before it, as SPIN does by default. Fewer states, the same verdicts.
    pub merge: bool,
    /// Set locals to zero where they are not read before they are written again. Fewer states,
    /// the same verdicts.
    pub dead_variables: bool,
    /// Leave out control states at which a process does nothing but leave. Fewer states, the
    /// same verdicts.
    pub dead_locations: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lossy: false,
            max_processes: 255,
            fuse: true,
            merge: false,
            dead_variables: false,
            dead_locations: false,
        }
    }
}

/// A model as guarded commands, with what is needed to talk about it in Promela's terms.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The guarded commands. [`ir::Model::new`] may sort them; [`Self::steps`] follows their names.
    pub program: ir::Program,
    /// Failures that mean: the table is too small.
    growth: HashMap<usize, Missing>,
    /// What each command is in the model, in the order of `program.commands`.
    pub steps: Vec<StepInfo>,
    /// Labels of the expressions that were given apart from the model, in their order.
    pub propositions: Vec<LabelId>,
    /// Whether some process is at an `accept` label.
    pub accepting: ir::Expr,
    /// The never claims of the model.
    pub claims: Vec<Claim>,
}

/// The model's view of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInfo {
    /// The statements it consists of, in order: number and type of the process, and the number of
    /// the step within that type. A rendez-vous is two of them, sender first.
    pub parts: Vec<(usize, ProcId, usize)>,
}

impl Lowered {
    /// What a failed step was missing, if it failed because the table is too small.
    pub fn missing(&self, outcome: Outcome) -> Option<Missing> {
        self.growth.get(&outcome.failed()?).copied()
    }
}

/// A process type living in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    process: ProcId,
    /// Location of each control state; `None` for states that are never reached.
    locations: Vec<Option<u32>>,
    /// By local variable, by leaf.
    locals: Vec<Vec<storage::Store>>,
}

/// A process number.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    process: ProcessId,
    counter: ir::VarId,
    instances: Vec<Instance>,
    /// Holds the priority of the process, in models with priorities.
    priority: Option<ir::VarId>,
    /// Locations up to this one are fine to stop at.
    valid_until: u32,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// Slot and instance; `None` for global initial values.
    at: Option<(usize, usize)>,
    /// What `timeout` is.
    timeout: bool,
    /// For the second half of a rendez-vous: who has sent.
    sender: Option<Sender>,
    /// For first values: the process is just being made, and is the last one there is.
    starting: bool,
}

/// The sender as the receiver of a rendez-vous sees it: with its half of the step done, so it is who moved
/// `_last`, and where the send leads to (`c?eval(P[0]@sent)`).
#[derive(Clone, Copy, Debug)]
struct Sender {
    slot: usize,
    instance: usize,
    state: StateNr,
}

impl Context {
    /// Outside of all processes.
    const NOWHERE: Self = Self {
        at: None,
        timeout: false,
        sender: None,
        starting: false,
    };

    fn of(slot: usize, instance: usize) -> Self {
        Self {
            at: Some((slot, instance)),
            ..Self::NOWHERE
        }
    }

    /// For first values.
    fn starting(self) -> Self {
        Self {
            starting: true,
            ..self
        }
    }
}

/// A model on its way to guarded commands.
pub(crate) struct Lowering<'a> {
    source: &'a hir::Program,
    sources: &'a Sources,
    options: Options,
    table: &'a Table,
    diagnostics: &'a mut Vec<Diagnostic>,
    program: ir::Program,
    globals: Vec<Vec<storage::Store>>,
    slots: Vec<Slot>,
    channels: channels::Channels,
    written: storage::Written,
    last: Option<ir::VarId>,
    /// For assignments that cannot fail.
    never: Site,
    growth: HashMap<usize, Missing>,
    growth_sites: HashMap<Missing, Site>,
    steps: Vec<StepInfo>,
    /// Names of commands that were given out, to keep them unique.
    names: HashMap<String, usize>,
    liveness: Option<liveness::Liveness>,
    observers: Vec<events::Observer>,
    exclusive: exclusive::Claims,
    /// Who asks whether somebody could move, from the outermost `enabled()` inwards.
    asking: Vec<usize>,
    /// How many such questions stood inside of others.
    questions: usize,
    /// Once it is spent, nothing follows from what was lowered.
    budget: &'a Budget,
}

/// Lowers a model for the starts that `table` provides for.
pub(crate) fn lower(
    source: &hir::Program,
    sources: &Sources,
    name: &str,
    table: &Table,
    (options, budget): (Options, &Budget),
    diagnostics: &mut Vec<Diagnostic>,
) -> Lowered {
    let options = Options {
        merge: options.merge && !flow::looks_at_control(source) && flow::locals_are_private(source),
        ..options
    };
    let bypassed = options.dead_locations.then(|| flow::bypass(source));
    let source = bypassed.as_ref().unwrap_or(source);
    let mut program = ir::Program::new(name);
    // Who receives in a rendez-vous waits for the sender to move.
    program.passive_partners = true;
    let never = program.site(FailureKind::Other, "this cannot happen", None);
    let mut lowering = Lowering {
        source,
        sources,
        options,
        table,
        diagnostics,
        program,
        globals: Vec::new(),
        slots: Vec::new(),
        channels: channels::Channels::default(),
        written: storage::Written::find(source),
        last: None,
        never,
        growth: HashMap::new(),
        growth_sites: HashMap::new(),
        steps: Vec::new(),
        names: HashMap::new(),
        liveness: options
            .dead_variables
            .then(|| liveness::Liveness::find(source)),
        observers: Vec::new(),
        exclusive: exclusive::Claims::new(),
        asking: Vec::new(),
        questions: 0,
        budget,
    };
    lowering.declare();
    if budget.spent().is_some() {
        // Not even all variables are there.
        return Lowered {
            program: ir::Program::new(name),
            growth: HashMap::new(),
            steps: Vec::new(),
            propositions: Vec::new(),
            accepting: ir::Expr::Const(0),
            claims: Vec::new(),
        };
    }
    lowering.solve_channels();
    lowering.find_exclusive();
    lowering.declare_observers();
    lowering.initialise();
    for slot in 0..lowering.slots.len() {
        for instance in 0..lowering.slots[slot].instances.len() {
            lowering.instance_steps(slot, instance);
        }
    }
    lowering.valid_end();
    let mut propositions = Vec::new();
    for expr in &source.propositions {
        let holds = guards::truth(lowering.expr(expr, Context::NOWHERE));
        propositions.push(lowering.program.label(holds));
    }
    let accepting = guards::not(lowering.none_at(|state| state.accept));
    let claims = lowering.claims();
    if options.fuse {
        let origins = ir::fuse::fuse(&mut lowering.program, budget);
        let steps = std::mem::take(&mut lowering.steps);
        let parts = |origin: &usize| steps[*origin].parts.clone();
        lowering.steps = origins
            .iter()
            .map(|all| StepInfo {
                parts: all.iter().flat_map(parts).collect(),
            })
            .collect();
    }
    Lowered {
        program: lowering.program,
        growth: lowering.growth,
        steps: lowering.steps,
        propositions,
        accepting,
        claims,
    }
}

impl<'a> Lowering<'a> {
    fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span) {
        self.tell(Diagnostic::error(code, message, span));
    }

    fn tell(&mut self, message: Diagnostic) {
        // The same statement is lowered once for each process; people want to hear it once.
        let is_same = |d: &Diagnostic| d.code == message.code && d.span == message.span;
        if !self.diagnostics.iter().any(is_same) {
            self.diagnostics.push(message);
        }
    }

    fn type_of(&self, slot: usize, instance: usize) -> &'a hir::Process {
        let process = self.slots[slot].instances[instance].process;
        &self.source.processes[process.0]
    }

    fn location(&self, slot: usize, instance: usize, state: StateNr) -> Option<u32> {
        self.slots[slot].instances[instance]
            .locations
            .get(state)
            .copied()
            .flatten()
    }

    /// Whether there is a process with this number.
    fn alive(&self, slot: usize) -> ir::Expr {
        match self.slots.get(slot) {
            Some(slot) => ir::Expr::binary(
                ir::BinaryOp::NotEqual,
                ir::Expr::Var(slot.counter),
                ir::Expr::Const(0),
            ),
            None => ir::Expr::Const(0),
        }
    }

    fn gone(&self, slot: usize) -> ir::Expr {
        match self.slots.get(slot) {
            Some(slot) => ir::Expr::equal(ir::Expr::Var(slot.counter), ir::Expr::Const(0)),
            None => ir::Expr::Const(1),
        }
    }

    /// All processes are where they may stop.
    fn valid_end(&mut self) {
        let mut all = ir::Expr::Const(1);
        for slot in self.slots.iter().rev() {
            let fine = ir::Expr::binary(
                ir::BinaryOp::LessEqual,
                ir::Expr::Var(slot.counter),
                ir::Expr::Const(slot.valid_until as i32),
            );
            all = guards::and(fine, all);
        }
        // A trace must have come to an end; SPIN does not ask once all processes are gone.
        let followed = guards::or(guards::not(self.alive(0)), self.observers_may_stop());
        all = guards::and(all, followed);
        let label = self.program.named_label(all, "all processes may stop here");
        self.program.valid_end = Some(label);
    }

    /// The text of a span on one line, not too long.
    fn text(&self, span: Span) -> String {
        let text = self.sources.slice(span);
        let mut out = String::new();
        for word in text.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
            if out.chars().count() > 60 {
                out = out.chars().take(57).collect();
                out.push_str("...");
                break;
            }
        }
        out
    }

    fn line(&self, span: Span) -> u32 {
        self.sources.place(span.start).line
    }
}
