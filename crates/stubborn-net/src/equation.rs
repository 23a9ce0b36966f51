//! The state equation: what no reachable marking can be, without any search.
//!
//! Every reachable marking is `m = m0 + C·x` for some `x ≥ 0`, and no place has fewer than zero
//! tokens (Murata, "State equation, controllability, and maximal matchings of Petri nets", 1977).
//! If no real solution satisfies some further linear constraints, no reachable marking does.
//!
//! A linear program is solved in floating point, so its word is not taken for anything: it is
//! asked for a *certificate*, the certificate is rounded to integers (or, where that is not enough,
//! its vertex is computed [exactly](crate::exact)), and the integers are multiplied out. By the lemma of Farkas, constraints `A·m ≥ b` cannot be met if and only if there
//! are multipliers `λ ≥ 0` and weights `w ≥ Aᵀ·λ` of the places with `w·C ≤ 0` (no transition
//! increases the weighted sum) and `w·m0 < λ·b`: then `w·m ≤ w·m0 < λ·b ≤ λ·A·m ≤ w·m` would
//! hold. In the same way `w ≥ s` and `w·C ≤ 0` prove that a sum `s·m` never exceeds `w·m0`. So the
//! program that is solved is the dual one, and what it finds is a place invariant made for the
//! question.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, Variable};

use crate::exact::{self, Row};
use crate::ids::{PlaceId, TransitionId};
use crate::net::Net;

/// A linear constraint on a marking: `Σ weight(p)·m(p) ≥ at_least`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Weights, ordered by place, each place once.
    weights: Vec<(PlaceId, i64)>,
    /// The least value of the sum.
    at_least: i64,
}

impl Linear {
    /// A constraint; weights of a place that is listed several times add up. None where numbers
    /// become too large.
    pub fn new(weights: impl IntoIterator<Item = (PlaceId, i64)>, at_least: i64) -> Option<Self> {
        let mut list: Vec<(PlaceId, i64)> = weights.into_iter().collect();
        list.sort_unstable_by_key(|(place, _)| *place);
        let mut summed: Vec<(PlaceId, i64)> = Vec::with_capacity(list.len());
        for (place, weight) in list {
            match summed.last_mut() {
                Some((last, sum)) if *last == place => *sum = sum.checked_add(weight)?,
                _ => summed.push((place, weight)),
            }
        }
        summed.retain(|(_, weight)| *weight != 0);
        let small = |n: i64| n.unsigned_abs() <= LARGEST;
        let fits = small(at_least) && summed.iter().all(|(_, w)| small(*w));
        fits.then_some(Self {
            weights: summed,
            at_least,
        })
    }

    /// Its weights, and the least value of their sum.
    pub(crate) fn parts(&self) -> (Vec<(PlaceId, i64)>, i64) {
        (self.weights.clone(), self.at_least)
    }

    /// Whether it says anything about tokens.
    pub fn is_constant(&self) -> bool {
        self.weights.is_empty()
    }

    /// Its truth, where it is constant.
    pub fn holds_without_tokens(&self) -> bool {
        self.at_least <= 0
    }
}

/// A weighted sum of tokens that no transition increases.
#[derive(Clone, Debug)]
pub(crate) struct NeverGrowing {
    /// Weights that are not zero, ordered by place.
    pub(crate) weights: Vec<(PlaceId, i128)>,
    /// Its value in the initial marking: the most that it ever is.
    pub(crate) value: i128,
}

/// Larger numbers are left to others: sums of products must stay far inside 128 bits, and
/// floating point would not see their last digits anyway.
const LARGEST: u64 = 1 << 40;

/// Larger programs are not even set up: the solver looks at the clock only between pivots.
pub(crate) const MOST_ROWS: usize = 8_000;

/// A solver that takes longer than twice its time and this is not asked again.
const PATIENCE: Duration = Duration::from_millis(500);

/// Denominators that are tried when a floating-point vector is turned into fractions. Vertices
/// of the programs of nets are nearly always among them.
pub(crate) const DENOMINATORS: [u32; 14] =
    [1, 2, 3, 4, 6, 8, 12, 5, 10, 60, 7, 840, 27_720, 720_720];

/// The state equation of a net.
pub struct StateEquation<'n> {
    pub(crate) net: &'n Net,
    /// Effects of the transitions that change anything, each once, in order.
    pub(crate) columns: Vec<Vec<(PlaceId, i64)>>,
    /// False if the program is too large, or turned out to be too hard.
    pub(crate) usable: Cell<bool>,
    /// That traps that were marked are not empty, as far as that was of use.
    pub(crate) traps: RefCell<Vec<Linear>>,
}

impl<'n> StateEquation<'n> {
    /// Prepares the equation of a net.
    pub fn new(net: &'n Net) -> Self {
        let column = |t: TransitionId| net.effects(t).collect::<Vec<_>>();
        let mut columns: Vec<Vec<(PlaceId, i64)>> = net.transitions().map(column).collect();
        columns.retain(|effects| !effects.is_empty());
        columns.sort_unstable();
        columns.dedup();
        let numbers = net.initial_marking().iter().all(|n| *n <= LARGEST);
        let usable = numbers && columns.len() + net.place_count() <= MOST_ROWS;
        Self {
            net,
            columns,
            usable: Cell::new(usable),
            traps: RefCell::new(Vec::new()),
        }
    }

    /// The net.
    pub fn net(&self) -> &'n Net {
        self.net
    }

    /// True if it is proved that no reachable marking satisfies all constraints.
    pub fn excludes(&self, constraints: &[Linear], time: Duration) -> bool {
        if constraints
            .iter()
            .any(|c| c.is_constant() && !c.holds_without_tokens())
        {
            return true;
        }
        let traps = self.traps.borrow();
        match traps.is_empty() {
            true => self.refutation(constraints, time),
            false => self.refutation(&[constraints, &traps].concat(), time),
        }
        .is_some()
    }

    /// A sum that never grows and that all constraints together would make grow, if one was
    /// found.
    pub(crate) fn refutation(
        &self,
        constraints: &[Linear],
        time: Duration,
    ) -> Option<NeverGrowing> {
        if !self.usable.get() || constraints.is_empty() {
            return None;
        }
        // The gain of a constraint is its b, less what its weights cost in the beginning.
        let gain = |constraint: &Linear| {
            let least = i128::from(constraint.at_least);
            (least - self.value_at_start(&constraint.weights)) as f64
        };
        let wish = Wish {
            direction: OptimizationDirection::Maximize,
            constraints: constraints
                .iter()
                .map(|c| (gain(c), c.weights.as_slice()))
                .collect(),
            given: &[],
        };
        let solution = self.solve(&wish, time)?;
        if solution.objective <= 1e-7 {
            return None;
        }
        let (slack, multipliers) = solution.values.split_at(self.net.place_count());
        let scale = multipliers.iter().fold(0.0_f64, |most, v| most.max(*v));
        let rounded = DENOMINATORS.iter().find_map(|denominator| {
            let rounded =
                |values: &[f64]| round(values, f64::from(*denominator) / scale.max(1e-12));
            self.refutes(constraints, &rounded(multipliers)?, &rounded(slack)?)
        });
        rounded.or_else(|| {
            let (values, _) = self.exactly(&wish, &solution)?;
            let (slack, multipliers) = values.split_at(self.net.place_count());
            self.refutes(constraints, multipliers, slack)
        })
    }

    /// The certificate of [`excludes`](Self::excludes), multiplied out in integers.
    fn refutes(
        &self,
        constraints: &[Linear],
        multipliers: &[i64],
        slack: &[i64],
    ) -> Option<NeverGrowing> {
        let mut weights: Vec<i128> = slack.iter().map(|y| i128::from((*y).max(0))).collect();
        let mut least = 0i128;
        for (constraint, multiplier) in constraints.iter().zip(multipliers) {
            let multiplier = i128::from((*multiplier).max(0));
            for (place, weight) in &constraint.weights {
                let product = multiplier.checked_mul(i128::from(*weight))?;
                let sum = &mut weights[place.index()];
                *sum = sum.checked_add(product)?;
            }
            least = least.checked_add(multiplier.checked_mul(i128::from(constraint.at_least))?)?;
        }
        let value = self.never_grows(&weights)?;
        let weights = self.net.places().zip(weights);
        (value < least).then(|| NeverGrowing {
            weights: weights.filter(|(_, weight)| *weight != 0).collect(),
            value,
        })
    }

    /// An upper bound of a weighted sum of tokens, proved; none if there is none, or none was
    /// found in time.
    pub fn bound(&self, weights: &[(PlaceId, i64)], time: Duration) -> Option<u64> {
        let sum = Linear::new(weights.iter().copied(), 0)?;
        if !self.usable.get() {
            return None;
        }
        let wish = Wish {
            direction: OptimizationDirection::Minimize,
            constraints: Vec::new(),
            given: &sum.weights,
        };
        let solution = self.solve(&wish, time)?;
        let promised = solution.objective + self.value_at_start(&sum.weights) as f64;
        let mut best: Option<u64> = None;
        for denominator in DENOMINATORS {
            let Some(slack) = round(&solution.values, f64::from(denominator)) else {
                continue;
            };
            let Some(value) = self.proved_bound(&sum.weights, &slack, denominator) else {
                continue;
            };
            best = Some(best.map_or(value, |known| known.min(value)));
            if value as f64 <= promised + 1e-6 {
                return best;
            }
        }
        let exact = self
            .exactly(&wish, &solution)
            .and_then(|(slack, below)| self.proved_bound(&sum.weights, &slack, below));
        best.into_iter().chain(exact).min()
    }

    /// The vertex that a solution is near, as integers over a common denominator.
    fn exactly(&self, wish: &Wish<'_>, solution: &Found) -> Option<(Vec<i64>, i64)> {
        let mut most = vec![None; self.net.place_count()];
        most.resize(solution.values.len(), Some(1));
        exact::vertex(&self.rows(wish), &solution.values, &most)
    }

    fn proved_bound(
        &self,
        sum: &[(PlaceId, i64)],
        slack: &[i64],
        denominator: impl Into<i128>,
    ) -> Option<u64> {
        let denominator = denominator.into();
        let mut weights: Vec<i128> = slack.iter().map(|y| i128::from((*y).max(0))).collect();
        for (place, weight) in sum {
            let product = denominator.checked_mul(i128::from(*weight))?;
            let sum = &mut weights[place.index()];
            *sum = sum.checked_add(product)?;
        }
        let most = self.never_grows(&weights)?.div_euclid(denominator);
        u64::try_from(most).ok()
    }

    /// The value of a weighted sum in the initial marking, if no transition increases it.
    fn never_grows(&self, weights: &[i128]) -> Option<i128> {
        for column in &self.columns {
            let mut change = 0i128;
            for (place, effect) in column {
                let product = weights[place.index()].checked_mul(i128::from(*effect))?;
                change = change.checked_add(product)?;
            }
            if change > 0 {
                return None;
            }
        }
        let mut value = 0i128;
        for (weight, tokens) in weights.iter().zip(self.net.initial_marking()) {
            value = value.checked_add(weight.checked_mul(i128::from(*tokens))?)?;
        }
        Some(value)
    }

    fn value_at_start(&self, weights: &[(PlaceId, i64)]) -> i128 {
        weights
            .iter()
            .map(|(place, weight)| i128::from(*weight) * i128::from(self.net.initial(*place)))
            .sum()
    }
}

/// What a program found: the objective, and the non-negative parts of the weights of all
/// places followed by the multipliers of the constraints.
struct Found {
    objective: f64,
    values: Vec<f64>,
}

/// What is wanted of a program.
struct Wish<'w> {
    /// Maximise what the constraints give minus what the weights cost, or minimise the cost.
    direction: OptimizationDirection,
    /// Weights of the constraints that may be used, each with its gain.
    constraints: Vec<(f64, &'w [(PlaceId, i64)])>,
    /// Weights that are there from the beginning.
    given: &'w [(PlaceId, i64)],
}

impl StateEquation<'_> {
    /// How large the programs are: what one costs, roughly.
    pub(crate) fn size(&self) -> u64 {
        self.columns.len() as u64 * self.net.place_count() as u64
    }

    /// That no transition increases the sum: one row each. Variables are the weights of places,
    /// then the multipliers.
    fn rows(&self, wish: &Wish<'_>) -> Vec<Row> {
        let places = self.net.place_count();
        let mut of_place: Vec<Vec<(usize, i64)>> = vec![Vec::new(); places];
        for (number, (_, weights)) in wish.constraints.iter().enumerate() {
            for (place, weight) in *weights {
                of_place[place.index()].push((number, *weight));
            }
        }
        let mut given = vec![0i64; places];
        for (place, weight) in wish.given {
            given[place.index()] = *weight;
        }
        let mut multiplied = vec![0i128; wish.constraints.len()];
        let mut touched: Vec<usize> = Vec::new();
        let row = |column: &Vec<(PlaceId, i64)>| {
            let mut row = Row::default();
            for (place, effect) in column {
                let effect = i128::from(*effect);
                row.factors.push((place.index(), effect));
                row.most -= i128::from(given[place.index()]) * effect;
                for (number, weight) in &of_place[place.index()] {
                    multiplied[*number] += i128::from(*weight) * effect;
                    touched.push(*number);
                }
            }
            for number in touched.drain(..) {
                let factor = std::mem::take(&mut multiplied[number]);
                if factor != 0 {
                    row.factors.push((places + number, factor));
                }
            }
            row
        };
        self.columns.iter().map(row).collect()
    }

    /// A solution of a program, if there is one and it is found in time.
    pub(crate) fn solution(&self, mut problem: Problem, time: Duration) -> Option<Solution> {
        problem.set_time_limit(time);
        let started = Instant::now();
        let outcome = problem.solve();
        // The solver looks at the clock only now and then: one that does not keep its time now
        // will not do so the next time.
        if started.elapsed() > 2 * time + PATIENCE {
            self.usable.set(false);
        }
        outcome.ok()?.into_solution().ok()
    }

    /// Looks for weights `y ≥ 0` and multipliers `0 ≤ λ ≤ 1`, best for the wish, such that no
    /// transition increases the sum `(given + y + Aᵀ·λ)·m`.
    fn solve(&self, wish: &Wish<'_>, time: Duration) -> Option<Found> {
        let mut problem = Problem::new(wish.direction);
        let sign = match wish.direction {
            OptimizationDirection::Maximize => -1.0,
            OptimizationDirection::Minimize => 1.0,
        };
        let mut variables: Vec<Variable> = self
            .net
            .initial_marking()
            .iter()
            .map(|tokens| problem.add_var(sign * *tokens as f64, (0.0, f64::INFINITY)))
            .collect();
        for (gain, _) in &wish.constraints {
            variables.push(problem.add_var(*gain, (0.0, 1.0)));
        }
        for row in self.rows(wish) {
            let factors = row.factors.iter();
            let factors: Vec<_> = factors
                .map(|(at, factor)| (variables[*at], *factor as f64))
                .collect();
            problem.add_constraint(factors, ComparisonOp::Le, row.most as f64);
        }
        let solution = self.solution(problem, time)?;
        Some(Found {
            objective: solution.objective(),
            values: variables.iter().map(|v| solution.var_value(*v)).collect(),
        })
    }
}

/// All values times a factor, as integers; none where one is too large.
pub(crate) fn round(values: &[f64], factor: f64) -> Option<Vec<i64>> {
    let rounded = |value: &f64| {
        let scaled = (value * factor).round();
        (scaled.abs() <= LARGEST as f64).then_some(scaled as i64)
    };
    values.iter().map(rounded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetBuilder;

    const TIME: Duration = Duration::from_secs(10);

    /// Two processes that enter and leave a critical section guarded by one lock.
    fn mutex() -> (Net, [PlaceId; 2]) {
        let mut builder = NetBuilder::new("mutex");
        let lock = builder.place("lock", 1);
        let critical = [0, 1].map(|i| {
            let idle = builder.place(&format!("idle{i}"), 1);
            let critical = builder.place(&format!("critical{i}"), 0);
            let enter = builder.transition(&format!("enter{i}"));
            let leave = builder.transition(&format!("leave{i}"));
            builder.input(idle, enter, 1);
            builder.input(lock, enter, 1);
            builder.output(enter, critical, 1);
            builder.input(critical, leave, 1);
            builder.output(leave, idle, 1);
            builder.output(leave, lock, 1);
            critical
        });
        (builder.build().unwrap(), critical)
    }

    #[test]
    fn mutual_exclusion_is_proved_without_a_search() {
        let (net, [a, b]) = mutex();
        let equation = StateEquation::new(&net);
        let one = |place| Linear::new([(place, 1)], 1).unwrap();
        assert!(equation.excludes(&[one(a), one(b)], TIME));
        assert!(!equation.excludes(&[one(a)], TIME), "it can happen");
        assert_eq!(equation.bound(&[(a, 1), (b, 1)], TIME), Some(1));
        assert_eq!(equation.bound(&[(a, 2), (b, 3)], TIME), Some(3));
    }

    #[test]
    fn an_unbounded_place_has_no_bound() {
        let mut builder = NetBuilder::new("source");
        let p = builder.place("p", 0);
        let q = builder.place("q", 5);
        let t = builder.transition("t");
        builder.output(t, p, 1);
        let net = builder.build().unwrap();
        let equation = StateEquation::new(&net);
        assert_eq!(equation.bound(&[(p, 1)], TIME), None);
        assert_eq!(equation.bound(&[(q, 1)], TIME), Some(5));
        let many = Linear::new([(p, 1)], 1000).unwrap();
        assert!(!equation.excludes(&[many], TIME));
        let few = Linear::new([(p, -1)], 1).unwrap();
        assert!(equation.excludes(&[few], TIME), "no place is below zero");
    }

    #[test]
    fn fractions_are_found() {
        // Three tokens of `a` become two of `b`: b is at most 2/3 of 7, rounded down.
        let mut builder = NetBuilder::new("fractions");
        let a = builder.place("a", 7);
        let b = builder.place("b", 0);
        let t = builder.transition("t");
        builder.input(a, t, 3);
        builder.output(t, b, 2);
        let net = builder.build().unwrap();
        let equation = StateEquation::new(&net);
        assert_eq!(equation.bound(&[(b, 1)], TIME), Some(4));
        let five = Linear::new([(b, 1)], 5).unwrap();
        assert!(equation.excludes(&[five], TIME));
    }

    /// Denominators that nobody would think of.
    #[test]
    fn odd_fractions_are_found() {
        let mut builder = NetBuilder::new("odd");
        let places: Vec<PlaceId> = [323, 0, 0, 0]
            .iter()
            .enumerate()
            .map(|(at, tokens)| builder.place(&format!("p{at}"), *tokens))
            .collect();
        for (at, (takes, gives)) in [(17, 19), (23, 29), (31, 37)].into_iter().enumerate() {
            let t = builder.transition(&format!("t{at}"));
            builder.input(places[at], t, takes);
            builder.output(t, places[at + 1], gives);
        }
        let net = builder.build().unwrap();
        let equation = StateEquation::new(&net);
        // 323 · 19/17 · 29/23 · 37/31 is 543.2…
        assert_eq!(equation.bound(&[(places[3], 1)], TIME), Some(543));
        let more = Linear::new([(places[3], 1)], 544).unwrap();
        assert!(equation.excludes(&[more], TIME));
        let less = Linear::new([(places[3], 1)], 543).unwrap();
        assert!(!equation.excludes(&[less], TIME));
    }

    /// Sugar becomes lactate along two ways; tokens by the thousand make each step of one wait for
    /// thousands of the other. (After the contest's model of the pathways.)
    #[test]
    fn weights_of_thousands_are_no_obstacle() {
        let text = "
            GAP NAD+ Pi c2 > BPG NADH c1; DHAP > GAP; GAP > DHAP; FBP > GAP DHAP;
            F6P ATP > FBP ADP; G6P 3000b1 > F6P 3000b2; ATP Gluc > G6P ADP;
            GSSG NADPH > 2GSH NADP+; 2GSH > GSSG; 2NADP+ G6P b2 > 2NADPH Ru5P b1;
            Ru5P a2 > Xu5P a1; Ru5P 2000a1 > R5P 2000a2; S7P GAP 7000c1 > E4P F6P 7000c2;
            E4P Xu5P > F6P GAP; ADP BPG > PG ATP; PG ADP > Pyr ATP;
            Pyr NADH > Lac NAD+; 7000ATP 7000Lac > start; start > 7000ADP 4000Gluc 7000Pi;
            Xu5P R5P > S7P GAP";
        let initial = "40ATP 20NAD+ 20NADP+ 10GSSG 1start 3000b1 2000a1 7000c1";
        let parse = |item: &str| {
            let at = item.find(|c: char| !c.is_ascii_digit()).unwrap();
            let (number, name) = item.split_at(at);
            (number.parse::<u32>().unwrap_or(1), name.to_owned())
        };
        let mut builder = NetBuilder::new("pathways");
        let mut places: Vec<(String, PlaceId)> = Vec::new();
        for item in initial.split_whitespace() {
            let (tokens, name) = parse(item);
            let place = builder.place(&name, tokens.into());
            places.push((name, place));
        }
        for (number, step) in text.split(';').enumerate() {
            let t = builder.transition(&format!("t{number}"));
            let (inputs, outputs) = step.split_once('>').unwrap();
            for (side, is_input) in [(inputs, true), (outputs, false)] {
                for item in side.split_whitespace() {
                    let (weight, name) = parse(item);
                    let known = places.iter().find(|(n, _)| *n == name).map(|(_, p)| *p);
                    let place = known.unwrap_or_else(|| {
                        let place = builder.place(&name, 0);
                        places.push((name, place));
                        place
                    });
                    match is_input {
                        true => builder.input(place, t, weight),
                        false => builder.output(t, place, weight),
                    }
                }
            }
        }
        let net = builder.build().unwrap();
        let many = ["ATP", "Lac"].map(|name| {
            let place = places.iter().find(|(n, _)| n == name).unwrap().1;
            Linear::new([(place, 1)], 7_000).unwrap()
        });
        assert!(StateEquation::new(&net).excludes(&many, TIME));
    }
}
