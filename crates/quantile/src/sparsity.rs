//! The sparsity of samples at a quantile: the factor in closed-form standard errors.

use hindmost_random::normal_quantile;

use crate::{Cells, QuantileError};

/// Return the bandwidth of Hall and Sheather (1988) in levels, for `n` samples and 95 % intervals; like R's
/// `quantreg`, `bandwidth.rq(tau, n, hs = TRUE)`.
pub fn hall_sheather(n: f64, tau: f64) -> f64 {
    let x = normal_quantile(tau);
    let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let z = normal_quantile(0.975);
    n.powf(-1.0 / 3.0) * z.powf(2.0 / 3.0) * (1.5 * density * density / (2.0 * x * x + 1.0)).cbrt()
}

/// Return one divided by the density of a cell at its `tau`-quantile, in units of the samples: the difference
/// quotient of the quantile function. It is at least `grain` (the clock's resolution) over the bandwidth, because
/// samples rounded to it tie.
///
/// # Errors
/// [`QuantileError::EmptyCell`] for a cell without weight.
pub fn sparsity(cells: &Cells, cell: usize, tau: f64, grain: f64) -> Result<f64, QuantileError> {
    let n = cells.samples(cell).len() as f64;
    let mut h = hall_sheather(n.max(1.0), tau);
    // Stay inside (0, 1) on both sides, like quantreg.
    while tau - h <= 0.0 || tau + h >= 1.0 {
        h /= 2.0;
    }
    let at = |level| cells.quantile(cell, level).ok_or(QuantileError::EmptyCell(cell));
    Ok((at(tau + h)? - at(tau - h)?).max(grain) / (2.0 * h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_match_quantreg() {
        // R 4.2.2, quantreg 5.94: bandwidth.rq(tau, 1000, hs = TRUE).
        for (tau, h) in [(0.5, 0.097_155_902_62), (0.95, 0.021_223_863_25), (0.99, 0.007_021_528_661)] {
            assert!(
                (hall_sheather(1000.0, tau) / h - 1.0).abs() < 1e-9,
                "{tau}: {}",
                hall_sheather(1000.0, tau)
            );
        }
    }

    #[test]
    fn the_sparsity_of_a_uniform_law_is_its_width() {
        let samples: Vec<f64> = (0..100_000).map(|i| f64::from(i) / 1000.0).collect();
        let cells = Cells::new(&samples, &vec![0; samples.len()], 1, None).unwrap();
        for tau in [0.1, 0.5, 0.99] {
            assert!((sparsity(&cells, 0, tau, 0.0).unwrap() / 100.0 - 1.0).abs() < 1e-2, "{tau}");
        }
        let tied = Cells::new(&[5.0; 100], &[0; 100], 1, None).unwrap();
        assert!(sparsity(&tied, 0, 0.5, 1.0).unwrap() > 0.0);
    }
}
