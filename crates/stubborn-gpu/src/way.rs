//! The way to a state that a search has found.
//!
//! The search keeps no parents. A second run to the known depth copies its levels to the host's
//! memory, as many of the last ones as fit; then, from the end back, a kernel looks for a state of
//! the level before that has the wanted one as a successor. Where not all levels fit, this is
//! repeated from where it got to. (See `docs/decisions/0003-no-parent-pointers.md`.)

use std::collections::VecDeque;

use crate::device::{Argument, Buffer, Device, Kernel};
use crate::search::{self, Aside, EACH, FOUND, HIT, Hit, Options};
use crate::{Compiled, Failure};

/// Bytes for levels where nobody says.
const LOG_BYTES: usize = 4 << 30;

/// The last levels before a certain one.
pub(crate) struct Log {
    /// The number of the level before which the search ends.
    pub(crate) until: u64,
    /// Bytes that levels may take.
    most: usize,
    bytes: usize,
    /// Depth, and the words of all states: the first of each, then the second, and so on.
    pub(crate) levels: VecDeque<(u64, Vec<u64>)>,
}

impl Log {
    pub(crate) fn new(until: u64, most: usize) -> Self {
        Self {
            until,
            most,
            bytes: 0,
            levels: VecDeque::new(),
        }
    }

    /// Keeps a level, and forgets the oldest ones if there are too many.
    pub(crate) fn push(&mut self, depth: u64, level: Vec<u64>) {
        self.bytes += size_of_val(&level[..]);
        self.levels.push_back((depth, level));
        while self.bytes > self.most && self.levels.len() > 1 {
            if let Some((_, oldest)) = self.levels.pop_front() {
                self.bytes -= size_of_val(&oldest[..]);
            }
        }
    }
}

/// The states on a shortest way to a hit, the initial one first; `None` if a limit was reached.
pub(crate) fn find(
    device: &Device,
    compiled: &Compiled,
    hit: &Hit,
    options: &Options<'_>,
) -> Result<Option<Vec<u32>>, Failure> {
    let words = compiled.translation.packing.words;
    let mut back = vec![hit.packed.clone()];
    let mut depth = hit.depth;
    let finder = Finder::new(device, compiled)?;
    while depth > 0 {
        let most = options.log.unwrap_or(LOG_BYTES);
        let again = Options {
            stop: stubborn_search::Stop::Never,
            observer: None,
            ..*options
        };
        let aside = Aside {
            until: Some((depth, most)),
            ..Aside::default()
        };
        let left = search::run_aside(device, compiled, &again, aside)?;
        let reached = left.outcome.end == stubborn_search::End::Violation;
        let Some(log) = left.log.filter(|_| reached) else {
            return Ok(None);
        };
        // The tables are not needed now.
        drop(left.memory);
        for (level, states) in log.levels.iter().rev() {
            let count = states.len() / words;
            let queue = device.buffer(8 * states.len() as u64)?;
            device.write(&queue, 0, states)?;
            let wanted = &back[back.len() - 1];
            let at = finder.predecessor(&queue, (count as u64, count as u64), wanted)?;
            back.push((0..words).map(|word| states[word * count + at]).collect());
            depth = *level;
        }
    }
    let packing = &compiled.translation.packing;
    let states = back.iter().rev();
    Ok(Some(
        states
            .flat_map(|packed| packing.unpack(&compiled.narrow, &compiled.model, packed))
            .collect(),
    ))
}

/// Looks for states that have a certain successor.
pub(crate) struct Finder<'d> {
    device: &'d Device,
    kernel: Kernel,
    group: usize,
}

impl<'d> Finder<'d> {
    pub(crate) fn new(device: &'d Device, compiled: &Compiled) -> Result<Self, Failure> {
        let options = format!("{} -DFIND", compiled.options);
        Ok(Self {
            device,
            kernel: device.build(&compiled.source, &options)?.kernel("level")?,
            group: compiled.group,
        })
    }

    /// The number of the first of `count` states that has a successor; words of the queue's states lie
    /// `room` apart.
    pub(crate) fn predecessor(
        &self,
        queue: &Buffer,
        (count, room): (u64, u64),
        wanted: &[u64],
    ) -> Result<usize, Failure> {
        let device = self.device;
        let counts = device.buffer(8 * 2 * EACH as u64)?;
        let there = device.buffer(8 * wanted.len() as u64)?;
        device.write(&there, 0, wanted)?;
        let mut numbers = [0; 2 * EACH];
        numbers[FOUND] = count;
        numbers[EACH + HIT] = u64::from(u32::MAX);
        device.write(&counts, 0, &numbers)?;
        let table = Argument::Buffer(queue);
        let (one, short) = (Argument::Long(1), Argument::Int(1));
        self.kernel.set(
            0,
            &[
                table,
                table,
                Argument::Long(room),
                Argument::Buffer(&counts),
                Argument::Int(0),
                Argument::Int(0),
                Argument::Buffer(&there),
                Argument::Long(0),
                table,
                table,
                table,
                table,
                one,
                one,
                table,
                one,
                short,
                short,
                one,
                one,
            ],
        )?;
        let groups = count.div_ceil(self.group as u64) as usize;
        let groups = groups.min(device.info().units as usize * 16);
        device.queue(&self.kernel, groups, self.group)?;
        device.read(&counts, 0, &mut numbers)?;
        match numbers[EACH + HIT] {
            at if at < count => Ok(at as usize),
            _ => Err(Failure::Gave(
                "no way leads to a state that the card has found: this is a bug, please report it",
            )),
        }
    }
}
