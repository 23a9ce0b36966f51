//! Reading LTL formulas in SPIN's and in Spot's notation.
//!
//! One grammar serves both; [`Syntax`] says where they differ: SPIN groups `U`, `V`,
//! `W` and `->` to the left and Spot to the right, Spot reads `GFp` as `G F p`, SPIN
//! has words such as `always` and takes model expressions as propositions. What a
//! proposition may look like is the caller's business, see [`Atoms`].

use stubborn_diagnostics::{Diagnostic, Span, has_errors};

use crate::formula::{Formula, Formulas, Node};
pub use crate::print::Syntax;
pub(crate) use crate::scan::is_reserved;
use crate::scan::{Infix, Prefix, Scanner};

/// Decides which texts are propositions.
pub trait Atoms {
    /// Reads the text of one proposition (a word, the inside of a quoted string, or a
    /// stretch of model expression); returns the name that the proposition gets, so
    /// that different spellings can become the same one.
    ///
    /// # Errors
    /// Says what is wrong with the text, with a place inside `span`.
    fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic>;

    /// Whether model expressions may stand in a formula without quotes (SPIN's
    /// notation only). Then `&`, `|` and `^` belong to the expressions.
    fn takes_expressions(&self) -> bool {
        false
    }
}

/// Every name is a proposition.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyName;

impl Atoms for AnyName {
    fn atom(&mut self, text: &str, _span: Span) -> Result<String, Diagnostic> {
        Ok(text.to_owned())
    }
}

/// Parentheses, and operators that group to the right, may nest this deeply.
const MAX_NESTING: usize = 400;

/// Reads one formula. All of `text` must be used. Without a formula there is at least
/// one error among the messages; with one there may be warnings.
pub fn parse(
    formulas: &mut Formulas,
    text: &str,
    syntax: Syntax,
    atoms: &mut dyn Atoms,
) -> (Option<Formula>, Vec<Diagnostic>) {
    let scan = Scanner {
        text,
        at: 0,
        syntax,
    };
    let mut parser = Parser {
        formulas,
        atoms,
        scan,
        messages: Vec::new(),
        nesting: 0,
    };
    let result = parser.whole();
    let mut messages = parser.messages;
    match result {
        Ok(formula) if !has_errors(&messages) => (Some(formula), messages),
        Ok(_) => (None, messages),
        Err(error) => {
            messages.push(*error);
            (None, messages)
        }
    }
}

/// Length of the proposition that a text begins with, for logics that have their own operators
/// around propositions in SPIN's notation: a string in quotes, a word with what belongs to it, or a
/// stretch of model expression up to a logical operator, negations in front included. 0 if there is
/// none; a formula in parentheses is none.
pub fn proposition_length(text: &str) -> usize {
    let scan = Scanner {
        text,
        at: 0,
        syntax: Syntax::Spin,
    };
    if is_compound(scan) {
        return scan.expression_length();
    }
    match text.as_bytes().first() {
        Some(b'"') => scan.string_length().unwrap_or(text.len()),
        Some(b'(') | None => 0,
        Some(_) => scan.operand_length(),
    }
}

/// Boxed: errors are rare and large.
type Parsed = Result<Formula, Box<Diagnostic>>;

struct Parser<'a> {
    formulas: &'a mut Formulas,
    atoms: &'a mut dyn Atoms,
    scan: Scanner<'a>,
    messages: Vec<Diagnostic>,
    nesting: usize,
}

impl Parser<'_> {
    fn here(&self) -> Span {
        let length = self.scan.rest().chars().next().map_or(0, char::len_utf8);
        Span::new(self.scan.at, self.scan.at + length)
    }

    fn whole(&mut self) -> Parsed {
        let formula = self.infix(1)?;
        if self.scan.at_end() {
            return Ok(formula);
        }
        let message = if self.scan.rest().starts_with(')') {
            "this parenthesis closes nothing".to_owned()
        } else {
            "expected an operator or the end of the formula".to_owned()
        };
        Err(Box::new(Diagnostic::error("LTL002", message, self.here())))
    }

    fn enter(&mut self) -> Result<(), Box<Diagnostic>> {
        self.nesting += 1;
        if self.nesting <= MAX_NESTING {
            return Ok(());
        }
        let message = format!("the formula nests more than {MAX_NESTING} levels deep");
        Err(Box::new(Diagnostic::error("LTL005", message, self.here())))
    }

    /// Operators of this level and above.
    fn infix(&mut self, level: u8) -> Parsed {
        self.enter()?;
        let start = self.scan.at;
        let mut left = self.prefixed()?;
        let mut previous: Option<Infix> = None;
        loop {
            self.scan.skip_space();
            let Some((operator, length)) = self.scan.infix() else {
                break;
            };
            if operator.level() < level {
                break;
            }
            let span = Span::new(self.scan.at, self.scan.at + length);
            self.scan.at += length;
            let to_the_right = self.scan.syntax == Syntax::Spot && !operator.is_associative();
            self.check_chain(previous, operator, span)?;
            let next_level = operator.level() + u8::from(!to_the_right);
            let right = self.infix(next_level)?;
            left = self.formulas.make(match operator {
                Infix::Implies => Node::Implies(left, right),
                Infix::Iff => Node::Iff(left, right),
                Infix::Or => Node::Or(left, right),
                Infix::Xor => Node::Xor(left, right),
                Infix::And => Node::And(left, right),
                Infix::Until => Node::Until(left, right),
                Infix::WeakUntil => Node::WeakUntil(left, right),
                Infix::Release => Node::Release(left, right),
                Infix::StrongRelease => Node::StrongRelease(left, right),
            });
            if self.scan.syntax == Syntax::Spin
                && !operator.is_associative()
                && previous.is_some_and(|p| p.level() == operator.level())
            {
                let message = "SPIN groups these operators to the left";
                let whole = Span::new(start, self.scan.at);
                self.messages.push(
                    Diagnostic::warning("LTL007", message, whole)
                        .help("write parentheses to say which grouping you mean"),
                );
            }
            previous = Some(operator);
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// Tools disagree on how tightly `xor` binds compared with `|`, and on chains that
    /// mix implications and equivalences: such formulas must say what they mean.
    fn check_chain(
        &self,
        previous: Option<Infix>,
        operator: Infix,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(previous) = previous else {
            return Ok(());
        };
        let mixed = previous.level() == operator.level() && previous != operator;
        if mixed && operator.level() < 3 {
            let message = "this mixture of operators can be read in two ways";
            let help = "write parentheses around one of them";
            return Err(Box::new(
                Diagnostic::error("LTL008", message, span).help(help),
            ));
        }
        Ok(())
    }

    /// Prefix operators and what they apply to. A loop, since `!!!!…` may be long.
    fn prefixed(&mut self) -> Parsed {
        let mut prefixes = Vec::new();
        // Looking for an expression reads ahead; behind a negation the answer is known.
        let mut may_be_compound = self.takes_expressions();
        loop {
            self.scan.skip_space();
            if may_be_compound && self.is_compound() {
                break;
            }
            let Some((prefix, length)) = self.scan.prefix() else {
                break;
            };
            may_be_compound = self.takes_expressions() && prefix != Prefix::Not;
            prefixes.push((prefix, self.scan.at));
            self.scan.at += length;
        }
        let operand = self.scan.at;
        let mut formula = self.primary()?;
        let compound = self.takes_expressions()
            && Scanner {
                at: operand,
                ..self.scan
            }
            .expression_length()
                > 0
            && self.is_compound_at(operand);
        if let (Some((_, start)), true) = (prefixes.last(), compound) {
            let message = "SPIN applies this operator to the first word of the expression only";
            let span = Span::new(*start, self.scan.at);
            let help = "write parentheses around the expression";
            return Err(Box::new(
                Diagnostic::error("LTL006", message, span).help(help),
            ));
        }
        for (prefix, _) in prefixes.into_iter().rev() {
            formula = match prefix {
                Prefix::Not => self.formulas.not(formula),
                Prefix::Next => self.formulas.make(Node::Next(formula)),
                Prefix::Finally => self.formulas.make(Node::Finally(formula)),
                Prefix::Globally => self.formulas.make(Node::Globally(formula)),
            };
        }
        Ok(formula)
    }

    fn takes_expressions(&self) -> bool {
        self.scan.syntax == Syntax::Spin && self.atoms.takes_expressions()
    }

    fn is_compound(&self) -> bool {
        self.is_compound_at(self.scan.at)
    }

    fn is_compound_at(&self, at: usize) -> bool {
        is_compound(Scanner { at, ..self.scan })
    }

    /// A constant, a proposition, or a formula in parentheses.
    fn primary(&mut self) -> Parsed {
        let start = self.scan.at;
        if self.takes_expressions() && self.is_compound() {
            let length = self.scan.expression_length();
            self.scan.at += length;
            return Ok(self.atom(Span::new(start, start + length), start..start + length));
        }
        let rest = self.scan.rest();
        if rest.starts_with('(') {
            self.scan.at += 1;
            let inner = self.infix(1)?;
            if !self.scan.rest().starts_with(')') {
                let message = "expected an operator or a closing parenthesis";
                return Err(Box::new(
                    Diagnostic::error("LTL003", message, self.here())
                        .related(Span::new(start, start + 1), "opened here"),
                ));
            }
            self.scan.at += 1;
            return Ok(inner);
        }
        if rest.starts_with('"') {
            let Some(length) = self.scan.string_length() else {
                let message = "this string does not end";
                let span = Span::new(start, self.scan.text.len());
                return Err(Box::new(Diagnostic::error("LTL004", message, span)));
            };
            self.scan.at += length;
            return Ok(self.atom(
                Span::new(start, start + length),
                start + 1..start + length - 1,
            ));
        }
        if let Some(digit) = rest.chars().next().filter(|c| *c == '0' || *c == '1') {
            let alone = !rest[1..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
            if alone {
                self.scan.at += 1;
                return Ok(self.formulas.constant(digit == '1'));
            }
        }
        let length = match self.takes_expressions() {
            true => self.scan.operand_length(),
            false => self.scan.word_length(),
        };
        let span = Span::new(start, start + length);
        match &rest[..length] {
            "" => Err(self.no_operand()),
            "true" | "false" => {
                self.scan.at += length;
                Ok(self.formulas.constant(rest.starts_with("true")))
            }
            // To SPIN, `R` and `M` are names; where a formula begins they cannot be operators.
            word if length == 1 && self.infix_letters().contains(word) || is_reserved(word) => {
                let message = format!("expected a formula, found the operator `{word}`");
                Err(Box::new(Diagnostic::error("LTL001", message, span)))
            }
            _ => {
                self.scan.at += length;
                Ok(self.atom(span, start..start + length))
            }
        }
    }

    /// Operators that no proposition is called by.
    fn infix_letters(&self) -> &'static str {
        match self.scan.syntax {
            Syntax::Spin => "UWV",
            Syntax::Spot => "UWRVM",
        }
    }

    fn no_operand(&self) -> Box<Diagnostic> {
        let message = match self.scan.rest().chars().next() {
            None => "expected a formula, found the end of the text".to_owned(),
            Some(c) => format!("expected a formula, found `{}`", c.escape_debug()),
        };
        Box::new(
            Diagnostic::error("LTL001", message, self.here())
                .help("a proposition is a word, or any text in double quotes"),
        )
    }

    /// A proposition; one the caller refuses becomes a message and a stand-in, so that
    /// all refused ones are reported at once.
    fn atom(&mut self, span: Span, inside: std::ops::Range<usize>) -> Formula {
        let raw = &self.scan.text[inside];
        let text = if self.scan.text[span.start as usize..].starts_with('"') {
            unescape(raw)
        } else {
            raw.to_owned()
        };
        match self.atoms.atom(&text, span) {
            Ok(name) => self.formulas.atom(&name),
            Err(message) => {
                self.messages.push(message);
                self.formulas.constant(false)
            }
        }
    }
}

/// Whether the text here is a model expression of more than one piece: neither a
/// word (with an index and the like), a constant, a string nor a parenthesised group.
/// Negations in front count as part of it (`!x == 0` is for the model's language to read), temporal
/// operators do not.
fn is_compound(mut scan: Scanner<'_>) -> bool {
    while let Some((prefix, length)) = scan.prefix() {
        if prefix != Prefix::Not {
            return false;
        }
        scan.at += length;
        scan.skip_space();
    }
    let end = scan.at + scan.expression_length();
    if scan.at >= end {
        return false;
    }
    let piece = match scan.rest().as_bytes()[0] {
        b'(' => scan.bracketed_length(),
        b'"' => scan.string_length().unwrap_or(scan.rest().len()),
        b'0' | b'1' => 1,
        _ => scan.operand_length(),
    };
    scan.at + piece != end
}

fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut escaped = false;
    for c in raw.chars() {
        if c == '\\' && !escaped {
            escaped = true;
            continue;
        }
        escaped = false;
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, syntax: Syntax) -> String {
        read_with(text, syntax, &mut AnyName)
    }

    fn read_with(text: &str, syntax: Syntax, atoms: &mut dyn Atoms) -> String {
        let mut formulas = Formulas::new();
        let (formula, messages) = parse(&mut formulas, text, syntax, atoms);
        match formula {
            Some(formula) => formulas.display(formula, Syntax::Spot).to_string(),
            None => messages
                .iter()
                .map(|m| m.code)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }

    #[test]
    fn spot_notation() {
        for (text, expected) in [
            ("GFp0 -> FXXq", "G F p0 -> F X X q"),
            ("a U b U c", "a U (b U c)"),
            ("a -> b -> c", "a -> (b -> c)"),
            ("!a U b & c | d", "((!a U b) & c) | d"),
            ("a W b M c R d", "a W (b M (c R d))"),
            ("p xor q", "p xor q"),
            ("p ^ (q | r)", "p xor (q | r)"),
            ("1 U \"x > \\\"3\\\"\"", "1 U \"x > \\\"3\\\"\""),
            ("a /\\ b \\/ ~c", "(a & b) | !c"),
            ("F1 & p Uq", "\"F1\" & (p U q)"),
            ("a <=> b", "a <-> b"),
            ("[]<>p => q", "G F p -> q"),
            ("X(0)", "X 0"),
        ] {
            assert_eq!(read(text, Syntax::Spot), expected, "{text}");
        }
    }

    #[test]
    fn spin_notation() {
        for (text, expected) in [
            ("[] (p -> <> q)", "G (p -> F q)"),
            ("a U b U c", "(a U b) U c"),
            ("a V b", "a R b"),
            ("always (p implies eventually q)", "G (p -> F q)"),
            ("Xp U Gq", "\"Xp\" U \"Gq\""),
            ("! p && true", "!p & 1"),
        ] {
            assert_eq!(read(text, Syntax::Spin), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_codes() {
        for (text, code) in [
            ("", "LTL001"),
            ("p &", "LTL001"),
            ("(p", "LTL003"),
            ("p)", "LTL002"),
            ("p q", "LTL002"),
            ("\"p", "LTL004"),
            ("p | q xor r", "LTL008"),
            ("p U", "LTL001"),
            ("U", "LTL001"),
            ("é & $", "LTL001"),
        ] {
            assert_eq!(read(text, Syntax::Spot), code, "{text}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_not_fatal() {
        for text in [
            "(".repeat(100_000),
            "a U ".repeat(100_000),
            "a -> ".repeat(100_000),
        ] {
            assert_eq!(read(&text, Syntax::Spot), "LTL005");
        }
        let many_negations = format!("{}p", "!".repeat(100_001));
        assert_eq!(read(&many_negations, Syntax::Spot), "!p");
    }

    struct Expressions;

    impl Atoms for Expressions {
        fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic> {
            if text.contains("<>") {
                return Err(Diagnostic::error(
                    "TEST",
                    "no temporal operators in here",
                    span,
                ));
            }
            Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        fn takes_expressions(&self) -> bool {
            true
        }
    }

    fn read_model(text: &str) -> String {
        read_with(text, Syntax::Spin, &mut Expressions)
    }

    #[test]
    fn model_expressions_are_propositions() {
        for (text, expected) in [
            ("[] (x > 3)", "G \"x > 3\""),
            (
                "[] (x>3 && len(q) == (y+1) * 2 U p)",
                "G (\"x>3\" & (\"len(q) == (y+1) * 2\" U p))",
            ),
            (
                "(x + 1) > 3 -> <> (a[i] == !b)",
                "\"(x + 1) > 3\" -> F \"a[i] == !b\"",
            ),
            ("!x == 0 || ! (y == 1)", "\"!x == 0\" | !\"y == 1\""),
            ("[] (P[0]@crit -> <> ! p)", "G (\"P[0]@crit\" -> F !p)"),
            ("[] (x & 1)", "G \"x & 1\""),
            ("q?[msg, 3] U (((p)))", "\"q?[msg, 3]\" U p"),
            (
                "<> P[0]@crit && ! q??[m] U X a.b[i]",
                "F \"P[0]@crit\" & (!\"q??[m]\" U X \"a.b[i]\")",
            ),
            ("[] P.cs -> <> len(q)", "G \"P.cs\" -> F \"len(q)\""),
            ("<> a[i] == 0", "LTL006"),
            ("<> x == 0", "LTL006"),
            ("! <> x == 0", "LTL006"),
            ("x == (<> p)", "TEST"),
            ("[] (1 -> 0 < x)", "G (1 -> \"0 < x\")"),
        ] {
            assert_eq!(read_model(text), expected, "{text}");
        }
    }

    #[test]
    fn printed_formulas_read_back() {
        let text = "G(p0 -> (!p1 W (p2 M \"a b\"))) xor (X!p1 R F(p0 <-> 0))";
        let mut formulas = Formulas::new();
        let (formula, _) = parse(&mut formulas, text, Syntax::Spot, &mut AnyName);
        let formula = formula.expect("the text is right");
        let printed = formulas.display(formula, Syntax::Spot).to_string();
        let (again, _) = parse(&mut formulas, &printed, Syntax::Spot, &mut AnyName);
        assert_eq!(again, Some(formula));
    }

    /// As in SPIN's own collection of patterns, where `R` is a variable.
    #[test]
    fn letters_that_spin_does_not_know_are_names() {
        let text = "<>R -> (!P U R)";
        let other = text.replace('R', "r");
        let renamed = read(text, Syntax::Spin)
            .replace("\"R\"", "r")
            .replace('R', "r");
        assert_eq!(renamed, read(&other, Syntax::Spin));
        assert_eq!(read("a R b", Syntax::Spin), read("a V b", Syntax::Spin));
        assert_eq!(read("R R M", Syntax::Spin), read("R V M", Syntax::Spin));
        assert!(read("<> R", Syntax::Spot).contains("LTL001"));
        assert!(read("<> U", Syntax::Spin).contains("LTL001"));
        for (text, expected) in [
            ("[] (G == 0)", "G \"G == 0\""),
            ("[] !G && <> (F[1] != G@F)", "G !\"G\" & F \"F[1] != G@F\""),
            ("F && M -> F U G", "(\"F\" & \"M\") -> (\"F\" U \"G\")"),
            ("(G) V (x == M)", "\"G\" R \"x == M\""),
            ("[] !(P[0]@M && P[1]@M)", "G !(\"P[0]@M\" & \"P[1]@M\")"),
            ("[] (M == 1 + R R x > M)", "G (\"M == 1 + R\" R \"x > M\")"),
            // Operators all the same.
            ("G F x", "G F x"),
            ("G(x -> F !y)", "G (x -> F !y)"),
            ("F[]x R \"y\"", "F G x R y"),
            ("F (x == 1) M G y", "F \"x == 1\" M G y"),
        ] {
            assert_eq!(read_model(text), expected, "{text}");
        }
    }
}
