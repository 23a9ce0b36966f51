//! From LTL to transition-based generalised Büchi automata.
//!
//! A state is a conjunction of formulas (a set of states of the very weak alternating
//! automaton of file `alternating.rs`); an edge combines one transition of each. There
//! is one acceptance set per formula that a run must not wait in for ever: an edge has
//! its mark unless the formula is still asked for afterwards and could not have been
//! fulfilled on the same letter with the same obligations (Gastin and Oddoux 2001,
//! section 4). Edges that ask for more and have fewer marks than another are left out.
//! Then the automaton is reduced ([`crate::reduce`]), and for obligation properties the
//! minimal weak deterministic automaton is taken if it is not larger.

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, Span};

use crate::alternating::{Alternating, MAX_COMPARED, Obligation, Transitions};
use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::formula::{Formula, Formulas, Proposition};
use crate::guard::{Guard, Guards};
use crate::normal::{Kind, Normal, Normals, TooDeep};
use crate::reduce::obligation::minimal_weak_deterministic;
use stubborn_graph::components;

/// How much work a translation may cost.
#[derive(Clone, Copy, Debug)]
pub struct TranslationOptions {
    /// Simplify the automaton after construction.
    pub reduce: bool,
    /// Try the minimal weak deterministic automaton.
    pub minimise_obligations: bool,
    /// Most states before reduction.
    pub max_states: usize,
    /// Most edges before reduction.
    pub max_edges: usize,
    /// Most steps of construction, each some ten nanoseconds: a number of steps rather
    /// than a time, so that the same formula is refused on every machine or on none.
    pub max_work: usize,
}

impl Default for TranslationOptions {
    fn default() -> Self {
        Self {
            reduce: true,
            minimise_obligations: true,
            max_states: 20_000,
            max_edges: 400_000,
            max_work: 200_000_000,
        }
    }
}

/// Most sets of states tried for a weak deterministic automaton.
const MAX_SETS_OF_STATES: usize = 2_000;

/// Why a formula has no automaton here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranslationError {
    /// The formula nests too deeply.
    TooDeep,
    /// The automaton before reduction is larger than the options allow.
    TooLarge,
    /// More acceptance sets are needed than an automaton can have.
    TooManySets,
}

impl From<TooDeep> for TranslationError {
    fn from(_: TooDeep) -> Self {
        Self::TooDeep
    }
}

impl std::fmt::Display for TranslationError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooDeep => TooDeep.fmt(out),
            Self::TooLarge => out.write_str("the automaton of the formula is too large"),
            Self::TooManySets => {
                write!(
                    out,
                    "the formula needs more than {} acceptance sets",
                    Marks::MAX_SETS
                )
            }
        }
    }
}

impl std::error::Error for TranslationError {}

impl TranslationError {
    /// The error as a message about the formula at `span`.
    pub fn diagnostic(self, span: Span) -> Diagnostic {
        let code = match self {
            Self::TooDeep => "LTL020",
            Self::TooLarge => "LTL021",
            Self::TooManySets => "LTL022",
        };
        Diagnostic::error(code, self.to_string(), span)
            .help("split the formula: check the parts of a conjunction one by one")
    }
}

/// An automaton that accepts exactly the words that satisfy the formula. Its
/// propositions are those that occur in the formula, in the order of the arena.
///
/// # Errors
/// Where the formula is too deep, or the automaton larger than `options` allow.
pub fn translate(
    formulas: &Formulas,
    formula: Formula,
    options: &TranslationOptions,
) -> Result<Automaton, TranslationError> {
    Translator::new(formulas, formula)?.positive(options)
}

/// Automata of the formula and of its negation.
///
/// # Errors
/// As [`translate`].
pub fn translate_both(
    formulas: &Formulas,
    formula: Formula,
    options: &TranslationOptions,
) -> Result<(Automaton, Automaton), TranslationError> {
    let mut translator = Translator::new(formulas, formula)?;
    let positive = translator.positive(options)?;
    let negative = translator.negative(options)?;
    Ok((positive, negative))
}

struct Translator {
    propositions: Vec<String>,
    normals: Normals,
    formula: Normal,
}

impl Translator {
    fn new(formulas: &Formulas, formula: Formula) -> Result<Self, TranslationError> {
        let used = formulas.propositions(formula);
        let index: RapidHashMap<Proposition, u32> = used
            .iter()
            .enumerate()
            .map(|(i, p)| (*p, i as u32))
            .collect();
        let mut normals = Normals::new();
        let formula = normals.add(formulas, formula, |p| index[&p])?;
        let propositions = used.iter().map(|p| formulas.name(*p).to_owned()).collect();
        if normals.guards.overflowed() {
            return Err(TranslationError::TooLarge);
        }
        Ok(Self {
            propositions,
            normals,
            formula,
        })
    }

    fn positive(&mut self, options: &TranslationOptions) -> Result<Automaton, TranslationError> {
        let negation = self.normals.negate(self.formula);
        self.build(self.formula, negation, options)
    }

    fn negative(&mut self, options: &TranslationOptions) -> Result<Automaton, TranslationError> {
        let negation = self.normals.negate(self.formula);
        self.build(negation, self.formula, options)
    }

    fn build(
        &mut self,
        formula: Normal,
        negation: Normal,
        options: &TranslationOptions,
    ) -> Result<Automaton, TranslationError> {
        let mut draft = self.construct(formula, options)?;
        if !options.reduce {
            return Ok(draft.finish());
        }
        draft.reduce();
        let mut automaton = draft.finish();
        if let Some(product) = self.product_of_conjuncts(formula, automaton.state_count(), options)
        {
            automaton = product;
        }
        if !options.minimise_obligations {
            return Ok(automaton);
        }
        // The negation only serves to check: any automaton of it will do, and none is no harm.
        let Ok(mut opposite) = self.construct(negation, options) else {
            return Ok(automaton);
        };
        opposite.trim();
        opposite.merge_edges();
        opposite.quotient_by_bisimulation();
        let opposite = opposite.finish();
        let limit = (4 * automaton.state_count() + 64).min(MAX_SETS_OF_STATES);
        Ok(
            match minimal_weak_deterministic(&automaton, &opposite, limit) {
                Some(weak) if weak.state_count() <= automaton.state_count() => weak,
                _ => automaton,
            },
        )
    }

    /// The product of the automata of the conjuncts, each made as small as possible
    /// beforehand, if it has fewer than `size` states. Conjuncts that are obligations or
    /// always true, in a formula that as a whole is neither, profit from this.
    fn product_of_conjuncts(
        &mut self,
        formula: Normal,
        size: usize,
        options: &TranslationOptions,
    ) -> Option<Automaton> {
        let Kind::And(parts) = self.normals.kind(formula).clone() else {
            return None;
        };
        let mut product: Option<Automaton> = None;
        for part in parts.iter() {
            let negation = self.normals.negate(*part);
            let factor = self.build(*part, negation, options).ok()?;
            product = Some(match product {
                None => factor,
                Some(others) => {
                    let mut draft = others.intersection(&factor, 8 * size + 32)?.draft();
                    draft.reduce();
                    draft.finish()
                }
            });
        }
        product.filter(|automaton| automaton.state_count() < size)
    }

    fn construct(
        &self,
        formula: Normal,
        options: &TranslationOptions,
    ) -> Result<Draft, TranslationError> {
        let construction = Construction::new(self.normals.clone(), options);
        construction.run(formula, self.propositions.clone())
    }
}

/// An edge before acceptance sets are numbered: bit `i` of `waiting` is set if the edge
/// lacks the mark of the `i`-th formula that must be left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RawEdge {
    guard: Guard,
    target: u32,
    waiting: u128,
}

struct Construction<'a> {
    alternating: Alternating,
    options: &'a TranslationOptions,
    numbers: RapidHashMap<Obligation, u32>,
    states: Vec<Obligation>,
    edges: Vec<Vec<RawEdge>>,
    /// The formulas that must be left, in the order they turned up.
    awaited: Vec<Normal>,
}

impl<'a> Construction<'a> {
    fn new(normals: Normals, options: &'a TranslationOptions) -> Self {
        Self {
            alternating: Alternating::new(normals, options.max_work),
            options,
            numbers: RapidHashMap::default(),
            states: Vec::new(),
            edges: Vec::new(),
            awaited: Vec::new(),
        }
    }

    fn run(
        mut self,
        formula: Normal,
        propositions: Vec<String>,
    ) -> Result<Draft, TranslationError> {
        if formula == Normals::FALSE {
            return Ok(Draft::new(propositions, 0));
        }
        let start = Obligation::of(&self.alternating.normals, formula);
        self.number(start);
        let mut edge_count = 0;
        while self.edges.len() < self.states.len() {
            let state = self.states[self.edges.len()].clone();
            let edges = self.edges_of(&state)?;
            edge_count += edges.len();
            self.edges.push(edges);
            let too_large =
                self.states.len() > self.options.max_states || edge_count > self.options.max_edges;
            if too_large || self.alternating.overflowed {
                return Err(TranslationError::TooLarge);
            }
        }
        if self.alternating.normals.guards.overflowed() {
            return Err(TranslationError::TooLarge);
        }
        into_draft(self.edges, self.alternating.normals.guards, propositions)
    }

    fn number(&mut self, obligation: Obligation) -> u32 {
        if let Some(known) = self.numbers.get(&obligation) {
            return *known;
        }
        let fresh = self.states.len() as u32;
        self.numbers.insert(obligation.clone(), fresh);
        self.states.push(obligation);
        fresh
    }

    fn edges_of(&mut self, state: &Obligation) -> Result<Vec<RawEdge>, TranslationError> {
        let nothing = Obligation::nothing();
        let mut product: Transitions = Transitions::from([(nothing, state.letter)]);
        for formula in state.formulas.iter() {
            let next = self.alternating.transitions(*formula);
            product = self.alternating.product(&product, &next);
        }
        if self.alternating.overflowed {
            return Err(TranslationError::TooLarge);
        }
        let mut split: Vec<(Obligation, Guard, u128)> = Vec::new();
        for (obligation, guard) in product {
            self.split_by_marks(obligation, guard, &mut split)?;
        }
        self.drop_greater(&mut split);
        Ok(split
            .into_iter()
            .map(|(obligation, guard, waiting)| RawEdge {
                guard,
                target: self.number(obligation),
                waiting,
            })
            .collect())
    }

    /// Cuts an edge into edges whose letters agree on all marks.
    fn split_by_marks(
        &mut self,
        obligation: Obligation,
        guard: Guard,
        result: &mut Vec<(Obligation, Guard, u128)>,
    ) -> Result<(), TranslationError> {
        let mut parts = vec![(guard, 0u128)];
        for formula in obligation.formulas.iter() {
            if !self.alternating.normals.must_be_left(*formula) {
                continue;
            }
            let index = match self.awaited.iter().position(|known| known == formula) {
                Some(index) => index,
                None => {
                    self.awaited.push(*formula);
                    self.awaited.len() - 1
                }
            };
            if index >= 128 {
                return Err(TranslationError::TooManySets);
            }
            // The letters on which the formula could be left with the same obligations.
            let mut fulfilled = Guard::FALSE;
            for (other, letters) in self.alternating.transitions(*formula).iter() {
                let normals = &mut self.alternating.normals;
                if !other.has(*formula) && other.is_within(&obligation, normals) {
                    fulfilled = normals.guards.or(fulfilled, *letters);
                }
            }
            let guards = &mut self.alternating.normals.guards;
            parts = parts
                .into_iter()
                .flat_map(|(letters, waiting)| {
                    let done = guards.and(letters, fulfilled);
                    let open = guards.minus(letters, fulfilled);
                    [(done, waiting), (open, waiting | 1 << index)]
                })
                .filter(|(letters, _)| !letters.is_false())
                .collect();
        }
        result.extend(
            parts
                .into_iter()
                .map(|(g, waiting)| (obligation.clone(), g, waiting)),
        );
        Ok(())
    }

    /// Takes from each edge the letters on which another one asks for no more and has
    /// no fewer marks.
    fn drop_greater(&mut self, edges: &mut Vec<(Obligation, Guard, u128)>) {
        let count = edges.len();
        if count > MAX_COMPARED || !self.alternating.spend(count * count) {
            return;
        }
        let normals = &mut self.alternating.normals;
        for i in 0..edges.len() {
            for j in 0..edges.len() {
                if i == j || edges[i].1.is_false() || edges[j].1.is_false() {
                    continue;
                }
                let no_fewer_marks = edges[j].2 & !edges[i].2 == 0;
                if no_fewer_marks && edges[j].0.is_within(&edges[i].0, normals) {
                    edges[i].1 = normals.guards.minus(edges[i].1, edges[j].1);
                }
            }
        }
        edges.retain(|edge| !edge.1.is_false());
    }
}

/// Numbers the acceptance sets. Sets whose mark is on every edge of every cycle are
/// dropped; if too many remain, they are numbered anew in each component, since no run
/// accepts in two.
fn into_draft(
    raw: Vec<Vec<RawEdge>>,
    guards: Guards,
    propositions: Vec<String>,
) -> Result<Draft, TranslationError> {
    let (component, count) = components(raw.len(), [0], |node, i| {
        raw[node as usize].get(i).map(|edge| edge.target)
    });
    let mut waiting = vec![0u128; count as usize];
    for (source, edges) in raw.iter().enumerate() {
        for edge in edges
            .iter()
            .filter(|e| component[e.target as usize] == component[source])
        {
            waiting[component[source] as usize] |= edge.waiting;
        }
    }
    let everywhere = waiting.iter().fold(0, |all, own| all | own);
    let together = everywhere.count_ones() <= Marks::MAX_SETS;
    let sets = if together {
        everywhere.count_ones()
    } else {
        waiting
            .iter()
            .map(|own| own.count_ones())
            .max()
            .unwrap_or(0)
    };
    if sets > Marks::MAX_SETS {
        return Err(TranslationError::TooManySets);
    }
    let all = Marks::all(sets);
    let edges = raw
        .into_iter()
        .map(|own| {
            own.into_iter()
                .map(|edge| {
                    let kept = if together {
                        everywhere
                    } else {
                        waiting[component[edge.target as usize] as usize]
                    };
                    let missing = compress(edge.waiting, kept);
                    let target = StateId(edge.target);
                    Edge {
                        guard: edge.guard,
                        target,
                        marks: Marks(all.0 & !missing),
                    }
                })
                .collect()
        })
        .collect();
    Ok(Draft {
        propositions,
        guards,
        edges,
        initial: StateId(0),
        acceptance_sets: sets,
    })
}

/// The bits of `kept` in `bits`, without gaps.
fn compress(bits: u128, kept: u128) -> u32 {
    let kept_bits = (0..128).filter(|bit| kept >> bit & 1 == 1);
    kept_bits
        .enumerate()
        .fold(0, |all, (new, old)| all | ((bits >> old & 1) as u32) << new)
}
