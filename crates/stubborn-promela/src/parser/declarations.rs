//! Units of a model and declarations of variables.

use stubborn_diagnostics::{Diagnostic, Span};

use super::{Inline, Parser};
use crate::ast::{
    Block, Declaration, Declarator, Initial, Ltl, Model, Mtype, Name, Process, ProcessKind, Type,
    Typedef, Unit, Visibility,
};
use crate::token::Kind;

impl Parser<'_> {
    pub(super) fn model(&mut self) -> Model {
        let mut model = Model::default();
        while self.kind() != Kind::End {
            let before = self.rest.len();
            if let Some(unit) = self.unit() {
                model.units.push(unit);
            }
            if self.rest.len() == before {
                // Nothing was understood: step over one token, then find firm ground.
                self.next();
                self.recover();
            }
        }
        model
    }

    fn unit(&mut self) -> Option<Unit> {
        let token = self.peek().clone();
        if matches!(token.kind, Kind::Semicolon | Kind::Arrow) {
            self.next();
            return None;
        }
        if token.kind != Kind::Name {
            self.unexpected("a declaration or a process");
            return None;
        }
        match &*token.text {
            "active" | "proctype" | "D_proctype" => {
                self.proctype().map(|p| Unit::Process(Box::new(p)))
            }
            "init" => {
                self.next();
                let priority = self.priority();
                let body = self.braced_block()?;
                Some(Unit::Process(Box::new(Process {
                    active: None,
                    priority,
                    ..bare(ProcessKind::Init, ":init:", token.span, body)
                })))
            }
            "never" => {
                self.next();
                let mut name: Name = ":never:".into();
                if self.kind() == Kind::Name {
                    (name, _) = self.name("the claim's name")?;
                }
                let body = self.braced_block()?;
                Some(Unit::Process(Box::new(bare(
                    ProcessKind::Never,
                    &name,
                    token.span,
                    body,
                ))))
            }
            "trace" | "notrace" => {
                self.next();
                let kind = match &*token.text {
                    "trace" => ProcessKind::Trace,
                    _ => ProcessKind::NoTrace,
                };
                let body = self.braced_block()?;
                let name = format!(":{}:", token.text);
                Some(Unit::Process(Box::new(bare(kind, &name, token.span, body))))
            }
            "ltl" => self.ltl().map(Unit::Ltl),
            "typedef" => self.typedef().map(Unit::Typedef),
            "inline" => {
                self.inline_definition();
                None
            }
            "c_code" | "c_decl" | "c_state" | "c_track" | "c_expr" => {
                self.embedded_c();
                None
            }
            "mtype" if self.mtype_constants() => self.mtype().map(Unit::Mtype),
            _ if self.at_declaration() => self.declaration().map(Unit::Declaration),
            _ => {
                self.unexpected("a declaration or a process");
                None
            }
        }
    }

    fn proctype(&mut self) -> Option<Process> {
        let mut active = None;
        if self.at_word("active") {
            let word = self.next();
            let one = crate::ast::Expr {
                kind: crate::ast::ExprKind::Number(1),
                span: word.span,
            };
            active = Some(one);
            if self.take(Kind::OpenBracket) {
                active = Some(self.expression());
                self.expect(Kind::CloseBracket, "`]`");
            }
        }
        let deterministic = self.at_word("D_proctype");
        if !self.take_word("proctype") && !self.take_word("D_proctype") {
            self.unexpected("`proctype`");
            return None;
        }
        let (name, span) = self.name("the process type's name")?;
        self.open_paren();
        let mut parameters = Vec::new();
        while self.kind() != Kind::CloseParen {
            if !self.at_declaration() {
                self.unexpected("a parameter's type");
                break;
            }
            let declaration = self.declaration()?;
            for variable in &declaration.variables {
                if !matches!(variable.initial, Initial::None) {
                    let message =
                        format!("parameter {} cannot have an initial value", variable.name);
                    self.error("PML026", message, variable.span);
                }
            }
            parameters.push(declaration);
            while self.take(Kind::Semicolon) {}
        }
        self.close_paren();
        let priority = self.priority();
        let mut provided = None;
        if self.take_word("provided") {
            self.open_paren();
            provided = Some(self.expression());
            self.close_paren();
        }
        let body = self.braced_block()?;
        self.known_types.insert(name.clone());
        Some(Process {
            active,
            deterministic,
            parameters,
            priority,
            provided,
            ..bare(ProcessKind::Proctype, &name, span, body)
        })
    }

    pub(super) fn priority(&mut self) -> Option<crate::ast::Expr> {
        self.take_word("priority").then(|| self.expression())
    }

    fn ltl(&mut self) -> Option<Ltl> {
        self.next();
        let mut name: Name = format!("ltl_{}", self.formulas).into();
        if self.kind() == Kind::Name {
            (name, _) = self.name("the property's name")?;
        } else {
            self.formulas += 1;
        }
        if self.kind() != Kind::OpenBrace {
            self.unexpected("`{`");
            return None;
        }
        let mut tokens = self.braced_tokens();
        tokens.pop();
        while tokens.last().is_some_and(|t| t.kind == Kind::Semicolon) {
            tokens.pop();
        }
        for at in 1..tokens.len().saturating_sub(1) {
            // `name @ label` or `name [ … ] @ label`
            if tokens[at].kind == Kind::At && tokens[at + 1].kind == Kind::Name {
                let known = |t: &&crate::token::Token| self.names.proctypes.contains(&t.text);
                if let Some(process) = tokens[..at].iter().rev().find(known) {
                    self.remote_labels
                        .push((process.text.clone(), tokens[at + 1].text.clone()));
                }
            }
        }
        let mut text = String::new();
        let mut span: Option<Span> = None;
        for token in tokens.iter().skip(1) {
            if token.spaced && !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&token.text);
            span = Some(span.map_or(token.span, |s| s.to(token.span)));
        }
        let Some(span) = span else {
            let span = tokens.first().map_or(Span::default(), |t| t.span);
            self.error("PML027", "this formula is empty", span);
            return None;
        };
        Some(Ltl { name, text, span })
    }

    fn typedef(&mut self) -> Option<Typedef> {
        self.next();
        let (name, span) = self.name("the type's name")?;
        self.expect(Kind::OpenBrace, "`{`");
        let mut fields = Vec::new();
        loop {
            while matches!(self.kind(), Kind::Semicolon | Kind::Arrow) {
                self.next();
            }
            if self.kind() == Kind::CloseBrace || !self.at_declaration() {
                break;
            }
            fields.push(self.declaration()?);
        }
        self.expect(Kind::CloseBrace, "`}` or a field's type");
        if fields.is_empty() {
            self.error("PML028", format!("type {name} has no fields"), span);
        }
        Some(Typedef { name, span, fields })
    }

    fn inline_definition(&mut self) {
        self.next();
        let Some((name, span)) = self.name("the inline's name") else {
            return;
        };
        let formals = self.inline_arguments();
        let mut parameters: Vec<Name> = Vec::new();
        for formal in formals {
            match formal.as_slice() {
                [one] if one.kind == Kind::Name => {
                    if parameters.contains(&one.text) {
                        let message = format!("parameter {} is named twice", one.text);
                        self.error("PML029", message, one.span);
                    }
                    parameters.push(one.text.clone());
                }
                other => {
                    let place = other.first().map_or(span, |t| t.span);
                    self.error("PML029", "a parameter of an inline is a single name", place);
                }
            }
        }
        if self.kind() != Kind::OpenBrace {
            return self.unexpected("`{`");
        }
        let body = self.braced_tokens();
        if body.len() <= 2 {
            let warning =
                Diagnostic::warning("PML030", format!("inline {name} has an empty body"), span);
            self.diagnostics.push(warning);
        }
        let mut size = body.len();
        for pair in body.windows(2) {
            let called = self.inlines.get(&pair[0].text);
            if let Some(called) = called.filter(|_| pair[1].kind == Kind::OpenParen) {
                size = size.saturating_add(called.size);
            }
        }
        let inline = Inline {
            parameters,
            body,
            size,
        };
        self.inlines.insert(name, inline);
    }

    /// After `mtype`: constants follow, not variables.
    fn mtype_constants(&self) -> bool {
        let mut ahead = 1;
        if self.peek_at(1).kind == Kind::Colon && self.peek_at(2).kind == Kind::Name {
            ahead = 3;
        }
        matches!(self.peek_at(ahead).kind, Kind::Assign | Kind::OpenBrace)
    }

    fn mtype(&mut self) -> Option<Mtype> {
        self.next();
        let mut set = None;
        if self.take(Kind::Colon) {
            set = self.name("the set's name").map(|(name, _)| name);
        }
        self.take(Kind::Assign);
        self.expect(Kind::OpenBrace, "`{`");
        let mut names = Vec::new();
        while self.kind() == Kind::Name {
            names.push(self.name("a constant's name")?);
            while self.take(Kind::Comma) {}
        }
        self.expect(Kind::CloseBrace, "`}` or another name");
        Some(Mtype { set, names })
    }

    /// A declaration starts here.
    pub(super) fn at_declaration(&self) -> bool {
        let token = self.peek();
        token.kind == Kind::Name
            && (matches!(
                &*token.text,
                "hidden"
                    | "show"
                    | "local"
                    | "bit"
                    | "bool"
                    | "byte"
                    | "pid"
                    | "short"
                    | "int"
                    | "unsigned"
                    | "mtype"
                    | "chan"
            ) || (self.names.typedefs.contains(&token.text)
                && self.peek_at(1).kind == Kind::Name))
    }

    pub(super) fn declaration(&mut self) -> Option<Declaration> {
        let visibility = match &*self.peek().text {
            "hidden" => Visibility::Hidden,
            "show" => Visibility::Show,
            "local" => Visibility::Local,
            _ => Visibility::Normal,
        };
        if visibility != Visibility::Normal {
            self.next();
        }
        let span = self.peek().span;
        let ty = self.type_name()?;
        let mut variables = Vec::new();
        loop {
            variables.push(self.declarator(&ty)?);
            if !self.take(Kind::Comma) {
                break;
            }
        }
        Some(Declaration {
            visibility,
            ty,
            span,
            variables,
        })
    }

    fn type_name(&mut self) -> Option<Type> {
        let token = self.peek();
        let ty = match &*token.text {
            "bit" | "bool" => Type::Bit,
            "byte" | "pid" => Type::Byte,
            "short" => Type::Short,
            "int" => Type::Int,
            "unsigned" => Type::Unsigned,
            "chan" => Type::Chan,
            "mtype" => {
                self.next();
                let mut set = None;
                if self.kind() == Kind::Colon && self.peek_at(1).kind == Kind::Name {
                    self.next();
                    set = self.name("the set's name").map(|(name, _)| name);
                }
                return Some(Type::Mtype(set));
            }
            _ if self.names.typedefs.contains(&token.text) => Type::Named(token.text.clone()),
            _ => {
                self.unexpected("a type");
                return None;
            }
        };
        self.next();
        Some(ty)
    }

    fn declarator(&mut self, ty: &Type) -> Option<Declarator> {
        let (name, span) = self.name("a variable's name")?;
        self.variables.insert(name.clone());
        let mut width = None;
        let mut size = None;
        if *ty == Type::Unsigned && self.take(Kind::Colon) {
            width = Some(self.primary());
        } else if self.take(Kind::OpenBracket) {
            size = Some(self.expression());
            self.expect(Kind::CloseBracket, "`]`");
        }
        let mut initial = Initial::None;
        if self.take(Kind::Assign) {
            initial = match self.kind() {
                Kind::OpenBrace => {
                    self.next();
                    let mut values = vec![self.expression()];
                    while self.take(Kind::Comma) {
                        values.push(self.expression());
                    }
                    self.expect(Kind::CloseBrace, "`}`");
                    Initial::List(values)
                }
                // A variable stays a variable, whatever is wrong with its first value.
                Kind::OpenBracket => self.channel_initial().unwrap_or(Initial::None),
                _ => Initial::Value(self.expression()),
            };
        }
        Some(Declarator {
            name,
            span,
            width,
            size,
            initial,
        })
    }

    /// `[ capacity ] of { types }`
    fn channel_initial(&mut self) -> Option<Initial> {
        self.next();
        let capacity = self.expression();
        self.expect(Kind::CloseBracket, "`]`");
        if !self.take_word("of") {
            self.unexpected("`of`");
            return None;
        }
        let open = self.expect(Kind::OpenBrace, "`{`");
        let mut fields = Vec::new();
        loop {
            let span = self.peek().span;
            let ty = self.type_name()?;
            if ty == Type::Unsigned {
                let error =
                    Diagnostic::error("PML031", "a message field cannot be `unsigned`", span)
                        .help("use byte, short or int");
                self.report(error);
            }
            fields.push(ty);
            if !self.take(Kind::Comma) {
                break;
            }
        }
        if open {
            self.expect(Kind::CloseBrace, "`}`");
        }
        Some(Initial::Channel { capacity, fields })
    }
}

/// A process with nothing but a name and a body.
fn bare(kind: ProcessKind, name: &str, span: Span, body: Block) -> Process {
    Process {
        kind,
        name: name.into(),
        span,
        active: None,
        deterministic: false,
        parameters: Vec::new(),
        priority: None,
        provided: None,
        body,
    }
}
