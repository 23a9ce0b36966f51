//! `ample1`, `ample2`: sets made of whole processes.
//!
//! Geldenhuys, Hansen, Valmari, *Exploring the scope for partial order reduction* (2009),
//! sections 3.2 and 3.3. `ample1` takes all enabled transitions of one process (there must be
//! some, which proposition 1 there forgets to ask) if nothing outside the process depends on
//! them or precedes its disabled local transitions. `ample2` draws an edge from a process to
//! each one that stands in its way, and takes the enabled transitions of a component that
//! reaches no other component with enabled ones. Proposition 2 there assumes that only a
//! process itself moves its program counter; where others do, they get an edge too.
//!
//! In terms of stubborn sets: the set is all transitions of the chosen processes; an enabled
//! one has its do-not-accord row in it, a disabled one at the current location all that may
//! enable any of its guards (or it, where that is known), one at another location whoever moves the program counter.
//! A rendez-vous belongs to both of its processes. A transition without a process is a process
//! of its own.

use stubborn_system::{
    BitSet, Field, FieldId, Matrix, Reason, Relations, SetMember, System, TransitionId,
};

use crate::algorithm::SetAlgorithm;
use crate::config::{Algorithm, Choice, ConfigError, Settings};
use crate::rows::{has, ones_of, put};
use crate::tables::Tables;
use crate::view::View;

/// A transition as one of its processes sees it.
#[derive(Debug)]
struct Local {
    transition: u32,
    /// Processes of transitions that do not accord with it.
    dependent: Vec<u64>,
    /// Processes of transitions that may enable one of its guards.
    preceding: Vec<u64>,
    /// It has a source location in this process.
    located: bool,
}

/// A process, or a transition that belongs to none.
#[derive(Debug)]
struct Node {
    counter: Option<Field>,
    /// Indices into the locals: those at no location, and those at each location.
    anywhere: Vec<usize>,
    at_location: Vec<Vec<usize>>,
    /// Other processes that write the program counter.
    remote_writers: Vec<u64>,
}

/// The processes of a system and how they depend on each other. Shared by all threads.
#[derive(Debug)]
pub(crate) struct Processes {
    nodes: Vec<Node>,
    locals: Vec<Local>,
    /// Node to its transitions.
    transitions: Vec<Vec<u32>>,
    words: usize,
}

impl Processes {
    pub(crate) fn new(
        system: &dyn System,
        tables: &Tables,
        relations: &Relations,
        enablers: Option<&Matrix<TransitionId, TransitionId>>,
    ) -> Result<Self, ConfigError> {
        let structure = system.structure();
        if structure.processes.is_empty() {
            return Err(ConfigError::new(
                "ample sets are made of processes, and this model has none; choose another \
                 reduction",
            ));
        }
        // Nodes of each transition.
        let mut count = structure.processes.len();
        let mut nodes_of: Vec<Vec<usize>> = Vec::new();
        for transition in &structure.transitions {
            let mut own: Vec<usize> = transition.processes.iter().map(|p| p.index()).collect();
            if own.is_empty() {
                own.push(count);
                count += 1;
            }
            nodes_of.push(own);
        }
        let words = count.div_ceil(64);
        let outside = |node: usize, others: &[u32]| {
            let mut bits = vec![0; words];
            for other in others {
                let own = &nodes_of[*other as usize];
                if !own.contains(&node) {
                    own.iter().for_each(|n| put(&mut bits, *n as u32));
                }
            }
            bits
        };
        let mut nodes: Vec<Node> = (0..count)
            .map(|node| {
                let process = structure.processes.get(node);
                let counter: Option<FieldId> = process.and_then(|p| p.location);
                let writers: Vec<u32> = structure
                    .transitions
                    .iter()
                    .enumerate()
                    .filter(|(_, t)| counter.is_some_and(|c| t.writes.contains(&c)))
                    .map(|(at, _)| at as u32)
                    .collect();
                Node {
                    counter: counter.map(|c| system.layout().field(c).clone()),
                    anywhere: Vec::new(),
                    at_location: vec![Vec::new(); process.map_or(0, |p| p.locations.len())],
                    remote_writers: outside(node, &writers),
                }
            })
            .collect();
        let mut locals = Vec::new();
        let mut transitions = vec![Vec::new(); count];
        for (at, transition) in structure.transitions.iter().enumerate() {
            let preceding: Vec<u32> = if transition.priority > 0 {
                (0..structure.transitions.len() as u32).collect()
            } else if let Some(enablers) = enablers {
                let row = enablers.row_indices(TransitionId::new(at));
                row.to_vec()
            } else {
                let row = |g| relations.may_enable.0.row_indices(g).iter().copied();
                transition.guards.iter().flat_map(|g| row(*g)).collect()
            };
            for (which, node) in nodes_of[at].iter().enumerate() {
                let source = transition.sources.get(which).copied().flatten();
                let place = nodes[*node].counter.is_some();
                let place = source.filter(|_| place).map(|s| s as usize);
                let list = match place.and_then(|s| nodes[*node].at_location.get_mut(s)) {
                    Some(list) => list,
                    None => &mut nodes[*node].anywhere,
                };
                list.push(locals.len());
                transitions[*node].push(at as u32);
                locals.push(Local {
                    transition: at as u32,
                    dependent: outside(*node, tables.accord.list(at)),
                    preceding: outside(*node, &preceding),
                    located: place.is_some(),
                });
            }
        }
        Ok(Self {
            nodes,
            locals,
            transitions,
            words,
        })
    }
}

/// See the [module](self).
pub(crate) struct Ample<'p> {
    processes: &'p Processes,
    by_components: bool,
    choice: Choice,
    seed: u64,
    /// Row `i`: processes in the way of process `i`; later, all that can be reached from it.
    edges: Vec<u64>,
    /// Enabled transitions of each process.
    enabled: Vec<u32>,
    candidates: Vec<usize>,
    chosen: Option<usize>,
}

impl<'p> Ample<'p> {
    pub(crate) fn new(processes: &'p Processes, settings: &Settings) -> Self {
        Self {
            processes,
            by_components: settings.algorithm == Algorithm::Ample2,
            choice: settings.choice,
            seed: settings.seed,
            edges: vec![0; processes.nodes.len() * processes.words],
            enabled: vec![0; processes.nodes.len()],
            candidates: Vec::new(),
            chosen: None,
        }
    }

    fn row(&self, node: usize) -> &[u64] {
        &self.edges[node * self.processes.words..][..self.processes.words]
    }

    /// Draws the conflict graph and counts enabled transitions.
    fn draw(&mut self, view: &View<'_>) {
        let words = self.processes.words;
        self.edges.fill(0);
        for (at, node) in self.processes.nodes.iter().enumerate() {
            let edges = &mut self.edges[at * words..][..words];
            let location = node.counter.as_ref().map(|c| c.get(&view.facts.state));
            let here = location
                .and_then(|l| usize::try_from(l).ok())
                .and_then(|l| node.at_location.get(l));
            let mut enabled = 0;
            let mut unlocated = false;
            for local in node.anywhere.iter().chain(here.into_iter().flatten()) {
                let local = &self.processes.locals[*local];
                let others = if view.is_enabled(local.transition) {
                    enabled += 1;
                    unlocated |= !local.located;
                    &local.dependent
                } else {
                    &local.preceding
                };
                for (edge, other) in edges.iter_mut().zip(others) {
                    *edge |= other;
                }
            }
            // A located enabled transition depends on whoever moves the counter away, so that
            // a single process needs no more; components do.
            if self.by_components || unlocated {
                for (edge, other) in edges.iter_mut().zip(&node.remote_writers) {
                    *edge |= other;
                }
            }
            self.enabled[at] = enabled;
        }
    }

    /// Replaces edges by paths.
    fn close(&mut self) {
        let (count, words) = (self.processes.nodes.len(), self.processes.words);
        for via in 0..count {
            for from in 0..count {
                if from != via && has(&self.edges[from * words..][..words], via as u32) {
                    for word in 0..words {
                        self.edges[from * words + word] |= self.edges[via * words + word];
                    }
                }
            }
        }
    }

    /// Whether the processes that can be reached from `node`, itself included, make a set.
    fn is_component_with_enabled(&self, node: usize) -> bool {
        self.size(node) > 0
            && ones_of(self.row(node))
                .map(|n| n as usize)
                .filter(|n| self.enabled[*n] > 0)
                .all(|n| n == node || has(self.row(n), node as u32))
    }

    /// Enabled transitions of a process and of all that can be reached from it.
    fn size(&self, node: usize) -> u32 {
        let reached = ones_of(self.row(node)).filter(|n| *n as usize != node);
        self.enabled[node] + reached.map(|n| self.enabled[n as usize]).sum::<u32>()
    }

    fn transitions_of(&self, node: usize) -> impl Iterator<Item = u32> + '_ {
        let others = ones_of(self.row(node)).map(|n| n as usize);
        std::iter::once(node)
            .chain(others.filter(move |n| *n != node))
            .flat_map(|n| self.processes.transitions[n].iter().copied())
    }

    /// Condition I.
    fn has_key(&self, view: &View<'_>, node: usize) -> bool {
        !view.must_start_invisible()
            || self
                .transitions_of(node)
                .any(|t| view.is_enabled(t) && !has(&view.tables.visible, t))
    }

    fn pick(&mut self, view: &View<'_>) -> Option<usize> {
        let count = self.processes.nodes.len();
        let alone = |s: &Self, n: usize| {
            s.enabled[n] > 0 && s.row(n).iter().all(|w| *w == 0) && s.has_key(view, n)
        };
        if self.choice == Choice::First
            && let Some(node) = (0..count).find(|n| alone(self, *n))
        {
            return Some(node);
        }
        if self.by_components {
            self.close();
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates.extend((0..count).filter(|n| {
            if self.by_components {
                self.is_component_with_enabled(*n) && self.has_key(view, *n)
            } else {
                alone(self, *n)
            }
        }));
        self.candidates = candidates;
        match self.choice {
            Choice::First => self.candidates.first().copied(),
            Choice::Min => {
                let least = self.candidates.iter().min_by_key(|n| self.size(**n));
                least.copied()
            }
            Choice::Random => {
                let count = self.candidates.len() as u64;
                let pick = view.random(self.seed, u64::MAX).checked_rem(count)?;
                self.candidates.get(pick as usize).copied()
            }
        }
    }
}

impl SetAlgorithm for Ample<'_> {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        self.draw(view);
        self.chosen = self.pick(view);
        match self.chosen {
            Some(node) => {
                for t in self.transitions_of(node).filter(|t| view.is_enabled(*t)) {
                    put(kept.words_mut(), t);
                }
            }
            None => kept.words_mut().copy_from_slice(&view.facts.enabled),
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        let mut members: Vec<u32> = self.transitions_of(self.chosen?).collect();
        members.sort_unstable();
        members.dedup();
        let member = |t: u32| SetMember {
            transition: TransitionId::new(t as usize),
            reason: Reason::Start,
        };
        Some(members.into_iter().map(member).collect())
    }
}
