//! LTL: any text is a formula in each notation, or gets messages. Formulas print as themselves; in
//! SPIN's notation, which has neither `xor` nor `M`, after these were spelt out once. Parentheses that
//! printing adds may nest too deeply to be read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_ltl::formula::{Formula, Formulas};
use stubborn_ltl::parser::{AnyName, Syntax, parse};

/// The formula that a formula's text is; none if it nests too deeply.
fn again(formulas: &mut Formulas, formula: Formula, syntax: Syntax) -> Option<Formula> {
    let shown = formulas.display(formula, syntax).to_string();
    let (again, messages) = parse(formulas, &shown, syntax, &mut AnyName);
    let too_deep = messages.iter().any(|message| message.code == "LTL005");
    assert!(again.is_some() || too_deep, "{shown}");
    again
}

fuzz_target!(|text: &str| {
    for syntax in [Syntax::Spin, Syntax::Spot] {
        let mut formulas = Formulas::new();
        let (formula, messages) = parse(&mut formulas, text, syntax, &mut AnyName);
        let Some(mut formula) = formula else {
            assert!(!messages.is_empty());
            continue;
        };
        if syntax == Syntax::Spin {
            let Some(spelt_out) = again(&mut formulas, formula, syntax) else {
                continue;
            };
            formula = spelt_out;
        }
        if let Some(again) = again(&mut formulas, formula, syntax) {
            assert_eq!(again, formula, "{}", formulas.display(formula, syntax));
        }
    }
});
