//! Whole searches on the device that is there (in CI the CPU, through `pocl`) against the
//! interpreter and against known counts.

use crate::support;

use std::path::PathBuf;
use std::sync::Arc;

use stubborn_corpus::{folder, tsv};
use stubborn_emptiness::{Check, CheckVerdict, Counterexample, Property};
use stubborn_gpu::{Device, Engine, Failure, Options, Outcome, Spelling, Watch};
use stubborn_ir::Model;
use stubborn_ir::testing::{dining_philosophers, random_chains, random_program};
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::random::Random;
use stubborn_search::{End, Limit, Limits, Stop, Target};
use stubborn_system::{LabelId, System};
use support::{Found, device, load, reference};

/// Programs of more bytes are left to the long tests.
const LONG_TEXT: usize = 40_000;

/// Everything that can be looked for in a model.
fn all_targets(model: &Model) -> Vec<Target> {
    let labels = (0..model.structure().labels.len()).map(|at| Target::Label(LabelId::new(at)));
    let ends = [
        Target::Deadlock,
        Target::InvalidEnd,
        Target::Errors,
        Target::Assertions,
    ];
    ends.into_iter().chain(labels).take(32).collect()
}

fn explore(device: &Device, model: &Arc<Model>, targets: &[Target]) -> Result<Outcome, Failure> {
    let compiled = Engine::new(device).takes(model, targets)?;
    compiled.run(device, &Options::default())
}

/// What a search found, in the reference's terms.
fn found(outcome: &Outcome, targets: &[Target]) -> Found {
    let hit = |target: &Target| {
        let hit = outcome.hits.iter().find(|hit| hit.target == *target)?;
        Some((hit.count, hit.depth))
    };
    Found {
        states: outcome.states,
        transitions: outcome.transitions,
        deadlocks: outcome.deadlocks,
        levels: outcome.level_sizes.clone(),
        hits: targets.iter().map(hit).collect(),
    }
}

/// Compares one model with the interpreter; false if it is too large, or refused.
fn agrees(device: &Device, model: &Arc<Model>, name: &str, most: usize) -> bool {
    agrees_by(
        Engine::new(device),
        device,
        (model, name),
        most,
        &Options::default(),
    )
}

fn agrees_by(
    engine: Engine<'_>,
    device: &Device,
    (model, name): (&Arc<Model>, &str),
    most: usize,
    options: &Options<'_>,
) -> bool {
    let targets = all_targets(model);
    let Some(expected) = reference(model, &targets, most) else {
        return false;
    };
    let compiled = engine.takes(model, &targets);
    match compiled.and_then(|compiled| compiled.run(device, options)) {
        Ok(outcome) => {
            assert_eq!(outcome.end, End::Complete, "{name}");
            assert_eq!(found(&outcome, &targets), expected, "{name}");
            for hit in &outcome.hits {
                let at = targets.iter().position(|target| *target == hit.target);
                let at = at.expect("a target of the search");
                let once = reference_hit(model, hit.target, &hit.state);
                assert!(once, "{name}: target {at} is not hit in {:?}", hit.state);
            }
            true
        }
        Err(Failure::Refused(reason)) => {
            eprintln!("{name} is refused: {reason}");
            false
        }
        Err(reason @ (Failure::Gave(_) | Failure::TooLong)) => {
            eprintln!("{name}: {reason}");
            false
        }
        Err(other) => panic!("{name}: {other}"),
    }
}

/// Whether a state that was reported is one that hits the target.
fn reference_hit(model: &Model, target: Target, state: &[u32]) -> bool {
    let mut executor = model.executor();
    let mut out = stubborn_system::Successors::new(state.len());
    executor.successors(state, &mut out);
    let is = |assertion: bool| {
        out.iter().any(|step| {
            let mut sites = step.outcome.sites(model.structure());
            sites.any(|site| (site.kind == stubborn_system::FailureKind::Assertion) == assertion)
        })
    };
    match target {
        Target::Deadlock | Target::InvalidEnd => out.is_empty(),
        Target::Errors => is(false),
        Target::Assertions => is(true),
        Target::Label(label) => executor.label(state, label),
    }
}

fn random_programs(seeds: std::ops::Range<u64>, generate: fn(u64) -> stubborn_ir::Program) {
    let Some(device) = device() else {
        return;
    };
    let all = seeds.end - seeds.start;
    let mut compared = 0;
    for seed in seeds {
        let model = Arc::new(Model::new(generate(seed)).expect("a well-formed program"));
        // Small as they are, half of them by tables.
        let engine = Engine::new(&device).spelling(match seed % 2 {
            0 => Spelling::Out,
            _ => Spelling::Tables,
        });
        let name = format!("seed {seed}");
        // And a third of them in tables that are served region by region.
        let options = Options {
            region: (seed % 3 == 0).then_some(300_000),
            ..Options::default()
        };
        let one = (&model, &name[..]);
        compared += u64::from(agrees_by(engine, &device, one, 2_000, &options));
    }
    assert!(compared * 3 > all, "only {compared} of {all}");
    eprintln!("{compared} of {all} agree");
}

#[test]
fn random_programs_agree() {
    random_programs(0..30, random_program);
    // Sends something to a channel that has no room for anything.
    random_programs(1_179..1_180, random_program);
}

#[test]
fn random_chains_agree() {
    random_programs(0..30, random_chains);
}

#[test]
#[ignore = "long: more random programs"]
fn more_random_programs_agree() {
    random_programs(1_000..1_400, random_program);
    random_programs(1_000..1_400, random_chains);
}

/// Instances of the benchmark set with between so many states, with known counts.
fn beem(most: u64, chosen: impl Fn(&str) -> bool) {
    let (Some(folder), Some(device)) = (folder("beem"), device()) else {
        return;
    };
    let table =
        std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("the table is readable");
    let table = tsv::Tsv::parse(&table);
    let mut instances: Vec<(u64, String, [Option<u64>; 3])> = table
        .records()
        .filter_map(|row| {
            let number = |column: &str| row.get(column).parse::<u64>().ok();
            let name = row.get("instance").to_owned();
            let counts = [
                number("states"),
                number("transitions"),
                number("deadlock_states"),
            ];
            Some((number("states")?, name, counts))
        })
        .collect();
    instances.sort();
    let mut seen: Vec<String> = Vec::new();
    let mut compared = 0;
    for (states, name, counts) in instances {
        let family = name.split('.').next().unwrap_or_default().to_owned();
        if states > most || !chosen(&name) || (most < 1_000_000 && seen.contains(&family)) {
            continue;
        }
        let path: PathBuf = folder.join("models").join(format!("{name}.dve"));
        let model = load(&path);
        // Compiling takes longest.
        let size = Engine::source(&model, &[]).map_or(0, |text| text.len());
        if most < 1_000_000 && size > LONG_TEXT {
            continue;
        }
        seen.push(family);
        let outcome = explore(&device, &model, &[]);
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = [outcome.states, outcome.transitions, outcome.deadlocks];
        for (found, known) in found.iter().zip(counts) {
            assert!(
                known.is_none_or(|known| known == *found),
                "{name}: {found:?}, not {counts:?}"
            );
        }
        compared += 1;
    }
    eprintln!("{compared} instances have the known counts");
}

/// The smallest instance of each model; two tests, for two cores.
#[test]
fn instances_have_the_known_counts() {
    beem(300_000, |name| name.as_bytes()[0] < b'h');
}

#[test]
fn more_instances_have_the_known_counts() {
    beem(300_000, |name| name.as_bytes()[0] >= b'h');
}

#[test]
#[ignore = "long: all instances of up to a million states"]
fn larger_instances_have_the_known_counts() {
    beem(1_000_000, |_| true);
}

/// Promela models of a folder of the corpus, compared with the interpreter.
fn promela(part: &str, most: usize) {
    let (Some(folder), Some(device)) = (folder(part), device()) else {
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("the entry is readable").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|e| ["pml", "prm", "promela"].iter().any(|x| e == *x))
        })
        .collect();
    files.sort();
    let mut compared = 0;
    for file in files {
        let name = file.display().to_string();
        match support::try_load(&file) {
            Some(model) => compared += usize::from(agrees(&device, &model, &name, most)),
            None => eprintln!("{name} is no model"),
        }
    }
    assert!(compared > 5, "{compared}");
    eprintln!("{compared} models agree");
}

#[test]
fn found_models_agree() {
    promela("found", 20_000);
}

#[test]
fn promela_models_agree() {
    promela("promela/spin-examples", 10_000);
}

#[test]
#[ignore = "long: larger Promela models"]
fn larger_promela_models_agree() {
    promela("promela/paper", 400_000);
}

/// New states that a group has not written yet are written also if its last rounds find nothing.
#[test]
fn nothing_is_left_behind() {
    use stubborn_ir::{Command, Expr, Program, Statement, Variable};
    let Some(device) = device() else {
        return;
    };
    let mut program =
        Program::new("as many successors as a group has work-items, half of them twice");
    let x = program.variable(Variable::integer("x", 0, 100, 0));
    let start = program.label(Expr::equal(Expr::Var(x), Expr::Const(0)));
    let never = program.label(Expr::equal(Expr::Var(x), Expr::Const(100)));
    let site = program.out_of_range_site("x", None);
    for at in 0..200 {
        program.command(Command {
            name: format!("c{at}"),
            guards: vec![if at < 128 { start } else { never }],
            body: vec![Statement::assign(x, Expr::Const(1 + at / 2 % 64), site)],
            ..Command::default()
        });
    }
    let model = Arc::new(Model::new(program).expect("a small program"));
    assert!(agrees(&device, &model, "half of them twice", 1_000));
}

/// Tables and queues that are too small are noticed; the counts are right all the same.
#[test]
fn searches_start_again_with_larger_tables() {
    let Some(device) = device() else {
        return;
    };
    let model = Arc::new(Model::new(dining_philosophers(9)).expect("a small program"));
    let targets = [Target::Deadlock];
    let expected = reference(&model, &targets, 1_000_000).expect("few states");
    let compiled = Engine::new(&device)
        .takes(&model, &targets)
        .expect("it is simple");
    for (table, region) in [
        (1, None),
        (1 << 10, Some(64)),
        (1 << 16, None),
        (1 << 20, Some(1 << 18)),
    ] {
        let options = Options {
            table: Some(table),
            region,
            ..Options::default()
        };
        let outcome = compiled.run(&device, &options).expect("there is memory");
        assert_eq!(found(&outcome, &targets), expected, "{table}");
        assert!(outcome.figures.restarts > 0 || table > 1 << 10);
    }
}

#[test]
fn searches_end_where_they_should() {
    let Some(device) = device() else {
        return;
    };
    let model = Arc::new(Model::new(dining_philosophers(6)).expect("a small program"));
    let targets = [Target::Deadlock];
    let expected = reference(&model, &targets, 1_000_000).expect("few states");
    let compiled = Engine::new(&device)
        .takes(&model, &targets)
        .expect("it is simple");
    let run = |options: Options<'_>| compiled.run(&device, &options).expect("there is memory");

    let first = run(Options {
        stop: Stop::FirstViolation,
        ..Options::default()
    });
    assert_eq!(first.end, End::Violation);
    assert_eq!(first.hits.len(), 1);
    let depth = expected.hits[0].expect("it has a deadlock").1;
    assert_eq!(first.hits[0].depth, depth);
    assert!(reference_hit(
        &model,
        Target::Deadlock,
        &first.hits[0].state
    ));
    // Later levels were not begun.
    assert!(first.level_sizes.len() as u64 <= depth + 2);

    let limits = Limits {
        states: Some(20),
        ..Limits::default()
    };
    let some = run(Options {
        limits,
        ..Options::default()
    });
    assert_eq!(some.end, End::Limit(Limit::States));
    assert!(some.states < expected.states);

    let stopped = std::sync::atomic::AtomicBool::new(true);
    let limits = Limits {
        interrupt: Some(&stopped),
        ..Limits::default()
    };
    assert_eq!(
        run(Options {
            limits,
            ..Options::default()
        })
        .end,
        End::Limit(Limit::Interrupted)
    );
    let limits = Limits {
        time: Some(std::time::Duration::ZERO),
        ..Limits::default()
    };
    assert_eq!(
        run(Options {
            limits,
            ..Options::default()
        })
        .end,
        End::Limit(Limit::Time)
    );
}

/// A program from the cache does what the compiled one did; a damaged one is compiled again.
#[test]
fn compiled_programs_are_kept() {
    let Some(device) = device() else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("stubborn-gpu-test-{}", std::process::id()));
    let device = device.with_cache(Some(&folder));
    let model = Arc::new(Model::new(dining_philosophers(4)).expect("a small program"));
    let mut counts = Vec::new();
    for round in 0..3 {
        let compiled = Engine::new(&device)
            .takes(&model, &[])
            .expect("it is simple");
        assert_eq!(compiled.is_from_cache(), round == 1);
        let outcome = compiled
            .run(&device, &Options::default())
            .expect("there is memory");
        counts.push((outcome.states, outcome.transitions));
        if round == 1 {
            for entry in std::fs::read_dir(&folder).expect("it is there") {
                std::fs::write(entry.expect("it is readable").path(), b"nonsense")
                    .expect("it is writable");
            }
        }
    }
    assert!(counts.iter().all(|count| *count == counts[0]));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

/// Ways are as short as they can be and lead where they should, with any memory for levels.
#[test]
fn ways_lead_to_what_was_hit() {
    let Some(device) = device() else {
        return;
    };
    let chain = (0..40).map(random_chains).find_map(|program| {
        let model = Model::new(program).ok()?;
        let found = reference(&model, &all_targets(&model), 2_000)?;
        let far = |hit: &Option<(u64, u64)>| hit.is_some_and(|(_, depth)| depth > 3);
        found.hits.iter().any(far).then_some(model)
    });
    let philosophers = Model::new(dining_philosophers(6)).expect("a small program");
    for model in chain.into_iter().chain([philosophers]) {
        let model = Arc::new(model);
        let targets = all_targets(&model);
        let compiled = Engine::new(&device)
            .takes(&model, &targets)
            .expect("it is simple");
        let outcome = compiled
            .run(&device, &Options::default())
            .expect("there is memory");
        let far = outcome.hits.iter().filter(|hit| hit.depth > 0);
        assert!(far.clone().count() > 0);
        for (hit, log) in far
            .take(4)
            .flat_map(|hit| [None, Some(0)].map(|log| (hit, log)))
        {
            let options = Options {
                log,
                ..Options::default()
            };
            let way = compiled
                .way(&device, hit, &options)
                .expect("there is memory");
            let (_, way) = way.expect("there is no limit");
            let words = model.layout().words();
            assert_eq!(way.len() as u64, (hit.depth + 1) * words as u64);
            assert_eq!(&way[way.len() - words..], hit.state);
            stubborn_search::replay(&*model, way, None).expect("every step is one of the model");
        }
    }
}

/// Two counters to 300, which the analysis of ranges does not see, and where they are at certain
/// numbers, a third variable gets a value.
fn counters(value: i32) -> Arc<Model> {
    use stubborn_ir::{Command, Expr, Program, Statement, Variable};
    let mut program = Program::new("counters");
    let mut both = Vec::new();
    for (name, there) in [("x", 173), ("y", 29)] {
        let x = program.variable(Variable::integer(name, 0, 10_000, 0));
        let square = Expr::binary(stubborn_ir::BinaryOp::Multiply, Expr::Var(x), Expr::Var(x));
        let below = program.label(Expr::less(square, Expr::Const(90_000)));
        let site = program.out_of_range_site(name, None);
        program.command(Command {
            name: name.into(),
            guards: vec![below],
            body: vec![Statement::assign(
                x,
                Expr::plus(Expr::Var(x), Expr::Const(1)),
                site,
            )],
            ..Command::default()
        });
        both.push(program.label(Expr::equal(Expr::Var(x), Expr::Const(there))));
    }
    let z = program.variable(Variable::integer("z", 0, 1 << 30, 0));
    let site = program.out_of_range_site("z", None);
    program.command(Command {
        name: "z".into(),
        guards: both,
        body: vec![Statement::assign(z, Expr::Const(value), site)],
        ..Command::default()
    });
    Arc::new(Model::new(program).expect("a small program"))
}

/// A value that no state of the sample has needs more bits; the search notices, and begins again. Where more
/// bits cost nothing, they are there.
#[test]
fn values_beyond_the_sample_are_noticed() {
    let Some(device) = device() else {
        return;
    };
    for (value, compilations) in [(1 << 20, 2..=3), (12, 1..=1)] {
        let model = counters(value);
        let expected = reference(&model, &[Target::Deadlock], 200_000).expect("few states");
        let compiled = Engine::new(&device)
            .takes(&model, &[Target::Deadlock])
            .expect("it is simple");
        let outcome = compiled
            .run(&device, &Options::default())
            .expect("there is memory");
        assert_eq!(found(&outcome, &[Target::Deadlock]), expected);
        assert!(compilations.contains(&compiled.compilations()), "{value}");
    }
}

/// Random formulas about random programs: the same answers as on a processor, and runs that are what they
/// should be.
fn temporal_properties(seeds: std::ops::Range<u64>, generate: fn(u64) -> stubborn_ir::Program) {
    let Some(device) = device() else {
        return;
    };
    let (mut held, mut violated) = (0, 0);
    for seed in seeds {
        let mut program = generate(seed);
        let mut random = Random::new(seed);
        // Whatever a model says of itself, and where some process is.
        for process in program.processes.clone().iter().take(2) {
            let here = stubborn_ir::Expr::Var(process.counter);
            program.label(stubborn_ir::Expr::equal(here, stubborn_ir::Expr::Const(0)));
        }
        let model = Arc::new(Model::new(program).expect("a well-formed program"));
        let labels = model.structure().labels.len();
        if labels == 0 || reference(&model, &[], 2_000).is_none() {
            continue;
        }
        let mut formulas = Formulas::new();
        let formula = random.formula(&mut formulas, 3, 4);
        let names = formulas.names().len();
        let chosen = (0..names)
            .map(|_| LabelId::new(random.below(labels)))
            .collect();
        let Ok(property) = Property::from_formula(formulas, formula, chosen, &Default::default())
        else {
            continue;
        };
        let Ok(watch) = Watch::new(property.automaton(), property.labels(), true) else {
            continue;
        };
        let expected = Check::new(&*model, &property)
            .run()
            .expect("a small system");
        let found = match Engine::new(&device)
            .takes_product(&model, &watch)
            .and_then(|compiled| compiled.cycles(&device, &Options::default()))
        {
            Ok(found) => found,
            Err(Failure::Refused(_) | Failure::TooLong) => continue,
            Err(other) => panic!("seed {seed}: {other}"),
        };
        match expected.verdict {
            CheckVerdict::Holds => {
                assert_eq!(found.end, End::Complete, "seed {seed}");
                assert_eq!(found.outcome.states, expected.counts.states, "seed {seed}");
                held += 1;
            }
            CheckVerdict::Violated => {
                assert_eq!(found.end, End::Violation, "seed {seed}");
                let lasso = found.lasso.expect("there is time");
                Counterexample::confirmed(&*model, &property, lasso.states, lasso.cycle_start)
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                violated += 1;
            }
            CheckVerdict::Unknown(limit) => panic!("seed {seed}: {limit:?}"),
        }
    }
    eprintln!("{held} hold, {violated} are violated");
    assert!(
        held > 1 && violated > 1,
        "{held} hold, {violated} are violated"
    );
}

#[test]
fn temporal_properties_agree() {
    temporal_properties(0..9, random_program);
    temporal_properties(0..8, random_chains);
}

#[test]
#[ignore = "long: more random formulas"]
fn more_temporal_properties_agree() {
    temporal_properties(1_000..1_400, random_program);
    temporal_properties(1_000..1_400, random_chains);
}
