//! Counters of a load that another process reads while it goes on, in memory that both share.
//!
//! A worker only adds to words of its own, without locks; the reader takes differences. Nothing wakes up in the client.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use hindmost_sys::shared::SharedWords;

use super::series::{bin, quantile, BINS};
use super::{Row, Status};

/// Words of a worker: requests sent, completed and failed, then completed requests by bin of latency.
const SENT: usize = 0;
const COMPLETED: usize = 1;
const FAILED: usize = 2;
const LATENCY: usize = 3;
const WORDS: usize = LATENCY + BINS;

/// The counters of one worker.
pub struct LiveCounters {
    memory: Arc<SharedWords>,
    from: usize,
}

impl LiveCounters {
    /// Return the counters of worker `worker` of all clients, if the memory has any for it.
    pub fn new(memory: Arc<SharedWords>, worker: usize) -> Option<Self> {
        let from = worker * WORDS;
        (from + WORDS <= memory.words().len()).then_some(Self { memory, from })
    }

    /// Count a request that was sent.
    #[inline]
    pub fn count_sent(&self) {
        self.increment(SENT);
    }

    /// Count a request that has ended.
    #[inline]
    pub fn count(&self, row: &Row) {
        match row.status {
            Status::Hit | Status::Miss => {
                self.increment(COMPLETED);
                self.increment(LATENCY + bin(row.completed_ns - row.scheduled_ns));
            }
            Status::Error | Status::Lost | Status::Timeout | Status::Unsent => self.increment(FAILED),
        }
    }

    #[inline]
    fn increment(&self, word: usize) {
        let word = &self.memory.words()[self.from + word];
        // There is no other writer.
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// What all workers of all clients did between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveSpan {
    /// Requests sent.
    pub sent: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests that failed: errors, timeouts and unsent requests.
    pub failed: u64,
    /// Median and 99th percentile of the latency of completed requests, within 3 %; `None` if there were none.
    pub quantiles_ns: Option<(u64, u64)>,
}

/// Reads the counters of all workers of all clients.
pub struct LiveReader {
    memory: SharedWords,
    before: Vec<u64>,
}

impl LiveReader {
    /// Create counters for `workers` workers, and the file that their clients map.
    ///
    /// # Errors
    /// The error of [`SharedWords::create`].
    pub fn create(workers: usize) -> io::Result<(OwnedFd, Self)> {
        let (file, memory) = SharedWords::create(workers * WORDS)?;
        Ok((file, Self { memory, before: vec![0; WORDS] }))
    }

    /// Return what happened since the last reading.
    pub fn read(&mut self) -> LiveSpan {
        let mut now = vec![0; WORDS];
        for worker in self.memory.words().chunks_exact(WORDS) {
            for (sum, word) in now.iter_mut().zip(worker) {
                *sum += word.load(Ordering::Relaxed);
            }
        }
        let since: Vec<u64> = now.iter().zip(&self.before).map(|(now, before)| now - before).collect();
        self.before = now;
        let latencies = &since[LATENCY..];
        let total: u64 = latencies.iter().sum();
        let at = |q| quantile(latencies.iter().copied(), total, q);
        LiveSpan {
            sent: since[SENT],
            completed: since[COMPLETED],
            failed: since[FAILED],
            quantiles_ns: (total > 0).then(|| (at(0.5), at(0.99))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::row;

    #[test]
    fn a_reading_has_what_all_workers_did_since_the_last_one() {
        let (file, mut reader) = LiveReader::create(2).unwrap();
        let memory = Arc::new(SharedWords::map(&file).unwrap());
        let workers = [0, 1].map(|worker| LiveCounters::new(memory.clone(), worker).unwrap());
        assert!(LiveCounters::new(memory, 2).is_none());
        for (worker, latency) in [(0, 100_000), (1, 100_000), (1, 200_000)] {
            workers[worker].count_sent();
            workers[worker].count(&row(1_000, latency, Status::Hit));
        }
        for status in [Status::Error, Status::Lost, Status::Timeout, Status::Unsent] {
            workers[0].count(&row(1_000, 0, status));
        }
        let LiveSpan { sent, completed, failed, quantiles_ns } = reader.read();
        assert_eq!((sent, completed, failed), (3, 3, 4));
        let (p50, p99) = quantiles_ns.unwrap();
        for (found, expected) in [(p50, 100_000.0), (p99, 200_000.0)] {
            assert!((found as f64 / expected - 1.0).abs() < 0.035, "{found} {expected}");
        }
        let nothing = LiveSpan { sent: 0, completed: 0, failed: 0, quantiles_ns: None };
        assert_eq!(reader.read(), nothing);
    }
}
