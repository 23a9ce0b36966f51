//! The questions of the BEEM benchmark and their known answers: reachability of goals by
//! full exploration, and the property processes of the LTL files by a search for accepting
//! cycles in an explicit product.

use crate::support;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use stubborn_dve::lower::Automaton;
use stubborn_ir::Model;
use stubborn_system::{LabelId, Successors, System};
use support::explore::explore;
use support::properties::{Family, family_and_number};

/// A question with its answer.
struct Question {
    instance: String,
    property: String,
    kind: String,
    /// `yes`, `no` or `unknown`.
    answer: String,
    /// The file with the property process.
    file: String,
    /// States of the instance, if known.
    states: Option<usize>,
}

fn questions(beem: &Path, kind: &str) -> Vec<Question> {
    let table = |name| std::fs::read_to_string(beem.join(name)).expect("the table is there");
    let sizes = table("EXPECTED.tsv");
    let sizes: HashMap<&str, usize> = sizes
        .lines()
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?, columns.next()?.parse().ok()?))
        })
        .collect();
    let rows = table("EXPECTED-PROPS.tsv");
    let question = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        Question {
            instance: columns[0].to_owned(),
            property: columns[1].to_owned(),
            kind: columns[3].to_owned(),
            answer: columns[4].to_owned(),
            file: columns[7].to_owned(),
            states: sizes.get(columns[0]).copied(),
        }
    };
    rows.lines()
        .skip(1)
        .map(question)
        .filter(|q| q.kind == kind)
        .collect()
}

fn goal(beem: &Path, question: &Question) -> String {
    let (family, number) = family_and_number(&question.instance);
    Family::read(&beem.join(format!("xml/{family}.xml")))
        .goal(number, &question.property)
        .unwrap_or_else(|| panic!("{}: no property {}", question.instance, question.property))
}

#[test]
fn every_goal_is_an_expression_of_its_model() {
    let Some(beem) = support::beem() else { return };
    let questions = questions(&beem, "reachability");
    assert!(questions.len() > 280);
    let mut models = BTreeMap::new();
    for question in &questions {
        let lowered = models.entry(question.instance.clone()).or_insert_with(|| {
            support::lowered(&support::read(
                &beem.join(format!("models/{}.dve", question.instance)),
            ))
        });
        support::proposition(lowered, &goal(&beem, question));
    }
}

fn compare_goals(from: usize, to: usize) {
    let Some(beem) = support::beem() else { return };
    let (mut checked, mut disagree) = (0, Vec::new());
    for question in questions(&beem, "reachability") {
        let expected = match question.answer.as_str() {
            "yes" => true,
            "no" => false,
            _ => continue,
        };
        if !question.states.is_some_and(|n| (from..to).contains(&n)) {
            continue;
        }
        let path = beem.join(format!("models/{}.dve", question.instance));
        let mut lowered = support::lowered(&support::read(&path));
        let label = support::proposition(&mut lowered, &goal(&beem, &question));
        let model = Model::new(lowered.into_program()).expect("the program is well-formed");
        let counts = explore(&model, &[label], usize::MAX).expect("there is no limit");
        if (counts.holds[0] > 0) != expected {
            let (instance, property) = (&question.instance, &question.property);
            let goal = goal(&beem, &question);
            disagree.push(format!("{instance}, property {property}: {goal}"));
        }
        checked += 1;
    }
    assert!(disagree.is_empty(), "{}", disagree.join("\n"));
    assert!(checked > 10, "only {checked} answers");
    eprintln!("{checked} answers agree");
}

#[test]
fn goals_of_small_instances() {
    compare_goals(0, 10_000);
}

#[test]
#[ignore = "long: goals of instances of up to 130,000 states"]
fn goals_of_larger_instances() {
    compare_goals(10_000, 130_000);
}

/// The product of a system and an automaton, explicitly: whether it has a reachable cycle
/// through an accepting state. The automaton's guards look at the source state; in a
/// deadlock of the system it moves alone.
fn has_accepting_cycle(model: &Model, automaton: &Automaton) -> bool {
    let words = model.layout().words();
    let mut executor = model.executor();
    let mut successors = Successors::new(words);
    let mut numbers: HashMap<(Box<[u32]>, usize), usize> = HashMap::new();
    let mut nodes: Vec<(Box<[u32]>, usize)> =
        vec![(model.initial_states().into(), automaton.initial)];
    numbers.insert(nodes[0].clone(), 0);
    let mut edges: Vec<Vec<usize>> = Vec::new();
    while edges.len() < nodes.len() {
        let (state, at) = nodes[edges.len()].clone();
        successors.clear();
        executor.successors(&state, &mut successors);
        let mut targets: Vec<Box<[u32]>> = successors.iter().map(|s| s.state.into()).collect();
        if targets.is_empty() {
            targets.push(state.clone());
        }
        let mut holds = |guard: Option<LabelId>| guard.is_none_or(|g| executor.label(&state, g));
        let mut out = Vec::new();
        for edge in automaton.edges.iter().filter(|e| e.source == at) {
            if holds(edge.guard) {
                for target in &targets {
                    let node = (target.clone(), edge.target);
                    let number = *numbers.entry(node.clone()).or_insert_with(|| {
                        nodes.push(node);
                        nodes.len() - 1
                    });
                    out.push(number);
                }
            }
        }
        edges.push(out);
    }
    let accepting: Vec<bool> = nodes
        .iter()
        .map(|(_, at)| automaton.accepting[*at])
        .collect();
    accepting_component(&edges, &accepting)
}

/// Whether some strongly connected component has both an edge inside and an accepting node.
fn accepting_component(edges: &[Vec<usize>], accepting: &[bool]) -> bool {
    let target = |node: u32, edge: usize| Some(*edges[node as usize].get(edge)? as u32);
    let nodes = 0..edges.len() as u32;
    let found = stubborn_graph::for_each_component(edges.len(), nodes, target, |component| {
        let first = component[0] as usize;
        let cyclic = component.len() > 1 || edges[first].contains(&first);
        match cyclic && component.iter().any(|n| accepting[*n as usize]) {
            true => Err(()),
            false => Ok(()),
        }
    });
    found.is_err()
}

fn compare_ltl(from: usize, to: usize) {
    let Some(beem) = support::beem() else { return };
    let mut checked = 0;
    for question in questions(&beem, "LTL") {
        let expected = match question.answer.as_str() {
            "yes" => true,
            "no" => false,
            _ => continue,
        };
        if !question.states.is_some_and(|n| (from..to).contains(&n)) {
            continue;
        }
        let lowered = support::lowered(&support::read(&beem.join(&question.file)));
        let automaton = lowered
            .automaton()
            .expect("there is a property process")
            .clone();
        let model = Model::new(lowered.into_program()).expect("the program is well-formed");
        assert_eq!(
            !has_accepting_cycle(&model, &automaton),
            expected,
            "{}",
            question.file
        );
        checked += 1;
    }
    assert!(checked > 10, "only {checked} answers");
    eprintln!("{checked} answers agree");
}

#[test]
fn property_processes_of_small_instances() {
    compare_ltl(0, 5_000);
}

#[test]
#[ignore = "long: property processes of instances of up to 30,000 states"]
fn property_processes_of_larger_instances() {
    compare_ltl(5_000, 30_000);
}
