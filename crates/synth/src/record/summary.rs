//! What a server did, all of it, once it has ended.

use hindmost_host::counters::CpuTimes;
use hindmost_host::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recorder::Times;
use super::{
    Gaps, LiveTotals, Log, LogFile, LogSummary, ServedTotals, ThreadHost, ThreadRecord, TimeDistribution,
};
use crate::{Occupy, SynthError};

/// What a server did, all of it, once it has ended.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ServerSummary {
    /// Sum over all threads.
    pub total: ServedTotals,
    /// Those of each thread.
    pub threads: Vec<ServedTotals>,
    /// What its service times are times of.
    pub occupy: Occupy,
    /// Service times as achieved: from the start of a service to its reply being written.
    pub service: TimeDistribution,
    /// Waits from arrival in user space to the start of the service.
    pub queueing: TimeDistribution,
    /// Both together, of the same requests.
    pub sojourn: TimeDistribution,
    /// Waits for locks, in the service times; of the requests that waited.
    pub lock_waits: TimeDistribution,
    /// What the host did to each thread.
    pub host: Vec<ThreadHost>,
    /// Pauses of all threads that nobody had asked for.
    pub gaps: Gaps,
    /// The share of the time that the hypervisor took from the CPUs of this server.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steal_share: Option<f64>,
    /// Where the truth about each request is, if it was asked for.
    pub log: Option<LogSummary>,
}

/// What was read before the first request, for the summary at the end.
pub(crate) struct ServerRecorder {
    occupy: Occupy,
    cpus: Vec<u32>,
    before: CpuTimes,
    log: Option<LogFile>,
}

impl ServerRecorder {
    /// Read before the first request. `cpus`: those that the server may run on.
    pub(crate) fn begin(occupy: Occupy, cpus: &[usize], log: Option<LogFile>) -> Self {
        let cpus: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
        let before = CpuTimes::read(&Tree::new("/")).of(&cpus);
        Self { occupy, cpus, before, log }
    }

    /// What one more thread keeps of its requests, if a log is wanted.
    pub(crate) fn thread_log(&mut self) -> Option<Log> {
        self.log.as_mut()?.thread_log()
    }

    pub(crate) fn end(
        self,
        totals: LiveTotals,
        records: Vec<ThreadRecord>,
        kinds: &[&str],
    ) -> Result<ServerSummary, SynthError> {
        let steal_share = CpuTimes::read(&Tree::new("/")).of(&self.cpus).since(&self.before).steal_share();
        let mut times = Times::new();
        let mut gaps = Gaps::default();
        let (mut host, mut logs) = (Vec::new(), Vec::new());
        for thread in records {
            times.merge(&thread.times);
            gaps.add(&thread.host.gaps);
            host.push(thread.host);
            logs.extend(thread.log);
        }
        Ok(ServerSummary {
            total: totals.total,
            threads: totals.threads,
            occupy: self.occupy,
            service: TimeDistribution::of(&times.service),
            queueing: TimeDistribution::of(&times.queueing),
            sojourn: TimeDistribution::of(&times.sojourn),
            lock_waits: TimeDistribution::of(&times.lock_waits),
            host,
            gaps,
            steal_share,
            log: self.log.map(|file| file.write(&logs, kinds)).transpose()?,
        })
    }
}
