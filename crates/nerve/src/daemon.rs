//! The loop: once a period everything that is due is read, put into the ring and shown.

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

use crate::budget::{Budget, Cost, Shed};
use crate::collect::{
    App, Calls, Cgroup, Collector, Costly, Interrupts, Load, Members, Neighbours, Network, Places, Pressure,
    Sockets, Speed, Whose,
};
use crate::counters::{Id, Values};
use crate::latency::{Intake, LatencyFrom, Source};
use crate::ring::Ring;
use crate::serve::{Served, Shown};
use crate::NerveError;

/// What is to be watched, and how.
#[derive(Clone, Debug, Deserialize)]
pub struct Asked {
    /// For people.
    pub application: String,
    /// A process, with those that it started.
    pub pid: Option<u32>,
    /// Or all of a cgroup, by its folder.
    pub cgroup: Option<PathBuf>,
    /// Whether to go on with the process that takes its place after its end.
    pub follow: bool,
    /// The ring file; without it nothing is kept.
    pub ring: Option<PathBuf>,
    /// Its size.
    pub ring_bytes: u64,
    /// From sample to sample.
    pub period_ms: u64,
    /// Processor time that the collectors may use, microseconds a second.
    pub budget_us: u64,
    /// Where latency comes from.
    pub latency: Option<LatencyFrom>,
    /// A port on loopback for the page and Prometheus; 0: a free one.
    pub serve: Option<u16>,
    /// Samples until it ends; none: until it is told to.
    pub samples: Option<u64>,
}

/// What a watch has done.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Samples taken.
    pub samples: u64,
    /// Bytes written to the ring.
    pub ring_bytes: u64,
    /// Processor time of all its threads but the page's, microseconds.
    pub cpu_us: u64,
    /// Why it ended.
    pub ended: &'static str,
    /// What each collector cost lately.
    pub collectors: Vec<Cost>,
}

/// Samples from one histogram in the ring to the next, and between other slow things.
const SLOW: u64 = 10;
/// Samples for which a cgroup may stay without processes: a service that is restarted comes back to its own.
const EMPTY: u64 = 60;
/// A wall clock that moves by more than this against the monotonic one was set, not slewed.
const STEP_NS: u64 = 100_000_000;
/// Bins an octave of stored histograms: a latency is known to 1.6 % (half a bin), and a histogram costs some 20 bytes
/// a second.
const BINS_AN_OCTAVE: u32 = 32;

pub(crate) fn collectors(
    root: &Path,
    members: &Rc<RefCell<Members>>,
    cgroup: Option<&Path>,
) -> Vec<Box<dyn Collector>> {
    let first = members.borrow().pids().first().copied();
    let cgroup = cgroup.map(Cgroup::at);
    let mut all: Vec<Box<dyn Collector>> = vec![
        Box::new(App::new(Rc::clone(members))),
        Box::new(Calls::new(Rc::clone(members))),
        Box::new(Load::new(root)),
        Box::new(Pressure::new(root)),
        Box::new(Network::new(root, first)),
        Box::new(Speed),
        Box::new(Costly::new(root, first)),
        Box::new(Interrupts::new(root)),
        Box::new(Places::new(Rc::clone(members))),
        Box::new(Neighbours::new(Rc::clone(members), root)),
        Box::new(Sockets::new(Rc::clone(members), root)),
    ];
    if let Some(group) = cgroup.or_else(|| first.map(|pid| Cgroup::of(root, pid))) {
        all.push(Box::new(group));
    }
    all
}

struct Daemon<'a> {
    asked: &'a Asked,
    members: Rc<RefCell<Members>>,
    collectors: Vec<Box<dyn Collector>>,
    budget: Budget,
    ring: Option<Ring>,
    shown: Arc<Mutex<Shown>>,
    source: Option<Source>,
    spare: Option<Intake>,
    slow: Histogram,
    values: Values,
    samples: u64,
    cpu_ns: u64,
    /// At which sample the application had ended; it may be started again.
    gone_at: Option<u64>,
}

/// Watches until `stop` is up, the application has ended, or enough samples are taken. `ready` is told the page's
/// address, if there is one. After the application's end `successor` is asked once a sample which process has taken
/// its place. Nothing is left of a watch that cannot start.
///
/// # Errors
/// [`NerveError`]: nothing to watch, no latency from there, or the ring cannot be written.
pub fn watch(
    asked: &Asked,
    stop: &AtomicBool,
    ready: impl FnOnce(Option<String>),
    mut successor: impl FnMut() -> Option<u32>,
) -> Result<Summary, NerveError> {
    let root = Path::new("/");
    // A file a thread and a process: 1,024 are soon used up. Where it cannot be raised, those beyond are not seen.
    let _ = OpenFiles::raise();
    let whose = match (&asked.pid, &asked.cgroup) {
        (_, Some(folder)) => Whose::Cgroup(folder.clone()),
        (Some(pid), None) => Whose::Process(*pid),
        (None, None) => return Err(NerveError::Gone("neither a process nor a cgroup was named".into())),
    };
    let members = Members::find(root, whose);
    if members.borrow().is_empty() {
        return Err(NerveError::Gone(format!("{} has no process", asked.application)));
    }
    let about = json!({
        "application": asked.application, "pid": asked.pid, "cgroup": asked.cgroup,
        "host": std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim(),
        "boot": std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim(),
        "period_ms": asked.period_ms, "bins_an_octave": BINS_AN_OCTAVE,
        "probe": matches!(asked.latency, Some(LatencyFrom::Probe(_))),
    });
    let source = asked.latency.as_ref().map(Source::start).transpose()?;
    let shown = Arc::new(Mutex::new(Shown::of(&asked.application)));
    let served = asked.serve.map(|port| Served::start(port, Arc::clone(&shown))).transpose()?;
    let ring = asked.ring.as_ref().map(|path| Ring::open(path, asked.ring_bytes, &about)).transpose()?;
    let collectors = collectors(root, &members, asked.cgroup.as_deref());
    let budget_ns = asked.budget_us * asked.period_ms;
    let budget = Budget::new(budget_ns, collectors.iter().map(|one| (one.name(), one.period())));
    ready(served.as_ref().map(|served| served.address.to_string()));
    let mut daemon = Daemon {
        asked,
        members,
        collectors,
        budget,
        ring,
        shown,
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
    /// What a sample's moment tells: a wall clock that was set, or a host that slept; a watch that did not run. After
    /// the latter the next samples are due from now on, not all that were missed.
    fn read(&mut self, now: u64, real: u64, due: &mut u64, period: u64) -> Vec<serde_json::Value> {
        let mut events = Vec::new();
        let expected = self.real + (now - self.now);
        if real.abs_diff(expected) > STEP_NS {
            let seconds = (real as f64 - expected as f64) / 1e9;
            let text = format!("set by {seconds:+.3} s, or this host slept");
            events.push(json!({"clock": text, "seconds": seconds}));
        }
        if now > *due + 3 * period {
            let seconds = (now - *due) as f64 / 1e9;
            let text = format!("no samples for {seconds:.1} s: the watch did not run");
            events.push(json!({"gap": text, "seconds": seconds}));
            *due = now;
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
        let period = self.asked.period_ms * 1_000_000;
        let cpu_before = this_thread::cpu_time_ns();
        let mut due = monotonic_ns();
        let mut clocks = Clocks { now: due, real: realtime_ns() };
        let ended = loop {
            let (now, real) = (monotonic_ns(), realtime_ns());
            for event in clocks.read(now, real, &mut due, period) {
                self.tell(now, &event)?;
            }
            self.sample(now, real, cpu_before)?;
            if !self.goes_on(now, successor)? {
                break "the application has ended";
            }
            if self.asked.samples.is_some_and(|most| self.samples >= most) {
                break "as many samples as asked for";
            }
            due += period;
            while monotonic_ns() < due && !stop.load(Ordering::Relaxed) {
                this_thread::sleep_until(due);
            }
            if stop.load(Ordering::Relaxed) {
                break "told to";
            }
        };
        Ok(Summary {
            samples: self.samples,
            ring_bytes: self.ring.as_ref().map_or(0, |ring| ring.written),
            cpu_us: self.cpu_ns / 1000,
            ended,
            collectors: self.budget.costs(),
        })
    }

    /// Whether there is an application, or one may come.
    fn goes_on(&mut self, now: u64, successor: &mut dyn FnMut() -> Option<u32>) -> Result<bool, NerveError> {
        let empty = self.members.borrow().is_empty();
        if empty && self.gone_at.is_none() {
            self.tell(now, &json!({"ended": format!("{} has ended", self.asked.application)}))?;
            self.gone_at = Some(self.samples);
        }
        if empty && self.asked.follow {
            if let Some(pid) = successor() {
                self.members.borrow_mut().follow(pid);
            }
        }
        let Some(gone_at) = self.gone_at else { return Ok(true) };
        if !self.members.borrow().is_empty() {
            // Files of the processes that ended tell nothing any more.
            let root = Path::new("/");
            self.collectors = collectors(root, &self.members, self.asked.cgroup.as_deref());
            let pid = self.members.borrow().pids().into_iter().min();
            let text = format!("{} was started again", self.asked.application);
            self.tell(now, &json!({"restarted": text, "pid": pid}))?;
            self.gone_at = None;
            return Ok(true);
        }
        let waits = self.asked.cgroup.is_some() && self.samples - gone_at < EMPTY;
        Ok(self.asked.follow || waits)
    }

    fn sample(&mut self, now: u64, real: u64, cpu_before: u64) -> Result<(), NerveError> {
        let mut told = Vec::new();
        let mut begun = this_thread::cpu_time_ns();
        for which in 0..self.collectors.len() {
            if self.budget.due(which, self.samples) {
                told.extend(self.collectors[which].read(&mut self.values));
                let done = this_thread::cpu_time_ns();
                told.extend(self.budget.spent(which, done - begun).map(|shed| self.told_shed(&shed)));
                begun = done;
            }
        }
        self.take_latency(now)?;
        if self.samples % SLOW == SLOW - 1 {
            if let Some(shed) = self.budget.adjust() {
                told.push(self.told_shed(&shed));
            }
        }
        for event in told {
            self.tell(now, &event)?;
        }
        self.values.set(Id::OwnCpu, (this_thread::cpu_time_ns() - cpu_before + self.cpu_of_source()) / 1000);
        if let Some(ring) = &mut self.ring {
            self.values.set(Id::OwnBytes, ring.written);
            ring.sample(now, real, &self.values)?;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if self.asked.serve.is_some() {
            shown.sample(real / 1_000_000, self.values.0.clone());
        }
        self.cpu_ns =
            this_thread::cpu_time_ns() - cpu_before + self.spare.as_ref().map_or(0, |spare| spare.cpu_ns);
        self.samples += 1;
        Ok(())
    }

    fn told_shed(&self, shed: &Shed) -> serde_json::Value {
        let text = format!(
            "{} read every {} samples: a reading costs {} us, the budget is {} us a second",
            shed.name, shed.period, shed.cost_us, self.asked.budget_us
        );
        json!({"budget": text, "collector": shed.name, "period": shed.period})
    }

    fn cpu_of_source(&self) -> u64 {
        self.spare.as_ref().map_or(0, |spare| spare.cpu_ns)
    }

    fn take_latency(&mut self, now: u64) -> Result<(), NerveError> {
        let (Some(source), Some(spare)) = (&mut self.source, self.spare.take()) else { return Ok(()) };
        let mut seen = source.take(spare);
        let quantile = |q: Quantile| match seen.latency.quantile(q) {
            Some(Value::Finite(ns)) => Some(ns / 1000),
            _ => None,
        };
        let values = &mut self.values;
        values.add(Id::LatencyCount, seen.latency.count());
        values.add(Id::LatencyErrors, seen.errors);
        values.add(Id::ProbeSlip, seen.slip_ns / 1000);
        let waiting = if seen.oldest == 0 { 0 } else { now.saturating_sub(seen.oldest) / 1000 };
        values.set(Id::LatencyWaiting, waiting);
        values.put(Id::LatencyP50, quantile(Quantile::P50));
        values.put(Id::LatencyP95, quantile(Quantile::P95));
        values.put(Id::LatencyP99, quantile(Quantile::P99));
        values.put(Id::LatencyMax, seen.latency.max().map(|ns| ns / 1000));
        self.slow.merge(&seen.latency);
        seen.clear();
        self.spare = Some(seen);
        if self.samples % SLOW == SLOW - 1 && !self.slow.is_empty() {
            if let Some(ring) = &mut self.ring {
                ring.histogram(now, &coarse(&self.slow))?;
            }
            self.slow.clear();
        }
        Ok(())
    }

    fn tell(&mut self, now: u64, event: &serde_json::Value) -> Result<(), NerveError> {
        if self.asked.serve.is_some() {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.event(realtime_ns() / 1_000_000, event.to_string());
        }
        self.ring.as_mut().map_or(Ok(()), |ring| ring.event(now, event))
    }
}

/// Counts by coarser bins, ascending.
fn coarse(histogram: &Histogram) -> Vec<(u64, u64)> {
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

/// The layout of `hindmost_histogram` with [`BINS_AN_OCTAVE`]: below 64 a nanosecond each.
fn coarse_bin(value: u64) -> u64 {
    let significant = BINS_AN_OCTAVE.ilog2() + 1;
    let octave = (u64::BITS - significant).saturating_sub(value.leading_zeros());
    u64::from(octave * BINS_AN_OCTAVE) + (value >> octave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_clocks_and_hours_of_suspend_are_told_and_samples_go_on_from_there() {
        const S: u64 = 1_000_000_000;
        let (mut clocks, mut due) = (Clocks { now: 100 * S, real: 5_000 * S }, 101 * S);
        let mut read = |now, real| -> Vec<(&str, f64)> {
            let events = clocks.read(now, real, &mut due, S);
            let kind = |one: &serde_json::Value| if one["gap"].is_null() { "clock" } else { "gap" };
            events.iter().map(|one| (kind(one), one["seconds"].as_f64().unwrap().round())).collect()
        };
        assert!(read(101 * S, 5_001 * S).is_empty());
        // Slewed by 50 ms; set back by an hour; set forward again.
        assert!(read(102 * S, 5_002 * S + S / 20).is_empty());
        assert_eq!(read(103 * S, 1_403 * S), [("clock", -3600.0)]);
        assert_eq!(read(103 * S + 1, 5_003 * S), [("clock", 3600.0)]);
        // Asleep for two hours: the monotonic clock stood still, the wall clock did not.
        assert_eq!(read(103 * S + 2, 12_203 * S), [("clock", 7200.0)]);
        // Stopped for a minute.
        assert_eq!(read(163 * S, 12_263 * S), [("gap", 62.0)]);
        assert!(read(163 * S + 5, 12_263 * S + 5).is_empty());
        assert_eq!(due, 163 * S);
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
