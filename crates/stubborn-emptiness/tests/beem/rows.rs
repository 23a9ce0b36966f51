//! The rows of the BEEM database that have a property process and a verdict.

use std::collections::HashMap;
use std::path::PathBuf;

use stubborn_diagnostics::SourceFile;
use stubborn_emptiness::{Claim, ClaimEdge, ClaimGuards, Property};
use stubborn_ir::Model;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::parser::{AnyName, Syntax, parse};

/// A property with a known verdict.
pub(crate) struct Row {
    pub(crate) file: String,
    pub(crate) formula: String,
    pub(crate) holds: bool,
    /// States of the system alone.
    pub(crate) states: u64,
}

pub(crate) fn corpus() -> Option<PathBuf> {
    stubborn_corpus::folder("beem")
}

/// The properties with a verdict, of instances of bearable size, the smallest first.
pub(crate) fn rows(
    corpus: &std::path::Path,
    sizes_wanted: &std::ops::RangeInclusive<u64>,
) -> Vec<Row> {
    let read = |name: &str| std::fs::read_to_string(corpus.join(name)).expect("it is there");
    let sizes = read("EXPECTED.tsv");
    let sizes: HashMap<&str, u64> = sizes
        .lines()
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?, columns.next()?.parse().ok()?))
        })
        .collect();
    let mut rows: Vec<Row> = read("EXPECTED-PROPS.tsv")
        .lines()
        .filter_map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [instance, _, _, "LTL", answer, _, formula, file] = columns[..] else {
                return None;
            };
            Some(Row {
                file: file.into(),
                formula: formula.into(),
                holds: match answer {
                    "yes" => true,
                    "no" => false,
                    _ => return None,
                },
                states: *sizes.get(instance)?,
            })
        })
        .filter(|row| sizes_wanted.contains(&row.states))
        .collect();
    rows.sort_by_key(|row| row.states);
    rows
}

fn compile(corpus: &std::path::Path, file: &str) -> stubborn_dve::Lowered {
    let text = std::fs::read_to_string(corpus.join(file)).expect("it is there");
    let (lowered, messages) = stubborn_dve::compile(&SourceFile::new(file, text));
    lowered.unwrap_or_else(|| panic!("{file}: {messages:?}"))
}

/// The model with its property process.
pub(crate) fn load(corpus: &std::path::Path, file: &str) -> (Model, Property) {
    let mut lowered = compile(corpus, file);
    let automaton = lowered
        .automaton()
        .expect("it has a property process")
        .clone();
    let claim = Claim {
        initial: automaton.initial,
        accepting: automaton.accepting,
        edges: automaton
            .edges
            .iter()
            .map(|edge| ClaimEdge {
                source: edge.source,
                target: edge.target,
                guard: edge.guard,
            })
            .collect(),
    };
    let guards = ClaimGuards::new(lowered.program_mut(), &claim);
    let property = Property::from_claim(&claim, guards);
    let model = Model::new(lowered.into_program()).expect("it is small");
    (model, property)
}

/// What the names in formulas of a family of models mean, as far as that is not computed
/// from parameters.
fn propositions(corpus: &std::path::Path, row: &Row) -> HashMap<String, String> {
    let family = row
        .file
        .trim_start_matches("ltl/")
        .split('.')
        .next()
        .unwrap_or("");
    let text =
        std::fs::read_to_string(corpus.join(format!("xml/{family}.xml"))).unwrap_or_default();
    let inner = |part: &str, tag: &str| {
        let (_, rest) = part.split_once(&format!("<{tag}>"))?;
        let (inner, _) = rest.split_once(&format!("</{tag}>"))?;
        let plain = inner
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        Some(plain.trim().to_owned())
    };
    text.split("<ap>")
        .skip(1)
        .filter_map(|part| Some((inner(part, "ap-name")?, inner(part, "ap-expression")?)))
        .collect()
}

/// The model with the formula as people wrote it; `None` if a name of it is not known.
pub(crate) fn load_formula(corpus: &std::path::Path, row: &Row) -> Option<(Model, Property)> {
    let meanings = propositions(corpus, row);
    let mut formulas = Formulas::new();
    let (formula, _) = parse(&mut formulas, &row.formula, Syntax::Spot, &mut AnyName);
    let formula = formula?;
    let mut lowered = compile(corpus, &row.file);
    let mut labels = Vec::new();
    for name in formulas.names() {
        let text = SourceFile::new(name.clone(), meanings.get(name)?.clone());
        let (expression, _) = stubborn_dve::load_expression(lowered.model(), &text);
        let condition = lowered.condition(&expression?);
        labels.push(lowered.program_mut().label(condition));
    }
    let property = Property::from_formula(formulas, formula, labels, &Default::default()).ok()?;
    let model = Model::new(lowered.into_program()).expect("it is small");
    Some((model, property))
}
