//! The exact fit of a model with fewer coefficients than cells.

use crate::matrix::{dot, product};
use crate::problem::Problem;
use crate::walk::walk;
use crate::{reduce, Cells, Matrix, QuantileError};

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// One coefficient per column of the design.
    pub coefficients: Vec<f64>,
    /// Number of pivots.
    pub pivots: usize,
}

/// Fit `x'b` to the `tau`-quantile of the samples, where every sample of cell `c` has row `c` of the design.
///
/// The optimum need not be unique; the result is one of its vertices. For a saturated design use
/// [`crate::cell_quantiles`] or [`Cells::quantile`] with [`inverse`], which give the middle of the optimal face.
///
/// # Errors
/// [`QuantileError`] for an invalid level, design or cells, or a design that does not determine its coefficients.
pub fn fit(cells: &Cells, design: &Matrix, tau: f64) -> Result<Fit, QuantileError> {
    if !(tau > 0.0 && tau < 1.0) {
        return Err(QuantileError::Level(tau));
    }
    if design.rows() != cells.len() {
        let what = "the design";
        return Err(QuantileError::Length { what, found: design.rows(), wanted: cells.len() });
    }
    let problem = Problem::new(cells, design, tau);
    let (pins, pivots) = match reduce::solve(&problem)? {
        Some(found) => found,
        None => walk(&problem, problem.near_pins()?)?,
    };
    let pinned: Vec<f64> = pins.iter().map(|&(cell, place)| cells.samples(cell)[place]).collect();
    Ok(Fit { coefficients: product(&problem.basis(&pins), &pinned), pivots })
}

/// Return the sum of check losses of a model: the objective of the fit. Visits all samples, unlike the fit itself.
pub fn objective(cells: &Cells, design: &Matrix, coefficients: &[f64], tau: f64) -> f64 {
    let fitted = (0..cells.len()).map(|cell| dot(design.row(cell), coefficients));
    fitted.enumerate().fold(0.0, |sum, (cell, at)| sum + cells.loss(cell, at, tau))
}
