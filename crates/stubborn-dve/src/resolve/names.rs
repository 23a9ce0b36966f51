//! Scopes, and guesses at what a misspelt name was meant to be.

use crate::model::{ChannelId, LocationId, Model, ProcessId, VariableId};
use rapidhash::RapidHashMap;
use stubborn_diagnostics::Span;

/// What a name can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Variable(VariableId),
    Channel(ChannelId),
    Process(ProcessId),
    State(LocationId),
}

impl Symbol {
    /// "a variable", for messages.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Symbol::Variable(_) => "a variable",
            Symbol::Channel(_) => "a channel",
            Symbol::Process(_) => "a process",
            Symbol::State(_) => "a state",
        }
    }
}

/// A scope: each name with what it stands for and where it is declared.
pub(super) type Scope<'n> = RapidHashMap<&'n str, (Symbol, Span)>;

/// All scopes of a model. Locals hide globals.
#[derive(Default)]
pub(super) struct Names<'n> {
    /// Variables, channels, processes.
    pub(super) globals: Scope<'n>,
    /// Variables and states of each process.
    pub(super) locals: Vec<Scope<'n>>,
}

impl<'n> Names<'n> {
    /// The scopes of a finished model.
    pub(super) fn of(model: &'n Model) -> Self {
        let mut names = Names::default();
        for (id, process) in model.processes() {
            names
                .globals
                .insert(&process.name, (Symbol::Process(id), process.span));
            let states = process.locations.iter().enumerate();
            names.locals.push(
                states
                    .map(|(i, s)| (s.name.as_str(), (Symbol::State(LocationId::new(i)), s.span)))
                    .collect(),
            );
        }
        for (index, channel) in model.channels.iter().enumerate() {
            let symbol = Symbol::Channel(ChannelId::new(index));
            names.globals.insert(&channel.name, (symbol, channel.span));
        }
        for (index, variable) in model.variables.iter().enumerate() {
            let scope = match variable.owner {
                None => &mut names.globals,
                Some(owner) => &mut names.locals[owner.index()],
            };
            let symbol = Symbol::Variable(VariableId::new(index));
            scope.insert(&variable.name, (symbol, variable.span));
        }
        names
    }

    /// What a name means inside a process (or outside all of them).
    pub(super) fn look_up(&self, process: Option<ProcessId>, name: &str) -> Option<Symbol> {
        process
            .and_then(|p| self.locals[p.index()].get(name))
            .or_else(|| self.globals.get(name))
            .map(|(symbol, _)| *symbol)
    }

    /// A state or variable of this process.
    pub(super) fn look_up_member(&self, process: ProcessId, name: &str) -> Option<Symbol> {
        self.locals[process.index()]
            .get(name)
            .map(|(symbol, _)| *symbol)
    }

    /// A declared name that looks like this one and stands for the right thing.
    pub(super) fn similar(
        &self,
        process: Option<ProcessId>,
        name: &str,
        wanted: impl Fn(Symbol) -> bool,
    ) -> Option<&'n str> {
        let local = process.map(|p| &self.locals[p.index()]);
        let candidates = local.into_iter().chain([&self.globals]).flatten();
        closest(
            name,
            candidates.filter(|(_, (s, _))| wanted(*s)).map(|(n, _)| *n),
        )
    }

    /// A state or variable of this process that looks like `name`.
    pub(super) fn similar_member(
        &self,
        process: ProcessId,
        name: &str,
        wanted: impl Fn(Symbol) -> bool,
    ) -> Option<&'n str> {
        let scope = self.locals[process.index()].iter();
        closest(
            name,
            scope.filter(|(_, (s, _))| wanted(*s)).map(|(n, _)| *n),
        )
    }
}

/// How many names are compared with a misspelt one: messages must stay cheap.
const COMPARED: usize = 2_000;

/// The candidate with the fewest edits, if there are few enough; ties are broken
/// by the alphabet, because the order of a hash map is not fixed.
fn closest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Of very short names only the case may differ: any two letters are alike otherwise.
    let allowed = (name.len() / 3).min(3);
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= allowed && c.len() <= 64)
        .take(COMPARED)
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance of two short names.
fn edits(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_suggestions() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "ab"), 2);
        assert_eq!(
            closest("conter", ["counter", "center", "x"].into_iter()),
            Some("center")
        );
        assert_eq!(closest("q", ["p", "counter"].into_iter()), None);
        assert_eq!(closest("cs", ["CS", "ct"].into_iter()), Some("CS"));
    }
}
