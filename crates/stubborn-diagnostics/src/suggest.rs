//! Guesses at what a misspelt name was meant to be.

/// How many names are compared with a misspelt one: messages must stay cheap.
const COMPARED: usize = 2_000;

/// The candidate with the fewest edits, if there are few enough; ties are broken
/// by the alphabet, because the order of a hash map is not fixed.
pub fn closest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Of very short names only the case may differ: any two letters are alike otherwise.
    let allowed = (name.len() / 3).min(3);
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= allowed && c.len() <= 64)
        .take(COMPARED)
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits from one short name to another: a letter more, less or different, or two letters that have
/// changed places (F. J. Damerau, "A technique for computer detection and correction of spelling
/// errors", 1964). Cases do not matter.
fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = |i: usize, j: usize| a[i].eq_ignore_ascii_case(&b[j]);
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let substituted = row[j] + usize::from(!same(i, j));
            let mut least = substituted.min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j) {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_suggestions() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "ab"), 2);
        assert_eq!(edits("ab", ""), 2);
        assert_eq!(edits("agian", "Again"), 1);
        assert_eq!(edits("abcd", "badc"), 2);
        assert_eq!(
            closest("conter", ["counter", "center", "x"].into_iter()),
            Some("center")
        );
        assert_eq!(closest("q", ["p", "counter"].into_iter()), None);
        assert_eq!(closest("cs", ["CS", "ct"].into_iter()), Some("CS"));
    }
}
