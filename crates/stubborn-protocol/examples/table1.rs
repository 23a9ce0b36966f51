//! Table I of Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space reductions
//! through local partial-order reduction* (2011), for the protocols of this crate: states (visits,
//! for stateless searches) and seconds.
//!
//! - *unreduced*: all states;
//! - *DPOR*: dynamic partial-order reduction, stateless;
//! - *stateless*: local partial-order reduction without remembering states;
//! - *LPOR*: the library of the paper (`stubborn_reduce::lpor`) with static relations;
//! - *LPOR + NET*: the same, told in each state what disabled transitions still need;
//! - *lpor*: the reduction of that name, which is state-conditional throughout.
//!
//! ```sh
//! cargo run --release -p stubborn-protocol --example table1
//! ```
//!
//! With the argument `all`, rows that take minutes are there, too.

#![allow(clippy::print_stdout)] // an example talks

use std::time::Instant;

use stubborn_protocol::protocols::{echo_multicast, paxos, storage};
use stubborn_protocol::{Model, Protocol, Stateless, Value};
use stubborn_reduce::lpor::{Cycles, Keep, Lpor, Relations, Situation, TransitionId};
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan, StubbornReduction};
use stubborn_search::proviso::OnStack;
use stubborn_search::{Limits, Order, Search, Stop, Target};
use stubborn_system::{
    BitSet, Executor, Expansion, Reducer, Reduction, RelationLevel, SetMember, Structure, System,
};

/// Stateless searches give up here.
const MOST_VISITS: u64 = 2_000_000;
/// And others here.
const MOST_STATES: u64 = 40_000_000;

/// The relations of a model in the library's terms.
struct Known<'m> {
    structure: &'m Structure,
    relations: &'m stubborn_system::Relations,
    disturbs: Vec<BitSet>,
    visible: BitSet,
}

impl<'m> Known<'m> {
    fn new(
        structure: &'m Structure,
        relations: &'m stubborn_system::Relations,
        visible: &[TransitionId],
    ) -> Self {
        let count = structure.transitions.len();
        let mut seen = BitSet::new(count);
        for t in visible {
            seen.insert(t.index());
        }
        let row = |t: TransitionId| {
            let mut row = BitSet::new(count);
            for u in relations.do_not_accord.0.row(t).filter(|u| *u != t) {
                // Does `t` disturb `u`: disable it, or keep it from being moved left?
                let disables = |g| relations.may_disable.0.contains(g, t);
                let guards = &structure.transition(u).guards;
                if relations.do_not_left_accord.0.contains(u, t)
                    || guards.iter().any(|g| disables(*g))
                {
                    row.insert(u.index());
                }
            }
            row
        };
        Self {
            structure,
            relations,
            disturbs: structure.transition_ids().map(row).collect(),
            visible: seen,
        }
    }
}

impl Relations for Known<'_> {
    fn transitions(&self) -> usize {
        self.structure.transitions.len()
    }

    fn can_enable(&self, t: TransitionId, u: TransitionId) -> bool {
        let guards = &self.structure.transition(u).guards;
        let enable = &self.relations.may_enable.0;
        guards.iter().any(|g| enable.contains(*g, t))
    }

    fn disturbs(&self, t: TransitionId, u: TransitionId) -> bool {
        self.disturbs[t.index()].contains(u.index())
    }

    fn is_visible(&self, t: TransitionId) -> bool {
        self.visible.contains(t.index())
    }
}

/// The library behind the interface that searches use.
struct ByLibrary<'m> {
    lpor: Lpor<Known<'m>>,
    with_net: bool,
}

impl Reduction for ByLibrary<'_> {
    fn reducer(&self) -> Box<dyn Reducer + '_> {
        Box::new(Worker(self))
    }

    fn name(&self) -> String {
        if self.with_net {
            "LPOR + NET".into()
        } else {
            "LPOR".into()
        }
    }
}

struct Worker<'r>(&'r ByLibrary<'r>);

/// What the guards of disabled transitions wait for in one state.
struct Waiting(Vec<Vec<Vec<TransitionId>>>);

impl Situation for Waiting {
    fn enabling_sets(&self, t: TransitionId, visit: &mut dyn FnMut(&[TransitionId])) {
        self.0[t.index()].iter().for_each(|set| visit(set));
    }
}

fn waiting(known: &Known<'_>, state: &[u32], executor: &mut dyn Executor) -> Waiting {
    let sets = known.structure.transitions.iter().map(|t| {
        let guards = t.guards.iter();
        guards
            .filter(|g| !executor.label(state, **g))
            .map(|g| known.relations.may_enable.0.row(*g).collect())
            .collect()
    });
    Waiting(sets.collect())
}

impl Reducer for Worker<'_> {
    fn reduce(&mut self, expansion: &mut Expansion<'_>, kept: &mut BitSet) -> bool {
        let enabled: Vec<TransitionId> = expansion.enabled().collect();
        let lpor = &self.0.lpor;
        let plain = |t: &TransitionId| lpor.stubborn_set(*t, &enabled);
        let chosen = if self.0.with_net {
            // The start is chosen as without NET, so that the set can only become smaller.
            let here = waiting(lpor.relations(), expansion.state, expansion.executor);
            let sets = enabled
                .iter()
                .map(|t| (lpor.stubborn_set_in(*t, &enabled, &here), plain(t).len()));
            let best = sets.min_by_key(|(set, without)| (*without, set.len()));
            best.map_or(Vec::new(), |(set, _)| set)
        } else {
            lpor.set_in(&enabled, &stubborn_reduce::lpor::Unconditional)
        };
        kept.clear();
        for t in &chosen {
            kept.insert(t.index());
        }
        chosen.len() < enabled.len()
    }

    fn last_set(&self) -> Vec<SetMember> {
        Vec::new()
    }
}

fn search(
    system: &dyn System,
    reduction: Option<&dyn Reduction>,
    targets: Vec<Target>,
    is_planned: bool,
) -> String {
    let started = Instant::now();
    let result = Search {
        reduction,
        proviso: is_planned.then_some(&OnStack),
        order: Order::DepthFirst,
        targets,
        stop: Stop::AllViolated,
        limits: Limits {
            states: Some(MOST_STATES),
            ..Limits::default()
        },
        ..Search::new(system)
    }
    .run()
    .expect("a search");
    let verdict = match (result.violations.is_empty(), result.is_complete()) {
        (false, _) => "CE",
        (true, true) => "OK",
        (true, false) => ">",
    };
    let seconds = started.elapsed().as_secs_f64();
    format!("{verdict} {} ({seconds:.2} s)", result.states)
}

fn stateless<M: Value>(model: &Model<M>, how: Stateless) -> String {
    let started = Instant::now();
    match model.stateless(how).most_visits(MOST_VISITS).run() {
        Err(error) => error.to_string(),
        Ok(report) => {
            let verdict = match (report.violated.is_empty(), report.complete) {
                (false, _) => "CE",
                (true, true) => "OK",
                (true, false) => ">",
            };
            let seconds = started.elapsed().as_secs_f64();
            format!("{verdict} {} ({seconds:.2} s)", report.visits)
        }
    }
}

fn row<M: Value>(name: &str, protocol: Protocol<M>) {
    let model = protocol.build().expect("a model");
    let structure = model.structure();
    let bad: Vec<_> = structure.properties.iter().map(|p| p.violated_by).collect();
    let targets: Vec<_> = bad.iter().map(|l| Target::Label(*l)).collect();
    let relations = model.relations(RelationLevel::Reach);
    let plan = Plan::new(
        &Config::new(Algorithm::Lpor),
        Aim::Goals(Goals::labels(bad)),
    );
    let own = StubbornReduction::new(&model, &relations, plan.expect("a plan")).expect("sets");
    let library = |with_net| {
        let known = Known::new(structure, &relations, &own.visible());
        // These protocols consume messages, and make no new ones for ever.
        let lpor = Lpor::new(known, Keep::Invariants(Cycles::None)).expect("no cycles");
        ByLibrary { lpor, with_net }
    };
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} |",
        search(&model, None, targets.clone(), false),
        stateless(&model, Stateless::Dynamic),
        stateless(&model, Stateless::Local),
        search(&model, Some(&library(false)), targets.clone(), false),
        search(&model, Some(&library(true)), targets.clone(), false),
        search(&model, Some(&own), targets, true),
    );
}

fn main() {
    let all = std::env::args().nth(1).is_some_and(|a| a == "all");
    println!("| protocol | unreduced | DPOR | stateless | LPOR | LPOR + NET | lpor |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let six = paxos::Setting::default();
    row("Paxos (6)", paxos::protocol(six));
    let counting = paxos::Setting {
        quorums: false,
        ..six
    };
    row("Paxos (6), one by one", paxos::protocol(counting));
    let careless = paxos::Setting {
        fault: paxos::Fault::CarelessLearner,
        ..six
    };
    row("F-Paxos (6)", paxos::protocol(careless));
    let stubborn = paxos::Setting {
        fault: paxos::Fault::StubbornProposer,
        learners: 2,
        ..six
    };
    row("F-Paxos2 (7)", paxos::protocol(stubborn));
    use storage::Specification::{Regular, Wrong};
    row("Register (5)", storage::protocol(1, 3, Regular));
    row("Register (5), wrong", storage::protocol(1, 3, Wrong));
    if all {
        row("Register (6), wrong", storage::protocol(2, 3, Wrong));
    }
    let five = echo_multicast::Setting::default();
    row("Multicast (5)", echo_multicast::protocol(five));
    let six = echo_multicast::Setting {
        honest_initiators: 1,
        ..five
    };
    row("Multicast (6)", echo_multicast::protocol(six));
    let wrong = echo_multicast::Setting {
        specification: echo_multicast::Specification::Wrong,
        ..six
    };
    row("Multicast (6), wrong", echo_multicast::protocol(wrong));
}
