//! Stuttering: does repeating a letter, or dropping a repetition, ever matter?
//!
//! # Stutter normal form
//! An automaton is in stutter normal form if
//!
//! - N1: where an edge can be taken on a letter, its source or its target has a self-loop on
//!   that letter;
//! - N2: two edges in a row on one letter have a short cut with at least the marks of
//!   both.
//!
//! Then an inserted repetition is read by a self-loop, before the letter or after it, and a
//! dropped one never loses marks: the rest of a run stays as it is. (Marks that a self-loop or short cut has beyond that do no harm: it is an edge
//! of the automaton like any other, and marks only help to accept.) Partial-order reduction in the product with an automaton that is not
//! deterministic needs this form: without it the reduction is unsound even for
//! stutter-invariant languages (Siegel, "What's wrong with on-the-fly partial order
//! reduction", 2019).
//!
//! # How to get there
//! Just adding self-loops for N1 would change the language: from a state with an edge on
//! `a` and another on `b`, the word `a b` could then wait on `a` and leave on `b`, as if
//! `a` had not been there. So a state is first split by the letter that is read next, at
//! least for the letters on which it has no self-loop yet; a copy for one letter can wait
//! on it and then must leave on it. Letters that no guard of the automaton tells apart
//! count as one. Adding short cuts never creates such mixtures. Both steps together accept
//! exactly the words that are stutter-equivalent to an accepted one (the two operations
//! of Michaud and Duret-Lutz, "Practical stutter-invariance checks for ω-regular
//! languages", 2015, with the letter to come in the state instead of the letter just
//! read), so the language stays the same if it is stutter-invariant, and whether it is
//! can be decided by comparison with the complement.

use std::collections::{BTreeMap, BTreeSet};

use crate::automaton::{Automaton, Draft, Edge, Marks, StateId};
use crate::formula::{Formula, Formulas};
use crate::guard::{Guard, Guards};
use crate::reduce::complement::complement;
use crate::translate::{TranslationError, TranslationOptions, translate_both};

/// Most states of a complement that [`is_stutter_invariant_automaton`] computes.
const COMPLEMENT_LIMIT: usize = 20_000;

/// Most edges of an automaton in stutter normal form.
const EDGE_LIMIT: usize = 2_000_000;

/// Whether the formula cannot tell stutter-equivalent words apart.
///
/// # Errors
/// Where the formula or its negation has no automaton, or only one too large for the
/// comparison; formulas without `X` need none.
pub fn is_stutter_invariant(
    formulas: &Formulas,
    formula: Formula,
    options: &TranslationOptions,
) -> Result<bool, TranslationError> {
    if formulas.is_next_free(formula) {
        return Ok(true);
    }
    let (positive, negative) = translate_both(formulas, formula, options)?;
    are_stutter_invariant(&positive, &negative).ok_or(TranslationError::TooLarge)
}

/// Whether a language is stutter-invariant, given automata of it and of its complement:
/// if words equivalent to accepted ones are accepted. `None` if both closures are too
/// large; `Some(true)` is certain, `Some(false)` subject to [`Automaton::is_disjoint`].
pub fn are_stutter_invariant(automaton: &Automaton, complement: &Automaton) -> Option<bool> {
    // Closing either side decides; the side with fewer edges is cheaper.
    let (first, second) = if automaton.edge_count() <= complement.edge_count() {
        (automaton, complement)
    } else {
        (complement, automaton)
    };
    if let Some(closed) = normalise_stutter(first) {
        return Some(closed.automaton.is_disjoint(second));
    }
    Some(normalise_stutter(second)?.automaton.is_disjoint(first))
}

/// Whether the language of an automaton is stutter-invariant; `None` if that is too
/// expensive to find out.
pub fn is_stutter_invariant_automaton(automaton: &Automaton) -> Option<bool> {
    let complement = complement(automaton, COMPLEMENT_LIMIT)?;
    are_stutter_invariant(automaton, &complement)
}

/// An automaton in stutter normal form.
#[derive(Clone, Debug)]
pub struct StutterNormal {
    /// The automaton. Its initial state only joins the edges of [`Self::initial_states`]
    /// and is not in normal form; no edge leads back to it.
    pub automaton: Automaton,
    /// Where runs may begin instead. A product for partial-order reduction must begin in
    /// these states, not in the joint one.
    pub initial_states: Vec<StateId>,
}

/// Brings an automaton into stutter normal form. The language becomes the set of all
/// words that are stutter-equivalent to an accepted one: the same language if that is
/// stutter-invariant. `None` if the result would be too large.
pub fn normalise_stutter(automaton: &Automaton) -> Option<StutterNormal> {
    let mut original = automaton.draft();
    original.trim();
    if original.acceptance_sets == 0 {
        // New self-loops must not accept by themselves.
        original.acceptance_sets = 1;
        original
            .edges
            .iter_mut()
            .flatten()
            .for_each(|edge| edge.marks = Marks(1));
    }
    original.merge_edges();
    let (mut draft, initial_states) = split_by_next_letter(&mut original)?;
    add_short_cuts(&mut draft)?;
    add_self_loops(&mut draft);
    let joint = initial_states
        .iter()
        .flat_map(|s| draft.edges[s.index()].clone())
        .collect();
    draft.initial = draft.add_state();
    draft.edges[draft.initial.index()] = joint;
    if draft.guards.overflowed() {
        return None;
    }
    Some(StutterNormal {
        automaton: draft.finish(),
        initial_states,
    })
}

/// The same automaton with short cuts (N2). The language stays the same if it is
/// stutter-invariant. `None` if the result would be too large.
pub fn with_short_cuts(automaton: &Automaton) -> Option<Automaton> {
    let mut draft = automaton.draft();
    draft.merge_edges();
    add_short_cuts(&mut draft)?;
    (!draft.guards.overflowed()).then(|| draft.finish())
}

/// The coarsest partition of the letters that every guard respects.
fn letter_classes(draft: &mut Draft) -> Option<Vec<Guard>> {
    let distinct: BTreeSet<Guard> = draft
        .edges
        .iter()
        .flatten()
        .map(|edge| edge.guard)
        .collect();
    let guards: &mut Guards = &mut draft.guards;
    let mut classes = vec![Guard::TRUE];
    for guard in distinct {
        let mut split = Vec::with_capacity(classes.len());
        for class in classes {
            let inside = guards.and(class, guard);
            let outside = guards.minus(class, guard);
            split.extend(
                [inside, outside]
                    .into_iter()
                    .filter(|part| !part.is_false()),
            );
        }
        classes = split;
        if classes.len() > EDGE_LIMIT / 16 {
            return None;
        }
    }
    Some(classes)
}

/// Copies of every state: one for all the letters on which it has a self-loop, and one
/// for each class of the other letters it has edges on. A run chooses the copy when it
/// arrives. Returns the copies of the initial state.
fn split_by_next_letter(original: &mut Draft) -> Option<(Draft, Vec<StateId>)> {
    let classes = letter_classes(original)?;
    let mut draft = Draft::new(original.propositions.clone(), original.acceptance_sets);
    draft.edges.clear();
    // The copies of each state, with the letters each is for.
    let mut copies: Vec<Vec<(StateId, Guard)>> = Vec::with_capacity(original.edges.len());
    for state in original.states() {
        let (mut staying, mut leaving) = (Guard::FALSE, Guard::FALSE);
        for edge in &original.edges[state.index()] {
            let letters = if edge.target == state {
                &mut staying
            } else {
                &mut leaving
            };
            *letters = original.guards.or(*letters, edge.guard);
        }
        let mut own = Vec::new();
        if !staying.is_false() {
            own.push((draft.add_state(), staying));
        }
        for class in &classes {
            if original.guards.implies(*class, leaving) && !original.guards.implies(*class, staying)
            {
                own.push((draft.add_state(), *class));
            }
        }
        copies.push(own);
    }
    if draft.edges.is_empty() {
        // The empty language.
        draft.add_state();
        return Some((draft, vec![StateId(0)]));
    }
    let mut edge_count = 0;
    for state in original.states() {
        for (copy, letters) in &copies[state.index()] {
            for edge in original.edges[state.index()].clone() {
                let guard = original.guards.and(edge.guard, *letters);
                if guard.is_false() {
                    continue;
                }
                for (target, _) in &copies[edge.target.index()] {
                    draft.edges[copy.index()].push(Edge {
                        guard,
                        target: *target,
                        ..edge
                    });
                    edge_count += 1;
                }
            }
            if edge_count > EDGE_LIMIT {
                return None;
            }
        }
    }
    draft.guards = std::mem::take(&mut original.guards);
    let initial = copies[original.initial.index()]
        .iter()
        .map(|(copy, _)| *copy)
        .collect();
    Some((draft, initial))
}

/// N1, for states that are only left on letters on which waiting does no harm. The new
/// self-loops have no marks: waiting for ever must not accept.
fn add_self_loops(draft: &mut Draft) {
    for state in draft.states() {
        let (mut letters, mut waiting) = (Guard::FALSE, Guard::FALSE);
        for edge in &draft.edges[state.index()] {
            letters = draft.guards.or(letters, edge.guard);
            if edge.target == state {
                waiting = draft.guards.or(waiting, edge.guard);
            }
        }
        let guard = draft.guards.minus(letters, waiting);
        draft.edges[state.index()].push(Edge {
            guard,
            target: state,
            marks: Marks::NONE,
        });
    }
    draft.merge_edges();
}

/// N2, for short cuts too, until nothing is new. Self-loops without marks add no further
/// short cuts, so they can be added afterwards.
fn add_short_cuts(draft: &mut Draft) -> Option<()> {
    let mut total = 0;
    for state in draft.states() {
        let mut todo: Vec<Edge> = std::mem::take(&mut draft.edges[state.index()]);
        let mut letters: BTreeMap<(StateId, Marks), Guard> = todo
            .iter()
            .map(|edge| ((edge.target, edge.marks), edge.guard))
            .collect();
        // The state may be its own successor.
        draft.edges[state.index()].clone_from(&todo);
        while let Some(step) = todo.pop() {
            // It does not matter whether the edges of the target are closed already: a
            // short cut over a short cut is one over the edges it stands for.
            for next in draft.edges[step.target.index()].clone() {
                let guard = draft.guards.and(step.guard, next.guard);
                let (target, marks) = (next.target, step.marks.union(next.marks));
                let known = letters.entry((target, marks)).or_insert(Guard::FALSE);
                let guard = draft.guards.minus(guard, *known);
                *known = draft.guards.or(*known, guard);
                if !guard.is_false() {
                    todo.push(Edge {
                        guard,
                        target,
                        marks,
                    });
                }
            }
            if total + letters.len() > EDGE_LIMIT {
                return None;
            }
        }
        total += letters.len();
        letters.retain(|_, guard| !guard.is_false());
        draft.edges[state.index()] = letters
            .into_iter()
            .map(|((target, marks), guard)| Edge {
                guard,
                target,
                marks,
            })
            .collect();
    }
    Some(())
}

impl Automaton {
    /// Whether the automaton is in stutter normal form (N1 and N2 in all reachable states).
    pub fn is_stutter_normal(&self) -> bool {
        self.is_stutter_normal_from(&[self.initial()])
    }

    /// Whether all states that can be reached from these have N1 and N2. (False also where
    /// the guards are too complex to tell.)
    pub fn is_stutter_normal_from(&self, starts: &[StateId]) -> bool {
        let mut guards = self.guards().clone();
        let mut seen = vec![false; self.state_count()];
        let mut todo = starts.to_vec();
        while let Some(state) = todo.pop() {
            if std::mem::replace(&mut seen[state.index()], true) {
                continue;
            }
            let holds =
                self.can_wait(state, &mut guards) && self.has_short_cuts(state, &mut guards);
            if !holds || guards.overflowed() {
                return false;
            }
            todo.extend(self.edges(state).iter().map(|edge| edge.target));
        }
        true
    }

    /// N1 in one state.
    fn can_wait(&self, state: StateId, guards: &mut Guards) -> bool {
        let before = self.waits_on(state, guards);
        self.edges(state).iter().all(|edge| {
            let open = guards.minus(edge.guard, before);
            let after = self.waits_on(edge.target, guards);
            guards.implies(open, after)
        })
    }

    /// The letters on which a state has a self-loop.
    fn waits_on(&self, state: StateId, guards: &mut Guards) -> Guard {
        let mut waiting = Guard::FALSE;
        for edge in self.edges(state).iter().filter(|e| e.target == state) {
            waiting = guards.or(waiting, edge.guard);
        }
        waiting
    }

    /// N2 in one state.
    fn has_short_cuts(&self, state: StateId, guards: &mut Guards) -> bool {
        self.edges(state).iter().all(|first| {
            self.edges(first.target).iter().all(|second| {
                let mut open = guards.and(first.guard, second.guard);
                let marks = first.marks.union(second.marks);
                for cut in self.edges(state) {
                    if cut.target == second.target && cut.marks.contains(marks) {
                        open = guards.minus(open, cut.guard);
                    }
                }
                open.is_false()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::{AnyName, Syntax, parse};
    use crate::translate::translate;

    fn automaton(text: &str) -> Automaton {
        let mut formulas = Formulas::new();
        let (formula, _) = parse(&mut formulas, text, Syntax::Spot, &mut AnyName);
        let formula = formula.expect("the formula is right");
        translate(&formulas, formula, &TranslationOptions::default()).expect("it is small")
    }

    #[test]
    fn normal_form_keeps_stutter_invariant_languages() {
        for text in [
            "Fp -> (!q U p)",
            "FGp",
            "GFp & GFq",
            "G(p -> Fq)",
            "p U (q U r)",
            "0",
            "1",
        ] {
            let normal = normalise_stutter(&automaton(text)).expect("it is small");
            assert!(
                normal
                    .automaton
                    .is_stutter_normal_from(&normal.initial_states),
                "{text}"
            );
            let negation = automaton(&format!("!({text})"));
            assert!(normal.automaton.is_disjoint(&negation), "{text}");
            let closed = normalise_stutter(&negation).expect("it is small");
            assert!(closed.automaton.is_disjoint(&automaton(text)), "{text}");
            assert_eq!(
                is_stutter_invariant_automaton(&automaton(text)),
                Some(true),
                "{text}"
            );
        }
    }

    #[test]
    fn self_loops_alone_would_be_wrong() {
        // The first state is left on q and on p. It must not wait on q and leave on p.
        let normal = normalise_stutter(&automaton("(!q U p) | G!p")).expect("it is small");
        assert_eq!(normal.automaton.propositions(), ["q", "p"]);
        let (q, p) = (vec![1], vec![2]);
        let word = crate::lasso::Lasso {
            stem: vec![q, p],
            cycle: vec![vec![0]],
        };
        assert!(!normal.automaton.accepts(&word));
    }

    /// Infinitely many changes of `p`, accepted in an odd way: the length of every block of
    /// equal letters is guessed to be even (e) or odd (o) at its start. Reduction with
    /// sets that depend on the state of such an automaton loses accepting runs.
    const GUESSED_PARITIES: &str = r#"HOA: v1 States: 9 Start: 8 AP: 1 "p" Acceptance: 1 Inf(0)
        --BODY--
        State: 0 "e, odd so far, p" [0] 1
        State: 1 "e, even so far, p" [0] 0 [!0] 4 {0} [!0] 6 {0}
        State: 2 "o, odd so far, p" [0] 3 [!0] 4 {0} [!0] 6 {0}
        State: 3 "o, even so far, p" [0] 2
        State: 4 "e, odd so far, !p" [!0] 5
        State: 5 "e, even so far, !p" [!0] 4 [0] 0 {0} [0] 2 {0}
        State: 6 "o, odd so far, !p" [!0] 7 [0] 0 {0} [0] 2 {0}
        State: 7 "o, even so far, !p" [!0] 6
        State: 8 "start" [0] 0 [0] 2 [!0] 4 [!0] 6
        --END--"#;

    #[test]
    fn an_automaton_that_guesses_parities_needs_the_normal_form() {
        let (automata, messages) = crate::hoa::read_hoa(GUESSED_PARITIES);
        assert!(messages.is_empty());
        let guesses = &automata[0];
        assert!(!guesses.is_deterministic() && !guesses.is_stutter_normal());
        assert_eq!(is_stutter_invariant_automaton(guesses), Some(true));
        let normal = normalise_stutter(guesses).expect("it is small");
        assert!(
            normal
                .automaton
                .is_stutter_normal_from(&normal.initial_states)
        );
        assert!(normal.automaton.is_disjoint(&automaton("!(GFp & GF!p)")));
        let others = normalise_stutter(&automaton("!(GFp & GF!p)")).expect("it is small");
        assert!(others.automaton.is_disjoint(guesses));
    }

    #[test]
    fn next_is_noticed_where_it_matters() {
        for (text, expected) in [
            ("Xp", false),
            ("XGFp", true),
            ("F(p & X!p)", true),
            ("F(p & Xp)", false),
        ] {
            assert_eq!(
                is_stutter_invariant_automaton(&automaton(text)),
                Some(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn some_automata_are_normal_already() {
        assert!(automaton("FGp").is_stutter_normal());
        assert!(automaton("GFp").is_stutter_normal());
        assert!(automaton("p U (q U r)").is_stutter_normal());
        assert!(!automaton("Xp").is_stutter_normal());
    }
}
