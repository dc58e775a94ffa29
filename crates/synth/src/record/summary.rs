//! The final summary of a server.

use hindmost_host::counters::CpuTimes;
use hindmost_host::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recorder::Times;
use super::{
    Gaps, LiveTotals, Log, LogFile, LogSummary, ServedTotals, ThreadHost, ThreadRecord, TimeDistribution,
};
use crate::{Occupy, SynthError};

/// The final summary of a server.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ServerSummary {
    /// Sum over all threads.
    pub total: ServedTotals,
    /// Sums of each thread.
    pub threads: Vec<ServedTotals>,
    /// The clock that measured service times.
    pub occupy: Occupy,
    /// Achieved service times, from the start of a service until its reply is written.
    pub service: TimeDistribution,
    /// Waits from arrival in user space to the start of the service.
    pub queueing: TimeDistribution,
    /// Waits and service times together, of the same requests.
    pub sojourn: TimeDistribution,
    /// Waits for locks, which are part of the service times; only of requests that waited.
    pub lock_waits: TimeDistribution,
    /// CPU time and interruptions of each thread.
    pub host: Vec<ThreadHost>,
    /// Interruptions of all spinning threads.
    pub gaps: Gaps,
    /// Share of the time that the hypervisor took from the CPUs of this server.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steal_share: Option<f64>,
    /// The log of all requests, if it was requested.
    pub log: Option<LogSummary>,
}

/// State read before the first request, for the final summary.
pub(crate) struct ServerRecorder {
    occupy: Occupy,
    cpus: Vec<u32>,
    before: CpuTimes,
    log: Option<LogFile>,
}

impl ServerRecorder {
    /// Start before the first request. `cpus` are the CPUs that the server may run on.
    pub(crate) fn begin(occupy: Occupy, cpus: &[usize], log: Option<LogFile>) -> Self {
        let cpus: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
        let before = CpuTimes::read(&Tree::new("/")).select(&cpus);
        Self { occupy, cpus, before, log }
    }

    /// Return the log of the next thread, if a log is requested.
    pub(crate) fn thread_log(&mut self) -> Option<Log> {
        self.log.as_mut()?.thread_log()
    }

    pub(crate) fn end(
        self,
        totals: LiveTotals,
        records: Vec<ThreadRecord>,
        kinds: &[&str],
    ) -> Result<ServerSummary, SynthError> {
        let steal_share =
            CpuTimes::read(&Tree::new("/")).select(&self.cpus).since(&self.before).steal_share();
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
            service: TimeDistribution::new(&times.service),
            queueing: TimeDistribution::new(&times.queueing),
            sojourn: TimeDistribution::new(&times.sojourn),
            lock_waits: TimeDistribution::new(&times.lock_waits),
            host,
            gaps,
            steal_share,
            log: self.log.map(|file| file.write(&logs, kinds)).transpose()?,
        })
    }
}
