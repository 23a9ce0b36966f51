//! Small element trees for the parts of a file that are terms: sorts, inscriptions, guards.
//!
//! Places, transitions and arcs are never kept as a tree; only the `structure` elements of
//! coloured nets are, in one flat arena that borrows from the source. The arena notes what is looked
//! at, so that [`Forest::report_unread`] can name what nobody understood.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crate::xml::{Cursor, Dropped, Step, Tag, Token, append};

/// An element of a [`Forest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element(u32);

const NONE: u32 = u32::MAX;

struct Node<'a> {
    tag: Tag<'a>,
    first_child: u32,
    next_sibling: u32,
    /// The element around it.
    parent: u32,
    /// The text directly inside.
    text: Cow<'a, str>,
    /// Whether somebody looked at the element, and at its text.
    seen: Cell<bool>,
    text_seen: Cell<bool>,
}

/// All trees of one file.
#[derive(Default)]
pub(crate) struct Forest<'a> {
    nodes: Vec<Node<'a>>,
    /// Attributes that were asked for, with their elements.
    asked: RefCell<Vec<(u32, &'static str)>>,
}

impl<'a> Forest<'a> {
    /// Reads the element whose opening tag was just taken from the cursor, up to its end.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'a>, tag: Tag<'a>) -> Step<Element> {
        cursor.leave_attributes();
        let root = self.push(tag, NONE);
        let outside = cursor.depth() - 1;
        // The open elements, each with its last child so far.
        let mut open = vec![(root, NONE)];
        while cursor.depth() > outside {
            match cursor.next()? {
                Token::Open(tag) => {
                    cursor.leave_attributes();
                    let parent = open.last().map_or(NONE, |(parent, _)| *parent);
                    let child = self.push(tag, parent);
                    if let Some((parent, last)) = open.last_mut() {
                        if *last == NONE {
                            self.nodes[*parent as usize].first_child = child;
                        } else {
                            self.nodes[*last as usize].next_sibling = child;
                        }
                        *last = child;
                    }
                    open.push((child, NONE));
                }
                Token::Close => {
                    open.pop();
                }
                Token::Text(text) => {
                    if let Some((element, _)) = open.last() {
                        append(&mut self.nodes[*element as usize].text, text);
                    }
                }
                Token::End => break,
            }
        }
        Ok(Element(root))
    }

    fn push(&mut self, tag: Tag<'a>, parent: u32) -> u32 {
        self.nodes.push(Node {
            tag,
            first_child: NONE,
            next_sibling: NONE,
            parent,
            text: Cow::Borrowed(""),
            seen: Cell::new(false),
            text_seen: Cell::new(false),
        });
        (self.nodes.len() - 1) as u32
    }

    /// True if nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Takes note of everything that nobody looked at: elements, attributes and texts.
    pub(crate) fn report_unread(&self, dropped: &mut Dropped) -> Step<()> {
        let mut asked = self.asked.borrow_mut();
        asked.sort_unstable();
        for (number, node) in self.nodes.iter().enumerate() {
            let parent = self.nodes.get(node.parent as usize);
            if !node.seen.get() {
                // What is inside of it needs no message of its own.
                if let Some(parent) = parent.filter(|parent| parent.seen.get()) {
                    dropped.unseen(parent.tag.name, &node.tag);
                }
                continue;
            }
            let from = asked.partition_point(|(of, _)| *of < number as u32);
            let to = asked.partition_point(|(of, _)| *of <= number as u32);
            let asked = &asked[from..to];
            node.tag.take([], |name, raw| {
                if !asked.iter().any(|(_, key)| *key == name) {
                    dropped.attribute(&node.tag, name, raw);
                }
                Ok(())
            })?;
            if !node.text_seen.get() {
                dropped.text(node.tag.name, &node.text, node.tag.span);
            }
        }
        Ok(())
    }

    /// The value of an attribute.
    pub(crate) fn attribute(
        &self,
        element: Element,
        key: &'static str,
    ) -> Step<Option<Cow<'a, str>>> {
        self.asked.borrow_mut().push((element.0, key));
        let [value] = self.tag(element).take([key], |_, _| Ok(()))?;
        Ok(value)
    }

    /// The value of an attribute that must be there.
    pub(crate) fn required(&self, element: Element, key: &'static str) -> Step<Cow<'a, str>> {
        let value = self.attribute(element, key)?;
        self.tag(element).needed(key, value)
    }

    /// The opening tag of an element.
    pub(crate) fn tag(&self, element: Element) -> Tag<'a> {
        let node = &self.nodes[element.0 as usize];
        node.seen.set(true);
        node.tag
    }

    /// The name of an element.
    pub(crate) fn name(&self, element: Element) -> &'a str {
        self.tag(element).name
    }

    /// The text directly inside an element.
    pub(crate) fn text(&self, element: Element) -> &str {
        let node = &self.nodes[element.0 as usize];
        node.text_seen.set(true);
        &node.text
    }

    /// The elements directly inside an element.
    pub(crate) fn children(&self, element: Element) -> impl Iterator<Item = Element> + '_ {
        let mut next = self.nodes[element.0 as usize].first_child;
        std::iter::from_fn(move || {
            if next == NONE {
                return None;
            }
            let child = Element(next);
            next = self.nodes[next as usize].next_sibling;
            Some(child)
        })
    }

    /// The only or first element directly inside.
    pub(crate) fn first_child(&self, element: Element) -> Option<Element> {
        self.children(element).next()
    }

    /// The operands of an operator: what stands inside each of its `subterm`s, or directly in it.
    pub(crate) fn operands(&self, element: Element) -> impl Iterator<Item = Element> + '_ {
        self.children(element).filter_map(|child| {
            if self.name(child) == "subterm" {
                self.first_child(child)
            } else {
                Some(child)
            }
        })
    }
}
