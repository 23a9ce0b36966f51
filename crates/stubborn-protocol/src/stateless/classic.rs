//! Dynamic partial-order reduction as it was invented.
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

use std::rc::Rc;

use rapidhash::RapidHashMap;
use stubborn_system::BitSet;

use super::Run;
use super::local_sets::LocalSets;
use crate::error::CheckError;
use crate::moves::Move;
use crate::network::Parcel;
use crate::value::Pid;

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
    /// Processes that can do something.
    enabled: BitSet,
    /// Those that local reduction would explore; all, if it is not asked.
    preferred: BitSet,
    /// Processes that must be tried, and that were.
    wanted: BitSet,
    tried: BitSet,
    /// Moves of the process that is being tried, in reverse.
    open: Vec<Move>,
    /// The process of the step that leads on from here.
    by: Pid,
    /// The clock of that step.
    clock: Clock,
}

/// A walk through a protocol.
pub(super) struct Walk<'r, 'm> {
    run: &'r mut Run<'m>,
    /// Where a set of local reduction is looked up, if it is.
    local_sets: Option<LocalSets<'m>>,
    visible: Vec<bool>,
    known: RapidHashMap<(u16, u32, u32), Rc<Vec<Move>>>,
    path: Vec<Frame>,
}

impl<'r, 'm> Walk<'r, 'm> {
    pub(super) fn new(
        run: &'r mut Run<'m>,
        local_sets: Option<LocalSets<'m>>,
        visible: Vec<bool>,
    ) -> Self {
        Self {
            run,
            local_sets,
            visible,
            known: RapidHashMap::default(),
            path: Vec::new(),
        }
    }

    fn moves(&mut self, process: usize, state: &[u32]) -> Rc<Vec<Move>> {
        let key = (process as u16, state[2 * process], state[2 * process + 1]);
        let inner = &self.run.model.inner;
        self.known
            .entry(key)
            .or_insert_with(|| Rc::new(inner.moves(Pid(key.0), key.1, key.2)))
            .clone()
    }

    /// The walk of Flanagan and Godefroid.
    pub(super) fn explore(&mut self, most_visits: u64) -> Result<(), CheckError> {
        let inner = &self.run.model.inner;
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
                if self.run.is_over(most_visits) {
                    return Ok(());
                }
                self.take(&step)?;
                continue;
            }
            let next = frame.wanted.iter().find(|p| !frame.tried.contains(*p));
            let Some(process) = next else {
                if let Some(done) = self.path.pop() {
                    self.run.on_path.remove(&done.state);
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
        if !self.run.on_path.insert(state.clone()) {
            return Err(CheckError::Cyclic);
        }
        self.run.visit(&state);
        let count = clocks.len();
        let mut enabled = BitSet::new(count);
        for process in 0..count {
            enabled.assign(process, !self.moves(process, &state).is_empty());
        }
        let mut wanted = BitSet::new(count);
        let mut preferred = enabled.clone();
        if let Some(sets) = &mut self.local_sets {
            preferred.clear();
            let processes = sets.processes(&state);
            processes.iter().for_each(|p| {
                preferred.insert(p.index());
            });
        }
        let first = preferred.iter().find(|p| enabled.contains(*p));
        match first.or_else(|| enabled.iter().next()) {
            Some(first) => {
                wanted.insert(first);
            }
            None => self.run.report.executions += 1,
        }
        self.path.push(Frame {
            state,
            pending,
            clock: clocks[0].clone(),
            clocks,
            enabled,
            preferred,
            wanted,
            tried: BitSet::new(count),
            open: Vec::new(),
            by: Pid(0),
        });
        Ok(())
    }

    /// Takes a step from the end of the path, and looks for races with earlier ones.
    fn take(&mut self, step: &Move) -> Result<(), CheckError> {
        let inner = &self.run.model.inner;
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
        let enabled = self.path[at].enabled.clone();
        let leads = |process: usize| {
            let its = |k: usize| self.path[k].by.index() == process;
            process == sender.index()
                || process != receiver.index()
                    && (at + 1..last).any(|k| its(k) && clock[process] as usize > k)
        };
        let fitting: Vec<usize> = enabled.iter().filter(|p| leads(*p)).collect();
        let is_preferred = |p: &&usize| self.path[at].preferred.contains(**p);
        let is_sender = |p: &&usize| **p == sender.index();
        // All preferred ones are as good as any; among them, the shortest way is the sender.
        let preferred: Vec<usize> = fitting.iter().filter(is_preferred).copied().collect();
        let among = if preferred.is_empty() {
            &fitting
        } else {
            &preferred
        };
        let fitting = among.iter().find(is_sender).or(among.first()).copied();
        let frame = &mut self.path[at];
        match fitting {
            Some(process) => {
                frame.wanted.insert(process);
            }
            None => frame.wanted.union_with(&enabled),
        }
    }
}
