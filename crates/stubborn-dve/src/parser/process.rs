//! Processes and their transitions.

use super::Parser;
use crate::ast::{
    Accept, AcceptKind, Assertion, Assignment, Direction, Ident, Process, Sync, Transition,
};
use crate::codes;
use crate::token::Token;
use stubborn_diagnostics::Diagnostic;

/// The parts of a process in the order in which they must come.
const PARTS: [&str; 5] = [
    "local variables",
    "`state`",
    "`init`, `commit` and `accept`",
    "`assert`",
    "`trans`",
];

impl<'src> Parser<'src, '_> {
    pub(super) fn process(&mut self) -> Option<Process<'src>> {
        let keyword = self.expect(Token::Process)?;
        let Some(name) = self.ident_for("the name of the process") else {
            self.skip_to(&[]);
            return None;
        };
        let mut process = Process {
            name,
            variables: Vec::new(),
            states: Vec::new(),
            init: None,
            commits: Vec::new(),
            accept: None,
            assertions: Vec::new(),
            transitions: Vec::new(),
            span: keyword.to(name.span),
        };
        if self.expect(Token::LeftBrace).is_none() {
            self.skip_to(&[]);
            return Some(process);
        }
        self.process_body(&mut process);
        if self.expect(Token::RightBrace).is_none() {
            self.skip_to(&[Token::RightBrace]);
            self.eat(Token::RightBrace);
        }
        process.span.end = self.previous_end.max(name.span.end);
        if process.states.is_empty() {
            let message = format!("process `{}` has no states", name.name);
            self.reporter.push(
                Diagnostic::error(codes::NO_STATES, message, name.span)
                    .help("a process needs at least `state s; init s;`"),
            );
        } else if process.init.is_none() {
            let message = format!("process `{}` has no initial state", name.name);
            self.reporter.push(
                Diagnostic::error(codes::NO_INIT, message, name.span)
                    .help("add `init` with one of its states, after the list of states"),
            );
        }
        Some(process)
    }

    /// Everything between the braces. Parts in the wrong order are understood
    /// all the same, after a complaint.
    fn process_body(&mut self, process: &mut Process<'src>) {
        let mut reached = 0;
        loop {
            let part = match self.token {
                Token::Const | Token::Byte | Token::Int => 0,
                Token::State => 1,
                Token::Init | Token::Commit | Token::Accept => 2,
                Token::Assert => 3,
                Token::Trans => 4,
                Token::RightBrace | Token::End | Token::Process | Token::System => return,
                _ => {
                    self.expected("a part of the process or `}`");
                    self.advance();
                    self.skip_clause();
                    continue;
                }
            };
            let repeated = match self.token {
                Token::State => !process.states.is_empty(),
                Token::Init => process.init.is_some(),
                Token::Commit => !process.commits.is_empty(),
                Token::Accept => process.accept.is_some(),
                Token::Assert => !process.assertions.is_empty(),
                Token::Trans => !process.transitions.is_empty(),
                _ => false,
            };
            if repeated {
                let message = format!("{} stands twice in this process", self.token.describe());
                self.complain(Diagnostic::error(codes::OUT_OF_ORDER, message, self.span));
            } else if part < reached {
                let message = format!("{} must come before {}", PARTS[part], PARTS[reached]);
                self.complain(Diagnostic::error(codes::OUT_OF_ORDER, message, self.span));
            }
            reached = reached.max(part);
            if self.process_part(process).is_none() {
                self.skip_clause();
            }
        }
    }

    fn process_part(&mut self, process: &mut Process<'src>) -> Option<()> {
        match self.token {
            Token::State => {
                self.advance();
                let states = self.list(Self::ident)?;
                process.states.extend(states);
            }
            Token::Init => {
                self.advance();
                let state = self.ident_for("the name of a state")?;
                process.init.get_or_insert(state);
            }
            Token::Commit => {
                self.advance();
                let states = self.list(Self::ident)?;
                process.commits.extend(states);
            }
            Token::Accept => {
                let accept = self.accept()?;
                process.accept.get_or_insert(accept);
            }
            Token::Assert => {
                self.advance();
                let assertions = self.list(Self::assertion)?;
                process.assertions.extend(assertions);
            }
            Token::Trans => return self.transitions(process),
            _ => {
                let variables = self.variables()?;
                process.variables.push(variables);
                return Some(());
            }
        }
        self.end_clause();
        Some(())
    }

    fn assertion(&mut self) -> Option<Assertion<'src>> {
        let state = self.ident_for("the name of a state")?;
        self.expect(Token::Colon)?;
        let condition = self.expression()?;
        Some(Assertion { state, condition })
    }

    fn accept(&mut self) -> Option<Accept<'src>> {
        let start = self.expect(Token::Accept)?;
        let (kind, named) = match self.token {
            Token::Buchi => (AcceptKind::Buchi, true),
            Token::GenBuchi => (AcceptKind::GenBuchi, true),
            Token::Rabin => (AcceptKind::Rabin, true),
            Token::Streett => (AcceptKind::Streett, true),
            Token::Muller => (AcceptKind::Muller, true),
            _ => (AcceptKind::Buchi, false),
        };
        if named {
            self.advance();
        }
        let sets = match kind {
            AcceptKind::Buchi => vec![self.list(Self::ident)?],
            AcceptKind::GenBuchi | AcceptKind::Muller => self.list(|p| {
                p.expect(Token::LeftParenthesis)?;
                let set = p.state_set(Token::RightParenthesis)?;
                Some(set)
            })?,
            AcceptKind::Rabin | AcceptKind::Streett => {
                let pairs = self.list(|p| {
                    p.expect(Token::LeftParenthesis)?;
                    let first = p.state_set(Token::Semicolon)?;
                    let second = p.state_set(Token::RightParenthesis)?;
                    Some([first, second])
                })?;
                pairs.into_iter().flatten().collect()
            }
        };
        let span = start.to(stubborn_diagnostics::Span {
            start: start.start,
            end: self.previous_end,
        });
        Some(Accept { kind, sets, span })
    }

    /// A possibly empty list of states and the token that closes it.
    fn state_set(&mut self, close: Token) -> Option<Vec<Ident<'src>>> {
        if self.eat(close) {
            return Some(Vec::new());
        }
        let states = self.list(Self::ident)?;
        self.expect(close)?;
        Some(states)
    }

    fn transitions(&mut self, process: &mut Process<'src>) -> Option<()> {
        self.expect(Token::Trans)?;
        if self.eat(Token::Semicolon) {
            return Some(());
        }
        loop {
            match self.transition(process.transitions.last().map(|t| t.source)) {
                Some(transition) => process.transitions.push(transition),
                None => {
                    // Go on behind this transition's brace, with the next one.
                    self.skip_to(&[Token::RightBrace, Token::Trans]);
                    self.eat(Token::RightBrace);
                }
            }
            if matches!(self.token, Token::Identifier | Token::Arrow) {
                self.expected("`,` between two transitions");
            } else if !self.eat(Token::Comma) {
                break;
            }
        }
        self.end_clause();
        Some(())
    }

    fn transition(&mut self, previous_source: Option<Ident<'src>>) -> Option<Transition<'src>> {
        let start = self.span;
        let source = if self.token == Token::Arrow {
            previous_source
        } else {
            Some(self.ident_for("the source state of a transition")?)
        };
        if self.token == Token::WideArrow {
            self.complain(
                Diagnostic::error(
                    codes::PROBABILISTIC,
                    "probabilistic transitions are not supported",
                    self.span,
                )
                .help("write one transition with `->` for each possible target"),
            );
            return None;
        }
        self.expect(Token::Arrow)?;
        let target = self.ident_for("the target state")?;
        let source = source.unwrap_or_else(|| {
            self.reporter.push(
                Diagnostic::error(
                    codes::NO_SOURCE_STATE,
                    "the first transition needs a source state",
                    start,
                )
                .help("the source may be left out only where it repeats the previous transition's"),
            );
            target
        });
        self.expect(Token::LeftBrace)?;
        let mut transition = Transition {
            source,
            target,
            guard: None,
            sync: None,
            effects: Vec::new(),
            span: start,
        };
        if self.transition_body(&mut transition).is_none() {
            // What was understood stays: names in it are known, and looked at.
            self.skip_to(&[Token::RightBrace, Token::Trans]);
            self.eat(Token::RightBrace);
        }
        transition.span.end = self.previous_end.max(start.end);
        Some(transition)
    }

    /// Everything between the braces, and the closing one.
    fn transition_body(&mut self, transition: &mut Transition<'src>) -> Option<()> {
        let mut reached = 0;
        loop {
            let part = match self.token {
                Token::Guard => 1,
                Token::Sync => 2,
                Token::Effect => 3,
                _ => break,
            };
            if part <= reached {
                self.complain(
                    Diagnostic::error(
                        codes::OUT_OF_ORDER,
                        format!("{} is repeated or comes too late", self.token.describe()),
                        self.span,
                    )
                    .help(
                        "a transition has at most one `guard`, `sync` and `effect`, in this order",
                    ),
                );
            }
            reached = reached.max(part);
            self.advance();
            match part {
                1 => transition.guard = Some(self.expression()?),
                2 => transition.sync = Some(self.sync()?),
                _ => transition.effects = self.list(Self::assignment)?,
            }
            self.end_clause();
        }
        if self.token != Token::RightBrace {
            self.expected("`guard`, `sync`, `effect` or `}`");
            return None;
        }
        self.advance();
        Some(())
    }

    fn sync(&mut self) -> Option<Sync<'src>> {
        let channel = self.ident_for("the name of a channel")?;
        let direction = match self.token {
            Token::Exclamation => Direction::Send,
            Token::Question => Direction::Receive,
            _ => {
                self.expected("`!` or `?`");
                return None;
            }
        };
        self.advance();
        let payload = match self.token {
            Token::Semicolon => Vec::new(),
            Token::LeftBrace => {
                self.advance();
                let payload = self.list(Self::expression)?;
                self.expect(Token::RightBrace)?;
                payload
            }
            _ => vec![self.expression()?],
        };
        let end = self.previous_end;
        let span = stubborn_diagnostics::Span {
            start: channel.span.start,
            end,
        };
        Some(Sync {
            channel,
            direction,
            payload,
            span,
        })
    }

    fn assignment(&mut self) -> Option<Assignment<'src>> {
        let target = self.expression()?;
        self.expect(Token::Assign)?;
        let value = self.expression()?;
        Some(Assignment { target, value })
    }
}
