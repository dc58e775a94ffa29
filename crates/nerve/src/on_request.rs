//! Samples and latencies on request, for experiments.

use std::path::Path;

use crate::collect::{application_collectors, host_collectors, Collector, Members, Scope};
use crate::counters::Values;
use crate::latency::{Intake, ProbeRequest, Prober};
use crate::NerveError;

/// Takes samples of an application and its host.
pub struct HostSampler {
    collectors: Vec<Box<dyn Collector>>,
    values: Values,
}

impl HostSampler {
    /// Sample a process with its descendants, or all processes of a cgroup.
    ///
    /// # Errors
    /// [`NerveError::Gone`] if there is no process.
    pub fn new(pid: Option<u32>, cgroup: Option<&Path>) -> Result<Self, NerveError> {
        let root = Path::new("/");
        let scope = match (pid, cgroup) {
            (_, Some(folder)) => Scope::Cgroup(folder.to_owned()),
            (Some(pid), None) => Scope::Process(pid),
            (None, None) => return Err(NerveError::Gone("no process or cgroup is given".into())),
        };
        let members = Members::find(root, scope);
        if members.borrow().is_empty() {
            return Err(NerveError::Gone("the application has no process".into()));
        }
        let mut collectors = host_collectors(root);
        collectors.extend(application_collectors(root, &members, cgroup));
        Ok(Self { collectors, values: Values::new() })
    }

    /// Return the current value of each entry of [`crate::COUNTERS`].
    pub fn now(&mut self) -> Vec<i64> {
        for collector in &mut self.collectors {
            collector.read(&mut self.values);
        }
        self.values.0.clone()
    }
}

/// A probe that keeps each request.
pub struct Probe(Prober);

/// Readings of a probe.
pub struct ProbeReadings {
    /// Scheduled time and latency of each request, in nanoseconds of the monotonic clock.
    pub each: Vec<(u64, u64)>,
    /// Requests without a valid reply.
    pub errors: u64,
    /// Scheduled time of the oldest unanswered request; 0: none.
    pub oldest: u64,
}

impl Probe {
    /// Start a probe, which runs until it is dropped.
    ///
    /// # Errors
    /// [`NerveError::Latency`] if the server does not answer.
    pub fn start(request: &ProbeRequest) -> Result<Self, NerveError> {
        Prober::start(request, true, true).map(Self)
    }

    /// Return the readings since the last call.
    pub fn take(&self) -> ProbeReadings {
        let intake = self.0.take(Intake::new(true));
        ProbeReadings { each: intake.each.unwrap_or_default(), errors: intake.errors, oldest: intake.oldest }
    }
}
