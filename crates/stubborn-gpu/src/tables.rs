//! Tables, queues and counters on the card: how large they are, and how they are handed to kernels.

use crate::Compiled;
use crate::device::{Argument, Buffer, Device, DeviceError};
use crate::search::{EACH, QUEUED};

/// Bytes of a sector of a table.
pub(crate) const SECTOR: u64 = 32;
/// Parts of the table of states.
pub(crate) const PARTS: u64 = 4;
/// States of each target that are kept.
pub(crate) const KEPT: u64 = 64;
/// Most states of a level: their numbers have 32 bits, with room for a stride.
const MOST_ROOM: u64 = 3 << 30;
/// Bits of a slot with a quotient that say how far from its sector it is.
pub(crate) const STEP_BITS: u32 = 5;
/// Bits of such a slot that are left for the quotient.
const QUOTIENT_BITS: u32 = 31 - STEP_BITS;
/// Bytes of a table that cards reach quickly: beyond some 70 GB, an H200 translates addresses slowly.
const REGION: u64 = 56 << 30;

/// How large tables and queues are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Sectors of the table of states.
    pub(crate) sectors: u64,
    /// Sectors of the table of nodes.
    node_sectors: u64,
    /// States of a queue.
    pub(crate) room: u64,
    /// Slots of a sector of the table of states.
    pub(crate) slots: u64,
    /// Bits of a state of one word.
    word_bits: Option<u32>,
}

/// What was too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    Table,
    Nodes,
    Queue,
}

/// Bytes of the first table of states.
fn first_table(device: &Device) -> u64 {
    match device.info().is_cpu {
        // Small, so that tests are fast and see tables grow.
        true => 1 << 20,
        false => device.info().memory / 8,
    }
}

/// Bits of the longest key that a short slot of the first table can hold.
pub(crate) fn longest_key(device: &Device) -> u32 {
    QUOTIENT_BITS + (first_table(device) / SECTOR).max(PARTS).ilog2()
}

impl Sizes {
    /// Where a search begins.
    pub(crate) fn first(device: &Device, compiled: &Compiled, table: Option<u64>) -> Self {
        let info = device.info();
        let packing = &compiled.translation.packing;
        let words = packing.words;
        let (nodes, queue) = match info.is_cpu {
            true => (1 << 19, 1 << 20),
            // Few nodes are the rule, and short numbers of them make short keys.
            false if compiled.shape.has_quotients => (1 << 28, info.memory / 16),
            false => (info.memory / 32, info.memory / 16),
        };
        let states = table
            .unwrap_or_else(|| first_table(device))
            .min(info.largest_buffer * PARTS);
        let nodes = match words {
            1 => SECTOR,
            // Numbers of nodes have 31 bits.
            _ => nodes.min(info.largest_buffer).min(8 << 31),
        };
        let room = queue.min(info.largest_buffer) / (8 * words as u64);
        Self {
            sectors: (states / SECTOR).max(PARTS),
            node_sectors: (nodes / SECTOR).max(1),
            room: room.clamp(64, MOST_ROOM),
            slots: if compiled.shape.has_quotients { 8 } else { 4 },
            word_bits: (words == 1).then(|| packing.longest_word()),
        }
    }

    /// Parts of the table that are served one after the other, so that what is served at a time is reached
    /// quickly; of so many bytes at most.
    pub(crate) fn regions(self, most: Option<u64>) -> u64 {
        (self.sectors * SECTOR)
            .div_ceil(most.unwrap_or(REGION))
            .max(1)
    }

    /// Where a region begins, and how many sectors it has.
    pub(crate) fn region(self, number: u64, of: u64) -> (u64, u64) {
        let each = self.sectors.div_ceil(of);
        (each * number, each)
    }

    /// Bits of a number of a node.
    fn node_bits(self) -> u32 {
        u64::BITS - (4 * self.node_sectors - 1).leading_zeros()
    }

    /// Bits of a key of the table of states.
    fn key_bits(self) -> u32 {
        self.word_bits.unwrap_or(2 * self.node_bits())
    }

    /// Whether keys fit into slots.
    pub(crate) fn can_hold_keys(self) -> bool {
        self.slots == 4 || self.key_bits() <= QUOTIENT_BITS + self.sectors.ilog2()
    }

    /// A quarter of everything.
    pub(crate) fn quartered(self) -> Self {
        Self {
            sectors: self.sectors / 4,
            node_sectors: (self.node_sectors / 4).max(1),
            room: self.room / 4,
            ..self
        }
    }

    /// Larger ones, if the card has the memory.
    pub(crate) fn grown(self, short: Short, device: &Device, words: usize) -> Option<Self> {
        let info = device.info();
        // A card's driver and the code need some, too.
        let most = info.memory - info.memory / 16;
        let fits = |sizes: &Self| {
            let part = sizes.sectors.div_ceil(PARTS) * SECTOR;
            sizes.table_bytes() + sizes.queue_bytes(words) <= most
                && part <= info.largest_buffer
                && sizes.node_sectors * SECTOR <= info.largest_buffer.min(8 << 31)
                && sizes.room * 8 * words as u64 <= info.largest_buffer
                && sizes.room <= MOST_ROOM
        };
        let times = |factor: u64| {
            let mut larger = self;
            match short {
                Short::Table => larger.sectors = larger.sectors * factor / 4,
                Short::Nodes => larger.node_sectors = larger.node_sectors * factor / 4,
                Short::Queue => larger.room = larger.room * factor / 4,
            }
            larger
        };
        // In quarters; a table that is too large costs little. Numbers of nodes are parts of keys, which quotients
        // leave little room for.
        let first = match short {
            Short::Nodes if self.slots == 8 => 8,
            _ => 32,
        };
        let factors = [32, 28, 24, 20, 16, 12, 10, 8, 6, 5]
            .into_iter()
            .filter(|factor| *factor <= first);
        factors.map(times).find(fits)
    }

    pub(crate) fn table_bytes(self) -> u64 {
        (self.sectors + self.node_sectors) * SECTOR
    }

    pub(crate) fn queue_bytes(self, words: usize) -> u64 {
        2 * 8 * self.room * words as u64
    }
}

/// Tables, queues and counters on the card.
pub(crate) struct Memory {
    pub(crate) parts: Vec<Buffer>,
    pub(crate) nodes: Buffer,
    pub(crate) queues: [Buffer; 2],
    pub(crate) counts: Buffer,
    pub(crate) hits: Buffer,
    /// Rows of sets, and what became of each state of a level.
    pub(crate) sets: Option<(Buffer, Buffer)>,
}

impl Memory {
    pub(crate) fn new(
        device: &Device,
        sizes: Sizes,
        compiled: &Compiled,
    ) -> Result<Self, DeviceError> {
        let translation = &compiled.translation;
        let (words, targets) = (translation.packing.words, translation.targets.len());
        let each = sizes.sectors.div_ceil(PARTS);
        let parts = (0..PARTS)
            .map(|_| device.buffer(each * SECTOR))
            .collect::<Result<_, _>>()?;
        let queue = || device.buffer(8 * sizes.room * words as u64);
        let sets = match &compiled.asked.sets {
            None => None,
            Some(sets) => {
                let rows = device.buffer(8 * sets.rows().len() as u64)?;
                device.write(&rows, 0, sets.rows())?;
                let flags = if sets.has_proviso() { sizes.room } else { 1 };
                Some((rows, device.buffer(flags)?))
            }
        };
        Ok(Self {
            sets,
            parts,
            nodes: device.buffer(sizes.node_sectors * SECTOR)?,
            queues: [queue()?, queue()?],
            counts: device.buffer((8 * EACH * (QUEUED + 1)) as u64)?,
            hits: device.buffer(8 * hit_words(words) * targets.max(1) as u64)?,
        })
    }

    /// Arguments of kernels.
    pub(crate) fn tables(&self, sizes: Sizes) -> [Argument<'_>; 12] {
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| Argument::Buffer(&self.parts[part]));
        let each = Argument::Long(sizes.sectors.div_ceil(PARTS));
        let sectors = Argument::Long(sizes.sectors);
        [
            a,
            b,
            c,
            d,
            each,
            sectors,
            Argument::Buffer(&self.nodes),
            Argument::Long(sizes.node_sectors),
            Argument::Int(sizes.node_bits()),
            Argument::Int(sizes.key_bits()),
            Argument::Long(0),
            sectors,
        ]
    }
}

/// Numbers that are kept for a target: a count, and depth and words of each state.
pub(crate) fn hit_words(words: usize) -> u64 {
    1 + KEPT * (1 + words as u64)
}
