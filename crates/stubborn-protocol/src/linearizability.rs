//! Is a concurrent history of operations linearizable?
//!
//! A [`Tester`] is a record of operations that clients begin and end, small enough to be part of
//! a state: for each operation that is over, the operations of others that were over before it
//! began. [`is_linearizable`](Tester::is_linearizable) looks for an order of all operations that
//! are over (and of some that are not) that respects this and that a sequential object explains
//! (Herlihy and Wing, *Linearizability: a correctness condition for concurrent objects*, 1990).
//! [`is_sequentially_consistent`](Tester::is_sequentially_consistent) asks for less: the order must
//! respect that of each client's operations, and nothing else (Lamport, *How to make a multiprocessor
//! computer that correctly executes multiprocess programs*, 1979).
//!
//! [`clients`](crate::clients) are ready-made clients that keep such a record.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hash;

use crate::value::{Pid, Value};

/// A sequential object.
pub trait Object: Value {
    /// What it can be asked to do.
    type Operation: Value;
    /// What it answers.
    type Answer: Value;

    /// Does the operation, and answers.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer;
}

/// A register: one value that can be read and written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Register<V>(pub V);

/// What a register can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterOperation<V> {
    /// Read.
    Read,
    /// Write this.
    Write(V),
}

/// What a register answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RegisterAnswer<V> {
    /// What was read.
    Value(V),
    /// It is written.
    Written,
}

impl<V: Value> Object for Register<V> {
    type Operation = RegisterOperation<V>;
    type Answer = RegisterAnswer<V>;

    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer {
        match operation {
            RegisterOperation::Read => RegisterAnswer::Value(self.0.clone()),
            RegisterOperation::Write(value) => {
                self.0 = value.clone();
                RegisterAnswer::Written
            }
        }
    }
}

/// A map that can be read and written key by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyValue<K: Ord, V>(pub BTreeMap<K, V>);

impl<K: Ord, V> Default for KeyValue<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

/// What a map can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyValueOperation<K, V> {
    /// Reads a key.
    Get(K),
    /// Writes a key.
    Put(K, V),
    /// Removes a key.
    Delete(K),
}

/// What a map answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyValueAnswer<V> {
    /// What was read; `None` if there is nothing.
    Value(Option<V>),
    /// It is written, or removed.
    Done,
}

impl<K: Value + Ord, V: Value> Object for KeyValue<K, V> {
    type Operation = KeyValueOperation<K, V>;
    type Answer = KeyValueAnswer<V>;

    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer {
        match operation {
            KeyValueOperation::Get(key) => return KeyValueAnswer::Value(self.0.get(key).cloned()),
            KeyValueOperation::Put(key, value) => {
                self.0.insert(key.clone(), value.clone());
            }
            KeyValueOperation::Delete(key) => {
                self.0.remove(key);
            }
        }
        KeyValueAnswer::Done
    }
}

/// How many operations of each other client were over when an operation began; those with none
/// are not listed.
type Before = Vec<(Pid, u32)>;

/// An operation that is over.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Over<O, A> {
    before: Before,
    operation: O,
    answer: A,
}

/// The operations of one client.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Client<O, A> {
    over: Vec<Over<O, A>>,
    running: Option<(Before, O)>,
}

/// A client and what it did.
type Of<'h, T> = (
    Pid,
    &'h Client<<T as Object>::Operation, <T as Object>::Answer>,
);

/// A history of operations on an object.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Tester<T: Object> {
    object: T,
    clients: BTreeMap<Pid, Client<T::Operation, T::Answer>>,
    /// A client began an operation before another was over, or ended one it had not begun.
    confused: bool,
}

impl<T: Object> fmt::Debug for Tester<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (pid, client) in &self.clients {
            let over = client.over.iter();
            let mut texts: Vec<String> = over
                .map(|o| format!("{:?} gives {:?}", o.operation, o.answer))
                .collect();
            texts.extend(client.running.iter().map(|(_, o)| format!("{o:?} running")));
            map.entry(pid, &texts);
        }
        map.finish()
    }
}

impl<T: Object> Tester<T> {
    /// An empty history of an object in its first state.
    pub fn new(object: T) -> Self {
        Self {
            object,
            clients: BTreeMap::new(),
            confused: false,
        }
    }

    /// A client begins an operation.
    pub fn begin(&mut self, client: Pid, operation: T::Operation) {
        let others = self.clients.iter().filter(|(pid, _)| **pid != client);
        let before = others
            .filter(|(_, c)| !c.over.is_empty())
            .map(|(pid, c)| (*pid, c.over.len() as u32))
            .collect();
        let client = self.clients.entry(client).or_insert_with(|| Client {
            over: Vec::new(),
            running: None,
        });
        self.confused |= client.running.is_some();
        client.running = Some((before, operation));
    }

    /// The operation of a client is over.
    pub fn end(&mut self, client: Pid, answer: T::Answer) {
        let client = self.clients.get_mut(&client);
        match client.and_then(|c| Some((c.running.take()?, c))) {
            Some(((before, operation), client)) => client.over.push(Over {
                before,
                operation,
                answer,
            }),
            None => self.confused = true,
        }
    }

    /// Whether some order of the operations explains all answers, and respects what was over before
    /// what began.
    pub fn is_linearizable(&self) -> bool {
        self.is_explained(true)
    }

    /// Whether some order of the operations explains all answers, and respects the order of each
    /// client's own.
    pub fn is_sequentially_consistent(&self) -> bool {
        self.is_explained(false)
    }

    fn is_explained(&self, in_time: bool) -> bool {
        if self.confused {
            return false;
        }
        let clients: Vec<Of<'_, T>> = self.clients.iter().map(|(pid, c)| (*pid, c)).collect();
        let mut done = vec![0; clients.len()];
        explain(&clients, &mut done, &self.object, in_time)
    }

    /// All operations, by client; for [charts](crate::RecordBuilder::drawn).
    pub fn operations(&self) -> Vec<Drawn> {
        let of = |(pid, client): (&Pid, &Client<T::Operation, T::Answer>)| {
            let over = client.over.iter().map(|o| (&o.operation, Some(&o.answer)));
            let running = client.running.iter().map(|(_, o)| (o, None));
            let all = over.chain(running).map(|(operation, answer)| Drawn {
                client: *pid,
                operation: format!("{operation:?}"),
                answer: answer.map(|a| format!("{a:?}")),
            });
            all.collect::<Vec<_>>()
        };
        self.clients.iter().flat_map(of).collect()
    }
}

/// An operation in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Whose it is.
    pub client: Pid,
    /// What was asked.
    pub operation: String,
    /// What was answered, if it is over.
    pub answer: Option<String>,
}

/// Tries to put one more operation next. `done` counts the operations of each client so far, one
/// more than there are if the running one is among them.
fn explain<T: Object>(
    clients: &[Of<'_, T>],
    done: &mut [usize],
    object: &T,
    in_time: bool,
) -> bool {
    let all_over = clients.iter().zip(&*done);
    if all_over
        .into_iter()
        .all(|((_, c), done)| *done >= c.over.len())
    {
        return true;
    }
    for at in 0..clients.len() {
        let client = clients[at].1;
        let number = done[at];
        let mut after = object.clone();
        let before = match (client.over.get(number), &client.running) {
            (Some(over), _) => {
                if after.apply(&over.operation) != over.answer {
                    continue;
                }
                &over.before
            }
            (None, Some((before, operation))) if number == client.over.len() => {
                after.apply(operation);
                before
            }
            _ => continue,
        };
        // All that was over when it began must come first.
        let is_in_time = before.iter().all(|(other, count)| {
            let position = clients.iter().position(|(pid, _)| pid == other);
            position.is_none_or(|p| done[p] >= *count as usize)
        });
        if in_time && !is_in_time {
            continue;
        }
        done[at] += 1;
        let explained = explain(clients, done, &after, in_time);
        done[at] -= 1;
        if explained {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    type R = Tester<Register<char>>;
    use RegisterAnswer::{Value, Written};
    use RegisterOperation::{Read, Write};

    fn history(steps: impl FnOnce(&mut R)) -> bool {
        let mut tester = Tester::new(Register('A'));
        steps(&mut tester);
        tester.is_linearizable()
    }

    #[test]
    fn a_running_write_may_or_may_not_have_happened() {
        for seen in ['A', 'B'] {
            assert!(history(|h| {
                h.begin(Pid(0), Write('B'));
                h.begin(Pid(1), Read);
                h.end(Pid(1), Value(seen));
            }));
        }
    }

    #[test]
    fn a_finished_write_must_be_seen() {
        let read = |seen| {
            history(|h| {
                h.begin(Pid(0), Write('B'));
                h.end(Pid(0), Written);
                h.begin(Pid(1), Read);
                h.end(Pid(1), Value(seen));
            })
        };
        assert!(read('B'));
        assert!(!read('A'));
    }

    #[test]
    fn what_was_seen_once_is_not_forgotten() {
        assert!(!history(|h| {
            h.begin(Pid(0), Write('B'));
            h.begin(Pid(1), Read);
            h.end(Pid(1), Value('B'));
            h.begin(Pid(2), Read);
            h.end(Pid(2), Value('A'));
        }));
    }

    #[test]
    fn nobody_reads_what_is_written_later() {
        assert!(!history(|h| {
            h.begin(Pid(0), Read);
            h.end(Pid(0), Value('B'));
            h.begin(Pid(1), Write('B'));
        }));
    }

    #[test]
    fn confusion_is_no_history() {
        assert!(!history(|h| h.end(Pid(0), Written)));
        assert!(!history(|h| {
            h.begin(Pid(0), Read);
            h.begin(Pid(0), Read);
        }));
    }

    #[test]
    fn sequential_consistency_has_no_clock() {
        let late_read = |first: RegisterOperation<char>, then: RegisterOperation<char>| {
            let mut h = Tester::new(Register('A'));
            h.begin(Pid(0), Write('B'));
            h.end(Pid(0), Written);
            for (operation, seen) in [(first, 'B'), (then, 'A')] {
                h.begin(Pid(1), operation);
                h.end(Pid(1), Value(seen));
            }
            h
        };
        // What was over long ago may be seen later, but not be forgotten again.
        let mut stale = Tester::new(Register('A'));
        stale.begin(Pid(0), Write('B'));
        stale.end(Pid(0), Written);
        stale.begin(Pid(1), Read);
        stale.end(Pid(1), Value('A'));
        assert!(stale.is_sequentially_consistent() && !stale.is_linearizable());
        assert!(!late_read(Read, Read).is_sequentially_consistent());
    }

    #[test]
    fn maps_forget_what_is_deleted() {
        use KeyValueOperation::{Delete, Get, Put};
        let mut map = KeyValue::default();
        assert_eq!(map.apply(&Put(1, 'A')), KeyValueAnswer::Done);
        assert_eq!(map.apply(&Get(2)), KeyValueAnswer::Value(None));
        assert_eq!(map.apply(&Get(1)), KeyValueAnswer::Value(Some('A')));
        assert_eq!(map.apply(&Delete(1)), KeyValueAnswer::Done);
        assert_eq!(map.apply(&Get(1)), KeyValueAnswer::Value(None));
    }
}
