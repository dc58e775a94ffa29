//! TLS checks before a measurement.

use std::time::Duration;

use hindmost_load::transport::{try_handshake, Credentials, TlsProblem};
use hindmost_plan::{Protocol, Tls};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Read the files that `tls` names (as in a plan's target) for a server of `protocol` at `address`. Raises
/// `EngineError` with a code that begins with `tls` if they are unusable.
#[pyfunction]
pub fn check_tls(tls: &str, address: &str, protocol: &str) -> PyResult<()> {
    Credentials::load(&read(tls)?, address, parse_protocol(protocol)?).map(drop).map_err(tls_error)
}

/// Make one TLS connection to `address` and close it; raises like `check_tls`.
#[pyfunction]
pub fn try_tls(py: Python<'_>, tls: &str, address: &str, protocol: &str, timeout_s: f64) -> PyResult<()> {
    let timeout = Duration::try_from_secs_f64(timeout_s).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let (tls, protocol) = (read(tls)?, parse_protocol(protocol)?);
    py.detach(|| try_handshake(&tls, address, protocol, timeout)).map_err(tls_error)
}

fn parse_protocol(protocol: &str) -> PyResult<Protocol> {
    serde_json::from_value(protocol.into()).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn read(tls: &str) -> PyResult<Tls> {
    serde_json::from_str(tls).map_err(|e| PyValueError::new_err(e.to_string()))
}

fn tls_error(problem: TlsProblem) -> PyErr {
    raise(problem.code(), &problem.to_string())
}
