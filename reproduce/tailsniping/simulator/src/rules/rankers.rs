//! Rankers: rules that observe the sick host only, and name the candidate whose metric changed most.

use crate::metrics::P99;
use crate::series::Window;
use crate::world::Candidate;

/// Return the distance of a metric from normal, in standard deviations of normal.
pub(crate) fn n_sigma(normal: &Window, anomaly: &Window, seconds: usize, metric: usize) -> f64 {
    let (before, after) = (normal.mean(seconds)[metric], anomaly.mean(seconds)[metric]);
    (after - before).abs() / normal.variances(seconds)[metric].sqrt()
}

/// Return BARO's score of a change (its `RobustScorer`, 2024): the distance of the furthest value after it from the
/// median before, in interquartile ranges.
pub(crate) fn change_score(normal: &Window, anomaly: &Window, seconds: usize, metric: usize) -> f64 {
    let mut before: Vec<f64> = normal.rows(seconds).iter().map(|row| row[metric]).collect();
    before.sort_unstable_by(f64::total_cmp);
    let at = |level: f64| before[((seconds - 1) as f64 * level).round() as usize];
    let spread = (at(0.75) - at(0.25)).max(1e-9);
    let furthest = anomaly.rows(seconds).iter().map(|row| (row[metric] - at(0.5)).abs()).fold(0.0, f64::max);
    furthest / spread
}

/// Return how much of log p99 a metric explains in a median regression over both windows: one minus the ratio of
/// the absolute deviations with and without it (Koenker and Machado 1999), the dissertation's ranking.
pub(crate) fn quantile_regression(normal: &Window, anomaly: &Window, seconds: usize, metric: usize) -> f64 {
    let rows = normal.rows(seconds).iter().chain(anomaly.rows(seconds));
    let (x, y): (Vec<f64>, Vec<f64>) = rows.map(|row| (row[metric], row[P99])).unzip();
    let loss = |slope: f64| {
        let mut rest: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y - slope * x).collect();
        let middle = rest.len() / 2;
        let median = *rest.select_nth_unstable_by(middle, f64::total_cmp).1;
        rest.iter().map(|value| (value - median).abs()).sum::<f64>()
    };
    // The loss is convex in the slope; both are in standard deviations, and the anomaly is a few of them.
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..30 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if loss(left) < loss(right) {
            high = right;
        } else {
            low = left;
        }
    }
    1.0 - loss(f64::midpoint(low, high)) / loss(0.0)
}

/// Return the candidate whose metric has the highest score.
pub(crate) fn first(candidates: &[Candidate], score: impl Fn(usize) -> f64) -> Option<usize> {
    let scored = candidates.iter().enumerate().map(|(at, candidate)| (at, score(candidate.direct)));
    scored.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Point, ALL};

    /// Metric 0 follows log p99, metric 1 does not.
    fn windows() -> (Window, Window) {
        let row = |second: usize, p99: f64| -> Point {
            let wobble = (second * 7 % 11) as f64 / 10.0;
            std::array::from_fn(|at| match at {
                0 => 2.0 * p99 + wobble / 50.0,
                P99 => p99,
                _ => wobble,
            })
        };
        let of =
            |level: f64| Window::new((0..60).map(|at| row(at, level + (at % 5) as f64 / 10.0)).collect());
        assert_eq!(ALL, 26);
        (of(0.0), of(3.0))
    }

    #[test]
    fn every_ranker_names_the_changed_metric() {
        let (normal, anomaly) = windows();
        for score in [n_sigma, change_score, quantile_regression] {
            let (moved, still) = (score(&normal, &anomaly, 60, 0), score(&normal, &anomaly, 60, 1));
            assert!(moved > 2.0 * still, "{moved} {still}");
        }
        assert!(quantile_regression(&normal, &anomaly, 60, 0) > 0.95);
    }
}
