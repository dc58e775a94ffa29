//! What the engine can do, as its tables have it.

use hindmost_arrivals::Law;
use hindmost_wire::{Entry, Protocol};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// The table of protocols, as JSON text: a list of entries (`hindmost_wire::Entry`).
#[pyfunction]
pub fn protocols() -> PyResult<String> {
    let table: Vec<&Entry> = Protocol::ALL.iter().map(|one| one.entry()).collect();
    serde_json::to_string(&table).map_err(|e| raise("protocols", &e.to_string()))
}

/// The table of arrival laws, as JSON text: a list of `name`, `dispersion`, and whether its `gaps` have a
/// distribution.
#[pyfunction]
pub fn arrival_laws() -> PyResult<String> {
    let row = |law: &Law| {
        let entry = law.entry();
        serde_json::json!({"name": law, "dispersion": entry.dispersion, "gaps": entry.gaps.is_some()})
    };
    let table: Vec<_> = Law::ALL.iter().map(row).collect();
    serde_json::to_string(&table).map_err(|e| raise("arrival_laws", &e.to_string()))
}

/// Of gaps that follow a law: the shares below each `x`, in mean gaps, and the logarithms of the shares above.
#[pyfunction]
pub fn gap_law(law: &str, x: Vec<f64>) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let found: Law = serde_json::from_value(law.into())
        .map_err(|_| PyValueError::new_err(format!("no law of arrivals is called {law:?}")))?;
    let gaps = found
        .entry()
        .gaps
        .ok_or_else(|| PyValueError::new_err(format!("the gaps of {law} arrivals have no distribution")))?;
    Ok((x.iter().map(|&x| (gaps.below)(x)).collect(), x.iter().map(|&x| (gaps.log_above)(x)).collect()))
}
