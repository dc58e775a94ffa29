//! Classes, choice and placement by history.

use hindmost_harvest::{HarvestError, Settings};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::fault::raise;
use crate::quantile::numbers;

fn harvest_error(error: HarvestError) -> PyErr {
    raise(error.code(), &error.to_string())
}

/// Classifies traces (float64, by rows of `slots`) of tenants with so many servers; settings and answer as JSON text.
#[pyfunction]
pub fn harvest_classify(
    py: Python<'_>,
    traces: PyBuffer<f64>,
    slots: usize,
    servers: Vec<f64>,
    settings: &str,
) -> PyResult<String> {
    let unreadable = |e: serde_json::Error| harvest_error(HarvestError::Unreadable(e.to_string()));
    let settings: Settings = serde_json::from_str(settings).map_err(unreadable)?;
    let rows = numbers(&traces)?;
    let found = py.detach(|| hindmost_harvest::classify(rows, slots, &servers, &settings));
    serde_json::to_string(&found.map_err(harvest_error)?).map_err(unreadable)
}

/// Asks a simulator about servers as they were recorded: traces (float64) by rows, one a tenant, of a
/// shape: slots, and seconds of each.
#[pyfunction]
pub fn harvest_replay(
    py: Python<'_>,
    kind: &str,
    document: &str,
    inventory: &str,
    traces: PyBuffer<f64>,
    shape: (usize, f64),
) -> PyResult<String> {
    let cpu = numbers(&traces)?;
    let traces = hindmost_harvest::simulate::Traces { cpu, slots: shape.0, slot_s: shape.1 };
    py.detach(|| hindmost_harvest::replay(kind, document, inventory, traces)).map_err(harvest_error)
}

/// Answers a question of a kind, both as JSON text.
#[pyfunction]
pub fn harvest(py: Python<'_>, kind: &str, document: &str) -> PyResult<String> {
    py.detach(|| hindmost_harvest::answer(kind, document)).map_err(harvest_error)
}
