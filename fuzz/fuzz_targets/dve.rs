//! DVE: any text gives a program or messages that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_diagnostics::{SourceFile, render};

fuzz_target!(|text: &str| {
    let source = SourceFile::new("fuzz.dve", text);
    let (lowered, messages) = stubborn_dve::compile(&source);
    let shown = render(&source, &messages, false);
    assert!(lowered.is_some() || !shown.is_empty());
});
