//! The daemon of `hindmost watch`, its ring, and what experiments look at.

use std::path::PathBuf;

use hindmost_nerve::{HostSampler, Kind, NerveError, Probe, ProbeRequest, WatchRequest, COUNTERS};
use hindmost_sys::signal::stop_flag;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fault::raise;

fn failed(why: NerveError) -> PyErr {
    raise(why.code(), &why.to_string())
}

/// Names of a sample's values, whether each is a total, and what it is.
#[pyfunction]
pub fn watch_counters() -> Vec<(&'static str, bool, &'static str)> {
    COUNTERS.iter().map(|counter| (counter.name, counter.kind == Kind::Total, counter.about)).collect()
}

/// Watches until SIGTERM or SIGINT, or the end of the application; returns its summary as JSON text. `ready` is
/// called with the page's address (or None) before the first sample, `successor` once a sample after the application's
/// end: it returns the process that has taken its place, or None.
#[pyfunction]
pub fn watch(py: Python<'_>, asked: &str, ready: Py<PyAny>, successor: Py<PyAny>) -> PyResult<String> {
    let request: WatchRequest = serde_json::from_str(asked).map_err(|e| raise("config", &e.to_string()))?;
    let summary = py.detach(|| {
        let stop = stop_flag();
        // What a caller fails at is its own affair; the watch goes on.
        let ready = |address| Python::attach(|py| drop(ready.call1(py, (address,))));
        let successor = || Python::attach(|py| successor.call0(py).ok()?.extract(py).ok().flatten());
        hindmost_nerve::watch(&request, stop, ready, successor)
    });
    let summary = summary.map_err(failed)?;
    serde_json::to_string(&summary).map_err(|e| raise("ring", &e.to_string()))
}

/// A ring as it was read: header (JSON text), names, times and wall clock offsets (microseconds), values row by row
/// (each 64-bit integers), events, histograms, and whether the file is shorter than it should be.
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

/// Reads a ring, whole or cut off.
#[pyfunction]
pub fn read_ring(py: Python<'_>, path: PathBuf) -> PyResult<ReadRing<'_>> {
    let frames = py.detach(|| hindmost_nerve::read(&path)).map_err(failed)?;
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

/// Single samples of an application and its host.
#[pyclass(unsendable)]
pub struct Sampler(HostSampler);

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (pid = None, cgroup = None))]
    fn new(pid: Option<u32>, cgroup: Option<PathBuf>) -> PyResult<Self> {
        HostSampler::new(pid, cgroup.as_deref()).map(Self).map_err(failed)
    }

    /// One value for each of `watch_counters`, now.
    fn now(&mut self) -> Vec<i64> {
        self.0.now()
    }
}

/// A light open-loop probe that keeps each request, from its making until `end`.
#[pyclass]
pub struct Prober(Option<Probe>);

#[pymethods]
impl Prober {
    #[new]
    fn new(py: Python<'_>, asked: &str) -> PyResult<Self> {
        let asked: ProbeRequest =
            serde_json::from_str(asked).map_err(|error| raise("latency", &error.to_string()))?;
        let probe = py.detach(|| Probe::start(&asked)).map_err(failed)?;
        Ok(Self(Some(probe)))
    }

    /// (due, latency) of each request since the last call, in nanoseconds; requests without a good answer; since when
    /// the oldest one without an answer is due (0: none).
    fn take(&self) -> (Vec<(u64, u64)>, u64, u64) {
        self.0.as_ref().map_or((Vec::new(), 0, 0), |probe| {
            let seen = probe.take();
            (seen.each, seen.errors, seen.oldest)
        })
    }

    /// Ends it.
    fn end(&mut self, py: Python<'_>) {
        let probe = self.0.take();
        py.detach(|| drop(probe));
    }
}
