//! Every algorithm keeps every deadlock of every model of the corpus. Reduced searches find
//! no state that is none, so that equal numbers are equal sets. And deletion is minimal at
//! states of the corpus.
//!
//! The long tests can be run in pieces, by variables of the environment:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `STUBBORN_LEAST_STATES`, `STUBBORN_MOST_STATES` | models with so many states |
//! | `STUBBORN_ALGORITHMS` | only these, such as `beam,deletion` |
//! | `STUBBORN_SWEEP_SECONDS` | start no model after so long |
//! | `STUBBORN_RUN_SECONDS` | give up a reduced search after so long; the log says which |
//! | `STUBBORN_SWEEP_LOG` | a file that remembers what was compared; it is not compared again |

use crate::corpus;

use std::collections::HashSet;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use stubborn::reduce::validate::sets::ask;
use stubborn::reduce::{Aim, Algorithm, Config, Delete, Plan, StubbornReduction};
use stubborn::search::Search;
use stubborn::system::{
    BitSet, Executor, Random, Reduction, RelationLevel, Relations, Successors, System, TransitionId,
};
use stubborn::{End, Language, Limit, Limits, LoadOptions, LoadedModel, Stop};

/// Searches; states and deadlocks, or why it ended before.
fn explore(
    system: &dyn System,
    reduction: Option<&dyn Reduction>,
    limits: Limits<'_>,
) -> Result<(u64, u64), End> {
    let search = Search {
        reduction,
        stop: Stop::Never,
        limits,
        ..Search::new(system)
    };
    let result = search.run().expect("it runs");
    match result.end {
        End::Complete => Ok((result.states, result.deadlocks)),
        end => Err(end),
    }
}

/// Local sets are grown from every enabled transition, and every member that is added asks anew
/// what is in reach: in a dense net with more transitions than this, a quarter of a second for
/// each state and more (GlobalResAllocation-COL-03: 4,791 transitions, 168 enabled).
const MOST_FOR_LPOR: usize = 4_000;

/// Explores a model in full and by all algorithms asked for; `None` if its size is not asked for.
fn compare(
    model: &LoadedModel,
    level: RelationLevel,
    sweep: &Sweep,
    wrong: &mut Vec<String>,
) -> Option<String> {
    let system = model.system();
    let limits = Limits {
        states: Some(sweep.most),
        ..Limits::default()
    };
    let (full, deadlocks) = explore(system, None, limits).ok()?;
    if model.system().budget().is_outgrown() || full < sweep.least {
        return None;
    }
    let relations = system.relations(level);
    let mut compared = format!("{full} states, {deadlocks} deadlocks");
    for algorithm in &sweep.algorithms {
        if *algorithm == Algorithm::Lpor && system.structure().transitions.len() > MOST_FOR_LPOR {
            eprintln!("{} is left out for {}", algorithm.name(), model.name());
            compared += &format!(", {} left out", algorithm.name());
            continue;
        }
        for weak in [false, true] {
            let config = Config {
                weak,
                ..Config::new(*algorithm)
            };
            let Ok(plan) = Plan::new(&config, Aim::Deadlocks) else {
                continue;
            };
            // Nets have no processes to make ample sets of.
            let Ok(reduction) = StubbornReduction::new(system, &relations, plan) else {
                continue;
            };
            let name = reduction.name();
            let limits = Limits {
                time: sweep.longest_run,
                ..limits
            };
            match explore(system, Some(&reduction), limits) {
                Ok((states, found)) if states <= full && found == deadlocks => {
                    compared += &format!(", {name} {states}");
                }
                Err(End::Limit(Limit::Time)) => compared += &format!(", {name} given up"),
                found => wrong.push(format!(
                    "{} {level:?} {name}: {found:?}, full {full} {deadlocks}",
                    model.name()
                )),
            }
        }
    }
    Some(compared)
}

/// What a long test compares.
struct Sweep {
    least: u64,
    most: u64,
    algorithms: Vec<Algorithm>,
    ends: Option<Instant>,
    longest_run: Option<Duration>,
    log: Option<PathBuf>,
}

impl Sweep {
    /// Models with at most so many states, every algorithm.
    fn up_to(most: u64) -> Self {
        Self {
            least: 0,
            most,
            algorithms: every_algorithm().collect(),
            ends: None,
            longest_run: None,
            log: None,
        }
    }

    /// What the environment says, and else models with at most so many states.
    fn asked_for(most: u64) -> Self {
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        let seconds = |name: &str| number(name).map(Duration::from_secs);
        let named = |list: String| {
            let is_named = |a: &Algorithm| list.split(',').any(|name| name == a.name());
            every_algorithm().filter(is_named).collect()
        };
        Self {
            least: number("STUBBORN_LEAST_STATES").unwrap_or(0),
            most: number("STUBBORN_MOST_STATES").unwrap_or(most),
            algorithms: text("STUBBORN_ALGORITHMS")
                .map_or_else(|| every_algorithm().collect(), named),
            ends: seconds("STUBBORN_SWEEP_SECONDS").map(|time| Instant::now() + time),
            longest_run: seconds("STUBBORN_RUN_SECONDS"),
            log: text("STUBBORN_SWEEP_LOG").map(PathBuf::from),
        }
    }

    /// Models that need not be looked at again.
    fn done(&self) -> HashSet<String> {
        let text = self.log.as_ref().map(std::fs::read_to_string);
        let text = text.and_then(Result::ok).unwrap_or_default();
        let name = |line: &str| line.split('\t').next().map(str::to_owned);
        text.lines().filter_map(name).collect()
    }

    /// Compares models, as many at a time as there are cores: what is wrong, how many were compared, and
    /// how many are left because the time was over.
    fn all(&self, paths: Vec<PathBuf>) -> (Vec<String>, usize, usize) {
        let next = Mutex::new(paths.into_iter());
        let found = Mutex::new((Vec::new(), 0, 0));
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(|| {
                    loop {
                        let path = next.lock().expect("no other failed").next();
                        let Some(path) = path else { return };
                        if self.ends.is_some_and(|ends| Instant::now() > ends) {
                            found.lock().expect("no other failed").2 += 1;
                            continue;
                        }
                        let (wrong, is_compared) = self.one(&path);
                        let mut found = found.lock().expect("no other failed");
                        found.0.extend(wrong);
                        found.1 += usize::from(is_compared);
                    }
                });
            }
        });
        found.into_inner().expect("none failed")
    }

    /// Compares a model: what is wrong, and whether it is of the size asked for.
    fn one(&self, path: &Path) -> (Vec<String>, bool) {
        // Whether each model can be loaded is tested elsewhere.
        let Ok(mut model) = stubborn::load_file(path, None, &LoadOptions::default()) else {
            return (Vec::new(), false);
        };
        let mut wrong = Vec::new();
        let mut result = compare(&model, RelationLevel::Reach, self, &mut wrong);
        while model.system().budget().is_outgrown() {
            model.grow().expect("it grows");
            result = compare(&model, RelationLevel::Reach, self, &mut wrong);
        }
        if wrong.is_empty() {
            self.note(path, result.as_deref());
        }
        (wrong, result.is_some())
    }

    fn note(&self, path: &Path, compared: Option<&str>) {
        let Some(log) = &self.log else { return };
        let mut log = std::fs::File::options()
            .append(true)
            .create(true)
            .open(log)
            .expect("the log can be written");
        let compared = compared.unwrap_or("not of that size");
        // In one piece, because others write too.
        let line = format!("{}\t{compared}\n", path.display());
        log.write_all(line.as_bytes())
            .expect("the log can be written");
    }
}

/// All algorithms for deadlocks.
fn every_algorithm() -> impl Iterator<Item = Algorithm> {
    let all = Algorithm::ALL.iter().copied();
    all.filter(|a| *a != Algorithm::Goal)
}

/// All files of a folder that are models, in order.
fn models_in(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            models_in(&path, into);
        } else if Language::of_path(&path).is_some() {
            into.push(path);
        }
    }
}

/// The DVE models of the sizes asked for, small ones first; their sizes are known.
fn dve_models(root: &Path, sweep: &Sweep) -> Vec<PathBuf> {
    let table = std::fs::read_to_string(root.join("beem/EXPECTED.tsv")).expect("the table");
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let instance = columns.next()?.to_owned();
        let states: u64 = columns.next()?.parse().ok()?;
        (sweep.least..=sweep.most)
            .contains(&states)
            .then_some((states, instance))
    };
    let mut rows: Vec<(u64, String)> = table.lines().filter_map(row).collect();
    rows.sort();
    let path = |(_, instance): (u64, String)| root.join(format!("beem/models/{instance}.dve"));
    rows.into_iter().map(path).collect()
}

/// Compares all models of a folder with at most `most` states, or what the environment says.
fn sweep(folder: &str, most: u64, least_models: usize) {
    let Some(root) = stubborn_corpus::folder("") else {
        return;
    };
    let sweep = Sweep::asked_for(most);
    let mut paths = Vec::new();
    if folder == "beem" {
        paths = dve_models(&root, &sweep);
    } else {
        models_in(&root.join(folder), &mut paths);
    }
    let done = sweep.done();
    paths.retain(|path| !done.contains(&path.display().to_string()));
    let (wrong, compared, left) = sweep.all(paths);
    eprintln!(
        "{compared} models of {folder} with {} to {} states compared, {} before, {left} left",
        sweep.least,
        sweep.most,
        done.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    let in_pieces = sweep.log.is_some() || sweep.ends.is_some();
    assert!(
        in_pieces || compared >= least_models,
        "only {compared} models"
    );
}

#[test]
fn deadlocks_of_tiny_dve_models_are_kept() {
    let Some(root) = stubborn_corpus::folder("") else {
        return;
    };
    let mut wrong = Vec::new();
    for instance in [
        "phils.1",
        "phils.3",
        "mcs.2",
        "fischer.1",
        "needham.1",
        "bakery.2",
        "train-gate.1",
        "firewire_tree.1",
        "public_subscribe.1",
        "telephony.1",
        "anderson.2",
    ] {
        let model = corpus::load(&root.join(format!("beem/models/{instance}.dve")));
        let sweep = Sweep::up_to(2_000);
        assert!(compare(&model, RelationLevel::Syntax, &sweep, &mut wrong).is_some());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "long: every algorithm on DVE models; STUBBORN_MOST_STATES sets the bound"]
fn deadlocks_of_dve_models_are_kept() {
    sweep("beem", 40_000, 60);
}

#[test]
#[ignore = "long: every algorithm on Promela models; STUBBORN_MOST_STATES sets the bound"]
fn deadlocks_of_promela_models_are_kept() {
    sweep("promela", 20_000, 30);
}

#[test]
#[ignore = "long: every algorithm on nets; STUBBORN_MOST_STATES sets the bound"]
fn deadlocks_of_nets_are_kept() {
    sweep("pnml", 20_000, 20);
}

/// What lemma 1 of Laarman et al. (2014) says about sets at one state.
struct Lemma<'a> {
    system: &'a dyn System,
    relations: &'a Relations,
    labels: BitSet,
    enabled: BitSet,
    weak: bool,
}

impl Lemma<'_> {
    /// The largest set without `excluded` whose members have what they need, and whether it
    /// has a key. Such sets are closed under union, so that there is a largest one.
    fn largest_without(&self, excluded: &BitSet) -> (BitSet, bool) {
        let structure = self.system.structure();
        let mut set = BitSet::new(structure.transitions.len());
        set.fill();
        for t in excluded.iter() {
            set.remove(t);
        }
        loop {
            let leaving = structure
                .transition_ids()
                .filter(|t| set.contains(t.index()) && !self.is_supported(*t, &set));
            let leaving: Vec<TransitionId> = leaving.collect();
            if leaving.is_empty() {
                let is_key = |t: usize| {
                    let row = self
                        .relations
                        .do_not_accord
                        .0
                        .row_indices(TransitionId::new(t));
                    row.iter().all(|u| set.contains(*u as usize))
                };
                let key = self.enabled.iter().any(|t| set.contains(t) && is_key(t));
                return (set, key);
            }
            leaving.iter().for_each(|t| set.remove(t.index()));
        }
    }

    fn is_supported(&self, t: TransitionId, set: &BitSet) -> bool {
        let relations = self.relations;
        let inside = |row: &[u32]| row.iter().all(|u| set.contains(*u as usize));
        if self.enabled.contains(t.index()) {
            return inside(relations.do_not_accord.0.row_indices(t))
                || self.weak && inside(relations.do_not_left_accord.0.row_indices(t));
        }
        let guards = &self.system.structure().transition(t).guards;
        guards.iter().any(|g| {
            let mut excluding = relations.never_together.0.row(*g);
            let excluded = excluding.any(|h| {
                self.labels.contains(h.index()) && inside(relations.may_disable.0.row_indices(h))
            });
            excluded
                || !self.labels.contains(g.index())
                    && inside(relations.may_enable.0.row_indices(*g))
        })
    }
}

/// States on random walks.
fn walk(system: &dyn System, executor: &mut dyn Executor, count: usize) -> Vec<Vec<u32>> {
    let words = system.layout().words();
    let mut random = Random::new(7);
    let mut states = Vec::new();
    let mut state = system.initial_states()[..words].to_vec();
    let mut successors = Successors::new(words);
    for step in 0..10 * count {
        successors.clear();
        executor.successors(&state, &mut successors);
        if successors.is_empty() || step % 97 == 96 {
            state = system.initial_states()[..words].to_vec();
            continue;
        }
        if step % 5 == 0 && successors.len() > 1 {
            states.push(state.clone());
        }
        let pick = random.below(successors.len());
        state.copy_from_slice(successors.state(pick));
        if states.len() == count {
            break;
        }
    }
    states
}

/// No set with fewer of the same enabled transitions satisfies the lemma: without one of the
/// kept transitions and all that were left out, the largest set that is supported has no key.
#[test]
fn deletion_is_minimal_at_states_of_the_corpus() {
    let Some(root) = stubborn_corpus::folder("") else {
        return;
    };
    let mut checked = 0;
    for (at, instance) in [
        "phils.3",
        "mcs.2",
        "iprotocol.1",
        "bopdp.1",
        "needham.2",
        "anderson.4",
        "szymanski.1",
        "lann.2",
        "cambridge.1",
        "peterson.1",
    ]
    .iter()
    .enumerate()
    {
        let model = corpus::load(&root.join(format!("beem/models/{instance}.dve")));
        let system = model.system();
        let relations = system.relations(RelationLevel::Syntax);
        let weak = at % 2 == 1;
        let config = Config {
            weak,
            delete: Some(Delete::ALL[at % 4]),
            ..Config::new(Algorithm::Deletion)
        };
        let plan = Plan::new(&config, Aim::Deadlocks).expect("it is allowed");
        let reduction = StubbornReduction::new(system, &relations, plan).expect("relations fit");
        let mut reducer = reduction.reducer();
        let mut executor = system.executor();
        for state in walk(system, executor.as_mut(), 120) {
            let (kept, _) = ask(system, executor.as_mut(), reducer.as_mut(), &state);
            let transitions = system.structure().transitions.len();
            let mut successors = Successors::new(state.len());
            executor.successors(&state, &mut successors);
            let mut lemma = Lemma {
                system,
                relations: &relations,
                labels: BitSet::new(system.structure().labels.len()),
                enabled: BitSet::new(transitions),
                weak,
            };
            executor.labels(&state, &mut lemma.labels);
            for t in successors.transitions() {
                lemma.enabled.insert(t.index());
            }
            let mut excluded = lemma.enabled.clone();
            kept.iter().for_each(|t| excluded.remove(t));
            let (largest, key) = lemma.largest_without(&excluded);
            assert!(key, "{instance}: what was kept satisfies the lemma");
            assert!(kept.iter().all(|t| largest.contains(t)), "{instance}");
            for t in kept.iter() {
                excluded.insert(t);
                let (_, key) = lemma.largest_without(&excluded);
                assert!(!key, "{instance}: {t} could be left out");
                excluded.remove(t);
            }
            checked += 1;
        }
    }
    assert!(checked >= 1_000, "{checked}");
}
