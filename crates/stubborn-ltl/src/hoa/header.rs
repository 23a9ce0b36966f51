//! The part before `--BODY--`.

use rapidhash::RapidHashMap;
use stubborn_diagnostics::Span;

use super::Read;
use super::body::Labels;
use super::lexer::{Lexer, Token, error};
use crate::automaton::Marks;
use crate::guard::{Guard, Guards};

/// More states than anybody reads from a text.
const MAX_STATES: u32 = 1_000_000;

/// What the header says.
pub(super) struct Header {
    pub(super) states: Option<u32>,
    pub(super) starts: Vec<(u32, Span)>,
    pub(super) propositions: Vec<String>,
    pub(super) guards: Guards,
    pub(super) aliases: RapidHashMap<String, Guard>,
    /// The acceptance sets declared, and the number each gets here if it matters.
    pub(super) sets: Vec<Option<u32>>,
    /// The `properties:`, to be checked.
    pub(super) claims: Vec<(String, Span)>,
    /// What `acc-name:` says, word by word.
    name: Vec<(Token, Span)>,
}

/// Reads a header up to and including `--BODY--`; `None` at the end of the text.
pub(super) fn read(lexer: &mut Lexer<'_>) -> Read<Option<Header>> {
    let (first, start) = lexer.take()?;
    match first {
        Token::EndOfText => return Ok(None),
        Token::Header(name) if name == "HOA" => {}
        _ => {
            let mut problem = error("HOA001", "expected an automaton in HOA format", start);
            problem.help = Some("it begins with `HOA: v1`".to_owned());
            return Err(problem);
        }
    }
    match lexer.take()? {
        (Token::Word(version), _) if version == "v1" => {}
        (_, span) => {
            return Err(error(
                "HOA001",
                "only version `v1` of the format is known",
                span,
            ));
        }
    }
    let mut reader = Reader {
        header: Header {
            states: None,
            starts: Vec::new(),
            propositions: Vec::new(),
            guards: Guards::new(),
            aliases: RapidHashMap::default(),
            sets: Vec::new(),
            claims: Vec::new(),
            name: Vec::new(),
        },
        seen: RapidHashMap::default(),
    };
    // Aliases may use propositions that are declared later.
    let mut aliases: Vec<Alias> = Vec::new();
    loop {
        match lexer.take()? {
            (Token::Body, span) => {
                reader.resolve_aliases(aliases)?;
                return reader.finish(span).map(Some);
            }
            (Token::Header(name), span) => {
                if name == "Alias" {
                    aliases.push(read_alias(lexer)?);
                } else {
                    reader.item(lexer, &name, span)?;
                }
            }
            (_, span) => return Err(error("HOA001", "expected a header or `--BODY--`", span)),
        }
    }
}

fn read_alias(lexer: &mut Lexer<'_>) -> Read<Alias> {
    let (name, span) = match lexer.take()? {
        (Token::Alias(name), span) => (name, span),
        (_, span) => return Err(error("HOA001", "expected the name of an alias", span)),
    };
    let mut tokens = Vec::new();
    loop {
        match lexer.peek()?.0 {
            Token::Header(_) | Token::Body | Token::End | Token::EndOfText => break,
            _ => tokens.push(lexer.take()?),
        }
    }
    Ok(Alias { name, span, tokens })
}

/// An alias whose expression is not looked at yet.
struct Alias {
    name: String,
    span: Span,
    tokens: Vec<(Token, Span)>,
}

struct Reader {
    header: Header,
    seen: RapidHashMap<String, Span>,
}

impl Reader {
    fn item(&mut self, lexer: &mut Lexer<'_>, name: &str, span: Span) -> Read<()> {
        let once = ["States", "AP", "Acceptance", "acc-name", "tool", "name"].contains(&name);
        if let (true, Some(first)) = (once, self.seen.insert(name.to_owned(), span)) {
            let message = format!("`{name}:` is given twice");
            let mut problem = error("HOA007", message, span);
            problem.related.push((first, "first given here".to_owned()));
            return Err(problem);
        }
        match name {
            "States" => {
                let (states, span) = lexer.expect_number("the number of states")?;
                if states > MAX_STATES {
                    let message = format!("more than {MAX_STATES} states are not supported");
                    return Err(error("HOA011", message, span));
                }
                self.header.states = Some(states);
            }
            "Start" => {
                let start = lexer.expect_number("a state")?;
                if lexer.peek()?.0 == Token::Sign('&') {
                    return Err(universal(lexer.peek()?.1));
                }
                self.header.starts.push(start);
            }
            "AP" => self.propositions(lexer)?,
            "Acceptance" => self.acceptance(lexer)?,
            "properties" => {
                while let (Token::Word(claim), span) = lexer.peek()? {
                    lexer.take()?;
                    self.header.claims.push((claim, span));
                }
            }
            "acc-name" => {
                while !matches!(
                    lexer.peek()?.0,
                    Token::Header(_) | Token::Body | Token::End | Token::EndOfText
                ) {
                    self.header.name.push(lexer.take()?);
                }
            }
            _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                let message = format!("unknown header `{name}:`, which may change the meaning");
                return Err(error("HOA009", message, span));
            }
            // Headers in lower case are remarks.
            _ => loop {
                match lexer.peek()?.0 {
                    Token::Header(_) | Token::Body | Token::End | Token::EndOfText => break,
                    _ => lexer.take()?,
                };
            },
        }
        Ok(())
    }

    fn propositions(&mut self, lexer: &mut Lexer<'_>) -> Read<()> {
        let (count, count_span) = lexer.expect_number("the number of propositions")?;
        let mut places: RapidHashMap<String, Span> = RapidHashMap::default();
        while let (Token::Text(name), span) = lexer.peek()? {
            lexer.take()?;
            if let Some(first) = places.insert(name.clone(), span) {
                let message = format!("proposition \"{name}\" is declared twice");
                let mut problem = error("HOA007", message, span);
                problem
                    .related
                    .push((first, "first declared here".to_owned()));
                return Err(problem);
            }
            self.header.propositions.push(name);
        }
        let found = self.header.propositions.len();
        if found != count as usize {
            let message = format!("{count} propositions are announced, {found} are named");
            return Err(error("HOA005", message, count_span));
        }
        if count >= Guards::VARIABLE_LIMIT {
            return Err(error("HOA011", "too many propositions", count_span));
        }
        Ok(())
    }

    /// `Acceptance: n condition`, where only conjunctions of `Inf(i)` and `t` are
    /// generalised Büchi conditions.
    fn acceptance(&mut self, lexer: &mut Lexer<'_>) -> Read<()> {
        let (count, count_span) = lexer.expect_number("the number of acceptance sets")?;
        if count > 1_000 {
            return Err(error("HOA011", "too many acceptance sets", count_span));
        }
        let mut used = vec![false; count as usize];
        // Where the parentheses stand that are open. Around conjunctions and their parts they change nothing.
        let mut open = Vec::new();
        loop {
            let mut place = lexer.peek()?.1;
            while lexer.take_sign('(')? {
                open.push(place);
                place = lexer.peek()?.1;
            }
            let (token, span) = lexer.take()?;
            match token {
                Token::Word(word) if word == "Inf" => {
                    lexer.expect_sign('(')?;
                    if lexer.peek()?.0 == Token::Sign('!') {
                        return Err(unsupported(lexer.peek()?.1));
                    }
                    let (set, span) = lexer.expect_number("an acceptance set")?;
                    if set >= count {
                        let message = format!("acceptance set {set} is not declared");
                        return Err(error("HOA005", message, span));
                    }
                    lexer.expect_sign(')')?;
                    used[set as usize] = true;
                }
                Token::Word(word) if word == "t" => {}
                _ => return Err(unsupported(span)),
            }
            let mut place = lexer.peek()?.1;
            while lexer.take_sign(')')? {
                if open.pop().is_none() {
                    let message = "this parenthesis closes nothing";
                    return Err(error("HOA001", message, place));
                }
                place = lexer.peek()?.1;
            }
            if !lexer.take_sign('&')? {
                break;
            }
        }
        let (token, span) = lexer.peek()?;
        if !matches!(token, Token::Header(_) | Token::Body) {
            return Err(unsupported(span));
        }
        if let Some(place) = open.pop() {
            return Err(error("HOA001", "this parenthesis is not closed", place));
        }
        let mut next = 0;
        for set in used {
            self.header.sets.push(set.then_some(next));
            next += u32::from(set);
        }
        if next > Marks::MAX_SETS {
            let message = format!(
                "more than {} acceptance sets are not supported",
                Marks::MAX_SETS
            );
            return Err(error("HOA004", message, count_span));
        }
        Ok(())
    }

    fn resolve_aliases(&mut self, aliases: Vec<Alias>) -> Read<()> {
        for Alias { name, span, tokens } in aliases {
            let mut labels = Labels {
                guards: &mut self.header.guards,
                aliases: &self.header.aliases,
                propositions: self.header.propositions.len() as u32,
            };
            let guard = labels.of_tokens(&tokens, span)?;
            if self.header.aliases.insert(name.clone(), guard).is_some() {
                let message = format!("alias `@{name}` is defined twice");
                return Err(error("HOA007", message, span));
            }
        }
        Ok(())
    }

    fn finish(self, body: Span) -> Read<Header> {
        if !self.seen.contains_key("Acceptance") {
            return Err(error("HOA006", "the header `Acceptance:` is missing", body));
        }
        if self.header.starts.is_empty() {
            return Err(error("HOA006", "the header `Start:` is missing", body));
        }
        self.compare_name()?;
        Ok(self.header)
    }

    /// `acc-name:` names the condition that `Acceptance:` spells out. One of the two is a mistake if they
    /// differ, and which one nobody can tell. Names that the format does not know are remarks.
    fn compare_name(&self) -> Read<()> {
        let Some((Token::Word(name), span)) = self.header.name.first() else {
            return Ok(());
        };
        let numbers = self
            .header
            .name
            .iter()
            .filter_map(|(token, _)| match token {
                Token::Number(number) => Some(*number as usize),
                _ => None,
            });
        let numbers: Vec<usize> = numbers.collect();
        let sets = self.header.sets.iter().flatten().count();
        let agrees = match (name.as_str(), numbers.as_slice()) {
            ("all", _) => sets == 0,
            ("Buchi", _) => sets == 1,
            ("generalized-Buchi", [announced]) => sets == *announced,
            // What else these names stand for was refused.
            ("Streett", [pairs]) => sets == 0 && *pairs == 0,
            ("generalized-Buchi" | "Streett" | "none" | "co-Buchi" | "generalized-co-Buchi", _) => {
                false
            }
            ("Rabin" | "generalized-Rabin", _) => false,
            // Of these, only `Inf(0)` is a conjunction of `Inf`.
            ("parity", [colours]) if *colours > 0 => {
                let is_even = |(token, _): &(Token, Span)| matches!(token, Token::Word(word) if word == "even");
                sets == 1 && *colours == 1 && self.header.name.iter().any(is_even)
            }
            _ => true,
        };
        if agrees {
            return Ok(());
        }
        let message = format!(
            "`acc-name: {name}` contradicts `Acceptance:`, which is a conjunction of {sets} `Inf`"
        );
        let mut problem = error("HOA012", message, *span);
        let acceptance = self.seen.get("Acceptance");
        problem
            .related
            .extend(acceptance.map(|at| (*at, "given here".to_owned())));
        problem.help = Some("mend the one that is wrong; `acc-name:` may be left out".to_owned());
        Err(problem)
    }
}

pub(super) fn universal(span: Span) -> Box<stubborn_diagnostics::Diagnostic> {
    error("HOA003", "alternating automata are not supported", span)
}

fn unsupported(span: Span) -> Box<stubborn_diagnostics::Diagnostic> {
    let mut problem = error(
        "HOA002",
        "only Büchi and generalised Büchi acceptance is supported",
        span,
    );
    problem.help =
        Some("a tool such as Spot's autfilt can convert the automaton (option --gba)".to_owned());
    problem
}
