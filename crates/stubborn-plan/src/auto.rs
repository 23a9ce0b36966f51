//! Whether reduction pays: the rule of `--por auto`.
//!
//! A reduced state costs more than a full one, and so do relations and the look at whether they
//! are worth it. So a search starts without reduction, and most models are done before any of
//! that is asked. After [`FEWEST_STATES`] it waits, later where relations of many transitions are still to be
//! computed, and after [`FIRST_PAUSE`] at the latest: the relations are computed, and the first
//! levels of the reduced searches are compared with its own. There may be several ways to answer
//! all questions, and the first one that leaves few states counts. If very few would be left, or
//! few and the levels say that much is still to come, the reduced searches begin, and what was done
//! is lost.
//! Otherwise the search goes on where it was, and nothing is lost but the look; later it is asked
//! again.
//!
//! A breadth-first search finds shortest counterexamples, and a reduced one need not. So where few states
//! would be left, the reduced searches are tried much [earlier](EARLIER), while the other one waits. If they find nothing,
//! that is the answer, and so it is if they find deadlocks only: every run to one has a permutation that
//! strong sets keep (Valmari, *Stubborn sets for reduced state space generation*, 1989), so that a shortest
//! one is as long as without them. If they find anything else, the search that waits goes on as far as it would have come without
//! being asked, and what it finds counts; if they reach a limit before they find anything, it is as if they had not been tried.
//! All this goes by counts, never by time: the same on every machine. (When the time is over,
//! nothing begins any more.)

use std::io;

use stubborn_reduce::{Algorithm, Config};
use stubborn_search::proviso::SafetyProviso;
use stubborn_search::{
    End, Limit, Limits, Order, Search, SearchResult, Sink, Source, Stop, Target,
};
use stubborn_system::{Reduction, RelationLevel, System};

use crate::options::ProvisoChoice;
use crate::reduction::{Made, PlannedSearch, SearchPlan, together_of};
use crate::safety::{Run, Runs};
use crate::{CheckError, Planner};

/// States that an unreduced search has before it may be given up, at least: about a second, several times what
/// it takes to compute relations where there are few transitions. (With fewer, counterexamples of small models are
/// no longer shortest: that of extinction.3 has 105 steps instead of 98 with half a million.)...
const FEWEST_STATES: u64 = 2_000_000;
/// ... of up to so many words: a state of 31 words (SPIN's leader) takes more than twice as long as one of three...
const USUAL_WORDS: u64 = 16;
/// ... and where there are many, about as long as so many states for each pair: nobody has to wait longer
/// than for what was done so far...
const STATES_A_PAIR: u64 = 1;
/// ... nor for ever.
pub(crate) const FIRST_PAUSE: u64 = 4_000_000;
/// With this part of the fewest states, and of those for each pair...
const EARLIER: u64 = 20;
const EARLIER_PAIRS: u64 = 2;
/// ... reduced searches are tried where at most this share of the states is left (centralized, giop1,
/// iprotocol2: 0.09 to 0.12; event-mgr, dyntick, brp: 0.20 to 0.40, and they would lose)...
const EARLY_SHARE: f64 = 0.15;
/// ... and so many are compared with rough relations, to see whether better ones are worth it.
const QUICKLY_COMPARED: u64 = 5_000;
/// How many times more states there are when it is asked again.
const NEXT_PAUSE: u64 = 2;
/// Reduction pays if at most this share of the states is left, in all reduced searches together.
/// Measured on BEEM models of 1 to 20 million states, a reduced state costs 1.8 times a full one
/// on average, and up to four times.
pub(crate) const LARGEST_SHARE: f64 = 0.4;
/// With at most this share, it pays even if nothing is to come but a proof that that is so: the
/// reduced searches take a small part of what was done.
const SMALL_SHARE: f64 = 0.1;
/// What it takes to find a set, in [units](Reduction::work), where a reduced state costs that much.
/// Only what is beyond that counts: train-gate.6 and SPIN's leader and peterson4 stay below...
const USUAL_WORK: f64 = 800.0;
/// ... and this is what a full state takes. (firewire_link.7 in Promela, 1,538 transitions: 47 full states
/// for a reduced one, by the clock about 20.)
const STATE_WORK: f64 = 600.0;
/// States of a reduced search that are looked at.
pub(crate) const COMPARED_STATES: u64 = 20_000;
/// So few tell whether sets are so dear that nothing could make up for it...
const FEW_STATES: u64 = 500;
/// ... a reduced state costing so many full ones.
const HIGHEST_PRICE: f64 = 500.0;
/// Much is still to come if the last level's share of all states is at most this many times the
/// growth of levels. On a normal curve, three quarters are then still to come; real curves are
/// less regular, and it may be half.
const STEEP: f64 = 1.9;

/// What was decided so far, for a search that is taken up again.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    /// States at which somebody asks again, whatever the user's limit is.
    next_pause: u64,
    /// Levels that there were when the reduced ways were compared.
    compared_levels: Option<u64>,
    reduce: bool,
}

impl Decision {
    /// Where nobody decides.
    pub(crate) fn nobodys() -> Self {
        Self {
            next_pause: u64::MAX,
            compared_levels: None,
            reduce: false,
        }
    }

    /// About a check of a temporal property: with how many states it is asked, if that is to come,
    /// and whether it is reduced.
    pub(crate) fn of_check(next_pause: u64, reduce: bool) -> Self {
        Self {
            next_pause,
            reduce,
            ..Self::nobodys()
        }
    }

    /// The same, not reduced so far, and whether it was found that this would not pay.
    pub(crate) fn of_auto(next_pause: u64, is_unpaid: bool) -> Self {
        Self {
            next_pause,
            compared_levels: is_unpaid.then_some(0),
            ..Self::nobodys()
        }
    }

    pub(crate) fn next_pause(&self) -> u64 {
        self.next_pause
    }

    /// Whether it was asked how much a reduction leaves.
    pub(crate) fn was_compared(&self) -> bool {
        self.compared_levels.is_some()
    }

    /// Whether somebody will be asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.next_pause < u64::MAX
    }

    /// Whether reduced searches begin.
    pub(crate) fn reduces(&self) -> bool {
        self.reduce
    }

    pub(crate) fn write(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let levels = self.compared_levels.map_or(0, |levels| levels + 1);
        sink.numbers([self.next_pause, levels, self.reduce.into()])
    }

    pub(crate) fn read(source: &mut Source<'_>) -> io::Result<Self> {
        let next_pause = source.number()?;
        Ok(Self {
            next_pause,
            compared_levels: source.number()?.checked_sub(1),
            reduce: source.at_most(1, "neither yes nor no")? == 1,
        })
    }
}

/// How many states an unreduced search has when it is first asked, if the relations between so many
/// transitions are not known yet.
fn first_pause(unknown: u64, fewest: u64) -> u64 {
    let pairs = unknown.saturating_mul(unknown);
    pairs.saturating_mul(STATES_A_PAIR).max(fewest)
}

/// States that take about as long as [`FEWEST_STATES`] of the usual size.
fn fewest_states(words: usize) -> u64 {
    FEWEST_STATES * USUAL_WORDS / USUAL_WORDS.max(words as u64)
}

impl Planner<'_> {
    /// The same for its system, and within the user's patience.
    pub(crate) fn first_pause(&self, fewest: u64) -> u64 {
        let unknown = match self.knows_relations() {
            true => 0,
            false => self.system.structure().transitions.len() as u64,
        };
        first_pause(unknown, fewest).min(self.options.reduction.patience)
    }
}

/// Decides for an unreduced search that waits.
pub(crate) struct Decider<'m, 'q> {
    planner: &'q Planner<'m>,
    targets: &'q [Target],
    /// The most states that the user allows.
    most: u64,
    /// The best of the reduced ways, once it was asked for.
    best: Option<Result<Estimate<'m>, CheckError>>,
    decision: Decision,
    /// When reduced searches may be tried, and how they stop.
    early: Option<(u64, Stop)>,
    /// What they found...
    tried: Option<Result<Runs<'m>, CheckError>>,
    /// ... and that nothing else can make that better.
    is_settled: bool,
}

/// Reduced searches, and how much they would leave.
struct Estimate<'m> {
    plan: SearchPlan<'m>,
    /// Of states, in all searches together.
    share: f64,
}

impl<'m, 'q> Decider<'m, 'q> {
    pub(crate) fn new(planner: &'q Planner<'m>, targets: &'q [Target]) -> Self {
        Self {
            planner,
            targets,
            most: planner.options.limits.states.unwrap_or(u64::MAX),
            best: None,
            decision: Decision {
                next_pause: planner.first_pause(fewest_states(planner.system.layout().words())),
                ..Decision::nobodys()
            },
            early: None,
            tried: None,
            is_settled: false,
        }
    }

    /// The same, and reduced searches that stop so may be tried before. Only on the shortest way to
    /// violations, and where nothing is kept: nobody could take them up again.
    pub(crate) fn trying(mut self, stop: Stop) -> Self {
        let options = self.planner.options;
        let fewest = fewest_states(self.planner.system.layout().words()) / EARLIER;
        let pairs = self.planner.first_pause(0) / EARLIER_PAIRS;
        let early = fewest.max(pairs);
        let is_possible = options.keeping.is_none()
            && options.order == Order::BreadthFirst
            && options.reduction.measured.is_none()
            && self.planner.cluster().is_none();
        if is_possible && early < self.next_pause() {
            self.early = Some((early, stop));
        }
        self
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Goes on with what was decided about a search that has these levels now.
    pub(crate) fn recall(&mut self, decision: Decision, level_sizes: &[u64]) {
        if let Some(levels) = decision.compared_levels {
            let levels = usize::try_from(levels).unwrap_or(usize::MAX);
            let compared = &level_sizes[..levels.min(level_sizes.len())];
            self.best = Some(self.best_of_all(compared));
        }
        self.decision = decision;
    }

    /// The limit to begin or to go on with.
    pub(crate) fn next_pause(&self) -> u64 {
        let early = self.early.map_or(u64::MAX, |(states, _)| states);
        self.most.min(self.decision.next_pause).min(early)
    }

    /// How far a search may go on that has so many states; `None` if it ends here.
    pub(crate) fn ask(&mut self, states: u64, level_sizes: &[u64]) -> Option<u64> {
        if let Some((_, stop)) = self.early.take() {
            if self.is_promising(level_sizes) {
                self.tried = self.attempt(level_sizes, stop).transpose();
            }
            // Where a limit was reached and nothing found, it is as if nobody had asked: two searches at once take
            // more memory than one.
            self.tried.take_if(|tried| {
                tried.as_ref().is_ok_and(|runs| {
                    let mut results = runs.iter().map(|(_, run)| &run.result);
                    results.clone().all(|result| result.violations.is_empty())
                        && results.any(|result| matches!(result.end, End::Limit(_)))
                })
            });
            self.is_settled = match &self.tried {
                None => false,
                Some(Err(_)) => true,
                Some(Ok(runs)) => runs.iter().all(|(_, run)| is_answer(&run.result)),
            };
            return (!self.is_settled).then(|| self.next_pause());
        }
        if self.tried.is_some() {
            // Reduction pays, and this search came as far as it should.
            return None;
        }
        if self.best.is_none() {
            self.best = Some(self.best_of_all(level_sizes));
            self.decision.compared_levels = Some(level_sizes.len() as u64);
        }
        if self.planner.is_over() {
            return None;
        }
        let Some(Ok(Estimate { share, .. })) = self.best else {
            // Why there is none is said when the search has ended.
            self.decision.reduce = true;
            return None;
        };
        let no_more = states >= self.most;
        let reduce = match no_more {
            // Nothing is lost by trying.
            true => share < 1.0,
            false => share <= SMALL_SHARE || share <= LARGEST_SHARE && much_to_come(level_sizes),
        };
        self.decision.reduce = reduce;
        if reduce || no_more {
            return None;
        }
        self.decision.next_pause = states.saturating_mul(NEXT_PAUSE);
        Some(self.next_pause())
    }

    /// What counts when the unreduced search has ended: that, or what was tried while it waited.
    pub(crate) fn runs(&mut self, own: (PlannedSearch<'m>, Run)) -> Result<Runs<'m>, CheckError> {
        let is_limited = matches!(own.1.result.end, End::Limit(_));
        let Some(tried) = self.tried.take_if(|_| is_limited) else {
            return Ok(vec![own]);
        };
        let mut runs = tried?;
        if !self.is_settled && !own.1.result.violations.is_empty() {
            runs.insert(0, own);
        }
        Ok(runs)
    }

    /// Whether a quick look says that few states would be left: with relations that cost next to nothing.
    fn is_promising(&self, level_sizes: &[u64]) -> bool {
        let planner = self.planner;
        if planner.knows_relations() {
            return true;
        }
        if !much_to_come(level_sizes) {
            return false;
        }
        let system = planner.system;
        let level = planner
            .options
            .reduction
            .relations
            .min(RelationLevel::Syntax);
        let rough = system.relations_of_strong_sets(level);
        let aim = together_of(system.structure(), self.targets);
        let made = Made::new(system, &rough, &Config::new(Algorithm::Beam), aim);
        made.is_ok_and(|made| {
            let proviso = made.proviso(ProvisoChoice::Auto, Order::BreadthFirst, 1);
            let share = state_share(
                system,
                made.reduction(),
                proviso,
                level_sizes,
                QUICKLY_COMPARED,
            );
            share.priced() <= EARLY_SHARE
        })
    }

    /// Runs the reduced searches, if few states would be left.
    fn attempt(&mut self, level_sizes: &[u64], stop: Stop) -> Result<Option<Runs<'m>>, CheckError> {
        let best = self.best_of_all(level_sizes)?;
        if self.planner.is_over() {
            return Ok(None);
        }
        if best.share > EARLY_SHARE {
            self.best = Some(Ok(best));
            self.decision.compared_levels = Some(level_sizes.len() as u64);
            return Ok(None);
        }
        self.planner
            .run_all(best.plan, self.targets, stop)
            .map(Some)
    }

    /// The searches to begin instead of the one that has ended, if any.
    pub(crate) fn plan(
        &mut self,
        ended: &SearchResult,
    ) -> Option<Result<SearchPlan<'m>, CheckError>> {
        if self.planner.is_over() || self.tried.is_some() {
            return None;
        }
        let out_of_memory = matches!(ended.end, End::Limit(Limit::Memory | Limit::StoreFull));
        match self.best.take() {
            Some(best) if self.decision.reduce => Some(best.map(|best| best.plan)),
            // Fewer states may fit.
            best if out_of_memory => {
                let best = best.unwrap_or_else(|| self.best_of_all(&[]));
                Some(best.map(|best| best.plan))
            }
            _ => None,
        }
    }

    /// The first of several ways to answer all questions that leaves few states; the first of all
    /// if none does.
    fn best_of_all(&self, full: &[u64]) -> Result<Estimate<'m>, CheckError> {
        let mut best: Option<Estimate<'m>> = None;
        for plan in self.planner.ways(self.targets)? {
            let share = match &best {
                None => Some(self.share(&plan, full, f64::INFINITY).unwrap_or(1.0)),
                Some(best) if best.share <= LARGEST_SHARE => break,
                Some(_) => self.share(&plan, full, LARGEST_SHARE),
            };
            if let Some(share) = share {
                best = Some(Estimate { plan, share });
            }
        }
        Ok(best.unwrap_or(Estimate {
            plan: Vec::new(),
            share: 1.0,
        }))
    }

    /// Of states, left by all searches of a plan together; `None` if that is more than `most`.
    fn share(&self, plan: &SearchPlan<'m>, full: &[u64], most: f64) -> Option<f64> {
        let system = self.planner.system;
        let mut sum = 0.0;
        for search in plan {
            sum += search.made.as_ref().map_or(1.0, |made| {
                let proviso = made.proviso(ProvisoChoice::Auto, Order::BreadthFirst, 1);
                state_share(system, made.reduction(), proviso, full, COMPARED_STATES).priced()
            });
            if sum > most {
                return None;
            }
        }
        Some(sum)
    }
}

/// Whether nobody could find more, or anything shorter, without reduction.
fn is_answer(result: &SearchResult) -> bool {
    let is_deadlock = |target| matches!(target, Target::Deadlock | Target::InvalidEnd);
    matches!(result.end, End::Complete | End::Violation)
        && result.violations.iter().all(|v| is_deadlock(v.target))
}

/// Which share of the states a reduction leaves, as far as the first breadth-first levels tell:
/// on 47 BEEM models of 20,000 to 400,000 states that is within 0.1 of the share of all states
/// for all but six. With it, what a reduced state costs where sets take more work than usual. So many
/// states are compared.
pub(crate) fn state_share(
    system: &dyn System,
    reduction: &dyn Reduction,
    proviso: Option<&dyn SafetyProviso>,
    full: &[u64],
    compared: u64,
) -> Share {
    let levels = |reduction: Option<&dyn Reduction>, most: u64, depth: Option<u64>| {
        let search = Search {
            reduction,
            proviso: proviso.filter(|_| reduction.is_some()),
            stop: Stop::Never,
            limits: Limits {
                states: Some(most),
                depth,
                ..Limits::default()
            },
            ..Search::new(system)
        };
        let result = search.run().ok()?;
        // Nothing more is to come that anybody looks at.
        let complete = result.is_complete() || result.end == End::Limit(Limit::Depth);
        Some((result.level_sizes, complete, result.states))
    };
    let own;
    let (full, depth) = match full {
        [] => {
            own = levels(None, compared, None)
                .map(|(sizes, ..)| sizes)
                .unwrap_or_default();
            (&own[..], Some(last_compared(&own)))
        }
        known => (known, None),
    };
    share_of(full, compared, |most| {
        let before = reduction.work();
        let (reduced, complete, states) = levels(Some(reduction), most, depth)?;
        Some((reduced, complete, price(reduction.work() - before, states)))
    })
}

/// How deep a reduced search goes that is compared with these levels: the last one may not be all there.
pub(crate) fn last_compared(full: &[u64]) -> u64 {
    full.len().saturating_sub(2) as u64
}

/// What a reduced state costs if so many took so much work.
pub(crate) fn price(work: u64, states: u64) -> f64 {
    let work = work as f64 / states.max(1) as f64;
    1.0 + (work - USUAL_WORK).max(0.0) / STATE_WORK
}

/// The same beside the levels of a full search; `sample` has those of a reduced one with so many states, whether
/// nothing is to come, and the price.
pub(crate) fn share_of(
    full: &[u64],
    compared: u64,
    sample: impl Fn(u64) -> Option<(Vec<u64>, bool, f64)>,
) -> Share {
    // Where sets are very dear, a few are enough to see that.
    let (mut reduced, complete, price) = match sample(FEW_STATES) {
        None => return Share::ALL,
        Some((.., price)) if price > HIGHEST_PRICE => {
            return Share {
                price,
                ..Share::ALL
            };
        }
        Some(_) => match sample(compared) {
            None => return Share::ALL,
            Some(sample) => sample,
        },
    };
    // The last level of a search that was given up may not be all there.
    if complete {
        reduced.resize(reduced.len().max(full.len()), 0);
    }
    let common = full.len().min(reduced.len()).saturating_sub(1);
    let count = |levels: &[u64]| levels[..common].iter().sum::<u64>();
    let share = count(&reduced) as f64 / count(full).max(1) as f64;
    Share {
        states: share,
        price,
    }
}

/// What a reduction leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Of the states.
    pub(crate) states: f64,
    /// What one of these costs, in states that cost what is usual.
    pub(crate) price: f64,
}

impl Share {
    /// Nothing is left out.
    pub(crate) const ALL: Self = Self {
        states: 1.0,
        price: 1.0,
    };

    /// As if all states cost the same.
    pub(crate) fn priced(self) -> f64 {
        self.states * self.price
    }
}

/// Whether there are many more states than in these levels, of which the last ones are taken for
/// the left side of a normal curve. Without levels, nobody knows.
fn much_to_come(levels: &[u64]) -> bool {
    let width = (levels.len() / 8).max(2);
    let Some(known) = levels.len().checked_sub(3 * width) else {
        // So few levels grow fast.
        return true;
    };
    let sum = |at: usize| levels[known + at * width..][..width].iter().sum::<u64>() as f64;
    let all = levels.iter().sum::<u64>() as f64;
    let (before, last) = (sum(0).max(sum(1)), sum(2));
    // The growth of a level over the one before it, and the last one's share of all: where they
    // are equal, growth is exponential.
    let growth = (last / before.max(1.0)).ln() / width as f64;
    let share = last / width as f64 / all;
    growth > 0.0 && share <= STEEP * growth
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use stubborn_system::{BitSet, Expansion, Reducer, SetMember};

    use super::*;

    #[test]
    fn relations_cost_no_more_than_what_was_done_before_them() {
        assert_eq!(first_pause(0, 50_000), 50_000, "they are known");
        assert_eq!(first_pause(10, 50_000), 50_000, "there are few");
        // SPIN's leader election.
        assert_eq!(first_pause(388, 50_000), 388 * 388);
        assert_eq!(first_pause(u64::MAX, 50_000), u64::MAX);
    }

    #[test]
    fn wide_states_are_asked_about_sooner() {
        assert_eq!(fewest_states(2), FEWEST_STATES);
        assert_eq!(fewest_states(16), FEWEST_STATES);
        assert_eq!(fewest_states(64), FEWEST_STATES / 4);
    }

    /// Keeps so many of the transitions, and says that each set took so much work.
    struct Dear {
        work: u64,
        most: usize,
        sets: AtomicU64,
    }

    impl Reduction for Dear {
        fn reducer(&self) -> Box<dyn Reducer + '_> {
            Box::new(KeepsSome(self))
        }

        fn name(&self) -> String {
            "dear".into()
        }

        fn work(&self) -> u64 {
            self.work * self.sets.load(Ordering::Relaxed)
        }
    }

    struct KeepsSome<'r>(&'r Dear);

    impl Reducer for KeepsSome<'_> {
        fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
            self.0.sets.fetch_add(1, Ordering::Relaxed);
            kept.clear();
            for transition in expansion.enabled().take(self.0.most) {
                kept.insert(transition.index());
            }
            expansion.enabled().nth(self.0.most).is_some()
        }

        fn last_set(&self) -> Vec<SetMember> {
            Vec::new()
        }
    }

    /// Sets that take much work count as states, and very dear ones are not looked at for long.
    #[test]
    fn the_price_of_sets_counts() {
        let model = crate::tests::counters();
        let share = |work: u64| {
            let dear = Dear {
                work,
                most: usize::MAX,
                sets: AtomicU64::new(0),
            };
            let share = state_share(&model, &dear, None, &[], COMPARED_STATES);
            assert_eq!(share.states, 1.0);
            (share, dear.sets.into_inner())
        };
        let (cheap, sets) = share(100);
        assert_eq!(cheap.priced(), 1.0);
        assert!(sets > 1_000, "{sets}");
        let (dear, _) = share(20_000);
        assert!(dear.price > 5.0 && dear.priced() > 5.0, "{dear:?}");
        let (too_dear, sets) = share(10_000_000);
        assert!(
            too_dear.price > HIGHEST_PRICE && sets <= FEW_STATES,
            "{sets}"
        );
    }

    /// A decider for eight counters that has just asked early; with what it said, and the searches that count
    /// where the one that waited has ended at a limit.
    fn asked_early(target: impl Fn(&stubborn_ir::Model) -> Target) -> (Option<u64>, Vec<String>) {
        let model = crate::tests::counters();
        let options = crate::CheckOptions::default();
        let planner = Planner::new(&model, &options);
        let targets = [target(&model)];
        let mut decider = Decider::new(&planner, &targets).trying(Stop::AllViolated);
        let early = decider.next_pause();
        assert!(early <= FEWEST_STATES / EARLIER, "{early}");
        let doubling: Vec<u64> = (0..16).map(|level| 1 << level).collect();
        let next = decider.ask(early, &doubling);
        if next.is_some() {
            assert_eq!(next, Some(FEWEST_STATES));
            assert_eq!(decider.ask(FEWEST_STATES, &doubling), None);
        }
        let limits = Limits {
            states: Some(10),
            ..Limits::default()
        };
        let search = Search {
            limits,
            ..Search::new(&model)
        };
        let own = Run {
            reduction: "none".into(),
            engine: "own",
            result: search.run().expect("it works"),
        };
        assert!(decider.plan(&own.result).is_none());
        let runs = decider.runs((PlannedSearch::unreduced(&targets), own));
        let runs = runs.expect("it works").into_iter();
        (next, runs.map(|(_, run)| run.reduction).collect())
    }

    /// What a reduced search finds while the other one waits is the answer if nothing can be shorter;
    /// otherwise the other one goes on first.
    #[test]
    fn reduced_searches_are_tried_early() {
        let (next, runs) = asked_early(|_| Target::Deadlock);
        assert_eq!((next, &runs[..]), (None, &["beam".to_owned()][..]));
        // (That the first counter can go on.)
        let (next, runs) =
            asked_early(|model| Target::Label(model.structure().label_ids().next().expect("one")));
        assert_eq!(
            (next, &runs[..]),
            (Some(FEWEST_STATES), &["beam".to_owned()][..])
        );
    }

    /// A reduced search that has no room beside the other one is as good as none.
    #[test]
    fn what_reached_a_limit_was_not_tried() {
        let model = crate::tests::counters();
        let limits = Limits {
            memory: Some(1_000),
            ..Limits::default()
        };
        let options = crate::CheckOptions {
            limits,
            ..crate::CheckOptions::default()
        };
        let planner = Planner::new(&model, &options);
        let targets = [Target::Deadlock];
        let mut decider = Decider::new(&planner, &targets).trying(Stop::AllViolated);
        let doubling: Vec<u64> = (0..16).map(|level| 1 << level).collect();
        let early = decider.next_pause();
        assert_eq!(decider.ask(early, &doubling), Some(FEWEST_STATES));
        assert!(decider.tried.is_none());
        // Later, it has all the room.
        assert_eq!(decider.ask(FEWEST_STATES, &doubling), None);
        assert!(decider.decision.reduces());
    }

    /// The reduced search goes no deeper than the full one that it is compared with.
    #[test]
    fn what_is_not_compared_is_not_looked_at() {
        let model = crate::tests::counters();
        let first = Dear {
            work: 100,
            most: 1,
            sets: AtomicU64::new(0),
        };
        let share = state_share(&model, &first, None, &[], COMPARED_STATES);
        // One of the states on each level: eight on the second, 36 on the third...
        assert!(share.states < 0.01, "{share:?}");
        let sets = first.sets.into_inner();
        assert!((10..50).contains(&sets), "{sets}");
    }

    #[test]
    fn levels_tell_whether_much_is_to_come() {
        let curve =
            |level: i32| (1e6 * (-0.5 * (f64::from(level - 50) / 15.0).powi(2)).exp()) as u64;
        let until = |last: i32| (0..=last).map(curve).collect::<Vec<u64>>();
        assert!(much_to_come(&until(30)), "a tenth is there");
        assert!(!much_to_come(&until(50)), "half is there");
        assert!(!much_to_come(&until(70)), "nine tenths are there");
        let doubling: Vec<u64> = (0..20).map(|level| 1 << level).collect();
        assert!(much_to_come(&doubling));
        let steady = [1000; 30];
        assert!(!much_to_come(&steady));
    }
}
