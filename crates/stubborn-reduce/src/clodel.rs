//! `clodel`: a set by [`clostar`](crate::clostar), then [`deletion`](crate::deletion) on it.
//!
//! Valmari and Hansen, *Can stubborn sets be optimal?* (2011), section 7; `clodel` of
//! Evangelista, *Experimenting with stubborn sets on Petri nets* (2023), section 3.2. Deletion
//! works on a small set instead of all transitions; the result is minimal within that set.

use stubborn_system::{BitSet, SetMember};

use crate::algorithm::SetAlgorithm;
use crate::clostar::CountingGrow;
use crate::closure::Closure;
use crate::config::Settings;
use crate::deletion::Deletion;
use crate::growth::Policy;
use crate::tables::{Inverse, Tables};
use crate::view::View;

/// See the [module](self).
pub(crate) struct Clodel<'t> {
    closure: Closure<CountingGrow<'t>>,
    deletion: Deletion<'t>,
    found: bool,
}

impl<'t> Clodel<'t> {
    pub(crate) fn new(tables: &Tables, inverse: &'t Inverse, settings: &Settings) -> Self {
        let grow = CountingGrow::new(tables, inverse, Policy::new(settings));
        Self {
            closure: Closure::new(tables, settings, grow, false),
            deletion: Deletion::new(tables, inverse, settings),
            found: false,
        }
    }
}

impl SetAlgorithm for Clodel<'_> {
    fn choose(&mut self, view: &mut View<'_>, kept: &mut BitSet) {
        match self.closure.compute(view) {
            Some(set) => {
                self.deletion.start_from(view, |t| set.contains(t));
                self.found = true;
            }
            None => self.found = self.deletion.start_from_all(view),
        }
        if self.found {
            self.deletion.delete_all(view);
            self.deletion.keep(view, kept);
        } else {
            kept.words_mut().copy_from_slice(&view.facts.enabled);
        }
    }

    fn members(&self) -> Option<Vec<SetMember>> {
        self.found.then(|| self.deletion.all_members())
    }
}
