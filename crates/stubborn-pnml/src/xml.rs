//! A narrow view on XML: opening tags, closing tags and text, nothing else.
//!
//! Both readers (nets and properties) pull [`Token`]s from one [`Cursor`]. **Nothing is dropped
//! unread**: a reader asks for attributes by name and for elements one by one, and whatever it does
//! not ask for is compared with the list of what [may be skipped](crate::skipped) and is an error
//! if it is not in there. The cursor is also
//! where hostile XML ends: nesting is bounded, document type definitions with content and
//! entities of the file's own are refused (so there is nothing to expand), a text that ends
//! inside an element is reported as truncated. It borrows from the source and keeps no tree.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::Event;
use quick_xml::events::attributes::Attributes;
use rapidhash::{RapidHashMap, RapidHashSet};
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::{Budget, Patience};

use crate::report::{MAX_MESSAGES, Report, gave_up, shown};
use crate::skipped::{self, Sense};

/// Elements may be nested this deep. Real files stay below 40; formulas that tools generate
/// reach some hundreds. Everything that recurses over elements relies on this bound.
pub(crate) const MAX_DEPTH: usize = 800;

/// A message that ends the reading, boxed because it is large and rare.
pub(crate) type Fatal = Box<Diagnostic>;

/// The result of a step that may end the reading.
pub(crate) type Step<T> = Result<T, Fatal>;

/// An opening tag.
#[derive(Clone, Copy)]
pub(crate) struct Tag<'a> {
    /// Local name, without a namespace prefix.
    pub(crate) name: &'a str,
    /// What stands between `<` and `>`.
    inner: &'a str,
    attributes_at: usize,
    /// The whole tag.
    pub(crate) span: Span,
}

impl<'a> Tag<'a> {
    /// Calls `each` with the name of every attribute, as it is written, and its raw value.
    fn each(&self, mut each: impl FnMut(&'a str, &'a str) -> Step<()>) -> Step<()> {
        // The duplicate check of quick-xml is quadratic in the number of attributes.
        let mut attributes = Attributes::new(self.inner, self.attributes_at);
        attributes.with_checks(false);
        for attribute in attributes {
            let attribute = attribute.map_err(|e| self.malformed(&e.to_string()))?;
            let Cow::Borrowed(raw) = attribute.value else {
                return Err(self.malformed("attribute is not plain text"));
            };
            each(attribute.key.into_inner(), raw)?;
        }
        Ok(())
    }

    /// The values of attributes, with character references resolved; `other` gets what is not
    /// among the keys.
    pub(crate) fn take<const N: usize>(
        &self,
        keys: [&str; N],
        mut other: impl FnMut(&'a str, &'a str) -> Step<()>,
    ) -> Step<[Option<Cow<'a, str>>; N]> {
        let mut values = [const { None }; N];
        self.each(|name, raw| {
            let Some(at) = keys.iter().position(|key| *key == name) else {
                return other(name, raw);
            };
            let value = unescape(raw).map_err(|e| self.malformed(&e.to_string()))?;
            match values[at].replace(value) {
                None => Ok(()),
                Some(_) => Err(self.malformed(&format!("the attribute `{name}` occurs twice"))),
            }
        })?;
        Ok(values)
    }

    /// The value of an attribute that must be there.
    pub(crate) fn needed<T>(&self, key: &str, value: Option<T>) -> Step<T> {
        value.ok_or_else(|| {
            Box::new(Diagnostic::error(
                "PNM007",
                format!("`{}` has no attribute `{key}`", self.name),
                self.span,
            ))
        })
    }

    fn malformed(&self, why: &str) -> Fatal {
        Box::new(
            Diagnostic::error(
                "PNM001",
                format!("this is not well-formed XML: {why}"),
                self.span,
            )
            .help("only the predefined entities and character references are known"),
        )
    }
}

/// Messages about what was not read, one for each kind of thing.
#[derive(Default)]
pub(crate) struct Dropped {
    messages: Vec<Diagnostic>,
    known: RapidHashSet<String>,
    /// Values that have to be the same in the whole file.
    same: RapidHashMap<String, String>,
}

impl Dropped {
    /// Takes note of something that nobody asked for, where that has a meaning.
    fn judge(&mut self, sense: Sense, what: &str, value: &str, span: Span) {
        let value = value.trim();
        let usual = |values: &[&str]| values.iter().any(|v| v.eq_ignore_ascii_case(value));
        let message = match sense {
            Sense::Nothing => return,
            Sense::NothingIf(values) | Sense::TimeUnless(values) if usual(values) => return,
            Sense::NothingIfSame(values) if usual(values) => {
                let first = self.same.entry(what.to_owned());
                if first.or_insert_with(|| value.to_owned()) == value {
                    return;
                }
                Diagnostic::error(
                    "PNM020",
                    format!("{what} differ, which is not supported"),
                    span,
                )
                .help("nets are read without priorities")
            }
            Sense::NothingIf(_) | Sense::NothingIfSame(_) => {
                let what = format!("{what} with the value `{}` is not supported", shown(value));
                Diagnostic::error("PNM020", what, span)
            }
            Sense::TimeUnless(_) => Diagnostic::warning(
                "PNM021",
                format!("{what} is about time, and is not read"),
                span,
            )
            .help("the net is read without time: each transition may fire when it is enabled"),
            Sense::Unknown => {
                Diagnostic::error("PNM020", format!("{what} is not understood"), span).help(
                    "it may change what the file means; remove it if it does not, or put it into \
                     `toolspecific`",
                )
            }
        };
        self.add(message);
    }

    /// An element that nobody asked for.
    fn element(&mut self, sense: Sense, around: &str, tag: &Tag<'_>, value: &str) {
        if sense != Sense::Nothing {
            let what = format!("`{}` in `{}`", shown(tag.name), shown(around));
            self.judge(sense, &what, value, tag.span);
        }
    }

    /// An element in another one that is not understood there, whatever the list says.
    pub(crate) fn not_understood(&mut self, around: &str, tag: &Tag<'_>) {
        self.element(Sense::Unknown, around, tag, "");
    }

    /// An element of a tree that nobody looked at.
    pub(crate) fn unseen(&mut self, around: &str, tag: &Tag<'_>) {
        self.element(skipped::element(around, tag.name), around, tag, "");
    }

    /// An attribute that nobody asked for.
    pub(crate) fn attribute(&mut self, tag: &Tag<'_>, name: &str, raw: &str) {
        let sense = skipped::attribute(tag.name, name);
        if sense != Sense::Nothing {
            let what = format!("the attribute `{}` of `{}`", shown(name), shown(tag.name));
            let value = unescape(raw).unwrap_or(Cow::Borrowed(raw));
            self.judge(sense, &what, &value, tag.span);
        }
    }

    /// Text where none is expected: it is nearly always an accident.
    pub(crate) fn text(&mut self, around: &str, text: &str, span: Span) {
        if !text.trim().is_empty() {
            let text = shown(text.trim());
            let what = format!("the text `{text}` in `{}` is not read", shown(around));
            self.add(Diagnostic::warning("PNM021", what, span));
        }
    }

    fn add(&mut self, message: Diagnostic) {
        let enough = self.messages.len() > MAX_MESSAGES;
        if !enough && self.known.insert(message.message.clone()) {
            self.messages.push(message);
        }
    }

    /// Hands on all messages.
    pub(crate) fn report(self, report: &mut Report) -> Step<()> {
        self.messages.into_iter().try_for_each(|m| report.add(m))
    }
}

/// What the cursor yields.
pub(crate) enum Token<'a> {
    /// `<name …>`; an empty element yields a [`Token::Close`] right after it.
    Open(Tag<'a>),
    /// `</name>` of the innermost open element.
    Close,
    /// Character data; one run of text may come in several pieces.
    Text(Cow<'a, str>),
    /// The end of a complete document.
    End,
}

/// Pulls tokens from a text.
pub(crate) struct Cursor<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    /// The names of the open elements.
    open: Vec<&'a str>,
    /// The element that was opened last, until its attributes have been looked at.
    unexamined: Option<Tag<'a>>,
    pub(crate) dropped: Dropped,
    patience: Patience<'a>,
}

/// Tokens between two looks at the budget.
const LOOK_EVERY: u32 = 1024;

impl<'a> Cursor<'a> {
    /// Starts at the beginning of `text`.
    pub(crate) fn new(text: &'a str, budget: &'a Budget) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = true;
        Self {
            reader,
            text,
            open: Vec::new(),
            unexamined: None,
            dropped: Dropped::default(),
            patience: Patience::new(budget, LOOK_EVERY),
        }
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// The place the cursor has reached.
    pub(crate) fn here(&self) -> Span {
        let at = (self.reader.buffer_position() as usize).min(self.text.len());
        Span::new(at, at)
    }

    /// The values of attributes of the element that was opened last. It may have others only if
    /// these may be skipped.
    pub(crate) fn attributes<const N: usize>(
        &mut self,
        tag: &Tag<'a>,
        keys: [&str; N],
    ) -> Step<[Option<Cow<'a, str>>; N]> {
        self.unexamined = None;
        let dropped = &mut self.dropped;
        tag.take(keys, |name, raw| {
            dropped.attribute(tag, name, raw);
            Ok(())
        })
    }

    /// Leaves the attributes of the element that was opened last to somebody who looks at them later.
    pub(crate) fn leave_attributes(&mut self) {
        self.unexamined = None;
    }

    /// The next token; comments, declarations and processing instructions are passed over.
    pub(crate) fn next(&mut self) -> Step<Token<'a>> {
        if let Some(tag) = self.unexamined {
            self.attributes(&tag, [])?;
        }
        if let Some(spent) = self.patience.spent() {
            return Err(gave_up(spent));
        }
        loop {
            let start = self.reader.buffer_position() as usize;
            let event = self
                .reader
                .read_event()
                .map_err(|e| self.not_well_formed(&e))?;
            let end = self.reader.buffer_position() as usize;
            match event {
                Event::Start(start_tag) => {
                    let span = Span::new(start, end);
                    if self.open.len() >= MAX_DEPTH {
                        return Err(Box::new(
                            Diagnostic::error(
                                "PNM004",
                                format!("elements are nested more than {MAX_DEPTH} deep"),
                                span,
                            )
                            .help("a file that nests so deep is damaged or hostile"),
                        ));
                    }
                    let name_length = start_tag.name().into_inner().len();
                    let inner_start = (start + 1).min(self.text.len());
                    let inner_end = (inner_start + start_tag.len()).min(self.text.len());
                    let inner = self.text.get(inner_start..inner_end).unwrap_or("");
                    let qualified = inner.get(..name_length).unwrap_or("");
                    let name = qualified.rsplit(':').next().unwrap_or(qualified);
                    let tag = Tag {
                        name,
                        inner,
                        attributes_at: name_length,
                        span,
                    };
                    self.open.push(name);
                    self.unexamined = Some(tag);
                    return Ok(Token::Open(tag));
                }
                Event::End(_) => {
                    self.open.pop();
                    return Ok(Token::Close);
                }
                // Does not occur: empty elements are expanded.
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Text(text) => return Ok(Token::Text(text.into_inner())),
                Event::CData(text) => return Ok(Token::Text(text.into_inner())),
                Event::GeneralRef(reference) => {
                    if let Ok(Some(character)) = reference.resolve_char_ref() {
                        return Ok(Token::Text(Cow::Owned(character.to_string())));
                    }
                    let name = reference.into_inner();
                    if let Some(text) = resolve_predefined_entity(&name) {
                        return Ok(Token::Text(Cow::Borrowed(text)));
                    }
                    return Err(Box::new(Diagnostic::error(
                        "PNM003",
                        "entities of the file's own are not accepted",
                        Span::new(start, end),
                    )));
                }
                Event::DocType(content) => {
                    if content.contains('[') {
                        return Err(Box::new(
                            Diagnostic::error(
                                "PNM003",
                                "a document type definition with declarations is not accepted",
                                Span::new(start, end),
                            )
                            .help("PNML needs none; remove the DOCTYPE"),
                        ));
                    }
                }
                Event::Eof => {
                    if !self.open.is_empty() {
                        return Err(Box::new(
                            Diagnostic::error(
                                "PNM002",
                                "the file ends inside an element",
                                self.here(),
                            )
                            .help("it was probably cut off; fetch it again"),
                        ));
                    }
                    return Ok(Token::End);
                }
            }
        }
    }

    /// Passes over an element that was just opened and that the reader does not know, if that may be
    /// skipped; else there will be a message about it.
    pub(crate) fn other(&mut self, tag: Tag<'a>) -> Step<()> {
        self.unexamined = None;
        let inside = self.open.len().saturating_sub(2);
        let around = self.open.get(inside).copied().unwrap_or("");
        let sense = skipped::element(around, tag.name);
        let mut value = String::new();
        let has_value = !matches!(sense, Sense::Nothing | Sense::Unknown);
        if has_value {
            tag.each(|name, raw| {
                if name == "value" {
                    value.push_str(raw);
                }
                Ok(())
            })?;
        }
        self.inside(|part| {
            if has_value {
                value.push_str(part);
            }
        })?;
        self.dropped.element(sense, around, &tag, &value);
        Ok(())
    }

    /// Passes over the rest of the element that was opened last, of which there is a message or whose
    /// contents are somebody else's.
    pub(crate) fn pass_over(&mut self) -> Step<()> {
        self.inside(|_| {})
    }

    /// Reads to the end of the element that was opened last, without a look at what is inside but its
    /// texts.
    fn inside(&mut self, mut text: impl FnMut(&str)) -> Step<()> {
        self.leave_attributes();
        let outside = self.open.len().saturating_sub(1);
        while self.open.len() > outside {
            match self.next()? {
                Token::Text(part) => text(&part),
                Token::Open(_) => self.leave_attributes(),
                Token::Close => {}
                Token::End => break,
            }
        }
        Ok(())
    }

    /// The next element directly inside the one that is open, or none at its end.
    pub(crate) fn child(&mut self) -> Step<Option<Tag<'a>>> {
        loop {
            match self.next()? {
                Token::Open(tag) => return Ok(Some(tag)),
                Token::Close | Token::End => return Ok(None),
                Token::Text(text) => self.stray(&text),
            }
        }
    }

    /// Text where none is expected.
    pub(crate) fn stray(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let here = self.here();
            let around = self.open.last().copied().unwrap_or("");
            self.dropped.text(around, text, here);
        }
    }

    /// The text of the element that was opened last, trimmed.
    pub(crate) fn text(&mut self) -> Step<Cow<'a, str>> {
        let mut whole: Cow<'a, str> = Cow::Borrowed("");
        loop {
            match self.next()? {
                Token::Text(part) => append(&mut whole, part),
                Token::Open(tag) => self.other(tag)?,
                Token::Close | Token::End => break,
            }
        }
        Ok(trimmed(whole))
    }

    /// What a name or a number says: the text of a `text` or a `value` inside the element that was
    /// opened last, or directly in it. None if it says nothing.
    pub(crate) fn label(&mut self) -> Step<Option<Cow<'a, str>>> {
        let mut found = None;
        let mut direct: Cow<'a, str> = Cow::Borrowed("");
        loop {
            match self.next()? {
                Token::Open(tag) if tag.name == "text" || tag.name == "value" => {
                    let text = self.text()?;
                    if found.replace(text).is_some() {
                        let around = self.open.last().copied().unwrap_or("");
                        self.dropped.not_understood(around, &tag);
                    }
                }
                Token::Open(tag) => self.other(tag)?,
                Token::Text(part) => append(&mut direct, part),
                Token::Close | Token::End => break,
            }
        }
        let direct = trimmed(direct);
        if found.is_some() || direct.is_empty() {
            self.stray(&direct);
            return Ok(found);
        }
        Ok(Some(direct))
    }

    fn not_well_formed(&self, error: &quick_xml::Error) -> Fatal {
        let at = (self.reader.error_position() as usize).min(self.text.len());
        let message = error.to_string();
        // Input that simply stops is by far the most frequent case: say so.
        if message.contains("before end of input") {
            return Box::new(
                Diagnostic::error(
                    "PNM002",
                    format!("the file ends too early: {message}"),
                    Span::new(at, at + 1),
                )
                .help("it was probably cut off; fetch it again"),
            );
        }
        Box::new(Diagnostic::error(
            "PNM001",
            format!("this is not well-formed XML: {message}"),
            Span::new(at, at + 1),
        ))
    }
}

/// Appends a piece of text; space at the beginning is no text.
pub(crate) fn append<'a>(whole: &mut Cow<'a, str>, part: Cow<'a, str>) {
    if whole.trim_start().is_empty() {
        *whole = part;
    } else {
        whole.to_mut().push_str(&part);
    }
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use stubborn_system::budget::UNLIMITED;

    use super::*;

    fn first_error(text: &str) -> Diagnostic {
        let mut cursor = Cursor::new(text, &UNLIMITED);
        loop {
            match cursor.next() {
                Ok(Token::End) => panic!("no error in {text}"),
                Ok(_) => {}
                Err(error) => return *error,
            }
        }
    }

    #[test]
    fn names_lose_their_prefix_and_attributes_are_resolved() {
        let mut cursor = Cursor::new(
            "<?xml version=\"1.0\"?><!-- c --><a:b c='1 &lt; 2' d=''/>",
            &UNLIMITED,
        );
        let Ok(Token::Open(tag)) = cursor.next() else {
            panic!()
        };
        assert_eq!(tag.name, "b");
        let [c, d, e] = cursor.attributes(&tag, ["c", "d", "e"]).ok().unwrap();
        assert_eq!(c.as_deref(), Some("1 < 2"));
        assert_eq!(d.as_deref(), Some(""));
        assert!(tag.needed("e", e).is_err());
        assert!(matches!(cursor.next(), Ok(Token::Close)));
        assert!(matches!(cursor.next(), Ok(Token::End)));
    }

    #[test]
    fn text_is_joined_over_references() {
        let mut cursor = Cursor::new(
            "<t> a&amp;b<!-- no --><![CDATA[<c>]]><x>y</x> </t>",
            &UNLIMITED,
        );
        assert!(matches!(cursor.next(), Ok(Token::Open(_))));
        assert_eq!(cursor.text().ok().as_deref(), Some("a&b<c>"));
    }

    #[test]
    fn hostile_xml_is_refused() {
        assert_eq!(first_error("<a><b></a>").code, "PNM001");
        assert_eq!(first_error("<a><b>").code, "PNM002");
        assert_eq!(first_error("<a><b").code, "PNM002");
        assert_eq!(
            first_error("<!DOCTYPE a [<!ENTITY x 'y'>]><a/>").code,
            "PNM003"
        );
        assert_eq!(first_error("<a>&x;</a>").code, "PNM003");
        assert_eq!(first_error(&"<a>".repeat(MAX_DEPTH + 1)).code, "PNM004");
    }

    #[test]
    fn a_plain_doctype_is_harmless() {
        let mut cursor = Cursor::new("<!DOCTYPE pnml><pnml/>", &UNLIMITED);
        assert!(matches!(cursor.next(), Ok(Token::Open(tag)) if tag.name == "pnml"));
    }
}
