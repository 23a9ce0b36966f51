//! Makes a mismatch small: takes away parts as long as the same thing goes wrong.

use std::time::{Duration, Instant};

/// Something that can be made smaller.
pub trait Shrink: Sized {
    /// Smaller variants, the smallest first. Every chain of candidates must end: each has
    /// fewer parts than `self`, or simpler ones.
    fn candidates(&self) -> Vec<Self>;
}

/// The smallest thing that can be reached from `start` by candidates that all still `fail`,
/// or what was reached when the time was over.
pub fn minimise<T: Shrink>(start: T, time: Duration, mut fails: impl FnMut(&T) -> bool) -> T {
    let end = Instant::now() + time;
    let mut smallest = start;
    'smaller: loop {
        for candidate in smallest.candidates() {
            if Instant::now() >= end {
                return smallest;
            }
            if fails(&candidate) {
                smallest = candidate;
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// Lists with one run of items taken away: halves first, then quarters, down to single items
/// (the complements of Zeller's and Hildebrandt's `ddmin`).
pub fn without_some<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut lists = Vec::new();
    let mut length = items.len();
    while length > 0 {
        let mut start = 0;
        while start < items.len() {
            let end = (start + length).min(items.len());
            lists.push([&items[..start], &items[end..]].concat());
            start = end;
        }
        length /= 2;
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Numbers(Vec<u32>);

    impl Shrink for Numbers {
        fn candidates(&self) -> Vec<Self> {
            let mut all: Vec<Self> = without_some(&self.0).into_iter().map(Numbers).collect();
            for (index, number) in self.0.iter().enumerate().filter(|(_, number)| **number > 0) {
                let mut smaller = self.0.clone();
                smaller[index] = number - 1;
                all.push(Numbers(smaller));
            }
            all
        }
    }

    #[test]
    fn only_what_matters_is_left() {
        let start = Numbers(vec![9, 4, 0, 7, 7, 1, 12, 3]);
        let long = Duration::from_secs(60);
        let fails = |numbers: &Numbers| {
            numbers.0.contains(&7) && numbers.0.iter().any(|number| *number >= 10)
        };
        assert_eq!(minimise(start, long, fails), Numbers(vec![7, 10]));
    }

    #[test]
    fn what_fails_always_becomes_nothing_and_what_fails_alone_stays() {
        let start = Numbers(vec![3, 1]);
        let long = Duration::from_secs(60);
        assert_eq!(minimise(start.clone(), long, |_| true), Numbers(vec![]));
        assert_eq!(minimise(start.clone(), long, |_| false), start);
    }

    #[test]
    fn no_time_changes_nothing() {
        let start = Numbers(vec![3, 1]);
        assert_eq!(minimise(start.clone(), Duration::ZERO, |_| true), start);
    }

    #[test]
    fn parts_are_taken_away_from_large_to_small() {
        let lists = without_some(&[1, 2, 3]);
        assert_eq!(
            lists,
            [vec![], vec![2, 3], vec![1, 3], vec![1, 2]],
            "{lists:?}"
        );
    }
}
