//! The format of a file.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Write};
use std::path::Path;

use rapidhash::v3::rapidhash_v3;

/// The version of the format that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"STUBBORN";
/// Most bytes of contents.
const LARGEST: usize = 1 << 20;
/// Bytes before the checksum, and before the contents.
const PREFIX: usize = 16;
const FRAME: usize = PREFIX + 8;

/// What a block is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Head = 1,
    Body = 2,
    End = 3,
}

/// The checksum of a block: of its prefix and its contents.
fn checksum(prefix: &[u8], contents: &[u8]) -> u64 {
    // The prefix is short: hashed into the sum of the contents.
    let mut both = [0; PREFIX + 8];
    both[..PREFIX].copy_from_slice(prefix);
    both[PREFIX..].copy_from_slice(&rapidhash_v3(contents).to_le_bytes());
    rapidhash_v3(&both)
}

/// Writes a checkpoint.
pub(crate) struct Writer<W: Write> {
    output: W,
    contents: Vec<u8>,
    kind: Kind,
    number: u64,
    pub(crate) bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins with the head.
    pub(crate) fn new(mut output: W, head: &[u8]) -> Result<Self> {
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        let mut writer = Self {
            output,
            contents: Vec::with_capacity(LARGEST),
            kind: Kind::Head,
            number: 0,
            bytes: 0,
        };
        if head.len() > LARGEST {
            return Err(Error::new(ErrorKind::InvalidInput, "the head is too long"));
        }
        writer.write_all(head)?;
        writer.end_block()?;
        writer.kind = Kind::Body;
        Ok(writer)
    }

    fn end_block(&mut self) -> Result<()> {
        let mut frame = [0; FRAME];
        frame[..4].copy_from_slice(&(self.kind as u32).to_le_bytes());
        frame[4..8].copy_from_slice(&(self.contents.len() as u32).to_le_bytes());
        frame[8..PREFIX].copy_from_slice(&self.number.to_le_bytes());
        let sum = checksum(&frame[..PREFIX], &self.contents);
        frame[PREFIX..].copy_from_slice(&sum.to_le_bytes());
        self.output.write_all(&frame)?;
        self.output.write_all(&self.contents)?;
        self.bytes += (FRAME + self.contents.len()) as u64;
        self.number += 1;
        self.contents.clear();
        Ok(())
    }

    /// Says that nothing is missing.
    pub(crate) fn finish(mut self) -> Result<(W, u64)> {
        if !self.contents.is_empty() {
            self.end_block()?;
        }
        self.kind = Kind::End;
        self.end_block()?;
        self.output.flush()?;
        Ok((self.output, self.bytes))
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let now = bytes.len().min(LARGEST - self.contents.len());
        self.contents.extend_from_slice(&bytes[..now]);
        if self.contents.len() == LARGEST {
            self.end_block()?;
        }
        Ok(now)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A checkpoint that is all there: every block was looked at.
#[derive(Debug)]
pub struct Checkpoint {
    /// What it is about.
    pub head: Vec<u8>,
    /// The body, from its beginning.
    pub body: Body,
    /// Bytes of the whole file: the body has no more.
    pub bytes: u64,
}

impl Checkpoint {
    /// Reads a file from beginning to end, and goes back to the beginning of its body.
    ///
    /// # Errors
    /// If it cannot be read, or is no whole checkpoint in a version that is known.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = File::open(path)?.metadata()?.len();
        let begin = || -> Result<(Vec<u8>, Body)> {
            let mut body = Body::begin(File::open(path)?)?;
            let head = body.head()?;
            Ok((head, body))
        };
        let (_, mut all) = begin()?;
        std::io::copy(&mut all, &mut std::io::sink())?;
        let (head, body) = begin()?;
        Ok(Self { head, body, bytes })
    }
}

/// The body of a checkpoint. Each block is checked before anything of it is handed out.
#[derive(Debug)]
pub struct Body {
    input: BufReader<File>,
    contents: Vec<u8>,
    /// How much of the contents was handed out.
    done: usize,
    number: u64,
    is_over: bool,
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("it is damaged: {what}"))
}

/// The end of a file where more should come.
fn early(error: Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => error,
    }
}

impl Body {
    fn begin(file: File) -> Result<Self> {
        let mut input = BufReader::with_capacity(1 << 16, file);
        let mut start = [0; MAGIC.len() + 4];
        let foreign = || Error::new(ErrorKind::InvalidData, "it is no checkpoint");
        input
            .read_exact(&mut start)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => foreign(),
                _ => error,
            })?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(foreign());
        }
        let version = version.try_into().map_or(0, u32::from_le_bytes);
        if version != VERSION {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("it has format version {version}, known is {VERSION}"),
            ));
        }
        Ok(Self {
            input,
            contents: Vec::new(),
            done: 0,
            number: 0,
            is_over: false,
        })
    }

    fn head(&mut self) -> Result<Vec<u8>> {
        match self.next_block()? {
            Kind::Head => Ok(std::mem::take(&mut self.contents)),
            _ => Err(damaged("it has no head")),
        }
    }

    /// Reads a block and checks it.
    fn next_block(&mut self) -> Result<Kind> {
        let mut frame = [0; FRAME];
        self.input.read_exact(&mut frame).map_err(early)?;
        let word = |at: usize| frame[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
        let long = |at: usize| frame[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let length = word(4) as usize;
        if length > LARGEST {
            return Err(damaged("a block is too long"));
        }
        self.contents.resize(length, 0);
        self.done = 0;
        self.input.read_exact(&mut self.contents).map_err(early)?;
        if long(PREFIX) != checksum(&frame[..PREFIX], &self.contents) {
            return Err(damaged("a checksum differs"));
        }
        if long(8) != self.number {
            return Err(damaged("a block is out of order"));
        }
        self.number += 1;
        match word(0) {
            1 => Ok(Kind::Head),
            2 => Ok(Kind::Body),
            3 => Ok(Kind::End),
            _ => Err(damaged("a block is of no known kind")),
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.done == self.contents.len() && !self.is_over {
            match self.next_block()? {
                Kind::Body => {}
                Kind::Head => return Err(damaged("it has two heads")),
                Kind::End if !self.contents.is_empty() => {
                    return Err(damaged("there is something in its end"));
                }
                Kind::End => {
                    self.is_over = true;
                    if self.input.read(&mut [0])? != 0 {
                        return Err(damaged("there is something after its end"));
                    }
                }
            }
        }
        let rest = &self.contents[self.done..];
        let now = rest.len().min(buffer.len());
        buffer[..now].copy_from_slice(&rest[..now]);
        self.done += now;
        Ok(now)
    }
}
