//! Symmetry: processes that differ in nothing but their number.
//!
//! States that become equal when interchangeable processes are exchanged (in the roles that they
//! play, and wherever local states and messages mention them) behave alike, so one of each such
//! orbit is enough. Every successor is replaced by the representative of its orbit, and that is
//! exact: two states have the same representative if and only if some exchange turns one into
//! the other.
//!
//! To find it without trying all `n!` exchanges, each process is first described by how the state
//! looks from where it stands, all others being made indistinguishable. Processes are sorted by
//! that. Where two look the same, exchanging them usually changes nothing, which is quickly seen;
//! only where it does all orders of those are tried.
//!
//! With [sets of messages](crate::lazy), what was met is [closed](Symmetric::close) under exchanges; other
//! reductions know nothing of them, and the check refuses to do both.

use std::collections::{BTreeMap, BTreeSet};

use rapidhash::RapidHashMap;
use stubborn_search::Trace;
use stubborn_system::{
    Budget, Executor, FieldId, Layout, RelationLevel, Relations, Structure, Successors, System,
};

use crate::lazy::Met;
use crate::model::{Core, Inner};
use crate::network::{Network, Parcel};
use crate::property::PropertyRole;
use crate::quotient::{QuotientExecutor, Represent};
use crate::value::{Local, Pid};

/// Values in which processes can be renamed.
pub trait Rename {
    /// The same with every process replaced by what `to` says.
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self;
}

/// Implements [`Rename`](crate::Rename) for types that mention no processes.
#[macro_export]
macro_rules! mentions_no_process {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::Rename for $type {
            fn rename(&self, _: &dyn Fn($crate::Pid) -> $crate::Pid) -> Self {
                self.clone()
            }
        }
    )+};
}

/// Implements [`Rename`](crate::Rename) for structures and enumerations, field by field. What is
/// forgotten does not compile.
///
/// ```
/// use stubborn_protocol::{Pid, renames};
///
/// struct Server {
///     votes: Vec<Pid>,
///     term: u32,
/// }
///
/// enum Message {
///     Vote(Pid, u32),
///     Append { leader: Pid, entries: Vec<u8> },
///     Stop,
/// }
///
/// renames! {
///     struct Server { votes, term }
///     enum Message { Vote(candidate, term), Append { leader, entries }, Stop }
/// }
/// ```
#[macro_export]
macro_rules! renames {
    () => {};
    (struct $name:ident { $($field:ident),* $(,)? } $($rest:tt)*) => {
        impl $crate::Rename for $name {
            fn rename(&self, to: &dyn Fn($crate::Pid) -> $crate::Pid) -> Self {
                let _ = to;
                Self { $($field: $crate::Rename::rename(&self.$field, to)),* }
            }
        }
        $crate::renames!($($rest)*);
    };
    (enum $name:ident { $($variant:ident $(($($at:ident),*))? $({$($field:ident),*})?),* $(,)? }
     $($rest:tt)*) => {
        impl $crate::Rename for $name {
            fn rename(&self, to: &dyn Fn($crate::Pid) -> $crate::Pid) -> Self {
                let _ = to;
                match self {$(
                    Self::$variant $(($($at),*))? $({$($field),*})? => Self::$variant
                        $(($($crate::Rename::rename($at, to)),*))?
                        $({$($field: $crate::Rename::rename($field, to)),*})?,
                )*}
            }
        }
        $crate::renames!($($rest)*);
    };
}

mentions_no_process!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    usize,
    i8,
    i16,
    i32,
    i64,
    String
);

impl Rename for Pid {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        to(*self)
    }
}

impl<T: Rename> Rename for Option<T> {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        self.as_ref().map(|value| value.rename(to))
    }
}

impl<T: Rename> Rename for Vec<T> {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        self.iter().map(|value| value.rename(to)).collect()
    }
}

impl<T: Rename + Ord> Rename for BTreeSet<T> {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        self.iter().map(|value| value.rename(to)).collect()
    }
}

impl<K: Rename + Ord, V: Rename> Rename for BTreeMap<K, V> {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        let pairs = self.iter();
        pairs.map(|(k, v)| (k.rename(to), v.rename(to))).collect()
    }
}

impl<A: Rename, B: Rename> Rename for (A, B) {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        (self.0.rename(to), self.1.rename(to))
    }
}

impl<A: Rename, B: Rename, C: Rename> Rename for (A, B, C) {
    fn rename(&self, to: &dyn Fn(Pid) -> Pid) -> Self {
        (self.0.rename(to), self.1.rename(to), self.2.rename(to))
    }
}

/// A map of processes, by number: where each goes.
type Names = Vec<u16>;

/// A model of which only representatives are explored.
pub(crate) struct Symmetric<'m> {
    pub(crate) model: &'m Core,
    class: Vec<Pid>,
    initial: Vec<u32>,
}

impl<'m> Symmetric<'m> {
    /// `None` if the protocol declares no interchangeable processes.
    pub(crate) fn new(model: &'m Core) -> Option<Self> {
        let class = model.inner.protocol.class.clone();
        if class.len() < 2 {
            return None;
        }
        let mut symmetric = Self {
            model,
            class,
            initial: Vec::new(),
        };
        let mut initial = model.initial_states();
        symmetric.canoniser().canonise(&mut initial);
        symmetric.initial = initial;
        Some(symmetric)
    }

    fn canoniser(&self) -> Canoniser<'_> {
        Canoniser {
            inner: &self.model.inner,
            class: &self.class,
            names: Vec::new(),
            numbers: RapidHashMap::default(),
            locals: RapidHashMap::default(),
            inboxes: RapidHashMap::default(),
        }
    }

    /// Adds to what was met what exchanges make of it.
    pub(crate) fn close(&self, met: &mut Met) {
        let mut canoniser = self.canoniser();
        let exchanges: Vec<Names> = self
            .class
            .windows(2)
            .map(|pair| {
                let mut names = canoniser.identity();
                names.swap(pair[0].index(), pair[1].index());
                names
            })
            .collect();
        // Exchanges of neighbours make up all others.
        let mut locals: Vec<(Pid, u32)> = met.locals.iter().copied().collect();
        while let Some((process, local)) = locals.pop() {
            for names in &exchanges {
                let number = canoniser.number(names.clone());
                let to = Pid(names[process.index()]);
                let exchanged = (to, canoniser.local(number, process, local));
                if met.locals.insert(exchanged) {
                    locals.push(exchanged);
                }
            }
        }
        let mut parcels: Vec<(Pid, Parcel)> = met.parcels.iter().copied().collect();
        while let Some((process, parcel)) = parcels.pop() {
            for names in &exchanges {
                let exchanged = canoniser.parcel(names, parcel);
                let exchanged = (Pid(names[process.index()]), exchanged);
                if met.parcels.insert(exchanged) {
                    parcels.push(exchanged);
                }
            }
        }
    }

    /// The steps of another executor, between representatives.
    pub(crate) fn around<'s>(&'s self, plain: Box<dyn Executor + 's>) -> Box<dyn Executor + 's> {
        Box::new(QuotientExecutor::new(plain, self.canoniser()))
    }

    /// A run of the model itself through the orbits of a run of representatives.
    pub(crate) fn unfold(&self, trace: &Trace) -> Option<Trace> {
        let mut canoniser = self.canoniser();
        let mut executor = self.model.executor();
        let mut state = self.model.initial_states();
        let mut concrete = Trace::new(&state);
        for step in trace.steps() {
            let mut successors = Successors::new(state.len());
            executor.successors(&state, &mut successors);
            let next = successors.iter().find(|s| {
                let mut representative = s.state.to_vec();
                canoniser.canonise(&mut representative);
                representative == step.after
            })?;
            concrete.push(next.transition, next.outcome, next.state);
            state = next.state.to_vec();
        }
        Some(concrete)
    }

    /// Looks at some states for signs that the processes are not interchangeable after all: an
    /// exchange must lead to the same successors, up to exchanges, and change no property.
    pub(crate) fn asymmetry(&self, states: usize) -> Option<String> {
        let mut canoniser = self.canoniser();
        let mut executor = self.model.executor();
        let mut seen: Vec<Vec<u32>> = vec![self.model.initial_states()];
        let mut at = 0;
        while at < seen.len().min(states) {
            let state = seen[at].clone();
            at += 1;
            let ends =
                |state: &[u32], executor: &mut dyn Executor, canoniser: &mut Canoniser<'_>| {
                    let mut successors = Successors::new(state.len());
                    executor.successors(state, &mut successors);
                    let mut ends: Vec<Vec<u32>> = successors
                        .iter()
                        .map(|s| {
                            let mut end = s.state.to_vec();
                            canoniser.canonise(&mut end);
                            end
                        })
                        .collect();
                    ends.sort_unstable();
                    (ends, successors)
                };
            let (expected, successors) = ends(&state, &mut *executor, &mut canoniser);
            for pair in self.class.windows(2) {
                let exchanged = canoniser.exchanged(&state, pair[0], pair[1]);
                let (found, _) = ends(&exchanged, &mut *executor, &mut canoniser);
                let names = || {
                    let name = |p: Pid| self.model.inner.process_name(p).to_owned();
                    format!("`{}` and `{}`", name(pair[0]), name(pair[1]))
                };
                if found != expected {
                    return Some(format!("{} do not behave alike", names()));
                }
                // Formulas are checked without symmetry.
                let properties = self.model.inner.protocol.properties.iter();
                for property in properties.filter(|p| p.role != PropertyRole::Proposition) {
                    let name = &property.name;
                    let Some(label) = self.model.label(name) else {
                        continue;
                    };
                    if executor.label(&state, label) != executor.label(&exchanged, label) {
                        return Some(format!("`{name}` tells {} apart", names()));
                    }
                }
            }
            for next in successors.iter() {
                if seen.len() < states && !seen.iter().any(|s| s == next.state) {
                    seen.push(next.state.to_vec());
                }
            }
        }
        None
    }
}

impl System for Symmetric<'_> {
    fn layout(&self) -> &Layout {
        self.model.layout()
    }

    fn structure(&self) -> &Structure {
        self.model.structure()
    }

    fn initial_states(&self) -> Vec<u32> {
        self.initial.clone()
    }

    fn executor(&self) -> Box<dyn Executor + '_> {
        self.around(self.model.executor())
    }

    fn relations(&self, _: RelationLevel) -> Relations {
        Relations::from_sets(self.model.structure())
    }

    fn budget(&self) -> &Budget {
        self.model.budget()
    }

    fn value_text(&self, field: FieldId, value: i64) -> String {
        self.model.value_text(field, value)
    }
}

/// Finds representatives; remembers what renaming does to local states and inboxes.
struct Canoniser<'m> {
    inner: &'m Inner,
    class: &'m [Pid],
    names: Vec<Names>,
    numbers: RapidHashMap<Names, u32>,
    locals: RapidHashMap<(u32, u16, u32), u32>,
    inboxes: RapidHashMap<(u32, u32), u32>,
}

impl Represent for Canoniser<'_> {
    fn represent(&mut self, from: &[u32], state: &mut [u32], changed: &mut [u64]) {
        self.canonise(state);
        for (at, (before, after)) in from.iter().zip(state).enumerate() {
            if before != after {
                changed[at / 64] |= 1 << (at % 64);
            }
        }
    }
}

impl Canoniser<'_> {
    fn number(&mut self, names: Names) -> u32 {
        if let Some(number) = self.numbers.get(&names) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(names.clone());
        self.numbers.insert(names, number);
        number
    }

    /// A local state of a process with processes renamed.
    fn local(&mut self, names: u32, process: Pid, local: u32) -> u32 {
        let key = (names, process.0, local);
        if let Some(known) = self.locals.get(&key) {
            return *known;
        }
        let renamed = match &self.inner.protocol.processes[process.index()].renames {
            None => local,
            Some(rename) => {
                let names = &self.names[names as usize];
                let before = self.inner.locals.get(local);
                let state = rename((*before.state.0).as_any(), &|p| Pid(names[p.index()]));
                self.inner.locals.intern(Local {
                    state,
                    timers: before.timers,
                    crashed: before.crashed,
                })
            }
        };
        self.locals.insert(key, renamed);
        renamed
    }

    /// A message with its sender, and processes in it, renamed.
    fn parcel(&self, to: &Names, parcel: Parcel) -> Parcel {
        Parcel {
            from: Pid(to[parcel.from.index()]),
            message: match &self.inner.protocol.renames_messages {
                None => parcel.message,
                Some(rename) => {
                    let message = &self.inner.messages.get(parcel.message).message;
                    let renamed = rename((*message.0).as_any(), &|p| Pid(to[p.index()]));
                    self.inner.message(renamed)
                }
            },
        }
    }

    /// An inbox with senders, and processes in messages, renamed.
    fn inbox(&mut self, names: u32, inbox: u32) -> u32 {
        if let Some(known) = self.inboxes.get(&(names, inbox)) {
            return *known;
        }
        let to = &self.names[names as usize];
        let protocol = &self.inner.protocol;
        let before = self.inner.inboxes.get(inbox).iter();
        let parcels: Vec<Parcel> = before.map(|p| self.parcel(to, *p)).collect();
        let renamed = self
            .inner
            .inboxes
            .intern(protocol.network.add(&[], &parcels));
        self.inboxes.insert((names, inbox), renamed);
        renamed
    }

    /// The state in which processes have changed places.
    fn permuted(&mut self, state: &[u32], names: &Names) -> Vec<u32> {
        let number = self.number(names.clone());
        let mut after = state.to_vec();
        for p in 0..names.len() {
            let to = usize::from(names[p]);
            after[2 * to] = self.local(number, Pid(p as u16), state[2 * p]);
            after[2 * to + 1] = self.inbox(number, state[2 * p + 1]);
        }
        after
    }

    fn identity(&self) -> Names {
        (0..self.inner.protocol.processes.len() as u16).collect()
    }

    fn exchanged(&mut self, state: &[u32], a: Pid, b: Pid) -> Vec<u32> {
        let mut names = self.identity();
        names.swap(a.index(), b.index());
        self.permuted(state, &names)
    }

    /// How the state looks from a process: all others of the class have one name.
    fn look(&mut self, state: &[u32], from: Pid) -> Vec<u32> {
        let (first, second) = (self.class[0].0, self.class[1].0);
        let mut names = self.identity();
        for other in self.class {
            names[other.index()] = if *other == from { first } else { second };
        }
        let number = self.number(names);
        let mut look = Vec::new();
        let mut others = Vec::new();
        let rest = (0..self.inner.protocol.processes.len()).map(|p| Pid(p as u16));
        let rest = rest.filter(|p| *p != from);
        for pid in std::iter::once(from).chain(rest) {
            let mut one = vec![self.local(number, pid, state[2 * pid.index()])];
            self.inbox_look(number, state[2 * pid.index() + 1], &mut one);
            match self.class.contains(&pid) && pid != from {
                true => others.push(one),
                false => look.extend(one),
            }
        }
        others.sort_unstable();
        look.extend(others.into_iter().flatten());
        look
    }

    /// How an inbox looks when processes have the same name: queues of different senders are not
    /// put into one, because that would show who they are.
    fn inbox_look(&mut self, names: u32, inbox: u32, look: &mut Vec<u32>) {
        if self.inner.protocol.network != Network::Ordered {
            look.push(self.inbox(names, inbox));
            return;
        }
        let inner = self.inner;
        let queues = inner.inboxes.get(inbox).chunk_by(|a, b| a.from == b.from);
        let mut numbers: Vec<u32> = queues
            .map(|queue| self.inbox(names, inner.inboxes.intern(queue.into())))
            .collect();
        numbers.sort_unstable();
        look.push(numbers.len() as u32);
        look.extend(numbers);
    }

    /// Replaces a state by the representative of its orbit.
    fn canonise(&mut self, state: &mut [u32]) {
        let class = self.class;
        let mut looks: Vec<(Vec<u32>, Pid)> = Vec::with_capacity(class.len());
        for p in class {
            looks.push((self.look(state, *p), *p));
        }
        looks.sort();
        let mut names = self.identity();
        for ((_, p), place) in looks.iter().zip(class) {
            names[p.index()] = place.0;
        }
        let mut best = self.permuted(state, &names);
        // Runs of processes that look the same.
        let mut start = 0;
        while start < looks.len() {
            let same = looks[start..].iter().take_while(|l| l.0 == looks[start].0);
            let end = start + same.count();
            let run = &class[start..end];
            let changes = |s: &mut Self, best: &Vec<u32>| {
                run.windows(2)
                    .any(|two| s.exchanged(best, two[0], two[1]) != *best)
            };
            if run.len() > 1 && changes(self, &best) {
                best = self.least(best, run);
            }
            start = end;
        }
        state.copy_from_slice(&best);
    }

    /// The least of all states in which some processes have changed places.
    fn least(&mut self, state: Vec<u32>, run: &[Pid]) -> Vec<u32> {
        let mut best = state.clone();
        let mut order: Vec<Pid> = run.to_vec();
        // Heap's algorithm: every order once.
        let mut counters = vec![0; run.len()];
        let mut at = 0;
        while at < run.len() {
            if counters[at] < at {
                let other = if at % 2 == 0 { 0 } else { counters[at] };
                order.swap(other, at);
                let mut names = self.identity();
                for (from, to) in order.iter().zip(run) {
                    names[from.index()] = to.0;
                }
                let candidate = self.permuted(&state, &names);
                if candidate < best {
                    best = candidate;
                }
                counters[at] += 1;
                at = 0;
            } else {
                counters[at] = 0;
                at += 1;
            }
        }
        best
    }
}
