//! The stamped requests of one connection.
//!
//! ```text
//!  chosen ── written (key) ── transmit stamp ── receive stamp, done ── ended
//!                       └── receive stamp, done ── transmit stamp (a NIC delivers late) ── ended
//! ```

use std::collections::VecDeque;

use super::request::{Ending, Pending};
use crate::transport::{Segment, Source, Stamp, TransmitStamp};

/// Most requests of a worker that wait for a stamp, over all its connections,
const WAITING: usize = 1 << 13;
/// and the bounds for one connection.
const FEWEST: usize = 4;
const MOST: usize = 64;

/// Return the queue capacity of one connection, for `slots` connections per worker.
pub fn capacity_per_connection(slots: u32) -> usize {
    (WAITING / slots.max(1) as usize).clamp(FEWEST, MOST)
}

/// A request that the kernel stamps.
#[derive(Clone, Copy, Debug)]
pub struct StampedRequest {
    /// Number of the request over the connection's life.
    serial: u64,
    /// The stamp key of its write, once it is written.
    key: Option<u32>,
    out: Stamp,
    answer: Option<Answer>,
}

/// The end of a request whose transmit stamp is not known yet.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub pending: Pending,
    pub ending: Ending,
    /// The segment in which its reply ended.
    pub last: Segment,
}

/// Stamped requests, oldest first. Never grows beyond its initial capacity.
#[derive(Debug)]
pub struct StampQueue(VecDeque<StampedRequest>);

impl StampQueue {
    pub fn with_capacity(capacity: usize) -> Self {
        Self(VecDeque::with_capacity(capacity))
    }

    /// Add request `serial`. If the queue is full, the request has no stamps.
    #[inline]
    pub fn push(&mut self, serial: u64) {
        if self.0.len() < self.0.capacity() {
            self.0.push_back(StampedRequest { serial, key: None, out: Stamp::default(), answer: None });
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the next write must request a stamp.
    #[inline]
    pub fn wants_stamp(&self) -> bool {
        self.0.back().is_some_and(|last| last.key.is_none())
    }

    /// Record that all bytes so far are written, under the stamp key `key`.
    #[inline]
    pub fn assign_key(&mut self, key: u32) {
        for one in self.0.iter_mut().rev().take_while(|one| one.key.is_none()) {
            one.key = Some(key);
        }
    }

    /// Add a transmit stamp to its requests. The kernel reports software stamps in order. A skipped stamp
    /// means that its packet was merged with a later write, so both were sent together.
    pub fn add_transmit_stamp(&mut self, sent: TransmitStamp) {
        let Some(last) = self.0.iter().rposition(|one| one.key == Some(sent.key)) else { return };
        for one in self.0.iter_mut().take(last + 1) {
            if one.key == Some(sent.key) {
                one.out.add(sent.stamp);
            } else {
                one.out.add(Stamp { hardware_ns: 0, ..sent.stamp });
            }
        }
    }

    /// Whether `source` has stamped all written requests.
    pub fn all_stamped(&self, source: Source) -> bool {
        self.0.iter().all(|one| one.key.is_none() || one.out.has(source))
    }

    /// Return the oldest request that waits for its reply.
    #[inline]
    pub fn first_unanswered(&self) -> Option<u64> {
        self.0.iter().find(|one| one.answer.is_none()).map(|one| one.serial)
    }

    /// Return the transmit stamp of request `serial` as far as it is known, or `None` if it is not in the
    /// queue.
    pub fn transmit_stamp(&self, serial: u64) -> Option<Stamp> {
        self.0.iter().find(|one| one.serial == serial).map(|one| one.out)
    }

    /// Remove request `serial`, which has ended.
    pub fn remove(&mut self, serial: u64) {
        if let Some(at) = self.0.iter().position(|one| one.serial == serial) {
            self.0.remove(at);
        }
    }

    /// Store the answer of request `serial`, which waits for its transmit stamp.
    pub fn record_answer(&mut self, serial: u64, answer: Answer) {
        if let Some(one) = self.0.iter_mut().find(|one| one.serial == serial) {
            one.answer = Some(answer);
        }
    }

    /// Whether an answered request waits for its transmit stamp.
    pub fn awaits_stamps(&self) -> bool {
        self.0.front().is_some_and(|one| one.answer.is_some())
    }

    /// Remove the oldest request if it is answered and `is_enough` accepts its answer and transmit stamp.
    pub fn pop_answered(
        &mut self,
        is_enough: impl FnOnce(&Answer, Stamp) -> bool,
    ) -> Option<(Answer, Stamp)> {
        let (answer, out) = self.0.front().and_then(|one| Some((one.answer?, one.out)))?;
        if !is_enough(&answer, out) {
            return None;
        }
        self.0.pop_front();
        Some((answer, out))
    }

    /// Remove the oldest answered request, and drop older requests. Return `None` if there is none.
    pub fn pop_or_drop(&mut self) -> Option<(Answer, Stamp)> {
        loop {
            let one = self.0.pop_front()?;
            if let Some(answer) = one.answer {
                return Some((answer, one.out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Status;

    /// Create a queue of requests 0, 1, ... written under these keys.
    fn queue(keys: &[Option<u32>]) -> StampQueue {
        let mut queue = StampQueue::with_capacity(keys.len().max(1));
        for (serial, key) in (0..).zip(keys) {
            queue.push(serial);
            if let Some(key) = key {
                queue.assign_key(*key);
            }
        }
        queue
    }

    fn outs(queue: &StampQueue) -> Vec<(u64, u64)> {
        queue.0.iter().map(|one| (one.out.software_ns, one.out.hardware_ns)).collect()
    }

    #[test]
    fn a_merged_write_has_the_stamp_of_the_later_one() {
        let mut queue = queue(&[Some(9), None, Some(19), Some(29), None]);
        queue.add_transmit_stamp(TransmitStamp { key: 5, stamp: Stamp { software_ns: 50, hardware_ns: 0 } });
        assert_eq!(outs(&queue), [(0, 0); 5], "an unknown key");
        queue.add_transmit_stamp(TransmitStamp { key: 19, stamp: Stamp { software_ns: 60, hardware_ns: 0 } });
        assert!(!queue.all_stamped(Source::Software));
        queue.add_transmit_stamp(TransmitStamp { key: 29, stamp: Stamp { software_ns: 0, hardware_ns: 8 } });
        queue.add_transmit_stamp(TransmitStamp { key: 29, stamp: Stamp { software_ns: 70, hardware_ns: 0 } });
        queue.add_transmit_stamp(TransmitStamp { key: 29, stamp: Stamp { software_ns: 90, hardware_ns: 0 } });
        // A NIC may report stamps in any order.
        assert_eq!(outs(&queue), [(60, 0), (60, 0), (60, 0), (70, 8), (0, 0)]);
        assert!(queue.all_stamped(Source::Software) && !queue.all_stamped(Source::Hardware));
    }

    #[test]
    fn requests_beyond_the_capacity_are_not_queued() {
        let mut queue = StampQueue::with_capacity(1);
        let capacity = queue.0.capacity() as u64;
        (0..capacity + 5).for_each(|serial| queue.push(serial));
        assert_eq!((queue.0.len() as u64, queue.0.capacity() as u64), (capacity, capacity));
        assert!(queue.wants_stamp() && queue.transmit_stamp(capacity).is_none());
    }

    #[test]
    fn an_answered_request_waits_at_the_front_until_its_stamp_is_enough() {
        let mut queue = queue(&[Some(9), Some(19)]);
        let ending = Ending { completed_ns: 70, ..Ending::without_answer(Status::Hit) };
        let answer = Answer { pending: Pending::BLANK, ending, last: Segment::default() };
        queue.record_answer(1, answer);
        assert!(!queue.awaits_stamps(), "the oldest has no answer yet");
        assert_eq!(queue.first_unanswered(), Some(0));
        queue.remove(0);
        assert!(queue.awaits_stamps());
        let by_card = |_: &Answer, out: Stamp| out.has(Source::Hardware);
        assert!(queue.pop_answered(by_card).is_none());
        queue.add_transmit_stamp(TransmitStamp { key: 19, stamp: Stamp { software_ns: 0, hardware_ns: 8 } });
        let (answer, out) = queue.pop_answered(by_card).unwrap();
        assert_eq!((answer.ending.completed_ns, out.hardware_ns), (70, 8));
        assert!(queue.pop_or_drop().is_none());
    }

    #[test]
    fn the_capacity_is_shared_by_all_connections() {
        assert_eq!((capacity_per_connection(1), capacity_per_connection(1_000_000)), (MOST, FEWEST));
        assert!((FEWEST..MOST).contains(&capacity_per_connection(1_000)));
    }
}
