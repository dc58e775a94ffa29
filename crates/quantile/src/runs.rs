//! Runs as histograms with cumulative counts: cells are fitted and resampled without their samples.
//!
//! Every run has a row of cumulative counts over bins that all runs share. The cumulative count of a cell is the
//! sum over its runs, so bisection over bins finds its quantile; resampled runs are a sum with multiplicities.
//! Samples are assumed to be evenly spaced within a bin, so a quantile is accurate to the width of a bin.

use crate::rule::partition;
use crate::rule::ranks;
use crate::QuantileError;

/// Runs of cells, each a histogram over common bins.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Ends of each bin, ascending.
    bins: Vec<(f64, f64)>,
    /// Run `r` has `upto[r * bins.len() + b]` samples in bins `0..=b`.
    upto: Vec<u32>,
    /// Cell `c` has runs `starts[c]..starts[c + 1]`.
    starts: Vec<usize>,
}

/// Position of a level: a bin, the fraction of its samples below, and the quantile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub bin: usize,
    pub share: f64,
    pub value: f64,
}

/// Find the position of a level among the samples of some bins, of which `before` are below the first bin, and
/// `upto(i)` up to the `i`-th. Samples are assumed to be evenly spaced within a bin; between two samples the rule
/// is the one of [`crate::cell_quantiles`].
pub(crate) fn locate(
    bins: &[(f64, f64)],
    before: u64,
    total: u64,
    tau: f64,
    upto: impl Fn(usize) -> u64,
) -> Option<Place> {
    if total == 0 {
        return None;
    }
    let (low, high) = ranks(total as usize, tau);
    let below = |bin: usize| if bin == 0 { before } else { upto(bin - 1) };
    let of = |rank: u64| partition(bins.len() - 1, |bin| upto(bin) <= rank);
    let value = |bin: usize, rank: u64| {
        let (from, to) = bins[bin];
        from + (to - from) * (rank as f64 - below(bin) as f64 + 0.5) / (upto(bin) - below(bin)) as f64
    };
    let bin = of(low as u64);
    let mut found = value(bin, low as u64);
    if high > low {
        let next = if upto(bin) > high as u64 { bin } else { of(high as u64) };
        if upto(next) > high as u64 {
            found = f64::midpoint(found, value(next, high as u64));
        }
    }
    let share = (tau * total as f64 - below(bin) as f64) / (upto(bin) - below(bin)) as f64;
    Some(Place { bin, share: share.clamp(0.0, 1.0), value: found })
}

impl Runs {
    /// Create runs from histograms in the order of cells: run `r` has `counts[i]` samples in bin `of_bin[i]`
    /// for `i` in `ends[r - 1]..ends[r]`, and cell `c` has `runs_of_cell[c]` runs.
    ///
    /// # Errors
    /// [`QuantileError`] for bins that do not ascend, lengths that do not match, or a run without samples.
    pub fn new(
        bins: Vec<(f64, f64)>,
        of_bin: &[u32],
        counts: &[u32],
        ends: &[usize],
        runs_of_cell: &[usize],
    ) -> Result<Self, QuantileError> {
        let runs = runs_of_cell.iter().sum();
        check(&bins, of_bin, counts, ends, runs)?;
        let mut upto = vec![0_u32; runs * bins.len()];
        let mut first = 0;
        for (run, &end) in ends.iter().enumerate() {
            let row = &mut upto[run * bins.len()..(run + 1) * bins.len()];
            for i in first..end {
                row[of_bin[i] as usize] += counts[i];
            }
            let mut sum = 0;
            for count in row.iter_mut() {
                sum += *count;
                *count = sum;
            }
            if sum == 0 {
                return Err(QuantileError::EmptyRun(run));
            }
            first = end;
        }
        let mut starts = vec![0];
        for count in runs_of_cell {
            starts.push(starts[starts.len() - 1] + count);
        }
        Ok(Self { bins, upto, starts })
    }

    /// Return the number of cells.
    pub fn cells(&self) -> usize {
        self.starts.len() - 1
    }

    /// Return the runs of one cell.
    pub fn of_cell(&self, cell: usize) -> std::ops::Range<usize> {
        self.starts[cell]..self.starts[cell + 1]
    }

    /// Return the number of samples of one run.
    pub fn count(&self, run: usize) -> u32 {
        self.row(run)[self.bins.len() - 1]
    }

    /// Return the cumulative counts of one run.
    pub(crate) fn row(&self, run: usize) -> &[u32] {
        &self.upto[run * self.bins.len()..(run + 1) * self.bins.len()]
    }

    /// Return the bins that all runs share.
    pub(crate) fn bins(&self) -> &[(f64, f64)] {
        &self.bins
    }

    /// Return the `tau`-quantile of one cell's samples; `None` for a cell without runs.
    pub fn quantile(&self, cell: usize, tau: f64) -> Option<f64> {
        Some(self.place(self.of_cell(cell), tau)?.value)
    }

    /// Return the `tau`-quantile of one run.
    pub fn run_quantile(&self, run: usize, tau: f64) -> f64 {
        self.place(run..run + 1, tau).map_or(f64::NAN, |place| place.value)
    }

    /// Return the position of the `tau`-quantile of some runs together.
    pub(crate) fn place(&self, runs: std::ops::Range<usize>, tau: f64) -> Option<Place> {
        let all: u64 = runs.clone().map(|run| u64::from(self.count(run))).sum();
        let upto = |bin: usize| runs.clone().map(|run| u64::from(self.row(run)[bin])).sum();
        locate(&self.bins, 0, all, tau, upto)
    }

    /// Return how many samples of each run are at or below the value of its cell, `at[cell]`, interpolated
    /// within a bin.
    pub fn below(&self, at: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.starts[self.cells()]);
        for (cell, &at) in at.iter().enumerate() {
            let bin = self.bins.partition_point(|&(_, high)| high <= at);
            for run in self.of_cell(cell) {
                let row = self.row(run);
                let before = if bin == 0 { 0.0 } else { f64::from(row[bin - 1]) };
                let within = self.bins.get(bin).map_or(0.0, |&(low, high)| {
                    let share = if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
                    share * (f64::from(row[bin]) - before)
                });
                out.push(before + within);
            }
        }
        out
    }
}

fn check(
    bins: &[(f64, f64)],
    of_bin: &[u32],
    counts: &[u32],
    ends: &[usize],
    runs: usize,
) -> Result<(), QuantileError> {
    let rising = |pair: &[(f64, f64)]| pair[0].1 <= pair[1].0;
    if bins.is_empty() || !bins.windows(2).all(rising) || !bins.iter().all(|(low, high)| low <= high) {
        return Err(QuantileError::Bins);
    }
    if counts.len() != of_bin.len() {
        let what = "the list of counts";
        return Err(QuantileError::Length { what, found: counts.len(), wanted: of_bin.len() });
    }
    if ends.len() != runs || ends.last().is_some_and(|&end| end != of_bin.len()) || !ends.is_sorted() {
        let what = "the list of runs' ends";
        return Err(QuantileError::Length { what, found: ends.len(), wanted: runs });
    }
    match of_bin.iter().position(|&bin| bin as usize >= bins.len()) {
        Some(index) => Err(QuantileError::Cell { index, cell: of_bin[index] as usize, cells: bins.len() }),
        None => Ok(()),
    }
}
