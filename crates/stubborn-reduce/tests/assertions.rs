//! A violated assertion leaves no trace in the state: whether a step violates it is known from
//! the step alone, and orders that end in the same state may differ in it.

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_reduce::validate::explore::explore;
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
    let model = Model::new(program).expect("a small program");
    let full = explore(&model, None, NeededProviso::None, &[], 100);
    assert_eq!(full.failure(|_| true), Some(2));
    for level in [
        RelationLevel::Sets,
        RelationLevel::Exact,
        RelationLevel::Reach,
    ] {
        for algorithm in [Algorithm::Goal, Algorithm::Beam, Algorithm::Deletion] {
            let aim = Aim::Goals(Goals {
                any_of: Vec::new(),
                transitions: vec![TransitionId::new(0)],
            });
            let plan = Plan::new(&Config::new(algorithm), aim).expect("a plan");
            let proviso = plan.proviso;
            let relations = model.relations(level);
            let reduction = StubbornReduction::new(&model, &relations, plan).expect("valid");
            let reduced = explore(&model, Some(&reduction), proviso, &[], 100);
            assert!(reduced.failure(|_| true).is_some(), "{algorithm} {level:?}");
        }
    }
}
