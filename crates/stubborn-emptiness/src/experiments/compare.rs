//! Many provisos on one system, each in many orders of the transitions.
//!
//! What a reduction keeps is a function of the state. So successors and sets are computed once
//! for each state, the first time that any walk comes there, and all walks go through what is
//! remembered. A comparison of fifty provisos costs little more than one of them.

use std::time::{Duration, Instant};

use rapidhash::RapidHashMap;
use stubborn_ltl::automaton::Marks;
use stubborn_search::{Limit, SearchError};

use crate::explore::{Exploration, Graph, Step, shuffled};
use crate::proviso::CycleProviso;
use crate::pulse::append_once;
use crate::space::{Counts, Edge, Node, Space};
use crate::walk::{Emptiness, Walk};

/// What one proviso left, in one order of the transitions.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// The proviso.
    pub proviso: CycleProviso,
    /// The order of the transitions; `None` for their own.
    pub seed: Option<u64>,
    /// States and transitions.
    pub counts: Counts,
    /// The limit that ended it, if one did.
    pub limit: Option<Limit>,
    /// How long it took; shorter for later walks, which find successors ready.
    pub time: Duration,
}

impl Exploration<'_> {
    /// Explores with every one of these provisos in every one of these orders, and tells each
    /// result as it comes. Counts are those that [`run`](Self::run) would give. The
    /// exploration's own proviso and seed do not matter; its limits are for all walks together.
    ///
    /// # Errors
    /// For a store that does not keep states apart, for sticky transitions, which need another
    /// reduction, and for reductions that ask the search, which differs.
    pub fn compare(
        &self,
        provisos: &[CycleProviso],
        seeds: &[Option<u64>],
        tell: &mut dyn FnMut(Compared),
    ) -> Result<(), SearchError> {
        if provisos.contains(&CycleProviso::STICKY) {
            return Err(SearchError::Mismatch(
                "`sticky` changes the reduction itself and cannot be compared with others at \
                 once; explore with it alone"
                    .into(),
            ));
        }
        if self.reduction.is_some_and(|r| !r.is_function_of_state()) {
            return Err(SearchError::Mismatch(
                "strategies that ask what the search has seen (min_f, max_f) choose other sets \
                 with every proviso, and cannot be compared at once; explore with one of them"
                    .into(),
            ));
        }
        self.system.budget().begin("");
        let budget = self.limits.memory_budget(self.system);
        let store = self.new_store(&budget)?;
        let store = match &store {
            Ok(store) => store,
            Err(limit) => {
                for (seed, proviso) in pairs(provisos, seeds) {
                    tell(Compared {
                        proviso,
                        seed,
                        counts: Counts::default(),
                        limit: Some(*limit),
                        time: Duration::ZERO,
                    });
                }
                return Ok(());
            }
        };
        let mut remembered = Remembered::new(Graph::new(self, store, &budget, Instant::now()));
        let transitions = self.system.structure().transitions.len();
        for (seed, proviso) in pairs(provisos, seeds) {
            let started = Instant::now();
            let rank = seed.map_or_else(Vec::new, |seed| shuffled(transitions, seed));
            remembered.begin(rank);
            let mut walk = Walk::new(&mut remembered, proviso, Emptiness::Components, None);
            let ended = walk.run();
            let limit = self.system.conclude().map(Into::into).or(ended.err());
            let mut counts = walk.counts;
            counts.transitions += remembered.doubles;
            tell(Compared {
                proviso,
                seed,
                counts,
                limit,
                time: started.elapsed(),
            });
        }
        Ok(())
    }
}

fn pairs(
    provisos: &[CycleProviso],
    seeds: &[Option<u64>],
) -> impl Iterator<Item = (Option<u64>, CycleProviso)> {
    let all = seeds
        .iter()
        .flat_map(|seed| provisos.iter().map(|proviso| (*seed, *proviso)));
    all.collect::<Vec<_>>().into_iter()
}

/// A remembered step. Their order is that of the system.
#[derive(Clone, Copy, Debug)]
struct Remembrance {
    to: u32,
    transition: u32,
    is_kept: bool,
}

/// Which part of a node was looked at in this walk.
const LOOKED_AT_KEPT: u8 = 1;
const LOOKED_AT_REST: u8 = 1 << 1;

/// A graph whose nodes are numbers, with what is known of it.
struct Remembered<'a> {
    graph: Graph<'a>,
    numbers: RapidHashMap<Node, u32>,
    nodes: Vec<Node>,
    /// Where the steps of a node begin and end, once they are known.
    known: Vec<Option<(usize, usize)>>,
    steps: Vec<Remembrance>,
    /// Where each transition stands in the order of this walk; empty for their own order.
    rank: Vec<u32>,
    /// Of this walk, by node.
    flags: Vec<u8>,
    looked_at: Vec<u8>,
    /// Steps beyond the first between the same two states, in this walk.
    doubles: u64,
    fresh: Vec<Step>,
    ordered: Vec<Remembrance>,
}

impl<'a> Remembered<'a> {
    fn new(graph: Graph<'a>) -> Self {
        Self {
            graph,
            numbers: RapidHashMap::default(),
            nodes: Vec::new(),
            known: Vec::new(),
            steps: Vec::new(),
            rank: Vec::new(),
            flags: Vec::new(),
            looked_at: Vec::new(),
            doubles: 0,
            fresh: Vec::new(),
            ordered: Vec::new(),
        }
    }

    /// Before a walk.
    fn begin(&mut self, rank: Vec<u32>) {
        self.rank = rank;
        self.flags.fill(0);
        self.looked_at.fill(0);
        self.doubles = 0;
    }

    fn number(&mut self, node: Node) -> u32 {
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
            self.known.push(None);
            self.flags.push(0);
            self.looked_at.push(0);
        }
        number
    }

    /// Where the steps of a node are.
    fn steps_of(&mut self, at: usize) -> Result<(usize, usize), Limit> {
        if let Some(known) = self.known[at] {
            return Ok(known);
        }
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        self.graph.steps(self.nodes[at], &mut fresh)?;
        let first = self.steps.len();
        for step in &fresh {
            let to = self.number(step.to);
            self.steps.push(Remembrance {
                to,
                transition: step.transition,
                is_kept: step.is_kept,
            });
        }
        self.fresh = fresh;
        let range = (first, self.steps.len());
        self.known[at] = Some(range);
        Ok(range)
    }

    /// Appends the edges of a part of a node. Returns true if the reduction leaves some out.
    fn edges(&mut self, node: Node, wanted: bool, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        let at = node.0 as usize;
        let (from, to) = self.steps_of(at)?;
        self.ordered.clear();
        self.ordered.extend_from_slice(&self.steps[from..to]);
        let left_out = self.ordered.iter().any(|step| !step.is_kept);
        self.ordered.retain(|step| step.is_kept == wanted);
        if !self.rank.is_empty() {
            let rank = &self.rank;
            self.ordered
                .sort_by_key(|step| rank[step.transition as usize]);
        }
        let first = out.len();
        let mut doubles = 0;
        for step in &self.ordered {
            let edge = Edge::new(Node(u64::from(step.to)), Marks::NONE);
            doubles += u64::from(!append_once(edge, first, out));
        }
        // Some provisos look at a node twice.
        let part = match wanted {
            true => LOOKED_AT_KEPT,
            false => LOOKED_AT_REST,
        };
        if self.looked_at[at] & part == 0 {
            self.looked_at[at] |= part;
            self.doubles += doubles;
        }
        Ok(left_out)
    }

    fn bytes(&self) -> usize {
        let of_node = size_of::<(Node, u32)>() + size_of::<Node>() + 2;
        self.nodes.capacity() * (of_node + size_of::<Option<(usize, usize)>>())
            + self.steps.capacity() * size_of::<Remembrance>()
    }
}

impl Space for Remembered<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        let first = out.len();
        self.graph.initial(out)?;
        for node in &mut out[first..] {
            *node = Node(u64::from(self.number(*node)));
        }
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        self.edges(node, true, out)
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges(node, false, out).map(|_| ())
    }

    fn actions(&mut self, node: Node, out: &mut Vec<(u32, bool)>) -> Result<(), Limit> {
        let (from, to) = self.steps_of(node.0 as usize)?;
        let steps = self.steps[from..to].iter();
        out.extend(steps.map(|step| (step.transition, step.is_kept)));
        Ok(())
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.flags[node.0 as usize]
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        let own = &mut self.flags[node.0 as usize];
        std::mem::replace(own, *own | flags)
    }

    #[inline]
    fn go_on(&mut self, bytes: usize, counts: &Counts) -> Result<(), Limit> {
        let own = match counts.states % 64 {
            1 => self.bytes(),
            _ => 0,
        };
        self.graph.go_on(bytes + own, counts)
    }
}
