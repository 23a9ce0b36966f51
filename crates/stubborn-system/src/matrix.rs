//! Relations between two kinds of ids: sparse rows, and bits where rows are dense.
//!
//! Algorithms walk rows (`iter`) and ask for membership (`contains`). Rows of nets with
//! 100,000 transitions are short, and a dense matrix of that size would take over a
//! gigabyte, so rows are stored as sorted lists, and a bit matrix is kept beside them
//! only where it is small.

use std::marker::PhantomData;

/// An id that indexes rows or columns.
pub trait Index: Copy {
    /// From a position.
    fn from_index(index: usize) -> Self;
    /// To a position.
    fn to_index(self) -> usize;
}

macro_rules! index {
    ($($id:ident),*) => {$(
        impl Index for crate::$id {
            #[inline]
            fn from_index(index: usize) -> Self { Self::new(index) }
            #[inline]
            fn to_index(self) -> usize { self.index() }
        }
    )*};
}
index!(FieldId, LabelId, ProcessId, TransitionId);

/// Bits up to this many are kept beside the lists (8 MiB).
const DENSE_LIMIT: usize = 1 << 26;

/// A relation between ids of kind `R` (rows) and ids of kind `C` (columns).
#[derive(Clone, Debug)]
pub struct Matrix<R, C> {
    rows: usize,
    columns: usize,
    starts: Vec<usize>,
    entries: Vec<u32>,
    /// Row-major bits, `stride` words a row; empty if too large.
    bits: Vec<u64>,
    stride: usize,
    ids: PhantomData<fn(R) -> C>,
}

impl<R: Index, C: Index> Matrix<R, C> {
    /// The relation in which nothing is related.
    pub fn empty(rows: usize, columns: usize) -> Self {
        Self::from_rows(columns, (0..rows).map(|_| Vec::new()))
    }

    /// From the columns of each row, in any order, repetitions allowed.
    pub fn from_rows(columns: usize, rows: impl IntoIterator<Item = Vec<u32>>) -> Self {
        let mut starts = vec![0];
        let mut entries = Vec::new();
        for mut row in rows {
            row.sort_unstable();
            row.dedup();
            debug_assert!(row.last().is_none_or(|c| (*c as usize) < columns));
            entries.extend_from_slice(&row);
            starts.push(entries.len());
        }
        let rows = starts.len() - 1;
        let stride = columns.div_ceil(64);
        let mut bits = Vec::new();
        if rows.saturating_mul(columns) <= DENSE_LIMIT {
            bits.resize(rows * stride, 0);
            for row in 0..rows {
                for column in &entries[starts[row]..starts[row + 1]] {
                    bits[row * stride + *column as usize / 64] |= 1 << (column % 64);
                }
            }
        }
        Self {
            rows,
            columns,
            starts,
            entries,
            bits,
            stride,
            ids: PhantomData,
        }
    }

    /// From a decision for each pair; for small relations.
    pub fn from_fn(rows: usize, columns: usize, mut related: impl FnMut(R, C) -> bool) -> Self {
        Self::from_rows(
            columns,
            (0..rows).map(|r| {
                let row = R::from_index(r);
                (0..columns)
                    .filter(|c| related(row, C::from_index(*c)))
                    .map(|c| c as u32)
                    .collect()
            }),
        )
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of related pairs.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The columns related to `row`, in increasing order.
    #[inline]
    pub fn row(&self, row: R) -> impl ExactSizeIterator<Item = C> + Clone + '_ {
        self.row_indices(row)
            .iter()
            .map(|c| C::from_index(*c as usize))
    }

    /// The same as raw column numbers, for inner loops.
    #[inline]
    pub fn row_indices(&self, row: R) -> &[u32] {
        let row = row.to_index();
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// The row as bits, if the matrix is small enough to keep them.
    #[inline]
    pub fn row_bits(&self, row: R) -> Option<&[u64]> {
        (!self.bits.is_empty() || self.columns == 0)
            .then(|| &self.bits[row.to_index() * self.stride..][..self.stride])
    }

    /// Whether the pair is related.
    #[inline]
    pub fn contains(&self, row: R, column: C) -> bool {
        let column = column.to_index();
        match self.row_bits(row) {
            Some(bits) => bits[column / 64] >> (column % 64) & 1 == 1,
            None => self
                .row_indices(row)
                .binary_search(&(column as u32))
                .is_ok(),
        }
    }

    /// Rows and columns exchanged.
    pub fn transpose(&self) -> Matrix<C, R> {
        let mut rows = vec![Vec::new(); self.columns];
        for row in 0..self.rows {
            for column in self.row_indices(R::from_index(row)) {
                rows[*column as usize].push(row as u32);
            }
        }
        Matrix::from_rows(self.rows, rows)
    }

    /// The pairs that are not related.
    pub fn complement(&self) -> Self {
        Self::from_fn(self.rows, self.columns, |r, c| !self.contains(r, c))
    }

    /// The pairs that are in both.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_rows(
            self.columns,
            (0..self.rows).map(|r| {
                let row = R::from_index(r);
                let keep = |c: &&u32| other.contains(row, C::from_index(**c as usize));
                self.row_indices(row).iter().filter(keep).copied().collect()
            }),
        )
    }
}

/// Collects pairs in any order.
#[derive(Clone, Debug)]
pub struct MatrixBuilder<R, C> {
    rows: Vec<Vec<u32>>,
    columns: usize,
    ids: PhantomData<fn(R) -> C>,
}

impl<R: Index, C: Index> MatrixBuilder<R, C> {
    /// Nothing related yet.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows: vec![Vec::new(); rows],
            columns,
            ids: PhantomData,
        }
    }

    /// Relates a pair.
    pub fn insert(&mut self, row: R, column: C) {
        self.rows[row.to_index()].push(column.to_index() as u32);
    }

    /// The relation.
    pub fn finish(self) -> Matrix<R, C> {
        Matrix::from_rows(self.columns, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabelId, TransitionId};

    #[test]
    fn lists_and_bits_agree() {
        let related = |r: LabelId, c: TransitionId| (r.index() * 7 + c.index()).is_multiple_of(3);
        let matrix = Matrix::from_fn(9, 130, related);
        for r in (0..9).map(LabelId::new) {
            for c in (0..130).map(TransitionId::new) {
                assert_eq!(matrix.contains(r, c), related(r, c));
                assert_eq!(matrix.transpose().contains(c, r), related(r, c));
                assert_eq!(matrix.complement().contains(r, c), !related(r, c));
            }
            assert!(matrix.row(r).all(|c| related(r, c)));
        }
    }
}
