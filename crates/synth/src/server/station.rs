//! A queue with what fills it, and the threads' way to both.
//!
//! Whichever thread of a station finds the time polls the sockets: one that waits, or spins in a service. So arrivals
//! are stamped within a microsecond, and no thread is there for that alone.

use std::sync::Arc;

use super::job::Job;
use super::queue::RequestQueue;
use super::source::Source;
use crate::shared::Shared;
use crate::SynthError;

pub(super) struct Station {
    pub(super) queue: RequestQueue,
    source: Source,
}

impl Station {
    /// A station of so many threads.
    pub(super) fn new(shared: Arc<Shared>, source: Source, threads: usize) -> Self {
        Self { queue: RequestQueue::new(shared, threads), source }
    }

    /// Takes in what has arrived; a thread that has nothing else to do, and may sleep, waits for it.
    #[inline]
    pub(super) fn poll(&self, may_sleep: bool) -> Result<(), SynthError> {
        self.source.poll(&self.queue, may_sleep)
    }

    /// The next request, and its number in the order of service.
    #[inline]
    pub(super) fn next(&self) -> Option<(Job, u64)> {
        match self.source.make() {
            Some(job) => Some((job, self.queue.shared.next_index())),
            None => self.queue.pop(),
        }
    }

    /// Up to `most` requests, into `batch`.
    pub(super) fn next_batch(&self, most: usize, batch: &mut Vec<Job>) {
        match self.source.make() {
            Some(job) => batch.push(job),
            None => self.queue.pop_batch(most, batch),
        }
    }
}
