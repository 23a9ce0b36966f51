//! Texts from outside: whatever flag, formula, automaton or property they come in, each is read as one
//! expression to its end, and means the same.

use stubborn::{Question, QuestionKind, check, questions};

use super::*;

const DVE: &str = "byte x = 0; byte y = 0;
    process P { state a, b; init a; trans a -> b { effect x = 1; }, b -> a { effect x = 0, y = 2; }; }
    system async;";
const PROMELA: &str = "#define HIGH (x + y > 2)
    #define OPEN (
    byte x, y; active proctype P() { do :: x = 1; x = 0; y = 2 od }";
const NET: &str = r#"<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
    <place id="x"><initialMarking><text>2</text></initialMarking></place><place id="y"/><transition id="t"/>
    <arc id="a" source="x" target="t"/><arc id="b" source="t" target="y"/></page></net></pnml>"#;

/// Pieces of expressions of all languages, good and bad ones.
const PIECES: [&str; 34] = [
    "x", "y", "0", "1", "(", ")", "(", ")", " && ", " || ", " and ", " or ", "!", "not ", " == ",
    " < ", " > ", " + ", " - ", "x == 1", "y < 2", "(x > 0)", "true", "false", "HIGH", "OPEN", ";",
    "}", "//", "/*", "*/", "\n", "#", "->",
];

/// The verdict about the one property that a text is, `None` if it is refused.
fn verdict(language: Language, text: &str, options: LoadOptions) -> Option<Verdict> {
    let options = LoadOptions {
        engine: Engine::Interpreted,
        ..options
    };
    let model = load_text("m", text, language, &options).ok()?;
    let plain = CheckOptions {
        reduction: ReductionOptions::none(),
        ..CheckOptions::default()
    };
    if !model.temporal().is_empty() {
        return Some(answer(&model, &plain).verdict);
    }
    let added = |q: &Question| matches!(q.kind, QuestionKind::Invariant | QuestionKind::Reach);
    let mut asked = questions(&model);
    asked.retain(added);
    assert_eq!(asked.len(), 1);
    Some(check(&model, &asked, &plain).expect("it runs").verdict())
}

/// Whether no parenthesis closes what the text has not opened, and none is left open. What is behind `//`
/// is a comment.
fn is_balanced(text: &str) -> bool {
    let mut open = 0i32;
    for line in text.lines() {
        for sign in line.split("//").next().unwrap_or("").chars() {
            open += i32::from(sign == '(') - i32::from(sign == ')');
            if open < 0 {
                return false;
            }
        }
    }
    open == 0
}

/// The answers to a text as an invariant, a goal, and in formulas and automata.
fn assert_same_everywhere(language: Language, model: &str, text: &str) -> bool {
    let what = format!("{language:?}: {text:?}");
    let ask = |options| verdict(language, model, options);
    let one = |text: &str| vec![text.to_owned()];
    let invariant = ask(LoadOptions {
        invariants: one(text),
        ..LoadOptions::default()
    });
    let (left, right) = match language {
        Language::Dve => ("not (", "\n)"),
        _ => ("!(", "\n)"),
    };
    let goal = ask(LoadOptions {
        reachable: one(&format!("{left}{text}{right}")),
        ..LoadOptions::default()
    });
    let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let formula = |text| {
        ask(LoadOptions {
            temporal: vec![text],
            ..LoadOptions::default()
        })
    };
    let runs = formula(TemporalText::Formula {
        text: format!("[] {quoted}"),
        syntax: Syntax::Spin,
    });
    let tree = formula(TemporalText::Branching {
        text: format!("AG {quoted}"),
    });
    let automaton = formula(TemporalText::Automaton {
        name: "a.hoa".into(),
        text: format!(
            "HOA: v1 States: 2 Start: 0 AP: 1 {quoted} Acceptance: 1 Inf(0)
             --BODY-- State: 0 [0] 0 [!0] 1 State: 1 {{0}} [t] 1 --END--"
        ),
    });
    let Some(invariant) = invariant else {
        assert_eq!((runs, tree, automaton), (None, None, None), "{what}");
        return false;
    };
    assert!(
        is_balanced(text) || text.contains("OPEN"),
        "{what} is not balanced"
    );
    let same = Some(invariant);
    assert_eq!((runs, tree, automaton), (same, same, same), "{what}");
    // Between parentheses it is what it is alone.
    let opposite = match invariant {
        Verdict::Holds => Verdict::Violated,
        Verdict::Violated => Verdict::Holds,
        other => other,
    };
    assert_eq!(goal, Some(opposite), "{what}");
    true
}

#[test]
fn every_text_is_one_expression_wherever_it_stands() {
    let models = [
        (Language::Dve, DVE),
        (Language::Promela, PROMELA),
        (Language::Pnml, NET),
    ];
    for (language, model) in models {
        for text in [
            "0) && (0",
            "0) and (0",
            "true) || (true",
            "x == 1; x",
            "x == 1 }",
            "(x == 1",
            "x == 1)",
        ] {
            assert!(
                !assert_same_everywhere(language, model, text),
                "{language:?}: {text}"
            );
        }
        let right = match language {
            Language::Dve => "x < 2 and (y < 3 or x == 0)",
            _ => "x < 3 && (y < 3 || x == 0)",
        };
        assert!(
            assert_same_everywhere(language, model, right),
            "{language:?}"
        );
    }
    let (mut read, mut refused) = (0, 0);
    let mut random = Random::new(7);
    for round in 0..600 {
        let (language, model) = models[round % models.len()];
        // Anything, or something right with something in it that may be wrong.
        let right = round % 2 == 0;
        let (and, or) = match language {
            Language::Dve => (" and ", " or "),
            _ => (" && ", " || "),
        };
        let mut pieces: Vec<&str> = Vec::new();
        for _ in 0..1 + random.below(if right { 3 } else { 6 }) {
            if right {
                pieces.extend((!pieces.is_empty()).then(|| [and, or][random.below(2)]));
                let part: &[&str] =
                    [&["x == 1"][..], &["y < 2"], &["(", "x > 0", ")"], &["true"]][random.below(4)];
                pieces.extend(part);
            } else {
                pieces.push(PIECES[random.below(PIECES.len())]);
            }
        }
        for _ in 0..random.below(3) {
            let place = random.below(pieces.len() + 1);
            pieces.insert(place, PIECES[random.below(PIECES.len())]);
        }
        let text = pieces.concat();
        match assert_same_everywhere(language, model, &text) {
            true => read += 1,
            false => refused += 1,
        }
    }
    assert!(
        read > 100 && refused > 200,
        "{read} were read, {refused} refused"
    );
}
