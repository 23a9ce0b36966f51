//! Scopes, and guesses at what a misspelt name was meant to be.

use crate::model::{ChannelId, LocationId, Model, ProcessId, VariableId};
use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Span, closest};

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
