//! A synthetic model with the habits of real ones: processes of a few locations
//! and a small counter, which wait for each other, and of which each step changes
//! one or two words.

use stubborn_store::{Batch, Cursor, StateHandle, Store, Worker};

/// Philosophers around a table, as word vectors: a word for each philosopher
/// (location and a counter of meals), or more words each, of which those between
/// the two never change, then words with the forks, eight to a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// Philosophers.
    pub(crate) seats: usize,
    /// Meals after which the counter of a philosopher begins again.
    pub(crate) meals: u32,
    /// Words of a philosopher: location, then the counter and copies of it.
    pub(crate) words_each: usize,
}

impl Table {
    /// Words of a state.
    pub(crate) fn width(&self) -> usize {
        self.seats * self.words_each + self.seats.div_ceil(8)
    }

    fn fork(&self, fork: usize) -> (usize, u32) {
        let fork = fork % self.seats;
        (
            self.seats * self.words_each + fork / 8,
            4 * (fork as u32 % 8),
        )
    }

    /// Calls `visit` with each successor and the mask of its changed words.
    /// `next` is a copy of `state` before and after.
    pub(crate) fn successors(
        &self,
        state: &[u32],
        next: &mut [u32],
        mask: &mut [u64],
        mut visit: impl FnMut(&[u32], &[u64]),
    ) {
        for seat in 0..self.seats {
            let own = seat * self.words_each;
            let counter = own + self.words_each - 1;
            let location = state[own] & 7;
            // Odd philosophers are left-handed: no deadlock, more states.
            let (first, second) = if seat % 2 == 0 {
                (seat, seat + 1)
            } else {
                (seat + 1, seat)
            };
            let (fork, takes) = match location {
                0 => (first, true),
                1 => (second, true),
                2 => (first, false),
                _ => (second, false),
            };
            let (word, shift) = self.fork(fork);
            if takes && state[word] >> shift & 15 != 0 {
                continue;
            }
            next[word] = if takes {
                state[word] | (1 + seat as u32 % 2) << shift
            } else {
                state[word] & !(15 << shift)
            };
            next[own] = (state[own] & !7) | ((location + 1) % 4);
            mask[word / 64] |= 1 << (word % 64);
            mask[own / 64] |= 1 << (own % 64);
            if location == 3 {
                let meals = (next[counter] >> 8) + 1;
                next[counter] = (next[counter] & 0xFF) | ((meals % self.meals) << 8);
                mask[counter / 64] |= 1 << (counter % 64);
            }
            visit(next, mask);
            for changed in [word, own, counter] {
                next[changed] = state[changed];
                mask[changed / 64] = 0;
            }
        }
    }
}

/// How successors reach the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One by one, whole.
    Whole,
    /// One by one, by the parent's cursor and a mask.
    Incremental,
    /// By cursor, mask and batches.
    Batched,
}

/// What an exploration saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Distinct states.
    pub(crate) states: u64,
    /// Insertions.
    pub(crate) edges: u64,
}

/// Breadth-first exploration of all states, or of the first `limit`.
pub(crate) fn explore(table: &Table, store: &Store, way: Way, limit: u64) -> Seen {
    let mut worker = store.worker();
    let mut cursor = store.cursor();
    let blank = store.cursor();
    let mut batch = store.batch();
    let mut next = vec![0; table.width()];
    let mut mask = vec![0; table.width().div_ceil(64)];
    let mut seen = Seen::default();
    let mut level = Vec::new();
    let start = worker
        .insert(&blank, &next, None)
        .expect("room for one state");
    let mut below = vec![start.handle];
    while !below.is_empty() && store.len() < limit {
        std::mem::swap(&mut level, &mut below);
        below.clear();
        for (at, handle) in level.iter().enumerate() {
            if at % 16 == 0 {
                worker.prefetch(&level[level.len().min(at + 16)..level.len().min(at + 32)]);
            }
            worker.load(*handle, &mut cursor).expect("an exact store");
            let state = cursor.words();
            next.copy_from_slice(state);
            table.successors(state, &mut next, &mut mask, |successor, mask| {
                seen.edges += 1;
                match way {
                    Way::Batched => batch.push(&cursor, successor, Some(mask)),
                    Way::Incremental => {
                        one(&mut worker, &cursor, successor, Some(mask), &mut below)
                    }
                    Way::Whole => one(&mut worker, &blank, successor, None, &mut below),
                }
            });
            if batch.is_full() {
                flush(&mut worker, &mut batch, &mut below);
            }
        }
        flush(&mut worker, &mut batch, &mut below);
    }
    seen.states = store.len();
    seen
}

fn one(
    worker: &mut Worker<'_>,
    parent: &Cursor,
    successor: &[u32],
    mask: Option<&[u64]>,
    below: &mut Vec<StateHandle>,
) {
    let inserted = worker
        .insert(parent, successor, mask)
        .expect("enough memory");
    if inserted.is_new {
        below.push(inserted.handle);
    }
}

fn flush(worker: &mut Worker<'_>, batch: &mut Batch, below: &mut Vec<StateHandle>) {
    for inserted in worker.insert_batch(batch).expect("enough memory") {
        if inserted.is_new {
            below.push(inserted.handle);
        }
    }
    batch.clear();
}
