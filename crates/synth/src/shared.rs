//! State shared by all threads of a server.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hindmost_clock::Nanos;
use hindmost_clone::Program;

use crate::record::{LiveTotals, RequestCounters};
use crate::store::Store;
use crate::work::Work;
use crate::ServerConfig;

/// State shared by all threads of a server.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) work: Work,
    /// Counters of each thread.
    counters: Box<[RequestCounters]>,
    connections: AtomicUsize,
    /// Number of requests whose service has started.
    requests: AtomicU64,
    /// Whether a thread failed, so that the others stop, too.
    pub(crate) failed: AtomicBool,
}

impl Shared {
    pub(crate) fn new(config: &ServerConfig, program: Program, origin: Nanos) -> Self {
        let work = Work::new(program, config.seed, origin);
        Self {
            store: Store::new(config.memory_mib << 20, work.origin),
            counters: (0..work.threads()).map(|_| RequestCounters::default()).collect(),
            work,
            connections: AtomicUsize::new(0),
            requests: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn counters(&self, thread: usize) -> &RequestCounters {
        &self.counters[thread]
    }

    pub(crate) fn threads(&self) -> usize {
        self.counters.len()
    }

    /// Return the start time of the server.
    pub(crate) fn start_time(&self) -> Nanos {
        self.work.origin
    }

    /// Return the number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn connection_opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn totals(&self) -> LiveTotals {
        LiveTotals::new(&self.counters)
    }

    /// Return the number of the request whose service starts now.
    #[inline]
    pub(crate) fn next_index(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}
