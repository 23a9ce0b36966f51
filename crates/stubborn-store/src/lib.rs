//! State stores: sets of fixed-length vectors of 32-bit words, shared by the
//! threads of an explicit-state search.
//!
//! A [`Store`] is one of four [`StoreKind`]s: tree compression (the default) and
//! plain vectors are exact, bitstate hashing and hash compaction are lossy. All
//! take their memory from one [`MemoryBudget`], and a refusal is an error, not an
//! abort.
//!
//! Each thread makes a [`Worker`]. It loads a state into a [`Cursor`], pushes
//! the state's successors onto a [`Batch`] (those of several states, until the
//! batch is full), and inserts the batch:
//!
//! ```
//! use stubborn_store::{MemoryBudget, Store, StoreOptions};
//!
//! // Two counters, modulo 10, each in a word of its own, and a third word.
//! let store = Store::new(3, &StoreOptions::default(), &MemoryBudget::unlimited())?;
//! let mut worker = store.worker();
//! let mut cursor = store.cursor();
//! let mut batch = store.batch();
//! let start = worker.insert(&cursor, &[0, 0, 7], None)?;
//! let mut queue = vec![start.handle];
//! while let Some(handle) = queue.pop() {
//!     worker.load(handle, &mut cursor)?;
//!     let state = cursor.words();
//!     let first = [(state[0] + 1) % 10, state[1], state[2]];
//!     let second = [state[0], (state[1] + 1) % 10, state[2]];
//!     batch.push(&cursor, &first, Some(&[0b001]));
//!     batch.push(&cursor, &second, Some(&[0b010]));
//!     // A real search expands more states before it inserts.
//!     for inserted in worker.insert_batch(&mut batch)? {
//!         if inserted.is_new {
//!             queue.push(inserted.handle);
//!         }
//!     }
//!     batch.clear();
//! }
//! assert_eq!(store.len(), 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | holds |
//! | --- | --- |
//! | `store`, `worker`, `cursor`, `batch` | the interface |
//! | `tree`, `plan`, `shape` | tree compression, incremental insertion and loading |
//! | `plain`, `lossy` | the other stores |
//! | `quotient` | the table of tree roots and of fingerprints, in segments that grow by themselves |
//! | `nodes`, `index` | arenas with a hash index: inner nodes, plain vectors |
//! | [`saved`] | writing a store down, and taking it up again |
//! | [`travel`] | states on their way to other stores |
//! | `gate`, `crew` | stopping all threads while tables grow, which they help with |
//! | `hash`, `budget`, `region`, `sync` | hash functions, memory, atomics |
//!
//! # Testing
//!
//! `cargo test -p stubborn-store` runs differential tests against a standard set.
//! The lock-free parts are model-checked by loom, with
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p stubborn-store --release --lib loom --target-dir target/loom
//! ```
//!
//! Unsafe code is in `region` (memory), `gate` and `crew` (exclusion) only, besides two
//! marker implementations for types made of atomics.

mod batch;
mod budget;
mod crew;
mod cursor;
mod gate;
mod hash;
mod index;
#[cfg(all(test, loom))]
mod loom_tests;
mod lossy;
mod nodes;
mod plain;
mod plan;
mod quotient;
mod region;
pub mod saved;
mod shape;
mod store;
mod sync;
pub mod travel;
mod tree;
mod worker;

pub use batch::Batch;
pub use budget::{MemoryBudget, OutOfMemory};
pub use cursor::Cursor;
pub use region::prefetch;
pub use shape::{Leaves, NO_WORD};
pub use store::{Inserted, StateHandle, Store, StoreError, StoreKind, StoreOptions};
pub use worker::{NotKept, Worker};

/// All items as an array, which is never on a stack: it may be too large for that.
fn boxed<T, const LEN: usize>(items: Vec<T>) -> Box<[T; LEN]> {
    let Ok(array) = items.try_into() else {
        unreachable!("as many are made as the array has");
    };
    array
}
