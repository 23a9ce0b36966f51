//! Asking for a state without storing it.

use std::collections::HashSet;

use stubborn_store::{MemoryBudget, Store, StoreKind, StoreOptions};

#[test]
fn contains_agrees_with_a_set_and_adds_nothing() {
    for width in [1, 3, 7, 70] {
        for kind in [StoreKind::Tree, StoreKind::Plain, StoreKind::Compact] {
            let options = StoreOptions::new(kind);
            let store = Store::new(width, &options, &MemoryBudget::unlimited()).unwrap();
            let (mut worker, mut cursor) = (store.worker(), store.cursor());
            let mut model = HashSet::new();
            let mut state = vec![0_u32; width];
            let mut seed = 1_u64;
            for _ in 0..3000 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (word, value) = ((seed >> 33) as usize % width, (seed >> 50) as u32 % 5);
                let mut mask = vec![0; width.div_ceil(64)];
                mask[word / 64] |= 1 << (word % 64);
                state[word] = value;
                let before = store.len();
                let changed = Some(&mask[..]);
                let is_stored = model.contains(&state);
                assert_eq!(worker.contains(&cursor, &state, changed), is_stored);
                assert_eq!(store.len(), before);
                // Store two of three, so that the others stay unknown.
                if !(seed >> 40).is_multiple_of(3) || model.is_empty() {
                    let inserted = worker.insert(&cursor, &state, changed).unwrap();
                    assert_eq!(inserted.is_new, !is_stored);
                    model.insert(state.clone());
                    assert!(worker.contains(&cursor, &state, changed));
                    if worker.load(inserted.handle, &mut cursor).is_err() {
                        cursor.assign(&state);
                    }
                } else {
                    state.copy_from_slice(cursor.words());
                }
            }
        }
    }
}
