//! Commands: guards and bodies.
//!
//! A command becomes a block that returns 0 if it is disabled; otherwise it has written the
//! successor to `x`, and returns bits that say how the step ended, see `kernels.cl`.

use std::fmt::Write;

use stubborn_ir::{ChannelRef, Expr, Item, Overflow, Place, SendOrder, Statement, VariablePlace};
use stubborn_system::{ChannelId, FieldId};

use super::expressions::{Source, constant, distinct, value_of};
use super::{is_known, kind};
use crate::Refusal;
use crate::packing::{Code, Piece};

impl Source<'_> {
    /// Writes the code of a command, where processes are known to be at locations.
    pub(super) fn command(&mut self, at: u32, known: &[(usize, u32)]) -> Result<(), Refusal> {
        if self.commands.contains_key(&at) {
            return Ok(());
        }
        let program = self.model.program();
        let command = &program.commands[at as usize];
        self.names = 0;
        let mut text = String::from("  uint bad = 0, viol = 0;\n");
        for guard in &command.guards {
            let guard = &program.labels[guard.index()].expr;
            if is_known(program, guard, known) {
                continue;
            }
            let value = self.expression(guard, "s")?;
            // A guard that fails counts as true, and does not hide that another one is false.
            match program.may_fail(guard) {
                false => {
                    let _ = writeln!(text, "  if (!({value})) return 0;");
                }
                true => {
                    let _ = writeln!(
                        text,
                        "  {{ uint before = bad; bad = 0; if (!({value}) && bad == 0) return 0; if (before) bad = before; }}"
                    );
                }
            }
        }
        text += "  *x = *s;\n";
        let temporaries = temporaries(&command.body);
        for temp in 0..temporaries {
            let _ = writeln!(text, "  int t{temp} = 0;");
        }
        self.body(&command.body, temporaries, &mut text)?;
        let next = command.continues.map_or(0, |process| process.index() + 1);
        let repeats = u32::from(self.model.chains().may_repeat(at as usize));
        let _ = writeln!(
            text,
            "  return DONE | bad << FAILED | viol << VIOLATED | {repeats}u << REPEATS | {next}u << NEXT;"
        );
        self.commands.insert(at, text);
        Ok(())
    }

    fn body(&mut self, body: &[Statement], temps: usize, text: &mut String) -> Result<(), Refusal> {
        body.iter()
            .try_for_each(|statement| self.statement(statement, temps, text))
    }

    fn statement(
        &mut self,
        statement: &Statement,
        temps: usize,
        text: &mut String,
    ) -> Result<(), Refusal> {
        let program = self.model.program();
        match statement {
            Statement::Assign {
                target,
                value,
                site,
            } => {
                let interval = program.interval(value);
                let value = self.expression(value, "x")?;
                let _ = writeln!(text, "  {{ int v = {value};");
                self.assign(
                    target,
                    (interval.min, interval.max),
                    kind(program, *site),
                    text,
                )?;
                *text += "  }\n";
            }
            Statement::Let(temp, value) => {
                let value = self.expression(value, "x")?;
                let _ = writeln!(text, "  t{} = {value};", temp.index());
            }
            Statement::Send {
                channel,
                values,
                order,
                site,
            } => {
                let k = kind(program, *site);
                self.by_channel(channel, text, &mut |out, id, text| {
                    out.send(id, values, *order, k, text)
                })?;
            }
            Statement::Receive {
                channel,
                position,
                targets,
                remove,
                site,
            } => {
                let k = kind(program, *site);
                self.by_channel(channel, text, &mut |out, id, text| {
                    out.receive(id, position.as_ref(), targets, *remove, k, text)
                })?;
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.expression(condition, "x")?;
                let _ = writeln!(text, "  if (({condition}) != 0) {{");
                self.body(then, temps, text)?;
                *text += "  } else {\n";
                self.body(otherwise, temps, text)?;
                *text += "  }\n";
            }
            Statement::While {
                condition,
                body,
                site,
            } => self.repeat(condition, body, kind(program, *site), temps, text)?,
            Statement::Assert { condition, site } => {
                let condition = self.expression(condition, "x")?;
                let k = kind(program, *site);
                let _ = writeln!(
                    text,
                    "  {{ int v = {condition}; if (bad == 0 && v == 0 && viol == 0) viol = {k}u; }}"
                );
            }
            Statement::Fail(site) => {
                let _ = writeln!(text, "  failing(&bad, {}u);", kind(program, *site));
            }
            Statement::Print { .. } => {}
        }
        Ok(())
    }

    /// A loop: it fails if it comes back to where it was. (The state after 1, 2, 4, ... rounds is
    /// kept and compared, as in [`stubborn_ir::repetition`].)
    fn repeat(
        &mut self,
        condition: &Expr,
        body: &[Statement],
        k: u32,
        temps: usize,
        text: &mut String,
    ) -> Result<(), Refusal> {
        let nr = self.names;
        self.names += 1;
        let condition = self.expression(condition, "x")?;
        let marks: String = (0..temps).map(|t| format!(", m{nr}_{t} = 0")).collect();
        let keep: String = (0..temps).map(|t| format!(" m{nr}_{t} = t{t};")).collect();
        let same: String = (0..temps)
            .map(|t| format!(" && m{nr}_{t} == t{t}"))
            .collect();
        let _ = writeln!(
            text,
            "  {{ State mark{nr} = *x; uint n{nr} = 0; int unused{nr} = 0{marks}; (void)unused{nr};"
        );
        let _ = writeln!(
            text,
            "  for (;;) {{ int c = {condition}; if (bad != 0 || c == 0) break;"
        );
        let _ = writeln!(
            text,
            "  n{nr}++; if (n{nr} > MOST_ROUNDS) {{ bad = GAVE_UP; break; }}"
        );
        let _ = writeln!(
            text,
            "  if ((n{nr} & (n{nr} - 1)) == 0) {{ mark{nr} = *x;{keep} }} else if (same(&mark{nr}, x){same}) {{ failing(&bad, {k}u); break; }}"
        );
        self.body(body, temps, text)?;
        *text += "  } }\n";
        Ok(())
    }

    /// Stores the variable `v`, whose value is in a range.
    fn assign(
        &mut self,
        target: &Place,
        range: (i32, i32),
        k: u32,
        text: &mut String,
    ) -> Result<(), Refusal> {
        let program = self.model.program();
        let item = &program.variables[target.variable().index()].item;
        let place = self.model.encoding().variables[target.variable().index()];
        let first = self.model.encoding().first_field(target.variable());
        let code = self.packing.spot(first).code;
        match (target, place) {
            (Place::Element(_, index, site), VariablePlace::Array(place)) => {
                let last = place.len as i32 - 1;
                let fits = program.interval(index).within(0, last);
                let index = self.expression(index, "x")?;
                let _ = writeln!(text, "  int i = {index};");
                if !fits {
                    let _ = writeln!(
                        text,
                        "  if ((uint)i > {last}u) {{ failing(&bad, {}u); i = 0; }}",
                        kind(program, *site)
                    );
                }
                let raw = stored(item, code, range, k, text);
                let set = self.set_element(place.first, "(uint)i", &raw);
                let _ = writeln!(text, "  {set}");
            }
            (Place::Element(_, index, _), VariablePlace::Scalar(field)) => {
                let index = self.expression(index, "x")?;
                let _ = writeln!(text, "  (void)({index});");
                let raw = stored(item, code, range, k, text);
                self.put(field, &raw, text);
            }
            (Place::Var(_), _) => {
                let raw = stored(item, code, range, k, text);
                self.put(first, &raw, text);
            }
        }
        Ok(())
    }

    /// Sets the raw bits of a field of `x`.
    fn put(&self, field: FieldId, raw: &str, text: &mut String) {
        let spot = self.packing.spot(field);
        let (word, mask) = (spot.word, spot.mask());
        if spot.code.bits > 0 {
            let _ = writeln!(
                text,
                "  x->w[{word}] = (x->w[{word}] & ~({mask:#x}ul<<{0}u)) | ((ulong)(({raw})&{mask:#x}u)<<{0}u);",
                spot.shift
            );
        }
    }

    /// Code for each channel that a reference can denote.
    fn by_channel(
        &mut self,
        channel: &ChannelRef,
        text: &mut String,
        each: &mut dyn FnMut(&mut Self, ChannelId, &mut String) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        match channel {
            ChannelRef::Fixed(id) => {
                *text += "  {\n";
                each(self, *id, text)?;
            }
            ChannelRef::Denoted {
                value,
                targets,
                site,
            } => {
                let value = self.expression(value, "x")?;
                let _ = writeln!(text, "  switch ({value}) {{");
                for (value, id) in distinct(targets) {
                    let _ = writeln!(text, "  case {}: {{", constant(value));
                    each(self, id, text)?;
                    *text += "  } break;\n";
                }
                let k = kind(self.model.program(), *site);
                let _ = writeln!(text, "  default: failing(&bad, {k}u);");
            }
        }
        *text += "  }\n";
        Ok(())
    }

    fn send(
        &mut self,
        channel: ChannelId,
        values: &[Expr],
        order: SendOrder,
        k: u32,
        text: &mut String,
    ) -> Result<(), Refusal> {
        let program = self.model.program();
        let declared = &program.channels[channel.index()];
        let place = &self.model.encoding().channels[channel.index()];
        let never_fits = values.len() != declared.items.len() || declared.capacity == 0;
        for (nr, value) in values.iter().enumerate() {
            let interval = program.interval(value);
            let value = self.expression(value, "x")?;
            // What is not stored needs no bits, whatever it is.
            let code = match place.items.get(nr).filter(|_| !never_fits) {
                Some(cells) => self.packing.group(cells.first).code,
                None => Code::ANYTHING,
            };
            let Some(item) = declared.items.get(nr) else {
                let _ = writeln!(text, "  (void)({value});");
                continue;
            };
            let _ = writeln!(
                text,
                "  uint r{nr}; int g{nr}; {{ int v = {value}; g{nr} = v;"
            );
            let raw = stored(item, code, (interval.min, interval.max), k, text);
            let _ = writeln!(text, "  r{nr} = {raw}; (void)g{nr}; }}");
        }
        let length = self.length(channel, "x");
        let capacity = declared.capacity;
        if never_fits {
            let _ = writeln!(text, "  failing(&bad, {k}u);");
            return Ok(());
        }
        let _ = writeln!(
            text,
            "  uint len = (uint)({length}); if (len >= {capacity}u) failing(&bad, {k}u); else {{ uint at = len;"
        );
        if order == SendOrder::Sorted {
            // Before the first message that is larger, from the left item to the right.
            let mut larger = String::from("0");
            for (nr, cells) in place.items.iter().enumerate().rev() {
                let cell = self.element_value(cells.first, "x", "p");
                larger = format!("(({cell}) > g{nr} || (({cell}) == g{nr} && {larger}))");
            }
            let _ = writeln!(
                text,
                "  for (uint p = 0; p < len; p++) if ({larger}) {{ at = p; break; }}"
            );
        }
        for (nr, cells) in place.items.iter().enumerate() {
            if order == SendOrder::Sorted {
                let before = self.element_bits(cells.first, "x", "p - 1u");
                let set = self.set_element(cells.first, "p", &before);
                let _ = writeln!(text, "  for (uint p = len; p > at; p--) {set}");
            }
            let set = self.set_element(cells.first, "at", &format!("r{nr}"));
            let _ = writeln!(text, "  {set}");
        }
        self.put(place.length, "len + 1u", text);
        *text += "  }\n";
        Ok(())
    }

    fn receive(
        &mut self,
        channel: ChannelId,
        position: Option<&Expr>,
        targets: &[Option<Place>],
        remove: bool,
        k: u32,
        text: &mut String,
    ) -> Result<(), Refusal> {
        let program = self.model.program();
        let declared = &program.channels[channel.index()];
        let place = &self.model.encoding().channels[channel.index()];
        let at = match position {
            Some(position) => format!("(uint)({})", self.expression(position, "x")?),
            None => "0u".into(),
        };
        let length = self.length(channel, "x");
        if targets.len() != declared.items.len() || declared.capacity == 0 {
            let _ = writeln!(text, "  (void)({at}); failing(&bad, {k}u);");
            return Ok(());
        }
        let _ = writeln!(
            text,
            "  uint at = {at}; uint len = (uint)({length}); if (at >= len) failing(&bad, {k}u); else {{"
        );
        for (nr, cells) in place.items.iter().enumerate() {
            let item = self.element_bits(cells.first, "x", "at");
            let _ = writeln!(text, "  uint r{nr} = {item}; (void)r{nr};");
        }
        if remove {
            for cells in &place.items {
                self.remove(cells.first, text);
            }
            self.put(place.length, "len - 1u", text);
        }
        for (nr, (item, target)) in declared.items.iter().zip(targets).enumerate() {
            if let Some(target) = target {
                let _ = writeln!(
                    text,
                    "  {{ int v = {};",
                    value_of(
                        &format!("r{nr}"),
                        self.packing.group(place.items[nr].first).code
                    )
                );
                self.assign(target, (item.min, item.max), k, text)?;
                *text += "  }\n";
            }
        }
        *text += "  }\n";
        Ok(())
    }

    /// Removes the cell `at` of `len`; the last one becomes 0.
    fn remove(&mut self, first: FieldId, text: &mut String) {
        let group = self.packing.group(first);
        let bits = group.code.bits;
        if bits == 0 {
            return;
        }
        if let [
            Piece {
                word, shift, count, ..
            },
        ] = group.pieces[..]
        {
            // All in one word, and cells that are free are 0.
            let all = format!("((1ul<<{}u)-1ul)", bits * count);
            let _ = writeln!(
                text,
                "  {{ ulong c = (x->w[{word}]>>{shift}u)&{all}, low = (1ul<<(at*{bits}u))-1ul; \
                 c = (c & low) | (c>>{bits}u & ~low); x->w[{word}] = (x->w[{word}] & ~({all}<<{shift}u)) | c<<{shift}u; }}",
            );
            return;
        }
        let after = self.element_bits(first, "x", "p + 1u");
        let shift = self.set_element(first, "p", &after);
        let last = self.set_element(first, "len - 1u", "0u");
        let _ = writeln!(
            text,
            "  for (uint p = at; p + 1u < len; p++) {shift} {last}"
        );
    }
}

/// Code that checks whether the variable `v`, which is in a range, can be stored in an item; the
/// raw bits for it.
fn stored(item: &Item, code: Code, (min, max): (i32, i32), k: u32, text: &mut String) -> String {
    let (least, most) = (item.min, item.max);
    if min < least || most < max {
        let _ = match item.overflow {
            Overflow::Fail => writeln!(
                text,
                "  if (v < {} || v > {}) failing(&bad, {k}u);",
                constant(least),
                constant(most)
            ),
            Overflow::Wrap => {
                let mask = most.wrapping_sub(least) as u32;
                let least = least as u32;
                writeln!(text, "  v = (int)((((uint)v-{least}u)&{mask}u)+{least}u);")
            }
            Overflow::Fits => writeln!(
                text,
                "  v = clamp(v, {}, {});",
                constant(least),
                constant(most)
            ),
        };
    }
    let raw = match (code.base, code.mask) {
        (0, u32::MAX) => "(uint)v".to_owned(),
        (base, u32::MAX) => format!("(uint)v-{}u", base as u32),
        (base, mask) => format!("((uint)v-{}u)&{mask}u", base as u32),
    };
    // Whatever is stored lies between these, and may be more than the bits can tell.
    let (low, high) = (i64::from(min.max(least)), i64::from(max.min(most)));
    let (base, last) = (
        i64::from(code.base),
        i64::from(code.base) + i64::from(code.most()),
    );
    if code.mask != u32::MAX || low < base || last < high {
        let _ = writeln!(
            text,
            "  if (({raw}) > {}u) failing(&bad, ESCAPED);",
            code.most()
        );
    }
    raw
}

/// How many temporaries a body uses, set or not.
fn temporaries(body: &[Statement]) -> usize {
    fn in_expr(expr: &Expr) -> usize {
        let channel = |channel: &ChannelRef| match channel {
            ChannelRef::Denoted { value, .. } => in_expr(value),
            ChannelRef::Fixed(_) => 0,
        };
        match expr {
            Expr::Const(_) | Expr::Var(_) => 0,
            Expr::Temp(temp) => temp.index() + 1,
            Expr::Element(_, a, _) | Expr::Unary(_, a) => in_expr(a),
            Expr::Binary(_, a, b) | Expr::Divide(_, a, b, _) | Expr::And(a, b) | Expr::Or(a, b) => {
                in_expr(a).max(in_expr(b))
            }
            Expr::If(a, b, c) => in_expr(a).max(in_expr(b)).max(in_expr(c)),
            Expr::Length(c) => channel(c),
            Expr::Peek {
                channel: c,
                position,
                ..
            } => channel(c).max(in_expr(position)),
        }
    }
    fn in_place(place: &Place) -> usize {
        match place {
            Place::Element(_, index, _) => in_expr(index),
            Place::Var(_) => 0,
        }
    }
    let in_channel = |channel: &ChannelRef| match channel {
        ChannelRef::Denoted { value, .. } => in_expr(value),
        ChannelRef::Fixed(_) => 0,
    };
    let of = |statement: &Statement| match statement {
        Statement::Assign { target, value, .. } => in_place(target).max(in_expr(value)),
        Statement::Let(temp, value) => (temp.index() + 1).max(in_expr(value)),
        Statement::Send {
            channel, values, ..
        } => values
            .iter()
            .map(in_expr)
            .max()
            .unwrap_or(0)
            .max(in_channel(channel)),
        Statement::Receive {
            channel,
            position,
            targets,
            ..
        } => {
            let places = targets.iter().flatten().map(in_place).max().unwrap_or(0);
            places
                .max(position.as_ref().map_or(0, in_expr))
                .max(in_channel(channel))
        }
        Statement::If {
            condition,
            then,
            otherwise,
        } => in_expr(condition)
            .max(temporaries(then))
            .max(temporaries(otherwise)),
        Statement::While {
            condition, body, ..
        } => in_expr(condition).max(temporaries(body)),
        Statement::Assert { condition, .. } => in_expr(condition),
        Statement::Fail(_) | Statement::Print { .. } => 0,
    };
    body.iter().map(of).max().unwrap_or(0)
}
