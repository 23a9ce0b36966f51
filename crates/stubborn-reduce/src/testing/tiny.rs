//! Systems of a few small variables whose guards and effects are plain functions.

use stubborn_system::layout::LayoutBuilder;
use stubborn_system::{
    Executor, FailureKind, FailureSite, FieldId, FieldKind, Label, LabelId, Layout, Outcome,
    Process, ProcessId, Structure, Successors, System, Transition, TransitionId,
};

type Predicate = Box<dyn Fn(&[i64]) -> bool + Send + Sync>;
type Effect = Box<dyn Fn(&[i64]) -> Vec<Option<Vec<i64>>> + Send + Sync>;

/// A system given by functions on the values of its variables.
pub struct Tiny {
    layout: Layout,
    structure: Structure,
    ranges: Vec<i64>,
    failed: FieldId,
    predicates: Vec<Predicate>,
    effects: Vec<Effect>,
    initial: Vec<i64>,
}

impl std::fmt::Debug for Tiny {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.structure.transitions.iter().map(|t| &t.name);
        f.debug_list().entries(names).finish()
    }
}

impl Tiny {
    /// Variables `x0`, `x1`, … of the ranges `0..sizes[i]`, all 0 at first.
    pub fn new(sizes: &[i64]) -> Self {
        let mut builder = LayoutBuilder::new();
        for (at, size) in sizes.iter().enumerate() {
            builder.field(format!("x{at}"), (0, size - 1), FieldKind::Integer, None);
        }
        let failed = builder.field("failed", (0, 1), FieldKind::Failed, None);
        let layout = builder.finish();
        let mut error = vec![0; layout.words()];
        layout.field(failed).set(&mut error, 1);
        Self {
            layout,
            structure: Structure {
                failures: vec![FailureSite {
                    kind: FailureKind::Other,
                    message: "a step failed".into(),
                    span: None,
                }],
                error_state: Some(error),
                ..Structure::default()
            },
            ranges: sizes.to_vec(),
            failed,
            predicates: Vec::new(),
            effects: Vec::new(),
            initial: vec![0; sizes.len()],
        }
    }

    /// Starts from these values instead of zeros.
    pub fn start_at(&mut self, values: &[i64]) {
        self.initial = values.to_vec();
    }

    /// Adds a process whose program counter is a variable.
    pub fn process(&mut self, counter: usize) -> ProcessId {
        let locations = (0..self.ranges[counter]).map(|l| l.to_string());
        self.structure.processes.push(Process {
            name: format!("P{}", self.structure.processes.len()),
            location: Some(FieldId::new(counter)),
            locations: locations.collect(),
        });
        ProcessId::new(self.structure.processes.len() - 1)
    }

    /// Adds a label that depends on some variables.
    pub fn label(
        &mut self,
        text: impl Into<String>,
        tests: &[usize],
        holds: impl Fn(&[i64]) -> bool + Send + Sync + 'static,
    ) -> LabelId {
        self.structure.labels.push(Label {
            text: text.into(),
            tests: fields(tests),
        });
        self.predicates.push(Box::new(holds));
        LabelId::new(self.predicates.len() - 1)
    }

    /// Adds a transition. The effect gives its successors, `None` for a failed step.
    pub fn transition(
        &mut self,
        description: Transition,
        effect: impl Fn(&[i64]) -> Vec<Option<Vec<i64>>> + Send + Sync + 'static,
    ) -> TransitionId {
        self.structure.transitions.push(description);
        self.effects.push(Box::new(effect));
        TransitionId::new(self.effects.len() - 1)
    }

    /// Adds a deterministic transition that reads and writes these variables.
    pub fn simple(
        &mut self,
        name: &str,
        guards: &[LabelId],
        (reads, writes): (&[usize], &[usize]),
        effect: impl Fn(&mut [i64]) + Send + Sync + 'static,
    ) -> TransitionId {
        let description = Transition {
            name: name.into(),
            guards: guards.to_vec(),
            reads: fields(reads),
            writes: fields(writes),
            deterministic: true,
            ..Transition::default()
        };
        self.transition(description, move |values| {
            let mut values = values.to_vec();
            effect(&mut values);
            vec![Some(values)]
        })
    }

    /// Every combination of values, reachable or not.
    pub fn all_states(&self) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new()];
        for size in &self.ranges {
            all = all
                .iter()
                .flat_map(|values: &Vec<i64>| {
                    (0..*size).map(move |v| {
                        let mut values = values.clone();
                        values.push(v);
                        values
                    })
                })
                .collect();
        }
        all.iter().map(|values| self.pack(values)).collect()
    }

    /// The state with these values.
    pub fn pack(&self, values: &[i64]) -> Vec<u32> {
        let mut state = vec![0; self.layout.words()];
        for (field, value) in self.layout.fields().iter().zip(values) {
            field.set(&mut state, *value);
        }
        state
    }

    fn unpack(&self, state: &[u32]) -> Vec<i64> {
        let fields = &self.layout.fields()[..self.ranges.len()];
        fields.iter().map(|f| f.get(state)).collect()
    }

    fn is_error(&self, state: &[u32]) -> bool {
        self.layout.get(state, self.failed) == 1
    }

    fn guards_hold(&self, values: &[i64], transition: &Transition) -> bool {
        let holds = |g: &LabelId| self.predicates[g.index()](values);
        transition.guards.iter().all(holds)
    }

    /// The smallest priority number of a transition whose guards hold.
    fn urgency(&self, values: &[i64]) -> u8 {
        let ready = self.structure.transitions.iter();
        let ready = ready.filter(|t| self.guards_hold(values, t));
        ready.map(|t| t.priority).min().unwrap_or(0)
    }
}

/// Numbers of variables as fields, sorted.
pub fn fields(variables: &[usize]) -> Vec<FieldId> {
    let mut fields: Vec<_> = variables.iter().map(|v| FieldId::new(*v)).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

impl System for Tiny {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn structure(&self) -> &Structure {
        &self.structure
    }

    fn initial_states(&self) -> Vec<u32> {
        self.pack(&self.initial)
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(TinyExecutor(self))
    }
}

struct TinyExecutor<'t>(&'t Tiny);

impl Executor for TinyExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        for transition in self.0.structure.transition_ids() {
            self.fire(state, transition, out);
        }
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        let system = self.0;
        let values = system.unpack(state);
        let description = system.structure.transition(transition);
        if system.is_error(state)
            || !system.guards_hold(&values, description)
            || description.priority > system.urgency(&values)
        {
            return;
        }
        for successor in system.effects[transition.index()](&values) {
            match (successor, &system.structure.error_state) {
                (Some(values), _) => {
                    let state_after = system.pack(&values);
                    out.push(transition, state, &state_after, Outcome::FINE);
                }
                (None, Some(error)) => out.push(transition, state, error, Outcome::failure(0)),
                (None, None) => {}
            }
        }
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.0.predicates[label.index()](&self.0.unpack(state))
    }
}
