//! Records of one kind of request, and of one server of several.

use hindmost_histogram::Histogram;

use super::{Counts, MessageRecord, Row, Status, WireRecord};

/// Sections of the measurement phase with separate latency histograms. Their spread gives the variance within
/// a run under autocorrelation (batch quantiles), and merging them loses nothing.
pub const SECTIONS: usize = 10;

/// Records of one server of several.
#[derive(Clone, Debug, Default)]
pub struct EndpointRecord {
    /// Counts of its requests.
    pub counts: Counts,
    /// Latency: completed - scheduled, in nanoseconds.
    pub latency: Histogram,
}

impl EndpointRecord {
    #[inline]
    pub(super) fn record(&mut self, row: &Row) {
        self.counts.count(row.status);
        match row.status {
            Status::Hit | Status::Miss => self.latency.record(row.completed_ns - row.scheduled_ns),
            Status::Timeout | Status::Unsent => self.latency.add_censored(1),
            Status::Error | Status::Lost => {}
        }
    }
}

/// Records of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct KindRecord {
    /// Counts of its requests.
    pub counts: Counts,
    /// Latency: completed - scheduled, by section of the measurement phase.
    pub latency: [Histogram; SECTIONS],
    /// Service latency: completed - sent.
    pub service: Histogram,
    /// Send delay: sent - scheduled, without the time held for a batch.
    pub send_delay: Histogram,
    /// Records of the stamped requests.
    pub stamped: WireRecord,
    /// Replies within the timeout by status code, for protocols with codes.
    pub codes: Vec<u64>,
    /// Messages of streamed replies, if the plan asks for them.
    pub messages: Option<MessageRecord>,
}

impl KindRecord {
    /// Add the records of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (mine, theirs) in self.latency.iter_mut().zip(&other.latency) {
            mine.merge(theirs);
        }
        self.service.merge(&other.service);
        self.send_delay.merge(&other.send_delay);
        self.stamped.merge(&other.stamped);
        for (mine, theirs) in self.codes.iter_mut().zip(&other.codes) {
            *mine += theirs;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.messages, &other.messages) {
            mine.merge(theirs);
        }
    }
}
