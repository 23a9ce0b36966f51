//! Tokens, for preprocessor and parser alike.
//!
//! Keywords are names here: the preprocessor may redefine them, and the parser decides by
//! their text. Newlines are tokens for the preprocessor; afterwards a token only knows
//! whether it was the first of its line, which matters because Promela lets a line end
//! stand for a semicolon.

use std::sync::Arc;

use stubborn_diagnostics::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Identifier or keyword.
    Name,
    /// Decimal number.
    Number,
    /// Text in double quotes.
    Text,
    /// Character constant.
    Character,
    /// End of a line.
    Newline,
    /// `#`
    Hash,
    /// `##`
    Paste,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// `(`
    OpenParen,
    /// `)`
    CloseParen,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `;`
    Semicolon,
    /// `->`
    Arrow,
    /// `::`
    Option,
    /// `:`
    Colon,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `..`
    Range,
    /// `...`
    Ellipsis,
    /// `@`
    At,
    /// `=`
    Assign,
    /// `++`
    Increment,
    /// `--`
    Decrement,
    /// `!`
    Bang,
    /// `!!`
    BangBang,
    /// `?`
    Question,
    /// `??`
    QuestionQuestion,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `&`
    Ampersand,
    /// `|`
    Pipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `\`, of the temporal operators `/\` and `\/`.
    Backslash,
    /// Anything else.
    Unknown,
    /// After the last token.
    End,
}

/// A token with its place.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: Arc<str>,
    /// Where it stands; for tokens out of a macro, where the macro is used, with its arguments.
    pub span: Span,
    /// The same, but for the arguments of an inline: where the parameter stands in its body.
    pub site: Span,
    /// For tokens out of a macro: the use of the macro, as it is written.
    pub written: Option<Arc<str>>,
    /// First token of its line.
    pub line_start: bool,
    /// White space or a comment stands before it.
    pub spaced: bool,
}

impl Token {
    /// True for the name or keyword `text`.
    pub fn is_name(&self, text: &str) -> bool {
        self.kind == Kind::Name && *self.text == *text
    }
}

/// All tokens of `text`, whose first byte has the offset `base`. Comments are gone,
/// newlines are there.
pub fn tokens(text: &str, base: u32) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    let mut line_start = true;
    let mut last_end = 0;
    let mut at = 0;
    while at < text.len() {
        let (kind, length) = first(&text[at..]);
        let range = at..at + length;
        at = range.end;
        let Some(kind) = kind else { continue };
        let slice = &text[range.clone()];
        let start = base as usize + range.start;
        out.push(Token {
            kind,
            text: Arc::from(slice),
            span: Span::new(start, base as usize + range.end),
            site: Span::new(start, base as usize + range.end),
            written: None,
            line_start,
            spaced: range.start > last_end,
        });
        last_end = range.end;
        line_start = kind == Kind::Newline;
    }
    out
}

/// The tokens of a text in which line ends mean nothing.
pub(crate) fn in_lines(text: &str, base: u32) -> Vec<Token> {
    let mut tokens = tokens(text, base);
    tokens.retain(|token| token.kind != Kind::Newline);
    tokens
}

/// The token at the start of a text that is not empty, or nothing where there is white space or a comment; and the
/// length of it.
fn first(text: &str) -> (Option<Kind>, usize) {
    let bytes = text.as_bytes();
    let found = |kind, length| (Some(kind), length);
    let run = |from: usize, is_in: fn(u8) -> bool| {
        let end = bytes[from..].iter().position(|byte| !is_in(*byte));
        end.map_or(bytes.len(), |end| from + end)
    };
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_blank = |byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c | 0);
    match bytes {
        [b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => found(Kind::Name, run(0, in_word)),
        [b'0'..=b'9', ..] => found(Kind::Number, run(0, in_word)),
        [first, ..] if is_blank(*first) => (None, run(0, is_blank)),
        [b'/', b'/', ..] => (None, run(0, |byte| byte != b'\n')),
        [b'/', b'*', ..] => match text[2..].find("*/") {
            Some(at) => (None, 2 + at + 2),
            None => found(Kind::Unknown, bytes.len()),
        },
        // SPIN steps over the end of a comment that never began, and old models rely on it.
        [b'*', b'/', ..] => (None, 2),
        [b'\\', ..] => {
            // At the end of a line it joins the next one.
            let end = run(1, |byte| matches!(byte, b' ' | b'\t'));
            match &bytes[end..] {
                [b'\n', ..] => (None, end + 1),
                [b'\r', b'\n', ..] => (None, end + 2),
                _ => found(Kind::Backslash, 1),
            }
        }
        [b'"', ..] => quoted(text, Kind::Text),
        [b'\'', ..] => quoted(text, Kind::Character),
        [b'.', b'.', b'.', ..] => found(Kind::Ellipsis, 3),
        [b'\n', ..] => found(Kind::Newline, 1),
        [b'#', b'#', ..] => found(Kind::Paste, 2),
        [b'-', b'>', ..] => found(Kind::Arrow, 2),
        // SPIN reads it as `->`.
        [b'-', b'-', b'>', ..] => found(Kind::Arrow, 3),
        [b':', b':', ..] => found(Kind::Option, 2),
        [b'.', b'.', ..] => found(Kind::Range, 2),
        [b'+', b'+', ..] => found(Kind::Increment, 2),
        [b'-', b'-', ..] => found(Kind::Decrement, 2),
        [b'!', b'!', ..] => found(Kind::BangBang, 2),
        [b'?', b'?', ..] => found(Kind::QuestionQuestion, 2),
        [b'&', b'&', ..] => found(Kind::And, 2),
        [b'|', b'|', ..] => found(Kind::Or, 2),
        [b'=', b'=', ..] => found(Kind::Equal, 2),
        [b'!', b'=', ..] => found(Kind::NotEqual, 2),
        [b'<', b'=', ..] => found(Kind::LessEqual, 2),
        [b'>', b'=', ..] => found(Kind::GreaterEqual, 2),
        [b'<', b'<', ..] => found(Kind::ShiftLeft, 2),
        [b'>', b'>', ..] => found(Kind::ShiftRight, 2),
        [b'#', ..] => found(Kind::Hash, 1),
        [b'{', ..] => found(Kind::OpenBrace, 1),
        [b'}', ..] => found(Kind::CloseBrace, 1),
        [b'(', ..] => found(Kind::OpenParen, 1),
        [b')', ..] => found(Kind::CloseParen, 1),
        [b'[', ..] => found(Kind::OpenBracket, 1),
        [b']', ..] => found(Kind::CloseBracket, 1),
        [b';', ..] => found(Kind::Semicolon, 1),
        [b':', ..] => found(Kind::Colon, 1),
        [b',', ..] => found(Kind::Comma, 1),
        [b'.', ..] => found(Kind::Dot, 1),
        [b'@', ..] => found(Kind::At, 1),
        [b'=', ..] => found(Kind::Assign, 1),
        [b'!', ..] => found(Kind::Bang, 1),
        [b'?', ..] => found(Kind::Question, 1),
        [b'+', ..] => found(Kind::Plus, 1),
        [b'-', ..] => found(Kind::Minus, 1),
        [b'*', ..] => found(Kind::Star, 1),
        [b'/', ..] => found(Kind::Slash, 1),
        [b'%', ..] => found(Kind::Percent, 1),
        [b'&', ..] => found(Kind::Ampersand, 1),
        [b'|', ..] => found(Kind::Pipe, 1),
        [b'^', ..] => found(Kind::Caret, 1),
        [b'~', ..] => found(Kind::Tilde, 1),
        [b'<', ..] => found(Kind::Less, 1),
        [b'>', ..] => found(Kind::Greater, 1),
        _ => found(Kind::Unknown, text.chars().next().map_or(1, char::len_utf8)),
    }
}

/// What begins with a mark, goes on in the same line and ends with the same mark: a text, or one character. A
/// backslash and what follows it are one. If it does not end, it is nothing known, until where it fails.
fn quoted(text: &str, kind: Kind) -> (Option<Kind>, usize) {
    let unknown = |end| (Some(Kind::Unknown), end);
    let mut characters = text.char_indices();
    let mark = characters.next().map(|(_, mark)| mark);
    let mut is_empty = true;
    while let Some((at, character)) = characters.next() {
        let is_mark = Some(character) == mark;
        let is_full = kind == Kind::Character && !is_empty;
        match character {
            _ if is_mark && (is_full || kind == Kind::Text) => return (Some(kind), at + 1),
            _ if is_mark || is_full => return unknown(at),
            '\n' => return unknown(at),
            '\\' => {
                if let Some((at, '\n')) = characters.next() {
                    return unknown(at);
                }
            }
            _ => {}
        }
        is_empty = false;
    }
    unknown(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_vanish_and_lines_are_known() {
        let found = tokens("a /* x\n */ b // c\n\\\n'q' \"s\\\"t\" ..", 0);
        let kinds: Vec<_> = found.iter().map(|t| (t.kind, t.line_start)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Name, true),
                (Kind::Name, false),
                (Kind::Newline, false),
                (Kind::Character, true),
                (Kind::Text, false),
                (Kind::Range, false),
            ]
        );
    }

    #[test]
    fn nothing_is_lost_on_bad_input() {
        let found = tokens("a ' b \" c /* never closed", 7);
        assert_eq!(found.last().map(|t| t.kind), Some(Kind::Unknown));
        assert_eq!(found[0].span, Span::new(7, 8));
        // What fails is one token until there.
        for (text, wanted) in [
            ("'ab", &[2, 1][..]),
            ("''", &[1, 1]),
            ("'\\''", &[4]),
            ("'é'", &[4]),
            ("\"a\\\"b\nc", &[5, 1, 1]),
            ("\"a\\\nc", &[3, 1, 1]),
            ("∀x", &[3, 1]),
        ] {
            let lengths = tokens(text, 0).into_iter().map(|token| token.text.len());
            assert_eq!(lengths.collect::<Vec<_>>(), wanted, "{text}");
        }
    }

    #[test]
    fn lines_are_joined_and_lone_ends_of_comments_skipped() {
        let found = tokens("a \\ \t\r\n b */ /\\ c", 0);
        let texts: Vec<&str> = found.iter().map(|token| &*token.text).collect();
        assert_eq!(texts, ["a", "b", "/", "\\", "c"]);
    }
}
