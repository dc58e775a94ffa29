//! TLS, before anything is measured.

use std::time::Duration;

use hindmost_load::transport::{try_handshake, Credentials, TlsProblem};
use hindmost_plan::Tls;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Reads the files that `tls` names, as a plan's target has it, for a server at `address`. Raises `EngineError` with
/// a code that begins with `tls` where they are no use.
#[pyfunction]
pub fn check_tls(tls: &str, address: &str) -> PyResult<()> {
    Credentials::load(&read(tls)?, address, "").map(drop).map_err(refused)
}

/// Secures one connection to `address`, and closes it; raises as `check_tls` does. `alpn`: what is spoken over it.
#[pyfunction]
pub fn try_tls(py: Python<'_>, tls: &str, address: &str, alpn: &str, timeout_s: f64) -> PyResult<()> {
    let patience =
        Duration::try_from_secs_f64(timeout_s).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let tls = read(tls)?;
    py.detach(|| try_handshake(&tls, address, alpn, patience)).map_err(refused)
}

fn read(tls: &str) -> PyResult<Tls> {
    serde_json::from_str(tls).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn refused(problem: TlsProblem) -> PyErr {
    raise(problem.code(), &problem.to_string())
}
