//! Deciding formulas on the fly.
//!
//! The pairs of a state and a part of the formula form a dependency graph in the sense of Liu and
//! Smolka, "Simple linear-time algorithms for minimal fixed points" (1998): a pair depends on
//! pairs of the same state with smaller parts, and of successors with the same part. It is
//! walked depth-first from the pair in question, one search within the other for nested parts,
//! as in Vergauwen and Lewi, "A linear local model checking algorithm for CTL" (1993). No lists
//! of who depends on whom are kept: when a search ends, every pair it has met is decided, so each
//! is met once, and what is stored is two bits a pair. That something is *not* so is known as
//! early as in the algorithm with "certain zero" of Dalsgaard, Enevoldsen, Fogh, Jensen, Jensen,
//! Jepsen, Kaufmann, Larsen, Nielsen, Olesen, Pastva and Srba, "A distributed fixed-point
//! algorithm for extended dependency graphs" (2018): for `EU` when a strongly connected component
//! is left (Tarjan, "Depth-first search and linear graph algorithms", 1972), for `AU` at once.

use stubborn_system::LabelId;

use crate::formula::{Formula, Formulas, Node};
use crate::graph::{Graph, StateNumber, Stop};

/// What is known of a formula in a state, in two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing = 0,
    False = 1,
    True = 2,
    /// A search for it has met the state and not left it.
    Open = 3,
}

/// A formula that is being decided.
pub struct Evaluation<'f> {
    formulas: &'f Formulas,
    formula: Formula,
    /// The label of each proposition.
    labels: Vec<LabelId>,
    /// For each formula of the arena, its slot in a row of `values`, if it has one.
    slots: Vec<Option<u16>>,
    /// Bytes of a row.
    stride: usize,
    values: Vec<u8>,
    searches: Vec<Search>,
    /// Bytes that the graph's budget was asked for.
    accounted: usize,
}

/// The stacks of a search for one formula; kept, because searches are many.
#[derive(Default)]
struct Search {
    /// The path: a state, its next successor, and the lowest open state it leads to.
    path: Vec<(StateNumber, u32, u32)>,
    /// Open states in the order they were met.
    open: Vec<StateNumber>,
    /// For open states, their place in `open`.
    place: Vec<u32>,
}

impl<'f> Evaluation<'f> {
    /// Nothing decided yet. `labels` are those of the propositions, by number.
    pub fn new(formulas: &'f Formulas, formula: Formula, labels: Vec<LabelId>) -> Self {
        let mut slots = vec![None; formulas.len()];
        let mut count = 0u16;
        let mut pending = vec![formula];
        while let Some(next) = pending.pop() {
            if slots[next.0 as usize].is_some() {
                continue;
            }
            match formulas.node(next) {
                Node::Constant(_) => continue,
                Node::Not(f) => {
                    pending.push(f);
                    continue;
                }
                Node::And(f, g) | Node::Or(f, g) => {
                    pending.extend([f, g]);
                    continue;
                }
                Node::Atom(_) => {}
                Node::ExistsNext(f) => pending.push(f),
                Node::ExistsUntil(f, g) | Node::AllUntil(f, g) => pending.extend([f, g]),
            }
            slots[next.0 as usize] = Some(count);
            count += 1;
        }
        Self {
            formulas,
            formula,
            labels,
            slots,
            stride: usize::from(count).div_ceil(4).max(1),
            values: Vec::new(),
            searches: (0..count).map(|_| Search::default()).collect(),
            accounted: 0,
        }
    }

    /// The formula.
    pub fn formula(&self) -> Formula {
        self.formula
    }

    /// The arena it is in.
    pub fn formulas(&self) -> &'f Formulas {
        self.formulas
    }

    /// Whether the formula holds in all initial states.
    pub fn holds(&mut self, graph: &mut Graph<'_>) -> Result<bool, Stop> {
        let mut holds = true;
        for state in graph.initial()? {
            holds = self.holds_in(graph, self.formula, state)?;
            if !holds {
                break;
            }
        }
        graph.conclude()?;
        Ok(holds)
    }

    /// Whether a part of the formula holds in a state.
    pub fn holds_in(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
    ) -> Result<bool, Stop> {
        match self.formulas.node(formula) {
            Node::Constant(value) => return Ok(value),
            Node::Not(inner) => return Ok(!self.holds_in(graph, inner, state)?),
            Node::And(a, b) => {
                let (a, b) = self.cheaper_first(a, b);
                return Ok(self.holds_in(graph, a, state)? && self.holds_in(graph, b, state)?);
            }
            Node::Or(a, b) => {
                let (a, b) = self.cheaper_first(a, b);
                return Ok(self.holds_in(graph, a, state)? || self.holds_in(graph, b, state)?);
            }
            _ => {}
        }
        match self.known(formula, state) {
            Known::True => return Ok(true),
            Known::False => return Ok(false),
            Known::Nothing | Known::Open => {}
        }
        let value = match self.formulas.node(formula) {
            Node::Atom(number) => graph.label(state, self.labels[number as usize])?,
            Node::ExistsNext(inner) => {
                let mut found = false;
                for number in 0..graph.degree(state)? {
                    let next = graph.successor(state, number);
                    found = self.holds_in(graph, inner, next)?;
                    if found {
                        break;
                    }
                }
                found
            }
            Node::ExistsUntil(before, reach) => {
                return self.search(graph, formula, state, |this, graph, state| {
                    this.exists_until(graph, formula, (before, reach), state)
                });
            }
            Node::AllUntil(before, reach) => {
                return self.search(graph, formula, state, |this, graph, state| {
                    this.all_until(graph, formula, (before, reach), state)
                });
            }
            Node::Constant(_) | Node::Not(_) | Node::And(..) | Node::Or(..) => false,
        };
        self.set(graph, formula, state, value.into())?;
        Ok(value)
    }

    /// What nests less deeply costs less, and may spare the other.
    fn cheaper_first(&self, a: Formula, b: Formula) -> (Formula, Formula) {
        if self.formulas.depth(a) <= self.formulas.depth(b) {
            (a, b)
        } else {
            (b, a)
        }
    }

    /// Runs a search. One that is stopped leaves nothing open behind.
    fn search(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
        run: impl FnOnce(&mut Self, &mut Graph<'_>, StateNumber) -> Result<bool, Stop>,
    ) -> Result<bool, Stop> {
        let result = run(self, graph, state);
        let slot = self.slot(formula);
        self.searches[slot].path.clear();
        let mut open = std::mem::take(&mut self.searches[slot].open);
        // A search that came to its end has none.
        for state in open.drain(..) {
            self.store(slot, state, Known::Nothing);
        }
        self.searches[slot].open = open;
        result
    }

    /// Decides `E (before U reach)` in a state, and in all states that the search meets.
    fn exists_until(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        parts: (Formula, Formula),
        root: StateNumber,
    ) -> Result<bool, Stop> {
        let slot = self.slot(formula);
        if let Some(value) = self.settled(graph, formula, parts, root)? {
            return Ok(value);
        }
        self.enter(graph, slot, root)?;
        while let Some(&(state, at, low)) = self.searches[slot].path.last() {
            if at == graph.degree(state)? {
                let search = &mut self.searches[slot];
                search.path.pop();
                let place = search.place[state as usize];
                if low == place {
                    // The component is left, and nothing beyond it was found.
                    while self.searches[slot].open.len() > place as usize {
                        if let Some(state) = self.searches[slot].open.pop() {
                            self.store(slot, state, Known::False);
                        }
                    }
                } else if let Some(parent) = search.path.last_mut() {
                    parent.2 = parent.2.min(low);
                }
                continue;
            }
            let next = graph.successor(state, at);
            if let Some(top) = self.searches[slot].path.last_mut() {
                top.1 += 1;
            }
            let found = match self.known(formula, next) {
                Known::True => true,
                Known::False => false,
                Known::Open => {
                    let search = &mut self.searches[slot];
                    let place = search.place[next as usize];
                    if let Some(top) = search.path.last_mut() {
                        top.2 = top.2.min(place);
                    }
                    false
                }
                Known::Nothing => match self.settled(graph, formula, parts, next)? {
                    Some(value) => value,
                    None => {
                        self.enter(graph, slot, next)?;
                        false
                    }
                },
            };
            if found {
                // All that is open leads to the path, and the path to what was found.
                while let Some(state) = self.searches[slot].open.pop() {
                    self.store(slot, state, Known::True);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Decides `A (before U reach)` in a state: looks for a run that ends or goes round without
    /// `reach`, or leaves `before` too early.
    fn all_until(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        parts: (Formula, Formula),
        root: StateNumber,
    ) -> Result<bool, Stop> {
        let slot = self.slot(formula);
        if let Some(value) = self.settled(graph, formula, parts, root)? {
            return Ok(value);
        }
        self.enter(graph, slot, root)?;
        while let Some(&(state, at, _)) = self.searches[slot].path.last() {
            let degree = graph.degree(state)?;
            if at == degree && degree > 0 {
                self.searches[slot].path.pop();
                self.searches[slot].open.pop();
                self.store(slot, state, Known::True);
                continue;
            }
            let fails = degree == 0 || {
                let next = graph.successor(state, at);
                if let Some(top) = self.searches[slot].path.last_mut() {
                    top.1 += 1;
                }
                match self.known(formula, next) {
                    Known::True => false,
                    Known::False | Known::Open => true,
                    Known::Nothing => match self.settled(graph, formula, parts, next)? {
                        Some(value) => !value,
                        None => {
                            self.enter(graph, slot, next)?;
                            false
                        }
                    },
                }
            };
            if fails {
                while let Some(state) = self.searches[slot].open.pop() {
                    self.store(slot, state, Known::False);
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The value of an until in a state, where the state alone decides.
    fn settled(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        (before, reach): (Formula, Formula),
        state: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        // Where the first is the cheaper one, it may spare the second; but it must not be asked
        // where the second is all there is to ask.
        let value = if self.holds_in(graph, reach, state)? {
            true
        } else if !self.holds_in(graph, before, state)? {
            false
        } else {
            return Ok(None);
        };
        self.set(graph, formula, state, value.into())?;
        Ok(Some(value))
    }

    /// Begins with a state that is not settled.
    fn enter(
        &mut self,
        graph: &mut Graph<'_>,
        slot: usize,
        state: StateNumber,
    ) -> Result<(), Stop> {
        self.make_room(graph)?;
        self.store(slot, state, Known::Open);
        let search = &mut self.searches[slot];
        if search.place.len() <= state as usize {
            let before = search.place.capacity();
            search.place.resize(graph.len(), 0);
            let more = (search.place.capacity() - before) * size_of::<u32>();
            self.accounted += more;
            graph.account(more)?;
        }
        let search = &mut self.searches[slot];
        let place = search.open.len() as u32;
        search.place[state as usize] = place;
        search.open.push(state);
        search.path.push((state, 0, place));
        Ok(())
    }

    fn slot(&self, formula: Formula) -> usize {
        usize::from(self.slots[formula.0 as usize].unwrap_or(0))
    }

    fn known(&self, formula: Formula, state: StateNumber) -> Known {
        let slot = self.slot(formula);
        let at = state as usize * self.stride + slot / 4;
        let byte = self.values.get(at).copied().unwrap_or(0);
        match byte >> (2 * (slot % 4)) & 3 {
            0 => Known::Nothing,
            1 => Known::False,
            2 => Known::True,
            _ => Known::Open,
        }
    }

    fn set(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
        value: Known,
    ) -> Result<(), Stop> {
        self.make_room(graph)?;
        self.store(self.slot(formula), state, value);
        Ok(())
    }

    /// A row for each state.
    fn make_room(&mut self, graph: &mut Graph<'_>) -> Result<(), Stop> {
        let wanted = graph.len() * self.stride;
        if self.values.len() < wanted {
            let before = self.values.capacity();
            self.values.resize(wanted, 0);
            let more = self.values.capacity() - before;
            self.accounted += more;
            graph.account(more)?;
        }
        Ok(())
    }

    fn store(&mut self, slot: usize, state: StateNumber, value: Known) {
        let shift = 2 * (slot % 4);
        let byte = &mut self.values[state as usize * self.stride + slot / 4];
        *byte = *byte & !(3 << shift) | (value as u8) << shift;
    }

    /// Gives back what was taken of the graph's memory; nothing is known afterwards.
    pub fn forget(&mut self, graph: &Graph<'_>) {
        graph.release(std::mem::take(&mut self.accounted));
        self.values = Vec::new();
        self.searches
            .iter_mut()
            .for_each(|s| *s = Search::default());
    }
}

impl From<bool> for Known {
    fn from(value: bool) -> Self {
        if value { Known::True } else { Known::False }
    }
}
