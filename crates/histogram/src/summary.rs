//! What is read from a histogram once recording is over.

use crate::layout;
use crate::{Histogram, Quantile};

/// A value of the distribution, in nanoseconds, which may be infinitely late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A latency that was measured, within 1/2048 of itself.
    Finite(u64),
    /// The rank asked for is one of the requests that never ended.
    Infinite,
}

impl Value {
    /// The nanoseconds, unless infinite.
    pub const fn finite(self) -> Option<u64> {
        match self {
            Self::Finite(nanos) => Some(nanos),
            Self::Infinite => None,
        }
    }
}

/// The values `low..=high`, in nanoseconds, and how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest value counted here.
    pub low: u64,
    /// The largest value counted here, inclusive.
    pub high: u64,
    /// How many values.
    pub count: u64,
}

impl Histogram {
    /// The `quantile` of all values, by the inverse of the empirical distribution function: the
    /// order statistic of rank `ceil(q n)`, at least 1, with the censored values ranking last.
    /// `None` when empty.
    ///
    /// The lowest and the highest finite rank give the exact minimum and maximum; another rank
    /// gives the middle of its bin, clamped to them, which is within 1/2048 (0.049 %) of the order
    /// statistic that sorting all values would find. No interpolation: every answer is, up to that
    /// error, a latency that a request had.
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

    /// The non-empty bins, lowest first. Censored values have none.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        self.used().filter_map(|index| {
            let count = self.bins[index];
            (count > 0).then(|| Bin { low: layout::low_of(index), high: layout::high_of(index), count })
        })
    }

    /// How many values, censored ones too, are larger than `value`; those that share its bin
    /// count as equal to it.
    pub fn count_above(&self, value: u64) -> u64 {
        let first = layout::index_of(value) + 1;
        let used = self.used();
        self.bins[first.clamp(used.start, used.end)..used.end]
            .iter()
            .fold(self.censored, |sum, &count| sum.saturating_add(count))
    }

    /// The share of values that are at most `value` (the empirical distribution function, to the
    /// width of a bin); `None` when empty.
    pub fn share_up_to(&self, value: u64) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| (count - self.count_above(value).min(count)) as f64 / count as f64)
    }

    /// The middle of the bin in which the value of `rank` lies.
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

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        values.into_iter().collect()
    }

    fn at(histogram: &Histogram, q: f64) -> Option<Value> {
        histogram.quantile(Quantile::new(q).unwrap())
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(at(&Histogram::new(), 0.5), None);
        assert_eq!(Histogram::new().share_up_to(1), None);
        assert_eq!(Histogram::new().count_above(0), 0);
        assert_eq!(Histogram::new().bins().count(), 0);
    }

    #[test]
    fn small_values_have_exact_quantiles() {
        let histogram = of(1..=1000);
        for (q, value) in [(0.0, 1), (0.001, 1), (0.5, 500), (0.99, 990), (0.999, 999), (1.0, 1000)] {
            assert_eq!(at(&histogram, q), Some(Value::Finite(value)), "{q}");
        }
    }

    #[test]
    fn a_single_value_is_every_quantile_exactly() {
        let histogram = of([123_456_789]);
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(at(&histogram, q), Some(Value::Finite(123_456_789)));
        }
    }

    #[test]
    fn the_extremes_are_exact_where_bins_are_wide() {
        let histogram = of([1_000_000_001, 1_500_000_000, 1_999_999_999]);
        assert_eq!(at(&histogram, 0.0), Some(Value::Finite(1_000_000_001)));
        assert_eq!(at(&histogram, 1.0), Some(Value::Finite(1_999_999_999)));
    }

    #[test]
    fn a_rank_among_the_censored_is_infinite_and_the_one_before_is_not() {
        let mut histogram = of((1..=99).map(|i| i * 1_000));
        histogram.add_censored(1);
        assert_eq!(at(&histogram, 0.99), Some(Value::Finite(99_000)));
        assert_eq!(at(&histogram, 0.991), Some(Value::Infinite));
        assert_eq!(at(&histogram, 1.0), Some(Value::Infinite));
    }

    #[test]
    fn only_censored_values_are_infinite_at_every_quantile() {
        let mut histogram = Histogram::new();
        histogram.add_censored(3);
        assert_eq!(at(&histogram, 0.0), Some(Value::Infinite));
        assert_eq!(histogram.mean(), Some(f64::INFINITY));
    }

    #[test]
    fn infinite_is_later_than_every_finite_value() {
        assert!(Value::Infinite > Value::Finite(u64::MAX));
        assert_eq!((Value::Infinite.finite(), Value::Finite(3).finite()), (None, Some(3)));
    }

    #[test]
    fn counts_above_hold_the_censored_and_exclude_equals() {
        let mut histogram = of([10, 20, 20, 30]);
        histogram.add_censored(4);
        for (value, above) in [(0, 8), (9, 8), (10, 7), (20, 5), (30, 4), (u64::MAX, 4)] {
            assert_eq!(histogram.count_above(value), above, "{value}");
        }
        assert_eq!(histogram.share_up_to(20), Some(3.0 / 8.0));
    }

    #[test]
    fn bins_hold_every_finite_value_in_order() {
        let histogram = of([5, 5, 4096, 4097, 4100]);
        let expected = [(5, 5, 2), (4096, 4099, 2), (4100, 4103, 1)];
        let bins: Vec<_> = histogram.bins().map(|b| (b.low, b.high, b.count)).collect();
        assert_eq!(bins, expected);
    }
}
