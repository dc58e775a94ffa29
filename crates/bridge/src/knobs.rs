//! Settings of the host: results as JSON text, errors as one exception with codes.

use std::path::PathBuf;

use hindmost_host::Tree;
use hindmost_knobs::{JournalFault, KnobError, Knobs, Owner};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::{raise, raise_with};

fn knobs_of(root: &str, journal: PathBuf) -> Knobs {
    Knobs::new(Tree::new(root), &journal)
}

fn refuse(error: KnobError) -> PyErr {
    let message = error.to_string();
    let path = |path: PathBuf| [("path", path.display().to_string())];
    match error {
        KnobError::Unknown { .. } => raise("unknown", &message),
        KnobError::Missing { denied, .. } => raise(if denied { "denied" } else { "missing" }, &message),
        KnobError::Value { .. } => raise("value", &message),
        KnobError::Refused { .. } => raise("refused", &message),
        KnobError::Differs { .. } => raise("differs", &message),
        KnobError::Held { pid, alive, .. } => {
            raise_with(if alive { "held" } else { "abandoned" }, &message, [("pid", pid.to_string())])
        }
        KnobError::Undo { .. } | KnobError::Folder { .. } | KnobError::Foreign { .. } => {
            raise("undo", &message)
        }
        KnobError::Journal { fault, .. } => match fault {
            JournalFault::OthersWrite(file) => raise_with("journal-mode", &message, path(file)),
            JournalFault::OwnedByOther(file) => raise_with("journal-owner", &message, path(file)),
            JournalFault::Denied => raise("journal-denied", &message),
            JournalFault::Other => raise("journal", &message),
        },
    }
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| raise("host", &error.to_string()))
}

/// Return the process that will restore a setting; it must exist.
fn owner(pid: u32) -> PyResult<Owner> {
    Owner::find(pid).ok_or_else(|| raise("host", &format!("there is no process {pid}")))
}

/// Return every setting as JSON text: name, about, value, choices, missing, found, files.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&knobs_of(root, journal).list().map_err(refuse)?)
}

/// Return the current changes as JSON text, without restoring: name, found, set, by, pid, unread.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn left_knobs(journal: PathBuf, root: &str) -> PyResult<String> {
    text(&knobs_of(root, journal).changes().map_err(refuse)?)
}

/// Refuse a value that a setting does not accept, or does not accept on this host, without writing.
#[pyfunction]
#[pyo3(signature = (name, value, journal, root = "/"))]
pub fn check_knob(name: &str, value: &str, journal: PathBuf, root: &str) -> PyResult<()> {
    knobs_of(root, journal).check(name, value).map_err(refuse)
}

/// Change a setting through the journal; return its new state as JSON text. Process `pid` will restore it.
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
    text(&py.detach(|| knobs_of(root, journal).set(name, value, owner)).map_err(refuse)?)
}

/// Add a coming change by process `pid` to the journal, with the steps that undo it (JSON text,
/// `hindmost_knobs::Step`).
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
    py.detach(|| knobs_of("/", journal).promise_steps(name, steps, found, set, owner)).map_err(refuse)
}

/// Keep a change of process `pid` until `restore_knobs`.
#[pyfunction]
pub fn keep_knob(py: Python<'_>, name: &str, journal: PathBuf, pid: u32) -> PyResult<()> {
    let owner = owner(pid)?;
    py.detach(|| knobs_of("/", journal).keep(name, owner)).map_err(refuse)
}

/// Add the coming creation of a folder (a cgroup, relative to the root) to the journal; process `pid` will remove
/// it.
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
    py.detach(|| knobs_of("/", journal).promise_folder(name, folder, set, owner)).map_err(refuse)
}

/// Undo the changes of process `pid` to one setting; return them as JSON text.
#[pyfunction]
#[pyo3(signature = (name, journal, pid, root = "/"))]
pub fn undo_knob(py: Python<'_>, name: &str, journal: PathBuf, pid: u32, root: &str) -> PyResult<String> {
    let owner = owner(pid)?;
    text(&py.detach(|| knobs_of(root, journal).undo(name, owner)).map_err(refuse)?)
}

/// Undo the changes of ended processes; return them as JSON text.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn recover_knobs(py: Python<'_>, journal: PathBuf, root: &str) -> PyResult<String> {
    text(&py.detach(|| knobs_of(root, journal).recover()).map_err(refuse)?)
}

/// Undo all changes that no running process will undo; return them as JSON text.
#[pyfunction]
#[pyo3(signature = (journal, root = "/"))]
pub fn restore_knobs(py: Python<'_>, journal: PathBuf, root: &str) -> PyResult<String> {
    text(&py.detach(|| knobs_of(root, journal).restore()).map_err(refuse)?)
}
