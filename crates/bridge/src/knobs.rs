//! The host's knobs: JSON out, one exception with a code for each refusal.

use std::path::PathBuf;

use hindmost_host::knobs::{KnobError, Knobs};
use hindmost_host::Tree;
use pyo3::prelude::*;

use crate::fault::raise;

fn of(root: &str, journal: PathBuf) -> Knobs {
    Knobs::new(Tree::new(root), &journal)
}

fn refuse(error: KnobError) -> PyErr {
    let code = match error {
        KnobError::Unknown { .. } => "unknown",
        KnobError::Missing { .. } => "missing",
        KnobError::Value { .. } => "value",
        KnobError::Refused { .. } => "refused",
        KnobError::Differs { .. } => "differs",
        KnobError::Journal { .. } => "journal",
    };
    raise(code, &error.to_string())
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raise("host", &error.to_string()))
}

/// Every knob as JSON text: name, about, value, choices, missing, found.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&of(root, journal).list().map_err(refuse)?)
}

/// Sets one knob through the journal; it as JSON text, as it stands then.
#[pyfunction]
#[pyo3(signature = (name, value, journal, root = "/"))]
pub fn set_knob(name: &str, value: &str, journal: PathBuf, root: &str) -> PyResult<String> {
    text(&of(root, journal).set(name, value).map_err(refuse)?)
}

/// Puts back all that the journal holds; what was done as JSON text.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn restore_knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&of(root, journal).restore().map_err(refuse)?)
}
