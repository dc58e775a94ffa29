//! The daemon's loop: in each period, read the collectors that are due, write the rings and update the page.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hindmost_sys::clock::{monotonic_ns, realtime_ns};
use hindmost_sys::folder::FolderWatch;
use hindmost_sys::limits::OpenFiles;
use hindmost_sys::this_thread;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::budget::Cost;
use crate::collect::host_collectors;
use crate::events::Inbox;
use crate::page::{Page, PageState};
use crate::sampler::Sampler;
use crate::serve::PageServer;
use crate::service::{Sample, Service, ServiceRequest, SLOW_INTERVAL};
use crate::NerveError;

/// Parameters of a watch.
#[derive(Clone, Debug, Deserialize)]
pub struct WatchRequest {
    /// Applications that have to run now. The watch ends when none is left.
    pub services: Vec<ServiceRequest>,
    /// Or a folder of services. Whenever a file in it changes, [`Callbacks::services`] returns the services to watch.
    pub folder: Option<PathBuf>,
    /// Period of the samples in milliseconds.
    pub period_ms: u64,
    /// CPU time that the collectors may use, in microseconds per second and service.
    pub budget_us: u64,
    /// Port on loopback for the page and Prometheus; 0: a free port.
    pub serve: Option<u16>,
    /// Number of samples after which to stop; None: no limit.
    pub samples: Option<u64>,
}

/// What the caller of a watch decides.
pub trait Callbacks {
    /// Take note of the page's address, if there is a page. Called once before the first sample.
    fn ready(&mut self, address: Option<String>);
    /// Return the process that replaces the ended one of a service.
    fn successor(&mut self, service: &str) -> Option<u32>;
    /// Return the services to watch now.
    fn services(&mut self) -> Vec<ServiceRequest>;
    /// Take note that the latency of a service seems to have become slow.
    fn slowed(&mut self, service: &str);
    /// Take note that a service cannot be watched.
    fn failed(&mut self, service: &str, error: &NerveError);
}

/// Summary of a finished watch.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub samples: u64,
    /// Bytes written to the rings.
    pub ring_bytes: u64,
    /// CPU time of all threads except the page's, in microseconds.
    pub cpu_us: u64,
    /// Reason for its end.
    pub ended: &'static str,
    /// Recent cost of each collector.
    pub collectors: Vec<Cost>,
}

/// A larger step of the wall clock against the monotonic clock means that it was set, not slewed.
const STEP_NS: u64 = 100_000_000;

struct Daemon<'a> {
    request: &'a WatchRequest,
    page: Option<Arc<Mutex<PageState>>>,
    folder: Option<FolderWatch>,
    inbox: Inbox,
    host: Sampler,
    services: Vec<Service>,
    samples: u64,
    /// CPU time of the thread before the watch, in nanoseconds.
    cpu_before: u64,
    /// CPU time of services that are no longer watched, in nanoseconds: on this thread, and with their sources.
    ended_own_ns: u64,
    ended_ns: u64,
    ended_ring_bytes: u64,
    /// Costs of the last service that ended.
    ended_collectors: Vec<Cost>,
}

/// Watch until `stop` is set, all applications have ended, or enough samples are taken. A watch that cannot start
/// leaves nothing behind.
///
/// # Errors
/// [`NerveError`]: there is nothing to watch, no source of latency, or the ring cannot be written. A service of a
/// folder is no error: [`Callbacks::failed`] is called.
pub fn watch(
    request: &WatchRequest,
    stop: &AtomicBool,
    inbox: &Inbox,
    callbacks: &mut dyn Callbacks,
) -> Result<Summary, NerveError> {
    // Each thread and process needs a file, so 1,024 are soon used up. If the limit cannot be raised, further ones are
    // not watched.
    let _ = OpenFiles::raise();
    let folder = request.folder.as_ref().map(|folder| {
        FolderWatch::open(folder)
            .map_err(|source| NerveError::Folder { folder: folder.display().to_string(), source })
    });
    let page = request.serve.is_some().then(|| Arc::new(Mutex::new(PageState::default())));
    let mut daemon = Daemon {
        request,
        page: page.clone(),
        folder: folder.transpose()?,
        inbox: inbox.clone(),
        host: Sampler::new(host_collectors(Path::new("/")), request.budget_us * request.period_ms / 2),
        services: Vec::new(),
        samples: 0,
        cpu_before: this_thread::cpu_time_ns(),
        ended_own_ns: 0,
        ended_ns: 0,
        ended_ring_bytes: 0,
        ended_collectors: Vec::new(),
    };
    let server = request.serve.zip(page).map(|(port, page)| PageServer::start(port, page)).transpose()?;
    for service in &request.services {
        daemon.add(service.clone())?;
    }
    if request.folder.is_some() {
        daemon.update_services(callbacks);
    }
    callbacks.ready(server.as_ref().map(|server| server.address.to_string()));
    daemon.run(stop, callbacks)
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
    fn run(&mut self, stop: &AtomicBool, callbacks: &mut dyn Callbacks) -> Result<Summary, NerveError> {
        let period = self.request.period_ms * 1_000_000;
        let mut scheduled = monotonic_ns();
        let mut clocks = Clocks { now: scheduled, real: realtime_ns() };
        let ended = loop {
            let (now, real) = (monotonic_ns(), realtime_ns());
            let events = clocks.read(now, real, &mut scheduled, period);
            if self.folder.as_ref().is_some_and(FolderWatch::has_changed) {
                self.update_services(callbacks);
            }
            self.sample(now, real, events, callbacks)?;
            self.samples += 1;
            if self.services.is_empty() && self.folder.is_none() {
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
        Ok(self.finish(ended))
    }

    /// Take a sample of the host and of each service.
    fn sample(
        &mut self,
        now: u64,
        real: u64,
        mut events: Vec<serde_json::Value>,
        callbacks: &mut dyn Callbacks,
    ) -> Result<(), NerveError> {
        self.share_cost();
        events.extend(self.host.read(self.samples));
        if self.samples % SLOW_INTERVAL == SLOW_INTERVAL - 1 {
            events.extend(self.host.adjust(self.budget_ns() / 2));
        }
        let reports = self.inbox.take();
        let allowed_ns = self.allowed_ns();
        let sample = Sample { now, real, host: &self.host.values, allowed_ns };
        let mut ended = Vec::new();
        for (at, service) in self.services.iter_mut().enumerate() {
            let is_own = |(name, _): &&(String, serde_json::Value)| *name == service.request.name;
            let own: Vec<_> = reports.iter().filter(is_own).map(|(_, event)| event).collect();
            match sample_service(service, &sample, events.iter().chain(own), callbacks) {
                Ok(true) => {}
                Ok(false) => ended.push(at),
                Err(error) if self.folder.is_some() => {
                    callbacks.failed(&service.request.name, &error);
                    ended.push(at);
                }
                Err(error) => return Err(error),
            }
        }
        for at in ended.into_iter().rev() {
            self.remove(at);
        }
        Ok(())
    }

    /// Charge the CPU time that belongs to no service in equal parts to all of them.
    fn share_cost(&mut self) {
        let total = this_thread::cpu_time_ns() - self.cpu_before;
        let charged = self.ended_own_ns + self.services.iter().map(|one| one.own_cpu_ns).sum::<u64>();
        let part = total.saturating_sub(charged).checked_div(self.services.len() as u64).unwrap_or(0);
        for service in &mut self.services {
            service.own_cpu_ns += part;
        }
    }

    /// Return the CPU time that a sample of one service may cost, in nanoseconds.
    fn budget_ns(&self) -> u64 {
        self.request.budget_us * self.request.period_ms
    }

    /// Return what the collectors of a service may use: the budget without its part of the host's collectors.
    fn allowed_ns(&self) -> u64 {
        let part = self.host.cost_ns() / self.services.len().max(1) as u64;
        self.budget_ns().saturating_sub(part).max(self.budget_ns() / 2)
    }

    fn add(&mut self, request: ServiceRequest) -> Result<(), NerveError> {
        let page = Page::new(self.page.clone(), &request.name);
        let must_run = self.folder.is_none();
        let (period_ms, allowed_ns) = (self.request.period_ms, self.allowed_ns());
        self.services.push(Service::start(request, period_ms, allowed_ns, page, monotonic_ns(), must_run)?);
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        let service = self.services.swap_remove(at);
        self.ended_own_ns += service.own_cpu_ns;
        self.ended_ns += service.cpu_ns();
        self.ended_ring_bytes += service.ring_bytes();
        self.ended_collectors = service.costs();
    }

    /// Start new and changed services of the folder, and end removed ones.
    fn update_services(&mut self, callbacks: &mut dyn Callbacks) {
        let wanted = callbacks.services();
        for at in (0..self.services.len()).rev() {
            if !wanted.contains(&self.services[at].request) {
                self.remove(at);
            }
        }
        for request in wanted {
            if self.services.iter().all(|service| service.request != request) {
                let name = request.name.clone();
                if let Err(error) = self.add(request) {
                    callbacks.failed(&name, &error);
                }
            }
        }
    }

    fn finish(&mut self, ended: &'static str) -> Summary {
        self.share_cost();
        let of_services = |figure: fn(&Service) -> u64| self.services.iter().map(figure).sum::<u64>();
        let costs = self.services.iter().flat_map(Service::costs);
        let ended_collectors = self.ended_collectors.iter().filter(|_| self.services.is_empty()).cloned();
        Summary {
            samples: self.samples,
            ring_bytes: self.ended_ring_bytes + of_services(Service::ring_bytes),
            cpu_us: (self.ended_ns + of_services(Service::cpu_ns)) / 1000,
            ended,
            collectors: self.host.costs(None).into_iter().chain(costs).chain(ended_collectors).collect(),
        }
    }
}

/// Take a sample of a service, and return whether to continue.
fn sample_service<'a>(
    service: &mut Service,
    sample: &Sample<'_>,
    events: impl Iterator<Item = &'a serde_json::Value>,
    callbacks: &mut dyn Callbacks,
) -> Result<bool, NerveError> {
    for event in events {
        service.record_event(sample, event)?;
    }
    if service.sample(sample)? {
        callbacks.slowed(&service.request.name);
    }
    service.follow(sample, |name| callbacks.successor(name))
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
}
