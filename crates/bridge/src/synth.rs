//! The embedded server.

use hindmost_synth::{Certificate, InProcess, Server, ServerConfig, ServerSummary, SynthError};
use hindmost_sys::signal::stop_flag;
use pyo3::prelude::*;

use crate::fault::raise;

fn unreadable(error: serde_json::Error) -> PyErr {
    raise("config", &error.to_string())
}

fn synth_error(error: SynthError) -> PyErr {
    raise(error.code(), &error.to_string())
}

fn to_json(summary: Result<ServerSummary, SynthError>) -> PyResult<String> {
    let summary = summary.map_err(synth_error)?;
    serde_json::to_string(&summary).map_err(|e| raise("serving-failed", &e.to_string()))
}

/// Serve until SIGTERM or SIGINT; return the server's summary as JSON text. `ready` is called with the address
/// before the first request is served.
#[pyfunction]
#[pyo3(signature = (config, ready = None))]
pub fn serve_synth(py: Python<'_>, config: &str, ready: Option<Py<PyAny>>) -> PyResult<String> {
    let (server, stop) = py.detach(|| {
        let config: ServerConfig = serde_json::from_str(config).map_err(unreadable)?;
        let server = Server::bind(&config).map_err(synth_error)?;
        PyResult::Ok((server, stop_flag()))
    })?;
    if let Some(ready) = ready {
        ready.call1(py, (server.local_address().to_string(),))?;
    }
    py.detach(|| to_json(server.run(stop)))
}

/// Measure how accurate a spin is on these CPUs (by default all that this process may use); return JSON text.
#[pyfunction]
#[pyo3(signature = (cpus = None))]
pub fn certify_spin(py: Python<'_>, cpus: Option<Vec<usize>>) -> PyResult<String> {
    let certificate = py.detach(|| Certificate::measure(cpus.as_deref()));
    let certificate = certificate.map_err(synth_error)?;
    serde_json::to_string(&certificate).map_err(|e| raise("serving-failed", &e.to_string()))
}

/// Serve requests generated in this process, until all are served, or SIGTERM or SIGINT; return the summary.
#[pyfunction]
pub fn serve_inside(py: Python<'_>, config: &str, inside: &str) -> PyResult<String> {
    py.detach(|| {
        let config: ServerConfig = serde_json::from_str(config).map_err(unreadable)?;
        let inside: InProcess = serde_json::from_str(inside).map_err(unreadable)?;
        to_json(inside.run(&config, stop_flag()))
    })
}
