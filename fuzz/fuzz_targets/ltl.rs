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
        let (again, _) = parse(&mut formulas, &shown, syntax, &mut AnyName);
        assert_eq!(again, Some(formula), "{shown}");
    }
});
