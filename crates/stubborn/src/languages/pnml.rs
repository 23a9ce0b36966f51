//! Petri nets: read, unfolded where coloured, and run by tables.

use std::sync::Arc;

use stubborn_diagnostics::SourceFile;
use stubborn_pnml::{NetSystem, parse_state_formula};

use crate::load::{BuildError, LoadOptions, Parts};

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    let (model, mut diagnostics) = stubborn_pnml::load(source);
    let Some(model) = model else {
        return Err(BuildError::Model(diagnostics));
    };
    let mut formulas = Vec::new();
    for text in &options.invariants {
        let expression = SourceFile::new("--invariant", text.as_str());
        match parse_state_formula(&expression, &model) {
            Ok(formula) => formulas.push((text, expression, formula)),
            Err(problem) => {
                return Err(BuildError::Expression(Box::new(expression), vec![problem]));
            }
        }
    }
    let mut system = match NetSystem::new(model.net) {
        Ok(system) => system,
        Err(problem) => {
            diagnostics.push(problem);
            return Err(BuildError::Model(diagnostics));
        }
    };
    for (text, expression, formula) in formulas {
        if system.add_invariant(text.as_str(), formula, None).is_none() {
            let message = "an invariant is about one state and has no temporal operators";
            let span = stubborn_diagnostics::Span::new(0, text.len());
            let problem = stubborn_diagnostics::Diagnostic::error("PNM900", message, span);
            return Err(BuildError::Expression(Box::new(expression), vec![problem]));
        }
    }
    // The net's executor is driven by tables; there is nothing to compile, and no second
    // execution to compare with.
    let system = Arc::new(system);
    Ok(Parts {
        warnings: diagnostics,
        reference: Arc::clone(&system) as Arc<dyn stubborn_system::System>,
        system,
        asserting: Vec::new(),
        unchecked: Vec::new(),
        text: None,
        promela: None,
        growth: None,
    })
}
