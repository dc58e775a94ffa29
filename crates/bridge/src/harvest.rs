//! Classes of tenants, choice of a class, and placement by history.

use hindmost_harvest::traces::{Grid, Reader, Source};
use hindmost_harvest::{HarvestError, Settings};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use serde::de::DeserializeOwned;

use crate::fault::raise;
use crate::quantile::numbers;

fn harvest_error(error: HarvestError) -> PyErr {
    raise(error.code(), &error.to_string())
}

fn unreadable(error: serde_json::Error) -> PyErr {
    harvest_error(HarvestError::Unreadable(error.to_string()))
}

fn parse<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(unreadable)
}

/// Classify the traces (float32, rows of `slots` values) of tenants with these numbers of servers and these peaks.
/// Settings and result are JSON text.
#[pyfunction]
#[pyo3(signature = (traces, slots, servers, peaks, settings))]
pub fn harvest_classify(
    py: Python<'_>,
    traces: PyBuffer<f32>,
    slots: usize,
    servers: Vec<f64>,
    peaks: Option<Vec<f64>>,
    settings: &str,
) -> PyResult<String> {
    let settings: Settings = parse(settings)?;
    let rows = numbers(&traces)?;
    let found = py.detach(|| hindmost_harvest::classify(rows, slots, &servers, peaks.as_deref(), &settings));
    serde_json::to_string(&found.map_err(harvest_error)?).map_err(unreadable)
}

/// Reads utilisation traces from files: call `survey` for each file, then `facts`, then `average`.
#[pyclass(module = "hindmost._engine")]
#[derive(Default)]
pub struct TraceReader {
    reader: Reader,
}

#[pymethods]
impl TraceReader {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Survey a file; the description of the file and the result are JSON text.
    fn survey(&mut self, py: Python<'_>, source: &str) -> PyResult<String> {
        let source: Source = parse(source)?;
        let counted = py.detach(|| self.reader.survey(&source)).map_err(harvest_error)?;
        serde_json::to_string(&counted).map_err(unreadable)
    }

    /// Return servers, usual gap and window of all files as JSON; None without a reading.
    fn facts(&mut self) -> PyResult<Option<String>> {
        self.reader.facts().map(|facts| serde_json::to_string(&facts).map_err(unreadable)).transpose()
    }

    /// Return the averages of tenants (float32, one row of slots each), the peaks of servers with their number
    /// of readings outside the grid, and, if `balanced`, the deviation of each server from its tenant. `rows`
    /// has the tenant of each server; `grid` is (start in seconds, slot in seconds, number of slots, number of
    /// tenants).
    #[allow(clippy::type_complexity)]
    fn average<'py>(
        &self,
        py: Python<'py>,
        sources: Vec<String>,
        rows: Vec<Option<usize>>,
        grid: (f64, f64, usize, usize),
        balanced: bool,
    ) -> PyResult<(Bound<'py, PyByteArray>, Vec<f64>, Vec<u64>, Option<Vec<f64>>)> {
        let sources = sources.iter().map(|one| parse(one)).collect::<PyResult<Vec<Source>>>()?;
        let grid = Grid { start: grid.0, slot_s: grid.1, slots: grid.2, tenants: grid.3 };
        let (found, balance) = py
            .detach(|| {
                let found = self.reader.average(&sources, &rows, grid)?;
                let balance =
                    balanced.then(|| self.reader.balance(&sources, &rows, grid, &found.cpu)).transpose()?;
                Ok((found, balance))
            })
            .map_err(harvest_error)?;
        let bytes = PyByteArray::new_with(py, 4 * found.cpu.len(), |into| {
            for (cell, value) in into.chunks_exact_mut(4).zip(&found.cpu) {
                cell.copy_from_slice(&value.to_ne_bytes());
            }
            Ok(())
        })?;
        Ok((bytes, found.peaks, found.outside, balance))
    }
}

/// Run a simulator on recorded servers: traces (float64), one row per tenant; `shape` is (number of slots, seconds
/// per slot).
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

/// Answer a query of this kind; query and answer are JSON text.
#[pyfunction]
pub fn harvest(py: Python<'_>, kind: &str, document: &str) -> PyResult<String> {
    py.detach(|| hindmost_harvest::answer(kind, document)).map_err(harvest_error)
}
