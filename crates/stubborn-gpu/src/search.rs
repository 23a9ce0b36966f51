//! The host's side of a search: tables, queues, levels.

use std::time::{Duration, Instant};

use stubborn_ir::Model;
use stubborn_search::{End, Limit, Limits, Progress, Stop, Target};
use stubborn_system::System;

use crate::device::{Argument, Buffer, Device, DeviceError, Kernel};
use crate::tables::{KEPT, Memory, Short, Sizes, hit_words};
use crate::way::Log;
use crate::{Compiled, Failure, Sets};

/// Numbers of a level, as `kernels.cl` has them.
pub(crate) const FOUND: usize = 0;
const STEPS: usize = 1;
const ENDS: usize = 2;
const INVALID: usize = 3;
const FAILED: usize = 4;
const ERRORS: usize = 5;
const ASSERTIONS: usize = 6;
const NODES: usize = 7;
pub(crate) const FULL: usize = 8;
pub(crate) const NODES_FULL: usize = 9;
pub(crate) const GAVE_UP: usize = 10;
pub(crate) const HIT: usize = 11;
pub(crate) const ESCAPED: usize = 12;
const PUT_BACK: usize = 13;
pub(crate) const EACH: usize = 16;
/// Tells a kernel that a level was seen before, for another region: as `kernels.cl` has it.
const LATER: u32 = 4;

/// Most levels that are queued at once.
pub(crate) const QUEUED: usize = 32;
/// How long what is queued at once should take: the host looks at clocks in between.
const BATCH: Duration = Duration::from_millis(5);
/// A table that is fuller than this, in sixteenths, is too slow to go on with.
const FULLEST: u64 = 15;

/// How a search goes on, and until when.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// When to stop at what was found.
    pub stop: Stop,
    /// States, time, and somebody who interrupts; the memory is that of the card.
    pub limits: Limits<'a>,
    /// Bytes of the first table of states; by default by the card.
    pub table: Option<u64>,
    /// Bytes of a region of the table; larger tables are served region by region. By default as cards like it.
    pub region: Option<u64>,
    /// Bytes of this machine's memory for levels, when a way is looked for.
    pub log: Option<usize>,
    /// Told how far it is, between levels.
    pub observer: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// A target that was hit.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Which.
    pub target: Target,
    /// How often: states for states, steps for steps.
    pub count: u64,
    /// How far away the nearest state is: the bad one, or the one that the bad step leaves.
    pub depth: u64,
    /// That state; of several, the least of those that were kept.
    pub state: Vec<u32>,
    /// All that were kept, the nearest first: the first ones that were found, up to a number.
    pub kept: Vec<Vec<u32>>,
    /// The state as the card has it.
    pub(crate) packed: Vec<u64>,
}

/// What a search has learnt. The numbers mean what they mean in
/// [`SearchResult`](stubborn_search::SearchResult).
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Distinct states.
    pub states: u64,
    /// Successors of all of them.
    pub transitions: u64,
    /// States without any.
    pub deadlocks: u64,
    /// Those of them that are no valid ends, if the model has such a label.
    pub invalid_ends: Option<u64>,
    /// States that a proviso has expanded although a set left something out.
    pub put_back: u64,
    /// States of each level.
    pub level_sizes: Vec<u64>,
    /// Why it ended.
    pub end: End,
    /// What was hit, in the order of the targets.
    pub hits: Vec<Hit>,
    /// How it went.
    pub figures: Figures,
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Words of a state on the card.
    pub words: usize,
    /// Bits of a state.
    pub bits: u32,
    /// Nodes of trees.
    pub nodes: u64,
    /// Bytes of tables.
    pub tables: u64,
    /// Bytes of queues.
    pub queues: u64,
    /// How often it had to start again with larger tables.
    pub restarts: u32,
    /// For tables: getting and clearing them.
    pub prepare: Duration,
    /// Exploring, restarts included.
    pub explore: Duration,
    /// Exploring, the last try alone.
    pub last_try: Duration,
}

/// Kernels of a program.
pub(crate) struct Kernels {
    clear: Kernel,
    start: Kernel,
    pub(crate) level: Kernel,
}

impl Kernels {
    /// Clears the first bytes of a buffer.
    pub(crate) fn clear(
        &self,
        device: &Device,
        buffer: &Buffer,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        // Buffers have a multiple of 16 bytes, or the rest is never looked at.
        let pairs = bytes / 16;
        self.clear
            .set(0, &[Argument::Buffer(buffer), Argument::Long(pairs)])?;
        let groups = pairs
            .div_ceil(256)
            .clamp(1, u64::from(device.info().units) * 32);
        device.queue(&self.clear, groups as usize, 256)
    }

    pub(crate) fn of(compiled: &Compiled) -> Result<Self, DeviceError> {
        Ok(Self {
            clear: compiled.built.kernel("clear")?,
            start: compiled.built.kernel("start")?,
            level: compiled.built.kernel("level")?,
        })
    }
}

/// How one try ended.
enum Try {
    Done(End),
    Short(Short),
    /// What was copied did not fit; now its number is known.
    Again,
}

/// A search that runs.
struct Run<'a> {
    device: &'a Device,
    compiled: &'a Compiled,
    options: &'a Options<'a>,
    kernels: &'a Kernels,
    started: Instant,
    outcome: Outcome,
    /// Levels at which steps failed first.
    first_failure: Option<usize>,
    errors: u64,
    assertions: u64,
    hit: u32,
    log: Option<Log>,
    sift: Option<Sift>,
}

/// What is copied from every level of a product.
pub(crate) struct Sift {
    kernel: Kernel,
    /// Where a certain state is; otherwise, all that may be on an accepting cycle.
    wanted: Option<Buffer>,
    /// How many were found, and the level of the wanted one.
    found: Buffer,
    pub(crate) states: Buffer,
    /// So many fit.
    pub(crate) room: u64,
}

impl Sift {
    fn new(
        device: &Device,
        compiled: &Compiled,
        wanted: Option<&[u64]>,
        room: u64,
    ) -> Result<Self, Failure> {
        let words = compiled.translation.packing.words as u64;
        let room = if wanted.is_some() { 1 } else { room };
        let wanted = match wanted {
            None => None,
            Some(state) => {
                let buffer = device.buffer(8 * words)?;
                device.write(&buffer, 0, state)?;
                Some(buffer)
            }
        };
        let found = device.buffer(16)?;
        device.write(&found, 0, &[0, 0])?;
        Ok(Self {
            kernel: compiled.built.kernel("sift")?,
            wanted,
            found,
            states: device.buffer(8 * words * room)?,
            room,
        })
    }

    /// Looks at a queue, of which a counter says how many states it has.
    fn queue(
        &self,
        device: &Device,
        (queue, room): (&Buffer, u64),
        (counts, number): (&Buffer, u32),
        depth: u64,
    ) -> Result<(), DeviceError> {
        let wanted = self.wanted.as_ref();
        self.kernel.set(
            0,
            &[
                Argument::Buffer(queue),
                Argument::Long(room),
                Argument::Buffer(counts),
                Argument::Int(number),
                Argument::Int(u32::from(wanted.is_some())),
                Argument::Long(depth),
                Argument::Buffer(&self.found),
                Argument::Buffer(wanted.unwrap_or(&self.found)),
                Argument::Buffer(&self.states),
                Argument::Long(self.room),
            ],
        )?;
        device.queue(&self.kernel, device.info().units as usize * 16, 64)
    }

    /// How many were found, and the level of the wanted one.
    pub(crate) fn found(&self, device: &Device) -> Result<(u64, u64), DeviceError> {
        let mut found = [0, 0];
        device.read(&self.found, 0, &mut found)?;
        Ok((found[0], found[1]))
    }
}

/// What a search does besides.
#[derive(Clone, Copy, Default)]
pub(crate) struct Aside<'a> {
    /// Ends before a level, and keeps the ones before it, in so many bytes.
    pub(crate) until: Option<(u64, usize)>,
    /// Copies what may be on an accepting cycle.
    pub(crate) sifts: bool,
    /// Ends where this state is.
    pub(crate) wanted: Option<&'a [u64]>,
}

/// What a search leaves.
pub(crate) struct Left {
    pub(crate) outcome: Outcome,
    pub(crate) log: Option<Log>,
    /// Tables and queues, unless they did not fit.
    pub(crate) memory: Option<(Memory, Sizes)>,
    pub(crate) sift: Option<Sift>,
}

pub(crate) fn run(
    device: &Device,
    compiled: &Compiled,
    options: &Options<'_>,
) -> Result<Outcome, Failure> {
    run_aside(device, compiled, options, Aside::default()).map(|left| left.outcome)
}

/// The same, and something besides.
pub(crate) fn run_aside(
    device: &Device,
    compiled: &Compiled,
    options: &Options<'_>,
    aside: Aside<'_>,
) -> Result<Left, Failure> {
    let kernels = Kernels::of(compiled)?;
    let words = compiled.translation.packing.words;
    let mut sizes = Sizes::first(device, compiled, options.table);
    let mut sifted = sizes.room;
    let started = Instant::now();
    let (mut restarts, mut prepare) = (0, Duration::ZERO);
    loop {
        if !sizes.can_hold_keys() {
            return Err(Failure::TooWide);
        }
        let mut run = Run {
            device,
            compiled,
            options,
            kernels: &kernels,
            started,
            outcome: blank(compiled, sizes),
            first_failure: None,
            errors: 0,
            assertions: 0,
            hit: 0,
            log: aside.until.map(|(depth, most)| Log::new(depth, most)),
            sift: None,
        };
        let begun = Instant::now();
        let memory = match run.prepare(sizes, aside, sifted) {
            Ok(memory) => memory,
            Err(Failure::Device(DeviceError::OutOfMemory)) if restarts == 0 => {
                // Others may use the card, too.
                sizes = sizes.quartered();
                if sizes.room < 64 {
                    return Err(Failure::Device(DeviceError::OutOfMemory));
                }
                sifted = sizes.room;
                continue;
            }
            Err(Failure::Device(DeviceError::OutOfMemory)) => {
                run.outcome.end = End::Limit(Limit::Memory);
                return Ok(Left {
                    outcome: run.outcome,
                    log: None,
                    memory: None,
                    sift: None,
                });
            }
            Err(failure) => return Err(failure),
        };
        prepare += begun.elapsed();
        let begun = Instant::now();
        let mut ended = run.explore(sizes, &memory)?;
        run.outcome.figures.last_try = begun.elapsed();
        run.outcome.figures.explore = started.elapsed().saturating_sub(prepare);
        run.outcome.figures.prepare = prepare;
        run.outcome.figures.restarts = restarts;
        if let (Some(sift), Try::Done(_)) = (&run.sift, &ended) {
            let found = sift.found(device)?.0;
            if found > sift.room {
                sifted = found;
                ended = Try::Again;
            }
        }
        match ended {
            Try::Done(end) => return run.finish(end, (memory, sizes)),
            Try::Again => {}
            Try::Short(short) => match sizes.grown(short, device, words) {
                Some(larger) => sizes = larger,
                None => return run.finish(End::Limit(Limit::Memory), (memory, sizes)),
            },
        }
        restarts += 1;
    }
}

/// Nothing learnt yet.
fn blank(compiled: &Compiled, sizes: Sizes) -> Outcome {
    let packing = &compiled.translation.packing;
    Outcome {
        states: 0,
        transitions: 0,
        deadlocks: 0,
        invalid_ends: compiled.model.program().valid_end.map(|_| 0),
        put_back: 0,
        level_sizes: Vec::new(),
        end: End::Complete,
        hits: Vec::new(),
        figures: Figures {
            words: packing.words,
            bits: packing.bits,
            tables: sizes.table_bytes(),
            queues: sizes.queue_bytes(packing.words),
            ..Figures::default()
        },
    }
}

impl Run<'_> {
    /// Gets and clears tables, and stores the initial state.
    fn prepare(&mut self, sizes: Sizes, aside: Aside<'_>, sifted: u64) -> Result<Memory, Failure> {
        let (device, translation) = (self.device, &self.compiled.translation);
        let memory = Memory::new(device, sizes, self.compiled)?;
        if aside.sifts || aside.wanted.is_some() {
            self.sift = Some(Sift::new(device, self.compiled, aside.wanted, sifted)?);
        }
        for buffer in memory.parts.iter().chain([&memory.nodes, &memory.hits]) {
            self.kernels.clear(device, buffer, buffer.bytes())?;
        }
        let model = &self.compiled.narrow;
        let initial = translation.packing.pack(model, &model.initial_states());
        // Words of states lie apart; only the first state of a queue is written.
        for (at, word) in initial.iter().enumerate() {
            device.write(&memory.queues[0], at * sizes.room as usize, &[*word])?;
        }
        self.kernels.start.set(
            0,
            &[
                Argument::Buffer(&memory.queues[0]),
                Argument::Long(sizes.room),
            ],
        )?;
        self.kernels.start.set(2, &memory.tables(sizes))?;
        device.queue(&self.kernels.start, 1, 1)?;
        device.finish()?;
        Ok(memory)
    }

    /// Explores level by level.
    fn explore(&mut self, sizes: Sizes, memory: &Memory) -> Result<Try, Failure> {
        let device = self.device;
        let kernels = self.kernels;
        let level = &kernels.level;
        let stop = u32::from(self.options.stop == Stop::FirstViolation);
        level.set(
            2,
            &[Argument::Long(sizes.room), Argument::Buffer(&memory.counts)],
        )?;
        level.set(5, &[Argument::Int(stop), Argument::Buffer(&memory.hits)])?;
        level.set(8, &memory.tables(sizes))?;
        if let Some((rows, flags)) = &memory.sets {
            level.set(20, &[Argument::Buffer(rows), Argument::Buffer(flags)])?;
        }
        // A proviso makes two rounds of a level, and must see all of the first one at once.
        let sets = self.compiled.asked.sets.as_ref();
        let (is_reduced, has_proviso) = (sets.is_some(), sets.is_some_and(Sets::has_proviso));
        let phases = 0..1 + u32::from(has_proviso);
        let regions = match has_proviso {
            true => 1,
            false => sizes.regions(self.options.region),
        };
        let group = self.compiled.group;
        let most_groups = device.info().units as usize * 16;
        self.outcome.states = 1;
        self.outcome.level_sizes.push(1);
        let mut waiting = 1;
        let mut queued = 1;
        let mut numbers = vec![0; EACH * (QUEUED + 1)];
        let mut last_look = Instant::now();
        let mut states_then = 0;
        if let Some(sift) = &self.sift {
            // The initial state is in no level that is found.
            device.write(&memory.counts, 0, &[1])?;
            let first = (&memory.queues[0], sizes.room);
            sift.queue(device, first, (&memory.counts, 0), 0)?;
        }
        while waiting > 0 {
            if let Some(limit) = self.limit() {
                return Ok(Try::Done(End::Limit(limit)));
            }
            let first = self.outcome.level_sizes.len() as u64 - 1;
            if let Some(log) = &mut self.log {
                let queue = &memory.queues[(first % 2) as usize];
                let mut level = Vec::new();
                for word in 0..self.outcome.figures.words {
                    let from = level.len();
                    level.resize(from + waiting as usize, 0);
                    device.read(queue, word * sizes.room as usize, &mut level[from..])?;
                }
                log.push(first, level);
                if first + 1 == log.until {
                    return Ok(Try::Done(End::Violation));
                }
                queued = 1;
            }
            numbers[..EACH * (queued + 1)].fill(0);
            numbers[FOUND] = waiting;
            let begun = Instant::now();
            device.write(&memory.counts, 0, &numbers[..EACH * (queued + 1)])?;
            for number in 0..queued {
                let depth = first + number as u64;
                let (from, to) = ((depth % 2) as usize, (depth + 1) as usize % 2);
                level.set(
                    0,
                    &[
                        Argument::Buffer(&memory.queues[from]),
                        Argument::Buffer(&memory.queues[to]),
                    ],
                )?;
                level.set(4, &[Argument::Int(number as u32)])?;
                level.set(7, &[Argument::Long(depth)])?;
                let groups = match queued {
                    1 => (waiting.div_ceil(group as u64) as usize).min(most_groups),
                    _ => most_groups,
                };
                for region in 0..regions {
                    if regions > 1 {
                        let later = if region > 0 { LATER } else { 0 };
                        level.set(5, &[Argument::Int(stop | later)])?;
                        let (from, span) = sizes.region(region, regions);
                        level.set(18, &[Argument::Long(from), Argument::Long(span)])?;
                    }
                    for phase in phases.clone() {
                        if is_reduced {
                            level.set(22, &[Argument::Int(phase)])?;
                        }
                        device.queue(level, groups.max(1), group)?;
                    }
                }
                if let Some(sift) = &self.sift {
                    let next = (&memory.queues[to], sizes.room);
                    let counted = (&memory.counts, number as u32 + 1);
                    sift.queue(device, next, counted, depth + 1)?;
                }
            }
            device.flush()?;
            device.read(&memory.counts, 0, &mut numbers[..EACH * (queued + 1)])?;
            for number in 1..=queued {
                let counts = &numbers[EACH * number..][..EACH];
                if let Some(ended) = self.note(counts, sizes)? {
                    return Ok(ended);
                }
                waiting = counts[FOUND];
                if waiting == 0 {
                    break;
                }
            }
            if let Some(sift) = &self.sift
                && sift.wanted.is_some()
                && sift.found(device)?.0 > 0
            {
                return Ok(Try::Done(End::Violation));
            }
            // As many levels as fit into a short while.
            let each = begun.elapsed() / queued as u32;
            queued = match u32::try_from(BATCH.as_nanos() / each.as_nanos().max(1)) {
                Ok(fit) => (fit as usize).clamp(1, (2 * queued).min(QUEUED)),
                Err(_) => 1,
            };
            if let Some(observer) = self.options.observer
                && last_look.elapsed() > Duration::from_millis(200)
            {
                let states = self.outcome.states;
                observer(&Progress {
                    states,
                    transitions: self.outcome.transitions,
                    queue: waiting,
                    depth: self.outcome.level_sizes.len() as u64 - 1,
                    memory: (self.outcome.figures.tables + self.outcome.figures.queues) as usize,
                    elapsed: self.started.elapsed(),
                    states_per_second: (states - states_then) as f64
                        / last_look.elapsed().as_secs_f64(),
                });
                (last_look, states_then) = (Instant::now(), states);
            }
        }
        Ok(Try::Done(End::Complete))
    }

    /// Adds what a level has counted; how the try ended, if it did.
    fn note(&mut self, counts: &[u64], sizes: Sizes) -> Result<Option<Try>, Failure> {
        if counts[ESCAPED] > 0 {
            return Err(Failure::Escaped);
        }
        if counts[GAVE_UP] > 0 {
            return Err(Failure::TooLong);
        }
        if counts[FULL] > 0 {
            return Ok(Some(Try::Short(Short::Table)));
        }
        if counts[NODES_FULL] > 0 {
            return Ok(Some(Try::Short(Short::Nodes)));
        }
        if counts[FOUND] > sizes.room {
            return Ok(Some(Try::Short(Short::Queue)));
        }
        let outcome = &mut self.outcome;
        let level = outcome.level_sizes.len();
        outcome.states += counts[FOUND];
        outcome.transitions += counts[STEPS];
        outcome.deadlocks += counts[ENDS];
        outcome.put_back += counts[PUT_BACK];
        if let Some(invalid) = &mut outcome.invalid_ends {
            *invalid += counts[INVALID];
        }
        outcome.figures.nodes += counts[NODES];
        self.errors += counts[ERRORS];
        self.assertions += counts[ASSERTIONS];
        self.hit |= counts[HIT] as u32;
        if counts[FAILED] > 0 && self.first_failure.is_none() {
            self.first_failure = Some(level - 1);
        }
        if counts[FOUND] > 0 {
            outcome.level_sizes.push(counts[FOUND]);
        }
        let all = (1_u64 << self.compiled.translation.targets.len()) - 1;
        let enough = match self.options.stop {
            Stop::Never => false,
            Stop::FirstViolation => self.hit != 0,
            Stop::AllViolated => all != 0 && u64::from(self.hit) == all,
        };
        if enough {
            return Ok(Some(Try::Done(End::Violation)));
        }
        // Fuller tables cost more than to begin again with larger ones.
        Ok(
            (outcome.states > sizes.sectors * sizes.slots / 16 * FULLEST)
                .then_some(Try::Short(Short::Table)),
        )
    }

    /// A limit that was reached.
    fn limit(&self) -> Option<Limit> {
        let limits = &self.options.limits;
        if limits.states.is_some_and(|most| self.outcome.states > most) {
            return Some(Limit::States);
        }
        if limits
            .interrupt
            .is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed))
        {
            return Some(Limit::Interrupted);
        }
        if limits
            .time
            .is_some_and(|most| self.started.elapsed() > most)
        {
            return Some(Limit::Time);
        }
        self.compiled.model.budget().poll().map(Limit::from)
    }

    /// Adds the error state and what was hit.
    fn finish(mut self, end: End, (memory, sizes): (Memory, Sizes)) -> Result<Left, Failure> {
        self.outcome.end = end;
        let model = &*self.compiled.model;
        // A product leaves out steps that fail.
        let is_product = self.compiled.asked.watch.is_some();
        if let Some(level) = self.first_failure.filter(|_| !is_product) {
            let outcome = &mut self.outcome;
            outcome.states += 1;
            outcome.deadlocks += 1;
            if let Some(invalid) = &mut outcome.invalid_ends {
                let error = model.structure().error_state.as_ref();
                let label = model.program().valid_end;
                let valid = error
                    .zip(label)
                    .is_some_and(|(error, label)| model.executor().label(error, label));
                *invalid += u64::from(!valid);
            }
            if outcome.level_sizes.len() <= level + 1 {
                outcome.level_sizes.push(0);
            }
            outcome.level_sizes[level + 1] += 1;
        }
        let words = self.compiled.translation.packing.words;
        for (number, target) in self.compiled.translation.targets.iter().enumerate() {
            if self.hit >> number & 1 == 1 {
                let hit = self.read_hit(&memory, number, *target, words)?;
                self.outcome.hits.extend(hit);
            }
        }
        Ok(Left {
            outcome: self.outcome,
            log: self.log,
            memory: Some((memory, sizes)),
            sift: self.sift,
        })
    }

    /// What is known of a target that was hit.
    fn read_hit(
        &self,
        memory: &Memory,
        number: usize,
        target: Target,
        words: usize,
    ) -> Result<Option<Hit>, Failure> {
        let mut kept = vec![0; hit_words(words) as usize];
        self.device
            .read(&memory.hits, number * kept.len(), &mut kept)?;
        let (narrow, model): (&Model, &Model) = (&self.compiled.narrow, &self.compiled.model);
        let entries = kept[1..]
            .chunks_exact(1 + words)
            .take(kept[0].min(KEPT) as usize);
        let states = entries.map(|entry| {
            let state = self
                .compiled
                .translation
                .packing
                .unpack(narrow, model, &entry[1..]);
            (entry[0], state, entry[1..].to_vec())
        });
        let mut states: Vec<_> = states.collect();
        states.sort();
        let count = match target {
            Target::Errors => self.errors,
            Target::Assertions => self.assertions,
            _ => kept[0],
        };
        let kept = states.iter().map(|(_, state, _)| state.clone()).collect();
        let nearest = states.into_iter().next();
        Ok(nearest.map(|(depth, state, packed)| Hit {
            target,
            count,
            depth,
            state,
            kept,
            packed,
        }))
    }
}
