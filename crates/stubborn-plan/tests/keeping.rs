//! A check that is stopped and taken up again, as often as it likes, gives the report of one that
//! never was: with groups of searches, and with what `auto` decides on the way.

use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stubborn_ir::{Command, Expr, Model, Program, Statement, VarId, Variable};
use stubborn_emptiness::{FiniteRuns, Property, SteeringMode};
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::parser::{AnyName, Syntax, parse};
use stubborn_ltl::stutter::normalise_stutter;
use stubborn_ltl::translate::translate;
use stubborn_plan::{
    CheckError, CheckOptions, Keeper, Keeping, Next, Planner, Por, ReductionOptions, Report,
    TemporalQuestion, TemporalRun,
};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::{Order, Stop, Target};
use stubborn_system::{
    Budget, Executor, LabelId, Layout, Random, RelationLevel, Relations, Spent, Structure,
    Successors, System, TransitionId,
};

/// `n` counters up to `k`, independent of each other or not (the last one is noted), and a label
/// that holds where two of them are at their end.
fn counters(n: usize, k: i32, depends: bool) -> (Model, LabelId) {
    let mut program = Program::new("counters");
    let names = (0..n).map(|at| format!("x{at}"));
    let all: Vec<VarId> = names
        .map(|name| program.variable(Variable::integer(name, 0, k, 0)))
        .collect();
    let site = program.out_of_range_site("x", None);
    let last = program.variable(Variable::integer("last", 0, n as i32, 0));
    for (at, x) in all.iter().enumerate() {
        let below = program.label(Expr::less(Expr::Var(*x), Expr::Const(k)));
        let more = Expr::plus(Expr::Var(*x), Expr::Const(1));
        let mut body = vec![Statement::assign(*x, more, site)];
        if depends {
            body.push(Statement::assign(last, Expr::Const(at as i32), site));
        }
        program.command(Command {
            name: "count".into(),
            guards: vec![below],
            body,
            ..Command::default()
        });
    }
    let sum = Expr::plus(Expr::Var(all[0]), Expr::Var(all[1]));
    let label = program.label(Expr::equal(sum, Expr::Const(2 * k)));
    (Model::new(program).expect("a well-formed program"), label)
}

/// `n` counters that begin anew at `k`, independent of each other or not, and labels of the first two.
fn rings(n: usize, k: i32, depends: bool) -> (Model, Vec<LabelId>) {
    let mut program = Program::new("rings");
    let site = program.out_of_range_site("x", None);
    let last = program.variable(Variable::integer("last", 0, n as i32, 0));
    let mut labels = Vec::new();
    for at in 0..n {
        let x = program.variable(Variable::integer(format!("x{at}"), 0, k, 0));
        let is_at = |number| Expr::equal(Expr::Var(x), Expr::Const(number));
        labels.push(program.label(is_at(if at == 0 { 0 } else { k })));
        let more = Expr::plus(Expr::Var(x), Expr::Const(1));
        let steps = [
            (Expr::less(Expr::Var(x), Expr::Const(k)), more),
            (is_at(k), Expr::Const(0)),
        ];
        for (guard, value) in steps {
            let guard = program.label(guard);
            let mut body = vec![Statement::assign(x, value, site)];
            if depends {
                body.push(Statement::assign(last, Expr::Const(at as i32), site));
            }
            program.command(Command {
                name: format!("step {at}"),
                guards: vec![guard],
                body,
                ..Command::default()
            });
        }
    }
    labels.truncate(2);
    (Model::new(program).expect("a well-formed program"), labels)
}

fn property(text: &str, labels: &[LabelId]) -> Property {
    let mut formulas = Formulas::new();
    let (formula, _) = parse(&mut formulas, text, Syntax::Spin, &mut AnyName);
    let formula = formula.expect("a formula");
    let of_name = |name: &String| labels[usize::from(name == "q")];
    let labels = formulas.names().iter().map(of_name).collect();
    let property = Property::from_formula(formulas, formula, labels, &Default::default());
    property.expect("a small automaton")
}

/// The words that are stutter-equivalent to one of a random formula: many of their automata are
/// neither deterministic nor in stutter normal form.
fn closure(seed: u64, labels: &[LabelId]) -> Option<Property> {
    let mut formulas = Formulas::new();
    for name in ["p", "q"] {
        formulas.proposition(name);
    }
    let random = &mut stubborn_ltl::random::Random::new(seed);
    let formula = random.formula(&mut formulas, 2, 5);
    let automaton = translate(&formulas, formula, &Default::default()).ok()?;
    let mut draft = normalise_stutter(&automaton)?.automaton.draft();
    draft.reduce();
    let closed = draft.finish();
    if closed.is_deterministic() || closed.state_count() > 6 {
        return None;
    }
    let of_name = |name: &String| labels[usize::from(name == "q")];
    let own = closed.propositions().iter().map(of_name).collect();
    Some(Property::from_automaton(closed, own))
}

/// What must be the same of a temporal check.
fn run_facts(run: &TemporalRun) -> String {
    let r = &run.result;
    let trace = r.counterexample.as_ref().map(|found| &found.trace);
    format!(
        "{:?} {:?} {:?} {} {:?} {}",
        r.verdict, r.counts, r.reduction, r.walks, trace, run.unpaid
    )
}

/// Two temporal checks, one after the other, of which what is done is recalled.
#[test]
fn temporal_checks_that_are_stopped_give_the_same_answer() {
    let random = &mut Random::new(12);
    let texts = [
        "[] <> q",
        "<> [] p",
        "[] (p -> <> q)",
        "[] !(p && q)",
        "<> (p && (p U q))",
        "([] <> p) -> (<> [] q || [] <> q)",
    ];
    let (mut stops, mut reduced, mut by_state, mut several) = (0, 0, 0, 0);
    for round in 0..80 {
        let (model, labels) = rings(4, 3 + round % 2, round % 3 == 0);
        let reduction = match round % 4 {
            0 => ReductionOptions::none(),
            1 | 2 => ReductionOptions {
                por: Por::Chosen(Config::new(Algorithm::Deletion)),
                ..ReductionOptions::default()
            },
            _ => ReductionOptions {
                patience: 100 + random.below(400) as u64,
                ..ReductionOptions::default()
            },
        };
        let mut options = CheckOptions {
            reduction,
            ..CheckOptions::default()
        };
        options.temporal.steering = *random.pick(&[SteeringMode::Off, SteeringMode::Mixed]);
        let properties = [0, 1].map(|_| {
            let seed = 1 + random.below(1 << 20) as u64;
            let random_one = closure(seed, &labels).filter(|_| round % 4 == 1);
            random_one.unwrap_or_else(|| property(texts[random.below(texts.len())], &labels))
        });
        let ask = |system: &dyn System, options: &CheckOptions<'_>| -> Vec<String> {
            let planner = Planner::new(system, options).replayed_on(&model);
            let answers = properties.iter().map(|property| {
                let finite_runs = FiniteRuns::Stutter;
                let question = TemporalQuestion { property, finite_runs };
                let run = planner.check_temporal(question).expect("nothing is wrong");
                run_facts(&run)
            });
            answers.collect()
        };
        let undisturbed = ask(&model, &options);
        let of_kind = |kind: &str| undisturbed.iter().filter(|facts| facts.contains(kind)).count();
        reduced += of_kind("On {");
        by_state += of_kind("ByState");
        let keeper = InMemory::default();
        let mut tries = 0;
        let answers = loop {
            let keeping = Keeping::new(&keeper);
            let options = CheckOptions {
                keeping: Some(&keeping),
                ..options.clone()
            };
            let system = Pausing {
                inner: &model,
                keeper: &keeper,
                left: AtomicU64::new(20 + random.below(200) as u64),
                budget: Budget::unlimited(),
            };
            let answers = ask(&system, &options);
            keeper.flag.store(false, Ordering::Relaxed);
            if keeper.kept.lock().unwrap().is_none() {
                break answers;
            }
            stops += 1;
            tries += 1;
        };
        several += usize::from(tries > 2);
        assert_eq!(answers, undisturbed, "round {round}");
    }
    assert!(
        stops > 100 && reduced > 10 && by_state > 1 && several > 10,
        "{stops} {reduced} {by_state} {several}"
    );
}

/// Wants a pause after so many states were expanded.
struct Pausing<'a> {
    inner: &'a dyn System,
    keeper: &'a InMemory,
    left: AtomicU64,
    budget: Budget,
}

struct PausingExecutor<'a>(Box<dyn Executor + 'a>, &'a Pausing<'a>);

impl System for Pausing<'_> {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    fn structure(&self) -> &Structure {
        self.inner.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.inner.initial_states()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        Box::new(PausingExecutor(self.inner.executor(), self))
    }

    fn relations(&self, level: RelationLevel) -> Relations {
        self.inner.relations(level)
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl Executor for PausingExecutor<'_> {
    fn successors(&mut self, state: &[u32], out: &mut Successors) {
        let keeper = self.1.keeper;
        if keeper.is_exploring.load(Ordering::Relaxed)
            && self.1.left.fetch_sub(1, Ordering::Relaxed) == 0
        {
            keeper.flag.store(true, Ordering::Relaxed);
        }
        self.0.successors(state, out);
    }

    fn fire(&mut self, state: &[u32], transition: TransitionId, out: &mut Successors) {
        self.0.fire(state, transition, out);
    }

    fn label(&mut self, state: &[u32], label: LabelId) -> bool {
        self.0.label(state, label)
    }
}

/// Keeps in memory, and ends every run when it is asked to pause.
#[derive(Default)]
struct InMemory {
    flag: AtomicBool,
    is_exploring: AtomicBool,
    kept: Mutex<Option<Vec<u8>>>,
}

impl Keeper for InMemory {
    fn pause(&self) -> &AtomicBool {
        &self.flag
    }

    fn is_exploring(&self, now: bool) {
        self.is_exploring.store(now, Ordering::Relaxed);
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Next {
        let mut bytes = Vec::new();
        write(&mut bytes).expect("it waits");
        *self.kept.lock().unwrap() = Some(bytes);
        self.flag.store(false, Ordering::Relaxed);
        Next::End(Spent::Interrupted)
    }

    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)> {
        let bytes = self.kept.lock().unwrap().take()?;
        let length = bytes.len() as u64;
        Some((Box::new(io::Cursor::new(bytes)), length))
    }
}

/// What must be the same.
fn facts(report: &Report) -> Vec<String> {
    let runs = report.runs.iter().map(|run| {
        let r = &run.result;
        format!(
            "{} {} {} {} {} {:?} {:?}",
            run.reduction, r.states, r.transitions, r.deadlocks, r.depth, r.end, r.level_sizes
        )
    });
    let answers = report.answers.iter().map(|answer| {
        let violation = answer.violation.as_ref();
        let violation = violation.map(|v| (v.count, v.length, format!("{:?}", v.trace)));
        format!("{:?} {} {violation:?}", answer.verdict, answer.run)
    });
    runs.chain(answers).collect()
}

#[test]
fn checks_that_are_stopped_give_the_same_report() {
    let random = &mut Random::new(11);
    let (mut stops, mut reduced, mut kept) = (0, 0, 0);
    for round in 0..40 {
        let (model, label) = counters(4, 4, round % 3 == 0);
        let reduction = match round % 4 {
            0 => ReductionOptions::none(),
            1 => ReductionOptions {
                por: Por::Chosen(Config::new(Algorithm::Deletion)),
                ..ReductionOptions::default()
            },
            _ => ReductionOptions {
                patience: 40 + random.below(60) as u64,
                ..ReductionOptions::default()
            },
        };
        let order = *random.pick(&[Order::BreadthFirst, Order::DepthFirst]);
        let options = CheckOptions {
            order,
            reduction,
            ..CheckOptions::default()
        };
        let targets = [Target::Deadlock, Target::Label(label)];
        let undisturbed = Planner::new(&model, &options).check(&targets, Stop::Never);
        let undisturbed = undisturbed.expect("nothing is wrong");
        let is_reduced = undisturbed.runs.iter().any(|run| run.reduction != "none");
        reduced += usize::from(is_reduced);
        kept += usize::from(!is_reduced);

        let keeper = InMemory::default();
        let report = loop {
            let keeping = Keeping::new(&keeper);
            let options = CheckOptions {
                keeping: Some(&keeping),
                ..options.clone()
            };
            let system = Pausing {
                inner: &model,
                keeper: &keeper,
                left: AtomicU64::new(10 + random.below(200) as u64),
                budget: Budget::unlimited(),
            };
            let report = Planner::new(&system, &options)
                .replayed_on(&model)
                .check(&targets, Stop::Never)
                .expect("it goes on");
            keeper.flag.store(false, Ordering::Relaxed);
            if keeper.kept.lock().unwrap().is_none() {
                break report;
            }
            stops += 1;
        };
        assert_eq!(
            facts(&report),
            facts(&undisturbed),
            "round {round}, {order:?}"
        );
    }
    assert!(
        stops > 40 && reduced > 10 && kept > 10,
        "{stops} {reduced} {kept}"
    );
}

#[test]
fn what_was_kept_of_another_check_is_refused() {
    let (model, label) = counters(3, 5, false);
    let keeper = InMemory::default();
    let options = CheckOptions {
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    let check = |system: &dyn System, target| {
        let keeping = Keeping::new(&keeper);
        let options = CheckOptions {
            keeping: Some(&keeping),
            ..options.clone()
        };
        let planner = Planner::new(system, &options);
        planner.check(&[target], Stop::Never).map(|_| ())
    };
    let system = Pausing {
        inner: &model,
        keeper: &keeper,
        left: AtomicU64::new(50),
        budget: Budget::unlimited(),
    };
    check(&system, Target::Deadlock).expect("it is stopped");
    let bytes = keeper.kept.lock().unwrap().clone().expect("it was kept");
    let foreign = check(&model, Target::Label(label));
    assert!(matches!(foreign, Err(CheckError::Resume(_))), "{foreign:?}");
    *keeper.kept.lock().unwrap() = Some(bytes[..bytes.len() / 2].to_vec());
    let damaged = check(&model, Target::Deadlock);
    assert!(matches!(damaged, Err(CheckError::Resume(_))), "{damaged:?}");
}
