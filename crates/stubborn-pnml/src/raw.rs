//! The first pass over a PNML file: nodes, arcs and units as they are written.
//!
//! One pull through the file collects places, transitions and arcs with their source
//! positions; arcs may name nodes that come later, so nothing is resolved here. Graphics and
//! data of other tools are passed over. What the contest's nets do not use but PNML has
//! (reference nodes, special arcs) is an error and never ignored: ignoring it would change
//! what the net means.

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

/// A place as written.
pub(crate) struct RawPlace<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) label: Option<Cow<'a, str>>,
    pub(crate) span: Span,
    pub(crate) initial: u64,
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
    pub(crate) weight: u32,
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
                    cursor.skip()?;
                } else {
                    net = Some(NetReader::read(&mut cursor, tag, report)?);
                }
            }
            Token::Open(_) => cursor.skip()?,
            Token::Text(_) | Token::Close => {}
            Token::End => break,
        }
    }
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

impl<'c, 'a> NetReader<'c, 'a> {
    fn read(cursor: &'c mut Cursor<'a>, tag: Tag<'a>, report: &'c mut Report) -> Step<RawNet<'a>> {
        let kind = net_kind(&tag)?;
        let name = tag.attribute("id")?.unwrap_or(Cow::Borrowed("net"));
        let net = RawNet {
            name,
            kind,
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
        Ok(reader.net)
    }

    /// What stands in a net or in its pages; pages may nest, which changes nothing.
    fn contents(&mut self) -> Step<()> {
        let outside = self.cursor.depth() - 1;
        while self.cursor.depth() > outside {
            let Token::Open(tag) = self.cursor.next()? else {
                continue;
            };
            match tag.name {
                // The page's own contents follow as if they stood here.
                "page" => {}
                "place" => self.place(tag)?,
                "transition" => self.transition(tag)?,
                "arc" => self.arc(tag)?,
                "declaration" => self.declaration()?,
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
                    self.cursor.skip()?;
                }
                _ => self.cursor.skip()?,
            }
        }
        Ok(())
    }

    fn place(&mut self, tag: Tag<'a>) -> Step<()> {
        let mut place = RawPlace {
            id: tag.required("id")?,
            label: None,
            span: tag.span,
            initial: 0,
            sort: None,
            marking: None,
        };
        while let Some(child) = self.next_child()? {
            match child.name {
                "name" => place.label = self.cursor.label()?,
                "initialMarking" => {
                    if let Some(text) = self.cursor.label()?
                        && let Some(tokens) = self.number("PNM011", "marking", &text, child.span)?
                    {
                        place.initial = tokens;
                    }
                }
                "type" => place.sort = self.structure()?,
                "hlinitialMarking" => place.marking = self.structure()?,
                _ => self.cursor.skip()?,
            }
        }
        limit(self.net.places.len(), "places", tag.span)?;
        self.net.places.push(place);
        Ok(())
    }

    fn transition(&mut self, tag: Tag<'a>) -> Step<()> {
        let mut transition = RawTransition {
            id: tag.required("id")?,
            label: None,
            span: tag.span,
            guard: None,
        };
        while let Some(child) = self.next_child()? {
            match child.name {
                "name" => transition.label = self.cursor.label()?,
                "condition" => transition.guard = self.structure()?,
                _ => self.cursor.skip()?,
            }
        }
        limit(self.net.transitions.len(), "transitions", tag.span)?;
        self.net.transitions.push(transition);
        Ok(())
    }

    fn arc(&mut self, tag: Tag<'a>) -> Step<()> {
        let mut arc = RawArc {
            source: tag.required("source")?,
            target: tag.required("target")?,
            span: tag.span,
            weight: 1,
            inscription: None,
        };
        self.only_normal(tag.attribute("type")?, tag.span)?;
        while let Some(child) = self.next_child()? {
            match child.name {
                "inscription" => {
                    if let Some(text) = self.cursor.label()?
                        && let Some(weight) =
                            self.number("PNM012", "arc weight", &text, child.span)?
                    {
                        match u32::try_from(weight) {
                            Ok(0) => {
                                let what = "the weight of an arc is at least 1";
                                self.report.error("PNM012", what, child.span)?;
                            }
                            Ok(weight) => arc.weight = weight,
                            Err(_) => self.too_large("arc weight", "2^32 - 1", child.span)?,
                        }
                    }
                }
                "hlinscription" => arc.inscription = self.structure()?,
                "type" | "arctype" => {
                    let attribute = child.attribute("value")?;
                    let kind = attribute.or(self.cursor.label()?);
                    self.only_normal(kind, child.span)?;
                }
                _ => self.cursor.skip()?,
            }
        }
        limit(self.net.arcs.len(), "arcs", tag.span)?;
        self.net.arcs.push(arc);
        Ok(())
    }

    /// Refuses arcs of another kind: reading them as ordinary ones would change the net.
    fn only_normal(&mut self, kind: Option<Cow<'a, str>>, span: Span) -> Step<()> {
        match kind {
            Some(kind) if kind != "normal" => self.report.add(Diagnostic::error(
                "PNM015",
                format!("arcs of type `{}` are not supported", shown(&kind)),
                span,
            )),
            _ => Ok(()),
        }
    }

    /// The next element directly inside the one that is open, or none at its end.
    fn next_child(&mut self) -> Step<Option<Tag<'a>>> {
        loop {
            match self.cursor.next()? {
                Token::Open(tag) => return Ok(Some(tag)),
                Token::Close | Token::End => return Ok(None),
                Token::Text(_) => {}
            }
        }
    }

    /// The first element inside the `structure` of the element that is open.
    fn structure(&mut self) -> Step<Option<Element>> {
        let mut found = None;
        while let Some(child) = self.next_child()? {
            if child.name == "structure" && found.is_none() {
                let structure = self.net.forest.read(self.cursor, child)?;
                found = self.net.forest.first_child(structure);
            } else {
                self.cursor.skip()?;
            }
        }
        Ok(found)
    }

    fn declaration(&mut self) -> Step<()> {
        if let Some(declarations) = self.structure()? {
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
        let digits = text.strip_prefix('+').unwrap_or(text);
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
        if tag.attribute("tool")?.as_deref() != Some("nupn") || self.net.units.is_some() {
            return self.cursor.skip();
        }
        while let Some(child) = self.next_child()? {
            if child.name != "structure" {
                self.cursor.skip()?;
                continue;
            }
            let safe = child.attribute("safe")?.as_deref() == Some("true");
            let mut units = Vec::new();
            while let Some(unit) = self.next_child()? {
                if unit.name == "unit" {
                    units.push(self.unit(unit)?);
                } else {
                    self.cursor.skip()?;
                }
            }
            self.net.units = Some(RawUnits {
                safe,
                units,
                span: child.span,
            });
        }
        Ok(())
    }

    fn unit(&mut self, tag: Tag<'a>) -> Step<RawUnit<'a>> {
        let mut unit = RawUnit {
            id: tag.required("id")?,
            places: Vec::new(),
            subunits: Vec::new(),
            span: tag.span,
        };
        while let Some(child) = self.next_child()? {
            match child.name {
                "places" => unit.places = words(self.cursor.text()?),
                "subunits" => unit.subunits = words(self.cursor.text()?),
                _ => self.cursor.skip()?,
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

fn net_kind(tag: &Tag<'_>) -> Step<NetKind> {
    let uri = tag.required("type")?;
    let last = uri
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or("")
        .to_ascii_lowercase();
    match last.as_str() {
        "ptnet" | "ptnetb" => Ok(NetKind::PlaceTransition),
        "symmetricnet" | "highlevelnet" | "pt-hlpng" => Ok(NetKind::Symmetric),
        _ => Err(Box::new(
            Diagnostic::error(
                "PNM006",
                format!("nets of type `{}` are not supported", shown(&uri)),
                tag.span,
            )
            .help("`ptnet` and `symmetricnet` are"),
        )),
    }
}
