//! From the chain of elements to numbered states and transitions.
//!
//! Jumps behind a statement vanish (the statement leads to their target), unless they leave an
//! atomic sequence; choices within choices are flattened; the steps of `unless` escapes are put
//! in front of the steps they can replace.

use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, Span};

use super::elements::{El, Elements, Jump, Node, Seq};
use super::{Action, DNode, DStep, Flow, State, StateNr, Transition};
use crate::ast;
use crate::hir::{Basic, Expr};
use crate::resolve::Resolver;

/// Longest chain of jumps that is followed.
const MAX_JUMPS: usize = 500;

/// A step while the table is being made.
#[derive(Clone, Debug)]
struct Step {
    action: Arc<Action>,
    target: StateNr,
    atomic: bool,
    in_atomic: bool,
    escape: StateNr,
    number: usize,
    escapes: Vec<StateNr>,
    span: Span,
}

/// A row of the table: a step, or a choice with links to the states that start its options.
#[derive(Clone, Debug)]
struct Row {
    head: Step,
    links: Vec<Step>,
}

pub(super) fn graph(resolver: &mut Resolver, process: &ast::Process, elements: Elements) -> Flow {
    let size = elements.list.len();
    let mut table = Table {
        resolver,
        elements,
        rows: vec![None; size + 1],
        done: vec![false; size],
        endless: false,
    };
    table.tie_ends();
    let body = table.elements.body;
    table.check_jumps();
    table.put_sequence(body);
    let mut flags: Vec<State> = vec![State::default(); size + 1];
    for (at, element) in table.elements.list.iter().enumerate() {
        flags[at + 1].span = element.span;
        if matches!(element.node, Node::Basic(Basic::End)) {
            flags[at + 1].valid_end = true;
        }
    }
    for label in &table.elements.labels {
        let state = &mut flags[label.element + 1];
        state.valid_end |= label.name.starts_with("end");
        state.progress |= label.name.starts_with("progress");
        state.accept |= label.name.starts_with("accept");
    }
    let first = table.elements.sequences[body].first;
    let start = first.map_or(0, |f| table.hunt(f, table.elements.list[f].atomic) + 1);
    let labels = table
        .elements
        .labels
        .iter()
        .map(|l| (l.name.clone(), l.element + 1))
        .collect();
    let end = (0..size)
        .rev()
        .find(|at| matches!(table.elements.list[*at].node, Node::Basic(Basic::End)))
        .map_or(0, |at| at + 1);
    let is_break = |at: &usize| matches!(table.elements.list[*at].node, Node::After);
    let breaks = (0..size).filter(is_break).map(|at| at + 1).collect();
    let rows = std::mem::take(&mut table.rows);
    let lists = flatten(rows, &mut flags);
    for (state, list) in flags.iter_mut().zip(lists) {
        state.transitions = list
            .into_iter()
            .map(|s| Transition {
                action: s.action,
                target: s.target,
                atomic: s.atomic,
                in_atomic: s.in_atomic,
                merges: false,
                joins: false,
                escape: s.escape,
                number: s.number,
                span: s.span,
            })
            .collect();
    }
    // A jump that is a step of its own hands its end label on.
    for at in 1..flags.len() {
        if let [only] = flags[at].transitions.as_slice()
            && matches!(*only.action, Action::Jump)
            && flags[at].valid_end
        {
            let target = only.target;
            if let Some(state) = flags.get_mut(target) {
                state.valid_end = true;
            }
        }
    }
    let flow = Flow {
        states: flags,
        start,
        end,
        breaks,
        labels,
        size,
    };
    check_choices(resolver, process, &flow);
    flow
}

fn check_choices(resolver: &mut Resolver, process: &ast::Process, flow: &Flow) {
    for state in flow.reachable() {
        let found = &flow.states[state];
        let is_else = |t: &&Transition| matches!(*t.action, Action::Basic(Basic::Else));
        if found.transitions.iter().filter(is_else).count() > 1 {
            let message = "this choice has more than one `else`, counting nested choices";
            resolver.error("PML074", message, found.span);
        }
        let endless = |t: &Transition| {
            t.target == state
                && matches!(
                    *t.action,
                    Action::Basic(Basic::Condition(Expr::Const(1))) | Action::Jump
                )
        };
        if process.kind != ast::ProcessKind::Never && found.transitions.iter().any(endless) {
            let warning = Diagnostic::warning(
                "PML080",
                "this loop does nothing and never ends",
                found.span,
            );
            resolver.diagnostics.push(warning);
        }
    }
}

struct Table<'r> {
    resolver: &'r mut Resolver,
    elements: Elements,
    /// By state number; number 0 is unused.
    rows: Vec<Option<Row>>,
    done: Vec<bool>,
    endless: bool,
}

impl Table<'_> {
    /// Ties the last element of each block to what follows the block.
    fn tie_ends(&mut self) {
        for at in (0..self.elements.list.len()).rev() {
            let element = &self.elements.list[at];
            let (Node::Atomic(seq) | Node::DStep(seq) | Node::Plain(seq)) = element.node else {
                continue;
            };
            let mut follow = element.next;
            let mut hops = 0;
            while let Some(next) = follow {
                if !matches!(self.elements.list[next].node, Node::Join) || hops > MAX_JUMPS {
                    break;
                }
                follow = self.elements.list[next].next;
                hops += 1;
            }
            if let Some(last) = self.elements.sequences[seq].last
                && self.elements.list[last].next.is_none()
            {
                self.elements.list[last].next = follow;
            }
        }
    }

    /// The element that a jump leads to.
    fn destination(&self, jump: &Jump) -> Option<El> {
        match jump {
            Jump::Break(exit) => self.elements.breaks[*exit],
            Jump::Label { name, scope } => {
                let mut best = None;
                for label in self
                    .elements
                    .labels
                    .iter()
                    .rev()
                    .filter(|l| l.name == *name)
                {
                    if label.scope == *scope {
                        return Some(label.element);
                    }
                    if scope.starts_with(&label.scope) || best.is_none() {
                        best = Some(label.element);
                    }
                }
                best
            }
        }
    }

    /// Every jump has a destination, and none crosses the border of a d_step.
    fn check_jumps(&mut self) {
        for at in 0..self.elements.list.len() {
            let element = &self.elements.list[at];
            let span = element.span;
            let Node::Goto(jump) = &element.node else {
                continue;
            };
            match self.destination(jump) {
                None => {
                    if let Jump::Label { name, .. } = jump {
                        let message = format!("there is no label {name} in this process type");
                        let labels = self.elements.labels.iter().map(|l| &*l.name);
                        let error = Diagnostic::error("PML081", message, span);
                        let error = error.did_you_mean(name, labels);
                        self.resolver.diagnostics.push(error);
                    }
                    self.elements.list[at].node = Node::Basic(Basic::Nothing);
                }
                Some(target) if self.elements.list[target].d_step != element.d_step => {
                    self.resolver
                        .error("PML082", "no jump may enter or leave a d_step", span);
                    self.elements.list[at].node = Node::Basic(Basic::Nothing);
                }
                Some(_) => {}
            }
        }
    }

    /// Follows jumps from an element. Inside an atomic sequence a jump out of it is kept.
    fn hunt(&mut self, from: El, atomic: bool) -> El {
        self.hunt_within(from, atomic, &mut 0)
    }

    /// The same after so many `jumps`: circles may lead through an `unless`.
    fn hunt_within(&mut self, from: El, atomic: bool, jumps: &mut usize) -> El {
        let mut at = from;
        while *jumps < MAX_JUMPS {
            *jumps += 1;
            let element = &self.elements.list[at];
            let next = match &element.node {
                Node::Goto(jump) => match self.destination(jump) {
                    Some(target) => target,
                    None => return at,
                },
                Node::Join | Node::After => match element.next {
                    Some(next) => next,
                    None => return at,
                },
                Node::Unless => {
                    let main = element.subs[0];
                    match self.elements.sequences[main].first {
                        Some(first) => self.hunt_within(first, atomic, jumps),
                        None => return at,
                    }
                }
                _ => return at,
            };
            if atomic && !self.elements.list[next].atomic {
                return at;
            }
            if next == at {
                break;
            }
            at = next;
        }
        if !self.endless {
            self.endless = true;
            let span = self.elements.list[from].span;
            self.resolver
                .error("PML083", "these jumps go round in circles", span);
        }
        from
    }

    /// Where the first step of a sequence is found.
    fn hunt_start(&self, from: El) -> El {
        let mut at = from;
        for _ in 0..MAX_JUMPS {
            let element = &self.elements.list[at];
            let next = match element.node {
                Node::Join => element.next,
                Node::Unless => self.elements.sequences[element.subs[0]].first,
                _ => None,
            };
            match next {
                Some(next) if next != at => at = next,
                _ => return at,
            }
        }
        at
    }

    fn step(&self, at: El, action: Action, target: StateNr, atomic: bool) -> Step {
        Step {
            action: Arc::new(action),
            target,
            atomic,
            in_atomic: self.elements.list[at].atomic || self.elements.list[at].last_atomic,
            escape: 0,
            number: at,
            escapes: Vec::new(),
            span: self.elements.list[at].span,
        }
    }

    fn put_sequence(&mut self, seq: Seq) {
        let (first, last) = {
            let sequence = &self.elements.sequences[seq];
            (sequence.first, sequence.last)
        };
        let mut at = first;
        while let Some(element) = at {
            if !std::mem::replace(&mut self.done[element], true) {
                self.put_element(element);
            }
            if at == last {
                return;
            }
            at = self.elements.list[element].next;
        }
    }

    fn put_element(&mut self, at: El) {
        let element = self.elements.list[at].clone();
        match element.node {
            Node::Unless => self.put_sequence(element.subs[0]),
            Node::If | Node::Do => {
                let head = self.step(at, Action::Blocked, 0, element.atomic);
                let mut links = Vec::new();
                for option in &element.subs {
                    let Some(first) = self.elements.sequences[*option].first else {
                        continue;
                    };
                    let start = self.hunt_start(first);
                    let dead = matches!(
                        self.elements.list[start].node,
                        Node::Basic(Basic::Condition(Expr::Const(0)))
                    ) && self.elements.list[start].escapes.is_empty();
                    if !dead {
                        links.push(self.step(at, Action::Blocked, start + 1, element.atomic));
                    }
                }
                self.rows[at + 1] = Some(Row { head, links });
                for option in element.subs {
                    self.put_sequence(option);
                }
            }
            Node::Atomic(seq) | Node::Plain(seq) => {
                self.enter_block(seq, at);
                let Some(first) = self.elements.sequences[seq].first else {
                    return;
                };
                let start = self.hunt_start(first) + 1;
                let head = self.step(at, Action::Blocked, 0, false);
                let link = self.step(at, Action::Blocked, start, false);
                self.rows[at + 1] = Some(Row {
                    head,
                    links: vec![link],
                });
                self.put_sequence(seq);
            }
            Node::DStep(seq) => {
                self.enter_block(seq, at);
                let graph = self.d_step(seq, element.span);
                let target = match element.next {
                    Some(next) => self.hunt(next, element.atomic) + 1,
                    None => 0,
                };
                let step = self.step(at, Action::DStep(graph), target, element.atomic);
                self.put_step(at, step);
            }
            Node::Goto(jump) => {
                let target = match self.destination(&jump) {
                    Some(target) => self.hunt(target, element.atomic) + 1,
                    None => 0,
                };
                let step = self.step(at, Action::Jump, target, self.elements.list[at].atomic);
                self.put_step(at, step);
            }
            Node::Join | Node::After | Node::Basic(_) => {
                let target = match element.next {
                    Some(next) => self.hunt(next, element.atomic) + 1,
                    None => 0,
                };
                let action = match element.node {
                    Node::Basic(basic) => Action::Basic(basic),
                    _ => Action::Jump,
                };
                let step = self.step(at, action, target, element.atomic);
                self.put_step(at, step);
            }
        }
    }

    fn put_step(&mut self, at: El, mut step: Step) {
        let element = &self.elements.list[at];
        let atomic = element.atomic;
        if !matches!(element.node, Node::Join) {
            for escape in element.escapes.clone() {
                if let Some(first) = self.elements.sequences[escape].first {
                    step.escapes.push(self.hunt(first, atomic) + 1);
                }
            }
        }
        let escapes = self.elements.list[at].escapes.clone();
        let covered = !matches!(self.elements.list[at].node, Node::Join);
        self.rows[at + 1] = Some(Row {
            head: step,
            links: Vec::new(),
        });
        if covered {
            for escape in escapes {
                self.put_sequence(escape);
            }
        }
    }

    /// Ties a block to what follows it, and marks the jumps that leave an atomic sequence.
    fn enter_block(&mut self, seq: Seq, at: El) {
        self.patch_atomic(seq);
        let next = self.elements.list[at].next;
        if let Some(last) = self.elements.sequences[seq].last {
            self.elements.list[last].next = next;
        }
    }

    fn patch_atomic(&mut self, seq: Seq) {
        let (mut at, extent) = {
            let sequence = &self.elements.sequences[seq];
            (sequence.first, sequence.extent)
        };
        while let Some(element) = at {
            if let Node::Goto(jump) = self.elements.list[element].node.clone() {
                if let Some(target) = self.destination(&jump) {
                    let inside = {
                        let target = &self.elements.list[target];
                        target.atomic || target.last_atomic
                    };
                    let jump = &mut self.elements.list[element];
                    if (jump.atomic || jump.last_atomic) && !inside {
                        jump.atomic = false;
                        jump.last_atomic = true;
                    }
                    if jump.last_atomic && inside {
                        jump.last_atomic = false;
                        jump.atomic = true;
                    }
                }
            } else {
                for sub in self.elements.list[element].subs.clone() {
                    self.patch_atomic(sub);
                }
            }
            if at == extent {
                return;
            }
            at = self.elements.list[element].next;
        }
    }

    /// The inside of a d_step.
    fn d_step(&mut self, seq: Seq, span: Span) -> DStep {
        let mut graph = DStep {
            nodes: Vec::new(),
            span,
        };
        let mut numbers: Vec<Option<usize>> = vec![None; self.elements.list.len()];
        let Some(first) = self.elements.sequences[seq].first else {
            return graph;
        };
        let mut todo = vec![first];
        // Numbers are given when a node is first seen; the entry is number 0.
        numbers[first] = Some(0);
        graph.nodes.push(DNode::Jump(None));
        while let Some(at) = todo.pop() {
            let element = self.elements.list[at].clone();
            let mut number = |table: &Self, target: Option<El>, todo: &mut Vec<El>| {
                let target = target.filter(|t| table.elements.list[*t].in_d_step)?;
                if numbers[target].is_none() {
                    numbers[target] = Some(graph.nodes.len());
                    graph.nodes.push(DNode::Jump(None));
                    todo.push(target);
                }
                numbers[target]
            };
            let node = match element.node {
                Node::Basic(basic) => {
                    let next = number(self, element.next, &mut todo);
                    self.check_d_step(&basic, element.span);
                    DNode::Step(basic, next, element.span)
                }
                Node::Goto(jump) => {
                    let target = self.destination(&jump);
                    DNode::Jump(number(self, target, &mut todo))
                }
                Node::Join | Node::After => DNode::Jump(number(self, element.next, &mut todo)),
                Node::If | Node::Do => {
                    let mut options = Vec::new();
                    for option in element.subs {
                        let first = self.elements.sequences[option].first;
                        options.extend(number(self, first, &mut todo));
                    }
                    DNode::Choice(options, element.span)
                }
                Node::Unless => {
                    let main = self.elements.sequences[element.subs[0]].first;
                    DNode::Jump(number(self, main, &mut todo))
                }
                Node::Atomic(inner) | Node::DStep(inner) | Node::Plain(inner) => {
                    // What follows the block is tied to its last element.
                    self.enter_block(inner, at);
                    let first = self.elements.sequences[inner].first;
                    DNode::Jump(number(self, first, &mut todo))
                }
            };
            if let Some(own) = numbers[at] {
                graph.nodes[own] = node;
            }
        }
        graph
    }

    fn check_d_step(&mut self, basic: &Basic, span: Span) {
        let run = match basic {
            Basic::Condition(e) | Basic::Assign(_, e) | Basic::Assert(e) => {
                crate::resolve::contains_run(e)
            }
            _ => false,
        };
        if run {
            let error = Diagnostic::error("PML084", "`run` cannot be used in a d_step", span)
                .help("use atomic instead");
            self.resolver.diagnostics.push(error);
        }
    }
}

/// Flattens choices within choices, replaces links by the steps they lead to, and puts escapes
/// in front. Labels of flattened states move with the steps.
fn flatten(mut rows: Vec<Option<Row>>, flags: &mut [State]) -> Vec<Vec<Step>> {
    let carry = |flags: &mut [State], to: StateNr, from: StateNr| {
        if to != 0 && to != from {
            let (valid_end, progress, accept) = (
                flags[from].valid_end,
                flags[from].progress,
                flags[from].accept,
            );
            flags[to].valid_end |= valid_end;
            flags[to].progress |= progress;
            flags[to].accept |= accept;
        }
    };
    let is_choice = |rows: &[Option<Row>], state: StateNr| {
        state != 0 && rows[state].as_ref().is_some_and(|r| !r.links.is_empty())
    };
    // Nesting is bounded by the parser, so this ends; the bound is a second safety.
    for _ in 0..flags.len() + 1 {
        let mut changed = false;
        for at in 1..rows.len() {
            let Some(row) = &rows[at] else { continue };
            if !row.links.iter().any(|l| is_choice(&rows, l.target)) {
                continue;
            }
            let mut links = Vec::new();
            for link in row.links.clone() {
                if is_choice(&rows, link.target) {
                    let inner = rows[link.target].as_ref().map_or(&[][..], |r| &r.links);
                    for step in inner.iter().cloned() {
                        carry(flags, step.target, link.target);
                        links.push(step);
                    }
                    changed = true;
                } else {
                    carry(flags, link.target, link.target);
                    links.push(link);
                }
            }
            if let Some(row) = &mut rows[at] {
                row.links = links;
            }
        }
        if !changed {
            break;
        }
    }
    let mut lists: Vec<Vec<Step>> = Vec::with_capacity(rows.len());
    for at in 0..rows.len() {
        let list = match &rows[at] {
            None => Vec::new(),
            Some(row) if row.links.is_empty() => vec![row.head.clone()],
            Some(row) => {
                let mut list = Vec::new();
                for link in &row.links {
                    if let Some(Some(found)) = rows.get(link.target) {
                        carry(flags, found.head.target, link.target);
                        list.push(found.head.clone());
                    }
                }
                list
            }
        };
        lists.push(list);
    }
    for at in 1..lists.len() {
        let own = lists[at].clone();
        for step in &own {
            for escape in step.escapes.iter().rev() {
                for found in lists[*escape].clone() {
                    if lists[at].iter().any(|s| s.number == found.number) {
                        continue;
                    }
                    lists[at].insert(
                        0,
                        Step {
                            escape: *escape,
                            ..found
                        },
                    );
                }
            }
        }
    }
    for list in &mut lists {
        list.retain(|s| !matches!(*s.action, Action::Blocked));
    }
    lists
}
