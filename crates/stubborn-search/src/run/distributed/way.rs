//! The way to what several processes have found.
//!
//! As on one machine, a second run to the known depth logs the levels, each process its own states;
//! then, from the end back, every process looks for predecessors among its own, and the least of
//! all is taken: the same for any number of processes.

use stubborn_cluster::{Cluster, Lost};
use stubborn_store::StateHandle;
use stubborn_system::Spent;

use super::level::Walk;
use super::owners::Owners;
use super::topic;
use crate::context::Context;
use crate::memory::Words;
use crate::rerun::{Path, Wanted, ways_back};
use crate::result::TraceMissing;
use crate::violation::Finding;

/// States, or why there are none.
type Found = Result<Vec<Box<[u32]>>, TraceMissing>;

/// States between two looks at the clock.
const GROUP: usize = 64;

/// The ways to findings, which are the same in all processes.
pub(super) fn find(
    context: &Context<'_>,
    cluster: &mut Cluster,
    owners: &Owners,
    findings: &[&Finding],
) -> Result<Result<Vec<Path>, TraceMissing>, Lost> {
    let depth_of = |finding: &&Finding| {
        let depth = finding.length - u64::from(finding.step.is_some());
        usize::try_from(depth).unwrap_or(usize::MAX)
    };
    let depths: Vec<usize> = findings.iter().map(depth_of).collect();
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let mut walk = Walk::new(context, cluster, owners);
    walk.is_again = true;
    walk.insert_initial_states()?;
    let mut levels: Vec<Words> = Vec::new();
    for depth in 0..deepest {
        let level = walk.take_next();
        walk.expand_level(&level, depth as u64)?;
        levels.push(level);
        if let Some(missing) = agree_to_stop(context, &mut walk)? {
            return Ok(Err(missing));
        }
    }
    let mut lost = None;
    let ways = ways_back(findings, &depths, |depth, wanted| {
        match predecessors(context, &mut walk, &levels[depth], wanted) {
            Ok(found) => found,
            Err(error) => {
                lost = Some(error);
                Err(TraceMissing::Interrupted)
            }
        }
    });
    match lost {
        Some(lost) => Err(lost),
        None => Ok(ways),
    }
}

/// Why this process cannot go on, as a number; 0 if it can.
fn obstacle(context: &Context<'_>, walk: &Walk<'_, '_>) -> u8 {
    let budget = context.search.system.budget();
    let why = match budget.spent() {
        Some(Spent::Interrupted) => Some(TraceMissing::Interrupted),
        Some(Spent::Memory) => Some(TraceMissing::Memory),
        _ if budget.is_overdrawn() => Some(TraceMissing::Time),
        _ if walk.is_halted() && context.control.was_interrupted() => {
            Some(TraceMissing::Interrupted)
        }
        _ if walk.is_halted() && budget.spent().is_none() => Some(TraceMissing::Memory),
        _ => None,
    };
    why.map_or(0, |why| why as u8 + 1)
}

fn missing(number: u8) -> Option<TraceMissing> {
    let all = [
        TraceMissing::Memory,
        TraceMissing::Time,
        TraceMissing::Interrupted,
        TraceMissing::LossyStore,
    ];
    all.into_iter().find(|why| *why as u8 + 1 == number)
}

fn agree_to_stop(
    context: &Context<'_>,
    walk: &mut Walk<'_, '_>,
) -> Result<Option<TraceMissing>, Lost> {
    let own = vec![obstacle(context, walk)];
    let agreed = walk.cluster.agree(topic::WAY, own, |all| {
        let worst = all.iter().filter_map(|one| one.first()).max();
        vec![worst.copied().unwrap_or(0)]
    })?;
    Ok(agreed.first().copied().and_then(missing))
}

/// For each wanted state, the least state of a level that has it as a successor.
fn predecessors(
    context: &Context<'_>,
    walk: &mut Walk<'_, '_>,
    level: &Words,
    wanted: &[Wanted],
) -> Result<Found, Lost> {
    let mut found: Vec<Option<Box<[u32]>>> = vec![None; wanted.len()];
    let is_less = |state: &[u32], best: &Option<Box<[u32]>>| {
        let worse = |best: &[u32]| context.order.compare(state, best).is_lt();
        best.as_deref().is_none_or(worse)
    };
    let mut why = 0;
    for (number, bits) in level.as_slice().iter().enumerate() {
        if number % GROUP == 0 {
            why = obstacle(context, walk);
            if why > 0 {
                break;
            }
        }
        let state = StateHandle::from_bits(*bits);
        let _ = walk.worker.load(state, &mut walk.cursor);
        walk.choose_again(state);
        for successor in walk.expander.explored() {
            for ((_, wanted), best) in wanted.iter().zip(&mut found) {
                if successor.state == &**wanted && is_less(walk.cursor.words(), best) {
                    *best = Some(walk.cursor.words().into());
                }
            }
        }
    }
    let width = context.search.system.layout().words();
    let write = |why: u8, found: &[Option<Box<[u32]>>]| {
        let mut bytes = vec![why];
        for one in found {
            bytes.push(u8::from(one.is_some()));
            let words = one.as_deref().unwrap_or_default().iter();
            bytes.extend(words.flat_map(|word| word.to_le_bytes()));
            if one.is_none() {
                bytes.resize(bytes.len() + 4 * width, 0);
            }
        }
        bytes
    };
    let read = |bytes: &[u8]| -> Vec<Option<Box<[u32]>>> {
        let all = bytes
            .get(1..)
            .unwrap_or_default()
            .chunks_exact(1 + 4 * width);
        all.map(|one| {
            let (words, _) = one[1..].as_chunks();
            let words = words.iter().map(|word| u32::from_le_bytes(*word));
            (one[0] == 1).then(|| words.collect())
        })
        .collect()
    };
    let agreed = walk
        .cluster
        .agree(topic::PREDECESSORS, write(why, &found), |all| {
            let why = all.iter().filter_map(|one| one.first()).max();
            let mut least: Vec<Option<Box<[u32]>>> = vec![None; wanted.len()];
            for one in &all {
                for (best, found) in least.iter_mut().zip(read(one)) {
                    if let Some(found) = found
                        && is_less(&found, best)
                    {
                        *best = Some(found);
                    }
                }
            }
            write(why.copied().unwrap_or(0), &least)
        })?;
    if let Some(why) = agreed.first().copied().and_then(missing) {
        return Ok(Err(why));
    }
    let found: Option<Vec<Box<[u32]>>> = read(&agreed).into_iter().collect();
    Ok(found.ok_or(TraceMissing::LossyStore))
}
