//! Stressors, the measurements of this core, and the placement of its CPUs.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hindmost_stressors::{Class, Knees, ReadyStressor, StressorError, Topology, WindowRequest};
use hindmost_sys::this_thread::pin;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// Return all stressors as JSON text.
#[pyfunction]
pub fn stressors() -> PyResult<String> {
    text(&hindmost_stressors::stressors())
}

/// Return the rates of all classes of instructions on CPU `cpu` as JSON text (`hindmost_stressors::Rate`).
#[pyfunction]
pub fn validate_stressors(
    py: Python<'_>,
    cpu: usize,
    vendor: &str,
    family: u32,
    model: u32,
    bursts: usize,
) -> PyResult<String> {
    let found = py.detach(|| run_on(cpu, || hindmost_stressors::validate(vendor, family, model, bursts)));
    text(&found.map_err(to_python)?)
}

/// Return which classes share execution ports on CPU `cpu` as JSON text (`hindmost_stressors::Certificate`),
/// except for the classes named in `without`.
#[pyfunction]
#[pyo3(signature = (cpu, bursts, without=None))]
pub fn core_certificate(
    py: Python<'_>,
    cpu: usize,
    bursts: usize,
    without: Option<Vec<String>>,
) -> PyResult<String> {
    let without = without.unwrap_or_default();
    let wanted = |class: &Class| !without.iter().any(|name| name == class.name());
    let classes: Vec<Class> = Class::ALL.into_iter().filter(wanted).collect();
    text(
        &py.detach(|| run_on(cpu, || hindmost_stressors::certificate(&classes, bursts)))
            .map_err(to_python)?,
    )
}

/// Return the names of the classes, in the order of the certificate.
#[pyfunction]
pub fn instruction_classes() -> Vec<&'static str> {
    Class::ALL.iter().map(|class| class.name()).collect()
}

/// Return the cache sizes on CPU `cpu` as JSON text (`hindmost_stressors::Knees`).
#[pyfunction]
pub fn cache_knees(py: Python<'_>, cpu: usize, seed: u64) -> PyResult<String> {
    text(&py.detach(|| run_on(cpu, || hindmost_stressors::knees(seed))).map_err(to_python)?)
}

/// Return the present placement of two CPUs as JSON text (`hindmost_stressors::Topology`).
#[pyfunction]
#[pyo3(signature = (a, b, *, ports=false))]
pub fn look_at_placement(py: Python<'_>, a: usize, b: usize, ports: bool) -> PyResult<String> {
    text(&py.detach(|| Topology::measure(a, b, ports)).map_err(to_python)?)
}

/// A stressor, ready to work.
#[pyclass]
pub struct Stressor {
    made: Mutex<ReadyStressor>,
}

#[pymethods]
impl Stressor {
    /// `knees` is JSON text; the disk stressor writes in `folder`.
    #[new]
    fn new(py: Python<'_>, name: &str, knees: &str, folder: PathBuf, seed: u64) -> PyResult<Self> {
        let knees: Knees = serde_json::from_str(knees).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let made = py.detach(|| ReadyStressor::new(name, &knees, &folder, seed)).map_err(to_python)?;
        Ok(Self { made: Mutex::new(made) })
    }

    /// Work for a window (`hindmost_stressors::WindowRequest`, JSON text); return the result
    /// (`hindmost_stressors::Window`).
    fn run(&self, py: Python<'_>, asked: &str) -> PyResult<String> {
        let asked: WindowRequest =
            serde_json::from_str(asked).map_err(|e| PyValueError::new_err(e.to_string()))?;
        text(
            &py.detach(|| self.made.lock().unwrap_or_else(PoisonError::into_inner).run(&asked))
                .map_err(to_python)?,
        )
    }
}

/// Run a function on a new thread pinned to a CPU.
fn run_on<T: Send>(
    cpu: usize,
    what: impl FnOnce() -> Result<T, StressorError> + Send,
) -> Result<T, StressorError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            pin(cpu).map_err(|source| StressorError::Processor { cpu, source })?;
            what()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| raise("stressors", &e.to_string()))
}

fn to_python(why: StressorError) -> PyErr {
    raise(why.code(), &why.to_string())
}
