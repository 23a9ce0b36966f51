//! Own nets with their expectations inside: the comment at the top of each file in
//! `tests/nets` says what must come out.

use crate::common;

use std::collections::HashMap;
use std::path::Path;

use common::{explore, explore_system};
use stubborn_diagnostics::SourceFile;
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

fn read(text: &str) -> (Option<stubborn_pnml::Model>, Vec<&'static str>) {
    let (model, messages) = stubborn_pnml::load(&SourceFile::new("net", text));
    (model, messages.iter().map(|message| message.code).collect())
}

/// Markings, weights and names, wherever tools write them; types of nets, whatever they are called.
#[test]
fn tools_write_the_same_net_in_many_ways() {
    let net = |kind: &str, marking: &str, weight: &str| {
        let marking = marking.split_once('|').unwrap();
        let weight = weight.split_once('|').unwrap();
        format!(
            "<pnml><net id=\"n\"{kind}><place id=\"p\"{}>{}</place><place id=\"q\"/>\
             <transition id=\"t\"/><arc id=\"a\" source=\"p\" target=\"t\"{}>{}</arc>\
             <arc id=\"b\" source=\"t\" target=\"q\"/></net></pnml>",
            marking.0, marking.1, weight.0, weight.1
        )
    };
    let types = [
        "http://www.pnml.org/version-2009/grammar/ptnet",
        "http://www.pnml.org/version-2009/grammar/pnmlcoremodel",
        "http://www.yasper.org/specs/epnml-1.1",
        "http://www.informatik.hu-berlin.de/top/pntd/ptNetb",
        "P/T net",
        "PTNet",
        "",
    ];
    let kinds = types.map(|kind| format!(" type=\"{kind}\""));
    for kind in kinds.iter().map(String::as_str).chain([""]) {
        for marking in [
            "|<initialMarking><text> 4 </text></initialMarking>",
            "|<initialMarking><value>4</value></initialMarking>",
            "|<initialMarking><value>Default,4</value><graphics/></initialMarking>",
            "|<initialMarking>4</initialMarking>",
            " initialMarking=\"4\"|",
            " initialMarking=\"4\"|<initialMarking><text>4</text></initialMarking>",
        ] {
            for weight in [
                "|<inscription><text>2</text></inscription>",
                "|<inscription><value>2</value></inscription><type value=\"normal\"/>",
                " weight=\"2\" inscription=\"[0,inf)\" type=\"normal\"|",
            ] {
                let text = net(kind, marking, weight);
                let (model, messages) = read(&text);
                assert!(messages.is_empty(), "{messages:?} {text}");
                let model = model.unwrap();
                assert_eq!(model.net.initial_marking(), [4, 0], "{text}");
                assert_eq!(model.net.pre(TransitionId(0))[0].weight, 2, "{text}");
            }
        }
    }
    let (_, messages) = read(&net(" type=\"mine\"", "|", "|"));
    assert_eq!(messages, ["PNM022"]);
    for marking in [
        " initialMarking=\"3\"|<initialMarking><text>4</text></initialMarking>",
        "|<initialMarking><value>Red,4</value></initialMarking>",
    ] {
        assert_eq!(read(&net("", marking, "|")).1, ["PNM011"], "{marking}");
    }
    let weights = " weight=\"3\"|<inscription><text>2</text></inscription>";
    assert_eq!(read(&net("", "|", weights)).1, ["PNM012"]);
}

/// Inhibitor arcs of a coloured net: of black tokens they count, of others they are refused.
#[test]
fn black_tokens_inhibit_in_coloured_nets() {
    let text = |sort: &str| {
        format!(
            "<pnml><net id=\"n\" type=\"ptnet\"><declaration><structure><declarations>\
             <namedsort id=\"S\"><cyclicenumeration><feconstant id=\"a\"/><feconstant id=\"b\"/>\
             </cyclicenumeration></namedsort><namedsort id=\"D\"><dot/></namedsort></declarations>\
             </structure></declaration>\
             <place id=\"p\"><type><structure><usersort declaration=\"S\"/></structure></type>\
             <hlinitialMarking><structure><all><usersort declaration=\"S\"/></all></structure>\
             </hlinitialMarking></place>\
             <place id=\"h\"><type><structure><usersort declaration=\"{sort}\"/></structure></type></place>\
             <place id=\"done\"/><transition id=\"t\"/>\
             <arc id=\"i\" source=\"p\" target=\"t\"><hlinscription><structure>\
             <useroperator declaration=\"a\"/></structure></hlinscription></arc>\
             <arc id=\"o\" source=\"t\" target=\"done\"/>\
             <arc id=\"x\" source=\"h\" target=\"t\" type=\"inhibitor\"><inscription><text>2</text>\
             </inscription></arc><transition id=\"fill\"/>\
             <arc id=\"f\" source=\"fill\" target=\"h\"><inscription><text>1</text></inscription></arc>\
             <arc id=\"g\" source=\"h\" target=\"fill\" type=\"inhibitor\"><inscription><text>3</text>\
             </inscription></arc></net></pnml>"
        )
    };
    let (model, messages) = read(&text("D"));
    assert!(messages.is_empty(), "{messages:?}");
    let net = model.unwrap().net;
    // Three numbers of tokens in `h` before and four after `t`; `t` is possible in two of them.
    assert_eq!(explore(&net, 100).unwrap().states, 8);
    assert_eq!(explore(&net, 100).unwrap().transitions, 3 + 3 + 2);
    assert!(read(&text("S")).1.contains(&"PNM015"));
}

/// Names of nodes beside ids, where it is certain which node they mean.
#[test]
fn nodes_are_known_by_their_names() {
    let node = |kind: &str, id: &str, name: &str| {
        format!("<{kind} id=\"{id}\"><name><text>{name}</text></name></{kind}>")
    };
    let text = [
        "<pnml><net id=\"n\">",
        &node("place", "p1", "ready"),
        &node("place", "p2", "p3"),
        &node("place", "p3", "twice"),
        &node("place", "p4", "twice"),
        &node("transition", "t1", "go"),
        "</net></pnml>",
    ]
    .concat();
    let model = read(&text).0.unwrap();
    let parse = |text: &str| {
        let source = SourceFile::new("expression", text);
        let formula = stubborn_pnml::parse_state_formula(&source, &model);
        formula.map(|f| f.display(&model.net).to_string())
    };
    for (text, meant) in [
        ("ready <= 1", "p1 <= 1"),
        ("p1 <= 1", "p1 <= 1"),
        ("fireable(go)", "fireable(t1)"),
        ("\"id:p3\" == p4", "p3 == p4"),
    ] {
        assert_eq!(parse(text).unwrap(), meant, "{text}");
    }
    for (text, both) in [
        ("p3 > 0", ["`p3`", "`p2`"]),
        ("twice > 0", ["`p3`", "`p4`"]),
    ] {
        let message = parse(text).unwrap_err();
        assert_eq!(message.code, "PNM082");
        assert!(
            both.iter().all(|id| message.message.contains(id)),
            "{}",
            message.message
        );
    }
    assert_eq!(parse("nobody > 0").unwrap_err().code, "PNM064");
    // In the contest's files ids come first.
    let properties = |place: &str| {
        let text = format!(
            "<property-set><property><id>x</id><formula><place-bound><place>{place}</place>\
             </place-bound></formula></property></property-set>"
        );
        stubborn_pnml::read_properties(&SourceFile::new("x", text), &model)
    };
    let bound = |id| Some(stubborn_pnml::Question::UpperBound(vec![PlaceId(id)]));
    for (place, id) in [("p3", 2), ("ready", 0)] {
        let question = properties(place).0.pop().map(|property| property.question);
        assert_eq!(question, bound(id), "{place}");
    }
    assert_eq!(properties("twice").1[0].code, "PNM082");
}
