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
//! what processes cannot share, so there are no cycle provisos, and no reduction.

use stubborn_cluster::{Arrival, Cluster, Exchange, LEADER, Lost, hash_of, owner_of};
use stubborn_ltl::automaton::Marks;
use stubborn_search::Limit;

use rapidhash::RapidHashMap;

use crate::product::{Product, Vectors};
use crate::space::{Counts, Node};

/// What processes agree on here.
pub(crate) mod topic {
    pub(crate) const BEGIN: u8 = 50;
    pub(crate) const ROUND: u8 = 51;
    pub(crate) const FIRST: u8 = 52;
    pub(crate) const VERDICT: u8 = 53;
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

/// A run through the product: the states of the system, the first one of the cycle at its end
/// once more, and where the cycle begins.
pub(crate) type Run = (Vec<u32>, usize);

/// This process's part of a product.
pub(crate) struct Owcty<'o, 'p> {
    product: &'o mut Product<'p>,
    cluster: &'o mut Cluster,
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
    limit: Option<Limit>,
    most_states: Option<u64>,
    own: Counts,
    /// Of all processes.
    pub(crate) counts: Counts,
    vectors: Vectors,
}

/// What all processes have after a round.
struct Round {
    next: u64,
    inside: u64,
}

impl<'o, 'p> Owcty<'o, 'p> {
    pub(crate) fn new(
        product: &'o mut Product<'p>,
        cluster: &'o mut Cluster,
        most_states: Option<u64>,
    ) -> Self {
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
            limit: None,
            most_states,
            own: Counts::default(),
            counts: Counts::default(),
            vectors: Vectors::default(),
        }
    }

    /// Whether there is an accepting cycle.
    pub(crate) fn run(&mut self, all: Marks) -> Result<bool, Stop> {
        self.begin(Pass::Explore);
        let mut left = self.through(Pass::Explore)?.inside;
        loop {
            let before = left;
            for mark in each(all) {
                self.reach_from(mark)?;
                left = self.remove_unreached()?;
                if left == 0 {
                    return Ok(false);
                }
            }
            if left == before {
                return Ok(true);
            }
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
    fn through(&mut self, pass: Pass) -> Result<Round, Stop> {
        loop {
            let frontier = std::mem::take(&mut self.next);
            let round = self.round(&frontier, pass)?;
            if round.next == 0 {
                return Ok(round);
            }
            self.counts.depth += u64::from(pass == Pass::Explore);
        }
    }

    /// What edges of the set with a mark lead to, over others of the set.
    fn reach_from(&mut self, mark: Marks) -> Result<(), Stop> {
        self.flags.iter_mut().for_each(|flags| *flags &= INSIDE);
        self.incoming.fill(0);
        let all: Vec<u32> = self.numbers(|flags| flags & INSIDE != 0);
        self.round(&all, Pass::Begin(mark))?;
        drop(all);
        self.through(Pass::Reach)?;
        Ok(())
    }

    /// Takes out what was not reached, and then what nothing leads to; says how much is left.
    fn remove_unreached(&mut self) -> Result<u64, Stop> {
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
        Ok(self.through(Pass::Remove)?.inside)
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
            while let Arrival::Records(words) = self.exchange.poll(self.cluster)? {
                self.take(&words, pass);
            }
            for number in group {
                self.expand(*number, pass)?;
            }
        }
        self.exchange.end(self.cluster)?;
        loop {
            match self.exchange.wait(self.cluster)? {
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
            Some(_) => Ok(self.exchange.halt(self.cluster)?),
        }
    }

    /// Follows the edges of a node.
    fn expand(&mut self, number: u32, pass: Pass) -> Result<(), Stop> {
        let mut vectors = std::mem::take(&mut self.vectors);
        if let Err(limit) = self.product.vectors_of(Node(number.into()), &mut vectors) {
            self.limit = Some(limit);
            return Ok(self.exchange.halt(self.cluster)?);
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
            let record = vector.iter().copied();
            match self.origins {
                None => self.exchange.put(self.cluster, owner, record)?,
                Some(_) => {
                    let origin = [(origin >> 32) as u32, origin as u32];
                    (self.exchange).put(self.cluster, owner, record.chain(origin))?;
                }
            }
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
        let numbers = [
            self.next.len() as u64,
            self.inside,
            self.own.states,
            self.own.transitions,
            limit,
            most.map_or(0, |most| most.saturating_add(1)),
        ];
        let own = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        let agreed = self.cluster.agree(topic::ROUND, own, |all| {
            let mut total = [0; 6];
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
        let [next, inside, states, transitions, limit, most] =
            std::array::from_fn(|_| agreed.next().unwrap_or(0));
        self.counts.states = states;
        self.counts.transitions = transitions;
        match Limit::of_number(limit as u8) {
            Some(limit) => Err(Stop::Limit(limit)),
            None if most > 0 && states >= most => Err(Stop::Limit(Limit::States)),
            None => Ok(Round { next, inside }),
        }
    }

    /// After an accepting cycle was found: the leader gets a run into one and around it.
    pub(crate) fn find_run(&mut self, all: Marks) -> Result<Option<Run>, Stop> {
        for mark in each(all) {
            self.origins = Some(vec![NOWHERE; self.flags.len()]);
            self.reach_from(mark)?;
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
        self.through(Pass::Reach)?;
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
