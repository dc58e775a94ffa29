//! The server's own figures, against which a client's claims can be checked.

use std::sync::atomic::{AtomicU64, Ordering};

use hindmost_clock::Nanos;
use serde::{Deserialize, Serialize};

/// What one thread did, or the sum over threads. Only requests that take service time (get, set, add,
/// replace, delete) count as served. All times are nanoseconds, summed since the start; two tallies
/// taken one after the other can be subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Requests served.
    pub served: u64,
    /// Time spent working on requests, from taking one up to its reply being written.
    pub busy_ns: u64,
    /// Sum of the service times drawn.
    pub drawn_ns: u64,
    /// Sum of the service times achieved: reply written minus service start.
    pub achieved_ns: u64,
    /// Sum of the waits from arrival in user space to service start.
    pub queued_ns: u64,
    /// Largest excess of one service time achieved over the one drawn: the host took the CPU away.
    pub worst_overrun_ns: u64,
    /// Keys looked up and found.
    pub hits: u64,
    /// Keys looked up and not found.
    pub misses: u64,
    /// Values stored, or refused, by set, add and replace.
    pub sets: u64,
}

impl Tally {
    /// Mean service time drawn, nanoseconds; 0 before the first request.
    pub fn mean_drawn_ns(&self) -> f64 {
        self.mean(self.drawn_ns)
    }

    /// Mean service time achieved, nanoseconds.
    pub fn mean_achieved_ns(&self) -> f64 {
        self.mean(self.achieved_ns)
    }

    /// Mean wait before service, nanoseconds.
    pub fn mean_queued_ns(&self) -> f64 {
        self.mean(self.queued_ns)
    }

    fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.served.max(1) as f64
    }

    fn add(&mut self, other: &Self) {
        self.served += other.served;
        self.busy_ns += other.busy_ns;
        self.drawn_ns += other.drawn_ns;
        self.achieved_ns += other.achieved_ns;
        self.queued_ns += other.queued_ns;
        self.worst_overrun_ns = self.worst_overrun_ns.max(other.worst_overrun_ns);
        self.hits += other.hits;
        self.misses += other.misses;
        self.sets += other.sets;
    }
}

/// What a server did since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Sum over all threads.
    pub total: Tally,
    /// One tally a thread.
    pub threads: Vec<Tally>,
}

impl Report {
    pub(crate) fn of(ledgers: &[Ledger]) -> Self {
        let threads: Vec<Tally> = ledgers.iter().map(Ledger::read).collect();
        let mut total = Tally::default();
        for thread in &threads {
            total.add(thread);
        }
        Self { total, threads }
    }
}

/// One served request, as it goes into the books.
pub(crate) struct Served {
    pub(crate) arrival: Nanos,
    pub(crate) start: Nanos,
    pub(crate) drawn: Nanos,
    pub(crate) ended: Nanos,
}

/// The live books of one thread: it alone writes, anyone reads. On its own cache lines, so that
/// threads do not slow each other down.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Ledger {
    served: AtomicU64,
    busy: AtomicU64,
    drawn: AtomicU64,
    achieved: AtomicU64,
    queued: AtomicU64,
    worst_overrun: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
    sets: AtomicU64,
}

impl Ledger {
    pub(crate) fn serve(&self, request: &Served) {
        let achieved = request.ended.saturating_sub(request.start);
        bump(&self.served, 1);
        bump(&self.drawn, request.drawn.0);
        bump(&self.achieved, achieved.0);
        bump(&self.queued, request.start.saturating_sub(request.arrival).0);
        let overrun = achieved.saturating_sub(request.drawn).0;
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

    fn read(&self) -> Tally {
        let get = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        Tally {
            served: get(&self.served),
            busy_ns: get(&self.busy),
            drawn_ns: get(&self.drawn),
            achieved_ns: get(&self.achieved),
            queued_ns: get(&self.queued),
            worst_overrun_ns: get(&self.worst_overrun),
            hits: get(&self.hits),
            misses: get(&self.misses),
            sets: get(&self.sets),
        }
    }
}

/// Adds without a locked instruction: only the owning thread writes.
fn bump(cell: &AtomicU64, by: u64) {
    cell.store(cell.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
