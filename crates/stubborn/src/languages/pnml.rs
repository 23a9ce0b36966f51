//! Petri nets: read, unfolded where coloured, and run by tables.

use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_emptiness::Property;
use stubborn_ltl::formula::{Formula as Ltl, Formulas, Node};
use stubborn_net::{Formula, NetOptions, NetSystem, Shuffled};
use stubborn_pnml::{
    ContestProperty, Model, Question, UnfoldLimits, load_within, parse_state_formula,
    read_properties,
};
use stubborn_system::LabelId;

use crate::load::{BuildError, LoadOptions, Parts, TRANSLATING};
use crate::temporal::evaluation::Evaluations;
use crate::temporal::read::{Draft, drafts, shortened, within};
use crate::temporal::{Obstacle, Origin, Temporal, TemporalText};

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    let limits = UnfoldLimits::default();
    let (model, mut diagnostics) = load_within(source, &limits, &options.budget);
    let Some(model) = model else {
        return Err(BuildError::Model(diagnostics));
    };
    let mut invariants = Vec::new();
    for text in &options.invariants {
        let expression = SourceFile::new("--invariant", text.as_str());
        match parse_state_formula(&expression, &model) {
            Ok(formula) => invariants.push((text.clone(), formula)),
            Err(problem) => {
                return Err(BuildError::Expression(Box::new(expression), vec![problem]));
            }
        }
    }
    let mut reachable = Vec::new();
    for text in &options.reachable {
        let expression = SourceFile::new("--reach", text.as_str());
        match parse_state_formula(&expression, &model) {
            Ok(formula) => reachable.push((text.clone(), formula)),
            Err(problem) => {
                return Err(BuildError::Expression(Box::new(expression), vec![problem]));
            }
        }
    }
    let mut contest = Vec::new();
    let mut drafts_with_meanings = Vec::new();
    if !options.ignore_temporal {
        for property in contest_properties(&options.temporal, &model)? {
            match property.question {
                Question::Invariant(formula) => invariants.push((property.id, formula)),
                Question::Ltl(formula) => contest.push((property.id, formula)),
                Question::Reachable(_)
                | Question::UpperBound(_)
                | Question::Ctl(_)
                | Question::Unsupported => {
                    let message = format!(
                        "the property `{}` is neither an invariant nor an LTL formula, and is \
                         not checked",
                        property.id
                    );
                    diagnostics.push(Diagnostic::warning("PNM901", message, Span::new(0, 0)));
                }
            }
        }
        for draft in drafts(&options.temporal)? {
            let meanings = meanings(&draft, &model)?;
            drafts_with_meanings.push((draft, meanings));
        }
    }
    let mut net = model.net;
    if let Some(seed) = options.shuffle {
        let shuffled =
            Shuffled::new(&net, seed).map_err(|e| BuildError::TooLarge(e.to_string()))?;
        let formulas = invariants.iter_mut().chain(&mut reachable);
        let formulas = formulas.chain(&mut contest);
        let meanings = drafts_with_meanings
            .iter_mut()
            .flat_map(|(_, meanings)| meanings);
        for (_, formula) in formulas.chain(meanings) {
            *formula = shuffled.formula(formula);
        }
        net = shuffled.net;
    }
    let mut system =
        match NetSystem::within(net, NetOptions::default(), Arc::clone(&options.budget)) {
            Ok(system) => system,
            Err(problem) => {
                diagnostics.push(problem);
                return Err(BuildError::Model(diagnostics));
            }
        };
    for (name, formula) in invariants {
        // A state formula: its parser and its reader saw to that.
        let _ = system.add_invariant(name, formula, None);
    }
    for (name, formula) in reachable {
        let _ = system.add_reachable(name, formula);
    }
    options.budget.begin(TRANSLATING);
    let mut temporal = Vec::new();
    for (id, formula) in &contest {
        temporal.push(contest_formula(&mut system, id, formula));
    }
    for (draft, meanings) in drafts_with_meanings {
        let resolve = |text: &str| {
            let known = meanings.iter().find(|(known, _)| known == text);
            let label = known.and_then(|(_, formula)| system.add_label(formula.clone()));
            label.ok_or_else(|| {
                let span = Span::new(0, text.len());
                Diagnostic::error("PNM900", "a proposition is about one state", span)
            })
        };
        temporal.push(draft.finish(resolve)?);
    }
    // The net's executor is driven by tables; there is nothing to compile, and no second
    // execution to compare with.
    let system = Arc::new(system);
    Ok(Parts {
        warnings: diagnostics,
        reference: Arc::clone(&system) as Arc<dyn stubborn_system::System>,
        net: Some(Arc::clone(&system)),
        system,
        program: None,
        temporal,
        expressions: Vec::new(),
        text: None,
        promela: None,
        growth: None,
        stop_compiling: None,
    })
}

/// What the propositions of a draft mean.
fn meanings(draft: &Draft, model: &Model) -> Result<Vec<(String, Formula)>, BuildError> {
    let read = |(text, span): &(String, Span)| {
        let source = SourceFile::new("proposition", text.as_str());
        match parse_state_formula(&source, model) {
            Ok(formula) => Ok((text.clone(), formula)),
            Err(problem) => {
                let source = draft.source();
                let shown = within(problem, source.text(), *span);
                Err(BuildError::Expression(
                    Box::new(source.clone()),
                    vec![shown],
                ))
            }
        }
    };
    draft.propositions().iter().map(read).collect()
}

/// The properties of the contest's files.
fn contest_properties(
    texts: &[TemporalText],
    model: &Model,
) -> Result<Vec<ContestProperty>, BuildError> {
    let mut all = Vec::new();
    for text in texts {
        if let TemporalText::Contest { name, text } = text {
            let source = SourceFile::new(name.as_str(), text.as_str());
            let (properties, problems) = read_properties(&source, model);
            if stubborn_diagnostics::has_errors(&problems) {
                return Err(BuildError::Expression(Box::new(source), problems));
            }
            all.extend(properties);
        }
    }
    Ok(all)
}

/// A formula of the contest as a property: its atoms become labels.
fn contest_formula(system: &mut NetSystem, id: &str, formula: &Formula) -> Temporal {
    let title = format!(
        "{id}: {}",
        shortened(&formula.display(system.net()).to_string())
    );
    let mut formulas = Formulas::new();
    let mut labels = Vec::new();
    let ltl = converted(formula, system, &mut formulas, &mut labels);
    let property = Property::from_formula(formulas, ltl, labels, &Default::default());
    Temporal {
        name: id.into(),
        title,
        span: None,
        origin: Origin::File,
        remarks: String::new(),
        // Nothing in a net can fail.
        evaluations: Evaluations::default(),
        property: property.map_err(|error| Obstacle::TooLarge(error.to_string())),
    }
}

/// The same formula with labels for its atoms. Formulas are no deeper than the front-end
/// reads them.
fn converted(
    formula: &Formula,
    system: &mut NetSystem,
    formulas: &mut Formulas,
    labels: &mut Vec<LabelId>,
) -> Ltl {
    let mut inner =
        |part: &Formula, formulas: &mut Formulas| converted(part, system, formulas, labels);
    let node = match formula {
        Formula::Not(part) => {
            let part = inner(part, formulas);
            return formulas.not(part);
        }
        Formula::And(parts) | Formula::Or(parts) => {
            let is_and = matches!(formula, Formula::And(_));
            let mut whole = formulas.constant(is_and);
            for part in parts {
                let part = inner(part, formulas);
                whole = formulas.make(match is_and {
                    true => Node::And(whole, part),
                    false => Node::Or(whole, part),
                });
            }
            return whole;
        }
        Formula::Next(part) => Node::Next(inner(part, formulas)),
        Formula::Globally(part) => Node::Globally(inner(part, formulas)),
        Formula::Finally(part) => Node::Finally(inner(part, formulas)),
        Formula::Until(left, right) => {
            let left = inner(left, formulas);
            Node::Until(left, inner(right, formulas))
        }
        Formula::Atom(stubborn_net::Atom::Constant(value)) => return formulas.constant(*value),
        Formula::Atom(_) => {
            let name = formula.display(system.net()).to_string();
            let atom = formulas.atom(&name);
            // A new name gets a label of its own; every atom speaks of one state.
            if formulas.names().len() > labels.len() {
                labels.extend(system.add_label(formula.clone()));
            }
            return atom;
        }
    };
    formulas.make(node)
}
