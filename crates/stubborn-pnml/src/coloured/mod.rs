//! Coloured (symmetric) nets: from the raw file to a typed net, and on to its unfolding.
//!
//! [`sorts`] reads the declarations, [`terms`] the inscriptions and guards; this file checks
//! that inscriptions fit their places and hands a [`ColouredNet`] to [`crate::unfold`].

pub(crate) mod sorts;
pub(crate) mod terms;

use rapidhash::RapidHashMap;
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::Budget;

use crate::coloured::sorts::{BasicId, Sorts};
use crate::coloured::terms::{Base, Component, Guard, Summand, Terms};
use crate::model::{Ends, Labels, Model, NodeTable, check_reads, resolve_arc};
use crate::raw::{ArcKind, RawNet};
use crate::report::{Report, shown};
use crate::unfold::{self, UnfoldLimits};
use crate::xml::Step;

/// More variables than this in one transition are refused: bindings keep a 64-bit mask.
const MAX_VARIABLES: usize = 64;

/// A place of a coloured net.
pub(crate) struct ColouredPlace {
    pub(crate) name: String,
    pub(crate) sorts: Vec<BasicId>,
    pub(crate) sizes: Vec<u32>,
    pub(crate) initial: Vec<Summand>,
    pub(crate) span: Span,
}

/// An arc of a coloured net, seen from its transition.
#[derive(Clone)]
pub(crate) struct ColouredArc {
    /// Position of the place.
    pub(crate) place: usize,
    pub(crate) summands: Vec<Summand>,
}

/// A variable of one transition.
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) sort: BasicId,
    pub(crate) size: u32,
}

/// A transition of a coloured net. Atoms in its terms name its own slots.
pub(crate) struct ColouredTransition {
    pub(crate) name: String,
    pub(crate) slots: Vec<Slot>,
    pub(crate) guard: Vec<Guard>,
    pub(crate) inputs: Vec<ColouredArc>,
    pub(crate) outputs: Vec<ColouredArc>,
    /// Places of black tokens of which it needs fewer than the weight.
    pub(crate) inhibitors: Vec<(usize, u32)>,
    pub(crate) span: Span,
}

/// A coloured net that passed all checks.
pub(crate) struct ColouredNet<'a> {
    pub(crate) name: String,
    pub(crate) sorts: Sorts<'a>,
    pub(crate) places: Vec<ColouredPlace>,
    pub(crate) transitions: Vec<ColouredTransition>,
    pub(crate) place_labels: Labels,
    pub(crate) transition_labels: Labels,
}

/// Types a coloured net and unfolds it.
pub(crate) fn model(
    raw: &RawNet<'_>,
    nodes: &NodeTable<'_>,
    (limits, budget): (&UnfoldLimits, &Budget),
    report: &mut Report,
) -> Step<Option<Model>> {
    match typed(raw, nodes, report)? {
        Some(net) if !report.has_errors() => unfold::unfold(&net, limits, budget, report),
        _ => Ok(None),
    }
}

fn typed<'a>(
    raw: &RawNet<'a>,
    nodes: &NodeTable<'_>,
    report: &mut Report,
) -> Step<Option<ColouredNet<'a>>> {
    let mut sorts = Sorts::read(&raw.forest, &raw.declarations, report)?;
    let mut terms = Terms::new(&raw.forest, &mut sorts);
    let mut places = Vec::with_capacity(raw.places.len());
    for place in &raw.places {
        let basic = match place.sort {
            Some(element) => terms.sorts.resolve(&raw.forest, element, report)?,
            None if raw.says_black => Some(vec![Sorts::DOT]),
            None => {
                let what = format!("the place `{}` has no type", shown(&place.id));
                report.error("PNM043", what, place.span)?;
                None
            }
        };
        let Some(basic) = basic else {
            continue;
        };
        let sizes: Vec<u32> = basic
            .iter()
            .map(|sort| terms.sorts.cardinality(*sort))
            .collect();
        let domain = sizes
            .iter()
            .try_fold(1u64, |n, size| n.checked_mul(u64::from(*size)));
        if domain.is_none_or(|n| n > 1 << 62) {
            report.error("PNM032", "this place has too many colours", place.span)?;
            continue;
        }
        let mut initial = Vec::new();
        if let Some(element) = place.marking
            && let Some(summands) = terms.multiset(element, report)?
        {
            let span = raw.forest.tag(element).span;
            check_sorts(&summands, &basic, span, report)?;
            if summands.iter().any(has_variable) {
                report.error("PNM044", "an initial marking cannot use variables", span)?;
            }
            initial = summands;
        }
        if let Some(tokens) = place.initial {
            let black = black(i64::try_from(tokens).ok(), &basic, terms.sorts);
            match (place.marking, black) {
                (Some(_), _) if total(&initial, terms.sorts) == i128::from(tokens) => {}
                (Some(_), _) => {
                    let what = "two different markings are given here";
                    report.error("PNM011", what, place.span)?;
                }
                (None, Some(black)) => initial = vec![black],
                (None, None) if tokens == 0 => {}
                (None, None) => {
                    let what = "this marking does not say what colours its tokens have";
                    report.error("PNM011", what, place.span)?;
                }
            }
        }
        places.push(ColouredPlace {
            name: place.id.as_ref().to_owned(),
            sorts: basic,
            sizes,
            initial,
            span: place.span,
        });
    }
    // Arcs speak of places by position, so all of them must have survived.
    if places.len() < raw.places.len() {
        return Ok(None);
    }
    let mut drafts: Vec<Draft> = Vec::with_capacity(raw.transitions.len());
    for transition in &raw.transitions {
        let mut draft = Draft::default();
        if let Some(element) = transition.guard
            && let Some(guard) = terms.guard(element, report)?
        {
            guard.conjuncts(&mut draft.guard);
        }
        draft.mentioned = terms.take_mentioned();
        drafts.push(draft);
    }
    for (index, arc) in raw.arcs.iter().enumerate() {
        let Some(ends) = resolve_arc(raw, index, nodes, report)? else {
            continue;
        };
        let (Ends::Input(place, transition) | Ends::Output(transition, place)) = ends;
        let basic = &places[place.index()].sorts;
        let summands = match arc.inscription {
            // It moves nothing.
            _ if arc.kind == ArcKind::Inhibitor => Vec::new(),
            Some(element) => {
                let Some(summands) = terms.multiset(element, report)? else {
                    continue;
                };
                check_sorts(&summands, basic, raw.forest.tag(element).span, report)?;
                summands
            }
            // Without an inscription only black tokens can be meant.
            None => match black(Some(arc.weight.unwrap_or(1).into()), basic, terms.sorts) {
                Some(black) => vec![black],
                None => {
                    report.add(
                        Diagnostic::error("PNM045", "this arc has no inscription", arc.span)
                            .help("arcs of places with colours say which tokens they move"),
                    )?;
                    continue;
                }
            },
        };
        // Tools write the weight 1 beside any inscription.
        let weight = arc.weight.map_or(1, i128::from);
        if arc.kind != ArcKind::Inhibitor && weight != 1 && weight != total(&summands, terms.sorts)
        {
            let what = "two different weights are given here";
            report.error("PNM012", what, arc.span)?;
        }
        let coloured = ColouredArc {
            place: place.index(),
            summands,
        };
        let draft = &mut drafts[transition.index()];
        draft.mentioned.extend(terms.take_mentioned());
        match (arc.kind, ends) {
            (ArcKind::Normal, Ends::Input(..)) => draft.inputs.push(coloured),
            (ArcKind::Read, Ends::Input(..)) => {
                draft.inputs.push(coloured.clone());
                draft.outputs.push(coloured);
            }
            (ArcKind::Inhibitor, _) => {
                match (black(Some(1), basic, terms.sorts), arc.inscription) {
                    (Some(_), None) => {
                        draft
                            .inhibitors
                            .push((place.index(), arc.weight.unwrap_or(1)));
                    }
                    _ => report.add(
                        Diagnostic::error(
                            "PNM015",
                            "inhibitor arcs of places with colours are not supported",
                            arc.span,
                        )
                        .help("whether they count colours or all tokens, tools do not agree on"),
                    )?,
                }
            }
            (_, Ends::Output(..)) => draft.outputs.push(coloured),
        }
    }
    check_reads(raw, nodes, report)?;
    let names = variable_names(raw, &sorts)?;
    let mut transitions = Vec::with_capacity(drafts.len());
    for (draft, raw) in drafts.into_iter().zip(&raw.transitions) {
        match draft.finish(raw.id.as_ref(), raw.span, &names, &sorts) {
            Ok(transition) => transitions.push(transition),
            Err(diagnostic) => report.add(*diagnostic)?,
        }
    }
    let (mut place_labels, mut transition_labels) = (Labels::default(), Labels::default());
    for (number, place) in (0..).zip(&raw.places) {
        place_labels.add(number, &place.id, place.label.as_deref().unwrap_or(""));
    }
    for (number, transition) in (0..).zip(&raw.transitions) {
        let label = transition.label.as_deref().unwrap_or("");
        transition_labels.add(number, &transition.id, label);
    }
    Ok(Some(ColouredNet {
        name: raw.name.as_ref().to_owned(),
        sorts,
        places,
        transitions,
        place_labels,
        transition_labels,
    }))
}

/// So many black tokens, for a place of the sort of black tokens.
fn black(tokens: Option<i64>, sorts: &[BasicId], known: &Sorts<'_>) -> Option<Summand> {
    let is_black = sorts.iter().all(|sort| known.is_dot(*sort));
    is_black.then_some(Summand {
        coefficient: tokens?,
        components: sorts.iter().map(|sort| Component::All(*sort)).collect(),
    })
}

/// How many tokens a sum stands for, whatever their colours.
fn total(sum: &[Summand], sorts: &Sorts<'_>) -> i128 {
    let tokens = |summand: &Summand| {
        let sizes = summand.components.iter().map(|component| match component {
            Component::One(_) => 1,
            Component::All(sort) => i128::from(sorts.cardinality(*sort)),
        });
        sizes.fold(i128::from(summand.coefficient), i128::saturating_mul)
    };
    sum.iter().map(tokens).fold(0, i128::saturating_add)
}

fn has_variable(summand: &Summand) -> bool {
    summand.components.iter().any(
        |component| matches!(component, Component::One(atom) if matches!(atom.base, Base::Variable(_))),
    )
}

fn check_sorts(
    summands: &[Summand],
    expected: &[BasicId],
    span: Span,
    report: &mut Report,
) -> Step<()> {
    let fits = summands.iter().all(|summand| {
        summand.components.len() == expected.len()
            && summand
                .components
                .iter()
                .zip(expected)
                .all(|(c, sort)| c.sort() == *sort)
    });
    if fits {
        return Ok(());
    }
    report.add(
        Diagnostic::error("PNM042", "this term is not of the sort of its place", span)
            .help("compare it with the `type` of the place"),
    )
}

/// Name and sort of every component of every variable that the file declares.
fn variable_names(
    raw: &RawNet<'_>,
    sorts: &Sorts<'_>,
) -> Step<RapidHashMap<u32, (String, BasicId)>> {
    let mut names = RapidHashMap::default();
    for list in &raw.declarations {
        for item in raw.forest.children(*list) {
            let tag = raw.forest.tag(item);
            if tag.name != "variabledecl" {
                continue;
            }
            let Some(variable) = sorts.variable(&raw.forest.required(item, "id")?) else {
                continue;
            };
            for (position, sort) in variable.sorts.iter().enumerate() {
                let name = if variable.sorts.len() == 1 {
                    variable.name.as_ref().to_owned()
                } else {
                    format!("{}.{}", variable.name, position + 1)
                };
                names.insert(variable.first + position as u32, (name, *sort));
            }
        }
    }
    Ok(names)
}

/// A transition whose terms still name the variables of the whole net.
#[derive(Default)]
struct Draft {
    /// Components of variables of all terms, with what terms leave out.
    mentioned: Vec<u32>,
    guard: Vec<Guard>,
    inputs: Vec<ColouredArc>,
    outputs: Vec<ColouredArc>,
    inhibitors: Vec<(usize, u32)>,
}

impl Draft {
    /// Numbers the variables of the transition from 0, in the order they occur.
    fn finish(
        mut self,
        name: &str,
        span: Span,
        names: &RapidHashMap<u32, (String, BasicId)>,
        sorts: &Sorts<'_>,
    ) -> Result<ColouredTransition, Box<Diagnostic>> {
        let mut slots: Vec<Slot> = Vec::new();
        let mut numbering: RapidHashMap<u32, u32> = RapidHashMap::default();
        let mut renumber = |base: &mut Base| {
            if let Base::Variable(v) = base {
                let slot = *numbering.entry(*v).or_insert_with(|| {
                    if let Some((name, sort)) = names.get(v) {
                        let size = sorts.cardinality(*sort);
                        slots.push(Slot {
                            name: name.clone(),
                            sort: *sort,
                            size,
                        });
                    }
                    slots.len().saturating_sub(1) as u32
                });
                *v = slot;
            }
        };
        let arcs = self.inputs.iter_mut().chain(&mut self.outputs);
        for component in arcs
            .flat_map(|a| &mut a.summands)
            .flat_map(|s| &mut s.components)
        {
            if let Component::One(atom) = component {
                renumber(&mut atom.base);
            }
        }
        self.guard
            .iter_mut()
            .for_each(|guard| renumber_guard(guard, &mut renumber));
        for component in &self.mentioned {
            renumber(&mut Base::Variable(*component));
        }
        if slots.len() > MAX_VARIABLES {
            return Err(Box::new(Diagnostic::error(
                "PNM050",
                format!("a transition uses more than {MAX_VARIABLES} variables"),
                span,
            )));
        }
        let Self {
            mentioned: _,
            guard,
            inputs,
            outputs,
            inhibitors,
        } = self;
        Ok(ColouredTransition {
            name: name.to_owned(),
            slots,
            guard,
            inputs,
            outputs,
            inhibitors,
            span,
        })
    }
}

fn renumber_guard(guard: &mut Guard, renumber: &mut impl FnMut(&mut Base)) {
    match guard {
        Guard::Constant(_) => {}
        Guard::And(parts) | Guard::Or(parts) => {
            parts
                .iter_mut()
                .for_each(|part| renumber_guard(part, renumber));
        }
        Guard::Not(inner) => renumber_guard(inner, renumber),
        Guard::Compare(_, left, right) => {
            renumber(&mut left.base);
            renumber(&mut right.base);
        }
    }
}
