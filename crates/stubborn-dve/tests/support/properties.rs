//! The properties of the BEEM benchmark as DVE expressions.
//!
//! A family of the benchmark is described by an XML file: atomic propositions (some of them
//! templates for the macro processor m4, over the parameters of an instance), properties
//! over them, and the parameters of each instance. [`Family::goal`] turns a reachability
//! property of an instance into one expression over the names of the instance's model. The
//! templates use only what is understood here: a parameter in place of a number, `` `' ``
//! between two words that belong together, `decr(N)`, and `myloop(i, from, to, body, glue)`.
//!
//! This file stands alone, so that tests of other crates can include it.

use quick_xml::Reader;
use quick_xml::events::Event;
use std::collections::BTreeMap;
use std::path::Path;

/// The description of a family of models.
#[derive(Debug, Default)]
pub(crate) struct Family {
    /// Name to text and whether that is a template.
    propositions: BTreeMap<String, (String, bool)>,
    /// Property to formula.
    formulas: BTreeMap<String, String>,
    /// Instance to parameters and their values.
    parameters: BTreeMap<String, BTreeMap<String, String>>,
}

impl Family {
    /// Reads a description.
    pub(crate) fn read(path: &Path) -> Family {
        let text = std::fs::read_to_string(path).expect("the description is readable");
        let mut reader = Reader::from_str(&text);
        let mut family = Family::default();
        let (mut name, mut template, mut id, mut content) =
            (String::new(), false, String::new(), String::new());
        loop {
            match reader.read_event().expect("the description is well-formed") {
                Event::Eof => return family,
                Event::Start(start) => {
                    content.clear();
                    let attribute = |key: &str| {
                        let value = start.try_get_attribute(key).ok()??.value;
                        Some(value.into_owned())
                    };
                    match start.name().as_ref() {
                        "ap" => template = attribute("parametrized").is_some_and(|v| v == "yes"),
                        "property" | "instance" => id = attribute("id").unwrap_or_default(),
                        _ => {}
                    }
                }
                Event::Text(text) => content.push_str(&text),
                Event::GeneralRef(reference) => content.push_str(match &*reference {
                    "amp" => "&",
                    "lt" => "<",
                    "gt" => ">",
                    "quot" => "\"",
                    "apos" => "'",
                    other => panic!("unknown entity {}", other),
                }),
                Event::End(end) => match end.name().as_ref() {
                    "ap-name" => name = content.trim().to_owned(),
                    "ap-expression" => {
                        let text = (content.trim().to_owned(), template);
                        family.propositions.insert(name.clone(), text);
                    }
                    "formula" => {
                        family
                            .formulas
                            .insert(id.clone(), content.trim().to_owned());
                    }
                    "parameters" => {
                        let pairs = content.split(',').filter_map(|pair| pair.split_once('='));
                        let pairs = pairs.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
                        family.parameters.insert(id.clone(), pairs.collect());
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    /// The formula of a property, with an expression in place of each proposition.
    ///
    /// Expressions are put in without parentheses, because the answers in the database were
    /// computed that way: the first property of brp2 negates `(r & 4) == 4`, which without
    /// parentheses is `(not (r & 4)) == 4` and never holds, hence the answer there. (With
    /// them it can be reached.) No other property depends on it.
    pub(crate) fn goal(&self, instance: &str, property: &str) -> Option<String> {
        let propositions = self.propositions(instance);
        let formula = self.formulas.get(property)?;
        Some(replace_words(formula, |word| {
            propositions.get(word).cloned()
        }))
    }

    /// The propositions of an instance, by name, as DVE expressions.
    pub(crate) fn propositions(&self, instance: &str) -> BTreeMap<String, String> {
        let none = BTreeMap::new();
        let parameters = self.parameters.get(instance).unwrap_or(&none);
        let expand = |(name, (text, template)): (&String, &(String, bool))| {
            let text = if *template {
                expand(text, parameters)
            } else {
                text.clone()
            };
            (name.clone(), text)
        };
        self.propositions.iter().map(expand).collect()
    }
}

/// Splits `family.number` into its two parts.
pub(crate) fn family_and_number(instance: &str) -> (&str, &str) {
    instance
        .rsplit_once('.')
        .expect("instances are called family.number")
}

/// Replaces whole words (letters, digits, `_`).
fn replace_words(text: &str, replacement: impl Fn(&str) -> Option<String>) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end > 0 {
            let word = &rest[..end];
            out.push_str(&replacement(word).unwrap_or_else(|| word.to_owned()));
        }
        let other = rest[end..].find(is_word).map_or(rest.len(), |at| end + at);
        out.push_str(&rest[end..other]);
        rest = &rest[other..];
    }
    out
}

/// Expands a template.
fn expand(text: &str, parameters: &BTreeMap<String, String>) -> String {
    let mut text = replace_words(text, |word| parameters.get(word).cloned());
    while let Some(start) = text.find("myloop(") {
        let (arguments, length) = arguments(&text[start + "myloop(".len()..]);
        let [variable, from, to, body, glue] = &arguments[..] else {
            panic!("myloop needs five arguments: {text}");
        };
        let rounds = (number(from)..=number(to))
            .map(|value| replace_words(body, |word| (word == variable).then(|| value.to_string())));
        let expanded = rounds.collect::<Vec<_>>().join(glue);
        text.replace_range(start..start + "myloop(".len() + length, &expanded);
    }
    text.replace("`'", "")
}

/// The arguments up to the closing parenthesis, without their quotes, and the length of all that.
fn arguments(text: &str) -> (Vec<String>, usize) {
    let (mut arguments, mut current) = (Vec::new(), String::new());
    let (mut quotes, mut parentheses) = (0, 0);
    for (at, c) in text.char_indices() {
        let outer = quotes == 0 && parentheses == 0;
        match c {
            '`' => quotes += 1,
            '\'' => quotes -= 1,
            '(' => parentheses += 1,
            ')' if outer => {
                arguments.push(unquoted(&current));
                return (arguments, at + 1);
            }
            ')' => parentheses -= 1,
            ',' if outer => {
                arguments.push(unquoted(&current));
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    panic!("no closing parenthesis: {text}");
}

/// An argument without blanks around it and without its outermost quotes.
fn unquoted(argument: &str) -> String {
    let argument = argument.trim();
    let inner = argument
        .strip_prefix('`')
        .and_then(|a| a.strip_suffix('\''));
    inner.unwrap_or(argument).to_owned()
}

/// `4` or `decr(4)`.
fn number(text: &str) -> i32 {
    match text.strip_prefix("decr(").and_then(|t| t.strip_suffix(')')) {
        Some(inner) => number(inner) - 1,
        None => text.trim().parse().expect("a number"),
    }
}

#[test]
fn templates_are_expanded() {
    let parameters = [
        ("N".to_owned(), "3".to_owned()),
        ("X".to_owned(), "4".to_owned()),
    ]
    .into();
    assert_eq!(
        expand("myloop(i,0,decr(N), `P_`'i.CS', ` + ') > 1", &parameters),
        "P_0.CS + P_1.CS + P_2.CS > 1"
    );
    assert_eq!(expand("Bottle_1.q`'X", &parameters), "Bottle_1.q4");
    assert_eq!(expand("NX == N", &parameters), "NX == 3");
}
