//! Declarations: types, sizes and initial values of variables.

use std::sync::Arc;

use stubborn_diagnostics::{Diagnostic, Span};

use super::{Field, FieldKind, Local, MAX_NUMBERS, MAX_SIZE, Resolver, Structure, apply};
use crate::ast::{self, Declaration, Declarator, ExprKind, Initial, Type, Unary, Visibility};
use crate::hir::{ChannelType, Expr, Leaf, LeafInitial, Scalar, VarKey, Variable};

/// SPIN's verifier gives globals their initial values type by type, in this order.
pub(super) fn turn(ty: &Type) -> u8 {
    match ty {
        Type::Unsigned => 0,
        Type::Bit => 1,
        Type::Byte => 2,
        Type::Chan => 3,
        Type::Mtype(_) => 4,
        Type::Short => 5,
        Type::Int => 6,
        Type::Named(_) => 7,
    }
}

/// How a variable's numbers are kept: SPIN's verifier has bytes for the bits of an array, so that
/// after `bool a[1]; a[0] = 2` there is a 2.
fn kept(scalar: Scalar, size: Option<u32>) -> Scalar {
    match (scalar, size) {
        (Scalar::Bit, Some(_)) => Scalar::Byte,
        (scalar, _) => scalar,
    }
}

impl Resolver {
    /// Takes for zero what a global has no value yet when the initial value of this one is
    /// computed: `short s = 3; byte b = s` leaves `b` zero.
    pub(super) fn in_turn(&mut self, variable: &mut Variable, turn: u8) {
        for leaf in &mut variable.leaves {
            if let LeafInitial::Value(expr) = &mut leaf.initial
                && self.zero_before(expr, turn)
            {
                let message = format!(
                    "{} gets its value before the globals of other types that it is computed from",
                    variable.name
                );
                let warning = Diagnostic::warning("PML061", message, variable.span)
                    .help("SPIN's verifier initialises unsigned, bit, byte, chan, mtype, short, int, and then typedefs");
                self.diagnostics.push(warning);
            }
        }
    }

    fn zero_before(&self, expr: &mut Expr, turn: u8) -> bool {
        match expr {
            Expr::Load(place) => match place.variable {
                VarKey::Global(at) if self.global_turns[at] > turn => {
                    *expr = Expr::Const(0);
                    true
                }
                _ => false,
            },
            Expr::Unary(_, inner) => self.zero_before(inner, turn),
            Expr::Binary(_, left, right, _) => {
                self.zero_before(left, turn) | self.zero_before(right, turn)
            }
            Expr::Conditional(a, b, c) => {
                self.zero_before(a, turn) | self.zero_before(b, turn) | self.zero_before(c, turn)
            }
            _ => false,
        }
    }

    pub(super) fn typedef(&mut self, typedef: &ast::Typedef) {
        let mut fields: Vec<Field> = Vec::new();
        for declaration in &typedef.fields {
            for declarator in &declaration.variables {
                if fields.iter().any(|f| f.name == declarator.name) {
                    let message = format!("field {} is declared twice", declarator.name);
                    self.error("PML041", message, declarator.span);
                    continue;
                }
                let size = declarator.size.as_ref().map(|s| self.size(s));
                let kind = match self.scalar(&declaration.ty, declarator, declaration.span) {
                    Some(scalar) => {
                        FieldKind::Number(scalar, self.initial(declarator, scalar, size))
                    }
                    None => match self.structure(&declaration.ty, declaration.span) {
                        Some(inner) => FieldKind::Structure(inner),
                        None => continue,
                    },
                };
                fields.push(Field {
                    name: declarator.name.clone(),
                    size,
                    kind,
                });
            }
        }
        if self.structures.iter().any(|s| s.name == typedef.name) {
            let message = format!("type {} is declared twice", typedef.name);
            return self.error("PML041", message, typedef.span);
        }
        self.structures.push(Structure {
            name: typedef.name.clone(),
            fields,
        });
    }

    /// The type of a number, or None for a typedef.
    pub(super) fn scalar(
        &mut self,
        ty: &Type,
        declarator: &Declarator,
        span: Span,
    ) -> Option<Scalar> {
        Some(match ty {
            Type::Bit => Scalar::Bit,
            Type::Byte => Scalar::Byte,
            Type::Short => Scalar::Short,
            Type::Int => Scalar::Int,
            Type::Chan => Scalar::Chan,
            Type::Mtype(set) => {
                let name = set.clone().unwrap_or_else(|| "".into());
                if set.is_some() && !self.program.mtypes.iter().any(|s| s.name == name) {
                    let message = format!("there is no mtype set {name}");
                    let sets = self.program.mtypes.iter().map(|s| &*s.name);
                    let error = Diagnostic::error("PML044", message, span);
                    self.diagnostics.push(error.did_you_mean(&name, sets));
                }
                Scalar::Mtype(self.mtype_set(&name))
            }
            Type::Unsigned => {
                let bits = match &declarator.width {
                    Some(width) => self.constant(width).unwrap_or(1),
                    None => {
                        let message = "an unsigned variable needs a width, as in `unsigned x : 3`";
                        self.error("PML045", message, declarator.span);
                        1
                    }
                };
                if !(1..=31).contains(&bits) {
                    let message = format!("a width of {bits} bits is not between 1 and 31");
                    self.error("PML045", message, declarator.span);
                }
                Scalar::Unsigned(bits.clamp(1, 31) as u8)
            }
            Type::Named(_) => return None,
        })
    }

    pub(super) fn structure(&mut self, ty: &Type, span: Span) -> Option<usize> {
        let Type::Named(name) = ty else { return None };
        let found = self.structures.iter().position(|s| s.name == *name);
        if found.is_none() {
            let message = format!("type {name} is used before it is declared");
            self.error("PML044", message, span);
        }
        found
    }

    pub(super) fn size(&mut self, size: &ast::Expr) -> u32 {
        let value = self.constant(size).unwrap_or(1);
        if !(1..=MAX_SIZE).contains(&value) {
            let message = format!("{value} is no sensible size");
            self.error("PML046", message, size.span);
        }
        value.clamp(1, MAX_SIZE) as u32
    }

    /// The value of a constant expression. A global with a constant initial value counts.
    pub(super) fn constant(&mut self, expr: &ast::Expr) -> Option<i64> {
        let value = self.size_value(expr);
        if value.is_none() {
            self.error("PML047", "this must be a constant", expr.span);
        }
        value
    }

    /// A constant, or a global variable with a constant initial value.
    pub(super) fn size_value(&self, expr: &ast::Expr) -> Option<i64> {
        let ExprKind::Reference(reference) = &expr.kind else {
            return self.constant_value(expr);
        };
        let [part] = reference.parts.as_slice() else {
            return None;
        };
        let variable = &self.program.globals[*self.global_names.get(&part.name)?];
        match (&variable.leaves.first()?.initial, part.index.is_none()) {
            (LeafInitial::Value(Expr::Const(value)), true) if !variable.is_array => {
                Some(i64::from(*value))
            }
            _ => None,
        }
    }

    pub(crate) fn constant_value(&self, expr: &ast::Expr) -> Option<i64> {
        Some(match &expr.kind {
            ExprKind::Number(value) => i64::from(*value),
            ExprKind::Constant(name) => i64::from(self.constants.get(name)?.1),
            ExprKind::Unary(operator, inner) => {
                let inner = self.constant_value(inner)?;
                match operator {
                    Unary::Minus => -inner,
                    Unary::Not => i64::from(inner == 0),
                    Unary::Complement => !inner,
                }
            }
            ExprKind::Binary(operator, left, right) => {
                let (a, b) = (
                    self.constant_value(left)? as i32,
                    self.constant_value(right)? as i32,
                );
                i64::from(apply(*operator, a, b)?)
            }
            _ => return None,
        })
    }

    pub(super) fn initial(
        &mut self,
        declarator: &Declarator,
        scalar: Scalar,
        size: Option<u32>,
    ) -> LeafInitial {
        match &declarator.initial {
            Initial::None => LeafInitial::Zero,
            Initial::Value(expr) => {
                let value = self.expr(expr);
                self.no_run(&value, expr.span, "an initial value");
                self.check_fits(kept(scalar, size), expr);
                LeafInitial::Value(value)
            }
            Initial::List(values) => {
                let Some(size) = size else {
                    let message = format!("{} is no array", declarator.name);
                    self.error("PML048", message, declarator.span);
                    return LeafInitial::Zero;
                };
                let mut list: Vec<i32> = Vec::new();
                for value in values {
                    self.check_fits(kept(scalar, Some(size)), value);
                    list.push(self.constant(value).unwrap_or(0) as i32);
                }
                if list.len() > size as usize {
                    let message = format!(
                        "{} has {size} elements, {} given",
                        declarator.name,
                        list.len()
                    );
                    self.error("PML048", message, declarator.span);
                }
                // Missing ones repeat the last, as SPIN does it.
                let last = list.last().copied().unwrap_or(0);
                list.resize(size as usize, last);
                LeafInitial::List(list)
            }
            Initial::Channel { capacity, fields } => {
                if scalar != Scalar::Chan {
                    let message = format!("{} is no channel", declarator.name);
                    self.error("PML048", message, declarator.span);
                    return LeafInitial::Zero;
                }
                let capacity_value = self.constant(capacity).unwrap_or(0);
                if !(0..=255).contains(&capacity_value) {
                    let message =
                        format!("a channel holds 0 to 255 messages, not {capacity_value}");
                    self.error("PML046", message, capacity.span);
                }
                let mut scalars = Vec::new();
                for ty in fields {
                    self.message_field(ty, declarator, &mut scalars);
                }
                // Alone in a message, a bit is a byte as well.
                if scalars == [Scalar::Bit] {
                    scalars = vec![Scalar::Byte];
                }
                LeafInitial::Channel(Arc::new(ChannelType {
                    capacity: capacity_value.clamp(0, 255) as u32,
                    fields: scalars,
                }))
            }
        }
    }

    /// Warns of a constant that is cut off where it is stored, as SPIN does in simulations.
    pub(crate) fn check_fits(&mut self, scalar: Scalar, expr: &ast::Expr) {
        let (name, min, max) = match scalar {
            Scalar::Bit => ("a bit", 0, 1),
            Scalar::Byte => ("a byte", 0, 255),
            Scalar::Short => ("a short", i64::from(i16::MIN), i64::from(i16::MAX)),
            Scalar::Unsigned(bits) => ("this variable", 0, (1 << bits) - 1),
            Scalar::Mtype(_) => ("an mtype", 0, 255),
            Scalar::Int | Scalar::Chan => return,
        };
        let Some(value) = self.constant_value(expr) else {
            return;
        };
        if !(min..=max).contains(&value) {
            let size = max - min + 1;
            let stored = (value - min).rem_euclid(size) + min;
            let message = format!("{value} does not fit: {stored} is stored");
            let warning = Diagnostic::warning("PML062", message, expr.span)
                .help(format!("{name} holds {min} to {max}"));
            self.diagnostics.push(warning);
        }
    }

    pub(super) fn message_field(
        &mut self,
        ty: &Type,
        declarator: &Declarator,
        out: &mut Vec<Scalar>,
    ) {
        match self.scalar(ty, declarator, declarator.span) {
            Some(scalar) => out.push(scalar),
            None => {
                if let Some(structure) = self.structure(ty, declarator.span) {
                    let mut leaves = Vec::new();
                    self.flatten(structure, "", &[], |scalar, _| scalar, &mut leaves);
                    for leaf in leaves {
                        out.extend(std::iter::repeat_n(leaf.scalar, leaf.len()));
                    }
                }
            }
        }
    }

    /// The leaves of a typedef, in the order of its fields; `kept` says how a number of a type,
    /// or of an array of some size, is kept.
    pub(super) fn flatten(
        &self,
        structure: usize,
        prefix: &str,
        dims: &[u32],
        kept: fn(Scalar, Option<u32>) -> Scalar,
        out: &mut Vec<Leaf>,
    ) {
        for field in &self.structures[structure].fields {
            let suffix = format!("{prefix}.{}", field.name);
            let mut dims = dims.to_vec();
            dims.extend(field.size);
            match &field.kind {
                FieldKind::Number(scalar, initial) => {
                    let mut initial = initial.clone();
                    if let LeafInitial::List(list) = &mut initial {
                        let total: usize = dims.iter().map(|d| *d as usize).product();
                        *list = list.iter().copied().cycle().take(total).collect();
                    }
                    out.push(Leaf {
                        suffix,
                        scalar: kept(*scalar, field.size),
                        dims,
                        initial,
                    });
                }
                FieldKind::Structure(inner) => self.flatten(*inner, &suffix, &dims, kept, out),
            }
            if out.len() > MAX_NUMBERS {
                return;
            }
        }
    }

    pub(super) fn variable(
        &mut self,
        declaration: &Declaration,
        declarator: &Declarator,
        keep_initial: bool,
    ) -> Variable {
        let size = declarator.size.as_ref().map(|s| self.size(s));
        let dims: Vec<u32> = size.into_iter().collect();
        let mut structure = None;
        let mut leaves = Vec::new();
        match self.scalar(&declaration.ty, declarator, declaration.span) {
            Some(scalar) => {
                let initial = match keep_initial {
                    true => self.initial(declarator, scalar, size),
                    false => LeafInitial::Zero,
                };
                leaves.push(Leaf {
                    suffix: String::new(),
                    scalar: match (kept(scalar, size), declaration.visibility) {
                        (Scalar::Unsigned(_), Visibility::Hidden) => Scalar::Int,
                        (scalar, _) => scalar,
                    },
                    dims,
                    initial,
                });
            }
            None => {
                structure = self.structure(&declaration.ty, declaration.span);
                if let Some(structure) = structure {
                    self.flatten(structure, "", &dims, kept, &mut leaves);
                }
                if !matches!(declarator.initial, Initial::None) {
                    let message = format!("the initial value of {} has no effect", declarator.name);
                    let warning = Diagnostic::warning("PML048", message, declarator.span)
                        .help("give the fields of the type initial values");
                    self.diagnostics.push(warning);
                }
            }
        }
        let numbers: usize = leaves.iter().map(Leaf::len).sum();
        if numbers > MAX_NUMBERS {
            let message = format!(
                "{} holds {numbers} numbers, which is too many",
                declarator.name
            );
            self.error("PML046", message, declarator.span);
            leaves.clear();
        }
        Variable {
            name: declarator.name.clone(),
            span: declarator.span,
            leaves,
            is_array: size.is_some(),
            structure,
            hidden: declaration.visibility == Visibility::Hidden,
            local: declaration.visibility == Visibility::Local,
        }
    }

    /// Declares a local variable; its initial value counts only at the head of the body.
    pub(crate) fn local(
        &mut self,
        declaration: &Declaration,
        declarator: &Declarator,
        at_head: bool,
    ) -> usize {
        let variable = self.variable(declaration, declarator, at_head);
        self.check_name(&variable, true);
        let visible = self
            .visible_local(&variable.name)
            .map(|at| self.locals[at].span);
        let global = self.global_names.get(&variable.name);
        let first = visible.or(global.map(|g| self.program.globals[*g].span));
        if let Some(first) = first {
            let message = format!("{} is declared twice", variable.name);
            let error = Diagnostic::error("PML041", message, variable.span)
                .related(first, "first declared here");
            self.diagnostics.push(error);
        }
        self.add_local(variable)
    }

    /// Adds a local variable that no text declares, or that was checked before.
    pub(crate) fn add_local(&mut self, variable: Variable) -> usize {
        let index = self.locals.len();
        self.local_names.push(Local {
            name: variable.name.clone(),
            index,
            scope: self.scope.clone(),
        });
        self.locals.push(variable);
        index
    }

    pub(crate) fn locals(&self) -> &[Variable] {
        &self.locals
    }

    pub(super) fn visible_local(&self, name: &str) -> Option<usize> {
        let fits = |l: &&Local| *l.name == *name && self.scope.starts_with(&l.scope);
        self.local_names.iter().rev().find(fits).map(|l| l.index)
    }
}
