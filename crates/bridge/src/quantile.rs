//! Quantile regression on arrays owned by Python; only data that is sorted is copied.
#![allow(unsafe_code)]

use hindmost_quantile::{
    cell_quantiles, cluster_bootstrap, fit, sparsity, Cells, Matrix, QuantileError, Runs,
};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Samples sorted by cell: created once, for any number of models and levels.
#[pyclass(frozen)]
pub struct QuantileCells {
    cells: Cells,
}

/// Convert an error to a Python `ValueError`.
fn refuse(error: QuantileError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Return the numbers of a contiguous array, for as long as its buffer is held.
pub(crate) fn numbers<T: Element>(buffer: &PyBuffer<T>) -> PyResult<&[T]> {
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("the array must be contiguous"));
    }
    // SAFETY: by the buffer protocol, `item_count` aligned elements of type T are valid while the buffer is
    // held, which the borrow of `buffer` ensures. The caller must not write to the array meanwhile, as with
    // numpy.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), buffer.item_count()) })
}

#[pymethods]
impl QuantileCells {
    /// Sort `samples` (float64) with cell indices `cell_of` (uint32) into `cells` cells; `weights` (float64) or
    /// None.
    #[new]
    #[pyo3(signature = (samples, cell_of, cells, weights = None))]
    fn new(
        py: Python<'_>,
        samples: PyBuffer<f64>,
        cell_of: PyBuffer<u32>,
        cells: usize,
        weights: Option<PyBuffer<f64>>,
    ) -> PyResult<Self> {
        let (y, of) = (numbers(&samples)?, numbers(&cell_of)?);
        let weights = weights.as_ref().map(numbers).transpose()?;
        let sorted = py.detach(|| Cells::new(y, of, cells, weights)).map_err(refuse)?;
        Ok(Self { cells: sorted })
    }

    /// Return the quantile of each cell; None for a cell without weight.
    fn quantiles(&self, tau: f64) -> Vec<Option<f64>> {
        (0..self.cells.len()).map(|cell| self.cells.quantile(cell, tau)).collect()
    }

    /// Return the sum of the check losses of each cell about the value given for it.
    fn losses(&self, py: Python<'_>, at: Vec<f64>, tau: f64) -> Vec<f64> {
        py.detach(|| at.iter().enumerate().map(|(cell, &at)| self.cells.loss(cell, at, tau)).collect())
    }

    /// Return the exact fit of a design (float64, one row per cell): coefficients and number of pivots.
    fn fit(&self, py: Python<'_>, design: PyBuffer<f64>, tau: f64) -> PyResult<(Vec<f64>, usize)> {
        let (entries, cells) = (numbers(&design)?, self.cells.len());
        let columns = design.shape().get(1).copied().unwrap_or(0);
        if columns == 0 || entries.len() != columns * cells {
            let wanted = columns.max(1) * cells;
            let what = "the design";
            return Err(refuse(QuantileError::Length { what, found: entries.len(), wanted }));
        }
        let design = Matrix::new(columns, entries.to_vec());
        let found = py.detach(|| fit(&self.cells, &design, tau)).map_err(refuse)?;
        Ok((found.coefficients, found.pivots))
    }

    /// Return the sparsity of each cell at its quantile: one divided by the density.
    fn sparsities(&self, tau: f64, grain: f64) -> PyResult<Vec<f64>> {
        (0..self.cells.len()).map(|cell| sparsity(&self.cells, cell, tau, grain).map_err(refuse)).collect()
    }
}

/// Runs as histograms with cumulative counts: quantiles, scores and bootstrap without samples.
#[pyclass(frozen)]
pub struct QuantileRuns {
    runs: Runs,
}

/// Return numbers as native float64 bytes.
fn bytes<'py>(py: Python<'py>, numbers: &[f64]) -> Bound<'py, PyBytes> {
    let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    PyBytes::new(py, &raw)
}

#[pymethods]
impl QuantileRuns {
    /// Bins reach from `low` to `high` (float64). Run `r` has `counts` (uint32) in the bins `of_bin` (uint32),
    /// in the entries `ends[r - 1]` to `ends[r]`. Runs are ordered by cell; `runs_of_cell` is their number per
    /// cell.
    #[new]
    fn new(
        low: PyBuffer<f64>,
        high: PyBuffer<f64>,
        of_bin: PyBuffer<u32>,
        counts: PyBuffer<u32>,
        ends: Vec<usize>,
        runs_of_cell: Vec<usize>,
    ) -> PyResult<Self> {
        let bins = numbers(&low)?.iter().copied().zip(numbers(&high)?.iter().copied()).collect();
        let runs =
            Runs::new(bins, numbers(&of_bin)?, numbers(&counts)?, &ends, &runs_of_cell).map_err(refuse)?;
        Ok(Self { runs })
    }

    /// Return the quantile of each cell; None for a cell without runs.
    fn quantiles(&self, tau: f64) -> Vec<Option<f64>> {
        (0..self.runs.cells()).map(|cell| self.runs.quantile(cell, tau)).collect()
    }

    /// Return the quantile of each run.
    fn run_quantiles(&self, tau: f64) -> Vec<f64> {
        let last = self.runs.cells() - 1;
        (0..self.runs.of_cell(last).end).map(|run| self.runs.run_quantile(run, tau)).collect()
    }

    /// Return how many samples of each run are at or below the value given for its cell.
    fn below(&self, at: Vec<f64>) -> PyResult<Vec<f64>> {
        if at.len() != self.runs.cells() {
            let wanted = self.runs.cells();
            return Err(refuse(QuantileError::Length {
                what: "the list of values",
                found: at.len(),
                wanted,
            }));
        }
        Ok(self.runs.below(&at))
    }

    /// Return pooled quantiles of resampled runs, and squared errors as fractions of samples, each as native
    /// float64 bytes of shape (draws, levels, cells).
    fn bootstrap<'py>(
        &self,
        py: Python<'py>,
        levels: Vec<f64>,
        draws: usize,
        seed: u64,
        together: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let found =
            py.detach(|| cluster_bootstrap(&self.runs, &levels, draws, seed, together)).map_err(refuse)?;
        Ok((bytes(py, &found.quantiles), bytes(py, &found.squares)))
    }
}

/// Return the quantiles of every cell at every level, without sorting: `result[cell][level]`.
#[pyfunction]
pub fn quantiles_of_cells(
    py: Python<'_>,
    samples: PyBuffer<f64>,
    cell_of: PyBuffer<u32>,
    cells: usize,
    levels: Vec<f64>,
) -> PyResult<Vec<Vec<f64>>> {
    let (y, of) = (numbers(&samples)?, numbers(&cell_of)?);
    py.detach(|| cell_quantiles(y, of, cells, &levels)).map_err(refuse)
}

/// Return the bandwidth, in levels, for density estimates at a quantile.
#[pyfunction]
pub fn hall_sheather(n: f64, tau: f64) -> f64 {
    hindmost_quantile::hall_sheather(n, tau)
}
