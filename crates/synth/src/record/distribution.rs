//! A distribution of times in the summary.

use hindmost_histogram::{Histogram, Quantile, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of times, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TimeDistribution {
    /// How many.
    pub count: u64,
    /// Mean, exact.
    pub mean_ns: f64,
    /// Quantiles, each within 0.05 % of an order statistic.
    pub p50_ns: u64,
    /// 90 %.
    pub p90_ns: u64,
    /// 95 %.
    pub p95_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// 99.9 %.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The whole of it: `[longest time of the bin, how many]`, empty bins left out.
    pub bins: Vec<(u64, u64)>,
}

impl TimeDistribution {
    pub(crate) fn of(times: &Histogram) -> Self {
        let at = |q: f64| {
            let value = Quantile::new(q).and_then(|quantile| times.quantile(quantile));
            value.and_then(Value::finite).unwrap_or(0)
        };
        Self {
            count: times.count(),
            mean_ns: times.mean().unwrap_or(0.0),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: times.max().unwrap_or(0),
            bins: times.bins().map(|bin| (bin.high, bin.count)).collect(),
        }
    }
}
