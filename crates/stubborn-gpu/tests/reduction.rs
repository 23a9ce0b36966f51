//! Reduced searches on the device that is there against what the interpreter finds in all states.

use crate::support;

use std::sync::Arc;

use stubborn_corpus::folder;
use stubborn_gpu::{Device, Engine, Failure, Options, Outcome, Sets};
use stubborn_ir::testing::{dining_philosophers, random_chains, random_program};
use stubborn_ir::{Model, Program};
use stubborn_reduce::{Aim, Algorithm, Config, Goals, NeededProviso, Plan, StubbornReduction};
use stubborn_search::{End, Search, Target};
use stubborn_system::{LabelId, Reduction, RelationLevel, System};
use support::{device, load, reference};

/// A reduced search; `None` if the model is refused or too much for a card.
fn reduced(device: &Device, model: &Arc<Model>, aim: Aim, targets: &[Target]) -> Option<Outcome> {
    let plan = Plan::new(&Config::new(Algorithm::Closure), aim).expect("closure does everything");
    let proviso = plan.proviso == NeededProviso::Safety;
    let relations = model.relations(RelationLevel::Exact);
    let reduction =
        StubbornReduction::new(&**model, &relations, plan).expect("the relations are the model's");
    let rows = reduction.closure().expect("closure has rows");
    let sets = Sets::new(&rows, proviso)
        .inspect_err(|why| eprintln!("no sets: {why:?}"))
        .ok()?;
    let run = Engine::new(device)
        .takes_reduced(model, targets, &sets)
        .and_then(|compiled| compiled.run(device, &Options::default()));
    match run {
        Ok(outcome) => {
            assert_eq!(outcome.end, End::Complete);
            Some(outcome)
        }
        Err(why @ (Failure::Refused(_) | Failure::Gave(_) | Failure::TooLong)) => {
            eprintln!("not compared: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn hit(outcome: &Outcome, target: Target) -> Option<u64> {
    let mut hits = outcome.hits.iter();
    hits.find(|hit| hit.target == target).map(|hit| hit.count)
}

/// Compares deadlocks, some labels, and steps that go wrong. Returns how many states all had, and how many
/// were left of them.
fn agrees(device: &Device, model: &Arc<Model>, name: &str, most: usize) -> Option<(u64, u64)> {
    let structure = model.structure();
    let mut labels = (0..structure.labels.len()).map(LabelId::new);
    let mut targets = vec![Target::Deadlock, Target::Errors];
    targets.extend(labels.next_back().map(Target::Label));
    let expected = reference(model, &targets, most)?;

    let outcome = reduced(device, model, Aim::Deadlocks, &[Target::Deadlock])?;
    let deadlocks = expected.hits[0].map(|(count, _)| count);
    assert_eq!(hit(&outcome, Target::Deadlock), deadlocks, "{name}");
    assert!(outcome.states <= expected.states, "{name}");
    let left = outcome.states;

    let wrong = structure.transition_ids();
    let wrong = wrong.filter(|t| structure.transition(*t).may_fail);
    let wrong = Goals {
        any_of: Vec::new(),
        transitions: wrong.collect(),
    };
    for (nr, target) in targets.iter().enumerate().skip(1) {
        let goals = match target {
            Target::Label(label) => Goals::labels([*label]),
            _ => wrong.clone(),
        };
        let asked = [*target, Target::Deadlock];
        let outcome = reduced(device, model, Aim::Goals(goals), &asked)?;
        let found = hit(&outcome, *target).is_some();
        assert_eq!(found, expected.hits[nr].is_some(), "{name}: {target:?}");
        // What keeps goals keeps deadlocks, too.
        assert_eq!(hit(&outcome, Target::Deadlock), deadlocks, "{name}");
        assert!(outcome.states <= expected.states, "{name}");
    }
    Some((expected.states, left))
}

/// Whether a processor leaves out states when it looks for deadlocks.
fn is_reducible(model: &Model) -> bool {
    let plan = Plan::new(&Config::new(Algorithm::Closure), Aim::Deadlocks).expect("a plan");
    let relations = model.relations(RelationLevel::Exact);
    let reduction = StubbornReduction::new(model, &relations, plan).expect("a reduction");
    let states = |reduction: Option<&dyn Reduction>| {
        let mut search = Search::new(model);
        search.reduction = reduction;
        search.limits.states = Some(2_000);
        search.run().map_or(0, |result| result.states)
    };
    states(Some(&reduction)) < states(None)
}

/// Compares so many programs of which something can be left out.
fn random_programs(seed: u64, most: usize, generate: fn(u64) -> Program) -> usize {
    let Some(device) = device() else {
        return most;
    };
    let models = (seed..seed + 12_000).filter_map(|seed| {
        let model = Model::new(generate(seed)).expect("a well-formed program");
        is_reducible(&model).then(|| (seed, Arc::new(model)))
    });
    let (mut compared, mut smaller) = (0, 0);
    // Some are too large, or refused.
    for (seed, model) in models.take(4 * most) {
        if compared == most {
            break;
        }
        if let Some((all, left)) = agrees(&device, &model, &format!("seed {seed}"), 2_000) {
            compared += 1;
            smaller += usize::from(left < all);
        }
    }
    eprintln!("{compared} of {most} agree, {smaller} are smaller");
    assert!(2 * compared > most, "only {compared} of {most}");
    smaller
}

#[test]
fn reduced_searches_of_random_programs_agree() {
    assert_eq!(random_programs(0, 1, random_program), 1);
    // Chains whose steps may fail keep everything.
    random_programs(0, 1, random_chains);
}

#[test]
#[ignore = "long: more random programs"]
fn reduced_searches_of_more_random_programs_agree() {
    assert!(random_programs(10_000, 60, random_program) > 30);
    assert!(random_programs(10_000, 60, random_chains) > 5);
}

/// Philosophers are what sets were made for.
#[test]
fn philosophers_are_reduced() {
    let Some(device) = device() else {
        return;
    };
    let model = Arc::new(Model::new(dining_philosophers(6)).expect("a small program"));
    let (all, left) = agrees(&device, &model, "philosophers", 5_000).expect("few states");
    assert!(3 * left < all, "{left} of {all}");
}

/// A question whose only way there is a transition that every set may postpone for ever: a process turns in
/// circles, and another one makes a step once.
#[test]
fn nothing_is_ignored_for_ever() {
    use stubborn_ir::{Command, Expr, Statement, Variable};
    let Some(device) = device() else {
        return;
    };
    let mut program = Program::new("ignoring");
    let variables =
        ["wheel", "once"].map(|name| program.variable(Variable::integer(name, 0, 1, 0)));
    for (nr, (name, variable)) in ["wheel", "once"].iter().zip(variables).enumerate() {
        let site = program.out_of_range_site(name, None);
        let value = match nr {
            0 => Expr::minus(Expr::Const(1), Expr::Var(variable)),
            _ => Expr::Const(1),
        };
        program.command(Command {
            name: (*name).into(),
            body: vec![Statement::assign(variable, value, site)],
            ..Command::default()
        });
    }
    let done = program.label(Expr::equal(Expr::Var(variables[1]), Expr::Const(1)));
    let model = Arc::new(Model::new(program).expect("a small program"));
    let target = Target::Label(done);
    let aim = Aim::Goals(Goals::labels([done]));
    let outcome = reduced(&device, &model, aim, &[target]).expect("it is simple");
    assert_eq!(hit(&outcome, target), Some(2));
}

/// The way to what a reduced search has found is a shortest one of all.
#[test]
fn ways_after_a_reduced_search_are_shortest() {
    let Some(device) = device() else {
        return;
    };
    let model = Arc::new(Model::new(dining_philosophers(5)).expect("a small program"));
    let targets = [Target::Deadlock];
    let (_, depth) = reference(&model, &targets, 5_000).expect("few states").hits[0].expect("one");
    let plan = Plan::new(&Config::new(Algorithm::Closure), Aim::Deadlocks).expect("a plan");
    let relations = model.relations(RelationLevel::Exact);
    let reduction = StubbornReduction::new(&*model, &relations, plan).expect("a reduction");
    let sets = Sets::new(&reduction.closure().expect("rows"), false).expect("few transitions");
    let compiled = Engine::new(&device).takes_reduced(&model, &targets, &sets);
    let compiled = compiled.expect("it is simple");
    let options = Options::default();
    let outcome = compiled.run(&device, &options).expect("there is memory");
    let way = compiled.way(&device, &outcome.hits[0], &options);
    let (nearest, way) = way.expect("there is memory").expect("there is no limit");
    assert_eq!(nearest.depth, depth);
    stubborn_search::replay(&*model, way, None).expect("every step is one of the model");
}

#[test]
#[ignore = "long: benchmark instances of up to 100,000 states"]
fn reduced_searches_of_instances_agree() {
    let (Some(folder), Some(device)) = (folder("beem/models"), device()) else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "dve"))
        .collect();
    files.sort();
    let mut compared = 0;
    for path in files {
        let model = load(&path);
        compared +=
            u32::from(agrees(&device, &model, &path.display().to_string(), 20_000).is_some());
    }
    assert!(compared > 30, "only {compared}");
}
