//! Sorted runs of states on disk, read and written in one pass each.
//!
//! A state is a number of bytes, word by word, the highest byte first: the order of states is that of
//! their bytes. It is written as how many of its first bytes are those of the state before it, and the others
//! (front coding: I. H. Witten, A. Moffat, T. C. Bell, *Managing gigabytes*, 1999). So whoever looks for
//! something can [pass over](Sieve) most of a run without knowing what is there.

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
        let mut before: Option<Vec<u8>> = None;
        loop {
            let next = reader.next().map_err(|_| damaged("a run ends too early"))?;
            if next.is_none() {
                break;
            }
            let state = reader.state();
            match &mut before {
                None => before = Some(state.to_vec()),
                Some(before) => {
                    // Everybody relies on the number of bytes that are the same.
                    let same = reader.same;
                    if same >= state.len() || before[same] >= state[same] {
                        return Err(damaged("a run is out of order").into());
                    }
                    before[same..].copy_from_slice(&state[same..]);
                }
            }
        }
        match reader.records.is_at_end()? {
            true => Ok(run),
            false => Err(damaged("a run is too long").into()),
        }
    }

    /// Reads it from the beginning.
    pub(crate) fn read(&self) -> Result<Reader> {
        Ok(Reader {
            records: Records::new(self)?,
            same: 0,
            state: vec![0; self.width * WORD],
            words: vec![0; self.width],
        })
    }
}

/// Bytes of a word.
const WORD: usize = size_of::<u32>();

/// Puts the bytes of words behind those of others.
pub(crate) fn append_bytes(words: &[u32], bytes: &mut Vec<u8>) {
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
}

/// How many first bytes are the same.
#[inline]
fn same_bytes(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<WORD>();
    let (others, _) = other.as_chunks::<WORD>();
    for (at, (one, other)) in ones.iter().zip(others).enumerate() {
        let differs = u32::from_be_bytes(*one) ^ u32::from_be_bytes(*other);
        if differs != 0 {
            return at * WORD + differs.leading_zeros() as usize / 8;
        }
    }
    ones.len() * WORD
}

/// Writes a run.
pub(crate) struct Writer {
    output: BufWriter<File>,
    before: Vec<u8>,
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
            before: Vec::new(),
            run,
        })
    }

    /// Appends a state that is greater than all before it.
    pub(crate) fn push(&mut self, state: &[u8]) -> Result<()> {
        let same = match self.run.states {
            0 => {
                self.before = state.to_vec();
                0
            }
            _ => same_bytes(&self.before, state),
        };
        self.before[same..].copy_from_slice(&state[same..]);
        self.run.states += 1;
        let number = (same as u32).to_le_bytes();
        self.output
            .write_all(&number[..number_bytes(state.len())])?;
        self.output.write_all(&state[same..])
    }

    pub(crate) fn finish(mut self) -> Result<Run> {
        self.output.flush()?;
        Ok(self.run)
    }
}

/// Bytes of the number of bytes that are the same, for states of so many.
fn number_bytes(length: usize) -> usize {
    match length {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

/// The records of a run.
struct Records {
    input: File,
    /// Bytes that were read, of which those from `next` on are still to come.
    bytes: Vec<u8>,
    next: usize,
    /// The rest of the record before that.
    rest: usize,
    left: u64,
    /// Of a state.
    length: usize,
    number: usize,
}

impl Records {
    fn new(run: &Run) -> Result<Self> {
        let length = run.width * WORD;
        Ok(Self {
            input: File::open(&run.path)?,
            bytes: Vec::with_capacity(BUFFER),
            next: 0,
            rest: 0,
            left: run.states,
            length,
            number: number_bytes(length),
        })
    }

    /// Goes to the next record; how many bytes are as before. `None` after the last one.
    #[inline]
    fn next(&mut self) -> Result<Option<usize>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        // The longest record.
        if self.bytes.len() - self.next < self.number + self.length {
            self.refill()?;
        }
        let same = match self.bytes[self.next..] {
            [same, ..] if self.number == 1 => usize::from(same),
            [low, high, ..] if self.number == 2 => usize::from(u16::from_le_bytes([low, high])),
            [a, b, c, d, ..] if self.number == 4 => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => return Err(ErrorKind::UnexpectedEof.into()),
        };
        self.rest = self.next + self.number;
        self.next = (self.rest + self.length).saturating_sub(same);
        // What is longer than a state is none.
        match self.rest <= self.next && self.next <= self.bytes.len() {
            true => Ok(Some(same)),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    /// The other bytes of the record.
    #[inline]
    fn rest(&self) -> &[u8] {
        &self.bytes[self.rest..self.next]
    }

    /// Moves what is left to the front, and reads behind it.
    #[cold]
    fn refill(&mut self) -> Result<()> {
        self.bytes.drain(..self.next);
        self.next = 0;
        let mut input = (&self.input).take(BUFFER as u64 + self.length as u64);
        input.read_to_end(&mut self.bytes)?;
        Ok(())
    }

    fn is_at_end(&mut self) -> Result<bool> {
        Ok(self.next == self.bytes.len() && self.input.read(&mut [0])? == 0)
    }
}

/// Reads a run.
pub(crate) struct Reader {
    records: Records,
    /// Bytes of the last state that are as before.
    same: usize,
    state: Vec<u8>,
    words: Vec<u32>,
}

impl Reader {
    /// The last state that was read.
    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    /// The next state.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        let Some(same) = self.records.next()? else {
            return Ok(None);
        };
        self.same = same;
        self.state[same..].copy_from_slice(self.records.rest());
        Ok(Some(&self.state))
    }

    /// The same in words.
    pub(crate) fn next_words(&mut self) -> Result<Option<&[u32]>> {
        if self.next()?.is_none() {
            return Ok(None);
        }
        let (bytes, _) = self.state.as_chunks();
        for (word, bytes) in self.words.iter_mut().zip(bytes) {
            *word = u32::from_be_bytes(*bytes);
        }
        Ok(Some(&self.words))
    }
}

/// Tells whether states are in a run, of states in order.
///
/// Of the run, only where it stands relative to the last state is known: how many first bytes are the
/// same. As long as records have more of them in common with the one before, they are below as well, and
/// nothing but their length is looked at.
struct Sieve {
    records: Records,
    /// What the record is, compared with the last state.
    order: Ordering,
    /// How many of their first bytes are the same.
    same: usize,
    /// Bytes that all states since then have in common.
    common: usize,
    /// There are no more records.
    is_over: bool,
}

impl Sieve {
    fn new(run: &Run) -> Result<Self> {
        Ok(Self {
            records: Records::new(run)?,
            // Nothing, which is below everything.
            order: Ordering::Less,
            same: 0,
            common: usize::MAX,
            is_over: false,
        })
    }

    /// Notes that states go on from one to the next with so many bytes in common.
    #[inline]
    fn go_on(&mut self, common: usize) {
        self.common = self.common.min(common);
    }

    /// Whether a state is there.
    #[inline]
    fn contains(&mut self, state: &[u8]) -> Result<bool> {
        if self.is_over {
            return Ok(false);
        }
        let common = std::mem::replace(&mut self.common, usize::MAX);
        match (self.order, self.same.cmp(&common)) {
            // (Nothing was asked yet.)
            (Ordering::Less, _) => self.same = self.same.min(common),
            (Ordering::Greater, Ordering::Less) => return Ok(false),
            (Ordering::Greater, Ordering::Equal) => {
                if self.compare(state) {
                    return Ok(self.order == Ordering::Equal);
                }
            }
            _ => self.same = common,
        }
        // The record is less.
        loop {
            let Some(same) = self.records.next()? else {
                self.is_over = true;
                return Ok(false);
            };
            if same > self.same {
                continue;
            }
            if same < self.same {
                (self.order, self.same) = (Ordering::Greater, same);
                return Ok(false);
            }
            if self.compare(state) {
                return Ok(self.order == Ordering::Equal);
            }
        }
    }

    /// Compares what is not known to be the same; whether the record is not less.
    #[inline]
    fn compare(&mut self, state: &[u8]) -> bool {
        let rest = self.records.rest();
        // What of the record is known to be the same.
        let from = state.len() - rest.len();
        let (rest, other) = (&rest[self.same - from..], &state[self.same..]);
        let at = rest.iter().zip(other).position(|(one, other)| one != other);
        self.order = match at {
            None => Ordering::Equal,
            Some(at) => rest[at].cmp(&other[at]),
        };
        self.same += at.unwrap_or(rest.len());
        self.order != Ordering::Less
    }
}

/// The states of several runs in order, each once.
pub(crate) struct Merge {
    readers: Vec<Reader>,
    heads: BinaryHeap<Head>,
    state: Vec<u8>,
    /// Bytes of the state that are as before.
    same: usize,
}

/// The next state of a reader; the least one is the greatest to a heap.
#[derive(PartialEq, Eq)]
struct Head {
    state: Vec<u8>,
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
            same: 0,
        };
        if merge.readers.len() > 1 {
            for reader in 0..merge.readers.len() {
                if let Some(state) = merge.readers[reader].next()? {
                    let state = state.to_vec();
                    merge.heads.push(Head { state, reader });
                }
            }
        }
        Ok(merge)
    }

    /// The state that it has come to.
    pub(crate) fn state(&self) -> &[u8] {
        match &self.readers[..] {
            [only] => only.state(),
            _ => &self.state,
        }
    }

    /// Goes on to the next state that is not the last one; whether there is one.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        // A single run is in order already.
        if let [only] = &mut self.readers[..] {
            let has_next = only.next()?.is_some();
            self.same = only.same;
            return Ok(has_next);
        }
        while let Some(mut head) = self.heads.peek_mut() {
            let same = same_bytes(&self.state, &head.state);
            let is_new = same < head.state.len();
            if is_new {
                self.state.clone_from(&head.state);
                self.same = same;
            }
            match self.readers[head.reader].next()? {
                Some(next) => head.state.copy_from_slice(next),
                None => drop(std::collections::binary_heap::PeekMut::pop(head)),
            }
            if is_new {
                return Ok(true);
            }
        }
        Ok(false)
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
    let known = known.into_iter().map(Sieve::new);
    let mut known = known.collect::<Result<Vec<_>>>()?;
    let mut turns = 0_u32;
    while all.advance()? {
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(1 << 10) {
            look()?;
        }
        let (state, same) = (all.state(), all.same);
        for sieve in &mut known {
            sieve.go_on(same);
        }
        let mut is_known = false;
        for sieve in &mut known {
            is_known = sieve.contains(state)?;
            if is_known {
                break;
            }
        }
        if !is_known {
            writer.push(state)?;
        }
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stubborn_system::Random;

    use super::*;

    fn write(path: &Path, states: &BTreeSet<Vec<u32>>, width: usize) -> Run {
        let mut writer = Writer::new(path, width).expect("there is room");
        for state in states {
            let mut bytes = Vec::new();
            append_bytes(state, &mut bytes);
            writer.push(&bytes).expect("there is room");
        }
        writer.finish().expect("there is room")
    }

    fn read(run: &Run) -> BTreeSet<Vec<u32>> {
        let mut reader = run.read().expect("it is there");
        let mut states = BTreeSet::new();
        while let Some(state) = reader.next_words().expect("it is whole") {
            assert!(states.insert(state.to_vec()), "each once");
        }
        states
    }

    /// Whatever is passed over: exactly what is new is left.
    #[test]
    fn what_is_known_is_left_out() {
        let folder = std::env::temp_dir().join(format!("stubborn-runs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let random = &mut Random::new(3);
        for round in 0..300 {
            // Narrow and wide states, with small and large words, dense and sparse.
            let width = [1, 2, 3, 5, 70, 17_000][if round == 0 { 5 } else { round % 5 }];
            let most = [2, 4, 300, usize::MAX >> 32][random.below(4)];
            let some = |random: &mut Random| {
                let count = random.below(if width > 100 { 5 } else { 200 });
                let state = |random: &mut Random| {
                    let mut state = vec![7; width];
                    for _ in 0..1 + random.below(3) {
                        state[random.below(width)] = random.below(most) as u32;
                    }
                    state
                };
                (0..count).map(|_| state(random)).collect::<BTreeSet<_>>()
            };
            let sets: Vec<_> = (0..1 + random.below(5)).map(|_| some(random)).collect();
            let runs: Vec<Run> = (sets.iter().enumerate())
                .map(|(at, set)| write(&folder.join(at.to_string()), set, width))
                .collect();
            for (set, run) in sets.iter().zip(&runs) {
                assert_eq!(read(run), *set);
            }
            let split = random.below(runs.len() + 1);
            let rest = subtract(
                &folder.join("rest"),
                width,
                &runs[..split],
                &runs[split..],
                || Ok(()),
            );
            let mut expected: BTreeSet<Vec<u32>> =
                sets[..split].iter().flatten().cloned().collect();
            expected.retain(|state| !sets[split..].iter().any(|set| set.contains(state)));
            assert_eq!(
                read(&rest.expect("there is room")),
                expected,
                "round {round}"
            );
        }
        let _ = std::fs::remove_dir(&folder);
    }
}
