//! A window of seconds, and statistics of its mean under autocorrelation.

use crate::draws::Draws;
use crate::metrics::{Point, ALL};

/// Seconds times metrics, with cumulative sums: the sum of a block is one subtraction.
pub(crate) struct Window {
    rows: Vec<Point>,
    sums: Vec<Point>,
}

/// Largest lag-1 autocorrelation: beyond it, the effective sample size would vanish.
const MOST_RHO: f64 = 0.97;

impl Window {
    pub(crate) fn new(rows: Vec<Point>) -> Self {
        let mut sums = Vec::with_capacity(rows.len() + 1);
        let mut sum = [0.0; ALL];
        sums.push(sum);
        for row in &rows {
            for at in 0..ALL {
                sum[at] += row[at];
            }
            sums.push(sum);
        }
        Self { rows, sums }
    }

    pub(crate) fn rows(&self, seconds: usize) -> &[Point] {
        &self.rows[..seconds]
    }

    /// Return the mean of the first seconds.
    pub(crate) fn mean(&self, seconds: usize) -> Point {
        self.sums[seconds].map(|x| x / seconds as f64)
    }

    pub(crate) fn variances(&self, seconds: usize) -> Point {
        let mean = self.mean(seconds);
        std::array::from_fn(|at| {
            self.rows[..seconds].iter().map(|row| (row[at] - mean[at]).powi(2)).sum::<f64>()
                / (seconds - 1) as f64
        })
    }

    /// Return the lag-1 autocorrelation: the median over metrics, corrected for its bias in short series
    /// (Kendall 1954).
    pub(crate) fn rho(&self, seconds: usize) -> f64 {
        let (mean, n) = (self.mean(seconds), seconds as f64);
        let mut each: Vec<f64> = (0..ALL)
            .map(|at| {
                let centred = |row: &Point| row[at] - mean[at];
                let rows = &self.rows[..seconds];
                let lagged: f64 = rows.windows(2).map(|two| centred(&two[0]) * centred(&two[1])).sum();
                lagged / rows.iter().map(|row| centred(row).powi(2)).sum::<f64>()
            })
            .collect();
        each.sort_unstable_by(f64::total_cmp);
        let raw = each[ALL / 2];
        (raw + (1.0 + 3.0 * raw) / n).clamp(0.0, MOST_RHO)
    }

    /// Return the means of `draws` moving-block resamples (Künsch 1989) of the first seconds.
    pub(crate) fn resample(
        &self,
        seconds: usize,
        block: usize,
        times: usize,
        draws: &mut Draws,
    ) -> Vec<Point> {
        let block = block.clamp(1, seconds / 2);
        let blocks = seconds.div_ceil(block);
        let length = (blocks * block) as f64;
        (0..times)
            .map(|_| {
                let mut mean = [0.0; ALL];
                for _ in 0..blocks {
                    let begin = draws.below(seconds - block + 1);
                    for (at, sum) in mean.iter_mut().enumerate() {
                        *sum += self.sums[begin + block][at] - self.sums[begin][at];
                    }
                }
                mean.map(|sum| sum / length)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resamples_consist_of_blocks_of_the_window() {
        let rows: Vec<Point> = (0..40).map(|second| [f64::from(second); ALL]).collect();
        let window = Window::new(rows);
        let means = window.resample(40, 40, 50, &mut Draws::new(1, 0, 0));
        // Two blocks of twenty seconds: each mean is the mean of two runs of twenty seconds.
        assert!(means.iter().all(|mean| (9.5..=29.5).contains(&mean[0]) && (mean[0] * 2.0).fract() == 0.0));
        assert!((window.mean(40)[3] - 19.5).abs() < 1e-12);
    }
}
