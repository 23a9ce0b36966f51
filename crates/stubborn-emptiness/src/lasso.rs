//! From an accepting component to a counterexample that a person can follow.
//!
//! A search only knows that some open component has all marks. Where no lasso is [near the
//! start](crate::shortest), a shortest way into that component, and in it a short cycle that collects
//! the marks one after the other, are found by breadth-first searches among the nodes of open
//! components, with all edges of the product instead of the reduced ones: every one of them is a step
//! of the system. The result is replayed on the system, step by step, by an executor of its own, and
//! the word that its labels spell is checked against the property; what does not pass is no
//! counterexample but a bug, and reported as such.

use std::collections::hash_map::Entry;

use rapidhash::RapidHashMap;
use stubborn_ltl::automaton::Marks;
use stubborn_ltl::lasso::{Lasso, Letter};
use stubborn_search::{Limit, SearchError, Trace, replay};
use stubborn_system::{Executor, LabelId, Successor, Successors, System};

use crate::fairness::is_fair;
use crate::product::Product;
use crate::property::Property;
use crate::shortest::Length;
use crate::space::{Edge, Node, Space, flags};
use crate::walk::ABREAST;

/// A run that violates a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The run: a stem and a cycle; without a cycle if it ends in a state without any step,
    /// which then counts as repeated for ever.
    pub trace: Trace,
    /// Whether it ends in such a state.
    pub ends: bool,
}

impl Counterexample {
    /// The counterexample, if states (one after the other, from an initial one to the first of a cycle the
    /// second time) are a run of `system` that violates the property: for engines that find runs by
    /// themselves.
    ///
    /// # Errors
    /// If they are not; and if the system's budget is spent before that is known.
    pub fn confirmed(
        system: &dyn System,
        property: &Property,
        states: Vec<u32>,
        cycle_start: usize,
    ) -> Result<Self, SearchError> {
        confirm(system, property, false, states, cycle_start)
    }

    pub(crate) fn length(&self) -> Length {
        Length {
            steps: self.trace.len(),
            cycle: self.trace.cycle().len(),
        }
    }
}

/// Nodes of the product: a way into the accepting component, then a cycle. The cycle starts
/// where the stem ends, and its first node is not repeated at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeLasso {
    /// Without the first node of the cycle.
    stem: Vec<Node>,
    cycle: Vec<Node>,
}

impl NodeLasso {
    /// From the nodes of a stem, without the first one of the cycle, and those of the cycle.
    pub(crate) fn new(stem: Vec<Node>, cycle: Vec<Node>) -> Self {
        Self { stem, cycle }
    }
}

/// Of a start: it was reached from no other node.
const NOWHERE: usize = usize::MAX;

/// Where a search came from.
type Parents = RapidHashMap<Node, Node>;

/// Where a lasso is looked for.
pub(crate) struct Region<'r> {
    /// The nodes of an accepting component, or enough of them.
    pub(crate) inside: &'r dyn Fn(Node) -> bool,
    /// Nodes among which there is a way into it...
    pub(crate) open: &'r dyn Fn(Node) -> bool,
    /// ... together with those that have one of these flags.
    pub(crate) left: u8,
    /// The marks that the cycle has to collect.
    pub(crate) all: Marks,
}

impl Region<'_> {
    /// Whether the way may lead over a node of which this is [known](crate::space::known).
    pub(crate) fn admits(&self, node: Node, known: u32) -> bool {
        known & u32::from(self.left) != 0 || (self.open)(node)
    }
}

/// A lasso through the accepting component of a region, and how many nodes were reached on the way
/// into that.
pub(crate) fn find(
    product: &mut Product<'_>,
    region: &Region<'_>,
) -> Result<(NodeLasso, usize), Limit> {
    let (mut stem, reached) = way_into(product, region)?;
    let Some(first) = stem.pop() else {
        return Ok(Default::default());
    };
    let cycle = cycle_through(product, first, region)?;
    Ok((NodeLasso { stem, cycle }, reached))
}

/// A shortest path from a start to the component, and how many nodes were reached.
///
/// They may be as many as the search has entered. So the store remembers which they are, they are
/// explored some at a time, and from which of these one was reached is found out for the path alone.
fn way_into(product: &mut Product<'_>, region: &Region<'_>) -> Result<(Vec<Node>, usize), Limit> {
    let mut starts = Vec::new();
    product.initial(&mut starts)?;
    // In the order in which they are reached, each with the first of those from which it was.
    let mut reached: Vec<(Node, usize)> = Vec::new();
    for start in starts {
        let known = product.set_flags(start, flags::REACHED);
        if known & flags::REACHED == 0 && region.admits(start, known.into()) {
            reached.push((start, NOWHERE));
        }
    }
    let (mut edges, mut abreast): (Vec<Edge>, Vec<Node>) = Default::default();
    let (mut next, mut looked_at) = (0, 0);
    loop {
        let inside = |(node, _): &(Node, usize)| (region.inside)(*node);
        if let Some(end) = reached[looked_at..].iter().position(inside) {
            let path = path_to(product, &reached, looked_at + end)?;
            return Ok((path, reached.len()));
        }
        looked_at = reached.len();
        let last = reached.len().min(next + ABREAST);
        if next == last {
            return Ok(Default::default());
        }
        product.check_time()?;
        abreast.clear();
        abreast.extend(reached[next..last].iter().map(|(node, _)| *node));
        edges.clear();
        product.all_edges_of_each(&abreast, &mut edges)?;
        for edge in &edges {
            if edge.known() & u32::from(flags::REACHED) == 0
                && region.admits(edge.to, edge.known())
                && product.set_flags(edge.to, flags::REACHED) & flags::REACHED == 0
            {
                reached.push((edge.to, next));
            }
        }
        next = last;
    }
}

/// The nodes from a start to the one at `at`, each of which was reached from the first node that leads
/// to it, from the one noted on.
fn path_to(
    product: &mut Product<'_>,
    reached: &[(Node, usize)],
    at: usize,
) -> Result<Vec<Node>, Limit> {
    let (mut node, mut from) = reached[at];
    let mut path = vec![node];
    let mut edges: Vec<Edge> = Vec::new();
    while let Some((before, from_before)) = reached.get(from).copied() {
        edges.clear();
        product.all_edges(before, &mut edges)?;
        if edges.iter().any(|edge| edge.to == node) {
            path.push(before);
            (node, from) = (before, from_before);
        } else {
            from += 1;
        }
    }
    path.reverse();
    Ok(path)
}

/// The nodes from the start of a search to `node`.
fn path_within(parents: &Parents, mut node: Node) -> Vec<Node> {
    let mut path = vec![node];
    while let Some(parent) = parents.get(&node).filter(|parent| **parent != node) {
        node = *parent;
        path.push(node);
    }
    path.reverse();
    path
}

/// A cycle through `first` inside the component, with all marks.
fn cycle_through(
    product: &mut Product<'_>,
    first: Node,
    region: &Region<'_>,
) -> Result<Vec<Node>, Limit> {
    let all = region.all;
    let mut collected = Marks::NONE;
    let mut cycle = vec![first];
    loop {
        let here = cycle[cycle.len() - 1];
        let done = collected.contains(all);
        if done && here == first && cycle.len() > 1 {
            cycle.pop();
            return Ok(cycle);
        }
        let wanted = |edge: &Edge| match done {
            true => edge.to == first,
            // Without acceptance sets nothing is missing, and any edge is progress.
            false => edge.marks.0 & all.0 & !collected.0 != 0,
        };
        let (path, marks) = nearest_edge(product, here, region, wanted)?;
        if path.is_empty() {
            return Ok(Vec::new());
        }
        cycle.extend(path);
        collected = collected.union(marks);
    }
}

/// The shortest path inside the component that ends with a wanted edge, without its first
/// node; and the marks on that last edge. Empty if there is none.
fn nearest_edge(
    product: &mut Product<'_>,
    from: Node,
    region: &Region<'_>,
    wanted: impl Fn(&Edge) -> bool,
) -> Result<(Vec<Node>, Marks), Limit> {
    let mut parents = Parents::default();
    parents.insert(from, from);
    let mut queue = std::collections::VecDeque::from([from]);
    let mut edges: Vec<Edge> = Vec::new();
    while let Some(node) = queue.pop_front() {
        product.check_time()?;
        edges.clear();
        product.all_edges(node, &mut edges)?;
        edges.retain(|edge| (region.inside)(edge.to));
        if let Some(edge) = edges.iter().find(|edge| wanted(edge)) {
            let mut path = path_within(&parents, node);
            path.push(edge.to);
            path.remove(0);
            return Ok((path, edge.marks));
        }
        for edge in &edges {
            if let Entry::Vacant(place) = parents.entry(edge.to) {
                place.insert(node);
                queue.push_back(edge.to);
            }
        }
    }
    Ok((Vec::new(), Marks::NONE))
}

/// The states of the system along a lasso, from an initial one to the first state of the
/// cycle the second time; and where the cycle begins.
pub(crate) fn system_states(
    product: &mut Product<'_>,
    lasso: &NodeLasso,
) -> Result<(Vec<u32>, usize), Limit> {
    let mut states = Vec::new();
    let all = lasso.stem.iter().chain(&lasso.cycle);
    for node in all.chain(lasso.cycle.first()) {
        states.extend_from_slice(product.system_state(*node)?);
    }
    Ok((states, lasso.stem.len()))
}

/// The counterexample, if the states are a run of `system` that violates the property.
pub(crate) fn confirm(
    system: &dyn System,
    property: &Property,
    weak_fairness: bool,
    mut states: Vec<u32>,
    mut cycle_start: usize,
) -> Result<Counterexample, SearchError> {
    let budget = system.budget();
    // Who gives up finds nothing, which says nothing.
    let failed = |text: &str| {
        Err(match budget.spent() {
            Some(spent) => SearchError::GaveUp(spent),
            None => SearchError::ReplayFailed(text.into()),
        })
    };
    let words = system.layout().words();
    if states.len() < (cycle_start + 2) * words {
        return failed("the accepting cycle was not found again");
    }
    let mut executor = system.executor();
    let mut successors = Successors::new(words);
    let first = &states[cycle_start * words..][..words];
    executor.successors(first, &mut successors);
    // On a cycle of steps there is one that does not fail.
    let error = system.structure().error_state.as_deref();
    let structure = system.structure();
    let ends = |s: Successor<'_>| error == Some(s.state) && !structure.leaves_out(s.outcome);
    let ends = successors.iter().all(ends);
    if let (true, Some(spent)) = (ends, budget.spent()) {
        return Err(SearchError::GaveUp(spent));
    }
    if ends {
        // The system stands still; only the automaton moved.
        if states[cycle_start * words..]
            .chunks_exact(words)
            .any(|s| s != first)
        {
            return failed("a state without steps is left");
        }
        // It may have stood still before the cycle, too.
        let last = first.to_vec();
        while cycle_start > 0 && states[(cycle_start - 1) * words..][..words] == last {
            cycle_start -= 1;
        }
        states.truncate((cycle_start + 1) * words);
    } else {
        let is_fair = |cycle: &[&[u32]]| !weak_fairness || is_fair(system, cycle);
        let mut is_accepted = |run: &[&[u32]], start: usize| {
            let mut letters = |states: &[&[u32]]| {
                let letters = states
                    .iter()
                    .map(|s| letter(&mut *executor, property.labels(), s));
                letters.collect()
            };
            let word = Lasso {
                stem: letters(&run[..start]),
                cycle: letters(&run[start..run.len() - 1]),
            };
            property.automaton().accepts(&word) && is_fair(&run[start..])
        };
        cycle_start = close_early(&mut states, words, cycle_start, &mut is_accepted);
        if let Ok(mut run) = replay(system, states.clone(), None) {
            run.close_cycle(cycle_start);
            if let Some((earlier, start)) = turn_early(system, &run, &mut is_accepted) {
                (states, cycle_start) = (earlier, start);
            }
        }
        let cycle = states[cycle_start * words..].chunks_exact(words);
        if !is_fair(&cycle.collect::<Vec<_>>()) {
            return failed("the cycle is not fair");
        }
    }
    let mut trace = replay(system, states, None)?;
    if !ends {
        if trace.state(cycle_start) != trace.last_state() {
            return failed("the cycle is not closed");
        }
        trace.close_cycle(cycle_start);
    }
    let mut letters = |labels: &[LabelId], from: usize, to: usize| -> Vec<Letter> {
        let of_state = |number: usize| letter(&mut *executor, labels, trace.state(number));
        (from..to).map(of_state).collect()
    };
    let end = if ends { trace.len() + 1 } else { trace.len() };
    let mut word = |labels: &[LabelId]| Lasso {
        stem: letters(labels, 0, cycle_start),
        cycle: letters(labels, cycle_start, end),
    };
    if !property.automaton().accepts(&word(property.labels())) {
        return failed("the run is not accepted by the automaton of the property");
    }
    if let Some(formula) = property.formula()
        && !property.is_watched()
        && word(&formula.labels).satisfies(&formula.formulas, formula.formula)
    {
        return failed("the run satisfies the formula");
    }
    Ok(Counterexample { trace, ends })
}

/// Which labels hold in a state.
fn letter(executor: &mut dyn Executor, labels: &[LabelId], state: &[u32]) -> Letter {
    let mut letter = vec![0; labels.len().div_ceil(64)];
    for (at, label) in labels.iter().enumerate() {
        if executor.label(state, *label) {
            letter[at / 64] |= 1 << (at % 64);
        }
    }
    letter
}

/// The same cycle, taken as early on the stem as it can be: the automaton may have needed a step to
/// notice that it was over. The states of the run, and where the cycle begins.
fn turn_early(
    system: &dyn System,
    run: &Trace,
    mut is_accepted: impl FnMut(&[&[u32]], usize) -> bool,
) -> Option<(Vec<u32>, usize)> {
    /// So many steps are tried.
    const STEPS: usize = 20_000;
    let start = run.cycle_start()?;
    let mut executor = system.executor();
    let mut successors = Successors::new(system.layout().words());
    let error = system.structure().error_state.as_deref();
    let stem = |end: usize| (0..=end).map(|at| run.state(at).to_vec());
    for early in 0..start.min(STEPS / run.cycle().len().max(1)) {
        let mut states: Vec<Vec<u32>> = stem(early).collect();
        for step in run.cycle() {
            successors.clear();
            executor.successors(&states[states.len() - 1], &mut successors);
            let same = successors
                .iter()
                .find(|s| s.transition == step.transition && error != Some(s.state));
            let Some(same) = same else { break };
            states.push(same.state.to_vec());
        }
        let is_closed =
            states.len() > early + run.cycle().len() && states[early] == states[states.len() - 1];
        if !is_closed {
            continue;
        }
        let all: Vec<&[u32]> = states.iter().map(Vec::as_slice).collect();
        if is_accepted(&all, early) {
            return Some((states.concat(), early));
        }
    }
    None
}

/// Where a run that is a lasso comes back to a state and would be a counterexample already if it
/// went round from there, it ends there. Returns where the cycle begins then. (The automaton may have gone round
/// several times, or entered its own cycle late.)
fn close_early(
    states: &mut Vec<u32>,
    words: usize,
    cycle_start: usize,
    mut is_accepted: impl FnMut(&[&[u32]], usize) -> bool,
) -> usize {
    /// So many cycles are tried, as long as their runs do not have more states together than this.
    const TRIES: usize = 256;
    const MOST_STATES: usize = 1 << 20;
    let mut states_tried = 0;
    let all: Vec<&[u32]> = states.chunks_exact(words).collect();
    // Runs have up to hundreds of thousands of states, so not every pair is compared.
    let mut earlier: RapidHashMap<&[u32], Vec<usize>> = RapidHashMap::default();
    let mut cycles = (0..all.len()).flat_map(|end| {
        let before = earlier.entry(all[end]).or_default();
        let starts: Vec<usize> = before.iter().rev().take(TRIES).copied().collect();
        before.push(end);
        starts.into_iter().map(move |start| (start, end))
    });
    let found = cycles
        .by_ref()
        .take(TRIES)
        .take_while(|(start, end)| (*start, end + 1) != (cycle_start, all.len()))
        .take_while(|(_, end)| {
            states_tried += end;
            states_tried <= MOST_STATES
        })
        .find(|(start, end)| is_accepted(&all[..=*end], *start));
    let Some((start, end)) = found else {
        return cycle_start;
    };
    states.truncate((end + 1) * words);
    start
}
