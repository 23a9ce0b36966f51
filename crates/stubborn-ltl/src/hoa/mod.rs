//! The Hanoi Omega-Automata format, version 1 (Babiak, Blahoudek, Duret-Lutz, Klein,
//! Křetínský, Müller, Parker, Strejček, "The Hanoi omega-automata format", 2015).
//!
//! Read: any number of propositions; labels on edges, on states or implicit; aliases;
//! Büchi, generalised Büchi and `t` acceptance on states or edges; several initial
//! states (joined into a new one). Anything else the format can say (alternation,
//! other acceptance conditions) is refused with a message, and so is an `acc-name` that
//! contradicts the acceptance. `properties` are claims, not facts: the automaton is what the
//! body says, and claims that are cheap to check are checked.

mod body;
mod header;
mod lexer;
mod writer;

use stubborn_diagnostics::Diagnostic;

use crate::automaton::Automaton;

pub use writer::{write_dot, write_hoa};

/// Reads all automata of a text. After the first error reading stops; the automata
/// before it are returned.
pub fn read_hoa(text: &str) -> (Vec<Automaton>, Vec<Diagnostic>) {
    let mut lexer = lexer::Lexer::new(text);
    let mut automata = Vec::new();
    let mut messages = Vec::new();
    loop {
        match read_one(&mut lexer, &mut messages) {
            Ok(Some(automaton)) => automata.push(automaton),
            Ok(None) => break,
            Err(error) => {
                messages.push(*error);
                break;
            }
        }
    }
    if automata.is_empty() && messages.is_empty() {
        let span = stubborn_diagnostics::Span::new(0, 0);
        messages.push(Diagnostic::error(
            "HOA001",
            "there is no automaton in this text",
            span,
        ));
    }
    (automata, messages)
}

type Read<T> = Result<T, Box<Diagnostic>>;

fn read_one(
    lexer: &mut lexer::Lexer<'_>,
    messages: &mut Vec<Diagnostic>,
) -> Read<Option<Automaton>> {
    let Some(header) = header::read(lexer)? else {
        return Ok(None);
    };
    let automaton = body::read(lexer, &header)?;
    for (claim, span) in &header.claims {
        let holds = match claim.as_str() {
            "deterministic" => automaton.is_deterministic(),
            "complete" => automaton.is_complete(),
            _ => continue,
        };
        if !holds {
            let message = format!("the automaton claims to be {claim}, but is not");
            let help = "the claim is ignored";
            messages.push(Diagnostic::warning("HOA020", message, *span).help(help));
        }
    }
    Ok(Some(automaton))
}
