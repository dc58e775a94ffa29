//! Records of one thread about the requests that it serves.

use hindmost_clock::Nanos;
use hindmost_histogram::Histogram;
use hindmost_host::counters::ThreadCounters;

use super::counters::{RequestCounters, ServedRequest};
use super::host::{Gaps, ThreadHost};
use super::log::Log;

/// Distributions of times that clients cannot see.
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
    fn record(&mut self, request: &ServedRequest) {
        self.service.record(request.completed.saturating_sub(request.start).0);
        self.queueing.record(request.start.saturating_sub(request.arrival).0);
        self.sojourn.record(request.completed.saturating_sub(request.arrival).0);
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

/// The recorder of one thread. Other threads may read its [`RequestCounters`] at any time.
pub(crate) struct ThreadRecorder {
    times: Times,
    log: Option<Log>,
    pub(crate) gaps: Gaps,
    start: ThreadCounters,
}

/// The final record of one thread.
pub(crate) struct ThreadRecord {
    pub(crate) times: Times,
    pub(crate) log: Option<Log>,
    pub(crate) host: ThreadHost,
}

impl ThreadRecorder {
    /// Start recording; call this on the recorded thread.
    pub(crate) fn begin(log: Option<Log>) -> Self {
        Self { times: Times::new(), log, gaps: Gaps::default(), start: ThreadCounters::read_self() }
    }

    /// Whether the thread keeps a log, which needs the CPU time of each request.
    pub(crate) fn keeps_log(&self) -> bool {
        self.log.is_some()
    }

    #[inline]
    pub(crate) fn record(&mut self, counters: &RequestCounters, request: &ServedRequest) {
        counters.serve(request);
        self.times.record(request);
        if let Some(log) = &mut self.log {
            log.keep(request);
        }
    }

    /// Finish recording; call this on the recorded thread.
    pub(crate) fn end(self) -> ThreadRecord {
        let host = ThreadHost::new(&ThreadCounters::read_self().since(&self.start), self.gaps);
        ThreadRecord { times: self.times, log: self.log, host }
    }
}
