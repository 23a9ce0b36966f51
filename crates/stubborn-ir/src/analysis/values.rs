//! Sets of numbers as sorted lists of intervals, and the values of a field that satisfy a
//! label.

use stubborn_system::{FieldId, LabelId, System};

use crate::effects::Effects;
use crate::interpreter::Interpreter;
use crate::{BinaryOp, ChannelRef, Expr, Model, UnaryOp};

/// Fields with at most this many values are tried one by one where syntax gives no answer.
const SMALL_RANGE: u64 = 1_024;

/// A set of numbers: disjoint intervals in increasing order, none touching the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values(Vec<(i64, i64)>);

impl Values {
    pub(super) fn interval(min: i64, max: i64) -> Self {
        Self(if min <= max {
            vec![(min, max)]
        } else {
            Vec::new()
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, value: i64) -> bool {
        self.0.iter().any(|(a, b)| (*a..=*b).contains(&value))
    }

    pub(super) fn intersection(&self, other: &Values) -> Values {
        let mut out = Vec::new();
        for (a, b) in &self.0 {
            for (c, d) in &other.0 {
                let (min, max) = (*a.max(c), *b.min(d));
                if min <= max {
                    out.push((min, max));
                }
            }
        }
        out.sort_unstable();
        Values(out)
    }

    /// What lies in `min..=max` and not in the set.
    pub(super) fn complement(&self, min: i64, max: i64) -> Values {
        let mut out = Vec::new();
        let mut next = min;
        for (a, b) in &self.0 {
            if next < *a {
                out.push((next, (*a - 1).min(max)));
            }
            next = next.max(*b + 1);
        }
        if next <= max {
            out.push((next, max));
        }
        Values(out.into_iter().filter(|(a, b)| a <= b).collect())
    }

    /// Every value plus `distance`.
    pub(super) fn shifted(&self, distance: i64) -> Values {
        Values(
            self.0
                .iter()
                .map(|(a, b)| (a + distance, b + distance))
                .collect(),
        )
    }
}

/// If a label depends on one field only: the field, and the values for which it holds.
pub(super) fn satisfying(model: &Model, label: LabelId) -> Option<(FieldId, Values)> {
    let tests = &model.structure().label(label).tests;
    values_of(model, &model.program().labels[label.index()].expr, tests)
}

/// What a label is put together from by operators: it changes only where one of these parts does.
/// Empty for a label that is a part itself.
pub(super) fn parts(model: &Model, label: LabelId) -> Vec<Part> {
    let mut parts = Vec::new();
    // With whether only the truth of an expression matters to what is around it.
    let mut todo = vec![(&model.program().labels[label.index()].expr, true)];
    while let Some((expr, truth)) = todo.pop() {
        let mut effects = Effects::new(model.program(), model.encoding());
        effects.expression(expr);
        let fields = effects.finish().0;
        match expr {
            Expr::And(left, right) | Expr::Or(left, right) => {
                todo.extend([(&**left, true), (&**right, true)]);
            }
            Expr::Unary(UnaryOp::Not, operand) => todo.push((operand, true)),
            Expr::If(condition, yes, no) => {
                todo.extend([(&**condition, true), (&**yes, truth), (&**no, truth)]);
            }
            Expr::Binary(_, left, right) if fields.len() > 1 => {
                todo.extend([(&**left, false), (&**right, false)]);
            }
            leaf => {
                let is_truth = truth || is_comparison(leaf);
                // Where a part fails, the label counts as holding, whatever is around the part.
                let values = match is_truth && !model.program().may_fail(leaf) {
                    true => values_of(model, leaf, &fields),
                    false => None,
                };
                parts.push(Part {
                    fields,
                    values: values.map(|(_, values)| values),
                });
            }
        }
    }
    match parts.len() {
        1 => Vec::new(),
        _ => parts,
    }
}

/// Whether the value says nothing but whether it is true.
fn is_comparison(expr: &Expr) -> bool {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let comparisons = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual];
    matches!(expr, Expr::Binary(op, ..) if comparisons.contains(op))
}

/// A part of a label.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The fields that it depends on.
    pub(super) fields: Vec<FieldId>,
    /// If it is one field only: the values for which it holds.
    pub(super) values: Option<Values>,
}

/// The values for which an expression over one field holds.
fn values_of(model: &Model, expr: &Expr, tests: &[FieldId]) -> Option<(FieldId, Values)> {
    let [id] = *tests else {
        return None;
    };
    let field = model.layout().field(id);
    if let Some(values) = comparison(model, expr, id) {
        return Some((
            id,
            values.intersection(&Values::interval(field.min, field.max)),
        ));
    }
    if field.max.abs_diff(field.min) >= SMALL_RANGE {
        return None;
    }
    let interpreter = Interpreter::new(model);
    let mut state = vec![0; model.layout().words()];
    let mut list: Vec<(i64, i64)> = Vec::new();
    for value in field.min..=field.max {
        field.set(&mut state, value);
        if interpreter.evaluate(&state, expr) != Ok(0) {
            match list.last_mut() {
                Some((_, end)) if *end + 1 == value => *end = value,
                _ => list.push((value, value)),
            }
        }
    }
    Some((id, Values(list)))
}

/// `x op constant`, where `x` is the field itself.
fn comparison(model: &Model, expr: &Expr, field: FieldId) -> Option<Values> {
    let (left, op, constant) = with_constant(expr)?;
    match left {
        Expr::Var(variable) if model.encoding().first_field(*variable) == field => {
            compared(op, constant)
        }
        _ => None,
    }
}

/// What a label says about a message at a fixed position: the length of the channel, the position,
/// the field of the message, and its values for which the label holds. They are nothing to go by
/// where the channel has no such message: the label fails there, which counts as holding.
pub(super) fn message(model: &Model, label: LabelId) -> Option<(FieldId, i64, FieldId, Values)> {
    let (left, op, constant) = with_constant(&model.program().labels[label.index()].expr)?;
    let Expr::Peek {
        channel: ChannelRef::Fixed(channel),
        position,
        item,
        ..
    } = left
    else {
        return None;
    };
    let Expr::Const(position) = **position else {
        return None;
    };
    let place = &model.encoding().channels[channel.index()];
    let cells = place.items.get(*item as usize)?;
    let at = u32::try_from(position).ok().filter(|at| *at < cells.len)?;
    let id = FieldId::new(cells.first.index() + at as usize);
    let field = model.layout().field(id);
    let all = Values::interval(field.min, field.max);
    let values = compared(op, constant)?.intersection(&all);
    Some((place.length, i64::from(position), id, values))
}

/// A comparison with a constant on the right.
fn with_constant(expr: &Expr) -> Option<(&Expr, BinaryOp, i64)> {
    match expr {
        Expr::Binary(op, left, right) => match **right {
            Expr::Const(constant) => Some((&**left, *op, i64::from(constant))),
            _ => None,
        },
        _ => None,
    }
}

/// The numbers that compare so with a constant.
fn compared(op: BinaryOp, c: i64) -> Option<Values> {
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    Some(match op {
        BinaryOp::Equal => Values::interval(c, c),
        BinaryOp::NotEqual => Values::interval(c, c).complement(low, high),
        BinaryOp::Less => Values::interval(low, c - 1),
        BinaryOp::LessEqual => Values::interval(low, c),
        BinaryOp::Greater => Values::interval(c + 1, high),
        BinaryOp::GreaterEqual => Values::interval(c, high),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_behave_like_sets() {
        let a = Values::interval(0, 3);
        let b = Values::interval(2, 2).complement(0, 5);
        assert_eq!(b, Values(vec![(0, 1), (3, 5)]));
        assert_eq!(a.intersection(&b), Values(vec![(0, 1), (3, 3)]));
        assert_eq!(b.complement(0, 5), Values(vec![(2, 2)]));
        assert_eq!(a.shifted(2).intersection(&a), Values(vec![(2, 3)]));
        assert!(Values::interval(1, 0).is_empty());
        for v in -1..7 {
            assert_eq!(b.contains(v), (0..=5).contains(&v) && v != 2);
        }
    }
}
