//! Latencies of one second.

use hindmost_histogram::Histogram;

/// Readings of a source since the last call.
pub(crate) struct Intake {
    pub(crate) latency: Histogram,
    pub(crate) errors: u64,
    /// Scheduled time of the oldest unanswered request, in monotonic nanoseconds; 0: none.
    pub(crate) oldest: u64,
    pub(crate) send_delay_ns: u64,
    /// CPU time of the source's thread since its start.
    pub(crate) cpu_ns: u64,
    /// Scheduled time and latency of each request in nanoseconds, if requested.
    pub(crate) each: Option<Vec<(u64, u64)>>,
}

impl Intake {
    pub(crate) fn new(each: bool) -> Self {
        let each = each.then(Vec::new);
        Self { latency: Histogram::new(), errors: 0, oldest: 0, send_delay_ns: 0, cpu_ns: 0, each }
    }

    pub(crate) fn clear(&mut self) {
        self.latency.clear();
        (self.errors, self.send_delay_ns, self.oldest) = (0, 0, 0);
        if let Some(each) = &mut self.each {
            each.clear();
        }
    }

    pub(crate) fn record(&mut self, scheduled: u64, latency: u64) {
        self.latency.record(latency);
        if let Some(each) = &mut self.each {
            each.push((scheduled, latency));
        }
    }
}
