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
        self.split(text, position, encoding).0
    }

    /// The same, and whether the position is between the halves of the surrogate pair that is there.
    fn split(&self, text: &str, position: Position, encoding: Encoding) -> (usize, bool) {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return (text.len(), false);
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        let wanted = position.character as usize;
        match encoding {
            Encoding::Utf8 => (floor(text, start + wanted.min(content.len())), false),
            Encoding::Utf16 => {
                let mut units = 0;
                for (at, c) in content.char_indices() {
                    // In the middle of a character is before it.
                    if units + c.len_utf16() > wanted {
                        return (start + at, units < wanted);
                    }
                    units += c.len_utf16();
                }
                (start + content.len(), false)
            }
        }
    }

    /// Puts a text in the place of a range. Half of a surrogate pair that stays becomes U+FFFD, as the
    /// other half does where an editor sends it: what comes later in the line keeps its position.
    pub(crate) fn replace(&self, text: &mut String, range: Range, new: &str, encoding: Encoding) {
        let (start, splits_start) = self.split(text, range.start, encoding);
        let (end, splits_end) = self.split(text, range.end.max(range.start), encoding);
        let end = match text[end..].chars().next() {
            Some(split) if splits_end => end + split.len_utf8(),
            _ => end,
        };
        let half = |splits: bool| if splits { "\u{fffd}" } else { "" };
        let new = [half(splits_start), new, half(splits_end)].concat();
        text.replace_range(start..end.max(start), &new);
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

    /// Random edits by units of UTF-16, as an editor counts them: units that are no halves of pairs are
    /// the same on both sides after each of them, at the same places.
    #[test]
    fn edits_that_split_characters_move_nothing_else() {
        let mut seed = 11_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let (mut split, mut text) = (0, String::new());
        let mut editor: Vec<u16> = Vec::new();
        for _ in 0..5_000 {
            let (a, b) = (random(editor.len() + 1), random(editor.len() + 1));
            let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 3));
            let pieces = ["", "x", "ç", "𝄞", "😀a", "\u{fffd}"];
            let mut new: Vec<u16> = pieces[random(6)].encode_utf16().collect();
            if random(3) == 0 {
                // What a half of a pair is in JSON.
                new.drain(..random(new.len() + 1));
            }
            let sent = String::from_utf16_lossy(&new);
            let range = Range::new(Position::new(0, start as u32), Position::new(0, end as u32));
            Lines::new(&text).replace(&mut text, range, &sent, Encoding::Utf16);
            editor.splice(start..end, new);
            let ours: Vec<u16> = text.encode_utf16().collect();
            assert_eq!(ours.len(), editor.len());
            for (ours, theirs) in ours.iter().zip(&editor) {
                let is_half = (0xd800..0xe000).contains(theirs);
                assert!(ours == theirs || is_half && *ours == 0xfffd);
                split += usize::from(ours != theirs);
            }
            editor.truncate(40);
            text = String::from_utf16_lossy(&ours[..editor.len()]);
        }
        assert!(split > 100);
    }
}
