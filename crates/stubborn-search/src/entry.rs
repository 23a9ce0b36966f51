//! What queues and stacks hold of a state: its handle, or all of it if the store cannot
//! give it back.

use std::sync::Arc;

use stubborn_store::{Cursor, StateHandle, Store, Worker};

use crate::control::{Control, Halt};
use crate::memory::Ledger;
use crate::packed::Packed;

/// How a state is written into queues and stacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryShape {
    /// 32-bit words of a state.
    state_words: usize,
    /// 64-bit words of an entry.
    pub(crate) entry_words: usize,
    /// Whether an entry is a handle.
    pub(crate) is_handle: bool,
}

impl EntryShape {
    pub(crate) fn new(store: &Store) -> Self {
        let (state_words, is_handle) = (store.width(), store.is_exact());
        let entry_words = if is_handle {
            1
        } else {
            state_words.div_ceil(2)
        };
        Self {
            state_words,
            entry_words,
            is_handle,
        }
    }

    /// The handle in an entry; meaningful only if entries are handles.
    #[inline]
    pub(crate) fn handle(&self, entry: &[u64]) -> StateHandle {
        debug_assert!(self.is_handle);
        StateHandle::from_bits(entry[0])
    }

    /// The entry of a state that is stored whole.
    pub(crate) fn write_words(&self, state: &[u32], out: &mut Vec<u64>) {
        out.extend(
            state.chunks(2).map(|pair| {
                u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32
            }),
        );
    }

    /// The words of an entry that is stored whole.
    fn read_words(&self, entry: &[u64], out: &mut Vec<u32>) {
        out.clear();
        out.extend(entry.iter().flat_map(|e| [*e as u32, (*e >> 32) as u32]));
        out.truncate(self.state_words);
    }

    /// Fills the cursor with the state of an entry; `scratch` is for the words.
    #[inline]
    pub(crate) fn load(
        &self,
        entry: &[u64],
        worker: &mut Worker<'_>,
        cursor: &mut Cursor,
        scratch: &mut Vec<u32>,
    ) {
        if !self.is_handle || worker.load(self.handle(entry), cursor).is_err() {
            self.read_words(entry, scratch);
            cursor.assign(scratch);
        }
    }
}

/// 64-bit words of a chunk, if entries are smaller.
const CHUNK_WORDS: usize = 128;

/// 64-bit words of chunks of entries of so many words.
#[inline]
pub(crate) fn chunk_words(entry_words: usize) -> usize {
    (CHUNK_WORDS / entry_words).max(1) * entry_words
}

/// Where a thread appends entries: parts of a queue, each of which one thread takes at once.
pub(crate) struct ChunkWriter {
    ledger: Arc<Ledger>,
    entry_words: usize,
    full: Vec<Packed>,
    /// The part that is being written.
    current: Vec<u64>,
    /// For packing.
    scratch: Vec<u8>,
}

impl ChunkWriter {
    pub(crate) fn new(ledger: &Arc<Ledger>, entry_words: usize) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            entry_words,
            full: Vec::new(),
            current: Vec::with_capacity(chunk_words(entry_words)),
            scratch: Vec::new(),
        }
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn push(&mut self, entry: &[u64], control: &Control<'_>) -> Result<(), Halt> {
        if self.current.len() >= chunk_words(self.entry_words) {
            self.pack(control)?;
        }
        self.current.extend_from_slice(entry);
        Ok(())
    }

    /// Makes the current part one that is full.
    #[cold]
    fn pack(&mut self, control: &Control<'_>) -> Result<(), Halt> {
        let part = Packed::new(
            &self.current,
            self.entry_words,
            &self.ledger,
            &mut self.scratch,
        );
        self.full.push(part.map_err(|e| control.out_of_memory(e))?);
        self.current.clear();
        Ok(())
    }

    /// Moves everything written to `out`, in order.
    pub(crate) fn finish_into(
        &mut self,
        out: &mut impl Extend<Packed>,
        control: &Control<'_>,
    ) -> Result<(), Halt> {
        let packed = match self.current.is_empty() {
            true => Ok(()),
            false => self.pack(control),
        };
        out.extend(self.full.drain(..));
        packed
    }
}
