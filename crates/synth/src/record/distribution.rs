//! Distributions of times in the summary.

use hindmost_histogram::{Histogram, Quantile, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution of times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct TimeDistribution {
    /// Number of values.
    pub count: u64,
    /// Exact mean.
    pub mean_ns: f64,
    /// Median; all quantiles are within 0.05 % of an order statistic.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Maximum.
    pub max_ns: u64,
    /// The histogram: `[longest time of the bin, count]`, without empty bins.
    pub bins: Vec<(u64, u64)>,
}

impl TimeDistribution {
    pub(crate) fn new(times: &Histogram) -> Self {
        let quantile = |q: f64| {
            let value = Quantile::new(q).and_then(|q| times.quantile(q));
            value.and_then(Value::finite).unwrap_or(0)
        };
        Self {
            count: times.count(),
            mean_ns: times.mean().unwrap_or(0.0),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: times.max().unwrap_or(0),
            bins: times.bins().map(|bin| (bin.high, bin.count)).collect(),
        }
    }
}
