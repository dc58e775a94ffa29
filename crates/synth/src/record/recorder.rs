//! Everything that one thread writes down about the requests that it serves.

use hindmost_clock::Nanos;
use hindmost_histogram::Histogram;
use hindmost_host::counters::ThreadCounters;

use super::counters::{RequestCounters, Served};
use super::host::{Gaps, ThreadHost};
use super::log::Log;

/// Distributions of what clients cannot see.
pub(crate) struct Times {
    pub(crate) service: Histogram,
    pub(crate) queueing: Histogram,
    pub(crate) sojourn: Histogram,
    pub(crate) lock_waits: Histogram,
}

impl Times {
    pub(crate) fn new() -> Self {
        Self {
            service: Histogram::new(),
            queueing: Histogram::new(),
            sojourn: Histogram::new(),
            lock_waits: Histogram::new(),
        }
    }

    #[inline]
    fn record(&mut self, request: &Served) {
        self.service.record(request.ended.saturating_sub(request.start).0);
        self.queueing.record(request.start.saturating_sub(request.arrival).0);
        self.sojourn.record(request.ended.saturating_sub(request.arrival).0);
        if request.waited > Nanos::ZERO {
            self.lock_waits.record(request.waited.0);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.queueing.merge(&other.queueing);
        self.sojourn.merge(&other.sojourn);
        self.lock_waits.merge(&other.lock_waits);
    }
}

/// What one thread records. What others may read while it goes on is in its [`RequestCounters`].
pub(crate) struct ThreadRecorder {
    times: Times,
    log: Option<Log>,
    pub(crate) gaps: Gaps,
    began: ThreadCounters,
}

/// What one thread has recorded.
pub(crate) struct ThreadRecord {
    pub(crate) times: Times,
    pub(crate) log: Option<Log>,
    pub(crate) host: ThreadHost,
}

impl ThreadRecorder {
    /// Begun by the thread itself.
    pub(crate) fn begin(log: Option<Log>) -> Self {
        Self { times: Times::new(), log, gaps: Gaps::default(), began: ThreadCounters::read_self() }
    }

    /// Whether the CPU time of each request is wanted.
    pub(crate) fn keeps_log(&self) -> bool {
        self.log.is_some()
    }

    #[inline]
    pub(crate) fn record(&mut self, counters: &RequestCounters, request: &Served) {
        counters.serve(request);
        self.times.record(request);
        if let Some(log) = &mut self.log {
            log.keep(request);
        }
    }

    /// Ended by the thread itself.
    pub(crate) fn end(self) -> ThreadRecord {
        let host = ThreadHost::of(&ThreadCounters::read_self().since(&self.began), self.gaps);
        ThreadRecord { times: self.times, log: self.log, host }
    }
}
