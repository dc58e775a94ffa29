//! The embedded server.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

use hindmost_synth::{Server, ServerConfig};
use pyo3::prelude::*;

use crate::fault::raise;

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

/// Serves until SIGTERM or SIGINT; returns the server's own account as JSON text.
#[pyfunction]
pub fn serve_synth(py: Python<'_>, config: &str) -> PyResult<String> {
    py.detach(|| {
        let config: ServerConfig =
            serde_json::from_str(config).map_err(|e| raise("config", &e.to_string()))?;
        let server = Server::bind(&config).map_err(|e| raise("synth", &e.to_string()))?;
        for signal in [libc::SIGTERM, libc::SIGINT] {
            // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
            unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
        }
        let report = server.run(&STOP).map_err(|e| raise("synth", &e.to_string()))?;
        serde_json::to_string(&report).map_err(|e| raise("synth", &e.to_string()))
    })
}
