//! Sums over requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sums over the requests of one thread or of all threads. Only requests that take service time count as served
/// (memcached: get, set, add, replace, delete; HTTP: requests for a page). Times are in nanoseconds, summed since the
/// start; subtract two readings to get an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ServedTotals {
    /// Requests served.
    pub served: u64,
    /// Time spent on requests, from taking a request until its reply is written.
    pub busy_ns: u64,
    /// Sum of the drawn service times, including locks held and disturbances per request.
    pub drawn_ns: u64,
    /// Sum of the achieved service times, from service start until the reply is written.
    pub achieved_ns: u64,
    /// Sum of the waits for locks; they are part of the achieved service times.
    pub waited_ns: u64,
    /// Sum of the waits from arrival in user space to service start.
    pub queued_ns: u64,
    /// Largest excess of an achieved service time over its drawn time, waits and pauses. It shows that the host took
    /// the CPU away.
    pub worst_overrun_ns: u64,
    /// Keys that lookups found.
    pub hits: u64,
    /// Keys that lookups did not find.
    pub misses: u64,
    /// Set, add and replace commands, including refused ones.
    pub sets: u64,
}

impl ServedTotals {
    /// Return the mean drawn service time in nanoseconds; 0 before the first request.
    pub fn mean_drawn_ns(&self) -> f64 {
        self.mean(self.drawn_ns)
    }

    /// Return the mean achieved service time in nanoseconds.
    pub fn mean_achieved_ns(&self) -> f64 {
        self.mean(self.achieved_ns)
    }

    /// Return the mean wait before service in nanoseconds.
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
