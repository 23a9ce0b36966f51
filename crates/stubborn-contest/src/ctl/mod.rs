//! CTLCardinality and CTLFireability: does the initial marking satisfy a formula of branching
//! time?
//!
//! Statements about single markings that the state equation decides become constants, which
//! often makes a formula small or constant; so do parts that wait for something of which it tells
//! that it never comes, whatever the temporal operators in it mean, and parts `AG p` that would let
//! transitions go on for ever that use something up. Parts `EF p` outside all
//! other temporal operators are questions about reachability and answered as such, with all that is
//! there for those. The rest is decided on the fly, for a short time on one graph that all
//! formulas of the file share, then each on a net that is made smaller around its places, and for a
//! while on a reduced graph, unless it speaks of next markings. Each time there are some attempts with little effort, in different orders,
//! before the search that gives nothing up.

mod prepare;
mod refute;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use stubborn_ctl::{Effort, Evaluation, Formula as Ctl, Formulas, Graph, Node, Space, Stop};
use stubborn_emptiness::BranchingReduction;
use stubborn_net::{Branching, Formula, NetSystem, PlaceId, Preserve};
use stubborn_reduce::{Algorithm, Config};
use stubborn_search::Limits;
use stubborn_system::{LabelId, Reduction, RelationLevel, Relations, System};

use crate::answer::{Line, Technique, Value};
use crate::claim::Claim;
use crate::ctl::prepare::{prepare, with};
use crate::ctl::refute::Facts;
use crate::examiner::{Examiner, MOST_TRANSITIONS};
use crate::reachability::{self, Goal};

/// A claim in the making.
struct Open {
    id: String,
    formulas: Formulas,
    formula: Ctl,
    /// What the propositions of the formula mean, with their labels.
    statements: Vec<(Formula, LabelId)>,
    /// Parts `EF p` outside all other temporal operators, with the `p` and its label.
    reachable: Vec<(Ctl, Formula, LabelId)>,
    techniques: Vec<Technique>,
}

/// Answers all claims; what cannot be answered is said so.
pub(crate) fn examine(
    examiner: &mut Examiner<'_>,
    system: &mut NetSystem,
    claims: Vec<Claim<Branching>>,
) {
    let count = claims.len().max(1);
    let time = examiner.slice(0.1 / count as f64, Duration::from_secs(10));
    let mut open = Vec::new();
    let facts = Facts::new(examiner.options.traps);
    // What is easy to see needs no linear programs.
    for claim in at_a_glance(examiner, system, claims) {
        match prepare(examiner, system, &claim, Some((&facts, time))) {
            Some(claim) => open.push(claim),
            None => examiner.answer(&claim.id, Value::Unknown, &[]),
        }
    }
    answer_constants(examiner, &mut open);
    let system = &*system;
    evaluate(examiner, system, &mut open, &[(0..4, 0.1)]);
    reach(examiner, system, &mut open);
    answer_constants(examiner, &mut open);
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for claim in open {
        let (_, next) = claim.formulas.propositions(claim.formula);
        match next {
            true => together.push(claim),
            false => {
                let own = smaller(examiner, system, &claim);
                alone.push((claim, own));
            }
        }
    }
    // Each claim has the same part of the time, in whichever net.
    let part = alone.len() as f64 / (alone.len() + together.len()).max(1) as f64;
    let relations = OnceCell::new();
    for (attempts, share, relations) in [
        (0..5, 0.3, None),
        (3..6, 0.4, Some(&relations)),
        (5..8, 1.0, None),
    ] {
        evaluate_alone(
            examiner,
            system,
            &mut alone,
            attempts,
            share * part,
            relations,
        );
    }
    evaluate(examiner, system, &mut together, &[(2..6, 0.4), (6..9, 1.0)]);
    let open = alone.into_iter().map(|(claim, _)| claim);
    for claim in open.chain(together) {
        examiner.answer(&claim.id, Value::Unknown, &[]);
    }
}

/// Answers what can be answered in a moment each; the others.
fn at_a_glance(
    examiner: &mut Examiner<'_>,
    system: &mut NetSystem,
    claims: Vec<Claim<Branching>>,
) -> Vec<Claim<Branching>> {
    let mut open = Vec::with_capacity(claims.len());
    for claim in &claims {
        open.extend(prepare(examiner, system, claim, None));
    }
    let tried: HashSet<String> = open.iter().map(|claim| claim.id.clone()).collect();
    answer_constants(examiner, &mut open);
    let time = examiner.glance() * 10 * open.len() as u32;
    let share = time.as_secs_f64() / examiner.left().as_secs_f64().max(f64::MIN_POSITIVE);
    evaluate(examiner, system, &mut open, &[(0..4, share)]);
    let is_open = |claim: &Claim<Branching>| {
        !tried.contains(&claim.id) || open.iter().any(|open| open.id == claim.id)
    };
    claims.into_iter().filter(is_open).collect()
}

/// Answers what has become a constant.
fn answer_constants(examiner: &mut Examiner<'_>, open: &mut Vec<Open>) {
    open.retain(|claim| match claim.formulas.node(claim.formula) {
        Node::Constant(value) => {
            let techniques: &[Technique] = match claim.techniques.as_slice() {
                [] => &[Technique::Topological],
                known => known,
            };
            examiner.answer(&claim.id, Value::Truth(value), techniques);
            false
        }
        _ => true,
    });
}

/// Decides a formula within a time: some attempts in up to half of it, then a search that gives
/// nothing up.
fn decide(
    evaluation: &mut Evaluation<'_>,
    graph: &mut Graph<'_>,
    attempts: Range<u32>,
    time: Duration,
) -> Result<bool, Stop> {
    let started = Instant::now();
    graph.restart(Some(time / 2));
    for attempt in attempts {
        match evaluation.attempt(graph, Effort::of_attempt(attempt)) {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => {}
            Err(Stop::Time) => break,
            Err(stop) => return Err(stop),
        }
    }
    graph.restart(Some(time.saturating_sub(started.elapsed())));
    evaluation.holds(graph)
}

/// Gives each open claim a share of the time, as often as there are shares, each with its attempts,
/// on one graph for all.
fn evaluate(
    examiner: &mut Examiner<'_>,
    system: &NetSystem,
    open: &mut Vec<Open>,
    shares: &[(Range<u32>, f64)],
) {
    let limits = Limits {
        memory: examiner.options.memory,
        interrupt: examiner.options.interrupt,
        ..Limits::default()
    };
    let Ok(space) = Space::new(system, &limits) else {
        return;
    };
    let mut graph = Graph::new(system, &space, &limits);
    let graph = &mut graph;
    let mut answered = vec![false; open.len()];
    let mut evaluations: Vec<(usize, &Open, Evaluation<'_>)> = open
        .iter()
        .enumerate()
        .map(|(at, claim)| {
            let evaluation = Evaluation::new(&claim.formulas, claim.formula, claim.labels());
            (at, claim, evaluation)
        })
        .collect();
    for (attempts, share) in shares {
        let mut left = evaluations.len();
        evaluations.retain_mut(|(at, claim, evaluation)| {
            let time = examiner.left().mul_f64(share / left.max(1) as f64);
            left -= 1;
            if examiner.is_over() {
                return true;
            }
            let Ok(value) = decide(evaluation, graph, attempts.clone(), time) else {
                return true;
            };
            evaluation.forget(graph);
            let mut techniques = claim.techniques.clone();
            techniques.extend([Technique::Explicit, Technique::CollateralProcessing]);
            examiner.answer(&claim.id, Value::Truth(value), &techniques);
            answered[*at] = true;
            false
        });
    }
    for (_, _, evaluation) in &mut evaluations {
        evaluation.forget(graph);
    }
    let mut answered = answered.into_iter();
    open.retain(|_| !answered.next().unwrap_or(false));
}

/// A net made for a claim, with labels for its propositions.
struct Smaller {
    system: NetSystem,
    labels: Vec<LabelId>,
}

/// The net made smaller around the places of a claim that cannot see stuttering; none if that
/// does not help.
fn smaller(examiner: &Examiner<'_>, system: &NetSystem, claim: &Open) -> Option<Smaller> {
    let (used, _) = claim.formulas.propositions(claim.formula);
    if examiner.is_over() {
        return None;
    }
    let net = system.net();
    let statement = |number: &u32| &claim.statements[*number as usize].0;
    let mut places: Vec<PlaceId> = used.iter().flat_map(|n| statement(n).places(net)).collect();
    places.sort_unstable();
    places.dedup();
    let reduced = examiner.reduced(net, &Preserve::Branching(places))?;
    // A place more or less leaves the states as they are.
    if reduced.net.transition_count() >= net.transition_count() {
        return None;
    }
    let mut own = examiner.smaller(system, &reduced)?;
    let mut labels = vec![LabelId::new(0); claim.statements.len()];
    for number in &used {
        let formula = reduced.translate(statement(number), net)?;
        labels[*number as usize] = own.add_label(formula)?;
    }
    Some(Smaller {
        system: own,
        labels,
    })
}

/// Gives each open claim a share of the time on a graph of its own; on a reduced one, if `relations`
/// are to be used, those of the net.
fn evaluate_alone(
    examiner: &mut Examiner<'_>,
    whole: &NetSystem,
    open: &mut Vec<(Open, Option<Smaller>)>,
    attempts: Range<u32>,
    share: f64,
    relations: Option<&OnceCell<Relations>>,
) {
    let mut left = open.len();
    open.retain(|(claim, own)| {
        let time = examiner.left().mul_f64(share / left.max(1) as f64);
        left -= 1;
        if examiner.is_over() {
            return true;
        }
        let started = Instant::now();
        let (system, labels) = match own {
            Some(own) => (&own.system, own.labels.clone()),
            None => (whole, claim.labels()),
        };
        let reduction = match relations {
            None => None,
            Some(of_whole) => match reduction(examiner, claim, own.as_ref(), whole, of_whole) {
                None => return true,
                some => some,
            },
        };
        let limits = Limits {
            memory: examiner.options.memory,
            time: Some(time),
            interrupt: examiner.options.interrupt,
            ..Limits::default()
        };
        let value = Space::new(system, &limits).and_then(|space| {
            let reduction = reduction.as_ref().map(|r| r as &dyn Reduction);
            let mut graph = Graph::reduced(system, &space, &limits, reduction);
            let mut evaluation = Evaluation::new(&claim.formulas, claim.formula, labels);
            let time = time.saturating_sub(started.elapsed());
            decide(&mut evaluation, &mut graph, attempts.clone(), time)
        });
        let Ok(value) = value else {
            return true;
        };
        let mut techniques = claim.techniques.clone();
        techniques.push(Technique::Explicit);
        techniques.extend(own.is_some().then_some(Technique::StructuralReduction));
        techniques.extend(reduction.is_some().then_some(Technique::StubbornSets));
        examiner.answer(&claim.id, Value::Truth(value), &techniques);
        false
    });
}

/// A reduction that keeps what a claim without next sees; none if there is none, or it would take too
/// long to make.
fn reduction(
    examiner: &Examiner<'_>,
    claim: &Open,
    own: Option<&Smaller>,
    whole: &NetSystem,
    of_whole: &OnceCell<Relations>,
) -> Option<BranchingReduction> {
    let (system, labels) = match own {
        Some(own) => (&own.system, &own.labels),
        None => (whole, &claim.labels()),
    };
    let transitions = system.net().transition_count();
    if !examiner.options.stubborn_sets || transitions > MOST_TRANSITIONS {
        return None;
    }
    let of_own;
    let relations = match own {
        Some(own) => {
            of_own = own.system.relations(RelationLevel::Reach);
            &of_own
        }
        None => of_whole.get_or_init(|| whole.relations(RelationLevel::Reach)),
    };
    let (used, _) = claim.formulas.propositions(claim.formula);
    let labels = used.iter().map(|number| labels[*number as usize]).collect();
    let config = Config::new(Algorithm::Beam);
    BranchingReduction::new(system, relations, &config, labels).ok()
}

/// Answers the parts `EF p` of formulas that stand outside all other temporal operators, and
/// puts the answers into the formulas.
fn reach(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open]) {
    let mut parts: Vec<(usize, Ctl)> = Vec::new();
    let mut goals = Vec::new();
    for (at, claim) in open.iter().enumerate() {
        for (part, formula, label) in &claim.reachable {
            let goal = Goal::new(parts.len().to_string(), formula.clone(), true);
            goals.push((goal, *label));
            parts.push((at, *part));
        }
    }
    if goals.is_empty() || examiner.is_over() {
        return;
    }
    // Where all questions are of this kind, they may take all the time.
    let others = open.iter().any(|claim| claim.reachable.is_empty());
    let share = if others { 0.4 } else { 0.9 };
    let lines = examiner.ask(share, |examiner| {
        reachability::search_all(examiner, system, goals)
    });
    let mut known: Vec<HashMap<Ctl, bool>> = vec![HashMap::new(); open.len()];
    for line in lines {
        if let Line::Formula {
            id,
            value: Value::Truth(value),
            techniques,
        } = line
            && let Some((at, part)) = id.parse().ok().and_then(|n: usize| parts.get(n))
        {
            known[*at].insert(*part, value);
            open[*at].techniques.extend(techniques);
        }
    }
    for (claim, known) in open.iter_mut().zip(&known) {
        claim.formula = with(&mut claim.formulas, claim.formula, known, false);
    }
}

impl Open {
    /// The labels of its propositions.
    fn labels(&self) -> Vec<LabelId> {
        self.statements.iter().map(|(_, label)| *label).collect()
    }
}

#[cfg(test)]
mod tests {
    use stubborn_net::{Atom, NetBuilder, Paths, TransitionId};
    use stubborn_pnml::Model;
    use stubborn_system::Random;

    use super::*;
    use crate::examiner::Options;
    use crate::testing::cyclic_net;

    const TIME: Duration = Duration::from_secs(60);

    /// A formula without next about some propositions.
    fn random_formula(random: &mut Random, formulas: &mut Formulas, depth: usize) -> Ctl {
        if depth == 0 {
            return formulas.atom(&random.below(2).to_string());
        }
        let f = random_formula(random, formulas, depth - 1);
        let g = random_formula(random, formulas, depth - 1);
        match random.below(8) {
            0 => formulas.not(f),
            1 => formulas.and(f, g),
            2 => formulas.or(f, g),
            3 => formulas.exists_until(f, g),
            4 => formulas.all_until(f, g),
            5 => formulas.exists_globally(f),
            6 => formulas.all_globally(f),
            _ => formulas.exists_finally(f),
        }
    }

    /// The value of a formula, and how many states were looked at.
    fn decide_in(
        system: &NetSystem,
        formulas: &Formulas,
        formula: Ctl,
        labels: &[LabelId],
        reduction: Option<&dyn Reduction>,
    ) -> Result<(bool, usize), Stop> {
        let limits = Limits {
            states: Some(2_000),
            ..Limits::default()
        };
        let space = Space::new(system, &limits)?;
        let mut graph = Graph::reduced(system, &space, &limits, reduction);
        let mut evaluation = Evaluation::new(formulas, formula, labels.to_vec());
        let value = evaluation.holds(&mut graph)?;
        Ok((value, graph.len()))
    }

    /// Verdicts on reduced graphs are those on full ones. Chains of steps that nobody sees close in
    /// many of these nets.
    #[test]
    fn reduced_graphs_keep_branching_time() {
        let mut random = Random::new(0x0c71_0c71_0c71_0001);
        let (mut verdicts, mut smaller) = ([0, 0], 0);
        for number in 0..1_500 {
            let mut system = NetSystem::new(cyclic_net(&mut random)).unwrap();
            let places = system.net().place_count();
            let labels: Vec<LabelId> = (0..2)
                .map(|_| {
                    let place = PlaceId(random.below(places) as u32);
                    let tokens = stubborn_net::IntExpr::tokens(vec![place]);
                    let one = stubborn_net::IntExpr::constant(1);
                    let op = stubborn_net::CompareOp::GreaterOrEqual;
                    let marked = Formula::Atom(Atom::Compare(op, tokens, one));
                    system.add_label(marked).unwrap()
                })
                .collect();
            let relations = system.relations(RelationLevel::Reach);
            let config = Config::new(Algorithm::Beam);
            let reduction =
                BranchingReduction::new(&system, &relations, &config, labels.clone()).unwrap();
            for _ in 0..4 {
                let mut formulas = Formulas::new();
                formulas.atom("0");
                formulas.atom("1");
                let formula = random_formula(&mut random, &mut formulas, 3);
                let decide = |reduction| decide_in(&system, &formulas, formula, &labels, reduction);
                if let (Ok((full, all)), Ok((reduced, some))) =
                    (decide(None), decide(Some(&reduction)))
                {
                    assert_eq!(full, reduced, "net {number}");
                    verdicts[usize::from(full)] += 1;
                    smaller += usize::from(some < all);
                }
            }
        }
        assert!(verdicts.iter().all(|n| *n > 800), "{verdicts:?}");
        assert!(smaller > 60, "{smaller}");
    }

    /// Two that use something up, one that goes round, and a formula about each: what is left of the
    /// formulas before anything is searched.
    #[test]
    fn what_is_used_up_decides_formulas() {
        let mut builder = NetBuilder::new("n");
        let [stock, a, b] =
            [("stock", 9), ("a", 1), ("b", 0)].map(|(name, tokens)| builder.place(name, tokens));
        for (name, from, to) in [
            ("use", stock, None),
            ("there", a, Some(b)),
            ("back", b, Some(a)),
        ] {
            let t = builder.transition(name);
            builder.input(from, t, 1);
            to.into_iter().for_each(|to| builder.output(t, to, 1));
        }
        let model = Model::from_net(builder.build().unwrap());
        let options = Options::default();
        let mut out = |_| {};
        let examiner = Examiner::new(&model, &options, Instant::now(), &mut out);
        let fireable = |t: u32| {
            let enabled = Atom::Fireable(vec![TransitionId(t)]);
            Box::new(Branching::State(Formula::Atom(enabled)))
        };
        let always = |inner| Branching::Globally(Paths::All, inner);
        let sometime = |inner| Box::new(Branching::Finally(Paths::Some, inner));
        let either = Box::new(Branching::Or(vec![*fireable(1), *fireable(2)]));
        let next = |paths, t| Box::new(Branching::Next(paths, fireable(t)));
        for (formula, expected) in [
            // `use` and `there` alone end; `there` and `back` do not.
            (always(fireable(0)), Some(false)),
            (always(fireable(1)), Some(false)),
            (always(either.clone()), Some(true)),
            // After the last `use` there is none.
            (always(sometime(fireable(0))), Some(false)),
            (always(sometime(fireable(1))), None),
            // Never both `there` and, after a step that is not `there`, `back`.
            (always(next(Paths::Some, 1)), None),
        ] {
            let mut system = NetSystem::new(model.net.clone()).unwrap();
            let claim = Claim {
                id: String::new(),
                formula: formula.clone(),
            };
            let facts = Facts::default();
            let open = prepare(&examiner, &mut system, &claim, Some((&facts, TIME))).unwrap();
            let value = match open.formulas.node(open.formula) {
                Node::Constant(value) => Some(value),
                _ => None,
            };
            assert_eq!(value, expected, "{formula:?}");
        }
    }
}
