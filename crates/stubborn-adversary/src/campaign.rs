//! Rounds in many arenas on several threads, until the time is over or something is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
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
    /// How often to tell what was compared so far: who is killed has told it.
    pub telling: Duration,
}

/// What is told while it runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A mismatch.
    Found(&'a Finding),
    /// What came of all so far, after this time.
    Progress(&'a Outcome, Duration),
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
struct Shared {
    progress: Vec<(u64, Duration)>,
    outcome: Outcome,
}

/// What every thread sees.
struct Ring<'a> {
    /// With the share of the time that each gets.
    arenas: &'a [(&'a dyn Arena, u32)],
    subject: &'a Subject,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
    start: Instant,
    stop: AtomicBool,
    shared: Mutex<Shared>,
}

impl Campaign {
    /// Runs it, in arenas that share the time by their weights.
    pub fn run(
        &self,
        arenas: &[(&dyn Arena, u32)],
        subject: &Subject,
        tell: &(dyn Fn(Event<'_>) + Sync),
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for (arena, _) in arenas {
            let coverage = Coverage::declared(arena.features());
            outcome.coverage.insert(arena.name(), coverage);
            outcome.accounts.entry(arena.name()).or_default();
        }
        let ring = Ring {
            arenas,
            subject,
            tell,
            start: Instant::now(),
            stop: AtomicBool::new(false),
            shared: Mutex::new(Shared {
                progress: vec![(0, Duration::ZERO); arenas.len()],
                outcome,
            }),
        };
        let (working, ended) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            for _ in 0..self.threads.max(1) {
                let working = working.clone();
                let ring = &ring;
                scope.spawn(move || {
                    let _working = working;
                    while let Some((index, number)) = self.next(ring) {
                        self.case(ring, index, number);
                    }
                });
            }
            drop(working);
            // Nobody sends: the channel is closed by the last thread that ends.
            while ended.recv_timeout(self.telling) == Err(RecvTimeoutError::Timeout) {
                let shared = ring.shared.lock().unwrap_or_else(PoisonError::into_inner);
                tell(Event::Progress(&shared.outcome, ring.start.elapsed()));
            }
        });
        let shared = ring.shared.into_inner();
        shared.unwrap_or_else(PoisonError::into_inner).outcome
    }

    /// The next case: of the arena in which the least time was spent, for its weight.
    fn next(&self, ring: &Ring<'_>) -> Option<(usize, u64)> {
        if ring.stop.load(Ordering::Relaxed)
            || ring.subject.is_over()
            || self.time.is_some_and(|time| ring.start.elapsed() >= time)
        {
            return None;
        }
        let mut shared = ring.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |(_, (cases, _)): &(usize, &mut (u64, Duration))| {
            self.cases.is_none_or(|limit| *cases < limit)
        };
        let progress = shared.progress.iter_mut().enumerate().filter(open);
        let spent = |(index, (cases, time)): &(usize, &mut (u64, Duration))| {
            (*time / ring.arenas[*index].1.max(1), *cases)
        };
        let (index, (cases, _)) = progress.min_by_key(spent)?;
        let number = *cases;
        *cases += 1;
        Some((index, number))
    }

    fn case(&self, ring: &Ring<'_>, index: usize, number: u64) {
        let arena = ring.arenas[index].0;
        let seed = derive(self.seed, arena.name(), number);
        let mut coverage = Coverage::default();
        let began = Instant::now();
        let round = arena.round(seed, ring.subject, &mut coverage);
        if coverage.count(LATE) > 0 {
            coverage.note(&format!("late {}:{seed}", arena.name()));
        }
        let mut shared = ring.shared.lock().unwrap_or_else(PoisonError::into_inner);
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
                after: began - ring.start,
                mismatch,
            };
            (ring.tell)(Event::Found(&finding));
            shared.outcome.findings.push(finding);
            if !self.keep_going {
                ring.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Outcome {
    /// Cases and comparisons of every kind in one line.
    pub fn line(&self) -> String {
        let mut text = String::new();
        for (kind, account) in &self.accounts {
            let Account {
                cases, comparisons, ..
            } = account;
            let seconds = account.time.as_secs_f64();
            text += &format!("{kind} {cases} cases {comparisons} comparisons in {seconds:.0} s, ");
        }
        text + &format!("{} mismatches", self.findings.len())
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

    /// Every case of it takes this long.
    struct Slow(&'static str, Duration);

    impl Arena for Slow {
        fn name(&self) -> &'static str {
            self.0
        }

        fn available(&self) -> Result<(), String> {
            Ok(())
        }

        fn round(&self, _: u64, _: &Subject, _: &mut Coverage) -> Round {
            std::thread::sleep(self.1);
            Round {
                comparisons: 1,
                mismatch: None,
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
            telling: Duration::from_secs(3600),
        };
        campaign.run(&[(&Even, 1)], &subject, &|_| {})
    }

    /// Whatever their cases take; and what was done is told on the way, until somebody stops it.
    #[test]
    fn arenas_share_the_time_by_their_weights() {
        let subject = Subject::new(Path::new("/bin/sh")).unwrap();
        let campaign = Campaign {
            seed: 1,
            time: None,
            cases: None,
            threads: 4,
            keep_going: false,
            telling: Duration::from_millis(50),
        };
        let long = Slow("long", Duration::from_millis(20));
        let short = Slow("short", Duration::from_millis(2));
        let told = Mutex::new(Vec::new());
        let stop = subject.stopper();
        let outcome = campaign.run(&[(&long, 3), (&short, 1)], &subject, &|event| {
            let Event::Progress(outcome, _) = event else {
                panic!("nothing is wrong")
            };
            let mut told = told.lock().unwrap();
            told.push(outcome.line());
            if told.len() == 20 {
                stop();
            }
        });
        let told = told.into_inner().unwrap();
        assert!(told.len() >= 20, "{told:?}");
        assert!(told[19].starts_with("long ") && told[19].ends_with(", 0 mismatches"));
        let [long, short] = ["long", "short"].map(|kind| outcome.accounts[kind].time);
        let ratio = long.as_secs_f64() / short.as_secs_f64();
        assert!((2.0..4.5).contains(&ratio), "{long:?} {short:?}");
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
