//! LTL: any text is a formula in each notation, or gets messages; formulas print as themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::parser::{AnyName, Syntax, parse};

fuzz_target!(|text: &str| {
    for syntax in [Syntax::Spin, Syntax::Spot] {
        let mut formulas = Formulas::new();
        let (formula, messages) = parse(&mut formulas, text, syntax, &mut AnyName);
        let Some(formula) = formula else {
            assert!(!messages.is_empty());
            continue;
        };
        let shown = formulas.display(formula, syntax).to_string();
        let (again, messages) = parse(&mut formulas, &shown, syntax, &mut AnyName);
        // Chains of operators nest less deeply than the parentheses that they are printed with.
        let is_too_deep = messages.iter().any(|message| message.code == "LTL005");
        assert!(again == Some(formula) || is_too_deep, "{shown}");
    }
});
