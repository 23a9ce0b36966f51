//! Two-phase commit for stateright, with the states of
//! `stubborn_protocol::protocols::two_phase_commit`.

use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Resource {
    Working,
    Prepared,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Decision {
    Open,
    Commit,
    Abort,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sent {
    Prepared(usize),
    Commit,
    Abort,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    resources: Vec<Resource>,
    decision: Decision,
    prepared: Vec<bool>,
    sent: BTreeSet<Sent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Note(usize),
    Commit,
    Abort,
    Prepare(usize),
    GiveUp(usize),
    HearCommit(usize),
    HearAbort(usize),
}

#[derive(Clone)]
struct System(usize);

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            resources: vec![Resource::Working; self.0],
            decision: Decision::Open,
            prepared: vec![false; self.0],
            sent: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let open = state.decision == Decision::Open;
        if open {
            if state.prepared.iter().all(|p| *p) {
                steps.push(Step::Commit);
            }
            steps.push(Step::Abort);
        }
        let told = |what: &Sent| state.sent.contains(what);
        for r in 0..self.0 {
            if open && told(&Sent::Prepared(r)) {
                steps.push(Step::Note(r));
            }
            if state.resources[r] == Resource::Working {
                steps.extend([Step::Prepare(r), Step::GiveUp(r)]);
            }
            if told(&Sent::Commit) {
                steps.push(Step::HearCommit(r));
            }
            if told(&Sent::Abort) {
                steps.push(Step::HearAbort(r));
            }
        }
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut state = before.clone();
        match step {
            Step::Note(r) => state.prepared[r] = true,
            Step::Commit => {
                state.decision = Decision::Commit;
                state.sent.insert(Sent::Commit);
            }
            Step::Abort => {
                state.decision = Decision::Abort;
                state.sent.insert(Sent::Abort);
            }
            Step::Prepare(r) => {
                state.resources[r] = Resource::Prepared;
                state.sent.insert(Sent::Prepared(r));
            }
            Step::GiveUp(r) | Step::HearAbort(r) => state.resources[r] = Resource::Aborted,
            Step::HearCommit(r) => state.resources[r] = Resource::Committed,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::<Self>::always("consistent", |_, state| {
            let has = |what| state.resources.contains(&what);
            !(has(Resource::Committed) && has(Resource::Aborted))
        })]
    }
}

pub fn states(resources: usize, breadth_first: bool) -> u64 {
    let checker = System(resources).checker();
    if breadth_first {
        checker.spawn_bfs().join().unique_state_count() as u64
    } else {
        checker.spawn_dfs().join().unique_state_count() as u64
    }
}
