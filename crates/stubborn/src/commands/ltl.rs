//! `stubborn ltl`: the automaton of a formula.

use stubborn::diagnostics::{Diagnostic, SourceFile, Span, render};
use stubborn::ltl::formula::Formulas;
use stubborn::ltl::hoa::{write_dot, write_hoa};
use stubborn::ltl::parser::{AnyName, Syntax, parse};
use stubborn::ltl::stutter::are_stutter_invariant;
use stubborn::ltl::translate::{TranslationOptions, translate_both};

use crate::exit::{Failure, Status};
use crate::options::{AutomatonFormat, LtlArgs};
use crate::terminal::{print, stderr_has_colour};

pub(crate) fn run(args: &LtlArgs) -> Result<Status, Failure> {
    let source = SourceFile::new("formula", args.formula.as_str());
    let failed =
        |problems: &[Diagnostic]| Failure::shown(render(&source, problems, stderr_has_colour()));
    let syntax: Syntax = args.syntax.into();
    let mut formulas = Formulas::new();
    let (formula, problems) = parse(&mut formulas, source.text(), syntax, &mut AnyName);
    let Some(formula) = formula else {
        return Err(failed(&problems));
    };
    let whole = Span::new(0, source.text().len());
    let (positive, negative) = translate_both(&formulas, formula, &TranslationOptions::default())
        .map_err(|error| failed(&[error.diagnostic(whole)]))?;
    let invariant = if formulas.is_next_free(formula) {
        Some(true)
    } else {
        are_stutter_invariant(&positive, &negative)
    };
    let automaton = if args.negate { &negative } else { &positive };
    let mut name = formulas.display(formula, Syntax::Spot).to_string();
    if args.negate {
        name = format!("!({name})");
    }
    let facts = format!(
        "{} states, {} edges, {} acceptance sets, stutter-invariant: {}",
        automaton.state_count(),
        automaton.edge_count(),
        automaton.acceptance_sets(),
        match invariant {
            Some(true) => "yes",
            Some(false) => "no",
            None => "too expensive to find out",
        }
    );
    print(&match args.format {
        // Comments may stand before the header.
        AutomatonFormat::Hoa => format!("/* {facts} */\n{}", write_hoa(automaton, Some(&name))),
        AutomatonFormat::Dot => format!("// {facts}\n{}", write_dot(automaton, Some(&name))),
    });
    Ok(Status::Fine)
}
