//! Random differential tests of all exact stores against a standard set.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use stubborn_store::{
    MemoryBudget, NO_WORD, StateHandle, Store, StoreError, StoreKind, StoreOptions,
};

/// A small generator of pseudo-random numbers (splitmix).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn mask_of(before: &[u32], after: &[u32], random: &mut Random) -> Vec<u64> {
    let mut mask = vec![0u64; before.len().div_ceil(64)];
    for word in 0..before.len() {
        if before[word] != after[word] || random.below(20) == 0 {
            mask[word / 64] |= 1 << (word % 64);
        }
    }
    mask
}

/// A walk that mutates random stored states, by all ways of inserting.
fn random_walk(width: usize, steps: usize, options: &StoreOptions) {
    let store = Store::new(width, options, &MemoryBudget::unlimited()).unwrap();
    let mut worker = store.worker();
    let mut cursor = store.cursor();
    let mut batch = store.batch();
    let mut random = Random(width as u64);
    let mut model: HashMap<Vec<u32>, (StateHandle, u8)> = HashMap::new();
    let mut handles: Vec<StateHandle> = Vec::new();
    let start = vec![0; width];
    let first = worker.insert(&cursor, &start, None).unwrap();
    assert!(first.is_new);
    model.insert(start, (first.handle, 0));
    handles.push(first.handle);
    let values = if width < 4 {
        1 << 20
    } else {
        3 + width as u64 % 5
    };
    for step in 0..steps {
        let handle = handles[random.below(handles.len() as u64) as usize];
        worker.load(handle, &mut cursor).unwrap();
        assert_eq!(model[cursor.words()].0, handle);
        let mut successors = Vec::new();
        for _ in 0..random.below(5) {
            let mut successor = cursor.words().to_vec();
            for _ in 0..random.below(4) {
                let mut value = random.below(values) as u32;
                if random.below(10) == 0 {
                    value = u32::MAX - value;
                }
                successor[random.below(width as u64) as usize] = value;
            }
            successors.push(successor);
        }
        let mut results = Vec::new();
        if step % 3 == 0 {
            batch.clear();
            for successor in &successors {
                let mask = mask_of(cursor.words(), successor, &mut random);
                let mask = (random.below(2) == 0).then_some(&mask[..]);
                batch.push(&cursor, successor, mask);
            }
            results.extend_from_slice(worker.insert_batch(&mut batch).unwrap());
        } else {
            for successor in &successors {
                let mask = mask_of(cursor.words(), successor, &mut random);
                let mask = (step % 3 == 1).then_some(&mask[..]);
                results.push(worker.insert(&cursor, successor, mask).unwrap());
            }
        }
        assert_eq!(results.len(), successors.len());
        for (successor, result) in successors.into_iter().zip(results) {
            let known = model.get(&successor);
            assert_eq!(result.is_new, known.is_none());
            match known {
                Some((handle, flags)) => {
                    assert_eq!((result.handle, result.flags), (*handle, *flags))
                }
                None => {
                    assert_eq!(result.flags, 0);
                    handles.push(result.handle);
                    model.insert(successor, (result.handle, 0));
                }
            }
        }
        if random.below(2) == 0 {
            let handle = handles[random.below(handles.len() as u64) as usize];
            worker.load(handle, &mut cursor).unwrap();
            let entry = model.get_mut(cursor.words()).unwrap();
            let bits = random.below(64) as u8;
            if random.below(4) == 0 {
                assert_eq!(worker.clear_flags(handle, bits), entry.1);
                entry.1 &= !bits;
            } else {
                assert_eq!(worker.set_flags(handle, bits), entry.1);
                entry.1 |= bits;
            }
        }
    }
    assert_eq!(store.len(), model.len() as u64);
    let distinct: HashSet<_> = handles.iter().collect();
    assert_eq!(distinct.len(), model.len());
    for (words, (handle, flags)) in &model {
        assert_eq!(worker.flags(*handle), *flags);
        worker.load(*handle, &mut cursor).unwrap();
        assert_eq!(cursor.words(), &words[..]);
        cursor.clear();
        assert!(!worker.insert(&cursor, words, None).unwrap().is_new);
    }
}

#[test]
fn exact_stores_agree_with_a_set_for_many_widths() {
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        for width in (1..=33).chain([63, 64, 65, 127, 128, 129, 300, 2000]) {
            random_walk(
                width,
                if width > 100 { 300 } else { 2_000 },
                &StoreOptions::new(kind),
            );
        }
    }
}

#[test]
fn trees_with_other_leaves_agree_with_a_set() {
    let mut random = Random(3);
    for width in (2..=20).chain([64, 65, 130]) {
        let mut words: Vec<u32> = (0..width).collect();
        for at in (1..words.len()).rev() {
            words.swap(at, random.below(at as u64 + 1) as usize);
        }
        let mut groups: Vec<(u32, [u32; 2])> = vec![(1, [NO_WORD; 2])];
        let cut = 1 + random.below(u64::from(width) - 1) as usize;
        let pairs = words[..cut].chunks(2).chain(words[cut..].chunks(2));
        let pairs: Vec<[u32; 2]> = pairs
            .map(|pair| [pair[0], pair.get(1).copied().unwrap_or(NO_WORD)])
            .collect();
        // Any tree with so many leaves: one of them becomes two, again and again.
        while groups.len() < pairs.len() {
            let at = random.below(groups.len() as u64) as usize;
            if groups[at].0 < 500 {
                let (position, _) = groups.swap_remove(at);
                groups.extend([2 * position, 2 * position + 1].map(|p| (p, [NO_WORD; 2])));
            }
        }
        for (group, pair) in groups.iter_mut().zip(pairs) {
            group.1 = pair;
        }
        let options = StoreOptions {
            leaves: Some(Arc::new(groups)),
            ..StoreOptions::default()
        };
        random_walk(width as usize, 1_000, &options);
    }
}

#[test]
fn exact_stores_agree_with_a_set_while_they_are_forced_to_grow() {
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        for width in [1, 2, 3, 5, 8, 20, 70] {
            for (every, capacity) in [(7, 0), (1000, 0), (100, 5000)] {
                let options = StoreOptions {
                    force_growth_every: Some(every),
                    initial_capacity: capacity,
                    ..StoreOptions::new(kind)
                };
                random_walk(width, if every < 10 { 300 } else { 3_000 }, &options);
            }
        }
    }
}

#[test]
fn many_states_with_natural_growth() {
    for factor in [1.0, 1.05, 1.2, 2.0] {
        let steps = if factor == 1.0 { 5_000 } else { 60_000 };
        let options = StoreOptions {
            growth_factor: factor,
            ..StoreOptions::default()
        };
        random_walk(12, steps, &options);
    }
}

/// Threads walk the same grid of states; each state must be new to one of them.
fn hammer(options: &StoreOptions, threads: u64) {
    const SIDE: u32 = 13;
    const WIDTH: usize = 7;
    let store = Store::new(WIDTH, options, &MemoryBudget::unlimited()).unwrap();
    let total: u64 = std::thread::scope(|scope| {
        let walkers: Vec<_> = (0..threads)
            .map(|seed| {
                let store = &store;
                scope.spawn(move || {
                    let mut worker = store.worker();
                    let mut cursor = store.cursor();
                    let mut batch = store.batch();
                    let mut seen = HashSet::new();
                    let first = worker.insert(&cursor, &[0; WIDTH], None).unwrap();
                    let mut new = u64::from(first.is_new);
                    let mut stack = vec![first.handle];
                    seen.insert(first.handle);
                    // Each thread visits every state, in an order of its own.
                    while let Some(handle) = stack.pop() {
                        worker.load(handle, &mut cursor).unwrap();
                        let before = worker.set_flags(handle, 1 << seed);
                        assert_eq!(before & 1 << seed, 0, "a flag appeared by itself");
                        batch.clear();
                        for turn in 0..4 {
                            let field = ((turn + seed) % 4) as usize;
                            let mut words: Vec<u32> = cursor.words().to_vec();
                            words[2 * field] = (words[2 * field] + 1) % SIDE;
                            batch.push(&cursor, &words, Some(&[1 << (2 * field)]));
                        }
                        for inserted in worker.insert_batch(&mut batch).unwrap() {
                            new += u64::from(inserted.is_new);
                            if seen.insert(inserted.handle) {
                                stack.push(inserted.handle);
                            }
                        }
                    }
                    assert_eq!(seen.len() as u32, SIDE.pow(4));
                    for handle in seen {
                        assert_eq!(
                            worker.flags(handle) & 1 << seed,
                            1 << seed,
                            "a flag was lost"
                        );
                    }
                    new
                })
            })
            .collect();
        walkers
            .into_iter()
            .map(|walker| walker.join().unwrap())
            .sum()
    });
    assert_eq!(total, u64::from(SIDE.pow(4)));
    assert_eq!(store.len(), total);
    let mut worker = store.worker();
    let everyone = (1u8 << threads) - 1;
    let start = worker.insert(&store.cursor(), &[0; WIDTH], None).unwrap();
    assert_eq!(start.flags, everyone);
}

#[test]
fn each_state_is_new_to_one_thread_only() {
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        for threads in [2, 4] {
            let options = StoreOptions {
                initial_capacity: 0,
                ..StoreOptions::new(kind)
            };
            hammer(&options, threads);
        }
    }
}

#[test]
fn growth_at_every_thousandth_insertion_loses_nothing() {
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        for threads in [2, 4] {
            let options = StoreOptions {
                initial_capacity: 0,
                force_growth_every: Some(1000),
                ..StoreOptions::new(kind)
            };
            hammer(&options, threads);
        }
    }
}

#[test]
fn fingerprints_are_new_to_one_thread_only() {
    const STATES: u32 = 30_000;
    for every in [None, Some(10_000)] {
        let options = StoreOptions {
            force_growth_every: every,
            initial_capacity: 0,
            ..StoreOptions::new(StoreKind::Compact)
        };
        let store = Store::new(4, &options, &MemoryBudget::unlimited()).unwrap();
        let new: u64 = std::thread::scope(|scope| {
            let store = &store;
            let insert_all = move |seed: u32| {
                let (mut worker, cursor) = (store.worker(), store.cursor());
                // Odd factors permute, so every thread has an order of its own.
                let order = (0..1 << 15).map(move |at| (at * (2 * seed + 1)) & 0x7FFF);
                order
                    .filter(|number| *number < STATES)
                    .map(|number| worker.insert(&cursor, &[number, 1, 2, 3], None).unwrap())
                    .filter(|inserted| inserted.is_new)
                    .count() as u64
            };
            let threads: Vec<_> = (0..3)
                .map(|seed| scope.spawn(move || insert_all(seed)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        });
        assert_eq!((new, store.len()), (u64::from(STATES), u64::from(STATES)));
    }
}

#[test]
fn an_idle_worker_does_not_hold_up_growth() {
    let options = StoreOptions {
        force_growth_every: Some(10),
        ..StoreOptions::default()
    };
    let store = Store::new(5, &options, &MemoryBudget::unlimited()).unwrap();
    let mut idle = store.worker();
    let cursor = store.cursor();
    idle.insert(&cursor, &[1; 5], None).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut worker = store.worker();
            for value in 0..1000 {
                worker.insert(&cursor, &[value; 5], None).unwrap();
            }
        });
    });
    assert!(!idle.insert(&cursor, &[1; 5], None).unwrap().is_new);
    assert_eq!(store.len(), 1000);
}

#[test]
fn running_out_of_memory_is_an_error_and_keeps_what_is_stored() {
    for kind in [StoreKind::Tree, StoreKind::Plain] {
        let budget = MemoryBudget::new(4 << 20);
        let store = Store::new(6, &StoreOptions::new(kind), &budget).unwrap();
        let mut worker = store.worker();
        let cursor = store.cursor();
        let vector = |number: u32| [number, 1, number / 7, 2, number.wrapping_mul(77), 3];
        let mut stored = Vec::new();
        let error = loop {
            match worker.insert(&cursor, &vector(stored.len() as u32), None) {
                Ok(inserted) => {
                    assert!(inserted.is_new);
                    stored.push(inserted.handle);
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::OutOfMemory(_)), "{error}");
        assert!(budget.used() <= budget.limit());
        assert!(
            stored.len() > 50_000,
            "{kind:?} only took {} states",
            stored.len()
        );
        let mut cursor = store.cursor();
        for (number, handle) in stored.iter().enumerate() {
            worker.load(*handle, &mut cursor).unwrap();
            assert_eq!(cursor.words(), vector(number as u32));
        }
        drop(worker);
        drop(store);
        assert_eq!(budget.used(), 0);
    }
}

#[test]
fn a_budget_too_small_for_anything_is_an_error() {
    for kind in [
        StoreKind::Tree,
        StoreKind::Plain,
        StoreKind::Bitstate,
        StoreKind::Compact,
    ] {
        let options = StoreOptions {
            bitstate_bytes: Some(1 << 20),
            ..StoreOptions::new(kind)
        };
        let refused = Store::new(10, &options, &MemoryBudget::new(1000)).err();
        assert!(
            matches!(refused, Some(StoreError::OutOfMemory(_))),
            "{kind:?}"
        );
    }
}

#[test]
fn lossy_stores_say_so_and_lose_little() {
    for kind in [StoreKind::Bitstate, StoreKind::Compact] {
        let budget = MemoryBudget::new(64 << 20);
        let store = Store::new(4, &StoreOptions::new(kind), &budget).unwrap();
        assert!(!store.is_exact());
        let mut worker = store.worker();
        let mut cursor = store.cursor();
        for number in 0..100_000u32 {
            worker
                .insert(&cursor, &[number, 0, number & 7, 9], None)
                .unwrap();
        }
        assert!(
            store.len() > 99_990 && store.len() <= 100_000,
            "{kind:?} {}",
            store.len()
        );
        for number in 0..100_000u32 {
            let again = worker
                .insert(&cursor, &[number, 0, number & 7, 9], None)
                .unwrap();
            assert!(!again.is_new);
        }
        let handle = worker.insert(&cursor, &[1, 0, 1, 9], None).unwrap().handle;
        assert!(worker.load(handle, &mut cursor).is_err());
        assert_eq!(worker.set_flags(handle, 5), 0);
        assert_eq!(worker.flags(handle), if store.has_flags() { 5 } else { 0 });
    }
}

#[test]
fn single_words_are_stored_plainly_with_dense_numbers() {
    let store = Store::new(1, &StoreOptions::default(), &MemoryBudget::unlimited()).unwrap();
    assert_eq!(store.kind(), StoreKind::Plain);
    let mut worker = store.worker();
    let cursor = store.cursor();
    for number in 0..100u32 {
        let inserted = worker.insert(&cursor, &[number % 50], None).unwrap();
        assert_eq!(store.dense_number(inserted.handle), Some(number % 50));
    }
    let tree = Store::new(2, &StoreOptions::default(), &MemoryBudget::unlimited()).unwrap();
    assert_eq!(tree.kind(), StoreKind::Tree);
}
