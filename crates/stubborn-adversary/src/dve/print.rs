//! Programs as DVE text, and expressions as they stand in it and outside.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::reference::program::{
    Action, Binary, Expr, Kind, Name, Place, Process, Program, Transition, Unary, Variable,
};

/// Where an expression stands: that decides how things are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In this process.
    Process(usize),
    /// In the property process.
    Property,
    /// On the command line or in the file of an automaton.
    Outside,
}

/// How tightly an operator binds.
fn level(operator: Binary) -> u32 {
    match operator {
        Binary::Imply => 1,
        Binary::Or | Binary::And => 2,
        Binary::BitOr | Binary::BitAnd | Binary::BitXor => 3,
        Binary::Equal | Binary::NotEqual => 4,
        Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual => 5,
        Binary::ShiftLeft | Binary::ShiftRight => 6,
        Binary::Add | Binary::Subtract => 7,
        Binary::Multiply | Binary::Divide | Binary::Remainder => 8,
    }
}

fn symbol(operator: Binary) -> &'static str {
    match operator {
        Binary::Imply => "imply",
        Binary::Or => "or",
        Binary::And => "and",
        Binary::BitOr => "|",
        Binary::BitAnd => "&",
        Binary::BitXor => "^",
        Binary::Equal => "==",
        Binary::NotEqual => "!=",
        Binary::Less => "<",
        Binary::LessEqual => "<=",
        Binary::Greater => ">",
        Binary::GreaterEqual => ">=",
        Binary::ShiftLeft => "<<",
        Binary::ShiftRight => ">>",
        Binary::Add => "+",
        Binary::Subtract => "-",
        Binary::Multiply => "*",
        Binary::Divide => "/",
        Binary::Remainder => "%",
    }
}

/// The name of a variable.
pub fn variable(name: Name, scope: Scope) -> String {
    match (name.process, scope) {
        (None, _) => format!("g{}", name.number),
        (Some(process), Scope::Process(same)) if process == same => format!("v{}", name.number),
        (Some(process), Scope::Property) => format!("P{process}->v{}", name.number),
        (Some(process), _) => format!("P{process}.v{}", name.number),
    }
}

fn place(place: &Place, scope: Scope) -> String {
    match &place.index {
        None => variable(place.name, scope),
        Some(index) => format!("{}[{}]", variable(place.name, scope), expr(index, scope)),
    }
}

/// An expression with as few parentheses as possible: they must be read as the language
/// says.
pub fn expr(expression: &Expr, scope: Scope) -> String {
    tight(expression, scope, 0)
}

fn tight(expression: &Expr, scope: Scope, least: u32) -> String {
    let (text, own) = match expression {
        Expr::Const(value) if *value < 0 => (format!("-{}", i64::from(*value).abs()), 9),
        Expr::Const(value) => (value.to_string(), 10),
        Expr::Read(read) => (place(read, scope), 10),
        Expr::At(process, location) => (format!("P{process}.s{location}"), 10),
        Expr::Unary(operator, operand) => {
            let operand = tight(operand, scope, 9);
            let text = match operator {
                Unary::Minus => format!("-{operand}"),
                Unary::Complement => format!("~{operand}"),
                Unary::Not => format!("not {operand}"),
            };
            // `--x` would not be understood by everybody.
            match text.starts_with("--") {
                true => (format!("-({})", &text[1..]), 9),
                false => (text, 9),
            }
        }
        Expr::Binary(operator, left, right) => {
            let own = level(*operator);
            let left = tight(left, scope, own);
            let right = tight(right, scope, own + 1);
            (format!("{left} {} {right}", symbol(*operator)), own)
        }
    };
    match own < least {
        true => format!("({text})"),
        false => text,
    }
}

fn declaration(variable: &Variable, name: &str) -> String {
    let kind = match variable.kind {
        Kind::Byte => "byte",
        Kind::Int => "int",
    };
    let constant = if variable.is_const { "const " } else { "" };
    let zero = variable.initial.iter().all(|value| *value == 0);
    match (variable.is_array, zero) {
        (false, true) => format!("{constant}{kind} {name};"),
        (false, false) => format!("{constant}{kind} {name} = {};", variable.initial[0]),
        (true, true) => format!("{constant}{kind} {name}[{}];", variable.initial.len()),
        (true, false) => {
            let values: Vec<String> = variable.initial.iter().map(i32::to_string).collect();
            format!(
                "{constant}{kind} {name}[{}] = {{{}}};",
                values.len(),
                values.join(", ")
            )
        }
    }
}

/// The property process: its states, which of them accept, and its transitions with guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyProcess {
    /// Whether each state accepts.
    pub accepting: Vec<bool>,
    /// Source, target and guard.
    pub edges: Vec<(usize, usize, Option<Expr>)>,
}

/// The name of the property process.
pub const PROPERTY: &str = "LTL_property";

/// The text of a program; `seen` are the expressions outside of it that will be asked for.
pub fn program(program: &Program, property: Option<&PropertyProcess>, seen: &[Expr]) -> String {
    let mut text = String::new();
    for (number, variable) in program.globals.iter().enumerate() {
        if !variable.removed {
            let _ = writeln!(text, "{}", declaration(variable, &format!("g{number}")));
        }
    }
    for (number, channel) in program.channels.iter().enumerate() {
        if channel.removed {
            continue;
        }
        let _ = match &channel.kinds {
            None => writeln!(text, "channel c{number};"),
            Some(kinds) => {
                let kinds: Vec<&str> = kinds
                    .iter()
                    .map(|kind| match kind {
                        Kind::Byte => "byte",
                        Kind::Int => "int",
                    })
                    .collect();
                writeln!(
                    text,
                    "channel {{{}}} c{number}[{}];",
                    kinds.join(", "),
                    channel.capacity
                )
            }
        };
    }
    let observed = observed(program, property, seen);
    for (number, process) in program.present() {
        self::process(&mut text, number, process, &observed);
    }
    match property {
        None => text.push_str("system async;\n"),
        Some(property) => {
            property_process(&mut text, property);
            let _ = writeln!(text, "system async property {PROPERTY};");
        }
    }
    text
}

/// The locations that expressions look at.
fn observed(
    program: &Program,
    property: Option<&PropertyProcess>,
    seen: &[Expr],
) -> BTreeSet<(usize, usize)> {
    let mut all: Vec<&Expr> = seen.iter().collect();
    for (_, process) in program.present() {
        all.extend(process.assertions.iter().map(|(_, condition)| condition));
        for transition in &process.transitions {
            all.extend(expressions(transition));
        }
    }
    if let Some(property) = property {
        all.extend(
            property
                .edges
                .iter()
                .filter_map(|(_, _, guard)| guard.as_ref()),
        );
    }
    let mut found = BTreeSet::new();
    for expression in all {
        locations(expression, &mut found);
    }
    found
}

/// The expressions of a transition.
fn expressions(transition: &Transition) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = transition.guard.iter().collect();
    let indices = |place: &'_ Place| place.index.is_some();
    match &transition.sync {
        Some((_, Action::Send(values))) => all.extend(values),
        Some((_, Action::Receive(places))) => {
            let places = places.iter().filter(|place| indices(place));
            all.extend(places.filter_map(|place| place.index.as_deref()));
        }
        None => {}
    }
    for (place, value) in &transition.effects {
        all.extend(place.index.as_deref());
        all.push(value);
    }
    all
}

fn locations(expression: &Expr, found: &mut BTreeSet<(usize, usize)>) {
    match expression {
        Expr::Const(_) => {}
        Expr::Read(place) => {
            if let Some(index) = &place.index {
                locations(index, found);
            }
        }
        Expr::At(process, location) => {
            found.insert((*process, *location));
        }
        Expr::Unary(_, operand) => locations(operand, found),
        Expr::Binary(_, left, right) => {
            locations(left, found);
            locations(right, found);
        }
    }
}

fn process(
    text: &mut String,
    number: usize,
    process: &Process,
    observed: &BTreeSet<(usize, usize)>,
) {
    let scope = Scope::Process(number);
    let _ = writeln!(text, "process P{number} {{");
    for (index, variable) in process.locals.iter().enumerate() {
        if !variable.removed {
            let _ = writeln!(text, "  {}", declaration(variable, &format!("v{index}")));
        }
    }
    let is_used = |location: &usize| {
        let transitions = &process.transitions;
        *location == process.initial
            || observed.contains(&(number, *location))
            || process.assertions.iter().any(|(at, _)| at == location)
            || transitions
                .iter()
                .any(|t| t.source == *location || t.target == *location)
    };
    let used: Vec<usize> = (0..process.committed.len()).filter(is_used).collect();
    let names = |locations: &[usize]| {
        let names: Vec<String> = locations.iter().map(|at| format!("s{at}")).collect();
        names.join(", ")
    };
    let _ = writeln!(text, "  state {};", names(&used));
    let _ = writeln!(text, "  init s{};", process.initial);
    let is_committed = |location: &usize| process.committed[*location];
    let committed: Vec<usize> = used.iter().copied().filter(is_committed).collect();
    if !committed.is_empty() {
        let _ = writeln!(text, "  commit {};", names(&committed));
    }
    if !process.assertions.is_empty() {
        let assertions = process.assertions.iter();
        let assertions: Vec<String> = assertions
            .map(|(at, condition)| format!("s{at}: {}", expr(condition, scope)))
            .collect();
        let _ = writeln!(text, "  assert {};", assertions.join(", "));
    }
    if !process.transitions.is_empty() {
        let transitions = process.transitions.iter();
        let transitions: Vec<String> = transitions.map(|t| transition(t, scope)).collect();
        let _ = writeln!(text, "  trans\n    {};", transitions.join(",\n    "));
    }
    text.push_str("}\n");
}

fn transition(transition: &Transition, scope: Scope) -> String {
    let mut text = format!("s{} -> s{} {{", transition.source, transition.target);
    if let Some(guard) = &transition.guard {
        let _ = write!(text, " guard {};", expr(guard, scope));
    }
    if let Some((channel, action)) = &transition.sync {
        let (mark, values): (char, Vec<String>) = match action {
            Action::Send(values) => ('!', values.iter().map(|v| expr(v, scope)).collect()),
            Action::Receive(places) => ('?', places.iter().map(|p| place(p, scope)).collect()),
        };
        let values = match &values[..] {
            [] => String::new(),
            [one] => one.clone(),
            more => format!("{{{}}}", more.join(", ")),
        };
        let _ = write!(text, " sync c{channel}{mark}{values};");
    }
    if !transition.effects.is_empty() {
        let effects = transition.effects.iter();
        let effects: Vec<String> = effects
            .map(|(target, value)| format!("{} = {}", place(target, scope), expr(value, scope)))
            .collect();
        let _ = write!(text, " effect {};", effects.join(", "));
    }
    text.push_str(" }");
    text
}

fn property_process(text: &mut String, property: &PropertyProcess) {
    let names = |wanted: &dyn Fn(usize) -> bool| {
        let states = (0..property.accepting.len()).filter(|state| wanted(*state));
        let names: Vec<String> = states.map(|state| format!("q{state}")).collect();
        names.join(", ")
    };
    let _ = writeln!(text, "process {PROPERTY} {{");
    let _ = writeln!(text, "  state {};", names(&|_| true));
    text.push_str("  init q0;\n");
    let accepting = names(&|state| property.accepting[state]);
    if !accepting.is_empty() {
        let _ = writeln!(text, "  accept {accepting};");
    }
    let edges = property.edges.iter();
    let edges: Vec<String> = edges
        .map(|(source, target, guard)| match guard {
            None => format!("q{source} -> q{target} {{}}"),
            Some(guard) => {
                let guard = expr(guard, Scope::Property);
                format!("q{source} -> q{target} {{ guard {guard}; }}")
            }
        })
        .collect();
    if !edges.is_empty() {
        let _ = writeln!(text, "  trans\n    {};", edges.join(",\n    "));
    }
    text.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(operator: Binary, left: Expr, right: Expr) -> Expr {
        Expr::Binary(operator, Box::new(left), Box::new(right))
    }

    #[test]
    fn parentheses_stand_where_they_are_needed() {
        let number = Expr::Const;
        let or = binary(Binary::Or, number(1), number(2));
        let text = |expression: &Expr| expr(expression, Scope::Outside);
        assert_eq!(
            text(&binary(Binary::And, or.clone(), number(3))),
            "1 or 2 and 3"
        );
        assert_eq!(text(&binary(Binary::And, number(3), or)), "3 and (1 or 2)");
        let equal = binary(Binary::Equal, number(1), number(2));
        assert_eq!(
            text(&binary(Binary::BitAnd, number(0), equal.clone())),
            "0 & 1 == 2"
        );
        let not = |inner| Expr::Unary(Unary::Not, Box::new(inner));
        assert_eq!(text(&not(equal)), "not (1 == 2)");
        assert_eq!(
            text(&binary(Binary::Equal, not(number(1)), number(2))),
            "not 1 == 2"
        );
        let minus = Expr::Unary(Unary::Minus, Box::new(number(-3)));
        assert_eq!(text(&minus), "-(-3)");
    }
}
