//! What values fields can have, alone and together.
//!
//! A *cluster* is a group of fields whose joint values are known as a list of tuples. At
//! level `exact`, every field is a cluster of its own with all values of its declared
//! range. At level `reach`, the program counter and the locals of a process form one
//! cluster, and the lists are an over-approximation of what is reachable, found by
//! thread-modular abstract interpretation: start from the initial values, and run every
//! command, with the real code, on every combination of tuples known so far, until
//! nothing new appears. Correlations inside a process are kept, those between processes
//! are forgotten, so every reachable state is covered. At level `located`, shared fields that have
//! too many values then are followed location by location ([`located`]), and if that bounds them,
//! everything is run again within these bounds.
//!
//! Work is bounded by a budget of evaluations, never of time, so that results are the same
//! on every machine. A cluster that grows too large falls apart into single fields, and a
//! field with too many values becomes *open*: nothing is known of it beyond its range.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, PoisonError, RwLock};

use rapidhash::RapidHashMap;
use stubborn_system::{Field, FieldId, LabelId, ProcessId, System};

use super::enumerate::{Condition, Ended, Enumeration, words_of};
use super::located::{self, Bounds};
use super::support::Support;
use crate::Model;
use crate::interpreter::Interpreter;

/// Most tuples a cluster may have; beyond, it falls apart.
const LARGEST_CLUSTER: usize = 4_096;
/// Most values a single field may have; beyond, it is open.
const LARGEST_DOMAIN: usize = 1_024;
/// The same where other means will be tried for those that are open.
const QUICK_DOMAIN: usize = 16;
/// And the combinations tried there.
const QUICK_BUDGET: u64 = 500_000;
/// Combinations tried in the whole fixpoint.
const FIXPOINT_BUDGET: u64 = 500_000;
/// The same where values have bounds, and nothing more is to come.
const BOUNDED_BUDGET: u64 = 2_500_000;
/// The share of one command in one round.
const COMMAND_SHARE: u64 = 5;
/// The part of what is left that a round takes without being a sign of more to come. (With 8, one of
/// 256 BEEM instances is known less closely than if all was spent, and that hardly; without, 20 are.)
const LARGE_ROUND: u64 = 8;

/// Distinct tuples.
type Tuples = HashSet<Vec<u32>, BuildHasherDefault<TupleHasher>>;

/// A quick hash for short lists of small numbers.
#[derive(Clone, Copy, Debug, Default)]
struct TupleHasher(u64);

impl Hasher for TupleHasher {
    fn finish(&self) -> u64 {
        // Tables use the upper bits too.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// What a command was seen to leave in the fields of a cluster, as they lie in a state: nearly
/// always something that it left there before.
#[derive(Debug)]
struct Sightings {
    /// The words of the cluster, and which of their bits belong to it.
    words: Vec<(usize, u32)>,
    /// Of a single small field: by raw value.
    small: Option<(Field, Vec<bool>)>,
    seen: Tuples,
    now: Vec<u32>,
    last: Vec<u32>,
}

impl Sightings {
    fn new(model: &Model, fields: &[FieldId]) -> Self {
        /// Fields of at most so many bits have an entry for each value.
        const SMALL: u8 = 12;
        let single = match fields {
            [field] => Some(model.layout().field(*field)),
            _ => None,
        };
        let small = single.filter(|field| field.bits <= SMALL);
        Self {
            words: words_of(model, fields),
            small: small.map(|field| (field.clone(), vec![false; 1 << field.bits])),
            seen: Tuples::default(),
            now: Vec::new(),
            last: Vec::new(),
        }
    }

    /// Whether these values were not seen before. Those `before` the command are known.
    fn is_new(&mut self, before: &[u32], state: &[u32]) -> bool {
        let mut words = self.words.iter();
        if words.all(|(word, mask)| (before[*word] ^ state[*word]) & mask == 0) {
            return false;
        }
        if let Some((field, seen)) = &mut self.small {
            return !std::mem::replace(&mut seen[field.raw(state) as usize], true);
        }
        self.now.clear();
        let bits = self.words.iter().map(|(word, mask)| state[*word] & mask);
        self.now.extend(bits);
        if self.now == self.last || self.seen.contains(&self.now[..]) {
            return false;
        }
        self.seen.insert(self.now.clone());
        std::mem::swap(&mut self.now, &mut self.last);
        true
    }
}

/// Joint values of some fields.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// The fields, in increasing order.
    pub(super) fields: Vec<FieldId>,
    /// Raw values, `fields.len()` a tuple; `None` if the cluster is a single open field.
    pub(super) tuples: Option<Vec<u32>>,
}

impl Cluster {
    fn len(&self) -> usize {
        self.tuples
            .as_ref()
            .map_or(0, |t| t.len() / self.fields.len())
    }
}

/// The possible values of all fields.
#[derive(Debug)]
pub(super) struct Domains {
    clusters: Vec<Cluster>,
    /// The cluster of each field.
    cluster_of: Vec<u32>,
    /// Views that were asked for before; many pairs look at the same fields.
    views: RwLock<Views>,
    /// A field is open, or a command was too much work.
    is_rough: bool,
}

/// Views, and the different lists of values among them.
#[derive(Debug, Default)]
struct Views {
    known: RapidHashMap<Vec<FieldId>, Arc<View>>,
    lists: RapidHashMap<Vec<u32>, u32>,
}

/// The values of a few fields of one cluster, without repetition.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) fields: Vec<FieldId>,
    pub(super) tuples: Vec<u32>,
    /// Equal for views with the same tuples in the same order.
    pub(super) list: u32,
}

impl View {
    pub(super) fn len(&self) -> usize {
        self.tuples.len() / self.fields.len()
    }

    /// Writes the values of a tuple into a state.
    pub(super) fn put(&self, model: &Model, tuple: usize, state: &mut [u32]) {
        let raws = &self.tuples[tuple * self.fields.len()..];
        for (field, raw) in self.fields.iter().zip(raws) {
            let field = model.layout().field(*field);
            field.set(state, i64::from(*raw) + field.min);
        }
    }
}

impl Domains {
    /// Every field alone, with its declared range.
    pub(super) fn declared(model: &Model) -> Self {
        let fields = model.layout().fields();
        let clusters = (0..fields.len()).map(|at| {
            let field = &fields[at];
            let size = field.max.abs_diff(field.min) as usize + 1;
            let tuples = (size <= LARGEST_DOMAIN).then(|| (0..size as u32).collect());
            Cluster {
                fields: vec![FieldId::new(at)],
                tuples,
            }
        });
        let clusters: Vec<_> = clusters.collect();
        Self {
            cluster_of: (0..clusters.len() as u32).collect(),
            clusters,
            views: RwLock::default(),
            is_rough: false,
        }
    }

    /// An over-approximation of what is reachable.
    pub(super) fn reachable(model: &Model, supports: &[Support]) -> Self {
        Fixpoint::new(model, supports, Start::default()).run()
    }

    /// A closer one, for which open fields are followed location by location.
    pub(super) fn located(model: &Model, supports: &[Support]) -> Self {
        let plain = Self::reachable(model, supports);
        if !plain.is_rough || model.budget().spent().is_some() {
            return plain;
        }
        let quick = Self::quick(model, supports);
        let bounds = located::bounds(model, supports, &quick);
        if bounds.is_empty() {
            return plain;
        }
        let bounded = Self::within(model, supports, &quick, bounds);
        let open = |d: &Self| d.clusters.iter().filter(|c| c.tuples.is_none()).count();
        let roughness = |d: &Self| (open(d), d.clusters.len());
        let (before, after) = (roughness(&plain), roughness(&bounded));
        let is_better = after != before && after.0 <= before.0 && after.1 <= before.1;
        if is_better { bounded } else { plain }
    }

    /// What says which fields have many values.
    pub(super) fn quick(model: &Model, supports: &[Support]) -> Self {
        let start = Start {
            largest_domain: QUICK_DOMAIN,
            budget: QUICK_BUDGET,
            ..Start::default()
        };
        Fixpoint::new(model, supports, start).run()
    }

    /// What is reachable within bounds; of what is open without them, nothing is known.
    pub(super) fn within(
        model: &Model,
        supports: &[Support],
        quick: &Self,
        bounds: Bounds,
    ) -> Self {
        let still_open = |f: &FieldId| quick.is_open(*f) && !bounds.contains_key(f);
        let fields = (0..model.layout().fields().len()).map(FieldId::new);
        let start = Start {
            open: fields.filter(still_open).collect(),
            bounds,
            budget: BOUNDED_BUDGET,
            ..Start::default()
        };
        Fixpoint::new(model, supports, start).run()
    }

    /// Whether nothing is known of a field beyond its range.
    pub(super) fn is_open(&self, field: FieldId) -> bool {
        let cluster = self.cluster_of[field.index()] as usize;
        self.clusters[cluster].tuples.is_none()
    }

    /// The joint values of some fields, cluster by cluster; `None` if one of them is open.
    pub(super) fn views(&self, fields: &[FieldId]) -> Option<Vec<Arc<View>>> {
        let (fields, ends) = self.by_cluster(fields);
        let views = self.views.read().unwrap_or_else(PoisonError::into_inner);
        let known = groups(&fields, &ends).map(|wanted| views.known.get(wanted).cloned());
        if let Some(known) = known.collect() {
            return Some(known);
        }
        drop(views);
        let mut views = self.views.write().unwrap_or_else(PoisonError::into_inner);
        let Views { known, lists } = &mut *views;
        let known = |wanted: &[FieldId]| {
            if let Some(view) = known.get(wanted) {
                return Some(view.clone());
            }
            let mut view = self.project(wanted.to_vec())?;
            let next = lists.len() as u32;
            view.list = *lists.entry(view.tuples.clone()).or_insert(next);
            let view = Arc::new(view);
            known.insert(wanted.to_vec(), view.clone());
            Some(view)
        };
        groups(&fields, &ends).map(known).collect()
    }

    /// The fields, cluster by cluster in the order in which these come up, and where each group ends. (It is asked
    /// for every pair that is tried: two lists are made, not one for each cluster.)
    fn by_cluster(&self, fields: &[FieldId]) -> (Vec<FieldId>, Vec<usize>) {
        let cluster = |field: &FieldId| self.cluster_of[field.index()];
        let mut sorted = fields.to_vec();
        let mut ends = Vec::new();
        let mut from = 0;
        while let Some(first) = sorted.get(from) {
            let first = cluster(first);
            let mut end = from + 1;
            for at in from + 1..sorted.len() {
                if cluster(&sorted[at]) == first {
                    // The others keep their order.
                    sorted[end..=at].rotate_right(1);
                    end += 1;
                }
            }
            ends.push(end);
            from = end;
        }
        (sorted, ends)
    }

    /// The joint values of some fields of one cluster, in the order of its tuples.
    fn project(&self, wanted: Vec<FieldId>) -> Option<View> {
        let mut projection = Projection::new(wanted);
        projection.catch_up(self)?;
        Some(Arc::unwrap_or_clone(projection.view))
    }
}

/// What lies between the ends of groups.
fn groups<'f>(fields: &'f [FieldId], ends: &'f [usize]) -> impl Iterator<Item = &'f [FieldId]> {
    let starts = std::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(from, to)| &fields[*from..*to])
}

/// The values of a few fields of a cluster, which follow when that grows.
struct Projection {
    view: Arc<View>,
    seen: Tuples,
    /// So many numbers of the cluster's list were looked at.
    looked_at: usize,
}

impl Projection {
    fn new(fields: Vec<FieldId>) -> Self {
        let view = View {
            fields,
            tuples: Vec::new(),
            list: 0,
        };
        Self {
            view: Arc::new(view),
            seen: Tuples::default(),
            looked_at: 0,
        }
    }

    /// Takes in what is new; `None` if a field is open.
    fn catch_up(&mut self, domains: &Domains) -> Option<()> {
        let view = Arc::make_mut(&mut self.view);
        let cluster = domains.cluster_of[view.fields.first()?.index()] as usize;
        let Cluster { fields, tuples } = &domains.clusters[cluster];
        let new = &tuples.as_ref()?[self.looked_at..];
        self.looked_at += new.len();
        if view.fields.len() == fields.len() {
            view.tuples.extend_from_slice(new);
            return Some(());
        }
        let column = |f: &FieldId| fields.iter().position(|g| g == f);
        let columns: Vec<usize> = view.fields.iter().filter_map(column).collect();
        let mut part: Vec<u32> = Vec::new();
        for tuple in new.chunks_exact(fields.len()) {
            part.clear();
            part.extend(columns.iter().map(|c| tuple[*c]));
            if !self.seen.contains(&part[..]) {
                view.tuples.extend_from_slice(&part);
                self.seen.insert(part.clone());
            }
        }
        Some(())
    }
}

/// What an abstract interpretation starts from.
struct Start {
    /// Shared fields that have these values, and never others.
    bounds: Bounds,
    /// Shared fields of which nothing is known.
    open: Vec<FieldId>,
    largest_domain: usize,
    largest_cluster: usize,
    budget: u64,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            bounds: Bounds::new(),
            open: Vec::new(),
            largest_domain: LARGEST_DOMAIN,
            largest_cluster: LARGEST_CLUSTER,
            budget: FIXPOINT_BUDGET,
        }
    }
}

/// The abstract interpretation while it runs.
struct Fixpoint<'m> {
    model: &'m Model,
    supports: &'m [Support],
    domains: Domains,
    /// Values that some fields are known not to leave.
    bounds: Bounds,
    /// Most values a shared field may have; beyond, it is open.
    largest_domain: usize,
    /// Most tuples of several fields; beyond, they fall apart.
    largest_cluster: usize,
    known: Vec<Tuples>,
    /// Clusters that have grown since a command last looked, by command.
    dirty: Vec<bool>,
    /// How many values of each of its views a command has already been run on.
    seen: Vec<Vec<usize>>,
    /// Commands that look at or write a cluster.
    users: Vec<Vec<u32>>,
    /// What commands looked at before, by fields.
    projections: RapidHashMap<Vec<FieldId>, Projection>,
    budget: u64,
    /// Of that, for one command in one round.
    most_for_one: u64,
}

impl<'m> Fixpoint<'m> {
    fn new(model: &'m Model, supports: &'m [Support], start: Start) -> Self {
        let layout = model.layout();
        let initial = model.initial_states();
        let mut groups: HashMap<ProcessId, Vec<FieldId>> = HashMap::new();
        let mut lists: Vec<Vec<FieldId>> = Vec::new();
        for (at, field) in layout.fields().iter().enumerate() {
            match field.process {
                Some(process) => groups.entry(process).or_default().push(FieldId::new(at)),
                None => lists.push(vec![FieldId::new(at)]),
            }
        }
        let mut processes: Vec<_> = groups.into_iter().collect();
        processes.sort_unstable_by_key(|(process, _)| *process);
        lists.extend(processes.into_iter().map(|(_, fields)| fields));
        let clusters = lists.into_iter().map(|fields| {
            let first = fields[0];
            let tuples = match (fields.len(), start.bounds.get(&first)) {
                (1, Some(values)) => Some(values.iter().copied().collect()),
                (1, None) if start.open.contains(&first) => None,
                _ => {
                    let raw = |f: &FieldId| layout.field(*f).raw(&initial);
                    Some(fields.iter().map(raw).collect())
                }
            };
            Cluster { fields, tuples }
        });
        let clusters: Vec<_> = clusters.collect();
        let cluster_of = vec![0; layout.fields().len()];
        let domains = Domains {
            cluster_of,
            clusters,
            views: RwLock::default(),
            is_rough: false,
        };
        let mut fixpoint = Self {
            model,
            supports,
            domains,
            bounds: start.bounds,
            largest_domain: start.largest_domain,
            largest_cluster: start.largest_cluster,
            known: Vec::new(),
            dirty: vec![true; supports.len()],
            seen: vec![Vec::new(); supports.len()],
            users: Vec::new(),
            projections: RapidHashMap::default(),
            budget: start.budget,
            most_for_one: start.budget / COMMAND_SHARE,
        };
        let all: Vec<usize> = (0..fixpoint.domains.clusters.len()).collect();
        fixpoint.index(&all);
        fixpoint
    }

    /// Notes what follows from clusters that are new. Who looks at them or writes them begins anew;
    /// what the other commands were run on stays.
    fn index(&mut self, new: &[usize]) {
        let Domains {
            clusters,
            cluster_of,
            ..
        } = &mut self.domains;
        self.known.resize_with(clusters.len(), Tuples::default);
        self.users.resize_with(clusters.len(), Vec::new);
        let mut is_new = vec![false; clusters.len()];
        for at in new {
            let cluster = &clusters[*at];
            for field in &cluster.fields {
                cluster_of[field.index()] = *at as u32;
            }
            let tuples = cluster.tuples.as_deref().unwrap_or(&[]);
            let tuples = tuples.chunks_exact(cluster.fields.len());
            self.known[*at] = tuples.map(<[u32]>::to_vec).collect();
            self.users[*at].clear();
            is_new[*at] = true;
        }
        let cluster = |field: &FieldId| cluster_of[field.index()] as usize;
        for (command, support) in self.supports.iter().enumerate() {
            let touched = support.looked.iter().chain(&support.writes).map(cluster);
            for at in touched.filter(|at| is_new[*at]) {
                if self.users[at].last() != Some(&(command as u32)) {
                    self.users[at].push(command as u32);
                }
                self.dirty[command] = true;
                self.seen[command].clear();
            }
        }
        let is_old = |fields: &Vec<FieldId>| !fields.iter().any(|f| is_new[cluster(f)]);
        self.projections.retain(|fields, _| is_old(fields));
    }

    fn run(mut self) -> Domains {
        // Round by round: a command that runs seldom finds many new tuples at once.
        let (mut before, mut last) = (1, 0);
        while self.dirty.contains(&true) {
            // A round that took much, twice as much as the one before, and would take more than is left if
            // it grew so once more: all that is learned from the next one is that it is too much.
            let (is_large, doubles) = (last > self.budget / LARGE_ROUND, last >= 2 * before);
            if is_large && doubles && last * last / before > self.budget {
                self.budget = 0;
            }
            let left = self.budget;
            for command in 0..self.dirty.len() {
                if std::mem::take(&mut self.dirty[command]) {
                    if self.model.budget().poll().is_some() {
                        return self.domains;
                    }
                    self.command(command);
                }
            }
            (before, last) = (last.max(1), left - self.budget);
        }
        let clusters = &self.domains.clusters;
        self.domains.is_rough |= clusters.iter().any(|c| c.tuples.is_none());
        self.domains
    }

    /// Runs one command on all that is known.
    fn command(&mut self, command: usize) {
        let support = &self.supports[command];
        if support.reads.iter().any(|f| self.is_open(*f)) {
            return self.command_with_open_fields(command);
        }
        // A guard on an open field is taken to hold: more states, never fewer.
        let structure = self.model.structure();
        let tests = |g: &LabelId| &structure.label(*g).tests;
        let closed = |g: &&LabelId| !tests(g).iter().any(|f| self.is_open(*f));
        let guards: Vec<LabelId> = support.guards.iter().filter(closed).copied().collect();
        let mut fields = support.reads.clone();
        fields.extend(guards.iter().flat_map(tests));
        fields.sort_unstable();
        fields.dedup();
        // All fields of the clusters it writes: their tuples change as a whole. A field alone that is
        // not looked at gets a value that does not depend on the one before, or keeps that: any one
        // will do.
        let mut written: Vec<usize> = Vec::new();
        let (mut any, mut more): (Vec<FieldId>, Vec<FieldId>) = Default::default();
        for field in support.writes.iter().filter(|f| !self.is_open(**f)) {
            let cluster = self.domains.cluster_of[field.index()] as usize;
            written.push(cluster);
            match self.domains.clusters[cluster].fields[..] {
                [alone] if fields.binary_search(&alone).is_err() => any.push(alone),
                ref all => more.extend(all),
            }
        }
        if fields.is_empty() && more.is_empty() {
            // Somebody has to be new.
            std::mem::swap(&mut any, &mut more);
        }
        fields.extend(more);
        fields.sort_unstable();
        fields.dedup();
        written.sort_unstable();
        written.dedup();
        let (sorted, ends) = self.domains.by_cluster(&fields);
        let views = groups(&sorted, &ends).map(|list| self.view(list.to_vec()));
        let views: Option<Vec<_>> = views.collect();
        let Some(views) = views else {
            return self.command_with_open_fields(command);
        };
        any.dedup();
        let any = any.into_iter().filter_map(|field| self.view(vec![field]));
        let any: Vec<(Arc<View>, Range<usize>)> = any.map(|view| (view, 0..1)).collect();
        // Looking at all tuples again is work too, and must not escape the budget.
        let tuples: usize = written
            .iter()
            .map(|c| self.domains.clusters[*c].len())
            .sum();
        self.budget = self.budget.saturating_sub(tuples as u64 / 4);
        let model = self.model;
        let guards: Vec<_> = guards.iter().map(|g| Condition::holds(model, *g)).collect();
        let mut share = self.budget.min(self.most_for_one);
        let mut interpreter = Interpreter::new(model);
        let body = &model.program().commands[command].body;
        let mut found = vec![Tuples::default(); written.len()];
        let fields_of = |cluster: &usize| &self.domains.clusters[*cluster].fields[..];
        let mut sightings: Vec<Sightings> = (written.iter())
            .map(|cluster| Sightings::new(model, fields_of(cluster)))
            .collect();
        let mut after = vec![0; model.layout().words()];
        let mut tuple: Vec<u32> = Vec::new();
        let closed = support.writes.iter().filter(|f| !self.is_open(**f));
        let bounded = closed.filter_map(|f| Some((*f, self.bounds.get(f)?)));
        let bounded: Vec<(FieldId, &BTreeSet<u32>)> = bounded.collect();
        let mut visit = |state: &mut [u32]| {
            after.copy_from_slice(state);
            let inside = |after: &[u32]| {
                let raw = |f: FieldId| model.layout().field(f).raw(after);
                bounded.iter().all(|(f, values)| values.contains(&raw(*f)))
            };
            let Some(outcome) = interpreter.run_body(&mut after, body) else {
                return ControlFlow::Break(());
            };
            if outcome.failed().is_none() && inside(&after) {
                for (at, cluster) in written.iter().enumerate() {
                    if !sightings[at].is_new(state, &after) {
                        continue;
                    }
                    let fields = fields_of(cluster);
                    let raw = |f: &FieldId| model.layout().field(*f).raw(&after);
                    tuple.clear();
                    tuple.extend(fields.iter().map(raw));
                    let is_known = |set: &Tuples| set.contains(&tuple[..]);
                    if !is_known(&self.known[*cluster]) && !is_known(&found[at]) {
                        found[at].insert(tuple.clone());
                    }
                }
            }
            ControlFlow::Continue(())
        };
        // Only combinations with something new in them: the tuple at `fresh` is new, those
        // before it are old, those behind it are any.
        let mut seen = std::mem::take(&mut self.seen[command]);
        seen.resize(views.len(), 0);
        for fresh in 0..views.len() {
            let has_none = views[fresh].len() == seen[fresh] || seen[..fresh].contains(&0);
            if has_none {
                continue;
            }
            let range = |(at, view): (usize, &Arc<View>)| match at.cmp(&fresh) {
                Ordering::Less => 0..seen[at],
                Ordering::Equal => seen[at]..view.len(),
                Ordering::Greater => 0..view.len(),
            };
            let views = views.iter().enumerate();
            let parts = views.map(|v| (v.1.clone(), range(v)));
            let parts = any.iter().cloned().chain(parts).collect();
            let mut enumeration = Enumeration::new(model, parts, guards.clone(), share);
            // What is known to be too much is not tried.
            let (ended, left) = match enumeration.needs() > enumeration.budget_left() {
                true => (Ended::OutOfBudget, 0),
                false => (enumeration.run(&mut visit), enumeration.budget_left()),
            };
            self.budget -= share - left;
            share = left;
            if ended != Ended::Complete {
                return self.give_up(command);
            }
        }
        self.seen[command] = views.iter().map(|v| v.len()).collect();
        for (cluster, tuples) in written.into_iter().zip(found) {
            self.extend(cluster, tuples.into_iter().collect());
        }
    }

    /// The joint values of some fields of one cluster; `None` if it is an open field.
    fn view(&mut self, fields: Vec<FieldId>) -> Option<Arc<View>> {
        let new = |fields: &Vec<FieldId>| Projection::new(fields.clone());
        let projection = self.projections.entry(fields);
        let projection = projection.or_insert_with_key(new);
        projection.catch_up(&self.domains)?;
        Some(Arc::clone(&projection.view))
    }

    /// Adds different tuples that are new.
    fn extend(&mut self, cluster: usize, mut found: Vec<Vec<u32>>) {
        if found.is_empty() {
            return;
        }
        // Sorted, so that results do not depend on the order of a hash table.
        found.sort_unstable();
        if let Some(tuples) = &mut self.domains.clusters[cluster].tuples {
            found.iter().for_each(|t| tuples.extend_from_slice(t));
        }
        self.known[cluster].extend(found);
        let Cluster { fields, .. } = &self.domains.clusters[cluster];
        let limit = match fields[..] {
            [field] if self.model.layout().field(field).process.is_none() => self.largest_domain,
            [_] => LARGEST_DOMAIN,
            _ => self.largest_cluster,
        };
        if self.domains.clusters[cluster].len() > limit {
            return self.fall_apart(cluster);
        }
        for user in &self.users[cluster] {
            self.dirty[*user as usize] = true;
        }
    }

    /// A cluster that became too large: its fields go on alone, and a field becomes open.
    fn fall_apart(&mut self, cluster: usize) {
        let Cluster { fields, tuples } = self.domains.clusters[cluster].clone();
        if let [field] = fields[..] {
            return self.open(field);
        }
        let tuples = tuples.unwrap_or_default();
        let parts = fields.iter().enumerate().map(|(column, field)| {
            let mut values: Vec<u32> = tuples
                .chunks_exact(fields.len())
                .map(|t| t[column])
                .collect();
            values.sort_unstable();
            values.dedup();
            Cluster {
                fields: vec![*field],
                tuples: Some(values),
            }
        });
        // The others keep their numbers: a command goes on with what it found for them.
        let mut parts: Vec<_> = parts.collect();
        let mut new = vec![cluster];
        new.extend((self.domains.clusters.len()..).take(parts.len() - 1));
        self.domains.clusters[cluster] = parts.swap_remove(0);
        self.domains.clusters.extend(parts);
        self.index(&new);
    }

    fn is_open(&self, field: FieldId) -> bool {
        self.domains.is_open(field)
    }

    fn open(&mut self, field: FieldId) {
        if self.is_open(field) {
            return;
        }
        let at = self.domains.cluster_of[field.index()] as usize;
        if self.domains.clusters[at].fields.len() > 1 {
            self.fall_apart(at);
        }
        let at = self.domains.cluster_of[field.index()] as usize;
        self.domains.clusters[at].tuples = None;
        for user in &self.users[at] {
            self.dirty[*user as usize] = true;
            self.seen[*user as usize].clear();
        }
    }

    /// A command that reads open fields: what it writes can be anything, except constants.
    fn command_with_open_fields(&mut self, command: usize) {
        let support = &self.supports[command];
        for field in &support.writes {
            match support.constant_for(*field) {
                Some(raw) => self.add_value(*field, raw),
                None => self.widen(*field),
            }
        }
    }

    /// Makes every value of the declared range possible for a field, whatever the others are.
    fn widen(&mut self, field: FieldId) {
        if self.is_open(field) {
            return;
        }
        let declared = self.model.layout().field(field);
        let size = declared.max.abs_diff(declared.min) as usize + 1;
        let bound = self.bounds.get(&field).cloned();
        if bound.is_none() && size > LARGEST_DOMAIN {
            return self.open(field);
        }
        let at = self.domains.cluster_of[field.index()] as usize;
        if self.domains.clusters[at].fields.len() > 1 {
            self.fall_apart(at);
        }
        let at = self.domains.cluster_of[field.index()] as usize;
        if self.domains.clusters[at].len() == size {
            // All of them are known, as they are to most commands of those that are given up.
            return;
        }
        let values: Vec<u32> = match bound {
            Some(values) => values.into_iter().collect(),
            None => (0..size as u32).collect(),
        };
        let is_known = |raw: &u32| self.known[at].contains(std::slice::from_ref(raw));
        let missing = values.into_iter().filter(|raw| !is_known(raw));
        let missing = missing.map(|raw| vec![raw]).collect();
        self.extend(at, missing);
    }

    /// Makes a value possible for a field, whatever the others are.
    fn add_value(&mut self, field: FieldId, raw: u32) {
        let at = self.domains.cluster_of[field.index()] as usize;
        let cluster = &self.domains.clusters[at];
        let column = cluster.fields.iter().position(|f| *f == field).unwrap_or(0);
        let Some(tuples) = &cluster.tuples else {
            return;
        };
        let mut found = Tuples::default();
        for tuple in tuples.chunks_exact(cluster.fields.len()) {
            let mut tuple = tuple.to_vec();
            tuple[column] = raw;
            if !self.known[at].contains(&tuple) {
                found.insert(tuple);
            }
        }
        self.extend(at, found.into_iter().collect());
    }

    /// The budget is spent: what this command writes keeps its declared range.
    fn give_up(&mut self, command: usize) {
        self.domains.is_rough = true;
        for field in &self.supports[command].writes {
            self.widen(*field);
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
