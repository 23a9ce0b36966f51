//! Operations on automata: complement, degeneralisation, components, products, limits.

use stubborn_ltl::automaton::{Automaton, Draft, Edge, Marks, StateId};
use stubborn_ltl::components::{Components, Strength};
use stubborn_ltl::formula::{Formula, Formulas, Node};
use stubborn_ltl::guard::Guard;
use stubborn_ltl::lasso::Lasso;
use stubborn_ltl::parser::{AnyName, Syntax, parse};
use stubborn_ltl::random::{Random, all_lassos};
use stubborn_ltl::reduce::complement::complement;
use stubborn_ltl::stutter::{is_stutter_invariant_automaton, normalise_stutter};
use stubborn_ltl::translate::{TranslationError, TranslationOptions, translate, translate_both};

fn read(formulas: &mut Formulas, text: &str) -> Formula {
    let (formula, messages) = parse(formulas, text, Syntax::Spot, &mut AnyName);
    formula.unwrap_or_else(|| panic!("{text}: {messages:?}"))
}

fn automaton(text: &str) -> Automaton {
    let mut formulas = Formulas::new();
    let formula = read(&mut formulas, text);
    translate(&formulas, formula, &TranslationOptions::default()).unwrap()
}

/// A random automaton over so many propositions, nothing special about it.
fn random_automaton(random: &mut Random, states: usize, propositions: u32, sets: u32) -> Automaton {
    let names = (0..propositions).map(|i| format!("p{i}")).collect();
    let mut draft = Draft::new(names, sets);
    while draft.edges.len() < states {
        draft.add_state();
    }
    for state in 0..states {
        for letter in 0..1u32 << propositions {
            for target in 0..states as u32 {
                if random.below(states + 2) > 1 {
                    continue;
                }
                let mut guard = Guard::TRUE;
                for p in 0..propositions {
                    let literal = draft.guards.literal(p, letter >> p & 1 == 1);
                    guard = draft.guards.and(guard, literal);
                }
                let marks = Marks(random.below(1 << sets) as u32);
                draft.edges[state].push(Edge {
                    guard,
                    target: StateId(target),
                    marks,
                });
            }
        }
    }
    draft.finish()
}

fn assert_same(left: &Automaton, right: &Automaton, words: &[Lasso], what: &str) {
    for word in words {
        assert_eq!(
            left.accepts(word),
            right.accepts(word),
            "{what} on {word:?}"
        );
    }
}

#[test]
fn reductions_keep_random_languages() {
    let mut random = Random::new(11);
    let words: Vec<Lasso> = all_lassos(1, 6).collect();
    for round in 0..400 {
        let sets = round % 4;
        let original = random_automaton(&mut random, 2 + round as usize % 5, 1, sets);
        let mut reduced = original.draft();
        reduced.reduce();
        let reduced = reduced.finish();
        assert!(reduced.state_count() <= original.state_count());
        assert_same(&original, &reduced, &words, "reduction");
        let simple = original.degeneralise();
        assert!(simple.acceptance_sets() <= 1);
        assert_same(&original, &simple, &words, "degeneralisation");
        let by_states = original.state_based();
        assert!(by_states.is_state_based() && by_states.acceptance_sets() <= 1);
        assert_same(&original, &by_states, &words, "acceptance on states");
    }
}

#[test]
fn complements_of_random_automata() {
    let mut random = Random::new(12);
    let words: Vec<Lasso> = all_lassos(1, 6).collect();
    let mut deterministic = 0;
    for round in 0..150 {
        let original = random_automaton(&mut random, 2 + round % 3, 1, round as u32 % 3);
        deterministic += usize::from(original.is_deterministic());
        let Some(opposite) = complement(&original, 50_000) else {
            continue;
        };
        assert!(original.is_disjoint(&opposite));
        for word in &words {
            assert_ne!(original.accepts(word), opposite.accepts(word), "{word:?}");
        }
    }
    assert!(deterministic > 0, "both constructions are tested");
}

#[test]
fn complement_of_a_formula_is_its_negation() {
    let mut random = Random::new(13);
    for round in 0..120 {
        let mut formulas = Formulas::new();
        let formula = random.formula(&mut formulas, 2, 1 + round % 7);
        let (yes, no) = translate_both(&formulas, formula, &TranslationOptions::default()).unwrap();
        let (Some(not_yes), Some(not_no)) = (complement(&yes, 20_000), complement(&no, 20_000))
        else {
            continue;
        };
        assert!(not_yes.is_disjoint(&yes));
        // Jointly universal: nothing is outside both.
        assert!(not_yes.is_disjoint(&not_no));
    }
}

#[test]
fn normal_form_accepts_exactly_the_stutter_closure() {
    let mut random = Random::new(14);
    let words: Vec<Lasso> = all_lassos(1, 4).collect();
    for round in 0..150 {
        let original = random_automaton(&mut random, 2 + round % 3, 1, round as u32 % 3);
        let normal = normalise_stutter(&original).unwrap();
        assert!(
            normal
                .automaton
                .is_stutter_normal_from(&normal.initial_states)
        );
        for word in words.iter().filter(|word| original.accepts(word)) {
            assert!(normal.automaton.accepts(word));
            assert!(normal.automaton.accepts(&stuttered(word, &mut random)));
            assert!(normal.automaton.accepts(&without_repetitions(word)));
        }
        // Stutter-equivalent words are treated alike.
        for word in &words {
            let expected = normal.automaton.accepts(word);
            assert_eq!(
                normal.automaton.accepts(&without_repetitions(word)),
                expected,
                "{word:?}"
            );
            let closed = words.iter().any(|other| {
                without_repetitions(other) == without_repetitions(word) && original.accepts(other)
            });
            assert!(!closed || expected);
        }
        // Nothing else: a word of the closure has an equivalent word in the language.
        if let Some(opposite) = complement(&original, 20_000) {
            let invariant = is_stutter_invariant_automaton(&original).unwrap();
            assert_eq!(normal.automaton.is_disjoint(&opposite), invariant);
        }
    }
}

fn stuttered(word: &Lasso, random: &mut Random) -> Lasso {
    let mut repeat = |letters: &[Vec<u64>]| {
        letters
            .iter()
            .flat_map(|l| vec![l.clone(); 1 + random.below(3)])
            .collect()
    };
    Lasso {
        stem: repeat(&word.stem),
        cycle: repeat(&word.cycle),
    }
}

/// The stutter-equivalent word without any repetition except a last letter for ever, with
/// the shortest stem and cycle.
fn without_repetitions(word: &Lasso) -> Lasso {
    let mut stem: Vec<Vec<u64>> = word.stem.clone();
    stem.dedup();
    let mut cycle = word.cycle.clone();
    cycle.dedup();
    while cycle.len() > 1 && cycle.first() == cycle.last() {
        cycle.pop();
    }
    if cycle.len() > 1 {
        // Seen from the first entry the cycle may begin with the letter the stem ends with.
        while stem.last().is_some_and(|last| *last == cycle[0]) {
            stem.pop();
            cycle.rotate_left(1);
            stem.push(cycle[cycle.len() - 1].clone());
        }
        while stem
            .last()
            .is_some_and(|last| *last == cycle[cycle.len() - 1])
        {
            stem.pop();
            cycle.rotate_right(1);
        }
    } else {
        while stem.last().is_some_and(|last| *last == cycle[0]) {
            stem.pop();
        }
    }
    let period = (1..=cycle.len())
        .find(|p| {
            cycle.len().is_multiple_of(*p) && (0..cycle.len()).all(|i| cycle[i] == cycle[i % p])
        })
        .unwrap_or(cycle.len());
    cycle.truncate(period);
    Lasso { stem, cycle }
}

#[test]
fn strengths_of_components() {
    let kinds = |text: &str| {
        let automaton = automaton(text);
        let mut kinds = Components::of(&automaton).strengths(&automaton);
        kinds.sort_by_key(|kind| format!("{kind:?}"));
        kinds
    };
    assert_eq!(kinds("Fp"), [Strength::Rejecting, Strength::Terminal]);
    assert_eq!(kinds("Gp"), [Strength::Weak]);
    assert_eq!(kinds("GFp"), [Strength::Strong]);
    assert_eq!(kinds("p & XGq"), [Strength::Transient, Strength::Weak]);
    assert_eq!(kinds("1"), [Strength::Terminal]);
}

#[test]
fn no_acceptance_sets_means_all_runs() {
    let safety = automaton("G(p -> Xq)");
    assert_eq!(safety.acceptance_sets(), 0);
    assert!(!safety.is_empty_language());
    let word = |letters: &[u64]| Lasso {
        stem: letters.iter().map(|l| vec![*l]).collect(),
        cycle: vec![vec![0]],
    };
    assert!(safety.accepts(&word(&[1, 2])));
    assert!(!safety.accepts(&word(&[1, 1])));
    assert!(automaton("0").is_empty_language());
    assert!(automaton("0").accepted_lasso().is_none());
    assert!(automaton("p & !p").is_empty_language());
    assert!(!automaton("1").is_empty_language());
}

#[test]
fn accepted_words_are_accepted() {
    let mut random = Random::new(15);
    for round in 0..300 {
        let mut formulas = Formulas::new();
        let formula = random.formula(&mut formulas, 3, 1 + round % 9);
        let automaton = translate(&formulas, formula, &TranslationOptions::default()).unwrap();
        match automaton.accepted_lasso() {
            Some(word) => assert!(automaton.accepts(&word)),
            None => assert!(automaton.is_empty_language()),
        }
    }
}

#[test]
fn intersections() {
    let (left, right) = (automaton("GFp & Fr"), automaton("G(p -> Xq)"));
    let both = left.intersection(&right, 100).unwrap();
    let expected = automaton("GFp & Fr & G(p -> Xq)");
    assert!(both.is_disjoint(&automaton("!(GFp & Fr & G(p -> Xq))")));
    assert!(!both.is_disjoint(&expected));
    assert!(left.intersection(&right, 1).is_none());
}

#[test]
fn many_propositions() {
    let mut formulas = Formulas::new();
    let parts: Vec<String> = (0..150).map(|i| format!("p{i}")).collect();
    let text = format!(
        "G(({}) -> F({}))",
        parts[..75].join(" & "),
        parts[75..].join(" | ")
    );
    let formula = read(&mut formulas, &text);
    let automaton = translate(&formulas, formula, &TranslationOptions::default()).unwrap();
    assert_eq!(automaton.state_count(), 2);
    let all_first = vec![u64::MAX, 0x7ff, 0];
    let late = vec![0, 0, 1 << 10];
    let word = |second: &[u64]| Lasso {
        stem: vec![],
        cycle: vec![all_first.clone(), second.to_vec()],
    };
    assert!(automaton.accepts(&word(&late)));
    assert!(!automaton.accepts(&word(&[0, 0, 0])));
}

#[test]
fn more_eventualities_than_acceptance_sets() {
    // Forty of them, but no run waits for two at once.
    let mut text = "p".to_owned();
    for i in 0..40 {
        text = format!("q{i} U X({text})");
    }
    let mut formulas = Formulas::new();
    let formula = read(&mut formulas, &text);
    let automaton = translate(&formulas, formula, &TranslationOptions::default()).unwrap();
    assert!(automaton.acceptance_sets() <= 1);
    let none = Lasso {
        stem: vec![],
        cycle: vec![vec![0]],
    };
    assert!(!automaton.accepts(&none));
    assert!(
        automaton
            .accepted_lasso()
            .is_some_and(|word| word.len() > 40)
    );
}

#[test]
fn long_conjunctions() {
    let parts: Vec<String> = (0..3_000).map(|i| format!("X p{i}")).collect();
    let mut formulas = Formulas::new();
    let formula = read(&mut formulas, &parts.join(" & "));
    let automaton = translate(&formulas, formula, &TranslationOptions::default()).unwrap();
    assert_eq!(automaton.state_count(), 3);
}

#[test]
fn hopeless_formulas_are_refused() {
    // 2 to the power of 40 combinations of marks.
    let parts: Vec<String> = (0..40).map(|i| format!("GFp{i}")).collect();
    let mut formulas = Formulas::new();
    let formula = read(&mut formulas, &parts.join(" & "));
    let options = TranslationOptions::default();
    assert_eq!(
        translate(&formulas, formula, &options).unwrap_err(),
        TranslationError::TooLarge
    );

    let mut deep = formulas.atom("p0");
    for _ in 0..5_000 {
        deep = formulas.make(Node::Next(deep));
    }
    assert_eq!(
        translate(&formulas, deep, &options).unwrap_err(),
        TranslationError::TooDeep
    );
    // Printing and evaluating have no such limit.
    assert_eq!(
        formulas.display(deep, Syntax::Spot).to_string().len(),
        10_002
    );
    let word = Lasso {
        stem: vec![],
        cycle: vec![vec![0]],
    };
    assert!(!word.satisfies(&formulas, deep));
}

#[test]
fn deep_formulas_do_not_overflow_the_stack() {
    let mut formulas = Formulas::new();
    let (p, q) = (formulas.atom("p"), formulas.atom("q"));
    let mut formula = p;
    for i in 0..590 {
        formula = match i % 4 {
            0 => formulas.make(Node::Until(q, formula)),
            1 => formulas.make(Node::Release(p, formula)),
            2 => formulas.make(Node::Next(formula)),
            _ => formulas.make(Node::Or(p, formula)),
        };
    }
    let options = TranslationOptions {
        max_work: 5_000_000,
        ..TranslationOptions::default()
    };
    // Whatever the answer, it comes back.
    let _ = translate(&formulas, formula, &options);
}

/// The automaton of nested untils and of their negation has a state for each, and is not made of all sets of them.
#[test]
fn nested_untils_are_a_chain() {
    let mut formulas = Formulas::new();
    let mut formula = formulas.atom("p0");
    for number in 1..=16 {
        let next = formulas.atom(&format!("p{number}"));
        formula = formulas.make(Node::Until(next, formula));
    }
    let options = TranslationOptions {
        max_work: 2_000_000,
        ..TranslationOptions::default()
    };
    let negation = formulas.not(formula);
    for formula in [formula, negation] {
        let automaton = translate(&formulas, formula, &options).expect("it is small");
        assert!(automaton.state_count() <= 18, "{}", automaton.state_count());
    }
}
