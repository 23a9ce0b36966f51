//! Emptiness by several processes, each of which owns a part of the product: one way catch them
//! young (I. Černá and R. Pelánek, *Distributed explicit fair cycle detection*, 2003).
//!
//! After the product was explored, level by level, nodes that cannot be on an accepting
//! cycle are taken out of a set until nothing changes: those that no edge of the set with some
//! mark leads to, over however many others, and those without a predecessor in the set. That is
//! done for one mark after the other, so the automaton may have any number of acceptance sets,
//! and need not be weak. If something is left, every node of it can be followed back to
//! an edge with the first mark, from there to one with the second, and so on for ever; since
//! there are only so many nodes, that is a cycle with all marks. Without any marks, every edge
//! is one to come back to.
//!
//! Nodes are computed anew in each pass and sent to their owners as they are, which takes time
//! instead of memory: a byte and a counter for each node, beside the store. Depth-first order is
//! what processes cannot share, so only such reductions are possible whose sets are functions of the
//! node: steered ones, and those with sticky transitions.
//!
//! Between two rounds, what is known of a node is a few numbers, whoever owns it: so that is what is
//! written down, and can be taken up by another number of processes.

use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stubborn_cluster::{Arrival, Cluster, Exchange, LEADER, Lost, hash_of, owner_of};
use stubborn_ltl::automaton::Marks;
use stubborn_search::{Limit, SearchError};
use stubborn_store::saved::{Kind, Sink, Source, damaged};

use rapidhash::RapidHashMap;

use crate::kept::{self, Begun, CheckKeeper};
use crate::product::{Product, Vectors};
use crate::space::{Counts, Node};

/// What processes agree on here.
pub(crate) mod topic {
    pub(crate) const BEGIN: u8 = 50;
    pub(crate) const ROUND: u8 = 51;
    pub(crate) const FIRST: u8 = 52;
    pub(crate) const VERDICT: u8 = 53;
    pub(crate) const KEEP: u8 = 54;
    pub(crate) const TAKE_UP: u8 = 55;
}

/// Nodes after which a process looks whether to stop, and what has come.
const GROUP: usize = 32;

/// The leader asks where a node comes from: its number, and in which table.
const ASK: u8 = 30;
/// The answer: where from, and the node.
const TELL: u8 = 31;
/// The leader has no more questions.
const DONE: u8 = 32;

/// The node is in the set.
const INSIDE: u8 = 1;
/// It was reached in this pass.
const REACHED: u8 = 2;
/// Its edges are followed next: only where that is written down.
const NEXT: u8 = 4;

/// The passes between whose rounds that is done, by number.
const PASSES: [Pass; 3] = [Pass::Explore, Pass::Reach, Pass::Remove];
/// Bytes that are written at once.
const RECORDS: usize = 64 << 10;
/// More processes than there are.
const MOST_PROCESSES: u64 = 1 << 16;

/// Where a node comes from: the owner and its number there, and this if the edge has the mark.
const MARKED: u64 = 1 << 63;
/// From nowhere: it is an initial one.
const NOWHERE: u64 = 1 << 62;

/// Why the work ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    Lost(Lost),
    /// The same in all processes.
    Limit(Limit),
    /// There is nothing to go on with.
    Wrong(SearchError),
}

impl From<Lost> for Stop {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

/// What is done with the edges of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Their targets are stored.
    Explore,
    /// Where those with these marks lead, something begins.
    Begin(Marks),
    /// Their targets in the set are reached, and the edges counted.
    Reach,
    /// They are no longer there: targets without any are taken out.
    Remove,
}

/// How far the work is, in all processes.
#[derive(Clone, Copy, Debug)]
struct At {
    pass: Pass,
    /// The number of the mark.
    mark: usize,
    /// What was in the set before the first mark.
    before: u64,
}

/// A run through the product: the states of the system, the first one of the cycle at its end
/// once more, and where the cycle begins.
pub(crate) type Run = (Vec<u32>, usize);

/// The place of this process among others, which is left while somebody else speaks.
struct Seat<'o> {
    cluster: &'o Mutex<Cluster>,
    taken: Option<MutexGuard<'o, Cluster>>,
}

impl<'o> Seat<'o> {
    fn new(cluster: &'o Mutex<Cluster>) -> Self {
        let mut seat = Self {
            cluster,
            taken: None,
        };
        seat.take();
        seat
    }

    fn take(&mut self) {
        let lock = || self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        self.taken.get_or_insert_with(lock);
    }

    fn leave(&mut self) {
        self.taken = None;
    }
}

impl Deref for Seat<'_> {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.taken.as_ref().expect("the seat is taken")
    }
}

impl DerefMut for Seat<'_> {
    fn deref_mut(&mut self) -> &mut Cluster {
        self.taken.as_mut().expect("the seat is taken")
    }
}

/// This process's part of a product.
pub(crate) struct Owcty<'o, 'p> {
    product: &'o mut Product<'p>,
    cluster: Seat<'o>,
    exchange: Exchange,
    /// The words of a node.
    width: usize,
    /// By number, as the plain store gives them.
    flags: Vec<u8>,
    /// Edges of the set that lead to each node.
    incoming: Vec<u32>,
    next: Vec<u32>,
    /// Where nodes were reached from, if that is asked for.
    origins: Option<Vec<u64>>,
    tables: Vec<Vec<u64>>,
    inside: u64,
    /// What all processes together follow edges of next.
    waiting: u64,
    limit: Option<Limit>,
    most_states: Option<u64>,
    at: At,
    keeper: Option<&'o dyn CheckKeeper>,
    own: Counts,
    /// Of all processes.
    pub(crate) counts: Counts,
    vectors: Vectors,
}

/// What all processes have after a round.
struct Round {
    next: u64,
    inside: u64,
    /// The leader wants a pause.
    pauses: bool,
}

impl<'o, 'p> Owcty<'o, 'p> {
    pub(crate) fn new(
        product: &'o mut Product<'p>,
        cluster: &'o Mutex<Cluster>,
        most_states: Option<u64>,
        keeper: Option<&'o dyn CheckKeeper>,
    ) -> Self {
        let cluster = Seat::new(cluster);
        Self {
            width: product.width(),
            exchange: Exchange::new(cluster.size()),
            product,
            cluster,
            flags: Vec::new(),
            incoming: Vec::new(),
            next: Vec::new(),
            origins: None,
            tables: Vec::new(),
            inside: 0,
            waiting: 0,
            limit: None,
            most_states,
            at: At {
                pass: Pass::Explore,
                mark: 0,
                before: 0,
            },
            keeper,
            own: Counts::default(),
            counts: Counts::default(),
            vectors: Vectors::default(),
        }
    }

    /// Whether there is an accepting cycle; from the beginning, or from where it was.
    pub(crate) fn run(&mut self, all: Marks, description: &str) -> Result<bool, Stop> {
        match Begun::of(self.keeper) {
            None => self.begin(Pass::Explore),
            Some(begun) => self.take_up(begun, description)?,
        }
        let exploring = |this: &Self, now| this.keeper.inspect(|keeper| keeper.is_exploring(now));
        exploring(self, true);
        let found = self.go_on(all, description);
        exploring(self, false);
        found
    }

    fn go_on(&mut self, all: Marks, description: &str) -> Result<bool, Stop> {
        let marks: Vec<Marks> = each(all).collect();
        loop {
            let at = self.at;
            self.at.pass = match at.pass {
                Pass::Explore => {
                    self.at.before = self.through(at.pass, description)?.inside;
                    Pass::Begin(Marks::NONE)
                }
                Pass::Begin(_) => {
                    self.begin_from(marks[at.mark])?;
                    Pass::Reach
                }
                Pass::Reach => {
                    self.through(at.pass, description)?;
                    self.take_out_unreached();
                    Pass::Remove
                }
                Pass::Remove => {
                    let left = self.through(at.pass, description)?.inside;
                    self.at.mark = (at.mark + 1) % marks.len();
                    if left == 0 {
                        return Ok(false);
                    }
                    if self.at.mark == 0 {
                        if left == at.before {
                            return Ok(true);
                        }
                        self.at.before = left;
                    }
                    Pass::Begin(Marks::NONE)
                }
            };
        }
    }

    /// Puts initial nodes that belong here where a pass begins.
    fn begin(&mut self, pass: Pass) {
        let initial = self.product.initial_vectors();
        for vector in initial.chunks_exact(self.width) {
            if self.owner(vector) == self.cluster.rank() {
                self.arrive(vector, NOWHERE, pass);
            }
        }
    }

    /// Follows edges from what was reached until nothing new is.
    fn through(&mut self, pass: Pass, description: &str) -> Result<Round, Stop> {
        loop {
            let frontier = std::mem::take(&mut self.next);
            let round = match self.round(&frontier, pass) {
                Err(Stop::Limit(Limit::States)) => {
                    // Another run may go beyond it.
                    self.counts.depth += u64::from(pass == Pass::Explore && self.waiting > 0);
                    self.keep(Some(Limit::States), description);
                    return Err(Stop::Limit(Limit::States));
                }
                round => round?,
            };
            if round.next == 0 {
                return Ok(round);
            }
            self.counts.depth += u64::from(pass == Pass::Explore);
            if round.pauses && !self.keep(None, description) {
                let limit = self.product.spent().unwrap_or(Limit::Interrupted);
                return Err(Stop::Limit(limit));
            }
        }
    }

    /// What edges of the set with a mark lead to.
    fn begin_from(&mut self, mark: Marks) -> Result<(), Stop> {
        self.flags.iter_mut().for_each(|flags| *flags &= INSIDE);
        self.incoming.fill(0);
        let all: Vec<u32> = self.numbers(|flags| flags & INSIDE != 0);
        self.round(&all, Pass::Begin(mark)).map(|_| ())
    }

    /// Takes out what was not reached. What is left of it to do: nodes that nothing leads to.
    fn take_out_unreached(&mut self) {
        self.inside = 0;
        for (flags, incoming) in self.flags.iter_mut().zip(&self.incoming) {
            let stays = *flags == INSIDE | REACHED && *incoming > 0;
            self.inside += u64::from(stays);
            *flags = match *flags & REACHED {
                0 => 0,
                // Its edges were counted.
                _ => REACHED | if stays { INSIDE } else { 0 },
            };
        }
        self.next = self.numbers(|flags| flags == REACHED);
    }

    /// Everybody writes down what is known of his nodes. Whether the work goes on.
    fn keep(&mut self, limit: Option<Limit>, description: &str) -> bool {
        let Some(keeper) = self.keeper else {
            return false;
        };
        self.cluster.leave();
        let goes_on = keeper.keep(limit, &mut |sink| {
            self.cluster.take();
            let saved = self.save(description, sink);
            self.cluster.leave();
            saved
        });
        self.cluster.take();
        goes_on
    }

    fn save(&mut self, description: &str, sink: &mut Sink<'_>) -> io::Result<()> {
        let is_spoilt = vec![self.product.is_spoilt().into()];
        let worst = |all: Vec<Vec<u8>>| all.into_iter().max().unwrap_or_default();
        if (self.cluster.agree(topic::KEEP, is_spoilt, worst)?).contains(&1) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let pass = PASSES.iter().position(|pass| *pass == self.at.pass);
        let head = [
            pass.unwrap_or(0) as u64,
            self.at.mark as u64,
            self.at.before,
            self.counts.depth,
            self.counts.transitions,
            self.cluster.size() as u64,
        ];
        let mut flags = self.flags.clone();
        for number in &self.next {
            flags[*number as usize] |= NEXT;
        }
        let (product, incoming) = (&mut *self.product, &self.incoming);
        let is_leader = self.cluster.is_leader();
        self.cluster.gather(sink.output(), |output| {
            let sink = &mut Sink::new(output);
            if is_leader {
                sink.number(Kind::DistributedCheck.number())?;
                sink.text(description)?;
                sink.numbers(head)?;
            }
            sink.number(flags.len() as u64)?;
            let mut record: Vec<u8> = Vec::new();
            for (number, (flags, incoming)) in flags.iter().zip(incoming).enumerate() {
                let words = product.node_words(Node(number as u64));
                let words = words.map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
                let known = [u32::from(*flags), *incoming];
                record.extend(
                    words
                        .iter()
                        .chain(&known)
                        .flat_map(|word| word.to_le_bytes()),
                );
                if record.len() >= RECORDS {
                    sink.bytes(&record)?;
                    record.clear();
                }
            }
            sink.bytes(&record)
        })
    }

    /// The leader hands out what was written down, and everybody takes what is his now.
    fn take_up(&mut self, mut begun: Begun, description: &str) -> Result<(), Stop> {
        let mut head = Vec::new();
        if self.cluster.is_leader() {
            head = kept::read(&mut begun, |source| {
                source.expect(Kind::DistributedCheck, "no check was saved")?;
                match source.text()? {
                    saved if saved == description => {}
                    saved => return Err(damaged(&format!("another check was saved: {saved}"))),
                }
                let mut head = vec![source.at_most(PASSES.len() as u64 - 1, "no such pass")?];
                head.push(source.at_most(Marks::MAX_SETS.into(), "no such mark")?);
                for _ in 0..3 {
                    head.push(source.at_most(kept::MANY, "a number is too large")?);
                }
                for _ in 0..source.at_most(MOST_PROCESSES, "too many processes")? {
                    self.hand_out(source)?;
                }
                Ok(head)
            })
            .map_err(Stop::Wrong)?;
        }
        self.exchange.end(&mut self.cluster)?;
        loop {
            match self.exchange.wait(&mut self.cluster)? {
                Arrival::Records(words) => {
                    for record in words.chunks_exact(self.width + 2) {
                        self.own(record);
                    }
                }
                Arrival::Nothing => {}
                Arrival::Over => break,
            }
        }
        let own = head.into_iter().flat_map(u64::to_le_bytes).collect();
        let agreed = self
            .cluster
            .agree(topic::TAKE_UP, own, |all| all[0].clone())?;
        let mut agreed = numbers_of(&agreed);
        let [pass, mark, before, depth, transitions] =
            std::array::from_fn(|_| agreed.next().unwrap_or(0));
        self.at = At {
            pass: PASSES[pass as usize % PASSES.len()],
            mark: mark as usize,
            before,
        };
        self.counts.depth = depth;
        // They are added up.
        self.own.transitions = if self.cluster.is_leader() {
            transitions
        } else {
            0
        };
        Ok(())
    }

    /// What one process had.
    fn hand_out(&mut self, source: &mut Source<'_>) -> io::Result<()> {
        let mut bytes = vec![0; 4 * (self.width + 2)];
        for _ in 0..source.count(bytes.len())? {
            source.bytes(&mut bytes)?;
            let (words, _) = bytes.as_chunks();
            let record: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
            let owner = self.owner(&record[..self.width]);
            match owner == self.cluster.rank() {
                true => self.own(&record),
                false => (self.exchange).put(&mut self.cluster, owner, &record, &[])?,
            }
        }
        Ok(())
    }

    /// A node belongs here, with what is known of it.
    fn own(&mut self, record: &[u32]) {
        let (vector, known) = record.split_at(self.width);
        let number = match self.product.insert(vector) {
            Ok(node) => node.0 as usize,
            Err(limit) => {
                self.limit = Some(limit);
                return;
            }
        };
        // Every node was written once.
        if number == self.flags.len() {
            let flags = known[0] as u8;
            self.flags.push(flags & (INSIDE | REACHED));
            self.incoming.push(known[1]);
            self.inside += u64::from(flags & INSIDE != 0);
            self.own.states += 1;
            if flags & NEXT != 0 {
                self.next.push(number as u32);
            }
        }
    }

    fn numbers(&self, is_it: impl Fn(u8) -> bool) -> Vec<u32> {
        let all = (0_u32..).zip(&self.flags);
        all.filter(|(_, flags)| is_it(**flags))
            .map(|(number, _)| number)
            .collect()
    }

    fn owner(&self, vector: &[u32]) -> usize {
        // The state of the system: it may stand still while the automaton moves.
        let state = vector[..self.width - 1].iter().copied();
        owner_of(hash_of(state), self.cluster.size() as u64)
    }

    /// Follows the edges of some nodes; everybody does.
    fn round(&mut self, frontier: &[u32], pass: Pass) -> Result<Round, Stop> {
        for group in frontier.chunks(GROUP) {
            self.look(frontier.len())?;
            if self.exchange.is_halted() {
                break;
            }
            while let Arrival::Records(words) = self.exchange.poll(&mut self.cluster)? {
                self.take(&words, pass);
            }
            for number in group {
                self.expand(*number, pass)?;
            }
        }
        self.exchange.end(&mut self.cluster)?;
        loop {
            match self.exchange.wait(&mut self.cluster)? {
                Arrival::Records(words) => self.take(&words, pass),
                Arrival::Nothing => self.look(frontier.len())?,
                Arrival::Over => return self.agree(),
            }
        }
    }

    /// Looks at clock and memory.
    fn look(&mut self, frontier: usize) -> Result<(), Stop> {
        let tables: usize = self.tables.iter().map(Vec::capacity).sum();
        let origins = self.origins.as_ref().map_or(0, Vec::capacity);
        let bytes = self.flags.capacity()
            + 4 * (self.incoming.capacity() + self.next.capacity() + frontier)
            + 8 * (tables + origins);
        if let Err(limit) = self.product.look_around(bytes, &self.own) {
            self.limit = Some(limit);
        }
        match self.limit {
            None => Ok(()),
            Some(_) => Ok(self.exchange.halt(&mut self.cluster)?),
        }
    }

    /// Follows the edges of a node.
    fn expand(&mut self, number: u32, pass: Pass) -> Result<(), Stop> {
        let mut vectors = std::mem::take(&mut self.vectors);
        if let Err(limit) = self.product.vectors_of(Node(number.into()), &mut vectors) {
            self.limit = Some(limit);
            return Ok(self.exchange.halt(&mut self.cluster)?);
        }
        if pass == Pass::Explore {
            self.own.transitions += vectors.marks.len() as u64;
        }
        let rank = self.cluster.rank();
        let origin = (rank as u64) << 32 | u64::from(number);
        for (vector, marks) in vectors.words.chunks_exact(self.width).zip(&vectors.marks) {
            if let Pass::Begin(mark) = pass
                && !marks.contains(mark)
            {
                continue;
            }
            let owner = self.owner(vector);
            if owner == rank {
                self.arrive(vector, origin, pass);
                continue;
            }
            let origin = [(origin >> 32) as u32, origin as u32];
            let origin = self.origins.as_ref().map_or(&[][..], |_| &origin);
            (self.exchange).put(&mut self.cluster, owner, vector, origin)?;
        }
        self.vectors = vectors;
        Ok(())
    }

    /// Takes nodes that others have sent.
    fn take(&mut self, words: &[u32], pass: Pass) {
        let more = if self.origins.is_some() { 2 } else { 0 };
        for record in words.chunks_exact(self.width + more) {
            let (vector, origin) = record.split_at(self.width);
            let origin = match origin {
                [rank, number] => u64::from(*rank) << 32 | u64::from(*number),
                _ => NOWHERE,
            };
            self.arrive(vector, origin, pass);
        }
    }

    /// An edge leads to a node that belongs here.
    fn arrive(&mut self, vector: &[u32], origin: u64, pass: Pass) {
        let number = match self.product.insert(vector) {
            Ok(node) => node.0 as usize,
            Err(limit) => {
                self.limit = Some(limit);
                return;
            }
        };
        if pass == Pass::Explore {
            if number == self.flags.len() {
                self.flags.push(INSIDE);
                self.incoming.push(0);
                self.inside += 1;
                self.own.states += 1;
                self.next.push(number as u32);
            }
            return;
        }
        let Some(flags) = self.flags.get_mut(number).filter(|f| **f & INSIDE != 0) else {
            return;
        };
        let incoming = &mut self.incoming[number];
        let is_next = match pass {
            Pass::Remove => {
                *incoming -= 1;
                if *incoming == 0 {
                    *flags &= !INSIDE;
                    self.inside -= 1;
                }
                *incoming == 0
            }
            _ => {
                *incoming += u32::from(pass == Pass::Reach);
                let is_first = *flags & REACHED == 0;
                *flags |= REACHED;
                is_first
            }
        };
        if is_next {
            self.next.push(number as u32);
            if let Some(origins) = &mut self.origins {
                let is_marked = matches!(pass, Pass::Begin(_));
                origins[number] = origin | if is_marked { MARKED } else { 0 };
            }
        }
    }

    /// All processes tell what they have, and whether they must stop.
    fn agree(&mut self) -> Result<Round, Stop> {
        let spent = self.product.spent();
        let limit = spent.or(self.limit).map_or(0, |limit| limit as u64);
        let most = self.most_states.filter(|_| self.cluster.is_leader());
        let pause = self.keeper.map(CheckKeeper::pause);
        let numbers = [
            self.next.len() as u64,
            self.inside,
            self.own.states,
            self.own.transitions,
            limit,
            most.map_or(0, |most| most.saturating_add(1)),
            pause
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
                .into(),
        ];
        let own = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        let agreed = self.cluster.agree(topic::ROUND, own, |all| {
            let mut total = [0; 7];
            for one in &all {
                for (at, (total, number)) in total.iter_mut().zip(numbers_of(one)).enumerate() {
                    *total = match at {
                        0..4 => *total + number,
                        // What makes nothing make sense comes first.
                        _ => number.max(*total),
                    };
                }
            }
            total.into_iter().flat_map(u64::to_le_bytes).collect()
        })?;
        let mut agreed = numbers_of(&agreed);
        let [next, inside, states, transitions, limit, most, pauses] =
            std::array::from_fn(|_| agreed.next().unwrap_or(0));
        self.counts.states = states;
        self.counts.transitions = transitions;
        self.waiting = next;
        match Limit::of_number(limit as u8) {
            Some(limit) => Err(Stop::Limit(limit)),
            None if most > 0 && states >= most => Err(Stop::Limit(Limit::States)),
            None => Ok(Round {
                next,
                inside,
                pauses: pauses > 0,
            }),
        }
    }

    /// After an accepting cycle was found: the leader gets a run into one and around it.
    pub(crate) fn find_run(&mut self, all: Marks) -> Result<Option<Run>, Stop> {
        // There is an answer.
        self.keeper = None;
        for mark in each(all) {
            self.origins = Some(vec![NOWHERE; self.flags.len()]);
            self.begin_from(mark)?;
            self.through(Pass::Reach, "")?;
            self.tables.extend(self.origins.take());
        }
        let inside = self.flags.iter().position(|flags| flags & INSIDE != 0);
        let inside = inside.map_or(u64::MAX, |number| number as u64);
        let first = inside.to_le_bytes().to_vec();
        let firsts = self
            .cluster
            .agree(topic::FIRST, first, |all| all.concat())?;
        self.flags.fill(INSIDE);
        self.origins = Some(vec![NOWHERE; self.flags.len()]);
        self.begin(Pass::Reach);
        self.through(Pass::Reach, "")?;
        self.tables.extend(self.origins.take());
        if !self.cluster.is_leader() {
            self.answer()?;
            return Ok(None);
        }
        let mut firsts = (0_u64..).zip(numbers_of(&firsts));
        let first = firsts.find(|(_, number)| *number != u64::MAX);
        let run = match first {
            Some((rank, number)) => self.follow_back(rank << 32 | number)?,
            None => None,
        };
        for other in self.cluster.others() {
            self.cluster.send(other, DONE, &[])?;
        }
        self.cluster.flush();
        Ok(run)
    }

    /// Follows edges back from a node of the set, from mark to mark, until it is on a cycle; then
    /// to where runs begin. Nothing if there is no time for it.
    fn follow_back(&mut self, mut at: u64) -> Result<Option<Run>, Stop> {
        let marks = self.tables.len() - 1;
        let mut path: Vec<Vec<u32>> = Vec::new();
        let mut seen: RapidHashMap<u64, usize> = RapidHashMap::default();
        let cycle = loop {
            if let Some(before) = seen.insert(at, path.len()) {
                break path.split_off(before);
            }
            for mark in 0..marks {
                let mut is_marked = false;
                while !is_marked {
                    let Some((state, origin)) = self.origin(at, mark)? else {
                        return Ok(None);
                    };
                    path.push(state);
                    (at, is_marked) = (origin & !MARKED, origin & MARKED != 0);
                }
            }
        };
        // The first node of the cycle again, and before it what leads there.
        let mut stem = Vec::new();
        while at & NOWHERE == 0 {
            let Some((state, origin)) = self.origin(at, marks)? else {
                return Ok(None);
            };
            stem.push(state);
            at = origin;
        }
        let start = stem.len() - 1;
        // `cycle` begins with its first node and goes backwards.
        let back = cycle.iter().skip(1).rev().chain(cycle.first());
        let states = stem.iter().rev().chain(back).flatten().copied();
        Ok(Some((states.collect(), start)))
    }

    /// The state of the system in a node, and where the node was reached from.
    fn origin(&mut self, at: u64, table: usize) -> Result<Option<(Vec<u32>, u64)>, Stop> {
        let (rank, number) = ((at >> 32) as usize, at as u32);
        if rank == LEADER {
            let state = self.product.system_state(Node(number.into()));
            let state = state.map_err(Stop::Limit)?.to_vec();
            return Ok(Some((state, self.tables[table][number as usize])));
        }
        let question = [number, table as u32];
        let question: Vec<u8> = question.into_iter().flat_map(u32::to_le_bytes).collect();
        self.cluster.send(rank, ASK, &question)?;
        loop {
            let wait = std::time::Duration::from_millis(100);
            match self.cluster.receive(wait)? {
                Some(message) if message.kind == TELL => {
                    let (origin, state) = message.body.split_at(message.body.len().min(8));
                    let origin = numbers_of(origin).next().unwrap_or(NOWHERE);
                    let (words, _) = state.as_chunks();
                    let state = words.iter().map(|word| u32::from_le_bytes(*word));
                    return Ok(Some((state.collect(), origin)));
                }
                Some(_) => {}
                None if self.product.check_time().is_err() => return Ok(None),
                None => {}
            }
        }
    }

    /// Answers the leader's questions until it has no more.
    fn answer(&mut self) -> Result<(), Stop> {
        loop {
            let wait = std::time::Duration::from_millis(100);
            let Some(message) = self.cluster.receive(wait)? else {
                continue;
            };
            match message.kind {
                DONE => return Ok(()),
                ASK => {
                    let mut words = message.body.as_chunks().0.iter();
                    let mut word = || words.next().map_or(0, |word| u32::from_le_bytes(*word));
                    let (number, table) = (word(), word() as usize);
                    let origin = self.tables.get(table).and_then(|t| t.get(number as usize));
                    let mut body = origin.unwrap_or(&NOWHERE).to_le_bytes().to_vec();
                    if let Ok(state) = self.product.system_state(Node(number.into())) {
                        body.extend(state.iter().flat_map(|word| word.to_le_bytes()));
                    }
                    self.cluster.send(message.from, TELL, &body)?;
                }
                _ => {}
            }
        }
    }
}

/// The marks that a cycle must have, one by one; if there are none, the one that every edge has.
fn each(all: Marks) -> impl Iterator<Item = Marks> {
    let is_none = all == Marks::NONE;
    let one = move |at: u32| Marks(all.0 & (1 << at));
    let all = (0..Marks::MAX_SETS).map(one).filter(|m| *m != Marks::NONE);
    all.chain(is_none.then_some(Marks::NONE))
}

fn numbers_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|n| u64::from_le_bytes(*n))
}
