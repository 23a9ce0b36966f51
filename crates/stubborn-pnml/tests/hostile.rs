//! Wrong, damaged and hostile files: each gives its message, none a panic, and none takes long.

use crate::common;

use stubborn_diagnostics::{Severity, SourceFile, render};
use stubborn_net::NetSystem;
use stubborn_pnml::{
    Question, UnfoldLimits, is_about_one_property, load, load_with, read_properties,
};
use stubborn_system::Random;

fn pnml(kind: &str, body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><pnml><net id=\"n\" type=\"x/grammar/{kind}\">{body}</net></pnml>"
    )
}

fn ptnet(body: &str) -> String {
    pnml("ptnet", &format!("<page id=\"g\">{body}</page>"))
}

/// The codes of all messages; a model must be there if and only if none is an error.
fn codes(text: &str) -> Vec<&'static str> {
    let source = SourceFile::new("test.pnml", text);
    let (model, messages) = load(&source);
    let errors = messages.iter().any(|m| m.severity == Severity::Error);
    assert_eq!(
        model.is_none(),
        errors,
        "{}",
        render(&source, &messages, false)
    );
    messages.iter().map(|message| message.code).collect()
}

const PT: &str = "<place id=\"p\"/><transition id=\"t\"/>";

#[test]
fn wrong_nets_say_what_is_wrong() {
    let place = |marking: &str| {
        ptnet(&format!(
            "<place id=\"p\"><initialMarking><text>{marking}</text></initialMarking></place>"
        ))
    };
    let weight = |weight: &str| {
        ptnet(&format!(
            "{PT}<arc source=\"p\" target=\"t\"><inscription><text>{weight}</text></inscription></arc>"
        ))
    };
    let cases: Vec<(String, &[&str])> = vec![
        (ptnet(PT), &[]),
        (String::new(), &["PNM005"]),
        ("just text".to_owned(), &["PNM005"]),
        ("<html/>".to_owned(), &["PNM005"]),
        ("<pnml/>".to_owned(), &["PNM005"]),
        ("<pnml><net id=\"n\"/></pnml>".to_owned(), &[]),
        (pnml("timednet", ""), &["PNM006"]),
        (ptnet("<place/>"), &["PNM007"]),
        (ptnet("<place id=\"p\"/><place id=\"p\"/>"), &["PNM008"]),
        (
            ptnet("<place id=\"p\"/><transition id=\"p\"/>"),
            &["PNM008"],
        ),
        (
            ptnet(&format!("{PT}<arc source=\"p\" target=\"u\"/>")),
            &["PNM009"],
        ),
        (
            ptnet(&format!("{PT}<arc source=\"x\" target=\"u\"/>")),
            &["PNM009", "PNM009"],
        ),
        (
            ptnet(&format!("{PT}<arc source=\"p\" target=\"p\"/>")),
            &["PNM010"],
        ),
        (
            ptnet(&format!("{PT}<arc source=\"t\" target=\"t\"/>")),
            &["PNM010"],
        ),
        (ptnet(&format!("{PT}<arc source=\"t\"/>")), &["PNM007"]),
        (place("-1"), &["PNM011"]),
        (place("many"), &["PNM011"]),
        (place(""), &["PNM011"]),
        (place("1e3"), &["PNM011"]),
        (place("18446744073709551615"), &[]),
        (place("18446744073709551616"), &["PNM013"]),
        (weight("-2"), &["PNM012"]),
        (weight("0"), &["PNM012"]),
        (weight("4294967295"), &[]),
        (weight("4294967296"), &["PNM013"]),
        (weight(&"9".repeat(100_000)), &["PNM013"]),
        (ptnet("<referencePlace id=\"r\" ref=\"p\"/>"), &["PNM014"]),
        (
            ptnet(&format!(
                "{PT}<arc source=\"p\" target=\"t\"><type value=\"reset\"/></arc>"
            )),
            &["PNM015"],
        ),
        (
            ptnet(PT).replace("</net>", "</net><net id=\"m\" type=\"ptnet\"/>"),
            &["PNM017"],
        ),
        (ptnet("<place id=\"&x;\"/>"), &["PNM001"]),
        (
            ptnet("<place id=\"p\"><name><text>&x;</text></name></place>"),
            &["PNM003"],
        ),
    ];
    for (text, expected) in cases {
        let shown: String = text.chars().take(300).collect();
        assert_eq!(codes(&text), expected, "{shown}");
    }
}

/// However an arc says that it is no ordinary one, it is not read as one.
#[test]
fn special_arcs_are_none_of_the_ordinary_ones_in_every_spelling() {
    let kinds = [
        "resetArc",
        "transport",
        "timed",
        "inhibitor",
        "Inhibitor Arc",
        "tapnInhibitor",
        "read",
    ];
    for (kind, refused) in kinds
        .into_iter()
        .zip([true, true, true, false, false, false, false])
    {
        for (attribute, child) in [
            (format!("type=\"{kind}\""), String::new()),
            (String::new(), format!("<type value=\"{kind}\"/>")),
            (String::new(), format!("<type><text>{kind}</text></type>")),
            (
                String::new(),
                format!("<arctype><text>{kind}</text></arctype>"),
            ),
        ] {
            let arc = format!("{PT}<arc source=\"p\" target=\"t\" {attribute}>{child}</arc>");
            if refused {
                assert_eq!(codes(&ptnet(&arc)), ["PNM015"], "{arc}");
                continue;
            }
            let (model, messages) = load(&SourceFile::new("n", ptnet(&arc)));
            assert!(messages.is_empty(), "{arc}");
            let net = model.unwrap().net;
            let t = net.transitions().next().unwrap();
            let arcs = [net.pre(t), net.post(t), net.inhibitors(t)].map(<[_]>::len);
            assert_eq!(
                arcs,
                if kind == "read" { [1, 1, 0] } else { [0, 0, 1] },
                "{arc}"
            );
            let back =
                ptnet(&arc).replace("source=\"p\" target=\"t\"", "source=\"t\" target=\"p\"");
            assert_eq!(codes(&back), ["PNM015"], "{back}");
        }
    }
}

#[test]
fn units_that_make_no_sense_are_ignored_with_a_warning() {
    let units = |units: &str| {
        ptnet(&format!(
            "<place id=\"p\"/><place id=\"q\"/><toolspecific tool=\"nupn\">\
             <structure safe=\"true\">{units}</structure></toolspecific>"
        ))
    };
    let unit = |id: &str, places: &str, inner: &str| {
        format!("<unit id=\"{id}\"><places>{places}</places><subunits>{inner}</subunits></unit>")
    };
    for (body, expected) in [
        (unit("u", "p q", ""), &[][..]),
        (unit("u", "p", ""), &["PNM018"]),
        (unit("u", "p q q", ""), &["PNM018"]),
        (unit("u", "p q z", ""), &["PNM018"]),
        (unit("u", "p q", "v"), &["PNM018"]),
        (unit("u", "p q", "u"), &["PNM018"]),
        (unit("u", "p", "v") + &unit("v", "q", "u"), &["PNM018"]),
        (unit("u", "p", "") + &unit("u", "q", ""), &["PNM018"]),
    ] {
        assert_eq!(codes(&units(&body)), expected, "{body}");
    }
    let marked = units(&unit("u", "p q", "")).replace(
        "<place id=\"p\"/>",
        "<place id=\"p\"><initialMarking><text>2</text></initialMarking></place>",
    );
    assert_eq!(codes(&marked), ["PNM018"]);
}

#[test]
fn entity_bombs_and_deep_nesting_end_at_once() {
    let mut bomb = String::from("<!DOCTYPE pnml [<!ENTITY a0 \"ha\">");
    for i in 1..40 {
        bomb += &format!("<!ENTITY a{i} \"&a{};&a{};\">", i - 1, i - 1);
    }
    bomb += "]><pnml><net id=\"&a39;\" type=\"ptnet\"/></pnml>";
    assert_eq!(codes(&bomb), ["PNM003"]);
    assert_eq!(
        codes(&ptnet(&"<page id=\"x\">".repeat(1_000_000))),
        ["PNM004"]
    );
    let attributes: String = (0..200_000).map(|i| format!(" a{i}=\"\"")).collect();
    let found = codes(&ptnet(&format!("<place{attributes} id=\"p\"/>")));
    assert!(found.len() < 100, "{}", found.len());
    assert_eq!(found.last(), Some(&"PNM019"));
}

#[test]
fn a_flood_of_errors_is_cut() {
    let arcs = "<arc source=\"a\" target=\"b\"/>".repeat(10_000);
    let found = codes(&ptnet(&arcs));
    assert!(found.len() < 100, "{}", found.len());
    assert_eq!(found.last(), Some(&"PNM019"));
}

#[test]
fn every_prefix_of_a_file_is_reported_as_cut_off() {
    let whole = ptnet(&format!("{PT}<arc source=\"p\" target=\"t\"/>"));
    for end in (0..whole.len()).step_by(3) {
        let found = codes(&whole[..end]);
        assert_eq!(found.len(), 1, "{found:?} for {}", &whole[..end]);
        assert!(
            ["PNM001", "PNM002", "PNM005"].contains(&found[0]),
            "{found:?}"
        );
    }
}

/// A symmetric net with one place of sort `S`, declared as given.
fn coloured(declarations: &str, place: &str, rest: &str) -> String {
    pnml(
        "symmetricnet",
        &format!(
            "<declaration><structure><declarations>{declarations}</declarations></structure>\
             </declaration><page id=\"g\"><place id=\"p\">{place}</place>{rest}</page>"
        ),
    )
}

#[test]
fn wrong_coloured_nets_say_what_is_wrong() {
    let colours = "<namedsort id=\"S\" name=\"S\"><cyclicenumeration><feconstant id=\"a\" name=\"a\"/>\
                   <feconstant id=\"b\" name=\"b\"/></cyclicenumeration></namedsort>";
    let sort = "<type><structure><usersort declaration=\"S\"/></structure></type>";
    let marked = |term: &str| {
        format!("{sort}<hlinitialMarking><structure>{term}</structure></hlinitialMarking>")
    };
    let arc = |term: &str| {
        format!(
            "<transition id=\"t\"/><arc source=\"p\" target=\"t\"><hlinscription><structure>\
             {term}</structure></hlinscription></arc>"
        )
    };
    let ok = "<useroperator declaration=\"a\"/>";
    let range = |start: &str, end: &str| {
        format!("<namedsort id=\"S\"><finiteintrange start=\"{start}\" end=\"{end}\"/></namedsort>")
    };
    let product = |parts: usize| {
        let parts = "<usersort declaration=\"R\"/>".repeat(parts);
        format!(
            "<namedsort id=\"R\"><finiteintrange start=\"1\" end=\"10000\"/></namedsort>\
             <namedsort id=\"S\"><productsort>{parts}</productsort></namedsort>"
        )
    };
    let all = marked("<all><usersort declaration=\"S\"/></all>");
    let circle =
        "<namedsort id=\"S\"><productsort><usersort declaration=\"S\"/></productsort></namedsort>";
    let cases: Vec<(String, &[&str])> = vec![
        (coloured(colours, &marked(ok), &arc(ok)), &[]),
        (coloured("", sort, ""), &["PNM033"]),
        (coloured(circle, sort, ""), &["PNM034"]),
        (coloured("<namedsort id=\"S\"/>", sort, ""), &["PNM030"]),
        (
            coloured("<namedsort id=\"S\"><string/></namedsort>", sort, ""),
            &["PNM031"],
        ),
        (coloured(&range("3", "1"), sort, ""), &["PNM035"]),
        (coloured(&range("1", "x"), sort, ""), &["PNM035"]),
        (
            coloured(
                &range("-9000000000000000000", "9000000000000000000"),
                sort,
                "",
            ),
            &["PNM032"],
        ),
        (coloured(colours, "", ""), &["PNM043"]),
        (
            coloured(colours, &marked("<variable refvariable=\"x\"/>"), ""),
            &["PNM033"],
        ),
        (
            coloured(colours, &marked("<useroperator declaration=\"c\"/>"), ""),
            &["PNM033"],
        ),
        (
            coloured(colours, &marked("<dotconstant/>"), ""),
            &["PNM042"],
        ),
        (coloured(colours, &marked("<unknown/>"), ""), &["PNM041"]),
        (
            coloured(
                colours,
                &marked(
                    "<numberof><subterm><numberconstant value=\"-1\"/></subterm><subterm><useroperator declaration=\"a\"/></subterm></numberof>",
                ),
                "",
            ),
            &["PNM040"],
        ),
        (
            coloured(
                colours,
                &marked(&format!(
                    "<subtract><subterm>{ok}</subterm><subterm><useroperator declaration=\"b\"/></subterm></subtract>"
                )),
                "",
            ),
            &["PNM046"],
        ),
        (
            coloured(
                colours,
                sort,
                "<transition id=\"t\"/><arc source=\"p\" target=\"t\"/>",
            ),
            &["PNM045"],
        ),
        (coloured(&product(2), &all, ""), &["PNM050"]),
        (coloured(&product(40), &all, ""), &["PNM032"]),
        (coloured(&product(70), &all, ""), &["PNM032"]),
    ];
    for (text, expected) in cases {
        let shown: String = text.chars().take(600).collect();
        assert_eq!(codes(&text), expected, "{shown}");
    }
}

#[test]
fn a_long_chain_of_sorts_does_not_overflow_the_stack() {
    let mut sorts = String::new();
    for i in 0..100_000 {
        let next = i + 1;
        sorts += &format!("<namedsort id=\"S{i}\"><usersort declaration=\"S{next}\"/></namedsort>");
    }
    let found = codes(&coloured(&sorts, "", ""));
    assert!(found.contains(&"PNM034"), "{found:?}");
}

#[test]
fn limits_of_the_unfolding_are_kept() {
    let Some(corpus) = common::corpus() else {
        return;
    };
    let source = common::read(&corpus.join("TokenRing-COL-005/model.pnml"));
    for limits in [
        UnfoldLimits {
            places: 10,
            ..UnfoldLimits::default()
        },
        UnfoldLimits {
            transitions: 10,
            ..UnfoldLimits::default()
        },
        UnfoldLimits {
            arcs: 10,
            ..UnfoldLimits::default()
        },
        UnfoldLimits {
            steps: 10,
            ..UnfoldLimits::default()
        },
    ] {
        let (model, messages) = load_with(&source, &limits);
        assert!(model.is_none());
        assert_eq!(messages[0].code, "PNM050");
    }
}

#[test]
fn wrong_properties_say_what_is_wrong() {
    let source = SourceFile::new("n", ptnet(PT));
    let model = load(&source).0.unwrap();
    let property = |formula: &str| {
        format!(
            "<property-set><property><id>x</id><formula>{formula}</formula></property></property-set>"
        )
    };
    let deep = format!(
        "{}<deadlock/>{}",
        "<negation>".repeat(700),
        "</negation>".repeat(700)
    );
    let doubled = |n: usize| {
        format!(
            "{}<true/>{}",
            "<equivalence><false/>".repeat(n),
            "</equivalence>".repeat(n)
        )
    };
    let ef = |inner: &str| {
        property(&format!(
            "<exists-path><finally>{inner}</finally></exists-path>"
        ))
    };
    for (text, properties, expected) in [
        (ef("<deadlock/>"), 1, &[][..]),
        (ef(&deep), 1, &[]),
        (ef(&doubled(5)), 1, &[]),
        (ef(&doubled(500)), 1, &["PNM066"]),
        (
            property("<place-bound><place>p</place></place-bound>"),
            1,
            &[],
        ),
        (
            property("<all-paths><next><true/></next></all-paths>"),
            1,
            &[],
        ),
        ("<x/>".to_owned(), 0, &["PNM060"]),
        (property(""), 1, &["PNM067"]),
        (ef("<magic/>"), 1, &["PNM061"]),
        (ef("<negation/>"), 1, &["PNM062"]),
        (
            ef("<until><before><true/></before></until>"),
            1,
            &["PNM062"],
        ),
        (
            ef("<integer-le><integer-constant>1</integer-constant></integer-le>"),
            1,
            &["PNM062"],
        ),
        (
            ef(
                "<integer-le><integer-constant>-1</integer-constant><integer-constant>2</integer-constant></integer-le>",
            ),
            1,
            &["PNM063"],
        ),
        (
            ef(
                "<integer-le><integer-sum><integer-constant>1</integer-constant></integer-sum>\
                <integer-constant>1</integer-constant></integer-le>",
            ),
            1,
            &["PNM062"],
        ),
        (
            ef(
                "<integer-le><integer-sum><integer-constant>18446744073709551615</integer-constant>\
                <integer-constant>1</integer-constant></integer-sum>\
                <integer-constant>1</integer-constant></integer-le>",
            ),
            1,
            &["PNM063"],
        ),
        (
            ef(
                "<integer-le><integer-product><integer-constant>2</integer-constant>\
                <integer-constant>1</integer-constant></integer-product>\
                <integer-constant>1</integer-constant></integer-le>",
            ),
            1,
            &["PNM061"],
        ),
        (
            ef("<is-fireable><transition>u</transition></is-fireable>"),
            1,
            &["PNM064"],
        ),
        (
            property("<place-bound><place>t</place></place-bound>"),
            1,
            &["PNM064"],
        ),
        (
            property("<exists-path><globally><true/></globally></exists-path>"),
            1,
            &[],
        ),
        (
            property(
                "<all-paths><finally><exists-path><next><true/></next></exists-path></finally></all-paths>",
            ),
            1,
            &[],
        ),
        (
            property("<exists-path><finally><globally><true/></globally></finally></exists-path>"),
            1,
            &["PNM065"],
        ),
        (
            property(
                "<negation><all-paths><finally><next><true/></next></finally></all-paths></negation>",
            ),
            1,
            &["PNM065"],
        ),
    ] {
        let source = SourceFile::new("p.xml", text);
        let (found, messages) = read_properties(&source, &model);
        let codes: Vec<&str> = messages.iter().map(|m| m.code).collect();
        let shown: String = source.text().chars().take(300).collect();
        assert_eq!(codes, expected, "{shown}");
        assert_eq!(found.len(), properties, "{shown}");
        let is_understood = found.iter().all(|p| p.question != Question::Unsupported);
        assert_eq!(
            is_understood,
            codes.is_empty() || properties == 0,
            "{shown}"
        );
        assert!(properties == 0 || messages.iter().all(is_about_one_property));
    }
}

/// One property that is wrong is no reason not to read the others, and numbers can be sums and differences.
#[test]
fn each_property_is_read_by_itself() {
    let source = SourceFile::new("n", ptnet(PT));
    let model = load(&source).0.unwrap();
    let tokens = "<tokens-count><place>p</place></tokens-count>";
    let number = |n: u64| format!("<integer-constant>{n}</integer-constant>");
    let (two, three) = (number(2), number(3));
    // p + p + 3 - (p - 2) <= 3 - p
    let formula = format!(
        "<integer-le><integer-difference><integer-sum>{tokens}{tokens}{three}</integer-sum>\
         <integer-difference>{tokens}{two}</integer-difference></integer-difference>\
         <integer-difference>{three}{tokens}</integer-difference></integer-le>"
    );
    let property = |id: &str, formula: &str| {
        format!(
            "<property><id>{id}</id><formula><exists-path><finally>{formula}</finally></exists-path></formula></property>"
        )
    };
    let text = format!(
        "<property-set>{}{}{}</property-set>",
        property("a", "<magic/>"),
        property("b", &formula),
        property("c", "<is-fireable><transition>u</transition></is-fireable>"),
    );
    let (found, messages) = read_properties(&SourceFile::new("p.xml", text), &model);
    assert_eq!(messages.len(), 2);
    let ids: Vec<&str> = found.iter().map(|property| property.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(found[0].question, Question::Unsupported);
    assert_eq!(found[2].question, Question::Unsupported);
    let Question::Reachable(formula) = &found[1].question else {
        panic!("{:?}", found[1].question);
    };
    let shown = formula.display(&model.net).to_string();
    assert_eq!(shown, "p + p + p + 5 <= p + 3");
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 => bytes[at] = b"<>\"/&0123456789 a-"[random.below(18)],
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            3 => bytes.truncate(at.max(1)),
            4 => {
                // A number becomes another, often a large one.
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    let number = ["0", "2", "4294967296", "99999999999999999999", "-1"];
                    let place = at + digit;
                    bytes.splice(place..=place, number[random.below(5)].bytes());
                }
            }
            _ => {
                // An attribute value or name of one place appears at another.
                let to = random.below(bytes.len().saturating_sub(end - at).max(1));
                let piece = bytes[at..end].to_vec();
                let to_end = (to + piece.len()).min(bytes.len());
                bytes.splice(to..to_end, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'<');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Loads mutants; what loads must also execute.
fn try_mutants(texts: &[String], rounds: usize) {
    let limits = UnfoldLimits {
        places: 2_000,
        transitions: 2_000,
        arcs: 20_000,
        steps: 200_000,
    };
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds {
        let text = mutate(&texts[round % texts.len()], &mut random);
        let source = SourceFile::new("mutant.pnml", text);
        let (model, messages) = load_with(&source, &limits);
        render(&source, &messages, false);
        let errors = messages.iter().any(|m| m.severity == Severity::Error);
        assert_eq!(model.is_none(), errors);
        if let Some(model) = model
            && let Ok(system) = NetSystem::new(model.net)
        {
            use stubborn_system::{Successors, System};
            let mut out = Successors::new(system.layout().words());
            system
                .executor()
                .successors(&system.initial_states(), &mut out);
        }
    }
}

#[test]
fn mutants_of_own_nets_do_no_harm() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let texts: Vec<String> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    try_mutants(&texts, 4_000);
}

#[test]
#[ignore = "long: many mutants of the contest's small files"]
fn mutants_of_the_corpus_do_no_harm() {
    let Some(corpus) = common::corpus() else {
        return;
    };
    let texts: Vec<String> = common::instances(&corpus)
        .iter()
        .map(|name| std::fs::read_to_string(corpus.join(name).join("model.pnml")).unwrap())
        .filter(|text| text.len() < 60_000)
        .collect();
    try_mutants(&texts, 5_000);
}

#[test]
#[ignore = "long: writes and loads a file of a million nodes"]
fn a_million_nodes_load() {
    use std::fmt::Write;
    let nodes = 500_000;
    let mut body = String::new();
    for i in 0..nodes {
        let _ = write!(
            body,
            "<place id=\"place-{i}\"><name><text>place {i}</text></name><initialMarking><text>{}\
             </text></initialMarking></place>\n<transition id=\"transition-{i}\"><name><text>t {i}\
             </text></name></transition>\n<arc id=\"in-{i}\" source=\"place-{i}\" target=\"transition-{i}\"/>\n\
             <arc id=\"out-{i}\" source=\"transition-{i}\" target=\"place-{}\"/>\n",
            i % 2,
            (i + 1) % nodes,
        );
    }
    let source = SourceFile::new("large.pnml", ptnet(&body));
    assert!(source.text().len() > 100_000_000, "{}", source.text().len());
    let start = std::time::Instant::now();
    let (model, messages) = load(&source);
    assert!(messages.is_empty());
    let net = model.unwrap().net;
    assert_eq!((net.place_count(), net.transition_count()), (nodes, nodes));
    eprintln!(
        "loaded {} bytes in {:?}",
        source.text().len(),
        start.elapsed()
    );
    let start = std::time::Instant::now();
    let system = NetSystem::new(net).unwrap();
    eprintln!("prepared in {:?}", start.elapsed());
    use stubborn_system::{Successors, System};
    let mut out = Successors::new(system.layout().words());
    let initial = system.initial_states();
    system
        .executor()
        .fire(&initial, stubborn_system::TransitionId::new(1), &mut out);
    assert_eq!(out.len(), 1);
}
