//! Every strategy finds what there is to find, by itself.

use std::sync::atomic::AtomicUsize;

use stubborn_ir::{Command, Expr, Model, Program, Statement, Variable};
use stubborn_ltl::parser::Syntax;
use stubborn_ltl::translate::TranslationOptions;
use stubborn_system::LabelId;

use super::*;

/// Two counters up to 9 that go up, and start again together when both are at their ends; `bad` is
/// one state of a hundred.
fn counters() -> (Model, LabelId, LabelId) {
    counters_to(9)
}

fn counters_to(most: i32) -> (Model, LabelId, LabelId) {
    let mut program = Program::new("counters");
    let names = ["x", "y"];
    let variables = names.map(|name| program.variable(Variable::integer(name, 0, most, 0)));
    let is = |variable, value| Expr::equal(Expr::Var(variable), Expr::Const(value));
    for (name, variable) in names.into_iter().zip(variables) {
        let below = program.label(Expr::less(Expr::Var(variable), Expr::Const(most)));
        let site = program.out_of_range_site(name, None);
        program.command(Command {
            name: format!("{name} goes up"),
            guards: vec![below],
            body: vec![Statement::assign(
                variable,
                Expr::plus(Expr::Var(variable), Expr::Const(1)),
                site,
            )],
            ..Command::default()
        });
    }
    let ends = variables.map(|variable| program.label(is(variable, most)));
    let site = program.out_of_range_site("x", None);
    let body = variables.map(|variable| Statement::assign(variable, Expr::Const(0), site));
    program.command(Command {
        name: "again".into(),
        guards: ends.to_vec(),
        body: body.to_vec(),
        ..Command::default()
    });
    let [x, y] = variables;
    let bad = program.label(Expr::and(is(x, 7), is(y, 3)));
    let start = program.label(Expr::and(is(x, 0), is(y, 0)));
    (Model::new(program).expect("it is small"), bad, start)
}

fn property(text: &str, bad: LabelId, start: LabelId) -> Property {
    let mut label = |name: &str, _| Ok(if name == "bad" { bad } else { start });
    let options = TranslationOptions::default();
    let (property, messages) = Property::parse(text, Syntax::Spin, &mut label, &options);
    property.unwrap_or_else(|| panic!("{messages:?}"))
}

fn hunt<'a>(model: &'a Model, targets: &'a [Target], temporal: &'a [&'a Property]) -> Hunt<'a> {
    Hunt {
        system: model,
        reference: model,
        targets,
        temporal,
        options: TemporalOptions::default(),
        threads: 1,
        seed: 7,
        time: None,
        observer: None,
    }
}

#[test]
fn every_strategy_finds_a_bad_state() {
    let (model, bad, _) = counters();
    let targets = [Target::Label(bad)];
    let hunt = hunt(&model, &targets, &[]);
    let shared = Shared::new(&hunt);
    assert_eq!(shared.strategies.len(), 8);
    for strategy in shared.strategies.clone() {
        for round in [0, 1] {
            let turn = shared.turn(strategy, 100_000, round, 3).expect("it works");
            let Turn::Caught(Caught::Target(0, violation)) = turn else {
                panic!("{} found nothing", strategy.name());
            };
            let trace = violation.trace.as_ref().expect("it was replayed");
            assert!(trace.len() >= 10, "{}", strategy.name());
            let shorter = shrink::shrink(&hunt, Caught::Target(0, violation), 1 << 14);
            let shorter = shorter.expect("it works");
            assert_eq!(shorter.length(), Some(10), "{}", strategy.name());
        }
    }
}

#[test]
fn every_strategy_finds_a_bad_run() {
    let (model, bad, start) = counters();
    let formula = |text: &str| property(text, bad, start);
    // Some runs come to the bad state now and then, others never.
    let properties = [formula("<> bad"), formula("[] <> bad"), formula("[] ! bad")];
    let properties: Vec<&Property> = properties.iter().collect();
    let hunt = hunt(&model, &[], &properties);
    let shared = Shared::new(&hunt);
    assert_eq!(shared.strategies.len(), 9);
    for strategy in shared.strategies.clone() {
        for round in [0, 1] {
            let turn = shared.turn(strategy, 1 << 20, round, 3).expect("it works");
            assert!(
                matches!(turn, Turn::Caught(Caught::Temporal(..))),
                "{strategy:?}"
            );
        }
    }
}

#[test]
fn what_was_seen_in_full_holds() {
    let (model, bad, start) = counters();
    let targets = [Target::Deadlock];
    let property = property("[] <> start || [] ! start", bad, start);
    let properties = [&property];
    let report = hunt(&model, &targets, &properties).run().expect("it works");
    assert!(report.caught.is_none());
    assert_eq!(report.targets_hold, [true]);
    // It starts there, so that it is the first part that holds.
    assert_eq!(report.temporal_hold, [true]);
    assert!(report.covered.states >= 100 && report.covered.depth >= 18);
    assert_eq!(report.covered.taken.count(), 3);
}

/// A budget that is spent ends a hunt without an answer, on any number of threads.
#[test]
fn a_hunt_ends_when_it_should() {
    let (model, bad, _) = counters();
    model.budget().stop();
    let targets = [Target::Label(bad)];
    for threads in [1, 3] {
        let hunt = Hunt {
            threads,
            ..hunt(&model, &targets, &[])
        };
        let report = hunt.run().expect("it works");
        assert!(report.caught.is_none());
        assert_eq!(report.targets_hold, [false]);
    }
}

/// So does the time that it was given, and the budget stays as it was.
#[test]
fn a_hunt_has_its_own_time() {
    // Nobody ever stops, and nobody sees all of it soon.
    let (model, _, _) = counters_to(100_000);
    let targets = [Target::Deadlock];
    let hunt = Hunt {
        threads: 2,
        time: Some(Duration::from_millis(50)),
        ..hunt(&model, &targets, &[])
    };
    let report = hunt.run().expect("it works");
    assert!(report.caught.is_none());
    assert_eq!(model.budget().poll(), None);
}

/// Walks by priority let one process run until it is lowered, those by process share evenly.
#[test]
fn styles_choose_in_their_ways() {
    let (model, _, _) = counters();
    let mut chooser = walk::Chooser::new(Style::Steps, model.structure(), 1);
    let mut executor = model.executor();
    let mut successors = stubborn_system::Successors::new(model.layout().words());
    executor.successors(&model.initial_states(), &mut successors);
    let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];
    for _ in 0..1000 {
        let at = chooser.choose(&successors).expect("there are two");
        counts[at].fetch_add(1, Ordering::Relaxed);
    }
    assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) > 400));
}

/// A search that goes on from turn to turn sees every state once, and finds what one go finds.
#[test]
fn searches_go_on_where_they_were() {
    let (model, bad, _) = counters_to(99);
    for order in [Order::DepthFirst, Order::BreadthFirst] {
        for (target, is_bad) in [(Target::Label(bad), true), (Target::Deadlock, false)] {
            let targets = [target];
            let hunt = hunt(&model, &targets, &[]);
            let shared = Shared::new(&hunt);
            let task = continued::task(&shared, order);
            let mut search = Continued::new(&task);
            let mut turns = 0;
            loop {
                turns += 1;
                match search.turn(&shared, 900).expect("it works") {
                    Turn::Nothing => assert!(!search.has_ended()),
                    Turn::Caught(caught) => {
                        assert!(is_bad && caught.length() >= Some(10));
                        break;
                    }
                    Turn::SeenAll => {
                        assert!(!is_bad && turns > 5, "{order:?}: {turns}");
                        break;
                    }
                }
            }
            let once = task.run().expect("it works");
            let states = shared.states.load(Ordering::Relaxed);
            assert_eq!(states, once.states, "{order:?}");
            assert!(search.has_ended());
        }
    }
}

/// Relations of thousands of transitions take longer than many violations: nobody waits for them at the start,
/// nor while somebody else computes them.
#[test]
fn relations_are_not_waited_for() {
    let mut program = Program::new("many");
    let x = program.variable(Variable::integer("x", 0, 400, 0));
    for value in 0..400 {
        let here = program.label(Expr::equal(Expr::Var(x), Expr::Const(value)));
        let site = program.out_of_range_site("x", None);
        program.command(Command {
            name: format!("from {value}"),
            guards: vec![here],
            body: vec![Statement::assign(x, Expr::Const(value + 1), site)],
            ..Command::default()
        });
    }
    let model = Model::new(program).expect("it is small");
    let hunt = hunt(&model, &[Target::Deadlock], &[]);
    let shared = Shared::new(&hunt);
    assert!(shared.relations().is_none());
    shared.steps.store(400 * 400, Ordering::Relaxed);
    shared.relating.store(true, Ordering::Relaxed);
    assert!(shared.relations().is_none());
    shared.relating.store(false, Ordering::Relaxed);
    assert!(shared.relations().is_some());
    assert!(shared.relations().is_some(), "they stay");
}
