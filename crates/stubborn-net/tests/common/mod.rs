//! Shared by the corpus tests: where the corpus is, and its tables.

#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use stubborn_diagnostics::SourceFile;
use stubborn_net::{Net, NetSystem, PlaceId, TransitionId};
use stubborn_pnml::Model;
use stubborn_system::{Outcome, Random, Successors, System};

/// The folder of the contest's nets, or none (said on standard error) where it is absent.
pub fn corpus() -> Option<PathBuf> {
    stubborn_corpus::folder("pnml")
}

/// The names of all instances, sorted.
pub fn instances(corpus: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("model.pnml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Loads an instance; its messages must not contain an error.
pub fn load_instance(corpus: &Path, instance: &str) -> Model {
    let source = read(&corpus.join(instance).join("model.pnml"));
    let (model, messages) = stubborn_pnml::load(&source);
    let text = stubborn_diagnostics::render(&source, &messages, false);
    model.unwrap_or_else(|| panic!("{instance}: {text}"))
}

/// Reads a file as a source.
pub fn read(path: &Path) -> SourceFile {
    SourceFile::new(
        path.display().to_string(),
        std::fs::read_to_string(path).unwrap(),
    )
}

/// Rows of a table with the given columns.
pub fn table(path: &Path, columns: &[&str]) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let positions: Vec<usize> = columns
        .iter()
        .map(|c| header.iter().position(|h| h == c).unwrap())
        .collect();
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            positions
                .iter()
                .map(|p| cells.get(*p).copied().unwrap_or("").to_owned())
                .collect()
        })
        .collect()
}

/// `(instance, measure or formula)` to expected value, for one examination.
pub fn expected(corpus: &Path, examination: &str) -> HashMap<(String, String), String> {
    let columns = ["instance", "examination", "formula_or_measure", "value"];
    table(&corpus.join("EXPECTED.tsv"), &columns)
        .into_iter()
        .filter(|row| row[1] == examination)
        .map(|row| ((row[0].clone(), row[2].clone()), row[3].clone()))
        .collect()
}

/// What a plain breadth-first search over markings finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StateSpace {
    pub states: usize,
    pub transitions: u64,
    pub deadlocks: usize,
    pub max_in_place: u64,
    pub max_in_marking: u64,
}

/// Whether a marking enables a transition, by the definition.
pub fn is_enabled(net: &Net, t: TransitionId, marking: &[u64]) -> bool {
    let has = |arc: &stubborn_net::Arc<PlaceId>| marking[arc.node.index()] >= u64::from(arc.weight);
    net.pre(t).iter().all(has) && !net.inhibitors(t).iter().any(has)
}

/// Explores a net the slow and obvious way; none if there are more than `limit` states.
pub fn explore(net: &stubborn_net::Net, limit: usize) -> Option<StateSpace> {
    let initial: Box<[u64]> = net.initial_marking().into();
    let mut seen: std::collections::HashSet<Box<[u64]>> = [initial.clone()].into();
    let mut queue = std::collections::VecDeque::from([initial]);
    let mut result = StateSpace::default();
    while let Some(marking) = queue.pop_front() {
        result.count(marking.iter().copied());
        let mut dead = true;
        for t in net.transitions() {
            if !is_enabled(net, t, &marking) {
                continue;
            }
            dead = false;
            result.transitions += 1;
            let mut next = marking.clone();
            for (place, change) in net.effects(t) {
                next[place.index()] = next[place.index()].checked_add_signed(change).unwrap();
            }
            if !seen.contains(&next) {
                if seen.len() >= limit {
                    return None;
                }
                seen.insert(next.clone());
                queue.push_back(next);
            }
        }
        result.deadlocks += usize::from(dead);
    }
    Some(result)
}

/// Explores a system breadth first; none if there are more than `limit` states. `visit` sees
/// every state with its successors.
pub fn explore_system(
    system: &NetSystem,
    limit: usize,
    mut visit: impl FnMut(&[u32], &Successors),
) -> Option<StateSpace> {
    let words = system.layout().words();
    let mut states = system.initial_states();
    let mut seen: std::collections::HashSet<Box<[u32]>> = [states[..words].into()].into();
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let mut result = StateSpace::default();
    let mut next = 0;
    while next < states.len() {
        let state: Box<[u32]> = states[next..next + words].into();
        next += words;
        result.count(
            system
                .net()
                .places()
                .map(|place| system.tokens(&state, place)),
        );
        successors.clear();
        executor.successors(&state, &mut successors);
        visit(&state, &successors);
        result.deadlocks += usize::from(successors.is_empty());
        for successor in successors.iter() {
            assert_eq!(successor.outcome, Outcome::FINE, "a place overflows");
            result.transitions += 1;
            if !seen.contains(successor.state) {
                if seen.len() >= limit {
                    return None;
                }
                seen.insert(successor.state.into());
                states.extend_from_slice(successor.state);
            }
        }
    }
    Some(result)
}

impl StateSpace {
    fn count(&mut self, marking: impl Iterator<Item = u64>) {
        let (mut sum, mut max) = (0, 0);
        for tokens in marking {
            sum += tokens;
            max = max.max(tokens);
        }
        self.states += 1;
        self.max_in_place = self.max_in_place.max(max);
        self.max_in_marking = self.max_in_marking.max(sum);
    }
}

/// A small random net with weights, read loops and, in every other one, inhibitor arcs; or one of chains.
pub fn random_net(random: &mut Random) -> stubborn_net::Net {
    if random.below(3) == 0 {
        return random_chains(random);
    }
    let mut builder = stubborn_net::NetBuilder::new("random");
    let places: Vec<_> = (0..2 + random.below(7))
        .map(|i| builder.place(&format!("p{i}"), [0, 0, 1, 1, 2, 3][random.below(6)]))
        .collect();
    let inhibitors = random.below(2) == 0;
    for i in 0..1 + random.below(8) {
        let t = builder.transition(&format!("t{i}"));
        while inhibitors && random.below(3) == 0 {
            let place = places[random.below(places.len())];
            builder.inhibitor(place, t, [1, 1, 1, 2, 2, 3, 4][random.below(7)]);
        }
        let weight = |random: &mut Random| [1, 1, 1, 1, 1, 2, 2, 3][random.below(8)];
        for _ in 0..random.below(4).max(usize::from(random.below(8) > 0)) {
            let (place, weight) = (places[random.below(places.len())], weight(random));
            builder.input(place, t, weight);
            if random.below(6) == 0 {
                builder.output(t, place, weight);
            }
        }
        for _ in 0..random.below(3) {
            let place = places[random.below(places.len())];
            builder.output(t, place, weight(random));
        }
    }
    builder.build().unwrap()
}

/// Chains of single steps, which rules merge, with a few arcs between them; most of these inhibit.
fn random_chains(random: &mut Random) -> stubborn_net::Net {
    let mut builder = stubborn_net::NetBuilder::new("chains");
    let mut chains: Vec<Vec<PlaceId>> = Vec::new();
    for chain in 0..2 + random.below(2) {
        let places = 0..2 + random.below(3);
        let place = |at| builder.place(&format!("c{chain}.{at}"), u64::from(at == 0));
        chains.push(places.map(place).collect());
    }
    let all = chains.concat();
    for chain in &chains {
        let ring = random.below(4) == 0;
        for (at, from) in chain.iter().enumerate() {
            let next = (at + 1) % chain.len();
            let t = builder.transition(&format!("t{}", from.0));
            builder.input(*from, t, 1);
            if next > 0 || ring {
                builder.output(t, chain[next], 1);
            }
            let other = all[random.below(all.len())];
            match random.below(8) {
                0..=2 => builder.inhibitor(other, t, 1 + u32::from(random.below(5) == 0)),
                3 => builder.output(t, other, 1),
                4 if random.below(2) == 0 => builder.input(other, t, 1),
                _ => {}
            }
        }
    }
    builder.build().unwrap()
}
