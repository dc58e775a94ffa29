//! Rulers, what they say of this core, and how its processors stand to each other.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hindmost_rulers::{Asked, Class, Knees, Made, RulerError, Topology};
use hindmost_sys::this_thread::pin;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::fault::raise;

/// All rulers as JSON text.
#[pyfunction]
pub fn rulers() -> PyResult<String> {
    text(&hindmost_rulers::rulers())
}

/// Rates of all classes of instructions on processor `cpu`, as JSON text (`hindmost_rulers::Rate`).
#[pyfunction]
pub fn validate_rulers(
    py: Python<'_>,
    cpu: usize,
    vendor: &str,
    family: u32,
    model: u32,
    bursts: usize,
) -> PyResult<String> {
    let found = py.detach(|| on(cpu, || hindmost_rulers::validate(vendor, family, model, bursts)));
    text(&found.map_err(failed)?)
}

/// Which classes share execution ports on processor `cpu`, as JSON text (`hindmost_rulers::Certificate`).
#[pyfunction]
pub fn core_certificate(py: Python<'_>, cpu: usize, bursts: usize) -> PyResult<String> {
    text(&py.detach(|| on(cpu, || hindmost_rulers::certificate(bursts))).map_err(failed)?)
}

/// Names of the classes, in the order of the certificate.
#[pyfunction]
pub fn instruction_classes() -> Vec<&'static str> {
    Class::ALL.iter().map(|class| class.name()).collect()
}

/// How large the caches are on processor `cpu`, as JSON text (`hindmost_rulers::Knees`).
#[pyfunction]
pub fn cache_knees(py: Python<'_>, cpu: usize, seed: u64) -> PyResult<String> {
    text(&py.detach(|| on(cpu, || hindmost_rulers::knees(seed))).map_err(failed)?)
}

/// How two processors stand to each other now, as JSON text (`hindmost_rulers::Topology`).
#[pyfunction]
#[pyo3(signature = (a, b, *, ports=false))]
pub fn look_at_placement(py: Python<'_>, a: usize, b: usize, ports: bool) -> PyResult<String> {
    text(&py.detach(|| Topology::look(a, b, ports)).map_err(failed)?)
}

/// A ruler, ready to work.
#[pyclass]
pub struct Ruler {
    made: Mutex<Made>,
}

#[pymethods]
impl Ruler {
    /// `knees` is JSON text; `folder`: where the ruler of the disk writes.
    #[new]
    fn new(py: Python<'_>, name: &str, knees: &str, folder: PathBuf, seed: u64) -> PyResult<Self> {
        let knees: Knees = serde_json::from_str(knees).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let made = py.detach(|| Made::new(name, &knees, &folder, seed)).map_err(failed)?;
        Ok(Self { made: Mutex::new(made) })
    }

    /// Works for a window (`hindmost_rulers::Asked`, JSON text), and says what was done (`hindmost_rulers::Window`).
    fn run(&self, py: Python<'_>, asked: &str) -> PyResult<String> {
        let asked: Asked = serde_json::from_str(asked).map_err(|e| PyValueError::new_err(e.to_string()))?;
        text(
            &py.detach(|| self.made.lock().unwrap_or_else(PoisonError::into_inner).run(&asked))
                .map_err(failed)?,
        )
    }
}

/// On a thread of its own, bound to a processor.
fn on<T: Send>(cpu: usize, what: impl FnOnce() -> Result<T, RulerError> + Send) -> Result<T, RulerError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            pin(cpu).map_err(|source| RulerError::Processor { cpu, source })?;
            what()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| raise("rulers", &e.to_string()))
}

fn failed(why: RulerError) -> PyErr {
    raise(why.code(), &why.to_string())
}
