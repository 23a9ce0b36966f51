//! Which places share a word of the state.
//!
//! A tree-compressed store keeps each value of a word, and of each pair of words, once. Places
//! that are marked in turn (of one nested unit, or of one place invariant) have few combinations
//! of values, so they go into one word as long as they fit; places that change independently go
//! into different ones. Nothing but memory depends on this.

use crate::ids::PlaceId;
use crate::invariants::Invariants;
use crate::net::Net;

/// Bits of a word.
const WORD: u32 = 32;

/// The places word by word; each has so many bits.
pub(super) fn words(net: &Net, invariants: &Invariants, bits: &[u32]) -> Vec<Vec<PlaceId>> {
    let mut words: Vec<Vec<PlaceId>> = Vec::new();
    let mut rooms: Vec<u32> = Vec::new();
    // Words before this one are nearly full, so that looking for room stays cheap.
    let mut first_open = 0;
    let mut put = |group: &[PlaceId], size: u32| {
        let open = (first_open..rooms.len()).find(|w| rooms[*w] >= size);
        let word = open.unwrap_or_else(|| {
            words.push(Vec::new());
            rooms.push(WORD);
            rooms.len() - 1
        });
        words[word].extend_from_slice(group);
        rooms[word] -= size;
        while rooms.len() - first_open > 64 {
            first_open += 1;
        }
    };
    for group in groups(net, invariants) {
        let mut start = 0;
        let mut size = 0;
        for (at, place) in group.iter().enumerate() {
            let more = bits[place.index()];
            if size + more > WORD {
                put(&group[start..at], size);
                (start, size) = (at, 0);
            }
            size += more;
        }
        if start < group.len() {
            put(&group[start..], size);
        }
    }
    words
}

/// Places that are marked in turn, in the order of the net; the rest at the end.
fn groups(net: &Net, invariants: &Invariants) -> Vec<Vec<PlaceId>> {
    if let Some(units) = net.units() {
        let mut groups = vec![Vec::new(); units.unit_count()];
        for place in net.places() {
            groups[units.unit_of(place).0 as usize].push(place);
        }
        groups.retain(|group| !group.is_empty());
        return groups;
    }
    let mut is_free = vec![true; net.place_count()];
    let mut groups: Vec<Vec<PlaceId>> = Vec::new();
    // An invariant with many tokens says little about its places.
    for invariant in invariants.all().iter().filter(|i| i.total <= 4) {
        let places = invariant.weights.iter().map(|(place, _)| *place);
        let group: Vec<PlaceId> = places.filter(|p| is_free[p.index()]).collect();
        group.iter().for_each(|p| is_free[p.index()] = false);
        if !group.is_empty() {
            groups.push(group);
        }
    }
    // By the first place, so that what stood together in the file stays together.
    groups.sort_unstable();
    groups.push(net.places().filter(|p| is_free[p.index()]).collect());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::InvariantBudget;
    use crate::net::NetBuilder;

    #[test]
    fn every_place_is_in_one_word_that_has_room_for_it() {
        let mut builder = NetBuilder::new("rings");
        for ring in 0..5 {
            let places: Vec<PlaceId> = (0..7 + 9 * ring)
                .map(|i| builder.place(&format!("p{ring}_{i}"), u64::from(i == 0)))
                .collect();
            for (i, from) in places.iter().enumerate() {
                let t = builder.transition(&format!("t{ring}_{i}"));
                builder.input(*from, t, 1);
                builder.output(t, places[(i + 1) % places.len()], 1);
            }
        }
        let net = builder.build().unwrap();
        let invariants = Invariants::find(&net, InvariantBudget::default());
        let bits: Vec<u32> = (0..net.place_count() as u32).map(|p| p % 3).collect();
        let words = words(&net, &invariants, &bits);
        let size = |word: &Vec<PlaceId>| word.iter().map(|p| bits[p.index()]).sum::<u32>();
        assert!(words.iter().all(|word| size(word) <= WORD));
        let mut all: Vec<PlaceId> = words.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, net.places().collect::<Vec<_>>());
    }
}
