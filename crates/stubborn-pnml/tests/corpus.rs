//! Every net of the contest's corpus loads, and small ones have the state spaces the contest
//! agreed on.

mod common;

use common::{corpus, expected, explore, instances, load_instance, table};

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
        println!("{instance} {size:?}");
    }
}

fn compare_state_spaces(limit: usize) {
    let Some(corpus) = corpus() else { return };
    let expected = expected(&corpus, "StateSpace");
    for instance in instances(&corpus) {
        let get = |measure: &str| expected.get(&(instance.clone(), measure.to_owned()));
        let Some(states) = get("STATES").and_then(|v| v.parse::<usize>().ok()) else {
            continue;
        };
        if states > limit {
            continue;
        }
        let model = load_instance(&corpus, &instance);
        let found = explore(&model.net, states + 1).unwrap_or_else(|| panic!("{instance}"));
        println!("{instance} {found:?}");
        assert_eq!(found.states, states, "{instance}");
        for (measure, value) in [
            ("TRANSITIONS", found.transitions),
            ("MAX_TOKEN_IN_PLACE", found.max_in_place),
            ("MAX_TOKEN_PER_MARKING", found.max_in_marking),
        ] {
            if let Some(known) = get(measure).and_then(|v| v.parse::<u64>().ok()) {
                if value != known {
                    println!("DIFF {instance} {measure} {value} {known}");
                }
            }
        }
    }
}

#[test]
fn small_state_spaces_are_those_of_the_contest() {
    compare_state_spaces(20_000);
}
