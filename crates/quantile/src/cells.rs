//! Samples sorted by cell: created once, for any number of models and levels.

use crate::rule::{ranks, weighted_ranks};
use crate::QuantileError;

/// The samples of each cell in ascending order, with cumulative weights if there are any.
#[derive(Clone, Debug)]
pub struct Cells {
    values: Vec<f64>,
    /// Cell `c` has `values[starts[c]..starts[c + 1]]`.
    starts: Vec<usize>,
    /// Cumulative weights within each cell; empty if every sample counts once.
    sums: Vec<f64>,
}

impl Cells {
    /// Sort samples into `cells` cells.
    ///
    /// # Errors
    /// [`QuantileError`] for invalid samples, cells or weights.
    pub fn new(
        samples: &[f64],
        cell_of: &[u32],
        cells: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self, QuantileError> {
        check(samples, cell_of, cells, weights)?;
        let mut starts = vec![0; cells + 1];
        for &cell in cell_of {
            starts[cell as usize + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        let mut next = starts.clone();
        let mut place = |cell: u32| {
            let at = next[cell as usize];
            next[cell as usize] += 1;
            at
        };
        let mut values = vec![0.0; samples.len()];
        let mut sums = Vec::new();
        if let Some(weights) = weights {
            let mut pairs = vec![(0.0, 0.0); samples.len()];
            for (i, &cell) in cell_of.iter().enumerate() {
                pairs[place(cell)] = (samples[i], weights[i]);
            }
            sums = vec![0.0; samples.len()];
            for cell in 0..cells {
                let of = starts[cell]..starts[cell + 1];
                pairs[of.clone()].sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let mut sum = 0.0;
                for i in of {
                    sum += pairs[i].1;
                    (values[i], sums[i]) = (pairs[i].0, sum);
                }
            }
        } else {
            for (&sample, &cell) in samples.iter().zip(cell_of) {
                values[place(cell)] = sample;
            }
            for cell in 0..cells {
                values[starts[cell]..starts[cell + 1]].sort_unstable_by(f64::total_cmp);
            }
        }
        Ok(Self { values, starts, sums })
    }

    /// Return some cells, in this order.
    pub(crate) fn gather(&self, cells: &[usize]) -> Self {
        let mut starts = Vec::with_capacity(cells.len() + 1);
        starts.push(0);
        starts.extend(cells.iter().scan(0, |end, &cell| {
            *end += self.samples(cell).len();
            Some(*end)
        }));
        Self {
            values: cells.iter().flat_map(|&cell| self.samples(cell)).copied().collect(),
            sums: cells.iter().filter_map(|&cell| self.sums(cell)).flatten().copied().collect(),
            starts,
        }
    }

    /// Return the number of cells.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the samples of one cell in ascending order.
    pub fn samples(&self, cell: usize) -> &[f64] {
        &self.values[self.starts[cell]..self.starts[cell + 1]]
    }

    fn sums(&self, cell: usize) -> Option<&[f64]> {
        (!self.sums.is_empty()).then(|| &self.sums[self.starts[cell]..self.starts[cell + 1]])
    }

    /// Return the weight of the first `count` samples of a cell; without weights, their number.
    #[inline]
    pub fn weight(&self, cell: usize, count: usize) -> f64 {
        match self.sums(cell) {
            None => count as f64,
            Some(_) if count == 0 => 0.0,
            Some(sums) => sums[count - 1],
        }
    }

    /// Return the weight of all samples of a cell.
    pub fn total(&self, cell: usize) -> f64 {
        self.weight(cell, self.samples(cell).len())
    }

    /// Return the `tau`-quantile of one cell; `None` if it has no weight.
    pub fn quantile(&self, cell: usize, tau: f64) -> Option<f64> {
        let samples = self.samples(cell);
        if samples.is_empty() || self.total(cell) <= 0.0 {
            return None;
        }
        let (low, high) = match self.sums(cell) {
            None => ranks(samples.len(), tau),
            Some(sums) => weighted_ranks(sums, tau),
        };
        Some(f64::midpoint(samples[low], samples[high]))
    }

    /// Return the sum of the check losses of one cell about `at`: `tau` per unit above, `1 - tau` per unit
    /// below.
    pub fn loss(&self, cell: usize, at: f64, tau: f64) -> f64 {
        let mut before = 0.0;
        let samples = self.samples(cell).iter().enumerate();
        samples.fold(0.0, |sum, (i, &y)| {
            let until = self.weight(cell, i + 1);
            let weight = until - before;
            before = until;
            sum + weight * (y - at) * if y >= at { tau } else { tau - 1.0 }
        })
    }
}

fn check(
    samples: &[f64],
    cell_of: &[u32],
    cells: usize,
    weights: Option<&[f64]>,
) -> Result<(), QuantileError> {
    let wanted = samples.len();
    if cell_of.len() != wanted {
        return Err(QuantileError::Length { what: "the list of cells", found: cell_of.len(), wanted });
    }
    if let Some(index) = samples.iter().position(|value| !value.is_finite()) {
        return Err(QuantileError::NotFinite { what: "sample", index, value: samples[index] });
    }
    if let Some(index) = cell_of.iter().position(|&cell| cell as usize >= cells) {
        return Err(QuantileError::Cell { index, cell: cell_of[index] as usize, cells });
    }
    let Some(weights) = weights else {
        return Ok(());
    };
    if weights.len() != wanted {
        return Err(QuantileError::Length { what: "the list of weights", found: weights.len(), wanted });
    }
    match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        Some(index) => Err(QuantileError::Weight { index, value: weights[index] }),
        None => Ok(()),
    }
}
