//! The one type that searches know: a [`Store`] of some [`StoreKind`].

use crate::batch::{Batch, Plan, Results};
use crate::budget::{MemoryBudget, OutOfMemory};
use crate::crew::Helpers;
use crate::cursor::Cursor;
use crate::gate::Gate;
use crate::lossy::{Bitstate, Compact};
use crate::nodes::SpareIds;
use crate::plain::Plain;
use crate::plan::TreePlan;
use crate::quotient::NoRoom;
use crate::shape::{Leaves, Shape};
use crate::sync::{AtomicBool, AtomicU64, Ordering, OwnLine};
use crate::tree::{Shortage, Tree};
use crate::worker::Worker;
use std::fmt;
use std::sync::Arc;

/// The name of a stored state. It stays valid when tables grow.
///
/// In a tree store it is the pair of node ids at the root, in a plain store the
/// state's number, in a lossy store its fingerprint. Equal states have equal
/// handles, and in an exact store different states have different ones, so that
/// a hash map keyed by handle can number states, or hold what an algorithm needs
/// to know of the few on its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateHandle(u64);

impl StateHandle {
    /// The handle as a number, for queues and stacks.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The handle that [`to_bits`](Self::to_bits) was asked of.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// What became of one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// The state's name.
    pub handle: StateHandle,
    /// Whether it was not stored before. Of all threads that insert a state, an
    /// exact store tells this to one.
    pub is_new: bool,
    /// The state's flags at that moment.
    pub flags: u8,
}

/// Why a state could not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The memory limit was reached.
    OutOfMemory(OutOfMemory),
    /// There are no more numbers: some four thousand million vectors in a plain
    /// store, or as many distinct parts of states in a tree.
    Full,
}

impl From<OutOfMemory> for StoreError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory(error) => {
                write!(formatter, "the state store is out of memory: {error}")
            }
            Self::Full => write!(
                formatter,
                "the state store is full: it has no more than 2^32 numbers"
            ),
        }
    }
}

impl std::error::Error for StoreError {}

/// How states are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum StoreKind {
    /// Tree compression, exact. Vectors of one word, which have nothing to share,
    /// are stored plainly instead. There is no limit at the other
    /// end: incremental insertion and loading cost as much as there are changed
    /// parts, and on the synthetic model of the benchmarks the tree was about as fast as
    /// whole vectors at 49 words (at a twentieth of the memory), and four times as
    /// fast at 401.
    #[default]
    Tree,
    /// Whole vectors, exact.
    Plain,
    /// A few bits of an array of fixed size for each state; lossy.
    Bitstate,
    /// A 54-bit fingerprint for each state; lossy.
    Compact,
}

impl StoreKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Plain, Self::Bitstate, Self::Compact];

    /// Whether states are kept apart. What a lossy store has not seen may be there all the same.
    pub fn is_exact(self) -> bool {
        match self {
            Self::Tree | Self::Plain => true,
            Self::Bitstate | Self::Compact => false,
        }
    }
}

/// How a store is set up.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// How states are stored.
    pub kind: StoreKind,
    /// States to make room for at once.
    pub initial_capacity: u64,
    /// By how much a full table grows; at least 1. Smaller factors keep less
    /// free space and copy more often: at 1.2 every entry is copied five times, at 1.5
    /// twice. Stores of more than 8 MiB, whose free space counts, grow by two fifths of that.
    pub growth_factor: f64,
    /// Bytes of a bitstate array. By default three quarters of what the budget
    /// has left (the queue needs the rest), or 256 MiB without a limit.
    pub bitstate_bytes: Option<usize>,
    /// Bits that a bitstate store sets for each state.
    pub bitstate_bits: u32,
    /// The leaves of a tree, for vectors about which more is known than their width; what is no
    /// tree of such vectors is not used. A tree is small if neither half has nearly as many values
    /// as there are vectors, and fast if what changes often is near the root.
    pub leaves: Option<Arc<Leaves>>,
    /// For tests: grow all tables by the least step after each so many insertions.
    pub force_growth_every: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            kind: StoreKind::Tree,
            initial_capacity: 4_000,
            growth_factor: 1.5,
            bitstate_bytes: None,
            bitstate_bits: 3,
            leaves: None,
            force_growth_every: None,
        }
    }
}

impl StoreOptions {
    /// The default options for a kind of store.
    pub fn new(kind: StoreKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}

/// A set of states with flags, shared by all threads of a search.
///
/// Threads work on it through [`Worker`]s.
pub struct Store {
    width: usize,
    kind: StoreKind,
    pub(crate) gate: Gate<Tables>,
    pub(crate) len: OwnLine<AtomicU64>,
    /// Threads that have access at the moment.
    pub(crate) workers: AtomicU64,
    bytes: AtomicU64,
    /// A growth ahead of need was refused: do not try again before there is need.
    refused: AtomicBool,
    growth_factor: f64,
    pub(crate) force_growth_every: Option<u64>,
    pub(crate) insertions: AtomicU64,
    /// Of a tree.
    shape: Option<Shape>,
}

/// The tables of one of the kinds of stores.
pub(crate) enum Tables {
    Tree(Tree),
    Plain(Plain),
    Bitstate(Bitstate),
    Compact(Compact),
}

impl Store {
    /// The number of flags of a state; see [`Worker::set_flags`].
    pub const FLAGS: u32 = crate::quotient::FLAG_BITS;

    /// A store for vectors of `width` words, which takes its memory from `budget`.
    pub fn new(
        width: usize,
        options: &StoreOptions,
        budget: &Arc<MemoryBudget>,
    ) -> Result<Self, StoreError> {
        let kind = match options.kind {
            StoreKind::Tree if width < 2 => StoreKind::Plain,
            kind => kind,
        };
        let capacity = options.initial_capacity;
        let is_tree = kind == StoreKind::Tree;
        let shape = is_tree.then(|| Shape::new(width, options.leaves.as_deref()));
        let tables = match (kind, &shape) {
            (_, Some(shape)) => Tables::Tree(Tree::new(budget, shape.clone(), capacity)?),
            (StoreKind::Tree | StoreKind::Plain, None) => {
                Tables::Plain(Plain::new(budget, width, capacity)?)
            }
            (StoreKind::Compact, None) => Tables::Compact(Compact::new(budget, width, capacity)?),
            (StoreKind::Bitstate, None) => {
                let bytes = options
                    .bitstate_bytes
                    .unwrap_or_else(|| match budget.limit() {
                        usize::MAX => 256 << 20,
                        _ => budget.remaining() / 4 * 3,
                    });
                Tables::Bitstate(Bitstate::new(budget, width, bytes, options.bitstate_bits)?)
            }
        };
        Ok(Self {
            width,
            kind,
            bytes: AtomicU64::new(tables.bytes() as u64),
            gate: Gate::new(tables),
            len: OwnLine(AtomicU64::new(0)),
            workers: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            growth_factor: options.growth_factor.max(1.0),
            force_growth_every: options.force_growth_every.filter(|every| *every > 0),
            insertions: AtomicU64::new(0),
            shape,
        })
    }

    /// The store with these tables, in which there are so many states.
    pub(crate) fn with_tables(self, tables: Tables, len: u64) -> Self {
        let shape = match &tables {
            Tables::Tree(tree) => Some(tree.shape().clone()),
            _ => None,
        };
        Self {
            shape,
            bytes: AtomicU64::new(tables.bytes() as u64),
            gate: Gate::new(tables),
            len: OwnLine(AtomicU64::new(len)),
            ..self
        }
    }

    /// How states are stored; it may differ from what was asked for, see
    /// [`StoreKind::Tree`].
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// The number of words of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether every state is kept apart from every other. If not, a search can
    /// find errors but not prove their absence, and states cannot be
    /// [loaded](Worker::load).
    pub fn is_exact(&self) -> bool {
        matches!(self.kind, StoreKind::Tree | StoreKind::Plain)
    }

    /// Whether states have flags; a bitstate store has none.
    pub fn has_flags(&self) -> bool {
        self.kind != StoreKind::Bitstate
    }

    /// The number of states. A bitstate store may count a state twice that two
    /// threads insert at once. With several threads and many states, some new ones (a few thousand with
    /// sixteen) may be missing until their workers are dropped.
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all tables, with their free space.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) as usize
    }

    /// The number of a state, from 0 on without gaps, where the store has such
    /// numbers: the plain store only. With a tree store, number states by a hash
    /// map keyed by handle.
    pub fn dense_number(&self, handle: StateHandle) -> Option<u32> {
        (self.kind == StoreKind::Plain).then(|| handle.to_bits() as u32)
    }

    /// The leaves that its vectors have, in a tree.
    pub fn leaves(&self) -> Option<Leaves> {
        let leaves = self.shape.as_ref()?.leaves();
        Some(leaves.map(|(at, words)| (at as u32, words)).collect())
    }

    /// How many parts of vectors a tree has, about: its nodes below the roots.
    pub fn parts(&self) -> u64 {
        let mut ticket = self.gate.register();
        let parts = match &*self.gate.enter(&mut ticket) {
            Tables::Tree(tree) => tree.parts(),
            _ => 0,
        };
        self.gate.leave(&ticket);
        parts
    }

    /// Shows all states with their flags, in any order, until `visit` says that it has seen enough.
    /// Nobody may insert meanwhile. A lossy store has nothing to show.
    pub fn for_each(&self, visit: &mut dyn FnMut(StateHandle, u8) -> bool) {
        let mut ticket = self.gate.register();
        match &*self.gate.enter(&mut ticket) {
            Tables::Tree(tree) => tree.for_each(visit),
            Tables::Plain(plain) => plain.for_each(visit),
            Tables::Bitstate(_) | Tables::Compact(_) => {}
        }
        self.gate.leave(&ticket);
    }

    /// The tree of its vectors, if it has one.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }

    /// Registers a thread.
    pub fn worker(&self) -> Worker<'_> {
        Worker::new(self)
    }

    /// An empty cursor.
    pub fn cursor(&self) -> Cursor {
        let positions = self.shape.as_ref().map_or(0, Shape::positions);
        Cursor::new(self.width, positions)
    }

    /// An empty batch.
    pub fn batch(&self) -> Batch {
        let plan = match &self.shape {
            Some(shape) => Plan::Tree(TreePlan::new(shape.clone())),
            None => Plan::Whole {
                words: Vec::new(),
                hashes: Vec::new(),
            },
        };
        Batch::new(self.width, plan)
    }

    /// Makes room, with all threads stopped, unless somebody did since `generation`.
    pub(crate) fn grow(&self, need: Need, generation: u64) -> Result<(), StoreError> {
        self.gate.change(generation, |tables, helpers| {
            let result = match need {
                Need::Shortage(shortage) => self.grow_somehow(tables, shortage, helpers),
                Need::Ahead if self.refused.load(Ordering::Relaxed) => Ok(()),
                Need::Ahead => {
                    // There is room yet: a refusal is no error before there is not.
                    let factor = 1.0 + self.usual_excess(tables, helpers.threads());
                    if tables.grow(Shortage::Roots, factor, helpers).is_err() {
                        self.refused.store(true, Ordering::Relaxed);
                    }
                    Ok(())
                }
                Need::Forced => tables
                    .grow(Shortage::Roots, 1.0, helpers)
                    .and_then(|()| tables.grow(Shortage::Nodes, 1.0, helpers)),
            };
            self.bytes.store(tables.bytes() as u64, Ordering::Relaxed);
            result
        })
    }

    /// How much larger a table gets when it grows.
    fn usual_excess(&self, tables: &Tables, threads: usize) -> f64 {
        // All threads wait while a table is copied: with sixteen, that was an eighth of the time. Where
        // there are many, tables grow in fewer steps.
        let (small, large) = match threads {
            ..=4 => (4 << 20, 8 << 20),
            _ => (64 << 20, usize::MAX),
        };
        let excess = self.growth_factor - 1.0;
        match tables.bytes() {
            // Some megabytes more are nothing beside the program itself.
            bytes if bytes < small => 2.0 * excess,
            bytes if bytes < large => excess,
            _ => excess * 0.4,
        }
    }

    /// Grows by the usual factor, or by less where memory is short.
    fn grow_somehow(
        &self,
        tables: &mut Tables,
        shortage: Shortage,
        helpers: Helpers<'_>,
    ) -> Result<(), StoreError> {
        let mut excess = self.usual_excess(tables, helpers.threads());
        loop {
            match tables.grow(shortage, 1.0 + excess, helpers) {
                Err(StoreError::OutOfMemory(_)) if excess > 0.02 => excess /= 4.0,
                result => return result,
            }
        }
    }

    /// Whether a table is so full that it should grow before it must.
    pub(crate) fn should_grow(&self, tables: &Tables, len: u64) -> bool {
        len > tables.limit() && !self.refused.load(Ordering::Relaxed)
    }
}

/// Why tables should grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// An insertion cannot go on.
    Shortage(Shortage),
    /// A table becomes slow.
    Ahead,
    /// A test wants it.
    Forced,
}

impl Tables {
    /// Bytes of all tables, with their free space.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Tree(tree) => tree.bytes(),
            Self::Plain(plain) => plain.bytes(),
            Self::Bitstate(bitstate) => bitstate.bytes(),
            Self::Compact(compact) => compact.bytes(),
        }
    }

    /// The number of states from which on it is time to grow ahead of need.
    fn limit(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.limit(),
            Self::Compact(compact) => compact.limit(),
            Self::Plain(_) | Self::Bitstate(_) => u64::MAX,
        }
    }

    /// Does all insertions of a batch that are not done yet, in order. A tree tells what became of
    /// each only if asked to.
    #[inline]
    pub(crate) fn insert(
        &self,
        plan: &mut Plan,
        spare: &mut SpareIds,
        results: &mut Results,
        tells_all: bool,
    ) -> Result<(), Shortage> {
        let Results { done, all, new } = results;
        let before = all.len();
        let inserted = match (self, plan) {
            (Self::Tree(tree), Plan::Tree(plan)) if tells_all => {
                return tree.insert(plan, spare, done, |inserted| {
                    all.push(inserted);
                    new.extend(inserted.is_new.then_some(inserted.handle));
                });
            }
            (Self::Tree(tree), Plan::Tree(plan)) => {
                return tree.insert(plan, spare, done, |inserted| {
                    if inserted.is_new {
                        new.push(inserted.handle);
                    }
                });
            }
            (Self::Plain(plain), Plan::Whole { words, hashes }) => plain.insert(words, hashes, all),
            (Self::Compact(compact), Plan::Whole { words, hashes }) => {
                compact.insert(words, hashes, all)
            }
            (Self::Bitstate(bitstate), Plan::Whole { words, hashes }) => {
                bitstate.insert(words, hashes, all);
                Ok(())
            }
            _ => panic!("the batch belongs to a store of another kind"),
        };
        *done = all.len();
        let is_new = all[before..].iter().filter(|inserted| inserted.is_new);
        new.extend(is_new.map(|inserted| inserted.handle));
        inserted.map_err(|NoRoom| Shortage::Roots)
    }

    fn grow(
        &mut self,
        shortage: Shortage,
        factor: f64,
        helpers: Helpers<'_>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Tree(tree) => tree.grow(shortage, factor, helpers),
            Self::Plain(plain) => plain.grow(factor, helpers),
            Self::Compact(compact) => Ok(compact.grow(factor, helpers)?),
            Self::Bitstate(_) => Ok(()),
        }
    }
}
