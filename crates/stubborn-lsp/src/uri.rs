//! Paths as addresses of files.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::Uri;

/// The path of a `file:` address; other addresses stand for themselves.
pub(crate) fn path_of(uri: &Uri) -> PathBuf {
    let text = uri.as_str();
    let Some(rest) = text.strip_prefix("file://") else {
        return PathBuf::from(text);
    };
    // What is before the first slash is a host.
    let path = rest.find('/').map_or(rest, |at| &rest[at..]);
    let mut bytes = Vec::with_capacity(path.len());
    let mut at = path.as_bytes().iter();
    while let Some(&byte) = at.next() {
        let escaped = match byte {
            b'%' => {
                let digits = at.as_slice().get(..2);
                let text = digits.and_then(|d| std::str::from_utf8(d).ok());
                text.and_then(|text| u8::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        if escaped.is_some() {
            at.nth(1);
        }
        bytes.push(escaped.unwrap_or(byte));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // `/c:/models` is `c:/models`.
    match text.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => PathBuf::from(&text[1..]),
        _ => PathBuf::from(text),
    }
}

/// The address of a file.
pub(crate) fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str()?.replace('\\', "/");
    if text.contains("://") {
        return Uri::from_str(&text).ok();
    }
    let mut out = String::from(if text.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte as char);
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    Uri::from_str(&out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive() {
        for path in ["/a/b c.pml", "/ü/100%.dve", "/x/a+b#c?.pml"] {
            let uri = uri_of(Path::new(path)).expect("an address");
            assert_eq!(path_of(&uri), Path::new(path), "{}", uri.as_str());
        }
        let uri = Uri::from_str("file:///c%3A/m.pml").expect("an address");
        assert_eq!(path_of(&uri), Path::new("c:/m.pml"));
        let uri = Uri::from_str("untitled:Untitled-1").expect("an address");
        assert_eq!(path_of(&uri), Path::new("untitled:Untitled-1"));
        let uri = Uri::from_str("file:///odd%25zz").expect("an address");
        assert_eq!(path_of(&uri), Path::new("/odd%zz"));
    }
}
