//! Cells to fit, and where a walk over them may begin.

use std::borrow::Cow;

use hindmost_random::{mix, unit};

use crate::matrix::{dot, independent_rows, product};
use crate::rule::partition;
use crate::{inverse, Cells, Matrix, QuantileError};

/// Relative size of the shifts that break ties. Their sum stays far below the smallest difference that a sum of
/// `f64` losses can show.
pub(crate) const SHIFT: f64 = 1e-10;
/// Average samples per cell up to which the whole line is searched at once.
const FEW: usize = 4;

/// A pinned sample: its cell, and its index there.
pub(crate) type Pin = (usize, usize);

/// Cells to fit: all of a model, or some, with the sum of what the others contribute to the gradient.
pub(crate) struct Problem<'a> {
    pub cells: Cow<'a, Cells>,
    pub design: Cow<'a, Matrix>,
    pub tau: f64,
    /// The shift of the last sample of a cell; a tiny part of the samples' range.
    pub shift: f64,
    /// Shift of each cell.
    shift_of: Vec<f64>,
    /// Gradient of the objective of the cells that are left out, which stay on one side of the fit.
    pub outside: Vec<f64>,
    /// Whether there are few samples per cell, so that a line is searched at once.
    pub few: bool,
}

impl<'a> Problem<'a> {
    /// Prepare the problem of all cells.
    pub fn new(cells: &'a Cells, design: &'a Matrix, tau: f64) -> Self {
        let filled = (0..cells.len()).map(|cell| cells.samples(cell)).filter(|samples| !samples.is_empty());
        let mut count = 0;
        let (low, high) = filled.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), samples| {
            count += samples.len();
            (low.min(samples[0]), high.max(samples[samples.len() - 1]))
        });
        let shift = SHIFT * (high - low).max(f64::MIN_POSITIVE);
        Self {
            cells: Cow::Borrowed(cells),
            design: Cow::Borrowed(design),
            tau,
            shift,
            shift_of: (0..cells.len()).map(|cell| 2.0 * shift * unit(mix(cell as u64))).collect(),
            outside: vec![0.0; design.columns()],
            few: count <= FEW * cells.len(),
        }
    }

    /// Return the problem of some cells, in this order.
    pub fn of_cells(&self, cells: &[usize], outside: Vec<f64>) -> Problem<'static> {
        Problem {
            cells: Cow::Owned(self.cells.gather(cells)),
            design: Cow::Owned(self.design.gather(cells)),
            tau: self.tau,
            shift: self.shift,
            shift_of: cells.iter().map(|&cell| self.shift_of[cell]).collect(),
            outside,
            few: self.few,
        }
    }

    /// Return pins of cells with independent rows, the first of an order.
    pub fn pins_of(&self, order: &[usize]) -> Result<Vec<Pin>, QuantileError> {
        let (cells, design) = (&*self.cells, &*self.design);
        let chosen = independent_rows(design, order).map_err(|column| QuantileError::Rank {
            rank: rank(design, order),
            columns: design.columns(),
            column,
        })?;
        let pin = |cell| {
            let wanted = self.tau * cells.total(cell);
            let count = cells.samples(cell).len();
            (cell, partition(count, |i| cells.weight(cell, i + 1) < wanted).min(count - 1))
        };
        Ok(chosen.into_iter().map(pin).collect())
    }

    /// Return the cells that have a weight.
    pub fn weighty(&self) -> Vec<usize> {
        (0..self.cells.len()).filter(|&cell| self.cells.total(cell) > 0.0).collect()
    }

    /// Return pins that are near the optimum: of full cells, whose quantiles are known best, or, with few samples
    /// per cell, of cells near the quantile of their distances to a least-squares plane.
    pub fn near_pins(&self) -> Result<Vec<Pin>, QuantileError> {
        let mut order = self.weighty();
        if !self.few {
            order.sort_by(|&a, &b| self.cells.total(b).total_cmp(&self.cells.total(a)));
        } else if let Some(plane) = self.plane(&order) {
            let distance = |cell: usize| self.middle(cell) - dot(self.design.row(cell), &plane);
            let mut sorted: Vec<f64> = order.iter().map(|&cell| distance(cell)).collect();
            let place = ((self.tau * sorted.len() as f64) as usize).min(sorted.len() - 1);
            let (_, &mut at, _) = sorted.select_nth_unstable_by(place, f64::total_cmp);
            order.sort_by_cached_key(|&cell| ((distance(cell) - at).abs().to_bits(), cell));
        }
        self.pins_of(&order)
    }

    /// Return a cell's middle sample.
    fn middle(&self, cell: usize) -> f64 {
        let samples = self.cells.samples(cell);
        samples[samples.len() / 2]
    }

    /// Return the least-squares coefficients of these cells, if they determine them.
    fn plane(&self, cells: &[usize]) -> Option<Vec<f64>> {
        let p = self.design.columns();
        let (mut squares, mut sums) = (vec![0.0; p * p], vec![0.0; p]);
        for &cell in cells {
            let (row, weight) = (self.design.row(cell), self.cells.total(cell));
            for (j, entry) in row.iter().enumerate() {
                sums[j] += weight * entry * self.middle(cell);
                for (square, other) in squares[j * p..(j + 1) * p].iter_mut().zip(row) {
                    *square += weight * entry * other;
                }
            }
        }
        inverse(&Matrix::new(p, squares)).map(|inverse| product(&inverse, &sums))
    }

    /// Return the coefficients that fit the pinned samples, with their shifts.
    pub fn coefficients(&self, pins: &[Pin]) -> Vec<f64> {
        let pinned: Vec<f64> = pins.iter().map(|&(cell, place)| self.sample(cell, place)).collect();
        product(&self.basis(pins), &pinned)
    }

    /// Return the inverse of the pinned rows.
    ///
    /// # Panics
    /// If they depend on each other.
    pub fn basis(&self, pins: &[Pin]) -> Matrix {
        let rows = pins.iter().flat_map(|&(cell, _)| self.design.row(cell).iter().copied()).collect();
        inverse(&Matrix::new(self.design.columns(), rows)).expect("pinned rows are independent")
    }

    /// Return a sample with its shifts, by its place and its cell.
    #[inline]
    pub fn sample(&self, cell: usize, place: usize) -> f64 {
        let samples = self.cells.samples(cell);
        let within = if place == 0 { 0.0 } else { self.shift * place as f64 / samples.len() as f64 };
        samples[place] + (within + self.shift_of[cell])
    }

    /// Return how many samples of a cell are below `at`.
    #[inline]
    pub fn count_below(&self, cell: usize, at: f64) -> usize {
        partition(self.cells.samples(cell).len(), |place| self.sample(cell, place) < at)
    }

    /// Return the slope of a cell's loss, by its fitted value, with `below` of its samples below that.
    #[inline]
    pub fn excess(&self, cell: usize, below: usize) -> f64 {
        self.cells.weight(cell, below) - self.tau * self.cells.total(cell)
    }
}

fn rank(design: &Matrix, order: &[usize]) -> usize {
    // Count the linearly independent columns from the left.
    (1..=design.columns())
        .rev()
        .find(|&columns| {
            let rows = (0..design.rows()).flat_map(|row| design.row(row)[..columns].to_vec()).collect();
            independent_rows(&Matrix::new(columns, rows), order).is_ok()
        })
        .unwrap_or(0)
}
