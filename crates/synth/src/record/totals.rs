//! What was done, in sums.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one thread did, or the sum over threads. Only requests that take service time (memcached: get, set, add,
/// replace, delete; HTTP: whatever finds a page) count as served. All times are nanoseconds, summed since the start; two of them,
/// taken one after the other, can be subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ServedTotals {
    /// Requests served.
    pub served: u64,
    /// Time spent working on requests, from taking one up to its reply being written.
    pub busy_ns: u64,
    /// Sum of the service times drawn, locks held and disturbances of requests included.
    pub drawn_ns: u64,
    /// Sum of the service times achieved: reply written minus service start.
    pub achieved_ns: u64,
    /// Sum of the waits for locks, in the service times achieved.
    pub waited_ns: u64,
    /// Sum of the waits from arrival in user space to service start.
    pub queued_ns: u64,
    /// Largest excess of one service time achieved over what was drawn, waited and stood still: the host took the
    /// CPU away.
    pub worst_overrun_ns: u64,
    /// Keys looked up and found.
    pub hits: u64,
    /// Keys looked up and not found.
    pub misses: u64,
    /// Values stored, or refused, by set, add and replace.
    pub sets: u64,
}

impl ServedTotals {
    /// Mean service time drawn, nanoseconds; 0 before the first request.
    pub fn mean_drawn_ns(&self) -> f64 {
        self.mean(self.drawn_ns)
    }

    /// Mean service time achieved, nanoseconds.
    pub fn mean_achieved_ns(&self) -> f64 {
        self.mean(self.achieved_ns)
    }

    /// Mean wait before service, nanoseconds.
    pub fn mean_queued_ns(&self) -> f64 {
        self.mean(self.queued_ns)
    }

    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.served.max(1) as f64
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.served += other.served;
        self.busy_ns += other.busy_ns;
        self.drawn_ns += other.drawn_ns;
        self.achieved_ns += other.achieved_ns;
        self.waited_ns += other.waited_ns;
        self.queued_ns += other.queued_ns;
        self.worst_overrun_ns = self.worst_overrun_ns.max(other.worst_overrun_ns);
        self.hits += other.hits;
        self.misses += other.misses;
        self.sets += other.sets;
    }
}
