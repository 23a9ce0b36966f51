//! Files that are torn, flipped, mixed or of another version: an error, never other contents.

use std::fs;
use std::io::{Error, Read};
use std::path::Path;

use stubborn_checkpoint::{Checkpoint, Folder, FolderError};

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % limit as u64) as usize
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let mut checkpoint = Checkpoint::open(path)?;
    let mut body = Vec::new();
    checkpoint.body.read_to_end(&mut body)?;
    Ok((checkpoint.head, body))
}

fn body(length: usize, random: &mut Numbers) -> Vec<u8> {
    (0..length).map(|_| random.below(256) as u8).collect()
}

#[test]
fn what_was_written_is_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    let random = &mut Numbers(1);
    for length in [0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let contents = body(length, random);
        // In pieces, as writers do.
        let written = folder.write(b"head", |out| {
            let (first, second) = contents.split_at(length / 3);
            out.write_all(first)?;
            out.write_all(second)
        });
        let bytes = written.unwrap();
        assert!(bytes >= length as u64);
        let (head, back) = read(&place.path().join("checkpoint")).unwrap();
        assert_eq!(head, b"head");
        assert!(back == contents);
    }
}

#[test]
fn mutations_are_noticed() {
    mutate(500);
}

#[test]
#[ignore = "long: many files are written"]
fn ten_thousand_mutations_are_noticed() {
    mutate(10_000);
}

/// Files with one random change each: every one is noticed.
fn mutate(rounds: usize) {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    let random = &mut Numbers(2);
    let contents = body(5000, random);
    folder
        .write(b"some head", |out| out.write_all(&contents))
        .unwrap();
    let path = place.path().join("checkpoint");
    let good = fs::read(&path).unwrap();
    let other = place.path().join("other");
    for round in 0..rounds {
        let mut bytes = good.clone();
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 | 2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes[at] = bytes[at].wrapping_add(1 + random.below(255) as u8),
            4 => {
                // A torn page: zeros from somewhere on.
                let end = (at + 1 + random.below(512)).min(bytes.len());
                bytes[at..end].fill(0);
            }
            _ => {
                let end = (at + random.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
        }
        if bytes == good {
            continue;
        }
        fs::write(&other, &bytes).unwrap();
        let read = read(&other);
        assert!(
            read.is_err(),
            "round {round}: {:?}",
            read.map(|(head, _)| head)
        );
    }
    let mut longer = good.clone();
    longer.push(0);
    fs::write(&other, &longer).unwrap();
    assert!(read(&other).is_err(), "something after the end");
}

#[test]
fn blocks_cannot_change_places() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    let random = &mut Numbers(3);
    let contents = body(3 << 20, random);
    folder.write(b"", |out| out.write_all(&contents)).unwrap();
    let path = place.path().join("checkpoint");
    let good = fs::read(&path).unwrap();
    // The start, the frame of the empty head, then blocks of a mebibyte.
    let (first, block) = (12 + 24, 24 + (1 << 20));
    let mut swapped = good.clone();
    swapped[first..first + block].copy_from_slice(&good[first + block..first + 2 * block]);
    swapped[first + block..first + 2 * block].copy_from_slice(&good[first..first + block]);
    fs::write(&path, &swapped).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("order"));
    let mut dropped = good.clone();
    dropped.drain(first..first + block);
    fs::write(&path, &dropped).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("order"));
}

#[test]
fn other_files_and_versions_are_named() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    folder.write(b"", |_| Ok(())).unwrap();
    let path = place.path().join("checkpoint");
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] += 1;
    fs::write(&path, &bytes).unwrap();
    let problem = folder.latest().unwrap_err().join("; ");
    assert!(
        problem.contains("format version 2, known is 1"),
        "{problem}"
    );
    for text in ["", "STUBB", "some other file, long enough to be one"] {
        fs::write(&path, text).unwrap();
        let problem = folder.latest().unwrap_err().join("; ");
        assert!(problem.contains("no checkpoint"), "{problem}");
    }
}

#[test]
fn the_one_before_is_there_until_the_next_is_complete() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    assert!(folder.latest().is_err());
    let head = |folder: &Folder| folder.latest().map(|found| found.head.clone());
    folder.write(b"1", |_| Ok(())).unwrap();
    let failed = folder.write(b"2", |out| {
        out.write_all(&[0; 100])?;
        Err(Error::other("the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(head(&folder).unwrap(), b"1");
    folder.write(b"2", |_| Ok(())).unwrap();
    assert_eq!(head(&folder).unwrap(), b"2");
    // The latest one is damaged: the previous one counts, and the damage is told.
    let latest = place.path().join("checkpoint");
    fs::write(&latest, "torn").unwrap();
    let found = folder.latest().unwrap();
    assert_eq!(
        (found.head.as_slice(), found.problems.len()),
        (&b"1"[..], 1)
    );
    // Killed between two names: the new one is the latest.
    folder.write(b"3", |_| Ok(())).unwrap();
    fs::rename(&latest, place.path().join("checkpoint.new")).unwrap();
    assert_eq!(head(&folder).unwrap(), b"3");
    folder.write(b"4", |_| Err(Error::other("no"))).unwrap_err();
    assert_eq!(head(&folder).unwrap(), b"3");
}

#[test]
fn a_folder_belongs_to_one_run() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a/b");
    assert!(matches!(Folder::open(&path), Err(FolderError::Io(_))));
    let folder = Folder::create(&path).unwrap();
    assert!(matches!(Folder::create(&path), Err(FolderError::InUse)));
    folder.write(b"", |_| Ok(())).unwrap();
    assert!(matches!(Folder::open(&path), Err(FolderError::InUse)));
    drop(folder);
    assert!(matches!(Folder::create(&path), Err(FolderError::Taken)));
    let folder = Folder::open(&path).unwrap();
    folder.clear();
    drop(folder);
    assert!(matches!(Folder::open(&path), Err(FolderError::Empty)));
    assert!(Folder::create(&path).is_ok());
}
