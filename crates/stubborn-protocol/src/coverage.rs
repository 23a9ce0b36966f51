//! What searches have met: which handlers ever ran, which messages nobody took.
//!
//! A handler that waits for a kind that nobody sends does nothing wrong, and nothing at all: the
//! usual reason is a misspelling, and then every property holds for the wrong reason. So reports
//! say what never happened, and where a name is nearly that of a kind that is sent and not taken,
//! nothing is said to hold.

use std::collections::BTreeSet;
use std::fmt;

use crate::model::{Inner, Role};
use crate::moves::Move;
use crate::protocol::Declarations;
use crate::value::Pid;

/// Collected by executors, for pairs of local state and inbox that they meet for the first time.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Numbers of handlers.
    ran: BTreeSet<usize>,
    /// Receivers and kinds of messages that arrived.
    arrived: BTreeSet<(Pid, u32)>,
    /// Those of messages that some handler takes.
    taken: BTreeSet<(Pid, u32)>,
}

impl Seen {
    /// Adds what exchanges of processes make of it.
    fn close(&mut self, protocol: &Declarations, class: &[Pid]) {
        let everybody = |pairs: &mut BTreeSet<(Pid, u32)>| {
            let some: Vec<u32> = pairs
                .iter()
                .filter(|(p, _)| class.contains(p))
                .map(|(_, kind)| *kind)
                .collect();
            let pairs_of = |kind: u32| class.iter().map(move |p| (*p, kind));
            pairs.extend(some.into_iter().flat_map(pairs_of));
        };
        everybody(&mut self.arrived);
        everybody(&mut self.taken);
        // They have the same handlers in the same order.
        let of = |p: &Pid| -> Vec<usize> {
            let handlers = protocol.handlers.iter().enumerate();
            let own = handlers.filter(|(_, handler)| handler.process == *p);
            own.map(|(number, _)| number).collect()
        };
        let all: Vec<Vec<usize>> = class.iter().map(of).collect();
        let most = all.iter().map(Vec::len).max().unwrap_or(0);
        for place in 0..most {
            let alike: Vec<usize> = all
                .iter()
                .filter_map(|own| own.get(place).copied())
                .collect();
            if alike.iter().any(|handler| self.ran.contains(handler)) {
                self.ran.extend(alike);
            }
        }
    }
}

impl Inner {
    /// Notes what a process can do.
    pub(crate) fn meet(&self, process: Pid, inbox: u32, moves: &[Move]) {
        let mut seen = self.seen.lock().unwrap_or_else(|e| e.into_inner());
        let kind = |message: u32| self.messages.get(message).kind;
        for parcel in self.inboxes.get(inbox) {
            seen.arrived.insert((process, kind(parcel.message)));
        }
        for step in moves {
            // A reduction may take out of inboxes what makes no difference.
            for (to, post) in &step.posts {
                let sent = self.posts.get(*post).iter();
                let sent = sent.map(|parcel| (*to, kind(parcel.message)));
                seen.arrived.extend(sent);
            }
            if let Role::Handler { handler, .. } = &self.actions[step.action as usize].role {
                seen.ran.insert(*handler);
                for parcel in &step.consumed {
                    seen.taken.insert((process, kind(parcel.message)));
                }
            }
        }
    }
}

/// How much is known about a handler without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Knowledge {
    /// It was run on everything that may come its way.
    Analysed,
    /// That was too much: what it declares is known.
    Declared,
    /// That was too much, and it declares nothing: it may send anything to anybody.
    Nothing,
}

/// A handler in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerReport {
    /// Its process.
    pub process: String,
    /// Its name.
    pub name: String,
    /// Whether it ever ran.
    pub ran: bool,
    /// What reductions know about it; `None` if nobody asked.
    pub knowledge: Option<Knowledge>,
}

/// What all checks of a model have met so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Every handler.
    pub handlers: Vec<HandlerReport>,
    /// Messages that arrived and that nobody ever took: receiver and kind.
    pub untaken: Vec<(String, String)>,
    /// Kinds that some handler or record waits for and that were never sent: where, the kind, and
    /// one like it that is sent.
    pub unknown_kinds: Vec<(String, String, Option<String>)>,
}

impl Coverage {
    /// What happened to one of these interchangeable processes may happen to each, although only
    /// representatives are explored.
    pub(crate) fn of(inner: &Inner, interchangeable: &[Pid]) -> Self {
        let mut seen = inner.seen.lock().unwrap_or_else(|e| e.into_inner());
        let protocol = &inner.protocol;
        seen.close(protocol, interchangeable);
        let handlers = protocol.handlers.iter().enumerate();
        let knowledge = |sends: bool| match inner.analysed.get()? {
            true => Some(Knowledge::Analysed),
            false if sends => Some(Knowledge::Declared),
            false => Some(Knowledge::Nothing),
        };
        let name = |p: Pid| inner.process_name(p).to_owned();
        let kind = |k: u32| inner.kinds.get(k).clone();
        let untaken: Vec<(Pid, u32)> = seen.arrived.difference(&seen.taken).copied().collect();
        let sent: BTreeSet<String> = seen.arrived.iter().map(|(_, k)| kind(*k)).collect();
        let mut unknown_kinds = Vec::new();
        let mut ask = |at: String, wanted: &String, process: Option<Pid>| {
            if sent.contains(wanted) {
                return;
            }
            // A kind that its process does not take is the better guess.
            let open = untaken
                .iter()
                .filter(|(p, _)| process.is_none_or(|q| q == *p));
            let open: Vec<String> = open.map(|(_, k)| kind(*k)).collect();
            let found = closest(wanted, open.iter());
            unknown_kinds.push((at, wanted.clone(), found.cloned()));
        };
        for handler in &protocol.handlers {
            let at = format!("`{}`", inner.process_name(handler.process));
            for kind in handler.kinds.iter().flatten() {
                ask(at.clone(), kind, Some(handler.process));
            }
        }
        if let Some(history) = &protocol.history {
            let noted = history.sends.iter().chain(&history.deliveries);
            for kind in noted.flat_map(|(kinds, _)| kinds) {
                if !sent.contains(kind) {
                    let found = closest(kind, sent.iter()).cloned();
                    unknown_kinds.push(("the record".into(), kind.clone(), found));
                }
            }
        }
        unknown_kinds.sort();
        unknown_kinds.dedup();
        Self {
            handlers: handlers
                .map(|(number, handler)| HandlerReport {
                    process: name(handler.process),
                    name: handler.name.clone(),
                    ran: seen.ran.contains(&number),
                    knowledge: knowledge(handler.sends.is_some()),
                })
                .collect(),
            untaken: untaken
                .into_iter()
                .map(|(p, k)| (name(p), kind(k)))
                .collect(),
            unknown_kinds,
        }
    }

    /// What is nearly certainly a misspelling, in words.
    pub(crate) fn misspellings(&self) -> Vec<String> {
        let all = self.unknown_kinds.iter();
        all.filter_map(|(at, kind, like)| {
            let like = like.as_ref()?;
            Some(format!(
                "{at} waits for `{kind}`, which nobody sends: is `{like}` meant?"
            ))
        })
        .collect()
    }
}

impl fmt::Display for Coverage {
    /// What never happened; nothing if there is nothing of that kind.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, kind, like) in &self.unknown_kinds {
            if like.is_none() {
                writeln!(f, "warning: {at} waits for `{kind}`, which nobody sends")?;
            }
        }
        let is_known = |h: &&HandlerReport| {
            let mut unknown = self.unknown_kinds.iter();
            !h.ran
                && !unknown
                    .any(|(at, kind, _)| at.trim_matches('`') == h.process && *kind == h.name)
        };
        for handler in self.handlers.iter().filter(is_known) {
            let (name, process) = (&handler.name, &handler.process);
            writeln!(f, "warning: the handler `{name}` of `{process}` never ran")?;
        }
        for (process, kind) in &self.untaken {
            writeln!(f, "warning: `{process}` got `{kind}`, and never took it")?;
        }
        let only = |wanted| {
            let all = self.handlers.iter();
            all.filter(move |h| h.knowledge == Some(wanted)).count()
        };
        let (declared, nothing) = (only(Knowledge::Declared), only(Knowledge::Nothing));
        if declared + nothing > 0 {
            writeln!(
                f,
                "warning: running all handlers in advance took too long: of {declared} only the \
                 declarations are known to reductions, of {nothing} nothing"
            )?;
        }
        Ok(())
    }
}

/// The name that takes the fewest edits, if few enough.
fn closest<'n>(name: &str, candidates: impl Iterator<Item = &'n String>) -> Option<&'n String> {
    // Of short names one letter may differ: any two are alike otherwise.
    let allowed = (name.len() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edits that turn one name into another: letters added, left out, replaced or exchanged with their
/// neighbours (Damerau, *A technique for computer detection and correction of spelling errors*,
/// 1964). Letters of either case are equal.
fn edits(a: &str, b: &str) -> usize {
    let lower = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let (a, b) = (lower(a), lower(b));
    let mut costs = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            costs[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replaced = costs[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let shorter = costs[i - 1][j].min(costs[i][j - 1]) + 1;
                    let mut least = replaced.min(shorter);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        least = least.min(costs[i - 2][j - 2] + 1);
                    }
                    least
                }
            };
        }
    }
    costs[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("Ping", "Pingg"), 1);
        assert_eq!(edits("ping", "Ping"), 0);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("AckQuery", "AckQeury"), 1);
        assert_eq!(edits("Grnat", "Grant"), 1);
    }
}
