//! Searching without remembering states: dynamic partial-order reduction, and others to compare
//! it with.
//!
//! Flanagan and Godefroid, *Dynamic partial-order reduction for model checking software* (2005),
//! for processes that take messages in any order, with quorums: the clock of a step is the
//! maximum of its process's clock and of the clocks of all messages that it consumes, as in
//! Bokor, Kinder, Serafini, Suri, *Supporting domain-specific state space reductions through
//! local partial-order reduction* (2011), section VI-B.
//!
//! A process is taken as a whole: where it is explored, so is everything it can do. Then two
//! steps race in one way only: a process took a step, and later another one, unaware of that
//! step, sent it something that it could have had before. There the sender, or what leads to it,
//! must be tried first. (The other way round nothing is lost: what a process could do without the
//! message, it can do with it.) To keep invariants, a state where a visible step is taken is
//! explored in full.
//!
//! Only for state graphs without cycles: a stateless search never comes to an end in others. A
//! cycle is noticed, and refused. A record of messages and crashes join processes in ways that
//! are not followed here, and are refused, too.

use std::collections::HashSet;
use std::rc::Rc;

use rapidhash::RapidHashMap;
use stubborn_reduce::{Aim, Algorithm, Config, Goals, Plan, StubbornReduction};
use stubborn_system::{
    BitSet, Executor, Expansion, LabelId, Reduction, RelationLevel, Successors, System,
};

use crate::check::CheckError;
use crate::model::{Model, Role};
use crate::moves::Move;
use crate::network::Parcel;
use crate::value::{Pid, Value};

/// How a stateless search chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stateless {
    /// Everything, in every order.
    All,
    /// By the stubborn sets of local partial-order reduction.
    Local,
    /// Dynamic partial-order reduction.
    Dynamic,
}

/// What a stateless search saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatelessReport {
    /// Visits of states; a state that is reached twice counts twice.
    pub visits: u64,
    /// Paths to their ends.
    pub executions: u64,
    /// Names of violated invariants, sorted.
    pub violated: Vec<String>,
    /// Nothing was given up.
    pub complete: bool,
}

/// When each process's last known step happened: positions on the path plus one.
type Clock = Rc<[u32]>;

/// Who sent what when.
type Pending = Vec<(Parcel, Clock)>;

/// One state on the path.
struct Frame {
    state: Vec<u32>,
    /// For each process, messages on their way to it.
    pending: Vec<Rc<Pending>>,
    /// For each process, what it knows of the others.
    clocks: Vec<Clock>,
    /// Processes that can do something, that must be tried, and that were.
    enabled: BitSet,
    wanted: BitSet,
    tried: BitSet,
    /// Moves of the process that is being tried, in reverse.
    open: Vec<Move>,
    /// The process of the step that leads on from here.
    by: Pid,
    /// The clock of that step.
    clock: Clock,
}

struct Run<'m, M> {
    model: &'m Model<M>,
    known: RapidHashMap<(u16, u32, u32), Rc<Vec<Move>>>,
    executor: Box<dyn Executor + 'm>,
    bad: Vec<(LabelId, String)>,
    visible: Vec<bool>,
    path: Vec<Frame>,
    on_path: HashSet<Vec<u32>>,
    report: StatelessReport,
}

impl<M: Value> Model<M> {
    /// Looks for violated invariants without remembering states, for at most so many visits, until
    /// all are known to be violated.
    ///
    /// # Errors
    /// Where the search would not be sound, or not come to an end.
    pub fn search_stateless(
        &self,
        how: Stateless,
        most_visits: u64,
    ) -> Result<StatelessReport, CheckError> {
        if how == Stateless::Dynamic {
            if self.inner.protocol.history.is_some() {
                return refuse("it does not follow a record of messages");
            }
            if self.inner.actions.iter().any(|a| a.role == Role::Crash) {
                return refuse("it does not follow crashes");
            }
        }
        let properties = &self.structure().properties;
        let bad: Vec<(LabelId, String)> = properties
            .iter()
            .map(|p| (p.violated_by, p.name.clone()))
            .collect();
        let aim = Aim::Goals(Goals::labels(bad.iter().map(|(label, _)| *label)));
        let relations = self.relations(RelationLevel::Reach);
        let reduction = Plan::new(&Config::new(Algorithm::Lpor), aim)
            .and_then(|plan| StubbornReduction::new(self, &relations, plan))
            .map_err(|e| CheckError(e.to_string()))?;
        let mut visible = vec![false; self.inner.actions.len()];
        for transition in reduction.visible() {
            visible[transition.index()] = true;
        }
        let mut run = Run {
            model: self,
            known: RapidHashMap::default(),
            executor: self.executor(),
            bad,
            visible,
            path: Vec::new(),
            on_path: HashSet::new(),
            report: StatelessReport {
                complete: true,
                ..StatelessReport::default()
            },
        };
        match how {
            Stateless::Dynamic => run.dynamic(most_visits)?,
            Stateless::All => run.by_sets(None, most_visits)?,
            Stateless::Local => run.by_sets(Some(&reduction), most_visits)?,
        }
        run.report.violated.sort();
        Ok(run.report)
    }
}

fn refuse<T>(why: &str) -> Result<T, CheckError> {
    Err(CheckError(format!(
        "dynamic partial-order reduction is not possible here: {why}"
    )))
}

fn cyclic() -> CheckError {
    CheckError(
        "the state graph has a cycle: a stateless search would go round for ever; use a check that \
         remembers states"
            .into(),
    )
}

impl<M: Value> Run<'_, M> {
    fn moves(&mut self, process: usize, state: &[u32]) -> Rc<Vec<Move>> {
        let key = (process as u16, state[2 * process], state[2 * process + 1]);
        let inner = &self.model.inner;
        self.known
            .entry(key)
            .or_insert_with(|| Rc::new(inner.moves(Pid(key.0), key.1, key.2)))
            .clone()
    }

    /// Counts a visit, and notes what is wrong in the state.
    fn visit(&mut self, state: &[u32]) {
        self.report.visits += 1;
        for (label, name) in &self.bad {
            if self.executor.label(state, *label) && !self.report.violated.contains(name) {
                self.report.violated.push(name.clone());
            }
        }
    }

    /// Whether there is nothing more to learn, or no more time to learn it.
    fn is_over(&mut self, most_visits: u64) -> bool {
        let report = &mut self.report;
        let all_violated = !self.bad.is_empty() && report.violated.len() == self.bad.len();
        report.complete &= all_violated || report.visits < most_visits;
        all_violated || report.visits >= most_visits
    }

    /// The walk of Flanagan and Godefroid.
    fn dynamic(&mut self, most_visits: u64) -> Result<(), CheckError> {
        let inner = &self.model.inner;
        let count = inner.protocol.processes.len();
        let state = inner.initial_words().to_vec();
        let nothing: Clock = vec![0; count].into();
        let pending = (0..count).map(|p| {
            let parcels = inner.inboxes.get(state[2 * p + 1]).iter();
            Rc::new(parcels.map(|parcel| (*parcel, nothing.clone())).collect())
        });
        let pending = pending.collect();
        self.enter(state, pending, vec![nothing; count])?;
        while let Some(frame) = self.path.last_mut() {
            if let Some(step) = frame.open.pop() {
                if self.is_over(most_visits) {
                    return Ok(());
                }
                self.take(&step)?;
                continue;
            }
            let next = frame.wanted.iter().find(|p| !frame.tried.contains(*p));
            let Some(process) = next else {
                if let Some(done) = self.path.pop() {
                    self.on_path.remove(&done.state);
                }
                continue;
            };
            frame.tried.insert(process);
            let state = frame.state.clone();
            let moves = self.moves(process, &state);
            let sees = moves.iter().any(|m| self.visible[m.action as usize]);
            if let Some(frame) = self.path.last_mut() {
                if sees {
                    let enabled = frame.enabled.clone();
                    frame.wanted.union_with(&enabled);
                }
                frame.open = moves.iter().rev().cloned().collect();
            }
        }
        Ok(())
    }

    /// A new state at the end of the path.
    fn enter(
        &mut self,
        state: Vec<u32>,
        pending: Vec<Rc<Pending>>,
        clocks: Vec<Clock>,
    ) -> Result<(), CheckError> {
        if !self.on_path.insert(state.clone()) {
            return Err(cyclic());
        }
        self.visit(&state);
        let count = clocks.len();
        let mut enabled = BitSet::new(count);
        for process in 0..count {
            enabled.assign(process, !self.moves(process, &state).is_empty());
        }
        let mut wanted = BitSet::new(count);
        match enabled.iter().next() {
            Some(first) => {
                wanted.insert(first);
            }
            None => self.report.executions += 1,
        }
        self.path.push(Frame {
            state,
            pending,
            clock: clocks[0].clone(),
            clocks,
            enabled,
            wanted,
            tried: BitSet::new(count),
            open: Vec::new(),
            by: Pid(0),
        });
        Ok(())
    }

    /// Takes a step from the end of the path, and looks for races with earlier ones.
    fn take(&mut self, step: &Move) -> Result<(), CheckError> {
        let inner = &self.model.inner;
        let by = inner.actions[step.action as usize].process;
        let position = self.path.len();
        let Some(frame) = self.path.last_mut() else {
            return Ok(());
        };
        let mut clock = frame.clocks[by.index()].to_vec();
        let mut pending = frame.pending.clone();
        for parcel in &step.consumed {
            let own = Rc::make_mut(&mut pending[by.index()]);
            // Of equal messages, the one that was sent first: it knows least.
            if let Some(at) = own.iter().position(|(p, _)| p == parcel) {
                let (_, sent) = if inner.protocol.network.consumes() {
                    own.remove(at)
                } else {
                    own[at].clone()
                };
                for (mine, theirs) in clock.iter_mut().zip(sent.iter()) {
                    *mine = (*mine).max(*theirs);
                }
            }
        }
        clock[by.index()] = position as u32;
        let clock: Clock = clock.into();
        let mut clocks = frame.clocks.clone();
        clocks[by.index()] = clock.clone();
        frame.by = by;
        frame.clock = clock.clone();
        let mut state = frame.state.clone();
        inner.apply(step, &mut state);
        let mut receivers: Vec<Pid> = step.posts.iter().map(|(to, _)| *to).collect();
        for (to, post) in &step.posts {
            let theirs = Rc::make_mut(&mut pending[to.index()]);
            theirs.extend(inner.posts.get(*post).iter().map(|p| (*p, clock.clone())));
        }
        // What a process sends to itself it knows of.
        let own = Rc::make_mut(&mut pending[by.index()]);
        own.retain(|(p, _)| p.from != by);
        let inbox = inner.inboxes.get(step.inbox).iter();
        own.extend(inbox.filter(|p| p.from == by).map(|p| (*p, clock.clone())));
        receivers.sort_unstable();
        receivers.dedup();
        for receiver in receivers {
            self.race(receiver, by, &clock);
        }
        self.enter(state, pending, clocks)
    }

    /// A message was sent to `receiver` by `sender`, with this clock: the receiver's last step
    /// that the sender does not know of could have come later.
    fn race(&mut self, receiver: Pid, sender: Pid, clock: &Clock) {
        // The last frame is where the sender's step starts.
        let last = self.path.len() - 1;
        let known = clock[receiver.index()] as usize;
        let earlier = (known..last).rev().find(|at| self.path[*at].by == receiver);
        let Some(at) = earlier else {
            return;
        };
        // Processes that can start something at that state which leads to the sender's step.
        let mut fitting: Option<usize> = None;
        let enabled = self.path[at].enabled.clone();
        if enabled.contains(sender.index()) {
            fitting = Some(sender.index());
        } else {
            for process in enabled.iter().filter(|p| *p != receiver.index()) {
                let leads = (at + 1..last)
                    .any(|k| self.path[k].by.index() == process && clock[process] as usize > k);
                if leads {
                    fitting = Some(process);
                    break;
                }
            }
        }
        let frame = &mut self.path[at];
        match fitting {
            Some(process) => {
                frame.wanted.insert(process);
            }
            None => frame.wanted.union_with(&enabled),
        }
    }

    /// Every path through all successors, or those by stubborn sets.
    fn by_sets(
        &mut self,
        reduction: Option<&StubbornReduction>,
        most_visits: u64,
    ) -> Result<(), CheckError> {
        let words = self.model.layout().words();
        let mut reducer = reduction.map(Reduction::reducer);
        let mut successors = Successors::new(words);
        let mut kept = BitSet::new(self.model.inner.actions.len());
        // Each entry: a state, and its successors that are still to be visited.
        let mut path: Vec<(Vec<u32>, Vec<Vec<u32>>)> = Vec::new();
        let mut next = Some(self.model.initial_states());
        loop {
            if let Some(state) = next.take() {
                if self.is_over(most_visits) {
                    return Ok(());
                }
                if !self.on_path.insert(state.clone()) {
                    return Err(cyclic());
                }
                self.visit(&state);
                successors.clear();
                self.executor.successors(&state, &mut successors);
                kept.fill();
                if let (Some(reducer), false) = (&mut reducer, successors.is_empty()) {
                    let mut expansion = Expansion {
                        state: &state,
                        executor: &mut *self.executor,
                        successors: &successors,
                        is_known: None,
                    };
                    reducer.reduce(&mut expansion, &mut kept);
                }
                let chosen = successors.iter();
                let chosen = chosen.filter(|s| kept.contains(s.transition.index()));
                let open: Vec<_> = chosen.map(|s| s.state.to_vec()).rev_collect();
                self.report.executions += u64::from(open.is_empty());
                path.push((state, open));
            }
            let Some((state, open)) = path.last_mut() else {
                return Ok(());
            };
            next = open.pop();
            if next.is_none() {
                self.on_path.remove(state);
                path.pop();
            }
        }
    }
}

/// Collects backwards, so that `pop` gives the first.
trait RevCollect: Iterator + Sized {
    fn rev_collect(self) -> Vec<Self::Item> {
        let mut all: Vec<_> = self.collect();
        all.reverse();
        all
    }
}

impl<I: Iterator> RevCollect for I {}
