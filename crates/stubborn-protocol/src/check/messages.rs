//! Checks by [sets of messages](crate::lazy): learning, revision, and whether it pays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stubborn_plan::reduction::{Made, PlannedSearch};
use stubborn_plan::{Planner, Por, Verdict};
use stubborn_search::{End, Limit, Stop, Target};
use stubborn_system::{Patience, Random, System};

use super::{Check, PATIENCE};
use crate::bounded::Bounded;
use crate::error::CheckError;
use crate::executor::ProtocolExecutor;
use crate::lazy::{Effort, MessageReduction, Met, Quotient, Tables, Watch, Without, superfluous};
use crate::network::Network;

/// Random walks that look for what lies deep: the most steps of one of them, and powers of two of
/// steps, each in vain if nothing new was met; then there are no more.
const LONGEST_WALK: usize = 400;
const LEGS_OF_WALKS: std::ops::Range<u32> = 10..17;
/// So many different moves are enough, too: where messages pile up, there is no end of them.
const MOST_MOVES_OF_WALKS: usize = 50_000;

/// What a reduced search may take of the states of an unreduced one to get as deep: about what a
/// reduced state costs more, and what it costs to learn.
const WORTHWHILE: u64 = 4;

/// What part of the states is enough to see that hardly anything is left out.
const FIRST_LOOK: u64 = 8;

/// What may be done to relate what was met, before it is known to pay: less than a second.
const EFFORT_OF_TRIAL: u64 = 100_000_000;

impl Check<'_> {
    /// Without reduction as long as there are few states, then between messages if that pays.
    pub(super) fn where_it_pays(
        &self,
        system: &Bounded<'_>,
        targets: &[Target],
    ) -> Result<stubborn_plan::Report, CheckError> {
        let most = self.limits.states.unwrap_or(u64::MAX);
        let first = self.unreduced_up_to(system, targets, most.min(PATIENCE))?;
        let end = first.runs[0].result.end;
        match end == End::Limit(Limit::States) && most > PATIENCE {
            true => {
                let full = first.runs[0].result.level_sizes.clone();
                self.by_messages(system, targets, Some(&full))
            }
            false => Ok(first),
        }
    }

    /// Walks about, to meet what lies deep, until nothing new is met. The same walks each time.
    fn walk(&self, system: &Bounded<'_>) {
        let inner = &self.model.inner;
        let met = || inner.met.lock().unwrap_or_else(|e| e.into_inner()).size();
        let mut random = Random::new(0);
        let error = self.model.structure().error_state.as_deref();
        let mut executor = ProtocolExecutor::new(inner, error);
        let initial = inner.initial_words();
        let mut state = initial.to_vec();
        let mut patience = Patience::new(system.budget(), 64);
        let (mut known, mut steps) = (0, 0);
        for leg in LEGS_OF_WALKS {
            for _ in 0..1 << leg {
                steps += 1;
                let begins_again = steps % LONGEST_WALK == 0;
                if begins_again || executor.random_step(&mut state, &mut random).is_none() {
                    state.copy_from_slice(initial);
                }
                if executor.moves_known() > MOST_MOVES_OF_WALKS || patience.spent().is_some() {
                    return;
                }
            }
            if std::mem::replace(&mut known, met()) == known {
                return;
            }
        }
    }

    fn unreduced_up_to(
        &self,
        system: &Bounded<'_>,
        targets: &[Target],
        most: u64,
    ) -> Result<stubborn_plan::Report, CheckError> {
        let mut options = self.options(Por::None);
        options.limits.states = Some(most).filter(|most| *most < u64::MAX);
        self.unreduced(system, &options, targets, self.stop)
    }

    /// To the end, with a word about why nothing is reduced.
    fn unreduced_because(
        &self,
        system: &Bounded<'_>,
        targets: &[Target],
        why: &str,
    ) -> Result<stubborn_plan::Report, CheckError> {
        let most = self.limits.states.unwrap_or(u64::MAX);
        let mut found = self.unreduced_up_to(system, targets, most)?;
        for run in &mut found.runs {
            run.reduction = why.to_owned();
        }
        Ok(found)
    }

    /// With [sets of messages](crate::lazy), again and again until nothing new is met. If the levels
    /// of an unreduced search are given, only if few states are left of them.
    pub(super) fn by_messages(
        &self,
        system: &Bounded<'_>,
        targets: &[Target],
        full: Option<&[u64]>,
    ) -> Result<stubborn_plan::Report, CheckError> {
        let inner = &self.model.inner;
        let most = self.limits.states.unwrap_or(u64::MAX);
        // If that does not help, little is lost.
        let trial = (PATIENCE / WORTHWHILE).min(most);
        let mut cap = full.map_or(most, |_| trial.min(PATIENCE / FIRST_LOOK));
        // Something to begin with.
        self.walk(system);
        let mut drops = self.drops_useless_messages();
        let left_out = superfluous(inner, self.ends);
        let without = Without {
            system,
            left_out: &left_out,
        };
        let mut pays = false;
        let steps = full.map_or(u64::MAX, |_| EFFORT_OF_TRIAL);
        let mut effort = Effort::new(system.budget(), steps);
        for search in 1.. {
            let met = self.met(system);
            let Some(tables) = Tables::new(inner, &met, &left_out, &mut effort) else {
                let why = "none: there is too much to be related";
                return self.unreduced_because(system, targets, why);
            };
            let size = tables.size;
            let tables = Arc::new(tables);
            let quotient = Quotient {
                system: &without,
                inner,
                tables: Arc::clone(&tables),
                keeps_ends: self.ends,
                dropped: AtomicBool::new(false),
            };
            let asked: &dyn System = match drops {
                true => &quotient,
                false => &without,
            };
            let watch = Watch::new(self.limits.interrupt);
            let reduction = MessageReduction::new(inner, tables, &watch);
            // Also for ends: what is new must be met, so nothing may be put off for ever.
            let made = Made::by(Box::new(reduction), true);
            let planned = PlannedSearch::reduced(targets, made);
            let mut options = self.options(Por::None);
            options.limits.states = Some(cap).filter(|cap| *cap < u64::MAX);
            options.limits.interrupt = Some(&watch.interrupt);
            let planner = Planner::new(asked, &options);
            let mut found = planner.check_by(planned, targets, self.stop)?;
            if drops {
                let violations = found
                    .answers
                    .iter_mut()
                    .filter_map(|a| a.violation.as_mut());
                for violation in violations {
                    let trace = violation.trace.as_ref();
                    violation.trace = trace.and_then(|trace| quotient.unfold(trace));
                }
            }
            let result = &found.runs[0].result;
            let is_violated = |a: &stubborn_plan::Answer| a.verdict == Verdict::Violated;
            let enough = match self.stop {
                Stop::FirstViolation => found.answers.iter().any(is_violated),
                _ => found.answers.iter().all(is_violated),
            };
            let grown = self.met(system).size() != size;
            let goes_on = match result.end {
                _ if enough => false,
                End::Complete => grown,
                End::Limit(Limit::Interrupted) => watch.has_met_something_new(),
                End::Limit(Limit::States) if cap < most => {
                    let is_first = cap < trial;
                    let levels = &result.level_sizes;
                    let is_in_vain = |full: &[u64]| match is_first {
                        true => leaves_nearly_all(levels, full),
                        false => levels.len() < full.len(),
                    };
                    if !pays && full.is_some_and(is_in_vain) {
                        let why = "none: it would not pay";
                        return self.unreduced_because(system, targets, why);
                    }
                    if !is_first {
                        pays = true;
                        effort.lift();
                    }
                    cap = match grown {
                        _ if is_first => trial,
                        true => cap.saturating_mul(4).min(most),
                        // Where nothing new is met, nothing new is expected.
                        false => most,
                    };
                    true
                }
                _ => false,
            };
            // Looking for what is not there takes time.
            drops &= quotient.dropped.load(Ordering::Relaxed) || full.is_none();
            if !goes_on {
                found.runs[0].reduction = match search {
                    1 => "messages".into(),
                    n => format!("messages, learnt in {n} searches"),
                };
                return Ok(found);
            }
        }
        self.unreduced_up_to(system, targets, most)
    }

    /// What was met so far, and what exchanges make of it.
    fn met(&self, system: &Bounded<'_>) -> Met {
        let met = self.model.inner.met.lock();
        let mut met = met.unwrap_or_else(|e| e.into_inner()).clone();
        if let Some(symmetric) = system.symmetric {
            symmetric.close(&mut met);
        }
        met
    }

    /// Whether [useless messages](crate::lazy) make no difference to what is asked. (Without them, a
    /// representative is none any more.)
    fn drops_useless_messages(&self) -> bool {
        if self.symmetric {
            return false;
        }
        match self.model.inner.protocol.network {
            Network::Unordered => true,
            Network::Duplicating => !self.ends,
            Network::Ordered => false,
        }
    }
}

/// Whether a reduced search has nine tenths of the states of an unreduced one, as deep as it got.
fn leaves_nearly_all(reduced: &[u64], full: &[u64]) -> bool {
    let depth = reduced.len().min(full.len());
    let states = |levels: &[u64]| levels[..depth].iter().sum::<u64>();
    states(reduced).saturating_mul(10) >= states(full).saturating_mul(9)
}
