use super::*;
use std::collections::HashMap;

fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        crate::hash::hash_pair(state)
    })
}

#[test]
fn behaves_like_a_map_while_it_grows_and_widens() {
    // Wide entries only; wide and narrow ones in turn.
    for (bits, wider) in [(48, 56), (36, 40)] {
        let kinds = grow_and_widen(bits, wider);
        assert_eq!(kinds, [bits == 36, true], "of {bits} bits");
    }
}

/// Says whether there were ever narrow entries, and wide ones.
fn grow_and_widen(bits: u32, wider: u32) -> [bool; 2] {
    let budget = MemoryBudget::unlimited();
    let mut table = QuotientTable::new(&budget, bits, 0).unwrap();
    let mut kinds = [false; 2];
    let mut model: HashMap<u64, u8> = HashMap::new();
    let mut random = numbers(7);
    for step in 0..60_000u64 {
        let key = (random.next().unwrap() % 40_000) | ((random.next().unwrap() % 3) << (bits - 3));
        kinds[usize::from(matches!(table.segments[0], Segment::Wide(_)))] = true;
        let (flags, new) = loop {
            match table.insert(table.hash(key)) {
                Ok(found) => break found,
                Err(NoRoom) => table.grow(1.2, Helpers::none_of(1)).unwrap(),
            }
        };
        let known = model.get(&key);
        assert_eq!((flags, new), (known.copied().unwrap_or(0), known.is_none()));
        let bits = (random.next().unwrap() % 64) as u8;
        let before = table.set_flags(table.hash(key), bits).unwrap();
        assert_eq!(before, flags);
        model.insert(key, flags | bits);
        if model.len() as u64 > table.limit() {
            table
                .grow([1.05, 1.2, 2.0][(step % 3) as usize], Helpers::none_of(2))
                .unwrap();
        }
        if step == 30_000 {
            table.widen(wider, Helpers::none_of(2), |key| key).unwrap();
        }
    }
    for (key, flags) in &model {
        assert_eq!(table.flags(table.hash(*key)), Some(*flags));
    }
    let mut random = numbers(8);
    for _ in 0..10_000 {
        let key = random.next().unwrap() >> (64 - wider);
        assert_eq!(table.flags(table.hash(key)), model.get(&key).copied());
    }
    let count: usize = table
        .segments
        .iter()
        .map(|segment| {
            let mut count = 0;
            segment.for_each(wider - SEGMENT_BITS, |_, _| {
                count += 1;
                true
            });
            count
        })
        .sum();
    assert_eq!(count, model.len());
    kinds
}

/// Segments grow one after the other, so that the table is about as full at any time; those of
/// one table are of one kind.
#[test]
fn free_space_is_the_same_at_any_time() {
    let budget = MemoryBudget::unlimited();
    let mut table = QuotientTable::new(&budget, 36, 10_000).unwrap();
    let mut kinds = [false; 2];
    for len in 1..=200_000_u64 {
        while table.insert(table.hash(len * 3)).is_err() || len > table.limit() {
            table.grow(1.25, Helpers::none_of(1)).unwrap();
        }
        if len > 20_000 && len % 1_000 == 0 {
            let is_narrow = table.segments[0].is_narrow();
            assert!(table.segments.iter().all(|s| s.is_narrow() == is_narrow));
            kinds[usize::from(is_narrow)] = true;
            let entries: u64 = table.segments.iter().map(Segment::entries).sum();
            let load = len as f64 / entries as f64;
            assert!((0.70..0.80).contains(&load), "{load} at {len}");
        }
    }
    assert_eq!(kinds, [false, true]);
}

#[test]
fn fills_to_the_stated_load_before_it_runs_out_of_room() {
    let budget = MemoryBudget::unlimited();
    for bits in [36, 48] {
        let table = QuotientTable::new(&budget, bits, 100_000).unwrap();
        assert!(table.limit() >= 99_000, "{}", table.limit());
        for key in 0..table.limit() {
            table.insert(table.hash(key * 3)).unwrap();
        }
    }
}

#[test]
fn a_refused_growth_keeps_everything() {
    let budget = MemoryBudget::new(600_000);
    let mut table = QuotientTable::new(&budget, 48, 10_000).unwrap();
    for key in 0..9_000u64 {
        table.insert(table.hash(key)).unwrap();
        table.set_flags(table.hash(key), key as u8 & 63);
    }
    assert!(table.grow(4.0, Helpers::none_of(1)).is_err());
    for key in 0..9_000u64 {
        assert_eq!(table.flags(table.hash(key)), Some(key as u8 & 63));
    }
}

/// Keys of one home take all buckets within its reach; those of another home are behind them, and
/// before them when the segment is stretched. Then there is not room for all.
#[test]
fn what_has_no_room_when_a_segment_is_stretched_is_not_lost() {
    const BITS: u32 = 20;
    let budget = MemoryBudget::unlimited();
    let mut segment = Segment::new(&budget, BITS, 64 * 12, true).unwrap();
    let hash_of = |home: u64, number: u64| home * (1 << BITS) / 64 + number;
    let many = (0..760).map(|number| hash_of(30, number));
    let hashes: Vec<u64> = many
        .chain((0..10).map(|number| hash_of(40, number)))
        .collect();
    let home = |hash: u64, homes: u64| place(hash << (64 - BITS), homes);
    for hash in &hashes {
        let added = either!(&segment, rows => rows.find_or_add(home(*hash, rows.homes), *hash));
        let (flags, is_new) = added.unwrap();
        flags.fetch_or(*hash as u8 & 63, Ordering::Relaxed);
        assert!(is_new);
    }
    segment.reserve(&budget, BITS, 65 * 12, true).unwrap();
    segment.use_reserve(BITS);
    // It was copied.
    assert!(segment.entries() > 65 * 12 && budget.used() == 0);
    let mut seen = 0;
    segment.for_each(BITS, |hash, flags| {
        seen += 1;
        hashes.contains(&hash) && flags == hash as u8 & 63
    });
    assert_eq!(seen, hashes.len());
    for hash in &hashes {
        let found = either!(&segment, rows => rows.find(home(*hash, rows.homes), *hash));
        assert!(found.is_some(), "{hash}");
    }
}
