//! The twin of a core with two threads.

use hindmost_twin::Asked;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Runs random programs alone, beside rulers and beside each other on the twin (`hindmost_twin::Asked`, JSON text);
/// instructions a tick as JSON text (`hindmost_twin::Matrix`).
#[pyfunction]
pub fn twin_matrix(py: Python<'_>, asked: &str) -> PyResult<String> {
    let asked: Asked = serde_json::from_str(asked).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let seen = py.detach(|| hindmost_twin::measure(&asked));
    serde_json::to_string(&seen).map_err(|e| raise("twin", &e.to_string()))
}
