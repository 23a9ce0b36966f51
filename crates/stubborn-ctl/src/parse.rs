//! Reading formulas.
//!
//! Path quantifiers and temporal operators are one word, `EX AX EF AF EG AG`, or stand around an
//! until: `E (p U q)`, `A [p W q]`, `A (p R q)`. Boolean operators are `!`, `&&`, `||`, `->` and
//! `<->`; what a proposition may look like is the caller's business, as in LTL, and a stretch of
//! model expression needs no quotes.

use stubborn_diagnostics::{Diagnostic, Span, has_errors};
use stubborn_ltl::parser::{Atoms, proposition_length};

use crate::formula::{Formula, Formulas};

/// Parentheses and operators may nest this deeply.
const MAX_NESTING: usize = 400;

/// Reads one formula. All of `text` must be used. Without a formula there is at least one error
/// among the messages.
pub fn parse(
    formulas: &mut Formulas,
    text: &str,
    atoms: &mut dyn Atoms,
) -> (Option<Formula>, Vec<Diagnostic>) {
    let mut parser = Parser {
        formulas,
        atoms,
        text,
        at: 0,
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

/// Boxed: errors are rare and large.
type Parsed = Result<Formula, Box<Diagnostic>>;

struct Parser<'p> {
    formulas: &'p mut Formulas,
    atoms: &'p mut dyn Atoms,
    text: &'p str,
    at: usize,
    messages: Vec<Diagnostic>,
    nesting: usize,
}

/// Makes a formula of one, and of two.
type Unary = fn(&mut Formulas, Formula) -> Formula;
type Binary = fn(&mut Formulas, Formula, Formula) -> Formula;

const PREFIXES: [(&str, Unary); 6] = [
    ("EX", Formulas::exists_next),
    ("AX", Formulas::all_next),
    ("EF", Formulas::exists_finally),
    ("AF", Formulas::all_finally),
    ("EG", Formulas::exists_globally),
    ("AG", Formulas::all_globally),
];

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn here(&self) -> Span {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        Span::new(self.at, self.at + length)
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip_space();
        let there = self.rest().starts_with(sign);
        if there {
            self.at += sign.len();
        }
        there
    }

    /// The word here; empty if there is none.
    fn word(&self) -> &str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    }

    fn error<T>(
        &self,
        code: &'static str,
        message: impl Into<String>,
    ) -> Result<T, Box<Diagnostic>> {
        Err(Box::new(Diagnostic::error(
            code,
            message.into(),
            self.here(),
        )))
    }

    fn whole(&mut self) -> Parsed {
        let formula = self.equivalence()?;
        self.skip_space();
        if self.rest().is_empty() {
            return Ok(formula);
        }
        if self.rest().starts_with(')') {
            return self.error("CTL002", "this parenthesis closes nothing");
        }
        if ["U", "W", "R"].contains(&self.word()) {
            return self.error(
                "CTL002",
                "an until belongs to a path quantifier: `E (p U q)` or `A (p U q)`",
            );
        }
        self.error("CTL002", "expected an operator or the end of the formula")
    }

    fn equivalence(&mut self) -> Parsed {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let what = format!("the formula nests more than {MAX_NESTING} levels deep");
            return self.error("CTL005", what);
        }
        let mut left = self.disjunction()?;
        loop {
            if self.take("<->") {
                let right = self.disjunction()?;
                left = self.formulas.equivalent(left, right);
            } else if self.take("->") {
                let right = self.equivalence()?;
                left = self.formulas.implies(left, right);
            } else {
                break;
            }
        }
        self.nesting -= 1;
        Ok(left)
    }

    fn disjunction(&mut self) -> Parsed {
        let mut left = self.conjunction()?;
        while self.take("||") || self.take("\\/") {
            let right = self.conjunction()?;
            left = self.formulas.or(left, right);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed {
        let mut left = self.prefixed()?;
        while self.take("&&") || self.take("/\\") {
            let right = self.prefixed()?;
            left = self.formulas.and(left, right);
        }
        Ok(left)
    }

    /// Prefix operators and what they apply to. A loop, since `!!!!…` may be long.
    fn prefixed(&mut self) -> Parsed {
        let mut prefixes: Vec<Unary> = Vec::new();
        loop {
            self.skip_space();
            let known = PREFIXES.iter().find(|(word, _)| *word == self.word());
            if let Some((word, make)) = known {
                prefixes.push(*make);
                self.at += word.len();
            } else if self.rest().starts_with('!') && !self.is_proposition_with_negation() {
                prefixes.push(Formulas::not);
                self.at += 1;
            } else {
                break;
            }
        }
        let mut formula = self.primary()?;
        for prefix in prefixes.into_iter().rev() {
            formula = prefix(self.formulas, formula);
        }
        Ok(formula)
    }

    /// Whether so many bytes are not the beginning of a longer word.
    fn is_alone(&self, length: usize) -> bool {
        !self.rest()[length..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }

    /// Whether a negation belongs to an expression of the model, as in `!x == 0`.
    fn is_proposition_with_negation(&self) -> bool {
        let inner = self.rest().trim_start_matches(['!', ' ']);
        let word_end = inner.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let word = &inner[..word_end.unwrap_or(inner.len())];
        let is_operator = PREFIXES.iter().any(|(known, _)| *known == word);
        self.atoms.takes_expressions()
            && !is_operator
            && !["E", "A"].contains(&word)
            && proposition_length(self.rest()) > 0
    }

    fn primary(&mut self) -> Parsed {
        self.skip_space();
        let start = self.at;
        if let Some(quantifier) = self.quantifier() {
            return self.until(quantifier);
        }
        let length = if self.atoms.takes_expressions() {
            proposition_length(self.rest())
        } else {
            match self.rest().as_bytes().first() {
                Some(b'"') => proposition_length(self.rest()),
                _ => self.word().len(),
            }
        };
        // The constants, where no expression begins with them (`0 < x`).
        let digit = self.rest().starts_with(['0', '1']) && self.is_alone(1);
        let length = if length == 0 && digit { 1 } else { length };
        if length == 0 && self.take("(") {
            let inner = self.equivalence()?;
            if !self.take(")") {
                return Err(Box::new(
                    Diagnostic::error(
                        "CTL003",
                        "expected an operator or a closing parenthesis",
                        self.here(),
                    )
                    .related(Span::new(start, start + 1), "opened here"),
                ));
            }
            return Ok(inner);
        }
        let text = self.rest()[..length].trim_end().to_owned();
        match text.as_str() {
            "" => {
                let found = match self.rest().chars().next() {
                    None => "the end of the text".to_owned(),
                    Some(c) => format!("`{}`", c.escape_debug()),
                };
                let what = format!("expected a formula, found {found}");
                return self.error("CTL001", what);
            }
            "true" | "1" | "false" | "0" => {
                self.at += length;
                return Ok(self.formulas.constant(text == "true" || text == "1"));
            }
            _ => {}
        }
        let span = Span::new(start, start + text.len());
        self.at += length;
        let inside = match text.strip_prefix('"').map(|rest| rest.strip_suffix('"')) {
            None => text.clone(),
            Some(Some(inside)) => inside.replace("\\\"", "\"").replace("\\\\", "\\"),
            Some(None) => {
                let message = "this string does not end";
                return Err(Box::new(Diagnostic::error("CTL004", message, span)));
            }
        };
        match self.atoms.atom(&inside, span) {
            Ok(name) => Ok(self.formulas.atom(&name)),
            Err(message) => {
                self.messages.push(message);
                Ok(self.formulas.constant(false))
            }
        }
    }

    /// `E` or `A` in front of brackets with an until inside; otherwise the word is a proposition
    /// like any other.
    fn quantifier(&self) -> Option<char> {
        let word = self.word();
        if word != "E" && word != "A" {
            return None;
        }
        let group = self.rest()[1..].trim_start();
        let mut depth = 0usize;
        let mut previous = ' ';
        let mut rest = group.char_indices().peekable();
        while let Some((_, c)) = rest.next() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return None;
                    }
                }
                'U' | 'W' | 'R' if depth == 1 => {
                    let is_part = |c: char| c.is_alphanumeric() || c == '_';
                    let alone =
                        !is_part(previous) && !rest.peek().is_some_and(|(_, c)| is_part(*c));
                    if alone {
                        return word.chars().next();
                    }
                }
                _ => {}
            }
            if depth == 0 {
                return None;
            }
            previous = c;
        }
        None
    }

    fn until(&mut self, quantifier: char) -> Parsed {
        self.at += 1;
        let close = if self.take("(") {
            ")"
        } else {
            self.take("[");
            "]"
        };
        let left = self.equivalence()?;
        self.skip_space();
        let operator = self.word().to_owned();
        let (exists, all): (Binary, Binary) = match operator.as_str() {
            "U" => (Formulas::exists_until, Formulas::all_until),
            "W" => (Formulas::exists_weak_until, Formulas::all_weak_until),
            "R" => (Formulas::exists_release, Formulas::all_release),
            _ => return self.error("CTL003", "expected `U`, `W` or `R`"),
        };
        self.at += 1;
        // The bracket that closes is none of the expression before it.
        let right = self.up_to(close)?;
        if !self.take(close) {
            return self.error("CTL003", format!("expected `{close}`"));
        }
        Ok(match quantifier {
            'E' => exists(self.formulas, left, right),
            _ => all(self.formulas, left, right),
        })
    }

    /// A formula that ends at the bracket that closes this group.
    fn up_to(&mut self, close: &str) -> Parsed {
        if close == ")" {
            return self.equivalence();
        }
        let mut depth = 0usize;
        let end = self.rest().char_indices().find(|(_, c)| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' if depth > 0 => depth -= 1,
                ']' => return true,
                _ => {}
            }
            false
        });
        let Some((length, _)) = end else {
            return self.error("CTL003", "expected `]`");
        };
        let whole = self.text;
        self.text = &whole[..self.at + length];
        let inner = self.equivalence();
        self.skip_space();
        let all = self.rest().is_empty();
        self.text = whole;
        match inner {
            Ok(_) if !all => self.error("CTL002", "expected an operator or `]`"),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text is a proposition, expressions included.
    struct Any;

    impl Atoms for Any {
        fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic> {
            if text == "wrong" {
                return Err(Diagnostic::error("X", "no such thing", span));
            }
            Ok(text.to_owned())
        }

        fn takes_expressions(&self) -> bool {
            true
        }
    }

    fn read(text: &str) -> String {
        let mut formulas = Formulas::new();
        match parse(&mut formulas, text, &mut Any) {
            (Some(formula), _) => formulas.display(formula).to_string(),
            (None, messages) => messages[0].code.to_owned(),
        }
    }

    #[test]
    fn formulas_are_read_and_written() {
        for (text, expected) in [
            ("AG EF ready", "AG EF ready"),
            ("AG (p -> AF q)", "AG (!p || AF q)"),
            ("!EF x == 0 && y > 1", "AG !(x == 0) && y > 1"),
            (
                "E (p U q || r) || A[x > 0 U a[1] == 2]",
                "E (p U (q || r)) || A (x > 0 U a[1] == 2)",
            ),
            ("A (p W q)", "!E (!q U (!p && !q))"),
            ("E (p R q)", "!A (!p U !q)"),
            ("!x == 0", "!x == 0"),
            ("!(x == 0)", "!(x == 0)"),
            ("A[0] == 1 -> EX E", "!(A[0] == 1) || EX E"),
            ("AX false", "AX false"),
            ("AG 1 + 1 == x", "AG 1 + 1 == x"),
            ("EG \"a \\\"b\\\"\"", "EG a \"b\""),
            ("p <-> !!q", "(!p || q) && (!q || p)"),
            ("a -> b -> c", "!a || (!b || c)"),
            ("(AG x >= 1) || (x + 1) == 2", "AG x >= 1 || (x + 1) == 2"),
            ("EF AF E (p U q)", "EF q"),
            ("E (p U q || EF r)", "EF r || E (p U q)"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn digits_are_constants() {
        for (text, words) in [
            ("1", "true"),
            ("AG 1", "AG true"),
            ("EF (0)", "EF (false)"),
            ("A (1 U 0 <-> p)", "A (true U false <-> p)"),
            ("E [!0 R p && 1]", "E [!false R p && true]"),
            ("!1 || EX 0 < x", "!true || EX 0 < x"),
        ] {
            assert_eq!(read(text), read(words), "{text}");
        }
    }

    #[test]
    fn wrong_formulas_have_messages() {
        for (text, code) in [
            ("", "CTL001"),
            ("AG", "CTL001"),
            ("EF (p", "CTL003"),
            ("p)", "CTL002"),
            ("p U q", "CTL002"),
            ("E (p U )", "CTL001"),
            ("A [p U q", "CTL003"),
            ("EF wrong", "X"),
            ("EF \"p", "CTL004"),
            ("E [p U q) ]", "CTL002"),
        ] {
            assert_eq!(read(text), code, "{text}");
        }
        assert_eq!(read(&"(".repeat(5_000)), "CTL005");
        assert_eq!(read(&format!("{}p", "!".repeat(5_001))), "!p");
    }
}
