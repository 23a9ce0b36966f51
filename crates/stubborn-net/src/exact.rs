//! Exact vertices of linear programs that were solved in floating point.
//!
//! A vertex is where some variables are zero and some constraints are tight. Which ones a
//! floating-point solution tells; the values of the others then follow exactly, from linear
//! equations in integers. They are solved modulo a prime, and the fractions are found by Euclid's
//! algorithm (Wang, *A p-adic algorithm for univariate partial fractions*, 1981). That is quick and
//! never overflows; whether it is right, whoever asks multiplies out.

/// A constraint of a program: factors of some variables, and the most that their sum may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Variables with their factors.
    pub(crate) factors: Vec<(usize, i128)>,
    /// The most that the sum may be.
    pub(crate) most: i128,
}

/// A Mersenne prime.
const PRIME: u128 = (1 << 127) - 1;
/// Numerators and denominators of the vertex are no larger: weights of some thousands, multiplied a few
/// times.
const LARGEST: i128 = 1 << 62;
/// Steps of elimination that are worth it.
const MOST_WORK: usize = 200_000_000;

/// The vertex near `values`, as integers over a common denominator; none if there is no such
/// vertex with fractions that are small enough. Values of at least `most[variable]` are that bound.
pub(crate) fn vertex(
    rows: &[Row],
    values: &[f64],
    most: &[Option<i64>],
) -> Option<(Vec<i64>, i64)> {
    let scale = values.iter().fold(1e-6_f64, |most, v| most.max(v.abs()));
    // A variable is zero, at its bound, or one of those that are asked for.
    let mut unknown = Vec::new();
    let mut place = vec![usize::MAX; values.len()];
    let mut fixed = vec![0i64; values.len()];
    for (variable, value) in values.iter().enumerate() {
        match most[variable] {
            Some(bound) if *value >= bound as f64 - 1e-7 => fixed[variable] = bound,
            _ if *value > 1e-9 * scale => {
                place[variable] = unknown.len();
                unknown.push(variable);
            }
            _ => {}
        }
    }
    let mut system = Elimination::new(unknown.len());
    for row in rows {
        if system.is_complete() {
            break;
        }
        let term = |(variable, factor): &(usize, i128)| values[*variable] * *factor as f64;
        let sum: f64 = row.factors.iter().map(term).sum();
        let size: f64 = row.factors.iter().map(|f| term(f).abs()).sum();
        if (sum - row.most as f64).abs() > 1e-7 * (size + row.most.unsigned_abs() as f64 + scale) {
            continue;
        }
        let mut equation = vec![0; unknown.len() + 1];
        let mut rest = residue(row.most);
        for (variable, factor) in &row.factors {
            match place[*variable] {
                usize::MAX => {
                    let known = times(residue(*factor), residue(fixed[*variable].into()));
                    rest = minus(rest, known);
                }
                at => equation[at] = plus(equation[at], residue(*factor)),
            }
        }
        equation[unknown.len()] = rest;
        system.add(equation)?;
    }
    let solved = system.solve(|at| approximate(values[unknown[at]]));
    let mut fractions = vec![(0i64, 1i64); values.len()];
    for (variable, value) in fixed.iter().enumerate() {
        fractions[variable].0 = *value;
    }
    for (at, variable) in unknown.iter().enumerate() {
        fractions[*variable] = fraction(solved[at])?;
    }
    let mut denominator = 1i64;
    for (_, of) in &fractions {
        denominator = denominator.checked_mul(of / num_integer::gcd(denominator, *of))?;
    }
    let whole = |(above, below): &(i64, i64)| above.checked_mul(denominator / below);
    let whole = fractions.iter().map(whole).collect::<Option<Vec<i64>>>()?;
    Some((whole, denominator))
}

/// Linear equations modulo the prime, each with a one at a place where the later ones have none.
struct Elimination {
    width: usize,
    /// By that place.
    pivots: Vec<Option<Vec<u128>>>,
    rank: usize,
    work: usize,
}

impl Elimination {
    fn new(width: usize) -> Self {
        Self {
            width,
            pivots: vec![None; width],
            rank: 0,
            work: 0,
        }
    }

    fn is_complete(&self) -> bool {
        self.rank == self.width
    }

    /// Adds an equation, the right side last; one that follows from the others, or contradicts
    /// them, is left out. None if that is too much work.
    fn add(&mut self, mut equation: Vec<u128>) -> Option<()> {
        for at in 0..self.width {
            if equation[at] == 0 {
                continue;
            }
            let Some(pivot) = &self.pivots[at] else {
                let inverse = power(equation[at], PRIME - 2);
                for value in &mut equation[at..] {
                    *value = times(*value, inverse);
                }
                self.pivots[at] = Some(equation);
                self.rank += 1;
                return Some(());
            };
            self.work += self.width - at;
            if self.work > MOST_WORK {
                return None;
            }
            let factor = equation[at];
            for (value, other) in equation[at..].iter_mut().zip(&pivot[at..]) {
                *value = minus(*value, times(*other, factor));
            }
        }
        Some(())
    }

    /// The solution in which unknowns that no equation determines are as `free` says.
    fn solve(&self, free: impl Fn(usize) -> u128) -> Vec<u128> {
        let mut values = vec![0; self.width];
        for at in (0..self.width).rev() {
            values[at] = match &self.pivots[at] {
                None => free(at),
                Some(pivot) => {
                    let later = pivot[at + 1..self.width].iter().zip(&values[at + 1..]);
                    let known = later.map(|(factor, value)| times(*factor, *value));
                    minus(pivot[self.width], known.fold(0, plus))
                }
            };
        }
        values
    }
}

/// A number of 128 bits modulo the prime.
fn reduced(number: u128) -> u128 {
    let sum = (number & PRIME) + (number >> 127);
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn plus(a: u128, b: u128) -> u128 {
    reduced(a + b)
}

fn minus(a: u128, b: u128) -> u128 {
    reduced(a + (PRIME - b))
}

fn times(a: u128, b: u128) -> u128 {
    let halves = |n: u128| (n >> 64, n & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    // 2¹²⁷ is 1, so what is 2⁶⁴ times as much goes round.
    let shifted = |n: u128| plus(n >> 63, (n & ((1 << 63) - 1)) << 64);
    let middle = plus(shifted(a1 * b0), shifted(a0 * b1));
    plus(plus(reduced(2 * (a1 * b1)), middle), reduced(a0 * b0))
}

fn power(mut base: u128, mut exponent: u128) -> u128 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

fn residue(number: i128) -> u128 {
    number.rem_euclid(PRIME as i128) as u128
}

/// The fraction with small numerator and denominator that is this number modulo the prime.
fn fraction(number: u128) -> Option<(i64, i64)> {
    let (mut r, mut next) = (PRIME as i128, number as i128);
    let (mut t, mut next_t) = (0i128, 1i128);
    while next > LARGEST {
        let quotient = r / next;
        (r, next) = (next, r - quotient * next);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    let (above, below) = match next_t < 0 {
        true => (-next, -next_t),
        false => (next, next_t),
    };
    let fits = below > 0 && below <= LARGEST;
    fits.then_some((above as i64, below as i64))
}

/// The residue of a fraction with a denominator of at most three digits that is near a number.
fn approximate(number: f64) -> u128 {
    let near = |below: &i32| {
        let scaled = number * f64::from(*below);
        (scaled - scaled.round()).abs() < 1e-6
    };
    let below = (1..1_000).find(near).unwrap_or(1);
    let above = residue((number * f64::from(below)).round() as i128);
    times(above, power(below as u128, PRIME - 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(factors: &[(usize, i128)], most: i128) -> Row {
        Row {
            factors: factors.to_vec(),
            most,
        }
    }

    #[test]
    fn fractions_of_any_denominator() {
        // 17 x <= 5 y, 23 y <= 11 z, z at its bound 1, w not used.
        let rows = [
            row(&[(0, 17), (1, -5)], 0),
            row(&[(1, 23), (2, -11)], 0),
            row(&[(0, 1), (3, -1)], 4),
        ];
        let y = 11.0 / 23.0;
        let values = [y * 5.0 / 17.0, y, 1.0, 0.0];
        let most = [None, None, Some(1), None];
        let (whole, denominator) = vertex(&rows, &values, &most).unwrap();
        assert_eq!((denominator, whole), (391, vec![55, 187, 391, 0]));
    }

    #[test]
    fn what_nothing_determines_is_as_it_was() {
        let rows = [row(&[(0, 3), (1, -2)], 0)];
        let (whole, denominator) = vertex(&rows, &[1.0, 1.5], &[None; 2]).unwrap();
        assert_eq!((denominator, whole), (2, vec![2, 3]));
    }

    #[test]
    fn negative_numbers_and_contradictions() {
        // The second row contradicts the first one and is left out; -x <= -2 is tight.
        let rows = [
            row(&[(0, -1)], -2),
            row(&[(0, -1_000_000_000)], -2_000_000_001),
        ];
        assert_eq!(vertex(&rows, &[2.0], &[None]), Some((vec![2], 1)));
        assert_eq!(fraction(residue(-3)), Some((-3, 1)));
    }

    #[test]
    fn arithmetic_modulo_the_prime() {
        let mut random = stubborn_system::Random::new(0x0e5a_c700_0000_0127);
        let mut number =
            || residue(i128::from(random.bits() >> 1) * i128::from(random.bits() >> 1));
        for _ in 0..1_000 {
            let (a, b, c) = (number(), number(), number());
            assert_eq!(times(a, plus(b, c)), plus(times(a, b), times(a, c)));
            assert_eq!(times(times(a, b), c), times(a, times(b, c)));
            assert_eq!(times(a, power(a, PRIME - 2)), 1);
            assert_eq!(plus(minus(a, b), b), a);
        }
        let (above, below) = (-123_456_789_012_345_i64, 987_654_321_098_765_i64);
        let inverse = power(residue(below.into()), PRIME - 2);
        let found = fraction(times(residue(above.into()), inverse)).unwrap();
        let divisor = num_integer::gcd(above, below);
        assert_eq!(found, (above / divisor, below / divisor));
    }
}
