//! A thread's access to a store.

use crate::batch::{Batch, Plan};
use crate::cursor::Cursor;
use crate::gate::Ticket;
use crate::nodes::SpareIds;
use crate::store::{Inserted, Need, StateHandle, Store, StoreError, Tables};
use crate::sync::Ordering;

/// A thread's access to a [`Store`]; each thread makes its own.
///
/// Tables grow inside insertions, with all threads outside of the store for that
/// time. A thread is inside only during a call of one of these functions: a
/// worker that waits for work, or computes, never holds up the others, and
/// nobody has to declare anything. Handles, cursors and batches stay valid.
pub struct Worker<'s> {
    store: &'s Store,
    ticket: Ticket,
    /// For insertions of single vectors.
    single: Batch,
    /// For new nodes.
    spare: SpareIds,
    count: OwnCount,
}

/// New states that a thread has not told the others of. Where there are several threads and many states, to
/// count each batch would be to wait for the others at one place of memory.
#[derive(Default)]
struct OwnCount {
    untold: u64,
    /// States of the store when it was told last.
    known: u64,
}

impl OwnCount {
    /// So many states are counted exactly all the time.
    const FEW_STATES: u64 = 100_000;
    /// New states of a thread that others need not know of, at most, for each thread.
    const MOST: u64 = 32;

    /// Counts new states; says how many states there are, or 0 if that was not asked.
    #[inline]
    fn add(&mut self, store: &Store, new: u64) -> u64 {
        self.untold += new;
        let threads = store.workers.load(Ordering::Relaxed);
        let is_exact = threads <= 1 || self.known < Self::FEW_STATES;
        if new == 0 || !is_exact && self.untold < Self::MOST * threads {
            return 0;
        }
        self.tell(store)
    }

    fn tell(&mut self, store: &Store) -> u64 {
        let untold = std::mem::take(&mut self.untold);
        self.known = store.len.fetch_add(untold, Ordering::Relaxed) + untold;
        self.known
    }
}

/// The store cannot return vectors: it is lossy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKept;

impl std::fmt::Display for NotKept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a lossy store does not keep the states themselves")
    }
}

impl std::error::Error for NotKept {}

impl<'s> Worker<'s> {
    pub(crate) fn new(store: &'s Store) -> Self {
        store.workers.fetch_add(1, Ordering::Relaxed);
        Self {
            store,
            ticket: store.gate.register(),
            single: store.batch(),
            spare: SpareIds::default(),
            count: OwnCount::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// Inserts one vector, a successor of the state in `parent` or any state if
    /// that is empty; see [`Batch::push`] for `changed`.
    ///
    /// # Panics
    /// If `words` has not the width of the store.
    pub fn insert(
        &mut self,
        parent: &Cursor,
        words: &[u32],
        changed: Option<&[u64]>,
    ) -> Result<Inserted, StoreError> {
        self.single.clear();
        self.single.push(parent, words, changed);
        insert_all(
            self.store,
            &mut self.ticket,
            &mut self.spare,
            &mut self.count,
            &mut self.single,
            true,
        )?;
        Ok(self.single.results.all[0])
    }

    /// Inserts the vectors of a batch, in order; the results are also in
    /// [`Batch::inserted`]. On failure that has the results of the first ones,
    /// and calling again goes on with the others.
    ///
    /// # Panics
    /// If the batch comes from a store of another kind.
    pub fn insert_batch<'b>(&mut self, batch: &'b mut Batch) -> Result<&'b [Inserted], StoreError> {
        self.insert_telling(batch, true)?;
        Ok(batch.inserted())
    }

    /// The same for who wants to know of [new ones](Batch::new_states) only, which is quicker. What
    /// became of the others is not told by every store.
    ///
    /// # Panics
    /// If the batch comes from a store of another kind.
    pub fn insert_for_new(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        self.insert_telling(batch, false)
    }

    fn insert_telling(&mut self, batch: &mut Batch, tells_all: bool) -> Result<(), StoreError> {
        let Self {
            store,
            ticket,
            spare,
            count,
            ..
        } = self;
        insert_all(store, ticket, spare, count, batch, tells_all)
    }

    /// Finds out what the vectors of a batch are called here, and stores their parts, not them. It
    /// can be done again when more was pushed.
    pub fn name_batch(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let Plan::Tree(plan) = &mut batch.plan else {
            return Ok(());
        };
        loop {
            let inside = self.store.gate.enter(&mut self.ticket);
            let named = match &*inside {
                Tables::Tree(tree) => tree.name(plan, &mut self.spare),
                _ => Ok(()),
            };
            let Err(shortage) = named else {
                return Ok(());
            };
            let generation = inside.generation();
            drop(inside);
            self.store.grow(Need::Shortage(shortage), generation)?;
        }
    }

    /// Whether a vector is stored; nothing is added. `parent` and `changed` are as for
    /// [`insert`](Self::insert). A lossy store may say yes where it should say no.
    ///
    /// # Panics
    /// If `words` has not the width of the store.
    pub fn contains(&mut self, parent: &Cursor, words: &[u32], changed: Option<&[u64]>) -> bool {
        assert_eq!(
            words.len(),
            self.store.width(),
            "a vector of the wrong width"
        );
        self.single.clear();
        match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => {
                self.single.push(parent, words, changed);
                match &mut self.single.plan {
                    Plan::Tree(plan) => tree.contains(plan),
                    Plan::Whole { .. } => false,
                }
            }
            Tables::Plain(plain) => plain.contains(words),
            Tables::Bitstate(bitstate) => bitstate.contains(words),
            Tables::Compact(compact) => compact.contains(words),
        }
    }

    /// Fills the cursor with a stored state. The handle must come from this
    /// store.
    pub fn load(&mut self, handle: StateHandle, cursor: &mut Cursor) -> Result<(), NotKept> {
        if cursor.handle() == Some(handle) {
            return Ok(());
        }
        match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => {
                let (nodes, words) = cursor.refill(handle);
                tree.load(handle, nodes, words);
                Ok(())
            }
            Tables::Plain(plain) => {
                let (_, words) = cursor.refill(handle);
                plain.load(handle, words);
                Ok(())
            }
            Tables::Bitstate(_) | Tables::Compact(_) => Err(NotKept),
        }
    }

    /// Whether the store has a state with this handle: for handles that come from elsewhere, such
    /// as a file. Lossy stores have no handles of their own, and say no.
    pub fn holds(&mut self, handle: StateHandle) -> bool {
        match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => tree.holds(handle),
            Tables::Plain(plain) => plain.holds(handle),
            Tables::Bitstate(_) | Tables::Compact(_) => false,
        }
    }

    /// Starts to fetch states that will be loaded soon.
    pub fn prefetch(&mut self, handles: &[StateHandle]) {
        match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => handles.iter().for_each(|handle| tree.prefetch(*handle)),
            Tables::Plain(plain) => handles.iter().for_each(|handle| plain.prefetch(*handle)),
            Tables::Bitstate(_) | Tables::Compact(_) => {}
        }
    }

    /// The flags of a state, sequentially consistent with all other operations
    /// on flags. Bitstate stores have none, and say 0.
    pub fn flags(&mut self, handle: StateHandle) -> u8 {
        let flags = match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => tree.flags(handle),
            Tables::Plain(plain) => plain
                .flag_byte(handle)
                .map(|byte| byte.load(Ordering::SeqCst)),
            Tables::Compact(compact) => compact.prints().flags(handle.to_bits()),
            Tables::Bitstate(_) => Some(0),
        };
        known(flags)
    }

    /// Sets the given ones of the [`Store::FLAGS`] flags (the lowest bits) of a
    /// state, atomically and sequentially consistent; returns the flags before.
    pub fn set_flags(&mut self, handle: StateHandle, flags: u8) -> u8 {
        let flags = flags & FLAG_MASK;
        let before = match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => tree.set_flags(handle, flags),
            Tables::Plain(plain) => plain
                .flag_byte(handle)
                .map(|byte| byte.fetch_or(flags, Ordering::SeqCst)),
            Tables::Compact(compact) => compact.prints().set_flags(handle.to_bits(), flags),
            Tables::Bitstate(_) => Some(0),
        };
        known(before)
    }

    /// Clears flags, as [`set_flags`](Self::set_flags) sets them.
    pub fn clear_flags(&mut self, handle: StateHandle, flags: u8) -> u8 {
        let flags = flags & FLAG_MASK;
        let before = match &*self.store.gate.enter(&mut self.ticket) {
            Tables::Tree(tree) => tree.clear_flags(handle, flags),
            Tables::Plain(plain) => plain
                .flag_byte(handle)
                .map(|byte| byte.fetch_and(!flags, Ordering::SeqCst)),
            Tables::Compact(compact) => compact.prints().clear_flags(handle.to_bits(), flags),
            Tables::Bitstate(_) => Some(0),
        };
        known(before)
    }
}

const FLAG_MASK: u8 = (1 << Store::FLAGS) - 1;

/// Flags of a state that must be stored.
fn known(flags: Option<u8>) -> u8 {
    debug_assert!(flags.is_some(), "a handle that this store did not give out");
    flags.unwrap_or(0)
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.count.tell(self.store);
        self.store.workers.fetch_sub(1, Ordering::Relaxed);
        self.store.gate.leave(&self.ticket);
    }
}

/// Inserts what is left of a batch, and lets tables grow as needed.
fn insert_all(
    store: &Store,
    ticket: &mut Ticket,
    spare: &mut SpareIds,
    count: &mut OwnCount,
    batch: &mut Batch,
    tells_all: bool,
) -> Result<(), StoreError> {
    assert_eq!(
        batch.width,
        store.width(),
        "the batch belongs to a store of another width"
    );
    if let Some(every) = store.force_growth_every {
        let more = (batch.len() - batch.results.done) as u64;
        let before = store.insertions.fetch_add(more, Ordering::Relaxed);
        if (before + more) / every > before / every {
            let generation = store.gate.enter(ticket).generation();
            store.grow(Need::Forced, generation)?;
        }
    }
    loop {
        let inside = store.gate.enter(ticket);
        let results = &mut batch.results;
        let before = results.new.len();
        let result = inside.insert(&mut batch.plan, spare, results, tells_all);
        let new = (results.new.len() - before) as u64;
        let len = count.add(store, new);
        let need = match result {
            Err(shortage) => Need::Shortage(shortage),
            Ok(()) if store.should_grow(&inside, len) => Need::Ahead,
            Ok(()) => return Ok(()),
        };
        let generation = inside.generation();
        drop(inside);
        store.grow(need, generation)?;
        if result.is_ok() {
            return Ok(());
        }
    }
}
