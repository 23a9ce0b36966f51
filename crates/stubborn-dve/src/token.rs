//! The lexical level: text to tokens.
//!
//! DVE comments have one trap that DiVinE's own lexer defines: inside a block
//! comment, `//` swallows the rest of its line, so that a `*/` after it on the
//! same line does not close the block. Block comments are skipped here in the same way.

use std::ops::Range;

/// What can go wrong while looking for the next token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LexError {
    /// No token starts with this character.
    #[default]
    UnexpectedCharacter,
    /// The end of the text inside a block comment.
    OpenComment,
}

/// One token. The text of identifiers and numbers is found through the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the tokens
pub enum Token {
    Identifier,
    Number,

    Process,
    State,
    Init,
    Commit,
    Accept,
    Assert,
    Trans,
    Guard,
    Sync,
    Effect,
    Channel,
    System,
    Async,
    Property,
    Const,
    Byte,
    Int,
    True,
    False,
    And,
    Or,
    Not,
    Imply,
    Buchi,
    GenBuchi,
    Rabin,
    Streett,
    Muller,

    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    LeftParenthesis,
    RightParenthesis,
    Comma,
    Semicolon,
    Colon,
    Dot,
    Question,
    Exclamation,
    Arrow,
    WideArrow,
    Assign,
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    BitOr,
    BitAnd,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,

    /// Never produced by the lexer: what the parser sees after the last token.
    End,
}

/// The tokens of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Lexer<'src> {
    text: &'src str,
    span: Range<usize>,
}

impl<'src> Lexer<'src> {
    /// From the start of the text.
    pub fn new(text: &'src str) -> Self {
        Self { text, span: 0..0 }
    }

    /// Where the last token, or what is none, stands.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    fn found<T>(&mut self, length: usize, what: T) -> Option<T> {
        self.span.end += length;
        Some(what)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Result<Token, LexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let mut at = self.span.end;
        let mut is_open = false;
        loop {
            let rest = &bytes[at..];
            at += match rest {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0c, ..] => 1,
                [b'/', b'/', ..] => until(rest, |b| b == b'\n'),
                [b'/', b'*', inside @ ..] => match block_comment(inside) {
                    Some(length) => 2 + length,
                    None => {
                        is_open = true;
                        break;
                    }
                },
                // A backslash at the end of a line joins it to the next.
                [b'\\', tail @ ..] => {
                    let blanks = until(tail, |b| !matches!(b, b' ' | b'\t' | b'\r'));
                    match tail.get(blanks) {
                        Some(b'\n') => 1 + blanks + 1,
                        _ => break,
                    }
                }
                _ => break,
            };
        }
        self.span = at..at;
        let rest = &bytes[at..];
        match rest {
            [] => None,
            _ if is_open => self.found(rest.len(), Err(LexError::OpenComment)),
            [b'0'..=b'9', ..] => {
                let length = until(rest, |b| !b.is_ascii_digit());
                self.found(length, Ok(Token::Number))
            }
            [b'A'..=b'Z' | b'a'..=b'z' | b'_', ..] => {
                let in_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'#');
                let length = until(rest, |b| !in_name(b));
                self.found(length, Ok(word(&self.text[at..at + length])))
            }
            _ => match sign(rest) {
                Some((token, length)) => self.found(length, Ok(token)),
                None => {
                    let strange = self.text[at..].chars().next().map_or(1, char::len_utf8);
                    self.found(strange, Err(LexError::UnexpectedCharacter))
                }
            },
        }
    }
}

/// How many bytes come before the first such one.
fn until(text: &[u8], is_it: impl Fn(u8) -> bool) -> usize {
    let found = text.iter().position(|byte| is_it(*byte));
    found.unwrap_or(text.len())
}

/// The length of a block comment whose opening has been read, if it ends.
fn block_comment(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match text.get(at..)? {
            [] => return None,
            [b'*', b'/', ..] => return Some(at + 2),
            rest @ [b'/', b'/', ..] => until(rest, |b| b == b'\n'),
            _ => 1,
        };
    }
}

/// A keyword or a name.
fn word(text: &str) -> Token {
    match text {
        "process" => Token::Process,
        "state" => Token::State,
        "init" => Token::Init,
        "commit" => Token::Commit,
        "accept" => Token::Accept,
        "assert" => Token::Assert,
        "trans" => Token::Trans,
        "guard" => Token::Guard,
        "sync" => Token::Sync,
        "effect" => Token::Effect,
        "channel" => Token::Channel,
        "system" => Token::System,
        "async" => Token::Async,
        "property" => Token::Property,
        "const" => Token::Const,
        "byte" => Token::Byte,
        "int" => Token::Int,
        "true" => Token::True,
        "false" => Token::False,
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "imply" => Token::Imply,
        "buchi" => Token::Buchi,
        "genbuchi" => Token::GenBuchi,
        "rabin" => Token::Rabin,
        "streett" => Token::Streett,
        "muller" => Token::Muller,
        _ => Token::Identifier,
    }
}

/// The longest sign at the start of a text, and its length.
fn sign(text: &[u8]) -> Option<(Token, usize)> {
    Some(match text {
        [b'&', b'&', ..] => (Token::And, 2),
        [b'|', b'|', ..] => (Token::Or, 2),
        [b'-', b'>', ..] => (Token::Arrow, 2),
        [b'=', b'>', ..] => (Token::WideArrow, 2),
        [b'<', b'<', ..] => (Token::ShiftLeft, 2),
        [b'>', b'>', ..] => (Token::ShiftRight, 2),
        [b'<', b'=', ..] => (Token::LessEqual, 2),
        [b'>', b'=', ..] => (Token::GreaterEqual, 2),
        [b'=', b'=', ..] => (Token::Equal, 2),
        [b'!', b'=', ..] => (Token::NotEqual, 2),
        [b'{', ..] => (Token::LeftBrace, 1),
        [b'}', ..] => (Token::RightBrace, 1),
        [b'[', ..] => (Token::LeftBracket, 1),
        [b']', ..] => (Token::RightBracket, 1),
        [b'(', ..] => (Token::LeftParenthesis, 1),
        [b')', ..] => (Token::RightParenthesis, 1),
        [b',', ..] => (Token::Comma, 1),
        [b';', ..] => (Token::Semicolon, 1),
        [b':', ..] => (Token::Colon, 1),
        [b'.', ..] => (Token::Dot, 1),
        [b'?', ..] => (Token::Question, 1),
        [b'!', ..] => (Token::Exclamation, 1),
        [b'=', ..] => (Token::Assign, 1),
        [b'~', ..] => (Token::Tilde, 1),
        [b'+', ..] => (Token::Plus, 1),
        [b'-', ..] => (Token::Minus, 1),
        [b'*', ..] => (Token::Star, 1),
        [b'/', ..] => (Token::Slash, 1),
        [b'%', ..] => (Token::Percent, 1),
        [b'|', ..] => (Token::BitOr, 1),
        [b'&', ..] => (Token::BitAnd, 1),
        [b'^', ..] => (Token::BitXor, 1),
        [b'<', ..] => (Token::Less, 1),
        [b'>', ..] => (Token::Greater, 1),
        _ => return None,
    })
}

impl Token {
    /// The token as messages call it.
    pub fn describe(self) -> &'static str {
        match self {
            Token::Identifier => "a name",
            Token::Number => "a number",
            Token::End => "the end of the text",
            Token::Process => "`process`",
            Token::State => "`state`",
            Token::Init => "`init`",
            Token::Commit => "`commit`",
            Token::Accept => "`accept`",
            Token::Assert => "`assert`",
            Token::Trans => "`trans`",
            Token::Guard => "`guard`",
            Token::Sync => "`sync`",
            Token::Effect => "`effect`",
            Token::Channel => "`channel`",
            Token::System => "`system`",
            Token::Async => "`async`",
            Token::Property => "`property`",
            Token::Const => "`const`",
            Token::Byte => "`byte`",
            Token::Int => "`int`",
            Token::True => "`true`",
            Token::False => "`false`",
            Token::And => "`and`",
            Token::Or => "`or`",
            Token::Not => "`not`",
            Token::Imply => "`imply`",
            Token::Buchi => "`buchi`",
            Token::GenBuchi => "`genbuchi`",
            Token::Rabin => "`rabin`",
            Token::Streett => "`streett`",
            Token::Muller => "`muller`",
            Token::LeftBrace => "`{`",
            Token::RightBrace => "`}`",
            Token::LeftBracket => "`[`",
            Token::RightBracket => "`]`",
            Token::LeftParenthesis => "`(`",
            Token::RightParenthesis => "`)`",
            Token::Comma => "`,`",
            Token::Semicolon => "`;`",
            Token::Colon => "`:`",
            Token::Dot => "`.`",
            Token::Question => "`?`",
            Token::Exclamation => "`!`",
            Token::Arrow => "`->`",
            Token::WideArrow => "`=>`",
            Token::Assign => "`=`",
            Token::Tilde => "`~`",
            Token::Plus => "`+`",
            Token::Minus => "`-`",
            Token::Star => "`*`",
            Token::Slash => "`/`",
            Token::Percent => "`%`",
            Token::BitOr => "`|`",
            Token::BitAnd => "`&`",
            Token::BitXor => "`^`",
            Token::ShiftLeft => "`<<`",
            Token::ShiftRight => "`>>`",
            Token::Less => "`<`",
            Token::LessEqual => "`<=`",
            Token::Greater => "`>`",
            Token::GreaterEqual => "`>=`",
            Token::Equal => "`==`",
            Token::NotEqual => "`!=`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Result<Token, LexError>> {
        Lexer::new(text).collect()
    }

    #[test]
    fn a_line_comment_hides_the_end_of_a_block_comment() {
        assert_eq!(tokens("/* a // b */ int \n */ byte"), [Ok(Token::Byte)]);
        assert_eq!(tokens("/* a * / */ int"), [Ok(Token::Int)]);
        assert_eq!(tokens("/*/ int */ byte"), [Ok(Token::Byte)]);
        assert_eq!(tokens("/**/int"), [Ok(Token::Int)]);
    }

    #[test]
    fn open_comments_are_errors() {
        assert_eq!(
            tokens("int /* */ /* x"),
            [Ok(Token::Int), Err(LexError::OpenComment)]
        );
        assert_eq!(tokens("/* // */"), [Err(LexError::OpenComment)]);
        assert_eq!(tokens("int // */"), [Ok(Token::Int)]);
    }

    #[test]
    fn names_may_hold_dollars_and_hashes_and_keywords() {
        assert_eq!(tokens("a$b#1 _x init1 initial"), [Ok(Token::Identifier); 4]);
        assert_eq!(
            tokens("and && or ||"),
            [Token::And, Token::And, Token::Or, Token::Or].map(Ok)
        );
    }

    #[test]
    fn a_backslash_joins_lines() {
        assert_eq!(
            tokens("int \\ \t\n byte"),
            [Ok(Token::Int), Ok(Token::Byte)]
        );
        assert_eq!(
            tokens("int \\ byte"),
            [
                Ok(Token::Int),
                Err(LexError::UnexpectedCharacter),
                Ok(Token::Byte)
            ]
        );
    }
}
