//! A map from pairs of numbers to a number: open addressing, never deletes.

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct PairMap {
    /// Keys plus one, 0 where there is none.
    keys: Vec<u64>,
    values: Vec<u32>,
    len: usize,
}

impl PairMap {
    pub(crate) fn new() -> Self {
        Self {
            keys: vec![0; 64],
            values: vec![0; 64],
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn key(a: u32, b: u32) -> u64 {
        (u64::from(a) << 32 | u64::from(b)) + 1
    }

    #[inline]
    fn slot(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash ^ hash >> 32) as usize) & (self.keys.len() - 1)
    }

    #[inline]
    pub(crate) fn get(&self, a: u32, b: u32) -> Option<u32> {
        let key = Self::key(a, b);
        let mask = self.keys.len() - 1;
        let mut at = self.slot(key);
        loop {
            match self.keys[at] {
                0 => return None,
                found if found == key => return Some(self.values[at]),
                _ => at = (at + 1) & mask,
            }
        }
    }

    pub(crate) fn insert(&mut self, a: u32, b: u32, value: u32) {
        if (self.len + 1) * 4 > self.keys.len() * 3 {
            let keys = std::mem::take(&mut self.keys);
            let values = std::mem::take(&mut self.values);
            self.keys = vec![0; keys.len() * 2];
            self.values = vec![0; keys.len() * 2];
            for (key, value) in keys.into_iter().zip(values).filter(|(k, _)| *k != 0) {
                self.put(key, value);
            }
        }
        self.put(Self::key(a, b), value);
        self.len += 1;
    }

    fn put(&mut self, key: u64, value: u32) {
        let mask = self.keys.len() - 1;
        let mut at = self.slot(key);
        while self.keys[at] != 0 {
            at = (at + 1) & mask;
        }
        (self.keys[at], self.values[at]) = (key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_again() {
        let mut map = PairMap::new();
        for a in 0..100 {
            for b in 0..50 {
                assert_eq!(map.get(a, b), None);
                map.insert(a, b, a * 1_000 + b);
            }
        }
        for a in 0..100 {
            for b in 0..50 {
                assert_eq!(map.get(a, b), Some(a * 1_000 + b));
            }
        }
        assert_eq!(map.get(0, u32::MAX), None);
    }
}
