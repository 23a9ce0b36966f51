//! Place invariants: weighted sums of tokens that no transition increases.
//!
//! A vector `y ≥ 0` over the places with `y · C = 0` (`C` has a row per place and a column per
//! transition, `W(t,p) - W(p,t)`) is a P-semiflow: `y · m` is the same in every reachable
//! marking. With `y · C ≤ 0` the sum never grows, which is all that bounds and exclusions need.
//! Colom and Silva, "Convex geometry and semiflows in P/T nets" (1991), describe the method of
//! Farkas that is used here: start with the unit vectors and remove one transition after the
//! other by adding up rows of opposite sign.
//!
//! All minimal semiflows can be exponentially many. We want *some*, quickly: pairs per column
//! are capped, and the whole work has a budget counted in row entries, which bounds the memory as
//! well. Where the pairs of a column are many, each row is used in one of them, so that the rows
//! become fewer and every place keeps its chance. What is given up is only completeness; every vector that is returned is an invariant, and [`Invariants::check`]
//! multiplies it out again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rapidhash::RapidHashSet;

use stubborn_system::budget::UNLIMITED;
use stubborn_system::{Budget, Patience};

use crate::ids::PlaceId;
use crate::net::{Net, Tokens};

/// A weighted sum of tokens that never exceeds `total`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// The places with their weights, ordered by place; no weight is 0.
    pub weights: Vec<(PlaceId, u64)>,
    /// The sum in the initial marking.
    pub total: u128,
    /// True if the sum is constant and not only bounded.
    pub constant: bool,
}

/// Pairs of rows between two looks at the budget.
const LOOK_EVERY: u32 = 64;

/// Most entries of the rows of one method: some dozen megabytes. Where the rows explode, more of them
/// would not help.
const MOST_ENTRIES: usize = 1_200_000;

/// How much work to spend.
#[derive(Clone, Copy, Debug)]
pub struct InvariantBudget {
    /// Row entries that may be touched.
    pub operations: u64,
}

impl Default for InvariantBudget {
    fn default() -> Self {
        Self {
            operations: 40_000_000,
        }
    }
}

/// Some place invariants of a net.
#[derive(Clone, Debug, Default)]
pub struct Invariants {
    list: Vec<Invariant>,
    /// For each place, the invariants it occurs in.
    of_place: Vec<Vec<u32>>,
}

impl Invariants {
    /// Looks for invariants: minimal constant sums first; for places that are in none of those,
    /// any constant sums, and then sums that may shrink.
    pub fn find(net: &Net, budget: InvariantBudget) -> Self {
        Self::find_within(net, budget, &UNLIMITED)
    }

    /// As [`find`](Self::find), as long as there is something left of a budget.
    pub fn find_within(net: &Net, budget: InvariantBudget, spending: &Budget) -> Self {
        let mut list: Vec<Invariant> = Vec::new();
        let mut covered = vec![false; net.place_count()];
        let mut budget = budget.operations;
        for (method, share) in [
            (Method::Minimal, 2),
            (Method::Greedy, 4),
            (Method::Thin, 2),
            (Method::Shrinking, 1),
        ] {
            if covered.iter().all(|covered| *covered) {
                break;
            }
            // What one method leaves is for the next.
            let mut mine = budget / share;
            budget -= mine;
            let patience = Patience::new(spending, LOOK_EVERY);
            let found = Farkas::new(net, method, &mut mine, patience).run();
            budget += mine;
            let useful = |invariant: &Invariant| {
                method == Method::Minimal
                    || invariant
                        .weights
                        .iter()
                        .any(|(place, _)| !covered[place.index()])
            };
            let mut new: Vec<Invariant> = found.into_iter().filter(useful).collect();
            for (place, _) in new.iter().flat_map(|invariant| &invariant.weights) {
                covered[place.index()] = true;
            }
            list.append(&mut new);
        }
        // The shortest say the most about single places.
        list.sort_by(|a, b| (a.weights.len(), &a.weights).cmp(&(b.weights.len(), &b.weights)));
        Self::listed(most_telling(list, net.place_count()), net.place_count())
    }

    /// These, of a net with so many places.
    fn listed(list: Vec<Invariant>, places: usize) -> Self {
        let mut of_place = vec![Vec::new(); places];
        for (number, invariant) in list.iter().enumerate() {
            for (place, _) in &invariant.weights {
                of_place[place.index()].push(number as u32);
            }
        }
        Self { list, of_place }
    }

    /// What they say about a net with fewer places, each marking of which is one of this net
    /// without the others. Where a place is gone, a sum is bounded and no longer constant; it may
    /// even grow in a step, so [`check`](Self::check) is for the net it was found in.
    pub fn restricted(&self, place: impl Fn(PlaceId) -> Option<PlaceId>, places: usize) -> Self {
        let restrict = |invariant: &Invariant| {
            let kept = invariant.weights.iter();
            let mut weights: Vec<(PlaceId, u64)> =
                kept.filter_map(|(p, w)| Some((place(*p)?, *w))).collect();
            weights.sort_unstable();
            Invariant {
                constant: invariant.constant && weights.len() == invariant.weights.len(),
                total: invariant.total,
                weights,
            }
        };
        let mut list: Vec<Invariant> = self.list.iter().map(restrict).collect();
        list.retain(|invariant| !invariant.weights.is_empty());
        list.sort_by(|a, b| {
            let key = |i: &Invariant| (i.weights.len(), i.total, !i.constant);
            (key(a), &a.weights).cmp(&(key(b), &b.weights))
        });
        list.dedup_by(|a, b| a.weights == b.weights);
        Self::listed(list, places)
    }

    /// All of them, short ones first.
    pub fn all(&self) -> &[Invariant] {
        &self.list
    }

    /// Those that a place occurs in, short ones first.
    pub fn of_place(&self, place: PlaceId) -> impl Iterator<Item = &Invariant> + '_ {
        let numbers = self
            .of_place
            .get(place.index())
            .map_or(&[][..], |numbers| numbers);
        numbers.iter().map(|number| &self.list[*number as usize])
    }

    /// The numbers of the invariants of a place, increasing.
    pub(crate) fn numbers_of_place(&self, place: PlaceId) -> &[u32] {
        self.of_place
            .get(place.index())
            .map_or(&[], |numbers| numbers)
    }

    /// The largest number of tokens that the place can hold, where an invariant says so.
    pub fn bound(&self, place: PlaceId) -> Option<Tokens> {
        self.of_place(place)
            .filter_map(|invariant| {
                let at = invariant
                    .weights
                    .binary_search_by_key(&place, |(p, _)| *p)
                    .ok()?;
                let weight = u128::from(invariant.weights[at].1);
                Some(Tokens::try_from(invariant.total / weight).unwrap_or(Tokens::MAX))
            })
            .min()
    }

    /// True if no transition increases any of the sums: a test of the search itself.
    pub fn check(&self, net: &Net) -> bool {
        let mut change = vec![0i128; net.transition_count()];
        let mut touched = Vec::new();
        self.list.iter().all(|invariant| {
            for (place, weight) in &invariant.weights {
                let weight = i128::from(*weight);
                for (arcs, sign) in [(net.consumers(*place), -1), (net.producers(*place), 1)] {
                    for arc in arcs {
                        change[arc.node.index()] += sign * weight * i128::from(arc.weight);
                        touched.push(arc.node);
                    }
                }
            }
            touched.drain(..).fold(true, |fine, t| {
                let change = std::mem::take(&mut change[t.index()]);
                fine && (change == 0 || (change < 0 && !invariant.constant))
            })
        })
    }
}

/// Keeps, of a list with the short ones first, the tightest for each place and some more.
fn most_telling(list: Vec<Invariant>, places: usize) -> Vec<Invariant> {
    const PER_PLACE: usize = 8;
    let mut tightest: Vec<Option<(u128, usize)>> = vec![None; places];
    for (number, invariant) in list.iter().enumerate() {
        for (place, weight) in &invariant.weights {
            let bound = invariant.total / u128::from(*weight);
            let best = &mut tightest[place.index()];
            if best.is_none_or(|(known, _)| bound < known) {
                *best = Some((bound, number));
            }
        }
    }
    let mut keep = vec![false; list.len()];
    for (_, number) in tightest.into_iter().flatten() {
        keep[number] = true;
    }
    let mut seen = vec![0; places];
    for (number, invariant) in list.iter().enumerate() {
        if invariant
            .weights
            .iter()
            .any(|(place, _)| seen[place.index()] < PER_PLACE)
        {
            keep[number] = true;
        }
        if keep[number] {
            invariant
                .weights
                .iter()
                .for_each(|(place, _)| seen[place.index()] += 1);
        }
    }
    list.into_iter()
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(invariant, _)| invariant)
        .collect()
}

/// A candidate: weights `y` and what is left of `y · C`.
#[derive(Clone)]
struct Row {
    weights: Vec<(u32, u64)>,
    rest: Vec<(u32, i64)>,
}

impl Row {
    fn size(&self) -> usize {
        self.weights.len() + self.rest.len()
    }
}

/// How sums are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Constant sums over minimal sets of places: the most telling, but they can be too many.
    Minimal,
    /// Constant sums, each row in as few pairs as possible: fewer rows with each column.
    Thin,
    /// Constant sums, few pairs for each column, whatever comes out.
    Greedy,
    /// As greedy, and sums may shrink.
    Shrinking,
}

struct Farkas<'n, 'b> {
    net: &'n Net,
    method: Method,
    budget: &'b mut u64,
    patience: Patience<'b>,
    rows: Vec<Option<Row>>,
    /// Entries of all rows together.
    entries: usize,
    /// Rows that had an entry in the column when they were added.
    of_column: Vec<Vec<u32>>,
    /// For each place, the rows whose first place it is.
    by_first: Vec<Vec<u32>>,
    known: RapidHashSet<Vec<(u32, u64)>>,
}

impl<'n, 'b> Farkas<'n, 'b> {
    fn new(net: &'n Net, method: Method, budget: &'b mut u64, patience: Patience<'b>) -> Self {
        let mut rests: Vec<Vec<(u32, i64)>> = vec![Vec::new(); net.place_count()];
        for t in net.transitions() {
            for (place, change) in net.effects(t) {
                rests[place.index()].push((t.0, change));
            }
        }
        let mut farkas = Self {
            net,
            method,
            budget,
            patience,
            rows: Vec::new(),
            entries: 0,
            of_column: vec![Vec::new(); net.transition_count()],
            by_first: vec![Vec::new(); net.place_count()],
            known: RapidHashSet::default(),
        };
        for (place, rest) in rests.into_iter().enumerate() {
            farkas.add(Row {
                weights: vec![(place as u32, 1)],
                rest,
            });
        }
        farkas
    }

    fn add(&mut self, row: Row) {
        let number = self.rows.len() as u32;
        for (column, _) in &row.rest {
            self.of_column[*column as usize].push(number);
        }
        if let Some((first, _)) = row.weights.first() {
            self.by_first[*first as usize].push(number);
        }
        self.entries += row.size();
        self.rows.push(Some(row));
    }

    fn remove(&mut self, number: u32) {
        if let Some(row) = self.rows[number as usize].take() {
            self.entries -= row.size();
        }
    }

    /// The live rows with a positive and with a negative entry in a column.
    fn signs(&mut self, column: usize) -> (Vec<u32>, Vec<u32>) {
        let rows = &self.rows;
        self.of_column[column].retain(|row| rows[*row as usize].is_some());
        let (mut gains, mut losses) = (Vec::new(), Vec::new());
        for number in &self.of_column[column] {
            if let Some(row) = &self.rows[*number as usize]
                && let Ok(at) = row.rest.binary_search_by_key(&(column as u32), |(c, _)| *c)
            {
                if row.rest[at].1 > 0 {
                    gains.push(*number)
                } else {
                    losses.push(*number)
                }
            }
        }
        (gains, losses)
    }

    fn run(mut self) -> Vec<Invariant> {
        let mut order: BinaryHeap<Reverse<(usize, usize)>> = (0..self.of_column.len())
            .map(|column| Reverse((self.of_column[column].len(), column)))
            .collect();
        while let Some(Reverse((cost, column))) = order.pop() {
            if !self.spend(1 + self.of_column[column].len()) {
                break;
            }
            let (gains, losses) = self.signs(column);
            let now = gains.len() * losses.len() + gains.len() + losses.len();
            // The stored cost was an estimate; go on only with the cheapest column.
            if now > cost && order.peek().is_some_and(|Reverse((next, _))| *next < now) {
                order.push(Reverse((now, column)));
                continue;
            }
            if !self.eliminate(column as u32, gains, losses) {
                break;
            }
        }
        self.finish()
    }

    /// How many entries all rows may have; the net itself must fit.
    fn most_entries(&self) -> usize {
        MOST_ENTRIES.max(4 * (self.net.place_count() + self.net.arc_count()))
    }

    fn spend(&mut self, operations: usize) -> bool {
        *self.budget = self.budget.saturating_sub(operations as u64);
        *self.budget > 0 && self.patience.spent().is_none()
    }

    /// Replaces the rows with an entry in the column by sums without one. False if the budget
    /// is used up.
    fn eliminate(&mut self, column: u32, mut gains: Vec<u32>, mut losses: Vec<u32>) -> bool {
        let size =
            |rows: &[Option<Row>], number: u32| rows[number as usize].as_ref().map_or(0, Row::size);
        losses.sort_by_key(|number| (size(&self.rows, *number), *number));
        gains.sort_by_key(|number| (size(&self.rows, *number), *number));
        let mut sums = Vec::new();
        let most = self.most_entries();
        let mut entries = self.entries;
        for (gain, loss) in self.pairs(&gains, &losses) {
            let (Some(a), Some(b)) = (&self.rows[gain as usize], &self.rows[loss as usize]) else {
                continue;
            };
            let work = a.size() + b.size();
            let sum = combine(a, b, column);
            entries += sum.as_ref().map_or(0, Row::size);
            sums.extend(sum);
            if entries > most || !self.spend(work) {
                return false;
            }
        }
        for gain in gains {
            self.remove(gain);
        }
        if self.method != Method::Shrinking {
            for loss in losses {
                self.remove(loss);
            }
        }
        // Small ones first, because they make others superfluous.
        sums.sort_by(|a, b| (a.weights.len(), &a.weights).cmp(&(b.weights.len(), &b.weights)));
        for sum in sums {
            if self.is_superfluous(&sum) {
                continue;
            }
            self.add(sum);
            if !self.spend(0) {
                return false;
            }
        }
        true
    }

    /// Which rows to add up, of those with a gain and a loss in a column, short ones first.
    fn pairs(&self, gains: &[u32], losses: &[u32]) -> Vec<(u32, u32)> {
        let few = gains.len() + losses.len() + 16;
        let each_with = |count: usize| {
            let with = |gain| losses.iter().take(count).map(move |loss| (gain, *loss));
            gains.iter().copied().flat_map(with).collect()
        };
        let most = match self.method {
            Method::Minimal => 8 * few,
            Method::Greedy | Method::Shrinking => few,
            Method::Thin => {
                let longer = if gains.is_empty() || losses.is_empty() {
                    0
                } else {
                    gains.len().max(losses.len())
                };
                let pair = |at| (gains[at % gains.len()], losses[at % losses.len()]);
                return (0..longer).map(pair).collect();
            }
        };
        each_with(most.div_ceil(gains.len().max(1)))
    }

    /// True if a row is known, or (where they are to be minimal) another one lives on some of
    /// its places: minimal semiflows are made of rows with minimal sets of places.
    fn is_superfluous(&mut self, row: &Row) -> bool {
        if self.method != Method::Minimal {
            return !self.known.insert(row.weights.clone());
        }
        let mut work = 0;
        let mut found = false;
        'places: for (place, _) in &row.weights {
            let rows = &self.rows;
            let list = &mut self.by_first[*place as usize];
            work += list.len();
            list.retain(|number| rows[*number as usize].is_some());
            for number in list.iter() {
                let Some(other) = &rows[*number as usize] else {
                    continue;
                };
                work += other.weights.len();
                if is_subset(&other.weights, &row.weights) {
                    found = true;
                    break 'places;
                }
            }
        }
        self.spend(work);
        found
    }

    fn finish(self) -> Vec<Invariant> {
        let may_shrink = self.method == Method::Shrinking;
        let net = self.net;
        let total = |weights: &[(u32, u64)]| {
            weights.iter().try_fold(0u128, |sum, (p, w)| {
                sum.checked_add(u128::from(*w) * u128::from(net.initial(PlaceId(*p))))
            })
        };
        self.rows
            .into_iter()
            .flatten()
            .filter(|row| row.rest.iter().all(|(_, value)| may_shrink && *value < 0))
            .filter_map(|row| {
                let total = total(&row.weights)?;
                let weights = row
                    .weights
                    .into_iter()
                    .map(|(p, w)| (PlaceId(p), w))
                    .collect();
                Some(Invariant {
                    weights,
                    total,
                    constant: row.rest.is_empty(),
                })
            })
            .collect()
    }
}

/// The smallest positive combination of two rows without an entry in `column`; none if numbers
/// become too large.
fn combine(gain: &Row, loss: &Row, column: u32) -> Option<Row> {
    let entry = |row: &Row| {
        let at = row.rest.binary_search_by_key(&column, |(c, _)| *c).ok()?;
        Some(row.rest[at].1.unsigned_abs())
    };
    let (up, down) = (entry(gain)?, entry(loss)?);
    let common = num_integer::gcd(up, down);
    let (for_gain, for_loss) = (down / common, up / common);
    let mut weights = merge(&gain.weights, &loss.weights, |a, b| {
        a.checked_mul(for_gain)?
            .checked_add(b.checked_mul(for_loss)?)
    })?;
    let signed = (i64::try_from(for_gain).ok()?, i64::try_from(for_loss).ok()?);
    let mut rest = merge(&gain.rest, &loss.rest, |a, b| {
        a.checked_mul(signed.0)?
            .checked_add(b.checked_mul(signed.1)?)
    })?;
    let mut divisor = weights.iter().fold(0, |d, (_, w)| num_integer::gcd(d, *w));
    divisor = rest
        .iter()
        .fold(divisor, |d, (_, v)| num_integer::gcd(d, v.unsigned_abs()));
    if divisor > 1 {
        weights.iter_mut().for_each(|(_, w)| *w /= divisor);
        let divisor = i64::try_from(divisor).ok()?;
        rest.iter_mut().for_each(|(_, v)| *v /= divisor);
    }
    Some(Row { weights, rest })
}

/// Combines two sparse vectors entry by entry and leaves out zeros.
fn merge<V: Copy + Default + PartialEq>(
    left: &[(u32, V)],
    right: &[(u32, V)],
    add: impl Fn(V, V) -> Option<V>,
) -> Option<Vec<(u32, V)>> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() || j < right.len() {
        let a = left.get(i).map_or(u32::MAX, |(k, _)| *k);
        let b = right.get(j).map_or(u32::MAX, |(k, _)| *k);
        let key = a.min(b);
        let zero = V::default();
        let value = add(
            if a == key { left[i].1 } else { zero },
            if b == key { right[j].1 } else { zero },
        )?;
        i += usize::from(a == key);
        j += usize::from(b == key);
        if value != zero {
            out.push((key, value));
        }
    }
    Some(out)
}

/// True if every place of `small` is a place of `large`.
fn is_subset(small: &[(u32, u64)], large: &[(u32, u64)]) -> bool {
    if small.len() > large.len() {
        return false;
    }
    let mut rest = large.iter();
    small
        .iter()
        .all(|(place, _)| rest.any(|(other, _)| other == place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    #[test]
    fn a_weighted_cycle_is_bounded_by_its_invariant() {
        let mut builder = NetBuilder::new("n");
        let a = builder.place("a", 6);
        let b = builder.place("b", 0);
        let free = builder.place("free", 0);
        let t = builder.transition("t");
        let u = builder.transition("u");
        builder.input(a, t, 3);
        builder.output(t, b, 2);
        builder.input(b, u, 2);
        builder.output(u, a, 3);
        builder.output(u, free, 1);
        let net = builder.build().unwrap();
        let found = Invariants::find(&net, InvariantBudget::default());
        assert!(found.check(&net));
        assert_eq!(found.bound(a), Some(6));
        assert_eq!(found.bound(b), Some(4));
        assert_eq!(found.bound(free), None);
    }

    #[test]
    fn a_sum_that_shrinks_still_bounds() {
        let mut builder = NetBuilder::new("n");
        let a = builder.place("a", 5);
        let b = builder.place("b", 0);
        let t = builder.transition("t");
        let sink = builder.transition("sink");
        builder.input(a, t, 1);
        builder.output(t, b, 1);
        builder.input(b, sink, 1);
        let net = builder.build().unwrap();
        let found = Invariants::find(&net, InvariantBudget::default());
        assert!(found.check(&net));
        assert_eq!(found.bound(b), Some(5));
        assert!(found.all().iter().all(|i| !i.constant));
    }

    #[test]
    fn no_budget_means_no_invariants_but_no_wrong_ones() {
        let mut builder = NetBuilder::new("n");
        let a = builder.place("a", 1);
        let t = builder.transition("t");
        builder.input(a, t, 1);
        let net = builder.build().unwrap();
        let found = Invariants::find(&net, InvariantBudget { operations: 0 });
        assert!(found.check(&net));
    }
}
