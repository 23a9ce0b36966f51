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
//!
//! # Not looking everywhere
//!
//! Depth-first, one search can get lost where another way would have been short: deep inside the
//! wrong part of a disjunction, or in a nested part that does not matter. With an [`Effort`] each
//! search gives up after so many states, and what it was about counts as unknown, in the
//! three-valued sense of Bruns and Godefroid, "Model checking partial state spaces with
//! 3-valued temporal logics" (1999): a disjunction with one true part is true whatever the other
//! one is. A pair that was given up is not tried again with the same effort, so that an attempt
//! takes time linear in what it looks at. What an attempt decides is certain, and later ones know it.

use stubborn_system::LabelId;

use crate::formula::{Formula, Formulas, Node};
use crate::graph::{Graph, StateNumber, Stop};

/// What is known of a formula in a state, in four bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing = 0,
    False = 1,
    True = 2,
    /// A search for it has met the state and not left it.
    Open = 3,
    /// It was given up in this attempt.
    GivenUp = 4,
}

/// How hard an attempt tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Most states that an outermost search meets.
    pub outer: usize,
    /// Most states that a search within another one meets.
    pub nested: usize,
    /// Most states that all searches of the attempt meet.
    pub together: usize,
    /// In which order successors come; 0 for that of the model.
    pub seed: u64,
    /// Outermost searches for something in reach go breadth-first.
    pub breadth_first: bool,
}

impl Effort {
    /// As far as it takes.
    pub const UNLIMITED: Self = Self {
        outer: usize::MAX,
        nested: usize::MAX,
        together: usize::MAX,
        seed: 0,
        breadth_first: false,
    };

    /// The effort of the attempt of this number: each tries four times as hard as the one before, every
    /// other one breadth-first.
    pub fn of_attempt(number: u32) -> Self {
        let nested = 64usize.saturating_mul(4usize.saturating_pow(number));
        Self {
            outer: nested.saturating_mul(16),
            nested,
            together: nested.saturating_mul(64),
            seed: u64::from(number),
            breadth_first: number.is_multiple_of(2),
        }
    }

    /// Whether something can be given up.
    fn is_limited(&self) -> bool {
        self.together < usize::MAX
    }
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
    effort: Effort,
    /// States that searches may still meet in this attempt.
    left: usize,
    /// How many searches are within each other.
    nesting: usize,
    /// Slots and states that were given up in this attempt.
    given_up: Vec<(u16, StateNumber)>,
}

/// The stacks of a search for one formula; kept, because searches are many.
#[derive(Default)]
struct Search {
    path: Vec<Frame>,
    /// Open states in the order they were met.
    open: Vec<StateNumber>,
    /// For open states, their place in `open`; breadth-first, the place of the state before.
    place: Vec<u32>,
}

/// A state of the path of a search.
#[derive(Clone, Copy)]
struct Frame {
    state: StateNumber,
    /// Its next successor.
    next: u32,
    /// The lowest open state it leads to.
    low: u32,
    /// Whether it leads to, or is, a state of which something is not known.
    unsure: bool,
}

/// What a state alone says of an until.
enum Look {
    Value(Option<bool>),
    /// It depends on the successors; and on something that is not known, if it is unsure.
    Onward {
        unsure: bool,
    },
}

/// Of all paths or of some.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Exists,
    All,
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
            stride: usize::from(count).div_ceil(2).max(1),
            values: Vec::new(),
            searches: (0..count).map(|_| Search::default()).collect(),
            accounted: 0,
            effort: Effort::UNLIMITED,
            left: usize::MAX,
            nesting: 0,
            given_up: Vec::new(),
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
        // Without limits nothing is given up.
        let value = self.attempt(graph, Effort::UNLIMITED)?;
        value.ok_or(Stop::Interrupted)
    }

    /// Whether the formula holds in all initial states, as far as the effort tells.
    pub fn attempt(&mut self, graph: &mut Graph<'_>, effort: Effort) -> Result<Option<bool>, Stop> {
        self.begin(effort);
        let mut holds = Some(true);
        for state in graph.initial()? {
            holds = match self.value(graph, self.formula, state)? {
                Some(true) => holds,
                Some(false) => {
                    holds = Some(false);
                    break;
                }
                None => None,
            };
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
        self.begin(Effort::UNLIMITED);
        let value = self.value(graph, formula, state)?;
        value.ok_or(Stop::Interrupted)
    }

    /// Tries again what was given up.
    fn begin(&mut self, effort: Effort) {
        self.effort = effort;
        self.left = effort.together;
        let mut given_up = std::mem::take(&mut self.given_up);
        for (slot, state) in given_up.drain(..) {
            self.store(usize::from(slot), state, Known::Nothing);
        }
        self.given_up = given_up;
    }

    /// Whether a part of the formula holds in a state; none if that was given up.
    fn value(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        match self.formulas.node(formula) {
            Node::Constant(value) => return Ok(Some(value)),
            Node::Not(inner) => return Ok(self.value(graph, inner, state)?.map(|value| !value)),
            Node::And(a, b) => return self.joined(graph, (a, b), false, state),
            Node::Or(a, b) => return self.joined(graph, (a, b), true, state),
            _ => {}
        }
        match self.known(formula, state) {
            Known::True => return Ok(Some(true)),
            Known::False => return Ok(Some(false)),
            Known::GivenUp => return Ok(None),
            Known::Nothing | Known::Open => {}
        }
        let value = match self.formulas.node(formula) {
            Node::Atom(number) => Some(graph.label(state, self.labels[number as usize])?),
            Node::ExistsNext(inner) => self.exists_next(graph, inner, state)?,
            Node::ExistsUntil(before, reach) => {
                let breadth_first = self.effort.breadth_first && self.nesting == 0;
                return self.search(graph, formula, |this, graph| match breadth_first {
                    true => this.in_reach(graph, formula, (before, reach), state),
                    false => this.exists_until(graph, formula, (before, reach), state),
                });
            }
            Node::AllUntil(before, reach) => {
                return self.search(graph, formula, |this, graph| {
                    this.all_until(graph, formula, (before, reach), state)
                });
            }
            Node::Constant(_) | Node::Not(_) | Node::And(..) | Node::Or(..) => None,
        };
        self.set(graph, formula, state, value)?;
        Ok(value)
    }

    /// A conjunction or disjunction, which one part with the `decisive` value decides. What nests less
    /// deeply costs less, and may spare the other.
    fn joined(
        &mut self,
        graph: &mut Graph<'_>,
        (a, b): (Formula, Formula),
        decisive: bool,
        state: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        let swap = self.formulas.depth(a) > self.formulas.depth(b);
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let first = self.value(graph, a, state)?;
        if first == Some(decisive) {
            return Ok(first);
        }
        let second = self.value(graph, b, state)?;
        let known = second == Some(decisive) || first.is_some();
        Ok(second.filter(|_| known))
    }

    fn exists_next(
        &mut self,
        graph: &mut Graph<'_>,
        inner: Formula,
        state: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        let Some(degree) = self.degree(graph, state)? else {
            return Ok(None);
        };
        let mut value = Some(false);
        for number in 0..degree {
            match self.value(graph, inner, graph.successor(state, number))? {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => value = None,
            }
        }
        Ok(value)
    }

    /// How many successors a state has. Where one cannot be told, that is an end of the attempt
    /// only if nothing may be given up.
    fn degree(&mut self, graph: &mut Graph<'_>, state: StateNumber) -> Result<Option<u32>, Stop> {
        match graph.degree(state) {
            Err(Stop::Failure(_)) if self.effort.is_limited() => Ok(None),
            other => other.map(Some),
        }
    }

    /// The successor that comes as this number, in the order of the attempt.
    fn successor(&self, graph: &Graph<'_>, state: StateNumber, number: u32, degree: u32) -> u32 {
        if self.effort.seed == 0 || degree < 2 {
            return graph.successor(state, number);
        }
        let mixed = (u64::from(state) ^ self.effort.seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = ((mixed >> 32) % u64::from(degree)) as u32;
        let number = (u64::from(number) + u64::from(first)) % u64::from(degree);
        graph.successor(state, number as u32)
    }

    /// Runs a search. One that is stopped leaves nothing open behind.
    fn search(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        run: impl FnOnce(&mut Self, &mut Graph<'_>) -> Result<Option<bool>, Stop>,
    ) -> Result<Option<bool>, Stop> {
        self.nesting += 1;
        let result = run(self, graph);
        self.nesting -= 1;
        let slot = self.slot(formula);
        self.searches[slot].path.clear();
        // A search that came to its end has none.
        let left = if matches!(result, Ok(None)) {
            Known::GivenUp
        } else {
            Known::Nothing
        };
        self.close(slot, 0, left);
        result
    }

    /// Gives the states that were opened from a place on a value.
    fn close(&mut self, slot: usize, place: usize, value: Known) {
        let mut open = std::mem::take(&mut self.searches[slot].open);
        for state in open.drain(place..) {
            self.store(slot, state, value);
            if value == Known::GivenUp {
                self.given_up.push((slot as u16, state));
            }
        }
        self.searches[slot].open = open;
    }

    /// Whether a search that has met so many states may meet one more.
    fn may_go_on(&mut self, met: &mut usize) -> bool {
        let most = match self.nesting {
            0 | 1 => self.effort.outer,
            _ => self.effort.nested,
        };
        if *met >= most || self.left == 0 {
            return false;
        }
        *met += 1;
        if self.effort.is_limited() {
            self.left -= 1;
        }
        true
    }

    /// Decides `E (before U reach)` in a state, and in all states that the search meets.
    fn exists_until(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        parts: (Formula, Formula),
        root: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        let slot = self.slot(formula);
        let mut met = 0;
        match self.look(graph, formula, Until::Exists, parts, root)? {
            Look::Value(value) => return Ok(value),
            Look::Onward { unsure } => self.enter(graph, slot, root, unsure)?,
        }
        let mut sure = true;
        while let Some(&frame) = self.searches[slot].path.last() {
            let degree = self.degree(graph, frame.state)?;
            if degree.is_none_or(|degree| frame.next == degree) {
                let unsure = frame.unsure || degree.is_none();
                let search = &mut self.searches[slot];
                search.path.pop();
                let place = search.place[frame.state as usize];
                if let Some(parent) = search.path.last_mut() {
                    parent.unsure |= unsure;
                    if frame.low != place {
                        parent.low = parent.low.min(frame.low);
                    }
                }
                if frame.low == place {
                    // The component is left, and nothing beyond it was found.
                    let value = if unsure { Known::GivenUp } else { Known::False };
                    self.close(slot, place as usize, value);
                }
                sure = !unsure;
                continue;
            }
            let next = self.successor(graph, frame.state, frame.next, degree.unwrap_or(0));
            if let Some(top) = self.searches[slot].path.last_mut() {
                top.next += 1;
            }
            let found = match self.known(formula, next) {
                Known::True => Some(true),
                Known::False => Some(false),
                Known::GivenUp => None,
                Known::Open => {
                    let search = &mut self.searches[slot];
                    let place = search.place[next as usize];
                    if let Some(top) = search.path.last_mut() {
                        top.low = top.low.min(place);
                    }
                    Some(false)
                }
                Known::Nothing => {
                    if !self.may_go_on(&mut met) {
                        return Ok(None);
                    }
                    match self.look(graph, formula, Until::Exists, parts, next)? {
                        Look::Value(value) => value,
                        Look::Onward { unsure } => {
                            self.enter(graph, slot, next, unsure)?;
                            Some(false)
                        }
                    }
                }
            };
            match found {
                Some(true) => {
                    // All that is open leads to the path, and the path to what was found.
                    self.close(slot, 0, Known::True);
                    return Ok(Some(true));
                }
                Some(false) => {}
                None => {
                    if let Some(top) = self.searches[slot].path.last_mut() {
                        top.unsure = true;
                    }
                }
            }
        }
        Ok(sure.then_some(false))
    }

    /// As [`exists_until`](Self::exists_until), breadth-first: finds what is near.
    fn in_reach(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        parts: (Formula, Formula),
        root: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        let slot = self.slot(formula);
        let (mut met, mut sure) = (0, true);
        match self.look(graph, formula, Until::Exists, parts, root)? {
            Look::Value(value) => return Ok(value),
            Look::Onward { unsure } => {
                sure &= !unsure;
                self.open(graph, slot, root, 0)?;
            }
        }
        let mut at = 0;
        while let Some(&state) = self.searches[slot].open.get(at) {
            let degree = self.degree(graph, state)?;
            sure &= degree.is_some();
            for number in 0..degree.unwrap_or(0) {
                let next = graph.successor(state, number);
                let found = match self.known(formula, next) {
                    Known::True => Some(true),
                    Known::False | Known::Open => Some(false),
                    Known::GivenUp => None,
                    Known::Nothing => {
                        if !self.may_go_on(&mut met) {
                            return Ok(None);
                        }
                        match self.look(graph, formula, Until::Exists, parts, next)? {
                            Look::Value(value) => value,
                            Look::Onward { unsure } => {
                                sure &= !unsure;
                                self.open(graph, slot, next, at as u32)?;
                                Some(false)
                            }
                        }
                    }
                };
                match found {
                    Some(true) => {
                        self.close_way(slot, at);
                        return Ok(Some(true));
                    }
                    Some(false) => {}
                    None => sure = false,
                }
            }
            at += 1;
        }
        if sure {
            self.close(slot, 0, Known::False);
        }
        Ok(sure.then_some(false))
    }

    /// What leads to an open state leads to what was found there; of the rest nothing is known.
    fn close_way(&mut self, slot: usize, found: usize) {
        let mut way = Vec::new();
        let mut at = found;
        loop {
            let search = &self.searches[slot];
            let state = search.open[at];
            way.push(state);
            if at == 0 {
                break;
            }
            at = search.place[state as usize] as usize;
        }
        self.close(slot, 0, Known::Nothing);
        for state in way {
            self.store(slot, state, Known::True);
        }
    }

    /// Decides `A (before U reach)` in a state: looks for a run that ends or goes round without
    /// `reach`, or leaves `before` too early.
    fn all_until(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        parts: (Formula, Formula),
        root: StateNumber,
    ) -> Result<Option<bool>, Stop> {
        let slot = self.slot(formula);
        let mut met = 0;
        match self.look(graph, formula, Until::All, parts, root)? {
            Look::Value(value) => return Ok(value),
            Look::Onward { unsure } => self.enter(graph, slot, root, unsure)?,
        }
        let mut sure = true;
        while let Some(&frame) = self.searches[slot].path.last() {
            let degree = self.degree(graph, frame.state)?;
            if degree.is_none_or(|degree| degree > 0 && frame.next == degree) {
                sure = !frame.unsure && degree.is_some();
                let search = &mut self.searches[slot];
                search.path.pop();
                if let Some(parent) = search.path.last_mut() {
                    parent.unsure |= !sure;
                }
                let place = search.open.len() - 1;
                let value = if sure { Known::True } else { Known::GivenUp };
                self.close(slot, place, value);
                continue;
            }
            let degree = degree.unwrap_or(0);
            let value = if degree == 0 {
                Some(false)
            } else {
                let next = self.successor(graph, frame.state, frame.next, degree);
                if let Some(top) = self.searches[slot].path.last_mut() {
                    top.next += 1;
                }
                match self.known(formula, next) {
                    Known::True => Some(true),
                    Known::False | Known::Open => Some(false),
                    Known::GivenUp => None,
                    Known::Nothing => {
                        if !self.may_go_on(&mut met) {
                            return Ok(None);
                        }
                        match self.look(graph, formula, Until::All, parts, next)? {
                            Look::Value(value) => value,
                            Look::Onward { unsure } => {
                                self.enter(graph, slot, next, unsure)?;
                                Some(true)
                            }
                        }
                    }
                }
            };
            match value {
                Some(false) => {
                    self.close(slot, 0, Known::False);
                    return Ok(Some(false));
                }
                Some(true) => {}
                None => {
                    if let Some(top) = self.searches[slot].path.last_mut() {
                        top.unsure = true;
                    }
                }
            }
        }
        Ok(sure.then_some(true))
    }

    /// The value of an until in a state, where the state alone decides.
    fn look(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        until: Until,
        (before, reach): (Formula, Formula),
        state: StateNumber,
    ) -> Result<Look, Stop> {
        let reached = self.value(graph, reach, state)?;
        if reached == Some(true) {
            self.set(graph, formula, state, reached)?;
            return Ok(Look::Value(reached));
        }
        let before = self.value(graph, before, state)?;
        // A run that is looked for leads through states that surely satisfy the first; a run against
        // it through states that surely do not satisfy the second.
        let value = match (until, before, reached) {
            (_, Some(false), value) => value,
            (Until::Exists, Some(true), _) => {
                let unsure = reached.is_none();
                return Ok(Look::Onward { unsure });
            }
            (Until::All, _, Some(_)) => {
                let unsure = before.is_none();
                return Ok(Look::Onward { unsure });
            }
            (Until::Exists, None, _) | (Until::All, _, None) => None,
        };
        self.set(graph, formula, state, value)?;
        Ok(Look::Value(value))
    }

    /// Begins with a state that is not settled.
    fn enter(
        &mut self,
        graph: &mut Graph<'_>,
        slot: usize,
        state: StateNumber,
        unsure: bool,
    ) -> Result<(), Stop> {
        let place = self.searches[slot].open.len() as u32;
        self.open(graph, slot, state, place)?;
        self.searches[slot].path.push(Frame {
            state,
            next: 0,
            low: place,
            unsure,
        });
        Ok(())
    }

    /// Opens a state with a place to remember.
    fn open(
        &mut self,
        graph: &mut Graph<'_>,
        slot: usize,
        state: StateNumber,
        place: u32,
    ) -> Result<(), Stop> {
        self.make_room(graph)?;
        let search = &mut self.searches[slot];
        if search.place.len() <= state as usize {
            let before = search.place.capacity();
            search.place.resize(graph.len(), 0);
            let more = (search.place.capacity() - before) * size_of::<u32>();
            self.accounted += more;
            graph.account(more)?;
        }
        self.store(slot, state, Known::Open);
        let search = &mut self.searches[slot];
        search.place[state as usize] = place;
        search.open.push(state);
        Ok(())
    }

    fn slot(&self, formula: Formula) -> usize {
        usize::from(self.slots[formula.0 as usize].unwrap_or(0))
    }

    fn known(&self, formula: Formula, state: StateNumber) -> Known {
        let slot = self.slot(formula);
        let at = state as usize * self.stride + slot / 2;
        let byte = self.values.get(at).copied().unwrap_or(0);
        match byte >> (4 * (slot % 2)) & 15 {
            0 => Known::Nothing,
            1 => Known::False,
            2 => Known::True,
            3 => Known::Open,
            _ => Known::GivenUp,
        }
    }

    fn set(
        &mut self,
        graph: &mut Graph<'_>,
        formula: Formula,
        state: StateNumber,
        value: Option<bool>,
    ) -> Result<(), Stop> {
        self.make_room(graph)?;
        let slot = self.slot(formula);
        let known = match value {
            Some(true) => Known::True,
            Some(false) => Known::False,
            None => Known::GivenUp,
        };
        self.store(slot, state, known);
        if known == Known::GivenUp {
            self.given_up.push((slot as u16, state));
        }
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
        let shift = 4 * (slot % 2);
        let byte = &mut self.values[state as usize * self.stride + slot / 2];
        *byte = *byte & !(15 << shift) | (value as u8) << shift;
    }

    /// Gives back what was taken of the graph's memory; nothing is known afterwards.
    pub fn forget(&mut self, graph: &Graph<'_>) {
        graph.release(std::mem::take(&mut self.accounted));
        self.values = Vec::new();
        self.given_up = Vec::new();
        self.searches
            .iter_mut()
            .for_each(|s| *s = Search::default());
    }
}
