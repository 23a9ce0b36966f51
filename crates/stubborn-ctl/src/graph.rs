//! The part of a state space that was looked at: numbered states and their successors.
//!
//! Formulas of one model share a graph, so that each state is expanded once, however many
//! formulas and parts of formulas are decided in it.
//!
//! # Leaving out steps
//!
//! For formulas without next, a graph may be [reduced](Graph::reduced): a state keeps all its steps, or
//! one that nobody sees and that commutes with whatever else may happen before it. Such a state and
//! its successor are branching bisimilar, so nothing is lost as long as every chain of such steps leads
//! on to a state where all are kept (Gerth, Kuiper, Peled and Penczek, "A partial order approach to
//! branching time logic model checking", 1999). Since a reduced state has one successor, a chain that
//! would close is noticed by following it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rapidhash::RapidHashMap;
use stubborn_search::Limits;
use stubborn_store::{
    Cursor, MemoryBudget, StateHandle, Store, StoreError, StoreKind, StoreOptions, Worker,
};
use stubborn_system::{Expander, LabelId, Outcome, Reduction, Spent, System};

/// The number of a state in a [`Graph`].
pub type StateNumber = u32;

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The limit of states was reached.
    States,
    /// The limit of memory was reached.
    Memory,
    /// The time is up.
    Time,
    /// Somebody asked to stop.
    Interrupted,
    /// A step fails, here at this site: what comes after it is not defined.
    Failure(usize),
    /// A proposition, here this label, has no value in a state.
    Undefined(LabelId),
}

impl From<StoreError> for Stop {
    fn from(_: StoreError) -> Self {
        Stop::Memory
    }
}

/// Expansions between two looks at the clock.
const LOOK_EVERY: u32 = 256;

/// Successors of a state that were not asked for yet.
const UNKNOWN: (u32, u32) = (u32::MAX, 0);

/// Room for the states of a [`Graph`].
pub struct Space {
    store: Store,
    memory: Arc<MemoryBudget>,
}

impl Space {
    /// Room for states of this system, within limits.
    pub fn new(system: &dyn System, limits: &Limits<'_>) -> Result<Self, Stop> {
        let options = StoreOptions::new(StoreKind::Plain);
        let memory = limits.memory_budget(system);
        let store = Store::new(system.layout().words(), &options, &memory)?;
        Ok(Self { store, memory })
    }

    /// Bytes of its tables.
    pub fn bytes(&self) -> usize {
        self.store.bytes()
    }
}

/// States and successors, as far as they were asked for.
pub struct Graph<'g> {
    system: &'g dyn System,
    steps: Expander<'g>,
    worker: Worker<'g>,
    cursor: Cursor,
    empty: Cursor,
    initial: Vec<StateNumber>,
    /// Where the successors of each state are.
    rows: Vec<(u32, u32)>,
    successors: Vec<StateNumber>,
    limits: Limits<'g>,
    end: Option<Instant>,
    memory: Arc<MemoryBudget>,
    /// What of the memory was taken for tables here.
    reserved: usize,
    until_look: u32,
    /// Labels that may have no value, each with the label that holds where it has none.
    partial: Vec<(LabelId, LabelId)>,
    /// Of states that keep one step of several, a state that they lead to by such steps.
    onward: RapidHashMap<StateNumber, StateNumber>,
}

impl<'g> Graph<'g> {
    /// A graph of which nothing is known.
    pub fn new(system: &'g dyn System, space: &'g Space, limits: &Limits<'g>) -> Self {
        Self::reduced(system, space, limits, None)
    }

    /// The same, perhaps with a reduction: for formulas without next about labels whose branching
    /// structure it keeps, which is to say that it keeps all steps of a state, or a single one
    /// that is not seen. The graph adds the cycle proviso.
    pub fn reduced(
        system: &'g dyn System,
        space: &'g Space,
        limits: &Limits<'g>,
        reduction: Option<&'g dyn Reduction>,
    ) -> Self {
        let store = &space.store;
        let mut graph = Self {
            system,
            steps: Expander::new(system, reduction),
            worker: store.worker(),
            cursor: store.cursor(),
            empty: store.cursor(),
            initial: Vec::new(),
            // States that an earlier graph has left there.
            rows: vec![UNKNOWN; store.len() as usize],
            successors: Vec::new(),
            end: None,
            memory: Arc::clone(&space.memory),
            limits: *limits,
            reserved: 0,
            until_look: 0,
            partial: Vec::new(),
            onward: RapidHashMap::default(),
        };
        graph.restart(limits.time);
        graph
    }

    /// A new time, from now on; what is known stays.
    pub fn restart(&mut self, time: Option<std::time::Duration>) {
        self.end = time.and_then(|time| Instant::now().checked_add(time));
        self.until_look = 0;
    }

    /// Says which labels may have no value: each with the label that holds where it has none.
    pub fn watch(&mut self, partial: Vec<(LabelId, LabelId)>) {
        self.partial = partial;
    }

    /// The model.
    pub fn system(&self) -> &'g dyn System {
        self.system
    }

    /// How many states are known.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many steps are known.
    pub fn transitions(&self) -> usize {
        self.successors.len()
    }

    /// Whether no state is known yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The initial states.
    pub fn initial(&mut self) -> Result<Vec<StateNumber>, Stop> {
        if self.initial.is_empty() {
            let words = self.system.layout().words();
            let all = self.system.initial_states();
            let count = all.len().checked_div(words).unwrap_or(1).max(1);
            for number in 0..count {
                let state = &all[number * words..(number + 1) * words];
                let inserted = self.worker.insert(&self.empty, state, None)?;
                let number = number_of(inserted.handle);
                if inserted.is_new {
                    self.rows.push(UNKNOWN);
                }
                self.initial.push(number);
            }
        }
        Ok(self.initial.clone())
    }

    /// The words of a state.
    pub fn state(&mut self, state: StateNumber) -> Result<&[u32], Stop> {
        self.load(state)?;
        Ok(self.cursor.words())
    }

    fn load(&mut self, state: StateNumber) -> Result<(), Stop> {
        let handle = StateHandle::from_bits(state.into());
        // A plain store keeps every state.
        self.worker
            .load(handle, &mut self.cursor)
            .map_err(|_| Stop::Memory)
    }

    /// Whether a label holds in a state.
    pub fn label(&mut self, state: StateNumber, label: LabelId) -> Result<bool, Stop> {
        self.load(state)?;
        let words = self.cursor.words();
        let mut fails = self.partial.iter().filter(|(partial, _)| *partial == label);
        let executor = self.steps.executor();
        if fails.any(|(_, fails)| executor.label(words, *fails)) {
            return Err(Stop::Undefined(label));
        }
        Ok(executor.label(words, label))
    }

    /// How many successors a state has.
    pub fn degree(&mut self, state: StateNumber) -> Result<u32, Stop> {
        if self.rows[state as usize].0 == UNKNOWN.0 {
            self.expand(state)?;
        }
        Ok(self.rows[state as usize].1)
    }

    /// A successor of a state whose [degree](Self::degree) was asked for.
    pub fn successor(&self, state: StateNumber, number: u32) -> StateNumber {
        let (start, _) = self.rows[state as usize];
        self.successors[(start + number) as usize]
    }

    fn expand(&mut self, state: StateNumber) -> Result<(), Stop> {
        self.look()?;
        self.load(state)?;
        // Successors are complete unless the budget is spent.
        self.steps.compute(self.cursor.words()).map_err(stop)?;
        let outcomes = self.steps.successors();
        let mut outcomes = (0..outcomes.len()).map(|number| outcomes.outcome(number));
        if let Some(site) = outcomes.find_map(|outcome| match outcome {
            Outcome::FINE => None,
            other => other.failed(),
        }) {
            return Err(Stop::Failure(site));
        }
        let reduced = self.steps.choose(self.cursor.words());
        let start = self.successors.len();
        self.add_successors(start, false)?;
        if reduced && !self.leads_on(state, self.successors[start]) {
            self.add_successors(start, true)?;
        }
        let count = self.successors.len() - start;
        let start = u32::try_from(start).map_err(|_| Stop::Memory)?;
        self.rows[state as usize] = (start, count as u32);
        Ok(())
    }

    /// Adds the successors that are kept, or all, to those that begin at `start`.
    fn add_successors(&mut self, start: usize, all: bool) -> Result<(), Stop> {
        for successor in self.steps.successors().iter() {
            if !all && !self.steps.keeps(successor.transition) {
                continue;
            }
            let inserted = self.worker.insert(&self.empty, successor.state, None)?;
            if inserted.is_new {
                self.rows.push(UNKNOWN);
            }
            let target = number_of(inserted.handle);
            if !self.successors[start..].contains(&target) {
                self.successors.push(target);
            }
        }
        Ok(())
    }

    /// Takes note that a state keeps one step alone; false if that would close a chain of such steps.
    fn leads_on(&mut self, state: StateNumber, target: StateNumber) -> bool {
        let mut end = target;
        while let Some(next) = self.onward.get(&end) {
            end = *next;
        }
        // The next one who comes along has a shorter way.
        let mut at = target;
        while let Some(next) = self.onward.get_mut(&at) {
            at = std::mem::replace(next, end);
        }
        if end == state {
            return false;
        }
        self.onward.insert(state, end);
        true
    }

    /// Takes memory for tables about the states of this graph.
    pub(crate) fn account(&mut self, bytes: usize) -> Result<(), Stop> {
        self.memory.reserve(bytes).map_err(|_| Stop::Memory)
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.memory.release(bytes);
    }

    /// Whether something may be said about the system: not if an executor may have given up, or if
    /// the model was too small. A state that was left out has ended the evaluation by then if the answer
    /// depends on it, as every step that fails has; others may have been left out elsewhere.
    pub(crate) fn conclude(&self) -> Result<(), Stop> {
        self.system
            .budget()
            .void()
            .map_or(Ok(()), |spent| Err(stop(spent)))
    }

    fn look(&mut self) -> Result<(), Stop> {
        let states = self.rows.len() as u64;
        if self.limits.states.is_some_and(|most| states > most) {
            return Err(Stop::States);
        }
        if self.until_look > 0 {
            self.until_look -= 1;
            return Ok(());
        }
        self.until_look = LOOK_EVERY;
        let interrupted = self.limits.interrupt;
        if interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(Stop::Interrupted);
        }
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return Err(Stop::Time);
        }
        if let Some(spent) = self.system.budget().poll() {
            return Err(stop(spent));
        }
        let tables = self.rows.capacity() * size_of::<(u32, u32)>()
            + self.onward.capacity() * size_of::<(StateNumber, StateNumber)>()
            + self.successors.capacity() * size_of::<StateNumber>();
        if tables > self.reserved {
            self.account(tables - self.reserved)?;
            self.reserved = tables;
        }
        Ok(())
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        self.memory.release(self.reserved);
    }
}

fn stop(spent: Spent) -> Stop {
    match spent {
        Spent::Time => Stop::Time,
        Spent::Memory => Stop::Memory,
        Spent::Interrupted | Spent::Outgrown | Spent::LeftOut => Stop::Interrupted,
    }
}

/// A plain store numbers states from 0 on.
fn number_of(handle: StateHandle) -> StateNumber {
    handle.to_bits() as StateNumber
}
