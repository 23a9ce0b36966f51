//! Examinations of random symmetric nets, compared with their unfolding by the book. The nets, the
//! unfolding and the token game are the adversary's, which shares no code with what is examined.

use std::time::Duration;

use stubborn_adversary::nets::coloured::{Coloured, Unfolded};
use stubborn_adversary::nets::{generate, print};
use stubborn_adversary::random::Random;
use stubborn_adversary::reference::graph::Graph;
use stubborn_adversary::reference::net::{Condition, Marking, Sum};
use stubborn_contest::{Examination, Line, Options, Value, examine, fitting};
use stubborn_diagnostics::SourceFile;
use stubborn_net::ReductionRules;
use stubborn_pnml::{Model, load, read_properties};
use stubborn_system::budget::UNLIMITED;

/// As in the contest, and with next to nothing but the state equation: the sums of colours
/// must answer what they can.
fn ways() -> [Options<'static>; 2] {
    let usual = Options {
        time: Some(Duration::from_secs(20)),
        ..Options::default()
    };
    let by_equation = Options {
        stubborn_sets: false,
        structural: ReductionRules::NONE,
        traps: false,
        walks: false,
        ..usual.clone()
    };
    [usual, by_equation]
}

/// A net, and everything that is to be known about it.
struct Case {
    source: Coloured,
    model: Model,
    unfolded: Unfolded,
    graph: Graph<Marking>,
}

impl Case {
    /// None if there are too many markings.
    fn new(seed: u64) -> Option<Self> {
        let source = Coloured::random(&mut Random::new(seed));
        let unfolded = source.unfold()?;
        let graph = unfolded.net.explore(400)?;
        let text = print::coloured(&source);
        let (model, messages) = load(&SourceFile::new("model.pnml", text.as_str()));
        let model = model.unwrap_or_else(|| panic!("seed {seed}: {messages:?}\n{text}"));
        Some(Self {
            source,
            model,
            unfolded,
            graph,
        })
    }

    fn lines(&self, examination: Examination, properties: &[(String, String)]) -> Vec<Vec<Line>> {
        let model = fitting(examination, self.model.clone(), &UNLIMITED);
        let text = print::properties(properties);
        let source = SourceFile::new("properties.xml", text.as_str());
        let (properties, messages) = read_properties(&source, &model);
        assert!(messages.is_empty(), "{messages:?}");
        let answers = |options: Options<'_>| {
            let mut lines = Vec::new();
            let mut out = |line| lines.push(line);
            examine(examination, &model, &properties, &options, &mut out);
            lines
        };
        ways().map(answers).into()
    }

    /// Asks questions of one examination, each with its answer.
    fn ask(&self, examination: Examination, asked: &[(String, Value)]) {
        let names = (0..).map(|number| format!("f-{number:02}"));
        let texts = asked.iter().map(|(text, _)| text.clone());
        let properties: Vec<(String, String)> = names.zip(texts).collect();
        for lines in self.lines(examination, &properties) {
            assert_eq!(lines.len(), asked.len());
            for ((name, text), (_, expected)) in properties.iter().zip(asked) {
                let mut answers = lines.iter();
                let answer = answers.find_map(|line| match line {
                    Line::Formula { id, value, .. } if id == name => Some(*value),
                    _ => None,
                });
                self.compare(examination, text, answer, *expected);
            }
        }
    }

    fn compare(
        &self,
        examination: Examination,
        text: &str,
        answer: Option<Value>,
        expected: Value,
    ) {
        assert_eq!(
            answer,
            Some(expected),
            "{examination} {text}\n{}",
            print::coloured(&self.source)
        );
    }

    /// Questions without formulas.
    fn ask_globally(&self) {
        let net = &self.unfolded.net;
        let (places, transitions) = (&self.unfolded.places, &self.unfolded.transitions);
        for (examination, expected) in [
            (
                Examination::ReachabilityDeadlock,
                self.graph.deadlocks().next().is_some(),
            ),
            (
                Examination::OneSafe,
                stubborn_adversary::reference::net::Net::is_one_safe(&self.graph, places),
            ),
            (
                Examination::QuasiLiveness,
                net.is_quasi_live(&self.graph, transitions),
            ),
            (Examination::Liveness, net.is_live(&self.graph, transitions)),
        ] {
            for lines in self.lines(examination, &[]) {
                let [Line::Formula { value, .. }] = lines[..] else {
                    panic!("{lines:?}");
                };
                self.compare(examination, "", Some(value), Value::Truth(expected));
            }
        }
    }

    /// The size of the state space.
    fn count(&self) {
        let sums = self.graph.states.iter().map(|marking| marking.iter().sum());
        let sums: u64 = sums.max().unwrap_or(0);
        for lines in self.lines(Examination::StateSpace, &[]) {
            let shown: Vec<String> = lines.iter().map(Line::to_string).collect();
            for (key, expected) in [
                ("STATES", self.graph.state_count() as u64),
                ("TRANSITIONS", self.graph.step_count() as u64),
                ("MAX_TOKEN_PER_MARKING", sums),
            ] {
                let start = format!("STATE_SPACE {key} {expected} ");
                let found = shown.iter().any(|line| line.starts_with(&start));
                let text = print::coloured(&self.source);
                assert!(found, "{start}is not among {shown:?}\n{text}");
            }
        }
    }
}

/// What is reachable, and how many tokens there are at most.
fn formulas(case: &Case, random: &mut Random) {
    let (places, transitions) = (case.source.places.len(), case.source.transitions.len());
    let truth = |reachable: bool| Value::Truth(reachable);
    let (mut reachable, mut bounds) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let condition = generate::condition(random, places, transitions, 2);
        let meant = case.unfolded.condition(&condition);
        let mut states = case.graph.states.iter();
        let some = states.any(|marking| meant.holds(&case.unfolded.net, marking));
        let text = print::condition_xml(&condition);
        reachable.push((
            format!("<exists-path><finally>{text}</finally></exists-path>"),
            truth(some),
        ));
        let never = print::condition_xml(&Condition::Not(Box::new(condition)));
        reachable.push((
            format!("<all-paths><globally>{never}</globally></all-paths>"),
            truth(!some),
        ));
    }
    for _ in 0..4 {
        let places: Vec<usize> = (0..1 + random.below(2))
            .map(|_| random.below(places))
            .collect();
        let names = places
            .iter()
            .map(|place| format!("<place>p{place}</place>"));
        let text = format!("<place-bound>{}</place-bound>", names.collect::<String>());
        let spread = places.iter().flat_map(|p| &case.unfolded.places[*p]);
        let sum = Sum {
            places: spread.copied().collect(),
            constant: 0,
        };
        let values = case.graph.states.iter().map(|marking| sum.value(marking));
        bounds.push((text, Value::Number(values.max().unwrap_or(0))));
    }
    case.ask(Examination::ReachabilityCardinality, &reachable);
    case.ask(Examination::UpperBounds, &bounds);
}

#[test]
fn examinations_agree_with_the_unfolding_by_the_book() {
    let (mut asked, mut with_products) = (0, 0);
    let rounds = std::env::var("COLOURED").map_or(100, |n| n.parse().unwrap());
    for seed in 0..rounds {
        let Some(case) = Case::new(seed) else {
            continue;
        };
        asked += 1;
        with_products += usize::from(case.source.places.iter().any(|p| p.len() > 1));
        case.count();
        case.ask_globally();
        formulas(&case, &mut Random::new(seed ^ 0xc010));
    }
    assert!(
        asked > rounds / 2 && with_products > 20,
        "{asked} {with_products}"
    );
}
