//! The HOA reader: what it understands, what it refuses, and that nothing makes it panic.

use stubborn_ltl::automaton::Automaton;
use stubborn_ltl::formula::Formulas;
use stubborn_ltl::hoa::{read_hoa, write_dot, write_hoa};
use stubborn_ltl::lasso::Lasso;
use stubborn_ltl::normal::simplify;
use stubborn_ltl::parser::{AnyName, Syntax, parse};
use stubborn_ltl::random::{Random, all_lassos};
use stubborn_ltl::translate::{TranslationOptions, translate};

fn one(text: &str) -> Automaton {
    let (mut automata, messages) = read_hoa(text);
    assert!(messages.is_empty(), "{messages:?}");
    assert_eq!(automata.len(), 1);
    automata.remove(0)
}

fn code(text: &str) -> &'static str {
    let (_, messages) = read_hoa(text);
    messages.last().map_or("accepted", |message| message.code)
}

fn assert_same(left: &Automaton, right: &Automaton) {
    for word in all_lassos(left.propositions().len() as u32, 4) {
        assert_eq!(left.accepts(&word), right.accepts(&word), "{word:?}");
    }
}

const INFINITELY_OFTEN: &str = r#"HOA: v1
States: 1
Start: 0
AP: 1 "p"
Acceptance: 1 Inf(0)
--BODY--
State: 0
[!0] 0
[0] 0 {0}
--END--
"#;

#[test]
fn the_ways_to_write_labels_and_acceptance() {
    let expected = one(INFINITELY_OFTEN);
    let implicit = r#"HOA: v1 /* a comment /* in a comment */ */
        name: "with \"quotes\"" tool: "t" "1.0"
        Start: 1 AP: 1 "p" acc-name: Buchi Acceptance: 1 Inf(0)
        properties: state-acc implicit-labels
        --BODY-- State: 0 {0} 1 0 State: 1 "waiting" 1 0 --END--"#;
    assert_same(&one(implicit), &expected);
    let aliases = r#"HOA: v1 States: 2 Start: 0 Alias: @yes 0 Alias: @no !@yes
        AP: 1 "p" Acceptance: 2 Inf(1) controllable-AP: 0
        --BODY-- State: 0 [@no] 0 {0} [@yes & (t|f)] 1 {0 1} State: 1 [@no] 0 [@yes] 1 {1} --END--"#;
    assert_same(&one(aliases), &expected);
    let state_labels = r#"HOA: v1 Start: 0 Start: 1 AP: 1 "p" Acceptance: 1 Inf(0)
        --BODY-- State: [0] 0 {0} 0 1 State: [!0] 1 0 1 --END--"#;
    assert_same(&one(state_labels), &expected);
}

#[test]
fn all_runs_accept_without_sets() {
    let automaton = one(
        r#"HOA: v1 States: 1 Start: 0 AP: 1 "p" acc-name: all Acceptance: 0 t
        --BODY-- State: 0 [0] 0 --END--"#,
    );
    assert_eq!(automaton.acceptance_sets(), 0);
    assert!(automaton.accepts(&Lasso {
        stem: vec![],
        cycle: vec![vec![1]]
    }));
    assert!(!automaton.accepts(&Lasso {
        stem: vec![],
        cycle: vec![vec![0]]
    }));
    let generalised = one(
        r#"HOA: v1 States: 1 Start: 0 AP: 0 Acceptance: 3 (Inf(0)&Inf(2))&Inf(1)
        --BODY-- State: 0 [t] 0 {0 1} --END--"#,
    );
    assert_eq!(generalised.acceptance_sets(), 3);
    assert!(generalised.is_empty_language());
}

#[test]
fn several_automata_in_one_text() {
    let (automata, messages) = read_hoa(&INFINITELY_OFTEN.repeat(3));
    assert!(messages.is_empty());
    assert_eq!(automata.len(), 3);
}

#[test]
fn the_rest_is_refused() {
    let with = |from: &str, to: &str| INFINITELY_OFTEN.replacen(from, to, 1);
    for (text, expected) in [
        (String::new(), "HOA001"),
        (with("v1", "v2"), "HOA001"),
        (with("Inf(0)", "Fin(0)"), "HOA002"),
        (with("1 Inf(0)", "2 Inf(0)|Inf(1)"), "HOA002"),
        (with("1 Inf(0)", "1 Inf(!0)"), "HOA002"),
        (with("1 Inf(0)", "0 f"), "HOA002"),
        (with("Start: 0", "Start: 0&0"), "HOA003"),
        (with("[!0] 0", "[!0] 0&0"), "HOA003"),
        (with("1 Inf(0)", "1 Inf(1)"), "HOA005"),
        (with("[!0]", "[!7]"), "HOA005"),
        (with("[!0]", "[@x]"), "HOA005"),
        (with("[!0] 0", "[!0] 4"), "HOA005"),
        (with("Start: 0", "Start: 9"), "HOA005"),
        (with("States: 1", "States: 99999999999"), "HOA005"),
        (with("States: 1", "States: 4000000000"), "HOA011"),
        (with("{0}", "{1}"), "HOA005"),
        (with("AP: 1", "AP: 2"), "HOA005"),
        (with("AP: 1 \"p\"", "AP: 2 \"p\" \"p\""), "HOA007"),
        (with("Start: 0\n", ""), "HOA006"),
        (with("Acceptance: 1 Inf(0)\n", ""), "HOA006"),
        (with("State: 0", "State: 0 State: 0"), "HOA007"),
        (with("[!0] 0", "0"), "HOA001"),
        (with("Inf(0)", "(((Inf(0)"), "HOA001"),
        (with("Inf(0)", "(Inf(0)))"), "HOA001"),
        (with("Inf(0)", "(Inf(0)"), "HOA001"),
        (with("[!0] 0\n[0] 0 {0}", "0 0 0"), "HOA008"),
        (with("AP:", "Fancy: 1 AP:"), "HOA009"),
        (with("AP:", "acc-name: generalized-Buchi 2 AP:"), "HOA012"),
        (with("AP:", "acc-name: co-Buchi AP:"), "HOA012"),
        (with("--END--", "--ABORT--"), "HOA010"),
        (with("--END--", ""), "HOA001"),
        (with("[!0]", "[!0"), "HOA001"),
        (with("[!0]", "[0 1]"), "HOA001"),
        (
            with("[!0]", &format!("[{}0]", "(".repeat(100_000))),
            "HOA011",
        ),
        (with("\"p\"", "\"p"), "HOA001"),
        (with("HOA: v1", "HOA: v1 /* "), "HOA001"),
    ] {
        assert_eq!(code(&text), expected, "{}", &text[..text.len().min(300)]);
    }
    let many: Vec<String> = (0..33).map(|i| format!("Inf({i})")).collect();
    let text = with("1 Inf(0)", &format!("33 {}", many.join("&")));
    assert_eq!(code(&text), "HOA004");
}

#[test]
fn false_claims_are_noticed() {
    let text = INFINITELY_OFTEN.replace(
        "Acceptance",
        "properties: deterministic complete stutter-invariant\nAcceptance",
    );
    assert_eq!(code(&text), "accepted");
    assert_eq!(code(&text.replace("[!0]", "[t]")), "HOA020");
    assert_eq!(code(&text.replace("[!0] 0\n", "")), "HOA020");
}

#[test]
fn damaged_texts_do_not_panic() {
    let mut random = Random::new(21);
    let pieces = [
        "[", "]", "{", "}", "&", "!", "(", "0", "7", "State:", "\"", "@a", "--END--", "é",
    ];
    for _ in 0..5_000 {
        let mut text = INFINITELY_OFTEN.to_owned();
        for _ in 0..1 + random.below(4) {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            if random.below(2) == 0 {
                text.insert_str(at, pieces[random.below(pieces.len())]);
            } else if text.is_char_boundary(at + 1) && at + 1 < text.len() {
                text.remove(at);
            }
        }
        for automaton in read_hoa(&text).0 {
            assert!(write_hoa(&automaton, None).ends_with("--END--\n"));
        }
    }
}

#[test]
fn long_labels_are_written_with_aliases() {
    let names: Vec<String> = (0..24).map(|i| format!("p{i}")).collect();
    let mut formulas = Formulas::new();
    let (formula, _) = parse(
        &mut formulas,
        &names.join(" xor "),
        Syntax::Spot,
        &mut AnyName,
    );
    let formula = formula.unwrap();
    let automaton = translate(&formulas, formula, &TranslationOptions::default()).unwrap();
    let text = write_hoa(&automaton, None);
    assert!(text.contains("Alias:") && text.len() < 5_000, "{text}");
    let again = one(&text);
    assert_eq!(write_hoa(&again, None), text);
    let simple = simplify(&mut formulas, formula).unwrap();
    let mut random = Random::new(22);
    for _ in 0..200 {
        let word = random.lasso(24, 1, 1);
        let expected = word.satisfies(&formulas, formula);
        assert_eq!(again.accepts(&word), expected);
        assert_eq!(word.satisfies(&formulas, simple), expected);
    }
    assert!(write_dot(&automaton, None).len() < 5_000);
}

#[test]
fn graphs_for_people() {
    let dot = write_dot(&one(INFINITELY_OFTEN), Some("GF \"p\""));
    assert!(dot.contains("0 -> 0 [label=\"p {0}\"]"), "{dot}");
    assert!(dot.contains("label=\"GF \\\"p\\\"\""), "{dot}");
}

#[test]
fn names_of_acceptance_agree_with_it() {
    let conditions = [
        "0 t",
        "1 t",
        "1 Inf(0)",
        "2 Inf(0)",
        "2 Inf(0)&Inf(1)",
        "3 Inf(0)&Inf(1)&Inf(2)",
    ];
    let sets = [0, 0, 1, 1, 2, 3];
    // Each with the numbers of sets that it stands for.
    let names: [(&str, &[usize]); 17] = [
        ("all", &[0]),
        ("Buchi", &[1]),
        ("generalized-Buchi 0", &[0]),
        ("generalized-Buchi 1", &[1]),
        ("generalized-Buchi 2", &[2]),
        ("generalized-Buchi", &[]),
        ("none", &[]),
        ("co-Buchi", &[]),
        ("generalized-co-Buchi 2", &[]),
        ("Streett 0", &[0]),
        ("Streett 1", &[]),
        ("Rabin 1", &[]),
        ("generalized-Rabin 2 1 2", &[]),
        ("parity max even 1", &[1]),
        ("parity min odd 1", &[]),
        ("parity max even 2", &[]),
        // Not of the format: a remark.
        ("my-own 7", &[0, 1, 2, 3]),
    ];
    for (condition, sets) in conditions.into_iter().zip(sets) {
        for (name, fits) in names {
            for headers in [
                format!("acc-name: {name}\nAcceptance: {condition}"),
                format!("Acceptance: {condition}\nacc-name: {name}"),
            ] {
                let text = format!(
                    "HOA: v1\nStates: 1\nStart: 0\nAP: 0\n{headers}\n--BODY--\nState: 0\n[t] 0\n--END--\n"
                );
                let (automata, messages) = read_hoa(&text);
                let codes: Vec<&str> = messages.iter().map(|message| message.code).collect();
                let expected = if fits.contains(&sets) {
                    vec![]
                } else {
                    vec!["HOA012"]
                };
                assert_eq!(codes, expected, "{headers}");
                assert_eq!(automata.len(), 1 - expected.len());
            }
        }
    }
}
