//! Latency over time in windows, readable by another thread while it grows.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

/// The replies of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Window {
    /// End of the window, in nanoseconds since the start of the load.
    pub at_ns: u64,
    /// Number of replies.
    pub count: u64,
    /// Median latency, within 3 %.
    pub p50_ns: u64,
    /// 99th percentile of latency, within 3 %.
    pub p99_ns: u64,
}

/// The windows of one worker. The worker appends and any thread reads, without waiting.
#[derive(Debug)]
pub struct Series {
    length: AtomicUsize,
    cells: Vec<[AtomicU64; 4]>,
}

impl Series {
    /// Create a series for `capacity` windows; later windows are dropped.
    pub fn new(capacity: usize) -> Self {
        Self { length: AtomicUsize::new(0), cells: (0..capacity).map(|_| Default::default()).collect() }
    }

    /// Append a window. Only the owning worker may call this.
    pub fn push(&self, window: Window) {
        let at = self.length.load(Ordering::Relaxed);
        if let Some(cell) = self.cells.get(at) {
            for (place, value) in cell.iter().zip([window.at_ns, window.count, window.p50_ns, window.p99_ns])
            {
                place.store(value, Ordering::Relaxed);
            }
            // Release ordering: a thread that sees the new length also sees the cell.
            self.length.store(at + 1, Ordering::Release);
        }
    }

    /// Return all windows so far.
    pub fn snapshot(&self) -> Vec<Window> {
        let read = |cell: &[AtomicU64; 4]| {
            let [at_ns, count, p50_ns, p99_ns] = [0, 1, 2, 3].map(|i: usize| cell[i].load(Ordering::Relaxed));
            Window { at_ns, count, p50_ns, p99_ns }
        };
        self.cells[..self.length.load(Ordering::Acquire)].iter().map(read).collect()
    }
}

/// Sub-buckets per power of two. They are coarse, so that clearing and reading 8 KiB takes well under a
/// microsecond and does not delay a send.
const PER_OCTAVE: u32 = 16;
const OCTAVES: u32 = 60;

/// Number of bins of a latency.
pub const BINS: usize = ((OCTAVES + 1) * PER_OCTAVE) as usize;

/// Return the bin of a latency.
#[inline]
pub fn bin(nanos: u64) -> usize {
    let n = nanos.max(u64::from(PER_OCTAVE));
    let octave = n.ilog2();
    let sub = (n >> (octave - PER_OCTAVE.ilog2())) as u32 & (PER_OCTAVE - 1);
    ((octave - PER_OCTAVE.ilog2()) * PER_OCTAVE + sub) as usize
}

/// Return the quantile at `q` of `total` latencies counted by bin, within 3 %; 0 if there are none.
pub fn quantile(counts: impl Iterator<Item = u64>, total: u64, q: f64) -> u64 {
    let rank = (q * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (bin, count) in counts.enumerate() {
        seen += count;
        if count > 0 && seen >= rank {
            let (octave, sub) = (bin as u32 / PER_OCTAVE, bin as u64 % u64::from(PER_OCTAVE));
            // The middle of the bin.
            return ((2 * (u64::from(PER_OCTAVE) + sub) + 1) << octave) / 2;
        }
    }
    0
}

/// Collects the latencies of one window at a time.
pub struct WindowRecorder {
    counts: Vec<u32>,
    total: u64,
}

impl Default for WindowRecorder {
    fn default() -> Self {
        Self { counts: vec![0; BINS], total: 0 }
    }
}

impl WindowRecorder {
    /// Count one latency.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.counts[bin(nanos)] += 1;
        self.total += 1;
    }

    /// End the window at `at_ns` and start a new one.
    pub fn close(&mut self, at_ns: u64) -> Window {
        let window =
            Window { at_ns, count: self.total, p50_ns: self.quantile(0.5), p99_ns: self.quantile(0.99) };
        self.counts.fill(0);
        self.total = 0;
        window
    }

    fn quantile(&self, q: f64) -> u64 {
        quantile(self.counts.iter().map(|&count| count.into()), self.total, q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_quantiles_are_accurate_to_three_percent() {
        let mut recorder = WindowRecorder::default();
        for i in 1..=1000u64 {
            recorder.record(i * 100);
        }
        let window = recorder.close(5);
        assert_eq!((window.at_ns, window.count), (5, 1000));
        for (got, expected) in [(window.p50_ns, 50_000.0), (window.p99_ns, 99_000.0)] {
            assert!((got as f64 / expected - 1.0).abs() < 0.035, "{got} for {expected}");
        }
        assert_eq!(recorder.close(6), Window { at_ns: 6, ..Window::default() });
    }

    #[test]
    fn every_latency_has_a_bin() {
        let mut recorder = WindowRecorder::default();
        for nanos in [0, 1, 15, 16, 1 << 40, u64::MAX] {
            recorder.record(nanos);
        }
        assert_eq!(recorder.close(0).count, 6);
    }

    #[test]
    fn a_full_series_drops_later_windows() {
        let series = Series::new(1);
        for at_ns in 1..4 {
            series.push(Window { at_ns, ..Window::default() });
        }
        assert_eq!(series.snapshot(), [Window { at_ns: 1, ..Window::default() }]);
    }
}
