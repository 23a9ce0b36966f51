//! Accepting cycles of the product with a weak automaton, level by level.
//!
//! A search finds all nodes of the product, and copies those whose automaton's state is accepting. Then the
//! nodes that have no predecessor among these are left out, again and again: a pass expands what is left as if it
//! were a level, into a table that was cleared, and stores only accepting nodes. Nothing is left in the end if
//! and only if there is no cycle. That is one-way-catch-them-young (I. Černá, R. Pelánek, *Distributed explicit
//! fair cycle detection*, 2003), which needs a single round for weak automata.
//!
//! What is left has a cycle behind every node: going back from any of them, always to the first
//! predecessor that is found, closes one.

use std::collections::HashMap;

use stubborn_search::{End, Stop, Target};
use stubborn_system::System;

use crate::device::{Argument, Buffer, Device, DeviceError};
use crate::search::{
    self, Aside, EACH, ESCAPED, FOUND, FULL, GAVE_UP, Hit, Kernels, NODES_FULL, Options, Outcome,
};
use crate::tables::{Memory, PARTS, SECTOR, Sizes};
use crate::way::{self, Finder};
use crate::{Compiled, Failure};

/// As `kernels.cl` has it: only what may be on an accepting cycle is kept.
const TRIM: u32 = 2;

/// What was found in a product.
#[derive(Clone, Debug)]
pub struct Cycles {
    /// Its states and transitions; nothing else is counted in a product.
    pub outcome: Outcome,
    /// Why it ended: complete if there is no accepting cycle, with a violation if there is one.
    pub end: End,
    /// How often what was left was looked through.
    pub passes: u64,
    /// A run that is accepted; none if a limit left no room to find it.
    pub lasso: Option<Lasso>,
}

/// A run that ends in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// States of the model, one after the other, from the initial one to the first of the cycle
    /// the second time.
    pub states: Vec<u32>,
    /// Which of them the cycle begins with.
    pub cycle_start: usize,
}

pub(crate) fn find(
    device: &Device,
    compiled: &Compiled,
    options: &Options<'_>,
) -> Result<Cycles, Failure> {
    let options = Options {
        stop: Stop::Never,
        ..*options
    };
    let aside = Aside {
        sifts: true,
        ..Aside::default()
    };
    let left = search::run_aside(device, compiled, &options, aside)?;
    let mut cycles = Cycles {
        end: left.outcome.end,
        outcome: left.outcome,
        passes: 0,
        lasso: None,
    };
    let (Some((memory, sizes)), Some(sift)) = (left.memory, left.sift) else {
        return Ok(cycles);
    };
    let found = sift.found(device)?.0;
    if cycles.end != End::Complete || found == 0 {
        return Ok(cycles);
    }
    let words = compiled.translation.packing.words as u64;
    let other = match device.buffer(8 * words * sift.room) {
        Ok(buffer) => buffer,
        Err(DeviceError::OutOfMemory) => {
            cycles.end = End::Limit(stubborn_search::Limit::Memory);
            return Ok(cycles);
        }
        Err(error) => return Err(error.into()),
    };
    let mut trim = Trim {
        device,
        compiled,
        kernels: Kernels::of(compiled)?,
        memory,
        sizes,
        room: sift.room,
        queues: [sift.states, other],
        count: found,
    };
    loop {
        if let Some(spent) = compiled.model.budget().poll() {
            cycles.end = End::Limit(spent.into());
            return Ok(cycles);
        }
        let before = trim.count;
        trim.pass()?;
        cycles.passes += 1;
        if trim.count == 0 {
            return Ok(cycles);
        }
        if trim.count == before {
            break;
        }
    }
    cycles.end = End::Violation;
    cycles.lasso = trim.lasso(&options)?;
    Ok(cycles)
}

/// Leaves out nodes that no cycle leads to.
struct Trim<'a> {
    device: &'a Device,
    compiled: &'a Compiled,
    kernels: Kernels,
    memory: Memory,
    /// Of the tables of the search; a part of that of the states is enough.
    sizes: Sizes,
    /// States that fit into a queue.
    room: u64,
    /// What is left, and where the next pass puts it.
    queues: [Buffer; 2],
    count: u64,
}

impl Trim<'_> {
    /// Keeps the nodes that have predecessors.
    fn pass(&mut self) -> Result<(), Failure> {
        let device = self.device;
        let mut sizes = self.sizes;
        // Two thirds full at most, and keys must fit.
        sizes.sectors = (self.count * 3 / 2 / sizes.slots + PARTS).min(self.sizes.sectors);
        while !sizes.can_hold_keys() {
            sizes.sectors = (sizes.sectors * 2).min(self.sizes.sectors);
        }
        loop {
            for part in &self.memory.parts {
                let bytes = sizes.sectors.div_ceil(PARTS) * SECTOR;
                self.kernels.clear(device, part, bytes)?;
            }
            let counts = self.run(sizes)?;
            if counts[ESCAPED] + counts[GAVE_UP] + counts[NODES_FULL] > 0 {
                return Err(Failure::Gave(
                    "the card found another state where it had been before: this is a bug, please report it",
                ));
            }
            if counts[FULL] == 0 {
                self.count = counts[FOUND];
                self.queues.swap(0, 1);
                return Ok(());
            }
            if sizes.sectors == self.sizes.sectors {
                return Err(Failure::Gave("the table of the card is too full"));
            }
            sizes.sectors = (sizes.sectors * 2).min(self.sizes.sectors);
        }
    }

    /// Expands what is left; the counters of what was found.
    fn run(&self, sizes: Sizes) -> Result<[u64; EACH], Failure> {
        let (device, level) = (self.device, &self.kernels.level);
        let counts = &self.memory.counts;
        let mut numbers = [0; 2 * EACH];
        numbers[FOUND] = self.count;
        device.write(counts, 0, &numbers)?;
        level.set(
            0,
            &[
                Argument::Buffer(&self.queues[0]),
                Argument::Buffer(&self.queues[1]),
                Argument::Long(self.room),
                Argument::Buffer(counts),
                Argument::Int(0),
                Argument::Int(TRIM),
                Argument::Buffer(&self.memory.hits),
                Argument::Long(0),
            ],
        )?;
        level.set(8, &self.memory.tables(sizes))?;
        let group = self.compiled.group;
        let most = device.info().units as usize * 16;
        let groups = (self.count.div_ceil(group as u64) as usize).min(most);
        device.queue(level, groups, group)?;
        device.read(counts, 0, &mut numbers)?;
        let mut found = [0; EACH];
        found.copy_from_slice(&numbers[EACH..]);
        Ok(found)
    }

    /// A state of what is left.
    fn state(&self, at: u64) -> Result<Vec<u64>, Failure> {
        let words = self.compiled.translation.packing.words;
        let mut state = vec![0; words];
        for (word, value) in state.iter_mut().enumerate() {
            let place = word * self.room as usize + at as usize;
            self.device
                .read(&self.queues[0], place, std::slice::from_mut(value))?;
        }
        Ok(state)
    }

    /// A run to a cycle and through it, if there is time for it.
    fn lasso(self, options: &Options<'_>) -> Result<Option<Lasso>, Failure> {
        let (device, compiled) = (self.device, self.compiled);
        let finder = Finder::new(device, compiled)?;
        let mut back = vec![self.state(0)?];
        let mut seen: HashMap<Vec<u64>, usize> = HashMap::new();
        let closed = loop {
            if compiled.model.budget().poll().is_some() {
                return Ok(None);
            }
            let last = &back[back.len() - 1];
            if let Some(first) = seen.insert(last.clone(), back.len() - 1) {
                break first;
            }
            let queue = (self.count, self.room);
            let at = finder.predecessor(&self.queues[0], queue, last)?;
            back.push(self.state(at as u64)?);
        };
        // Its first and last are the same.
        let cycle: Vec<Vec<u64>> = back.drain(closed..).rev().collect();
        drop(self);
        let quiet = Options {
            observer: None,
            ..*options
        };
        let aside = Aside {
            wanted: Some(&cycle[0]),
            ..Aside::default()
        };
        let found = search::run_aside(device, compiled, &quiet, aside)?;
        let Some(sift) = found.sift.filter(|_| found.outcome.end == End::Violation) else {
            return Ok(None);
        };
        let depth = sift.found(device)?.1;
        drop((sift, found.memory));
        let hit = Hit {
            target: Target::Deadlock,
            count: 1,
            depth,
            state: Vec::new(),
            kept: Vec::new(),
            packed: cycle[0].clone(),
        };
        let Some(mut states) = way::find(device, compiled, &hit, &quiet)? else {
            return Ok(None);
        };
        let packing = &compiled.translation.packing;
        let words = compiled.model.layout().words();
        let cycle_start = states.len() / words - 1;
        for packed in &cycle[1..] {
            states.extend(packing.unpack(&compiled.narrow, &compiled.model, packed));
        }
        Ok(Some(Lasso {
            states,
            cycle_start,
        }))
    }
}
