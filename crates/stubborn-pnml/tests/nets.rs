//! Own nets with their expectations inside: the comment at the top of each file in
//! `tests/nets` says what must come out.

use crate::common;

use std::collections::HashMap;
use std::path::Path;

use common::{explore, explore_system};
use stubborn_net::{NetSystem, PlaceId, TransitionId};

/// `name number` pairs of all `expect:` lines.
fn expectations(text: &str) -> HashMap<String, u64> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("expect:"));
    lines
        .flat_map(|line| line.trim_end_matches("-->").split(','))
        .map(|pair| {
            let (name, number) = pair.trim().split_once(' ').unwrap();
            (name.to_owned(), number.trim().parse().unwrap())
        })
        .collect()
}

#[test]
fn own_nets_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = common::read(&path);
        let (model, messages) = stubborn_pnml::load(&source);
        let text = stubborn_diagnostics::render(&source, &messages, false);
        assert!(messages.is_empty(), "{text}");
        let net = model.unwrap().net;
        let slow = explore(&net, 10_000).unwrap();
        let system = NetSystem::new(net.clone()).unwrap();
        assert_eq!(
            explore_system(&system, 10_000, |_, _| {}).as_ref(),
            Some(&slow),
            "{path:?}"
        );
        let expected = expectations(source.text());
        for (name, value) in [
            ("places", net.place_count() as u64),
            ("transitions", net.transition_count() as u64),
            ("arcs", net.arc_count() as u64),
            ("states", slow.states as u64),
            ("edges", slow.transitions),
            ("deadlocks", slow.deadlocks as u64),
            ("max-in-place", slow.max_in_place),
            ("max-in-marking", slow.max_in_marking),
        ] {
            assert_eq!(expected.get(name), Some(&value), "{name} of {path:?}");
        }
        count += 1;
    }
    assert!(count >= 4);
}

fn load(file: &str) -> stubborn_pnml::Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets");
    stubborn_pnml::load(&common::read(&folder.join(file)))
        .0
        .unwrap()
}

#[test]
fn labels_are_kept_beside_ids() {
    let model = load("mutex.pnml");
    let lock = model.places_of("lock").unwrap().next().unwrap();
    assert_eq!(model.net.place_name(lock), "lock");
    assert_eq!(model.net.place_label(lock), "the lock");
    assert!(model.places_of("the lock").is_none());
}

#[test]
fn unfolded_nodes_have_readable_names_and_their_origin() {
    let model = load("ring.pnml");
    let names: Vec<&str> = model
        .places_of("at")
        .unwrap()
        .map(|p| model.net.place_name(p))
        .collect();
    assert_eq!(names, ["at(hall,1)", "at(kitchen,1)", "at(cellar,1)"]);
    let moves: Vec<&str> = model
        .transitions_of("move")
        .unwrap()
        .map(|t| model.net.transition_name(t))
        .collect();
    assert_eq!(
        moves,
        ["move(room=hall,speed=1)", "move(room=kitchen,speed=1)"]
    );
    let first = model.net.effects(TransitionId(0)).collect::<Vec<_>>();
    assert_eq!(first.len(), 4);
    assert_eq!(model.net.initial(PlaceId(0)), 1);
}

#[test]
fn units_exclude_their_places() {
    let model = load("units.pnml");
    let units = model.net.units().unwrap();
    let place = |id: &str| model.places_of(id).unwrap().next().unwrap();
    assert!(units.exclude_each_other(place("p0"), place("p1")));
    assert!(!units.exclude_each_other(place("p0"), place("q0")));
}
