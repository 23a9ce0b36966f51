//! Numbers about numbers: the scores of two of the papers, quartiles, means.

/// The score of equation 1 of Evangelista, *Experimenting with stubborn sets on Petri nets*
/// (2023): from 0, if no run ended, to 100, if every run had the fewest states of all. A run
/// that did not end is `None`. (The paper has five runs, and each counts 20.)
pub fn state_score(fewest: u64, runs: &[Option<u64>]) -> f64 {
    let each = 100.0 / runs.len().max(1) as f64;
    let ended = runs.iter().flatten();
    let scores = ended.map(|states| each * fewest as f64 / (*states).max(1) as f64);
    // The sum of nothing is -0.0, which nobody wants to read.
    scores.fold(0.0, |sum, score| sum + score)
}

/// Standard scores as in figure 3 of Duret-Lutz et al., *Heuristics for checking liveness
/// properties with partial order reductions* (2016): for one model, how many standard
/// deviations each run is away from the mean of all runs of that model.
pub fn standard_scores(values: &[f64]) -> Vec<f64> {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    let score = |v: &f64| {
        if deviation > 0.0 {
            (v - mean) / deviation
        } else {
            0.0
        }
    };
    values.iter().map(score).collect()
}

/// What a box plot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxSummary {
    /// The lower quartile.
    pub lower: f64,
    /// The middle.
    pub median: f64,
    /// The upper quartile.
    pub upper: f64,
    /// The least value not further from the box than 1.5 times its height.
    pub low_whisker: f64,
    /// The greatest such value.
    pub high_whisker: f64,
    /// What lies beyond.
    pub outliers: Vec<f64>,
}

impl BoxSummary {
    /// Of some values; none of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (lower, median, upper) = (
            quantile(&sorted, 0.25)?,
            quantile(&sorted, 0.5)?,
            quantile(&sorted, 0.75)?,
        );
        let reach = 1.5 * (upper - lower);
        let is_inside = |v: &f64| (lower - reach..=upper + reach).contains(v);
        let inside = || sorted.iter().copied().filter(is_inside);
        Some(Self {
            lower,
            median,
            upper,
            low_whisker: inside().next().unwrap_or(lower),
            high_whisker: inside().next_back().unwrap_or(upper),
            outliers: sorted.iter().copied().filter(|v| !is_inside(v)).collect(),
        })
    }
}

/// A quantile of sorted values, between neighbours by proportion.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = part * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let between = place - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * between)
}

/// The geometric mean; 1 of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value.max(1e-12).ln();
        count += 1;
    }
    (sum / f64::from(count.max(1))).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_go_from_nothing_to_a_hundred() {
        assert!((state_score(10, &[Some(10); 5]) - 100.0).abs() < 1e-9);
        assert!((state_score(10, &[Some(20); 5]) - 50.0).abs() < 1e-9);
        assert_eq!(format!("{:.1}", state_score(10, &[None; 5])), "0.0");
        let mixed = [Some(10), Some(20), None, None, None];
        assert!((state_score(10, &mixed) - 30.0).abs() < 1e-9);
    }

    #[test]
    fn standard_scores_have_mean_zero() {
        let scores = standard_scores(&[1.0, 2.0, 3.0]);
        assert!(scores.iter().sum::<f64>().abs() < 1e-9);
        assert!((scores[2] - 1.5_f64.sqrt()).abs() < 1e-9);
        assert_eq!(standard_scores(&[5.0, 5.0]), [0.0, 0.0]);
    }

    #[test]
    fn boxes_and_outliers() {
        let summary = BoxSummary::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 40.0]).unwrap();
        assert_eq!(summary.median, 3.5);
        assert_eq!((summary.low_whisker, summary.high_whisker), (1.0, 5.0));
        assert_eq!(summary.outliers, [40.0]);
        assert_eq!(BoxSummary::of(&[]), None);
    }

    #[test]
    fn means() {
        assert!((geometric_mean([1.0, 4.0]) - 2.0).abs() < 1e-9);
        assert!((geometric_mean([]) - 1.0).abs() < 1e-9);
    }
}
