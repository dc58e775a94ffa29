//! What the engine can do, as its tables have it.

use hindmost_wire::{Entry, Protocol};
use pyo3::prelude::*;

use crate::fault::raise;

/// The table of protocols, as JSON text: a list of entries (`hindmost_wire::Entry`).
#[pyfunction]
pub fn protocols() -> PyResult<String> {
    let table: Vec<&Entry> = Protocol::ALL.iter().map(|one| one.entry()).collect();
    serde_json::to_string(&table).map_err(|e| raise("protocols", &e.to_string()))
}
