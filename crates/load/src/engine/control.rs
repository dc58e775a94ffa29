//! What workers and coordinator share: atomics only, one writer each.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hindmost_clock::Nanos;
use hindmost_plan::{Plan, Warmup};

use crate::record::Series;

/// Windows of latency over time: at least this long, and at most so many.
const WINDOW: Nanos = Nanos::from_millis(100);
const WINDOWS: u64 = 4_000;

/// The moments of a run, on `CLOCK_MONOTONIC`; [`Nanos::MAX`] while not yet known.
///
/// ```text
///   start          calibrate        measure                    end
///     |--- warm-up ---|--- calibration --|------ measurement ------|- the last replies -
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The first request is due after this.
    pub start: Nanos,
    /// The warm-up ends.
    pub calibrate: Nanos,
    /// Recording starts.
    pub measure: Nanos,
    /// Recording ends, and so does the load.
    pub end: Nanos,
}

impl Timeline {
    /// Before anything is known.
    pub(crate) const UNKNOWN: Self =
        Self { start: Nanos::MAX, calibrate: Nanos::MAX, measure: Nanos::MAX, end: Nanos::MAX };

    /// Whether a request due at `due` belongs to the calibration.
    #[inline]
    pub(crate) fn calibrates(&self, due: Nanos) -> bool {
        due >= self.calibrate && due < self.measure
    }
}

/// What the coordinator sets and its workers read.
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
    /// Starts the load at `start`.
    pub fn begin(&self, start: Nanos) {
        self.start.store(start.0, Ordering::Relaxed);
    }

    /// Ends the warm-up at `calibrate`, which must lie ahead, and fixes what follows.
    pub fn fix(&self, calibrate: Nanos, measure: Nanos, end: Nanos) {
        self.measure.store(measure.0, Ordering::Relaxed);
        self.end.store(end.0, Ordering::Relaxed);
        // Last, and released: whoever sees it sees the other two.
        self.calibrate.store(calibrate.0, Ordering::Release);
    }

    /// All moments known by now.
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

    /// Tells all workers to stop at once.
    pub fn abort(&self) {
        self.abort.store(true, Ordering::Relaxed);
    }

    /// Whether to stop at once.
    #[inline]
    pub fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }
}

/// What a worker sets and the coordinator reads.
#[derive(Debug)]
pub struct Progress {
    /// Requests sent since the start.
    pub sent: AtomicU64,
    /// Replies since the start.
    pub replies: AtomicU64,
    /// Latency over time.
    pub series: Series,
}

impl Progress {
    /// Room for `windows` windows.
    pub fn new(windows: usize) -> Self {
        Self { sent: AtomicU64::new(0), replies: AtomicU64::new(0), series: Series::new(windows) }
    }
}

/// Length and number of the windows of latency over time.
pub fn windows(plan: &Plan) -> (Nanos, usize) {
    let warmup = match plan.phases.warmup {
        Warmup::Fixed { seconds } => seconds,
        Warmup::Auto { max_s, .. } => max_s,
    };
    // Other instances may be slower to get warm, hence the half more.
    let all = Nanos::from_secs_f64(
        (warmup * 1.5 + 2.0) + plan.phases.calibration_s + plan.phases.measure_s + plan.timeout_s,
    );
    let window = WINDOW.max(Nanos(all.0 / WINDOWS));
    (window, (all.0 / window.0) as usize + 1)
}
