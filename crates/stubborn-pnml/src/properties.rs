//! The property files of the Model Checking Contest.
//!
//! `property-set > property > (id, description, formula)`. The shape of the formula says what
//! is asked: `exists-path finally B` and `all-paths globally B` are reachability, another formula
//! under one outermost `all-paths` is LTL, `place-bound` asks for a number, and everything else
//! that mixes path quantifiers with temporal operators is CTL. Tags of the older grammar (`integer-lt`, `implication`, …) are read as well.

use rapidhash::RapidHashSet;
use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_system::budget::UNLIMITED;

use crate::model::{Model, Which};
use crate::report::{Report, shown};
use crate::tree::{Element, Forest};
use crate::xml::{Cursor, Step, Token};
use stubborn_net::{Arc, Net};
use stubborn_net::{Atom, CompareOp, Formula, IntExpr};
use stubborn_net::{Branching, Paths};
use stubborn_net::{PlaceId, TransitionId};

/// Operands of an equivalence are doubled, up to this many operators.
const MAX_DOUBLED: usize = 100_000;

/// What a property asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Is there a reachable marking in which the state formula holds?
    Reachable(Formula),
    /// Does the state formula hold in every reachable marking?
    Invariant(Formula),
    /// Does every path satisfy the formula? A path that ends repeats its last marking for ever.
    Ltl(Formula),
    /// The largest sum of tokens of these places in a reachable marking.
    UpperBound(Vec<PlaceId>),
    /// Does the initial marking satisfy the formula? A path that ends is a path.
    Ctl(Branching),
    /// A formula that puts path quantifiers where CTL has none, or that is not understood.
    Unsupported,
}

/// A property of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContestProperty {
    /// As the file calls it.
    pub id: String,
    /// What it asks.
    pub question: Question,
    /// Where its formula stands.
    pub span: Span,
}

/// Reads a property file for a model. A property that is wrong is [`Question::Unsupported`], and an
/// [error about it](is_about_one_property) says why; so is a formula beyond CTL, which gives a warning.
pub fn read_properties(
    source: &SourceFile,
    model: &Model,
) -> (Vec<ContestProperty>, Vec<Diagnostic>) {
    let mut report = Report::default();
    let mut properties = Vec::new();
    let mut reader = PropertyReader {
        cursor: Cursor::new(source.text(), &UNLIMITED),
        model,
        report: &mut report,
        properties: &mut properties,
    };
    let read = reader.file();
    let dropped = std::mem::take(&mut reader.cursor.dropped);
    if let Err(fatal) = read.and_then(|()| dropped.report(&mut report)) {
        report.fatal(*fatal);
    }
    (properties, report.into_messages())
}

/// Whether a message of [`read_properties`] says that one property is wrong: then the others are what they are.
pub fn is_about_one_property(message: &Diagnostic) -> bool {
    matches!(
        message.code,
        "PNM061" | "PNM062" | "PNM063" | "PNM064" | "PNM065" | "PNM066" | "PNM067"
    )
}

struct PropertyReader<'c, 'a> {
    cursor: Cursor<'a>,
    model: &'c Model,
    report: &'c mut Report,
    properties: &'c mut Vec<ContestProperty>,
}

/// Why a formula gives no property.
enum Unusable {
    /// It was reported.
    Wrong,
    /// It has path quantifiers inside.
    Ctl,
}

type Usable<T> = Step<Result<T, Unusable>>;

/// Takes the value or leaves the function with why there is none.
macro_rules! usable {
    ($value:expr) => {
        match $value? {
            Ok(value) => value,
            Err(why) => return Ok(Err(why)),
        }
    };
}

impl<'c, 'a> PropertyReader<'c, 'a> {
    fn file(&mut self) -> Step<()> {
        let mut found = false;
        loop {
            match self.cursor.next()? {
                Token::Open(tag) if tag.name == "property-set" => found = true,
                Token::Open(tag) if tag.name == "property" => self.property(tag.span)?,
                Token::Open(_) if !found => self.cursor.pass_over()?,
                Token::Open(tag) => self.cursor.other(tag)?,
                Token::Close => {}
                Token::Text(text) => self.cursor.stray(&text),
                Token::End => break,
            }
        }
        if !found {
            let here = self.cursor.here();
            self.report
                .error("PNM060", "this file has no `property-set`", here)?;
        }
        Ok(())
    }

    fn property(&mut self, span: Span) -> Step<()> {
        let mut id = String::new();
        let mut formula = None;
        let mut forest = Forest::default();
        while let Some(tag) = self.cursor.child()? {
            match tag.name {
                "id" if id.is_empty() => id = self.cursor.text()?.into_owned(),
                "formula" if formula.is_none() => {
                    let element = forest.read(&mut self.cursor, tag)?;
                    forest.tag(element);
                    formula = forest.first_child(element);
                }
                _ => self.cursor.other(tag)?,
            }
        }
        let Some(root) = formula else {
            let what = format!("the property `{}` has no formula", shown(&id));
            let question = Question::Unsupported;
            self.properties.push(ContestProperty { id, question, span });
            return self.report.error("PNM067", what, span);
        };
        let span = forest.tag(root).span;
        let read = self.question(&forest, root, id, span)?;
        match read {
            // Of a formula that is wrong anyway, not all was looked at.
            false => Ok(()),
            true => forest.report_unread(&mut self.cursor.dropped),
        }
    }

    /// Adds the property of a formula; false if it is wrong, which was reported then.
    fn question(
        &mut self,
        forest: &Forest<'a>,
        root: Element,
        id: String,
        span: Span,
    ) -> Step<bool> {
        let mut formulas = Formulas {
            forest,
            model: self.model,
            report: self.report,
        };
        let question = match formulas.question(root)? {
            Err(Unusable::Ctl) => formulas.branching(root)?.map(Question::Ctl),
            known => known,
        };
        let (question, understood) = match question {
            Ok(question) => (question, true),
            Err(Unusable::Wrong) => (Question::Unsupported, false),
            Err(Unusable::Ctl) => {
                let what = format!("`{}` is no CTL formula", shown(&id));
                let help = "each path quantifier has one temporal operator";
                let warning = Diagnostic::warning("PNM065", what, span).help(help);
                self.report.add(warning)?;
                (Question::Unsupported, false)
            }
        };
        self.properties.push(ContestProperty { id, question, span });
        Ok(understood)
    }
}

/// Of some transitions, those that decide whether any of them is enabled: of several with the
/// same conditions one, and none that needs more than another. A transition of a coloured net has
/// thousands of instances, and many of them differ in their outputs alone.
fn easiest(net: &Net, mut transitions: Vec<TransitionId>) -> Vec<TransitionId> {
    /// Above so many different inputs, pairs are not compared.
    const MOST_COMPARED: usize = 2_000;
    transitions.sort_unstable();
    let mut seen: RapidHashSet<[&[Arc<PlaceId>]; 2]> = RapidHashSet::default();
    transitions.retain(|t| seen.insert([net.pre(*t), net.inhibitors(*t)]));
    if transitions.len() > MOST_COMPARED {
        return transitions;
    }
    let needs_more = |t: TransitionId, u: TransitionId| {
        let covered = |arc: &Arc<PlaceId>| net.input_weight(arc.node, t) >= arc.weight;
        let inhibited =
            |arc: &Arc<PlaceId>| (1..=arc.weight).contains(&net.inhibitor_weight(arc.node, t));
        t != u
            && net.pre(u).len() <= net.pre(t).len()
            && net.pre(u).iter().all(covered)
            && net.inhibitors(u).iter().all(inhibited)
    };
    let all = transitions.clone();
    transitions.retain(|t| !all.iter().any(|u| needs_more(*t, *u)));
    transitions
}

struct Formulas<'f, 'a> {
    forest: &'f Forest<'a>,
    model: &'f Model,
    report: &'f mut Report,
}

impl<'f, 'a> Formulas<'f, 'a> {
    fn question(&mut self, root: Element) -> Usable<Question> {
        let inner = self.forest.first_child(root);
        match (self.forest.name(root), inner) {
            ("place-bound", _) => {
                let places = usable!(self.places(root));
                Ok(Ok(Question::UpperBound(places)))
            }
            ("exists-path", Some(inner)) if self.forest.name(inner) == "finally" => {
                let formula = usable!(self.only_operand(inner));
                Ok(if formula.is_state_formula() {
                    Ok(Question::Reachable(formula))
                } else {
                    Err(Unusable::Ctl)
                })
            }
            ("all-paths", Some(inner)) => {
                let formula = usable!(self.formula(inner));
                Ok(Ok(match formula {
                    Formula::Globally(state) if state.is_state_formula() => {
                        Question::Invariant(*state)
                    }
                    other => Question::Ltl(other),
                }))
            }
            _ => {
                // A formula without path quantifiers speaks of the initial marking, which LTL
                // can say; anything else with quantifiers is CTL.
                let formula = usable!(self.formula(root));
                Ok(if formula.is_state_formula() {
                    Ok(Question::Ltl(formula))
                } else {
                    Err(Unusable::Ctl)
                })
            }
        }
    }

    fn formula(&mut self, element: Element) -> Usable<Formula> {
        let tag = self.forest.tag(element);
        let constant = |value| Ok(Ok(Formula::Atom(Atom::Constant(value))));
        match tag.name {
            "all-paths" | "exists-path" => Ok(Err(Unusable::Ctl)),
            "true" => constant(true),
            "false" => constant(false),
            "deadlock" => Ok(Ok(Formula::Atom(Atom::Deadlock))),
            "negation" => Ok(Ok(usable!(self.only_operand(element)).negated())),
            "conjunction" => Ok(Ok(Formula::And(usable!(self.operands(element, 1))))),
            "disjunction" => Ok(Ok(Formula::Or(usable!(self.operands(element, 1))))),
            "implication" => {
                let (left, right) = usable!(self.two_operands(element));
                Ok(Ok(Formula::Or(vec![left.negated(), right])))
            }
            "equivalence" | "exclusive-disjunction" => {
                let (left, right) = usable!(self.two_operands(element));
                // Each side is written twice, so nested ones grow exponentially.
                if left.size() + right.size() > MAX_DOUBLED {
                    let what = format!("`{}` around such large formulas", tag.name);
                    return self.wrong("PNM066", what, tag.span);
                }
                let both = Formula::And(vec![left.clone(), right.clone()]);
                let none = Formula::And(vec![left.negated(), right.negated()]);
                let same = Formula::Or(vec![both, none]);
                Ok(Ok(if tag.name == "equivalence" {
                    same
                } else {
                    same.negated()
                }))
            }
            "next" => Ok(Ok(Formula::Next(Box::new(usable!(
                self.only_operand(element)
            ))))),
            "globally" => Ok(Ok(Formula::Globally(Box::new(usable!(
                self.only_operand(element)
            ))))),
            "finally" => Ok(Ok(Formula::Finally(Box::new(usable!(
                self.only_operand(element)
            ))))),
            "until" => self.until(element),
            "is-fireable" => {
                let mut transitions = Vec::new();
                for child in self.forest.children(element).collect::<Vec<_>>() {
                    let id = usable!(self.named("transition", child));
                    match self.model.transition(id) {
                        Ok(found) => transitions.extend(found.map(TransitionId)),
                        Err(which) => return self.unknown("transition", id, &which, child),
                    }
                }
                let transitions = easiest(&self.model.net, transitions);
                Ok(Ok(Formula::Atom(Atom::Fireable(transitions))))
            }
            "integer-le" => self.comparison(element, CompareOp::LessOrEqual),
            "integer-lt" => self.comparison(element, CompareOp::Less),
            "integer-eq" => self.comparison(element, CompareOp::Equal),
            "integer-ne" => self.comparison(element, CompareOp::NotEqual),
            "integer-ge" => self.comparison(element, CompareOp::GreaterOrEqual),
            "integer-gt" => self.comparison(element, CompareOp::Greater),
            other => self.wrong(
                "PNM061",
                format!("`{}` is not known in a formula", shown(other)),
                tag.span,
            ),
        }
    }

    /// A formula of branching time.
    fn branching(&mut self, element: Element) -> Usable<Branching> {
        match self.formula(element)? {
            Ok(formula) if formula.is_state_formula() => return Ok(Ok(Branching::State(formula))),
            // A temporal operator without a quantifier.
            Ok(_) => return Ok(Err(Unusable::Ctl)),
            Err(Unusable::Wrong) => return Ok(Err(Unusable::Wrong)),
            Err(Unusable::Ctl) => {}
        }
        let name = self.forest.name(element);
        let children: Vec<Element> = self.forest.children(element).collect();
        if let ("all-paths" | "exists-path", [inner]) = (name, children.as_slice()) {
            let paths = if name == "all-paths" {
                Paths::All
            } else {
                Paths::Some
            };
            return self.quantified(paths, *inner);
        }
        let mut parts = Vec::with_capacity(children.len());
        for child in children {
            parts.push(usable!(self.branching(child)));
        }
        Ok(Ok(match (name, parts.len()) {
            ("conjunction", _) => Branching::And(parts),
            ("disjunction", _) => Branching::Or(parts),
            ("negation", 1) => parts.swap_remove(0).negated(),
            ("implication", 2) => {
                let left = parts.swap_remove(0).negated();
                parts.push(left);
                Branching::Or(parts)
            }
            ("equivalence" | "exclusive-disjunction", 2) => {
                if parts.iter().map(Branching::size).sum::<usize>() > MAX_DOUBLED {
                    let what = format!("`{name}` around such large formulas");
                    return self.wrong("PNM066", what, self.forest.tag(element).span);
                }
                let none = parts.iter().cloned().map(Branching::negated).collect();
                let same = Branching::Or(vec![Branching::And(parts), Branching::And(none)]);
                if name == "equivalence" {
                    same
                } else {
                    same.negated()
                }
            }
            _ => return Ok(Err(Unusable::Ctl)),
        }))
    }

    /// A temporal operator behind a path quantifier.
    fn quantified(&mut self, paths: Paths, element: Element) -> Usable<Branching> {
        let children: Vec<Element> = self.forest.children(element).collect();
        let name = self.forest.name(element);
        if let ("next" | "globally" | "finally", [inner]) = (name, children.as_slice()) {
            let inner = Box::new(usable!(self.branching(*inner)));
            return Ok(Ok(match name {
                "next" => Branching::Next(paths, inner),
                "globally" => Branching::Globally(paths, inner),
                _ => Branching::Finally(paths, inner),
            }));
        }
        if name != "until" {
            return Ok(Err(Unusable::Ctl));
        }
        let (mut before, mut reach) = (None, None);
        for child in children {
            let operand = self.forest.first_child(child);
            match (self.forest.name(child), operand) {
                ("before", Some(inner)) if before.is_none() => {
                    before = Some(usable!(self.branching(inner)))
                }
                ("reach", Some(inner)) if reach.is_none() => {
                    reach = Some(usable!(self.branching(inner)))
                }
                _ => return self.not_in_until(child),
            }
        }
        Ok(match (before, reach) {
            (Some(before), Some(reach)) => {
                Ok(Branching::Until(paths, Box::new(before), Box::new(reach)))
            }
            _ => Err(Unusable::Ctl),
        })
    }

    fn not_in_until<T>(&mut self, child: Element) -> Usable<T> {
        let tag = self.forest.tag(child);
        let what = format!("`{}` stands where `before` and `reach` do", shown(tag.name));
        self.wrong("PNM062", what, tag.span)
    }

    fn until(&mut self, element: Element) -> Usable<Formula> {
        let (mut before, mut reach) = (None, None);
        for child in self.forest.children(element) {
            match self.forest.name(child) {
                "before" if before.is_none() => before = Some(usable!(self.only_operand(child))),
                "reach" if reach.is_none() => reach = Some(usable!(self.only_operand(child))),
                _ => return self.not_in_until(child),
            }
        }
        match (before, reach) {
            (Some(before), Some(reach)) => {
                Ok(Ok(Formula::Until(Box::new(before), Box::new(reach))))
            }
            _ => {
                let span = self.forest.tag(element).span;
                self.wrong(
                    "PNM062",
                    "`until` has a `before` and a `reach`".to_owned(),
                    span,
                )
            }
        }
    }

    fn operands(&mut self, element: Element, least: usize) -> Usable<Vec<Formula>> {
        let children: Vec<Element> = self.forest.children(element).collect();
        let mut formulas = Vec::with_capacity(children.len());
        for child in children {
            formulas.push(usable!(self.formula(child)));
        }
        if formulas.len() < least {
            let tag = self.forest.tag(element);
            return self.wrong(
                "PNM062",
                format!("`{}` is empty", shown(tag.name)),
                tag.span,
            );
        }
        Ok(Ok(formulas))
    }

    fn only_operand(&mut self, element: Element) -> Usable<Formula> {
        let mut formulas = usable!(self.operands(element, 1));
        if formulas.len() == 1 {
            return Ok(Ok(formulas.swap_remove(0)));
        }
        let tag = self.forest.tag(element);
        let what = format!("`{}` has one operand", shown(tag.name));
        self.wrong("PNM062", what, tag.span)
    }

    fn two_operands(&mut self, element: Element) -> Usable<(Formula, Formula)> {
        let formulas = usable!(self.operands(element, 2));
        match <[Formula; 2]>::try_from(formulas) {
            Ok([left, right]) => Ok(Ok((left, right))),
            Err(_) => {
                let tag = self.forest.tag(element);
                let what = format!("`{}` has two operands", shown(tag.name));
                self.wrong("PNM062", what, tag.span)
            }
        }
    }

    fn comparison(&mut self, element: Element, op: CompareOp) -> Usable<Formula> {
        let children: Vec<Element> = self.forest.children(element).collect();
        let &[left, right] = children.as_slice() else {
            let span = self.forest.tag(element).span;
            return self.wrong("PNM062", "a comparison has two operands".to_owned(), span);
        };
        // What is taken away on one side is added on the other.
        let (mut sides, tag) = (
            [IntExpr::default(), IntExpr::default()],
            self.forest.tag(element),
        );
        for (number, side) in [(left, 0), (right, 1)] {
            let [added, taken] = usable!(self.number(number));
            if !(sides[side].add(added) && sides[1 - side].add(taken)) {
                let what = "the constants add up to more than 2^64 - 1".to_owned();
                return self.wrong("PNM063", what, tag.span);
            }
        }
        let [left, right] = sides;
        Ok(Ok(Formula::Atom(Atom::Compare(op, left, right))))
    }

    /// A number, as a sum and what is taken away from it.
    fn number(&mut self, element: Element) -> Usable<[IntExpr; 2]> {
        let tag = self.forest.tag(element);
        let alone = |number| Ok(Ok([number, IntExpr::default()]));
        match tag.name {
            "tokens-count" => alone(IntExpr::tokens(usable!(self.places(element)))),
            "integer-sum" | "integer-difference" => {
                let children: Vec<Element> = self.forest.children(element).collect();
                if children.len() < 2 {
                    let what = format!("`{}` has at least two operands", tag.name);
                    return self.wrong("PNM062", what, tag.span);
                }
                let mut all = [IntExpr::default(), IntExpr::default()];
                for (at, child) in children.into_iter().enumerate() {
                    // Of a difference, all but the first one are taken away.
                    let turned = usize::from(at > 0 && tag.name == "integer-difference");
                    let [added, taken] = usable!(self.number(child));
                    if !(all[turned].add(added) && all[1 - turned].add(taken)) {
                        let what = "the constants add up to more than 2^64 - 1".to_owned();
                        return self.wrong("PNM063", what, tag.span);
                    }
                }
                Ok(Ok(all))
            }
            "integer-constant" => {
                let text = self.forest.text(element).trim();
                match text.parse::<u64>() {
                    Ok(value) => alone(IntExpr::constant(value)),
                    Err(_) => {
                        let what = format!("`{}` is not a number from 0 to 2^64 - 1", shown(text));
                        self.wrong("PNM063", what, tag.span)
                    }
                }
            }
            other => {
                let what = format!("`{}` is not a number", shown(other));
                self.wrong("PNM061", what, tag.span)
            }
        }
    }

    fn places(&mut self, element: Element) -> Usable<Vec<PlaceId>> {
        let mut places = Vec::new();
        for child in self.forest.children(element).collect::<Vec<_>>() {
            let id = usable!(self.named("place", child));
            match self.model.place(id) {
                Ok(found) => places.extend(found.map(PlaceId)),
                Err(which) => return self.unknown("place", id, &which, child),
            }
        }
        Ok(Ok(places))
    }

    /// The name in an element that names something of a kind.
    fn named(&mut self, kind: &str, element: Element) -> Usable<&'f str> {
        let forest = self.forest;
        let tag = forest.tag(element);
        if tag.name != kind {
            let what = format!("`{}` stands where a `{kind}` is named", shown(tag.name));
            return self.wrong("PNM061", what, tag.span);
        }
        Ok(Ok(forest.text(element).trim()))
    }

    fn unknown<T>(&mut self, kind: &str, id: &str, which: &Which, element: Element) -> Usable<T> {
        let span = self.forest.tag(element).span;
        self.report.add(which.message(kind, id, span))?;
        Ok(Err(Unusable::Wrong))
    }

    fn wrong<T>(&mut self, code: &'static str, what: String, span: Span) -> Usable<T> {
        self.report.error(code, what, span)?;
        Ok(Err(Unusable::Wrong))
    }
}
