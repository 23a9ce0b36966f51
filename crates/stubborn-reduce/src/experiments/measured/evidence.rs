//! What states show about relations: bits that are set by one state and never taken back, so
//! that the evidence of several states is the union of theirs.

use stubborn_system::bits::ones;
use stubborn_system::{LabelId, Matrix, May, Must, Structure, TransitionId};

use super::Enablers;
use super::space::{StateId, StateSpace};

type Conflicts = May<Matrix<TransitionId, TransitionId>>;
type Changes = May<Matrix<LabelId, TransitionId>>;
type Exclusions = Must<Matrix<LabelId, LabelId>>;

/// Which relations are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) dependency: bool,
    pub(super) precedence: bool,
}

impl Parts {
    pub(super) fn any(self) -> bool {
        self.dependency || self.precedence
    }
}

/// How many transitions and labels there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    transitions: usize,
    labels: usize,
}

impl Shape {
    pub(super) fn new(structure: &Structure) -> Self {
        Self {
            transitions: structure.transitions.len(),
            labels: structure.labels.len(),
        }
    }

    pub(super) fn nothing_must_disable(self) -> Must<Matrix<TransitionId, TransitionId>> {
        Must(Matrix::empty(self.transitions, self.transitions))
    }
}

/// Rows of bits of one length, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Table {
    stride: usize,
    words: Vec<u64>,
}

impl Table {
    fn new(rows: usize, columns: usize) -> Self {
        let stride = columns.div_ceil(64);
        Self {
            stride,
            words: vec![0; rows * stride],
        }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride..][..self.stride]
    }

    fn has(&self, row: usize, column: usize) -> bool {
        self.row(row)[column / 64] >> (column % 64) & 1 == 1
    }

    fn put(&mut self, row: usize, column: usize) {
        self.words[row * self.stride + column / 64] |= 1 << (column % 64);
    }

    fn add(&mut self, other: &Self) {
        for (own, new) in self.words.iter_mut().zip(&other.words) {
            *own |= new;
        }
    }

    /// The columns of each row.
    fn lists(&self, rows: usize) -> Vec<Vec<u32>> {
        let list = |row: usize| {
            let words = self.row(row).iter().enumerate();
            words
                .flat_map(|(at, word)| ones(*word).map(move |bit| (at * 64 + bit) as u32))
                .collect()
        };
        (0..rows).map(list).collect()
    }

    /// The rows in which each column is.
    fn transposed(&self, rows: usize, columns: usize) -> Vec<Vec<u32>> {
        let mut all = vec![Vec::new(); columns];
        for (row, list) in self.lists(rows).into_iter().enumerate() {
            for column in list {
                all[column as usize].push(row as u32);
            }
        }
        all
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    shape: Shape,
    tables: Tables,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Tables {
    /// `(t, u)`: do not accord. Symmetric.
    conflicts: Table,
    /// `(t, u)`: neither disables the other, but the order matters.
    order: Table,
    /// `(t, u)`: an outcome of each, and these do not meet again. Symmetric.
    apart: Table,
    /// `(t, u)`: `t` cannot move left over `u`.
    left: Table,
    /// `(t, u)`: a step of `t` enables `u`.
    enables: Table,
    /// `(t, g)`: a step of `t` turns `g` on, or off.
    turns_on: Table,
    turns_off: Table,
    /// `(g, h)`: both hold in some state.
    together: Table,
}

impl Evidence {
    pub(super) fn new(shape: Shape) -> Self {
        let (n, k) = (shape.transitions, shape.labels);
        Self {
            shape,
            tables: Tables {
                conflicts: Table::new(n, n),
                order: Table::new(n, n),
                apart: Table::new(n, n),
                left: Table::new(n, n),
                enables: Table::new(n, n),
                turns_on: Table::new(n, k),
                turns_off: Table::new(n, k),
                together: Table::new(k, k),
            },
        }
    }

    /// A number that is equal for equal evidence.
    pub(super) fn fingerprint(&self) -> u64 {
        let t = &self.tables;
        let all = [
            &t.conflicts,
            &t.order,
            &t.apart,
            &t.left,
            &t.enables,
            &t.turns_on,
            &t.turns_off,
            &t.together,
        ];
        let hashes = all.map(|table| crate::view::hash_words(&table.words));
        crate::view::hash_words(&hashes)
    }

    pub(super) fn equals(&self, other: &Self) -> bool {
        self.tables == other.tables
    }

    /// Memory in bytes.
    pub(super) fn size(&self) -> usize {
        let t = &self.tables;
        let square = t.conflicts.words.len() * 5 + t.turns_on.words.len() * 2;
        (square + t.together.words.len()) * 8
    }

    pub(super) fn add(&mut self, other: &Self) {
        let (own, new) = (&mut self.tables, &other.tables);
        own.conflicts.add(&new.conflicts);
        own.order.add(&new.order);
        own.apart.add(&new.apart);
        own.left.add(&new.left);
        own.enables.add(&new.enables);
        own.turns_on.add(&new.turns_on);
        own.turns_off.add(&new.turns_off);
        own.together.add(&new.together);
    }

    /// Adds what one state and its steps show.
    pub(super) fn observe(&mut self, space: &StateSpace, state: StateId, parts: Parts) {
        if parts.precedence {
            self.observe_labels(space, state);
            self.observe_changes(space, state);
        }
        if parts.dependency {
            self.observe_orders(space, state);
        }
    }

    fn observe_labels(&mut self, space: &StateSpace, state: StateId) {
        let labels = space.labels(state);
        let together = &mut self.tables.together;
        for (at, word) in labels.iter().enumerate() {
            for bit in ones(*word) {
                let row = (at * 64 + bit) * together.stride;
                for (own, new) in together.words[row..].iter_mut().zip(labels) {
                    *own |= new;
                }
            }
        }
    }

    /// Which labels each step changes, and which transitions it enables.
    fn observe_changes(&mut self, space: &StateSpace, state: StateId) {
        let before = space.labels(state);
        for (t, target) in space.steps(state) {
            let t = *t as usize;
            let tables = &mut self.tables;
            let after = space.labels(*target);
            let (on, off) = (t * tables.turns_on.stride, t * tables.turns_off.stride);
            for (at, (was, is)) in before.iter().zip(after).enumerate() {
                tables.turns_on.words[on + at] |= is & !was;
                tables.turns_off.words[off + at] |= was & !is;
            }
            for (u, _) in space.steps(*target) {
                if !tables.enables.has(t, *u as usize) && space.ends(state, *u).is_empty() {
                    tables.enables.put(t, *u as usize);
                }
            }
        }
    }

    /// Which pairs do not accord, and which cannot be exchanged.
    fn observe_orders(&mut self, space: &StateSpace, state: StateId) {
        let steps = space.steps(state);
        for (at, (t, target)) in steps.iter().enumerate() {
            let is_first = at == 0 || steps[at - 1].0 != *t;
            if is_first {
                for (at, (u, _)) in steps.iter().enumerate().skip(at + 1) {
                    if *u != steps[at - 1].0 && *u != *t {
                        self.observe_pair(space, state, *t, *u);
                    }
                }
            }
            for (u, _) in space.steps(*target) {
                // `t u` can be fired: can `u` move to the left?
                let known = self.tables.left.has(*u as usize, *t as usize);
                if u != t && !known && !moves_left(space, state, *u, *t) {
                    self.tables.left.put(*u as usize, *t as usize);
                }
            }
        }
    }

    fn observe_pair(&mut self, space: &StateSpace, state: StateId, t: u32, u: u32) {
        let (row, column) = (t as usize, u as usize);
        if !self.tables.apart.has(row, column) && !meet(space, state, t, u) {
            self.tables.apart.put(row, column);
            self.tables.apart.put(column, row);
        }
        let (conflicts, order) = (&mut self.tables.conflicts, &mut self.tables.order);
        if conflicts.has(row, column) && order.has(row, column) {
            return;
        }
        let (one, other) = (both(space, state, t, u), both(space, state, u, t));
        let disables = one.is_none() || other.is_none();
        if disables || one != other {
            conflicts.put(row, column);
            conflicts.put(column, row);
        }
        if !disables && one != other {
            order.put(row, column);
            order.put(column, row);
        }
    }

    /// Two transitions whose order matters although neither disables the other.
    pub(super) fn order_matters(&self) -> Option<(TransitionId, TransitionId)> {
        (0..self.shape.transitions).find_map(|t| {
            let row = self
                .tables
                .order
                .row(t)
                .iter()
                .position(|word| *word != 0)?;
            let bit = self.tables.order.row(t)[row].trailing_zeros() as usize;
            Some((TransitionId::new(t), TransitionId::new(row * 64 + bit)))
        })
    }

    /// Do-not-accord, do-not-meet and do-not-left-accord.
    pub(super) fn dependency(&self) -> (Conflicts, Option<Conflicts>, Conflicts) {
        let n = self.shape.transitions;
        let matrix = |table: &Table| May(Matrix::from_rows(n, table.lists(n)));
        let t = &self.tables;
        (
            matrix(&t.conflicts),
            Some(matrix(&t.apart)),
            matrix(&t.left),
        )
    }

    /// May-enable, may-disable and never-together.
    pub(super) fn precedence(&self) -> (Changes, Changes, Exclusions) {
        let (n, k) = (self.shape.transitions, self.shape.labels);
        let changes = |table: &Table| May(Matrix::from_rows(n, table.transposed(n, k)));
        let never = Matrix::from_fn(k, k, |g: LabelId, h: LabelId| {
            !self.tables.together.has(g.index(), h.index())
        });
        (
            changes(&self.tables.turns_on),
            changes(&self.tables.turns_off),
            Must(never),
        )
    }

    /// Row `t`: who enables `t`.
    pub(super) fn enablers(&self) -> Enablers {
        let n = self.shape.transitions;
        Matrix::from_rows(n, self.tables.enables.transposed(n, n))
    }
}

/// Where `first second` can end, sorted; `None` if `first` can disable `second`.
fn both(space: &StateSpace, state: StateId, first: u32, second: u32) -> Option<Vec<StateId>> {
    let mut all = Vec::new();
    for (_, between) in space.ends(state, first) {
        let ends = space.ends(*between, second);
        if ends.is_empty() {
            return None;
        }
        all.extend(ends.iter().map(|(_, end)| *end));
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// Whether any outcome of the one and any of the other meet again.
fn meet(space: &StateSpace, state: StateId, t: u32, u: u32) -> bool {
    let outcomes = |of: u32| space.ends(state, of).iter().map(|(_, after)| *after);
    outcomes(t).all(|after_t| {
        outcomes(u).all(|after_u| {
            let mut ends = space.ends(after_t, u).iter();
            let others = space.ends(after_u, t);
            ends.any(|(_, end)| others.iter().any(|(_, other)| other == end))
        })
    })
}

/// Whether all ends of `over moved` are ends of `moved over`.
fn moves_left(space: &StateSpace, state: StateId, moved: u32, over: u32) -> bool {
    let ends = |first: u32, second: u32| {
        space
            .ends(state, first)
            .iter()
            .flat_map(move |(_, between)| space.ends(*between, second))
            .map(|(_, end)| *end)
    };
    ends(over, moved).all(|end| ends(moved, over).any(|other| other == end))
}
