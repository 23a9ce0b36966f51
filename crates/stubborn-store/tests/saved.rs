//! A store that was written down comes back with the same states under the same handles, and
//! bytes that were changed on the way are refused, or at least make no broken store.
#![cfg(not(loom))]

use std::collections::HashMap;

use stubborn_store::saved::{Sink, Source};
use stubborn_store::{MemoryBudget, StateHandle, Store, StoreKind, StoreOptions};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % limit
    }
}

const KINDS: [StoreKind; 4] = [
    StoreKind::Tree,
    StoreKind::Plain,
    StoreKind::Bitstate,
    StoreKind::Compact,
];

fn options(kind: StoreKind) -> StoreOptions {
    StoreOptions {
        initial_capacity: 16,
        bitstate_bytes: Some(1 << 12),
        ..StoreOptions::new(kind)
    }
}

fn random_state(random: &mut Numbers, width: usize) -> Vec<u32> {
    let word = |random: &mut Numbers| match random.below(4) {
        // Zeros are special: ids that nobody uses look like nodes of two.
        0 => 0,
        1 => u32::MAX,
        _ => random.below(6) as u32,
    };
    (0..width).map(|_| word(random)).collect()
}

type Filled = (Store, HashMap<Vec<u32>, (StateHandle, u8)>);

fn filled(kind: StoreKind, width: usize, states: usize, random: &mut Numbers) -> Filled {
    let store = Store::new(width, &options(kind), &MemoryBudget::unlimited()).unwrap();
    let mut known = HashMap::new();
    // Two workers: each leaves ids in reserve.
    for _ in 0..2 {
        let (mut worker, cursor) = (store.worker(), store.cursor());
        for _ in 0..states / 2 {
            let state = random_state(random, width);
            let handle = worker.insert(&cursor, &state, None).unwrap().handle;
            let flags = random.below(64) as u8;
            worker.set_flags(handle, flags);
            let entry = known.entry(state).or_insert((handle, 0));
            entry.1 |= flags;
        }
    }
    (store, known)
}

fn written(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.save(&mut Sink::new(&mut bytes)).unwrap();
    bytes
}

fn read(kind: StoreKind, width: usize, bytes: &[u8], limit: usize) -> std::io::Result<Store> {
    let (mut input, most) = (bytes, bytes.len() as u64);
    let budget = MemoryBudget::new(limit);
    let mut source = Source::new(&mut input, most);
    Store::restore(width, &options(kind), &budget, &mut source)
}

#[test]
fn the_same_states_come_back_under_the_same_handles() {
    let mut random = Numbers(1);
    for round in 0..36 {
        let width = [1, 2, 3, 4, 5, 6, 7, 12, 33][round % 9];
        let states = [0, 1, 40, 900][round % 4];
        for kind in KINDS {
            let what = format!("{kind:?} of {width} words, {states} states");
            let (store, known) = filled(kind, width, states, &mut random);
            let back = read(kind, width, &written(&store), usize::MAX).unwrap();
            assert_eq!(back.len(), store.len(), "{what}");
            let (mut worker, mut cursor) = (back.worker(), back.cursor());
            for (state, (handle, flags)) in &known {
                let inserted = worker.insert(&back.cursor(), state, None).unwrap();
                assert!(!inserted.is_new, "{what}");
                assert_eq!(inserted.handle, *handle, "{what}");
                if back.is_exact() {
                    assert!(worker.holds(*handle), "{what}");
                    assert_eq!(worker.flags(*handle), *flags, "{what}");
                    worker.load(*handle, &mut cursor).unwrap();
                    assert_eq!(cursor.words(), &state[..], "{what}");
                }
            }
            // It goes on as any store does: what is new is new once.
            for _ in 0..200 {
                let state = random_state(&mut random, width);
                let first = worker.insert(&back.cursor(), &state, None).unwrap();
                let again = worker.insert(&back.cursor(), &state, None).unwrap();
                assert!(!first.is_new || !known.contains_key(&state), "{what}");
                assert_eq!(
                    (again.is_new, again.handle),
                    (false, first.handle),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn handles_from_elsewhere_are_told_from_those_of_states() {
    let mut random = Numbers(2);
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        let (store, known) = filled(kind, 6, 500, &mut random);
        let mut worker = store.worker();
        for _ in 0..2_000 {
            let mask = [u64::MAX, 0x3ff, 0x3ff_0000_03ff][random.below(3) as usize];
            let handle = StateHandle::from_bits(random.below(u64::MAX) & mask);
            let is_known = known.values().any(|(one, _)| *one == handle);
            assert_eq!(worker.holds(handle), is_known, "{kind:?} {handle:?}");
        }
    }
}

#[test]
fn a_budget_that_is_too_small_is_an_error_of_its_own() {
    let mut random = Numbers(3);
    for kind in KINDS {
        let (store, _) = filled(kind, 9, 3_000, &mut random);
        let error = read(kind, 9, &written(&store), 2_000)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory, "{kind:?}");
    }
}

/// Checksums are somebody else's; here nothing may break even without them.
#[test]
fn changed_bytes_never_make_a_store_that_breaks() {
    let mut random = Numbers(4);
    let mut refused = 0;
    let stores: Vec<_> = (0..20)
        .map(|at| {
            let (kind, width) = (KINDS[at % 4], [1, 2, 5, 8, 13][at % 5]);
            (
                kind,
                width,
                written(&filled(kind, width, 60, &mut random).0),
            )
        })
        .collect();
    for round in 0..800 {
        let (kind, width, bytes) = &stores[round % stores.len()];
        let (kind, width, mut bytes) = (*kind, *width, bytes.clone());
        match random.below(4) {
            0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
            1 => {
                // A number is another one.
                let at = random.below(bytes.len() as u64 / 8) as usize * 8;
                let number = [0, 1, 7, 1 << 31, u64::MAX][random.below(5) as usize];
                bytes[at..at + 8].copy_from_slice(&u64::to_le_bytes(number));
            }
            _ => {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
        }
        let Ok(store) = read(kind, width, &bytes, 64 << 20) else {
            refused += 1;
            continue;
        };
        let (mut worker, mut cursor) = (store.worker(), store.cursor());
        for _ in 0..20 {
            let state = random_state(&mut random, width);
            let inserted = worker.insert(&store.cursor(), &state, None).unwrap();
            if store.is_exact() {
                worker.load(inserted.handle, &mut cursor).unwrap();
                assert_eq!(cursor.words(), &state[..]);
            }
        }
    }
    assert!(refused > 200, "{refused}");
}
