//! Sets that are driven by the state of the automaton: no proviso, no visibility, and no
//! need that the property is stutter-invariant.
//!
//! After Jensen, Srba, Ulrik, Virenfeldt, *Automata-driven partial order reduction and guided
//! search for LTL model checking* (2022), and Lehmann, Lohmann, Wolf, *Stubborn sets for simple
//! linear time properties* (2012), for generalised acceptance on edges, with conditions of
//! our own that are weaker in several places.
//!
//! # What a set must do
//! Let the node be `(s, q)`, let `f` be an edge of the automaton from `q` to `r` that can be
//! taken on the letter of `s`, and `s = s0 t1 s1 t2 s2 …` an accepted continuation by it: `r`
//! reads `s1`, `s2`, and so on. A state *waits* on its self-loops: `wait(r)` is the disjunction
//! of their guards, `base(r)` the marks that all of them have. All other edges of `r`, and
//! self-loops with more marks, are its *events*. A loop with no more than the marks of `f` and
//! `base(r)` is not needed as an event: `f` has just been taken. For every `f`:
//!
//! 1. The set satisfies D1, as every set of `stubborn-reduce`.
//! 2. Nothing outside the set makes the guard of a needed event true. If it is true already, the
//!    event must be *short*: its guard implies that its target waits, and the automaton has an
//!    edge from `q` to that target for the letter of `s` with at least the marks of `f`,
//!    the event and `base(r)`; then nothing outside the set makes the guard false. If
//!    `wait(r)` is false, nothing outside makes that true either.
//! 3. If an enabled member may make `wait(r)` false, all that may make it true are
//!    members. If it may make the guard of a needed event `e` true at the same time, all that
//!    may do that are members, too, and the guard of `e` implies that its target waits, and
//!    `base(r)` is among the marks of `f` and `e`.
//! 4. If the marks of `f` and `base(r)` are all marks, and `wait(r)` is true, there is a key
//!    transition, and it makes neither `wait(r)` false, nor the guard of a loop that is not needed,
//!    nor the guard of a short event from whose target `r` can be entered again.
//!
//! In short: the first member on the way can be taken first (D1) and lets `r` wait (3), until the
//! next event is taken (2). Where that could have been taken at `s`, it is (2, short), and where
//! this would go on for ever, or nothing is left to be waited for, the key comes first, and changes
//! nothing that the automaton does (4). The proof, and how such nodes are mixed with nodes that are
//! reduced in the classic way, is in `docs/soundness.md`.
//!
//! Marks that can be changed without changing the language are changed before: edges between
//! components and edges inside weak ones get all marks, edges inside rejecting ones get none.

use rapidhash::RapidHashMap;
use stubborn_ltl::automaton::{Automaton, Marks, StateId};
use stubborn_ltl::components::{Components, Strength};
use stubborn_ltl::guard::{Cube, Guard, Guards};
use stubborn_reduce::steer::{
    Demand, Literal, Rule, SteeredReducer, SteeredReduction, Steering as Arranged,
};
use stubborn_system::{BitSet, Expansion, LabelId, Relations};

/// Guards with more products than this are not reasoned about.
const MOST_PRODUCTS: usize = 64;

/// States that have to look at more propositions than this, with what comes after them, are
/// not reasoned about: every valuation has a demand of its own.
pub(crate) const MOST_PROPOSITIONS: usize = 14;

/// A condition on states of the system, and who can change it.
#[derive(Clone, Debug)]
struct Condition {
    guard: Guard,
    /// As a disjunction of conjunctions; and its negation.
    ways: Vec<Vec<Literal>>,
    ways_out: Vec<Vec<Literal>>,
    /// Transitions that may make it true, false.
    establishing: BitSet,
    falsifying: BitSet,
}

/// An edge that a waiting state may take.
#[derive(Clone, Debug)]
struct Event {
    condition: Condition,
    target: StateId,
    marks: Marks,
    is_loop: bool,
    /// Its condition implies that its target waits.
    settles: bool,
    /// From its target the state can be entered again.
    returns: bool,
}

/// A state of the automaton, as one that waits.
#[derive(Clone, Debug)]
struct Waiting {
    wait: Condition,
    base: Marks,
    events: Vec<Event>,
}

/// What an automaton asks of sets, in each of its states.
#[derive(Debug)]
pub(crate) struct SteeringTables {
    reduction: SteeredReduction,
    /// The arena of the conditions.
    guards: Guards,
    /// `None` where the guards are too complex.
    states: Vec<Option<Waiting>>,
    all: Marks,
}

impl SteeringTables {
    pub(crate) fn new(
        reduction: SteeredReduction,
        automaton: &Automaton,
        labels: &[LabelId],
        relations: &Relations,
        transitions: usize,
    ) -> Self {
        let mut builder = Builder {
            guards: automaton.guards().clone(),
            labels,
            relations,
            transitions,
        };
        let components = Components::of(automaton);
        let states = automaton.states();
        let states = states.map(|state| builder.waiting(automaton, &components, state));
        Self {
            reduction,
            states: states.collect(),
            guards: builder.guards,
            all: automaton.all_marks(),
        }
    }

    /// Who finds the sets.
    pub(crate) fn reduction(&self) -> &SteeredReduction {
        &self.reduction
    }

    /// What a set has to do in a state of the system with this valuation, where the
    /// automaton has these moves. `None` if only everything will do.
    fn demand(&self, moves: &[(StateId, Marks)], valuation: &[u64]) -> Option<Demand> {
        let mut demand = Demand::default();
        for (state, marks) in moves {
            let waiting = self.states[state.index()].as_ref()?;
            let holds = |condition: &Condition| self.guards.holds(condition.guard, valuation);
            let waits = holds(&waiting.wait);
            if !waits {
                demand.goals.extend_from_slice(&waiting.wait.ways);
            }
            let taken = marks.union(waiting.base);
            let needs_key = waits && taken.contains(self.all);
            let mut not_the_key = waiting.wait.falsifying.clone();
            if waits {
                demand.rules.push(Rule {
                    of: waiting.wait.falsifying.clone(),
                    needs: Some(waiting.wait.establishing.clone()),
                });
            }
            for event in &waiting.events {
                let condition = &event.condition;
                if event.is_loop && taken.contains(event.marks) {
                    not_the_key.union_with(&condition.falsifying);
                    continue;
                }
                if holds(condition) {
                    let wanted = taken.union(event.marks);
                    let is_short = event.settles
                        && moves.iter().any(|(target, marks)| {
                            *target == event.target && marks.contains(wanted)
                        });
                    if !is_short {
                        return None;
                    }
                    demand.goals.extend_from_slice(&condition.ways_out);
                    // Else it is on no cycle of short cuts.
                    if event.returns {
                        not_the_key.union_with(&condition.falsifying);
                    }
                    continue;
                }
                demand.goals.extend_from_slice(&condition.ways);
                if waits {
                    let mut both = waiting.wait.falsifying.clone();
                    both.intersect_with(&condition.establishing);
                    let may_come_early =
                        event.settles && marks.union(event.marks).contains(waiting.base);
                    demand.rules.push(Rule {
                        of: both,
                        needs: may_come_early.then(|| condition.establishing.clone()),
                    });
                }
            }
            if needs_key {
                match &mut demand.key_outside {
                    Some(outside) => outside.union_with(&not_the_key),
                    none => *none = Some(not_the_key),
                }
            }
        }
        demand.rules.retain(|rule| !rule.of.none());
        Some(demand)
    }
}

struct Builder<'a> {
    guards: Guards,
    labels: &'a [LabelId],
    relations: &'a Relations,
    transitions: usize,
}

impl Builder<'_> {
    fn waiting(
        &mut self,
        automaton: &Automaton,
        components: &Components,
        state: StateId,
    ) -> Option<Waiting> {
        let (wait, base) = self.waits(automaton, state);
        let mut events = Vec::new();
        for edge in automaton.edges(state) {
            let is_loop = edge.target == state;
            if is_loop && base.contains(edge.marks) {
                continue;
            }
            let target_waits = self.waits(automaton, edge.target).0;
            events.push(Event {
                condition: self.condition(edge.guard)?,
                target: edge.target,
                marks: edge.marks,
                is_loop,
                settles: self.guards.implies(edge.guard, target_waits),
                returns: components.is_inner(state, edge.target),
            });
        }
        let wait = self.condition(wait)?;
        (!self.guards.overflowed()).then_some(Waiting { wait, base, events })
    }

    /// On which letters a state has self-loops, and the marks that all of them have.
    fn waits(&mut self, automaton: &Automaton, state: StateId) -> (Guard, Marks) {
        let (mut wait, mut base) = (Guard::FALSE, None);
        for edge in automaton.edges(state).iter().filter(|e| e.target == state) {
            wait = self.guards.or(wait, edge.guard);
            base = Some(Marks(
                base.map_or(edge.marks.0, |b: Marks| b.0 & edge.marks.0),
            ));
        }
        (wait, base.unwrap_or(Marks::NONE))
    }

    fn condition(&mut self, guard: Guard) -> Option<Condition> {
        let not = self.guards.not(guard);
        let ways = self.guards.cubes(guard, MOST_PRODUCTS)?;
        let ways_out = self.guards.cubes(not, MOST_PRODUCTS)?;
        Some(Condition {
            guard,
            establishing: self.leading_to(&ways),
            falsifying: self.leading_to(&ways_out),
            ways: self.literals(ways),
            ways_out: self.literals(ways_out),
        })
    }

    fn literals(&self, ways: Vec<Cube>) -> Vec<Vec<Literal>> {
        let label = |(variable, value): (u32, bool)| (self.labels[variable as usize], value);
        ways.into_iter()
            .map(|way| way.into_iter().map(label).collect())
            .collect()
    }

    /// The transitions that may make one of these conjunctions true: they make one of its
    /// literals true.
    fn leading_to(&self, ways: &[Cube]) -> BitSet {
        let mut all = BitSet::new(self.transitions);
        for (variable, value) in ways.iter().flatten() {
            let label = self.labels[*variable as usize];
            let row = match value {
                true => self.relations.may_enable.0.row_indices(label),
                false => self.relations.may_disable.0.row_indices(label),
            };
            for transition in row {
                all.insert(*transition as usize);
            }
        }
        all
    }
}

/// The same language with marks that make events rare.
pub(crate) fn settle_marks(automaton: &Automaton) -> Automaton {
    let components = Components::of(automaton);
    let strengths = components.strengths(automaton);
    let mut draft = automaton.draft();
    let all = draft.all_marks();
    for state in draft.states() {
        let strength = components.get(state).map(|c| strengths[c]);
        for edge in &mut draft.edges[state.index()] {
            if !components.is_inner(state, edge.target) {
                edge.marks = all;
                continue;
            }
            match strength {
                Some(Strength::Weak | Strength::Terminal) => edge.marks = all,
                Some(Strength::Rejecting | Strength::Transient) => edge.marks = Marks::NONE,
                Some(Strength::Strong) | None => {}
            }
        }
    }
    draft.finish()
}

/// One walk's use of the tables.
pub(crate) struct Steering<'t> {
    tables: &'t SteeringTables,
    reducer: SteeredReducer<'t>,
    /// By state of the automaton and valuation.
    numbers: Vec<RapidHashMap<Box<[u64]>, Option<usize>>>,
    arranged: Vec<Arranged>,
}

impl<'t> Steering<'t> {
    pub(crate) fn new(tables: &'t SteeringTables) -> Self {
        Self {
            tables,
            reducer: tables.reduction.reducer(),
            numbers: vec![RapidHashMap::default(); tables.states.len()],
            arranged: Vec::new(),
        }
    }

    /// Chooses the transitions to keep. True if some are left out.
    pub(crate) fn reduce(
        &mut self,
        from: StateId,
        moves: &[(StateId, Marks)],
        valuation: &[u64],
        expansion: &mut Expansion<'_>,
        kept: &mut BitSet,
    ) -> bool {
        let known = self.numbers[from.index()].get(valuation).copied();
        let number = known.unwrap_or_else(|| {
            let demand = self.tables.demand(moves, valuation);
            let number = demand.map(|demand| {
                self.arranged.push(self.tables.reduction.steering(demand));
                self.arranged.len() - 1
            });
            self.numbers[from.index()].insert(valuation.into(), number);
            number
        });
        match number {
            Some(number) => self
                .reducer
                .reduce(&self.arranged[number], number, expansion, kept),
            None => false,
        }
    }
}
