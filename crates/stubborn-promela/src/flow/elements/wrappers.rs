//! What is put around statements: `unless`, `atomic`, `d_step`.

use stubborn_diagnostics::{Diagnostic, Span};

use super::{Around, Builder, El, Node, Prepared, Seq};
use crate::ast::Statement;

impl Builder<'_> {
    pub(super) fn unless(&mut self, main: Seq, escape: Seq, span: Span) -> El {
        let head = self.element(Node::Unless, span);
        let join = self.element(Node::Join, span);
        self.out.list[head].subs = vec![main, escape];
        self.append_to(join, main);
        self.append_to(join, escape);
        self.attach_escape(main, escape);
        self.append(head);
        self.append(join);
        head
    }

    pub(super) fn attach_escape(&mut self, covered: Seq, escape: Seq) {
        let extent = self.out.sequences[covered].extent;
        let mut at = self.out.sequences[covered].first;
        while let Some(element) = at {
            self.escape_element(element, escape);
            if at == extent {
                return;
            }
            at = self.out.list[element].next;
        }
    }

    pub(super) fn escape_element(&mut self, element: El, escape: Seq) {
        if self.out.list[element].escapes.contains(&escape) {
            return;
        }
        for lower in self.out.list[element].escapes.clone() {
            self.attach_escape(lower, escape);
        }
        self.out.list[element].escapes.insert(0, escape);
        match self.out.list[element].node.clone() {
            Node::Unless => {
                let main = self.out.list[element].subs[0];
                self.attach_escape(main, escape);
            }
            Node::If | Node::Do => {
                for option in self.out.list[element].subs.clone() {
                    self.attach_escape(option, escape);
                }
            }
            Node::DStep(seq) => {
                if let Some(first) = self.out.sequences[seq].first {
                    self.escape_element(first, escape);
                }
            }
            Node::Atomic(seq) | Node::Plain(seq) => self.attach_escape(seq, escape),
            _ => {}
        }
    }

    pub(super) fn prepare_unless(
        &mut self,
        main: &Statement,
        escape: &Statement,
        span: Span,
    ) -> Option<Prepared> {
        let main = self.prepare(main)?;
        let escape = self.prepare(escape)?;
        let escape_seq = match escape {
            Prepared::Plain(seq, _) => seq,
            other => self.alone(other, Around::Escape, span),
        };
        match main {
            Prepared::Plain(seq, _) => Some(Prepared::Unless(seq, escape_seq, span)),
            Prepared::Labelled(name, inner, label_span) => {
                let (seq, atomic, d_step) = match *inner {
                    Prepared::Plain(seq, _) => (seq, false, false),
                    Prepared::Atomic(seq, _) => (seq, true, false),
                    Prepared::DStep(seq, _) => (seq, false, true),
                    other => {
                        let labelled = Prepared::Labelled(name, Box::new(other), label_span);
                        let seq = self.alone(labelled, Around::Main, span);
                        return Some(Prepared::Unless(seq, escape_seq, span));
                    }
                };
                // The label moves out of the `unless`.
                let whole = self.alone(Prepared::Unless(seq, escape_seq, span), Around::Made, span);
                let lifted = match (atomic, d_step) {
                    (true, _) => Prepared::Atomic(whole, span),
                    (_, true) => Prepared::DStep(whole, span),
                    _ => Prepared::Plain(whole, span),
                };
                Some(Prepared::Labelled(name, Box::new(lifted), label_span))
            }
            other => {
                let seq = self.alone(other, Around::Main, span);
                Some(Prepared::Unless(seq, escape_seq, span))
            }
        }
    }

    /// A sequence of one statement.
    pub(super) fn alone(&mut self, prepared: Prepared, around: Around, span: Span) -> Seq {
        self.open_sequence();
        self.add(prepared);
        self.close_sequence(around, span)
    }

    pub(super) fn make_atomic(&mut self, seq: Seq, d_step: bool) {
        let (first, last) = {
            let sequence = &self.out.sequences[seq];
            (sequence.first, sequence.last)
        };
        self.walk_atomic(first, last, d_step);
        let Some(last) = last else { return };
        match self.out.list[last].node.clone() {
            Node::Plain(inner) | Node::Atomic(inner) => self.make_atomic(inner, d_step),
            Node::Unless => {
                let main = self.out.list[last].subs[0];
                self.make_atomic(main, d_step);
            }
            _ => {
                self.out.list[last].atomic = false;
                self.out.list[last].last_atomic = true;
            }
        }
    }

    pub(super) fn walk_atomic(&mut self, first: Option<El>, last: Option<El>, d_step: bool) {
        let mut at = first;
        while let Some(element) = at {
            self.out.list[element].atomic = true;
            self.out.list[element].in_d_step |= d_step;
            let inner = match self.out.list[element].node.clone() {
                Node::Atomic(inner) => Some(inner),
                Node::DStep(inner) if d_step => Some(inner),
                Node::Plain(inner) => Some(inner),
                Node::Unless if d_step => {
                    let span = self.out.list[element].span;
                    let warning =
                        Diagnostic::warning("PML079", "`unless` has no effect in a d_step", span);
                    self.resolver.diagnostics.push(warning);
                    None
                }
                _ => None,
            };
            if let Some(inner) = inner {
                // Inner ones are absorbed.
                self.out.list[element].node = Node::Plain(inner);
                let sequence = self.out.sequences[inner].clone();
                self.walk_atomic(sequence.first, sequence.last, d_step);
            }
            for sub in self.out.list[element].subs.clone() {
                let sequence = self.out.sequences[sub].clone();
                self.walk_atomic(sequence.first, sequence.last, d_step);
            }
            if at == last {
                return;
            }
            at = self.out.list[element].next;
        }
    }
}
