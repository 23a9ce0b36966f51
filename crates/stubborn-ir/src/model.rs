//! A program, checked, packed and ready to run.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use stubborn_system::{
    Budget, Executor, FailureKind, FieldId, FieldKind, Label, LabelId, Layout, Process, ProcessId,
    Property, RelationLevel, Relations, Structure, System, Transition, TransitionId,
};

use crate::chain::Chains;
use crate::effects::Effects;
use crate::interpreter::Interpreter;
use crate::intervals::{Interval, Known};
use crate::{
    BinaryOp, ChannelRef, Encoding, Expr, Overflow, Program, Site, Statement, VarId, VariablePlace,
};

/// Why a [`Program`] cannot be a [`Model`]. Front-ends check their input so that people
/// never see one, except for models that are too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(String);

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

/// A packed program. As a [`System`] it is executed by the interpreter.
///
/// Its commands are sorted by their first process and that process's location (commands
/// without one come first), so that walking processes in order and looking only at the
/// commands of their current locations visits commands in increasing order.
#[derive(Clone, Debug)]
pub struct Model {
    program: Program,
    encoding: Encoding,
    layout: Layout,
    structure: Structure,
    dispatch: Dispatch,
    chains: Chains,
    largest_priority: u8,
    temporaries: usize,
    /// Of all labels, once somebody asked for one.
    truth_tables: OnceLock<Vec<Option<[u64; 4]>>>,
    budget: Arc<Budget>,
}

/// Which commands to look at, by program counters.
#[derive(Clone, Debug)]
struct Dispatch {
    /// Commands that are not bound to a location: always looked at.
    free: Range<u32>,
    /// For each process that starts commands: the field of its program counter and, by
    /// location, its commands.
    processes: Vec<(FieldId, Vec<Range<u32>>)>,
}

impl Model {
    /// Checks and packs a program, sorting its commands.
    pub fn new(program: Program) -> Result<Self, ModelError> {
        Self::within(program, Arc::default())
    }

    /// The same, with what this and everything that is done about the model may take. Fails also
    /// if that is too little.
    pub fn within(mut program: Program, budget: Arc<Budget>) -> Result<Self, ModelError> {
        let poll = || match budget.poll() {
            None => Ok(()),
            Some(spent) => Err(ModelError(spent.to_string())),
        };
        budget.begin("packing the model");
        check(&program)?;
        program.commands.sort_by_key(dispatch_key);
        let chains = Chains::new(&program);
        poll()?;
        let mut own: Vec<bool> = Vec::with_capacity(program.commands.len());
        for c in &program.commands {
            poll()?;
            own.push(!c.never_fails && may_fail(&program, c, &|_| Some(HashMap::new())));
        }
        let fails: Vec<bool> = (0..own.len())
            .map(|c| {
                own[c]
                    || chains.may_repeat(c)
                    || chains.followers(c).iter().any(|f| own[*f as usize])
            })
            .collect();
        let asserts: Vec<bool> = program
            .commands
            .iter()
            .map(|c| c.body.iter().any(Statement::asserts))
            .collect();
        let with_error_state = fails.iter().any(|f| *f);
        let (encoding, layout) = Encoding::new(&program, with_error_state);
        let structure = structure(
            &program,
            &encoding,
            &layout,
            &chains,
            (&fails, &asserts, &budget),
        );
        poll()?;
        let dispatch = Dispatch::new(&program, &encoding);
        let largest_priority = program
            .commands
            .iter()
            .map(|c| c.priority)
            .max()
            .unwrap_or(0);
        let temporaries = program.temporaries();
        Ok(Self {
            program,
            encoding,
            layout,
            structure,
            dispatch,
            chains,
            largest_priority,
            temporaries,
            truth_tables: OnceLock::new(),
            budget,
        })
    }

    /// The transitions that have a [failure](Statement::Fail) at one of these sites in them, or in
    /// what follows in their chain.
    pub fn transitions_failing_at(&self, is_one: &dyn Fn(Site) -> bool) -> Vec<TransitionId> {
        let commands = &self.program.commands;
        let fails: Vec<bool> = commands
            .iter()
            .map(|command| command.body.iter().any(|s| s.fails_at(is_one)))
            .collect();
        let follow = |at: usize| self.chains.followers(at).iter();
        (0..commands.len())
            .filter(|at| fails[*at] || follow(*at).any(|f| fails[*f as usize]))
            .map(TransitionId::new)
            .collect()
    }

    /// The same, with what everything that is done about it may take.
    #[must_use]
    pub fn with_budget(self, budget: Arc<Budget>) -> Self {
        Self { budget, ..self }
    }

    /// What everything that is done about it may take.
    pub fn shared_budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// The program, with sorted commands.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where variables and channels lie.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// What can follow within a transition; see [`crate::chain`].
    pub fn chains(&self) -> &Chains {
        &self.chains
    }

    /// How many temporaries bodies use.
    pub(crate) fn temporaries(&self) -> usize {
        self.temporaries
    }

    /// Largest priority number of any command.
    pub fn largest_priority(&self) -> u8 {
        self.largest_priority
    }

    /// Whether this is the state of a failed execution.
    #[inline]
    pub fn is_error(&self, state: &[u32]) -> bool {
        self.encoding
            .failed
            .is_some_and(|f| self.layout.field(f).raw(state) != 0)
    }

    /// Ranges of commands that may be enabled by the program counters of `state`, in
    /// increasing order.
    pub fn candidates<'a>(&'a self, state: &'a [u32]) -> impl Iterator<Item = Range<u32>> + 'a {
        let at = |(field, by_location): &'a (FieldId, Vec<Range<u32>>)| {
            by_location[self.layout.field(*field).raw(state) as usize].clone()
        };
        std::iter::once(self.dispatch.free.clone()).chain(self.dispatch.processes.iter().map(at))
    }

    /// Commands that a process starts from where it is in `state`.
    pub fn commands_of(&self, process: ProcessId, state: &[u32]) -> Range<u32> {
        let counter = self.program.processes[process.index()].counter;
        let field = self.encoding.first_field(counter);
        let found = self.dispatch.processes.iter().find(|(f, _)| *f == field);
        // A state that no run can reach may hold any bits.
        found
            .and_then(|(field, by_location)| {
                by_location.get(self.layout.field(*field).raw(state) as usize)
            })
            .cloned()
            .unwrap_or(0..0)
    }

    fn find_truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
        let [field] = self.structure.label(label).tests[..] else {
            return None;
        };
        let field = self.layout.field(field);
        let last = field.max.abs_diff(field.min);
        let mut interpreter = Interpreter::new(self);
        let mut state = vec![0; self.layout.words()];
        let mut table = [0; 4];
        for raw in 0..=(last < 256).then_some(last)? {
            field.set(&mut state, field.min + raw as i64);
            table[raw as usize / 64] |= u64::from(interpreter.label(&state, label)) << (raw % 64);
        }
        Some(table)
    }

    /// Commands not bound to a location.
    pub fn free_commands(&self) -> Range<u32> {
        self.dispatch.free.clone()
    }

    /// For each process that starts commands: the field of its program counter and its
    /// commands by location.
    pub fn commands_by_location(&self) -> &[(FieldId, Vec<Range<u32>>)] {
        &self.dispatch.processes
    }
}

impl System for Model {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        let mut state = vec![0; self.layout.words()];
        for (variable, place) in self.program.variables.iter().zip(&self.encoding.variables) {
            let first = match place {
                VariablePlace::Scalar(field) => *field,
                VariablePlace::Array(place) => place.first,
            };
            for (i, value) in variable.initial.iter().enumerate() {
                let field = FieldId::new(first.index() + i);
                self.layout.field(field).set(&mut state, i64::from(*value));
            }
        }
        state
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(Interpreter::new(self))
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        crate::analysis::relations(self, level)
    }

    fn relations_of_strong_sets(&self, level: RelationLevel) -> Relations {
        crate::analysis::relations_of_strong_sets(self, level)
    }

    fn truth_table(&self, label: LabelId) -> Option<[u64; 4]> {
        let all = || self.structure.label_ids().map(|l| self.find_truth_table(l));
        self.truth_tables.get_or_init(|| all().collect())[label.index()]
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Fields of messages have the names of their types, too.
    fn value_text(&self, field: FieldId, value: i64) -> String {
        if let FieldKind::ChannelCell(channel) = &self.layout.field(field).kind {
            let items = &self.encoding.channels[channel.index()].items;
            let holds = |first: FieldId, len: u32| {
                (first.index()..first.index() + len as usize).contains(&field.index())
            };
            let at = items.iter().position(|item| holds(item.first, item.len));
            let declared = at.and_then(|at| self.program.channels[channel.index()].items.get(at));
            let name = declared.and_then(|item| {
                let at = usize::try_from(value - i64::from(item.min)).ok()?;
                item.names.get(at)
            });
            if let Some(name) = name {
                return name.clone();
            }
        }
        self.layout.value_text(field, value)
    }
}

fn dispatch_key(command: &crate::Command) -> (usize, u32) {
    match (command.processes.first(), command.sources.first()) {
        (Some(process), Some(Some(location))) => (process.index() + 1, *location),
        _ => (0, 0),
    }
}

impl Dispatch {
    fn new(program: &Program, encoding: &Encoding) -> Self {
        let keys: Vec<_> = program.commands.iter().map(dispatch_key).collect();
        let range = |key: (usize, u32)| {
            let from = keys.partition_point(|k| *k < key) as u32;
            from..keys.partition_point(|k| *k <= key) as u32
        };
        let processes = program
            .processes
            .iter()
            .enumerate()
            .filter_map(|(at, process)| {
                let locations = 0..process.locations.len() as u32;
                let by_location: Vec<_> = locations.map(|l| range((at + 1, l))).collect();
                by_location
                    .iter()
                    .any(|r| !r.is_empty())
                    .then(|| (encoding.first_field(process.counter), by_location))
            });
        Self {
            free: range((0, 0)),
            processes: processes.collect(),
        }
    }
}

/// What values variables can have.
pub(crate) type Ranges = HashMap<VarId, Interval>;

/// Whether a command can end in failure: in its guards or in its body. `ranges` tells what values
/// variables can have where the guards at these positions hold, beside what is declared; `None`
/// if that is nowhere.
pub(crate) fn may_fail(
    program: &Program,
    command: &crate::Command,
    ranges: &dyn Fn(&[usize]) -> Option<Ranges>,
) -> bool {
    let guard = |at: usize| &program.labels[command.guards[at].index()].expr;
    // A guard that fails counts as true, so that nothing follows from its being true. What was
    // found not to fail does hold.
    let mut holding: Vec<usize> = Vec::new();
    let mut known;
    loop {
        let Some(ranges) = ranges(&holding) else {
            return false;
        };
        known = (holding.iter()).fold(Known::ranges(ranges), |known, at| {
            known.and(guard(*at), true)
        });
        let fine =
            |at: &usize| !holding.contains(at) && !program.may_fail_given(guard(*at), &known);
        let more: Vec<usize> = (0..command.guards.len()).filter(fine).collect();
        if more.is_empty() {
            break;
        }
        holding.extend(more);
    }
    holding.len() < command.guards.len()
        || program.body_may_fail(
            &command.body,
            channel_use_is_guarded(program, command),
            &known,
        )
}

/// All sends and receives, at any depth.
fn channel_uses<'a>(body: &'a [Statement], uses: &mut Vec<&'a Statement>) {
    for statement in body {
        match statement {
            Statement::Send { .. } | Statement::Receive { .. } => uses.push(statement),
            Statement::If {
                then, otherwise, ..
            } => {
                channel_uses(then, uses);
                channel_uses(otherwise, uses);
            }
            Statement::While { body, .. } => channel_uses(body, uses),
            _ => {}
        }
    }
}

fn used_channel(statement: &Statement) -> Option<&ChannelRef> {
    match statement {
        Statement::Send { channel, .. } | Statement::Receive { channel, .. } => Some(channel),
        _ => None,
    }
}

/// True if the guards say that each channel operation of the body finds room or a message.
///
/// A reference that is evaluated after something else happened may denote another channel
/// than the guards looked at.
fn channel_use_is_guarded(program: &Program, command: &crate::Command) -> bool {
    let mut uses = Vec::new();
    channel_uses(&command.body, &mut uses);
    let denoted = uses.iter().any(|statement| match statement {
        Statement::Send { channel, .. } | Statement::Receive { channel, .. } => {
            matches!(channel, ChannelRef::Denoted { .. })
        }
        _ => false,
    });
    let alone_and_first = uses.len() == 1
        && command
            .body
            .first()
            .is_some_and(|first| std::ptr::eq(first, uses[0]));
    if denoted && !alone_and_first {
        return false;
    }
    let guarded_by = |condition: &Expr| {
        command
            .guards
            .iter()
            .any(|g| &program.labels[g.index()].expr == condition)
    };
    // Each channel is used once, so that what the guards say still holds then.
    let distinct = uses.iter().enumerate().all(|(at, one)| {
        uses[..at]
            .iter()
            .all(|other| match (used_channel(one), used_channel(other)) {
                (Some(a), Some(b)) => a.targets().all(|c| b.targets().all(|d| c != d)),
                _ => true,
            })
    });
    distinct
        && uses.iter().all(|one| match one {
            Statement::Send { channel, .. } => {
                program.has_room(channel).is_some_and(|c| guarded_by(&c))
            }
            Statement::Receive { channel, .. } => guarded_by(&Program::has_message(channel)),
            _ => true,
        })
}

impl Program {
    /// The guard that says that a channel is not full, if its targets have one capacity.
    pub fn has_room(&self, channel: &ChannelRef) -> Option<Expr> {
        let mut capacities = channel.targets().map(|c| self.channels[c.index()].capacity);
        let first = capacities.next()?;
        let same = capacities.all(|c| c == first);
        let length = Expr::Length(channel.clone());
        same.then(|| Expr::less(length, Expr::Const(first as i32)))
    }

    /// The guard that says that a channel is not empty.
    pub fn has_message(channel: &ChannelRef) -> Expr {
        Expr::binary(
            BinaryOp::Greater,
            Expr::Length(channel.clone()),
            Expr::Const(0),
        )
    }
}

fn structure(
    program: &Program,
    encoding: &Encoding,
    layout: &Layout,
    chains: &Chains,
    (fails, asserts, budget): (&[bool], &[bool], &Budget),
) -> Structure {
    let labels = program.labels.iter().map(|label| {
        let mut effects = Effects::new(program, encoding);
        effects.expression(&label.expr);
        let text = label
            .text
            .clone()
            .unwrap_or_else(|| program.text(&label.expr));
        Label {
            text,
            tests: effects.finish().0,
        }
    });
    let transitions =
        program
            .commands
            .iter()
            .zip(fails)
            .enumerate()
            .map(|(at, (command, may_fail))| {
                let mut effects = Effects::new(program, encoding);
                effects.body(&command.body);
                // A long chain has all that comes later as followers, each of its commands again.
                let is_over = budget.poll().is_some();
                for follower in chains.followers(at).iter().filter(|_| !is_over) {
                    let follower = &program.commands[*follower as usize];
                    for guard in &follower.guards {
                        effects.expression(&program.labels[guard.index()].expr);
                    }
                    effects.body(&follower.body);
                }
                let (reads, writes) = effects.finish();
                Transition {
                    name: command.name.clone(),
                    processes: command.processes.clone(),
                    sources: command.sources.clone(),
                    guards: command.guards.clone(),
                    reads,
                    writes,
                    deterministic: command.continues.is_none(),
                    may_fail: *may_fail,
                    may_violate: asserts[at]
                        || chains.followers(at).iter().any(|f| asserts[*f as usize]),
                    priority: command.priority,
                    span: command.span,
                }
            });
    let processes = program.processes.iter().map(|process| Process {
        name: process.name.clone(),
        location: Some(encoding.first_field(process.counter)),
        locations: process.locations.clone(),
    });
    let properties = program.properties.iter().map(|property| Property {
        name: property.name.clone(),
        kind: property.kind,
        violated_by: property.violated_by,
        span: property.span,
    });
    let error_state = encoding.failed.map(|field| {
        let mut state = vec![0; layout.words()];
        layout.field(field).set(&mut state, 1);
        state
    });
    Structure {
        transitions: transitions.collect(),
        labels: labels.collect(),
        processes: processes.collect(),
        properties: properties.collect(),
        failures: program.failures.clone(),
        error_state,
        valid_end: program.valid_end,
        passive_partners: program.passive_partners,
    }
}

/// Most bits that all variables together may take: a state of 64 MiB.
const LARGEST_STATE_BITS: u64 = 1 << 29;

fn check(program: &Program) -> Result<(), ModelError> {
    let fail = |text: String| Err(ModelError(text));
    let mut bits = 0_u64;
    let items = program
        .variables
        .iter()
        .map(|v| (&v.name, &v.item, v.len.unwrap_or(1)))
        .chain(
            program
                .channels
                .iter()
                .flat_map(|c| c.items.iter().map(move |item| (&c.name, item, c.capacity))),
        );
    for (name, item, count) in items {
        if item.min > item.max {
            return fail(format!(
                "{name} has the empty range {}..{}",
                item.min, item.max
            ));
        }
        let size = i64::from(item.max) - i64::from(item.min) + 1;
        if item.overflow == Overflow::Wrap && size & (size - 1) != 0 {
            return fail(format!(
                "{name} wraps over {size} values, which is no power of two"
            ));
        }
        bits += 32 * u64::from(count);
    }
    for variable in &program.variables {
        let name = &variable.name;
        if variable.len == Some(0) {
            return fail(format!("the array {name} has no elements"));
        }
        if variable.initial.len() != variable.len.unwrap_or(1) as usize {
            return fail(format!(
                "{name} has {} initial values",
                variable.initial.len()
            ));
        }
        if let Some(value) = variable
            .initial
            .iter()
            .find(|v| !variable.item.contains(**v))
        {
            return fail(format!(
                "the initial value {value} of {name} is out of its range"
            ));
        }
        if variable
            .owner
            .is_some_and(|p: ProcessId| p.index() >= program.processes.len())
        {
            return fail(format!("{name} belongs to a process that does not exist"));
        }
    }
    if bits > LARGEST_STATE_BITS {
        return fail(format!("a state would take {} MiB", bits / (8 << 20)));
    }
    for command in &program.commands {
        let known = command
            .guards
            .iter()
            .all(|g| g.index() < program.labels.len());
        if !known || command.processes.len() != command.sources.len() {
            return fail(format!("the command {} is not well-formed", command.name));
        }
    }
    if program
        .failures
        .iter()
        .any(|f| f.kind == FailureKind::Assertion && f.message.is_empty())
    {
        return fail("an assertion without a message".into());
    }
    Ok(())
}
