//! Statistics of a histogram.

use crate::layout;
use crate::{Histogram, Quantile};

/// A value of the distribution in nanoseconds, possibly infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A measured latency, accurate to 1/2048 of itself.
    Finite(u64),
    /// The requested rank belongs to a request that never completed.
    Infinite,
}

impl Value {
    /// Return the nanoseconds, unless infinite.
    pub const fn finite(self) -> Option<u64> {
        match self {
            Self::Finite(nanos) => Some(nanos),
            Self::Infinite => None,
        }
    }
}

/// The values `low..=high` in nanoseconds, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value of the bin.
    pub low: u64,
    /// Largest value of the bin, inclusive.
    pub high: u64,
    /// Number of values.
    pub count: u64,
}

impl Histogram {
    /// Return the `quantile` of all values by the inverse of the empirical distribution function: the order
    /// statistic of rank `ceil(q n)`, at least 1, where censored values rank last. `None` if empty.
    ///
    /// The lowest and the highest finite rank give the exact minimum and maximum. Another rank gives the middle
    /// of its bin, clamped to them, which is within 1/2048 (0.049 %) of the exact order statistic. There is no
    /// interpolation: every result is, up to that error, the latency of a request.
    pub fn quantile(&self, quantile: Quantile) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        let rank = quantile.rank(self.count());
        Some(if rank > self.finite {
            Value::Infinite
        } else if rank == self.finite {
            Value::Finite(self.max)
        } else if rank == 1 {
            Value::Finite(self.min)
        } else {
            Value::Finite(self.middle_at(rank))
        })
    }

    /// Iterate over the non-empty bins, lowest first. Censored values have no bin.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.used().filter_map(|index| {
            let count = self.bins[index];
            (count > 0).then(|| Bin { low: layout::low_of(index), high: layout::high_of(index), count })
        })
    }

    /// Return how many values, including censored ones, are larger than `value`; values in its bin count as
    /// equal to it.
    pub fn count_above(&self, value: u64) -> u64 {
        let first = layout::index_of(value) + 1;
        let used = self.used();
        self.bins[first.clamp(used.start, used.end)..used.end]
            .iter()
            .fold(self.censored, |sum, &count| sum.saturating_add(count))
    }

    /// Return the fraction of values that are at most `value` (the empirical distribution function, to the
    /// width of a bin); `None` if empty.
    pub fn share_up_to(&self, value: u64) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| (count - self.count_above(value).min(count)) as f64 / count as f64)
    }

    /// Return the middle of the bin that contains the value of `rank`.
    fn middle_at(&self, rank: u64) -> u64 {
        let mut cumulative = 0_u64;
        for index in self.used() {
            cumulative = cumulative.saturating_add(self.bins[index]);
            if cumulative >= rank {
                return layout::middle_of(index).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram_of(values: impl IntoIterator<Item = u64>) -> Histogram {
        values.into_iter().collect()
    }

    fn quantile_at(histogram: &Histogram, q: f64) -> Option<Value> {
        histogram.quantile(Quantile::new(q).unwrap())
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(quantile_at(&Histogram::new(), 0.5), None);
        assert_eq!(Histogram::new().share_up_to(1), None);
        assert_eq!(Histogram::new().count_above(0), 0);
        assert_eq!(Histogram::new().bins().count(), 0);
    }

    #[test]
    fn small_values_have_exact_quantiles() {
        let histogram = histogram_of(1..=1000);
        for (q, value) in [(0.0, 1), (0.001, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000)] {
            assert_eq!(quantile_at(&histogram, q), Some(Value::Finite(value)), "{q}");
        }
    }

    #[test]
    fn a_single_value_is_every_quantile_exactly() {
        let histogram = histogram_of([123_456_789]);
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(quantile_at(&histogram, q), Some(Value::Finite(123_456_789)));
        }
    }

    #[test]
    fn the_extremes_are_exact_where_bins_are_wide() {
        let histogram = histogram_of([1_000_000_001, 1_500_000_000, 1_999_999_999]);
        assert_eq!(quantile_at(&histogram, 0.0), Some(Value::Finite(1_000_000_001)));
        assert_eq!(quantile_at(&histogram, 1.0), Some(Value::Finite(1_999_999_999)));
    }

    #[test]
    fn a_rank_among_the_censored_is_infinite_and_the_one_before_is_not() {
        let mut histogram = histogram_of((1..=99).map(|i| i * 1_000));
        histogram.add_censored(1);
        assert_eq!(quantile_at(&histogram, 0.99), Some(Value::Finite(99_000)));
        assert_eq!(quantile_at(&histogram, 0.991), Some(Value::Infinite));
        assert_eq!(quantile_at(&histogram, 1.0), Some(Value::Infinite));
    }

    #[test]
    fn only_censored_values_are_infinite_at_every_quantile() {
        let mut histogram = Histogram::new();
        histogram.add_censored(3);
        assert_eq!(quantile_at(&histogram, 0.0), Some(Value::Infinite));
        assert_eq!(histogram.mean(), Some(f64::INFINITY));
    }

    #[test]
    fn infinite_is_later_than_every_finite_value() {
        assert!(Value::Infinite > Value::Finite(u64::MAX));
        assert_eq!((Value::Infinite.finite(), Value::Finite(3).finite()), (None, Some(3)));
    }

    #[test]
    fn counts_above_include_censored_and_exclude_equal_values() {
        let mut histogram = histogram_of([10, 20, 20, 30]);
        histogram.add_censored(4);
        for (value, above) in [(0, 8), (9, 8), (10, 7), (20, 5), (30, 4), (u64::MAX, 4)] {
            assert_eq!(histogram.count_above(value), above, "{value}");
        }
        assert_eq!(histogram.share_up_to(20), Some(3.0 / 8.0));
    }

    #[test]
    fn bins_hold_every_finite_value_in_order() {
        let histogram = histogram_of([5, 5, 4096, 4097, 4100]);
        let expected = [(5, 5, 2), (4096, 4099, 2), (4100, 4103, 1)];
        let bins: Vec<_> = histogram.bins().map(|b| (b.low, b.high, b.count)).collect();
        assert_eq!(bins, expected);
    }
}
