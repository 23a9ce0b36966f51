//! Random systems × random formulas × every proviso × every emptiness check, against an
//! explicit product without any of this crate's code.

use std::collections::HashMap;

use stubborn_emptiness::{
    Check, CheckResult, CheckVerdict, CycleProviso, Emptiness, FiniteRuns, Fitting, Property,
    PutBack, ReductionOff, ReductionRequest, ReductionUse, SteeringMode, StickyReduction,
    sticky_transitions,
};
use stubborn_graph::components;
use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::formula::{Formula, Formulas, Node};
use stubborn_ltl::guard::Guard;
use stubborn_ltl::random::Random;
use stubborn_ltl::stutter::normalise_stutter;
use stubborn_ltl::translate::{TranslationOptions, translate};
use stubborn_reduce::testing::exact::{relations_over, weaken};
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::{Aim, Algorithm, Config, Plan, StubbornReduction, Visibility};
use stubborn_system::{BitSet, LabelId, Reduction, Relations, Successors, System, Transition};

use automata::random_automaton;
use length::length;
use loose::{fading_system, independent_system, loose_system};
use oracle::{Step, accepts_some_run, shortest_lasso};

use crate::automata;
use crate::length;
use crate::loose;
use crate::oracle;

/// Whether the automaton accepts a run of the system, by building all of the product.
fn is_violated(
    system: &dyn System,
    automaton: &Automaton,
    labels: &[LabelId],
    finite_runs: FiniteRuns,
) -> bool {
    accepts_some_run(system, automaton, labels, |state, successors| {
        let step = |target: &[u32]| (target.to_vec(), Vec::new());
        let mut steps: Vec<Step> = successors.iter().map(|s| step(s.state)).collect();
        if steps.is_empty() && finite_runs == FiniteRuns::Stutter {
            steps.push(step(state));
        }
        steps
    })
}

/// What happened in many checks.
#[derive(Default, Debug)]
struct Tally {
    violated: usize,
    holding: usize,
    reduced: usize,
    /// Reduced checks of properties that hold in products of some size, and those with a smaller product.
    comparable: usize,
    smaller: usize,
    /// Counterexamples for which there is a short one, and those that are the shortest.
    short: usize,
    shortest: usize,
    off: HashMap<String, usize>,
    sound: HashMap<String, usize>,
}

impl Tally {
    /// Compares the length of a counterexample with the shortest there is, if that is short.
    fn measured(
        &mut self,
        system: &dyn System,
        property: &Property,
        finite_runs: FiniteRuns,
        found: Option<(usize, usize)>,
    ) {
        const LONGEST: usize = 3;
        let Some(found) = found else { return };
        let stutters = finite_runs == FiniteRuns::Stutter;
        if let Some(shortest) = shortest_lasso(system, property, stutters, LONGEST) {
            assert!(found >= shortest, "{found:?} {shortest:?}");
            self.short += 1;
            self.shortest += usize::from(found == shortest);
        } else {
            assert!(found.0 > LONGEST);
        }
    }
}

/// A way to reduce.
type Choice = (Algorithm, CycleProviso, Fitting, SteeringMode);

fn compare(
    what: &str,
    system: &dyn System,
    relations: &Relations,
    property: &Property,
    choices: &[Choice],
    tally: &mut Tally,
) {
    // Either meaning of runs that end, at random.
    let finite_runs = match what.bytes().map(usize::from).sum::<usize>() % 3 {
        0 => FiniteRuns::Ignore,
        _ => FiniteRuns::Stutter,
    };
    let violated = is_violated(system, property.automaton(), property.labels(), finite_runs);
    let expected = match violated {
        true => CheckVerdict::Violated,
        false => CheckVerdict::Holds,
    };
    *match violated {
        true => &mut tally.violated,
        false => &mut tally.holding,
    } += 1;
    for emptiness in Emptiness::ALL {
        let check = Check {
            emptiness,
            finite_runs,
            // Most have some states that no accepting cycle goes through.
            depth_first: what.bytes().map(u64::from).sum::<u64>() % 5 % 4 * 3,
            ..Check::new(system, property)
        };
        let full = check.run().unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(full.verdict, expected, "{what} {emptiness:?}");
        assert_eq!(full.counterexample.is_some(), violated, "{what}");
        let depth_first = Check {
            depth_first: u64::MAX,
            ..check.clone()
        };
        let slow = depth_first.run().unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(slow.verdict, expected, "{what} {emptiness:?}, depth first");
        if !violated {
            let size = |result: &CheckResult| (result.counts.states, result.counts.transitions);
            assert_eq!(size(&full), size(&slow), "{what} {emptiness:?}");
        }
        let length = |result: &CheckResult| {
            let trace = result.counterexample.as_ref().map(|found| &found.trace);
            trace.map(|trace| (trace.len(), trace.cycle().len()))
        };
        tally.measured(system, property, finite_runs, length(&full));
        let together = Check {
            threads: 3,
            ..check.clone()
        };
        let full = together.run().unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(
            full.verdict, expected,
            "{what} {emptiness:?}, three threads"
        );
        tally.measured(system, property, finite_runs, length(&full));
        // Where no violation is as near as that, one is made of what the search has seen.
        let few = what.bytes().map(u64::from).sum::<u64>() % 7;
        for threads in [1, 3] {
            let far = Check {
                threads,
                near: few..=few,
                ..check.clone()
            };
            let far = far.run().unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(far.verdict, expected, "{what} {emptiness:?}");
            assert_eq!(far.counterexample.is_some(), violated, "{what}");
        }
        // The last part is relaxed visibility.
        let variants = [
            (Visibility::Vi, PutBack::All, false),
            (Visibility::Vi, PutBack::All, true),
            (Visibility::C2, PutBack::All, false),
            (Visibility::C2, PutBack::All, true),
            (Visibility::Vi, PutBack::Visible, false),
            (Visibility::C2, PutBack::Visible, false),
        ];
        let ways = choices.iter().enumerate().flat_map(|(number, choice)| {
            // The classic ways have variants.
            let count = match choice.3 {
                SteeringMode::Off => variants.len(),
                SteeringMode::Mixed => 2,
                SteeringMode::Only => 1,
            };
            variants[..count]
                .iter()
                .map(move |variant| (number, choice, variant))
        });
        for (number, choice, (visibility, expansion, relaxed)) in ways {
            let (algorithm, proviso, fitting, steering) = choice;
            let is_near = (number as u64 + few).is_multiple_of(2);
            let check = Check {
                near: match is_near {
                    true => check.near.clone(),
                    false => few..=few,
                },
                steering: *steering,
                expansion: *expansion,
                relaxed_visibility: *relaxed,
                threads: if number == 0 { 3 } else { 1 },
                reduction: Some(ReductionRequest {
                    config: Config {
                        visibility: *visibility,
                        ..Config::new(*algorithm)
                    },
                    relations,
                    proviso: *proviso,
                    fitting: *fitting,
                }),
                ..check.clone()
            };
            let name = format!(
                "{what} {emptiness:?} {algorithm} {proviso} {steering:?} {visibility} {expansion:?} \
                 relaxed {relaxed}"
            );
            let reduced = check.run().unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(reduced.verdict, expected, "{name} {:?}", reduced.reduction);
            assert_eq!(reduced.counterexample.is_some(), violated, "{name}");
            // What is left out does not make counterexamples longer.
            let found = length(&reduced).filter(|_| is_near);
            tally.measured(system, property, finite_runs, found);
            match &reduced.reduction {
                ReductionUse::On { soundness, .. } => {
                    tally.reduced += 1;
                    *tally.sound.entry(format!("{soundness:?}")).or_default() += 1;
                    if !violated && full.counts.states > 20 {
                        tally.comparable += 1;
                        tally.smaller += usize::from(reduced.counts.states < full.counts.states);
                    }
                }
                ReductionUse::Off(why) => {
                    *tally.off.entry(why.to_string()).or_default() += 1;
                    let expected = matches!(
                        why,
                        ReductionOff::StutterSensitive | ReductionOff::StutteringUnknown
                    );
                    assert!(expected, "{name}: {why}");
                }
            }
        }
    }
}

/// A combination of formulas as people write them, without `X`.
fn usual_formula(
    random: &mut Random,
    formulas: &mut Formulas,
    propositions: usize,
    depth: u32,
) -> Formula {
    if depth > 0 && random.below(3) == 0 {
        let left = usual_formula(random, formulas, propositions, depth - 1);
        let right = usual_formula(random, formulas, propositions, depth - 1);
        return formulas.make(match random.below(3) {
            0 => Node::And(left, right),
            1 => Node::Or(left, right),
            _ => Node::Implies(left, right),
        });
    }
    let literal = |random: &mut Random, formulas: &mut Formulas| {
        let atom = formulas.atom(&format!("p{}", random.below(propositions)));
        match random.below(2) {
            0 => formulas.not(atom),
            _ => atom,
        }
    };
    let (p, q) = (literal(random, formulas), literal(random, formulas));
    let (ever_p, ever_q) = (
        formulas.make(Node::Finally(p)),
        formulas.make(Node::Finally(q)),
    );
    let always_p = formulas.make(Node::Globally(p));
    match random.below(6) {
        0 => formulas.make(Node::Globally(ever_p)),
        1 => formulas.make(Node::Finally(always_p)),
        2 => {
            let answered = formulas.make(Node::Implies(p, ever_q));
            formulas.make(Node::Globally(answered))
        }
        3 => formulas.make(Node::Until(p, q)),
        4 => {
            let later = formulas.make(Node::And(p, ever_q));
            formulas.make(Node::Finally(later))
        }
        _ => formulas.make(Node::WeakUntil(p, q)),
    }
}

const STEERING: [SteeringMode; 3] = [SteeringMode::Off, SteeringMode::Mixed, SteeringMode::Only];

/// States in a row that wait for one thing after the other, now and then with a way back.
fn chain_automaton(random: &mut Random, propositions: usize) -> Automaton {
    let names = (0..propositions).map(|p| format!("p{p}")).collect();
    let mut draft = Draft::new(names, 1);
    let states = 2 + random.below(3);
    while draft.edges.len() < states {
        draft.add_state();
    }
    let guard = |draft: &mut Draft, random: &mut Random, literals: usize| {
        let mut guard = Guard::TRUE;
        for _ in 0..literals {
            let variable = random.below(propositions) as u32;
            let literal = draft.guards.literal(variable, random.below(2) == 0);
            guard = draft.guards.and(guard, literal);
        }
        guard
    };
    for state in 0..states {
        let last = state + 1 == states;
        let literals = [0, 1, 1, 2][random.below(4)];
        let wait = guard(&mut draft, random, literals);
        let is_accepting = last || random.below(6) == 0;
        draft.edges[state].push(Edge {
            guard: wait,
            target: StateId(state as u32),
            marks: Marks(u32::from(is_accepting && random.below(4) > 0)),
        });
        for _ in 0..1 + random.below(2) {
            let literals = 1 + random.below(2);
            let target = match random.below(6) {
                0 => random.below(states),
                _ => (state + 1).min(states - 1),
            };
            let event = guard(&mut draft, random, literals);
            draft.edges[state].push(Edge {
                guard: event,
                target: StateId(target as u32),
                marks: Marks(u32::from(target <= state && random.below(2) == 0)),
            });
        }
    }
    draft.finish()
}

/// Systems in which nearly everything commutes, with automata in which nearly every order
/// matters: sets are small, and what they must not do is tried.
fn run_chains(seeds: std::ops::Range<u64>) {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed + 1);
        let system = independent_system(&mut random, 3);
        let count = system.structure().labels.len();
        let labels: Vec<LabelId> = (count - 3..count).map(LabelId::new).collect();
        let relations = relations_over(&system, &system.all_states());
        for _ in 0..6 {
            let automaton = chain_automaton(&mut random, 3);
            let property = Property::from_automaton(automaton, labels.clone());
            let expected = is_violated(
                &system,
                property.automaton(),
                property.labels(),
                FiniteRuns::default(),
            );
            for mode in &STEERING[1..] {
                let check = Check {
                    steering: *mode,
                    reduction: Some(ReductionRequest {
                        config: Config::new(Algorithm::Beam),
                        relations: &relations,
                        proviso: CycleProviso::default(),
                        fitting: Fitting::ByState,
                    }),
                    ..Check::new(&system, &property)
                };
                let result = check.run().unwrap_or_else(|e| panic!("chain {seed}: {e}"));
                let violated = result.verdict == CheckVerdict::Violated;
                assert_eq!(violated, expected, "chain on system {seed}, {mode:?}");
            }
            *match expected {
                true => &mut tally.violated,
                false => &mut tally.holding,
            } += 1;
        }
    }
    eprintln!("{tally:?}");
    assert!(tally.violated > 50 && tally.holding > 50, "{tally:?}");
}

#[test]
fn orders_that_matter_are_kept() {
    run_chains(0..60);
}

#[test]
#[ignore = "long: many random systems with six automata each"]
fn orders_that_matter_are_kept_at_length() {
    run_chains(10_000..10_000 + 1_200 * length());
}

/// Components with several ways in, from states that are left at once, and states in them that
/// wait and enter each other on the same letters, with marks on edges: there is always another
/// short cut, and what a run collects it collects on the way round.
fn entangled_automaton(random: &mut Random, propositions: usize) -> Automaton {
    let names = (0..propositions).map(|p| format!("p{p}")).collect();
    let sets = 1 + random.below(3) as u32;
    let mut draft = Draft::new(names, sets);
    let (before, inside) = (1 + random.below(2), 2 + random.below(2));
    let states = before + inside;
    while draft.edges.len() < states {
        draft.add_state();
    }
    // Few letters, so that many edges share one.
    let variable = random.below(propositions) as u32;
    let usual = draft.guards.literal(variable, random.below(4) > 0);
    let other = (variable + 1) % propositions as u32;
    let other = draft.guards.literal(other, random.below(2) == 0);
    let both = draft.guards.and(usual, other);
    let letters = [usual, usual, usual, usual, other, both, Guard::TRUE];
    let mut add = |from: usize, guard: Guard, to: usize, marks: usize| {
        draft.edges[from].push(Edge {
            guard,
            target: StateId(to as u32),
            marks: Marks(marks as u32 & Marks::all(sets).0),
        });
    };
    for state in 0..before {
        let next = state + 1;
        for target in next..states {
            if target == next || random.below(4) > 0 {
                add(state, letters[random.below(7)], target, 0);
            }
        }
    }
    for state in before..states {
        let wait = [Guard::TRUE, Guard::TRUE, other, usual][random.below(4)];
        let marks = random.below(8) & random.below(8) & random.below(8);
        add(state, wait, state, marks);
        for target in before..states {
            if random.below(4) > usize::from(target == state) * 2 {
                let marks = random.below(8) & random.below(8);
                add(state, letters[random.below(7)], target, marks);
            }
        }
    }
    draft.finish()
}

/// Every way to steer and every emptiness check.
fn run_entangled(seeds: std::ops::Range<u64>) {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed + 1);
        let system = match seed % 8 {
            0 => loose_system(&mut random),
            1 => independent_system(&mut random, 2),
            _ => fading_system(&mut random, 2),
        };
        let count = system.structure().labels.len();
        let labels: Vec<LabelId> = (count - 2..count).map(LabelId::new).collect();
        let exact = relations_over(&system, &system.all_states());
        let relations = match seed % 3 {
            0 => weaken(&exact, &mut stubborn_system::Random::new(seed), 10),
            _ => exact,
        };
        for number in 0..6 {
            let automaton = entangled_automaton(&mut random, 2);
            let property = Property::from_automaton(automaton, labels.clone());
            let finite_runs = [FiniteRuns::Stutter, FiniteRuns::Ignore][random.below(2)];
            let expected = is_violated(&system, property.automaton(), &labels, finite_runs);
            *match expected {
                true => &mut tally.violated,
                false => &mut tally.holding,
            } += 1;
            // What is found is replayed: only what is violated can be got wrong.
            let modes = if expected || number == 0 {
                &STEERING[..]
            } else {
                &[]
            };
            for (steering, emptiness) in modes.iter().flat_map(|m| Emptiness::ALL.map(|e| (*m, e)))
            {
                let mut config = Config::new(Algorithm::Beam);
                config.weak = random.below(3) == 0;
                let check = Check {
                    steering,
                    emptiness,
                    finite_runs,
                    relaxed_visibility: random.below(4) == 0,
                    threads: if random.below(32) == 0 { 3 } else { 1 },
                    reduction: Some(ReductionRequest {
                        config,
                        relations: &relations,
                        proviso: CycleProviso::default(),
                        fitting: Fitting::ByState,
                    }),
                    ..Check::new(&system, &property)
                };
                let result = check.run().unwrap_or_else(|e| panic!("system {seed}: {e}"));
                let violated = result.verdict == CheckVerdict::Violated;
                let how = format!("{steering:?} {emptiness:?} {:?}", result.reduction);
                assert_eq!(
                    violated, expected,
                    "entangled on system {seed}.{number}: {how}"
                );
                if let ReductionUse::On { soundness, .. } = result.reduction {
                    *tally.sound.entry(format!("{soundness:?}")).or_default() += 1;
                }
            }
        }
    }
    eprintln!("{tally:?}");
    assert!(tally.violated > 50 && tally.holding > 50, "{tally:?}");
    assert!(tally.sound["Steered"] > 50, "{tally:?}");
    assert!(tally.sound["Mixed"] > 50, "{tally:?}");
}

#[test]
fn short_cuts_that_never_end_lose_nothing() {
    run_entangled(0..150);
}

#[test]
#[ignore = "long: many random systems with six automata each"]
fn short_cuts_that_never_end_lose_nothing_at_length() {
    run_entangled(10_000..10_000 + 1_000 * length());
}

fn shape(seed: u64) -> Shape {
    Shape {
        processes: seed % 2 == 1,
        remote_counters: seed % 5 == 1,
        nondeterminism: seed.is_multiple_of(3),
        failures: seed % 7 == 3,
        priorities: seed % 11 == 5,
        loose: false,
    }
}

/// A system, labels of it to be propositions, and relations that are exact or weaker.
fn random_case(seed: u64, random: &mut Random) -> (Tiny, Vec<LabelId>, Relations) {
    let (system, of_these, propositions) = match seed % 4 {
        0 => (random::system(seed, shape(seed)), 3, 3),
        _ => (loose_system(random), 2, 1 + random.below(2)),
    };
    let first = system.structure().labels.len() - of_these;
    let labels = (first..first + propositions).map(LabelId::new).collect();
    let exact = relations_over(&system, &system.all_states());
    let relations = match seed % 3 {
        0 => weaken(&exact, &mut stubborn_system::Random::new(seed), 10),
        _ => exact,
    };
    (system, labels, relations)
}

/// Sets for the state of the automaton are sound for any automaton.
fn run_automata(seeds: std::ops::Range<u64>) {
    let cases = seeds.end - seeds.start;
    let mut tally = Tally::default();
    for seed in seeds {
        let mut random = Random::new(seed + 1);
        let (system, labels, relations) = random_case(seed, &mut random);
        let propositions = labels.len();
        for _ in 0..3 {
            let automaton = random_automaton(&mut random, propositions);
            let property = Property::from_automaton(automaton, labels.clone());
            let mode = STEERING[1 + random.below(2)];
            let proviso = CycleProviso::default();
            let choice = (Algorithm::Beam, proviso, Fitting::ByState, mode);
            let what = format!("automaton on system {seed}");
            compare(&what, &system, &relations, &property, &[choice], &mut tally);
        }
    }
    eprintln!("{tally:?}");
    assert!(tally.violated > cases as usize / 10, "{tally:?}");
    assert!(tally.holding > cases as usize / 10, "{tally:?}");
}

#[test]
fn any_automaton_can_steer() {
    run_automata(0..120);
}

#[test]
#[ignore = "long: many random systems with three automata each"]
fn any_automaton_can_steer_at_length() {
    run_automata(1_000..1_000 + 2_400 * length());
}

fn run(seeds: impl IntoIterator<Item = u64>, provisos_per_case: usize) -> Tally {
    let mut cases = 0;
    let mut provisos = CycleProviso::all_sound();
    // One of many would hardly be tried, and these are like no other.
    let strong: CycleProviso = "opt-scp".parse().expect("it is a name");
    provisos.extend([CycleProviso::STICKY; 8]);
    provisos.extend([strong; 8]);
    let algorithms = [
        Algorithm::Beam,
        Algorithm::Closure,
        Algorithm::Deletion,
        Algorithm::Clostar,
        Algorithm::Inc,
    ];
    let mut tally = Tally::default();
    for seed in seeds {
        cases += 1;
        let mut random = Random::new(seed + 1);
        let (system, labels, relations) = random_case(seed, &mut random);
        let propositions = labels.len();
        let choices: Vec<Choice> = (0..provisos_per_case)
            .map(|_| {
                let algorithm = algorithms[random.below(algorithms.len())];
                let fitting = [Fitting::ByState, Fitting::Normalise][random.below(2)];
                let proviso = provisos[random.below(provisos.len())];
                (algorithm, proviso, fitting, STEERING[random.below(3)])
            })
            .collect();
        let mut formulas = Formulas::new();
        for name in &["p0", "p1", "p2"][..propositions] {
            formulas.proposition(name);
        }
        let size = 2 + random.below(7);
        let formula = match seed % 3 {
            0 => random.formula(&mut formulas, propositions, size),
            _ => usual_formula(&mut random, &mut formulas, propositions, 2),
        };
        let options = TranslationOptions::default();
        let what = format!("system {seed}");
        if let Ok(property) =
            Property::from_formula(formulas.clone(), formula, labels.clone(), &options)
        {
            compare(&what, &system, &relations, &property, &choices, &mut tally);
        }
        // All words that are stutter-equivalent to one that satisfies the formula: a
        // stutter-invariant language, by an automaton that came from no such formula.
        if let Ok(automaton) = translate(&formulas, formula, &options)
            && automaton.state_count() <= 4
            && let Some(closed) = normalise_stutter(&automaton)
        {
            let mut draft = closed.automaton.draft();
            draft.reduce();
            let closed = draft.finish();
            let index = |name: &String| name[1..].parse::<usize>().unwrap_or(0);
            let own = closed
                .propositions()
                .iter()
                .map(|name| labels[index(name)])
                .collect();
            let property = Property::from_automaton(closed, own);
            let what = format!("closure on {what}");
            compare(
                &what,
                &system,
                &relations,
                &property,
                &choices[..2],
                &mut tally,
            );
        }
    }
    eprintln!("{tally:?}");
    assert!(tally.violated > cases / 10, "{tally:?}");
    assert!(tally.holding > cases / 10, "{tally:?}");
    tally
}

impl Tally {
    fn assert_smaller(&self) {
        assert!(self.smaller * 5 > self.comparable, "{self:?}");
    }
}

/// Systems with steps that fail: where no other step is possible, a run ends.
#[test]
fn runs_end_where_every_step_fails() {
    // Those of them in which that happens.
    let failing = (0..100_000).filter(|seed| seed % 4 == 0 && shape(*seed).failures);
    let failing =
        failing.filter(|seed| some_state_only_fails(&random::system(*seed, shape(*seed))));
    run(failing.take(12), 4);
}

/// Whether a state is reached in which there are steps, and all of them fail.
fn some_state_only_fails(system: &dyn System) -> bool {
    let mut executor = system.executor();
    let error = system.structure().error_state.as_deref();
    let mut states = vec![system.initial_states()];
    let mut next = 0;
    while let Some(state) = states.get(next).cloned() {
        next += 1;
        let mut successors = Successors::new(state.len());
        executor.successors(&state, &mut successors);
        let fine = successors.iter().filter(|s| error != Some(s.state));
        let fine: Vec<Vec<u32>> = fine.map(|s| s.state.to_vec()).collect();
        if fine.is_empty() && !successors.is_empty() {
            return true;
        }
        for state in fine {
            if !states.contains(&state) {
                states.push(state);
            }
        }
    }
    false
}

#[test]
fn reduced_verdicts_are_the_unreduced_ones() {
    let tally = run(0..100, 6);
    tally.assert_smaller();
    // The shortest lasso of the product is not always that of the system: the automaton may enter
    // its own cycle late.
    assert!(
        tally.short > 1_000 && tally.shortest * 5 > tally.short * 4,
        "{tally:?}"
    );
}

#[test]
#[ignore = "long: many random systems"]
fn reduced_verdicts_are_the_unreduced_ones_at_length() {
    run(1_000..1_000 + 1_500 * length(), 12).assert_smaller();
}

/// The tests above can fail: without proviso, violations are missed.
#[test]
fn without_proviso_violations_are_missed() {
    let missed = (0..300).filter(|seed| {
        let mut random = Random::new(seed + 1);
        let system = loose_system(&mut random);
        let count = system.structure().labels.len();
        let labels = vec![LabelId::new(count - 2), LabelId::new(count - 1)];
        let relations = relations_over(&system, &system.all_states());
        let mut formulas = Formulas::new();
        for name in ["p0", "p1"] {
            formulas.proposition(name);
        }
        let formula = usual_formula(&mut random, &mut formulas, 2, 2);
        let property = Property::from_formula(formulas, formula, labels, &Default::default());
        let property = property.expect("the formula is small");
        let check = Check {
            reduction: Some(ReductionRequest {
                config: Config::new(Algorithm::Beam),
                relations: &relations,
                proviso: CycleProviso::NONE,
                fitting: Fitting::default(),
            }),
            steering: SteeringMode::Off,
            ..Check::new(&system, &property)
        };
        let reduced = check.run().expect("what is found is real");
        let stutter = FiniteRuns::Stutter;
        let violated = is_violated(&system, property.automaton(), property.labels(), stutter);
        violated && reduced.verdict == CheckVerdict::Holds
    });
    let missed = missed.count();
    assert!(missed > 0, "none in 300 systems");
    eprintln!("{missed} violations missed");
}

/// A step of low priority comes back when nobody outranks it any more: no guard of it changes.
#[test]
fn a_step_of_low_priority_helps_itself() {
    let mut system = Tiny::new(&[2]);
    let raised = system.label("x0 = 1", &[0], |s| s[0] == 1);
    system.simple("lower", &[raised], (&[], &[0]), |s| s[0] = 0);
    let raise = system.transition(
        Transition {
            name: "raise".into(),
            writes: fields(&[0]),
            priority: 1,
            ..Transition::default()
        },
        |_| vec![Some(vec![1])],
    );
    let relations = relations_over(&system, &system.all_states());
    assert!(relations.must_disable.0.contains(raise, raise));
    assert!(!sticky_transitions(system.structure(), &relations).none());
}

/// Every cycle of a graph that is reduced with sticky transitions has a state where nothing was
/// left out.
#[test]
fn sticky_transitions_cut_all_cycles() {
    let mut reduced_states = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed + 1);
        let shape = Shape {
            processes: seed % 2 == 1,
            remote_counters: seed % 5 == 1,
            nondeterminism: seed % 3 == 0,
            failures: false,
            priorities: seed % 11 == 5,
            loose: false,
        };
        let system = match seed % 3 {
            0 => random::system(seed, shape),
            _ => loose_system(&mut random),
        };
        let relations = relations_over(&system, &system.all_states());
        let aim = Aim::Traces {
            labels: Vec::new(),
            infinite: true,
        };
        let plan = Plan::new(&Config::new(Algorithm::Beam), aim).expect("it goes with LTL");
        let inner = StubbornReduction::new(&system, &relations, plan).expect("it is simple");
        let sticky = StickyReduction::new(&inner, system.structure(), &relations);
        let mut reducer = sticky.reducer();
        let mut executor = system.executor();
        let mut numbers: HashMap<Vec<u32>, u32> = HashMap::from([(system.initial_states(), 0)]);
        let mut states = vec![system.initial_states()];
        // For each state, where it leads; nothing if all was kept.
        let mut reduced: Vec<Vec<u32>> = Vec::new();
        while reduced.len() < states.len() {
            let state = states[reduced.len()].clone();
            let mut successors = Successors::new(system.layout().words());
            executor.successors(&state, &mut successors);
            let mut kept = BitSet::new(system.structure().transitions.len());
            let left_out = reducer.reduce(
                &mut stubborn_system::Expansion {
                    state: &state,
                    executor: &mut *executor,
                    successors: &successors,
                    is_known: None,
                },
                &mut kept,
            );
            let mut targets = Vec::new();
            for successor in successors.iter() {
                if kept.contains(successor.transition.index()) {
                    let next = states.len() as u32;
                    let number = *numbers.entry(successor.state.to_vec()).or_insert(next);
                    if number == next {
                        states.push(successor.state.to_vec());
                    }
                    targets.push(number);
                }
            }
            reduced_states += usize::from(left_out);
            reduced.push(if left_out { targets } else { Vec::new() });
        }
        let all = 0..reduced.len() as u32;
        let target = |node: u32, at: usize| reduced[node as usize].get(at).copied();
        let (component, _) = components(reduced.len(), all, target);
        for (state, targets) in reduced.iter().enumerate() {
            for to in targets {
                let is_on_cycle = component[state] == component[*to as usize];
                assert!(!is_on_cycle, "system {seed}");
            }
        }
    }
    eprintln!("{reduced_states} reduced states");
    assert!(reduced_states > 500);
}
