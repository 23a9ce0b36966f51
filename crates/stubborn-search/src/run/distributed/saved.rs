//! Writing down a search of several processes, and taking it up again with as many as there are
//! then.
//!
//! The leader writes everything into one file: what was counted, then the store and the next
//! level of one process after the other, each of which comes over the network in its turn. One
//! file is complete or not, whatever happens to whom. When it is read, the leader sends every
//! state to the one it belongs to now.

use std::io;
use std::sync::PoisonError;
use std::time::Duration;

use stubborn_cluster::Cluster;
use stubborn_store::saved::{Kind, Sink, Source, damaged};
use stubborn_store::{StateHandle, Store};

use super::{Distributed, Spread, Status, bytes_of, numbers_of, topic};
use crate::config::Search;
use crate::context::Sum;
use crate::memory::Words;
use crate::result::SearchResult;
use crate::run::resume::numbers;
use crate::saved::{MANY, Reading, ResumeError};

/// What the bytes mean.
const VERSION: u64 = Kind::DistributedSearch.number();
/// Bytes that are sent at once.
const FRAME: usize = 256 << 10;
/// How long to wait before looking again.
const PATIENCE: Duration = Duration::from_millis(100);
/// More processes than there are.
const MANY_PROCESSES: u64 = 1 << 16;

/// States with their flags, for their new owner; none if those were the last.
const OWN: u8 = 12;

/// A state that waits to be expanded, among the flags of [`crate::flags`].
const WAITS: u8 = 1 << 4;

impl<'s> Spread<'s> {
    /// Writes the search down that waits; all processes must.
    pub(super) fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        let can_go_on = matches!(self.status, Status::Waits | Status::Paused);
        let (Ok(store), true) = (&self.exploration.store, can_go_on) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let cluster = &mut self.engine.cluster();
        let (limit, total) = self.total(cluster, store)?;
        if limit.is_some() {
            // Who gave up may have delivered anything.
            return Err(io::ErrorKind::Unsupported.into());
        }
        let is_leader = cluster.is_leader();
        let size = cluster.size();
        cluster.gather(sink.output(), |output| {
            let sink = &mut Sink::new(output);
            if is_leader {
                self.save_head(&total, size, sink)?;
            }
            self.save_part(store, sink)
        })
    }

    fn save_head(&self, total: &Sum, size: usize, sink: &mut Sink<'_>) -> io::Result<()> {
        let frontier = &self.exploration.frontier;
        sink.number(VERSION)?;
        sink.text(&self.search.description())?;
        total.save(sink)?;
        sink.numbers([self.totals.states, frontier.levels])?;
        sink.number(frontier.level_sizes.len() as u64)?;
        sink.numbers(frontier.level_sizes.iter().copied())?;
        sink.number(size as u64)
    }

    /// What this process has.
    fn save_part(&self, store: &Store, sink: &mut Sink<'_>) -> io::Result<()> {
        store.save(sink)?;
        let next = self.next.as_ref().map_or(&[][..], Words::as_slice);
        sink.number(next.len() as u64)?;
        sink.numbers(next.iter().copied())
    }

    pub(super) fn resume(
        engine: &'s Distributed<'s>,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Self, ResumeError> {
        let is_leader = engine.cluster().is_leader();
        if is_leader {
            let version = source.number()?;
            if version != VERSION {
                return Err(ResumeError::Foreign(
                    "it is of another number of processes: one, or several".into(),
                ));
            }
            let (saved, own) = (source.text()?, search.description());
            if saved != own {
                return Err(ResumeError::Foreign(format!(
                    "another search was saved ({saved}) than the one to go on with ({own})"
                )));
            }
        }
        let mut spread = Self::begin(engine, search)?;
        // What was explored stays.
        spread.looks = &[];
        if spread.status == Status::NoRoom {
            return Ok(spread);
        }
        let shape = match is_leader {
            true => spread.hand_out(source)?,
            false => spread.take_over()?,
        };
        let agreed = engine
            .cluster()
            .agree(topic::SHAPE, bytes_of(shape), |all| all[0].clone());
        let agreed = numbers_of(&agreed.map_err(io::Error::from)?);
        let [states, levels, sizes @ ..] = &agreed[..] else {
            return Err(damaged("there are no levels").into());
        };
        spread.totals.states = *states;
        let frontier = &mut spread.exploration.frontier;
        frontier.levels = *levels;
        frontier.level_sizes = sizes.to_vec();
        let control = &spread.exploration.parts.control;
        control.wait();
        spread.status = Status::Paused;
        Ok(spread)
    }

    /// Reads what all processes had, and gives each state to its owner; returns the number of
    /// states, that of levels, and their sizes.
    fn hand_out(&mut self, source: &mut Source<'_>) -> Result<Vec<u64>, ResumeError> {
        let search = self.search;
        let parts = &self.exploration.parts;
        let Ok(store) = &self.exploration.store else {
            return Err(damaged("there is no store").into());
        };
        let shape = parts.context(store).shape;
        let sum = {
            let mut reading = Reading::new(source, &parts.ledger, shape, store.worker());
            Sum::restore(&mut reading, search)?
        };
        for (target, tally) in sum.tallies.iter().enumerate() {
            if tally.best.is_some() {
                parts.control.note_hit(target);
            }
        }
        *parts.sum.lock().unwrap_or_else(PoisonError::into_inner) = sum;
        let many = |source: &mut Source<'_>| source.at_most(MANY, "a number is too large");
        let (states, levels) = (many(source)?, many(source)?);
        let most = levels.min(SearchResult::LEVEL_SIZES as u64);
        let sizes = source.at_most(most, "too many levels")?;
        let mut result = vec![states, levels];
        result.extend(numbers(source, sizes as usize)?);
        let parts_count = source.at_most(MANY_PROCESSES, "too many processes")?;
        let mut found = 0;
        for _ in 0..parts_count {
            found += self.hand_out_part(source)?;
        }
        if found != states {
            return Err(damaged("states are missing").into());
        }
        let cluster = &mut self.engine.cluster();
        for other in cluster.others() {
            cluster.send(other, OWN, &[]).map_err(io::Error::from)?;
        }
        Ok(result)
    }

    /// What one process had.
    fn hand_out_part(&mut self, source: &mut Source<'_>) -> Result<u64, ResumeError> {
        let search = self.search;
        let width = search.system.layout().words();
        let budget = search.limits.memory_budget(search.system);
        let part = Store::restore(width, &search.store, &budget, source)?;
        let mut reader = part.worker();
        for _ in 0..source.count(size_of::<u64>())? {
            let state = StateHandle::from_bits(source.number()?);
            if !reader.holds(state) {
                return Err(damaged("a state is not there").into());
            }
            reader.set_flags(state, WAITS);
        }
        let cluster = &mut self.engine.cluster();
        let mut frames: Vec<Vec<u8>> = vec![Vec::new(); cluster.size()];
        let mut cursor = part.cursor();
        let mut result = Ok(());
        let owners = self.owners.clone();
        let mut take = |state: StateHandle, flags: u8| -> io::Result<()> {
            let _ = reader.load(state, &mut cursor);
            let owner = owners.owner(cursor.words());
            let frame = &mut frames[owner];
            frame.extend(u32::from(flags).to_le_bytes());
            frame.extend(cursor.words().iter().flat_map(|word| word.to_le_bytes()));
            if frame.len() >= FRAME {
                self.pass(cluster, owner, frame)?;
            }
            Ok(())
        };
        part.for_each(&mut |state, flags| {
            result = take(state, flags);
            result.is_ok()
        });
        result?;
        for (owner, frame) in frames.iter_mut().enumerate() {
            self.pass(cluster, owner, frame)?;
        }
        Ok(part.len())
    }

    /// Gives states to their owner.
    fn pass(&mut self, cluster: &mut Cluster, owner: usize, frame: &mut Vec<u8>) -> io::Result<()> {
        if owner == cluster.rank() {
            self.keep(frame)?;
        } else if !frame.is_empty() {
            cluster.send_in_time(owner, OWN, frame)?;
        }
        frame.clear();
        Ok(())
    }

    /// Stores states that are to belong here.
    fn keep(&mut self, frame: &[u8]) -> io::Result<()> {
        let no_room = |error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::OutOfMemory, error.to_string())
        };
        let parts = &self.exploration.parts;
        let Ok(store) = &self.exploration.store else {
            return Ok(());
        };
        let next = self.next.get_or_insert_with(|| Words::new(&parts.ledger));
        let (mut worker, nowhere) = (store.worker(), store.cursor());
        let (words, _) = frame.as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        for one in words.chunks_exact(1 + store.width()) {
            let inserted = worker.insert(&nowhere, &one[1..], None);
            let state = inserted.map_err(|error| no_room(&error))?.handle;
            let flags = one[0] as u8;
            worker.set_flags(state, flags & !WAITS);
            if flags & WAITS != 0 {
                let pushed = next.push(state.to_bits());
                pushed.map_err(|error| no_room(&error))?;
            }
        }
        Ok(())
    }

    /// Takes what the leader hands out.
    fn take_over(&mut self) -> Result<Vec<u64>, ResumeError> {
        let parts = &self.exploration.parts;
        self.next = Some(Words::new(&parts.ledger));
        loop {
            let message = self.engine.cluster().receive(PATIENCE);
            let message = message.map_err(io::Error::from)?;
            match message {
                Some(message) if message.body.is_empty() => return Ok(Vec::new()),
                Some(message) => self.keep(&message.body)?,
                None => {}
            }
        }
    }
}
