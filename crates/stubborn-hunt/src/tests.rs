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

/// A system whose executors have nothing to say once the budget is spent.
struct GivesUp {
    inner: Model,
    /// The budget is spent, or the model outgrown, when so many states were expanded.
    after: AtomicUsize,
    outgrows: bool,
}

impl System for GivesUp {
    fn layout(&self) -> &stubborn_system::Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &stubborn_system::Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn stubborn_system::Executor + '_> {
        Box::new(GivingUp {
            inner: self.inner.executor(),
            system: self,
        })
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.inner.relations(level)
    }

    fn budget(&self) -> &stubborn_system::Budget {
        self.inner.budget()
    }
}

struct GivingUp<'s> {
    inner: Box<dyn stubborn_system::Executor + 's>,
    system: &'s GivesUp,
}

impl stubborn_system::Executor for GivingUp<'_> {
    fn successors(&mut self, state: &[u32], out: &mut stubborn_system::Successors) {
        let (system, budget) = (self.system, self.system.budget());
        if system.after.fetch_sub(1, Ordering::Relaxed) == 1 {
            match system.outgrows {
                true => budget.outgrow(),
                false => budget.stop(),
            }
        }
        if budget.spent().is_none() && !budget.is_outgrown() {
            self.inner.successors(state, out);
        }
    }

    fn fire(
        &mut self,
        state: &[u32],
        transition: stubborn_system::TransitionId,
        out: &mut stubborn_system::Successors,
    ) {
        self.inner.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.inner.label(state, label)
    }
}

/// Counters that end.
fn counters_that_end() -> Model {
    let (model, _, _) = counters_to(20);
    let mut program = model.program().clone();
    let again = program.commands.len() - 1;
    let never = program.label(Expr::Const(0));
    program.commands[again].guards.push(never);
    Model::new(program).expect("it is small")
}

/// While a counterexample is made short, the budget may be spent: who has nothing more to say then has not
/// come to an end.
#[test]
fn giving_up_is_no_end() {
    for (after, outgrows) in (1..2500)
        .step_by(41)
        .flat_map(|after| [(after, false), (after, true)])
    {
        let inner = counters_that_end();
        let system = GivesUp {
            inner,
            after: AtomicUsize::new(usize::MAX),
            outgrows,
        };
        let reference = counters_that_end();
        let targets = [Target::Deadlock];
        let hunt = Hunt {
            system: &system,
            reference: &reference,
            ..hunt(&reference, &targets, &[])
        };
        let shared = Shared::new(&hunt);
        let turn = shared.turn(Strategy::Walk(Style::Steps), 1 << 20, 0, 3);
        let Ok(Turn::Caught(caught)) = turn else {
            panic!("it ends");
        };
        system.after.store(after, Ordering::Relaxed);
        match shrink::shrink(&hunt, caught, 1) {
            Ok(caught) => assert_eq!(caught.length(), Some(40)),
            Err(error) => assert!(outgrows && matches!(error, CheckError::Outgrown), "{error}"),
        }
    }
}

/// A counter that goes up and ends, or starts again; on the way it may violate an assertion, and go up beside
/// its way from there on.
fn counter_beside_itself(ends: bool) -> (Model, LabelId, LabelId) {
    let mut program = Program::new("beside");
    let names = ["x", "y"];
    let [x, y] = names.map(|name| program.variable(Variable::integer(name, 0, 9, 0)));
    let site = program.out_of_range_site("x", None);
    let assertion = program.site(stubborn_system::FailureKind::Assertion, "never", None);
    let set = |variable, value| Statement::assign(variable, value, site);
    let is = |variable, value| Expr::equal(Expr::Var(variable), Expr::Const(value));
    let mut command = |name: &str, guard: Expr, body: Vec<Statement>| {
        let guards = vec![program.label(guard)];
        let name = name.into();
        program.command(Command {
            name,
            guards,
            body,
            ..Command::default()
        });
    };
    let up = Expr::plus(Expr::Var(x), Expr::Const(1));
    let below = Expr::less(Expr::Var(x), Expr::Const(9));
    command("up", below, vec![set(x, up)]);
    let wrong = Statement::Assert {
        condition: Expr::Const(0),
        site: assertion,
    };
    let aside = Expr::and(is(x, 3), is(y, 0));
    command("aside", aside, vec![wrong, set(y, Expr::Const(1))]);
    if !ends {
        let zero = || Expr::Const(0);
        command("again", is(x, 9), vec![set(x, zero()), set(y, zero())]);
    }
    let bad = program.label(is(y, 7));
    let start = program.label(is(x, 0));
    (Model::new(program).expect("it is small"), bad, start)
}

/// What a step leads to in which something goes wrong is not on the way, and no end.
#[test]
fn steps_that_go_wrong_lead_to_no_end() {
    let (model, _, _) = counter_beside_itself(true);
    let report = hunt(&model, &[Target::Deadlock], &[])
        .run()
        .expect("it works");
    assert_eq!(report.caught.and_then(|caught| caught.length()), Some(9));
    let targets = [Target::Assertions];
    let report = hunt(&model, &targets, &[]).run().expect("it works");
    assert_eq!(report.caught.and_then(|caught| caught.length()), Some(4));
    let (model, bad, start) = counter_beside_itself(false);
    let property = property("<> bad", bad, start);
    let report = hunt(&model, &[], &[&property]).run().expect("it works");
    let length = report.caught.and_then(|caught| caught.length());
    assert!(length >= Some(10), "{length:?}");
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
                    Turn::SeenWhatThereIs => panic!("nothing is left out"),
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
