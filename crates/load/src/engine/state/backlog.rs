//! Scheduled requests that wait for a place on a connection with a limit on requests in flight.

use std::collections::VecDeque;

use crate::workload::Request;

/// A waiting request. It counts as sent, because the client can do nothing more for it.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub request: Request,
    pub scheduled_ns: u64,
    pub sent_ns: u64,
    /// As in [`super::request::Pending`].
    pub resends: u8,
    pub stamped: bool,
}

/// A FIFO queue of waiting requests. It never grows beyond its initial capacity, the worker's limit on
/// outstanding requests.
#[derive(Debug)]
pub struct Backlog {
    /// Whether connections limit their requests in flight.
    pub enabled: bool,
    waiting: VecDeque<Waiting>,
}

impl Backlog {
    /// Create a backlog for at most `outstanding` requests. Unbounded connections need no space in it.
    pub fn new(bounded: bool, outstanding: usize) -> Self {
        Self { enabled: bounded, waiting: VecDeque::with_capacity(if bounded { outstanding } else { 0 }) }
    }

    /// Queue a request because no connection has a place.
    pub fn push(&mut self, one: Waiting) {
        self.waiting.push_back(one);
    }

    /// Queue a refused request for a resend, ahead of all requests scheduled later.
    pub fn push_resend(&mut self, one: Waiting) {
        let at = self.waiting.partition_point(|other| other.scheduled_ns <= one.scheduled_ns);
        self.waiting.insert(at, one);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Return the next waiting request.
    pub fn pop(&mut self) -> Option<Waiting> {
        let next = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.waiting.clear(); // restart at memory that is in the cache
        }
        next
    }
}
