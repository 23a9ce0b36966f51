//! Offsets in a text and the positions that editors count in.
//!
//! Editors count lines from 0, and within a line code units of UTF-16 unless both sides agree on
//! UTF-8. A line ends with `\n`, `\r\n` or `\r`.

use lsp_types::{Position, Range};
use stubborn_diagnostics::Span;

/// What characters of a line are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = |at: &usize| match bytes[*at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let mut starts = vec![0];
        starts.extend((0..bytes.len()).filter(ends).map(|at| at + 1));
        Self { starts }
    }

    /// The line of an offset, counted from 0.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|s| *s <= offset).max(1) - 1
    }

    pub(crate) fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let offset = floor(text, offset);
        let line = self.line(offset);
        let before = &text[self.starts[line]..offset];
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position::new(line as u32, character as u32)
    }

    /// The offset of a position; one behind the end of a line is its end.
    pub(crate) fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return text.len();
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        let wanted = position.character as usize;
        match encoding {
            Encoding::Utf8 => floor(text, start + wanted.min(content.len())),
            Encoding::Utf16 => {
                let mut units = 0;
                for (at, c) in content.char_indices() {
                    // In the middle of a character is before it.
                    if units + c.len_utf16() > wanted {
                        return start + at;
                    }
                    units += c.len_utf16();
                }
                start + content.len()
            }
        }
    }

    pub(crate) fn range(&self, text: &str, span: Span, encoding: Encoding) -> Range {
        let (start, end) = (span.start as usize, span.end.max(span.start) as usize);
        Range::new(
            self.position(text, start, encoding),
            self.position(text, end, encoding),
        )
    }
}

/// The nearest boundary of characters that is not after `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_offsets_are_inverse() {
        let text = "a\r\n𝄞ç x\rlast\n\nend";
        let lines = Lines::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, c) in text.char_indices().chain([(text.len(), 'x')]) {
                let position = lines.position(text, offset, encoding);
                if !matches!(c, '\n' | '\r') {
                    assert_eq!(lines.offset(text, position, encoding), offset);
                }
            }
        }
        let x = text.find('x').expect("it is there");
        assert_eq!(
            lines.position(text, x, Encoding::Utf16),
            Position::new(1, 4)
        );
        assert_eq!(lines.position(text, x, Encoding::Utf8), Position::new(1, 7));
        assert_eq!(lines.line(text.len()), 4);
    }

    #[test]
    fn positions_outside_are_moved_inside() {
        let text = "ab\n𝄞";
        let lines = Lines::new(text);
        let at =
            |line, character| lines.offset(text, Position::new(line, character), Encoding::Utf16);
        assert_eq!([at(0, 99), at(1, 1), at(1, 9), at(7, 0)], [2, 3, 7, 7]);
        let far = lines.position(text, 999, Encoding::Utf16);
        assert_eq!(far, Position::new(1, 2));
    }
}
