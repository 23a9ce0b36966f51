//! Static analysis: the relations between labels and commands, from weak to strong.
//!
//! | level | knows |
//! | --- | --- |
//! | `sets` | which fields are tested, read and written ([`Relations::from_sets`]) |
//! | `syntax` | constants, comparisons, increments, program counters, channel ends (`syntax`) |
//! | `exact` | and what really happens for all values of small joint supports (`pairs`), structurally equal pairs once (`classes`) |
//! | `reach` | and only values that an over-approximation of the reachable states has (`domains`) |
//! | `located` | and those of shared variables, location by location (`located`) |
//!
//! Every answer errs on the safe side, and tests try to falsify each one with real code. Only when
//! the [budget](System::budget) of the model is spent, everybody stops where he is, and nothing
//! follows from what is there.

mod classes;
mod domains;
mod enumerate;
mod links;
mod located;
mod pairs;
mod parts;
#[cfg(test)]
mod refuted;
mod shapes;
mod support;
mod syntax;
mod values;

use stubborn_system::{LabelId, Matrix, May, Must, RelationLevel, Relations, System, TransitionId};

use crate::Model;
use classes::{Classes, parallel};
use domains::Domains;
use pairs::{Decision, First, Pairs};
use support::Support;
use syntax::Syntax;

/// Evaluations for a relation between labels, or labels and transitions.
const LABEL_BUDGET: u64 = 600_000;
/// Evaluations for do-not-accord; one combination counts several times.
const ACCORD_BUDGET: u64 = 1_200_000;
/// The same for outcomes.
const OUTCOME_BUDGET: u64 = 300_000;
/// The same for do-not-left-accord, which only weak sets use.
const LEFT_BUDGET: u64 = 300_000;

/// The relations of a model at a level.
pub fn relations(model: &Model, level: RelationLevel) -> Relations {
    compute(model, level, Way::default())
}

/// The same, with what strong sets do not ask for as rough as it is for nothing.
pub fn relations_of_strong_sets(model: &Model, level: RelationLevel) -> Relations {
    let is_strong = true;
    compute(
        model,
        level,
        Way {
            is_strong,
            ..Way::default()
        },
    )
}

/// The same, each pair decided by itself even if it is structurally equal to another one: much
/// slower, and only good for a comparison.
#[cfg(any(test, feature = "testing"))]
pub fn relations_pair_by_pair(model: &Model, level: RelationLevel) -> Relations {
    let pair_by_pair = true;
    compute(
        model,
        level,
        Way {
            pair_by_pair,
            ..Way::default()
        },
    )
}

/// How relations are computed.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Each pair by itself.
    pair_by_pair: bool,
    /// Only for strong sets.
    is_strong: bool,
}

fn compute(model: &Model, level: RelationLevel, way: Way) -> Relations {
    if level == RelationLevel::Sets {
        return Relations::from_sets_within(model.structure(), model.budget());
    }
    model.budget().begin("computing relations");
    let supports = Support::all(model);
    let domains = match level {
        RelationLevel::Sets | RelationLevel::Syntax => None,
        RelationLevel::Exact => Some(Domains::declared(model)),
        RelationLevel::Reach => Some(Domains::reachable(model, &supports)),
        RelationLevel::Located => Some(Domains::located(model, &supports)),
    };
    let syntax = Syntax::new(model, &supports);
    let pairs = &Pairs::new(model, &supports, &syntax, domains.as_ref());
    let classes = Classes::new(pairs, way.pair_by_pair);
    let structure = model.structure();
    let (labels, transitions) = (structure.labels.len(), structure.transitions.len());
    // For each label, the transitions that may turn it.
    let turning = |to: bool| {
        let rows = classes.decide(labels, LABEL_BUDGET, |g| {
            let turn = move |t: TransitionId| pairs.may_turn(LabelId::new(g), t, to);
            interesting(structure.transition_ids(), turn, Decision::No)
        });
        Matrix::from_rows(transitions, rows.into_iter().map(columns))
    };
    let (may_enable, may_disable) = (turning(true), turning(false));
    let never_together = classes.decide(labels, LABEL_BUDGET, |g| {
        let together = move |h: LabelId| pairs.may_hold_together(LabelId::new(g), h);
        interesting(structure.label_ids(), together, Decision::Yes)
    });
    let never = never_together
        .into_iter()
        .map(|row| only(row, Decision::No));
    let never_together = symmetric(labels, never.collect());
    // What is known of guards decides many pairs of transitions.
    let guards = &|t: TransitionId| structure.transition(t).guards.iter();
    let never_co_enabled = &|t: TransitionId, u: TransitionId| {
        guards(t).any(|g| guards(u).any(|h| never_together.contains(*g, *h)))
    };
    // Decided once for each unordered pair, so that the relation is symmetric.
    let decided = classes.decide(transitions, ACCORD_BUDGET, |t| {
        let later = structure.transition_ids().skip(t + 1);
        let t = TransitionId::new(t);
        let conflict = move |u: TransitionId| match never_co_enabled(t, u) {
            true => First::Known(Decision::No),
            false => pairs.may_not_accord(t, u),
        };
        interesting(later, conflict, Decision::No)
    });
    let related = decided.iter().cloned().map(columns).collect();
    let do_not_accord = symmetric(transitions, related);
    let outcomes = classes.decide(transitions, OUTCOME_BUDGET, |t| {
        let t = TransitionId::new(t);
        let transition = structure.transition(t);
        let is_sought = transition.may_fail || transition.may_violate;
        let others = structure.transition_ids().filter(move |_| is_sought);
        let seen = others.filter(move |u| pairs.may_be_seen(*u, t));
        let conflicts = &do_not_accord;
        let change = move |u: TransitionId| match never_co_enabled(t, u) {
            true => First::Known(Decision::No),
            false if conflicts.contains(t, u) => First::Known(Decision::Yes),
            false => pairs.may_change_outcome(t, u),
        };
        interesting(seen, change, Decision::No)
    });
    let outcomes = Matrix::from_rows(transitions, outcomes.into_iter().map(columns));
    let may_change_outcome = Some(May(outcomes));
    // Chains that accord do so way by way, so that any of their outcomes meet again.
    let has_chains = structure.transitions.iter().any(|t| !t.deterministic);
    let do_not_meet = has_chains.then(|| May(do_not_accord.clone()));
    if way.is_strong {
        let itself = |t: TransitionId| match pairs.never_after(t, t) {
            true => vec![t.index() as u32],
            false => Vec::new(),
        };
        let disables_itself = structure.transition_ids().map(itself);
        // As below, without a look at any pair.
        let all = || structure.transition_ids();
        let special: Vec<u32> = (all().filter(|t| pairs.is_special(*t)))
            .map(|t| t.index() as u32)
            .collect();
        let left = all().map(|t| {
            if structure.transition(t).may_fail || pairs.is_special(t) {
                return (0..transitions as u32).collect();
            }
            let enablers = guards(t).flat_map(|g| may_enable.row_indices(*g));
            let conflicts = do_not_accord.row_indices(t).iter();
            conflicts.chain(enablers).chain(&special).copied().collect()
        });
        let do_not_left_accord = Matrix::from_rows(transitions, left);
        return Relations {
            may_enable: May(may_enable),
            may_disable: May(may_disable),
            never_together: Must(never_together),
            do_not_accord: May(do_not_accord),
            do_not_meet,
            do_not_left_accord: May(do_not_left_accord),
            must_disable: Must(Matrix::from_rows(transitions, disables_itself)),
            may_change_outcome,
        };
    }
    let too_much = decided.into_iter();
    let too_much = too_much.map(|row| only(row, Decision::TooMuch)).collect();
    let too_much: Matrix<TransitionId, TransitionId> = symmetric(transitions, too_much);
    let (accord, enable, too_much) = (&do_not_accord, &may_enable, &too_much);
    let left = classes.decide(transitions, LEFT_BUDGET, |t| {
        let t = TransitionId::new(t);
        // Where both are enabled, they accord or not; else `u` must enable `t`: by one of its
        // guards, or by sparing it a failure.
        let may_fail = structure.transition(t).may_fail;
        let may_matter = move |u: TransitionId| {
            may_fail
                || pairs.is_special(t)
                || pairs.is_special(u)
                || accord.contains(t, u)
                || guards(t).any(|g| enable.contains(*g, u))
        };
        // What was too much there would be too much here.
        let conflict = move |u: TransitionId| match may_matter(u) {
            true => pairs.may_not_left_accord(t, u, too_much.contains(t, u)),
            false => First::Known(Decision::No),
        };
        interesting(structure.transition_ids(), conflict, Decision::No)
    });
    let do_not_left_accord = Matrix::from_rows(transitions, left.into_iter().map(columns));
    let must_disable = parallel(model.budget(), transitions, |t| {
        let t = TransitionId::new(t);
        let never = |u: &TransitionId| pairs.never_after(*u, t);
        structure
            .transition_ids()
            .filter(never)
            .map(|u| u.index() as u32)
            .collect()
    });
    Relations {
        may_enable: May(may_enable),
        may_disable: May(may_disable),
        never_together: Must(never_together),
        do_not_accord: May(do_not_accord),
        do_not_meet,
        do_not_left_accord: May(do_not_left_accord),
        must_disable: Must(Matrix::from_rows(transitions, must_disable)),
        may_change_outcome,
    }
}

/// The columns about which there is something to say or to ask: what is not `dull`.
fn interesting<I: stubborn_system::matrix::Index>(
    columns: impl Iterator<Item = I>,
    first: impl Fn(I) -> First,
    dull: Decision,
) -> impl Iterator<Item = (u32, First)> {
    columns.filter_map(move |column| match first(column) {
        First::Known(known) if known == dull => None,
        other => Some((column.to_index() as u32, other)),
    })
}

/// The columns that may be related.
fn columns(row: Vec<(u32, Decision)>) -> Vec<u32> {
    let related = row.into_iter().filter(|(_, d)| *d != Decision::No);
    related.map(|(column, _)| column).collect()
}

/// The columns with one decision.
fn only(row: Vec<(u32, Decision)>, wanted: Decision) -> Vec<u32> {
    let those = row.into_iter().filter(|(_, d)| *d == wanted);
    those.map(|(column, _)| column).collect()
}

fn symmetric<I: stubborn_system::matrix::Index>(
    size: usize,
    mut rows: Vec<Vec<u32>>,
) -> Matrix<I, I> {
    for row in 0..size {
        for column in rows[row].clone() {
            rows[column as usize].push(row as u32);
        }
    }
    Matrix::from_rows(size, rows)
}

#[cfg(test)]
mod tests {
    use stubborn_system::FailureKind;

    use super::*;
    use crate::{Channel, ChannelRef, Command, Expr, Item, Program, Statement, Variable};

    /// A loop that takes more rounds than an analysis tries ends all the same, and what comes
    /// after it happens.
    #[test]
    fn long_loops_are_not_taken_for_failures() {
        let mut program = Program::new("a long loop");
        let i = program.variable(Variable::integer("i", 0, 10_000, 0));
        let x = program.variable(Variable::integer("x", 0, 1, 0));
        let site = program.site(FailureKind::EndlessLoop, "endless", None);
        let below = Expr::less(Expr::Var(i), Expr::Const(10_000));
        let more = Expr::plus(Expr::Var(i), Expr::Const(1));
        program.command(Command {
            name: "count".into(),
            body: vec![
                Statement::While {
                    condition: below,
                    body: vec![Statement::assign(i, more, site)],
                    site,
                },
                Statement::assign(x, Expr::Const(1), site),
            ],
            ..Command::default()
        });
        let set = program.label(Expr::equal(Expr::Var(x), Expr::Const(1)));
        let full = program.label(Expr::equal(Expr::Var(i), Expr::Const(10_000)));
        program.command(Command {
            name: "go on".into(),
            guards: vec![set, full],
            body: vec![Statement::assign(i, Expr::Const(0), site)],
            ..Command::default()
        });
        // From every state more rounds than are tried, and few states.
        let rounds = crate::TempId(0);
        let one_more = Expr::plus(Expr::Temp(rounds), Expr::Const(1));
        program.command(Command {
            name: "long".into(),
            body: vec![
                Statement::Let(rounds, Expr::Const(0)),
                Statement::While {
                    condition: Expr::less(Expr::Temp(rounds), Expr::Const(10_000)),
                    body: vec![Statement::Let(rounds, one_more)],
                    site,
                },
                Statement::assign(x, Expr::Const(1), site),
            ],
            ..Command::default()
        });
        let model = Model::new(program).expect("a small program");
        let (count, go_on) = (TransitionId::new(0), TransitionId::new(1));
        let long = TransitionId::new(2);
        for level in [
            RelationLevel::Sets,
            RelationLevel::Syntax,
            RelationLevel::Exact,
            RelationLevel::Reach,
            RelationLevel::Located,
        ] {
            let found = relations(&model, level);
            assert!(found.may_enable.0.contains(set, count), "{level:?}");
            assert!(found.may_enable.0.contains(set, long), "{level:?}");
            assert!(found.may_enable.0.contains(full, count), "{level:?}");
            assert!(found.may_disable.0.contains(full, go_on), "{level:?}");
            assert!(!found.never_together.0.contains(set, full), "{level:?}");
            assert!(found.do_not_accord.0.contains(count, go_on), "{level:?}");
        }
    }

    /// A channel that has a message has one oldest message; guards on messages that are not there
    /// fail, and tell nothing.
    #[test]
    fn receives_of_different_messages_are_never_enabled_together() {
        let mut program = Program::new("receives");
        let channel = ChannelRef::Fixed(program.channel(Channel {
            name: "c".into(),
            capacity: 20,
            items: vec![Item::range(0, 3)],
        }));
        let site = program.site(FailureKind::BadChannel, "no message", None);
        let longer = |than: i32| Expr::less(Expr::Const(than), Expr::Length(channel.clone()));
        let is = |position: i32, value: i32| {
            let peek = Expr::Peek {
                channel: channel.clone(),
                position: Box::new(Expr::Const(position)),
                item: 0,
                site,
            };
            Expr::equal(peek, Expr::Const(value))
        };
        let commands = [
            vec![longer(0), is(0, 1)],
            vec![longer(0), is(0, 2)],
            vec![is(0, 1)],
            vec![is(0, 2)],
            vec![longer(0), is(1, 1)],
            vec![longer(0), is(1, 2)],
            vec![longer(1), is(1, 1)],
            vec![is(1, 2), longer(1)],
        ];
        for (number, guards) in commands.into_iter().enumerate() {
            let guards = guards.into_iter().map(|g| program.label(g)).collect();
            program.command(Command {
                name: format!("receive {number}"),
                guards,
                body: vec![Statement::Receive {
                    channel: channel.clone(),
                    position: None,
                    targets: vec![None],
                    remove: true,
                    site,
                }],
                ..Command::default()
            });
        }
        let model = Model::new(program).expect("a small program");
        for level in [RelationLevel::Syntax, RelationLevel::Exact] {
            let found = relations(&model, level).do_not_accord.0;
            let conflict = |t, u| found.contains(TransitionId::new(t), TransitionId::new(u));
            assert!(!conflict(0, 1) && !conflict(6, 7), "{level:?}");
            assert!(
                conflict(2, 3) && conflict(4, 5) && conflict(0, 7),
                "{level:?}"
            );
        }
    }

    /// What strong sets ask is answered alike; what they do not ask may be rough, on the safe side.
    #[test]
    fn strong_sets_lose_nothing() {
        use crate::testing::{dining_philosophers, peterson, random_program, ring_election};
        let protocols = [peterson(3), dining_philosophers(4), ring_election(3, 2)];
        for program in protocols.into_iter().chain((0..20).map(random_program)) {
            let model = Model::new(program).expect("a sound program");
            for level in [RelationLevel::Syntax, RelationLevel::Reach] {
                let all = relations(&model, level);
                let strong = relations_of_strong_sets(&model, level);
                let asked = |r: &Relations| {
                    let labels = (r.may_enable.clone(), r.may_disable.clone());
                    format!("{labels:?} {:?} {:?}", r.never_together, r.do_not_accord)
                };
                assert!(asked(&all) == asked(&strong), "{level:?}");
                for t in model.structure().transition_ids() {
                    let disables = |r: &Relations| r.must_disable.0.contains(t, t);
                    assert_eq!(disables(&all), disables(&strong), "{level:?}");
                    for u in model.structure().transition_ids() {
                        let left = |r: &Relations| r.do_not_left_accord.0.contains(t, u);
                        let certain = |r: &Relations| r.must_disable.0.contains(t, u);
                        assert!(t == u || !left(&all) || left(&strong), "{level:?}");
                        assert!(!certain(&strong) || certain(&all), "{level:?}");
                    }
                }
            }
        }
    }

    /// How many processes there are changes only where one starts or ends; a sum of variables,
    /// wherever one of them changes.
    #[test]
    fn sums_of_comparisons_change_where_one_of_these_does() {
        let mut program = Program::new("counting");
        let a = program.variable(Variable::integer("a", 0, 3, 0));
        let b = program.variable(Variable::integer("b", 0, 3, 0));
        let site = program.site(FailureKind::Assertion, "never", None);
        let is = |variable, value: i32| Expr::equal(Expr::Var(variable), Expr::Const(value));
        let alive = |variable| Expr::Unary(crate::UnaryOp::Not, Box::new(is(variable, 0)));
        let sum = |left, right| Expr::equal(Expr::plus(left, right), Expr::Const(2));
        let both = program.label(sum(alive(a), alive(b)));
        let twice = program.label(sum(Expr::Var(a), is(b, 1)));
        let nested = |then| {
            let choice = Expr::If(Box::new(is(b, 0)), Box::new(Expr::Var(a)), Box::new(then));
            Expr::equal(choice, Expr::plus(Expr::Var(b), Expr::Const(1)))
        };
        let nested = program.label(nested(alive(a)));
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
            for variable in [a, b] {
                let guard = program.label(is(variable, from));
                program.command(Command {
                    name: format!("{from} to {to}"),
                    guards: vec![guard],
                    body: vec![Statement::assign(variable, Expr::Const(to), site)],
                    ..Command::default()
                });
            }
        }
        let model = Model::new(program).expect("a small program");
        let found = relations(&model, RelationLevel::Syntax);
        let turning = |label, relation: &Matrix<LabelId, TransitionId>| {
            let names = relation.row_indices(label).iter().copied();
            names.collect::<Vec<u32>>()
        };
        // Commands 0 and 1 go from 0 to 1, 2 and 3 from 1 to 2, 4 and 5 from 2 to 3, 6 and 7 back.
        assert_eq!(turning(both, &found.may_enable.0), [0, 1, 6, 7]);
        assert_eq!(turning(both, &found.may_disable.0), [0, 1, 6, 7]);
        for label in [twice, nested] {
            let found = turning(label, &found.may_enable.0);
            assert!([0, 2, 4, 6].iter().all(|t| found.contains(t)), "{found:?}");
        }
        assert_eq!(turning(twice, &found.may_enable.0), [0, 1, 2, 3, 4, 6]);
        assert_eq!(turning(nested, &found.may_enable.0).len(), 8);
    }

    /// The two ends of a channel do not meet, if both steps wait for them and neither looks at
    /// more of the channel, or at anything else that the other changes.
    #[test]
    fn ends_of_a_channel_meet_where_somebody_looks_at_both() {
        let mut program = Program::new("ends");
        let [c, d] = ["c", "d"].map(|name| {
            ChannelRef::Fixed(program.channel(Channel {
                name: name.into(),
                capacity: 3,
                items: vec![Item::range(0, 1)],
            }))
        });
        let x = program.variable(Variable::integer("x", 0, 10, 10));
        let site = program.site(FailureKind::BadChannel, "no message", None);
        let [room, message] = [program.has_room(&c).unwrap(), Program::has_message(&c)];
        let length = || Box::new(Expr::Length(c.clone()));
        let one = || Box::new(Expr::Const(1));
        let is_one = |left, right| Expr::Binary(crate::BinaryOp::Equal, left, right);
        let oldest = |value| {
            let peek = Expr::Peek {
                channel: c.clone(),
                position: Box::new(Expr::Const(0)),
                item: 0,
                site,
            };
            Expr::equal(peek, value)
        };
        let set = |value| Statement::assign(x, value, site);
        let choice = Expr::If(
            Box::new(is_one(length(), one())),
            one(),
            Box::new(Expr::Const(0)),
        );
        let quotient = Expr::Divide(
            crate::DivideOp::Quotient,
            one(),
            Box::new(Expr::Var(x)),
            site,
        );
        let send = |channel| Statement::Send {
            channel,
            values: vec![Expr::Const(1)],
            order: crate::SendOrder::Fifo,
            site,
        };
        // Each: whether it sends, on which channel, its guards, what it does besides.
        let commands: [(bool, &ChannelRef, Vec<Expr>, Vec<Statement>); 16] = [
            (true, &c, vec![room.clone()], vec![]),
            (false, &c, vec![message.clone()], vec![]),
            (
                false,
                &c,
                vec![message.clone(), oldest(Expr::Const(1))],
                vec![],
            ),
            // These look at how many messages there are.
            (
                true,
                &c,
                vec![room.clone(), is_one(length(), one())],
                vec![],
            ),
            (
                false,
                &c,
                vec![message.clone(), is_one(length(), one())],
                vec![],
            ),
            (
                false,
                &c,
                vec![message.clone(), is_one(one(), length())],
                vec![],
            ),
            (false, &c, vec![message.clone(), choice], vec![]),
            // These wait for nothing.
            (true, &c, vec![], vec![]),
            (false, &c, vec![], vec![]),
            // At the other channel, and at how many messages there are in this one.
            (
                false,
                &d,
                vec![message.clone(), Program::has_message(&d)],
                vec![set(*length())],
            ),
            (true, &c, vec![room.clone()], vec![]),
            // At a variable besides.
            (false, &c, vec![message, oldest(Expr::Var(x))], vec![]),
            (true, &c, vec![room.clone()], vec![set(Expr::Const(1))]),
            // Twice, and with a look at how many there are.
            (true, &c, vec![room.clone()], vec![send(c.clone())]),
            (true, &c, vec![room.clone()], vec![set(*length())]),
            // What fails where a variable is zero.
            (
                true,
                &d,
                vec![Expr::equal(quotient, Expr::Const(0))],
                vec![],
            ),
        ];
        for (number, (sends, channel, guards, mut body)) in commands.into_iter().enumerate() {
            let channel = channel.clone();
            body.push(match sends {
                true => send(channel),
                false => Statement::Receive {
                    channel,
                    position: None,
                    targets: vec![None],
                    remove: true,
                    site,
                },
            });
            let guards = guards.into_iter().map(|g| program.label(g)).collect();
            program.command(Command {
                name: format!("end {number}"),
                guards,
                body,
                ..Command::default()
            });
        }
        let ten = program.label(Expr::equal(Expr::Var(x), Expr::Const(10)));
        program.command(Command {
            name: "zero".into(),
            guards: vec![ten],
            body: vec![set(Expr::Const(0))],
            ..Command::default()
        });
        let model = Model::new(program).expect("a small program");
        let found = relations(&model, RelationLevel::Syntax);
        let conflict = |t, u| {
            let (t, u) = (TransitionId::new(t), TransitionId::new(u));
            found.do_not_accord.0.contains(t, u)
        };
        let moves = |t, u| {
            let (t, u) = (TransitionId::new(t), TransitionId::new(u));
            !found.do_not_left_accord.0.contains(t, u)
        };
        assert!(!conflict(0, 1) && !conflict(0, 2) && !conflict(10, 1));
        for (t, u) in [
            (3, 1),
            (4, 0),
            (5, 0),
            (6, 0),
            (9, 0),
            (9, 10),
            (11, 12),
            (14, 1),
            (15, 16),
        ] {
            assert!(conflict(t, u), "{t} and {u}");
        }
        // What does not wait for all that it needs is possible only after the other, now and then.
        assert!(!moves(7, 1) && !moves(8, 0) && !moves(13, 1));
    }

    /// What looks like an increment, a constant or one message more is none if something else in the
    /// body writes the same.
    #[test]
    fn whole_bodies_say_what_changes() {
        let mut program = Program::new("changes");
        let [x, y] = ["x", "y"].map(|name| program.variable(Variable::integer(name, 0, 10, 2)));
        let c = ChannelRef::Fixed(program.channel(Channel {
            name: "c".into(),
            capacity: 3,
            items: Vec::new(),
        }));
        let site = program.site(FailureKind::BadChannel, "full", None);
        let is = |left, value: i32| Expr::equal(left, Expr::Const(value));
        let set = |value| Statement::assign(x, value, site);
        let send = || Statement::Send {
            channel: c.clone(),
            values: Vec::new(),
            order: crate::SendOrder::Fifo,
            site,
        };
        let maybe = |statement| Statement::If {
            condition: is(Expr::Var(y), 2),
            then: vec![statement],
            otherwise: Vec::new(),
        };
        let plus = |variable| Expr::plus(Expr::Var(variable), Expr::Const(1));
        let minus = Expr::minus(Expr::Var(y), Expr::Const(1));
        let (x_is, empty) = (
            |value| is(Expr::Var(x), value),
            is(Expr::Length(c.clone()), 0),
        );
        let two = is(Expr::Length(c.clone()), 2);
        // Each: where it can be taken, what it does, and what may be true after it.
        let commands = [
            (x_is(7), vec![set(Expr::Const(0)), set(plus(x))], x_is(1)),
            (x_is(7), vec![set(plus(y))], x_is(3)),
            (x_is(7), vec![set(minus)], x_is(1)),
            (
                x_is(7),
                vec![set(plus(x)), maybe(set(Expr::Const(0)))],
                x_is(0),
            ),
            (
                x_is(7),
                vec![set(Expr::Const(3)), maybe(set(Expr::Const(0)))],
                x_is(0),
            ),
            (empty.clone(), vec![send(), send()], two.clone()),
            (empty.clone(), vec![send(), maybe(send())], two),
        ];
        let mut wanted = Vec::new();
        for (guard, body, after) in commands {
            let (guard, after) = (program.label(guard), program.label(after));
            wanted.push(after);
            program.command(Command {
                name: format!("change {}", wanted.len()),
                guards: vec![guard],
                body,
                ..Command::default()
            });
        }
        let model = Model::new(program).expect("a small program");
        for level in [RelationLevel::Syntax, RelationLevel::Exact] {
            let found = relations(&model, level).may_enable.0;
            for (at, label) in wanted.iter().enumerate() {
                assert!(
                    found.contains(*label, TransitionId::new(at)),
                    "{at} {level:?}"
                );
            }
        }
    }
}
