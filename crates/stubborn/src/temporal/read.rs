//! From texts to temporal properties.
//!
//! Some languages must know all propositions before a model is built, so reading has two
//! halves: a [`Draft`] knows the texts of its propositions, and is finished when they have
//! become labels of the model.

use stubborn_diagnostics::{Diagnostic, SourceFile, Span, has_errors};
use stubborn_emptiness::Property;
use stubborn_ltl::automaton::Automaton;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::hoa::read_hoa;
use stubborn_ltl::parser::{Atoms, Syntax, parse};
use stubborn_system::LabelId;

use super::branching::CtlProperty;
use super::evaluation::Evaluations;
use super::{Obstacle, Origin, Temporal, TemporalText};
use crate::load::BuildError;

/// A property whose propositions are still texts.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    name: String,
    title: String,
    span: Option<Span>,
    origin: Origin,
    /// What messages are about.
    source: SourceFile,
    form: Form,
    /// The texts of the propositions, each once, with a place.
    propositions: Vec<(String, Span)>,
}

#[derive(Clone, Debug)]
enum Form {
    Formula(Syntax),
    Branching,
    Automaton(Box<Automaton>),
}

/// The drafts of what a user adds; contest files are left to the language.
pub(crate) fn drafts(texts: &[TemporalText]) -> Result<Vec<Draft>, BuildError> {
    let mut drafts = Vec::new();
    for text in texts {
        match text {
            TemporalText::Formula { text, syntax } => {
                let source = SourceFile::new("--ltl", text.as_str());
                let name = text.trim();
                drafts.push(Draft::formula(
                    name,
                    format!("ltl {}", shortened(name)),
                    source,
                    *syntax,
                )?);
            }
            TemporalText::Branching { text } => drafts.push(Draft::branching(text)?),
            TemporalText::Automaton { name, text } => {
                drafts.push(Draft::automaton(name, text)?);
            }
            TemporalText::Contest { .. } => {}
        }
    }
    Ok(drafts)
}

impl Draft {
    /// A formula that a user gives.
    fn formula(
        name: &str,
        title: String,
        source: SourceFile,
        syntax: Syntax,
    ) -> Result<Self, BuildError> {
        let mut collector = Collector {
            bare: syntax == Syntax::Spin,
            found: Vec::new(),
        };
        let (formula, mut problems) =
            parse(&mut Formulas::new(), source.text(), syntax, &mut collector);
        if formula.is_none() {
            if syntax == Syntax::Spin && parses_as_spot(source.text()) {
                let last = problems.pop();
                problems.extend(last.map(|problem| {
                    problem.help("this is a formula in Spot's notation: add --syntax spot")
                }));
            }
            return Err(BuildError::Expression(Box::new(source), problems));
        }
        Ok(Self {
            name: name.into(),
            title,
            span: None,
            origin: Origin::User,
            source,
            form: Form::Formula(syntax),
            propositions: collector.found,
        })
    }

    /// A CTL formula that a user gives.
    fn branching(text: &str) -> Result<Self, BuildError> {
        let source = SourceFile::new("--ctl", text);
        let mut collector = Collector {
            bare: true,
            found: Vec::new(),
        };
        let mut formulas = stubborn_ctl::Formulas::new();
        let (formula, problems) = stubborn_ctl::parse(&mut formulas, text, &mut collector);
        if formula.is_none() {
            return Err(BuildError::Expression(Box::new(source), problems));
        }
        let name = text.trim();
        Ok(Self {
            name: name.into(),
            title: format!("ctl {}", shortened(name)),
            span: None,
            origin: Origin::User,
            source,
            form: Form::Branching,
            propositions: collector.found,
        })
    }

    /// A formula of the model. Its text may differ from what the model has there, because
    /// macros were expanded.
    pub(crate) fn stated(
        name: &str,
        file: &str,
        text: &str,
        span: Span,
    ) -> Result<Self, BuildError> {
        let source = SourceFile::new(format!("{file}, ltl {name}"), text);
        let title = format!("ltl {name}: {}", shortened(text));
        let draft = Self::formula(name, title, source, Syntax::Spin)?;
        Ok(Self {
            span: Some(span),
            origin: Origin::Model,
            ..draft
        })
    }

    fn automaton(name: &str, text: &str) -> Result<Self, BuildError> {
        let source = SourceFile::new(name, text);
        let (mut automata, mut problems) = read_hoa(text);
        if !has_errors(&problems) && automata.len() != 1 {
            let message = format!(
                "the file has {} automata, and should have one",
                automata.len()
            );
            problems.push(Diagnostic::error("HOA030", message, Span::new(0, 0)));
        }
        let automaton = match automata.pop() {
            Some(automaton) if !has_errors(&problems) => automaton,
            _ => return Err(BuildError::Expression(Box::new(source), problems)),
        };
        let place = |text: &String| {
            let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
            let start = source.text().find(&quoted);
            (
                text.clone(),
                start.map_or(Span::new(0, 0), |at| Span::new(at, at + quoted.len())),
            )
        };
        let propositions = automaton.propositions().iter().map(place).collect();
        Ok(Self {
            name: name.into(),
            title: format!("no run of the automaton {name}"),
            span: None,
            origin: Origin::User,
            source,
            form: Form::Automaton(Box::new(automaton)),
            propositions,
        })
    }

    /// Whether the model states it.
    pub(crate) fn is_stated(&self) -> bool {
        self.origin == Origin::Model
    }

    /// Whether it is a formula of branching time.
    pub(crate) fn is_branching(&self) -> bool {
        matches!(self.form, Form::Branching)
    }

    /// A property of the model that is wrong, and what is wrong with it. Nobody may ask for
    /// it.
    pub(crate) fn broken(
        name: &str,
        span: Span,
        source: &SourceFile,
        problems: &[Diagnostic],
    ) -> Temporal {
        Temporal {
            name: name.into(),
            title: format!("ltl {name}: {}", shortened(source.text())),
            span: Some(span),
            origin: Origin::Model,
            remarks: String::new(),
            evaluations: Evaluations::default(),
            property: Err(Obstacle::Wrong(stubborn_diagnostics::render(
                source, problems, false,
            ))),
        }
    }

    /// The property as a [broken](Self::broken) one.
    pub(crate) fn with_problem(self, problem: Diagnostic) -> Temporal {
        let span = self.span.unwrap_or_default();
        Self::broken(&self.name, span, &self.source, &[problem])
    }

    /// The texts of the propositions, each with its place in [`Self::source`].
    pub(crate) fn propositions(&self) -> &[(String, Span)] {
        &self.propositions
    }

    /// What messages about it are about.
    pub(crate) fn source(&self) -> &SourceFile {
        &self.source
    }

    /// The property, where `resolve` turns propositions into labels.
    pub(crate) fn finish(
        &self,
        mut resolve: impl FnMut(&str) -> Result<LabelId, Diagnostic>,
    ) -> Result<Temporal, BuildError> {
        let text = self.source.text();
        let mut resolve_at = |proposition: &str, span| {
            resolve(proposition).map_err(|error| within(error, text, span))
        };
        let wrong = |problems| BuildError::Expression(Box::new(self.source.clone()), problems);
        let mut remarks = String::new();
        let property = match &self.form {
            Form::Branching => {
                let property = CtlProperty::parse(text, &mut resolve_at).map_err(wrong)?;
                return Ok(
                    self.with_property(Err(Obstacle::Branching(Box::new(property))), remarks)
                );
            }
            Form::Formula(syntax) => {
                let options = Default::default();
                let (property, problems) =
                    Property::parse(text, *syntax, &mut resolve_at, &options);
                let Some(property) = property else {
                    return Err(wrong(problems));
                };
                if !problems.is_empty() {
                    remarks = stubborn_diagnostics::render(&self.source, &problems, false);
                }
                property
            }
            Form::Automaton(automaton) => {
                let labels: Result<Vec<LabelId>, Diagnostic> = self
                    .propositions
                    .iter()
                    .map(|(text, span)| resolve_at(text, *span))
                    .collect();
                let labels = labels.map_err(|problem| wrong(vec![problem]))?;
                Property::from_automaton(automaton.as_ref().clone(), labels)
            }
        };
        Ok(self.with_property(Ok(property), remarks))
    }

    fn with_property(&self, property: Result<Property, Obstacle>, remarks: String) -> Temporal {
        Temporal {
            name: self.name.clone(),
            title: self.title.clone(),
            span: self.span,
            origin: self.origin,
            remarks,
            evaluations: Evaluations::default(),
            property,
        }
    }
}

/// What to do about `GFp` in a notation where that is a name.
const GLUED: &str = "in SPIN's notation operators stand apart (`G F p`); --syntax spot reads `GFp`";

/// Whether a text looks like operators of Spot's notation in front of a proposition.
fn starts_with_operators(text: &str) -> bool {
    let rest = text.trim_start_matches(['G', 'F', 'X']);
    match text.len() - rest.len() {
        0 => false,
        1 => rest.starts_with(['"', '!', '(']),
        _ => rest.starts_with(|c: char| c.is_lowercase() || "\"!(".contains(c)),
    }
}

/// A message about the text of a proposition as one about the text around it, where the
/// proposition stands at `span`, perhaps in quotes.
pub(crate) fn within(mut problem: Diagnostic, around: &str, span: Span) -> Diagnostic {
    let start = span.start as usize;
    let quoted = around
        .get(start..)
        .is_some_and(|rest| rest.starts_with('"'));
    let first = span.start + u32::from(quoted);
    let last = (span.end - u32::from(quoted)).max(first);
    let shift = |inner: Span| Span {
        start: (first + inner.start).min(last),
        end: (first + inner.end).min(last),
    };
    let text = around.get(first as usize..last as usize).unwrap_or("");
    if problem.help.is_none() && starts_with_operators(text) {
        problem = problem.help(GLUED);
    }
    problem.span = shift(problem.span);
    for (place, _) in &mut problem.related {
        *place = shift(*place);
    }
    problem
}

/// The first error of several messages.
pub(crate) fn first_error(problems: Vec<Diagnostic>, span: Span) -> Diagnostic {
    let error = problems
        .into_iter()
        .find(|problem| has_errors(std::slice::from_ref(problem)));
    error.unwrap_or_else(|| Diagnostic::error("LTL009", "this is no proposition", span))
}

/// Long formulas are cut for titles.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 100;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text,
    }
}

fn parses_as_spot(text: &str) -> bool {
    let mut any = Collector {
        bare: false,
        found: Vec::new(),
    };
    parse(&mut Formulas::new(), text, Syntax::Spot, &mut any)
        .0
        .is_some()
}

/// Takes every text for a proposition, and remembers it.
struct Collector {
    bare: bool,
    found: Vec<(String, Span)>,
}

impl Atoms for Collector {
    fn atom(&mut self, text: &str, span: Span) -> Result<String, Diagnostic> {
        if !self.found.iter().any(|(known, _)| known == text) {
            self.found.push((text.into(), span));
        }
        Ok(text.into())
    }

    fn takes_expressions(&self) -> bool {
        self.bare
    }
}
