//! Nets with more tokens than the program can count: what is not seen is no answer, whoever looks for it. Random
//! nets with heavy arcs, compared with a reference that counts without a limit.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use stubborn::hunt::{Caught, Hunt};
use stubborn::ltl::parser::Syntax;
use stubborn::net::ReductionRules;
use stubborn::plan::{CheckOptions, Por, ReductionOptions, Verdict};
use stubborn::reduce::{Algorithm, Config};
use stubborn::system::Random;
use stubborn::{
    Answer, Language, LoadOptions, LoadedModel, Order, Question, Target, Temporal, TemporalOptions,
    TemporalText, check, check_smaller, check_temporal, load_text, questions,
};

/// A net, and how many tokens the first place should have at least.
struct Case {
    initial: Vec<u64>,
    /// Places and weights.
    steps: Vec<[Vec<(usize, u64)>; 2]>,
    least: u64,
}

/// What is true of a case.
#[derive(Debug)]
struct Truth {
    deadlock: bool,
    /// Too few tokens somewhere.
    few: bool,
    /// A run on which there are enough all the time.
    enough_for_ever: bool,
    /// More tokens in some place than 32 bits count.
    heavy: bool,
}

fn random_case(random: &mut Random) -> Case {
    const MOST: u64 = u32::MAX as u64;
    let places = 2 + random.below(4);
    let initial = (0..places).map(|_| match random.below(8) {
        0 => MOST - random.below(3) as u64,
        number => [0, 0, 1, 1, 1, 2, 3][number - 1],
    });
    let initial = initial.collect();
    let steps = 1 + random.below(5);
    let weights = [1, 1, 1, 1, 2, 1 << 31, MOST - 1, MOST];
    let side = |random: &mut Random, count: usize, heavy: usize| {
        let mut arcs: BTreeMap<usize, u64> = BTreeMap::new();
        for _ in 0..count {
            let weight = weights[random.below(5 + heavy)];
            arcs.entry(random.below(places)).or_insert(weight);
        }
        arcs.into_iter().collect()
    };
    let steps = (0..steps).map(|_| {
        let (takes, gives) = (1 + random.below(2), random.below(3));
        let light = usize::from(random.below(6) == 0) * 3;
        [side(random, takes, light), side(random, gives, 3)]
    });
    Case {
        initial,
        steps: steps.collect(),
        least: [1, 1, 2, 1 << 31, MOST][random.below(5)],
    }
}

impl Case {
    fn text(&self) -> String {
        let mut out = String::from(
            "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\"><net id=\"n\" \
             type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><page id=\"g\">\n",
        );
        for (at, tokens) in self.initial.iter().enumerate() {
            let _ = writeln!(
                out,
                "<place id=\"p{at}\"><initialMarking><text>{tokens}</text></initialMarking></place>"
            );
        }
        for (at, arcs) in self.steps.iter().enumerate() {
            let _ = writeln!(out, "<transition id=\"t{at}\"/>");
            for (takes, arcs) in [true, false].into_iter().zip(arcs) {
                for (place, weight) in arcs {
                    let (place, step) = (format!("p{place}"), format!("t{at}"));
                    let (from, to) = match takes {
                        true => (&place, &step),
                        false => (&step, &place),
                    };
                    let _ = writeln!(
                        out,
                        "<arc id=\"{from}{to}\" source=\"{from}\" target=\"{to}\">\
                         <inscription><text>{weight}</text></inscription></arc>"
                    );
                }
            }
        }
        out + "</page></net></pnml>\n"
    }

    /// Explores all markings; none if there are many.
    fn truth(&self) -> Option<Truth> {
        let mut numbers: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        let mut markings = vec![self.initial.clone()];
        numbers.insert(self.initial.clone(), 0);
        let mut next: Vec<Vec<usize>> = Vec::new();
        while next.len() < markings.len() {
            let marking = markings[next.len()].clone();
            let mut targets = Vec::new();
            for [takes, gives] in &self.steps {
                if takes
                    .iter()
                    .any(|(place, weight)| marking[*place] < *weight)
                {
                    continue;
                }
                let mut after = marking.clone();
                takes
                    .iter()
                    .for_each(|(place, weight)| after[*place] -= weight);
                gives
                    .iter()
                    .for_each(|(place, weight)| after[*place] += weight);
                let number = *numbers.entry(after.clone()).or_insert(markings.len());
                if number == markings.len() {
                    markings.push(after);
                }
                targets.push(number);
            }
            next.push(targets);
            if markings.len() > 60 {
                return None;
            }
        }
        let enough: Vec<bool> = markings.iter().map(|m| m[0] >= self.least).collect();
        // States from which a run can go on, or end, with enough tokens all the time: take others away until
        // none is left that must leave.
        let mut stays = enough.clone();
        while let Some(leaves) = (0..stays.len()).find(|at| {
            let goes_on = next[*at].iter().any(|to| stays[*to]);
            stays[*at] && !next[*at].is_empty() && !goes_on
        }) {
            stays[leaves] = false;
        }
        Some(Truth {
            deadlock: next.iter().any(Vec::is_empty),
            few: enough.contains(&false),
            enough_for_ever: stays[0],
            heavy: markings.iter().flatten().any(|n| *n > u32::MAX.into()),
        })
    }

    fn model(&self) -> LoadedModel {
        let enough = format!("p0 >= {}", self.least);
        let formula = |text: String| TemporalText::Formula {
            text,
            syntax: Syntax::Spin,
        };
        let options = LoadOptions {
            invariants: vec![enough.clone()],
            temporal: vec![
                formula(format!("[] ({enough})")),
                formula(format!("<> !({enough})")),
            ],
            ..LoadOptions::default()
        };
        load_text("n.pnml", self.text(), Language::Pnml, &options).expect("it is a net")
    }
}

/// How often there was an answer, and none.
#[derive(Default)]
struct Tally {
    answers: usize,
    violated: usize,
    unknown: usize,
}

impl Tally {
    fn note(&mut self, what: &str, verdict: Verdict, bad: bool, truth: &Truth, case: &Case) {
        match verdict {
            Verdict::Unknown if truth.heavy => self.unknown += 1,
            Verdict::Holds if !bad => self.answers += 1,
            Verdict::Violated if bad => self.violated += 1,
            wrong => panic!("{what}: {wrong}, {truth:?}\n{}", case.text()),
        }
    }
}

fn bad(truth: &Truth, question: &Question) -> bool {
    match question.target {
        Target::Deadlock => truth.deadlock,
        Target::Label(_) => truth.few,
        other => panic!("nobody asks for {other:?}"),
    }
}

#[test]
fn nothing_holds_where_tokens_cannot_be_counted() {
    let algorithms = [
        Algorithm::Closure,
        Algorithm::Beam,
        Algorithm::Clostar,
        Algorithm::Deletion,
        Algorithm::Clodel,
        Algorithm::Inc,
        Algorithm::Lpor,
    ];
    let mut reductions = vec![Por::None, Por::Auto];
    reductions.extend(algorithms.map(|one| Por::Chosen(Config::new(one))));
    let (mut states, mut runs, mut hunted) = (Tally::default(), Tally::default(), Tally::default());
    let mut heavy = 0;
    for seed in 0..1_300 {
        let mut random = Random::new(seed);
        let case = random_case(&mut random);
        let Some(truth) = case.truth() else { continue };
        heavy += usize::from(truth.heavy);
        // A few that can be counted are enough.
        if !truth.heavy && seed % 8 > 0 {
            continue;
        }
        let por = &reductions[seed as usize % reductions.len()];
        let options = CheckOptions {
            order: [Order::BreadthFirst, Order::DepthFirst][random.below(2)],
            threads: [1, 1, 2][random.below(3)],
            reduction: ReductionOptions {
                por: por.clone(),
                ..ReductionOptions::default()
            },
            ..CheckOptions::default()
        };
        let model = case.model();
        let asked = questions(&model);
        let note = |tally: &mut Tally, what: &str, answers: Vec<Answer>| {
            assert_eq!(answers.len(), asked.len());
            for answer in answers {
                let bad = bad(&truth, &answer.question);
                let what = format!("{seed}, {what}, {por:?}, {}", answer.question.name);
                tally.note(&what, answer.verdict, bad, &truth, &case);
            }
        };
        let found = check(&model, &asked, &options).expect("it can be checked");
        note(&mut states, "check", found.answers);
        // What was met before does not matter.
        let model = case.model();
        let found = check_smaller(&model, &asked, ReductionRules::ALL, &options);
        note(
            &mut states,
            "smaller",
            found.expect("it can be checked").answers,
        );
        let model = case.model();
        let temporal: Vec<&Temporal> = model.temporal().iter().collect();
        let answers = check_temporal(&model, &temporal, &options).expect("it can be checked");
        for (answer, bad) in answers.iter().zip([truth.few, truth.enough_for_ever]) {
            let what = format!("{seed}, {por:?}, {}", answer.name);
            runs.note(&what, answer.verdict, bad, &truth, &case);
        }
        if seed % 4 == 0 {
            let model = case.model();
            let targets: Vec<Target> = asked.iter().map(|question| question.target).collect();
            let properties = model.temporal().iter();
            let properties: Vec<_> = properties.map(|t| t.property.as_ref().unwrap()).collect();
            // One after the other: a hunt ends with the first one that is caught.
            for number in 0..targets.len() + properties.len() {
                let at = number.checked_sub(targets.len());
                let report = Hunt {
                    system: model.system(),
                    reference: model.reference(),
                    targets: at.map_or_else(|| &targets[number..=number], |_| &[]),
                    temporal: at.map_or(&[], |at| &properties[at..=at]),
                    options: TemporalOptions::default(),
                    threads: 1,
                    seed,
                    time: Some(Duration::from_secs(20)),
                    observer: None,
                };
                let report = report.run().expect("it can be hunted");
                let verdict = match report.caught {
                    Some(Caught::Target(..) | Caught::Temporal(..)) => Verdict::Violated,
                    None if report.targets_hold == [true] || report.temporal_hold == [true] => {
                        Verdict::Holds
                    }
                    None => Verdict::Unknown,
                };
                let bad = match at {
                    None => bad(&truth, &asked[number]),
                    Some(at) => [truth.few, truth.enough_for_ever][at],
                };
                hunted.note(
                    &format!("{seed}, hunt {number}"),
                    verdict,
                    bad,
                    &truth,
                    &case,
                );
            }
        }
    }
    assert!(heavy > 70, "{heavy}");
    for tally in [states, runs, hunted] {
        let Tally {
            answers,
            violated,
            unknown,
        } = tally;
        assert!(
            answers > 10 && violated > 10 && unknown > 10,
            "{answers}, {violated}, {unknown}"
        );
    }
}

/// The place and the transition are named, and there is no step that fails.
#[test]
fn it_is_said_what_is_left_out() {
    let case = Case {
        initial: vec![1, 1, 1, 0],
        steps: vec![
            [vec![(2, 1)], vec![(1, u32::MAX.into()), (3, 1)]],
            [vec![(3, 1), (0, 1)], vec![]],
        ],
        least: 1,
    };
    let model = case.model();
    let asked = questions(&model);
    assert_eq!(asked.len(), 2, "{asked:?}");
    let found = check(&model, &asked, &CheckOptions::default()).expect("it can be checked");
    assert!(found.answers.iter().all(|a| a.verdict == Verdict::Unknown));
    assert_eq!(found.runs[0].result.deadlocks, 0);
    let said = model.system().left_out();
    let expected = "after the transition `t0`, the place `p1` gets more than 4294967295 tokens";
    assert_eq!(said.as_deref(), Some(expected));
}
