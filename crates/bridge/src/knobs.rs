//! The host's knobs: JSON out, one exception with a code for each refusal.

use std::path::PathBuf;

use hindmost_host::Tree;
use hindmost_knobs::{KnobError, Knobs, Owner};
use pyo3::exceptions::PyValueError;
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
        KnobError::Held { .. } => "held",
        KnobError::Undo { .. } | KnobError::Folder { .. } | KnobError::Foreign { .. } => "undo",
        KnobError::Journal { .. } => "journal",
    };
    raise(code, &error.to_string())
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raise("host", &error.to_string()))
}

/// The process that puts something back; one that is not there could not.
fn owner(pid: u32) -> PyResult<Owner> {
    Owner::of(pid).ok_or_else(|| raise("host", &format!("there is no process {pid}")))
}

/// Every knob as JSON text: name, about, value, choices, missing, found, files.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&of(root, journal).list().map_err(refuse)?)
}

/// What stands changed, as JSON text: name, found, set, by, pid, unread. Nothing is put back.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn left_knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&of(root, journal).left().map_err(refuse)?)
}

/// Refuses a value that a knob does not have, or cannot have here; nothing is written.
#[pyfunction]
#[pyo3(signature = (name, value, journal, root = "/"))]
pub fn check_knob(name: &str, value: &str, journal: PathBuf, root: &str) -> PyResult<()> {
    of(root, journal).check(name, value).map_err(refuse)
}

/// Sets one knob through the journal; it as JSON text, as it stands then. A process `pid` will put it back.
#[pyfunction]
#[pyo3(signature = (name, value, journal, root = "/", pid = None))]
pub fn set_knob(
    py: Python<'_>,
    name: &str,
    value: &str,
    journal: PathBuf,
    root: &str,
    pid: Option<u32>,
) -> PyResult<String> {
    let owner = pid.map(owner).transpose()?;
    text(&py.detach(|| of(root, journal).set(name, value, owner)).map_err(refuse)?)
}

/// Journals what is about to be done by process `pid`, by the steps that undo it (JSON text, `hindmost_knobs::Step`).
#[pyfunction]
pub fn promise_steps(
    py: Python<'_>,
    name: &str,
    steps: &str,
    found: &str,
    set: &str,
    journal: PathBuf,
    pid: u32,
) -> PyResult<()> {
    let owner = owner(pid)?;
    let steps = serde_json::from_str(steps).map_err(|error| PyValueError::new_err(error.to_string()))?;
    py.detach(|| of("/", journal).promise_steps(name, steps, found, set, owner)).map_err(refuse)
}

/// Keeps a change of process `pid` until `restore_knobs`.
#[pyfunction]
pub fn keep_knob(py: Python<'_>, name: &str, journal: PathBuf, pid: u32) -> PyResult<()> {
    let owner = owner(pid)?;
    py.detach(|| of("/", journal).keep(name, owner)).map_err(refuse)
}

/// Journals a folder (a cgroup, relative to the root) that is about to be made, for a process that will remove it.
#[pyfunction]
pub fn promise_folder(
    py: Python<'_>,
    name: &str,
    folder: &str,
    set: &str,
    journal: PathBuf,
    pid: u32,
) -> PyResult<()> {
    let owner = owner(pid)?;
    py.detach(|| of("/", journal).promise_folder(name, folder, set, owner)).map_err(refuse)
}

/// Puts back what process `pid` did to one knob; what was done as JSON text.
#[pyfunction]
#[pyo3(signature = (name, journal, pid, root = "/"))]
pub fn undo_knob(py: Python<'_>, name: &str, journal: PathBuf, pid: u32, root: &str) -> PyResult<String> {
    let owner = owner(pid)?;
    text(&py.detach(|| of(root, journal).undo(name, owner)).map_err(refuse)?)
}

/// Puts back what processes left that have ended; what was done as JSON text.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn recover_knobs(py: Python<'_>, journal: PathBuf, root: &str) -> PyResult<String> {
    text(&py.detach(|| of(root, journal).recover()).map_err(refuse)?)
}

/// Puts back all that no running process will; what was done as JSON text.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn restore_knobs(py: Python<'_>, journal: PathBuf, root: &str) -> PyResult<String> {
    text(&py.detach(|| of(root, journal).restore()).map_err(refuse)?)
}
