//! The engine of several processes, each of which owns a part of the states.
//!
//! Every process runs the same check, with the same plan, of the same model; what differs is which
//! states it keeps and expands. To whom a state belongs is a function of the state. Levels are
//! explored one after the other by all processes together: successors are sent to their owners in
//! large batches, and when everybody has everything, all agree on how to go on. So levels are
//! those of a search on one machine, and so are counts, verdicts, and the lengths of ways (U. Stern
//! and D. L. Dill, *Parallelizing the Murφ verifier*, 1997, with levels instead of one pool of
//! work).
//!
//! With a proviso, the owners of kept successors say whether these are on the next level. A state
//! with one that is stays reduced: following such successors, depth grows, until a state is
//! reached that was expanded or has no steps. All others are expanded at once. (On one machine the
//! terminal components are looked for first, and fewer states are expanded.) This depends on
//! levels alone, not on who is faster, so that counts do not depend on the number of processes.

mod level;
mod owners;
mod saved;
mod way;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stubborn_cluster::{Cluster, Lost};
use stubborn_store::saved::{Sink, Source};
use stubborn_store::{Leaves, Store, StoreOptions};
use stubborn_system::{FieldKind, Spent};

use self::level::Walk;
use self::owners::Owners;
use super::{Elsewhere, Exploration};
use crate::arrange::{LOOKS, Look, better_tree};
use crate::config::{Order, Search, SearchError};
use crate::context::{Context, Sum};
use crate::engine::{Engine, Explore};
use crate::memory::Words;
use crate::proviso::refused_by_levels;
use crate::result::{Limit, SearchResult, TraceMissing};
use crate::saved::{Reading, ResumeError};
use crate::violation::Finding;

/// What processes agree on; those who use the same connections for more have numbers from 100 on.
mod topic {
    pub(super) const SEARCH: u8 = 1;
    pub(super) const SUM: u8 = 2;
    pub(super) const LEVEL: u8 = 3;
    pub(super) const WAY: u8 = 4;
    pub(super) const PREDECESSORS: u8 = 5;
    pub(super) const SHAPE: u8 = 6;
    pub(super) const TREE: u8 = 7;
    pub(super) const ROOM: u8 = 8;
}

/// This process and the others that explore the same.
#[derive(Debug)]
pub struct Distributed<'c> {
    cluster: &'c Mutex<Cluster>,
}

impl<'c> Distributed<'c> {
    /// Why a system with interned values cannot be shared.
    pub const INTERNED: &'static str =
        "values of this system have numbers that differ between processes";

    /// With these processes. All of them must run the same searches, one after the other.
    pub fn new(cluster: &'c Mutex<Cluster>) -> Self {
        Self { cluster }
    }

    fn cluster(&self) -> MutexGuard<'c, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_answer(lost: &Lost) -> SearchError {
    SearchError::NoAnswer(lost.to_string())
}

impl Engine for Distributed<'_> {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn takes(&self, search: &Search<'_>) -> Result<(), String> {
        let asks = |reduction: &dyn stubborn_system::Reduction| !reduction.is_function_of_state();
        let mut fields = search.system.layout().fields().iter();
        let reason = if search.order != Order::BreadthFirst {
            "several processes search breadth-first (--order bfs)"
        } else if search.threads > 1 {
            "each process has one thread: say --processes instead of --threads"
        } else if search.reduction.is_some_and(asks) {
            "sets must depend on the state alone"
        } else if search.visitor.is_some() {
            "nobody can look at all states"
        } else if !search.store.kind.is_exact() {
            "several processes need exact stores (--store tree)"
        } else if fields.any(|field| field.kind == FieldKind::Interned) {
            Self::INTERNED
        } else {
            return refused_by_levels(search.proviso).map_or(Ok(()), Err);
        };
        Err(reason.into())
    }

    fn begin<'s>(&'s self, search: &'s Search<'s>) -> Result<Box<dyn Explore + 's>, SearchError> {
        Ok(Box::new(Spread::begin(self, search)?))
    }

    /// Only the leader reads; the others get what is theirs from it.
    fn resume<'s>(
        &'s self,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Box<dyn Explore + 's>, ResumeError> {
        Ok(Box::new(Spread::resume(self, search, source)?))
    }

    fn cluster(&self) -> Option<&Mutex<Cluster>> {
        Some(self.cluster)
    }
}

impl<'s> Spread<'s> {
    fn begin(engine: &'s Distributed<'s>, search: &'s Search<'s>) -> Result<Self, SearchError> {
        search.check()?;
        let budget = search.limits.memory_budget(search.system);
        let options = StoreOptions {
            leaves: agree_on_leaves(engine, search)?,
            ..search.store.clone()
        };
        let is_given = search.store.leaves.is_some();
        let store = Store::new(search.system.layout().words(), &options, &budget);
        let mut spread = Spread {
            search,
            engine,
            exploration: search.begin_with(store, budget),
            // (It takes long to choose so many sets again.)
            looks: match is_given || search.reduction.is_some() {
                true => &[],
                false => &LOOKS[1..],
            },
            owners: Owners::default(),
            next: None,
            totals: Totals::default(),
            status: Status::Begins,
        };
        spread.meet()?;
        Ok(spread)
    }
}

/// The tree that all stores have: the one that a search in one process would have.
fn agree_on_leaves(
    engine: &Distributed<'_>,
    search: &Search<'_>,
) -> Result<Option<Arc<Leaves>>, SearchError> {
    if search.store.leaves.is_some() {
        return Ok(search.store.leaves.clone());
    }
    let agreed = engine.cluster().agree(topic::TREE, Vec::new(), |_| {
        bytes_of(numbers_of_leaves(search.better_leaves().as_ref()))
    });
    let agreed = numbers_of(&agreed.map_err(|lost| no_answer(&lost))?);
    Ok(leaves_of(&agreed))
}

/// A tree as numbers; none if there is none.
fn numbers_of_leaves(leaves: Option<&Leaves>) -> impl Iterator<Item = u64> {
    let leaves = leaves.into_iter().flatten();
    leaves.flat_map(|(position, [one, two])| [*position, *one, *two].map(u64::from))
}

fn leaves_of(numbers: &[u64]) -> Option<Arc<Leaves>> {
    let (leaves, _) = numbers.as_chunks();
    let leaf = |[position, one, two]: &[u64; 3]| (*position as u32, [*one as u32, *two as u32]);
    let leaves: Leaves = leaves.iter().map(leaf).collect();
    (!leaves.is_empty()).then(|| Arc::new(leaves))
}

/// A search of which this process has a part.
struct Spread<'s> {
    search: &'s Search<'s>,
    engine: &'s Distributed<'s>,
    /// The own store, and what was counted and found.
    exploration: Exploration<'s>,
    /// When all may start again with another tree; the same in all processes.
    looks: &'static [Look],
    owners: Owners,
    /// States of the next level that belong to this process.
    next: Option<Words>,
    totals: Totals,
    status: Status,
}

/// Of all processes.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    states: u64,
    /// Of stores.
    bytes: u64,
}

/// The same in all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Status {
    Begins,
    /// Stopped by the number of states.
    Waits,
    Paused,
    Over,
    /// Some store could not even begin.
    NoRoom,
    Lost(Lost),
}

/// Numbers as bytes.
fn bytes_of(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The numbers that were made bytes.
fn numbers_of(bytes: &[u8]) -> Vec<u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|n| u64::from_le_bytes(*n)).collect()
}

impl Spread<'_> {
    /// All processes begin the same search.
    fn meet(&mut self) -> Result<(), SearchError> {
        let mut cluster = self.engine.cluster();
        let search = self.search;
        let mut own = vec![u8::from(self.exploration.store.is_ok())];
        own.extend(search.description().into_bytes());
        let size = cluster.size();
        let met = cluster.agree(topic::SEARCH, own, |all| {
            let has_room = all.iter().all(|one| one.first() == Some(&1));
            let other = all.iter().find(|one| one.get(1..) != all[0].get(1..));
            match other {
                Some(other) => other.clone(),
                None => {
                    let mut agreed = vec![u8::from(has_room), 0];
                    agreed.extend(Owners::of(search, size).to_bytes());
                    agreed
                }
            }
        });
        let met = met.map_err(|lost| no_answer(&lost))?;
        match met.split_first_chunk() {
            Some(([room, 0], owners)) => {
                self.owners = Owners::from_bytes(size, owners);
                if *room == 0 {
                    self.status = Status::NoRoom;
                }
                Ok(())
            }
            _ => Err(SearchError::NoAnswer(format!(
                "the processes do different searches: {}, and {}",
                search.description(),
                String::from_utf8_lossy(met.get(1..).unwrap_or_default()),
            ))),
        }
    }

    /// What all processes have counted and found, and why somebody gave up.
    fn total(&self, cluster: &mut Cluster, store: &Store) -> Result<(Option<Limit>, Sum), Lost> {
        let parts = &self.exploration.parts;
        let read = |bytes: &[u8]| {
            let mut input = bytes;
            let source = &mut Source::new(&mut input, bytes.len() as u64);
            let shape = parts.context(store).shape;
            let mut reading = Reading::new(source, &parts.ledger, shape, store.worker());
            Sum::restore(&mut reading, self.search).unwrap_or_else(|_| Sum::new(self.search))
        };
        let write = |spent: Option<Spent>, sum: &Sum| {
            let limit = spent.map(Limit::from).map_or(0, |limit| limit as u8);
            let mut bytes = vec![limit];
            let written = sum.save(&mut Sink::new(&mut bytes));
            debug_assert!(written.is_ok(), "memory takes everything");
            bytes
        };
        let sum = parts.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let agreed = cluster.agree(
            topic::SUM,
            write(self.search.system.conclude(), &sum),
            |all| {
                let mut total = Sum::new(self.search);
                for one in &all {
                    total.add(read(&one[1..]), &parts.order);
                }
                // What makes nothing make sense comes first.
                let limit = all.iter().map(|one| one[0]).max().unwrap_or(0);
                let mut bytes = write(None, &total);
                bytes[0] = limit;
                bytes
            },
        )?;
        let limit = agreed.first().copied().and_then(Limit::of_number);
        Ok((limit, read(agreed.get(1..).unwrap_or_default())))
    }

    /// Makes that the own result.
    fn add_up(&mut self) -> Result<(), Lost> {
        let Ok(store) = &self.exploration.store else {
            return Ok(());
        };
        let parts = &self.exploration.parts;
        let (limit, total) = self.total(&mut self.engine.cluster(), store)?;
        *parts.sum.lock().unwrap_or_else(PoisonError::into_inner) = total;
        match limit {
            None => {}
            Some(Limit::Outgrown) => self.search.system.budget().outgrow(),
            Some(limit) => parts.control.stop_at(limit),
        }
        Ok(())
    }
}

impl Spread<'_> {
    /// Explores with the store that there is, until there are more than `most` states if this is the
    /// leader.
    fn explore_on(&mut self, most: Option<u64>) {
        if !matches!(self.status, Status::Begins | Status::Waits | Status::Paused) {
            return;
        }
        let exploration = &mut self.exploration;
        let Ok(store) = &exploration.store else {
            return;
        };
        exploration.parts.control.allow_states(None);
        let context = exploration.parts.context(store);
        let frontier = &mut exploration.frontier;
        let mut cluster = self.engine.cluster();
        let mut walk = Walk::new(&context, &mut cluster, &self.owners);
        let begun = match self.next.take() {
            Some(next) => {
                walk.next = next;
                Ok(())
            }
            None => walk.insert_initial_states(),
        };
        let most = most.unwrap_or(u64::MAX);
        self.status = match begun.and_then(|()| walk.run(frontier, most, &mut self.totals)) {
            Ok(status) => status,
            Err(lost) => Status::Lost(lost),
        };
        let expander = walk.expander;
        self.next = Some(walk.next);
        context.add(expander, frontier.levels.saturating_sub(1));
    }

    /// All wait. If that is so only since it is time to look whether there is a better tree, the leader
    /// looks, and all start again with that if there is one; whether they go on.
    fn look_again(&mut self, look: &Look, is_time: bool) -> Result<bool, Lost> {
        let (search, store) = (self.search, self.exploration.store.as_ref().ok());
        let mut cluster = self.engine.cluster();
        let agreed = cluster.agree(topic::TREE, Vec::new(), |_| {
            let store = store.filter(|_| is_time);
            let better = store.and_then(|store| better_tree(look, search, store));
            let numbers = numbers_of_leaves(better.as_ref());
            bytes_of([u64::from(is_time)].into_iter().chain(numbers))
        })?;
        let agreed = numbers_of(&agreed);
        let Some((1, leaves)) = agreed.split_first() else {
            return Ok(false);
        };
        if let Some(leaves) = leaves_of(leaves) {
            self.exploration.start_again(leaves);
            self.next = None;
            self.totals = Totals::default();
            let has_room = vec![u8::from(self.exploration.store.is_ok())];
            let least = |all: Vec<Vec<u8>>| all.into_iter().min().unwrap_or_default();
            self.status = match cluster.agree(topic::ROOM, has_room, least)?[..] {
                [1] => Status::Begins,
                _ => Status::NoRoom,
            };
        }
        Ok(true)
    }
}

impl Explore for Spread<'_> {
    fn explore(&mut self, most: Option<u64>) {
        // (Only the leader knows how many states there may be.)
        while let Some((look, later)) = self.looks.split_first() {
            let is_time = most.is_none_or(|most| most > look.states);
            self.explore_on(if is_time { Some(look.states) } else { most });
            if !self.is_waiting() {
                return;
            }
            match self.look_again(look, is_time) {
                Ok(true) => self.looks = later,
                Ok(false) => return,
                Err(lost) => {
                    self.status = Status::Lost(lost);
                    return;
                }
            }
        }
        self.explore_on(most);
    }

    fn is_waiting(&self) -> bool {
        self.status == Status::Waits
    }

    fn is_paused(&self) -> bool {
        self.status == Status::Paused
    }

    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        Spread::save(self, sink)
    }

    fn level_sizes(&self) -> &[u64] {
        self.exploration.level_sizes()
    }

    fn finish(mut self: Box<Self>) -> Result<SearchResult, SearchError> {
        match &self.status {
            Status::NoRoom => {
                self.exploration.parts.control.stop_at(Limit::Memory);
                return self.exploration.finish();
            }
            Status::Lost(lost) => return Err(no_answer(lost)),
            Status::Waits => self.exploration.parts.control.stop_at(Limit::States),
            _ => {}
        }
        self.add_up().map_err(|lost| no_answer(&lost))?;
        // What is left to explore is not needed any more.
        drop(self.next.take());
        let (engine, owners, totals) = (self.engine, self.owners, self.totals);
        let mut find = |context: &Context<'_>, findings: &[&Finding]| match findings {
            [] => Ok(Vec::new()),
            findings => {
                let mut cluster = engine.cluster();
                // Whoever is lost now takes the way along, not the violation.
                way::find(context, &mut cluster, &owners, findings)
                    .unwrap_or(Err(TraceMissing::Interrupted))
            }
        };
        let (states, ways) = (totals.states, &mut find);
        let result = self
            .exploration
            .finish_with(Some(Elsewhere { states, ways }));
        result.map(|mut result| {
            result.memory.store = usize::try_from(totals.bytes).unwrap_or(usize::MAX);
            result
        })
    }
}
