//! What is kept of one kind of request, and of one server of several.

use hindmost_histogram::Histogram;

use super::{Counts, Row, Status, WireRecord};

/// Parts of the measurement phase whose latencies are kept apart: their spread gives the variance
/// within a run under autocorrelation (batch quantiles), and they merge without loss into the whole.
pub const SECTIONS: usize = 10;

/// What is kept of one server of several.
#[derive(Clone, Debug, Default)]
pub struct EndpointRecord {
    /// The account.
    pub counts: Counts,
    /// done - due.
    pub latency: Histogram,
}

impl EndpointRecord {
    #[inline]
    pub(super) fn ended(&mut self, row: &Row) {
        self.counts.count(row.status);
        match row.status {
            Status::Hit | Status::Miss => self.latency.record(row.done_ns - row.due_ns),
            Status::Timeout | Status::Unsent => self.latency.add_censored(1),
            Status::Error | Status::Lost => {}
        }
    }
}

/// What is kept of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct KindRecord {
    /// The account.
    pub counts: Counts,
    /// done - due, by section of the measurement phase.
    pub latency: [Histogram; SECTIONS],
    /// done - sent.
    pub service: Histogram,
    /// sent - due, less what the request was held for its batch.
    pub slip: Histogram,
    /// Of the stamped requests.
    pub stamped: WireRecord,
    /// Replies in time by status code, for protocols that have such.
    pub codes: Vec<u64>,
}

impl KindRecord {
    /// Adds what another worker kept.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        for (mine, theirs) in self.latency.iter_mut().zip(&other.latency) {
            mine.merge(theirs);
        }
        self.service.merge(&other.service);
        self.slip.merge(&other.slip);
        self.stamped.merge(&other.stamped);
        for (mine, theirs) in self.codes.iter_mut().zip(&other.codes) {
            *mine += theirs;
        }
    }
}
