//! Automata that watch runs.

use stubborn_ir::Variable;
use stubborn_ltl::automaton::Automaton;
use stubborn_ltl::components::{Components, Strength};
use stubborn_ltl::guard::Cube;
use stubborn_system::LabelId;

use crate::Refusal;

/// Most states of an automaton: they are bits of a word.
const MOST_STATES: usize = 64;
/// Most ways to write a condition of an edge.
const MOST_CUBES: usize = 64;

/// A weak automaton: from some point on, a run that it accepts visits states of one kind alone, and every run
/// that does so is accepted. (So it is enough to look for a cycle among them. Most formulas that people write
/// have such automata: R. Bloem, K. Ravi, F. Somenzi, *Efficient decision procedures for model checking of
/// linear time logic properties*, 1999.)
#[derive(Clone, Debug)]
pub struct Watch {
    automaton: Automaton,
    labels: Vec<LabelId>,
    stutters: bool,
    accepting: u64,
}

/// Conditions of which one must hold, and where the automaton goes then.
pub(crate) type Move = (Vec<Cube>, u32);

impl Watch {
    /// With the labels of its propositions; where runs end, they go on by repeating the last state, or do not
    /// count.
    ///
    /// # Errors
    /// If it is not weak, or too large for a card.
    pub fn new(automaton: &Automaton, labels: &[LabelId], stutters: bool) -> Result<Self, Refusal> {
        let states = automaton.state_count();
        if states > MOST_STATES {
            return Err(Refusal::new(format!(
                "the automaton of the property has {states} states, too many for a card"
            )));
        }
        let components = Components::of(automaton);
        let strengths = components.strengths(automaton);
        if strengths.contains(&Strength::Strong) {
            return Err(Refusal::new(
                "the automaton of the property is not weak: some of its cycles are accepting, and \
                 others in the same component are not",
            ));
        }
        let is_accepting = |state| {
            let component = components.get(state);
            let strength = component.map(|component| strengths[component]);
            matches!(strength, Some(Strength::Weak | Strength::Terminal))
        };
        let accepting = automaton.states().filter(|state| is_accepting(*state));
        Ok(Self {
            accepting: accepting.fold(0, |mask, state| mask | 1 << state.index()),
            automaton: automaton.clone(),
            labels: labels.to_vec(),
            stutters,
        })
    }

    /// What its state is in a model.
    pub(crate) fn variable(&self) -> Variable {
        let last = self.automaton.state_count() as i32 - 1;
        let initial = self.automaton.initial().0 as i32;
        Variable::integer("the automaton", 0, last.max(1), initial)
    }

    pub(crate) fn labels(&self) -> &[LabelId] {
        &self.labels
    }

    pub(crate) fn stutters(&self) -> bool {
        self.stutters
    }

    /// The states that only accepted runs stay in, as bits.
    pub(crate) fn accepting(&self) -> u64 {
        self.accepting
    }

    /// Where it can go, for each state.
    pub(crate) fn edges(&self) -> Result<Vec<Vec<Move>>, Refusal> {
        let mut guards = self.automaton.guards().clone();
        let mut of = |state| {
            let edges = self.automaton.edges(state).iter();
            let cubes =
                edges.map(|edge| Some((guards.cubes(edge.guard, MOST_CUBES)?, edge.target.0)));
            cubes.collect::<Option<_>>()
        };
        let all: Option<_> = self.automaton.states().map(&mut of).collect();
        all.ok_or_else(|| Refusal::new("a condition of the property is too long for a card"))
    }

    /// How many states it can go to at once.
    pub(crate) fn most_moves(&self) -> usize {
        let targets = |state| {
            let edges = self.automaton.edges(state);
            let mut targets: Vec<u32> = edges.iter().map(|edge| edge.target.0).collect();
            targets.dedup();
            targets.len()
        };
        self.automaton
            .states()
            .map(targets)
            .max()
            .unwrap_or(1)
            .max(1)
    }
}
