//! What taking requests in takes of threads that are busy (`arrival_us` of a document).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hindmost_clock::Nanos;

use crate::work::now;

/// ```text
///   arrivals      |a      |b |c               a interrupts the service; c comes while b is taken in
///   service   ====|--a--|=|---b---|=======
/// ```
pub(super) struct Intake {
    takes: Nanos,
    threads: usize,
    /// Threads in a service.
    at_work: AtomicUsize,
    /// Until then somebody takes in, ns.
    until: AtomicU64,
    /// Not given yet, ns: whichever thread works next, or works already, gives it.
    owed: AtomicU64,
}

impl Intake {
    /// Of so many threads; `takes_ns` may be 0, and then nothing is counted.
    pub(super) fn new(takes_ns: f64, threads: usize) -> Self {
        Self {
            takes: Nanos(takes_ns.round() as u64),
            threads,
            at_work: AtomicUsize::new(0),
            until: AtomicU64::new(0),
            owed: AtomicU64::new(0),
        }
    }

    fn costs(&self) -> bool {
        self.takes > Nanos::ZERO
    }

    /// A service begins.
    #[inline]
    pub(super) fn begin(&self) {
        if self.costs() {
            self.at_work.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A service has ended.
    #[inline]
    pub(super) fn end(&self) {
        if self.costs() {
            self.at_work.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Requests have arrived; `others_wait` already. Where a thread is idle this is part of its waking up.
    pub(super) fn arrive(&self, others_wait: bool) {
        if !self.costs() || !(others_wait || self.at_work.load(Ordering::Relaxed) >= self.threads) {
            return;
        }
        let moment = now();
        if moment.0 >= self.until.load(Ordering::Relaxed) {
            self.until.store(moment.saturating_add(self.takes).0, Ordering::Relaxed);
            self.owed.fetch_add(self.takes.0, Ordering::AcqRel);
        }
    }

    /// Whether a thread has to give time.
    #[inline]
    pub(super) fn is_owed(&self) -> bool {
        self.costs() && self.owed.load(Ordering::Acquire) > 0
    }

    /// What is owed; the caller gives it.
    #[inline]
    pub(super) fn take(&self) -> Nanos {
        if self.is_owed() {
            Nanos(self.owed.swap(0, Ordering::AcqRel))
        } else {
            Nanos::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_arrives_while_another_is_taken_in_costs_nothing_more() {
        let day = 86_400e9;
        let intake = Intake::new(day, 2);
        intake.begin();
        intake.arrive(false);
        assert!(!intake.is_owed(), "one of the two threads is idle");
        intake.begin();
        intake.arrive(false);
        intake.arrive(true);
        assert_eq!((intake.take().0, intake.take().0), (day as u64, 0));
        let short = Intake::new(1.0, 1);
        for _ in 0..3 {
            short.arrive(true);
            std::thread::sleep(std::time::Duration::from_micros(1));
        }
        assert_eq!(short.take().0, 3);
        let free = Intake::new(0.0, 1);
        free.arrive(true);
        assert!(!free.is_owed());
    }
}
