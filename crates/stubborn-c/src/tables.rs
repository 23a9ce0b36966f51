//! Relations as tables of bits, filled pair by pair.

use stubborn_reduce::lpor::{ConditionId, Relations, TransitionId};
use stubborn_system::BitSet;

/// A fact about two of the things that are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    Enables,
    Disturbs,
    OnlyDisables,
    WaitsFor,
    Satisfies,
    Process,
    Visible,
}

/// What a caller has stated.
#[derive(Debug)]
pub struct Tables {
    enables: Vec<BitSet>,
    disturbs: Vec<BitSet>,
    only_disables: Vec<BitSet>,
    satisfies: Vec<BitSet>,
    conditions_of: Vec<Vec<ConditionId>>,
    processes: Vec<Option<usize>>,
    visible: BitSet,
    conditions: usize,
}

impl Tables {
    pub(crate) fn new(transitions: usize, conditions: usize) -> Self {
        let square = || vec![BitSet::new(transitions); transitions];
        Self {
            enables: square(),
            disturbs: square(),
            only_disables: square(),
            satisfies: vec![BitSet::new(conditions); transitions],
            conditions_of: vec![Vec::new(); transitions],
            processes: vec![None; transitions],
            visible: BitSet::new(transitions),
            conditions,
        }
    }

    /// How many transitions there are.
    pub(crate) fn known(&self) -> usize {
        self.processes.len()
    }

    /// States a fact; refuses what was not announced.
    pub(crate) fn insert(&mut self, fact: Pair, row: usize, column: usize) -> Result<(), String> {
        let below = |number: usize, count: usize, what: &str| {
            (number < count)
                .then_some(())
                .ok_or_else(|| format!("there is no {what} {number}, but {count} from 0"))
        };
        below(row, self.known(), "transition")?;
        match fact {
            Pair::Enables | Pair::Disturbs | Pair::OnlyDisables => {
                below(column, self.known(), "transition")?;
            }
            Pair::WaitsFor | Pair::Satisfies => below(column, self.conditions, "condition")?,
            // A process that belongs to nobody costs a little memory, and a number from nowhere a lot.
            Pair::Process => below(column, 1 << 16, "process")?,
            Pair::Visible => {}
        }
        match fact {
            Pair::Enables => drop(self.enables[row].insert(column)),
            Pair::Disturbs => drop(self.disturbs[row].insert(column)),
            Pair::OnlyDisables => drop(self.only_disables[row].insert(column)),
            Pair::Satisfies => drop(self.satisfies[row].insert(column)),
            Pair::WaitsFor => {
                let condition = ConditionId::new(column);
                if !self.conditions_of[row].contains(&condition) {
                    self.conditions_of[row].push(condition);
                }
            }
            Pair::Process => self.processes[row] = Some(column),
            Pair::Visible => drop(self.visible.insert(row)),
        }
        Ok(())
    }
}

impl Relations for Tables {
    fn transitions(&self) -> usize {
        self.known()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        self.enables[t.index()].contains(u.index())
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs[t.index()].contains(u.index())
    }

    fn reorders(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs(t, u) && !self.only_disables[t.index()].contains(u.index())
    }

    fn conditions(&self) -> usize {
        self.conditions
    }

    fn conditions_of(&self, t: TransitionId) -> &[ConditionId] {
        &self.conditions_of[t.index()]
    }

    fn can_satisfy(&self, t: TransitionId, condition: ConditionId) -> bool {
        self.satisfies[t.index()].contains(condition.index())
    }

    fn process_of(&self, t: TransitionId) -> Option<usize> {
        self.processes[t.index()]
    }

    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.contains(t.index())
    }
}
