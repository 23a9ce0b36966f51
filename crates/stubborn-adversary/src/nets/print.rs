//! Nets as PNML, conditions as the command line and the contest's files have them.

use std::fmt::Write as _;

use super::coloured::{Coloured, Guard, Kind, Relation, Sort, Term};
use crate::formula::{self, Syntax};
use crate::reference::ctl::is_temporal;
use crate::reference::graph::Graph;
use crate::reference::ltl::Formula;
use crate::reference::net::{Comparison, Condition, Marking, Net, Sum};

const HEAD: &str = "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\">";

/// An inhibitor or read arc may be told in several ways: an attribute and an element of the arc.
fn special(kind: &str, number: usize) -> (String, String) {
    match number % 4 {
        0 => (format!(" type=\"{kind}\""), String::new()),
        1 => (String::new(), format!("<type value=\"{kind}\"/>")),
        2 => (
            String::new(),
            format!("<arctype><text>{kind}</text></arctype>"),
        ),
        _ => (String::new(), format!("<type><text>{kind}</text></type>")),
    }
}

/// A net as a file. With a state space, places that are never marked together are said to
/// be units, if no place ever has two tokens.
pub fn net(net: &Net, units_of: Option<&Graph<Marking>>) -> String {
    let mut text = format!(
        "{HEAD}\n<net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/ptnet\">\n<page \
         id=\"g\">\n"
    );
    for (number, tokens) in net.initial.iter().enumerate() {
        let _ = match tokens {
            0 => writeln!(text, "<place id=\"p{number}\"/>"),
            _ => writeln!(
                text,
                "<place id=\"p{number}\"><initialMarking><text>{tokens}</text></initialMarking>\
                 </place>"
            ),
        };
    }
    for number in 0..net.transitions.len() {
        let _ = writeln!(text, "<transition id=\"t{number}\"/>");
    }
    let mut arcs = 0;
    let mut arc = |text: &mut String, source: String, target: String, kind: &str, weight: u64| {
        // Numbers are told in two ways.
        let inscription = match (weight, arcs % 2) {
            (1, _) => String::new(),
            (_, 0) => format!("<inscription><text>{weight}</text></inscription>"),
            _ => format!("<inscription><value>{weight}</value></inscription>"),
        };
        let (attribute, element) = match kind {
            "" => Default::default(),
            _ => special(kind, arcs),
        };
        let _ = writeln!(
            text,
            "<arc id=\"a{arcs}\" source=\"{source}\" target=\"{target}\"{attribute}>{inscription}\
             {element}</arc>"
        );
        arcs += 1;
    };
    for (number, transition) in net.transitions.iter().enumerate() {
        let t = || format!("t{number}");
        // Every other loop is written as a read arc.
        let is_read = |arc: &(usize, u64)| {
            (arc.0 + number).is_multiple_of(2) && transition.read_arcs().any(|other| other == arc)
        };
        for (place, weight) in &transition.takes {
            let kind = if is_read(&(*place, *weight)) {
                "read"
            } else {
                ""
            };
            arc(&mut text, format!("p{place}"), t(), kind, *weight);
        }
        for (place, weight) in transition.gives.iter().filter(|arc| !is_read(arc)) {
            arc(&mut text, t(), format!("p{place}"), "", *weight);
        }
        for (place, weight) in &transition.inhibitors {
            arc(&mut text, format!("p{place}"), t(), "inhibitor", *weight);
        }
    }
    let each: Vec<Vec<usize>> = (0..net.initial.len()).map(|place| vec![place]).collect();
    if let Some(graph) = units_of.filter(|graph| Net::is_one_safe(graph, &each)) {
        text.push_str(&units(net, graph, arcs));
    }
    text.push_str("</page>\n</net>\n</pnml>\n");
    text
}

/// Nested units: one of all places that go together, for each place in turn.
fn units(net: &Net, graph: &Graph<Marking>, arcs: usize) -> String {
    let mut units: Vec<Vec<usize>> = Vec::new();
    for place in 0..net.initial.len() {
        let apart = |other: &usize| {
            let mut states = graph.states.iter();
            states.all(|marking| marking[place] + marking[*other] <= 1)
        };
        match units.iter_mut().find(|unit| unit.iter().all(apart)) {
            Some(unit) => unit.push(place),
            None => units.push(vec![place]),
        }
    }
    let names = (1..=units.len()).map(|number| format!("u{number}"));
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "<toolspecific tool=\"nupn\" version=\"1.1\"><size places=\"{}\" transitions=\"{}\" \
         arcs=\"{arcs}\"/><structure units=\"{}\" root=\"u0\" safe=\"true\"><unit \
         id=\"u0\"><places/><subunits>{}</subunits></unit>",
        net.initial.len(),
        net.transitions.len(),
        units.len() + 1,
        names.join(" ")
    );
    for (name, unit) in names.iter().zip(&units) {
        let places: Vec<String> = unit.iter().map(|place| format!("p{place}")).collect();
        let places = places.join(" ");
        let _ = write!(
            text,
            "<unit id=\"{name}\"><places>{places}</places><subunits/></unit>"
        );
    }
    text.push_str("</structure></toolspecific>\n");
    text
}

/// A coloured net as a file.
pub fn coloured(net: &Coloured) -> String {
    let mut text = format!(
        "{HEAD}\n<net id=\"n\" type=\"http://www.pnml.org/version-2009/grammar/symmetricnet\">\n\
         <page id=\"g\">\n"
    );
    let structure = |tag: &str, inner: &str| match inner {
        "" => String::new(),
        _ => format!("<{tag}><structure>{inner}</structure></{tag}>"),
    };
    for (number, (product, initial)) in net.places.iter().zip(&net.initial).enumerate() {
        let kind = structure("type", &user_sort(product));
        let marking = structure("hlinitialMarking", &term(net, initial));
        let _ = writeln!(text, "<place id=\"p{number}\">{kind}{marking}</place>");
    }
    for (number, transition) in net.transitions.iter().enumerate() {
        let guard = transition.guard.as_ref();
        let guard = guard.map_or(String::new(), |g| {
            structure("condition", &self::guard(net, g))
        });
        let _ = writeln!(text, "<transition id=\"t{number}\">{guard}</transition>");
    }
    let mut arcs = 0;
    for (number, transition) in net.transitions.iter().enumerate() {
        let takes = transition.takes.iter().map(|arc| (true, arc));
        let gives = transition.gives.iter().map(|arc| (false, arc));
        for (takes, (place, inscription)) in takes.chain(gives) {
            let ends = match takes {
                true => format!("source=\"p{place}\" target=\"t{number}\""),
                false => format!("source=\"t{number}\" target=\"p{place}\""),
            };
            let inscription = structure("hlinscription", &term(net, inscription));
            let _ = writeln!(text, "<arc id=\"a{arcs}\" {ends}>{inscription}</arc>");
            arcs += 1;
        }
    }
    text.push_str("</page>\n<declaration><structure><declarations>\n");
    let count = net.sorts.len();
    for (number, sort) in net.sorts.iter().enumerate() {
        let colours: String = (0..sort.colours)
            .map(|c| format!("<feconstant id=\"s{number}c{c}\" name=\"c{c}\"/>"))
            .collect();
        let definition = match sort.kind {
            Kind::Dot => "<dot/>".into(),
            Kind::Cyclic => format!("<cyclicenumeration>{colours}</cyclicenumeration>"),
            Kind::Finite => format!("<finiteenumeration>{colours}</finiteenumeration>"),
            Kind::Range => range(number, sort.colours),
        };
        let _ = writeln!(
            text,
            "<namedsort id=\"S{number}\" name=\"S{number}\">{definition}</namedsort>"
        );
        for other in 0..count {
            let parts = format!("{}{}", user_sort(&[number]), user_sort(&[other]));
            let _ = writeln!(
                text,
                "<namedsort id=\"S{number}S{other}\" \
                 name=\"S{number}S{other}\"><productsort>{parts}</productsort></namedsort>"
            );
        }
    }
    for (number, product) in net.variables.iter().enumerate() {
        let _ = writeln!(
            text,
            "<variabledecl id=\"x{number}\" name=\"x{number}\">{}</variabledecl>",
            user_sort(product)
        );
    }
    text.push_str("</declarations></structure></declaration>\n</net>\n</pnml>\n");
    text
}

/// Numbers from that of the sort on.
fn range(sort: usize, colours: usize) -> String {
    let end = sort + colours - 1;
    format!("<finiteintrange start=\"{sort}\" end=\"{end}\"/>")
}

fn user_sort(product: &[usize]) -> String {
    let name: String = product.iter().map(|sort| format!("S{sort}")).collect();
    format!("<usersort declaration=\"{name}\"/>")
}

/// An operator with its operands.
fn operator(tag: &str, operands: impl Iterator<Item = String>) -> String {
    let operands: String = operands
        .map(|operand| format!("<subterm>{operand}</subterm>"))
        .collect();
    format!("<{tag}>{operands}</{tag}>")
}

fn term(net: &Coloured, term: &Term) -> String {
    let inner = |term: &Term| self::term(net, term);
    match term {
        Term::Variable(number) => format!("<variable refvariable=\"x{number}\"/>"),
        Term::Constant(sort, colour) => match net.sorts[*sort] {
            Sort {
                kind: Kind::Dot, ..
            } => "<dotconstant/>".into(),
            Sort {
                kind: Kind::Range,
                colours,
            } => format!(
                "<finiteintrangeconstant value=\"{}\">{}</finiteintrangeconstant>",
                sort + colour,
                range(*sort, colours)
            ),
            _ => format!("<useroperator declaration=\"s{sort}c{colour}\"/>"),
        },
        Term::Shifted(forward, _, operand) => {
            let tag = if *forward { "successor" } else { "predecessor" };
            operator(tag, [inner(operand)].into_iter())
        }
        Term::All(product) => format!("<all>{}</all>", user_sort(product)),
        Term::Empty(product) => format!("<empty>{}</empty>", user_sort(product)),
        Term::Tuple(parts) => operator("tuple", parts.iter().map(inner)),
        Term::Times(factor, operand) => {
            let factor = format!("<numberconstant value=\"{factor}\"><positive/></numberconstant>");
            operator("numberof", [factor, inner(operand)].into_iter())
        }
        Term::Add(parts) if parts.is_empty() => String::new(),
        Term::Add(parts) => operator("add", parts.iter().map(inner)),
        Term::Subtract(parts) => operator("subtract", parts.iter().map(inner)),
    }
}

fn guard(net: &Coloured, guard: &Guard) -> String {
    let inner = |guard: &Guard| self::guard(net, guard);
    match guard {
        Guard::Constant(value) => format!("<booleanconstant value=\"{value}\"/>"),
        Guard::Compare(relation, left, right) => {
            let tag = match relation {
                Relation::Equal => "equality",
                Relation::NotEqual => "inequality",
                Relation::Less => "lessthan",
                Relation::LessEqual => "lessthanorequal",
                Relation::Greater => "greaterthan",
                Relation::GreaterEqual => "greaterthanorequal",
            };
            operator(tag, [term(net, left), term(net, right)].into_iter())
        }
        Guard::Not(operand) => operator("not", [inner(operand)].into_iter()),
        Guard::And(parts) => operator("and", parts.iter().map(inner)),
        Guard::Or(parts) => operator("or", parts.iter().map(inner)),
        Guard::Imply(left, right) => operator("imply", [inner(left), inner(right)].into_iter()),
    }
}

fn sum_text(sum: &Sum) -> String {
    let mut parts: Vec<String> = sum.places.iter().map(|place| format!("p{place}")).collect();
    if sum.constant > 0 || parts.is_empty() {
        parts.push(sum.constant.to_string());
    }
    parts.join(" + ")
}

/// A condition as the command line has it.
pub fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Constant(value) => value.to_string(),
        Condition::Compare(comparison, left, right) => {
            let symbol = match comparison {
                Comparison::LessEqual => "<=",
                Comparison::Less => "<",
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
                Comparison::GreaterEqual => ">=",
                Comparison::Greater => ">",
            };
            format!("{} {symbol} {}", sum_text(left), sum_text(right))
        }
        Condition::Fireable(transitions) => {
            let names: Vec<String> = transitions.iter().map(|t| format!("t{t}")).collect();
            format!("fireable({})", names.join(", "))
        }
        Condition::Deadlock => "deadlock".into(),
        Condition::Not(inner) => format!("!({})", self::condition(inner)),
        Condition::And(left, right) => {
            format!(
                "({}) && ({})",
                self::condition(left),
                self::condition(right)
            )
        }
        Condition::Or(left, right) => {
            format!(
                "({}) || ({})",
                self::condition(left),
                self::condition(right)
            )
        }
    }
}

/// A formula as the command line has it.
pub fn ltl(formula: &Formula, propositions: &[Condition], syntax: Syntax) -> String {
    let names: Vec<String> = propositions
        .iter()
        .map(|proposition| format!("\"{}\"", condition(proposition)))
        .collect();
    formula::text(formula, &names, syntax)
}

fn sum_xml(sum: &Sum) -> String {
    match sum.places.is_empty() {
        true => format!("<integer-constant>{}</integer-constant>", sum.constant),
        false => {
            let places = sum
                .places
                .iter()
                .map(|place| format!("<place>p{place}</place>"));
            let places: String = places.collect();
            format!("<tokens-count>{places}</tokens-count>")
        }
    }
}

/// A condition as the contest has it. Sums must be of places or a number.
pub fn condition_xml(condition: &Condition) -> String {
    let tagged = |tag: &str, content: String| format!("<{tag}>{content}</{tag}>");
    match condition {
        Condition::Constant(value) => format!("<{value}/>"),
        Condition::Compare(comparison, left, right) => {
            let tag = match comparison {
                Comparison::LessEqual => "integer-le",
                Comparison::Less => "integer-lt",
                Comparison::Equal => "integer-eq",
                Comparison::NotEqual => "integer-ne",
                Comparison::GreaterEqual => "integer-ge",
                Comparison::Greater => "integer-gt",
            };
            tagged(tag, format!("{}{}", sum_xml(left), sum_xml(right)))
        }
        Condition::Fireable(transitions) => {
            let names = transitions.iter();
            let names: String = names
                .map(|t| format!("<transition>t{t}</transition>"))
                .collect();
            tagged("is-fireable", names)
        }
        Condition::Deadlock => "<deadlock/>".into(),
        Condition::Not(inner) => tagged("negation", condition_xml(inner)),
        Condition::And(left, right) => {
            let both = format!("{}{}", condition_xml(left), condition_xml(right));
            tagged("conjunction", both)
        }
        Condition::Or(left, right) => {
            let both = format!("{}{}", condition_xml(left), condition_xml(right));
            tagged("disjunction", both)
        }
    }
}

/// A temporal formula as the contest has it; `None` if it has operators that there are not.
pub fn ltl_xml(formula: &Formula, propositions: &[Condition]) -> Option<String> {
    xml(formula, propositions, &mut |_| "")
}

/// The same of branching time; see [`crate::reference::ctl`] for `some`.
pub fn ctl_xml(formula: &Formula, propositions: &[Condition], some: u64) -> Option<String> {
    let mut next = 0;
    xml(formula, propositions, &mut |formula| {
        let number = next;
        next += u32::from(is_temporal(formula));
        match (is_temporal(formula), some >> (number % 64) & 1) {
            (false, _) => "",
            (true, 1) => "exists-path",
            (true, _) => "all-paths",
        }
    })
}

fn xml(
    formula: &Formula,
    propositions: &[Condition],
    around: &mut dyn FnMut(&Formula) -> &'static str,
) -> Option<String> {
    let around_this = around(formula);
    let mut operands = Vec::new();
    for operand in formula.operands() {
        operands.push(xml(operand, propositions, around)?);
    }
    let all = operands.concat();
    let tagged = |tag: &str| format!("<{tag}>{all}</{tag}>");
    let text = match formula {
        Formula::True => "<true/>".into(),
        Formula::False => "<false/>".into(),
        Formula::Proposition(number) => condition_xml(&propositions[*number]),
        Formula::Not(_) => tagged("negation"),
        Formula::And(..) => tagged("conjunction"),
        Formula::Or(..) => tagged("disjunction"),
        Formula::Implies(..) => tagged("implication"),
        Formula::Equivalent(..) => tagged("equivalence"),
        Formula::Next(_) => tagged("next"),
        Formula::Finally(_) => tagged("finally"),
        Formula::Globally(_) => tagged("globally"),
        Formula::Until(..) => format!(
            "<until><before>{}</before><reach>{}</reach></until>",
            operands[0], operands[1]
        ),
        Formula::WeakUntil(..) | Formula::Release(..) | Formula::StrongRelease(..) => return None,
    };
    Some(match around_this {
        "" => text,
        tag => format!("<{tag}>{text}</{tag}>"),
    })
}

/// A file of properties, each with its name and formula.
pub fn properties(all: &[(String, String)]) -> String {
    let mut text = String::from("<property-set xmlns=\"http://mcc.lip6.fr/\">\n");
    for (name, formula) in all {
        let _ = writeln!(
            text,
            "<property><id>{name}</id><description>made</description><formula>{formula}</formula>\
             </property>"
        );
    }
    text.push_str("</property-set>\n");
    text
}
