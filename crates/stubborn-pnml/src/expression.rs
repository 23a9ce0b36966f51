//! State formulas as people write them on the command line.
//!
//! ```text
//! formula    := conjunct ("||" conjunct)*
//! conjunct   := literal ("&&" literal)*
//! literal    := "!" literal | "(" formula ")" | "true" | "false" | "deadlock"
//!             | "fireable" "(" name ("," name)* ")" | sum comparison sum
//! comparison := "<=" | "<" | "==" | "=" | "!=" | ">=" | ">"
//! sum        := term ("+" term)*
//! term       := number | name
//! ```
//!
//! A name is the id of a place or transition in the file, or the name that the file gives it; one that
//! may mean two nodes is an error, and `"id:p1"` means the node with the id `p1`. It starts with a letter or `_` and goes
//! on with letters, digits, `_`, `.` and `-`; any other name is written in double quotes. The name
//! of a coloured place means all its colours together, `"place(colour)"` one of them.

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};

use crate::model::{Model, Which};
use stubborn_net::{Atom, CompareOp, Formula, IntExpr};
use stubborn_net::{PlaceId, TransitionId};

/// Parentheses and negations may be nested this deep.
const MAX_DEPTH: usize = 400;

/// Reads a state formula over the names of a model.
pub fn parse_state_formula(source: &SourceFile, model: &Model) -> Result<Formula, Diagnostic> {
    let mut parser = Parser {
        text: source.text(),
        at: 0,
        depth: 0,
        model,
    };
    let formula = parser.formula().map_err(|error| *error)?;
    parser.skip_space();
    if parser.at < parser.text.len() {
        return Err(*parser.expected("`&&`, `||` or the end"));
    }
    Ok(formula)
}

struct Parser<'p> {
    text: &'p str,
    at: usize,
    depth: usize,
    model: &'p Model,
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl<'p> Parser<'p> {
    fn rest(&self) -> &'p str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let end = self.at + self.rest().chars().next().map_or(0, char::len_utf8);
        Box::new(
            Diagnostic::error(
                "PNM080",
                format!("expected {what}"),
                Span::new(self.at, end),
            )
            .help("for example: `p + q <= 3 && !fireable(t)`; quote unusual names"),
        )
    }

    fn formula(&mut self) -> Parsed<Formula> {
        let mut parts = vec![self.conjunct()?];
        while self.take("||") {
            parts.push(self.conjunct()?);
        }
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Formula::Or(parts)
        })
    }

    fn conjunct(&mut self) -> Parsed<Formula> {
        let mut parts = vec![self.literal()?];
        while self.take("&&") {
            parts.push(self.literal()?);
        }
        Ok(if parts.len() == 1 {
            parts.swap_remove(0)
        } else {
            Formula::And(parts)
        })
    }

    fn literal(&mut self) -> Parsed<Formula> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let here = Span::new(self.at, self.at + 1);
            let what = format!("expressions are nested more than {MAX_DEPTH} deep");
            return Err(Box::new(Diagnostic::error("PNM081", what, here)));
        }
        self.skip_space();
        let formula = if !self.rest().starts_with("!=") && self.take("!") {
            self.literal()?.negated()
        } else if self.take("(") {
            let inner = self.formula()?;
            if !self.take(")") {
                return Err(self.expected("`)`"));
            }
            inner
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(formula)
    }

    fn atom(&mut self) -> Parsed<Formula> {
        let start = self.at;
        if !self.rest().starts_with('"')
            && let Some((word, _)) = self.name()?
        {
            match word {
                "true" => return Ok(Formula::Atom(Atom::Constant(true))),
                "false" => return Ok(Formula::Atom(Atom::Constant(false))),
                "deadlock" => return Ok(Formula::Atom(Atom::Deadlock)),
                "fireable" if self.take("(") => return self.fireable(),
                _ => self.at = start,
            }
        }
        let left = self.sum()?;
        let Some(op) = self.comparison() else {
            return Err(self.expected("a comparison"));
        };
        let right = self.sum()?;
        Ok(Formula::Atom(Atom::Compare(op, left, right)))
    }

    fn comparison(&mut self) -> Option<CompareOp> {
        let operators = [
            ("<=", CompareOp::LessOrEqual),
            ("<", CompareOp::Less),
            ("==", CompareOp::Equal),
            ("=", CompareOp::Equal),
            ("!=", CompareOp::NotEqual),
            (">=", CompareOp::GreaterOrEqual),
            (">", CompareOp::Greater),
        ];
        operators
            .into_iter()
            .find(|(symbol, _)| self.take(symbol))
            .map(|(_, op)| op)
    }

    fn fireable(&mut self) -> Parsed<Formula> {
        let mut transitions = Vec::new();
        loop {
            let Some((name, span)) = self.name()? else {
                return Err(self.expected("a transition"));
            };
            transitions.extend(self.transitions(name, span)?);
            if self.take(")") {
                return Ok(Formula::Atom(Atom::Fireable(transitions)));
            }
            if !self.take(",") {
                return Err(self.expected("`,` or `)`"));
            }
        }
    }

    fn sum(&mut self) -> Parsed<IntExpr> {
        let mut sum = IntExpr::default();
        loop {
            self.skip_space();
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                let span = Span::new(self.at, self.at + digits);
                let number = self.rest()[..digits].parse().ok();
                let total = number.and_then(|n: u64| sum.constant.checked_add(n));
                self.at += digits;
                sum.constant = total.ok_or_else(|| {
                    Box::new(Diagnostic::error(
                        "PNM063",
                        "this number is too large",
                        span,
                    ))
                })?;
            } else if let Some((name, span)) = self.name()? {
                sum.places.extend(self.places(name, span)?);
            } else {
                return Err(self.expected("a number or a place"));
            }
            if !self.take("+") {
                return Ok(sum);
            }
        }
    }

    /// A name with its place, or none if something else stands here.
    fn name(&mut self) -> Parsed<Option<(&'p str, Span)>> {
        self.skip_space();
        let rest = self.rest();
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some(end) = quoted.find('"') else {
                return Err(self.expected("a closing quote after the name"));
            };
            let span = Span::new(self.at, self.at + end + 2);
            self.at += end + 2;
            return Ok(Some((&quoted[..end], span)));
        }
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return Ok(None);
        }
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let span = Span::new(self.at, self.at + end);
        self.at += end;
        Ok(Some((&rest[..end], span)))
    }

    fn places(&self, name: &str, span: Span) -> Parsed<Vec<PlaceId>> {
        let net = &self.model.net;
        match self.model.places.called(name) {
            Ok(places) => Ok(places.map(PlaceId).collect()),
            // One colour of a place.
            Err(Which::None) => match net.places().find(|p| net.place_name(*p) == name) {
                Some(place) => Ok(vec![place]),
                None => Err(unknown("place", name, span)),
            },
            Err(which) => Err(Box::new(which.message("place", name, span))),
        }
    }

    fn transitions(&self, name: &str, span: Span) -> Parsed<Vec<TransitionId>> {
        let net = &self.model.net;
        match self.model.transitions.called(name) {
            Ok(transitions) => Ok(transitions.map(TransitionId).collect()),
            Err(Which::None) => match net.transitions().find(|t| net.transition_name(*t) == name) {
                Some(transition) => Ok(vec![transition]),
                None => Err(unknown("transition", name, span)),
            },
            Err(which) => Err(Box::new(which.message("transition", name, span))),
        }
    }
}

fn unknown(kind: &str, name: &str, span: Span) -> Box<Diagnostic> {
    let message = Which::None.message(kind, name, span);
    Box::new(message.help(format!(
        "a {kind} is named by its `id` or its `name` in the file; quote unusual names"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stubborn_net::NetBuilder;

    fn model() -> Model {
        let mut builder = NetBuilder::new("n");
        let p = builder.place("p", 2);
        builder.place("q-1.x", 1);
        builder.place("7 up", 0);
        let t = builder.transition("t");
        builder.input(p, t, 3);
        Model::from_net(builder.build().unwrap())
    }

    fn holds(text: &str) -> Result<bool, &'static str> {
        let model = model();
        let formula = parse_state_formula(&SourceFile::new("e", text), &model);
        let initial = |place: PlaceId| model.net.initial(place);
        formula
            .map(|f| f.holds(&model.net, &initial).unwrap())
            .map_err(|d| d.code)
    }

    #[test]
    fn formulas_mean_what_they_say() {
        for (text, expected) in [
            ("p = 2", true),
            ("p+q-1.x+1 == 4 && !(p < 2)", true),
            ("\"7 up\" >= 1 || deadlock", true),
            ("fireable(t)", false),
            ("!fireable(t) && p != 3 && true", true),
            ("1 <= 0 || false", false),
            ("p > 1 && p > 2 || p <= 2", true),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn wrong_formulas_have_their_codes() {
        for (text, code) in [
            ("", "PNM080"),
            ("p", "PNM080"),
            ("p < 1 p", "PNM080"),
            ("(p < 1", "PNM080"),
            ("\"p < 1", "PNM080"),
            ("fireable(t", "PNM080"),
            ("r < 1", "PNM064"),
            ("fireable(p)", "PNM064"),
            ("p < 99999999999999999999", "PNM063"),
        ] {
            assert_eq!(holds(text), Err(code), "{text}");
        }
        assert_eq!(holds(&"(".repeat(100_000)), Err("PNM081"));
        assert_eq!(holds(&"!".repeat(100_000)), Err("PNM081"));
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let model = model();
        let text = "((p + q-1.x + 3 <= 4 && !(fireable(t))) || deadlock)";
        let source = SourceFile::new("e", text);
        let formula = parse_state_formula(&source, &model).unwrap();
        assert_eq!(formula.display(&model.net).to_string(), text);
    }
}
