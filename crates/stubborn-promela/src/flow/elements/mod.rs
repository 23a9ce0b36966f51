//! From statements to a chain of elements.
//!
//! An element is a place in the text that can get a state number: a statement, the head and
//! the end of a choice, a jump, a block. Numbers are given in the order in which SPIN's parser
//! finishes the statements, inner ones first.

mod loops;
mod wrappers;

use stubborn_diagnostics::{Diagnostic, Span};

use crate::ast::{self, Block, Declaration, Initial, Name, ProcessKind, Statement, StatementKind};
use crate::hir::{Argument, Basic, Expr, Place, VarKey};
use crate::resolve::Resolver;

/// An element: an index into [`Elements::list`].
pub(super) type El = usize;
/// A sequence: an index into [`Elements::sequences`].
pub(super) type Seq = usize;

/// What an element is.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Basic(Basic),
    Goto(Jump),
    If,
    Do,
    Unless,
    Atomic(Seq),
    DStep(Seq),
    Plain(Seq),
    /// Where the options of a choice meet.
    Join,
    /// Where `break` leads.
    After,
}

/// Where a jump leads.
#[derive(Clone, Debug)]
pub(super) enum Jump {
    Label { name: Name, scope: Vec<u32> },
    Break(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) node: Node,
    pub(super) next: Option<El>,
    /// Options of a choice; main part and escape of an `unless`.
    pub(super) subs: Vec<Seq>,
    /// Escapes that cover this element, the outermost first.
    pub(super) escapes: Vec<Seq>,
    /// Inside an atomic sequence, not its last.
    pub(super) atomic: bool,
    /// Last of an atomic sequence.
    pub(super) last_atomic: bool,
    /// Inside this `d_step`.
    pub(super) d_step: Option<usize>,
    /// Marked as part of a `d_step` sequence.
    pub(super) in_d_step: bool,
    pub(super) span: Span,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) first: Option<El>,
    pub(super) last: Option<El>,
    /// The last element before joins were appended.
    pub(super) extent: Option<El>,
}

#[derive(Clone, Debug)]
pub(super) struct LabelPlace {
    pub(super) name: Name,
    pub(super) scope: Vec<u32>,
    pub(super) element: El,
    pub(super) span: Span,
}

/// The chain of elements of a body.
#[derive(Default)]
pub(super) struct Elements {
    pub(super) list: Vec<Element>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) labels: Vec<LabelPlace>,
    /// Where `break` number `i` leads.
    pub(super) breaks: Vec<Option<El>>,
    pub(super) body: Seq,
    pub(super) initialised: Vec<usize>,
}

/// A statement whose parts are done but that has no element yet.
enum Prepared {
    Basic(Basic, Span),
    Goto(Jump, Span),
    If(Vec<Seq>, Span),
    Do(Vec<Seq>, usize, Span),
    Unless(Seq, Seq, Span),
    Atomic(Seq, Span),
    DStep(Seq, Span),
    Plain(Seq, Span),
    Labelled(Name, Box<Prepared>, Span),
}

/// What kind of braces a sequence stood in; decides what a label at its start means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Body,
    Escape,
    Main,
    Braces,
    Option,
    Made,
}

pub(super) fn build(resolver: &mut Resolver, process: &ast::Process) -> Elements {
    let mut builder = Builder {
        resolver,
        out: Elements::default(),
        open: Vec::new(),
        breaks: Vec::new(),
        scopes: 0,
        at_head: true,
        claim: process.kind == ProcessKind::Never,
        d_step: None,
        d_steps: 0,
        counters: 0,
    };
    builder.body(&process.body);
    builder.keep_remote_labels(&process.name);
    builder.out
}

struct Builder<'r> {
    resolver: &'r mut Resolver,
    out: Elements,
    /// Sequences that are being filled.
    open: Vec<Seq>,
    /// Loops around, innermost last.
    breaks: Vec<usize>,
    scopes: u32,
    /// No statement was seen yet: declarations are evaluated when the process starts.
    at_head: bool,
    claim: bool,
    d_step: Option<usize>,
    d_steps: usize,
    counters: usize,
}

impl Builder<'_> {
    fn body(&mut self, body: &Block) {
        self.enter_scope();
        self.open_sequence();
        for statement in &body.statements {
            self.step(statement, true);
        }
        let end = self.element(Node::Basic(Basic::End), last_byte(body.span));
        self.append(end);
        self.out.body = self.close_sequence(Around::Body, body.span);
        self.leave_scope();
    }

    /// A jump with a label that others refer to becomes a step followed by the jump.
    fn keep_remote_labels(&mut self, process: &Name) {
        let wanted = self.resolver.remote_labels.clone();
        for (_, label) in wanted.iter().filter(|(p, _)| p == process) {
            let Some(found) = self.out.labels.iter().rev().find(|l| l.name == *label) else {
                continue;
            };
            let at = found.element;
            if matches!(self.out.list[at].node, Node::Goto(_)) {
                let copy = self.out.list[at].clone();
                self.out.list.push(copy);
                let jump = self.out.list.len() - 1;
                self.out.list[at].node = Node::Basic(Basic::Condition(Expr::Const(1)));
                self.out.list[at].next = Some(jump);
            }
        }
    }

    fn enter_scope(&mut self) {
        self.scopes += 1;
        self.resolver.scope.push(self.scopes);
    }

    fn leave_scope(&mut self) {
        self.resolver.scope.pop();
    }

    fn open_sequence(&mut self) {
        self.out.sequences.push(Sequence::default());
        self.open.push(self.out.sequences.len() - 1);
    }

    fn close_sequence(&mut self, around: Around, span: Span) -> Seq {
        let seq = self.open.pop().unwrap_or(0);
        let first = self.out.sequences[seq].first;
        let label = first
            .and_then(|f| self.out.labels.iter().find(|l| l.element == f))
            .cloned();
        if let Some(label) = label
            && around != Around::Body
        {
            if around == Around::Option {
                let warning = Diagnostic::warning(
                    "PML070",
                    format!(
                        "label {} before the first statement of an option has no effect",
                        label.name
                    ),
                    label.span,
                )
                .help("put it before the whole `if` or `do`");
                self.resolver.diagnostics.push(warning);
            } else if around != Around::Made {
                let error = Diagnostic::error(
                    "PML071",
                    format!("label {} cannot stand at the start of a block", label.name),
                    label.span,
                )
                .help("put it before the brace");
                self.resolver.diagnostics.push(error);
            }
        }
        if first.is_none() {
            self.resolver
                .error("PML033", "there must be at least one statement here", span);
            // Something to stand on, so that what follows needs no special cases.
            self.open.push(seq);
            let nothing = self.element(Node::Basic(Basic::Nothing), span);
            self.append(nothing);
            self.open.pop();
        }
        let sequence = &mut self.out.sequences[seq];
        sequence.extent = sequence.last;
        seq
    }

    fn element(&mut self, node: Node, span: Span) -> El {
        self.out.list.push(Element {
            node,
            next: None,
            subs: Vec::new(),
            escapes: Vec::new(),
            atomic: false,
            last_atomic: false,
            d_step: self.d_step,
            in_d_step: false,
            span,
        });
        self.out.list.len() - 1
    }

    fn append(&mut self, element: El) {
        let seq = self.open.last().copied().unwrap_or(0);
        self.append_to(element, seq);
    }

    fn append_to(&mut self, element: El, seq: Seq) {
        if matches!(self.out.list[element].node, Node::Goto(_)) {
            // A jump with a special label becomes a step, or the label would be lost.
            let special = |l: &LabelPlace| {
                l.element == element
                    && ["accept", "end", "progress"]
                        .iter()
                        .any(|p| l.name.starts_with(p))
            };
            if self.out.labels.iter().any(special) {
                let span = self.out.list[element].span;
                let skip = self.element(Node::Basic(Basic::Condition(Expr::Const(1))), span);
                if let Some(label) = self
                    .out
                    .labels
                    .iter_mut()
                    .rev()
                    .find(|l| l.element == element)
                {
                    label.element = skip;
                }
                self.append_to(skip, seq);
            }
        }
        let sequence = &mut self.out.sequences[seq];
        match sequence.last {
            None => sequence.first = Some(element),
            Some(last) => self.out.list[last].next = Some(element),
        }
        self.out.sequences[seq].last = Some(element);
    }

    /// One statement of a sequence.
    fn step(&mut self, statement: &Statement, top: bool) {
        match &statement.kind {
            StatementKind::Declaration(declaration) => {
                self.declaration(declaration, statement, top)
            }
            StatementKind::Exclusive { receive, channels } => {
                for channel in channels {
                    if let Some(place) = self.resolver.channel(channel) {
                        self.resolver.exclusive.push((*receive, place));
                    }
                }
            }
            _ => {
                if let Some(prepared) = self.prepare(statement) {
                    self.add(prepared);
                }
                self.at_head = false;
            }
        }
    }

    fn block(&mut self, block: &Block, around: Around) -> Seq {
        self.at_head = false;
        self.enter_scope();
        self.open_sequence();
        for statement in &block.statements {
            self.step(statement, false);
        }
        let seq = self.close_sequence(around, block.span);
        self.leave_scope();
        seq
    }

    fn option(&mut self, block: &Block) -> Seq {
        self.at_head = false;
        self.open_sequence();
        for statement in &block.statements {
            self.step(statement, false);
        }
        self.close_sequence(Around::Option, block.span)
    }

    fn declaration(&mut self, declaration: &Declaration, statement: &Statement, top: bool) {
        let at_head = self.at_head && top;
        for declarator in &declaration.variables {
            let is_channel = matches!(declarator.initial, Initial::Channel { .. });
            if is_channel && !at_head {
                let message = format!(
                    "channel {} must be declared at the start of the body",
                    declarator.name
                );
                self.resolver.error("PML072", message, declarator.span);
            }
            // What stands after `=` cannot see the variable itself.
            let value = match &declarator.initial {
                Initial::Value(expr) if !at_head => Some(self.resolver.expr(expr)),
                _ => None,
            };
            let is_list = matches!(declarator.initial, Initial::List(_));
            let whole = at_head || is_channel || is_list;
            let local = self.resolver.local(declaration, declarator, whole);
            // Lists, and the fields of typedefs, have their initial values from the start even
            // where the declaration is a step.
            if whole || self.resolver.locals()[local].structure.is_some() {
                self.out.initialised.push(local);
            }
            if at_head {
                continue;
            }
            let key = VarKey::Local(local);
            let variable = &self.resolver.locals()[local];
            let basic = match (
                &declarator.initial,
                variable.structure,
                variable.leaves.first(),
            ) {
                (Initial::List(values), None, Some(leaf)) => {
                    let size = leaf.len();
                    let mut list: Vec<i32> = Vec::new();
                    for value in values {
                        list.push(self.resolver.constant_value(value).unwrap_or(0) as i32);
                    }
                    list.truncate(size);
                    let last = list.last().copied().unwrap_or(0);
                    list.resize(size, last);
                    Basic::AssignAll(key, list)
                }
                (_, None, Some(leaf)) => {
                    let place = Place {
                        variable: key,
                        leaf: 0,
                        indices: vec![Expr::Const(0); leaf.dims.len()],
                        scalar: leaf.scalar,
                        span: declarator.span,
                    };
                    Basic::Assign(place, value.unwrap_or(Expr::Const(0)))
                }
                _ => Basic::Nothing,
            };
            self.add(Prepared::Basic(basic, statement.span));
        }
    }

    fn add(&mut self, prepared: Prepared) {
        let mut inner = prepared;
        let mut labels = Vec::new();
        while let Prepared::Labelled(name, next, span) = inner {
            labels.push((name, span));
            inner = *next;
        }
        let element = match inner {
            Prepared::If(options, span) => self.choice(options, None, span),
            Prepared::Do(options, exit, span) => self.choice(options, Some(exit), span),
            Prepared::Unless(main, escape, span) => self.unless(main, escape, span),
            other => {
                let (node, span) = match other {
                    Prepared::Basic(basic, span) => (Node::Basic(basic), span),
                    Prepared::Goto(jump, span) => (Node::Goto(jump), span),
                    Prepared::Atomic(seq, span) => (Node::Atomic(seq), span),
                    Prepared::DStep(seq, span) => (Node::DStep(seq), span),
                    Prepared::Plain(seq, span) => (Node::Plain(seq), span),
                    _ => return,
                };
                let element = self.element(node, span);
                // Innermost labels are set first, and before the element is placed.
                for (name, span) in labels.into_iter().rev() {
                    self.set_label(name, element, span);
                }
                self.append(element);
                return;
            }
        };
        for (name, span) in labels.into_iter().rev() {
            self.set_label(name, element, span);
        }
    }

    fn set_label(&mut self, name: Name, element: El, span: Span) {
        let scope = self.resolver.scope.clone();
        let double = self
            .out
            .labels
            .iter()
            .find(|l| l.name == name && l.scope == scope);
        if let Some(first) = double {
            let error =
                Diagnostic::error("PML073", format!("label {name} is declared twice"), span)
                    .related(first.span, "first declared here");
            self.resolver.diagnostics.push(error);
        }
        self.out.labels.push(LabelPlace {
            name,
            scope,
            element,
            span,
        });
    }

    /// The head of an `if` or, with an exit, a `do`; both are placed in the open sequence.
    fn choice(&mut self, mut options: Vec<Seq>, exit: Option<usize>, span: Span) -> El {
        let node = if exit.is_some() { Node::Do } else { Node::If };
        let head = self.element(node, span);
        let join = self.element(Node::Join, span);
        let first = |b: &Self, seq: Seq| {
            b.out.sequences[seq]
                .first
                .map(|f| b.out.list[f].node.clone())
        };
        let is_else = |b: &Self, seq: Seq| matches!(first(b, seq), Some(Node::Basic(Basic::Else)));
        let elses: Vec<Seq> = options
            .iter()
            .copied()
            .filter(|o| is_else(self, *o))
            .collect();
        if elses.len() > 1 {
            self.resolver
                .error("PML074", "there are two `else` options here", span);
        }
        if let Some(last) = elses.first() {
            self.check_else(&options, span);
            options.retain(|o| o != last);
            options.push(*last);
        }
        for option in &options {
            self.append_to(join, *option);
        }
        self.out.list[head].subs = options;
        match exit {
            None => {
                self.append(head);
                self.append(join);
            }
            Some(exit) => {
                self.append(join);
                let after = self.element(Node::After, span);
                self.out.breaks[exit] = Some(after);
                self.append(head);
                self.append(after);
            }
        }
        head
    }

    /// Warns of `else` beside a send or receive, as SPIN does: whether a message can be sent or
    /// taken may change while others move, and `else` is not about that.
    fn check_else(&mut self, options: &[Seq], span: Span) {
        let first = |o: &Seq| self.out.sequences[*o].first.map(|f| &self.out.list[f]);
        let is_io = |e: &&Element| {
            matches!(
                e.node,
                Node::Basic(Basic::Send { .. } | Basic::Receive { .. })
            )
        };
        if let Some(io) = options.iter().filter_map(first).find(is_io) {
            let message = "`else` beside a send or receive";
            let warning = Diagnostic::warning("PML063", message, span)
                .related(io.span, "this depends on what others do")
                .help("ask about the channel in conditions (`nempty(c) -> c?x`, `empty(c) -> …`) instead");
            self.resolver.diagnostics.push(warning);
        }
    }

    fn prepare(&mut self, statement: &Statement) -> Option<Prepared> {
        let span = statement.span;
        let basic = |b| Some(Prepared::Basic(b, span));
        match &statement.kind {
            StatementKind::Declaration(_) | StatementKind::Exclusive { .. } => {
                self.resolver
                    .error("PML020", "a statement is expected here", span);
                None
            }
            StatementKind::Labelled(name, inner) => {
                let inner = match inner {
                    Some(inner) => self.prepare(inner)?,
                    None => Prepared::Basic(Basic::Condition(Expr::Const(1)), span),
                };
                Some(Prepared::Labelled(name.clone(), Box::new(inner), span))
            }
            StatementKind::Assign(target, value) => {
                let written = value;
                let value = self.resolver.expr(value);
                if target.parts.len() == 1 && &*target.parts[0].name == "_" {
                    return basic(Basic::Nothing);
                }
                if target.parts.len() == 1 && &*target.parts[0].name == "_priority" {
                    self.resolver.uses_priority();
                    return basic(Basic::SetPriority(None, value));
                }
                let place = self.resolver.target(target);
                if let Some(place) = &place {
                    self.resolver.check_fits(place.scalar, written);
                }
                basic(place.map_or(Basic::Nothing, |p| Basic::Assign(p, value)))
            }
            StatementKind::Print(format, arguments) => {
                let arguments = arguments.iter().map(|a| self.resolver.expr(a)).collect();
                basic(Basic::Print(format.clone(), arguments))
            }
            StatementKind::PrintMtype(value) => {
                let value = self.resolver.expr(value);
                basic(Basic::PrintMtype(value))
            }
            StatementKind::Assert(condition) => {
                let value = self.resolver.expr(condition);
                self.resolver.no_run(&value, condition.span, "an assertion");
                basic(Basic::Assert(value))
            }
            StatementKind::Send {
                channel,
                arguments,
                sorted,
            } => {
                let values = self.resolver.values(arguments);
                let channel = self.resolver.channel(channel)?;
                basic(Basic::Send {
                    channel,
                    values,
                    sorted: *sorted,
                })
            }
            StatementKind::Receive {
                channel,
                arguments,
                random,
                keep,
            } => {
                let resolved = self.resolver.arguments(arguments);
                let channel = self.resolver.channel(channel)?;
                self.check_receive(&resolved, span);
                basic(Basic::Receive {
                    channel,
                    arguments: resolved,
                    random: *random,
                    keep: *keep,
                })
            }
            StatementKind::Condition(condition) => {
                let value = self.resolver.expr(condition);
                basic(Basic::Condition(value))
            }
            StatementKind::Else => basic(Basic::Else),
            StatementKind::Break => match self.breaks.last() {
                Some(exit) => Some(Prepared::Goto(Jump::Break(*exit), span)),
                None => {
                    self.resolver
                        .error("PML075", "`break` outside of a loop", span);
                    None
                }
            },
            StatementKind::Goto(label) => {
                let scope = self.resolver.scope.clone();
                Some(Prepared::Goto(
                    Jump::Label {
                        name: label.clone(),
                        scope,
                    },
                    span,
                ))
            }
            StatementKind::If(options) => {
                let options: Vec<Seq> = options.iter().map(|o| self.option(o)).collect();
                self.prune(&options);
                Some(Prepared::If(options, span))
            }
            StatementKind::Do(options) => {
                let exit = self.new_loop();
                let options: Vec<Seq> = options.iter().map(|o| self.option(o)).collect();
                self.breaks.pop();
                self.prune(&options);
                Some(Prepared::Do(options, exit, span))
            }
            StatementKind::Atomic(block) => {
                let seq = self.block(block, Around::Braces);
                self.make_atomic(seq, false);
                Some(Prepared::Atomic(seq, span))
            }
            StatementKind::DStep(block) => {
                let outermost = self.d_step.is_none();
                if outermost {
                    self.d_step = Some(self.d_steps);
                    self.d_steps += 1;
                }
                let seq = self.block(block, Around::Braces);
                if outermost {
                    self.d_step = None;
                }
                self.make_atomic(seq, true);
                Some(Prepared::DStep(seq, span))
            }
            StatementKind::Block(block, _) => {
                let seq = self.block(block, Around::Braces);
                Some(Prepared::Plain(seq, span))
            }
            StatementKind::ForRange {
                variable,
                from,
                to,
                body,
            } => self.for_range(variable, from, to, body, span),
            StatementKind::ForIn {
                variable,
                collection,
                body,
            } => self.for_in(variable, collection, body, span),
            StatementKind::Select {
                variable,
                from,
                to,
                plain,
            } => self.select(variable, from, to, *plain, span),
            StatementKind::Unless(main, escape) => self.prepare_unless(main, escape, span),
            StatementKind::SetPriority(pid, value) => {
                let (pid, value) = (self.resolver.expr(pid), self.resolver.expr(value));
                self.resolver.uses_priority();
                basic(Basic::SetPriority(Some(pid), value))
            }
            StatementKind::Error => None,
        }
    }

    fn check_receive(&mut self, arguments: &[Argument], span: Span) {
        let mut seen: Vec<VarKey> = Vec::new();
        for argument in arguments {
            if let Argument::Store(place) = argument
                && place.indices.is_empty()
                && self
                    .resolver
                    .variable_of(place.variable)
                    .structure
                    .is_none()
            {
                if seen.contains(&place.variable) {
                    let name = self.resolver.variable_of(place.variable).name.clone();
                    let message = format!("{name} is used for two fields of one message");
                    self.resolver.error("PML076", message, span);
                }
                seen.push(place.variable);
            }
        }
    }

    fn new_loop(&mut self) -> usize {
        self.out.breaks.push(None);
        let exit = self.out.breaks.len() - 1;
        self.breaks.push(exit);
        exit
    }

    /// SPIN drops an unlabelled `skip` right after another one within an option.
    fn prune(&mut self, options: &[Seq]) {
        if self.claim {
            return;
        }
        for option in options {
            let (first, last) = {
                let sequence = &self.out.sequences[*option];
                (sequence.first, sequence.last)
            };
            let mut before: Option<El> = None;
            let mut at = first;
            let mut count = 0;
            while let Some(element) = at {
                let print = matches!(
                    self.out.list[element].node,
                    Node::Basic(Basic::Print(..) | Basic::PrintMtype(..))
                );
                let skip = matches!(
                    self.out.list[element].node,
                    Node::Basic(Basic::Condition(Expr::Const(1)))
                );
                let labelled = self.out.labels.iter().any(|l| l.element == element);
                at = self.out.list[element].next;
                if (print || skip) && !labelled {
                    count += 1;
                    if count > 1 && skip && Some(element) != first && Some(element) != last {
                        if let Some(before) = before {
                            self.out.list[before].next = at;
                        }
                        continue;
                    }
                } else {
                    count = 0;
                }
                before = Some(element);
            }
        }
    }
}

/// The closing brace of a block.
fn last_byte(span: Span) -> Span {
    Span {
        start: span.end.saturating_sub(1).max(span.start),
        end: span.end,
    }
}
