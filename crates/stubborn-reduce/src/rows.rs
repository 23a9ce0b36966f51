//! Rows of numbers as lists and, where that is small, as bits too.
//!
//! Set algorithms add whole rows to sets and ask what a row would add. With 60 transitions a
//! row is one word of bits; in a net with 100,000 transitions it is a short list. Each row is
//! handed out in the form that is cheaper to walk.

/// Bits are kept beside the lists up to this many words (16 MiB).
const MOST_BIT_WORDS: usize = 1 << 21;

/// Rows of numbers below a common bound.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    starts: Vec<u32>,
    entries: Vec<u32>,
    bits: Vec<u64>,
    words: usize,
}

/// One row in its cheaper form. Both give the numbers in increasing order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row<'a> {
    List(&'a [u32]),
    Bits(&'a [u64]),
}

impl Row<'_> {
    /// What is looked at if all of it is.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Bits(bits) => bits.len(),
        }
    }
}

/// Where a row begins. A relation beyond that is refused, because a number that is cut short would be
/// another row.
fn start(at: usize) -> u32 {
    u32::try_from(at).expect("a relation of fewer than 2^32 pairs")
}

impl Rows {
    /// Sorts each row and drops repetitions.
    pub(crate) fn new(columns: usize, rows: Vec<Vec<u32>>) -> Self {
        let words = columns.div_ceil(64);
        let mut starts = vec![0];
        let mut entries = Vec::new();
        for mut row in rows {
            row.sort_unstable();
            row.dedup();
            entries.extend_from_slice(&row);
            starts.push(start(entries.len()));
        }
        Self::finish(starts, entries, words)
    }

    /// Keeps the order of each row, which must have no repetitions. Only lists.
    pub(crate) fn ordered(rows: Vec<Vec<u32>>) -> Self {
        let mut starts = vec![0];
        let mut entries = Vec::new();
        for row in rows {
            entries.extend_from_slice(&row);
            starts.push(start(entries.len()));
        }
        Self {
            starts,
            entries,
            bits: Vec::new(),
            words: 0,
        }
    }

    fn finish(starts: Vec<u32>, entries: Vec<u32>, words: usize) -> Self {
        let count = starts.len() - 1;
        let mut bits = Vec::new();
        if count.saturating_mul(words) <= MOST_BIT_WORDS {
            bits.resize(count * words, 0);
            for row in 0..count {
                for column in &entries[starts[row] as usize..starts[row + 1] as usize] {
                    bits[row * words + *column as usize / 64] |= 1 << (column % 64);
                }
            }
        }
        Self {
            starts,
            entries,
            bits,
            words,
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Rows and columns exchanged.
    pub(crate) fn transpose(&self, columns: usize) -> Self {
        let mut rows = vec![Vec::new(); columns];
        for row in 0..self.len() {
            for column in self.list(row) {
                rows[*column as usize].push(row as u32);
            }
        }
        Self::new(self.len(), rows)
    }

    /// A row as a list.
    #[inline]
    pub(crate) fn list(&self, row: usize) -> &[u32] {
        &self.entries[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// A row as bits, if they are kept.
    #[inline]
    pub(crate) fn bits(&self, row: usize) -> Option<&[u64]> {
        self.bits.get(row * self.words..(row + 1) * self.words)
    }

    /// All rows as bits, where they are kept and have so many words.
    #[inline]
    pub(crate) fn narrow<const WORDS: usize>(&self) -> &[[u64; WORDS]] {
        debug_assert_eq!(self.words, WORDS, "rows of another width");
        self.bits.as_chunks().0
    }

    /// A row in its cheaper form.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        let list = self.list(row);
        if list.len() >= self.words
            && let Some(bits) = self.bits(row)
        {
            return Row::Bits(bits);
        }
        Row::List(list)
    }
}

/// Whether bit `index` is set.
#[inline]
pub(crate) fn has(bits: &[u64], index: u32) -> bool {
    bits[index as usize / 64] >> (index % 64) & 1 == 1
}

/// Sets bit `index`.
#[inline]
pub(crate) fn put(bits: &mut [u64], index: u32) {
    bits[index as usize / 64] |= 1 << (index % 64);
}

/// Clears bit `index`.
#[inline]
pub(crate) fn take(bits: &mut [u64], index: u32) {
    bits[index as usize / 64] &= !(1 << (index % 64));
}

/// Clears all bits. Few words are not worth a call, here and in [`copy`].
#[inline]
pub(crate) fn clear(bits: &mut [u64]) {
    match bits {
        [a] => *a = 0,
        [a, b] => (*a, *b) = (0, 0),
        more => more.fill(0),
    }
}

/// Sets the bits that are set in `from`, and no others.
#[inline]
pub(crate) fn copy(into: &mut [u64], from: &[u64]) {
    match (into, from) {
        ([a], [x]) => *a = *x,
        ([a, b], [x, y]) => (*a, *b) = (*x, *y),
        (into, from) => into.copy_from_slice(from),
    }
}

/// Sets the bits that are set in `from`.
#[inline]
pub(crate) fn or(into: &mut [u64], from: &[u64]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a |= b;
    }
}

/// The positions of the ones.
pub(crate) fn ones_of(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    bits.iter().enumerate().flat_map(|(at, word)| {
        stubborn_system::bits::ones(*word).map(move |b| (at * 64 + b) as u32)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_the_cheaper_form() {
        let rows = Rows::new(200, vec![vec![7, 3, 7], (0..100).collect(), vec![]]);
        assert_eq!(rows.list(0), [3, 7]);
        assert!(matches!(rows.row(0), Row::List([3, 7])));
        assert!(matches!(rows.row(1), Row::Bits(b) if ones_of(b).eq(0..100)));
        assert!(rows.list(2).is_empty());
        assert_eq!(rows.transpose(200).list(7), [0, 1]);
    }
}
