//! Small random programs: processes, shared variables, arrays, a channel; some of their
//! steps can fail.

use stubborn_ir::{
    BinaryOp, Channel, ChannelRef, Expr, Item, Model, Place, Program, SendOrder, Statement, VarId,
    Variable,
};
use stubborn_system::FailureKind;

use super::models::Builder;

/// A generator of numbers, the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

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
    let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.below(2);
    let mut b = Builder::new("random");
    let can_fail = random.chance(30);
    let mut variables = Vec::new();
    for i in 0..2 + random.below(4) {
        let item = match can_fail && random.chance(40) {
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
            let mut guard = random.chance(60).then(|| condition(random, &variables));
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
                2 if random.chance(30) => {
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
