//! The first pass over a PNML file: nodes, arcs and units as they are written.
//!
//! One pull through the file collects places, transitions and arcs with their source
//! positions; arcs may name nodes that come later, so nothing is resolved here. What is not
//! understood is never ignored, since that would change what the net means: the
//! [cursor](crate::xml) and the [list of what may be skipped](crate::skipped) see to that. Tools
//! write the same things in different ways, and all of these are read: numbers in `text`, in
//! `value` or as attributes, and kinds of arcs as attributes or elements.

use std::borrow::Cow;

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::Budget;

use crate::report::{Report, shown};
use crate::tree::{Element, Forest};
use crate::xml::{Cursor, Step, Tag, Token};

/// A file may have this many places, transitions and arcs each.
const MAX_NODES: usize = 200_000_000;

/// The two kinds of nets that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetKind {
    /// Tokens are black.
    PlaceTransition,
    /// Tokens have colours.
    Symmetric,
}

/// What an arc does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArcKind {
    /// It moves tokens.
    Normal,
    /// Its transition needs fewer tokens than its weight.
    Inhibitor,
    /// Its transition needs as many tokens as its weight, and leaves them.
    Read,
}

/// A place as written.
pub(crate) struct RawPlace<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) label: Option<Cow<'a, str>>,
    pub(crate) span: Span,
    /// Black tokens, where the file has a number of them.
    pub(crate) initial: Option<u64>,
    pub(crate) sort: Option<Element>,
    pub(crate) marking: Option<Element>,
}

/// A transition as written.
pub(crate) struct RawTransition<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) label: Option<Cow<'a, str>>,
    pub(crate) span: Span,
    pub(crate) guard: Option<Element>,
}

/// An arc as written.
pub(crate) struct RawArc<'a> {
    pub(crate) source: Cow<'a, str>,
    pub(crate) target: Cow<'a, str>,
    pub(crate) span: Span,
    pub(crate) kind: ArcKind,
    /// Where the file has one.
    pub(crate) weight: Option<u32>,
    pub(crate) inscription: Option<Element>,
}

/// A unit as written.
pub(crate) struct RawUnit<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) places: Vec<Cow<'a, str>>,
    pub(crate) subunits: Vec<Cow<'a, str>>,
    pub(crate) span: Span,
}

/// The units as written.
pub(crate) struct RawUnits<'a> {
    pub(crate) safe: bool,
    pub(crate) units: Vec<RawUnit<'a>>,
    pub(crate) span: Span,
}

/// A net as written.
pub(crate) struct RawNet<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) kind: NetKind,
    /// Whether a net of black tokens was announced.
    pub(crate) says_black: bool,
    pub(crate) span: Span,
    pub(crate) places: Vec<RawPlace<'a>>,
    pub(crate) transitions: Vec<RawTransition<'a>>,
    pub(crate) arcs: Vec<RawArc<'a>>,
    pub(crate) declarations: Vec<Element>,
    pub(crate) forest: Forest<'a>,
    pub(crate) units: Option<RawUnits<'a>>,
}

/// Reads the first net of a file.
pub(crate) fn read<'a>(text: &'a str, budget: &'a Budget, report: &mut Report) -> Step<RawNet<'a>> {
    let mut cursor = Cursor::new(text, budget);
    let root = loop {
        match cursor.next()? {
            Token::Open(tag) => break tag,
            Token::End => return Err(no_net(cursor.here())),
            Token::Close | Token::Text(_) => {}
        }
    };
    if root.name != "pnml" {
        return Err(Box::new(
            Diagnostic::error(
                "PNM005",
                format!(
                    "this is not a PNML file: its root element is `{}`",
                    shown(root.name)
                ),
                root.span,
            )
            .help("a PNML file starts with `<pnml>`"),
        ));
    }
    let mut net: Option<RawNet<'a>> = None;
    loop {
        match cursor.next()? {
            Token::Open(tag) if tag.name == "net" => {
                if net.is_some() {
                    report.add(Diagnostic::warning(
                        "PNM017",
                        "the file has more than one net; only the first is read",
                        tag.span,
                    ))?;
                    cursor.pass_over()?;
                } else {
                    net = Some(NetReader::read(&mut cursor, tag, report)?);
                }
            }
            Token::Open(tag) => cursor.other(tag)?,
            Token::Text(text) => cursor.stray(&text),
            Token::Close => {}
            Token::End => break,
        }
    }
    std::mem::take(&mut cursor.dropped).report(report)?;
    net.ok_or_else(|| no_net(root.span))
}

fn no_net(span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(
        "PNM005",
        "the file contains no net",
        span,
    ))
}

struct NetReader<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    report: &'c mut Report,
    net: RawNet<'a>,
}

/// A child of a place, a transition or an arc that may be there once.
#[derive(Default)]
struct Once(u32);

impl Once {
    /// False if it was there before.
    fn first(&mut self, number: u32) -> bool {
        let before = self.0;
        self.0 |= 1 << number;
        before != self.0
    }
}

impl<'c, 'a> NetReader<'c, 'a> {
    fn read(cursor: &'c mut Cursor<'a>, tag: Tag<'a>, report: &'c mut Report) -> Step<RawNet<'a>> {
        let [id, uri] = cursor.attributes(&tag, ["id", "type"])?;
        let kind = net_kind(uri.as_deref(), tag.span, report)?;
        let net = RawNet {
            name: id.unwrap_or(Cow::Borrowed("net")),
            kind,
            says_black: kind == NetKind::PlaceTransition,
            span: tag.span,
            places: Vec::new(),
            transitions: Vec::new(),
            arcs: Vec::new(),
            declarations: Vec::new(),
            forest: Forest::default(),
            units: None,
        };
        let mut reader = Self {
            cursor,
            report,
            net,
        };
        reader.contents()?;
        // Terms are there only where colours are.
        if !reader.net.forest.is_empty() {
            reader.net.kind = NetKind::Symmetric;
        }
        Ok(reader.net)
    }

    /// What stands in a net or in its pages; pages may nest, which changes nothing.
    fn contents(&mut self) -> Step<()> {
        let outside = self.cursor.depth() - 1;
        while self.cursor.depth() > outside {
            let tag = match self.cursor.next()? {
                Token::Open(tag) => tag,
                Token::Text(text) => {
                    self.cursor.stray(&text);
                    continue;
                }
                Token::Close | Token::End => continue,
            };
            match tag.name {
                // The page's own contents follow as if they stood here.
                "page" => {}
                "place" => self.place(tag)?,
                "transition" => self.transition(tag)?,
                "arc" | "inputArc" | "outputArc" => self.arc(tag, None)?,
                "inhibitorArc" => self.arc(tag, Some(ArcKind::Inhibitor))?,
                "declaration" => self.declaration(tag)?,
                "toolspecific" => self.tool_specific(tag)?,
                "referencePlace" | "referenceTransition" => {
                    self.report.add(
                        Diagnostic::error(
                            "PNM014",
                            format!("`{}` is not supported", tag.name),
                            tag.span,
                        )
                        .help("put all nodes on one page and refer to them directly"),
                    )?;
                    self.cursor.pass_over()?;
                }
                _ => self.cursor.other(tag)?,
            }
        }
        Ok(())
    }

    fn place(&mut self, tag: Tag<'a>) -> Step<()> {
        let keys = ["id", "name", "initialMarking"];
        let [id, name, tokens] = self.cursor.attributes(&tag, keys)?;
        let mut place = RawPlace {
            id: tag.needed("id", id)?,
            label: name,
            span: tag.span,
            initial: None,
            sort: None,
            marking: None,
        };
        if let Some(text) = tokens {
            place.initial = self.number("PNM011", "marking", &text, tag.span)?;
        }
        let mut once = Once::default();
        while let Some(child) = self.cursor.child()? {
            match child.name {
                "name" if once.first(0) => place.label = self.cursor.label()?.or(place.label),
                "initialMarking" if once.first(1) => {
                    if let Some(text) = self.cursor.label()? {
                        let tokens = self.number("PNM011", "marking", &text, child.span)?;
                        self.same("PNM011", "markings", (place.initial, tokens), child.span)?;
                        place.initial = tokens;
                    }
                }
                "type" if once.first(2) => place.sort = self.structure(child)?,
                "hlinitialMarking" if once.first(3) => place.marking = self.structure(child)?,
                "name" | "initialMarking" | "type" | "hlinitialMarking" => self.twice(child)?,
                _ => self.cursor.other(child)?,
            }
        }
        limit(self.net.places.len(), "places", tag.span)?;
        self.net.places.push(place);
        Ok(())
    }

    fn transition(&mut self, tag: Tag<'a>) -> Step<()> {
        let [id, name] = self.cursor.attributes(&tag, ["id", "name"])?;
        let mut transition = RawTransition {
            id: tag.needed("id", id)?,
            label: name,
            span: tag.span,
            guard: None,
        };
        let mut once = Once::default();
        while let Some(child) = self.cursor.child()? {
            match child.name {
                "name" if once.first(0) => {
                    transition.label = self.cursor.label()?.or(transition.label);
                }
                "condition" if once.first(1) => transition.guard = self.structure(child)?,
                "name" | "condition" => self.twice(child)?,
                _ => self.cursor.other(child)?,
            }
        }
        limit(self.net.transitions.len(), "transitions", tag.span)?;
        self.net.transitions.push(transition);
        Ok(())
    }

    fn arc(&mut self, tag: Tag<'a>, kind: Option<ArcKind>) -> Step<()> {
        let keys = ["source", "target", "type", "weight", "inscription"];
        let [source, target, word, weight, inscription] = self.cursor.attributes(&tag, keys)?;
        let mut arc = RawArc {
            source: tag.needed("source", source)?,
            target: tag.needed("target", target)?,
            span: tag.span,
            kind: kind.unwrap_or(ArcKind::Normal),
            weight: None,
            inscription: None,
        };
        let mut kinds: Vec<ArcKind> = kind.into_iter().collect();
        if let Some(word) = word {
            kinds.extend(self.arc_kind(&word, tag.span)?);
        }
        for text in [weight, inscription].into_iter().flatten() {
            // TAPAAL: tokens of any age.
            if text.trim() != "[0,inf)" {
                self.weight(&mut arc, &text, tag.span)?;
            }
        }
        let mut once = Once::default();
        while let Some(child) = self.cursor.child()? {
            match child.name {
                "inscription" if once.first(0) => {
                    if let Some(text) = self.cursor.label()? {
                        self.weight(&mut arc, &text, child.span)?;
                    }
                }
                "hlinscription" if once.first(1) => arc.inscription = self.structure(child)?,
                "inscription" | "hlinscription" => self.twice(child)?,
                "type" | "arctype" => {
                    let [attribute] = self.cursor.attributes(&child, ["value"])?;
                    for word in [attribute, self.cursor.label()?].into_iter().flatten() {
                        kinds.extend(self.arc_kind(&word, child.span)?);
                    }
                }
                "toolspecific" => {
                    // An editor that marks inhibitor arcs for itself means them.
                    let [word] = child.take(["type"], |_, _| Ok(()))?;
                    if let Some(word) = word {
                        kinds.extend(self.arc_kind(&word, child.span)?);
                    }
                    self.cursor.pass_over()?;
                }
                _ => self.cursor.other(child)?,
            }
        }
        arc.kind = kinds.first().copied().unwrap_or(ArcKind::Normal);
        if kinds.iter().any(|kind| *kind != arc.kind) {
            self.report
                .error("PNM015", "this arc is of two different types", tag.span)?;
        }
        limit(self.net.arcs.len(), "arcs", tag.span)?;
        self.net.arcs.push(arc);
        Ok(())
    }

    /// What a word says of an arc; none if it is not understood, which was reported then.
    fn arc_kind(&mut self, word: &str, span: Span) -> Step<Option<ArcKind>> {
        let plain = word.trim().to_ascii_lowercase();
        let plain = plain.strip_prefix("tapn").unwrap_or(&plain);
        match plain.strip_suffix("arc").unwrap_or(plain).trim_end() {
            "" | "normal" | "ordinary" | "regular" => Ok(Some(ArcKind::Normal)),
            "inhibitor" => Ok(Some(ArcKind::Inhibitor)),
            "read" | "test" => Ok(Some(ArcKind::Read)),
            _ => {
                let what = format!("arcs of type `{}` are not supported", shown(word));
                self.report.add(
                    Diagnostic::error("PNM015", what, span)
                        .help("normal, inhibitor and read arcs are"),
                )?;
                Ok(None)
            }
        }
    }

    fn weight(&mut self, arc: &mut RawArc<'a>, text: &str, span: Span) -> Step<()> {
        let Some(weight) = self.number("PNM012", "arc weight", text, span)? else {
            return Ok(());
        };
        match u32::try_from(weight) {
            Ok(0) => {
                let what = "the weight of an arc is at least 1";
                self.report.error("PNM012", what, span)?;
            }
            Ok(weight) => {
                self.same("PNM012", "weights", (arc.weight, Some(weight)), span)?;
                arc.weight = Some(weight);
            }
            Err(_) => self.too_large("arc weight", "2^32 - 1", span)?,
        }
        Ok(())
    }

    /// Refuses different values for the same thing.
    fn same<T: PartialEq>(
        &mut self,
        code: &'static str,
        what: &str,
        values: (Option<T>, Option<T>),
        span: Span,
    ) -> Step<()> {
        match values {
            (Some(one), Some(other)) if one != other => {
                let what = format!("two different {what} are given here");
                self.report.error(code, what, span)
            }
            _ => Ok(()),
        }
    }

    /// Something for the second time.
    fn twice(&mut self, tag: Tag<'a>) -> Step<()> {
        let what = format!("a second `{}`", tag.name);
        self.report.error("PNM020", what, tag.span)?;
        self.cursor.pass_over()
    }

    /// The first element inside the `structure` of the element that is open.
    fn structure(&mut self, tag: Tag<'a>) -> Step<Option<Element>> {
        let mut structure = None;
        let mut text = false;
        while let Some(child) = self.cursor.child()? {
            match child.name {
                "structure" if structure.is_none() => {
                    structure = Some(self.net.forest.read(self.cursor, child)?);
                }
                "structure" => self.twice(child)?,
                "text" => text |= !self.cursor.text()?.is_empty(),
                _ => self.cursor.other(child)?,
            }
        }
        let Some(structure) = structure else {
            if text {
                let what = format!("this `{}` has a text, and no `structure`", tag.name);
                self.report.add(
                    Diagnostic::error("PNM020", what, tag.span)
                        .help("terms are read from their structure alone"),
                )?;
            }
            return Ok(None);
        };
        self.net.forest.tag(structure);
        Ok(self.net.forest.first_child(structure))
    }

    fn declaration(&mut self, tag: Tag<'a>) -> Step<()> {
        if let Some(declarations) = self.structure(tag)? {
            self.net.declarations.push(declarations);
        }
        Ok(())
    }

    /// A number from 0; none if it is none, which was reported then.
    fn number(
        &mut self,
        code: &'static str,
        what: &str,
        text: &str,
        span: Span,
    ) -> Step<Option<u64>> {
        // PIPE writes the kind of tokens, too; this one is black.
        let digits = text.strip_prefix("Default,").unwrap_or(text).trim();
        let digits = digits.strip_prefix('+').unwrap_or(digits);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            let help = if text.starts_with('-') {
                "it cannot be negative"
            } else {
                "write digits"
            };
            let what = format!("`{}` is not a {what}", shown(text));
            self.report
                .add(Diagnostic::error(code, what, span).help(help))?;
            return Ok(None);
        }
        let number = digits.parse().ok();
        if number.is_none() {
            self.too_large(what, "2^64 - 1", span)?;
        }
        Ok(number)
    }

    fn too_large(&mut self, what: &str, largest: &str, span: Span) -> Step<()> {
        self.report.error(
            "PNM013",
            format!("this {what} is larger than {largest}"),
            span,
        )
    }

    /// Nested units; what other tools store is passed over.
    fn tool_specific(&mut self, tag: Tag<'a>) -> Step<()> {
        let [tool] = tag.take(["tool"], |_, _| Ok(()))?;
        self.cursor.leave_attributes();
        if tool.as_deref() != Some("nupn") {
            return self.cursor.pass_over();
        }
        while let Some(child) = self.cursor.child()? {
            if child.name != "structure" {
                self.cursor.other(child)?;
                continue;
            }
            if self.net.units.is_some() {
                self.twice(child)?;
                continue;
            }
            let [safe] = self.cursor.attributes(&child, ["safe"])?;
            let mut units = Vec::new();
            while let Some(unit) = self.cursor.child()? {
                if unit.name == "unit" {
                    units.push(self.unit(unit)?);
                } else {
                    self.cursor.other(unit)?;
                }
            }
            self.net.units = Some(RawUnits {
                safe: safe.as_deref() == Some("true"),
                units,
                span: child.span,
            });
        }
        Ok(())
    }

    fn unit(&mut self, tag: Tag<'a>) -> Step<RawUnit<'a>> {
        let [id] = self.cursor.attributes(&tag, ["id"])?;
        let mut unit = RawUnit {
            id: tag.needed("id", id)?,
            places: Vec::new(),
            subunits: Vec::new(),
            span: tag.span,
        };
        let mut once = Once::default();
        while let Some(child) = self.cursor.child()? {
            match child.name {
                "places" if once.first(0) => unit.places = words(self.cursor.text()?),
                "subunits" if once.first(1) => unit.subunits = words(self.cursor.text()?),
                "places" | "subunits" => self.twice(child)?,
                _ => self.cursor.other(child)?,
            }
        }
        Ok(unit)
    }
}

fn words(text: Cow<'_, str>) -> Vec<Cow<'_, str>> {
    match text {
        Cow::Borrowed(text) => text.split_whitespace().map(Cow::Borrowed).collect(),
        Cow::Owned(text) => text
            .split_whitespace()
            .map(|w| Cow::Owned(w.to_owned()))
            .collect(),
    }
}

fn limit(count: usize, what: &str, span: Span) -> Step<()> {
    if count < MAX_NODES {
        return Ok(());
    }
    Err(Box::new(Diagnostic::error(
        "PNM016",
        format!("the net has more than {MAX_NODES} {what}"),
        span,
    )))
}

/// Nets of places, transitions and black tokens, by what tools call their type.
const PLACE_TRANSITION: [&str; 8] = [
    "",
    "ptnet",
    "ptnetb",
    "ptnetpntd",
    "pnmlcoremodel",
    "epnml",
    "epnml11",
    "pt",
];

/// Nets with colours.
const SYMMETRIC: [&str; 4] = ["symmetricnet", "highlevelnet", "pthlpng", "hlpng"];

/// Words in the names of types of nets whose transitions do not fire whenever they are enabled.
const OTHERS: [&str; 2] = ["time", "stochastic"];

/// What kind of net a type announces. Whether it is one is seen in its contents: a net of an unknown
/// type that has nothing but places, transitions and arcs is a place/transition net.
fn net_kind(uri: Option<&str>, span: Span, report: &mut Report) -> Step<NetKind> {
    let uri = uri.unwrap_or("").trim();
    let whole = uri.to_ascii_lowercase().replace("p/t", "pt");
    let last = whole.trim_end_matches('/').rsplit('/').next();
    let letters = last.unwrap_or("").chars();
    let plain: String = letters.filter(char::is_ascii_alphanumeric).collect();
    if SYMMETRIC.contains(&plain.as_str()) {
        return Ok(NetKind::Symmetric);
    }
    if OTHERS.iter().any(|word| plain.contains(word)) {
        let what = format!("nets of type `{}` are not supported", shown(uri));
        return Err(Box::new(
            Diagnostic::error("PNM006", what, span).help("`ptnet` and `symmetricnet` are"),
        ));
    }
    if !PLACE_TRANSITION.contains(&plain.as_str()) {
        let what = format!("the type of nets `{}` is not known", shown(uri));
        report.add(
            Diagnostic::warning("PNM022", what, span)
                .help("it is read as a net of places, transitions and arcs"),
        )?;
    }
    Ok(NetKind::PlaceTransition)
}
