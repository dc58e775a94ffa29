//! Checks of clone documents, and derived values.

use std::sync::atomic::AtomicBool;

use hindmost_clone::{CloneError, Document, Program};
use hindmost_simulate::capacity_per_s;
use pyo3::prelude::*;
use serde_json::json;

use crate::fault::raise;

/// Return the JSON schema of clone documents as text.
#[pyfunction]
pub fn clone_schema() -> String {
    Document::json_schema()
}

/// Convert the error of a document to a Python exception.
pub fn clone_error(error: CloneError) -> PyErr {
    raise("clone", &error.to_string())
}

/// Check a document (JSON text). Return JSON with `document`, including defaults, and derived values:
/// `mean_busy_us`, `stopped_share`, `capacity_per_s` (null if unlimited).
#[pyfunction]
pub fn check_clone(document: &str) -> PyResult<String> {
    let document = Document::from_json(document).map_err(clone_error)?;
    let program = Program::new(&document).map_err(clone_error)?;
    let capacity =
        capacity_per_s(&program, 1, &AtomicBool::new(false)).map_err(|e| raise(e.code(), &e.to_string()))?;
    let finite = |value: f64| value.is_finite().then_some(value);
    Ok(json!({
        "document": document,
        "mean_busy_us": program.mean_busy_ns() / 1e3,
        "stopped_share": program.stopped_share(),
        "capacity_per_s": finite(capacity),
    })
    .to_string())
}
