//! Live counters of one thread.

use std::sync::atomic::{AtomicU64, Ordering};

use hindmost_clock::Nanos;

use super::totals::ServedTotals;

/// A served request.
#[derive(Clone, Copy)]
pub(crate) struct ServedRequest {
    pub(crate) arrival: Nanos,
    pub(crate) start: Nanos,
    /// Scheduled end, including all waits and pauses.
    pub(crate) scheduled: Nanos,
    pub(crate) completed: Nanos,
    /// Drawn busy time.
    pub(crate) drawn: Nanos,
    /// Waits for locks.
    pub(crate) waited: Nanos,
    /// CPU time of the thread, if it was read.
    pub(crate) cpu: Option<Nanos>,
    /// Number of its kind in the document.
    pub(crate) kind: u32,
}

/// Live counters of one thread, the only writer; any thread may read them. They have their own cache lines, so that
/// threads do not slow each other down.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct RequestCounters {
    served: AtomicU64,
    busy: AtomicU64,
    drawn: AtomicU64,
    achieved: AtomicU64,
    waited: AtomicU64,
    queued: AtomicU64,
    worst_overrun: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    sets: AtomicU64,
}

impl RequestCounters {
    pub(crate) fn serve(&self, request: &ServedRequest) {
        let achieved = request.completed.saturating_sub(request.start);
        bump(&self.served, 1);
        bump(&self.drawn, request.drawn.0);
        bump(&self.achieved, achieved.0);
        bump(&self.waited, request.waited.0);
        bump(&self.queued, request.start.saturating_sub(request.arrival).0);
        let overrun = request.completed.saturating_sub(request.scheduled).0;
        if overrun > self.worst_overrun.load(Ordering::Relaxed) {
            self.worst_overrun.store(overrun, Ordering::Relaxed);
        }
    }

    pub(crate) fn busy(&self, span: Nanos) {
        bump(&self.busy, span.0);
    }

    pub(crate) fn lookup(&self, hits: u64, misses: u64) {
        bump(&self.hits, hits);
        bump(&self.misses, misses);
    }

    pub(crate) fn set(&self) {
        bump(&self.sets, 1);
    }

    pub(super) fn read(&self) -> ServedTotals {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        ServedTotals {
            served: get(&self.served),
            busy_ns: get(&self.busy),
            drawn_ns: get(&self.drawn),
            achieved_ns: get(&self.achieved),
            waited_ns: get(&self.waited),
            queued_ns: get(&self.queued),
            worst_overrun_ns: get(&self.worst_overrun),
            hits: get(&self.hits),
            misses: get(&self.misses),
            sets: get(&self.sets),
        }
    }
}

/// Add without a locked instruction: only the owning thread writes.
fn bump(cell: &AtomicU64, by: u64) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
