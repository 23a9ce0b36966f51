//! A check that is stopped and taken up again, as often as it likes, gives the report of one that
//! never was: with groups of searches, and with what `auto` decides on the way.

use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stubborn_ir::{Command, Expr, Model, Program, Statement, VarId, Variable};
use stubborn_plan::{
    CheckError, CheckOptions, Keeper, Next, Planner, Por, ReductionOptions, Report,
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
        let options = CheckOptions {
            keeper: Some(&keeper),
            ..options
        };
        let report = loop {
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
        keeper: Some(&keeper),
        ..CheckOptions::default()
    };
    let check = |system: &dyn System, target| {
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
