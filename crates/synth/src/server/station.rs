//! A station: a queue and the source of its requests.
//!
//! Any thread of a station polls the source when it waits or spins in a service. Arrivals are thus stamped within a
//! microsecond without an extra thread.

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
    /// Create a station for a number of threads.
    pub(super) fn new(shared: Arc<Shared>, source: Source, threads: usize) -> Self {
        Self { queue: RequestQueue::new(shared, threads), source }
    }

    /// Receive what has arrived. A thread that has nothing else to do, and may sleep, waits for it.
    #[inline]
    pub(super) fn poll(&self, may_sleep: bool) -> Result<(), SynthError> {
        self.source.poll(&self.queue, may_sleep)
    }

    /// Return the next request and its number in the order of service.
    #[inline]
    pub(super) fn next(&self) -> Option<(Job, u64)> {
        match self.source.next_closed_loop() {
            Some(job) => Some((job, self.queue.shared.next_index())),
            None => self.queue.pop(),
        }
    }

    /// Move up to `most` requests to `batch`.
    pub(super) fn next_batch(&self, most: usize, batch: &mut Vec<Job>) {
        match self.source.next_closed_loop() {
            Some(job) => batch.push(job),
            None => self.queue.pop_batch(most, batch),
        }
    }
}
