//! The daemon's loop: in each period, read the collectors that are due, write the ring and update the page.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hindmost_histogram::{Histogram, Quantile, Value};
use hindmost_sys::clock::{monotonic_ns, realtime_ns};
use hindmost_sys::limits::OpenFiles;
use hindmost_sys::this_thread;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::budget::{Budget, Cost, PeriodChange};
use crate::collect::{
    App, Calls, Cgroup, Collector, Expensive, Interrupts, Load, Members, Neighbours, Network, Places,
    Pressure, Scope, Sockets, Speed,
};
use crate::counters::{Id, Values};
use crate::latency::{Intake, LatencyFrom, Source};
use crate::ring::Ring;
use crate::serve::{PageServer, PageState};
use crate::NerveError;

/// Parameters of a watch.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchRequest {
    /// Name of the application, for people.
    pub application: String,
    /// A process, watched with its descendants.
    pub pid: Option<u32>,
    /// Or a cgroup, given by its folder.
    pub cgroup: Option<PathBuf>,
    /// Whether to continue with the process that replaces it after its end.
    pub follow: bool,
    /// Path of the ring file; None: keep nothing.
    pub ring: Option<PathBuf>,
    /// Size of the ring in bytes.
    pub ring_bytes: u64,
    /// Period of the samples in milliseconds.
    pub period_ms: u64,
    /// CPU time that the collectors may use, in microseconds per second.
    pub budget_us: u64,
    /// Source of the latency.
    pub latency: Option<LatencyFrom>,
    /// Port on loopback for the page and Prometheus; 0: a free port.
    pub serve: Option<u16>,
    /// Number of samples after which to stop; None: no limit.
    pub samples: Option<u64>,
}

/// Summary of a finished watch.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub samples: u64,
    /// Bytes written to the ring.
    pub ring_bytes: u64,
    /// CPU time of all threads except the page's, in microseconds.
    pub cpu_us: u64,
    /// Reason for its end.
    pub ended: &'static str,
    /// Recent cost of each collector.
    pub collectors: Vec<Cost>,
}

/// Samples between two stored histograms, and between other slow actions.
const SLOW_INTERVAL: u64 = 10;
/// Samples for which a cgroup may be empty: a restarted service returns to its cgroup.
const MAX_EMPTY: u64 = 60;
/// A larger step of the wall clock against the monotonic clock means that it was set, not slewed.
const STEP_NS: u64 = 100_000_000;
/// Bins per octave of stored histograms: latencies are exact to 1.6 % (half a bin), and a histogram takes about 20
/// bytes per second.
const BINS_AN_OCTAVE: u32 = 32;

pub(crate) fn collectors(
    root: &Path,
    members: &Rc<RefCell<Members>>,
    cgroup: Option<&Path>,
) -> Vec<Box<dyn Collector>> {
    let first = members.borrow().pids().first().copied();
    let cgroup = cgroup.map(Cgroup::open);
    let mut all: Vec<Box<dyn Collector>> = vec![
        Box::new(App::new(Rc::clone(members))),
        Box::new(Calls::new(Rc::clone(members))),
        Box::new(Load::new(root)),
        Box::new(Pressure::new(root)),
        Box::new(Network::new(root, first)),
        Box::new(Speed),
        Box::new(Expensive::new(root, first)),
        Box::new(Interrupts::new(root)),
        Box::new(Places::new(Rc::clone(members))),
        Box::new(Neighbours::new(Rc::clone(members), root)),
        Box::new(Sockets::new(Rc::clone(members), root)),
    ];
    if let Some(group) = cgroup.or_else(|| first.map(|pid| Cgroup::of_process(root, pid))) {
        all.push(Box::new(group));
    }
    all
}

struct Daemon<'a> {
    request: &'a WatchRequest,
    members: Rc<RefCell<Members>>,
    collectors: Vec<Box<dyn Collector>>,
    budget: Budget,
    ring: Option<Ring>,
    page: Arc<Mutex<PageState>>,
    source: Option<Source>,
    spare: Option<Intake>,
    slow: Histogram,
    values: Values,
    samples: u64,
    cpu_ns: u64,
    /// Sample at which the application had ended; it may be started again.
    gone_at: Option<u64>,
}

/// Watch until `stop` is set, the application has ended, or enough samples are taken. `ready` receives the page's
/// address, if there is a page. After the end of the application, `successor` is called once per sample and returns
/// the process that replaces it. A watch that cannot start leaves nothing behind.
///
/// # Errors
/// [`NerveError`]: there is nothing to watch, no source of latency, or the ring cannot be written.
pub fn watch(
    request: &WatchRequest,
    stop: &AtomicBool,
    ready: impl FnOnce(Option<String>),
    mut successor: impl FnMut() -> Option<u32>,
) -> Result<Summary, NerveError> {
    let root = Path::new("/");
    // Each thread and process needs a file, so 1,024 are soon used up. If the limit cannot be raised, further ones are
    // not watched.
    let _ = OpenFiles::raise();
    let scope = match (&request.pid, &request.cgroup) {
        (_, Some(folder)) => Scope::Cgroup(folder.clone()),
        (Some(pid), None) => Scope::Process(*pid),
        (None, None) => return Err(NerveError::Gone("no process or cgroup is given".into())),
    };
    let members = Members::find(root, scope);
    if members.borrow().is_empty() {
        return Err(NerveError::Gone(format!("{} has no process", request.application)));
    }
    let about = json!({
        "application": request.application, "pid": request.pid, "cgroup": request.cgroup,
        "host": std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim(),
        "boot": std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim(),
        "period_ms": request.period_ms, "bins_an_octave": BINS_AN_OCTAVE,
        "probe": matches!(request.latency, Some(LatencyFrom::Probe(_))),
    });
    let source = request.latency.as_ref().map(Source::start).transpose()?;
    let page = Arc::new(Mutex::new(PageState::new(&request.application)));
    let server = request.serve.map(|port| PageServer::start(port, Arc::clone(&page))).transpose()?;
    let ring = request.ring.as_ref().map(|path| Ring::open(path, request.ring_bytes, &about)).transpose()?;
    let collectors = collectors(root, &members, request.cgroup.as_deref());
    let budget_ns = request.budget_us * request.period_ms;
    let budget = Budget::new(budget_ns, collectors.iter().map(|one| (one.name(), one.period())));
    ready(server.as_ref().map(|server| server.address.to_string()));
    let mut daemon = Daemon {
        request,
        members,
        collectors,
        budget,
        ring,
        page,
        source,
        spare: Some(Intake::new(false)),
        slow: Histogram::new(),
        values: Values::new(),
        samples: 0,
        cpu_ns: 0,
        gone_at: None,
    };
    daemon.run(stop, &mut successor)
}

/// Both clocks at the last sample.
struct Clocks {
    now: u64,
    real: u64,
}

impl Clocks {
    /// Detect a step of the wall clock (it was set, or the host was suspended) and a gap in which the watch did not
    /// run. After a gap, the schedule restarts now instead of catching up.
    fn read(&mut self, now: u64, real: u64, scheduled: &mut u64, period: u64) -> Vec<serde_json::Value> {
        let mut events = Vec::new();
        let expected = self.real + (now - self.now);
        if real.abs_diff(expected) > STEP_NS {
            let seconds = (real as f64 - expected as f64) / 1e9;
            let text = format!("the wall clock was set by {seconds:+.3} s, or the host was suspended");
            events.push(json!({"clock": text, "seconds": seconds}));
        }
        if now > *scheduled + 3 * period {
            let seconds = (now - *scheduled) as f64 / 1e9;
            let text = format!("no samples for {seconds:.1} s, because the watch did not run");
            events.push(json!({"gap": text, "seconds": seconds}));
            *scheduled = now;
        }
        (self.now, self.real) = (now, real);
        events
    }
}

impl Daemon<'_> {
    fn run(
        &mut self,
        stop: &AtomicBool,
        successor: &mut dyn FnMut() -> Option<u32>,
    ) -> Result<Summary, NerveError> {
        let period = self.request.period_ms * 1_000_000;
        let cpu_before = this_thread::cpu_time_ns();
        let mut scheduled = monotonic_ns();
        let mut clocks = Clocks { now: scheduled, real: realtime_ns() };
        let ended = loop {
            let (now, real) = (monotonic_ns(), realtime_ns());
            for event in clocks.read(now, real, &mut scheduled, period) {
                self.record_event(now, &event)?;
            }
            self.sample(now, real, cpu_before)?;
            if !self.should_continue(now, successor)? {
                break "application-ended";
            }
            if self.request.samples.is_some_and(|most| self.samples >= most) {
                break "samples-taken";
            }
            scheduled += period;
            while monotonic_ns() < scheduled && !stop.load(Ordering::Relaxed) {
                this_thread::sleep_until(scheduled);
            }
            if stop.load(Ordering::Relaxed) {
                break "stopped";
            }
        };
        Ok(Summary {
            samples: self.samples,
            ring_bytes: self.ring.as_ref().map_or(0, |ring| ring.bytes_written),
            cpu_us: self.cpu_ns / 1000,
            ended,
            collectors: self.budget.costs(),
        })
    }

    /// Return whether to continue: the application exists, or may come back.
    fn should_continue(
        &mut self,
        now: u64,
        successor: &mut dyn FnMut() -> Option<u32>,
    ) -> Result<bool, NerveError> {
        let empty = self.members.borrow().is_empty();
        if empty && self.gone_at.is_none() {
            self.record_event(now, &json!({"ended": format!("{} has ended", self.request.application)}))?;
            self.gone_at = Some(self.samples);
        }
        if empty && self.request.follow {
            if let Some(pid) = successor() {
                self.members.borrow_mut().follow(pid);
            }
        }
        let Some(gone_at) = self.gone_at else { return Ok(true) };
        if !self.members.borrow().is_empty() {
            // Reopen the files: those of ended processes are useless.
            let root = Path::new("/");
            self.collectors = collectors(root, &self.members, self.request.cgroup.as_deref());
            let pid = self.members.borrow().pids().into_iter().min();
            let text = format!("{} was started again", self.request.application);
            self.record_event(now, &json!({"restarted": text, "pid": pid}))?;
            self.gone_at = None;
            return Ok(true);
        }
        let may_return = self.request.cgroup.is_some() && self.samples - gone_at < MAX_EMPTY;
        Ok(self.request.follow || may_return)
    }

    fn sample(&mut self, now: u64, real: u64, cpu_before: u64) -> Result<(), NerveError> {
        let mut events = Vec::new();
        let mut started = this_thread::cpu_time_ns();
        for collector in 0..self.collectors.len() {
            if self.budget.scheduled(collector, self.samples) {
                events.extend(self.collectors[collector].read(&mut self.values));
                let done = this_thread::cpu_time_ns();
                events.extend(
                    self.budget
                        .record_cost(collector, done - started)
                        .map(|change| self.describe_change(&change)),
                );
                started = done;
            }
        }
        self.take_latency(now)?;
        if self.samples % SLOW_INTERVAL == SLOW_INTERVAL - 1 {
            if let Some(change) = self.budget.adjust() {
                events.push(self.describe_change(&change));
            }
        }
        for event in events {
            self.record_event(now, &event)?;
        }
        self.values.set(Id::OwnCpu, (this_thread::cpu_time_ns() - cpu_before + self.cpu_of_source()) / 1000);
        if let Some(ring) = &mut self.ring {
            self.values.set(Id::OwnBytes, ring.bytes_written);
            ring.sample(now, real, &self.values)?;
        }
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if self.request.serve.is_some() {
            page.sample(real / 1_000_000, self.values.0.clone());
        }
        self.cpu_ns =
            this_thread::cpu_time_ns() - cpu_before + self.spare.as_ref().map_or(0, |spare| spare.cpu_ns);
        self.samples += 1;
        Ok(())
    }

    fn describe_change(&self, change: &PeriodChange) -> serde_json::Value {
        let text = format!(
            "{} is read only every {} samples: a reading costs {} µs, the budget is {} µs per second",
            change.name, change.period, change.cost_us, self.request.budget_us
        );
        json!({"budget": text, "collector": change.name, "period": change.period})
    }

    fn cpu_of_source(&self) -> u64 {
        self.spare.as_ref().map_or(0, |spare| spare.cpu_ns)
    }

    fn take_latency(&mut self, now: u64) -> Result<(), NerveError> {
        let (Some(source), Some(spare)) = (&mut self.source, self.spare.take()) else { return Ok(()) };
        let mut intake = source.take(spare);
        let quantile = |q: Quantile| match intake.latency.quantile(q) {
            Some(Value::Finite(ns)) => Some(ns / 1000),
            _ => None,
        };
        let values = &mut self.values;
        values.add(Id::LatencyCount, intake.latency.count());
        values.add(Id::LatencyErrors, intake.errors);
        values.add(Id::ProbeSendDelay, intake.send_delay_ns / 1000);
        let waiting = if intake.oldest == 0 { 0 } else { now.saturating_sub(intake.oldest) / 1000 };
        values.set(Id::LatencyWaiting, waiting);
        values.set_or_unknown(Id::LatencyP50, quantile(Quantile::P50));
        values.set_or_unknown(Id::LatencyP95, quantile(Quantile::P95));
        values.set_or_unknown(Id::LatencyP99, quantile(Quantile::P99));
        values.set_or_unknown(Id::LatencyMax, intake.latency.max().map(|ns| ns / 1000));
        self.slow.merge(&intake.latency);
        intake.clear();
        self.spare = Some(intake);
        if self.samples % SLOW_INTERVAL == SLOW_INTERVAL - 1 && !self.slow.is_empty() {
            if let Some(ring) = &mut self.ring {
                ring.histogram(now, &coarse_bins(&self.slow))?;
            }
            self.slow.clear();
        }
        Ok(())
    }

    fn record_event(&mut self, now: u64, event: &serde_json::Value) -> Result<(), NerveError> {
        if self.request.serve.is_some() {
            let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
            page.event(realtime_ns() / 1_000_000, event.to_string());
        }
        self.ring.as_mut().map_or(Ok(()), |ring| ring.event(now, event))
    }
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
    fn clock_steps_and_suspends_are_reported_and_sampling_continues() {
        const S: u64 = 1_000_000_000;
        let (mut clocks, mut scheduled) = (Clocks { now: 100 * S, real: 5_000 * S }, 101 * S);
        let mut read = |now, real| -> Vec<(&str, f64)> {
            let events = clocks.read(now, real, &mut scheduled, S);
            let kind = |one: &serde_json::Value| if one["gap"].is_null() { "clock" } else { "gap" };
            events.iter().map(|one| (kind(one), one["seconds"].as_f64().unwrap().round())).collect()
        };
        assert!(read(101 * S, 5_001 * S).is_empty());
        // Slewed by 50 ms, set back by an hour, and set forward again.
        assert!(read(102 * S, 5_002 * S + S / 20).is_empty());
        assert_eq!(read(103 * S, 1_403 * S), [("clock", -3600.0)]);
        assert_eq!(read(103 * S + 1, 5_003 * S), [("clock", 3600.0)]);
        // Suspended for two hours: the monotonic clock stood still, the wall clock did not.
        assert_eq!(read(103 * S + 2, 12_203 * S), [("clock", 7200.0)]);
        // Stopped for a minute.
        assert_eq!(read(163 * S, 12_263 * S), [("gap", 62.0)]);
        assert!(read(163 * S + 5, 12_263 * S + 5).is_empty());
        assert_eq!(scheduled, 163 * S);
    }

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
