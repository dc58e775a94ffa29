//! One watched application: its samples, latency, ring and restarts.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hindmost_histogram::{Histogram, Quantile, Value};
use hindmost_sys::this_thread;
use serde::Deserialize;
use serde_json::json;

use crate::budget::Cost;
use crate::collect::{application_collectors, Members, Scope};
use crate::counters::{Id, Values};
use crate::latency::{Intake, LatencyFrom, Source};
use crate::page::{Page, Status};
use crate::ring::Ring;
use crate::sampler::Sampler;
use crate::slowdown::Slowdown;
use crate::NerveError;

/// An application to watch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ServiceRequest {
    /// Name, for people and as a label of metrics.
    pub name: String,
    /// A process, watched with its descendants.
    pub pid: Option<u32>,
    /// Or a cgroup, given by its folder.
    pub cgroup: Option<PathBuf>,
    /// Samples for which the watch waits for it to start, or to start again; None: no limit.
    pub wait: Option<u64>,
    /// Path of the ring file; None: keep nothing.
    pub ring: Option<PathBuf>,
    /// Size of the ring in bytes.
    pub ring_bytes: u64,
    /// Source of the latency.
    pub latency: Option<LatencyFrom>,
    /// Length of the blocks in which a slowdown is looked for, in milliseconds; None: it is not.
    pub slowdown_block_ms: Option<u64>,
}

/// Samples between two stored histograms, and between other slow actions.
pub(crate) const SLOW_INTERVAL: u64 = 10;
/// Bins per octave of stored histograms: latencies are exact to 1.6 % (half a bin), and a histogram takes about 20
/// bytes per second.
const BINS_AN_OCTAVE: u32 = 32;

/// The time of a sample, and what it shares with the other services.
pub(crate) struct Sample<'a> {
    /// Monotonic nanoseconds.
    pub(crate) now: u64,
    /// Nanoseconds since 1970.
    pub(crate) real: u64,
    pub(crate) host: &'a Values,
    /// CPU time that the collectors of a service may use, in nanoseconds.
    pub(crate) allowed_ns: u64,
}

pub(crate) struct Service {
    pub(crate) request: ServiceRequest,
    page: Page,
    members: Rc<RefCell<Members>>,
    sampler: Sampler,
    ring: Option<Ring>,
    source: Option<Source>,
    spare: Option<Intake>,
    slow: Histogram,
    slowdown: Option<Slowdown>,
    samples: u64,
    /// CPU time for this service, without that of its source.
    pub(crate) own_cpu_ns: u64,
    /// Sample at which the application had ended; it may be started again.
    gone_at: Option<u64>,
    has_run: bool,
}

impl Service {
    /// Start to watch. `must_run`: the application has to run, and its source of latency has to answer. Nothing is left
    /// behind if it cannot start.
    pub(crate) fn start(
        request: ServiceRequest,
        period_ms: u64,
        allowed_ns: u64,
        page: Page,
        now: u64,
        must_run: bool,
    ) -> Result<Self, NerveError> {
        let root = Path::new("/");
        let scope = match (&request.pid, &request.cgroup) {
            (_, Some(folder)) => Scope::Cgroup(folder.clone()),
            (Some(pid), None) => Scope::Process(*pid),
            (None, None) => Scope::Awaited,
        };
        let members = Members::find(root, scope);
        let runs = !members.borrow().is_empty();
        if must_run && !runs {
            return Err(NerveError::Gone(format!("{} has no process", request.name)));
        }
        let source = match &request.latency {
            Some(from) if must_run => Some(Source::start(from, true)?),
            Some(from) => Source::start(from, false).ok(),
            None => None,
        };
        let about = about(&request, period_ms);
        let ring =
            request.ring.as_ref().map(|path| Ring::open(path, request.ring_bytes, &about)).transpose()?;
        let collectors = application_collectors(root, &members, request.cgroup.as_deref());
        let block_ns = request.slowdown_block_ms.map(|ms| ms * 1_000_000);
        page.set_status(if runs { Status::Running } else { Status::Awaited });
        Ok(Self {
            request,
            page,
            members,
            sampler: Sampler::new(collectors, allowed_ns),
            ring,
            source,
            spare: None,
            slow: Histogram::new(),
            slowdown: block_ns.map(|block_ns| Slowdown::new(now, block_ns)),
            samples: 0,
            own_cpu_ns: 0,
            gone_at: (!runs).then_some(0),
            has_run: runs,
        })
    }

    /// Take a sample. Return whether latency seems to have become slow.
    pub(crate) fn sample(&mut self, sample: &Sample<'_>) -> Result<bool, NerveError> {
        let started = this_thread::cpu_time_ns();
        let mut events = self.sampler.read(self.samples);
        let is_slow_turn = self.samples % SLOW_INTERVAL == SLOW_INTERVAL - 1;
        let is_slow = self.take_latency(sample.now);
        if is_slow_turn {
            self.store_latency(sample.now)?;
            events.extend(self.sampler.adjust(sample.allowed_ns));
        }
        for event in events {
            self.record_event(sample, &event)?;
        }
        let values = &mut self.sampler.values;
        values.copy_host(sample.host);
        let source_cpu = self.spare.as_ref().map_or(0, |spare| spare.cpu_ns);
        let own_cpu = self.own_cpu_ns + this_thread::cpu_time_ns() - started + source_cpu;
        values.set(Id::OwnCpu, own_cpu / 1000);
        if let Some(ring) = &mut self.ring {
            values.set(Id::OwnBytes, ring.bytes_written);
            ring.sample(sample.now, sample.real, values)?;
        }
        self.page.sample(sample.real / 1_000_000, values);
        self.samples += 1;
        self.own_cpu_ns += this_thread::cpu_time_ns() - started;
        Ok(is_slow)
    }

    /// Follow a restart of the application. `find` returns the process that replaces it. Return whether to continue:
    /// the application runs, or may come back.
    pub(crate) fn follow(
        &mut self,
        sample: &Sample<'_>,
        mut find: impl FnMut(&str) -> Option<u32>,
    ) -> Result<bool, NerveError> {
        if self.members.borrow().is_empty() && self.gone_at.is_none() {
            self.record_event(sample, &json!({"ended": format!("{} has ended", self.request.name)}))?;
            self.page.set_status(Status::Awaited);
            self.gone_at = Some(self.samples);
        }
        let Some(gone_at) = self.gone_at else { return Ok(true) };
        let gone_for = self.samples - gone_at;
        let is_turn = gone_for % search_interval(gone_for) == 0;
        if self.request.cgroup.is_none() && is_turn {
            if let Some(pid) = find(&self.request.name) {
                self.members.borrow_mut().follow(pid);
            }
        }
        if self.members.borrow().is_empty() {
            return Ok(self.request.wait.is_none_or(|most| gone_for < most));
        }
        let collectors =
            application_collectors(Path::new("/"), &self.members, self.request.cgroup.as_deref());
        self.sampler.replace(collectors, sample.allowed_ns);
        let pid = self.members.borrow().pids().into_iter().min();
        let (key, again) = if self.has_run { ("restarted", " again") } else { ("started", "") };
        self.record_event(
            sample,
            &json!({key: format!("{} was started{again}", self.request.name), "pid": pid}),
        )?;
        self.page.set_status(if self.has_run { Status::Restarted } else { Status::Running });
        (self.gone_at, self.has_run) = (None, true);
        Ok(true)
    }

    pub(crate) fn record_event(
        &mut self,
        sample: &Sample<'_>,
        event: &serde_json::Value,
    ) -> Result<(), NerveError> {
        self.page.event(sample.real / 1_000_000, event);
        self.ring.as_mut().map_or(Ok(()), |ring| ring.event(sample.now, event))
    }

    /// Take over the readings of the source. Return whether latency seems to have become slow.
    fn take_latency(&mut self, now: u64) -> bool {
        if self.source.is_none() && self.samples % SLOW_INTERVAL == 0 {
            // Its log may exist now.
            self.source = self.request.latency.as_ref().and_then(|from| Source::start(from, false).ok());
        }
        let Some(source) = &mut self.source else { return false };
        let mut intake = source.take(self.spare.take().unwrap_or_else(|| Intake::new(false)));
        record_latency(&mut self.sampler.values, &intake, now);
        self.slow.merge(&intake.latency);
        self.page.latency(&intake.latency);
        // An error of a log is a line without a latency, not a failed request.
        let failed = if matches!(source, Source::Probe(_)) { intake.errors } else { 0 };
        let is_slow = self.slowdown.as_mut().is_some_and(|one| one.add(now, &intake.latency, failed));
        intake.clear();
        self.spare = Some(intake);
        is_slow
    }

    fn store_latency(&mut self, now: u64) -> Result<(), NerveError> {
        if self.slow.is_empty() {
            return Ok(());
        }
        if let Some(ring) = &mut self.ring {
            ring.histogram(now, &coarse_bins(&self.slow))?;
        }
        self.slow.clear();
        Ok(())
    }

    pub(crate) fn ring_bytes(&self) -> u64 {
        self.ring.as_ref().map_or(0, |ring| ring.bytes_written)
    }

    /// Return the CPU time of everything that serves this application, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.own_cpu_ns + self.spare.as_ref().map_or(0, |spare| spare.cpu_ns)
    }

    pub(crate) fn costs(&self) -> Vec<Cost> {
        self.sampler.costs(Some(&self.request.name))
    }
}

/// Return the samples from one search for the application to the next: a search may read a file per process.
fn search_interval(gone_for: u64) -> u64 {
    match gone_for {
        0..10 => 1,
        10..600 => 10,
        _ => 60,
    }
}

fn about(request: &ServiceRequest, period_ms: u64) -> serde_json::Value {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    json!({
        "application": request.name, "pid": request.pid, "cgroup": request.cgroup,
        "host": read("/proc/sys/kernel/hostname").trim(),
        "boot": read("/proc/sys/kernel/random/boot_id").trim(),
        "period_ms": period_ms, "bins_an_octave": BINS_AN_OCTAVE,
        "probe": matches!(request.latency, Some(LatencyFrom::Probe(_))),
    })
}

fn record_latency(values: &mut Values, intake: &Intake, now: u64) {
    let quantile = |q: Quantile| match intake.latency.quantile(q) {
        Some(Value::Finite(ns)) => Some(ns / 1000),
        _ => None,
    };
    values.add(Id::LatencyCount, intake.latency.count());
    values.add(Id::LatencyErrors, intake.errors);
    values.add(Id::ProbeSendDelay, intake.send_delay_ns / 1000);
    let waiting = if intake.oldest == 0 { 0 } else { now.saturating_sub(intake.oldest) / 1000 };
    values.set(Id::LatencyWaiting, waiting);
    values.set_or_unknown(Id::LatencyP50, quantile(Quantile::P50));
    values.set_or_unknown(Id::LatencyP95, quantile(Quantile::P95));
    values.set_or_unknown(Id::LatencyP99, quantile(Quantile::P99));
    values.set_or_unknown(Id::LatencyMax, intake.latency.max().map(|ns| ns / 1000));
}

/// Merge a histogram into coarser bins, in ascending order.
fn coarse_bins(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for bin in histogram.bins() {
        let at = coarse_bin(bin.low);
        match bins.last_mut() {
            Some((last, count)) if *last == at => *count += bin.count,
            _ => bins.push((at, bin.count)),
        }
    }
    bins
}

/// Return the bin of a value in the layout of `hindmost_histogram` with [`BINS_AN_OCTAVE`]: 1 ns wide below 64 ns.
fn coarse_bin(value: u64) -> u64 {
    let significant = BINS_AN_OCTAVE.ilog2() + 1;
    let octave = (u64::BITS - significant).saturating_sub(value.leading_zeros());
    u64::from(octave * BINS_AN_OCTAVE) + (value >> octave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bins_ascend_and_are_a_32nd_wide() {
        let mut before = 0;
        for value in [0, 1, 63, 64, 65, 127, 128, 1_000, 1_000_000, 1_032_000, u64::MAX] {
            let bin = coarse_bin(value);
            assert!(bin >= before, "{value}");
            before = bin;
        }
        assert_eq!(coarse_bin(1_000_000), coarse_bin(1_006_000));
        assert_ne!(coarse_bin(1_000_000), coarse_bin(1_032_000));
    }
}
