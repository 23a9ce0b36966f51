//! Many random walks, and what came out of them.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use stubborn::diagnostics::Span;
use stubborn::system::{BitSet, Random};
use stubborn::{LoadedModel, Trace, story};

use super::walk::Walk;
use super::{at_random, resume};
use crate::exit::{Failure, Status};
use crate::options::SimulateArgs;
use crate::terminal::{counted, grouped, print};

/// More different states are not counted.
const MOST_STATES: usize = 1 << 20;

/// What was violated, and in which runs.
#[derive(Default)]
struct Violated {
    runs: u64,
    span: Option<Span>,
    /// The fewest steps, and the seed of the first run with so few.
    shortest: Option<(usize, u64)>,
}

/// Where walks came to.
#[derive(Default)]
struct Tally {
    steps: u64,
    longest: usize,
    /// Came to as many steps as they may have.
    unfinished: u64,
    /// Ended where they may.
    ended: u64,
    violated: BTreeMap<String, Violated>,
    states: HashSet<Vec<u32>>,
}

/// Walks with one seed after the other, and shows the shortest run that violates something; without
/// one, the first run is the result, and not shown.
pub(super) fn many(
    args: &SimulateArgs,
    model: &mut LoadedModel,
    runs: u64,
    status: &mut Status,
) -> Result<Trace, Failure> {
    let mut tally = Tally::default();
    let mut taken_transitions = BitSet::new(model.reference().structure().transitions.len());
    let mut first = None;
    let mut seed = args.seed;
    let last = args.seed.saturating_add(runs.max(1) - 1);
    let (mut walk, _) = resume(model, false, &[])?;
    while seed <= last {
        if let Some(trace) = quietly(&mut walk, args.steps, seed, &mut tally) {
            for step in trace.steps() {
                taken_transitions.insert(step.transition.index());
            }
            first.get_or_insert(trace);
            match seed.checked_add(1) {
                Some(next) => seed = next,
                None => break,
            }
            continue;
        }
        // The model has to grow; what was learnt is about the small one.
        let missing = walk.missing();
        drop(walk);
        if !model.grow_for(&missing)? {
            return Err(Failure::wrong("the model starts too many processes"));
        }
        (walk, _) = resume(model, false, &[])?;
        (tally, first, seed) = (Tally::default(), None, args.seed);
        taken_transitions = BitSet::new(walk.system.structure().transitions.len());
    }
    let all = walk.system.structure().transitions.len();
    drop(walk);
    let taken = taken_transitions.count();
    print(&told(model, &tally, args, last, (taken, all)));
    let shortest = tally
        .violated
        .values()
        .filter_map(|violated| violated.shortest);
    match (shortest.min(), first) {
        (Some((steps, seed)), _) => {
            print(&format!(
                "\nthe shortest of them, --seed {seed} --steps {}:\n",
                steps.max(1)
            ));
            at_random(args, model, seed, status)
        }
        (None, Some(trace)) => Ok(trace),
        (None, None) => at_random(args, model, args.seed, status),
    }
}

/// One walk; `None` if the model has to grow for it.
fn quietly(walk: &mut Walk<'_>, steps: usize, seed: u64, tally: &mut Tally) -> Option<Trace> {
    let mut dice = Random::new(seed);
    let mut trace = walk.first_state();
    loop {
        let choices = walk.choices(&trace);
        if walk.misses_something() {
            return None;
        }
        if tally.states.len() < MOST_STATES && !tally.states.contains(trace.last_state()) {
            tally.states.insert(trace.last_state().to_vec());
        }
        let found = walk.violations(&trace);
        let is_over = !found.is_empty() || choices == 0 || trace.len() == steps;
        if !is_over {
            let choice = dice.below(choices);
            walk.take(&mut trace, choice);
            continue;
        }
        tally.steps += trace.len() as u64;
        tally.longest = tally.longest.max(trace.len());
        match (found.is_empty(), choices) {
            (true, 0) => tally.ended += 1,
            (true, _) => tally.unfinished += 1,
            (false, _) => {}
        }
        for (what, span) in found {
            let violated = tally.violated.entry(what).or_default();
            violated.runs += 1;
            violated.span = violated.span.or(span);
            if violated
                .shortest
                .is_none_or(|(fewest, _)| trace.len() < fewest)
            {
                violated.shortest = Some((trace.len(), seed));
            }
        }
        return Some(trace);
    }
}

fn told(
    model: &LoadedModel,
    tally: &Tally,
    args: &SimulateArgs,
    last: u64,
    (taken, all): (usize, usize),
) -> String {
    let runs = last - args.seed + 1;
    let more = if tally.states.len() < MOST_STATES {
        ""
    } else {
        "at least "
    };
    let mut out = format!(
        "{} (seeds {} to {last}): {}, the longest has {}; {more}{}, {} of {}\n",
        counted(runs, "run"),
        args.seed,
        counted(tally.steps, "step"),
        grouped(tally.longest as u64),
        counted(tally.states.len() as u64, "different state"),
        grouped(taken as u64),
        counted(all as u64, "transition") + " taken",
    );
    let mut line = |count: u64, what: &str| {
        if count > 0 {
            let _ = writeln!(out, "  {:>6} {what}", grouped(count));
        }
    };
    line(
        tally.unfinished,
        &format!("came to {} (--steps)", counted(args.steps as u64, "step")),
    );
    line(tally.ended, "ended where they may");
    for (what, violated) in &tally.violated {
        let shortest = match violated.shortest {
            Some((steps, seed)) => {
                format!(": --seed {seed} after {}", counted(steps as u64, "step"))
            }
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "  {:>6} violated: {what}{shortest}",
            grouped(violated.runs)
        );
        out += &story::source_line(model, violated.span);
    }
    out
}
