//! DVE: guarded commands, with the user's properties added to the program.

use stubborn_diagnostics::{Diagnostic, SourceFile, Span, has_errors};
use stubborn_dve::Lowered;
use stubborn_emptiness::{Claim, ClaimEdge};
use stubborn_ir::UnaryOp;
use stubborn_ir::program::ProgramProperty;
use stubborn_system::{LabelId, PropertyKind};

use crate::load::{BuildError, LoadOptions, Parts, TRANSLATING};
use crate::temporal::evaluation::{Evaluations, Partial};
use crate::temporal::read::{drafts, first_error};
use crate::temporal::{Origin, Temporal};

pub(crate) fn build(source: &SourceFile, options: &LoadOptions) -> Result<Parts, BuildError> {
    let (lowered, diagnostics) = stubborn_dve::compile_within(source, &options.budget);
    let Some(mut lowered) = lowered else {
        return Err(BuildError::Model(diagnostics));
    };
    let invariants = options.invariants.iter();
    let invariants = invariants.map(|text| ("--invariant", text, PropertyKind::Invariant));
    let reachable = options.reachable.iter();
    let reachable = reachable.map(|text| ("--reach", text, PropertyKind::Reachable));
    for (flag, text, kind) in invariants.chain(reachable) {
        let expression = SourceFile::new(flag, text.as_str());
        let (parsed, problems) = stubborn_dve::load_expression(lowered.model(), &expression);
        let Some(parsed) = parsed else {
            debug_assert!(has_errors(&problems));
            return Err(BuildError::Expression(Box::new(expression), problems));
        };
        let holds = lowered.condition(&parsed);
        let looked_for = match kind {
            PropertyKind::Reachable => holds,
            _ => stubborn_ir::Expr::Unary(UnaryOp::Not, Box::new(holds)),
        };
        let program = lowered.program_mut();
        let violated_by = program.label(looked_for);
        program.properties.push(ProgramProperty {
            name: text.clone(),
            kind,
            violated_by,
            span: None,
        });
    }
    let mut temporal = Vec::new();
    if !options.ignore_temporal {
        options.budget.begin(TRANSLATING);
        temporal.extend(property_process(&mut lowered, &options.budget));
        for draft in drafts(&options.temporal)? {
            let mut property = draft.finish(|text| proposition(&mut lowered, text))?;
            let program = lowered.program_mut();
            let partial = Partial::all(&property, program, &options.budget);
            Evaluations::watch(&mut property, partial, program);
            temporal.push(property);
        }
    }
    let mut parts = Parts::of_program(lowered.into_program(), diagnostics, options)?;
    parts.temporal = temporal;
    Ok(parts)
}

/// The automaton that the model has as a process.
fn property_process(lowered: &mut Lowered, budget: &stubborn_system::Budget) -> Option<Temporal> {
    let automaton = lowered.automaton()?.clone();
    let edges = automaton.edges.iter().map(|edge| ClaimEdge {
        source: edge.source,
        target: edge.target,
        guard: edge.guard,
    });
    let claim = Claim {
        initial: automaton.initial,
        accepting: automaton.accepting,
        edges: edges.collect(),
    };
    let (evaluations, property) = Evaluations::of_claim(claim, lowered.program_mut(), budget);
    Some(Temporal {
        title: format!("no run of the process {}", automaton.name),
        name: automaton.name,
        span: None,
        origin: Origin::Model,
        remarks: String::new(),
        evaluations,
        property: Ok(property),
    })
}

/// An expression as a label.
fn proposition(lowered: &mut Lowered, text: &str) -> Result<LabelId, Diagnostic> {
    let source = SourceFile::new("proposition", text);
    let (parsed, problems) = stubborn_dve::load_expression(lowered.model(), &source);
    let parsed = parsed.ok_or_else(|| first_error(problems, Span::new(0, text.len())))?;
    let condition = lowered.condition(&parsed);
    Ok(lowered.program_mut().label(condition))
}
