//! State shared between workers and the coordinator. It consists of atomics with one writer each.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hindmost_clock::Nanos;
use hindmost_plan::{Plan, Warmup};

use crate::record::Series;

/// Shortest window of the latency series, and the largest number of windows.
const WINDOW: Nanos = Nanos::from_millis(100);
const WINDOWS: u64 = 4_000;

/// Phase boundaries of a run on `CLOCK_MONOTONIC`. A boundary is [`Nanos::MAX`] until it is known.
///
/// ```text
///   start          calibrate        measure                    end
///     |--- warm-up ---|--- calibration --|------ measurement ------|- the last replies -
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// No request is scheduled before this time.
    pub start: Nanos,
    /// The warm-up ends.
    pub calibrate: Nanos,
    /// Recording starts.
    pub measure: Nanos,
    /// Recording and load end.
    pub end: Nanos,
}

impl Timeline {
    /// No boundary is known yet.
    pub(crate) const UNKNOWN: Self =
        Self { start: Nanos::MAX, calibrate: Nanos::MAX, measure: Nanos::MAX, end: Nanos::MAX };

    /// Whether a request scheduled at `scheduled` belongs to the calibration.
    #[inline]
    pub(crate) fn calibrates(&self, scheduled: Nanos) -> bool {
        scheduled >= self.calibrate && scheduled < self.measure
    }

    /// Whether a session that began at `begun` is measured: in the first half of the measurement, so that each has
    /// the other half to end. Later ones would be measured only if they are short.
    pub(crate) fn measures_session(&self, begun: Nanos) -> bool {
        begun >= self.measure && begun.0 < self.measure.0.midpoint(self.end.0)
    }
}

/// Phase boundaries and the abort flag, set by the coordinator and read by its workers.
#[derive(Debug)]
pub struct Control {
    start: AtomicU64,
    calibrate: AtomicU64,
    measure: AtomicU64,
    end: AtomicU64,
    abort: AtomicBool,
}

impl Default for Control {
    fn default() -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        Self {
            start: unknown(),
            calibrate: unknown(),
            measure: unknown(),
            end: unknown(),
            abort: AtomicBool::new(false),
        }
    }
}

impl Control {
    /// Start the load at `start`.
    pub fn begin(&self, start: Nanos) {
        self.start.store(start.0, Ordering::Relaxed);
    }

    /// End the warm-up at `calibrate`, which must be in the future, and set the later boundaries.
    pub fn set_phases(&self, calibrate: Nanos, measure: Nanos, end: Nanos) {
        self.measure.store(measure.0, Ordering::Relaxed);
        self.end.store(end.0, Ordering::Relaxed);
        // Stored last with release ordering: a thread that sees it also sees the other two.
        self.calibrate.store(calibrate.0, Ordering::Release);
    }

    /// Return the boundaries known so far.
    #[inline]
    pub fn timeline(&self) -> Timeline {
        let calibrate = Nanos(self.calibrate.load(Ordering::Acquire));
        let known = calibrate != Nanos::MAX;
        let read = |cell: &AtomicU64| if known { Nanos(cell.load(Ordering::Relaxed)) } else { Nanos::MAX };
        Timeline {
            start: Nanos(self.start.load(Ordering::Relaxed)),
            calibrate,
            measure: read(&self.measure),
            end: read(&self.end),
        }
    }

    /// Tell all workers to stop at once.
    pub fn abort(&self) {
        self.abort.store(true, Ordering::Relaxed);
    }

    /// Whether workers must stop at once.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// Counters that a worker sets and the coordinator reads.
#[derive(Debug)]
pub struct Progress {
    /// Requests sent since the load started.
    pub sent: AtomicU64,
    /// Replies received since the load started.
    pub replies: AtomicU64,
    /// Latency over time.
    pub series: Series,
}

impl Progress {
    /// Create counters with `windows` windows of latency.
    pub fn new(windows: usize) -> Self {
        Self { sent: AtomicU64::new(0), replies: AtomicU64::new(0), series: Series::new(windows) }
    }
}

/// Return the length and the number of windows in the latency series.
pub fn windows(plan: &Plan) -> (Nanos, usize) {
    let warmup = match plan.phases.warmup {
        Warmup::Fixed { seconds } => seconds,
        Warmup::Auto { max_s, .. } => max_s,
    };
    // Other clients may take longer to warm up, so the series has room for half as much again.
    let all = Nanos::from_secs_f64(
        (warmup * 1.5 + 2.0) + plan.phases.calibration_s + plan.phases.measure_s + plan.timeout_s,
    );
    let window = WINDOW.max(Nanos(all.0 / WINDOWS));
    (window, (all.0 / window.0) as usize + 1)
}
