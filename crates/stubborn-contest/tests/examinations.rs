//! Examinations of small nets whose answers are plain to see.

use std::time::Duration;

use stubborn_contest::{Examination, Line, Options, Value, examine};
use stubborn_diagnostics::SourceFile;
use stubborn_net::{NetBuilder, ReductionRules};
use stubborn_pnml::{Model, read_properties};

/// Ways to examine that must agree.
fn ways() -> Vec<Options<'static>> {
    let plain = Options {
        stubborn_sets: false,
        structural: ReductionRules::NONE,
        equation: false,
        traps: false,
        walks: false,
        time: Some(Duration::from_secs(20)),
        ..Options::default()
    };
    vec![
        Options {
            time: plain.time,
            ..Options::default()
        },
        plain.clone(),
        Options {
            stubborn_sets: true,
            structural: ReductionRules::WITHOUT_RUNS,
            ..plain.clone()
        },
        Options {
            equation: true,
            traps: true,
            ..plain
        },
    ]
}

fn lines(examination: Examination, model: &Model, text: &str, options: &Options<'_>) -> Vec<Line> {
    let properties = match text {
        "" => Vec::new(),
        text => {
            let (properties, messages) =
                read_properties(&SourceFile::new("properties.xml", text), model);
            assert!(messages.is_empty(), "{messages:?}");
            properties
        }
    };
    let mut lines = Vec::new();
    examine(examination, model, &properties, options, &mut |line| {
        lines.push(line);
    });
    lines
}

/// The only answer, the same in every way.
fn value(examination: Examination, model: &Model, text: &str) -> Value {
    let values: Vec<Value> = ways()
        .iter()
        .map(
            |options| match lines(examination, model, text, options).as_slice() {
                [Line::Formula { value, .. }] => *value,
                other => panic!("{other:?}"),
            },
        )
        .collect();
    assert!(
        values.iter().all(|v| *v == values[0]),
        "{examination}: {values:?}"
    );
    values[0]
}

fn truth(examination: Examination, model: &Model) -> Option<bool> {
    match value(examination, model, "") {
        Value::Truth(value) => Some(value),
        _ => None,
    }
}

/// A ring of `n` places with one token, and on request a way out of it.
fn ring(n: usize, with_exit: bool) -> Model {
    let mut builder = NetBuilder::new("ring");
    let places: Vec<_> = (0..n)
        .map(|i| builder.place(&format!("p{i}"), u64::from(i == 0)))
        .collect();
    for i in 0..n {
        let t = builder.transition(&format!("t{i}"));
        builder.input(places[i], t, 1);
        builder.output(t, places[(i + 1) % n], 1);
    }
    if with_exit {
        let out = builder.place("out", 0);
        let exit = builder.transition("exit");
        builder.input(places[1], exit, 1);
        builder.output(exit, out, 2);
    }
    Model::from_net(builder.build().unwrap())
}

#[test]
fn a_ring_is_live_and_safe() {
    let model = ring(5, false);
    assert_eq!(
        truth(Examination::ReachabilityDeadlock, &model),
        Some(false)
    );
    assert_eq!(truth(Examination::Liveness, &model), Some(true));
    assert_eq!(truth(Examination::QuasiLiveness, &model), Some(true));
    assert_eq!(truth(Examination::OneSafe, &model), Some(true));
    assert_eq!(truth(Examination::StableMarking, &model), Some(false));
}

#[test]
fn a_ring_with_an_exit_is_neither() {
    let model = ring(5, true);
    assert_eq!(truth(Examination::ReachabilityDeadlock, &model), Some(true));
    assert_eq!(truth(Examination::Liveness, &model), Some(false));
    assert_eq!(truth(Examination::QuasiLiveness, &model), Some(true));
    assert_eq!(truth(Examination::OneSafe, &model), Some(false));
}

/// Two rings without anything in common: stubborn sets would go round one for ever, and must
/// not ignore the other.
#[test]
fn independent_parts_are_not_ignored() {
    let mut builder = NetBuilder::new("two rings");
    for name in ["a", "b"] {
        let places = [0, 1].map(|i| builder.place(&format!("{name}{i}"), u64::from(i == 0)));
        for i in 0..2 {
            let t = builder.transition(&format!("{name}t{i}"));
            builder.input(places[i], t, 1);
            builder.output(t, places[1 - i], 1);
        }
    }
    let spare = builder.place("spare", 4);
    let never = builder.transition("never");
    builder.input(spare, never, 5);
    let model = Model::from_net(builder.build().unwrap());
    assert_eq!(truth(Examination::QuasiLiveness, &model), Some(false));
    assert_eq!(truth(Examination::Liveness, &model), Some(false));
    assert_eq!(truth(Examination::StableMarking, &model), Some(true));
    assert_eq!(truth(Examination::OneSafe, &model), Some(false));
    let places = "<place-bound><place>a1</place><place>b1</place></place-bound>";
    let text = property(places);
    let bound = value(Examination::UpperBounds, &model, &text);
    assert_eq!(bound, Value::Number(2));
}

/// A dead branch: live until the exit is taken, and then something else goes on for ever.
#[test]
fn a_component_that_cannot_be_left_decides() {
    let mut builder = NetBuilder::new("branch");
    let [a, b, c] = ["a", "b", "c"].map(|n| builder.place(n, u64::from(n == "a")));
    for (name, from, to) in [("go", a, b), ("back", b, a), ("exit", b, c), ("stay", c, c)] {
        let t = builder.transition(name);
        builder.input(from, t, 1);
        builder.output(t, to, 1);
    }
    let model = Model::from_net(builder.build().unwrap());
    assert_eq!(
        truth(Examination::ReachabilityDeadlock, &model),
        Some(false)
    );
    assert_eq!(truth(Examination::QuasiLiveness, &model), Some(true));
    assert_eq!(truth(Examination::Liveness, &model), Some(false));
}

fn property(formula: &str) -> String {
    format!(
        "<property-set><property><id>one</id><description/><formula>{formula}</formula></property>\
         </property-set>"
    )
}

fn at_most(place: &str, tokens: u32) -> String {
    format!(
        "<integer-le><tokens-count><place>{place}</place></tokens-count>\
         <integer-constant>{tokens}</integer-constant></integer-le>"
    )
}

#[test]
fn formulas_are_answered() {
    let model = ring(4, true);
    let invariant = |inner: &str| {
        property(&format!(
            "<all-paths><globally>{inner}</globally></all-paths>"
        ))
    };
    let reachable = |inner: &str| {
        property(&format!(
            "<exists-path><finally>{inner}</finally></exists-path>"
        ))
    };
    let eventually = |inner: &str| {
        property(&format!(
            "<all-paths><finally>{inner}</finally></all-paths>"
        ))
    };
    let cardinality = Examination::ReachabilityCardinality;
    let fireability = Examination::ReachabilityFireability;
    let answer = |examination, text: &str| value(examination, &model, text);
    assert_eq!(
        answer(cardinality, &invariant(&at_most("out", 2))),
        Value::Truth(true)
    );
    assert_eq!(
        answer(cardinality, &invariant(&at_most("out", 1))),
        Value::Truth(false)
    );
    let more = format!("<negation>{}</negation>", at_most("p2", 1));
    assert_eq!(answer(cardinality, &reachable(&more)), Value::Truth(false));
    let exit = "<is-fireable><transition>exit</transition></is-fireable>";
    assert_eq!(answer(fireability, &reachable(exit)), Value::Truth(true));
    // The last marking of a path that ends is repeated for ever.
    let ltl = Examination::LtlFireability;
    assert_eq!(answer(ltl, &eventually(exit)), Value::Truth(true));
    let two = format!("<negation>{}</negation>", at_most("out", 1));
    assert_eq!(
        answer(Examination::LtlCardinality, &eventually(&two)),
        Value::Truth(false)
    );
}

/// More states than anybody can see: how many tokens there are is known all the same.
#[test]
fn a_state_space_is_known_in_part() {
    let mut builder = NetBuilder::new("many");
    for number in 0..60 {
        let (on, off) = (format!("on{number}"), format!("off{number}"));
        let places = [builder.place(&on, 2), builder.place(&off, 0)];
        for (from, to) in [(0, 1), (1, 0)] {
            let t = builder.transition(&format!("t{number}.{from}"));
            builder.input(places[from], t, 1);
            builder.output(t, places[to], 1);
        }
    }
    let model = Model::from_net(builder.build().unwrap());
    let options = Options {
        time: Some(Duration::from_secs(3)),
        memory: Some(64 << 20),
        ..Options::default()
    };
    let found = lines(Examination::StateSpace, &model, "", &options);
    let found: Vec<String> = found.iter().map(Line::to_string).collect();
    let expected = [
        "STATE_SPACE MAX_TOKEN_PER_MARKING 120 TECHNIQUES EXPLICIT LINEAR_PROGRAMMING",
        "STATE_SPACE MAX_TOKEN_IN_PLACE 2 TECHNIQUES EXPLICIT TOPOLOGICAL",
    ];
    let same = |(found, expected): (&String, &str)| {
        let mut words: Vec<&str> = found.split(' ').collect();
        let mut wanted: Vec<&str> = expected.split(' ').collect();
        words.sort_unstable();
        wanted.sort_unstable();
        words == wanted
    };
    assert!(
        found.len() == 2 && found.iter().zip(expected).all(same),
        "{found:?}"
    );
}

/// A net without bound: that is said, and what was seen counts; nothing is said about the rest.
#[test]
fn an_unbounded_net_gives_what_can_be_seen() {
    let mut builder = NetBuilder::new("unbounded");
    let p = builder.place("p", 0);
    let q = builder.place("q", 1);
    let t = builder.transition("t");
    builder.input(q, t, 1);
    builder.output(t, q, 1);
    builder.output(t, p, 1);
    let model = Model::from_net(builder.build().unwrap());
    let options = Options {
        time: Some(Duration::from_millis(300)),
        memory: Some(64 << 20),
        ..Options::default()
    };
    let only = |examination, text: &str| lines(examination, &model, text, &options);
    let space = only(Examination::StateSpace, "");
    assert_eq!(space.len(), 4, "{space:?}");
    let is_infinite = |line: &Line| matches!(line, Line::StateSpace { value: None, .. });
    assert!(space.iter().all(is_infinite), "{space:?}");
    let bound = only(
        Examination::UpperBounds,
        &property("<place-bound><place>p</place></place-bound>"),
    );
    assert!(matches!(
        bound.as_slice(),
        [Line::Formula {
            value: Value::Infinite,
            ..
        }]
    ));
    let one_safe = only(Examination::OneSafe, "");
    assert!(matches!(
        one_safe.as_slice(),
        [Line::Formula {
            value: Value::Truth(false),
            ..
        }]
    ));
}

/// Fields of places are narrow here, and what does not fit is no end of a run: no examination takes it for a
/// deadlock, or for all that there is.
#[test]
fn what_does_not_fit_is_neither_an_end_nor_left_out_in_silence() {
    for weight in [1 << 17, u32::MAX] {
        let mut builder = NetBuilder::new("heap");
        let [a, b, heap, late] = [("a", 1), ("b", 0), ("heap", 1), ("late", 1)]
            .map(|(name, tokens)| builder.place(name, tokens));
        // Round and round with more and more in the heap, which lets `take` fire.
        for (name, from, to, gives) in [("there", a, b, 0), ("back", b, a, weight)] {
            let t = builder.transition(name);
            builder.input(from, t, 1);
            builder.output(t, to, 1);
            builder.output(t, heap, gives);
        }
        let take = builder.transition("take");
        builder.input(late, take, 1);
        builder.input(heap, take, weight);
        builder.output(take, heap, 1);
        let model = Model::from_net(builder.build().unwrap());
        let formula = |text: &str| {
            format!(
                "<property-set><property><id>f</id><description/><formula>{text}</formula>\
                 </property></property-set>"
            )
        };
        let late = "<integer-le><integer-constant>1</integer-constant><tokens-count><place>late</place>\
                    </tokens-count></integer-le>";
        let cases = [
            (Examination::ReachabilityDeadlock, String::new(), false),
            (Examination::QuasiLiveness, String::new(), true),
            (Examination::Liveness, String::new(), false),
            (
                Examination::ReachabilityCardinality,
                formula(&format!(
                    "<all-paths><globally>{late}</globally></all-paths>"
                )),
                false,
            ),
            (
                Examination::LtlCardinality,
                formula(&format!(
                    "<all-paths><globally>{late}</globally></all-paths>"
                )),
                false,
            ),
            (
                Examination::CtlCardinality,
                formula(&format!(
                    "<exists-path><finally><negation>{late}</negation></finally></exists-path>"
                )),
                true,
            ),
        ];
        for (examination, text, truth) in cases {
            for options in ways() {
                let options = Options {
                    time: Some(Duration::from_millis(60)),
                    ..options
                };
                let lines = lines(examination, &model, &text, &options);
                let [Line::Formula { value, .. }] = lines.as_slice() else {
                    panic!("{lines:?}");
                };
                let is_right = [Value::Truth(truth), Value::Unknown].contains(value);
                assert!(
                    is_right,
                    "{examination} of weight {weight}: {value:?}, {options:?}"
                );
            }
        }
    }
}
