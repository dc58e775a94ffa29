//! Definition of a quantile: the inverse of the empirical distribution function, and the middle of its flat piece
//! if the level falls exactly between two samples. The rule is needed because every point of the piece minimises
//! the same objective, and solvers return different ones (attribution note, section 0).

/// Relative tolerance of the test whether `n * tau` is whole: tau is a rounded decimal fraction.
const WHOLE: f64 = 1e-9;

/// Return the order statistics, from 0, whose mean is the `tau`-quantile of `n` samples: twice the same, or two
/// neighbours.
pub(crate) fn ranks(n: usize, tau: f64) -> (usize, usize) {
    let place = n as f64 * tau;
    let whole = place.round();
    if (place - whole).abs() <= WHOLE * place.max(1.0) && whole >= 1.0 && (whole as usize) < n {
        (whole as usize - 1, whole as usize)
    } else {
        let rank = (place.ceil() as usize).clamp(1, n) - 1;
        (rank, rank)
    }
}

/// Return the same with weights: `cumulative` has their cumulative sums, in the order of the samples.
pub(crate) fn weighted_ranks(cumulative: &[f64], tau: f64) -> (usize, usize) {
    let n = cumulative.len();
    let place = cumulative[n - 1] * tau;
    let slack = WHOLE * cumulative[n - 1];
    let low = cumulative.partition_point(|&sum| sum < place - slack).min(n - 1);
    if low + 1 < n && (cumulative[low] - place).abs() <= slack {
        // Samples without weight do not count as neighbours.
        let next = cumulative.partition_point(|&sum| sum <= cumulative[low] + slack);
        (low, next.min(n - 1))
    } else {
        (low, low)
    }
}

/// Return the first of `0..n` for which `before` is false.
#[inline]
pub(crate) fn partition(n: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_between_two_samples_takes_both() {
        for (n, tau, expected) in [
            (4, 0.5, (1, 2)),
            (5, 0.5, (2, 2)),
            (100, 0.95, (94, 95)),
            (100, 0.99, (98, 99)),
            (1, 0.3, (0, 0)),
            (10, 0.999, (9, 9)),
            (600_000, 0.95, (569_999, 570_000)),
        ] {
            assert_eq!(ranks(n, tau), expected, "{n} {tau}");
            let ones: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            assert_eq!(weighted_ranks(&ones, tau), expected, "{n} {tau}, weighted");
        }
    }

    #[test]
    fn a_weight_counts_as_that_many_samples_and_zero_as_no_sample() {
        // Values a, b, c, d have weights 2, 0, 2, 4: half of the weight is at a and c.
        assert_eq!(weighted_ranks(&[2.0, 2.0, 4.0, 8.0], 0.5), (2, 3));
        assert_eq!(weighted_ranks(&[2.0, 2.0, 4.0, 8.0], 0.25), (0, 2));
        assert_eq!(weighted_ranks(&[2.0, 2.0, 4.0, 8.0], 0.6), (3, 3));
    }
}
