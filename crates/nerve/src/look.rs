//! For whoever experiments: single samples, and every latency of a probe with the moment at which it was due.

use std::path::Path;

use crate::collect::{Collector, Members, Whose};
use crate::counters::Values;
use crate::daemon::collectors;
use crate::latency::{Intake, ProbeRequest, Prober};
use crate::NerveError;

/// Samples of an application and its host, taken when asked for.
pub struct Look {
    collectors: Vec<Box<dyn Collector>>,
    values: Values,
}

impl Look {
    /// At a process with those that it started, or all of a cgroup.
    ///
    /// # Errors
    /// [`NerveError::Gone`] where there is no process.
    pub fn at(pid: Option<u32>, cgroup: Option<&Path>) -> Result<Self, NerveError> {
        let root = Path::new("/");
        let whose = match (pid, cgroup) {
            (_, Some(folder)) => Whose::Cgroup(folder.to_owned()),
            (Some(pid), None) => Whose::Process(pid),
            (None, None) => return Err(NerveError::Gone("neither a process nor a cgroup was named".into())),
        };
        let members = Members::find(root, whose);
        if members.borrow().is_empty() {
            return Err(NerveError::Gone("it has no process".into()));
        }
        Ok(Self { collectors: collectors(root, &members, cgroup), values: Values::new() })
    }

    /// One value for each of [`crate::COUNTERS`], now.
    pub fn now(&mut self) -> Vec<i64> {
        for collector in &mut self.collectors {
            collector.read(&mut self.values);
        }
        self.values.0.clone()
    }
}

/// A probe that keeps each request.
pub struct Probe(Prober);

/// What a probe has seen.
pub struct Seen {
    /// When each was due, and its latency, in nanoseconds of the monotonic clock.
    pub each: Vec<(u64, u64)>,
    /// Requests without a good answer.
    pub errors: u64,
    /// Since when the oldest request without an answer is due; 0: none.
    pub oldest: u64,
}

impl Probe {
    /// From now on until it is dropped.
    ///
    /// # Errors
    /// [`NerveError::Latency`] where the server does not answer.
    pub fn start(asked: &ProbeRequest) -> Result<Self, NerveError> {
        Prober::start(asked, true).map(Self)
    }

    /// What it has seen since it was last asked.
    pub fn take(&self) -> Seen {
        let seen = self.0.take(Intake::new(true));
        Seen { each: seen.each.unwrap_or_default(), errors: seen.errors, oldest: seen.oldest }
    }
}
