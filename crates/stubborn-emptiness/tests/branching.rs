//! Reduced graphs for branching time are stutter-bisimilar to the full ones.

use std::collections::{BTreeSet, HashMap};

use stubborn_emptiness::space::{Counts, Edge, Node, Space, flags};
use stubborn_emptiness::walk::{Emptiness, Walk};
use stubborn_emptiness::{BranchingReduction, CycleProviso};
use stubborn_ltl::automaton::Marks;
use stubborn_ltl::random::Random;
use stubborn_reduce::testing::exact::relations_over;
use stubborn_reduce::testing::random::{self, Shape};
use stubborn_reduce::testing::tiny::{Tiny, fields};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::Limit;
use stubborn_system::{
    BitSet, Executor, Expansion, LabelId, Reducer, Reduction, Successors, System, Transition,
};

use length::length;
use loose::loose_system;

use crate::length;
use crate::loose;

/// The states of a system, numbered as they are found.
struct States<'a> {
    system: &'a Tiny,
    executor: Box<dyn Executor + 'a>,
    reducer: Option<Box<dyn Reducer + 'a>>,
    numbers: HashMap<Vec<u32>, u64>,
    states: Vec<Vec<u32>>,
    flags: Vec<u8>,
}

impl<'a> States<'a> {
    fn new(system: &'a Tiny, reducer: Option<Box<dyn Reducer + 'a>>) -> Self {
        Self {
            system,
            executor: system.executor(),
            reducer,
            numbers: HashMap::new(),
            states: Vec::new(),
            flags: Vec::new(),
        }
    }

    fn node(&mut self, state: &[u32]) -> Node {
        let next = self.states.len() as u64;
        let number = *self.numbers.entry(state.to_vec()).or_insert(next);
        if number == next {
            self.states.push(state.to_vec());
            self.flags.push(0);
        }
        Node(number)
    }

    fn edges(&mut self, node: Node, wanted: Option<bool>, out: &mut Vec<Edge>) -> bool {
        let state = self.states[node.0 as usize].clone();
        let mut successors = Successors::new(self.system.layout().words());
        self.executor.successors(&state, &mut successors);
        let mut kept = BitSet::new(self.system.structure().transitions.len());
        let left_out = match &mut self.reducer {
            None => false,
            Some(reducer) => reducer.reduce(
                &mut Expansion {
                    state: &state,
                    executor: &mut *self.executor,
                    successors: &successors,
                    is_known: None,
                },
                &mut kept,
            ),
        };
        for successor in successors.iter() {
            let is_kept = !left_out || kept.contains(successor.transition.index());
            if wanted.is_none_or(|wanted| wanted == is_kept) {
                let to = self.node(successor.state);
                out.push(Edge::new(to, Marks::NONE));
            }
        }
        left_out
    }
}

impl Space for States<'_> {
    fn initial(&mut self, out: &mut Vec<Node>) -> Result<(), Limit> {
        let state = self.system.initial_states();
        out.push(self.node(&state));
        Ok(())
    }

    fn kept(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<bool, Limit> {
        Ok(self.edges(node, Some(true), out))
    }

    fn rest(&mut self, node: Node, out: &mut Vec<Edge>) -> Result<(), Limit> {
        self.edges(node, Some(false), out);
        Ok(())
    }

    fn flags(&mut self, node: Node) -> u8 {
        self.flags[node.0 as usize]
    }

    fn set_flags(&mut self, node: Node, flags: u8) -> u8 {
        let own = &mut self.flags[node.0 as usize];
        std::mem::replace(own, *own | flags)
    }

    fn go_on(&mut self, _: usize, _: &Counts) -> Result<(), Limit> {
        Ok(())
    }
}

/// Targets and letter of each state; the first one is initial. A state without steps repeats
/// itself for ever.
type Graph = Vec<(Vec<usize>, Vec<bool>)>;

fn graph(
    system: &Tiny,
    labels: &[LabelId],
    reduction: Option<&dyn Reduction>,
    proviso: CycleProviso,
) -> Graph {
    let mut states = States::new(system, reduction.map(|r| r.reducer()));
    let mut walk = Walk::new(&mut states, proviso, Emptiness::Components, None);
    walk.run().expect("there are no limits");
    let mut result = Graph::new();
    for at in 0..states.states.len() {
        let node = Node(at as u64);
        let wanted = match states.flags(node) & flags::EXPANDED {
            0 => Some(true),
            _ => None,
        };
        let mut edges = Vec::new();
        states.edges(node, wanted, &mut edges);
        let mut targets: Vec<usize> = edges.iter().map(|edge| edge.to.0 as usize).collect();
        if targets.is_empty() {
            targets.push(at);
        }
        let state = states.states[at].clone();
        let letter = labels.iter().map(|l| states.executor.label(&state, *l));
        result.push((targets, letter.collect()));
    }
    result
}

/// Whether two graphs are stutter-bisimilar, divergence included: blocks of states are split by
/// the blocks that they can step to after steps inside their own, and by whether they can stay
/// for ever.
fn are_bisimilar(first: &Graph, second: &Graph) -> bool {
    let offset = first.len();
    let shifted = second.iter().map(|(targets, letter)| {
        let targets = targets.iter().map(|t| t + offset).collect();
        (targets, letter.clone())
    });
    let all: Graph = first.iter().cloned().chain(shifted).collect();
    let mut numbers: HashMap<Vec<bool>, usize> = HashMap::new();
    let mut block: Vec<usize> = Vec::new();
    for (_, letter) in &all {
        let next = numbers.len();
        block.push(*numbers.entry(letter.clone()).or_insert(next));
    }
    loop {
        // States that can stay in their block for ever: take away those that must leave.
        let mut stays = vec![true; all.len()];
        let stay_on = |state: usize, stays: &[bool]| {
            let mut targets = all[state].0.iter();
            targets.any(|target| block[*target] == block[state] && stays[*target])
        };
        loop {
            let leaving = (0..all.len()).filter(|s| stays[*s] && !stay_on(*s, &stays));
            let leaving: Vec<usize> = leaving.collect();
            if leaving.is_empty() {
                break;
            }
            leaving.into_iter().for_each(|state| stays[state] = false);
        }
        let mut signatures: HashMap<(usize, BTreeSet<usize>, bool), usize> = HashMap::new();
        let mut finer = Vec::with_capacity(all.len());
        for state in 0..all.len() {
            let mut seen = BTreeSet::from([state]);
            let mut todo = vec![state];
            let mut reached = BTreeSet::new();
            let mut diverges = false;
            while let Some(inside) = todo.pop() {
                diverges |= stays[inside];
                for target in &all[inside].0 {
                    if block[*target] != block[state] {
                        reached.insert(block[*target]);
                    } else if seen.insert(*target) {
                        todo.push(*target);
                    }
                }
            }
            let next = signatures.len();
            let signature = (block[state], reached, diverges);
            finer.push(*signatures.entry(signature).or_insert(next));
        }
        let before: BTreeSet<usize> = block.iter().copied().collect();
        let is_stable = before.len() == signatures.len();
        block = finer;
        if is_stable {
            return block[0] == block[offset];
        }
    }
}

fn run(seeds: std::ops::Range<u64>) {
    let provisos = sound_provisos();
    let (mut smaller, mut cases, mut missed) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed + 1);
        let shape = Shape {
            processes: seed % 3 > 0,
            remote_counters: seed % 5 == 1,
            nondeterminism: seed % 4 == 0,
            failures: false,
            priorities: seed % 11 == 5,
            loose: false,
        };
        let system = match seed % 4 {
            0 => random::system(seed, shape),
            _ => loose_system(&mut random),
        };
        let count = system.structure().labels.len();
        let labels = vec![LabelId::new(count - 1 - random.below(2))];
        let relations = relations_over(&system, &system.all_states());
        let full = graph(&system, &labels, None, CycleProviso::NONE);
        let algorithm =
            [Algorithm::Beam, Algorithm::Closure, Algorithm::Deletion][seed as usize % 3];
        let config = Config::new(algorithm);
        let reduction = BranchingReduction::new(&system, &relations, &config, labels.clone())
            .expect("these go with temporal properties");
        for _ in 0..3 {
            let proviso = provisos[random.below(provisos.len())];
            let reduced = graph(&system, &labels, Some(&reduction), proviso);
            assert!(
                are_bisimilar(&full, &reduced),
                "{seed} {algorithm} {proviso}"
            );
            cases += 1;
            smaller += usize::from(reduced.len() < full.len());
        }
        let ignoring = graph(&system, &labels, Some(&reduction), CycleProviso::NONE);
        missed += usize::from(!are_bisimilar(&full, &ignoring));
    }
    eprintln!("{smaller} of {cases} smaller; {missed} differ without proviso");
    assert!(smaller * 20 > cases, "{smaller} of {cases}");
    assert!(missed > 0, "the check never fails");
}

#[test]
fn reduced_graphs_are_stutter_bisimilar() {
    run(0..60);
}

#[test]
#[ignore = "long: many random systems"]
fn reduced_graphs_are_stutter_bisimilar_at_length() {
    run(1_000..1_000 + 1_000 * length());
}

/// Classic sets for linear time are too small for branching time: the check sees that.
#[test]
fn sets_for_linear_time_are_not_enough() {
    use stubborn_reduce::{Aim, Plan, StubbornReduction};
    let differ = (0..100).filter(|seed| {
        let system = loose_system(&mut Random::new(seed + 1));
        let count = system.structure().labels.len();
        let labels = vec![LabelId::new(count - 1)];
        let relations = relations_over(&system, &system.all_states());
        let full = graph(&system, &labels, None, CycleProviso::NONE);
        let aim = Aim::Traces {
            labels: labels.clone(),
            infinite: true,
        };
        let plan = Plan::new(&Config::new(Algorithm::Beam), aim).expect("it goes with LTL");
        let linear = StubbornReduction::new(&system, &relations, plan).expect("it is simple");
        let reduced = graph(&system, &labels, Some(&linear), CycleProviso::default());
        let differs = !are_bisimilar(&full, &reduced);
        if differs {
            let config = Config::new(Algorithm::Beam);
            let enough = BranchingReduction::new(&system, &relations, &config, labels.clone())
                .expect("it goes with temporal properties");
            let reduced = graph(&system, &labels, Some(&enough), CycleProviso::default());
            assert!(are_bisimilar(&full, &reduced), "{seed}");
        }
        differs
    });
    let differ = differ.count();
    eprintln!("{differ} of 100 differ");
    assert!(differ > 0);
}

/// An invisible step that has several outcomes makes a choice: nothing may be put off for it.
#[test]
fn a_step_with_several_outcomes_chooses() {
    let mut system = Tiny::new(&[3, 3]);
    let open = system.label("x0 = 0", &[0], |s| s[0] == 0);
    let first = system.label("x0 = 1", &[0], |s| s[0] == 1);
    let [start, up, top] = [0, 1, 2].map(|value| {
        let text = format!("x1 = {value}");
        system.label(text, &[1], move |s| s[1] == value)
    });
    let chooses = Transition {
        name: "chooses".into(),
        guards: vec![open],
        writes: fields(&[0]),
        ..Transition::default()
    };
    system.transition(chooses, |s| {
        [1, 2].map(|choice| Some(vec![choice, s[1]])).to_vec()
    });
    system.simple("rises", &[start], (&[], &[1]), |s| s[1] = 1);
    system.simple("rises on", &[first, up], (&[], &[1]), |s| s[1] = 2);
    let relations = relations_over(&system, &system.all_states());
    let labels = vec![up, top];
    let full = graph(&system, &labels, None, CycleProviso::NONE);
    for algorithm in [Algorithm::Beam, Algorithm::Closure, Algorithm::Deletion] {
        let config = Config::new(algorithm);
        let reduction = BranchingReduction::new(&system, &relations, &config, labels.clone())
            .expect("these go with temporal properties");
        let reduced = graph(&system, &labels, Some(&reduction), CycleProviso::default());
        assert!(are_bisimilar(&full, &reduced), "{algorithm}");
    }
}

/// An invisible step that has one outcome here and several after another one: what the other one
/// leaves open is open no more if this one comes first.
#[test]
fn one_outcome_here_is_not_enough() {
    const START: i64 = 0;
    const SILENT: i64 = 1;
    const TURNED: i64 = 2;
    const ONE: i64 = 3;
    const TWO: i64 = 4;
    const THREE: i64 = 5;
    let mut system = Tiny::new(&[6]);
    let mut step = |name: &str, table: [(i64, &'static [i64]); 2]| {
        let leads = move |at: i64| {
            table
                .iter()
                .find(|(from, _)| *from == at)
                .map(|(_, to)| *to)
        };
        let guard = system.label(format!("{name} can move"), &[0], move |s| {
            leads(s[0]).is_some()
        });
        let transition = Transition {
            name: name.into(),
            guards: vec![guard],
            reads: fields(&[0]),
            writes: fields(&[0]),
            ..Transition::default()
        };
        system.transition(transition, move |s| {
            let to = leads(s[0]).unwrap_or_default();
            to.iter().map(|to| Some(vec![*to])).collect()
        });
    };
    step("t", [(START, &[SILENT]), (TURNED, &[ONE, TWO])]);
    step("u", [(START, &[TURNED]), (SILENT, &[ONE, TWO])]);
    step("v", [(ONE, &[THREE]), (THREE, &[THREE])]);
    let labels = vec![
        system.label("turned", &[0], |s| s[0] >= TURNED),
        system.label("three", &[0], |s| s[0] == THREE),
    ];
    let relations = relations_over(&system, &system.all_states());
    let full = graph(&system, &labels, None, CycleProviso::NONE);
    let config = Config::new(Algorithm::Beam);
    let reduction = BranchingReduction::new(&system, &relations, &config, labels.clone())
        .expect("it goes with temporal properties");
    let reduced = graph(&system, &labels, Some(&reduction), CycleProviso::default());
    assert!(are_bisimilar(&full, &reduced));
}

/// Those that a walk decides by itself.
fn sound_provisos() -> Vec<CycleProviso> {
    let mut all = CycleProviso::all_of_graphs();
    all.retain(CycleProviso::is_sound);
    all
}
