//! Where and when a result was made: machine, program, time.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Processor, cores, memory and system in one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = total_memory().map_or_else(String::new, |bytes| {
        format!(", {:.0} GiB", bytes as f64 / f64::from(1 << 30))
    });
    let plural = if cores == 1 { "" } else { "s" };
    format!(
        "{processor}, {cores} core{plural}{memory}, {}",
        std::env::consts::OS
    )
}

/// All memory of the machine, where it tells.
pub fn total_memory() -> Option<u64> {
    meminfo("MemTotal:")
}

/// Memory that is free without pushing others out, where the machine tells.
pub fn free_memory() -> Option<u64> {
    meminfo("MemAvailable:")
}

fn meminfo(key: &str) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = table.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// A program that makes results.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it says about its version.
    pub version: String,
    /// The commit of the repository around it, with a `+` if files there have changed.
    pub commit: Option<String>,
    /// A number of its file's contents.
    pub fingerprint: String,
}

impl Program {
    /// Asks a program, and looks at its file.
    pub fn at(path: &Path, version_flag: &str) -> std::io::Result<Self> {
        let output = Command::new(path).arg(version_flag).output()?;
        let version = String::from_utf8_lossy(&output.stdout);
        let version = version.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Self {
            version,
            commit: path.parent().and_then(commit),
            fingerprint: fingerprint(&std::fs::read(path)?),
        })
    }
}

fn commit(folder: &Path) -> Option<String> {
    let git = |args: &[&str]| -> Option<String> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(args)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { head } else { head + "+" })
}

/// FNV-1a over eight bytes at a time: not against enemies, but fast and the same everywhere.
fn fingerprint(bytes: &[u8]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3);
        hash ^= hash >> 29;
    }
    format!("{hash:016x}")
}

/// The time in UTC: `2026-11-15T12:34:56Z`.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    timestamp(since.map_or(0, |d| d.as_secs()))
}

/// Days to a date by Howard Hinnant's `civil_from_days`.
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_794_746_096), "2026-11-15T12:34:56Z");
    }

    #[test]
    fn fingerprints_see_every_byte() {
        let mut bytes = vec![7; 100];
        let one = fingerprint(&bytes);
        for at in 0..100 {
            bytes[at] ^= 1;
            assert_ne!(fingerprint(&bytes), one);
            bytes[at] ^= 1;
        }
        assert_eq!(fingerprint(&bytes), one);
    }
}
