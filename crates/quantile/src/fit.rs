//! The exact fit: a simplex walk over vertices, each of which pins as many samples as there are coefficients.
//!
//! Releasing one pin moves the fit along a line on which the other pins hold. The slope of the objective along it
//! needs only one count per cell, by binary search. The best place on the line is where the slope changes its sign,
//! again at a sample, which becomes the new pin (Barrodale and Roberts 1973 with the long step, on cells instead of
//! rows).
//!
//! Ties could make the walk cycle. Every sample is therefore treated as slightly larger than the one before it in
//! its cell, and each cell as slightly shifted. The vertex that is found is optimal without these shifts, too: a
//! residual that is zero without them admits every multiplier that its sign with them requires.

use hindmost_random::{mix, unit};

use crate::matrix::independent_rows;
use crate::{inverse, Cells, Matrix, QuantileError};

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// One coefficient per column of the design.
    pub coefficients: Vec<f64>,
    /// Number of pivots.
    pub pivots: usize,
}

/// Relative size of the shifts that break ties. Their sum stays far below the smallest difference that a sum of
/// `f64` losses can show.
const SHIFT: f64 = 1e-10;
/// Slopes of the objective below this, relative to the summed terms, are rounding errors and not a descent.
const FLAT: f64 = 1e-12;
/// Slopes of a fitted value below this, relative to the steepest, are rounding errors.
const STILL: f64 = 1e-11;
/// Average samples per cell up to which the whole line is searched at once.
const FEW: usize = 4;

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
    let mut walk = Walk::new(cells, design, tau)?;
    // A walk takes some tens of steps for a factorial design, and in the worst case about as many as there are
    // samples.
    let most = 1_000 + 50 * (cells.len() + design.columns());
    while walk.step()? {
        if walk.pivots > most {
            return Err(QuantileError::Pivots(walk.pivots));
        }
    }
    Ok(walk.end())
}

/// Return the sum of check losses of a model: the objective of the fit. Visits all samples, unlike the fit itself.
pub fn objective(cells: &Cells, design: &Matrix, coefficients: &[f64], tau: f64) -> f64 {
    let fitted = (0..cells.len()).map(|cell| dot(design.row(cell), coefficients));
    fitted.enumerate().fold(0.0, |sum, (cell, at)| sum + cells.loss(cell, at, tau))
}

struct Walk<'a> {
    cells: &'a Cells,
    design: &'a Matrix,
    /// Pins: the cell, and the index of the sample in it.
    pins: Vec<(usize, usize)>,
    /// Inverse of the pinned rows.
    basis: Matrix,
    /// Fitted value of each cell.
    fitted: Vec<f64>,
    /// How many samples of each cell are at or below the fitted value, and strictly below it.
    below: Vec<(usize, usize)>,
    /// `tau` times the weight of each cell.
    wanted: Vec<f64>,
    shift: f64,
    /// Shift of each cell.
    shift_of: Vec<f64>,
    /// Whether there are few samples, so that a line is searched at once.
    few: bool,
    pivots: usize,
    /// Slopes of the fitted values along the present direction.
    slopes: Vec<f64>,
}

/// A sample where the slope changes: its distance, the increase of the slope, and its position.
#[derive(Clone, Copy)]
struct Turn {
    at: f64,
    bend: f64,
    cell: usize,
    place: usize,
}

impl<'a> Walk<'a> {
    fn new(cells: &'a Cells, design: &'a Matrix, tau: f64) -> Result<Self, QuantileError> {
        let n = cells.len();
        let samples: usize = (0..n).map(|cell| cells.samples(cell).len()).sum();
        let few = samples <= FEW * n;
        // Full cells first: their quantiles are known best.
        let mut order: Vec<usize> = (0..n).filter(|&cell| cells.total(cell) > 0.0).collect();
        if !few {
            order.sort_by(|&a, &b| cells.total(b).total_cmp(&cells.total(a)));
        }
        let chosen = independent_rows(design, &order).map_err(|column| QuantileError::Rank {
            rank: rank(design, &order),
            columns: design.columns(),
            column,
        })?;
        let pins: Vec<(usize, usize)> = chosen
            .into_iter()
            .map(|cell| {
                let wanted = tau * cells.total(cell);
                let count = cells.samples(cell).len();
                let place = partition(count, |i| cells.weight(cell, i + 1) < wanted).min(count - 1);
                (cell, place)
            })
            .collect();
        let ends = order.iter().map(|&cell| cells.samples(cell));
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), samples| {
            (low.min(samples[0]), high.max(samples[samples.len() - 1]))
        });
        let shift = SHIFT * (high - low).max(f64::MIN_POSITIVE);
        let mut walk = Self {
            cells,
            design,
            basis: Matrix::new(1, vec![1.0]),
            pins,
            fitted: vec![0.0; n],
            below: vec![(0, 0); n],
            wanted: (0..n).map(|cell| tau * cells.total(cell)).collect(),
            shift,
            shift_of: (0..n).map(|cell| 2.0 * shift * unit(mix(cell as u64))).collect(),
            few,
            pivots: 0,
            slopes: vec![0.0; n],
        };
        walk.settle();
        Ok(walk)
    }

    /// Return a sample with its shifts, by its place and its cell.
    #[inline]
    fn sample(&self, cell: usize, place: usize) -> f64 {
        let samples = self.cells.samples(cell);
        let within = if place == 0 { 0.0 } else { self.shift * place as f64 / samples.len() as f64 };
        samples[place] + (within + self.shift_of[cell])
    }

    /// Return how many samples of a cell are below `at`.
    #[inline]
    fn count_below(&self, cell: usize, at: f64) -> usize {
        partition(self.cells.samples(cell).len(), |place| self.sample(cell, place) < at)
    }

    /// Compute the fit of the pins, and the counts below it.
    fn settle(&mut self) {
        let p = self.design.columns();
        let rows = self.pins.iter().flat_map(|&(cell, _)| self.design.row(cell).iter().copied()).collect();
        self.basis = inverse(&Matrix::new(p, rows)).expect("pinned rows are independent");
        let pinned: Vec<f64> = self.pins.iter().map(|&(cell, place)| self.sample(cell, place)).collect();
        let coefficients = product(&self.basis, &pinned);
        for cell in 0..self.cells.len() {
            let fitted = dot(self.design.row(cell), &coefficients);
            let below = self.count_below(cell, fitted);
            self.fitted[cell] = fitted;
            self.below[cell] = (below, below);
        }
        for (&(cell, place), fitted) in self.pins.iter().zip(pinned) {
            // Set the exact value of the pinned sample, free of rounding.
            self.fitted[cell] = fitted;
            self.below[cell] = (place + 1, place);
        }
    }

    /// Move down the steepest line from here; return false if there is none.
    fn step(&mut self) -> Result<bool, QuantileError> {
        let p = self.design.columns();
        let (gradient, summed) = self.gradient();
        let (mut steepest, mut way) = (0.0, None);
        for pin in 0..p {
            let cell = self.pins[pin].0;
            let column: Vec<f64> = (0..p).map(|row| self.basis.row(row)[pin]).collect();
            let (others, rounding) = (dot(&gradient, &column), magnitude(&summed, &column));
            for (sign, below) in [(1.0, self.below[cell].0), (-1.0, self.below[cell].1)] {
                // The pin moves by one; the other pins hold.
                let own = self.cells.weight(cell, below) - self.wanted[cell];
                let slope = sign * (others + own);
                if slope < steepest && slope < -FLAT * (rounding + own.abs()) {
                    (steepest, way) = (slope, Some((pin, sign)));
                }
            }
        }
        let Some((pin, sign)) = way else {
            return Ok(false);
        };
        let direction: Vec<f64> = (0..p).map(|row| sign * self.basis.row(row)[pin]).collect();
        self.aim(&direction, pin);
        let turn = self.line_search(steepest).ok_or(QuantileError::Pivots(self.pivots))?;
        self.pins[pin] = (turn.cell, turn.place);
        self.pivots += 1;
        self.settle();
        Ok(true)
    }

    /// Return the gradient of the objective without the pins, by coefficient, and the magnitudes of the summed
    /// terms.
    fn gradient(&self) -> (Vec<f64>, Vec<f64>) {
        let p = self.design.columns();
        let (mut gradient, mut summed) = (vec![0.0; p], vec![0.0; p]);
        for cell in 0..self.cells.len() {
            let (at_or_below, below) = self.below[cell];
            if at_or_below != below {
                continue; // a pin
            }
            let excess = self.cells.weight(cell, below) - self.wanted[cell];
            for (column, entry) in self.design.row(cell).iter().enumerate() {
                gradient[column] += excess * entry;
                summed[column] += (excess * entry).abs();
            }
        }
        (gradient, summed)
    }

    /// Set the slopes of all fitted values along a direction; those of held pins are exactly zero.
    fn aim(&mut self, direction: &[f64], pin: usize) {
        let mut fastest = 0.0_f64;
        for cell in 0..self.cells.len() {
            let slope = dot(self.design.row(cell), direction);
            fastest = fastest.max(slope.abs());
            self.slopes[cell] = slope;
        }
        for slope in &mut self.slopes {
            if slope.abs() < STILL * fastest {
                *slope = 0.0;
            }
        }
        for (other, &(cell, _)) in self.pins.iter().enumerate() {
            if other != pin {
                self.slopes[cell] = 0.0;
            }
        }
    }

    /// Return how many samples of a cell are below its fitted value just beyond `t` along the line. On leaving
    /// the vertex, a sample on the fit is below it if the fit moves up, and above it if the fit moves down.
    #[inline]
    fn count_beyond(&self, cell: usize, t: f64) -> usize {
        let slope = self.slopes[cell];
        if t > 0.0 {
            self.count_below(cell, self.fitted[cell] + t * slope)
        } else if slope > 0.0 {
            self.below[cell].0
        } else {
            self.below[cell].1
        }
    }

    fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.cells.len()).filter(|&cell| self.slopes[cell] != 0.0)
    }

    /// Return the slope of the objective just beyond `t` along the line.
    fn slope_at(&self, t: f64) -> f64 {
        self.moving().fold(0.0, |sum, cell| {
            let below = self.cells.weight(cell, self.count_beyond(cell, t));
            sum + self.slopes[cell] * (below - self.wanted[cell])
        })
    }

    /// Find where the objective along the line stops falling: bracket it, then select among the few samples in
    /// between. `None` if rounding hides it. At the vertex the slope is `steepest`.
    fn line_search(&self, steepest: f64) -> Option<Turn> {
        let (mut slope, mut turns) = if self.few {
            (steepest, self.turns(0.0, f64::INFINITY))
        } else {
            let (low, high) = self.bracket();
            (self.slope_at(low), self.turns(low, high))
        };
        let mut left = turns.as_mut_slice();
        while left.len() > 1 {
            let middle = (left.len() - 1) / 2;
            left.select_nth_unstable_by(middle, |a, b| a.at.total_cmp(&b.at));
            let nearer: f64 = left[..=middle].iter().map(|turn| turn.bend).sum();
            if slope + nearer >= 0.0 {
                left = &mut left[..=middle];
            } else {
                slope += nearer;
                left = &mut left[middle + 1..];
            }
        }
        left.first().copied()
    }

    /// Return two places on the line between which the slope changes its sign, with few samples in between.
    fn bracket(&self) -> (f64, f64) {
        let mut low = 0.0;
        let mut high = self.first_guess();
        while self.slope_at(high) < 0.0 && high < f64::INFINITY {
            low = high;
            high *= 4.0;
        }
        while self.between(low, high) > 64 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.slope_at(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low, high)
    }

    /// Return an initial distance along the line: the fastest cell moves by a millionth of the samples' range.
    fn first_guess(&self) -> f64 {
        let fastest = self.slopes.iter().fold(0.0_f64, |most, slope| most.max(slope.abs()));
        (self.shift / SHIFT) * 1e-6 / fastest
    }

    /// Return the indices of the samples of a cell that the fit passes between `low` and `high` along the line.
    fn range(&self, cell: usize, low: f64, high: f64) -> std::ops::Range<usize> {
        let (a, b) = (self.count_beyond(cell, low), self.count_beyond(cell, high));
        a.min(b)..b.max(a)
    }

    fn between(&self, low: f64, high: f64) -> usize {
        self.moving().map(|cell| self.range(cell, low, high).len()).sum()
    }

    fn turns(&self, low: f64, high: f64) -> Vec<Turn> {
        let mut found = Vec::with_capacity(self.cells.len());
        for cell in self.moving() {
            let (fitted, slope) = (self.fitted[cell], self.slopes[cell]);
            for place in self.range(cell, low, high) {
                let weight = self.cells.weight(cell, place + 1) - self.cells.weight(cell, place);
                let at = (self.sample(cell, place) - fitted) / slope;
                found.push(Turn { at, bend: slope.abs() * weight, cell, place });
            }
        }
        found
    }

    fn end(self) -> Fit {
        let pinned: Vec<f64> =
            self.pins.iter().map(|&(cell, place)| self.cells.samples(cell)[place]).collect();
        Fit { coefficients: product(&self.basis, &pinned), pivots: self.pivots }
    }
}

/// Return the first of `0..n` for which `before` is false.
#[inline]
pub(crate) fn partition(n: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
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

/// Return the scalar product, computed in four independent sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours_of_a, fours_of_b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = fours_of_a.remainder().iter().zip(fours_of_b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in fours_of_a.zip(fours_of_b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Return the magnitude of the terms of a scalar product, given the magnitudes of one side.
fn magnitude(sizes: &[f64], b: &[f64]) -> f64 {
    sizes.iter().zip(b).map(|(size, b)| size * b.abs()).sum()
}

fn product(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    (0..matrix.rows()).map(|row| dot(matrix.row(row), vector)).collect()
}
