//! Sets in rows of words.

use rapidhash::RapidHashMap;

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

    /// Empties all rows.
    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
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

/// A row of bits for each place and each of several things. Most are the same from place to place, so
/// each is kept once.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    /// Things of a place.
    things: usize,
    /// Words of a row.
    words: usize,
    /// For each place and thing, where its row begins.
    starts: Vec<u32>,
    bits: Vec<u64>,
}

impl Placed {
    #[inline]
    pub(super) fn row(&self, place: usize, thing: usize) -> &[u64] {
        let start = self.starts[place * self.things + thing] as usize;
        &self.bits[start..][..self.words]
    }
}

/// Makes [`Placed`] rows, thing by thing.
pub(super) struct PlacedBuilder {
    placed: Placed,
    known: RapidHashMap<Box<[u64]>, u32>,
}

impl PlacedBuilder {
    pub(super) fn new(places: usize, things: usize, columns: usize) -> Self {
        let placed = Placed {
            things,
            words: columns.div_ceil(64),
            starts: vec![0; places * things],
            bits: Vec::new(),
        };
        Self {
            placed,
            known: RapidHashMap::default(),
        }
    }

    /// The rows of a thing, one for each place.
    pub(super) fn add(&mut self, thing: usize, rows: &Rows) {
        let Placed {
            things,
            words,
            starts,
            bits,
        } = &mut self.placed;
        if *words == 0 {
            return;
        }
        for (place, row) in rows.bits.chunks_exact(*words).enumerate() {
            let start = match self.known.get(row) {
                Some(start) => *start,
                None => {
                    let start = bits.len() as u32;
                    bits.extend_from_slice(row);
                    self.known.insert(row.into(), start);
                    start
                }
            };
            starts[place * *things + thing] = start;
        }
    }

    pub(super) fn finish(self) -> Placed {
        self.placed
    }
}
