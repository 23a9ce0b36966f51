//! Writing down a search on disk between two levels, and taking it up again.

use std::fs;
use std::io;
use std::sync::PoisonError;

use stubborn_store::saved::{Kind, Sink, Source, damaged};

use super::{Disk, Levels, Spilling};
use crate::config::Search;
use crate::context::Sum;
use crate::result::SearchResult;
use crate::run::resume::numbers;
use crate::runs::Run;
use crate::saved::{MANY, Reading, ResumeError};

/// More runs than there are.
const MANY_RUNS: u64 = 1 << 32;

impl Spilling<'_> {
    /// Writes down what is on disk.
    pub(super) fn save_levels(&self, levels: &Levels, sink: &mut Sink<'_>) -> io::Result<()> {
        if !(levels.waits || levels.is_paused) || self.search.system.is_spoilt() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        sink.number(Kind::DiskSearch.number())?;
        sink.text(&self.search.description())?;
        let sum = self.exploration.parts.sum.lock();
        sum.unwrap_or_else(PoisonError::into_inner).save(sink)?;
        sink.numbers([levels.states, levels.begun, levels.sizes.len() as u64])?;
        sink.numbers(levels.sizes.iter().copied())?;
        sink.numbers([levels.first_unmerged as u64, levels.levels.len() as u64])?;
        for level in &levels.levels {
            sink.number(level.is_some().into())?;
            level.iter().try_for_each(|run| run.save(sink))?;
        }
        sink.number(levels.merged.len() as u64)?;
        levels.merged.iter().try_for_each(|run| run.save(sink))
    }
}

impl Disk {
    /// Takes up what was written down.
    pub(super) fn restore<'s>(
        &'s self,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Spilling<'s>, ResumeError> {
        let (saved, own) = (source.text()?, search.description());
        if saved != own {
            return Err(ResumeError::Foreign(format!(
                "another search was saved ({saved}) than the one to go on with ({own})"
            )));
        }
        let mut spilling = self.spilt(search);
        let exploration = &mut spilling.exploration;
        let (Ok(store), Some(levels)) = (&exploration.store, &mut spilling.levels) else {
            return Err(damaged("there is no store").into());
        };
        let parts = &exploration.parts;
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
        levels.restore(source)?;
        parts.control.has_elsewhere(levels.states);
        parts.control.wait();
        exploration.frontier.levels = levels.begun;
        exploration.frontier.level_sizes.clone_from(&levels.sizes);
        Ok(spilling)
    }
}

impl Levels {
    fn restore(&mut self, source: &mut Source<'_>) -> Result<(), ResumeError> {
        // If there is none, nothing can be written there, which is said then.
        let _ = fs::create_dir_all(&self.folder);
        let many = |source: &mut Source<'_>| source.at_most(MANY, "a number is too large");
        (self.states, self.begun) = (many(source)?, many(source)?);
        let most = self.begun.min(SearchResult::LEVEL_SIZES as u64);
        let sizes = source.at_most(most, "too many levels")?;
        self.sizes = numbers(source, sizes as usize)?;
        let first_unmerged = source.at_most(MANY_RUNS, "too many runs")?;
        for number in 0..source.at_most(MANY_RUNS, "too many runs")? {
            let is_there = source.at_most(1, "neither yes nor no")? == 1;
            if !is_there && (number >= first_unmerged || self.keeps_levels) {
                return Err(damaged("a level is missing").into());
            }
            let level = is_there.then(|| self.restore_run(source)).transpose()?;
            self.levels.push(level);
        }
        for _ in 0..source.at_most(MANY_RUNS, "too many runs")? {
            let run = self.restore_run(source)?;
            self.merged.push(run);
        }
        self.first_unmerged = first_unmerged as usize;
        if self.first_unmerged >= self.levels.len() {
            return Err(damaged("there is no last level").into());
        }
        if self.known().map(|run| run.states).sum::<u64>() != self.states {
            return Err(damaged("states are missing").into());
        }
        self.is_paused = true;
        Ok(())
    }

    fn restore_run(&mut self, source: &mut Source<'_>) -> Result<Run, ResumeError> {
        let path = self.next_file();
        Run::restore(&path, self.width, source)
    }
}
