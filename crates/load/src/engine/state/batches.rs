//! Batching by an interval: when each connection's batch of requests is sent.
//!
//! ```text
//! due      1  2 3        4    5              6
//! sent     1----------->(2 3 4)-------->(5)  6      the next batch follows after at least one interval
//! ```
//!
//! The variability paper (section 6) holds a request until the interval since the last batch has passed *and*
//! another request arrives. Here a timer ends the wait, so the last request before a lull is not held through
//! it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hindmost_clock::Nanos;

#[derive(Debug)]
pub struct Batches {
    /// Zero if requests are sent without batching.
    interval: Nanos,
    /// When each slot's open batch is sent, or when its last batch was.
    leaves: Vec<Nanos>,
    /// Open batches, earliest first. Each slot occurs at most once, so the heap never grows.
    open: BinaryHeap<Reverse<(Nanos, u32)>>,
    is_open: Vec<bool>,
    /// When the next batch is sent; [`Nanos::MAX`] without open batches.
    pub next: Nanos,
}

impl Batches {
    /// Create the batches of `slots` connections. Batches of a connection are at least `interval` apart.
    pub fn new(interval: Nanos, slots: u32) -> Self {
        let slots = if interval == Nanos::ZERO { 0 } else { slots as usize };
        Self {
            interval,
            leaves: vec![Nanos::ZERO; slots],
            open: BinaryHeap::with_capacity(slots),
            is_open: vec![false; slots],
            next: Nanos::MAX,
        }
    }

    #[inline]
    pub fn are_enabled(&self) -> bool {
        self.interval > Nanos::ZERO
    }

    /// Add a request scheduled at `scheduled` to the batch of `slot`.
    pub fn add(&mut self, slot: u32, scheduled: Nanos) {
        let at = slot as usize;
        if self.is_open[at] {
            return;
        }
        self.is_open[at] = true;
        self.leaves[at] = scheduled.max(self.leaves[at].saturating_add(self.interval));
        self.open.push(Reverse((self.leaves[at], slot)));
        self.next = self.next.min(self.leaves[at]);
    }

    /// Return a slot whose batch is to be sent by `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<u32> {
        if self.next > now {
            return None;
        }
        let Reverse((_, slot)) = self.open.pop()?;
        self.is_open[slot as usize] = false;
        self.next = self.open.peek().map_or(Nanos::MAX, |Reverse((at, _))| *at);
        Some(slot)
    }

    /// Return until when batching held a request of `slot` that was scheduled at `scheduled` and sent at `now`.
    #[inline]
    pub fn held_until(&self, slot: u32, scheduled: Nanos, now: Nanos) -> Nanos {
        let leaves = self.leaves.get(slot as usize).copied().unwrap_or(Nanos::ZERO);
        scheduled.max(leaves.min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop_all(batches: &mut Batches, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| batches.pop_due(Nanos(now))).collect()
    }

    #[test]
    fn batches_are_an_interval_apart_and_the_first_after_a_lull_does_not_wait() {
        let mut batches = Batches::new(Nanos(100), 2);
        batches.add(0, Nanos(1_000));
        assert_eq!(pop_all(&mut batches, 1_000), [0]);
        for scheduled in [1_020, 1_030] {
            batches.add(0, Nanos(scheduled));
        }
        batches.add(1, Nanos(1_040));
        assert_eq!(batches.next, Nanos(1_040));
        assert_eq!(pop_all(&mut batches, 1_099), [1]);
        assert_eq!(pop_all(&mut batches, 1_100), [0]);
        assert_eq!((pop_all(&mut batches, 5_000), batches.next), (vec![], Nanos::MAX));
        batches.add(0, Nanos(9_000));
        assert_eq!(batches.next, Nanos(9_000));
    }

    #[test]
    fn time_held_for_a_batch_is_not_send_delay() {
        let mut batches = Batches::new(Nanos(100), 1);
        batches.add(0, Nanos(1_000));
        pop_all(&mut batches, 1_000);
        batches.add(0, Nanos(1_020));
        let held_until = |scheduled, now| batches.held_until(0, Nanos(scheduled), Nanos(now)).0;
        assert_eq!(held_until(1_020, 1_130), 1_100, "30 late");
        assert_eq!(held_until(1_120, 1_130), 1_120, "scheduled after the batch's time, and sent with it");
        assert_eq!(held_until(1_020, 1_050), 1_050, "its connection broke");
        let none = Batches::new(Nanos::ZERO, 1);
        assert_eq!(none.held_until(0, Nanos(7), Nanos(9)), Nanos(7));
    }
}
