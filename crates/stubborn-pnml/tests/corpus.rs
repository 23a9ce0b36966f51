//! Every net of the contest's corpus loads, and its state space is the one the contest agreed
//! on, as far as it is small enough.

use crate::common;

use common::{corpus, expected, explore, explore_system, instances, load_instance, table};
use stubborn_net::{NetSystem, PlaceId};

#[test]
fn every_instance_loads_with_the_size_of_the_index() {
    let Some(corpus) = corpus() else { return };
    let columns = ["instance", "type", "places", "transitions", "arcs"];
    let rows = table(&corpus.join("INDEX.tsv"), &columns);
    for instance in instances(&corpus) {
        let model = load_instance(&corpus, &instance);
        let net = &model.net;
        let row = rows.iter().find(|row| row[0] == instance).unwrap();
        let number = |i: usize| row[i].parse::<usize>().unwrap();
        let size = (net.place_count(), net.transition_count(), net.arc_count());
        if row[1] == "PT" {
            assert_eq!(size, (number(2), number(3), number(4)), "{instance}");
        } else {
            assert!(model.coloured, "{instance}");
            assert_eq!(model.source_places().len(), number(2), "{instance}");
            assert_eq!(model.source_transitions().len(), number(3), "{instance}");
        }
    }
}

#[test]
fn an_unfolded_net_is_as_large_as_its_twin() {
    let Some(corpus) = corpus() else { return };
    let names = instances(&corpus);
    for coloured in names.iter().filter(|name| name.contains("-COL-")) {
        let twin = coloured.replace("-COL-", "-PT-");
        if names.contains(&twin) {
            let size = |instance: &str| {
                let net = load_instance(&corpus, instance).net;
                (net.place_count(), net.transition_count(), net.arc_count())
            };
            assert_eq!(size(coloured), size(&twin), "{coloured}");
        }
    }
}

/// Explores every instance with more than `above` and at most `limit` states.
fn compare_state_spaces(above: usize, limit: usize) {
    let Some(corpus) = corpus() else { return };
    let state_space = expected(&corpus, "StateSpace");
    let deadlock = expected(&corpus, "ReachabilityDeadlock");
    let one_safe = expected(&corpus, "OneSafe");
    let mut compared = 0;
    for instance in instances(&corpus) {
        let get = |measure: &str| state_space.get(&(instance.clone(), measure.to_owned()));
        let Some(states) = get("STATES").and_then(|v| v.parse::<usize>().ok()) else {
            continue;
        };
        if states <= above || states > limit {
            continue;
        }
        let model = load_instance(&corpus, &instance);
        let system = NetSystem::new(model.net.clone()).unwrap();
        let mut safe = true;
        let found = explore_system(&system, states + 1, |state, _| {
            safe &= model.place_groups().all(|(_, range)| {
                range.map(|p| system.tokens(state, PlaceId(p))).sum::<u64>() <= 1
            });
        });
        let found = found.unwrap_or_else(|| panic!("{instance} has more states"));
        assert_eq!(found.states, states, "{instance}");
        for (measure, value) in [
            ("TRANSITIONS", found.transitions),
            ("MAX_TOKEN_IN_PLACE", found.max_in_place),
            ("MAX_TOKEN_PER_MARKING", found.max_in_marking),
        ] {
            if let Some(known) = get(measure).and_then(|v| v.parse::<u64>().ok()) {
                assert_eq!(value, known, "{instance} {measure}");
            }
        }
        let verdict = |table: &std::collections::HashMap<(String, String), String>, name: &str| {
            table
                .get(&(instance.clone(), name.to_owned()))
                .map(|verdict| verdict == "TRUE")
        };
        if let Some(known) = verdict(&deadlock, "ReachabilityDeadlock") {
            assert_eq!(found.deadlocks > 0, known, "{instance} deadlock");
        }
        if let Some(known) = verdict(&one_safe, "OneSafe") {
            assert_eq!(safe, known, "{instance} one-safe");
        }
        // The slow way must agree in everything, deadlocks included.
        if states <= 2_000 {
            assert_eq!(explore(system.net(), states + 1), Some(found), "{instance}");
        }
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn small_state_spaces_are_those_of_the_contest() {
    compare_state_spaces(0, 20_000);
}

#[test]
#[ignore = "long: explores state spaces of up to 200,000 states"]
fn larger_state_spaces_are_those_of_the_contest() {
    compare_state_spaces(20_000, 200_000);
}
