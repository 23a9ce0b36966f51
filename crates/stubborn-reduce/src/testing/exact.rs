//! Relations by trying all states with the real code, and relations that are weaker or wrong.

use std::collections::HashSet;

use stubborn_system::{
    BitSet, Executor, LabelId, Matrix, May, Must, Random, Relations, Successors, System,
    TransitionId,
};

/// What one state and its surroundings say; enough to decide every relation.
struct Around {
    enabled: Vec<bool>,
    /// Labels here.
    labels: BitSet,
    /// For each transition its outcome.
    outcomes: Vec<Outcome>,
    /// For each transition its successors.
    steps: Vec<Vec<Step>>,
}

/// A successor: the state, labels there, and what each transition leads to from there.
type Step = (Vec<u32>, BitSet, Vec<(Ends, Outcome)>);

/// Where one transition can end.
type Ends = HashSet<Vec<u32>>;

/// Whether some step of a transition violates an assertion, and whether one fails; `None` if it is
/// disabled.
type Outcome = Option<(bool, bool)>;

/// The states that one transition leads to, without those of steps that fail, and its outcome.
fn ends(
    system: &dyn System,
    executor: &mut dyn Executor,
    state: &[u32],
    transition: TransitionId,
) -> (Ends, Outcome) {
    let mut out = Successors::new(system.layout().words());
    executor.fire(state, transition, &mut out);
    let error = system.structure().error_state.as_deref();
    let ends = (0..out.len())
        .map(|i| out.state(i))
        .filter(|end| error != Some(*end))
        .map(<[u32]>::to_vec)
        .collect();
    let violates = out.iter().any(|step| step.outcome.violated().is_some());
    let fails = out.iter().any(|step| step.outcome.failed().is_some());
    (ends, (!out.is_empty()).then_some((violates, fails)))
}

fn around(system: &dyn System, executor: &mut dyn Executor, state: &[u32]) -> Around {
    let structure = system.structure();
    let mut labels = BitSet::new(structure.labels.len());
    executor.labels(state, &mut labels);
    let (mut steps, mut outcomes) = (Vec::new(), Vec::new());
    for t in structure.transition_ids() {
        let mut after = Vec::new();
        let (ends_here, outcome) = ends(system, executor, state, t);
        for next in ends_here {
            let mut labels = BitSet::new(structure.labels.len());
            executor.labels(&next, &mut labels);
            let second = structure
                .transition_ids()
                .map(|u| ends(system, executor, &next, u))
                .collect();
            after.push((next, labels, second));
        }
        steps.push(after);
        outcomes.push(outcome);
    }
    Around {
        enabled: steps.iter().map(|s| !s.is_empty()).collect(),
        labels,
        outcomes,
        steps,
    }
}

/// Whether two transitions accord here: neither disables the other, and both orders have the
/// same ends.
fn accord(here: &Around, t: usize, u: usize) -> bool {
    if !here.enabled[t] || !here.enabled[u] {
        return true;
    }
    let both = |a: usize, b: usize| -> Option<Ends> {
        let mut all = Ends::new();
        for (_, _, second) in &here.steps[a] {
            if second[b].0.is_empty() {
                return None;
            }
            all.extend(second[b].0.iter().cloned());
        }
        Some(all)
    };
    matches!((both(t, u), both(u, t)), (Some(a), Some(b)) if a == b)
}

/// Whether any outcome of the one and any of the other meet again here.
fn meet(here: &Around, t: usize, u: usize) -> bool {
    here.steps[t].iter().all(|(_, _, after_t)| {
        let mut others = here.steps[u].iter();
        others.all(|(_, _, after_u)| !after_t[u].0.is_disjoint(&after_u[t].0))
    })
}

/// Whether `t` can be moved left over `u` here: whatever `u t` reaches, `t u` reaches.
fn left_accord(here: &Around, t: usize, u: usize) -> bool {
    let all = |a: usize, b: usize| -> Ends {
        let steps = here.steps[a].iter();
        steps.flat_map(|(_, _, s)| s[b].0.iter().cloned()).collect()
    };
    all(u, t).is_subset(&all(t, u))
}

/// Whether `t`, enabled here, has another outcome after `u`, or none.
fn changes_outcome(here: &Around, t: usize, u: usize) -> bool {
    let before = here.outcomes[t];
    before.is_some() && here.steps[u].iter().any(|(_, _, s)| s[t].1 != before)
}

/// The smallest relations that are right in all of `states`.
pub fn relations_over(system: &dyn System, states: &[Vec<u32>]) -> Relations {
    let structure = system.structure();
    let (n, k) = (structure.transitions.len(), structure.labels.len());
    let mut executor = system.executor();
    // In the state of failure, labels mean nothing.
    let all: Vec<Around> = states
        .iter()
        .filter(|s| structure.error_state.as_ref() != Some(s))
        .map(|s| around(system, executor.as_mut(), s))
        .collect();
    let changes = |g: LabelId, t: TransitionId, from: bool| {
        all.iter().any(|here| {
            here.labels.contains(g.index()) == from
                && here.steps[t.index()]
                    .iter()
                    .any(|(_, labels, _)| labels.contains(g.index()) != from)
        })
    };
    let pair = |f: &dyn Fn(&Around, usize, usize) -> bool, a: TransitionId, b: TransitionId| {
        all.iter().any(|here| f(here, a.index(), b.index()))
    };
    Relations {
        may_enable: May(Matrix::from_fn(k, n, |g, t| changes(g, t, false))),
        may_disable: May(Matrix::from_fn(k, n, |g, t| changes(g, t, true))),
        never_together: Must(Matrix::from_fn(k, k, |g: LabelId, h: LabelId| {
            let both =
                |here: &Around| here.labels.contains(g.index()) && here.labels.contains(h.index());
            !all.iter().any(both)
        })),
        do_not_accord: May(Matrix::from_fn(n, n, |t, u| {
            pair(&|here, t, u| !accord(here, t, u), t, u)
        })),
        do_not_meet: Some(May(Matrix::from_fn(n, n, |t, u| {
            pair(&|here, t, u| !meet(here, t, u), t, u)
        }))),
        do_not_left_accord: May(Matrix::from_fn(n, n, |t, u| {
            pair(&|here, t, u| !left_accord(here, t, u), t, u)
        })),
        must_disable: Must(Matrix::from_fn(n, n, |t, u| {
            let after = |here: &Around, t: usize, u: usize| {
                here.steps[t].iter().any(|(_, _, s)| !s[u].0.is_empty())
            };
            !pair(&after, t, u)
        })),
        may_change_outcome: Some(May(Matrix::from_fn(n, n, |t, u| {
            let sought = structure.transition(t);
            (sought.may_fail || sought.may_violate) && t != u && pair(&changes_outcome, t, u)
        }))),
    }
}

/// Adds random pairs to what may err by having too many, takes pairs out of what may err by
/// having too few: still right, only weaker.
pub fn weaken(relations: &Relations, random: &mut Random, percent: usize) -> Relations {
    let mut chance = || random.percent(percent);
    let mut more = |m: &Matrix<LabelId, TransitionId>| {
        Matrix::from_fn(m.rows(), m.columns(), |r, c| m.contains(r, c) || chance())
    };
    let may_enable = May(more(&relations.may_enable.0));
    let may_disable = May(more(&relations.may_disable.0));
    let left = &relations.do_not_left_accord.0;
    let do_not_left_accord = May(Matrix::from_fn(left.rows(), left.columns(), |r, c| {
        left.contains(r, c) || chance()
    }));
    let mut symmetric = |pairs: &May<Matrix<TransitionId, TransitionId>>| {
        let (rows, columns) = (pairs.0.rows(), pairs.0.columns());
        let extra: Matrix<TransitionId, TransitionId> =
            Matrix::from_fn(rows, columns, |_, _| chance());
        May(Matrix::from_fn(rows, columns, |r, c| {
            pairs.0.contains(r, c) || extra.contains(r, c) || extra.contains(c, r)
        }))
    };
    let do_not_accord = symmetric(&relations.do_not_accord);
    let do_not_meet = relations.do_not_meet.as_ref().map(symmetric);
    let never = &relations.never_together.0;
    let fewer: Matrix<LabelId, LabelId> =
        Matrix::from_fn(never.rows(), never.columns(), |_, _| chance());
    let never_together = Must(Matrix::from_fn(never.rows(), never.columns(), |r, c| {
        never.contains(r, c) && !fewer.contains(r, c) && !fewer.contains(c, r)
    }));
    Relations {
        may_enable,
        may_disable,
        never_together,
        do_not_accord,
        do_not_meet,
        do_not_left_accord,
        must_disable: relations.must_disable.clone(),
        may_change_outcome: relations.may_change_outcome.clone(),
    }
}

/// The parts of [`Relations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `may_enable`
    MayEnable,
    /// `may_disable`
    MayDisable,
    /// `never_together`
    NeverTogether,
    /// `do_not_accord`
    DoNotAccord,
    /// `do_not_meet`
    DoNotMeet,
    /// `do_not_left_accord`
    DoNotLeftAccord,
    /// `must_disable`
    MustDisable,
    /// `may_change_outcome`
    MayChangeOutcome,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 8] = [
        Part::MayEnable,
        Part::MayDisable,
        Part::NeverTogether,
        Part::DoNotAccord,
        Part::DoNotMeet,
        Part::DoNotLeftAccord,
        Part::MustDisable,
        Part::MayChangeOutcome,
    ];
}

/// Makes exact relations wrong in one random place: a pair too few where more is safe, a pair
/// too many where fewer is. `None` if the part has no such place.
pub fn break_one(relations: &Relations, part: Part, random: &mut Random) -> Option<Relations> {
    let mut broken = relations.clone();
    match part {
        Part::MayEnable => drop_pair(&mut broken.may_enable.0, random, false)?,
        Part::MayDisable => drop_pair(&mut broken.may_disable.0, random, false)?,
        Part::DoNotAccord => drop_pair(&mut broken.do_not_accord.0, random, true)?,
        Part::DoNotMeet => drop_pair(&mut broken.do_not_meet.as_mut()?.0, random, true)?,
        Part::DoNotLeftAccord => drop_pair(&mut broken.do_not_left_accord.0, random, false)?,
        Part::NeverTogether => add_pair(&mut broken.never_together.0, random, true)?,
        Part::MustDisable => add_pair(&mut broken.must_disable.0, random, false)?,
        Part::MayChangeOutcome => {
            drop_pair(&mut broken.may_change_outcome.as_mut()?.0, random, false)?;
        }
    }
    Some(broken)
}

fn drop_pair<R, C>(matrix: &mut Matrix<R, C>, random: &mut Random, both: bool) -> Option<()>
where
    R: stubborn_system::matrix::Index,
    C: stubborn_system::matrix::Index,
{
    flip(matrix, random, both, true)
}

fn add_pair<R, C>(matrix: &mut Matrix<R, C>, random: &mut Random, both: bool) -> Option<()>
where
    R: stubborn_system::matrix::Index,
    C: stubborn_system::matrix::Index,
{
    flip(matrix, random, both, false)
}

/// Changes one random pair that is `present` (and its mirror image, for symmetric relations).
fn flip<R, C>(
    matrix: &mut Matrix<R, C>,
    random: &mut Random,
    both: bool,
    present: bool,
) -> Option<()>
where
    R: stubborn_system::matrix::Index,
    C: stubborn_system::matrix::Index,
{
    let square = matrix.rows() == matrix.columns();
    let mut pairs = Vec::new();
    for r in 0..matrix.rows() {
        for c in 0..matrix.columns() {
            if matrix.contains(R::from_index(r), C::from_index(c)) == present
                // What a transition does to itself matters to no set.
                && !(square && r == c)
            {
                pairs.push((r, c));
            }
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let pick = *random.pick(&pairs);
    *matrix = Matrix::from_fn(matrix.rows(), matrix.columns(), |r: R, c: C| {
        let here = (r.to_index(), c.to_index());
        let hit = here == pick || both && (here.1, here.0) == pick;
        matrix.contains(r, c) != hit
    });
    Some(())
}
