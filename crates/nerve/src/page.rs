//! What the page and Prometheus show of all services.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hindmost_histogram::Histogram;
use serde_json::{json, Value};

use crate::counters::{Id, Kind, Values, COUNTERS, UNKNOWN};
use crate::events::describe;

/// Number of samples on the page: ten minutes.
const KEPT_SAMPLES: usize = 600;

/// Bounds of the exported histogram in nanoseconds: a quantile interpolated between two is at most a quarter off.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (4..10).map(|exponent| 10_u64.pow(exponent));
    decades.flat_map(|decade| [2, 3, 5, 7, 10, 15].map(|factor| factor * decade))
}

/// The services of the page, in the order of their names.
#[derive(Default)]
pub(crate) struct PageState {
    services: Vec<ServiceState>,
    next_id: u64,
}

/// What the page shows of a service: the last samples (wall clock in milliseconds, values) and events.
struct ServiceState {
    id: u64,
    name: String,
    runs: bool,
    restarts: u64,
    samples: VecDeque<(u64, Values)>,
    events: VecDeque<(u64, String)>,
    latency: Histogram,
}

/// Whether an application runs.
#[derive(Clone, Copy)]
pub(crate) enum Status {
    Running,
    /// It runs after it had ended.
    Restarted,
    /// It has ended or not started yet.
    Awaited,
}

/// The part of the page that belongs to a service, until it is dropped. Without a page, it does nothing.
pub(crate) struct Page {
    state: Option<Arc<Mutex<PageState>>>,
    id: u64,
}

impl Page {
    pub(crate) fn new(state: Option<Arc<Mutex<PageState>>>, name: &str) -> Self {
        let id = state.as_ref().map_or(0, |state| lock(state).add(name));
        Self { state, id }
    }

    fn update(&self, change: impl FnOnce(&mut ServiceState)) {
        let Some(state) = &self.state else { return };
        if let Some(service) = lock(state).services.iter_mut().find(|one| one.id == self.id) {
            change(service);
        }
    }

    pub(crate) fn set_status(&self, status: Status) {
        self.update(|service| {
            service.runs = !matches!(status, Status::Awaited);
            service.restarts += u64::from(matches!(status, Status::Restarted));
        });
    }

    pub(crate) fn sample(&self, at_ms: u64, values: &Values) {
        self.update(|service| push(&mut service.samples, (at_ms, values.clone())));
    }

    pub(crate) fn event(&self, at_ms: u64, event: &Value) {
        self.update(|service| push(&mut service.events, (at_ms, describe(event))));
    }

    pub(crate) fn latency(&self, latency: &Histogram) {
        self.update(|service| service.latency.merge(latency));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(state) = &self.state {
            lock(state).services.retain(|service| service.id != self.id);
        }
    }
}

pub(crate) fn lock(state: &Mutex<PageState>) -> MutexGuard<'_, PageState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn push<T>(kept: &mut VecDeque<T>, new: T) {
    kept.push_back(new);
    while kept.len() > KEPT_SAMPLES {
        kept.pop_front();
    }
}

impl PageState {
    /// Add a service, in the order of names.
    fn add(&mut self, name: &str) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let at = self.services.partition_point(|service| service.name.as_str() <= name);
        let (samples, events, latency) = (VecDeque::new(), VecDeque::new(), Histogram::new());
        let service =
            ServiceState { id, name: name.to_owned(), runs: false, restarts: 0, samples, events, latency };
        self.services.insert(at, service);
        id
    }

    /// Return all metrics as text for Prometheus (`OpenMetrics`). Values of the host have no label.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        for (at, counter) in COUNTERS.iter().enumerate() {
            let family = format!("hindmost_{}", counter.name.replace('.', "_"));
            let kind = if counter.kind == Kind::Total { "counter" } else { "gauge" };
            let suffix = if counter.kind == Kind::Total { "_total" } else { "" };
            write_head(&mut text, &family, kind, counter.about);
            for service in &self.services {
                let label = if counter.is_of_host() { String::new() } else { service.label() };
                match service.samples.back().map(|(_, values)| values.0[at]) {
                    Some(UNKNOWN) | None => continue,
                    Some(value) => write_line(&mut text, &format!("{family}{suffix}{label} {value}")),
                }
                if counter.is_of_host() {
                    break;
                }
            }
        }
        write_head(&mut text, "hindmost_up", "gauge", "whether the application runs");
        for service in &self.services {
            write_line(&mut text, &format!("hindmost_up{} {}", service.label(), u8::from(service.runs)));
        }
        write_head(&mut text, "hindmost_restarts", "counter", "restarts of the application");
        for service in &self.services {
            let line = format!("hindmost_restarts_total{} {}", service.label(), service.restarts);
            write_line(&mut text, &line);
        }
        let about = "latency of replies from the scheduled time";
        write_head(&mut text, "hindmost_latency_seconds", "histogram", about);
        for service in self.services.iter().filter(|service| !service.latency.is_empty()) {
            service.write_latency(&mut text);
        }
        text.push_str("# EOF\n");
        text
    }

    /// Return the latest figures of each service.
    pub(crate) fn services_json(&self) -> String {
        let services: Vec<Value> = self.services.iter().map(ServiceState::overview).collect();
        json!(services).to_string()
    }

    pub(crate) fn samples_json(&self, id: Option<u64>) -> Option<String> {
        let mut services = self.services.iter();
        let service = match id {
            Some(id) => services.find(|service| service.id == id),
            None => services.next(),
        };
        service.map(ServiceState::json)
    }
}

impl ServiceState {
    /// Return the label of this service's metrics.
    fn label(&self) -> String {
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{{service=\"{name}\"}}")
    }

    fn write_latency(&self, text: &mut String) {
        let (name, label) = ("hindmost_latency_seconds", self.label());
        let labels = label.trim_end_matches('}');
        let count = self.latency.count();
        for bound in bounds() {
            let below = count - self.latency.count_above(bound);
            write_line(text, &format!("{name}_bucket{labels},le=\"{}\"}} {below}", bound as f64 / 1e9));
        }
        write_line(text, &format!("{name}_bucket{labels},le=\"+Inf\"}} {count}"));
        write_line(text, &format!("{name}_sum{label} {}", self.latency.sum() as f64 / 1e9));
        write_line(text, &format!("{name}_count{label} {count}"));
    }

    fn overview(&self) -> Value {
        let latest = |id: Id| {
            let value = self.samples.back().map_or(UNKNOWN, |(_, values)| values.get(id));
            (value != UNKNOWN).then_some(value)
        };
        json!({
            "id": self.id, "name": self.name, "runs": self.runs, "restarts": self.restarts,
            "p50_us": latest(Id::LatencyP50), "p99_us": latest(Id::LatencyP99),
            "requests": latest(Id::LatencyCount), "errors": latest(Id::LatencyErrors),
        })
    }

    fn json(&self) -> String {
        let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
        let totals: Vec<bool> = COUNTERS.iter().map(|counter| counter.kind == Kind::Total).collect();
        let known = |value: &i64| (*value != UNKNOWN).then_some(*value);
        let samples: Vec<(u64, Vec<Option<i64>>)> =
            self.samples.iter().map(|(at, values)| (*at, values.0.iter().map(known).collect())).collect();
        json!({
            "application": self.name, "names": names, "totals": totals, "samples": samples,
            "events": self.events,
        })
        .to_string()
    }
}

fn write_head(text: &mut String, family: &str, kind: &str, about: &str) {
    write_line(text, &format!("# TYPE {family} {kind}"));
    write_line(text, &format!("# HELP {family} {about}"));
}

fn write_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
