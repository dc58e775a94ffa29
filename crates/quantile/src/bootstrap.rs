//! The cluster bootstrap: runs are drawn again, with all their samples, and the quantiles of their cells are read anew.
//!
//! Runs are histograms over common bins, so a replicate costs the bins and not the samples: for each cell, the counts
//! of the runs drawn are added up, from the coarse sums down to the bin that holds the quantile.

use hindmost_random::Draws;

/// Histograms of the runs of one cell over common bins, as running sums.
#[derive(Clone, Debug)]
pub struct RunCounts {
    bins: usize,
    /// Running sums of counts by run: `sums[run * bins + bin]` samples lie in bins `0..=bin`.
    sums: Vec<u32>,
}

impl RunCounts {
    /// Of counts by run, each run over all bins.
    ///
    /// # Panics
    /// Where the counts do not fill whole runs.
    pub fn new(counts: &[u32], bins: usize) -> Self {
        assert!(bins > 0 && counts.len() % bins == 0, "{} counts, {bins} bins", counts.len());
        let mut sums = counts.to_vec();
        for run in sums.chunks_mut(bins) {
            let mut sum = 0;
            for count in run {
                sum += *count;
                *count = sum;
            }
        }
        Self { bins, sums }
    }

    /// How many runs.
    pub fn runs(&self) -> usize {
        self.sums.len() / self.bins
    }

    fn below(&self, runs: &[u32], bin: usize) -> u64 {
        runs.iter().map(|&run| u64::from(self.sums[run as usize * self.bins + bin])).sum()
    }

    /// The first bin at which the samples of the runs named reach their share `tau`.
    fn quantile_bin(&self, runs: &[u32], tau: f64) -> usize {
        let wanted = tau * self.below(runs, self.bins - 1) as f64 - 1e-9;
        let (mut low, mut high) = (0, self.bins - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if (self.below(runs, middle) as f64) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Quantile bins of bootstrap replicates, `result[replicate][cell][level]`: in each replicate and cell, as many runs
/// as there are, drawn with replacement. Replicate `b` under a seed is the same whatever else is asked.
pub fn resampled_quantiles(
    cells: &[RunCounts],
    levels: &[f64],
    replicates: usize,
    seed: u64,
) -> Vec<Vec<Vec<usize>>> {
    let mut drawn = Vec::new();
    (0..replicates)
        .map(|replicate| {
            cells
                .iter()
                .enumerate()
                .map(|(cell, runs)| {
                    let numbers = Draws::of(seed, (replicate as u64) << 20 | cell as u64);
                    let n = runs.runs();
                    drawn.clear();
                    drawn.extend(
                        (0..n).map(|i| ((numbers.unit(i as u32) * n as f64) as u32).min(n as u32 - 1)),
                    );
                    levels.iter().map(|&tau| runs.quantile_bin(&drawn, tau)).collect()
                })
                .collect()
        })
        .collect()
}
