//! How much may be done to find relations.

use stubborn_system::{Budget, Patience};

/// How often steps are taken between two looks at the budget.
const BETWEEN_LOOKS: u32 = 256;

/// Steps of some nanoseconds that are left, counted rather than timed: what is reduced is the same
/// on every machine.
pub(crate) struct Effort<'b> {
    patience: Patience<'b>,
    left: u64,
}

impl<'b> Effort<'b> {
    pub(crate) fn new(budget: &'b Budget, steps: u64) -> Self {
        Self {
            patience: Patience::new(budget, BETWEEN_LOOKS),
            left: steps,
        }
    }

    /// As many steps as the budget allows for, from now on.
    pub(crate) fn lift(&mut self) {
        self.left = u64::MAX;
    }

    /// Takes steps; `None` if there are not so many left, or the budget is spent.
    #[inline]
    pub(super) fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps as u64);
        self.left = left.unwrap_or(0);
        left.filter(|_| self.patience.spent().is_none()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_to_an_end_unless_they_are_lifted() {
        let budget = Budget::default();
        let mut effort = Effort::new(&budget, 10);
        assert!(effort.spend(9).is_some());
        assert!(effort.spend(2).is_none());
        // What did not fit is taken all the same: nobody goes on with less.
        assert!(effort.spend(1).is_none());
        effort.lift();
        assert!(effort.spend(1 << 40).is_some());
    }

    #[test]
    fn the_budget_ends_them_too() {
        let budget = Budget::default();
        let mut effort = Effort::new(&budget, u64::MAX);
        assert!(effort.spend(1).is_some());
        budget.end(stubborn_system::Spent::Time);
        assert!(effort.spend(1).is_none());
    }
}
