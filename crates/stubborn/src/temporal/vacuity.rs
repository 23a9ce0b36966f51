//! Did a formula hold for the reason that its author had in mind?
//!
//! A formula that holds whatever one of its parts is has not been checked for that part: `[] (p -> q)`
//! where `p` never happens holds for every `q`. A part that occurs with one polarity is replaced by
//! the worst that it can be, `false` if what is wanted grows with it and `true` if it shrinks, and the
//! result is checked as the formula was; if it holds, the formula holds whatever the part is (Beer,
//! Ben-David, Eisner, Rodeh, *Efficient detection of vacuity in temporal model checking*, 2001;
//! Kupferman, Vardi, *Vacuity detection in temporal model checking*, 2003). Parts under `<->` and
//! `xor` have both polarities, and are left alone.

use stubborn_emptiness::{CheckVerdict, LabelledFormula, Property};
use stubborn_ltl::formula::{Formula, Formulas, Node};
use stubborn_ltl::parser::Syntax;

/// Most parts that are tried.
const MOST_PARTS: usize = 16;

/// The parts of a formula that holds which do not matter, outermost ones only, as text. `check` says
/// whether a property holds; `None` ends it.
pub(super) fn irrelevant_parts(
    formula: &LabelledFormula,
    mut check: impl FnMut(&Property) -> Option<CheckVerdict>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut todo: Vec<Occurrence> = operands(&formula.formulas, formula.formula, &Vec::new(), true);
    todo.reverse();
    for _ in 0..MOST_PARTS {
        let Some(part) = todo.pop() else { break };
        let node = formula.formulas.node(part.formula);
        if matches!(node, Node::True | Node::False) {
            continue;
        }
        let mut formulas = formula.formulas.clone();
        let worst = formulas.constant(!part.positive);
        let changed = replaced(&mut formulas, formula.formula, &part.path, worst);
        let labels = formula.labels.clone();
        let property = Property::from_formula(formulas, changed, labels, &Default::default());
        let Ok(property) = property else { continue };
        match check(&property) {
            None => break,
            Some(CheckVerdict::Holds) => {
                let text = formula.formulas.display(part.formula, Syntax::Spin);
                found.push(text.to_string());
            }
            Some(_) => {
                let mut inner =
                    operands(&formula.formulas, part.formula, &part.path, part.positive);
                inner.reverse();
                todo.extend(inner);
            }
        }
    }
    found
}

/// A part of a formula, by the way that leads there: the numbers of operands.
struct Occurrence {
    formula: Formula,
    path: Vec<usize>,
    /// What is wanted grows with it.
    positive: bool,
}

fn operands(formulas: &Formulas, of: Formula, path: &[usize], positive: bool) -> Vec<Occurrence> {
    let node = formulas.node(of);
    if matches!(node, Node::Iff(..) | Node::Xor(..)) {
        return Vec::new();
    }
    let occurrence = |(number, formula)| {
        let is_turned = match node {
            Node::Not(_) => true,
            Node::Implies(..) => number == 0,
            _ => false,
        };
        Occurrence {
            formula,
            path: path.iter().copied().chain([number]).collect(),
            positive: positive != is_turned,
        }
    };
    node.operands().enumerate().map(occurrence).collect()
}

/// The formula with another one where a way leads.
fn replaced(formulas: &mut Formulas, at: Formula, path: &[usize], by: Formula) -> Formula {
    let Some((first, rest)) = path.split_first() else {
        return by;
    };
    let node = formulas.node(at);
    let mut numbers = 0..;
    let changed = node.map(|operand| match numbers.next() {
        Some(number) if number == *first => replaced(formulas, operand, rest, by),
        _ => operand,
    });
    formulas.make(changed)
}
