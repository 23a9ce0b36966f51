//! The engine that goes on on disk when memory is full.
//!
//! Delayed duplicate detection by level (Stern and Dill, *Using magnetic disk instead of main memory
//! in the Murphi verifier*, 1998; Korf, *Linear-time disk-based implicit graph search*, 2008): the
//! successors of a level are collected in memory, sorted, and written as runs; at the end of
//! the level the runs are merged, and what was on an earlier level is left out. Files are read and
//! written from beginning to end, never in between.
//!
//! A search begins in memory as any other. When its tables cannot grow any more, they are given
//! up, and it begins anew on disk: what was done is a part of what memory holds. Counts are those of
//! the search in memory. Which of several shortest ways is shown may differ.
//!
//! Nobody knows while a level is expanded what is known of a successor, so sets that ask are refused.
//! With a proviso, kept successors of reduced states are collected once more, with the number of the
//! state; when the next level is known, a pass over both tells which of these states have a kept successor
//! there. The others are expanded, as by [several processes](super::distributed): following successors on
//! the next level, depth grows until a state is reached that was expanded or has no steps. (In memory
//! the terminal components are looked for first, and fewer states are expanded.)
//!
//! Between two levels the search can be written down: all runs, one after the other.

mod saved;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stubborn_store::saved::{Kind, Sink, Source};
use stubborn_store::{MemoryBudget, Store, StoreKind, StoreOptions};
use stubborn_system::BitSet;

use super::{Elsewhere, Exploration};
use crate::config::{Order, Search, SearchError};
use crate::context::Context;
use crate::control::Halt;
use crate::engine::{Engine, Explore};
use crate::expand::{Choice, Expander};
use crate::proviso::refused_by_levels;
use crate::recent::Recent;
use crate::rerun::Path;
use crate::result::{Limit, SearchResult, TraceMissing};
use crate::runs::{Merge, Run, Writer, append_bytes, subtract};
use crate::saved::ResumeError;
use crate::violation::{Finding, Preference};

/// States after which the clock is looked at.
const GROUP: u64 = 32;
/// Bytes of successors in memory, at least and at most.
const LEAST: usize = 1 << 20;
const MOST: usize = 1 << 30;

/// Bytes of states that were collected lately.
const RECENT: usize = 1 << 20;

/// Threads with a common store as long as memory lasts, then files in a folder; breadth-first.
#[derive(Clone, Debug)]
pub struct Disk {
    folder: PathBuf,
    least: usize,
}

impl Disk {
    /// With files in this folder, which is made if need be. They are removed when a search ends.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            least: LEAST,
        }
    }

    /// Collects at least so many bytes of successors before they are written, even if there is no
    /// memory left. (By default a mebibyte; tests have less.)
    #[must_use]
    pub fn with_buffer(self, least: usize) -> Self {
        Self { least, ..self }
    }
}

impl Engine for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn takes(&self, search: &Search<'_>) -> Result<(), String> {
        let asks = |reduction: &dyn stubborn_system::Reduction| !reduction.is_function_of_state();
        if search.order != Order::BreadthFirst {
            Err("it searches breadth-first".into())
        } else if search.reduction.is_some_and(asks) {
            Err("sets must depend on the state alone".into())
        } else if search.visitor.is_some() {
            Err("nobody can look at its states".into())
        } else if !search.store.kind.is_exact() {
            Err("it is exact: lossy stores need no disk".into())
        } else {
            refused_by_levels(search.proviso).map_or(Ok(()), Err)
        }
    }

    fn begin<'s>(&'s self, search: &'s Search<'s>) -> Result<Box<dyn Explore + 's>, SearchError> {
        search.check()?;
        let budget = memory_for_tables(search);
        let store = Store::new(search.system.layout().words(), &search.store, &budget);
        Ok(Box::new(Spilling {
            search,
            disk: self,
            exploration: search.begin_with(store, budget),
            levels: None,
        }))
    }

    fn resume<'s>(
        &'s self,
        search: &'s Search<'s>,
        source: &mut Source<'_>,
    ) -> Result<Box<dyn Explore + 's>, ResumeError> {
        search.check()?;
        let version = source.number()?;
        Ok(Box::new(match version == Kind::DiskSearch.number() {
            true => self.restore(search, source)?,
            false => Spilling {
                search,
                disk: self,
                exploration: search.resume_version(version, source)?,
                levels: None,
            },
        }))
    }
}

/// Memory for a search that goes on on disk: tables must be refused before the budget of the
/// whole run is spent, after which nothing goes on.
fn memory_for_tables(search: &Search<'_>) -> Arc<MemoryBudget> {
    match search.system.budget().memory() {
        None => search.limits.memory_budget(search.system),
        Some((most, gauge)) => {
            let limit = search.limits.memory.unwrap_or(usize::MAX);
            // Allocators and threads take something that no table asked for.
            let margin = (most / 5).max(16 << 20);
            MemoryBudget::within_process(limit, most.saturating_sub(margin), gauge)
        }
    }
}

/// A search in memory, or on disk.
struct Spilling<'s> {
    search: &'s Search<'s>,
    disk: &'s Disk,
    /// In memory the search, on disk what it counts and finds.
    exploration: Exploration<'s>,
    levels: Option<Levels>,
}

/// What is on disk.
struct Levels {
    folder: PathBuf,
    /// Bytes of a buffer.
    least: usize,
    width: usize,
    /// Sorted; one a level. Without targets nobody asks for ways, and only the last one is kept.
    levels: Vec<Option<Run>>,
    /// All states so far but those of levels that are not merged yet.
    merged: Vec<Run>,
    /// Levels from here on are not merged.
    first_unmerged: usize,
    keeps_levels: bool,
    states: u64,
    /// Levels whose expansion has begun.
    begun: u64,
    /// Of the first ones of these.
    sizes: Vec<u64>,
    files: u64,
    /// Stopped by the number of states, between two levels.
    waits: bool,
    /// Somebody asked for a pause, between two levels.
    is_paused: bool,
    /// Why nothing can be said.
    problem: Option<String>,
}

impl Drop for Levels {
    fn drop(&mut self) {
        self.levels.clear();
        self.merged.clear();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Folders of this process have different names.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// The search must stop, or the disk refuses.
enum Stopped {
    Halt,
    Disk(io::Error),
}

impl From<Halt> for Stopped {
    fn from(_: Halt) -> Self {
        Self::Halt
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // Of a look at the clock within a pass over files.
            io::ErrorKind::Interrupted => Self::Halt,
            _ => Self::Disk(error),
        }
    }
}

impl Spilling<'_> {
    /// Whether there is no more memory, and nothing else is wrong.
    fn is_full(&self) -> bool {
        let limit = self.exploration.parts.control.limit();
        let is_full = matches!(limit, Some(Limit::Memory | Limit::StoreFull));
        // Not even an empty store may fit.
        let is_full = is_full || self.exploration.store.is_err();
        let budget = self.search.system.budget();
        is_full && budget.spent().is_none() && !budget.is_outgrown()
    }

    /// Gives up the tables, and begins on disk.
    fn spill(&mut self) {
        // First the old ones go.
        let empty = Err(stubborn_store::StoreError::Full);
        drop(std::mem::replace(&mut self.exploration.store, empty));
        drop(std::mem::take(&mut self.exploration.frontier));
        *self = self.disk.spilt(self.search);
    }
}

impl Disk {
    /// A search that begins on disk.
    fn spilt<'s>(&'s self, search: &'s Search<'s>) -> Spilling<'s> {
        let budget = memory_for_tables(search);
        let none = StoreOptions {
            initial_capacity: 1,
            ..StoreOptions::new(StoreKind::Plain)
        };
        let width = search.system.layout().words();
        // It holds nothing; there may be no memory left for tables at all.
        let store = Store::new(width, &none, &MemoryBudget::unlimited());
        let exploration = search.begin_with(store, budget);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("spill-{}-{number}", std::process::id());
        let levels = Some(Levels {
            folder: self.folder.join(name),
            least: self.least,
            width,
            levels: Vec::new(),
            merged: Vec::new(),
            first_unmerged: 0,
            keeps_levels: !search.targets.is_empty(),
            states: 0,
            begun: 0,
            sizes: Vec::new(),
            files: 0,
            waits: false,
            is_paused: false,
            problem: None,
        });
        Spilling {
            search,
            disk: self,
            exploration,
            levels,
        }
    }
}

impl Explore for Spilling<'_> {
    fn explore(&mut self, most: Option<u64>) {
        if self.levels.is_none() {
            self.exploration.explore(most);
            if !self.is_full() {
                return;
            }
            self.spill();
        }
        let Some(levels) = &mut self.levels else {
            return;
        };
        let is_new = levels.levels.is_empty();
        let has_paused = std::mem::take(&mut levels.is_paused);
        if !is_new && !std::mem::take(&mut levels.waits) && !has_paused {
            return;
        }
        let exploration = &mut self.exploration;
        let Ok(store) = &exploration.store else {
            return;
        };
        exploration.parts.control.allow_states(None);
        let context = exploration.parts.context(store);
        let mut walk = Walk {
            expander: context.expander(Preference::Least),
            context: &context,
            recent: Recent::new(levels.width, RECENT),
            levels,
            most: most.unwrap_or(u64::MAX),
        };
        let ended = walk.run();
        let depth = walk.levels.begun.saturating_sub(1);
        context.add(walk.expander, depth);
        if let Err(Stopped::Disk(error)) = ended {
            let folder = levels.folder.display();
            levels.problem = Some(format!("the search cannot go on in {folder}: {error}"));
        }
        let frontier = &mut exploration.frontier;
        frontier.levels = levels.begun;
        frontier.level_sizes.clone_from(&levels.sizes);
    }

    fn is_waiting(&self) -> bool {
        match &self.levels {
            None => self.exploration.is_waiting(),
            Some(levels) => levels.waits,
        }
    }

    fn is_paused(&self) -> bool {
        match &self.levels {
            None => self.exploration.is_paused(),
            Some(levels) => levels.is_paused,
        }
    }

    fn save(&self, sink: &mut Sink<'_>) -> io::Result<()> {
        match &self.levels {
            None => self.exploration.save(sink),
            Some(levels) => self.save_levels(levels, sink),
        }
    }

    fn level_sizes(&self) -> &[u64] {
        self.exploration.level_sizes()
    }

    fn finish(self: Box<Self>) -> Result<SearchResult, SearchError> {
        let Some(levels) = self.levels else {
            return self.exploration.finish();
        };
        if let Some(problem) = levels.problem.clone() {
            return Err(SearchError::NoAnswer(problem));
        }
        if levels.waits {
            self.exploration.parts.control.stop_at(Limit::States);
        }
        let states = levels.states;
        let mut find = |context: &Context<'_>, findings: &[&Finding]| {
            let ways = findings.iter().map(|finding| levels.way(context, finding));
            ways.collect()
        };
        let ways = &mut find;
        self.exploration
            .finish_with(Some(Elsewhere { states, ways }))
    }
}

/// One go.
struct Walk<'a, 'l> {
    context: &'a Context<'a>,
    expander: Expander<'a>,
    levels: &'l mut Levels,
    /// What was collected lately, on this level or an earlier one.
    recent: Recent,
    most: u64,
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<(), Stopped> {
        if self.levels.levels.is_empty() {
            fs::create_dir_all(&self.levels.folder)?;
            let initial = self.context.search.system.initial_states();
            let mut buffer = Buffer::new(self.context, self.levels, "run");
            for state in initial.chunks_exact(self.levels.width) {
                buffer.push(state, self.levels)?;
            }
            self.end_level(buffer, None)?;
        }
        let control = self.context.control;
        while self.levels.last_size() > 0 {
            if control.found_enough() {
                control.stop_found();
                return Ok(());
            }
            if self.levels.states > self.most {
                self.levels.waits = true;
                return Ok(());
            }
            if control.wants_pause() {
                control.wait();
                self.levels.is_paused = true;
                return Ok(());
            }
            let (buffer, reduced) = self.expand_level()?;
            self.end_level(buffer, reduced)?;
        }
        Ok(())
    }

    fn tick(&self, depth: u64) -> Result<(), Halt> {
        let (control, store) = (self.context.control, self.context.store);
        let (transitions, size) = (self.expander.counts.transitions, self.levels.last_size());
        control.tick_without_waiting(store, transitions, size, depth)
    }

    /// The successors of the last level; with a proviso, also those states that are reduced.
    fn expand_level(&mut self) -> Result<(Buffer, Option<Reduced>), Stopped> {
        let depth = self.levels.begun;
        self.levels.begun += 1;
        if self.levels.sizes.len() < SearchResult::LEVEL_SIZES {
            self.levels.sizes.push(self.levels.last_size());
        }
        let mut buffer = Buffer::new(self.context, self.levels, "run");
        let size = self.levels.last_size() as usize;
        let mut reduced = self.context.search.proviso.map(|_| Reduced {
            kept: buffer.with_numbers(),
            waits: BitSet::new(size),
        });
        let mut worker = self.context.store.worker();
        let mut cursor = self.context.store.cursor();
        let Some(Some(level)) = self.levels.levels.last() else {
            return Ok((buffer, None));
        };
        let mut states = level.read()?;
        let mut done = 0;
        while let Some(state) = states.next_words()? {
            if done % GROUP == 0 {
                self.tick(depth)?;
            }
            let number = done;
            done += 1;
            cursor.assign(state);
            match self.expander.expand(&cursor, depth, &mut worker) {
                Choice::All => {
                    self.expander.count_all();
                    for number in 0..self.expander.successors().len() {
                        let state = self.expander.successors().state(number);
                        buffer.push_new(state, &mut self.recent, self.levels)?;
                    }
                }
                Choice::Some => {
                    self.expander.count_chosen();
                    for at in &self.expander.chosen {
                        let state = self.expander.successors().state(*at as usize);
                        buffer.push_new(state, &mut self.recent, self.levels)?;
                        if let Some(reduced) = &mut reduced {
                            reduced.kept.push_numbered(state, number, self.levels)?;
                        }
                    }
                    if let Some(reduced) = &mut reduced {
                        reduced.waits.insert(number as usize);
                    }
                }
            }
        }
        Ok((buffer, reduced))
    }

    /// What was collected and is on no level, nor in one more run.
    fn new_states(&mut self, mut buffer: Buffer, more: Option<&Run>) -> Result<Run, Stopped> {
        buffer.write(self.levels)?;
        let depth = self.levels.levels.len() as u64;
        let path = self.levels.next_file();
        let known = self.levels.known().chain(more);
        Ok(subtract(
            &path,
            self.levels.width,
            &buffer.runs,
            known,
            || {
                self.tick(depth)
                    .map_err(|_| io::ErrorKind::Interrupted.into())
            },
        )?)
    }

    /// Makes the next level of what was collected.
    fn end_level(&mut self, buffer: Buffer, reduced: Option<Reduced>) -> Result<(), Stopped> {
        let mut level = self.new_states(buffer, None)?;
        if let Some(mut reduced) = reduced {
            reduced.kept.write(self.levels)?;
            reduced.follow(&level)?;
            if let Some(buffer) = self.put_back(&reduced)? {
                let more = self.new_states(buffer, Some(&level))?;
                let path = self.levels.next_file();
                level = subtract(&path, self.levels.width, [&level, &more], [], || Ok(()))?;
            }
        }
        self.levels.states += level.states;
        // The store is empty.
        self.context.control.has_elsewhere(self.levels.states);
        self.levels.levels.push(Some(level));
        self.levels.merge()?;
        Ok(())
    }
}

impl Walk<'_, '_> {
    /// What the reduction has left out of states without a kept successor on the next level, if
    /// there are any.
    fn put_back(&mut self, reduced: &Reduced) -> Result<Option<Buffer>, Stopped> {
        let has_proviso = self.context.search.proviso.is_some();
        let Some(Some(level)) = self.levels.levels.last() else {
            return Ok(None);
        };
        if !has_proviso || reduced.waits.is_empty() {
            return Ok(None);
        }
        let mut buffer = Buffer::new(self.context, self.levels, "rest");
        let depth = self.levels.begun - 1;
        let mut states = level.read()?;
        let mut number = 0;
        while let Some(state) = states.next_words()? {
            if (number as u64).is_multiple_of(GROUP) {
                self.tick(depth)?;
            }
            if reduced.waits.contains(number) {
                self.expander.expand_again(state);
                self.expander.count_rest();
                for at in &self.expander.rest {
                    let state = self.expander.successors().state(*at as usize);
                    buffer.push_new(state, &mut self.recent, self.levels)?;
                }
            }
            number += 1;
        }
        Ok(Some(buffer))
    }
}

/// Reduced states of a level.
struct Reduced {
    /// Their kept successors, each with the number of the state.
    kept: Buffer,
    /// Those that have none on the next level, as far as is known.
    waits: BitSet,
}

/// Words of a number behind a state.
const NUMBER: usize = 2;
/// Its bytes.
const NUMBER_BYTES: usize = NUMBER * size_of::<u32>();

impl Reduced {
    /// Takes out the states that have a kept successor on a level.
    fn follow(&mut self, level: &Run) -> io::Result<()> {
        let mut known = level.read()?;
        let mut is_known = known.next()?.is_some();
        let mut kept = Merge::new(&self.kept.runs)?;
        while kept.advance()? {
            let Some((state, number)) = kept.state().split_last_chunk::<NUMBER_BYTES>() else {
                break;
            };
            while is_known && known.state() < state {
                is_known = known.next()?.is_some();
            }
            if is_known && known.state() == state {
                self.waits.remove(u64::from_be_bytes(*number) as usize);
            }
        }
        Ok(())
    }
}

impl Levels {
    fn last_size(&self) -> u64 {
        self.levels
            .last()
            .and_then(Option::as_ref)
            .map_or(0, |run| run.states)
    }

    fn next_file(&mut self) -> PathBuf {
        self.files += 1;
        self.folder.join(self.files.to_string())
    }

    /// All states so far, those of the last levels first: most of what is found again is there.
    fn known(&self) -> impl Iterator<Item = &Run> {
        let levels = self.levels[self.first_unmerged..].iter().flatten();
        levels.chain(&self.merged).rev()
    }

    /// Keeps the number of files small: all levels but the last one become one run as soon as there
    /// are many, and runs of about the same size become one.
    fn merge(&mut self) -> io::Result<()> {
        const MANY: usize = 8;
        let last = self.levels.len() - 1;
        if last - self.first_unmerged < MANY {
            return Ok(());
        }
        let path = self.next_file();
        let unmerged = self.levels[self.first_unmerged..last].iter().flatten();
        let size: u64 = unmerged.clone().map(|run| run.states).sum();
        let is_small = |run: &Run| run.states < 2 * size;
        let first_small = self
            .merged
            .iter()
            .position(is_small)
            .unwrap_or(self.merged.len());
        let small = self.merged[first_small..].iter();
        let run = subtract(&path, self.width, unmerged.chain(small), [], || Ok(()))?;
        self.merged.truncate(first_small);
        self.merged.push(run);
        if !self.keeps_levels {
            self.levels[self.first_unmerged..last].fill_with(|| None);
        }
        self.first_unmerged = last;
        Ok(())
    }

    /// A shortest way to a finding: from its level back, the first state of each level that has the
    /// one after it as a successor.
    fn way(&self, context: &Context<'_>, finding: &Finding) -> Result<Path, TraceMissing> {
        let failed = |_: io::Error| TraceMissing::Interrupted;
        let mut expander = context.expander(Preference::First);
        let budget = context.search.system.budget();
        let mut back = vec![finding.state.clone()];
        let depth = finding.length - u64::from(finding.step.is_some());
        for depth in (0..depth as usize).rev() {
            let level = self.levels.get(depth).and_then(Option::as_ref);
            let mut states = level.ok_or(TraceMissing::Memory)?.read().map_err(failed)?;
            let found = loop {
                if let Some(spent) = budget.spent().filter(|_| budget.is_overdrawn()) {
                    return Err(spent.into());
                }
                let Some(state) = states.next_words().map_err(failed)? else {
                    break None;
                };
                expander.expand_again(state);
                if context.search.proviso.is_some() {
                    // It may have been expanded; and every step leads to the next level at most.
                    expander.keep_all();
                }
                let wanted = back.last().map(|state| &**state);
                if expander
                    .explored()
                    .any(|successor| Some(successor.state) == wanted)
                {
                    break Some(state.into());
                }
            };
            back.push(
                found.ok_or_else(|| budget.spent().map_or(TraceMissing::Memory, Into::into))?,
            );
        }
        Ok(back.into_iter().rev().flatten().collect())
    }
}

/// Successors in memory, and the runs of those that did not fit.
struct Buffer {
    words: Vec<u32>,
    width: usize,
    bytes: usize,
    /// Words at which it is written.
    full: usize,
    runs: Vec<Run>,
    /// Of its files.
    name: &'static str,
}

impl Buffer {
    fn new(context: &Context<'_>, levels: &Levels, name: &'static str) -> Self {
        // The order takes some words a state beside the states, and the rest of the process something;
        // with a proviso, there are two.
        let parts = if context.search.proviso.is_some() {
            8
        } else {
            4
        };
        let bytes = context.ledger.room() / parts;
        let bytes = bytes.min(MOST).max(levels.least);
        Self::of(name, levels.width, bytes)
    }

    fn of(name: &'static str, width: usize, bytes: usize) -> Self {
        let words = bytes / (width + KEY) / size_of::<u32>() * width;
        Self {
            words: Vec::new(),
            width,
            bytes,
            full: words.max(width),
            runs: Vec::new(),
            name,
        }
    }

    /// One as large for states with numbers.
    fn with_numbers(&self) -> Self {
        Self::of("kept", self.width + NUMBER, self.bytes)
    }

    fn push_numbered(&mut self, state: &[u32], number: u64, levels: &Levels) -> io::Result<()> {
        self.push(state, levels)?;
        self.words.extend([(number >> 32) as u32, number as u32]);
        Ok(())
    }

    /// Collects a state, unless it was collected lately.
    #[inline]
    fn push_new(&mut self, state: &[u32], recent: &mut Recent, levels: &Levels) -> io::Result<()> {
        match recent.contains_or_insert(state) {
            true => Ok(()),
            false => self.push(state, levels),
        }
    }

    fn push(&mut self, state: &[u32], levels: &Levels) -> io::Result<()> {
        if self.words.len() >= self.full {
            self.write(levels)?;
        }
        self.words.extend_from_slice(state);
        Ok(())
    }

    /// Writes what is in memory, sorted, each state once.
    fn write(&mut self, levels: &Levels) -> io::Result<()> {
        let path = levels
            .folder
            .join(format!("{}-{}", self.name, self.runs.len()));
        let mut writer = Writer::new(&path, self.width)?;
        let mut last: Option<&[u32]> = None;
        let mut bytes = Vec::new();
        for key in self.sorted() {
            let state = self.state(key);
            if last.replace(state) != Some(state) {
                bytes.clear();
                append_bytes(state, &mut bytes);
                writer.push(&bytes)?;
            }
        }
        self.runs.push(writer.finish()?);
        self.words.clear();
        Ok(())
    }

    fn state(&self, [.., at]: Key) -> &[u32] {
        &self.words[at as usize * self.width..][..self.width]
    }

    /// All states in order. Most comparisons are decided by the first words that differ at all.
    fn sorted(&self) -> Vec<Key> {
        let states = || self.words.chunks_exact(self.width);
        let first = states().next().unwrap_or_default();
        let same = |state: &[u32]| {
            let differs = |(one, other)| one != other;
            let at = state.iter().zip(first).position(differs);
            at.unwrap_or(self.width)
        };
        let from = states().map(same).min().unwrap_or(0);
        let word = |state: &[u32], at: usize| state.get(at).copied().unwrap_or(0);
        let mut keys: Vec<Key> = states()
            .zip(0..)
            .map(|(state, at)| [word(state, from), word(state, from + 1), at])
            .collect();
        keys.sort_unstable_by(|one, other| {
            let rest = |key: &Key| &self.state(*key)[(from + 2).min(self.width)..];
            let first = |[one, other, _]: &Key| u64::from(*one) << 32 | u64::from(*other);
            let by_first = first(one).cmp(&first(other));
            by_first.then_with(|| rest(one).cmp(rest(other)))
        });
        keys
    }
}

/// Two words of a state, and its number in a buffer.
type Key = [u32; 3];
/// Words of that.
const KEY: usize = 3;
