//! What all processes have comes to the leader, one after the other.

use std::io::{self, Write};
use std::time::Duration;

use crate::{Cluster, LEADER, Lost};

/// Bytes that are sent at once.
const FRAME: usize = 256 << 10;
/// How long to wait before looking again.
const PATIENCE: Duration = Duration::from_millis(100);

/// It is somebody's turn to send his part.
const TURN: u8 = 10;
/// A piece of it; an empty one is the last.
const PIECE: u8 = 11;

impl From<Lost> for io::Error {
    fn from(lost: Lost) -> Self {
        io::Error::new(io::ErrorKind::BrokenPipe, lost)
    }
}

/// Sends what is written to the leader.
struct Pieces<'c> {
    cluster: &'c mut Cluster,
    piece: Vec<u8>,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() + bytes.len() > FRAME {
            self.flush()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        match piece.is_empty() {
            true => Ok(()),
            false => Ok(self.cluster.send_in_time(LEADER, PIECE, &piece)?),
        }
    }
}

impl Cluster {
    /// Sends a message to one who only receives, when there is room for it.
    ///
    /// # Errors
    /// If somebody is lost.
    pub fn send_in_time(&mut self, to: usize, kind: u8, body: &[u8]) -> Result<(), Lost> {
        while self.is_congested(to) {
            self.receive(PATIENCE)?;
        }
        self.send(to, kind, body)
    }

    /// Everybody writes his `part`, and the leader gets all of them into `output`, in order. The
    /// others send theirs whatever becomes of it there.
    ///
    /// # Errors
    /// If somebody is lost, and what `output` and `part` say.
    pub fn gather(
        &mut self,
        output: &mut dyn Write,
        mut part: impl FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.is_leader() {
            while self.receive(PATIENCE)?.is_none() {}
            let mut pieces = Pieces {
                cluster: self,
                piece: Vec::with_capacity(FRAME),
            };
            part(&mut pieces)?;
            pieces.flush()?;
            self.send(LEADER, PIECE, &[])?;
            self.flush();
            return Ok(());
        }
        let mut written = part(output);
        for other in self.others() {
            self.send(other, TURN, &[])?;
            loop {
                match self.receive(PATIENCE)? {
                    Some(piece) if piece.body.is_empty() => break,
                    Some(piece) if written.is_ok() => written = output.write_all(&piece.body),
                    _ => {}
                }
            }
        }
        written
    }
}
