//! Models of the concurrent parts, for the loom model checker: small tables, two
//! threads, all interleavings with at most three preemptions. How to run them is
//! written in the crate's documentation.

use crate::budget::MemoryBudget;
use crate::crew::Helpers;
use crate::gate::Gate;
use crate::nodes::{NodeId, NodeTable, SpareIds};
use crate::quotient::QuotientTable;
use crate::{Store, StoreKind, StoreOptions};
use loom::sync::Arc;
use loom::thread;

fn model(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 100_000;
    builder.check(test);
}

#[test]
fn a_key_is_new_to_one_thread_only() {
    model(|| {
        let budget = MemoryBudget::unlimited();
        let table = Arc::new(QuotientTable::new(&budget, 8, 1).unwrap());
        let other = Arc::clone(&table);
        let insert = |table: &QuotientTable, keys: [u64; 2]| {
            keys.map(|key| table.insert(table.hash(key)).unwrap().1)
        };
        let theirs = thread::spawn(move || insert(&other, [1, 2]));
        let ours = insert(&table, [2, 1]);
        let theirs = theirs.join().unwrap();
        assert!(ours[0] ^ theirs[1], "key 2 was new to none or both");
        assert!(ours[1] ^ theirs[0], "key 1 was new to none or both");
        assert!(table.flags(table.hash(1)).is_some());
    });
}

#[test]
fn a_full_bucket_overflows_without_losing_or_doubling_keys() {
    model(|| {
        let budget = MemoryBudget::unlimited();
        let table = Arc::new(QuotientTable::new(&budget, 8, 1).unwrap());
        // Three hashes of one home, with room for two entries each in that
        // bucket and the next.
        table.insert(1).unwrap();
        let other = Arc::clone(&table);
        let theirs = thread::spawn(move || [2, 3].map(|hash| other.insert(hash).unwrap().1));
        let ours = [3, 2].map(|hash| table.insert(hash).unwrap().1);
        let theirs = theirs.join().unwrap();
        assert!((ours[0] ^ theirs[1]) && (ours[1] ^ theirs[0]));
    });
}

#[test]
fn no_flag_is_lost() {
    model(|| {
        let budget = MemoryBudget::unlimited();
        let table = Arc::new(QuotientTable::new(&budget, 8, 1).unwrap());
        let other = Arc::clone(&table);
        // Both insert and set; who comes second sees the other's flag.
        let mark = |table: &QuotientTable, flag: u8| {
            table.insert(5).unwrap();
            table.set_flags(5, flag).unwrap()
        };
        let theirs = thread::spawn(move || mark(&other, 1));
        let ours = mark(&table, 2);
        let theirs = theirs.join().unwrap();
        assert!((ours == 1) ^ (theirs == 2), "one of them is first");
        assert_eq!(table.flags(5), Some(3));
    });
}

#[test]
fn a_node_has_one_id_and_its_contents_are_visible() {
    model(|| {
        let budget = MemoryBudget::unlimited();
        let table = Arc::new(NodeTable::new(&budget, 4).unwrap());
        let insert = |table: &NodeTable, halves: [u32; 2], spare: &mut SpareIds| {
            let pair = NodeId::pair(halves.map(NodeId));
            let id = table.insert(pair, NodeTable::hash(pair), spare).unwrap();
            assert_eq!(table.get(id), halves);
            id
        };
        let other = Arc::clone(&table);
        let theirs = thread::spawn(move || {
            let spare = &mut SpareIds::default();
            (insert(&other, [7, 8], spare), insert(&other, [9, 9], spare))
        });
        let ours = insert(&table, [7, 8], &mut SpareIds::default());
        let (same, different) = theirs.join().unwrap();
        assert_eq!(ours, same);
        assert_ne!(ours, different);
    });
}

/// One thread changes a value, twice on the same view of it, while another one looks at it.
fn change_while_reading(change: fn(&mut [u32; 2], Helpers<'_>) -> Result<(), ()>) {
    model(move || {
        // Loom's cell inside the gate objects to any read during a write.
        let gate = Arc::new(Gate::new([0u32; 2]));
        let other = Arc::clone(&gate);
        let reader = thread::spawn(move || {
            let mut ticket = other.register();
            let sum: u32 = other.enter(&mut ticket).iter().sum();
            assert!(sum == 0 || sum == 2, "a change was seen half-way");
            other.leave(&ticket);
        });
        let mut ticket = gate.register();
        let generation = gate.enter(&mut ticket).generation();
        gate.change(generation, change).unwrap();
        // A second request that is based on the same view is already satisfied.
        gate.change(generation, change).unwrap();
        assert_eq!(*gate.enter(&mut ticket), [1, 1]);
        reader.join().unwrap();
    });
}

#[test]
fn nobody_is_inside_during_a_change() {
    change_while_reading(|value, _| {
        value[0] += 1;
        value[1] += 1;
        Ok(())
    });
}

/// Who waits for a change helps with it, and all parts are done once when it is over.
#[test]
fn parts_of_a_change_are_done_once() {
    change_while_reading(|value, helpers| {
        helpers.each(value, |part| {
            *part += 1;
            Ok(())
        })
    });
}

/// Two threads insert, set flags and make the tables grow at once.
fn insert_while_growing(kind: StoreKind) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 100_000;
    builder.check(move || {
        let options = StoreOptions {
            initial_capacity: 0,
            force_growth_every: Some(2),
            ..StoreOptions::new(kind)
        };
        let store = Store::new(3, &options, &MemoryBudget::unlimited()).unwrap();
        let store = Arc::new(store);
        let visit = |store: &Store, flag: u8| {
            let mut worker = store.worker();
            let inserted = worker.insert(&store.cursor(), &[1, 2, 3], None).unwrap();
            worker.set_flags(inserted.handle, flag);
            inserted.is_new
        };
        let other = Arc::clone(&store);
        let theirs = thread::spawn(move || visit(&other, 1));
        let ours = visit(&store, 2);
        assert!(ours ^ theirs.join().unwrap(), "new to none or both");
        let mut worker = store.worker();
        let again = worker.insert(&store.cursor(), &[1, 2, 3], None).unwrap();
        assert_eq!((again.is_new, again.flags), (false, 3));
        assert_eq!(store.len(), 1);
    });
}

#[test]
fn a_tree_grows_while_two_threads_insert() {
    insert_while_growing(StoreKind::Tree);
}

#[test]
fn a_plain_store_grows_while_two_threads_insert() {
    insert_while_growing(StoreKind::Plain);
}
