//! Latencies of one second.

use hindmost_histogram::Histogram;

/// What a source has seen since it was last asked.
pub(crate) struct Intake {
    pub(crate) latency: Histogram,
    pub(crate) errors: u64,
    /// Monotonic nanoseconds at which the oldest request without an answer was due; 0: none.
    pub(crate) oldest: u64,
    pub(crate) slip_ns: u64,
    /// Processor time of the source's thread since its start.
    pub(crate) cpu_ns: u64,
    /// Due time and latency of each, nanoseconds, where they are wanted one by one.
    pub(crate) each: Option<Vec<(u64, u64)>>,
}

impl Intake {
    pub(crate) fn new(each: bool) -> Self {
        let each = each.then(Vec::new);
        Self { latency: Histogram::new(), errors: 0, oldest: 0, slip_ns: 0, cpu_ns: 0, each }
    }

    pub(crate) fn clear(&mut self) {
        self.latency.clear();
        (self.errors, self.slip_ns, self.oldest) = (0, 0, 0);
        if let Some(each) = &mut self.each {
            each.clear();
        }
    }

    pub(crate) fn record(&mut self, due: u64, latency: u64) {
        self.latency.record(latency);
        if let Some(each) = &mut self.each {
            each.push((due, latency));
        }
    }
}
