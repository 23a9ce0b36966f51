//! States and edges.

use rapidhash::RapidHashMap;
use stubborn_diagnostics::Span;

use super::Read;
use super::header::{Header, universal};
use super::lexer::{Lexer, Token, error};
use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::guard::{Guard, Guards};

/// Negations and parentheses in a label may nest this deeply.
const MAX_NESTING: usize = 300;

/// Reads the states up to and including `--END--`.
pub(super) fn read(lexer: &mut Lexer<'_>, header: &Header) -> Read<Automaton> {
    let mut draft = Draft::new(
        header.propositions.clone(),
        header.sets.iter().flatten().count() as u32,
    );
    draft.guards = header.guards.clone();
    if let Some(states) = header.states {
        draft.edges.resize(states.max(1) as usize, Vec::new());
    }
    let mut reader = Body {
        lexer,
        header,
        draft,
        defined: RapidHashMap::default(),
    };
    loop {
        match reader.lexer.take()? {
            (Token::End, _) => break,
            (Token::Header(name), span) if name == "State" => reader.state(span)?,
            (_, span) => return Err(error("HOA001", "expected `State:` or `--END--`", span)),
        }
    }
    reader.finish()
}

struct Body<'a, 'b> {
    lexer: &'a mut Lexer<'b>,
    header: &'a Header,
    draft: Draft,
    defined: RapidHashMap<u32, Span>,
}

impl Body<'_, '_> {
    fn state_id(&mut self, number: u32, span: Span) -> Read<StateId> {
        if self.header.states.is_some_and(|states| number >= states) {
            let message = format!("state {number} is not below the announced number of states");
            return Err(error("HOA005", message, span));
        }
        if number >= 1_000_000 {
            return Err(error(
                "HOA011",
                "state numbers this large are not supported",
                span,
            ));
        }
        if number as usize >= self.draft.edges.len() {
            self.draft.edges.resize(number as usize + 1, Vec::new());
        }
        Ok(StateId(number))
    }

    fn state(&mut self, keyword: Span) -> Read<()> {
        let state_label = self.label()?;
        let (number, span) = self.lexer.expect_number("the number of a state")?;
        let state = self.state_id(number, span)?;
        if let Some(first) = self.defined.insert(number, span) {
            let mut problem = error("HOA007", format!("state {number} is defined twice"), span);
            problem
                .related
                .push((first, "first defined here".to_owned()));
            return Err(problem);
        }
        if let (Token::Text(_), _) = self.lexer.peek()? {
            self.lexer.take()?;
        }
        let state_marks = self.marks()?;
        let mut edges: Vec<(Option<Guard>, Edge)> = Vec::new();
        loop {
            let label = self.label()?;
            let (number, span) = match self.lexer.peek()? {
                (Token::Number(number), span) => (number, span),
                (_, span) if label.is_some() => {
                    return Err(error(
                        "HOA001",
                        "expected the state this edge leads to",
                        span,
                    ));
                }
                _ => break,
            };
            self.lexer.take()?;
            if self.lexer.peek()?.0 == Token::Sign('&') {
                return Err(universal(self.lexer.peek()?.1));
            }
            if let (Some(_), Some(_)) = (label, state_label) {
                let message = "both the state and its edge have a label";
                return Err(error("HOA001", message, span));
            }
            let target = self.state_id(number, span)?;
            let marks = self.marks()?.union(state_marks);
            let guard = Guard::TRUE;
            edges.push((
                label.or(state_label),
                Edge {
                    guard,
                    target,
                    marks,
                },
            ));
        }
        self.draft.edges[state.index()] = self.with_labels(edges, keyword)?;
        Ok(())
    }

    /// Labels are all given, or the edges stand for the letters in order.
    fn with_labels(&mut self, edges: Vec<(Option<Guard>, Edge)>, span: Span) -> Read<Vec<Edge>> {
        if edges.iter().all(|(label, _)| label.is_some()) {
            let labelled = |(label, edge): (Option<Guard>, Edge)| {
                Some(Edge {
                    guard: label?,
                    ..edge
                })
            };
            return Ok(edges.into_iter().filter_map(labelled).collect());
        }
        if edges.iter().any(|(label, _)| label.is_some()) {
            return Err(error(
                "HOA001",
                "some edges of this state have labels, some do not",
                span,
            ));
        }
        let propositions = self.header.propositions.len() as u32;
        let expected = 1usize
            .checked_shl(propositions)
            .filter(|_| propositions < 24);
        if expected != Some(edges.len()) {
            let message = format!(
                "edges without labels must be as many as there are letters, 2 to the power of {propositions}, not {}",
                edges.len()
            );
            return Err(error("HOA008", message, span));
        }
        let mut labelled = Vec::with_capacity(edges.len());
        for (letter, (_, edge)) in edges.into_iter().enumerate() {
            let mut guard = Guard::TRUE;
            for proposition in (0..propositions).rev() {
                let value = letter >> proposition & 1 == 1;
                let literal = self.draft.guards.literal(proposition, value);
                guard = self.draft.guards.and(literal, guard);
            }
            labelled.push(Edge { guard, ..edge });
        }
        Ok(labelled)
    }

    fn marks(&mut self) -> Read<Marks> {
        let mut marks = Marks::NONE;
        if !self.lexer.take_sign('{')? {
            return Ok(marks);
        }
        while !self.lexer.take_sign('}')? {
            let (set, span) = self.lexer.expect_number("an acceptance set or `}`")?;
            match self.header.sets.get(set as usize) {
                Some(Some(number)) => marks = marks.union(Marks(1 << number)),
                // Declared, but without influence on acceptance.
                Some(None) => {}
                None => {
                    let message = format!("acceptance set {set} is not declared");
                    return Err(error("HOA005", message, span));
                }
            }
        }
        Ok(marks)
    }

    fn label(&mut self) -> Read<Option<Guard>> {
        let (_, start) = self.lexer.peek()?;
        if !self.lexer.take_sign('[')? {
            return Ok(None);
        }
        let mut tokens = Vec::new();
        while !self.lexer.take_sign(']')? {
            let token = self.lexer.take()?;
            if matches!(token.0, Token::EndOfText | Token::End | Token::Body) {
                return Err(error("HOA001", "this label does not end", start));
            }
            tokens.push(token);
        }
        let mut labels = Labels {
            guards: &mut self.draft.guards,
            aliases: &self.header.aliases,
            propositions: self.header.propositions.len() as u32,
        };
        labels.of_tokens(&tokens, start).map(Some)
    }

    fn finish(mut self) -> Read<Automaton> {
        let starts = self.header.starts.clone();
        let mut ids = Vec::new();
        for (number, span) in starts {
            ids.push(self.state_id(number, span)?);
        }
        ids.sort_unstable();
        ids.dedup();
        if self.draft.guards.overflowed() {
            return Err(error(
                "HOA011",
                "the labels are too complex",
                self.header.starts[0].1,
            ));
        }
        self.draft.initial = match ids.as_slice() {
            [only] => *only,
            several => {
                // A run chooses its initial state by its first edge.
                let joint: Vec<Edge> = several
                    .iter()
                    .flat_map(|s| self.draft.edges[s.index()].clone())
                    .collect();
                let fresh = self.draft.add_state();
                self.draft.edges[fresh.index()] = joint;
                fresh
            }
        };
        Ok(self.draft.finish())
    }
}

/// Steps over a sign, if it comes next.
fn skip_sign(tokens: &[(Token, Span)], at: &mut usize, sign: char) -> bool {
    let comes = tokens
        .get(*at)
        .is_some_and(|(token, _)| *token == Token::Sign(sign));
    *at += usize::from(comes);
    comes
}

/// Reads label expressions.
pub(super) struct Labels<'a> {
    pub(super) guards: &'a mut Guards,
    pub(super) aliases: &'a RapidHashMap<String, Guard>,
    pub(super) propositions: u32,
}

impl Labels<'_> {
    /// All of the tokens as one expression; `span` is the place if there are none.
    pub(super) fn of_tokens(&mut self, tokens: &[(Token, Span)], span: Span) -> Read<Guard> {
        let mut at = 0;
        let guard = self.or(tokens, &mut at, span, 0)?;
        match tokens.get(at) {
            None => Ok(guard),
            Some((_, span)) => Err(error(
                "HOA001",
                "expected `&`, `|` or the end of the label",
                *span,
            )),
        }
    }

    fn or(
        &mut self,
        tokens: &[(Token, Span)],
        at: &mut usize,
        span: Span,
        depth: usize,
    ) -> Read<Guard> {
        let mut guard = self.and(tokens, at, span, depth)?;
        while skip_sign(tokens, at, '|') {
            let more = self.and(tokens, at, span, depth)?;
            guard = self.guards.or(guard, more);
        }
        Ok(guard)
    }

    fn and(
        &mut self,
        tokens: &[(Token, Span)],
        at: &mut usize,
        span: Span,
        depth: usize,
    ) -> Read<Guard> {
        let mut guard = self.unit(tokens, at, span, depth)?;
        while skip_sign(tokens, at, '&') {
            let more = self.unit(tokens, at, span, depth)?;
            guard = self.guards.and(guard, more);
        }
        Ok(guard)
    }

    fn unit(
        &mut self,
        tokens: &[(Token, Span)],
        at: &mut usize,
        span: Span,
        depth: usize,
    ) -> Read<Guard> {
        let mut negated = false;
        while skip_sign(tokens, at, '!') {
            negated = !negated;
        }
        let Some((token, place)) = tokens.get(*at) else {
            let end = tokens.last().map_or(span, |(_, last)| *last);
            return Err(error(
                "HOA001",
                "expected a proposition, found the end of the label",
                end,
            ));
        };
        *at += 1;
        let guard = match token {
            Token::Number(number) if *number < self.propositions => self.guards.variable(*number),
            Token::Number(number) => {
                let message = format!("proposition {number} is not declared");
                return Err(error("HOA005", message, *place));
            }
            Token::Word(word) if word == "t" => Guard::TRUE,
            Token::Word(word) if word == "f" => Guard::FALSE,
            Token::Alias(name) => match self.aliases.get(name) {
                Some(guard) => *guard,
                None => {
                    let message = format!("alias `@{name}` is not defined");
                    return Err(error("HOA005", message, *place));
                }
            },
            Token::Sign('(') if depth >= MAX_NESTING => {
                let message = format!("the label nests more than {MAX_NESTING} levels deep");
                return Err(error("HOA011", message, *place));
            }
            Token::Sign('(') => {
                let guard = self.or(tokens, at, span, depth + 1)?;
                match tokens.get(*at) {
                    Some((Token::Sign(')'), _)) => *at += 1,
                    _ => return Err(error("HOA001", "this parenthesis is not closed", *place)),
                }
                guard
            }
            _ => return Err(error("HOA001", "expected a proposition", *place)),
        };
        Ok(if negated {
            self.guards.not(guard)
        } else {
            guard
        })
    }
}
