//! Formulas as text, in SPIN's and in Spot's notation.
//!
//! Output is parenthesised wherever the two tools could disagree about precedence
//! or associativity, so that either parser reads back the same formula. SPIN knows
//! neither `M` nor `xor`: they are spelt out.

use std::fmt::{self, Display, Write};

use crate::formula::{Formula, Formulas, Node};

/// Whose notation to write or to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `[] (p -> <> q)`; binary operators group to the left, capital letters are operators
    /// only as words of their own.
    Spin,
    /// `G(p -> Fq)`; `U`, `W`, `R`, `M` and `->` group to the right, `GFp` is `G F p`.
    Spot,
}

/// A formula together with all it takes to print it; see [`Formulas::display`].
#[derive(Clone, Copy)]
pub struct DisplayFormula<'a> {
    formulas: &'a Formulas,
    formula: Formula,
    syntax: Syntax,
}

impl Formulas {
    /// The formula as text.
    pub fn display(&self, formula: Formula, syntax: Syntax) -> DisplayFormula<'_> {
        DisplayFormula {
            formulas: self,
            formula,
            syntax,
        }
    }
}

/// Whether a name can stand without quotes in both notations.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !crate::parser::is_reserved(name)
}

impl Display for DisplayFormula<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An explicit stack: formulas built by a program may be deeper than the call stack.
        enum Piece {
            Text(&'static str),
            Part(Formula, bool),
        }
        use Piece::{Part, Text};
        let spin = self.syntax == Syntax::Spin;
        let mut todo = vec![Part(self.formula, false)];
        while let Some(piece) = todo.pop() {
            let (part, inner) = match piece {
                Text(text) => {
                    out.write_str(text)?;
                    continue;
                }
                Part(part, inner) => (part, inner),
            };
            let node = self.formulas.node(part);
            let unary = |symbol, f| vec![Text(symbol), Part(f, true)];
            let binary = |symbol, f, g| {
                let mut pieces = vec![Part(f, true), Text(symbol), Part(g, true)];
                if inner {
                    pieces.insert(0, Text("("));
                    pieces.push(Text(")"));
                }
                pieces
            };
            let pieces = match node {
                Node::True => vec![Text(if spin { "true" } else { "1" })],
                Node::False => vec![Text(if spin { "false" } else { "0" })],
                Node::Atom(p) => {
                    write_name(out, self.formulas.name(p))?;
                    continue;
                }
                Node::Not(f) => unary("!", f),
                Node::Next(f) => unary("X ", f),
                Node::Finally(f) => unary(if spin { "<> " } else { "F " }, f),
                Node::Globally(f) => unary(if spin { "[] " } else { "G " }, f),
                Node::And(f, g) => binary(if spin { " && " } else { " & " }, f, g),
                Node::Or(f, g) => binary(if spin { " || " } else { " | " }, f, g),
                Node::Implies(f, g) => binary(" -> ", f, g),
                Node::Iff(f, g) => binary(" <-> ", f, g),
                Node::Xor(f, g) if spin => {
                    let mut pieces = vec![Text("!(")];
                    pieces.extend([Part(f, true), Text(" <-> "), Part(g, true), Text(")")]);
                    pieces
                }
                Node::Xor(f, g) => binary(" xor ", f, g),
                Node::Until(f, g) => binary(" U ", f, g),
                Node::WeakUntil(f, g) => binary(" W ", f, g),
                Node::Release(f, g) => binary(if spin { " V " } else { " R " }, f, g),
                Node::StrongRelease(f, g) if spin => {
                    let mut pieces = vec![Text("("), Part(g, true), Text(" U (")];
                    pieces.extend([Part(f, true), Text(" && "), Part(g, true), Text("))")]);
                    pieces
                }
                Node::StrongRelease(f, g) => binary(" M ", f, g),
            };
            todo.extend(pieces.into_iter().rev());
        }
        Ok(())
    }
}

/// A name as it stands in a formula: quoted unless it is an ordinary word.
fn write_name(out: &mut impl Write, name: &str) -> fmt::Result {
    if is_plain(name) {
        return out.write_str(name);
    }
    out.write_char('"')?;
    for c in name.chars() {
        if c == '"' || c == '\\' {
            out.write_char('\\')?;
        }
        out.write_char(c)?;
    }
    out.write_char('"')
}
