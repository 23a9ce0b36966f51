//! Published and random formulas compared with the automata another tool made of them.
//!
//! Looks for the corpus at `STUBBORN_CORPUS`, else beside the workspace; without it the
//! tests say that they are skipped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stubborn_ltl::automaton::Automaton;
use stubborn_ltl::formula::{Formula, Formulas};
use stubborn_ltl::hoa::{read_hoa, write_hoa};
use stubborn_ltl::parser::{AnyName, Syntax, parse};
use stubborn_ltl::stutter::are_stutter_invariant;
use stubborn_ltl::translate::{TranslationOptions, translate, translate_both};

struct Entry {
    set: String,
    number: String,
    text: String,
    formulas: Formulas,
    formula: Formula,
    states: usize,
    state_based: usize,
    negation_states: usize,
    stutter_invariant: bool,
    positive: Automaton,
    negative: Automaton,
}

fn corpus() -> Option<Vec<Entry>> {
    let folder = stubborn_corpus::folder("ltl")?;
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it is whole");
    let table = read("FORMULAS.tsv");
    let automata = |name: &str| {
        let text = read(name);
        let (automata, messages) = read_hoa(&text);
        assert!(messages.is_empty(), "{messages:?}");
        automata
    };
    let (positive, negative) = (automata("positive.hoa"), automata("negative.hoa"));
    let lines: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!((lines.len(), lines.len()), (positive.len(), negative.len()));
    let entries = lines.into_iter().zip(positive).zip(negative);
    Some(
        entries
            .map(|((line, positive), negative)| {
                let fields: Vec<&str> = line.split('\t').collect();
                let mut formulas = Formulas::new();
                let (formula, messages) =
                    parse(&mut formulas, fields[2], Syntax::Spot, &mut AnyName);
                assert!(messages.is_empty(), "{line}: {messages:?}");
                Entry {
                    set: fields[0].to_owned(),
                    number: fields[1].to_owned(),
                    text: fields[2].to_owned(),
                    formulas,
                    formula: formula.expect("no messages"),
                    states: fields[4].parse().expect("a number"),
                    state_based: fields[7].parse().expect("a number"),
                    negation_states: fields[9].parse().expect("a number"),
                    stutter_invariant: fields[11] == "yes",
                    positive,
                    negative,
                }
            })
            .collect(),
    )
}

fn both(entry: &Entry) -> (Automaton, Automaton) {
    translate_both(
        &entry.formulas,
        entry.formula,
        &TranslationOptions::default(),
    )
    .unwrap_or_else(|error| panic!("{}: {error}", entry.text))
}

#[test]
fn sizes_and_languages() {
    let Some(entries) = corpus() else { return };
    // Per set: ours, theirs, ours of the negation, theirs.
    let mut totals: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for entry in &entries {
        let name = format!("{} {}: {}", entry.set, entry.number, entry.text);
        let (ours, ours_negated) = both(entry);
        assert!(
            ours.is_disjoint(&entry.negative),
            "{name}: wrongly accepts {:?}",
            ours.common_lasso(&entry.negative)
        );
        assert!(
            ours_negated.is_disjoint(&entry.positive),
            "{name}: the negation wrongly accepts {:?}",
            ours_negated.common_lasso(&entry.positive)
        );
        assert!(ours.is_disjoint(&ours_negated), "{name}");
        let total = totals.entry(entry.set.clone()).or_default();
        let sizes = [
            ours.state_count(),
            entry.states,
            ours_negated.state_count(),
            entry.negation_states,
        ];
        for (sum, size) in total.iter_mut().zip(sizes) {
            *sum += size;
        }
    }
    for (set, [ours, theirs, ours_negated, theirs_negated]) in &totals {
        eprintln!(
            "{set}: {ours} states (Spot {theirs}), negations {ours_negated} ({theirs_negated})"
        );
        if set != "random" {
            assert!(ours * 10 <= theirs * 11, "{set} is more than 10% larger");
            assert!(
                ours_negated * 10 <= theirs_negated * 11,
                "{set}, negated: more than 10% larger"
            );
        }
    }
}

/// Processor time of this thread, where the system tells; it does not count waiting for
/// other programs.
fn processor_time() -> Duration {
    let ticks = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match ticks
        .split_whitespace()
        .next()
        .and_then(|first| first.parse().ok())
    {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => Instant::now().duration_since(*START.get_or_init(Instant::now)),
    }
}

static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();

#[test]
fn translation_is_fast() {
    let Some(entries) = corpus() else { return };
    // Formulas with intermediate automata of hundreds of states.
    let monsters = [("random", "352"), ("random", "368")];
    let mut times: Vec<(Duration, String)> = Vec::new();
    for entry in &entries {
        let name = format!("{} {}: {}", entry.set, entry.number, entry.text);
        let limit = if monsters.contains(&(entry.set.as_str(), entry.number.as_str())) {
            Duration::from_millis(500)
        } else {
            Duration::from_millis(50)
        };
        // The first of a few attempts may find cold caches and a busy machine.
        let mut best = Duration::MAX;
        for _ in 0..4 {
            let start = processor_time();
            let result = translate(
                &entry.formulas,
                entry.formula,
                &TranslationOptions::default(),
            );
            best = best.min(processor_time() - start);
            assert!(result.is_ok(), "{name}");
            if best < limit / 4 {
                break;
            }
        }
        assert!(best < limit, "{best:?} for {name}");
        times.push((best, name));
    }
    times.sort();
    eprintln!(
        "all translations: {:?}; slowest:",
        times.iter().map(|t| t.0).sum::<Duration>()
    );
    for (time, name) in times.iter().rev().take(6) {
        eprintln!("{time:?} {name}");
    }
}

#[test]
fn degeneralised_automata() {
    let Some(entries) = corpus() else { return };
    let mut totals: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for entry in &entries {
        let options = TranslationOptions::default();
        let general = translate(&entry.formulas, entry.formula, &options).expect("it is small");
        let simple = general.state_based();
        assert!(simple.is_state_based() && simple.acceptance_sets() <= 1);
        assert!(simple.is_disjoint(&entry.negative), "{}", entry.text);
        let total = totals.entry(entry.set.clone()).or_default();
        total[0] += simple.state_count();
        total[1] += entry.state_based;
    }
    for (set, [ours, theirs]) in &totals {
        eprintln!("{set}: {ours} states with state-based acceptance (Spot {theirs})");
    }
}

#[test]
fn stutter_invariance() {
    let Some(entries) = corpus() else { return };
    for entry in &entries {
        let (ours, ours_negated) = both(entry);
        assert_eq!(
            are_stutter_invariant(&ours, &ours_negated),
            Some(entry.stutter_invariant),
            "{}",
            entry.text
        );
    }
}

#[test]
fn written_automata_read_back() {
    let Some(entries) = corpus() else { return };
    for entry in &entries {
        for automaton in [&entry.positive, &entry.negative] {
            let text = write_hoa(automaton, Some(&entry.text));
            let (again, messages) = read_hoa(&text);
            assert!(messages.is_empty(), "{messages:?}");
            assert_eq!(write_hoa(&again[0], Some(&entry.text)), text);
        }
    }
}
