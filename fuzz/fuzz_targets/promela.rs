//! Promela: any text gives a program or messages that can be shown.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use stubborn_promela::source::NoIncludes;
use stubborn_promela::{Options, load, parse};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz.pml");
    let parsed = parse(path, text, &[], &NoIncludes);
    let _ = parsed.sources.render(&parsed.diagnostics, false);
    let _ = load(path, text, &Options::default(), &NoIncludes);
});
