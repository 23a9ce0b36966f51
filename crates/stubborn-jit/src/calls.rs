//! Which functions are called for a state.
//!
//! A process with more code than fits into one function has its locations in several of them, and is
//! at one location. Asking all of them took two fifths of the time of a search with 130 functions.

use std::ops::Range;

use stubborn_ir::Model;
use stubborn_system::{Field, FieldId, SpareRoom, System};

use crate::code::SuccessorsFn;
use crate::plan::Chunk;

/// The functions of some chunks, in order.
pub(crate) struct Calls {
    groups: Vec<Group>,
}

/// Functions in a row.
struct Group {
    functions: Vec<SuccessorsFn>,
    /// Where all of them are about one process: its program counter, and by location those with commands
    /// of it. Otherwise all of them are called.
    choice: Option<(Field, Vec<Range<usize>>)>,
}

impl Calls {
    /// The functions that were made of chunks, each beside its own.
    pub(crate) fn new<'c>(
        model: &Model,
        made: impl IntoIterator<Item = (&'c Chunk, SuccessorsFn)>,
    ) -> Self {
        let mut calls = Self { groups: Vec::new() };
        let mut last = None;
        for (chunk, function) in made {
            let counter = counter_of(chunk);
            if calls.groups.is_empty() || counter != last {
                calls.groups.push(Group::new(model, counter));
            }
            if let Some(group) = calls.groups.last_mut() {
                group.add(chunk, function);
            }
            last = counter;
        }
        calls
    }

    /// All functions, if there is nothing to choose: no two of them are about one process.
    pub(crate) fn all(&self) -> Option<Vec<SuccessorsFn>> {
        let only = |group: &Group| match group.functions[..] {
            [function] => Some(function),
            _ => None,
        };
        self.groups.iter().map(only).collect()
    }

    /// Appends the successors of a state to the room; returns how many there are then.
    ///
    /// # Safety
    ///
    /// The state has the words that the functions were made for, and there is room for all of its successors.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, state: &[u32], room: &SpareRoom, mut count: usize) -> usize {
        for group in &self.groups {
            for function in group.of(state) {
                // SAFETY: as above.
                count = unsafe { function(state.as_ptr(), room, count) };
            }
        }
        count
    }
}

/// The program counter that all commands of a chunk are chosen by, if that is one.
fn counter_of(chunk: &Chunk) -> Option<FieldId> {
    match &chunk[..] {
        [piece] => piece.counter,
        _ => None,
    }
}

impl Group {
    fn new(model: &Model, counter: Option<FieldId>) -> Self {
        Self {
            functions: Vec::new(),
            choice: counter.map(|counter| (model.layout().field(counter).clone(), Vec::new())),
        }
    }

    fn add(&mut self, chunk: &Chunk, function: SuccessorsFn) {
        let nr = self.functions.len();
        self.functions.push(function);
        let Some((_, by_location)) = &mut self.choice else {
            return;
        };
        for case in chunk.iter().flat_map(|piece| &piece.cases) {
            let location = case.location as usize;
            if by_location.len() <= location {
                by_location.resize(location + 1, 0..0);
            }
            // Commands are in the order of locations: what is about one is in functions in a row.
            let range = &mut by_location[location];
            *range = match range.end == 0 {
                true => nr..nr + 1,
                false => range.start..nr + 1,
            };
        }
    }

    /// Those that have commands for this state.
    #[inline(always)]
    fn of(&self, state: &[u32]) -> &[SuccessorsFn] {
        match &self.choice {
            None => &self.functions,
            Some((counter, by_location)) => {
                let location = counter.raw(state) as usize;
                let functions = by_location.get(location);
                functions.map_or(&[], |range| &self.functions[range.clone()])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stubborn_ir::{Model, Program, Variable};
    use stubborn_system::FieldId;

    use super::Calls;
    use crate::code::SuccessorsFn;
    use crate::plan::{Case, Chunk, Piece};

    /// Counts its calls.
    unsafe extern "C" fn counted(
        _: *const u32,
        _: *const stubborn_system::SpareRoom,
        count: usize,
    ) -> usize {
        count + 1
    }

    #[test]
    fn only_functions_of_the_location_are_called() {
        let mut program = Program::new("two");
        for name in ["p", "q"] {
            program.variable(Variable::integer(name, 0, 7, 0));
        }
        let model = Model::new(program).expect("a small program");
        let piece = |counter: Option<usize>, locations: &[u32]| Piece {
            counter: counter.map(FieldId::new),
            cases: (locations.iter())
                .map(|location| Case {
                    location: *location,
                    commands: vec![0],
                })
                .collect(),
        };
        let chunks: [Chunk; 5] = [
            vec![piece(None, &[0])],
            vec![piece(Some(0), &[0, 1])],
            vec![piece(Some(0), &[1])],
            vec![piece(Some(0), &[1, 4])],
            vec![piece(Some(0), &[5]), piece(Some(1), &[0])],
        ];
        let made = chunks.iter().map(|chunk| (chunk, counted as SuccessorsFn));
        let calls = Calls::new(&model, made);
        let count = |p: i64| {
            use stubborn_system::{Successors, System};
            let mut state = model.initial_states();
            model.layout().field(FieldId::new(0)).set(&mut state, p);
            let mut out = Successors::new(model.layout().words());
            // SAFETY: the functions look at nothing and write nothing.
            unsafe { calls.run(&state, &out.spare_room(1), 0) }
        };
        // The first and the last are called for every state.
        assert_eq!([0, 1, 2, 4, 5, 7].map(count), [3, 5, 2, 3, 2, 2]);
    }
}
