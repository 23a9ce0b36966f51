//! Successors that are inserted together, to hide the latency of memory.

use crate::cursor::Cursor;
use crate::nodes::NodeId;
use crate::plan::TreePlan;
use crate::store::{Inserted, StateHandle};

/// Vectors waiting to be inserted, of any number of parents.
///
/// Made by [`Store::batch`](crate::Store::batch), filled by
/// [`push`](Self::push), inserted by
/// [`Worker::insert_batch`](crate::Worker::insert_batch), then
/// [`clear`](Self::clear)ed. The store hashes and prefetches for all vectors
/// before it probes for any. [`Batch::GOOD_SIZE`] vectors are enough to hide
/// most of the latency; more do no harm. Ask [`is_full`](Self::is_full) between
/// parents.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(crate) width: usize,
    pub(crate) plan: Plan,
    pub(crate) results: Results,
    len: usize,
}

/// What became of the vectors of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    /// How many were inserted.
    pub(crate) done: usize,
    /// What became of each, if somebody wants to know.
    pub(crate) all: Vec<Inserted>,
    /// Those that were new.
    pub(crate) new: Vec<StateHandle>,
}

/// What is kept of the vectors until they are inserted.
// There is one for each batch: its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The lookups in a tree.
    Tree(TreePlan),
    /// The whole vectors, and space for their hashes.
    Whole { words: Vec<u32>, hashes: Vec<u64> },
}

impl Batch {
    /// The number of vectors after which [`is_full`](Self::is_full) says yes.
    pub const GOOD_SIZE: usize = 64;

    pub(crate) fn new(width: usize, plan: Plan) -> Self {
        Self {
            width,
            plan,
            results: Results {
                done: 0,
                all: Vec::with_capacity(Self::GOOD_SIZE),
                new: Vec::with_capacity(Self::GOOD_SIZE),
            },
            len: 0,
        }
    }

    /// The number of vectors pushed.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it is time to insert.
    pub fn is_full(&self) -> bool {
        self.len >= Self::GOOD_SIZE
    }

    /// Adds a vector: a successor of the state in `parent`, or any state if the
    /// cursor is empty.
    ///
    /// `changed` has bit `i % 64` of its word `i / 64` set for each word `i` that
    /// may differ from the parent's. It may name too many words, but leaving out
    /// one that differs stores a wrong state. Without it, the vectors are compared.
    ///
    /// # Panics
    /// If `words` has not the width of the store.
    #[inline]
    pub fn push(&mut self, parent: &Cursor, words: &[u32], changed: Option<&[u64]>) {
        assert_eq!(words.len(), self.width, "a vector of the wrong width");
        match &mut self.plan {
            Plan::Tree(plan) => {
                let known = parent.nodes();
                match (parent.handle(), changed) {
                    (None, _) => plan.push_unmasked(known, None, words),
                    (Some(_), None) => plan.push_unmasked(known, Some(parent.words()), words),
                    (Some(_), Some(mask)) => {
                        debug_assert!(
                            mask_covers(mask, parent.words(), words),
                            "a changed word is not in the mask"
                        );
                        plan.push(known, words, mask);
                    }
                }
            }
            Plan::Whole { words: all, .. } => all.extend_from_slice(words),
        }
        self.len += 1;
    }

    /// Adds `count` successors of the state in `parent`: their words lie one behind the
    /// other, and so do the masks of those that may differ. Those that are certainly known, because
    /// nothing has changed in them, or because they come twice in a row, may be left out.
    ///
    /// # Panics
    /// If there are not so many vectors and masks.
    #[inline(always)]
    pub fn push_all(&mut self, parent: &Cursor, count: usize, words: &[u32], changed: &[u64]) {
        self.push_each(parent, count, words, changed, |_| {});
    }

    /// The same; `pushed` hears of each that is not left out which one of them it is.
    ///
    /// # Panics
    /// If there are not so many vectors and masks.
    #[inline(always)]
    pub fn push_each(
        &mut self,
        parent: &Cursor,
        count: usize,
        words: &[u32],
        changed: &[u64],
        pushed: impl FnMut(usize),
    ) {
        let mask_words = self.width.div_ceil(64);
        assert!(
            words.len() == count * self.width && changed.len() == count * mask_words,
            "not so many vectors and masks"
        );
        match &mut self.plan {
            Plan::Tree(plan) if parent.handle().is_some() => {
                let vectors = words.chunks_exact(self.width);
                debug_assert!(
                    vectors
                        .zip(changed.chunks_exact(mask_words))
                        .all(|(words, mask)| mask_covers(mask, parent.words(), words)),
                    "a changed word is not in the mask"
                );
                self.len += plan.push_all(parent.nodes(), self.width, words, changed, pushed);
            }
            _ => {
                self.push_whole(parent, words);
                (0..count).for_each(pushed);
            }
        }
    }

    #[inline(never)]
    fn push_whole(&mut self, parent: &Cursor, words: &[u32]) {
        for vector in words.chunks_exact(self.width) {
            self.push(parent, vector, None);
        }
    }

    /// Adds a vector by the ids of its halves, in a tree.
    #[inline]
    pub(crate) fn push_root(&mut self, halves: [NodeId; 2]) {
        if let Plan::Tree(plan) = &mut self.plan {
            plan.roots.push(NodeId::pair(halves));
            self.len += 1;
        }
    }

    /// Adds a vector of which some halves are words and the others ids, in a tree; `which` has a
    /// bit for each half in words, and `mask` one for each such word.
    #[inline]
    pub(crate) fn push_parts(
        &mut self,
        known: &[NodeId],
        words: &[u32],
        mask: &[u64],
        which: usize,
    ) {
        match &mut self.plan {
            Plan::Tree(plan) if which != 0 => {
                plan.push(known, words, mask);
                self.len += 1;
            }
            _ => self.push_root([known[2], known[3]]),
        }
    }

    /// Takes vectors out that are to be stored elsewhere, given by their numbers in ascending order;
    /// `show` gets the number of each among these, and what it is called in this store: two ids in a
    /// tree, all words in others. The batch must have been [named](crate::Worker::name_batch), and
    /// not inserted.
    pub fn take_out(&mut self, which: &[usize], mut show: impl FnMut(usize, &[u32])) {
        debug_assert!(self.results.done == 0, "they are stored already");
        let mut left = which.iter().copied().peekable();
        let (mut kept, mut taken) = (0, 0);
        for at in 0..self.len {
            let leaves = left.next_if_eq(&at).is_some();
            match &mut self.plan {
                Plan::Tree(plan) if leaves => {
                    let root = plan.roots[at];
                    show(taken, &[root as u32, (root >> 32) as u32]);
                }
                Plan::Tree(plan) => plan.roots[kept] = plan.roots[at],
                Plan::Whole { words, .. } if leaves => {
                    show(taken, &words[at * self.width..][..self.width]);
                }
                Plan::Whole { words, .. } => {
                    let from = at * self.width;
                    words.copy_within(from..from + self.width, kept * self.width);
                }
            }
            taken += usize::from(leaves);
            kept += usize::from(!leaves);
        }
        self.len = kept;
        match &mut self.plan {
            Plan::Tree(plan) => plan.roots.truncate(kept),
            Plan::Whole { words, .. } => words.truncate(kept * self.width),
        }
    }

    /// What became of the vectors, in the order of pushing. After an insertion
    /// that failed these are only the first ones.
    pub fn inserted(&self) -> &[Inserted] {
        &self.results.all
    }

    /// Those of the vectors inserted so far that were new, in the order of pushing.
    pub fn new_states(&self) -> &[StateHandle] {
        &self.results.new
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.len = 0;
        self.results.done = 0;
        self.results.all.clear();
        self.results.new.clear();
        match &mut self.plan {
            Plan::Tree(plan) => plan.clear(),
            Plan::Whole { words, .. } => words.clear(),
        }
    }
}

/// Whether all differences between two vectors are in `mask`.
fn mask_covers(mask: &[u64], before: &[u32], after: &[u32]) -> bool {
    let in_mask = |word: usize| {
        mask.get(word / 64)
            .is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    };
    before
        .iter()
        .zip(after)
        .enumerate()
        .all(|(word, (before, after))| before == after || in_mask(word))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{MemoryBudget, StateHandle, Store, StoreKind, StoreOptions};

    /// What is known without a look is not looked up, and everything else is stored.
    #[test]
    fn what_is_certainly_known_is_left_out() {
        for width in [3, 70] {
            for kind in [StoreKind::Tree, StoreKind::Plain] {
                let options = StoreOptions {
                    kind,
                    ..StoreOptions::default()
                };
                let store = Store::new(width, &options, &MemoryBudget::unlimited());
                let store = store.expect("memory");
                let (mut worker, mut cursor) = (store.worker(), store.cursor());
                let parent = vec![0_u32; width];
                let first = worker.insert(&cursor, &parent, None).expect("memory");
                worker.load(first.handle, &mut cursor).expect("kept");
                // The last word becomes 0 (as it was), 1, 1, 2, 1; the first one 1 with it at last.
                let (mut words, mut masks) = (Vec::new(), Vec::new());
                for (last, first) in [(0, 0), (1, 0), (1, 0), (2, 0), (1, 0), (1, 1)] {
                    let mut state = parent.clone();
                    (state[width - 1], state[0]) = (last, first);
                    let mut mask = vec![0_u64; width.div_ceil(64)];
                    mask[(width - 1) / 64] |= u64::from(last != 0) << ((width - 1) % 64);
                    mask[0] |= u64::from(first != 0);
                    words.extend(state);
                    masks.extend(mask);
                }
                let mut batch = store.batch();
                batch.push_all(&cursor, 6, &words, &masks);
                let expected = if kind == StoreKind::Tree { 4 } else { 6 };
                assert_eq!(batch.len(), expected);
                let inserted = worker.insert_batch(&mut batch).expect("memory");
                assert_eq!(inserted.len(), expected);
                let new = inserted.iter().filter(|one| one.is_new);
                let new: Vec<StateHandle> = new.map(|one| one.handle).collect();
                assert_eq!((new.len(), batch.new_states()), (3, &new[..]));
                assert_eq!(store.len(), 4);
                // All nodes are known now, and so is what does not change.
                batch.clear();
                let mut pushed = Vec::new();
                batch.push_each(&cursor, 6, &words, &masks, |at| pushed.push(at));
                let numbers = match kind {
                    StoreKind::Tree => vec![1, 3, 4, 5],
                    _ => (0..6).collect(),
                };
                assert_eq!((batch.len(), pushed), (expected, numbers));
                // One more, which is new.
                let other = vec![9; width];
                batch.push(&cursor, &other, None);
                worker.insert_for_new(&mut batch).expect("memory");
                worker
                    .load(batch.new_states()[0], &mut cursor)
                    .expect("kept");
                assert_eq!((batch.new_states().len(), cursor.words()), (1, &other[..]));
                assert_eq!(store.len(), 5);
            }
        }
    }
}
