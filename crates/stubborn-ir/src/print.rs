//! Expressions and commands as text, with the model's own names.

use std::fmt::{self, Write};

use crate::{
    BinaryOp, ChannelRef, DivideOp, Expr, Item, Place, Program, SendOrder, Statement, UnaryOp,
    VarId,
};

impl Program {
    /// An expression as people write it.
    pub fn text(&self, expr: &Expr) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_expr(&mut out, expr, 0);
        out
    }

    /// A statement as people write it.
    pub fn statement_text(&self, statement: &Statement) -> String {
        let mut out = String::new();
        let _ = self.write_statement(&mut out, statement);
        out
    }

    fn name(&self, variable: VarId) -> &str {
        &self.variables[variable.index()].name
    }

    /// `P at wait` for a test of a program counter.
    fn location_test(&self, expr: &Expr) -> Option<String> {
        let Expr::Binary(BinaryOp::Equal, left, right) = expr else {
            return None;
        };
        let (Expr::Var(variable), Expr::Const(at)) = (&**left, &**right) else {
            return None;
        };
        let owner = self.variables[variable.index()].owner?;
        let process = &self.processes[owner.index()];
        let location = process.locations.get(usize::try_from(*at).ok()?)?;
        (process.counter == *variable).then(|| format!("{} at {location}", process.name))
    }

    fn write_expr(&self, out: &mut String, expr: &Expr, around: u8) -> fmt::Result {
        if let Some(text) = self.location_test(expr) {
            return if around > 3 {
                write!(out, "({text})")
            } else {
                write!(out, "{text}")
            };
        }
        match expr {
            Expr::Const(value) => write!(out, "{value}"),
            Expr::Var(variable) => write!(out, "{}", self.name(*variable)),
            Expr::Temp(temp) => write!(out, "temp{}", temp.index()),
            Expr::Element(variable, index, _) => {
                write!(out, "{}[", self.name(*variable))?;
                self.write_expr(out, index, 0)?;
                out.write_char(']')
            }
            Expr::Unary(op, operand) => {
                out.push_str(match op {
                    UnaryOp::Negate => "-",
                    UnaryOp::BitNot => "~",
                    UnaryOp::Not => "not ",
                });
                self.write_expr(out, operand, 11)
            }
            Expr::Binary(op, left, right) => {
                let (sign, level) = binary_sign(*op);
                match (
                    op,
                    self.name_beside(left, right),
                    self.name_beside(right, left),
                ) {
                    (BinaryOp::Equal | BinaryOp::NotEqual, Some(name), _) => {
                        self.write_named(out, (left, sign, name), level, around)
                    }
                    (BinaryOp::Equal | BinaryOp::NotEqual, None, Some(name)) => {
                        self.write_named(out, (right, sign, name), level, around)
                    }
                    _ => self.write_infix(out, (left, sign, right), level, around),
                }
            }
            Expr::Divide(op, left, right, _) => {
                let sign = match op {
                    DivideOp::Quotient => "/",
                    DivideOp::Remainder => "%",
                };
                self.write_infix(out, (left, sign, right), 10, around)
            }
            Expr::And(left, right) => self.write_infix(out, (left, "and", right), 2, around),
            Expr::Or(left, right) => self.write_infix(out, (left, "or", right), 1, around),
            Expr::If(condition, then, otherwise) => {
                out.push('(');
                self.write_expr(out, condition, 1)?;
                out.push_str(" ? ");
                self.write_expr(out, then, 1)?;
                out.push_str(" : ");
                self.write_expr(out, otherwise, 1)?;
                out.write_char(')')
            }
            Expr::Length(channel) => {
                out.push_str("len(");
                self.write_channel(out, channel)?;
                out.write_char(')')
            }
            Expr::Peek {
                channel,
                position,
                item,
                ..
            } => {
                self.write_channel(out, channel)?;
                out.push('[');
                self.write_expr(out, position, 0)?;
                write!(out, "].{item}")
            }
        }
    }

    /// The name of a constant that is compared with something that has named values.
    fn name_beside(&self, compared: &Expr, constant: &Expr) -> Option<&str> {
        let item = match compared {
            Expr::Var(variable) | Expr::Element(variable, ..) => {
                &self.variables[variable.index()].item
            }
            Expr::Peek {
                channel: ChannelRef::Fixed(id),
                item,
                ..
            } => self.channels[id.index()].items.get(*item as usize)?,
            _ => return None,
        };
        item_name(item, constant)
    }

    fn write_named(
        &self,
        out: &mut String,
        (left, sign, name): (&Expr, &str, &str),
        level: u8,
        around: u8,
    ) -> fmt::Result {
        let (open, close) = if level < around { ("(", ")") } else { ("", "") };
        out.push_str(open);
        self.write_expr(out, left, level)?;
        write!(out, " {sign} {name}{close}")
    }

    fn write_infix(
        &self,
        out: &mut String,
        (left, sign, right): (&Expr, &str, &Expr),
        level: u8,
        around: u8,
    ) -> fmt::Result {
        let brackets = level < around;
        if brackets {
            out.push('(');
        }
        self.write_expr(out, left, level)?;
        write!(out, " {sign} ")?;
        self.write_expr(out, right, level + 1)?;
        if brackets {
            out.push(')');
        }
        Ok(())
    }

    fn write_channel(&self, out: &mut String, channel: &ChannelRef) -> fmt::Result {
        match channel {
            ChannelRef::Fixed(id) => write!(out, "{}", self.channels[id.index()].name),
            ChannelRef::Denoted { value, .. } => {
                out.push_str("channel ");
                self.write_expr(out, value, 11)
            }
        }
    }

    fn write_place(&self, out: &mut String, place: &Place) -> fmt::Result {
        match place {
            Place::Var(variable) => write!(out, "{}", self.name(*variable)),
            Place::Element(variable, index, _) => {
                write!(out, "{}[", self.name(*variable))?;
                self.write_expr(out, index, 0)?;
                out.write_char(']')
            }
        }
    }

    fn write_block(&self, out: &mut String, body: &[Statement]) -> fmt::Result {
        out.push_str("{ ");
        for statement in body {
            self.write_statement(out, statement)?;
            out.push_str("; ");
        }
        out.write_char('}')
    }

    fn write_list(&self, out: &mut String, list: &[Expr]) -> fmt::Result {
        for (i, value) in list.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.write_expr(out, value, 0)?;
        }
        Ok(())
    }

    fn write_statement(&self, out: &mut String, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Assign { target, value, .. } => {
                self.write_place(out, target)?;
                out.push_str(" = ");
                match self.value_name(target, value) {
                    Some(name) => out.write_str(name),
                    None => self.write_expr(out, value, 0),
                }
            }
            Statement::Let(temp, value) => {
                write!(out, "let temp{} = ", temp.index())?;
                self.write_expr(out, value, 0)
            }
            Statement::Send {
                channel,
                values,
                order,
                ..
            } => {
                self.write_channel(out, channel)?;
                out.push_str(if *order == SendOrder::Sorted {
                    "!!"
                } else {
                    "!"
                });
                self.write_list(out, values)
            }
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                ..
            } => {
                self.write_channel(out, channel)?;
                out.push('?');
                if let Some(position) = position {
                    out.push('[');
                    self.write_expr(out, position, 0)?;
                    out.push(']');
                }
                if !remove {
                    out.push_str("keep ");
                }
                for (i, target) in targets.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    match target {
                        Some(place) => self.write_place(out, place)?,
                        None => out.push('_'),
                    }
                }
                Ok(())
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                out.push_str("if ");
                self.write_expr(out, condition, 0)?;
                out.push(' ');
                self.write_block(out, then)?;
                if !otherwise.is_empty() {
                    out.push_str(" else ");
                    self.write_block(out, otherwise)?;
                }
                Ok(())
            }
            Statement::While {
                condition, body, ..
            } => {
                out.push_str("while ");
                self.write_expr(out, condition, 0)?;
                out.push(' ');
                self.write_block(out, body)
            }
            Statement::Assert { condition, .. } => {
                out.push_str("assert ");
                self.write_expr(out, condition, 0)
            }
            Statement::Fail(site) => write!(out, "fail: {}", self.failures[site.index()].message),
            Statement::Print { text, arguments } => {
                write!(out, "print {text:?}")?;
                if !arguments.is_empty() {
                    out.push_str(", ");
                }
                self.write_list(out, arguments)
            }
        }
    }

    /// The name of a constant that is stored into a variable with named values.
    fn value_name(&self, target: &Place, value: &Expr) -> Option<&str> {
        item_name(&self.variables[target.variable().index()].item, value)
    }
}

/// The name of a constant among the values of something.
fn item_name<'n>(item: &'n Item, value: &Expr) -> Option<&'n str> {
    let Expr::Const(value) = value else {
        return None;
    };
    let at = usize::try_from(i64::from(*value) - i64::from(item.min)).ok()?;
    item.names.get(at).map(String::as_str)
}

/// Sign and binding strength.
fn binary_sign(op: BinaryOp) -> (&'static str, u8) {
    match op {
        BinaryOp::Equal => ("==", 3),
        BinaryOp::NotEqual => ("!=", 3),
        BinaryOp::Less => ("<", 4),
        BinaryOp::LessEqual => ("<=", 4),
        BinaryOp::Greater => (">", 4),
        BinaryOp::GreaterEqual => (">=", 4),
        BinaryOp::BitOr => ("|", 5),
        BinaryOp::BitXor => ("^", 6),
        BinaryOp::BitAnd => ("&", 7),
        BinaryOp::ShiftLeft => ("<<", 8),
        BinaryOp::ShiftRight => (">>", 8),
        BinaryOp::Add => ("+", 9),
        BinaryOp::Subtract => ("-", 9),
        BinaryOp::Multiply => ("*", 10),
    }
}
