//! Promela: any text gives a program or messages that can be shown.
#![no_main]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use stubborn_promela::source::NoIncludes;
use stubborn_promela::{Options, load, parse};
use stubborn_system::Budget;

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.pml");
    let parsed = parse(path, text, &[], &NoIncludes);
    let _ = parsed.sources.render(&parsed.diagnostics, false);
    // An atomic sequence may be as long as its variables are wide: within a budget, so that an
    // input that takes much longer is one that does not keep it.
    let time = Budget::default().with_time(Some(Duration::from_secs(1)));
    let options = Options {
        budget: Arc::new(time),
        ..Options::default()
    };
    let _ = load(path, text, &options, &NoIncludes);
});
