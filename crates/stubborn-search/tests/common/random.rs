//! Small random programs: processes, shared variables, arrays, a channel; some of their
//! steps can fail.

use stubborn_ir::{
    BinaryOp, Channel, ChannelRef, Expr, Item, Model, Place, Program, SendOrder, Statement, VarId,
    Variable,
};
use stubborn_system::{FailureKind, Random};

use super::models::Builder;

fn value(random: &mut Random, variables: &[VarId], depth: usize) -> Expr {
    match random.below(if depth == 0 { 2 } else { 4 }) {
        0 => Expr::Const(random.below(4) as i32),
        1 => Expr::Var(variables[random.below(variables.len())]),
        _ => {
            let left = value(random, variables, depth - 1);
            let right = value(random, variables, depth - 1);
            let op = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::BitXor][random.below(3)];
            Expr::binary(op, left, right)
        }
    }
}

fn condition(random: &mut Random, variables: &[VarId]) -> Expr {
    let left = value(random, variables, 0);
    let right = value(random, variables, 1);
    let ops = [
        BinaryOp::Equal,
        BinaryOp::NotEqual,
        BinaryOp::Less,
        BinaryOp::GreaterEqual,
    ];
    Expr::binary(ops[random.below(4)], left, right)
}

/// A random program.
pub fn program(seed: u64) -> Model {
    let random = &mut Random::new(seed);
    let mut b = Builder::new("random");
    let can_fail = random.percent(30);
    let mut variables = Vec::new();
    for i in 0..2 + random.below(4) {
        let item = match can_fail && random.percent(40) {
            true => Item::range(0, 3),
            false => Item::wrapping(0, 3),
        };
        variables.push(b.program.variable(Variable {
            item,
            ..Variable::integer(format!("x{i}"), 0, 3, random.below(4) as i32)
        }));
    }
    let channel = ChannelRef::Fixed(b.program.channel(Channel {
        name: "c".into(),
        capacity: 1 + random.below(2) as u32,
        items: vec![Item::wrapping(0, 3)],
    }));
    for p in 0..2 + random.below(3) {
        let locations = ["a", "b", "c", "d"];
        let count = 2 + random.below(3);
        let process = b.process(&format!("P{p}"), &locations[..count]);
        for _ in 0..count + random.below(3) {
            let from = random.below(count) as u32;
            let to = random.below(count) as u32;
            let mut guard = random.percent(60).then(|| condition(random, &variables));
            let mut body = Vec::new();
            let target = variables[random.below(variables.len())];
            match random.below(6) {
                0 => {
                    let site = b.program.site(FailureKind::BadChannel, "full", None);
                    guard = b.program.has_room(&channel);
                    body.push(Statement::Send {
                        channel: channel.clone(),
                        values: vec![value(random, &variables, 1)],
                        order: SendOrder::Fifo,
                        site,
                    });
                }
                1 => {
                    let site = b.program.site(FailureKind::BadChannel, "empty", None);
                    guard = Some(Program::has_message(&channel));
                    body.push(Statement::Receive {
                        channel: channel.clone(),
                        position: None,
                        targets: vec![Some(Place::Var(target))],
                        remove: true,
                        site,
                    });
                }
                2 if random.percent(30) => {
                    let site = b.program.site(FailureKind::Assertion, "random", None);
                    let condition = condition(random, &variables);
                    body.push(Statement::Assert { condition, site });
                }
                _ => {
                    let value = value(random, &variables, 2);
                    body.push(b.set(target, value));
                }
            }
            b.step(process, (from, to), guard, body);
        }
    }
    b.finish()
}
