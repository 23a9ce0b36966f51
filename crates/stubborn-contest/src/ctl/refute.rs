//! What the state equation tells about formulas of branching time before anything is searched.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use stubborn_ctl::{Formula as Ctl, Formulas, Node};
use stubborn_net::{Atom, Formula, Linearise, Net, NetSystem, StateEquation, TransitionId};

use super::Open;
use super::prepare::with;
use crate::answer::Technique;

/// Longer statements than this are not made in place of next ones.
const LONGEST: usize = 2_000;

/// What is found out about the net when the first claim asks for it.
#[derive(Default)]
pub(super) struct Facts {
    /// Whether traps may be looked for.
    traps: bool,
    /// That there is no deadlock.
    never_ends: OnceCell<bool>,
    /// For each transition, that no run fires it for ever.
    exhausted: OnceCell<Vec<bool>>,
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

impl Facts {
    /// Nothing is known yet.
    pub(super) fn new(traps: bool) -> Self {
        Self {
            traps,
            ..Self::default()
        }
    }
}

impl Open {
    /// Parts that wait for what the state equation excludes are false wherever they stand; that there is
    /// a next marking is true where it excludes deadlocks; and what would need to go on for ever, but
    /// cannot, fails sometime.
    pub(super) fn refute(&mut self, system: &NetSystem, facts: &Facts, time: Duration) {
        let end = Instant::now() + time;
        let net = system.net();
        let equation = StateEquation::new(net);
        let linear = Linearise::new(net, system.bounds()).with_traps(facts.traps);
        let mut untils = Vec::new();
        untils_of(&self.formulas, self.formula, &mut untils);
        let mut left = untils.len() as u32;
        let mut known = HashMap::new();
        let any = self.formulas.constant(true);
        let next = self.formulas.exists_next(any);
        let never_ends = || {
            *facts.never_ends.get_or_init(|| {
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
            let needed = self.at_most(net, reach, true);
            let now = needed.holds(net, &|place| net.initial(place));
            if now == Some(false) && linear.never(&equation, &needed, time) {
                known.insert(until, false);
            } else if self.fails_sometime(until, &equation, facts, time) {
                known.insert(until, true);
            }
        }
        if !known.is_empty() {
            self.formula = with(&mut self.formulas, self.formula, &known, true);
            self.techniques.push(Technique::LinearProgramming);
        }
    }

    /// Whether it is proved of `EF p` that it holds in every reachable marking, since `AG ¬p` does not:
    ///
    /// - `¬p` implies that some of a few transitions are enabled. Where that is always so, they can
    ///   be fired for ever, none but they; and they use something up.
    /// - `¬p` is `EF q`, and `q` implies that some of a few transitions are enabled, none of which
    ///   any run fires for ever. From each marking one comes to where all have fired for the last
    ///   time.
    fn fails_sometime(
        &self,
        until: Ctl,
        equation: &StateEquation<'_>,
        facts: &Facts,
        time: Duration,
    ) -> bool {
        let Some(reach) = self.formulas.reachable(until) else {
            return false;
        };
        let net = equation.net();
        let always = self.at_most(net, reach, false).negated();
        let steps = some_enabled(net, &always, true);
        if steps.is_some_and(|steps| equation.run_out(&steps, time)) {
            return true;
        }
        let Node::Not(again) = self.formulas.node(reach) else {
            return false;
        };
        let again = self.formulas.reachable(again);
        let steps = again.and_then(|q| some_enabled(net, &self.at_most(net, q, true), true));
        steps.is_some_and(|steps| {
            let exhausted = facts.exhausted.get_or_init(|| equation.exhausted(time));
            steps.iter().all(|t| exhausted[t.index()])
        })
    }

    /// A statement about one marking that a part implies; or that implies the part, if it is not
    /// to be `implied`.
    fn at_most(&self, net: &Net, part: Ctl, implied: bool) -> Formula {
        let both =
            |a, b, implied| vec![self.at_most(net, a, implied), self.at_most(net, b, implied)];
        match self.formulas.node(part) {
            Node::Atom(number) => self.statements[number as usize].0.clone(),
            Node::Constant(value) => Formula::Atom(Atom::Constant(value)),
            Node::Not(inner) => self.at_most(net, inner, !implied).negated(),
            Node::And(a, b) => Formula::And(both(a, b, implied)),
            Node::Or(a, b) => Formula::Or(both(a, b, implied)),
            Node::ExistsNext(inner) => before_next(net, &self.at_most(net, inner, implied))
                .unwrap_or(Formula::Atom(Atom::Constant(implied))),
            // What is waited for may be there at once, and until it is, the other is.
            Node::ExistsUntil(before, reach) | Node::AllUntil(before, reach) => match implied {
                true => Formula::Or(both(before, reach, true)),
                false => self.at_most(net, reach, false),
            },
        }
    }
}

/// Where some next marking satisfies a statement, as a statement about the marking before: some
/// transition that may change its truth is enabled and makes it true, or another one is enabled
/// where it is true. None where that would be long.
fn before_next(net: &Net, statement: &Formula) -> Option<Formula> {
    if let Formula::Atom(Atom::Constant(false)) = statement {
        return Some(statement.clone());
    }
    let places = statement.places(net);
    let changes = |t: &TransitionId| {
        let mut effects = net.effects(*t);
        effects.any(|(place, _)| places.binary_search(&place).is_ok())
    };
    let (changing, other): (Vec<_>, Vec<_>) = net.transitions().partition(changes);
    if changing.len() * statement.size() > LONGEST {
        return None;
    }
    let enabled = |transitions| Formula::Atom(Atom::Fireable(transitions));
    let mut cases = Vec::with_capacity(changing.len() + 1);
    for t in changing {
        cases.push(Formula::And(vec![
            enabled(vec![t]),
            statement.after(net, t)?,
        ]));
    }
    cases.push(Formula::And(vec![enabled(other), statement.clone()]));
    Some(Formula::Or(cases))
}

/// Transitions of which some is enabled wherever a statement has this value; rather few, and rather
/// such that take something away for good.
fn some_enabled(net: &Net, statement: &Formula, value: bool) -> Option<Vec<TransitionId>> {
    match statement {
        Formula::Not(inner) => some_enabled(net, inner, !value),
        Formula::Atom(Atom::Fireable(transitions)) if value => Some(transitions.clone()),
        Formula::Atom(Atom::Constant(constant)) if *constant != value => Some(Vec::new()),
        Formula::And(parts) | Formula::Or(parts) => {
            let each = parts.iter().map(|part| some_enabled(net, part, value));
            if matches!(statement, Formula::Or(_)) == value {
                let all = each.collect::<Option<Vec<_>>>()?;
                return Some(all.concat());
            }
            let takes = |t: &TransitionId| net.effects(*t).any(|(_, effect)| effect < 0);
            let cost = |steps: &Vec<TransitionId>| (!steps.iter().all(takes), steps.len());
            each.flatten().min_by_key(cost)
        }
        _ => None,
    }
}
