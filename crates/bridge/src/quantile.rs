//! Quantile regression on arrays that Python holds; nothing is copied but what is sorted.
#![allow(unsafe_code)]

use hindmost_quantile::{
    cell_quantiles, cluster_bootstrap, fit, sparsity, Cells, Matrix, QuantileError, Runs,
};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Samples sorted by cell: made once, for any number of models and levels.
#[pyclass(frozen)]
pub struct QuantileCells {
    cells: Cells,
}

/// A refusal as Python's: these are values that cannot be meant.
fn refuse(error: QuantileError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The numbers of a contiguous array, for as long as its buffer is held.
pub(crate) fn numbers<T: Element>(buffer: &PyBuffer<T>) -> PyResult<&[T]> {
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("the array must be contiguous"));
    }
    // SAFETY: the buffer protocol says that `item_count` elements of type T lie there, aligned, while the buffer is
    // held, which the borrow of `buffer` ensures. That nobody writes meanwhile is the caller's part, as with numpy.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), buffer.item_count()) })
}

#[pymethods]
impl QuantileCells {
    /// Sorts `samples` (float64) of cells `cell_of` (uint32) into `cells` cells; `weights` (float64) or none.
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

    /// The quantile of each cell; None where it has no weight.
    fn quantiles(&self, tau: f64) -> Vec<Option<f64>> {
        (0..self.cells.len()).map(|cell| self.cells.quantile(cell, tau)).collect()
    }

    /// Sum of the check losses of each cell about a value of its own.
    fn losses(&self, py: Python<'_>, at: Vec<f64>, tau: f64) -> Vec<f64> {
        py.detach(|| at.iter().enumerate().map(|(cell, &at)| self.cells.loss(cell, at, tau)).collect())
    }

    /// The exact fit of a design (by rows, one a cell): coefficients, and pivots made.
    fn fit(&self, py: Python<'_>, design: Vec<f64>, columns: usize, tau: f64) -> PyResult<(Vec<f64>, usize)> {
        if columns == 0 || design.len() != columns * self.cells.len() {
            let wanted = columns * self.cells.len();
            let what = "the design";
            return Err(refuse(QuantileError::Length { what, found: design.len(), wanted }));
        }
        let found = py.detach(|| fit(&self.cells, &Matrix::new(columns, design), tau)).map_err(refuse)?;
        Ok((found.coefficients, found.pivots))
    }

    /// One divided by the density of each cell at its quantile.
    fn sparsities(&self, tau: f64, grain: f64) -> PyResult<Vec<f64>> {
        (0..self.cells.len()).map(|cell| sparsity(&self.cells, cell, tau, grain).map_err(refuse)).collect()
    }
}

/// Runs as histograms with running sums: quantiles, scores and bootstrap without samples.
#[pyclass(frozen)]
pub struct QuantileRuns {
    runs: Runs,
}

/// Numbers as the bytes of native f64.
fn bytes<'py>(py: Python<'py>, numbers: &[f64]) -> Bound<'py, PyBytes> {
    let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
    PyBytes::new(py, &raw)
}

#[pymethods]
impl QuantileRuns {
    /// Bins from `low` to `high` (float64); run `r` counts `counts` (uint32) in bins `of_bin` (uint32) from
    /// `ends[r - 1]` to `ends[r]`; runs are in the order of cells, of which each has `runs_of_cell`.
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

    /// The quantile of each cell; None for one without runs.
    fn quantiles(&self, tau: f64) -> Vec<Option<f64>> {
        (0..self.runs.cells()).map(|cell| self.runs.quantile(cell, tau)).collect()
    }

    /// The quantile of each run.
    fn run_quantiles(&self, tau: f64) -> Vec<f64> {
        let last = self.runs.cells() - 1;
        (0..self.runs.of_cell(last).end).map(|run| self.runs.run_quantile(run, tau)).collect()
    }

    /// How many samples of each run lie at or below a value of its cell.
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

    /// Pooled quantiles of runs drawn anew, and squared errors as shares of samples, each as native float64 bytes of
    /// shape (draws, levels, cells).
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

/// The quantiles of every cell at every level, without sorting: `result[cell][level]`.
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

/// The bandwidth, in levels, over which densities at a quantile are read.
#[pyfunction]
pub fn hall_sheather(n: f64, tau: f64) -> f64 {
    hindmost_quantile::hall_sheather(n, tau)
}
