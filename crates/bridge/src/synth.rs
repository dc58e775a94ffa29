//! The embedded server.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_synth::{Account, Certificate, Inside, Server, ServerConfig, SynthError};
use pyo3::prelude::*;

use crate::fault::raise;

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// From here on, SIGTERM and SIGINT end what serves.
fn obey_signals() {
    STOP.store(false, Ordering::Relaxed);
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
}

fn unreadable(error: serde_json::Error) -> PyErr {
    raise("config", &error.to_string())
}

fn told(account: Result<Account, SynthError>) -> PyResult<String> {
    let account = account.map_err(|e| raise("synth", &e.to_string()))?;
    serde_json::to_string(&account).map_err(|e| raise("synth", &e.to_string()))
}

/// Serves until SIGTERM or SIGINT; returns the server's own account as JSON text. `ready` is called with the address
/// before the first request is served.
#[pyfunction]
#[pyo3(signature = (config, ready = None))]
pub fn serve_synth(py: Python<'_>, config: &str, ready: Option<Py<PyAny>>) -> PyResult<String> {
    let server = py.detach(|| {
        let config: ServerConfig = serde_json::from_str(config).map_err(unreadable)?;
        let server = Server::bind(&config).map_err(|e| raise("synth", &e.to_string()))?;
        obey_signals();
        PyResult::Ok(server)
    })?;
    if let Some(ready) = ready {
        ready.call1(py, (server.local_address().to_string(),))?;
    }
    py.detach(|| told(server.run(&STOP)))
}

/// How faithful a spin is on these CPUs (all that this process may use, where none are named), as JSON text.
#[pyfunction]
#[pyo3(signature = (cpus = None))]
pub fn certify_spin(py: Python<'_>, cpus: Option<Vec<usize>>) -> PyResult<String> {
    let certificate = py.detach(|| Certificate::measure(cpus.as_deref()));
    let certificate = certificate.map_err(|e| raise("synth", &e.to_string()))?;
    serde_json::to_string(&certificate).map_err(|e| raise("synth", &e.to_string()))
}

/// Serves requests that are made in this process, until all are served, or SIGTERM or SIGINT; returns the account.
#[pyfunction]
pub fn serve_inside(py: Python<'_>, config: &str, inside: &str) -> PyResult<String> {
    py.detach(|| {
        let config: ServerConfig = serde_json::from_str(config).map_err(unreadable)?;
        let inside: Inside = serde_json::from_str(inside).map_err(unreadable)?;
        obey_signals();
        told(inside.run(&config, &STOP))
    })
}
