//! Throughput and memory of the stores on a synthetic model.
//!
//! `cargo bench -p stubborn-store` runs divan's benchmarks (rates count insertion
//! attempts, of which most meet a stored state). `cargo bench -p stubborn-store
//! --bench insert -- --table` prints states per second of processor time and bytes
//! per state on larger state spaces. The environment changes what it does:
//! `LIMIT=3000000` states, `GROWTH=2` as the factor of growth, `ONLY="17 Tree"` for
//! rows whose width, store and way contain that text.

mod support;

use divan::counter::ItemsCount;
use std::time::Instant;
use stubborn_store::{MemoryBudget, Store, StoreKind, StoreOptions};
use support::{Table, Way, explore};

const TABLES: [Table; 6] = [
    Table {
        seats: 4,
        meals: 12,
        words_each: 1,
    },
    Table {
        seats: 9,
        meals: 2,
        words_each: 1,
    },
    Table {
        seats: 8,
        meals: 3,
        words_each: 2,
    },
    Table {
        seats: 8,
        meals: 3,
        words_each: 3,
    },
    Table {
        seats: 8,
        meals: 3,
        words_each: 6,
    },
    Table {
        seats: 8,
        meals: 3,
        words_each: 50,
    },
];

const WAYS: [(StoreKind, Way); 5] = [
    (StoreKind::Tree, Way::Whole),
    (StoreKind::Tree, Way::Incremental),
    (StoreKind::Tree, Way::Batched),
    (StoreKind::Plain, Way::Incremental),
    (StoreKind::Plain, Way::Batched),
];

fn main() {
    if std::env::args().any(|argument| argument == "--table") {
        print_table();
    } else {
        divan::main();
    }
}

#[divan::bench(args = WAYS, sample_count = 3, sample_size = 1)]
fn insert(bencher: divan::Bencher<'_, '_>, (kind, way): &(StoreKind, Way)) {
    let table = TABLES[2];
    let run = || {
        let store = new_store(&table, *kind, 1.2);
        explore(&table, &store, *way, 300_000)
    };
    let edges = run().edges;
    bencher.counter(ItemsCount::new(edges)).bench_local(run);
}

fn new_store(table: &Table, kind: StoreKind, growth_factor: f64) -> Store {
    let options = StoreOptions {
        growth_factor,
        ..StoreOptions::new(kind)
    };
    Store::new(table.width(), &options, &MemoryBudget::unlimited()).expect("enough memory")
}

/// Processor time of this process in seconds where the system tells, else the time of day.
fn seconds(start: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let field = |index: usize| {
        after_name
            .split_whitespace()
            .nth(index)?
            .parse::<f64>()
            .ok()
    };
    match (field(11), field(12)) {
        (Some(user), Some(system)) => (user + system) / 100.0,
        _ => start.elapsed().as_secs_f64(),
    }
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn print_table() {
    let factor = std::env::var("GROWTH")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.2);
    let limit = std::env::var("LIMIT")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(8_000_000);
    println!("words  store way          states   edges/state  Mstates/s  ns/edge  bytes/state");
    let start = Instant::now();
    let only = std::env::var("ONLY").unwrap_or_default();
    for table in TABLES {
        for (kind, way) in WAYS {
            let name = format!("{} {kind:?} {way:?}", table.width());
            if way == Way::Whole && limit > 2_000_000 || !name.contains(&only) {
                continue;
            }
            let before = seconds(start);
            let store = new_store(&table, kind, factor);
            let seen = explore(&table, &store, way, limit);
            let time = seconds(start) - before;
            let (states, edges) = (seen.states as f64, seen.edges as f64);
            println!(
                "{:5}  {:5} {:11} {:9}  {:11.2}  {:9.2}  {:7.0}  {:11.2}",
                table.width(),
                format!("{kind:?}"),
                format!("{way:?}"),
                seen.states,
                edges / states,
                states / time / 1e6,
                time / edges * 1e9,
                store.bytes() as f64 / states,
            );
        }
    }
}
