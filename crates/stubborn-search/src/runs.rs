//! Sorted runs of states on disk, read and written in one pass each.
//!
//! States are compared word by word. A state is written as its difference to the one before it: a
//! bit for each word that differs, then these words, each in as few bytes as it needs. Neighbours in
//! order share most of their words.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};

use stubborn_store::saved::{Sink, Source, damaged};

use crate::config::SearchError;
use crate::saved::ResumeError;

/// Bytes that are read or written at once.
const BUFFER: usize = 1 << 16;

/// A file of states, each greater than the one before it; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    width: usize,
    pub(crate) states: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Run {
    /// Writes it down.
    pub(crate) fn save(&self, sink: &mut Sink<'_>) -> Result<()> {
        let mut input = File::open(&self.path)?;
        let length = input.metadata()?.len();
        sink.number(self.states)?;
        sink.number(length)?;
        let mut bytes = vec![0; BUFFER];
        loop {
            match input.read(&mut bytes)? {
                0 => return Ok(()),
                read => sink.bytes(&bytes[..read])?,
            }
        }
    }

    /// The same in a new file. That the disk refuses it says nothing about what was written down.
    pub(crate) fn restore(
        path: &Path,
        width: usize,
        source: &mut Source<'_>,
    ) -> std::result::Result<Self, ResumeError> {
        let refused = |error: Error| {
            let path = path.display();
            let problem = format!("the search cannot go on in {path}: {error}");
            ResumeError::Search(SearchError::NoAnswer(problem))
        };
        // Removed if it is none.
        let run = Self {
            path: path.to_owned(),
            width,
            states: source.number()?,
        };
        let mut left = source.count(1)?;
        let mut output = File::create(path).map_err(refused)?;
        let mut bytes = vec![0; BUFFER];
        while left > 0 {
            let now = left.min(BUFFER);
            source.bytes(&mut bytes[..now])?;
            output.write_all(&bytes[..now]).map_err(refused)?;
            left -= now;
        }
        let mut reader = run.read()?;
        let mut before: Option<Vec<u32>> = None;
        while let Some(state) = reader.next().map_err(|_| damaged("a run ends too early"))? {
            if before.as_deref().is_some_and(|before| before >= state) {
                return Err(damaged("a run is out of order").into());
            }
            let place = before.get_or_insert_with(|| vec![0; width]);
            place.copy_from_slice(state);
        }
        match reader.at == reader.bytes.len() && reader.input.read(&mut [0])? == 0 {
            true => Ok(run),
            false => Err(damaged("a run is too long").into()),
        }
    }

    /// Reads it from the beginning.
    pub(crate) fn read(&self) -> Result<Reader> {
        Ok(Reader {
            input: File::open(&self.path)?,
            bytes: Vec::with_capacity(BUFFER),
            at: 0,
            state: vec![0; self.width],
            left: self.states,
        })
    }
}

/// Writes a run.
pub(crate) struct Writer {
    output: BufWriter<File>,
    before: Vec<u32>,
    record: Vec<u8>,
    run: Run,
}

impl Writer {
    pub(crate) fn new(path: &Path, width: usize) -> Result<Self> {
        // What nobody has finished is removed, too.
        let run = Run {
            path: path.to_owned(),
            width,
            states: 0,
        };
        Ok(Self {
            output: BufWriter::with_capacity(BUFFER, File::create(path)?),
            before: vec![0; width],
            record: Vec::new(),
            run,
        })
    }

    /// Appends a state that is greater than all before it.
    pub(crate) fn push(&mut self, state: &[u32]) -> Result<()> {
        let width = self.run.width;
        self.record.clear();
        self.record.resize(width.div_ceil(8), 0);
        for (at, (word, before)) in state.iter().zip(&mut self.before).enumerate() {
            if word == before {
                continue;
            }
            self.record[at / 8] |= 1 << (at % 8);
            let mut rest = *word;
            while rest >= 0x80 {
                self.record.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            self.record.push(rest as u8);
            *before = *word;
        }
        self.run.states += 1;
        self.output.write_all(&self.record)
    }

    pub(crate) fn finish(mut self) -> Result<Run> {
        self.output.flush()?;
        Ok(self.run)
    }
}

/// Reads a run.
pub(crate) struct Reader {
    input: File,
    /// Bytes that were read, of which those from `at` on are still to come.
    bytes: Vec<u8>,
    at: usize,
    state: Vec<u32>,
    left: u64,
}

impl Reader {
    /// The last state that was read.
    pub(crate) fn state(&self) -> &[u32] {
        &self.state
    }

    /// The next state.
    pub(crate) fn next(&mut self) -> Result<Option<&[u32]>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mask = self.state.len().div_ceil(8);
        // The longest record: all words in five bytes each.
        if self.bytes.len() - self.at < mask + 5 * self.state.len() {
            self.refill()?;
        }
        let early = || Error::from(ErrorKind::UnexpectedEof);
        let (mask, mut rest) = self.bytes[self.at..]
            .split_at_checked(mask)
            .ok_or_else(early)?;
        for (at, word) in self.state.iter_mut().enumerate() {
            if mask[at / 8] >> (at % 8) & 1 == 0 {
                continue;
            }
            *word = 0;
            for shift in (0..u32::BITS).step_by(7) {
                let (byte, after) = rest.split_first().ok_or_else(early)?;
                rest = after;
                *word |= u32::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        self.at = self.bytes.len() - rest.len();
        Ok(Some(&self.state))
    }

    /// Moves what is left to the front, and reads behind it.
    fn refill(&mut self) -> Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let mut input = (&self.input).take(BUFFER as u64);
        input.read_to_end(&mut self.bytes)?;
        Ok(())
    }
}

/// The states of several runs in order, each once.
pub(crate) struct Merge {
    readers: Vec<Reader>,
    heads: BinaryHeap<Head>,
    state: Vec<u32>,
    has_state: bool,
}

/// The next state of a reader; the least one is the greatest to a heap.
#[derive(PartialEq, Eq)]
struct Head {
    state: Vec<u32>,
    reader: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        other.state.cmp(&self.state)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Merge {
    pub(crate) fn new<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Result<Self> {
        let readers = runs
            .into_iter()
            .map(Run::read)
            .collect::<Result<Vec<_>>>()?;
        let mut merge = Self {
            heads: BinaryHeap::with_capacity(readers.len()),
            readers,
            state: Vec::new(),
            has_state: false,
        };
        for reader in 0..merge.readers.len() {
            if let Some(state) = merge.readers[reader].next()? {
                let state = state.to_vec();
                merge.heads.push(Head { state, reader });
            }
        }
        Ok(merge)
    }

    /// The next state that is not the last one.
    pub(crate) fn next(&mut self) -> Result<Option<&[u32]>> {
        while let Some(mut head) = self.heads.peek_mut() {
            let is_new = !self.has_state || head.state != self.state;
            if is_new {
                self.state.clone_from(&head.state);
                self.has_state = true;
            }
            match self.readers[head.reader].next()? {
                Some(next) => head.state.copy_from_slice(next),
                None => drop(std::collections::binary_heap::PeekMut::pop(head)),
            }
            if is_new {
                return Ok(Some(&self.state));
            }
        }
        Ok(None)
    }
}

/// Writes what is in `runs` and not in `known`.
pub(crate) fn subtract<'r>(
    path: &Path,
    width: usize,
    runs: impl IntoIterator<Item = &'r Run>,
    known: impl IntoIterator<Item = &'r Run>,
    mut look: impl FnMut() -> Result<()>,
) -> Result<Run> {
    let mut writer = Writer::new(path, width)?;
    let mut all = Merge::new(runs)?;
    // Each run of what is known goes along by itself: most of it is passed over, which takes
    // no order among the runs.
    let mut known = known
        .into_iter()
        .map(|run| {
            let mut reader = run.read()?;
            Ok(reader.next()?.is_some().then_some(reader))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut turns = 0_u32;
    while let Some(state) = all.next()? {
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(1 << 10) {
            look()?;
        }
        let mut is_known = false;
        for place in &mut known {
            while let Some(reader) = place
                && *reader.state < *state
            {
                if reader.next()?.is_none() {
                    *place = None;
                }
            }
            is_known |= place.as_ref().is_some_and(|reader| *reader.state == *state);
        }
        if !is_known {
            writer.push(state)?;
        }
    }
    writer.finish()
}
