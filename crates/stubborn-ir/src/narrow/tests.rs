//! Narrowed programs behave as they did.

use std::collections::HashSet;

use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Successors, System};

use super::*;
use crate::interpreter::Interpreter;
use crate::testing::{dining_philosophers, peterson, random_program, ring_election};
use crate::{Model, Site, Variable};

/// Most states that a test looks at.
const ENOUGH: usize = 20_000;

/// States that runs reach, without the one that failed steps lead to.
fn reached(model: &Model) -> HashSet<Vec<u32>> {
    let mut executor = model.executor();
    let mut seen = HashSet::from([model.initial_states()]);
    let mut todo = VecDeque::from([model.initial_states()]);
    let mut successors = Successors::new(model.layout().words());
    while let Some(state) = todo.pop_front() {
        successors.clear();
        executor.successors(&state, &mut successors);
        for next in successors.iter().filter(|s| !model.is_error(s.state)) {
            if seen.len() < ENOUGH && seen.insert(next.state.to_vec()) {
                todo.push_back(next.state.to_vec());
            }
        }
    }
    seen
}

/// The numbers of states, of steps by transition, and of failures.
fn explored(program: &Program) -> (usize, Vec<usize>, usize) {
    let model = Model::new(program.clone()).expect("a program that was packed before");
    let mut executor = model.executor();
    let mut steps = vec![0; program.commands.len()];
    let mut failures = 0;
    let mut seen = HashSet::from([model.initial_states()]);
    let mut todo = VecDeque::from([model.initial_states()]);
    let mut successors = Successors::new(model.layout().words());
    while let Some(state) = todo.pop_front() {
        successors.clear();
        executor.successors(&state, &mut successors);
        for next in successors.iter() {
            steps[next.transition.index()] += 1;
            failures += usize::from(next.outcome != stubborn_system::Outcome::FINE);
            let structure = model.structure();
            let fails = structure.error_state.as_deref() == Some(next.state);
            assert!(!fails || structure.transition(next.transition).may_fail);
            if seen.len() < ENOUGH && seen.insert(next.state.to_vec()) {
                todo.push_back(next.state.to_vec());
            }
        }
    }
    (seen.len(), steps, failures)
}

fn assert_same_behaviour(program: &Program) {
    let mut smaller = program.clone();
    narrow(&mut smaller, &UNLIMITED);
    assert_eq!(explored(program), explored(&smaller), "{}", program.name);
}

#[test]
fn programs_behave_as_before() {
    for program in [peterson(3), dining_philosophers(4), ring_election(3, 2)] {
        assert_same_behaviour(&program);
    }
}

#[test]
fn random_programs_behave_as_before() {
    for seed in 0..400 {
        let mut program = random_program(seed);
        assert_same_behaviour(&program);
        // Types that are much too large are what this is for.
        let counters: Vec<VarId> = program.processes.iter().map(|p| p.counter).collect();
        for (at, variable) in program.variables.iter_mut().enumerate() {
            let counter = counters.contains(&VarId(at as u32));
            if variable.item.overflow == Overflow::Wrap && !counter {
                variable.item = Item::wrapping(i32::MIN, i32::MAX);
            }
        }
        assert_same_behaviour(&program);
    }
}

#[test]
fn a_loop_is_bounded_by_its_condition() {
    let mut program = Program::new("loop");
    let mut x = Variable::integer("x", 0, 0, 0);
    x.item = Item::wrapping(i32::MIN, i32::MAX);
    let process = program.process("P", vec!["test".into(), "count".into()], 0);
    let x = program.variable(x.owned_by(process));
    let counter = program.processes[process.index()].counter;
    let site = program.out_of_range_site("x", None);
    let below = program.label(Expr::less(Expr::Var(x), Expr::Const(5)));
    program.command(Command {
        name: "enter".into(),
        processes: vec![process],
        sources: vec![Some(0)],
        guards: vec![below],
        body: vec![Statement::assign(counter, Expr::Const(1), site)],
        ..Command::default()
    });
    let more = Expr::plus(Expr::Var(x), Expr::Const(1));
    program.command(Command {
        name: "count".into(),
        processes: vec![process],
        sources: vec![Some(1)],
        body: vec![
            Statement::assign(x, more, site),
            Statement::assign(counter, Expr::Const(0), site),
        ],
        ..Command::default()
    });
    assert_same_behaviour(&program);
    narrow(&mut program, &UNLIMITED);
    let item = &program.variables[x.index()].item;
    assert_eq!((item.min, item.max, item.overflow), (0, 5, Overflow::Fits));
}

/// What the first command writes is known only after it was run again: when the second one has made a
/// variable of its guard or of its body, a message, or a place of its process known to it.
#[test]
fn whoever_looks_at_what_grows_is_run_again() {
    let wide = |name: &str| Variable {
        item: Item::wrapping(i32::MIN, i32::MAX),
        ..Variable::integer(name, 0, 0, 0)
    };
    for kind in ["guard", "body", "message", "place", "local", "choice"] {
        let mut program = Program::new(kind);
        let names = ["first", "second"].map(String::from).to_vec();
        let [p, q] = ["P", "Q"].map(|name| program.process(name, names.clone(), 0));
        let counter = program.processes[p.index()].counter;
        let [x, y] = ["x", "y"].map(|name| program.variable(wide(name)));
        let own = program.variable(wide("own").owned_by(p));
        let site = program.out_of_range_site("x", None);
        let channel = program.channel(crate::Channel {
            name: "c".into(),
            capacity: 1,
            items: vec![Item::wrapping(i32::MIN, i32::MAX)],
        });
        let channel = || ChannelRef::Fixed(channel);
        let set = |variable, value| Statement::assign(variable, value, site);
        let five = || Expr::Const(5);
        let go = || set(counter, Expr::Const(1));
        let holds = |program: &mut Program, guard| vec![program.label(guard)];
        let (from, guards, first) = match kind {
            "guard" => {
                let guard = Expr::equal(Expr::Var(x), five());
                (0, holds(&mut program, guard), set(y, Expr::Const(7)))
            }
            "body" => (0, vec![], set(y, Expr::Var(x))),
            "message" => {
                let guard = Expr::less(Expr::Const(0), Expr::Length(channel()));
                let receive = Statement::Receive {
                    channel: channel(),
                    position: None,
                    targets: vec![Some(Place::Var(y))],
                    remove: true,
                    site,
                };
                (0, holds(&mut program, guard), receive)
            }
            "choice" => (0, vec![], set(y, Expr::Var(own))),
            _ => (1, vec![], set(y, Expr::plus(Expr::Var(own), five()))),
        };
        let (by, second) = match kind {
            "guard" | "body" => (q, vec![set(x, five())]),
            "message" => {
                let send = Statement::Send {
                    channel: channel(),
                    values: vec![five()],
                    order: crate::SendOrder::Fifo,
                    site,
                };
                (q, vec![send])
            }
            "place" => (p, vec![go()]),
            "local" => (p, vec![set(own, five()), go()]),
            _ => {
                let left = Statement::If {
                    condition: Expr::Var(x),
                    then: vec![go()],
                    otherwise: vec![],
                };
                (p, vec![set(own, five()), left])
            }
        };
        for (name, process, from, guards, body) in [
            ("reads", p, from, guards, vec![first]),
            ("writes", by, 0, vec![], second),
        ] {
            program.command(Command {
                name: name.into(),
                processes: vec![process],
                sources: vec![Some(from)],
                guards,
                body,
                ..Command::default()
            });
        }
        // Messages that do not fit any more would fail.
        let full = Expr::less(Expr::Length(channel()), Expr::Const(1));
        let free = program.label(full);
        program.commands[1].guards.push(free);
        assert_same_behaviour(&program);
        narrow(&mut program, &UNLIMITED);
        let item = &program.variables[y.index()].item;
        let largest = ["guard", "local"].iter().position(|k| *k == kind);
        let largest = largest.map_or(5, |at| [7, 10][at]);
        assert_eq!((item.min, item.max), (0, largest), "{kind}");
    }
}

/// Who reads is found in every expression; a variable of a process is not followed from place to place
/// if another process writes it, and a process may be put somewhere by another one.
#[test]
fn what_others_write_is_known_wherever_it_is_read() {
    let site = Site(0);
    let (x, copy, own, array) = (VarId(2), VarId(3), VarId(4), VarId(5));
    let element = |index: Expr| Expr::Element(array, Box::new(index), site);
    let set = |variable, value: i32| vec![Statement::assign(variable, Expr::Const(value), site)];
    let write = vec![Statement::Assign {
        target: Place::Element(array, Expr::Const(1), site),
        value: Expr::Const(77),
        site,
    }];
    let minus = Expr::Unary(UnaryOp::Negate, Box::new(Expr::Var(x)));
    let same = Expr::Divide(
        crate::DivideOp::Quotient,
        Box::new(Expr::Var(x)),
        Box::new(Expr::Const(1)),
        site,
    );
    let choice = Expr::If(
        Box::new(Expr::Var(own)),
        Box::new(Expr::Const(0)),
        Box::new(Expr::Var(x)),
    );
    let started = [set(own, 5), set(VarId(0), 1)].concat();
    for (number, (value, read, from, written)) in [
        (5, Expr::plus(Expr::Const(0), Expr::Var(x)), 0, set(x, 5)),
        (-5, minus, 0, set(x, 5)),
        (5, same, 0, set(x, 5)),
        (5, choice, 0, set(x, 5)),
        (9, element(Expr::Var(x)), 0, set(x, 5)),
        (77, element(Expr::Const(1)), 0, write),
        (5, Expr::Var(own), 0, set(own, 5)),
        (5, Expr::Var(own), 1, started),
    ]
    .into_iter()
    .enumerate()
    {
        let mut program = Program::new(format!("read {number}"));
        let names = ["first", "second"].map(String::from).to_vec();
        let [p, q] = ["P", "Q"].map(|name| program.process(name, names.clone(), 0));
        let wide = |name: &str| {
            let mut variable = Variable::integer(name, 0, 0, 0);
            variable.item = Item::wrapping(i32::MIN, i32::MAX);
            variable
        };
        let mut initial = vec![0; 8];
        initial[5] = if value == 9 { 9 } else { 0 };
        let mut values = Variable::array("array", 0, 9, initial);
        values.item = Item::wrapping(i32::MIN, i32::MAX);
        for (variable, id) in [
            (wide("x"), x),
            (wide("copy"), copy),
            (wide("own").owned_by(p), own),
            (values.owned_by(p), array),
        ] {
            assert_eq!(program.variable(variable), id);
        }
        assert_eq!(program.out_of_range_site("x", None), site);
        for (process, from, body) in [
            (p, from, vec![Statement::assign(copy, read, site)]),
            (q, 0, written),
        ] {
            program.command(Command {
                name: format!("c{}", program.commands.len()),
                processes: vec![process],
                sources: vec![Some(from)],
                body,
                ..Command::default()
            });
        }
        assert_same_behaviour(&program);
        narrow(&mut program, &UNLIMITED);
        let item = &program.variables[copy.index()].item;
        assert!(item.contains(value), "{number}: {item:?}");
    }
}

/// Either branch of a choice, any number of rounds: what a process brings to its next place is all that may
/// have become of a variable; and who reads only inside of them is run again.
#[test]
fn choices_and_loops_are_joined() {
    let site = Site(0);
    let (x, copy, own) = (VarId(2), VarId(3), VarId(4));
    let temp = TempId(0);
    let set = |variable, value| Statement::assign(variable, value, site);
    let five = || Expr::Const(5);
    let choice = |condition, then, otherwise| Statement::If {
        condition,
        then,
        otherwise,
    };
    let round = |condition, body| Statement::While {
        condition,
        body,
        site,
    };
    let more = |value: Expr, by| Expr::plus(value, Expr::Const(by));
    let below = |value, limit| Expr::less(value, Expr::Const(limit));
    let (is_set, mine, kept) = (Expr::Var(x), Expr::Var(own), Expr::Temp(temp));
    let again = choice(
        below(mine.clone(), 3),
        vec![set(own, more(mine.clone(), 2))],
        vec![set(own, more(mine.clone(), 1))],
    );
    let read = || vec![set(copy, Expr::Var(own))];
    let raise = || vec![set(copy, more(Expr::Var(copy), 1))];
    for (number, (write, read)) in [
        (
            vec![choice(is_set.clone(), vec![set(own, five())], vec![])],
            read(),
        ),
        (
            vec![choice(is_set.clone(), vec![], vec![set(own, five())])],
            read(),
        ),
        (
            vec![round(
                below(mine.clone(), 5),
                vec![set(own, more(mine.clone(), 1))],
            )],
            read(),
        ),
        (vec![round(below(mine.clone(), 500), vec![again])], read()),
        (
            vec![
                Statement::Let(temp, Expr::Const(0)),
                choice(is_set.clone(), vec![Statement::Let(temp, five())], vec![]),
                set(own, kept.clone()),
            ],
            read(),
        ),
        (
            vec![
                Statement::Let(temp, Expr::Const(0)),
                round(
                    below(kept.clone(), 5),
                    vec![Statement::Let(temp, more(kept.clone(), 1))],
                ),
                set(own, kept),
            ],
            read(),
        ),
        // Who reads only here.
        (
            vec![set(x, five())],
            vec![choice(
                mine.clone(),
                vec![],
                vec![set(copy, is_set.clone())],
            )],
        ),
        (
            vec![set(x, five())],
            vec![choice(
                Expr::Const(1),
                vec![set(copy, is_set.clone())],
                vec![],
            )],
        ),
        (
            vec![set(x, five())],
            vec![round(Expr::less(Expr::Var(copy), is_set), raise())],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut program = Program::new(format!("body {number}"));
        let names = ["first", "second"].map(String::from).to_vec();
        let [p, q] = ["P", "Q"].map(|name| program.process(name, names.clone(), 0));
        let wide = |name: &str| {
            let mut variable = Variable::integer(name, 0, 0, 0);
            variable.item = Item::wrapping(i32::MIN, i32::MAX);
            variable
        };
        let all = [
            (wide("x"), x),
            (wide("copy"), copy),
            (wide("own").owned_by(p), own),
        ];
        for (variable, id) in all {
            assert_eq!(program.variable(variable), id);
        }
        assert_eq!(program.out_of_range_site("x", None), site);
        let go = || set(VarId(0), Expr::Const(1));
        // A process reads at its second place what it brought there, or what another one wrote.
        let by_others = number > 5;
        let reads = u32::from(!by_others);
        let write = [write, (!by_others).then(go).into_iter().collect()].concat();
        for (process, from, body) in [
            (p, reads, read),
            (if by_others { q } else { p }, 0, write),
            (
                q,
                0,
                vec![set(x, if by_others { five() } else { Expr::Const(1) })],
            ),
        ] {
            program.command(Command {
                name: format!("c{}", program.commands.len()),
                processes: vec![process],
                sources: vec![Some(from)],
                body,
                ..Command::default()
            });
        }
        assert_same_behaviour(&program);
    }
}

/// Conditions take away only values for which they are false, however they are put together.
#[test]
fn conditions_are_taken_as_they_are() {
    let x = VarId(1);
    let below = |limit| Expr::less(Expr::Var(x), Expr::Const(limit));
    let above = |limit| Expr::less(Expr::Const(limit), Expr::Var(x));
    for (number, condition) in [
        below(5),
        Expr::Var(x),
        Expr::and(below(5), above(2)),
        Expr::or(below(2), above(7)),
        Expr::or(Expr::and(below(5), above(2)), below(1)),
        Expr::equal(Expr::plus(Expr::Var(x), Expr::Const(1)), Expr::Const(4)),
    ]
    .into_iter()
    .flat_map(|condition| [condition.clone(), Expr::negation(condition)])
    .flat_map(|condition| [condition.clone(), Expr::negation(condition)])
    .enumerate()
    {
        let mut program = Program::new(format!("condition {number}"));
        let process = program.process("P", vec!["only".into()], 0);
        assert_eq!(program.variable(Variable::integer("x", 0, 9, 0)), x);
        let mut wide = |name: &str| {
            let mut variable = Variable::integer(name, 0, 0, 0);
            variable.item = Item::wrapping(i32::MIN, i32::MAX);
            program.variable(variable)
        };
        let [guarded, then, otherwise] = ["guarded", "then", "otherwise"].map(&mut wide);
        let site = program.out_of_range_site("x", None);
        let set = |variable| Statement::assign(variable, Expr::Var(x), site);
        let more = Expr::plus(Expr::Var(x), Expr::Const(1));
        let choice = Statement::If {
            condition: condition.clone(),
            then: vec![set(then)],
            otherwise: vec![set(otherwise)],
        };
        for (guard, statement) in [
            (condition, set(guarded)),
            (below(9), Statement::assign(x, more, site)),
            (Expr::Const(1), choice),
        ] {
            let guards = vec![program.label(guard)];
            program.command(Command {
                name: format!("c{}", program.commands.len()),
                processes: vec![process],
                sources: vec![Some(0)],
                guards,
                body: vec![statement],
                ..Command::default()
            });
        }
        assert_same_behaviour(&program);
    }
}

/// A process comes to a place again, with a value that it has had elsewhere: who starts there is run
/// again, though the range of the variable as a whole has not grown.
#[test]
fn what_is_brought_to_a_place_is_known_there() {
    let mut program = Program::new("two ways");
    let names = ["begin", "look", "far", "near"].map(String::from).to_vec();
    let process = program.process("P", names, 0);
    let counter = program.processes[process.index()].counter;
    let mut own = Variable::integer("own", 0, 0, 0).owned_by(process);
    own.item = Item::wrapping(i32::MIN, i32::MAX);
    let mut copy = Variable::integer("copy", 0, 0, 0);
    copy.item = own.item.clone();
    let (own, copy) = (program.variable(own), program.variable(copy));
    let site = program.out_of_range_site("own", None);
    let set = |variable, value| Statement::assign(variable, value, site);
    // In this order, the short way is known first, and the long one from its end.
    for (from, to, value) in [
        (1, 0, set(copy, Expr::Var(own))),
        (0, 1, set(copy, Expr::Const(0))),
        (3, 1, set(copy, Expr::Const(0))),
        (2, 3, set(copy, Expr::Const(0))),
        (0, 2, set(own, Expr::Const(5))),
    ] {
        program.command(Command {
            name: format!("{from} to {to}"),
            processes: vec![process],
            sources: vec![Some(from)],
            body: vec![value, set(counter, Expr::Const(to))],
            ..Command::default()
        });
    }
    assert_same_behaviour(&program);
    narrow(&mut program, &UNLIMITED);
    assert_eq!(program.variables[copy.index()].item.max, 5);
}

/// An index that is only used where it is small, and guards that cannot be trusted.
#[test]
fn what_never_fails_is_found_by_location() {
    let mut program = Program::new("array");
    let process = program.process("P", vec!["test".into(), "look".into()], 0);
    let index = program.variable(Variable::integer("i", 0, 9, 0).owned_by(process));
    let array = program.variable(Variable::array("a", 0, 3, vec![0; 5]));
    let counter = program.processes[process.index()].counter;
    let site = program.out_of_range_site("i", None);
    let element = |at: Expr| Expr::Element(array, Box::new(at), site);
    let below = program.label(Expr::less(Expr::Var(index), Expr::Const(5)));
    let command = |program: &mut Program, name: &str, from, guards, to, body: Vec<Statement>| {
        let mut body = body;
        body.push(Statement::assign(counter, Expr::Const(to), site));
        program.command(Command {
            name: name.into(),
            processes: vec![process],
            sources: vec![Some(from)],
            guards,
            body,
            ..Command::default()
        });
    };
    command(&mut program, "enter", 0, vec![below], 1, Vec::new());
    let more = Expr::plus(Expr::Var(index), Expr::Const(1));
    let is_zero = program.label(Expr::equal(element(Expr::Var(index)), Expr::Const(0)));
    let count = vec![Statement::assign(index, more.clone(), site)];
    command(&mut program, "count", 1, vec![is_zero], 0, count);
    // Never true, but it fails: there, nothing follows from it.
    let never = program.label(Expr::less(Expr::Const(5), element(Expr::Var(index))));
    command(&mut program, "fail", 0, vec![never], 0, Vec::new());
    // Looked at after the index has changed.
    let late = vec![
        Statement::assign(index, more, site),
        Statement::assign(index, element(Expr::Var(index)), site),
    ];
    command(&mut program, "late", 1, Vec::new(), 0, late);
    assert_same_behaviour(&program);
    find_failures(&mut program, &UNLIMITED);
    let never_fails = |name: &str| {
        let mut commands = program.commands.iter();
        commands.any(|c| c.name == name && c.never_fails)
    };
    assert!(never_fails("enter") && never_fails("count"));
    assert!(!never_fails("fail") && !never_fails("late"));
}

/// What is said never to fail never does; what is said to hold where an expression fails does so
/// there and nowhere else.
#[test]
fn evaluations_fail_only_where_they_may() {
    let (mut failing, mut excluded) = (0, 0);
    for seed in 0..400 {
        let program = random_program(seed);
        let model = Model::new(program.clone()).expect("a well-formed program");
        let interpreter = Interpreter::new(&model);
        let mut executor = model.executor();
        let exprs: Vec<Expr> = program.labels.iter().map(|l| l.expr.clone()).collect();
        let may_fail = may_fail_somewhere(&program, &exprs, &stubborn_system::budget::UNLIMITED);
        let mut labels = program.clone();
        let labels = exprs.iter().map(|e| labels.label(Expr::failure(e.clone())));
        let labels: Vec<_> = labels.collect();
        let states = reached(&model);
        for ((expr, label), may_fail) in exprs.iter().zip(labels).zip(may_fail) {
            let fails = |state: &&Vec<u32>| interpreter.evaluate(state, expr).is_err();
            let failures = states.iter().filter(fails).count();
            assert!(may_fail || failures == 0, "{seed}: {expr:?}");
            failing += usize::from(failures > 0);
            excluded += usize::from(!may_fail && program.may_fail(expr));
            // Labels of failures that the program has.
            if label.index() < program.labels.len() {
                for state in &states {
                    assert_eq!(
                        executor.label(state, label),
                        fails(&state),
                        "{seed}: {expr:?}"
                    );
                }
            }
        }
    }
    assert!(failing > 100 && excluded > 10, "{failing} {excluded}");
}

#[test]
fn conditions_in_front_of_an_index_count() {
    let mut program = Program::new("array");
    let index = program.variable(Variable::integer("i", 0, 9, 0));
    let array = program.variable(Variable::array("a", 0, 3, vec![0; 3]));
    let site = program.out_of_range_site("i", None);
    let below = |number| Expr::less(Expr::Var(index), Expr::Const(number));
    let element = || Expr::Element(array, Box::new(Expr::Var(index)), site);
    let guard = program.label(below(5));
    program.command(Command {
        name: "count".into(),
        guards: vec![guard],
        body: vec![Statement::assign(
            index,
            Expr::plus(Expr::Var(index), Expr::Const(1)),
            site,
        )],
        ..Command::default()
    });
    let five = |divisor| {
        let (dividend, divisor) = (Box::new(Expr::Const(5)), Box::new(divisor));
        Expr::Divide(crate::DivideOp::Quotient, dividend, divisor, site)
    };
    let cases = [
        (element(), true),
        (Expr::and(below(3), element()), false),
        (Expr::and(below(4), element()), true),
        (Expr::and(element(), below(3)), true),
        (Expr::or(Expr::negation(below(3)), element()), false),
        (Expr::negation(Expr::and(below(3), element())), false),
        (Expr::failure(Expr::and(below(3), element())), false),
        (five(Expr::minus(Expr::Const(5), Expr::Var(index))), true),
        (five(Expr::minus(Expr::Const(6), Expr::Var(index))), false),
        (five(Expr::minus(Expr::Const(9), Expr::Var(index))), false),
        (
            Expr::If(
                Box::new(below(3)),
                Box::new(element()),
                Box::new(five(Expr::Var(index))),
            ),
            false,
        ),
    ];
    let exprs: Vec<Expr> = cases.iter().map(|(expr, _)| expr.clone()).collect();
    let found = may_fail_somewhere(&program, &exprs, &stubborn_system::budget::UNLIMITED);
    for ((expr, expected), found) in cases.iter().zip(found) {
        assert_eq!(found, *expected, "{expr:?}");
    }
}

#[test]
fn programs_stay_as_they_are_without_a_budget() {
    let spent = Budget::unlimited().with_time(Some(std::time::Duration::ZERO));
    for seed in 0..20 {
        let program = random_program(seed);
        let text = |program: &Program| format!("{program:?}");
        let mut same = program.clone();
        narrow(&mut same, &spent);
        find_failures(&mut same, &spent);
        assert_eq!(text(&same), text(&program));
        let origins = crate::fuse::fuse(&mut same, &spent);
        assert_eq!(text(&same), text(&program));
        assert!(origins.iter().enumerate().all(|(at, from)| *from == [at]));
    }
    assert!(Model::within(random_program(1), std::sync::Arc::new(spent)).is_err());
}

/// Whoever looks at something, or writes it, is known to: the fields of commands are found by other
/// code.
#[test]
fn what_is_looked_at_and_written_is_seen() {
    for seed in 0..200 {
        let model = Model::new(random_program(seed)).expect("a sound program");
        let (program, encoding) = (model.program(), model.encoding());
        for command in &program.commands {
            let mut seen = Seen::default();
            let mut effects = crate::effects::Effects::new(program, encoding);
            for guard in &command.guards {
                seen.expr(&program.labels[guard.index()].expr);
                effects.expression(&program.labels[guard.index()].expr);
            }
            seen.body(&command.body);
            effects.body(&command.body);
            let (reads, writes) = effects.finish();
            for variable in (0..program.variables.len()).map(|at| VarId(at as u32)) {
                let is_in = |list: &[_]| encoding.fields(variable).any(|f| list.contains(&f));
                let (read, written) = (is_in(&reads), is_in(&writes));
                assert!(!written || seen.written.contains(&variable), "{seed}");
                assert!(!read || seen.variables.contains(&variable), "{seed}");
            }
            for channel in (0..program.channels.len()).map(ChannelId::new) {
                let mut fields = encoding.channel_fields(channel);
                let touched = fields.any(|f| reads.contains(&f) || writes.contains(&f));
                assert!(!touched || seen.channels.contains(&channel), "{seed}");
            }
        }
    }
}
