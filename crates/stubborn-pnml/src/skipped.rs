//! What a file may have that says nothing about the behaviour of its net.
//!
//! Readers ask for the elements and attributes that they understand. Whatever is left is looked up
//! here; what is not listed is an error that names it, because a file whose meaning is partly
//! dropped gets answers about another net. These lists are the only place where it is decided
//! that something has no meaning.

/// What an element or attribute says that no reader asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    /// Nothing about behaviour: drawing, names, data of tools, numbers for performance.
    Nothing,
    /// Nothing if its value is one of these, the usual ones; else something that is not understood.
    NothingIf(&'static [&'static str]),
    /// As above, if all of a file have the same value.
    NothingIfSame(&'static [&'static str]),
    /// Something about time: unless its value is one of these, the net is read without it, and a
    /// warning says so.
    TimeUnless(&'static [&'static str]),
    /// Something that is not understood.
    Unknown,
}

use Sense::{Nothing, NothingIf, NothingIfSame, TimeUnless};

/// Elements: the element around them (empty: any), their name, what they say.
const ELEMENTS: &[(&str, &str, Sense)] = &[
    ("", "graphics", Nothing),
    ("", "toolspecific", Nothing),
    ("", "name", Nothing),
    ("", "comment", Nothing),
    ("", "description", Nothing),
    // Drawings of the contest's nets.
    ("", "color", Nothing),
    ("", "dimension", Nothing),
    ("", "fill", Nothing),
    ("", "line", Nothing),
    ("", "offset", Nothing),
    ("", "position", Nothing),
    // The text of a term, beside its structure.
    ("condition", "text", Nothing),
    ("declaration", "text", Nothing),
    ("hlinitialMarking", "text", Nothing),
    ("hlinscription", "text", Nothing),
    ("type", "text", Nothing),
    // Signs of numbers, which are numbers all the same.
    ("numberconstant", "positive", Nothing),
    ("numberconstant", "natural", Nothing),
    ("numberconstant", "integer", Nothing),
    // Sizes of a net with nested units.
    ("toolspecific", "size", Nothing),
    // Goals of process mining.
    ("net", "finalmarkings", Nothing),
    ("pnml", "finalmarkings", Nothing),
    // PIPE's drawing, and its kinds of tokens: a marking names the kind if it is not the usual one.
    ("net", "labels", Nothing),
    ("net", "token", Nothing),
    ("net", "tokenclass", Nothing),
    ("net", "definition", Nothing),
    ("net", "rateParameter", Nothing),
    ("net", "stategroup", Nothing),
    ("arc", "arcpath", Nothing),
    ("arc", "exported", Nothing),
    ("arc", "tagged", NothingIf(&["false"])),
    ("place", "capacity", NothingIf(&["0", "-1", "", "infinity"])),
    ("transition", "orientation", Nothing),
    ("transition", "rate", Nothing),
    ("transition", "infiniteServer", Nothing),
    ("transition", "placeHolder", NothingIf(&[""])),
    ("transition", "player", NothingIf(&["", "0"])),
    ("transition", "priority", NothingIfSame(&["0", "1"])),
    ("transition", "timed", TimeUnless(&["false"])),
    // The contest's properties.
    ("property", "tags", Nothing),
];

/// Attributes: their element (empty: any), their name, what they say.
const ATTRIBUTES: &[(&str, &str, Sense)] = &[
    ("", "id", Nothing),
    ("", "name", Nothing),
    ("", "xmlns", Nothing),
    ("pnml", "version", Nothing),
    ("structure", "units", Nothing),
    ("structure", "root", Nothing),
    ("net", "active", NothingIf(&["true"])),
    // TAPAAL's drawing.
    ("", "displayName", Nothing),
    ("", "nameOffsetX", Nothing),
    ("", "nameOffsetY", Nothing),
    ("", "positionX", Nothing),
    ("", "positionY", Nothing),
    ("transition", "angle", Nothing),
    ("transition", "infiniteServer", Nothing),
    ("transition", "player", NothingIf(&["0"])),
    ("transition", "priority", NothingIfSame(&["0", "1"])),
    ("transition", "urgent", NothingIf(&["false"])),
    ("place", "invariant", NothingIf(&["< inf", "<inf"])),
];

/// Namespaces of attributes that are about the text, not about what it says.
const PREFIXES: &[&str] = &["xmlns", "xml", "xsi"];

fn find(list: &[(&str, &str, Sense)], around: &str, name: &str) -> Sense {
    let fits = |(inside, known, _): &&(&str, &str, Sense)| {
        *known == name && (inside.is_empty() || *inside == around)
    };
    list.iter().find(fits).map_or(Sense::Unknown, |(.., s)| *s)
}

/// What an element says, inside another one.
pub(crate) fn element(around: &str, name: &str) -> Sense {
    find(ELEMENTS, around, name)
}

/// What an attribute of an element says; its name is as it is written.
pub(crate) fn attribute(element: &str, name: &str) -> Sense {
    match name.split_once(':') {
        Some((prefix, _)) if PREFIXES.contains(&prefix) => Sense::Nothing,
        Some(_) => Sense::Unknown,
        None => find(ATTRIBUTES, element, name),
    }
}
