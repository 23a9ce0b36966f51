//! Automata: random ones of nasty shapes, smaller ones, and their text in the Hanoi
//! Omega-Automata format (Babiak et al., *The Hanoi Omega-Automata Format*, 2015).

use std::fmt::Write as _;

use crate::coverage::Coverage;
use crate::minimise::without_some;
use crate::random::Random;
use crate::reference::automaton::{Automaton, Edge, Label};

/// What [`random`] may note.
pub const FEATURES: [&str; 9] = [
    "automaton no sets",
    "automaton one set",
    "automaton several sets",
    "automaton several starts",
    "automaton marks on states",
    "automaton chain",
    "automaton transient start",
    "automaton exchange",
    "automaton any shape",
];

fn literal(random: &mut Random, propositions: usize) -> Label {
    let proposition = Label::Proposition(random.below(propositions));
    match random.chance(1, 2) {
        true => Label::Not(Box::new(proposition)),
        false => proposition,
    }
}

fn label(random: &mut Random, propositions: usize) -> Label {
    match random.below(8) {
        0..=2 => Label::True,
        3..=5 => literal(random, propositions),
        6 => Label::And(
            Box::new(literal(random, propositions)),
            Box::new(literal(random, propositions)),
        ),
        _ => Label::Or(
            Box::new(literal(random, propositions)),
            Box::new(literal(random, propositions)),
        ),
    }
}

/// A random automaton over so many propositions.
pub fn random(random: &mut Random, propositions: usize, coverage: &mut Coverage) -> Automaton {
    let sets = [0, 1, 1, 1, 2, 2, 3][random.below(7)];
    coverage.note(match sets {
        0 => "automaton no sets",
        1 => "automaton one set",
        _ => "automaton several sets",
    });
    let marks = |random: &mut Random| (random.number() & random.number()) & ((1 << sets) - 1);
    let mut made = match random.below(5) {
        0 => {
            coverage.note("automaton chain");
            chain(random, propositions, sets)
        }
        1 | 2 => {
            coverage.note("automaton exchange");
            exchange(random, propositions, sets)
        }
        _ => {
            coverage.note("automaton any shape");
            let states = 1 + random.below(4);
            let mut edges = Vec::new();
            for source in 0..states {
                for number in 0..1 + random.below(3) {
                    // Mostly states that can wait.
                    let target = match number == 0 && random.chance(2, 3) {
                        true => source,
                        false => random.below(states),
                    };
                    edges.push(Edge {
                        source,
                        target,
                        label: label(random, propositions),
                        marks: marks(random),
                    });
                }
            }
            Automaton {
                states,
                starts: vec![0],
                sets,
                edges,
            }
        }
    };
    if random.chance(1, 3) {
        coverage.note("automaton transient start");
        let ways = 1 + random.below(2);
        for _ in 0..ways {
            let target = random.below(made.states);
            made.edges.push(Edge {
                source: made.states,
                target,
                label: label(random, propositions),
                marks: marks(random),
            });
        }
        made.starts = vec![made.states];
        made.states += 1;
    }
    if random.chance(1, 8) && made.states > 1 {
        coverage.note("automaton several starts");
        let more = random.below(made.states);
        if !made.starts.contains(&more) {
            made.starts.push(more);
        }
    }
    if random.chance(1, 5) {
        coverage.note("automaton marks on states");
        for state in 0..made.states {
            let marks = marks(random);
            for edge in made.edges.iter_mut().filter(|edge| edge.source == state) {
                edge.marks = marks;
            }
        }
    }
    made
}

/// States in a row that wait for one thing after the other, now and then with a way back.
fn chain(random: &mut Random, propositions: usize, sets: usize) -> Automaton {
    let states = 2 + random.below(3);
    let all = (1 << sets) - 1;
    let mut edges = Vec::new();
    for source in 0..states {
        let is_last = source + 1 == states;
        edges.push(Edge {
            source,
            target: source,
            label: label(random, propositions),
            marks: if is_last { all } else { random.number() & all },
        });
        for _ in 0..1 + random.below(2) {
            let target = match random.chance(1, 6) {
                true => random.below(states),
                false => (source + 1).min(states - 1),
            };
            edges.push(Edge {
                source,
                target,
                label: literal(random, propositions),
                marks: random.number() & all,
            });
        }
    }
    Automaton {
        states,
        starts: vec![0],
        sets,
        edges,
    }
}

/// States that wait, and enter each other on one letter with different marks: only who
/// exchanges them again and again is accepted. Several ways lead in.
fn exchange(random: &mut Random, propositions: usize, sets: usize) -> Automaton {
    let inner = 2 + random.below(2);
    let all = (1 << sets) - 1;
    let letter = literal(random, propositions);
    let strict = random.chance(1, 2);
    let mut edges = Vec::new();
    for source in 0..inner {
        edges.push(Edge {
            source,
            target: source,
            label: match strict {
                true => Label::True,
                false => label(random, propositions),
            },
            marks: 0,
        });
        let target = (source + 1) % inner;
        edges.push(Edge {
            source,
            target,
            label: match strict || random.chance(4, 5) {
                true => letter.clone(),
                false => label(random, propositions),
            },
            marks: match sets {
                0 => 0,
                _ if strict => 1 << (source % sets),
                _ => 1 << random.below(sets) | (random.number() & random.number() & all),
            },
        });
    }
    let start = inner;
    for target in 0..inner {
        if random.chance(3, 4) {
            edges.push(Edge {
                source: start,
                target,
                label: match random.chance(1, 2) {
                    true => letter.clone(),
                    false => label(random, propositions),
                },
                marks: 0,
            });
        }
    }
    Automaton {
        states: inner + 1,
        starts: vec![start],
        sets,
        edges,
    }
}

fn label_text(label: &Label) -> String {
    match label {
        Label::True => "t".into(),
        Label::False => "f".into(),
        Label::Proposition(number) => number.to_string(),
        Label::Not(inner) => format!("!{}", closed(inner)),
        Label::And(left, right) => format!("{} & {}", closed(left), closed(right)),
        Label::Or(left, right) => format!("{} | {}", closed(left), closed(right)),
    }
}

fn closed(label: &Label) -> String {
    match label {
        Label::And(..) | Label::Or(..) => format!("({})", label_text(label)),
        _ => label_text(label),
    }
}

fn marks_text(marks: u64) -> String {
    let sets = (0..64).filter(|set| marks >> set & 1 == 1);
    let sets: Vec<String> = sets.map(|set: u32| set.to_string()).collect();
    match sets.is_empty() {
        true => String::new(),
        false => format!(" {{{}}}", sets.join(" ")),
    }
}

/// The text of an automaton. Marks stand at a state where all its edges have the same ones.
pub fn text(automaton: &Automaton, propositions: &[String]) -> String {
    let mut text = format!("HOA: v1\nStates: {}\n", automaton.states);
    for start in &automaton.starts {
        let _ = writeln!(text, "Start: {start}");
    }
    let names: Vec<String> = propositions
        .iter()
        .map(|name| format!(" \"{name}\""))
        .collect();
    let _ = writeln!(text, "AP: {}{}", names.len(), names.concat());
    let sets = automaton.sets;
    let _ = match sets {
        0 => writeln!(text, "acc-name: all\nAcceptance: 0 t"),
        1 => writeln!(text, "acc-name: Buchi\nAcceptance: 1 Inf(0)"),
        _ => {
            let all: Vec<String> = (0..sets).map(|set| format!("Inf({set})")).collect();
            let all = all.join("&");
            writeln!(
                text,
                "acc-name: generalized-Buchi {sets}\nAcceptance: {sets} {all}"
            )
        }
    };
    text.push_str("--BODY--\n");
    for state in 0..automaton.states {
        let edges = automaton.edges.iter().filter(|edge| edge.source == state);
        let edges: Vec<&Edge> = edges.collect();
        let shared = edges.first().map(|edge| edge.marks);
        let at_state = match shared {
            Some(marks) if edges.len() > 1 && edges.iter().all(|edge| edge.marks == marks) => marks,
            _ => 0,
        };
        let _ = writeln!(text, "State: {state}{}", marks_text(at_state));
        for edge in edges {
            let _ = writeln!(
                text,
                "[{}] {}{}",
                label_text(&edge.label),
                edge.target,
                marks_text(edge.marks & !at_state)
            );
        }
    }
    text.push_str("--END--\n");
    text
}

/// Smaller automata.
pub fn candidates(automaton: &Automaton) -> Vec<Automaton> {
    let mut all = Vec::new();
    for edges in without_some(&automaton.edges) {
        all.push(Automaton {
            edges,
            ..automaton.clone()
        });
    }
    if automaton.starts.len() > 1 {
        for starts in without_some(&automaton.starts) {
            if !starts.is_empty() {
                all.push(Automaton {
                    starts,
                    ..automaton.clone()
                });
            }
        }
    }
    // A state that nobody enters or leaves.
    for state in 0..automaton.states {
        let mut edges = automaton.edges.iter();
        if automaton.states > 1
            && !automaton.starts.contains(&state)
            && edges.all(|edge| edge.source != state && edge.target != state)
        {
            let renumber = |other: usize| other - usize::from(other > state);
            let mut smaller = automaton.clone();
            smaller.states -= 1;
            smaller
                .starts
                .iter_mut()
                .for_each(|start| *start = renumber(*start));
            for edge in &mut smaller.edges {
                edge.source = renumber(edge.source);
                edge.target = renumber(edge.target);
            }
            all.push(smaller);
        }
    }
    if automaton.sets > 0 {
        let mut fewer = automaton.clone();
        fewer.sets -= 1;
        for edge in &mut fewer.edges {
            edge.marks &= (1 << fewer.sets) - 1;
        }
        all.push(fewer);
    }
    for (number, edge) in automaton.edges.iter().enumerate() {
        let mut with = |edge: Edge| {
            let mut simpler = automaton.clone();
            simpler.edges[number] = edge;
            all.push(simpler);
        };
        if edge.marks != 0 {
            with(Edge {
                marks: edge.marks & (edge.marks - 1),
                ..edge.clone()
            });
        }
        let labels = match &edge.label {
            Label::True | Label::False => vec![],
            Label::Proposition(_) => vec![Label::True],
            Label::Not(inner) => vec![Label::True, (**inner).clone()],
            Label::And(left, right) | Label::Or(left, right) => {
                vec![Label::True, (**left).clone(), (**right).clone()]
            }
        };
        for label in labels {
            with(Edge {
                label,
                ..edge.clone()
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_move_to_states_where_edges_agree() {
        let edge = |target, marks| Edge {
            source: 0,
            target,
            label: Label::Not(Box::new(Label::Proposition(0))),
            marks,
        };
        let automaton = Automaton {
            states: 2,
            starts: vec![0],
            sets: 2,
            edges: vec![edge(0, 3), edge(1, 3)],
        };
        let text = text(&automaton, &["x == 1".into()]);
        assert!(
            text.contains("State: 0 {0 1}\n[!0] 0\n[!0] 1\nState: 1\n"),
            "{text}"
        );
        assert!(text.contains("AP: 1 \"x == 1\"\n"));
    }

    #[test]
    fn automata_are_a_function_of_the_seed_and_of_every_shape() {
        let mut coverage = Coverage::declared(FEATURES.map(str::to_owned));
        for seed in 0..300 {
            let made = random(&mut Random::new(seed), 2, &mut coverage);
            let again = random(&mut Random::new(seed), 2, &mut Coverage::default());
            assert_eq!(made, again);
            assert!(
                made.edges
                    .iter()
                    .all(|e| e.source < made.states && e.target < made.states)
            );
        }
        assert!(coverage.missing().is_empty(), "{:?}", coverage.missing());
    }
}
