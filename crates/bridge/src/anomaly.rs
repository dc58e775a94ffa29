//! The simulated data centre: who is blamed, and by how many machines.

use hindmost_anomaly::{Asked, ScaleAsked};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Tries all rules on the same cases (`hindmost_anomaly::Asked`, JSON text); counts as JSON text
/// (`hindmost_anomaly::Leaderboard`).
#[pyfunction]
pub fn cause_leaderboard(py: Python<'_>, asked: &str) -> PyResult<String> {
    let asked: Asked = serde_json::from_str(asked).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let board = py.detach(|| hindmost_anomaly::leaderboard(&asked));
    serde_json::to_string(&board).map_err(|e| raise("anomaly", &e.to_string()))
}

/// How many machines analyse a fleet's anomalies (`hindmost_anomaly::ScaleAsked`, JSON text); rows as JSON text
/// (`hindmost_anomaly::Machines`).
#[pyfunction]
pub fn analysis_machines(py: Python<'_>, asked: &str) -> PyResult<String> {
    let asked: ScaleAsked = serde_json::from_str(asked).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let rows = py.detach(|| hindmost_anomaly::scale(&asked));
    serde_json::to_string(&rows).map_err(|e| raise("anomaly", &e.to_string()))
}
