//! CTLCardinality and CTLFireability: does the initial marking satisfy a formula of branching
//! time?
//!
//! Statements about single markings that the state equation decides become constants, which
//! often makes a formula small or constant; so do parts that wait for something of which it tells
//! that it never comes, whatever the temporal operators in it mean. Parts `EF p` outside all
//! other temporal operators are questions about reachability and answered as such, with all that is
//! there for those. The rest is decided on the fly, for a short time on one graph that all
//! formulas of the file share, then each on a net that is made smaller around its places, unless it
//! speaks of next markings. Each time there are some attempts with little effort, in different orders,
//! before the search that gives nothing up.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use stubborn_ctl::{Effort, Evaluation, Formula as Ctl, Formulas, Graph, Node, Space, Stop};
use stubborn_net::{
    Atom, Branching, Formula, Linearise, NetSystem, Paths, PlaceId, Preserve, StateEquation,
};
use stubborn_search::Limits;
use stubborn_system::LabelId;

use crate::answer::{Line, Technique, Value};
use crate::examiner::Examiner;
use crate::reachability;

/// A formula that the initial marking should satisfy.
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) formula: Branching,
}

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
pub(crate) fn examine(examiner: &mut Examiner<'_>, system: &mut NetSystem, claims: Vec<Claim>) {
    let count = claims.len().max(1);
    let time = examiner.slice(0.1 / count as f64, Duration::from_secs(10));
    let mut open = Vec::new();
    let never_ends = OnceCell::new();
    for claim in claims {
        match prepare(examiner, system, &claim, &never_ends, time) {
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
        match smaller(examiner, system, &claim) {
            Some(own) => alone.push((claim, own)),
            None => together.push(claim),
        }
    }
    // Each claim has the same part of the time, in whichever net.
    let part = alone.len() as f64 / (alone.len() + together.len()).max(1) as f64;
    evaluate_alone(examiner, &mut alone, 0..5, 0.3 * part);
    evaluate_alone(examiner, &mut alone, 5..8, part);
    evaluate(examiner, system, &mut together, &[(2..6, 0.4), (6..9, 1.0)]);
    let open = alone.into_iter().map(|(claim, _)| claim);
    for claim in open.chain(together) {
        examiner.answer(&claim.id, Value::Unknown, &[]);
    }
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
            let labels = claim.statements.iter().map(|(_, label)| *label).collect();
            let evaluation = Evaluation::new(&claim.formulas, claim.formula, labels);
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
    let (used, next) = claim.formulas.propositions(claim.formula);
    if next || examiner.is_over() {
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

/// Gives each open claim with a net of its own a share of the time.
fn evaluate_alone(
    examiner: &mut Examiner<'_>,
    open: &mut Vec<(Open, Smaller)>,
    attempts: Range<u32>,
    share: f64,
) {
    let mut left = open.len();
    open.retain(|(claim, own)| {
        let time = examiner.left().mul_f64(share / left.max(1) as f64);
        left -= 1;
        if examiner.is_over() {
            return true;
        }
        let limits = Limits {
            memory: examiner.options.memory,
            time: Some(time),
            interrupt: examiner.options.interrupt,
            ..Limits::default()
        };
        let value = Space::new(&own.system, &limits).and_then(|space| {
            let mut graph = Graph::new(&own.system, &space, &limits);
            let labels = own.labels.clone();
            let mut evaluation = Evaluation::new(&claim.formulas, claim.formula, labels);
            decide(&mut evaluation, &mut graph, attempts.clone(), time)
        });
        let Ok(value) = value else {
            return true;
        };
        let mut techniques = claim.techniques.clone();
        techniques.extend([Technique::Explicit, Technique::StructuralReduction]);
        examiner.answer(&claim.id, Value::Truth(value), &techniques);
        false
    });
}

/// Answers the parts `EF p` of formulas that stand outside all other temporal operators, and
/// puts the answers into the formulas.
fn reach(examiner: &Examiner<'_>, system: &NetSystem, open: &mut [Open]) {
    let mut parts: Vec<(usize, Ctl)> = Vec::new();
    let mut goals = Vec::new();
    for (at, claim) in open.iter().enumerate() {
        for (part, formula, label) in &claim.reachable {
            let goal = reachability::Goal {
                id: parts.len().to_string(),
                formula: formula.clone(),
                if_found: true,
            };
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

/// All untils, inner ones first, each with what it waits for.
fn untils_of(formulas: &Formulas, formula: Ctl, out: &mut Vec<(Ctl, Ctl)>) {
    match formulas.node(formula) {
        Node::Constant(_) | Node::Atom(_) => {}
        Node::Not(f) | Node::ExistsNext(f) => untils_of(formulas, f, out),
        Node::And(f, g) | Node::Or(f, g) => {
            untils_of(formulas, f, out);
            untils_of(formulas, g, out);
        }
        Node::ExistsUntil(f, g) | Node::AllUntil(f, g) => {
            untils_of(formulas, f, out);
            untils_of(formulas, g, out);
            if !out.contains(&(formula, g)) {
                out.push((formula, g));
            }
        }
    }
}

/// The parts `EF p` with `p` about one marking, below Boolean operators alone; each with its `p`.
fn reachable_parts(formulas: &Formulas, formula: Ctl, out: &mut Vec<(Ctl, Ctl)>) {
    match formulas.node(formula) {
        Node::Not(inner) => reachable_parts(formulas, inner, out),
        Node::And(a, b) | Node::Or(a, b) => {
            reachable_parts(formulas, a, out);
            reachable_parts(formulas, b, out);
        }
        _ => {
            let goal = formulas.reachable(formula);
            out.extend(
                goal.filter(|g| formulas.depth(*g) == 0)
                    .map(|g| (formula, g)),
            );
        }
    }
}

/// A formula with some parts replaced by their values: those below Boolean operators alone, or, if
/// these are their values in all reachable markings, `everywhere`.
fn with(
    formulas: &mut Formulas,
    formula: Ctl,
    known: &HashMap<Ctl, bool>,
    everywhere: bool,
) -> Ctl {
    if let Some(value) = known.get(&formula) {
        return formulas.constant(*value);
    }
    let node = formulas.node(formula);
    let mut inner = |part: Ctl| with(formulas, part, known, everywhere);
    match node {
        Node::Not(f) => {
            let f = inner(f);
            formulas.not(f)
        }
        Node::And(f, g) => {
            let (f, g) = (inner(f), inner(g));
            formulas.and(f, g)
        }
        Node::Or(f, g) => {
            let (f, g) = (inner(f), inner(g));
            formulas.or(f, g)
        }
        Node::ExistsNext(f) if everywhere => {
            let f = inner(f);
            formulas.exists_next(f)
        }
        Node::ExistsUntil(f, g) if everywhere => {
            let (f, g) = (inner(f), inner(g));
            formulas.exists_until(f, g)
        }
        Node::AllUntil(f, g) if everywhere => {
            let (f, g) = (inner(f), inner(g));
            formulas.all_until(f, g)
        }
        _ => formula,
    }
}

impl Open {
    /// Parts that wait for what the state equation excludes are false wherever they stand; that there is
    /// a next marking is true where it excludes deadlocks.
    fn refute(&mut self, system: &NetSystem, never_ends: &OnceCell<bool>, time: Duration) {
        let end = Instant::now() + time;
        let net = system.net();
        let equation = StateEquation::new(net);
        let linear = Linearise::new(net, system.bounds());
        let mut untils = Vec::new();
        untils_of(&self.formulas, self.formula, &mut untils);
        let mut left = untils.len() as u32;
        let mut known = HashMap::new();
        let any = self.formulas.constant(true);
        let next = self.formulas.exists_next(any);
        let never_ends = || {
            *never_ends.get_or_init(|| {
                let deadlock = Formula::Atom(Atom::Deadlock);
                linear.never(&equation, &deadlock, time)
            })
        };
        if self.formulas.contains(self.formula, next) && never_ends() {
            known.insert(next, true);
        }
        for (until, reach) in untils {
            let time = end.saturating_duration_since(Instant::now()) / left;
            left -= 1;
            let needed = self.at_most(reach, true);
            let now = needed.holds(net, &|place| net.initial(place));
            if now == Some(false) && linear.never(&equation, &needed, time) {
                known.insert(until, false);
            }
        }
        if !known.is_empty() {
            self.formula = with(&mut self.formulas, self.formula, &known, true);
            self.techniques.push(Technique::LinearProgramming);
        }
    }

    /// A statement about one marking that a part implies; or that implies the part, if it is not
    /// to be `implied`.
    fn at_most(&self, part: Ctl, implied: bool) -> Formula {
        match self.formulas.node(part) {
            Node::Atom(number) => self.statements[number as usize].0.clone(),
            Node::Constant(value) => Formula::Atom(Atom::Constant(value)),
            Node::Not(inner) => self.at_most(inner, !implied).negated(),
            Node::And(a, b) => {
                Formula::And(vec![self.at_most(a, implied), self.at_most(b, implied)])
            }
            Node::Or(a, b) => Formula::Or(vec![self.at_most(a, implied), self.at_most(b, implied)]),
            Node::ExistsNext(_) => Formula::Atom(Atom::Constant(implied)),
            // What is waited for may be there at once, and until it is, the other is.
            Node::ExistsUntil(before, reach) | Node::AllUntil(before, reach) => match implied {
                true => Formula::Or(vec![self.at_most(before, true), self.at_most(reach, true)]),
                false => self.at_most(reach, false),
            },
        }
    }

    /// A part about one marking in terms of the net.
    fn statement(&self, part: Ctl) -> Formula {
        match self.formulas.node(part) {
            Node::Atom(number) => self.statements[number as usize].0.clone(),
            Node::Not(inner) => self.statement(inner).negated(),
            Node::And(a, b) => Formula::And(vec![self.statement(a), self.statement(b)]),
            Node::Or(a, b) => Formula::Or(vec![self.statement(a), self.statement(b)]),
            Node::Constant(value) => Formula::Atom(Atom::Constant(value)),
            // There are none of these in a statement about one marking.
            Node::ExistsNext(_) | Node::ExistsUntil(..) | Node::AllUntil(..) => {
                Formula::Atom(Atom::Constant(false))
            }
        }
    }
}

/// Makes a formula of a claim, with a label for each statement about a marking that the state
/// equation does not decide.
fn prepare(
    examiner: &Examiner<'_>,
    system: &mut NetSystem,
    claim: &Claim,
    never_ends: &OnceCell<bool>,
    time: Duration,
) -> Option<Open> {
    let started = Instant::now();
    let mut statements: Vec<&Formula> = Vec::new();
    collect(&claim.formula, &mut statements);
    let simple = examiner.by_equation(system, &statements, time);
    let by_equation = statements
        .iter()
        .zip(&simple)
        .any(|(s, simple)| *s != simple);
    let mut translation = Translation {
        formulas: Formulas::new(),
        statements: &statements,
        simple: &simple,
    };
    let formula = translation.translate(&claim.formula);
    let formulas = translation.formulas;
    let mut labelled = Vec::new();
    for name in formulas.names() {
        let statement = simple.get(name.parse::<usize>().ok()?)?;
        labelled.push((statement.clone(), system.add_label(statement.clone())?));
    }
    let mut open = Open {
        id: claim.id.clone(),
        formulas,
        formula,
        statements: labelled,
        reachable: Vec::new(),
        techniques: by_equation
            .then_some(Technique::LinearProgramming)
            .into_iter()
            .collect(),
    };
    if examiner.options.equation {
        open.refute(system, never_ends, time.saturating_sub(started.elapsed()));
    }
    let mut parts = Vec::new();
    reachable_parts(&open.formulas, open.formula, &mut parts);
    for (part, goal) in parts {
        let goal = open.statement(goal);
        let label = system.add_label(goal.clone())?;
        open.reachable.push((part, goal, label));
    }
    Some(open)
}

/// The parts that speak of one marking, each once.
fn collect<'c>(formula: &'c Branching, out: &mut Vec<&'c Formula>) {
    match formula {
        Branching::State(statement) => {
            if !out.contains(&statement) {
                out.push(statement);
            }
        }
        Branching::Not(inner)
        | Branching::Next(_, inner)
        | Branching::Globally(_, inner)
        | Branching::Finally(_, inner) => collect(inner, out),
        Branching::And(parts) | Branching::Or(parts) => {
            parts.iter().for_each(|part| collect(part, out));
        }
        Branching::Until(_, left, right) => {
            collect(left, out);
            collect(right, out);
        }
    }
}

/// From a contest formula to one of the CTL library, whose propositions are numbers of
/// statements.
struct Translation<'t> {
    formulas: Formulas,
    statements: &'t [&'t Formula],
    simple: &'t [Formula],
}

impl Translation<'_> {
    fn translate(&mut self, formula: &Branching) -> Ctl {
        match formula {
            Branching::State(statement) => {
                let number = self.statements.iter().position(|s| *s == statement);
                match number.map(|number| (number, &self.simple[number])) {
                    Some((_, Formula::Atom(Atom::Constant(value)))) => {
                        self.formulas.constant(*value)
                    }
                    Some((number, _)) => self.formulas.atom(&number.to_string()),
                    // Every statement was collected.
                    None => self.formulas.constant(false),
                }
            }
            Branching::Not(inner) => {
                let inner = self.translate(inner);
                self.formulas.not(inner)
            }
            Branching::And(parts) => self.join(parts, true, Formulas::and),
            Branching::Or(parts) => self.join(parts, false, Formulas::or),
            Branching::Next(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_next(inner),
                    Paths::Some => self.formulas.exists_next(inner),
                }
            }
            Branching::Globally(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_globally(inner),
                    Paths::Some => self.formulas.exists_globally(inner),
                }
            }
            Branching::Finally(paths, inner) => {
                let inner = self.translate(inner);
                match paths {
                    Paths::All => self.formulas.all_finally(inner),
                    Paths::Some => self.formulas.exists_finally(inner),
                }
            }
            Branching::Until(paths, left, right) => {
                let (left, right) = (self.translate(left), self.translate(right));
                match paths {
                    Paths::All => self.formulas.all_until(left, right),
                    Paths::Some => self.formulas.exists_until(left, right),
                }
            }
        }
    }

    fn join(
        &mut self,
        parts: &[Branching],
        empty: bool,
        join: fn(&mut Formulas, Ctl, Ctl) -> Ctl,
    ) -> Ctl {
        let mut joined = self.formulas.constant(empty);
        for part in parts {
            let part = self.translate(part);
            joined = join(&mut self.formulas, joined, part);
        }
        joined
    }
}
