//! Tokens of the HOA format.

use stubborn_diagnostics::{Diagnostic, Span};

use super::Read;

/// A token; strings are without quotes and escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `name:`, without the colon.
    Header(String),
    Word(String),
    /// `@name`, without the sign.
    Alias(String),
    Text(String),
    Number(u32),
    Sign(char),
    /// `--BODY--`
    Body,
    /// `--END--`
    End,
    EndOfText,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The next token and its place.
    next: Option<(Token, Span)>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            next: None,
        }
    }

    pub(super) fn peek(&mut self) -> Read<(Token, Span)> {
        if self.next.is_none() {
            self.next = Some(self.read()?);
        }
        Ok(self.next.clone().expect("just filled"))
    }

    pub(super) fn take(&mut self) -> Read<(Token, Span)> {
        let token = self.peek()?;
        self.next = None;
        Ok(token)
    }

    /// Takes the token if it is that sign.
    pub(super) fn take_sign(&mut self, sign: char) -> Read<bool> {
        let found = self.peek()?.0 == Token::Sign(sign);
        if found {
            self.next = None;
        }
        Ok(found)
    }

    pub(super) fn expect_sign(&mut self, sign: char) -> Read<()> {
        if self.take_sign(sign)? {
            return Ok(());
        }
        let (_, span) = self.peek()?;
        Err(error("HOA001", format!("expected `{sign}`"), span))
    }

    pub(super) fn expect_number(&mut self, what: &str) -> Read<(u32, Span)> {
        match self.take()? {
            (Token::Number(number), span) => Ok((number, span)),
            (_, span) => Err(error("HOA001", format!("expected {what}"), span)),
        }
    }

    fn skip_space(&mut self) -> Read<()> {
        loop {
            let rest = self.text[self.at..].trim_start();
            self.at = self.text.len() - rest.len();
            if !rest.starts_with("/*") {
                return Ok(());
            }
            let start = self.at;
            let mut depth = 0;
            loop {
                let rest = &self.text[self.at..];
                let Some(c) = rest.chars().next() else {
                    let span = Span::new(start, start + 2);
                    return Err(error("HOA001", "this comment does not end", span));
                };
                if rest.starts_with("/*") {
                    depth += 1;
                    self.at += 2;
                } else if rest.starts_with("*/") {
                    depth -= 1;
                    self.at += 2;
                } else {
                    self.at += c.len_utf8();
                }
                if depth == 0 {
                    break;
                }
            }
        }
    }

    fn read(&mut self) -> Read<(Token, Span)> {
        self.skip_space()?;
        let start = self.at;
        let rest = &self.text[start..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let Some(first) = rest.chars().next() else {
            return Ok((Token::EndOfText, Span::new(start, start)));
        };
        let mut length = first.len_utf8();
        let token = match first {
            '"' => {
                let (text, end) = self.string(start)?;
                length = end - start;
                Token::Text(text)
            }
            '@' => {
                length += rest[1..].find(|c| !is_name(c)).unwrap_or(rest.len() - 1);
                Token::Alias(rest[1..length].to_owned())
            }
            '-' if rest.starts_with("--BODY--") => {
                length = 8;
                Token::Body
            }
            '-' if rest.starts_with("--END--") => {
                length = 7;
                Token::End
            }
            '-' if rest.starts_with("--ABORT--") => {
                let span = Span::new(start, start + 9);
                let message = "the program that wrote this automaton gave up here";
                return Err(error("HOA010", message, span));
            }
            '0'..='9' => {
                length = rest
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(rest.len());
                match rest[..length].parse() {
                    Ok(number) => Token::Number(number),
                    Err(_) => {
                        let span = Span::new(start, start + length);
                        return Err(error("HOA005", "this number is too large", span));
                    }
                }
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                let name = rest[..length].to_owned();
                if rest[length..].starts_with(':') {
                    length += 1;
                    Token::Header(name)
                } else {
                    Token::Word(name)
                }
            }
            _ => Token::Sign(first),
        };
        self.at = start + length;
        Ok((token, Span::new(start, self.at)))
    }

    fn string(&self, start: usize) -> Read<(String, usize)> {
        let mut text = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[start..].char_indices().skip(1) {
            match c {
                _ if escaped => {
                    text.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => return Ok((text, start + offset + 1)),
                _ => text.push(c),
            }
        }
        Err(error(
            "HOA001",
            "this string does not end",
            Span::new(start, start + 1),
        ))
    }
}

pub(super) fn error(code: &'static str, message: impl Into<String>, span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, message, span))
}
