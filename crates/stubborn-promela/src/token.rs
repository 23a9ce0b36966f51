//! Tokens, for preprocessor and parser alike.
//!
//! Keywords are names here: the preprocessor may redefine them, and the parser decides by
//! their text. Newlines are tokens for the preprocessor; afterwards a token only knows
//! whether it was the first of its line, which matters because Promela lets a line end
//! stand for a semicolon.

use std::sync::Arc;

use logos::Logos;
use stubborn_diagnostics::Span;

/// What a token is.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\x0b\x0c\x00]+")]
#[logos(skip r"\\[ \t]*\r?\n")]
// SPIN steps over the end of a comment that never began, and old models rely on it.
#[logos(skip r"\*/")]
pub enum Kind {
    /// Identifier or keyword.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    /// Decimal number.
    #[regex(r"[0-9]+[A-Za-z0-9_]*")]
    Number,
    /// Text in double quotes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    /// Character constant.
    #[regex(r"'([^'\\\n]|\\[^\n])'")]
    Character,
    /// End of a line.
    #[token("\n")]
    Newline,
    /// `/* … */` or `// …`; never leaves the lexer.
    #[token("/*", skip_comment)]
    #[regex(r"//[^\n]*", allow_greedy = true)]
    Comment,
    /// `#`
    #[token("#")]
    Hash,
    /// `##`
    #[token("##")]
    Paste,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `(`
    #[token("(")]
    OpenParen,
    /// `)`
    #[token(")")]
    CloseParen,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `->`
    #[token("->")]
    Arrow,
    /// `::`
    #[token("::")]
    Option,
    /// `:`
    #[token(":")]
    Colon,
    /// `,`
    #[token(",")]
    Comma,
    /// `.`
    #[token(".")]
    Dot,
    /// `..`
    #[token("..")]
    Range,
    /// `...`
    #[token("...")]
    Ellipsis,
    /// `@`
    #[token("@")]
    At,
    /// `=`
    #[token("=")]
    Assign,
    /// `++`
    #[token("++")]
    Increment,
    /// `--`
    #[token("--")]
    Decrement,
    /// `!`
    #[token("!")]
    Bang,
    /// `!!`
    #[token("!!")]
    BangBang,
    /// `?`
    #[token("?")]
    Question,
    /// `??`
    #[token("??")]
    QuestionQuestion,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `%`
    #[token("%")]
    Percent,
    /// `&`
    #[token("&")]
    Ampersand,
    /// `|`
    #[token("|")]
    Pipe,
    /// `^`
    #[token("^")]
    Caret,
    /// `~`
    #[token("~")]
    Tilde,
    /// `&&`
    #[token("&&")]
    And,
    /// `||`
    #[token("||")]
    Or,
    /// `==`
    #[token("==")]
    Equal,
    /// `!=`
    #[token("!=")]
    NotEqual,
    /// `<`
    #[token("<")]
    Less,
    /// `<=`
    #[token("<=")]
    LessEqual,
    /// `>`
    #[token(">")]
    Greater,
    /// `>=`
    #[token(">=")]
    GreaterEqual,
    /// `<<`
    #[token("<<")]
    ShiftLeft,
    /// `>>`
    #[token(">>")]
    ShiftRight,
    /// `\`, of the temporal operators `/\` and `\/`.
    #[token("\\")]
    Backslash,
    /// Anything else.
    Unknown,
    /// After the last token.
    End,
}

/// Swallows the rest of a comment; an unterminated one reaches to the end of the text.
fn skip_comment(lexer: &mut logos::Lexer<'_, Kind>) {
    let rest = lexer.remainder();
    lexer.bump(rest.find("*/").map_or(rest.len(), |at| at + 2));
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
    for (kind, range) in Kind::lexer(text).spanned() {
        let mut kind = kind.unwrap_or(Kind::Unknown);
        let slice = &text[range.clone()];
        if kind == Kind::Comment {
            if slice.starts_with("/*") && (slice.len() < 4 || !slice.ends_with("*/")) {
                kind = Kind::Unknown;
            } else {
                continue;
            }
        }
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
    }
}
