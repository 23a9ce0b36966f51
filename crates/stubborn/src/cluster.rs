//! Several processes that share a search: starting them, finding each other, and what they must
//! agree on beside states.
//!
//! Every process runs the same command. The leader is the one that was started by the user; the
//! others have `--join`, print nothing, have no time limit, and end when the leader does.

use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stubborn::plan::{Keeper, Next, kept_before};
use stubborn::search::Distributed;
use stubborn::system::{Outcome, Spent};
use stubborn::{LoadedModel, fingerprint};
use stubborn_cluster::{Cluster, JoinError, Meeting, Token};

use crate::exit::Failure;
use crate::interrupt;
use crate::options::{ClusterArgs, MemoryLimit, SearchArgs};
use crate::terminal::{bytes, grouped};

/// How long processes that were started have to end when the leader does.
const FAREWELL: Duration = Duration::from_secs(2);
/// Bytes of the last words of a process that are kept.
const LAST_WORDS: usize = 4 << 10;

/// What a process gets to know from the one that started it.
#[derive(Debug)]
pub(crate) struct Orders {
    token: Token,
    /// By the leader, and not by a person who may end it.
    is_started: bool,
    pub(crate) memory: Option<MemoryLimit>,
    pub(crate) max_states: Option<u64>,
}

impl Orders {
    /// From the environment, or from standard input.
    pub(crate) fn hear() -> Result<Self, Failure> {
        let wrong = || Failure::wrong("--join needs a token of at least 16 characters");
        if let Some(token) = token_of_environment()? {
            return Ok(Self {
                token,
                is_started: false,
                memory: None,
                max_states: None,
            });
        }
        let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
        let token = lines.next().and_then(|line| Token::new(&line));
        let memory = lines.next().and_then(|line| line.trim().parse().ok());
        let max_states = lines.next().and_then(|line| line.trim().parse().ok());
        Ok(Self {
            token: token.ok_or_else(wrong)?,
            is_started: true,
            memory,
            max_states,
        })
    }
}

/// What processes agree on beside what engines do.
mod topic {
    pub(super) const MISSING: u8 = 100;
    pub(super) const HEAD: u8 = 101;
    pub(super) const GROWTH: u8 = 102;
    pub(super) const TRAFFIC: u8 = 103;
    pub(super) const NEXT: u8 = 104;
}

/// What users set so that processes know each other.
const TOKEN: &str = "STUBBORN_TOKEN";

fn token_of_environment() -> Result<Option<Token>, Failure> {
    match std::env::var(TOKEN) {
        Err(_) => Ok(None),
        Ok(text) => Token::new(&text)
            .map(Some)
            .ok_or_else(|| Failure::wrong(format!("{TOKEN} must have at least 16 characters"))),
    }
}

/// A host, and how many processes are there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    processes: usize,
}

/// The hosts of a list: a name and a number in each line.
fn hosts_of(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let processes = words.next().map_or(Ok(1), |word| {
            let number = word
                .parse()
                .ok()
                .filter(|number| (1..=1024).contains(number));
            number.ok_or_else(|| format!("line {}: `{word}` is no number of processes", at + 1))
        })?;
        // Names become arguments of another program.
        if words.next().is_some() || name.starts_with('-') {
            return Err(format!(
                "line {}: write a host and a number of processes, such as `node1 4`",
                at + 1
            ));
        }
        hosts.push(Host {
            name: name.to_owned(),
            processes,
        });
    }
    match hosts.is_empty() {
        true => Err("there is no host in it".into()),
        false => Ok(hosts),
    }
}

fn hosts(args: &ClusterArgs) -> Result<Option<Vec<Host>>, Failure> {
    let Some(path) = &args.hosts else {
        return Ok(None);
    };
    let wrong =
        |what: &dyn std::fmt::Display| Failure::wrong(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    hosts_of(&text).map(Some).map_err(|error| wrong(&error))
}

/// How many processes share the memory of this machine.
pub(crate) fn processes_here(args: &ClusterArgs) -> Result<usize, Failure> {
    let hosts = hosts(args)?;
    let first = hosts.as_ref().and_then(|hosts| hosts.first());
    Ok(match (first, &args.listen) {
        (Some(host), _) => host.processes,
        // The others may be anywhere.
        (None, Some(_)) => 1,
        (None, None) => usize::from(args.processes.unwrap_or(1)),
    })
}

/// A process that was started.
struct Started {
    child: Child,
    place: String,
    last_words: Arc<Mutex<Vec<u8>>>,
}

impl Started {
    /// Starts a process, and tells it what it must know.
    fn new(command: &mut Command, place: &str, orders: &str) -> std::io::Result<Self> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // If it has ended, that is noticed soon.
            let _ = input.write_all(orders.as_bytes());
        }
        let last_words = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut errors) = child.stderr.take() {
            let kept = Arc::clone(&last_words);
            let thread = std::thread::Builder::new();
            thread.spawn(move || {
                let mut buffer = [0; 1 << 10];
                while let Ok(read @ 1..) = errors.read(&mut buffer) {
                    let mut kept = lock(&kept);
                    kept.extend_from_slice(&buffer[..read]);
                    let surplus = kept.len().saturating_sub(LAST_WORDS);
                    kept.drain(..surplus);
                }
            })?;
        }
        Ok(Self {
            child,
            place: place.to_owned(),
            last_words,
        })
    }

    /// Why it has ended, if it has.
    fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let words = String::from_utf8_lossy(&lock(&self.last_words)).into_owned();
        let words = words.trim().trim_start_matches("error: ");
        Some(format!(
            "the process on {} ended before it had come ({status}): {words}",
            self.place
        ))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process among those that share the work.
pub(crate) struct Team {
    // Connections are closed before anybody waits for the others to end.
    cluster: Mutex<Cluster>,
    _started: Crew,
    is_leader: bool,
}

/// Processes that were started; they end with this one.
#[derive(Default)]
struct Crew(Vec<Started>);

impl Drop for Crew {
    fn drop(&mut self) {
        let end = Instant::now() + FAREWELL;
        for started in &mut self.0 {
            while Instant::now() < end && matches!(started.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = started.child.kill();
            let _ = started.child.wait();
        }
    }
}

impl Team {
    /// All processes find each other, if there are several. `arguments` are those of the command.
    pub(crate) fn begin(
        args: &ClusterArgs,
        search: &SearchArgs,
        arguments: &[OsString],
        model: &LoadedModel,
    ) -> Result<Option<Self>, Failure> {
        if !args.is_asked_for() {
            return Ok(None);
        }
        let purpose = format!(
            "stubborn {}, {}",
            env!("CARGO_PKG_VERSION"),
            fingerprint(model)
        );
        if let (Some(address), Some(orders)) = (&args.join, &args.orders) {
            // The leader decides when to stop those that work. Who waits for a leader may go.
            interrupt::defer(true);
            if !orders.is_started {
                interrupt::end_soon()?;
            }
            let cluster = Cluster::join(address, &orders.token, &purpose);
            let cluster = cluster.map_err(|error| {
                Failure::wrong(format!("cannot help the leader at {address}: {error}"))
            })?;
            interrupt::take_time();
            return Ok(Some(Self::new(cluster, Crew::default())));
        }
        let about = |error: &dyn std::fmt::Display| {
            Failure::wrong(format!("the processes do not find each other: {error}"))
        };
        let token = token_of_environment()?;
        if args.listen.is_some() && token.is_none() {
            return Err(Failure::wrong(format!("--listen needs a token in {TOKEN}")));
        }
        let token = token.unwrap_or_else(Token::random);
        let hosts = match hosts(args)? {
            Some(hosts) => hosts,
            None => vec![Host {
                name: "127.0.0.1".into(),
                processes: usize::from(args.processes.unwrap_or(1)),
            }],
        };
        let size = hosts.iter().map(|host| host.processes).sum();
        let here = &hosts[0].name;
        let listener = match &args.listen {
            Some(address) => TcpListener::bind(address),
            None => TcpListener::bind((here.as_str(), 0)),
        };
        let listener = listener.map_err(|error| about(&error))?;
        let mut crew = Crew::default();
        if args.listen.is_none() {
            let port = listener.local_addr().map_err(|error| about(&error))?.port();
            let memory = match search.memory_limit {
                Some(MemoryLimit::Bytes(bytes)) => bytes.to_string(),
                Some(MemoryLimit::Unlimited) => "none".into(),
                None => String::new(),
            };
            let states = search
                .max_states
                .map_or(String::new(), |most| most.to_string());
            let orders = format!("{}\n{memory}\n{states}\n", token.as_str());
            let address = format!("{here}:{port}");
            for (at, host) in hosts.iter().enumerate() {
                let others = host.processes - usize::from(at == 0);
                for _ in 0..others {
                    let mut command = match at {
                        0 => own_command(arguments, &address),
                        _ => remote_command(&host.name, arguments, &address),
                    }
                    .map_err(|error| about(&error))?;
                    let started = Started::new(&mut command, &host.name, &orders);
                    let started = started.map_err(|error| {
                        about(&format!("nothing can be started on {}: {error}", host.name))
                    })?;
                    crew.0.push(started);
                }
            }
        }
        let meeting = Meeting {
            listener,
            size,
            token,
            purpose: &purpose,
        };
        let budget = model.system().budget();
        let cluster = Cluster::lead(meeting, || {
            if let Some(spent) = budget.poll() {
                return Err(format!("{spent} before all had come"));
            }
            match crew.0.iter_mut().find_map(Started::ended) {
                Some(problem) => Err(problem),
                None => Ok(()),
            }
        });
        match cluster {
            Ok(cluster) => Ok(Some(Self::new(cluster, crew))),
            Err(JoinError::Refused(why)) if budget.spent().is_some() => {
                Err(Failure::no_answer(why))
            }
            Err(error) => Err(about(&error)),
        }
    }

    fn new(cluster: Cluster, crew: Crew) -> Self {
        Self {
            is_leader: cluster.is_leader(),
            cluster: Mutex::new(cluster),
            _started: crew,
        }
    }

    /// Who runs searches.
    pub(crate) fn engine(&self) -> Distributed<'_> {
        Distributed::new(&self.cluster)
    }

    /// Whether somebody else says what comes out.
    pub(crate) fn is_worker(&self) -> bool {
        !self.is_leader
    }

    /// What steps were missing in any process.
    pub(crate) fn missing(&self, model: &LoadedModel) -> Result<Vec<Outcome>, Failure> {
        let own = model.missing().into_iter().map(Outcome::to_bits);
        let own = own.flat_map(u64::to_le_bytes).collect();
        let agreed = lock(&self.cluster).agree(topic::MISSING, own, |all| all.concat());
        let agreed = agreed.map_err(Failure::no_answer)?;
        let (numbers, _) = agreed.as_chunks();
        let mut bits: Vec<u64> = numbers.iter().map(|n| u64::from_le_bytes(*n)).collect();
        bits.sort_unstable();
        bits.dedup();
        let failures = model.system().structure().failures.len();
        let outcomes = bits
            .into_iter()
            .map(|bits| Outcome::from_bits(bits, failures));
        Ok(outcomes.flatten().collect())
    }
}

/// Keeps checkpoints of what several processes do: the leader does, the others send what they have.
pub(crate) struct TeamKeeper<'t> {
    team: &'t Team,
    /// Of the leader.
    inner: Option<&'t dyn Keeper>,
    never: AtomicBool,
    taken_up: Mutex<Option<(Box<dyn Read + Send>, u64)>>,
}

impl Team {
    /// All processes prepare to keep checkpoints, and to go on from one, if there is one.
    pub(crate) fn keeper<'t>(
        &'t self,
        inner: Option<&'t dyn Keeper>,
    ) -> Result<TeamKeeper<'t>, Failure> {
        let unreadable = |error| Failure::wrong(format!("the checkpoint cannot be read: {error}"));
        let mut taken_up = None;
        let mut head = Vec::new();
        if let Some((mut input, bytes)) = inner.and_then(Keeper::take_up) {
            head = kept_before(&mut *input, bytes).map_err(unreadable)?;
            let whole = std::io::Cursor::new(head.clone()).chain(input);
            taken_up = Some((Box::new(whole) as Box<dyn Read + Send>, bytes));
        }
        let head = lock(&self.cluster).agree(topic::HEAD, head, |all| all[0].clone());
        let head = head.map_err(Failure::no_answer)?;
        if !self.is_leader && !head.is_empty() {
            let bytes = head.len() as u64;
            taken_up = Some((Box::new(std::io::Cursor::new(head)), bytes));
        }
        Ok(TeamKeeper {
            team: self,
            inner,
            never: AtomicBool::new(false),
            taken_up: Mutex::new(taken_up),
        })
    }

    /// Makes the model as large as the leader's, which may have learnt that before a checkpoint.
    pub(crate) fn grow_alike(
        &self,
        growth: &[Vec<u64>],
        model: &mut LoadedModel,
    ) -> Result<(), Failure> {
        let own: Vec<u64> = growth
            .iter()
            .flat_map(|one| std::iter::once(one.len() as u64).chain(one.iter().copied()))
            .collect();
        let own = own.into_iter().flat_map(u64::to_le_bytes).collect();
        let agreed = lock(&self.cluster).agree(topic::GROWTH, own, |all| all[0].clone());
        if self.is_leader {
            return agreed.map(|_| ()).map_err(Failure::no_answer);
        }
        let agreed = agreed.map_err(Failure::no_answer)?;
        let (numbers, _) = agreed.as_chunks();
        let mut numbers = numbers.iter().map(|n| u64::from_le_bytes(*n));
        while let Some(count) = numbers.next() {
            let failures = model.system().structure().failures.len();
            let missing = numbers.by_ref().take(count as usize);
            let missing = missing.filter_map(|bits| Outcome::from_bits(bits, failures));
            model.grow_for(&missing.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// What was sent in all, for people; all processes must ask.
    pub(crate) fn traffic(&self) -> Option<String> {
        let mut cluster = lock(&self.cluster);
        let own = cluster.traffic();
        let own = [own.messages, own.bytes].into_iter();
        let own = own.flat_map(u64::to_le_bytes).collect();
        let size = cluster.size();
        let agreed = cluster.agree(topic::TRAFFIC, own, |all| {
            let number = |one: &[u8], at: usize| {
                let (numbers, _) = one.as_chunks();
                numbers.get(at).map_or(0, |n| u64::from_le_bytes(*n))
            };
            let sum = |at: usize| all.iter().map(|one| number(one, at)).sum::<u64>();
            [sum(0), sum(1)]
                .into_iter()
                .flat_map(u64::to_le_bytes)
                .collect()
        });
        let agreed = agreed.ok()?;
        let (numbers, _) = agreed.as_chunks();
        let [messages, sent] = numbers else {
            return None;
        };
        Some(format!(
            "{size} {}, {} in {} messages",
            if size == 1 { "process" } else { "processes" },
            bytes(u64::from_le_bytes(*sent)),
            grouped(u64::from_le_bytes(*messages)),
        ))
    }
}

impl Keeper for TeamKeeper<'_> {
    fn pause(&self) -> &AtomicBool {
        self.inner.map_or(&self.never, Keeper::pause)
    }

    fn is_exploring(&self, now: bool) {
        self.inner.inspect(|inner| inner.is_exploring(now));
    }

    fn keep(&self, write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> Next {
        let mut next = Next::GoOn;
        let mut is_done = false;
        if let Some(inner) = self.inner {
            next = inner.keep(&mut |output| {
                is_done = true;
                write(output)
            });
        }
        if !is_done {
            // The others wait to send what they have, even if it cannot be written.
            let _ = write(&mut std::io::sink());
        }
        const REASONS: [Spent; 3] = [Spent::Time, Spent::Memory, Spent::Interrupted];
        let own = match next {
            Next::GoOn => 0,
            Next::End(why) => 1 + REASONS.iter().position(|r| *r == why).unwrap_or(2) as u8,
        };
        let agreed = lock(&self.team.cluster).agree(topic::NEXT, vec![own], |all| all[0].clone());
        match agreed.ok().and_then(|agreed| agreed.first().copied()) {
            // Whoever is lost is noticed when the search goes on.
            None | Some(0) => Next::GoOn,
            Some(reason) => Next::End(REASONS[usize::from(reason - 1).min(2)]),
        }
    }

    fn take_up(&self) -> Option<(Box<dyn Read + Send>, u64)> {
        lock(&self.taken_up).take()
    }
}

/// The arguments of this command, to help the one at an address.
fn with_join(arguments: &[OsString], address: &str) -> Vec<OsString> {
    let arguments = arguments.iter().skip(1).cloned();
    arguments.chain(["--join".into(), address.into()]).collect()
}

fn own_command(arguments: &[OsString], address: &str) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(with_join(arguments, address))
        .env_remove(TOKEN);
    Ok(command)
}

/// The same on another host, in the same folder.
fn remote_command(host: &str, arguments: &[OsString], address: &str) -> std::io::Result<Command> {
    let shell = std::env::var("STUBBORN_RSH").unwrap_or_else(|_| "ssh".into());
    let mut shell = shell.split_whitespace();
    let mut command = Command::new(shell.next().unwrap_or("ssh"));
    let folder = std::env::current_dir()?;
    let program = std::env::current_exe()?;
    let mut words = vec![quoted(&program.to_string_lossy())];
    let arguments = with_join(arguments, address);
    words.extend(arguments.iter().map(|a| quoted(&a.to_string_lossy())));
    let folder = quoted(&folder.to_string_lossy());
    let line = format!("cd {folder} && exec {}", words.join(" "));
    command.args(shell).arg(host).arg(line).env_remove(TOKEN);
    Ok(command)
}

/// As a shell takes it for one word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_hosts_are_read() {
        let host = |name: &str, processes| Host {
            name: name.into(),
            processes,
        };
        let text = "node1 4 # here\n\n  node2\n# none\n";
        assert_eq!(hosts_of(text), Ok(vec![host("node1", 4), host("node2", 1)]));
        for (text, line) in [
            ("node1 four", "line 1"),
            ("a\nnode1 0", "line 2"),
            ("node1 1 2", "line 1"),
            ("-oProxyCommand=x", "line 1"),
        ] {
            let error = hosts_of(text).expect_err(text);
            assert!(error.contains(line), "{error}");
        }
        assert!(hosts_of("# nobody\n").is_err());
    }

    #[test]
    fn a_shell_takes_what_is_quoted_for_one_word() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
