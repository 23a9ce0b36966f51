//! LTL: any text is a formula in each notation, or gets messages. Formulas print as themselves; in
//! SPIN's notation, which has neither `xor` nor `M`, after these were spelt out once.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::parser::{AnyName, Syntax, parse};

fuzz_target!(|text: &str| {
    for syntax in [Syntax::Spin, Syntax::Spot] {
        let mut formulas = Formulas::new();
        let (formula, messages) = parse(&mut formulas, text, syntax, &mut AnyName);
        let Some(mut formula) = formula else {
            assert!(!messages.is_empty());
            continue;
        };
        if syntax == Syntax::Spin {
            let shown = formulas.display(formula, syntax).to_string();
            let (spelt_out, _) = parse(&mut formulas, &shown, syntax, &mut AnyName);
            formula = spelt_out.expect(&shown);
        }
        let shown = formulas.display(formula, syntax).to_string();
        let (again, messages) = parse(&mut formulas, &shown, syntax, &mut AnyName);
        // Chains of operators nest less deeply than the parentheses that they are printed with.
        let is_too_deep = messages.iter().any(|message| message.code == "LTL005");
        assert!(again == Some(formula) || is_too_deep, "{shown}");
    }
});
