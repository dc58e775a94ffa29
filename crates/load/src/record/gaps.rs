//! The gaps between sends, to compare the actual with the requested arrival process.

use hindmost_clock::Nanos;
use hindmost_histogram::{Histogram, UniformSample};
use schemars::JsonSchema;
use serde::Serialize;

/// Interval lengths over which requests are counted: 1, 10 and 100 ms.
pub const SPANS: [Nanos; 3] = [Nanos::from_millis(1), Nanos::from_millis(10), Nanos::from_millis(100)];

/// Ratio of consecutive interval lengths.
const FACTOR: u32 = 10;

/// Number of raw gaps kept for tests that need unbinned data.
const RAW: usize = 1024;

/// Counts of requests sent in intervals of one length. The index of dispersion, variance over mean, is 1 for
/// a Poisson process, 0 for equal gaps, and large for bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Dispersion {
    /// Length of an interval.
    pub span_ns: u64,
    /// Number of complete intervals.
    pub spans: u64,
    /// Number of requests in them.
    pub requests: u64,
    /// Sum of the squared counts of the intervals.
    pub squares: u64,
}

/// Records the send times of one worker in the measurement. A request costs a subtraction, a bin and a
/// comparison; about one request in a thousand also ends an interval.
#[derive(Debug)]
pub struct Gaps {
    /// Gaps between consecutive sends.
    pub histogram: Histogram,
    /// A uniform sample of the gaps.
    pub raw: UniformSample<u64>,
    spans: [Dispersion; SPANS.len()],
    /// Counts of the current intervals, shortest first.
    open: [u64; SPANS.len()],
    closed: [u32; SPANS.len()],
    last: u64,
    span_ends: u64,
}

impl Default for Gaps {
    fn default() -> Self {
        let mut histogram = Histogram::new();
        histogram.prefault();
        Self {
            histogram,
            raw: UniformSample::new(RAW),
            spans: SPANS.map(|span| Dispersion { span_ns: span.0, ..Dispersion::default() }),
            open: [0; SPANS.len()],
            closed: [0; SPANS.len()],
            last: 0,
            span_ends: u64::MAX,
        }
    }
}

impl Gaps {
    /// Start counting at `from`.
    pub fn begin(&mut self, from: Nanos) {
        self.span_ends = from.0 + SPANS[0].0;
    }

    /// Record a request sent at `sent_ns`. `priority` is uniform and independent (`UniformSample`).
    #[inline]
    pub fn record_send(&mut self, sent_ns: u64, priority: u64) {
        if let Some(gap) = self.record(sent_ns) {
            self.raw.offer(priority, gap);
        }
    }

    /// Record the next time. Return the gap before it, unless it is the first.
    #[inline]
    pub fn record(&mut self, at_ns: u64) -> Option<u64> {
        let gap = (self.last != 0).then(|| at_ns - self.last);
        if let Some(gap) = gap {
            self.histogram.record(gap);
        }
        self.last = at_ns;
        while at_ns >= self.span_ends {
            self.close();
        }
        self.open[0] += 1;
        gap
    }

    /// End an interval of the shortest length, and the longer ones that end with it.
    fn close(&mut self) {
        self.span_ends += SPANS[0].0;
        for i in 0..SPANS.len() {
            let count = std::mem::take(&mut self.open[i]);
            let span = &mut self.spans[i];
            span.spans += 1;
            span.requests += count;
            span.squares += count * count;
            let Some(longer) = self.open.get_mut(i + 1) else { break };
            *longer += count;
            self.closed[i] += 1;
            if self.closed[i] < FACTOR {
                break;
            }
            self.closed[i] = 0;
        }
    }

    /// Add the gaps of another worker. Dispersions stay separate, because workers are independent.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.raw.merge(&other.raw);
    }

    /// Return the interval counts, shortest first.
    pub fn dispersion(&self) -> &[Dispersion] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(stamps: impl IntoIterator<Item = u64>) -> Gaps {
        let mut gaps = Gaps::default();
        gaps.begin(Nanos(0));
        stamps.into_iter().for_each(|stamp| gaps.record_send(stamp, stamp));
        gaps
    }

    fn index(d: &Dispersion) -> f64 {
        let mean = d.requests as f64 / d.spans as f64;
        (d.squares as f64 / d.spans as f64 - mean * mean) / mean
    }

    #[test]
    fn equal_gaps_have_no_dispersion() {
        let gaps = follow((1..=1_000_000).map(|i| i * 10_000));
        assert_eq!((gaps.histogram.count(), gaps.histogram.min()), (999_999, Some(10_000)));
        for d in gaps.dispersion() {
            assert!(index(d) < 1e-2, "{d:?}");
            assert!(d.spans * d.span_ns >= 9_800_000_000, "{d:?}");
        }
    }

    #[test]
    fn clumps_of_twenty_milliseconds_stand_out_below_their_length() {
        // Two hundred requests at once, fifty times a second.
        let gaps = follow((1..=500u64).flat_map(|clump| (0..200).map(move |i| clump * 20_000_000 + i)));
        let found: Vec<f64> = gaps.dispersion().iter().map(index).collect();
        assert!(found[0] > 150.0 && found[1] > 80.0 && found[2] < 2.0, "{found:?}");
    }
}
