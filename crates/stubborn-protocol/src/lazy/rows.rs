//! Sets in rows of words.

/// One row of bits for each of several things.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Words of a row.
    pub(super) words: usize,
    bits: Vec<u64>,
}

impl Rows {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self {
            words,
            bits: vec![0; rows * words],
        }
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    #[inline]
    pub(super) fn contains(&self, row: usize, column: usize) -> bool {
        self.bits[row * self.words + column / 64] >> (column % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    /// Adds one row to another; whether that changes it.
    pub(super) fn add(&mut self, row: usize, other: usize) -> bool {
        let mut changed = false;
        for word in 0..self.words {
            let more = self.bits[other * self.words + word];
            let own = &mut self.bits[row * self.words + word];
            changed |= more & !*own != 0;
            *own |= more;
        }
        changed
    }
}
