//! Chains against plain walks that know nothing of how chains are walked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use stubborn_system::{
    Budget, ChannelId, Executor, FailureKind, Outcome, ProcessId, Spent, Successors, System,
    TransitionId,
};

use super::*;
use crate::interpreter::Interpreter;
use crate::testing::{Random, random_chains, random_state};
use crate::{BinaryOp, ChannelRef, DivideOp, VarId, Variable};

/// A way ends in a state, with an outcome.
type Ends = BTreeSet<(Vec<u32>, Outcome)>;

/// A point of a plain walk: where, who goes on, the first violation.
type Config = (Vec<u32>, ProcessId, Outcome);

/// All that a transition can lead to, by a search over all points that keeps every one of them.
/// `None` if there are too many. Also the number of ways, where none of them runs in circles.
fn plain(
    model: &Model,
    state: &[u32],
    transition: TransitionId,
) -> Option<(Ends, Option<u64>, HashSet<TransitionId>)> {
    let mut interpreter = Interpreter::new(model);
    let mut once = |state: &[u32], t: TransitionId| {
        let mut out = Successors::new(state.len());
        interpreter.fire_once(state, t, &mut out);
        out
    };
    let commands = &model.program().commands;
    let mut ends = Ends::new();
    let mut ran = HashSet::new();
    let mut number: HashMap<Config, usize> = HashMap::new();
    // By point: the points after it, and how many ways end right there.
    let mut after: Vec<Vec<usize>> = Vec::new();
    let mut ending: Vec<u64> = Vec::new();
    let mut todo: Vec<Config> = Vec::new();
    // Where a step leads, if it is not the end of a way.
    let mut arrive = |t: TransitionId, state: &[u32], outcome: Outcome, todo: &mut Vec<Config>| {
        let process = commands[t.index()].continues;
        let Some(process) = process.filter(|_| outcome.failed().is_none()) else {
            ends.insert((state.to_vec(), outcome));
            return None;
        };
        let config = (state.to_vec(), process, outcome);
        let next = number.len();
        let at = *number.entry(config.clone()).or_insert(next);
        if at == next {
            todo.push(config);
        }
        Some(at)
    };
    let first = once(state, transition);
    let mut root = None;
    if !first.is_empty() {
        ran.insert(transition);
        root = arrive(transition, first.state(0), first.outcome(0), &mut todo);
    }
    let mut configs: Vec<Config> = Vec::new();
    let mut waiting = Vec::new();
    while configs.len() < todo.len() {
        let (state, process, outcome) = todo[configs.len()].clone();
        configs.push((state.clone(), process, outcome));
        let (mut next, mut leaves, mut any) = (Vec::new(), 0, false);
        for (t, command) in commands.iter().enumerate() {
            if command.processes.first() != Some(&process) || command.priority != 0 {
                continue;
            }
            let t = TransitionId::new(t);
            let step = once(&state, t);
            if step.is_empty() {
                continue;
            }
            any = true;
            ran.insert(t);
            // The first violation stays.
            let new = step.outcome(0);
            let outcome = match (outcome.violated(), new.failed()) {
                (None, _) => new,
                (Some(first), None) => Outcome::violation(first),
                (Some(first), Some(f)) => Outcome::violation(first).then(Outcome::failure(f)),
            };
            match arrive(t, step.state(0), outcome, &mut todo) {
                Some(at) => next.push(at),
                None => leaves += 1,
            }
        }
        if !any {
            leaves = 1;
            waiting.push((state, outcome));
        }
        after.push(next);
        ending.push(leaves);
        if configs.len() > 3_000 {
            return None;
        }
    }
    ends.extend(waiting);
    // Points from which no way ends, and among these the ones that are reached again from
    // wherever they lead to.
    let reach = |from: usize| {
        let (mut seen, mut todo) = (HashSet::new(), vec![from]);
        while let Some(at) = todo.pop() {
            for next in &after[at] {
                if seen.insert(*next) {
                    todo.push(*next);
                }
            }
        }
        seen
    };
    let reached: Vec<HashSet<usize>> = (0..after.len()).map(reach).collect();
    for at in 0..after.len() {
        let stuck = ending[at] == 0 && reached[at].iter().all(|b| ending[*b] == 0);
        if stuck && reached[at].iter().all(|b| reached[*b].contains(&at)) {
            let site = commands[transition.index()].endless.expect("a chain");
            let error = model.structure().error_state.clone().expect("it can fail");
            ends.insert((error, configs[at].2.then(Outcome::failure(site.index()))));
        }
    }
    let ways = match root {
        None => Some(u64::from(!first.is_empty())),
        Some(root) => {
            let circles = (0..after.len()).any(|at| reached[at].contains(&at));
            (!circles).then(|| ways_from(root, &after, &ending))
        }
    };
    Some((ends, ways, ran))
}

fn ways_from(at: usize, after: &[Vec<usize>], ending: &[u64]) -> u64 {
    let further: u64 = after[at].iter().map(|b| ways_from(*b, after, ending)).sum();
    ending[at] + further
}

fn endless_site(model: &Model, t: TransitionId) -> Option<usize> {
    let command = &model.program().commands[t.index()];
    command.endless.map(|site| site.index())
}

fn set(out: &Successors) -> Ends {
    out.iter().map(|s| (s.state.to_vec(), s.outcome)).collect()
}

/// The same by a runner for which chains are long early.
fn by_runner(model: &Model, state: &[u32], t: TransitionId, long: u64) -> Ends {
    let mut interpreter = Interpreter::new(model);
    let mut out = Successors::new(state.len());
    interpreter.fire_once(state, t, &mut out);
    let once = &mut |state: &[u32], t: TransitionId, out: &mut Successors| {
        interpreter.fire_once(state, t, out);
    };
    let steps = &mut one_by_one(model, once);
    Runner::new(state.len())
        .long_after(long)
        .finish(model, state, 0, &mut out, steps);
    set(&out)
}

#[test]
fn chains_end_as_plain_walks_say() {
    let (mut compared, mut counted) = (0, 0);
    let mut seen = [0; 4];
    for seed in 0..1_500 {
        let model = Model::new(random_chains(seed)).expect("a small program");
        let mut rng = Random::new(seed);
        let mut states = vec![model.initial_states()];
        states.extend((0..4).map(|_| random_state(&model, &mut rng)));
        let mut interpreter = Interpreter::new(&model);
        for state in states.iter().filter(|s| !model.is_error(s)) {
            for t in model.structure().transition_ids() {
                let Some((expected, ways, ran)) = plain(&model, state, t) else {
                    continue;
                };
                let mut out = Successors::new(state.len());
                interpreter.fire(state, t, &mut out);
                let context = format!("seed {seed}, {state:?}, {t:?}");
                assert_eq!(set(&out), expected, "{context}");
                for long in [0, 1, 3, 10] {
                    let found = by_runner(&model, state, t, long);
                    assert_eq!(found, expected, "{context}, long after {long}");
                }
                let mut visited = HashSet::new();
                interpreter.visit_chain(state, t, &mut |c| {
                    visited.insert(c);
                });
                assert_eq!(visited, ran, "{context}");
                for (end, outcome) in &expected {
                    check_explanation(&model, state, t, (end, *outcome), &context);
                }
                if let Some(ways) = ways {
                    assert_eq!(out.len() as u64, ways, "{context}");
                    counted += usize::from(ways > 1);
                }
                compared += usize::from(expected.len() > 1);
                for (_, outcome) in &expected {
                    let (violated, failed) = (outcome.violated(), outcome.failed());
                    let endless = failed == endless_site(&model, t);
                    seen[0] += usize::from(violated.is_some() && failed.is_none());
                    seen[1] += usize::from(violated.is_some() && failed.is_some() && !endless);
                    seen[2] += usize::from(violated.is_none() && endless && failed.is_some());
                    seen[3] += usize::from(violated.is_some() && endless && failed.is_some());
                }
            }
        }
    }
    let enough = compared > 1_500 && counted > 500 && seen.iter().all(|n| *n > 200);
    assert!(enough, "{compared} {counted} {seen:?}");
}

/// The explanation of an end is a run of single commands that leads there.
fn check_explanation(
    model: &Model,
    state: &[u32],
    t: TransitionId,
    target: (&[u32], Outcome),
    context: &str,
) {
    let mut interpreter = Interpreter::new(model);
    let mut at = state.to_vec();
    let mut became = Outcome::FINE;
    let commands = interpreter.explain(state, t, target);
    assert_eq!(commands[0], t);
    for command in commands {
        let mut out = Successors::new(at.len());
        interpreter.fire_once(&at, command, &mut out);
        assert_eq!(out.len(), 1, "{context}");
        became = became.then(out.outcome(0));
        at = out.state(0).to_vec();
    }
    let endless = endless_site(model, t);
    if target.1.failed() == endless && endless.is_some() {
        assert_eq!(became.violated(), target.1.violated(), "{context}");
    } else {
        assert_eq!((&at[..], became), target, "{context}");
    }
}

/// `steps` times `x := x + 1 mod size`, in one chain: a command that does it while x is below
/// `steps`, and one that ends the chain.
fn counting(steps: i32, size: i32) -> Program {
    let mut program = Program::new("counting");
    let names = vec!["count".into(), "done".into()];
    let process = program.process("P", names, 0);
    let x = program.variable(Variable::integer("x", 0, size - 1, 0));
    let site = program.site(FailureKind::OutOfRange, "x", None);
    let zero = program.site(FailureKind::DivisionByZero, "zero", None);
    let next = Expr::plus(Expr::Var(x), Expr::Const(1));
    let next = Expr::Divide(
        DivideOp::Remainder,
        Box::new(next),
        Box::new(Expr::Const(size)),
        zero,
    );
    let below = Expr::binary(BinaryOp::NotEqual, Expr::Var(x), Expr::Const(steps));
    let counter = program.processes[process.index()].counter;
    for (name, guard, to, value) in [
        ("more", below.clone(), 0, next),
        ("end", crate::simplify::not(below), 1, Expr::Var(x)),
    ] {
        let guards = program.conjuncts(guard);
        program.command(Command {
            name: name.into(),
            processes: vec![process],
            sources: vec![Some(0)],
            guards,
            body: vec![
                Statement::assign(x, value, site),
                Statement::assign(counter, Expr::Const(to), site),
            ],
            continues: (to == 0).then_some(process),
            ..Command::default()
        });
    }
    program
}

fn successors(model: &Model) -> Successors {
    let initial = model.initial_states();
    let mut out = Successors::new(initial.len());
    Interpreter::new(model).successors(&initial, &mut out);
    out
}

/// No number of steps makes a chain endless, only a state that comes again does.
#[test]
fn long_chains_end_and_endless_ones_do_not() {
    let model = Model::new(counting(400_000, 1 << 20)).expect("a small program");
    let out = successors(&model);
    assert_eq!((out.len(), out.outcome(0)), (1, Outcome::FINE));
    // Never as many as there are values.
    let model = Model::new(counting(400_000, 300_000)).expect("a small program");
    let out = successors(&model);
    let endless = endless_site(&model, out.get(0).transition).map(Outcome::failure);
    assert_eq!((out.len(), Some(out.outcome(0))), (1, endless));
}

#[test]
fn a_chain_without_choice_takes_no_memory() {
    let model = Model::new(counting(100_000, 1 << 20)).expect("a small program");
    let initial = model.initial_states();
    let mut interpreter = Interpreter::new(&model);
    let mut out = Successors::new(initial.len());
    let first = model
        .structure()
        .transition_ids()
        .next()
        .expect("a command");
    interpreter.fire_once(&initial, first, &mut out);
    let once = &mut |state: &[u32], t: TransitionId, out: &mut Successors| {
        interpreter.fire_once(state, t, out);
    };
    let mut runner = Runner::new(initial.len());
    runner.finish(&model, &initial, 0, &mut out, &mut one_by_one(&model, once));
    assert_eq!(out.len(), 1);
    let shown = format!("{runner:?}");
    assert!(shown.len() < 2_000, "{shown}");
}

/// A loop that gives up in the middle of a chain is neither its end nor a trap.
#[test]
fn chains_with_steps_that_give_up_end_nowhere() {
    let mut program = Program::new("a long loop in a chain");
    let names = ["start", "loop", "done"].map(String::from).to_vec();
    let process = program.process("P", names, 0);
    let counter = program.processes[process.index()].counter;
    let i = program.variable(Variable::integer("i", 0, 1 << 20, 0));
    let site = program.site(FailureKind::EndlessLoop, "endless", None);
    let more = Expr::plus(Expr::Var(i), Expr::Const(1));
    let count = Statement::While {
        condition: Expr::less(Expr::Var(i), Expr::Const(1 << 20)),
        body: vec![Statement::assign(i, more, site)],
        site,
    };
    // One step that loops, and one that goes back: without the first, there would be no end.
    let go = |to: i32| Statement::assign(counter, Expr::Const(to), site);
    for (name, from, body, continues) in [
        ("start", 0, vec![go(1)], Some(process)),
        ("count", 1, vec![count, go(2)], None),
        ("again", 1, vec![go(1)], Some(process)),
    ] {
        program.command(Command {
            name: name.into(),
            processes: vec![process],
            sources: vec![Some(from)],
            body,
            continues,
            ..Command::default()
        });
    }
    for without in [None, Some(2)] {
        let mut program = program.clone();
        without.map(|at| program.commands.remove(at));
        let model = Model::new(program).expect("a small program");
        let out = successors(&model);
        assert_eq!((out.len(), out.outcome(0)), (1, Outcome::FINE));
        let budget = Arc::new(Budget::unlimited().with_time(Some(Duration::ZERO)));
        let model = model.with_budget(budget);
        assert!(successors(&model).is_empty());
        assert_eq!(model.budget().spent(), Some(Spent::Time));
    }
}

/// A spent budget leaves successors out, and says so.
#[test]
fn chains_give_up_when_the_budget_is_spent() {
    let budget = Arc::new(Budget::unlimited().with_time(Some(Duration::ZERO)));
    let model = Model::new(counting(400_000, 1 << 20)).expect("a small program");
    let model = model.with_budget(Arc::clone(&budget));
    assert!(successors(&model).is_empty());
    assert_eq!(model.budget().spent(), Some(Spent::Time));
    // Short ones do not look at the clock.
    let budget = Arc::new(Budget::unlimited().with_time(Some(Duration::ZERO)));
    let model = Model::new(counting(40, 64)).expect("a small program");
    let model = model.with_budget(Arc::clone(&budget));
    assert_eq!(successors(&model).len(), 1);
    assert_eq!(budget.spent(), None);
}

/// What assignments say about where a process is afterwards, choices and loops included.
#[test]
fn where_a_step_leads_is_known_from_its_assignments() {
    let mut program = Program::new("assignments");
    let counter = program.variable(Variable::integer("pc", 0, 9, 0));
    let other = program.variable(Variable::integer("x", 0, 9, 0));
    let site = program.site(FailureKind::OutOfRange, "pc", None);
    let to = |location: i32| Statement::assign(counter, Expr::Const(location), site);
    let anywhere = || Statement::assign(counter, Expr::Var(other), site);
    let choice = |then: Vec<Statement>, otherwise: Vec<Statement>| Statement::If {
        condition: Expr::Var(other),
        then,
        otherwise,
    };
    let round = |body: Vec<Statement>| Statement::While {
        condition: Expr::Var(other),
        body,
        site,
    };
    let receive = |target: Option<VarId>| Statement::Receive {
        channel: ChannelRef::Fixed(ChannelId::new(0)),
        position: None,
        targets: vec![None, target.map(Place::Var)],
        remove: true,
        site,
    };
    let elsewhere = || Statement::assign(other, Expr::Const(7), site);
    let some = |locations: &[u32], always| Some((locations.iter().copied().collect(), always));
    for (body, expected) in [
        (vec![], some(&[], false)),
        (vec![elsewhere(), receive(Some(other))], some(&[], false)),
        (vec![to(1)], some(&[1], true)),
        (vec![to(1), elsewhere(), to(2)], some(&[2], true)),
        (vec![anywhere()], None),
        (vec![to(1), anywhere()], None),
        (vec![choice(vec![to(1)], vec![to(2)])], some(&[1, 2], false)),
        (vec![choice(vec![to(1)], vec![])], some(&[1], false)),
        (
            vec![to(1), choice(vec![to(2)], vec![])],
            some(&[1, 2], true),
        ),
        (vec![choice(vec![to(2)], vec![]), to(1)], some(&[1], true)),
        (vec![choice(vec![anywhere()], vec![to(1)])], None),
        (vec![choice(vec![to(1)], vec![anywhere()])], None),
        (vec![round(vec![to(3)])], some(&[3], false)),
        (vec![round(vec![anywhere()])], None),
        (vec![receive(Some(counter))], None),
        (vec![receive(None), to(1)], some(&[1], true)),
    ] {
        let command = Command {
            body: body.clone(),
            ..Command::default()
        };
        assert_eq!(counter_after(&command, counter), expected, "{body:?}");
    }
}

/// A step of low priority waits until nobody else can move: it does not go on with a chain.
#[test]
fn a_chain_ends_before_steps_of_low_priority() {
    let mut program = Program::new("wait for all others");
    let names = ["begin", "wait", "done"].map(String::from).to_vec();
    let process = program.process("P", names, 0);
    let counter = program.processes[process.index()].counter;
    let site = program.site(FailureKind::OutOfRange, "a counter", None);
    for (from, priority) in [(0, 0), (1, 1)] {
        program.command(Command {
            name: format!("c{from}"),
            processes: vec![process],
            sources: vec![Some(from)],
            body: vec![Statement::assign(
                counter,
                Expr::Const(from as i32 + 1),
                site,
            )],
            continues: (from == 0).then_some(process),
            priority,
            ..Command::default()
        });
    }
    let model = Model::new(program).expect("a small program");
    let ends = successors(&model);
    let field = &model.layout().fields()[0];
    let ends: Vec<i64> = ends.iter().map(|end| field.get(end.state)).collect();
    assert_eq!(ends, [1]);
}

/// Who may have stayed where it was goes on from there, too; who was anywhere, from anywhere.
#[test]
fn who_stays_goes_on_from_where_it_was() {
    let mut program = Program::new("stay or go");
    let names = ["here", "there"].map(String::from).to_vec();
    let process = program.process("P", names, 0);
    let counter = program.processes[process.index()].counter;
    let site = program.site(FailureKind::OutOfRange, "a counter", None);
    let go = || Statement::assign(counter, Expr::Const(1), site);
    let may_go = Statement::If {
        condition: Expr::Var(counter),
        then: vec![go()],
        otherwise: vec![],
    };
    for (source, body, expected) in [
        (Some(0), vec![may_go.clone()], Some(vec![0, 1])),
        (None, vec![may_go], None),
        (None, vec![go()], Some(vec![1])),
    ] {
        let command = Command {
            processes: vec![process],
            sources: vec![source],
            body,
            ..Command::default()
        };
        let after = locations_after(&program, &command, process);
        assert_eq!(after, expected.map(BTreeSet::from_iter));
    }
}
