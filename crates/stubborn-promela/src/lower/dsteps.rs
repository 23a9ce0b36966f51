//! The inside of a `d_step`: one deterministic program.
//!
//! The little graph is turned into structured statements. Nodes that are entered from more than
//! one place (joins) become numbered pieces; a temporary holds the number of the next piece. In
//! a graph without cycles the pieces stand one after the other, each guarded by its number; with
//! cycles a loop runs around them.

use stubborn_ir::{self as ir, Statement, TempId};
use stubborn_system::FailureKind;

use super::expressions::pattern_of;
use super::steps::Body;
use super::{Context, Lowering, guards};
use crate::flow::{DNode, DStep, Transition};
use crate::hir::{Basic, Expr};

/// How a graph is cut into pieces.
struct Pieces {
    /// The number of the piece that starts at a node.
    number: Vec<Option<i32>>,
    /// Nodes that start pieces, in an order in which they can run one after the other.
    order: Vec<usize>,
    cyclic: bool,
}

fn successors(graph: &DStep, at: usize) -> Vec<usize> {
    match &graph.nodes[at] {
        DNode::Step(_, next, _) | DNode::Jump(next) => next.iter().copied().collect(),
        DNode::Choice(options, _) => options.clone(),
    }
}

impl Pieces {
    fn find(graph: &DStep, entry: usize) -> Self {
        let size = graph.nodes.len();
        let mut entered = vec![0usize; size];
        let mut state = vec![0u8; size];
        let mut finished = Vec::new();
        let mut cyclic = false;
        // Depth first without recursion: (node, next successor).
        let mut stack = vec![(entry, 0)];
        state[entry] = 1;
        entered[entry] = 1;
        while let Some((at, next)) = stack.pop() {
            let following = successors(graph, at);
            match following.get(next) {
                Some(to) => {
                    stack.push((at, next + 1));
                    entered[*to] += 1;
                    match state[*to] {
                        0 => {
                            state[*to] = 1;
                            stack.push((*to, 0));
                        }
                        1 => cyclic = true,
                        _ => {}
                    }
                }
                None => {
                    state[at] = 2;
                    finished.push(at);
                }
            }
        }
        let order: Vec<usize> = finished
            .into_iter()
            .rev()
            .filter(|at| *at == entry || entered[*at] > 1)
            .collect();
        let mut number = vec![None; size];
        for (nr, at) in order.iter().enumerate() {
            number[*at] = Some(nr as i32);
        }
        Self {
            number,
            order,
            cyclic,
        }
    }
}

impl Lowering<'_> {
    /// Appends the statements of a d_step from a node on.
    pub(super) fn d_step_body(
        &mut self,
        graph: &DStep,
        entry: usize,
        transition: &Transition,
        context: Context,
        body: &mut Body,
    ) {
        let pieces = Pieces::find(graph, entry);
        if pieces.order.len() == 1 && !pieces.cyclic {
            let statements = self.piece(graph, entry, &pieces, None, transition, context, body);
            body.statements.extend(statements);
            return;
        }
        let next = body.temp();
        let exit = pieces.order.len() as i32;
        body.statements
            .push(Statement::Let(next, ir::Expr::Const(0)));
        let mut all = Vec::new();
        for (number, at) in pieces.order.iter().enumerate() {
            let statements = self.piece(
                graph,
                *at,
                &pieces,
                Some((next, exit)),
                transition,
                context,
                body,
            );
            all.push(Statement::If {
                condition: ir::Expr::equal(ir::Expr::Temp(next), ir::Expr::Const(number as i32)),
                then: statements,
                otherwise: Vec::new(),
            });
        }
        if pieces.cyclic {
            let message = format!("the d_step in line {} never ends", self.line(graph.span));
            let site = self
                .program
                .site(FailureKind::EndlessLoop, message, Some(graph.span));
            body.statements.push(Statement::While {
                condition: ir::Expr::less(ir::Expr::Temp(next), ir::Expr::Const(exit)),
                body: all,
                site,
            });
        } else {
            body.statements.extend(all);
        }
    }

    /// The statements from a node on, up to the next piece.
    #[allow(clippy::too_many_arguments)]
    fn piece(
        &mut self,
        graph: &DStep,
        start: usize,
        pieces: &Pieces,
        next: Option<(TempId, i32)>,
        transition: &Transition,
        context: Context,
        body: &mut Body,
    ) -> Vec<Statement> {
        let mut out = Vec::new();
        let mut at = Some(start);
        let mut first = true;
        loop {
            let Some(node) = at else {
                if let Some((temp, exit)) = next {
                    out.push(Statement::Let(temp, ir::Expr::Const(exit)));
                }
                return out;
            };
            if !first && let (Some(number), Some((temp, _))) = (pieces.number[node], next) {
                out.push(Statement::Let(temp, ir::Expr::Const(number)));
                return out;
            }
            first = false;
            match &graph.nodes[node] {
                DNode::Jump(to) => at = *to,
                DNode::Step(basic, to, span) => {
                    let mut inner = Body {
                        statements: Vec::new(),
                        temps: body.temps,
                    };
                    self.d_statement(basic, *span, context, &mut inner);
                    body.temps = inner.temps;
                    out.extend(inner.statements);
                    at = *to;
                }
                DNode::Choice(options, span) => {
                    let message = format!(
                        "no option is executable inside the d_step in line {}",
                        self.line(graph.span)
                    );
                    let site = self.program.site(FailureKind::Other, message, Some(*span));
                    let mut otherwise = vec![Statement::Fail(site)];
                    for option in options.iter().rev() {
                        let condition =
                            self.executable_node(graph, *option, transition, context, 0);
                        let inside = pieces.number[*option];
                        let then = match (inside, next) {
                            (Some(number), Some((temp, _))) => {
                                vec![Statement::Let(temp, ir::Expr::Const(number))]
                            }
                            _ => {
                                self.piece(graph, *option, pieces, next, transition, context, body)
                            }
                        };
                        otherwise = match condition {
                            ir::Expr::Const(0) => otherwise,
                            ir::Expr::Const(_) => then,
                            condition => vec![Statement::If {
                                condition,
                                then,
                                otherwise,
                            }],
                        };
                    }
                    out.extend(otherwise);
                    return out;
                }
            }
        }
    }

    /// A statement inside a d_step. Its executability was tested before where it stands first in
    /// an option or in the d_step; elsewhere blocking is a failure.
    fn d_statement(
        &mut self,
        basic: &Basic,
        span: stubborn_diagnostics::Span,
        context: Context,
        body: &mut Body,
    ) {
        let mut required = ir::Expr::Const(1);
        let mut work = Body {
            statements: Vec::new(),
            temps: body.temps,
        };
        match basic {
            Basic::Condition(expr) => {
                if matches!(expr, Expr::Run(_)) {
                    return;
                }
                let value = self.expr(expr, context);
                required = guards::truth(value);
            }
            Basic::Else | Basic::Nothing => {}
            Basic::Send {
                channel,
                values,
                sorted,
            } => {
                let target = self.target(channel, context);
                let mut chosen: Option<Vec<Statement>> = None;
                for (channel, denotes) in self.cases(&target).into_iter().rev() {
                    let mut case = Body {
                        statements: Vec::new(),
                        temps: work.temps,
                    };
                    if self.channels.list[channel].capacity == 0 {
                        let message = "a rendez-vous cannot be offered inside a d_step";
                        let site = self.program.site(FailureKind::Other, message, Some(span));
                        case.statements.push(Statement::Fail(site));
                    } else if self.options.lossy {
                        let mut kept = Body {
                            statements: Vec::new(),
                            temps: case.temps,
                        };
                        self.send_body(channel, values, *sorted, context, span, &mut kept);
                        case.temps = kept.temps;
                        case.statements.push(Statement::If {
                            condition: self.has_room(channel),
                            then: kept.statements,
                            otherwise: Vec::new(),
                        });
                    } else {
                        let room = self.has_room(channel);
                        self.require(room, span, &mut case);
                        self.send_body(channel, values, *sorted, context, span, &mut case);
                    }
                    work.temps = case.temps;
                    chosen = Some(either(denotes, case.statements, chosen));
                }
                work.statements.extend(chosen.unwrap_or_default());
            }
            Basic::Receive {
                channel,
                arguments,
                random,
                keep,
            } => {
                let target = self.target(channel, context);
                let mut chosen: Option<Vec<Statement>> = None;
                for (channel, denotes) in self.cases(&target).into_iter().rev() {
                    let mut case = Body {
                        statements: Vec::new(),
                        temps: work.temps,
                    };
                    let pattern = pattern_of(self, arguments, context);
                    let fits = match self.channels.list[channel].capacity {
                        0 => ir::Expr::Const(0),
                        _ => self.message_fits(channel, &pattern, *random, span),
                    };
                    self.require(fits.clone(), span, &mut case);
                    if fits != ir::Expr::Const(0) {
                        self.receive_body(
                            channel, arguments, *random, *keep, context, span, &mut case,
                        );
                    }
                    work.temps = case.temps;
                    chosen = Some(either(denotes, case.statements, chosen));
                }
                work.statements.extend(chosen.unwrap_or_default());
            }
            other => self.simple(other, context, span, &mut work),
        }
        self.require(required, span, body);
        body.temps = body.temps.max(work.temps);
        body.statements.extend(work.statements);
    }

    /// Fails where a statement would have to wait.
    fn require(&mut self, condition: ir::Expr, span: stubborn_diagnostics::Span, body: &mut Body) {
        if matches!(condition, ir::Expr::Const(v) if v != 0) {
            return;
        }
        let message = format!("`{}` blocks inside a d_step", self.text(span));
        let site = self.program.site(FailureKind::Other, message, Some(span));
        body.statements.push(Statement::If {
            condition: guards::not(condition),
            then: vec![Statement::Fail(site)],
            otherwise: Vec::new(),
        });
    }
}

fn either(
    condition: ir::Expr,
    then: Vec<Statement>,
    otherwise: Option<Vec<Statement>>,
) -> Vec<Statement> {
    match (condition, otherwise) {
        (ir::Expr::Const(_), _) => then,
        (condition, otherwise) => {
            vec![Statement::If {
                condition,
                then,
                otherwise: otherwise.unwrap_or_default(),
            }]
        }
    }
}
