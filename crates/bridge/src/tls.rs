//! TLS, before anything is measured.

use std::time::Duration;

use hindmost_load::transport::{try_handshake, Credentials, TlsProblem};
use hindmost_plan::{Protocol, Tls};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Reads the files that `tls` names, as a plan's target has it, for a server of `protocol` at `address`. Raises
/// `EngineError` with a code that begins with `tls` where they are no use.
#[pyfunction]
pub fn check_tls(tls: &str, address: &str, protocol: &str) -> PyResult<()> {
    Credentials::load(&read(tls)?, address, named(protocol)?).map(drop).map_err(refused)
}

/// Secures one connection to `address`, and closes it; raises as `check_tls` does.
#[pyfunction]
pub fn try_tls(py: Python<'_>, tls: &str, address: &str, protocol: &str, timeout_s: f64) -> PyResult<()> {
    let patience =
        Duration::try_from_secs_f64(timeout_s).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let (tls, protocol) = (read(tls)?, named(protocol)?);
    py.detach(|| try_handshake(&tls, address, protocol, patience)).map_err(refused)
}

fn named(protocol: &str) -> PyResult<Protocol> {
    serde_json::from_value(protocol.into()).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn read(tls: &str) -> PyResult<Tls> {
    serde_json::from_str(tls).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn refused(problem: TlsProblem) -> PyErr {
    raise(problem.code(), &problem.to_string())
}
