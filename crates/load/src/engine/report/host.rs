//! Host counters over the measurement. They are read before and after it, so nothing of ours wakes up in
//! between.

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_host::counters::{
    CpuTimes, InterruptSpan, Interrupts, Neighbourhood, Neighbours, RunQueue, RunQueues, TcpCounters,
    ThreadCounters, ThreadSpan, Throttling,
};
use hindmost_host::Tree;
use schemars::JsonSchema;
use serde::Serialize;

/// The counters of the host at one time.
pub struct HostReading {
    at_ns: u64,
    cpus: CpuTimes,
    tcp: Option<TcpCounters>,
    interrupts: Interrupts,
    run_queues: RunQueues,
    throttling: Option<Throttling>,
    neighbours: Neighbours,
    /// The reading thread's own counters, read last so that the cost of reading is not charged to the
    /// interval.
    reader: ThreadCounters,
}

/// Activity on a client's CPUs between two readings.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct HostSpan {
    /// Time between the readings.
    pub wall_ns: u64,
    /// The CPUs that the workers are pinned to. If there are none, the other fields are empty.
    pub cpus: Vec<u32>,
    /// Hardware and deferred interrupts.
    pub interrupts: InterruptSpan,
    /// Activity of each CPU's scheduler; empty on a kernel that does not report it.
    pub run_queues: Vec<RunQueue>,
    /// How often the control group was throttled by its quota; `None` without a quota.
    pub throttled: Option<Throttling>,
    /// Other processes that ran on these CPUs.
    pub neighbours: Neighbourhood,
    /// The coordinator's own CPU time and counters: it should have slept.
    pub coordinator: ThreadSpan,
}

/// The host's activity as the coordinator measured it.
pub struct HostSummary {
    pub steal_share: Option<f64>,
    pub tcp: Option<TcpCounters>,
    pub tcp_before: Option<TcpCounters>,
    pub host: HostSpan,
}

impl HostReading {
    /// Read all counters.
    pub fn take(tree: &Tree) -> Self {
        Self {
            cpus: CpuTimes::read(tree),
            tcp: TcpCounters::read(tree),
            interrupts: Interrupts::read(tree),
            run_queues: RunQueues::read(tree),
            throttling: Throttling::read(tree),
            neighbours: Neighbours::read(tree, std::process::id()),
            at_ns: MonotonicClock.now().0,
            reader: ThreadCounters::read_self(),
        }
    }

    /// Return the activity on `cpus` since `self`. The reader's own counters are read first, so that reading
    /// is not charged to the interval.
    pub fn until_now(&self, tree: &Tree, cpus: Vec<u32>, tcp_at_start: Option<TcpCounters>) -> HostSummary {
        let reader = ThreadCounters::read_self();
        let now = Self::take(tree);
        let span = HostSpan {
            wall_ns: reader.at_ns.saturating_sub(self.at_ns),
            interrupts: now.interrupts.since(&self.interrupts, &cpus),
            run_queues: now.run_queues.since(&self.run_queues, &cpus),
            throttled: now.throttling.zip(self.throttling).map(|(now, then)| now.since(&then)),
            neighbours: now.neighbours.since(tree, &self.neighbours, &cpus),
            coordinator: reader.since(&self.reader),
            cpus,
        };
        let steal_share = now.cpus.since(&self.cpus).select(&span.cpus).steal_share();
        let between = |now: Option<TcpCounters>, then: Option<TcpCounters>| Some(now?.since(&then?));
        HostSummary {
            steal_share,
            tcp: between(now.tcp, self.tcp),
            tcp_before: between(self.tcp, tcp_at_start),
            host: span,
        }
    }
}
