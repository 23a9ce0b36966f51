//! The lexical level: text to tokens.
//!
//! DVE comments have one trap that DiVinE's own lexer defines: inside a block
//! comment, `//` swallows the rest of its line, so that a `*/` after it on the
//! same line does not close the block. Block comments are skipped here in the same way.

use logos::{FilterResult, Lexer, Logos};

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
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\x0C]+")]
#[logos(skip r"\\[ \t\r]*\n")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[allow(missing_docs)] // the names are the tokens
pub enum Token {
    #[token("/*", skip_block_comment)]
    Comment,
    #[regex("[A-Za-z_][A-Za-z0-9_$#]*")]
    Identifier,
    #[regex("[0-9]+")]
    Number,

    #[token("process")]
    Process,
    #[token("state")]
    State,
    #[token("init")]
    Init,
    #[token("commit")]
    Commit,
    #[token("accept")]
    Accept,
    #[token("assert")]
    Assert,
    #[token("trans")]
    Trans,
    #[token("guard")]
    Guard,
    #[token("sync")]
    Sync,
    #[token("effect")]
    Effect,
    #[token("channel")]
    Channel,
    #[token("system")]
    System,
    #[token("async")]
    Async,
    #[token("property")]
    Property,
    #[token("const")]
    Const,
    #[token("byte")]
    Byte,
    #[token("int")]
    Int,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("and")]
    #[token("&&")]
    And,
    #[token("or")]
    #[token("||")]
    Or,
    #[token("not")]
    Not,
    #[token("imply")]
    Imply,
    #[token("buchi")]
    Buchi,
    #[token("genbuchi")]
    GenBuchi,
    #[token("rabin")]
    Rabin,
    #[token("streett")]
    Streett,
    #[token("muller")]
    Muller,

    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("(")]
    LeftParenthesis,
    #[token(")")]
    RightParenthesis,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("?")]
    Question,
    #[token("!")]
    Exclamation,
    #[token("->")]
    Arrow,
    #[token("=>")]
    WideArrow,
    #[token("=")]
    Assign,
    #[token("~")]
    Tilde,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("|")]
    BitOr,
    #[token("&")]
    BitAnd,
    #[token("^")]
    BitXor,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,

    /// Never produced by the lexer: what the parser sees after the last token.
    End,
}

/// Moves past a block comment whose opening has just been read.
fn skip_block_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'*', b'/', ..] => {
                lexer.bump(at + 2);
                return FilterResult::Skip;
            }
            [b'/', b'/', ..] => {
                at += rest[at..]
                    .iter()
                    .position(|b| *b == b'\n')
                    .unwrap_or(rest.len() - at);
            }
            _ => at += 1,
        }
    }
    lexer.bump(rest.len());
    FilterResult::Error(LexError::OpenComment)
}

impl Token {
    /// The token as messages call it.
    pub fn describe(self) -> &'static str {
        match self {
            Token::Comment => "a comment",
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
        Token::lexer(text).collect()
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
