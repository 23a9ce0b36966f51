//! States on their way from one store to another.
//!
//! Where several processes have a store each, most of what is sent about a state was sent before:
//! its halves recur. So two tree stores that talk to each other remember under which numbers one has
//! told the other of halves; a state is two numbers then, and words come along only with a half that
//! is told of for the first time (after S. Blom, B. Lisser, J. van de Pol and M. Weber, *A database approach
//! to distributed state-space generation*, 2011). Who sends needs to find the ids of the halves, which is
//! as cheap as for a state of its own, and who receives has nothing to look up but the root.
//!
//! Numbers are places in tables of fixed size, which are the same on both sides: whatever takes a
//! place is told of again. Both must hear of everything in the order in which it was sent.
//!
//! Stores of other kinds send whole vectors, and so do trees of narrow ones, which are as quickly stored.

use crate::batch::{Batch, Plan};
use crate::cursor::Cursor;
use crate::nodes::NodeId;
use crate::region::prefetch;
use crate::shape::{NO_WORD, Shape};
use crate::store::{StateHandle, Store, StoreError};
use crate::worker::Worker;

/// Places for halves of one side, of all other stores together and of each.
const PLACES: usize = 1 << 22;
// (Unit tests shall see places taken by others.)
const MOST_PLACES: usize = if cfg!(test) { 1 << 4 } else { 1 << 20 };
const FEWEST_PLACES: usize = 1 << 2;

/// Beside a place: the words of the half follow.
const TOLD_NOW: u32 = 1 << 31;

/// A half whose id is about to be looked up.
const PENDING: u32 = u32::MAX;

/// Whether an entry of a table is an id plus one.
fn is_named(entry: u32) -> bool {
    entry != 0 && entry != PENDING
}

/// Words of the widest vectors that are sent whole.
const NARROW: usize = if cfg!(test) { 1 } else { 6 };

/// So many words before a state is taken, its places are fetched.
const AHEAD: usize = 32;

/// What came from another store makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// For each side and each other store: ids plus one, by place. Nothing is there at first, not even memory.
type Tables = Vec<[Vec<u32>; 2]>;

/// The halves of a store's states, if they are sent so, and what other stores know of them: nothing yet.
fn beginning(store: &Store, others: usize) -> (Option<Halves>, Tables) {
    let halves = Halves::new(store);
    let places = PLACES / others.max(1);
    let places = places.clamp(FEWEST_PLACES, MOST_PLACES);
    let places = halves.as_ref().map_or(0, |_| 1 << places.ilog2());
    let tables = (0..others).map(|_| [vec![0; places], vec![0; places]]);
    (halves, tables.collect())
}

/// The words of both halves of a tree, and masks of them.
#[derive(Clone, Debug)]
struct Halves {
    words: [Vec<u32>; 2],
    /// Of the first, the second, and both; nothing is at 0.
    masks: [Vec<u64>; 4],
}

impl Halves {
    /// Of a store whose states are sent as numbers of halves.
    fn new(store: &Store) -> Option<Self> {
        let width = store.width();
        let shape = store.shape().filter(|_| width > NARROW)?;
        let mut words = [Vec::new(), Vec::new()];
        let mut masks = std::array::from_fn(|_| vec![0; width.div_ceil(64)]);
        for (position, both) in shape.leaves() {
            let mut side = position;
            while side > 3 {
                side /= 2;
            }
            let side = side % 2;
            for word in both.into_iter().filter(|word| *word != NO_WORD) {
                words[side].push(word);
                for which in [1 << side, 3] {
                    let mask: &mut Vec<u64> = &mut masks[which];
                    mask[word as usize / 64] |= 1 << (word % 64);
                }
            }
        }
        Some(Self { words, masks })
    }
}

/// What other stores were told of states here.
#[derive(Debug)]
pub struct Departures {
    told: Tables,
    halves: Option<Halves>,
    cursor: Cursor,
}

impl Departures {
    /// Other stores, by their numbers, know nothing yet.
    pub fn new(store: &Store, others: usize) -> Self {
        let (halves, told) = beginning(store, others);
        Self {
            told,
            halves,
            cursor: store.cursor(),
        }
    }

    /// Whether states are sent by their [names](Batch::take_out), rather than as they are.
    pub fn have_names(&self) -> bool {
        self.halves.is_some()
    }

    /// Starts to fetch what [`put`](Self::put) looks at first.
    #[inline]
    pub fn prefetch(&self, to: usize, name: &[u32]) {
        for (told, id) in self.told[to].iter().zip(name) {
            if let Some(place) = told.get(*id as usize & told.len().wrapping_sub(1)) {
                prefetch(place);
            }
        }
    }

    /// Says to another store which state is meant by a [name](Batch::take_out), or by all words.
    #[inline]
    pub fn put(&mut self, worker: &mut Worker<'_>, to: usize, name: &[u32], out: &mut Vec<u8>) {
        let mut append = |word: u32| out.extend_from_slice(&word.to_le_bytes());
        let (Some(halves), [left, right]) = (&self.halves, name) else {
            name.iter().for_each(|word| append(*word));
            return;
        };
        let mut is_new = [false; 2];
        for (side, id) in [*left, *right].into_iter().enumerate() {
            let told = &mut self.told[to][side];
            let place = id as usize & (told.len() - 1);
            let before = std::mem::replace(&mut told[place], id.wrapping_add(1));
            is_new[side] = before != id.wrapping_add(1);
            append(place as u32 | if is_new[side] { TOLD_NOW } else { 0 });
        }
        if is_new == [false; 2] {
            return;
        }
        let handle = StateHandle::from_bits(u64::from(*left) << 32 | u64::from(*right));
        let _ = worker.load(handle, &mut self.cursor);
        for side in (0..2).filter(|side| is_new[*side]) {
            let words = halves.words[side].iter();
            words.for_each(|word| append(self.cursor.words()[*word as usize]));
        }
    }
}

/// What other stores have told of states there.
#[derive(Debug)]
pub struct Arrivals {
    known: Tables,
    halves: Option<Halves>,
    /// Halves whose ids will be known when the batch is named: the number of the vector, the other
    /// store, the side and the place.
    pending: Vec<(usize, usize, usize, usize)>,
    nodes: Vec<NodeId>,
    words: Vec<u32>,
    /// A bit for each word.
    all: Vec<u64>,
    nowhere: Cursor,
}

impl Arrivals {
    /// Other stores, by their numbers, have told nothing yet.
    pub fn new(store: &Store, others: usize) -> Self {
        let (halves, known) = beginning(store, others);
        let width = store.width();
        let mut all = vec![u64::MAX; width.div_ceil(64)];
        if let Some(last) = all.last_mut() {
            *last >>= (64 - width % 64) % 64;
        }
        Self {
            known,
            halves,
            pending: Vec::new(),
            nodes: vec![NodeId::NONE; store.shape().map_or(0, Shape::positions)],
            words: vec![0; width],
            all,
            nowhere: store.cursor(),
        }
    }

    /// Puts states into a batch as long as that needs nothing else, since they are sent whole or
    /// another store has told of their halves before, and the batch is not full; returns what follows them.
    #[inline]
    pub fn take_known<'w>(&self, from: usize, words: &'w [u32], batch: &mut Batch) -> &'w [u32] {
        let mut left = words;
        if self.halves.is_none() {
            while !batch.is_full()
                && let Some((state, rest)) = left.split_at_checked(self.words.len())
            {
                self.push_whole(state, batch);
                left = rest;
            }
            return left;
        }
        let [lefts, rights] = &self.known[from];
        while !batch.is_full()
            && let Some(([one, two], rest)) = left.split_first_chunk()
            // (A half that is told of now has no place in the table.)
            && let (Some(one), Some(two)) = (lefts.get(*one as usize), rights.get(*two as usize))
            && is_named(*one)
            && is_named(*two)
        {
            // Most states are two words.
            if let Some([one, two]) = left.get(AHEAD..AHEAD + 2) {
                if let Some(id) = lefts.get(*one as usize) {
                    prefetch(id);
                }
                if let Some(id) = rights.get(*two as usize) {
                    prefetch(id);
                }
            }
            batch.push_root([NodeId(*one - 1), NodeId(*two - 1)]);
            left = rest;
        }
        left
    }

    /// Puts the state into a batch that another store has told of; returns what follows it.
    ///
    /// # Errors
    /// If there is no room, or if that is no state.
    pub fn take<'w>(
        &mut self,
        from: usize,
        words: &'w [u32],
        worker: &mut Worker<'_>,
        batch: &mut Batch,
    ) -> Result<Result<&'w [u32], Nonsense>, StoreError> {
        let (Some(halves), Plan::Tree(_)) = (&self.halves, &batch.plan) else {
            let Some((state, rest)) = words.split_at_checked(self.words.len()) else {
                return Ok(Err(Nonsense));
            };
            self.push_whole(state, batch);
            return Ok(Ok(rest));
        };
        let Some(([left, right], mut rest)) = words.split_first_chunk() else {
            return Ok(Err(Nonsense));
        };
        let both = [*left, *right];
        let mut which = 0;
        for (side, place) in both.into_iter().enumerate() {
            let (place, is_new) = ((place & !TOLD_NOW) as usize, place & TOLD_NOW != 0);
            let Some(known) = self.known[from][side].get(place).copied() else {
                return Ok(Err(Nonsense));
            };
            if is_new {
                let count = halves.words[side].len();
                let Some((words, others)) = rest.split_at_checked(count) else {
                    return Ok(Err(Nonsense));
                };
                rest = others;
                for (at, word) in halves.words[side].iter().zip(words) {
                    self.words[*at as usize] = *word;
                }
                which |= 1 << side;
                continue;
            }
            self.nodes[2 + side] = match known {
                0 => return Ok(Err(Nonsense)),
                PENDING => {
                    worker.name_batch(batch)?;
                    settle(&mut self.pending, &mut self.known, batch);
                    NodeId(self.known[from][side][place].wrapping_sub(1))
                }
                known => NodeId(known - 1),
            };
        }
        for side in (0..2).filter(|side| which >> side & 1 == 1) {
            let place = (both[side] & !TOLD_NOW) as usize;
            self.known[from][side][place] = PENDING;
            self.pending.push((batch.len(), from, side, place));
        }
        batch.push_parts(&self.nodes, &self.words, &halves.masks[which], which);
        Ok(Ok(rest))
    }

    #[inline]
    fn push_whole(&self, state: &[u32], batch: &mut Batch) {
        match &batch.plan {
            Plan::Tree(_) => batch.push_parts(&self.nodes, state, &self.all, 3),
            Plan::Whole { .. } => batch.push(&self.nowhere, state, None),
        }
    }

    /// Whether something that was told of lately has no id yet.
    pub fn wait_for_names(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Notes the ids of what was told of lately. The batch must have been
    /// [named](Worker::name_batch), and nothing taken out of it yet.
    pub fn settle(&mut self, batch: &Batch) {
        settle(&mut self.pending, &mut self.known, batch);
    }
}

fn settle(pending: &mut Vec<(usize, usize, usize, usize)>, known: &mut Tables, batch: &Batch) {
    for (number, from, side, place) in pending.drain(..) {
        // (There is none if there was no room.)
        if let Plan::Tree(plan) = &batch.plan
            && let Some(root) = plan.roots.get(number)
        {
            let id = (root >> (32 * side)) as u32;
            known[from][side][place] = id.wrapping_add(1);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{MemoryBudget, StoreKind, StoreOptions};
    use std::collections::BTreeSet;

    fn store(width: usize, kind: StoreKind) -> Store {
        let options = StoreOptions {
            initial_capacity: 10,
            ..StoreOptions::new(kind)
        };
        Store::new(width, &options, &MemoryBudget::unlimited()).expect("there is room")
    }

    fn words_of(bytes: &[u8]) -> Vec<u32> {
        let (words, _) = bytes.as_chunks();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn states_of(store: &Store) -> BTreeSet<Vec<u32>> {
        let mut states = BTreeSet::new();
        let (mut worker, mut cursor) = (store.worker(), store.cursor());
        store.for_each(&mut |handle, _| {
            worker.load(handle, &mut cursor).expect("it is exact");
            states.insert(cursor.words().to_vec())
        });
        states
    }

    /// What is sent by two stores, in any portions, arrives at a third one, and nothing else does.
    #[test]
    fn everything_arrives() {
        let mut seed = 1_u64;
        let mut below = |most: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % most
        };
        for width in [1, 2, 3, 5, 7, 40, 131] {
            for kind in [StoreKind::Tree, StoreKind::Plain] {
                let stores = [store(width, kind), store(width, kind), store(width, kind)];
                let mut workers = stores.each_ref().map(Store::worker);
                let mut batches = stores.each_ref().map(Store::batch);
                let mut departures = stores.each_ref().map(|s| Departures::new(s, 3));
                let mut arrivals = Arrivals::new(&stores[2], 3);
                let nowhere = stores[0].cursor();
                let (mut sent, mut kept) = (BTreeSet::new(), BTreeSet::new());
                for _ in 0..300 {
                    let from = below(2);
                    let mut leaving = Vec::new();
                    for at in 0..1 + below(40) {
                        let mut state = vec![7; width];
                        for _ in 0..3 {
                            state[below(width)] = below(9) as u32;
                        }
                        batches[from].push(&nowhere, &state, None);
                        if below(3) > 0 {
                            leaving.push(at);
                            sent.insert(state);
                        } else {
                            kept.insert((from, state));
                        }
                    }
                    let mut bytes = Vec::new();
                    let (worker, batch) = (&mut workers[from], &mut batches[from]);
                    worker.name_batch(batch).expect("there is room");
                    batch.take_out(&leaving, |_, name| {
                        departures[from].put(worker, 2, name, &mut bytes);
                    });
                    worker.insert_batch(batch).expect("there is room");
                    batch.clear();
                    let words = words_of(&bytes);
                    let mut left = &words[..];
                    let (worker, batch) = (&mut workers[2], &mut batches[2]);
                    while !left.is_empty() {
                        if below(4) > 0 {
                            left = arrivals.take_known(from, left, batch);
                        }
                        if !left.is_empty() && !batch.is_full() {
                            let taken = arrivals.take(from, left, worker, batch);
                            left = taken.expect("there is room").expect("it makes sense");
                        }
                        if batch.is_full() {
                            worker.name_batch(batch).expect("there is room");
                            arrivals.settle(batch);
                            worker.insert_batch(batch).expect("there is room");
                            batch.clear();
                        }
                    }
                }
                let (worker, batch) = (&mut workers[2], &mut batches[2]);
                worker.insert_batch(batch).expect("there is room");
                assert_eq!(states_of(&stores[2]), sent, "{kind:?}, {width} words");
                for (from, store) in stores.iter().enumerate().take(2) {
                    let own = kept.iter().filter(|(who, _)| *who == from);
                    let own: BTreeSet<Vec<u32>> = own.map(|(_, state)| state.clone()).collect();
                    assert_eq!(states_of(store), own, "{kind:?}, {width} words");
                }
            }
        }
    }

    /// Whatever somebody sends: it is no panic.
    #[test]
    fn nonsense_is_told_from_states() {
        let store = store(6, StoreKind::Tree);
        let (mut worker, mut batch) = (store.worker(), store.batch());
        let mut arrivals = Arrivals::new(&store, 2);
        for words in [
            &[][..],
            &[1],
            &[1, 2],
            &[TOLD_NOW, 2, 0, 0, 0],
            &[TOLD_NOW | 1, TOLD_NOW | 1, 0, 0, 0, 0, 0],
            &[TOLD_NOW | 1 << 20, TOLD_NOW, 0, 0, 0, 0, 0, 0],
        ] {
            let taken = arrivals.take(1, words, &mut worker, &mut batch);
            assert_eq!(taken, Ok(Err(Nonsense)), "{words:?}");
        }
        assert!(batch.is_empty());
        let words = [TOLD_NOW | 1, TOLD_NOW | 1, 1, 2, 3, 4, 5, 6, 1, 1];
        let rest = arrivals.take(1, &words, &mut worker, &mut batch);
        assert_eq!(rest, Ok(Ok(&[1, 1][..])));
        let rest = arrivals.take(1, &[1, 1], &mut worker, &mut batch);
        assert_eq!(rest, Ok(Ok(&[][..])));
        worker.insert_batch(&mut batch).expect("there is room");
        assert_eq!(store.len(), 1, "twice the same");
    }
}
