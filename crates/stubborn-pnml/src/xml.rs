//! A narrow view on XML: opening tags, closing tags and text, nothing else.
//!
//! Both readers (nets and properties) pull [`Token`]s from one [`Cursor`]. The cursor is
//! where hostile XML ends: nesting is bounded, document type definitions with content and
//! entities of the file's own are refused (so there is nothing to expand), a text that ends
//! inside an element is reported as truncated. It borrows from the source and keeps no tree.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::Event;
use quick_xml::events::attributes::Attributes;
use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_system::{Budget, Patience};

use crate::report::gave_up;

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
    /// The value of an attribute, with character references resolved.
    pub(crate) fn attribute(&self, key: &str) -> Step<Option<Cow<'a, str>>> {
        // The duplicate check of quick-xml is quadratic in the number of attributes.
        let mut attributes = Attributes::new(self.inner, self.attributes_at);
        attributes.with_checks(false);
        for attribute in attributes {
            let attribute = attribute.map_err(|e| self.malformed(&e.to_string()))?;
            if attribute.key.local_name().into_inner() == key {
                let raw = match attribute.value {
                    Cow::Borrowed(raw) => raw,
                    Cow::Owned(_) => return Err(self.malformed("attribute is not plain text")),
                };
                return unescape(raw)
                    .map(Some)
                    .map_err(|e| self.malformed(&e.to_string()));
            }
        }
        Ok(None)
    }

    /// The value of an attribute that must be there.
    pub(crate) fn required(&self, key: &str) -> Step<Cow<'a, str>> {
        self.attribute(key)?.ok_or_else(|| {
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
    depth: usize,
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
            depth: 0,
            patience: Patience::new(budget, LOOK_EVERY),
        }
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// The place the cursor has reached.
    pub(crate) fn here(&self) -> Span {
        let at = (self.reader.buffer_position() as usize).min(self.text.len());
        Span::new(at, at)
    }

    /// The next token; comments, declarations and processing instructions are passed over.
    pub(crate) fn next(&mut self) -> Step<Token<'a>> {
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
                    self.depth += 1;
                    let span = Span::new(start, end);
                    if self.depth > MAX_DEPTH {
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
                    return Ok(Token::Open(Tag {
                        name,
                        inner,
                        attributes_at: name_length,
                        span,
                    }));
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
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
                    if self.depth > 0 {
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

    /// Passes over the rest of the element that was opened last, with all it contains.
    pub(crate) fn skip(&mut self) -> Step<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if let Token::End = self.next()? {
                break;
            }
        }
        Ok(())
    }

    /// The text of the element that was opened last, trimmed; elements inside are passed over.
    pub(crate) fn text(&mut self) -> Step<Cow<'a, str>> {
        let mut whole: Cow<'a, str> = Cow::Borrowed("");
        loop {
            match self.next()? {
                Token::Text(part) => {
                    if whole.is_empty() {
                        whole = part;
                    } else {
                        whole.to_mut().push_str(&part);
                    }
                }
                Token::Open(_) => self.skip()?,
                Token::Close | Token::End => break,
            }
        }
        Ok(match whole {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        })
    }

    /// The `text` child of the element that was opened last, as names and numbers are written.
    pub(crate) fn label(&mut self) -> Step<Option<Cow<'a, str>>> {
        let mut found = None;
        loop {
            match self.next()? {
                Token::Open(tag) if tag.name == "text" && found.is_none() => {
                    found = Some(self.text()?);
                }
                Token::Open(_) => self.skip()?,
                Token::Close | Token::End => return Ok(found),
                Token::Text(_) => {}
            }
        }
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
        assert_eq!(tag.attribute("c").ok().flatten().as_deref(), Some("1 < 2"));
        assert_eq!(tag.attribute("d").ok().flatten().as_deref(), Some(""));
        assert!(tag.required("e").is_err());
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
