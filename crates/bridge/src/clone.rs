//! Clone documents: checked, and what follows from them.

use std::sync::atomic::AtomicBool;

use hindmost_clone::{CloneError, Document, Program};
use hindmost_simulate::capacity_per_s;
use pyo3::prelude::*;
use serde_json::json;

use crate::fault::raise;

/// The JSON schema of clone documents, as text.
#[pyfunction]
pub fn clone_schema() -> String {
    Document::json_schema()
}

/// A document's refusal as Python's.
pub fn clone_error(error: CloneError) -> PyErr {
    raise("clone", &error.to_string())
}

/// Checks a document (JSON text); returns JSON with `document`, defaults filled in, and what follows from it:
/// `mean_busy_us`, `stopped_share`, `capacity_per_s` (null where nothing limits it).
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
