//! The cluster bootstrap: runs are resampled within their cells, samples never.
//!
//! The pooled quantile of resampled runs lies between the smallest and the largest quantile of the cell's runs, a
//! window of a few hundred bins. The counts in this window are stored by bin, so a step of the bisection is one
//! short sum of products, and the cost of a draw does not depend on the number of samples.

use hindmost_random::{below, Draws};

use crate::runs::{locate, Runs};
use crate::QuantileError;

/// Pooled quantiles of cells whose runs were resampled; each list is ordered by draw, level, cell.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapDraws {
    /// The quantiles.
    pub quantiles: Vec<f64>,
    /// Squared errors estimated from the resampled runs, as fractions of samples; multiplied by the squared
    /// sparsity, they are those of the quantiles. NaN for a cell with one run.
    pub squares: Vec<f64>,
}

/// Resample the runs of every cell with replacement, `draws` times. With `together`, the `i`-th runs of all cells
/// are drawn together, because they belong to one block.
///
/// # Errors
/// [`QuantileError`] for a level outside (0, 1), a cell without runs, or a block that lacks a run.
pub fn cluster_bootstrap(
    runs: &Runs,
    levels: &[f64],
    draws: usize,
    seed: u64,
    together: bool,
) -> Result<BootstrapDraws, QuantileError> {
    if let Some(&level) = levels.iter().find(|&&level| !(level > 0.0 && level < 1.0)) {
        return Err(QuantileError::Level(level));
    }
    let cells = runs.cells();
    let first = runs.of_cell(0).len();
    for cell in 0..cells {
        let found = runs.of_cell(cell).len();
        if found == 0 {
            return Err(QuantileError::EmptyCell(cell));
        }
        if together && found != first {
            return Err(QuantileError::Length { what: "a cell of complete blocks", found, wanted: first });
        }
    }
    let size = levels.len() * cells;
    let mut out = BootstrapDraws { quantiles: vec![0.0; draws * size], squares: vec![0.0; draws * size] };
    for cell in 0..cells {
        let of = runs.of_cell(cell);
        let windows: Vec<Window> = levels.iter().map(|&level| Window::new(runs, cell, level)).collect();
        let mut times = vec![0_u32; of.len()];
        for draw in 0..draws {
            times.fill(0);
            let random = Draws::new(seed, draw as u64);
            for i in 0..of.len() {
                let slot = if together { i } else { of.start + i };
                times[below(random.word(slot as u32), of.len() as u32) as usize] += 1;
            }
            for (level, window) in windows.iter().enumerate() {
                let at = draw * size + level * cells + cell;
                let (quantile, square) = window.draw(&times);
                out.quantiles[at] = quantile;
                out.squares[at] = square;
            }
        }
    }
    Ok(out)
}

/// Counts of a cell's runs around one quantile, by bin.
struct Window {
    level: f64,
    /// The bins that may contain the quantile.
    bins: Vec<(f64, f64)>,
    /// Row 0 is the count up to the bin before the first.
    counts: Vec<u32>,
    totals: Vec<u32>,
}

impl Window {
    fn new(runs: &Runs, cell: usize, level: f64) -> Self {
        let of = runs.of_cell(cell);
        let places = of.clone().filter_map(|run| runs.place(run..run + 1, level));
        let (low, high) = places.fold((usize::MAX, 0), |(low, high), at| (low.min(at.bin), high.max(at.bin)));
        // The next non-empty bin beyond, for a level that falls between two samples.
        let filled = |bin: &usize| of.clone().any(|run| runs.row(run)[*bin] > runs.row(run)[high]);
        let high = (high + 1..runs.bins().len()).find(filled).unwrap_or(high);
        let mut counts = Vec::with_capacity((high - low + 2) * of.len());
        counts.extend(of.clone().map(|run| if low == 0 { 0 } else { runs.row(run)[low - 1] }));
        for bin in low..=high {
            counts.extend(of.clone().map(|run| runs.row(run)[bin]));
        }
        let bins = runs.bins()[low..=high].to_vec();
        Self { level, bins, counts, totals: of.map(|run| runs.count(run)).collect() }
    }

    fn row(&self, place: usize) -> &[u32] {
        let n = self.totals.len();
        &self.counts[place * n..(place + 1) * n]
    }

    /// Return the quantile of runs with these multiplicities, and its squared error as a fraction of samples.
    fn draw(&self, times: &[u32]) -> (f64, f64) {
        let n = times.len();
        let all = sum(times, &self.totals);
        let place =
            locate(&self.bins, sum(times, self.row(0)), all, self.level, |i| sum(times, self.row(i + 1)))
                .expect("resampled runs have samples");
        let (before, upto) = (self.row(place.bin), self.row(place.bin + 1));
        let scores = (0..n).map(|i| {
            let (low, high) = (f64::from(before[i]), f64::from(upto[i]));
            let score = self.level * f64::from(self.totals[i]) - low - place.share * (high - low);
            f64::from(times[i]) * score * score
        });
        let square = scores.sum::<f64>() / (all as f64).powi(2) * n as f64 / (n as f64 - 1.0);
        (place.value, if n > 1 { square } else { f64::NAN })
    }
}

#[inline]
fn sum(times: &[u32], counts: &[u32]) -> u64 {
    times.iter().zip(counts).map(|(&a, &b)| u64::from(a) * u64::from(b)).sum()
}
