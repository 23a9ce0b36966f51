//! A violated assertion leaves no trace in the state: whether a step violates it is known from
//! the step alone, and orders that end in the same state may differ in it.

use stubborn_ir::{
    Channel, ChannelRef, Command, Expr, Item, Model, Place, Program, SendOrder, Statement, Variable,
};
use stubborn_reduce::validate::explore::{Explored, explore};
use stubborn_reduce::{Aim, Algorithm, Config, Goals, NeededProviso, Plan, StubbornReduction};
use stubborn_system::{FailureKind, RelationLevel, System, TransitionId};

#[test]
fn orders_that_differ_only_in_a_violation_are_both_tried() {
    let mut program = Program::new("assertion");
    let x = program.variable(Variable::integer("x", 0, 1, 0));
    let y = program.variable(Variable::integer("y", 0, 1, 0));
    let site = program.out_of_range_site("a variable", None);
    let violated = program.site(FailureKind::Assertion, "x is 0", None);
    let is_zero = |v| Expr::equal(Expr::Var(v), Expr::Const(0));
    let (x_is_zero, y_is_zero) = (program.label(is_zero(x)), program.label(is_zero(y)));
    program.command(Command {
        name: "assert x = 0".into(),
        guards: vec![y_is_zero],
        body: vec![
            Statement::Assert {
                condition: is_zero(x),
                site: violated,
            },
            Statement::assign(y, Expr::Const(1), site),
        ],
        ..Command::default()
    });
    program.command(Command {
        name: "x := 1".into(),
        guards: vec![x_is_zero],
        body: vec![Statement::assign(x, Expr::Const(1), site)],
        ..Command::default()
    });
    is_found(program, 2);
}

/// That the first command goes wrong, so many steps away, is found whatever is left out.
fn is_found(program: Program, steps: usize) {
    let model = Model::new(program).expect("a small program");
    let full = explore(&model, None, NeededProviso::None, &[], 100);
    assert_eq!(full.failure(|_| true), Some(steps));
    for level in [
        RelationLevel::Sets,
        RelationLevel::Exact,
        RelationLevel::Reach,
    ] {
        for algorithm in [Algorithm::Goal, Algorithm::Beam, Algorithm::Deletion] {
            let reduced = reduced(&model, level, algorithm);
            assert!(reduced.failure(|_| true).is_some(), "{algorithm} {level:?}");
        }
    }
}

/// What is left when the outcome of the first command is sought.
fn reduced(model: &Model, level: RelationLevel, algorithm: Algorithm) -> Explored {
    let aim = Aim::Goals(Goals {
        any_of: Vec::new(),
        transitions: vec![TransitionId::new(0)],
    });
    let plan = Plan::new(&Config::new(algorithm), aim).expect("a plan");
    let proviso = plan.proviso;
    let relations = model.relations(level);
    let reduction = StubbornReduction::new(model, &relations, plan).expect("valid");
    explore(model, Some(&reduction), proviso, &[], 100)
}

/// A step that puts right what another one would find wrong must not be all that is tried, although
/// it is independent of all else: where both are enabled the two lead to the same state, or the other
/// one fails, which counts as disabled.
#[test]
fn what_puts_a_step_right_is_not_all_that_is_tried() {
    for (order, fails) in [
        ([0, 1], false),
        ([1, 0], false),
        ([0, 1], true),
        ([1, 0], true),
    ] {
        let mut program = Program::new("assertion");
        let [x, y] = ["x", "y"].map(|name| program.variable(Variable::integer(name, 0, 2, 0)));
        let site = program.out_of_range_site("a variable", None);
        let violated = program.site(FailureKind::Assertion, "x is 1", None);
        let is = |v, value| Expr::equal(Expr::Var(v), Expr::Const(value));
        let ready = program.label(is(y, 1));
        let assertion = Statement::Assert {
            condition: is(x, 1),
            site: violated,
        };
        let body = match fails {
            false => vec![assertion, Statement::assign(y, Expr::Const(2), site)],
            true => {
                let out_of_range_for_0 = Expr::minus(Expr::Const(3), Expr::Var(x));
                vec![Statement::assign(y, out_of_range_for_0, site)]
            }
        };
        program.command(Command {
            name: "x must be 1".into(),
            guards: vec![ready],
            body,
            ..Command::default()
        });
        for variable in order.map(|at| [x, y][at]) {
            let not_yet = program.label(is(variable, 0));
            program.command(Command {
                name: "set to 1".into(),
                guards: vec![not_yet],
                body: vec![Statement::assign(variable, Expr::Const(1), site)],
                ..Command::default()
            });
        }
        is_found(program, 2);
    }
}

/// Sending does not change what a receiver finds in the oldest message, so the two need not be tried
/// in both orders although one asserts something of what the other writes.
#[test]
fn what_keeps_the_outcome_is_tried_in_one_order() {
    let mut program = Program::new("ends of a channel");
    let x = program.variable(Variable::integer("x", 0, 3, 0));
    let more = program.variable(Variable::integer("more", 0, 3, 0));
    let channel = ChannelRef::Fixed(program.channel(Channel {
        name: "c".into(),
        capacity: 4,
        items: vec![Item::range(0, 3)],
    }));
    let site = program.out_of_range_site("a variable", None);
    let violated = program.site(FailureKind::Assertion, "x is small", None);
    let below = |v, value| Expr::less(Expr::Var(v), Expr::Const(value));
    let message = program.label(Program::has_message(&channel));
    program.command(Command {
        name: "receive x and assert x < 3".into(),
        guards: vec![message],
        body: vec![
            Statement::Receive {
                channel: channel.clone(),
                position: None,
                targets: vec![Some(Place::Var(x))],
                remove: true,
                site,
            },
            Statement::Assert {
                condition: below(x, 3),
                site: violated,
            },
        ],
        ..Command::default()
    });
    let room = program.has_room(&channel).expect("a channel with room");
    let guards = [room, below(more, 3)].map(|g| program.label(g)).to_vec();
    program.command(Command {
        name: "send".into(),
        guards,
        body: vec![
            Statement::Send {
                channel,
                values: vec![Expr::Var(more)],
                order: SendOrder::Fifo,
                site,
            },
            Statement::assign(more, Expr::plus(Expr::Var(more), Expr::Const(1)), site),
        ],
        ..Command::default()
    });
    let model = Model::new(program).expect("a small program");
    let full = explore(&model, None, NeededProviso::None, &[], 100);
    assert_eq!(full.failure(|_| true), None);
    for algorithm in [Algorithm::Goal, Algorithm::Beam, Algorithm::Deletion] {
        let states = |level| reduced(&model, level, algorithm).states.len();
        assert_eq!(
            states(RelationLevel::Sets),
            full.states.len(),
            "{algorithm}"
        );
        assert_eq!(states(RelationLevel::Syntax), 7, "{algorithm}");
    }
}
