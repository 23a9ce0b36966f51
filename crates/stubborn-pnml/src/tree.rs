//! Small element trees for the parts of a file that are terms: sorts, inscriptions, guards.
//!
//! Places, transitions and arcs are never kept as a tree; only the `structure` elements of
//! coloured nets are, in one flat arena that borrows from the source.

use std::borrow::Cow;

use crate::xml::{Cursor, Step, Tag, Token};

/// An element of a [`Forest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element(u32);

const NONE: u32 = u32::MAX;

struct Node<'a> {
    tag: Tag<'a>,
    first_child: u32,
    next_sibling: u32,
    /// The text directly inside; only kept where it was asked for.
    text: Cow<'a, str>,
}

/// All trees of one file.
#[derive(Default)]
pub(crate) struct Forest<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Forest<'a> {
    /// Reads the element whose opening tag was just taken from the cursor, up to its end.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'a>, tag: Tag<'a>) -> Step<Element> {
        self.read_tree(cursor, tag, false)
    }

    /// As [`Forest::read`], and keeps the text of each element.
    pub(crate) fn read_with_text(
        &mut self,
        cursor: &mut Cursor<'a>,
        tag: Tag<'a>,
    ) -> Step<Element> {
        self.read_tree(cursor, tag, true)
    }

    fn read_tree(
        &mut self,
        cursor: &mut Cursor<'a>,
        tag: Tag<'a>,
        keep_text: bool,
    ) -> Step<Element> {
        let root = self.push(tag);
        let outside = cursor.depth() - 1;
        // The open elements, each with its last child so far.
        let mut open = vec![(root, NONE)];
        while cursor.depth() > outside {
            match cursor.next()? {
                Token::Open(tag) => {
                    let child = self.push(tag);
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
                    if keep_text && let Some((element, _)) = open.last() {
                        let whole = &mut self.nodes[*element as usize].text;
                        if whole.is_empty() {
                            *whole = text;
                        } else {
                            whole.to_mut().push_str(&text);
                        }
                    }
                }
                Token::End => break,
            }
        }
        Ok(Element(root))
    }

    fn push(&mut self, tag: Tag<'a>) -> u32 {
        self.nodes.push(Node {
            tag,
            first_child: NONE,
            next_sibling: NONE,
            text: Cow::Borrowed(""),
        });
        (self.nodes.len() - 1) as u32
    }

    /// The opening tag of an element.
    pub(crate) fn tag(&self, element: Element) -> Tag<'a> {
        self.nodes[element.0 as usize].tag
    }

    /// The name of an element.
    pub(crate) fn name(&self, element: Element) -> &'a str {
        self.tag(element).name
    }

    /// The text directly inside an element.
    pub(crate) fn text(&self, element: Element) -> &str {
        &self.nodes[element.0 as usize].text
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
