//! Records of sessions.

use hindmost_histogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// Counts of sessions that began in the first half of the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SessionCounts {
    /// All of them.
    pub begun: u64,
    /// Sessions whose last request was answered.
    pub completed: u64,
    /// Sessions that ended with a request that was not answered, was answered too late, or with an error.
    pub failed: u64,
    /// Sessions that had requests left when the load ended.
    pub cut_off: u64,
}

impl SessionCounts {
    /// Add other counts.
    pub fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.failed += other.failed;
        self.cut_off += other.cut_off;
    }
}

/// Records of the sessions of one worker.
#[derive(Clone, Debug, Default)]
pub struct SessionRecord {
    /// Times from the scheduled time of the first request to the last reply. Other sessions are infinitely long.
    pub durations: Histogram,
    /// Counts.
    pub counts: SessionCounts,
}

impl SessionRecord {
    /// Record a session whose last request was answered.
    pub fn record_completed(&mut self, duration_ns: u64) {
        self.durations.record(duration_ns);
        self.counts.completed += 1;
    }

    /// Record the sessions that have not completed.
    pub fn record_others(&mut self, failed: u64, cut_off: u64) {
        self.durations.add_censored(failed + cut_off);
        (self.counts.failed, self.counts.cut_off) = (failed, cut_off);
        self.counts.begun = self.counts.completed + failed + cut_off;
    }

    /// Add the records of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        self.durations.merge(&other.durations);
        self.counts.add(&other.counts);
    }
}
