//! Formulas over expressions of a model, from text to verdict.

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};
use stubborn_emptiness::{Check, CheckVerdict, Property};
use stubborn_ir::Model;
use stubborn_ltl::parser::Syntax;

/// Two processes take turns in a room.
const TURNS: &str = "
    byte turn;
    process P { state out, in; init out;
        trans out -> in { guard turn == 0; }, in -> out { effect turn = 1; }; }
    process Q { state out, in; init out;
        trans out -> in { guard turn == 1; }, in -> out { effect turn = 0; }; }
    system async;";

fn check(formula: &str, syntax: Syntax) -> Result<(CheckVerdict, Option<usize>), Vec<String>> {
    let (lowered, _) = stubborn_dve::compile(&SourceFile::new("turns.dve", TURNS));
    let mut lowered = lowered.expect("the model is correct");
    let mut resolve = |text: &str, span: Span| {
        let source = SourceFile::new("formula", text);
        let (expression, messages) = stubborn_dve::load_expression(lowered.model(), &source);
        let Some(expression) = expression else {
            let first = messages.into_iter().next();
            return Err(first.unwrap_or_else(|| Diagnostic::error("TEST", "no reason", span)));
        };
        let condition = lowered.condition(&expression);
        Ok(lowered.program_mut().label(condition))
    };
    let (property, messages) = Property::parse(formula, syntax, &mut resolve, &Default::default());
    let codes = messages.iter().map(|message| message.code.to_string());
    let property = property.ok_or_else(|| codes.collect::<Vec<_>>())?;
    let model = Model::new(lowered.into_program()).expect("it is small");
    let result = Check::new(&model, &property)
        .run()
        .expect("it can be checked");
    let cycle = result.counterexample.map(|c| c.trace.cycle().len());
    Ok((result.verdict, cycle))
}

#[test]
fn formulas_are_checked_from_text_to_verdict() {
    let holds = Ok((CheckVerdict::Holds, None));
    assert_eq!(check("[] !(P.in && Q.in)", Syntax::Spin), holds);
    assert_eq!(check("[] <> (P.in)", Syntax::Spin), holds);
    assert_eq!(check("G(\"P.in\" -> F \"turn == 1\")", Syntax::Spot), holds);
    // The shortest way round visits both.
    let violated = Ok((CheckVerdict::Violated, Some(4)));
    assert_eq!(check("<> [] (turn == 1)", Syntax::Spin), violated);
}

#[test]
fn errors_in_propositions_are_reported() {
    let codes = check("[] <> (P.inside)", Syntax::Spin).expect_err("no such state");
    assert_eq!(codes, ["DVE034"]);
}
