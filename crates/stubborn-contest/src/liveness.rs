//! Liveness: can every transition of the file fire again, from every reachable marking?
//!
//! No, where one can never fire or a deadlock is reachable. Otherwise the terminal components of
//! the state graph decide, of a [reduced](crate::terminal) one where the full one is too large.

use std::ops::Range;
use std::time::Duration;

use stubborn_net::NetSystem;
use stubborn_reduce::Aim;

use crate::answer::{Technique, Value};
use crate::deadlock;
use crate::examiner::Examiner;
use crate::global::{ByFiring, Firing, QuasiLive};
use crate::terminal::{Terminal, components};

pub(crate) fn examine(examiner: &mut Examiner<'_>, system: &NetSystem, name: &str) {
    match decide(examiner, system) {
        Some((value, techniques)) => examiner.answer(name, Value::Truth(value), &techniques),
        None => examiner.answer(name, Value::Unknown, &[]),
    }
}

fn decide(examiner: &Examiner<'_>, system: &NetSystem) -> Option<(bool, Vec<Technique>)> {
    let quasi = QuasiLive::new(examiner);
    let firing = Firing::new(system);
    if quasi.decide(&firing) == Some(false) {
        return Some((false, vec![Technique::Topological]));
    }
    // A short look for deadlocks; they are the most frequent reason.
    let short = examiner.slice(0.1, Duration::from_secs(10));
    if let Some((true, techniques)) = deadlock::find(examiner, short) {
        return Some((false, techniques));
    }
    let groups: Vec<Range<u32>> = examiner
        .model
        .transition_groups()
        .map(|(_, range)| range)
        .collect();
    let live = |terminal: &Terminal| {
        terminal.fired.iter().all(|fired| {
            groups
                .iter()
                .all(|group| group.clone().any(|t| fired.contains(t as usize)))
        })
    };
    let memory = examiner.options.memory;
    let searched = vec![Technique::Explicit];
    let time = examiner.left().mul_f64(0.35);
    if let Ok(terminal) = components(system, None, memory, time) {
        return Some((live(&terminal), searched));
    }
    if let Some(reduction) = examiner.reduction(system, Aim::Deadlocks) {
        let time = examiner.left().mul_f64(0.6);
        if let Ok(terminal) = components(system, Some(reduction.reduction()), memory, time) {
            let techniques = vec![Technique::Explicit, Technique::StubbornSets];
            return Some((live(&terminal), techniques));
        }
    }
    let mut firing = Firing::new(system);
    if let Some((false, techniques)) = crate::global::decide(examiner, system, &quasi, &mut firing)
    {
        return Some((false, techniques));
    }
    if examiner.is_over() {
        return None;
    }
    match deadlock::find(examiner, examiner.left()) {
        Some((true, techniques)) => Some((false, techniques)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stubborn_reduce::{Algorithm, Config, Delete, Plan, StubbornReduction};
    use stubborn_system::{Random, RelationLevel, System};

    use super::*;
    use crate::terminal::Failed;

    use crate::testing::cyclic_net;

    const TIME: Duration = Duration::from_secs(60);

    /// The transitions that fire in every terminal component.
    fn live(
        system: &NetSystem,
        reduction: Option<&dyn stubborn_system::Reduction>,
    ) -> Result<Vec<bool>, Failed> {
        // A net that is not bounded ends at the limit.
        let terminal = components(system, reduction, Some(4 << 20), TIME)?;
        let count = system.net().transition_count();
        let lives = |t: usize| terminal.fired.iter().all(|fired| fired.contains(t));
        Ok((0..count).map(lives).collect())
    }

    /// Strong sets without ignoring keep the liveness of every transition, whichever algorithm
    /// makes the sets.
    #[test]
    fn reduced_graphs_keep_liveness() {
        let mut random = Random::new(0x11fe_11fe_11fe_11fe);
        let (mut compared, mut with_live, mut with_dead) = (0, 0, 0);
        for number in 0..400 {
            let system = NetSystem::new(cyclic_net(&mut random)).unwrap();
            let Ok(expected) = live(&system, None) else {
                continue;
            };
            let deletion = Config {
                delete: Some(Delete::MaxE),
                ..Config::new(Algorithm::Deletion)
            };
            let configs = [
                Config::new(Algorithm::Beam),
                Config::new(Algorithm::Clostar),
                deletion,
            ];
            for (way, config) in configs.iter().enumerate() {
                let plan = Plan::new(config, Aim::Deadlocks).unwrap();
                let relations = system.relations(RelationLevel::Reach);
                let reduction = StubbornReduction::new(&system, &relations, plan).unwrap();
                let found = live(&system, Some(&reduction)).unwrap();
                assert_eq!(found, expected, "net {number} way {way}");
            }
            compared += 1;
            with_live += usize::from(expected.contains(&true));
            with_dead += usize::from(expected.contains(&false));
        }
        assert!(compared > 180, "{compared}");
        assert!(with_live > 30 && with_dead > 30, "{with_live} {with_dead}");
    }
}
