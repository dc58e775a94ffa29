//! The CPU cost of arriving requests to busy threads (`arrival_us` of a document).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hindmost_clock::Nanos;

use crate::work::now;

/// ```text
///   arrivals      |a      |b |c               a interrupts the service; c arrives during the cost of b
///   service   ====|--a--|=|---b---|=======
/// ```
pub(super) struct ArrivalCost {
    cost: Nanos,
    threads: usize,
    /// Number of threads in a service.
    busy: AtomicUsize,
    /// End of the current arrival's cost, in ns: further arrivals until then cost nothing.
    until: AtomicU64,
    /// Cost in ns that no thread has spent yet: the next working thread spends it.
    unspent: AtomicU64,
}

impl ArrivalCost {
    /// Prepare for a number of threads; with `cost_ns` 0, nothing is counted.
    pub(super) fn new(cost_ns: f64, threads: usize) -> Self {
        Self {
            cost: Nanos(cost_ns.round() as u64),
            threads,
            busy: AtomicUsize::new(0),
            until: AtomicU64::new(0),
            unspent: AtomicU64::new(0),
        }
    }

    fn is_simulated(&self) -> bool {
        self.cost > Nanos::ZERO
    }

    /// Count a starting service.
    #[inline]
    pub(super) fn service_begins(&self) {
        if self.is_simulated() {
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Count an ended service.
    #[inline]
    pub(super) fn service_ends(&self) {
        if self.is_simulated() {
            self.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Record arriving requests; `others_wait` if there are requests in the queue. If a thread is idle, the cost is
    /// part of its wake-up.
    pub(super) fn requests_arrive(&self, others_wait: bool) {
        if !self.is_simulated() || !(others_wait || self.busy.load(Ordering::Relaxed) >= self.threads) {
            return;
        }
        let time = now();
        if time.0 >= self.until.load(Ordering::Relaxed) {
            self.until.store(time.saturating_add(self.cost).0, Ordering::Relaxed);
            self.unspent.fetch_add(self.cost.0, Ordering::AcqRel);
        }
    }

    /// Whether a thread has to spend time on arrivals.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.is_simulated() && self.unspent.load(Ordering::Acquire) > 0
    }

    /// Take the unspent cost; the caller must spend it.
    #[inline]
    pub(super) fn take(&self) -> Nanos {
        if self.is_due() {
            Nanos(self.unspent.swap(0, Ordering::AcqRel))
        } else {
            Nanos::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_during_the_cost_of_another_are_free() {
        let day = 86_400e9;
        let arrival_cost = ArrivalCost::new(day, 2);
        arrival_cost.service_begins();
        arrival_cost.requests_arrive(false);
        assert!(!arrival_cost.is_due(), "one of the two threads is idle");
        arrival_cost.service_begins();
        arrival_cost.requests_arrive(false);
        arrival_cost.requests_arrive(true);
        assert_eq!((arrival_cost.take().0, arrival_cost.take().0), (day as u64, 0));
        let short = ArrivalCost::new(1.0, 1);
        for _ in 0..3 {
            short.requests_arrive(true);
            std::thread::sleep(std::time::Duration::from_micros(1));
        }
        assert_eq!(short.take().0, 3);
        let free = ArrivalCost::new(0.0, 1);
        free.requests_arrive(true);
        assert!(!free.is_due());
    }
}
