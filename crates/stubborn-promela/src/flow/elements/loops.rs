//! Counting loops and `select`, written out as the statements they stand for.

use stubborn_diagnostics::Span;

use super::{Around, Builder, Jump, Prepared, Seq};
use crate::ast::{self, Block};
use crate::hir::{Basic, Expr, Leaf, LeafInitial, Place, Scalar, VarKey, Variable};

impl Builder<'_> {
    /// `i = a; do :: i <= b -> body; i++ :: else -> break od`
    pub(super) fn for_range(
        &mut self,
        variable: &ast::Reference,
        from: &ast::Expr,
        to: &ast::Expr,
        body: &Block,
        span: Span,
    ) -> Option<Prepared> {
        let place = self.resolver.target(variable)?;
        // A loop may be empty, but somebody who writes down two numbers means another one.
        let written = |bound: &ast::Expr| matches!(bound.kind, ast::ExprKind::Number(_));
        let (low, high) = (
            self.resolver.constant_value(from),
            self.resolver.constant_value(to),
        );
        if let (Some(low), Some(high), true) = (low, high, written(from) && written(to))
            && low > high
        {
            let message = format!("this loop would run from {low} to {high}");
            self.resolver.error("PML077", message, span);
        }
        let from = self.resolver.expr(from);
        let to = self.resolver.expr(to);
        let condition = compare(ast::Binary::LessEqual, &place, to, span);
        Some(self.counting(place, from, condition, Vec::new(), body, span))
    }

    pub(super) fn for_in(
        &mut self,
        variable: &ast::Reference,
        collection: &ast::Reference,
        body: &Block,
        span: Span,
    ) -> Option<Prepared> {
        let key = self.resolver.lookup(&collection.parts[0].name);
        let array = key.map(|k| self.resolver.variable_of(k).clone());
        let Some(array) = array.filter(|_| collection.parts.len() == 1) else {
            self.resolver.error(
                "PML078",
                "`in` needs an array or a channel",
                collection.span,
            );
            return None;
        };
        let index = self.resolver.lookup(&variable.parts[0].name);
        let structure = index.and_then(|k| self.resolver.variable_of(k).structure);
        if structure.is_none() {
            let Some(size) = array
                .leaves
                .first()
                .filter(|_| array.is_array)
                .map(|l| l.dims[0])
            else {
                let message = format!("{} is no array", array.name);
                self.resolver.error("PML078", message, collection.span);
                return None;
            };
            let place = self.resolver.target(variable)?;
            let last = Expr::Const(size as i32 - 1);
            let condition = compare(ast::Binary::LessEqual, &place, last, span);
            return Some(self.counting(place, Expr::Const(0), condition, Vec::new(), body, span));
        }
        let channel = self.resolver.channel(collection)?;
        let fits = match array.leaves.first().map(|l| &l.initial) {
            Some(LeafInitial::Channel(ty)) => ty.capacity > 0,
            _ => false,
        };
        if !fits {
            let message = format!("{} is no channel with room for messages", array.name);
            self.resolver.error("PML078", message, collection.span);
            return None;
        }
        self.counters += 1;
        let counter = Variable {
            name: format!("for {}", self.counters).into(),
            span,
            leaves: vec![Leaf {
                suffix: String::new(),
                scalar: Scalar::Byte,
                dims: Vec::new(),
                initial: LeafInitial::Zero,
            }],
            is_array: false,
            structure: None,
            hidden: false,
            local: false,
        };
        let local = self.resolver.add_local(counter);
        let place = Place {
            variable: VarKey::Local(local),
            leaf: 0,
            indices: Vec::new(),
            scalar: Scalar::Byte,
            span,
        };
        let length = Expr::Len(Box::new(channel.clone()));
        let condition = compare(ast::Binary::Less, &place, length, span);
        let message = [ast::ReceiveArgument::Variable(variable.clone())];
        let arguments = self.resolver.arguments(&message);
        let value = ast::Expr {
            kind: ast::ExprKind::Reference(variable.clone()),
            span,
        };
        let values = self.resolver.values(&[value]);
        let rotate = vec![
            Basic::Receive {
                channel: channel.clone(),
                arguments,
                random: false,
                keep: false,
            },
            Basic::Send {
                channel,
                values,
                sorted: false,
            },
        ];
        Some(self.counting(place, Expr::Const(0), condition, rotate, body, span))
    }

    /// The common part of all counting loops.
    pub(super) fn counting(
        &mut self,
        place: Place,
        from: Expr,
        condition: Expr,
        before: Vec<Basic>,
        body: &Block,
        span: Span,
    ) -> Prepared {
        let exit = self.new_loop();
        self.add(Prepared::Basic(Basic::Assign(place.clone(), from), span));
        self.at_head = false;
        self.open_sequence();
        self.add(Prepared::Basic(Basic::Condition(condition), span));
        for basic in before {
            self.add(Prepared::Basic(basic, span));
        }
        self.enter_scope();
        for statement in &body.statements {
            self.step(statement, false);
        }
        self.leave_scope();
        let looped = self.finish_counting(place, span);
        let leave = self.leave_loop(true, exit, span);
        self.breaks.pop();
        Prepared::Do(vec![leave, looped], exit, span)
    }

    pub(super) fn finish_counting(&mut self, place: Place, span: Span) -> Seq {
        let old = Expr::Load(Box::new(place.clone()));
        let more = Expr::Binary(
            ast::Binary::Add,
            Box::new(old),
            Box::new(Expr::Const(1)),
            span,
        );
        self.add(Prepared::Basic(Basic::Assign(place, more), span));
        self.close_sequence(Around::Made, span)
    }

    pub(super) fn leave_loop(&mut self, with_else: bool, exit: usize, span: Span) -> Seq {
        self.open_sequence();
        if with_else {
            self.add(Prepared::Basic(Basic::Else, span));
        }
        self.add(Prepared::Goto(Jump::Break(exit), span));
        self.close_sequence(Around::Made, span)
    }

    /// One step with a choice of values, or `i = a; do :: i < b -> i++ :: break od`.
    pub(super) fn select(
        &mut self,
        variable: &ast::Reference,
        from: &ast::Expr,
        to: &ast::Expr,
        plain: bool,
        span: Span,
    ) -> Option<Prepared> {
        let place = self.resolver.target(variable)?;
        let (low, high) = (
            self.resolver.constant_value(from),
            self.resolver.constant_value(to),
        );
        let from = self.resolver.expr(from);
        let to = self.resolver.expr(to);
        if let (Some(low), Some(high)) = (low, high) {
            if low > high {
                let message = format!("there is no value from {low} to {high}");
                self.resolver.error("PML077", message, span);
                return None;
            }
            if plain && high - low <= 32 {
                let mut options = Vec::new();
                for value in low..=high {
                    self.open_sequence();
                    let assign = Basic::Assign(place.clone(), Expr::Const(value as i32));
                    self.add(Prepared::Basic(assign, span));
                    options.push(self.close_sequence(Around::Made, span));
                }
                return Some(Prepared::If(options, span));
            }
        }
        self.add(Prepared::Basic(Basic::Assign(place.clone(), from), span));
        self.open_sequence();
        let condition = compare(ast::Binary::Less, &place, to, span);
        self.add(Prepared::Basic(Basic::Condition(condition), span));
        let exit = self.new_loop();
        let looped = self.finish_counting(place, span);
        let leave = self.leave_loop(false, exit, span);
        self.breaks.pop();
        let options = if plain {
            vec![looped, leave]
        } else {
            vec![leave, looped]
        };
        Some(Prepared::Do(options, exit, span))
    }
}

fn compare(operator: ast::Binary, place: &Place, right: Expr, span: Span) -> Expr {
    let left = Expr::Load(Box::new(place.clone()));
    Expr::Binary(operator, Box::new(left), Box::new(right), span)
}
