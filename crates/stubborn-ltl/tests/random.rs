//! Random formulas against the definition of LTL on ultimately periodic words.

use stubborn_diagnostics::{Diagnostic, Span};
use stubborn_ltl::formula::{Formula, Formulas};
use stubborn_ltl::lasso::Lasso;
use stubborn_ltl::normal::simplify;
use stubborn_ltl::parser::{AnyName, Atoms, Syntax, parse};
use stubborn_ltl::random::{Random, all_lassos};
use stubborn_ltl::translate::{TranslationOptions, translate_both};

/// An arena in which `p0`, `p1`, … are the propositions 0, 1, ….
fn arena(propositions: usize) -> Formulas {
    let mut formulas = Formulas::new();
    for i in 0..propositions {
        formulas.proposition(&format!("p{i}"));
    }
    formulas
}

fn spot(formulas: &Formulas, formula: Formula) -> String {
    formulas.display(formula, Syntax::Spot).to_string()
}

#[test]
fn simplification_keeps_the_meaning() {
    let mut random = Random::new(1);
    let words: Vec<_> = all_lassos(2, 4).collect();
    for round in 0..3_000 {
        let mut formulas = arena(2);
        let formula = random.formula(&mut formulas, 2, 1 + round % 9);
        let simple = simplify(&mut formulas, formula).unwrap();
        let normal = formulas.negation_normal_form(formula);
        for _ in 0..60 {
            let word = &words[random.below(words.len())];
            let expected = word.satisfies(&formulas, formula);
            let text = || {
                format!(
                    "{} simplified to {}",
                    spot(&formulas, formula),
                    spot(&formulas, simple)
                )
            };
            assert_eq!(
                word.satisfies(&formulas, simple),
                expected,
                "{} on {word:?}",
                text()
            );
            assert_eq!(
                word.satisfies(&formulas, normal),
                expected,
                "{} on {word:?}",
                text()
            );
        }
    }
}

/// Both automata on the given words, and that they share no word.
fn check(formulas: &mut Formulas, formula: Formula, options: &TranslationOptions, words: &[Lasso]) {
    // Every proposition must occur, or letters would have to be renumbered.
    let text = spot(formulas, formula);
    let (yes, no) = translate_both(formulas, formula, options).unwrap();
    assert!(
        yes.is_disjoint(&no),
        "{text}: both accept {:?}",
        yes.common_lasso(&no)
    );
    let numbers: Vec<u32> = formulas.propositions(formula).iter().map(|p| p.0).collect();
    for word in words {
        let expected = word.satisfies(formulas, formula);
        let seen = Lasso {
            stem: word.stem.iter().map(|l| project(l, &numbers)).collect(),
            cycle: word.cycle.iter().map(|l| project(l, &numbers)).collect(),
        };
        assert_eq!(yes.accepts(&seen), expected, "{text} on {word:?}");
        assert_eq!(no.accepts(&seen), !expected, "!({text}) on {word:?}");
    }
}

fn project(letter: &[u64], numbers: &[u32]) -> Vec<u64> {
    let mut result = vec![0; numbers.len().div_ceil(64)];
    for (i, p) in numbers.iter().enumerate() {
        result[i / 64] |= (letter[*p as usize / 64] >> (p % 64) & 1) << (i % 64);
    }
    result
}

const RAW: TranslationOptions = TranslationOptions {
    reduce: false,
    minimise_obligations: false,
    max_states: 20_000,
    max_edges: 400_000,
    max_work: 100_000_000,
};

#[test]
fn automata_agree_with_the_definition_one_proposition() {
    let mut random = Random::new(2);
    let words: Vec<_> = all_lassos(1, 6).collect();
    for round in 0..250 {
        let mut formulas = arena(1);
        let formula = random.formula(&mut formulas, 1, 1 + round % 10);
        check(&mut formulas, formula, &RAW, &words);
        check(
            &mut formulas,
            formula,
            &TranslationOptions::default(),
            &words,
        );
    }
}

#[test]
fn automata_agree_with_the_definition_two_propositions() {
    let mut random = Random::new(3);
    let words: Vec<_> = all_lassos(2, 6).collect();
    for round in 0..400 {
        let mut formulas = arena(2);
        let formula = random.formula(&mut formulas, 2, 1 + round % 12);
        let sample: Vec<_> = (0..150)
            .map(|_| words[random.below(words.len())].clone())
            .collect();
        check(&mut formulas, formula, &RAW, &sample);
        check(
            &mut formulas,
            formula,
            &TranslationOptions::default(),
            &sample,
        );
    }
}

#[test]
fn automata_agree_with_the_definition_on_all_short_words() {
    all_short_words(5, 12);
}

#[test]
#[ignore = "long: every short word on many formulas"]
fn automata_agree_with_the_definition_on_all_short_words_long() {
    all_short_words(6, 400);
}

fn all_short_words(seed: u64, rounds: usize) {
    let mut random = Random::new(seed);
    let words: Vec<_> = all_lassos(2, 6).collect();
    for round in 0..rounds {
        let mut formulas = arena(2);
        let formula = random.formula(&mut formulas, 2, 2 + round % 12);
        check(
            &mut formulas,
            formula,
            &TranslationOptions::default(),
            &words,
        );
    }
}

#[test]
#[ignore = "long: ten thousand random formulas"]
fn automata_agree_with_the_definition_long() {
    let mut random = Random::new(7);
    for round in 0..10_000 {
        let propositions = 1 + round % 5;
        let mut formulas = arena(propositions);
        let formula = random.formula(&mut formulas, propositions, 1 + round % 14);
        let sample: Vec<_> = (0..60).map(|_| random.lasso(propositions, 5, 5)).collect();
        check(
            &mut formulas,
            formula,
            &TranslationOptions::default(),
            &sample,
        );
    }
}

#[test]
fn large_formulas_are_simplified_in_the_end() {
    let mut random = Random::new(8);
    for round in 0..300 {
        let mut formulas = arena(4);
        let formula = random.formula(&mut formulas, 4, 20 + round % 60);
        let simple = simplify(&mut formulas, formula).unwrap();
        for _ in 0..30 {
            let word = random.lasso(4, 4, 4);
            let expected = word.satisfies(&formulas, formula);
            assert_eq!(
                word.satisfies(&formulas, simple),
                expected,
                "{}",
                spot(&formulas, formula)
            );
        }
    }
}

#[test]
fn printed_formulas_read_back() {
    let mut random = Random::new(9);
    for round in 0..2_000 {
        let mut formulas = arena(3);
        let formula = random.formula(&mut formulas, 3, 1 + round % 15);
        for syntax in [Syntax::Spot, Syntax::Spin] {
            let text = formulas.display(formula, syntax).to_string();
            let (again, messages) = parse(&mut formulas, &text, syntax, &mut AnyName);
            assert!(messages.is_empty(), "{text}: {messages:?}");
            let again = again.unwrap();
            if syntax == Syntax::Spot {
                assert_eq!(again, formula, "{text}");
            }
            let word = random.lasso(3, 4, 4);
            let expected = word.satisfies(&formulas, formula);
            assert_eq!(word.satisfies(&formulas, again), expected, "{text}");
        }
    }
}

#[test]
fn garbage_does_not_make_the_parser_panic() {
    let pieces = [
        "p", "q1", "U", "G", "F", "X", "[]", "<>", "(", ")", "\"", "\\", "&&", "|", "->", "<->",
        "!", "!=", "xor", "é", " ", "0", "1", "true", "always", "=", "[", "]", "^", "\n", "Fp",
    ];
    let mut random = Random::new(10);
    for _ in 0..20_000 {
        let text: String = (0..random.below(12))
            .map(|_| pieces[random.below(pieces.len())])
            .collect();
        for syntax in [Syntax::Spot, Syntax::Spin] {
            for expressions in [false, true] {
                let mut formulas = Formulas::new();
                let (formula, messages) =
                    parse(&mut formulas, &text, syntax, &mut Words { expressions });
                assert!(formula.is_some() || !messages.is_empty(), "{text}");
            }
        }
    }
}

/// Takes everything for a proposition.
struct Words {
    expressions: bool,
}

impl Atoms for Words {
    fn atom(&mut self, text: &str, _span: Span) -> Result<String, Diagnostic> {
        Ok(text.to_owned())
    }
    fn takes_expressions(&self) -> bool {
        self.expressions
    }
}

#[test]
fn automata_agree_with_the_definition_many_propositions() {
    let mut random = Random::new(4);
    for round in 0..150 {
        let propositions = 3 + round % 4;
        let mut formulas = arena(propositions);
        let formula = random.formula(&mut formulas, propositions, 3 + round % 10);
        let sample: Vec<_> = (0..100).map(|_| random.lasso(propositions, 5, 5)).collect();
        check(&mut formulas, formula, &RAW, &sample);
        check(
            &mut formulas,
            formula,
            &TranslationOptions::default(),
            &sample,
        );
    }
}
