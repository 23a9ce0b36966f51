//! PNML: any text gives a net or messages that can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_diagnostics::{SourceFile, render};

fuzz_target!(|text: &str| {
    let source = SourceFile::new("fuzz.pnml", text);
    let (net, messages) = stubborn_pnml::load(&source);
    let shown = render(&source, &messages, false);
    assert!(net.is_some() || !shown.is_empty());
});
