//! Fewer enabled transitions than deletion alone finds.
//!
//! Deletion ends with a set of which nothing more can be left out, but another set, which
//! overlaps with it, may be smaller. Finding a smallest one is as hard as the exploration
//! itself; Varpaaniemi, *Minimizing the number of successor states in the stubborn set method*
//! (2002), therefore minimises incompletely, at the cost of one more factor of the number of
//! transitions. In this spirit: for every enabled transition of the best set so far, deletion
//! starts again from all transitions, with that one as the first to go and the others of the
//! best set right after it. A smaller result is the new best set, and so on until there is
//! none. Better for reduction, and expensive: meant for measuring what is left to win.

use crate::deletion::Deletion;
use crate::view::View;

/// Buffers, reused from state to state.
#[derive(Debug, Default)]
pub(crate) struct Minimiser {
    best: Vec<u32>,
    order: Vec<u32>,
}

impl Minimiser {
    /// Replaces the set of a finished deletion by a smaller one, if one is found.
    pub(crate) fn run(&mut self, deletion: &mut Deletion<'_>, view: &mut View<'_>) {
        self.note(deletion, view);
        while self.find_smaller(deletion, view) {
            self.note(deletion, view);
        }
        // The last attempts were no better. Deleting what is not in the best set leaves it.
        self.order.clear();
        self.add_rest(view);
        deletion.run_in_order(view, &self.order);
    }

    /// The enabled transitions of the set that deletion ended with.
    fn note(&mut self, deletion: &Deletion<'_>, view: &View<'_>) {
        self.best.clear();
        let list = view.facts.enabled_list.iter();
        self.best.extend(list.filter(|t| deletion.contains(**t)));
    }

    /// Whether deletion ends with a smaller set if it starts with another transition.
    fn find_smaller(&mut self, deletion: &mut Deletion<'_>, view: &mut View<'_>) -> bool {
        for at in 0..self.best.len() {
            let first = self.best[at];
            self.order.clear();
            self.order.push(first);
            self.order.extend(self.best.iter().filter(|t| **t != first));
            self.add_rest(view);
            let left = deletion.run_in_order(view, &self.order);
            if left.is_some_and(|left| left < self.best.len()) {
                return true;
            }
        }
        false
    }

    /// Appends the enabled transitions that are not in the best set. Both lists are sorted.
    fn add_rest(&mut self, view: &View<'_>) {
        let best = &self.best;
        let list = view.facts.enabled_list.iter();
        self.order
            .extend(list.filter(|t| best.binary_search(t).is_err()));
    }
}
