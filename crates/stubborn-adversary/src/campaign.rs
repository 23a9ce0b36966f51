//! Rounds in many arenas on several threads, until the time is over or something is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::arena::{Arena, Mismatch};
use crate::coverage::Coverage;
use crate::judge::LATE;
use crate::random::derive;
use crate::subject::Subject;

/// What to do, and for how long.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// All seeds of cases come from it.
    pub seed: u64,
    /// No case begins after this time.
    pub time: Option<Duration>,
    /// So many cases of every kind.
    pub cases: Option<u64>,
    /// On so many threads.
    pub threads: usize,
    /// Whether to go on after a mismatch.
    pub keep_going: bool,
}

/// What came of one arena.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// How many systems were made.
    pub cases: u64,
    /// How many answers were compared.
    pub comparisons: u64,
    /// Time in it, of all threads.
    pub time: Duration,
}

/// A mismatch and where it came from.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The arena's name.
    pub kind: &'static str,
    /// Which case of its kind it was, from 0.
    pub number: u64,
    /// The seed of the case.
    pub seed: u64,
    /// When it was found, from the start, making it small not counted.
    pub after: Duration,
    /// What is wrong.
    pub mismatch: Mismatch,
}

/// What came of all.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// By arena.
    pub accounts: BTreeMap<&'static str, Account>,
    /// What was wrong.
    pub findings: Vec<Finding>,
    /// What was tried, by arena.
    pub coverage: BTreeMap<&'static str, Coverage>,
}

/// What threads share.
struct Shared<'a> {
    progress: Vec<(u64, Duration)>,
    outcome: Outcome,
    found: &'a (dyn Fn(&Finding) + Sync),
}

impl Campaign {
    /// Runs it; each mismatch is given to `found` as it comes.
    pub fn run(
        &self,
        arenas: &[&dyn Arena],
        subject: &Subject,
        found: &(dyn Fn(&Finding) + Sync),
    ) -> Outcome {
        let start = Instant::now();
        let mut outcome = Outcome::default();
        for arena in arenas {
            let coverage = Coverage::declared(arena.features());
            outcome.coverage.insert(arena.name(), coverage);
            outcome.accounts.entry(arena.name()).or_default();
        }
        let shared = Mutex::new(Shared {
            progress: vec![(0, Duration::ZERO); arenas.len()],
            outcome,
            found,
        });
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                scope.spawn(|| {
                    while let Some((index, number)) = self.next(&shared, &stop, start) {
                        let arena = arenas[index];
                        self.case(arena, index, number, subject, &shared, &stop, start);
                    }
                });
            }
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.outcome
    }

    /// The next case: of the arena in which the least time was spent.
    fn next(
        &self,
        shared: &Mutex<Shared<'_>>,
        stop: &AtomicBool,
        start: Instant,
    ) -> Option<(usize, u64)> {
        if stop.load(Ordering::Relaxed) || self.time.is_some_and(|time| start.elapsed() >= time) {
            return None;
        }
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |(_, (cases, _)): &(usize, &mut (u64, Duration))| {
            self.cases.is_none_or(|limit| *cases < limit)
        };
        let progress = shared.progress.iter_mut().enumerate().filter(open);
        let (index, (cases, _)) = progress.min_by_key(|(_, (cases, time))| (*time, *cases))?;
        let number = *cases;
        *cases += 1;
        Some((index, number))
    }

    #[expect(clippy::too_many_arguments, reason = "all that a thread has")]
    fn case(
        &self,
        arena: &dyn Arena,
        index: usize,
        number: u64,
        subject: &Subject,
        shared: &Mutex<Shared<'_>>,
        stop: &AtomicBool,
        start: Instant,
    ) {
        let seed = derive(self.seed, arena.name(), number);
        let mut coverage = Coverage::default();
        let began = Instant::now();
        let round = arena.round(seed, subject, &mut coverage);
        if coverage.count(LATE) > 0 {
            coverage.note(&format!("late {}:{seed}", arena.name()));
        }
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.progress[index].1 += began.elapsed();
        let name = arena.name();
        let account = shared.outcome.accounts.entry(name).or_default();
        account.cases += 1;
        account.comparisons += round.comparisons;
        account.time += began.elapsed();
        let sum = shared.outcome.coverage.entry(name).or_default();
        sum.add(&coverage);
        if let Some(mismatch) = round.mismatch {
            let finding = Finding {
                kind: name,
                number,
                seed,
                after: began - start,
                mismatch,
            };
            (shared.found)(&finding);
            shared.outcome.findings.push(finding);
            if !self.keep_going {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Finding {
    /// Its name as `--case` takes it.
    pub fn case(&self) -> String {
        format!("{}:{}", self.kind, self.seed)
    }

    /// Writes it into a folder of its own below `folder`: the files, `command`, `expected`,
    /// `got` and `seed`. Returns that folder.
    pub fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        let folder = folder.join(format!("{}-{}", self.kind, self.seed));
        fs::create_dir_all(&folder)?;
        for (name, text) in &self.mismatch.files {
            fs::write(folder.join(name), text)?;
        }
        let line = |text: &str| format!("{}\n", text.trim_end());
        fs::write(folder.join("command"), line(&self.mismatch.command_line()))?;
        fs::write(folder.join("expected"), line(&self.mismatch.expected))?;
        fs::write(folder.join("got"), line(&self.mismatch.got))?;
        fs::write(folder.join("seed"), line(&self.case()))?;
        Ok(folder)
    }
}

impl Mismatch {
    /// The command line for a shell.
    pub fn command_line(&self) -> String {
        let mut words = vec!["stubborn".to_owned()];
        words.extend(self.arguments.iter().map(|argument| quote(argument)));
        words.join(" ")
    }
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Round;

    struct Even;

    impl Arena for Even {
        fn name(&self) -> &'static str {
            "even"
        }

        fn available(&self) -> Result<(), String> {
            Ok(())
        }

        fn round(&self, seed: u64, _: &Subject, coverage: &mut Coverage) -> Round {
            coverage.note("a case");
            let mismatch = Mismatch {
                files: vec![("m".into(), seed.to_string())],
                arguments: vec!["check".into(), "it's".into()],
                expected: "odd".into(),
                got: "even".into(),
                what: "parity".into(),
            };
            Round {
                comparisons: 2,
                mismatch: seed.is_multiple_of(2).then_some(mismatch),
            }
        }
    }

    fn campaign(keep_going: bool) -> Outcome {
        let subject = Subject::new(Path::new("/bin/sh")).unwrap();
        let campaign = Campaign {
            seed: 1,
            time: None,
            cases: Some(40),
            threads: 1,
            keep_going,
        };
        campaign.run(&[&Even], &subject, &|_| {})
    }

    #[test]
    fn it_stops_at_a_mismatch_unless_told_otherwise() {
        let one = campaign(false);
        assert_eq!(one.findings.len(), 1);
        let all = campaign(true);
        assert_eq!(all.accounts["even"].cases, 40);
        assert_eq!(all.accounts["even"].comparisons, 80);
        assert_eq!(all.coverage["even"].count("a case"), 40);
        assert!(all.findings.len() > 5 && all.findings.len() < 35);
        assert_eq!(all.findings[0].seed, one.findings[0].seed);
    }

    #[test]
    fn findings_are_written_as_folders() {
        let finding = &campaign(false).findings[0];
        let subject = Subject::new(Path::new("/bin/sh")).unwrap();
        let folder = subject.folder(&[]);
        let written = finding.write(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(written.join(name)).unwrap();
        assert_eq!(read("m"), finding.seed.to_string());
        assert_eq!(read("command"), "stubborn check 'it'\\''s'\n");
        assert_eq!(read("expected"), "odd\n");
        assert_eq!(read("seed"), format!("even:{}\n", finding.seed));
    }
}
