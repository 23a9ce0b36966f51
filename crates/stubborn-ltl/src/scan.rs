//! The words and signs of LTL text, for both notations.
//!
//! There is no token stream: what a word means depends on whether an operand or an
//! operator is expected (`Up` is a proposition in one place and `U p` in the other
//! for Spot), and a stretch of model expression is passed on as text. So the parser
//! asks for what it expects.

use crate::print::Syntax;

/// An operator in front of its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Not,
    Next,
    Finally,
    Globally,
}

/// An operator between its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    Implies,
    Iff,
    Or,
    Xor,
    And,
    Until,
    WeakUntil,
    Release,
    StrongRelease,
}

impl Infix {
    /// How tightly it binds; both notations agree on these levels.
    pub(crate) fn level(self) -> u8 {
        match self {
            Infix::Implies | Infix::Iff => 1,
            Infix::Or | Infix::Xor => 2,
            Infix::And => 3,
            _ => 4,
        }
    }

    /// Whether `a op b op c` means the same either way.
    pub(crate) fn is_associative(self) -> bool {
        matches!(self, Infix::Or | Infix::And | Infix::Xor | Infix::Iff)
    }
}

const SIGNS: [(&str, Infix); 11] = [
    ("<->", Infix::Iff),
    ("<=>", Infix::Iff),
    ("->", Infix::Implies),
    ("=>", Infix::Implies),
    ("&&", Infix::And),
    ("||", Infix::Or),
    ("/\\", Infix::And),
    ("\\/", Infix::Or),
    ("&", Infix::And),
    ("|", Infix::Or),
    ("^", Infix::Xor),
];

/// Signs of Boolean operators that model expressions do not use at their top level.
const LOGICAL_SIGNS: usize = 8;

const LETTERS: [(&str, Infix); 5] = [
    ("U", Infix::Until),
    ("W", Infix::WeakUntil),
    ("R", Infix::Release),
    ("V", Infix::Release),
    ("M", Infix::StrongRelease),
];

const SPIN_WORDS: [(&str, Infix); 6] = [
    ("until", Infix::Until),
    ("stronguntil", Infix::Until),
    ("weakuntil", Infix::WeakUntil),
    ("release", Infix::Release),
    ("implies", Infix::Implies),
    ("equivalent", Infix::Iff),
];

const PREFIX_LETTERS: [(&str, Prefix); 3] = [
    ("X", Prefix::Next),
    ("F", Prefix::Finally),
    ("G", Prefix::Globally),
];

const SPIN_PREFIX_WORDS: [(&str, Prefix); 3] = [
    ("next", Prefix::Next),
    ("eventually", Prefix::Finally),
    ("always", Prefix::Globally),
];

/// Whether a lower-case word means something to one of the notations.
pub(crate) fn is_reserved(word: &str) -> bool {
    ["true", "false", "xor"].contains(&word)
        || SPIN_WORDS.iter().any(|(known, _)| *known == word)
        || SPIN_PREFIX_WORDS.iter().any(|(known, _)| *known == word)
}

/// Whether SPIN does not have this operator.
fn is_name_to_spin(letter: &str) -> bool {
    ["R", "M"].contains(&letter)
}

/// A place in a text.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) syntax: Syntax,
}

impl<'a> Scanner<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(crate) fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Length of the word here, 0 if there is none.
    pub(crate) fn word_length(&self) -> usize {
        let rest = self.rest();
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return 0;
        }
        let dots = self.syntax == Syntax::Spot;
        rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || dots && c == '.'))
            .unwrap_or(rest.len())
    }

    fn word(&self) -> &'a str {
        &self.rest()[..self.word_length()]
    }

    /// The prefix operator here and its length.
    pub(crate) fn prefix(&self) -> Option<(Prefix, usize)> {
        let rest = self.rest();
        if rest.starts_with('!') && !rest.starts_with("!=") || rest.starts_with('~') {
            return Some((Prefix::Not, 1));
        }
        if rest.starts_with("[]") {
            return Some((Prefix::Globally, 2));
        }
        if rest.starts_with("<>") {
            return Some((Prefix::Finally, 2));
        }
        let word = self.word();
        if self.syntax == Syntax::Spin {
            let mut known = PREFIX_LETTERS.iter().chain(&SPIN_PREFIX_WORDS);
            let (_, prefix) = known.find(|(name, _)| *name == word)?;
            // To SPIN, `F` and `G` are names, so they are ones wherever they can be.
            let is_name = ["F", "G"].contains(&word) && !self.is_before_operand(word.len());
            return (!is_name).then_some((*prefix, word.len()));
        }
        // `GFp` is `G F p`, but `F1` is a proposition.
        let (_, prefix) = PREFIX_LETTERS
            .iter()
            .find(|(name, _)| word.starts_with(name))?;
        let digit = word[1..].starts_with(|c: char| c.is_ascii_digit());
        (!digit).then_some((*prefix, 1))
    }

    /// Whether an operand of the formula can begin after so many bytes.
    fn is_before_operand(&self, length: usize) -> bool {
        let mut next = *self;
        next.at += length;
        next.skip_space();
        let (rest, word) = (next.rest(), next.word());
        let infix = || {
            let mut known = LETTERS.iter().filter(|(name, _)| !is_name_to_spin(name));
            known.any(|(name, _)| *name == word) || SPIN_WORDS.iter().any(|(name, _)| *name == word)
        };
        match word {
            "" => {
                let signs = ["(", "[]", "<>", "~", "\"", "0", "1"];
                rest.starts_with('!') && !rest.starts_with("!=")
                    || signs.iter().any(|sign| rest.starts_with(sign))
            }
            _ => word != "xor" && !infix(),
        }
    }

    /// The infix operator here and its length.
    pub(crate) fn infix(&self) -> Option<(Infix, usize)> {
        let rest = self.rest();
        if let Some((sign, infix)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            return Some((*infix, sign.len()));
        }
        let word = self.word();
        if word == "xor" {
            return Some((Infix::Xor, word.len()));
        }
        if self.syntax == Syntax::Spin {
            let mut known = LETTERS.iter().chain(&SPIN_WORDS);
            return known
                .find(|(name, _)| *name == word)
                .map(|(_, i)| (*i, word.len()));
        }
        LETTERS
            .iter()
            .find(|(name, _)| word.starts_with(name))
            .map(|(_, i)| (*i, 1))
    }

    /// Length of the double-quoted string here with its quotes; `None` if it does not end.
    pub(crate) fn string_length(&self) -> Option<usize> {
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => return Some(offset + 1),
                _ => {}
            }
        }
        None
    }

    /// Length of the operand of a model expression here, whatever belongs to a word more
    /// closely than any operator: `x`, `a[i]`, `P.cs`, `P[0]@cs`, `len(q)`, `q?[m]`. 0 if
    /// there is no word.
    pub(crate) fn operand_length(&self) -> usize {
        let mut scan = *self;
        scan.at += scan.word_length();
        while scan.at > self.at {
            let rest = scan.rest();
            let poll = ["??[", "?["].iter().find(|sign| rest.starts_with(**sign));
            let opening = match poll {
                Some(sign) => sign.len() - 1,
                None => 0,
            };
            let inner = Scanner {
                at: scan.at + opening,
                ..scan
            };
            let length = if rest.starts_with("[]") {
                0
            } else if inner.rest().starts_with(['(', '[']) {
                opening + inner.bracketed_length()
            } else if rest.starts_with(['@', '.', ':']) {
                let name = Scanner {
                    at: scan.at + 1,
                    ..scan
                };
                match name.word_length() {
                    0 => 0,
                    length => 1 + length,
                }
            } else {
                0
            };
            if length == 0 {
                break;
            }
            scan.at += length;
        }
        scan.at - self.at
    }

    /// Length of the bracketed group here, or of all the rest if it is not closed.
    pub(crate) fn bracketed_length(&self) -> usize {
        let mut inner = *self;
        let mut depth = 0usize;
        while let Some(c) = inner.rest().chars().next() {
            inner.at += match c {
                '"' => inner.string_length().unwrap_or(inner.rest().len()),
                _ => c.len_utf8(),
            };
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        inner.at - self.at
    }

    /// The stretch of text from here up to the next logical or temporal infix operator
    /// or closing parenthesis outside all brackets, without space at its end. Signs that
    /// model expressions use themselves (`&`, `|`, `^`, `!`) do not end it, nor do letters that
    /// are names to SPIN where an operand is expected.
    pub(crate) fn expression_length(&self) -> usize {
        let mut scan = *self;
        let mut depth = 0usize;
        let mut after_operand = false;
        while let Some(c) = scan.rest().chars().next() {
            if depth == 0 {
                let logical = &SIGNS[..LOGICAL_SIGNS];
                let rest = scan.rest();
                let ends = c == ')' || logical.iter().any(|(sign, _)| rest.starts_with(sign));
                let word = scan.word();
                let mut words = LETTERS.iter().chain(&SPIN_WORDS);
                let is_name = !after_operand && is_name_to_spin(word);
                if ends || !is_name && words.any(|(name, _)| *name == word) {
                    break;
                }
            }
            if !c.is_whitespace() {
                after_operand = c.is_alphanumeric() || ['_', ')', ']', '"'].contains(&c);
            }
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            scan.at += match c {
                '"' => scan.string_length().unwrap_or(scan.rest().len()),
                _ => scan.word_length().max(c.len_utf8()),
            };
        }
        self.text[self.at..scan.at].trim_end().len()
    }
}
