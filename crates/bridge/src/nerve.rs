//! The daemon of `hindmost watch`, its ring file, and the measurements of experiments.

use std::path::PathBuf;

use hindmost_nerve::{
    Callbacks, HostSampler, Inbox, Kind, NerveError, Probe, ProbeRequest, ServiceRequest, WatchRequest,
    COUNTERS,
};
use hindmost_sys::signal::stop_flag;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

fn to_python(why: NerveError) -> PyErr {
    raise(why.code(), &why.to_string())
}

/// Return for each value of a sample: its name, whether it is a total, and its meaning.
#[pyfunction]
pub fn watch_counters() -> Vec<(&'static str, bool, &'static str)> {
    COUNTERS.iter().map(|counter| (counter.name, counter.kind == Kind::Total, counter.about)).collect()
}

/// Describe an event of a ring, given as JSON text, in words.
#[pyfunction]
pub fn describe_event(event: &str) -> String {
    serde_json::from_str(event).map_or_else(|_| event.to_owned(), |event| hindmost_nerve::describe(&event))
}

/// Takes events from other threads to the rings and the page of a running watch.
#[pyclass]
pub struct WatchInbox(Inbox);

#[pymethods]
impl WatchInbox {
    #[new]
    fn new() -> Self {
        Self(Inbox::default())
    }

    /// Report an event of a service, as JSON text.
    fn report(&self, service: &str, event: &str) -> PyResult<()> {
        let event = serde_json::from_str(event).map_err(|error| raise("config", &error.to_string()))?;
        self.0.report(service, event);
        Ok(())
    }
}

/// A Python object with the methods of [`Callbacks`]. Its errors are ignored; the watch continues.
struct PythonCallbacks(Py<PyAny>);

impl Callbacks for PythonCallbacks {
    fn ready(&mut self, address: Option<String>) {
        Python::attach(|py| drop(self.0.call_method1(py, "ready", (address,))));
    }

    fn successor(&mut self, service: &str) -> Option<u32> {
        Python::attach(|py| self.0.call_method1(py, "successor", (service,)).ok()?.extract(py).ok().flatten())
    }

    fn services(&mut self) -> Vec<ServiceRequest> {
        let text: Option<String> =
            Python::attach(|py| self.0.call_method0(py, "services").ok()?.extract(py).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    fn slowed(&mut self, service: &str) {
        Python::attach(|py| drop(self.0.call_method1(py, "slowed", (service,))));
    }

    fn failed(&mut self, service: &str, error: &NerveError) {
        let arguments = (service, error.code(), error.to_string());
        Python::attach(|py| drop(self.0.call_method1(py, "failed", arguments)));
    }
}

/// Watch until SIGTERM or SIGINT, or until all applications have ended; return the summary as JSON text.
#[pyfunction]
pub fn watch(
    py: Python<'_>,
    asked: &str,
    callbacks: Py<PyAny>,
    inbox: PyRef<'_, WatchInbox>,
) -> PyResult<String> {
    let request: WatchRequest = serde_json::from_str(asked).map_err(|e| raise("config", &e.to_string()))?;
    let (inbox, mut callbacks) = (inbox.0.clone(), PythonCallbacks(callbacks));
    let summary = py
        .detach(|| hindmost_nerve::watch(&request, stop_flag(), &inbox, &mut callbacks))
        .map_err(to_python)?;
    serde_json::to_string(&summary).map_err(|e| raise("ring", &e.to_string()))
}

/// The content of a ring: header (JSON text), names, times and wall clock offsets (microseconds), values row by row
/// (all as 64-bit integers), events, histograms, and whether the file is truncated.
type ReadRing<'py> = (
    String,
    Vec<String>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Vec<(i64, String)>,
    Vec<(i64, Vec<(u64, u64)>)>,
    bool,
);

/// Read a ring file, complete or truncated.
#[pyfunction]
pub fn read_ring(py: Python<'_>, path: PathBuf) -> PyResult<ReadRing<'_>> {
    let frames = py.detach(|| hindmost_nerve::read(&path)).map_err(to_python)?;
    let bytes = |numbers: &[i64]| {
        PyBytes::new(py, &numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>())
    };
    Ok((
        frames.header.to_string(),
        frames.names,
        bytes(&frames.at_us),
        bytes(&frames.offset_us),
        bytes(&frames.values),
        frames.events,
        frames.histograms,
        frames.cut,
    ))
}

/// Takes single samples of an application and its host.
#[pyclass(unsendable)]
pub struct Sampler(HostSampler);

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (pid = None, cgroup = None))]
    fn new(pid: Option<u32>, cgroup: Option<PathBuf>) -> PyResult<Self> {
        HostSampler::new(pid, cgroup.as_deref()).map(Self).map_err(to_python)
    }

    /// Return the present value of each of `watch_counters`.
    fn now(&mut self) -> Vec<i64> {
        self.0.now()
    }
}

/// A light open-loop probe that records each request from its creation until `end`.
#[pyclass]
pub struct Prober(Option<Probe>);

#[pymethods]
impl Prober {
    #[new]
    fn new(py: Python<'_>, asked: &str) -> PyResult<Self> {
        let asked: ProbeRequest =
            serde_json::from_str(asked).map_err(|error| raise("latency", &error.to_string()))?;
        let probe = py.detach(|| Probe::start(&asked)).map_err(to_python)?;
        Ok(Self(Some(probe)))
    }

    /// Return (scheduled, latency) of each request since the last call, in nanoseconds; the number of requests
    /// without a good answer; and the scheduled time of the oldest unanswered one (0: none).
    fn take(&self) -> (Vec<(u64, u64)>, u64, u64) {
        self.0.as_ref().map_or((Vec::new(), 0, 0), |probe| {
            let seen = probe.take();
            (seen.each, seen.errors, seen.oldest)
        })
    }

    /// Stop the probe.
    fn end(&mut self, py: Python<'_>) {
        let probe = self.0.take();
        py.detach(|| drop(probe));
    }
}
