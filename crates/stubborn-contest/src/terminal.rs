//! Terminal components: what can happen again and again, wherever one goes.
//!
//! A transition is live if it can fire again from every reachable marking, which is so if and only
//! if it fires in every terminal strongly connected component of the state graph.
//!
//! The same holds of a reduced graph, if its sets are *strong* (every enabled member stays enabled
//! and in place whatever is done outside) and nothing is ignored: every transition that is enabled
//! in a terminal component of the reduced graph is also taken somewhere in it. (Evangelista,
//! "Experimenting with Stubborn Sets on Petri Nets", section 4; Valmari, "The state explosion
//! problem", 1998.) For then a full run `σ` from a reduced state can be followed: where the set
//! contains a transition of `σ`, its first one there comes first; where it does not, any kept
//! transition commutes with all of `σ`, and since nothing is ignored some sequence of such
//! transitions leads to where the first transition of `σ` is in the set. So from the end of `σ`
//! and from the reduced state one comes to a common reduced state: what is dead at the end of
//! `σ` is dead there, and what can fire after `σ` can fire from there in the reduced graph.
//!
//! Where something is ignored, one state of the component is expanded and the search goes on, in
//! the manner of the paper's offline provisos, but for terminal components only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stubborn_net::NetSystem;
use stubborn_store::{
    Batch, Cursor, MemoryBudget, StateHandle, Store, StoreKind, StoreOptions, Worker,
};
use stubborn_system::{BitSet, Expander, Reduction, System};

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Time or memory.
    Limit,
    /// A place had more tokens than fit.
    Overflow,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// For each terminal component, the transitions that fire in it.
    pub(crate) fired: Vec<BitSet>,
}

/// So many states are expanded between looks at the clock.
const PATIENCE: usize = 1 << 10;

/// A graph of states and edges, as it grows.
struct Graph<'g> {
    store: &'g Store,
    worker: Worker<'g>,
    /// The state in hand.
    cursor: Cursor,
    batch: Batch,
    steps: Expander<'g>,
    transitions: usize,
    /// For each state, where its edges begin; they end where `ends` says.
    starts: Vec<u64>,
    ends: Vec<u64>,
    /// The states that edges lead to.
    targets: Vec<u32>,
    /// Whether all transitions of the state were taken.
    full: Vec<bool>,
    budget: Arc<MemoryBudget>,
    reserved: usize,
    deadline: Instant,
}

/// Finds the terminal components of a net's graph, full or reduced.
pub(crate) fn components(
    system: &NetSystem,
    reduction: Option<&dyn Reduction>,
    memory: Option<usize>,
    time: Duration,
) -> Result<Terminal, Failed> {
    let budget = memory.map_or_else(MemoryBudget::unlimited, MemoryBudget::new);
    let options = StoreOptions::new(StoreKind::Plain);
    let words = system.layout().words();
    let store = Store::new(words, &options, &budget).map_err(|_| Failed::Limit)?;
    let deadline = Instant::now()
        .checked_add(time)
        .unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 30));
    let mut graph = Graph {
        store: &store,
        worker: store.worker(),
        cursor: store.cursor(),
        batch: store.batch(),
        steps: Expander::new(system, reduction),
        transitions: system.structure().transitions.len(),
        starts: Vec::new(),
        ends: Vec::new(),
        targets: Vec::new(),
        full: Vec::new(),
        budget: Arc::clone(&budget),
        reserved: 0,
        deadline,
    };
    graph
        .worker
        .insert(&graph.cursor, &system.initial_states(), None)
        .map_err(|_| Failed::Limit)?;
    loop {
        graph.grow()?;
        let terminal = graph.terminal_components();
        let mut fired = Vec::with_capacity(terminal.len());
        let mut ignored = Vec::new();
        for component in &terminal {
            let seen = graph.fired_in(component)?;
            ignored.extend(seen.ignoring);
            fired.push(seen.fired);
        }
        if ignored.is_empty() {
            return Ok(Terminal { fired });
        }
        for state in ignored {
            graph.expand(state as usize, true)?;
        }
    }
}

/// What happens in a component.
struct Seen {
    fired: BitSet,
    /// A state where a transition is enabled that is taken nowhere in the component.
    ignoring: Option<u32>,
}

impl Graph<'_> {
    /// Expands all states that were not.
    fn grow(&mut self) -> Result<(), Failed> {
        let mut state = self.starts.len();
        while (state as u64) < self.store.len() {
            if state.is_multiple_of(PATIENCE) {
                self.look_around()?;
            }
            self.starts.push(0);
            self.ends.push(0);
            self.full.push(false);
            self.expand(state, false)?;
            state += 1;
        }
        Ok(())
    }

    fn look_around(&mut self) -> Result<(), Failed> {
        if Instant::now() >= self.deadline {
            return Err(Failed::Limit);
        }
        let bytes = self.targets.capacity() * 4 + self.starts.capacity() * (8 + 8 + 1 + 12);
        if bytes > self.reserved {
            let more = bytes - self.reserved;
            self.budget.reserve(more).map_err(|_| Failed::Limit)?;
            self.reserved = bytes;
        }
        Ok(())
    }

    /// Computes the edges of a state: those of its set, or all.
    fn expand(&mut self, state: usize, all: bool) -> Result<(), Failed> {
        self.compute(state as u32)?;
        let reduced = !all && self.steps.choose(self.cursor.words());
        self.full[state] = !reduced;
        self.batch.clear();
        for successor in self.steps.successors().iter() {
            if self.steps.keeps(successor.transition) {
                let changed = Some(successor.changed);
                self.batch.push(&self.cursor, successor.state, changed);
            }
        }
        let inserted = self.worker.insert_batch(&mut self.batch);
        let inserted = inserted.map_err(|_| Failed::Limit)?;
        self.starts[state] = self.targets.len() as u64;
        self.targets
            .extend(inserted.iter().map(|i| i.handle.to_bits() as u32));
        self.ends[state] = self.targets.len() as u64;
        Ok(())
    }

    /// Computes all successors of a state.
    fn compute(&mut self, state: u32) -> Result<(), Failed> {
        let handle = StateHandle::from_bits(state.into());
        let loaded = self.worker.load(handle, &mut self.cursor);
        loaded.map_err(|_| Failed::Limit)?;
        let computed = self.steps.compute(self.cursor.words());
        computed.map_err(|_| Failed::Limit)?;
        match self.steps.successors().all_fine() {
            true => Ok(()),
            false => Err(Failed::Overflow),
        }
    }

    fn edges(&self, state: u32) -> &[u32] {
        let (start, end) = (self.starts[state as usize], self.ends[state as usize]);
        &self.targets[start as usize..end as usize]
    }

    /// The transitions that are taken in a component, and whether one is ignored.
    fn fired_in(&mut self, component: &[u32]) -> Result<Seen, Failed> {
        let size = self.transitions;
        let (mut fired, mut enabled) = (BitSet::new(size), BitSet::new(size));
        for state in component {
            self.compute(*state)?;
            if !self.full[*state as usize] {
                self.steps.choose(self.cursor.words());
            }
            for transition in self.steps.successors().transitions() {
                enabled.insert(transition.index());
                if self.steps.keeps(*transition) {
                    fired.insert(transition.index());
                }
            }
        }
        let ignores = |at: &usize| enabled.contains(*at) && !fired.contains(*at);
        let mut ignoring = None;
        if let Some(ignored) = (0..size).find(ignores) {
            for state in component {
                self.compute(*state)?;
                let mut transitions = self.steps.successors().transitions().iter();
                if transitions.any(|t| t.index() == ignored) {
                    ignoring = Some(*state);
                    break;
                }
            }
        }
        Ok(Seen { fired, ignoring })
    }

    /// The components that no edge leaves.
    fn terminal_components(&self) -> Vec<Vec<u32>> {
        let target = |state: u32, edge: usize| self.edges(state).get(edge).copied();
        let count = self.starts.len();
        // Every state can be reached from the first one.
        let roots = (count > 0).then_some(0);
        let (component, number) = stubborn_graph::components(count, roots, target);
        let mut is_left = vec![false; number as usize];
        for state in 0..count as u32 {
            let own = component[state as usize];
            let leaves = |to: &u32| component[*to as usize] != own;
            is_left[own as usize] |= self.edges(state).iter().any(leaves);
        }
        let mut terminal: Vec<Vec<u32>> = vec![Vec::new(); number as usize];
        for state in 0..count as u32 {
            let own = component[state as usize] as usize;
            if !is_left[own] {
                terminal[own].push(state);
            }
        }
        terminal.retain(|members| !members.is_empty());
        terminal
    }
}
