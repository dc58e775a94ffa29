//! The server's own figures, against which a client's claims can be checked.

mod books;
mod host;
mod ledger;
mod log;
mod spread;
mod tally;

use hindmost_host::counters::CpuTimes;
use hindmost_host::Tree;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use books::{Books, Closed};
pub use host::{Gaps, ThreadHost};
pub(crate) use ledger::{Ledger, Served};
pub use log::LogAccount;
pub(crate) use log::LogFile;
pub use spread::Spread;
pub use tally::Tally;

use crate::{Occupy, SynthError};

/// What a server did since it started, in sums, while it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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

/// What a server did, all of it, once it has ended.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Account {
    /// Sum over all threads.
    pub total: Tally,
    /// One tally a thread.
    pub threads: Vec<Tally>,
    /// What its service times are times of.
    pub occupy: Occupy,
    /// Service times as achieved: from the start of a service to its reply being written.
    pub service: Spread,
    /// Waits from arrival in user space to the start of the service.
    pub queueing: Spread,
    /// Both together, of the same requests.
    pub sojourn: Spread,
    /// Waits for locks, in the service times; of the requests that waited.
    pub lock_waits: Spread,
    /// What the host did to each thread.
    pub host: Vec<ThreadHost>,
    /// Pauses of all threads that nobody had asked for.
    pub gaps: Gaps,
    /// The share of the time that the hypervisor took from the CPUs of this server.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steal_share: Option<f64>,
    /// Where the truth about each request is, if it was asked for.
    pub log: Option<LogAccount>,
}

/// What is needed to close a server's books.
pub(crate) struct Closing {
    occupy: Occupy,
    cpus: Vec<u32>,
    before: CpuTimes,
    log: Option<LogFile>,
}

impl Closing {
    /// Read before the first request. `cpus`: those that the server may run on.
    pub(crate) fn begin(occupy: Occupy, cpus: &[usize], log: Option<LogFile>) -> Self {
        let cpus: Vec<u32> = cpus.iter().map(|&cpu| cpu as u32).collect();
        let before = CpuTimes::read(&Tree::new("/")).of(&cpus);
        Self { occupy, cpus, before, log }
    }

    pub(crate) fn end(
        self,
        report: Report,
        closed: Vec<Closed>,
        kinds: &[&str],
    ) -> Result<Account, SynthError> {
        let steal_share = CpuTimes::read(&Tree::new("/")).of(&self.cpus).since(&self.before).steal_share();
        let mut times = books::Times::new();
        let mut gaps = Gaps::default();
        let (mut host, mut logs) = (Vec::new(), Vec::new());
        for thread in closed {
            times.merge(&thread.times);
            gaps.add(&thread.host.gaps);
            host.push(thread.host);
            logs.extend(thread.log);
        }
        Ok(Account {
            total: report.total,
            threads: report.threads,
            occupy: self.occupy,
            service: Spread::of(&times.service),
            queueing: Spread::of(&times.queueing),
            sojourn: Spread::of(&times.sojourn),
            lock_waits: Spread::of(&times.lock_waits),
            host,
            gaps,
            steal_share,
            log: self.log.map(|file| file.write(&logs, kinds)).transpose()?,
        })
    }
}
