//! Hand-written models with known counts.

use stubborn_ir::{
    Channel, ChannelRef, Command, Expr, Item, Model, Place, Program, SendOrder, Statement, VarId,
    Variable,
};
use stubborn_system::{FailureKind, LabelId, ProcessId, PropertyKind};

/// A program in the making, with short names for what models need all the time.
pub struct Builder {
    pub program: Program,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        Self {
            program: Program::new(name),
        }
    }

    pub fn process(&mut self, name: &str, locations: &[&str]) -> ProcessId {
        let names = locations.iter().map(|l| (*l).to_owned()).collect();
        self.program.process(name, names, 0)
    }

    pub fn integer(&mut self, name: &str, max: i32) -> VarId {
        self.program.variable(Variable::integer(name, 0, max, 0))
    }

    pub fn set(&mut self, variable: VarId, value: Expr) -> Statement {
        let site = self.program.out_of_range_site("a variable", None);
        Statement::assign(variable, value, site)
    }

    pub fn go(&mut self, process: ProcessId, to: i32) -> Statement {
        let counter = self.program.processes[process.index()].counter;
        self.set(counter, Expr::Const(to))
    }

    /// A step of a process from one location to another.
    pub fn step(
        &mut self,
        process: ProcessId,
        (from, to): (u32, u32),
        guard: Option<Expr>,
        mut body: Vec<Statement>,
    ) {
        let guards = guard.map_or(Vec::new(), |g| self.program.conjuncts(g));
        body.push(self.go(process, to as i32));
        let name = format!(
            "{}: {from} -> {to}",
            self.program.processes[process.index()].name
        );
        self.program.command(Command {
            name,
            processes: vec![process],
            sources: vec![Some(from)],
            guards,
            body,
            ..Command::default()
        });
    }

    pub fn finish(self) -> Model {
        Model::new(self.program).expect("a well-formed program")
    }
}

pub fn is(variable: VarId, value: i32) -> Expr {
    Expr::equal(Expr::Var(variable), Expr::Const(value))
}

/// `n` counters modulo `k`: `k^n` states, `n k^n` transitions, depth `n (k - 1)`.
pub fn counters(n: usize, k: i32) -> Model {
    counters_with_sum(n, k, 0).0
}

/// The same, and a label that holds where they add up to `sum`.
pub fn counters_with_sum(n: usize, k: i32, sum: i32) -> (Model, LabelId) {
    let mut b = Builder::new("counters");
    let mut total = Expr::Const(0);
    for i in 0..n {
        let x = b.integer(&format!("x{i}"), k - 1);
        let plus = Expr::plus(Expr::Var(x), Expr::Const(1));
        let wraps = is(x, k - 1);
        let next = Expr::If(Box::new(wraps), Box::new(Expr::Const(0)), Box::new(plus));
        let body = vec![b.set(x, next)];
        b.program.command(Command {
            name: format!("count x{i}"),
            body,
            ..Command::default()
        });
        total = Expr::plus(total, Expr::Var(x));
    }
    let adds_up = b.program.label(Expr::equal(total, Expr::Const(sum)));
    (b.finish(), adds_up)
}

/// `n` counters of a word each, modulo 3: `3^n` states. Of the steps, the first does nothing, and every
/// other one is there twice.
pub fn wide_counters(n: usize) -> Model {
    const STEP: i32 = 1 << 29;
    let mut b = Builder::new("wide counters");
    b.program.command(Command {
        name: "idle".into(),
        ..Command::default()
    });
    for i in 0..n {
        let x = b.integer(&format!("x{i}"), 2 * STEP);
        for name in ["count", "count again"] {
            let plus = Expr::plus(Expr::Var(x), Expr::Const(STEP));
            let wraps = is(x, 2 * STEP);
            let next = Expr::If(Box::new(wraps), Box::new(Expr::Const(0)), Box::new(plus));
            let body = vec![b.set(x, next)];
            b.program.command(Command {
                name: format!("{name} x{i}"),
                body,
                ..Command::default()
            });
        }
    }
    b.finish()
}

/// `n` philosophers who take their left fork first: one deadlock, `n` steps away.
pub fn philosophers(n: usize) -> Model {
    let mut b = Builder::new("philosophers");
    let forks: Vec<VarId> = (0..n).map(|i| b.integer(&format!("fork{i}"), 1)).collect();
    for i in 0..n {
        let (left, right) = (forks[i], forks[(i + 1) % n]);
        let p = b.process(
            &format!("P{i}"),
            &["thinks", "holds_left", "eats", "holds_right"],
        );
        let take = b.set(left, Expr::Const(1));
        b.step(p, (0, 1), Some(is(left, 0)), vec![take]);
        let take = b.set(right, Expr::Const(1));
        b.step(p, (1, 2), Some(is(right, 0)), vec![take]);
        let put = b.set(left, Expr::Const(0));
        b.step(p, (2, 3), None, vec![put]);
        let put = b.set(right, Expr::Const(0));
        b.step(p, (3, 0), None, vec![put]);
    }
    b.finish()
}

/// Peterson's algorithm for two processes; with `broken`, each forgets to give way. The
/// label holds if both are in their critical sections.
pub fn peterson(broken: bool) -> (Model, LabelId) {
    let mut b = Builder::new("peterson");
    let flags = [b.integer("flag0", 1), b.integer("flag1", 1)];
    let turn = b.integer("turn", 1);
    let mut processes = Vec::new();
    for i in 0..2 {
        let other = 1 - i;
        let p = b.process(&format!("P{i}"), &["idle", "wants", "waits", "critical"]);
        let raise = b.set(flags[i], Expr::Const(1));
        b.step(p, (0, 1), None, vec![raise]);
        let give = b.set(turn, Expr::Const(if broken { i } else { other } as i32));
        b.step(p, (1, 2), None, vec![give]);
        let may_enter = Expr::or(is(flags[other], 0), is(turn, i as i32));
        b.step(p, (2, 3), Some(may_enter), vec![]);
        let lower = b.set(flags[i], Expr::Const(0));
        b.step(p, (3, 0), None, vec![lower]);
        processes.push(p);
    }
    let at_three = |b: &Builder, p| Expr::at(&b.program, p, 3);
    let both = Expr::and(at_three(&b, processes[0]), at_three(&b, processes[1]));
    let both = b.program.label(both);
    b.program
        .properties
        .push(stubborn_ir::program::ProgramProperty {
            name: "mutual exclusion".into(),
            kind: PropertyKind::Invariant,
            violated_by: both,
            span: None,
        });
    (b.finish(), both)
}

fn channel(b: &mut Builder, name: &str, capacity: u32, max: i32) -> ChannelRef {
    ChannelRef::Fixed(b.program.channel(Channel {
        name: name.into(),
        capacity,
        items: vec![Item::range(0, max)],
    }))
}

fn send(b: &mut Builder, channel: &ChannelRef, value: Expr) -> (Expr, Statement) {
    let site = b
        .program
        .site(FailureKind::BadChannel, "the channel is full", None);
    let room = b.program.has_room(channel).expect("one capacity");
    let send = Statement::Send {
        channel: channel.clone(),
        values: vec![value],
        order: SendOrder::Fifo,
        site,
    };
    (room, send)
}

fn receive(b: &mut Builder, channel: &ChannelRef, target: VarId) -> (Expr, Statement) {
    let site = b
        .program
        .site(FailureKind::BadChannel, "the channel is empty", None);
    let receive = Statement::Receive {
        channel: channel.clone(),
        position: None,
        targets: vec![Some(Place::Var(target))],
        remove: true,
        site,
    };
    (Program::has_message(channel), receive)
}

/// A producer that numbers its messages modulo `k`, a channel, and a consumer that asserts
/// that they arrive in order. `capacity + 1` fillings times what the two remember.
pub fn producer_consumer(capacity: u32, k: i32, asserts_nonsense: bool) -> Model {
    let mut b = Builder::new("producer-consumer");
    let c = channel(&mut b, "c", capacity, k - 1);
    let next = b.integer("next", k - 1);
    let got = b.integer("got", k - 1);
    let expected = b.integer("expected", k - 1);
    let producer = b.process("producer", &["sends"]);
    let consumer = b.process("consumer", &["receives", "checks"]);
    let successor = |x: VarId| {
        let plus = Expr::plus(Expr::Var(x), Expr::Const(1));
        Expr::If(
            Box::new(is(x, k - 1)),
            Box::new(Expr::Const(0)),
            Box::new(plus),
        )
    };
    let (room, put) = send(&mut b, &c, Expr::Var(next));
    let count = b.set(next, successor(next));
    b.step(producer, (0, 0), Some(room), vec![put, count]);
    let (some, take) = receive(&mut b, &c, got);
    b.step(consumer, (0, 1), Some(some), vec![take]);
    let in_order = Expr::equal(Expr::Var(got), Expr::Var(expected));
    let nonsense = Expr::less(Expr::Var(got), Expr::Const(k - 1));
    let condition = if asserts_nonsense { nonsense } else { in_order };
    let site = b
        .program
        .site(FailureKind::Assertion, "messages in order", None);
    let check = Statement::Assert { condition, site };
    let count = b.set(expected, successor(expected));
    b.step(consumer, (1, 0), None, vec![check, count]);
    b.finish()
}

/// Ten workers that pass a token on a ring, each by a reference to its neighbour's channel
/// that it holds in a variable; one of them may at one time mix up its reference with that
/// of the next but one.
pub fn ring_of_references() -> Model {
    let mut b = Builder::new("ring");
    let n = 10;
    let channels: Vec<_> = (0..n)
        .map(|i| {
            b.program.channel(Channel {
                name: format!("c{i}"),
                capacity: 1,
                items: vec![Item::range(0, 3)],
            })
        })
        .collect();
    let targets: Box<[_]> = channels
        .iter()
        .enumerate()
        .map(|(i, c)| (i as i32, *c))
        .collect();
    for i in 0..n {
        let p = b.process(&format!("W{i}"), &["waits", "holds"]);
        let reference =
            b.program
                .variable(Variable::integer(format!("to{i}"), 0, n - 1, (i + 1) % n));
        let token = b.integer(&format!("token{i}"), 3);
        if i == 0 {
            b.program.variables[token.index()].initial = vec![1];
            let counter = b.program.processes[p.index()].counter;
            b.program.variables[counter.index()].initial = vec![1];
        }
        let site = b
            .program
            .site(FailureKind::BadChannel, "no such channel", None);
        let to = ChannelRef::Denoted {
            value: Box::new(Expr::Var(reference)),
            targets: targets.clone(),
            site,
        };
        let (room, put) = send(&mut b, &to, Expr::Var(token));
        let forget = b.set(token, Expr::Const(0));
        b.step(p, (1, 0), Some(room), vec![put, forget]);
        let own = ChannelRef::Fixed(channels[i as usize]);
        let (some, take) = receive(&mut b, &own, token);
        b.step(p, (0, 1), Some(some), vec![take]);
        if i == 4 {
            let mix_up = b.set(reference, Expr::Const(6));
            b.step(p, (0, 0), Some(is(reference, 5)), vec![mix_up]);
        }
    }
    b.finish()
}

/// A counter that overflows its range after `n` steps: the error state.
pub fn overflow(n: i32) -> Model {
    let mut b = Builder::new("overflow");
    let x = b.integer("x", n - 1);
    let body = vec![b.set(x, Expr::plus(Expr::Var(x), Expr::Const(1)))];
    b.program.command(Command {
        name: "count".into(),
        body,
        ..Command::default()
    });
    b.finish()
}
