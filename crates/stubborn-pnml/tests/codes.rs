//! The list of codes and the code agree: every code in the sources is listed, and every listed
//! one is used.

use std::collections::BTreeSet;
use std::path::Path;

fn codes_in(text: &str, before: &str) -> BTreeSet<String> {
    let pattern = format!("{before}PNM0");
    text.match_indices(&pattern)
        .map(|(at, _)| text[at + before.len()..][..6].to_owned())
        .collect()
}

fn sources(folder: &Path, out: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn the_list_of_codes_is_complete() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stubborn-net/src");
    let list = std::fs::read_to_string(folder.join("codes.md")).unwrap();
    let mut text = String::new();
    sources(&folder, &mut text);
    sources(&nets, &mut text);
    assert_eq!(codes_in(&text, "\""), codes_in(&list, "| "));
}
