//! Liveness: can every transition of the file fire again, from every reachable marking?
//!
//! No, where one can never fire, where one uses something up, where a deadlock is reachable, or a
//! marking after which one never fires even if tokens are never taken away. Where it is proved that one
//! can always come back to the initial marking, what can fire at all is live. Otherwise the terminal
//! components of the state graph decide, of a [reduced](crate::terminal) one where the full one is too
//! large.

use std::ops::Range;
use std::time::Duration;

use stubborn_net::{NetSystem, Relaxed, StateEquation, TransitionId, comes_home};
use stubborn_reduce::Aim;
use stubborn_system::Successors;

use crate::answer::{Technique, Value};
use crate::deadlock;
use crate::examiner::Examiner;
use crate::global::{ByFiring, Firing, QuasiLive};
use crate::terminal::{Terminal, components};
use crate::walk::walk;

/// Steps of a walk between two looks at what is still possible.
const LOOK_EVERY: u32 = 64;

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
    if let Ok(terminal) = components(system, None, memory, 10 * examiner.glance()) {
        return Some((live(&terminal), searched));
    }
    if examiner.options.equation {
        let time = examiner.slice(0.05, Duration::from_secs(10));
        let ends = StateEquation::new(system.net()).exhausted(time);
        if groups.iter().any(|g| g.clone().all(|t| ends[t as usize])) {
            return Some((false, vec![Technique::LinearProgramming]));
        }
    }
    // A short look for deadlocks; they are the most frequent reason.
    let short = examiner.slice(0.1, Duration::from_secs(10));
    if let Some((true, techniques)) = deadlock::find(examiner, short) {
        return Some((false, techniques));
    }
    if examiner.options.walks {
        let time = examiner.slice(0.05, Duration::from_secs(10));
        if walks_to_an_end(system, &groups, time) {
            return Some((false, vec![Technique::RandomWalk]));
        }
    }
    let mut firing = firing;
    let time = examiner.slice(0.1, Duration::from_secs(30));
    if examiner.options.traps && comes_home(system.net(), system.invariants(), time) {
        let decided = crate::global::decide(examiner, system, &quasi, &mut firing);
        return decided.map(|(value, mut techniques)| {
            techniques.push(Technique::Topological);
            (value, techniques)
        });
    }
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

/// Whether a random walk comes to a marking from which no transition of some group can fire again, since
/// it could not even if tokens were never taken away.
fn walks_to_an_end(system: &NetSystem, groups: &[Range<u32>], time: Duration) -> bool {
    let net = system.net();
    let (mut ends, mut steps) = (false, 0u32);
    walk(system, time, &mut |state: &[u32], _: &Successors| {
        steps += 1;
        if steps.is_power_of_two() || steps.is_multiple_of(LOOK_EVERY) {
            let after = Relaxed::after(net, |place| system.tokens(state, place) > 0);
            let dead = |group: &Range<u32>| {
                let mut members = group.clone().map(TransitionId);
                !members.any(|t| after.can_fire(t))
            };
            ends = groups.iter().any(dead);
        }
        !ends
    });
    ends
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
        let (mut exhausted, mut by_walks) = (0, 0);
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
            // What is known without the graph.
            let ends = StateEquation::new(system.net()).exhausted(TIME);
            let mut groups = (0..expected.len() as u32).map(|t| t..t + 1);
            for (t, live) in expected.iter().enumerate() {
                assert!(!(*live && ends[t]), "net {number} transition {t}");
            }
            let short = Duration::from_millis(2);
            if let Some(group) =
                groups.find(|g| walks_to_an_end(&system, std::slice::from_ref(g), short))
            {
                assert!(!expected[group.start as usize], "net {number} {group:?}");
                by_walks += 1;
            }
            exhausted += ends.iter().filter(|ends| **ends).count();
            compared += 1;
            with_live += usize::from(expected.contains(&true));
            with_dead += usize::from(expected.contains(&false));
        }
        assert!(compared > 180, "{compared}");
        assert!(with_live > 30 && with_dead > 30, "{with_live} {with_dead}");
        assert!(exhausted > 30 && by_walks > 30, "{exhausted} {by_walks}");
    }
}
