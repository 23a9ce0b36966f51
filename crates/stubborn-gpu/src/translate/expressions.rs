//! Expressions, and the functions that read and write fields.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use stubborn_ir::{
    BinaryOp, ChannelRef, DivideOp, Expr, Model, Site, UnaryOp, VarId, VariablePlace,
};
use stubborn_system::{ChannelId, FieldId};

use super::kind;
use crate::Refusal;
use crate::packing::{Code, Packing, Piece, Spot};

/// Deepest nesting: compilers count brackets.
const DEEPEST: u32 = 60;

/// The text of a program in the making.
pub(super) struct Source<'m> {
    pub(super) model: &'m Model,
    pub(super) packing: &'m Packing,
    /// Functions that the code calls, by name; in the order in which they must come.
    functions: Vec<String>,
    named: BTreeSet<String>,
    /// Functions that choose by references: what they do, and their numbers.
    references: BTreeMap<String, usize>,
    /// What commands do, by number.
    pub(super) commands: BTreeMap<u32, String>,
    /// Numbers for variables.
    pub(super) names: usize,
    depth: u32,
}

/// A constant of 32 bits.
pub(super) fn constant(value: i32) -> String {
    match value {
        i32::MIN => "(-2147483647-1)".into(),
        0.. => value.to_string(),
        _ => format!("({value})"),
    }
}

/// A raw value as the value that it stands for.
pub(super) fn value_of(raw: &str, code: Code) -> String {
    match (code.base, code.mask) {
        (0, u32::MAX) => format!("(int)({raw})"),
        (base, u32::MAX) => format!("(int)(({raw})+{}u)", base as u32),
        (base, mask) => format!("(int)((({raw})+{}u)&{mask}u)", base as u32),
    }
}

impl<'m> Source<'m> {
    pub(super) fn new(model: &'m Model, packing: &'m Packing) -> Self {
        Self {
            model,
            packing,
            functions: Vec::new(),
            named: BTreeSet::new(),
            references: BTreeMap::new(),
            commands: BTreeMap::new(),
            names: 0,
            depth: 0,
        }
    }

    /// The functions that were needed.
    pub(super) fn finish(self) -> String {
        let mut text = String::from(
            "static uint failing(uint* bad, uint k) { if (*bad == 0) *bad = k; return 0; }\n\
             static int quotient(int a, int b, uint* bad, uint k) { \
             if (b == 0) return failing(bad, k); if (b == -1) return (int)(0u - (uint)a); return a / b; }\n\
             static int remainder_of(int a, int b, uint* bad, uint k) { \
             if (b == 0) return failing(bad, k); if (b == -1) return 0; return a % b; }\n\
             static uint checked(int i, uint len, uint* bad, uint k) { \
             if ((uint)i >= len) return failing(bad, k); return (uint)i; }\n",
        );
        for function in self.functions {
            text += &function;
        }
        text
    }

    fn define(&mut self, name: &str, text: impl FnOnce() -> String) {
        if self.named.insert(name.into()) {
            self.functions.push(text());
        }
    }

    /// The raw bits of a field in the state `s`.
    pub(super) fn raw(&self, field: FieldId, s: &str) -> String {
        let spot = self.packing.spot(field);
        match (spot.code.bits, spot.shift) {
            (0, _) => "0u".into(),
            (_, shift) => format!(
                "(uint)(({s}->w[{}]>>{shift}u)&{:#x}ul)",
                spot.word,
                spot.mask()
            ),
        }
    }

    /// Where the location of a process lies, if it can change.
    pub(super) fn counter(&self, process: usize) -> Option<Spot> {
        let counter = self.model.program().processes[process].counter;
        let field = self.model.encoding().first_field(counter);
        let spot = self.packing.spot(field);
        (spot.code.bits > 0).then_some(spot)
    }

    /// The location of a process that never changes.
    pub(super) fn fixed_location(&self, process: usize) -> Option<u32> {
        let counter = self.model.program().processes[process].counter;
        let field = self.model.encoding().first_field(counter);
        self.packing.fixed(field).map(|location| location as u32)
    }

    /// Where a process is.
    pub(super) fn location(&self, process: usize, s: &str) -> String {
        let counter = self.model.program().processes[process].counter;
        let field = self.model.encoding().first_field(counter);
        match self.packing.fixed(field) {
            Some(location) => format!("{location}u"),
            None => self.raw(field, s),
        }
    }

    /// The value of a field.
    pub(super) fn field(&self, field: FieldId, s: &str) -> String {
        let code = self.packing.spot(field).code;
        match (self.packing.fixed(field), code.bits) {
            (Some(value), _) => constant(value),
            (None, 0) => constant(code.base),
            _ => value_of(&self.raw(field, s), code),
        }
    }

    /// The value of an array's element, where the index fits.
    pub(super) fn element_value(&mut self, first: FieldId, s: &str, index: &str) -> String {
        let group = self.packing.group(first);
        let Some(values) = &group.fixed else {
            return value_of(&self.element_bits(first, s, index), group.code);
        };
        let name = format!("fixed{}", first.index());
        self.define(&name, || {
            let values: Vec<String> = values.iter().map(|value| constant(*value)).collect();
            format!("__constant int {name}[] = {{ {} }};\n", values.join(", "))
        });
        format!("{name}[(uint)({index})]")
    }

    /// The raw bits of an array's element. Places are arguments: arrays that lie in as many words as others
    /// are read by the same text.
    pub(super) fn element_bits(&mut self, first: FieldId, s: &str, index: &str) -> String {
        let group = self.packing.group(first);
        let [Piece { word, shift, .. }, more @ ..] = &group.pieces[..] else {
            return format!("((void)({index}), 0u)");
        };
        let name = format!("get_in_{}", group.pieces.len());
        let called = called(group.pieces.len());
        self.define(&name, || {
            let parameters = (0..more.len()).map(|at| format!(", uint f{at}, uint w{at}, uint s{at}"));
            let parameters: String = parameters.collect();
            // By cases, so that the words can be registers.
            let cases = (0..more.len())
                .map(|at| format!(" if (i >= f{at}) {{ v = s->w[w{at}]; sh = s{at}+(i-f{at})*bits; }}"));
            let cases: String = cases.collect();
            format!(
                "{called} uint {name}(const State* s, uint i, uint bits, uint mask, uint w, uint sh{parameters}) \
                 {{ ulong v = s->w[w]; sh += i*bits;{cases} return (uint)(v>>(sh&63u))&mask; }}\n"
            )
        });
        let (bits, mask) = (group.code.bits, group.code.most());
        let more = more.iter().map(|piece| {
            let Piece {
                first, word, shift, ..
            } = piece;
            format!(", {first}u, {word}u, {shift}u")
        });
        let more: String = more.collect();
        format!("{name}({s}, (uint)({index}), {bits}u, {mask:#x}u, {word}u, {shift}u{more})")
    }

    /// A statement that sets the raw bits of an array's element of `x`.
    pub(super) fn set_element(&mut self, first: FieldId, index: &str, raw: &str) -> String {
        let group = self.packing.group(first);
        let count = group.pieces.len();
        let name = format!("set_in_{count}");
        let called = called(count);
        self.define(&name, || {
            let parameters =
                (0..count).map(|at| format!(", uint f{at}, uint e{at}, uint w{at}, uint s{at}"));
            let parameters: String = parameters.collect();
            let cases = (0..count).map(|at| {
                let chosen = match count {
                    1 => String::new(),
                    _ => format!(" if (i >= f{at} && i < e{at})"),
                };
                format!(
                    "{chosen} {{ uint sh = (s{at}+(i-f{at})*bits)&63u; \
                     x->w[w{at}] = (x->w[w{at}] & ~((ulong)mask<<sh)) | ((ulong)(v&mask)<<sh); }}"
                )
            });
            let cases: String = cases.collect();
            format!(
                "{called} void {name}(State* x, uint i, uint v, uint bits, uint mask{parameters}) {{{cases} }}\n"
            )
        });
        let (bits, mask) = (group.code.bits, group.code.most());
        let pieces = group.pieces.iter().map(|piece| {
            let Piece {
                first,
                count,
                word,
                shift,
            } = piece;
            format!(", {first}u, {}u, {word}u, {shift}u", first + count)
        });
        let pieces: String = pieces.collect();
        format!("{name}(x, {index}, {raw}, {bits}u, {mask:#x}u{pieces});")
    }

    /// An expression of type `int` for the value in the state `s`; where evaluating it fails, the
    /// variable `bad` is set and the value is anything.
    pub(super) fn expression(&mut self, expr: &Expr, s: &str) -> Result<String, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refusal::new(
                "an expression is nested too deeply for a card's compiler",
            ));
        }
        let text = self.translated(expr, s);
        self.depth -= 1;
        text
    }

    fn translated(&mut self, expr: &Expr, s: &str) -> Result<String, Refusal> {
        Ok(match expr {
            Expr::Const(value) => constant(*value),
            Expr::Var(variable) => self.field(self.model.encoding().first_field(*variable), s),
            Expr::Temp(temp) => format!("t{}", temp.index()),
            Expr::Element(array, index, site) => self.element(*array, index, *site, s)?,
            Expr::Unary(op, operand) => {
                let value = self.expression(operand, s)?;
                match op {
                    UnaryOp::Negate => format!("(int)(0u-(uint)({value}))"),
                    UnaryOp::BitNot => format!("(~({value}))"),
                    UnaryOp::Not => format!("(({value})==0)"),
                }
            }
            Expr::Binary(op, left, right) => {
                let (a, b) = (self.expression(left, s)?, self.expression(right, s)?);
                let wrapping = |op: &str| format!("(int)((uint)({a}){op}(uint)({b}))");
                let plain = |op: &str| format!("(({a}){op}({b}))");
                match op {
                    BinaryOp::Add => wrapping("+"),
                    BinaryOp::Subtract => wrapping("-"),
                    BinaryOp::Multiply => wrapping("*"),
                    BinaryOp::ShiftLeft => format!("(int)((uint)({a})<<((uint)({b})&31u))"),
                    BinaryOp::ShiftRight => format!("(({a})>>((uint)({b})&31u))"),
                    BinaryOp::BitAnd => plain("&"),
                    BinaryOp::BitOr => plain("|"),
                    BinaryOp::BitXor => plain("^"),
                    BinaryOp::Equal => plain("=="),
                    BinaryOp::NotEqual => plain("!="),
                    BinaryOp::Less => plain("<"),
                    BinaryOp::LessEqual => plain("<="),
                    BinaryOp::Greater => plain(">"),
                    BinaryOp::GreaterEqual => plain(">="),
                }
            }
            Expr::Divide(op, left, right, site) => {
                let (a, b) = (self.expression(left, s)?, self.expression(right, s)?);
                let (name, sign) = match op {
                    DivideOp::Quotient => ("quotient", "/"),
                    DivideOp::Remainder => ("remainder_of", "%"),
                };
                match **right {
                    Expr::Const(divisor) if divisor != 0 && divisor != -1 => {
                        format!("(({a}){sign}({b}))")
                    }
                    _ => format!(
                        "{name}({a}, {b}, &bad, {}u)",
                        kind(self.model.program(), *site)
                    ),
                }
            }
            Expr::And(..) | Expr::Or(..) => {
                let is_and = matches!(expr, Expr::And(..));
                let mut operands = Vec::new();
                flatten(expr, is_and, &mut operands);
                let operands = operands
                    .into_iter()
                    .map(|operand| Ok(format!("({})!=0", self.expression(operand, s)?)));
                let operands = operands.collect::<Result<Vec<_>, Refusal>>()?;
                format!("({})", operands.join(if is_and { "&&" } else { "||" }))
            }
            Expr::If(condition, then, otherwise) => {
                let condition = self.expression(condition, s)?;
                let (then, otherwise) = (self.expression(then, s)?, self.expression(otherwise, s)?);
                format!("(({condition})!=0?({then}):({otherwise}))")
            }
            Expr::Length(ChannelRef::Fixed(channel)) => self.length(*channel, s),
            Expr::Length(ChannelRef::Denoted {
                value,
                targets,
                site,
            }) => {
                let value = self.expression(value, s)?;
                let cases = distinct(targets)
                    .map(|(v, c)| (v, self.length(c, "s")))
                    .collect::<Vec<_>>();
                let name = self.by_reference("", &cases, *site);
                format!("{name}({s}, {value}, &bad)")
            }
            Expr::Peek {
                channel,
                position,
                item,
                site,
            } => {
                let position = self.expression(position, s)?;
                match channel {
                    ChannelRef::Fixed(channel) => {
                        let k = kind(self.model.program(), *site);
                        self.peek((*channel, *item as usize), s, &position, "&bad", k)
                    }
                    ChannelRef::Denoted {
                        value,
                        targets,
                        site: unknown,
                    } => {
                        let value = self.expression(value, s)?;
                        let k = kind(self.model.program(), *site);
                        let cases = distinct(targets)
                            .map(|(v, c)| (v, self.peek((c, *item as usize), "s", "i", "bad", k)));
                        let cases = cases.collect::<Vec<_>>();
                        let name = self.by_reference(", int i", &cases, *unknown);
                        format!("{name}({s}, {value}, &bad, {position})")
                    }
                }
            }
        })
    }

    fn element(
        &mut self,
        array: VarId,
        index: &Expr,
        site: Site,
        s: &str,
    ) -> Result<String, Refusal> {
        let program = self.model.program();
        let place = match self.model.encoding().variables[array.index()] {
            VariablePlace::Array(place) => place,
            VariablePlace::Scalar(field) => {
                let (index, value) = (self.expression(index, s)?, self.field(field, s));
                return Ok(format!("((void)({index}), {value})"));
            }
        };
        let last = place.len as i32 - 1;
        if let Expr::Const(at) = index
            && (0..=last).contains(at)
        {
            return Ok(self.field(FieldId::new(place.first.index() + *at as usize), s));
        }
        let fits = program.interval(index).within(0, last);
        let index = self.expression(index, s)?;
        if fits {
            return Ok(self.element_value(place.first, s, &index));
        }
        let k = kind(program, site);
        let index = format!("checked({index}, {}u, &bad, {k}u)", place.len);
        Ok(self.element_value(place.first, s, &index))
    }

    /// The number of messages in a channel.
    pub(super) fn length(&self, channel: ChannelId, s: &str) -> String {
        self.field(self.model.encoding().channels[channel.index()].length, s)
    }

    /// An item of a message, where `bad` is a pointer.
    fn peek(
        &mut self,
        (channel, item): (ChannelId, usize),
        s: &str,
        position: &str,
        bad: &str,
        k: u32,
    ) -> String {
        let place = &self.model.encoding().channels[channel.index()];
        let Some(cells) = place.items.get(item) else {
            return format!("((void)({position}), (int)failing({bad}, {k}u))");
        };
        let length = self.length(channel, s);
        let index = format!("checked({position}, (uint)({length}), {bad}, {k}u)");
        self.element_value(cells.first, s, &index)
    }

    /// A function that chooses by the value of a reference to a channel.
    fn by_reference(&mut self, parameters: &str, cases: &[(i32, String)], unknown: Site) -> String {
        let k = kind(self.model.program(), unknown);
        let mut text = format!("(const State* s, int v, uint* bad{parameters}) {{ switch (v) {{");
        for (value, result) in cases {
            let _ = write!(text, " case {}: return {result};", constant(*value));
        }
        let _ = writeln!(text, " }} return failing(bad, {k}u); }}");
        let number = self.references.len();
        let number = *self.references.entry(text.clone()).or_insert(number);
        let name = format!("denoted{number}");
        self.define(&name, || format!("CALLED int {name}{text}"));
        name
    }
}

/// How a function for arrays in so many pieces is declared.
fn called(pieces: usize) -> &'static str {
    if pieces > 2 { "CALLED" } else { "static" }
}

/// The first channel of each value.
pub(super) fn distinct(
    targets: &[(i32, ChannelId)],
) -> impl Iterator<Item = (i32, ChannelId)> + '_ {
    let first = |at: usize| targets[..at].iter().all(|(v, _)| *v != targets[at].0);
    (0..targets.len())
        .filter(move |at| first(*at))
        .map(|at| targets[at])
}

/// The operands of nested conjunctions, or disjunctions, from left to right.
fn flatten<'e>(expr: &'e Expr, is_and: bool, out: &mut Vec<&'e Expr>) {
    // Long chains lean to one side: that one is not walked by calls.
    let mut right = Vec::new();
    let mut todo = vec![expr];
    while let Some(next) = todo.pop() {
        match (next, is_and) {
            (Expr::And(a, b), true) | (Expr::Or(a, b), false) => {
                todo.push(b);
                todo.push(a);
            }
            _ => right.push(next),
        }
    }
    out.append(&mut right);
}
