//! Nothing is dropped unread: whatever is renamed, added or doubled in a file, the net or the formulas
//! change only with a message.

use std::path::Path;

use crate::common;
use stubborn_diagnostics::SourceFile;
use stubborn_pnml::{Model, load, pnml, read_properties};
use stubborn_system::Random;

/// An opening tag: where its name stands, where it ends, and where its closing tag begins, if it has
/// one of its own.
struct Tag<'t> {
    name: &'t str,
    at: usize,
    end: usize,
    close: Option<usize>,
    inside: Vec<&'t str>,
}

/// All opening tags of a well-formed text.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags: Vec<Tag<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found + 1;
        let skip_to = |end: &str| start + text[start..].find(end).unwrap() + end.len();
        match &text[start..start + 1] {
            "?" => at = skip_to("?>"),
            "!" if text[start..].starts_with("!--") => at = skip_to("-->"),
            "!" => at = skip_to(">"),
            "/" => {
                let tag = open.pop().unwrap();
                tags[tag].close = Some(start - 1);
                at = skip_to(">");
            }
            _ => {
                at = skip_to(">");
                let rest = &text[start..at - 1];
                let length = rest.find(|c: char| c.is_whitespace() || c == '/');
                let name = &rest[..length.unwrap_or(rest.len())];
                let inside = open.iter().map(|tag| tags[*tag].name).collect();
                if !rest.ends_with('/') {
                    open.push(tags.len());
                }
                tags.push(Tag {
                    name,
                    at: start,
                    end: at,
                    close: None,
                    inside,
                });
            }
        }
    }
    tags
}

/// The text with some of it replaced.
fn with(text: &str, at: std::ops::Range<usize>, new: &str) -> String {
    [&text[..at.start], new, &text[at.end..]].concat()
}

/// Elements with a meaning, and where they have it.
const MEANINGFUL: [(&str, &[&str]); 14] = [
    (
        "<initialMarking><text>7</text></initialMarking>",
        &["place"],
    ),
    ("<inscription><value>3</value></inscription>", &["arc"]),
    ("<type value=\"inhibitor\"/>", &["arc"]),
    ("<arctype><text>reset</text></arctype>", &["arc"]),
    ("<capacity><value>1</value></capacity>", &[]),
    ("<priority><value>9</value></priority>", &[]),
    ("<condition><text>x = 1</text></condition>", &[]),
    ("<delay>4</delay>", &[]),
    ("<negation/>", &[]),
    ("<subterm><dotconstant/></subterm>", &[]),
    ("<text>5</text>", &[]),
    ("<place>p</place>", &["place-bound", "tokens-count"]),
    ("<interval closure=\"open\"/>", &[]),
    ("<unheardOf weight=\"2\">5</unheardOf>", &[]),
];

/// Elements in which nothing has a meaning.
const OTHERS: [&str; 3] = ["graphics", "toolspecific", "description"];

/// The text with something renamed, added or doubled that may change its meaning, and what was done; none
/// if what came out means what it says.
fn changed(text: &str, random: &mut Random) -> Option<(String, String)> {
    let tags = tags(text);
    let tag = &tags[random.below(tags.len())];
    let others = |name: &&str| OTHERS.contains(name);
    if tag.inside.iter().any(others) || others(&tag.name) {
        return None;
    }
    let after = tag.at + tag.name.len();
    Some(match random.below(5) {
        0 => {
            let mut all = with(text, after..after, "Z");
            if let Some(close) = tag.close {
                let end = close + 3 + tag.name.len();
                all = with(&all, end..end, "Z");
            }
            (all, format!("`{}` renamed", tag.name))
        }
        1 => {
            let attributes = &text[after..tag.end];
            let names: Vec<usize> = attributes.match_indices('=').map(|(at, _)| at).collect();
            if names.is_empty() {
                return None;
            }
            let at = after + names[random.below(names.len())];
            (
                with(text, at..at, "Z"),
                format!("an attribute of `{}` renamed", tag.name),
            )
        }
        2 => {
            let name = ["rate", "type", "weight", "capacity", "initialMarking"][random.below(5)];
            if tag.name == "arc" || (tag.name, name) == ("place", "initialMarking") {
                return None;
            }
            let attribute = format!(" {name}=\"3\"");
            let what = format!("attribute `{name}` of `{}` added", tag.name);
            (with(text, after..after, &attribute), what)
        }
        3 => {
            let (element, right) = MEANINGFUL[random.below(MEANINGFUL.len())];
            let close = tag.close?;
            if right.contains(&tag.name) {
                return None;
            }
            (
                with(text, close..close, element),
                format!("{element} in `{}`", tag.name),
            )
        }
        _ => {
            // A second net is told by a warning, second nodes by their ids, and a read loop is an arc.
            let several = [
                "place",
                "transition",
                "arc",
                "page",
                "property",
                "unit",
                "net",
            ];
            let operands = tag
                .inside
                .iter()
                .any(|n| ["structure", "formula"].contains(n));
            let close = tag.close?;
            if several.contains(&tag.name) || operands || tag.inside.is_empty() {
                return None;
            }
            let end = close + 3 + tag.name.len();
            let twice = text[tag.at - 1..end].to_owned();
            (
                with(text, end..end, &twice),
                format!("`{}` twice", tag.name),
            )
        }
    })
}

/// Of so many changes of a text, those that make it mean something else without a message.
fn changes<T: PartialEq>(
    text: &str,
    random: &mut Random,
    count: usize,
    read: impl Fn(&str) -> (T, bool),
) {
    let (whole, _) = read(text);
    for _ in 0..count {
        if let Some((changed, what)) = changed(text, random) {
            let (other, messages) = read(&changed);
            assert!(messages || other == whole, "{what}:\n{changed}");
        }
    }
}

fn read_net(text: &str) -> (Option<String>, bool) {
    let (model, messages) = load(&SourceFile::new("net", text));
    // Names and ids of things that are no nodes have no meaning.
    let shown = model.map(|model| {
        let places = model
            .place_groups()
            .map(|(name, range)| format!("{name}{range:?}"));
        let transitions = model
            .transition_groups()
            .map(|(name, range)| format!("{name}{range:?}"));
        let groups: String = places.chain(transitions).collect();
        format!("{}{groups}", pnml(&model.net))
    });
    (shown, !messages.is_empty())
}

const FORMULAS: &str = "<property-set xmlns=\"http://mcc.lip6.fr/\"><property><id>a</id>
<description>d</description><formula><all-paths><globally><disjunction><integer-le>
<tokens-count><place>p</place></tokens-count><integer-constant>3</integer-constant></integer-le>
<negation><is-fireable><transition>t</transition></is-fireable></negation></disjunction></globally>
</all-paths></formula></property><property><id>b</id><formula><all-paths><until><before>
<integer-eq><tokens-count><place>p</place></tokens-count><integer-constant>1</integer-constant>
</integer-eq></before><reach><deadlock/></reach></until></all-paths></formula></property>
<property><id>c</id><formula><place-bound><place>p</place></place-bound></formula></property>
<property><id>d</id><formula><exists-path><until><before><true/></before><reach><all-paths><next>
<is-fireable><transition>t</transition></is-fireable></next></all-paths></reach></until>
</exists-path></formula></property></property-set>";

const NETS: [&str; 3] = [
    "<pnml xmlns=\"x\"><net id=\"n\" type=\"PTNet\"><name><value>n</value></name>
    <place id=\"p\"><name><value>P</value></name><initialMarking><value>2</value></initialMarking>
    <graphics/></place><place id=\"q\"/><transition id=\"t\"><name><value>T</value></name></transition>
    <arc id=\"a\" source=\"p\" target=\"t\"><inscription><value>2</value></inscription></arc>
    <arc id=\"b\" source=\"t\" target=\"q\"/></net></pnml>",
    "<pnml><net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><page id=\"g\">
    <place id=\"p\"><initialMarking><text>1</text></initialMarking></place><place id=\"q\"/>
    <transition id=\"t\"/><arc id=\"a\" source=\"p\" target=\"t\" type=\"read\"/>
    <arc id=\"b\" source=\"t\" target=\"q\"/></page><toolspecific tool=\"nupn\" version=\"1.1\">
    <structure units=\"3\" root=\"r\" safe=\"true\"><unit id=\"r\"><places/><subunits>u v</subunits></unit>
    <unit id=\"u\"><places>p</places><subunits/></unit>
    <unit id=\"v\"><places>q</places><subunits/></unit></structure></toolspecific></net></pnml>",
    "<pnml><net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><declaration><structure>
    <declarations><namedsort id=\"S\" name=\"S\"><cyclicenumeration><feconstant id=\"a\" name=\"a\"/>
    <feconstant id=\"b\" name=\"b\"/></cyclicenumeration></namedsort><variabledecl id=\"x\" name=\"x\">
    <usersort declaration=\"S\"/></variabledecl></declarations></structure></declaration><page id=\"g\">
    <place id=\"p\"><type><text>S</text><structure><usersort declaration=\"S\"/></structure></type>
    <hlinitialMarking><structure><add><subterm><numberof><subterm><numberconstant value=\"2\"><positive/>
    </numberconstant></subterm><subterm><useroperator declaration=\"a\"/></subterm></numberof></subterm>
    <subterm><all><usersort declaration=\"S\"/></all></subterm></add></structure></hlinitialMarking></place>
    <place id=\"q\"/><transition id=\"t\"><condition><structure><inequality><subterm><variable
    refvariable=\"x\"/></subterm><subterm><useroperator declaration=\"b\"/></subterm></inequality></structure>
    </condition></transition><arc id=\"i\" source=\"p\" target=\"t\"><hlinscription><structure><tuple><subterm>
    <successor><subterm><variable refvariable=\"x\"/></subterm></successor></subterm></tuple></structure>
    </hlinscription></arc><arc id=\"o\" source=\"t\" target=\"q\"/></page></net></pnml>",
];

#[test]
fn changes_of_own_nets_and_formulas_are_told() {
    let mut random = Random::new(0x0dd5_0dd5_0dd5_0dd5);
    for text in NETS {
        assert!(matches!(read_net(text), (Some(_), false)), "{text}");
        changes(text, &mut random, 4_000, read_net);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = common::read(&entry.unwrap().path()).text().to_owned();
        changes(&text, &mut random, 1_000, read_net);
    }
    let model: Model = load(&SourceFile::new("net", NETS[0])).0.unwrap();
    let read = |text: &str| {
        let (properties, messages) = read_properties(&SourceFile::new("formulas", text), &model);
        let all = properties.into_iter().map(|p| (p.id, p.question));
        (all.collect::<Vec<_>>(), !messages.is_empty())
    };
    assert!(matches!(read(FORMULAS), (all, false) if all.len() == 4));
    changes(FORMULAS, &mut random, 8_000, read);
}

#[test]
fn changes_of_the_corpus_are_told() {
    let Some(corpus) = common::corpus() else {
        return;
    };
    let mut random = Random::new(0xc0d5_0dd5_0dd5_0dd5);
    for instance in common::instances(&corpus) {
        let folder = corpus.join(&instance);
        let text = common::read(&folder.join("model.pnml")).text().to_owned();
        if text.len() < 60_000 {
            changes(&text, &mut random, 40, read_net);
        }
    }
}
