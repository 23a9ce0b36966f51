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

    /// All sets of six numbers, as bits.
    #[test]
    fn all_small_sets_behave_like_sets() {
        let of = |bits: u32| {
            let members = (0..6).filter(|v| bits >> v & 1 == 1);
            members.fold(Values::interval(1, 0), |set, v| {
                let without = set.complement(-9, 9);
                let others = Values::interval(v, v).complement(-9, 9);
                without.intersection(&others).complement(-9, 9)
            })
        };
        for a in 0..64_u32 {
            let set = of(a);
            let bits = |set: &Values| {
                let ones = (0..6).map(|v| u32::from(set.contains(v)) << v);
                ones.sum::<u32>()
            };
            assert_eq!((bits(&set), set.is_empty()), (a, a == 0));
            assert_eq!(bits(&set.complement(0, 5)), !a & 63);
            assert_eq!(bits(&set.complement(1, 4)), !a & 30);
            assert_eq!(bits(&set.shifted(1)), a << 1 & 63);
            for b in 0..64 {
                assert_eq!(set.intersection(&of(b)), of(a & b));
            }
        }
    }

    /// The values for which labels and their parts hold, by syntax and by trying, are those for which
    /// they are evaluated to be true, or fail.
    #[test]
    fn labels_hold_where_it_is_said() {
        use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, Multiply, NotEqual};
        let mut program = crate::Program::new("labels");
        let [x, y] = ["x", "y"].map(|n| program.variable(crate::Variable::integer(n, -2, 2, 0)));
        let (x, y) = (|| Expr::Var(x), || Expr::Var(y));
        let compare = |left, op, number| Expr::binary(op, left, Expr::Const(number));
        let mut exprs: Vec<Expr> = Vec::new();
        for op in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
            exprs.extend((-3..=3).map(|number| compare(x(), op, number)));
            exprs.push(compare(Expr::binary(Multiply, x(), x()), op, 1));
            // The constant comes first.
            exprs.push(Expr::binary(op, Expr::Const(1), x()));
        }
        let site = crate::Site(0);
        let (one, by) = (Box::new(Expr::Const(1)), Box::new(x()));
        let risky = Expr::Divide(crate::DivideOp::Quotient, one, by, site);
        exprs.extend([risky.clone(), x(), Expr::negation(x())]);
        let both = || compare(Expr::plus(x(), y()), Less, 1);
        let composed = [
            Expr::and(compare(x(), Less, 1), compare(y(), Greater, 0)),
            Expr::or(
                compare(y(), Less, 1),
                Expr::negation(compare(x(), Equal, 0)),
            ),
            Expr::If(
                Box::new(x()),
                Box::new(compare(y(), Less, 0)),
                Box::new(y()),
            ),
            Expr::and(risky, compare(y(), Less, 0)),
            both(),
        ];
        let count = exprs.len();
        for expr in exprs.iter().chain(&composed) {
            program.label(expr.clone());
        }
        let model = Model::new(program).expect("a program");
        let labels: Vec<LabelId> = model.structure().label_ids().take(count + 5).collect();
        let interpreter = Interpreter::new(&model);
        let holds = |expr: &Expr, values: &[(FieldId, i64)]| {
            let mut state = vec![0; model.layout().words()];
            for (field, value) in values {
                model.layout().field(*field).set(&mut state, *value);
            }
            interpreter.evaluate(&state, expr) != Ok(0)
        };
        for (label, expr) in labels.iter().zip(&exprs) {
            let (field, values) = satisfying(&model, *label).expect("one field");
            for value in -2..=2 {
                let found = values.contains(value);
                assert_eq!(found, holds(expr, &[(field, value)]), "{value} {expr:?}");
            }
            assert!(!values.contains(-3) && !values.contains(3), "{expr:?}");
            assert!(parts(&model, *label).len() != 1);
        }
        // A label changes only where one of its parts does: where all say the same, so does it.
        for (label, expr) in labels[count..].iter().zip(&composed) {
            assert!(satisfying(&model, *label).is_none(), "{expr:?}");
            let parts = parts(&model, *label);
            assert!(!parts.is_empty());
            let fields: Vec<FieldId> = model.structure().label(*label).tests.clone();
            let says = |state: &[(FieldId, i64)]| -> Vec<Vec<i64>> {
                let of = |part: &Part| {
                    let seen = state.iter().filter(|(f, _)| part.fields.contains(f));
                    let seen = seen.map(|(_, value)| *value);
                    match &part.values {
                        Some(values) => seen.map(|v| i64::from(values.contains(v))).collect(),
                        None => seen.collect(),
                    }
                };
                parts.iter().map(of).collect()
            };
            let all = (-2..=2).flat_map(|a| (-2..=2).map(move |b| (a, b)));
            let all: Vec<_> = all.map(|(a, b)| [(fields[0], a), (fields[1], b)]).collect();
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |o| (one, o))) {
                let same = says(one) == says(other);
                assert!(!same || holds(expr, one) == holds(expr, other), "{expr:?}");
            }
        }
    }

    /// Of messages that a channel cannot hold, nothing is known.
    #[test]
    fn messages_are_where_the_channel_has_them() {
        let mut program = crate::Program::new("messages");
        let channel = program.channel(crate::Channel {
            name: "c".into(),
            capacity: 2,
            items: vec![crate::Item::range(0, 3), crate::Item::range(0, 1)],
        });
        for at in [0, 1, 2, -1] {
            let left = Expr::Peek {
                channel: ChannelRef::Fixed(channel),
                position: Box::new(Expr::Const(at)),
                item: 0,
                site: crate::Site(0),
            };
            program.label(Expr::less(left, Expr::Const(2)));
        }
        let model = Model::new(program).expect("a program");
        let place = &model.encoding().channels[0];
        let found = model.structure().label_ids().take(4);
        let found: Vec<_> = found.map(|label| message(&model, label)).collect();
        let cell = |at: i64| {
            let field = FieldId::new(place.items[0].first.index() + at as usize);
            Some((place.length, at, field, Values::interval(0, 1)))
        };
        assert_eq!(found, [cell(0), cell(1), None, None]);
    }
}
