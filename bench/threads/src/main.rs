//! The same programs under loom, shuttle and stubborn: executions and seconds until a bug, or until
//! all is known. `cargo run --release [PROGRAM]`; shuttle writes how to replay to the standard error.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering as O};
use std::time::Instant;

static RUNS: AtomicU64 = AtomicU64::new(0);

include!("programs.rs");
programs!(with_loom, loom);
programs!(with_shuttle, shuttle);
programs!(with_stubborn, stubborn_dpor);

fn measure(name: &str, tool: &str, run: impl FnOnce()) {
    RUNS.store(0, O::Relaxed);
    let started = Instant::now();
    let ok = catch_unwind(AssertUnwindSafe(run)).is_ok();
    println!(
        "{name} | {tool} | {} | {} | {:.4}",
        if ok { "none" } else { "bug" },
        RUNS.load(O::Relaxed),
        started.elapsed().as_secs_f64()
    );
}

macro_rules! all {
    ($which:expr, $($p:ident)*) => {$(
        let name = stringify!($p);
        if $which.is_none_or(|w| w == name) {
            measure(name, "loom", || loom::model(|| { RUNS.fetch_add(1, O::Relaxed); with_loom::$p() }));
            measure(name, "shuttle dfs", || { shuttle::check_dfs(|| { RUNS.fetch_add(1, O::Relaxed); with_shuttle::$p() }, Some(500_000)); });
            measure(name, "shuttle random", || { shuttle::check_random(|| { RUNS.fetch_add(1, O::Relaxed); with_shuttle::$p() }, 1000); });
            let started = Instant::now();
            match stubborn_dpor::Check::new().run(with_stubborn::$p) {
                Ok(all) => println!("{name} | stubborn | none | {} | {:.4}", all.executions, started.elapsed().as_secs_f64()),
                Err(failure) => println!("{name} | stubborn | bug | {} | {:.4}", failure.executions + 1, started.elapsed().as_secs_f64()),
            }
        }
    )*};
}

fn main() {
    let which = std::env::args().nth(1);
    std::panic::set_hook(Box::new(|_| {}));
    all!(which.as_deref(), lost_update adders locked_adders embrace strangers missed_signal signal order_of_senders check_then_act flags relaxed_flags);
}
