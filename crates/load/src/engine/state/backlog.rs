//! Requests that are due and wait for a place on a connection, where connections take only so many at once.

use std::collections::VecDeque;

use crate::workload::Request;

/// A request that waits. It counts as sent: all that we could do for it is done.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub request: Request,
    pub due_ns: u64,
    pub sent_ns: u64,
    /// As of [`super::request::Pending`].
    pub resends: u8,
    pub stamped: bool,
}

/// First come, first served. Never grows beyond its first capacity, which is what the worker may have outstanding.
#[derive(Debug)]
pub struct Backlog {
    /// Whether connections take only so many requests at once.
    pub on: bool,
    waiting: VecDeque<Waiting>,
}

impl Backlog {
    /// For at most `outstanding` requests; none wait where connections take whatever comes.
    pub fn new(bounded: bool, outstanding: usize) -> Self {
        Self { on: bounded, waiting: VecDeque::with_capacity(if bounded { outstanding } else { 0 }) }
    }

    /// No connection has a place.
    pub fn wait(&mut self, one: Waiting) {
        self.waiting.push_back(one);
    }

    /// It had its place, and is to have another: before whatever was due later.
    pub fn wait_again(&mut self, one: Waiting) {
        let at = self.waiting.partition_point(|other| other.due_ns <= one.due_ns);
        self.waiting.insert(at, one);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Who is next.
    pub fn next(&mut self) -> Option<Waiting> {
        let next = self.waiting.pop_front();
        if self.waiting.is_empty() {
            self.waiting.clear(); // back to memory that is in the cache
        }
        next
    }
}
