//! What all threads of a server share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hindmost_clock::Nanos;
use hindmost_clone::Program;

use crate::record::{LiveTotals, RequestCounters};
use crate::store::Store;
use crate::work::Work;
use crate::ServerConfig;

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) work: Work,
    /// One of each thread.
    counters: Box<[RequestCounters]>,
    connections: AtomicUsize,
    /// Requests so far whose service has begun.
    requests: AtomicU64,
    /// Set when a thread cannot go on, so that the others stop, too.
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

    /// When the server started.
    pub(crate) fn started(&self) -> Nanos {
        self.work.origin
    }

    /// How many connections are open.
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
        LiveTotals::of(&self.counters)
    }

    /// The number of the request whose service begins now.
    #[inline]
    pub(crate) fn next_index(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }
}
