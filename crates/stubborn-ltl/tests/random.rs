//! Random formulas against the definition of LTL on ultimately periodic words.

use stubborn_ltl::formula::{Formula, Formulas};
use stubborn_ltl::normal::simplify;
use stubborn_ltl::parser::Syntax;
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
            let text = || format!("{} simplified to {}", spot(&formulas, formula), spot(&formulas, simple));
            assert_eq!(word.satisfies(&formulas, simple), expected, "{} on {word:?}", text());
            assert_eq!(word.satisfies(&formulas, normal), expected, "{} on {word:?}", text());
        }
    }
}

/// Both automata on the given words, and that they share no word.
fn check(
    formulas: &mut Formulas,
    formula: Formula,
    options: &TranslationOptions,
    words: &[stubborn_ltl::lasso::Lasso],
) {
    // Every proposition must occur, or letters would have to be renumbered.
    let text = spot(formulas, formula);
    let (yes, no) = translate_both(formulas, formula, options).unwrap();
    assert!(yes.is_disjoint(&no), "{text}: both accept {:?}", yes.common_lasso(&no));
    let numbers: Vec<u32> = formulas.propositions(formula).iter().map(|p| p.0).collect();
    for word in words {
        let expected = word.satisfies(formulas, formula);
        let seen = stubborn_ltl::lasso::Lasso {
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
};

#[test]
fn automata_agree_with_the_definition_one_proposition() {
    let mut random = Random::new(2);
    let words: Vec<_> = all_lassos(1, 6).collect();
    for round in 0..250 {
        let mut formulas = arena(1);
        let formula = random.formula(&mut formulas, 1, 1 + round % 10);
        check(&mut formulas, formula, &RAW, &words);
        check(&mut formulas, formula, &TranslationOptions::default(), &words);
    }
}

#[test]
fn automata_agree_with_the_definition_two_propositions() {
    let mut random = Random::new(3);
    let words: Vec<_> = all_lassos(2, 6).collect();
    for round in 0..400 {
        let mut formulas = arena(2);
        let formula = random.formula(&mut formulas, 2, 1 + round % 12);
        let sample: Vec<_> = (0..150).map(|_| words[random.below(words.len())].clone()).collect();
        check(&mut formulas, formula, &RAW, &sample);
        check(&mut formulas, formula, &TranslationOptions::default(), &sample);
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
        check(&mut formulas, formula, &TranslationOptions::default(), &sample);
    }
}
