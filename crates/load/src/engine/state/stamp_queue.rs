//! The requests of one connection whose way the kernel stamps.
//!
//! ```text
//!  chosen ── written (key) ── wire-out ── wire-in, done ── ended
//!                                    └── wire-in, done ── wire-out (a card delivers late) ── ended
//! ```

use std::collections::VecDeque;

use super::request::{Ending, Pending};
use crate::transport::{Segment, Sent, Source, Stamp};

/// Stamped requests that wait for a stamp, of one worker over all its connections: at most so many ...
const WAITING: usize = 1 << 13;
/// ... and of one connection between these.
const FEWEST: usize = 4;
const MOST: usize = 64;

/// Room for one connection's stamped requests, `slots` connections to a worker.
pub fn room(slots: u32) -> usize {
    (WAITING / slots.max(1) as usize).clamp(FEWEST, MOST)
}

/// A request whose way the kernel stamps.
#[derive(Clone, Copy, Debug)]
pub struct StampedRequest {
    /// The request, counted over the connection's life.
    serial: u64,
    /// The name of its write's stamp, once it is written.
    key: Option<u32>,
    out: Stamp,
    answer: Option<Answer>,
}

/// How a request ended whose wire-out is not yet known.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub pending: Pending,
    pub ending: Ending,
    /// Where its reply ended.
    pub last: Segment,
}

/// Oldest first. Never grows beyond its first capacity.
#[derive(Debug)]
pub struct StampQueue(VecDeque<StampedRequest>);

impl StampQueue {
    pub fn with_capacity(capacity: usize) -> Self {
        Self(VecDeque::with_capacity(capacity))
    }

    /// Request `serial` is to be stamped. One for which there is no room counts as one without stamps.
    #[inline]
    pub fn push(&mut self, serial: u64) {
        if self.0.len() < self.0.capacity() {
            self.0.push_back(StampedRequest { serial, key: None, out: Stamp::default(), answer: None });
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether the next write has to ask for a stamp.
    #[inline]
    pub fn asks(&self) -> bool {
        self.0.back().is_some_and(|last| last.key.is_none())
    }

    /// All bytes so far are written, and stamped as `key`.
    #[inline]
    pub fn written(&mut self, key: u32) {
        for one in self.0.iter_mut().rev().take_while(|one| one.key.is_none()) {
            one.key = Some(key);
        }
    }

    /// Keeps a transmit stamp with the requests that it is of. The kernel tells its own stamps in order, and one
    /// that it skipped was merged with a later write into one packet before that left: so both left together.
    pub fn sent(&mut self, sent: Sent) {
        let Some(last) = self.0.iter().rposition(|one| one.key == Some(sent.key)) else { return };
        for one in self.0.iter_mut().take(last + 1) {
            if one.key == Some(sent.key) {
                one.out.add(sent.stamp);
            } else {
                one.out.add(Stamp { hardware_ns: 0, ..sent.stamp });
            }
        }
    }

    /// Whether `source` has stamped all that is written.
    pub fn all_stamped(&self, source: Source) -> bool {
        self.0.iter().all(|one| one.key.is_none() || one.out.has(source))
    }

    /// The oldest request that waits for its reply.
    #[inline]
    pub fn first_unanswered(&self) -> Option<u64> {
        self.0.iter().find(|one| one.answer.is_none()).map(|one| one.serial)
    }

    /// When request `serial` left, as far as it is known; `None` if it is not here.
    pub fn out_of(&self, serial: u64) -> Option<Stamp> {
        self.0.iter().find(|one| one.serial == serial).map(|one| one.out)
    }

    /// Request `serial` is answered and ended.
    pub fn remove(&mut self, serial: u64) {
        if let Some(at) = self.0.iter().position(|one| one.serial == serial) {
            self.0.remove(at);
        }
    }

    /// Request `serial` is answered, and waits for its transmit stamp.
    pub fn answered(&mut self, serial: u64, answer: Answer) {
        if let Some(one) = self.0.iter_mut().find(|one| one.serial == serial) {
            one.answer = Some(answer);
        }
    }

    /// Whether an answered request waits for its transmit stamp.
    pub fn waits(&self) -> bool {
        self.0.front().is_some_and(|one| one.answer.is_some())
    }

    /// Takes the oldest request if it is answered and `is_enough` says so of its answer and its transmit stamp.
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

    /// Takes the oldest answered request and drops what is older; `None` when all is dropped.
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

    /// Requests 0, 1, ... written under these names.
    fn queue(keys: &[Option<u32>]) -> StampQueue {
        let mut queue = StampQueue::with_capacity(keys.len().max(1));
        for (serial, key) in (0..).zip(keys) {
            queue.push(serial);
            if let Some(key) = key {
                queue.written(*key);
            }
        }
        queue
    }

    fn outs(queue: &StampQueue) -> Vec<(u64, u64)> {
        queue.0.iter().map(|one| (one.out.software_ns, one.out.hardware_ns)).collect()
    }

    #[test]
    fn a_write_that_was_merged_with_a_later_one_left_with_it() {
        let mut queue = queue(&[Some(9), None, Some(19), Some(29), None]);
        queue.sent(Sent { key: 5, stamp: Stamp { software_ns: 50, hardware_ns: 0 } });
        assert_eq!(outs(&queue), [(0, 0); 5], "nobody's");
        queue.sent(Sent { key: 19, stamp: Stamp { software_ns: 60, hardware_ns: 0 } });
        assert!(!queue.all_stamped(Source::Software));
        queue.sent(Sent { key: 29, stamp: Stamp { software_ns: 0, hardware_ns: 8 } });
        queue.sent(Sent { key: 29, stamp: Stamp { software_ns: 70, hardware_ns: 0 } });
        queue.sent(Sent { key: 29, stamp: Stamp { software_ns: 90, hardware_ns: 0 } });
        // A card may tell in any order.
        assert_eq!(outs(&queue), [(60, 0), (60, 0), (60, 0), (70, 8), (0, 0)]);
        assert!(queue.all_stamped(Source::Software) && !queue.all_stamped(Source::Hardware));
    }

    #[test]
    fn what_has_no_room_is_not_kept() {
        let mut queue = StampQueue::with_capacity(1);
        let capacity = queue.0.capacity() as u64;
        (0..capacity + 5).for_each(|serial| queue.push(serial));
        assert_eq!((queue.0.len() as u64, queue.0.capacity() as u64), (capacity, capacity));
        assert!(queue.asks() && queue.out_of(capacity).is_none());
    }

    #[test]
    fn an_answered_request_waits_at_the_front_until_its_stamp_is_enough() {
        let mut queue = queue(&[Some(9), Some(19)]);
        let ending = Ending { done_ns: 70, ..Ending::unanswered(Status::Hit) };
        let answer = Answer { pending: Pending::BLANK, ending, last: Segment::default() };
        queue.answered(1, answer);
        assert!(!queue.waits(), "the oldest has no answer yet");
        assert_eq!(queue.first_unanswered(), Some(0));
        queue.remove(0);
        assert!(queue.waits());
        let by_card = |_: &Answer, out: Stamp| out.has(Source::Hardware);
        assert!(queue.pop_answered(by_card).is_none());
        queue.sent(Sent { key: 19, stamp: Stamp { software_ns: 0, hardware_ns: 8 } });
        let (answer, out) = queue.pop_answered(by_card).unwrap();
        assert_eq!((answer.ending.done_ns, out.hardware_ns), (70, 8));
        assert!(queue.pop_or_drop().is_none());
    }

    #[test]
    fn many_connections_share_the_room_for_what_waits() {
        assert_eq!((room(1), room(1_000_000)), (MOST, FEWEST));
        assert!((FEWEST..MOST).contains(&room(1_000)));
    }
}
