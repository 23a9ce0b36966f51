//! What is checked: an automaton of the violating runs, and where it came from.

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::formula::{Formula, Formulas};
use stubborn_ltl::guard::Guard;
use stubborn_ltl::parser::{Atoms, Syntax, parse};
use stubborn_ltl::stutter::{is_stutter_invariant, is_stutter_invariant_automaton};
use stubborn_ltl::translate::{TranslationError, TranslationOptions, translate};
use stubborn_system::LabelId;

use crate::claim::ClaimGuards;

/// A temporal property of the runs of a system.
#[derive(Clone, Debug)]
pub struct Property {
    automaton: Automaton,
    labels: Vec<LabelId>,
    formula: Option<LabelledFormula>,
    /// The automaton accepts more than the runs that violate the formula, see [`Self::watched`].
    is_watched: bool,
}

/// The formula that all runs should satisfy.
#[derive(Clone, Debug)]
pub struct LabelledFormula {
    /// Its arena.
    pub formulas: Formulas,
    /// Which one.
    pub formula: Formula,
    /// What each proposition of the arena means.
    pub labels: Vec<LabelId>,
}

impl Property {
    /// That all runs satisfy a formula. `labels` has one label for each proposition of the
    /// arena.
    ///
    /// # Errors
    /// Where the negation of the formula has no automaton of bearable size.
    ///
    /// # Panics
    /// If there are fewer labels than propositions.
    pub fn from_formula(
        mut formulas: Formulas,
        formula: Formula,
        labels: Vec<LabelId>,
        options: &TranslationOptions,
    ) -> Result<Self, TranslationError> {
        assert!(
            labels.len() >= formulas.names().len(),
            "every proposition needs a label"
        );
        let negation = formulas.not(formula);
        let automaton = translate(&formulas, negation, options)?;
        let label_of: RapidHashMap<&str, LabelId> = formulas
            .names()
            .iter()
            .map(String::as_str)
            .zip(labels.iter().copied())
            .collect();
        let automaton_labels = automaton.propositions().iter();
        let automaton_labels = automaton_labels
            .map(|name| label_of[name.as_str()])
            .collect();
        Ok(Self {
            automaton,
            labels: automaton_labels,
            formula: Some(LabelledFormula {
                formulas,
                formula,
                labels,
            }),
            is_watched: false,
        })
    }

    /// Reads a formula that all runs should satisfy. `resolve` turns the text of a
    /// proposition, an expression of the model, into a label. Without a property there is at
    /// least one error among the messages.
    pub fn parse(
        text: &str,
        syntax: Syntax,
        resolve: &mut dyn FnMut(&str, Span) -> Result<LabelId, Diagnostic>,
        options: &TranslationOptions,
    ) -> (Option<Self>, Vec<Diagnostic>) {
        let mut formulas = Formulas::new();
        let mut atoms = ModelExpressions {
            resolve,
            known: Vec::new(),
            bare: syntax == Syntax::Spin,
        };
        let (formula, mut messages) = parse(&mut formulas, text, syntax, &mut atoms);
        let Some(formula) = formula else {
            return (None, messages);
        };
        let label_of = |name: &String| {
            let known = atoms.known.iter().find(|(known, _)| known == name);
            known.map(|(_, label)| *label)
        };
        let labels: Option<Vec<LabelId>> = formulas.names().iter().map(label_of).collect();
        // The parser asked for every name that it put into the arena.
        let labels = labels.unwrap_or_default();
        match Self::from_formula(formulas, formula, labels, options) {
            Ok(property) => (Some(property), messages),
            Err(error) => {
                messages.push(error.diagnostic(Span::new(0, text.len())));
                (None, messages)
            }
        }
    }

    /// That the automaton accepts no run: `labels` has one for each of its propositions.
    ///
    /// # Panics
    /// If there are not as many labels as propositions.
    pub fn from_automaton(automaton: Automaton, labels: Vec<LabelId>) -> Self {
        assert_eq!(
            automaton.propositions().len(),
            labels.len(),
            "every proposition needs a label"
        );
        Self {
            automaton,
            labels,
            formula: None,
            is_watched: false,
        }
    }

    /// The same property, and that no run comes to where its automaton looks at a proposition that has
    /// no value: where it can be in a state with an edge that depends on one. `failures` has labels of
    /// propositions, each with the label that holds where it has none. The formula, if there is one, is
    /// that of `shown`.
    #[must_use]
    pub fn watched(&self, failures: &[(LabelId, LabelId)], shown: &Self) -> Self {
        let mut draft = self.automaton.draft();
        let mut labels = self.labels.clone();
        let fails: Vec<Guard> = failures
            .iter()
            .map(|(label, fails)| {
                let text = self.labels.iter().position(|known| known == label);
                let text = text.map_or("", |at| draft.propositions[at].as_str());
                let text = format!("no value: {text}");
                draft.propositions.push(text);
                labels.push(*fails);
                draft.guards.variable(labels.len() as u32 - 1)
            })
            .collect();
        let states = draft.states();
        let last = draft.add_state();
        for state in states {
            let looked_at = self.looked_at(state);
            for ((label, _), guard) in failures.iter().zip(&fails) {
                if looked_at.contains(label) {
                    draft.edges[state.index()].push(Edge {
                        guard: *guard,
                        target: last,
                        marks: Marks::NONE,
                    });
                }
            }
        }
        let marks = draft.all_marks();
        draft.edges[last.index()].push(Edge {
            guard: Guard::TRUE,
            target: last,
            marks,
        });
        Self {
            automaton: draft.finish(),
            labels,
            formula: shown.formula.clone(),
            is_watched: true,
        }
    }

    /// Of a [watched](Self::watched) property: that no run comes to where a proposition has no value.
    #[must_use]
    pub fn failures_alone(&self) -> Self {
        let mut draft = self.automaton.draft();
        draft.acceptance_sets = 1;
        let last = draft.edges.len() - 1;
        for (state, edges) in draft.edges.iter_mut().enumerate() {
            for edge in edges {
                edge.marks = match state == last {
                    true => Marks(1),
                    false => Marks::NONE,
                };
            }
        }
        Self::from_automaton(draft.finish(), self.labels.clone())
    }

    /// The labels that edges of a state depend on.
    pub fn looked_at(&self, state: StateId) -> Vec<LabelId> {
        let edges = self.automaton.edges(state).iter();
        let used = edges.flat_map(|edge| self.automaton.guards().support(edge.guard));
        let mut labels: Vec<LabelId> = used.map(|at| self.labels[at as usize]).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Whether it is about propositions without a value as well, see [`Self::watched`].
    pub fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// That no run reaches accepting states again and again: a Büchi automaton with
    /// acceptance on states and a label as the guard of each edge (`None` is always), such
    /// as the property process of a DVE model or a never claim.
    ///
    /// [`ClaimGuards`](crate::ClaimGuards) turns the labels into functions of simpler
    /// ones, so that `p` and `not p` are known to exclude each other.
    pub fn from_claim(claim: &Claim, guards: ClaimGuards) -> Self {
        let (mut draft, labels, of_label) = guards.into_parts();
        while draft.edges.len() < claim.accepting.len() {
            draft.add_state();
        }
        draft.initial = StateId(claim.initial as u32);
        draft.acceptance_sets = 1;
        // A run that is in a state again and again enters and leaves it again and again, so
        // either edges will do for the marks, and the results differ in size.
        let mut entering = draft.clone();
        for edge in &claim.edges {
            let guard = match edge.guard {
                None => Guard::TRUE,
                Some(label) => of_label.get(&label).copied().unwrap_or(Guard::FALSE),
            };
            let marked = |accepting: bool| Edge {
                guard,
                target: StateId(edge.target as u32),
                marks: match accepting {
                    true => Marks(1),
                    false => Marks::NONE,
                },
            };
            draft.edges[edge.source].push(marked(claim.accepting[edge.source]));
            entering.edges[edge.source].push(marked(claim.accepting[edge.target]));
        }
        let size = |automaton: &Automaton| (automaton.state_count(), automaton.edge_count());
        let (leaving, entering) = (smaller(draft), smaller(entering));
        let automaton = match size(&entering) < size(&leaving) {
            true => entering,
            false => leaving,
        };
        Self::from_automaton(automaton, labels)
    }

    /// The automaton of the violating runs.
    pub fn automaton(&self) -> &Automaton {
        &self.automaton
    }

    /// The labels of its propositions.
    pub fn labels(&self) -> &[LabelId] {
        &self.labels
    }

    /// Those of them that its edges look at.
    pub fn used_labels(&self) -> Vec<LabelId> {
        let states = self.automaton.states();
        let mut labels: Vec<LabelId> = states.flat_map(|state| self.looked_at(state)).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The formula, if it came from one.
    pub fn formula(&self) -> Option<&LabelledFormula> {
        self.formula.as_ref()
    }

    /// Whether repeating a state, or dropping a repetition, never matters; `None` if that is
    /// too expensive to find out.
    pub fn is_stutter_invariant(&self) -> Option<bool> {
        match &self.formula {
            Some(labelled) if !self.is_watched => is_stutter_invariant(
                &labelled.formulas,
                labelled.formula,
                &TranslationOptions::default(),
            )
            .ok(),
            _ => is_stutter_invariant_automaton(&self.automaton),
        }
    }
}

/// Propositions that are expressions of a model.
struct ModelExpressions<'r> {
    resolve: &'r mut dyn FnMut(&str, Span) -> Result<LabelId, Diagnostic>,
    known: Vec<(String, LabelId)>,
    /// Whether they may stand in a formula without quotes.
    bare: bool,
}

impl Atoms for ModelExpressions<'_> {
    fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic> {
        let label = (self.resolve)(text, span)?;
        // Two spellings of one label are one proposition.
        let known = self.known.iter().find(|(_, known)| *known == label);
        if let Some((name, _)) = known {
            return Ok(name.clone());
        }
        self.known.push((text.to_owned(), label));
        Ok(text.to_owned())
    }

    fn takes_expressions(&self) -> bool {
        self.bare
    }
}

/// The reduced automaton, or the automaton itself where its guards are too complex to
/// compute with.
fn smaller(draft: Draft) -> Automaton {
    let mut reduced = draft.clone();
    reduced.reduce();
    match reduced.guards.overflowed() {
        true => draft.finish(),
        false => reduced.finish(),
    }
}

/// A Büchi automaton of violating runs as models state it.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The state it starts in.
    pub initial: usize,
    /// Whether each state is accepting.
    pub accepting: Vec<bool>,
    /// Its edges.
    pub edges: Vec<ClaimEdge>,
}

impl Claim {
    /// The same claim with a state more that it never leaves, and that violates the property: it
    /// gets there from a state of the claim where a label holds.
    #[must_use]
    pub fn with_violations(&self, violations: impl IntoIterator<Item = (usize, LabelId)>) -> Self {
        let mut claim = self.clone();
        let last = claim.accepting.len();
        claim.accepting.push(true);
        let entering = violations.into_iter().map(|(source, label)| ClaimEdge {
            source,
            target: last,
            guard: Some(label),
        });
        claim.edges.extend(entering);
        claim.edges.push(ClaimEdge {
            source: last,
            target: last,
            guard: None,
        });
        claim
    }

    /// The same claim, in which only the last state is accepting.
    #[must_use]
    pub fn with_last_accepting(mut self) -> Self {
        let last = self.accepting.len().saturating_sub(1);
        for (at, accepting) in self.accepting.iter_mut().enumerate() {
            *accepting = at == last;
        }
        self
    }
}

/// An edge of a [`Claim`].
#[derive(Clone, Copy, Debug)]
pub struct ClaimEdge {
    /// From this state.
    pub source: usize,
    /// To this one.
    pub target: usize,
    /// Taken only where this label holds; `None` is always.
    pub guard: Option<LabelId>,
}
