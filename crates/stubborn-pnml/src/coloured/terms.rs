//! Terms of a coloured net in a normal form: inscriptions as sums of tuples, guards as
//! Boolean combinations of comparisons.
//!
//! An inscription is a list of [`Summand`]s `coefficient × (component, …)`. A component is one
//! colour ([`Atom`]: a constant or a variable, moved by a number of successor steps) or all
//! colours of a sort. A tuple that contains sums is multiplied out; a subtraction is a negative
//! coefficient, and the unfolder refuses a binding for which the total is negative.

use stubborn_diagnostics::{Diagnostic, Span};

use crate::coloured::sorts::{BasicId, MAX_COMPONENTS, Sorts};
use crate::report::{Report, shown};
use crate::tree::{Element, Forest};
use crate::xml::Step;

/// The tuples of sums of one net may multiply out to this many summands.
const MAX_SUMMANDS: usize = 1 << 21;

/// Where a colour comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// A fixed colour.
    Constant(u32),
    /// A component of a variable.
    Variable(u32),
}

/// One colour of a basic sort: `base` moved `shift` steps forward, around the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atom {
    pub(crate) base: Base,
    pub(crate) shift: u32,
    pub(crate) sort: BasicId,
    /// Number of colours of the sort.
    pub(crate) size: u32,
}

impl Atom {
    /// The colour, given the values of variables.
    pub(crate) fn value(&self, variable: impl Fn(u32) -> u32) -> u32 {
        let base = match self.base {
            Base::Constant(colour) => colour,
            Base::Variable(v) => variable(v),
        };
        // Both are below `size`, which is at most 2^24.
        (base + self.shift) % self.size
    }

    /// The base colour for which the atom has the value `wanted`.
    pub(crate) fn solve(&self, wanted: u32) -> u32 {
        (wanted + self.size - self.shift) % self.size
    }
}

/// A component of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// One colour.
    One(Atom),
    /// Every colour of the sort, each once.
    All(BasicId),
}

impl Component {
    pub(crate) fn sort(&self) -> BasicId {
        match self {
            Self::One(atom) => atom.sort,
            Self::All(sort) => *sort,
        }
    }
}

/// `coefficient × (component, …)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summand {
    pub(crate) coefficient: i64,
    pub(crate) components: Vec<Component>,
}

/// How two colours are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
}

impl Comparison {
    pub(crate) fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
        }
    }
}

/// The condition of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    Constant(bool),
    And(Vec<Guard>),
    Or(Vec<Guard>),
    Not(Box<Guard>),
    Compare(Comparison, Atom, Atom),
}

impl Guard {
    /// Its truth, given the values of variables.
    pub(crate) fn holds(&self, variable: &impl Fn(u32) -> u32) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::And(parts) => parts.iter().all(|part| part.holds(variable)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(variable)),
            Self::Not(inner) => !inner.holds(variable),
            Self::Compare(comparison, left, right) => {
                comparison.holds(left.value(variable), right.value(variable))
            }
        }
    }

    /// Calls `visit` with every variable component that occurs.
    pub(crate) fn variables(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Self::Constant(_) => {}
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.variables(visit));
            }
            Self::Not(inner) => inner.variables(visit),
            Self::Compare(_, left, right) => {
                for atom in [left, right] {
                    if let Base::Variable(v) = atom.base {
                        visit(v);
                    }
                }
            }
        }
    }

    /// Splits conjunctions into their parts.
    pub(crate) fn conjuncts(self, out: &mut Vec<Guard>) {
        match self {
            Self::And(parts) => parts.into_iter().for_each(|part| part.conjuncts(out)),
            Self::Constant(true) => {}
            other => out.push(other),
        }
    }
}

/// Reads terms of one net.
pub(crate) struct Terms<'s, 'a> {
    pub(crate) forest: &'s Forest<'a>,
    pub(crate) sorts: &'s mut Sorts<'a>,
    /// Summands that tuples have been multiplied out to so far.
    multiplied_out: usize,
    /// Components of variables that were read since somebody asked, also where nothing is left of
    /// them: a binding has a value for the `x` of `0'x`, too.
    mentioned: Vec<u32>,
}

impl<'s, 'a> Terms<'s, 'a> {
    pub(crate) fn new(forest: &'s Forest<'a>, sorts: &'s mut Sorts<'a>) -> Self {
        Self {
            forest,
            sorts,
            multiplied_out: 0,
            mentioned: Vec::new(),
        }
    }

    /// The variables of the terms that were read since the last call.
    pub(crate) fn take_mentioned(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.mentioned)
    }

    /// An inscription or a marking; none if it is wrong, which was reported then.
    pub(crate) fn multiset(
        &mut self,
        element: Element,
        report: &mut Report,
    ) -> Step<Option<Vec<Summand>>> {
        let tag = self.forest.tag(element);
        let operands: Vec<Element> = self.forest.operands(element).collect();
        match tag.name {
            "add" => {
                let mut sum = Vec::new();
                for operand in operands {
                    match self.multiset(operand, report)? {
                        Some(part) => sum.extend(part),
                        None => return Ok(None),
                    }
                }
                Ok(Some(sum))
            }
            "subtract" => {
                let mut sum = Vec::new();
                for (position, operand) in operands.into_iter().enumerate() {
                    let Some(mut part) = self.multiset(operand, report)? else {
                        return Ok(None);
                    };
                    if position > 0 {
                        part.iter_mut().for_each(|s| s.coefficient = -s.coefficient);
                    }
                    sum.extend(part);
                }
                Ok(Some(sum))
            }
            "numberof" | "scalarproduct" => self.multiple(&operands, tag.span, report),
            "empty" => {
                if let Some(sort) = self.forest.first_child(element) {
                    self.sorts.resolve(self.forest, sort, report)?;
                }
                Ok(Some(Vec::new()))
            }
            "all" => {
                let Some(sort) = self.forest.first_child(element) else {
                    return self.wrong("PNM040", "`all` names a sort", tag.span, report);
                };
                let sorts = self.sorts.resolve(self.forest, sort, report)?;
                Ok(sorts.map(|sorts| {
                    let components = sorts.into_iter().map(Component::All).collect();
                    vec![Summand {
                        coefficient: 1,
                        components,
                    }]
                }))
            }
            "tuple" => self.tuple(&operands, tag.span, report),
            "successor" => self.shifted(&operands, true, tag.span, report),
            "predecessor" => self.shifted(&operands, false, tag.span, report),
            "variable" => {
                let id = self.forest.required(element, "refvariable")?;
                let Some(variable) = self.sorts.variable(&id) else {
                    let what = format!("the variable `{}` is not declared", shown(&id));
                    return self.wrong("PNM033", &what, tag.span, report);
                };
                let numbers = variable.first..;
                let components = variable
                    .sorts
                    .iter()
                    .zip(numbers.clone())
                    .map(|(sort, v)| Component::One(self.atom(Base::Variable(v), *sort)))
                    .collect();
                let count = variable.sorts.len();
                self.mentioned.extend(numbers.take(count));
                Ok(Some(vec![Summand {
                    coefficient: 1,
                    components,
                }]))
            }
            "useroperator" => {
                let id = self.forest.required(element, "declaration")?;
                if let Some((sort, colour)) = self.sorts.constant(&id) {
                    return Ok(Some(vec![self.constant(sort, colour)]));
                }
                if let Some((sort, members)) = self.sorts.part(&id) {
                    let summands = members.iter().map(|m| self.constant(*sort, *m)).collect();
                    return Ok(Some(summands));
                }
                // TAPAAL writes the black token like a constant of a sort `dot`.
                if id.eq_ignore_ascii_case("dot") {
                    return Ok(Some(vec![self.constant(Sorts::DOT, 0)]));
                }
                let what = format!("the constant `{}` is not declared", shown(&id));
                self.wrong("PNM033", &what, tag.span, report)
            }
            "dotconstant" => Ok(Some(vec![self.constant(Sorts::DOT, 0)])),
            "finiteintrangeconstant" => {
                let value = self.forest.required(element, "value")?;
                let Some(range) = self.forest.first_child(element) else {
                    return self.wrong("PNM040", "this constant has no range", tag.span, report);
                };
                let Some(sorts) = self.sorts.resolve(self.forest, range, report)? else {
                    return Ok(None);
                };
                let position = match (sorts.as_slice(), value.trim().parse::<i64>()) {
                    ([sort], Ok(value)) => self
                        .sorts
                        .position_in_range(*sort, value)
                        .map(|at| (*sort, at)),
                    _ => None,
                };
                match position {
                    Some((sort, at)) => Ok(Some(vec![self.constant(sort, at)])),
                    None => {
                        let what = format!("`{}` is not in the range", shown(&value));
                        self.wrong("PNM040", &what, tag.span, report)
                    }
                }
            }
            other => {
                let what = format!("the operator `{}` is not supported here", shown(other));
                self.wrong("PNM041", &what, tag.span, report)
            }
        }
    }

    /// A condition; none if it is wrong, which was reported then.
    pub(crate) fn guard(&mut self, element: Element, report: &mut Report) -> Step<Option<Guard>> {
        let tag = self.forest.tag(element);
        let operands: Vec<Element> = self.forest.operands(element).collect();
        let compare = |c| Some((c, false));
        let comparison = match tag.name {
            "equality" => compare(Comparison::Equal),
            "inequality" => compare(Comparison::NotEqual),
            "lessthan" => compare(Comparison::Less),
            "lessthanorequal" => compare(Comparison::LessOrEqual),
            "greaterthan" => Some((Comparison::Less, true)),
            "greaterthanorequal" => Some((Comparison::LessOrEqual, true)),
            _ => None,
        };
        if let Some((comparison, swapped)) = comparison {
            return self.comparison(comparison, swapped, &operands, tag.span, report);
        }
        let expected = match tag.name {
            "and" | "or" => None,
            "not" => Some(1),
            "imply" => Some(2),
            "booleanconstant" => {
                let value = self.forest.required(element, "value")?;
                if let Ok(value) = value.trim().parse() {
                    return Ok(Some(Guard::Constant(value)));
                }
                let what = format!("`{}` is neither `true` nor `false`", shown(&value));
                report.error("PNM040", what, tag.span)?;
                return Ok(None);
            }
            other => {
                let what = format!(
                    "the operator `{}` is not supported in a guard",
                    shown(other)
                );
                report.error("PNM041", what, tag.span)?;
                return Ok(None);
            }
        };
        if expected.is_some_and(|n| n != operands.len()) || operands.is_empty() {
            let what = format!("`{}` has a wrong number of operands", tag.name);
            report.error("PNM040", what, tag.span)?;
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(operands.len());
        for operand in operands {
            match self.guard(operand, report)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        Ok(Some(match tag.name {
            "and" => Guard::And(parts),
            "or" => Guard::Or(parts),
            _ => {
                let last = parts.pop().unwrap_or(Guard::Constant(true));
                match parts.pop() {
                    None => Guard::Not(Box::new(last)),
                    Some(first) => Guard::Or(vec![Guard::Not(Box::new(first)), last]),
                }
            }
        }))
    }

    fn comparison(
        &mut self,
        comparison: Comparison,
        swapped: bool,
        operands: &[Element],
        span: Span,
        report: &mut Report,
    ) -> Step<Option<Guard>> {
        let &[left, right] = operands else {
            report.error("PNM040", "a comparison has two operands", span)?;
            return Ok(None);
        };
        let left = self.colour(left, report)?;
        let right = self.colour(right, report)?;
        let (Some(mut left), Some(mut right)) = (left, right) else {
            return Ok(None);
        };
        if swapped {
            std::mem::swap(&mut left, &mut right);
        }
        let same_sorts =
            left.len() == right.len() && left.iter().zip(&right).all(|(l, r)| l.sort == r.sort);
        if !same_sorts {
            report.error("PNM042", "the two sides are of different sorts", span)?;
            return Ok(None);
        }
        let ordered = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
        if ordered && left.len() != 1 {
            report.error("PNM042", "tuples have no order", span)?;
            return Ok(None);
        }
        let mut parts: Vec<Guard> = left
            .into_iter()
            .zip(right)
            .map(|(l, r)| Guard::Compare(comparison, l, r))
            .collect();
        Ok(Some(match (parts.len(), comparison) {
            (1, _) => parts.swap_remove(0),
            (_, Comparison::NotEqual) => Guard::Or(parts),
            _ => Guard::And(parts),
        }))
    }

    /// A term that stands for exactly one colour.
    fn colour(&mut self, element: Element, report: &mut Report) -> Step<Option<Vec<Atom>>> {
        let Some(summands) = self.multiset(element, report)? else {
            return Ok(None);
        };
        if let [
            Summand {
                coefficient: 1,
                components,
            },
        ] = summands.as_slice()
        {
            let atoms: Option<Vec<Atom>> = components
                .iter()
                .map(|component| match component {
                    Component::One(atom) => Some(*atom),
                    Component::All(_) => None,
                })
                .collect();
            if atoms.is_some() {
                return Ok(atoms);
            }
        }
        report.error(
            "PNM042",
            "one colour is expected here",
            self.forest.tag(element).span,
        )?;
        Ok(None)
    }

    fn atom(&self, base: Base, sort: BasicId) -> Atom {
        Atom {
            base,
            shift: 0,
            sort,
            size: self.sorts.cardinality(sort),
        }
    }

    fn constant(&self, sort: BasicId, colour: u32) -> Summand {
        let atom = self.atom(Base::Constant(colour), sort);
        Summand {
            coefficient: 1,
            components: vec![Component::One(atom)],
        }
    }

    fn wrong<T>(
        &self,
        code: &'static str,
        what: &str,
        span: Span,
        report: &mut Report,
    ) -> Step<Option<T>> {
        report.add(Diagnostic::error(code, what, span))?;
        Ok(None)
    }

    fn multiple(
        &mut self,
        operands: &[Element],
        span: Span,
        report: &mut Report,
    ) -> Step<Option<Vec<Summand>>> {
        let (factor, term) = match operands {
            [term] => (1, *term),
            [number, term] => {
                let tag = self.forest.tag(*number);
                let value = if tag.name == "numberconstant" {
                    let value = self.forest.required(*number, "value")?;
                    value.trim().parse::<u32>().ok()
                } else {
                    None
                };
                match value {
                    Some(value) => (i64::from(value), *term),
                    None => {
                        let what = "a multiplicity is a number from 0 to 2^32 - 1";
                        return self.wrong("PNM040", what, tag.span, report);
                    }
                }
            }
            _ => {
                let what = "`numberof` has a number and a term";
                return self.wrong("PNM040", what, span, report);
            }
        };
        let Some(mut summands) = self.multiset(term, report)? else {
            return Ok(None);
        };
        for summand in &mut summands {
            match summand.coefficient.checked_mul(factor) {
                Some(product) => summand.coefficient = product,
                None => {
                    return self.wrong("PNM013", "this multiplicity is too large", span, report);
                }
            }
        }
        summands.retain(|summand| summand.coefficient != 0);
        Ok(Some(summands))
    }

    fn tuple(
        &mut self,
        operands: &[Element],
        span: Span,
        report: &mut Report,
    ) -> Step<Option<Vec<Summand>>> {
        let mut product = vec![Summand {
            coefficient: 1,
            components: Vec::new(),
        }];
        for operand in operands {
            let Some(factor) = self.multiset(*operand, report)? else {
                return Ok(None);
            };
            self.multiplied_out = self
                .multiplied_out
                .saturating_add(product.len().saturating_mul(factor.len()));
            let components = |sum: &[Summand]| sum.first().map_or(0, |s| s.components.len());
            if self.multiplied_out > MAX_SUMMANDS
                || components(&product) + components(&factor) > MAX_COMPONENTS
            {
                let what = "this tuple of sums multiplies out to too many terms";
                return self.wrong("PNM050", what, span, report);
            }
            let mut next = Vec::with_capacity(product.len() * factor.len());
            for left in &product {
                for right in &factor {
                    let Some(coefficient) = left.coefficient.checked_mul(right.coefficient) else {
                        let what = "this multiplicity is too large";
                        return self.wrong("PNM013", what, span, report);
                    };
                    let components = left
                        .components
                        .iter()
                        .chain(&right.components)
                        .copied()
                        .collect();
                    next.push(Summand {
                        coefficient,
                        components,
                    });
                }
            }
            product = next;
        }
        Ok(Some(product))
    }

    fn shifted(
        &mut self,
        operands: &[Element],
        forward: bool,
        span: Span,
        report: &mut Report,
    ) -> Step<Option<Vec<Summand>>> {
        let &[operand] = operands else {
            let what = "successor and predecessor have one operand";
            return self.wrong("PNM040", what, span, report);
        };
        let Some(mut atoms) = self.colour(operand, report)? else {
            return Ok(None);
        };
        let [atom] = atoms.as_mut_slice() else {
            let what = "a tuple has no successor or predecessor";
            return self.wrong("PNM042", what, span, report);
        };
        let step = if forward { 1 } else { atom.size - 1 };
        atom.shift = (atom.shift + step) % atom.size;
        let components = vec![Component::One(*atom)];
        Ok(Some(vec![Summand {
            coefficient: 1,
            components,
        }]))
    }
}
