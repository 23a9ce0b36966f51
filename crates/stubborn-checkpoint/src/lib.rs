//! Checkpoints: files that survive whatever ends the program that writes them.
//!
//! A checkpoint is a short *head*, which says what it is about, and a *body* of any length. This
//! crate does not know what is in either. It promises that whoever reads one gets what was
//! written, or an error: never something else.
//!
//! A [`Folder`] has at most three files. `checkpoint` is the latest one. A new one is written as
//! `checkpoint.new`, and synchronised with the disk, before it takes that name; the one before it
//! becomes `checkpoint.previous`, and is there until the next one is complete. So a program that
//! is killed at any moment, or a machine that loses power, leaves at least one whole checkpoint
//! once the first was written.
//!
//! ```
//! use std::io::{Read, Write};
//! use stubborn_checkpoint::Folder;
//!
//! let place = std::env::temp_dir().join(format!("checkpoint-{}", std::process::id()));
//! let folder = Folder::create(&place)?;
//! folder.write(b"numbers", |body| body.write_all(&[1, 2, 3]))?;
//!
//! let mut latest = folder.latest().map_err(|problems| problems.join("; "))?;
//! let mut body = Vec::new();
//! latest.body.read_to_end(&mut body)?;
//! assert_eq!((latest.head.as_slice(), body.as_slice()), (&b"numbers"[..], &[1, 2, 3][..]));
//! folder.clear();
//! # drop(folder);
//! # std::fs::remove_dir_all(place)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The format
//!
//! Eight bytes `STUBBORN`, the version as four bytes, then blocks. A block is its kind and length
//! (four bytes each), its number (eight bytes), a checksum of all that and the contents (eight
//! bytes), and the contents, at most a mebibyte. The first block is the head, then comes the
//! body, and an empty block says that nothing is missing. Numbers have their least significant byte
//! first. The checksum is rapidhash, version 3: it tells accidents, not forgeries.

#![forbid(unsafe_code)]

mod blocks;
mod folder;

pub use blocks::{Body, Checkpoint, VERSION};
pub use folder::{Folder, FolderError, Found};
