//! Well-known protocols of any size, written by hand.

use stubborn_system::{FailureKind, ProcessId};

use crate::{
    BinaryOp, Channel, ChannelRef, Command, DivideOp, Expr, Item, Place, Program, SendOrder, Site,
    Statement, VarId, Variable,
};

fn never(program: &mut Program) -> Site {
    program.site(FailureKind::Other, "this never happens", None)
}

/// `process` goes from one location to another, under some conditions.
fn step(
    program: &mut Program,
    process: ProcessId,
    (from, to): (u32, u32),
    conditions: Vec<Expr>,
    mut body: Vec<Statement>,
) {
    let site = never(program);
    let counter = program.processes[process.index()].counter;
    body.insert(0, Statement::assign(counter, Expr::Const(to as i32), site));
    let guards = conditions.into_iter().map(|c| program.label(c)).collect();
    let name = format!(
        "{}: {from} -> {to}",
        program.processes[process.index()].name
    );
    program.command(Command {
        name,
        processes: vec![process],
        sources: vec![Some(from)],
        guards,
        body,
        ..Command::default()
    });
}

fn locations(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

/// Peterson's mutual exclusion for `n` processes, by filtering them through `n - 1` levels
/// (Peterson, "Myths about the mutual exclusion problem", 1981).
pub fn peterson(n: usize) -> Program {
    let mut program = Program::new(format!("peterson {n}"));
    let last = n as i32 - 1;
    let level = program.variable(Variable::array("level", 0, last, vec![0; n]));
    let waiting = program.variable(Variable::array("waiting", 0, last, vec![0; n]));
    for me in 0..n as i32 {
        let names = locations(&["idle", "raise", "wait", "critical"]);
        let process = program.process(format!("P{me}"), names, 0);
        let at =
            program.variable(Variable::integer(format!("P{me}.at"), 0, last, 0).owned_by(process));
        let site = never(&mut program);
        let my_level = || Place::Element(level, Expr::Const(me), site);
        let set = |target, value| Statement::Assign {
            target,
            value,
            site,
        };
        step(
            &mut program,
            process,
            (0, 1),
            vec![],
            vec![set(Place::Var(at), Expr::Const(1))],
        );
        step(
            &mut program,
            process,
            (1, 2),
            vec![],
            vec![
                set(my_level(), Expr::Var(at)),
                set(
                    Place::Element(waiting, Expr::Var(at), site),
                    Expr::Const(me),
                ),
            ],
        );
        let alone = (0..n as i32)
            .filter(|other| *other != me)
            .map(|other| {
                let other = Expr::Element(level, Box::new(Expr::Const(other)), site);
                Expr::less(other, Expr::Var(at))
            })
            .reduce(Expr::and);
        let overtaken = Expr::binary(
            BinaryOp::NotEqual,
            Expr::Element(waiting, Box::new(Expr::Var(at)), site),
            Expr::Const(me),
        );
        let may_pass = match alone {
            Some(alone) => Expr::or(overtaken, alone),
            None => overtaken,
        };
        step(
            &mut program,
            process,
            (2, 1),
            vec![
                may_pass.clone(),
                Expr::less(Expr::Var(at), Expr::Const(last)),
            ],
            vec![set(
                Place::Var(at),
                Expr::plus(Expr::Var(at), Expr::Const(1)),
            )],
        );
        step(
            &mut program,
            process,
            (2, 3),
            vec![may_pass, Expr::equal(Expr::Var(at), Expr::Const(last))],
            vec![],
        );
        step(
            &mut program,
            process,
            (3, 0),
            vec![],
            vec![
                set(my_level(), Expr::Const(0)),
                set(Place::Var(at), Expr::Const(0)),
            ],
        );
    }
    program
}

/// `n` philosophers at a round table, each taking the left fork first: they can deadlock.
pub fn dining_philosophers(n: usize) -> Program {
    let mut program = Program::new(format!("philosophers {n}"));
    let fork = program.variable(Variable::array("fork", 0, 1, vec![0; n]));
    for me in 0..n {
        let names = locations(&["think", "one fork", "eat"]);
        let process = program.process(format!("P{me}"), names, 0);
        let site = never(&mut program);
        let place = |at: usize| Place::Element(fork, Expr::Const((at % n) as i32), site);
        let is_free = |at: usize| {
            let at = Box::new(Expr::Const((at % n) as i32));
            Expr::equal(Expr::Element(fork, at, site), Expr::Const(0))
        };
        let set = |at, value| Statement::Assign {
            target: place(at),
            value: Expr::Const(value),
            site,
        };
        step(
            &mut program,
            process,
            (0, 1),
            vec![is_free(me)],
            vec![set(me, 1)],
        );
        step(
            &mut program,
            process,
            (1, 2),
            vec![is_free(me + 1)],
            vec![set(me + 1, 1)],
        );
        step(
            &mut program,
            process,
            (2, 0),
            vec![],
            vec![set(me, 0), set(me + 1, 0)],
        );
    }
    program
}

/// Election of a leader in a one-way ring of `n` processes with channels of some capacity
/// (Chang and Roberts, "An improved algorithm for decentralized extrema-finding in circular
/// configurations of processes", 1979).
pub fn ring_election(n: usize, capacity: u32) -> Program {
    let mut program = Program::new(format!("ring {n}"));
    let last = n as i32 - 1;
    let channels: Vec<ChannelRef> = (0..n)
        .map(|at| {
            ChannelRef::Fixed(program.channel(Channel {
                name: format!("c{at}"),
                capacity,
                items: vec![Item::range(0, 1), Item::range(0, last)],
            }))
        })
        .collect();
    let leaders = program.variable(Variable::integer("leaders", 0, 1, 0));
    for me in 0..n {
        let process = program.process(
            format!("P{me}"),
            locations(&["start", "listen", "decide", "done"]),
            0,
        );
        let kind =
            program.variable(Variable::integer(format!("P{me}.kind"), 0, 1, 0).owned_by(process));
        let id =
            program.variable(Variable::integer(format!("P{me}.id"), 0, last, 0).owned_by(process));
        // Numbers are dealt around the ring so that messages travel different distances.
        let mine = (me * 7 % n.max(1)) as i32;
        election_process(
            &mut program,
            process,
            (&channels[me], &channels[(me + 1) % n]),
            (kind, id, leaders),
            mine,
        );
    }
    program
}

fn election_process(
    program: &mut Program,
    process: ProcessId,
    (input, output): (&ChannelRef, &ChannelRef),
    (kind, id, leaders): (VarId, VarId, VarId),
    mine: i32,
) {
    let site = never(program);
    let has_room = program.has_room(output).unwrap_or(Expr::Const(1));
    let has_message = Program::has_message(input);
    let send = |kind: Expr, value: Expr| Statement::Send {
        channel: output.clone(),
        values: vec![kind, value],
        order: SendOrder::Fifo,
        site,
    };
    let is = |variable: VarId, value: i32| Expr::equal(Expr::Var(variable), Expr::Const(value));
    step(
        program,
        process,
        (0, 1),
        vec![has_room.clone()],
        vec![send(Expr::Const(0), Expr::Const(mine))],
    );
    step(
        program,
        process,
        (1, 2),
        vec![has_message],
        vec![Statement::Receive {
            channel: input.clone(),
            position: None,
            targets: vec![Some(Place::Var(kind)), Some(Place::Var(id))],
            remove: true,
            site,
        }],
    );
    let larger = Expr::less(Expr::Const(mine), Expr::Var(id));
    let smaller = Expr::less(Expr::Var(id), Expr::Const(mine));
    step(
        program,
        process,
        (2, 1),
        vec![is(kind, 0), larger, has_room.clone()],
        vec![send(Expr::Const(0), Expr::Var(id))],
    );
    step(program, process, (2, 1), vec![is(kind, 0), smaller], vec![]);
    let parity = Expr::Divide(
        DivideOp::Remainder,
        Box::new(Expr::plus(Expr::Var(leaders), Expr::Const(1))),
        Box::new(Expr::Const(2)),
        site,
    );
    step(
        program,
        process,
        (2, 3),
        vec![is(kind, 0), is(id, mine), has_room.clone()],
        vec![
            Statement::assign(leaders, parity, site),
            send(Expr::Const(1), Expr::Var(id)),
        ],
    );
    step(
        program,
        process,
        (2, 3),
        vec![is(kind, 1), has_room],
        vec![send(Expr::Const(1), Expr::Var(id))],
    );
}
