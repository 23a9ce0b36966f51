//! The editor server: any bytes give messages or refusals, and after a message, the server answers
//! whatever comes until the bytes end.
#![no_main]

use std::io::{Cursor, sink};
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use stubborn_lsp::transport::Reader;
use stubborn_lsp::{Analyst, Findings, Language, serve_streams};

/// Finds nothing, and runs nothing.
struct Idle;

impl Analyst for Idle {
    fn analyse(&self, _: &Path, _: &str, _: Language, _: &[(String, String)]) -> Findings {
        Findings::default()
    }

    fn program(&self) -> PathBuf {
        "/nowhere".into()
    }

    fn has_page(&self) -> bool {
        false
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::new(bytes);
    while let Some(read) = reader.read().expect("memory can be read") {
        if let Err(refusal) = read {
            assert!(refusal.code < 0 && !refusal.message.is_empty());
        }
    }
    let begin = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
    let mut all = format!("Content-Length: {}\r\n\r\n{begin}", begin.len()).into_bytes();
    all.extend(bytes);
    serve_streams(Cursor::new(all), sink(), Idle).expect("it ends with the bytes");
});
