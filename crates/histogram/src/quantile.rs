use std::cmp::Ordering;
use std::fmt;

/// A fraction of a distribution in `[0, 1]`: the part at or below the requested value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile(f64);

impl Quantile {
    /// The median.
    pub const P50: Self = Self(0.5);
    /// One request in ten is slower.
    pub const P90: Self = Self(0.9);
    /// One request in twenty is slower.
    pub const P95: Self = Self(0.95);
    /// One request in a hundred is slower.
    pub const P99: Self = Self(0.99);
    /// One request in a thousand is slower.
    pub const P999: Self = Self(0.999);
    /// One request in ten thousand is slower.
    pub const P9999: Self = Self(0.9999);

    /// Create the quantile `q`; `None` unless `0 <= q <= 1`.
    pub fn new(q: f64) -> Option<Self> {
        // Adding zero turns -0 into 0, so that equal quantiles compare as equal.
        (0.0..=1.0).contains(&q).then_some(Self(q + 0.0))
    }

    /// Return the fraction, in `[0, 1]`.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Return the name as a percentile: `p50`, `p99.9`, `p99.99`.
    pub fn label(self) -> String {
        // Ten decimals hide the rounding of `q * 100` and still distinguish p99.99999999 from p100.
        let percent = format!("{:.10}", self.0 * 100.0);
        format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
    }

    /// Return the rank, in `1..=n`, of the order statistic that is this quantile of `n` values: `ceil(q n)`. A
    /// product that differs from a whole number only by the rounding of `q` counts as that number: 0.07 of 100
    /// values is the 7th, though the double nearest to 0.07 is slightly larger. R's `quantile(type = 1)` allows
    /// the same 4 ulp.
    pub(crate) fn rank(self, n: u64) -> u64 {
        let product = self.0 * n as f64;
        let whole = product.round();
        let close = (product - whole).abs() <= 4.0 * f64::EPSILON * product;
        let rank = if close { whole } else { product.ceil() };
        (rank as u64).clamp(1, n.max(1))
    }
}

impl Eq for Quantile {}

impl Ord for Quantile {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Quantile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_percentiles_without_rounding_noise() {
        for (q, label) in [
            (0.0, "p0"),
            (-0.0, "p0"),
            (0.07, "p7"),
            (0.5, "p50"),
            (0.95, "p95"),
            (0.999, "p99.9"),
            (0.9999, "p99.99"),
            (0.99999, "p99.999"),
            (1.0, "p100"),
        ] {
            assert_eq!(Quantile::new(q).unwrap().label(), label);
        }
    }

    #[test]
    fn numbers_outside_zero_to_one_are_refused() {
        for bad in [-1e-9, 1.000_000_1, 50.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Quantile::new(bad), None);
        }
    }

    #[test]
    fn ranks_follow_the_decimal_number_as_written() {
        for (q, n, rank) in [
            (0.0, 100, 1),
            (0.07, 100, 7),
            (0.29, 100, 29),
            (0.99, 100, 99),
            (0.991, 100, 100),
            (0.999, 1_000, 999),
            (0.999, 999, 999),
            (0.5, 3, 2),
            (0.5, 1, 1),
            (1.0, u64::MAX, u64::MAX),
            (0.5, 0, 1),
        ] {
            assert_eq!(Quantile::new(q).unwrap().rank(n), rank, "{q} of {n}");
        }
    }
}
