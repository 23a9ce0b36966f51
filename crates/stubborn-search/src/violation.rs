//! Collecting violations: how many, and which one to show.

use std::cmp::Ordering;
use std::io;

use stubborn_store::saved::Sink;
use stubborn_system::{FieldKind, Outcome, System, TransitionId};

use crate::control::Control;
use crate::saved::{Reading, step, words};

/// A violation as a search sees it, before its trace is made.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// Steps to it.
    pub(crate) length: u64,
    /// The bad state, or the one that the bad step leaves.
    pub(crate) state: Box<[u32]>,
    /// The bad step.
    pub(crate) step: Option<(TransitionId, Outcome)>,
    /// Depth-first: entries of the states on the way to it.
    pub(crate) path: Vec<u64>,
}

/// Which of several violations of a target is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preference {
    /// The nearest, and of those the least by value: the same for any number of threads.
    Least,
    /// The first.
    First,
}

/// Orders states by the values of their fields.
///
/// Where no value is interned, the packed words will do. The number of an interned value
/// depends on who came first, so such fields are compared by what they show.
pub(crate) struct ValueOrder<'a> {
    system: &'a dyn System,
    has_interned: bool,
}

impl<'a> ValueOrder<'a> {
    pub(crate) fn new(system: &'a dyn System) -> Self {
        let fields = system.layout().fields();
        let has_interned = fields.iter().any(|f| f.kind == FieldKind::Interned);
        Self {
            system,
            has_interned,
        }
    }

    pub(crate) fn compare(&self, left: &[u32], right: &[u32]) -> Ordering {
        if !self.has_interned {
            return left.cmp(right);
        }
        let layout = self.system.layout();
        let by_field = layout.fields().iter().enumerate().map(|(at, field)| {
            let (a, b) = (field.get(left), field.get(right));
            if a == b || field.kind != FieldKind::Interned {
                return a.cmp(&b);
            }
            let text = |value| {
                self.system
                    .value_text(stubborn_system::FieldId::new(at), value)
            };
            text(a).cmp(&text(b))
        });
        by_field.fold(Ordering::Equal, Ordering::then)
    }

    pub(crate) fn compare_findings(&self, left: &Finding, right: &Finding) -> Ordering {
        left.length
            .cmp(&right.length)
            .then_with(|| self.compare(&left.state, &right.state))
            .then_with(|| left.step.cmp(&right.step))
    }
}

/// The violations of one target that one thread saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) best: Option<Finding>,
    /// The best one has no path yet.
    fresh: bool,
    /// The first one was found before the search had to wait.
    has_first: bool,
}

impl Tally {
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        sink.number(self.count)?;
        sink.number(self.best.is_some().into())?;
        let Some(best) = &self.best else {
            return Ok(());
        };
        sink.number(best.length)?;
        sink.numbers(best.state.iter().map(|word| u64::from(*word)))?;
        let step = best
            .step
            .map(|(transition, outcome)| [1, transition.index() as u64, outcome.to_bits()]);
        sink.numbers(step.unwrap_or_default())?;
        sink.number(best.path.len() as u64)?;
        sink.numbers(best.path.iter().copied())
    }

    pub(crate) fn restore(
        reading: &mut Reading<'_, '_, '_>,
        system: &dyn System,
    ) -> io::Result<Self> {
        let count = reading.at_most_many()?;
        let mut best = None;
        if reading.flag()? {
            let length = reading.at_most_many()?;
            let state = words(reading.source, system.layout().words())?;
            let step = step(reading.source, system)?;
            best = Some(Finding {
                length,
                state: state.into(),
                step,
                path: reading.entries()?.as_slice().to_vec(),
            });
        }
        Ok(Self {
            count,
            best,
            ..Self::default()
        })
    }
}

/// Collects the violations that one thread sees.
pub(crate) struct FindingKeeper<'a> {
    control: &'a Control<'a>,
    order: &'a ValueOrder<'a>,
    preference: Preference,
    tallies: Vec<Tally>,
    has_fresh: bool,
}

impl<'a> FindingKeeper<'a> {
    pub(crate) fn new(
        control: &'a Control<'a>,
        order: &'a ValueOrder<'a>,
        preference: Preference,
        targets: usize,
    ) -> Self {
        Self {
            control,
            order,
            preference,
            tallies: vec![Tally::default(); targets],
            has_fresh: false,
        }
    }

    /// What was found before is what is shown, if the first one is.
    pub(crate) fn goes_on_from(&mut self, before: &[Tally]) {
        if self.preference == Preference::First {
            for (tally, before) in self.tallies.iter_mut().zip(before) {
                tally.has_first = before.best.is_some();
            }
        }
    }

    /// A visitor has seen enough.
    #[cold]
    pub(crate) fn stop(&self) {
        self.control.stop_found();
    }

    /// A bad state.
    pub(crate) fn state(&mut self, target: usize, length: u64, state: &[u32]) {
        self.add(target, length, state, None);
    }

    /// A bad step from `state`.
    pub(crate) fn edge(
        &mut self,
        target: usize,
        length: u64,
        state: &[u32],
        step: (TransitionId, Outcome),
    ) {
        self.add(target, length, state, Some(step));
    }

    #[cold]
    fn add(
        &mut self,
        target: usize,
        length: u64,
        state: &[u32],
        step: Option<(TransitionId, Outcome)>,
    ) {
        let tally = &mut self.tallies[target];
        tally.count += 1;
        if tally.has_first {
            return;
        }
        // Most of thousands of violations are not nearer than the best one.
        let hopeless = |best: &Finding| match self.preference {
            Preference::First => true,
            Preference::Least => best.length < length,
        };
        if tally.best.as_ref().is_some_and(hopeless) {
            return;
        }
        let finding = Finding {
            length,
            state: state.into(),
            step,
            path: Vec::new(),
        };
        let is_better = tally
            .best
            .as_ref()
            .is_none_or(|best| self.order.compare_findings(&finding, best).is_lt());
        if is_better {
            tally.best = Some(finding);
            tally.fresh = true;
            self.has_fresh = true;
            self.control.note_hit(target);
        }
    }

    /// Whether there are findings without a path.
    #[inline]
    pub(crate) fn has_fresh(&self) -> bool {
        self.has_fresh
    }

    /// The findings without a path, to be given one now.
    pub(crate) fn take_fresh(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.has_fresh = false;
        self.tallies
            .iter_mut()
            .filter_map(|tally| std::mem::take(&mut tally.fresh).then_some(&mut tally.best))
            .flatten()
    }

    pub(crate) fn into_tallies(self) -> Vec<Tally> {
        self.tallies
    }
}

/// Adds up what the threads saw.
pub(crate) fn merge(order: &ValueOrder<'_>, into: &mut [Tally], from: Vec<Tally>) {
    for (sum, part) in into.iter_mut().zip(from) {
        sum.count += part.count;
        let is_better = match (&sum.best, &part.best) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(old), Some(new)) => order.compare_findings(new, old).is_lt(),
        };
        if is_better {
            sum.best = part.best;
        }
    }
}
