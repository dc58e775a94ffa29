//! What the host did while an instance measured: looked at before the measurement and after it, so that
//! nothing of ours wakes up in between.

use hindmost_clock::{Clock, MonotonicClock};
use hindmost_host::counters::{
    CpuTimes, InterruptSpan, Interrupts, Neighbourhood, Neighbours, RunQueue, RunQueues, TcpCounters,
    ThreadCounters, ThreadSpan, Throttling,
};
use hindmost_host::Tree;
use schemars::JsonSchema;
use serde::Serialize;

/// The counters of the host at one moment.
pub struct HostReading {
    at_ns: u64,
    cpus: CpuTimes,
    tcp: Option<TcpCounters>,
    interrupts: Interrupts,
    run_queues: RunQueues,
    throttling: Option<Throttling>,
    neighbours: Neighbours,
    /// The reader itself, last: what reading costs is not charged to the time between two readings.
    reader: ThreadCounters,
}

/// What happened on an instance's CPUs between two readings.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct HostSpan {
    /// Time between the readings.
    pub wall_ns: u64,
    /// The CPUs that the workers are pinned to; where there are none, the rest of this is empty.
    pub cpus: Vec<u32>,
    /// Hardware and deferred interrupts.
    pub interrupts: InterruptSpan,
    /// What the scheduler of each CPU did; empty on a kernel that does not say.
    pub run_queues: Vec<RunQueue>,
    /// How often the control group was stopped for its quota; `None` where it has none.
    pub throttled: Option<Throttling>,
    /// Who else ran there.
    pub neighbours: Neighbourhood,
    /// What the instance's own coordinator did: it should have slept.
    pub coordinator: ThreadSpan,
}

/// What the coordinator saw of the host.
pub struct HostSeen {
    pub steal_share: Option<f64>,
    pub tcp: Option<TcpCounters>,
    pub tcp_before: Option<TcpCounters>,
    pub host: HostSpan,
}

impl HostReading {
    /// Reads everything.
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

    /// What happened after `self`, until now, on `cpus`: the reader first, for the same reason.
    pub fn until_now(&self, tree: &Tree, cpus: Vec<u32>, begun: Option<TcpCounters>) -> HostSeen {
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
        let steal_share = now.cpus.since(&self.cpus).of(&span.cpus).steal_share();
        let between = |now: Option<TcpCounters>, then: Option<TcpCounters>| Some(now?.since(&then?));
        HostSeen {
            steal_share,
            tcp: between(now.tcp, self.tcp),
            tcp_before: between(self.tcp, begun),
            host: span,
        }
    }
}
