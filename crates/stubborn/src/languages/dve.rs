//! DVE: guarded commands, with the user's invariants added to the program.

use stubborn_diagnostics::{SourceFile, has_errors};
use stubborn_ir::UnaryOp;
use stubborn_ir::program::ProgramProperty;
use stubborn_system::PropertyKind;

use crate::load::{BuildError, LoadOptions, Parts};

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    let (lowered, diagnostics) = stubborn_dve::compile(source);
    let Some(mut lowered) = lowered else {
        return Err(BuildError::Model(diagnostics));
    };
    for text in &options.invariants {
        let expression = SourceFile::new("--invariant", text.as_str());
        let (parsed, problems) = stubborn_dve::load_expression(lowered.model(), &expression);
        let Some(parsed) = parsed else {
            debug_assert!(has_errors(&problems));
            return Err(BuildError::Expression(Box::new(expression), problems));
        };
        let holds = lowered.condition(&parsed);
        let violated = stubborn_ir::Expr::Unary(UnaryOp::Not, Box::new(holds));
        let program = lowered.program_mut();
        let violated_by = program.label(violated);
        program.properties.push(ProgramProperty {
            name: text.clone(),
            kind: PropertyKind::Invariant,
            violated_by,
            span: None,
        });
    }
    let automaton = lowered.automaton().map(|automaton| automaton.name.clone());
    let mut parts = Parts::of_program(lowered.into_program(), diagnostics, options.engine)?;
    parts
        .unchecked
        .extend(automaton.map(|name| format!("property process {name}")));
    Ok(parts)
}
